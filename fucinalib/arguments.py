"""Sizes, whole numbers, indices, walks and labels as a call may give them, read into plain numbers.

Operations that make or cut axes take their sizes by position or by name and their indices by
name. What can be written is the same everywhere, so it is read here once, and refused here with
the call that would work."""
import operator
from keyword import iskeyword
from math import isfinite, prod
import numpy as np
from .elsewhere import CPU
from .errors import (DTypeError, IndexOutOfBounds, InvalidDataLength, InvalidShape, OptionError,
                     ShapeMismatch, TagError, UnsupportedView, brief, did_you_mean, fault, some)
from .incoming import refuse_huge
from .tags import align, axis_of, by_word, locate, name_of, parse, renaming
from .tensor import Tensor, ingest

__all__ = ['as_whole', 'made_whole', 'nothing_between', 'new_sizes', 'read_sizes', 'factor_sizes',
           'stretched_sizes', 'check_all_named', 'read_place', 'read_walk', 'read_where',
           'read_index', 'read_span',
           'read_range', 'read_edges', 'read_tensors', 'read_offsets', 'read_labels', 'say_argmax',
           'read_segments', 'check_places', 'read_positions',
           'read_places', 'check_inside', 'check_queries', 'unnamed_queries',
           'read_owners', 'check_shares', 'check_state', 'check_streams', 'read_rope',
           'say_sizes', 'name_product', 'check_matrices']

# options of other libraries where a tensor is made
MADE = dict(device=CPU, requires_grad='fl.param(x) makes of a tensor one that learns', out='a new tensor comes back')
MOST = 2**60        # values; no memory holds more


def as_whole(n, name, least=None, kind=OptionError):
    "`n` as a Python int. An error of `kind` if it is not a whole number, InvalidShape if it is less than `least`."
    if type(n) is not int:
        try: n = operator.index(None if isinstance(n, (bool, np.bool_)) else n)
        except TypeError:
            raise fault(kind, f'{name} is {brief(n)}, not a whole number',
                        help=f'{name} is a whole number') from None
    if least is None or n >= least: return n
    more = '; a tensor holds at least one value' if least == 1 else ''
    raise fault(InvalidShape, f'{name} is {brief(n)}', help=f'it must be at least {least}{more}')


def made_whole(name, value):
    "The call that makes whole numbers of `value`, for a message."
    if hasattr(value, 'tags'): return f"{name}.to('i64')"
    return f"{name}.astype('i8')" if isinstance(value, np.ndarray) else f"np.asarray({name}).astype('i8')"


def nothing_between(low, high, dtype):
    "The error for bounds beyond a real type, or with none of its numbers between them."
    with np.errstate(all='ignore'): beyond = [v for v in (low, high) if not isfinite(dtype.np.type(v))]
    if beyond:
        return fault(OptionError, f'{beyond[0]} is beyond {dtype}', help="take bounds nearer 0, or dtype='f64'")
    return fault(OptionError, f'no {dtype} number lies in [{low}, {high})',
                 help='low must be less than high, and both numbers of this type')


# ---- sizes
def say_sizes(sizes, between=' '): return between.join(f'{t}={n}' for t, n in sizes.items())


def new_sizes(tags,        # names of the axes of a tensor to be made: 'row col'
              shape,       # their sizes in that order, or one number for one axis; None if they go by name
              sizes,       # sizes by name
              options=(),  # what else the call takes by name
              more='',     # what it needs behind the sizes
             )->tuple:
    "The names and sizes of a new tensor. OptionError for a name that is neither axis nor option, InvalidShape."
    if _are_sizes(tags): raise _names_first(tags, shape)
    tags = parse(tags)
    for t in sizes:
        if t in tags: continue
        raise fault(OptionError, f'there is no option {t!r}, nor an axis of that name', tags=' '.join(tags),
                    help=MADE.get(t) or did_you_mean(t, (*tags, *options)))
    if shape is None:
        try: given = [sizes[t] for t in tags]
        except KeyError as e: raise _size_missing(e.args[0], tags, sizes, options, more) from None
    elif sizes:
        raise fault(InvalidShape, 'sizes given twice', shape=shape, sizes=say_sizes(sizes),
                    help=f'{{op}}({" ".join(tags)!r}, {shape!r}{more})')
    else: given = shape if type(shape) is tuple and len(shape) == len(tags) else read_sizes(tags, shape, {})
    shape = tuple(map(_as_size, given, tags))
    if prod(shape) < MOST: return tags, shape
    raise fault(InvalidShape, f'{prod(shape)} values', tags=' '.join(tags), shape=shape,
                help='no memory holds them; make a size smaller')


