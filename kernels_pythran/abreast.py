"""The next words of several texts through a decoder in one call: the weights are read once for all.

`decoding` says what the numbers mean; each text gets what it would get there. The threads share the texts, then the
groups of a product, then all heads of all texts, and meet in between. What a product reads lies block by block, and in
a block text by text. Keys and values: a list of the layers of the first text, then of the second. `places` of a text
and a layer: the first word it sees, and where the new one goes."""
# compile with: -mprefer-vector-width=256
import omp
from ._abreast import share_rows
from ._lanes import round_row, sum_row
from ._words import copied, gated, head, headed, normed, plus


def beside(y, q, s, t, xs, qs, ss, ts, k, blocks, as_is, n):
    "A row, as it is or rounded, as number k of each block."
    if as_is: sum_row(y, s, blocks)
    else: round_row(y, q, s, t, blocks, 32)
    at = k << 5
    for b in range(blocks):
        ss[b, k] = s[b]
        ts[b, k] = t[b]
        if as_is: moved(y, b << 5, xs, b, at, n)
        else: moved(q, b << 5, qs, b, at, n)

def moved(x, i, y, b, at, n):
    for j in range(n): y[b, at + j] = x[i + j]

def begun(start, x, norm, eps, y, q, s, t, xs, qs, ss, ts, as_is):
    "The first layer's input."
    width = norm.shape[0]
    #omp for
    for r in range(start.shape[0]): first_row(start[r], x[r], norm, eps, y[r], q[r], s[r], t[r], xs, qs,
                                              ss, ts, r, width, as_is)

def first_row(start, x, norm, eps, y, q, s, t, xs, qs, ss, ts, k, width, as_is):
    copied(start, x, width)
    normed(x, norm, eps, y)
    beside(y, q, s, t, xs, qs, ss, ts, k, width >> 5, as_is, 32)

def added(z, x, norm, eps, y, q, s, t, xs, qs, ss, ts, as_is):
    "What a part of a layer says joins the stream, whose norm the next part reads."
    #omp for
    for r in range(x.shape[0]): next_row(z[r], x[r], norm, eps, y[r], q[r], s[r], t[r], xs, qs,
                                         ss, ts, r, as_is)

def next_row(z, x, norm, eps, y, q, s, t, xs, qs, ss, ts, k, as_is):
    width = norm.shape[0]
    plus(x, z, width)
    normed(x, norm, eps, y)
    beside(y, q, s, t, xs, qs, ss, ts, k, width >> 5, as_is, 32)

def ready(z, q, s, t, xs, qs, ss, ts, m, as_is):
    #omp for
    for r in range(q.shape[0]):
        beside(z[r], q[r], s[r], t[r], xs, qs, ss, ts, r, m >> 5, as_is, 32)

def bent(z, y, q, s, t, xs, qs, ss, ts, hidden, as_is):
    #omp for
    for r in range(q.shape[0]): bent_row(z[r], y[r], q[r], s[r], t[r], xs, qs, ss, ts,
                                         r, hidden, as_is)

def bent_row(z, y, q, s, t, xs, qs, ss, ts, k, hidden, as_is):
    gated(z[:hidden], z[hidden:2 * hidden], y[:hidden])
    beside(y, q, s, t, xs, qs, ss, ts, k, hidden >> 5, as_is, 32)

def placed(z, norms, own, heads, kv, d, eps, turns, pairs, keys, values, at):
    "Heads turned; keys and values join their cache."
    headed(z, norms, own, heads, kv, d, eps, turns, pairs)
    for h in range(kv):
        a = (heads + h) * d
        v = (heads + kv + h) * d
        keys[at, h] = z[a:a + d]
        values[at, h] = z[v:v + d]

def all_placed(z, norms, own, heads, kv, d, eps, turns, pairs, keys, values, i, layers, places):
    #omp for
    for r in range(turns.shape[0]):
        placed(z[r], norms, own, heads, kv, d, eps, turns[r], pairs, keys[r * layers + i], values[r * layers + i],
               places[r, i, 1])

def look(z, keys, values, h, place, heads, kv, d, scale, scores, y):
    g = h * kv // heads
    a = (heads + g) * d
    v = (heads + kv + g) * d
    head(z[h * d:h * d + d], z[a:a + d], z[v:v + d], keys, values, g, place[0], place[1], scale, scores,
         y[h * d:h * d + d])

