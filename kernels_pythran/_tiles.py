"""What attention both ways is made of: tiles of 64 by 64, each a row of 64 in which eight scaled
rows are added up at once.

Sizes: a tile of s, kt or acc has 64 rows; `n` says how many of them count, `wide` how many blocks
of 64 columns an operand has, one under the other."""
import numpy as np


def _add_eight(row, a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7):
    """The loop has a known length, and eight vectors share what is loaded around them. Factors
    come as numbers: what is in an array is loaded anew after every store."""
    #omp simd
    for j in range(64):
        row[j] = (row[j] + a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j] + a4 * b4[j] + a5 * b5[j]
                  + a6 * b6[j] + a7 * b7[j])

def mix(acc, u, s, t, b, at, n, wide):
    """acc[u:] += s[t:] @ b[at:]. The length of the loop over p is not a literal, or g++ unrolls
    it and runs out of registers."""
    for e in range(0, wide * 64, 64):
        tile, right = s[t:t + 64], b[at + e:at + e + s.shape[1]]
        for r in range(n):
            row = acc[u + e + r]
            for p in range(0, s.shape[1], 8):
                _add_eight(row, np.float32(tile[r, p]), np.float32(tile[r, p + 1]), np.float32(tile[r, p + 2]),
                           np.float32(tile[r, p + 3]), np.float32(tile[r, p + 4]), np.float32(tile[r, p + 5]),
                           np.float32(tile[r, p + 6]), np.float32(tile[r, p + 7]), right[p], right[p + 1], right[p + 2],
                           right[p + 3], right[p + 4], right[p + 5], right[p + 6], right[p + 7])

def mix_turned(acc, u, s, t, b, at, wide):
    "acc[u:] += s[t:].T @ b[at:]."
    for e in range(0, wide * 64, 64):
        tile, right = s[t:t + 64], b[at + e:at + e + 64]
        for j in range(64):
            row = acc[u + e + j]
            for p in range(0, s.shape[1], 8):
                _add_eight(row, np.float32(tile[p, j]), np.float32(tile[p + 1, j]), np.float32(tile[p + 2, j]),
                           np.float32(tile[p + 3, j]), np.float32(tile[p + 4, j]), np.float32(tile[p + 5, j]),
                           np.float32(tile[p + 6, j]), np.float32(tile[p + 7, j]), right[p], right[p + 1], right[p + 2],
                           right[p + 3], right[p + 4], right[p + 5], right[p + 6], right[p + 7])

def scores(s, x, kt, t, u, at, n):
    "s[t:] = x[u:] @ kt[at:]."
    for r in range(n):
        row = s[t + r]
        for j in range(64):
            row[j] = np.float32(0)
    mix(s, t, x, u, kt, at, n, 1)

def hide(s, t, n, lo, hi, end):
    "Row r keeps what lies from lo + r to hi + r and before end."
    for r in range(n):
        for j in range(64):
            if j < lo + r or j > hi + r or j >= end:
                s[t + r, j] = np.float32(-np.inf)
