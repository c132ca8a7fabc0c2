"""Convolutions of images (n, h, w c) without a matrix of windows, in groups; w is (groups, taps c/groups, o).

A task is a group of channels of an image and a block of its windows. What they see is laid out first, with zeros
beyond the image, in blocks of 16 channels: (block, row, column, 16). Of few channels the windows themselves are laid
out so, as if they were pixels under a window of one. Weights stand in panels of 32 outputs, a last one perhaps of 16.

Products keep 6 rows of 32 columns in registers over a whole sum, or 12 rows of 16: 16 columns are one vector of
AVX-512 or two of AVX2, as g++ finds best when it builds, and 12 sums fit either's registers. It vectorises the loop
over columns around the sum only where strides are literal. `& M` says that an index is positive; `n` is one less than
the numbers of a sum.

What a task is, stands in a row of a table that fucinalib/kernels/correlation.py makes; `how` is for NumPy. Worked out
here, its numbers take the compiler minutes."""
import numpy as np
from ._loops import rest

ZERO = np.float32(0)
M = 0x3fffffff


def _six(a, o0, o1, o2, o3, o4, o5, b, at, c, to, n):
    "c[to:] += 6 rows of a, numbers one after the other, times 32 columns of b."
    #omp simd
    for j in range(16):
        s0 = ZERO
        s1 = ZERO
        s2 = ZERO
        s3 = ZERO
        s4 = ZERO
        s5 = ZERO
        t0 = ZERO
        t1 = ZERO
        t2 = ZERO
        t3 = ZERO
        t4 = ZERO
        t5 = ZERO
        for p in range((n & 65535) + 1):
            v = b[(at & M) + p * 32 + j]
            u = b[(at & M) + p * 32 + 16 + j]
            s0 += a[(o0 & M) + p] * v
            t0 += a[(o0 & M) + p] * u
            s1 += a[(o1 & M) + p] * v
            t1 += a[(o1 & M) + p] * u
            s2 += a[(o2 & M) + p] * v
            t2 += a[(o2 & M) + p] * u
            s3 += a[(o3 & M) + p] * v
            t3 += a[(o3 & M) + p] * u
            s4 += a[(o4 & M) + p] * v
            t4 += a[(o4 & M) + p] * u
            s5 += a[(o5 & M) + p] * v
            t5 += a[(o5 & M) + p] * u
        c[(to & M) + 0 + j] += s0
        c[(to & M) + 16 + j] += t0
        c[(to & M) + 32 + j] += s1
        c[(to & M) + 48 + j] += t1
        c[(to & M) + 64 + j] += s2
        c[(to & M) + 80 + j] += t2
        c[(to & M) + 96 + j] += s3
        c[(to & M) + 112 + j] += t3
        c[(to & M) + 128 + j] += s4
        c[(to & M) + 144 + j] += t4
        c[(to & M) + 160 + j] += s5
        c[(to & M) + 176 + j] += t5

def _twelve(a, o0, o1, o2, o3, o4, o5, o6, o7, o8, o9, o10, o11, b, at, c, to, n):
    "The same of 12 rows and 16 columns."
    #omp simd
    for j in range(16):
        s0 = ZERO
        s1 = ZERO
        s2 = ZERO
        s3 = ZERO
        s4 = ZERO
        s5 = ZERO
        s6 = ZERO
        s7 = ZERO
        s8 = ZERO
        s9 = ZERO
        s10 = ZERO
        s11 = ZERO
        for p in range((n & 65535) + 1):
            v = b[(at & M) + p * 16 + j]
            s0 += a[(o0 & M) + p] * v
            s1 += a[(o1 & M) + p] * v
            s2 += a[(o2 & M) + p] * v
            s3 += a[(o3 & M) + p] * v
            s4 += a[(o4 & M) + p] * v
            s5 += a[(o5 & M) + p] * v
            s6 += a[(o6 & M) + p] * v
            s7 += a[(o7 & M) + p] * v
            s8 += a[(o8 & M) + p] * v
            s9 += a[(o9 & M) + p] * v
            s10 += a[(o10 & M) + p] * v
            s11 += a[(o11 & M) + p] * v
        c[(to & M) + 0 + j] += s0
        c[(to & M) + 16 + j] += s1
        c[(to & M) + 32 + j] += s2
        c[(to & M) + 48 + j] += s3
        c[(to & M) + 64 + j] += s4
        c[(to & M) + 80 + j] += s5
        c[(to & M) + 96 + j] += s6
        c[(to & M) + 112 + j] += s7
        c[(to & M) + 128 + j] += s8
        c[(to & M) + 144 + j] += s9
        c[(to & M) + 160 + j] += s10
        c[(to & M) + 176 + j] += s11

