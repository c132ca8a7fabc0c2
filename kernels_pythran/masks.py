"""Choosing between numbers by truth values."""
import numpy as np
from ._loops import piece, pieces

ZERO = np.float32(0)


# the mask is read as small whole numbers: a choice by those is vectorised, by bool it is a branch

def _pick(m, a, b, y):
    for i in range(y.shape[0]):
        y[i] = a[i] if m[i] != 0 else b[i]

def _pick_or(m, a, s, y):
    for i in range(y.shape[0]):
        y[i] = a[i] if m[i] != 0 else s

def _fill(m, a, s, y):
    for i in range(y.shape[0]):
        y[i] = s if m[i] != 0 else a[i]

def choose(f, mask, a, s, y):
    m = mask.view(np.int8)
    #omp parallel for firstprivate(s)
    for c in pieces(y):
        i = piece(c, y)
        f(m[i], a[i], s, y[i])

#pythran export where(bool[], float32[], float32[], float32[])
def where(mask, a, b, y):
    m = mask.view(np.int8)
    #omp parallel for
    for c in pieces(y):
        i = piece(c, y)
        _pick(m[i], a[i], b[i], y[i])

#pythran export where_scalar(bool[], float32[], float32, float32[])
def where_scalar(mask, a, s, y): choose(_pick_or, mask, a, s, y)
#pythran export fill(bool[], float32[], float32, float32[])
def fill(mask, a, s, y): choose(_fill, mask, a, s, y)


# planes (p, n, m): what lies between column i - lower and column i + upper of row i

#pythran export band_part(float32[:,:,:] order(C), int, int, float32[:,:,:] order(C))
def band_part(x, lower, upper, y):
    n = x.shape[1]
    m = x.shape[2]
    size = x.shape[0] * n * m
    #omp parallel for firstprivate(n, m, lower, upper) if(size > 16384)
    for k in range(x.shape[0] * n):
        p = k // n
        i = k - p * n
        lo = min(m, max(0, i - lower))
        hi = max(lo, min(m, i + upper + 1))
        y[p, i, :lo] = ZERO
        y[p, i, lo:hi] = x[p, i, lo:hi]
        y[p, i, hi:] = ZERO
