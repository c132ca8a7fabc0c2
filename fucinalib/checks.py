"""What an operation asks of its arguments, declared: `needs=[real('x'), axis('tag', of='x'),
number('eps', least=0)]`.

Each word can do three things with a call: test it, say what is wrong, and spoil a good call so
that it must speak. The tests of an operation are compiled into one function with its signature,
so that a good call costs a few comparisons. A word speaks only when its test fails, and may find
that all is well after all: the test is quick, the word is thorough. The spoiled calls are the
operation's mistakes in the error gallery and in the tests."""
import inspect, operator, re
from numbers import Real
import numpy as np
from .arguments import say_argmax
from .autograd import is_grad_enabled
from .dtypes import F8
from .errors import (DTypeError, IndexOutOfBounds, InvalidShape, OptionError, OptionTypeError, ShapeMismatch, TagError,
                     UnsupportedGradient, UnsupportedView,
                     brief, closest, did_you_mean, fault, is_tagged)
from .misuse import no_tensor
from .sides import astray, not_sides
from .tags import axis_of, parse, renaming, unused
from .tensor import Tensor, wrap

__all__ = ['Check', 'Mistake', 'real', 'single', 'numeric', 'integral', 'logical', 'same_type',
           'axis', 'last', 'axes', 'new_axis', 'rank', 'pictures',
           'leading', 'agrees', 'matches', 'like', 'same_axes', 'rows', 'broadcasts', 'additive', 'vector',
           'constant', 'together', 'made_of', 'meets', 'joins', 'writable', 'positions', 'whole', 'two', 'count',
           'number', 'one_of', 'flag', 'mixed', 'not_real', 'not_numeric', 'not_for',
           'is_whole', 'is_number', 'look_at', 'no_gradient', 'size_clash']


class Check:
    """A word about parameters: `test` is Python for 'all is well', `say` raises if not, `spoil`
    yields errors and bad arguments."""
    facts = ()      # names of what is told besides the parameters, in order

    def __init__(self, names, *given, **facts):
        self.names = names.split()
        self.__dict__.update(dict(zip(self.facts, given)) | facts)

    def test(self, n): return 'False'
    def say(self, n, given): pass
    def spoil(self, n, given): return ()

    def ask(self, given):
        "Look at values that only the inside of an operation knows. For words that look again before they speak."
        for n in self.names: self.say(n, given)

    def __repr__(self):
        told = [repr(' '.join(self.names))] + [f'{k}={v!r}' for k, v in self.__dict__.items() if k != 'names']
        return f'{type(self).__name__}({", ".join(told)})'

    @staticmethod
    def compiled(fn, needs):
        "A function with the signature of `fn` that raises what the first failing check says; None if there is none."
        parameters = inspect.signature(fn).parameters
        scope, lines = {'np': np, 'Tensor': Tensor, 'astray': astray}, []
        for i, need in enumerate(needs):
            scope[f'need{i}'] = need
            for n in need.names:
                if (test := need.test(n)) == 'True': continue      # whoever uses it looks at it
                if parameters[n].default is None: test = f'{n} is None or {test}'
                lines.append(f'    if not ({test}): need{i}.say({n!r}, dict(locals()))')
        scope |= {f'_{n}': p.default for n, p in parameters.items()}
        if not lines: return None
        exec(f'def check({header(parameters)}):\n' + '\n'.join(lines), scope)
        return scope['check']

    @staticmethod
    def mistakes(o):
        """A spoiled call for each thing an operation's checks refuse, made from the first sample
        that shows the parameter."""
        defaults = {n: p.default for n, p in o.signature.parameters.items() if p.default is not p.empty}
        drawn = [bound(o, s) for s in o.samples]
        for need in o.needs:
            for n in need.names:
                good = next((g for g in drawn if (defaults | g).get(n) is not None), None)
                if good is None: continue
                for kind, bad in need.spoil(n, defaults | good): yield Mistake(kind, o, good | bad)


class Mistake:
    "A call that must fail, and the kind of error it gives."
    def __init__(self, kind, o, given): self.kind, self.o, self.given = kind, o, given
    def __iter__(self): return iter((self.kind, self))      # (kind, call), as mistakes written by hand are

    def __call__(self, f):
        "Make it, through the function `f`."
        return f(*self.split()[0], **self.split()[1])

    def split(self):
        "The arguments as a call has them: by position while they last, then by name."
        args, kw, by_name = [], {}, False
        for n, p in self.o.signature.parameters.items():
            if p.kind is p.VAR_POSITIONAL: args += self.given.get(n, ())
            elif p.kind is p.VAR_KEYWORD: kw |= self.given.get(n, {})
            elif n not in self.given: by_name = True
            elif by_name or p.kind is p.KEYWORD_ONLY: kw[n] = self.given[n]
            else: args.append(self.given[n])
        return args, kw

    def code(self):
        "The call as a reader would write it; its tensors go by the names the message lists."
        name = {id(v): n for n, v in self.given.items() if isinstance(v, Tensor)}
        word = lambda v: name.get(id(v)) or repr(v)
        args, kw = self.split()
        return f'fl.{self.o.name}({", ".join([*map(word, args), *(f"{n}={word(v)}" for n, v in kw.items())])})'


def header(parameters):
    "The parameters of a function as source, where `_name` stands for the default of `name`."
    words, starred = [], False
    for n, p in parameters.items():
        star = {p.VAR_POSITIONAL: '*', p.VAR_KEYWORD: '**'}.get(p.kind, '')
        if p.kind is p.KEYWORD_ONLY and not starred: words.append('*')
        starred |= p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY)
        words.append(star + n + ('' if p.default is p.empty else f'=_{n}'))
    return ', '.join(words)


def bound(o, sample):
    "The arguments of a sample by name."
    args, kw = sample.draw(0, 'f32')
    return dict(o.signature.bind(*args, **kw).arguments)


