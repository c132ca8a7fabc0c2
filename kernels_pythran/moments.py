"""Variance, norms and products along the last or a middle axis.

Pieces are cut by size; partial results are combined one after the other, sums in float64. See _spans for what happens to numbers whose squares float32
cannot hold; along a middle axis a strip with such lanes is gone through again.
"""
import numpy as np
from ._loops import parts, rest, _copy, _round, _zero
from ._spans import average, average_again, distances, far, near, offset, plain, squares
from ._sums import BLOCK, _column_sums

PIECE = 16384       # of a row
ROWS = 128          # of a middle axis
STRIP = 256         # of the inner axis


def sizes(x):
    s = 0.
    for lo in range(0, x.shape[0], BLOCK):
        s += np.sum(np.abs(x[lo:min(x.shape[0], lo + BLOCK)]))
    return s

#pythran export abs_sum_last(float32[:,:] order(C), float32[])
def abs_sum_last(x, y):
    rows, n = x.shape
    k = parts(n, PIECE)
    part = np.empty((rows, k))
    #omp parallel for firstprivate(n, k)
    for t in range(rows * k):
        i = t // k
        c = rest(t, k)
        part[i, c] = sizes(x[i, c * PIECE:min(n, c * PIECE + PIECE)])
    for i in range(rows):
        y[i] = np.float32(np.sum(part[i]))

#pythran export length_last(float32[:,:] order(C), float64[])
def length_last(x, y):
    rows, n = x.shape
    k = parts(n, PIECE)
    part = np.empty((rows, k))
    #omp parallel for firstprivate(n, k)
    for t in range(rows * k):
        i = t // k
        c = rest(t, k)
        part[i, c] = squares(x[i, c * PIECE:min(n, c * PIECE + PIECE)], 0.)
    for i in range(rows):
        y[i] = np.sqrt(np.sum(part[i]))

def _span(x, mean, length, i):
    m = average(x[i])
    s = distances(x[i], m, 0.)
    if far(0., m, s, x.shape[1]):
        m = average_again(x[i], m)
        s = distances(x[i], m, 0.)
    mean[i] = m
    length[i] = np.sqrt(max(s, 0.))

#pythran export moments_last(float32[:,:] order(C), float64[], float64[])
def moments_last(x, mean, length):
    rows, n = x.shape
    k = parts(n, PIECE)
    if k == 1:
        #omp parallel for
        for i in range(rows):
            _span(x, mean, length, i)
        return
    origin = x[:, 0].copy()
    part = np.empty((rows, k))
    for again in range(2):
        #omp parallel for firstprivate(n, k)
        for t in range(rows * k):
            i = t // k
            c = rest(t, k)
            part[i, c] = offset(x[i, c * PIECE:min(n, c * PIECE + PIECE)], origin[i])
        for i in range(rows):
            mean[i] = origin[i] + np.sum(part[i]) / n
            origin[i] = np.float32(mean[i])
    #omp parallel for firstprivate(n, k)
    for t in range(rows * k):
        i = t // k
        c = rest(t, k)
        part[i, c] = near(x[i, c * PIECE:min(n, c * PIECE + PIECE)], origin[i])
    for i in range(rows):
        t = mean[i] - origin[i]
        length[i] = np.sqrt(max(np.sum(part[i]) - n * t * t, 0.))


def _deviate(x, c, u, g, d):
    for j in range(d.shape[0]):
        d[j] = (x[j] - c) * g - u

def _deviate_wide(x, m, g, d):
    for j in range(d.shape[0]):
        d[j] = np.float32((x[j] - m) * g)

#pythran export deviations_last(float32[:,:] order(C), float64[], float64[], float32[:,:] order(C))
def deviations_last(x, mean, g, d):
    #omp parallel for
    for i in range(x.shape[0]):
        if (g[i] == 0 or plain(abs(g[i]))) and abs(mean[i]) < 1e30:
            c = np.float32(mean[i])
            _deviate(x[i], c, np.float32((mean[i] - c) * g[i]), np.float32(g[i]), d[i])
        else:
            _deviate_wide(x[i], mean[i], g[i], d[i])


