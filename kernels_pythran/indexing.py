"""Picking entries by number and putting them back. Lanes run in parallel, the entries of a lane in order: the result is the same on any number of threads."""

WIDE = 64    # columns of a lane that one thread takes


def _add_rows(out, at, update, lo, hi):
    for j in range(at.shape[0]):
        out[at[j], lo:hi] += update[j, lo:hi]

#pythran export index_add_(float32[:,:,:] order(C), int64[:], float32[:,:,:] order(C))
def index_add_(out, at, update):
    outer, inner = out.shape[0], out.shape[2]
    cuts = (inner + WIDE - 1) // WIDE
    #omp parallel for firstprivate(cuts, inner)
    for c in range(outer * cuts):
        o = c // cuts
        lo = (c - o * cuts) * WIDE
        _add_rows(out[o], at, update[o], lo, min(inner, lo + WIDE))


def _take(x, at, out):
    for j in range(at.shape[0]):
        for i in range(at.shape[1]):
            out[j, i] = x[at[j, i], i]

#pythran export take_along(float32[:,:,:] order(C), int64[:,:,:] order(C), float32[:,:,:] order(C))
def take_along(x, at, out):
    outer, n, inner = at.shape
    shared = outer * n * inner if outer > 1 else 0
    #omp parallel for if(shared > 16384)
    for o in range(at.shape[0]):
        _take(x[o], at[o], out[o])


def _scatter_add(out, at, update):
    for j in range(at.shape[0]):
        for i in range(at.shape[1]):
            out[at[j, i], i] += update[j, i]

#pythran export scatter_add_(float32[:,:,:] order(C), int64[:,:,:] order(C), float32[:,:,:] order(C))
def scatter_add_(out, at, update):
    #omp parallel for
    for o in range(at.shape[0]):
        _scatter_add(out[o], at[o], update[o])


def _scatter(out, at, update):
    for j in range(at.shape[0]):
        for i in range(at.shape[1]):
            out[at[j, i], i] = update[j, i]

#pythran export scatter_(float32[:,:,:] order(C), int64[:,:,:] order(C), float32[:,:,:] order(C))
def scatter_(out, at, update):
    #omp parallel for
    for o in range(at.shape[0]):
        _scatter(out[o], at[o], update[o])
