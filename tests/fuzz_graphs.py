"""Random graphs of ten operations: what one is, how it is drawn, and how ours and torch compute it.

A graph is drawn from the table in fuzz_ops.py while our library computes it, so that every call has operands that fit.
The numbers in leaves are made here: those of a graph that is kept (fuzz.py) must not change.
"""
import random, warnings
from dataclasses import dataclass, field
from math import prod
import numpy as np
import fucinalib as fl
from fucinalib import kernels
import fuzz_ops
from fuzz_ops import TABLE, Kind, N, V, kind
from parity import torch as T

STEPS = 10                          # operations of a graph
SIZES, MOST = (1, 2, 3, 7, 17), 400             # of axes, and how many values a tensor may have
BIG_SIZES, BIG_MOST = (3, 67, 129, 257), 120_000    # above the floors of the kernels
NEW = 'pqrstuvw'                    # names of axes that operations make
EPS = dict(f64=2.**-52, f32=2.**-23, bf16=2.**-7, f16=2.**-10)
HALF, REAL = ('bf16', 'f16'), ('f64', 'f32', 'bf16', 'f16')
DTYPES = ['f32'] * 10 + ['f64'] * 5 + ['bf16', 'f16'] * 2 + ['i64', 'i32', 'i16', 'i8', 'u8']
STYLES = ('normal', 1.), ('normal', 1.), ('normal', 3.), ('coarse',), ('between', .1, 2.)
STRANGE = np.nan, np.inf, -np.inf, 0., -0., 1e30, 1e-30, -1e4
WEIGHTS = .5 + np.modf(np.arange(1 << 18) * .6180339887498949)[0]       # how much each value of a result counts
BACKENDS = ['numpy', 'pythran']


@dataclass
class Leaf:
    "A tensor that a graph begins with."
    tags: tuple
    shape: tuple
    dtype: str
    draw: tuple         # how its values are drawn, or ('values', nested list)
    layout: str = ''    # how it lies in memory
    grad: bool = False


@dataclass
class Call:
    "One operation; operands among the arguments are V."
    op: str
    args: tuple
    kw: dict
    pick: object = None     # which part of a result of several


@dataclass
class Program:
    "Leaves and calls in the order they were made, and the value that backward starts from."
    steps: list
    seed: int
    dtype: str
    wild: bool = False      # inf, NaN and huge numbers are welcome
    last: int = None
    floors: bool = False    # kernels keep their floors; else they run at any size
    types: list = field(default_factory=list)       # (tags, shape, number type) of every value, as ours has it
    up: np.ndarray = None       # the gradient that `last` gets; WEIGHTS if None

    @property
    def calls(self): return [i for i, s in enumerate(self.steps) if type(s) is Call]
    @property
    def leaves(self): return [i for i, s in enumerate(self.steps) if type(s) is Leaf]


def begin():
    "For a process that runs many graphs: one thread, no warnings, torch at hand."
    import torch
    global T
    T, fuzz_ops.T, fuzz_ops.F = torch, torch, torch.nn.functional       # without the way round by parity.Later
    Kind.luck = torch.Generator()
    np.seterr(all='ignore')
    warnings.simplefilter('ignore')
    torch.set_num_threads(1)
    fl.set_num_threads(1)


# ---- random numbers

class Draws:
    "The same on every machine and in every version: splitmix64 of a counter (Steele et al. 2014)."
    STEP = np.uint64(0x9E3779B97F4A7C15)
    MIX = [(np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB))]
    def __init__(self, seed): self.seed, self.at = np.array([seed * 0xD1342543DE82EF95 % 2**64], np.uint64), 1

    def bits(self, shape):
        n = prod(shape)
        x = np.arange(self.at, self.at + n, dtype=np.uint64) * self.STEP + self.seed
        self.at += n
        for shift, factor in self.MIX: x = (x ^ (x >> shift)) * factor
        return (x ^ (x >> np.uint64(31))).reshape(shape)

    def integers(self, low, high, shape):
        return (self.bits(shape) % np.uint64(high - low) + np.uint64(low % 2**64)).astype(np.int64)

    def random(self, shape=()): return (self.bits(shape) >> np.uint64(11)) * 2.**-53
    def uniform(self, low, high, shape): return low + self.random(shape) * (high - low)
    def choice(self, some, shape): return np.asarray(some)[self.integers(0, len(some), shape)]

    def standard_normal(self, shape):
        return np.sqrt(-2 * np.log(1 - self.random(shape))) * np.cos(2 * np.pi * self.random(shape))


