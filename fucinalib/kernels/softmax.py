"""Scores become shares, row by row: (rows, n). g is the gradient of the result, y the result."""
import numpy as np
from .dispatch import kernel
from .pointwise import quiet


def guarded(m): return np.where(np.isfinite(m), m, m.dtype.type(0))      # x - inf would be NaN where x is inf


@kernel()
@quiet
def softmax_last(x):
    "exp(x) / sum exp(x) of each row; a row of -inf gives NaN."
    y = np.exp(x - np.max(x, axis=1, keepdims=True))
    y /= np.add.reduce(y, axis=1, keepdims=True)
    return y

@kernel()
@quiet
def softmax_last_backward(g, y):
    "y (g - sum g y)."
    return y * (g - np.add.reduce(g * y, axis=1, keepdims=True))

@kernel()
@quiet
def log_softmax_last(x):
    "x - log sum exp(x) of each row; a row of -inf gives NaN; beside inf, which gives NaN, numbers give -inf."
    d = x - guarded(np.max(x, axis=1, keepdims=True))
    d -= np.log(np.add.reduce(np.exp(d), axis=1, keepdims=True))
    return d

@kernel()
@quiet
def log_softmax_last_backward(g, y):
    "g - exp(y) sum g."
    return g - np.exp(y) * np.add.reduce(g, axis=1, keepdims=True)

@kernel(out=lambda x: [(x.shape[:1], x.dtype)])
@quiet
def logsumexp_last(x):
    "log sum exp(x) of each row; a row of -inf gives -inf."
    m = guarded(np.max(x, axis=1))
    return m + np.log(np.add.reduce(np.exp(x - m[:, None]), axis=1))

@kernel()
@quiet
def logsumexp_last_backward(x, y, g):
    "g exp(x - y); 0 in a row of -inf."
    return np.exp(x - np.where(np.isneginf(y), y.dtype.type(0), y)[:, None]) * g[:, None]

@kernel()
@quiet
def softmax_scores(x, scale, mask, at, slope, sink, limit):
    """Shares of the first limit[i] numbers of scale x[i] + slope[i] mask[at[i]], and of one more score sink[i] that is not returned. The rest is 0.

    Without a mask every at[i] is -1, without a sink it is -inf."""
    z, n = x * x.dtype.type(scale), x.shape[1]
    if at[0] >= 0: z += slope[:, None] * mask[at]
    later = np.arange(n) >= limit[:, None]
    np.copyto(z, -np.inf, where=later)
    m = np.maximum(np.max(z, axis=1), sink)
    z -= m[:, None]
    np.exp(z, out=z)
    z /= (np.add.reduce(z, axis=1) + np.exp(sink - m))[:, None]
    np.copyto(z, 0, where=later)
    return z

@kernel()
@quiet
def softmax_scores_backward(g, y, scale, limit):
    "scale y (g - sum g y) over the first limit[i] numbers of each row, 0 behind."
    inside = np.arange(g.shape[1]) < limit[:, None]
    g = np.where(inside, g, g.dtype.type(0))
    d = y * (g - np.add.reduce(g * y, axis=1, keepdims=True)) * g.dtype.type(scale)
    return np.where(inside, d, g.dtype.type(0))
