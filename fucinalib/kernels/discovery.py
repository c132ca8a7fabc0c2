"""Where compiled kernels come from: entry points of the group `fucinalib.kernels`, looked up at first need.

A backend is anything with a `kernels()` that returns a dict name -> function; it may know any subset of the names.
A function that does not take some number type raises NotImplementedError before it writes, and is not asked again for that type.
The choice holds for the whole process.
"""
import os, warnings
from importlib import import_module
from ..errors import OptionError, did_you_mean, fault
from . import threads

GROUP, SHIPPED = 'fucinalib.kernels', 'pythran'
_name, _active = None, None     # the backend in use and its functions; None until somebody needs them
_loaded = {}                    # backend -> its functions


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
    return _loaded[name]


def try_load(name):
    "The functions of one backend, or an empty dict where it is not built or broken."
    try: return load(name)
    except ModuleNotFoundError as e:
        if e.name == 'kernels_pythran': return {}
        problem = e
    except Exception as e: problem = e
    warnings.warn(f'backend {name!r} could not be loaded and is left out: {type(problem).__name__}: {problem}', RuntimeWarning, stacklevel=3)
    return _loaded.setdefault(name, {})


def installed():
    "Names that `use_backend` takes."
    return ['numpy'] + [name for name in offered() if name != 'numpy' and try_load(name)]


def choose(name, who='use_backend'):
    "Make `name` the backend; None means the compiled one that ships with the library, where it was built."
    global _name, _active
    if name is None: name = SHIPPED if try_load(SHIPPED) else 'numpy'
    if name != 'numpy' and not _loaded.get(name) and (name not in offered() or not load_or_none(name)):
        raise fault(OptionError, f'{who}: unknown backend {name!r}', help=did_you_mean(name, installed(), 'installed'))
    _name, _active = name, {} if name == 'numpy' else load(name)
    return _active


def load_or_none(name):
    return try_load(name) if name == SHIPPED else load(name)


def active():
    "The functions in use, name -> function; the first call decides, by FUCINALIB_BACKEND if it is set."
    return _active if _active is not None else choose(os.environ.get('FUCINALIB_BACKEND') or None, 'FUCINALIB_BACKEND')


def current_backend():
    "Name of the backend in use."
    active()
    return _name


class use_backend:
    "Compute with this backend from here on or, as a context manager, until the end of the block; for the whole process."
    def __init__(self, name):
        self.before = _name
        choose(name)

    def __enter__(self): return self
    def __exit__(self, *exc): restore(self.before)
    def __repr__(self): return f'use_backend({_name!r})'


def restore(name):
    global _name, _active
    if name is None: _name = _active = None
    else: choose(name)
