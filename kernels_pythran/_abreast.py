"""Several rows of x times a weight that was repacked: what is unpacked once serves them all.

Each row gets what `_lanes` would give it alone, its sums in the same order. A block of 32 numbers of 32 rows is
unpacked into memory that the nearest cache holds, as numbers or as codes of 16 bits."""
import numpy as np
from ._lanes import FOUR, LOW, group_of, nothing
from ._rounding import ZERO


# numbers: x as it is

def opened_nibbles(w, f, n):
    for r in range(n):
        f[r] = np.float32(w[r] & LOW)
        f[512 + r] = np.float32(w[r] >> FOUR)

def opened_octets(w, f, n):
    for r in range(n): f[r] = np.float32(np.int8(w[r]))

def nibbles_as_is(f, d, x, s, zero, e, y, n):
    for k in range(s.shape[0]):
        i = k << 5
        z = np.float32(zero * s[k])
        for r in range(n):
            a = ZERO
            for j in range(8):
                a += f[32 * j + r] * x[i + j]
                a += f[512 + 32 * j + r] * x[i + 16 + j]
            e[r] = a
        for r in range(n):
            a = ZERO
            for j in range(8):
                a += f[256 + 32 * j + r] * x[i + 8 + j]
                a += f[768 + 32 * j + r] * x[i + 24 + j]
            y[i + r] += d[r] * (np.float32(e[r] + a) - z)

def octets_as_is(f, d, x, e, y, n):
    for k in range(x.shape[0] >> 5):
        i = k << 5
        for r in range(n):
            a = ZERO
            for j in range(16): a += f[32 * j + r] * x[i + j]
            e[r] = a
        for r in range(n):
            a = ZERO
            for j in range(16): a += f[512 + 32 * j + r] * x[i + 16 + j]
            y[i + r] += d[r] * np.float32(e[r] + a)

def octets_16_as_is(f, d, x, y, rows, n):
    for k in range(rows):
        i = k << 5
        for r in range(n):
            a = ZERO
            for j in range(16): a += f[32 * j + r] * x[i + j]
            y[i + r] += d[r] * a

def as_it_is(kind, w, d, zero, x, s, f, e, y):
    "All rows times 32 rows of the weight."
    for b in range(d.shape[0] >> 5):
        l = b << 5
        if kind == 0:
            o = b << 9
            opened_nibbles(w[o:], f, 512)
            nibbles_as_is(f, d[l:], x[b], s[b], np.float32(zero), e, y, 32)
        elif kind == 1:
            o = b << 10
            opened_octets(w[o:], f, 1024)
            octets_as_is(f, d[l:], x[b], e, y, 32)
        else:
            o = b << 9
            opened_octets(w[o:], f, 512)
            octets_16_as_is(f, d[l:], x[b >> 1, (b - (b >> 1 << 1)) << 4:], y, s.shape[1], 32)


# whole numbers

def split_nibbles(w, h, n):
    for r in range(n):
        h[r] = np.int16(w[r] & LOW)
        h[512 + r] = np.int16(w[r] >> FOUR)

def split_octets(w, h, n):
    for r in range(n): h[r] = np.int16(np.int8(w[r]))

def nibbles(h, d, q, s, t, zero, c, y, n):
    for k in range(s.shape[0]):
        i = k << 5
        z = s[k]
        m = np.int32(zero * t[k])
        for r in range(n):
            a = np.int16(0)
            b = np.int16(0)
            for j in range(8):
                a = np.int16(a + np.int16(h[32 * j + r] * q[i + j]))
                b = np.int16(b + np.int16(h[256 + 32 * j + r] * q[i + 8 + j]))
            c[r] = np.int32(a) + np.int32(b)
        for r in range(n):
            a = np.int16(0)
            b = np.int16(0)
            for j in range(8):
                a = np.int16(a + np.int16(h[512 + 32 * j + r] * q[i + 16 + j]))
                b = np.int16(b + np.int16(h[768 + 32 * j + r] * q[i + 24 + j]))
            c[r] += np.int32(a) + np.int32(b)
        for r in range(n): y[i + r] += d[r] * np.float32(z * np.float32(np.int32(c[r] - m)))

def octets(h, d, q, s, c, y, n):
    for k in range(s.shape[0]):
        i = k << 5
        z = s[k]
        for r in range(n):
            a = np.int32(0)
            for j in range(16):
                a += np.int32(np.int16(np.int16(h[64 * j + r] * q[i + 2 * j])
                                       + np.int16(h[64 * j + 32 + r] * q[i + 2 * j + 1])))
            c[r] = a
        for r in range(n): y[i + r] += d[r] * np.float32(z * np.float32(c[r]))

def octets_16(h, d, q, s, c, y, n):
    for k in range(s.shape[0]):
        i = k << 5
        z = s[k]
        for r in range(n):
            a = np.int32(0)
            for j in range(8):
                a += np.int32(np.int16(np.int16(h[64 * j + r] * q[i + 2 * j])
                                       + np.int16(h[64 * j + 32 + r] * q[i + 2 * j + 1])))
            c[r] = a
        for r in range(n): y[i + r] += d[r] * np.float32(z * np.float32(c[r]))

def whole(kind, w, d, zero, q, s, t, h, c, y):
    for b in range(d.shape[0] >> 5):
        l = b << 5
        if kind == 0:
            o = b << 9
            split_nibbles(w[o:], h, 512)
            nibbles(h, d[l:], q[b], s[b], t[b], zero, c, y, 32)
        elif kind == 1:
            o = b << 10
            split_octets(w[o:], h, 1024)
            octets(h, d[l:], q[b], s[b], c, y, 32)
        else:
            o = b << 9
            split_octets(w[o:], h, 512)
            octets_16(h, d[l:], q[b >> 1, (b - (b >> 1 << 1)) << 4:], s[b >> 1], c, y, 32)

# offsets

def lows(m, s, t, as_is, y, n):
    for b in range(m.shape[0] >> 5):
        l = b << 5
        low(m[l:], s[b], t[b], as_is, y, n)

def low(m, s, t, as_is, y, n):
    for k in range(s.shape[0]):
        i = k << 5
        z = s[k] if as_is else np.float32(s[k] * np.float32(t[k]))
        for r in range(n): y[i + r] += m[r] * z


# a product of all parts

def put(tile, i, y, at, n):
    for r in range(n): y[at + r] = tile[i + r]

def rows_of_group(codes, scales, part, g, x, q, s, t, f, h, c, tile, as_is, y):
    "tile: results of each row; f, h and c: numbers, codes and sums of a block."
    w, d, m = group_of(codes, scales, part, g)
    at = part[6] + (g << 5)
    zero = np.int32(part[7])
    nothing(tile, tile.shape[0])
    if part[5] >= 0: lows(m, s, t, as_is, tile, 32)
    if as_is: as_it_is(part[0], w, d, zero, x, s, f, f[1024:], tile)
    else: whole(part[0], w, d, zero, q, s, t, h, c, tile)
    for k in range(y.shape[0]): put(tile, k << 5, y[k], at, 32)

def share_rows(codes, scales, parts, first, last, x, q, s, t, f, h, c, tile, as_is, y):
    "Inside a parallel region: its threads share the groups, and meet afterwards."
    for p in range(first, last):
        groups = parts[p, 1]
        if groups > 0:
            #omp for
            for g in range(groups): rows_of_group(codes, scales, parts[p], g, x, q, s, t, f, h, c, tile, as_is, y)
