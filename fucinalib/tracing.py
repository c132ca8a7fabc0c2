"""Writes down what a function does to memory: every call of NumPy and of a compiled kernel, with the arrays it reads
and the arrays it writes. Chapter 37 makes a plan of that.

Inside `Trace` the arrays of tensors are `Traced`: NumPy tells such an array of every call it takes part in. Which array
a call means is known by its memory: the array that owns it, and where in it. So views cost nothing and cannot be
missed. Functions that make arrays of nothing or strip a class (np.empty, np.asarray and theirs) are stood in for while
a trace runs, on its thread alone.

What a trace does not see it does not know. Nothing is trusted for that reason: a second trace must be the same to the
last number, and a replay must give the bits of an ordinary run.
"""
import operator, sys, threading, weakref
from functools import partial
from math import prod
import numpy as np
from .errors import OptionError, fault
from .hooks import Watcher
from .kernels import dispatch
from .nn.module import _calls as layers_at_work
from .ops.construction import bits64, next_seed, process, seed_source
from .tensor import Tensor

__all__ = ['Draw', 'Given', 'drawn_again', 'mark_draws', 'forget_values', 'Trace', 'Traced', 'Ref', 'Call', 'Buffer',
           'NotReplayable', 'untraced', 'root_of', 'same_bits', 'Bail', 'tracing', 'fits_shapes']

_lock = threading.RLock()
_now, _thread = None, None      # the trace that runs, and on which thread


class NotReplayable(Exception):
    "Why a step cannot be a plan."


class Bail(Exception):
    "A value that the plan relies on is another one."


def tracing():
    "The trace of this thread, None if there is none or it looks away."
    return _now if _now is not None and _thread == threading.get_ident() and not _now.away else None


_asarray = np.asarray

def untraced(a):
    "An array as an ndarray of no subclass; anything else as it is, lists and tuples one by one."
    if isinstance(a, np.ndarray): return _asarray(a) if type(a) is not np.ndarray else a
    if type(a) in (list, tuple): return type(a)(map(untraced, a))
    return a


def _untraced_values(kw): return {k: untraced(v) for k, v in kw.items()}


def root_of(a):
    "The array that owns the memory of `a`."
    while True:
        b = a.base
        if not isinstance(b, np.ndarray): b = getattr(b, 'base', None)      # as_strided puts an object in between
        if not isinstance(b, np.ndarray): return a
        a = b


def address(a): return a.__array_interface__['data'][0]


def same_bits(a, b):
    "Whether two arrays have the same shape, type and bits."
    if a.shape != b.shape or a.dtype != b.dtype: return False
    a, b = [np.ascontiguousarray(v).reshape(-1).view('u1') for v in (a, b)]
    return all(a[i:i + PAGE].tobytes() == b[i:i + PAGE].tobytes() for i in range(0, len(a), PAGE))

PAGE = 1 << 12      # bytes that are copied to be compared


class Buffer:
    "A piece of memory: `made` by a call, an `input` of the step, or from `outside`."
    __slots__ = 'number', 'kind', 'root', 'nbytes', 'at', 'start', 'label'
    def __init__(self, number, kind, root, label=''):
        self.number, self.kind, self.root, self.label = number, kind, root, label
        self.nbytes, self.start = root.nbytes, address(root)


class Ref(tuple):
    "An array: (number of its buffer, offset in bytes, shape, strides, type)."
    __slots__ = ()
    buffer = property(operator.itemgetter(0))


class Call:
    "One call: the function, its arguments with a Ref for each array, and what it writes."
    __slots__ = 'f', 'args', 'kw', 'writes', 'kind', 'label', 'reads', 'where'
    def __init__(self, f, args, kw, writes, kind='call', label='', where=''):
        self.f, self.args, self.kw, self.writes, self.kind, self.label = f, args, kw, writes, kind, label
        self.where = where
        self.reads = [*_refs_in(args), *_refs_in(kw)]      # an array that is written counts here only if it is read
        for w in writes: self.reads.remove(w)

    @property
    def name(self):
        f = self.f.func if isinstance(self.f, partial) else self.f
        owner = getattr(f, '__self__', None)
        return f'{owner.__name__}.{f.__name__}' if isinstance(owner, np.ufunc) else getattr(f, '__name__', str(f))

    def __repr__(self): return f'{self.kind} {self.name} of {self.label or "the step"}'


