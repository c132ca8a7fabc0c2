"""One word through a decoder in one call, on memory that is kept.

The threads share the products and the heads. All else they do each for itself, into memory of its own: waiting for one
that does it would take longer. What they share is written in a place of its own for each kind of product, so that
nobody writes where another still reads.

Sizes: width, hidden, heads, heads of keys, numbers of a head, pairs that turn, whether x stays as it is, place of the
last norm among the scales. Parts of layer i: the seven maps q k v o gate up down; one that was joined to the map before
it has no groups. Own numbers of a layer: where among the scales stand its norms 1, 2, those of queries and keys, its
three biases (-1: none); its rope (-1: none); the place of the first word it sees, and of the word it is."""
# compile with: -mprefer-vector-width=256
import omp
import numpy as np
from ._lanes import round_row, share, sum_row

ZERO = np.float32(0)
ONE = np.float32(1)


def matched(a, b, n):
    "The sum of products in eight running sums."
    s0 = ZERO
    s1 = ZERO
    s2 = ZERO
    s3 = ZERO
    s4 = ZERO
    s5 = ZERO
    s6 = ZERO
    s7 = ZERO
    for j in range(n >> 3):
        i = j << 3
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
        s4 += a[i + 4] * b[i + 4]
        s5 += a[i + 5] * b[i + 5]
        s6 += a[i + 6] * b[i + 6]
        s7 += a[i + 7] * b[i + 7]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))

def times(x, w, r, y):
    for j in range(x.shape[0]): y[j] = x[j] * r * w[j]

def normed(x, w, eps, y):
    n = x.shape[0]
    times(x, w, np.float32(ONE / np.sqrt(np.float32(matched(x, x, n) / np.float32(n) + eps))), y)

def plus(x, y, n):
    for j in range(n): x[j] += y[j]

def turned(x, turn, pairs):
    for j in range(pairs):
        a = x[j]
        b = x[pairs + j]
        x[j] = a * turn[j] - b * turn[pairs + j]
        x[pairs + j] = b * turn[j] + a * turn[pairs + j]

def ready(x, q, s, t, blocks, as_is):
    if as_is: sum_row(x, s, blocks)
    else: round_row(x, q, s, t, blocks, 32)

def gated(a, b, y):
    y[:] = np.exp(-a)
    for j in range(y.shape[0]): y[j] = a[j] / (ONE + y[j]) * b[j]

def mixed(y, p, v, n):
    for j in range(n): y[j] += p * v[j]

def mixed_4(y, p0, p1, p2, p3, v0, v1, v2, v3, n):
    for j in range(n): y[j] += (p0 * v0[j] + p1 * v1[j]) + (p2 * v2[j] + p3 * v3[j])

def copied(x, y, n):
    for j in range(n): y[j] = x[j]

def head(q, key, value, keys, values, h, lo, at, scale, p, y):
    "One head looks at the words lo to at - 1 of the cache and at the last one."
    d = q.shape[0]
    n = at - lo
    top = np.float32(matched(q, key, d) * scale)
    p[n] = top
    for t in range(n):
        v = np.float32(matched(q, keys[lo + t, h], d) * scale)
        p[t] = v
        top = max(top, v)
    z = p[:n + 1]
    z[:] = np.exp(z - top)
    total = np.sum(z)
    for j in range(d): y[j] = ZERO
    for m in range(n >> 2):
        t = m << 2
        a = lo + t
        mixed_4(y, p[t], p[t + 1], p[t + 2], p[t + 3],
                values[a, h], values[a + 1, h], values[a + 2, h], values[a + 3, h], d)
    for t in range(n >> 2 << 2, n): mixed(y, p[t], values[lo + t, h], d)
    mixed(y, p[n], value, d)
    r = np.float32(ONE / total)
    for j in range(d): y[j] *= r

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

