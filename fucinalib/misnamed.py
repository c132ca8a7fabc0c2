"""What to say of a name that is no tag, is not there, is there already, or means two sizes.

`tags` asks the questions (chapter 1); the errors are made here, each with the names as they should be written.
"""
import re
from keyword import iskeyword
from unicodedata import normalize
from .errors import ShapeMismatch, TagError, brief, did_you_mean, fault

__all__ = ['not_a_tag', 'check_words', 'said_twice', 'too_many', 'check_position', 'not_there', 'not_one',
           'not_free', 'two_sizes', 'by_word', 'renaming', 'old_and_new', 'CHOSEN', 'ANY']

CHOSEN = 'an axis is chosen by its name'      # what a number in the place of a name is told
ANY = "for example 'row'"


def not_a_tag(t):
    "The error for what is no name, or is one that Python would read as another."
    if not isinstance(t, str):
        head = f'{brief(t)} is not a tag: {CHOSEN}, never by its position'
        return fault(TagError, head, help=ANY)
    if (normal := normalize('NFKC', t)) != t:
        head = f'{t!r} is not a tag: where it stands in a program, Python reads {normal!r}'
        return fault(TagError, head, help=f'write {normal!r}')
    near = re.sub(r'\W+', ' ', t).strip()
    if not all(w.isidentifier() for w in near.split()):
        near = ' '.join(w if w.isidentifier() else 'd' + w for w in near.split())
    return fault(TagError, f'{t!r} is not a tag: a tag is a Python identifier',
                 help=f'write {near!r}' if near else "for example 'row'")


def check_words(names):
    "The error for the first of some names, or tuples of them, that is no text."
    for n in names:
        for t in (n if isinstance(n, tuple) else (n,)):
            if not isinstance(t, str): raise not_a_tag(t)


def said_twice(tags):
    "The error for tags of which one comes again."
    twice = next(t for t in tags if tags.count(t) > 1)
    return fault(TagError, f'tag {twice!r} stands twice in {" ".join(tags)!r}',
                 help=f'each axis needs a name of its own: {twice!r} and {twice + "2"!r}, say')


def too_many(tags, most):
    return fault(TagError, f'{len(tags)} axes; at most {most} are allowed',
                 help='merge axes that always travel together')


def check_position(x, n, names):
    "The error for a number, or a list of numbers, where names are meant; axes that are there are named."
    several = [*n] if isinstance(n, list) else [*names]
    if not all(isinstance(i, int) and not isinstance(i, bool) for i in several):
        if isinstance(n, list): return
        several = [n]
    inside, help = all(-len(x.tags) <= i < len(x.tags) for i in several), 'name it'
    if inside:
        call = f'x.{{op}}({" ".join(x.tags[i] for i in several)!r})'
        help = f'position {several[0]} is {x.tags[several[0]]!r}: {call}' if len(several) == 1 else f'by name: {call}'
    where = f'position {brief(several[0])}' if len(several) == 1 else f'positions {" ".join(map(brief, several))}'
    raise fault(TagError, f'over {where}: {CHOSEN}', x=x, help=help)


def not_there(x, names):
    "The error for names of which `x` lacks one."
    missing = next(t for t in names if t not in x.tags)
    return fault(TagError, f'over {missing!r}: there is no such axis', x=x,
                 help=did_you_mean(missing, x.tags, 'the axes are'))


def not_one(x, tag, names):
    "The error for none or several names where one axis is meant."
    help = 'x is a single number; x.insert_axis("d") gives it an axis'
    if x.tags: help = f'the axes are {" ".join(x.tags)}'
    if names: help = f"x.merge('both', {' '.join(names)!r}) makes one of neighbours"
    return fault(TagError, f'takes one axis, and {tag!r} names {len(names) or "none"}', x=x, help=help)


def not_free(x, names):
    "The error for names that should be one, and one that no other axis of `x` has."
    if len(names) == 1:
        return fault(TagError, f'the name {names[0]!r} is taken', x=x, help='choose a name that x does not have')
    return fault(TagError, f'one name is wanted, {len(names)} given', x=x,
                 help=f'{(names or ("d",))[0]!r}, for example')


def two_sizes(x, other, tag, names):
    "The error for an axis that two operands have in different sizes."
    own, its = names
    n, m = x.shape[x.tags.index(tag)], other.shape[other.tags.index(tag)]
    help = f'{tag!r} is {n} in {own} and {m} in {its}; if they are different axes, rename one: '
    return fault(ShapeMismatch, f'over {tag!r}: sizes differ', **{own: x, its: other},
                 help=help + renaming(its, tag, tag + '2'))


def by_word(tag, value):
    "`tag=value` as a call says it, for a message; also where the tag is a Python keyword."
    return f'**{{{tag!r}: {value}}}' if iskeyword(tag) else f'{tag}={value}'


def renaming(name, old, new):
    "The call that renames an axis, for a message."
    return f'{name}.rename({by_word(old, repr(new))})'


def old_and_new(x, names):
    """The error for new names of `x` that are given as other libraries change one: 'old', 'new' or {'old': 'new'}. None
    for the names of all axes in their order; 'old', 'new' may be two of those as well, and nobody can tell."""
    if len(names) == 1 and isinstance(names[0], dict): change = names[0]
    elif len(names) == 2 and all(isinstance(t, str) for t in names) and names[0] in x.tags and names[1] not in x.tags:
        change = {names[0]: names[1]}
    else: return None
    help = f'x.rename({", ".join(by_word(old, repr(new)) for old, new in change.items())})'
    if len(names) == x.ndim == 2: help += f'; x.rename({" ".join(names)!r}) names both axes, in order'
    return fault(TagError, "takes a change as old='new'", x=x, help=help)
