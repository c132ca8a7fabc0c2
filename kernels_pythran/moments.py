"""Variance, norms and products along the last or a middle axis.

Pieces are cut by size; partial results are combined one after the other, sums in float64.
"""
import numpy as np
from ._loops import parts, rest, _round
from ._sums import BLOCK, _column_sums

PIECE = 16384       # of a row
ROWS = 128          # of a middle axis
STRIP = 256         # of the inner axis


# what is added up: the size of a number, its square, its distance and squared distance from a centre

def shifts(x, c): return np.sum(x - c)

def sizes(x, c): return np.sum(np.abs(x))

def squares(x, c): return np.sum(x * x)

def distances(x, c): return np.sum((x - c) * (x - c))

def total(what, x, c):
    s = 0.
    for lo in range(0, x.shape[0], BLOCK):
        s += what(x[lo:min(x.shape[0], lo + BLOCK)], c)
    return s

def _short(what, x, centre, y, i):
    y[i] = np.float32(total(what, x[i], centre[i]))

def along_last(what, x, centre, y):
    rows, n = x.shape
    if n <= PIECE:
        #omp parallel for
        for i in range(rows):
            _short(what, x, centre, y, i)
        return
    k = parts(n, PIECE)
    part = np.empty((rows, k))
    #omp parallel for firstprivate(n, k)
    for t in range(rows * k):
        i = t // k
        c = rest(t, k)
        part[i, c] = total(what, x[i, c * PIECE:min(n, c * PIECE + PIECE)], centre[i])
    for i in range(rows):
        y[i] = np.float32(np.sum(part[i]))

#pythran export abs_sum_last(float32[:,:] order(C), float32[])
def abs_sum_last(x, y): along_last(sizes, x, np.zeros(x.shape[0], np.float32), y)
#pythran export square_sum_last(float32[:,:] order(C), float32[])
def square_sum_last(x, y): along_last(squares, x, np.zeros(x.shape[0], np.float32), y)

def _spread_row(x, mean, m2, i, n):
    c = x[i, 0]
    c = np.float32(c + total(shifts, x[i], c) / n)
    mean[i] = c
    m2[i] = np.float32(total(distances, x[i], c))

#pythran export moments_last(float32[:,:] order(C), float32[], float32[])
def moments_last(x, mean, m2):
    rows, n = x.shape
    if n > PIECE:
        along_last(shifts, x, x[:, 0], mean)
        for i in range(rows):
            mean[i] = np.float32(x[i, 0] + np.float64(mean[i]) / n)
        along_last(distances, x, mean, m2)
    else:
        #omp parallel for firstprivate(n)
        for i in range(rows):
            _spread_row(x, mean, m2, i, n)

#pythran export deviations_last(float32[:,:] order(C), float32[], float32[], float32[:,:] order(C))
def deviations_last(x, mean, g, d):
    #omp parallel for
    for i in range(x.shape[0]):
        d[i] = (x[i] - mean[i]) * g[i]


# the middle axis: ROWS rows of a strip into float32, those into float64

def _add_shifts(x, c, s):
    for j in range(s.shape[0]):
        s[j] += x[j] - c[j]

def _add_sizes(x, c, s):
    for j in range(s.shape[0]):
        s[j] += abs(x[j])

def _add_squares(x, c, s):
    for j in range(s.shape[0]):
        s[j] += x[j] * x[j]

def _add_distances(x, c, s):
    for j in range(s.shape[0]):
        s[j] += (x[j] - c[j]) * (x[j] - c[j])

def along_mid(add, x, centre, y):
    outer, n, m = x.shape
    blocks = parts(n, ROWS)
    strips = parts(m, STRIP)
    part = np.zeros((outer * blocks, m), np.float32)
    #omp parallel for firstprivate(n, m, blocks, strips)
    for t in range(outer * blocks * strips):
        ob = t // strips
        o = ob // blocks
        lo = rest(t, strips) * STRIP
        hi = min(m, lo + STRIP)
        k = rest(ob, blocks) * ROWS
        for i in range(k, min(n, k + ROWS)):
            add(x[o, i, lo:hi], centre[o, lo:hi], part[ob, lo:hi])
    #omp parallel for firstprivate(m, blocks, strips)
    for t in range(outer * strips):
        o = t // strips
        lo = rest(t, strips) * STRIP
        hi = min(m, lo + STRIP)
        _column_sums(part[o * blocks:o * blocks + blocks, lo:hi], y[o, lo:hi])

