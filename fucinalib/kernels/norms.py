"""Rows brought to one mean and one size: (rows, n). `w` and `b` are one weight and one offset per
column. Means and factors of the rows are f64."""
import numpy as np
from .dispatch import kernel
from .moments import across, deviate, lengths, moments
from .reductions import column_sum, sum_last


def with_rows(n): return lambda x, *rest: [(x.shape, x.dtype)] + [(x.shape[:1], np.float64)] * n
def with_columns(n): return lambda g, x, *rest: [(x.shape, x.dtype)] + [(x.shape[1:], x.dtype)] * n
def mean(x): return (sum_last(x) * x.dtype.type(1 / x.shape[1]))[:, None]
def factor(size, n, eps): return 1 / np.hypot(size / n**.5, eps**.5)


@kernel(floor=64, out=with_rows(1))
def rms_norm(x, eps):
    "Each row over the root of its mean square plus eps, and what it was multiplied by."
    r = factor(lengths(x, eps), x.shape[1], eps)
    return deviate(x, r), r

@kernel(floor=64, out=with_rows(1))
def rms_norm_weighted(x, w, eps):
    "As rms_norm, times w."
    y, r = rms_norm.kernel.twin(x, eps)
    y *= w
    return y, r

@kernel(floor=64, out=with_columns(1))
def rms_norm_backward(g, x, w, r):
    "Gradients of rms_norm_weighted for x and w."
    h, gw = deviate(x, r), g * w
    return deviate(gw - h * mean(gw * h), r), column_sum(g * h)

@kernel(floor=64, out=with_rows(2))
def layer_norm(x, w, b, eps):
    """Each row less its mean, over the root of its variance plus eps, times w plus b; the means
    and what was multiplied by."""
    m, size = moments(x, eps)
    r = factor(size, x.shape[1], eps)
    y = deviate(x, r, m)
    y *= w
    y += b
    return y, m, r

@kernel(floor=64, out=with_columns(2))
def layer_norm_backward(g, x, w, m, r):
    "Gradients of layer_norm for x, w and b."
    h, gw = deviate(x, r, m), g * w
    return deviate(gw - mean(gw) - h * mean(gw * h), r), column_sum(g * h), column_sum(g)


# groups of channels: (outer, places, channels), a mean m and a factor r for each channel of each outer entry, f64

def normed(x, m, r): return (x - across(m)) * across(r)

@kernel(floor=64)
def group_affine(x, m, r, w, b):
    "(x - m) r w + b, w and b one number for each channel; f64 on the way."
    return (normed(x, m, r) * w + b).astype(x.dtype)

@kernel(floor=64, out=lambda g, x, m, r: [(m.shape, m.dtype)] * 2)
def group_sums(g, x, m, r):
    "Sums over the places of g, and of g (x - m) r; f64."
    return np.add.reduce(g, axis=1, dtype='f8'), np.add.reduce(g * normed(x, m, r), axis=1)

@kernel(floor=64)
def group_slopes(g, x, m, r, a, b, c):
    "a g + b (x - m) r + c; f64 on the way."
    return (g * across(a) + normed(x, m, r) * across(b) + across(c)).astype(g.dtype)
