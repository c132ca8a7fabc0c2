"""Write what editors, type checkers and `help()` read. Part of `make export`.

`fucinalib/tensor.pyi` has the class with all its methods, `fucinalib/__init__.pyi` the functions, `fucinalib/_help.py`
and `fucinalib/_help_parts.py` the docstrings with a line for each parameter, which in the source is the comment
beside it. The types come from
annotations, from the declared checks, and from the samples of an operation; what none says stands in tables here.
"""
import ast, functools, inspect, re, sys, textwrap
from pathlib import Path
from fastcore.docments import docments

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
import fucinalib as fl
from fucinalib import tensor
from fucinalib.elsewhere import no_setting
from fucinalib.errors import FucinaError

HEAD = '# Written by tools/stubs.py from the registry; run `make export`, do not edit.\n'
PLAIN = (int, float, str, bool, type(None), tuple)
FOLLOWED = set('Tensor float int str bool None object'.split())
EMPTY = inspect.Parameter.empty
NEVER = 'no_grad', 'enable_grad'         # written by hand below
NESTED = 'init',                          # modules inside a package that programs use by name

# Types of the stubs alone: how axes, sizes, number types and numbers may be written
ALIASES = '''_Tags: TypeAlias = str | tuple[str, ...] | list[str]
_Sizes: TypeAlias = int | tuple[int, ...] | list[int]
_DType: TypeAlias = DType | str | type | np.dtype[Any]
_Number: TypeAlias = float | np.number[Any] | np.bool_
_Array: TypeAlias = np.ndarray[Any, Any]
'''

# parameter -> type, in any operation whose samples give it plain values
NAMED = {
    **dict.fromkeys('tag tags over_tags out out_tags row col h w time tap a b position feature head'.split(), '_Tags'),
    **dict.fromkeys('shape kernel stride padding size strides'.split(), '_Sizes'),
    **dict.fromkeys('sizes seed groups offset index'.split(), 'int'),
    **dict.fromkeys('start end low high value'.split(), 'float'),
    'dtype': '_DType', 'names': 'str'}

# what no annotation, check or sample says: operation -> parameter -> type
WEIGHTS = 'Tensor | PackedWeight | BlockTensor'
CACHED = 'Tensor | BlockTensor | list[Any]'
TOLD = {
    'dot': dict(w=WEIGHTS), 'conv2d': dict(w='Tensor | PreparedConv2d'),
    'attention': dict(k=CACHED, v=CACHED, sinks='Tensor | list[float] | None', kv_head='Any', lens='Any'),
    'softmax': dict(causal='_Tags | None', sinks='Tensor | list[float] | float | None'),
    'select': dict(where='_Tags | int', by_tag='int'), 'masked_fill': dict(value='_Number'),
    'full_like': dict(value='_Number'), 'randint': dict(low='int', high='int | None'),
    'concat': dict(tensors='Sequence[Tensor]'), 'stack': dict(tensors='Sequence[Tensor]')}

MADE = '(data: Any, tags: _Tags = (), dtype: _DType | None = None) -> Tensor'
WITH_OTHER = '(self, other: Tensor | _Number) -> Tensor'
ALONE = '(self) -> Tensor'

# methods of a tensor that are no operations; those left out are refused by a checker as they are by the library
METHODS = {
    **{f'__{name}__': WITH_OTHER for word in 'add sub mul truediv floordiv mod pow and or xor'.split()
       for name in (word, f'r{word}')},
    **{f'__{name}__': WITH_OTHER for name in 'iadd isub imul itruediv lt le gt ge eq ne'.split()},
    **{f'__{name}__': ALONE for name in 'abs neg pos invert floor ceil'.split()},
    '__round__': '(self, digits: None = None) -> Tensor',
    '__divmod__': '(self, other: Tensor | _Number) -> tuple[Tensor, Tensor]',
    '__matmul__': f'(self, w: {WEIGHTS}) -> Tensor',
    '__init__': '(self, data: Any, tags: _Tags = (), dtype: _DType | None = None, '
                'requires_grad: bool = False) -> None',
    '__getitem__': '(self, where: Any) -> Tensor', '__setitem__': '(self, where: Any, value: Any) -> None',
    '__bool__': '(self) -> bool', '__float__': '(self) -> float',
    '__int__': '(self) -> int', '__index__': '(self) -> int',
    '__format__': '(self, spec: str) -> str', '__repr__': '(self) -> str', '__hash__': '(self) -> int',
    '__array__': '(self, dtype: Any = None, copy: bool | None = None) -> _Array',
    'axis': '(self, tag: _Tags) -> int', 'size': "(self, tag: _Tags = '') -> int", 'copy_of': MADE,
    'item': '(self) -> float', 'tolist': '(self) -> Any', 'numpy': '(self) -> _Array', 'detach': ALONE,
    'backward': '(self, grad: Any = None) -> None', 'zero_grad': '(self) -> None',
    'graph': '(self, values: bool | None = None, grads: bool | None = None, time: bool = False, bytes: bool = False, '
             'fold: bool = True, **names: Tensor) -> Any'}