def _refs_in(v):
    if type(v) is Ref: yield v
    elif type(v) in (list, tuple):
        for u in v: yield from _refs_in(u)
    elif type(v) is dict:
        for u in v.values(): yield from _refs_in(u)


# ---- arrays that tell

class Traced(np.ndarray):
    "An array that tells the trace of this thread of every call it takes part in. Without a trace a plain one."
    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kw):
        if any(isinstance(x, Tensor) for x in inputs): return NotImplemented
        t = tracing()
        if t is None:
            if out is not None: kw['out'] = tuple(map(untraced, out))
            return getattr(ufunc, method)(*map(untraced, inputs), **_untraced_values(kw))
        return t.ufunc(ufunc, method, inputs, out, kw)

    def __array_function__(self, f, types, args, kw):
        if any(issubclass(k, Tensor) for k in types): return NotImplemented
        t = tracing()
        if t is None: return f(*untraced(args), **_untraced_values(kw))
        if f.__name__ in DECOMPOSED: return np.ndarray.__array_function__(self, f, (Traced, np.ndarray), args, kw)
        return t.function(f, args, kw)

    def __getitem__(self, at):
        a, at = untraced(self), untraced(at)
        t = tracing()
        if t is None: return a[at]
        index = at if type(at) is tuple else (at,)
        basic = not any(isinstance(i, (np.ndarray, list)) for i in index)
        if basic and Ellipsis not in index: return t.see(a[(*index, ...)])
        return t.see(a[at]) if basic else t.gather(a, at)

    def __setitem__(self, at, value):
        t = tracing()
        if t is None: untraced(self)[untraced(at)] = untraced(value)
        else: t.assign(untraced(self), untraced(at), untraced(value))

    def __bool__(self): return _read(self, bool)
    def __int__(self): return _read(self, int)
    def __float__(self): return _read(self, float)
    def __index__(self): return _read(self, operator.index)
    flat = property(lambda self: _read(self, np.ndarray.ravel).flat, doc='Its values one by one: they are looked at.')
    def item(self, *at): return _read(self[at] if at else self, np.ndarray.item)
    def tolist(self): return _read(self, np.ndarray.tolist)
    def tobytes(self, *order): return _read(self, partial(_bytes_of, order=order))
    def __reduce__(self): return untraced(self).__reduce__()
    def __reduce_ex__(self, protocol): return untraced(self).__reduce_ex__(protocol)
    def __deepcopy__(self, memo): return self.copy()


def _bytes_of(a, order): return a.tobytes(*order)


def _read(a, how):
    "The value of an array for Python: the trace hears of it."
    t, value = tracing(), how(untraced(a))
    if t is not None: t.looked(untraced(a), how, value)
    return value


def _told(name, how):
    "A method of Traced that the trace carries out."
    method = getattr(np.ndarray, name)
    def call(self, *args, **kw):
        t = tracing()
        if t is None: return method(untraced(self), *untraced(args), **_untraced_values(kw))
        return how(t, method, self, args, kw)
    call.__name__ = name
    setattr(Traced, name, call)


# functions of NumPy that are made of others, which tell
DECOMPOSED = set("""sum prod any all max min amax amin mean var std clip take_along_axis zeros_like ones_like full_like
    moveaxis stack put_along_axis round around cumsum cumprod ptp square_ tile""".split())
LOOKING = set("may_share_memory shares_memory shape ndim size result_type can_cast iscomplexobj isrealobj".split())


# ---- the trace

