"""Attention in tiles of 64 queries by 64 keys. Every product adds eight scaled rows at once to one row, and all that a tile needs fits the first cache.

Query i sees the keys from i + lo to i + hi. Keys and values are laid out in tiles first; a task is one tile of queries and all its keys. Room for
scores and sums comes from outside, a part for each task.
"""
import numpy as np


def _lay(k, v, kt, vb, t, b, j0, g, depth, wide):
    "A tile of keys, turned, and one of values."
    for j in range(min(64, k.shape[1] - j0)):
        key, value = k[b, j0 + j, g], v[b, j0 + j, g]
        for d in range(k.shape[3]):
            kt[t * depth + d, j] = key[d]
        for e in range(wide):
            row = vb[(t * wide + e) * 64 + j]
            for d in range(min(64, v.shape[3] - e * 64)):
                row[d] = value[e * 64 + d]

def _start(q, x, top, t, b, i0, h, n, scale):
    for r in range(n):
        top[t + r, 0] = np.float32(-np.inf)
        top[t + r, 1] = np.float32(0)
        row, query = x[t + r], q[b, i0 + r, h]
        for d in range(q.shape[3]):
            row[d] = query[d] * scale

def _scores(s, x, kt, t, at, n, depth):
    left, right = x[t:t + 64], kt[at:at + depth]
    for r in range(n):
        row = s[t + r]
        for j in range(64):
            row[j] = np.float32(0)
        for p in range(0, depth, 8):
            a0 = left[r, p]
            a1 = left[r, p + 1]
            a2 = left[r, p + 2]
            a3 = left[r, p + 3]
            a4 = left[r, p + 4]
            a5 = left[r, p + 5]
            a6 = left[r, p + 6]
            a7 = left[r, p + 7]
            b0 = right[p]
            b1 = right[p + 1]
            b2 = right[p + 2]
            b3 = right[p + 3]
            b4 = right[p + 4]
            b5 = right[p + 5]
            b6 = right[p + 6]
            b7 = right[p + 7]
            #omp simd
            for j in range(64):
                row[j] = row[j] + a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j] + a4 * b4[j] + a5 * b5[j] + a6 * b6[j] + a7 * b7[j]

def _mix(acc, s, vb, u, t, at, n, wide):
    "Blocks of 64 columns: the inner loop has a known length, and eight vectors share what is loaded around them. The length of the loop over p is not a literal, or g++ unrolls it and runs out of registers."
    for e in range(0, wide * 64, 64):
        tile, right = s[t:t + 64], vb[at + e:at + e + 64]
        for r in range(n):
            row = acc[u + e + r]
            for p in range(0, s.shape[1], 8):
                a0 = tile[r, p]
                a1 = tile[r, p + 1]
                a2 = tile[r, p + 2]
                a3 = tile[r, p + 3]
                a4 = tile[r, p + 4]
                a5 = tile[r, p + 5]
                a6 = tile[r, p + 6]
                a7 = tile[r, p + 7]
                b0 = right[p]
                b1 = right[p + 1]
                b2 = right[p + 2]
                b3 = right[p + 3]
                b4 = right[p + 4]
                b5 = right[p + 5]
                b6 = right[p + 6]
                b7 = right[p + 7]
                #omp simd
                for d in range(64):
                    row[d] = row[d] + a0 * b0[d] + a1 * b1[d] + a2 * b2[d] + a3 * b3[d] + a4 * b4[d] + a5 * b5[d] + a6 * b6[d] + a7 * b7[d]

def _bias(s, bias, t, n, i0, j0):
    for r in range(n):
        for j in range(min(64, bias.shape[1] - j0)):
            s[t + r, j] += bias[i0 + r, j0 + j]

def _hide(s, t, n, lo, hi, end):
    "Row r keeps what lies from lo + r to hi + r and before end."
    for r in range(n):
        for j in range(64):
            if j < lo + r or j > hi + r or j >= end:
                s[t + r, j] = np.float32(-np.inf)

def _weigh(s, top, acc, t, n, wide):
    "Scores to weights; the largest score so far, the sum so far and the result so far follow."
    for r in range(n):
        m = np.float32(max(top[t + r, 0], np.max(s[t + r])))
        if m == np.float32(-np.inf):
            s[t + r] = np.float32(0)
        else:
            if m > top[t + r, 0]:       # rare after the first tiles
                f = np.float32(np.exp(top[t + r, 0] - m))
                top[t + r, 0] = m
                top[t + r, 1] = top[t + r, 1] * f
                for e in range(0, wide * 64, 64):
                    row = acc[t * wide + e + r]
                    for d in range(64):
                        row[d] = row[d] * f
            s[t + r] = np.exp(s[t + r] - m)
            top[t + r, 1] = top[t + r, 1] + np.float32(np.sum(s[t + r]))

def _end(out, lse, acc, top, t, b, i0, h, n, wide):
    for r in range(n):
        l = top[t + r, 1]
        f = np.float32(0)
        if l != np.float32(0):
            f = np.float32(1) / l
            lse[b, i0 + r, h] = top[t + r, 0] + np.float32(np.log(l))
        else:
            lse[b, i0 + r, h] = np.float32(-np.inf)
        row = out[b, i0 + r, h]
        for e in range(wide):
            block = acc[t * wide + e * 64 + r]
            for d in range(min(64, out.shape[3] - e * 64)):
                row[e * 64 + d] = block[d] * f

#pythran export attend_(float32[:,:,:,:] order(C), float32[:,:,:] order(C), float32[:,:,:,:] order(C), float32[:,:,:,:] order(C), float32[:,:,:,:] order(C), int64[:], float32, int, int, float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C))
def attend_(out, lse, q, k, v, owner, scale, lo, hi, bias, kt, vb, x, acc, s, top):
    B, T, H, D = q.shape
    S = k.shape[1]
    G = k.shape[2]
    NQ = (T + 63) // 64
    NK = (S + 63) // 64
    E = (D + 63) // 64
    #omp parallel for firstprivate(G, NK, E)
    for t in range(B * G * NK):
        b = t // (G * NK)
        _lay(k, v, kt, vb, t, b, (t - t // NK * NK) * 64, t // NK - b * G, x.shape[1], E)
    #omp parallel for schedule(dynamic) firstprivate(scale, lo, hi, T, S, G, H, E, NQ, NK)
    for t in range(B * H * NQ):
        b = t // (H * NQ)
        h = t // NQ - b * H
        i0 = (NQ - 1 - (t - t // NQ * NQ)) * 64
        n = min(64, T - i0)
        _start(q, x, top, t * 64, b, i0, h, n, scale)
        for c in range(max(0, i0 + lo) // 64, (min(S - 1, i0 + n - 1 + hi) + 64) // 64):
            at = (b * G + owner[h]) * NK + c
            u = t * 64
            j0 = c * 64
            _scores(s, x, kt, u, at * x.shape[1], n, x.shape[1])
            if bias.shape[0] > 0:
                _bias(s, bias, u, n, i0, j0)
            if j0 < i0 + n - 1 + lo or j0 + 63 > min(S - 1, i0 + hi):
                _hide(s, u, n, i0 + lo - j0, i0 + hi - j0, S - j0)
            _weigh(s, top, acc, u, n, E)
            _mix(acc, s, vb, u * E, u, at * 64 * E, n, E)
        _end(out, lse, acc, top, t * 64, b, i0, h, n, E)
