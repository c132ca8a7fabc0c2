"""Variance, norms and products along the last or a middle axis.

Pieces are cut by size; partial results are combined one after the other, sums in float64. See _spans for what happens
to numbers whose squares float32 cannot hold; along a middle axis a strip with such lanes is gone through again.
"""
import numpy as np
from ._loops import blocks, of_block, parts, rest, row_parts, strip, strips, _copy, _round, _zero
from ._spans import average, average_again, distances, far, near, offset, plain, squares
from ._sums import BLOCK, _column_sums

PIECE = 16384       # of a row
ROWS = 128          # of a middle axis
STRIP = 256         # of the inner axis
WIDE = 1024         # the same where rows are only read


def sizes(x):
    s = 0.
    for lo in range(0, x.shape[0], BLOCK):
        s += np.sum(np.abs(x[lo:min(x.shape[0], lo + BLOCK)]))
    return s

#pythran export abs_sum_last(float32[:,:] order(C), float32[])
def abs_sum_last(x, y):
    rows, n = x.shape
    size = rows * n
    if n <= PIECE:
        #omp parallel for if(size > 8192)
        for i in range(rows):
            y[i] = np.float32(sizes(x[i]))
        return
    part = np.empty((rows, parts(n, PIECE)))
    row_parts(sizes, x, part, PIECE)
    for i in range(rows):
        y[i] = np.float32(np.sum(part[i]))

def all_squares(x): return squares(x, 0.)

#pythran export length_last(float32[:,:] order(C), float64[])
def length_last(x, y):
    rows, n = x.shape
    size = rows * n
    if n <= PIECE:
        #omp parallel for if(size > 8192)
        for i in range(rows):
            y[i] = np.sqrt(squares(x[i], 0.))
        return
    part = np.empty((rows, parts(n, PIECE)))
    row_parts(all_squares, x, part, PIECE)
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
    size = rows * n
    if k == 1:
        #omp parallel for if(size > 8192)
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
    size = x.shape[0] * x.shape[1]
    #omp parallel for if(size > 8192)
    for i in range(x.shape[0]):
        if (g[i] == 0 or plain(abs(g[i]))) and abs(mean[i]) < 1e30:
            c = np.float32(mean[i])
            _deviate(x[i], c, np.float32((mean[i] - c) * g[i]), np.float32(g[i]), d[i])
        else:
            _deviate_wide(x[i], mean[i], g[i], d[i])


# the middle axis: ROWS rows of a strip into float32, those into float64

def _add_sizes(x, s):
    for i in range(x.shape[0]):
        for j in range(s.shape[0]):
            s[j] += abs(x[i, j])

# the others add what lies between x and c, of which _add_squares knows nothing

def _add_squares(x, c, s):
    for i in range(x.shape[0]):
        for j in range(s.shape[0]):
            s[j] += x[i, j] * x[i, j]

def _add_offsets(x, c, s):
    for i in range(x.shape[0]):
        for j in range(s.shape[0]):
            s[j] += x[i, j] - c[j]

def _add_distances(x, c, s):
    for i in range(x.shape[0]):
        for j in range(s.shape[0]):
            s[j] += (x[i, j] - c[j]) * (x[i, j] - c[j])

def _add_squares_wide(x, c, s):
    for i in range(x.shape[0]):
        for j in range(s.shape[0]):
            s[j] += np.float64(x[i, j]) * np.float64(x[i, j])

def _add_offsets_wide(x, c, s):
    for i in range(x.shape[0]):
        for j in range(s.shape[0]):
            s[j] += np.float64(x[i, j]) - np.float64(c[j])

def _add_distances_wide(x, c, s):
    for i in range(x.shape[0]):
        for j in range(s.shape[0]):
            s[j] += (np.float64(x[i, j]) - np.float64(c[j])) * (np.float64(x[i, j]) - np.float64(c[j]))

def doubtful(s, n):
    "How many sums of n squares have lost digits."
    low = np.float32(n * 1e-30)
    count = np.int32(0)
    for j in range(s.shape[0]):
        count += np.int32(0) if s[j] > low and s[j] < np.float32(1e37) else np.int32(1)
    return count

