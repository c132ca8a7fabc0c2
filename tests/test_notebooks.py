"""Every chapter and tutorial runs; its exercises refuse the stub and accept the solution."""
import os, subprocess, sys
from concurrent.futures import ThreadPoolExecutor
import nbformat, pytest
import notebooks
from notebooks import ROOT

NOTEBOOKS = [str(p.relative_to(ROOT)) for p in notebooks.all_notebooks()]
MINUTES = 5                                                 # a chapter should take less than one


def run(notebook):
    "What is wrong with a notebook, '' if nothing; a process of its own, so that none sees another's changes"
    command = [sys.executable, 'tools/notebooks.py', 'check', notebook]
    output = dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try: done = subprocess.run(command, cwd=ROOT, timeout=60 * MINUTES, **output)
    except subprocess.TimeoutExpired: return f'took more than {MINUTES} minutes'
    return done.returncode and (done.stdout or f'ended with code {done.returncode}')


@pytest.fixture(scope='module')
def runs(request):
    "Notebook -> its result to come; two run at a time, only those selected"
    mine = [item for item in request.session.items if item.name.startswith('test_notebook[')]
    pool = ThreadPoolExecutor(min(2, os.cpu_count() or 1))
    yield {notebook: pool.submit(run, notebook) for notebook in (item.callspec.params['notebook'] for item in mine)}
    pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize('notebook', NOTEBOOKS)
def test_notebook(notebook, runs):
    if wrong := runs[notebook].result(): pytest.fail(f'{notebook}\n{wrong}', pytrace=False)


@pytest.mark.parametrize('sources, said', [
    (['x = 1', '#| eval: false\n1/0', 'assert x == 1'], []),
    (['x = 0', 'def f():\n    return 1/x\nf()'], ['cell 1:', '   2 |     return 1/x', 'ZeroDivisionError: division by zero']),
], ids=['right', 'wrong'])
def test_run_tells_cell_and_traceback(tmp_path, sources, said):
    path = tmp_path/'made.ipynb'
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources]), path)
    wrong = run(path)
    assert all(line in wrong for line in said) if said else not wrong


@pytest.mark.parametrize('values, message', [
    ({'exercise': False, 'solution': True}, ''),
    ({'exercise': True, 'solution': True}, 'exercise 01.1: its stub passes'),
    ({'exercise': False, 'solution': False}, 'exercise 01.1: its solution does not pass'),
    ({'exercise': False}, 'exercise 01.1 has no solution cell'),
    ({'solution': True}, 'exercise 01.1 has no stub cell'),
    ({'exercise': None, 'solution': True}, 'exercise 01.1 does not end in a verdict'),
])
def test_exercises_have_a_failing_stub_and_a_passing_solution(monkeypatch, values, message):
    ran = [(nbformat.v4.new_code_cell(f'#| {kind}: 01.1\nmine'), value, []) for kind, value in values.items()]
    monkeypatch.setattr(notebooks, 'cells', lambda path: ran)
    if not message: return notebooks.check('any')
    with pytest.raises(notebooks.Wrong, match=message): notebooks.check('any')
