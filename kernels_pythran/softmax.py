"""Scores become shares, row by row."""
import numpy as np
from ._loops import parts, strip, strips, _add
from ._sums import BLOCK, quarters, total_quarters

NARROW = 64         # rows up to this long go together, LANES of them: an exp takes whole vectors
LANES = 64


def block2(x, y):
    s = np.float32(0)
    #omp simd reduction(+:s)
    for j in range(x.shape[0]):
        s += x[j] * y[j]
    return s

def total_product(x, y):
    n = x.shape[0]
    s = 0.
    for lo in range(0, n, BLOCK):
        hi = min(n, lo + BLOCK)
        s += block2(x[lo:hi], y[lo:hi])
    return s


#pythran export softmax_last(float32[:,:] order(C), float32[:,:] order(C))
def softmax_last(x, y):
    size = x.shape[0] * x.shape[1]
    #omp parallel for if(size > 4096)
    for i in range(x.shape[0]):
        m = np.max(x[i])
        y[i] = np.exp(x[i] - m)
        y[i] *= np.float32(1 / total_quarters(y[i]))

#pythran export softmax_last_backward(float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C))
def softmax_last_backward(g, y, gx):
    size = g.shape[0] * g.shape[1]
    #omp parallel for if(size > 4096)
    for i in range(g.shape[0]):
        s = np.float32(total_product(g[i], y[i]))
        gx[i] = y[i] * (g[i] - s)

#pythran export log_softmax_last(float32[:,:] order(C), float32[:,:] order(C))
def log_softmax_last(x, y):
    size = x.shape[0] * x.shape[1]
    #omp parallel for if(size > 4096)
    for i in range(x.shape[0]):
        m = np.max(x[i])
        if m - m != 0:
            m = np.float32(0)
        y[i] = np.exp(x[i] - m)
        s = np.float32(np.log(total_quarters(y[i])))
        y[i] = x[i] - m
        y[i] -= s

#pythran export log_softmax_last_backward(float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C))
def log_softmax_last_backward(g, y, gx):
    size = g.shape[0] * g.shape[1]
    #omp parallel for if(size > 4096)
    for i in range(g.shape[0]):
        s = np.float32(total_quarters(g[i]))
        gx[i] = np.exp(y[i])
        gx[i] = g[i] - gx[i] * s

def total_exp(x, m, t):
    "Sum of exp(x - m) in blocks; t is room for one."
    n = x.shape[0]
    s = 0.
    for lo in range(0, n, BLOCK):
        hi = min(n, lo + BLOCK)
        t[:hi - lo] = np.exp(x[lo:hi] - m)
        s += quarters(t[:hi - lo])
    return s

def _lower(x, e, m):
    "x - max of each row, one row after the other in e; the maxima, 0 for infinite ones, in m."
    n = x.shape[1]
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(1, n):
            top = x[i, j] if x[i, j] > top else top
        m[i] = top if top - top == 0 else np.float32(0)
        for j in range(n):
            e[i * n + j] = x[i, j] - m[i]

def _sums_of(e, s, n):
    for i in range(s.shape[0]):
        a = np.float32(0)
        for j in range(n):
            a += e[i * n + j]
        s[i] = a

def narrow_logsumexp(x, y):
    rows, n = x.shape
    e = np.empty(rows * n, np.float32)
    m = np.empty(rows, np.float32)
    _lower(x, e, m)
    e[:] = np.exp(e)
    _sums_of(e, y, n)
    y[:] = np.log(y)
    y += m

#pythran export logsumexp_last(float32[:,:] order(C), float32[])
def logsumexp_last(x, y):
    size = x.shape[0] * x.shape[1]
    if x.shape[1] <= NARROW:
        rows = x.shape[0]
        #omp parallel for firstprivate(rows) if(size > 4096)
        for t in range(parts(rows, LANES)):
            lo = t * LANES
            hi = min(rows, lo + LANES)
            narrow_logsumexp(x[lo:hi], y[lo:hi])
        return
    #omp parallel for if(size > 4096)
    for i in range(x.shape[0]):
        m = np.max(x[i])
        if m - m != 0:
            m = np.float32(0)
        t = np.empty(min(x.shape[1], BLOCK), np.float32)
        y[i] = m + np.float32(np.log(total_exp(x[i], m, t)))