# ---- number types
class real(Check):
    "Tensors of real numbers."
    facts = 'else_',
    else_ = ''      # what there is for other numbers
    def test(self, n): return f"{n}.data.dtype.kind == 'f'"
    def say(self, n, given):
        if given[n].data.dtype.kind != 'f': raise not_real(given[n], n, n == next(iter(given)), self.else_)
    def spoil(self, n, given): yield DTypeError, {n: cast(given[n], 'i8')}


class single(Check):
    "Tensors of f32, which is what weights of few bits are multiplied by."
    def test(self, n): return f"{n}.data.dtype == 'f4'"
    def say(self, n, given):
        if given[n].dtype != 'f32': raise fault(DTypeError, f'of {given[n].dtype}', help=f"{n}.to('f32')", **given)
    def spoil(self, n, given): yield DTypeError, {n: cast(given[n], 'f8')}


class numeric(Check):
    "Tensors of numbers, which truth values are not."
    def test(self, n): return f"{n}.data.dtype.kind != 'b'"
    def say(self, n, given):
        if given[n].data.dtype.kind == 'b': raise not_numeric(given[n])
    def spoil(self, n, given): yield DTypeError, {n: cast(given[n], '?')}


class integral(Check):
    "Tensors of whole numbers."
    facts = 'else_',
    else_ = ''      # what there is for real ones
    def test(self, n): return f"{n}.data.dtype.kind in 'iu'"
    def say(self, n, given):
        x, all_like = given[n], all(t.dtype == given[n].dtype for t in given.values() if isinstance(t, Tensor))
        help = f"whole numbers only: {n}.to('i64')" + (f', or {self.else_}' if self.else_ and all_like else '')
        if x.dtype.is_bool: help = f'{n}.logical_and(y) and so on combine truth values'
        raise fault(DTypeError, f'of {x.dtype}', help=help)
    def spoil(self, n, given):
        for kind in ('f4', '?'): yield DTypeError, {n: cast(given[n], kind)}


class logical(Check):
    """Tensors of truth values, or of real numbers, which are true where they are not 0.

    Beside values `of` that are truth values only such: else the two are in each other's place."""
    facts = 'of',
    of = None
    def test(self, n):
        fine = f"isinstance({n}, Tensor) and {n}.data.dtype.kind in 'bf'"
        return f"{fine} and ({n}.data.dtype.kind == 'b' or {self.of}.data.dtype.kind != 'b')" if self.of else fine
    def say(self, n, given):
        m = given[n]
        if not isinstance(m, Tensor): raise no_tensor(n, m, 'a tensor of truth values: x > 0, say')
        if m.dtype.is_float:
            raise fault(DTypeError, 'takes the values first, then the mask', help=f'{self.of}.{{op}}({n}, ...)')
        raise fault(DTypeError, 'whole numbers are not truth values', help=f'{n}.ne(0) is a mask', **{n: m})
    def spoil(self, n, given):
        yield DTypeError, {n: cast(given[n], 'u1')}
        if self.of: yield DTypeError, {n: given[self.of], self.of: cast(given[n], '?')}


class marks(Check):
    "Tensors of truth values for the entries of `of` along `tag`, all batches alike or each by itself."
    facts = 'tag', 'of'
    def test(self, n):
        return (f"isinstance({n}, Tensor) and {n}.data.dtype.kind == 'b' and {self.tag!r} in {n}.tags "
                f"and (isinstance({self.of}, (list, tuple)) or {{*{n}.tags}} <= {{*{self.of}.tags[:-2]}})")
    def say(self, n, given):
        x, t = given[self.of], given[n]
        if not isinstance(t, Tensor): raise no_tensor(n, t, f'a tensor of truth values: true for each {self.tag!r} '
                                                            'that counts')
        if t.data.dtype.kind != 'b':
            help = f'true for what counts: {n}.ne(0), or {n}.eq(0) where it was to be added to scores'
            raise fault(DTypeError, f'{n} is {t.dtype}, not of truth values', help=help, **{n: t})
        own = ' '.join(x.tags[:-2]) if is_tagged(x) else self.tag
        if self.tag in t.tags and {*t.tags} <= {*own.split()}: return
        raise fault(TagError, f'{n} says of each {self.tag!r} of {self.of} whether it counts',
                    help=f'its axes are {own!r}, or fewer', **{n: t})
    def spoil(self, n, given):
        t = given[n]
        yield DTypeError, {n: cast(t, 'f4')}
        yield TagError, {n: wrap(t.data, tuple(f'{tag}s' for tag in t.tags))}


class same_type(Check):
    "Tensors of one number type, that of `of`."
    facts = 'of',
    def test(self, n): return f'{n}.data.dtype == {self.of}.data.dtype'
    def say(self, n, given):
        if given[n].dtype != given[self.of].dtype: raise mixed(given[self.of], given[n], self.of, n)
    def spoil(self, n, given): yield DTypeError, {n: cast(given[n], 'f8' if given[n].data.dtype != 'f8' else 'f4')}


def not_real(x, name='x', first=True, else_=''):
    "The error for whole numbers or truth values where real ones are due."
    help = f"{name}.to('f32') computes with real numbers" + (else_ and f'; {else_}')
    return fault(DTypeError, f'of {x.dtype}' if first else f'{name} is {x.dtype}', help=help)

def not_numeric(x):
    "The error for truth values where numbers are due."
    return fault(DTypeError, 'of truth values',
                 help="x.logical_and(y), x.logical_not() and so on; x.to('i64') makes them 0 and 1")

NEVER_MIXED = 'number types never mix silently'

def mixed(x, other, name='x', other_name='other'):
    "The error for two operands of different number type. Of two real ones, that which learns stays as it is."
    learns = [getattr(t, 'node', None) is not None for t in (x, other)]
    wide, n = max((x.dtype.is_float, x.dtype, name),
                  (other.dtype.is_float, other.dtype, other_name), key=lambda t: t[0])[1:]
    if x.dtype.is_float and other.dtype.is_float and learns[0] != learns[1]:
        wide, n = (x.dtype, name) if learns[0] else (other.dtype, other_name)
    narrow = other_name if n == name else name
    return fault(DTypeError, f'of {x.dtype} and {other.dtype}',
                 help=f'{NEVER_MIXED}: {narrow}.to({str(wide)!r})')

