"""Functions of one number, and their gradients: g is the gradient of the result y, the gradient of x comes out."""
import functools
import numpy as np
from .dispatch import kernel
from .pointwise import quiet
from .random import CHUNK as PIECE, bits, counters, pieces


def rounding(f):
    "Warn of nothing; 16-bit numbers are computed in f32 and rounded once."
    @functools.wraps(f)
    def twin(x, *rest):
        if x.dtype != np.float16: return f(x, *rest)
        y = f(np.float32(x), *[np.float32(a) if isinstance(a, np.ndarray) else a for a in rest])
        return tuple([v.astype(x.dtype) for v in y]) if type(y) is tuple else y.astype(x.dtype)
    return quiet(twin)

def by_pieces(f, outputs=1):
    "The same function of arrays of one shape, on pieces whose temporaries stay in cache."
    @functools.wraps(f)
    def twin(x, *rest):
        if x.size <= PIECE: return f(x, *rest)
        flat = [a.reshape(-1) if isinstance(a, np.ndarray) else a for a in (x, *rest)]
        ys = [np.empty(x.size, x.dtype) for _ in range(outputs)]
        for s in pieces(x.size):
            part = f(*[a[s] if isinstance(a, np.ndarray) else a for a in flat])
            for y, p in zip(ys, part if outputs > 1 else (part,)): y[s] = p
        ys = [y.reshape(x.shape) for y in ys]
        return ys[0] if outputs == 1 else tuple(ys)
    return twin

def both(f):
    "What most kernels here are: flat, by pieces, rounding once."
    return kernel(flat=True)(by_pieces(rounding(f)))


# powers, exponentials, waves

@both
def exp(x):
    "e ** x."
    return np.exp(x)

@both
def log(x):
    "The natural logarithm; -inf at 0, NaN below."
    return np.log(x)

@both
def log1p(x):
    "log(1 + x), exact for small x."
    return np.log1p(x)

@both
def log1p_backward(g, x):
    "g / (1 + x)."
    return np.divide(g, 1 + x)

@both
def sqrt(x):
    "The square root; NaN below 0."
    return np.sqrt(x)

@both
def sqrt_backward(g, y):
    "g / (2 y)."
    return np.divide(np.multiply(g, .5), y)

@both
def rsqrt(x):
    "1 / sqrt(x)."
    return np.divide(1, np.sqrt(x))

@both
def rsqrt_backward(g, x):
    "-g / (2 x sqrt(x))."
    return np.divide(np.multiply(g, -.5), np.multiply(x, np.sqrt(x)))

@both
def reciprocal(x):
    "1 / x."
    return np.divide(1, x)

@both
def reciprocal_backward(g, y):
    "-g y**2."
    return np.negative(np.multiply(g, np.multiply(y, y)))

@kernel(flat=True)
@quiet
def square_backward(g, x):
    "2 g x."
    return np.multiply(g, np.multiply(x, 2))

@both
def sin(x):
    "The sine."
    return np.sin(x)

@both
def sin_backward(g, x):
    "g cos(x)."
    return np.multiply(g, np.cos(x))

@both
def cos(x):
    "The cosine."
    return np.cos(x)

@both
def cos_backward(g, x):
    "-g sin(x)."
    return np.negative(np.multiply(g, np.sin(x)))


# kinks and steps; these take integers too

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
def leaky_relu(x, slope):
    "x from 0 up, slope x below."
    return np.where(x >= 0, x, np.multiply(x, x.dtype.type(slope)))

@kernel(flat=True)
@quiet
def leaky_relu_backward(g, x, slope):
    "g above 0, slope g elsewhere."
    return np.where(x > 0, g, np.multiply(g, g.dtype.type(slope)))

@kernel(flat=True)
@quiet
def clamp(x, low, high):
    "x moved into [low, high]; NaN stays."
    return np.clip(x, x.dtype.type(low), x.dtype.type(high))

@kernel(flat=True)
@quiet
def clamp_backward(g, x, low, high):
    "g where x is in [low, high], its bounds included, else 0."
    return np.where((x >= x.dtype.type(low)) & (x <= x.dtype.type(high)), g, g.dtype.type(0))

