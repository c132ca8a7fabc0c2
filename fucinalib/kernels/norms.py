"""Rows brought to one size: (rows, n)."""
import numpy as np
from .dispatch import kernel
from .pointwise import quiet


@kernel(out=lambda x, eps: [(x.shape, x.dtype), (x.shape[:1], x.dtype)])
@quiet
def rms_norm(x, eps):
    "Each row over the root of its mean square plus eps, and what it was multiplied by."
    n = x.shape[1]
    r = 1 / np.sqrt(np.add.reduce(np.multiply(x, x), axis=1) * x.dtype.type(1 / n) + x.dtype.type(eps))
    return x * r[:, None], r
