"""What `help()` says of parameters in the packages that are imported when first asked for."""
import sys
from importlib import import_module

_told = set()      # those that have it


def add_help(package, parts):
    "Give the docstrings of `_help_parts` to what is imported of the packages `parts`."
    texts = import_module(f'{package}._help_parts').TEXTS
    new = {p for p in parts if f'{package}.{p}' in sys.modules} - _told
    _told.update(new)
    for path, text in texts.items():
        if path.split('.')[0] in new: _give(sys.modules[package], path.split('.'), text)


def _give(owner, path, text):
    for name in path:
        found = vars(owner).get(name)
        if found is None: return
        owner = found
    owner.__doc__ = text
