"""A decoder that takes a word in one compiled call, on weights that were repacked.

`fl.llm.decoder` is what all of this means, in operations of the library; a test compares the two. What a family's
configuration asks for and this file cannot do is named by `hindrance`; such a model takes its words as
`fl.llm.step` does."""
import threading
from hashlib import sha256
from pathlib import Path
import numpy as np
from .. import kernels
from ..formats import q8_0
from ..kernels import discovery, kernel
from ..kernels.choices import chosen
from ..ops.blocks import BlockTensor
from ..quant import REPACKABLE, Shelf, cache_folder, inside, keep, mapped, lanes_dot, lanes_dot_exact, repack
from ..tensor import Tensor



def hindrance(model):
    "Why a model is read the other way, in a few words; '' if it need not be."
    c = model.config
    usual = dict(norm='rms', act='swiglu', before=True, after=False, parallel=False, places=False, attn_cap=0,
                 residual_scale=1, experts=0, sinks=False, convs=(), latent=0, deltas=(), gated=False,
                 sources=(), v_norm=False, aside=0, layer_scales=False, norm_parts=1, own=((),) * c.layers)
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


def table_rows(w, at):
    "Rows of a table as f32."
    if isinstance(w, Tensor): return w.data[at].astype('f4', copy=False)
    b = w.blocks[at]
    return w.dtype.floats(b.reshape(-1, b.shape[-1])).reshape(len(b), -1)


def scaled(c, y):
    "Logits as the configuration wants them: times a number, kept below a cap."
    if c.logit_scale != 1: y = y * np.float32(c.logit_scale)
    return np.tanh(y / np.float32(c.logit_cap)) * np.float32(c.logit_cap) if c.logit_cap else y


# the weights, repacked

class Layout:
    "Where the weights are: two arrays, and whole numbers that point into them."
    def __init__(self, codes, scales, parts): self.codes, self.scales, self.parts = codes, scales, parts
    def arrays(self): return dict(vars(self))


def merged(maps):
    "Weights of the same format, one below the other, as one."
    first = maps[0].weight
    if len(maps) == 1: return first
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
    store, parts, release = Shelf(), [], getattr(model, 'release', lambda: None)
    for b in model.blocks:
        a, f = b.attention, b.feed
        parts += laid(store, [a.q, a.k, a.v]) + laid(store, [a.o]) + laid(store, [f.gate, f.up]) + laid(store, [f.down])
        release()
    parts += laid(store, [model.head])
    release()
    return Layout(*store.joined(), np.array(parts, np.int64))


def layout_of(model, source):
    "The plan from its file beside the user's caches, made and kept if it is not there."
    if source is None: return arranged(model)
    source = Path(source)
    whose = sha256(f'{source.resolve()}{model.rounded}'.encode()).hexdigest()[:12]
    path = cache_folder() / f'{source.stem}-{whose}'
    found = layout_in(path, source, model)
    if found: return found
    made = arranged(model)
    keep(path, source, made.arrays())
    return layout_in(path, source, model) or made      # in the file's memory, of which the system has as much as it can


def layout_in(path, source, model):
    "The layout in a file, None if it is not there or another model's."
    found = mapped(path, source)
    if found and set(found) == {'codes', 'scales', 'parts'} and is_of(model, found): return Layout(**found)


def is_of(model, found):
    "Whether a plan has this model's layers, and points into its own arrays."
    c, p = model.config, found['parts']
    return len(p) == 7 * c.layers + 1 and p[-1, 1] * 32 >= c.vocab and inside(found['codes'], found['scales'], p)


