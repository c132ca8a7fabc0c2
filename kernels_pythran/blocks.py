"""Quantised blocks: rows of x rounded to 8 bits, products with rows of blocks as sums of whole
numbers, and packed planes.

What keeps these loops fast: an index that Pythran can prove positive needs no test for its sign,
and only such loops are vectorised. So offsets are shifts (a product of an unbounded number loses
the proof), and no subscript stands inside a call. `n` is the length of a run of 32: a literal
would be unrolled by Pythran. A run of 16 is a literal under `#omp simd`, which nobody unrolls;
otherwise g++ takes vectors of 32 bytes, finds 16, and goes one by one, eight times as slow."""
# compile with: -mprefer-vector-width=256
import numpy as np
from ._halves import half, powers
from ._rounding import LEAST, ZERO, count, largest, nearest

LOW = np.uint8(15)
FOUR = np.uint8(4)
TOP = np.int16(32)
TASK = 16       # rows of the weight that are one task


# f16

def soft_half(d):
    "d with the 11 bits of an f16, where an f16 has them."
    if d < np.float32(6.103515625e-05) or d > np.float32(65504): return d
    unit = np.float32(5.9604644775390625e-08)
    while d >= unit * np.float32(2048): unit = np.float32(unit * np.float32(2))
    return np.float32(np.rint(np.float32(d / unit)) * unit)


# rows of x

def round_32(x, q, s, t, n):
    for b in range(s.shape[0]):
        i = b << 5
        top, bad = largest(x[i:], n)
        d = np.float32(top / np.float32(127))
        inv = np.float32(np.float32(1) / d) if d >= LEAST else ZERO
        if bad != ZERO: d = bad
        s[b] = soft_half(d)
        if bad != ZERO:
            for j in range(n): q[i + j] = np.int16(0)
            t[b] = np.int32(0)
        else:
            nearest(x[i:], q[i:], inv, n)
            t[b] = count(q[i:], n)

#pythran export activate_q8_0(float32[:,:] order(C), int16[:,:] order(C), float32[:,:] order(C),
#                             int32[:,:] order(C))
def activate_q8_0(x, q, s, t):
    many = x.shape[0] > 3
    #omp parallel for if(many)
    for r in range(x.shape[0]): round_32(x[r], q[r], s[r], t[r], 32)


def round_256(x, q, s, t):
    for b in range(s.shape[0]):
        i = b << 8
        top = ZERO
        far = ZERO
        bad = ZERO
        for j in range(i, i + 256):
            v = np.abs(x[j])
            bad += x[j] * ZERO
            if v > top:
                top = v
                far = x[j]
        rate = np.float32(np.float32(-127) / far) if top >= np.float32(127) * LEAST else ZERO
        if bad != ZERO: rate = ZERO
        for j in range(i, i + 256): q[j] = np.int16(np.rint(x[j] * rate)) if rate != ZERO else np.int16(0)
        for g in range(16):
            c = np.int32(0)
            for j in range(i + 16 * g, i + 16 * g + 16): c += np.int32(q[j])
            t[(b << 4) + g] = c
        s[b] = np.float32(np.float32(1) / rate) if rate != ZERO else bad

#pythran export activate_q8_k(float32[:,:] order(C), int16[:,:] order(C), float32[:,:] order(C),
#                             int32[:,:] order(C))
def activate_q8_k(x, q, s, t):
    many = x.shape[0] > 3
    #omp parallel for if(many)
    for r in range(x.shape[0]): round_256(x[r], q[r], s[r], t[r])


# 32 numbers a block