def not_for(x, value, name='other'):
    "The error for something that a tensor of x's type cannot take as a number."
    if isinstance(value, np.ndarray):
        return fault(DTypeError, 'with an array that has no tags',
                     help=_say_axes(x, 'array', value.shape), **{name: value})
    if not isinstance(value, (bool, int, float)):
        help = 'the other operand is a tensor or a number'
        shape = getattr(value, 'shape', ()) if hasattr(value, '__array__') else ()
        # of a column or a table of pandas
        if isinstance(shape, tuple) and 0 < len(shape) <= x.ndim: help = _say_axes(x, name, shape)
        return fault(DTypeError, f'with a {type(value).__name__}', help=help, **{name: value})
    help = 'f64 ends near 1e308; divide both sides' if x.dtype.is_float else "x.to('f32') computes with real numbers"
    return fault(DTypeError, f'{brief(value)} is not a value of {x.dtype}', help=help)

def _say_axes(x, name, shape):
    "Help to name the axes of an array beside x: as those of x that stand together and fit, the last if several do."
    rank = len(shape)
    runs = [range(i, i + rank) for i in range(x.ndim - rank, -1, -1)]
    equal = lambda n, m: n == m
    meet = lambda n, m: 1 in (n, m) or n == m
    for fit in equal, meet:
        for run in runs:
            if all(map(fit, shape, [x.shape[i] for i in run])):
                return f'name its axes: Tensor({name}, {" ".join([x.tags[i] for i in run])!r})'
    return f'name its axes: Tensor({name}, tags), a tag for each of the sizes {" ".join(map(str, shape))}'

def cast(x, kind): return wrap(x.data.astype(kind), x.tags)


class meets(Check):
    """Tensors that meet `of` by name, or numbers of its type. `pair` of chapter 10 looks at them
    anyway, so nothing is tested here."""
    facts = 'of',
    def test(self, n): return 'True'
    def spoil(self, n, given):
        x, other = given[self.of], given[n]
        if not isinstance(other, Tensor): return
        yield DTypeError, {n: cast(other, 'i4' if x.data.dtype == 'i8' else 'i8')}
        longer = wrap(np.repeat(x.data, 3, 0)[:x.shape[0] + 1], x.tags) if x.ndim and x.shape[0] > 1 else None
        if longer is not None: yield ShapeMismatch, {n: longer}


class made_of(Check):
    """Names of a tensor that is made, of sizes in order or by name. `new_sizes` reads them, so
    nothing is tested here."""
    def test(self, n): return 'True'
    def spoil(self, n, given):
        tags, plain = parse(given[n]), dict.fromkeys(given.keys() & {'shape'})
        sizes = dict.fromkeys(tags, 3)
        yield InvalidShape, plain | dict(sizes={t: 3 for t in tags[1:]})
        yield InvalidShape, plain | dict(sizes=sizes | {tags[0]: 0})
        yield OptionError, plain | dict(sizes=sizes | {unused('rwo', tags): 3})
        if 'shape' in given: yield InvalidShape, dict(shape=(3,) * (len(tags) + 1), sizes={})
        if 'dtype' in given: yield DTypeError, dict(dtype='f33')


class joins(Check):
    """Tensors that share the axes to sum over with `of`, at equal sizes and of one number type. The
    product looks, so nothing is tested here."""
    facts = 'of',
    def test(self, n): return 'True'
    def spoil(self, n, given):
        w, shared = given[n], next(t for t in given[n].tags if t in given[self.of].tags)
        yield DTypeError, {n: cast(w, 'i8')}
        yield ShapeMismatch, {n: wrap(np.repeat(w.data, 2, w.tags.index(shared)), w.tags)}
        yield TagError, {n: wrap(w.data, tuple([f'{t}s' for t in w.tags]))}

    @staticmethod
    def lacking(x, w, joined):
        "The error for an axis that can't be summed over because an operand lacks it."
        both = [t for t in x.tags if t in w.tags]
        ways = 'they share no axis: x.mul(w) is the outer product'
        if both: ways = f'name the axes to sum over; both have: {" ".join(both)}'
        if not joined: return fault(TagError, 'over nothing', help=ways)
        t, name, lacks = next((t, n, o) for t in joined for n, o in (('x', x), ('w', w)) if t not in o.tags)
        near, fix = closest(t, lacks.tags), ''
        if near and t in x.tags + w.tags: fix = f'; if {near!r} is that axis: {renaming(name, near, t)}'
        return fault(TagError, f'over {t!r}: {name} has no such axis',
                     help=did_you_mean(t, lacks.tags, f'{name} has') + fix)


def size_clash(x, w, tag, name='w'):
    "The error for two sizes of one shared axis."
    return fault(ShapeMismatch, f'over {tag!r}: sizes differ',
                 help=f'{tag!r} is {x.size(tag)} in x and {w.size(tag)} in {name}, and here 1 does not '
                      f'stretch; if they are different axes, rename one: {renaming(name, tag, tag + "2")}')


class writable(Check):
    "Tensors that may be changed in place: in no graph, of a type that computes, with memory of their own."
    def test(self, n): return 'False'
    def say(self, n, given):
        x = given[n]
        if not isinstance(x, Tensor): return
        if x.requires_grad:
            raise fault(UnsupportedGradient, f'changes values in place, and {n} is in a graph',
                        help=f'{n}.detach().{{op}}(...): it has the same memory and no graph')
        if x.data.dtype in F8:
            raise fault(DTypeError, f'of {x.dtype}: 8-bit numbers are for storage',
                        help=f"{n}.to('f32') computes")
        if not x.data.flags.writeable:
            raise fault(UnsupportedView,
                        f'the memory of {n} is read-only, or one place of it is several values of {n}',
                        help=f'{n}.materialize() has memory of its own')
    def spoil(self, n, given): yield UnsupportedGradient, {n: Tensor(given[n], requires_grad=True)}


