"""Kernels in several forms, made of one twin: value by value; along the last axis or a middle one; beside an array of
the same shape, a number, a row or a column."""
import functools
from types import FunctionType
import numpy as np
from .dispatch import kernel

CHUNK = 1 << 15     # values made at a time, so that temporaries stay in cache


def pieces(n):
    "Slices of CHUNK that cover range(n)."
    return [slice(lo, min(n, lo + CHUNK)) for lo in range(0, n, CHUNK)]


def as_kernel(f, name, doc, **how):
    "`f` as a twin of its own, with a name and a docstring of its own."
    twin = FunctionType(f.__code__, f.__globals__, name, f.__defaults__, f.__closure__)
    twin.__doc__ = doc
    return kernel(**how)(twin)


# value by value

def by_pieces(f, outputs=1):
    "A function of arrays of one shape, on pieces whose temporaries stay in cache."
    @functools.wraps(f)
    def twin(x, *rest):
        if x.size <= CHUNK: return f(x, *rest)
        flat = [a.reshape(-1) if isinstance(a, np.ndarray) else a for a in (x, *rest)]
        ys = [np.empty(x.size, x.dtype) for _ in range(outputs)]
        for s in pieces(x.size):
            part = f(*[a[s] if isinstance(a, np.ndarray) else a for a in flat])
            for y, p in zip(ys, part if outputs > 1 else (part,)): y[s] = p
        ys = [y.reshape(x.shape) for y in ys]
        return ys[0] if outputs == 1 else tuple(ys)
    return twin

# floors: elements from which the double is faster, on one thread where it can be

def value_by_value(floor): return kernel(flat=True, floor=floor)

one_pass = value_by_value(1 << 17)      # NumPy makes one pass as fast as memory is: only more threads are faster
costly = value_by_value(1 << 15)        # one pass with more to compute, or two
several = value_by_value(1 << 13)       # NumPy makes several passes, or goes number by number
branching = value_by_value(1 << 7)      # NumPy makes a mask first

def soft(f):
    "NumPy makes many passes."
    return kernel(flat=True, floor=1 << 7)(by_pieces(f))

def has_vector_code(ufunc):
    "Whether NumPy computes a ufunc of f32 several numbers at a time on this processor, as far as it says."
    try: from numpy.lib.introspect import opt_func_info
    except ImportError: return False        # before NumPy 2.2
    ways = opt_func_info(func_name=f'^{ufunc}$', signature='float32').get(ufunc, {}).values()
    return any(way['current'] and not way['current'].startswith('baseline') for way in ways)

def two(g, *rest): return [(g.shape, g.dtype)] * 2

def soft_pair(f):
    "As soft, with two results."
    return kernel(flat=True, floor=1 << 7, out=two)(by_pieces(f, 2))


# along axis 1 of (rows, n) or of (outer, n, inner)

WAYS = dict(last='the rows', mid='the middle axis')

def kept(x): return x.shape[:1] + x.shape[2:]     # what is left of the shape

def along(name='', **how):
    """The kernels `name_last` and `name_mid` of a twin that is the same for both; gives back what takes either.
    In its docstring {} is where it goes; {} in a name is where the form stands if not at the end."""
    def define(f):
        form, doc = (name or f.__name__ + '_{}').format, f.__doc__.format
        last, mid = [as_kernel(f, form(way), doc(said), **how) for way, said in WAYS.items()]
        def either(x, *rest): return (last if x.ndim == 2 else mid)(x, *rest)
        either.last, either.mid = last, mid
        return functools.update_wrapper(either, f)
    return define


# beside an array: one of its shape; a number; a row (n,) for all rows of (rows, n); a column (k,) with a number for
# each row, used again from the top after k rows

def whole(f): return lambda a, b: f(a, b)
def scalar(f): return lambda x, s: f(x, s)
def row(f): return lambda x, row: f(x, row)
def col(f): return lambda x, col: f(x.reshape(-1, col.size, x.shape[1]), col[:, None]).reshape(x.shape)

BESIDE = dict(scalar=(scalar, 'x', 's'), row=(row, 'x', 'row'), col=(col, 'x[i]', 'col[i % k]'))

def with_forms(name, f, doc, forms=('scalar', 'row', 'col')):
    "The kernel `name` of a ufunc, and one for each form of its last operand; `doc` has {} for both operands."
    for form in forms:
        make, a, b = BESIDE[form]
        as_kernel(make(f), f'{name}_{form}', doc.format(a, b), flat=form == 'scalar')
    return as_kernel(whole(f), name, doc.format('a', 'b'), flat=True, forms=forms, alike=4)
