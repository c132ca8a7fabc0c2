"""What a recurrence does between two products with its weights: gates and states of one step, in the arrays of all.

Gates and their sums are (batch, 4 m) in the order i, f, g, o, of all steps (step, batch, 4 m); `states` holds h and c
as (2, steps + 1, batch, m), the first of each in front; `curved` is tanh of each new c.
"""
import numpy as np
from .activations import sigmoid, tanh
from .dispatch import kernel


def four(a): return np.split(a, 4, axis=-1)


@kernel(floor=0, inplace=(0, 1, 2, 3))
def lstm_gates_(u, a, curved, states, z, t):
    "Step t: u, the sums of the state, becomes the sums of all by adding z[t]; then gates, c, tanh(c) and h."
    u += z[t]
    a[t] = sigmoid(u)
    i, f, g, o = four(a[t])
    g[...] = tanh(np.ascontiguousarray(four(u)[2]))
    states[1, t + 1] = f * states[1, t] + i * g
    curved[t] = tanh(states[1, t + 1])
    np.multiply(o, curved[t], out=states[0, t + 1])
    return u


@kernel(floor=0, inplace=(0, 1))
def lstm_back_(gs, c, h, g, a, curved, states, t):
    """Step t, going back: gs[t] becomes the gradient for the sums. c and h are what comes from the step behind, g what
    comes from outside, for h and for c; c becomes the gradient for the c before."""
    i, f, new, o = four(a[t])
    h = h + g[0, t]
    c += g[1, t] + h * (o * (1 - curved[t] * curved[t]))
    for at, v in zip(four(gs[t]), (c * new * (i * (1 - i)), c * states[1, t] * (f * (1 - f)), c * i * (1 - new * new),
                                   h * curved[t] * (o * (1 - o)))): at[...] = v
    c *= f
    return gs
