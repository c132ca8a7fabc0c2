"""Sums, means, largest and smallest."""
import numpy as np
from fucinalib import kernels as k
from .harness import Case, backward, both, normal

SHAPES = (1_000, 100), (1_000, 1_000), (10_000, 1_000), (100, 100_000), (100_000, 10)


def cases(torch):
    for n in (1_000, 100_000, 1_000_000, 10_000_000):
        x, tx = normal(n), *both(torch, normal(n))
        yield Case('sum all', n, lambda: k.sum(x, (0,)), lambda: np.sum(x), torch and (lambda: torch.sum(tx)))
        yield Case('max all', n, lambda: k.max(x, 0), lambda: (np.max(x), np.argmax(x)),
                   torch and (lambda: torch.max(tx, 0)))
    for shape in SHAPES:
        x, said = normal(*shape), ' x '.join(map(str, shape))
        tx, = both(torch, x)
        for axis in (0, 1):
            at = 'rows' if axis else 'columns'
            yield Case(f'sum {at}', said, lambda: k.sum(x, (axis,)), lambda: np.sum(x, axis),
                       torch and (lambda: torch.sum(tx, axis)))
            yield Case(f'max {at}', said, lambda: k.max(x, axis),
                       lambda: (np.max(x, axis), np.argmax(x, axis)),
                       torch and (lambda: torch.max(tx, axis)))
            g = normal(shape[1 - axis])
            leaf, = both(torch, x, grad=True)
            yield Case(
                f'sum {at} backward', said, lambda: k.spread(g, (axis,), shape),
                lambda: np.broadcast_to(np.expand_dims(g, axis), shape).copy(),
                torch
                and (lambda f=backward(torch, lambda t: t.sum(axis), (leaf,), g): f()[0].contiguous()))
    x = normal(32, 256, 28, 28)
    tx, = both(torch, x)
    yield Case('sum channels', '32 x 256 x 28 x 28', lambda: k.sum(x, (0, 2, 3)),
               lambda: np.sum(x, (0, 2, 3)), torch and (lambda: torch.sum(tx, (0, 2, 3))))
