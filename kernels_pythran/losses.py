"""How wrong a prediction is, and its slopes. Cross entropy goes row by row, the others piece by
piece; sums of pieces are added in order."""
import numpy as np
from ._loops import parts, _minus_abs
from ._sums import total_quarters

PIECE = 4096
ZERO = np.float32(0)
HALF = np.float32(.5)
ONE = np.float32(1)
LOW = np.float32(1e-7)
HIGH = np.float32(1 - 1e-7)


#pythran export cross_entropy(float32[:,:] order(C), int64[], float32, float32[], float32[], float32[])
def cross_entropy(x, labels, smoothing, loss, top, share):
    n = x.shape[1]
    size = x.shape[0] * n
    #omp parallel for firstprivate(n, smoothing) if(size > 4096)
    for i in range(x.shape[0]):
        k = labels[i]
        if k < 0:
            loss[i] = ZERO
            top[i] = ZERO
            share[i] = ZERO
        else:
            m = np.max(x[i])
            e = np.exp(x[i] - m)
            s = total_quarters(e)
            if not s > 0.:      # a NaN, or nothing but -inf, of which np.max makes the least finite number
                s = np.nan
                m = np.float32(np.nan)
            v = np.log(s)
            if smoothing == ZERO:
                v -= x[i, k] - m
            else:
                v -= (1. - smoothing) * (x[i, k] - m) + smoothing * (total_quarters(x[i]) / n - m)
            loss[i] = np.float32(v)
            top[i] = m
            share[i] = np.float32(1 / s)

def _less(y, s):
    for j in range(y.shape[0]):
        y[j] -= s

def _times(y, s):
    for j in range(y.shape[0]):
        y[j] *= s

#pythran export cross_entropy_backward(float32[:,:] order(C), float32[], int64[], float32[],
#                                      float32[], float32, float32[:,:] order(C))
def cross_entropy_backward(x, g, labels, top, share, smoothing, gx):
    n = x.shape[1]
    size = x.shape[0] * n
    #omp parallel for firstprivate(n, smoothing) if(size > 4096)
    for i in range(x.shape[0]):
        k = labels[i]
        if k < 0:
            gx[i] = ZERO
        else:
            gx[i] = np.exp(x[i] - top[i])
            _times(gx[i], np.float32(g[i] * share[i]))
            if smoothing != ZERO:
                _less(gx[i], np.float32(g[i] * smoothing / n))
            gx[i, k] -= g[i] * (ONE - smoothing)


# f writes the losses of a piece; s is a number it may use

def measure(f, x, t, s, keep, y, part):
    n = x.shape[0]
    if not keep:
        y[0] = np.float32(0)
    #omp parallel for firstprivate(n, s, keep) if(n > 8192)
    for c in range(part.shape[0]):
        lo = c * PIECE
        hi = min(n, lo + PIECE)
        v = np.empty(hi - lo, np.float32)
        f(x[lo:hi], t[lo:hi], s, v)
        part[c] = total_quarters(v)
        if keep:
            y[lo:hi] = v

def slope(f, x, t, a, s, gx):
    n = x.shape[0]
    #omp parallel for firstprivate(n, a, s) if(n > 8192)
    for c in range(parts(n, PIECE)):
        lo = c * PIECE
        hi = min(n, lo + PIECE)
        f(x[lo:hi], t[lo:hi], a, s, gx[lo:hi])


def _mse(x, t, s, y):
    for j in range(y.shape[0]):
        d = x[j] - t[j]
        y[j] = d * d

def _mse_back(x, t, a, s, gx):
    for j in range(gx.shape[0]):
        gx[j] = s * (x[j] - t[j])

#pythran export mse_loss(float32[], float32[], bool, float32[], float64[])
def mse_loss(x, t, keep, y, part): measure(_mse, x, t, np.float32(0), keep, y, part)
#pythran export mse_loss_backward(float32[], float32[], float32, float32[])
def mse_loss_backward(x, t, s, gx): slope(_mse_back, x, t, np.float32(0), s, gx)


def _huber(x, t, delta, y):
    for j in range(y.shape[0]):
        d = abs(x[j] - t[j])
        y[j] = delta * (d - HALF * delta) if d > delta else HALF * d * d

