"""Copies into another order."""
import numpy as np
from .dispatch import kernel


def turned(a): return [((a.shape[0], a.shape[2], a.shape[1]), a.dtype)]

@kernel(out=turned, floor=1 << 18)
def turn(a):
    "(b, r, c) -> (b, c, r)."
    return a.swapaxes(1, 2).copy()


@kernel()
def flip_last(a):
    "Every row of (rows, n) backwards."
    return a[:, ::-1].copy()


def settle(a):
    """A contiguous copy of an array.

    A large one whose last two axes, or groups of axes, are swapped in memory goes through `turn`."""
    if not turn.kernel.pays(a.size) or a.dtype != np.float32: return a.copy()
    walk = []
    for n, s in zip(a.shape, a.strides):        # sizes and strides, neighbours that one stride can walk taken together
        if n == 1: continue
        if walk and walk[-1][1] == n * s: walk[-1] = (walk[-1][0] * n, s)
        else: walk.append((n, s))
    if len(walk) < 2: return a.copy()
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
