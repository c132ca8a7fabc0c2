"""Arithmetic element by element. Bound by memory: every array passes once, in pieces that stay in cache."""
import numpy as np
from ._loops import loop_number, loop_two, piece, pieces

ZERO = np.float32(0)
HALF = np.float32(0.5)
ONE = np.float32(1)
FEW = 8192          # elements up to which one thread is as fast


def constant(x, s): return s

def root(x, same): return np.sqrt(x)


# f over two arrays; an array and a number; an array and one row; an array and a column that starts again after its end

def pairs(f, a, b, y):
    #omp parallel for
    for c in pieces(y):
        i = piece(c, y)
        y[i] = f(a[i], b[i])

def number(f, x, s, y):
    #omp parallel for firstprivate(s)
    for c in pieces(y):
        i = piece(c, y)
        y[i] = f(x[i], s)

def rows(f, x, row, y):
    #omp parallel for
    for i in range(x.shape[0]):
        y[i] = f(x[i], row)

def cols(f, x, col, y):
    k = col.shape[0]
    #omp parallel for firstprivate(k)
    for i in range(x.shape[0]):
        y[i] = f(x[i], col[i - i // k * k])


# the same for an f that writes y itself, element by element

def loop_rows(f, x, row, y):
    #omp parallel for
    for i in range(x.shape[0]):
        f(x[i], row, y[i])

def loop_cols(f, x, col, y):
    k = col.shape[0]
    #omp parallel for firstprivate(k)
    for i in range(x.shape[0]):
        f(x[i], col[i - i // k * k], y[i])


#pythran export add(float32[], float32[], float32[])
def add(a, b, y): pairs(np.add, a, b, y)
#pythran export sub(float32[], float32[], float32[])
def sub(a, b, y): pairs(np.subtract, a, b, y)
#pythran export mul(float32[], float32[], float32[])
def mul(a, b, y): pairs(np.multiply, a, b, y)

#pythran export add_scalar(float32[], float32, float32[])
def add_scalar(x, s, y): number(np.add, x, s, y)
#pythran export sub_scalar(float32[], float32, float32[])
def sub_scalar(x, s, y): number(np.subtract, x, s, y)
#pythran export mul_scalar(float32[], float32, float32[])
def mul_scalar(x, s, y): number(np.multiply, x, s, y)
#pythran export add_row(float32[:,:] order(C), float32[], float32[:,:] order(C))
def add_row(x, row, y): rows(np.add, x, row, y)
#pythran export sub_row(float32[:,:] order(C), float32[], float32[:,:] order(C))
def sub_row(x, row, y): rows(np.subtract, x, row, y)
#pythran export mul_row(float32[:,:] order(C), float32[], float32[:,:] order(C))
def mul_row(x, row, y): rows(np.multiply, x, row, y)

#pythran export add_col(float32[:,:] order(C), float32[], float32[:,:] order(C))
def add_col(x, col, y): cols(np.add, x, col, y)
#pythran export sub_col(float32[:,:] order(C), float32[], float32[:,:] order(C))
def sub_col(x, col, y): cols(np.subtract, x, col, y)
#pythran export mul_col(float32[:,:] order(C), float32[], float32[:,:] order(C))
def mul_col(x, col, y): cols(np.multiply, x, col, y)


#pythran export mul_scalar_(float32[], float32)
def mul_scalar_(x, s): number(np.multiply, x, s, x)

#pythran export add_scaled_(float32[], float32[], float32)
def add_scaled_(x, y, alpha):
    #omp parallel for firstprivate(alpha)
    for c in pieces(x):
        i = piece(c, x)
        x[i] = x[i] + alpha * y[i]


def grads(f, g, a, b, ga, gb):
    n = g.shape[0]
    #omp parallel for if(n > 8192)
    for c in pieces(g):
        i = piece(c, g)
        f(g[i], a[i], b[i], ga[i], gb[i])

def _div_grads(g, a, b, ga, gb):
    for i in range(g.shape[0]):
        t = np.float32(g[i] / b[i])
        ga[i] = t
        gb[i] = -t * np.float32(a[i] / b[i])

#pythran export div_backward(float32[], float32[], float32[], float32[], float32[])
def div_backward(g, a, b, ga, gb): grads(_div_grads, g, a, b, ga, gb)


def _max_grads(g, a, b, ga, gb):
    for i in range(g.shape[0]):
        u = HALF * g[i] if a[i] == b[i] else g[i]
        ga[i] = u if a[i] >= b[i] else ZERO
        gb[i] = u if a[i] <= b[i] else ZERO

#pythran export maximum_backward(float32[], float32[], float32[], float32[], float32[])
def maximum_backward(g, a, b, ga, gb): grads(_max_grads, g, a, b, ga, gb)

#pythran export minimum_backward(float32[], float32[], float32[], float32[], float32[])
def minimum_backward(g, a, b, ga, gb): maximum_backward(g, b, a, ga, gb)


# a / b of whole pieces goes through float64

def _over(a, b, y):
    for i in range(y.shape[0]): y[i] = a[i] / b[i]

def _over_number(x, s, y):
    for i in range(y.shape[0]): y[i] = x[i] / s

def _under(x, s, y):
    for i in range(y.shape[0]): y[i] = s / x[i]

#pythran export div(float32[], float32[], float32[])
def div(a, b, y): loop_two(_over, a, b, y, FEW)
#pythran export div_scalar(float32[], float32, float32[])
def div_scalar(x, s, y): loop_number(_over_number, x, s, y, FEW)
#pythran export div_row(float32[:,:] order(C), float32[], float32[:,:] order(C))
def div_row(x, row, y): loop_rows(_over, x, row, y)
#pythran export div_col(float32[:,:] order(C), float32[], float32[:,:] order(C))
def div_col(x, col, y): loop_cols(_over_number, x, col, y)


# np.maximum of whole pieces drops NaN

def _larger(a, b, y):
    for i in range(y.shape[0]): y[i] = a[i] if (a[i] > b[i] or a[i] != a[i]) else b[i]

def _smaller(a, b, y):
    for i in range(y.shape[0]): y[i] = a[i] if (a[i] < b[i] or a[i] != a[i]) else b[i]

def _larger_number(x, s, y):
    for i in range(y.shape[0]): y[i] = x[i] if (x[i] > s or x[i] != x[i]) else s

def _smaller_number(x, s, y):
    for i in range(y.shape[0]): y[i] = x[i] if (x[i] < s or x[i] != x[i]) else s

#pythran export maximum(float32[], float32[], float32[])
def maximum(a, b, y): loop_two(_larger, a, b, y, FEW)
#pythran export minimum(float32[], float32[], float32[])
def minimum(a, b, y): loop_two(_smaller, a, b, y, FEW)
#pythran export maximum_scalar(float32[], float32, float32[])
def maximum_scalar(x, s, y): loop_number(_larger_number, x, s, y, FEW)
#pythran export minimum_scalar(float32[], float32, float32[])
def minimum_scalar(x, s, y): loop_number(_smaller_number, x, s, y, FEW)


# np.power of whole pieces loses seven bits and the special cases (0**0, inf); libm's, one by one, does not

def _pow(a, b, y):
    for i in range(y.shape[0]): y[i] = a[i] ** b[i]

def _pow_number(x, s, y):
    for i in range(y.shape[0]): y[i] = x[i] ** s

#pythran export pow(float32[], float32[], float32[])
def pow(a, b, y): loop_two(_pow, a, b, y, FEW)

#pythran export pow_scalar(float32[], float32, float32[])
def pow_scalar(x, s, y):
    if s == 2:
        pairs(np.multiply, x, x, y)
    elif s == 3:
        pairs(np.multiply, x, x, y)
        pairs(np.multiply, y, x, y)
    elif s == -1:
        loop_number(_under, x, np.float32(1), y, FEW)
    elif s == HALF:
        pairs(root, x, x, y)
    else:
        loop_number(_pow_number, x, s, y, FEW)


def _pow_grads(g, a, b, y, ga, gb):
    for i in range(g.shape[0]):
        p = b[i] * np.float32(a[i] ** (b[i] - ONE))
        q = y[i] * np.log(a[i])
        ga[i] = ZERO if b[i] == 0 else g[i] * p
        gb[i] = ZERO if (a[i] == 0 and b[i] >= 0) else g[i] * q

#pythran export pow_backward(float32[], float32[], float32[], float32[], float32[], float32[])
def pow_backward(g, a, b, y, ga, gb):
    n = g.shape[0]
    #omp parallel for if(n > 8192)
    for c in pieces(g):
        i = piece(c, g)
        _pow_grads(g[i], a[i], b[i], y[i], ga[i], gb[i])

#pythran export pow_scalar_backward(float32[], float32[], float32, float32[])
def pow_scalar_backward(g, x, s, gx):
    if s == 0:
        number(constant, g, np.float32(0), gx)
    elif s == 1:
        number(np.multiply, g, np.float32(1), gx)
    else:
        pow_scalar(x, np.float32(s - ONE), gx)
        number(np.multiply, gx, s, gx)
        pairs(np.multiply, g, gx, gx)