PROPERTIES = dict(shape='tuple[int, ...]', ndim='int', dtype='DType', sizes='dict[str, int]', numel='int',
                  requires_grad='bool', grad='Tensor | None', T='Tensor')

# functions that are no operations
FUNCTIONS = {
    'param': MADE, 'copy_of': MADE, 'parse': '(*names: _Tags) -> tuple[str, ...]',
    'checkpoint': '(fn: Callable[..., Tensor], *inputs: Tensor) -> Tensor',
    'custom_vjp': '(fn: Callable[..., Any]) -> Callable[..., Tensor]',
    'gradcheck': '(fn: Callable[..., Any], *inputs: Tensor, eps: float = 1e-06, atol: float = 1e-06, '
                 'rtol: float = 1e-05, **kw: Any) -> Any',
    'is_grad_enabled': '() -> bool', 'manual_seed': '(seed: int) -> Any', 'timed': '() -> _Block',
    'use_backend': '(name: str) -> _Block', 'backends': '() -> dict[str, list[str]]', 'current_backend': '() -> str',
    'get_num_threads': '() -> int', 'set_num_threads': '(n: int) -> Any'}

# methods that Python calls; help() would show the comment above one without a docstring
SIGNS = dict(add='+', sub='-', mul='*', truediv='/', floordiv='//', mod='%', pow='**', xor='^', eq='==', ne='!=')
SIGNS |= {'and': '&', 'or': '|'}
SPELLED = {
    **{f'__{n}__': f'{n}(x)' for n in 'bool float int iter len divmod round repr'.split()},
    **{f'__{n}__': f'x {sign} y' for n, sign in SIGNS.items()},
    **{f'__r{n}__': f'y {sign} x' for n, sign in SIGNS.items()},
    **{f'__i{n}__': f'x {sign}= y' for n, sign in SIGNS.items()},
    '__getitem__': "x['row', 2]", '__setitem__': "x['row', 2] = y", '__array__': 'np.asarray(x)',
    '__format__': "f'{x:.2f}'", '__index__': 'list[x]', '__pos__': '+x', '__invert__': '~x',
    '__setstate__': 'pickle.loads(b)'}

# an operation that is called in two ways: as a method it has the first
OVERLOADS = dict(einsum=['({x}: Tensor, w: Tensor, *rest: _Tags | Tensor) -> Tensor',
                         '({x}: str, *operands: Tensor) -> Tensor'])
# what operations return besides one tensor
BACK = dict(list='list[Tensor]', tuple='tuple[Tensor, ...]', ndarray='_Array')

BLOCK = '''
_F = TypeVar('_F', bound=Callable[..., Any])
class _Block:
    """What stands after `with`, or above a function."""
    def __enter__(self) -> Any: ...
    def __exit__(self, *exc: object) -> None: ...
    def __call__(self, fn: _F) -> _F: ...
'''


# ---- what a parameter is
def given_type(annotation):
    "An annotation as source text, or None if an editor cannot follow it."
    if annotation is EMPTY: return None
    bare = isinstance(annotation, type) and not getattr(annotation, '__args__', None)
    text = annotation.__name__ if bare else str(annotation).replace('fucinalib.tensor.', '')
    return text if set(re.findall(r'\w+', text)) <= FOLLOWED else None


def kind_of(value):
    "The type of a plain value in a sample; 'Any' for lists, arrays and tensors, which may stand for each other."
    if value is None or isinstance(value, (bool, int, float, str)): return type(value).__name__
    if isinstance(value, tuple) and value and all(type(v) is int for v in value): return '_Sizes'
    return 'Any'


