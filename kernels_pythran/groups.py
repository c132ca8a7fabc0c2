"""Groups of channels brought to one mean and one size, channels last: (outer, places, channels) with a mean, a factor
and so on for each channel of each outer entry.

Sums are float64. What is worked out for each number is float32 where mean and factor fit: (x - c) s + u, where c is the
mean in float32 and u holds what that leaves out; elsewhere it is float64.

Blocks of ROWS places are cut by size; their sums are added one after the other.
"""
import numpy as np
from ._loops import blocks, of_block, parts, _copy

ROWS = 128          # of the places
STRIP = 256         # of the channels


def _split(m, s, d, c, f, u):
    "(x - m) s + d as (x - c) f + u in float32; how many do not fit."
    count = np.int32(0)
    for j in range(m.shape[0]):
        c[j] = np.float32(m[j])
        f[j] = np.float32(s[j])
        u[j] = np.float32(d[j] - (m[j] - c[j]) * s[j])
        far = max(abs(m[j]), abs(d[j]))
        size = abs(s[j])
        count += np.int32(0) if far < 1e30 and size < 1e15 and (size > 1e-15 or size == 0) else np.int32(1)
    return count

def _affine(x, c, f, u, y):
    for i in range(x.shape[0]):
        for j in range(c.shape[0]):
            y[i, j] = (x[i, j] - c[j]) * f[j] + u[j]

def _affine_wide(x, m, r, w, b, y):
    for i in range(x.shape[0]):
        for j in range(m.shape[0]):
            y[i, j] = np.float32((x[i, j] - m[j]) * r[j] * w[j] + b[j])

def _factors(r, w, s):
    for j in range(r.shape[0]):
        s[j] = r[j] * w[j]

#pythran export group_affine(float32[:,:,:] order(C), float64[:,:] order(C), float64[:,:] order(C), float32[],
#                            float32[], float32[:,:,:] order(C))
def group_affine(x, m, r, w, b, y):
    outer, n, c = x.shape
    mean = np.empty((outer, c), np.float32)
    f = np.empty((outer, c), np.float32)
    u = np.empty((outer, c), np.float32)
    s = np.empty(c)
    wide = np.empty(outer, np.int32)
    for k in range(outer):
        _factors(r[k], w, s)
        wide[k] = _split(m[k], s, b, mean[k], f[k], u[k])
    #omp parallel for if(outer * n * c > 32768)
    for t in blocks(x, ROWS, STRIP):
        _, o, top, end, lo, hi = of_block(t, x, ROWS, STRIP)
        if wide[o] == 0:
            _affine(x[o, top:end, lo:hi], mean[o, lo:hi], f[o, lo:hi], u[o, lo:hi], y[o, top:end, lo:hi])
        else:
            _affine_wide(x[o, top:end, lo:hi], m[o, lo:hi], r[o, lo:hi], w[lo:hi], b[lo:hi], y[o, top:end, lo:hi])


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


def _slopes(g, x, a, c, f, u, y):
    for i in range(g.shape[0]):
        for j in range(c.shape[0]):
            y[i, j] = g[i, j] * a[j] + ((x[i, j] - c[j]) * f[j] + u[j])

def _slopes_wide(g, x, m, r, a, b, c, y):
    for i in range(g.shape[0]):
        for j in range(m.shape[0]):
            y[i, j] = np.float32(g[i, j] * a[j] + (x[i, j] - m[j]) * r[j] * b[j] + c[j])

def _narrow(a, v):
    "a in float32; how many do not fit."
    count = np.int32(0)
    for j in range(a.shape[0]):
        v[j] = np.float32(a[j])
        size = abs(a[j])
        count += np.int32(0) if size < 1e15 and (size > 1e-15 or size == 0) else np.int32(1)
    return count

#pythran export group_slopes(float32[:,:,:] order(C), float32[:,:,:] order(C), float64[:,:] order(C),
#                            float64[:,:] order(C), float64[:,:] order(C), float64[:,:] order(C),
#                            float64[:,:] order(C), float32[:,:,:] order(C))
def group_slopes(g, x, m, r, a, b, c, y):
    outer, n, k = g.shape
    mean = np.empty((outer, k), np.float32)
    f = np.empty((outer, k), np.float32)
    u = np.empty((outer, k), np.float32)
    v = np.empty((outer, k), np.float32)
    s = np.empty(k)
    wide = np.empty(outer, np.int32)
    for i in range(outer):
        _factors(r[i], b[i], s)
        wide[i] = _split(m[i], s, c[i], mean[i], f[i], u[i]) + _narrow(a[i], v[i])
    #omp parallel for if(outer * n * k > 32768)
    for t in blocks(g, ROWS, STRIP):
        _, o, top, end, lo, hi = of_block(t, g, ROWS, STRIP)
        if wide[o] == 0:
            _slopes(g[o, top:end, lo:hi], x[o, top:end, lo:hi], v[o, lo:hi], mean[o, lo:hi], f[o, lo:hi], u[o, lo:hi],
                    y[o, top:end, lo:hi])
        else:
            _slopes_wide(g[o, top:end, lo:hi], x[o, top:end, lo:hi], m[o, lo:hi], r[o, lo:hi], a[o, lo:hi], b[o, lo:hi],
                         c[o, lo:hi], y[o, top:end, lo:hi])
