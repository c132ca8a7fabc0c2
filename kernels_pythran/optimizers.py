"""One step of an optimizer: every piece of every parameter is a task, and passes through memory once.

A list holds the parameters; what is remembered of them all stands in one array. Numbers are of the type of the values.
"""
import numpy as np
from ._spans import squares

PIECE = 16384


#pythran export squares_of_(float64[], float32[] list, int64[:,:] order(C))
def squares_of_(sums, arrays, tasks):
    n = tasks.shape[0]
    #omp parallel for if(n > 2)
    for t in range(n):
        x = arrays[tasks[t, 0]]
        lo = tasks[t, 1]
        sums[t] = squares(x[lo:min(x.shape[0], lo + PIECE)], 0.)


def _scale(x, by):
    for j in range(x.shape[0]):
        x[j] *= by

#pythran export scale_of_(float32[], float32[] list, int64[:,:] order(C))
#pythran export scale_of_(float64[], float64[] list, int64[:,:] order(C))
def scale_of_(by, arrays, tasks):
    n = tasks.shape[0]
    v = by[0]
    #omp parallel for if(n > 2) firstprivate(v)
    for t in range(n):
        x = arrays[tasks[t, 0]]
        lo = tasks[t, 1]
        _scale(x[lo:min(x.shape[0], lo + PIECE)], v)


def _is_bad(g):
    "Whether a value is NaN or infinite: the difference from itself is NaN. (Sums of whole numbers are vectorised.)"
    c = np.int32(0)
    for j in range(g.shape[0]):
        c += np.int32(g[j] - g[j] != 0)
    return c > 0


def _adam(p, g, m, v, row):
    keep = row[0]
    fresh = row[2]
    fresh2 = row[3]
    step = row[4]
    inv = row[5]
    eps = row[6]
    for j in range(p.shape[0]):
        d = g[j]
        a = m[j] + fresh * (d - m[j])
        b = v[j] + fresh2 * (d * d - v[j])
        m[j] = a
        v[j] = b
        p[j] = p[j] * keep - step * (a / (np.sqrt(b) * inv + eps))

def _adam_decayed(p, g, m, v, row):
    coupled = row[1]
    fresh = row[2]
    fresh2 = row[3]
    step = row[4]
    inv = row[5]
    eps = row[6]
    for j in range(p.shape[0]):
        d = g[j] + coupled * p[j]
        a = m[j] + fresh * (d - m[j])
        b = v[j] + fresh2 * (d * d - v[j])
        m[j] = a
        v[j] = b
        p[j] = p[j] - step * (a / (np.sqrt(b) * inv + eps))

#pythran export adam_(float32[], float32[], float32[] list, float32[] list, int64[:,:] order(C), float32[:,:] order(C))
#pythran export adam_(float64[], float64[], float64[] list, float64[] list, int64[:,:] order(C), float64[:,:] order(C))
def adam_(m, v, params, grads, tasks, table):
    n = tasks.shape[0]
    #omp parallel for if(n > 2)
    for t in range(n):
        k = tasks[t, 0]
        lo = tasks[t, 1]
        hi = min(params[k].shape[0], lo + PIECE)
        a = tasks[t, 2]
        b = a + hi - lo
        r = tasks[t, 3]
        if tasks[t, 4] == 0 and _is_bad(grads[k][lo:hi]):
            tasks[t, 4] = 1
        elif table[r, 1] == 0:
            _adam(params[k][lo:hi], grads[k][lo:hi], m[a:b], v[a:b], table[r])
        else:
            _adam_decayed(params[k][lo:hi], grads[k][lo:hi], m[a:b], v[a:b], table[r])


def _plain(p, g, row):
    lr = row[0]
    coupled = row[1]
    for j in range(p.shape[0]):
        p[j] = p[j] - lr * (g[j] + coupled * p[j])

def _heavy(p, g, u, row):
    lr = row[0]
    coupled = row[1]
    mu = row[2]
    fresh = row[3]
    for j in range(p.shape[0]):
        d = mu * u[j] + fresh * (g[j] + coupled * p[j])
        u[j] = d
        p[j] = p[j] - lr * d

def _ahead(p, g, u, row):
    lr = row[0]
    coupled = row[1]
    mu = row[2]
    fresh = row[3]
    ahead = row[4]
    for j in range(p.shape[0]):
        d = g[j] + coupled * p[j]
        e = mu * u[j] + fresh * d
        u[j] = e
        p[j] = p[j] - lr * (d + ahead * e)

#pythran export sgd_(float32[], float32[] list, float32[] list, int64[:,:] order(C), float32[:,:] order(C))
#pythran export sgd_(float64[], float64[] list, float64[] list, int64[:,:] order(C), float64[:,:] order(C))
def sgd_(velocity, params, grads, tasks, table):
    n = tasks.shape[0]
    #omp parallel for if(n > 2)
    for t in range(n):
        k = tasks[t, 0]
        lo = tasks[t, 1]
        hi = min(params[k].shape[0], lo + PIECE)
        a = tasks[t, 2]
        b = a + hi - lo
        r = tasks[t, 3]
        if tasks[t, 4] == 0 and _is_bad(grads[k][lo:hi]):
            tasks[t, 4] = 1
        elif table[r, 2] == 0 and table[r, 3] == 0:
            _plain(params[k][lo:hi], grads[k][lo:hi], table[r])
        elif table[r, 4] == 0:
            _heavy(params[k][lo:hi], grads[k][lo:hi], velocity[a:b], table[r])
        else:
            _ahead(params[k][lo:hi], grads[k][lo:hi], velocity[a:b], table[r])
