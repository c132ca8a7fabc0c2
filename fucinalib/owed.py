"""What an operation owes: tags that name each axis of its result, a rule for each operand, and from each rule a
gradient of its operand's sizes and number type.

It is looked at where it is handed over, not at its first use far away. The library's own operations are tested to owe
nothing; of anybody else's each result is looked at. The chapters on gradients show the messages.
"""
import inspect
import numpy as np
from .dtypes import by_np
from .errors import (BackwardAlreadyRun, DTypeError, GradError, GradientMismatch, GradientShapeMismatch, InvalidShape,
                     MissingBackwardGradient, NoGradientGraph, OptionError, TagError, brief,
                     did_you_mean, fault, some)
from .elsewhere import taken_apart
from .tags import parse
from .tensor import Tensor
from .written import changed

__all__ = ['check_family', 'check_making', 'check_tags', 'check_rules', 'check_joint', 'check_share',
           'rule_failed', 'place_fault', 'hand_on',
           'no_way_back', 'spent_fault', 'misshapen', 'with_article', 'check_nudges', 'no_graph', 'slope_fault',
           'not_one_tensor', 'block_failed', 'block_differs']


def with_article(value):
    "The type of a value, with its article."
    kind = type(value).__name__
    return f'{"an" if kind[0] in "aeiou" else "a"} {kind}'


# ---- how an operation is made
def check_family(family):
    "Refuse `@op` without its parentheses, and a family that is no word."
    if isinstance(family, str): return
    raise fault(OptionError, f'op of {with_article(family)}', help="@op('custom') over def f(x:Tensor, ...)")


def check_making(fn, needs=(), half='keep', **how):
    "Refuse what no operation can be made of: no function, an unknown way with 16 bits, no checks of its parameters."
    if not inspect.isfunction(fn):
        name = getattr(fn, '__name__', type(fn).__name__)
        raise fault(OptionError, f'op makes an operation of a function written in Python, and {name} is none',
                    help="@op('custom') over def f(x:Tensor, ...)")
    if half not in ('keep', 'f32', 'native'):
        raise fault(OptionError, f'op of {fn.__name__}: half is {brief(half)}',
                    help="half is 'keep', 'f32' or 'native'")
    if not isinstance(needs, (list, tuple)) or not all(hasattr(c, 'names') and hasattr(c, 'say') for c in needs):
        raise fault(OptionError, f'op of {fn.__name__}: needs is {brief(needs)}',
                    help="a list of checks: from fucinalib.checks import real; needs=[real('x')]")
    there = [*inspect.signature(fn).parameters]
    lacking = next((n for c in needs for n in c.names if n not in there), None)
    if lacking is None: return
    raise fault(OptionError, f'op of {fn.__name__}: needs speak of {lacking!r}, and there is no such parameter',
                help=did_you_mean(lacking, there, 'the parameters are'))


# ---- what the function of an operation returns
def misshapen(name, result):
    "The error for an operation whose function did not return the three things it owes."
    said = f'a tuple of {len(result)}' if type(result) is tuple else with_article(result)
    return fault(GradError, f'{name} returned {said}',
                 help='an operation returns (array, tags as a tuple, one gradient rule per tensor operand)')


def hand_on(o, result):
    "The result of an operation that called others, one or several; GradError for what is none, of one's own."
    if o.foreign and not o.composed:
        made = result if isinstance(result, (list, tuple)) and result else [result]
        if not all(hasattr(t, 'tags') for t in made): raise misshapen(o.name, result)
    if o.name.endswith('_'): changed(result.data, o.name)
    return result


def check_tags(o, t, args):
    "Refuse operands that were taken apart, an array of an odd type, and tags that do not name each axis once."
    for torn in filter(None, [taken_apart(x) for x in args if isinstance(x, Tensor)]): raise torn.told(o.name, {})
    tags, y, what = t.tags, t.data, f'{o.name} returned'
    if y.dtype not in by_np: raise _odd_type(what, y)
    if type(tags) is not tuple or not all(isinstance(n, str) for n in tags):
        raise fault(TagError, f'{what} {with_article(tags)} where its tags belong', array=y,
                    help="return a tuple of names: x.tags, or ('row', 'col')")
    if len(tags) != y.ndim:
        raise fault(InvalidShape, f'{what} {y.ndim} axes and {len(tags)} tags', array=y, tags=' '.join(tags),
                    help='name each axis of the array it returns')
    try: good = parse(*tags) == tags
    except TagError: good = False
    if not good:
        raise fault(TagError, f'{what} tags that are none: {tags}', array=y,
                    help="a tag is an identifier, and stands once: ('row', 'col')")


