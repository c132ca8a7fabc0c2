"""What a word needs besides products: norms, turns, gates, and a look at the words before it. One text's numbers at a
time, in the same order whether it is alone or beside others."""
import numpy as np
from ._rounding import ZERO

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

def gated(a, b, y):
    for j in range(y.shape[0]): y[j] = -a[j]
    y[:] = np.exp(y)
    for j in range(y.shape[0]): y[j] = a[j] / (ONE + y[j]) * b[j]

def mixed(y, p, v, n):
    for j in range(n): y[j] += p * v[j]

def mixed_4(y, p0, p1, p2, p3, v0, v1, v2, v3, n):
    "Each product is added by itself: a compiler that fuses the two has one way to do it."
    for j in range(n):
        a = y[j] + p0 * v0[j]
        a = a + p1 * v1[j]
        a = a + p2 * v2[j]
        y[j] = a + p3 * v3[j]

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

def headed(x, norms, own, heads, kv, d, eps, turns, pairs):
    "Biases, norms of the heads, turns."
    for i in range(3):
        if own[4 + i] >= 0:
            size = heads * d if i == 0 else kv * d
            a = 0 if i == 0 else heads * d if i == 1 else (heads + kv) * d
            plus(x[a:a + size], norms[own[4 + i]:own[4 + i] + size], size)
    for h in range(heads + kv):
        a = own[2] if h < heads else own[3]
        if a >= 0: normed(x[h * d:h * d + d], norms[a:a + d], eps, x[h * d:h * d + d])
        if own[7] >= 0: turned(x[h * d:h * d + d], turns[own[7]], pairs)
