"""The products that BLAS has no good call for: outer products, dot products of many lanes,
batches of small matrices."""
import numpy as np
from .dispatch import kernel
from .reductions import BLOCK, sum_last, sum_mid

# BLAS adds thin products up one by one: long ones go in parts of so many, those of two vectors in
# LANES times longer ones
PART, LANES = 2048, 8
THIN = 256                  # numbers in a result up to which BLAS has kernels without blocks
ROOM = 1 << 20              # partial results that exist at a time


def matmul(a, b, out=None):
    "a @ b. Where f32 would be added up serially over a long axis, parts are multiplied and their results added up."
    n, rows, cols = a.shape[-1], a.shape[-2], b.shape[-1]
    if n <= 2 * PART or a.dtype != np.float32 or rows > 1 < cols and rows * cols >= THIN:
        return np.matmul(a, b, out=out)
    part = PART * LANES if rows == cols == 1 else PART
    if n <= 2 * part: return np.matmul(a, b, out=out)
    y = by_parts(a, b, part)
    if out is None: return y.astype(a.dtype, copy=False)
    out[...] = y
    return out


def by_parts(a, b, part):
    "a @ b from products over `part` numbers; the results of more than four of them are added up in f64."
    n, rows, cols = a.shape[-1], a.shape[-2], b.shape[-1]
    if n <= 4 * part:
        y = np.matmul(a[..., :part], b[..., :part, :])
        for i in range(part, n, part): y += np.matmul(a[..., i:i + part], b[..., i:i + part, :])
        return y
    total, step = 0, max(1, ROOM // (rows * cols)) * part
    for lo in range(0, n, step):
        hi = lo + (min(n, lo + step) - lo) // part * part
        if hi > lo:
            p = a[..., lo:hi].reshape(*a.shape[:-1], -1, part).swapaxes(-3, -2)
            q = b[..., lo:hi, :].reshape(*b.shape[:-2], -1, part, cols)
            total = total + np.add.reduce(np.matmul(p, q), axis=-3, dtype=np.float64)
        if hi < min(n, lo + step): total += np.matmul(a[..., hi:], b[..., hi:, :])
    return total


def in_blocks(x):
    """The array with its second axis cut into blocks of BLOCK, and what is left over. Nothing is
    repeated by strides: einsum takes such numbers out of the sum, and inf - inf is lost."""
    if 0 in x.strides: x = x.copy()
    full = x.shape[1] // BLOCK * BLOCK
    return x[:, :full].reshape(x.shape[0], -1, BLOCK, *x.shape[2:]), x[:, full:]


@kernel(out=lambda a, b: [((a.shape[0], b.shape[0]), a.dtype)], floor=1 << 6)
def outer(a, b):
    "a[i] b[j]."
    return np.multiply.outer(a, b)

@kernel(out=lambda a, b: [(a.shape[:1], a.dtype)])
def dot_last(a, b):
    "The dot products of the rows of a and b."
    (p, c), (q, d) = in_blocks(a), in_blocks(b)
    return sum_last(np.concatenate([np.einsum('ijk,ijk->ij', p, q), np.einsum('ij,ij->i', c, d)[:, None]], axis=1))

@kernel(out=lambda a, b: [((a.shape[0], a.shape[2]), a.dtype)])
def dot_mid(a, b):
    "The dot products along the middle axis."
    (p, c), (q, d) = in_blocks(a), in_blocks(b)
    return sum_mid(np.concatenate([np.einsum('ijkl,ijkl->ijl', p, q), np.einsum('ijk,ijk->ik', c, d)[:, None]], axis=1))

@kernel(out=lambda a, b: [((a.shape[0], a.shape[1], b.shape[2]), a.dtype)])
def batched(a, b):
    "A product of small matrices for each entry of the first axis."
    return np.matmul(a, b)
