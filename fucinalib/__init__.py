"""fucinalib: a deep-learning library whose notebooks are its source. Tensors with named axes, autograd, compiled kernels."""
__version__ = "0.1.0"

from . import _environment                      # before NumPy
import builtins as _builtins
from .errors import *
from .dtypes import f16, f32, f64, i8, i16, i32, i64, u8, u16, bool_
from .tags import parse
from .tensor import Tensor, copy_of, param
from .autograd import checkpoint, custom_vjp, enable_grad, gradcheck, is_grad_enabled, no_grad, registry
from .kernels import backends, current_backend, get_num_threads, set_num_threads, use_backend
from . import ops
from .reference import op_table
from .exercises import check, hint, solution, use

globals().update({name: op.call for name, op in registry.items()})      # every operation, as a function


def __getattr__(name):
    near = closest(name, [n for n in globals() if not n.startswith('_')])
    raise AttributeError(f'fucinalib has no {name!r}' + (f'; did you mean {near!r}?' if near else ''), name=name)


# `import *` leaves Python's own names (sum, max, pow, ...) alone; fl.sum and friends are there all the same
__all__ = sorted(n for n, v in globals().items() if not n.startswith('_') and not hasattr(_builtins, n) and not isinstance(v, type(_builtins)))