def infinite(s, n):
    count = np.int32(0)
    for j in range(s.shape[0]):
        count += np.int32(0) if s[j] - s[j] == 0 else np.int32(1)
    return count

def sums(add, add_wide, lost, x, origin, part):
    "What `add` adds up over each block of rows; a strip of which it lost some sums is gone through again in float64."
    size = x.shape[0] * x.shape[1] * x.shape[2]
    #omp parallel for if(size > 8192)
    for t in blocks(x, ROWS, STRIP):
        b, o, top, end, lo, hi = of_block(t, x, ROWS, STRIP)
        s = np.zeros(hi - lo, np.float32)
        add(x[o, top:end, lo:hi], origin[o, lo:hi], s)
        _copy(s, part[b, lo:hi])
        if lost(s, end - top) > 0:
            _zero(part[b, lo:hi])
            add_wide(x[o, top:end, lo:hi], origin[o, lo:hi], part[b, lo:hi])

def added(part, o, outer):
    "The sums of the blocks of o."
    s = np.zeros(part.shape[1])
    k = part.shape[0] // outer
    for b in range(o * k, o * k + k):
        s += part[b]
    return s

#pythran export abs_sum_mid(float32[:,:,:] order(C), float32[:,:] order(C))
def abs_sum_mid(x, y):
    outer, n, m = x.shape
    k = parts(n, ROWS)
    part = np.zeros((outer * k, m), np.float32)
    size = outer * n * m
    #omp parallel for if(size > 8192)
    for t in blocks(x, ROWS, STRIP):
        b, o, top, end, lo, hi = of_block(t, x, ROWS, STRIP)
        _add_sizes(x[o, top:end, lo:hi], part[b, lo:hi])
    for o in range(outer):
        _column_sums(part[o * k:o * k + k], y[o])

#pythran export length_mid(float32[:,:,:] order(C), float64[:,:] order(C))
def length_mid(x, y):
    outer, n, m = x.shape
    part = np.empty((outer * parts(n, ROWS), m))
    sums(_add_squares, _add_squares_wide, doubtful, x, y, part)
    for o in range(outer):
        y[o] = np.sqrt(added(part, o, outer))

def outlying(origin, mean, length, n):
    count = 0
    for o in range(mean.shape[0]):
        for j in range(mean.shape[1]):
            count += 1 if far(origin[o, j], mean[o, j], length[o, j], n) else 0
    return count

#pythran export moments_mid(float32[:,:,:] order(C), float64[:,:] order(C), float64[:,:] order(C))
def moments_mid(x, mean, length):
    outer, n, m = x.shape
    part = np.empty((outer * parts(n, ROWS), m))
    origin = np.empty((outer, m), np.float32)
    centre = np.empty((outer, m), np.float32)
    for o in range(outer):
        _copy(x[o, 0], origin[o])
    more = True
    while more:
        sums(_add_offsets, _add_offsets_wide, infinite, x, origin, part)
        for o in range(outer):
            mean[o] = origin[o] + added(part, o, outer) / n
            centre[o] = mean[o]
        sums(_add_distances, _add_distances_wide, doubtful, x, centre, part)
        for o in range(outer):
            length[o] = added(part, o, outer) - n * (mean[o] - centre[o]) * (mean[o] - centre[o])
        more = outlying(origin, mean, length, n) > 0
        for o in range(outer):
            _copy(centre[o], origin[o])
    for o in range(outer):
        length[o] = np.sqrt(np.maximum(length[o], 0.))

def _deviate_rows(x, c, u, g, d):
    for i in range(x.shape[0]):
        for j in range(c.shape[0]):
            d[i, j] = (x[i, j] - c[j]) * g[j] - u[j]

def _deviate_rows_wide(x, m, g, d):
    for i in range(x.shape[0]):
        for j in range(m.shape[0]):
            d[i, j] = np.float32((x[i, j] - m[j]) * g[j])

