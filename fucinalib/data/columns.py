"""What a data set is given: columns of as many rows each, read into tensors whose first axis is the rows.

Chapter 32 tells the rule; here is how the values come in, and the words for what is refused."""
from keyword import iskeyword
import numpy as np
from ..checks import is_whole
from ..errors import (DTypeError, EmptySelection, IndexOutOfBounds, InvalidShape, NonFiniteValue, OptionError,
                      ShapeMismatch, TagError, UnknownName, brief, did_you_mean, fault)
from ..tags import axis_of, parse
from ..tensor import Tensor, ingest

__all__ = ['batches_meant', 'read_columns', 'read_rows', 'read_labels_of', 'check_size', 'no_column', 'no_option',
           'rows_meant', 'count_aside', 'check_strata', 'check_finite', 'check_row', 'no_features',
           'stack_rows', 'read_classes', 'column_called', 'check_tensor', 'not_assigned']


def read_columns(given,   # name -> tensor, array or list
                 axis,    # name of the axis of rows; None: the first axis of the first tensor, else 'batch'
                 taken,   # names that no column may have
                )->tuple:
    "The columns as tensors with the axis of rows in front, and its name. ShapeMismatch, TagError, OptionError."
    if axis is not None and len(parse(axis)) != 1:
        raise fault(TagError, f'the rows have one name, not {axis!r}', help="axis='batch'")
    if not given: raise fault(OptionError, 'without columns', help='Dataset(x, y)')
    for name in given: _check_name(name, taken)
    first = next((v for v in given.values() if isinstance(v, Tensor) and v.tags), None)
    if axis is None: axis = first.tags[0] if first is not None else 'batch'
    columns = {name: _read_column(name, v, axis) for name, v in given.items()}
    if len({len(c.data) for c in columns.values()}) > 1:
        sizes = ', '.join(f'{name} has {len(c.data)}' for name, c in columns.items())
        raise fault(ShapeMismatch, f'over {axis!r}: sizes differ', **columns,
                    help=f'every column has one row for each sample; {sizes}')
    return columns, axis


def _check_name(name, taken):
    "OptionError for a column that could not be asked for by name."
    if name.isidentifier() and not iskeyword(name) and name not in taken and not name.startswith('_'): return
    raise fault(OptionError, f'a column cannot be called {name!r}',
                help='take a word that is no attribute of a data set: x, y, label, weight')


def _read_column(name, value, axis):
    "One column as a tensor with the axis of rows in front."
    if isinstance(value, Tensor):
        if axis not in value.tags:
            raise fault(TagError, f'over {axis!r}: {name} has no such axis', **{name: value},
                        help=f"every column has the axis of rows; its name is {name}.tags[0], or axis= says it")
        x = value.detach()
        return x if axis_of(x, axis) == 0 else x.permute(axis, *(t for t in x.tags if t != axis))
    if hasattr(value, 'columns') and hasattr(value, 'axis'):
        raise fault(DTypeError, f'{name} is a data set', help='its columns are data.x, data.y')
    try: a = np.asarray(value) if not hasattr(value, '__array__') else value.__array__()
    except ValueError: a = ingest(value)      # which says what is uneven
    if a.size == 0: raise fault(EmptySelection, f'{name} is empty', help='a data set has at least one row')
    if a.dtype.kind in 'USO' and a.ndim == 1 and all(isinstance(v, (str, bytes)) for v in a.tolist()):
        raise fault(DTypeError, f'{name} holds words', help=f'codes, classes = fl.data.encode({name})')
    a = ingest(value)
    if a.ndim == 1: return Tensor(a, axis)
    if a.ndim == 0: raise fault(InvalidShape, f'{name} is a single number', help=f'{name}=[{a}] is one row')
    names = ' '.join([axis, *_usual_names(a)])
    raise fault(TagError, f'{name} has {a.ndim} axes and no names', help=f'fl.Tensor({name}, {names!r})', **{name: a})


def _usual_names(a):
    "What axes behind that of rows are usually called: of a table, of pictures, whose channels are few, or of texts."
    if a.ndim == 3: return ['h', 'w'] if a.dtype.kind == 'u' or a.shape[1] == a.shape[2] else ['seq', 'feature']
    if a.ndim == 4: return ['c', 'h', 'w'] if a.shape[1] <= 4 < a.shape[3] else ['h', 'w', 'c']
    return ['feature'] if a.ndim == 2 else [f'd{i}' for i in range(1, a.ndim)]


