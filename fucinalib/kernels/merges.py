"""Byte pair encoding: pieces merged, and merges learned. Whole numbers throughout; chapter 40 says what they mean.

A table of merges is two arrays: pairs as `left << 32 | right` at the slot that `hashed` gives, -1 where a slot is
free, and beside them `rank << 32 | id of what the pair becomes`."""
import heapq
from collections import Counter, defaultdict
import numpy as np
from .dispatch import kernel

LOW = 0xffffffff

def hashed(a, b, mask):
    "Where the search for a pair begins: whole numbers, or arrays of them."
    h = (a * 1540483477) ^ (b * 668265263)
    return (h ^ (h >> 15)) & mask

def merge_table(a, b, values):
    "The two arrays for pairs, given as arrays without repetition, and their values."
    size = 1 << max(4, int(2 * len(a)).bit_length())
    keys, kept, mask = np.full(size, -1), np.zeros(size, 'i8'), size - 1
    pairs, at = a << 32 | b, hashed(a, b, mask)
    todo = np.arange(len(a))
    while len(todo):
        free = todo[keys[at[todo]] == -1]
        _, first = np.unique(at[free], return_index=True)
        placed = free[first]
        keys[at[placed]], kept[at[placed]] = pairs[placed], values[placed]
        todo = todo[keys[at[todo]] != pairs[todo]]
        at[todo] = (at[todo] + 1) & mask
    return keys, kept

def value_of(keys, values, a, b):
    "The value of a pair, None if it does not merge."
    mask, key = len(keys) - 1, a << 32 | b
    h = hashed(a, b, mask)
    while keys[h] != -1:
        if keys[h] == key: return int(values[h])
        h = (h + 1) & mask

@kernel(floor=32, out=lambda ids, ends, keys, values: [(ids.shape, np.int32), (ends.shape, np.int64)])
def merge_pieces(ids, ends, keys, values):
    """Pieces, one after the other, each merged where it stands: the pair of lowest rank first, the leftmost of equals.
    Returns the symbols, -1 where none is left, and how many each piece has."""
    out, left, start = np.full(ids.shape, -1, 'i4'), np.zeros(ends.shape, 'i8'), 0
    for p, end in enumerate(ends.tolist()):
        symbols = ids[start:end].tolist()
        found = [value_of(keys, values, a, b) for a, b in zip(symbols, symbols[1:])]
        while best := min((v for v in found if v is not None), default=None):
            i = found.index(best)
            symbols[i:i + 2] = [best & LOW]
            around = symbols[max(i - 1, 0):i + 2]
            found[max(i - 1, 0):i + 2] = [value_of(keys, values, a, b) for a, b in zip(around, around[1:])]
        out[start:start + len(symbols)], left[p] = symbols, len(symbols)
        start = end
    return out, left


def train_merges(ids, ends, counts, first, size, least):
    """Merges learned from words, each of symbols below `first` and with a count: the most frequent pair becomes a
    symbol, of equally frequent ones the one with the smallest numbers, until there are `size` new symbols or no pair
    stands `least` times. Returns rows (left, right, what they become), -1 after the last, and how many.

    As in `tokenizers`: what spells a symbol that is there already becomes that one, and a pair that was merged keeps
    its count, to which new occurrences add."""
    merges, m = np.full((2 * size + 64, 3), -1, 'i4'), 0
    words = [ids[a:b].tolist() for a, b in zip([0, *ends.tolist()], ends.tolist())]
    total, queue, texts, text_of = Counter(), [], {}, {}
    text = lambda i: text_of.get(i, (i,))

    def enter(places):
        "Pairs with the words where they stand go into the queue."
        for pair, at in places.items():
            if total[pair] > 0: heapq.heappush(queue, (-total[pair], pair, len(entries))); entries.append(at)

    entries, places = [], defaultdict(dict)
    for w, word in enumerate(words):
        for pair in zip(word, word[1:]):
            total[pair] += int(counts[w])
            places[pair][w] = None
    enter(places)
    while queue and len(texts) < size and m < len(merges):
        negative, pair, entry = heapq.heappop(queue)
        if -negative != total[pair]:
            heapq.heappush(queue, (-total[pair], pair, entry))
            continue
        if -negative < max(least, 1): break
        (a, b), spelt = pair, text(pair[0]) + text(pair[1])
        new = texts.setdefault(spelt, first + len(texts))
        text_of[new] = spelt
        merges[m], m = (a, b, new), m + 1
        places = defaultdict(dict)
        for w in entries[entry]: words[w] = merged(words[w], a, b, new, int(counts[w]), total, places, w)
        enter(places)
    return merges, np.array([m])

def merged(word, a, b, new, by, total, places, w):
    "A word with every such pair as one symbol, its changes noted."
    out, i = [], 0
    while i < len(word):
        if word[i:i + 2] != [a, b]:
            out.append(word[i])
            i += 1
            continue
        for old, pair in (((out[-1], a), (out[-1], new)),) if out else ():
            total[old] -= by; total[pair] += by; places[pair][w] = None
        for old, pair in (((b, word[i + 2]), (new, word[i + 2])),) if i + 2 < len(word) else ():
            total[old] -= by; total[pair] += by; places[pair][w] = None
        out.append(new)
        i += 2
    return out
