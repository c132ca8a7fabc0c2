"""One word through a decoder in one call, on memory that is kept.

The threads share the products and the heads. All else they do each for itself, into memory of its own: waiting for one
that does it would take longer. What they share is written in a place of its own for each kind of product, so that
nobody writes where another still reads.

Sizes: width, hidden, heads, heads of keys, numbers of a head, pairs that turn, whether x stays as it is, place of the
last norm among the norms, what the caches hold: numbers, f16 or q8_0. Parts of layer i: the seven maps q k v o gate up
down; one that was joined to the map before it has no groups. Own numbers of a layer: where among the norms stand its
norms 1, 2, those of queries and keys, its three biases (-1: none); its rope (-1: none); the place of the first word it
sees, and of the word it is.

A cache of f16 or q8_0 is bytes. The words that a layer sees are unpacked into memory that all layers share, once for
all heads; the keys and values of the new word become what the cache will say of them."""
# compile with: -mprefer-vector-width=256
import omp
import numpy as np
from ._halves import half, powers
from ._lanes import round_row, share, sum_row
from ._rounding import LEAST, ZERO, half_bits, largest, nearest
from ._words import ONE, copied, gated, head, headed, normed, plus


def ready(x, q, s, t, blocks, as_is):
    if as_is: sum_row(x, s, blocks)
    else: round_row(x, q, s, t, blocks, 32)

def looked(x, keys, values, lo, at, heads, kv, d, scale, scores, y):
    #omp for
    for h in range(heads):
        g = h * kv // heads
        a = (heads + g) * d
        v = (heads + kv + g) * d
        head(x[h * d:h * d + d], x[a:a + d], x[v:v + d], keys, values, g, lo, at, scale, scores[h], y[h * d:h * d + d])

def kept(x, keys, values, at, heads, kv, d):
    for h in range(kv):
        a = (heads + h) * d
        v = (heads + kv + h) * d
        keys[at, h] = x[a:a + d]
        values[at, h] = x[v:v + d]


# caches of bytes

def put_half(w, i, v, p):
    "v as an f16 in the bytes i and i + 1; the number that this is."
    k = half_bits(v)
    w[i] = np.uint8(k & 255)
    w[i + 1] = np.uint8(k >> 8)
    return half(w[i], w[i + 1], p)

def packed(x, w, q, as_blocks, p, n):
    "The numbers of a head as bytes, and x as what these say."
    if as_blocks:
        for b in range(x.shape[0] >> 5):
            i = b << 5
            o = i + (b << 1)
            top, bad = largest(x[i:], n)
            d = np.float32(top / np.float32(127))
            nearest(x[i:], q[i:], np.float32(ONE / d) if d >= LEAST else ZERO, n)
            e = put_half(w, o, np.float32(d + bad), p)
            for j in range(n):
                w[o + 2 + j] = np.uint8(q[i + j] & 255)
                x[i + j] = e * np.float32(q[i + j])
    else:
        for j in range(x.shape[0]): x[j] = put_half(w, 2 * j, x[j], p)

def unpacked(w, y, as_blocks, p, n):
    if as_blocks:
        for b in range(y.shape[0] >> 5):
            i = b << 5
            o = i + (b << 1)
            lo = w[o]
            hi = w[o + 1]
            d = half(lo, hi, p)
            for j in range(n): y[i + j] = d * np.float32(np.int8(w[o + 2 + j]))
    else:
        #omp simd
        for j in range(y.shape[0]):
            lo = w[2 * j]
            hi = w[2 * j + 1]
            y[j] = half(lo, hi, p)

def all_packed(x, w, q, keys, values, at, heads, kv, d, as_blocks, first, p):
    "Keys and values of the new word; one thread writes them to the cache, too."
    size = keys.shape[2]
    for h in range(kv):
        a = (heads + h) * d
        v = (heads + kv + h) * d
        packed(x[a:a + d], w, q, as_blocks, p, 32)
        if first:
            for j in range(size): keys[at, h, j] = w[j]
        packed(x[v:v + d], w, q, as_blocks, p, 32)
        if first:
            for j in range(size): values[at, h, j] = w[j]

def all_unpacked(keys, values, lo, at, as_blocks, p, k, v):
    #omp for
    for t in range(at - lo):
        for h in range(keys.shape[1]):
            unpacked(keys[lo + t, h], k[t, h], as_blocks, p, 32)
            unpacked(values[lo + t, h], v[t, h], as_blocks, p, 32)

