"""What can go wrong, and how it is said.

Every error derives from `FucinaError` and from the built-in that users already catch. A message has three parts:
the fault in one line, each operand with its tags and sizes (never its contents), and a `help:` line that can be run.
"""
import linecache, re, sys, traceback
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from itertools import zip_longest
from typing import TYPE_CHECKING
from .colors import in_terminal

if TYPE_CHECKING:
    from typing import Any, Callable, TypeVar
    _F = TypeVar('_F', bound=Callable[..., Any])

# fault, closest and did_you_mean are for the inside
__all__ = ['FucinaError', 'TagError', 'NoFirstAxis', 'ShapeError', 'ShapeMismatch',
           'InvalidShape', 'InvalidDataLength', 'UnsupportedView',
           'EmptySelection', 'StateMismatch', 'DTypeError', 'OptionError', 'OptionTypeError', 'IndexOutOfBounds',
           'DivisionByZero', 'UnknownName', 'UnknownImport', 'UnknownModule', 'UnknownKey', 'GradError',
           'BackwardAlreadyRun',
           'MissingOutputGradient', 'MissingBackwardGradient', 'NoGradientGraph',
           'GradientShapeMismatch', 'GradientMismatch',
           'UnsupportedGradient', 'GradientCastUnsupported', 'GradientPackedMatmulUnsupported',
           'GradientQuantizedMatmulUnsupported', 'GradientPreparedConv2dUnsupported',
           'TernaryContractDimNotBlockAligned', 'NonFiniteValue', 'ForkError', 'KernelError',
           'OutOfMemory', 'FileError', 'CheckpointError']


# A head that begins with one of these goes on from the operation's name; any other follows a colon.
JOINED = frozenset('of over along with without to from at between beside by has is takes gives '
                   'passes changes needs and'.split())


class FucinaError(Exception):
    "Any error this library raises on purpose."

    def __init__(self,
                 head='',      # the fault in one line, without the name of the operation
                 help=None,    # a fix that runs; `{op}` in it stands for the operation's name
                 operands=(),  # name -> the words that describe it, see `cells`
                 op=None,      # the outermost operation the fault passed on its way out
                 where='',     # the layer it happened in: 'model.blocks.3.attention'
                ):
        self.args = head, help, dict(operands), op, where      # what pickle hands back to __init__
        self.head, self.help, self.operands, self.op, self.where = self.args

    def told(self,
             op,         # name of an operation or function that the fault passes on its way out
             operands,   # its tensors by the name of their parameter
            ):
        "The outermost operation names itself and lists its own operands. Returns self."
        rows = {name: cells(value) for name, value in operands.items()}
        if self.op is None:
            if 'x' in self.operands and self.operands['x'] == rows.get('self'): del rows['self']    # one tensor
            rows |= self.operands
        self.__init__(self.head, self.help, rows, op, self.where)
        return self

    def within(self, path):
        "A layer says where it happened; the outer one's path comes first. Returns self."
        self.__init__(self.head, self.help, self.operands, self.op, f'{path}.{self.where}'.strip('.'))
        return self

    @property
    def first(self):
        "The first line: operation, axis, fault."
        if not self.op or self.head.startswith(self.op): return self.head
        return f'{self.op}{"" if self.head.split(" ", 1)[0] in JOINED else ":"} {self.head}'

    def __str__(self):
        place = [f'    in {self.where}'] if self.where else []
        help = [f'  help: {self.help.replace("{op}", self.op or "op")}'] if self.help else []
        return '\n'.join([self.first, *rows_of(self.operands), *place, *help])

    def _render_traceback_(self):
        """What a notebook prints: the reader's own lines on the way to the fault, then the
        message with its axes in their colours."""
        lines = []
        for frame, at in traceback.walk_tb(self.__traceback__):
            if frame.f_globals.get('__name__', '').split('.')[0] in ('fucinalib', 'IPython'): continue
            name = frame.f_code.co_filename
            lines.append(f'{_place(name)}, line {at}: \x1b[2m{linecache.getline(name, at).strip()}\x1b[0m')
        return [*lines[-4:], '', f'\x1b[1;31m{type(self).__name__}\x1b[0m: {_colored(str(self), self.operands)}']


