"""A table of pairs of whole numbers below 2**31: open addressing in an array whose size is a power of two, -1 where a
slot is free. The hash keeps below 2**62, so that Python, NumPy and compiled code agree on it."""


def slot(keys, a, b):
    "Where a pair stands, or the free slot where it would."
    mask = keys.shape[0] - 1
    h = (a * 1540483477) ^ (b * 668265263)
    h = (h ^ (h >> 15)) & mask
    key = (a << 32) | b
    while keys[h] != -1 and keys[h] != key: h = (h + 1) & mask
    return h