def shown_types(o, name):
    "Types of a parameter in an operation's samples."
    drawn = [o.signature.bind(*args, **kw).arguments for args, kw in (s.draw() for s in o.samples)]
    return {kind_of(given[name]) for given in drawn if name in given}


CHECKED = dict(axis='_Tags', last='_Tags', new_axis='_Tags', whole='int', count='int', number='float', flag='bool')

def checked_type(o, name):
    "What a declared check says a parameter is, or None, and whether it may be None."
    needs = [need for need in o.needs if name in need.names]
    words = [f'Literal[{", ".join(map(repr, need.choices))}]' if type(need).__name__ == 'one_of'
             else CHECKED.get(type(need).__name__) for need in needs]
    return next(filter(None, words), None), any(getattr(need, 'none', '') for need in needs)


def option_type(o, p):
    "The type of a parameter without an annotation, and whether it may be None."
    plain = p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    seen = shown_types(o, p.name) if plain else set()
    text, none = checked_type(o, p.name)
    none |= 'NoneType' in seen
    seen -= {'NoneType'}
    if text is None and 'Any' not in seen: text = NAMED.get(p.name)
    if text is None and p.default not in (None, EMPTY): text = type(p.default).__name__.replace('int', 'float')
    if text is None: text = 'Any' if 'Any' in seen or not seen else ' | '.join(sorted(seen))
    if text == 'str': text = '_Tags'
    if '_Sizes' in seen: text = '_Sizes'
    if 'str' in seen and text == 'float': text = 'float | str'
    return ('float' if 'float' in seen and text == 'int' else text), none


def typed(p, o=None):
    "The type of a parameter of an operation `o`, or of a plain function."
    if o and p.name in TOLD.get(o.name, {}): return TOLD[o.name][p.name]
    text, none = given_type(p.annotation), False
    if text is None: text, none = option_type(o, p) if o else (NAMED.get(p.name, 'Any'), False)
    none |= p.default is None
    return f'{text} | None' if none and text != 'Any' and 'None' not in text else text


def parameter(p, o=None):
    star = {p.VAR_POSITIONAL: '*', p.VAR_KEYWORD: '**'}.get(p.kind, '')
    default = '' if p.default is EMPTY else ' = ' + (repr(p.default) if isinstance(p.default, PLAIN) else '...')
    return f'{star}{p.name}: {typed(p, o)}{default}'


def returned(fn, o=None):
    "What a function returns."
    back = inspect.signature(fn).return_annotation
    if back is EMPTY: return 'Any'
    return BACK.get(getattr(back, '__name__', ''), given_type(back) or (back.__name__ if o else 'Any'))


def signature(fn, o=None, method=False):
    "`(self, other: Tensor | float) -> Tensor` of a function; the first parameter of a method is self."
    words, star = [], False
    for i, p in enumerate(inspect.signature(fn).parameters.values()):
        if p.kind is p.KEYWORD_ONLY and not star: words.append('*')
        star |= p.kind in (p.VAR_POSITIONAL, p.KEYWORD_ONLY)
        words.append('self' if method and i == 0 else parameter(p, o))
    return f'({", ".join(words)}) -> {returned(fn, o)}'


# ---- what help() says
def first_words(fn):
    "A docstring without the lines about parameters that the export before this one added."
    return (inspect.getdoc(fn) or '').partition('\n\nParameters\n---')[0]


@functools.cache
def help_of(fn):
    "A docstring that also says what each parameter is, where the source has a comment for one."
    try: notes = docments(fn.__init__ if inspect.isclass(fn) else fn, full=True, args_kwargs=True)
    except (TypeError, OSError, ValueError): notes = {}
    words = '\n'.join(textwrap.fill(line, 116) if len(line) > 116 else line for line in first_words(fn).split('\n'))
    told = {n: ' '.join(v.docment.split()) for n, v in notes.items() if v.docment and n not in ('self', 'return')}
    if not told: return words
    rows = [f'{n}\n    {said}' for n, said in told.items()]
    return '\n'.join([words, '', 'Parameters', '----------', *rows])


def quoted(text, indent=''):
    "A docstring as source, indented."
    text = text.replace('\\', '\\\\').replace('"""', r'\"\"\"') + '\n' * ('\n' in text)
    if text.endswith('"'): text = text[:-1] + r'\"'
    return textwrap.indent(f'"""{text}"""', indent)


