"""Appendix pages made from the library itself: each function returns Markdown and becomes a page of the site.

Write one: `@page('slug', 'Title')` over a function that returns Markdown. It runs when the site is built; if it fails, the
build goes on and says so at the end.
"""
import ast, html, re
from functools import cache
from pathlib import Path

PAGES = []     # (slug, title, function) in the order of the sidebar
PROBLEMS = []  # what a page found wrong with the library; the build lists it and fails
CHAPTERS = []  # (folder, file stem, title, module), filled in by build.py before the pages are made

def page(slug, title):
    "Make the decorated function an appendix page."
    def add(f): PAGES.append((slug, title, f)); return f
    return add


def text(s):
    "A docstring's line as Markdown: what is not `code` is taken as it stands."
    parts = re.split(r'(`+[^`]+`+)', s)
    return ''.join(p if i % 2 else re.sub(r'([*_$<\[\]\\])', r'\\\1', p) for i, p in enumerate(parts))

def table(head, rows):
    "A Markdown table; a bar inside a cell is escaped."
    cell = lambda c: str(c).replace('|', '\\|').replace('\n', ' ')
    line = lambda cells: f'| {" | ".join(map(cell, cells))} |'
    return '\n'.join([line(head), line(['---'] * len(head))] + [line(r) for r in rows])

def fault(code, message):
    "A mistake and what it says."
    kind, said = message.split(':', 1) if ':' in message.split('\n')[0] else ('', message)
    return f'```python\n{code}\n```\n\n<pre class="fault"><b>{kind}</b>:{html.escape(said)}</pre>\n'

def by_family():
    "The operations of the registry, family by family in reading order."
    from fucinalib.autograd import registry
    families = {}
    order = {f'fucinalib.{mod}': i for i, (*_, mod) in enumerate(CHAPTERS) if mod}
    for op in sorted(registry.values(), key=lambda o: order.get(o.module, len(order))):
        families.setdefault(op.family, []).append(op)
    return families

def chapters_of(ops):
    "Links to the chapters that explain these operations."
    mods = {o.module for o in ops}
    return ', '.join(f'[{title}](../{folder}/{stem}.ipynb)' for folder, stem, title, mod in CHAPTERS if f'fucinalib.{mod}' in mods)


@page('op-table', 'Table of operations')
def op_table():
    from fucinalib.reference import row
    out, count = [], 0
    for family, ops in by_family().items():
        rows = []
        for op in sorted(ops, key=lambda o: o.name):
            try: _, doc, proof, torch, kernel = row(op)
            except Exception as e: PROBLEMS.append(f'table of operations, {op.name}: {type(e).__name__}: {e}'); continue
            rows.append((f'{{py:obj}}`{op.name} <fucinalib.{op.name}>`', text(doc), proof,
                         f'`{torch.removeprefix("torch.")}`' if torch else '', kernel)); count += 1
        out += [f'## {family.capitalize()}\n', f'Explained in {chapters_of(ops)}.\n' if chapters_of(ops) else '',
                ':::{container} optable', table(['operation', 'what it does', 'gradcheck', 'in torch', 'kernel'], rows), ':::', '']
    intro = (f'The {count} operations of the registry. The third column was computed while this page was built: how many slopes '
             'were compared with finite differences in double precision, and the largest difference. The last one says which '
             'have a compiled kernel.\n')
    return '\n'.join([intro] + out)


