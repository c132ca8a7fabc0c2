"""A kernel is a NumPy function that may have a compiled double.

The NumPy function, called the twin, is the meaning. `@kernel` gives back a function that runs the
double where there is one, where it pays and where it takes the arguments, and the twin everywhere
else. Values are the same, so this is never visible but in time."""
import contextvars, inspect, warnings
from collections import Counter
from functools import lru_cache, wraps
from math import prod
from operator import methodcaller
import numpy as np
from numpy import ndarray
from ..errors import KernelError, OptionError, brief, closest, fault
from . import discovery, threads

class Names(dict):
    "A table in which a name is given away once."
    # what an entry is; the function it was made of
    def __init__(self, what, source): self.what, self.source = what, source

    def enter(self, name, entry, replace=False):
        "OptionError if the name is taken, unless by the same function: a cell of a notebook may run again."
        old = self.get(name)
        if old is not None and not replace and not defined_again(self.source(old), self.source(entry)):
            raise fault(OptionError, f'{name} is {self.what} already, of {self.source(old).__module__}',
                        help='replace=True in the decorator puts this one in its place; or give it a name of its own')
        super().__setitem__(name, entry)

    def __setitem__(self, name, entry): self.enter(name, entry)

    def __missing__(self, name):
        near = closest(name, self)
        raise KeyError(f'{brief(name)} is no name of {self.what}' + f'; did you mean {near!r}?' * bool(near))


def defined_again(old, new):
    """Whether a function takes the place of itself: in a notebook, or of the same lines, as a
    chapter and its module are."""
    if old.__module__ == new.__module__ == '__main__': return True
    old, new = map(inspect.unwrap, (old, new))
    return getattr(old, '__code__', 0) is not getattr(new, '__code__', 0) and lines_of(old) == lines_of(new) != None


def lines_of(f):
    try: return inspect.getsource(f)
    except (OSError, TypeError): return None


table = Names('a kernel', lambda k: k.twin)      # name -> Kernel
_own = {}           # kernel -> its floor in the source, while it has a measured one
F32 = np.dtype('f4')
stats = Counter()   # name -> compiled runs; (name, 'twin') -> runs above the floor that NumPy did
NO_SIGNATURE = 'Invalid call to pythranized function'       # how a TypeError of Pythran's begins that is no fault


def ignoring():
    """Where NumPy keeps what it does about infinities and NaN, a variable of each thread and
    task, and its value for: nothing."""
    context = contextvars.Context()
    context.run(np.seterr, all='ignore')
    (variable, value), = context.items()
    return variable, value

_variable, _ignore = ignoring()
unhush = _variable.reset      # np.errstate makes its value anew, which takes ten times as long

class Hushing:
    """`before = hushing.now`, then `try`. An attribute and no call: after each call Python looks
    whether somebody pressed Ctrl-C, and nobody would know of the setting that was made."""
    __slots__ = ()
    set = _variable.set
    now = property(methodcaller('set', _ignore))

hushing = Hushing()


def quiet(f):
    """`f` without NumPy's warnings: inf and NaN are values here, as in a compiled kernel. What
    the user has set is back afterwards."""
    @wraps(f)
    def inner(*args, **kw):
        if _variable.get() is _ignore: return f(*args, **kw)
        before = hushing.now
        try: return f(*args, **kw)
        finally: unhush(before)
    return inner


tracer = None       # while somebody traces what is called: what stands around the call of a double

def as_one_call(f, given, outs):
    "f(*given, *outs), which writes `outs`: one call for who traces, whatever it does inside."
    if tracer is None: f(*given, *outs)
    else: tracer(f, given, outs, ())


listening = []      # a set of names for each block of `noted` on any thread; while there is none, nobody asks
_names = contextvars.ContextVar('names', default=None)     # the one of this thread

def note(name):
    if _names.get() is not None: _names.get().add(name)


