"""How kernels cut their work, and loops that several need. Kernels import from here when they are compiled; nothing is
exported.

A loop over elements has no pragma: the OpenMP loop of the kernel calls it on rows or pieces.
"""
import numpy as np

CHUNK = 4096        # elements: a few arrays of that length stay in cache


# the pieces of a flat array, CHUNK elements each: `for c in pieces(y): i = piece(c, y)`

def pieces(x): return range((x.shape[0] + CHUNK - 1) // CHUNK)

def piece(c, x): return slice(c * CHUNK, min(x.shape[0], c * CHUNK + CHUNK))


# an axis of length n in parts of one size, and i % n, which OpenMP threads would share

def parts(n, size): return (n + size - 1) // size

def rest(i, n): return i - i // n * n


def row_parts(f, x, part, size):
    "part[i, c] = f(piece c of row i), pieces of `size` elements."
    n = x.shape[1]
    k = part.shape[1]
    #omp parallel for firstprivate(n, k)
    for t in range(x.shape[0] * k):
        i = t // k
        c = rest(t, k)
        part[i, c] = f(x[i, c * size:min(n, c * size + size)])


# the last axis of (outer, n, m) in strips: `for t in strips(x, STRIP): o, lo, hi = strip(t, x, STRIP)`

def strips(x, width): return range(x.shape[0] * parts(x.shape[2], width))

def strip(t, x, width):
    "Where task t is: the place along the outer axis and the columns lo to hi."
    k = parts(x.shape[2], width)
    lo = rest(t, k) * width
    return t // k, lo, min(x.shape[2], lo + width)


# blocks of rows in strips, a row of partial results for each block:
# `for t in blocks(x, ROWS, STRIP): b, o, top, end, lo, hi = of_block(t, x, ROWS, STRIP)`
# A loop down x[o, top:end, lo:hi] is faster than one call for each row.

def blocks(x, rows, width): return range(x.shape[0] * parts(x.shape[1], rows) * parts(x.shape[2], width))

def of_block(t, x, rows, width):
    "Where task t is: the block's number, the place along the outer axis, rows from .. to, columns from .. to."
    k = parts(x.shape[2], width)
    per = parts(x.shape[1], rows)
    b = t // k
    i = rest(b, per) * rows
    lo = rest(t, k) * width
    return b, b // per, i, min(x.shape[1], i + rows), lo, min(x.shape[2], lo + width)


# f on the pieces of flat arrays; f writes y itself. Up to `few` elements one thread does

def loop(f, x, y, few):
    n = y.shape[0]
    #omp parallel for if(n > few)
    for c in pieces(y):
        i = piece(c, y)
        f(x[i], y[i])

def loop_two(f, a, b, y, few):
    n = y.shape[0]
    #omp parallel for if(n > few)
    for c in pieces(y):
        i = piece(c, y)
        f(a[i], b[i], y[i])

def loop_number(f, x, s, y, few):
    n = y.shape[0]
    #omp parallel for firstprivate(s) if(n > few)
    for c in pieces(y):
        i = piece(c, y)
        f(x[i], s, y[i])

def loop_two_number(f, a, b, s, y, few):
    n = y.shape[0]
    #omp parallel for firstprivate(s) if(n > few)
    for c in pieces(y):
        i = piece(c, y)
        f(a[i], b[i], s, y[i])

def loop_exp(power, finish, a, x, y, few):
    "y = finish(a, x, exp(power(x)))"
    n = y.shape[0]
    #omp parallel for if(n > few)
    for c in pieces(y):
        i = piece(c, y)
        power(x[i], y[i])
        y[i] = np.exp(y[i])
        finish(a[i], x[i], y[i])


def _copy(x, y):
    for j in range(y.shape[0]):
        y[j] = x[j]

def _zero(y):
    for j in range(y.shape[0]):
        y[j] = np.float32(0)

def _add(x, y):
    for j in range(y.shape[0]):
        y[j] += x[j]

def _plus(a, b, y):
    for j in range(y.shape[0]):
        y[j] = a[j] + b[j]

def _round(s, y):
    for j in range(y.shape[0]):
        y[j] = np.float32(s[j])

def _minus_abs(x, y):
    for j in range(x.shape[0]):
        y[j] = -np.abs(x[j])

def _within(x, far):
    "The number x, no further out than `far`: 0 times infinity would be no slope."
    v = x if x < far else far
    return v if v > -far else -far