def public():
    "Path below `fucinalib` -> what users call: operations, functions, classes, methods of tensors."
    ops, cls = fl.registry, vars(fl.Tensor)
    found = {n: ops[n].fn if n in ops else getattr(fl, n) for n in sorted({*fl.__all__, *ops} - {*fl._LATER})}
    methods = {n: v for n, v in sorted(cls.items()) if inspect.isfunction(v) and n[0] != '_' and n not in ops}
    found |= {f'Tensor.{n}': v for n, v in methods.items()}
    ours = lambda v: inspect.isfunction(v) or inspect.isclass(v) and not issubclass(v, FucinaError)
    return {n: v for n, v in found.items() if ours(v) and str(v.__module__).startswith('fucinalib')}


def in_parts():
    "Path below `fucinalib` -> functions, classes and their methods, of the packages imported when first asked for."
    found = {}
    for part in sorted(fl._PARTS):
        module = getattr(fl, part)
        inner = {n: v for n, v in vars(module).items() if inspect.ismodule(v) and v.__name__.startswith('fucinalib')}
        for path, m in {part: module, **{f'{part}.{n}': v for n, v in inner.items() if n in NESTED}}.items():
            inside = lambda v: str(getattr(v, '__module__', '')).startswith(f'fucinalib.{part}')
            names = {n: v for n, v in vars(m).items() if n[0] != '_' and inside(v)}
            found |= {f'{path}.{n}': v for n, v in names.items() if inspect.isfunction(v)}
            for n, c in names.items():
                if not inspect.isclass(c): continue
                found[f'{path}.{n}'] = c
                found |= {f'{path}.{n}.{k}': f for k, f in vars(c).items() if k[0] != '_' and inspect.isfunction(f)}
    return dict(sorted(found.items()))


def parts_file():
    "The same for packages that are imported when first asked for."
    told = {n: text for n, v in in_parts().items() if '\nParameters\n' in (text := help_of(v))}
    doc = '"""Docstrings with a line for each parameter, of what is imported when first asked for."""'
    rows = [f'    {n!r}:\n{quoted(text)},' for n, text in told.items()]
    return '\n'.join([HEAD + doc, 'TEXTS = {', *rows, '}']) + '\n'


def help_file():
    "What `help()` says beyond the first lines, as a module that the package reads."
    told = {n: text for n, v in public().items() if '\nParameters\n' in (text := help_of(v))}
    said = lambda v: v.__doc__ or 'What Python calls'
    bare = [n for n, v in vars(fl.Tensor).items() if n in SPELLED and said(v).startswith('What Python calls')]
    told |= {f'Tensor.{n}': f'What Python calls for `{SPELLED[n]}`.' for n in sorted(bare)}
    doc = '"""Docstrings with a line for each parameter: the comments of the source, which Python throws away."""'
    rows = [f'    {n!r}:\n{quoted(text)},' for n, text in told.items()]
    return '\n'.join([HEAD + doc, 'TEXTS = {', *rows, '}']) + '\n'


# ---- the stubs
def definition(name, fn, indent='', method=False, types=None):
    "A function with its types and all that help() says."
    o = getattr(fn, 'op', None)
    ways = [types] if types else OVERLOADS.get(name, [])[:1 if method else None] if o else []
    ways = [w.format(x='self' if method else 'x').replace('self: Tensor', 'self') for w in ways]
    doc = '' if name.startswith('__') else help_of(o.fn if o else fn)
    body = f'\n{quoted(doc, indent + "    ")}\n{indent}    ...' if doc else ' ...'
    over = f'{indent}@overload\n' * (len(ways) > 1)
    return '\n'.join(f'{over}{indent}def {name}{w}:{body}' for w in ways or [signature(fn, o, method)])


def import_lines(classes, reexported):
    "A line for each class that types name; `as` hands a name on."
    place = lambda v: '.tensor' if v in rows() else v.__module__.removeprefix('fucinalib')
    names = [(place(v), v.__name__, v in reexported) for v in classes]
    return sorted(f'from {module} import {name}' + f' as {name}' * on for module, name, on in names)


def rows():
    "Named tuples of tensors that operations return."
    return {v for v in result_classes() if hasattr(v, '_fields')}


