"""The table of the graph fuzzer: for every operation how a random graph calls it, and its torch twin.

`make(r, x)` gives the arguments of a call whose first operand is the value x of the graph r (see
fuzz_graphs.Graph), or None where x does not suit. `twin(o, *args, **kw)` computes the same with torch from the
same arguments; there an operand is an `N`, a torch tensor whose axes have names, and o are the tags that our
result has, in the order wanted.
"""
from dataclasses import dataclass
from functools import reduce
from math import inf, nan, prod
import numpy as np
import fucinalib as fl
from fucinalib.sides import astray
from parity import F, torch as T

NUMBERS = -2., -1.5, -.5, 0., .25, .5, 1., 2., 3.      # every number type holds them
TABLE = {}      # name of an operation -> Row

# What is never called, and why
LEFT_OUT = {name: why for names, why in (
    ('rand uniform randn normal bernoulli gumbel randint randperm multinomial',
        'numbers drawn at random follow a stream of our own'),
    ('empty empty_like', 'their values mean nothing'),
    ('pack prepare_conv2d',
        'they give no tensor; products with what they give are compared in test_packed and test_convolution'),
    ('rope_table yarn_inv_freqs', 'they give tables of constants; rope is here'),
    ('kda_recurrent router_topk', 'they have no gradient, give several results and have tests of their own'),
    ('dot_ternary', 'it wants axes of 256 and has tests of its own'),
    ('grouped_dot', 'its counts have to add up to the rows; it has tests of its own'),
    ('band_mask', 'it has no operand; band_part, tril and triu are here')) for name in names.split()}

# Where ours differ from torch on purpose. A twin of this name says in torch's words what ours mean.
# `avoided`: it never comes up in a graph.
DECIDED = {
    'sign': 'NaN stays NaN',
    'softplus': 'no threshold: torch is a straight line from 20 on',
    'max min argmax argmin topk max_pool2d': 'a NaN never wins, and the first of equals has the gradient',
    'sort argsort': 'avoided: the order of equal values is not promised, NaN is last in both directions',
    'maximum minimum': 'NaN passes no gradient',
    'dropout softmax': 'what is dropped or hidden leaves no trace, be it NaN',
    'every gradient': 'avoided: what NaN and 0 * inf do on the way back; a graph with NaN has no gradients judged, '
                      'one with inf those that both find finite',
    'std norm': 'the gradient is 0 where the result is 0 (D1); avoided, since f32 and f64 disagree about what is 0',
    'norm': 'of the order inf the first of equal maxima has the whole gradient',
    'mean': 'of whole numbers it is f32 (D16)',
    'log_softmax': 'beside inf there is -inf',
    'logsumexp': 'a row of -inf gives -inf with gradient 0 (D4)',
    'cross_entropy linear_cross_entropy': 'no label is ignored unless told; if all are the loss is 0',
    'div pow log sqrt rsqrt reciprocal': 'avoided: numbers near 0 that were computed; '
                                         'which side they are on is a matter of rounding',
    'bce_loss': 'avoided: scores of inf; probabilities are clamped to 1e-7 from 0 and 1',
    'kl_div': 'a target of 0 counts nothing and has gradient 0',
    'linear_distill': 'a score of inf makes the others infinitely wrong, not NaN',
    'cosine_similarity': 'eps bounds the product of the two lengths',
    'l2_normalize': 'eps is added to the squared length',
    'avg_pool2d': 'zeros beyond the border do not count',
    'standardize': 'an axis of no more than ddof entries has the variance 0',
    'scatter': 'avoided: several values for one place (D11)',
    'to': 'real to whole saturates, and NaN becomes 0',
    'attention': 'the causal band is aligned at its end; avoided: inf and NaN, where underflow decides about 0 * inf',
    'cumprod': 'f32 is multiplied in f32',
    'conv_transpose1d': 'output_pad rows hold the bias alone',
}


class V(int):
    "A value of the graph, by its number."
    def __bool__(self): return True
    def __repr__(self): return f'V({int(self)})'


class N:
    "A torch tensor whose axes have names."
    __slots__ = 't', 'tags'
    def __init__(self, t, tags): self.t, self.tags = t, tags
    def dim(self, tag): return self.tags.index(tag)
    def dims(self, tags): return [self.tags.index(t) for t in split(tags)] if tags else list(range(len(self.tags)))
    def size(self, tag): return self.t.shape[self.tags.index(tag)]
    def to(self, tags):
        "Axes in the order of `tags`; those that are missing have size 1."
        if tags == self.tags: return self.t
        y = self.t.permute([self.tags.index(t) for t in tags if t in self.tags])
        return y[tuple([slice(None) if t in self.tags else None for t in tags])] if len(tags) != len(self.tags) else y


def split(tags): return [t for part in tags for t in part.split()] if isinstance(tags,
    (tuple, list)) else tags.split()


@dataclass
class Row:
    op: str
    make: object            # (graph, value) -> call or None
    twin: object            # (tags of the result, *arguments) -> torch tensor
    kinds: str = 'f'        # of the first operand: real f, whole i, truth b; '' for none
    weight: float = 1.      # how often it is tried
    call: object = None     # ours, where it is more than the operation itself
    text: str = ''          # the same as source, {0} for the first operand
    grad: bool = True       # False: only where no operand requires a gradient


def row(op, make, twin, kinds='f', weight=1., **more): TABLE[op] = Row(op, make, twin, kinds, weight, **more)

def C(*args, pick=None, **kw): return args, kw, pick


class Kind:
    "Types on torch's side: 16 bits are held as f32; in a wide run reals are f64. And how far a shaken run is off."
    wide, shake, luck = False, None, None


def kind(name):
    "The torch type for one of ours."
    if name in ('f32', 'f64', 'f16', 'bf16'): return T.float64 if Kind.wide or name == 'f64' else T.float32
    return getattr(T,
        {'i64': 'int64', 'i32': 'int32', 'i16': 'int16', 'i8': 'int8', 'u8': 'uint8', 'bool': 'bool'}[name])

def al(o, v): return v.to(o) if isinstance(v, N) else v
def like(v, t): return v if isinstance(v, T.Tensor) else T.tensor(v, dtype=t.dtype)
def truth(m): return m if m.dtype == T.bool else m != 0


def jog(t): return t * (1 + Kind.shake * chance(t)) if Kind.shake else t
def chance(t): return T.rand(t.shape, dtype=t.dtype, generator=Kind.luck) * 2 - 1

class Curved:
    "A function whose slope follows from its value, which in a shaken run is off by a rounding before."
    def __init__(self, f, slope): self.f, self.slope = f, slope
    def __call__(self, t):
        if not Kind.shake: return self.f(t)
        y = self.f(t.detach())
        y = y * (1 + Kind.shake * chance(y))
        return y + (t - t.detach()) * self.slope(y) if t.requires_grad else y

tanh = Curved(lambda t: T.tanh(t), lambda y: 1 - y * y)
sigmoid = Curved(lambda t: T.sigmoid(t), lambda y: y * (1 - y))
def silu(t): return t * sigmoid(t) if Kind.shake else F.silu(t)
def in_line(t):
    "A tensor and its gradient without gaps in memory: with some strides torch's own gelu fails."
    t = t.contiguous()
    if t.requires_grad: hook(t, lambda g: g.clone(memory_format=T.contiguous_format))
    return t

def gelu(t, how='none'):
    if not Kind.shake: return in_line(F.gelu(in_line(t), approximate=how))
    if how == 'none': return .5 * t * (1 + jog(T.erf(t * .7071067811865476)))
    return .5 * t * (1 + tanh(.7978845608028654 * (t + .044715 * t ** 3)))


def off_by(z, y, size):
    """In a shaken run the gradient of z is off by a rounding of `size`, a function of the gradient of y:
    parts of it cancel, which ours computes apart."""
    if Kind.shake and z.requires_grad:
        arrived = []
        hook(y, arrived.append)
        hook(z, lambda g: g + Kind.shake * chance(g) * size(arrived[-1].abs()))
    return y

def hook(t, f):
    "Let `f` change the gradient of `t` in this run."
    hooks.append(t.register_hook(f))

hooks = []

def unhook():
    """Take them off after the run: one that knows a result of its own tensor makes a ring of Python's
    and torch's objects, which neither of the two lets go."""
    while hooks: hooks.pop().remove()

def softmax(z, d=-1):
    z = z * 1 if Kind.shake else z
    p = T.softmax(z, d)
    if Kind.shake: p = p * (1. - ((p < T.finfo(p.dtype).tiny) & (chance(p) > 0)))    # kernels have no smaller numbers
    return off_by(z, p, lambda g: p.detach() * (g + (p.detach() * g).sum(d, keepdim=True)))

def log_softmax(z, d):
    z = z * 1 if Kind.shake else z
    y = T.log_softmax(z, d)
    if Kind.shake: y = y + z.detach() - z.detach().amax(d,
        keepdim=True) - y.detach() - jog((z - z.amax(d, keepdim=True)).detach().exp().sum(d, keepdim=True)).log()
    return off_by(z, y, lambda g: g + y.detach().exp() * g.sum(d, keepdim=True))


# two tensors, met by name

def any_number(r, x): return r.pick(NUMBERS) if r.is_float(x) else r.rng.randint(-3,
    5) if r.name(x) != 'u8' else r.rng.randint(0, 5)

def two(r, x):
    if r.flip(.25): return C(x, any_number(r, x))
    y = r.partner(x)
    return y and (C(x, y) if r.flip(.7) else C(y, x))

def power(r, x):
    if not off_zero(r, x): return None
    if not r.is_float(x): return C(x, r.rng.randint(0, 3))
    if r.flip(.6): return C(x, r.pick((0, 1, 2, 3, 2., -1., .5, -2, 1.5)))
    y = r.partner(x)
    return y and C(x, y)

def meet(f): return lambda o, x, y: f(al(o, x), al(o, y))

