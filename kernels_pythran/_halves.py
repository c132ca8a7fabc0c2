"""Numbers of 16 and 32 bits in the headers of quantised blocks."""
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


def long_powers():
    "The same of an f32: its upper nine bits."
    p = np.empty(512, np.float32)
    v = np.float32(1.401298464324817e-45)
    for e in range(256):
        p[e] = v
        p[e + 256] = -v
        if e > 0: v = np.float32(v * np.float32(2))
    p[255] = np.float32(np.inf)
    p[511] = np.float32(-np.inf)
    return p

def single(a, b, c, d, p):
    "The f32 in four bytes."
    h = np.int32((np.int32(d) << 1) | (np.int32(c) >> 7))
    m = np.int32(a) | (np.int32(b) << 8) | ((np.int32(c) & 127) << 16) | (8388608 if h & 255 else 0)
    return np.float32(np.float32(m) * p[h])
