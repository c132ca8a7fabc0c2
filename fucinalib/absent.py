"""What an import of something that is not there is told: the same as who asks for an attribute.

`from fucinalib.nn import CrossEntropyLoss` asks a package for an attribute, and Python makes a bare ImportError of the
AttributeError that it gets. `import fucinalib.nn.functional` asks the finders of modules, and none knows it. Nothing
here runs before something is missing."""
import sys
from opcode import opmap
from .errors import UnknownImport, UnknownModule, UnknownName

__all__ = ['for_import', 'Absent']
ROOT = __name__.partition('.')[0]


def for_import(e):
    "`e`, what a module's `__getattr__` is about to raise; as an ImportError if it was an import statement that asked."
    frame = sys._getframe(1)
    while frame and frame.f_code.co_name != '__getattr__': frame = frame.f_back
    if not (frame and frame.f_back and _imports(frame.f_back)): return e
    module, name = frame.f_globals['__name__'], next(iter(frame.f_locals.values()), '')
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


def install():
    "Put the finder behind all others, once."
    sys.meta_path[:] = [f for f in sys.meta_path if getattr(f, '__module__', '') != __name__] + [Absent]
