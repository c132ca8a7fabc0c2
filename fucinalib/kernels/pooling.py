"""Windows that take the largest or the mean, pixels twice as large, and one number or two for
each channel. Images and sizes are those of `convolution`."""
import numpy as np
from .convolution import border, gather, taps
from .dispatch import kernel
from .reductions import column_sum, roomy


@kernel(out=lambda x, c, kh, kw, sh, sw, ph, pw, oh, ow: [((len(x), oh, ow * c), x.dtype),
                                                          ((len(x), oh, ow * c), np.int32)])
def max_pool(x, c, kh, kw, sh, sw, ph, pw, oh, ow):
    """The largest number in each window and which tap it was, the first of equals; a NaN counts
    only where there is nothing else."""
    place = (kh, kw, sh, sw, 1, 1, oh, ow)
    m, h, w = len(x), x.shape[1], x.shape[2] // c
    full = border(x, c, kh, kw, sh, sw, ph, pw, 1, 1, oh, ow)
    there = border(np.ones((1, h, w), bool), 1, kh, kw, sh, sw, ph, pw, 1, 1, oh, ow, False)
    y, at = np.empty((m, oh, ow, c), x.dtype), np.full((m, oh, ow, c), -1, np.int32)
    for (k, seen), (_, valid) in zip(taps(full, *place), taps(there, *place)):
        better = valid & ((at < 0) | (seen > y) | (np.isnan(y) & ~np.isnan(seen)))
        np.copyto(y, seen, where=better)
        at[better] = k
    return y.reshape(m, oh, ow * c), at.reshape(m, oh, ow * c)

@kernel(out=lambda g, at, h, w, c, *rest: [((len(g), h, w * c), g.dtype)])
def max_pool_back(g, at, h, w, c, kh, kw, sh, sw, ph, pw, oh, ow):
    "Every gradient to the tap that won, added up."
    m = len(g)
    v, at = g.reshape(m, oh, ow, c), at.reshape(m, oh, ow, c)
    return gather(lambda k: np.where(at == k, v, v.dtype.type(0)), m, h, w, c, kh, kw, sh, sw, ph,
                  pw, 1, 1, oh, ow, g.dtype)


def valid_taps(h, w, kh, kw, sh, sw, ph, pw, oh, ow, dtype):
    "How many taps of each window lie in the image: (oh, ow, 1)."
    count = lambda n, k, s, p, o: np.minimum(np.arange(o) * s - p + k, n) - np.maximum(np.arange(o) * s - p, 0)
    return np.multiply.outer(count(h, kh, sh, ph, oh), count(w, kw, sw, pw, ow))[..., None].astype(dtype)

@kernel(out=lambda x, c, kh, kw, sh, sw, ph, pw, oh, ow: [((len(x), oh, ow * c), x.dtype)])
def avg_pool(x, c, kh, kw, sh, sw, ph, pw, oh, ow):
    "The mean of the taps of each window that lie in the image."
    y = np.zeros((len(x), oh, ow, c), roomy(x.dtype, kh * kw))
    for _, seen in taps(border(x, c, kh, kw, sh, sw, ph, pw, 1, 1, oh, ow), kh, kw, sh, sw, 1, 1, oh, ow): y += seen
    y *= 1 / valid_taps(x.shape[1], x.shape[2] // c, kh, kw, sh, sw, ph, pw, oh, ow, x.dtype)
    return y.astype(x.dtype, copy=False).reshape(len(x), oh, ow * c)

@kernel(out=lambda g, h, w, c, *rest: [((len(g), h, w * c), g.dtype)])
def avg_pool_back(g, h, w, c, kh, kw, sh, sw, ph, pw, oh, ow):
    "Every gradient in equal parts to the taps of its window that lie in the image."
    part = g.reshape(len(g), oh, ow, c) * (1 / valid_taps(h, w, kh, kw, sh, sw, ph, pw, oh, ow, g.dtype))
    return gather(lambda k: part, len(g), h, w, c, kh, kw, sh, sw, ph, pw, 1, 1, oh, ow, g.dtype)


@kernel(out=lambda x, c: [((len(x), 2 * x.shape[1], 2 * x.shape[2]), x.dtype)])
def doubled(x, c):
    "Every pixel as a square of four."
    m, h, w = x.shape
    y = np.empty((m, h, 2, w // c, 2, c), x.dtype)
    y[...] = x.reshape(m, h, 1, w // c, 1, c)
    return y.reshape(m, 2 * h, 2 * w)

@kernel(out=lambda g, c: [((len(g), g.shape[1] // 2, g.shape[2] // 2), g.dtype)])
def doubled_back(g, c):
    "The sum of every square of four."
    m, h, w = len(g), g.shape[1] // 2, g.shape[2] // 2 // c
    v = g.reshape(m, h, 2, w, 2, c)
    return ((v[:, :, 0, :, 0] + v[:, :, 0, :, 1]) + (v[:, :, 1, :, 0] + v[:, :, 1, :, 1])).reshape(m, h, w * c)


@kernel()
def prelu(x, a):
    "x above 0, a times x elsewhere; one a for each column."
    return np.where(x > 0, x, x * a)

@kernel(out=lambda g, x, a: [(x.shape, x.dtype), (a.shape, x.dtype)])
def prelu_back(g, x, a):
    "Gradients of prelu for x and a."
    return np.where(x > 0, g, g * a), column_sum(np.where(x > 0, x.dtype.type(0), g * x))

@kernel()
def channel_affine(x, s, b):
    "x s + b, one s and one b for each column."
    return x * s + b

@kernel(out=lambda g, x, s: [(x.shape, x.dtype), (s.shape, x.dtype), (s.shape, x.dtype)])
def channel_affine_back(g, x, s):
    "Gradients of channel_affine for x, s and b."
    return g * s, column_sum(g * x), column_sum(g)
