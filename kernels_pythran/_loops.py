"""How kernels cut their work, and loops that several need. Kernels import from here when they are compiled; nothing is exported.

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
