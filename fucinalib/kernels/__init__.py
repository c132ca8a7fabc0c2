"""The hot loops of the library: NumPy functions with compiled doubles. `dispatch` says how a call finds its way."""
import os
from .dispatch import Kernel, kernel, stats, table
from .threads import get_num_threads, set_num_threads
from .backends import current_backend, use_backend
from . import backends as _backends
from . import gated, masks, pointwise, random, unary

globals().update({name: k.call for name, k in table.items()})


def backends():
    "Backend name -> names of the kernels it has. `numpy` has them all."
    return {'numpy': sorted(table)} | {name: sorted(set(_backends.load(name)) & set(table)) for name in _backends.installed()[1:]}


if os.environ.get('FUCINALIB_BACKEND', 'numpy') != 'numpy': _backends.active()     # a misspelt name is told now
