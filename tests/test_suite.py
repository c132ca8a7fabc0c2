"""The suite itself: what the default run leaves alone, and what test-all lets nobody leave out."""
import os, subprocess, sys
from configparser import ConfigParser
from pathlib import Path
import pytest
from conftest import REFERENCES

ROOT = Path(__file__).resolve().parents[1]


def pytest_in(folder, *arguments, **env):
    "Exit code and output of pytest run from a folder with this suite's conftest."
    command = [sys.executable, '-m', 'pytest', '-p', 'no:cacheprovider', *arguments]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **env}, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


def test_a_default_run_imports_no_reference(tmp_path):
    "Modules that break when they are imported stand in for all; the tests that know them are collected all the same."
    for name in REFERENCES: (tmp_path/f'{name}.py').write_text('raise RuntimeError("imported by a default run")\n')
    known = 'test_parity', 'test_torch_samples', 'test_blocks', 'test_fuzz'
    others = [f'--ignore={p}' for p in ROOT.glob('tests/test_*.py') if p.stem not in known]
    status, said = pytest_in(ROOT, '--collect-only', *others, PYTHONPATH=str(tmp_path))
    assert status == 0 and 'imported' not in said, said


SKIPS = '''
import pytest
def test_good(): pass
def test_inside(): pytest.importorskip('no_such_module')
@pytest.mark.skip(reason='never mind')
def test_marked(): pass
@pytest.fixture
def broken(): pytest.skip('no fixture today')
def test_fixture(broken): pass
@pytest.mark.xfail(strict=True)
def test_known(): assert 0
'''

def test_a_test_that_wants_a_reference_is_marked(tmp_path):
    "Or it fails, with the reference and without: a default run is the same on every machine."
    (tmp_path/'conftest.py').write_text((ROOT/'tests'/'conftest.py').read_text())
    (tmp_path/'gguf.py').write_text('')
    (tmp_path/'test_some.py').write_text('''
import pytest
def test_missing(): pytest.importorskip('onnx')
def test_present(): import gguf
def test_neither(): pass
@pytest.mark.torch
def test_marked(): import gguf
''')
    status, out = pytest_in(tmp_path, '-m', 'not slow and not torch', PYTHONPATH=f'{tmp_path}{os.pathsep}{ROOT}')
    assert '2 failed, 1 passed, 1 deselected' in out and out.count('mark it with pytest.mark.torch') >= 2, out


OUTCOMES = {'default': ([], '1 passed, 4 skipped, 1 xfailed'),
            'no-skips': (['--no-skips'], '1 failed, 1 passed, 1 xfailed, 3 errors')}

@pytest.mark.parametrize('options, said', OUTCOMES.values(), ids=OUTCOMES)
def test_a_skip_is_a_failure_where_nothing_may_skip(tmp_path, options, said):
    "In a test, by a mark, in a fixture, and of a whole file."
    (tmp_path/'conftest.py').write_text((ROOT/'tests'/'conftest.py').read_text())
    (tmp_path/'test_some.py').write_text(SKIPS)
    (tmp_path/'test_whole.py').write_text("import pytest\npytest.importorskip('no_such_file')\n")
    status, out = pytest_in(tmp_path, '-rs', '--continue-on-collection-errors', *options, PYTHONPATH=str(ROOT))
    assert said in out and status == len(options), out
    assert all(why in out for why in ('no_such_module', 'never mind', 'no fixture today', 'no_such_file')), out


def test_references_have_versions():
    "Every reference stands in settings.ini with a range of versions, torch with the one whose answers are stored."
    config = ConfigParser(delimiters=['='])
    config.read(ROOT/'settings.ini', encoding='utf-8')
    wanted = config['DEFAULT']['reference_requirements'].split()
    assert 'torch==' in wanted[0] and all('<' in w or '==' in w for w in wanted)
    assert set(REFERENCES) <= {w.split('=')[0].split('>')[0] for w in wanted}
