"""Gradients of attention in tiles of 64 queries by 64 keys; see attention.py. A task is a head
and all its tiles, so that nothing is added by two at once."""
import numpy as np
from ._tiles import clear, hide, mix, mix_turned, scores


def _split(blocks, t, r, row, scale, wide):
    "A row as row r of a tile, in blocks of 64 columns."
    for e in range(wide):
        block = blocks[t * wide + e * 64 + r]
        for d in range(min(64, row.shape[0] - e * 64)):
            block[d] = row[e * 64 + d] * scale

def _join(row, blocks, t, r, scale, wide):
    for e in range(wide):
        block = blocks[t * wide + e * 64 + r]
        for d in range(min(64, row.shape[0] - e * 64)):
            row[e * 64 + d] += block[d] * scale

def _zero(row):
    for d in range(row.shape[0]):
        row[d] = np.float32(0)

def _turn(tile, at, j, row):
    for d in range(row.shape[0]):
        tile[at + d, j] = row[d]

def _scale(row, x, scale):
    for d in range(x.shape[0]):
        row[d] = x[d] * scale

def _lay(k, v, kt, vt, kb, t, b, j0, g, depth, wide):
    "A tile of keys, turned and as it is, and one of values, turned."
    for j in range(min(64, k.shape[1] - j0)):
        _turn(kt, t * depth, j, k[b, j0 + j, g])
        _turn(vt, t * depth, j, v[b, j0 + j, g])
        _split(kb, t * 64, j, k[b, j0 + j, g], np.float32(1), wide)

def _start(q, gy, lse, delta, x, y, xb, yb, aq, top, t, b, i0, h, scale, wide):
    clear(aq, t * wide, 64 * wide)
    for r in range(min(64, q.shape[1] - i0)):
        top[t + r, 0] = lse[b, i0 + r, h]
        top[t + r, 1] = delta[b, i0 + r, h]
        _scale(x[t + r], q[b, i0 + r, h], scale)
        _scale(y[t + r], gy[b, i0 + r, h], np.float32(1))
        _split(xb, t, r, q[b, i0 + r, h], scale, wide)
        _split(yb, t, r, gy[b, i0 + r, h], np.float32(1), wide)

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
        _zero(gq[b, i0 + r, h])
        _join(gq[b, i0 + r, h], acc, t, r, scale, wide)

def _keys(gk, gv, ak, av, t, b, j0, g, wide):
    for j in range(min(64, gk.shape[1] - j0)):
        _join(gk[b, j0 + j, g], ak, t, j, np.float32(1), wide)
        _join(gv[b, j0 + j, g], av, t, j, np.float32(1), wide)

def _clear_keys(gk, gv, b, j0, g):
    for j in range(min(64, gk.shape[1] - j0)):
        _zero(gk[b, j0 + j, g])
        _zero(gv[b, j0 + j, g])

#pythran export attend_back_(float32[:,:,:,:] order(C), float32[:,:,:,:] order(C),
#                            float32[:,:,:,:] order(C), float32[:,:,:,:] order(C),
#                            float32[:,:,:,:] order(C), float32[:,:,:,:] order(C), int64[:],
#                            float32, int, int, float32[:,:,:,:] order(C),
#                            float32[:,:,:] order(C), float32[:,:,:] order(C),
#                            float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C),
#                            float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C),
#                            float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C),
#                            float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C),
#                            float32[:,:] order(C))
def attend_back_(gq, gk, gv, q, k, v, owner, scale, lo, hi, gy, lse, delta, kt, vt, kb, x, y, xb,
                 yb, s, p, top, aq, ak, av):
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
    #omp parallel for schedule(dynamic) firstprivate(scale, lo, hi, T, S, G, H, D, E, NQ, NK)
    for t in range(B * H):
        b = t // H
        h = t - b * H
        for i in range(NQ):
            _start(q, gy, lse, delta, x, y, xb, yb, aq, top, (t * NQ + i) * 64, b, i * 64, h, scale, E)
        for c in range(NK):
            at = (b * G + owner[h]) * NK + c
            u = (t * NK + c) * 64
            j0 = c * 64
            keys = min(64, S - j0)
            clear(ak, u * E, 64 * E)
            clear(av, u * E, 64 * E)
            for i in range(max(0, j0 - hi) // 64, min(NQ, (max(0, j0 + 64 - lo) + 63) // 64)):
                i0 = i * 64
                n = min(64, T - i0)
                w = (t * NQ + i) * 64
                scores(s, x, kt, t * 64, w, at * x.shape[1], n, keys, D)
                scores(p, y, vt, t * 64, w, at * x.shape[1], n, keys, D)
                if j0 < i0 + n - 1 + lo or j0 + 63 > min(S - 1, i0 + hi):
                    hide(s, t * 64, n, i0 + lo - j0, i0 + hi - j0, S - j0)
                _weigh(s, p, top, t * 64, w, n)
                mix(aq, w * E, p, t * 64, kb, at * 64 * E, n, D, keys)
                mix_turned(av, u * E, s, t * 64, yb, w * E, keys, D, n)
                mix_turned(ak, u * E, p, t * 64, xb, w * E, keys, D, n)
        for i in range(NQ):
            _queries(gq, aq, (t * NQ + i) * 64, b, i * 64, h, scale, E)
    #omp parallel for firstprivate(G, NK, H, E)
    for t in range(B * G * NK):
        b = t // (G * NK)
        g = t // NK - b * G
        c = t - t // NK * NK
        _clear_keys(gk, gv, b, c * 64, g)
        for h in range(H):
            if owner[h] == g:
                _keys(gk, gv, ak, av, ((b * H + h) * NK + c) * 64, b, c * 64, g, E)
