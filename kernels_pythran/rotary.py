"""Pairs of features turned by an angle, row by row; the rows of `cos` and `sin` come again and again.

Both halves are read through one array: g++ then needs fewer checks that nothing overlaps.
Products are rounded before they are added, as NumPy does, so that a row has the same bits whether
it comes alone or among many."""
# compile with: -ffp-contract=off


def _turn(x, c, s, sign, y):
    h = c.shape[0]
    for j in range(h):
        y[j] = x[j] * c[j] - x[h + j] * (s[j] * sign)
    for j in range(h):
        y[h + j] = x[h + j] * c[j] + x[j] * (s[j] * sign)

def _halves(x, c, s, sign, y):
    h, d = c.shape[0], x.shape[1]
    for i in range(x.shape[0]):
        _turn(x[i], c, s, sign, y[i])
        if 2 * h < d: y[i, 2 * h:d] = x[i, 2 * h:d]

#pythran export rope_half(float32[:,:,:] order(C), float32[:,:] order(C), float32[:,:] order(C),
#                         float32, float32[:,:,:] order(C))
def rope_half(x, cos, sin, sign, y):
    rows, inner, d = x.shape
    n = cos.shape[0]
    #omp parallel for firstprivate(n, sign) if(rows * inner * d > 65536)
    for r in range(rows):
        p = r - r // n * n
        _halves(x[r], cos[p], sin[p], sign, y[r])


def _turn_pairs(x, c, s, sign, y):
    for j in range(c.shape[0]):
        a, b, q = x[2 * j], x[2 * j + 1], s[j] * sign
        y[2 * j] = a * c[j] - b * q
        y[2 * j + 1] = b * c[j] + a * q

def _pairs(x, c, s, lo, sign, y):
    hi, d = lo + 2 * c.shape[0], x.shape[1]
    for i in range(x.shape[0]):
        if lo > 0: y[i, :lo] = x[i, :lo]
        _turn_pairs(x[i, lo:hi], c, s, sign, y[i, lo:hi])
        if hi < d: y[i, hi:d] = x[i, hi:d]

#pythran export rope_pairs(float32[:,:,:] order(C), float32[:,:] order(C), float32[:,:] order(C),
#                          int, float32, float32[:,:,:] order(C))
def rope_pairs(x, cos, sin, lo, sign, y):
    rows, inner, d = x.shape
    n = cos.shape[0]
    #omp parallel for firstprivate(n, lo, sign) if(rows * inner * d > 65536)
    for r in range(rows):
        p = r - r // n * n
        _pairs(x[r], cos[p], sin[p], lo, sign, y[r])
