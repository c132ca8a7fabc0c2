"""What attention both ways is made of: tiles of 64 by 64. Products add up 8 rows of 16 columns at a time, which
stay in registers over the whole sum: 16 columns are one vector of AVX-512 or two of AVX2, as g++ finds best when
it builds. It vectorises the loop over columns around the sum only if strides are literal and the sum has at least
one term in a form that it can see; so `n` is one less than there are.

A tile of s, kt or acc has 64 rows; `n` says how many of them count, eights of which are computed. `cols` says how
many columns of the result count; they stand in blocks of 64, one under the other. `deep` is the length of a sum."""
import numpy as np


def _add_rows(c0, c1, c2, c3, c4, c5, c6, c7,
         a0, a1, a2, a3, a4, a5, a6, a7, b, n):
    "c[k] += the sum over p of a[k, p] b[p], for k up to 8."
    #omp simd
    for j in range(16):
        s0 = np.float32(0)
        s1 = np.float32(0)
        s2 = np.float32(0)
        s3 = np.float32(0)
        s4 = np.float32(0)
        s5 = np.float32(0)
        s6 = np.float32(0)
        s7 = np.float32(0)
        for p in range((n & 4095) + 1):
            x = b[p * 64 + j]
            s0 += a0[p] * x
            s1 += a1[p] * x
            s2 += a2[p] * x
            s3 += a3[p] * x
            s4 += a4[p] * x
            s5 += a5[p] * x
            s6 += a6[p] * x
            s7 += a7[p] * x
        c0[j] += s0
        c1[j] += s1
        c2[j] += s2
        c3[j] += s3
        c4[j] += s4
        c5[j] += s5
        c6[j] += s6
        c7[j] += s7

def _add_columns(c0, c1, c2, c3, c4, c5, c6, c7,
         a, b, n):
    "c[k] += the sum over p of a[p, k] b[p], for k up to 8."
    #omp simd
    for j in range(16):
        s0 = np.float32(0)
        s1 = np.float32(0)
        s2 = np.float32(0)
        s3 = np.float32(0)
        s4 = np.float32(0)
        s5 = np.float32(0)
        s6 = np.float32(0)
        s7 = np.float32(0)
        for p in range((n & 4095) + 1):
            x = b[p * 64 + j]
            s0 += a[p * 64] * x
            s1 += a[p * 64 + 1] * x
            s2 += a[p * 64 + 2] * x
            s3 += a[p * 64 + 3] * x
            s4 += a[p * 64 + 4] * x
            s5 += a[p * 64 + 5] * x
            s6 += a[p * 64 + 6] * x
            s7 += a[p * 64 + 7] * x
        c0[j] += s0
        c1[j] += s1
        c2[j] += s2
        c3[j] += s3
        c4[j] += s4
        c5[j] += s5
        c6[j] += s6
        c7[j] += s7

def mix(acc, u, s, t, b, at, n, cols, deep):
    "acc[u:] += s[t:] @ b[at:]."
    flat = b.reshape(b.shape[0] * 64)
    for e in range(0, cols, 64):
        for i in range(0, n, 8):
            r, w = t + i, u + e + i
            for l in range(0, min(64, cols - e), 16):
                _add_rows(acc[w, l:l + 16], acc[w + 1, l:l + 16], acc[w + 2, l:l + 16], acc[w + 3, l:l + 16],
                          acc[w + 4, l:l + 16], acc[w + 5, l:l + 16], acc[w + 6, l:l + 16], acc[w + 7, l:l + 16],
                          s[r], s[r + 1], s[r + 2], s[r + 3], s[r + 4], s[r + 5], s[r + 6], s[r + 7],
                          flat[(at + e) * 64 + l:], deep - 1)

def mix_turned(acc, u, s, t, b, at, n, cols, deep):
    "acc[u:] += s[t:].T @ b[at:]."
    flat, turned = b.reshape(b.shape[0] * 64), s.reshape(s.shape[0] * 64)
    for e in range(0, cols, 64):
        for i in range(0, n, 8):
            w = u + e + i
            for l in range(0, min(64, cols - e), 16):
                _add_columns(acc[w, l:l + 16], acc[w + 1, l:l + 16], acc[w + 2, l:l + 16], acc[w + 3, l:l + 16],
                             acc[w + 4, l:l + 16], acc[w + 5, l:l + 16], acc[w + 6, l:l + 16], acc[w + 7, l:l + 16],
                             turned[t * 64 + i:], flat[(at + e) * 64 + l:], deep - 1)

def clear(a, t, n):
    "Rows of 64 become 0."
    for r in range(n):
        row = a[t + r]
        for j in range(64):
            row[j] = np.float32(0)

def scores(s, x, kt, t, u, at, n, keys, deep):
    "s[t:] = x[u:] @ kt[at:]."
    clear(s, t, (n + 7) // 8 * 8)
    mix(s, t, x, u, kt, at, n, keys, deep)

def hide(s, t, n, lo, hi, end):
    "Row r keeps what lies from lo + r to hi + r and before end."
    for r in range(n):
        row = s[t + r]
        first = min(64, max(0, lo + r))
        for j in range(first):
            row[j] = np.float32(-np.inf)
        for j in range(max(first, min(min(64, end), hi + r + 1)), 64):
            row[j] = np.float32(-np.inf)
