"""Running sums, products and recurrences along the last or a middle axis, serial in every lane.

A product and a sum are rounded separately, as NumPy does, so that every backend gives the same bits.
"""
# compile with: -ffp-contract=off
import numpy as np
from ._loops import parts, strip, strips, _add, _copy, _round

STRIP = 512         # of the inner axis
GROUP = 16          # rows


# rows, GROUP of them per piece of work

def _sums(x, y, lo, hi):
    for i in range(lo, hi):
        s = x[i, 0]
        y[i, 0] = s
        for t in range(1, x.shape[1]):
            s += x[i, t]
            y[i, t] = s

def _sums_back(g, d, lo, hi):
    n = g.shape[1]
    for i in range(lo, hi):
        s = g[i, n - 1]
        d[i, n - 1] = s
        for t in range(n - 2, -1, -1):
            s += g[i, t]
            d[i, t] = s

def _products(x, y, lo, hi):
    for i in range(lo, hi):
        s = x[i, 0]
        y[i, 0] = s
        for t in range(1, x.shape[1]):
            s *= x[i, t]
            y[i, t] = s

def _slopes(g, x, y, d, lo, hi):
    n = x.shape[1]
    for i in range(lo, hi):
        s = g[i, n - 1]
        for t in range(n - 1, 0, -1):
            d[i, t] = y[i, t - 1] * s
            s = x[i, t] * s + g[i, t - 1]
        d[i, 0] = s

def _recur(b, a, first, y, one, lo, hi):
    for i in range(lo, hi):
        h = first[i]
        for t in range(b.shape[1]):
            h = a[i, t * one] * h + b[i, t]
            y[i, t] = h

def _recur_back(g, a, d, one, lo, hi):
    n = g.shape[1]
    for i in range(lo, hi):
        s = g[i, n - 1]
        d[i, n - 1] = s
        for t in range(n - 1, 0, -1):
            s = a[i, t * one] * s + g[i, t - 1]
            d[i, t - 1] = s

#pythran export cumsum_last(float32[:,:] order(C), float32[:,:] order(C))
def cumsum_last(x, y):
    rows = x.shape[0]
    #omp parallel for firstprivate(rows) if(rows > 16)
    for k in range(parts(rows, GROUP)):
        _sums(x, y, k * GROUP, min(rows, k * GROUP + GROUP))

#pythran export cumsum_back_last(float32[:,:] order(C), float32[:,:] order(C))
def cumsum_back_last(g, d):
    rows = g.shape[0]
    #omp parallel for firstprivate(rows) if(rows > 16)
    for k in range(parts(rows, GROUP)):
        _sums_back(g, d, k * GROUP, min(rows, k * GROUP + GROUP))

#pythran export cumprod_last(float32[:,:] order(C), float32[:,:] order(C))
def cumprod_last(x, y):
    rows = x.shape[0]
    #omp parallel for firstprivate(rows) if(rows > 16)
    for k in range(parts(rows, GROUP)):
        _products(x, y, k * GROUP, min(rows, k * GROUP + GROUP))

#pythran export cumprod_back_last(float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C),
#                                 float32[:,:] order(C))
def cumprod_back_last(g, x, y, d):
    rows = x.shape[0]
    #omp parallel for firstprivate(rows) if(rows > 16)
    for k in range(parts(rows, GROUP)):
        _slopes(g, x, y, d, k * GROUP, min(rows, k * GROUP + GROUP))

#pythran export recurrence_last(float32[:,:] order(C), float32[:,:] order(C), float32[], float32[:,:] order(C))
def recurrence_last(b, a, first, y):
    rows = b.shape[0]
    one = 0 if a.shape[1] == 1 else 1
    #omp parallel for firstprivate(rows, one) if(rows > 16)
    for k in range(parts(rows, GROUP)):
        _recur(b, a, first, y, one, k * GROUP, min(rows, k * GROUP + GROUP))

#pythran export recurrence_back_last(float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C))
def recurrence_back_last(g, a, d):
    rows = g.shape[0]
    one = 0 if a.shape[1] == 1 else 1
    #omp parallel for firstprivate(rows, one) if(rows > 16)
    for k in range(parts(rows, GROUP)):
        _recur_back(g, a, d, one, k * GROUP, min(rows, k * GROUP + GROUP))


# strips of the inner axis, one step of all lanes at a time

def _sums_down(x, y):
    _copy(x[0], y[0])
    for t in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            y[t, j] = y[t - 1, j] + x[t, j]

def _sums_up(g, d):
    n = g.shape[0]
    _copy(g[n - 1], d[n - 1])
    for t in range(n - 1, 0, -1):
        for j in range(g.shape[1]):
            d[t - 1, j] = d[t, j] + g[t - 1, j]

