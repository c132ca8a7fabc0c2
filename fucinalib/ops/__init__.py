"""The operation library, one module per family. Importing this package imports them all, and that fills the registry."""
from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__): import_module(f'{__name__}.{_module.name}')
