"""Variance, norms and products along the last axis (rows, n) or a middle one (outer, n, inner). Means and lengths are
f64.

Squares of f32 are added up in f32, blocks of them in f64. A lane whose sum of squares leaves the range in which f32 has
all its digits, or whose mean is large beside its distances from it, is computed again in f64, where no square of an f32
overflows or vanishes. Lanes of f64 are brought near 1 first where their squares would.
"""
import numpy as np
from .forms import along, kept
from .reductions import FEW, sum_last, sum_mid, sums

SHORT = 4096    # numbers up to which f64 is as fast


def wide_sums(n): return lambda x: [(kept(x), np.float64)] * n
def added(x): return (sum_last if x.ndim == 2 else sum_mid)(x)
def short(x): return x.dtype == np.float32 and x.size > SHORT
def across(v): return np.expand_dims(v, 1)
def of_lanes(x, which): return np.moveaxis(x, 1, -1)[which]     # those for which `which` is true, as rows
def fits(v): return (v > 1e-15) & (v < 1e15)                    # what f32 multiplies by without loss


def squares(d): return np.einsum('ij...,ij...->i...', d, d)

def block_sums(add, d):
    """Sums along axis 1: `add` along axis 2 of about sqrt(n) blocks, whose sums are added. One after the other, n equal
    numbers would be rounded the same way n times."""
    n, k = d.shape[1], max(1, int(d.shape[1]**.5))
    full = n // k * k
    y = np.add.reduce(add(d[:, :full].reshape(d.shape[0], -1, k, *d.shape[2:])), axis=1)
    return y + add(d[:, None, full:])[:, 0] if full < n else y

def total(d): return block_sums(lambda b: np.add.reduce(b, axis=2), d)
def wide_squares(d): return block_sums(lambda b: np.einsum('ikj...,ikj...->ik...', b, b), d)

def root_of_squares(d):
    "Roots of the sums of squares along axis 1, of f64."
    y = np.sqrt(wide_squares(d))
    lost = (y > 1e150) | (y < 1e-150)
    if not lost.any(): return y
    top = np.max(np.abs(d), axis=1)
    unit = across(np.exp2(np.floor(np.log2(np.where((top > 0) & (top < np.inf), top, 1)))))
    return np.where(lost, unit[:, 0] * np.sqrt(wide_squares(d / unit)), y)

def exact_size(x): return np.sqrt(squares(x.astype(np.float64))) if x.dtype == np.float32 else root_of_squares(x)

def exact_moments(x):
    """As moments, in f64. Equal numbers give themselves as their mean: of f32 as f64 holds their sum, of f64 as their
    distances from the first one are 0."""
    first = 0. if x.dtype == np.float32 else x[:, :1]
    d = x.astype(np.float64) - first
    m = across(np.add.reduce(d, axis=1) if x.dtype == np.float32 else total(d)) / x.shape[1]
    d -= m
    return (first + m)[:, 0], np.sqrt(squares(d)) if x.dtype == np.float32 else root_of_squares(d)


def lengths(x, eps=0.):
    "Roots of the sums of squares along axis 1; what is far below n eps, which will be added, need not be exact."
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
    d = x - across(c)
    s = added(np.multiply(d, d, out=d)) - n * (m - c)**2
    bad = ~((s < 1e37) & (s + n * eps > n * 1e-30) & (m * m * n < 64 * s))
    y = np.sqrt(s)
    if bad.any(): m[bad], y[bad] = exact_moments(of_lanes(x, bad))
    return m, y

def deviate(x, g, mean=None):
    "(x - mean) g, one mean (0 if there is none) and one g for each lane, both f64."
    if not short(x): return ((x if mean is None else x - across(mean)) * across(g)).astype(x.dtype, copy=False)
    small, bad = across(g.astype(x.dtype)), ~(fits(np.abs(g)) | (g == 0))
    if mean is None: y = x * small
    else:
        c = mean.astype(x.dtype)
        y = x - across(c)
        y *= small
        y -= across(((mean - c) * g).astype(x.dtype))
        bad |= ~(np.abs(mean) < 1e30)
    if bad.any():
        from_mean = of_lanes(x, bad) - (0. if mean is None else mean[bad][:, None])
        np.moveaxis(y, 1, -1)[bad] = from_mean * g[bad][:, None]
    return y


@along('moments_{}', out=wide_sums(2), floor=FEW)
def moments_of(x):
    "The mean along {} and the root of the sum of squared distances from it."
    return moments(x)

@along(floor=FEW)
def deviations(x, mean, g):
    "g (x - mean) along {}, one mean and one g for each lane."
    return deviate(x, g, mean)

@along(out=sums, floor=FEW)
def abs_sum(x):
    "Sums of |x| along {}."
    return added(np.abs(x))

@along(out=wide_sums(1), floor=FEW)
def length(x):
    "Roots of the sums of squares along {}."
    return lengths(x)


# f32 products in f64: what overflows or vanishes on the way comes back

def wide(x): return np.float64 if x.dtype == np.float32 else x.dtype

@along(out=sums, floor=FEW)
def prod(x):
    "Products along {}."
    return np.multiply.reduce(x, axis=1, dtype=wide(x)).astype(x.dtype, copy=False)

def others(x):
    "For each entry along axis 1 the product of all others. No division: a zero leaves its own slot alone."
    left, right = np.ones(x.shape, wide(x)), np.ones(x.shape, wide(x))
    np.multiply.accumulate(x[:, :-1], axis=1, dtype=wide(x), out=left[:, 1:])
    np.multiply.accumulate(x[:, :0:-1], axis=1, dtype=wide(x), out=right[:, -2::-1])
    return left * right

@along('prod_back_{}')
def prod_back(x, g):
    "g times the product of all others along {}."
    return (others(x) * g[:, None]).astype(x.dtype, copy=False)
