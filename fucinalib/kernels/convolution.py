"""Windows over images. An image batch is (n, h, w c): a row holds its pixels one after the other,
a pixel its c channels.

Sizes that many kernels share, in this order: kh kw the window, sh sw its steps, ph pw the rows
and columns of zeros before the image, dh dw how far the taps of a window are apart, oh ow how
many windows there are down and across. How many zeros follow the image is what oh and ow need."""
import numpy as np
from .dispatch import kernel
from .reductions import column_sum, roomy


def border(x, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow, value=0):
    """The part of the images that the windows see, with a border of `value` where they reach
    beyond: (n, rows, columns, c)."""
    m, h, w = x.shape[0], x.shape[1], x.shape[2] // c
    rows, cols = (oh - 1) * sh + (kh - 1) * dh + 1, (ow - 1) * sw + (kw - 1) * dw + 1
    x = x.reshape(m, h, w, c)
    if (ph, pw, h, w) == (0, 0, rows, cols): return x
    full = np.full((m, rows, cols, c), value, x.dtype)
    a, b, l, r = max(0, ph), min(rows, h + ph), max(0, pw), min(cols, w + pw)
    if a < b and l < r: full[:, a:b, l:r] = x[:, a - ph:b - ph, l - pw:r - pw]
    return full


def windows(full, kh, kw, sh, sw, dh, dw, oh, ow):
    "A view of a bordered batch: (n, oh, ow, kh, kw, c). Windows overlap in memory."
    n, y, x, c = full.strides
    shape, steps = (len(full), oh, ow, kh, kw, full.shape[3]), (n, y * sh, x * sw, y * dh, x * dw, c)
    return np.lib.stride_tricks.as_strided(full, shape, steps)


def taps(full, kh, kw, sh, sw, dh, dw, oh, ow):
    "For each tap its place in the window and a view of what all windows see there: (n, oh, ow, c)."
    for ky in range(kh):
        for kx in range(kw):
            yield ky * kw + kx, full[:, ky * dh:ky * dh + (oh - 1) * sh + 1:sh, kx * dw:kx * dw + (ow - 1) * sw + 1:sw]


def gather(parts, m, h, w, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow, dtype):
    """Images (m, h, w c) to which every tap k has added parts(k), which is (m, oh, ow, c): the
    adjoint of looking through windows."""
    rows, cols = (oh - 1) * sh + (kh - 1) * dh + 1, (ow - 1) * sw + (kw - 1) * dw + 1
    full = np.zeros((m, rows, cols, c), roomy(dtype, kh * kw))
    for k, seen in taps(full, kh, kw, sh, sw, dh, dw, oh, ow): seen += parts(k)
    x = np.zeros((m, h, w, c), dtype)
    a, b, l, r = max(0, ph), min(rows, h + ph), max(0, pw), min(cols, w + pw)
    if a < b and l < r: x[:, a - ph:b - ph, l - pw:r - pw] = full[:, a:b, l:r]
    return x.reshape(m, h, w * c)


@kernel(out=lambda x, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow: [((len(x) * oh * ow, kh * kw * c), x.dtype)])
def columns(x, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow):
    "One row for each window: its taps, row by row, each with its channels."
    full = border(x, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow)
    # never a view of x
    return np.array(windows(full, kh, kw, sh, sw, dh, dw, oh, ow), order='C').reshape(len(x) * oh * ow,
                                                                                      kh * kw * c)

@kernel(out=lambda x, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow: [((kh * kw * c, len(x) * oh * ow), x.dtype)])
def turned_columns(x, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow):
    "columns turned: one row for each tap and channel."
    full = border(x, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow)
    seen = windows(full, kh, kw, sh, sw, dh, dw, oh, ow).transpose(3, 4, 5, 0, 1, 2)
    return np.array(seen, order='C').reshape(kh * kw * c, -1)

@kernel(out=lambda col, m, h, w, c, *rest: [((m, h, w * c), col.dtype)])
def columns_back(col, m, h, w, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow):
    "The adjoint of columns: every entry is added to the pixel it was read from."
    parts = col.reshape(m, oh, ow, kh * kw, c)
    return gather(lambda k: parts[:, :, :, k], m, h, w, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow, col.dtype)


