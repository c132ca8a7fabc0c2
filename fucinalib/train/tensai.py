"""Reads what tensai, a library for Go, saves of a model: JSON, layer by layer, weights as rows and columns."""
import json
from pathlib import Path
import numpy as np
from ..errors import CheckpointError, fault
from ..whole import told
from .unfit import check_kinds, not_read

__all__ = ['read_model']

# our layers -> what tensai calls them
KINDS = dict(Linear='Dense', BatchNorm='BatchNorm', Embedding='Embedding', Dropout='Dropout', Flatten='Flatten')


UNKNOWN = {'batches'}      # what a BatchNorm of ours counts besides


def read_model(path, layers):
    "Weights by the names they have in a chain of these layers."
    try: said = json.loads(Path(path).read_bytes())
    except OSError as e: raise told('no weights could be read from', path, e) from e
    except ValueError as e: raise not_read(path, e) from None
    found = said.get('layers') if isinstance(said, dict) else None
    if not isinstance(found, list) or not all(isinstance(f, dict) for f in found):
        raise not_read(path, 'it lists no layers')
    kinds = [str(f.get('type')).split('.')[-1] for f in found]
    check_kinds(path, kinds, [_kind_of(layer, kind) for layer, kind in zip(layers, [*kinds, *[''] * len(layers)])])
    return {name: a for i, (f, layer) in enumerate(zip(found, layers)) for name, a in _arrays_of(path, i, f, layer)}


def _kind_of(layer, there):
    "What tensai calls a layer; what has no weights is of whichever kind it is there."
    ours = type(layer).__name__
    return KINDS.get(ours, ours) if ours in KINDS or list(layer.named_tensors()) else there


def _arrays_of(path, i, found, layer):
    "(name, array) for the tensors of one layer."
    own = dict(layer.named_tensors())
    given = {'weight': _matrix(path, i, found['weights'])} if found.get('weights') else {}
    given |= {'bias': found['bias']} if found.get('bias') is not None else {}
    given |= {n: a for n, a in (found.get('extra') or {}).items()}
    for name, t in own.items():
        a = np.asarray(given.get(name, ()), 'f8') if name not in UNKNOWN else t.data
        if a.size != t.data.size or a.ndim == 2 and name == 'weight' and t.ndim == 2 and a.shape != t.shape:
            raise fault(CheckpointError, f'{str(path)!r}: layer {i} has {a.shape or "no"} {name} there', here=t,
                        help='compile the layers with the sizes they had')
        yield f'{i}.{name}', a.reshape(t.shape)


def _matrix(path, i, m):
    "Rows, Cols and Data as an array."
    try: return np.array(m['Data'], 'f8').reshape(m['Rows'], m['Cols'])
    except (KeyError, TypeError, ValueError) as e: raise not_read(path, f'layer {i}: {e}') from None
