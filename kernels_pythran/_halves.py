"""Numbers of 16 bits in the headers of quantised blocks."""
import numpy as np


def powers():
    "What a unit of the mantissa is worth, by sign and exponent: the upper six bits of an f16."
    p = np.empty(64, np.float32)
    v = np.float32(5.9604644775390625e-08)
    for e in range(32):
        p[e] = v
        p[e + 32] = -v
        if e > 0: v = np.float32(v * np.float32(2))
    p[31] = np.float32(np.inf)
    p[63] = np.float32(-np.inf)
    return p

def half(lo, hi, p):
    "The f16 in two bytes."
    h = np.int32(hi)
    m = np.int32(lo) | ((h & 3) << 8) | (1024 if h & 124 else 0)
    return np.float32(np.float32(m) * p[h >> 2])
