"""The next words of several texts at once: their weights are read once for all.

Each text gets, bit for bit, what it would get alone: `fl.llm.quick` says what that is."""
import numpy as np
from .. import kernels
from ..autograd import no_grad
from ..kernels import discovery, kernel, table
from ..kernels.choices import chosen
from .quick import ONE, scaled, table_rows
from .step import stepping

__all__ = ['next_logits']


def next_logits(model,   # of `load`, or any that keeps its contract
                ids,     # the next word of each text
                caches,  # what was read of each; the words join them
               ):
    "Logits (texts, vocab) of the words that follow; None, and nothing is done, where each has to go by itself."
    if 'decode_words' not in discovery.active() or not hasattr(model, 'goes_on'): return None
    with no_grad(): fast = stepping(model, caches[0])
    if not fast or not fast.quick: return None
    fits = all(c.dtype == 'f32' and len(c) < c.capacity and model.goes_on(c, 1) for c in caches)
    return say_all(fast.quick, model, ids, caches) if fits else None


@kernel(floor=0, inplace=(31, 10, 11))
def decode_words(start, codes, scales, norms, parts, own, sizes, eps, scale, turns, keys, values, places, x, y, q, s, t,
                 xs, qs, ss, ts, z0, z1, z2, z3, f, e, c, tile, scores, logits):
    """The next words of several texts: keys and values join the caches, `logits` is written.

    x to scores are room that the compiled double needs."""
    layers, none = len(own), np.empty((0, 0, 0), np.uint8)
    for r, word in enumerate(start):
        mine = own.copy()
        mine[:, 8:10] = places[r]
        held = slice(r * layers, (r + 1) * layers)
        table['decode_word'].twin(word, codes, scales, norms, parts, mine, sizes, eps, scale, turns[r], keys[held],
                                  values[held], [none] * layers, [none] * layers, *[None] * 16, logits[r])


class Room:
    "Memory for n texts and some threads, kept from word to word."

    def __init__(self, quick, c, n, threads):
        m, heads = quick.long, (c.heads + 2 * c.kv_heads) * c.d
        row, block = [lambda k, kind='f4', rows=rows: np.empty((rows, k), kind) for rows in (n, m // 32)]
        product = lambda k: row(k + -k % 32)
        self.key, self.long = (n, threads), 0
        self.rows = [row(c.width), row(m), row(m, 'i2'), row(m // 32), row(m // 32, 'i4')]
        self.blocks = [block(32 * n), block(32 * n, 'i2'), block(n), block(n, 'i4')]
        self.products = [product(heads), row(c.heads * c.d), product(c.width), product(2 * c.hidden)]
        each = (1056, 'f4'), (1024, 'i2'), (32, 'i4'), (32 * n, 'f4')
        self.threads = [np.empty((threads, k), kind) for k, kind in each]
        self.logits = row(32 * int(quick.plan.parts[-1, 1]))

    def scores(self, heads, n):
        if n > self.long: self.long, self.looks = 2 * n, np.empty((self.key[0] * heads, 2 * n), np.float32)
        return self.looks


def room_for(quick, c, n):
    "The room that was used last, if it fits."
    key = n, 1 if len(quick.plan.codes) < chosen.one_reader else kernels.get_num_threads()
    if getattr(quick, 'shared', None) is None or quick.shared.key != key: quick.shared = Room(quick, c, *key)
    return quick.shared


def places_in(caches, own):
    "Of each text and layer, the first word that is seen and the place of the next one, which is made."
    found = np.empty((len(caches), len(own), 2), np.int64)
    for row, cache in zip(found, caches):
        for place, layer in zip(row, cache.layers):
            layer.make_room(1)
            place[1] = layer.end - layer.start
            place[0] = max(0, place[1] - layer.window + 1) if layer.window else 0
    return found


def say_all(quick, model, ids, caches):
    "The logits behind the next words, which join their caches."
    c, p, layers = model.config, quick.plan, [l for cache in caches for l in cache.layers]
    for cache in caches: cache.settle()
    with ONE:
        room, places = room_for(quick, c, len(ids)), places_in(caches, quick.own)
        x = table_rows(model.embed, np.array(ids))
        if c.embed_scale != 1: x = x * np.float32(c.embed_scale)
        turns = np.stack([quick.turns(model, cache) for cache in caches])
        scores = room.scores(c.heads, max(map(len, caches)) + 1)
        sizes = quick.sizes.copy()
        sizes[8] = 0
        decode_words(x, p.codes, p.scales, quick.small.now(), p.parts, quick.own, sizes, quick.eps, quick.scale, turns,
                     [l.k for l in layers], [l.v for l in layers], places, *room.rows, *room.blocks, *room.products,
                     *room.threads, scores, room.logits)
        for layer in layers: layer.end += 1
        for cache, i in zip(caches, ids): cache.ids.append(int(i))
        return scaled(c, room.logits[:len(ids), :c.vocab]).copy()
