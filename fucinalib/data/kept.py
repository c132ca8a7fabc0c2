"""Whether rows that are kept and points that are asked about fit together: what chapter 35 refuses, in words."""
import numpy as np
from ..errors import DTypeError, InvalidShape, OptionError, ShapeMismatch, TagError, fault, some
from ..tags import axis_of, without
from ..tensor import Tensor
from .columns import check_finite, check_tensor

__all__ = ['as_labels', 'no_choice', 'check_rows', 'check_labels', 'check_question']


def check_rows(x, k):
    "Faults of rows to be kept: no axis of rows, fewer than k, what is not finite."
    check_tensor(x, 'x', 'row feature')
    if x.ndim == 0: raise fault(TagError, 'a single number has no rows', x=x, help="x has the axes 'row feature'")
    if k > len(x.data):
        raise fault(InvalidShape, f'k is {k}, and there are {some(len(x.data), "row")}', x=x,
                    help=f'k runs from 1 to {len(x.data)}')
    check_finite(x.data, 'x', x.tags[0])


def as_labels(y, x):
    "Classes as a tensor along the rows of x. OptionError, ShapeMismatch."
    if y is None: raise fault(OptionError, 'y is missing: the class of each row', help='fit(data.x, data.y)')
    if isinstance(y, Tensor): return y
    if np.asarray(y).dtype.kind in 'US': raise fault(DTypeError, 'y holds words', help='y, names = fl.data.encode(y)')
    return Tensor(y, x.tags[:1])


def no_choice(name):
    "The error for an option that a classifier has not."
    help = {'n_neighbors': 'k=5'}.get(name, 'k= is all there is: distances are Euclidean, all neighbours count alike')
    return fault(OptionError, f'there is no option {name!r}', help=help)


def check_labels(x, labels):
    "ShapeMismatch unless there is a label for each row."
    if len(labels) != len(x.data):
        raise fault(ShapeMismatch, f'over {x.tags[0]!r}: sizes differ', help='one class for each row of x',
                    x=x, y=Tensor(labels, x.tags[0]))


def check_question(kept, x):
    "Faults of points that are asked about: nothing was kept, other axes or sizes, what is not finite."
    check_tensor(x, 'x', ' '.join(('ask', *vars(kept).get('features', ()))))
    if 'points' not in vars(kept): raise fault(OptionError, 'nothing was kept', help='fit(x, y) first')
    for t, n in zip(kept.features, kept.sizes):
        if x.shape[axis_of(x, t)] != n:
            raise fault(ShapeMismatch, f'over {t!r}: sizes differ', x=x, help=f'{t!r} is {n} in the rows kept')
    own = without(x.tags, kept.features)
    if len(own) > 1:
        raise fault(TagError, f'{" and ".join(map(repr, own))} are no axes of the rows kept', x=x,
                    help=f"points go along one axis: x.merge('ask', {' '.join(own)!r})")
    check_finite(np.atleast_1d(x.data), 'x', x.tags[0] if x.tags else 'x')
