"""Quantised blocks back to numbers, a few thousand numbers at a time.

How the loops are written. A run of 32 has the length `n`: a literal would be unrolled by Pythran. A run of 16 is a
literal under `#omp simd`, which nobody unrolls: without it g++ takes vectors of 32 bytes, finds 16, and goes one by
one. An index that Pythran can prove positive needs no test for its sign, so offsets are shifts. Codes become floats
before anything is subtracted: `np.int32(c) - 8` is 64 bits wide."""
# compile with: -mprefer-vector-width=256
import numpy as np
from ._halves import half, long_powers, powers, single

CHUNK = 8192        # numbers
FEW = 1 << 20       # numbers that one thread unpacks sooner than two would meet
LOW = np.uint8(15)
FOUR = np.uint8(4)
EIGHT = np.float32(8)


def q8_0(w, y, p, n):
    for b in range(y.shape[0] >> 5):
        i = b << 5
        o = i + (b << 1)
        lo = w[o]
        hi = w[o + 1]
        d = half(lo, hi, p)
        for j in range(n): y[i + j] = d * np.float32(np.int8(w[o + 2 + j]))

def q4_0(w, y, p, n):
    for b in range(y.shape[0] >> 5):
        i = b << 5
        o = (b << 4) + (b << 1)
        lo = w[o]
        hi = w[o + 1]
        d = half(lo, hi, p)
        #omp simd
        for j in range(16): y[i + j] = d * (np.float32(w[o + 2 + j] & LOW) - EIGHT)
        #omp simd
        for j in range(16): y[i + 16 + j] = d * (np.float32(w[o + 2 + j] >> FOUR) - EIGHT)

def q4_1(w, y, p, n):
    for b in range(y.shape[0] >> 5):
        i = b << 5
        o = (b << 4) + (b << 2)
        lo = w[o]
        hi = w[o + 1]
        d = half(lo, hi, p)
        ml = w[o + 2]
        mh = w[o + 3]
        m = half(ml, mh, p)
        #omp simd
        for j in range(16): y[i + j] = d * np.float32(w[o + 4 + j] & LOW) + m
        #omp simd
        for j in range(16): y[i + 16 + j] = d * np.float32(w[o + 4 + j] >> FOUR) + m

def q5_0(w, y, p, n):
    for b in range(y.shape[0] >> 5):
        i = b << 5
        o = (b << 4) + (b << 2) + (b << 1)
        lo = w[o]
        hi = w[o + 1]
        d = half(lo, hi, p)
        h0 = np.int32(w[o + 2]) | (np.int32(w[o + 3]) << 8)     # fifth bits of codes 0 .. 15, then 16 .. 31
        h1 = np.int32(w[o + 4]) | (np.int32(w[o + 5]) << 8)
        #omp simd
        for j in range(16):
            y[i + j] = d * np.float32(np.int32(np.int32(w[o + 6 + j] & LOW) | (((h0 >> j) & 1) << 4)) - np.int32(16))
        #omp simd
        for j in range(16):
            y[i + 16 + j] = d * np.float32(
                np.int32(np.int32(w[o + 6 + j] >> FOUR) | (((h1 >> j) & 1) << 4)) - np.int32(16))


def scales(w, o, e, f):
    "Eight scales and eight offsets of 6 bits in the 12 bytes from o on, into e and f."
    for j in range(4):
        a = np.int32(w[o + j])
        b = np.int32(w[o + 4 + j])
        r = np.int32(w[o + 8 + j])
        e[j] = np.float32(a & 63)
        f[j] = np.float32(b & 63)
        e[j + 4] = np.float32((r & 15) | ((a >> 6) << 4))
        f[j + 4] = np.float32((r >> 4) | ((b >> 6) << 4))

def q4_k(w, y, p, n):
    e = np.empty(8, np.float32)
    f = np.empty(8, np.float32)
    for b in range(y.shape[0] >> 8):
        o = (b << 7) + (b << 4)
        lo = w[o]
        hi = w[o + 1]
        d = half(lo, hi, p)
        ml = w[o + 2]
        mh = w[o + 3]
        m = half(ml, mh, p)
        scales(w, o + 4, e, f)
        for g in range(n >> 3):         # 4 times 64 numbers
            i = (b << 8) + (g << 6)
            a = o + 16 + (g << 5)
            d0 = np.float32(d * e[2 * g])
            m0 = np.float32(m * f[2 * g])
            d1 = np.float32(d * e[2 * g + 1])
            m1 = np.float32(m * f[2 * g + 1])
            for j in range(n): y[i + j] = d0 * np.float32(w[a + j] & LOW) - m0
            for j in range(n): y[i + 32 + j] = d1 * np.float32(w[a + j] >> FOUR) - m1

