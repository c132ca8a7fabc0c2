"""Words through a decoder on plain arrays, without the wrapper of operations: a prompt, or one word.

The meaning is that of the blocks in chapter 44, which a test compares; anybody who watches layers or operations, or
wants gradients, gets those. What is needed is looked up once, when a model reads into a cache for the first time;
weights that were exchanged since are looked up again."""
from contextlib import nullcontext
from functools import partial
import numpy as np
from .. import kernels
from ..autograd import is_grad_enabled
from ..block_arithmetic import activated, multiply, tiled_products
from ..hooks import watching
from ..kernels.choices import chosen
from ..nn.module import Module
from ..ops.blocks import BlockTensor
from ..ops.mixture import matrix_of, times_matrix
from ..tensor import Tensor, wrap
from .quick import quick, table_rows, scaled

__all__ = ['Plain', 'stepping', 'ONE_BY_ONE']

OWN = {f'{__package__}.{n}' for n in ('decoder', 'lookback', 'beside')}      # where the parts are made
ONE_BY_ONE = 8      # words that a Quick reads sooner than weights are unpacked, and as it would have said them


def stepping(model, cache):
    """The Plain of a model, or None where the readable path has to be taken: somebody watches or learns, there is no
    cache, or a part is of another kind than chapter 44 makes."""
    if cache is None or model.fast is False or watching: return None
    if model.fast is None or not model.fast.looked.holds():
        if any(type(m).__module__ not in OWN for m in model.modules()): return None
        model.fast = Plain(model)
    return None if is_grad_enabled() and model.fast.looked.learns() else model.fast


class Looked:
    "What a model was made of when its weights were looked up."

    def __init__(self, model):
        self.places, self.lists, self.arrays = [], [], []
        self.note(model)

    def note(self, module):
        for name, part in vars(module).items():
            if isinstance(part, list): self.lists.append((part, [*part]))
            for p in part if isinstance(part, list) else [part]:
                if not isinstance(p, (Module, Tensor, BlockTensor)): continue
                self.places.append((vars(module), name, part))
                if isinstance(p, Tensor): self.arrays.append((p, p.data))
                if isinstance(p, Module): self.note(p)

    def holds(self):
        "Whether all is still in its place, with the same numbers behind it."
        return all(at.get(name) is part for at, name, part in self.places) and \
            all(now == then for now, then in self.lists) and all(t.data is a for t, a in self.arrays)

    def learns(self):
        "Whether a weight wants a gradient, which would not come."
        return any(t.requires_grad for t, _ in self.arrays)


class Maps:
    "x to its products with several weights, made at once."

    def __init__(self, *maps):
        self.weights = [weight_of(m.weight, m.over) for m in maps]
        self.rounds = [getattr(m.weight, 'activation', 'f32') for m in maps]
        self.biases = [m.bias for m in maps]

    def __call__(self, x):
        if all(f is None and w.dtype == np.float32 for f, w in self.weights) and len(x) == 1:
            ys = [np.dot(x, w.T) for _, w in self.weights]
        elif len(set(self.rounds)) == 1 and (self.rounds[0] == 'f32' or len(x) > chosen.blocks):
            ys = tiled_products(activated(x, self.rounds[0]), self.weights)
        else: ys = [multiply(*w, x, how) for w, how in zip(self.weights, self.rounds)]
        for y, b in zip(ys, self.biases):
            if b is not None: y += b.data
        return ys


def weight_of(w, over):
    "A weight as `tiled_products` takes it: format or None, and an array of rows."
    if isinstance(w, BlockTensor): return w.dtype, w.blocks.reshape(w.shape[0], -1)
    return None, w.data.T if w.tags[0] == over else w.data


def norm_of(n):
    "A norm as a function of rows."
    if n is None: return lambda x: x
    w, b, eps = n.weight, n.bias, np.float64(n.eps)
    if b is not None: return lambda x: kernels.layer_norm(x, w.data, b.data, eps)[0]
    if n.parts > 1: return lambda x: n(wrap(x, ('seq', *w.tags))).data
    return lambda x: kernels.rms_norm_weighted(x.reshape(-1, w.data.size), w.data, eps)[0].reshape(x.shape)


