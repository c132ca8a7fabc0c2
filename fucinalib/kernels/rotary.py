"""Pairs of features turned by an angle. Arrays are (rows, inner, d); row r has the angles of row
r - r // n * n of `cos` and `sin`, which are (n, pairs)."""
import numpy as np
from .dispatch import kernel


def by_position(x, cos, sin, sign):
    "x, cos and sin as arrays that meet: (outer, n, inner, ..)."
    n, t = len(cos), x.dtype.type
    return (x.reshape(-1, n, *x.shape[1:]),
            cos[:, None].astype(x.dtype, copy=False),
            sin[:, None].astype(x.dtype, copy=False) * t(sign))

@kernel(floor=64)
def rope_half(x, cos, sin, sign):
    "Feature i and feature i + pairs turn together by sign times the angle; the features behind stay."
    v, c, s = by_position(x, cos, sin, sign)
    h = cos.shape[1]
    a, b, y = v[..., :h], v[..., h:2 * h], np.empty_like(v)
    y[..., :h] = a * c - b * s
    y[..., h:2 * h] = b * c + a * s
    y[..., 2 * h:] = v[..., 2 * h:]
    return y.reshape(x.shape)

@kernel(floor=64)
def rope_pairs(x, cos, sin, lo, sign):
    "Features lo + 2 i and lo + 2 i + 1 turn together by sign times the angle; all others stay."
    v, c, s = by_position(x, cos, sin, sign)
    hi = lo + 2 * cos.shape[1]
    a, b, y = v[..., lo:hi:2], v[..., lo + 1:hi:2], np.empty_like(v)
    y[..., lo:hi:2] = a * c - b * s
    y[..., lo + 1:hi:2] = b * c + a * s
    y[..., :lo], y[..., hi:] = v[..., :lo], v[..., hi:]
    return y.reshape(x.shape)
