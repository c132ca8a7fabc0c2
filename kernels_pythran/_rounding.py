"""Numbers to codes of 8 bits and to f16, a block of 32 at a time."""
import numpy as np

ZERO = np.float32(0)
LEAST = np.float32(1.1754943508222875e-38)      # smallest normal f32


def largest(x, n):
    "The largest magnitude, and 0, or NaN where there is NaN or infinity."
    top = ZERO
    bad = ZERO
    #omp simd reduction(max:top) reduction(+:bad)
    for j in range(n):
        top = max(top, np.abs(x[j]))
        bad += x[j] * ZERO
    return top, bad

def nearest(x, q, inv, n):
    "x times inv to whole numbers, halves away from zero."
    for j in range(n):
        v = x[j] * inv
        a = np.abs(v)
        k = np.int32(a)
        k += np.int32(a - np.float32(k) >= np.float32(0.5))
        q[j] = np.int16(-k if v < ZERO else k)

def count(q, n):
    c = np.int32(0)
    for j in range(n): c += np.int32(q[j])
    return c

def half_bits(v):
    "The 16 bits of the f16 nearest to v, of two the even one."
    a = np.abs(v)
    sign = np.int32(32768 if v < ZERO else 0)
    if not a < np.float32(65520): return np.int32(sign | (31744 if a > ZERO else 32256))      # infinity, NaN
    e = np.int32(1)
    unit = np.float32(5.9604644775390625e-08)
    by = 16
    while by > 0:
        more = np.float32(1 << by)
        if a >= np.float32(np.float32(unit * more) * np.float32(1024)):
            unit = np.float32(unit * more)
            e += np.int32(by)
        by >>= 1
    return np.int32(sign | ((e << 10) + np.int32(np.rint(np.float32(a / unit))) - 1024))
