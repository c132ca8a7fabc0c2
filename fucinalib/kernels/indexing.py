"""Picking entries by number and putting them back. Arrays are (outer, n, inner): the indexed axis
stands in the middle."""
import numpy as np
from .dispatch import kernel
from .reductions import BLOCK


@kernel(floor=1 << 8, inplace=(0,))
def index_add_(out, at, update):
    "out[:, at[j]] += update[:, j] for j in order; an index that comes twice counts twice."
    wide = (out.astype(np.float64) if at.size > BLOCK and out.dtype == np.float32
            and np.bincount(at).max() > BLOCK else out)
    np.add.at(wide, (slice(None), at), update.astype(wide.dtype, copy=False))
    if wide is not out: out[...] = wide
    return out

@kernel(floor=0, out=lambda x, at: [(at.shape, x.dtype)])
def take_along(x, at):
    "out[o, j, i] = x[o, at[o, j, i], i]."
    return np.take_along_axis(x, at, 1)

@kernel(floor=0, inplace=(0,))
def scatter_add_(out, at, update):
    "out[o, at[o, j, i], i] += update[o, j, i] for j in order."
    o, _, i = np.ogrid[:at.shape[0], :1, :at.shape[2]]
    wide = out.astype(np.float64) if at.shape[1] > BLOCK and out.dtype == np.float32 else out
    np.add.at(wide, (o, at, i), update.astype(wide.dtype, copy=False))
    if wide is not out: out[...] = wide
    return out

@kernel(floor=0, inplace=(0,))
def scatter_(out, at, update):
    "out[o, at[o, j, i], i] = update[o, j, i] for j in order: the last one stays."
    np.put_along_axis(out, at, update, 1)
    return out