class Trace(Watcher):
    "Inside `with`, the calls of this thread are written down."
    def __init__(self):
        self.calls, self.buffers, self.by_root, self.arrays = [], [], {}, {}
        self.away, self.ops, self.why = 0, [], None
        self.tensors, self.results_made = {}, []    # id -> (tensor from outside, its array, node); weak references
        self.leaves = {}        # node of a parameter -> the gradient noted last
        self.untouched = {}     # number of a buffer of np.empty -> (its bytes, what they are)
        self.draws = []         # (seed that was drawn, the layers at work)
        self.grad_refs = []     # (node, Ref of the gradient it had)
        self.hosts = []         # what calls that are carried out as they are gave

    # -- memory
    def buffer(self, a, kind='outside', label=''):
        "The Buffer that an array lies in."
        root = root_of(a)
        b = self.by_root.get(id(root))
        if b is None:
            b = self.by_root[id(root)] = Buffer(len(self.buffers), kind, root, label)
            self.buffers.append(b)
        return b

    def ref(self, a):
        "The Ref of a plain array; of lists and tuples one by one; anything else as it is."
        if isinstance(a, Tensor): a = a.data
        if isinstance(a, np.ndarray):
            a = untraced(a)
            b = self.buffer(a)
            r = Ref((b.number, address(a) - b.start, a.shape, a.strides, a.dtype))
            if b.kind == 'outside': self.arrays[r] = a
            return r
        if type(a) in (list, tuple): return type(a)(map(self.ref, a))
        if type(a) is dict: return {k: self.ref(v) for k, v in a.items()}
        return a

    def flat(self, r):
        "The Ref of the same numbers along one axis, for numbers that lie one after the other."
        y = Ref((r[0], r[1], (prod(r[2]),), (r[4].itemsize,), r[4]))
        if r in self.arrays: self.arrays[y] = self.arrays[r].reshape(-1)
        return y

    def see(self, a):
        "An array as one that tells."
        if not isinstance(a, np.ndarray): a = _asarray(a)
        return a.view(Traced)

    def new(self, a):
        "A fresh array as one that tells."
        a = _asarray(a)
        if a.base is not None and isinstance(a.base, np.ndarray) and id(root_of(a)) in self.by_root: return self.see(a)
        self.buffer(a, 'made', self.ops[-1] if self.ops else '')
        return self.see(a)

    def known(self, a): return id(root_of(a)) in self.by_root

    def note(self, f, args, kw, written, kind='call'):
        "Write down a call; `written` are the arrays it writes, which are among its arguments."
        writes = [self.ref(w) for w in written]
        c = Call(f, self.ref(args), self.ref(kw), writes, kind, self.label())
        self.calls.append(c)
        written = {w.buffer for w in writes}
        for r in c.reads if self.untouched else ():
            if r.buffer in self.untouched and r.buffer not in written: self.check_untouched(r.buffer)
        for n in written: self.untouched.pop(n, None)

    def check_untouched(self, number):
        "Memory that no call wrote to and that is not as it was made has its numbers from something that does not tell."
        room, pattern = self.untouched.pop(number)
        if (room != pattern).any():
            place = self.label() or 'the step itself'
            self.refuse(f'{place} reads numbers that no call made, random ones perhaps')

    def label(self):
        "The operation that runs, or whose gradient is computed."
        if self.ops: return self.ops[-1]
        frame, n = sys._getframe(2), 0
        while frame is not None and n < 25:
            if frame.f_code.co_name == 'shares_of' and 'node' in frame.f_locals:
                return f"{frame.f_locals['node'].op.name}'"
            frame, n = frame.f_back, n + 1
        return ''

    # -- calls
    def ufunc(self, ufunc, method, inputs, out, kw):
        f, args = ufunc if method == '__call__' else getattr(ufunc, method), untraced(tuple(inputs))
        kw = {k: untraced(v) for k, v in kw.items() if not (k == 'where' and v is True)}
        if method == 'at':
            self.buffer(args[0])
            f(*args)
            self.note(f, args, {}, args[:1])
            return self.calls[-1].reads.append(self.ref(args[0]))
        if out is not None:
            outs = untraced(tuple(out))
            for a in (*args, *outs):
                if isinstance(a, np.ndarray): self.buffer(a)
            f(*args, **kw, out=outs)
            self.note(f, args, kw | dict(out=outs), [o for o in outs if o is not None])
            return out[0] if len(out) == 1 else out
        ys = f(*args, **kw)
        several = type(ys) is tuple
        ys = tuple(map(_asarray, ys if several else (ys,)))
        made = tuple(map(self.new, ys))
        self.note(f, args, kw | dict(out=ys), ys)
        return made if several else made[0]

    def function(self, f, args, kw):
        "A function of NumPy on plain arrays: a view, a value, or new arrays."
        if f.__name__ in LOOKING: return f(*untraced(args), **_untraced_values(kw))
        special = getattr(self, f'_{f.__name__}', None)
        if special: return special(*args, **kw)
        args, kw = untraced(args), {k: untraced(v) for k, v in kw.items()}
        out = kw.get('out')
        y = f(*args, **kw)
        if out is not None:
            self.note(f, args, kw, [out])
            return self.see(out)
        return self.results(f, args, kw, y)

    def results(self, f, args, kw, y):
        "What a function gave: views as they are, new arrays by a call that fills them, values looked at."
        if isinstance(y, (tuple, list)) and y and all(isinstance(v, np.ndarray) for v in y):
            if all(map(self.known, y)): return type(y)(map(self.see, y))
            made = [self.new(v) for v in y]
            self.note(_fill_all, (tuple(y), f, args, kw), {}, list(y))
            return type(y)(made)
        if isinstance(y, np.generic): y = _asarray(y)
        if isinstance(y, np.ndarray):
            if self.known(y): return self.see(y)
            made = self.new(y)
            if f.__name__ in TAKE_OUT: self.note(f, args, kw | dict(out=y), [y])
            else: self.note(_fill, (y, f, args, kw), {}, [y])
            return made
        self.looked_by(f, args, kw, y)
        return y

    def _where(self, where, *two):
        "np.where of three, as two copies."
        if not two: return self.results(np.where, untraced((where,)), {}, np.where(untraced(where)))
        where, a, b = untraced((where, *two))
        y = np.where(where, a, b)
        made = self.new(y)
        if where.dtype != bool: where = untraced(self.see(where) != 0)
        self.note(np.copyto, (y, b), {}, [y])
        self.calls.append(Call(np.copyto, self.ref((y, a)), dict(where=self.ref(where)), [self.ref(y)], 'call',
                               self.label()))
        self.calls[-1].reads.append(self.ref(y))       # what it leaves
        return made

    def _copyto(self, dst, src, casting='same_kind', where=True):
        dst, src, where = untraced((dst, src, where))
        self.buffer(dst)
        np.copyto(dst, src, casting=casting, where=where)
        kw = {} if casting == 'same_kind' else dict(casting=casting)
        if where is not True: kw['where'] = where
        self.note(np.copyto, (dst, src), kw, [dst])
        if where is not True: self.calls[-1].reads.append(self.ref(dst))

    def _empty_like(self, a, *args, **kw):
        kw['subok'] = False
        return self.new(np.empty_like(untraced(a), *args, **kw))

    def copied(self, y, a):
        "A fresh array `y` that has the values of `a`, perhaps in another shape or type."
        made = self.new(y)
        there = y if y.shape == a.shape else None
        if there is None:
            try: there = y.reshape(a.shape) if y.flags.c_contiguous else None
            except ValueError: there = None
        if there is None or not np.shares_memory(there, y): raise NotReplayable('a copy in another shape')
        self.note(np.copyto, (there, a), {} if a.dtype == y.dtype else dict(casting='unsafe'), [there])
        return made

    def convert(self, f, a, *args, **kw):
        "np.asarray and its kind of an array that tells."
        a = untraced(a)
        y = f(a, *args, **kw)
        return self.see(y) if y is a or root_of(y) is root_of(a) else self.copied(y, a)

    def moved(self, method, a, args, kw):
        "A method that gives a view, or a copy with the same values in the same order."
        a = untraced(a)
        y = method(a, *untraced(args), **kw)
        return self.see(y) if root_of(y) is root_of(a) else self.copied(y, a)

    def method(self, method, a, args, kw):
        a, args, kw = untraced(a), untraced(args), {k: untraced(v) for k, v in kw.items()}
        return self.results(method, (a, *args), kw, method(a, *args, **kw))

    def inplace(self, method, a, args, kw):
        a, args = untraced(a), untraced(args)
        self.buffer(a)
        method(a, *args, **kw)
        self.note(method, (a, *args), kw, [a])
        self.calls[-1].reads.append(self.ref(a))

    def gather(self, a, at):
        y = a[at]
        made = self.new(y)
        self.note(_fill, (y, operator.getitem, (a, at), {}), {}, [y])
        return made

    def assign(self, a, at, value):
        self.buffer(a)
        a[at] = value
        index = at if type(at) is tuple else (at,)
        if any(isinstance(i, (np.ndarray, list)) for i in index):
            self.note(operator.setitem, (a, at, value), {}, [a])
            return self.calls[-1].reads.append(self.ref(a))
        there = a[at] if Ellipsis in index else a[(*index, ...)]
        self.note(np.copyto, (there, value), dict(casting='unsafe'), [there])

    def compiled(self, fast, ready, outs, inplace):
        "A call of a compiled kernel."
        ready, outs = untraced(tuple(ready)), untraced(tuple(outs))
        for a in ready:
            if isinstance(a, np.ndarray): self.buffer(a)
        before = [a.tobytes() if isinstance(a, np.ndarray) else None for a in ready]
        self.away += 1
        try: fast(*ready, *outs)
        finally: self.away -= 1
        for o in outs: self.buffer(o, 'made')
        # memory to work in is written too, and no kernel says so
        inplace = {*inplace}.union(i for i, b in enumerate(before) if b is not None and ready[i].tobytes() != b)
        self.note(fast, (*ready, *outs), {}, [*outs, *[ready[i] for i in inplace]])
        for i in inplace: self.calls[-1].reads.append(self.ref(ready[i]))

    def empty(self, a, value=None):
        "A fresh array, filled if there is a value."
        made = self.new(a)
        a = untraced(a)
        if value is None:
            room = root_of(a)
            room[...] = pattern = 0 if a.dtype == bool else 0xA5
            self.untouched[self.buffer(a).number] = room, pattern
        if value is not None: self.note(np.copyto, (a, untraced(value)), dict(casting='unsafe'), [a])
        return made

    # -- what Python looks at
    def looked(self, a, how, value):
        where, library = _who_asks()
        if not library: self.refuse(f'{where} looks at a value')
        self.looked_by(how, (a,), {}, value)

    def looked_by(self, f, args, kw, value):
        if isinstance(value, np.ndarray): value = np.copy(value)
        self.calls.append(Call(_expect, (value, f, self.ref(args), self.ref(kw)), {}, [], 'guard', self.label()))

    def refuse(self, why):
        "Note the first reason why this is no plan; the step itself goes on."
        if self.why is None: self.why = why

    # -- operations
    def around(self, o, run, args, kw):
        self.ops.append(o.name)
        try:
            for x in (*args, *kw.values()):
                if isinstance(x, Tensor): self.meet(x)
                elif type(x) in (list, tuple):
                    for v in x:
                        if isinstance(v, Tensor): self.meet(v)
            y = run(*args, **kw)
        finally: self.ops.pop()
        for v in y if isinstance(y, (tuple, list)) else (y,):
            if isinstance(v, Tensor): self.keep(v)
        return y

    def meet(self, x):
        "A tensor that an operation is given: its array tells from now on."
        if type(x.data) is Traced: return
        if id(x) not in self.tensors: self.tensors[id(x)] = x, x.data, x.node
        node = x.node
        if node is not None and node.op is None and node not in self.leaves: self.meet_leaf(node)
        x.data = self.see(x.data)

    def meet_all(self, tensors):
        "Tensors around the step: their arrays tell from the beginning."
        for x in tensors: self.meet(x)

    def meet_leaf(self, node):
        "A parameter, with the gradient that it has before the step computes one."
        g = self.leaves[node] = node.grad
        if g is not None:
            self.buffer(g, 'grad')
            self.grad_refs.append((node, self.ref(g)))

    def keep(self, x):
        "A result, which tells, and of which is asked at the end whether somebody holds it."
        if type(x.data) is not Traced: x.data = self.see(x.data)
        if id(x) not in self.tensors: self.results_made.append(weakref.ref(x))

    def bind(self):
        "Note the gradients that parameters got since the last time."
        for node, before in self.leaves.items():
            g = node.grad
            if g is before: continue
            if g is not None: g = node.grad = untraced(g)
            ref = None if g is None else self.ref(g)
            self.calls.append(Call(setattr, (node, 'grad', ref), {}, [], 'bind'))
            self.leaves[node] = g

    def leave_alone(self):
        "Give the tensors from outside their own arrays back."
        for x, a, _ in self.tensors.values():
            if type(x.data) is Traced: x.data = a if root_of(x.data) is root_of(a) else untraced(x.data)

    def called(self, run, args, kw):
        "What is carried out as it is, each time anew: an optimizer's step."
        if self.away: return run(*args, **kw)
        self.bind()
        self.leave_alone()
        self.away += 1
        try: y = run(*args, **kw)
        finally: self.away -= 1
        self.calls.append(Call(run, args, kw, [], 'host'))
        self.hosts.append(y)
        for node in self.leaves: self.leaves[node] = node.grad
        return y

    # -- beginning and end
    def __enter__(self):
        global _now, _thread
        _lock.acquire()
        if _now is not None:
            _lock.release()
            raise fault(OptionError, 'a recorded step inside a recorded step', help='record the outer one alone')
        _now, _thread = self, threading.get_ident()
        for name, f in STAND_INS.items(): setattr(np, name, f)
        np.lib.stride_tricks.as_strided = _strided
        dispatch.tracer = _compiled
        self.token = seed_source.set(Heard(self, seed_source.get()))
        return super().__enter__()

    def __exit__(self, *exc):
        global _now, _thread
        super().__exit__(*exc)
        dispatch.tracer = None
        seed_source.reset(self.token)
        for name, f in ORIGINAL.items(): setattr(np, name, f)
        np.lib.stride_tricks.as_strided = _as_strided
        _now = _thread = None
        self.bind()
        self.leave_alone()
        _lock.release()