# the middle axis: ROWS rows of a strip into float32, those into float64

def _add_sizes(x, s):
    for j in range(s.shape[0]):
        s[j] += abs(x[j])

def _add_squares(x, s):
    for j in range(s.shape[0]):
        s[j] += x[j] * x[j]

def _add_offsets(x, o, s):
    for j in range(s.shape[0]):
        s[j] += x[j] - o[j]

def _add_distances(x, c, s):
    for j in range(s.shape[0]):
        s[j] += (x[j] - c[j]) * (x[j] - c[j])

def _add_squares_wide(x, s):
    for j in range(s.shape[0]):
        s[j] += np.float64(x[j]) * np.float64(x[j])

def _add_offsets_wide(x, o, s):
    for j in range(s.shape[0]):
        s[j] += np.float64(x[j]) - np.float64(o[j])

def _add_distances_wide(x, c, s):
    for j in range(s.shape[0]):
        s[j] += (np.float64(x[j]) - np.float64(c[j])) * (np.float64(x[j]) - np.float64(c[j]))

def doubtful(s, n):
    "How many sums of n squares have lost digits."
    low = np.float32(n * 1e-30)
    count = np.int32(0)
    for j in range(s.shape[0]):
        count += np.int32(0) if s[j] > low and s[j] < np.float32(1e37) else np.int32(1)
    return count

def infinite(s):
    count = np.int32(0)
    for j in range(s.shape[0]):
        count += np.int32(0) if s[j] - s[j] == 0 else np.int32(1)
    return count

def added(part, blocks, o):
    "The sums of the blocks of o."
    s = np.zeros(part.shape[1])
    for b in range(o * blocks, o * blocks + blocks):
        s += part[b]
    return s

#pythran export abs_sum_mid(float32[:,:,:] order(C), float32[:,:] order(C))
def abs_sum_mid(x, y):
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
            _add_sizes(x[o, i, lo:hi], part[ob, lo:hi])
    for o in range(outer):
        _column_sums(part[o * blocks:o * blocks + blocks], y[o])

#pythran export length_mid(float32[:,:,:] order(C), float64[:,:] order(C))
def length_mid(x, y):
    outer, n, m = x.shape
    blocks = parts(n, ROWS)
    strips = parts(m, STRIP)
    part = np.empty((outer * blocks, m))
    #omp parallel for firstprivate(n, m, blocks, strips)
    for t in range(outer * blocks * strips):
        ob = t // strips
        o = ob // blocks
        lo = rest(t, strips) * STRIP
        hi = min(m, lo + STRIP)
        k = rest(ob, blocks) * ROWS
        end = min(n, k + ROWS)
        s = np.zeros(hi - lo, np.float32)
        for i in range(k, end):
            _add_squares(x[o, i, lo:hi], s)
        _copy(s, part[ob, lo:hi])
        if doubtful(s, end - k) > 0:
            _zero(part[ob, lo:hi])
            for i in range(k, end):
                _add_squares_wide(x[o, i, lo:hi], part[ob, lo:hi])
    for o in range(outer):
        y[o] = np.sqrt(added(part, blocks, o))

def _offsets(x, origin, part):
    "Sums of x - origin, block by block of the middle axis."
    outer, n, m = x.shape
    blocks = parts(n, ROWS)
    strips = parts(m, STRIP)
    #omp parallel for firstprivate(n, m, blocks, strips)
    for t in range(outer * blocks * strips):
        ob = t // strips
        o = ob // blocks
        lo = rest(t, strips) * STRIP
        hi = min(m, lo + STRIP)
        k = rest(ob, blocks) * ROWS
        end = min(n, k + ROWS)
        s = np.zeros(hi - lo, np.float32)
        for i in range(k, end):
            _add_offsets(x[o, i, lo:hi], origin[o, lo:hi], s)
        _copy(s, part[ob, lo:hi])
        if infinite(s) > 0:
            _zero(part[ob, lo:hi])
            for i in range(k, end):
                _add_offsets_wide(x[o, i, lo:hi], origin[o, lo:hi], part[ob, lo:hi])

