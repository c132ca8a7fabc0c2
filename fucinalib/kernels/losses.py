"""How wrong a prediction is, and its slopes.

Cross entropy sees scores as (rows, classes) and one label per row; a label below 0 takes its row
out of everything. The other losses compare `x` with a target `t` of its shape, and give the sums
of pieces of 4096 values and, with `keep`, each value's loss."""
import numpy as np
from .dispatch import kernel
from .softmax import raised

PIECE = 4096
FEW = 16            # values up to here are NumPy's
SURE = 1e-7         # a probability counts as at least so far from 0 and from 1


@kernel(floor=FEW, out=lambda x, *rest: [(x.shape[:1], x.dtype)] * 3)
def cross_entropy(x, labels, smoothing):
    """log sum exp(x) less the score of the label, or with smoothing less the scores' expected
    value; the largest score and 1 / sum exp(x - largest) of each row."""
    left, at = labels < 0, np.maximum(labels, 0)[:, None]
    top = np.max(x, axis=1, keepdims=True)
    d = x - top
    right = np.take_along_axis(d, at, 1)[:, 0]
    if smoothing: right = x.dtype.type(1 - smoothing) * right + x.dtype.type(smoothing) * np.mean(d, axis=1)
    s = np.add.reduce(np.exp(d, out=d), axis=1)
    return tuple([np.where(left, x.dtype.type(0), v)
                  for v in (np.log(s) - right, np.where(np.isnan(s), s, top[:, 0]), 1 / s)])

@kernel(floor=FEW)
def cross_entropy_backward(x, g, labels, top, share, smoothing):
    "g (softmax(x) - target) of each row, from what cross_entropy gave."
    y = raised(x, top[:, None])
    y *= (g * share)[:, None]
    if smoothing: y -= (g * x.dtype.type(smoothing / x.shape[1]))[:, None]
    y[np.arange(len(x)), np.maximum(labels, 0)] -= g * x.dtype.type(1 - smoothing)
    y[labels < 0] = 0
    return y


def number(n): return (n + PIECE - 1) // PIECE

def measured(x, *rest): return [(x.shape if rest[-1] else (1,), x.dtype), ((number(x.size),), np.dtype('f8'))]

def losses(y, keep):
    "What the kernels of this family return of the losses y."
    return y if keep else np.zeros(1, y.dtype), np.add.reduceat(y.reshape(-1), np.arange(0, y.size, PIECE), dtype='f8')


@kernel(flat=True, floor=FEW, out=measured)
def mse_loss(x, t, keep):
    "(x - t)**2."
    return losses(np.square(x - t), keep)

@kernel(flat=True, floor=FEW)
def mse_loss_backward(x, t, s):
    "s (x - t)."
    return x.dtype.type(s) * (x - t)

@kernel(flat=True, floor=FEW, out=measured)
def huber_loss(x, t, delta, keep):
    "(x - t)**2 / 2 as far as delta, from there on a straight line."
    d, delta = np.abs(x - t), x.dtype.type(delta)
    return losses(np.where(d > delta, delta * (d - x.dtype.type(.5) * delta), x.dtype.type(.5) * d * d), keep)

@kernel(flat=True, floor=FEW)
def huber_loss_backward(x, t, delta, s):
    "s (x - t), the difference clamped to delta."
    return x.dtype.type(s) * np.clip(x - t, x.dtype.type(-delta), x.dtype.type(delta))

def sure(x): return np.clip(x, x.dtype.type(SURE), x.dtype.type(1 - SURE))

@kernel(flat=True, floor=FEW, out=measured)
def bce_loss(x, t, keep):
    "-(t ln x + (1 - t) ln(1 - x)), x clamped to what is not quite sure."
    p = sure(x)
    return losses(-(t * np.log(p) + (1 - t) * np.log(1 - p)), keep)

@kernel(flat=True, floor=FEW)
def bce_loss_backward(x, t, s):
    "s (x - t) / (x (1 - x)), 0 where x was clamped."
    clamped = (x <= x.dtype.type(SURE)) | (x >= x.dtype.type(1 - SURE))
    return np.where(clamped, x.dtype.type(0), x.dtype.type(s) * (x - t) / (x * (1 - x)))

@kernel(flat=True, floor=FEW, out=measured)
def bce_loss_logits(x, t, keep):
    "bce_loss of sigmoid(x), which never overflows; an infinite score costs nothing where it is right."
    size, wrong = np.abs(x), np.where(x > 0, 1 - t, t)
    return losses(np.log1p(np.exp(-size)) + np.where(wrong == 0, x.dtype.type(0), size * wrong), keep)

@kernel(flat=True, floor=FEW)
def bce_loss_logits_backward(x, t, s):
    "s (sigmoid(x) - t)."
    e = np.exp(-np.abs(x))
    return x.dtype.type(s) * (np.where(x >= 0, x.dtype.type(1), e) / (1 + e) - t)

@kernel(flat=True, floor=FEW, out=measured)
def kl_div(x, t, keep):
    "t (ln t - x), 0 where t is 0."
    return losses(np.where(t == 0, x.dtype.type(0), t * (np.log(t) - x)), keep)

@kernel(flat=True, floor=FEW, out=measured)
def kl_div_log(x, t, keep):
    "exp(t) (t - x), 0 where exp(t) is 0."
    e = np.exp(t)
    return losses(np.where(e == 0, x.dtype.type(0), e * (t - x)), keep)
