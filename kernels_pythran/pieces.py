"""Text to pieces: neighbours merged by rank, and the best way through a text. Both look up pairs
of whole numbers in a table of two columns, key and value, with open addresses."""
import numpy as np

NONE = 0x7fffffff << 32     # the value of a pair that may stand together and never merges
GONE = -2                   # what stands where a symbol went into the one before it
SHORT = 40                  # up to so many symbols the best pair is sought by looking at all
CHUNK = 4096


def _find(table, left, right):
    "The value of a pair, or -1."
    last = table.shape[0] - 1
    key = (left << 32) | right
    at = left * 0x9E3779B1 + right * 0x85EBCA6B
    at = (at ^ (at >> 17)) & last
    while table[at, 0] >= 0:
        if table[at, 0] == key: return table[at, 1]
        at = (at + 1) & last
    return -1

def _pair(table, left, right):
    "The value of a pair of symbols of which one may be unknown."
    if left < 0 or right < 0: return -1
    return _find(table, np.int64(left), np.int64(right))

def _again(out, table, values, i, j, hi):
    "The value of the pair at i and j, where a symbol is new."
    v = _pair(table, out[i], out[j]) if j < hi else NONE
    values[i] = v if v >= 0 else NONE

def _merge_short(out, table, values, lo, hi):
    "Merge the symbols lo to hi, few; values become those of pairs that are left."
    while True:
        best, at, i = np.int64(NONE), -1, lo
        while i < hi:
            if values[i] >> 32 < best >> 32:
                best = values[i]
                at = i
            i += 1
        if at < 0: return
        j = at + 1
        while out[j] == GONE: j += 1
        out[at] = best & 0x7fffffff
        out[j] = GONE
        values[j] = NONE
        j += 1
        while j < hi and out[j] == GONE: j += 1
        _again(out, table, values, at, j, hi)
        i = at - 1
        while i >= lo and out[i] == GONE: i -= 1
        if i >= lo: _again(out, table, values, i, at, hi)

def _push(heap, size, key):
    i = size
    while i > 0 and heap[(i - 1) >> 1] > key:
        heap[i] = heap[(i - 1) >> 1]
        i = (i - 1) >> 1
    heap[i] = key

def _pop(heap, size):
    "Take the first of a heap of `size` keys away."
    key = heap[size - 1]
    i, n = 0, size - 1
    while 2 * i + 1 < n:
        c = 2 * i + 1
        if c + 1 < n and heap[c + 1] < heap[c]: c += 1
        if heap[c] >= key: break
        heap[i] = heap[c]
        i = c
    heap[i] = key

def _merge_long(out, table, values, lo, hi):
    "The same by a heap of rank and place."
    n = hi - lo
    after, before = np.empty(n, np.int64), np.empty(n, np.int64)
    heap, size = np.empty(3 * n + 2, np.int64), 0
    for i in range(n):
        after[i] = i + 1
        before[i] = i - 1
        if values[lo + i] < NONE:
            _push(heap, size, (values[lo + i] >> 32 << 32) | i)
            size += 1
    while size > 0:
        key = heap[0]
        _pop(heap, size)
        size -= 1
        i = key & 0xffffffff
        v = values[lo + i]
        if v >> 32 != key >> 32: continue        # it is another pair by now
        j = after[i]
        k = after[j]
        out[lo + i] = v & 0x7fffffff
        out[lo + j] = GONE
        values[lo + j] = NONE
        after[i] = k
        if k < n: before[k] = i
        _again(out, table, values, lo + i, lo + k, hi)
        if values[lo + i] < NONE:
            _push(heap, size, (values[lo + i] >> 32 << 32) | i)
            size += 1
        b = before[i]
        if b >= 0:
            _again(out, table, values, lo + b, lo + i, hi)
            if values[lo + b] < NONE:
                _push(heap, size, (values[lo + b] >> 32 << 32) | b)
                size += 1

def _pair_values(ids, table, values, out, lo, hi):
    n = ids.shape[0]
    for i in range(lo, hi):
        out[i] = ids[i]
        values[i] = _pair(table, ids[i], ids[i + 1]) if i + 1 < n else -1

def _merge_parts(out, table, values, ends, lo, hi):
    "Merge within each part of a text that begins in lo to hi; where a pair has no value, a part ends."
    n = out.shape[0]
    i = lo
    while i < hi and i > 0 and not ends[i - 1]: i += 1
    while i < hi:
        j = i
        while not ends[j]: j += 1
        values[j] = NONE
        if j >= i + SHORT: _merge_long(out, table, values, i, j + 1)
        elif j > i: _merge_short(out, table, values, i, j + 1)
        i = j + 1

#pythran export merge_pairs(int32[], int64[:,:] order(C), int32[])
def merge_pairs(ids, table, out):
    n = ids.shape[0]
    values = np.empty(n, np.int64)
    pieces = (n + CHUNK - 1) // CHUNK
    #omp parallel for if(n > 16384)
    for c in range(pieces):
        _pair_values(ids, table, values, out, c * CHUNK, min(n, (c + 1) * CHUNK))
    ends = values < 0
    #omp parallel for schedule(dynamic) if(n > 16384)
    for c in range(pieces):
        _merge_parts(out, table, values, ends, c * CHUNK, min(n, (c + 1) * CHUNK))


#pythran export best_pieces(int32[], int64[:,:] order(C), float32[], float32, int32[])
#pythran export best_pieces(int32[], int64[:,:] order(C), float64[], float64, int32[])
def best_pieces(chars, table, scores, unknown, out):
    n = chars.shape[0]
    best = np.full(n + 1, -np.inf, scores.dtype)
    start, piece = np.zeros(n + 1, np.int64), np.full(n + 1, -1, np.int64)
    best[0] = 0
    for i in range(n):
        node, single = np.int64(0), False
        j = i
        while j < n and chars[j] >= 0:
            v = _find(table, node, np.int64(chars[j]))
            if v < 0: break
            node = v >> 32
            p = (v & 0x7fffffff) - 1
            j += 1
            if p >= 0:
                s = best[i] + scores[p]
                if s > best[j]:
                    best[j] = s
                    start[j] = i
                    piece[j] = p
                if j == i + 1: single = True
        if not single and best[i] + unknown > best[i + 1]:
            best[i + 1] = best[i] + unknown
            start[i + 1] = i
            piece[i + 1] = -1
        if chars[i] < 0: best[i + 1] = 0
    out[:] = GONE
    i = n
    while i > 0:
        out[start[i]] = piece[i]
        i = start[i]
