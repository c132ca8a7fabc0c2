"""Every chapter and tutorial runs; its exercises refuse the stub and accept the solution; its
file holds what a run gives."""
import hashlib, json, os, re, subprocess, sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
import nbformat, numpy, pytest
import notebooks
import fucinalib as fl
from notebooks import ROOT, executed, load, standing, timing

NOTEBOOKS = [str(p.relative_to(ROOT)) for p in notebooks.all_notebooks()]
FETCHING = {n for n in NOTEBOOKS if notebooks.fetches(load(ROOT/n))}
MINUTES = 5                                                 # a chapter should take less than one


def run(notebook):
    "What is wrong with a notebook, '' if nothing; a process of its own, so that none sees another's changes"
    command = [sys.executable, 'tools/notebooks.py', 'check', notebook]
    output = dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try: done = subprocess.run(command, cwd=ROOT, timeout=60 * MINUTES, **output)
    except subprocess.TimeoutExpired: return f'took more than {MINUTES} minutes'
    return done.returncode and (done.stdout or f'ended with code {done.returncode}')


# ---- what passed already
@cache
def library():
    "A digest of all that a notebook runs on: the library, its kernels, this runner"
    files = [*ROOT.glob('fucinalib/**/*.py'), *ROOT.glob('kernels_pythran/*.so'), ROOT/'tools/notebooks.py', __file__]
    digest = hashlib.sha256(
        repr((sys.version,
              numpy.__version__,
              sorted(e for e in os.environ.items() if e[0].startswith('FUCINALIB_')))).encode())
    for path in sorted(map(str, files)): digest.update(open(path, 'rb').read())
    return digest.hexdigest()


def record(what, notebook, content):
    "The file that exists if this test of a notebook passed with this content, on this library"
    key = hashlib.sha256((content + library()).encode()).hexdigest()[:16]
    return ROOT/'.cache'/'notebooks'/f'{what}-{notebook.replace("/", "-")}-{key}'


def code(nb): return json.dumps([''.join(c['source']) for c in nb['cells'] if c['cell_type'] == 'code'])


class Passed:
    "Which tests of notebooks need not run again, and how many were spared; in CI and in make test-all all run"
    def __init__(self, config):
        self.used, self.spared, self.total = (
            os.environ.get('CI') != 'true' and not config.option.no_skips, 0, 0)
    def known(self, file):
        self.total += 1
        self.spared += (known := self.used and file.exists())
        return known
    def note(self, file):
        file.parent.mkdir(parents=True, exist_ok=True)
        for old in file.parent.glob(f'{file.name.rpartition("-")[0]}-*'): old.unlink()
        file.touch()


@pytest.fixture(scope='session')
def passed(request):
    request.config.passed = getattr(request.config, 'passed', None) or Passed(request.config)
    return request.config.passed


@pytest.fixture(scope='module')
def runs(request, passed):
    "Notebook -> its result to come, '' for one that passed as it is; two run at a time, only those selected"
    mine = [item.callspec.params['notebook']
            for item in request.session.items if item.name.startswith('test_notebook[')]
    pool = ThreadPoolExecutor(min(2, os.cpu_count() or 1))
    files = {notebook: record('run', notebook,
                              code(load(ROOT/notebook)) + code(standing(ROOT/notebook)))
             for notebook in mine}
    def tried(notebook):
        if not (wrong := run(notebook)): passed.note(files[notebook])
        return wrong
    yield {notebook: pool.submit((lambda _: '') if passed.known(files[notebook]) else tried, notebook)
           for notebook in mine}
    pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize('notebook', [pytest.param(n, marks=[pytest.mark.slow] * (n in FETCHING)) for n in NOTEBOOKS])
def test_notebook(notebook, runs):
    if wrong := runs[notebook].result(): pytest.fail(f'{notebook}\n{wrong}', pytrace=False)


@pytest.mark.parametrize(
    'sources, said', [
        (['x = 1', '#| eval: false\n1/0', 'assert x == 1'], []),
        (['x = 0', 'def f():\n    return 1/x\nf()'],
         ['cell 1:', '   2 |     return 1/x', 'ZeroDivisionError: division by zero']),
    ],
    ids=['right', 'wrong'])
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
    monkeypatch.setattr(notebooks, 'cells', lambda path, nb: ran)
    monkeypatch.setattr(notebooks, 'check_book', lambda numbers: None)
    if not message: return notebooks.judge('any', None)
    with pytest.raises(notebooks.Wrong, match=message): notebooks.judge('any', None)