row('add', two, meet(lambda a, b: a + b), 'fi', 3)
row('sub', two, meet(lambda a, b: a - b), 'fi', 3)
row('mul', two, meet(lambda a, b: a * b), 'fi', 4)
def off_zero(r, y):
    "Not near 0, but for a leaf: what is 0 in one sum is a rounding in another."
    if type(y) is not V or r.is_leaf(y): return True
    a = np.abs(r.see(y).data.astype('f8'))
    return bool(np.all((a > .01) | ~np.isfinite(a)))

def divided(r, x):
    call = two(r, x)
    return call if call and off_zero(r, call[0][1]) else None

row('div', divided, meet(lambda a, b: a / b), 'f', 2.5)
def chosen_of(f):
    def twin(a, b):
        y = f(a, like(b, a))
        return T.where(y.isnan(), y.detach(), y) if y.requires_grad else y
    return meet(twin)

row('maximum', two, chosen_of(lambda a, b: T.maximum(a, b)), 'fi')
row('minimum', two, chosen_of(lambda a, b: T.minimum(a, b)), 'fi')
row('pow', power, meet(lambda a, b: T.pow(a, b)), 'fi')
def plain_row(r, x, **more):
    return C(x, [any_number(r, x) for _ in range(r.shape(x)[-1])], r.tags(x)[-1], **more) if r.ndim(x) else None

def in_place(op):
    "Ours on a copy that is in no graph."
    apart = lambda v: v.detach() if isinstance(v, fl.Tensor) else v
    return dict(call=lambda x, *a, **kw: getattr(x.detach().materialize(), op)(*map(apart, a), **kw),
                text='{0}.detach().materialize().' + op)

BENT = {None: lambda t: t, 'relu': lambda t: T.relu(t), 'tanh': lambda t: T.tanh(t)}

row('bias_add', plain_row,
    lambda o, x, v, tag: x.t + T.tensor(v, dtype=x.t.dtype), 'f', .5)
row('bias_add_', lambda r, x: plain_row(r, x, op=r.pick(list(BENT))),
    lambda o, x, v, tag, op: BENT[op](x.t.detach() + T.tensor(v, dtype=x.t.dtype)), 'f', .3, **in_place('bias_add_'))
row('add_', lambda r, x: C(x, r.same(x), alpha=r.pick((1, 2, 3) if r.name(x) == 'u8' else (1, 2, -1))),
    lambda o, x, y, alpha: x.t.detach() + alpha * y.t.detach(), 'fi', .3, **in_place('add_'))
row('mul_', lambda r, x: C(x, any_number(r, x)), lambda o, x, s: x.t.detach() * s, 'fi', .3, **in_place('mul_'))

GATES = dict(glu=lambda u, g: u * sigmoid(g), swiglu=lambda u, g: u * silu(g), geglu=lambda u, g: u * gelu(g, 'tanh'),
             situ=lambda u, g: 25 * tanh(u / 25) * 4 * tanh(g / 4) * sigmoid(g))

def partners(r, x):
    y = r.partner(x)
    return y and C(x, y)

for name, f in GATES.items(): row(name, partners, meet(f), weight=.5)
row('gated', lambda r, x: (y := r.partner(x)) and C(x, y, r.pick(list(GATES))), lambda o, x, y,
    name: GATES[name](al(o, x), al(o, y)), weight=.5)

def halves(o, x, name, tag, out=None):
    a, b = x.t.chunk(2, x.dim(tag))
    return silu(a) * b if name == 'swiglu' else a * sigmoid(b)

row('split_gated', lambda r,
    x: (t := r.tag(x, lambda n: n % 2 == 0)) and C(x, r.pick(('swiglu', 'glu')), t, out=r.pick((None, r.fresh(x)))),
    halves)


# made of nothing

def made(*more):
    def make(r, x):
        names, shape = r.new_shape()
        return C(' '.join(names), shape, *(m(r) for m in more), dtype=r.dtype)
    return make

row('zeros', made(), lambda o, tags, shape, dtype: T.zeros(shape, dtype=kind(dtype)), '', .15)
row('ones', made(), lambda o, tags, shape, dtype: T.ones(shape, dtype=kind(dtype)), '', .15)
row('full', made(lambda r: r.pick(NUMBERS[-2:])), lambda o, tags, shape, value,
    dtype: T.full(shape, value, dtype=kind(dtype)), '', .15)
row('eye', lambda r, x: C('a b', (r.pick((1, 2, 3, 7)), r.pick((1, 3, 7))), dtype=r.dtype), lambda o, tags,
    shape, dtype: T.eye(*shape, dtype=kind(dtype)), '', .15)
def counted(r, x):
    first = r.rng.randint(0 if r.dtype == 'u8' else -3, 2)
    return C(r.pick('abc'), first, r.rng.randint(3, 9), r.pick((1, 2, 3)), dtype=r.dtype)

def between(r, x):
    return C(r.pick('abc'), r.pick(NUMBERS), r.pick(NUMBERS), r.pick((1, 2, 3, 7)),
        dtype=r.dtype) if r.float else None

row('arange', counted, lambda o, tag, a, b, step, dtype: T.arange(a, b, step, dtype=kind(dtype)), '', .15)
row('linspace', between, lambda o, tag, a, b, n, dtype: T.linspace(a, b, n, dtype=kind(dtype)), '', .15)
row('one_hot', lambda r, x: C([r.rng.randrange(4) for _ in range(r.pick((1, 3)))], 'a b', 4, dtype=r.dtype),
    lambda o, at, tags, n, dtype: F.one_hot(T.tensor(at), n).to(kind(dtype)), '', .15)
row('zeros_like', lambda r, x: C(x), lambda o, x: T.zeros_like(x.t), 'fib', .15)
row('ones_like', lambda r, x: C(x), lambda o, x: T.ones_like(x.t), 'fi', .15)
row('full_like', lambda r, x: C(x, any_number(r, x)), lambda o, x, v: T.full_like(x.t, v), 'fi', .15)


# functions of one number

REAL_ONLY = 'exp log log1p sqrt rsqrt reciprocal sigmoid softplus tanh silu elu quick_gelu sin cos'.split()
UNARY = {name: 'f' for name in REAL_ONLY} | {name: 'fi' for name in 'relu square abs neg sign floor ceil round'.split()}

def signed(t): return T.where(t.isnan(), t, T.sign(t)) if t.dtype.is_floating_point else T.sign(t)
OWN = dict(sign=signed, softplus=lambda t: -F.logsigmoid(-t), quick_gelu=lambda t: t * sigmoid(1.702 * t),
           silu=silu, elu=lambda t: F.elu(t), tanh=tanh, sigmoid=sigmoid)

def one(name):
    f = OWN.get(name)
    return lambda o, x: f(x.t) if f else getattr(T, name)(x.t)

def bounds(r, x):
    low, high = sorted((any_number(r, x), any_number(r, x)))
    return C(x, *r.pick(((low, high), (low, None), (None, high))))

for name, kinds in UNARY.items(): row(name, lambda r, x: C(x), one(name), kinds, .6)
for name in ('log', 'sqrt', 'rsqrt', 'reciprocal'): TABLE[name].make = lambda r, x: C(x) if off_zero(r, x) else None
row('gelu', lambda r, x: C(x, r.pick(('none', 'tanh'))), lambda o, x, how: gelu(x.t, how))
row('leaky_relu', lambda r, x: C(x, r.pick((.25, -.5, 0., 2.))), lambda o, x, s: F.leaky_relu(x.t, s))
row('softcap', lambda r, x: C(x, r.pick((.5, 2., 30))), lambda o, x, c: c * tanh(x.t / c))
row('clamp', bounds, lambda o, x, low, high: T.clamp(x.t, low, high), 'fi')
FORMS = dict(relu=lambda t: T.relu(t), tanh=tanh, gelu_tanh=lambda t: gelu(t, 'tanh'), gelu_erf=gelu,
    softcap_15=lambda t: 15 * tanh(t / 15))
row('unary', lambda r, x: C(x, r.pick(list(FORMS))), lambda o, x, name: FORMS[name](x.t), weight=.5)

def dropped(o, x, p, seed):
    "What is dropped is ours to say; the product and its gradient are torch's."
    p = float(np.float32(p))
    with fl.use_backend('numpy'): kept = fl.Tensor(np.ones(tuple(x.t.shape)), x.tags).dropout(p, seed).data != 0
    return T.where(T.from_numpy(np.asarray(kept)), x.t / (1 - p), like(0., x.t))

row('dropout', lambda r, x: C(x, r.pick((0., .25, .5)), r.rng.randint(0, 99)), dropped, weight=.3)


# truth values

for name in ('lt', 'le', 'gt', 'ge', 'eq', 'ne'):
    row(name, lambda r, x: C(x, any_number(r, x) if r.flip(.4) else r.same(x)), lambda o, x, y,
        name=name: getattr(T, name)(x.t, al(o, y)), 'fi', .3)
row('compare', lambda r, x: C(x, r.pick(('lt', 'ge')), any_number(r, x)), lambda o, x, how,
    y: getattr(T, how)(x.t, y), 'fi', .2)
for name in ('logical_and', 'logical_or', 'logical_xor'):
    row(name, lambda r, x: C(x, r.same(x)), lambda o, x, y, name=name: getattr(T, name)(x.t, y.t), 'fb', .2)
row('logical_not', lambda r, x: C(x), lambda o, x: T.logical_not(x.t), 'fb', .2)
for name in ('isnan', 'isinf', 'isfinite'): row(name, lambda r, x: C(x), lambda o, x,
    name=name: getattr(T, name)(x.t), 'f', .15)

def along(f):
    def twin(o, x, *tags):
        y = truth(x.t)
        for d in sorted(x.dims(tags), reverse=True): y = f(y, d)
        return y
    return twin

row('any', lambda r, x: C(x, *r.some_tags(x)), along(lambda y, d: y.any(d)), 'fb', .2)
row('all', lambda r, x: C(x, *r.some_tags(x)), along(lambda y, d: y.all(d)), 'fb', .2)
row('where', lambda r, x: C(x, r.mask(x), any_number(r, x) if r.flip(.3) else r.same(x)), lambda o, x, m,
    y: T.where(truth(m.t), x.t, like(al(o, y), x.t)), 'fi', 2)
