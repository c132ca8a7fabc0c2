"""Byte pair encoding: pieces merged."""
import numpy as np
from ._pairs import slot

NONE = 1 << 62
LOW = 0xffffffff
SHORT = 96      # symbols up to which looking through all pairs is faster than a heap


def _value(keys, values, a, b):
    s = slot(keys, np.int64(a), np.int64(b))
    return values[s] if keys[s] != -1 else NONE

def _short(out, lo, n, keys, values, found):
    "Merge n symbols from lo on; returns how many are left."
    for i in range(n - 1): found[i] = _value(keys, values, out[lo + i], out[lo + i + 1])
    while n > 1:
        best, at = NONE, -1
        for i in range(n - 1):
            if found[i] < best:
                best = found[i]
                at = i
        if at < 0: break
        out[lo + at] = best & LOW
        for i in range(at + 1, n - 1): out[lo + i] = out[lo + i + 1]
        for i in range(at + 1, n - 2): found[i] = found[i + 1]
        n -= 1
        if at > 0: found[at - 1] = _value(keys, values, out[lo + at - 1], out[lo + at])
        if at < n - 1: found[at] = _value(keys, values, out[lo + at], out[lo + at + 1])
    return n


def _sift_up(heap, i):
    while i > 0 and heap[i] < heap[(i - 1) >> 1]:
        up = (i - 1) >> 1
        kept = heap[i]
        heap[i] = heap[up]
        heap[up] = kept
        i = up

def _sift_down(heap, n):
    i = 0
    while 2 * i + 1 < n:
        low = 2 * i + 1
        if low + 1 < n and heap[low + 1] < heap[low]: low += 1
        if heap[i] <= heap[low]: break
        kept = heap[i]
        heap[i] = heap[low]
        heap[low] = kept
        i = low

def _offer(heap, size, keys, values, a, b, at):
    "Put a pair that merges into the heap, as rank and place; returns the heap's size."
    v = _value(keys, values, a, b)
    if v == NONE: return size
    heap[size] = (v >> 32 << 32) | at
    _sift_up(heap, size)
    return size + 1

def _long(out, lo, n, keys, values):
    "As _short, with a heap: a piece of a million letters takes a second and not a day."
    left, right = np.arange(-1, n - 1), np.arange(1, n + 1)
    heap = np.empty(3 * n, np.int64)
    size = 0
    for i in range(n - 1): size = _offer(heap, size, keys, values, out[lo + i], out[lo + i + 1], i)
    while size > 0:
        top = heap[0]
        size -= 1
        heap[0] = heap[size]
        _sift_down(heap, size)
        i = top & LOW
        j = right[i]
        if out[lo + i] < 0 or j >= n: continue
        v = _value(keys, values, out[lo + i], out[lo + j])
        if v == NONE or v >> 32 != top >> 32: continue
        out[lo + i] = v & LOW
        out[lo + j] = -1
        right[i] = right[j]
        if right[i] < n:
            left[right[i]] = i
            size = _offer(heap, size, keys, values, out[lo + i], out[lo + right[i]], i)
        if left[i] >= 0: size = _offer(heap, size, keys, values, out[lo + left[i]], out[lo + i], left[i])
    k = 0
    for i in range(n):
        if out[lo + i] >= 0:
            out[lo + k] = out[lo + i]
            k += 1
    return k

#pythran export merge_pieces(int32[:], int64[:], int64[:], int64[:], int32[:], int64[:])
def merge_pieces(ids, ends, keys, values, out, left):
    found = np.empty(SHORT, np.int64)
    start = 0
    for i in range(ids.shape[0]): out[i] = ids[i]
    for p in range(ends.shape[0]):
        n = ends[p] - start
        k = _short(out, start, n, keys, values, found) if n <= SHORT else _long(out, start, n, keys, values)
        for i in range(start + k, start + n): out[i] = -1
        left[p] = k
        start = ends[p]
    for i in range(start, ids.shape[0]): out[i] = -1