def q5_k(w, y, p, n):
    e = np.empty(8, np.float32)
    f = np.empty(8, np.float32)
    for b in range(y.shape[0] >> 8):
        o = (b << 7) + (b << 5) + (b << 4)
        lo = w[o]
        hi = w[o + 1]
        d = half(lo, hi, p)
        ml = w[o + 2]
        mh = w[o + 3]
        m = half(ml, mh, p)
        scales(w, o + 4, e, f)
        h = o + 16
        for g in range(n >> 3):         # 4 times 64 numbers
            i = (b << 8) + (g << 6)
            a = o + 48 + (g << 5)
            u = np.uint8(2 * g)
            d0 = np.float32(d * e[2 * g])
            m0 = np.float32(m * f[2 * g])
            d1 = np.float32(d * e[2 * g + 1])
            m1 = np.float32(m * f[2 * g + 1])
            for j in range(n):
                y[i + j] = d0 * np.float32(
                    (w[a + j] & LOW) | (((w[h + j] >> u) & np.uint8(1)) << FOUR)) - m0
            for j in range(n):
                y[i + 32 + j] = d1 * np.float32(
                    (w[a + j] >> FOUR) | (((w[h + j] >> u) & np.uint8(2)) << np.uint8(3))) - m1

def q6_k(w, y, p, n):
    top = np.float32(32)
    for b in range(y.shape[0] >> 8):
        o = (b << 7) + (b << 6) + (b << 4) + (b << 1)
        lo = w[o + 208]
        hi = w[o + 209]
        d = half(lo, hi, p)
        for t in range(n >> 3):         # 4 times 16 of each of four runs of 32, two times in each 128 numbers
            g = t >> 1
            h = t & 1
            u = o + (g << 6) + (h << 4)
            v = o + 128 + (g << 5) + (h << 4)
            i = (b << 8) + (g << 7) + (h << 4)
            e = o + 192 + (g << 3) + h
            d0 = np.float32(d * np.float32(np.int8(w[e])))
            d1 = np.float32(d * np.float32(np.int8(w[e + 2])))
            d2 = np.float32(d * np.float32(np.int8(w[e + 4])))
            d3 = np.float32(d * np.float32(np.int8(w[e + 6])))
            #omp simd
            for j in range(16):
                y[i + j] = d0 * (np.float32((w[u + j] & LOW) | ((w[v + j] & np.uint8(3)) << FOUR)) - top)
            #omp simd
            for j in range(16):
                y[i + 32 + j] = d1 * (
                    np.float32((w[u + 32 + j] & LOW) | ((w[v + j] & np.uint8(12)) << np.uint8(2))) - top)
            #omp simd
            for j in range(16):
                y[i + 64 + j] = d2 * (np.float32((w[u + j] >> FOUR) | (w[v + j] & np.uint8(48))) - top)
            #omp simd
            for j in range(16):
                y[i + 96 + j] = d3 * (
                    np.float32((w[u + 32 + j] >> FOUR) | ((w[v + j] & np.uint8(192)) >> np.uint8(2))) - top)

def int8_row(w, y, p, n):
    for b in range(y.shape[0] >> 5):
        i = b << 5
        o = i + (b << 2)
        b0 = w[o]
        b1 = w[o + 1]
        b2 = w[o + 2]
        b3 = w[o + 3]
        d = single(b0, b1, b2, b3, p)
        for j in range(n): y[i + j] = d * np.float32(np.int8(w[o + 4 + j]))

def int4_64(w, y, p, n):
    for b in range(y.shape[0] >> 6):
        i = b << 6
        o = (b << 5) + (b << 2)
        b0 = w[o]
        b1 = w[o + 1]
        b2 = w[o + 2]
        b3 = w[o + 3]
        d = single(b0, b1, b2, b3, p)
        for j in range(n): y[i + j] = d * (np.float32(w[o + 4 + j] & LOW) - EIGHT)
        for j in range(n): y[i + 32 + j] = d * (np.float32(w[o + 4 + j] >> FOUR) - EIGHT)