def places(draws, shape, axis, n):
    "Along the axis, some of n positions, none twice."
    ranks = np.argsort(draws.random([n if i == axis else m for i, m in enumerate(shape)]), axis)
    return ranks.take(np.arange(shape[axis]), axis)

def drawn(leaf, draws, wild):
    "The values of a leaf."
    how, *more = leaf.draw
    if how == 'values': a = np.reshape(more[0], leaf.shape)
    elif how == 'truth': a = draws.random(leaf.shape) < more[0]
    elif how == 'places': a = places(draws, leaf.shape, *more)
    elif how == 'whole': a = draws.integers(*more, leaf.shape)
    elif how == 'between': a = draws.uniform(*more, leaf.shape)
    elif how == 'coarse': a = draws.integers(-4, 5, leaf.shape) / 2
    else:
        a = draws.standard_normal(leaf.shape) * more[0]
        if wild and draws.random() < .5:
            at = draws.random(leaf.shape) < .15
            a = np.where(at, draws.choice(STRANGE, leaf.shape), a)
    return np.asarray(a).astype(fl.dtypes.by_name[leaf.dtype].np)

def laid_out(a, layout):
    "The same values in another place of memory."
    if layout == 'fortran': return np.asfortranarray(a)
    if layout == 'repeated': return np.broadcast_to(a[:1], a.shape)
    if not layout: return a
    if layout == 'stepped': b = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)[..., ::2]
    else: b = np.zeros(a.shape, a.dtype)[..., ::-1]
    b[...] = a
    return b

def data_of(program):
    "The arrays of all leaves, by number."
    draws = Draws(program.seed)
    return {i: laid_out(drawn(program.steps[i], draws, program.wild), program.steps[i].layout) for i in program.leaves}


# ---- ours

def resolve(a, values):
    "An argument with its operands in place."
    if type(a) is V: return values[a]
    return [resolve(b, values) for b in a] if type(a) is list and a and type(a[0]) is V else a

def call_ours(c, values):
    f = TABLE[c.op].call or fl.registry[c.op].call
    y = f(*[resolve(a, values) for a in c.args], **{k: resolve(a, values) for k, a in c.kw.items()})
    return y if c.pick is None else getattr(y, c.pick) if isinstance(c.pick, str) else y[c.pick]

class Floors:
    "The sizes from which compiled kernels run: their own, or none."
    own, kept = {}, True
    @classmethod
    def keep(cls, kept):
        if cls.kept == kept: return
        for name, k in kernels.table.items():     # some join late: with the module that has them
            if not kept: cls.own[name] = k.floor
            k.floor = cls.own.get(name, k.floor) if kept else 2 * (name == 'turn')       # `settle` asks for two values
        cls.kept = kept

def tensors(program, arrays, backend, grad=True):
    "All values of a program."
    fl.use_backend(backend)
    Floors.keep(program.floors)
    values = []
    for i, s in enumerate(program.steps):
        leaf = type(s) is Leaf
        values.append(fl.Tensor(arrays[i], s.tags, requires_grad=grad and s.grad) if leaf else call_ours(s, values))
    return values

def backward(program, values):
    "Gradients of all leaves that have one, by number; zeros where nothing arrives."
    if program.last is None: return {}
    y = values[program.last]
    up = WEIGHTS[:y.data.size].reshape(y.shape) if program.up is None else program.up
    y.backward(up.astype('f8' if y.data.dtype == np.float64 else 'f4'))
    leaves = {i: values[i] for i in program.leaves if program.steps[i].grad}
    return {i: np.zeros(x.shape) if x.grad is None else x.grad.data for i, x in leaves.items()}

def run_ours(program, arrays, backend):
    "All values as arrays, and the gradients."
    values = tensors(program, arrays, backend)
    return [v.data for v in values], backward(program, values)

