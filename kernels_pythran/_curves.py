"""sigmoid and tanh of a short row: exponents, which are never positive, then np.exp by whoever calls, then the rest. As
in `activations`."""
import numpy as np

ZERO = np.float32(0)
QUARTER = np.float32(0.25)
ONE = np.float32(1)
TWO = np.float32(2)


def minus_twice_abs(x, y):
    for i in range(x.shape[0]):
        y[i] = -TWO * np.abs(x[i])

def sigmoid_of(x, y):
    "y comes as exp(-|x|)."
    for i in range(x.shape[0]):
        e = y[i]
        r = np.float32(ONE / (ONE + e))
        y[i] = r if x[i] >= ZERO else e * r

def tanh_of(x, y):
    "y comes as e = exp(-2|x|): (1 - e) / (1 + e), and a polynomial near 0 where 1 - e has too few digits left."
    for i in range(x.shape[0]):
        v = x[i]
        u = v * v
        near = v * (ONE + u * (np.float32(-.333333328) + u * (np.float32(.133332258) + u * (np.float32(-.0539334691)
                    + u * (np.float32(.021470683) + u * np.float32(-.00694294175))))))
        far = np.float32((ONE - y[i]) / (ONE + y[i]))
        y[i] = near if u < QUARTER else (far if v >= ZERO else -far)
