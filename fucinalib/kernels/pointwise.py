"""Arithmetic element by element, and its gradients."""
import numpy as np
from .dispatch import kernel


ALL = 'scalar', 'row', 'col'


@kernel(flat=True, forms=ALL)
def add(a, b):
    "a + b."
    return np.add(a, b)

@kernel(flat=True, forms=ALL)
def sub(a, b):
    "a - b."
    return np.subtract(a, b)

@kernel(flat=True, forms=ALL)
def mul(a, b):
    "a * b."
    return np.multiply(a, b)

@kernel(flat=True, forms=ALL)
def div(a, b):
    "a / b; x / 0 is inf or NaN."
    return np.divide(a, b)

@kernel(flat=True, forms=('scalar',))
def maximum(a, b):
    "The larger one; NaN in either gives NaN."
    return np.maximum(a, b)

@kernel(flat=True, forms=('scalar',))
def minimum(a, b):
    "The smaller one; NaN in either gives NaN."
    return np.minimum(a, b)

@kernel(flat=True, forms=('scalar',))
def pow(a, b):
    "a ** b by the rules of C: 0 ** 0 is 1, a negative base with a fractional exponent NaN."
    return np.power(a, b) if isinstance(b, np.ndarray) else pow_scalar.kernel.twin(a, b)


# one number for all elements

@kernel(flat=True)
def add_scalar(x, s):
    "x + s."
    return np.add(x, s)

@kernel(flat=True)
def sub_scalar(x, s):
    "x - s."
    return np.subtract(x, s)

@kernel(flat=True)
def mul_scalar(x, s):
    "x * s."
    return np.multiply(x, s)

@kernel(flat=True)
def div_scalar(x, s):
    "x / s."
    return np.divide(x, s)

@kernel(flat=True)
def maximum_scalar(x, s):
    "The larger of x and s; NaN stays."
    return np.maximum(x, s)

@kernel(flat=True)
def minimum_scalar(x, s):
    "The smaller of x and s; NaN stays."
    return np.minimum(x, s)

@kernel(flat=True)
def pow_scalar(x, s):
    "x ** s; where s is a half, the square root."
    if s == 2: return np.multiply(x, x)
    if s == 3: return np.multiply(np.multiply(x, x), x)
    if s == -1: return np.divide(1, x)
    if s == .5: return np.sqrt(x)
    return np.power(x, s)


# one row (n,) for all rows of (rows, n); a column (k,) with one number per row, used again from the top after k rows

def by_rows(f, x, col): return f(x.reshape(-1, col.size, x.shape[1]), col[:, None]).reshape(x.shape)

@kernel()
def add_row(x, row):
    "x + row."
    return np.add(x, row)

@kernel()
def sub_row(x, row):
    "x - row."
    return np.subtract(x, row)

@kernel()
def mul_row(x, row):
    "x * row."
    return np.multiply(x, row)

@kernel()
def div_row(x, row):
    "x / row."
    return np.divide(x, row)

@kernel()
def add_col(x, col):
    "x[i] + col[i % k]."
    return by_rows(np.add, x, col)

@kernel()
def sub_col(x, col):
    "x[i] - col[i % k]."
    return by_rows(np.subtract, x, col)

@kernel()
def mul_col(x, col):
    "x[i] * col[i % k]."
    return by_rows(np.multiply, x, col)

@kernel()
def div_col(x, col):
    "x[i] / col[i % k]."
    return by_rows(np.divide, x, col)


# in place

@kernel(flat=True, inplace=(0,))
def add_scaled_(x, y, alpha):
    "x += alpha * y."
    np.add(x, y if alpha == 1 else np.multiply(y, alpha), out=x)
    return x

@kernel(flat=True, inplace=(0,))
def mul_scalar_(x, s):
    "x *= s."
    return np.multiply(x, s, out=x)


# gradients: g is the gradient of the result

def two(g, a, b, *more): return [(g.shape, g.dtype)] * 2

@kernel(flat=True, out=two)
def div_backward(g, a, b):
    "Gradients of a / b for both: g / b and -g a / b**2."
    ga = np.divide(g, b)
    return ga, np.negative(np.multiply(ga, np.divide(a, b)))

@kernel(flat=True, out=two)
def maximum_backward(g, a, b):
    "Gradients for both: g to the larger one, half to each at a tie, none where either is NaN."
    half, none = np.multiply(g, g.dtype.type(0.5)), g.dtype.type(0)
    tie = np.where(a == b, half, none)
    return np.where(a > b, g, tie), np.where(a < b, g, tie)

@kernel(flat=True, out=two)
def minimum_backward(g, a, b):
    "Gradients for both: g to the smaller one, half to each at a tie, none where either is NaN."
    half, none = np.multiply(g, g.dtype.type(0.5)), g.dtype.type(0)
    tie = np.where(a == b, half, none)
    return np.where(a < b, g, tie), np.where(a > b, g, tie)

@kernel(flat=True, out=two)
def pow_backward(g, a, b, y):
    "Gradients of y = a ** b for both: g b a**(b-1), zero where b is 0, and g y ln a, zero where a is 0 and b is not negative."
    none = g.dtype.type(0)
    return (np.where(b == 0, none, g * (b * np.power(a, b - g.dtype.type(1)))),
            np.where((a == 0) & (b >= 0), none, g * (y * np.log(a))))

@kernel(flat=True)
def pow_scalar_backward(g, x, s):
    "Gradient of x ** s for x: g s x**(s-1), zero for s = 0."
    if s == 0: return np.zeros(g.shape, g.dtype)
    if s == 1: return np.array(g)
    return np.multiply(g, np.multiply(pow_scalar.kernel.twin(x, s - 1), s))
