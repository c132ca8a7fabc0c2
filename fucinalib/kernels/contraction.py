"""The products that BLAS has no good call for: outer products, dot products of many lanes, batches of small matrices."""
import numpy as np
from .dispatch import kernel


@kernel(out=lambda a, b: [((a.shape[0], b.shape[0]), a.dtype)], floor=1 << 6)
def outer(a, b):
    "a[i] b[j]."
    return np.multiply.outer(a, b)

@kernel(out=lambda a, b: [(a.shape[:1], a.dtype)])
def dot_last(a, b):
    "The dot products of the rows of a and b."
    return np.einsum('ij,ij->i', a, b)

@kernel(out=lambda a, b: [((a.shape[0], a.shape[2]), a.dtype)])
def dot_mid(a, b):
    "The dot products along the middle axis."
    return np.einsum('ijk,ijk->ik', a, b)

@kernel(out=lambda a, b: [((a.shape[0], a.shape[1], b.shape[2]), a.dtype)])
def batched(a, b):
    "A product of small matrices for each entry of the first axis."
    return np.matmul(a, b)
