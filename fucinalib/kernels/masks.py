"""Choosing between numbers by a mask of truth values."""
import numpy as np
from .dispatch import kernel


@kernel(flat=True, out=lambda mask, a, b: [(a.shape, a.dtype)])
def where(mask, a, b):
    "a where the mask is true, else b; arrays, or b a number."
    return np.where(mask, a, b if isinstance(b, np.ndarray) else a.dtype.type(b))