def _six_apart(a, o0, o1, o2, o3, o4, o5, b, at, c, to, n):
    "_six where the numbers of a row are 16 apart."
    #omp simd
    for j in range(16):
        s0 = ZERO
        s1 = ZERO
        s2 = ZERO
        s3 = ZERO
        s4 = ZERO
        s5 = ZERO
        t0 = ZERO
        t1 = ZERO
        t2 = ZERO
        t3 = ZERO
        t4 = ZERO
        t5 = ZERO
        for p in range((n & 65535) + 1):
            v = b[(at & M) + p * 32 + j]
            u = b[(at & M) + p * 32 + 16 + j]
            s0 += a[(o0 & M) + p * 16] * v
            t0 += a[(o0 & M) + p * 16] * u
            s1 += a[(o1 & M) + p * 16] * v
            t1 += a[(o1 & M) + p * 16] * u
            s2 += a[(o2 & M) + p * 16] * v
            t2 += a[(o2 & M) + p * 16] * u
            s3 += a[(o3 & M) + p * 16] * v
            t3 += a[(o3 & M) + p * 16] * u
            s4 += a[(o4 & M) + p * 16] * v
            t4 += a[(o4 & M) + p * 16] * u
            s5 += a[(o5 & M) + p * 16] * v
            t5 += a[(o5 & M) + p * 16] * u
        c[(to & M) + 0 + j] += s0
        c[(to & M) + 16 + j] += t0
        c[(to & M) + 32 + j] += s1
        c[(to & M) + 48 + j] += t1
        c[(to & M) + 64 + j] += s2
        c[(to & M) + 80 + j] += t2
        c[(to & M) + 96 + j] += s3
        c[(to & M) + 112 + j] += t3
        c[(to & M) + 128 + j] += s4
        c[(to & M) + 144 + j] += t4
        c[(to & M) + 160 + j] += s5
        c[(to & M) + 176 + j] += t5

def _twelve_apart(a, o0, o1, o2, o3, o4, o5, o6, o7, o8, o9, o10, o11, b, at, c, to, n):
    "_twelve where the numbers of a row are 16 apart."
    #omp simd
    for j in range(16):
        s0 = ZERO
        s1 = ZERO
        s2 = ZERO
        s3 = ZERO
        s4 = ZERO
        s5 = ZERO
        s6 = ZERO
        s7 = ZERO
        s8 = ZERO
        s9 = ZERO
        s10 = ZERO
        s11 = ZERO
        for p in range((n & 65535) + 1):
            v = b[(at & M) + p * 16 + j]
            s0 += a[(o0 & M) + p * 16] * v
            s1 += a[(o1 & M) + p * 16] * v
            s2 += a[(o2 & M) + p * 16] * v
            s3 += a[(o3 & M) + p * 16] * v
            s4 += a[(o4 & M) + p * 16] * v
            s5 += a[(o5 & M) + p * 16] * v
            s6 += a[(o6 & M) + p * 16] * v
            s7 += a[(o7 & M) + p * 16] * v
            s8 += a[(o8 & M) + p * 16] * v
            s9 += a[(o9 & M) + p * 16] * v
            s10 += a[(o10 & M) + p * 16] * v
            s11 += a[(o11 & M) + p * 16] * v
        c[(to & M) + 0 + j] += s0
        c[(to & M) + 16 + j] += s1
        c[(to & M) + 32 + j] += s2
        c[(to & M) + 48 + j] += s3
        c[(to & M) + 64 + j] += s4
        c[(to & M) + 80 + j] += s5
        c[(to & M) + 96 + j] += s6
        c[(to & M) + 112 + j] += s7
        c[(to & M) + 128 + j] += s8
        c[(to & M) + 144 + j] += s9
        c[(to & M) + 160 + j] += s10
        c[(to & M) + 176 + j] += s11


