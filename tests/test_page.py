"""What a page asks of a reader: how much of a chapter's code is errors and facts, how long and how
wide its cells are, whether one word means one thing. DESIGN, sections 7 and 10.

What is not yet reached stands in PRESENT with its value today. It only shrinks: a value that gets
worse fails, and so does an entry that is no longer needed. `python tests/test_page.py` prints it.
"""
import ast, functools, json, math, re, statistics
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MOST = dict(
    share=15,       # per cent of a module's characters that are errors and facts
    long=30,        # lines of an exported cell
    median=9,       # lines of the middle exported cell
    wide=104,       # columns of an exported cell: what a page of the site shows
    cells=110,      # cells of a chapter
    columns=120,    # columns of a file that people write
)
PRESENT = dict(
    share={
    },
    long={
    },
    median={
    },
    wide={
        '15a_copies': 1,
    },
    cells={
    },
    columns={
    },
    homonyms={
    },
    shadows={
    },
)


# ---- chapters and their modules

@functools.cache
def chapters():
    "Chapter -> its cells."
    return {p.stem: json.loads(p.read_text())['cells'] for p in sorted(ROOT.glob('nbs/[0-9]*.ipynb'))}

def text(cell): return ''.join(cell['source'])

@functools.cache
def modules():
    "Module that a chapter writes -> (file, syntax tree)."
    found = {}
    for cells in chapters().values():
        for name in re.findall(r'^#\| default_exp (\S+)', '\n'.join(map(text, cells)), re.M):
            path = ROOT/'fucinalib'/(name.replace('.', '/') + '.py')
            found[name] = path, ast.parse(path.read_text())
    return found

def is_imports(code):
    "Whether a cell only imports."
    return all(isinstance(n, (ast.Import, ast.ImportFrom)) for n in ast.parse(code).body)

def exported(mark='exports?'):
    "(chapter, lines of a cell that is exported) for every such cell; blank lines and imports do not count."
    for chapter, cells in chapters().items():
        for cell in cells:
            code = text(cell)
            if cell['cell_type'] != 'code' or not re.match(rf'\s*#\|\s*{mark}\b', code): continue
            if not is_imports(code): yield chapter, [l for l in code.splitlines() if l.strip()]


# ---- errors and facts

SPEAK = {'fault', 'no_gradient', 'no_arithmetic', 'mixed'}       # calls that make an error
WORDS = {'head', 'help'}                                          # names for what it will say

def called(node): return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ''

def speaks(node):
    "Whether a statement raises, gives back a fault or puts its words together."
    if isinstance(node, ast.Raise): return True
    if isinstance(node, ast.Return): return called(node.value) in SPEAK
    if not isinstance(node, ast.Assign): return False
    names = [n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)]
    return bool(names) and WORDS.issuperset(names)

def guards(body):
    "Whether statements do nothing but look for a fault: tests, words, raises."
    def quiet(n):
        if isinstance(n, (ast.If, ast.For, ast.While, ast.With)):
            return all(map(quiet, [*n.body, *getattr(n, 'orelse', [])]))
        if isinstance(n, ast.Try):
            return all(map(quiet, [*n.body, *n.orelse, *(s for h in n.handlers for s in h.body)]))
        if isinstance(n, ast.Return): return n.value is None or speaks(n)
        if isinstance(n, ast.Assign): return all(isinstance(t, (ast.Name, ast.Tuple)) for t in n.targets)
        return isinstance(n, (ast.Raise, ast.Pass, ast.Continue))
    body = [n for n in body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
    inside = (m for n in body for m in ast.walk(n))
    return all(map(quiet, body)) and any(isinstance(m, ast.Raise) or called(m) in SPEAK for m in inside)

def is_error(node):
    if isinstance(node, ast.FunctionDef): return guards(node.body)
    if isinstance(node, ast.If): return not node.orelse and all(map(speaks, node.body))
    return speaks(node) or called(node) in SPEAK

def is_fact(node):
    "facts(...) with all it is given, samples and mistakes wherever they stand, and loops and lists of them."
    if isinstance(node, ast.keyword): return node.arg in ('samples', 'mistakes')
    if isinstance(node, ast.Expr): return called(node.value) == 'facts'
    if isinstance(node, ast.For): return all(isinstance(n, ast.Expr) and is_fact(n) for n in node.body)
    if not isinstance(node, ast.Assign) or not isinstance(node.value, (ast.List, ast.ListComp, ast.Dict, ast.Tuple)):
        return False
    trial = lambda n: isinstance(n, ast.Lambda) and [a.arg for a in n.args.args] == ['f']
    return any(called(n) == 'Sample' or trial(n) for n in ast.walk(node.value))

def is_counted(node):
    "Imports, `__all__` and docstrings are not the reader's business here."
    if (isinstance(node, (ast.Import, ast.ImportFrom)) or isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)):
        return False
    return not (isinstance(node, ast.Assign) and getattr(node.targets[0], 'id', '') == '__all__')