# ---- axes
class axis(Check):
    "The name of one axis of `of`, another one than `apart` if that is given."
    facts = 'of', 'apart', 'kind'
    apart, kind = None, InvalidShape
    def test(self, n):
        tags, other = f'{self.of}.tags', self.apart
        return f'{n} in {tags}' + (f' and {other} in {tags} and {n} != {other}' if other else '')
    def say(self, n, given):
        x, v = given[self.of], given[n]
        if isinstance(v, bool):
            own = next((t for t in reversed(x.tags) if t != given.get(self.apart)), 'd')
            raise fault(TagError, f'{n} is {v}', help=f'{n}={own!r} names an axis')
        at = self.place(x, v)
        if self.apart and at == self.place(x, given[self.apart]):
            raise fault(self.kind, f'{self.apart} and {n} are both {x.tags[at]!r}', help='these are two axes')
    def place(self, x, tag):
        "Where the axis is; a refusal speaks of the tensor by its own name."
        try: return axis_of(x, tag)
        except TagError as e:
            if self.of in ('x', 'self'): raise
            raise TagError(e.head, e.help and re.sub(r'\bx\b', self.of, e.help)) from None
    def spoil(self, n, given):
        yield TagError, {n: f'{given[n]}s'}
        if len(tags := given[self.of].tags) > 1: yield TagError, {n: ' '.join(tags[:2])}
        if self.apart: yield self.kind, {n: given[self.apart]}


class last(Check):
    "The name of the last axis of `of`, which has as many axes as `ranks` allows, or any number."
    facts = 'of', 'ranks'
    ranks = None
    def test(self, n):
        return (f'{self.of}.data.ndim in {self.ranks} and ' if self.ranks
                else '') + f'{self.of}.tags[-1:] == ({n},)'
    def say(self, n, given):
        x, at = given[self.of], axis_of(given[self.of], given[n])
        tag, others = x.tags[at], [t for t in x.tags if t != x.tags[at]]
        if at == x.ndim - 1 and (self.ranks is None or x.ndim in self.ranks): return
        help = self.of + f'.permute({" ".join([*others, tag])!r})' * (at < x.ndim - 1)
        if self.ranks is None: raise fault(TagError, f'{tag!r} must be the last axis of {self.of}', help=help)
        if x.ndim > max(self.ranks): help += f".contiguous().merge({others[0]!r}, {' '.join(others)!r})"
        if x.ndim < min(self.ranks): help += ".insert_axis('row')"
        most = 'at most ' * (len(self.ranks) > 1) + ('one axis', 'two axes')[max(self.ranks) - 1]
        raise fault(TagError, f'{tag!r} must be the last of {most}', help=help)
    def spoil(self, n, given):
        x, of = given[self.of], self.of
        yield TagError, {n: f'{given[n]}s'}
        if self.ranks is None:
            yield TagError, {of: wrap(x.data[..., None], (*x.tags, 'a'))}
            return
        yield TagError, {of: wrap(x.data.reshape(*x.shape, *[1] * max(self.ranks)), (*x.tags, *'ab'[:max(self.ranks)]))}
        if x.ndim > 1: yield TagError, {of: wrap(x.data.T, x.tags[::-1])}
        if min(self.ranks) > 1: yield TagError, {of: wrap(x.data[0], x.tags[1:])}


class axes(Check):
    """Tensors, or lists of them that pass, with just the axes `tags`; or ending in them, after
    any or after those that `of` has there."""
    facts = 'tags', 'alone', 'of'
    def __init__(self, names, tags, alone=True, of=None): super().__init__(names, parse(tags), alone and not of, of)
    def test(self, n):
        k = len(self.tags)
        if self.of:
            return (f'isinstance({n}, (list, tuple)) or getattr({n}, "tags", 0) == '
                    f'{self.of}.tags[:-{k}] + {self.tags}')
        return f'{n}.tags == {self.tags}' if self.alone else f'{n}.tags[-{k}:] == {self.tags}'
    def say(self, n, given):
        x, own = given[n], self.tags
        if not is_tagged(x) or not hasattr(x, 'ndim'): raise no_tensor(n, x)
        if self.of: own = given[self.of].tags[:-len(own)] + own
        if x.tags == own or not (self.alone or self.of) and x.tags[-len(own):] == own: return
        end = 'are' if self.alone or self.of else 'end in'
        raise fault(TagError, f'the axes of {n} {end} {" ".join(own)!r}',
                    help=_turn_into(n, x, own, end == 'are'), **{n: x})
    def spoil(self, n, given):
        if isinstance(x := given[n], Tensor): yield TagError, {n: wrap(x.data, tuple(f'{t}s' for t in x.tags))}


def _turn_into(n, x, own, alone):
    """The call that gives the tensor `x`, called `n`, the axes `own`, or axes that end in them,
    as far as it can be known."""
    words, lead = ' '.join(own), [t for t in x.tags if t not in own]
    if set(own) <= set(x.tags) and not (alone and lead): return f'{n}.permute({" ".join([*lead, *own])!r})'
    before = x.tags[:len(x.tags) - len(own)]
    if len(x.tags) < len(own) or before and (alone or set(before) & set(own)):
        return f'axes {words!r}: Tensor(values, {words!r})'
    return (f'{n}.rename({" ".join([*before, *own])!r}) if that is what they are'
            + '; axes before them are batches' * (not alone))


class rank(Check):
    "Tensors or blocks of `least` axes, or up to `most` of them; `as_` shows one."
    facts = 'least', 'as_', 'most', 'kind', 'hint', 'new'
    most, kind = None, TagError
    hint, new = '', ('one',)        # what else to tell; an axis, and its place, if one is missing
    def test(self, n): return f'{self.least} <= {n}.ndim <= {self.most or self.least}'
    def say(self, n, given):
        x = given[n]
        most = self.most or self.least
        several = ('no axis', 'one axis', 'two axes', 'three axes', 'four axes')[self.least]
        if self.least <= x.ndim <= most: return
        few = f'{several} or more' if most > self.least else several
        added = ', '.join(map(repr, (unused(self.new[0], x.tags), *self.new[1:])))
        help = (f'{n}.insert_axis({added}) has one more' if x.ndim < self.least
                else f'Tensor(values, {self.as_!r}); select or merge axes')
        raise fault(self.kind, f'{n} has {few}, and this one {x.ndim}',
                    help=help + f'; {self.hint}' * bool(self.hint), **{n: x})
    def spoil(self, n, given):
        x = given[n]
        few, more = self.least - 1, (self.most or self.least) + 1 - x.ndim
        if few > 0: yield self.kind, {n: wrap(x.data.reshape(*x.shape[:few - 1], -1), x.tags[:few])}
        else: yield self.kind, {n: wrap(x.data.reshape(*x.shape, *[1] * more), (*x.tags, *'pqrstuvwxyz'[:more]))}