def _are_sizes(v):
    "Whether this is a number or a list of numbers, where the names of axes are meant."
    number = lambda n: isinstance(n, (int, np.integer)) and not isinstance(n, bool)
    return number(v) or isinstance(v, (tuple, list)) and bool(v) and all(map(number, v))


def _names_first(sizes, rest):
    "The error for sizes in the place of names."
    every = [n for v in (sizes, rest) if _are_sizes(v) for n in (v if isinstance(v, (tuple, list)) else [v])]
    usual = {1: 'd', 2: 'row col', 3: 'batch row col'}
    names = rest if isinstance(rest, str) else usual.get(len(every)) or ' '.join(f'd{i}' for i in range(len(every)))
    shape = brief(tuple(every) if len(every) > 1 else every[0])
    return fault(TagError, 'the names of the axes come before their sizes', f'{{op}}({names!r}, {shape})')


def _as_size(n, tag): return n if type(n) is int and n > 0 else as_whole(n, tag, 1, InvalidShape)


def _size_missing(missing, tags, sizes, options, more):
    "The error for a tensor to be made without a size for the axis `missing`, with a call that names one."
    some = {t: sizes.get(t, n) for n, t in enumerate(tags, 2)}
    taken = {'tags', 'shape', *options}      # a tag called like an option has no form by name, nor has a word of Python
    names = not any(t in taken or iskeyword(t) for t in tags) and ('=' in more or not more)
    call = (say_sizes(some, ', ') if names else repr(tuple(some.values()))) + more
    return fault(InvalidShape, f'no size for {missing!r}', tags=' '.join(tags), sizes=say_sizes(sizes),
                 help=f'{{op}}({" ".join(tags)!r}, {call})')


def read_sizes(tags,      # names of the axes, parsed
               shape,     # their sizes in that order; one number for one axis; or None
               sizes,     # or by name
               own=None,  # sizes that are known anyway, by name
              )->list:
    "One size for each tag, None where it was left out. TagError for a name that is no axis, InvalidShape."
    for t in sizes:
        if t not in tags:
            raise fault(TagError, f'{t!r} is not an axis of the result', tags=' '.join(tags),
                        help=did_you_mean(t, tags, 'they are'))
    if shape is None: return [sizes.get(t, (own or {}).get(t)) for t in tags]
    if sizes:
        raise fault(InvalidShape, 'sizes given twice', shape=shape, sizes=say_sizes(sizes),
                    help='by position or by name')
    given = list(shape) if np.iterable(shape) else [shape]
    if len(given) != len(tags):
        raise fault(InvalidShape, f'{some(len(tags), "tag")} and {some(len(given), "size")}',
                    tags=' '.join(tags), shape=tuple(given),
                    help='one size for each tag')
    return given


