"""Scores become shares, row by row."""
import numpy as np

BLOCK = 1024


def block(x):
    n = x.shape[0]
    q = n // 32 * 8
    a = np.float32(0)
    b = np.float32(0)
    c = np.float32(0)
    d = np.float32(0)
    #omp simd reduction(+:a,b,c,d)
    for j in range(q):
        a += x[j]
        b += x[j + q]
        c += x[j + 2 * q]
        d += x[j + 3 * q]
    for j in range(4 * q, n):
        a += x[j]
    return (a + b) + (c + d)

def total(x):
    "Sum of a row in blocks, so that its error does not grow with its length."
    n = x.shape[0]
    s = 0.
    for lo in range(0, n, BLOCK):
        s += block(x[lo:min(n, lo + BLOCK)])
    return s

def block2(x, y):
    s = np.float32(0)
    #omp simd reduction(+:s)
    for j in range(x.shape[0]):
        s += x[j] * y[j]
    return s

def total_product(x, y):
    n = x.shape[0]
    s = 0.
    for lo in range(0, n, BLOCK):
        hi = min(n, lo + BLOCK)
        s += block2(x[lo:hi], y[lo:hi])
    return s


#pythran export softmax_last(float32[:,:] order(C), float32[:,:] order(C))
def softmax_last(x, y):
    size = x.shape[0] * x.shape[1]
    #omp parallel for if(size > 4096)
    for i in range(x.shape[0]):
        m = np.max(x[i])
        y[i] = np.exp(x[i] - m)
        y[i] *= np.float32(1 / total(y[i]))

#pythran export softmax_last_backward(float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C))
def softmax_last_backward(g, y, gx):
    size = g.shape[0] * g.shape[1]
    #omp parallel for if(size > 4096)
    for i in range(g.shape[0]):
        s = np.float32(total_product(g[i], y[i]))
        gx[i] = y[i] * (g[i] - s)

#pythran export log_softmax_last(float32[:,:] order(C), float32[:,:] order(C))
def log_softmax_last(x, y):
    size = x.shape[0] * x.shape[1]
    #omp parallel for if(size > 4096)
    for i in range(x.shape[0]):
        m = np.max(x[i])
        if m - m != 0:
            m = np.float32(0)
        y[i] = np.exp(x[i] - m)
        s = np.float32(np.log(total(y[i])))
        y[i] = x[i] - m
        y[i] -= s

#pythran export log_softmax_last_backward(float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C))
def log_softmax_last_backward(g, y, gx):
    size = g.shape[0] * g.shape[1]
    #omp parallel for if(size > 4096)
    for i in range(g.shape[0]):
        s = np.float32(total(g[i]))
        gx[i] = np.exp(y[i])
        gx[i] = g[i] - gx[i] * s

def total_exp(x, m, t):
    "Sum of exp(x - m) in blocks; t is room for one."
    n = x.shape[0]
    s = 0.
    for lo in range(0, n, BLOCK):
        hi = min(n, lo + BLOCK)
        t[:hi - lo] = np.exp(x[lo:hi] - m)
        s += block(t[:hi - lo])
    return s

#pythran export logsumexp_last(float32[:,:] order(C), float32[])
def logsumexp_last(x, y):
    size = x.shape[0] * x.shape[1]
    #omp parallel for if(size > 4096)
    for i in range(x.shape[0]):
        m = np.max(x[i])
        if m - m != 0:
            m = np.float32(0)
        t = np.empty(min(x.shape[1], BLOCK), np.float32)
        y[i] = m + np.float32(np.log(total_exp(x[i], m, t)))

def shift(y): return np.float32(0) if y < np.float32(-3.4028235e38) else y

#pythran export logsumexp_last_backward(float32[:,:] order(C), float32[], float32[], float32[:,:] order(C))
def logsumexp_last_backward(x, y, g, gx):
    size = x.shape[0] * x.shape[1]
    #omp parallel for if(size > 4096)
    for i in range(x.shape[0]):
        m = shift(y[i])
        gx[i] = np.exp(x[i] - m)
        gx[i] *= g[i]


def _scores(x, y, c, scale):
    for j in range(c):
        y[j] = x[j] * scale

def _masked_scores(x, y, c, scale, mask, slope):
    for j in range(c):
        y[j] = x[j] * scale + slope * mask[j]

def _fill(y, lo, hi, v):
    for j in range(lo, hi):
        y[j] = v

def _times(y, c, s):
    for j in range(c):
        y[j] *= s

def total_first(x, n):
    s = 0.
    for lo in range(0, n, BLOCK):
        s += block(x[lo:min(n, lo + BLOCK)])
    return s

# `whole` is `c` up to a full vector: a remainder of single numbers takes as long as hundreds of the others
#pythran export softmax_scores(float32[:,:] order(C), float32, float32[:,:] order(C), int64[], float32[], float32[], int64[], float32[:,:] order(C))
def softmax_scores(x, scale, mask, at, slope, sink, limit, y):
    size = x.shape[0] * x.shape[1]
    #omp parallel for schedule(static, 16) firstprivate(scale) if(size > 4096)
    for i in range(x.shape[0]):
        c = limit[i]
        whole = min(x.shape[1], (c + 31) // 32 * 32)
        if at[i] < 0:
            _scores(x[i], y[i], c, scale)
        else:
            _masked_scores(x[i], y[i], c, scale, mask[at[i]], slope[i])
        _fill(y[i], c, whole, np.float32(-np.inf))
        m = max(np.max(y[i, :whole]), sink[i])
        y[i, :whole] = np.exp(y[i, :whole] - m)
        s = total_first(y[i], whole) + np.exp(sink[i] - m)
        _times(y[i], c, np.float32(1 / s))
        _fill(y[i], c, x.shape[1], np.float32(0))


def total_product_first(x, y, n):
    s = 0.
    for lo in range(0, n, BLOCK):
        hi = min(n, lo + BLOCK)
        s += block2(x[lo:hi], y[lo:hi])
    return s

def _scores_back(g, y, gx, c, s, scale):
    for j in range(c):
        gx[j] = y[j] * (g[j] - s) * scale

#pythran export softmax_scores_backward(float32[:,:] order(C), float32[:,:] order(C), float32, int64[], float32[:,:] order(C))
def softmax_scores_backward(g, y, scale, limit, gx):
    size = g.shape[0] * g.shape[1]
    #omp parallel for schedule(static, 16) firstprivate(scale) if(size > 4096)
    for i in range(g.shape[0]):
        c = limit[i]
        s = np.float32(total_product_first(g[i], y[i], c))
        _scores_back(g[i], y[i], gx[i], c, s, scale)
        _fill(gx[i], c, g.shape[1], np.float32(0))
