"""What a module says: of a state that does not fit, of an assignment that would lose a tensor, of a name it has not."""
import os
from ..checks import NEVER_MIXED
from ..dtypes import F8, as_dtype
from ..elsewhere import CPU, OPTIONS, of_layer
from ..errors import DTypeError, OptionError, OptionTypeError, StateMismatch, UnknownName, brief, cells, closest, fault
from ..tensor import Tensor

__all__ = ['mismatch', 'described', 'check_assigned', 'no_attribute', 'real_type', 'way_to_state',
           'as_its_weights']
MOST = 6      # names a line lists


def mismatch(missing,  # names that were not given
             foreign,  # names the model has not
             wrong,    # name -> why its entry does not fit
            ):
    "The error that names all that does not fit, and the likely reason."
    say = lambda n, one, more: [f'{n} {"entry" if n == 1 else "entries"} {one if n == 1 else more}'] * (n > 0)
    head = ', '.join([*say(len(missing), 'is missing', 'are missing'), *say(len(foreign), 'is foreign', 'are foreign'),
                      *say(len(wrong), 'does not fit', 'do not fit')])
    rows = dict(missing=_short(missing), foreign=_short(foreign)) | dict(list(wrong.items())[:MOST])
    if len(wrong) > MOST: rows['...'] = [f'and {len(wrong) - MOST} more']
    rows = {name: words for name, words in rows.items() if words}
    return StateMismatch(f'nothing was changed: {head}', _way_out(missing, foreign, wrong), rows)


def _short(names): return names[:MOST] + [f'and {len(names) - MOST} more'] * (len(names) > MOST)


def _way_out(missing, foreign, wrong):
    "The likely reason: a prefix, a slip of the pen, another order of axes."
    for n in foreign:
        end = next((m for m in missing if n.endswith(f'.{m}')), None)
        if end: return f'{{k.removeprefix({n[:-len(end)]!r}): v for k, v in state.items()}} takes off the front'
        start = next((m for m in missing if m.endswith(f'.{n}')), None)
        if start: return f'{{{start[:-len(n)]!r} + k: v for k, v in state.items()}} puts in front what is lacking'
    near = [(n, m) for n in foreign[:MOST] if (m := closest(n, missing))]
    if near: return 'did you mean ' + ', '.join(f'{m!r} for {n!r}' for n, m in near) + '?'
    if any('turned' in ' '.join(why) for why in wrong.values()):
        return 'torch keeps (out, in) where a name comes from its position: state[name].T turns it'
    return 'load_state_dict(state, strict=False) reads what fits by name, and returns the rest' if not wrong else None


def described(value, own):
    "What was given for a tensor that it does not fit."
    shape, given = own.shape, tuple(getattr(value, 'shape', ()))
    turned = ', turned' if given == shape[::-1] != shape else ''
    return [*cells(own), f'given {" ".join(cells(value))}{turned}']


FREE = {'forward', 'training', 'spec'}      # methods and flags that a module may have of its own

def check_assigned(module, name, value, base):
    "OptionTypeError for an assignment after which a tensor of the model would no longer be one, or a method gone."
    old = vars(module).get(name)
    if isinstance(old, Tensor): return _check_successor(module, name, old, value)
    if callable(getattr(base, name, None)) and name not in FREE and not name.startswith('__'):
        kind = type(module).__name__
        raise fault(OptionTypeError, f'{name} is a method of every module, {kind} too', help=f'self.{name}_ = ..., say')


def _check_successor(module, name, old, value):
    if old.node is not None and old.node.op is not None: return      # a result that was kept to look at
    if value is None or name.startswith('_') or not isinstance(value, Tensor) and hasattr(value, 'forward'): return
    if isinstance(value, Tensor) and not (old.requires_grad and _is_no_leaf(value)): return
    what = 'a constant' if isinstance(value, Tensor) and value.node is None else f'{brief(value, 20)}'
    if isinstance(value, Tensor) and value.node is not None: what = f'a result of {value.node.op.name}'
    role = 'a parameter' if old.requires_grad else 'a buffer'
    help = f'fl.{"param" if old.requires_grad else "Tensor"}(values, {" ".join(old.tags)!r})'
    if isinstance(value, Tensor): help += f'; in place: self.{name}.detach().add_(change)'
    raise fault(OptionTypeError, f'{name} is {role}, and {what} would take its place', help=help,
                **{name: old}).within(type(module).__name__)


def _is_no_leaf(t): return t.node is None or t.node.op is not None


def no_attribute(module, name):
    "What Python raises for an attribute that is not there, with the name that was meant."
    if name.startswith('__'): return AttributeError(name)
    known = [n for n in (*vars(module), *dir(type(module))) if not n.startswith('_')]
    return fault(UnknownName, f'{type(module).__name__} has no {name!r}', help=of_layer(name, known))


def real_type(dtype, unknown):
    "The number type that a model is to have; the error for none, for one that does not compute, for other options."
    for name in unknown:
        help = CPU if OPTIONS.get(name) == CPU else "model.to('f64')"
        raise fault(OptionError, f'there is no option {name!r}', help=help)
    if dtype is None: raise fault(OptionError, 'no number type', help="model.to('f64')")
    kind = as_dtype(dtype)
    if kind.is_float and kind.np not in F8: return kind
    raise fault(DTypeError, f'to {kind}', help="model.to('f64')")


def way_to_state(given):
    "How to come to a state from what was given for one."
    if isinstance(given, (str, os.PathLike)): return f'fl.train.load_weights({str(given)!r}, model) reads a file'
    return 'model.state_dict() is one'


def as_its_weights(e, module, given):
    """The error, or that of two number types that met in a module: if all of its weights are of one, and what it is
    given is of another, the data are to change, not a weight or what was computed on the way."""
    if not isinstance(e, DTypeError) or NEVER_MIXED not in (e.help or ''): return e
    x = next((v for v in given if isinstance(v, Tensor) and v.dtype.is_float), None)
    kinds = {str(t.dtype) for _, t in module.named_tensors() if t.dtype.is_float}
    if x is None or len(kinds) != 1 or str(x.dtype) in kinds or not kinds <= {'f32', 'f64'}: return e
    kind, = kinds
    return fault(type(e), f'x is {x.dtype}, and the weights are {kind}',
                 help=f"x.to({kind!r}), for data of the model's type", x=x)