def _odd_type(what, y):
    "The error for a result whose numbers are of no type of ours."
    kind = {'u': 'i8', 'f': 'f8'}.get(y.dtype.kind)
    ours = y.dtype.newbyteorder('=')
    if ours in by_np: kind = ours.str[1:]
    help = f'return y.astype({kind!r})' if kind else "return real or whole numbers: np.asarray(values, 'f4')"
    if y.dtype.kind == 'c': help = 'return its real part, y.real.copy(), or two operations for both'
    name = y.dtype.name if ours not in by_np else f'{y.dtype.name} of another byte order'
    return fault(DTypeError, f'{what} an array of {name}, which no tensor holds', help=help, array=y)


def check_rules(o, rules, n):
    "The rules of an operation with `n` operands, if there is one for each, or one for all."
    if isinstance(rules, list): rules = tuple(rules)
    if callable(rules) and not isinstance(rules, type): return rules
    rule, operand = some(n, 'gradient'), some(n, 'operand')
    help = f'return a tuple of {n}: a rule for each operand, None for no gradient; or one function that returns {rule}'
    if not isinstance(rules, tuple):
        raise fault(GradError, f'{o.name} returned {with_article(rules)} where its gradient rules belong', help=help)
    if len(rules) != n:
        raise fault(GradError, f'{o.name} gave {some(len(rules), "rule")} for {operand}', help=help)
    odd = [r for r in rules if r is not None and not callable(r)]
    if odd: raise fault(GradError, f'{o.name} gave {with_article(odd[0])} where a gradient rule belongs', help=help)
    return rules


# ---- what a rule returns
def rule_failed(node, error):
    "The error for a rule of `node` that raised one of Python's."
    said = f'{type(error).__name__}: {error}'.rstrip(': ')
    return fault(GradError, f'the gradient rule of {node.op.name} failed: {said}', result=node,
                 help='the traceback above shows where')


def check_joint(node, found):
    "What a joint rule gave, if that is one gradient for each operand."
    n = len(node.parents)
    if isinstance(found, (tuple, list)) and len(found) == n: return found
    many = isinstance(found, (tuple, list))
    said = some(len(found), 'gradient') if many else with_article(found)
    help = f'return a tuple of {n}: a gradient for each operand, None for a constant'
    if n == 1 and not many: help = f'{node.op.name} has one rule: return it in a tuple, (rule,)'
    raise fault(GradError, f'the gradient rule of {node.op.name} gave {said} for {some(n, "operand")}',
                result=node, help=help)


def check_share(share, p, i, node):
    "`share` as an array, if that is a gradient of operand number `i` of `node`, its parent `p`."
    what = f'the gradient rule of {node.op.name} gave'
    if share is None:
        raise fault(MissingBackwardGradient, f'{what} nothing for {node.op.operand_name(i)}', operand=p,
                    help='return a gradient for every operand that requires one')
    if not isinstance(share, (np.ndarray, np.generic)):
        raise fault(GradError, f'{what} {node.op.operand_name(i)} {with_article(share)}', operand=p,
                    help=_say_as_array(share, p))
    a = np.asarray(share)       # a number of NumPy, or an array of a class of its own
    if a.shape == p.shape and a.dtype == p.dtype: return a
    raise fault(GradientShapeMismatch, f'{what} {node.op.operand_name(i)} a gradient of shape {a.shape} {a.dtype}',
                operand=p, help=f'a gradient has the shape and the number type of its operand: {p.shape} {p.dtype}')


def _say_as_array(share, p):
    "How to make of a rule's gradient for the parent `p` the array it should be."
    if isinstance(share, Tensor): return 'rules speak of arrays: return gradient.data'
    if isinstance(share, (int, float)): return f'return np.full({p.shape}, {share!r}, {p.dtype.name!r})'
    if isinstance(share, (list, tuple)): return f'return np.array(values, {p.dtype.name!r})'
    return f'return an ndarray of shape {p.shape} {p.dtype}'


