"""Scores become shares, row by row: (rows, n). g is the gradient of the result, y the result."""
import numpy as np
from .dispatch import kernel
from .pointwise import quiet


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
    "x - log sum exp(x) of each row; a row of -inf gives NaN."
    d = x - np.max(x, axis=1, keepdims=True)
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
    m = np.max(x, axis=1)
    safe = np.where(np.isfinite(m), m, x.dtype.type(0))
    return safe + np.log(np.add.reduce(np.exp(x - safe[:, None]), axis=1))