def rows_q8_0(w0, w1, w2, w3, x, s, p, y, n):
    a0 = ZERO
    a1 = ZERO
    a2 = ZERO
    a3 = ZERO
    for b in range(s.shape[0]):
        i = b << 5
        o = i + (b << 1)
        c0 = np.int32(0)
        c1 = np.int32(0)
        c2 = np.int32(0)
        c3 = np.int32(0)
        for j in range(n): c0 += np.int32(np.int8(w0[o + 2 + j])) * np.int32(x[i + j])
        for j in range(n): c1 += np.int32(np.int8(w1[o + 2 + j])) * np.int32(x[i + j])
        for j in range(n): c2 += np.int32(np.int8(w2[o + 2 + j])) * np.int32(x[i + j])
        for j in range(n): c3 += np.int32(np.int8(w3[o + 2 + j])) * np.int32(x[i + j])
        l0 = w0[o]
        h0 = w0[o + 1]
        l1 = w1[o]
        h1 = w1[o + 1]
        l2 = w2[o]
        h2 = w2[o + 1]
        l3 = w3[o]
        h3 = w3[o + 1]
        z = s[b]
        a0 += half(l0, h0, p) * z * np.float32(c0)
        a1 += half(l1, h1, p) * z * np.float32(c1)
        a2 += half(l2, h2, p) * z * np.float32(c2)
        a3 += half(l3, h3, p) * z * np.float32(c3)
    y[0] = a0
    y[1] = a1
    y[2] = a2
    y[3] = a3