class noted:
    "Notes which kernels this thread runs, and runs them at any size: `with noted() as names:`."
    def __enter__(self):
        self.names = set()
        self.token = _names.set(self.names)
        listening.append(self.names)
        return self.names

    def __exit__(self, *exc):
        listening[:] = [n for n in listening if n is not self.names]
        _names.reset(self.token)


class Kernel:
    "One entry of the table: the twin and what the dispatcher has to know about its double."
    __slots__ = 'name twin floor flat out inplace forms doc refused faulty call'.split()

    def __init__(self, twin, floor, flat, out, inplace, forms):
        self.name, self.twin, self.doc = twin.__name__, twin, twin.__doc__
        self.floor, self.flat, self.out, self.inplace, self.forms = floor, flat, out, inplace, forms
        self.refused = {}       # double -> signatures it does not take; another backend's double is asked afresh
        self.faulty = set()     # doubles of which a fault was told

    def __repr__(self): return f'<kernel {self.name}: floor {self.floor}>'

    def pays(self, size):
        """Whether a first argument of so many elements is worth a double. Who prepares something
        for one asks here; there is no other copy of a floor."""
        return size >= self.floor or bool(listening) and _names.get() is not None

    def run(self, *args):
        "The double whatever the size, or the twin where the double is missing or does not take these arguments."
        first, last = args[0], args[-1]
        if listening: note(self.name)
        if self.forms and (type(last) is not ndarray or last.shape != first.shape):
            form = self.form(first, last)
            if form is not None: return form(*args)
        fast = discovery.active().get(self.name)
        if fast is None or self.refused and signature(args) in self.refused.get(fast, ()): return self.slow(args)
        flat, shape, ready = self.flat, first.shape, []
        for a in args:
            if isinstance(a, ndarray):
                if flat and a.shape != shape: return self.slow(args)
                if not (a.flags.carray and (a.dtype is F32 or a.dtype.isnative)): a = straight(a)
                if flat and a.ndim != 1: a = a.reshape(-1)
            elif type(a) is float or flat and type(a) is int: a = np.float32(a)
            elif type(a) is list:
                if not all(map(plain, a)): return self.slow(args)
            elif type(a) is int and a.bit_length() > 63: return self.slow(args)      # compiled code has no such number
            ready.append(a)
        if self.inplace:
            if not self.in_place(args): return self.slow(args)
            outs = ()
        elif self.out is None: outs = np.empty(ready[0].shape, ready[0].dtype),
        else: outs = [np.empty(*made) for made in self.out(*ready)]
        threads.enter()
        try:
            if tracer is None: fast(*ready, *outs)
            else: tracer(fast, ready, outs, self.inplace)
        except Exception as e:
            self.failed(fast, e, args)
            return self.slow(args)
        stats[self.name] += 1
        if self.inplace: return first
        if flat and len(shape) != 1: outs = [o.reshape(shape) if o.shape == ready[0].shape else o for o in outs]
        return outs[0] if len(outs) == 1 else tuple(outs)

    def failed(self, fast, error, args):
        "After the double raised `error`: note what it does not take, or say that it is broken; then the twin answers."
        if isinstance(error, MemoryError): raise error
        if isinstance(error, NotImplementedError) or type(error) is TypeError and str(error).startswith(NO_SIGNATURE):
            # the native message takes long to make: ask once
            self.refused.setdefault(fast, set()).add(signature(args))
            return
        said = f'{type(error).__name__}: {error}'
        where = f'kernel {self.name} of backend {discovery.current_backend()!r}'
        if self.inplace:        # it may have written to some of them
            raise fault(KernelError, f'{where} failed while it changed its arguments: {said}',
                        help="fl.use_backend('numpy') does without it; what it was given has to be "
                             "made again") from error
        if fast not in self.faulty:
            self.faulty.add(fast)
            warnings.warn(f'{where} failed, NumPy takes over: {said}', RuntimeWarning, stacklevel=4)

    def slow(self, args):
        stats[self.name, 'twin'] += 1
        return self.twin(*args)

    def in_place(self, args):
        "Arrays that are written must be used where they are and share no memory with the others."
        for i in self.inplace:
            x = args[i]
            if type(x) is list: continue        # several arrays: whoever calls knows that they lie apart
            if not (plain(x) and x.flags.writeable): return False
            for j, a in enumerate(args):
                if j != i and isinstance(a, ndarray) and np.may_share_memory(x, a) and (
                    j in self.inplace or not same_memory(x, a)):
                    return False
        return True

    def form(self, a, b):
        """A function for a last operand of another shape: one number, one row or one column for
        all. None where there is none."""
        if not isinstance(b, ndarray):
            return table[f'{self.name}_scalar'].run if 'scalar' in self.forms and type(b) in (float, int) else None
        kind, big, small = broadcast(a.shape, b.shape)
        if kind not in self.forms: return None
        run = table[f'{self.name}_{kind}'].run
        return lambda a, b: run(a.reshape(big), b.reshape(small)).reshape(a.shape)