def result_classes():
    "Classes besides Tensor that operations return or take."
    found = {o.signature.return_annotation for o in fl.registry.values()} | {fl.BlockTensor, fl.PackedWeight}
    return {v for v in found if inspect.isclass(v) and v.__module__.startswith('fucinalib') and v is not fl.Tensor}


def member(name, v):
    "Lines for one attribute of the class, none for those that a program does not use."
    if isinstance(v, property):
        body = f':\n{quoted(v.__doc__, "        ")}\n        ...' if v.__doc__ else ': ...'
        yield f'    @property\n    def {name}(self) -> {PROPERTIES[name]}{body}'
        given = 'Any' if name == 'grad' else PROPERTIES[name]
        if v.fset in (None, no_setting): return
        yield f'    @{name}.setter\n    def {name}(self, value: {given}) -> None: ...'
    elif name in METHODS:
        if isinstance(v, staticmethod): yield '    @staticmethod'
        text = definition(name, getattr(v, '__func__', v), '    ', True, METHODS[name])
        yield text + '  # type: ignore[override]' * (name in ('__eq__', '__ne__'))      # object promises a bool
    elif name in fl.registry: yield definition(name, v, '    ', True)


def tensor_stub():
    "The class: slots, properties, methods, operators; and what else its module has."
    lines = [HEAD + 'from typing import Any, Literal, NamedTuple, Sequence, TypeAlias', 'import numpy as np',
             'from .dtypes import DType', *import_lines(result_classes() - rows(), ()), '', ALIASES,
             'class Tensor:', quoted(help_of(fl.Tensor), '    '),
             '    data: _Array', '    tags: tuple[str, ...]', '    node: Any', '    __iter__: None']
    for name, v in sorted(vars(fl.Tensor).items()): lines += member(name, v)
    for v in sorted(rows(), key=lambda v: v.__name__):
        lines += ['', f'class {v.__name__}(NamedTuple):', *(f'    {field}: Tensor' for field in v._fields)]
    for name in tensor.__all__:
        v = getattr(tensor, name)
        if inspect.isfunction(v): lines.append(definition(name, v, types=FUNCTIONS.get(name)))
        elif name != 'Tensor': lines.append(f'{name}: Any')
    return '\n'.join(lines) + '\n'


def package_stub():
    "The names of `fucinalib`: classes from where they live, functions and operations with their signatures."
    blocks = {*NEVER, *(n for n, types in FUNCTIONS.items() if types.endswith('_Block'))}
    own = {getattr(fl, n) for n in fl.__all__ if inspect.isclass(getattr(fl, n)) and n not in blocks} - {fl.Tensor}
    lines = [HEAD + 'from typing import Any, Callable, Literal, Sequence, TypeVar, overload',
             'from . import graph as graph, ops as ops', *(f'from . import {p} as {p}' for p in sorted(fl._PARTS)),
             'from .dtypes import DType as DType',
             'from .tensor import Tensor as Tensor, _Array, _DType, _Number, _Sizes, _Tags',
             *import_lines(own | result_classes(), own), BLOCK]
    for name in NEVER:
        doc = quoted(inspect.getdoc(getattr(fl, name)), '    ')
        ways = '() -> _Block', '(fn: _F) -> _F'
        lines += [f'@overload\ndef {name}{way}:\n{doc}\n    ...' for way in ways]
    for name in sorted({*fl.__all__, *fl.registry} - {'Tensor', *NEVER}):
        v = getattr(fl, name)
        if name in fl.registry or name in blocks or inspect.isfunction(v):
            lines.append(definition(name, v, types=FUNCTIONS.get(name)))
        elif not inspect.isclass(v) and not inspect.ismodule(v):
            lines.append(f'{name}: {"DType" if isinstance(v, type(fl.f32)) else "Any"}')
    return '\n'.join([*lines, '__version__: str']) + '\n'


if __name__ == '__main__':
    made = {'fucinalib/tensor.pyi': tensor_stub, 'fucinalib/__init__.pyi': package_stub,
            'fucinalib/_help.py': help_file, 'fucinalib/_help_parts.py': parts_file}
    for path, write in made.items():
        text = write()
        ast.parse(text, path)
        if not (ROOT/path).exists() or (ROOT/path).read_text() != text: (ROOT/path).write_text(text)
