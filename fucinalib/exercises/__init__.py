"""Exercises that answer back: define, check, hint, solution, and `use` your own op in the library.

A chapter defines an exercise with its reference. The learner's function runs on the same inputs,
and the first difference is shown: which input, which entry, yours beside the right one, a
picture. Progress lasts as long as the process; nothing is stored."""
import ast, copy, dis, functools, inspect, json, linecache, re, sys, textwrap, traceback
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
import numpy as np
from ..autograd import registry
from ..errors import FucinaError, OptionError, did_you_mean, fault
from ..hooks import Watcher
from ..tensor import Tensor
from .compare import Fault, put_in_words, differ, is_tensor
from .verdict import UNANSWERED, Verdict

__all__ = ['exercise', 'check', 'hint', 'solution', 'use', 'Verdict', 'book']

book = {}    # id -> Exercise, in the order of definition


@dataclass
class Exercise:
    "One question, and what has happened to it so far."
    id: str
    title: str
    reference: object
    inputs: object
    hints: tuple
    tol: float
    grad: bool
    picture: object
    op: str
    method: str
    adapt: object
    raises: type
    ask: str
    run: object
    verdicts: list = field(default_factory=list)    # every Verdict given, oldest first
    passed: bool = False     # by the learner; running the solution cell does not count
    shown: int = 0           # hints given
    answer: object = None    # the latest right one
    used: bool = False       # an answer computed something in the library's place

    chapter = property(lambda self: self.id.rpartition('.')[0])

    def cases(self):
        "The argument tuples to try."
        given = self.inputs() if callable(self.inputs) else self.inputs
        if not given: raise fault(OptionError, f'exercise {self.id} has no inputs, so every answer would be right',
                                  help='leave inputs out to call the answer once, without arguments')
        return [c if isinstance(c, tuple) else (c,) for c in given]


def exercise(id,              # 'chapter.number', e.g. '10.1'
             title,           # a few words
             reference=None,  # the right function, or the right value if the answer is one
             inputs=((),),    # argument tuples, or a function that makes them; a lone argument needs no tuple
             hints=(),        # from a nudge to nearly the answer
             tol=None,        # relative and absolute tolerance; None: by number type, integers exactly
             grad=False,      # compare the gradients of the float tensors among the arguments as well
             picture=None,    # function of (yours, right) that gives HTML instead of the heat grids; False: none
             op=None,         # name of the library's op that `use` replaces; the answer may not call it
             method=None,     # without an op: name under which `use` makes the answer a method of tensors,
                              # or of what its first argument is
             adapt=None,      # function of the answer that gives what `use` puts there; a call for which
                              # that returns NotImplemented is left to the library, and inside it
                              # the op is the library's own
             raises=None,     # error class the answer must raise: where the reference does, else everywhere
             ask=None,        # what to write, one sentence; None: the stub's docstring, else the title
             run=None,        # how an answer meets its arguments, `run(answer, *args)`; None: call it
            ):
    "Define an exercise. Running the cell again replaces it and keeps the progress."
    if op is not None and op not in registry:
        raise fault(OptionError, f'exercise {id}: the library has no op {op!r}', help=did_you_mean(op, registry))
    if method is not None and hasattr(Tensor, method) and str(id) not in book:
        raise fault(OptionError, f'exercise {id}: Tensor has {method!r} already',
                    help=f"op={method!r} lets the answer compute it")
    hints = (hints,) if isinstance(hints, str) else tuple(hints)
    new = Exercise(str(id), title, reference, inputs, hints, tol, grad, picture, op, method, adapt, raises, ask,
                   run or (lambda f, *args: f(*args)))
    if (old := book.get(new.id)):
        new.verdicts, new.passed, new.shown, new.answer, new.used = (old.verdicts, old.passed,
                                                                     old.shown, old.answer, old.used)
    book[new.id] = new


class _Missing:
    "Stands for an argument that was left out."
    def __repr__(self): return '...'

MISSING = _Missing()

