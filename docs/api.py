"""What the API pages say of an operation besides its docstring: an example that was run, its errors, its source.

All of it comes from the registry: the example is the operation's first sample, the errors are its mistakes.
"""
import ast
import numpy as np
import fucinalib as fl
from pages import PROBLEMS, raised

SHOWN = 12      # values a tensor may have to be written out


def names_in(code):
    "The names that a cell defines."
    for node in ast.parse(code).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)): yield node.name
        elif isinstance(node, ast.Assign):
            yield from (n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name))


def written(value, seed):
    "A value of a sample as source: a tensor of few numbers with those numbers, rounded."
    if isinstance(value, fl.Tensor):
        tags, a = ' '.join(value.tags), value.data
        if a.size > SHOWN: return f'fl.randn({tags!r}, {value.shape}, seed={seed})'
        numbers = np.round(a.astype('f8'), 1) + 0. if value.dtype.is_float else a
        return f'fl.Tensor({numbers.tolist()}' + f', {tags!r})' * bool(tags) + ')' * (not tags)
    if isinstance(value, np.ndarray): return f'np.array({np.round(value.astype("f8"), 1).tolist()})'
    if isinstance(value, slice): return f'slice({value.start}, {value.stop})'
    return repr(value)


def program(o):
    "The lines of an example: a tensor each, then the call as a user writes it."
    args, kw = o.samples[0].draw(0, 'f32')
    lines = []
    names = list(o.signature.parameters)
    def word(name, value):
        if isinstance(value, (list, tuple)) and any(isinstance(v, fl.Tensor) for v in value):
            return f'[{", ".join(word("abc"[i], v) for i, v in enumerate(value))}]'
        if not isinstance(value, (fl.Tensor, np.ndarray)): return written(value, 0)
        name = 'x' if name == 'self' else name
        lines.append(f'{name} = {written(value, len(lines))}')
        return name
    words = [word(names[min(i, len(names) - 1)], v) for i, v in enumerate(args)]
    words += [f'{k}={word(k, v)}' for k, v in kw.items()]
    method = o.attach and args and isinstance(args[0], fl.Tensor)
    owner, rest = (words[0], words[1:]) if method else ('fl', words)
    return [*lines, f'{owner}.{o.name}({", ".join(rest)})']


def example(o):
    "(code, what it gives), or None where there is nothing to show; a failure is a problem of the build."
    if not o.samples: return None
    *setup, call = program(o)
    scope = dict(fl=fl, np=np)
    try:
        exec('\n'.join(setup), scope)
        return '\n'.join([*setup, call]), repr(eval(call, scope))
    except Exception as e: PROBLEMS.append(f'example of {o.name}: {type(e).__name__}: {e}')


def errors(o):
    "Kind of error -> first lines of its messages, two at most."
    found = {}
    for kind, mistake in o.mistakes:
        name, _, said = raised(lambda mistake=mistake: mistake(o.call)).partition('\n')[0].partition(': ')
        heads = found.setdefault(name, [])
        if said not in heads and len(heads) < 2: heads.append(said)
    return found


def literal(text):
    "Text that stands as it is, in reStructuredText."
    return f'``{text.replace("`", chr(39))}``'


def block(kind, text): return [f'.. code-block:: {kind}', '', *('   ' + line for line in text.split('\n')), '']


def described(o, place):
    "What stands under the docstring of an operation, as lines; `place` is the page and chapter it is written in."
    lines = []
    if shown := example(o): lines += [*block('python', shown[0]), '.. rst-class:: gives', '', *block('text', shown[1])]
    if o.mistakes:
        lines += ['.. rst-class:: raises', '']
        for kind, heads in errors(o).items():
            lines.append(f'- :ref:`{kind} <mistake-{o.name}>`: {"; ".join(map(literal, heads))}')
        lines.append('')
    target = f'{o.name[:-1]}\\_' if o.name.endswith('_') else o.name       # else docutils reads a reference
    if place: lines += ['.. rst-class:: written', '', f'`{place[1]} <../{place[0]}.html#def-{target}>`__', '']
    return lines