def set_floors(measured):
    "Name -> floor; None gives back the one in the source."
    for name, floor in measured.items():
        k = table[name]
        own = _own.pop(k, k.floor)
        if floor is not None: _own[k] = own
        k.floor = own if floor is None else floor


def moved_floors():
    "Name -> (floor in the source, measured floor), where they differ."
    return {k.name: (own, k.floor) for k, own in _own.items() if own != k.floor}


def signature(args):
    "What decides whether compiled code takes these arguments."
    return tuple([(a.dtype, a.ndim) if isinstance(a, ndarray) else (list, signature(a[:1])) if type(a) is list
                  else type(a) for a in args])


@lru_cache(4096)
def broadcast(a, b):
    """How shape `b` is repeated over shape `a`: ('row' or 'col', a as two axes, b as one); (None,
    ..) where it is neither."""
    none = None, a, b
    if len(b) > len(a) or a == b: return none
    b = (1,) * (len(a) - len(b)) + b
    same = [i for i, n in enumerate(b) if n != 1]
    if not same: return none
    first, last = same[0], same[-1] + 1
    if a[first:last] != b[first:last]: return none
    outer, mid, inner = prod(a[:first]), prod(a[first:last]), prod(a[last:])
    return ('row', (outer, mid), (mid,)) if inner == 1 else ('col', (outer * mid, inner), (mid,))


def plain(a):
    "True if compiled code can read the array where it is."
    return a.flags.c_contiguous and a.flags.aligned and a.dtype.isnative


def straight(a):
    "The array as compiled code wants it: contiguous, aligned, in native byte order."
    return a if plain(a) else np.array(a, a.dtype.newbyteorder('='), order='C')


def same_memory(x, y):
    return plain(y) and x.ctypes.data == y.ctypes.data and x.nbytes == y.nbytes


def kernel(flat=False,      # the double sees 1-D arrays, all of one shape; numbers become float32
           floor=1 << 15,   # elements of the first argument below which the twin is faster
           out=None,        # (*inputs) -> list of (shape, dtype); default: one output like the first argument
           inplace=(),      # positions of arguments that are written to; then there are no outputs
                            # and the first argument returns
           forms=(),        # a last operand of other shape: 'scalar', 'row', 'col' have kernels of
                            # their own, name_scalar and so on
           alike=1,         # how many floors it takes where the last operand is a number or of the same shape
           replace=False,   # True puts it in the place of the kernel that has its name
          ):
    "Make the NumPy function a kernel of the same name."
    def define(twin):
        twin = quiet(twin)
        k = Kernel(twin, floor, flat, out, inplace, forms)
        table.enter(k.name, k, replace)
        run = k.run

        @wraps(twin)
        def call(a, *rest):
            return run(a, *rest) if a.size >= k.floor or listening and k.pays(0) else twin(a, *rest)

        @wraps(twin)
        def call_alike(a, b):
            least = k.floor if isinstance(b, ndarray) and a.shape != b.shape else k.floor * alike
            return run(a, b) if a.size >= least or listening and k.pays(0) else twin(a, b)
        if alike != 1: call = call_alike
        call.kernel, k.call = k, call
        return call
    return define
