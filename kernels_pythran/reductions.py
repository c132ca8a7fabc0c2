"""Sums, largest and smallest along the last or a middle axis.

Work is cut into pieces whose size depends on nothing but the shape. Each piece gives a partial result; those are
combined one after the other.
"""
import numpy as np
from ._loops import blocks, of_block, parts, rest, strip, strips
from ._sums import LONG, quarters, total, total_quarters, _column_sums

NARROW = 16         # rows up to this long are added one after the other
SHORT = 128         # from so many on four running sums pay
PIECE = 16384       # of a row: one thread's share
ROWS = 128          # of a middle axis
STRIP = 1024        # of the inner axis: a strip of a few rows stays in cache
LANES = 128
LOWEST = np.float32(-np.inf)


def _between(x, lo, hi):
    "total_quarters of a piece; of a slice of a slice g++ makes no vectors."
    s = 0.
    for a in range(lo, hi, LONG):
        s += quarters(x[a:min(hi, a + LONG)])
    return s

def _narrow_sums(x, y):
    for i in range(x.shape[0]):
        s = np.float32(0)
        for j in range(x.shape[1]):
            s += x[i, j]
        y[i] = s

#pythran export sum_last(float32[:,:] order(C), float32[])
def sum_last(x, y):
    rows, n = x.shape
    k = parts(n, PIECE)
    if n <= NARROW:
        #omp parallel for firstprivate(rows)
        for c in range(parts(rows, LANES)):
            lo = c * LANES
            hi = min(rows, lo + LANES)
            _narrow_sums(x[lo:hi], y[lo:hi])
    elif n < SHORT:
        #omp parallel for
        for i in range(rows):
            y[i] = np.float32(total(x[i]))
    elif k == 1:
        #omp parallel for
        for i in range(rows):
            y[i] = np.float32(total_quarters(x[i]))
    else:
        part = np.empty((rows, k))
        #omp parallel for firstprivate(n, k)
        for t in range(rows * k):
            i = t // k
            c = rest(t, k)
            part[i, c] = _between(x[i], c * PIECE, min(n, c * PIECE + PIECE))
        for i in range(rows):
            y[i] = np.float32(np.sum(part[i]))


def _add_rows(x, s):
    "Four rows at a time."
    n = x.shape[0] // 4 * 4
    for i in range(0, n, 4):
        for j in range(s.shape[0]):
            s[j] += (x[i, j] + x[i + 1, j]) + (x[i + 2, j] + x[i + 3, j])
    for i in range(n, x.shape[0]):
        for j in range(s.shape[0]):
            s[j] += x[i, j]

#pythran export sum_mid(float32[:,:,:] order(C), float32[:,:] order(C))
def sum_mid(x, y):
    k = parts(x.shape[1], ROWS)
    part = np.zeros((x.shape[0] * k, x.shape[2]), np.float32)
    #omp parallel for
    for t in blocks(x, ROWS, STRIP):
        b, o, top, end, lo, hi = of_block(t, x, ROWS, STRIP)
        _add_rows(x[o, top:end, lo:hi], part[b, lo:hi])
    #omp parallel for firstprivate(k)
    for t in strips(x, STRIP):
        o, lo, hi = strip(t, x, STRIP)
        _column_sums(part[o * k:o * k + k, lo:hi], y[o, lo:hi])


# largest and smallest: the smallest is the largest of -x, `sign` says which. A comparison with NaN is false, so NaN
# never wins; only NaN gives NaN.

def _climb(x, sign, v):
    for j in range(v.shape[0]):
        v[j] = sign * x[j] if sign * x[j] > v[j] else v[j]

def peak(x, sign):
    n = x.shape[0]
    v = np.full(LANES, LOWEST)
    for lo in range(0, n - LANES + 1, LANES):
        _climb(x[lo:lo + LANES], sign, v)
    tail = rest(n, LANES)
    if tail > 0:
        _climb(x[n - tail:], sign, v[:tail])
    top = LOWEST                        # np.max would begin at the lowest finite number
    for j in range(LANES):
        if v[j] > top:
            top = v[j]
    return top

def _hits(x, v):
    s = np.int32(0)
    for j in range(x.shape[0]):
        s += np.int32(x[j] == v)
    return s