def all_looked(z, keys, values, i, layers, places, heads, kv, d, scale, scores, y):
    texts = places.shape[0]
    #omp for schedule(dynamic)
    for u in range(texts * heads):
        r = u // heads
        look(z[r], keys[r * layers + i], values[r * layers + i], u - r * heads, places[r, i], heads, kv, d, scale,
             scores[u], y[r])

def layer(codes, scales, norms, parts, i, own, after, sizes, eps, scale, turns, keys, values, places, x, y, q, s, t, xs,
          qs, ss, ts, z0, z1, z2, z3, f, e, c, tile, scores):
    "All of a layer; `after` is where the norm behind it stands."
    width = sizes[0]
    hidden = sizes[1]
    heads = sizes[2]
    kv = sizes[3]
    d = sizes[4]
    as_is = sizes[6]
    at = 7 * i
    layers = places.shape[1]
    share_rows(codes, scales, parts, at, at + 3, xs, qs, ss, ts, f, e, c, tile, as_is, z0)
    all_placed(z0, norms, own, heads, kv, d, eps, turns, sizes[5], keys, values, i, layers, places)
    all_looked(z0, keys, values, i, layers, places, heads, kv, d, scale, scores, z1)
    ready(z1, q, s, t, xs, qs, ss, ts, heads * d, as_is)
    share_rows(codes, scales, parts, at + 3, at + 4, xs, qs, ss, ts, f, e, c, tile, as_is, z2)
    added(z2, x, norms[own[1]:own[1] + width], eps, y, q, s, t, xs, qs, ss, ts, as_is)
    share_rows(codes, scales, parts, at + 4, at + 6, xs, qs, ss, ts, f, e, c, tile, as_is, z3)
    bent(z3, y, q, s, t, xs, qs, ss, ts, hidden, as_is)
    share_rows(codes, scales, parts, at + 6, at + 7, xs, qs, ss, ts, f, e, c, tile, as_is, z2)
    added(z2, x, norms[after:after + width], eps, y, q, s, t, xs, qs, ss, ts, as_is)

def thread(start, codes, scales, norms, parts, own, sizes, eps, scale, turns, keys, values, places, x, y, q, s, t, xs,
           qs, ss, ts, z0, z1, z2, z3, f, e, c, tile, scores, logits):
    width = sizes[0]
    layers = own.shape[0]
    begun(start, x, norms[own[0, 0]:own[0, 0] + width], eps, y, q, s, t, xs, qs, ss, ts, sizes[6])
    for i in range(layers):
        after = sizes[7] if i + 1 == layers else own[i + 1, 0]
        layer(codes, scales, norms, parts, i, own[i], after, sizes, eps, scale, turns, keys, values, places, x, y, q, s,
              t, xs, qs, ss, ts, z0, z1, z2, z3, f, e, c, tile, scores)
    share_rows(codes, scales, parts, 7 * layers, parts.shape[0], xs, qs, ss, ts, f, e, c, tile, sizes[6], logits)

#pythran export decode_words(float32[:,:] order(C), uint8[:], float32[:], float32[:], int64[:,:] order(C),
#                       int64[:,:] order(C), int64[:], float32, float32, float32[:,:,:] order(C),
#                       float32[:,:,:] list, float32[:,:,:] list, int64[:,:,:] order(C),
#                       float32[:,:] order(C), float32[:,:] order(C), int16[:,:] order(C), float32[:,:] order(C),
#                       int32[:,:] order(C), float32[:,:] order(C), int16[:,:] order(C), float32[:,:] order(C),
#                       int32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C),
#                       float32[:,:] order(C), float32[:,:] order(C), int16[:,:] order(C), int32[:,:] order(C),
#                       float32[:,:] order(C), float32[:,:] order(C), float32[:,:] order(C))
def decode_words(start, codes, scales, norms, parts, own, sizes, eps, scale, turns, keys, values, places, x, y, q, s, t,
                 xs, qs, ss, ts, z0, z1, z2, z3, f, e, c, tile, scores, logits):
    n = tile.shape[0]
    #omp parallel num_threads(n)
    if start.shape[0] > 0:
        i = omp.get_thread_num()
        thread(start, codes, scales, norms, parts, own, sizes, eps, scale, turns, keys, values, places, x, y, q, s, t,
               xs, qs, ss, ts, z0, z1, z2, z3, f[i], e[i], c[i], tile[i], scores, logits)