def mark(mask, lines, node):
    "Note the characters of a node, from its decorators on."
    first = min([node.lineno, *(d.lineno for d in getattr(node, 'decorator_list', []))])
    for row in range(first - 1, node.end_lineno):
        a = node.col_offset if row == node.lineno - 1 and first == node.lineno else 0
        b = node.end_col_offset if row == node.end_lineno - 1 else len(lines[row])
        mask |= {(row, col) for col in range(a, b) if not lines[row][col:col + 1].isspace()}

def share_of(path, tree):
    "Per cent of a module's characters that are errors and facts."
    lines, code, noise = path.read_bytes().split(b'\n'), set(), set()
    for node in filter(is_counted, tree.body): mark(code, lines, node)
    for node in ast.walk(tree):
        if is_error(node) or is_fact(node): mark(noise, lines, node)
    return 100 * len(noise & code) / len(code) if len(code) > 200 else 0


# ---- the counters: name -> what is over the measure

def share(): return {name: math.ceil(s) for name, m in modules().items() if (s := share_of(*m)) > MOST['share']}

def long():
    "Exported cells of too many lines, by chapter."
    return tally(c for c, lines in exported() if len(lines) > MOST['long'])

def median():
    "Lines of the middle one of all exported cells."
    m = math.ceil(statistics.median(len(lines) for _, lines in exported()))
    return {'all chapters': m} if m > MOST['median'] else {}

def wide():
    "Exported cells with a line that a page cuts off, by chapter."
    return tally(c for c, lines in exported('(exports?|facts)') if max(map(len, lines)) > MOST['wide'])

def cells(): return {c: len(all_) for c, all_ in chapters().items() if len(all_) > MOST['cells']}

def columns():
    "Lines over 120 in what people write, by file."
    files = [p for p in ROOT.rglob('*.py') if set(p.relative_to(ROOT).parts) & HAND or p.parent == ROOT]
    over = {p: sum(len(l) > MOST['columns'] for l in p.read_text().splitlines()) for p in files if not written(p)}
    return {p.relative_to(ROOT).as_posix(): n for p, n in over.items() if n}

HAND = {'fucinalib', 'kernels_pythran', 'tests', 'tools', 'benchmarks', 'docs'}

def written(path):
    "Whether a program wrote this file."
    home = path.relative_to(ROOT).parts
    if home[0].startswith('.') or home[:2] in (('docs', '_build'), ('docs', '_src')): return True
    return bool(re.search(r'^# (autogenerated|written by tools)', path.read_text(), re.M | re.I))