def factor_sizes(total,  # how many values the axes hold together
                 tags, shape, sizes,  # see read_sizes; one size may be left out, or be -1 where they go by position
                )->tuple:
    "Sizes of the axes `tags`, whose product is `total`."
    given = read_sizes(tags, shape, sizes)
    given = [None if n is None or shape is not None and type(n) is int and n == -1
             else as_whole(n, t, 1, InvalidShape) for t, n in zip(tags, given)]
    left = [i for i, n in enumerate(given) if n is None]
    if len(left) > 1:
        raise fault(InvalidShape, f'no size for {" and ".join(repr(tags[i]) for i in left)}',
                    help='one size may be left out, it follows from the others')
    known = prod(n for n in given if n is not None)
    if total % known or not left and known != total:
        said = ' * '.join('?' if n is None else str(n) for n in given)
        raise fault(InvalidShape, f'{said} is not {total}', tags=' '.join(tags),
                    help=f'the sizes must multiply to {total}')
    return tuple([total // known if n is None else n for n in given])


def stretched_sizes(own, tags, shape, sizes):
    "Sizes of the axes `tags`, of which some have the sizes `own` already."
    given = read_sizes(tags, shape, sizes, own)
    for t, n in zip(tags, given):
        if n is None:
            raise fault(InvalidShape, f'no size for {t!r}',
                        help=f'x.{{op}}({" ".join(tags)!r}, {by_word(t, 2)})')
        if as_whole(n, t, 1) >= MOST:
            raise fault(InvalidShape, f'size {brief(n)} for {t!r}', help='no memory holds so many values')
    return tuple(map(operator.index, given))


# ---- values
def check_shares(**tensors):
    "OptionError unless all values of some tensors are probabilities, or NaN."
    for name, t in tensors.items():
        a, bits = t.data, f'u{t.data.itemsize}'
        if a.view(bits).max() <= np.ones((), a.dtype).view(bits): continue     # seen as bits it is one pass
        low, high = np.fmin.reduce(a, None), np.fmax.reduce(a, None)
        if not (low < 0 or high > 1): continue
        raise fault(OptionError, f'of probabilities, and {name} reaches from {low:.4g} to {high:.4g}',
                    help='x.sigmoid() makes them of scores; from_logits=True does so inside' if name == 'x'
                    else f'{name}.clamp(0, 1)')


# ---- axes and walks
def check_all_named(old, new):
    "TagError if an axis of `old` would disappear."
    if gone := ' '.join(t for t in old if t not in new):
        help = 'name every axis of x: none disappears here, a sum or a select removes one'
        raise fault(TagError, f'{gone!r} is missing', help, tags=' '.join(new))


def read_place(x, index):
    "The place of a new axis among those of x, counted from the front; an index of -1 is the end."
    n, at = x.ndim, as_whole(index, 'index')
    if -n - 1 <= at <= n: return at + (n + 1) * (at < 0)
    raise fault(IndexOutOfBounds, f'place {at} among {n} axes', f'0 to {n}, or -1 for the end', x=x)


def read_walk(x, tags, shape, strides, offset):
    "Sizes and strides of a walk over the values of x that stays inside, a pair for each of `tags`."
    strides = tuple(strides)
    plain = type(shape) is tuple and len(shape) == len(tags) and {*map(type, shape + strides)} == {int}
    if not plain or min(shape) < 1:
        shape = tuple([as_whole(n, t, 1) for t, n in zip(tags, read_sizes(tags, shape, {}))])
        strides = tuple([as_whole(s, 'a stride') for s in strides])
    if len(strides) != len(tags):
        raise fault(InvalidShape, f'{len(tags)} tags and strides {strides}', 'one stride for each tag')
    if not x.data.flags.c_contiguous:
        help = 'x.contiguous().view_with_strides(...)'
        raise fault(UnsupportedView, 'the values of x do not lie one after another', help)
    ends = [(n - 1) * s for n, s in zip(shape, strides)]
    first, last = offset + sum(e for e in ends if e < 0), offset + sum(e for e in ends if e > 0)
    if first < 0 or last >= x.data.size:
        head = f'it reaches from {first} to {last}, and x from 0 to {x.data.size - 1}'
        raise fault(InvalidDataLength, head, 'make a size or a stride smaller', shape=shape, strides=strides)
    return shape, strides


# ---- indices by name
def read_where(x, where, by_tag, example):
    "The dict tag -> index that a call names: x.op('row', 1), x.op({'row': 1}) or x.op(row=1). TagError."
    if len(where) == 2 and isinstance(where[0], str): by_tag = {where[0]: where[1], **by_tag}
    elif len(where) == 1 and isinstance(where[0], dict): by_tag = {**where[0], **by_tag}
    elif where:
        raise fault(TagError, 'an index needs the name of its axis',
                    help=f'x.{{op}}({by_word((x.tags or ("d",))[0], example)})')
    return {name_of(x, tag): i for tag, i in by_tag.items()}


def read_index(n, tag, i):
    "Index `i` of the axis `tag` of size `n`, counted from the front. OptionError, IndexOutOfBounds."
    try: k = operator.index(None if isinstance(i, (bool, np.bool_)) else i)
    except TypeError:
        raise fault(OptionError, f'of {tag!r}: {brief(i)} is not a whole number',
                    help=f'x.slice({by_word(tag, "slice(0, 2)")}) takes a range, '
                         f'x.index_select({tag!r}, [0, {n - 1}]) a list') from None
    if not -n <= k < n: raise fault(IndexOutOfBounds, f'of {tag!r}: {brief(k)} of {n}', help=f'{-n} to {n - 1}')
    return k % n


def read_span(n, tag, start, length):
    "The slice of `length` entries from `start` on of the axis `tag` of size `n`. IndexOutOfBounds."
    stop = (start := int(start)) + int(length)
    if 0 <= start and stop <= n: return slice(start, stop)
    help = 'x.slice(...) counts from the end and clips'
    raise fault(IndexOutOfBounds, f'of {tag!r}: {start} to {stop} of {n}', help)


def read_range(n, tag, s):
    "A slice, or a tuple like one, of the axis `tag` of size `n` in plain numbers. OptionError, InvalidShape."
    if isinstance(s, tuple) and 1 <= len(s) <= 3: s = slice(*s)
    usual = f'x.{{op}}({by_word(tag, "slice(1, None)")})'
    if not isinstance(s, slice):
        raise fault(OptionError, f'of {tag!r}: {brief(s)} is not a range',
                    help=f'{usual}, or x.select({by_word(tag, 0)}) for one index')
    try: start, stop, step = s.indices(n) if s.step != 0 else (0, n, 0)
    except TypeError:
        raise fault(OptionError, f'of {tag!r}: {brief(s)} has a bound that is not a whole number',
                    help=usual) from None
    if step < 1:
        raise fault(InvalidShape, f'of {tag!r}: step {step}',
                    help=f'x.flip({tag!r}) walks backwards' if step else 'a step is at least 1')
    if stop <= start:
        raise fault(InvalidShape, f'of {tag!r}: {start} to {stop} is empty',
                    help='a tensor holds at least one value')
    return slice(start, stop, step)


# ---- queries, keys and heads
def unnamed_queries(x, axis):
    "The error for a place of the first query where nothing says which axis has queries."
    other = ([t for t in x.tags if t != x.tags[axis]] or ['q'])[-1]
    return fault(InvalidShape, 'source_offset without causal', help=f'causal={other!r} names the queries')


def check_queries(queries, keys, offset):
    "InvalidShape unless each of some queries, of which the first is at `offset`, has a key of its own."
    if 0 <= offset <= keys - queries: return
    help = f'source_offset from 0 to {keys - queries}'
    if queries > keys: help = f'there are {keys}: every query has a key of its own'
    raise fault(InvalidShape, f'{queries} queries from place {offset} on need {offset + queries} keys', help)


def read_owners(heads, n, kv_head):
    "The kv head of every head, as an array."
    if kv_head is None and heads % n == 0: return np.arange(heads) // (heads // n)
    own = np.asarray(() if kv_head is None else kv_head)
    if own.shape != (heads,) or own.dtype.kind not in 'iu':
        help = f'kv_head={[h * n // heads for h in range(heads)]}'
        head = f'of {heads} heads and {n} kv heads needs a whole number for each head'
        raise fault(InvalidShape, head, help=help)
    bad = own[(own < 0) | (own >= n)]
    if bad.size: raise fault(IndexOutOfBounds, f'with kv head {bad[0]} of {n}', help=f'0 to {n - 1}')
    return own.astype(np.int64)


def check_streams(n, k, v, lens, plain):
    "OptionError, InvalidShape unless n streams have keys, values and a length each, and nothing that streams lack."
    if lens is None or not all(isinstance(x, (list, tuple)) for x in (k, v)):
        raise fault(OptionError, 'of streams takes lists', help='all three: k=[...], v=[...], lens=[...]')
    if not plain:
        raise fault(OptionError, 'of streams is causal and has no bias', help="mask='causal', bias=None")
    if not len(k) == len(v) == len(lens) == n:
        head = f'of {n} rows of q, {len(k)} keys, {len(v)} values and {len(lens)} lengths'
        raise fault(InvalidShape, head, help='one of each for a stream')


def check_state(sizes, state, **rates):
    "ShapeMismatch unless the rates, (tensor, how many at most), and the state fit heads, keys and values."
    h, n, m = sizes
    for name, (x, each) in rates.items():
        if x.numel in (each, n): continue
        help = f'{each}, one for each head{" and channel" * (each > h)}, or {n}, one for each channel'
        raise fault(ShapeMismatch, f'with {x.numel} entries of {name}', help=help)
    if max(n, m) > 512: raise fault(UnsupportedView, f'with a state of {n} by {m}', help='at most 512 by 512')
    if state is not None and state.shape != sizes:
        raise fault(ShapeMismatch, 'with another initial state', help=f'sizes {sizes}: heads, keys, values')


# ---- whole numbers for each of many places
def check_places(at,      # an array
                 n,       # how many places there are
                 words,   # what to call them: the parameter, one, many
                 given,   # what `at` was made of
                 way='',  # what else there is to do with {}, which is no place
                ):
    "DTypeError, IndexOutOfBounds unless `at` are whole numbers from 0 to n - 1."
    name, one, many = words.split()
    refuse_huge(at, f'{name} are 0 to {n - 1}')
    if at.dtype.kind not in 'iu':
        help = f'{name} are whole numbers, counted from 0: {made_whole(name, given)}'
        raise fault(DTypeError, f'{name} of type {at.dtype}', help)
    if not at.size or at.min() >= 0 and at.max() < n: return
    bad, beyond = int(at.min() if at.min() < 0 else at.max()), at[(at < 0) | (at >= n)]
    more = way.format(bad) if (beyond == bad).all() else f'; {beyond.size} of {at.size} are not'
    raise fault(IndexOutOfBounds, f'{one} {bad} of {n} {many}', f'{name} are 0 to {n - 1}{more}')


def read_positions(x, tag, indices):
    "Where the axis `tag` of x is, and `indices` as an i64 array of positions along it."
    at, spot = np.asarray(indices.data if isinstance(indices, Tensor) else indices), axis_of(x, tag)
    if at.size == 0:
        raise fault(InvalidShape, 'no indices', 'a tensor holds at least one value; skip an empty case')
    refuse_huge(at, f'positions are 0 to {x.shape[spot] - 1}')
    if at.dtype.kind not in 'iu':
        help = (f"positions are whole numbers: {made_whole('indices', indices)}; "
                "x.masked_select(mask, 'picked') for a mask")
        raise fault(DTypeError, f'indices of type {at.dtype}', help)
    if at.ndim != 1:
        raise fault(TagError, f'the indices have {at.ndim} axes', indices=indices,
                    help='a list of positions has one axis; x.take_along_axis picks per entry')
    return spot, check_inside(tag, at, x.shape[spot])


def read_places(x, tag, indices):
    "Where the axis `tag` of x is, and the positions along it, one for each entry."
    at, spot = indices if isinstance(indices, Tensor) else Tensor(indices, x.tags), axis_of(x, tag)
    if at.dtype != 'i64':
        raise fault(DTypeError, f'positions of type {at.dtype}', made_whole('indices', indices), indices=at)
    if at.tags != x.tags or at.shape != x.shape[:spot] + (at.shape[spot],) + x.shape[spot + 1:]:
        raise fault(ShapeMismatch, f'along {tag!r}: sizes differ', indices=at,
                    help=f'the tags of x in its order, the same sizes except along {tag!r}')
    return spot, check_inside(tag, at.data, x.shape[spot])


def check_inside(tag, at, n):
    "The positions `at` in i64. IndexOutOfBounds unless each is at least 0 and below n."
    if at.min() < 0 or at.max() >= n:
        bad = int(at[(at < 0) | (at >= n)].flat[0])
        help = f'positions are 0 to {n - 1}' + f'; {bad} from the end is {bad + n}' * (-n <= bad < 0)
        raise fault(IndexOutOfBounds, f'of {tag!r}: {bad} of {n}', help)
    return at.astype(np.int64, copy=False)


def read_segments(x, tag, offsets, n):
    "The offsets as an array. InvalidShape unless they cut the n entries of the axis into segments."
    at = np.asarray(offsets.data if isinstance(offsets, Tensor) else offsets)
    refuse_huge(at, f'offsets are 0 to {n}')
    if at.dtype.kind not in 'iu' and at.size:
        raise fault(DTypeError, f'offsets of type {at.dtype}', help='offsets are whole numbers')
    if at.ndim != 1 or len(at) < 2 or at[0] != 0 or at[-1] != n or (np.diff(at) < 0).any():
        help = f'begin with 0, never go down, end with {n}: [0, {n}] is one segment'
        raise fault(InvalidShape, f'over {tag!r}: these offsets do not cut the axis into segments',
                    offsets=offsets, help=help)
    return at.astype('i8')


def read_labels(labels,  # a tensor, an array, or a list
                rest,    # the axes they go along
                shape,   # sizes of these
                tag,     # the axis they are labels of
               ):
    "The labels as an array in the order of the axes `rest`, or flat. Whether they are labels is not looked at."
    tensor = isinstance(labels, Tensor)
    if tensor and set(labels.tags) != set(rest): raise _other_labels(labels, rest, shape, tag)
    try: y = align(labels.data, labels.tags, rest) if tensor else np.asarray(labels)
    except ValueError:
        help = 'a number that does not count fills them up: ignore_index'
        raise fault(InvalidShape, 'the lists of labels have different lengths', help) from None
    if not tensor and y.shape[:-1] == shape and y.ndim == len(shape) + 1 and y.shape[-1] > 1:
        raise fault(ShapeMismatch, f'one label for each row, not a number for each {tag!r}',
                    help='np.argmax(labels, -1) are the labels of one-hot rows', labels=y)
    if y.size != prod(shape) and not tensor:
        head = f'{y.size} labels for {prod(shape)} rows of {tag!r}'
        raise fault(InvalidDataLength, head, f'one label for each row: {say_sizes(dict(zip(rest, shape))) or "one"}')
    if y.shape != shape and (tensor or y.ndim != 1):
        help = f'one for each row of {tag!r}: shape {shape}, or a flat list in that order'
        raise fault(ShapeMismatch, f'labels of shape {y.shape}', help)
    return y


def say_argmax(name, tag):
    "What to do with labels that have the axis of the classes."
    return f'{name}.argmax({tag!r}) are the labels of one-hot rows'


def _other_labels(labels, rest, shape, tag):
    "The error for labels along other axes: one-hot, along one of another name, or of another shape."
    if set(labels.tags) == {*rest, tag}:
        head = f'one label for each row, not a number for each {tag!r}'
        return fault(TagError, head, help=say_argmax('labels', tag))
    lost, new = [t for t in labels.tags if t not in rest], [t for t in rest if t not in labels.tags]
    fit = len(lost) == len(new) and all(labels.size(t) == shape[rest.index(n)] for t, n in zip(lost, new))
    help = f'labels go along {" ".join(rest)!r}, of {say_sizes(dict(zip(rest, shape)))}' if rest else 'one label'
    if fit: help = f'labels.rename({", ".join(by_word(t, repr(n)) for t, n in zip(lost, new))})'
    return fault(TagError, f'the labels have the axes of x without {tag!r}', help=help)


def read_offsets(x, i, offsets):
    "A whole number for each section of x along its axis number i, as an array that fits x, with size 1 there."
    others = x.tags[:i] + x.tags[i + 1:]
    sizes, tensor = [x.size(t) for t in others], isinstance(offsets, Tensor)
    a = offsets.data if tensor else ingest(offsets)
    if tensor: _check_sections(x, others, offsets)
    elif a.size != prod(sizes):
        help = 'one offset per section, in the order of the other axes'
        raise fault(ShapeMismatch, f'{a.size} offsets for {prod(sizes)} sections', help)
    if a.dtype.kind not in 'iu':
        raise fault(DTypeError, 'an offset is a whole number', made_whole('offsets', offsets), offsets=a)
    a = align(a, offsets.tags, others) if tensor else a.reshape(sizes)
    return np.expand_dims(a.astype('i8'), i)


def _check_sections(x, others, offsets):
    "TagError, ShapeMismatch unless each axis of the offsets is one of x, as long or of size 1."
    if not set(offsets.tags) <= set(others):
        help = f'their tags are among {" ".join(others) or "none"}'
        raise fault(TagError, 'offsets have an axis that sections do not', help, offsets=offsets)
    for t, n in zip(offsets.tags, offsets.shape):
        if n in (1, x.size(t)): continue
        raise fault(ShapeMismatch, f'over {t!r}: sizes differ', 'one for each section', offsets=offsets)


# ---- pictures and lists of tensors
def read_edges(x, h, w, padding):
    "(before, after) for every axis of x from the four edges of a picture: left, right, top, bottom, or one for all."
    four = (padding,) * 4 if not np.iterable(padding) else tuple(padding)
    if len(four) != 4:
        help = 'left, right, top, bottom; or one number for all'
        raise fault(InvalidShape, f'{len(four)} edges', help, padding=four)
    (i, j), (left, right, top, bottom) = locate(x, h, w), [as_whole(n, 'an edge') for n in four]
    frame = [(top, bottom) if k == i else (left, right) if k == j else (0, 0) for k in range(x.ndim)]
    for t, n, (b, c) in zip(x.tags, x.shape, frame):
        if n + b + c >= 1 and -b < n and -c < n: continue
        help = 'a tensor holds at least one value of the picture'
        raise fault(InvalidShape, f'nothing of {t!r} is left', help, padding=four)
    return frame


def read_tensors(tensors, tag=None):
    "The arrays of tensors that go together, and the place of the axis along which sizes are free."
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(t, Tensor) for t in tensors):
        raise fault(OptionError, 'takes a list of tensors', '{op}([a, b], ...)', tensors=tensors)
    if not tensors:
        help = 'a tensor holds at least one value; give at least one tensor'
        raise fault(InvalidShape, 'of nothing', help)
    first = tensors[0]
    i = None if tag is None else axis_of(first, tag)
    for k, t in enumerate(tensors):
        alike = t.tags == first.tags and t.data.dtype == first.data.dtype
        if not alike or t.data.shape != first.data.shape: _compare(first, t, k, i)
    return [t.data for t in tensors], i


def _compare(first, t, k, i):
    "Errors for tensor number k if it does not go with the first; along axis i the size is free."
    both, tags = {'tensors[0]': first, f'tensors[{k}]': t}, ' '.join(first.tags)
    if t.tags != first.tags:
        help = f'tensors[{k}].permute({tags!r}) brings axes into order'
        if set(t.tags) != set(first.tags): help = 'all need the same axes; rename or insert_axis'
        raise fault(TagError, 'tags differ', help, **both)
    if t.dtype != first.dtype:
        raise fault(DTypeError, f'of {first.dtype} and {t.dtype}', _way_to_one(both), **both)
    for j, (n, m) in enumerate(zip(first.shape, t.shape)):
        if n == m or j == i: continue
        raise fault(ShapeMismatch, f'over {t.tags[j]!r}: sizes differ', 'pad or narrow one of them', **both)


def _way_to_one(both):
    "The call that brings two tensors to one number type and loses no value where one of the two types holds them all."
    (a, x), (b, y) = both.items()
    wide = [np.can_cast(s.data.dtype, t.data.dtype) for s, t in ((y, x), (x, y))]
    if not any(wide): wide = [x.dtype.is_float, not x.dtype.is_float]      # i64 and f32: the real one
    n, t = (b, x) if wide[0] else (a, y)
    return f'{n}.to({str(t.dtype)!r})'


# ---- a turn that rides along
def read_rope(x,         # a tensor
              tag,       # axis of its features
              rope,      # (position tag, table)
              residual,  # which cannot be had as well
             ):
    "The position tag and the table of an operation that turns its result, whose table spans all of `tag`."
    tag = name_of(x, tag)
    if not isinstance(rope, (tuple, list)) or len(rope) != 2 or not hasattr(rope[1], 'dim'):
        raise fault(OptionError, 'rope is not a tag and a table', "rope=('seq', rope_table(AxisRange(n), dim))")
    if residual is not None:
        help = f'x.{{op}}({tag!r}, rope=...) + residual, or (x.{{op}}({tag!r}) + residual).rope(...)'
        raise fault(OptionError, 'residual and rope together', help)
    position, table = rope
    n, d = x.shape[axis_of(x, position)], x.size(tag)
    if d & 1: raise fault(InvalidShape, f'over {tag!r}: {d} features form no pairs', 'without rope=')
    if table.dim != d or len(table) != n:
        way = f'x.{{op}}({tag!r}).rope({position!r}, {tag!r}, table)'
        help = f'rope_table(AxisRange({n}, origin), {d}), or {way}'
        head = f'over {tag!r}: the table turns {table.dim} features at {len(table)} positions'
        raise fault(ShapeMismatch, head, help, table=table)
    return position, table


# ---- products by position
def name_product(x, y, out_tags, transpose_a):
    "The tags of the result, one for each axis."
    tags, longer = parse(out_tags), x if x.ndim >= y.ndim else y
    if transpose_a and longer.ndim == 2:
        (t, _), (s, _) = x.tags, y.tags
        help = f'x.dot({"y" if s == t else renaming("y", s, t)}, {t!r})'
        help = f'sum over the first axis by name: {help}'
        raise fault(OptionError, 'with transpose_a is for batches of matrices', help=help)
    if len(tags) == longer.ndim: return tags
    help = f'name every axis of the result, e.g. {" ".join(longer.tags[:-2] + ("m", "n"))!r}'
    raise fault(TagError, f'has a result of {longer.ndim} axes, and {len(tags)} names', help=help)


def check_matrices(a, b):
    "Columns are as many as rows, and leading axes meet from the right, equally long or one of them 1."
    if a.shape[-1] != b.shape[-2]:
        help = 'transpose_b=True multiplies by the transpose; x.dot(y, tag) finds the axis by name'
        raise fault(ShapeMismatch, f'of {a.shape[-1]} columns and {b.shape[-2]} rows', help=help)
    for n, m in zip(a.shape[-3::-1], b.shape[-3::-1]):
        if n == m or 1 in (n, m): continue
        help = 'leading axes meet from the right; equal sizes, or 1'
        raise fault(ShapeMismatch, f'of leading axes of {n} and {m}', help=help)