def headed(x, scales, own, heads, kv, d, eps, turns, pairs):
    "Biases, norms of the heads, turns."
    for i in range(3):
        if own[4 + i] >= 0:
            size = heads * d if i == 0 else kv * d
            a = 0 if i == 0 else heads * d if i == 1 else (heads + kv) * d
            plus(x[a:a + size], scales[own[4 + i]:own[4 + i] + size], size)
    for h in range(heads + kv):
        a = own[2] if h < heads else own[3]
        if a >= 0: normed(x[h * d:h * d + d], scales[a:a + d], eps, x[h * d:h * d + d])
        if own[7] >= 0: turned(x[h * d:h * d + d], turns[own[7]], pairs)

def layer(codes, scales, parts, i, own, sizes, eps, scale, turns, keys, values, x, y, q, s, t,
          z0, z1, z2, z3, z4, c, row, scores):
    width = sizes[0]
    hidden = sizes[1]
    heads = sizes[2]
    kv = sizes[3]
    d = sizes[4]
    as_is = sizes[6]
    m = heads * d
    p = 7 * i
    normed(x, scales[own[0]:own[0] + width], eps, y)
    ready(y, q, s, t, width >> 5, as_is)
    share(codes, scales, parts, p, p + 3, y, q, s, t, c, row, as_is, z0)
    copied(z0, y, m + 2 * kv * d)
    headed(y, scales, own, heads, kv, d, eps, turns, sizes[5])
    #omp single nowait
    kept(y, keys, values, own[9], heads, kv, d)
    looked(y, keys, values, own[8], own[9], heads, kv, d, scale, scores, z1)
    copied(z1, y, m)
    ready(y, q, s, t, m >> 5, as_is)
    share(codes, scales, parts, p + 3, p + 4, y, q, s, t, c, row, as_is, z2)
    plus(x, z2, width)
    normed(x, scales[own[1]:own[1] + width], eps, y)
    ready(y, q, s, t, width >> 5, as_is)
    share(codes, scales, parts, p + 4, p + 6, y, q, s, t, c, row, as_is, z3)
    gated(z3[:hidden], z3[hidden:2 * hidden], y[:hidden])
    ready(y, q, s, t, hidden >> 5, as_is)
    share(codes, scales, parts, p + 6, p + 7, y, q, s, t, c, row, as_is, z4)
    plus(x, z4, width)

def thread(start, codes, scales, parts, own, sizes, eps, scale, turns, keys, values, x, y, q, s, t,
           z0, z1, z2, z3, z4, c, row, scores, logits):
    width = sizes[0]
    copied(start, x, width)
    layers = own.shape[0]
    for i in range(layers):
        layer(codes, scales, parts, i, own[i], sizes, eps, scale, turns, keys[i], values[i], x, y, q, s, t,
              z0, z1, z2, z3, z4, c, row, scores)
    normed(x, scales[sizes[7]:sizes[7] + width], eps, y)
    ready(y, q, s, t, width >> 5, sizes[6])
    share(codes, scales, parts, 7 * layers, parts.shape[0], y, q, s, t, c, row, sizes[6], logits)

#pythran export decode_word(float32[:], uint8[:], float32[:], int64[:,:] order(C), int64[:,:] order(C), int64[:],
#                      float32, float32, float32[:,:] order(C), float32[:,:,:] list, float32[:,:,:] list,
#                      float32[:,:] order(C), float32[:,:] order(C), int16[:,:] order(C), float32[:,:] order(C),
#                      int32[:,:] order(C), float32[:], float32[:], float32[:], float32[:], float32[:], int32[:],
#                      float32[:], float32[:,:] order(C), float32[:])
def decode_word(start, codes, scales, parts, own, sizes, eps, scale, turns, keys, values, x, y, q, s, t,
           z0, z1, z2, z3, z4, c, row, scores, logits):
    n = x.shape[0]
    #omp parallel num_threads(n)
    if start.shape[0] > 0:
        k = omp.get_thread_num()
        thread(start, codes, scales, parts, own, sizes, eps, scale, turns, keys, values, x[k], y[k], q[k], s[k], t[k],
               z0, z1, z2, z3, z4, c, row, scores, logits)
