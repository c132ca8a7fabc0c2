"""Running sums and products and their gradients, recurrences, segments."""
import numpy as np
from fucinalib import kernels as k
from .harness import Case, backward, both, normal


def cases(torch):
    for shape in ((10, 100), (100, 1_000), (1_000, 1_000), (100_000, 100), (10, 1_000_000)):
        x, said = normal(*shape), ' x '.join(map(str, shape))
        g, tx, (leaf,) = normal(*shape, seed=1), *both(torch, x), both(torch, x, grad=True)
        for form, axis, v in (('last', 1, x), ('mid', 0, x[None])):
            at, w = 'rows' if axis else 'columns', g if axis else g[None]
            sums, products, back, slopes = [getattr(k, f'{name}_{form}') for name in (
                                                'cumsum', 'cumprod', 'cumsum_back', 'cumprod_back')]
            yield Case(f'cumsum {at}', said, lambda: sums(v), lambda: np.cumsum(x, axis),
                       torch and (lambda: torch.cumsum(tx, axis)))
            yield Case(f'cumsum {at} backward', said, lambda: back(w),
                       lambda: np.ascontiguousarray(np.flip(np.cumsum(np.flip(g, axis), axis), axis)),
                       backward(torch, lambda t: torch.cumsum(t, axis), (leaf,), g))
            y = products(v)
            yield Case(f'cumprod {at}', said, lambda: products(v), lambda: np.cumprod(x, axis),
                       torch and (lambda: torch.cumprod(tx, axis)))
            yield Case(f'cumprod {at} backward', said, lambda: slopes(w, v, y), None,
                       backward(torch, lambda t: torch.cumprod(t, axis), (leaf,), g))
            a, h = np.full_like(v[:, :1] if form == 'mid' else v[:, :1], .9), np.zeros((v.shape[0], *v.shape[2:]), 'f4')
            recur = getattr(k, f'recurrence_{form}')
            yield Case(f'recurrence {at}', said, lambda: recur(v, a, h), None, None)
    x = normal(1, 100_000, 16)
    at = np.r_[0, np.sort(np.random.default_rng(2).integers(0, 100_001, 9_999)), 100_000]
    tx = torch and torch.from_numpy(x[0])
    yield Case(
        'segment_sum', '100000 x 16', lambda: k.segment_sum(x, at),
        lambda: np.add.reduceat(x, np.minimum(at[:-1], 99_999), axis=1),
        torch and (lambda n=torch.from_numpy(np.diff(at)): torch.segment_reduce(tx, 'sum', lengths=n)))