# u, a row of the table: channels of a group and of all, the window, windows in a row of y, a cut at 0; the window as it
# is laid out, sums over its taps, the rows of a panel; where the first window begins, what is laid out, results before
EACH = 0
C = 1
KH = 2
KW = 3
SH = 4
SW = 5
DH = 6
DW = 7
OW = 8
RELU = 9
FEW = 10
BLOCKS = 11
TH = 12
TW = 13
TSH = 14
TSW = 15
TDH = 16
TDW = 17
RUN = 18
RUNS = 19
DEEP = 20
DEPTH = 21
TOP = 22
LEFT = 23
ROWS = 24
COLS = 25
DOWN = 26
ACR = 27
AT = 28
OUTS = 29
PADDED = 30


# what a task sees

def _some(x, at, y, to, n):
    "n numbers, 16 at most."
    if n == 16:
        for j in range(16):
            y[(to & M) + j] = x[(at & M) + j]
    else:
        for j in range(n & 15):
            y[(to & M) + j] = x[(at & M) + j]

def _lay_row(x, y, to, at, lo, hi, c, n):
    for q in range(lo, hi):
        _some(x, at + q * c, y, to + q * 16, n)

def _lay(x, y, u, c, first):
    wide = x.shape[1] // c
    lo = max(0, -u[LEFT])
    hi = min(u[ACR], wide - u[LEFT])
    for b in range(u[BLOCKS]):
        n = min(16, u[EACH] - b * 16)
        for r in range(u[DOWN]):
            i = u[TOP] + r
            if i >= 0 and i < x.shape[0]:
                _lay_row(x[i], y, (b * u[DOWN] + r) * u[ACR] * 16, u[LEFT] * c + first + b * 16, lo, hi, c, n)

def _every(x, at, y, to, n, step):
    for q in range(n):
        y[(to & M) + q * 16] = x[(at & M) + q * (step & M)]

