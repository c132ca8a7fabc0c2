"""Small programs that use the library: `python -m fucinalib.examples` lists them.

Each is a module with a docstring, whose first line says what it shows, and with `main(args)`, which takes its settings
as words of a command line, prints what it finds and may return it."""
import ast
from importlib import import_module
from pathlib import Path
from ..errors import UnknownName, did_you_mean, fault
from ._classify import answers, right, train

__all__ = ['listed', 'run', 'train', 'answers', 'right']


def listed():
    "Name -> what it shows, for every example, without importing any."
    found = {p.stem: ast.get_docstring(ast.parse(p.read_text(encoding='utf-8')))
             for p in sorted(Path(__file__).parent.glob('[!_]*.py'))}
    return {name: doc.splitlines()[0] for name, doc in found.items()}


def run(name,    # of an example
        *args,   # its settings: '--seed', 1
       ):
    "Run an example with these settings; what it found."
    if name not in listed():
        raise fault(UnknownName, f'there is no example {name!r}', help=did_you_mean(name, listed()))
    return import_module(f'{__name__}.{name}').main([str(a) for a in args])