def _squares(x, origin, part):
    "Sums of (x - origin)**2, block by block of the middle axis."
    outer, n, m = x.shape
    blocks = parts(n, ROWS)
    strips = parts(m, STRIP)
    #omp parallel for firstprivate(n, m, blocks, strips)
    for t in range(outer * blocks * strips):
        ob = t // strips
        o = ob // blocks
        lo = rest(t, strips) * STRIP
        hi = min(m, lo + STRIP)
        k = rest(ob, blocks) * ROWS
        end = min(n, k + ROWS)
        s = np.zeros(hi - lo, np.float32)
        for i in range(k, end):
            _add_distances(x[o, i, lo:hi], origin[o, lo:hi], s)
        _copy(s, part[ob, lo:hi])
        if doubtful(s, end - k) > 0:
            _zero(part[ob, lo:hi])
            for i in range(k, end):
                _add_distances_wide(x[o, i, lo:hi], origin[o, lo:hi], part[ob, lo:hi])

def outlying(origin, mean, length, n):
    count = 0
    for o in range(mean.shape[0]):
        for j in range(mean.shape[1]):
            count += 1 if far(origin[o, j], mean[o, j], length[o, j], n) else 0
    return count

#pythran export moments_mid(float32[:,:,:] order(C), float64[:,:] order(C), float64[:,:] order(C))
def moments_mid(x, mean, length):
    outer, n, m = x.shape
    blocks = parts(n, ROWS)
    part = np.empty((outer * blocks, m))
    origin = np.empty((outer, m), np.float32)
    centre = np.empty((outer, m), np.float32)
    for o in range(outer):
        _copy(x[o, 0], origin[o])
    more = True
    while more:
        _offsets(x, origin, part)
        for o in range(outer):
            mean[o] = origin[o] + added(part, blocks, o) / n
            centre[o] = mean[o]
        _squares(x, centre, part)
        for o in range(outer):
            length[o] = added(part, blocks, o) - n * (mean[o] - centre[o]) * (mean[o] - centre[o])
        more = outlying(origin, mean, length, n) > 0
        for o in range(outer):
            _copy(centre[o], origin[o])
    for o in range(outer):
        length[o] = np.sqrt(np.maximum(length[o], 0.))

def _deviate_each(x, c, u, g, d):
    for j in range(d.shape[0]):
        d[j] = (x[j] - c[j]) * g[j] - u[j]

def _deviate_each_wide(x, m, g, d):
    for j in range(d.shape[0]):
        d[j] = np.float32((x[j] - m[j]) * g[j])

def _split(mean, g, c, u, s):
    "mean g as c g + u and g, in float32; how many do not fit."
    count = np.int32(0)
    for j in range(mean.shape[0]):
        c[j] = np.float32(mean[j])
        u[j] = np.float32((mean[j] - c[j]) * g[j])
        s[j] = np.float32(g[j])
        count += np.int32(0) if (g[j] == 0 or plain(abs(g[j]))) and abs(mean[j]) < 1e30 else np.int32(1)
    return count

#pythran export deviations_mid(float32[:,:,:] order(C), float64[:,:] order(C), float64[:,:] order(C), float32[:,:,:] order(C))
def deviations_mid(x, mean, g, d):
    outer, n, m = x.shape
    c = np.empty((outer, m), np.float32)
    u = np.empty((outer, m), np.float32)
    s = np.empty((outer, m), np.float32)
    wide = np.empty(outer, np.int32)
    for o in range(outer):
        wide[o] = _split(mean[o], g[o], c[o], u[o], s[o])
    #omp parallel for firstprivate(n)
    for r in range(outer * n):
        o = r // n
        k = rest(r, n)
        if wide[o] == 0:
            _deviate_each(x[o, k], c[o], u[o], s[o], d[o, k])
        else:
            _deviate_each_wide(x[o, k], mean[o], g[o], d[o, k])


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
            _copy(p, left[i])
            _multiply(x[o, i, lo:hi], p)
        _copy(g[o, lo:hi], p)
        for i in range(n - 1, -1, -1):
            _join(left[i], p, d[o, i, lo:hi])
            _multiply(x[o, i, lo:hi], p)