class pictures(rank):
    "Pictures 'h w c', the channels last as far as names tell, with any axes in front."
    def test(self, n): return f'{super().test(n)} and not astray({n}.tags)'
    def say(self, n, given):
        super().say(n, given)
        if astray(given[n].tags): raise not_sides(given[n])
    def spoil(self, n, given):
        yield from super().spoil(n, given)
        yield TagError, {n: wrap(given[n].data, (*given[n].tags[:-3], 'channel', 'h', 'w'))}


class leading(Check):
    "Tensors whose first `many` axes are those of `of`."
    facts = 'of', 'many'
    def test(self, n):
        x, k = self.of, self.many
        return f'{n}.tags[:{k}] == {x}.tags[:{k}] and {n}.data.shape[:{k}] == {x}.data.shape[:{k}]'
    def say(self, n, given):
        x, t, k = given[self.of], given[n], self.many
        if t.tags[:k] != x.tags[:k]:
            own = x.tags[:k] + (t.tags[k:] if len(t.tags) >= k else ())
            raise fault(TagError, f'the axes of {n} begin with {" ".join(x.tags[:k])!r}',
                        help=_turn_into(n, t, own, True), **{n: t})
        agrees(n, self.of).ask(given)
    def spoil(self, n, given):
        t = given[n]
        yield TagError, {n: wrap(t.data, tuple(f'{tag}s' for tag in t.tags))}
        yield ShapeMismatch, {n: wrap(np.repeat(t.data, 2, 0), t.tags)}


class agrees(Check):
    "Tensors as long as `of` along each axis they share, save `but`. Lists of them pass."
    facts = 'of', 'but', 'kind'
    but, kind = None, ShapeMismatch
    def test(self, n):
        x, shared = self.of, '' if self.but is None else f' and t != {self.but!r}'
        lists = f'isinstance({n}, (list, tuple)) or isinstance({x}, (list, tuple))'
        return (f'{lists} or all([{x}.shape[{x}.tags.index(t)] == m for t, m in zip({n}.tags, '
                f'{n}.shape) if t in {x}.tags{shared}])')
    def say(self, n, given):
        x, t = given[self.of], given[n]
        for tag, m in zip(t.tags, t.shape):
            if tag == self.but or tag not in x.tags or m == x.size(tag): continue
            raise fault(self.kind, f'over {tag!r}: sizes differ',
                        help=f'{tag!r} is {x.size(tag)} in {self.of} and {m} in {n}', **{n: t})
    def spoil(self, n, given):
        x, t = given[self.of], given[n]
        shared = [tag for tag in getattr(t, 'tags', ()) if tag in getattr(x, 'tags', ()) and tag != self.but]
        if isinstance(t, Tensor) and shared:
            yield self.kind, {n: wrap(np.repeat(t.data, 2, t.tags.index(shared[0])), t.tags)}


class new_axis(Check):
    "A name that no axis of `of` has, save the one it replaces and those `free` because they go."
    facts = 'of', 'instead', 'free'
    instead, free = None, ()
    def test(self, n):
        free = f'{n} not in {self.of}.tags'
        if self.instead: free += f' or {n} == {self.instead}'
        if self.free: free += f' or {n} in {self.free}'
        return f'type({n}) is str and {n}.isidentifier() and ({free})'
    def say(self, n, given):
        x, new = given[self.of], given[n]
        if not isinstance(new, (str, list, tuple)) or len(parse(new)) != 1:
            raise fault(TagError, f'{n} is {new!r}, which is not one name', help=f"one identifier, e.g. {n}='out'")
        name, = parse(new)
        if name in x.tags and name not in self.free and (self.instead is None or parse(given[self.instead]) != (name,)):
            raise fault(TagError, f'the name {name!r} is taken', help=f'another name: {n}={name + "2"!r}')
    def spoil(self, n, given):
        yield TagError, {n: 'p q'}
        if taken := [t for t in given[self.of].tags if t not in (given.get(self.instead), *self.free)]:
            yield TagError, {n: taken[0]}


class matches(Check):
    "Tensors with the tags and sizes of `of`, of any number type. What is no tensor passes."
    facts = 'of',
    def test(self, n):
        return f'not isinstance({n}, Tensor) or {n}.tags == {self.of}.tags and {n}.data.shape == {self.of}.data.shape'
    def say(self, n, given): raise _unlike(given[n], n, given[self.of], self.of)
    def spoil(self, n, given):
        x = given[n]
        if isinstance(x, Tensor) and x.ndim:
            yield ShapeMismatch, {n: wrap(np.repeat(x.data, x.shape[0] + 1, 0), x.tags)}


class like(matches):
    "Tensors with the tags, sizes and number type of `of`."
    def test(self, n):
        x = self.of
        return f'{n}.tags == {x}.tags and {n}.data.shape == {x}.data.shape and {n}.data.dtype == {x}.data.dtype'
    def say(self, n, given):
        x, t = given[self.of], given[n]
        if t.tags != x.tags or t.shape != x.shape: raise _unlike(t, n, x, self.of)
        raise mixed(x, t, self.of, n)


