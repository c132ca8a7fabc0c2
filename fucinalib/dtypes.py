"""The number types: one short name each, its NumPy type, and what enters without a name."""
import ml_dtypes
import numpy as np
from fucinalib.elsewhere import SENTENCES
from fucinalib.errors import DTypeError, brief, closest, did_you_mean, fault

__all__ = ['DType', 'f32', 'f64', 'f16', 'bf16', 'f8_e4m3', 'f8_e5m2', 'i64', 'i32', 'i16', 'i8', 'u8',
           'u16', 'bool_', 'enter', 'dtype_of', 'as_dtype', 'HALF', 'F8', 'SHORT', 'rounded', 'grad_type']


class DType(str):
    "A number type. It is its short name (`x.dtype == 'f32'`) and knows its NumPy type."
    # True for the formats of quantised blocks (chapter 24a), which join these types by `enter`
    is_blocks = False
    def __new__(cls, name, np_type):
        self = super().__new__(cls, name)
        self.np = np.dtype(np_type)
        self.__doc__ = _describe(self)
        return self
    def __reduce__(self): return as_dtype, (str(self),)      # a copy is the type itself
    def strip(self, *chars): return super().strip(*chars) if chars else self      # a name has no blanks
    def split(self, sep=None, maxsplit=-1):
        "As any text; help(fl.f32) takes what it is given for a path of modules, and asks for its parts."
        parts = super().split(sep, maxsplit)
        return parts if sep != '.' or self.is_blocks else ['fucinalib', 'dtypes', self + '_' * self.is_bool]
    @property
    def is_float(self): return self.np.kind not in 'iub'
    @property
    def is_int(self): return self.np.kind in 'iu'
    @property
    def is_bool(self): return self.np.kind == 'b'
    def __repr__(self): return str(self)


def _describe(kind):
    "What a number type holds, in a sentence or two."
    bits = 8 * kind.np.itemsize
    if kind.is_bool: return 'True or false, a byte each.'
    if kind.is_int:
        info = np.iinfo(kind.np)
        return f'Whole numbers of {bits} bits: {info.min} to {info.max}. They have no gradient.'
    info = ml_dtypes.finfo(kind.np)
    more = {4: ' What floats of Python become.', 8: ' To check with.', 2: ' Computed in f32 and rounded once.',
            1: ' For storage: x.to("f32") computes.'}[kind.np.itemsize]
    return f'Real numbers of {bits} bits, with {info.nmant + 1} bits of precision, up to {float(info.max):.4g}.{more}'


f32, f64, f16, bf16 = DType('f32', 'f4'), DType('f64', 'f8'), DType('f16', 'f2'), DType('bf16', ml_dtypes.bfloat16)
f8_e4m3, f8_e5m2 = DType('f8_e4m3', ml_dtypes.float8_e4m3fn), DType('f8_e5m2', ml_dtypes.float8_e5m2)
i64, i32, i16, i8 = DType('i64', 'i8'), DType('i32', 'i4'), DType('i16', 'i2'), DType('i8', 'i1')
u8, u16, bool_ = DType('u8', 'u1'), DType('u16', 'u2'), DType('bool', '?')

by_name = {d: d for d in (f32, f64, f16, bf16, f8_e4m3, f8_e5m2, i64, i32, i16, i8, u8, u16, bool_)}
by_np = {d.np: d for d in by_name.values()}

def enter(kind):
    "Make a number type, such as a format of blocks, known by its name; gives it back."
    by_name[kind] = kind
    return kind

aliases = {'float32': f32, 'float': f32, 'float64': f64, 'double': f64, 'float16': f16,
           'half': f16, 'bfloat16': bf16, 'float8_e4m3fn': f8_e4m3, 'float8_e5m2': f8_e5m2,
           'int64': i64, 'int': i64, 'long': i64, 'int32': i32, 'int16': i16, 'int8': i8,
           'uint8': u8, 'uint16': u16, 'bool_': bool_}

HALF = frozenset({f16.np, bf16.np})             # computed in f32, rounded once
F8 = frozenset({f8_e4m3.np, f8_e5m2.np})        # stored, moved and cast, never computed in
SHORT = HALF | F8


def odd(a):
    """An array of f64 or whole numbers as f32, what lies between two of them as the one whose
    last bit is 1: then rounding it again is rounding it once."""
    if a.dtype.kind in 'iu':
        far = np.abs(a) >> 1 >= 2**51       # f64 holds the upper 52 bits, the last of them for all below
        a = np.where(far, np.float64(4096) * (a >> 12 | ((a & 4095) != 0)), a)
    with np.errstate(all='ignore'): y = a.astype(np.float32)
    bits = (y.view(np.uint32) - (np.abs(y) > np.abs(a))) | 1
    return np.where((y == a) | np.isnan(a), y, bits.astype(np.uint32).view(np.float32))


def rounded(a, np_type):
    """An array as another real type, every number rounded once. ml_dtypes goes by way of f32,
    which rounds f64 and long whole numbers before."""
    if np_type in SHORT and (a.dtype == np.float64 or a.dtype.kind in 'iu' and a.dtype.itemsize > 2): a = odd(a)
    with np.errstate(all='ignore'): return a.astype(np_type)


def grad_type(np_type):
    "The NumPy type of a gradient for values of `np_type`: f32 for 16-bit values, else the same."
    return f32.np if np_type in SHORT else np_type


def dtype_of(array):
    "The DType of an ndarray that is inside a tensor."
    return by_np[array.dtype]


def as_dtype(name):
    "The DType called `name`: 'f32', a DType, a NumPy dtype, or `float`, `int`, `bool`. DTypeError if there is none."
    if isinstance(name, DType): return name
    if isinstance(name, str):
        if (found := by_name.get(name) or aliases.get(name)): return found
    elif isinstance(name, type) and name in (float, int, bool): return {float: f32, int: i64, bool: bool_}[name]
    elif name is not None and not isinstance(name, (np.generic, np.ndarray)):
        # to NumPy, None is f64, and a number is its type
        try: return by_np[np.dtype(name).newbyteorder('=')]
        except Exception: pass
    raise fault(DTypeError, f'no number type is called {brief(name, 60)}', help=_way_to(name))


def _way_to(name):
    "What to say about a type that is none: 'cuda' is a place, and there are fewer types than formats of blocks."
    if not isinstance(name, int) and (place := str(name).partition(':')[0]) in SENTENCES: return SENTENCES[place]
    plain = [d for d in by_name.values() if not d.is_blocks]
    if (near := closest(brief(name), by_name)) and by_name[near].is_blocks:
        return f'did you mean {near!r}? fl.block_formats lists those of blocks'
    blocks = '; fl.block_formats lists those of blocks' if len(plain) < len(by_name) else ''
    return did_you_mean(brief(name), plain, 'the types are') + blocks
