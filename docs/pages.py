"""Appendix pages made from the library itself: each function returns Markdown and becomes a page of the site.

Write one: `@page('slug', 'Title')` over a function that returns Markdown. It runs when the site
is built; if it fails, the build goes on and says so at the end."""
import ast, html, re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
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
    return ', '.join(f'[{title}](../{folder}/{stem}.ipynb)'
                     for folder, stem, title, mod in CHAPTERS if f'fucinalib.{mod}' in mods)


def stored():
    """Operation -> (cases, largest difference) beside the stored results of torch, or of NumPy
    and plain loops where torch has no such operation."""
    import sys
    import numpy as np
    if (tests := str(ROOT/'tests')) not in sys.path: sys.path.append(tests)
    import parity
    found = {}
    for family in parity.families():
        kept, _ = parity.stored(family)
        for name, c in parity.cases(family).items():
            if c.live: continue
            mine, right = np.asarray(c.ours(c.seed)[0].data, 'f8'), np.asarray(kept[name][0], 'f8')
            with np.errstate(all='ignore'):
                off = np.where((mine == right) | np.isnan(mine) & np.isnan(right), 0,
                               np.abs(mine - right)).max(initial=0)
            n, most = found.get(c.op, (0, 0.))
            found[c.op] = n + 1, max(most, off)
    return found

def count_of(n, thing): return f'{n} {thing}{"" if n == 1 else "s"}'

def exercises(ops):
    "Links to the exercises of the chapters that define these operations."
    mods, found = {o.module for o in ops}, []
    for folder, stem, _, mod in CHAPTERS:
        if f'fucinalib.{mod}' not in mods: continue
        for number in dict.fromkeys(re.findall(r"exercise\('([\w.]+)'", (ROOT/folder/f'{stem}.ipynb').read_text())):
            found.append(f'[{number}](../{folder}/{stem}.ipynb)')
    return ', '.join(found)

def beside_torch(torch, cases, off):
    "How an operation compares with its counterpart."
    rival = f'`{torch.removeprefix("torch.")}`' if torch != 'none' else 'no counterpart'
    return f'{rival}: {count_of(cases, "case")} {f"within {off:.0e}" if off else "equal"}' if cases else rival

def drawn(op):
    "The graph of an operation's first sample as SVG; empty where there is none to draw."
    from build import inline_svg
    from fucinalib import Tensor
    if not op.differentiable or not op.samples: return ''
    args, kw = op.samples[0].draw(requires_grad=True)
    result = op.call(*args, **kw)
    result = result[0] if isinstance(result, (tuple, list)) else result
    if result.node is None: return ''
    operands = op.find_operands(args, kw)
    names = dict(zip(op.operands, operands)) if len(operands) == len(op.operands) else {}
    words = {'self': 'x', 'values': 'source'}          # graph() has its own use for these
    made = result.graph(**{words.get(k, k): v
                           for k, v in names.items() if isinstance(v, Tensor)})._repr_mimebundle_(None,
                                                                                                  None)
    return made.get('text/html') or inline_svg(made['image/svg+xml'])


@page('an-op', 'An op, step by step')
def an_op():
    "tests/test_an_op.py takes its steps."
    return (ROOT/'docs'/'an-op.md').read_text()


@page('op-table', 'Table of operations')
def op_table():
    from fucinalib.registry_table import row
    out, count, beside = [], 0, stored()
    for family, ops in by_family().items():
        rows = []
        for op in sorted(ops, key=lambda o: o.name):
            try: _, doc, proof, torch, kernels = row(op)
            except Exception as e:
                PROBLEMS.append(f'table of operations, {op.name}: {type(e).__name__}: {e}')
                continue
            more = [f'[errors](#mistake-{op.name})'] * bool(op.mistakes)
            more += [f'[graph](#graph-{op.name})'] * bool(op.differentiable and op.samples)
            rows.append((f'{{py:obj}}`{op.name} <fucinalib.{op.name}>`', text(doc), proof,
                         beside_torch(torch, *beside.get(op.name, (0, 0.))), kernels, ' '.join(more)))
            count += 1
        told = [f'Explained in {chapters_of(ops)}.'] * bool(chapters_of(ops))
        if links := exercises(ops): told.append(f'Exercises {links}.')
        out += [f'## {family.capitalize()}\n', ' '.join(told) + '\n', ':::{container} optable',
                table(['operation', 'what it does', 'gradcheck', 'beside torch', 'kernels', 'more'], rows), ':::', '']
    intro = (f'The {count} operations of the registry; what the cells say was computed while this page was built. '
             '*Gradcheck*: how many slopes were compared with finite differences in double precision, and the '
             'largest difference. *Beside torch*: the counterpart, stored results that ours was compared with '
             '(torch made them; NumPy or a plain loop where torch has no such operation) and the largest '
             'difference. *Kernels*: what its samples ran; every kernel has a NumPy form. An example of each '
             'stands under its name.\n')
    return '\n'.join([intro] + out)


@page('op-pictures', 'Pictures of the operations')
def op_pictures():
    out = ['What each operation records when its first sample is computed.\n']
    for ops in by_family().values():
        for op in sorted(ops, key=lambda o: o.name):
            try: svg = drawn(op)
            except Exception as e: PROBLEMS.append(f'picture of {op.name}: {type(e).__name__}: {e}'); continue
            if svg: out += [f'(graph-{op.name})=\n## {op.name}\n', svg, '']
    return '\n'.join(out)