def homonyms():
    """Public functions of one name and two meanings, in the library or among the kernels. Kernels
    are named after operations."""
    meant = defaultdict(dict)
    for path in sorted((ROOT/'fucinalib').rglob('*.py')):
        place = path.relative_to(ROOT/'fucinalib').with_suffix('').as_posix()
        side = 'kernels' if place.startswith('kernels/') else 'library'
        if place.startswith('examples/'): side = place      # a program by itself: what it defines, nobody imports
        if place.startswith('cli/'): side = 'command'       # likewise; its parts import each other
        tree = ast.parse(path.read_text())
        methods = {t.attr for n in tree.body if isinstance(n, ast.Assign) for t in n.targets
                   if isinstance(t, ast.Attribute) and ast.unparse(n.value) == f'staticmethod(named({t.attr}))'}
        for n in tree.body:
            if not isinstance(n, (ast.FunctionDef, ast.ClassDef)) or n.name.startswith('_'): continue
            method = isinstance(n, ast.FunctionDef) and [a.arg for a in n.args.args[:1]] == ['self']
            if not method and n.name not in methods:
                meant[side, n.name][place] = ast.get_docstring(n)
    return {f'{name}: {" ".join(places)}': len(set(places.values())) for (_, name), places in meant.items()
            if len(set(places.values())) > 1}

def shadows():
    """Functions of the operation library with a parameter called op, as the decorator is. Not the operations
    themselves: what a user may say is called what it is."""
    found = []
    for name, (_, tree) in modules().items():
        if not name.startswith('ops.'): continue
        public = {id(n.args) for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)
                  and any(called(d) == 'op' for d in n.decorator_list)}
        for n in ast.walk(tree):
            if isinstance(n, ast.arguments) and id(n) not in public:
                found += [name for a in [*n.posonlyargs, *n.args, *n.kwonlyargs] if a.arg == 'op']
    return tally(found)

def tally(names):
    found = defaultdict(int)
    for n in names: found[n] += 1
    return dict(found)

COUNTERS = {f.__name__: f for f in (share, long, median, wide, cells, columns, homonyms, shadows)}


@pytest.mark.parametrize('counter', COUNTERS)
def test_page(counter):
    now, before = COUNTERS[counter](), PRESENT.get(counter, {})
    worse = {k: (before.get(k, MOST.get(counter, 0)), n) for k, n in now.items() if n > before.get(k, 0)}
    assert not worse, f'{counter}: from, to {worse}'
    assert not (done := sorted(before.keys() - now.keys())), f'{counter}: reached, take it out of PRESENT: {done}'


CASES = {
    'raise fault(K, "of i64")': 100,
    'y = 1': 0,
    'if a: raise fault(K, "no")': 100,
    'if a: raise fault(K, "no")\nelse: b = 1': 60,
    'head, help = "no", "do"': 100,
    'help = "do"': 100,
    'facts(relu, [Sample("d=2")], [(K, lambda f: f(1))], torch="relu")': 100,
    'for o in (a, b): facts(o, [Sample("d=2")])': 100,
    'def check(x):\n    "Doc."\n    n = x.ndim\n    if n: raise fault(K, "no")': 100,
    'def work(x):\n    "Doc."\n    if x: raise fault(K, "no")\n    return x': 50,
    'def work(x):\n    "Doc."\n    x.data[:] = 0\n    raise fault(K, "no")': 39,
    '@op("f", samples=[Sample("d=2")])\ndef relu(x): return x': 45,
    'x = fault(K, "no") if a else b': 57,
    'trials = [Sample("d=2")]': 100,
    'every = lambda f: f(1)': 0,
}

@pytest.mark.parametrize('code', CASES)
def test_counter(code, tmp_path):
    "The counter of errors and facts on one statement each, beside a count by hand."
    path = tmp_path/'m.py'
    path.write_text(code + '\n' + '# pad\n')
    lines, noise, all_ = path.read_bytes().split(b'\n'), set(), set()
    tree = ast.parse(code)
    for n in tree.body: mark(all_, lines, n)
    for n in ast.walk(tree):
        if is_error(n) or is_fact(n): mark(noise, lines, n)
    assert abs(100 * len(noise & all_) / len(all_) - CASES[code]) <= 5


if __name__ == '__main__':
    print('PRESENT = dict(')
    for name, count in COUNTERS.items():
        print(f'    {name}={{')
        for key, n in sorted(count().items()): print(f'        {key!r}: {n},')
        print('    },')
    print(')')
