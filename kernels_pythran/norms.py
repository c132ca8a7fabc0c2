"""Rows brought to one mean and one size. Sums over columns are made in groups of ROWS rows, whose results are added in order."""
import numpy as np
from ._sums import BLOCK, _column_sums

ROWS = 64


def total(x):
    s = 0.
    for lo in range(0, x.shape[0], BLOCK):
        s += np.sum(x[lo:min(x.shape[0], lo + BLOCK)])
    return s

def total_product(x, y):
    s = 0.
    for lo in range(0, x.shape[0], BLOCK):
        hi = min(x.shape[0], lo + BLOCK)
        s += np.sum(x[lo:hi] * y[lo:hi])
    return s

def total_distance(x, m):
    s = 0.
    for lo in range(0, x.shape[0], BLOCK):
        hi = min(x.shape[0], lo + BLOCK)
        s += np.sum((x[lo:hi] - m) * (x[lo:hi] - m))
    return s

def total_spread(g, w, x, m):
    "Sum of g w (x - m)."
    s = 0.
    for lo in range(0, x.shape[0], BLOCK):
        hi = min(x.shape[0], lo + BLOCK)
        s += np.sum(g[lo:hi] * w[lo:hi] * (x[lo:hi] - m))
    return s

def root(square, n, eps): return np.float32(1 / np.sqrt(square / n + eps))

def groups(n): return (n + ROWS - 1) // ROWS


#pythran export rms_norm(float32[:,:] order(C), float32, float32[:,:] order(C), float32[])
def rms_norm(x, eps, y, r):
    rows, n = x.shape
    #omp parallel for firstprivate(eps) if(rows * n > 32768)
    for i in range(rows):
        s = root(total_product(x[i], x[i]), x.shape[1], eps)
        y[i] = x[i] * s
        r[i] = s

#pythran export rms_norm_weighted(float32[:,:] order(C), float32[], float32, float32[:,:] order(C), float32[])
def rms_norm_weighted(x, w, eps, y, r):
    rows, n = x.shape
    #omp parallel for firstprivate(eps) if(rows * n > 32768)
    for i in range(rows):
        s = root(total_product(x[i], x[i]), x.shape[1], eps)
        y[i] = x[i] * s * w
        r[i] = s


def _rms_dx(g, x, w, gx, r, q):
    for j in range(x.shape[0]):
        gx[j] = (g[j] * w[j] - x[j] * q) * r

def _add_columns(g, x, m, r, gw):
    for j in range(x.shape[0]):
        gw[j] += g[j] * ((x[j] - m) * r)

def _add_row(g, gb):
    for j in range(g.shape[0]):
        gb[j] += g[j]

#pythran export rms_norm_backward(float32[:,:] order(C), float32[:,:] order(C), float32[], float32[], float32[:,:] order(C), float32[])
def rms_norm_backward(g, x, w, r, gx, gw):
    rows, n = x.shape
    part = np.zeros((groups(rows), n), np.float32)
    #omp parallel for firstprivate(rows, n) if(rows * n > 32768)
    for c in range(part.shape[0]):
        for i in range(c * ROWS, min(rows, c * ROWS + ROWS)):
            q = np.float32(total_spread(g[i], w, x[i], np.float32(0)) * r[i] * r[i] / n)
            _rms_dx(g[i], x[i], w, gx[i], r[i], q)
            _add_columns(g[i], x[i], np.float32(0), r[i], part[c])
    _column_sums(part, gw)


def _affine(x, w, b, y, m, r):
    for j in range(x.shape[0]):
        y[j] = (x[j] - m) * r * w[j] + b[j]

#pythran export layer_norm(float32[:,:] order(C), float32[], float32[], float32, float32[:,:] order(C), float32[], float32[])
def layer_norm(x, w, b, eps, y, mean, rstd):
    rows, n = x.shape
    #omp parallel for firstprivate(eps) if(rows * n > 32768)
    for i in range(rows):
        m = np.float32(total(x[i]) / x.shape[1])
        r = root(total_distance(x[i], m), x.shape[1], eps)
        _affine(x[i], w, b, y[i], m, r)
        mean[i] = m
        rstd[i] = r


def _layer_dx(g, x, w, gx, m, r, a, q):
    for j in range(x.shape[0]):
        gx[j] = (g[j] * w[j] - a - (x[j] - m) * q) * r

#pythran export layer_norm_backward(float32[:,:] order(C), float32[:,:] order(C), float32[], float32[], float32[], float32[:,:] order(C), float32[], float32[])
def layer_norm_backward(g, x, w, m, r, gx, gw, gb):
    rows, n = x.shape
    part, flat = np.zeros((groups(rows), n), np.float32), np.zeros((groups(rows), n), np.float32)
    #omp parallel for firstprivate(rows, n) if(rows * n > 32768)
    for c in range(part.shape[0]):
        for i in range(c * ROWS, min(rows, c * ROWS + ROWS)):
            a = np.float32(total_product(g[i], w) / n)
            q = np.float32(total_spread(g[i], w, x[i], m[i]) * r[i] * r[i] / n)
            _layer_dx(g[i], x[i], w, gx[i], m[i], r[i], a, q)
            _add_columns(g[i], x[i], m[i], r[i], part[c])
            _add_row(g[i], flat[c])
    _column_sums(part, gw)
    _column_sums(flat, gb)
