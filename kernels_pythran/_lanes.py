"""One row of x times a weight that was repacked: 32 rows of it lie side by side, number by number.

A register then holds the same number of 16 or 32 rows, and nothing is ever summed across it. Sums of 16 bits are wide
enough for sixteen products of 4 bits and 8, and for two of 8 and 8. The index of a loop and what is shifted from it are
positive for Pythran, and the loops over `n` rows become vector code. A literal range is unrolled.

A part of a product is a row of numbers: kind, groups of 32 rows, blocks of a row, where its codes, scales and offsets
begin (-1: it has none), where its results go, the code that means zero."""
import numpy as np
from ._rounding import ZERO, count, largest

LOW = np.uint8(15)
FOUR = np.uint8(4)
FEW = 1 << 17        # weights that one thread multiplies sooner than two would meet


# one row of x rounded to 8 bits

def even(x, q, inv, n):
    for j in range(n): q[j] = np.int16(np.rint(x[j] * inv))

def round_row(x, q, s, t, blocks, n):
    for b in range(blocks):
        i = b << 5
        top, bad = largest(x[i:], n)
        d = np.float32(top / np.float32(127))
        inv = np.float32(np.float32(127) / top) if top >= np.float32(1e-30) and bad == ZERO else ZERO
        s[b] = np.float32(d + bad)
        if bad == ZERO:
            even(x[i:], q[i:], inv, n)
            t[b] = count(q[i:], n)
        else:
            for j in range(n): q[i + j] = np.int16(0)
            t[b] = np.int32(0)


# whole numbers: 32 rows

def offsets(m, s, t, y, n):
    "What the offsets of the blocks bring: the start of the sums."
    for r in range(n): y[r] = ZERO
    for b in range(s.shape[0]):
        i = b << 5
        z = np.float32(s[b] * np.float32(t[b]))
        for r in range(n): y[r] += m[i + r] * z

def nothing(y, n):
    for r in range(n): y[r] = ZERO

def nibbles(w, d, x, s, t, zero, c, y, n):
    "A byte holds numbers j and j + 16 of a block."
    for b in range(s.shape[0]):
        o = b << 9
        i = b << 5
        for r in range(n):
            e = np.int16(0)
            f = np.int16(0)
            for j in range(8):
                e = np.int16(e + np.int16(np.int16(w[o + 32 * j + r] & LOW) * x[i + j]))
                f = np.int16(f + np.int16(np.int16(w[o + 32 * j + r] >> FOUR) * x[i + 16 + j]))
            c[r] = np.int32(e) + np.int32(f)
        for r in range(n):
            e = np.int16(0)
            f = np.int16(0)
            for j in range(8):
                e = np.int16(e + np.int16(np.int16(w[o + 256 + 32 * j + r] & LOW) * x[i + 8 + j]))
                f = np.int16(f + np.int16(np.int16(w[o + 256 + 32 * j + r] >> FOUR) * x[i + 24 + j]))
            c[r] += np.int32(e) + np.int32(f)
        z = s[b]
        k = np.int32(zero * t[b])
        for r in range(n): y[r] += d[i + r] * np.float32(z * np.float32(np.int32(c[r] - k)))

def octets(w, d, x, s, c, y, n):
    for b in range(s.shape[0]):
        o = b << 10
        i = b << 5
        for r in range(n):
            a = np.int32(0)
            for j in range(16):
                e = np.int16(np.int16(np.int16(np.int8(w[o + 64 * j + r])) * x[i + 2 * j])
                             + np.int16(np.int16(np.int8(w[o + 64 * j + 32 + r])) * x[i + 2 * j + 1]))
                a += np.int32(e)
            c[r] = a
        z = s[b]
        for r in range(n): y[r] += d[i + r] * np.float32(z * np.float32(c[r]))

def octets_16(w, d, x, s, c, y, n):
    "A scale for every 16 numbers."
    for h in range(s.shape[0] << 1):
        o = h << 9
        i = h << 4
        k = h << 5
        for r in range(n):
            a = np.int32(0)
            for j in range(8):
                e = np.int16(np.int16(np.int16(np.int8(w[o + 64 * j + r])) * x[i + 2 * j])
                             + np.int16(np.int16(np.int8(w[o + 64 * j + 32 + r])) * x[i + 2 * j + 1]))
                a += np.int32(e)
            c[r] = a
        z = s[h >> 1]
        for r in range(n): y[r] += d[k + r] * np.float32(z * np.float32(c[r]))

def whole(kind, w, d, m, low, zero, x, s, t, c, y):
    if low: offsets(m, s, t, y, 32)
    else: nothing(y, 32)
    if kind == 0: nibbles(w, d, x, s, t, zero, c, y, 32)
    elif kind == 1: octets(w, d, x, s, c, y, 32)
    else: octets_16(w, d, x, s, c, y, 32)


