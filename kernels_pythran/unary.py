"""Functions of one number that NumPy has or that choose between two, in pieces that stay in cache, and their gradients.
What is made of an exponential is in activations.py."""
import numpy as np
from ._loops import CHUNK, loop, loop_number, loop_two, loop_two_number, piece, pieces

ZERO = np.float32(0)
HALF = np.float32(0.5)
ONE = np.float32(1)
TWO = np.float32(2)
FEW = 16384         # elements up to which one thread is as fast


def each(f, x, y):
    size = y.shape[0]
    #omp parallel for if(size > 16384)
    for c in pieces(y):
        i = piece(c, y)
        y[i] = f(x[i])

def loop_numbers(f, x, s, t, y):
    size = y.shape[0]
    #omp parallel for firstprivate(s, t) if(size > 16384)
    for c in pieces(y):
        i = piece(c, y)
        f(x[i], s, t, y[i])


#pythran export log(float32[], float32[])
def log(x, y): each(np.log, x, y)
#pythran export sqrt(float32[], float32[])
def sqrt(x, y): each(np.sqrt, x, y)
#pythran export abs(float32[], float32[])
def abs(x, y): each(np.abs, x, y)


# exp of a whole piece says inf from 88.4 and 0 below -87.3; float32 goes on to 88.7 and -103.9

def _edges(x):
    s = 0
    for i in range(x.shape[0]):
        s += (x[i] > 88) | (x[i] < -87)
    return s

def _exp_edges(x, y):
    for i in range(x.shape[0]):
        if x[i] > 88 or x[i] < -87:
            y[i] = np.exp(x[i])

#pythran export exp(float32[], float32[])
def exp(x, y):
    size = y.shape[0]
    #omp parallel for if(size > 16384)
    for c in pieces(y):
        i = piece(c, y)
        y[i] = np.exp(x[i])
        if _edges(x[i]) > 0:
            _exp_edges(x[i], y[i])


def _relu(x, y):
    for i in range(x.shape[0]):
        y[i] = ZERO if x[i] <= 0 else x[i]

#pythran export relu(float32[], float32[])
def relu(x, y): loop(_relu, x, y, FEW)


def _relu_back(g, y, gx):
    for i in range(g.shape[0]):
        gx[i] = g[i] if y[i] > 0 else ZERO

#pythran export relu_backward(float32[], float32[], float32[])
def relu_backward(g, y, gx): loop_two(_relu_back, g, y, gx, FEW)


def _abs_back(g, x, gx):
    for i in range(g.shape[0]):
        s = ONE if x[i] > 0 else (-ONE if x[i] < 0 else np.abs(x[i]))
        gx[i] = g[i] * s

#pythran export abs_backward(float32[], float32[], float32[])
def abs_backward(g, x, gx): loop_two(_abs_back, g, x, gx, FEW)


def _sqrt_back(g, y, gx):
    for i in range(g.shape[0]):
        gx[i] = HALF * g[i] / y[i]

#pythran export sqrt_backward(float32[], float32[], float32[])
def sqrt_backward(g, y, gx): loop_two(_sqrt_back, g, y, gx, FEW)


#pythran export log1p(float32[], float32[])
def log1p(x, y): each(np.log1p, x, y)
#pythran export sin(float32[], float32[])
def sin(x, y): each(np.sin, x, y)
#pythran export cos(float32[], float32[])
def cos(x, y): each(np.cos, x, y)
#pythran export floor(float32[], float32[])
def floor(x, y): each(np.floor, x, y)
#pythran export ceil(float32[], float32[])
def ceil(x, y): each(np.ceil, x, y)
#pythran export round(float32[], float32[])
def round(x, y): each(np.rint, x, y)

def _neg(x, y):        # np.negative of a whole piece takes 0 to 0, not to -0
    for i in range(x.shape[0]):
        y[i] = -x[i]

#pythran export neg(float32[], float32[])
def neg(x, y): loop(_neg, x, y, FEW)

def _log1p_back(g, x, gx):
    for i in range(g.shape[0]):
        gx[i] = g[i] / (ONE + x[i])

#pythran export log1p_backward(float32[], float32[], float32[])
def log1p_backward(g, x, gx): loop_two(_log1p_back, g, x, gx, FEW)

def _times(g, x, y):
    for i in range(g.shape[0]):
        y[i] = g[i] * y[i]

def _minus_times(g, x, y):
    for i in range(g.shape[0]):
        y[i] = -(g[i] * y[i])

def wave_back(f, finish, g, x, gx):
    size = gx.shape[0]
    #omp parallel for if(size > 16384)
    for c in pieces(gx):
        i = piece(c, gx)
        gx[i] = f(x[i])
        finish(g[i], x[i], gx[i])

#pythran export sin_backward(float32[], float32[], float32[])
def sin_backward(g, x, gx): wave_back(np.cos, _times, g, x, gx)
#pythran export cos_backward(float32[], float32[], float32[])
def cos_backward(g, x, gx): wave_back(np.sin, _minus_times, g, x, gx)


