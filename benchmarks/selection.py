"""Picking, choosing and sorting as whole operations, since most of their work is not in a kernel."""
import numpy as np
import fucinalib as fl
from .harness import Case, both, normal


def cases(torch):
    x, at = normal(50_000, 256), np.random.default_rng(1).integers(0, 50_000, 4096)
    t, i = fl.Tensor(x, 'token d'), torch and torch.from_numpy(at)
    y, (leaf,) = both(torch, x)[0], both(torch, x, grad=True)
    yield Case('index_select', '50000 x 256, 4096', lambda: t.index_select('token', at),
               lambda: x[at], torch and (lambda: y.index_select(0, i)))
    g, hot = normal(4096, 256, seed=2), fl.param(x, 'token d')
    def back():
        hot.grad = None
        hot.index_select('token', at).backward(g)
    def back_torch():
        leaf.grad = None
        leaf.index_select(0, i).backward(torch.from_numpy(g))
    yield Case('index_select and back', '50000 x 256, 4096', back, None, torch and back_torch)
    for rows, n, best in ((4096, 4096, 8), (64, 50_000, 40), (1, 150_000, 50), (10_000, 64, 8)):
        a = normal(rows, n)
        f, v = fl.Tensor(a, 'row col'), both(torch, a)[0]
        yield Case('topk', f'{rows} x {n}, {best}', lambda: f.topk('col', best),
                   lambda: np.argpartition(a, n - best, 1)[:, n - best:],
                   torch and (lambda: v.topk(best)))
    for rows, n in ((1, 100_000), (1, 1_000_000), (1000, 1000)):
        a = normal(rows, n)
        f, v = fl.Tensor(a, 'row col'), both(torch, a)[0]
        yield Case('sort', f'{rows} x {n}', lambda: f.sort('col'), lambda: np.argsort(a, 1),
                   torch and (lambda: v.sort(1)))
        yield Case('sort, descending', f'{rows} x {n}', lambda: f.sort('col', descending=True),
                   None, torch and (lambda: v.sort(1, descending=True)))
        yield Case('argsort', f'{rows} x {n}', lambda: f.argsort('col'), None, torch and (lambda: v.argsort(1)))
