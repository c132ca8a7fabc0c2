"""Products with repacked weights, and their numbers. `_lanes` says how they lie."""
# compile with: -mprefer-vector-width=256
import numpy as np
from ._lanes import FOUR, LOW, group_of, product, round_row, sum_row

#pythran export lanes_round(float32[:], int16[:], float32[:], int32[:])
def lanes_round(x, q, s, t): round_row(x, q, s, t, s.shape[0], 32)

#pythran export lanes_dot(uint8[:], float32[:], int64[:,:] order(C), float32[:], float32[:])
def lanes_dot(codes, scales, parts, x, y):
    k = x.shape[0]
    q = np.empty(k, np.int16)
    s = np.empty(k >> 5, np.float32)
    t = np.empty(k >> 5, np.int32)
    c = np.empty(y.shape[0], np.int32)
    round_row(x, q, s, t, s.shape[0], 32)
    product(codes, scales, parts, x, q, s, t, c, x, 0, y)

#pythran export lanes_dot_exact(uint8[:], float32[:], int64[:,:] order(C), float32[:], float32[:])
def lanes_dot_exact(codes, scales, parts, x, y):
    row = np.empty(y.shape[0], np.float32)
    k = x.shape[0]
    s = np.empty(k >> 5, np.float32)
    q = np.empty(k, np.int16)
    t = np.empty(k >> 5, np.int32)
    c = np.empty(y.shape[0], np.int32)
    sum_row(x, s, k >> 5)
    product(codes, scales, parts, x, q, s, t, c, row, 1, y)


def numbers(kind, w, d, m, low, zero, k, out, n):
    "Number k of the 32 rows."
    g = k >> 5
    j = k & 31
    o = g << 5
    v = o
    if kind == 0:
        at = (g << 9) + ((j & 15) << 5)
        if j < 16:
            for r in range(n): out[r] = d[o + r] * np.float32(np.int32(np.int32(w[at + r] & LOW) - zero))
        else:
            for r in range(n): out[r] = d[o + r] * np.float32(np.int32(np.int32(w[at + r] >> FOUR) - zero))
    else:
        at = k << 5
        if kind == 2: v = (k >> 4) << 5
        for r in range(n): out[r] = d[v + r] * np.float32(np.int8(w[at + r]))
    if low:
        for r in range(n): out[r] += m[o + r]

def panel(codes, scales, part, g, y):
    w, d, m = group_of(codes, scales, part, g)
    at = part[6] + (g << 5)
    zero = np.int32(part[7])
    for i in range(part[2] << 5): numbers(part[0], w, d, m, part[5] >= 0, zero, i, y[i, at:at + 32], 32)

#pythran export lanes_floats(uint8[:], float32[:], int64[:,:] order(C), float32[:,:] order(C))
def lanes_floats(codes, scales, parts, y):
    for p in range(parts.shape[0]):
        #omp parallel for firstprivate(p)
        for g in range(parts[p, 1]): panel(codes, scales, parts[p], g, y)
