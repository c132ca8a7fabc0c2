"""Variance, norms and products along the last axis (rows, n) or a middle one (outer, n, inner)."""
import numpy as np
from .dispatch import kernel
from .reductions import planes, rows, sum_last, sum_mid


def pair(out): return lambda x: out(x) * 2

def moments(x, add):
    first = x[:, :1]        # the mean of distances from the first number is exact where all are equal
    mean = first[:, 0] + add(x - first) / x.dtype.type(x.shape[1])
    d = x - np.expand_dims(mean, 1)
    return mean, add(np.multiply(d, d, out=d))

@kernel(out=pair(rows))
def moments_last(x):
    "The mean of each row and the sum of its squared distances from it."
    return moments(x, sum_last)

@kernel(out=pair(planes))
def moments_mid(x):
    "The mean along the middle axis and the sum of squared distances from it."
    return moments(x, sum_mid)

@kernel()
def deviations_last(x, mean, g):
    "g[i] (x[i] - mean[i]) for each row: the gradient of half a variance."
    return (x - mean[:, None]) * g[:, None]

@kernel()
def deviations_mid(x, mean, g):
    "g (x - mean) along the middle axis."
    return (x - mean[:, None]) * g[:, None]


@kernel(out=rows)
def abs_sum_last(x):
    "Sums of |x| of the rows."
    return sum_last(np.abs(x))

@kernel(out=planes)
def abs_sum_mid(x):
    "Sums of |x| along the middle axis."
    return sum_mid(np.abs(x))

@kernel(out=rows)
def square_sum_last(x):
    "Sums of squares of the rows."
    return sum_last(np.multiply(x, x))

@kernel(out=planes)
def square_sum_mid(x):
    "Sums of squares along the middle axis."
    return sum_mid(np.multiply(x, x))


# f32 products in f64: what overflows or vanishes on the way comes back

def wide(x): return np.float64 if x.dtype == np.float32 else x.dtype

@kernel(out=rows)
def prod_last(x):
    "Products of the rows."
    return np.multiply.reduce(x, axis=1, dtype=wide(x)).astype(x.dtype, copy=False)

@kernel(out=planes)
def prod_mid(x):
    "Products along the middle axis."
    return np.multiply.reduce(x, axis=1, dtype=wide(x)).astype(x.dtype, copy=False)

def others(x):
    "For each entry along axis 1 the product of all others. No division: a zero leaves its own slot alone."
    left, right = np.ones(x.shape, wide(x)), np.ones(x.shape, wide(x))
    np.multiply.accumulate(x[:, :-1], axis=1, dtype=wide(x), out=left[:, 1:])
    np.multiply.accumulate(x[:, :0:-1], axis=1, dtype=wide(x), out=right[:, -2::-1])
    return left * right

@kernel(out=lambda x, g: [(x.shape, x.dtype)])
def prod_back_last(x, g):
    "g[i] times the product of all others in the row."
    return (others(x) * g[:, None]).astype(x.dtype, copy=False)

@kernel(out=lambda x, g: [(x.shape, x.dtype)])
def prod_back_mid(x, g):
    "g times the product of all others along the middle axis."
    return (others(x) * g[:, None]).astype(x.dtype, copy=False)
