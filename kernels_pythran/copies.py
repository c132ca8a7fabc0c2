"""Copies, and copies into another order. Turned squares fit into the cache nearest to the processor."""
from ._loops import parts, piece, pieces, _copy

SIDE = 32
PIECE = 16384       # of a row


def _repeat(value, y):
    for j in range(y.shape[0]):
        y[j] = value

#pythran export flood_(float32[], float32)
def flood_(y, value):
    n = y.shape[0]
    #omp parallel for firstprivate(value) if(n > 131072)
    for c in pieces(y):
        _repeat(value, y[piece(c, y)])


#pythran export paste_(float32[:,:] order(C), float32[:,:] order(C), int, int, int)
def paste_(y, a, to, first, n):
    k = parts(n, PIECE)
    #omp parallel for firstprivate(to, first, n, k)
    for t in range(y.shape[0] * k):
        i = t // k
        lo = (t - i * k) * PIECE
        hi = min(n, lo + PIECE)
        _copy(a[i, first + lo:first + hi], y[i, to + lo:to + hi])


def _square(a, out, i0, i1, j0, j1):
    for j in range(j0, j1):
        for i in range(i0, i1):
            out[j, i] = a[i, j]


def _strip(a, out, j0, j1):
    r = a.shape[0]
    for i0 in range(0, r, SIDE):
        _square(a, out, i0, min(r, i0 + SIDE), j0, j1)


#pythran export turn(float32[:,:,:] order(C), float32[:,:,:] order(C))
def turn(a, out):
    b, r, c = a.shape
    strips = (c + SIDE - 1) // SIDE
    #omp parallel for
    for k in range(b * strips):
        m = k // strips
        j = (k - m * strips) * SIDE
        _strip(a[m], out[m], j, min(c, j + SIDE))


#pythran export flip_last(float32[:,:] order(C), float32[:,:] order(C))
def flip_last(a, out):
    m, n = a.shape
    #omp parallel for if(m * n > 65536)
    for i in range(m):
        out[i] = a[i][::-1]
