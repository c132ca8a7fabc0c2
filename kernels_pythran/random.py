"""Random numbers by counter (SplitMix64). Bits are whole-number arithmetic; a product and the sum
after it stay in loops of their own, so that no fused multiply-add gives another last bit than
NumPy. Unsigned arguments arrive as the int64 of the same bits: Pythran refuses a uint64 above
2**63."""
import numpy as np

CHUNK = 2048


def pieces(n):
    return (n + CHUNK - 1) // CHUNK


def _mix(seed, i):
    step = (np.uint64(0x9E3779B9) << np.uint64(32)) | np.uint64(0x7F4A7C15)
    mix1 = (np.uint64(0xBF58476D) << np.uint64(32)) | np.uint64(0x1CE4E5B9)
    mix2 = (np.uint64(0x94D049BB) << np.uint64(32)) | np.uint64(0x133111EB)
    z = np.uint64(seed) + (np.uint64(i) + np.uint64(1)) * step
    z = (z ^ (z >> np.uint64(30))) * mix1
    z = (z ^ (z >> np.uint64(27))) * mix2
    return z ^ (z >> np.uint64(31))


def _scaled(seed, base, span, t):
    for j in range(t.shape[0]):
        t[j] = np.float64(np.int64(_mix(seed, base + j) >> np.uint64(11))) * 1.1102230246251565e-16 * span


def _shifted(t, low, top, out):
    for j in range(out.shape[0]):
        v = np.float32(t[j] + low)
        out[j] = v if v < top else top


#pythran export uniform_(float32[], int64, float64, float64, float32)
def uniform_(out, seed, low, span, top):
    n = out.shape[0]
    #omp parallel for if(n > 16384) firstprivate(seed, low, span, top)
    for c in range(pieces(n)):
        lo = c * CHUNK
        hi = min(n, lo + CHUNK)
        t = np.empty(hi - lo)
        _scaled(seed, lo, span, t)
        _shifted(t, low, top, out[lo:hi])


def _pairs(seed, base, a, b):
    for j in range(a.shape[0]):
        a[j] = np.float64(np.int64(_mix(seed, base + 2 * j) >> np.uint64(11)) + 1) * 1.1102230246251565e-16
        b[j] = np.float64(np.int64(_mix(seed, base + 2 * j + 1) >> np.uint64(11))) * 1.1102230246251565e-16


def _spread(a, c, s, std, mean, out):
    for j in range(out.shape[0] // 2):
        r = np.sqrt(-2. * a[j])
        out[2 * j] = np.float32(r * c[j] * std) + mean
        out[2 * j + 1] = np.float32(r * s[j] * std) + mean


#pythran export normal_(float32[], int64, float32, float64)
def normal_(out, seed, mean, std):
    n = out.shape[0]
    #omp parallel for if(n > 16384) firstprivate(seed, mean, std)
    for k in range(pieces(n)):
        lo = k * CHUNK
        hi = min(n, lo + CHUNK)
        m = (hi - lo + 1) // 2
        a = np.empty(m)
        b = np.empty(m)
        c = np.empty(m)
        s = np.empty(m)
        _pairs(seed, lo, a, b)
        # assigned in place: a new name would be computed late, value by value, in _spread
        a[:] = np.log(a)
        b *= 6.283185307179586
        c[:] = np.cos(b)
        s[:] = np.sin(b)
        _spread(a, c, s, std, mean, out[lo:hi])
        if (hi - lo) % 2:
            out[hi - 1] = np.float32(np.sqrt(-2. * a[m - 1]) * c[m - 1] * std) + mean


def _times_high(z, n):
    half = np.uint64(32)
    low = np.uint64(0xFFFFFFFF)
    a = z >> half
    b = z & low
    c = n >> half
    d = n & low
    bd = b * d
    ad = a * d
    middle = (bd >> half) + (ad & low) + b * c
    return a * c + (ad >> half) + (middle >> half)


def _integers(seed, base, low, span, out):
    for j in range(out.shape[0]):
        out[j] = np.int64(_times_high(_mix(seed, base + j), np.uint64(span)) + np.uint64(low))


#pythran export integers_(int64[], int64, int64, int64)
def integers_(out, seed, low, span):
    n = out.shape[0]
    #omp parallel for if(n > 16384) firstprivate(seed, low, span)
    for c in range(pieces(n)):
        lo = c * CHUNK
        hi = min(n, lo + CHUNK)
        _integers(seed, lo, low, span, out[lo:hi])


def _flips(seed, base, bound, out):
    for j in range(out.shape[0]):
        out[j] = np.float32(1) if (_mix(seed, base + j) >> np.uint64(11)) < np.uint64(bound) else np.float32(0)


#pythran export bernoulli_(float32[], int64, int64)
def bernoulli_(out, seed, bound):
    n = out.shape[0]
    #omp parallel for if(n > 16384) firstprivate(seed, bound)
    for c in range(pieces(n)):
        lo = c * CHUNK
        hi = min(n, lo + CHUNK)
        _flips(seed, lo, bound, out[lo:hi])


#pythran export shuffle_(int64[], int64)
def shuffle_(out, seed):
    n = out.shape[0]
    for i in range(n):
        out[i] = i
    for k in range(n - 1):
        i = n - 1 - k
        j = np.int64(_times_high(_mix(seed, k), np.uint64(i + 1)))
        v = out[i]
        out[i] = out[j]
        out[j] = v


def _steps(base, step, t):
    for j in range(t.shape[0]):
        t[j] = np.float32(base + j) * step


def _from(start, t, out):
    for j in range(out.shape[0]):
        out[j] = t[j] + start


#pythran export arange_(float32[], float32, float32)
def arange_(out, start, step):
    n = out.shape[0]
    #omp parallel for if(n > 16384) firstprivate(start, step)
    for c in range(pieces(n)):
        lo = c * CHUNK
        hi = min(n, lo + CHUNK)
        t = np.empty(hi - lo, dtype=np.float32)
        _steps(lo, step, t)
        _from(start, t, out[lo:hi])
