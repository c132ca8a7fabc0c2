"""Gradients of attention in tiles of 64 queries by 64 keys; see attention.py. A task is a head and all its tiles, so that nothing is added by two at once."""
import numpy as np


def _lay(k, v, kt, vt, kb, t, b, j0, g, depth, wide):
    "A tile of keys, turned and as it is, and one of values, turned."
    for j in range(min(64, k.shape[1] - j0)):
        for d in range(k.shape[3]):
            kt[t * depth + d, j] = k[b, j0 + j, g, d]
            vt[t * depth + d, j] = v[b, j0 + j, g, d]
            kb[(t * wide + d // 64) * 64 + j, d - d // 64 * 64] = k[b, j0 + j, g, d]

def _start(q, gy, lse, delta, x, y, xb, yb, top, t, b, i0, h, scale, wide):
    for r in range(min(64, q.shape[1] - i0)):
        top[t + r, 0] = lse[b, i0 + r, h]
        top[t + r, 1] = delta[b, i0 + r, h]
        for d in range(q.shape[3]):
            x[t + r, d] = q[b, i0 + r, h, d] * scale
            y[t + r, d] = gy[b, i0 + r, h, d]
            xb[t * wide + d // 64 * 64 + r, d - d // 64 * 64] = q[b, i0 + r, h, d] * scale
            yb[t * wide + d // 64 * 64 + r, d - d // 64 * 64] = gy[b, i0 + r, h, d]

def _products(s, x, kt, t, u, at, n, depth):
    left, right = x[u:u + 64], kt[at:at + depth]
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

def _mix_turned(acc, s, y, u, t, at, wide):
    "For every key: the queries' rows, weighted by a column."
    for e in range(0, wide * 64, 64):
        tile, right = s[t:t + 64], y[at + e:at + e + 64]
        for j in range(64):
            row = acc[u + e + j]
            for p in range(0, s.shape[1], 8):
                a0 = tile[p, j]
                a1 = tile[p + 1, j]
                a2 = tile[p + 2, j]
                a3 = tile[p + 3, j]
                a4 = tile[p + 4, j]
                a5 = tile[p + 5, j]
                a6 = tile[p + 6, j]
                a7 = tile[p + 7, j]
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

def _hide(s, t, n, lo, hi, end):
    for r in range(n):
        for j in range(64):
            if j < lo + r or j > hi + r or j >= end:
                s[t + r, j] = np.float32(-np.inf)

def _weigh(s, p, top, t, u, n):
    for r in range(n):
        l = top[u + r, 0]
        m = top[u + r, 1]
        if l == np.float32(-np.inf):
            l = np.float32(np.inf)
        s[t + r] = np.exp(s[t + r] - l)
        p[t + r] = s[t + r] * (p[t + r] - m)

def _queries(gq, acc, t, b, i0, h, scale, wide):
    for r in range(min(64, gq.shape[1] - i0)):
        for d in range(gq.shape[3]):
            gq[b, i0 + r, h, d] = acc[t * wide + d // 64 * 64 + r, d - d // 64 * 64] * scale

def _keys(gk, gv, ak, av, t, b, j0, g, wide):
    for j in range(min(64, gk.shape[1] - j0)):
        for d in range(gk.shape[3]):
            gk[b, j0 + j, g, d] += ak[t * wide + d // 64 * 64 + j, d - d // 64 * 64]
            gv[b, j0 + j, g, d] += av[t * wide + d // 64 * 64 + j, d - d // 64 * 64]

def _zero(gk, gv, b, j0, g):
    for j in range(min(64, gk.shape[1] - j0)):
        for d in range(gk.shape[3]):
            gk[b, j0 + j, g, d] = np.float32(0)
            gv[b, j0 + j, g, d] = np.float32(0)

#pythran export attend_back_(float32[:,:,:,:] order(C), float32[:,:,:,:] order(C), float32[:,:,:,:] order(C), float32[:,:,:,:] order(C), float32[:,:,:,:] order(C), float32[:,:,:,:] order(C), int64[:], float32, int, int, float32[:,:,:,:] order(C), float32[:,:,:] order(C), float32[:,:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C))
def attend_back_(gq, gk, gv, q, k, v, owner, scale, lo, hi, gy, lse, delta, kt, vt, kb, x, y, xb, yb, s, p, top, aq, ak, av):
    B, T, H, D = q.shape
    S = k.shape[1]
    G = k.shape[2]
    NQ = (T + 63) // 64
    NK = (S + 63) // 64
    E = (D + 63) // 64
    #omp parallel for firstprivate(G, NK, E)
    for t in range(B * G * NK):
        b = t // (G * NK)
        _lay(k, v, kt, vt, kb, t, b, (t - t // NK * NK) * 64, t // NK - b * G, x.shape[1], E)
    #omp parallel for schedule(dynamic) firstprivate(scale, lo, hi, T, S, G, H, E, NQ, NK)
    for t in range(B * H):
        b = t // H
        h = t - b * H
        for i in range(NQ):
            _start(q, gy, lse, delta, x, y, xb, yb, top, (t * NQ + i) * 64, b, i * 64, h, scale, E)
        for c in range(NK):
            at = (b * G + owner[h]) * NK + c
            u = (t * NK + c) * 64
            j0 = c * 64
            for i in range(max(0, j0 - hi) // 64, min(NQ, (max(0, j0 + 64 - lo) + 63) // 64)):
                i0 = i * 64
                n = min(64, T - i0)
                w = (t * NQ + i) * 64
                _products(s, x, kt, t * 64, w, at * x.shape[1], n, x.shape[1])
                _products(p, y, vt, t * 64, w, at * x.shape[1], n, x.shape[1])
                if j0 < i0 + n - 1 + lo or j0 + 63 > min(S - 1, i0 + hi):
                    _hide(s, t * 64, n, i0 + lo - j0, i0 + hi - j0, S - j0)
                _weigh(s, p, top, t * 64, w, n)
                _mix(aq, p, kb, w * E, t * 64, at * 64 * E, n, E)
                _mix_turned(av, s, yb, u * E, t * 64, w * E, E)
                _mix_turned(ak, p, xb, u * E, t * 64, w * E, E)
        for i in range(NQ):
            _queries(gq, aq, (t * NQ + i) * 64, b, i * 64, h, scale, E)
    #omp parallel for firstprivate(G, NK, H, E)
    for t in range(B * G * NK):
        b = t // (G * NK)
        g = t // NK - b * G
        c = t - t // NK * NK
        _zero(gk, gv, b, c * 64, g)
        for h in range(H):
            if owner[h] == g:
                _keys(gk, gv, ak, av, ((b * H + h) * NK + c) * 64, b, c * 64, g, E)
