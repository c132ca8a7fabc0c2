"""Functions of one number that NumPy has, or that choose between two: powers, waves, kinks, steps. And their gradients:
g is the gradient of the result y, the gradient of x comes out. What is made of an exponential is in activations."""
import numpy as np
from .dispatch import kernel
from .forms import branching, costly, one_pass, pieces, several
from .random import bits, counters


# powers, exponentials, waves

@costly
def exp(x):
    "e ** x."
    return np.exp(x)

@costly
def log(x):
    "The natural logarithm; -inf at 0, NaN below."
    return np.log(x)

@several
def log1p(x):
    "log(1 + x), exact for small x."
    return np.log1p(x)

@costly
def log1p_backward(g, x):
    "g / (1 + x)."
    return np.divide(g, 1 + x)

@several
def sqrt(x):
    "The square root; NaN below 0."
    return np.sqrt(x)

@costly
def sqrt_backward(g, y):
    "g / (2 y)."
    return np.divide(np.multiply(g, .5), y)

@several
def rsqrt(x):
    "1 / sqrt(x)."
    return np.divide(1, np.sqrt(x))

@several
def rsqrt_backward(g, x):
    "-g / (2 x sqrt(x))."
    return np.divide(np.multiply(g, -.5), np.multiply(x, np.sqrt(x)))

@costly
def reciprocal(x):
    "1 / x."
    return np.divide(1, x)

@several
def reciprocal_backward(g, y):
    "-g y**2."
    return np.negative(np.multiply(g, np.multiply(y, y)))

@costly
def square_backward(g, x):
    "2 g x."
    return np.multiply(g, np.multiply(x, 2))

@costly
def sin(x):
    "The sine."
    return np.sin(x)

@costly
def sin_backward(g, x):
    "g cos(x)."
    return np.multiply(g, np.cos(x))

@costly
def cos(x):
    "The cosine."
    return np.cos(x)

@costly
def cos_backward(g, x):
    "-g sin(x)."
    return np.negative(np.multiply(g, np.sin(x)))


# kinks and steps; these take integers too

@several
def relu(x):
    "The larger of x and 0; NaN stays."
    return np.maximum(x, x.dtype.type(0))

@branching
def relu_backward(g, y):
    "g where y is above 0, else 0."
    return np.where(y > 0, g, g.dtype.type(0))

@branching
def leaky_relu(x, slope):
    "x from 0 up, slope x below."
    return np.where(x >= 0, x, np.multiply(x, x.dtype.type(slope)))

@branching
def leaky_relu_backward(g, x, slope):
    "g above 0, slope g elsewhere."
    return np.where(x > 0, g, np.multiply(g, g.dtype.type(slope)))

@several
def clamp(x, low, high):
    "x moved into [low, high]; NaN stays."
    return np.clip(x, x.dtype.type(low), x.dtype.type(high))

@branching
def clamp_backward(g, x, low, high):
    "g where x is in [low, high], its bounds included, else 0."
    return np.where((x >= x.dtype.type(low)) & (x <= x.dtype.type(high)), g, g.dtype.type(0))

@one_pass
def abs(x):
    "The distance from 0."
    return np.abs(x)

@several
def abs_backward(g, x):
    "g with the sign of x, 0 at 0."
    return np.multiply(g, np.sign(x))

@one_pass
def neg(x):
    "-x."
    return np.negative(x)

@branching
def sign(x):
    "1 above 0, -1 below, and x itself where it is neither: 0, -0 or NaN."
    one = x.dtype.type(1)
    if x.dtype.kind == 'u': return np.where(x > 0, one, x)
    return np.where(x > 0, one, np.where(x < 0, -one, x))

@one_pass
def floor(x):
    "The largest whole number not above x."
    return np.floor(x)

@one_pass
def ceil(x):
    "The smallest whole number not below x."
    return np.ceil(x)

@one_pass
def round(x):
    "The nearest whole number, the even one at a tie."
    return np.rint(x)


# dropout: entry i of the flattened array stays if the counter-based random number i allows it

@kernel(flat=True, floor=1 << 7)
def dropout(x, seed, limit, scale):
    "x scale where the upper 53 random bits of the entry are below `limit`, else 0. Also its own gradient."
    y = np.empty(x.size, x.dtype)
    flat = x.reshape(-1)
    for s in pieces(x.size):
        stays = bits(seed, counters(s)) >> np.uint64(11) < limit.view('u8')
        y[s] = np.where(stays, flat[s] * x.dtype.type(scale), x.dtype.type(0))
    return y.reshape(x.shape)