# ---- what the files keep
def outputs(nb):
    "(cell number, kind, text) of all that the cells of a notebook show"
    for i, cell in enumerate(nb['cells']):
        for out in cell.get('outputs', []):
            for kind, data in ({'text': out['text']} if 'text' in out else out.get('data', {})).items():
                yield i, kind, ''.join(data)

TIME = re.compile(r'\d ?(?:ms|µs|ns)\b|\b(?:it|epoch|[kMG]?B)/s\b|per second|\d times '
                  r'(?:faster|slower|as fast|the cost)')

@pytest.mark.parametrize('notebook', NOTEBOOKS)
def test_no_time_is_kept(notebook):
    "A cell marked timing keeps nothing, and no other shows a time; `duration(.00042)` of chapter 4 is none"
    nb = standing(ROOT/notebook)
    assert not [i for i, cell in enumerate(nb['cells']) if timing(cell) and cell['outputs']]
    shown = [(i, re.sub('<style>.*?</style>|<[^>]*>', ' ', text, flags=re.S))
             for i, kind, text in outputs(nb) if kind != 'image/png']
    assert not [(i, m[0]) for i, text in shown for m in TIME.finditer(text)
                if 'duration(' not in ''.join(nb['cells'][i]['source'])]


NUMBER = re.compile(r'-?\d+\.?\d*(?:e[+-]?\d+)?')

def alike(a, b):
    """Whether two texts differ at most by rounding, as those of two processors do: numbers by a
    thousandth, or below 1e-5"""
    a, b = (re.sub('base64,[^"]*', '', text) for text in (a, b))
    near = lambda x, y: x == y or abs(float(x) - float(y)) <= max(1e-5, 1e-3 * abs(float(x)))
    return NUMBER.sub('0', a) == NUMBER.sub('0', b) and all(map(near, NUMBER.findall(a), NUMBER.findall(b)))

QUICK = [f'nbs/{n}.ipynb' for n in ('01_tags', '04_graph', '10_pointwise', '18_softmax', '22_attention')]

@pytest.mark.parametrize('notebook', [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in NOTEBOOKS])
def test_a_run_gives_what_the_file_holds(notebook, passed, monkeypatch):
    """Two runs give the same bytes; those of the file are the same but for the rounding of
    another processor, its pictures of data, and what is marked as depending on them"""
    nb = standing(ROOT/notebook)
    if passed.known(file := record('twice', notebook, json.dumps(nb))): return
    monkeypatch.setenv('FUCINALIB_RENDERER', notebooks.RENDERER)
    with ThreadPoolExecutor(2) as pool: first, second = pool.map(executed, [ROOT/notebook] * 2, [nb] * 2)
    assert first == second
    if 'pythran' not in fl.backends(): return
    ran, kept = list(outputs(json.loads(first))), list(outputs(nb))
    assert [o[:2] for o in ran] == [o[:2] for o in kept], f'make execute ARGS={notebook}'
    free = {i for i, cell in enumerate(nb['cells']) if notebooks.varies(cell)}
    different = [(i, kind, mine, held) for (i, kind, mine), (_, _, held) in zip(ran, kept) if i not in free
                 if kind != 'image/png' and not alike(mine, held)]
    assert not different, f'make execute ARGS={notebook}'
    passed.note(file)

@pytest.mark.parametrize(
    'a, b, same', [
        ('largest error 9.3e-11', 'largest error 3.2e-11', True),
        ('[0.12345, 2]', '[0.12346, 2]', True), ('1.5', '1.6', False),
        ('3 NaN', '4 NaN', False), ('3.5 ', '3.5', False),
        ('<img src="data:image/png;base64,AB1">', '<img src="data:image/png;base64,CD2">', True)])
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
    shown = subprocess.run([sys.executable, ROOT/'tools/notebooks.py', 'show', path],
                           capture_output=True, text=True).stdout
    assert 'slept' in shown

