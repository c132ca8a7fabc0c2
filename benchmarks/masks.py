"""Comparisons, logic, choices, bands. Comparisons and logic are NumPy's own."""
import numpy as np
from fucinalib import Tensor, kernels as k
from .harness import Case, both, normal

SIZES = 1_000, 100_000, 1_000_000, 10_000_000


def cases(torch):
    for n in SIZES:
        a, b = normal(n), normal(n, seed=1)
        m, o = a > 0, b > 0
        ta, tb, tm, to = both(torch, a, b, m, o)
        x, y, p, q = (Tensor(v, 'd') for v in (a, b, m, o))
        yield Case('lt', n, lambda: x.lt(y), None, torch and (lambda: ta < tb))
        yield Case('gt number', n, lambda: x.gt(0), None, torch and (lambda: ta > 0))
        yield Case('isfinite', n, lambda: x.isfinite(), None, torch and (lambda: torch.isfinite(ta)))
        yield Case('logical_and', n, lambda: p.logical_and(q), None, torch and (lambda: torch.logical_and(tm, to)))
        yield Case('all', n, lambda: p.all(), None, torch and (lambda: tm.all()))
        yield Case('where', n, lambda: k.where(m, a, b), lambda: np.where(m, a, b),
                   torch and (lambda: torch.where(tm, ta, tb)))
        yield Case('masked_fill', n, lambda: k.fill(m, a, 0.), lambda: np.where(m, np.float32(0), a),
                   torch and (lambda: ta.masked_fill(tm, 0.)))
        side = int(n ** .5)
        s = a[:side * side].reshape(1, side, side)
        ts, = both(torch, s)
        yield Case('tril', f'{side} x {side}', lambda: k.band_part(s, side, 0),
                   lambda: k.table['band_part'].twin(s, side, 0), torch and (lambda: torch.tril(ts)))
        c, tc = Tensor(m[:side * side].reshape(side, side), 'row col'), torch and tm[:side * side].reshape(side, side)
        yield Case('any row', f'{side} x {side}', lambda: c.any('row'), None, torch and (lambda: tc.any(0)))
        yield Case('any col', f'{side} x {side}', lambda: c.any('col'), None, torch and (lambda: tc.any(1)))
