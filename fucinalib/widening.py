"""Numbers of 16 bits are too coarse to compute in. An operation that meets them widens them, works in f32, and rounds
its result once. Chapter 24 tells the story."""
from .dtypes import F8, SHORT, f32
from .errors import DTypeError, UnsupportedGradient, fault
from .kernels.dispatch import quiet
from .misuse import complaint
from .tensor import Tensor, wrap

__all__ = ['is_short', 'in_f32']


def is_short(o, args, kw):
    "Whether the first tensor among the operands holds 16-bit or 8-bit reals."
    if not o.operands: return False
    x = args[0] if args else kw.get(o.operands[0])
    if isinstance(x, (list, tuple)) and x: x = x[0]
    return isinstance(x, Tensor) and x.data.dtype in SHORT


def in_f32(o, args, kw, recording):
    "Run `o` on 16-bit operands: widen them, compute in f32, round the result once (or leave it f32)."
    try: found = o.find_operands(args, kw)
    except TypeError as e: raise complaint(o, e, args, kw)
    kind = _one_type(o, found, recording)
    def one(a): return wrap(a.data.astype(f32.np), a.tags) if isinstance(a, Tensor) and a.data.dtype == kind else a
    def wide(a): return type(a)(map(one, a)) if type(a) in (list, tuple) else one(a)
    def narrow(y):
        if not (isinstance(y, Tensor) and y.data.dtype == f32.np and o.half == 'keep'): return y
        return wrap(quiet(y.data.astype)(kind), y.tags)
    y = o.bare(*map(wide, args), **{k: wide(v) for k, v in kw.items()})
    if isinstance(y, tuple): return type(y)(*map(narrow, y)) if hasattr(y, '_fields') else tuple(map(narrow, y))
    return [narrow(v) for v in y] if isinstance(y, list) else narrow(y)


def _one_type(o, found, recording):
    "The type that operands of 16 bits share. DTypeError, UnsupportedGradient if one should get a gradient."
    named, operands = dict(zip(o.operands, found)), [x for x in found if isinstance(x, Tensor)]
    first, named = operands[0], {n: x for n, x in named.items() if x is not None}
    for x in operands:
        if x.data.dtype in F8:
            raise fault(DTypeError, f'{o.name} of {x.dtype}: 8-bit numbers are for storage', x=x,
                        help="x.to('f32') computes")
        if x.dtype.is_float and x.data.dtype != first.data.dtype:
            wide, both = ('f32', ' and the other too') if x.dtype.np in SHORT else (str(x.dtype), '')
            raise fault(DTypeError, f'{o.name} of {first.dtype} and {x.dtype}', **named,
                        help=f'number types never mix silently: {o.operands[0]}.to({wide!r}){both}')
        if x.node is not None and recording and o.differentiable:
            raise fault(UnsupportedGradient, f'{o.name} of {x.dtype} has no gradient', **named,
                        help="x.to('f32') passes one")
    return first.data.dtype