def shift(y): return np.float32(0) if y < np.float32(-3.4028235e38) else y

def _below(x, y, e):
    n = x.shape[1]
    for i in range(x.shape[0]):
        m = shift(y[i])
        for j in range(n):
            e[i * n + j] = x[i, j] - m

def _edges(d, e):
    "As in unary: exp of whole vectors ends before float32 does."
    for i in range(d.shape[0]):
        if d[i] > 88 or d[i] < -87:
            e[i] = np.exp(d[i])

def _weigh(e, g, gx):
    n = gx.shape[1]
    for i in range(gx.shape[0]):
        for j in range(n):
            gx[i, j] = e[i * n + j] * g[i]

def narrow_logsumexp_back(x, y, g, gx):
    d = np.empty(x.shape[0] * x.shape[1], np.float32)
    _below(x, y, d)
    e = np.exp(d)
    _edges(d, e)
    _weigh(e, g, gx)

#pythran export logsumexp_last_backward(float32[:,:] order(C), float32[], float32[], float32[:,:] order(C))
def logsumexp_last_backward(x, y, g, gx):
    size = x.shape[0] * x.shape[1]
    if x.shape[1] <= NARROW:
        rows = x.shape[0]
        #omp parallel for firstprivate(rows) if(size > 4096)
        for t in range(parts(rows, LANES)):
            lo = t * LANES
            hi = min(rows, lo + LANES)
            narrow_logsumexp_back(x[lo:hi], y[lo:hi], g[lo:hi], gx[lo:hi])
        return
    #omp parallel for if(size > 4096)
    for i in range(x.shape[0]):
        m = shift(y[i])
        gx[i] = np.exp(x[i] - m)
        gx[i] *= g[i]


def _scores(x, y, c, scale):
    for j in range(c):
        y[j] = x[j] * scale

def _masked_scores(x, y, c, scale, mask, slope):
    for j in range(c):
        y[j] = x[j] * scale + slope * mask[j]

def _fill(y, lo, hi, v):
    for j in range(lo, hi):
        y[j] = v

def _times(y, c, s):
    for j in range(c):
        y[j] *= s

