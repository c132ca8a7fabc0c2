"""Arithmetic element by element."""
import numpy as np
import fucinalib as fl
from fucinalib import kernels as k
from .harness import Case, backward, both, normal, there_and_back

SIZES = 1_000, 100_000, 1_000_000, 10_000_000


def cases(torch):
    a, b = normal(2, 2), normal(2, 2, seed=1)
    x, y, (ta, tb) = fl.param(a, 'row col'), fl.param(b, 'row col'), both(torch, a, b, grad=True)
    yield Case('add, recorded', '2 x 2', lambda: x + y, lambda: a + b, torch and (lambda: ta + tb))
    yield Case('add and back', '2 x 2', there_and_back(lambda x, y: (x + y).sum(), x, y), None,
               torch and there_and_back(lambda x, y: (x + y).sum(), ta, tb))
    for n in SIZES:
        a, b, g = normal(n), normal(n, seed=1), normal(n, seed=2)
        p, ta, tb, tp = np.abs(a) + .1, *both(torch, a, b, np.abs(a) + .1)
        for name, numpy in dict(add=np.add, sub=np.subtract, mul=np.multiply, div=np.divide,
                                maximum=np.maximum).items():
            ours = getattr(k, name)
            yield Case(name, n, lambda: ours(a, b), lambda: numpy(a, b),
                       torch and (lambda f=getattr(torch, name): f(ta, tb)))
        yield Case('pow', n, lambda: k.pow(p, b), lambda: np.power(p, b), torch and (lambda: torch.pow(tp, tb)))
        yield Case('add number', n, lambda: k.add(a, 1.5), lambda: a + np.float32(1.5), torch and (lambda: ta + 1.5))
        yield Case('mul number', n, lambda: k.mul(a, 1.5), lambda: a * np.float32(1.5), torch and (lambda: ta * 1.5))
        yield Case('pow 2', n, lambda: k.pow(a, 2.), lambda: a ** 2, torch and (lambda: ta ** 2))
        yield Case('pow 2.5', n, lambda: k.pow(p, 2.5), lambda: p ** np.float32(2.5), torch and (lambda: tp ** 2.5))
        if n > 1000:
            m = 1000
            x, row, col = a.reshape(-1, m), b[:m], b[:n // m].reshape(-1, 1)
            tx, trow, tcol = both(torch, x, row, col)
            yield Case('add row', f'{n // m} x {m}', lambda: k.add(x, row), lambda: x + row,
                       torch and (lambda: tx + trow))
            yield Case('mul column', f'{n // m} x {m}', lambda: k.mul(x, col), lambda: x * col,
                       torch and (lambda: tx * tcol))
        acc, tacc = a.copy(), *both(torch, a.copy())
        yield Case('add_scaled_', n, lambda: k.add_scaled_(acc, b, 1e-6),
                   lambda: np.add(acc, b * np.float32(1e-6), out=acc),
                   torch and (lambda: tacc.add_(tb, alpha=1e-6)))

        ta, tb, tp = both(torch, a, b, p, grad=True)
        yield Case('mul backward', n, lambda: (k.mul(g, b), k.mul(g, a)), lambda: (g * b, g * a),
                   backward(torch, lambda x, y: x * y, (ta, tb), g))
        yield Case('div backward', n, lambda: k.div_backward(g, a, p),
                   lambda: (g / p, -g * a / (p * p)), backward(torch, lambda x, y: x / y, (ta, tp), g))
        yield Case('maximum backward', n, lambda: k.maximum_backward(g, a, b),
                   lambda: k.table['maximum_backward'].twin(g, a, b),
                   torch and backward(torch, torch.maximum, (ta, tb), g))
        y = np.power(p, b)
        yield Case('pow backward', n, lambda: k.pow_backward(g, p, b, y),
                   lambda: k.table['pow_backward'].twin(g, p, b, y),
                   torch and backward(torch, torch.pow, (tp, tb), g))
        yield Case('pow 3 backward', n, lambda: k.pow_scalar_backward(g, a, 3.),
                   lambda: g * (3 * a * a), backward(torch, lambda x: x ** 3, (ta,), g))