@kernel(flat=True)
@quiet
def abs(x):
    "The distance from 0."
    return np.abs(x)

@kernel(flat=True)
@quiet
def abs_backward(g, x):
    "g with the sign of x, 0 at 0."
    return np.multiply(g, np.sign(x))

@kernel(flat=True)
@quiet
def neg(x):
    "-x."
    return np.negative(x)

@kernel(flat=True)
@quiet
def sign(x):
    "1 above 0, -1 below, and x itself where it is neither: 0, -0 or NaN."
    one = x.dtype.type(1)
    if x.dtype.kind == 'u': return np.where(x > 0, one, x)
    return np.where(x > 0, one, np.where(x < 0, -one, x))

@kernel(flat=True)
@quiet
def floor(x):
    "The largest whole number not above x."
    return np.floor(x)

@kernel(flat=True)
@quiet
def ceil(x):
    "The smallest whole number not below x."
    return np.ceil(x)

@kernel(flat=True)
@quiet
def round(x):
    "The nearest whole number, the even one at a tie."
    return np.rint(x)


# soft steps; with e = exp(-|x|) nothing overflows on either side

@both
def sigmoid(x):
    "1 / (1 + exp(-x))."
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)

@both
def sigmoid_backward(g, y):
    "g y (1 - y)."
    return np.multiply(g, np.multiply(y, 1 - y))

@both
def silu(x):
    "x sigmoid(x)."
    return np.multiply(x, sigmoid.kernel.twin(x))

@both
def silu_backward(g, x):
    "g s (1 + x (1 - s)), s = sigmoid(x)."
    s = sigmoid.kernel.twin(x)
    return np.multiply(g, s * (1 + x * (1 - s)))

@both
def quick_gelu(x):
    "x sigmoid(1.702 x)."
    return np.multiply(x, sigmoid.kernel.twin(1.702 * x))

@both
def quick_gelu_backward(g, x):
    "g s (1 + 1.702 x (1 - s)), s = sigmoid(1.702 x)."
    z = 1.702 * x
    s = sigmoid.kernel.twin(z)
    return np.multiply(g, s * (1 + z * (1 - s)))

@both
def softplus(x):
    "log(1 + exp(x))."
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))

@both
def softplus_backward(g, x):
    "g sigmoid(x)."
    return np.multiply(g, sigmoid.kernel.twin(x))

@both
def tanh(x):
    "The hyperbolic tangent."
    return np.tanh(x)

@both
def tanh_backward(g, y):
    "g (1 - y**2)."
    return np.multiply(g, 1 - np.multiply(y, y))

@both
def softcap(x, cap):
    "cap tanh(x / cap)."
    return np.multiply(np.tanh(np.divide(x, cap)), cap)

@both
def softcap_backward(g, y, cap):
    "g (1 - (y / cap)**2)."
    return np.multiply(g, 1 - np.square(np.divide(y, cap)))

@both
def elu(x):
    "x above 0, exp(x) - 1 elsewhere."
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))

@both
def elu_backward(g, x):
    "g above 0, g exp(x) elsewhere."
    return np.multiply(g, np.exp(np.minimum(x, 0)))

FAST = 2.45550750702956, .893229853513558, .821226666969744, 2.44506634652299, .814642734961073

def fast_parts(x):
    "Numerator and denominator of the rational tanh for |x|, and |x| itself; beyond 1e8 nothing changes any more."
    p, q, r, s, t = FAST
    a = np.minimum(np.abs(x), 1e8)
    return a * (p + p * a + (q + r * a) * a * a), s + (s + a * a) * (a + t * a * a), a

@both
def fast_tanh(x):
    "A ratio of two polynomials in |x|, with the sign of x; within 0.001 of tanh near 0 only."
    n, d, _ = fast_parts(x)
    return np.copysign(n / d, x)

@both
def fast_tanh_backward(g, x):
    "g times the exact slope of the ratio."
    p, q, r, s, t = FAST
    n, d, a = fast_parts(x)
    dn = p + 2 * p * a + 3 * q * a * a + 4 * r * a * a * a
    dd = s + 2 * s * t * a + 3 * a * a + 4 * t * a * a * a
    return np.multiply(g, (dn - dd * (n / d)) / d)


