"""How a layer is told its axes: names with sizes, 'embed=64' or 'head=4 d=16', as samples and reprs write them."""
from math import prod
from ..arguments import as_whole
from ..checks import is_whole
from ..errors import DTypeError, InvalidShape, OptionError, ShapeMismatch, TagError, brief, fault
from ..tags import parse, unused
from ..tensor import Tensor

__all__ = ['read_axes', 'one_axis', 'check_axes', 'inner_names']


def read_axes(axes,  # 'embed=64', 'head=4 d=16', or a dict of sizes
              word,  # what they are in a call: 'inputs'
             ):
    "Size of each axis by name. TagError for what is no name, InvalidShape for what is no size."
    if isinstance(axes, dict): pairs = list(axes.items())
    elif isinstance(axes, str): pairs = [w.partition('=')[::2] for w in axes.replace(',', ' ').split()]
    else: raise _bare(axes)
    names = parse(tuple(name for name, _ in pairs))
    if not names: raise fault(InvalidShape, f'{word} names no axis', help="{op}('embed=64', ...)")
    return {name: _size_of(name, n) for name, (_, n) in zip(names, pairs)}


def _size_of(name, n):
    "The size an axis was given."
    if isinstance(n, str) and n.isdecimal(): n = int(n)
    if n == '': raise fault(InvalidShape, f'no size for {name!r}', help=f"'{name}=64', say")
    if isinstance(n, str): raise fault(InvalidShape, f'{name} is {n!r}', help=f"a whole number: '{name}=64'")
    return as_whole(n, name, 1, InvalidShape)


def _bare(axes):
    "The error for sizes without names, and for what is neither."
    if not is_whole(axes):
        return fault(OptionError, f'{brief(axes)} is no axis', help="a name and a size: {op}('embed=64', ...)")
    help = f"{{op}}('feature={axes}', ...)"
    return fault(TagError, f'{axes} is no axis, which has a name and a size', help=help)


def one_axis(axes, word):
    "Name and size of the one axis that is given."
    found = read_axes(axes, word)
    if len(found) == 1: return next(iter(found.items()))
    name, n, names, sizes = [*found][-1], prod(found.values()), ' '.join(found), tuple(found.values())
    way = WAYS.get(word, 'x.merge({name!r}, {names!r}) before it').format(name=name, names=names, sizes=sizes)
    raise fault(TagError, f'takes one axis as {word}, not {names}', help=f"'{name}={n}', and {way}")

# of several axes where a layer takes one: what goes in is merged before, what comes out is parted
WAYS = dict(words='an index counts through all of them', outside='y.split({name!r}, {names!r}, {sizes}) behind it')


def check_axes(x, own, made=()):
    "ShapeError or TagError unless `x` has the axes `own`, with their sizes, and none of those that are `made`."
    if not isinstance(x, Tensor): raise _no_tensor(x, own)
    sizes = dict(zip(x.tags, x.data.shape))
    for t, n in own.items():
        if t not in sizes: raise fault(TagError, f'over {t!r}: x has no such axis', x=x, help=f'it takes {t}={n}')
        if sizes[t] == n: continue
        raise fault(ShapeMismatch, f'over {t!r}: it takes {n}, and x has {sizes[t]}', x=x,
                    help=f'a layer made with {t}={sizes[t]} takes this x')
    for t in made:
        if t in sizes and t not in own: raise _made_twice(x, t)


def _no_tensor(x, own):
    tags = ' '.join(('batch', *own) if own else ['row'])
    return fault(DTypeError, f'x is {brief(x, 20)}, not a tensor', help=f'fl.Tensor(x, {tags!r}) names its axes')


def _made_twice(x, t):
    return fault(TagError, f'makes {t!r}, and there is an axis of that name', x=x, help=f"x.rename({t}='{t}2')")


def inner_names(inputs, outputs):
    "Name of each in-axis inside a weight: its own, but `d_in` where an out-axis is called `d`."
    taken, names = {*inputs, *outputs}, {}
    for t in inputs:
        names[t] = unused(f'{t}_in', taken) if t in outputs else t
        taken.add(names[t])
    return names
