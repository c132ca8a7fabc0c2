"""Choosing between numbers by truth values."""
import numpy as np
from .dispatch import kernel


def values(mask, a, *b): return [(a.shape, a.dtype)]

@kernel(flat=True, floor=1 << 12, out=values, forms=('scalar',))
def where(mask, a, b):
    "a where the mask is true, else b; b an array or a number."
    return np.where(mask, a, b if isinstance(b, np.ndarray) else a.dtype.type(b))

@kernel(flat=True, floor=1 << 12, out=values)
def where_scalar(mask, a, s):
    "a where the mask is true, else the number s."
    return np.where(mask, a, a.dtype.type(s))

@kernel(flat=True, floor=1 << 12, out=values)
def fill(mask, a, value):
    "The number `value` where the mask is true, else a."
    return np.where(mask, a.dtype.type(value), a)

@kernel(floor=1 << 7)
def band_part(x, lower, upper):
    "Of planes (.., n, m): x where i - j <= lower and j - i <= upper, else 0."
    past = np.arange(x.shape[2])[None] - np.arange(x.shape[1])[:, None]
    return np.where((past >= -lower) & (past <= upper), x, x.dtype.type(0))