def forget_values(trace):
    "Let go of what the calls made: a plan has memory of its own."
    for b in trace.buffers:
        if b.kind in ('made', 'grad'): b.root = None
    trace.by_root = {id(b.root): b for b in trace.buffers if b.root is not None}
    trace.untouched, trace.leaves = {}, dict.fromkeys(trace.leaves)


def _compiled(fast, ready, outs, inplace):
    "Stands around the call of a compiled kernel while anybody traces."
    t = tracing()
    if t is None: fast(*ready, *outs)
    else: t.compiled(fast, ready, outs, inplace)


# ---- random numbers: a seed is drawn anew each time, and its place among the arguments is known by its 64 bits

class Draw:
    "The place of seed number `k` among the arguments of a call, as a number of type `kind`."
    __slots__ = 'k', 'kind'
    def __init__(self, k, kind): self.k, self.kind = k, kind
    def __eq__(self, other): return type(other) is Draw and (self.k, self.kind) == (other.k, other.kind)
    __hash__ = None
    def of(self, seeds): return bits64(seeds[self.k]).view(self.kind)


class Heard:
    "Seeds from where they come without it, and a list of them."
    calls = None
    def __init__(self, trace, before): self.trace, self.before = trace, before
    def next(self, calls):
        stream = self.before or process.stream
        seed = stream.next(stream.calls)
        if not self.trace.away: self.trace.draws.append((seed, layers_at_work.get()))
        return seed