def types_of(values): return [(v.tags, v.data.shape, str(v.dtype)) for v in values]


# ---- torch

def leaf_torch(a, name):
    if name in REAL: a = a.astype('f8' if Kind.wide or name == 'f64' else 'f4')
    return T.from_numpy(np.array(a, order='C'))

def cast(y, name):
    "A torch result as the type that ours has; 16 bits are rounded, and held as f32."
    want = kind(name)
    if y.dtype != want: y = y.to(want)
    if name in HALF and not y.requires_grad: y = y.to(T.bfloat16 if name == 'bf16' else T.float16).to(want)
    return y

def shaken(t, by):
    "A tensor off by a rounding, and its gradient by another: what is 0 because two things cancel has roundings left."
    if not by or not t.dtype.is_floating_point: return t
    off = (t.detach() * by * fuzz_ops.chance(t)).nan_to_num(0., 0., 0.)      # inf and NaN stay
    return sent(t + off, by) if t.requires_grad else t + off

def sent(t, by):
    "The same tensor, which gets its gradient off by a rounding."
    t = t * 1
    fuzz_ops.hook(t, lambda g: g * (1 + by * fuzz_ops.chance(g)))
    return t

class Uses:
    "The values so far for one step: shaken once, but each place where it uses one sends a gradient of its own."
    def __init__(self, ns, by): self.ns, self.by, self.known = ns, by, {}
    def __getitem__(self, i):
        n = self.ns[i]
        if i not in self.known: self.known[i] = shaken(n.t, self.by)
        t = self.known[i]
        return N(sent(t, self.by) if t.requires_grad else t, n.tags)

def run_torch(*args):
    "run_in_torch, which leaves nothing behind."
    try: return run_in_torch(*args)
    finally: fuzz_ops.unhook()

def run_in_torch(program, arrays, wide=False, shake=None):
    """The same in torch: all values as arrays, the gradients, and the values whose number type differs from ours.
    wide: reals are f64; shake: every operand and result is off by about so much, relative to itself."""
    Kind.wide, Kind.shake, ns, leaves, odd = wide, shake, [], {}, []
    for i, s in enumerate(program.steps):
        tags, _, name = program.types[i]
        if type(s) is Leaf:
            t = leaf_torch(arrays[i], s.dtype)
            if s.grad: leaves[i] = t.requires_grad_(True)
        else:
            seen = Uses(ns, shake) if shake else ns
            kw = {k: resolve(a, seen) for k, a in s.kw.items()}
            if s.pick is not None: kw['pick'] = s.pick
            t = TABLE[s.op].twin(tags, *[resolve(a, seen) for a in s.args], **kw)
            if not wide and name not in HALF and t.dtype != kind(name): odd.append(i)
            t = cast(shaken(t, shake), name)
        ns.append(N(t, tags))
    values = [n.t.detach().numpy() for n in ns]
    return values, torch_gradients(ns[program.last].t, leaves, program.up) if program.last is not None else {}, odd

def torch_gradients(y, leaves, up):
    found = [None] * len(leaves)
    if leaves and y.requires_grad:
        w = WEIGHTS[:y.numel()].reshape(tuple(y.shape)) if up is None else up
        w = T.from_numpy(np.array(w, order='C')).to(y.dtype)
        found = T.autograd.grad(y, list(leaves.values()), w, allow_unused=True)
    return {i: np.zeros(tuple(t.shape)) if g is None else g.numpy() for (i, t), g in zip(leaves.items(), found)}


# ---- drawing one

