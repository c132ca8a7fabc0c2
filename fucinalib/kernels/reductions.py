"""Many numbers become one: sums, largest and smallest, along the last axis or a middle one, and the way back.

`_last` kernels see (rows, n) and give (rows,); `_mid` kernels see (outer, n, inner) and give (outer, inner).
`sum`, `max` and `min` below bring any array and any axes into that form. A sum is added up in blocks, so that its
error does not grow with its length, and never in an order that depends on the number of threads.
"""
from functools import lru_cache
from math import prod
import builtins
import numpy as np
from .dispatch import kernel
from .forms import along, kept

BLOCK = 128
FEW = 1 << 7        # numbers from which one compiled pass is faster than NumPy's several


def sums(x): return [(kept(x), x.dtype)]
def ranked(x, *rest): return [(kept(x), x.dtype), (kept(x), np.int64)]


@kernel(out=sums)
def sum_last(x):
    "Sums of the rows."
    return np.add.reduce(x, axis=1)

@kernel(out=sums)
def sum_mid(x):
    "Sums along the middle axis, in blocks of 128."
    outer, n, inner = x.shape
    while n > BLOCK:
        full, rest = n // BLOCK, n % BLOCK
        head = np.add.reduce(x[:, :full * BLOCK].reshape(outer, full, BLOCK, inner), axis=2)
        x = np.concatenate([head, np.add.reduce(x[:, n - rest:], axis=1, keepdims=True)], axis=1) if rest else head
        n = x.shape[1]
    return np.add.reduce(x, axis=1)


def extremum(x, axis, fold):
    v = fold(x, axis=axis)
    return v, np.argmax(x == np.expand_dims(v, axis), axis=axis)

@along('max_{}', out=ranked, floor=FEW)
def largest(x):
    "The largest along {} and where it is first; NaN never wins, NaN alone gives NaN and 0."
    return extremum(x, 1, np.fmax.reduce)

@along('min_{}', out=ranked, floor=FEW)
def smallest(x):
    "The smallest along {} and where it is first; NaN never wins, NaN alone gives NaN and 0."
    return extremum(x, 1, np.fmin.reduce)


@along('spread_{}_', floor=1 << 16, inplace=(0,))
def repeat(y, g):
    "g repeated along {} into y: the way back of a sum."
    y[...] = g[:, None]
    return y


# any array, any axes

def runs(axes):
    "Neighbouring axes together: [0, 2, 3] -> [(0, 1), (2, 4)]."
    found = []
    for i in axes:
        if found and found[-1][1] == i: found[-1] = found[-1][0], i + 1
        else: found.append((i, i + 1))
    return found


def sum_columns(x):
    "sum_mid; a narrow inner axis is first added up several rows abreast."
    outer, n, inner = x.shape
    abreast = builtins.min(64 // inner, n // 64)
    if abreast < 2 or outer > 1 or not sum_mid.kernel.pays(x.size): return sum_mid(x)
    full = n // abreast * abreast
    head = sum_mid(x[:, :full].reshape(1, full // abreast, abreast * inner)).reshape(abreast, inner)
    return sum_mid(np.concatenate([head, x[0, full:]])[None])


@lru_cache(4096)
def way(shape, strides, axes):
    """How an array is reduced: the order of its axes in memory; (outer, n, inner) of each run of `axes` and the shape
    after it, the innermost first; the order of what is left."""
    order = tuple(sorted(range(len(shape)), key=lambda i: -abs(strides[i])))
    place = {axis: i for i, axis in enumerate(order)}
    now, steps = tuple([shape[i] for i in order]), []
    for lo, hi in reversed(runs(sorted(place[i] for i in axes))):
        steps.append(((prod(now[:lo]), prod(now[lo:hi]), prod(now[hi:])), now[:lo] + now[hi:]))
        now = now[:lo] + now[hi:]
    kept = [place[i] for i in range(len(shape)) if i not in axes]
    rank = sorted(kept)
    return order, steps, tuple([rank.index(i) for i in kept])


def reduce(x, axes, last, mid):
    "`last` or `mid` along one run of axes after another, the innermost first."
    order, steps, turn = way(x.shape, x.strides, tuple(axes))
    x = x.transpose(order)
    for three, left in steps:
        x = (last(x.reshape(three[:2])) if three[2] == 1 else mid(x.reshape(three))).reshape(left)
    return x.transpose(turn)


def sum(x, axes):
    "Sum over the axes (a tuple of positions); whole numbers and truth values in int64, f16 in f32."
    if x.dtype.kind in 'iub': return np.asarray(np.add.reduce(x, axis=tuple(axes), dtype=np.int64))
    if x.dtype.itemsize == 2: x = x.astype(np.float32)
    if not sum_last.kernel.pays(x.size):
        if len(axes) == x.ndim and x.flags.c_contiguous: return np.asarray(np.add.reduce(x, axis=None))
        if x.size <= BLOCK or prod([x.shape[i] for i in axes]) <= BLOCK:
            return np.asarray(np.add.reduce(x, axis=tuple(axes)))
    return reduce(x, axes, sum_last, sum_columns)


def column_sum(x):
    "Sums down the rows of a matrix, in blocks."
    return sum_columns(np.ascontiguousarray(x)[None])[0]


def roomy(dtype, n):
    "The type in which n numbers are added one by one: f64 from BLOCK on, where f32 would lose what they add up to."
    return np.float64 if n > BLOCK and dtype == np.float32 else dtype


def split(x, axis):
    "x as (outer, n, inner) around one axis, and the shape without it."
    return x.reshape(prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1:])), x.shape[:axis] + x.shape[axis + 1:]


def ranked_along(f, x, axis):
    flat, shape = split(x, axis)
    v, at = f(flat[:, :, 0] if flat.shape[2] == 1 else flat)
    return v.reshape(shape), at.reshape(shape)


def max(x, axis):
    "The largest along one axis and its first place; NaN never wins, a lane of NaN gives NaN and 0."
    return ranked_along(largest, x, axis)


def min(x, axis):
    "The smallest along one axis and its first place; NaN never wins, a lane of NaN gives NaN and 0."
    return ranked_along(smallest, x, axis)


def spread(g, axes, shape):
    """The gradient of a sum: `g` repeated along the axes that went away, as an array of its own.

    Axes that are not neighbours go through views."""
    found = runs(sorted(axes))
    if len(found) != 1: return np.ascontiguousarray(np.broadcast_to(np.expand_dims(g, tuple(axes)), shape))
    (lo, hi), y = found[0], np.empty(shape, g.dtype)
    outer, n, inner = prod(shape[:lo]), prod(shape[lo:hi]), prod(shape[hi:])
    if inner == 1: repeat(y.reshape(outer, n), g.reshape(outer))
    else: repeat(y.reshape(outer, n, inner), g.reshape(outer, inner))
    return y
