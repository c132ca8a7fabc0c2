"""The first difference between two values, in words and by axis name.

`differ(yours, right)` takes tensors, arrays, numbers, strings, lists and dicts of them, and plain objects by attribute.
The exercises answer with it.
"""
import inspect
from dataclasses import dataclass
from types import SimpleNamespace
import numpy as np
from .. import show
from ..errors import some
from ..tensor import Tensor

__all__ = ['Fault', 'differ', 'put_in_words', 'kind']


@dataclass
class Fault:
    "A difference: what, in words, and the two sides."
    head: str
    yours: str = ''
    right: str = ''
    help: str = ''
    line: str = ''        # the line that raised, if one did
    says: str = ''        # and its message
    at: tuple = None      # index of the first wrong entry
    tags: tuple = None
    sides: tuple = None   # (yours, right, mask of the wrong entries) as arrays


def is_tensor(v): return isinstance(v, Tensor)
def is_array(v): return is_tensor(v) or isinstance(v, np.ndarray) and v.ndim > 0
def numbers(v): return v.data if is_tensor(v) else np.asarray(v)

def kind(v):
    "What a value is, in a word; an array without axes counts as a number, a tuple as a list."
    if is_array(v): return 'Tensor' if is_tensor(v) else 'array'
    if isinstance(v, (bool, np.bool_)) or isinstance(v, np.ndarray) and v.dtype.kind == 'b': return 'bool'
    if isinstance(v, (int, float, np.number, np.ndarray)): return 'number'
    words = {list: 'list', tuple: 'list', dict: 'dict', str: 'string'}
    return next((w for t, w in words.items() if isinstance(v, t)), type(v).__name__)

def a_kind(v): return ('an ' if kind(v)[0] in 'aeiou' else 'a ') + kind(v)

def put_in_words(v):
    "A value in one line: sizes, number type, and the entries if few."
    if is_array(v) and numbers(v).dtype.kind not in 'USO':
        sizes = show.sizes(v) if is_tensor(v) else f'array {v.shape}'
        return f'{sizes} {v.dtype}: {show.gist(SimpleNamespace(data=_without_minus_zero(numbers(v))))}'.strip()
    if kind(v) == 'number' and not isinstance(v, int): return show.numeral(v + 0)      # -0 + 0 is 0
    text = getattr(v, '__name__', None) or repr(v)
    return text if len(text) <= 70 else text[:67] + '...'

def _without_minus_zero(values):
    "The same with 0 for -0, which counts as equal and would only puzzle."
    return values + values.dtype.type(0) if values.dtype.kind == 'f' else values

def apart(a, b):
    "Two numbers with as many digits as it takes to tell them apart."
    if not isinstance(a, float) and not isinstance(b, float): return str(a), str(b)
    a, b = a + 0, b + 0      # 0 for -0
    pairs = ((f'{float(a):.{d}g}', f'{float(b):.{d}g}') for d in range(4, 18))
    return next((p for p in pairs if p[0] != p[1]), (repr(a), repr(b)))

def place(at, tags): return ' '.join(f'{t}={i}' for t, i in zip(tags, at)) if tags else f'[{", ".join(map(str, at))}]'


def _holds_numbers(v):
    "Whether a list has only numbers, or lists of them: then an array of the same says it as well."
    return all(kind(e) in ('number', 'bool') or kind(e) == 'list' and _holds_numbers(e) for e in v)

def _say_lengths(n, asked): return f'{some(n, "value")}, asked for {asked}'

def _say_count(yours, right):
    "That several values were asked for and one came, or the other way round; '' if that is not what is wrong."
    one = lambda v: is_array(v) or kind(v) in ('number', 'bool')
    if kind(right) == 'list' and len(right) > 1 and one(yours) and (not is_array(yours) or any(map(is_array, right))):
        return _say_lengths(1, len(right))
    if isinstance(yours, tuple) and len(yours) > 1 and one(right): return _say_lengths(len(yours), 1)
    return ''


def differ(yours, right,
           tol=None,    # relative and absolute tolerance; None: by number type, integers exactly
           part='',     # name of the part compared, for the message
           args=(),     # (name, value) of the inputs both sides were made from, to look for a pattern in
           seen=(),     # objects being compared further out
          ):
    "The first Fault of `yours` against `right`, or None."
    of, a, b = f'{part}: ' if part else '', kind(yours), kind(right)
    sides = dict(yours=put_in_words(yours), right=put_in_words(right))
    inner = lambda x, y, name: differ(x, y, tol, part + name, args, seen)
    if yours is None and right is not None:
        return Fault(of + ('no value here' if part else 'the function returned None: did you forget return?'), **sides)
    if (a, b) == ('array', 'list') and _holds_numbers(right): yours, a = yours.tolist(), 'list'
    if a != b:
        if (count := _say_count(yours, right)): return Fault(of + count, **sides)
        return Fault(f'{of}returned {a_kind(yours)}, asked for {a_kind(right)}',
                     help=UNWRAP.get((a, b), ''), **sides)
    if is_array(right): return differ_arrays(yours, right, tol, of, args)
    if b in ('number', 'bool'): return differ_numbers(np.asarray(yours), np.asarray(right), tol, of)
    if b == 'list':
        if len(yours) != len(right): return Fault(of + _say_lengths(len(yours), len(right)), **sides)
        names = [f'.{n}' for n in getattr(right, '_fields', ())] or [f'[{i}]' for i in range(len(right))]
        found = next((f for n, x, y in zip(names, yours, right) if (f := inner(x, y, n))), None)
        if found is None or len(right) > 8 or not all(isinstance(v, str) for v in (*yours, *right)): return found
        # names say more together: one by one, another order looks like another value
        return Fault(of + 'the right ones in another order' if sorted(yours) == sorted(right) else found.head, **sides)
    if b == 'dict':
        odd = [(k, 'missing') for k in right if k not in yours] + [(k, 'too many') for k in yours if k not in right]
        if odd: return Fault(f'{of}the key {odd[0][0]!r} is {odd[0][1]}', **sides)
        return next((f for k in right if (f := inner(yours[k], right[k], f'[{k!r}]'))), None)
    if yours is right or id(right) in seen: return None
    # rules that objects hold cannot be compared
    if seen and inspect.isroutine(yours) and inspect.isroutine(right): return None
    if type(right).__eq__ is object.__eq__ and not inspect.isroutine(right) and not isinstance(right, type):
        mine, theirs = attributes(yours), attributes(right)
        return next((f for k in theirs if (f := differ(mine.get(k), theirs[k], tol, f'{part}.{k}',
                                                       args, (*seen, id(right))))),
                    None)
    return None if bool(yours == right) else Fault(of + 'another value', **sides)