# gelu: x times the probability that a standard normal number is below x

# The upper tail of the normal distribution is exp(-x**2/2) / (1 + x/4) times a smooth function of s = 1 / (1 + x/4), for all x >= 0.
# These are its Chebyshev coefficients in 2 s - 1: all of them for f64, ten for f32.
TAIL = (.24261280114151914, .18792720420989263, .05554838891881276, .012129438315111522, .0017314801240606201, 8.0149618599537488e-05,
        -2.5136847908026696e-05, -4.7258422549267409e-06, 2.5258922136865776e-07, 1.536333687349456e-07, -8.4525503001729391e-10,
        -5.1716270154357085e-09, -2.8206509081173766e-11, 1.9435038070971736e-10, -2.4853560478511769e-12, -7.936207374645757e-12,
        4.6062017111762351e-13, 3.2821541166777414e-13, -4.3538406631637034e-14, -1.226818507926106e-14, 3.2328460815413941e-15,
        3.0451658804315853e-16, -2.0130368431552333e-16, 7.1512353606540528e-18)

def normal(x):
    "The probability that a standard normal number is below x, and the density at x without its constant: exp(-x**2/2)."
    s, e = 1 / (1 + np.abs(x) * .25), np.exp(x * x * -.5)
    u2, b, c = 4 * s - 2, 0., 0.
    for k in reversed(TAIL[1:] if x.dtype == np.float64 else TAIL[1:10]): b, c = k + u2 * b - c, b      # Clenshaw's sum
    tail = e * s * (TAIL[0] + u2 * b * .5 - c)
    return np.where(x < 0, tail, 1 - tail), e

@both
def gelu(x):
    "x times the probability that a standard normal number is below x."
    return np.multiply(x, normal(x)[0])

@both
def gelu_backward(g, x):
    "g (P + x p), P the probability below x and p the density at x."
    below, e = normal(x)
    return np.multiply(g, below + x * e * .3989422804014327)

# tanh(u) + 1 is 2 sigmoid(2 u): the tanh form in one exponential, without cancellation for negative x
BEND, CUBE = 1.5957691216057308, .044715     # 2 sqrt(2 / pi), the cubic coefficient of Hendrycks and Gimpel 2016

@both
def gelu_tanh(x):
    "0.5 x (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x**3)."
    return x / (1 + np.exp(-BEND * (x + CUBE * x * x * x)))

@both
def gelu_tanh_backward(g, x):
    "g times the slope of the tanh form."
    xx = x * x
    s = 1 / (1 + np.exp(-BEND * x * (1 + CUBE * xx)))
    return np.multiply(g, s + x * s * (1 - s) * (BEND * (1 + 3 * CUBE * xx)))

@functools.cache
def gelu_table():
    "The tanh form of every f16 number, by its bits, computed in f32 and rounded to f16."
    x = np.arange(1 << 16, dtype='u2').view('f2').astype('f4')
    with np.errstate(all='ignore'): y = np.float32(.5) * x * (1 + np.tanh(np.float32(.7978845608028654) * x * (1 + np.float32(CUBE) * x * x)))
    return y.astype('f2')

@kernel(flat=True)
@quiet
def gelu_quant(x):
    "The tanh form from a table of f16 numbers; 0 up to -10 and x from 10 on, as ggml has it."
    table = gelu_table()[x.astype('f2').view('u2')].astype(x.dtype)
    return np.where(x <= -10, x.dtype.type(0), np.where(x >= 10, x, table))


# dropout: entry i of the flattened array stays if the counter-based random number i allows it

@kernel(flat=True)
@quiet
def dropout(x, seed, limit, scale):
    "x scale where the upper 53 random bits of the entry are below `limit`, else 0. Also its own gradient."
    y = np.empty(x.size, x.dtype)
    flat = x.reshape(-1)
    for s in pieces(x.size): y[s] = np.where(bits(seed, counters(s)) >> np.uint64(11) < np.uint64(limit), flat[s] * x.dtype.type(scale), x.dtype.type(0))
    return y.reshape(x.shape)