def read_rows(rows, n, axis):
    "Row numbers as an array: from whole numbers, or from a truth value for each row. IndexOutOfBounds."
    a = rows.data if isinstance(rows, Tensor) else np.asarray(rows)
    if a.ndim != 1: raise fault(InvalidShape, f'rows have {a.ndim} axes', help='rows are a list of numbers')
    if a.size == 0: raise fault(EmptySelection, f'over {axis!r}: no rows are chosen', help='choose at least one')
    if a.dtype == bool:
        if len(a) != n: raise fault(ShapeMismatch, f'{len(a)} truth values for {n} rows', help='one for each row')
        a = np.flatnonzero(a)
        if not len(a): raise fault(EmptySelection, f'over {axis!r}: no rows are chosen', help='no truth value is True')
    if a.dtype.kind not in 'iu': raise fault(DTypeError, 'row numbers are whole', help='rows.astype("i8")')
    bad = a[(a < -n) | (a >= n)]
    if not bad.size: return a
    raise fault(IndexOutOfBounds, f'over {axis!r}: row {bad[0]} of {n}', help=f'rows run from 0 to {n - 1}')


def read_labels_of(column, name):
    "The labels of a column as a flat array of whole numbers. DTypeError, TagError."
    if column.ndim != 1:
        raise fault(TagError, f'{name} has more than one axis', help='classes go by one whole number a row',
                    **{name: column})
    if column.data.dtype.kind not in 'iub':
        raise fault(DTypeError, f'{name} is of {column.dtype}', help=f"classes are whole numbers: {name}.to('i64')")
    return column.data.astype('i8', copy=False)


def no_column(data, name):
    "The error for a column, or a method of a data set, that is not there."
    methods = [n for n in dir(type(data)) if not n.startswith('_')]
    return fault(UnknownName, f'a data set has no {name!r}', help=did_you_mean(name, [*data.columns, *methods]))


def rows_meant(data, tag, size):
    "The error for batches along another axis than the rows, or without a size."
    if isinstance(tag, str) and tag == data.axis: return fault(OptionError, 'no size', help=f'{{op}}({tag!r}, 32)')
    if not isinstance(tag, str) and size is None:      # batches(32)
        size = tag if isinstance(tag, int) and tag > 0 else 32
        return fault(TagError, 'the name of the rows comes first', help=f'{{op}}({data.axis!r}, {size})')
    return fault(TagError, f'over {tag!r}: the rows are {data.axis!r}', help=f'{{op}}({data.axis!r}, {size or 32})')


HABITS = dict(      # an option of another library -> what is written here
    shuffle='seed=0 gives another order in each epoch; without a seed rows come as they stand',
    batch_size='the size is the second argument: {op}(rows, 32)', bs='the second argument: {op}(rows, 32)',
    drop_last='partial=False leaves a smaller last batch out', drop_remainder='partial=False leaves it out',
    num_workers='workers=2', prefetch_factor='workers=1 makes batches ahead',
    transform='augment=function of (row, seed)',
    collate_fn='a batch holds the columns of the data set, stacked', pin_memory='everything is computed on the CPU',
    generator='seed=0', random_state='seed=0', rng='seed=0', sampler='data[rows] chooses rows; seed=0 shuffles',
    test_size='the share to keep aside is the first argument: {op}(.2)', lengths='the first argument: {op}(.2)',
    train_size='the share to keep aside is the first argument: {op}(.2)', stratify="by='y', the column of classes")


def no_option(name, known):
    "The error for an option that there is not: what it is called here, or the nearest there is."
    return fault(OptionError, f'there is no option {name!r}', help=HABITS.get(name) or did_you_mean(name, known))


LOADER = dict(      # an option of data loaders -> function of its value: options here
    batch_size=lambda v: dict(size=v), bs=lambda v: dict(size=v), shuffle=lambda v: dict(seed=0) if v else {},
    drop_last=lambda v: dict(partial=False) if v else {}, drop_remainder=lambda v: dict(partial=False) if v else {},
    num_workers=lambda v: dict(workers=v) if v else {}, pin_memory=lambda v: {}, generator=lambda v: dict(seed=0),
    random_state=lambda v: dict(seed=v if is_whole(v) else 0))


def batches_meant(data, tag, size, seed, unknown, known):
    "The error for options of data loaders: the whole call in our words, where all of them have one."
    strange = next((name for name in unknown if name not in LOADER), None)
    if strange: return no_option(strange, known)
    given = dict(size=size or (tag if is_whole(tag) else 32)) | ({} if seed is None else dict(seed=seed))
    for name, v in unknown.items(): given |= LOADER[name](v)
    words = ''.join(f', {k}={v}' for k, v in given.items() if k != 'size')
    more = '; a seed gives another order in each epoch' * bool(unknown.get('shuffle'))
    return fault(OptionError, f'there is no option {next(iter(unknown))!r}',
                 help=f'{{op}}({data.axis!r}, {given["size"]}{words}){more}')


