"""Running sums, products and recurrences along the last or a middle axis, serial in every lane.

A product and a sum are rounded separately, as NumPy does, so that every backend gives the same bits.
"""
# compile with: -ffp-contract=off
import numpy as np
from ._loops import parts, _add, _copy, _plus, _round

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
    #omp parallel for firstprivate(rows)
    for k in range(parts(rows, GROUP)):
        _sums(x, y, k * GROUP, min(rows, k * GROUP + GROUP))

#pythran export cumsum_back_last(float32[:,:] order(C), float32[:,:] order(C))
def cumsum_back_last(g, d):
    rows = g.shape[0]
    #omp parallel for firstprivate(rows)
    for k in range(parts(rows, GROUP)):
        _sums_back(g, d, k * GROUP, min(rows, k * GROUP + GROUP))

#pythran export cumprod_last(float32[:,:] order(C), float32[:,:] order(C))
def cumprod_last(x, y):
    rows = x.shape[0]
    #omp parallel for firstprivate(rows)
    for k in range(parts(rows, GROUP)):
        _products(x, y, k * GROUP, min(rows, k * GROUP + GROUP))

#pythran export cumprod_back_last(float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C))
def cumprod_back_last(g, x, y, d):
    rows = x.shape[0]
    #omp parallel for firstprivate(rows)
    for k in range(parts(rows, GROUP)):
        _slopes(g, x, y, d, k * GROUP, min(rows, k * GROUP + GROUP))

#pythran export recurrence_last(float32[:,:] order(C), float32[:,:] order(C), float32[], float32[:,:] order(C))
def recurrence_last(b, a, first, y):
    rows = b.shape[0]
    one = 0 if a.shape[1] == 1 else 1
    #omp parallel for firstprivate(rows, one)
    for k in range(parts(rows, GROUP)):
        _recur(b, a, first, y, one, k * GROUP, min(rows, k * GROUP + GROUP))

#pythran export recurrence_back_last(float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C))
def recurrence_back_last(g, a, d):
    rows = g.shape[0]
    one = 0 if a.shape[1] == 1 else 1
    #omp parallel for firstprivate(rows, one)
    for k in range(parts(rows, GROUP)):
        _recur_back(g, a, d, one, k * GROUP, min(rows, k * GROUP + GROUP))


# strips of the inner axis, one step of all lanes at a time

def _times(a, b, y):
    for j in range(y.shape[0]):
        y[j] = a[j] * b[j]

def _step(a, h, b, y):
    for j in range(y.shape[0]):
        y[j] = a[j] * h[j] + b[j]

#pythran export cumsum_mid(float32[:,:,:] order(C), float32[:,:,:] order(C))
def cumsum_mid(x, y):
    outer, n, m = x.shape
    strips = parts(m, STRIP)
    #omp parallel for firstprivate(n, m, strips)
    for k in range(outer * strips):
        o = k // strips
        lo = (k - o * strips) * STRIP
        hi = min(m, lo + STRIP)
        _copy(x[o, 0, lo:hi], y[o, 0, lo:hi])
        for t in range(1, n):
            _plus(y[o, t - 1, lo:hi], x[o, t, lo:hi], y[o, t, lo:hi])

#pythran export cumsum_back_mid(float32[:,:,:] order(C), float32[:,:,:] order(C))
def cumsum_back_mid(g, d):
    outer, n, m = g.shape
    strips = parts(m, STRIP)
    #omp parallel for firstprivate(n, m, strips)
    for k in range(outer * strips):
        o = k // strips
        lo = (k - o * strips) * STRIP
        hi = min(m, lo + STRIP)
        _copy(g[o, n - 1, lo:hi], d[o, n - 1, lo:hi])
        for t in range(n - 2, -1, -1):
            _plus(d[o, t + 1, lo:hi], g[o, t, lo:hi], d[o, t, lo:hi])

#pythran export cumprod_mid(float32[:,:,:] order(C), float32[:,:,:] order(C))
def cumprod_mid(x, y):
    outer, n, m = x.shape
    strips = parts(m, STRIP)
    #omp parallel for firstprivate(n, m, strips)
    for k in range(outer * strips):
        o = k // strips
        lo = (k - o * strips) * STRIP
        hi = min(m, lo + STRIP)
        _copy(x[o, 0, lo:hi], y[o, 0, lo:hi])
        for t in range(1, n):
            _times(y[o, t - 1, lo:hi], x[o, t, lo:hi], y[o, t, lo:hi])

#pythran export cumprod_back_mid(float32[:,:,:] order(C), float32[:,:,:] order(C), float32[:,:,:] order(C), float32[:,:,:] order(C))
def cumprod_back_mid(g, x, y, d):
    outer, n, m = x.shape
    strips = parts(m, STRIP)
    #omp parallel for firstprivate(n, m, strips)
    for k in range(outer * strips):
        o = k // strips
        lo = (k - o * strips) * STRIP
        hi = min(m, lo + STRIP)
        s = np.empty(hi - lo, np.float32)
        _copy(g[o, n - 1, lo:hi], s)
        for t in range(n - 1, 0, -1):
            _times(y[o, t - 1, lo:hi], s, d[o, t, lo:hi])
            _step(x[o, t, lo:hi], s, g[o, t - 1, lo:hi], s)
        _copy(s, d[o, 0, lo:hi])

#pythran export recurrence_mid(float32[:,:,:] order(C), float32[:,:,:] order(C), float32[:,:] order(C), float32[:,:,:] order(C))
def recurrence_mid(b, a, first, y):
    outer, n, m = b.shape
    one = 0 if a.shape[1] == 1 else 1
    strips = parts(m, STRIP)
    #omp parallel for firstprivate(n, m, strips, one)
    for k in range(outer * strips):
        o = k // strips
        lo = (k - o * strips) * STRIP
        hi = min(m, lo + STRIP)
        _step(a[o, 0, lo:hi], first[o, lo:hi], b[o, 0, lo:hi], y[o, 0, lo:hi])
        for t in range(1, n):
            _step(a[o, t * one, lo:hi], y[o, t - 1, lo:hi], b[o, t, lo:hi], y[o, t, lo:hi])

#pythran export recurrence_back_mid(float32[:,:,:] order(C), float32[:,:,:] order(C), float32[:,:,:] order(C))
def recurrence_back_mid(g, a, d):
    outer, n, m = g.shape
    one = 0 if a.shape[1] == 1 else 1
    strips = parts(m, STRIP)
    #omp parallel for firstprivate(n, m, strips, one)
    for k in range(outer * strips):
        o = k // strips
        lo = (k - o * strips) * STRIP
        hi = min(m, lo + STRIP)
        _copy(g[o, n - 1, lo:hi], d[o, n - 1, lo:hi])
        for t in range(n - 1, 0, -1):
            _step(a[o, t * one, lo:hi], d[o, t, lo:hi], g[o, t - 1, lo:hi], d[o, t - 1, lo:hi])


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
