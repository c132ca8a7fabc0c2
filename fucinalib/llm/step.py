"""One word through a decoder on plain arrays, without the wrapper of operations.

The meaning is that of the blocks in chapter 44, which a test compares; a model's cache of another type than f32, and
anybody who watches layers or operations, gets those. What a step needs is looked up once, when a model takes its
first one; weights that were exchanged since are looked up again."""
from contextlib import nullcontext
import numpy as np
from .. import kernels
from ..autograd import is_grad_enabled
from ..block_arithmetic import multiply
from ..hooks import watching
from ..nn.module import Module
from ..ops.blocks import BlockTensor
from ..ops.mixture import matrix_of
from ..tensor import Tensor
from .quick import quick, row_of, scaled

__all__ = ['PlainStep', 'stepping']


def stepping(model, cache):
    """The Quick or PlainStep of a model, or None where the readable path has to be taken: somebody watches or learns,
    or a part is of another kind than chapter 44 makes."""
    if cache is None or cache.dtype != 'f32' or model.fast is False or watching: return None
    if model.fast is None or not model.fast.looked.holds():
        if any(type(m).__module__ != f'{__package__}.decoder' for m in model.modules()): return None
        fast = quick(model) or PlainStep(model)
        fast.looked = Looked(model)
        model.fast = fast
    return None if is_grad_enabled() and model.fast.looked.learns() else model.fast


class Looked:
    "What a model was made of when a step looked its weights up."

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
        "Whether a weight wants a gradient, which a step would not give."
        return any(t.requires_grad for t, _ in self.arrays)


def product_with(w, over):
    "A function: one row of x to its product with a weight."
    if isinstance(w, Tensor):
        a = w.data if w.data.dtype == np.float32 else w.data.astype('f4')
        return a.T.dot if w.tags[0] == over else a.dot
    f, blocks = w.dtype, w.blocks.reshape(w.shape[0], -1)
    return lambda x: multiply(f, blocks, x[None], w.activation)[0]


def joined(m):
    "A map as a function of a row."
    if m is None: return None
    f, b = product_with(m.weight, m.over), m.bias
    return f if b is None else lambda x, b=b.data: f(x) + b


def norm_of(n):
    "A norm as a function of rows."
    if n is None: return lambda x: x
    w, eps = n.weight.data, np.float64(n.eps)
    if n.bias is None: return lambda x: kernels.rms_norm_weighted(x.reshape(-1, len(w)), w, eps)[0].reshape(x.shape)
    return lambda x, b=n.bias.data: kernels.layer_norm(x[None], w, b, eps)[0][0]


def turn_heads(x, cos, sin):
    "Heads (h, d) turned, the first 2 pairs of their numbers."
    p = len(cos)
    a, b = x[:, :p].copy(), x[:, p:2 * p]
    x[:, :p] = a * cos - b * sin
    x[:, p:2 * p] = b * cos + a * sin
    return x


def as_shares(s, sinks=None):
    "Shares of scores, where a sink takes one too and gives nothing."
    top = s.max(-1, keepdims=True)
    if sinks is not None: top = np.maximum(top, sinks)
    s -= top
    np.exp(s, out=s)
    return s / (s.sum(-1, keepdims=True) + (0 if sinks is None else np.exp(sinks - top)))


# ---- feed-forwards

def through(f):
    "A feed-forward, or a mixture of them, as a function of a row."
    if hasattr(f, 'router'): return through_chosen(f)
    up, gate, down = joined(f.up), joined(f.gate), joined(f.down)
    bend = getattr(kernels, f.act if f.act != 'gelu_erf' else 'gelu')
    return (lambda x: down(bend(up(x)))) if gate is None else lambda x: down(bend(up(x), gate(x)))


def through_chosen(f):
    "Likewise, through a few experts: no other's weights are read."
    router, shared, share = joined(f.router), f.shared and through(f.shared), joined(f.share)
    bend, streamed = ROW_BENDS[f.act], hasattr(f.up, 'acquire')

    def alone(x, e):
        gate, up = [own_product(w, b, e, x) for w, b in ((f.gate, f.gate_bias), (f.up, f.up_bias))]
        return own_product(f.down, f.down_bias, e, bend(up, gate))

    def mixed(x):
        scores = router(x)
        selected, weights = routed(scores, f.chosen, f.over_all, f.up.prefer(scores, f.chosen) if streamed else None)
        if streamed: f.up.look_ahead(x, f.chosen)
        y, pairs, most = 0, list(zip(selected, weights)), f.up.at_once if streamed else f.chosen
        for i in range(0, len(pairs), most):
            with f.up.acquire(selected[i:i + most]) if streamed else nullcontext():
                for e, w in pairs[i:i + most]: y = y + alone(x, e) * w
        return y if shared is None else y + shared(x) * (1 / (1 + np.exp(-share(x))))
    return mixed


