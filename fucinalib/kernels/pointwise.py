"""Arithmetic element by element, and its gradients."""
import math
import numpy as np
from .dispatch import kernel
from .forms import has_vector_code, two, with_forms


# each in four kernels: `add` of two arrays, `add_scalar`, `add_row`, `add_col`

with_forms('add', np.add, '{} + {}.')
sub = with_forms('sub', np.subtract, '{} - {}.')
with_forms('mul', np.multiply, '{} * {}.')
with_forms('div', np.divide, '{} / {}; over 0 it is inf or NaN.')
with_forms('maximum', np.maximum, 'The larger of {} and {}; NaN in either gives NaN.', ('scalar',))
with_forms('minimum', np.minimum, 'The smaller of {} and {}; NaN in either gives NaN.', ('scalar',))


# the doubles take powers one by one, as C does: with vector code of its own NumPy is faster at every size
POWERS = math.inf if has_vector_code('power') else 1 << 15

@kernel(flat=True, floor=POWERS, forms=('scalar',))
def pow(a, b):
    "a ** b by the rules of C: 0 ** 0 is 1, a negative base with a fractional exponent NaN."
    return np.power(a, b) if isinstance(b, np.ndarray) else pow_scalar.kernel.twin(a, b)

@kernel(flat=True, floor=POWERS)
def pow_scalar(x, s):
    "x ** s; where s is a half, the square root."
    if s == 2: return np.multiply(x, x)
    if s == 3: return np.multiply(np.multiply(x, x), x)
    if s == -1: return np.divide(1, x)
    if s == .5: return np.sqrt(x)
    return np.power(x, s)


# in place

@kernel(flat=True, inplace=(0,))
def add_scaled_(x, y, alpha):
    "x += alpha * y."
    np.add(x, y if alpha == 1 else np.multiply(y, alpha), out=x)
    return x

@kernel(flat=True, floor=1 << 17, inplace=(0,))
def mul_scalar_(x, s):
    "x *= s."
    return np.multiply(x, s, out=x)


# gradients: g is the gradient of the result

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
    return maximum_backward.kernel.twin(g, b, a)

@kernel(flat=True, floor=POWERS, out=two)
def pow_backward(g, a, b, y):
    """Gradients of y = a ** b for both.

    g b a**(b-1), zero where b is 0; and g y ln a, zero where a is 0 and b is not negative."""
    none = g.dtype.type(0)
    return (np.where(b == 0, none, g * (b * np.power(a, b - g.dtype.type(1)))),
            np.where((a == 0) & (b >= 0), none, g * (y * np.log(a))))

@kernel(flat=True, floor=POWERS)
def pow_scalar_backward(g, x, s):
    "Gradient of x ** s for x: g s x**(s-1), zero for s = 0."
    if s == 0: return np.zeros(g.shape, g.dtype)
    if s == 1: return np.array(g)
    return np.multiply(g, np.multiply(pow_scalar.kernel.twin(x, s - 1), s))


# several at once; a plan (chapter 37) makes one of neighbours

# name -> its number in a chain where what the chain has is the first operand, where it is the second
LINKS = dict(add=(0, 0), subtract=(1, 2), multiply=(3, 3), divide=(4, 5), relu=(6,), relu_backward=(7,))

def linked(code, x, b):
    "One link of a chain."
    if code == 0: return x + b
    if code in (1, 2): return x - b if code == 1 else b - x
    if code == 3: return x * b
    if code in (4, 5): return x / b if code == 4 else b / x
    zero = x.dtype.type(0)
    return np.where(x <= 0, zero, x) if code == 6 else np.where(b > 0, x, zero)

@kernel(floor=0)
def chain(x, codes, others, m):
    """Functions in the order of `codes`, numbers of LINKS, of x and an array each: as long as x, or a row that is
    repeated. Pieces have m numbers, a multiple of each row's length."""
    for code, b in zip(codes, others): x = linked(code, x, np.resize(b, x.shape))
    return x