def find_exercise(id, what):
    "The exercise called `id`. OptionError if there is none."
    if id is MISSING:
        known = next(iter(book), '1.1')
        raise fault(OptionError, f'{what}: of which exercise?',
                    help=f'{what}({known!r}{", your_answer" * (what == "check")})')
    if (found := book.get(str(id))): return found
    raise fault(OptionError, f'{what}: there is no exercise {str(id)!r}',
                help=did_you_mean(id, book, 'defined so far') if book
                else 'run the cells above first; they define the exercises')


# ---- running an answer ----
class Circular(FucinaError): "The answer called the op it is to replace."

def blank(answer):
    """Is this still the stub: `...`, nothing, or a function that does nothing or ends in `...`
    without having returned anything?"""
    if answer is None or answer is ...: return True
    code = getattr(inspect.unwrap(answer) if callable(answer) else answer, '__code__', None)
    idle = {'RESUME', 'COPY_FREE_VARS', 'NOP', 'LOAD_CONST', 'RETURN_CONST', 'RETURN_VALUE'}
    return code is not None and (unfinished(inspect.unwrap(answer)) or all(
        i.opname in idle and ('CONST' not in i.opname or i.argval in (None, ...)) for i in dis.get_instructions(code)))

def unfinished(fn):
    """Whether a function's last line is `...` and none before it returns: the compiler drops such
    a line, so the source is asked."""
    try: tree = ast.parse(textwrap.dedent(inspect.getsource(fn))).body[0]
    except (OSError, TypeError, SyntaxError): return False
    if not isinstance(tree, ast.FunctionDef): return False
    last = tree.body[-1]
    inner = {id(n) for f in ast.walk(tree) if f is not tree and isinstance(f, INNER) for n in ast.walk(f)}
    return (isinstance(last, ast.Expr) and getattr(last.value, 'value', None) is ...
            and not any(isinstance(n, (ast.Return, ast.Yield)) and id(n) not in inner for n in ast.walk(tree)))

INNER = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef

class Instead(Watcher):
    "Inside, `fn` computes the operation `op`, or the library's own rule if None; what watched before has no say in it."
    def __init__(self, op, fn): self.op, self.fn = op, fn
    def around(self, o, run, args, kw):
        if o is not self.op: return run(*args, **kw)
        return self.fn(*args, **kw) if self.fn else o.bare(*args, **kw)

def computed_by(name, fn=None):
    "A block in which `fn` computes the op called `name`, the library's own rule if None."
    return Instead(registry[name], fn) if name else nullcontext()

def barred(*args, **kw): raise Circular

def fresh(v, grad=False):
    """A copy that shares no memory; with `grad`, a float tensor becomes a leaf that collects a
    gradient. A result stays what it is."""
    if type(v) in (list, tuple): return type(v)(fresh(e) for e in v)
    if type(v) is dict: return {k: fresh(e) for k, e in v.items()}
    if not is_tensor(v): return copy.deepcopy(v)
    # its graph cannot be copied, and may be what is asked about
    if v.node is not None and v.node.op is not None: return v
    t = Tensor(v.data.copy(), v.tags, requires_grad=v.node is not None or grad and v.dtype.is_float)
    if v.node is not None and v.grad is not None: t.grad = v.grad
    return t

def names_of(fn, args):
    "The parameter names of `fn`, one per argument."
    try: names = list(inspect.signature(fn).parameters)
    except (TypeError, ValueError): names = []
    return [names[i] if i < len(names) else f'argument {i + 1}' for i in range(len(args))]

