"""Picking entries by number and putting them back. Arrays are (outer, n, inner): the indexed axis stands in the middle."""
import numpy as np
from .dispatch import kernel


@kernel(inplace=(0,))
def index_add_(out, at, update):
    "out[:, at[j]] += update[:, j] for j in order; an index that comes twice counts twice."
    flat = out.reshape(out.shape[0], out.shape[1], -1)
    np.add.at(flat, (slice(None), at), update.reshape(update.shape[0], update.shape[1], -1))
    return out

@kernel(out=lambda x, at: [(at.shape, x.dtype)])
def take_along(x, at):
    "out[o, j, i] = x[o, at[o, j, i], i]."
    return np.take_along_axis(x, at, 1)

@kernel(inplace=(0,))
def scatter_add_(out, at, update):
    "out[o, at[o, j, i], i] += update[o, j, i] for j in order."
    o, _, i = np.ogrid[:at.shape[0], :1, :at.shape[2]]
    np.add.at(out, (o, at, i), update)
    return out

@kernel(inplace=(0,))
def scatter_(out, at, update):
    "out[o, at[o, j, i], i] = update[o, j, i] for j in order: the last one stays."
    np.put_along_axis(out, at, update, 1)
    return out
