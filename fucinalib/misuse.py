"""What to say when Python, not a check, complains about a call: a wrong option, an operand that
is no tensor, an argument of an odd kind.

A call that fails inside an operation fails with words about its inside. Its samples know better:
each is a call that works, so an argument unlike all of them is named, with the comment that
stands beside the parameter in the source."""
import inspect, re
import numpy as np
from .elsewhere import MISSING, OPTIONS, taken_apart
from .errors import DTypeError, InvalidShape, OptionError, OutOfMemory, TagError, UnsupportedView
from .errors import brief, did_you_mean, fault
from .misnamed import ANY, CHOSEN
from .positions import NAMING, NUMBER_FIRST, by_name, names_first, number_first
from .tensor import Tensor

__all__ = ['complaint', 'completed', 'unnamed_index', 'no_assignment', 'no_merge', 'doc_of', 'check_slopes']

def completed(o,      # an operation
              error,  # a fault it raised
              args, kw,
             ):
    """The fault with the operation's name and operands; where numbers stood for axes, its help is
    the whole call with their names. Of sizes where names come first, that is all there is to say."""
    if (torn := _find_torn(args, kw)): return torn.told(o.name, {})
    unnamed = isinstance(error, TagError) and (CHOSEN in error.head or 'needs the name' in error.head)
    if unnamed and (call := by_name(o, args, kw)):
        position = re.match('position .*? is .*?: ', error.help or '')
        error.help = (position[0] if position and o.name not in NUMBER_FIRST and not number_first(args) else '') + call
    elif unnamed and error.help in ('name it', ANY) and (tags := _first_tags(args)):
        error.help = f'the axes of x are {" ".join(tags)}'
    elif args and (call := names_first(o, args, kw)):
        error = _alone(fault(TagError, 'the names of the axes come before their sizes', call))
    return error.told(o.name, o.given(args, kw))


def _first_tags(args): return next((a.tags for a in args[:1] if isinstance(a, Tensor)), ())


def _find_torn(args, kw):
    "The error for the first tensor of a call that was taken apart, or None."
    given = [t for v in (*args, *kw.values()) for t in (v if isinstance(v, (list, tuple)) else [v])]
    torn = next(filter(None, [taken_apart(t) for t in given if isinstance(t, Tensor)]), None)
    return torn and _alone(torn)


def complaint(o,      # an operation
              error,  # what a call of it raised
              args, kw,
             ):
    "Python's complaint in our words, completed; what no argument explains passes through as it is."
    if isinstance(error, Warning): return error
    if (torn := _find_torn(args, kw)): return torn.told(o.name, {})
    if isinstance(error, MemoryError): return _say_memory(error).told(o.name, o.given(args, kw))
    try: given = o.signature.bind(*args, **kw)
    except TypeError as e: said = _say_signature(o, e, args, kw)
    else: said = _say_operand(o, given) or _say_option(o, given) or _say_size(error)
    return error if said is None else said.told(o.name, o.given(args, kw))