ERRORS = [  # (what went wrong, code whose last line raises)
    ('A misspelt axis', "x = Tensor([[1., 2.], [3., 4.]], 'batch feat')\nx.sum('feet')"),
    ('An axis by position', "x = Tensor([[1., 2.], [3., 4.]], 'batch feat')\nx.sum(1)"),
    ('An option of another library', "x = Tensor([[1., 2.], [3., 4.]], 'batch feat')\nx.sum(dim=1)"),
    ('A method that does not exist', "x = Tensor([[1., 2.], [3., 4.]], 'batch feat')\nx.unsqueeze(0)"),
    ('A function that does not exist', "fl.sofmax"),
    ('Sizes that differ', "x = Tensor(np.ones((2, 3)), 'batch feat')\nw = Tensor(np.ones((4, 5)), 'feat out')\nx.dot(w, 'feat')"),
    ('Sizes that clash pointwise', "x = Tensor(np.ones((2, 3)), 'batch feat')\nx + Tensor(np.ones(4), 'feat')"),
    ('An axis named twice', "Tensor(np.ones((2, 2)), 'row row')"),
    ('A name that is none', "Tensor([1., 2.], 'row-1')"),
    ('Too few names', "Tensor(np.ones((2, 3)), 'row')"),
    ('Ragged data', "Tensor([[1., 2.], [3.]], 'row col')"),
    ('No data', "Tensor([], 'row')"),
    ('Text', "Tensor(['1', '2'], 'row')"),
    ('Objects', "Tensor(np.array([{}, None]), 'row')"),
    ('A number type that does not exist', "Tensor([1.], 'row', dtype='f23')"),
    ('Number types that differ', "Tensor([1.], 'i') + Tensor([1], 'i')"),
    ('A number the type cannot hold', "Tensor([1, 2], 'i') + 0.5"),
    ('An array without names', "Tensor([1., 2.], 'i') * np.ones(2)"),
    ('The truth of several values', "x = Tensor([1., 2.], 'i')\nbool(x)"),
    ('An integer that wants a gradient', "Tensor([1, 2], 'i', requires_grad=True)"),
    ('Backward from several values', "x = fl.param([1., 2.], 'i')\n(x * x).backward()"),
    ('Backward twice', "x = fl.param([1., 2.], 'i')\nloss = (x * x).sum()\nloss.backward()\nloss.backward()"),
    ('Backward of a constant', "Tensor([1., 2.], 'i').sum().backward()"),
    ('A seed of other sizes', "x = fl.param([1., 2.], 'i')\n(x * x).backward([1., 1., 1.])"),
    ('A gradient rule of the wrong shape', "@fl.custom_vjp\ndef double(x:Tensor): return x.data * 2, x.tags, (lambda g: g.sum() * 2,)\n\ndouble(fl.param([1., 2.], 'i')).sum().backward()"),
    ('A gradient rule that gives nothing', "@fl.custom_vjp\ndef double(x:Tensor): return x.data * 2, x.tags, (lambda g: None,)\n\ndouble(fl.param([1., 2.], 'i')).sum().backward()"),
    ('A gradient rule that is wrong', "@fl.custom_vjp\ndef double(x:Tensor): return x.data * 2, x.tags, (lambda g: g,)\n\nfl.gradcheck(double, Tensor([1., 2.], 'i'))"),
    ('Changing a value that was recorded', "w = fl.param([1., 2.], 'i')\nw.add_(1.)"),
    ('An unknown backend', "fl.use_backend('pythan')"),
]

def raised(call):
    "`Type: message` exactly as a user sees it."
    import fucinalib as fl
    try: return f'no error, but {call()!r}'
    except fl.FucinaError as e: return f'{type(e).__name__}: {e}'

@cache
def lambdas(path):
    "The source of a file and its lambda expressions."
    src = Path(path).read_text()
    return src, [n for n in ast.walk(ast.parse(src)) if isinstance(n, ast.Lambda)]

def body(f):
    "The source of a lambda's body; None if it cannot be told."
    src, found = lambdas(f.__code__.co_filename)
    at = {(p[0], p[2]) for p in f.__code__.co_positions()}
    mine = next((n.body for n in found if n.lineno == f.__code__.co_firstlineno and (n.body.lineno, n.body.col_offset) in at), None)
    return mine and ast.get_source_segment(src, mine)