def trial(ex, answer, args, names):
    "The first Fault of the answer on one tuple of arguments, or None."
    if blank(answer): return unanswered(ex, answer)
    if not callable(ex.reference) and not ex.raises: return secret(differ(answer, ex.reference, ex.tol))
    if not callable(answer):
        return Fault('a function is asked for', put_in_words(answer), f'def mine({", ".join(names)}): ...')
    chosen = any(is_tensor(a) and a.node is not None for a in args)    # the chapter says itself what needs a gradient
    learner, teacher, pristine = ([fresh(a, ex.grad and not chosen) for a in args] for _ in range(3))
    must, right = ex.raises, None
    if ex.reference is not None:
        try:
            with computed_by(ex.op): right, must = ex.run(ex.reference, *teacher), None
        except ex.raises or () as error: must = type(error)
    try:
        with computed_by(ex.op, barred): yours = ex.run(answer, *learner)
    except NotImplementedError: return unanswered(ex, answer)
    except Circular: return Fault(f'it calls {ex.op}, the operation to write', help='build it from other operations')
    except Exception as error: return None if must and isinstance(error, must) else raised(error, answer, names, must)
    if yours is ...: return unanswered(ex, answer)
    if must: return Fault(f'{must.__name__} should be raised here', put_in_words(yours))
    if not args: return secret(differ(yours, right, ex.tol))
    return (differ(yours, right, ex.tol, args=list(zip(names, args))) or after(ex, names, learner, teacher, pristine)
            or (_compare_slopes(ex, answer, yours, right, names, learner, teacher) if ex.grad else None))

def secret(found):
    "A Fault that does not tell the right value, of a question that has only one."
    return found and Fault(found.head, found.yours)

def unanswered(ex, answer):
    doc = inspect.isfunction(answer) and inspect.getdoc(answer)
    return Fault(UNANSWERED, right=ex.ask or doc or ex.title)

def after(ex, names, learner, teacher, pristine):
    "The first Fault among the inputs after the call; the reference says whether one may change."
    for name, mine, theirs, before in zip(names, learner, teacher, pristine):
        if (found := differ(mine, theirs, ex.tol)):
            meant = differ(before, theirs, 0)
            what = f'{name} after the call' if meant else f'but it changed its input {name}'
            found.head, found.help = f'value right, {what}: {found.head}', found.help if meant else 'work on a copy'
            return found
        if is_tensor(theirs) and theirs.grad is not None:
            if (found := differ(mine.grad, theirs.grad, ex.tol, f'{name}.grad after the call')): return found

def _compare_slopes(ex, answer, yours, right, names, learner, teacher):
    "The first Fault among the gradients; both results are pulled back with the same uneven weights."
    if not is_tensor(right) or right.node is None:
        raise fault(OptionError,
                    f'exercise {ex.id}: grad=True needs a reference that returns one tensor in a graph',
                    result=right,
                    help='leave grad=True out, or return what the operations of fucinalib gave')
    stay = 'stay with tensor operations: .numpy(), .item() and detach leave the graph'
    if yours.node is None: return Fault('value right, but no gradient passes through it', help=stay)
    weights = np.linspace(.5, 1.5, right.data.size).reshape(right.shape).astype(right.data.dtype)
    right.backward(weights)
    try:
        with computed_by(ex.op, barred): yours.backward(weights)
    except Exception as error: return raised(error, answer, names, what='value right, but its backward raised')
    for name, mine, theirs in zip(names, learner, teacher):
        if not is_tensor(theirs) or theirs.node is None: continue
        a, b = (t.grad if t.grad is not None else Tensor(np.zeros_like(t.data), t.tags) for t in (mine, theirs))
        if mine.grad is None and b.data.any():
            return Fault(f'value right, but no gradient reaches {name}', 'None', put_in_words(b), stay)
        if (found := differ(a, b, ex.tol, args=list(zip(names, teacher)))):
            found.head = f'value right, gradient of {name} {found.head}'
            return found

def raised(error, answer, names, must=None, what='your code raised'):
    "A Fault that tells an exception with the learner's own line, not ours."
    own = getattr(getattr(inspect.unwrap(answer), '__code__', None), 'co_filename', None)
    in_cell = lambda name: name == own or 'ipykernel_' in name or name.startswith('<ipython')
    mine = [f for f in traceback.extract_tb(error.__traceback__) if in_cell(f.filename)]
    instead = f' instead of {must.__name__}' if must else ''
    asked = f'the exercise calls {getattr(answer, "__name__", "mine")}({", ".join(names)})'
    return Fault(f'{what} {type(error).__name__}{instead}', says=str(error),
                 line=f'{mine[-1].line}   (line {mine[-1].lineno})' if mine else '',
                 help='' if mine or isinstance(error, FucinaError) else asked)     # ours says itself what to do


