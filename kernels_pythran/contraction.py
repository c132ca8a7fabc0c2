"""Products without a good BLAS call. Sums of products go through blocks of float32 into float64, cut by size alone."""
import numpy as np
from ._loops import blocks, of_block, parts, rest, strip, strips
from ._sums import BLOCK, _column_sums

PIECE = 16384       # of a row
ROWS = 128          # of a middle axis
STRIP = 256         # of the inner axis
GROUP = 16          # small matrices at a time


def _times(s, b, y):
    for j in range(y.shape[0]):
        y[j] = s * b[j]

#pythran export outer(float32[], float32[], float32[:,:] order(C))
def outer(a, b, y):
    #omp parallel for
    for i in range(a.shape[0]):
        _times(a[i], b, y[i])


def block_of_products(x, z):
    "`block` of _sums, of products."
    n = x.shape[0]
    a = np.float32(0)
    b = np.float32(0)
    c = np.float32(0)
    d = np.float32(0)
    e = np.float32(0)
    f = np.float32(0)
    g = np.float32(0)
    h = np.float32(0)
    m = n // 8
    for j in range(m):
        a += x[8 * j] * z[8 * j]
        b += x[8 * j + 1] * z[8 * j + 1]
        c += x[8 * j + 2] * z[8 * j + 2]
        d += x[8 * j + 3] * z[8 * j + 3]
        e += x[8 * j + 4] * z[8 * j + 4]
        f += x[8 * j + 5] * z[8 * j + 5]
        g += x[8 * j + 6] * z[8 * j + 6]
        h += x[8 * j + 7] * z[8 * j + 7]
    for j in range(8 * m, n):
        a += x[j] * z[j]
    return ((a + b) + (c + d)) + ((e + f) + (g + h))

def total_of_products(x, z):
    s = 0.
    for lo in range(0, x.shape[0], BLOCK):
        hi = min(x.shape[0], lo + BLOCK)
        s += block_of_products(x[lo:hi], z[lo:hi])
    return s

#pythran export dot_last(float32[:,:] order(C), float32[:,:] order(C), float32[])
def dot_last(a, b, y):
    rows, n = a.shape
    k = parts(n, PIECE)
    if k == 1:
        #omp parallel for
        for i in range(rows):
            y[i] = np.float32(total_of_products(a[i], b[i]))
    else:
        part = np.empty((rows, k))
        #omp parallel for firstprivate(n, k)
        for t in range(rows * k):
            i = t // k
            c = rest(t, k)
            lo = c * PIECE
            hi = min(n, lo + PIECE)
            part[i, c] = total_of_products(a[i, lo:hi], b[i, lo:hi])
        for i in range(rows):
            y[i] = np.float32(np.sum(part[i]))


def _add_products(a, b, s):
    for i in range(a.shape[0]):
        for j in range(s.shape[0]):
            s[j] += a[i, j] * b[i, j]

#pythran export dot_mid(float32[:,:,:] order(C), float32[:,:,:] order(C), float32[:,:] order(C))
def dot_mid(a, b, y):
    k = parts(a.shape[1], ROWS)
    part = np.zeros((a.shape[0] * k, a.shape[2]), np.float32)
    #omp parallel for
    for t in blocks(a, ROWS, STRIP):
        p, o, top, end, lo, hi = of_block(t, a, ROWS, STRIP)
        _add_products(a[o, top:end, lo:hi], b[o, top:end, lo:hi], part[p, lo:hi])
    #omp parallel for firstprivate(k)
    for t in strips(a, STRIP):
        o, lo, hi = strip(t, a, STRIP)
        _column_sums(part[o * k:o * k + k, lo:hi], y[o, lo:hi])


# small matrices: four rows of b at a time into a row of y

def _first(p, b, y):
    for j in range(y.shape[0]):
        y[j] = p * b[j]

def _one(p, b, y):
    for j in range(y.shape[0]):
        y[j] += p * b[j]

def _four(p, q, r, s, a, b, c, d, y):
    for j in range(y.shape[0]):
        y[j] += (p * a[j] + q * b[j]) + (r * c[j] + s * d[j])

def _product(a, b, y):
    k = a.shape[1]
    for i in range(a.shape[0]):
        _first(a[i, 0], b[0], y[i])
        t = 1
        while t + 4 <= k:
            _four(a[i, t], a[i, t + 1], a[i, t + 2], a[i, t + 3], b[t], b[t + 1], b[t + 2], b[t + 3], y[i])
            t += 4
        while t < k:
            _one(a[i, t], b[t], y[i])
            t += 1

#pythran export batched(float32[:,:,:] order(C), float32[:,:,:] order(C), float32[:,:,:] order(C))
def batched(a, b, y):
    n = a.shape[0]
    #omp parallel for firstprivate(n)
    for g in range(parts(n, GROUP)):
        for i in range(g * GROUP, min(n, g * GROUP + GROUP)):
            _product(a[i], b[i], y[i])