# numbers: x as it is, s the sums of its blocks

def sum_row(x, s, blocks):
    for b in range(blocks):
        i = b << 5
        a = ZERO
        for j in range(i, i + 32): a += x[j]
        s[b] = a

def nibbles_as_is(w, d, x, s, zero, e, y, n):
    for b in range(s.shape[0]):
        o = b << 9
        i = b << 5
        for r in range(n):
            a = ZERO
            for j in range(8):
                a += np.float32(w[o + 32 * j + r] & LOW) * x[i + j]
                a += np.float32(w[o + 32 * j + r] >> FOUR) * x[i + 16 + j]
            e[r] = a
        for r in range(n):
            a = ZERO
            for j in range(8):
                a += np.float32(w[o + 256 + 32 * j + r] & LOW) * x[i + 8 + j]
                a += np.float32(w[o + 256 + 32 * j + r] >> FOUR) * x[i + 24 + j]
            e[r] += a
        z = np.float32(np.float32(zero) * s[b])
        for r in range(n): y[r] += d[i + r] * (e[r] - z)

def octets_as_is(w, d, x, s, e, y, n):
    for b in range(s.shape[0]):
        o = b << 10
        i = b << 5
        for r in range(n):
            a = ZERO
            for j in range(16): a += np.float32(np.int8(w[o + 32 * j + r])) * x[i + j]
            e[r] = a
        for r in range(n):
            a = ZERO
            for j in range(16): a += np.float32(np.int8(w[o + 512 + 32 * j + r])) * x[i + 16 + j]
            e[r] += a
        for r in range(n): y[r] += d[i + r] * e[r]

def octets_16_as_is(w, d, x, s, e, y, n):
    for h in range(s.shape[0] << 1):
        o = h << 9
        i = h << 4
        k = h << 5
        for r in range(n):
            a = ZERO
            for j in range(16): a += np.float32(np.int8(w[o + 32 * j + r])) * x[i + j]
            e[r] = a
        for r in range(n): y[r] += d[k + r] * e[r]

def offsets_as_is(m, s, y, n):
    for r in range(n): y[r] = ZERO
    for b in range(s.shape[0]):
        i = b << 5
        z = s[b]
        for r in range(n): y[r] += m[i + r] * z

def as_it_is(kind, w, d, m, low, zero, x, s, e, y):
    if low: offsets_as_is(m, s, y, 32)
    else: nothing(y, 32)
    if kind == 0: nibbles_as_is(w, d, x, s, zero, e, y, 32)
    elif kind == 1: octets_as_is(w, d, x, s, e, y, 32)
    else: octets_16_as_is(w, d, x, s, e, y, 32)


# a product of all parts

def group_of(codes, scales, part, g):
    "What of the codes, scales and offsets belongs to a group of 32 rows; of scales instead of offsets that are none."
    k = part[2] << 5
    wide = k << 4 if part[0] == 0 else k << 5
    some = k << 1 if part[0] == 2 else k
    a = part[3] + g * wide
    b = part[4] + g * some
    e = part[5] + g * k if part[5] >= 0 else b
    return codes[a:a + wide], scales[b:b + some], scales[e:e + k]

def group(codes, scales, part, g, x, q, s, t, c, row, as_is, y):
    w, d, m = group_of(codes, scales, part, g)
    k = part[2] << 5
    low = part[5] >= 0
    at = part[6] + (g << 5)
    h = g << 5
    zero = np.int32(part[7])
    if as_is: as_it_is(part[0], w, d, m, low, zero, x[:k], s[:k >> 5], row[h:h + 32], y[at:at + 32])
    else: whole(part[0], w, d, m, low, zero, q[:k], s[:k >> 5], t[:k >> 5], c[h:h + 32], y[at:at + 32])

def product(codes, scales, parts, x, q, s, t, c, row, as_is, y):
    for p in range(parts.shape[0]):
        groups = parts[p, 1]
        many = groups * (parts[p, 2] << 10) > FEW
        #omp parallel for if(many) firstprivate(p, as_is)
        for g in range(groups): group(codes, scales, parts[p], g, x, q, s, t, c, row, as_is, y)

def share(codes, scales, parts, first, last, x, q, s, t, c, row, as_is, y):
    "The same inside a parallel region: its threads share the groups, and meet afterwards."
    for p in range(first, last):
        groups = parts[p, 1]
        if groups > 0:
            #omp for
            for g in range(groups): group(codes, scales, parts[p], g, x, q, s, t, c, row, as_is, y)
