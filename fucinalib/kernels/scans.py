"""Running sums, products and recurrences along the last axis (rows, n) or a middle one (outer, n, inner), and their way back.

Every lane is computed serially, front to back (gradients back to front), one rounding per operation: any backend gives the same bits.
"""
import numpy as np
from .dispatch import kernel

def like(i): return lambda *args: [(args[i].shape, args[i].dtype)]


def flipped(x): return x[:, ::-1]

@kernel()
def cumsum_last(x):
    "Running sums of the rows."
    return np.cumsum(x, axis=1, dtype=x.dtype)

@kernel()
def cumsum_mid(x):
    "Running sums along the middle axis."
    return np.cumsum(x, axis=1, dtype=x.dtype)

@kernel()
def cumsum_back_last(g):
    "Sums of what is left of each row, this entry included: the gradient of cumsum_last."
    return np.ascontiguousarray(flipped(np.cumsum(flipped(g), axis=1, dtype=g.dtype)))

@kernel()
def cumsum_back_mid(g):
    "Sums of what is left along the middle axis: the gradient of cumsum_mid."
    return np.ascontiguousarray(flipped(np.cumsum(flipped(g), axis=1, dtype=g.dtype)))

@kernel()
def cumprod_last(x):
    "Running products of the rows."
    return np.cumprod(x, axis=1, dtype=x.dtype)

@kernel()
def cumprod_mid(x):
    "Running products along the middle axis."
    return np.cumprod(x, axis=1, dtype=x.dtype)


def cumprod_slopes(g, x, y):
    "s[i] = g[i] + x[i+1] s[i+1] from the back; the gradient is s[i] times the product before i. No division, so zeros are exact."
    d, s = np.empty_like(x), g[:, -1]
    for i in range(x.shape[1] - 1, 0, -1):
        d[:, i] = y[:, i - 1] * s
        s = x[:, i] * s + g[:, i - 1]
    d[:, 0] = s
    return d

@kernel()
def cumprod_back_last(g, x, y):
    "The gradient of y = cumprod_last(x)."
    return cumprod_slopes(g, x, y)

@kernel()
def cumprod_back_mid(g, x, y):
    "The gradient of y = cumprod_mid(x)."
    return cumprod_slopes(g, x, y)


# h[t] = a[t] h[t-1] + b[t]; a has as many steps as b, or one for all of them

def steps(a, n): return np.broadcast_to(a, (a.shape[0], n, *a.shape[2:]))

def recur(b, a, h):
    y, a = np.empty_like(b), steps(a, b.shape[1])
    for t in range(b.shape[1]):
        h = a[:, t] * h + b[:, t]
        y[:, t] = h
    return y

@kernel()
def recurrence_last(b, a, first):
    "h[t] = a[t] h[t-1] + b[t] along the rows, h[-1] = first."
    return recur(b, a, first)

@kernel()
def recurrence_mid(b, a, first):
    "h[t] = a[t] h[t-1] + b[t] along the middle axis, h[-1] = first."
    return recur(b, a, first)

def recur_back(g, a):
    "The gradient of b: d[t] = g[t] + a[t+1] d[t+1]."
    d, a = np.empty_like(g), steps(a, g.shape[1])
    s = d[:, -1] = g[:, -1]
    for t in range(g.shape[1] - 1, 0, -1): s = d[:, t - 1] = a[:, t] * s + g[:, t - 1]
    return d

@kernel()
def recurrence_back_last(g, a):
    "The gradient of b in recurrence_last."
    return recur_back(g, a)

@kernel()
def recurrence_back_mid(g, a):
    "The gradient of b in recurrence_mid."
    return recur_back(g, a)


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