row('masked_fill', lambda r, x: C(x, r.mask(x), any_number(r, x)), lambda o, x, m,
    v: x.t.masked_fill(truth(m.t), v), 'fi')

def plane(f):
    def twin(o, x, row, col, *bounds):
        spots = x.dim(row), x.dim(col)
        return f(x.t.movedim(spots, (-2, -1)), *bounds).movedim((-2, -1), spots)
    return twin

def banded(t, lower, upper):
    if upper is not None: t = T.tril(t, upper)
    return t if lower is None else T.triu(t, -lower)

def plane_of(*more): return lambda r, x: C(x, *r.rng.sample(r.tags(x), 2),
    *(r.pick(m) for m in more)) if r.ndim(x) > 1 else None
row('band_part', plane_of((None, 0, 1, -1), (None, 0, 2, -1)), plane(banded), 'fi', .6)
row('tril', plane_of((0, 1, -1)), plane(lambda t, k: T.tril(t, k)), 'fi', .6)
row('triu', plane_of((0, 1, -1)), plane(lambda t, k: T.triu(t, k)), 'fi', .6)


# many numbers become one

def in_front(x, tags):
    "The axes `tags` as one, the last."
    dims = sorted(x.dims(tags))
    if not dims: return x.t.unsqueeze(-1)
    y = x.t.movedim(dims, list(range(-len(dims), 0)))
    return y.flatten(-len(dims)) if len(dims) > 1 else y

def equal(a, b): "Of arrays and of tensors; NaN equals NaN."; return (a == b) | (a != a) & (b != b)

def first(y, valid=None, sign=1):
    """The largest along the last axis, the first of equals. What is not valid never wins, and NaN only where nothing
    else is valid."""
    if valid is None: valid = T.ones_like(y, dtype=T.bool)
    y, real = y.detach(), y.dtype.is_floating_point
    if real: valid = T.where((known := valid & ~y.isnan()).any(-1, keepdim=True), known, valid)
    key = y if sign > 0 else -y if real else ~y
    least = -inf if real else T.iinfo(y.dtype).min
    best = key.masked_fill(~valid, least).amax(-1, keepdim=True)
    return (valid & equal(key, best)).to(T.uint8).argmax(-1, keepdim=True)

def best(sign):
    def twin(o, x, *tags, mask=None, empty=None):
        y = in_front(x, tags)
        valid = None if mask is None else in_front(N(truth(mask.to(x.tags)), x.tags), tags)
        value = y.gather(-1, first(y, valid, sign))[..., 0]
        if mask is None: return value
        return T.where(valid.any(-1), value, like(float(-inf * sign if empty is None else empty), value))
    return twin

def folded(r, x, masked=.2, empty=(None, 0., 2.)):
    tags = r.some_tags(x)
    if r.is_float(x) and r.flip(masked): return C(x, *tags, mask=r.mask(x), empty=r.pick(empty))
    return C(x, *tags)

def added(o, x, *tags, mask=None, empty=None):
    t = x.t if mask is None else T.where(truth(mask.to(x.tags)), x.t, like(0., x.t))
    y = t.sum(x.dims(tags)) if x.tags else t if t.dtype.is_floating_point else t.long()
    if empty is None: return y
    return T.where(N(truth(mask.to(x.tags)), x.tags).t.any(tuple(x.dims(tags))) if x.tags else truth(mask.t), y,
        like(empty, y))

def averaged(o, x, *tags, mask=None, empty=None):
    if not x.t.dtype.is_floating_point:
        return (x.t.double().mean(x.dims(tags)) if x.tags else x.t.double()).to(kind('f32'))
    if mask is None: return x.t.mean(x.dims(tags)) if x.tags else x.t * 1
    count = in_front(N(truth(mask.to(x.tags)), x.tags), tags).sum(-1)
    y = added(o, x, *tags, mask=mask) / count
    return y if empty is None else T.where(count == 0, like(empty, y), y)

def spread(r, x):
    tags, ddof = r.some_tags(x), r.pick((0, 0, 1))
    lanes = prod(r.size(x, t) for t in (split(tags) or r.tags(x)))
    return None if lanes == 1 else C(x, *tags, ddof=ddof)

def far_from_zero(f):
    "Not where a result is about 0: f32 and f64 disagree about which side it is on."
    def make(r, x):
        if not (call := f(r, x)): return None
        measure, a = fl.registry['std' if 'ddof' in call[1] else 'norm'].call, r.see(x).detach().to('f64')
        with np.errstate(all='ignore'): y = measure(a, *call[0][1:], **call[1]).data
        return call if np.all(y > .01 * np.abs(a.data).max()) or not np.all(np.isfinite(y)) else None
    return make

def normed(o, x, *tags, ord=2):
    y = in_front(x, tags)
    if ord == 1: return y.abs().sum(-1)
    if ord == 2: return T.linalg.vector_norm(y, 2, -1)
    size = y.abs()
    top = size.gather(-1, first(size))[..., 0]
    return top.masked_fill(size.isnan().any(-1), nan)

row('sum', folded, added, 'fib', 2)
row('mean', folded, averaged, 'fi', 1.5)
row('max', lambda r, x: folded(r, x, .15, (None, 0.)), best(1), 'fi')
row('min', lambda r, x: folded(r, x, .15, (None, 0.)), best(-1), 'fi')
def multiplied_all(o, x, *tags):
    "In no promised order: one may overflow on the way, another meet a zero first."
    y = in_front(x, tags)
    if not Kind.shake: return y.prod(-1)
    return reduce(T.mul, y[..., T.randperm(y.shape[-1], generator=Kind.luck)].unbind(-1))

row('prod', lambda r, x: C(x, *r.some_tags(x)), multiplied_all, 'fi')
def varied(o, x, *tags, ddof):
    "torch takes one number after the other; where f64 is the truth the mean comes first."
    d = x.dims(tags)
    if not Kind.wide or not d: return x.t.var(d, correction=ddof)
    squares = (x.t - x.t.mean(d, keepdim=True)).square()
    return squares.sum(d) / (prod(x.t.shape[i] for i in d) - ddof)

row('var', spread, varied, 'f', .7)
row('std', far_from_zero(spread), lambda *a, **kw: varied(*a, **kw).sqrt(), 'f', .7)
row('norm', far_from_zero(lambda r, x: C(x, *r.some_tags(x), ord=r.pick((1, 2, 2, 'inf')))), normed, 'f', .7)


# products

def ein(o, *operands):
    letters = {}
    def spell(tags): return ''.join(letters.setdefault(t, chr(97 + len(letters))) for t in tags)
    left = ','.join(spell(n.tags) for n in operands)
    tensors = [n.t if n.t.dtype.is_floating_point else n.t.long() for n in operands]
    y = T.einsum(f'{left}->{spell(o)}', *tensors)
    return fused_or_not(y, lambda: unfused(o, operands))

def fused_or_not(y, other):
    """A product of two numbers beyond the type is inf where it is rounded before it is added, and inf - inf is NaN. A
    kernel that fuses the two adds it as it is."""
    if not Kind.shake or y.isfinite().all(): return y
    return T.where(chance(y) > 0, y, other())

def unfused(o, operands):
    "Each product rounded before it is added."
    tags = tuple(dict.fromkeys([t for n in operands for t in n.tags]))
    y, gone = reduce(T.mul, [n.to(tags) for n in operands]), [i for i, t in enumerate(tags) if t not in o]
    return N(y.sum(gone) if gone else y, tuple([t for t in tags if t in o])).to(tuple(o))

def product(r, x, join=None):
    "A second operand that has an axis of x."
    tags = r.tags(x)
    if not tags: return None
    join = join or r.rng.sample(tags, r.rng.randint(1, min(2, len(tags))))
    kept = [t for t in tags if t not in join and r.flip(.25)]
    new = [r.fresh(x)] if r.flip(.7) else []
    names = [*join, *kept, *new]
    r.rng.shuffle(names)
    sizes = [r.size(x, t) if t in tags else r.pick(r.sizes) for t in names]
    if prod(r.size(x, t) for t in tags if t not in join) * prod(n for t,
        n in zip(names, sizes) if t in new) > r.most: return None
    def good(v):
        if not set(join) <= set(r.tags(v)) or r.name(v) != r.name(x) or r.ndim(v) > 3: return False
        return all(r.size(v, t) == r.size(x, t) for t in r.tags(v) if t in tags) and r.fits_product(x, v, join)
    found = r.find(good)
    return (r.leaf(names, sizes, x) if found is None else found), join

def dotted(r, x):
    if not (found := product(r, x)): return None
    return C(x, found[0], *found[1])

def dot_tags(a, b, join):
    batch = [t for t in a if t in b and t not in join]
    return tuple(batch + [t for t in a if t not in b] + [t for t in b if t not in a])

def summed_onto(r, x):
    if not (found := product(r, x)): return None
    w, join = found
    out = dot_tags(r.tags(x), r.tags(w), join)
    size = {**dict(zip(r.tags(x), r.shape(x))), **dict(zip(r.tags(w), r.shape(w)))}
    return C(r.leaf(out, [size[t] for t in out], x), x, w, *join)

def einsum(r, x):
    if not (found := product(r, x)): return None
    w = found[0]
    names = list(dict.fromkeys(r.tags(x) + r.tags(w)))
    out = [t for t in names if r.flip(.5)]
    r.rng.shuffle(out)
    size = {**dict(zip(r.tags(x), r.shape(x))), **dict(zip(r.tags(w), r.shape(w)))}
    return C(x, w, ' '.join(out)) if prod(size[t] for t in out) <= r.most else None

def by_position(r, x):
    if r.ndim(x) < 2 or not r.is_float(x): return None
    n, turned = r.pick(r.sizes), r.flip(.3)
    k = r.shape(x)[-1]
    y = r.leaf(['y', 'z'], [n, k] if turned else [k, n], x)
    return C(x, y, ' '.join([*r.tags(x)[:-1], r.fresh(x)]),
        transpose_b=turned) if prod(r.shape(x)[:-1]) * n <= r.most else None

