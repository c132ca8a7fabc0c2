"""Scores to shares: the kernels row by row, and the operations forward and backward, plain and
with what attention adds."""
import numpy as np
import fucinalib as fl
from fucinalib import kernels as k
from .harness import Case, backward, both, normal

SHAPES = (10, 100), (1_000, 100), (1_024, 1_024), (100_000, 10), (64, 50_000), (10_000, 1_000)
TRAINED = (512, 256), (512, 4096), (2048, 1024), (8192, 256), (8192, 4096)
SCORES = (12, 64, 64), (12, 256, 256), (12, 1024, 1024)


def there_and_back(f, x, g):
    "A call that makes f() and its gradient for the leaf x."
    def run():
        x.grad = None
        f().backward(g)
    return run


def cases(torch):
    yield from kernel_cases(torch)
    for shape in TRAINED:
        a, g, said = normal(*shape), normal(*shape, seed=1), ' x '.join(map(str, shape))
        x, (tx,), (tg, tg1) = fl.param(a, 'row k'), both(torch, a, grad=True), both(torch, g, g[:, 0].copy())
        for name in ('softmax', 'log_softmax', 'logsumexp'):
            w, tw = (g[:, 0].copy(), tg1) if name == 'logsumexp' else (g, tg)
            yield Case(name + ', both ways', said, there_and_back(lambda: getattr(x, name)('k'), x, w),
                       None, torch and there_and_back(lambda: getattr(torch, name)(tx, 1), tx, tw))
    for shape in SCORES:
        a, g, said = normal(*shape), normal(*shape, seed=1), ' x '.join(map(str, shape))
        x, (tx,), (tg,) = fl.param(a, 'head q k'), both(torch, a, grad=True), both(torch, g)
        m = np.where(np.tril(np.ones(shape[1:], bool)), normal(*shape[1:], seed=2), -np.inf).astype('f4')
        mask, (tm,) = fl.Tensor(m, 'q k'), both(torch, m)
        yield Case('masked, both ways', said,
                   there_and_back(lambda: x.softmax('k', scale=.125, mask=mask), x, g), None,
                   torch and there_and_back(lambda: torch.softmax(tx * .125 + tm, 2), tx, tg))
        hide = torch and torch.from_numpy(np.where(np.isinf(m), m, 0))
        yield Case('causal, both ways', said,
                   there_and_back(lambda: x.softmax('k', scale=.125, causal='q'), x, g), None,
                   torch and there_and_back(lambda: torch.softmax(tx * .125 + hide, 2), tx, tg))
        yield Case('along q, both ways', said, there_and_back(lambda: x.softmax('q'), x, g), None,
                   torch and there_and_back(lambda: torch.softmax(tx, 1), tx, tg))


def kernel_cases(torch):
    for shape in SHAPES:
        x, g, said = normal(*shape), normal(*shape, seed=1), ' x '.join(map(str, shape))
        y, z, s = k.softmax_last(x), k.log_softmax_last(x), k.logsumexp_last(x)
        tx, = both(torch, x)
        twin = {name: k.table[name].twin for name in k.table}
        yield Case('softmax', said, lambda: k.softmax_last(x), lambda: twin['softmax_last'](x),
                   torch and (lambda: torch.softmax(tx, 1)))
        yield Case('log softmax', said, lambda: k.log_softmax_last(x),
                   lambda: twin['log_softmax_last'](x), torch and (lambda: torch.log_softmax(tx, 1)))
        yield Case('logsumexp', said, lambda: k.logsumexp_last(x),
                   lambda: twin['logsumexp_last'](x), torch and (lambda: torch.logsumexp(tx, 1)))
        leaf, = both(torch, x, grad=True)
        yield Case('softmax backward', said, lambda: k.softmax_last_backward(g, y),
                   lambda: twin['softmax_last_backward'](g, y),
                   backward(torch, lambda t: t.softmax(1), (leaf,), g))
        yield Case('log softmax backward', said, lambda: k.log_softmax_last_backward(g, z),
                   lambda: twin['log_softmax_last_backward'](g, z),
                   backward(torch, lambda t: t.log_softmax(1), (leaf,), g))
        g1 = g[:, 0].copy()
        yield Case('logsumexp backward', said, lambda: k.logsumexp_last_backward(x, s, g1),
                   lambda: twin['logsumexp_last_backward'](x, s, g1),
                   backward(torch, lambda t: t.logsumexp(1), (leaf,), g1))
