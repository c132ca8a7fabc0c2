"""The error gallery of the site: each card is made by running the mistake, so building it is the test."""
import importlib.util, re
from pathlib import Path
import pytest
import fucinalib as fl

spec = importlib.util.spec_from_file_location('pages', Path(__file__).parents[1] / 'docs/pages.py')
pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pages)


@pytest.mark.parametrize('title,code', pages.ERRORS, ids=[t for t, _ in pages.ERRORS])
def test_card(title, code):
    *setup, last = code.split('\n')
    scope = dict(fl=fl, np=__import__('numpy'), Tensor=fl.Tensor)
    exec('\n'.join(setup), scope)
    with pytest.raises(fl.FucinaError) as e: exec(last, scope)
    lines = str(e.value).split('\n')
    assert lines[-1].startswith('  help: ') and len(lines[0]) < 160
    assert not re.search(r'0x[0-9a-f]{6}|array\(\[', str(e.value)), 'contents or addresses in a message'


def test_every_mistake_has_a_card():
    text = pages.error_gallery()
    for o in fl.registry.values():
        if o.module.startswith('fucinalib'):
            assert f'fl.{o.name}(' in text or f'`{o.name}`' in text, f'{o.name} has no card'


def test_every_fault_offers_a_way_out():
    "No `fault(...)` in the source is without `help=`."
    import ast
    for path in Path(fl.__file__).parent.rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, 'id', '') == 'fault':
                assert any(k.arg == 'help' or k.arg is None for k in node.keywords) or len(
                    node.args) > 2, f'{path.name}:{node.lineno}'
