"""Every chapter and tutorial runs; its exercises refuse the stub and accept the solution; its file holds what a run gives."""
import json, os, re, subprocess, sys
from concurrent.futures import ThreadPoolExecutor
import nbformat, pytest
import notebooks
import fucinalib as fl
from notebooks import ROOT, executed, load, timing

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


# ---- what the files keep
def outputs(nb):
    "(cell number, kind, text) of all that the cells of a notebook show"
    for i, cell in enumerate(nb['cells']):
        for out in cell.get('outputs', []):
            for kind, data in ({'text': out['text']} if 'text' in out else out.get('data', {})).items(): yield i, kind, ''.join(data)

TIME = re.compile(r'\d ?(?:ms|µs|ns)\b|\b(?:it|epoch|[kMG]?B)/s\b|per second|\d times (?:faster|slower|as fast|the cost)')

@pytest.mark.parametrize('notebook', NOTEBOOKS)
def test_no_time_is_kept(notebook):
    "A cell marked timing keeps nothing, and no other shows a time; `duration(.00042)` of chapter 4 is none"
    nb = load(ROOT/notebook)
    assert not [i for i, cell in enumerate(nb['cells']) if timing(cell) and cell['outputs']]
    shown = [(i, re.sub('<style>.*?</style>|<[^>]*>', ' ', text, flags=re.S)) for i, kind, text in outputs(nb) if kind != 'image/png']
    assert not [(i, m[0]) for i, text in shown for m in TIME.finditer(text) if 'duration(' not in ''.join(nb['cells'][i]['source'])]


NUMBER = re.compile(r'-?\d+\.?\d*(?:e[+-]?\d+)?')

def alike(a, b):
    "Whether two texts differ at most by rounding, as those of two processors do: numbers by a thousandth, or below 1e-5"
    a, b = (re.sub('base64,[^"]*', '', text) for text in (a, b))
    near = lambda x, y: x == y or abs(float(x) - float(y)) <= max(1e-5, 1e-3 * abs(float(x)))
    return NUMBER.sub('0', a) == NUMBER.sub('0', b) and all(map(near, NUMBER.findall(a), NUMBER.findall(b)))

QUICK = ['nbs/04_graph.ipynb']

@pytest.mark.parametrize('notebook', [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in NOTEBOOKS])
def test_a_run_gives_what_the_file_holds(notebook, monkeypatch):
    "Two runs give the same bytes; those of the file are the same but for the rounding of another processor, and its pictures of data"
    monkeypatch.setenv('FUCINALIB_RENDERER', notebooks.RENDERER)
    with ThreadPoolExecutor(2) as pool: first, second = pool.map(executed, [ROOT/notebook] * 2)
    assert first == second
    if 'pythran' not in fl.backends() or first == (ROOT/notebook).read_text(encoding='utf-8'): return
    ran, kept = list(outputs(json.loads(first))), list(outputs(load(ROOT/notebook)))
    assert [o[:2] for o in ran] == [o[:2] for o in kept], f'make execute ARGS={notebook}'
    different = [(i, kind, mine, held) for (i, kind, mine), (_, _, held) in zip(ran, kept) if kind != 'image/png' and not alike(mine, held)]
    assert not different, f'make execute ARGS={notebook}'

@pytest.mark.parametrize('a, b, same', [
    ('largest error 9.3e-11', 'largest error 3.2e-11', True), ('[0.12345, 2]', '[0.12346, 2]', True), ('1.5', '1.6', False),
    ('3 NaN', '4 NaN', False), ('3.5 ', '3.5', False), ('<img src="data:image/png;base64,AB1">', '<img src="data:image/png;base64,CD2">', True)])
def test_alike(a, b, same): assert alike(a, b) == same

def test_what_a_timing_cell_shows_is_not_kept(tmp_path):
    cells = ['from time import perf_counter, sleep', '#| timing\nnow = perf_counter(); print("slept")\nnow', '1 + 1']
    path = tmp_path/'made.ipynb'
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in cells]), path)
    nb = json.loads(executed(path))
    assert [len(c['outputs']) for c in nb['cells']] == [0, 0, 1] and executed(path) == executed(path)
    nb['cells'][1]['outputs'] = nb['cells'][2]['outputs']
    path.write_text(json.dumps(nb))
    assert 'cell 1 is marked timing, and the file keeps what it showed' in run(path)
    shown = subprocess.run([sys.executable, ROOT/'tools/notebooks.py', 'show', path], capture_output=True, text=True).stdout
    assert 'slept' in shown
