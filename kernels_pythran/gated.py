"""Gates and their gradients, in pieces that stay in cache: the exponential of a piece first, then one loop.
A quotient of float32 is float64 here, and all that follows with it: hence the np.float32 around each."""
import numpy as np
from ._loops import CHUNK, loop_exp, piece, pieces, _minus_abs, _within

ZERO = np.float32(0)
ONE = np.float32(1)
FEW = 8192          # elements up to which one thread is as fast


def back(power, finish, g, up, gate, gu, gg):
    size = gu.shape[0]
    #omp parallel for if(size > 8192)
    for c in pieces(gu):
        i = piece(c, gu)
        power(gate[i], gg[i])
        gg[i] = np.exp(gg[i])
        finish(g[i], up[i], gate[i], gu[i], gg[i])


def _cubic(x, y):
    for i in range(x.shape[0]):
        y[i] = -np.float32(1.5957691216057308) * np.abs(x[i]) * (ONE + np.float32(.044715) * x[i] * x[i])


# e comes as exp(-|z|): s = 1 / (1 + exp(-z)) and its slope e / (1 + e)**2

def _glu(up, gate, y):
    for i in range(y.shape[0]):
        e = y[i]
        r = np.float32(ONE / (ONE + e))
        y[i] = up[i] * (r if gate[i] >= ZERO else e * r)

#pythran export glu(float32[], float32[], float32[])
def glu(up, gate, y): loop_exp(_minus_abs, _glu, up, gate, y, FEW)

def _glu_back(g, up, gate, gu, gg):
    for i in range(g.shape[0]):
        e = gg[i]
        r = np.float32(ONE / (ONE + e))
        gu[i] = g[i] * (r if gate[i] >= ZERO else e * r)
        gg[i] = g[i] * up[i] * (e * r * r)

#pythran export glu_backward(float32[], float32[], float32[], float32[], float32[])
def glu_backward(g, up, gate, gu, gg): back(_minus_abs, _glu_back, g, up, gate, gu, gg)


def _swiglu(up, gate, y):
    for i in range(y.shape[0]):
        e = y[i]
        r = np.float32(ONE / (ONE + e))
        y[i] = up[i] * (gate[i] * (r if gate[i] >= ZERO else e * r))

#pythran export swiglu(float32[], float32[], float32[])
def swiglu(up, gate, y): loop_exp(_minus_abs, _swiglu, up, gate, y, FEW)

#pythran export geglu(float32[], float32[], float32[])
def geglu(up, gate, y): loop_exp(_cubic, _swiglu, up, gate, y, FEW)

def _swiglu_back(g, up, gate, gu, gg):
    for i in range(g.shape[0]):
        e = gg[i]
        r = np.float32(ONE / (ONE + e))
        s = r if gate[i] >= ZERO else e * r
        gu[i] = g[i] * (gate[i] * s)
        gg[i] = g[i] * up[i] * (s + gate[i] * (e * r * r))

#pythran export swiglu_backward(float32[], float32[], float32[], float32[], float32[])
def swiglu_backward(g, up, gate, gu, gg): back(_minus_abs, _swiglu_back, g, up, gate, gu, gg)

def _geglu_back(g, up, gate, gu, gg):
    for i in range(g.shape[0]):
        e = gg[i]
        r = np.float32(ONE / (ONE + e))
        s = r if gate[i] >= ZERO else e * r
        gu[i] = g[i] * (gate[i] * s)
        v = _within(gate[i], np.float32(40))
        bend = np.float32(1.5957691216057308) * (ONE + np.float32(.134145) * v * v)
        gg[i] = g[i] * up[i] * (s + v * (e * r * r) * bend)

#pythran export geglu_backward(float32[], float32[], float32[], float32[], float32[])
def geglu_backward(g, up, gate, gu, gg): back(_cubic, _geglu_back, g, up, gate, gu, gg)


# halves of one array (outer, 2, inner); a task is one piece of one row

def task(k, n):
    "Row and piece number k when every row has n values."
    per = (n + CHUNK - 1) // CHUNK
    lo = (k - k // per * per) * CHUNK
    return k // per, slice(lo, min(n, lo + CHUNK))

def split(finish, up, gate, x, y):
    n = y.shape[1]
    size = y.shape[0] * n
    #omp parallel for firstprivate(n, up, gate) if(size > 8192)
    for k in range(y.shape[0] * ((n + CHUNK - 1) // CHUNK)):
        o, i = task(k, n)
        _minus_abs(x[o, gate, i], y[o, i])
        y[o, i] = np.exp(y[o, i])
        finish(x[o, up, i], x[o, gate, i], y[o, i])

def split_back(finish, up, gate, g, x, gx):
    n = g.shape[1]
    size = g.shape[0] * n
    #omp parallel for firstprivate(n, up, gate) if(size > 8192)
    for k in range(g.shape[0] * ((n + CHUNK - 1) // CHUNK)):
        o, i = task(k, n)
        _minus_abs(x[o, gate, i], gx[o, gate, i])
        gx[o, gate, i] = np.exp(gx[o, gate, i])
        finish(g[o, i], x[o, up, i], x[o, gate, i], gx[o, up, i], gx[o, gate, i])

#pythran export split_swiglu(float32[:,:,:] order(C), float32[:,:] order(C))
def split_swiglu(x, y): split(_swiglu, 1, 0, x, y)
#pythran export split_glu(float32[:,:,:] order(C), float32[:,:] order(C))
def split_glu(x, y): split(_glu, 0, 1, x, y)
#pythran export split_swiglu_backward(float32[:,:] order(C), float32[:,:,:] order(C), float32[:,:,:] order(C))
def split_swiglu_backward(g, x, gx): split_back(_swiglu_back, 1, 0, g, x, gx)
#pythran export split_glu_backward(float32[:,:] order(C), float32[:,:,:] order(C), float32[:,:,:] order(C))
def split_glu_backward(g, x, gx): split_back(_glu_back, 0, 1, g, x, gx)