class Given:
    "Inside `with`, these seeds first, then those from where they come without it."
    calls = None
    def __init__(self, seeds): self.seeds = iter(seeds)
    def __enter__(self):
        self.before = seed_source.get()
        self.token = seed_source.set(self)
    def __exit__(self, *exc): seed_source.reset(self.token)
    def next(self, calls):
        for seed in self.seeds: return seed
        stream = self.before or process.stream
        return stream.next(stream.calls)


def drawn_again(draws):
    "A seed for each of the `draws` of a trace, as their layers would draw them now."
    seeds = []
    for _, layers in draws:
        token = layers_at_work.set(layers)
        try: seeds.append(next_seed())
        finally: layers_at_work.reset(token)
    return seeds


def mark_draws(trace):
    "Put a Draw where a call has a seed that was drawn."
    known = {int(bits64(seed)): k for k, (seed, _) in enumerate(trace.draws)}
    for c in trace.calls if known else ():
        c.args = tuple([_as_draw(v, known) for v in c.args])


def _as_draw(v, known):
    if not isinstance(v, (np.int64, np.uint64)) or int(v.view('i8')) not in known: return v
    return Draw(known[int(v.view('i8'))], v.dtype.str[1:])


def _fill(y, f, args, kw):
    v = f(*args, **kw)
    if v.shape != y.shape: raise Bail       # how many there are depends on values
    y[...] = v