class Small:
    "Norms and biases, side by side, and where those of each layer begin: they are looked at anew for each word."
    def __init__(self, model):
        self.tensors, self.size = [], 0
        ropes = ropes_of(model.config)
        rows = [self.of_layer(b) + [ropes.index(r) if r is not None else -1, 0, 0]
                for b, r in zip(model.blocks, model.config.ropes)]
        self.own, self.last = np.array(rows, np.int64), self.place(model.norm.weight)
        self.numbers = np.empty(self.size, np.float32)

    def of_layer(self, b):
        a = b.attention
        norms = [b.norm1.weight, b.norm2.weight, a.q_norm and a.q_norm.weight, a.k_norm and a.k_norm.weight]
        return [self.place(t) for t in (*norms, a.q.bias, a.k.bias, a.v.bias)]

    def place(self, t):
        if t is None: return -1
        self.tensors.append(t)
        self.size += t.numel
        return self.size - t.numel

    def now(self):
        np.concatenate([t.data for t in self.tensors], out=self.numbers, casting='same_kind')
        return self.numbers


def ropes_of(c): return list(dict.fromkeys(r for r in c.ropes if r is not None))


# one word

def rms_normed(x, w, eps):
    size = np.mean(x * x, -1, dtype=np.float32, keepdims=True)
    return x * (np.float32(1) / np.sqrt(size + eps)) * w

def with_turns(x, turn, pairs):
    "The heads of a word with their first pairs turned."
    a, b, (c, s) = x[:, :pairs].copy(), x[:, pairs:2 * pairs].copy(), turn.reshape(2, -1)
    x[:, :pairs], x[:, pairs:2 * pairs] = a * c - b * s, b * c + a * s


@kernel(floor=0, inplace=(30, 10, 11, 12, 13))
def decode_word(start, codes, scales, norms, parts, own, sizes, eps, scale, turns, keys, values, bytes_k, bytes_v, k, v,
                x, y, q, s, t, w, z0, z1, z2, z3, z4, c, row, scores, logits):
    """One word through all layers: its keys and values join the caches, `logits` is written.

    k, v and x to scores are room that the compiled double needs."""
    width, hidden, heads, kv, d, pairs, exact, last, kind = map(int, sizes)
    x, eps = start.copy(), np.float32(eps)
    product = lambda first, n, v: (lanes_dot_exact if exact else lanes_dot)(codes, scales, parts[first:first + n], v)
    floats = lambda at, n: norms[at:at + n]
    for i, o in enumerate(own):
        z = product(7 * i, 3, rms_normed(x, floats(o[0], width), eps))[:(heads + 2 * kv) * d].reshape(-1, d)
        head_by_head(z, o, floats, heads, kv, d, eps, turns, pairs)
        seen = []
        for a, (plain, packed) in zip(np.split(z[heads:], 2), ((keys, bytes_k), (values, bytes_v))):
            held = packed[i] if kind else plain[i]
            held[o[9]] = as_bytes(a, kind) if kind else a
            seen.append(from_bytes(held[o[8]:o[9] + 1], kind) if kind else held[o[8]:o[9] + 1])
        p = np.einsum('hgd,thd->hgt', z[:heads].reshape(kv, -1, d), seen[0]) * np.float32(scale)
        p = np.exp(p - p.max(2, keepdims=True))
        mixed = np.einsum('hgt,thd->hgd', p, seen[1]) / p.sum(2, keepdims=True)
        x = x + product(7 * i + 3, 1, mixed.reshape(-1))[:width]
        z = product(7 * i + 4, 2, rms_normed(x, floats(o[1], width), eps))
        a, b = z[:hidden], z[hidden:2 * hidden]
        x = x + product(7 * i + 6, 1, a / (1 + np.exp(-a)) * b)[:width]
    logits[:] = product(7 * len(own), 1, rms_normed(x, floats(last, width), eps))


KINDS = 'f32', 'f16', 'q8_0'        # of caches: numbers, and two that are bytes

def as_bytes(a, kind):
    "Keys of a word (heads, d) as a cache keeps them."
    return (a.astype('<f2').view(np.uint8) if kind == 1 else q8_0.write(a.reshape(-1, 32))).reshape(len(a), -1)