@kernel(out=lambda x, f, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow: [((len(x), oh, ow * c), x.dtype)])
def depthwise(x, f, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow):
    "Each channel under a filter of its own; f is (kh kw, c)."
    y = np.zeros((len(x), oh, ow, c), roomy(x.dtype, kh * kw))
    for k, seen in taps(border(x, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow), kh, kw, sh, sw, dh, dw, oh, ow):
        y += seen * f[k]
    return y.astype(x.dtype, copy=False).reshape(len(x), oh, ow * c)

@kernel(out=lambda g, f, h, w, c, *rest: [((len(g), h, w * c), g.dtype)])
def depthwise_back(g, f, h, w, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow):
    "The gradient of x in depthwise."
    v = g.reshape(len(g), oh, ow, c)
    return gather(lambda k: v * f[k], len(g), h, w, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow, g.dtype)

@kernel(out=lambda g, x, c, kh, kw, *rest: [((kh * kw, c), g.dtype)])
def depthwise_filters(g, x, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow):
    "The gradient of f in depthwise."
    v = g.reshape(len(g), oh, ow, c)
    full = border(x, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow)
    return np.stack([column_sum((v * seen).reshape(-1, c)) for _, seen in taps(full, kh, kw, sh, sw, dh, dw, oh, ow)])


# Winograd's F(2x2, 3x3): tiles of 4x4 that overlap by two become 16 planes, planes become 2x2 results


@kernel(inplace=(0,))
def tiles_(v, x, c, ph, pw, th, tw):
    """The images in tiles of 4x4, one every two pixels, transformed, into v: 16 planes, each with
    one pixel of every tile."""
    full = border(x, c, 4, 4, 2, 2, ph, pw, 1, 1, th, tw)
    d = windows(full, 4, 4, 2, 2, 1, 1, th, tw)                     # n th tw 4 4 c
    planes = v.reshape(4, 4, len(x), th, tw, c)
    for i, rows in enumerate((d[:, :, :, 0] - d[:, :, :, 2], d[:, :, :, 1] + d[:, :, :, 2],
                              d[:, :, :, 2] - d[:, :, :, 1], d[:, :, :, 1] - d[:, :, :, 3])):
        a, b, p, q = (rows[:, :, :, j] for j in range(4))
        planes[i, 0], planes[i, 1], planes[i, 2], planes[i, 3] = a - p, b + p, p - b, b - q
    return v

@kernel(inplace=(0,))
def untiled_(y, v, bias, relu):
    "Planes back to the images y, plus a bias for each channel, cut at 0 if relu is 1."
    m, oh, c = len(y), y.shape[1], len(bias)
    ow = y.shape[2] // c
    th, tw = (oh + 1) // 2, (ow + 1) // 2
    v = v.reshape(4, 4, m, th, tw, c)
    rows = np.stack([v[0] + v[1] + v[2], v[1] - v[2] - v[3]], 3)     # 4 m th 2 tw c
    full = np.stack([rows[0] + rows[1] + rows[2], rows[1] - rows[2] - rows[3]], 4) + bias
    y[...] = full.reshape(m, 2 * th, 2 * tw * c)[:, :oh, :ow * c]
    if relu: np.maximum(y, y.dtype.type(0), out=y)
    return y

@kernel(inplace=(0,))
def spread_(v, g, c):
    "The adjoint of untiled_ without a bias: images g, tiles of 2x2, into the 16 planes v."
    m, oh, ow = len(g), g.shape[1], g.shape[2] // c
    th, tw = (oh + 1) // 2, (ow + 1) // 2
    full = np.zeros((m, 2 * th, 2 * tw, c), g.dtype)
    full[:, :oh, :ow] = g.reshape(m, oh, ow, c)
    a, b = np.moveaxis(full.reshape(m, th, 2, tw, 2, c), 2, 0)      # m th tw 2 c
    planes = v.reshape(4, 4, m, th, tw, c)
    for i, rows in enumerate((a, a + b, a - b, -b)):
        p, q = rows[:, :, :, 0], rows[:, :, :, 1]
        planes[i, 0], planes[i, 1], planes[i, 2], planes[i, 3] = p, p + q, p - q, -q
    return v
