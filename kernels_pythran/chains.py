"""Several functions of single numbers one after the other, in pieces that stay in cache: what lies between two of them
never goes to memory. Each is a loop of its own and each result a float32, so the bits are those of separate calls."""
# compile with: -ffp-contract=off
import numpy as np

ZERO = np.float32(0)


def _fill(b, y):
    "y = b, b, b ..: y has a whole number of them."
    k = b.shape[0]
    for lo in range(0, y.shape[0], k):
        for j in range(k):
            y[lo + j] = b[j]

def _apply(code, x, b, y):
    n = y.shape[0]
    if code == 0:
        for j in range(n):
            y[j] = x[j] + b[j]
    elif code == 1:
        for j in range(n):
            y[j] = x[j] - b[j]
    elif code == 2:
        for j in range(n):
            y[j] = b[j] - x[j]
    elif code == 3:
        for j in range(n):
            y[j] = x[j] * b[j]
    elif code == 4:
        for j in range(n):
            y[j] = np.float32(x[j] / b[j])
    elif code == 5:
        for j in range(n):
            y[j] = np.float32(b[j] / x[j])
    elif code == 6:
        for j in range(n):
            y[j] = ZERO if x[j] <= 0 else x[j]
    else:
        for j in range(n):
            y[j] = x[j] if b[j] > 0 else ZERO

#pythran export chain(float32[], int64[], float32[] list, int, float32[])
def chain(x, codes, others, m, y):
    n = y.shape[0]
    k = codes.shape[0]
    tiles = np.empty((k, m), np.float32)
    for s in range(k):
        if others[s].shape[0] < n and codes[s] != 6:
            _fill(others[s], tiles[s])
    #omp parallel for firstprivate(n, k, m) if(n > 32768)
    for c in range((n + m - 1) // m):
        lo = c * m
        hi = min(n, lo + m)
        for s in range(k):
            if others[s].shape[0] < n:
                _apply(codes[s], x[lo:hi] if s == 0 else y[lo:hi], tiles[s, :hi - lo], y[lo:hi])
            else:
                _apply(codes[s], x[lo:hi] if s == 0 else y[lo:hi], others[s][lo:hi], y[lo:hi])
