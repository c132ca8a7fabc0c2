"""Reductions of the numbers that a mask selects, along the last axis (rows, n) or a middle one (outer, n, inner).
The mask m is an array of bytes, 0 or 1.

A masked sum is, bit for bit, the sum of the array in which everything else was replaced by 0; it needs no such array.
"""
import numpy as np
from .forms import along
from .moments import added
from .reductions import FEW, ranked, sum_last, sum_mid

SAME = sum_last.kernel.floor       # as the plain sum has it, so that both take the same way at every size

def both(fold, x, m): return fold(np.where(m, x, x.dtype.type(0))), np.count_nonzero(m, axis=1)


@along(out=ranked, floor=SAME)
def masked_sum(x, m):
    "Sums of what is selected along {}, and how many that is."
    return both(added, x, m)


def masked_sum_columns(x, m):
    "masked_sum of planes; a narrow inner axis is first added up several rows abreast, as in reductions.sum_columns."
    outer, n, inner = x.shape
    abreast = min(64 // inner, n // 64)
    if abreast < 2 or outer > 1 or not sum_last.kernel.pays(x.size): return masked_sum(x, m)
    full = n // abreast * abreast
    wide = [v[:, :full].reshape(1, full // abreast, abreast * inner) for v in (x, m)]
    head, count = [v.reshape(abreast, inner) for v in masked_sum(*wide)]
    rest, more = both(lambda v: v, x[:, full:], m[:, full:])
    return sum_mid(np.concatenate([head, rest[0]])[None]), count.sum(axis=0)[None] + more


def lowest(dtype, sign):
    "What never wins: -inf for max, inf for min, and the ends of whole numbers."
    if dtype.kind == 'f': return dtype.type(-sign * np.inf)
    if dtype.kind == 'b': return dtype.type(sign < 0)
    return dtype.type(np.iinfo(dtype).min if sign > 0 else np.iinfo(dtype).max)

def selected_extremum(x, m, fold, sign):
    "The best selected value and its first place; where only NaN is selected NaN, where nothing is the lowest and -1."
    worst = lowest(x.dtype, sign)
    v = fold(np.where(m, x, worst), axis=1)
    hit = (x == v[:, None]) & (m != 0)
    at = np.argmax(hit, axis=1)
    found = np.take_along_axis(hit, at[:, None], 1)[:, 0]
    if found.all(): return v, at
    some = m.any(axis=1)
    v = np.where(found, v, worst if x.dtype.kind != 'f' else np.where(some, x.dtype.type(np.nan), worst))
    return v, np.where(found, at, np.where(some, np.argmax(m, axis=1), -1))

@along(out=ranked, floor=FEW)
def masked_max(x, m):
    "The largest selected along {} and where it is first; NaN never wins; -inf and -1 where nothing is selected."
    return selected_extremum(x, m, np.fmax.reduce, 1)

@along(out=ranked, floor=FEW)
def masked_min(x, m):
    "The smallest selected along {} and where it is first; NaN never wins; inf and -1 where nothing is selected."
    return selected_extremum(x, m, np.fmin.reduce, -1)


@along(out=lambda m, g: [(m.shape, g.dtype)])
def masked_spread(m, g):
    "g where selected along {}, else 0: the gradient of masked_sum."
    return np.where(m, g[:, None], g.dtype.type(0))