def place_fault(part, there, p, i, node):
    "The error for a Part that does not fit the place `there` of operand number `i` of `node`, or None for none."
    what = f'the gradient rule of {node.op.name} gave {node.op.operand_name(i)} a part'
    if there is None:
        return fault(GradientShapeMismatch, f'{what} of a place it does not have', operand=p,
                     help='Part(index, value) adds the value at gradient[index]')
    g = part.value
    return fault(GradientShapeMismatch, f'{what} of shape {np.shape(g)} {getattr(g, "dtype", "")}', operand=p,
                 help=f'the place it belongs to has shape {there.shape} {there.dtype}')


# ---- what can be gone back from, and once
def no_way_back(x):
    "The error for backward of a constant."
    help = ('nothing it was made from requires a gradient: use param(...) or requires_grad=True, and stay outside '
            f'no_grad(); w = w - lr * w.grad makes another w there, and {MOVED}')
    return fault(NoGradientGraph, 'backward of a constant', x=x, help=help)


MOVED = 'w.detach().add_(w.grad, alpha=-lr) moves w itself'

def spent_fault(x, node):
    "The error for a graph whose gradients were already taken."
    if node is x:
        return fault(BackwardAlreadyRun, 'backward already ran on this result', x=x,
                     help='compute the result again; what the gradient rules had saved is freed as they run')
    help = 'compute the shared part again, or add the two losses and run backward once'
    if _is_moved(node): help = f'w = w - lr * w.grad goes back through every w before, and {MOVED}; else {help}'
    return fault(BackwardAlreadyRun, f'backward already ran through a part of this graph, a result of {node.op.name}',
                 x=x, shared=node, help=help)


def _is_moved(node):
    "Whether a result may be a parameter that was moved by hand: one tensor like it, and a constant added."
    from_ = [p for p in node.parents if p is not None]
    alike = len(from_) == 1 and (from_[0].tags, from_[0].shape) == (node.tags, node.shape)
    return alike and node.op.name in ('add', 'sub')


# ---- proof, and blocks that run again
def check_nudges(fn, **options):
    "Refuse to prove what is no function, and tolerances that are no small numbers."
    if not callable(fn):
        raise fault(OptionError, f'gradcheck runs a function, and this is {with_article(fn)}',
                    help='gradcheck(lambda x: x.exp(), x)')
    for name, v in options.items():
        if type(v) in (int, float) and 0 <= v < 2.**60 and (v or name != 'eps'): continue
        raise fault(OptionError, f'gradcheck: {name} is {brief(v)}', help=f'a small number: {name}=1e-6')


def no_graph(fn):
    "The error for a function to prove whose result has no gradient; of inputs that have none if `fn` is None."
    if fn is None:
        return fault(NoGradientGraph, 'gradcheck: no input has a gradient',
                     help='give at least one tensor of real numbers')
    return fault(NoGradientGraph, 'gradcheck: the result does not depend on the inputs through recorded operations',
                 help='compute it with operations of fucinalib, outside no_grad() and without detach()')


def slope_fault(k, leaf, at, rule, slope):
    "The error for a slope on which rule and differences disagree."
    where = ' '.join(f'{t}={i}' for t, i in zip(leaf.tags, at)) or 'its value'
    said = f'the rule says {rule:.6g}, differences say {slope:.6g}'
    return fault(GradientMismatch, f'gradcheck: input {k} at {where}: {said}', input=leaf,
                 help='if the function has a kink there, check it elsewhere')


def not_one_tensor(y):
    "The error for a block of `checkpoint` that returns something else."
    return fault(GradError, 'checkpoint: the block must return one tensor', result=y,
                 help='make it two blocks, or stack the results')


def block_failed(fn, error):
    "The error for a block of `checkpoint` whose second run raised."
    name, said = getattr(fn, '__name__', type(fn).__name__), f'{type(error).__name__}: {error}'.splitlines()[0]
    return fault(GradError, f'checkpoint: running {name} again failed: {said}',
                 help='a block must do the same each time it runs')


def block_differs(how):
    "The error for a block of `checkpoint` whose second run is another one than the first."
    return fault(GradError, f'checkpoint: the block ran again {how}', help='a block must do the same each time it runs')