def _huber_back(x, t, delta, s, gx):
    for j in range(gx.shape[0]):
        d = x[j] - t[j]
        d = delta if d > delta else d
        gx[j] = s * (-delta if d < -delta else d)

#pythran export huber_loss(float32[], float32[], float32, bool, float32[], float64[])
def huber_loss(x, t, delta, keep, y, part): measure(_huber, x, t, delta, keep, y, part)
#pythran export huber_loss_backward(float32[], float32[], float32, float32, float32[])
def huber_loss_backward(x, t, delta, s, gx): slope(_huber_back, x, t, delta, s, gx)


def _sure(x, p, q):
    for j in range(x.shape[0]):
        v = LOW if x[j] < LOW else x[j]
        v = HIGH if v > HIGH else v
        p[j] = v
        q[j] = ONE - v

def _between(t, p, y):
    for j in range(t.shape[0]):
        y[j] = -(t[j] * p[j] + (ONE - t[j]) * y[j])

def _bce(x, t, s, y):
    p = np.empty(x.shape[0], np.float32)
    _sure(x, p, y)
    p[:] = np.log(p)
    y[:] = np.log(y)
    _between(t, p, y)

def _bce_back(x, t, a, s, gx):
    for j in range(gx.shape[0]):
        v = s * (x[j] - t[j]) / (x[j] * (ONE - x[j]))
        v = ZERO if x[j] <= LOW else v
        gx[j] = ZERO if x[j] >= HIGH else v

#pythran export bce_loss(float32[], float32[], bool, float32[], float64[])
def bce_loss(x, t, keep, y, part): measure(_bce, x, t, np.float32(0), keep, y, part)
#pythran export bce_loss_backward(float32[], float32[], float32, float32[])
def bce_loss_backward(x, t, s, gx): slope(_bce_back, x, t, np.float32(0), s, gx)


def _miss(x, t, y):
    for j in range(x.shape[0]):
        wrong = ONE - t[j] if x[j] > ZERO else t[j]
        m = abs(x[j]) * wrong
        y[j] += ZERO if wrong == ZERO else m

def _bce_logits(x, t, s, y):
    _minus_abs(x, y)
    y[:] = np.exp(y)
    y[:] = np.log1p(y)
    _miss(x, t, y)

def _sigmoid_less(x, t, s, y):
    for j in range(x.shape[0]):
        r = np.float32(ONE / (ONE + y[j]))
        y[j] = s * ((r if x[j] >= ZERO else y[j] * r) - t[j])

def _bce_logits_back(x, t, a, s, gx):
    _minus_abs(x, gx)
    gx[:] = np.exp(gx)
    _sigmoid_less(x, t, s, gx)

#pythran export bce_loss_logits(float32[], float32[], bool, float32[], float64[])
def bce_loss_logits(x, t, keep, y, part): measure(_bce_logits, x, t, np.float32(0), keep, y, part)
#pythran export bce_loss_logits_backward(float32[], float32[], float32, float32[])
def bce_loss_logits_backward(x, t, s, gx): slope(_bce_logits_back, x, t, np.float32(0), s, gx)


def _weighed(x, t, y):
    for j in range(x.shape[0]):
        y[j] = ZERO if t[j] == ZERO else t[j] * (y[j] - x[j])

def _kl_div(x, t, s, y):
    y[:] = np.log(t)
    _weighed(x, t, y)

def _weighed_log(x, t, y):
    for j in range(x.shape[0]):
        y[j] = ZERO if y[j] == ZERO else y[j] * (t[j] - x[j])

def _kl_div_log(x, t, s, y):
    y[:] = np.exp(t)
    _weighed_log(x, t, y)

#pythran export kl_div(float32[], float32[], bool, float32[], float64[])
def kl_div(x, t, keep, y, part): measure(_kl_div, x, t, np.float32(0), keep, y, part)
#pythran export kl_div_log(float32[], float32[], bool, float32[], float64[])
def kl_div_log(x, t, keep, y, part): measure(_kl_div_log, x, t, np.float32(0), keep, y, part)
