"""Products by position, and weights of few bits: one row of x (writing a word) and many (reading a prompt).

Beside quantised weights stand NumPy's product of f32 and torch's Linear with dynamic 8-bit quantisation.
"""
import warnings
import numpy as np
import fucinalib as fl
from fucinalib import kernels as k
from .harness import Case, both, normal

BATCHES = (((8, 64, 256), (256, 256)), ((32, 128, 64), (32, 64, 128)),
           ((16, 512, 512), (512, 512)), ((1, 2048, 512), (512, 2048)))
WEIGHTS = (576, 576), (1536, 576), (4096, 4096)
FORMATS = 'q8_0', 'q4_0', 'q4_1', 'q5_0', 'q4_k', 'q5_k', 'q6_k'


def dynamic(torch, w):
    "torch's Linear with an 8-bit weight and x rounded to 8 bits in each call."
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        linear = torch.nn.Linear(w.shape[1], w.shape[0], bias=False)
        linear.weight.data = torch.from_numpy(w)
        return torch.ao.quantization.quantize_dynamic(linear, {torch.nn.Linear}, dtype=torch.qint8)


def blocks(name, w):
    "w in blocks; of a large one 64 rows are written and repeated."
    q = fl.Tensor(w[:64], 'out in').to(name)
    return fl.BlockTensor(np.resize(q.blocks, (len(w), *q.blocks.shape[1:])), name, 'out in')


def cases(torch):
    for a, b in BATCHES:
        x, y = normal(*a), normal(*b, seed=1)
        tx, ty = both(torch, x, y)
        u, v = fl.Tensor(x, 'b m k'), fl.Tensor(y, 'b k n' if y.ndim == 3 else 'k n')
        yield Case('matmul', ' x '.join(map(str, a)), lambda: u.matmul(v, 'b m n'),
                   lambda: np.matmul(x, y), torch and (lambda: torch.matmul(tx, ty)))
    for n, m in WEIGHTS:
        w = normal(n, m) * np.float32(.05)
        tw, = both(torch, w)
        eight, plain = dynamic(torch, w) if torch else None, fl.Tensor(w, 'out in')
        dense = plain.pack()
        small = {name: blocks(name, w) for name in FORMATS if m % fl.block_formats[name].elems == 0}
        for rows in (1, 4, 128):
            a = normal(rows, m, seed=1)
            x, size = fl.Tensor(a, 'row in'), f'{rows} x {n} x {m}'
            tx, = both(torch, a)
            yield Case('packed f32', size, lambda: x.dot(dense, 'in'), lambda: a @ w.T,
                       torch and (lambda: torch.nn.functional.linear(tx, tw)))
            for name, q in small.items():
                yield Case(f'dot {name}', size, lambda: x.dot(q, 'in'), lambda: a @ w.T, torch and (lambda: eight(tx)))
                if name not in ('q8_0', 'q4_k', 'q6_k'): continue
                p = q.pack()
                yield Case(f'packed {name}', size, lambda: x.dot(p, 'in'), lambda: a @ w.T,
                           torch and (lambda: eight(tx)))
        a, = normal(1, m, seed=1)
        tx, = both(torch, a[None])
        for name in ('q4_1', 'q8_0'):
            r = fl.quant.repack(small[name])
            for how in (False, True):
                yield Case(f'side by side {name}' + ' exact' * how, f'1 x {n} x {m}', lambda: r.dot(a, how),
                           lambda: w @ a, torch and (lambda: eight(tx)))
        if m % 256 == 0:
            x = fl.Tensor(normal(128, m), 'row in')
            tx, = both(torch, x.data)
            yield Case('ternary', f'128 x {n} x {m}', lambda: x.dot_ternary(plain, 'in'), None,
                       torch and (lambda: tx @ (
                                      (tw / (d := tw.abs().mean().clamp(min=1e-5))).round().clamp(-1, 1)
                                      * d).T))
    for name in FORMATS:
        f = fl.block_formats[name]
        b = np.resize(f.write(normal(1 << 14).reshape(-1, f.elems)), ((1 << 20) // f.elems, f.bytes))
        yield Case(f'unpack {name}', 1 << 20, lambda: f.floats(b), lambda: k.table[f'floats_{name}'].twin(b))
