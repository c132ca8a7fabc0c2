"""Copies, and copies into another order."""
from math import prod
import numpy as np
from .dispatch import kernel

LONG = 64       # numbers of a row from which threads that share rows pay


def turned(a): return [((a.shape[0], a.shape[2], a.shape[1]), a.dtype)]

@kernel(out=turned, floor=1 << 18)
def turn(a):
    "(b, r, c) -> (b, c, r)."
    return a.swapaxes(1, 2).copy()


@kernel()
def flip_last(a):
    "Every row of (rows, n) backwards."
    return a[:, ::-1].copy()


@kernel(inplace=(0,), floor=1 << 14)
def flood_(y, value):
    "One value everywhere in a flat array."
    y.fill(value)
    return y


def flooded(shape, kind, value):
    "A new array of one value."
    y = np.empty(shape, kind)
    flood_(y.reshape(-1), kind.type(value))
    return y


@kernel(inplace=(0,), floor=1 << 17)
def paste_(y, a, to, first, n):
    "n columns of a, from `first` on, into y from column `to` on."
    y[:, to:to + n] = a[:, first:first + n]
    return y


def in_long_rows(a, i):
    "Whether `paste_` is the way to copy what lies along axis i and behind it."
    return (paste_.kernel.pays(a.size) and a.dtype == np.float32 and a.flags.c_contiguous
            and prod(a.shape[i:]) >= LONG)


def put(a, y, i, to, first, n):
    "n entries of `a` along axis i, from `first` on, into the new array `y` from `to` on."
    if not in_long_rows(a, i):
        rows = (slice(None),) * i
        y[rows + (slice(to, to + n),)] = a[rows + (slice(first, first + n),)]
    elif n:
        inner = prod(a.shape[i + 1:])
        flat = [v.reshape(-1, v.shape[i] * inner) for v in (y, a)]
        paste_(*flat, to * inner, first * inner, n * inner)


def join(arrays, i, shape):
    "Arrays one after another along axis i, seen as `shape`: so they may be the entries of a new axis i, too."
    y, first = np.empty(shape, arrays[0].dtype), arrays[0]
    long = y.reshape(first.shape[:i] + (-1,) + first.shape[i + 1:])
    if not in_long_rows(first, i): np.concatenate(arrays, axis=i, out=long)
    else:
        to = 0
        for a in arrays:
            put(a, long, i, to, 0, a.shape[i])
            to += a.shape[i]
    return y


def copy(a):
    "The same values in new memory, in order."
    if not a.ndim or not a.flags.c_contiguous: return a.copy()
    y = np.empty(a.shape, a.dtype)
    put(a, y, 0, 0, 0, len(a))
    return y


def settle(a):
    """A contiguous copy of an array.

    A large one whose last two axes, or groups of axes, are swapped in memory goes through `turn`."""
    if not turn.kernel.pays(a.size) or a.dtype != np.float32: return copy(a)
    walk = []
    for n, s in zip(a.shape, a.strides):        # sizes and strides, neighbours that one stride can walk taken together
        if n == 1: continue
        if walk and walk[-1][1] == n * s: walk[-1] = (walk[-1][0] * n, s)
        else: walk.append((n, s))
    if len(walk) < 2: return copy(a)
    sizes, strides = zip(*walk)
    order = sorted(range(len(walk)), key=lambda k: -strides[k])
    size = a.itemsize
    for k in reversed(order):                   # is there memory without gaps underneath?
        if strides[k] != size: return a.copy()
        size *= sizes[k]
    under = np.lib.stride_tricks.as_strided(a, [sizes[k] for k in order], [strides[k] for k in order])
    n = len(walk)
    if order != [*range(n - 2), n - 1, n - 2]: return a.copy()
    return turn(under.reshape(-1, *under.shape[-2:])).reshape(a.shape)
