"""A decoder that takes a word in one compiled call, on weights that were repacked.

`fl.llm.decoder` is what all of this means, in operations of the library; a test compares the two. What a family's
configuration asks for and this file cannot do is named by `hindrance`; such a model takes its words as
`fl.llm.step` does."""
import threading
from hashlib import sha256
from pathlib import Path
import numpy as np
from .. import kernels
from ..kernels import discovery, kernel
from ..ops.blocks import BlockTensor
from ..quant import REPACKABLE, Shelf, cache_folder, inside, keep, mapped, lanes_dot, lanes_dot_exact, repack
from ..tensor import Tensor

SMALL = 1 << 20     # bytes of codes: a model that one thread reads sooner than two would meet


def hindrance(model):
    "Why a model is read the other way, in a few words; '' if it need not be."
    c = model.config
    usual = dict(norm='rms', act='swiglu', before=True, after=False, parallel=False, places=False, attn_cap=0,
                 residual_scale=1, experts=0, sinks=False)
    for name, value in usual.items():
        if getattr(c, name) != value: return f'{name} {getattr(c, name)}'
    if c.qk_norm not in ('', 'head'): return f'qk_norm {c.qk_norm}'
    if set(c.biases.split()) - set('qkv'): return f'biases {c.biases}'
    for n in (c.width, c.hidden, c.heads * c.d, c.kv_heads * c.d):
        if n % 32: return f'{n} numbers are not whole blocks'
    if c.d % 8 or len({len(r.speeds) for r in c.ropes if r is not None}) > 1: return f'heads of {c.d}'
    for w in (m.weight for m in maps_in(model)):
        if not isinstance(w, BlockTensor) or w.dtype not in REPACKABLE: return f'weights in {w.dtype}'
    return ''


def quick(model):
    "A model's Quick, or None where the kernel is missing or the model is another one than it takes."
    if 'decode_word' not in discovery.active() or hindrance(model): return None
    return Quick(model, model.source if model.loaded is not None and model.loaded.holds() else None)


def maps_in(model):
    for b in model.blocks:
        for m in (*(getattr(b.attention, n) for n in 'qkvo'), b.feed.up, b.feed.gate, b.feed.down):
            if m is not None: yield m
    yield model.head


def row_of(w, i):
    "Row i of a table as f32."
    if isinstance(w, Tensor): return w.data[i].astype('f4')
    return w.dtype.floats(np.ascontiguousarray(w.blocks[i])).reshape(-1)


def scaled(c, y):
    "Logits as the configuration wants them: times a number, kept below a cap."
    if c.logit_scale != 1: y = y * np.float32(c.logit_scale)
    return np.tanh(y / np.float32(c.logit_cap)) * np.float32(c.logit_cap) if c.logit_cap else y


# the weights, repacked

class Layout:
    "Where everything is: two arrays, and whole numbers that point into them."
    def __init__(self, codes, scales, parts, own, last):
        self.codes, self.scales, self.parts, self.own, self.last = codes, scales, parts, own, last

    def arrays(self): return dict(vars(self))


def merged(maps):
    "Weights of the same format, one below the other, as one."
    first = maps[0].weight
    if any(m.weight.dtype != first.dtype for m in maps): return None
    blocks = np.concatenate([np.asarray(m.weight.blocks).reshape(m.weight.shape[0], -1) for m in maps])
    return BlockTensor(blocks, first.dtype, first.tags)


def laid(store, maps):
    "The parts of a product with all of `maps`, one row each; empty ones where several became one."
    whole = merged(maps)
    if whole is not None: return [store.weight(repack(whole))] + [np.zeros(8, np.int64)] * (len(maps) - 1)
    parts, at = [], 0
    for m in maps:
        parts.append(store.weight(repack(m.weight), at))
        at += m.weight.shape[0]
    return parts


