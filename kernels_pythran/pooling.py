"""Windows that take the largest or the mean, pixels twice as large, numbers for each channel.
Images are (n, h, w c); every output row is made by one thread.

A product and a sum are rounded separately, as NumPy does.
"""
# compile with: -ffp-contract=off
import numpy as np
from ._loops import rest, _add, _round, _zero
from ._sums import SERIAL, _column_sums

ZERO = np.float32(0)
ONE = np.float32(1)
ROWS = 64


# The innermost loops start at 0 in slices of their own: an index that is a sum might be negative,
# and is not vectorised.

def _first(x, y, which, k):
    for j in range(y.shape[0]):
        y[j] = x[j]
        which[j] = k

def _better(x, y, which, k):
    for j in range(y.shape[0]):
        new = x[j]
        old = y[j]
        was = which[j]
        take = (new > old) | ((old != old) & (new == new))
        y[j] = new if take else old
        which[j] = k if take else was

def _largest(x, y, which, c, top, kh, kw, sw, pw, ow):
    w = x.shape[1] // c
    for ox in range(ow):
        left = ox * sw - pw
        fresh = True
        for ky in range(kh):
            if top + ky >= 0 and top + ky < x.shape[0]:
                for kx in range(kw):
                    if left + kx >= 0 and left + kx < w:
                        at = (left + kx) * c
                        to = ox * c
                        if fresh:
                            _first(x[top + ky, at:at + c], y[to:to + c], which[to:to + c], np.int32(ky * kw + kx))
                        else:
                            _better(x[top + ky, at:at + c], y[to:to + c], which[to:to + c], np.int32(ky * kw + kx))
                        fresh = False

#pythran export max_pool(float32[:,:,:] order(C), int, int, int, int, int, int, int, int, int,
#                        float32[:,:,:] order(C), int32[:,:,:] order(C))
def max_pool(x, c, kh, kw, sh, sw, ph, pw, oh, ow, y, at):
    m = x.shape[0]
    #omp parallel for
    for t in range(m * oh):
        n = t // oh
        o = rest(t, oh)
        _largest(x[n], y[n, o], at[n, o], c, o * sh - ph, kh, kw, sw, pw, ow)


def _to_winner(g, which, x, k):
    for j in range(x.shape[0]):
        v = g[j]
        x[j] += v if which[j] == k else ZERO