def _place(filename):
    "A file, or the cell of the notebook that Python takes for one."
    shell = getattr(sys.modules.get('IPython'), 'get_ipython', lambda: None)()
    named = getattr(getattr(shell, 'compile', None), 'format_code_name', lambda _: None)(filename)
    return ' '.join(named) if named else filename


def _colored(text, operands):
    "A message whose axis names are in their colours."
    tags = {w.split('=')[0] for words in operands.values() for w in words if '=' in w}
    known = '|'.join(sorted(map(re.escape, tags), key=len, reverse=True))
    return re.sub(rf"(?<=')(?:{known})(?=')|\b(?:{known})(?==\d)", lambda m: in_terminal(m[0]), text) if tags else text


class TagError(FucinaError, ValueError): "An axis name that is unknown, repeated, malformed or in the way."

# TypeError is what iter() and len() promise; plotting relies on it
class NoFirstAxis(TagError, TypeError): "A tensor taken for a list."

class ShapeError(FucinaError, ValueError): "Sizes that do not fit."
class ShapeMismatch(ShapeError): "Two operands give one axis different sizes."
class InvalidShape(ShapeError): "A shape that cannot exist: wrong rank, a zero size, ragged data."
class InvalidDataLength(ShapeError): "As many values as the sizes ask for were not given."
class TernaryContractDimNotBlockAligned(InvalidShape): "A ternary weight is summed over whole blocks of 256."
class UnsupportedView(ShapeError): "No strides describe this view; a copy is needed and must be asked for."
class EmptySelection(ShapeError): "A selection chose nothing; tensors of size zero do not exist."
class StateMismatch(FucinaError, ValueError, RuntimeError): "Saved tensors that do not fit the model."

class DTypeError(FucinaError, TypeError): "A number type that does not fit."
class NonFiniteValue(FucinaError, ValueError): "NaN or infinity where only numbers can be stored."
class OptionError(FucinaError, ValueError, TypeError): "An option, or the value of one, that does not exist."
class OptionTypeError(DTypeError, OptionError): "An option of a type that it does not take: a word for a number."
class IndexOutOfBounds(FucinaError, IndexError): "An index beyond its axis."
class DivisionByZero(FucinaError, ZeroDivisionError): "An integer division by zero."

class UnknownName(FucinaError, AttributeError): "A method or function that does not exist."
class UnknownImport(FucinaError, ImportError): "The import of a name that does not exist."
class UnknownModule(UnknownImport, ModuleNotFoundError): "The import of a module that does not exist."
class UnknownKey(FucinaError, KeyError): "A name that a file does not have."

class GradError(FucinaError, RuntimeError): "Something about gradients."
class BackwardAlreadyRun(GradError): "A graph gives its gradients once."
class MissingOutputGradient(GradError): "backward() of several values needs to be told their weights."
class MissingBackwardGradient(GradError): "A gradient rule returned nothing for an operand that needs a gradient."
class NoGradientGraph(GradError): "backward() of a constant."
class GradientShapeMismatch(GradError):
    "A gradient rule returned a gradient of another shape or number type than its operand."
class GradientMismatch(GradError): "A gradient rule disagrees with finite differences."
class UnsupportedGradient(GradError): "This operation has no gradient and would silently stop it."
class GradientCastUnsupported(UnsupportedGradient): "No gradient passes through this change of number type."
class GradientPackedMatmulUnsupported(UnsupportedGradient): "No gradient passes through a product with a packed weight."
class GradientQuantizedMatmulUnsupported(UnsupportedGradient):
    "No gradient passes through a product with a packed quantised weight."
class GradientPreparedConv2dUnsupported(UnsupportedGradient):
    "No gradient passes through a convolution with prepared weights."

class ForkError(FucinaError, RuntimeError): "A forked child wants a compiled kernel whose threads stayed in the parent."
class OutOfMemory(FucinaError, MemoryError): "A result, or a step on the way to it, that no memory holds."
class FileError(InvalidShape, OSError): "A file that cannot be read or written, or is of another form."
class CheckpointError(FucinaError, ValueError): "A checkpoint that is damaged, of another program or of another model."
class KernelError(FucinaError, RuntimeError): "A compiled kernel failed half way through arrays that it changes."