def in_pieces(un, p, b, y):
    size = y.shape[1]
    per = CHUNK // size
    total = b.shape[0]
    wide = b.shape[1]
    w = b.reshape(total * wide)
    z = y.reshape(total * size)
    many = total * size > FEW
    #omp parallel for if(many) firstprivate(total, size, wide, per)
    for c in range((total + per - 1) // per):
        lo = c * per
        hi = min(total, lo + per)
        un(w[wide * lo:wide * hi], z[size * lo:size * hi], p, 32)

#pythran export floats_q8_0(uint8[:,:] order(C), float32[:,:] order(C))
def floats_q8_0(b, y): in_pieces(q8_0, powers(), b, y)

#pythran export floats_q4_0(uint8[:,:] order(C), float32[:,:] order(C))
def floats_q4_0(b, y): in_pieces(q4_0, powers(), b, y)

#pythran export floats_q4_1(uint8[:,:] order(C), float32[:,:] order(C))
def floats_q4_1(b, y): in_pieces(q4_1, powers(), b, y)

#pythran export floats_q5_0(uint8[:,:] order(C), float32[:,:] order(C))
def floats_q5_0(b, y): in_pieces(q5_0, powers(), b, y)

#pythran export floats_q4_k(uint8[:,:] order(C), float32[:,:] order(C))
def floats_q4_k(b, y): in_pieces(q4_k, powers(), b, y)

#pythran export floats_q5_k(uint8[:,:] order(C), float32[:,:] order(C))
def floats_q5_k(b, y): in_pieces(q5_k, powers(), b, y)

#pythran export floats_q6_k(uint8[:,:] order(C), float32[:,:] order(C))
def floats_q6_k(b, y): in_pieces(q6_k, powers(), b, y)

#pythran export floats_int8_row(uint8[:,:] order(C), float32[:,:] order(C))
def floats_int8_row(b, y): in_pieces(int8_row, long_powers(), b, y)

#pythran export floats_int4_64(uint8[:,:] order(C), float32[:,:] order(C))
def floats_int4_64(b, y): in_pieces(int4_64, long_powers(), b, y)


def four_rows(w, d, m, y0, y1, y2, y3, size):
    for b in range(d.shape[0] // 4):
        for j in range(size):
            y0[b * size + j] = d[4 * b] * np.float32(w[(4 * b) * size + j]) + m[4 * b]
            y1[b * size + j] = d[4 * b + 1] * np.float32(w[(4 * b + 1) * size + j]) + m[4 * b + 1]
            y2[b * size + j] = d[4 * b + 2] * np.float32(w[(4 * b + 2) * size + j]) + m[4 * b + 2]
            y3[b * size + j] = d[4 * b + 3] * np.float32(w[(4 * b + 3) * size + j]) + m[4 * b + 3]

def four_rows_32(w, d, m, y0, y1, y2, y3, n):
    for b in range(d.shape[0] >> 2):
        o = b << 7
        i = b << 5
        k = b << 2
        d0 = d[k]
        d1 = d[k + 1]
        d2 = d[k + 2]
        d3 = d[k + 3]
        m0 = m[k]
        m1 = m[k + 1]
        m2 = m[k + 2]
        m3 = m[k + 3]
        for j in range(n): y0[i + j] = d0 * np.float32(w[o + j]) + m0
        for j in range(n): y1[i + j] = d1 * np.float32(w[o + 32 + j]) + m1
        for j in range(n): y2[i + j] = d2 * np.float32(w[o + 64 + j]) + m2
        for j in range(n): y3[i + j] = d3 * np.float32(w[o + 96 + j]) + m3

#pythran export unpack_planes(int8[:,:,:,:] order(C), float32[:,:,:] order(C),
#                             float32[:,:,:] order(C), float32[:,:] order(C))
def unpack_planes(code, scale, low, y):
    size = code.shape[3]
    w = code.reshape(code.shape[0], code.shape[1] * 4 * size)
    d = scale.reshape(code.shape[0], code.shape[1] * 4)
    m = low.reshape(code.shape[0], code.shape[1] * 4)
    #omp parallel for firstprivate(size)
    for g in range(w.shape[0]):
        if size == 32: four_rows_32(w[g], d[g], m[g], y[4 * g], y[4 * g + 1], y[4 * g + 2], y[4 * g + 3], 32)
        else: four_rows(w[g], d[g], m[g], y[4 * g], y[4 * g + 1], y[4 * g + 2], y[4 * g + 3], size)
