"""Attention in tiles: the scores of some queries for some keys exist, never all of them.

q and the result are (batch, query, head, d); k and v are (batch, key, kv head, d); `owner` says
which kv head each head reads. Query i sees the keys i + lo to i + hi. What a query keeps for the
backward pass is one number a head: the logarithm of the sum of its exponentials."""
import threading
from itertools import accumulate
import numpy as np
from . import dispatch
from .contraction import matmul
from .dispatch import as_one_call, kernel
from .pointwise import sub

ROWS, KEYS = 128, 512       # a tile in NumPy
TILE, BLOCK = 64, 64        # compiled: the side of a tile, columns of d at a time
AHEAD, BACK = (16, 8), (33, 16)     # queries that fill a compiled tile enough, and tiles that are compiled anyway
LONGEST = 4096              # compiled: numbers in a head
KEPT = 4_000_000            # bytes of memory to work in that a thread keeps
_kept = threading.local()


def lanes(a, n):
    "(batch, time, n x repeat, d) as (batch, n, repeat, time, d)."
    b, t, h, d = a.shape
    return a.reshape(b, t, n, h // n, d).transpose(0, 2, 3, 1, 4)

def rows(a, i, j):
    "Times i to j of lanes as rows: (batch, n, rows, d)."
    a = a[..., i:j, :]
    return np.ascontiguousarray(a).reshape(*a.shape[:2], -1, a.shape[-1])

def apart(a, n, shape):
    "Rows as (batch, time, heads, ...)."
    b, g = a.shape[:2]
    a = a.reshape(b, g, -1, n, *a.shape[3:])
    return a.swapaxes(2, 3).swapaxes(1, 2).reshape(shape)

def in_order(owner, n):
    "Whether neighbouring heads share a kv head, all of them as many."
    return len(owner) % n == 0 and np.array_equal(owner, np.arange(len(owner)) // (len(owner) // n))

def tiles(i, n, s, lo, hi):
    "Ranges of keys that some of the queries i to i + n see."
    first, last = max(0, i + lo), min(s, i + n + hi)
    return [(j, min(last, j + KEYS)) for j in range(first, last, KEYS)]

def seen(i, n, j, e, lo, hi):
    "Which of the queries i to i + n see which of the keys j to e; None if all see all."
    if j >= i + n - 1 + lo and e - 1 <= i + hi: return None
    d = np.arange(j, e) - np.arange(i, i + n)[:, None]
    return (d >= lo) & (d <= hi)

def stacked(a, repeat): return a if a is None or repeat == 1 else np.tile(a, (repeat, 1))

less = sub.kernel.run       # compiled at any size: NumPy takes 32 kB for a column that it repeats

def product(a, b, keep):
    "a @ b; where not `keep`, a is 0 and whatever b holds stays out, NaN and infinity too."
    if keep is None or np.isfinite(b).all(): return matmul(a, b)
    bad = ~np.isfinite(b).all(-1)
    y = matmul(a, np.where(bad[..., None], b.dtype.type(0), b))
    for p in np.flatnonzero(bad.any((0, 1))):
        y += np.where(keep[:, p, None],
                      a[..., p, None] * np.where(bad[..., p], 1, 0).astype(b.dtype)[..., None, None]
                      * b[..., p, None, :],
                      b.dtype.type(0))
    return y


@kernel(floor=1, inplace=(0, 1))
def attend_(out, lse, q, k, v, owner, scale, lo, hi, bias, *room):
    """Values averaged by softmax(scale q k + bias), and the log of the sum of the exponentials.

    Minus infinity, and a result of 0, where nothing is seen."""
    t, s, g, real = q.shape[1], k.shape[1], k.shape[2], q.dtype.type
    if not in_order(owner, g): k, v, g = k[:, :, owner], v[:, :, owner], len(owner)
    q, k, v, repeat = lanes(q, g), k.swapaxes(1, 2), v.swapaxes(1, 2), q.shape[2] // g
    for i in range(0, t, ROWS):
        n = min(ROWS, t - i)
        x = rows(q, i, i + n) * real(scale)
        m, l, acc = np.full(x.shape[:3], -np.inf, real), np.zeros(x.shape[:3], real), np.zeros_like(x)
        for j, e in tiles(i, n, s, lo, hi):
            p = matmul(x, k[:, :, j:e].swapaxes(2, 3))
            if bias.size: p += stacked(bias[i:i + n, j:e], repeat)
            keep = stacked(seen(i, n, j, e, lo, hi), repeat)
            if keep is not None: np.copyto(p, -np.inf, where=~keep)
            new = np.maximum(m, p.max(-1))
            level = np.where(new == -np.inf, real(0), new)
            p -= level[..., None]
            np.exp(p, out=p)
            f = np.exp(m - level)
            l = l * f + p.sum(-1)
            acc = acc * f[..., None] + product(p, v[:, :, j:e], keep)
            m = new
        here = slice(i, i + n)
        out[:, here] = apart(acc / np.where(l == 0, real(1), l)[..., None], n, out[:, here].shape)
        lse[:, here] = apart(np.where(l == 0, real(-np.inf), m + np.log(l)), n, lse[:, here].shape)
    return out

@kernel(floor=1, inplace=(0, 1, 2))
def attend_back_(gq, gkeys, gvalues, q, k, v, owner, scale, lo, hi, gy, lse, delta, *room):
    """Gradients for q, k and v; `delta` is the sum of gy times the result, a number a head and query.

    Tiles of weights are made again from lse."""
    t, s, g, real, given = q.shape[1], k.shape[1], k.shape[2], q.dtype.type, not in_order(owner, k.shape[2])
    if given: k, v, g = k[:, :, owner], v[:, :, owner], len(owner)
    repeat = q.shape[2] // g
    q, gy, k, v = lanes(q, g), lanes(gy, g), k.swapaxes(1, 2), v.swapaxes(1, 2)
    lse, delta = lanes(np.where(lse == -np.inf, real(np.inf), lse)[..., None], g), lanes(delta[..., None], g)
    gk, gv = np.zeros(k.shape, real), np.zeros(k.shape, real)
    for i in range(0, t, ROWS):
        n = min(ROWS, t - i)
        x = rows(q, i, i + n) * real(scale)
        y = rows(gy, i, i + n)
        top = rows(lse, i, i + n)
        mean = rows(delta, i, i + n)
        gx = np.zeros_like(x)
        for j, e in tiles(i, n, s, lo, hi):
            keep = stacked(seen(i, n, j, e, lo, hi), repeat)
            turned = None if keep is None else keep.T
            p = matmul(x, k[:, :, j:e].swapaxes(2, 3))
            p = less(p, top)
            np.exp(p, out=p)
            if keep is not None: np.copyto(p, 0, where=~keep)
            gv[:, :, j:e] += product(p.swapaxes(2, 3), y, turned)
            gp = matmul(y, v[:, :, j:e].swapaxes(2, 3))
            gp = less(gp, mean)
            gp *= p
            if keep is not None: np.copyto(gp, 0, where=~keep)
            gx += product(gp, k[:, :, j:e], keep)
            gk[:, :, j:e] += product(gp.swapaxes(2, 3), x, turned)
        gq[:, i:i + n] = apart(gx * real(scale), n, gq[:, i:i + n].shape)
    for total, a in ((gkeys, gk), (gvalues, gv)):
        total[...] = 0 if given else a.swapaxes(1, 2)
        if given: np.add.at(total, (slice(None), slice(None), owner), a.swapaxes(1, 2))
    return gq


def sizes(q, k):
    "(rows, columns) of what attend_ works in: turned keys, values, queries, results, scores, largest scores and sums."
    nq, nk, turned, _, tall, wide = counts(q, k)
    return (turned, TILE), (nk * wide, BLOCK), (nq, tall), (nq * wide, BLOCK), (nq, TILE), (nq, 2)

def sizes_back(q, k):
    """(rows, columns) of what attend_back_ works in: turned keys and values, keys; queries and
    their gradients, both twice; two tiles of a head; lse and delta; gradients."""
    nq, nk, turned, each, tall, wide = counts(q, k)
    rows, tile = (nq * wide, BLOCK), (q.shape[0] * q.shape[2] * TILE, TILE)
    return ((turned, TILE), (turned, TILE), (nk * wide, BLOCK), (nq, tall), (nq, tall), rows,
            rows, tile, tile, (nq, 2), rows, (each * wide, BLOCK), (each * wide, BLOCK))

def counts(q, k):
    "Rows of all tiles of queries, of keys, of turned keys; of keys once for each head; d in eights; blocks of columns."
    (b, t, h, d), (s, g) = q.shape, k.shape[1:3]
    deep, tall = -(-s // TILE), -(-d // 8) * 8
    return (b * h * -(-t // TILE) * TILE, b * g * deep * TILE, b * g * deep * tall,
            b * h * deep * TILE, tall, -(-d // BLOCK))

def room(kernel, q, sizes, size):
    """Memory of these sizes at addresses that vectors like, with whatever was there before; none where NumPy will
    run. A thread keeps up to KEPT bytes for the next call: new memory costs a short text more than its products."""
    if not kernel.pays(size) or q.dtype != np.float32: return [np.empty((0, 0), q.dtype) for _ in sizes]
    starts = [0, *accumulate(n * m + 15 & -16 for n, m in sizes)]
    a = None if dispatch.tracer else getattr(_kept, 'room', None)      # a plan has memory of its own
    if a is None or a.size < starts[-1]:
        if a is not None: a = _kept.room = None
        a = aligned(starts[-1])
        if a.nbytes <= KEPT and not dispatch.tracer: _kept.room = a
    return [a[start:start + n * m].reshape(n, m) for start, (n, m) in zip(starts, sizes)]

def aligned(n):
    "n numbers from a multiple of 64 bytes on."
    a = np.empty(n + 16, np.float32)
    skip = -a.ctypes.data % 64 // a.itemsize
    return a[skip:skip + n]

def portions(kernel, q, k, sizes, goes):
    "Slices of the batch whose memory to work in a thread may keep."
    one = 4 * sum(n * m + 15 for n, m in sizes(q[:1], k[:1]))
    step = KEPT // one if goes and q.dtype == np.float32 and not dispatch.tracer else len(q)
    step = max(1, step)         # also of no texts at all
    for i in range(0, len(q), step):
        at = slice(i, i + step)
        yield at, room(kernel, q, sizes(q[at], k[at]), q.size if goes else 0)

def goes_compiled(kernel, q, k, enough, hidden):
    """Whether the compiled kernel runs: it takes heads up to LONGEST, and no NaN that it would show to everybody. Of
    many tiles with few queries most is padding."""
    (b, t, h, d), s, (queries, few) = q.shape, k.shape[1], enough
    full = t >= queries or b * h * -(-t // TILE) * -(-s // TILE) <= few
    return kernel.pays(q.size * full) and not hidden and 0 < d <= LONGEST

def attend(q, k, v, owner, scale, lo, hi, bias, hidden=False):
    """Result and lse of attend_. `hidden` says that there is NaN or infinity, which only NumPy
    keeps from who does not see it."""
    out = np.empty(q.shape, q.dtype)
    lse = np.empty(q.shape[:3], q.dtype)
    goes = goes_compiled(attend_.kernel, q, k, AHEAD, hidden)
    run = attend_.kernel.run if goes else attend_.kernel.twin
    for i, work in portions(attend_.kernel, q, k, sizes, goes):
        run(out[i], lse[i], q[i], k[i], v[i], owner, float(scale), lo, hi, bias, *work)
    return out, lse

def attend_back(q, k, v, owner, scale, lo, hi, gy, lse, delta, hidden=False):
    "Gradients of attend for q, k and v."
    gq, gk, gv = [np.empty(a.shape, a.dtype) for a in (q, k, v)]
    goes = goes_compiled(attend_back_.kernel, q, k, BACK, hidden)
    run = attend_back_.kernel.run if goes else attend_back_.kernel.twin
    for i, work in portions(attend_back_.kernel, q, k, sizes_back, goes):
        run(gq[i], gk[i], gv[i], q[i], k[i], v[i], owner, float(scale), lo, hi, gy[i], lse[i], delta[i], *work)
    return gq, gk, gv


# Keys that do not count: attention over ranges of the others. `look` and `back` walk over pieces (first key, keys,
# values), see chapter 22.

def ranges(rows):
    "(entries of the batch, ranges of the keys that count for them), where they change."
    cuts = np.flatnonzero((rows[1:] != rows[:-1]).any(1)) + 1
    for i, j in zip([0, *cuts], [*cuts, len(rows)]):
        ends = np.flatnonzero(np.diff(rows[i], prepend=False, append=False))
        yield slice(i, j), ends.reshape(-1, 2).tolist()

def over_ranges(look, q, k, v, rows, *how):
    *how, y, l = how
    y[...], l[...] = 0, -np.inf
    for at, found in ranges(rows):
        parts = [(i, k[at, i:j], v[at, i:j]) for i, j in found]
        if parts: y[at], l[at] = look(q[at], parts, *how)

def back_over_ranges(back, q, k, v, rows, owner, scale, lo, hi, gy, lse, delta, gq, gk, gv):
    for g in (gq, gk, gv): g[...] = 0
    for at, found in ranges(rows):
        for i, j in found:
            how = owner, scale, lo, hi, gy[at], lse[at], delta[at]
            more, gk[at, i:j], gv[at, i:j] = back(q[at], [(i, k[at, i:j], v[at, i:j])], *how)
            gq[at] += more

def joined_pieces(pieces):
    "The keys and the values of all pieces."
    _, *both = zip(*pieces)
    return [a[0] if len(a) == 1 else np.concatenate(a, 1) for a in both]

def look_at_ranges(look, q, pieces, rows, *how):
    "Result and lse over the keys that count: true in rows (batch, key)."
    y, l = np.empty(q.shape, q.dtype), np.empty(q.shape[:3], q.dtype)
    as_one_call(over_ranges, [look, q, *joined_pieces(pieces), rows, *how], [y, l])
    return y, l

def look_back_at_ranges(back, q, pieces, rows, *how):
    "Gradients of that for q, k and v."
    given = q, *joined_pieces(pieces)
    slopes = [np.empty(a.shape, a.dtype) for a in given]
    as_one_call(back_over_ranges, [back, *given, rows, *how], slopes)
    return slopes