def _products_down(x, y):
    _copy(x[0], y[0])
    for t in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            y[t, j] = y[t - 1, j] * x[t, j]

def _slopes_up(g, x, y, d):
    n = g.shape[0]
    s = np.empty(g.shape[1], np.float32)
    _copy(g[n - 1], s)
    for t in range(n - 1, 0, -1):
        for j in range(g.shape[1]):
            d[t, j] = y[t - 1, j] * s[j]
            s[j] = x[t, j] * s[j] + g[t - 1, j]
    _copy(s, d[0])

def _recur_down(b, a, first, y, one):
    for j in range(b.shape[1]):
        y[0, j] = a[0, j] * first[j] + b[0, j]
    for t in range(1, b.shape[0]):
        for j in range(b.shape[1]):
            y[t, j] = a[t * one, j] * y[t - 1, j] + b[t, j]

def _recur_up(g, a, d, one):
    n = g.shape[0]
    _copy(g[n - 1], d[n - 1])
    for t in range(n - 1, 0, -1):
        for j in range(g.shape[1]):
            d[t - 1, j] = a[t * one, j] * d[t, j] + g[t - 1, j]

#pythran export cumsum_mid(float32[:,:,:] order(C), float32[:,:,:] order(C))
def cumsum_mid(x, y):
    size = x.shape[0] * x.shape[1] * x.shape[2]
    #omp parallel for if(size > 8192)
    for k in strips(x, STRIP):
        o, lo, hi = strip(k, x, STRIP)
        _sums_down(x[o, :, lo:hi], y[o, :, lo:hi])

#pythran export cumsum_back_mid(float32[:,:,:] order(C), float32[:,:,:] order(C))
def cumsum_back_mid(g, d):
    size = g.shape[0] * g.shape[1] * g.shape[2]
    #omp parallel for if(size > 8192)
    for k in strips(g, STRIP):
        o, lo, hi = strip(k, g, STRIP)
        _sums_up(g[o, :, lo:hi], d[o, :, lo:hi])

#pythran export cumprod_mid(float32[:,:,:] order(C), float32[:,:,:] order(C))
def cumprod_mid(x, y):
    size = x.shape[0] * x.shape[1] * x.shape[2]
    #omp parallel for if(size > 8192)
    for k in strips(x, STRIP):
        o, lo, hi = strip(k, x, STRIP)
        _products_down(x[o, :, lo:hi], y[o, :, lo:hi])

#pythran export cumprod_back_mid(float32[:,:,:] order(C), float32[:,:,:] order(C), float32[:,:,:] order(C),
#                                float32[:,:,:] order(C))
def cumprod_back_mid(g, x, y, d):
    size = x.shape[0] * x.shape[1] * x.shape[2]
    #omp parallel for if(size > 8192)
    for k in strips(x, STRIP):
        o, lo, hi = strip(k, x, STRIP)
        _slopes_up(g[o, :, lo:hi], x[o, :, lo:hi], y[o, :, lo:hi], d[o, :, lo:hi])

#pythran export recurrence_mid(float32[:,:,:] order(C), float32[:,:,:] order(C), float32[:,:] order(C),
#                              float32[:,:,:] order(C))
def recurrence_mid(b, a, first, y):
    one = 0 if a.shape[1] == 1 else 1
    size = b.shape[0] * b.shape[1] * b.shape[2]
    #omp parallel for firstprivate(one) if(size > 8192)
    for k in strips(b, STRIP):
        o, lo, hi = strip(k, b, STRIP)
        _recur_down(b[o, :, lo:hi], a[o, :, lo:hi], first[o, lo:hi], y[o, :, lo:hi], one)

#pythran export recurrence_back_mid(float32[:,:,:] order(C), float32[:,:,:] order(C), float32[:,:,:] order(C))
def recurrence_back_mid(g, a, d):
    one = 0 if a.shape[1] == 1 else 1
    size = g.shape[0] * g.shape[1] * g.shape[2]
    #omp parallel for firstprivate(one) if(size > 8192)
    for k in strips(g, STRIP):
        o, lo, hi = strip(k, g, STRIP)
        _recur_up(g[o, :, lo:hi], a[o, :, lo:hi], d[o, :, lo:hi], one)


#pythran export segment_sum(float32[:,:,:] order(C), int64[], float32[:,:,:] order(C))
def segment_sum(x, offsets, y):
    outer, n, m = x.shape
    k = offsets.shape[0] - 1
    #omp parallel for firstprivate(m, k) schedule(dynamic, 16)
    for t in range(outer * k):
        o = t // k
        i = t - o * k
        s = np.zeros(m)
        for j in range(offsets[i], offsets[i + 1]):
            _add(x[o, j], s)
        _round(s, y[o, i])