def _winners(g, which, x, c, ky, kw, sw, pw, w):
    for ox in range(g.shape[0] // c):
        for kx in range(kw):
            i = ox * sw - pw + kx
            if i >= 0 and i < w:
                o = ox * c
                _to_winner(g[o:o + c], which[o:o + c], x[i * c:i * c + c], np.int32(ky * kw + kx))

def _winners_row(g, at, x, i, w, c, kh, kw, sh, sw, ph, pw, oh):
    "What arrives at row i of the image x."
    for ky in range(kh):
        o = (i + ph - ky) // sh
        if i + ph >= ky and o * sh == i + ph - ky and o < oh:
            _winners(g[o], at[o], x, c, ky, kw, sw, pw, w)

#pythran export max_pool_back(float32[:,:,:] order(C), int32[:,:,:] order(C), int, int, int, int,
#                             int, int, int, int, int, int, int, float32[:,:,:] order(C))
def max_pool_back(g, at, h, w, c, kh, kw, sh, sw, ph, pw, oh, ow, x):
    m = g.shape[0]
    #omp parallel for
    for t in range(m * h):
        n = t // h
        i = rest(t, h)
        if kh * kw <= SERIAL:
            _zero(x[n, i])
            _winners_row(g[n], at[n], x[n, i], i, w, c, kh, kw, sh, sw, ph, pw, oh)
        else:
            s = np.zeros(w * c)
            _winners_row(g[n], at[n], s, i, w, c, kh, kw, sh, sw, ph, pw, oh)
            _round(s, x[n, i])


def _scale(y, s):
    for j in range(y.shape[0]):
        y[j] *= s

def _mean(x, y, c, top, kh, kw, sw, pw, ow):
    w = x.shape[1] // c
    for ox in range(ow):
        left = ox * sw - pw
        count = 0
        for ky in range(kh):
            if top + ky >= 0 and top + ky < x.shape[0]:
                for kx in range(kw):
                    if left + kx >= 0 and left + kx < w:
                        at = (left + kx) * c
                        _add(x[top + ky, at:at + c], y[ox * c:ox * c + c])
                        count += 1
        _scale(y[ox * c:ox * c + c], np.float32(ONE / np.float32(count)))

def _mean_row(x, y, c, top, kh, kw, sw, pw, ow):
    if kh * kw <= SERIAL:
        _zero(y)
        _mean(x, y, c, top, kh, kw, sw, pw, ow)
    else:
        s = np.zeros(y.shape[0])
        _mean(x, s, c, top, kh, kw, sw, pw, ow)
        _round(s, y)

#pythran export avg_pool(float32[:,:,:] order(C), int, int, int, int, int, int, int, int, int,
#                        float32[:,:,:] order(C))
def avg_pool(x, c, kh, kw, sh, sw, ph, pw, oh, ow, y):
    m = x.shape[0]
    #omp parallel for
    for t in range(m * oh):
        n = t // oh
        o = rest(t, oh)
        _mean_row(x[n], y[n, o], c, o * sh - ph, kh, kw, sw, pw, ow)


def _add_scaled(g, x, s):
    for j in range(x.shape[0]):
        x[j] += g[j] * s

def _shares(g, x, c, rows, kw, sw, pw, w):
    for ox in range(g.shape[0] // c):
        left = ox * sw - pw
        lo = max(0, left)
        hi = min(w, left + kw)
        s = np.float32(ONE / np.float32(rows * (hi - lo)))
        for i in range(lo, hi):
            _add_scaled(g[ox * c:ox * c + c], x[i * c:i * c + c], s)

def _shares_row(g, x, i, h, w, c, kh, kw, sh, sw, ph, pw, oh):
    for ky in range(kh):
        o = (i + ph - ky) // sh
        if i + ph >= ky and o * sh == i + ph - ky and o < oh:
            top = o * sh - ph
            _shares(g[o], x, c, min(h, top + kh) - max(0, top), kw, sw, pw, w)

#pythran export avg_pool_back(float32[:,:,:] order(C), int, int, int, int, int, int, int, int,
#                             int, int, int, float32[:,:,:] order(C))
def avg_pool_back(g, h, w, c, kh, kw, sh, sw, ph, pw, oh, ow, x):
    m = g.shape[0]
    #omp parallel for
    for t in range(m * h):
        n = t // h
        i = rest(t, h)
        if kh * kw <= SERIAL:
            _zero(x[n, i])
            _shares_row(g[n], x[n, i], i, h, w, c, kh, kw, sh, sw, ph, pw, oh)
        else:
            s = np.zeros(w * c)
            _shares_row(g[n], s, i, h, w, c, kh, kw, sh, sw, ph, pw, oh)
            _round(s, x[n, i])


def _both(x, y, z):
    for j in range(x.shape[0]):
        y[j] = x[j]
        z[j] = x[j]

def _twice(x, y, c):
    for i in range(x.shape[0] // c):
        o = 2 * i * c
        _both(x[i * c:i * c + c], y[o:o + c], y[o + c:o + 2 * c])

#pythran export doubled(float32[:,:,:] order(C), int, float32[:,:,:] order(C))
def doubled(x, c, y):
    m, h, w = x.shape
    #omp parallel for
    for t in range(m * h):
        n = t // h
        i = rest(t, h)
        _twice(x[n, i], y[n, 2 * i], c)
        _twice(x[n, i], y[n, 2 * i + 1], c)

def _four(a, b, d, e, x):
    for j in range(x.shape[0]):
        x[j] = (a[j] + b[j]) + (d[j] + e[j])

def _squares(a, b, x, c):
    for i in range(x.shape[0] // c):
        o = 2 * i * c
        _four(a[o:o + c], a[o + c:o + 2 * c], b[o:o + c], b[o + c:o + 2 * c], x[i * c:i * c + c])

#pythran export doubled_back(float32[:,:,:] order(C), int, float32[:,:,:] order(C))
def doubled_back(g, c, x):
    m, h, w = x.shape
    #omp parallel for
    for t in range(m * h):
        n = t // h
        i = rest(t, h)
        _squares(g[n, 2 * i], g[n, 2 * i + 1], x[n, i], c)


# one number for each column; a product is stored before it is chosen or not, for a choice between products is a branch

def _bend(x, a, y):
    for j in range(x.shape[0]):
        y[j] = x[j] * a[j]
    for j in range(x.shape[0]):
        y[j] = x[j] if x[j] > ZERO else y[j]

#pythran export prelu(float32[:,:] order(C), float32[], float32[:,:] order(C))
def prelu(x, a, y):
    #omp parallel for
    for i in range(x.shape[0]):
        _bend(x[i], a, y[i])

def _bend_back(g, x, a, gx, part):
    for j in range(x.shape[0]):
        gx[j] = g[j] * x[j]
    for j in range(x.shape[0]):
        gx[j] = ZERO if x[j] > ZERO else gx[j]
    for j in range(x.shape[0]):
        part[j] += gx[j]
    for j in range(x.shape[0]):
        gx[j] = g[j] * a[j]
    for j in range(x.shape[0]):
        gx[j] = g[j] if x[j] > ZERO else gx[j]

#pythran export prelu_back(float32[:,:] order(C), float32[:,:] order(C), float32[],
#                          float32[:,:] order(C), float32[])
def prelu_back(g, x, a, gx, ga):
    rows, n = x.shape
    part = np.zeros(((rows + ROWS - 1) // ROWS, n), np.float32)
    #omp parallel for firstprivate(rows)
    for c in range(part.shape[0]):
        for i in range(c * ROWS, min(rows, c * ROWS + ROWS)):
            _bend_back(g[i], x[i], a, gx[i], part[c])
    _column_sums(part, ga)

def _affine(x, s, b, y):
    for j in range(x.shape[0]):
        y[j] = x[j] * s[j] + b[j]

#pythran export channel_affine(float32[:,:] order(C), float32[], float32[], float32[:,:] order(C))
def channel_affine(x, s, b, y):
    #omp parallel for
    for i in range(x.shape[0]):
        _affine(x[i], s, b, y[i])

def _affine_back(g, x, s, gx, ps, pb):
    for j in range(x.shape[0]):
        gx[j] = g[j] * s[j]
        ps[j] += g[j] * x[j]
    for j in range(x.shape[0]):
        pb[j] += g[j]

#pythran export channel_affine_back(float32[:,:] order(C), float32[:,:] order(C), float32[],
#                                   float32[:,:] order(C), float32[], float32[])
def channel_affine_back(g, x, s, gx, gs, gb):
    rows, n = x.shape
    part = np.zeros(((rows + ROWS - 1) // ROWS, n), np.float32)
    flat = np.zeros(((rows + ROWS - 1) // ROWS, n), np.float32)
    #omp parallel for firstprivate(rows)
    for c in range(part.shape[0]):
        for i in range(c * ROWS, min(rows, c * ROWS + ROWS)):
            _affine_back(g[i], x[i], s, gx[i], part[c], flat[c])
    _column_sums(part, gs)
    _column_sums(flat, gb)