#pythran export dot_q8_0(uint8[:,:] order(C), int16[:,:] order(C), float32[:,:] order(C),
#                        int32[:,:] order(C), float32[:,:] order(C))
def dot_q8_0(w, q, s, t, y):
    p = powers()
    last = w.shape[0] - 1
    rows = q.shape[0]
    #omp parallel for firstprivate(last, rows)
    for g in range((w.shape[0] + 3) // 4):
        i = 4 * g
        four = np.empty(4, np.float32)
        for r in range(rows):
            rows_q8_0(w[i], w[min(i + 1, last)], w[min(i + 2, last)], w[min(i + 3, last)], q[r], s[r], p, four, 32)
            for k in range(min(4, last + 1 - i)): y[r, i + k] = four[k]


def sums_32(c, x, e, n):
    for b in range(e.shape[0]):
        i = b << 5
        k = np.int32(0)
        for j in range(n): k += np.int32(c[i + j]) * np.int32(x[i + j])
        e[b] = k

def finish(d, m, e, s, t, zero):
    "Scales, offsets and sums of a row of blocks, scales and sums of x: codes count from `zero`."
    y = ZERO
    #omp simd reduction(+:y)
    for b in range(e.shape[0]):
        y += s[b] * (d[b] * (np.float32(e[b]) - zero * np.float32(t[b])) + m[b] * np.float32(t[b]))
    return y

def split_q4_0(w, c, bits):
    for b in range(c.shape[0] >> 5):
        i = b << 5
        o = (b << 4) + (b << 1)
        #omp simd
        for j in range(16):
            c[i + j] = w[o + 2 + j] & LOW
            c[i + 16 + j] = w[o + 2 + j] >> FOUR

def split_q4_1(w, c, bits):
    for b in range(c.shape[0] >> 5):
        i = b << 5
        o = (b << 4) + (b << 2)
        #omp simd
        for j in range(16):
            c[i + j] = w[o + 4 + j] & LOW
            c[i + 16 + j] = w[o + 4 + j] >> FOUR

def spread():
    "The eight bits of each byte, as 0 or 16."
    bits = np.empty(2048, np.uint8)
    for v in range(256):
        for j in range(8): bits[8 * v + j] = np.uint8(((v >> j) & 1) << 4)
    return bits

def split_q5_0(w, c, bits):
    for b in range(c.shape[0] >> 5):
        i = b << 5
        o = (b << 4) + (b << 2) + (b << 1)
        #omp simd
        for j in range(16):
            c[i + j] = w[o + 6 + j] & LOW
            c[i + 16 + j] = w[o + 6 + j] >> FOUR
        for h in range(4):          # fifth bits, eight codes a byte
            v = np.int64(w[o + 2 + h]) << 3
            u = i + (h << 3)
            #omp simd
            for j in range(8): c[u + j] |= bits[v + j]

def heads_q4_0(w, d, m, p):
    for b in range(d.shape[0]):
        o = (b << 4) + (b << 1)
        lo = w[o]
        hi = w[o + 1]
        d[b] = half(lo, hi, p)

def heads_q4_1(w, d, m, p):
    for b in range(d.shape[0]):
        o = (b << 4) + (b << 2)
        lo = w[o]
        hi = w[o + 1]
        d[b] = half(lo, hi, p)
        ml = w[o + 2]
        mh = w[o + 3]
        m[b] = half(ml, mh, p)

def heads_q5_0(w, d, m, p):
    for b in range(d.shape[0]):
        o = (b << 4) + (b << 2) + (b << 1)
        lo = w[o]
        hi = w[o + 1]
        d[b] = half(lo, hi, p)

def by_rows(split, heads, zero, bits, w, q, s, t, y, n):
    "Codes of a row are split once, into memory that the nearest cache holds, for all rows of x."
    p = powers()
    rows = q.shape[0]
    size = q.shape[1]
    #omp parallel for firstprivate(rows, size, zero, n)
    for g in range((w.shape[0] + TASK - 1) // TASK):
        c = np.empty(size, np.uint8)
        d = np.zeros(size >> 5, np.float32)
        m = np.zeros(size >> 5, np.float32)
        e = np.empty(size >> 5, np.int32)
        for i in range(TASK * g, min(w.shape[0], TASK * g + TASK)):
            split(w[i], c, bits)
            heads(w[i], d, m, p)
            for r in range(rows):
                sums_32(c, q[r], e, n)
                y[r, i] = finish(d, m, e, s[r], t[r], zero)

#pythran export dot_q4_0(uint8[:,:] order(C), int16[:,:] order(C), float32[:,:] order(C),
#                        int32[:,:] order(C), float32[:,:] order(C))
def dot_q4_0(w, q, s, t, y): by_rows(split_q4_0, heads_q4_0, np.float32(8), np.empty(0, np.uint8), w, q, s, t, y, 32)

#pythran export dot_q4_1(uint8[:,:] order(C), int16[:,:] order(C), float32[:,:] order(C),
#                        int32[:,:] order(C), float32[:,:] order(C))
def dot_q4_1(w, q, s, t, y): by_rows(split_q4_1, heads_q4_1, np.float32(0), np.empty(0, np.uint8), w, q, s, t, y, 32)

#pythran export dot_q5_0(uint8[:,:] order(C), int16[:,:] order(C), float32[:,:] order(C),
#                        int32[:,:] order(C), float32[:,:] order(C))
def dot_q5_0(w, q, s, t, y): by_rows(split_q5_0, heads_q5_0, np.float32(16), spread(), w, q, s, t, y, 32)


# 256 numbers a block

def row_q4_k(w, x, s, t, p, n, pair):
    y = ZERO
    for b in range(s.shape[0]):
        o = (b << 7) + (b << 4)
        c = np.int32(0)
        m = np.int32(0)
        for g in range(pair):       # groups 2g, 2g+1 and 2g+4, 2g+5: low and high nibbles of 32 bytes
            a = o + 16 + (g << 5)
            i = (b << 8) + (g << 6)
            c0 = np.int32(0)
            c1 = np.int32(0)
            c2 = np.int32(0)
            c3 = np.int32(0)
            for j in range(n): c0 += np.int32(w[a + j] & LOW) * np.int32(x[i + j])
            for j in range(n): c1 += np.int32(w[a + j] >> FOUR) * np.int32(x[i + 32 + j])
            for j in range(n): c2 += np.int32(w[a + 64 + j] & LOW) * np.int32(x[i + 128 + j])
            for j in range(n): c3 += np.int32(w[a + 64 + j] >> FOUR) * np.int32(x[i + 160 + j])
            e = o + 4 + (g << 1)
            s0 = w[e]
            s1 = w[e + 1]
            m0 = w[e + 4]
            m1 = w[e + 5]
            r0 = w[e + 8]
            r1 = w[e + 9]
            k = (b << 4) + (g << 2)
            c += np.int32(s0 & np.uint8(63)) * c0 + np.int32(s1 & np.uint8(63)) * c1
            c += (np.int32(r0 & LOW) | ((np.int32(s0) >> 6) << 4)) * c2 + (
                np.int32(r1 & LOW) | ((np.int32(s1) >> 6) << 4)) * c3
            m += np.int32(m0 & np.uint8(63)) * (t[k] + t[k + 1]) + np.int32(m1 & np.uint8(63)) * (t[k + 2] + t[k + 3])
            m += (np.int32(r0 >> FOUR) | ((np.int32(m0) >> 6) << 4)) * (t[k + 8] + t[k + 9]) + (
                np.int32(r1 >> FOUR) | ((np.int32(m1) >> 6) << 4)) * (t[k + 10] + t[k + 11])
        lo = w[o]
        hi = w[o + 1]
        ml = w[o + 2]
        mh = w[o + 3]
        y += (half(lo, hi, p) * np.float32(c) - half(ml, mh, p) * np.float32(m)) * s[b]
    return y

#pythran export dot_q4_k(uint8[:,:] order(C), int16[:,:] order(C), float32[:,:] order(C),
#                        int32[:,:] order(C), float32[:,:] order(C))
def dot_q4_k(w, q, s, t, y):
    p = powers()
    rows = q.shape[0]
    #omp parallel for firstprivate(rows)
    for i in range(w.shape[0]):
        for r in range(rows): y[r, i] = row_q4_k(w[i], q[r], s[r], t[r], p, 32, 2)


def row_q5_k(w, x, s, t, p, n, pair):
    y = ZERO
    for b in range(s.shape[0]):
        o = (b << 7) + (b << 5) + (b << 4)
        c = np.int32(0)
        m = np.int32(0)
        for g in range(pair):
            a = o + 48 + (g << 5)
            h = o + 16
            i = (b << 8) + (g << 6)
            u = np.uint8(2 * g)
            c0 = np.int32(0)
            c1 = np.int32(0)
            c2 = np.int32(0)
            c3 = np.int32(0)
            for j in range(n):
                c0 += np.int32(
                    (w[a + j] & LOW) | (((w[h + j] >> u) & np.uint8(1)) << FOUR)) * np.int32(x[i + j])
            for j in range(n):
                c1 += np.int32((w[a + j] >> FOUR) | (((w[h + j] >> u) & np.uint8(2)) << np.uint8(3))) * np.int32(
                    x[i + 32 + j])
            for j in range(n):
                c2 += np.int32(
                    (w[a + 64 + j] & LOW) | ((w[h + j] >> u) & np.uint8(16))) * np.int32(x[i + 128 + j])
            for j in range(n):
                c3 += np.int32(
                    (w[a + 64 + j] >> FOUR)
                    | (((w[h + j] >> u) & np.uint8(32)) >> np.uint8(1))) * np.int32(x[i + 160 + j])
            e = o + 4 + (g << 1)
            s0 = w[e]
            s1 = w[e + 1]
            m0 = w[e + 4]
            m1 = w[e + 5]
            r0 = w[e + 8]
            r1 = w[e + 9]
            k = (b << 4) + (g << 2)
            c += np.int32(s0 & np.uint8(63)) * c0 + np.int32(s1 & np.uint8(63)) * c1
            c += (np.int32(r0 & LOW) | ((np.int32(s0) >> 6) << 4)) * c2 + (
                np.int32(r1 & LOW) | ((np.int32(s1) >> 6) << 4)) * c3
            m += np.int32(m0 & np.uint8(63)) * (t[k] + t[k + 1]) + np.int32(m1 & np.uint8(63)) * (t[k + 2] + t[k + 3])
            m += (np.int32(r0 >> FOUR) | ((np.int32(m0) >> 6) << 4)) * (t[k + 8] + t[k + 9]) + (
                np.int32(r1 >> FOUR) | ((np.int32(m1) >> 6) << 4)) * (t[k + 10] + t[k + 11])
        lo = w[o]
        hi = w[o + 1]
        ml = w[o + 2]
        mh = w[o + 3]
        y += (half(lo, hi, p) * np.float32(c) - half(ml, mh, p) * np.float32(m)) * s[b]
    return y

#pythran export dot_q5_k(uint8[:,:] order(C), int16[:,:] order(C), float32[:,:] order(C),
#                        int32[:,:] order(C), float32[:,:] order(C))
def dot_q5_k(w, q, s, t, y):
    p = powers()
    rows = q.shape[0]
    #omp parallel for firstprivate(rows)
    for i in range(w.shape[0]):
        for r in range(rows): y[r, i] = row_q5_k(w[i], q[r], s[r], t[r], p, 32, 2)


def split_q6_k(w, c, eight):
    "Codes times their scales: 16 bits hold -32 times -128, and a block has one sum."
    for b in range(c.shape[0] >> 8):
        o = (b << 7) + (b << 6) + (b << 4) + (b << 1)
        for g in range(eight):          # 16 of each of four runs of 32, two times in each 128 numbers
            m = g >> 1
            h = g & 1
            u = o + (m << 6) + (h << 4)             # low bits of runs 0 and 2; of 1 and 3 further on by 32
            v = o + 128 + (m << 5) + (h << 4)       # high bits of all four
            i = (b << 8) + (m << 7) + (h << 4)
            e = o + 192 + (m << 3) + h
            d0 = np.int16(np.int8(w[e]))
            d1 = np.int16(np.int8(w[e + 2]))
            d2 = np.int16(np.int8(w[e + 4]))
            d3 = np.int16(np.int8(w[e + 6]))
            #omp simd
            for j in range(16):
                c[i + j] = np.int16(d0 * np.int16(
                    np.int16((w[u + j] & LOW) | ((w[v + j] & np.uint8(3)) << FOUR)) - TOP))
            #omp simd
            for j in range(16):
                c[i + 32 + j] = np.int16(d1 * np.int16(
                    np.int16((w[u + 32 + j] & LOW) | ((w[v + j] & np.uint8(12)) << np.uint8(2))) - TOP))
            #omp simd
            for j in range(16):
                c[i + 64 + j] = np.int16(d2 * np.int16(
                    np.int16((w[u + j] >> FOUR) | (w[v + j] & np.uint8(48))) - TOP))
            #omp simd
            for j in range(16):
                c[i + 96 + j] = np.int16(d3 * np.int16(
                    np.int16((w[u + 32 + j] >> FOUR) | ((w[v + j] & np.uint8(192)) >> np.uint8(2))) - TOP))

def row_q6_k(w, codes, x, s, p, n):
    y = ZERO
    for b in range(s.shape[0]):
        o = (b << 7) + (b << 6) + (b << 4) + (b << 1)
        i = b << 8
        c = np.int32(0)
        for j in range(n): c += np.int32(codes[i + j]) * np.int32(x[i + j])
        lo = w[o + 208]
        hi = w[o + 209]
        y += half(lo, hi, p) * s[b] * np.float32(c)
    return y

#pythran export dot_q6_k(uint8[:,:] order(C), int16[:,:] order(C), float32[:,:] order(C),
#                        int32[:,:] order(C), float32[:,:] order(C))
def dot_q6_k(w, q, s, t, y):
    p = powers()
    rows = q.shape[0]
    #omp parallel for firstprivate(rows)
    for g in range((w.shape[0] + TASK - 1) // TASK):
        c = np.empty(q.shape[1], np.int16)
        for i in range(TASK * g, min(w.shape[0], TASK * g + TASK)):
            split_q6_k(w[i], c, 4)
            for r in range(rows): y[r, i] = row_q6_k(w[i], c, q[r], s[r], p, 256)


# packed planes: four rows side by side

def four_32(w, d, x, s, y, n):
    a0 = ZERO
    a1 = ZERO
    a2 = ZERO
    a3 = ZERO
    for b in range(s.shape[0]):
        o = b << 7
        i = b << 5
        k = b << 2
        c0 = np.int32(0)
        c1 = np.int32(0)
        c2 = np.int32(0)
        c3 = np.int32(0)
        for j in range(n): c0 += np.int32(w[o + j]) * np.int32(x[i + j])
        for j in range(n): c1 += np.int32(w[o + 32 + j]) * np.int32(x[i + j])
        for j in range(n): c2 += np.int32(w[o + 64 + j]) * np.int32(x[i + j])
        for j in range(n): c3 += np.int32(w[o + 96 + j]) * np.int32(x[i + j])
        z = s[b]
        a0 += d[k] * z * np.float32(c0)
        a1 += d[k + 1] * z * np.float32(c1)
        a2 += d[k + 2] * z * np.float32(c2)
        a3 += d[k + 3] * z * np.float32(c3)
    y[0] += a0
    y[1] += a1
    y[2] += a2
    y[3] += a3

def four_16(w, d, x, s, y, n):
    a0 = ZERO
    a1 = ZERO
    a2 = ZERO
    a3 = ZERO
    for b in range(s.shape[0]):
        o = b << 6
        i = b << 4
        k = b << 2
        c0 = np.int32(0)
        c1 = np.int32(0)
        c2 = np.int32(0)
        c3 = np.int32(0)
        for j in range(n): c0 += np.int32(w[o + j]) * np.int32(x[i + j])
        for j in range(n): c1 += np.int32(w[o + 16 + j]) * np.int32(x[i + j])
        for j in range(n): c2 += np.int32(w[o + 32 + j]) * np.int32(x[i + j])
        for j in range(n): c3 += np.int32(w[o + 48 + j]) * np.int32(x[i + j])
        z = s[b]
        a0 += d[k] * z * np.float32(c0)
        a1 += d[k + 1] * z * np.float32(c1)
        a2 += d[k + 2] * z * np.float32(c2)
        a3 += d[k + 3] * z * np.float32(c3)
    y[0] += a0
    y[1] += a1
    y[2] += a2
    y[3] += a3

def four_low(l, s, t, y):
    "The share of the offsets: offset times sum of x."
    a0 = ZERO
    a1 = ZERO
    a2 = ZERO
    a3 = ZERO
    for b in range(s.shape[0]):
        k = b << 2
        z = s[b] * np.float32(t[b])
        a0 += l[k] * z
        a1 += l[k + 1] * z
        a2 += l[k + 2] * z
        a3 += l[k + 3] * z
    y[0] = a0
    y[1] = a1
    y[2] = a2
    y[3] = a3

#pythran export dot_planes(int8[:,:,:,:] order(C), float32[:,:,:] order(C), int16[:,:] order(C),
#                          float32[:,:] order(C), int32[:,:] order(C), float32[:,:] order(C))
def dot_planes(code, scale, q, s, t, y):
    size = code.shape[3]
    w = code.reshape(code.shape[0], code.shape[1] * 4 * size)
    d = scale.reshape(code.shape[0], code.shape[1] * 4)
    n = min(16, q.shape[1])
    rows = q.shape[0]
    #omp parallel for firstprivate(n, rows, size)
    for g in range(w.shape[0]):
        for r in range(rows):
            four = np.zeros(4, np.float32)
            if size == 32: four_32(w[g], d[g], q[r], s[r], four, 32)
            else: four_16(w[g], d[g], q[r], s[r], four, n)
            for k in range(4): y[r, 4 * g + k] = four[k]

#pythran export dot_planes_low(int8[:,:,:,:] order(C), float32[:,:,:] order(C),
#                              float32[:,:,:] order(C), int16[:,:] order(C),
#                              float32[:,:] order(C), int32[:,:] order(C), float32[:,:] order(C))
def dot_planes_low(code, scale, low, q, s, t, y):
    size = code.shape[3]
    w = code.reshape(code.shape[0], code.shape[1] * 4 * size)
    d = scale.reshape(code.shape[0], code.shape[1] * 4)
    l = low.reshape(code.shape[0], code.shape[1] * 4)
    n = min(16, q.shape[1])
    rows = q.shape[0]
    #omp parallel for firstprivate(n, rows, size)
    for g in range(w.shape[0]):
        for r in range(rows):
            four = np.zeros(4, np.float32)
            four_low(l[g], s[r], t[r], four)
            if size == 32: four_32(w[g], d[g], q[r], s[r], four, 32)
            else: four_16(w[g], d[g], q[r], s[r], four, n)
            for k in range(4): y[r, 4 * g + k] = four[k]
