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

#pythran export logsumexp_last(float32[:,:] order(C), float32[])
def logsumexp_last(x, y):
    size = x.shape[0] * x.shape[1]
    #omp parallel for if(size > 4096)
    for i in range(x.shape[0]):
        m = np.max(x[i])
        if m - m != 0:
            m = np.float32(0)
        t = np.exp(x[i] - m)
        y[i] = m + np.float32(np.log(total(t)))