def first(x, v):
    "Where v is first, or -1."
    n = x.shape[0]
    lo = 0
    while lo + 64 <= n and _hits(x[lo:lo + 64], v) == 0:
        lo += 64
    for j in range(lo, n):
        if x[j] == v:
            return j
    return -1

def _scan(x, sign, value, place, i):
    top = LOWEST
    at = -1
    for j in range(x.shape[1]):
        a = sign * x[i, j]
        if a > top:
            top = a
            at = j
    j = 0
    while at < 0 and j < x.shape[1]:    # nothing above the lowest number: where that is first
        if sign * x[i, j] == LOWEST:
            at = j
        j += 1
    value[i] = sign * top if at >= 0 else np.float32(np.nan)
    place[i] = max(at, 0)

def along_short(x, sign, value, place):
    size = x.shape[0] * x.shape[1]
    #omp parallel for firstprivate(sign) if(size > 8192)
    for i in range(x.shape[0]):
        _scan(x, sign, value, place, i)

def along_long(x, sign, value, place):
    rows, n = x.shape
    k = parts(n, PIECE)
    v = np.empty((rows, k), np.float32)
    at = np.empty((rows, k), np.int64)
    size = rows * n
    #omp parallel for firstprivate(sign, n, k) if(size > 8192)
    for t in range(rows * k):
        i = t // k
        c = rest(t, k)
        lo = c * PIECE
        hi = min(n, lo + PIECE)
        v[i, c] = peak(x[i, lo:hi], sign)
        at[i, c] = first(x[i, lo:hi], sign * v[i, c])
    for i in range(rows):
        b = 0
        for c in range(1, k):
            if at[i, c] >= 0 and (at[i, b] < 0 or v[i, c] > v[i, b]):
                b = c
        value[i] = sign * v[i, b] if at[i, b] >= 0 else np.float32(np.nan)
        place[i] = max(at[i, b] + b * PIECE, 0)

def along_last(x, sign, value, place):
    if x.shape[1] < 2 * LANES:
        along_short(x, sign, value, place)
    else:
        along_long(x, sign, value, place)

#pythran export max_last(float32[:,:] order(C), float32[], int64[])
def max_last(x, value, place): along_last(x, np.float32(1), value, place)
#pythran export min_last(float32[:,:] order(C), float32[], int64[])
def min_last(x, value, place): along_last(x, np.float32(-1), value, place)


def _climb_at(x, sign, k, v, at):
    for j in range(v.shape[0]):
        at[j] = k if sign * x[j] > v[j] else at[j]
    for j in range(v.shape[0]):
        v[j] = sign * x[j] if sign * x[j] > v[j] else v[j]

def along_mid(x, sign, value, place):
    n = x.shape[1]
    size = x.shape[0] * n * x.shape[2]
    #omp parallel for firstprivate(sign, n) if(size > 8192)
    for t in strips(x, STRIP):
        o, lo, hi = strip(t, x, STRIP)
        v = np.full(hi - lo, LOWEST)
        at = np.full(hi - lo, -1, np.int32)
        for k in range(n):
            _climb_at(x[o, k, lo:hi], sign, np.int32(k), v, at)
        for j in range(hi - lo):
            k = 0
            while at[j] < 0 and k < n:
                if sign * x[o, k, lo + j] == LOWEST:
                    at[j] = k
                k += 1
            value[o, lo + j] = sign * v[j] if at[j] >= 0 else np.float32(np.nan)
            place[o, lo + j] = max(at[j], 0)

#pythran export max_mid(float32[:,:,:] order(C), float32[:,:] order(C), int64[:,:] order(C))
def max_mid(x, value, place): along_mid(x, np.float32(1), value, place)
#pythran export min_mid(float32[:,:,:] order(C), float32[:,:] order(C), int64[:,:] order(C))
def min_mid(x, value, place): along_mid(x, np.float32(-1), value, place)


#pythran export spread_last_(float32[:,:] order(C), float32[])
def spread_last_(y, g):
    #omp parallel for
    for i in range(y.shape[0]):
        y[i] = g[i]

#pythran export spread_mid_(float32[:,:,:] order(C), float32[:,:] order(C))
def spread_mid_(y, g):
    outer, n, m = y.shape
    #omp parallel for firstprivate(n)
    for t in range(outer * n):
        o = t // n
        k = rest(t, n)
        y[o, k] = g[o]