def test_a_heading_with_nothing_under_it_is_not_shown(tmp_path):
    "In a terminal there is no text, so it would announce nothing."
    path = tmp_path/'a.ipynb'
    page = ['# Page', '## Text only', '## Part', '### Deeper', '6 * 7', '## Next', '### Empty', '## Last']
    nbformat.write(nbformat.v4.new_notebook(cells=[
        (nbformat.v4.new_markdown_cell if s[0] == '#' else nbformat.v4.new_code_cell)(s) for s in page]), path)
    shown = subprocess.run([sys.executable, ROOT/'tools/notebooks.py', 'show', path],
                           capture_output=True, text=True).stdout
    assert shown.split('\n') == ['', '# Page', '', '## Part', '', '### Deeper', '42', '']


# ---- someone works in a notebook of the source
STUB = "#| exercise: 91.1\ndef mine(x): ...\ncheck('91.1', mine)"
ANSWER = "#| exercise: 91.1\ndef mine(x): return x + 1\ncheck('91.1', mine)"
ASK = """from fucinalib.exercises import exercise, check
exercise('91.1', 'One more', reference=lambda x: x + 1, inputs=[(1,), (2,)])"""
SOLUTION = "#| solution: 91.1\ncheck('91.1', lambda x: 1 + x)"
USE = ("from fucinalib.exercises import book, use\nbook['91.1'].method = 'one_more'\nwith "
       "use('91.1'):\n    from fucinalib import Tensor\n    Tensor(1.).one_more()")


@pytest.fixture
def chapter(tmp_path, monkeypatch):
    "A notebook with one exercise, committed"
    monkeypatch.delenv('CI', raising=False)
    nb = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(s) for s in (ASK, STUB, SOLUTION, '#| timing\n1', USE)])
    path = tmp_path/'91_made.ipynb'
    path.write_text(notebooks.tidy(json.loads(nbformat.writes(nb))))
    git = ['git', '-c', 'user.name=a', '-c', 'user.email=a@example.invalid']
    for command in ('init -q', 'add -A', 'commit -qm made'):
        subprocess.run([*git, *command.split()], cwd=tmp_path, check=True)
    return path


def saved(path, change, session=True):
    "Save as JupyterLab does, with the traces of a session, or as an editor of text would"
    nb = json.loads(path.read_text())
    for i, cell in enumerate(nb['cells']):
        if session: cell['execution_count'] = i + 1
    if session: nb['metadata']['language_info'] = {'name': 'python'}
    change(nb['cells'])
    path.write_text(notebooks.text_of(nb))


SAVED = {
    'solved': lambda cells: cells[1].update(source=ANSWER),
    'unfinished': lambda cells: cells[1].update(source=STUB.replace('...', 'return (')),
    'a cell of scratch': lambda cells: cells.insert(2, {**cells[0], 'id': 'scratch', 'source': '1/0'}),
    'a time': lambda cells: cells[3].update(
        outputs=[{'output_type': 'stream', 'name': 'stdout', 'text': '12 ms'}])}

@pytest.mark.parametrize('change', SAVED.values(), ids=SAVED)
def test_solving_and_saving_in_the_source_breaks_nothing(chapter, change):
    was = notebooks.load(chapter)
    saved(chapter, change)
    assert notebooks.in_session(chapter) and standing(chapter) == was and not run(chapter)

def test_an_answer_in_a_tidy_file_breaks_nothing_either(chapter):
    saved(chapter, SAVED['solved'], session=False)
    assert not notebooks.in_session(chapter) and not run(chapter)
    assert ''.join(notebooks.load(chapter)['cells'][1]['source']) == ANSWER          # nobody wrote into the file

def test_what_is_committed_is_held_to_its_word(chapter, monkeypatch):
    saved(chapter, SAVED['solved'], session=False)
    subprocess.run(
        ['git', '-c', 'user.name=a', '-c', 'user.email=a@example.invalid', 'commit', '-qam', 'solved'],
        cwd=chapter.parent, check=True)
    assert 'exercise 91.1: its stub passes' in run(chapter)

def test_the_library_is_part_of_what_is_compared():
    assert library.__wrapped__() == library() and len(library()) == 64

def test_in_ci_nobody_works_in_a_notebook(chapter, monkeypatch):
    monkeypatch.setenv('CI', 'true')
    saved(chapter, SAVED['a cell of scratch'])
    assert not notebooks.in_session(chapter) and 'ZeroDivisionError' in run(chapter)

def test_another_cell_that_was_changed_is_run(chapter):
    saved(chapter, lambda cells: cells[0].update(source=ASK + '\n1/0'), session=False)
    assert 'ZeroDivisionError' in run(chapter)


