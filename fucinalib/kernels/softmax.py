"""Scores become shares, row by row (rows, n), or along a middle axis (outer, n, inner). g is the gradient of the
result, y the result."""
import numpy as np
from .dispatch import kernel
from .forms import along
from .reductions import sum_last, sum_mid

FEW = 1 << 7        # below so many numbers NumPy is as fast


def top(x): return np.max(x, axis=1, keepdims=True)
def added(x): return np.expand_dims((sum_last if x.ndim == 2 else sum_mid).kernel.twin(x), 1)
def guarded(m): return np.where(np.isfinite(m), m, m.dtype.type(0))      # x - inf would be NaN where x is inf

def raised(x, m):
    "exp(x - m) in one new array: the differences make room for it."
    y = x - m
    return np.exp(y, out=y if y.dtype.kind == 'f' else None)      # of whole numbers it is real

@along(floor=FEW)
def softmax(x):
    "exp(x) / sum exp(x) along {}; -inf alone gives NaN."
    y = raised(x, top(x))
    y /= added(y)
    return y

@along('softmax_{}_backward', floor=FEW)
def softmax_backward(g, y):
    "y (g - sum g y) along {}."
    return y * (g - added(g * y))

@along(floor=FEW)
def log_softmax(x):
    "x - log sum exp(x) along {}; -inf alone gives NaN; inf gives NaN, and -inf beside it."
    d = x - guarded(top(x))
    d -= np.log(added(np.exp(d)))
    return d

@along('log_softmax_{}_backward', floor=FEW)
def log_softmax_backward(g, y):
    "g - exp(y) sum g along {}."
    return g - np.exp(y) * added(g)


@kernel(floor=FEW, out=lambda x: [(x.shape[:1], x.dtype)])
def logsumexp_last(x):
    "log sum exp(x) of each row; a row of -inf gives -inf."
    m = guarded(np.max(x, axis=1))
    return m + np.log(np.add.reduce(raised(x, m[:, None]), axis=1))

@kernel(floor=FEW)
def logsumexp_last_backward(x, y, g):
    "g exp(x - y); 0 in a row of -inf."
    e = raised(x, np.where(np.isneginf(y), y.dtype.type(0), y)[:, None])
    e *= g[:, None]
    return e

@kernel(floor=FEW)
def softmax_scores(x, scale, mask, at, slope, sink, limit):
    """Shares of the first limit[i] numbers of scale x[i] + slope[i] mask[at[i]], and of one more score sink[i].

    The share of the sink is not returned. What is behind the limit is 0.
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

@kernel(floor=FEW)
def softmax_scores_backward(g, y, scale, limit):
    "scale y (g - sum g y) over the first limit[i] numbers of each row, 0 behind."
    inside = np.arange(g.shape[1]) < limit[:, None]
    g = np.where(inside, g, g.dtype.type(0))
    d = y * (g - added(g * y)) * g.dtype.type(scale)
    return np.where(inside, d, g.dtype.type(0))
