"""A call as torch and NumPy write it, with the numbers of axes or with sizes alone, said by name.

`x.permute(1, 0)` is told `x.permute('col row')`, with the names that x has: the line that stands in the help of an
error runs as it is. Nothing here decides what is wrong; it only says what was probably meant.
"""
import numpy as np
from .errors import brief, is_tagged

__all__ = ['NAMING', 'NUMBER_FIRST', 'by_name', 'number_first', 'names_first', 'example', 'axes_asked']

NAMING = frozenset('tag tags row col a b over_tags'.split())     # parameters that choose axes of the first operand
LAST = dict(row=-2, a=-2, col=-1, b=-1, tag=-1)                  # the axis such a parameter means if nothing is given
NUMBER_FIRST = frozenset('topk roll'.split())                    # torch gives their number before the axis
USUAL = {1: 'd', 2: 'row col', 3: 'batch row col', 4: 'batch row col channel'}


def _is_count(v): return isinstance(v, (int, np.integer)) and not isinstance(v, bool) and abs(v) < 2**63


def _is_counts(v): return isinstance(v, (tuple, list)) and bool(v) and all(map(_is_count, v))


def _flat(values): return [n for v in values for n in (v if isinstance(v, (list, tuple)) else [v])]


def _free(name, tags): return name if name not in tags else name + '2'


def _sized_tags(x, sizes):
    "A name for each of some sizes: x's own at both ends, as far as its sizes are the same there, else new ones."
    same = [n == m for n, m in zip(sizes, x.shape)] + [False]
    tail = [n == m for n, m in zip(sizes[::-1], x.shape[::-1])] + [False]
    front = same.index(False)
    back = min(tail.index(False), len(sizes) - front, x.ndim - front)
    new = [t for t in 'd e f g h i j k'.split() if t not in x.tags][:len(sizes) - front - back]
    return ' '.join([*x.tags[:front], *new, *x.tags[x.ndim - back:]])


# ---- one line for an operation that x can be given as it is
def example(name, x):
    "A call of the operation `name` on `x` that runs and shows its axes; None where there is nothing to show."
    tags, shape = x.tags, x.shape
    if not tags: return None
    all_, last, n = ' '.join(tags), tags[-1], shape[-1]
    new = _free('new', tags)
    parts = f'x.split({last!r}, {new + " " + last!r}, (1, {n}))'
    return {'permute': f'x.permute({" ".join(tags[::-1])!r})',
            'insert_axis': f'x.insert_axis({new!r})',
            'reshape': f'x.reshape({all_!r}, {shape})' if len(tags) > 1 else f"x.reshape('a b', (1, {n}))",
            'broadcast_to': f'x.broadcast_to({new + " " + all_!r}, {(2, *shape)})',
            'split': parts, 'split then unbind': f'{parts}.unbind({new!r})',
            'index_select': f'x.index_select({tags[0]!r}, [0])',
            'take_along_axis or index_select': f'x.index_select({tags[0]!r}, [0])',
            'flatten': f"x.flatten({new!r})",
            'repeat': f'x.repeat({tags[0]!r}, 2)',
            'max': f'x.max({last!r})', 'min': f'x.min({last!r})'}.get(name)


# ---- a call with its numbers read as axes
def number_first(args):
    "Whether a number stands before the name of an axis: topk(x, 2, 'class')."
    if len(args) < 3 or not is_tagged(args[0]): return False
    return _is_count(args[1]) and isinstance(args[2], str) and args[2] in args[0].tags


def by_name(o, args, kw):
    "The call of the operation `o` with names in the place of positions, or None where no name can be told."
    x = next(filter(is_tagged, _flat(args[:1])), None)
    if x is None: return None
    rest = [*args[1:]]
    if o.name in NUMBER_FIRST and rest and all(map(_is_count, rest[:2])): rest = [(rest[1:] or [-1])[0], rest[0]]
    if number_first(args): rest[:2] = rest[1::-1]
    special = SPECIAL.get(o.name)
    if special and (not rest or _is_count(rest[0]) or _is_counts(rest[0])): return special(x, rest)
    try: given = o.signature.bind_partial(args[0], *rest, **kw).arguments
    except TypeError: return None
    words = [_say_argument(o, x, p, given) for p in [*o.signature.parameters.values()][1:]]
    if None in words: return None
    said = ', '.join(filter(None, words))
    if o.attach: return f'x.{o.name}({said})'
    return f'fl.{o.name}({next(iter(o.signature.parameters))}, {said})'


def _say_argument(o, x, p, given):
    "One argument of a call by name: '' where it is left out, None where nothing can be said."
    if p.name not in given:
        if p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD): return ''
        at = LAST.get(p.name)
        if p.name == 'out': return repr(_free('new', x.tags))
        return repr(x.tags[at]) if at is not None and len(x.tags) >= -at else None
    value = given[p.name]
    if p.name in NAMING and p.name not in o.operands: return _say_axes(x, value, p.kind is p.VAR_POSITIONAL)
    if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD): return None
    said = p.name if hasattr(value, 'shape') or brief(value) == type(value).__name__ else brief(value)
    plain = p.kind is not p.KEYWORD_ONLY and p.default is p.empty
    return said if plain else f'{p.name}={said}'


