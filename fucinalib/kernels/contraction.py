"""The products that BLAS has no good call for: outer products, dot products of many lanes,
batches of small matrices."""
from functools import lru_cache
from math import prod
import numpy as np
from . import threads
from .dispatch import as_one_call, kernel
from .reductions import BLOCK, sum_last, sum_mid

# BLAS adds thin products up one by one: long ones go in parts of so many, those of two vectors in
# LANES times longer ones
PART, LANES = 2048, 8
THIN = 256                  # numbers in a result up to which BLAS has kernels without blocks
ROOM = 1 << 20              # partial results that exist at a time
ALONE, ALONE_THIN = 1 << 18, 9 << 10    # multiplications up to which BLAS by itself uses one thread
PANEL, MOST = 1 << 23, 8    # multiplications in a panel of a large product; panels
WIDE = 256                  # rows of a panel: what all panels read is packed again for each


def matmul(a, b, out=None):
    "a @ b. Where f32 would be added up serially over a long axis, parts are multiplied and their results added up."
    n, rows, cols = a.shape[-1], a.shape[-2], b.shape[-1]
    thin = rows == 1 or cols == 1
    if n <= 2 * PART or not a.dtype == b.dtype == np.float32 or not thin and rows * cols >= THIN:
        if a.size * cols <= (ALONE_THIN if thin else ALONE): return np.matmul(a, b, out=out)
        return matrix_product(a, b, out)
    part = PART * LANES if rows == cols == 1 else PART
    if n <= 2 * part: return matrix_product(a, b, out)
    with threads.alone: y = by_parts(a, b, part)
    if out is None: return y.astype(a.dtype, copy=False)
    out[...] = y
    return out


def matrix_product(a, b, out=None):
    """np.matmul, each call of BLAS on one thread. Large products are made in panels, which threads share. Sizes alone
    say how they are cut, and so results do not depend on the number of threads."""
    if threads.blas() is None: return np.matmul(a, b, out=out)
    cuts = panels(a.shape, b.shape)
    with threads.alone:
        if not cuts or is_turned(a, b) or out is not None and any(np.may_share_memory(out, v) for v in (a, b)):
            return np.matmul(a, b, out=out)
        y = np.empty((*a.shape[:-1], b.shape[-1]), np.result_type(a, b)) if out is None else out
        as_one_call(in_panels, [a, b], [y])       # other threads do not tell
        return y


def is_turned(a, b):
    "Whether b is a, turned: of such a product BLAS makes one half."
    return (a.ndim == b.ndim == 2 and a.shape == b.shape[::-1] and a.strides == b.strides[::-1]
            and np.may_share_memory(a, b))


def in_panels(a, b, y):
    "y = a @ b, which threads share."
    cuts = panels(a.shape, b.shape)
    def make(i): p, q, r = cuts[i]; np.matmul(a[p], b[q], out=y[r])
    threads.share(make, len(cuts))


@lru_cache(4096)
def panels(a, b):
    """Where to cut a product of matrices of these shapes: (index of a, of b, of the result) of each panel. Along the
    first axis of many matrices that has several, else along rows or columns; nowhere if it is too small."""
    (*many, rows, n), (*others, _, cols) = a, b
    most, thin = max(rows, cols), rows == 1 or cols == 1
    parts = min(MOST, prod(many) * rows * n * cols // (PANEL // 4 if thin else PANEL))
    if others:
        at, lead = next((i for i, m in enumerate(many) if m > 1), 0), len(many) - len(others)
        if lead < 0 or many[lead:] != others or parts < 2: return ()
        step = -(-many[at] // parts)
        pieces = [(slice(None),) * at + (slice(lo, lo + step),) for lo in range(0, many[at], step)]
        return [(p, p[lead:], p) for p in pieces] if len(pieces) > 1 else ()
    parts = max(1, min(parts, most // 64 if thin else max(2, most // WIDE)))
    step = -(-most // (64 * parts)) * 64
    pieces = [slice(lo, lo + step) for lo in range(0, most, step)]
    if len(pieces) < 2: return ()
    if rows < cols: return [((), (..., p), (..., p)) for p in pieces]
    return [((..., p, slice(None)), (), (..., p, slice(None))) for p in pieces]


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