def check_size(size, n, axis):
    "InvalidShape for a batch that is larger than the data."
    if size > n:
        raise fault(InvalidShape, f'over {axis!r}: a batch of {size}, and there are {n} rows',
                    help=f'size={n} is all of them')


def check_row(made, names):
    "What an augmentation gave back for one row: a value for each column. OptionError."
    if isinstance(made, tuple) and len(made) == len(names): return made
    raise fault(OptionError, 'augment gives back a value for each column',
                help=f'return row._replace({names[0]}=...)')


def count_aside(test, n):
    "How many of n rows a split keeps aside, from a share of them or a count. OptionError, EmptySelection."
    whole = is_whole(test)
    if not whole and not (isinstance(test, (float, np.floating)) and 0 < test < 1):
        raise fault(OptionError, f'test is {test!r}', help='a share between 0 and 1, test=.2, or a number of rows')
    k = int(test) if whole else int(test * n + .5)
    if 0 < k < n: return k
    side = 'test' if k <= 0 else 'training'
    raise fault(EmptySelection, f'the {side} side of {n} rows is empty', help=f'test=1 to test={n - 1} leave both a row'
                if n > 1 else 'a single row cannot be split')


def check_strata(classes, counts, k, name):
    "EmptySelection where a class cannot be on both sides of a split."
    n = counts.sum()
    if counts.min() == 1:
        raise fault(EmptySelection, f'over {name!r}: class {classes[counts.argmin()]} has one member',
                    help='it cannot be on both sides; leave the class out, or split without by=')
    if not len(counts) <= k <= n - len(counts):
        side, rows = ('test', k) if k < len(counts) else ('training', n - k)
        raise fault(EmptySelection, f'over {name!r}: {len(counts)} classes, and the {side} side has {rows} rows',
                    help=f'test={len(counts)} to test={n - len(counts)} give each class a row on both sides')


def check_finite(a, name, axis):
    "NonFiniteValue if a column holds NaN or infinity, with the first row that does."
    if a.dtype.kind != 'f': return
    for start in range(0, len(a), 4096):
        fine = np.isfinite(a[start:start + 4096]).reshape(len(a[start:start + 4096]), -1).all(1)
        if not fine.all():
            row = start + int(fine.argmin())
            raise fault(NonFiniteValue, f'over {axis!r}: {name} holds NaN or infinity in row {row}',
                        help='leave such rows out, or fill them: data[np.isfinite(x).all(1)]')


def read_classes(classes):
    "Names of classes as a tuple. OptionError."
    if isinstance(classes, (list, tuple)) or hasattr(classes, '__array__'): return tuple(classes)
    raise fault(OptionError, f'classes is {brief(classes)}', help="a list of names: classes=['cat', 'dog']")


def column_called(data, name, option):
    "The column of this name; an error if the option is something else than a name."
    if isinstance(name, str): return data[name]
    raise fault(OptionError, f'{option}= is the name of a column', help=f'one of: {" ".join(data.columns)}')


def check_tensor(x, name, axes):
    "DTypeError for what is no tensor, where its axes would have to be known."
    if isinstance(x, Tensor): return
    if hasattr(x, 'columns'): raise fault(DTypeError, f'{name} is a data set', help='its columns are data.x, data.y')
    raise fault(DTypeError, f'{name} is {type(x).__name__}, and has no names for its axes',
                help=f'fl.Tensor({name}, {axes!r})')


def not_assigned(data, name):
    "The error for an attribute of a data set that is assigned."
    if name not in data.columns:
        return fault(OptionError, f'a data set keeps no {name!r}', help='data.replace(z=...) adds a column')
    return fault(OptionError, f'column {name!r} is not assigned to', help=f'data = data.replace({name}=...)')


def no_features(words, target):
    "The error for a table whose columns are no features."
    if not words:
        return fault(OptionError, f'no column is left beside {target!r}', help='a feature is a column of numbers')
    return fault(DTypeError, f'column {words[0]!r} holds words, and features are numbers',
                 help=f'read_csv gives the columns one by one; codes, names = fl.data.encode(columns[{words[0]!r}])')


def stack_rows(parts, name, axis):
    "One column of a batch, from its values row by row. ShapeMismatch."
    tags = parts[0].tags if isinstance(parts[0], Tensor) else ()
    arrays = [p.data if isinstance(p, Tensor) and p.tags == tags else np.asarray(p) for p in parts]
    if len({a.shape for a in arrays}) == 1 and arrays[0].ndim == len(tags):
        return Tensor(np.stack(arrays), (axis, *tags))
    raise fault(ShapeMismatch, f'over {axis!r}: rows of {name} differ in size or names',
                help='augment gives every row the same axes and sizes', **{name: parts[0]})
