"""Gates: one array says how much of another passes. A gradient has two results, of `up` and of `gate`."""
import numpy as np
from .dispatch import kernel
from .forms import soft, soft_pair
from .activations import gelu_tanh, gelu_tanh_backward, logistic, silu, silu_backward


@soft
def glu(up, gate):
    "up sigmoid(gate)."
    return up * logistic(gate)[0]

@soft_pair
def glu_backward(g, up, gate):
    "g s and g up s (1 - s), s = sigmoid(gate)."
    s, slope = logistic(gate)
    return g * s, g * up * slope

@soft
def swiglu(up, gate):
    "up silu(gate)."
    return up * silu.kernel.twin(gate)

@soft_pair
def swiglu_backward(g, up, gate):
    "g silu(gate) and g up silu'(gate)."
    return g * silu.kernel.twin(gate), silu_backward.kernel.twin(g * up, gate)

@soft
def geglu(up, gate):
    "up gelu(gate), the tanh form."
    return up * gelu_tanh.kernel.twin(gate)

@soft_pair
def geglu_backward(g, up, gate):
    "g gelu(gate) and g up gelu'(gate), the tanh form."
    return g * gelu_tanh.kernel.twin(gate), gelu_tanh_backward.kernel.twin(g * up, gate)

@soft
def situ(up, gate):
    "25 tanh(up / 25) 4 tanh(gate / 4) sigmoid(gate)."
    return 25 * np.tanh(up / 25) * (4 * np.tanh(gate / 4) * logistic(gate)[0])

@soft_pair
def situ_backward(g, up, gate):
    """With v = tanh(up / 25), t = tanh(gate / 4), s = sigmoid(gate):
    g (1 - v**2) 4 t s and g 25 v ((1 - t**2) s + 4 t s (1 - s))."""
    v, t, (s, slope) = np.tanh(up / 25), np.tanh(gate / 4), logistic(gate)
    return g * ((1 - v * v) * (4 * t * s)), g * (25 * v * ((1 - t * t) * s + 4 * t * slope))


# two halves of one array of shape (outer, 2, inner)

def half(x): return [((x.shape[0], x.shape[2]), x.dtype)]

@kernel(floor=1 << 7, out=half)
def split_swiglu(x):
    "silu(first half) times the second."
    return swiglu.kernel.twin(x[:, 1], x[:, 0])

@kernel(floor=1 << 7, out=lambda g, x: [(x.shape, x.dtype)])
def split_swiglu_backward(g, x):
    "Both gradients, where their halves are."
    second, first = swiglu_backward.kernel.twin(g, x[:, 1], x[:, 0])
    return np.stack([first, second], 1)

@kernel(floor=1 << 7, out=half)
def split_glu(x):
    "The first half times sigmoid(second)."
    return glu.kernel.twin(x[:, 0], x[:, 1])

@kernel(floor=1 << 7, out=lambda g, x: [(x.shape, x.dtype)])
def split_glu_backward(g, x):
    "Both gradients, where their halves are."
    return np.stack(glu_backward.kernel.twin(g, x[:, 0], x[:, 1]), 1)
