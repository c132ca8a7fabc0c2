"""Arrows run one way: no module imports one that stands later, and a chapter imports no later
chapter. DESIGN says why."""
import ast, json, re
from pathlib import Path
import pytest
import fucinalib as fl

HOME = Path(fl.__file__).parent
ROOT = HOME.parent

# From what everything may use to what uses everything. `ops.*` stand in the order of their chapters.
ORDER = """_before_numpy colors errors whole absent misnamed sides positions elsewhere modes tags dtypes incoming show
           kernels formats block_arithmetic tensor arguments misuse hooks operands written owed
           widening autograd gradients checks unfit unrouted picture graph
           contraction_trace
           ops facts registry_table
           nn optim data knn train evolution lora tracing surroundings plans recording profiling
           files text quant llm serve
           exercises examples measuring __main__ cli __init__""".split()
CHAPTERED = {'ops', 'nn', 'optim', 'data', 'train', 'text', 'files', 'llm', 'serve'}      # packages of chapters
# Files of such a package that stand on its chapters, by the place in their order.
PLAIN = {'text.bytelevel': '40b', 'text.charsmap': '41a', 'text.parts': '41a', 'text.sentencepiece': '41a',
         'text.tokenizer': '41b', 'files.safetensors': '42a', 'files.split': '42a',
         'files.described': '42b',
         'llm.quick': '43a', 'llm.step': '43b', 'llm.abreast': '43bb', 'llm.store': '43c', 'llm.gathered': '44a',
         'llm.loading': '44e',
         'llm.chat': '45a',
         'serve.patterns': '53_t', 'serve.unfit': '53_u', 'serve.combined': '53_v',
         'serve.tools': '53b', 'serve.speech': '53c', 'serve.answers': '53d', 'serve.asked': '53e',
         'serve.http': '53f'}
DISPLAY = {'__init__', '__main__'}      # they hand on and may import anything


def chapters():
    "Module -> the name of its chapter, which sorts as the reader meets it."
    found = {}
    for path in ROOT.glob('nbs/*.ipynb'):
        for cell in json.loads(path.read_text())['cells']:
            if made := re.match(r'#\| default_exp (\S+)', ''.join(cell['source'])): found[made[1]] = path.stem
    return found


def modules():
    return {'.'.join(p.relative_to(HOME).with_suffix('').parts): p
            for p in HOME.rglob('*.py') if p.name != '_modidx.py'}


def imported(path, name):
    "The modules of the library that a module imports, wherever the import stands."
    known, here = set(modules()), ['fucinalib', *name.split('.')]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import): bases = [(a.name, None) for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = here[:-node.level] if node.level else []
            bases = [('.'.join([*base, *filter(None, [node.module])]), a.name) for a in node.names]
        else: continue
        for base, member in bases:
            if base.split('.')[0] != 'fucinalib': continue
            inner = '.'.join(filter(None, [base.removeprefix('fucinalib').lstrip('.'), member]))
            yield inner if inner in known else base.removeprefix('fucinalib').lstrip('.')


def place(name, pages):
    "Where a module stands: its group, and within a package of chapters its chapter."
    group = name.split('.')[0]
    return ORDER.index(group), pages.get(name, '') if group in CHAPTERED else ''


PAGES = chapters() | PLAIN

@pytest.mark.parametrize('name', [n for n in modules() if n.split('.')[-1] not in DISPLAY])
def test_no_module_imports_a_later_one(name):
    for other in imported(modules()[name], name):
        if not other or other == name or name.startswith('kernels.') and other.startswith('kernels'): continue
        assert place(other, PAGES) <= place(name, PAGES), f'{name} imports {other}, which stands later'


def test_operations_are_registered_in_the_order_of_their_chapters():
    made = list(dict.fromkeys(o.module.removeprefix('fucinalib.') for o in fl.registry.values()
                              if o.module.startswith('fucinalib.ops')))
    assert made == sorted(made, key=PAGES.get)


def test_nobody_reaches_a_later_chapter_by_name():
    "`registry['relu']` in a module would be an import that no one sees."
    for name, path in modules().items():
        found = re.findall(r"registry\['\w+'\]", path.read_text())
        assert not found, f'{name}: {found}'


def test_kernels_are_written_by_hand_and_touch_nothing_else():
    "No chapter writes a kernel file; none draws, and none changes a table of another module."
    for name, path in modules().items():
        if not name.startswith('kernels.'): continue
        assert name not in PAGES, f'{name} is written by chapter {PAGES.get(name)}'
        for other in imported(path, name):
            early = place(other, PAGES) <= place('dtypes', PAGES)
            assert other.startswith('kernels') or early, f'{name} imports {other}'
        outside = {a.asname or a.name for n in ast.walk(ast.parse(path.read_text()))
                   if isinstance(n, ast.ImportFrom) and n.level == 2 for a in n.names}
        for n in ast.walk(ast.parse(path.read_text())):
            target = getattr(n, 'func', None)
            if isinstance(target, ast.Attribute) and target.attr in ('update', 'setdefault', '__setitem__'):
                assert getattr(target.value, 'id', '') not in outside, f'{name} writes into {target.value.id}'
