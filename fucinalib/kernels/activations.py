"""Functions made of an exponential, which step or bend softly: sigmoid, tanh, elu, gelu and theirs. And their
gradients: g is the gradient of the result y, the gradient of x comes out."""
import functools
import numpy as np
from .forms import one_pass, several, soft


# soft steps; with e = exp(-|x|) nothing overflows on either side

def logistic(x):
    "s = 1 / (1 + exp(-x)), and its slope s (1 - s) without the cancellation in 1 - s."
    e = np.exp(-np.abs(x))
    r = 1 / (1 + e)
    return np.exp(np.minimum(x, 0)) * r, e * r * r      # e r below 0, r above; a choice would cost more than this exp

@soft
def sigmoid(x):
    "1 / (1 + exp(-x))."
    return logistic(x)[0]

@several
def sigmoid_backward(g, y):
    "g y (1 - y)."
    return np.multiply(g, np.multiply(y, 1 - y))

@soft
def silu(x):
    "x sigmoid(x)."
    return x * logistic(x)[0]

@soft
def silu_backward(g, x):
    "g (s + x s'), s = sigmoid(x)."
    s, slope = logistic(x)
    return g * (s + x * slope)

@soft
def quick_gelu(x):
    "x sigmoid(1.702 x)."
    return x * logistic(1.702 * x)[0]

@soft
def quick_gelu_backward(g, x):
    "g (s + 1.702 x s'), s = sigmoid(1.702 x)."
    z = 1.702 * np.clip(x, -500, 500)       # s' is 0 long before, and 0 times infinity is no slope
    s, slope = logistic(z)
    return g * (s + z * slope)

@soft
def softplus(x):
    "log(1 + exp(x))."
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))

@soft
def softplus_backward(g, x):
    "g sigmoid(x)."
    return g * logistic(x)[0]

@one_pass       # NumPy's own vector code is as fast as ours
def tanh(x):
    "The hyperbolic tangent."
    return np.tanh(x)

@several
def tanh_backward(g, y):
    "g (1 - y**2)."
    return np.multiply(g, 1 - np.multiply(y, y))

@one_pass
def softcap(x, cap):
    "cap tanh(x / cap)."
    return np.multiply(np.tanh(np.divide(x, cap)), cap)

@several
def softcap_backward(g, y, cap):
    "g (1 - (y / cap)**2)."
    return np.multiply(g, 1 - np.square(np.divide(y, cap)))

@soft
def elu(x):
    "x above 0, exp(x) - 1 elsewhere."
    return np.maximum(x, 0) + np.expm1(np.minimum(x, 0))

@soft
def elu_backward(g, x):
    "g above 0, g exp(x) elsewhere."
    return np.multiply(g, np.exp(np.minimum(x, 0)))

FAST = 2.45550750702956, .893229853513558, .821226666969744, 2.44506634652299, .814642734961073

def fast_parts(x):
    "Numerator and denominator of the rational tanh for |x|, and |x| itself; beyond 1e8 nothing changes any more."
    p, q, r, s, t = FAST
    a = np.minimum(np.abs(x), 1e8)
    return a * (p + p * a + (q + r * a) * a * a), s + (s + a * a) * (a + t * a * a), a

@soft
def fast_tanh(x):
    "A ratio of two polynomials in |x|, with the sign of x; within 0.001 of tanh near 0 only."
    n, d, _ = fast_parts(x)
    return np.copysign(n / d, x)

@soft
def fast_tanh_backward(g, x):
    "g times the exact slope of the ratio."
    p, q, r, s, t = FAST
    n, d, a = fast_parts(x)
    dn = p + 2 * p * a + 3 * q * a * a + 4 * r * a * a * a
    dd = s + 2 * s * t * a + 3 * a * a + 4 * t * a * a * a
    return np.multiply(g, (dn - dd * (n / d)) / d)


# gelu: x times the probability that a standard normal number is below x

# The upper tail of the normal distribution is exp(-x**2/2) / (1 + x/4) times a smooth function of s = 1 / (1 + x/4),
# for all x >= 0. These are its Chebyshev coefficients in 2 s - 1: all of them for f64, ten for f32.
TAIL = (.24261280114151914, .18792720420989263, .05554838891881276, .012129438315111522, .0017314801240606201,
        8.0149618599537488e-05, -2.5136847908026696e-05, -4.7258422549267409e-06, 2.5258922136865776e-07,
        1.536333687349456e-07, -8.4525503001729391e-10, -5.1716270154357085e-09, -2.8206509081173766e-11,
        1.9435038070971736e-10, -2.4853560478511769e-12, -7.936207374645757e-12, 4.6062017111762351e-13,
        3.2821541166777414e-13, -4.3538406631637034e-14, -1.226818507926106e-14, 3.2328460815413941e-15,
        3.0451658804315853e-16, -2.0130368431552333e-16, 7.1512353606540528e-18)

def normal(x):
    "The probability that a standard normal number is below x, and the density at x without its constant: exp(-x**2/2)."
    s, e = 1 / (1 + np.abs(x) * .25), np.exp(x * x * -.5)
    u2, b, c = 4 * s - 2, 0., 0.
    for k in reversed(TAIL[1:] if x.dtype == np.float64 else TAIL[1:10]): b, c = k + u2 * b - c, b      # Clenshaw's sum
    tail = e * s * (TAIL[0] + u2 * b * .5 - c)
    return np.abs((x > 0) - tail), e

@soft
def gelu(x):
    "x times the probability that a standard normal number is below x."
    return np.multiply(x, normal(x)[0])

@soft
def gelu_backward(g, x):
    "g (P + x p), P the probability below x and p the density at x."
    below, e = normal(x)
    return np.multiply(g, below + x * e * .3989422804014327)

# tanh(u) + 1 is 2 sigmoid(2 u): the tanh form in one exponential, without cancellation for negative x
BEND, CUBE = 1.5957691216057308, .044715     # 2 sqrt(2 / pi), the cubic coefficient of Hendrycks and Gimpel 2016

@soft
def gelu_tanh(x):
    "0.5 x (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x**3)."
    return x / (1 + np.exp(-BEND * (x + CUBE * x * x * x)))

@soft
def gelu_tanh_backward(g, x):
    "g times the slope of the tanh form."
    x = np.clip(x, -40, 40)     # as for quick_gelu
    xx = x * x
    s, slope = logistic(BEND * x * (1 + CUBE * xx))
    return g * (s + x * slope * (BEND * (1 + 3 * CUBE * xx)))

@functools.cache
def gelu_table():
    "The tanh form of every f16 number, by its bits, computed in f32 and rounded to f16."
    x = np.arange(1 << 16, dtype='u2').view('f2').astype('f4')
    y = np.float32(.5) * x * (1 + np.tanh(np.float32(.7978845608028654) * x * (1 + np.float32(CUBE) * x * x)))
    return y.astype('f2')

@soft
def gelu_quant(x):
    "The tanh form from a table of f16 numbers; 0 up to -10 and x from 10 on, as ggml has it."
    table = gelu_table()[x.astype('f2').view('u2')].astype(x.dtype)
    return np.where(x <= -10, x.dtype.type(0), np.where(x >= 10, x, table))