def _split(mean, g, c, u, s):
    "mean g as c g + u and g, in float32; how many do not fit."
    count = np.int32(0)
    for j in range(mean.shape[0]):
        c[j] = np.float32(mean[j])
        u[j] = np.float32((mean[j] - c[j]) * g[j])
        s[j] = np.float32(g[j])
        count += np.int32(0) if (g[j] == 0 or plain(abs(g[j]))) and abs(mean[j]) < 1e30 else np.int32(1)
    return count

#pythran export deviations_mid(float32[:,:,:] order(C), float64[:,:] order(C), float64[:,:] order(C),
#                              float32[:,:,:] order(C))
def deviations_mid(x, mean, g, d):
    outer, n, m = x.shape
    c = np.empty((outer, m), np.float32)
    u = np.empty((outer, m), np.float32)
    s = np.empty((outer, m), np.float32)
    wide = np.empty(outer, np.int32)
    for o in range(outer):
        wide[o] = _split(mean[o], g[o], c[o], u[o], s[o])
    size = outer * n * m
    #omp parallel for if(size > 8192)
    for t in blocks(x, ROWS, STRIP):
        _, o, top, end, lo, hi = of_block(t, x, ROWS, STRIP)
        if wide[o] == 0:
            _deviate_rows(x[o, top:end, lo:hi], c[o, lo:hi], u[o, lo:hi], s[o, lo:hi], d[o, top:end, lo:hi])
        else:
            _deviate_rows_wide(x[o, top:end, lo:hi], mean[o, lo:hi], g[o, lo:hi], d[o, top:end, lo:hi])


# products in float64

def _multiply(x, p):
    for j in range(p.shape[0]):
        p[j] *= x[j]

def product(x):
    "Of four quarters side by side."
    n = x.shape[0]
    m = n // 32 * 8
    p = np.float64(1)
    q = np.float64(1)
    r = np.float64(1)
    s = np.float64(1)
    #omp simd reduction(*:p,q,r,s)
    for j in range(m):
        p *= np.float64(x[j])
        q *= np.float64(x[j + m])
        r *= np.float64(x[j + 2 * m])
        s *= np.float64(x[j + 3 * m])
    for j in range(4 * m, n):
        p *= np.float64(x[j])
    return np.float32((p * q) * (r * s))

#pythran export prod_last(float32[:,:] order(C), float32[])
def prod_last(x, y):
    size = x.shape[0] * x.shape[1]
    #omp parallel for if(size > 8192)
    for i in range(x.shape[0]):
        y[i] = product(x[i])

def _multiply_rows(x, p):
    "Four rows at a time."
    n = x.shape[0] // 4 * 4
    for i in range(0, n, 4):
        for j in range(p.shape[0]):
            p[j] *= ((np.float64(x[i, j]) * np.float64(x[i + 1, j]))
                     * (np.float64(x[i + 2, j]) * np.float64(x[i + 3, j])))
    for i in range(n, x.shape[0]):
        for j in range(p.shape[0]):
            p[j] *= np.float64(x[i, j])

#pythran export prod_mid(float32[:,:,:] order(C), float32[:,:] order(C))
def prod_mid(x, y):
    outer, n, m = x.shape
    k = parts(n, ROWS)
    part = np.ones((outer * k, m))
    size = outer * n * m
    #omp parallel for if(size > 8192)
    for t in blocks(x, ROWS, WIDE):
        b, o, top, end, lo, hi = of_block(t, x, ROWS, WIDE)
        _multiply_rows(x[o, top:end, lo:hi], part[b, lo:hi])
    for o in range(outer):
        for b in range(o * k + 1, o * k + k):
            part[o * k] *= part[b]
        _round(part[o * k], y[o])

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
    n = x.shape[1]
    #omp parallel for firstprivate(n)
    for t in strips(x, STRIP):
        o, lo, hi = strip(t, x, STRIP)
        left = np.empty((n, hi - lo))
        p = np.ones(hi - lo)
        for i in range(n):
            _copy(p, left[i])
            _multiply(x[o, i, lo:hi], p)
        _copy(g[o, lo:hi], p)
        for i in range(n - 1, -1, -1):
            _join(left[i], p, d[o, i, lo:hi])
            _multiply(x[o, i, lo:hi], p)