# ---- what a learner calls ----
def check(id=MISSING,      # the exercise, e.g. '10.1'
          answer=MISSING,  # your function, or your value
         )->Verdict:
    """Run `answer` beside the reference on every input. Never raises for a wrong answer;
    OptionError for an unknown exercise."""
    ex = find_exercise(id, 'check')
    if answer is MISSING:
        raise fault(OptionError, f'check {ex.id}: there is no answer to look at',
                    help=f'check({ex.id!r}, your_answer): the function you wrote, by its name, or your value')
    cases = ex.cases()
    for n, args in enumerate(cases, 1):
        names = names_of(ex.reference if callable(ex.reference) else answer, args)
        if (found := trial(ex, answer, args, names)):
            verdict = Verdict(ex, found, n, len(cases), names, args)
            break
    else:
        by_solution = linecache.getline(sys._getframe(1).f_code.co_filename, 1).startswith('#| solution')
        ex.answer, ex.passed = answer, ex.passed or not by_solution
        verdict = Verdict(ex, total=len(cases), more='' if by_solution else onward(ex))
    ex.verdicts.append(verdict)
    return verdict

def onward(ex):
    "The next open exercise of this chapter, in words."
    chapter = [e for e in book.values() if e.chapter == ex.chapter]
    here = chapter.index(ex)
    for e in chapter[here:] + chapter[:here]:
        if not e.passed: return f'Next: {e.id} {e.title}'
    return f'All {len(chapter)} of this chapter are done' if len(chapter) > 1 else ''


class Note(str):
    "Text that a notebook renders."
    __repr__ = str.__str__
    def _repr_markdown_(self): return str(self)

def hint(id=MISSING,  # the exercise
         n=None,      # which one, from 1; None: the next
        )->Note:
    "The next hint, or the n-th; after the last it says where the solution is."
    ex = find_exercise(id, 'hint')
    total = len(ex.hints)
    if n is None: n = ex.shown = min(ex.shown + 1, total + 1)
    elif n not in range(1, total + 1):
        raise fault(OptionError, f'hint {n!r} of {ex.id}: there are {total}',
                    help=f'hint({ex.id!r}) gives the next one')
    if n <= total: return Note(f'Hint {n}/{total}: {ex.hints[n - 1]}')
    return Note(f'{"That was the last hint" if total else "There is no hint"} for {ex.id}. '
                f'The solution is in the folded cell below the exercise; `solution({ex.id!r})` shows it here.')

def solution(id=MISSING)->Note:
    """The solution cell's source, from a notebook beside the library or in this folder, or from
    this session if it was run."""
    ex = find_exercise(id, 'solution')
    wanted = re.compile(rf'#\|\s*solution:\s*{re.escape(ex.id)}\s*')
    for source in sources(ex.id):
        first, _, rest = source.partition('\n')
        if wanted.fullmatch(first): return Note(f'Solution of {ex.id}: {ex.title}\n\n```python\n{rest.strip()}\n```')
    return Note(f'The solution of {ex.id} is in the folded cell below the exercise, in the '
                f'notebook of chapter {ex.chapter}. '
                'That notebook is not here.')

def sources(id):
    "Sources of cells that may be the solution `id`: of notebooks on disk, then of this session."
    here, home = Path.cwd(), Path(__file__).resolve().parents[2]
    # the source first: a copy may have been changed
    for folder in dict.fromkeys([home / 'nbs', home / 'tutorials', here, here / 'nbs']):
        for path in sorted(folder.glob('*.ipynb')):
            text = path.read_text(encoding='utf-8', errors='replace')
            if 'solution:' not in text or id not in text: continue
            try: cells = json.loads(text)['cells']
            except (ValueError, KeyError): continue
            yield from (''.join(c['source']) for c in cells if c['cell_type'] == 'code')
    yield from getattr(sys.modules.get('__main__'), 'In', [])[::-1]