# ---- running again
def test_only_what_changed_is_run_again(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), 'ROOT', tmp_path)
    monkeypatch.setitem(globals(), 'library', lambda: 'one')
    cell = nbformat.v4.new_code_cell
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell('prose'), cell('1 + 1')])
    file = record('run', 'nbs/91_made.ipynb', code(nb))
    monkeypatch.delenv('CI', raising=False)
    class Config: no_skips, option = False, property(lambda self: self)
    passed = Passed(Config())
    assert not passed.known(file)
    passed.note(file)
    assert passed.known(file) and (passed.spared, passed.total) == (1, 2)
    nb.cells[0].source = 'other prose'
    assert passed.known(record('run', 'nbs/91_made.ipynb', code(nb)))
    nb.cells[1].source = '1 + 2'
    assert not passed.known(changed := record('run', 'nbs/91_made.ipynb', code(nb)))
    passed.note(changed)
    assert [p.name for p in file.parent.iterdir()] == [changed.name]                 # one record a notebook
    monkeypatch.setitem(globals(), 'library', lambda: 'another')
    assert not passed.known(record('run', 'nbs/91_made.ipynb', code(nb)))
    monkeypatch.setenv('CI', 'true')
    assert not Passed(Config()).known(changed)


# ---- exercises
def cells_of(notebook, kind):
    return [c for c in standing(ROOT/notebook)['cells']
            if c['cell_type'] == 'code' and kind in notebooks.directives(c)]

EXERCISED = [n for n in NOTEBOOKS if cells_of(n, 'exercise')]

@pytest.mark.parametrize('notebook', EXERCISED)
def test_a_chapter_with_exercises_has_all_that_answers(notebook):
    "check, hint, solution and use are there; what gives answers away is folded"
    hidden = [c for c in cells_of(notebook, 'hide') if 'exercise(' in ''.join(c['source'])]
    assert any(
        'from fucinalib.exercises import exercise, check, hint, solution, use\n' in ''.join(c['source'])
        for c in hidden)
    assert all(c['metadata'].get('jupyter', {}).get('source_hidden') for c in hidden + cells_of(notebook, 'solution'))

def made(tmp_path, *sources):
    path = tmp_path/'91_made.ipynb'
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources]), path)
    return path

@pytest.mark.parametrize(
    'ask, solution, accepted', [
        ("reference=lambda x: x * 1, inputs=[(T([1., 2.], 'd'),), (T([3.], 'd'),)]",
         'lambda x: x * 1',
         'accepts its argument 0 as it came'),
        ("reference=lambda x: x - x, inputs=[(T([1., 2.], 'd'),), (T([3.], 'd'),)]",
         'lambda x: x * 0',
         'accepts zeros'),
        ("reference=lambda x: 3, inputs=[(1,), (2,)]",
         'lambda x: 3',
         'accepts the first right answer for all inputs'),
        ("reference=lambda: 0, inputs=[()]", 'lambda: 0', 'accepts zeros'),
        ("reference=lambda: [], inputs=[()]", 'lambda: []', 'accepts'),
        ("reference=lambda x: x > 0, inputs=[(1,), (2,)]",
         'lambda x: x > 0',
         'accepts the first right answer'),
        ("reference=lambda x: x + 1, inputs=[(1,), (2,)]", 'lambda x: x + 1', ''),
        ("reference=lambda: 256, inputs=[()]", 'lambda: 256', '')])
def test_careless_answers_are_refused(tmp_path, ask, solution, accepted):
    path = made(tmp_path, "from fucinalib.exercises import exercise, check, book\nfrom fucinalib "
                          f"import Tensor as T\nexercise('91.1', 'A', {ask})",
                "#| exercise: 91.1\ncheck('91.1', ...)",
                f"#| solution: 91.1\ncheck('91.1', {solution})", "book['91.1'].used = True")
    assert accepted in run(path) if accepted else not run(path)

def test_a_stub_that_tells_and_a_chapter_that_uses_nothing(tmp_path):
    start, end = ASK, SOLUTION
    assert 'no cell puts an answer of this chapter into the library' in run(made(tmp_path, start, STUB, end))
    told = "#| exercise: 91.1\ncheck('91.1', lambda x: x)"
    assert 'its stub is taken for an answer, so what is right is told' in run(made(tmp_path, start, told, end))