class same_axes(Check):
    "Tensors with the axes of `of`, in any order, and as long; nothing is broadcast."
    facts = 'of', 'hint'
    hint = ''       # what else there is for what is no tensor
    def test(self, n):
        x = self.of
        return f'isinstance({n}, Tensor) and {n}.tags == {x}.tags and {n}.data.shape == {x}.data.shape'
    def say(self, n, given):
        x, t, tags = given[self.of], given[n], ' '.join(given[self.of].tags)
        if not isinstance(t, Tensor):
            raise no_tensor(n, t, f'a tensor like {self.of}' + f'; {self.hint}' * bool(self.hint))
        stretches = all(tag in x.tags and k in (1, x.size(tag)) for tag, k in t.sizes.items())
        way = f'; {n}.broadcast_to({tags!r}, {x.shape}) repeats' if stretches else '; nothing is broadcast here'
        if set(t.tags) != set(x.tags):
            more = [tag for tag in x.tags if tag not in t.tags]
            off = f'; {self.of}.squeeze({more[0]!r}) takes it off' if len(more) == 1 and x.size(more[0]) == 1 else ''
            help = f'the axes of {self.of} are {tags!r}{off or way}'
            raise fault(ShapeMismatch, f'{n} has other axes than {self.of}', help, **{n: t})
        for tag, k in t.sizes.items():
            if k == x.size(tag): continue
            help = f'{tag!r} is {x.size(tag)} in {self.of} and {k} in {n}{way}'
            raise fault(ShapeMismatch, f'over {tag!r}: sizes differ', help, **{n: t})
    def spoil(self, n, given):
        t = given[n]
        yield DTypeError, {n: 1.}
        yield ShapeMismatch, {n: wrap(t.data[None], ('extra', *t.tags))}
        if t.ndim: yield ShapeMismatch, {n: wrap(np.repeat(t.data, t.shape[0] + 1, 0), t.tags)}


class rows(Check):
    "Tensors like `of`, of any size along its axis `along`."
    facts = 'along', 'of'
    def test(self, n):
        x, sizes = self.of, lambda t: f'[m for m, t in zip({t}.data.shape, {t}.tags) if t != {self.along}]'
        return f'{n}.tags == {x}.tags and {n}.data.dtype == {x}.data.dtype and {sizes(n)} == {sizes(x)}'
    def say(self, n, given):
        x, t, i = given[self.of], given[n], axis_of(given[self.of], given[self.along])
        tag = x.tags[i]
        if tag not in t.tags:
            help = f'{n}.insert_axis({tag!r}, {i}) makes it one entry long'
            raise fault(ShapeMismatch, f'over {tag!r}: {n} has no such axis', help, **{n: t})
        want = wrap(np.repeat(x.data[(slice(None),) * i + ([0],)], t.size(tag), i), x.tags)
        if t.tags != x.tags or t.shape != want.shape: raise _unlike(t, n, want, self.of)
        if t.dtype != x.dtype: raise mixed(x, t, self.of, n)
    def spoil(self, n, given):
        x, t = given[n], given[n].data
        yield DTypeError, {n: cast(x, 'i8')}
        if x.ndim > 1: yield ShapeMismatch, {n: wrap(np.repeat(t, 2, int(axis_of(x, given[self.along]) == 0)), x.tags)}


def _unlike(t, n, x, of):
    "The error for the tensor `t`, called `n`, that has not the tags and sizes of `x`, with the way there."
    head, tags = f'{n} is not like {of}', ' '.join(x.tags)
    help = f'the same tags and sizes as {of}: {tags!r}, {x.shape}'
    other = next((tag for tag in x.tags if tag in t.tags and t.size(tag) != x.size(tag)), None)
    more = [tag for tag in t.tags if tag not in x.tags]
    if len(more) == 1 and t.ndim == x.ndim + 1 and x.dtype.is_int: help += f'; {say_argmax(n, more[0])}'
    if set(t.tags) == set(x.tags):
        if other is None: head, help = f'{n} has the axes of {of} in another order', f'{n}.permute({tags!r})'
        else:
            head = f'over {other!r}: sizes differ'
            help = f'{other!r} is {x.size(other)} in {of} and {t.size(other)} in {n}'
    if t.sizes != x.sizes and all(tag in x.tags and k in (1, x.size(tag)) for tag, k in t.sizes.items()):
        help = f'{{op}} stretches nothing; {n}.broadcast_to({tags!r}, {x.shape}) does'
    return fault(ShapeMismatch, head, help=help, **{n: t})


class broadcasts(Check):
    "Tensors with axes of `of`, each as long or of size 1, of the same number type."
    facts = 'of',
    def test(self, n):
        x = self.of
        alike = f'{n}.tags == {x}.tags and {n}.data.shape == {x}.data.shape and {n}.data.dtype == {x}.data.dtype'
        return f'isinstance({n}, Tensor) and {alike}'
    def say(self, n, given):
        x, t = given[self.of], given[n]
        if not isinstance(t, Tensor):
            raise no_tensor(n, t, *[f'Tensor({t!r}) is one number for all'] * isinstance(t, float))
        for tag, size in zip(t.tags, t.shape):
            if tag not in x.tags:
                raise fault(TagError, f'{self.of} has no axis {tag!r}',
                            help=did_you_mean(tag, x.tags, f'the axes of {self.of} are'), **{n: t})
            own = x.size(tag)
            if size not in (1, own):
                raise fault(ShapeMismatch, f'over {tag!r}: sizes differ',
                            help=f'{tag!r} is {own} in {self.of}, so {own} or 1 in {n}', **{n: t})
        if t.dtype != x.dtype: raise mixed(x, t, self.of, n)
    def spoil(self, n, given):
        t = given[n]
        yield DTypeError, {n: cast(t, 'f8' if t.data.dtype != 'f8' else 'f4')}
        if not t.ndim: return
        yield TagError, {n: wrap(t.data, tuple(f'{tag}s' for tag in t.tags))}
        yield ShapeMismatch, {n: wrap(np.repeat(t.data, given[self.of].size(t.tags[0]) + 1, 0), t.tags)}


class additive(broadcasts):
    "Such tensors, added to `of`: truth values, which a mask may hold as well, are not meant."
    def say(self, n, given):
        x, t = given[self.of], given[n]
        if not isinstance(t, Tensor) or t.dtype.is_float: return super().say(n, given)
        help = f'to keep where it is true: {n}.to({str(x.dtype)!r}).log()'
        raise fault(DTypeError, f'{n} is added, and this one is {t.dtype}', help=help)
    def spoil(self, n, given):
        yield DTypeError, {n: cast(given[n], '?')}
        yield from super().spoil(n, given)