def _rsqrt(x, y):
    for i in range(x.shape[0]):
        y[i] = ONE / y[i]

#pythran export rsqrt(float32[], float32[])
def rsqrt(x, y):
    size = y.shape[0]
    #omp parallel for if(size > 16384)
    for c in pieces(y):
        i = piece(c, y)
        y[i] = np.sqrt(x[i])
        _rsqrt(x[i], y[i])

def _rsqrt_back(g, x, gx):
    for i in range(g.shape[0]):
        gx[i] = -HALF * g[i] / (x[i] * gx[i])

#pythran export rsqrt_backward(float32[], float32[], float32[])
def rsqrt_backward(g, x, gx): wave_back(np.sqrt, _rsqrt_back, g, x, gx)

def _reciprocal(x, y):
    for i in range(x.shape[0]):
        y[i] = ONE / x[i]

#pythran export reciprocal(float32[], float32[])
def reciprocal(x, y): loop(_reciprocal, x, y, FEW)

def _reciprocal_back(g, y, gx):
    for i in range(g.shape[0]):
        gx[i] = -(g[i] * (y[i] * y[i]))

#pythran export reciprocal_backward(float32[], float32[], float32[])
def reciprocal_backward(g, y, gx): loop_two(_reciprocal_back, g, y, gx, FEW)

def _square_back(g, x, gx):
    for i in range(g.shape[0]):
        gx[i] = g[i] * (x[i] * TWO)

#pythran export square_backward(float32[], float32[], float32[])
def square_backward(g, x, gx): loop_two(_square_back, g, x, gx, FEW)

def _sign(x, y):
    for i in range(x.shape[0]):
        y[i] = ONE if x[i] > ZERO else (-ONE if x[i] < ZERO else x[i])

#pythran export sign(float32[], float32[])
def sign(x, y): loop(_sign, x, y, FEW)


def _leaky(x, s, y):
    for i in range(x.shape[0]):
        y[i] = x[i] if x[i] >= ZERO else x[i] * s

#pythran export leaky_relu(float32[], float32, float32[])
def leaky_relu(x, slope, y): loop_number(_leaky, x, slope, y, FEW)

def _leaky_back(g, x, s, gx):
    for i in range(g.shape[0]):
        gx[i] = g[i] if x[i] > ZERO else g[i] * s

#pythran export leaky_relu_backward(float32[], float32[], float32, float32[])
def leaky_relu_backward(g, x, slope, gx): loop_two_number(_leaky_back, g, x, slope, gx, FEW)

def _clamp(x, low, high, y):
    for i in range(x.shape[0]):
        v = low if x[i] < low else x[i]
        y[i] = high if v > high else v

#pythran export clamp(float32[], float32, float32, float32[])
def clamp(x, low, high, y): loop_numbers(_clamp, x, low, high, y)

def _clamp_back(g, x, low, high, gx):
    for i in range(g.shape[0]):
        v = g[i] if x[i] >= low else ZERO
        gx[i] = v if x[i] <= high else ZERO

#pythran export clamp_backward(float32[], float32[], float32, float32, float32[])
def clamp_backward(g, x, low, high, gx):
    size = gx.shape[0]
    #omp parallel for firstprivate(low, high) if(size > 16384)
    for c in pieces(gx):
        i = piece(c, gx)
        _clamp_back(g[i], x[i], low, high, gx[i])


# dropout: the random number of an entry is SplitMix64 of the seed and its place

def _dropout(seed, base, limit, scale, x, y):
    step = (np.uint64(0x9E3779B9) << np.uint64(32)) | np.uint64(0x7F4A7C15)
    mix1 = (np.uint64(0xBF58476D) << np.uint64(32)) | np.uint64(0x1CE4E5B9)
    mix2 = (np.uint64(0x94D049BB) << np.uint64(32)) | np.uint64(0x133111EB)
    for j in range(x.shape[0]):
        z = seed + (np.uint64(base + j) + np.uint64(1)) * step
        z = (z ^ (z >> np.uint64(30))) * mix1
        z = (z ^ (z >> np.uint64(27))) * mix2
        z = (z ^ (z >> np.uint64(31))) >> np.uint64(11)
        y[j] = x[j] * scale if z < limit else ZERO

#pythran export dropout(float32[], int64, int64, float32, float32[])
def dropout(x, seed, limit, scale, y):
    "Seed and limit are int64 of the same bits: a uint64 of 2**63 and more does not come through."
    size, seed, limit = y.shape[0], np.uint64(seed), np.uint64(limit)
    #omp parallel for firstprivate(seed, limit, scale) if(size > 16384)
    for c in pieces(y):
        i = piece(c, y)
        _dropout(seed, c * CHUNK, limit, scale, x[i], y[i])
