"""Running sums, products and recurrences along the last axis (rows, n) or a middle one (outer, n, inner), and their way
back.

Every lane is computed serially, front to back (gradients back to front), one rounding per operation: any backend gives
the same bits.
"""
import numpy as np
from .dispatch import kernel
from .forms import along

FEW = 1 << 7        # numbers from which a compiled pass is faster


def flipped(x): return x[:, ::-1]

@along(floor=FEW)
def cumsum(x):
    "Running sums along {}."
    return np.cumsum(x, axis=1, dtype=x.dtype)

@along('cumsum_back_{}', floor=FEW)
def cumsum_back(g):
    "Sums of what is left along {}, this entry included: the gradient of cumsum."
    return np.ascontiguousarray(flipped(np.cumsum(flipped(g), axis=1, dtype=g.dtype)))

@along(floor=FEW)
def cumprod(x):
    "Running products along {}."
    return np.cumprod(x, axis=1, dtype=x.dtype)

@along('cumprod_back_{}', floor=FEW)
def cumprod_back(g, x, y):
    """The gradient of y = cumprod(x) along {}. s[i] = g[i] + x[i+1] s[i+1] from the back, times the product before i.

    No division, so zeros are exact."""
    d, s = np.empty_like(x), g[:, -1]
    for i in range(x.shape[1] - 1, 0, -1):
        d[:, i] = y[:, i - 1] * s
        s = x[:, i] * s + g[:, i - 1]
    d[:, 0] = s
    return d


# h[t] = a[t] h[t-1] + b[t]; a has as many steps as b, or one for all of them

def steps(a, n): return np.broadcast_to(a, (a.shape[0], n, *a.shape[2:]))

@along(floor=FEW)
def recurrence(b, a, first):
    "h[t] = a[t] h[t-1] + b[t] along {}, h[-1] = first."
    h, y, a = first, np.empty_like(b), steps(a, b.shape[1])
    for t in range(b.shape[1]):
        h = a[:, t] * h + b[:, t]
        y[:, t] = h
    return y

@along('recurrence_back_{}', floor=FEW)
def recurrence_back(g, a):
    "The gradient of b in recurrence along {}: d[t] = g[t] + a[t+1] d[t+1]."
    d, a = np.empty_like(g), steps(a, g.shape[1])
    s = d[:, -1] = g[:, -1]
    for t in range(g.shape[1] - 1, 0, -1): s = d[:, t - 1] = a[:, t] * s + g[:, t - 1]
    return d


# runs of neighbours along the middle axis: offsets[i] .. offsets[i+1] belong to segment i; some may be empty

@kernel(out=lambda x, offsets: [((x.shape[0], len(offsets) - 1, x.shape[2]), x.dtype)])
def segment_sum(x, offsets):
    "Sums of the segments, long ones in blocks; an empty one gives 0."
    y = np.zeros((x.shape[0], len(offsets) - 1, x.shape[2]), x.dtype)
    lengths = np.diff(offsets)
    full = np.flatnonzero(lengths)
    if lengths.max() <= 128: y[:, full] = np.add.reduceat(x, offsets[full], axis=1)
    else:
        from .reductions import sum_mid
        for i in full: y[:, i] = sum_mid(x[:, offsets[i]:offsets[i + 1]])
    return y

def segment_spread(g, offsets):
    "Every segment's value for each of its members: the gradient of segment_sum."
    return np.repeat(g, np.diff(offsets), axis=1)