class vector(Check):
    """Tensors with the one axis `over` of `of`, as long, of the same number type. `over` is a
    parameter, or a name in quotes."""
    facts = 'over', 'of'
    def test(self, n):
        x, tag = self.of, self.over
        return (f'{n}.tags == ({tag},) and {n}.data.shape[0] == {x}.data.shape[{x}.tags.index({tag})] '
                f'and {n}.data.dtype == {x}.data.dtype')
    def say(self, n, given):
        x, t = given[self.of], given[n]
        tag, = parse(given.get(self.over, self.over.strip("'")))
        if not isinstance(t, Tensor) or t.tags != (tag,):
            raise fault(TagError, f'{n} has the one axis {tag!r}', help=f'Tensor(values, {tag!r})', **{n: t})
        if t.shape != (x.size(tag),):
            raise fault(ShapeMismatch, f'over {tag!r}: sizes differ',
                        help=f'{tag!r} is {x.size(tag)} in {self.of} and {t.numel} in {n}')
        if t.dtype != x.dtype: raise mixed(x, t, self.of, n)
    def spoil(self, n, given):
        t = given[n]
        yield TagError, {n: wrap(t.data, (f'{t.tags[0]}s',))}
        yield ShapeMismatch, {n: wrap(np.repeat(t.data, 2), t.tags)}


class constant(Check):
    "Tensors, or lists of them, that take no gradient."
    facts = 'instead', 'kind'
    instead, kind = None, UnsupportedGradient      # how to train what is refused here
    def test(self, n): return f'not isinstance({n}, (Tensor, list, tuple)) or type({n}) is Tensor and {n}.node is None'
    def say(self, n, given):
        no_gradient(n, given[n], f'{n}.detach() is a constant' + (
                        f'; to train it: {self.instead}' if self.instead else ''),
                    self.kind)
    def spoil(self, n, given):
        if isinstance(t := given[n], Tensor) and t.dtype.is_float: yield self.kind, {n: Tensor(t, requires_grad=True)}


def no_gradient(name, value, help, kind=UnsupportedGradient, depth=4):
    """An error of `kind`, UnsupportedGradient or a sort of it, if a tensor, or one in nested
    lists, asks for a gradient where its numbers alone are used."""
    if isinstance(value, Tensor):
        if value.node is not None and is_grad_enabled():
            raise fault(kind, f'passes no gradient to its {name}', help=help)
    elif isinstance(value, (list, tuple)) and depth:
        for v in value: no_gradient(name, v, help, kind, depth - 1)


class together(Check):
    "Parameters that are given together or not at all."
    facts, hint = ('hint',), ''     # hint: what else to tell
    def __init__(self, names, *hint): super().__init__(names, *hint); self.all, self.names = self.names, self.names[:1]
    def test(self, n): return ' == '.join(f'({m} is None)' for m in self.all)
    def say(self, n, given):
        missing = next(m for m in self.all if given[m] is None)
        raise fault(
            OptionError, f'{missing} is missing',
            help=f'give {" and ".join(self.all)}, or neither' + f'; {self.hint}' * bool(self.hint))
    def spoil(self, n, given): yield OptionError, {m: None for m in self.all[1:]}


# ---- numbers and words
class positions(Check):
    """A list of positions along the axis `along` of `of`, or a tensor of one for each entry.

    Whoever reads them looks at each, so nothing is tested here."""
    facts = 'along', 'of'
    def test(self, n): return 'True'
    def spoil(self, n, given):
        x, at, i = given[self.of], given[n], axis_of(given[self.of], given[self.along])
        a = np.asarray(at.data if isinstance(at, Tensor) else at)
        made = (lambda b: wrap(b, at.tags)) if isinstance(at, Tensor) else np.ndarray.tolist
        yield IndexOutOfBounds, {n: made(a * 0 + x.shape[i])}
        yield IndexOutOfBounds, {n: made(a * 0 - 1)}
        yield DTypeError, {n: made(a + .5)}
        if not isinstance(at, Tensor):
            yield InvalidShape, {n: []}
            yield TagError, {n: [[0]]}
        elif x.ndim > 1: yield ShapeMismatch, {n: made(np.repeat(a, 2, int(i == 0)))}


def is_whole(v):
    "Whether `v` is a whole number of Python or NumPy; True and False are not."
    if isinstance(v, (bool, np.bool_, Tensor)): return False
    try: return operator.index(v) is not None
    except TypeError: return False      # classes and arrays have the method too


def is_number(v):
    "Whether `v` is a number of Python or NumPy; True and False are not."
    return isinstance(v, (int, float, np.number)) and not isinstance(v, bool)


def look_at(needs, given):
    "Look at the options of something that is made, a layer say, with declared checks: at those of them that it has."
    for need in needs:
        for n in need.names:
            if given.get(n) is not None: need.say(n, given)


def not_none(names, given):
    "Refuse None for options in which it has no meaning."
    for n in names.split():
        if given[n] is None: raise fault(OptionTypeError, f'{n} is None', help=f'leave {n} out for its usual value')


class whole(Check):
    "Whole numbers from `least` to `most`; or None, where `none` says what that means."
    facts = 'least', 'most', 'kind', 'none', 'hint'
    least, most, kind, none, hint = None, None, InvalidShape, '', ''      # hint: what else to tell
    def test(self, n):
        fine = ' and '.join([f'type({n}) is int'] + [f'{n} {sign} {end}' for sign, end in self.ends()])
        return f'{n} is None or {fine}' if self.none else fine
    def ends(self): return [(s, e) for s, e in (('>=', self.least), ('<=', self.most)) if e is not None]
    def range(self): return ' and '.join([f'{"at least" if s == ">=" else "at most"} {e}' for s, e in self.ends()])
    def say(self, n, given):
        v, hint = given[n], f'; {self.hint}' * bool(self.hint)
        no_gradient(n, v, f'{n}.item() is a number{hint}')
        if not is_whole(v):
            other = f', or None for {self.none}' if self.none else ''
            raise fault(OptionTypeError, f'{n} is {shown(v)}',
                        help=f'a whole number{", " * bool(self.ends())}{self.range()}{other}{hint}')
        if any((operator.index(v) < e) if s == '>=' else (operator.index(v) > e) for s, e in self.ends()):
            raise fault(self.kind, f'{n} is {brief(v, 5000)}', help=f'{n} is {self.range()}{hint}')
    def spoil(self, n, given):
        yield OptionTypeError, {n: 1.5}
        if self.least is not None: yield self.kind, {n: self.least - 1}