def arranged(model):
    c, store, parts, own = model.config, Shelf(), [], []
    floats = lambda t: -1 if t is None else store.floats(t.to('f32').data)
    ropes = {r: i for i, r in enumerate(dict.fromkeys(r for r in c.ropes if r is not None))}
    for i, b in enumerate(model.blocks):
        a, f = b.attention, b.feed
        parts += laid(store, [a.q, a.k, a.v]) + laid(store, [a.o]) + laid(store, [f.gate, f.up]) + laid(store, [f.down])
        norms = [b.norm1.weight, b.norm2.weight, a.q_norm and a.q_norm.weight, a.k_norm and a.k_norm.weight]
        own.append([*map(floats, norms), *(floats(m.bias) for m in (a.q, a.k, a.v)), ropes.get(c.ropes[i], -1), 0, 0])
    parts += laid(store, [model.head])
    last = np.array([floats(model.norm.weight)])
    return Layout(*store.joined(), np.array(parts, np.int64), np.array(own, np.int64), last)


def layout_of(model, source):
    "The plan from its file beside the user's caches, made and kept if it is not there."
    if source is None: return arranged(model)
    source = Path(source)
    path = cache_folder() / f'{source.stem}-{sha256(str(source.resolve()).encode()).hexdigest()[:12]}'
    found = mapped(path, source)
    names = {'codes', 'scales', 'parts', 'own', 'last'}
    if found and set(found) == names and is_of(model, found): return Layout(**found)
    made = arranged(model)
    keep(path, source, made.arrays())
    return made


def is_of(model, found):
    "Whether a plan has this model's layers, and points into its own arrays."
    c, p, own, kv = model.config, found['parts'], found['own'], model.config.kv_heads * model.config.d
    long = np.array([c.width, c.width, c.d, c.d, c.heads * c.d, kv, kv])      # what `arranged` puts into `own`
    return len(own) == c.layers and len(p) == 7 * c.layers + 1 and p[-1, 1] * 32 >= c.vocab and \
        inside(found['codes'], found['scales'], p) and \
        max((own[:, :7] + long)[own[:, :7] >= 0].max(), found['last'].max() + c.width) <= len(found['scales'])


# one word

def rms_normed(x, w, eps):
    size = np.mean(x * x, -1, dtype=np.float32, keepdims=True)
    return x * (np.float32(1) / np.sqrt(size + eps)) * w

def with_turns(x, turn, pairs):
    "The heads of a word with their first pairs turned."
    a, b, (c, s) = x[:, :pairs].copy(), x[:, pairs:2 * pairs].copy(), turn.reshape(2, -1)
    x[:, :pairs], x[:, pairs:2 * pairs] = a * c - b * s, b * c + a * s


@kernel(floor=0, inplace=(24, 9, 10))
def decode_word(start, codes, scales, parts, own, sizes, eps, scale, turns, keys, values, x, y, q, s, t,
           z0, z1, z2, z3, z4, c, row, scores, logits):
    """One word through all layers: its keys and values join the caches, `logits` is written.

    x to z4, c, row and scores are room that the compiled double needs."""
    width, hidden, heads, kv, d, pairs, exact, last, _ = map(int, sizes)
    x, eps = start.copy(), np.float32(eps)
    product = lambda first, n, v: (lanes_dot_exact if exact else lanes_dot)(codes, scales, parts[first:first + n], v)
    floats = lambda at, n: scales[at:at + n]
    for i, o in enumerate(own):
        z = product(7 * i, 3, rms_normed(x, floats(o[0], width), eps))[:(heads + 2 * kv) * d].reshape(-1, d)
        head_by_head(z, o, floats, heads, kv, d, eps, turns, pairs)
        keys[i][o[9]], values[i][o[9]] = z[heads:heads + kv], z[heads + kv:]
        k, v = keys[i][o[8]:o[9] + 1], values[i][o[8]:o[9] + 1]
        p = np.einsum('hgd,thd->hgt', z[:heads].reshape(kv, -1, d), k) * np.float32(scale)
        p = np.exp(p - p.max(2, keepdims=True))
        mixed = np.einsum('hgt,thd->hgd', p, v) / p.sum(2, keepdims=True)
        x = x + product(7 * i + 3, 1, mixed.reshape(-1))[:width]
        z = product(7 * i + 4, 2, rms_normed(x, floats(o[1], width), eps))
        a, b = z[:hidden], z[hidden:2 * hidden]
        x = x + product(7 * i + 6, 1, a / (1 + np.exp(-a)) * b)[:width]
    logits[:] = product(7 * len(own), 1, rms_normed(x, floats(last, width), eps))


