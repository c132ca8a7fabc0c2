"""The largest entries of each row, in order."""
import numpy as np


def _best(x, k, v, at):
    "Keep a sorted list of the k best so far; an entry enters only if it beats the last of them, so NaN and -inf never do."
    for j in range(k):
        v[j] = np.float32(-np.inf)
        at[j] = 0
    for i in range(x.shape[0]):
        a = x[i]
        if a > v[k - 1]:
            j = k - 1
            while j > 0 and v[j - 1] < a:
                v[j] = v[j - 1]
                at[j] = at[j - 1]
                j -= 1
            v[j] = a
            at[j] = i

#pythran export topk_last(float32[:,:] order(C), int, float32[:,:] order(C), int64[:,:] order(C))
def topk_last(x, k, v, at):
    #omp parallel for firstprivate(k)
    for r in range(x.shape[0]):
        _best(x[r], k, v[r], at[r])
