"""Sums in blocks: BLOCK numbers are added up in float32 and the blocks in float64, so that the error does not grow with
the length."""
import numpy as np

BLOCK = 1024
SERIAL = 128        # numbers that may be added one by one in float32
LONG = 4096         # numbers of a block with four times as many running sums


def block(x):
    "The sum in float32 with eight running sums: one register, and the order is written here, not the compiler's."
    n = x.shape[0]
    a = np.float32(0)
    b = np.float32(0)
    c = np.float32(0)
    d = np.float32(0)
    e = np.float32(0)
    f = np.float32(0)
    g = np.float32(0)
    h = np.float32(0)
    m = n // 8
    for j in range(m):
        a += x[8 * j]
        b += x[8 * j + 1]
        c += x[8 * j + 2]
        d += x[8 * j + 3]
        e += x[8 * j + 4]
        f += x[8 * j + 5]
        g += x[8 * j + 6]
        h += x[8 * j + 7]
    for j in range(8 * m, n):
        a += x[j]
    return ((a + b) + (c + d)) + ((e + f) + (g + h))

def total(x):
    n = x.shape[0]
    s = 0.
    for lo in range(0, n, BLOCK):
        s += block(x[lo:min(n, lo + BLOCK)])
    return s


# the same with more registers: a longer block is cut into four quarters, which are added side by side; each is long
# enough for the processor to fetch what follows

def quarters(x):
    n = x.shape[0]
    q = n // 32 * 8
    a = np.float32(0)
    b = np.float32(0)
    c = np.float32(0)
    d = np.float32(0)
    #omp simd reduction(+:a,b,c,d)
    for j in range(q):
        a += x[j]
        b += x[j + q]
        c += x[j + 2 * q]
        d += x[j + 3 * q]
    for j in range(4 * q, n):
        a += x[j]
    return (a + b) + (c + d)

def total_quarters(x):
    n = x.shape[0]
    s = 0.
    for lo in range(0, n, LONG):
        s += quarters(x[lo:min(n, lo + LONG)])
    return s


# down the rows of a matrix of partial results

def _widen(x, s):
    for j in range(s.shape[0]):
        s[j] += x[j]

def _column_sums(part, y):
    "The sums of the columns, in float64."
    s = np.zeros(part.shape[1])
    for b in range(part.shape[0]):
        _widen(part[b], s)
    for j in range(y.shape[0]):
        y[j] = np.float32(s[j])
