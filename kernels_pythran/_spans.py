"""How long a row is, and how far its numbers lie from their mean.

Squares are added up in blocks of float32, blocks in float64. Where their sum leaves the range in which float32 has all
its digits, the row is gone through again in float64, in which no square of a float32 overflows or vanishes. A mean
beside which the distances are small is added up from a number near it, and (x - m) r is (x - c) r - t r for m = c + t,
c a float32: so nothing is lost where the mean is large.
"""
import numpy as np

BLOCK = 1024


def sure(s, n, eps): return s < 1e37 and s + n * eps > n * 1e-30

def plain(v): return v > 1e-15 and v < 1e15


def _squares(x):
    s = np.float64(0)
    for lo in range(0, x.shape[0], BLOCK):
        hi = min(x.shape[0], lo + BLOCK)
        s += np.sum(x[lo:hi] * x[lo:hi])
    return s

def _squares_wide(x):
    s = np.float64(0)
    #omp simd reduction(+:s)
    for j in range(x.shape[0]):
        s += np.float64(x[j]) * np.float64(x[j])
    return s

def squares(x, eps):
    "The sum of squares; where n eps will be added, its smallest digits do not matter."
    s = _squares(x)
    return s if sure(s, x.shape[0], eps) else _squares_wide(x)


def _sum(x):
    s = np.float64(0)
    for lo in range(0, x.shape[0], BLOCK):
        s += np.sum(x[lo:min(x.shape[0], lo + BLOCK)])
    return s

def _offset(x, o):
    s = np.float64(0)
    for lo in range(0, x.shape[0], BLOCK):
        s += np.sum(x[lo:min(x.shape[0], lo + BLOCK)] - o)
    return s

def _offset_wide(x, o):
    s = np.float64(0)
    #omp simd reduction(+:s)
    for j in range(x.shape[0]):
        s += np.float64(x[j]) - np.float64(o)
    return s

def offset(x, o):
    "The sum of x - o."
    s = _offset(x, o) if o != 0 else _sum(x)
    return s if s - s == 0 else _offset_wide(x, o)


def _distances(x, c):
    s = np.float64(0)
    for lo in range(0, x.shape[0], BLOCK):
        hi = min(x.shape[0], lo + BLOCK)
        s += np.sum((x[lo:hi] - c) * (x[lo:hi] - c))
    return s

def _distances_wide(x, m):
    s = np.float64(0)
    #omp simd reduction(+:s)
    for j in range(x.shape[0]):
        s += (x[j] - m) * (x[j] - m)
    return s

def near(x, c):
    "The sum of (x - c)**2."
    s = _distances(x, c)
    return s if sure(s, x.shape[0], 0.) else _distances_wide(x, np.float64(c))

def distances(x, m, eps):
    "The sum of (x - m)**2 for the mean m."
    n = x.shape[0]
    c = np.float32(m)
    s = _distances(x, c) - n * (m - c) * (m - c)
    return s if sure(s, n, eps) else _distances_wide(x, m)

# the mean, and the sum of squared distances from it, exactly 0 where all numbers are equal:
#   m = average(x)
#   s = distances(x, m, eps)
#   if far(0., m, s, n): m = average_again(x, m), and s once more

def far(o, m, s, n): return (o - m) * (o - m) * n > 64 * s      # digits of the mean were lost

def average(x): return offset(x, np.float32(0)) / x.shape[0]

def average_again(x, m): return np.float32(m) + offset(x, np.float32(m)) / x.shape[0]
