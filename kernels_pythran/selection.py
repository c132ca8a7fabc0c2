"""The largest entries of each row, and keys that sort like numbers."""
import numpy as np

BLOCK = 128    # entries that are looked at together: where none beats the last of the best, all are passed over


def _beating(x, least):
    "How many entries are above `least`; NaN never is."
    count = 0
    for j in range(x.shape[0]):
        count += 1 if x[j] > least else 0
    return count

def _enter(x, lo, hi, k, v, at):
    for i in range(lo, hi):
        a = x[i]
        if a > v[k - 1]:
            j = k - 1
            while j > 0 and v[j - 1] < a:
                v[j] = v[j - 1]
                at[j] = at[j - 1]
                j -= 1
            v[j] = a
            at[j] = i

def _best(x, k, v, at):
    """Keep a sorted list of the k best so far; an entry enters only if it beats the last of them,
    so NaN and -inf never do."""
    for j in range(k):
        v[j] = np.float32(-np.inf)
        at[j] = 0
    n = x.shape[0]
    for lo in range(0, n, BLOCK):
        hi = min(n, lo + BLOCK)
        if _beating(x[lo:hi], v[k - 1]) > 0: _enter(x, lo, hi, k, v, at)

#pythran export topk_last(float32[:,:] order(C), int, float32[:,:] order(C), int64[:,:] order(C))
def topk_last(x, k, v, at):
    rows, n = x.shape
    shared = rows * n if rows > 1 else 0
    #omp parallel for firstprivate(k) if(shared > 32768)
    for r in range(rows):
        _best(x[r], k, v[r], at[r])


def _keys(bits, sign, key):
    for j in range(bits.shape[0]):
        b = np.int64(bits[j])
        size = b & 0x7fffffff
        s = -sign * size if b < 0 else sign * size
        key[j] = ((0x7fffffff if size > 0x7f800000 else s) << 32) | j

#pythran export sort_keys(int32[:,:] order(C), int, int64[:,:] order(C))
def sort_keys(bits, down, key):
    rows, n = bits.shape
    sign = 1 - 2 * down
    shared = rows * n if rows > 1 else 0
    #omp parallel for firstprivate(sign) if(shared > 65536)
    for r in range(rows):
        _keys(bits[r], sign, key[r])
