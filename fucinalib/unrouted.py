"""What the chapter on grouped products refuses, and how it is said."""
import numpy as np
from .arguments import as_whole
from .errors import (DTypeError, IndexOutOfBounds, InvalidShape, OptionError, ShapeMismatch, TagError, brief,
                     did_you_mean, fault)
from .tensor import Tensor

__all__ = ['check_selected', 'check_groups', 'check_routes', 'bend_called']


def check_selected(selected, experts):
    "Numbers of experts as an array. DTypeError, IndexOutOfBounds for what is no expert."
    if as_whole(experts, 'experts', 1) > 2**24: raise fault(InvalidShape, f'{experts} experts', help='2**24 at most')
    try: a = np.asarray(selected.data if isinstance(selected, Tensor) else selected)
    except ValueError: a = np.zeros(0)      # rows of several lengths
    if a.dtype.kind not in 'iu' or not a.size:
        raise fault(DTypeError, 'experts are chosen by whole numbers', help="scores.topk('expert', k).indices")
    wrong = a[(a < 0) | (a >= experts)]
    if wrong.size:
        raise fault(IndexOutOfBounds, f'expert {wrong.flat[0]} of {experts}', help=f'0 to {experts - 1}')
    return a


def check_groups(x, w, counts):
    "Counts of rows as a list, if rows, matrices and counts fit."
    if not hasattr(w, 'tags') or not hasattr(w, 'shape') or not hasattr(w, 'dtype'):
        raise fault(DTypeError, f'with a {type(w).__name__}', help="Tensor(values, 'group out in')")
    if len(w.tags) != 3 or w.tags[-1] != x.tags[-1] or w.tags[1] == x.tags[0]:
        raise fault(TagError, f'a matrix for each group has the axes group, out, {x.tags[-1]}',
                    help=f"w.rename('group out {x.tags[-1]}') if that is what they are", x=x, w=w)
    if w.shape[2] != x.shape[1]:
        raise fault(ShapeMismatch, f'over {x.tags[1]!r}: sizes differ', help='equal ones', x=x, w=w)
    if not _may_meet(x, w):
        raise fault(DTypeError, f'of {x.dtype} and {w.dtype}', help=f"w.to({str(x.dtype)!r})", x=x, w=w)
    try: found = np.asarray(counts.data if isinstance(counts, Tensor) else counts)
    except ValueError: found = np.zeros(0)
    fine = found.dtype.kind in 'iu' and found.shape == (w.shape[0],) and (found >= 0).all()
    if fine and found.sum() == x.shape[0]: return found.tolist()
    raise fault(InvalidShape, f'of {x.shape[0]} rows in {w.shape[0]} groups with other counts',
                help='route_plan(selected, experts).count', x=x, w=w)


def _may_meet(x, w):
    "Whether numbers of both types are multiplied: equal ones, or f32 with weights of fewer bits."
    if isinstance(w, Tensor) and w.dtype == x.dtype: return True
    return x.dtype == 'f32' and (not isinstance(w, Tensor) or w.dtype in ('f16', 'bf16'))


def check_routes(x, experts, selected, weights):
    "Refuse tokens, choices and weights that do not fit."
    if not all(hasattr(experts, n) for n in ('gate', 'up', 'down', 'act')):
        raise fault(DTypeError, f'experts are a {type(experts).__name__}', help='Experts(gate, up, down)')
    check_maps(experts)
    if not isinstance(x, Tensor) or x.ndim != 2:
        raise fault(TagError, 'takes tokens of two axes', help="Tensor(values, 'token embed')", x=x)
    own = getattr(weights, 'tags', ())
    if len(own) != 2 or own[0] != x.tags[0] or getattr(selected, 'tags', own) != own or own[1] in x.tags:
        raise fault(TagError, f'choices and their weights have the axes {x.tags[0]!r} and another one',
                    help="top = scores.topk('expert', k, out='choice'); top.indices, top.values", x=x, weights=weights,
                    selected=selected)
    if weights.shape[0] == x.shape[0] and np.shape(getattr(selected, 'data', selected)) == weights.shape: return
    raise fault(ShapeMismatch, 'as many choices as weights, for each token', help='one weight for each choice', x=x,
                selected=selected, weights=weights)


def check_maps(experts):
    "Each map of the experts has three axes, and a bias for each of its rows if it has any."
    for n, axes in dict(gate='expert ff embed', up='expert ff embed', down='expert embed ff').items():
        w, bias = getattr(experts, n), getattr(experts, f'{n}_bias', None)
        if len(getattr(w, 'shape', ())) != 3:
            raise fault(DTypeError, f'{n} of the experts is {brief(w)}', help=f'Tensor(values, {axes!r})')
        if bias is None or isinstance(bias, Tensor) and bias.shape == tuple(w.shape[:2]): continue
        raise fault(ShapeMismatch, f'{n}_bias of the experts is {brief(bias)}',
                    help=f'Tensor(values, {axes.rpartition(" ")[0]!r}), of sizes {tuple(w.shape[:2])}')


def bend_called(name, table):
    "How a gate bends. OptionError says which ways there are."
    if name in table: return table[name]
    raise fault(OptionError, f'there is no act {name!r}', help=did_you_mean(name, table, 'there is'))
