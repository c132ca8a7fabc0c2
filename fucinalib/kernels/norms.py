"""Rows brought to one mean and one size: (rows, n). `w` and `b` are one weight and one offset per column."""
import numpy as np
from .dispatch import kernel
from .reductions import sum_last, sum_mid


def with_rows(n): return lambda x, *rest: [(x.shape, x.dtype)] + [(x.shape[:1], x.dtype)] * n
def with_columns(n): return lambda g, x, *rest: [(x.shape, x.dtype)] + [(x.shape[1:], x.dtype)] * n
def mean(x): return sum_last(x) * x.dtype.type(1 / x.shape[1])
def columns(x): return sum_mid(x[None])[0]


@kernel(floor=64, out=with_rows(1))
def rms_norm(x, eps):
    "Each row over the root of its mean square plus eps, and what it was multiplied by."
    r = 1 / np.sqrt(mean(np.multiply(x, x)) + x.dtype.type(eps))
    return x * r[:, None], r

@kernel(floor=64, out=with_rows(1))
def rms_norm_weighted(x, w, eps):
    "As rms_norm, times w."
    y, r = rms_norm.kernel.twin(x, eps)
    return y * w, r

@kernel(floor=64, out=with_columns(1))
def rms_norm_backward(g, x, w, r):
    "Gradients of rms_norm_weighted for x and w."
    h, gw = x * r[:, None], g * w
    return (gw - h * mean(gw * h)[:, None]) * r[:, None], columns(g * h)

@kernel(floor=64, out=with_rows(2))
def layer_norm(x, w, b, eps):
    "Each row less its mean, over the root of its variance plus eps, times w plus b; the means and what was multiplied by."
    m = mean(x)
    d = x - m[:, None]
    r = 1 / np.sqrt(mean(np.multiply(d, d)) + x.dtype.type(eps))
    return d * r[:, None] * w + b, m, r

@kernel(floor=64, out=with_columns(2))
def layer_norm_backward(g, x, w, m, r):
    "Gradients of layer_norm for x, w and b."
    h, gw = (x - m[:, None]) * r[:, None], g * w
    return (gw - mean(gw)[:, None] - h * mean(gw * h)[:, None]) * r[:, None], columns(g * h), columns(g)
