"""Products: ours by name beside bare np.matmul and torch on the same arrays; gradients of a linear layer."""
import numpy as np
import fucinalib as fl
from .harness import Case, both, normal, there_and_back


def named(a, tags, grad=False): return fl.Tensor(a, tags, requires_grad=grad)


def cases(torch):
    for n in (8, 64, 128, 256, 512, 1024, 2048):
        a, b = normal(n, n), normal(n, n, seed=1)
        x, w, (ta, tb) = named(a, 'm k'), named(b, 'k n'), both(torch, a, b)
        yield Case('dot', n, lambda: x.dot(w, 'k'), lambda: np.matmul(a, b), torch and (lambda: torch.matmul(ta, tb)))
        v = named(b, 'n k')
        yield Case('dot, w transposed', n, lambda: x.dot(v, 'k'), lambda: np.matmul(a, b.T),
                   torch and (lambda: torch.matmul(ta, tb.T)))
        if n > 1024: continue
        p, q, g = named(a, 'm k', True), named(b, 'n k', True), normal(n, n, seed=2)
        tp, tq = both(torch, a, b, grad=True)
        yield Case('dot, all gradients', n,
                   there_and_back(lambda x, w: x.dot(w, 'k'), p, q, g=fl.Tensor(g, 'm n')),
                   lambda: (a @ b.T, g @ b, g.T @ a),
                   torch and there_and_back(lambda x, w: torch.matmul(x, w.T), tp, tq,
                                            g=torch.from_numpy(g)))
    for m, k, n in ((32, 784, 256), (1, 4096, 4096), (4096, 64, 64), (64, 4096, 64)):
        a, b = normal(m, k), normal(k, n, seed=1)
        x, w, (ta, tb) = named(a, 'm k'), named(b, 'k n'), both(torch, a, b)
        yield Case('dot', f'{m}x{k} {k}x{n}', lambda: x.dot(w, 'k'), lambda: np.matmul(a, b),
                   torch and (lambda: torch.matmul(ta, tb)))
    for n in (1_000, 100_000, 10_000_000):
        a, b = normal(n), normal(n, seed=1)
        x, w, (ta, tb) = named(a, 'k'), named(b, 'k'), both(torch, a, b)
        yield Case('dot of vectors', n, lambda: x.dot(w, 'k'), lambda: np.matmul(a, b),
                   torch and (lambda: torch.dot(ta, tb)))
    for m, k in ((1000, 1000), (100_000, 8), (8, 100_000)):
        a, b = normal(m, k), normal(m, k, seed=1)
        for tag, axis in (('k', 1), ('m', 0)):
            x, w, (ta, tb) = named(a, 'm k'), named(b, 'm k'), both(torch, a, b)
            eq = 'mk,mk->m' if axis else 'mk,mk->k'
            yield Case(f'lanes over {tag}', f'{m}x{k}', lambda: x.dot(w, tag),
                       lambda: np.einsum(eq, a, b), torch and (lambda: torch.einsum(eq, ta, tb)))
    for equation, left, right in (('bsi,io->bso', (8, 128, 256), (256, 256)),
                                  ('bct,co->bto', (8, 256, 128), (256, 64)),
                                  ('bqhd,bkhd->bhqk', (4, 256, 8, 64), (4, 256, 8, 64)),
                                  ('bhqk,bkhd->bqhd', (4, 8, 256, 256), (4, 256, 8, 64)),
                                  ('bmk,bkn->bmn', (10_000, 4, 4), (10_000, 4, 4)),
                                  ('bmk,bkn->bmn', (1000, 32, 32), (1000, 32, 32)),
                                  ('bmk,bkn->bmn', (64, 128, 64), (64, 64, 128)),
                                  ('mkb,knb->bmn', (64, 64, 32), (64, 64, 32)),
                                  ('i,j->ij', (1000,), (1000,))):
        p, q, out = [tuple(t) for t in equation.replace('->', ',').split(',')]
        a, b = normal(*left), normal(*right, seed=1)
        x, w, (ta, tb) = named(a, p), named(b, q), both(torch, a, b)
        bare = by_hand(equation, a, b)
        yield Case(f'einsum {equation}', 'x'.join(map(str, left)), lambda: x.einsum(w, out), bare,
                   torch and (lambda: torch.einsum(equation, ta, tb)))


def by_hand(equation, a, b):
    "What a user of np.matmul writes for it."
    return {'bsi,io->bso': lambda: np.matmul(a, b),
            'bct,co->bto': lambda: np.matmul(a.transpose(0, 2, 1), b),
            'bqhd,bkhd->bhqk': lambda: np.matmul(a.transpose(0, 2, 1, 3), b.transpose(0, 2, 3, 1)),
            'bhqk,bkhd->bqhd': lambda: np.ascontiguousarray(
                np.matmul(a, b.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)),
            'bmk,bkn->bmn': lambda: np.matmul(a, b),
            'mkb,knb->bmn': lambda: np.matmul(a.transpose(2, 0, 1), b.transpose(2, 0, 1)),
            'i,j->ij': lambda: np.multiply.outer(a, b)}[equation]
