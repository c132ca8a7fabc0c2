"""Rows brought to one mean and one size. Sums over columns are made in groups of ROWS rows in
float32, the groups in float64.

A row whose factor is beyond what float32 computes well goes through float64; see _spans.
"""
import numpy as np
from ._spans import average, average_again, distances, far, plain, squares
from ._sums import BLOCK, _column_sums

ROWS = 64


def total_product(x, y):
    s = 0.
    for lo in range(0, x.shape[0], BLOCK):
        hi = min(x.shape[0], lo + BLOCK)
        s += np.sum(x[lo:hi] * y[lo:hi])
    return s

def total_weighted(g, w, x):
    "Sum of g w x."
    s = 0.
    for lo in range(0, x.shape[0], BLOCK):
        hi = min(x.shape[0], lo + BLOCK)
        s += np.sum(g[lo:hi] * w[lo:hi] * x[lo:hi])
    return s

def total_spread(g, w, x, c):
    "Sum of g w (x - c)."
    s = 0.
    for lo in range(0, x.shape[0], BLOCK):
        hi = min(x.shape[0], lo + BLOCK)
        s += np.sum(g[lo:hi] * w[lo:hi] * (x[lo:hi] - c))
    return s

def groups(n): return (n + ROWS - 1) // ROWS


def _wide(x, w, m, r, y):
    for j in range(x.shape[0]):
        y[j] = np.float32((x[j] - m) * r * w[j])

def _wide_plain(x, r, y):
    for j in range(x.shape[0]):
        y[j] = np.float32(x[j] * r)

#pythran export rms_norm(float32[:,:] order(C), float64, float32[:,:] order(C), float64[])
def rms_norm(x, eps, y, r):
    rows, n = x.shape
    #omp parallel for firstprivate(eps) if(rows * n > 32768)
    for i in range(rows):
        v = 1 / np.sqrt(squares(x[i], eps) / x.shape[1] + eps)
        r[i] = v
        if plain(v):
            y[i] = x[i] * np.float32(v)
        else:
            _wide_plain(x[i], v, y[i])

#pythran export rms_norm_weighted(float32[:,:] order(C), float32[], float64, float32[:,:] order(C), float64[])
def rms_norm_weighted(x, w, eps, y, r):
    rows, n = x.shape
    #omp parallel for firstprivate(eps) if(rows * n > 32768)
    for i in range(rows):
        v = 1 / np.sqrt(squares(x[i], eps) / x.shape[1] + eps)
        r[i] = v
        if plain(v):
            y[i] = x[i] * np.float32(v) * w
        else:
            _wide(x[i], w, 0., v, y[i])


def _rms_dx(g, x, w, gx, r, q):
    for j in range(x.shape[0]):
        gx[j] = (g[j] * w[j] - x[j] * q) * r

def _add_columns(g, x, r, gw):
    for j in range(x.shape[0]):
        gw[j] += g[j] * (x[j] * r)

def _wide_back(g, x, w, m, r, centred, gx, gw):
    "The gradients of one row, rounded once."
    n = x.shape[0]
    a = 0.
    q = 0.
    for j in range(n):
        a += np.float64(g[j]) * w[j]
        q += np.float64(g[j]) * w[j] * ((x[j] - m) * r)
    a = a / n if centred else 0.
    q = q / n
    for j in range(n):
        h = (x[j] - m) * r
        gx[j] = np.float32((np.float64(g[j]) * w[j] - a - h * q) * r)
        gw[j] += np.float32(g[j] * h)

#pythran export rms_norm_backward(float32[:,:] order(C), float32[:,:] order(C), float32[],
#                                 float64[], float32[:,:] order(C), float32[])
def rms_norm_backward(g, x, w, r, gx, gw):
    rows, n = x.shape
    part = np.zeros((groups(rows), n), np.float32)
    #omp parallel for firstprivate(rows, n) if(rows * n > 32768)
    for c in range(part.shape[0]):
        for i in range(c * ROWS, min(rows, c * ROWS + ROWS)):
            if plain(r[i]):
                q = np.float32(total_weighted(g[i], w, x[i]) * r[i] * r[i] / n)
                _rms_dx(g[i], x[i], w, gx[i], np.float32(r[i]), q)
                _add_columns(g[i], x[i], np.float32(r[i]), part[c])
            else:
                _wide_back(g[i], x[i], w, 0., r[i], False, gx[i], part[c])
    _column_sums(part, gw)


def _affine(x, w, b, y, c, u, r):
    for j in range(x.shape[0]):
        y[j] = ((x[j] - c) * r - u) * w[j] + b[j]

def _wide_affine(x, w, b, y, m, r):
    for j in range(x.shape[0]):
        y[j] = np.float32((x[j] - m) * r * w[j] + b[j])

#pythran export layer_norm(float32[:,:] order(C), float32[], float32[], float64,
#                          float32[:,:] order(C), float64[], float64[])
def layer_norm(x, w, b, eps, y, mean, rstd):
    rows, n = x.shape
    #omp parallel for firstprivate(eps, n) if(rows * n > 32768)
    for i in range(rows):
        m = average(x[i])
        s = distances(x[i], m, eps)
        if far(0., m, s, n):
            m = average_again(x[i], m)
            s = distances(x[i], m, eps)
        r = 1 / np.sqrt(s / x.shape[1] + eps)
        mean[i] = m
        rstd[i] = r
        if plain(r):
            c = np.float32(m)
            _affine(x[i], w, b, y[i], c, np.float32((m - c) * r), np.float32(r))
        else:
            _wide_affine(x[i], w, b, y[i], m, r)


def _layer_dx(g, x, w, gx, c, r, a, q):
    for j in range(x.shape[0]):
        gx[j] = (g[j] * w[j] - a - (x[j] - c) * q) * r

def _add_spread(g, x, c, u, r, gw):
    for j in range(x.shape[0]):
        gw[j] += g[j] * ((x[j] - c) * r - u)

def _add_row(g, gb):
    for j in range(g.shape[0]):
        gb[j] += g[j]

#pythran export layer_norm_backward(float32[:,:] order(C), float32[:,:] order(C), float32[],
#                                   float64[], float64[], float32[:,:] order(C), float32[],
#                                   float32[])
def layer_norm_backward(g, x, w, m, r, gx, gw, gb):
    rows, n = x.shape
    part, flat = np.zeros((groups(rows), n), np.float32), np.zeros((groups(rows), n), np.float32)
    #omp parallel for firstprivate(rows, n) if(rows * n > 32768)
    for k in range(part.shape[0]):
        for i in range(k * ROWS, min(rows, k * ROWS + ROWS)):
            if plain(r[i]):
                c = np.float32(m[i])
                t = m[i] - c
                a = total_product(g[i], w)
                q = (total_spread(g[i], w, x[i], c) - t * a) * r[i] * r[i] / n
                _layer_dx(g[i], x[i], w, gx[i], c, np.float32(r[i]), np.float32(a / n - t * q), np.float32(q))
                _add_spread(g[i], x[i], c, np.float32(t * r[i]), np.float32(r[i]), part[k])
            else:
                _wide_back(g[i], x[i], w, m[i], r[i], True, gx[i], part[k])
            _add_row(g[i], flat[k])
    _column_sums(part, gw)
    _column_sums(flat, gb)