def _say_signature(o, error, args, kw):
    "The error for a call that does not fit the signature."
    shown = f'{o.name}{o.signature}'.replace('fucinalib.tensor.', '')
    unknown = next((k for k in kw if k not in o.signature.parameters), None)
    if unknown is None:
        way = _axis_first(o, args, kw) or MISSING.get(o.name) or _say_missing(o, args, kw)
        return _alone(fault(OptionError, str(error), help=f'{way}; {shown}' if way else shown))
    known = [n for n, p in o.signature.parameters.items()
             if n not in ('self', 'x') and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    help = _say_known(o, unknown, kw, args) if unknown in OPTIONS else None
    return _alone(fault(OptionError, f'there is no option {unknown!r}',
                        help=help or (did_you_mean(unknown, known, 'the options are') if known else shown)))


def _axis_first(o, args, kw):
    "The call with an axis, where something else was given in its place; or None."
    try: given = o.signature.bind_partial(*args, **kw).arguments
    except TypeError: return None
    first, *names = o.signature.parameters
    x, odd = given.get(first), given.get('tag')
    if names[:1] != ['tag'] or odd is None or isinstance(odd, (str, tuple)) or not isinstance(x, Tensor): return None
    whole = args if o.name in NUMBER_FIRST or o.name == 'repeat' else (*args[:1], -1, *args[1:])
    call = by_name(o, whole, kw) if x.tags else None
    if call is None:
        call = f'x.{o.name}({", ".join([repr((x.tags or ("d",))[-1]), *names[1:2]])})'
    return f'the axis comes first: {call}'


def _say_missing(o, args, kw):
    "The call with the axes that it lacks, or None."
    parameters = [*o.signature.parameters.values()][1:]
    lacking = {p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD}
    return by_name(o, args, kw) if lacking & NAMING else names_first(o, args, kw)


def _say_known(o, unknown, kw, args):
    "What is said of an option of other libraries: the tag of the axis that its number means."
    of = [a for a in (args[0] if args and isinstance(args[0], list) else args[:1]) if isinstance(a, Tensor)]
    tags, call = of[0].tags if of else (), 'x.{op}({tag!r})' if o.attach else '{op}(.., {tag!r})'
    value, known = kw[unknown], {k: v for k, v in kw.items() if k in o.signature.parameters}
    inside = isinstance(value, int) and -len(tags) <= value < len(tags)
    where = f'position {value} is {tags[value]!r}; ' if inside else ''
    tag = tags[value] if inside else (tags or ('col',))[-1]
    whole = (*args, value) if o.name in NUMBER_FIRST else (*args[:1], value, *args[1:])
    call = inside and by_name(o, whole, known) or call.format(op=o.name, tag=tag)
    return OPTIONS[unknown].format(where=where, call=call)


def _say_operand(o, given):
    "The error for the first operand that is no tensor, or None."
    for n, v in given.arguments.items():
        p = o.signature.parameters[n]
        if p.annotation is not Tensor and p.annotation != list[Tensor]: continue
        several = v if p.annotation is not Tensor and isinstance(v, (list, tuple)) else [v]
        alien = [a for a in several if not isinstance(a, Tensor) and not (a is None and p.default is None)]
        if alien: return _alone(no_tensor(n, alien[0]))


def no_tensor(name, value, help="Tensor([1., 2.], 'd') makes one of numbers and names"):
    "The error for an operand that is no tensor."
    kind = type(value).__name__
    letters = (' '.join(('row', 'col', 'depth', 'a', 'b', 'c', 'd', 'e')[:np.ndim(value)])
               if isinstance(value, np.ndarray) else '')
    if letters: help = f'Tensor({name}, {letters!r}) names its axes'
    if hasattr(value, 'to') and hasattr(value, 'tags'): help = f"{name}.to('f32')"
    article = 'an' if kind[0] in 'aeiou' or kind == 'ndarray' else 'a'
    return fault(DTypeError, f'{name} is {article} {kind}, not a tensor', help=help)


def unnamed_index(x, where):
    "The error for x[0] and its kind, with the same index by name."
    first, index = (x.tags or ('d',))[0], where if isinstance(where, tuple) else (where,)
    if len(index) > 1 and sum(i is ... for i in index) == 1:      # as many whole axes as are left
        at = next(k for k, i in enumerate(index) if i is ...)
        index = index[:at] + (slice(None),) * (x.ndim - len(index) + 1) + index[at + 1:]
    help = f'x[{{{first!r}: 0}}]'
    if len(index) <= x.ndim and all(isinstance(i, (int, np.integer, slice)) and not isinstance(i, bool) for i in index):
        help = f'x[{{{", ".join(f"{t!r}: {_say_bounds(i)}" for t, i in zip(x.tags, index) if i != slice(None))}}}]'
    elif isinstance(where, (Tensor, np.ndarray, list)):
        help = f'x.index_select({first!r}, indices)'
        if _kinds(where) <= {bool, np.bool_}: help = "x.masked_select(mask, 'found'), x.where(mask, 0.) keeps the shape"
    return fault(TagError, 'an index needs the name of its axis', help, x=x)

def no_assignment(x):
    "The error for x[..] = value."
    update = f'x.set_slice({(x.tags or ("d",))[0]!r}, start, update) gives a new one'
    help = f'{update}; x.numpy()[...] = value writes where no graph is involved'
    return fault(OptionError, 'a tensor is not changed by assignment', help, x=x)

def no_merge(x,        # a tensor
             tag,      # of the axis wanted
             names,    # of the axes that were to become one
             at=None,  # the place of the first of them, if they do not stand side by side
            ):
    "The error for axes that no single stride walks, with the copy that makes it possible."
    these, rest = repr(' '.join(names)), [t for t in x.tags if t not in names]
    way = f'contiguous().merge({tag!r}, {these})'
    if at is None:
        strides = tuple([s // x.data.itemsize for s in x.data.strides])
        head = f'no single stride walks {these} in this memory'
        return fault(UnsupportedView, head, f'x.{way} copies first', strides=strides)
    order = ' '.join([*rest[:at], *names, *rest[at:]])
    return fault(TagError, f'{these} do not stand side by side in this order', f'x.permute({order!r}).{way}')

def _kinds(values):
    "The types of the values of a list, an array or a tensor."
    if isinstance(values, list): return {type(v) for v in values}
    return {values.dtype.type if isinstance(values, np.ndarray) else values.dtype.np.type}

def _say_bounds(i):
    "An index or slice as source."
    if not isinstance(i, slice): return brief(i)
    return f'slice({", ".join(map(repr, [i.start, i.stop, i.step][:2 if i.step is None else 3]))})'


def _say_option(o, given):
    """The error for the first option unlike those of the samples, or None. A guess, so Python's
    own complaint stays in sight."""
    for n, v in given.arguments.items():
        p = o.signature.parameters[n]
        if n in o.operands or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) or p.annotation == list[Tensor]: continue
        good = _good_values(o, n)
        if good and not any(_is_of_kind(v, like) for like in good): return _odd(o, n, v, good)


def _say_memory(error):
    "The error for what no memory holds, with NumPy's words of how much was asked for."
    said = str(error)
    return _alone(fault(OutOfMemory, 'no memory holds this' + f': {said[:1].lower()}{said[1:]}' * bool(said),
                        help='make a size, a padding or a count smaller, or take fewer rows at a time'))


def _say_size(error):
    """The error for sizes that are whole numbers each and together more than an address can
    count, or for one that even Python does not write out."""
    words = str(error) if isinstance(error, ValueError) else ''
    if words.startswith(('array is too big', 'Maximum allowed')):
        return _alone(fault(InvalidShape, 'asks for an array larger than any memory',
                            help='make a size, a padding or a count smaller'))
    if words.startswith('Exceeds the limit'):
        return _alone(fault(OptionError, 'a whole number of more than 4300 digits', help='no number type holds it'))


def _good_values(o, name):
    "Values that an option takes for sure: those of the samples and its default."
    calls = [o.signature.bind(*args, **kw).arguments for args, kw in (s.draw() for s in o.samples)]
    default = o.signature.parameters[name].default
    return [c[name] for c in calls if name in c] + [default] * (default is not inspect.Parameter.empty)


def _is_of_kind(value, like):
    "Whether an argument is of the kind of another: both whole numbers, both one tag, lists of one kind, ..."
    value, like = [v.tolist() if isinstance(v, (np.generic, np.ndarray)) else v for v in (value, like)]
    if value is None or isinstance(value, bool) or isinstance(like, bool): return type(value) is type(like)
    # more fits no memory
    if isinstance(like, (int, float)): return isinstance(value, (int, type(like))) and abs(value) < 2**40
    if isinstance(like, str): return isinstance(value, str) and (len(value.split()) == 1 or not like.isidentifier())
    if isinstance(like, (list, tuple)):
        return isinstance(value, (list, tuple)) and all(any(_is_of_kind(v, k) for k in like) for v in value)
    return isinstance(value, type(like))


def _odd(o, name, value, good):
    "The error for an option of another kind than the good ones."
    try: said = re.search(rf'^(?:def \w+\()?\W*{name}\b.*?#\s*(.*)$', inspect.getsource(o.fn), re.M)
    except OSError: said = None
    like = next((g for g in good if g is not None and not isinstance(g, Tensor)), None)
    ways = ([said[1]] if said else []) + ([f'{name}={like!r}, say'] if like is not None else [])
    text = brief(value) if type(value) in (int, float, bool, str, tuple, type(None)) else type(value).__name__
    if text == type(value).__name__: text = f'of type {text}'
    return fault(OptionError, f'{name} is {text}, which does not fit', help='; '.join(ways) or f'{o.name}{o.signature}')


def doc_of(fn):
    "The docstring of a function, each paragraph on one line: tables and messages show the first."
    return '\n\n'.join(' '.join(p.split()) for p in (inspect.getdoc(fn) or '').split('\n\n'))


def _alone(error):
    "The error without the complaint it explains: nothing more is to be learnt from it."
    error.__suppress_context__ = True
    return error


def check_slopes(call,     # the function and its numbers, as a call shows them
                 numbers,  # its parameters that are numbers
                 slopes,   # a rule for each
                 twins,    # rules for arrays, for the function and its slopes
                ):
    "A slope for each number, and a rule for arrays for each rule: OptionError if not."
    if not isinstance(twins, (list, tuple)) or not all(t is None or callable(t) for t in twins):
        head = 'vector is no rules for arrays'
        help = 'vector=(function, *slopes), or vector=True if those given take arrays'
    elif not 0 < len(slopes) == len(numbers) < 3:
        head = f'{call} has {len(slopes) or "no"} slopes'
        help = 'one or two numbers, a slope for each: @elemental(lambda x, y, g: 2 * x * g)'
    elif len(twins) != len(slopes) + 1:
        head, help = f'{call} has {len(twins)} rules for arrays', '(function, *slopes)'
    else: return
    raise fault(OptionError, head, help=help)