def as_shares(s, sinks=None):
    "Shares of scores, where a sink takes one too and gives nothing."
    top = s.max(-1, keepdims=True)
    if sinks is not None: top = np.maximum(top, sinks)
    s -= top
    np.exp(s, out=s)
    return s / (s.sum(-1, keepdims=True) + (0 if sinks is None else np.exp(sinks - top)))


# ---- feed-forwards

def through(f):
    "A feed-forward, or a mixture of them, as a function of rows."
    if hasattr(f, 'router'): return through_chosen(f)
    if hasattr(f, 'many'): return lambda x: f(wrap(x, ('seq', 'embed'))).data
    up, down = Maps(f.up) if f.gate is None else Maps(f.up, f.gate), Maps(f.down)
    bend = getattr(kernels, f.act if f.act != 'gelu_erf' else 'gelu')
    return lambda x: down(bend(*up(x)))[0]


def through_chosen(f):
    "Likewise, through a few experts: no other's weights are read. Several rows go the way of chapter 25b."
    router, shared, share = Maps(f.router), f.shared and through(f.shared), f.share and Maps(f.share)
    bend, streamed = ROW_BENDS[f.act], hasattr(f.up, 'acquire')

    def alone(x, e):
        gate, up = [own_product(w, b, e, x) for w, b in ((f.gate, f.gate_bias), (f.up, f.up_bias))]
        return own_product(f.down, f.down_bias, e, bend(up, gate))

    def mixed(x):
        if len(x) > 1: return f(wrap(x, ('seq', 'embed'))).data
        scores = router(x)[0][0]
        preferred = f.up.prefer(scores, f.chosen) if streamed else None
        if f.shift is None: selected, weights = routed(scores, f.chosen, f.over_all, preferred)
        else: selected, weights = [a.data[0] for a in f.shifted(wrap(scores[None], ('seq', 'expert')))]
        if streamed: f.up.look_ahead(x[0], f.chosen)
        y, pairs, most = 0, list(zip(selected, weights)), f.up.at_once if streamed else f.chosen
        for i in range(0, len(pairs), most):
            with f.up.acquire(selected[i:i + most]) if streamed else nullcontext():
                for e, w in pairs[i:i + most]: y = y + alone(x, e) * w
        if shared is None: return y
        return y + shared(x) * (1 if share is None else sigmoid(share(x)[0]))
    return mixed


def own_product(w, bias, e, x):
    "Rows times the matrix of expert e, and its bias."
    y = times_matrix(x, matrix_of(w, e))
    return y if bias is None else y + bias.data[e].astype('f4', copy=False)


def routed(scores, k, over_all, chosen=None):
    "The k best experts of a row, ties to the lower, or those chosen already; and how much each says."
    if chosen is None: chosen = np.argsort(-scores, kind='stable')[:k].tolist()
    e = np.exp(scores - scores.max())
    return chosen, e[chosen] / (e if over_all else e[chosen]).sum()


def sigmoid(x):
    "1 / (1 + exp(-x)), which is 0 where exp is too large for f32."
    with np.errstate(over='ignore'): return 1 / (1 + np.exp(-x))


def steep(up, gate):
    "GPT-OSS's gate: both are kept within 7, and a gate opens 1.702 times as fast."
    gate = np.minimum(gate, np.float32(7))
    return (np.clip(up, -7, 7) + 1) * gate * sigmoid(np.float32(1.702) * gate)


def clamped(up, gate):
    "swiglu of what is kept within 10."
    return kernels.swiglu(np.clip(up, -10, 10), np.minimum(gate, np.float32(10)))


ROW_BENDS = dict(swiglu=kernels.swiglu, geglu=kernels.geglu, swiglu_oai=steep, swiglu_clamp10=clamped)