UNWRAP = {('array', 'Tensor'): 'wrap it: Tensor(array, tags)', ('Tensor', 'array'): 'take the array out: x.numpy()',
          ('Tensor', 'number'): 'take the number out: x.item()', ('number', 'Tensor'): 'wrap it: Tensor(number)'}

def attributes(v):
    "What an object holds, by name."
    slots = [s for c in type(v).__mro__
             for s in np.atleast_1d(getattr(c, '__slots__', ())) if not str(s).startswith('__')]
    return {s: getattr(v, s) for s in map(str, slots) if hasattr(v, s)} | getattr(v, '__dict__', {})

def differ_numbers(x, y, tol, of):
    if tol is None: tol = 1e-5 if 'f' in x.dtype.kind + y.dtype.kind else 0
    if not wrong(x, y, tol): return None
    return Fault(of + ('the value is NaN' if x != x else 'another value'), *apart(x.item(), y.item()))

def differ_arrays(yours, right, tol, of, args):
    "The first Fault of two tensors or two arrays: tags, sizes, number type, entries."
    tags, sides = getattr(right, 'tags', None), dict(yours=put_in_words(yours), right=put_in_words(right))
    if tags is not None and set(yours.tags) != set(tags): return Fault(of + 'wrong tags', **sides)
    if tags is not None and yours.tags != tags:
        return Fault(of + 'the axes are in another order', help=f'.permute({" ".join(tags)!r})', **sides)
    if yours.shape != right.shape: return Fault(of + 'wrong sizes', **sides)
    x, y = numbers(yours), numbers(right)
    bad = wrong(x, y, slack(x, y) if tol is None else tol)
    if x.dtype != y.dtype:
        head = ('the values differ, and so does the number type' if bad.any()
                else 'values right, but another number type')
        convert = 'to' if is_tensor(right) else 'astype'
        return Fault(of + head, str(yours.dtype), str(right.dtype), f'.{convert}({str(right.dtype)!r})')
    if not bad.any(): return None
    at, many = tuple(int(i) for i in np.argwhere(bad)[0]), bad.sum()
    word = 'NaN' if x[at] != x[at] else 'wrong'
    count = ('' if bad.size == 1 else f', {many} of {bad.size} entries' if many > 1
             else f', the only wrong entry of {bad.size}')
    return Fault(f'{of}{word} at {place(at, tags)}{count}' if at else f'{of}{word} value',
                 *apart(x[at].item(), y[at].item()),
                 help=pattern(x, y, bad, args), at=at, tags=tags, sides=(x, y, bad))


def slack(a, b):
    "The tolerance that fits the coarser of two number types."
    sizes = [n.itemsize for n in (a.dtype, b.dtype) if n.kind not in 'iub']
    return {2: 1e-2, 4: 1e-5}.get(min(sizes), 1e-7) if sizes else 0

def wrong(x, y, tol):
    """Mask of the entries of x that are not y's; NaN equals NaN. `tol` is relative to the entry
    and to the largest one, up to 1."""
    if x.dtype.kind in 'iub' and y.dtype.kind in 'iub' and not tol: return np.asarray(x != y)
    with np.errstate(all='ignore'):
        x, y = x.astype('f8'), y.astype('f8')
        size = np.where(np.isfinite(y), np.abs(y), 0)
        # .01: rounding where all should be 0
        near = np.abs(x - y) <= tol * (size + min(1, size.max(initial=0)) + .01)
        return ~(near & np.isfinite(y) | (x == y) | np.isnan(x) & np.isnan(y))

def pattern(x, y, bad, args):
    "What the wrong entries have in common, in words, or ''."
    x, y = x.astype('f8'), y.astype('f8')
    for name, z in args:
        if not is_array(z) or z.shape != x.shape or bad.all(): continue
        z = numbers(z)
        for word, mask in (('negative', z < 0), ('zero', z == 0), ('positive', z > 0)):
            if (mask == bad).all(): return f'wrong exactly where {name} is {word}'
    a, b = x[bad], y[bad]
    if not np.isfinite([a, b]).all(): return ''
    if x.ndim == 2 and x.shape == x.T.shape and np.allclose(x.T, y):
        return 'yours is the right one with its two axes swapped'
    if np.allclose(a, -b): return 'every wrong entry has the opposite sign'
    if len(a) < 2: return ''
    off = (a - b).mean()
    if np.allclose(a, b + off):
        return f'every wrong entry is {show.numeral(abs(off))} too {"large" if off > 0 else "small"}'
    times = (a / b).mean() if b.all() else 0
    return (f'every wrong entry is {show.numeral(times)} times the right one'
            if times and np.allclose(a, b * times) else '')
