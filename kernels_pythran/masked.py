"""Reductions of the numbers that a mask selects, along the last or a middle axis. The mask comes as bytes, 0 or 1: of
bools g++ makes slow branches.

The sums go through the same blocks as those of reductions.py, with 0 for what is not selected.
"""
import numpy as np
from ._loops import blocks, of_block, parts, rest, strip, strips, _add
from ._sums import BLOCK, LONG, block, quarters, _column_sums

NARROW = 16
SHORT = 128
PIECE = 16384
ROWS = 128
STRIP = 1024
LANES = 128
LOWEST = np.float32(-np.inf)


def _select(x, m, v):
    for j in range(v.shape[0]):
        v[j] = x[j] if m[j] != 0 else np.float32(0)

def _few(m):
    s = np.uint8(0)
    for j in range(m.shape[0]):
        s += m[j]
    return s

def count_of(m):
    "How many bytes are 1; up to 128 of them add up in a byte."
    s = 0
    for lo in range(0, m.shape[0], 128):
        s += np.int64(_few(m[lo:min(m.shape[0], lo + 128)]))
    return s

def total(x, m, added, size):
    "The sum of what is selected; `added` is that of a block of `size` numbers."
    n = x.shape[0]
    s = 0.
    v = np.empty(min(n, size), np.float32)
    for lo in range(0, n, size):
        hi = min(n, lo + size)
        _select(x[lo:hi], m[lo:hi], v[:hi - lo])
        s += added(v[:hi - lo])
    return s

def _narrow_sums(x, m, y, count):
    for i in range(x.shape[0]):
        s = np.float32(0)
        k = 0
        for j in range(x.shape[1]):
            s += x[i, j] if m[i, j] != 0 else np.float32(0)
            k += m[i, j]
        y[i] = s
        count[i] = k

#pythran export masked_sum_last(float32[:,:] order(C), uint8[:,:] order(C), float32[], int64[])
def masked_sum_last(x, m, y, count):
    rows, n = x.shape
    k = parts(n, PIECE)
    if n <= NARROW:
        #omp parallel for firstprivate(rows)
        for c in range(parts(rows, LANES)):
            lo = c * LANES
            hi = min(rows, lo + LANES)
            _narrow_sums(x[lo:hi], m[lo:hi], y[lo:hi], count[lo:hi])
    elif n < SHORT:
        #omp parallel for
        for i in range(rows):
            y[i] = np.float32(total(x[i], m[i], block, BLOCK))
            count[i] = count_of(m[i])
    elif k == 1:
        #omp parallel for
        for i in range(rows):
            y[i] = np.float32(total(x[i], m[i], quarters, LONG))
            count[i] = count_of(m[i])
    else:
        part = np.empty((rows, k))
        many = np.empty((rows, k), np.int64)
        #omp parallel for firstprivate(n, k)
        for t in range(rows * k):
            i = t // k
            c = rest(t, k)
            lo = c * PIECE
            hi = min(n, lo + PIECE)
            part[i, c] = total(x[i, lo:hi], m[i, lo:hi], quarters, LONG)
            many[i, c] = count_of(m[i, lo:hi])
        for i in range(rows):
            y[i] = np.float32(np.sum(part[i]))
            count[i] = np.sum(many[i])


def _add_rows(x, m, s):
    "Four rows at a time."
    z = np.float32(0)
    n = x.shape[0] // 4 * 4
    for i in range(0, n, 4):
        for j in range(s.shape[0]):
            s[j] += (((x[i, j] if m[i, j] != 0 else z) + (x[i + 1, j] if m[i + 1, j] != 0 else z))
                     + ((x[i + 2, j] if m[i + 2, j] != 0 else z) + (x[i + 3, j] if m[i + 3, j] != 0 else z)))
    for i in range(n, x.shape[0]):
        for j in range(s.shape[0]):
            s[j] += x[i, j] if m[i, j] != 0 else z

def _count_up(m, s):
    for i in range(m.shape[0]):
        for j in range(s.shape[0]):
            s[j] += m[i, j]

#pythran export masked_sum_mid(float32[:,:,:] order(C), uint8[:,:,:] order(C), float32[:,:] order(C),
#                              int64[:,:] order(C))
def masked_sum_mid(x, mask, y, count):
    k = parts(x.shape[1], ROWS)
    part = np.zeros((x.shape[0] * k, x.shape[2]), np.float32)
    many = np.zeros((x.shape[0] * k, x.shape[2]), np.int32)
    #omp parallel for
    for t in blocks(x, ROWS, STRIP):
        b, o, top, end, lo, hi = of_block(t, x, ROWS, STRIP)
        _count_up(mask[o, top:end, lo:hi], many[b, lo:hi])
        _add_rows(x[o, top:end, lo:hi], mask[o, top:end, lo:hi], part[b, lo:hi])
    #omp parallel for firstprivate(k)
    for t in strips(x, STRIP):
        o, lo, hi = strip(t, x, STRIP)
        _column_sums(part[o * k:o * k + k, lo:hi], y[o, lo:hi])
        c = np.zeros(hi - lo, np.int64)
        for b in range(o * k, o * k + k):
            _add(many[b, lo:hi], c)
        count[o, lo:hi] = c


# largest and smallest: the smallest is the largest of -x, `sign` says which. NaN and what is not selected count as the
# lowest number.