def _lay_tap(x, y, to, at, left, n, c, sw):
    "What one tap sees from n windows in a row, the first of them at `left`."
    wide = x.shape[0] // c
    lo = 0 if left >= 0 else min(n, (sw - 1 - left) // sw)
    hi = min(n, (wide - left + sw - 1) // sw) if wide > left else lo
    if hi > lo:
        _every(x, (left + lo * sw) * c + at, y, to + lo * 16, hi - lo, sw * c)

def _lay_windows(x, y, u, first):
    "Windows as pixels."
    for t in range(u[KH] * u[KW]):
        ky = t // u[KW]
        left = u[LEFT] + rest(t, u[KW]) * u[DW]
        for j in range(u[EACH]):
            k = t * u[EACH] + j
            to = k // 16 * u[ROWS] * u[COLS] * 16 + rest(k, 16)
            for r in range(u[ROWS]):
                i = u[TOP] + r * u[SH] + ky * u[DH]
                if i >= 0 and i < x.shape[0]:
                    _lay_tap(x[i], y, to + r * u[COLS] * 16, first + j, left, u[COLS], u[C], u[SW])

def _see(x, u, first):
    "What a task sees of the channels from `first` on."
    y = np.zeros((u[BLOCKS] * u[DOWN] * u[ACR] + 1) * 16, np.float32)       # a product may look beyond the last row
    if u[FEW]:
        _lay_windows(x, y, u, first)
    else:
        _lay(x, y, u, u[C], first)
    return y


# weights in panels: for each 32 outputs all blocks, taps and channels

def panels(o):
    "How many panels of 32 outputs there are, and whether a last one has 16."
    left = o - o // 32 * 32
    return o // 32 + (1 if left > 16 else 0), 1 if left > 0 and left <= 16 else 0

def _pack_row(w, p, to, o, n):
    for j in range(n):
        p[(to & M) + j] = w[(o & M) + j]

def _pack_panel(w, p, to, u, wide, o):
    "The panel of the outputs from o on."
    n = min(wide, w.shape[1] - o)
    deep = w.shape[0] if u[FEW] else u[EACH]
    for b in range(u[BLOCKS]):
        for t in range(u[TH] * u[TW]):
            for i in range(min(16, deep - b * 16)):
                _pack_row(w[t * deep + b * 16 + i], p, to + ((b * u[TH] * u[TW] + t) * 16 + i) * wide, o, n)

def _pack(w, p, u):
    "A matrix in panels."
    wide, narrow = panels(w.shape[1])
    for k in range(wide):
        _pack_panel(w, p, k * u[DEEP] * 32, u, 32, k * 32)
    if narrow:
        _pack_panel(w, p, wide * u[DEEP] * 32, u, 16, wide * 32)


# forward

def _spots(s, u):
    "Where what each window sees begins; the last is repeated until there are twelves."
    n = u[ROWS] * u[COLS]
    for t in range(s.shape[0]):
        k = min(t, n - 1)
        s[t] = (k // u[COLS] * u[TSH] * u[ACR] + rest(k, u[COLS]) * u[TSW]) * 16

def _start(acc, bias, o, wide):
    n = min(wide, bias.shape[0] - o)
    for j in range(wide):
        acc[j] = bias[(o & M) + j] if j < n else ZERO
    for i in range(1, 384 // wide):
        _some(acc, 0, acc, i * wide, 16)
        if wide == 32:
            _some(acc, 16, acc, i * wide + 16, 16)

def _cut(acc, at, n):
    for j in range(n):
        v = acc[(at & M) + j]
        acc[(at & M) + j] = v if not (v <= ZERO) else ZERO

def _end(acc, at, y, to, n):
    for j in range(n):
        y[(to & M) + j] = acc[(at & M) + j]

def _sum(a, s, t, o, p, at, acc, wide, n, more):
    if wide == 32:
        _six(a, s[t] + o, s[t + 1] + o, s[t + 2] + o, s[t + 3] + o, s[t + 4] + o, s[t + 5] + o, p, at, acc, 0, n)
        if more:
            _six(a, s[t + 6] + o, s[t + 7] + o, s[t + 8] + o, s[t + 9] + o, s[t + 10] + o, s[t + 11] + o, p, at, acc,
                 192, n)
    else:
        _twelve(a, s[t] + o, s[t + 1] + o, s[t + 2] + o, s[t + 3] + o, s[t + 4] + o, s[t + 5] + o, s[t + 6] + o,
                s[t + 7] + o, s[t + 8] + o, s[t + 9] + o, s[t + 10] + o, s[t + 11] + o, p, at, acc, 0, n)

def _sums(a, s, t, p, at, acc, wide, more, u):
    "Twelve windows times a panel."
    for b in range(u[BLOCKS]):
        for ky in range(u[TH]):
            for kx in range(u[RUNS]):
                o = ((b * u[DOWN] + ky * u[TDH]) * u[ACR] + kx * u[TDW]) * 16
                _sum(a, s, t, o, p, at, acc, wide, u[RUN] - 1, more)
                at += u[RUN] * wide

def _panel(a, s, acc, p, first, wide, o, bias, y, u, to, outs):
    "All windows of a task times a panel; `to` is the place of the first window's results."
    n = min(wide, bias.shape[0] - o)
    count = u[ROWS] * u[COLS]
    for t in range(0, count, 12):
        _start(acc, bias, o, wide)
        _sums(a, s, t, p, first, acc, wide, count - t > 6, u)
        if u[RELU]:
            _cut(acc, 0, 384)
        for i in range(min(12, count - t)):
            k = t + i
            _end(acc, i * wide, y, to + (k // u[COLS] * u[OW] + rest(k, u[COLS])) * outs, n)

def _task(x, p, bias, y, u, at, g):
    "A task of one image and group; `at` is the place of the first window's results."
    a = _see(x, u, g * u[EACH])
    s = np.empty((u[ROWS] * u[COLS] + 11) // 12 * 12, np.int64)
    _spots(s, u)
    acc = np.empty(384, np.float32)
    wide, narrow = panels(bias.shape[0])
    outs = u[OUTS]
    for k in range(wide):
        _panel(a, s, acc, p, k * u[DEEP] * 32, 32, k * 32, bias, y, u, at + k * 32, outs)
    if narrow:
        _panel(a, s, acc, p, wide * u[DEEP] * 32, 16, wide * 32, bias, y, u, at + wide * 32, outs)

def _of_groups(x, p, bias, y, u, at):
    for g in range(p.shape[0]):
        _task(x, p[g], bias[g], y, u, at + g * bias.shape[1], g)

#pythran export correlate_(float32[], float32[:,:,:] order(C), float32[:,:,:] order(C), float32[:,:] order(C), int64[],
#                          int64[:,:] order(C), int)
def correlate_(y, x, w, bias, how, table, room):
    p = np.zeros((w.shape[0], room), np.float32)
    for k in range(w.shape[0]):
        _pack(w[k], p[k], table[0])
    each = table.shape[0]
    n = x.shape[0] * each
    size = y.shape[0] // x.shape[0]
    #omp parallel for schedule(dynamic) firstprivate(each, size)
    for t in range(n):
        i = t // each
        _of_groups(x[i], p, bias, y, table[rest(t, each)], i * size + table[rest(t, each), AT])


# the gradient of the weights: a unit is what one task is above, a lot is some of them

def _gradients(g, y, u, at, n, wide):
    "The gradients for n outputs as a panel."
    for r in range(u[ROWS]):
        for q in range(u[COLS]):
            _end(g, at + (r * u[OW] + q) * u[OUTS], y, (r * u[COLS] + q) * wide, n)

def _slopes(a, o, run, b, at, part, to, wide, n):
    if wide == 32:
        for k in range(0, run, 6):
            i = o + k
            _six_apart(a, i, i + 1, i + 2, i + 3, i + 4, i + 5, b, at, part, to + k * 32, n)
    else:
        for k in range(0, run, 12):
            i = o + k
            _twelve_apart(a, i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7, i + 8, i + 9, i + 10, i + 11, b, at,
                          part, to + k * 16, n)

def _row_slopes(a, r, b, part, to, wide, u, n):
    "The windows of row r, n and one of them."
    for k in range(u[BLOCKS]):
        for ky in range(u[TH]):
            for kx in range(u[RUNS]):
                o = ((k * u[DOWN] + r * u[TSH] + ky * u[TDH]) * u[ACR] + kx * u[TDW]) * 16
                _slopes(a, o, u[RUN], b, r * u[COLS] * wide, part, to, wide, n)
                to += u[PADDED] * wide

def _unit(x, g, part, u, at, o, first):
    a = _see(x, u, first)
    b = np.zeros(u[ROWS] * u[COLS] * 32, np.float32)
    wide, narrow = panels(o)
    for k in range(wide + narrow):
        w = 32 if k < wide else 16
        _gradients(g, b, u, at + k * 32, min(w, o - k * 32), w)
        if u[FEW]:
            _row_slopes(a, 0, b, part, k * u[DEPTH] * 32, w, u, u[ROWS] * u[COLS] - 1)
        else:
            for r in range(u[ROWS]):
                _row_slopes(a, r, b, part, k * u[DEPTH] * 32, w, u, u[COLS] - 1)

def _lot(x, g, part, table, first, end, q, o):
    each = table.shape[0]
    size = g.shape[0] // x.shape[0]
    for t in range(first, end):
        i = t // each
        k = t - i * each
        _unit(x[i], g, part, table[k], i * size + table[k, AT] + q * o, o, q * table[k, EACH])

def _total(part, at, s, y, o, n):
    "What all lots have at `at`, added up in float64."
    for j in range(n):
        s[j] = 0.
    for l in range(part.shape[0]):
        for j in range(n):
            s[j] += part[l, (at & M) + j]
    for j in range(n):
        y[(o & M) + j] = np.float32(s[j])

def _totals(part, y, k, u, deep):
    "Row k of the weights."
    t = k // deep
    i = rest(k, deep)
    row = i // 16 * u[TH] + t // u[TW]
    kx = rest(t, u[TW])
    at = row * u[PADDED] + kx * 16 if u[RUNS] == 1 else (row * u[TW] + kx) * u[PADDED]
    s = np.empty(32)
    wide, narrow = panels(y.shape[0])
    for p in range(wide + narrow):
        w = 32 if p < wide else 16
        _total(part, p * u[DEPTH] * 32 + (at + rest(i, 16)) * w, s, y, p * 32, min(w, y.shape[0] - p * 32))

#pythran export correlate_weights(float32[], float32[:,:,:] order(C), int64[], int64[:,:] order(C), int, int, int, int,
#                                 int, float32[:,:,:] order(C))
def correlate_weights(g, x, how, table, room, lots, groups, deep, o, y):
    units = x.shape[0] * table.shape[0]
    lot = (units + lots - 1) // lots
    part = np.zeros((groups, lots, room), np.float32)
    #omp parallel for schedule(dynamic) firstprivate(units, lot, lots, o)
    for t in range(groups * lots):
        q = t // lots
        l = rest(t, lots)
        _lot(x, g, part[q, l], table, l * lot, min(units, l * lot + lot), q, o)
    n = groups * deep
    tap = deep if table[0, FEW] else table[0, EACH]
    #omp parallel for firstprivate(deep, tap)
    for t in range(n):
        q = t // deep
        _totals(part[q], y[q, rest(t, deep)], rest(t, deep), table[0], tap)
