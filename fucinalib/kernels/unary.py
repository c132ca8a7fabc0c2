"""Functions of one number, and their gradients. g is the gradient of the result, y the result."""
import numpy as np
from .dispatch import kernel
from .pointwise import quiet

wide = np.float32           # 16-bit floats compute in this and round once


def rounding(f):
    "f16 arguments are computed in f32 and the result is rounded once."
    def twin(x, *rest):
        if x.dtype.itemsize != 2 or x.dtype.kind != 'f': return f(x, *rest)
        return f(x.astype(wide), *[a.astype(wide) if isinstance(a, np.ndarray) else a for a in rest]).astype(x.dtype)
    twin.__name__, twin.__doc__ = f.__name__, f.__doc__
    return quiet(twin)


@kernel(flat=True)
@rounding
def exp(x):
    "e ** x."
    return np.exp(x)

@kernel(flat=True)
@rounding
def log(x):
    "The natural logarithm; -inf at 0, NaN below."
    return np.log(x)

@kernel(flat=True)
@rounding
def sqrt(x):
    "The square root; NaN below 0."
    return np.sqrt(x)

@kernel(flat=True)
@rounding
def sqrt_backward(g, y):
    "g / (2 y)."
    return np.divide(np.multiply(g, g.dtype.type(.5)), y)

@kernel(flat=True)
@rounding
def tanh(x):
    "The hyperbolic tangent."
    return np.tanh(x)

@kernel(flat=True)
@rounding
def tanh_backward(g, y):
    "g (1 - y**2)."
    return np.multiply(g, 1 - np.multiply(y, y))

@kernel(flat=True)
@quiet
def relu(x):
    "The larger of x and 0; NaN stays."
    return np.maximum(x, x.dtype.type(0))

@kernel(flat=True)
@quiet
def relu_backward(g, y):
    "g where y is above 0, else 0."
    return np.where(y > 0, g, g.dtype.type(0))

@kernel(flat=True)
@quiet
def abs(x):
    "The distance from 0."
    return np.abs(x)

@kernel(flat=True)
@quiet
def abs_backward(g, x):
    "g by the sign of x, 0 at 0."
    return np.multiply(g, np.sign(x))