def layer(codes, scales, norms, parts, i, own, sizes, eps, scale, turns, keys, values, bytes_k, bytes_v, k, v, first,
          p, x, y, q, s, t, w, z0, z1, z2, z3, z4, c, row, scores):
    width = sizes[0]
    hidden = sizes[1]
    heads = sizes[2]
    kv = sizes[3]
    d = sizes[4]
    as_is = sizes[6]
    m = heads * d
    at = 7 * i
    lo = own[8]
    here = own[9]
    normed(x, norms[own[0]:own[0] + width], eps, y)
    ready(y, q, s, t, width >> 5, as_is)
    share(codes, scales, parts, at, at + 3, y, q, s, t, c, row, as_is, z0)
    copied(z0, y, m + 2 * kv * d)
    headed(y, norms, own, heads, kv, d, eps, turns, sizes[5])
    if sizes[8] == 0:
        #omp single nowait
        kept(y, keys, values, here, heads, kv, d)
        looked(y, keys, values, lo, here, heads, kv, d, scale, scores, z1)
    else:
        all_packed(y, w, q, bytes_k, bytes_v, here, heads, kv, d, sizes[8] == 2, first, p)
        all_unpacked(bytes_k, bytes_v, lo, here, sizes[8] == 2, p, k, v)
        looked(y, k, v, 0, here - lo, heads, kv, d, scale, scores, z1)
    copied(z1, y, m)
    ready(y, q, s, t, m >> 5, as_is)
    share(codes, scales, parts, at + 3, at + 4, y, q, s, t, c, row, as_is, z2)
    plus(x, z2, width)
    normed(x, norms[own[1]:own[1] + width], eps, y)
    ready(y, q, s, t, width >> 5, as_is)
    share(codes, scales, parts, at + 4, at + 6, y, q, s, t, c, row, as_is, z3)
    gated(z3[:hidden], z3[hidden:2 * hidden], y[:hidden])
    ready(y, q, s, t, hidden >> 5, as_is)
    share(codes, scales, parts, at + 6, at + 7, y, q, s, t, c, row, as_is, z4)
    plus(x, z4, width)

def thread(start, codes, scales, norms, parts, own, sizes, eps, scale, turns, keys, values, bytes_k, bytes_v, k, v,
           first, p, x, y, q, s, t, w, z0, z1, z2, z3, z4, c, row, scores, logits):
    width = sizes[0]
    copied(start, x, width)
    layers = own.shape[0]
    for i in range(layers):
        layer(codes, scales, norms, parts, i, own[i], sizes, eps, scale, turns, keys[i], values[i], bytes_k[i],
              bytes_v[i], k, v, first, p, x, y, q, s, t, w, z0, z1, z2, z3, z4, c, row, scores)
    normed(x, norms[sizes[7]:sizes[7] + width], eps, y)
    ready(y, q, s, t, width >> 5, sizes[6])
    share(codes, scales, parts, 7 * layers, parts.shape[0], y, q, s, t, c, row, sizes[6], logits)

#pythran export decode_word(float32[:], uint8[:], float32[:], float32[:], int64[:,:] order(C), int64[:,:] order(C),
#                      int64[:], float32, float32, float32[:,:] order(C), float32[:,:,:] list, float32[:,:,:] list,
#                      uint8[:,:,:] list, uint8[:,:,:] list, float32[:,:,:] order(C), float32[:,:,:] order(C),
#                      float32[:,:] order(C), float32[:,:] order(C), int16[:,:] order(C), float32[:,:] order(C),
#                      int32[:,:] order(C), uint8[:,:] order(C), float32[:], float32[:], float32[:], float32[:],
#                      float32[:], int32[:], float32[:], float32[:,:] order(C), float32[:])
def decode_word(start, codes, scales, norms, parts, own, sizes, eps, scale, turns, keys, values, bytes_k, bytes_v, k, v,
                x, y, q, s, t, w, z0, z1, z2, z3, z4, c, row, scores, logits):
    n = x.shape[0]
    p = powers()
    #omp parallel num_threads(n)
    if start.shape[0] > 0:
        i = omp.get_thread_num()
        thread(start, codes, scales, norms, parts, own, sizes, eps, scale, turns, keys, values, bytes_k, bytes_v, k, v,
               i == 0, p, x[i], y[i], q[i], s[i], t[i], w[i], z0, z1, z2, z3, z4, c, row, scores, logits)
