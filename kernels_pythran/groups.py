"""Groups of channels brought to one mean and one size, channels last: (outer, places, channels) with a mean, a factor
and so on for each channel of each outer entry. Everything between float32 in and float32 out is float64.

Blocks of ROWS places are cut by size; their sums are added one after the other.
"""
import numpy as np
from ._loops import blocks, of_block, parts, _copy

ROWS = 128          # of the places
STRIP = 256         # of the channels


def _affine(x, m, r, w, b, y):
    for i in range(x.shape[0]):
        for j in range(m.shape[0]):
            y[i, j] = np.float32((x[i, j] - m[j]) * r[j] * w[j] + b[j])

#pythran export group_affine(float32[:,:,:] order(C), float64[:,:] order(C), float64[:,:] order(C), float32[],
#                            float32[], float32[:,:,:] order(C))
def group_affine(x, m, r, w, b, y):
    outer, n, c = x.shape
    #omp parallel for if(outer * n * c > 32768)
    for t in blocks(x, ROWS, STRIP):
        _, o, top, end, lo, hi = of_block(t, x, ROWS, STRIP)
        _affine(x[o, top:end, lo:hi], m[o, lo:hi], r[o, lo:hi], w[lo:hi], b[lo:hi], y[o, top:end, lo:hi])


def _add(g, x, m, r, s, p):
    for i in range(g.shape[0]):
        for j in range(m.shape[0]):
            s[j] += g[i, j]
            p[j] += g[i, j] * ((x[i, j] - m[j]) * r[j])

#pythran export group_sums(float32[:,:,:] order(C), float32[:,:,:] order(C), float64[:,:] order(C),
#                          float64[:,:] order(C), float64[:,:] order(C), float64[:,:] order(C))
def group_sums(g, x, m, r, s, p):
    outer, n, c = g.shape
    k = parts(n, ROWS)
    each = np.zeros((outer * k, c))
    other = np.zeros((outer * k, c))
    #omp parallel for if(outer * n * c > 32768)
    for t in blocks(g, ROWS, STRIP):
        b, o, top, end, lo, hi = of_block(t, g, ROWS, STRIP)
        _add(g[o, top:end, lo:hi], x[o, top:end, lo:hi], m[o, lo:hi], r[o, lo:hi], each[b, lo:hi], other[b, lo:hi])
    for o in range(outer):
        _copy(each[o * k], s[o])
        _copy(other[o * k], p[o])
        for b in range(o * k + 1, o * k + k):
            s[o] += each[b]
            p[o] += other[b]


def _slopes(g, x, m, r, a, b, c, y):
    for i in range(g.shape[0]):
        for j in range(m.shape[0]):
            y[i, j] = np.float32(g[i, j] * a[j] + (x[i, j] - m[j]) * r[j] * b[j] + c[j])

#pythran export group_slopes(float32[:,:,:] order(C), float32[:,:,:] order(C), float64[:,:] order(C),
#                            float64[:,:] order(C), float64[:,:] order(C), float64[:,:] order(C),
#                            float64[:,:] order(C), float32[:,:,:] order(C))
def group_slopes(g, x, m, r, a, b, c, y):
    outer, n, k = g.shape
    #omp parallel for if(outer * n * k > 32768)
    for t in blocks(g, ROWS, STRIP):
        _, o, top, end, lo, hi = of_block(t, g, ROWS, STRIP)
        _slopes(g[o, top:end, lo:hi], x[o, top:end, lo:hi], m[o, lo:hi], r[o, lo:hi], a[o, lo:hi], b[o, lo:hi],
                c[o, lo:hi], y[o, top:end, lo:hi])