def head_by_head(z, o, floats, heads, kv, d, eps, turns, pairs):
    "Biases, norms and turns of the heads of queries, keys and values, where they are."
    n = heads + kv
    for i, (lo, hi) in enumerate(((0, heads), (heads, n), (n, n + kv))):
        if o[4 + i] >= 0: z[lo:hi] += floats(o[4 + i], (hi - lo) * d).reshape(-1, d)
        if i < 2 and o[2 + i] >= 0: z[lo:hi] = rms_normed(z[lo:hi], floats(o[2 + i], d), eps)
    if o[7] >= 0: with_turns(z[:n], turns[o[7]], pairs)


ONE = threading.Lock()      # a word at a time: it takes all threads, and memory that is kept

class Quick:
    "model(ids, cache=cache, last=True) for one id, in one call."

    def __init__(self, model, source=None):
        c = model.config
        p = self.plan = layout_of(model, source)
        pairs = next((len(r.speeds) for r in c.ropes if r is not None), 0)
        exact = {m.weight.activation == 'f32' for m in maps_in(model)} == {True}
        self.ropes = list(dict.fromkeys(r for r in c.ropes if r is not None))
        self.long, self.wide = max(c.width, c.hidden, (c.heads + 2 * c.kv_heads) * c.d), 32 * int(p.parts[:, 1].max())
        self.sizes = np.array([c.width, c.hidden, c.heads, c.kv_heads, c.d, pairs, exact, p.last[0], self.long])
        self.eps, self.scale, self.own = np.float32(c.eps), np.float32(c.scale or c.d**-.5), p.own.copy()
        self.rooms, self.scores = {}, np.empty((c.heads, 0), np.float32)

    def room(self, c, n):
        "Memory for n threads, kept: that of each, and what they share."
        if n not in self.rooms:
            m = self.long
            each = (c.width, 'f4'), (m, 'f4'), (m, 'i2'), (m // 32, 'f4'), (m // 32, 'i4')
            sizes = (c.heads + 2 * c.kv_heads) * c.d, c.heads * c.d, c.width, 2 * c.hidden, c.width
            shared = [(k, 'f4') for k in sizes] + [(self.wide, 'i4'), (self.wide, 'f4')]
            self.rooms = {n: [*(np.empty((n, k), kind) for k, kind in each), *(np.empty(*one) for one in shared)]}
        return self.rooms[n]

    def turns(self, model, cache):
        "Cosines and sines of the next word, a row for each rope."
        rows = [np.concatenate(model.speeds(r, len(cache), cache.far)) for r in self.ropes]
        return np.array(rows, np.float32).reshape(len(rows), -1) if rows else np.zeros((1, 2), np.float32)

    def __call__(self, model, word, cache):
        "The logits behind the next word, which joins the cache."
        with ONE: return self.say(model, word, cache)

    def say(self, model, word, cache):
        c, p, n, layers = model.config, self.plan, len(cache) + 1, cache.layers
        for layer, o in zip(layers, self.own):
            layer.make_room(1)
            o[9] = layer.end - layer.start
            o[8] = max(0, o[9] - layer.window + 1) if layer.window else 0
        if self.scores.shape[1] < n: self.scores = np.empty((c.heads, 2 * n), np.float32)
        x, logits = row_of(model.embed, word), np.empty(32 * int(p.parts[-1, 1]), np.float32)
        if c.embed_scale != 1: x = x * np.float32(c.embed_scale)
        decode_word(x, p.codes, p.scales, p.parts, self.own, self.sizes, self.eps, self.scale, self.turns(model, cache),
               [l.k for l in layers], [l.v for l in layers],
               *self.room(c, 1 if len(p.codes) < SMALL else kernels.get_num_threads()), self.scores, logits)
        for layer in layers: layer.end += 1
        cache.ids.append(word)
        return scaled(c, logits[:c.vocab])