# ---- your own op in the library ----
class OpPlace:
    "Where an op of the library is computed."
    def __init__(self, op): self.op, self.name = op, op.name
    def put(self, fn): "Let `fn` compute it; gives what `back` takes."; return Instead(self.op, fn).__enter__()
    def back(self, instead): instead.__exit__()
    def told(self, fn):
        if not fn: return f"{self.name} is the library's own"
        return f'{self.name} is yours ({getattr(fn, "__name__", "mine")}), everywhere in the library, for this thread'

class MethodPlace:
    "Where a class has a method of a name that the library does not give it."
    def __init__(self, cls, name): self.cls, self.name = cls, name
    def put(self, fn):
        "Make `fn` the method; gives what `back` takes."
        before = vars(self.cls).get(self.name)
        self.back(fn)
        return before
    def back(self, before):
        if before is not None: setattr(self.cls, self.name, before)
        elif self.name in vars(self.cls): delattr(self.cls, self.name)
    def told(self, fn):
        if not fn: return f'{self.cls.__name__} has no method {self.name}'
        return f'{self.name} is yours ({getattr(fn, "__name__", "mine")}), a method of every {self.cls.__name__}'

def holder(v):
    "Who gets the method: tensors, or what the first argument is if that is a thing of a chapter."
    return Tensor if type(v).__module__ in ('builtins', 'numpy') else type(v)

def place_of(ex):
    "Where `use` puts the answer of an exercise."
    if ex.op is not None: return OpPlace(registry[ex.op])
    if ex.method is not None: return MethodPlace(holder(ex.cases()[0][0]), ex.method)
    raise fault(OptionError, f'use {ex.id}: this exercise replaces no operation',
                help=did_you_mean(ex.id, [e.id for e in book.values() if e.op or e.method], 'those that do')
                     + '; fl.Tensor.name = fn adds a method of your own')

def fitted(ex, answer):
    """What `use` puts there: the answer, or what `adapt` makes of it, with the library's own for
    calls that are not its business."""
    made = ex.adapt(answer) if ex.adapt else answer
    @functools.wraps(answer)
    def call(*args, **kw):
        with computed_by(ex.op):
            result = made(*args, **kw)
            ex.used = ex.used or result is not NotImplemented
            return registry[ex.op].call(*args, **kw) if result is NotImplemented else result
    return call

class Used:
    "A learner's op in place of the library's, until `undo()` or the end of the `with` block."
    def __init__(self, place, fn): self.place, self.fn, self.before, self.entered = place, fn, [], False; self.begin()

    def begin(self): self.before.append(self.place.put(self.fn))

    def undo(self):
        self.entered = True
        if self.before: self.place.back(self.before.pop())

    def __enter__(self):
        if self.entered: self.begin()       # the first block goes on with what `use` began
        self.entered = True
        return self

    def __exit__(self, *exc): self.undo()
    def __repr__(self): return self.place.told(self.fn if self.before else None)


def _latest_right(ex):
    "The latest right answer; a line says so if a wrong one came after it. OptionError if there are only wrong ones."
    last = next((v for v in reversed(ex.verdicts) if v.answered), None)
    if last is None or last: return ex.answer
    if ex.answer is None:
        raise fault(OptionError, f'use {ex.id}: it was answered wrongly so far', help=repr(last))
    name = getattr(ex.answer, '__name__', 'your answer')
    print(f'use {ex.id} takes {name}, the latest answer that was right; what you checked after it was wrong')
    return ex.answer


def use(id=MISSING,  # the exercise
        fn=...,      # your function; `...`: your latest right answer; None: the library's own again
       )->Used:
    """Compute an op of the library with your function, for this session or inside `with`.
    OptionError unless it passes its check."""
    ex = find_exercise(id, 'use')
    place = place_of(ex)
    if fn is ...: fn = _latest_right(ex)
    elif fn is None: return Used(place, None)
    verdict = check(id, fn)
    if not verdict: raise fault(OptionError, f'use {ex.id}: the answer must pass its check first', help=repr(verdict))
    return Used(place, fitted(ex, fn))