class Graph:
    "A graph that grows: what the table's `make` may ask and do. Values are computed by ours as they are added."
    ROWS = list(TABLE.values())
    SUMS = list(np.cumsum([row.weight for row in ROWS]))

    def __init__(self, seed, dtype=None, big=None):
        self.rng, self.data, self.seed = random.Random(seed), Draws(seed), seed
        flip, pick = self.flip, self.pick
        self.dtype = dtype or pick(DTYPES)
        self.float, half = self.dtype in REAL, self.dtype in HALF
        self.big = flip(.003) if big is None else big
        self.sizes, self.most = (BIG_SIZES, BIG_MOST) if self.big else (SIZES, MOST)
        self.wild, self.style = flip(.12), pick(STYLES)
        self.grads = self.float and flip(.3 if half else .9)
        self.moves = self.grads and half        # 16-bit numbers pass gradients only where they are moved
        self.size_of = {t: pick(self.sizes) for t in 'abcd'}
        self.steps, self.values = [], []

    def flip(self, p): return self.rng.random() < p
    def pick(self, some): return some[int(self.rng.random() * len(some))]

    # what a value is
    def see(self, v): return self.values[v]
    def tags(self, v): return self.values[v].tags
    def shape(self, v): return self.values[v].data.shape
    def ndim(self, v): return self.values[v].data.ndim
    def size(self, v, tag): return self.values[v].size(tag)
    def sizes_of(self, v): return dict(zip(self.tags(v), self.shape(v)))
    def name(self, v): return str(self.values[v].dtype)
    def is_float(self, v): return self.values[v].data.dtype.kind not in 'iub'
    def is_leaf(self, v): return type(self.steps[v]) is Leaf
    def wants_grad(self, v): return self.values[v].node is not None
    def alike(self, v, x): return self.values[v].data.dtype == self.values[x].data.dtype

    # choices
    def tag(self, v, good=None):
        "An axis of a value, one whose size is good; None if it has none."
        tags = self.tags(v)
        if good: tags = [t for t, n in zip(tags, self.shape(v)) if good(n)]
        return self.pick(tags) if tags else None

    def some_tags(self, v):
        "Arguments of a reduction: none for all, or some."
        tags = self.tags(v)
        if not tags or self.flip(.15): return ()
        n = self.pick((1, 1, 1, 2, 3)) if len(tags) > 2 else self.rng.randint(1, len(tags))
        chosen = self.rng.sample(tags, n)
        return (' '.join(chosen),) if self.flip(.5) else tuple(chosen)

    def unused(self, v): return len(set(NEW) - set(self.tags(v)))

    def fresh(self, v, skip=0):
        "A name that no axis of a value has."
        return [t for t in NEW if t not in self.tags(v)][skip]

    def new_shape(self):
        n = 4 if self.flip(.07) else self.pick((0, 1, 1, 2, 2, 2, 3, 3))
        names = self.rng.sample('abcd', n)
        shape = [self.size_of[t] if self.flip(.95) else 1 for t in names]
        while prod(shape) > self.most: shape[shape.index(max(shape))] = 1
        return tuple(names), tuple(shape)

    # operands
    def leaf(self, tags, shape, x=None, dtype=None, draw=None, grad=None):
        "A new leaf, of the number type of x."
        dtype = dtype or (self.dtype if x is None else self.name(x))
        real = dtype in REAL
        if draw is None: draw = self.style if real else self.range(dtype)
        wants = real and self.grads and self.flip(.85) if grad is None else grad
        if dtype in HALF and not self.moves: wants = False
        odd = len(shape) and self.flip(.15) and real
        layout = self.pick(('fortran', 'stepped', 'backwards', 'repeated')) if odd else ''
        leaf = Leaf(tuple(tags), tuple(shape), dtype, draw, layout, bool(wants))
        a = laid_out(drawn(leaf, self.data, self.wild), layout)
        return self.add(leaf, fl.Tensor(a, leaf.tags, requires_grad=leaf.grad))

    def range(self, dtype):
        "How whole numbers and truth values are drawn."
        if dtype == 'bool': return 'truth', .5
        info = np.iinfo(fl.dtypes.by_name[dtype].np)
        return ('whole', int(info.min), int(info.max)) if self.wild else ('whole', max(-9, int(info.min)), 10)

    def add(self, step, value):
        self.steps.append(step)
        self.values.append(value)
        return V(len(self.values) - 1)

    def find(self, good):
        "A value that is good, or None; now and then None in any case."
        if self.flip(.35): return None
        found = [v for v in range(len(self.values)) if good(v)]
        return V(self.pick(found)) if found else None

    def partner(self, x):
        "An operand that meets x by name; None where the result would be too large."
        size = self.sizes_of(x)
        def good(v):
            if not self.alike(v, x): return False
            own = self.sizes_of(v)
            if any(n != size[t] and n != 1 and size[t] != 1 for t, n in own.items() if t in size): return False
            return prod({**size, **{t: max(n, size.get(t, 1)) for t, n in own.items()}}.values()) <= self.most
        if (y := self.find(good)) is not None: return y
        names = [t for t in size if self.flip(.6)]
        if len(size) < 4 and self.flip(.2): names.append(self.fresh(x))
        self.rng.shuffle(names)
        shape = [1 if self.flip(.08) else size.get(t, self.pick((1, 2, 3))) for t in names]
        return self.leaf(names, shape, x) if prod({**size, **dict(zip(names, shape))}.values()) <= self.most else None

    def same(self, x, **sizes):
        "An operand with the tags of x in its order, and its sizes but for those given."
        shape = tuple([sizes.get(t, n) for t, n in self.sizes_of(x).items()])
        y = self.find(lambda v: self.alike(v, x) and self.tags(v) == self.tags(x) and self.shape(v) == shape)
        return self.leaf(self.tags(x), shape, x) if y is None else y

    def mask(self, x, sure=False):
        "Truth values with the tags and sizes of x; sure: a leaf that marks something."
        def good(v):
            return self.values[v].data.dtype == bool and self.tags(v) == self.tags(x) and self.shape(v) == self.shape(x)
        if not sure and (y := self.find(good)) is not None: return y
        while True:
            m = self.leaf(self.tags(x), self.shape(x), dtype='bool', draw=('truth', self.pick((.5, .5, .8))))
            if not sure or self.values[m].data.any(): return m

    def fits_product(self, x, w, join):
        size = {**self.sizes_of(x), **self.sizes_of(w)}
        result = prod(n for t, n in size.items() if t not in join)
        return result <= self.most and prod(size.values()) <= 40 * self.most

    # steps
    def do(self, op, *args, **kw): return self.attempt(Call(op, args, kw))

    def attempt(self, call):
        "Compute a call; None if the result is too large, or not finite in a tame graph."
        y = call_ours(call, self.values)
        a = y.data
        if a.size > self.most or a.ndim > 5: return None
        if not self.wild and a.dtype.kind not in 'iub':
            if not np.isfinite(a.astype('f4') if a.dtype.itemsize == 2 else a).all(): return None
        return self.add(call, y)

    def choose(self):
        "A value for the next operation, often the last."
        n = len(self.values)
        if self.flip(.6): return V(n - 1)
        return V(max(0, n - 1 - int(self.rng.random() * 6)) if self.flip(.6) else int(self.rng.random() * n))

    def suits(self, row, x):
        "Whether an operation takes values of this kind."
        a = self.values[x].data
        if ('f' if self.is_float(x) else a.dtype.kind.replace('u', 'i')) not in row.kinds: return False
        short = self.moves and a.dtype.itemsize == 2 and self.is_float(x)
        return not short or fl.registry[row.op].half == 'native'

    def grow(self):
        "One more operation; False if none is found."
        for _ in range(200):
            row = self.rng.choices(self.ROWS, cum_weights=self.SUMS)[0]
            x = self.choose() if row.kinds else None
            if self.moves if x is None else not self.suits(row, x): continue
            if not (made := row.make(self, x)): continue
            args, kw, pick = made
            if self.attempt(Call(row.op, args, kw, pick)) is not None: return True
        return False

    def program(self):
        calls = [i for i, s in enumerate(self.steps) if type(s) is Call and self.values[i].node is not None]
        last = calls[-1] if calls else None
        return Program(self.steps, self.seed, self.dtype, self.wild, last, self.big, types_of(self.values))

    def arrays(self): return {i: self.values[i].data for i, s in enumerate(self.steps) if type(s) is Leaf}


def draw_graph(seed, backend, dtype=None, big=None):
    "A random graph, with the values that this backend gave on the way."
    g = Graph(seed, dtype, big)
    fl.use_backend(backend)
    Floors.keep(g.big)
    for _ in range(g.pick((1, 2, 2, 3))): g.leaf(*g.new_shape())
    while sum(type(s) is Call for s in g.steps) < STEPS and g.grow(): pass
    return g
