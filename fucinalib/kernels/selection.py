"""The largest entries of each row, and rows in order.

Single precision is sorted as whole numbers: the number in the upper half, made so that it orders
the same way, and its place in the lower. All keys differ, so equal numbers stay in order, and
NumPy sorts such keys faster than it finds the places that sort floats."""
import numpy as np
from .dispatch import F32, kernel
from .indexing import take_along

NAN = 0x7fffffff
PLACE = 0xffffffff    # the lower half of a key


def falling(x):
    "Keys that sort ascending where x falls; NaN stays NaN and so stays last."
    return ~x if x.dtype.kind in 'iub' else -x

@kernel(out=lambda bits, down: [(bits.shape, np.int64)])
def sort_keys(bits, down):
    """Keys of the f32 numbers with these bits, whose order is theirs (turned round if `down` is
    1), equal ones by place, NaN last."""
    size = bits & NAN
    key = np.where((bits < 0) != bool(down), -size, size)
    key[size > 0x7f800000] = NAN
    key = np.left_shift(key, 32, dtype='i8')
    key |= np.arange(bits.shape[1])
    return key

def key_sorted(x): return x.dtype is F32 and x.shape[1] <= PLACE

def places(x, down=False):
    "The places that sort each row, NaN last in both directions."
    # stable is a radix sort there
    if not key_sorted(x):
        return np.argsort(falling(x) if down else x, axis=1, kind='stable' if x.dtype.itemsize < 4 else None)
    key = sort_keys(np.ascontiguousarray(x).view('i4'), int(down))
    key.sort(axis=1)
    key &= PLACE
    return key

def at_places(x, at):
    "The entries of each row at its places."
    return take_along(x[:, :, None], at[:, :, None])[:, :, 0]

def first_places(x, k):
    "The first k places of a falling order, equal entries by place."
    if not key_sorted(x): return np.argsort(falling(x), axis=1, kind='stable')[:, :k]
    key = sort_keys(np.ascontiguousarray(x).view('i4'), 1)
    if k < x.shape[1]:
        key.partition(k - 1, axis=1)
        key = key[:, :k].copy()
    key.sort(axis=1)
    key &= PLACE
    return key

@kernel(out=lambda x, k: [((x.shape[0], k), x.dtype), ((x.shape[0], k), np.int64)])
def topk_last(x, k):
    """The k largest of each row and their places, falling, ties by place. NaN and -inf are never
    placed: slots left over hold -inf and 0."""
    at = first_places(x, k)
    v = at_places(x, at)
    if x.dtype.kind != 'f': return v, at
    empty = np.isnan(v) | (v == -np.inf)
    return np.where(empty, x.dtype.type(-np.inf), v), np.where(empty, 0, at)

def best(x, k):
    "topk_last, by keys where k is so large that moving a list of k for each entry that enters it is slower."
    return topk_last.kernel.twin(x, k) if k > 32 and k * k > 4 * x.shape[1] else topk_last(x, k)
