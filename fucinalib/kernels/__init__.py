"""The hot loops of the library: NumPy functions with compiled doubles. `dispatch` says how a call finds its way."""
import os
from ..absent import no_such_name as _no_such_name
from .dispatch import Kernel, as_one_call, kernel, noted, stats, table
from .threads import alone, get_num_threads, set_num_threads, together
from .discovery import current_backend, use_backend
from . import discovery as _discovery
from . import activations, attention, contraction, convolution, copies, correlation, gated, indexing, losses, masked
from . import masks, merges, moments, norms, optimizers, pointwise, pooling, random, recurrence, reductions, rotary
from . import scans, selection, softmax, unary
from .contraction import matmul
from .reductions import column_sum, max, min, spread, sum

globals().update({name: k.call for name, k in table.items()})


def __getattr__(name):
    "A kernel whose twin stands in a chapter, as those of the block formats do."
    if name in table: return table[name].call
    raise _no_such_name(name, __name__)


def backends():
    "Backend name -> names of the kernels it has. `numpy` has them all."
    return {'numpy': sorted(table)} | {name: sorted(set(_discovery.load(name)) & set(table))
                                       for name in _discovery.installed()[1:]}


if os.environ.get('FUCINALIB_BACKEND', '') not in ('', 'numpy'): _discovery.active()     # a misspelt name is told now