#pythran export abs_sum_mid(float32[:,:,:] order(C), float32[:,:] order(C))
def abs_sum_mid(x, y): along_mid(_add_sizes, x, y, y)
#pythran export square_sum_mid(float32[:,:,:] order(C), float32[:,:] order(C))
def square_sum_mid(x, y): along_mid(_add_squares, x, y, y)

#pythran export moments_mid(float32[:,:,:] order(C), float32[:,:] order(C), float32[:,:] order(C))
def moments_mid(x, mean, m2):
    along_mid(_add_shifts, x, x[:, 0], mean)
    for o in range(x.shape[0]):
        mean[o] = x[o, 0] + mean[o] / np.float32(x.shape[1])
    along_mid(_add_distances, x, mean, m2)

def _deviate(x, c, g, d):
    for j in range(d.shape[0]):
        d[j] = (x[j] - c[j]) * g[j]

#pythran export deviations_mid(float32[:,:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), float32[:,:,:] order(C))
def deviations_mid(x, mean, g, d):
    outer, n, m = x.shape
    #omp parallel for firstprivate(n)
    for t in range(outer * n):
        o = t // n
        k = rest(t, n)
        _deviate(x[o, k], mean[o], g[o], d[o, k])


# products in float64

def _multiply(x, p):
    for j in range(p.shape[0]):
        p[j] *= x[j]

def product(x):
    n = x.shape[0]
    p = np.float64(1)
    q = np.float64(1)
    r = np.float64(1)
    s = np.float64(1)
    m = n // 4
    for j in range(m):
        p *= x[4 * j]
        q *= x[4 * j + 1]
        r *= x[4 * j + 2]
        s *= x[4 * j + 3]
    for j in range(4 * m, n):
        p *= x[j]
    return np.float32((p * q) * (r * s))

#pythran export prod_last(float32[:,:] order(C), float32[])
def prod_last(x, y):
    #omp parallel for
    for i in range(x.shape[0]):
        y[i] = product(x[i])

#pythran export prod_mid(float32[:,:,:] order(C), float32[:,:] order(C))
def prod_mid(x, y):
    outer, n, m = x.shape
    strips = parts(m, STRIP)
    #omp parallel for firstprivate(n, m, strips)
    for t in range(outer * strips):
        o = t // strips
        lo = rest(t, strips) * STRIP
        hi = min(m, lo + STRIP)
        p = np.ones(hi - lo)
        for i in range(n):
            _multiply(x[o, i, lo:hi], p)
        _round(p, y[o, lo:hi])

def _others(x, g, d, i):
    n = x.shape[1]
    left = np.empty(n)
    p = np.float64(1)
    for j in range(n):
        left[j] = p
        p *= x[i, j]
    p = np.float64(g[i])
    for j in range(n - 1, -1, -1):
        d[i, j] = np.float32(left[j] * p)
        p *= x[i, j]

#pythran export prod_back_last(float32[:,:] order(C), float32[], float32[:,:] order(C))
def prod_back_last(x, g, d):
    #omp parallel for
    for i in range(x.shape[0]):
        _others(x, g, d, i)

def _keep(p, left):
    for j in range(p.shape[0]):
        left[j] = p[j]

def _join(left, p, d):
    for j in range(p.shape[0]):
        d[j] = np.float32(left[j] * p[j])

#pythran export prod_back_mid(float32[:,:,:] order(C), float32[:,:] order(C), float32[:,:,:] order(C))
def prod_back_mid(x, g, d):
    outer, n, m = x.shape
    strips = parts(m, STRIP)
    #omp parallel for firstprivate(n, m, strips)
    for t in range(outer * strips):
        o = t // strips
        lo = rest(t, strips) * STRIP
        hi = min(m, lo + STRIP)
        left = np.empty((n, hi - lo))
        p = np.ones(hi - lo)
        for i in range(n):
            _keep(p, left[i])
            _multiply(x[o, i, lo:hi], p)
        _keep(g[o, lo:hi], p)
        for i in range(n - 1, -1, -1):
            _join(left[i], p, d[o, i, lo:hi])
            _multiply(x[o, i, lo:hi], p)
