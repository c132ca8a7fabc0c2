"""What cannot be measured, and why."""
import numpy as np
from ..arguments import say_argmax
from ..checks import is_whole
from ..errors import EmptySelection, IndexOutOfBounds, OptionError, ShapeMismatch, brief, did_you_mean, fault

__all__ = ['check_average', 'check_classes', 'check_pair', 'check_two', 'check_counted']


def check_classes(classes):
    "The error unless there are two classes or more, of different names."
    if is_whole(classes): names = range(classes)
    elif isinstance(classes, (list, tuple)): names = classes
    else: raise fault(OptionError, f'classes is {brief(classes)}', help="how many, or their names: ['cat', 'dog']")
    if len(names) < 2: raise fault(OptionError, f'of {len(names)} classes', help='at least two')
    if len(set(map(str, names))) < len(names): raise fault(OptionError, 'two classes have one name', help='rename one')


AVERAGES = 'macro', 'weighted', 'micro', None


def check_average(average):
    "The error for a way to average that there is not."
    if average in AVERAGES: return
    raise fault(OptionError, f'there is no average {brief(average)}', help=did_you_mean(average, AVERAGES))


def check_pair(predicted, labels, n):
    "Two arrays of class numbers, flat."
    a, b = np.asarray(predicted), np.asarray(labels)
    tags = [getattr(v, 'tags', None) for v in (predicted, labels)]
    if a.shape != b.shape or None not in tags and tags[0] != tags[1]:
        help = "class numbers on both sides: scores.argmax('class')"
        if None not in tags and (more := [t for t in tags[1] if t not in tags[0]]): help = say_argmax('labels', more[0])
        raise fault(ShapeMismatch, 'predictions and labels have different axes', predicted=predicted, labels=labels,
                    help=help)
    for name, v in (('predicted', a), ('labels', b)):
        if v.dtype.kind not in 'iub':
            raise fault(OptionError, f'{name} are {v.dtype}, no class numbers', help="scores.argmax('class')")
        if v.size and not (0 <= v.min() and v.max() < n):
            bad = v.min() if v.min() < 0 else v.max()
            raise fault(IndexOutOfBounds, f'{name} have {bad}, and there are {n} classes',
                        help=f'numbers from 0 to {n - 1}')
    return a.ravel().astype('i8'), b.ravel().astype('i8')


def check_two(scores, labels):
    "Scores as f64 and whether each is of the class, with some on both sides."
    a, b = np.asarray(scores, 'f8').ravel(), np.asarray(labels).ravel()
    if a.shape != b.shape:
        raise fault(ShapeMismatch, f'{a.size} scores and {b.size} labels', help='one label for each score')
    if not np.isfinite(a).all(): raise fault(OptionError, 'a score is NaN or infinite', help='look at the model first')
    if not np.isin(b, (0, 1)).all(): raise fault(OptionError, 'labels are 0 or 1 here', help='labels == the_class')
    of_it = b.astype(bool)
    if of_it.all() or not of_it.any():
        raise fault(EmptySelection, 'all rows are of one class' if b.size else 'there is no row',
                    help='it compares rows of the class with rows that are not')
    return a, of_it


def check_counted(n, same=True, differ=True):
    "The error for figures of nothing, of two shapes, or relative to a spread that is 0."
    if not n: raise fault(EmptySelection, 'nothing was counted', help='add(predicted, labels) first')
    if not same: raise fault(ShapeMismatch, 'predictions and targets have different shapes', help='one for each')
    if not differ: raise fault(EmptySelection, 'all targets are equal', help='it is relative to how they differ')