class two(Check):
    "Whole numbers from `least` for rows and columns: one that stands for both, or two."
    facts = 'least', 'kind'
    kind = InvalidShape
    def test(self, n): return f'type({n}) is int and {n} >= {self.least}'
    def say(self, n, given):
        v = given[n]
        no_gradient(n, v, f'{n}.item() is a number')
        both = v if isinstance(v, (tuple, list)) else (v, v)
        if len(both) != 2 or not all(map(is_whole, both)):
            raise fault(OptionTypeError, f'{n} is {shown(v)}',
                        help=f'a whole number, or two, rows first: {n}=(2, 1)')
        if min(map(operator.index, both)) < self.least:
            raise fault(self.kind, f'{n} is {brief(v, 5000)}', help=f'{n} is at least {self.least}')
    def spoil(self, n, given):
        yield OptionTypeError, {n: 1.5}
        yield OptionTypeError, {n: (1, 1, 1)}
        yield self.kind, {n: (1, self.least - 1)}


class count(whole):
    "How many entries of `of` along its axis `along`: at least `least`, which is one, at most all."
    facts, least = ('along', 'of'), 1
    beyond = IndexOutOfBounds      # the error for more
    def test(self, n):
        x, tag = self.of, self.along
        own = f'{x}.data.shape[{x}.tags.index({tag})] if {tag} in {x}.tags else -1'
        return f'type({n}) is int and {self.least} <= {n} <= ({own})'
    def say(self, n, given):
        super().say(n, given)
        x, v, at = given[self.of], given[n], axis_of(given[self.of], given[self.along])
        if v > x.shape[at]:
            raise fault(self.beyond, f'along {x.tags[at]!r}: {v} of {x.shape[at]}',
                        f'{n} is at most {x.shape[at]}')
    def spoil(self, n, given):
        yield from super().spoil(n, given)
        yield self.beyond, {n: given[self.of].size(given[self.along]) + 1}


class number(Check):
    """Real numbers `above`, from `least`, `below` or to `most` the bounds; NaN is none, infinity
    only where `finite=False`."""
    facts = 'above', 'least', 'below', 'most', 'finite', 'kind', 'hint'
    above = least = below = most = hint = None      # hint: what else to tell
    finite, kind = True, OptionError
    BOUNDS = dict(above=('>', operator.gt), least=('>=', operator.ge), below=('<', operator.lt),
                  most=('<=', operator.le))
    WORDS = dict(above='above', least='at least', below='below', most='at most')

    def ends(self): return [(w, getattr(self, w)) for w in self.BOUNDS if getattr(self, w) is not None]

    def test(self, n):
        fine = [f'{n} {self.BOUNDS[w][0]} {e}' for w, e in self.ends()] or [f'{n} == {n}']
        kind = f'(type({n}) is float or type({n}) is int and -1e300 < {n} < 1e300)'
        return ' and '.join([kind, *fine] + [f'{n} - {n} == 0'] * self.finite)

    def say(self, n, given):
        v, words = given[n], ' and '.join(f'{self.WORDS[w]} {e}' for w, e in self.ends())
        hint = f'; {self.hint}' if self.hint else ''
        no_gradient(n, v, f'{n}.item() is a number{hint}')
        if isinstance(v, (Tensor, bool)) or not isinstance(v, Real):
            raise fault(OptionTypeError, f'{n} is {shown(v)}', help=f'{n} is a number{" " * bool(words)}{words}{hint}')
        try: real = float(v)
        except OverflowError: real = np.inf if v > 0 else -np.inf
        fine = all(self.BOUNDS[w][1](real, e) for w, e in self.ends())
        if real != real or self.finite and abs(real) == np.inf or not fine:
            raise fault(self.kind, f'{n} is {brief(v, 5000)}', help=f'{n} is {words or "a finite number"}{hint}')

    def spoil(self, n, given):
        yield OptionTypeError, {n: 'much'}
        beyond = dict(above=0., least=-1., below=0., most=1.)
        for w, e in self.ends(): yield self.kind, {n: e + beyond[w]}


class one_of(Check):
    "One of some words."
    # what: to call it by; the parameter's name if not given. hint: what else to tell
    facts = 'choices', 'what', 'hint'
    what = hint = None
    def __init__(self, names, choices, what=None, hint=None):
        super().__init__(names, tuple(choices.split()) if isinstance(choices, str) else tuple(choices), what, hint)
    def test(self, n): return f'type({n}) is str and {n} in {self.choices}'
    def say(self, n, given):
        v = given[n]
        if not isinstance(v, str) or v not in self.choices:
            help = did_you_mean(v if isinstance(v, str) else '', self.choices,
                                'it is one of') + f'; {self.hint}' * bool(self.hint)
            raise fault(OptionError, f'there is no {self.what or n} {shown(v)}', help=help)
    def spoil(self, n, given): yield OptionError, {n: str(given[n])[:-1] + 'x'}


class flag(Check):
    "True or False."
    def test(self, n): return f'type({n}) is bool'
    def say(self, n, given):
        if not isinstance(given[n], (bool, np.bool_)):
            raise fault(OptionError, f'{n} is {shown(given[n])}', help=f'{n}=True or {n}=False')
    def spoil(self, n, given): yield OptionError, {n: 'yes'}


def shown(v):
    "A value in a message: itself if short, else its type."
    text = brief(v) if isinstance(v, (int, float, str, tuple, type(None), np.generic)) else type(v).__name__
    return f'a {text}' if text == type(v).__name__ else text
