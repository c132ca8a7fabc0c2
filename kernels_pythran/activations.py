"""Functions made of an exponential, and their gradients: soft steps, tanh, elu, gelu. In pieces that stay in cache:
first the exponential, then one loop that uses it.

The exponents are never positive, or it does not matter that they are, so nothing overflows into NaN. A quotient of
float32 is float64 here, and all that follows with it: hence the np.float32 around each.
"""
import numpy as np
from ._curves import minus_twice_abs, sigmoid_of, tanh_of
from ._loops import loop_exp, loop_two, loop_two_number, piece, pieces, _minus_abs, _within

ZERO = np.float32(0)
HALF = np.float32(0.5)
ONE = np.float32(1)
TWO = np.float32(2)
QUARTER = np.float32(0.25)
FEW = 8192          # elements up to which one thread is as fast


# exponents

def _quick(x, y):
    for i in range(x.shape[0]):
        y[i] = -np.abs(np.float32(1.702) * x[i])

def _cubic(x, y):
    for i in range(x.shape[0]):
        y[i] = -np.float32(1.5957691216057308) * x[i] * (ONE + np.float32(.044715) * x[i] * x[i])

def _minus_abs_cubic(x, y):
    for i in range(x.shape[0]):
        y[i] = -np.float32(1.5957691216057308) * np.abs(x[i]) * (ONE + np.float32(.044715) * x[i] * x[i])

def _square(x, y):
    for i in range(x.shape[0]):
        y[i] = -HALF * x[i] * x[i]

def _below(x, y):
    for i in range(x.shape[0]):
        y[i] = ZERO if x[i] > ZERO else x[i]


# sigmoid and what is made of it; y comes as exp(-|x|). Of one operand, `loop_exp` is given it twice.

def _sigmoid(_, x, y): sigmoid_of(x, y)

#pythran export sigmoid(float32[], float32[])
def sigmoid(x, y): loop_exp(_minus_abs, _sigmoid, x, x, y, FEW)

def _sigmoid_back(g, y, gx):
    for i in range(g.shape[0]):
        gx[i] = g[i] * (y[i] * (ONE - y[i]))

#pythran export sigmoid_backward(float32[], float32[], float32[])
def sigmoid_backward(g, y, gx): loop_two(_sigmoid_back, g, y, gx, FEW)

def _silu(_, x, y):
    for i in range(x.shape[0]):
        e = y[i]
        r = np.float32(ONE / (ONE + e))
        y[i] = x[i] * (r if x[i] >= ZERO else e * r)

#pythran export silu(float32[], float32[])
def silu(x, y): loop_exp(_minus_abs, _silu, x, x, y, FEW)

def _silu_back(g, x, gx):
    for i in range(g.shape[0]):
        e = gx[i]
        r = np.float32(ONE / (ONE + e))
        s = r if x[i] >= ZERO else e * r
        gx[i] = g[i] * (s + x[i] * (e * r * r))

#pythran export silu_backward(float32[], float32[], float32[])
def silu_backward(g, x, gx): loop_exp(_minus_abs, _silu_back, g, x, gx, FEW)

#pythran export quick_gelu(float32[], float32[])
def quick_gelu(x, y): loop_exp(_quick, _silu, x, x, y, FEW)

def _quick_back(g, x, gx):
    for i in range(g.shape[0]):
        e = gx[i]
        r = np.float32(ONE / (ONE + e))
        s = r if x[i] >= ZERO else e * r
        v = _within(x[i], np.float32(500))
        gx[i] = g[i] * (s + np.float32(1.702) * v * (e * r * r))

#pythran export quick_gelu_backward(float32[], float32[], float32[])
def quick_gelu_backward(g, x, gx): loop_exp(_quick, _quick_back, g, x, gx, FEW)

def _softplus(x, y):
    for i in range(x.shape[0]):
        y[i] = y[i] + (ZERO if x[i] <= ZERO else x[i])

#pythran export softplus(float32[], float32[])
def softplus(x, y):
    size = y.shape[0]
    #omp parallel for if(size > 8192)
    for c in pieces(y):
        i = piece(c, y)
        _minus_abs(x[i], y[i])
        y[i] = np.exp(y[i])
        y[i] = np.log1p(y[i])
        _softplus(x[i], y[i])

def _times_sigmoid(g, x, gx):
    for i in range(g.shape[0]):
        e = gx[i]
        r = np.float32(ONE / (ONE + e))
        gx[i] = g[i] * (r if x[i] >= ZERO else e * r)

#pythran export softplus_backward(float32[], float32[], float32[])
def softplus_backward(g, x, gx): loop_exp(_minus_abs, _times_sigmoid, g, x, gx, FEW)


# tanh; y comes as exp(-2|x|)