@page('errors', 'Error gallery')
def error_gallery():
    import fucinalib as fl, numpy as np
    out = ['Each mistake below was made while this page was built; the message is what it gave.\n']
    for title, code in ERRORS:
        *setup, last = code.split('\n')
        scope = dict(fl=fl, np=np, Tensor=fl.Tensor); exec('\n'.join(setup), scope)
        try: out += [f'## {title}\n', fault(code, raised(lambda last=last, scope=scope: exec(last, scope)))]
        except Exception as e: PROBLEMS.append(f'error gallery, {title}: {type(e).__name__}: {e}')
    for family, ops in by_family().items():
        shown = {}  # message without the operation's name -> [code, message, names]: a family shares many
        for op in ops:
            for _, mistake in op.mistakes:
                try: message = raised(lambda op=op, mistake=mistake: mistake(op.call))
                except Exception as e: PROBLEMS.append(f'error gallery, {op.name}: {type(e).__name__}: {e}'); continue
                f = mistake.__code__.co_varnames[0]
                code = re.sub(rf'\b{f}\(', f'fl.{op.name}(', body(mistake) or f'{f}(...)', count=1)
                shown.setdefault(re.sub(rf'\b{op.name}\b', 'op', message), [code, message, []])[2].append(op.name)
        if shown: out.append(f'## Operations: {family}\n')
        for code, message, names in shown.values():
            out.append(fault(code, message))
            if more := [f'`{n}`' for n in dict.fromkeys(names) if n != names[0]]: out.append(f'{{.also}}\nLikewise {", ".join(more)}.\n')
    return '\n'.join(out)


TERMS = {
    'tag': 'The name of an axis: a Python identifier such as `batch`. An axis is chosen by its tag, never by its position.',
    'tensor': 'Numbers on a grid whose axes have tags.',
    'size': 'How many positions an axis has; `x.sizes` maps tags to sizes.',
    'op': 'One function on tensors together with its gradient rule.',
    'gradient rule': 'What an op does backward: from the gradient of its result to the gradient of each operand.',
    'leaf': 'A tensor that no op made; gradients accumulate in the leaves that require them.',
    'graph': 'The ops that made a value, and the tensors between them.',
    'kernel': 'The inner loop of an op: a NumPy function that gives the meaning and, where it was built, a compiled one that gives the speed.',
    'backend': 'A package that provides kernels.',
    'gradcheck': 'Comparison of a gradient rule with finite differences in double precision.',
    'view': 'A tensor that shares its numbers with another one.',
    'broadcast': 'Repeating a value along an axis it does not have. It goes by tag: an axis only one operand has is repeated for the other.',
    'contraction': 'Multiplying two tensors and summing over tags they share; a matrix product is one.',
}

@page('glossary', 'Glossary')
def glossary():
    return '```{glossary}\n:sorted:\n\n' + '\n\n'.join(f'{t}\n  {d}' for t, d in TERMS.items()) + '\n```'


PICTURE = """
x = fl.Tensor([[1., 2., 3.], [4., 5., 6.]], 'batch feature')
w = fl.param([[1., 0.], [0., 1.], [1., 1.]], 'feature class')
loss = x.dot(w, 'feature').cross_entropy('class', [0, 1])
loss.backward()
"""

def picture():
    "The picture on the landing page: four lines of code and the computation as the library draws it."
    try:
        import fucinalib as fl
        from build import inline_svg
        scope = dict(fl=fl)
        exec(PICTURE + 'drawing = loss.graph()', scope)
        drawing = scope['drawing']._repr_mimebundle_(None, None)
        svg = drawing.get('text/html') or inline_svg(drawing['image/svg+xml'])
    except Exception as e: PROBLEMS.append(f'no picture on the landing page: {type(e).__name__}: {e}'); return ''
    return f':::{{container}} hero\n```python{PICTURE}loss.graph()\n```\n\n{svg}\n:::'
