"""One step of an LSTM between two products: rows of the batch one after the other, each first the exponentials, then
what is made of them. A row is so short that its numbers stay in cache all the time."""
import numpy as np
from ._curves import minus_twice_abs, sigmoid_of, tanh_of
from ._loops import _minus_abs

ONE = np.float32(1)


def _add(z, u):
    for j in range(u.shape[0]):
        u[j] += z[j]

def _cell(i, f, g, before, after):
    for j in range(after.shape[0]):
        after[j] = f[j] * before[j] + i[j] * g[j]

def _show(o, curved, h):
    for j in range(h.shape[0]):
        h[j] = o[j] * curved[j]

#pythran export lstm_gates_(float32[:,:] order(C), float32[:,:,:] order(C), float32[:,:,:] order(C),
#                           float32[:,:,:,:] order(C), float32[:,:,:] order(C), int)
def lstm_gates_(u, a, curved, states, z, t):
    m = curved.shape[2]
    size = u.shape[0] * u.shape[1]
    #omp parallel for firstprivate(m, t) if(size > 32768)
    for r in range(u.shape[0]):
        _add(z[t, r], u[r])
        _minus_abs(u[r], a[t, r])
        minus_twice_abs(u[r, 2 * m:3 * m], a[t, r, 2 * m:3 * m])
        a[t, r] = np.exp(a[t, r])
        sigmoid_of(u[r, :2 * m], a[t, r, :2 * m])
        tanh_of(u[r, 2 * m:3 * m], a[t, r, 2 * m:3 * m])
        sigmoid_of(u[r, 3 * m:], a[t, r, 3 * m:])
        _cell(a[t, r, :m], a[t, r, m:2 * m], a[t, r, 2 * m:3 * m], states[1, t, r], states[1, t + 1, r])
        minus_twice_abs(states[1, t + 1, r], curved[t, r])
        curved[t, r] = np.exp(curved[t, r])
        tanh_of(states[1, t + 1, r], curved[t, r])
        _show(a[t, r, 3 * m:], curved[t, r], states[0, t + 1, r])


def _back_c(c, h, gh, gc, o, curved):
    for j in range(c.shape[0]):
        c[j] += gc[j] + (h[j] + gh[j]) * (o[j] * (ONE - curved[j] * curved[j]))

def _slope(c, by, a, g):
    for j in range(g.shape[0]):
        g[j] = c[j] * by[j] * (a[j] * (ONE - a[j]))

def _slope_new(c, i, new, g):
    for j in range(g.shape[0]):
        g[j] = c[j] * i[j] * (ONE - new[j] * new[j])

def _slope_shown(h, gh, curved, o, g):
    for j in range(g.shape[0]):
        g[j] = (h[j] + gh[j]) * curved[j] * (o[j] * (ONE - o[j]))

def _times(f, c):
    for j in range(c.shape[0]):
        c[j] *= f[j]

#pythran export lstm_back_(float32[:,:,:] order(C), float32[:,:] order(C), float32[:,:] order(C),
#                          float32[:,:,:,:] order(C), float32[:,:,:] order(C), float32[:,:,:] order(C),
#                          float32[:,:,:,:] order(C), int)
def lstm_back_(gs, c, h, g, a, curved, states, t):
    m = c.shape[1]
    size = c.shape[0] * m * 4
    #omp parallel for firstprivate(m, t) if(size > 32768)
    for r in range(c.shape[0]):
        _back_c(c[r], h[r], g[0, t, r], g[1, t, r], a[t, r, 3 * m:], curved[t, r])
        _slope(c[r], a[t, r, 2 * m:3 * m], a[t, r, :m], gs[t, r, :m])
        _slope(c[r], states[1, t, r], a[t, r, m:2 * m], gs[t, r, m:2 * m])
        _slope_new(c[r], a[t, r, :m], a[t, r, 2 * m:3 * m], gs[t, r, 2 * m:3 * m])
        _slope_shown(h[r], g[0, t, r], curved[t, r], a[t, r, 3 * m:], gs[t, r, 3 * m:])
        _times(a[t, r, m:2 * m], c[r])