def _fill_all(ys, f, args, kw):
    vs = f(*args, **kw)
    if [v.shape for v in vs] != [y.shape for y in ys]: raise Bail
    for y, v in zip(ys, vs): y[...] = v

def _expect(value, f, args, kw):
    "Bail unless the function still gives this value."
    now = f(*args, **kw)
    same = np.array_equal(now, value) if type(value) is np.ndarray else now == value
    if not same: raise Bail


def fits_shapes(c):
    "Whether a call gives up where a result has another shape than it had, and may have one."
    if c.f not in (_fill, _fill_all): return False
    if c.args[1] is operator.getitem: return any(r[4].kind == 'b' for r in _refs_in(c.args[2][1]))
    return c.args[1].__name__ not in FIXED


FIXED = 'take argsort argmax argmin searchsorted choose cumsum cumprod dot trace'.split()
TAKE_OUT = {'concatenate', 'einsum', 'stack', 'dot', 'take', 'argmax', 'argmin', 'cumsum', 'cumprod'}


def _who_asks():
    "(where, whether it is the library that asks for a value and not the step)."
    frame, library = sys._getframe(3), False
    while frame is not None:
        name = frame.f_globals.get('__name__', '')
        if name.startswith('numpy'): pass
        elif name == __name__: pass
        elif name in ('fucinalib.tensor', 'fucinalib.show', 'fucinalib.autograd'):
            if frame.f_code.co_name in ('shares_of', 'call'): library = True; break
        elif name.startswith('fucinalib.'): library = True; break
        else: break
        frame = frame.f_back
    if frame is None: return 'the step', False
    return f'line {frame.f_lineno} of {frame.f_code.co_name}', library