def _tanh(_, x, y): tanh_of(x, y)

#pythran export tanh(float32[], float32[])
def tanh(x, y): loop_exp(minus_twice_abs, _tanh, x, x, y, FEW)

#pythran export softcap(float32[], float32, float32[])
def softcap(x, cap, y):
    size = y.shape[0]
    #omp parallel for firstprivate(cap) if(size > 8192)
    for c in pieces(y):
        i = piece(c, y)
        z = x[i] / cap
        minus_twice_abs(z, y[i])
        y[i] = np.exp(y[i])
        _tanh(z, z, y[i])
        y[i] *= cap

def _tanh_back(g, y, gx):
    for i in range(g.shape[0]):
        gx[i] = g[i] * (ONE - y[i] * y[i])

#pythran export tanh_backward(float32[], float32[], float32[])
def tanh_backward(g, y, gx): loop_two(_tanh_back, g, y, gx, FEW)

def _softcap_back(g, y, cap, gx):
    for i in range(g.shape[0]):
        t = np.float32(y[i] / cap)
        gx[i] = g[i] * (ONE - t * t)

#pythran export softcap_backward(float32[], float32[], float32, float32[])
def softcap_backward(g, y, cap, gx): loop_two_number(_softcap_back, g, y, cap, gx, FEW)


# elu; y comes as exp(min(x, 0)), and near 0 a polynomial keeps the digits of e - 1

def _elu(_, x, y):
    for i in range(x.shape[0]):
        v = x[i]
        near = v * (ONE + v * (HALF + v * (np.float32(.166666644) + v * (np.float32(.0416661249)
                    + v * (np.float32(.00832867179) + v * (np.float32(.00137061873)
                    + v * np.float32(.000164809673)))))))
        y[i] = v if v > ZERO else (near if v > -HALF else y[i] - ONE)

#pythran export elu(float32[], float32[])
def elu(x, y): loop_exp(_below, _elu, x, x, y, FEW)

def _times(g, x, gx):
    for i in range(g.shape[0]):
        gx[i] = g[i] * gx[i]

#pythran export elu_backward(float32[], float32[], float32[])
def elu_backward(g, x, gx): loop_exp(_below, _times, g, x, gx, FEW)


# gelu; the exponential comes as exp(-x**2 / 2), and p is TAIL of the NumPy twin as a polynomial in u = 2 s - 1

def _tail(a):
    "The share of a normal distribution beyond a >= 0, over exp(-a**2 / 2)."
    s = np.float32(ONE / (ONE + QUARTER * a))
    u = TWO * s - ONE
    p = (np.float32(.18882128596305847) + u * (np.float32(.15197409689426422) + u * (np.float32(.09678439050912857)
         + u * (np.float32(.04663167893886566) + u * (np.float32(.01509882416576147)
         + u * (np.float32(.0018780578393489122) + u * (np.float32(-.000869041949044913)
         + u * (np.float32(-.0003909467195626348) + u * (np.float32(3.233141978853382e-05)
         + u * np.float32(3.9330141589744017e-05))))))))))
    return s * p

def _gelu(_, x, y):
    for i in range(x.shape[0]):
        t = y[i] * _tail(np.abs(x[i]))
        y[i] = x[i] * (t if x[i] < ZERO else ONE - t)

#pythran export gelu(float32[], float32[])
def gelu(x, y): loop_exp(_square, _gelu, x, x, y, FEW)

def _gelu_back(g, x, gx):
    for i in range(g.shape[0]):
        t = gx[i] * _tail(np.abs(x[i]))
        gx[i] = g[i] * ((t if x[i] < ZERO else ONE - t) + x[i] * (gx[i] * np.float32(.3989422804014327)))

#pythran export gelu_backward(float32[], float32[], float32[])
def gelu_backward(g, x, gx): loop_exp(_square, _gelu_back, g, x, gx, FEW)

def _gelu_tanh(_, x, y):
    for i in range(x.shape[0]):
        y[i] = x[i] / (ONE + y[i])

#pythran export gelu_tanh(float32[], float32[])
def gelu_tanh(x, y): loop_exp(_cubic, _gelu_tanh, x, x, y, FEW)

def _gelu_tanh_back(g, x, gx):
    for i in range(g.shape[0]):
        e = gx[i]
        r = np.float32(ONE / (ONE + e))
        s = r if x[i] >= ZERO else e * r
        v = _within(x[i], np.float32(40))
        gx[i] = g[i] * (s + v * (e * r * r) * (np.float32(1.5957691216057308) * (ONE + np.float32(.134145) * v * v)))

#pythran export gelu_tanh_backward(float32[], float32[], float32[])
def gelu_tanh_backward(g, x, gx): loop_exp(_minus_abs_cubic, _gelu_tanh_back, g, x, gx, FEW)
