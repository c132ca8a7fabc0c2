"""Convolutions without a matrix of windows: images (n, h, w c) under the weights of each group, (groups, taps c/groups,
outputs), and the gradient of those weights. Sizes are those of `convolution`."""
from functools import lru_cache
import numpy as np
from .contraction import matrix_product
from .convolution import columns
from .dispatch import kernel

WINDOWS, ACROSS = 256, 128  # of a task, and of these in a row
ROOM = 12288                # numbers that a task lays out, about: they stay in the first cache
LOTS = 32                   # parts in which gradients of weights are added up
FEW = 4                     # channels up to which windows are laid out, not pixels
PIECE = 1 << 20             # numbers of a matrix of windows that exist at a time in NumPy


def up(n, unit): return -(-n // unit)

def padded(n): return up(n, 12) * 12

@lru_cache(256)
def tasks(groups, outs, relu, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow):
    """The arguments as an array, the table of an image's tasks as kernels_pythran/correlation.py reads it, and how many
    numbers a group's weights take in panels, and their gradients."""
    each, few = c // groups, c // groups <= FEW
    blocks = up(kh * kw * each if few else each, 16)
    laid = (1, 1, 1, 1, 1, 1) if few else (kh, kw, sh, sw, dh, dw)
    th, tw, tsh, tsw, tdh, tdw = laid
    run, runs = (tw * 16, 1) if tdw == 1 else (16, tw)
    deep, depth = blocks * th * tw * 16, blocks * th * runs * padded(run)
    cut = min(ow, ACROSS)
    high = max(1, min(oh, up(WINDOWS, cut), (ROOM // (cut * tsw * blocks * 16) - th) // tsh))
    rows = []
    for i in range(0, oh, high):
        for j in range(0, ow, cut):
            m, n = min(high, oh - i), min(cut, ow - j)
            rows.append((each, c, kh, kw, sh, sw, dh, dw, ow, relu, few, blocks, *laid, run, runs, deep, depth,
                         i * sh - ph, j * sw - pw, m, n, (m - 1) * tsh + (th - 1) * tdh + 1,
                         (n - 1) * tsw + (tw - 1) * tdw + 1, (i * ow + j) * outs * groups, outs * groups, padded(run)))
    wide = outs // 32 * 32 + (0 if outs % 32 == 0 else 16 if outs % 32 <= 16 else 32)
    table = np.array(rows, np.int64)
    how = np.array([relu, c, kh, kw, sh, sw, ph, pw, dh, dw, oh, ow], np.int64)
    return how, table, deep * wide, depth * wide


def seen_by_group(x, groups, c, geometry):
    "Bands of rows of every image: where its windows are among all, and for each group what they see."
    oh, ow = geometry[-2:]
    kh, kw, sh, sw, ph, pw, dh, dw = geometry[:8]
    each = c // groups
    step = max(1, PIECE // (ow * kh * kw * c))
    parts = [np.ascontiguousarray(p) for p in np.moveaxis(x.reshape(*x.shape[:2], -1, groups, each), 3, 0)]
    for n in range(len(x)):
        for top in range(0, oh, step):
            rows = min(step, oh - top)
            how = kh, kw, sh, sw, ph - top * sh, pw, dh, dw, rows, ow
            at = (n * oh + top) * ow
            seen = [columns.kernel.twin(p[n:n + 1].reshape(1, x.shape[1], -1), each, *how) for p in parts]
            yield slice(at, at + rows * ow), seen

@kernel(floor=512, inplace=(0,))
def correlate_(y, x, w, bias, how, table, room):
    "Every window times the weights of each group, plus a bias (groups, outputs), cut at 0 if how[0] is 1, into y."
    relu, c, *geometry = how.tolist()
    rows = y.reshape(-1, *bias.shape)
    for at, seen in seen_by_group(x, len(w), c, geometry):
        for g, s in enumerate(seen): np.add(matrix_product(s, w[g]), bias[g], out=rows[at, g])
    if relu: np.maximum(y, y.dtype.type(0), out=y)
    return y

@kernel(floor=512, out=lambda g, x, how, table, room, lots, *sizes: [(sizes, g.dtype)])
def correlate_weights(g, x, how, table, room, lots, groups, deep, o):
    "The gradient of w in correlate_, for steps of 1 across."
    _, c, *geometry = how.tolist()
    rows, total = g.reshape(-1, groups, o), 0
    for at, seen in seen_by_group(x, groups, c, geometry):
        total = total + np.stack([matrix_product(s.T, rows[at, q]) for q, s in enumerate(seen)]).astype('f8')
    return total.astype(g.dtype)


def lots_of(units): return up(units, up(units, LOTS))

def correlate(x, w, c, geometry, bias=None, relu=False):
    "Images (n, h, w c) under the weights (groups, taps c/groups, outputs of a group), plus a bias, cut at 0."
    groups, _, o = w.shape
    y = np.empty((len(x), geometry[-2], geometry[-1] * groups * o), x.dtype)    # first: it may be too large to exist
    how, table, room, _ = tasks(groups, o, int(relu), c, *geometry)
    b = np.zeros((groups, o), x.dtype) if bias is None else np.ascontiguousarray(bias).reshape(groups, o)
    correlate_(y.reshape(-1), x, w, b, how, table, room)
    return y

def weights_back(g, x, c, geometry, groups=1):
    "The gradient of the weights in correlate."
    o, deep = g.shape[2] // geometry[-1] // groups, geometry[0] * geometry[1] * c // groups
    how, table, _, room = tasks(groups, o, 0, c, *geometry)
    return correlate_weights(g.reshape(-1), x, how, table, room, lots_of(len(x) * len(table)), groups, deep, o)
