"""Truth values, and choosing between numbers by them."""
import numpy as np
from .dispatch import kernel
from .pointwise import quiet


def truths(a, *b): return [(a.shape, np.dtype(bool))]
def values(mask, a, *b): return [(a.shape, a.dtype)]

def test(f):
    "A comparison of two arrays, or of an array and a number."
    return kernel(flat=True, out=truths)(quiet(f))


@test
def lt(a, b):
    "a < b."
    return np.less(a, b)

@test
def le(a, b):
    "a <= b."
    return np.less_equal(a, b)

@test
def gt(a, b):
    "a > b."
    return np.greater(a, b)

@test
def ge(a, b):
    "a >= b."
    return np.greater_equal(a, b)

@test
def eq(a, b):
    "a == b."
    return np.equal(a, b)

@test
def ne(a, b):
    "a != b."
    return np.not_equal(a, b)


@kernel(flat=True, out=values)
def where(mask, a, b):
    "a where the mask is true, else b; b an array or a number."
    return np.where(mask, a, b if isinstance(b, np.ndarray) else a.dtype.type(b))

@kernel(flat=True, out=values)
def where_not(mask, a):
    "0 where the mask is true, else a."
    return np.where(mask, a.dtype.type(0), a)

@kernel(flat=True, out=values)
def fill(mask, a, value):
    "The number `value` where the mask is true, else a."
    return np.where(mask, a.dtype.type(value), a)

@kernel()
def band_part(x, lower, upper):
    "Of planes (.., n, m): x where i - j <= lower and j - i <= upper, else 0."
    past = np.arange(x.shape[2])[None] - np.arange(x.shape[1])[:, None]
    return np.where((past >= -lower) & (past <= upper), x, x.dtype.type(0))