ERRORS = [
    # (what went wrong, code whose last line raises)
    ('A misspelt axis', "x = Tensor([[1., 2.], [3., 4.]], 'batch feat')\nx.sum('feet')"),
    ('An axis by position', "x = Tensor([[1., 2.], [3., 4.]], 'batch feat')\nx.sum(1)"),
    ('An option of another library', "x = Tensor([[1., 2.], [3., 4.]], 'batch feat')\nx.sum(dim=1)"),
    ('A method that does not exist', "x = Tensor([[1., 2.], [3., 4.]], 'batch feat')\nx.unsqueeze(0)"),
    ('A function that does not exist', "fl.sofmax"),
    ('Sizes that differ', "x = Tensor(np.ones((2, 3)), 'batch feat')\nw = Tensor(np.ones((4, 5)), "
                          "'feat out')\nx.dot(w, 'feat')"),
    ('Sizes that clash pointwise',
     "x = Tensor(np.ones((2, 3)), 'batch feat')\nx + Tensor(np.ones(4), 'feat')"),
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
    ('Backward twice',
     "x = fl.param([1., 2.], 'i')\nloss = (x * x).sum()\nloss.backward()\nloss.backward()"),
    ('Backward of a constant', "Tensor([1., 2.], 'i').sum().backward()"),
    ('A seed of other sizes', "x = fl.param([1., 2.], 'i')\n(x * x).backward([1., 1., 1.])"),
    ('A gradient rule of the wrong shape',
     "@fl.custom_vjp\ndef double(x:Tensor): return x.data * 2, x.tags, (lambda g: g.sum() * "
     "2,)\n\ndouble(fl.param([1., 2.], 'i')).sum().backward()"),
    ('A gradient rule that gives nothing',
     "@fl.custom_vjp\ndef double(x:Tensor): return x.data * 2, x.tags, (lambda g: "
     "None,)\n\ndouble(fl.param([1., 2.], 'i')).sum().backward()"),
    ('A gradient rule that is wrong',
     "@fl.custom_vjp\ndef double(x:Tensor): return x.data * 2, x.tags, (lambda g: "
     "g,)\n\nfl.gradcheck(double, Tensor([1., 2.], 'i'))"),
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
    mine = next((n.body for n in found if n.lineno == f.__code__.co_firstlineno
                 and (n.body.lineno, n.body.col_offset) in at),
                None)
    return mine and ast.get_source_segment(src, mine)

def by_hand(op, mistake):
    "The source of a mistake that somebody wrote, as a call of the operation."
    f = mistake.__code__.co_varnames[0]
    return re.sub(rf'\b{f}\(', f'fl.{op.name}(', body(mistake) or f'{f}(...)', count=1)

def by_hand_blocks(seen):
    "The mistakes of ERRORS as Markdown; `seen` learns of each kind of error where it stands."
    import fucinalib as fl, numpy as np
    for title, code in ERRORS:
        *setup, last = code.split('\n')
        scope = dict(fl=fl, np=np, Tensor=fl.Tensor)
        exec('\n'.join(setup), scope)
        try: message = raised(lambda last=last, scope=scope: exec(last, scope))
        except Exception as e:
            PROBLEMS.append(f'error gallery, {title}: {type(e).__name__}: {e}')
            continue
        slug = f'error-{re.sub(r"[^a-z]+", "-", title.lower())}'
        seen.setdefault(message.split(':')[0], []).append((title, slug))
        yield f'({slug})=\n## {title}\n\n{fault(code, message)}'

def shared(family, ops):
    "(code, message, names) of the mistakes of a family's operations; a message that many share stands once."
    shown = {}  # message without the operation's name -> [code, message, names]
    for op in ops:
        for _, mistake in op.mistakes:
            try: message = raised(lambda op=op, mistake=mistake: mistake(op.call))
            except Exception as e:
                PROBLEMS.append(f'error gallery, {op.name}: {type(e).__name__}: {e}')
                continue
            code = mistake.code() if hasattr(mistake, 'code') else by_hand(op, mistake)
            alike = re.sub(rf'\b{op.name}\b', 'op', message)
            shown.setdefault(alike, [code, message, []])[2].append(op.name)
    return [(code, message, list(dict.fromkeys(names))) for code, message, names in shown.values()]

def family_blocks(family, ops, seen):
    "The mistakes of a family's operations as Markdown, with the targets that other pages link to."
    blocks, linked = shared(family, ops), set()
    if blocks: yield f'## Operations: {family}\n'
    for code, message, names in blocks:
        kind = message.split(':')[0]
        slug = f'error-{family}-{kind}'.lower().replace(' ', '-')
        if (family, slug) not in seen.setdefault(kind, []):
            seen[kind].append((family, slug))
            yield f'({slug})='
        yield from (f'(mistake-{n})=' for n in names if n not in linked)
        yield fault(code, message)
        linked.update(names)
        if more := [f'`{n}`' for n in names[1:]]: yield f'{{.also}}\nLikewise {", ".join(more)}.\n'

def contents(seen):
    "An entry for each kind of error: what it means, and where on the page it stands."
    import fucinalib as fl
    for kind, places in sorted(seen.items()):
        doc = (getattr(fl, kind).__doc__ or '').strip().split('\n')[0]
        links = ', '.join(f'[{title[0].lower() + title[1:]}](#{slug})' for title, slug in places)
        yield f'`{kind}`\n: {text(doc)} {links}\n'

@page('errors', 'Error gallery')
def error_gallery():
    seen, blocks = {}, []
    blocks += by_hand_blocks(seen)
    for family, ops in by_family().items(): blocks += family_blocks(family, ops, seen)
    intro = 'Each mistake below was made while this page was built; the message is what it gave.\n'
    return '\n'.join([intro, '## By kind\n', ':::{container} kinds', *contents(seen), ':::', '', *blocks])

@page('speed', 'Measured speed')
def speed():
    import speed
    from build import inline_svg
    return speed.page(table, inline_svg)


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
