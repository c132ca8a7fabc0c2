"""Where compiled kernels come from: entry points of the group `fucinalib.kernels`, looked up at first need.

A backend is anything with a `kernels()` that returns a dict name -> function; it may know any
subset of the names. A function that does not take some number type raises NotImplementedError
before it writes, and is not asked again for that type. The choice holds for the whole process. It
is the last of `_choices`, a list of statements and of open blocks in the order in which they
came, whatever the thread: so blocks may end in any order, and the last to end leaves what was
there before the first."""
import os, threading, warnings, weakref
from collections import namedtuple
from importlib import import_module
from ..errors import OptionError, brief, did_you_mean, fault
from ..modes import Block
from . import threads

GROUP, SHIPPED = 'fucinalib.kernels', 'pythran'
_loaded = {}                    # backend -> its functions
broken = {}                     # backend -> why it could not be loaded
_name, _active = None, None     # the backend in use and its functions; None until somebody needs them
_first = None                   # the backend where nobody has chosen one
_choices = []
_lock = threading.RLock()       # over all of these

# block: `by` is the object of an open block; else a weak reference to that of a statement
Choice = namedtuple('Choice', 'name by block')


def offered():
    "Backend name -> function that loads it. Nothing is loaded yet."
    from importlib.metadata import entry_points
    found = {SHIPPED: lambda: import_module('kernels_pythran')}
    found.update((p.name, p.load) for p in entry_points(group=GROUP))
    return found


def load(name):
    "The functions of one backend."
    if name not in _loaded:
        _loaded[name] = dict(offered()[name]().kernels())
        threads.forget_runtimes()
        threads.warn_of_spinning()
        if name == SHIPPED: follow_choices(_loaded[name])
    return _loaded[name]


def follow_choices(kernels):
    "What was measured on this machine decides from now on which calls are worth a kernel."
    from .choices import follow     # knows the table of kernels, which knows this file
    if kernels: follow(kernels)


def try_load(name):
    "The functions of one backend, or an empty dict where it is not built or broken."
    try: return load(name)
    except ModuleNotFoundError as e:
        if e.name == 'kernels_pythran': return {}
        problem = e
    except Exception as e: problem = e
    said = f'{type(problem).__name__}: {problem}'
    if not _loaded.setdefault(name, {}): broken[name] = said
    warnings.warn(f'backend {name!r} could not be loaded and is left out: {said}', RuntimeWarning, stacklevel=3)
    return _loaded[name]


def installed():
    "Names that `use_backend` takes."
    return ['numpy'] + [name for name in offered() if name != 'numpy' and try_load(name)]


def known(name, who='use_backend'):
    """The name of an installed backend, loaded; None means the compiled one that ships with the
    library, where it was built."""
    if name is None: return SHIPPED if try_load(SHIPPED) else 'numpy'
    if not isinstance(name, str):
        raise fault(OptionError, f'{who}: {brief(name)} is not the name of a backend', help=f"{who}('numpy')")
    if name != 'numpy' and not _loaded.get(name) and (name not in offered() or not load_or_none(name)):
        raise fault(OptionError, f'{who}: unknown backend {name!r}', help=did_you_mean(name, installed(), 'installed'))
    return name


def load_or_none(name):
    return try_load(name) if name == SHIPPED else load(name)


def _settle():
    "Put the last choice to work."
    global _name, _active
    _name = _choices[-1].name if _choices else _first
    _active = None if _name is None else {} if _name == 'numpy' else load(_name)


def active():
    "The functions in use, name -> function; the first call decides, by FUCINALIB_BACKEND if it is set."
    return _active if _active is not None else decide()


def decide():
    global _first
    name = known(os.environ.get('FUCINALIB_BACKEND') or None, 'FUCINALIB_BACKEND')
    with _lock:
        _first = name
        _settle()
        return _active


def current_backend():
    "Name of the backend in use."
    active()
    with _lock: return _name


class use_backend(Block):
    "Compute with this backend from here on or, as a block or a decorator, until its end; for the whole process."
    def __init__(self, name):
        self.name = known(name)
        with _lock:
            forget_statements()
            _choices.append(Choice(self.name, weakref.ref(self), False))
            _settle()

    def __enter__(self):
        with _lock:
            self.withdraw()
            _choices.append(Choice(self.name, self, True))
            _settle()
        return self

    def __exit__(self, *exc):
        "Take the block out, and the statements inside it: those that follow it."
        with _lock:
            at = max(i for i, c in enumerate(_choices) if c.by is self)
            end = next((i for i, c in enumerate(_choices) if i > at and c.block), len(_choices))
            del _choices[at:end]
            _settle()

    def __call__(self, fn):
        with _lock:
            self.withdraw()
            _settle()
        return super().__call__(fn)

    def withdraw(self):
        "What was a statement becomes a block or a decorator."
        _choices[:] = [c for c in _choices if c.block or c.by() is not self]

    def __repr__(self): return f'use_backend({self.name!r})'


class SameBackend:
    """Around a block that runs several times: the first run is the caller's own, each later one has
    the backend it began with, and leaves none behind."""
    def __init__(self): self.first, self.opened = None, []
    def __enter__(self):
        if self.first is None: self.first, block = current_backend(), None
        else: block = use_backend(self.first).__enter__()
        self.opened.append(block)
    def __exit__(self, *exc):
        if (block := self.opened.pop()): block.__exit__()


def forget_statements():
    """Keep the list short: nothing brings back a statement that another one followed, once that
    one cannot become a block."""
    last = lambda i: len(_choices) >= i and not _choices[-i].block
    while last(1) and last(2) and _choices[-1].by() is None: del _choices[-2]


def _after_fork():
    global _lock
    _lock = threading.RLock()       # another thread of the parent may have held it

if hasattr(os, 'register_at_fork'): os.register_at_fork(after_in_child=_after_fork)
