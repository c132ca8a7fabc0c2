"""Sizes, whole numbers, indices and ranges as a call may give them, read into plain numbers.

Operations that make or cut axes take their sizes by position or by name and their indices by
name. What can be written is the same everywhere, so it is read here once, and refused here with
the call that would work."""
import operator
from keyword import iskeyword
from math import prod
import numpy as np
from .errors import IndexOutOfBounds, InvalidShape, OptionError, TagError, brief, did_you_mean, fault
from .tags import by_word, name_of, parse

__all__ = ['as_whole', 'made_whole', 'some', 'new_sizes', 'read_sizes', 'factor_sizes',
           'stretched_sizes', 'read_where', 'read_index', 'read_range', 'say_sizes']

MOST = 2**60        # values; no memory holds more


def as_whole(n, name, least=None, kind=OptionError):
    "`n` as a Python int. An error of `kind` if it is not a whole number, InvalidShape if it is less than `least`."
    try: whole = operator.index(None if isinstance(n, (bool, np.bool_)) else n)
    except TypeError:
        raise fault(kind, f'{name} is {brief(n)}, not a whole number',
                    help=f'{name} is a whole number') from None
    if least is not None and whole < least:
        more = '; a tensor holds at least one value' if least == 1 else ''
        raise fault(InvalidShape, f'{name} is {brief(whole)}', help=f'it must be at least {least}{more}')
    return whole


def made_whole(name, value):
    "The call that makes whole numbers of `value`, for a message."
    if hasattr(value, 'tags'): return f"{name}.to('i64')"
    return f"{name}.astype('i8')" if isinstance(value, np.ndarray) else f"np.asarray({name}).astype('i8')"


# ---- sizes
def say_sizes(sizes, between=' '): return between.join(f'{t}={n}' for t, n in sizes.items())


def some(n, word):
    "How many there are of something, in words."
    return f'{n} {word}' if n == 1 else f'{n} {word}s'


def new_sizes(tags,        # names of the axes of a tensor to be made: 'row col'
              shape,       # their sizes in that order, or one number for one axis; None if they go by name
              sizes,       # sizes by name
              options=(),  # what else the call takes by name
              more='',     # what it needs behind the sizes
             )->tuple:
    "The names and sizes of a new tensor. OptionError for a name that is neither axis nor option, InvalidShape."
    tags = parse(tags)
    for t in sizes:
        if t in tags: continue
        raise fault(OptionError, f'there is no option {t!r}, nor an axis of that name', tags=' '.join(tags),
                    help=did_you_mean(t, (*tags, *options)))
    if shape is not None and sizes:
        raise fault(InvalidShape, 'sizes given twice', shape=shape, sizes=say_sizes(sizes),
                    help=f'{{op}}({" ".join(tags)!r}, {shape!r}{more})')
    given = _sizes_by_name(tags, sizes, options, more) if shape is None else read_sizes(tags, shape, {})
    shape = tuple([as_whole(n, t, 1, InvalidShape) for t, n in zip(tags, given)])
    if prod(shape) < MOST: return tags, shape
    raise fault(InvalidShape, f'{prod(shape)} values', tags=' '.join(tags), shape=shape,
                help='no memory holds them; make a size smaller')


def _sizes_by_name(tags, sizes, options, more):
    "The sizes `row=2, col=3` in the order of the tags."
    missing = next((t for t in tags if t not in sizes), None)
    if missing is None: return [sizes[t] for t in tags]
    some = {t: sizes.get(t, n) for n, t in enumerate(tags, 2)}
    taken = {'tags', 'shape', *options}      # a tag called like an option has no form by name, nor has a word of Python
    names = not any(t in taken or iskeyword(t) for t in tags) and ('=' in more or not more)
    call = (say_sizes(some, ', ') if names else repr(tuple(some.values()))) + more
    raise fault(InvalidShape, f'no size for {missing!r}', tags=' '.join(tags), sizes=say_sizes(sizes),
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