def _rank(x, m, sign, v):
    for j in range(v.shape[0]):
        a = x[j]
        v[j] = sign * a if (m[j] != 0) & (a == a) else LOWEST

def best(x, m, sign):
    "The largest rank and the block of 1024 where it is first."
    n = x.shape[0]
    v = np.empty(min(n, BLOCK), np.float32)
    top = LOWEST
    block = 0
    for lo in range(0, n, BLOCK):
        hi = min(n, lo + BLOCK)
        _rank(x[lo:hi], m[lo:hi], sign, v[:hi - lo])
        t = np.max(v[:hi - lo])
        if t > top:
            top = t
            block = lo
    return top, block

def _hits(x, m, v):
    s = np.int32(0)
    for j in range(x.shape[0]):
        s += np.int32(m[j]) & np.int32(x[j] == v)
    return s

def first(x, m, v, lo):
    "Where from lo on v is first selected, or -1."
    n = x.shape[0]
    while lo + 64 <= n and _hits(x[lo:lo + 64], m[lo:lo + 64], v) == 0:
        lo += 64
    for j in range(lo, n):
        if m[j] != 0 and x[j] == v:
            return j
    return -1

def chosen(m):
    "Where the mask first selects, or -1."
    for j in range(m.shape[0]):
        if m[j] != 0:
            return j
    return -1

def along_last(x, m, sign, value, place):
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
        top, block = best(x[i, lo:hi], m[i, lo:hi], sign)
        v[i, c] = top
        at[i, c] = first(x[i, lo:hi], m[i, lo:hi], sign * top, block)
        if at[i, c] < 0:                # np.max begins at the lowest finite number
            v[i, c] = LOWEST
            at[i, c] = first(x[i, lo:hi], m[i, lo:hi], sign * LOWEST, 0)
    for i in range(rows):
        b = 0
        for c in range(1, k):
            if at[i, c] >= 0 and (at[i, b] < 0 or v[i, c] > v[i, b]):
                b = c
        value[i] = sign * v[i, b]
        place[i] = at[i, b] + b * PIECE
        if at[i, b] < 0:                # nothing but NaN is selected, or nothing at all
            place[i] = chosen(m[i])
            if place[i] >= 0:
                value[i] = np.float32(np.nan)

#pythran export masked_max_last(float32[:,:] order(C), uint8[:,:] order(C), float32[], int64[])
def masked_max_last(x, m, value, place): along_last(x, m, np.float32(1), value, place)
#pythran export masked_min_last(float32[:,:] order(C), uint8[:,:] order(C), float32[], int64[])
def masked_min_last(x, m, value, place): along_last(x, m, np.float32(-1), value, place)


def _climb_at(x, m, sign, k, v, at):
    for j in range(v.shape[0]):
        a = sign * x[j] if m[j] != 0 else LOWEST
        at[j] = k if a > v[j] else at[j]
        v[j] = a if a > v[j] else v[j]

def along_mid(x, mask, sign, value, place):
    n = x.shape[1]
    size = x.shape[0] * n * x.shape[2]
    #omp parallel for firstprivate(sign, n) if(size > 8192)
    for t in strips(x, STRIP):
        o, lo, hi = strip(t, x, STRIP)
        v = np.full(hi - lo, LOWEST)
        at = np.full(hi - lo, -1, np.int32)
        for k in range(n):
            _climb_at(x[o, k, lo:hi], mask[o, k, lo:hi], sign, np.int32(k), v, at)
        for j in range(hi - lo):
            best = sign * v[j]
            where = np.int64(at[j])
            if where < 0:               # nothing above the lowest number was selected
                some = np.int64(-1)
                for k in range(n - 1, -1, -1):
                    if mask[o, k, lo + j] != 0:
                        some = k
                        if x[o, k, lo + j] == best:
                            where = k
                if where < 0 and some >= 0:
                    best = np.float32(np.nan)
                    where = some
            value[o, lo + j] = best
            place[o, lo + j] = where

#pythran export masked_max_mid(float32[:,:,:] order(C), uint8[:,:,:] order(C), float32[:,:] order(C),
#                              int64[:,:] order(C))
def masked_max_mid(x, m, value, place): along_mid(x, m, np.float32(1), value, place)
#pythran export masked_min_mid(float32[:,:,:] order(C), uint8[:,:,:] order(C), float32[:,:] order(C),
#                              int64[:,:] order(C))
def masked_min_mid(x, m, value, place): along_mid(x, m, np.float32(-1), value, place)


def _repeat(m, g, y):
    for j in range(y.shape[0]):
        y[j] = g if m[j] != 0 else np.float32(0)

def _pick(m, g, y):
    for j in range(y.shape[0]):
        y[j] = g[j] if m[j] != 0 else np.float32(0)

#pythran export masked_spread_last(uint8[:,:] order(C), float32[], float32[:,:] order(C))
def masked_spread_last(m, g, y):
    #omp parallel for
    for i in range(m.shape[0]):
        _repeat(m[i], g[i], y[i])

#pythran export masked_spread_mid(uint8[:,:,:] order(C), float32[:,:] order(C), float32[:,:,:] order(C))
def masked_spread_mid(m, g, y):
    outer, n, inner = m.shape
    #omp parallel for firstprivate(n)
    for t in range(outer * n):
        o = t // n
        k = rest(t, n)
        _pick(m[o, k], g[o], y[o, k])
