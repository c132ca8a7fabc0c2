"""What tensai, a library for Go, saves: JSON. A model layer by layer, parameters one after the other; of a matrix its
rows, columns and numbers, of any other array its shape and numbers."""
import json
from pathlib import Path
import numpy as np
from ..checks import is_whole
from ..dtypes import as_dtype, rounded
from ..errors import CheckpointError, DTypeError, NonFiniteValue, brief, fault
from ..tensor import Tensor
from ..whole import told
from .unfit import check_kinds, not_read

__all__ = ['read_model', 'params_of', 'params_to_json', 'read_params', 'fill_params']

# our layers -> what tensai calls them
KINDS = dict(Linear='Dense', BatchNorm='BatchNorm', Embedding='Embedding', Dropout='Dropout', Flatten='Flatten')


UNKNOWN = {'batches'}      # what a BatchNorm of ours counts besides


def read_model(path, layers):
    "Weights by the names they have in a chain of these layers."
    found = _listed(path, 'layers')
    kinds = [str(f.get('type')).split('.')[-1] for f in found]
    check_kinds(path, kinds, [_kind_of(layer, kind) for layer, kind in zip(layers, [*kinds, *[''] * len(layers)])])
    return {name: a for i, (f, layer) in enumerate(zip(found, layers)) for name, a in _arrays_of(path, i, f, layer)}


def _listed(path, what):
    "The dicts that a file lists under one word."
    try: said = json.loads(Path(path).read_bytes())
    except OSError as e: raise told('no weights could be read from', path, e) from e
    except (ValueError, RecursionError) as e: raise not_read(path, e) from None
    found = said.get(what) if isinstance(said, dict) else None
    if isinstance(found, list) and all(isinstance(f, dict) for f in found): return found
    raise not_read(path, f'it lists no {what}')


def _kind_of(layer, there):
    "What tensai calls a layer; what has no weights is of whichever kind it is there."
    ours = type(layer).__name__
    return KINDS.get(ours, ours) if ours in KINDS or list(layer.named_tensors()) else there


def _arrays_of(path, i, found, layer):
    "(name, array) for the tensors of one layer."
    own = dict(layer.named_tensors())
    given = {'weight': _array(path, f'layer {i}', found['weights'])} if found.get('weights') else {}
    given |= {'bias': found['bias']} if found.get('bias') is not None else {}
    given |= {n: a for n, a in (found.get('extra') or {}).items()}
    for name, t in own.items():
        a = np.asarray(given.get(name, ()), 'f8') if name not in UNKNOWN else t.data
        if a.size != t.data.size or a.ndim == 2 and name == 'weight' and t.ndim == 2 and a.shape != t.shape:
            raise fault(CheckpointError, f'{str(path)!r}: layer {i} has {a.shape or "no"} {name} there', here=t,
                        help='compile the layers with the sizes they had')
        yield f'{i}.{name}', a.reshape(t.shape)


def _array(path, place, said):
    "An array of its Shape, or of Rows and Cols, and its Data; in f64."
    shape, data = said.get('Shape', [said.get('Rows', 0), said.get('Cols', 0)]), said.get('Data') or []
    if not isinstance(shape, list) or not all(is_whole(n) and n >= 0 for n in shape) or not isinstance(data, list):
        raise not_read(path, f'{place} has no sizes and numbers')
    try: a = np.array([float(v) for v in data if not isinstance(v, (str, bool))], 'f8')
    except (TypeError, OverflowError): a = np.array([np.nan])
    if len(a) != len(data) or not np.isfinite(a).all(): raise not_read(path, f'{place} holds what is no number')
    if a.size == np.prod(shape, dtype=object): return a.reshape(shape)
    raise not_read(path, f'{place} has {a.size} numbers, and the shape {tuple(shape)}')


# ---- parameters in their order
def params_of(params):
    "The tensors or arrays of a module or a list, in order. CheckpointError, DTypeError."
    if hasattr(params, 'parameters'): params = params.parameters()
    if isinstance(params, Tensor) or not hasattr(params, '__iter__') or hasattr(params, 'keys'):
        raise fault(CheckpointError, f'{brief(params, 20)} is no list of parameters', help='a module, or [w, b]')
    params = list(params)
    for i, p in enumerate(params):
        kind = as_dtype(p.dtype) if hasattr(p, 'dtype') else None
        if kind is None or not kind.is_float:
            raise fault(DTypeError, f'parameter {i} is {kind or brief(p, 20)}', help='tensors of real numbers')
    return params


def params_to_json(params):
    "The bytes of a file; numbers as short as they can be read back to the bit."
    return json.dumps(dict(params=[_entry(i, p) for i, p in enumerate(params)]), separators=(',', ':')).encode() + b'\n'


def _entry(i, p):
    a = np.asarray(p.data if isinstance(p, Tensor) else p)
    a = a if a.dtype == 'f8' else a.astype('f4')
    if not np.isfinite(a).all():
        raise fault(NonFiniteValue, f'parameter {i} holds NaN or infinity, for which JSON has no word',
                    help='fl.train.save_weights keeps them')
    sizes = dict(Rows=a.shape[0], Cols=a.shape[1]) if a.ndim == 2 else dict(Shape=[*a.shape])
    return sizes | dict(Data=[float(str(v)) for v in a.ravel()])


def read_params(path):
    "The arrays of a file in f64, in order."
    return [_array(path, f'array {i}', said) for i, said in enumerate(_listed(path, 'params'))]


def fill_params(path, arrays, tensors):
    "Arrays into tensors of the same sizes, all of them or none."
    twin = 'build the model that was saved, with the same sizes'
    if len(arrays) != len(tensors):
        raise fault(CheckpointError, f'{str(path)!r} has {len(arrays)} arrays, this model {len(tensors)}', help=twin)
    values = [rounded(a, t.data.dtype) for a, t in zip(arrays, tensors)]
    for i, (a, t) in enumerate(zip(values, tensors)):
        if a.shape != t.shape:
            raise fault(CheckpointError, f'{str(path)!r}: array {i} has shape {a.shape}', here=t, help=twin)
        if not np.isfinite(a).all():
            raise fault(CheckpointError, f'{str(path)!r}: array {i} has numbers beyond {t.dtype}', here=t,
                        help="model.to('f64')")
    for a, t in zip(values, tensors): t.data[...] = a