def own_product(w, bias, e, x):
    "A row times the matrix of expert e, and its bias."
    m = matrix_of(w, e)
    y = product_with(m, m.tags[-1])(x)
    return y if bias is None else y + bias.data[e].astype('f4', copy=False)


def routed(scores, k, over_all, chosen=None):
    "The k best experts of a row, ties to the lower, or those chosen already; and how much each says."
    if chosen is None: chosen = np.argsort(-scores, kind='stable')[:k].tolist()
    e = np.exp(scores - scores.max())
    return chosen, e[chosen] / (e if over_all else e[chosen]).sum()


def steep(up, gate):
    gate = np.minimum(gate, np.float32(7))
    return (np.clip(up, -7, 7) + 1) * gate / (1 + np.exp(np.float32(-1.702) * gate))


ROW_BENDS = dict(swiglu=kernels.swiglu, geglu=kernels.geglu, swiglu_oai=steep)


class PlainStep:
    "model(ids, cache=cache, last=True) for one id."

    def __init__(self, model):
        self.layers = [Layer(b) for b in model.blocks]
        self.norm, self.head = norm_of(model.norm), joined(model.head)

    def __call__(self, model, word, cache):
        "The logits behind the next word, which joins the cache."
        c, n = model.config, len(cache)
        x = row_of(model.embed, word)
        if c.embed_scale != 1: x = x * np.float32(c.embed_scale)
        if c.places: x = x + row_of(model.places, n)
        for i, layer in enumerate(self.layers):
            x = layer(x, model.speeds(c.ropes[i], n, cache.far), cache.layers[i])
        cache.ids.append(word)
        return scaled(c, self.head(self.norm(x)))


class Layer:
    "A block, as functions of rows."

    def __init__(self, block):
        a, f = block.attention, block.feed
        self.block, self.look, self.heads, self.kv, self.d = block, a, a.heads, a.kv_heads, a.d
        self.q, self.k, self.v, self.o = [joined(getattr(a, n)) for n in 'qkvo']
        self.feed = through(f)
        self.norm1, self.norm2, self.after1, self.after2 = [
            norm_of(getattr(block, n)) for n in ('norm1', 'norm2', 'after1', 'after2')]
        self.by_head = a.q_norm is not None and a.q_norm.weight.tags == ('d',)
        self.q_norm, self.k_norm = norm_of(a.q_norm), norm_of(a.k_norm)
        self.sinks = None if a.sinks is None else a.sinks.data.reshape(self.kv, -1, 1)
        self.scale, self.plus = np.float32(a.scale), np.float32(block.scale)

    def __call__(self, x, turn, cache):
        first = x + self.after1(self.attend(self.norm1(x), turn, cache)) * self.plus
        y = self.norm2(x if self.block.parallel else first)
        return first + self.after2(self.feed(y)) * self.plus

    def heads_of(self, y, norm, n):
        y = y.reshape(n, self.d) if self.by_head else y
        return norm(y).reshape(n, self.d)

    def attend(self, x, turn, cache):
        q, k = self.heads_of(self.q(x), self.q_norm, self.heads), self.heads_of(self.k(x), self.k_norm, self.kv)
        if turn is not None: q, k = turn_heads(q, *turn), turn_heads(k, *turn)
        keys, values = cache.put(k, self.v(x).reshape(self.kv, self.d))      # (s, kv, d)
        scores = np.matmul(q.reshape(self.kv, -1, self.d), keys.transpose(1, 2, 0)) * self.scale
        if self.look.cap: scores = np.tanh(scores / np.float32(self.look.cap)) * np.float32(self.look.cap)
        return self.o(np.matmul(as_shares(scores, self.sinks), values.transpose(1, 0, 2)).reshape(-1))