row('dot', dotted, lambda o, x, w, *join: ein(o, x, w), 'fi', 2)
row('add_dot', summed_onto, lambda o, x, a, w, *join: x.t + ein(o, a, w), 'f')
row('einsum', einsum, lambda o, x, w, out: ein(o, x, w), 'fi')
def by_matrices(o, x, y, out, transpose_b):
    a, b = x.t, y.t.mT if transpose_b else y.t
    return fused_or_not(a @ b, lambda: (a[..., None] * b[..., None, :, :]).sum(-2))

row('matmul', by_position, by_matrices)


# the same numbers, walked another way

def shuffled(r, tags): return r.rng.sample(list(tags), len(tags))
def joined(x): return ' '.join(x)

def renamed(r, x):
    if not r.ndim(x): return None
    t = r.tag(x)
    new = r.fresh(x)
    return C(x, **{t: new}) if r.flip(.5) else C(x, joined(new if u == t else u for u in r.tags(x)))

def aligned(r, x):
    new = [r.fresh(x)] if r.flip(.6) else []
    return C(x, joined(shuffled(r, r.tags(x) + tuple(new)))) if r.ndim(x) < 4 else None

def factored(r, x):
    t = r.tag(x, lambda n: n in (2, 6, 14, 34, 17, 7, 3, 1))
    if not t or r.ndim(x) > 3: return None
    n = r.size(x, t)
    by = r.pick([d for d in range(1, n + 1) if n % d == 0])
    a, b = r.fresh(x), r.pick((t, r.fresh(x, 1)))
    return C(x, t, f'{a} {b}', (by, n // by))

def settled(r, x):
    "x lying in memory as its tags say: how a result lies is not promised."
    if r.is_leaf(x) and r.see(x).data.flags.c_contiguous: return x
    return r.do('contiguous', x)

def merged(r, x):
    if r.ndim(x) < 2: return None
    x = settled(r, x)
    i = r.rng.randrange(r.ndim(x) - 1)
    j = r.rng.randint(i + 2, r.ndim(x))
    return C(x, r.pick((r.tags(x)[i], r.fresh(x))), joined(r.tags(x)[i:j]))

def reshaped(r, x):
    total, i = prod(r.shape(x)), r.fresh(x)
    a = r.pick([d for d in range(1, min(total, 18) + 1) if total % d == 0])
    return C(x, f'{i} {r.fresh(x, 1)}', (a, total // a))

def stretched(r, x):
    if r.ndim(x) > 3: return None
    sizes = {t: (r.pick(r.sizes) if n == 1 and r.flip(.5) else n) for t, n in zip(r.tags(x), r.shape(x))}
    if r.flip(.7): sizes[r.fresh(x)] = r.pick((1, 2, 3, 7))
    if prod(sizes.values()) > r.most: return None
    names = shuffled(r, sizes)
    return C(x, joined(names), tuple([sizes[t] for t in names]))

def cut(r, x):
    if not (t := r.tag(x)): return None
    n = r.size(x, t)
    start = r.rng.randrange(n)
    return C(x, t, start, r.rng.randint(1, n - start))

def ranges(r, x):
    if not r.ndim(x): return None
    def some(n):
        start = r.rng.randrange(n)
        return slice(r.pick((None, start - n, start)), r.pick((None, n)), r.pick((None, 1, 2, 3)))
    return C(x, **{t: some(r.size(x, t)) for t in r.rng.sample(r.tags(x), r.rng.randint(1, r.ndim(x)))})

def walk(r, x):
    if (x := settled(r, x)) is None: return None
    total, shape, strides = prod(r.shape(x)), [], []
    reach = 0
    for _ in range(r.rng.randint(1, 2)):
        s = r.pick((0, 1, 2, 1, 3))
        n = r.rng.randint(1, max(1, min(7, (total - 1 - reach) // s + 1 if s else 3)))
        shape, strides, reach = [*shape, n], [*strides, s], reach + (n - 1) * s
    offset = r.rng.randint(0, total - 1 - reach)
    if r.flip(.3) and strides[0]: offset, strides[0] = offset + (shape[0] - 1) * strides[0], -strides[0]
    return C(x, joined(['a', 'b'][:len(shape)]), tuple(shape), tuple(strides), offset)

def walked(o, x, tags, shape, strides, offset):
    at = np.array(offset)
    for n, s in zip(shape, strides): at = at[..., None] + np.arange(n) * s
    return x.t.reshape(-1)[T.from_numpy(at)]

def sliced(o, x, **ranges): return x.t[tuple([ranges.get(t, slice(None)) for t in x.tags])]
def chosen(o, x, **by_tag): return x.t[tuple([by_tag.get(t, slice(None)) for t in x.tags])]

row('rename', renamed, lambda o, x, *a, **kw: x.t, 'fib', .5)
row('permute', lambda r, x: C(x, joined(shuffled(r, r.tags(x)))) if r.ndim(x) > 1 else None, lambda o, x,
    tags: x.to(o), 'fib', 1.5)
row('insert_axis', lambda r,
    x: C(x, r.fresh(x), r.rng.randint(-r.ndim(x) - 1, r.ndim(x))) if r.ndim(x) < 4 else None, lambda o, x, tag,
    i: x.t.unsqueeze(i), 'fib', .4)
row('squeeze', lambda r, x: (t := r.tag(x, lambda n: n == 1)) and C(x, t), lambda o, x,
    tag: x.t.squeeze(x.dim(tag)), 'fib', .4)
row('align_to', aligned, lambda o, x, tags: x.to(o), 'fib', .4)
row('split', factored, lambda o, x, tag, tags, shape: x.t.unflatten(x.dim(tag), shape), 'fib')
row('merge', merged, lambda o, x, tag, tags: x.t.flatten(x.dim(tags.split()[0]), x.dim(tags.split()[-1])), 'fib')
row('contiguous', lambda r, x: C(x), lambda o, x: x.t.contiguous(), 'fib', .4)
row('materialize', lambda r, x: C(x), lambda o, x: x.t.clone(), 'fib', .3)
row('flatten', lambda r, x: C(x, r.fresh(x)), lambda o, x, tag: x.t.reshape(-1), 'fib', .4)
row('reshape', reshaped, lambda o, x, tags, shape: x.t.reshape(shape), 'fib', .5)
row('broadcast_to', stretched, lambda o, x, tags, shape: x.to(o).expand(shape), 'fib')
row('narrow', cut, lambda o, x, tag, start, n: x.t.narrow(x.dim(tag), start, n), 'fib', 1.2)
row('select', lambda r, x: (t := r.tag(x)) and C(x, **{t: r.rng.randrange(-r.size(x, t), r.size(x, t))}),
    chosen, 'fib', .7)
row('slice', ranges, sliced, 'fib')
row('unbind', lambda r, x: (t := r.tag(x)) and C(x, t, pick=r.rng.randrange(r.size(x, t))), lambda o, x, tag,
    pick: x.t.unbind(x.dim(tag))[pick], 'fib', .5)
row('diagonal', lambda r, x: C(x, *r.rng.sample(r.tags(x), 2), r.fresh(x)) if r.ndim(x) > 1 else None, lambda o,
    x, a, b, out: x.t.diagonal(0, x.dim(a), x.dim(b)), 'fib', .5)
row('view_with_strides', walk, walked, 'fib', .5)


# numbers that move

def concatenated(r, x):
    if not (t := r.tag(x)): return None
    others = [r.same(x, **({t: r.pick((1, 2, 3))} if r.flip(.5) else {})) for _ in range(r.rng.randint(1, 2))]
    parts = shuffled(r, [x, *others])
    return C(parts, t)

def stacked(r, x):
    if r.ndim(x) > 3: return None
    parts = shuffled(r, [x, *[r.same(x) for _ in range(r.rng.randint(0, 2))]])
    return C(parts, r.fresh(x), r.rng.randint(-r.ndim(x) - 1, r.ndim(x)))

def squared(r, x):
    if not (t := r.tag(x)) or r.ndim(x) > 3 or prod(r.shape(x)) * r.size(x, t) > r.most: return None
    return C(x, t, f'{t} {r.fresh(x)}')

def embedded(o, x, tag, tags): return T.diag_embed(x.t.movedim(x.dim(tag), -1), 0, x.dim(tag), x.t.ndim)

def edges(r, x):
    if r.ndim(x) < 2: return None
    h, w = r.rng.sample(r.tags(x), 2)
    four = [r.rng.randint(-1 if r.size(x, t) > 2 else 0, 2) for t in (w, w, h, h)]
    return (h, w, tuple(four)) if prod(r.shape(x)) < r.most // 4 else None

def framed(x, pads, value=0.):
    "F.pad with (before, after) by tag."
    flat = [n for t in reversed(x.tags) for n in pads.get(t, (0, 0))]
    return F.pad(x.t, flat, value=value)

def picture(o, x, h, w, four, value=0.): return framed(x, {h: four[2:], w: four[:2]}, value)

def by_lanes(r, x, most):
    if not (t := r.tag(x)): return None
    lanes = prod(n for u, n in zip(r.tags(x), r.shape(x)) if u != t)
    return (t, [r.rng.randint(-most, most) for _ in range(lanes)]) if lanes <= 60 else None

def moved(o, x, tag, offsets, value=None):
    d, n = x.dim(tag), x.size(tag)
    shape = [1 if i == d else m for i, m in enumerate(x.t.shape)]
    at = T.arange(n).reshape([n if i == d else 1 for i in range(x.t.ndim)]) - T.tensor(offsets).reshape(shape)
    if value is None: return x.t.gather(d, at % n)
    return T.where((at >= 0) & (at < n), x.t.gather(d, at.clamp(0, n - 1)), like(value, x.t))

row('concat', concatenated, lambda o, ts, tag: T.cat([n.t for n in ts], ts[0].dim(tag)), 'fib')
row('stack', stacked, lambda o, ts, tag, i: T.stack([n.t for n in ts], i), 'fib')
row('repeat', lambda r, x: (t := r.tag(x)) and C(x, t, r.pick((1, 2, 3))), lambda o, x, tag,
    n: x.t.repeat([n if t == tag else 1 for t in x.tags]), 'fib', .6)
row('pad', lambda r,
    x: (t := r.tag(x)) and C(x, t, r.rng.randint(0, 3), r.rng.randint(0, 3), any_number(r, x) if r.flip(.5) else 0),
    lambda o, x, tag, a, b, v: framed(x, {tag: (a, b)}, v), 'fi', .7)
row('constant_pad2d', lambda r, x: (e := edges(r, x)) and C(x, *e, any_number(r, x)), picture, 'fi', .4)
row('zero_pad2d', lambda r, x: (e := edges(r, x)) and C(x, *e), picture, 'fi', .4)
row('flip', lambda r, x: C(x, *r.rng.sample(r.tags(x), r.rng.randint(1, r.ndim(x)))) if r.ndim(x) else None,
    lambda o, x, *tags: x.t.flip(x.dims(tags)), 'fib')
row('roll', lambda r, x: (t := r.tag(x)) and C(x, t, r.rng.randint(-9, 9)), lambda o, x, tag,
    n: x.t.roll(n, x.dim(tag)), 'fib', .6)
row('roll_by', lambda r, x: (e := by_lanes(r, x, 20)) and C(x, *e), moved, 'fib', .3)
row('shift_by', lambda r, x: (e := by_lanes(r, x, 5)) and C(x, *e, any_number(r, x)), moved, 'fi', .3)
row('diag_embed', squared, embedded, 'fib', .4)
row('diag', lambda r, x: C(x, f'{r.fresh(x)} {r.fresh(x, 1)}') if r.ndim(x) == 1 else None, lambda o, x,
    tags: T.diag(x.t), 'fi', .5)
row('trace', lambda r, x: C(x, *r.rng.sample(r.tags(x), 2)) if r.ndim(x) > 1 else None, lambda o, x, a,
    b: x.t.diagonal(0, x.dim(a), x.dim(b)).sum(-1), 'fi', .5)


# picked by number

def spots(r, x, t, unique=False, most=4):
    n = r.size(x, t)
    return r.rng.sample(range(n),
        r.rng.randint(1, min(n, most))) if unique else [r.rng.randrange(n) for _ in range(r.rng.randint(1, most))]

def per_entry(r, x, unique=False):
    "An axis and positions along it, one for each entry."
    if not (t := r.tag(x)): return None
    n = r.size(x, t)
    m = r.rng.randint(1, n if unique else min(7, n + 2))
    sizes = [m if u == t else k for u, k in zip(r.tags(x), r.shape(x))]
    return t, r.leaf(r.tags(x), sizes, dtype='i64',
        draw=('places', r.tags(x).index(t), n) if unique else ('whole', 0, n)), {t: m}

def scattered(unique):
    def make(r, x):
        if not (found := per_entry(r, x, unique)): return None
        t, at, size = found
        return C(x, t, at, r.same(x, **size))
    return make

def rows_of(unique):
    def make(r, x):
        if not (t := r.tag(x)): return None
        at = spots(r, x, t, unique)
        return C(x, t, at, r.same(x, **{t: len(at)}))
    return make

def in_slice(o, x, tag, start, y):
    at = (slice(None),) * x.dim(tag) + (slice(start, start + y.size(tag)),)
    keep = T.ones(x.t.shape, dtype=T.bool)
    keep[at] = False
    after = x.size(tag) - start - y.size(tag)
    return T.where(keep, x.t, framed(y, {tag: (start, after)}))

def set_in(r, x):
    if not (t := r.tag(x)): return None
    n = r.size(x, t)
    start = r.rng.randrange(n)
    return C(x, t, start, r.same(x, **{t: r.rng.randint(1, n - start)}))

def zeroed(o, x, tag, start, n):
    keep = T.ones(x.t.shape, dtype=T.bool)
    keep.narrow(x.dim(tag), start, n).fill_(False)
    return T.where(keep, x.t, like(0, x.t))

row('index_select', lambda r,
    x: (t := r.tag(x)) and C(x, t, spots(r, x, t, most=7), out=r.pick((None, r.fresh(x)))), lambda o, x, tag,
    at, out: x.t.index_select(x.dim(tag), T.tensor(at)), 'fib')
row('take_along_axis', lambda r, x: (e := per_entry(r, x)) and C(x, *e[:2]), lambda o, x, tag,
    at: x.t.gather(x.dim(tag), at.t), 'fib')
row('scatter_add', scattered(False), lambda o, x, tag, at, y: x.t.scatter_add(x.dim(tag), at.t, y.t), 'fi', .7)
row('scatter', scattered(True), lambda o, x, tag, at, y: x.t.scatter(x.dim(tag), at.t, y.t), 'fib', .7)
row('index_add', rows_of(False), lambda o, x, tag, at, y: x.t.index_add(x.dim(tag), T.tensor(at), y.t), 'fi', .7)
row('set_rows', rows_of(True), lambda o, x, tag, at, y: x.t.index_copy(x.dim(tag), T.tensor(at), y.t), 'fib', .7)
row('zero_rows', lambda r, x: (t := r.tag(x)) and C(x, t, spots(r, x, t)), lambda o, x, tag,
    at: x.t.index_fill(x.dim(tag), T.tensor(at), 0), 'fib', .5)
row('set_slice', set_in, in_slice, 'fib', .6)
row('zero_slice', cut, zeroed, 'fib', .4)
row('masked_select', lambda r, x: C(x, r.mask(x, sure=True), r.fresh(x)), lambda o, x, m,
    out: x.t.masked_select(m.t), 'fib', .5)
row('masked_scatter', lambda r,
    x: C(x, m := r.mask(x, sure=True), r.leaf(['v'], [int(r.see(m).data.sum())], x)), lambda o, x, m,
    y: x.t.masked_scatter(m.t, y.t), 'f', .5)
row('nonzero', lambda r, x: C(x) if np.any(r.see(x).data) else None,
    lambda o, x: x.t.reshape(-1).nonzero()[:, 0], 'ib', .2,
    call=lambda x: fl.Tensor(x.nonzero(), 'found'), text='found({0}).nonzero')


# the best, the first, the order

def distinct(r, x):
    "An axis along which no two values are equal or NaN."
    if not (t := r.tag(x)): return None
    rows = np.sort(np.moveaxis(r.see(x).data.astype('f8'), r.tags(x).index(t), -1), -1)
    with np.errstate(all='ignore'): return t if np.all(np.diff(rows,
        axis=-1) > 0) and np.isfinite(rows).all() else None

def sorted_along(r, x):
    if not (t := distinct(r, x)): return None
    return C(x, t, descending=r.flip(.5), pick=r.pick(('values', 'values', 'indices')))

def in_order(o, x, tag, descending, pick): return getattr(x.t.sort(x.dim(tag), descending=descending), pick)

def top(o, x, tag, k, out=None, pick='values'):
    d = x.dim(tag)
    key = x.t.detach().movedim(d, -1)
    if key.dtype.is_floating_point: key = key.nan_to_num(-inf, inf, -inf)
    at = T.sort(key, dim=-1, descending=True, stable=True).indices[..., :k]
    y = x.t.movedim(d, -1).gather(-1, at)
    if y.dtype.is_floating_point:
        lost = ~(y > -inf)
        y, at = T.where(lost, like(-inf, y), y), T.where(lost, 0, at)
    return (y if pick == 'values' else at).movedim(-1, d)

def places(sign): return lambda o, x, tag: first(x.t.movedim(x.dim(tag), -1), None, sign)[..., 0]

row('argmax', lambda r, x: (t := r.tag(x)) and C(x, t), places(1), 'fi', .4)
row('argmin', lambda r, x: (t := r.tag(x)) and C(x, t), places(-1), 'fi', .4)
row('topk', lambda r, x: (t := r.tag(x)) and C(x, t, r.rng.randint(1, r.size(x, t)),
    out=r.pick((None, r.fresh(x))), pick=r.pick(('values', 'values', 'indices'))), top, 'fi')
row('sort', sorted_along, in_order, 'fi')
row('argsort', lambda r, x: (t := distinct(r, x)) and C(x, t, descending=r.flip(.5)), lambda o, x, tag,
    descending: x.t.argsort(x.dim(tag), descending=descending), 'fi', .4)


# step after step

def decayed(r, x):
    if not (t := r.tag(x)): return None
    names = [u for u in r.tags(x) if r.flip(.6)]
    decay = r.leaf(names, [r.size(x, u) for u in names], x, draw=('between', -1., 1.))
    rest = [u for u in r.tags(x) if u != t]
    return C(x, t, decay, r.leaf(rest, [r.size(x, u) for u in rest], x)) if r.flip(.5) else C(x, t, decay)

def recurred(o, x, tag, decay, initial=None):
    d = x.dim(tag)
    a = decay.to(x.tags).expand(x.t.shape).unbind(d)
    h, steps = None if initial is None else initial.to(tuple([t for t in x.tags if t != tag])), []
    for k, v in zip(a, x.t.unbind(d)):
        h = v if h is None else k * h + v
        steps.append(h)
    return T.stack(steps, d)

def segments(r, x):
    if not (t := r.tag(x)): return None
    n = r.size(x, t)
    return C(x, t, [0, *sorted(r.rng.randint(0, n) for _ in range(r.rng.randint(0, 3))), n])

def in_segments(o, x, tag, at):
    parts = [x.t.narrow(x.dim(tag), a, b - a).sum(x.dim(tag)) for a, b in zip(at, at[1:])]
    return T.stack(parts, x.dim(tag))

def added_up(o, x, tag):
    "One sum after the other: each is off by a rounding, and so is what builds on it."
    y = x.t.cumsum(d := x.dim(tag))
    return y + (Kind.shake * chance(y) * y.detach().abs()).cumsum(d) if Kind.shake and y.is_floating_point() else y

row('cumsum', lambda r, x: (t := r.tag(x)) and C(x, t), added_up, 'fib')
def multiplied(o, x, tag):
    "torch multiplies f32 in f64, where less overflows, there and back; ours step by step."
    d = x.dim(tag)
    if x.t.dtype != T.float32: return x.t.cumprod(d)
    steps = [x.t.select(d, 0)]
    for i in range(1, x.size(tag)): steps.append(steps[-1] * x.t.select(d, i))
    return T.stack(steps, d)

row('cumprod', lambda r, x: (t := r.tag(x)) and C(x, t), multiplied, 'fi', .7)
row('segment_sum', segments, in_segments, 'fi', .5)
row('linear_recurrence', decayed, recurred, 'f', .6)


# shares of one

def shares(r, x):
    if not (t := r.tag(x)): return None
    kw = {}
    if r.flip(.3): kw['scale'] = r.pick((.5, 2., -1.))
    if r.flip(.2): kw['mask'] = r.leaf(r.tags(x), r.shape(x), x, grad=False)
    q = r.tag(x, lambda n: n <= r.size(x, t))
    if r.flip(.2) and q and q != t:
        kw['causal'] = q
        kw['source_offset'] = r.rng.randint(0, r.size(x, t) - r.size(x, q))
    if r.flip(.15): kw['sinks'] = r.pick(NUMBERS)
    return C(x, t, **kw)

def soft(o, x, tag, scale=1, mask=None, causal=None, source_offset=0, sinks=None):
    z, d = x.t * scale, x.dim(tag)
    if mask is not None: z = z + mask.to(x.tags)
    if causal:
        q, k = T.arange(x.size(causal)), T.arange(x.size(tag))
        seen = k[None] <= q[:, None] + source_offset
        hidden = ~N(seen, (causal, tag)).to(x.tags)
        z = z.masked_fill(hidden, -inf)
    if sinks is not None: z = T.cat([z, T.full_like(z.narrow(d, 0, 1), sinks)], d)
    y = softmax(z, d).narrow(d, 0, x.size(tag))
    return y.masked_fill(hidden, 0.) if causal else y

row('softmax', shares, soft, 'f', 1.5)
row('logsumexp', lambda r, x: (t := r.tag(x)) and C(x, t), lambda o, x, tag: T.logsumexp(x.t, x.dim(tag)))
def log_shares(o, x, tag):
    d = x.dim(tag)
    y = log_softmax(x.t, d)
    return y.masked_fill((x.t.amax(d, keepdim=True) == inf) & (x.t < inf), -inf)

row('log_softmax', lambda r, x: (t := r.tag(x)) and C(x, t), log_shares)


# how wrong

REDUCTIONS = 'mean', 'sum', 'none'

def labels_of(r, x, t, ignore=None):
    rest = [u for u in r.tags(x) if u != t]
    if r.flip(.6): return r.leaf(rest, [r.size(x, u) for u in rest], dtype='i64', draw=('whole', 0, r.size(x, t)))
    n = prod(r.size(x, u) for u in rest)
    return [r.rng.randrange(r.size(x, t)) for _ in range(n)] if n <= 60 else None

def labelled(smooth):
    def make(r, x):
        if not (t := r.tag(x)) or (y := labels_of(r, x, t)) is None: return None
        kw = dict(reduction=r.pick(REDUCTIONS))
        if smooth and r.flip(.3): kw['label_smoothing'] = r.pick((.25, .5))
        if smooth and r.flip(.3): kw['ignore_index'] = r.rng.randrange(r.size(x, t))
        return C(x, t, y, **kw)
    return make

def flat_labels(y, tags): return y.to(tuple(tags)).reshape(-1) if isinstance(y, N) else T.tensor(y)

def crossed(o, x, tag, y, reduction='mean', label_smoothing=0., ignore_index=None):
    rest, d = [t for t in x.tags if t != tag], x.dim(tag)
    z, y = x.t.movedim(d, -1), flat_labels(y, rest)
    return cross(z.reshape(-1, z.shape[-1]), y, z.shape[:-1], reduction, label_smoothing, ignore_index)

def cross(z, y, shape, reduction, label_smoothing, ignore_index):
    "Of the rows that count; the others are left out, whatever stands in them and whatever comes back."
    kept = T.arange(len(y)) if ignore_index is None else (y != ignore_index).nonzero()[:, 0]
    z, y, all_zero = z[kept], y[kept], T.zeros(len(y), dtype=z.dtype)
    if Kind.shake:
        logs = log_softmax(z, -1)
        if label_smoothing: logs = logs * (1 - label_smoothing) + logs.mean(-1, keepdim=True) * label_smoothing
        losses = F.nll_loss(logs, y, reduction='none')
    else: losses = F.cross_entropy(z, y, reduction='none', label_smoothing=label_smoothing)
    if reduction == 'none': return all_zero.index_put((kept,), losses).reshape(shape)
    return losses.sum() / (max(len(kept), 1) if reduction == 'mean' else 1)

def likely(o, x, tag, y, reduction):
    rest = [t for t in x.tags if t != tag]
    z = x.t.movedim(x.dim(tag), -1)
    loss = F.nll_loss(z.reshape(-1, z.shape[-1]), flat_labels(y, rest), reduction=reduction)
    return loss.reshape(z.shape[:-1]) if reduction == 'none' else loss

def linear(r, x):
    if not r.ndim(x): return None
    n = prod(r.shape(x)[:-1])
    if n > 40: return None
    k, kw = r.pick((1, 2, 3, 7)), dict(reduction=r.pick(REDUCTIONS))
    if r.flip(.3): kw['label_smoothing'] = .25
    if r.flip(.3): kw['ignore_index'] = -1
    w = r.leaf([r.fresh(x), r.tags(x)[-1]], [k, r.shape(x)[-1]], x)
    return C(x, w, [r.rng.randrange(-1 if 'ignore_index' in kw else 0, k) for _ in range(n)], **kw)

def linear_cross(o, x, w, y, reduction, label_smoothing=0., ignore_index=None):
    z = jog(x.t @ w.t.T)
    return cross(z.reshape(-1, z.shape[-1]), T.tensor(y), x.t.shape[:-1], reduction, label_smoothing, ignore_index)

def distill(r, x):
    if r.ndim(x) != 2: return None
    k, n = r.pick((2, 3, 7)), r.rng.randint(1, 6)      # of one class every gradient is 0, but for rounding
    w = r.leaf([r.fresh(x), r.tags(x)[-1]], [k, r.shape(x)[-1]], x)
    return C(x, w, [r.rng.randrange(r.shape(x)[0]) for _ in range(n)], [r.rng.randrange(k) for _ in range(n)],
        [r.pick((.25, .5, 1.)) for _ in range(n)], reduction=r.pick(('mean', 'sum')))

def distilled(o, x, w, rows, classes, probs, reduction):
    z = jog(x.t[rows] @ w.t.T)      # the other rows are not looked at
    logs = log_softmax(z, -1) if Kind.shake else z - T.logsumexp(z, -1, keepdim=True)
    losses = -logs[T.arange(len(rows)), classes]
    return (losses * T.tensor(probs, dtype=z.dtype)).sum() / (len(rows) if reduction == 'mean' else 1)

def target(r, x, draw=None):
    "Another tensor with the axes of x, perhaps in another order."
    if draw is None and r.flip(.6): return r.same(x)
    names = shuffled(r, r.tags(x))
    return r.leaf(names, [r.size(x, t) for t in names], x, draw=draw)

def reduced(y, how): return y if how == 'none' else getattr(y, how)()
def pair(f): return lambda o, x, y, reduction, **kw: f(x.t, y.to(x.tags), reduction, **kw)

def by_scores(x, y, reduction):
    if Kind.shake: return reduced(jog((1 - y) * x) - jog(F.logsigmoid(x)), reduction)
    return F.binary_cross_entropy_with_logits(x, y, reduction=reduction)

def unsure(x, y, reduction):
    p = T.where((x >= 1e-7) & (x <= 1 - 1e-7), x, x.detach().clamp(1e-7, 1 - 1e-7))
    return reduced(-(y * p.log() + (1 - y) * T.log1p(-p)), reduction)

def divergence(x, y, reduction, log_target):
    if log_target:
        some = y.exp() != 0
        safe = T.where(some, y, like(0., y))
        return reduced(T.where(some, safe.exp() * (safe - x), like(0., y)), reduction)
    some = y > 0
    safe = T.where(some, y, like(1., y))
    return reduced(T.where(some, safe * (safe.log() - x), like(0., y)), reduction)

def chances(r, x):
    if not np.isfinite(r.see(x).data).all(): return None
    if r.flip(.5): return C(x, target(r, x, ('between', 0., 1.)), reduction=r.pick(REDUCTIONS), from_logits=True)
    if (p := r.do('sigmoid', x)) is None: return None
    return C(p, target(r, p, ('between', 0., 1.)), reduction=r.pick(REDUCTIONS), from_logits=False)

def alike(r, x):
    if not (t := r.tag(x)): return None
    y = r.same(x)
    for v in (x, y):
        size = np.linalg.norm(r.see(v).data.astype('f8'), axis=r.tags(v).index(t))
        if not np.all(size > .05): return None
    return C(x, y, t, 1e-8)

def cosine(o, x, y, tag, eps):
    d, (a, b) = x.dim(tag), [t * 1 if Kind.shake else t for t in (x.t, y.to(x.tags))]
    y = (a * b).sum(d) / (a.norm(dim=d) * b.norm(dim=d)).clamp(min=eps)
    length = lambda t: t.detach().norm(dim=d, keepdim=True).clamp(min=1e-300)
    share = lambda t: t.detach().abs() / length(t)
    for one, other in ((a, b), (b, a)):
        off_by(one, y, lambda g, one=one, other=other: g.unsqueeze(d) * (share(other) + share(one)) / length(one))
    return y

row('cross_entropy', labelled(True), crossed)
row('nll_loss', labelled(False), likely, 'f', .6)
row('linear_cross_entropy', linear, linear_cross, 'f', .6)
row('linear_distill', distill, distilled, 'f', .4)
row('mse_loss', lambda r, x: C(x, target(r, x), reduction=r.pick(REDUCTIONS)),
    pair(lambda x, y, reduction: F.mse_loss(x, y, reduction=reduction)), 'f', .6)
row('huber_loss', lambda r, x: C(x, target(r, x), delta=r.pick((.5, 1.)), reduction=r.pick(REDUCTIONS)),
    pair(lambda x, y, reduction, delta: F.huber_loss(x, y, reduction=reduction, delta=delta)), 'f', .6)
row('bce_loss', chances,
    pair(lambda x, y, reduction, from_logits: (by_scores if from_logits else unsure)(x, y, reduction)), 'f', .6)
row('kl_div', lambda r, x: C(x, target(r, x, ('between', .05, 1.)), reduction=r.pick(REDUCTIONS),
    log_target=False) if r.flip(.6) else C(x, target(r, x), reduction=r.pick(REDUCTIONS),
    log_target=True), pair(divergence), 'f', .6)
row('cosine_similarity', alike, cosine, 'f', .5)


# brought to one size

def weights(r, x, t, *names): return {n: r.leaf([t], [r.size(x, t)], x) for n in names}

def rms(r, x):
    if not (t := r.tag(x)): return None
    kw = weights(r, x, t, *['weight'] * r.flip(.5))
    if r.flip(.2): kw['residual'] = r.same(x)
    return C(x, t, eps=r.pick((1e-5, .5)), **kw)

def brought(z, y, d, size):
    """y = (z - mean) / size, where a gradient is what is left when its parts along 1 and along y are taken away."""
    h, r = y.detach().abs(), 1 / size.detach()
    return off_by(z, y, lambda g: r * (g + g.mean(d, keepdim=True) + h * (g * h).mean(d, keepdim=True)))

def rms_normed(o, x, tag, eps, weight=None, residual=None):
    d, n = x.dim(tag), x.size(tag)
    if Kind.shake:
        z, w = x.t.movedim(d, -1) * 1, weight.t if weight else 1
        y = brought(z, F.rms_norm(z, (n,), None, eps), -1, (z.square().mean(-1, keepdim=True) + eps).sqrt()) * w
    else: y = F.rms_norm(x.t.movedim(d, -1), (n,), weight.t if weight else None, eps)
    y = y.movedim(-1, d)
    return y + residual.t if residual else y

def of_length_one(o, x, tag, eps):
    d, z = x.dim(tag), x.t * 1 if Kind.shake else x.t
    squared = z.square().sum(d, keepdim=True) + eps
    y = z * T.rsqrt(squared)
    return brought(z, y, d, squared.sqrt() / x.size(tag)) if Kind.shake else y

def layer(r, x):
    if not (t := r.tag(x)): return None
    return C(x, t, eps=r.pick((1e-5, .5)), **weights(r, x, t, *['weight', 'bias'] * r.flip(.5)))

def layer_normed(o, x, tag, eps, weight=None, bias=None):
    d, n = x.dim(tag), x.size(tag)
    z, more = x.t.movedim(d, -1), (weight and weight.t, bias and bias.t)
    if not Kind.shake: return F.layer_norm(z, (n,), *more, eps).movedim(-1, d)
    size = ((z := z * 1).var(-1, correction=0, keepdim=True) + eps).sqrt()
    y = brought(z, F.layer_norm(z, (n,), None, None, eps), -1, size)
    return (y * more[0] + more[1] if weight else y).movedim(-1, d)

def group(r, x):
    if r.ndim(x) != 2: return None
    t, c = r.tags(x)[-1], r.shape(x)[-1]
    n = r.pick([g for g in range(1, c + 1) if c % g == 0])
    if prod(r.shape(x)) == n: return None       # one value in each group, which torch refuses
    return C(x, t, n, eps=r.pick((1e-5, .5)), **weights(r, x, t, *['weight'] * r.flip(.5), *['bias'] * r.flip(.5)))

def standard(r, x):
    if not (t := r.tag(x, lambda n: n > 1)): return None
    kw = dict(ddof=r.pick((0, 1)), eps=r.pick((.125, .5)), eps_mode='inside_sqrt')
    if r.flip(.2): kw['valid_len'] = r.rng.randint(2, r.size(x, t))
    return C(x, t, **kw)

def standardized(o, x, tag, ddof, eps, eps_mode, valid_len=None):
    d, n = x.dim(tag), x.size(tag)
    v = x.t.narrow(d, 0, valid_len or n)
    var = v.var(d, correction=ddof, keepdim=True) if v.shape[d] > ddof else v.sum(d, keepdim=True) * 0
    y = (v - v.mean(d, keepdim=True)) / (var + eps).sqrt()
    return T.cat([y, T.zeros_like(x.t.narrow(d, valid_len, n - valid_len))], d) if valid_len else y

row('rms_norm', rms, rms_normed)
row('layer_norm', layer, layer_normed)
def group_normed(o, x, tag, n, eps, weight=None, bias=None):
    y = F.group_norm(x.t.T[None], n, None, None, eps)[0].T      # a bias without a weight is more than torch takes
    y = y * weight.t if weight else y
    return y + bias.t if bias else y

row('group_norm', group, group_normed, 'f', .7)
row('standardize', standard, standardized, 'f', .5)
row('l2_normalize', lambda r, x: (t := r.tag(x)) and C(x, t, eps=r.pick((1e-5, .5))), of_length_one, 'f', .6)
row('snake', lambda r,
    x: C(x, r.tags(x)[-1], *weights(r, x, r.tags(x)[-1], 'a', 'b').values()) if r.ndim(x) == 2 else None,
    lambda o, x, tag, a, b: x.t + b.t * T.sin(a.t * x.t) ** 2, 'f', .4)
row('prelu', lambda r, x: (t := r.tag(x)) and C(x, weights(r, x, t, 'a')['a']), lambda o, x,
    a: F.prelu(x.t[None].movedim(1 + x.dim(a.tags[0]), 1), a.t).movedim(1, 1 + x.dim(a.tags[0]))[0], 'f', .6)
row('channel_affine', lambda r, x: (t := r.tag(x)) and C(x, *weights(r, x, t, 'a', 'b').values()), lambda o, x,
    a, b: x.t * a.to(x.tags) + b.to(x.tags), 'f', .4)


# turned, shifted, looked at

def turning(r, x):
    t = r.tag(x, lambda n: n % 2 == 0)
    p = r.tag(x)
    if not t or not p or p == t: return None
    kw = dict(positions=[r.rng.randint(-3, 40) for _ in range(r.size(x, p))]) if r.flip(.5) else {}
    return C(x, p, t, r.pick((100., 10000.)), mode=r.pick(('half', 'interleaved')), **kw)

def turned(o, x, p, t, theta, mode, positions=None):
    n, d = x.size(p), x.size(t)
    at = np.arange(n) if positions is None else np.array(positions)
    angle = (at[:, None].astype('f4') / (theta ** (np.arange(0, d, 2) / d)).astype('f4')).astype('f8')
    cos, sin = [T.tensor(f(angle).astype('f4')).to(x.t.dtype) for f in (np.cos, np.sin)]     # a table is f32
    y = x.t.movedim((x.dim(p), x.dim(t)), (-2, -1))
    a, b = (y[..., :d // 2], y[..., d // 2:]) if mode == 'half' else (y[..., ::2], y[..., 1::2])
    u, v = a * cos - b * sin, b * cos + a * sin
    y = T.cat([u, v], -1) if mode == 'half' else T.stack([u, v], -1).flatten(-2)
    return y.movedim((-2, -1), (x.dim(p), x.dim(t)))

def distances(r, x):
    if r.ndim(x) < 2: return None
    q, p = r.shape(x)[-2:]
    return C(x, r.rng.randint(1, p - q + 1), joined([*r.tags(x)[:-1], r.fresh(x)])) if p >= q else None

def shifted(o, x, n,
    tags): return T.stack([x.t[..., i, x.t.shape[-2] - 1 - i:][..., :n] for i in range(x.t.shape[-2])], -2)

def attend(r, x):
    if r.ndim(x) != 3 or not np.isfinite(r.see(x).data.astype('f4')).all(): return None
    t, heads, d = r.shape(x)
    kv = r.pick([n for n in range(1, heads + 1) if heads % n == 0])
    s = t + r.pick((0, 0, 1, 3))
    k, v = [r.leaf(['seq', 'kv_head', 'd'], [s, kv, d], x, draw=('between', -2., 2.)) for _ in 'kv']
    kw = dict(mask='bidirectional') if r.flip(.4) else dict(window=r.pick((0, 0, 2)))
    if r.flip(.3): kw['scale'] = r.pick((.5, 1.))
    if r.flip(.2): kw['sinks'] = r.leaf(['head'], [heads], x, draw=('between', -2., 2.))
    return C(x, k, v, **kw)

def attended(o, q, k, v, mask='causal', window=0, scale=None, sinks=None):
    (t, heads, d), (s, kv) = q.t.shape, k.t.shape[:2]
    q, k, v = q.t.movedim(1, 0), *[a.t.movedim(1, 0).repeat_interleave(heads // kv, 0) for a in (k, v)]
    z = jog(q @ k.mT) * (d ** -.5 if scale is None else scale)
    back = T.arange(t)[:, None] + (s - t) - T.arange(s)
    hidden = (back < 0) | (back >= (window or s + t)) if mask == 'causal' else T.zeros(t, s, dtype=T.bool)
    z = z.masked_fill(hidden, -inf)
    if sinks: z = T.cat([z, sinks.t[:, None, None].expand(heads, t, 1)], -1)
    z = z * 1 if Kind.shake else z
    p = softmax(z)
    y = p[..., :s].masked_fill((z == -inf).all(-1, keepdim=True), 0.) @ v
    # what comes back to a score is the difference of two products with v, which ours sums in another order
    off_by(z, y, lambda g: p.detach() * (g @ v.detach().abs().mT).amax(-1, keepdim=True))
    return y.movedim(0, 1).flatten(1)

row('rope', turning, turned, 'f', .7)
row('relpos_shift', distances, shifted, 'f', .3)
row('attention', attend, attended, 'f', 1.5, call=lambda q, *a,
    **kw: q.rename('seq head d').attention(*a, **kw), text="{0}.rename('seq head d').attention")


# windows

def image(r, x):
    "Whether x may be a picture: large enough, not too large, and not by its names something else."
    return r.ndim(x) >= 3 and prod(r.shape(x)) <= r.most // 2 and not astray(tuple(r.tags(x)[-3:]))
def batch(t): return t.reshape(-1, *t.shape[-3:]).movedim(-1, 1)
def unbatch(y, lead): return y.movedim(1, -1).reshape(*lead, *y.shape[2:], y.shape[1])

def window(r, x, padding=True):
    "Kernel, stride and padding that fit the image x."
    h, w = r.shape(x)[-3:-1]
    kernel = r.rng.randint(1, min(3, h)), r.rng.randint(1, min(3, w))
    stride = r.pick(((1, 1), (1, 1), (2, 1), (2, 3)))
    return kernel, stride, (tuple([r.rng.randint(0, k // 2) for k in kernel]) if padding and r.flip(.4) else (0, 0))

def convolve(r, x):
    if not image(r, x) or r.unused(x) < 4: return None
    (kh, kw), stride, padding = window(r, x)
    c, o = r.shape(x)[-1], r.pick((1, 2, 3, 4))
    groups = r.pick([g for g in range(1, c + 1) if c % g == 0 and o % g == 0])
    out, *rest = [r.fresh(x, i) for i in range(4)]
    w = r.leaf([out, *rest[:2], r.tags(x)[-1] if r.flip(.5) else rest[2]], [o, kh, kw, c // groups], x)
    more = dict(bias=r.leaf([out], [o], x)) if r.flip(.5) else {}
    return C(x, w, stride=stride, padding=padding, groups=groups, relu=r.flip(.2), **more)

def convolved(o, x, w, stride, padding, groups, relu, bias=None):
    y = F.conv2d(batch(x.t), w.t.permute(0, 3, 1, 2).contiguous(), bias and bias.t, stride, padding, 1, groups)
    return unbatch(y.relu() if relu else y, x.t.shape[:-3])

def pooled(f, **fixed):
    return lambda o, x, kernel, stride, padding: unbatch(f(batch(x.t), kernel, stride, padding), x.t.shape[:-3])

def largest(t, kernel, stride, padding):
    "Windows as rows; what lies beyond the border never wins."
    (kh, kw), (sh, sw) = kernel, stride
    def rows(t, beyond):
        t = F.pad(t, (padding[1],) * 2 + (padding[0],) * 2, value=beyond)
        return t.unfold(2, kh, sh).unfold(3, kw, sw).flatten(-2)
    inside = rows(T.ones_like(t), 0.) == 1
    return (t := rows(t, -inf)).gather(-1, first(t, inside))[..., 0]

def unfolding(r, x):
    if not image(r, x): return None
    kernel, stride, padding = window(r, x)
    return C(x, kernel, stride, padding, out=f'{r.fresh(x)} {r.fresh(x, 1)}')

def unfolded(o, x, kernel, stride, padding, out):
    c = x.t.shape[-1]
    y = F.unfold(batch(x.t), kernel, 1, padding, stride)             # n, c taps, places
    return y.reshape(len(y), c, -1, y.shape[-1]).permute(0, 3, 2, 1).reshape(*x.t.shape[:-3], y.shape[-1], -1)

def folding(r, x):
    "The windows of an image, put back where they came from."
    if not image(r, x): return None
    kernel, stride, padding = window(r, x)
    size = r.shape(x)[-3:-1]
    windows = r.do('unfold', x, kernel, stride, padding, out=f'{r.fresh(x)} {r.fresh(x, 1)}')
    return windows and C(windows, size, kernel, stride, padding, out=joined(r.fresh(windows, i) for i in range(3)))

def folded_back(o, x, size, kernel, stride, padding, out):
    taps = prod(kernel)
    *lead, places, width = x.t.shape
    y = x.t.reshape(-1, places, taps, width // taps).permute(0, 3, 2, 1).reshape(-1, width, places)
    return unbatch(F.fold(y, size, kernel, 1, padding, stride), lead)

def signal(r, x):
    "An axis of time, one of channels."
    return r.rng.sample(r.tags(x), 2) if r.ndim(x) >= 2 and prod(r.shape(x)) <= r.most // 2 else None

def convolve1(r, x):
    if not (found := signal(r, x)): return None
    time, c = found
    taps, dilation, depthwise = r.rng.randint(1, 3), r.pick((1, 1, 2)), r.flip(.3)
    causal = r.flip(.4)
    padding = 0 if causal else r.rng.randint(0, 2)
    if not causal and dilation * (taps - 1) + 1 > r.size(x, time) + 2 * padding: return None
    tap, out = r.fresh(x), r.fresh(x, 1)
    names = shuffled(r, [tap, c] + [out] * (not depthwise))
    size = {tap: taps, c: r.size(x, c), out: r.pick((1, 2, 3))}
    return C(x, r.leaf(names, [size[t] for t in names], x), time, tap, stride=r.pick((1, 1, 2)),
        padding=padding, dilation=dilation, causal=causal)

def sound(x, time, c):
    "(others, channels, time) and the way back with another name and sizes."
    rest = tuple([t for t in x.tags if t not in (time, c)])
    t = x.to(rest + (c, time))
    return t.reshape(-1, *t.shape[-2:]), lambda y, out, o: N(y.reshape(*t.shape[:-2], *y.shape[-2:]),
        rest + (out, time)).to(o)

def convolved1(o, x, w, time, tap, stride, padding, dilation, causal):
    c, = [t for t in w.tags if t in x.tags]
    v, back = sound(x, time, c)
    out = next((t for t in w.tags if t not in (tap, c)), None)
    if causal: v = F.pad(v, (dilation * (w.size(tap) - 1), 0))
    weight, groups = (w.to((out, c, tap)).contiguous(), 1) if out else (w.to((c, tap))[:, None].contiguous(),
        x.size(c))
    return back(F.conv1d(v, weight, None, stride, padding, dilation, groups), out or c, o)

def spread_out(r, x):
    if not (found := signal(r, x)): return None
    time, c = found
    taps, stride = r.rng.randint(1, 4), r.pick((1, 2, 3))
    length = (r.size(x, time) - 1) * stride + taps
    padding = r.rng.randint(0, max(0, min(1, (length - 1) // 2)))
    tap, out = r.fresh(x), r.fresh(x, 1)
    names = shuffled(r, [tap, c, out])
    size = {tap: taps, c: r.size(x, c), out: r.pick((1, 2, 3))}
    more = dict(bias=r.leaf([out], [size[out]], x)) if r.flip(.5) else {}
    return C(x, r.leaf(names, [size[t] for t in names], x), time, tap, stride=stride, padding=padding, **more)

def spread_back(o, x, w, time, tap, stride, padding, bias=None):
    c, = [t for t in w.tags if t in x.tags]
    out, = [t for t in w.tags if t not in (tap, c)]
    v, back = sound(x, time, c)
    return back(F.conv_transpose1d(v, w.to((c, out, tap)).contiguous(), bias and bias.t, stride, padding), out, o)

row('conv2d', convolve, convolved)
row('max_pool2d', lambda r, x: C(x, *window(r, x)) if image(r, x) else None, pooled(largest), 'f', .7)
row('avg_pool2d', lambda r, x: C(x, *window(r, x)) if image(r, x) else None,
    pooled(lambda t, *a: F.avg_pool2d(t, *a, count_include_pad=False)), 'f', .7)
row('upsample2x_nearest', lambda r, x: C(x) if image(r, x) and prod(r.shape(x)) <= r.most // 4 else None,
    lambda o, x: unbatch(F.interpolate(batch(x.t), scale_factor=2), x.t.shape[:-3]), 'f', .5)
row('unfold', unfolding, unfolded, 'f', .7)
row('fold', folding, folded_back, 'f', .5)
row('conv1d', convolve1, convolved1)
row('conv_transpose1d', spread_out, spread_back, 'f', .7)


# number types

ENDS = dict(i32=(-2.**31, 2.**31 - 1), i16=(-2.**15, 2.**15 - 1), i8=(-128., 127.), u8=(0., 255.))

def typed(r, x):
    if not r.is_float(x): return C(x, r.pick(('f32', 'f64', 'i64', 'i32', 'i16', 'i8', 'u8', 'bool')))
    if r.wants_grad(x): return C(x,
        r.pick({'f32': ('f64', 'f32'), 'f64': ('f64', 'f32')}.get(r.name(x), ('f32', 'f64'))))
    return C(x, r.pick(('f32', 'f64', 'i32', 'i8', 'bool') if r.name(x) in ('f32', 'f64') else ('f32', 'f64',
        'f16', 'bf16', 'i16', 'bool')))

def retyped(o, x, name):
    if name in ENDS and x.t.dtype.is_floating_point:
        return x.t.double().nan_to_num(0.).clamp(*ENDS[name]).to(kind(name))
    if name == 'bool': return x.t != 0
    return x.t.to(kind(name))

def no_zero(r, x):
    if r.flip(.5): return C(x, r.pick((1, 2, 3, 5) if r.name(x) == 'u8' else (1, 2, 3, -1, -2, -5)))
    y = r.partner(x)
    if y is None or not r.see(y).data.all(): return None
    a = r.see(x).data
    return C(x, y) if np.all(a > np.iinfo(a.dtype).min) else None

row('to', typed, retyped, 'fib', .5)
for name, f in dict(div_floor=lambda a, b: T.div(a, b, rounding_mode='floor'), div_trunc=lambda a,
    b: T.div(a, b, rounding_mode='trunc'), mod=lambda a, b: T.remainder(a, b), rem=lambda a,
    b: T.fmod(a, b)).items():
    row(name, no_zero, meet(f), 'i', 2)
for name, f in dict(bit_and=lambda a, b: a & b, bit_or=lambda a, b: a | b, bit_xor=lambda a, b: a ^ b).items():
    row(name, two, meet(f), 'i', 2)
