"""Picking entries by number and putting them back. Lanes run in parallel, the entries of a lane
in order: the result is the same on any number of threads."""

import numpy as np
from ._loops import _add, _copy, _round
from ._sums import SERIAL

WIDE = 64    # columns of a lane that one thread takes


def _add_rows(out, at, update, lo, hi):
    for j in range(at.shape[0]):
        out[at[j], lo:hi] += update[j, lo:hi]

def _add_widely(out, at, update, lo, hi):
    "As _add_rows, in float64."
    s = np.empty((out.shape[0], hi - lo))
    for i in range(out.shape[0]):
        _copy(out[i, lo:hi], s[i])
    for j in range(at.shape[0]):
        _add(update[j, lo:hi], s[at[j]])
    for i in range(out.shape[0]):
        _round(s[i], out[i, lo:hi])

def _count(at, many):
    for j in range(at.shape[0]):
        many[at[j]] += 1

def _count_roughly(at, many):
    for j in range(at.shape[0]):
        many[at[j] & 4095] += 1

def _sort(at, first, order):
    "Places in `at` by what stands there, each lot in order; first[i] to first[i + 1] are those of i."
    for i in range(first.shape[0] - 2, -1, -1):
        first[i + 1] = first[i]
    first[0] = 0
    for i in range(1, first.shape[0]):
        first[i] += first[i - 1]
    spot = first.copy()
    for j in range(at.shape[0]):
        order[spot[at[j]]] = j
        spot[at[j]] += 1

def _add_sorted(out, order, first, update, lo, hi):
    "As _add_rows, one row of `out` after another and its sum in float64."
    s = np.empty(hi - lo)
    for i in range(out.shape[0]):
        if first[i + 1] > first[i]:
            _copy(out[i, lo:hi], s)
            for j in range(first[i], first[i + 1]):
                _add(update[order[j], lo:hi], s)
            _round(s, out[i, lo:hi])

#pythran export index_add_(float32[:,:,:] order(C), int64[:], float32[:,:,:] order(C))
def index_add_(out, at, update):
    outer, n, inner = out.shape
    cuts = (inner + WIDE - 1) // WIDE
    some = np.zeros(4096, np.int64)
    if at.shape[0] > SERIAL:
        _count_roughly(at, some)
    many = np.max(some) > SERIAL
    sparse = many and n > at.shape[0]
    first = np.zeros(n + 1 if sparse else 1, np.int64)
    order = np.empty(at.shape[0] if sparse else 1, np.int64)
    if sparse:
        _count(at, first)
        _sort(at, first, order)
    size = outer * inner * at.shape[0]
    #omp parallel for firstprivate(cuts, inner, many, sparse) if(size > 32768)
    for c in range(outer * cuts):
        o = c // cuts
        lo = (c - o * cuts) * WIDE
        hi = min(inner, lo + WIDE)
        if sparse:
            _add_sorted(out[o], order, first, update[o], lo, hi)
        elif many:
            _add_widely(out[o], at, update[o], lo, hi)
        else:
            _add_rows(out[o], at, update[o], lo, hi)


def _take(x, at, out):
    for j in range(at.shape[0]):
        for i in range(at.shape[1]):
            out[j, i] = x[at[j, i], i]

#pythran export take_along(float32[:,:,:] order(C), int64[:,:,:] order(C), float32[:,:,:] order(C))
def take_along(x, at, out):
    outer, n, inner = at.shape
    shared = outer * n * inner if outer > 1 else 0
    #omp parallel for if(shared > 16384)
    for o in range(at.shape[0]):
        _take(x[o], at[o], out[o])


def _scatter_add(out, at, update):
    for j in range(at.shape[0]):
        for i in range(at.shape[1]):
            out[at[j, i], i] += update[j, i]

def _widen(x, s):
    for j in range(x.shape[0]):
        for i in range(x.shape[1]):
            s[j, i] = x[j, i]

def _narrow(s, x):
    for j in range(x.shape[0]):
        for i in range(x.shape[1]):
            x[j, i] = np.float32(s[j, i])

#pythran export scatter_add_(float32[:,:,:] order(C), int64[:,:,:] order(C), float32[:,:,:] order(C))
def scatter_add_(out, at, update):
    many = at.shape[1] > SERIAL
    wide = np.empty((out.shape[0] if many else 1, out.shape[1], out.shape[2]))
    size = at.size
    #omp parallel for firstprivate(many) if(size > 32768)
    for o in range(at.shape[0]):
        if many:
            _widen(out[o], wide[o])
            _scatter_add(wide[o], at[o], update[o])
            _narrow(wide[o], out[o])
        else:
            _scatter_add(out[o], at[o], update[o])


def _scatter(out, at, update):
    for j in range(at.shape[0]):
        for i in range(at.shape[1]):
            out[at[j, i], i] = update[j, i]

#pythran export scatter_(float32[:,:,:] order(C), int64[:,:,:] order(C), float32[:,:,:] order(C))
def scatter_(out, at, update):
    size = at.size
    #omp parallel for if(size > 32768)
    for o in range(at.shape[0]):
        _scatter(out[o], at[o], update[o])
