"""Attention in tiles of 64 queries by 64 keys, whose products are those of _tiles.

Query i sees the keys from i + lo to i + hi. Keys and values are laid out in tiles first; a task
is one tile of queries and all its keys. Room for scores and sums comes from outside, a part for
each task."""
import numpy as np
from ._tiles import clear, hide, mix, scores


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

def _start(q, x, acc, top, t, b, i0, h, n, scale, wide):
    clear(acc, t * wide, 64 * wide)
    for r in range(n):
        top[t + r, 0] = np.float32(-np.inf)
        top[t + r, 1] = np.float32(0)
        row, query = x[t + r], q[b, i0 + r, h]
        for d in range(q.shape[3]):
            row[d] = query[d] * scale

def _bias(s, bias, t, n, i0, j0):
    for r in range(n):
        for j in range(min(64, bias.shape[1] - j0)):
            s[t + r, j] += bias[i0 + r, j0 + j]

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

#pythran export attend_(float32[:,:,:,:] order(C), float32[:,:,:] order(C),
#                       float32[:,:,:,:] order(C), float32[:,:,:,:] order(C),
#                       float32[:,:,:,:] order(C), int64[:], float32, int, int,
#                       float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C),
#                       float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C),
#                       float32[:,:] order(C))
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
    #omp parallel for schedule(dynamic) firstprivate(scale, lo, hi, T, S, G, H, D, E, NQ, NK)
    for t in range(B * H * NQ):
        b = t // (H * NQ)
        h = t // NQ - b * H
        i0 = (NQ - 1 - (t - t // NQ * NQ)) * 64
        n = min(64, T - i0)
        _start(q, x, acc, top, t * 64, b, i0, h, n, scale, E)
        for c in range(max(0, i0 + lo) // 64, (min(S - 1, i0 + n - 1 + hi) + 64) // 64):
            at = (b * G + owner[h]) * NK + c
            u = t * 64
            j0 = c * 64
            keys = min(64, S - j0)
            scores(s, x, kt, u, u, at * x.shape[1], n, keys, D)
            if bias.shape[0] > 0:
                _bias(s, bias, u, n, i0, j0)
            if j0 < i0 + n - 1 + lo or j0 + 63 > min(S - 1, i0 + hi):
                hide(s, u, n, i0 + lo - j0, i0 + hi - j0, S - j0)
            _weigh(s, top, acc, u, n, E)
            mix(acc, u * E, s, u, vb, at * 64 * E, n, D, keys)
        _end(out, lse, acc, top, t * 64, b, i0, h, n, E)
