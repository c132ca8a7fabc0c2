"""Write the type stubs, so that an editor completes `x.` and `fl.` with every operation and its signature. Part of `make export`.

`fucinalib/tensor.pyi` has the class with all its methods, `fucinalib/__init__.pyi` the functions.
"""
import inspect, re, sys
from pathlib import Path
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
import fucinalib as fl
from fucinalib import tensor

HEAD = '# Written by tools/stubs.py from the registry; run `make export`, do not edit.\n'
PLAIN = (int, float, str, bool, type(None), tuple)
FOLLOWED = set('Tensor float int str bool list tuple dict None np ndarray object'.split())


def note(annotation):
    "An annotation as source text."
    if annotation is inspect.Parameter.empty: return None
    if isinstance(annotation, str): return annotation
    if isinstance(annotation, type) and not getattr(annotation, '__args__', None): return 'np.ndarray' if annotation is np.ndarray else annotation.__name__
    return str(annotation).replace('fucinalib.tensor.', '').replace('numpy.', 'np.').replace('typing.', '')


def known(text):
    "Annotations an editor can follow; anything else is left out."
    return text if text and set(re.findall(r'\w+', text)) <= FOLLOWED else None


def parameter(p):
    star = {p.VAR_POSITIONAL: '*', p.VAR_KEYWORD: '**'}.get(p.kind, '')
    text = star + p.name
    if (kind := known(note(p.annotation))): text += f': {kind}'
    if p.default is not p.empty: text += ' = ' + (repr(p.default) if isinstance(p.default, PLAIN) else '...')
    return text


def signature(fn, first=None):
    "`(self, other: Tensor | float) -> Tensor` of a function; `first` renames its first parameter."
    try: sig = inspect.signature(fn)
    except (TypeError, ValueError): return '(*args, **kw)'
    words, star = [], False
    for i, p in enumerate(sig.parameters.values()):
        if p.kind is p.KEYWORD_ONLY and not star: words.append('*'); star = True
        if p.kind is p.VAR_POSITIONAL: star = True
        words.append(first if first and i == 0 else parameter(p))
    back = known(note(sig.return_annotation))
    return f'({", ".join(words)})' + (f' -> {back}' if back else '')


def definition(name, fn, indent='', first=None):
    doc = (inspect.getdoc(fn) or '').splitlines()
    body = f'\n{indent}    """{doc[0]}"""\n{indent}    ...' if doc else ' ...'
    return f'{indent}def {name}{signature(fn, first)}:{body}'


def tensor_stub():
    "The class: slots, properties, methods, operators."
    lines = [HEAD + 'import numpy as np', 'from .dtypes import DType', '', 'class Tensor:', '    data: np.ndarray', '    tags: tuple[str, ...]', '    node: object']
    kinds = dict(shape='tuple[int, ...]', ndim='int', dtype='DType', sizes='dict[str, int]', numel='int', requires_grad='bool', grad='Tensor | None', T='Tensor')
    for name, v in sorted(vars(fl.Tensor).items()):
        if name in ('__module__', '__doc__', '__slots__', '__weakref__', '__array_ufunc__', '__dict__', 'data', 'tags', 'node'): continue
        if isinstance(v, property):
            lines += ['    @property', f'    def {name}(self) -> {kinds.get(name, "object")}: ...']
            if v.fset: lines += [f'    @{name}.setter', f'    def {name}(self, value) -> None: ...']
        elif isinstance(v, staticmethod): lines += ['    @staticmethod', definition(name, v.__func__, '    ')]
        elif callable(v) and (name.startswith('__') or not name.startswith('_')):
            text = definition(name, v, '    ', 'self')
            lines.append(text if not name.startswith('__') else text.split(':\n')[0].rstrip(':') + ': ...' if ':\n' in text else text)
    lines += ['']
    for name in tensor.__all__:
        if name != 'Tensor' and callable(getattr(tensor, name)): lines.append(definition(name, getattr(tensor, name)))
    return '\n'.join(lines) + '\n'


def package_stub():
    "The names of `fucinalib`: classes and plain functions from where they live, operations with their signatures."
    lines = [HEAD + 'import numpy as np', 'from .tensor import Tensor as Tensor']
    ops = fl.registry
    for name in sorted({*fl.__all__, *ops} - {'Tensor'}):
        v = getattr(fl, name)
        if name in ops: lines.append(definition(name, v))
        elif getattr(v, '__module__', '').startswith('fucinalib') and callable(v) and not isinstance(v, str):
            lines.append(f'from {v.__module__.removeprefix("fucinalib")} import {v.__name__} as {name}' if v.__name__ == name else f'{name}: object')
        else: lines.append(f'{name}: {type(v).__name__ if type(v).__module__ == "builtins" else "object"}')
    return '\n'.join(lines) + '\n'


if __name__ == '__main__':
    for path, text in (('fucinalib/tensor.pyi', tensor_stub()), ('fucinalib/__init__.pyi', package_stub())):
        compile(text, path, 'exec')
        if not (ROOT/path).exists() or (ROOT/path).read_text() != text: (ROOT/path).write_text(text)
