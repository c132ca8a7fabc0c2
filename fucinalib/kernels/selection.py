"""The largest entries of each row, in order."""
import numpy as np
from .dispatch import kernel
from .pointwise import quiet


def falling(x):
    "Keys that sort ascending where x falls; NaN stays NaN and so stays last."
    return ~x if x.dtype.kind in 'iub' else -x

@kernel(out=lambda x, k: [((x.shape[0], k), x.dtype), ((x.shape[0], k), np.int64)])
@quiet
def topk_last(x, k):
    "The k largest of each row and their places, falling, ties by place. NaN and -inf are never placed: slots left over hold -inf and 0."
    at = np.argsort(falling(x), axis=1, kind='stable')[:, :k]
    v = np.take_along_axis(x, at, 1)
    if x.dtype.kind != 'f': return v, at
    empty = np.isnan(v) | (v == -np.inf)
    return np.where(empty, x.dtype.type(-np.inf), v), np.where(empty, 0, at)