def fault(kind,        # the error class
          head,        # one line without the operation's name, which the operation adds: "over 'feat': sizes differ"
          help=None,   # a fix that runs
          **operands,  # name -> tensor, array or value, where the operation's own operands do not say it all
         ):
    "The error `kind` with the library's three-part message; the caller raises it."
    return kind(head, help, {name: cells(value) for name, value in operands.items()})


def named(fn: '_F') -> '_F':
    """Complete the faults of a function that is no operation, as operations do for themselves; a
    class made wrong says its own name."""
    name = fn.__name__ if not fn.__name__.endswith('init__') else fn.__qualname__.split('.')[-2]
    @wraps(fn)
    def call(*args, **kw):
        try: return fn(*args, **kw)
        except FucinaError as e:
            e.told(name, tensors_in(signature(fn), args, kw))
            raise
        except TypeError:
            if (wrong := _ill_called(name, fn, args, kw)) is None: raise
        raise wrong
    return call


def _ill_called(name, fn, args, kw):
    "The error for arguments that a function does not take, with how it is called; None if it takes them."
    sig = signature(fn)
    try: sig.bind(*args, **kw)
    except TypeError as e:
        made = name != fn.__name__      # a class, whose first parameter is what is made
        usual = lambda p: p.default if p.default is p.empty else getattr(p.default, '__name__', brief(p.default))
        ways = [f'{p}' if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) else p.name if p.default is p.empty else
                f'{p.name}={usual(p)!s}' for p in list(sig.parameters.values())[made:]]
        return fault(OptionError, str(e), help=f'{name}({", ".join(ways)})').told(name, {})


def titled(fn, name, doc):
    "`fn` under the name and with the docstring that the maker of a family gives it."
    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = doc
    return fn


def tensors_in(sig, args, kw):
    "The tensors among the arguments of a call, by the name of their parameter."
    places = [name for name, p in sig.parameters.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    given = dict(zip(places, args)) | kw
    return {name: value for name, value in given.items() if is_tagged(value)}


def is_tagged(value):
    """Whether `value` is a tensor of some kind; a class of them only promises tags, and a module
    may have a function called shape."""
    return isinstance(getattr(value, 'tags', None), tuple) and isinstance(getattr(value, 'shape', None), tuple)


def rows_of(operands):
    "One line per operand, the axes of tensors in columns: `x : batch=2  feat=3`."
    wide = max(map(len, operands), default=0)
    axes = [words for words in operands.values() if all(AXIS.fullmatch(w) for w in words)]
    widths = [max(map(len, column)) for column in zip_longest(*axes, fillvalue='')]
    line = lambda words: '  '.join(
        f'{w:<{n}}' for w, n in zip(words, widths)).rstrip() if words in axes else '  '.join(words)
    return [f'    {name:<{wide}} : {line(words)}' for name, words in operands.items()]

AXIS = re.compile(r'\w+=\d+')


def cells(value):
    "The words that describe an operand: `tag=size` each, or its type and value."
    if is_tagged(value): return [f'{t}={n}' for t, n in zip(value.tags, value.shape)] or ['a single number']
    shape = getattr(value, 'shape', None)
    if isinstance(shape, tuple):
        return [f'{type(value).__name__} of shape {tuple(shape)}, {getattr(value, "dtype", "")}']
    return [brief(value, 60)]


def some(n, word):
    "How many there are of something, in words."
    return f'{n} {word}' if n == 1 else f'{n} {word}s'


def brief(value, most=40):
    "A value in a message: itself if that is short, else its type."
    try: text = repr(value)
    except ValueError: text = ''      # a whole number of more digits than Python writes out
    return text if text and len(text) <= most else type(value).__name__


def closest(name, options):
    "The option that looks most like `name`, or None."
    found = get_close_matches(str(name), [str(o) for o in options], n=1, cutoff=.6)
    return found[0] if found else None


def did_you_mean(name, options, what='there is'):
    "A help text: the nearest spelling first, then all there is."
    options = list(options)
    near = closest(name, options)
    listing = ' '.join(str(o) for o in options) or 'none'
    return (f'did you mean {near!r}? ' if near else '') + f'{what}: {listing}'
