"""fucinalib: a deep-learning library whose notebooks are its source. Tensors with named axes,
autograd, compiled kernels."""
__version__ = "0.1.0"

from . import _before_numpy                      # before NumPy
import builtins as _builtins
from importlib import import_module as _import
from .errors import *
from .absent import for_import as _for_import, install as _install
from ._help import TEXTS as _texts
from .elsewhere import of_module as _of_module
from .errors import fault as _fault
from .dtypes import bf16, f16, f32, f64, f8_e4m3, f8_e5m2, i8, i16, i32, i64, u8, u16, bool_
from .tags import parse
from .tensor import Tensor, copy_of, param
from .autograd import enable_grad, is_grad_enabled, no_grad, registry
from .gradients import checkpoint, custom_vjp, gradcheck
from .kernels import backends, current_backend, get_num_threads, set_num_threads, use_backend
from . import graph
from .graph import timed
from . import ops
from .ops.construction import manual_seed
from .ops.custom import elemental
from .block_arithmetic import block_formats
from .ops.packed import PackedWeight
from .ops.blocks import BlockTensor
from .ops.mixture import Experts, RoutePlan, moe_ffn, route_plan
from .ops.rotary import AxisRange, RopeTable
from .registry_table import op_table
from .contraction_trace import explain

globals().update({name: op.call for name, op in registry.items()})      # every operation, as a function

for _path, _text in _texts.items():      # what help() says of parameters
    _owner, _, _name = _path.rpartition('.')
    if (_found := (vars(Tensor) if _owner else globals()).get(_name)) is not None: _found.__doc__ = _text


# imported when first asked for
_LATER = dict(check='exercises', hint='exercises', solution='exercises', use='exercises',
              summary='nn.module', record='recording', profile='profiling')
# packages of parts III and IV, likewise
_PARTS = {'nn', 'optim', 'data', 'knn', 'train', 'evolution', 'lora', 'files', 'text', 'quant', 'llm', 'serve'}


def __dir__(): return sorted({*globals(), *_LATER, *_PARTS})


def __getattr__(name):
    if name in _LATER: return getattr(_import(f'{__name__}.{_LATER[name]}'), name)
    if name in _PARTS:
        part = _import(f'{__name__}.{name}')
        _import(f'{__name__}._telling').add_help(__name__, _PARTS)
        return part
    known = [*_LATER, *_PARTS, *(n for n in globals() if not n.startswith('_'))]
    methods = [n for n in dir(Tensor) if not n.startswith('_')]
    raise _for_import(_fault(UnknownName, f'fucinalib has no {name!r}', help=_of_module(name, known, methods)))


class _NoFunction(type(_builtins)):
    "The module `tensor`, for whoever calls it as torch's function."
    def __call__(self, *args, **kw):
        raise _fault(UnknownName, 'fl.tensor is a module',
                     help="fl.Tensor([1., 2.], 'col') makes a tensor, fl.param(...) one that learns")


def _missing(module, name):
    "The error for a name that a module of the library has not."
    known, above = [n for n in vars(module) if not n.startswith('_')], module.__name__.rpartition('.')[0]
    try: help = not isinstance(getattr(_import(above), name), type(_builtins)) and f'from {above} import {name}'
    except UnknownName as e: help = above != __name__ and e.help
    return _fault(UnknownName, f'{module.__name__} has no {name!r}', help=help or _of_module(name, known))


_install(_missing)
tensor.__class__ = _NoFunction      # noqa: F821  a submodule that was imported above


# `import *` leaves Python's own names (sum, max, pow, ...) alone; fl.sum and friends are there all the same
__all__ = sorted([*_LATER, *(n for n, v in globals().items() if not n.startswith('_')
                             and not hasattr(_builtins, n) and not isinstance(v, type(_builtins)))])
