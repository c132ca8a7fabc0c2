"""Variance, norms and products along the last axis (rows, n) or a middle one (outer, n, inner). Means and lengths are f64.

Squares of f32 are added up in f32, blocks of them in f64. A lane whose sum of squares leaves the range in which f32 has all its digits, or whose mean
is large beside its distances from it, is computed again in f64, where no square of an f32 overflows or vanishes. Lanes of f64 are brought near 1 first
where their squares would.
"""
import numpy as np
from .dispatch import kernel
from .reductions import planes, rows, sum_last, sum_mid

FEW = 4096      # numbers up to which f64 is as fast


def wide_rows(n): return lambda x: [(x.shape[:1], np.float64)] * n
def wide_planes(n): return lambda x: [((x.shape[0], x.shape[2]), np.float64)] * n
def added(x): return (sum_last if x.ndim == 2 else sum_mid)(x)
def short(x): return x.dtype == np.float32 and x.size > FEW
def along(v): return np.expand_dims(v, 1)
def of_lanes(x, which): "The lanes for which `which` is true, as rows."; return np.moveaxis(x, 1, -1)[which]
def fits(v): "What f32 multiplies by without loss."; return (v > 1e-15) & (v < 1e15)


def squares(d): return np.einsum('ij...,ij...->i...', d, d)

def length(d):
    "Roots of the sums of squares along axis 1, of f64."
    y = np.sqrt(squares(d))
    lost = (y > 1e150) | (y < 1e-150)
    if not lost.any(): return y
    top = np.max(np.abs(d), axis=1)
    unit = along(np.exp2(np.floor(np.log2(np.where((top > 0) & (top < np.inf), top, 1)))))
    return np.where(lost, unit[:, 0] * np.sqrt(squares(d / unit)), y)

def exact_size(x): return np.sqrt(squares(x.astype(np.float64))) if x.dtype == np.float32 else length(x)

def exact_moments(x):
    "Equal numbers of f32 give themselves as their mean, as f64 holds their sum; those of f64 do as their distances from the first one are 0."
    first = 0. if x.dtype == np.float32 else x[:, :1]
    d = x.astype(np.float64) - first
    m = np.add.reduce(d, axis=1, keepdims=True) / x.shape[1]
    d -= m
    return (first + m)[:, 0], np.sqrt(squares(d)) if x.dtype == np.float32 else length(d)


def sizes(x, eps=0.):
    "Roots of the sums of squares along axis 1; where n eps will be added to the squares, what is far below need not be exact."
    n = x.shape[1]
    if not short(x): return exact_size(x)
    s = added(np.square(x)).astype(np.float64)
    bad = ~((s < 1e37) & (s + n * eps > n * 1e-30))
    y = np.sqrt(s)
    if bad.any(): y[bad] = exact_size(of_lanes(x, bad))
    return y

def moments(x, eps=0.):
    "The means along axis 1 and the roots of the sums of squared distances from them."
    n = x.shape[1]
    if not short(x): return exact_moments(x)
    m = added(x) / np.float64(n)
    c = m.astype(x.dtype)
    d = x - along(c)
    s = added(np.multiply(d, d, out=d)) - n * (m - c)**2
    bad = ~((s < 1e37) & (s + n * eps > n * 1e-30) & (m * m * n < 64 * s))
    y = np.sqrt(s)
    if bad.any(): m[bad], y[bad] = exact_moments(of_lanes(x, bad))
    return m, y

def deviate(x, g, mean=None):
    "(x - mean) g, one mean (0 if there is none) and one g for each lane, both f64."
    if not short(x): return ((x if mean is None else x - along(mean)) * along(g)).astype(x.dtype, copy=False)
    small, bad = along(g.astype(x.dtype)), ~(fits(np.abs(g)) | (g == 0))
    if mean is None: y = x * small
    else:
        c = mean.astype(x.dtype)
        y = x - along(c)
        y *= small
        y -= along(((mean - c) * g).astype(x.dtype))
        bad |= ~(np.abs(mean) < 1e30)
    if bad.any(): np.moveaxis(y, 1, -1)[bad] = (of_lanes(x, bad) - (0. if mean is None else mean[bad][:, None])) * g[bad][:, None]
    return y


@kernel(out=wide_rows(2))
def moments_last(x):
    "The mean of each row and the root of the sum of its squared distances from it."
    return moments(x)

@kernel(out=wide_planes(2))
def moments_mid(x):
    "The mean along the middle axis and the root of the sum of squared distances from it."
    return moments(x)

@kernel()
def deviations_last(x, mean, g):
    "g[i] (x[i] - mean[i]) for each row."
    return deviate(x, g, mean)

@kernel()
def deviations_mid(x, mean, g):
    "g (x - mean) along the middle axis."
    return deviate(x, g, mean)


@kernel(out=rows)
def abs_sum_last(x):
    "Sums of |x| of the rows."
    return sum_last(np.abs(x))

@kernel(out=planes)
def abs_sum_mid(x):
    "Sums of |x| along the middle axis."
    return sum_mid(np.abs(x))

@kernel(out=wide_rows(1))
def length_last(x):
    "Roots of the sums of squares of the rows."
    return sizes(x)

@kernel(out=wide_planes(1))
def length_mid(x):
    "Roots of the sums of squares along the middle axis."
    return sizes(x)


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
