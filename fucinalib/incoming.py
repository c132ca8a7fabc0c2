"""What comes in at the door: numbers, nested lists and arrays of any kind, read into arrays of our number types.

Chapter 2 tells the rule, and its `ingest` applies it step by step. Here is what each step takes, and the words for what
it refuses: where a list is ragged, which value a type does not hold, what an array hides.
"""
import numpy as np
from .dtypes import by_np, f32, rounded
from .errors import DTypeError, InvalidShape, fault, some
from .tags import MAX_RANK

__all__ = ['read_values', 'without_subclass', 'native', 'refuse_huge', 'refuse_complex',
           'converted', 'filled', 'rank_fault']


def read_values(data, want=None):
    "Numbers, nested lists or what NumPy can read as an array; Python's own floats as f32, unless `want` is asked for."
    try: a = np.asarray(data)
    except ValueError: a = np.empty((), object)
    except RuntimeError as e:
        help = 'give an array of NumPy or nested lists'
        raise fault(DTypeError, f'{type(data).__name__} is not read: {e}', help=help) from None
    if a.dtype == object and (spot := _find_ragged(data)):
        raise fault(InvalidShape, f'the list is ragged: {spot}',
                    help='every row needs the same length; pad the short ones')
    if want is not None or hasattr(data, '__array__'): return a
    if a.dtype == np.float64 and not isinstance(data, np.generic): return converted(a, f32.np)
    if a.dtype.kind == 'u' and a.dtype.itemsize == 8: raise _huge()
    return a


def _huge(help='divide it, or make it real: float(n)'):
    return fault(DTypeError, 'a whole number beyond the range of i64', help=help)


def refuse_huge(a, *help):
    "DTypeError if an array, or a list read as one, holds a whole number that no type of ours holds."
    if a.dtype == object and any(isinstance(v, int) and not -2**63 <= v < 2**63 for v in a.flat): raise _huge(*help)


def refuse_complex(a, name):
    "DTypeError if an array holds complex numbers, which a change of type would cut."
    if a.dtype.kind != 'c': return
    raise fault(DTypeError, f'{name} is complex, and there are real numbers alone',
                help=f'{name}.real and {name}.imag are two arrays of real ones', **{name: a})


def _find_ragged(data, path='', like=None):
    "Where the first two rows of different length meet, in words, or None."
    if not isinstance(data, (list, tuple)): return None
    if path.count(',') > MAX_RANK: return None      # a list that holds itself has no end
    if like is None: like = data
    for i, d in enumerate(data):
        n, m = [len(v) if isinstance(v, (list, tuple)) else None for v in (d, data[0] if i else like[0])]
        if n != m:
            return f'[{path}{i}] has {_values(n)} where [{path if i else "0, " * path.count(",")}0] has {_values(m)}'
    return next((spot for i, d in enumerate(data) if (spot := _find_ragged(d, f'{path}{i}, ', like[0]))), None)


def _values(n): return 'a single value' if n is None else some(n, 'value')


def without_subclass(a):
    "An ndarray as just that. DTypeError if it hides values."
    if type(a) is np.ndarray: return a
    if isinstance(a, np.ma.MaskedArray) and a.mask.any():
        raise fault(DTypeError, 'a masked array hides some of its values', data=a,
                    help='data.filled(0) chooses what stands there')
    return np.asarray(a)


def native(a):
    "An array in the byte order of this machine. DTypeError for a type that is none of ours."
    if a.dtype in by_np and a.dtype.isnative: return a
    kind = a.dtype.newbyteorder('=')
    if kind in by_np: return a.astype(kind)
    refuse_huge(a)
    name = 'text' if a.dtype.kind == 'U' else f'{a.dtype.name} values'
    raise fault(DTypeError, f'a tensor cannot hold {name}', help=_way_in(a))


def _way_in(a):
    "What to do with an array of a type that is none of ours, without losing a value."
    kind, odd = a.dtype.kind, a.item() if a.ndim == 0 else None
    if kind == 'u' and a.dtype.itemsize == 8 and a.size and a.max() >= 2**63:
        return 'divide it; i64 holds whole numbers below 2**63'
    if kind in 'uMm': return 'i64 holds them: np.asarray(data).astype("i8")'
    if kind == 'c': return 'np.real(data) and np.imag(data) are two arrays of real numbers'
    if kind in 'SV': return 'np.frombuffer(data, "u1") reads bytes as numbers from 0 to 255'
    if isinstance(odd, dict): return 'give a list of its values: [*data.values()]'
    if isinstance(odd, (set, frozenset)): return 'give a list, which has an order: sorted(data)'
    if kind == 'O': return 'give numbers, nested lists of numbers or an array of them'
    if isinstance(odd, str): return f'the values come first, then the names of their axes: Tensor(values, {odd!r})'
    return 'convert to numbers first, e.g. np.asarray(data, dtype="float32")'


def converted(a, want):
    "An array as NumPy type `want`. DTypeError for a number beyond a whole type; beyond a real one it is infinite."
    if want.kind in 'iu' and a.size:
        low, high = [f(a.astype('f4') if a.dtype.kind == 'V' else a).item() for f in (np.min, np.max)]
        info, name = np.iinfo(want), by_np[want]
        if not (low >= info.min and high <= info.max):
            wrong = low if not low >= info.min else high
            raise fault(DTypeError, f'{wrong} is not a value of {name}',
                        help=f'{name} holds {info.min} to {info.max}; give a wider type')
    return rounded(a, want)


def filled(a):
    "An array that has values. InvalidShape if it has none."
    if 0 not in a.shape: return a
    raise fault(InvalidShape, f'sizes {a.shape}: an axis of size 0',
                help='a tensor holds at least one value; skip the empty case before it gets here')


def rank_fault(a, tags):
    "The error for a number of tags that differs from the number of axes."
    n, m = a.ndim, len(tags)
    more = [t for t in ('row', 'col', 'depth', 'a', 'b', 'c', 'd', 'e') if t not in tags]
    names = ' '.join([*tags, *more][:n])
    help = f'name every axis: Tensor(data, {names!r})' if n else 'a single number has no axes: Tensor(data)'
    return fault(InvalidShape, f'{n} {"axis" if n == 1 else "axes"} but {some(m, "tag")}',
                 data=a, tags=' '.join(tags), help=help)