# ---- what stands in for NumPy's makers of arrays, on the thread of a trace

NAMES = 'asarray asanyarray ascontiguousarray array empty zeros ones full arange'.split()
ORIGINAL = {n: getattr(np, n) for n in NAMES}


def _converter(f):
    def convert(a, *args, **kw):
        t = tracing()
        if t is None: return f(a, *args, **kw)
        if isinstance(a, Tensor) and type(a.data) is Traced: a = a.data
        return t.convert(f, a, *args, **kw) if type(a) is Traced else f(a, *args, **kw)
    return convert


def _maker(f, value):
    def make(shape, *args, **kw):
        t = tracing()
        if t is None: return f(shape, *args, **kw)
        fill = value
        if f.__name__ == 'full':
            fill = args[0] if args else kw['fill_value']
            if isinstance(fill, Tensor): fill = fill.data
            if args: args = (untraced(fill), *args[1:])
            else: kw['fill_value'] = untraced(fill)
        return t.empty(_at_line(f(shape, *args, **kw)), fill)
    return make


_as_strided = np.lib.stride_tricks.as_strided

def _strided(a, *args, **kw):
    t, y = tracing(), _as_strided(untraced(a), *args, **kw)
    return y if t is None or type(a) is not Traced else t.see(y)


LINE = 64       # bytes of a cache line. All memory of a plan begins at one, for kernels ask where memory begins

def _at_line(a):
    "An array like `a`, with its values, whose memory begins at a cache line."
    room = ORIGINAL['empty'](a.nbytes + LINE, 'u1')
    skip = -address(room) % LINE
    y = np.ndarray(a.shape, a.dtype, np.frombuffer(memoryview(room)[skip:skip + a.nbytes], 'u1'), 0, a.strides)
    if a.size: y[...] = a
    return y


def _counted(*args, **kw):
    a, t = ORIGINAL['arange'](*args, **kw), tracing()
    if t is None or not sys._getframe(1).f_globals.get('__name__', '').startswith('fucinalib.'): return a
    made = t.new(_at_line(a))
    ref = t.ref(made)
    t.calls.append(Call(np.copyto, (ref, a), {}, [ref], 'call', t.label()))      # the numbers themselves: constants
    return made


STAND_INS = {n: _converter(ORIGINAL[n]) for n in NAMES[:4]} | {
    n: _maker(ORIGINAL[n], v) for n, v in zip(NAMES[4:8], (None, 0, 1, None))} | dict(arange=_counted)

for _name in 'reshape ravel flatten copy astype'.split(): _told(_name, Trace.moved)
for _name in 'take repeat argmax argmin argsort cumsum cumprod nonzero dot searchsorted choose compress trace'.split():
    _told(_name, Trace.method)
for _name in 'fill sort partition put'.split(): _told(_name, Trace.inplace)