# `whole` is `c` up to a full vector: a remainder of single numbers takes as long as hundreds of the others
#pythran export softmax_scores(float32[:,:] order(C), float32, float32[:,:] order(C), int64[], float32[], float32[],
#                              int64[], float32[:,:] order(C))
def softmax_scores(x, scale, mask, at, slope, sink, limit, y):
    size = x.shape[0] * x.shape[1]
    #omp parallel for schedule(static, 16) firstprivate(scale) if(size > 4096)
    for i in range(x.shape[0]):
        c = limit[i]
        whole = min(x.shape[1], (c + 31) // 32 * 32)
        if at[i] < 0:
            _scores(x[i], y[i], c, scale)
        else:
            _masked_scores(x[i], y[i], c, scale, mask[at[i]], slope[i])
        _fill(y[i], c, whole, np.float32(-np.inf))
        m = max(np.max(y[i, :whole]), sink[i])
        y[i, :whole] = np.exp(y[i, :whole] - m)
        s = total_quarters(y[i, :whole]) + np.exp(sink[i] - m)
        _times(y[i], c, np.float32(1 / s))
        _fill(y[i], c, x.shape[1], np.float32(0))


def _scores_back(g, y, gx, c, s, scale):
    for j in range(c):
        gx[j] = y[j] * (g[j] - s) * scale

#pythran export softmax_scores_backward(float32[:,:] order(C), float32[:,:] order(C), float32, int64[],
#                                       float32[:,:] order(C))
def softmax_scores_backward(g, y, scale, limit, gx):
    size = g.shape[0] * g.shape[1]
    #omp parallel for schedule(static, 16) firstprivate(scale) if(size > 4096)
    for i in range(g.shape[0]):
        c = limit[i]
        s = np.float32(total_product(g[i, :c], y[i, :c]))
        _scores_back(g[i], y[i], gx[i], c, s, scale)
        _fill(gx[i], c, g.shape[1], np.float32(0))


# along a middle axis: (outer, n, inner), STRIP lanes side by side, each pass down the n rows of the strip; sums in f64

STRIP = 256

def peaks(x):
    m = x[0].copy()
    for i in range(1, x.shape[0]):
        for j in range(m.shape[0]):
            m[j] = x[i, j] if x[i, j] > m[j] else m[j]
    return m

def _guard(m):
    for j in range(m.shape[0]):
        m[j] = m[j] if m[j] - m[j] == 0 else np.float32(0)

def _add_rows(x, s):
    for i in range(x.shape[0]):
        for j in range(s.shape[0]):
            s[j] += x[i, j]

def _add_products(x, y, s):
    for i in range(x.shape[0]):
        for j in range(s.shape[0]):
            s[j] += x[i, j] * y[i, j]

def _scale(y, r):
    for i in range(y.shape[0]):
        for j in range(r.shape[0]):
            y[i, j] *= r[j]

def _less(x, y, m, s):
    for i in range(x.shape[0]):
        for j in range(m.shape[0]):
            y[i, j] = x[i, j] - m[j] - s[j]

def _mid_back(g, y, gx, s):
    for i in range(g.shape[0]):
        for j in range(s.shape[0]):
            gx[i, j] = y[i, j] * (g[i, j] - s[j])

def _mid_log_back(g, gx, s):
    for j in range(s.shape[0]):
        gx[j] = g[j] - gx[j] * s[j]

#pythran export softmax_mid(float32[:,:,:] order(C), float32[:,:,:] order(C))
def softmax_mid(x, y):
    size, n = x.shape[0] * x.shape[1] * x.shape[2], x.shape[1]
    #omp parallel for firstprivate(n) if(size > 4096)
    for p in strips(x, STRIP):
        o, lo, hi = strip(p, x, STRIP)
        m = peaks(x[o, :, lo:hi])
        s = np.zeros(hi - lo)
        for i in range(n):
            y[o, i, lo:hi] = np.exp(x[o, i, lo:hi] - m)
            _add(y[o, i, lo:hi], s)
        for j in range(hi - lo):
            m[j] = np.float32(1 / s[j])
        _scale(y[o, :, lo:hi], m)

#pythran export softmax_mid_backward(float32[:,:,:] order(C), float32[:,:,:] order(C), float32[:,:,:] order(C))
def softmax_mid_backward(g, y, gx):
    size = g.shape[0] * g.shape[1] * g.shape[2]
    #omp parallel for if(size > 4096)
    for p in strips(g, STRIP):
        o, lo, hi = strip(p, g, STRIP)
        s = np.zeros(hi - lo)
        _add_products(g[o, :, lo:hi], y[o, :, lo:hi], s)
        _mid_back(g[o, :, lo:hi], y[o, :, lo:hi], gx[o, :, lo:hi], s.astype(np.float32))

#pythran export log_softmax_mid(float32[:,:,:] order(C), float32[:,:,:] order(C))
def log_softmax_mid(x, y):
    size, n = x.shape[0] * x.shape[1] * x.shape[2], x.shape[1]
    #omp parallel for firstprivate(n) if(size > 4096)
    for p in strips(x, STRIP):
        o, lo, hi = strip(p, x, STRIP)
        m = peaks(x[o, :, lo:hi])
        _guard(m)
        s = np.zeros(hi - lo)
        for i in range(n):
            y[o, i, lo:hi] = np.exp(x[o, i, lo:hi] - m)
            _add(y[o, i, lo:hi], s)
        t = np.empty(hi - lo, np.float32)
        for j in range(hi - lo):
            t[j] = np.float32(np.log(s[j]))
        _less(x[o, :, lo:hi], y[o, :, lo:hi], m, t)

#pythran export log_softmax_mid_backward(float32[:,:,:] order(C), float32[:,:,:] order(C), float32[:,:,:] order(C))
def log_softmax_mid_backward(g, y, gx):
    size, n = g.shape[0] * g.shape[1] * g.shape[2], g.shape[1]
    #omp parallel for firstprivate(n) if(size > 4096)
    for p in strips(g, STRIP):
        o, lo, hi = strip(p, g, STRIP)
        s = np.zeros(hi - lo)
        _add_rows(g[o, :, lo:hi], s)
        t = s.astype(np.float32)
        for i in range(n):
            gx[o, i, lo:hi] = np.exp(y[o, i, lo:hi])
            _mid_log_back(g[o, i, lo:hi], gx[o, i, lo:hi], t)