class Plain:
    "model(ids, cache=cache, last=last) as an array."

    def __init__(self, model):
        self.layers = [Layer(b) for b in model.blocks]
        self.norm, self.head, self.quick = norm_of(model.norm), Maps(model.head), quick(model)
        self.looked = Looked(model)

    def __call__(self, model, ids, cache, last):
        if self.quick and len(ids) <= ONE_BY_ONE and model.goes_on(cache, len(ids)):
            rows = [self.quick(model, int(i), cache) for i in ids]
            return rows[-1] if last else np.stack(rows)
        y = self.norm(model.read(ids, cache, last, partial(self.stream, model)).data)
        if self.quick and hasattr(model, 'release'): model.release()      # steps do not look into the file
        if last and self.quick: return self.quick.head(model.config, y[0])
        return scaled(model.config, self.head(y)[0])[0 if last else slice(None)]

    def stream(self, model, ids, cache, far):
        "model.stream on plain arrays."
        c, start, x = model.config, len(cache), table_rows(model.embed, ids)
        n = start + len(ids)
        if c.embed_scale != 1: x *= np.float32(c.embed_scale)
        if c.places: x += table_rows(model.places, slice(start, n))
        rows = None
        if model.rows is not None:
            found = wrap(table_rows(model.rows.table, ids), ('seq', 'aside'))
            rows = model.rows(wrap(x, ('seq', 'embed')), found)
        for i, layer in enumerate(self.layers):
            row = None if rows is None else rows.select(layer=i)
            x = layer(x, model.speeds(c.ropes[i], start, n, far), cache.layers[i], row)
        cache.ids += ids.tolist()
        return wrap(x, ('seq', 'embed'))


def looks_plainly(a):
    "Whether attention is that of Llama: maps for queries, keys and values, and nothing behind them."
    return hasattr(a, 'headed') and a.q_gate is None and a.v_eps is None and None not in (a.k, a.v)


def closed_by(block):
    "What closes a block, as a function of the stream and a row for this layer."
    if block.aside is None and block.layer_scale is None: return lambda x, row: x
    return lambda x, row: block.closed(wrap(x, ('seq', 'embed')), row).data


class Layer:
    "A block, as functions of rows."

    def __init__(self, block):
        a, f = block.attention, block.feed
        self.look, self.parallel, self.feed = a, block.parallel, through(f)
        self.norm1, self.norm2, self.after1, self.after2 = [
            norm_of(getattr(block, n)) for n in ('norm1', 'norm2', 'after1', 'after2')]
        self.scale, self.plus = np.float32(getattr(a, 'scale', 1)), np.float32(block.scale)
        self.closed = closed_by(block)
        if not looks_plainly(a): self.attend = self.looked; return
        self.heads, self.kv, self.d, self.qkv, self.o = a.heads, a.kv_heads, a.d, Maps(a.q, a.k, a.v), Maps(a.o)
        self.by_head = a.q_norm is not None and a.q_norm.weight.tags == ('d',)
        self.q_norm, self.k_norm = norm_of(a.q_norm), norm_of(a.k_norm)
        self.sinks = None if a.sinks is None else a.sinks.data.reshape(self.kv, -1, 1)

    def __call__(self, x, turn, cache, row=None):
        first = self.added(x, self.after1(self.attend(self.norm1(x), turn, cache)))
        y = self.norm2(x if self.parallel else first)
        return self.closed(self.added(first, self.after2(self.feed(y))), row)

    def looked(self, x, turn, cache):
        "Rows through what looks back in another way, chapter 43a."
        def turned(a): return wrap(kernels.rope_half(np.ascontiguousarray(a.data), *turn, 1.), a.tags)
        return self.look(wrap(x, ('seq', 'embed')), turn and turned, cache).data

    def added(self, x, y):
        if self.plus != 1: y = y * self.plus
        return x + y

    def heads_of(self, y, norm, n, turn):
        "Queries or keys (words, n, d) with their norm, turned."
        y = norm(y.reshape(-1, n, self.d)) if self.by_head else norm(y).reshape(-1, n, self.d)
        return y if turn is None else kernels.rope_half(y, *turn, 1.)

    def attend(self, x, turn, cache):
        q, k, v = self.qkv(x)
        q, k = self.heads_of(q, self.q_norm, self.heads, turn), self.heads_of(k, self.k_norm, self.kv, turn)
        v = v.reshape(k.shape)
        if len(x) > 1 or cache.dtype != 'f32':
            q, k, v = [wrap(a, ('seq', h, 'd')) for a, h in ((q, 'head'), (k, 'kv_head'), (v, 'kv_head'))]
            return self.o(self.look.taken(q, k, v, cache).data)[0]
        keys, values = cache.put(k[0], v[0])      # (s, kv, d)
        scores = np.matmul(q.reshape(self.kv, -1, self.d), keys.transpose(1, 2, 0)) * self.scale
        if self.look.cap: scores = np.tanh(scores / np.float32(self.look.cap)) * np.float32(self.look.cap)
        return self.o(np.matmul(as_shares(scores, self.sinks), values.transpose(1, 0, 2)).reshape(1, -1))[0]
