"""What an import of something that is not there is told: the same as who asks for an attribute.

`from fucinalib.nn import CrossEntropyLoss` asks a package for an attribute, and Python makes a bare ImportError of the
AttributeError that it gets. `import fucinalib.nn.functional` asks the finders of modules, and none knows it. Modules
get a `__getattr__` when they are loaded, where they have none; nothing else here runs before something is missing."""
import sys
from importlib.machinery import PathFinder, SourceFileLoader
from opcode import opmap
from .errors import UnknownImport, UnknownModule, UnknownName

__all__ = ['for_import', 'no_such_name', 'Absent', 'Telling']
ROOT = __name__.partition('.')[0]


def for_import(e, module=None):
    "`e`, what a module's `__getattr__` is about to raise; as an ImportError if it was an import statement that asked."
    frame = sys._getframe(1)
    while frame and frame.f_code.co_name != '__getattr__': frame = frame.f_back
    if not (frame and frame.f_back and _imports(frame.f_back)): return e
    module, name = module or frame.f_globals['__name__'], next(iter(frame.f_locals.values()), '')
    if f'{module}.{name}' in sys.modules: return e      # half way through its own import: Python finds it there
    return _told(UnknownImport, e, module)


def _imports(frame):
    "Whether a frame is at a step of `from module import name`."
    code, at = frame.f_code.co_code, frame.f_lasti
    return 0 <= at < len(code) and code[at] == opmap['IMPORT_FROM']


def _told(kind, e, module):
    told = kind(e.head, e.help, e.operands)
    told.name = module
    return told


class Absent:
    "The last of the finders: it is asked for what no other has found, and finds nothing either, but says more."
    @staticmethod
    def find_spec(name, path=None, target=None):
        parent, _, last = name.rpartition('.')
        if not name.startswith(ROOT + '.') or not _loads(sys._getframe(1)): return
        try: getattr(sys.modules[parent], last)
        except UnknownName as e: told = _told(UnknownModule, e, name)
        except (AttributeError, KeyError): return
        else: told = _told(UnknownModule, UnknownName(f'{name} is no module', f'from {parent} import {last}'), name)
        raise told


def _loads(frame):
    "Whether a finder is asked for a module that is to be imported, and not only whether it is there."
    for _ in range(3):
        if frame is None: return False
        if frame.f_code.co_name == '_find_and_load_unlocked': return True
        frame = frame.f_back
    return False


class Telling(SourceFileLoader):
    "Loads a module of the library, which then says of a name that it has not what there is."
    say = None      # (module, name) -> the error

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if not name.startswith(ROOT + '.'): return
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader: spec.loader = cls(name, spec.loader.path)
        return spec

    def exec_module(self, module):
        super().exec_module(module)
        _tell(module)


def no_such_name(name, module):
    "The error for a name that a module has not."
    if name.startswith('_') or Telling.say is None:
        return AttributeError(f'module {module!r} has no attribute {name!r}')
    return for_import(Telling.say(sys.modules[module], name), module)


def _tell(module):
    "Give a module that has none a `__getattr__`."
    def __getattr__(name): raise no_such_name(name, module.__name__)
    vars(module).setdefault('__getattr__', __getattr__)


def install(say=None):
    "Put the finders before and behind all others, once; `say(module, name)` makes the error for what is missing."
    if say is not None: Telling.say = staticmethod(say)
    others = [f for f in sys.meta_path if getattr(f, '__module__', '') != __name__]
    sys.meta_path[:] = [Telling, *others, Absent]
    for name, module in [*sys.modules.items()]:
        if name.startswith(ROOT + '.') and hasattr(module, '__file__'): _tell(module)