def from_bytes(b, kind):
    if kind == 1: return b.view('<f2').astype(np.float32)
    return q8_0.floats(b.reshape(-1, q8_0.bytes)).reshape(*b.shape[:2], -1)


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
        p, self.small = layout_of(model, source), Small(model)
        self.plan, self.ropes = p, ropes_of(c)
        pairs = next((len(r.speeds) for r in self.ropes), 0)
        exact = {m.weight.activation == 'f32' for m in maps_in(model)} == {True}
        self.long, self.wide = max(c.width, c.hidden, (c.heads + 2 * c.kv_heads) * c.d), 32 * int(p.parts[:, 1].max())
        self.sizes = np.array([c.width, c.hidden, c.heads, c.kv_heads, c.d, pairs, exact, self.small.last, 0])
        self.eps, self.scale, self.own = np.float32(c.eps), np.float32(c.scale or c.d**-.5), self.small.own
        self.rooms, self.scores, self.seen = {}, np.empty((c.heads, 0), np.float32), None

    def room(self, c, n):
        "Memory for n threads, kept: that of each, and what they share."
        if n not in self.rooms:
            m = self.long
            each = (c.width, 'f4'), (m, 'f4'), (m, 'i2'), (m // 32, 'f4'), (m // 32, 'i4'), (2 * c.d, 'u1')
            sizes = (c.heads + 2 * c.kv_heads) * c.d, c.heads * c.d, c.width, 2 * c.hidden, c.width
            shared = [(k, 'f4') for k in sizes] + [(self.wide, 'i4'), (self.wide, 'f4')]
            self.rooms = {n: [*(np.empty((n, k), kind) for k, kind in each), *(np.empty(*one) for one in shared)]}
        return self.rooms[n]

    def memory(self, c, cache):
        "The caches of all layers as numbers and as bytes, of which one is empty, and room for what bytes say."
        n, kind = len(cache) + 1, int(self.sizes[8])
        if self.scores.shape[1] < n: self.scores = np.empty((c.heads, 2 * n), np.float32)
        if self.seen is None or kind and self.seen.shape[1] < n:
            self.seen = np.empty((2, 2 * n * bool(kind), c.kv_heads, c.d), np.float32)
        held = [[l.k for l in cache.layers], [l.v for l in cache.layers]]
        if not kind: return (*held, *[[np.empty((0, 0, 0), np.uint8)] * c.layers] * 2, *self.seen)
        held = [[a.view(np.uint8).reshape(*a.shape[:2], -1) for a in part] for part in held]
        return (*[[np.empty((0, 0, 0), np.float32)] * c.layers] * 2, *held, *self.seen)

    def turns(self, model, cache):
        "Cosines and sines of the next word, a row for each rope."
        n = len(cache)
        rows = [np.concatenate(model.speeds(r, n, n + 1, cache.far), 1) for r in self.ropes]
        return np.concatenate(rows, dtype=np.float32) if rows else np.zeros((1, 2), np.float32)

    def __call__(self, model, word, cache):
        "The logits behind the next word, which joins the cache."
        with ONE: return self.say(model, word, cache)

    def say(self, model, word, cache):
        c, p, layers = model.config, self.plan, cache.layers
        for layer, o in zip(layers, self.own):
            layer.make_room(1)
            o[9] = layer.end - layer.start
            o[8] = max(0, o[9] - layer.window + 1) if layer.window else 0
        self.sizes[8] = KINDS.index(cache.dtype)
        x, logits = table_rows(model.embed, [word])[0], np.empty(32 * int(p.parts[-1, 1]), np.float32)
        if c.embed_scale != 1: x = x * np.float32(c.embed_scale)
        threads = 1 if len(p.codes) < chosen.one_reader else kernels.get_num_threads()
        decode_word(x, p.codes, p.scales, self.small.now(), p.parts, self.own, self.sizes, self.eps, self.scale,
                    self.turns(model, cache), *self.memory(c, cache),
                    *self.room(c, threads), self.scores, logits)
        for layer in layers: layer.end += 1
        cache.ids.append(word)
        return scaled(c, logits[:c.vocab])

    def head(self, c, x):
        "The logits of one row behind the last norm."
        p = self.plan
        y = (lanes_dot_exact if self.sizes[6] else lanes_dot)(p.codes, p.scales, p.parts[-1:], x)
        return scaled(c, y[:c.vocab])
