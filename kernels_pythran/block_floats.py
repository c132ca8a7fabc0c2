"""Quantised blocks back to numbers, 256 blocks at a time. How the loops are written: see blocks.py."""
import numpy as np
from ._halves import half, powers

CHUNK = 256
LOW = np.uint8(15)
FOUR = np.uint8(4)


def q8_0(w, y, p, nb, n):
    for b in range(nb):
        i = b << 5
        o = i + (b << 1)
        lo = w[o]
        hi = w[o + 1]
        d = half(lo, hi, p)
        for j in range(n): y[i + j] = d * np.float32(np.int8(w[o + 2 + j]))

#pythran export floats_q8_0(uint8[:,:] order(C), float32[:,:] order(C))
def floats_q8_0(b, y):
    p = powers()
    total = b.shape[0]
    w = b.reshape(total * 34)
    z = y.reshape(total * 32)
    #omp parallel for firstprivate(total)
    for c in range((total + CHUNK - 1) // CHUNK):
        lo = c * CHUNK
        hi = min(total, lo + CHUNK)
        q8_0(w[34 * lo:34 * hi], z[32 * lo:32 * hi], p, hi - lo, 32)


def q4_0(w, y, p, nb, n):
    for b in range(nb):
        i = b << 5
        o = (b << 4) + (b << 1)
        lo = w[o]
        hi = w[o + 1]
        d = half(lo, hi, p)
        for j in range(n): y[i + j] = d * np.float32(np.int32(w[o + 2 + j] & LOW) - 8)
        for j in range(n): y[i + 16 + j] = d * np.float32(np.int32(w[o + 2 + j] >> FOUR) - 8)

#pythran export floats_q4_0(uint8[:,:] order(C), float32[:,:] order(C))
def floats_q4_0(b, y):
    p = powers()
    total = b.shape[0]
    n = min(16, y.shape[1])
    w = b.reshape(total * 18)
    z = y.reshape(total * 32)
    #omp parallel for firstprivate(total, n)
    for c in range((total + CHUNK - 1) // CHUNK):
        lo = c * CHUNK
        hi = min(total, lo + CHUNK)
        q4_0(w[18 * lo:18 * hi], z[32 * lo:32 * hi], p, hi - lo, n)


def q4_1(w, y, p, nb, n):
    for b in range(nb):
        i = b << 5
        o = (b << 4) + (b << 2)
        lo = w[o]
        hi = w[o + 1]
        d = half(lo, hi, p)
        ml = w[o + 2]
        mh = w[o + 3]
        m = half(ml, mh, p)
        for j in range(n): y[i + j] = d * np.float32(w[o + 4 + j] & LOW) + m
        for j in range(n): y[i + 16 + j] = d * np.float32(w[o + 4 + j] >> FOUR) + m

#pythran export floats_q4_1(uint8[:,:] order(C), float32[:,:] order(C))
def floats_q4_1(b, y):
    p = powers()
    total = b.shape[0]
    n = min(16, y.shape[1])
    w = b.reshape(total * 20)
    z = y.reshape(total * 32)
    #omp parallel for firstprivate(total, n)
    for c in range((total + CHUNK - 1) // CHUNK):
        lo = c * CHUNK
        hi = min(total, lo + CHUNK)
        q4_1(w[20 * lo:20 * hi], z[32 * lo:32 * hi], p, hi - lo, n)


def q5_0(w, y, p, nb, n):
    for b in range(nb):
        i = b << 5
        o = (b << 4) + (b << 2) + (b << 1)
        lo = w[o]
        hi = w[o + 1]
        d = half(lo, hi, p)
        h0 = np.int32(w[o + 2]) | (np.int32(w[o + 3]) << 8)
        h1 = np.int32(w[o + 4]) | (np.int32(w[o + 5]) << 8)
        for j in range(n): y[i + j] = d * np.float32((np.int32(w[o + 6 + j] & LOW) | (((h0 >> j) & 1) << 4)) - 16)
        for j in range(n):
            y[i + 16 + j] = d * np.float32((np.int32(w[o + 6 + j] >> FOUR) | (((h1 >> j) & 1) << 4)) - 16)

#pythran export floats_q5_0(uint8[:,:] order(C), float32[:,:] order(C))
def floats_q5_0(b, y):
    p = powers()
    total = b.shape[0]
    n = min(16, y.shape[1])
    w = b.reshape(total * 22)
    z = y.reshape(total * 32)
    #omp parallel for firstprivate(total, n)
    for c in range((total + CHUNK - 1) // CHUNK):
        lo = c * CHUNK
        hi = min(total, lo + CHUNK)
        q5_0(w[22 * lo:22 * hi], z[32 * lo:32 * hi], p, hi - lo, n)


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

def q4_k(w, y, p, nb, n, four, e, f):
    for b in range(nb):
        o = (b << 7) + (b << 4)
        lo = w[o]
        hi = w[o + 1]
        d = half(lo, hi, p)
        ml = w[o + 2]
        mh = w[o + 3]
        m = half(ml, mh, p)
        scales(w, o + 4, e, f)
        for g in range(four):
            i = (b << 8) + (g << 6)
            a = o + 16 + (g << 5)
            d0 = np.float32(d * e[2 * g])
            m0 = np.float32(m * f[2 * g])
            d1 = np.float32(d * e[2 * g + 1])
            m1 = np.float32(m * f[2 * g + 1])
            for j in range(n): y[i + j] = d0 * np.float32(w[a + j] & LOW) - m0
            for j in range(n): y[i + 32 + j] = d1 * np.float32(w[a + j] >> FOUR) - m1

#pythran export floats_q4_k(uint8[:,:] order(C), float32[:,:] order(C))
def floats_q4_k(b, y):
    p = powers()
    total = b.shape[0]
    w = b.reshape(total * 144)
    z = y.reshape(total * 256)
    #omp parallel for firstprivate(total)
    for c in range((total + 31) // 32):
        lo = c * 32
        hi = min(total, lo + 32)
        q4_k(w[144 * lo:144 * hi], z[256 * lo:256 * hi], p, hi - lo, 32, 4,
             np.empty(8, np.float32), np.empty(8, np.float32))


def q5_k(w, y, p, nb, n, four, e, f):
    for b in range(nb):
        o = (b << 7) + (b << 5) + (b << 4)
        lo = w[o]
        hi = w[o + 1]
        d = half(lo, hi, p)
        ml = w[o + 2]
        mh = w[o + 3]
        m = half(ml, mh, p)
        scales(w, o + 4, e, f)
        h = o + 16
        for g in range(four):
            i = (b << 8) + (g << 6)
            a = o + 48 + (g << 5)
            u = 2 * g
            d0 = np.float32(d * e[2 * g])
            m0 = np.float32(m * f[2 * g])
            d1 = np.float32(d * e[2 * g + 1])
            m1 = np.float32(m * f[2 * g + 1])
            for j in range(n):
                y[i + j] = d0 * np.float32(
                    np.int32(w[a + j] & LOW) | (((np.int32(w[h + j]) >> u) & 1) << 4)) - m0
            for j in range(n):
                y[i + 32 + j] = d1 * np.float32(
                    np.int32(w[a + j] >> FOUR) | (((np.int32(w[h + j]) >> u) & 2) << 3)) - m1

#pythran export floats_q5_k(uint8[:,:] order(C), float32[:,:] order(C))
def floats_q5_k(b, y):
    p = powers()
    total = b.shape[0]
    w = b.reshape(total * 176)
    z = y.reshape(total * 256)
    #omp parallel for firstprivate(total)
    for c in range((total + 31) // 32):
        lo = c * 32
        hi = min(total, lo + 32)
        q5_k(w[176 * lo:176 * hi], z[256 * lo:256 * hi], p, hi - lo, 32, 4,
             np.empty(8, np.float32), np.empty(8, np.float32))


def q6_k(w, y, p, nb, n, pair):
    for b in range(nb):
        o = (b << 7) + (b << 6) + (b << 4) + (b << 1)
        lo = w[o + 208]
        hi = w[o + 209]
        d = half(lo, hi, p)
        for g in range(pair):           # 128 numbers
            for h in range(pair):       # 16 of each of four runs of 32
                u = o + (g << 6) + (h << 4)
                v = o + 128 + (g << 5) + (h << 4)
                i = (b << 8) + (g << 7) + (h << 4)
                e = o + 192 + (g << 3) + h
                d0 = np.float32(d * np.float32(np.int8(w[e])))
                d1 = np.float32(d * np.float32(np.int8(w[e + 2])))
                d2 = np.float32(d * np.float32(np.int8(w[e + 4])))
                d3 = np.float32(d * np.float32(np.int8(w[e + 6])))
                for j in range(n):
                    y[i + j] = d0 * np.float32(
                        (np.int32(w[u + j] & LOW) | (np.int32(w[v + j] & np.uint8(3)) << 4)) - 32)
                for j in range(n):
                    y[i + 32 + j] = d1 * np.float32(
                        (np.int32(w[u + 32 + j] & LOW) | (np.int32(w[v + j] & np.uint8(12)) << 2)) - 32)
                for j in range(n):
                    y[i + 64 + j] = d2 * np.float32(
                        (np.int32(w[u + j] >> FOUR) | np.int32(w[v + j] & np.uint8(48))) - 32)
                for j in range(n):
                    y[i + 96 + j] = d3 * np.float32(
                        (np.int32(w[u + 32 + j] >> FOUR) | (np.int32(w[v + j]) >> 6 << 4)) - 32)

#pythran export floats_q6_k(uint8[:,:] order(C), float32[:,:] order(C))
def floats_q6_k(b, y):
    p = powers()
    total = b.shape[0]
    n = min(16, y.shape[1])
    w = b.reshape(total * 210)
    z = y.reshape(total * 256)
    #omp parallel for firstprivate(total, n)
    for c in range((total + 31) // 32):
        lo = c * 32
        hi = min(total, lo + 32)
        q6_k(w[210 * lo:210 * hi], z[256 * lo:256 * hi], p, hi - lo, n, 2)


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
