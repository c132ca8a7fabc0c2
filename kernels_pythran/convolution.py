"""Convolutions on images (n, h, w c): a row holds its pixels, a pixel its c channels. k and s are
sizes and steps of the window, p the rows and columns of zeros before the image, d how far the
taps of a window are apart, o how many windows there are. Every output row is made by one thread."""
import numpy as np
from ._loops import rest, _add, _copy, _plus, _round, _zero
from ._sums import SERIAL, _column_sums

ZERO = np.float32(0)
ROWS = 16           # whose sums make one


def inside(first, step, taps, n):
    "Which taps of a window that starts at `first` lie within n: from, to."
    if first >= 0 and first + (taps - 1) * step < n:
        return 0, taps          # nearly always, and without a division
    lo = 0 if first >= 0 else min(taps, (step - 1 - first) // step)
    hi = max(lo, min(taps, (n - first + step - 1) // step)) if n > first else lo
    return lo, hi


# The innermost loops start at 0 in slices of their own: an index that is a sum might be negative,
# and is not vectorised.

def _add_times(x, w, y):
    for j in range(y.shape[0]):
        y[j] += x[j] * w[j]


def _window(x, y, c, kh, kw, top, left, dh, dw):
    "One window of the image x as the row y."
    a, b = inside(top, dh, kh, x.shape[0])
    l, r = inside(left, dw, kw, x.shape[1] // c)
    if b - a < kh or r - l < kw:
        _zero(y)
    for ky in range(a, b):
        _pixels(x[top + ky * dh], y, c, left, l, r, dw, ky * kw * c)

def _pixels(x, y, c, left, l, r, dw, base):
    "The taps l to r of a row of a window, whose row in y begins at base."
    if dw == 1:
        if r > l:
            _copy(x[(left + l) * c:(left + r) * c], y[base + l * c:base + r * c])
    else:
        for kx in range(l, r):
            at = (left + kx * dw) * c
            _copy(x[at:at + c], y[base + kx * c:base + kx * c + c])

#pythran export columns(float32[:,:,:] order(C), int, int, int, int, int, int, int, int, int, int,
#                       int, float32[:,:] order(C))
def columns(x, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow, y):
    rows = x.shape[0] * oh
    #omp parallel for
    for t in range(rows):
        n = t // oh
        top = rest(t, oh) * sh - ph
        for ox in range(ow):
            _window(x[n], y[t * ow + ox], c, kh, kw, top, ox * sw - pw, dh, dw)


# few channels: a row of y for each tap and channel, for the runs along a row of the image are long

def _every(x, y, step):
    for j in range(y.shape[0]):
        y[j] = x[j * step]

def _seen(x, j, y, base, n, c, left, sw):
    "What one tap sees of channel j from n windows that begin at `left`, one number each, from base on in y."
    wide = x.shape[0] // c
    lo = 0 if left >= 0 else min(n, (sw - 1 - left) // sw)
    hi = max(lo, min(n, (wide - left + sw - 1) // sw)) if wide > left else lo
    if hi - lo < n:
        _zero(y[base:base + n])
    if hi > lo:
        at = (left + lo * sw) * c + j
        if sw * c == 1:
            _copy(x[at:at + hi - lo], y[base + lo:base + hi])
        else:
            _every(x[at:], y[base + lo:base + hi], sw * c)

def _seen_row(x, y, base, n, c, kh, kw, top, sw, pw, dh, dw):
    for ky in range(kh):
        i = top + ky * dh
        for kx in range(kw):
            for j in range(c):
                k = (ky * kw + kx) * c + j
                if i >= 0 and i < x.shape[0]:
                    _seen(x[i], j, y[k], base, n, c, kx * dw - pw, sw)
                else:
                    _zero(y[k, base:base + n])

#pythran export turned_columns(float32[:,:,:] order(C), int, int, int, int, int, int, int, int, int,
#                              int, int, float32[:,:] order(C))
def turned_columns(x, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow, y):
    rows = x.shape[0] * oh
    #omp parallel for
    for t in range(rows):
        _seen_row(x[t // oh], y, t * ow, ow, c, kh, kw, rest(t, oh) * sh - ph, sw, pw, dh, dw)


def _unwindow(col, x, c, ky, kw, left, dw):
    "Add the taps of row ky of a window to a row of the image."
    l, r = inside(left, dw, kw, x.shape[0] // c)
    base = ky * kw * c
    if dw == 1:
        if r > l:
            _add(col[base + l * c:base + r * c], x[(left + l) * c:(left + r) * c])
    else:
        for kx in range(l, r):
            at = (left + kx * dw) * c
            _add(col[base + kx * c:base + kx * c + c], x[at:at + c])

def _unwindows(col, x, i, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow):
    "What arrives at row i of the image x from the windows of its image."
    for ky in range(kh):
        first = i + ph - ky * dh
        oy = first // sh
        if first >= 0 and oy * sh == first and oy < oh:
            for ox in range(ow):
                _unwindow(col[oy * ow + ox], x, c, ky, kw, ox * sw - pw, dw)

#pythran export columns_back(float32[:,:] order(C), int, int, int, int, int, int, int, int, int,
#                            int, int, int, int, int, float32[:,:,:] order(C))
def columns_back(col, m, h, w, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow, x):
    #omp parallel for
    for t in range(m * h):
        n = t // h
        i = rest(t, h)
        lo = n * oh * ow
        if kh * kw <= SERIAL:
            _zero(x[n, i])
            _unwindows(col[lo:lo + oh * ow], x[n, i], i, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow)
        else:
            s = np.zeros(w * c)
            _unwindows(col[lo:lo + oh * ow], s, i, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow)
            _round(s, x[n, i])


# one filter for each channel; w is (kh kw, c)

def _add_three(a, b, d, u, v, w, y):
    for j in range(y.shape[0]):
        y[j] += (a[j] * u[j] + b[j] * v[j]) + d[j] * w[j]

def _lane(x, w, y, c, kw, ky, sw, pw, dw):
    "Add row ky of the filters over a row of the image to a row of results."
    k = ky * kw
    wide = x.shape[0] // c
    for ox in range(y.shape[0] // c):
        left = ox * sw - pw
        l, r = inside(left, dw, kw, wide)
        if r - l == 3:
            i = (left + l * dw) * c
            s = dw * c
            _add_three(x[i:i + c], x[i + s:i + s + c], x[i + 2 * s:i + 2 * s + c], w[k + l],
                       w[k + l + 1], w[k + l + 2], y[ox * c:ox * c + c])
        else:
            for kx in range(l, r):
                at = (left + kx * dw) * c
                _add_times(x[at:at + c], w[k + kx], y[ox * c:ox * c + c])

#pythran export depthwise(float32[:,:,:] order(C), float32[:,:] order(C), int, int, int, int, int,
#                         int, int, int, int, int, int, float32[:,:,:] order(C))
def depthwise(x, f, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow, y):
    m, h, w = x.shape
    if kh * kw <= SERIAL:
        #omp parallel for
        for t in range(m * oh):
            n = t // oh
            oy = rest(t, oh)
            top = oy * sh - ph
            _zero(y[n, oy])
            a, b = inside(top, dh, kh, h)
            for ky in range(a, b):
                _lane(x[n, top + ky * dh], f, y[n, oy], c, kw, ky, sw, pw, dw)
        return
    #omp parallel for
    for t in range(m * oh):
        n = t // oh
        oy = rest(t, oh)
        top = oy * sh - ph
        s = np.zeros(ow * c)
        a, b = inside(top, dh, kh, h)
        for ky in range(a, b):
            _lane(x[n, top + ky * dh], f, s, c, kw, ky, sw, pw, dw)
        _round(s, y[n, oy])


def _unlane(g, w, x, c, kw, ky, sw, pw, dw):
    wide = x.shape[0] // c
    for ox in range(g.shape[0] // c):
        left = ox * sw - pw
        l, r = inside(left, dw, kw, wide)
        for kx in range(l, r):
            at = (left + kx * dw) * c
            _add_times(g[ox * c:ox * c + c], w[ky * kw + kx], x[at:at + c])

#pythran export depthwise_back(float32[:,:,:] order(C), float32[:,:] order(C), int, int, int, int,
#                              int, int, int, int, int, int, int, int, int,
#                              float32[:,:,:] order(C))
def depthwise_back(g, f, h, w, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow, x):
    m = g.shape[0]
    if kh * kw <= SERIAL:
        #omp parallel for
        for t in range(m * h):
            n = t // h
            i = rest(t, h)
            _zero(x[n, i])
            for ky in range(kh):
                first = i + ph - ky * dh
                oy = first // sh
                if first >= 0 and oy * sh == first and oy < oh:
                    _unlane(g[n, oy], f, x[n, i], c, kw, ky, sw, pw, dw)
        return
    #omp parallel for
    for t in range(m * h):
        n = t // h
        i = rest(t, h)
        s = np.zeros(w * c)
        for ky in range(kh):
            first = i + ph - ky * dh
            oy = first // sh
            if first >= 0 and oy * sh == first and oy < oh:
                _unlane(g[n, oy], f, s, c, kw, ky, sw, pw, dw)
        _round(s, x[n, i])


def _tap_sums(g, x, f, base, c, kw, sw, pw, dw):
    """Add what the taps of one row of the filters have seen of a row of the image, times the
    gradient, from base on in f."""
    wide = x.shape[0] // c
    for ox in range(g.shape[0] // c):
        left = ox * sw - pw
        l, r = inside(left, dw, kw, wide)
        for kx in range(l, r):
            at = (left + kx * dw) * c
            _add_times(g[ox * c:ox * c + c], x[at:at + c], f[base + kx * c:base + kx * c + c])

#pythran export depthwise_filters(float32[:,:,:] order(C), float32[:,:,:] order(C), int, int, int,
#                                 int, int, int, int, int, int, int, int, float32[:,:] order(C))
def depthwise_filters(g, x, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow, f):
    m, h, w = x.shape
    cuts = (ow + SERIAL - 1) // SERIAL
    lots = m * oh * cuts
    groups = (lots + ROWS - 1) // ROWS
    part = np.zeros((groups, kh * kw * c), np.float32)
    #omp parallel for firstprivate(cuts, lots)
    for k in range(groups):
        row = np.zeros(kh * kw * c, np.float32)
        for lot in range(k * ROWS, min(lots, k * ROWS + ROWS)):
            t = lot // cuts
            n = t // oh
            top = rest(t, oh) * sh - ph
            a, b = inside(top, dh, kh, h)
            lo = rest(lot, cuts) * SERIAL
            _zero(row)
            for ky in range(a, b):
                if cuts == 1:
                    _tap_sums(g[n, rest(t, oh)], x[n, top + ky * dh], row, ky * kw * c, c, kw, sw, pw, dw)
                else:
                    _tap_sums(g[n, rest(t, oh), lo * c:min(ow, lo + SERIAL) * c],
                              x[n, top + ky * dh], row, ky * kw * c, c, kw, sw, pw - lo * sw, dw)
            _add(row, part[k])
    for i in range(kh * kw):
        _column_sums(part[:, i * c:i * c + c], f[i])


# Winograd's F(2x2, 3x3): a tile of 4x4 becomes 16 planes, 16 planes become a tile of 2x2

def _minus(a, b, y):
    for j in range(y.shape[0]):
        y[j] = a[j] - b[j]

def _plane_row(m, y0, y1, y2, y3, c, tw, t):
    for k in range(tw):
        i = 2 * k * c
        o = (t + k) * c
        _minus(m[i:i + c], m[i + 2 * c:i + 3 * c], y0[o:o + c])
        _plus(m[i + c:i + 2 * c], m[i + 2 * c:i + 3 * c], y1[o:o + c])
        _minus(m[i + 2 * c:i + 3 * c], m[i + c:i + 2 * c], y2[o:o + c])
        _minus(m[i + c:i + 2 * c], m[i + 3 * c:i + 4 * c], y3[o:o + c])

def _load(x, rows, top, skip, to, n):
    for i in range(rows.shape[0]):
        if top + i >= 0 and top + i < x.shape[0]:
            _copy(x[top + i, skip:skip + n], rows[i, to:to + n])

def _mix(a, b, c, d, y0, y1, y2, y3):
    for j in range(y0.shape[0]):
        y0[j] = a[j] - c[j]
        y1[j] = b[j] + c[j]
    for j in range(y0.shape[0]):
        y2[j] = c[j] - b[j]
        y3[j] = b[j] - d[j]

def _strip(x, v, c, top, skip, to, n, tw, t):
    "The tiles of four rows of the image x, of which v takes planes from tile t on."
    rows = np.zeros((4, (2 * tw + 2) * c), np.float32)
    mixed = np.empty((4, (2 * tw + 2) * c), np.float32)
    _load(x, rows, top, skip, to, n)
    _mix(rows[0], rows[1], rows[2], rows[3], mixed[0], mixed[1], mixed[2], mixed[3])
    for i in range(mixed.shape[0]):
        _plane_row(mixed[i], v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3], c, tw, t)

#pythran export tiles_(float32[:,:] order(C), float32[:,:,:] order(C), int, int, int, int, int)
def tiles_(v, x, c, ph, pw, th, tw):
    m = x.shape[0] * th
    skip = max(0, -pw) * c
    to = max(0, pw) * c
    n = min(x.shape[2] - skip, (2 * tw + 2) * c - to)
    #omp parallel for firstprivate(skip, to, n)
    for t in range(m):
        k = t // th
        _strip(x[k], v, c, 2 * rest(t, th) - ph, skip, to, n, tw, t * tw)


def _sum3(a, b, c, y):
    for j in range(a.shape[0]):
        y[j] = a[j] + b[j] + c[j]

def _difference3(a, b, c, y):
    for j in range(a.shape[0]):
        y[j] = a[j] - b[j] - c[j]

def _even(a, b, c, bias, y):
    for j in range(y.shape[0]):
        y[j] = a[j] + b[j] + c[j] + bias[j]

def _odd(a, b, c, bias, y):
    for j in range(y.shape[0]):
        y[j] = a[j] - b[j] - c[j] + bias[j]

def _positive(y):
    for j in range(y.shape[0]):
        y[j] = y[j] if not (y[j] <= ZERO) else ZERO

def _pair_row(a, b, c, d, bias, y, n, tw):
    for k in range(tw):
        i = k * n
        o = 2 * k * n
        _even(a[i:i + n], b[i:i + n], c[i:i + n], bias, y[o:o + n])
        if o + n < y.shape[0]:
            _odd(b[i:i + n], c[i:i + n], d[i:i + n], bias, y[o + n:o + 2 * n])

def _two_rows(v, bias, y, c, oy, relu, tw, t):
    a = t * c
    b = (t + tw) * c
    rows = np.empty((8, tw * c), np.float32)
    for j in range(4):
        _sum3(v[j, a:b], v[4 + j, a:b], v[8 + j, a:b], rows[j])
        _difference3(v[4 + j, a:b], v[8 + j, a:b], v[12 + j, a:b], rows[4 + j])
    for i in range(min(2, y.shape[0] - oy)):
        _pair_row(rows[4 * i], rows[4 * i + 1], rows[4 * i + 2], rows[4 * i + 3], bias, y[oy + i], c, tw)
        if relu:
            _positive(y[oy + i])

#pythran export untiled_(float32[:,:,:] order(C), float32[:,:] order(C), float32[], int)
def untiled_(y, v, bias, relu):
    th = (y.shape[1] + 1) // 2
    tw = (y.shape[2] // bias.shape[0] + 1) // 2
    m = y.shape[0] * th
    #omp parallel for
    for t in range(m):
        n = t // th
        _two_rows(v, bias, y[n], bias.shape[0], 2 * rest(t, th), relu, tw, t * tw)


# the adjoint of untiled_: a tile of 2x2 becomes 16 planes

def _minus_one(x, y):
    for j in range(y.shape[0]):
        y[j] = -x[j]

def _four_of(g, y0, y1, y2, y3, c, tw, t):
    "The planes of a row of pairs."
    for k in range(tw):
        i = 2 * k * c
        o = (t + k) * c
        _copy(g[i:i + c], y0[o:o + c])
        if i + c < g.shape[0]:
            _plus(g[i:i + c], g[i + c:i + 2 * c], y1[o:o + c])
            _minus(g[i:i + c], g[i + c:i + 2 * c], y2[o:o + c])
            _minus_one(g[i + c:i + 2 * c], y3[o:o + c])
        else:
            _copy(g[i:i + c], y1[o:o + c])
            _copy(g[i:i + c], y2[o:o + c])
            _zero(y3[o:o + c])

def _two_spread(g, v, c, oy, tw, t):
    "The tiles of two rows of the image g; there may be only one."
    n = g.shape[1]
    if oy + 1 < g.shape[0]:
        rows = np.empty((3, n), np.float32)
        _plus(g[oy], g[oy + 1], rows[0])
        _minus(g[oy], g[oy + 1], rows[1])
        _minus_one(g[oy + 1], rows[2])
        _four_of(g[oy], v[0], v[1], v[2], v[3], c, tw, t)
        for i in range(3):
            _four_of(rows[i], v[4 * i + 4], v[4 * i + 5], v[4 * i + 6], v[4 * i + 7], c, tw, t)
    else:
        for i in range(3):
            _four_of(g[oy], v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3], c, tw, t)
        for i in range(12, 16):
            _zero(v[i, t * c:(t + tw) * c])

#pythran export spread_(float32[:,:] order(C), float32[:,:,:] order(C), int)
def spread_(v, g, c):
    th = (g.shape[1] + 1) // 2
    tw = (g.shape[2] // c + 1) // 2
    m = g.shape[0] * th
    #omp parallel for firstprivate(th, tw)
    for t in range(m):
        n = t // th
        _two_spread(g[n], v, c, 2 * rest(t, th), tw, t * tw)