def _say_axes(x, value, many):
    "Axes that were given by position, by name as one text; names stay as they are."
    names = []
    for a in _flat(value if many else [value]):
        if isinstance(a, str): names += a.split()
        elif _is_count(a) and -len(x.tags) <= a < len(x.tags): names.append(x.tags[a])
        else: return None
    return repr(' '.join(names)) if len({*names}) == len(names) else None


# ---- those whose numbers mean something else than ours
def _reshape(x, rest):
    sizes = _flat(rest)
    if sizes in ([-1], []): return example('flatten', x)
    if not all(map(_is_count, sizes)): return None
    return f'x.reshape({_sized_tags(x, sizes)!r}, {tuple(sizes)!r})'


def _repeat(x, rest):
    counts = _flat(rest)
    if len(counts) != x.ndim: counts = [1] * (x.ndim - 1) + counts[:1]
    calls = [f'.repeat({t!r}, {n})' for t, n in zip(x.tags, counts) if n != 1]
    return 'x' + ''.join(calls) if calls else None


def _split(x, rest):
    at = rest[1] if len(rest) > 1 and _is_count(rest[1]) else 0
    if not _is_count(rest[0]) or not -x.ndim <= at < x.ndim: return None
    t, n, part = x.tags[at], x.shape[at], _free('part', x.tags)
    if rest[0] < 1 or n % rest[0]: return f'x.narrow({t!r}, 0, {min(max(rest[0], 1), n)})'
    return f'x.split({t!r}, {part + " " + t!r}, {(n // rest[0], rest[0])}).unbind({part!r})'


def _squeeze(x, rest):
    ones = ' '.join(t for t, n in zip(x.tags, x.shape) if n == 1)
    return f'x.squeeze({ones!r})' if ones else None


def _select(x, rest):
    at, i = [*rest, 0, 0][:2]
    return f'x.select({x.tags[at]}={brief(i)})' if _is_count(at) and -x.ndim <= at < x.ndim else None


def _trailing(name):
    "Of a norm: torch asks for the sizes of the last axes."
    def call(x, rest):
        if rest and _is_count(rest[0]) and -x.ndim <= rest[0] < x.ndim: return f'x.{name}({x.tags[rest[0]]!r})'
        return f'x.{name}({x.tags[-1]!r})' if x.tags and rest else None
    return call


SPECIAL = dict(reshape=_reshape, repeat=_repeat, split=_split, squeeze=_squeeze, select=_select,
               layer_norm=_trailing('layer_norm'), rms_norm=_trailing('rms_norm'),
               broadcast_to=lambda x, rest: example('broadcast_to', x),
               flatten=lambda x, rest: example('flatten', x),
               insert_axis=lambda x, rest: f'x.insert_axis({_free("new", x.tags)!r})',
               stack=lambda x, rest: f'fl.stack(tensors, {_free("new", x.tags)!r})',
               merge=lambda x, rest: f'x.merge({_free("new", x.tags)!r}, {" ".join(x.tags)!r})')


# ---- sizes where names come first
def names_first(o, args, kw):
    "The call that makes a tensor of the sizes that are given without names: normal(0, 1, (3, 4)); or None."
    first = next(iter(o.signature.parameters), None)
    if o.operands or first not in ('tags', 'tag') or not args: return None
    sized = any(map(_is_counts, args)) or 'size' in kw
    if not (_is_count(args[0]) or _is_counts(args[0]) or sized and isinstance(args[0], float)): return None
    names = next((a for a in args if isinstance(a, str)), None)
    rest = [a.item() if isinstance(a, np.generic) else a for a in args if a is not names]
    more = [f'{k}={brief(v)}' for k, v in kw.items() if k in o.signature.parameters and k != 'shape']
    if first == 'tag': return f'{o.name}({names or "n"!r}, {", ".join([*map(brief, rest), *more])})'
    sizes = kw.get('size', kw.get('shape')) or next((a for a in rest if _is_counts(a)), None)
    if sizes is not None: rest = [a for a in rest if a is not sizes]
    else:      # randn(3, 4), full(3, 1.): the whole numbers in front
        n = 1 if o.name in ('full', 'randint') else next((i for i, a in enumerate(rest) if not _is_count(a)), len(rest))
        sizes, rest = rest[:n], [a for a in rest[n:] if not isinstance(a, bool)]
    sizes = tuple([sizes] if _is_count(sizes) else sizes)
    if o.name == 'eye' and len(sizes) == 1: sizes *= 2
    letters = names or USUAL.get(len(sizes)) or ' '.join(f'd{i}' for i in range(len(sizes)))
    shape = brief(sizes if len(sizes) > 1 else sizes[0])
    if o.name == 'randint' and len(rest) == 1: rest = [0, *rest]
    return f'{o.name}({", ".join([repr(letters), shape, *map(brief, rest), *more])})'


# ---- functions of NumPy
def axes_asked(x, args, kw, whole):
    "What a function of NumPy goes along, as the operation here is told: nothing for `whole`, all axes."
    axis = kw.get('axis', args[1] if len(args) > 1 else None)
    if axis is None: return '' if whole or not x.tags else repr(x.tags[-1])
    return _say_axes(x, axis, False) or repr(x.tags[-1:])
