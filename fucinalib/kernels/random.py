"""Random numbers by counter: number i of a stream is a function of (seed, i) and of nothing else.

The mixing function is SplitMix64 (Steele, Lea and Flood 2014). Values are a promise: tests hold them fixed.
"""
from functools import lru_cache
import numpy as np
from .dispatch import kernel
from .forms import pieces
from ..dtypes import rounded

STEP, MIX1, MIX2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def bits(seed, index):
    """64 random bits for every entry of the uint64 array `index`; `seed` is an np.uint64, or the
    np.int64 of the same bits."""
    z = index + np.uint64(1)
    z *= STEP; z += seed.view('u8')
    z ^= z >> np.uint64(30); z *= MIX1
    z ^= z >> np.uint64(27); z *= MIX2
    z ^= z >> np.uint64(31)
    return z


def word(seed, i):
    "The same for one whole number each, as a whole number: no array is made."
    z = seed + (i + 1) * 0x9E3779B97F4A7C15 & MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31

MASK = 0xFFFFFFFFFFFFFFFF


def unit(z):
    "Bits as float64 in [0, 1), 53 of them used."
    return (z >> np.uint64(11)).astype('f8') * 2.0**-53


def counters(s): return np.arange(s.start, s.stop, dtype='u8')


@lru_cache(256)
def below(high, dtype):
    "The largest number of a type that is less than `high`."
    top = dtype.type(high)
    return top if top < high else np.nextafter(top, dtype.type(-np.inf))


@kernel(inplace=(0,), floor=0)
def uniform_(out, seed, low, span, top):
    "Fill with low + span u, u in [0, 1): one product and one sum in float64, one rounding, nothing above `top`."
    for s in pieces(out.size): out[s] = np.minimum(rounded(low + span * unit(bits(seed, counters(s))), out.dtype), top)
    return out


@kernel(inplace=(0,), floor=0)
def normal_(out, seed, mean, std):
    "Fill with normal numbers, two from each pair of counters (Box and Muller 1958), in float64 up to the last step."
    for s in pieces(out.size):
        z = bits(seed, counters(slice(s.start, s.stop + (s.stop - s.start) % 2)))
        radius = np.sqrt(-2. * np.log(((z[0::2] >> np.uint64(11)).astype('f8') + 1.) * 2.0**-53))
        angle = 2. * np.pi * unit(z[1::2])
        both = np.empty(z.size)
        both[0::2], both[1::2] = radius * np.cos(angle), radius * np.sin(angle)
        out[s] = rounded(both[:s.stop - s.start] * std, out.dtype) + mean
    return out


def gumbel(seed, index):
    "Numbers of the Gumbel distribution in float64."
    u = ((bits(seed, index) >> np.uint64(11)).astype('f8') + .5) * 2.0**-53
    return -np.log(-np.log(u))


def times_high(z, n):
    "The upper 64 bits of z * n, z a uint64 array, n below 2**64 or an array of such: a random whole number below n."
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    n = np.asarray(n, 'u8')
    a, b, c, d = z >> half, z & low, n >> half, n & low
    bd, ad = b * d, a * d
    middle = (bd >> half) + (ad & low) + b * c
    return a * c + (ad >> half) + (middle >> half)


@kernel(inplace=(0,), floor=0)
def integers_(out, seed, low, span):
    "Fill with whole numbers low to low + span - 1; a span of 2**63 and more is the np.int64 of the same bits."
    for s in pieces(out.size):
        out[s] = (times_high(bits(seed, counters(s)), span.view('u8')) + low.view('u8')).view('i8')
    return out


@kernel(inplace=(0,), floor=0)
def bernoulli_(out, seed, bound):
    "Fill with 1 where the upper 53 bits are below `bound`, else 0."
    for s in pieces(out.size): out[s] = (bits(seed, counters(s)) >> np.uint64(11)) < bound.view('u8')
    return out


@kernel(inplace=(0,), floor=0)
def shuffle_(out, seed):
    "Fill with range(n) shuffled from the back (Fisher and Yates): draw k decides place n-1-k."
    n = out.size
    order = list(range(n))
    picks = times_high(bits(seed, np.arange(n - 1, dtype='u8')), np.arange(n, 1, -1, dtype='u8')).tolist()
    for k, j in zip(range(n - 1, 0, -1), picks): order[k], order[j] = order[j], order[k]
    out[:] = order
    return out


@kernel(inplace=(0,), floor=1 << 8)
def arange_(out, start, step):
    "Fill with start + i step, every operation in the type of `out`."
    for s in pieces(out.size):
        i = np.arange(s.start, s.stop).astype(out.dtype)
        i *= step; i += start
        out[s] = i
    return out
