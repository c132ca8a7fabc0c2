"""Run the chapters and tutorials, and keep their files in form.

python tools/notebooks.py show NOTEBOOK run it and print what it shows (`make lab OPEN=0`) python
tools/notebooks.py check NOTEBOOK run it and tell what is wrong first (tests/test_notebooks.py)
python tools/notebooks.py committed NOTEBOOK the same, with exercises as they were committed
python tools/notebooks.py execute [NOTEBOOK ...] run in Jupyter, keep the results in the file
(`make execute`)

A code cell marked `#| eval: false`, `#| notest` or `#| slow` is not run. What a cell marked `#|
timing` shows depends on the machine and the moment: whoever runs it sees it, and no file keeps
it. What one marked `#| varies` shows is what a model learned, in which the last bit of another
processor, or another set of data, makes a difference: the file keeps it, and another may get
something else. A notebook with a cell marked `#| fetches` needs a file of many megabytes from the
network: only `make test-all` runs it, and the site shows what the file keeps."""
import json, os, re, subprocess, sys, traceback
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# draws all pictures that are kept, whatever else is installed
RENDERER = 'graphviz-pure'
QUIET = ['--log-level=ERROR']                               # a kernel warns that it talks to this machine unencrypted
os.environ.setdefault('OPENBLAS_THREAD_TIMEOUT', '4')       # before NumPy: see fucinalib/_before_numpy.py
os.environ['FUCINALIB_CHOICES'] = 'table'           # what was measured here changes which function a cell counts


class Wrong(Exception):
    "What is wrong with a notebook, told for its author"


# ---- files
def all_notebooks():
    "The chapters in reading order, then the tutorials"
    return [p for folder in ('nbs', 'tutorials') for p in sorted((ROOT/folder).glob('[!._]*.ipynb'))]


def named(path): return os.path.relpath(path, ROOT) if Path(path).is_relative_to(ROOT) else str(path)


MARK = re.compile(r'^`?(?:<{7}|>{7}|\|{7})(?=[ `]|$).*', re.M)      # nbdev_fix puts them between backticks


def marks(text):
    "(line, mark) of what a merge left in a text"
    return [(text.count('\n', 0, m.start()) + 1, m[0].strip('`')) for m in MARK.finditer(text)]


def load(path):
    "A notebook as a dict; Wrong with file, line and a way out if a merge left its marks or it is not JSON"
    return parse(Path(path).read_bytes(), named(path))


def parse(data, name):
    "The same for the bytes of the file"
    back = f'git checkout {name} brings back the last one committed'
    try: nb = json.loads(data.decode('utf-8'))
    except ValueError as error:
        if found := marks(data.decode('utf-8', 'replace')):
            line, mark = found[0]
            raise Wrong(f"{name}, line {line}: a merge left '{mark}'; nbdev_fix {name} makes cells "
                        "of both sides: keep what is right, "
                        'delete the marks') from None
        raise Wrong(f'{name}, line {getattr(error, "lineno", 1)}: not a notebook '
                    f'({getattr(error, "msg", error)}); {back}') from None
    if not isinstance(nb, dict) or not isinstance(nb.get('cells'), list):
        raise Wrong(f'{name}: not a notebook (it has no cells); {back}')
    for i, cell in enumerate(nb['cells']):
        for line, mark in marks(''.join(cell['source'])):
            raise Wrong(f"{name}, cell {i} ({cell['cell_type']}), line {line}: a merge left "
                        f"'{mark}'; keep the side that is right, "
                        'delete the marks')
    return nb


def committed(path):
    "The notebook as it was committed last; None where git cannot tell"
    done = subprocess.run(['git', 'show', f'HEAD:./{path.name}'], cwd=path.parent, capture_output=True)
    try: return None if done.returncode else parse(done.stdout, named(path))
    except Wrong: return None


def in_session(path):
    """Whether someone works in this file: it has traces of a session in JupyterLab, and was not
    committed so. In CI nobody does"""
    if os.environ.get('CI') == 'true': return False
    nb = load(path)
    return text_of(nb) != tidy(nb) and nb != committed(path)


def standing(path):
    """The notebook that the project stands by: the file; as committed while someone works in it;
    exercises as committed always"""
    path = Path(path).resolve()
    nb, was = load(path), committed(path)
    if was is None or nb == was: return nb
    if in_session(path): return was
    stubs = {c['id']: c for c in was['cells'] if 'exercise' in directives(c)}
    return {**nb, 'cells': [stubs.get(c['id'], c) if 'exercise' in directives(c) else c for c in nb['cells']]}


def text_of(nb):
    "A notebook as nbdev writes it"
    from execnb.nbio import dict2nb, nb2str
    return nb2str(dict2nb(nb))


def tidy(nb):
    "The text of a notebook as `nbdev_clean` leaves it"
    from execnb.nbio import dict2nb, nb2str
    from nbdev.clean import clean_nb
    from nbdev.config import get_config
    nb, keys = dict2nb(nb), get_config(path=ROOT)
    clean_nb(nb, allowed_metadata_keys=keys.allowed_metadata_keys.split(),
             allowed_cell_metadata_keys=keys.allowed_cell_metadata_keys.split(), clean_ids=keys.clean_ids)
    return nb2str(nb)


# ---- cells
def directives(cell):
    "`#| name: value` lines of a cell as a dict"
    return dict(re.findall(r'^#\|\s*([\w-]+):?[ \t]*(.*?)\s*$', ''.join(cell['source']), re.M))


def wanted(cell):
    "Is this a code cell that is meant to run?"
    found = directives(cell)
    return cell['cell_type'] == 'code' and found.get('eval') != 'false' and not found.keys() & {'notest', 'slow'}


def varies(cell): return cell['cell_type'] == 'code' and 'varies' in directives(cell)


def fetches(nb): return any('fetches' in directives(cell) for cell in nb['cells'] if cell['cell_type'] == 'code')


def timing(cell): return cell['cell_type'] == 'code' and 'timing' in directives(cell)


def cells(path, nb=None):
    "Run a notebook in a fresh shell, from its own folder; yields (cell, value of its last line, outputs)"
    from execnb.nbio import dict2nb
    from execnb.shell import CaptureShell
    nb, shell = dict2nb(nb or load(path)), CaptureShell(path, mpl_format='png')
    os.environ['IN_TEST'] = '1'                             # a cell that calls nbdev_export() does nothing
    os.chdir(Path(path).parent)
    sys.path.insert(0, str(ROOT))
    for cell in nb.cells:
        if not wanted(cell):
            yield cell, None, []
            continue
        outputs = shell.run(cell.source)
        if shell.exc: raise Wrong(f'cell {cell.idx_}:\n{numbered(cell.source)}\n\n{trace(shell.exc)}')
        yield cell, shell.result, outputs


def numbered(source): return '\n'.join(f'{i:4} | {line}' for i, line in enumerate(source.splitlines(), 1))


def trace(exc):
    "The traceback from the notebook's own line on"
    tb = exc.__traceback__
    while tb and 'IPython' in tb.tb_frame.f_code.co_filename: tb = tb.tb_next
    return ''.join(traceback.format_exception(type(exc), exc, tb))


def check(path):
    """What is wrong with a notebook as Wrong; an answer that someone wrote into an exercise of
    it, right or not, is nothing wrong"""
    try: judge(path, load(path))
    except Wrong:
        if standing(path) == load(path): raise
        again = [sys.executable, __file__, 'committed', str(path)]
        if subprocess.run(again, cwd=ROOT, capture_output=True).returncode: raise


def judge(path, nb):
    "Every cell runs; an exercise's stub is unanswered, its solution right, what nobody should pass with refused"
    accepted = {'exercise': {}, 'solution': {}}             # kind -> {number: verdict}
    for i, (cell, value, _) in enumerate(cells(path, nb)):
        if timing(cell) and cell.get('outputs'):
            raise Wrong(f'cell {i} is marked timing, and the file keeps what it showed; make '
                        f'execute ARGS={named(path)}')
        for kind in accepted.keys() & directives(cell).keys():
            number = directives(cell)[kind]
            if value is None: raise Wrong(f'{kind} {number} does not end in a verdict:\n{numbered(cell.source)}')
            accepted[kind][number] = value
    stubs, solutions = accepted.values()
    for number in stubs.keys() ^ solutions.keys():
        raise Wrong(f'exercise {number} has no {"solution" if number in stubs else "stub"} cell')
    for number in stubs:
        if stubs[number]: raise Wrong(f'exercise {number}: its stub passes, so there is nothing to do')
        if not solutions[number]: raise Wrong(f'exercise {number}: its solution does not pass')
        if getattr(stubs[number], 'answered', False):
            raise Wrong(f'exercise {number}: its stub is taken for an answer, so what is right is '
                        'told before a line is written; end it in ...')
    if stubs: check_book(stubs)


def check_book(numbers):
    "What the chapter's exercises owe beyond their cells: careless answers are refused, and one answer can be used"
    from fucinalib import exercises
    mine = [ex for number, ex in exercises.book.items() if number in numbers]
    for ex in mine:
        for what, answer in careless(ex):
            if exercises.check(ex.id, answer): raise Wrong(f'exercise {ex.id}: accepts {what}')
    if mine and not any(ex.used for ex in mine):
        raise Wrong(f'no cell puts an answer of this chapter into the library: use({mine[0].id!r})')


def careless(ex):
    "(what, answer) that every exercise refuses, since nobody thought to write it"
    from fucinalib.exercises import fresh
    cases, told = ex.cases(), callable(ex.reference)
    right = lambda args: ex.run(ex.reference, *map(fresh, args)) if told else ex.reference
    if ex.raises is None:
        yield 'zeros', (lambda *args: nought(right(args))) if told else nought(ex.reference)
        if len(cases) > 1 or cases[0]: yield 'the first right answer for all inputs', lambda *args: right(cases[0])
    for k in range(max(map(len, cases))): yield f'its argument {k} as it came', lambda *args, k=k: args[k]
    for value in (None, ..., 0, 1, True, False, '', [], ()):
        yield repr(value), value
        yield f'a function that returns {value!r}', lambda *args, value=value: value


def nought(v):
    "Zeros in the form of a value"
    import numpy as np
    if isinstance(v, (list, tuple)):
        return type(v)(map(nought, v)) if not hasattr(v, '_fields') else type(v)(*map(nought, v))
    if hasattr(v, 'tags'): return type(v)(np.zeros(v.shape, v.data.dtype), v.tags)
    return (v * 0 if isinstance(v, (np.ndarray, np.generic, int, float, complex)) else type(v)()
            if isinstance(v, (str, dict)) else None)


def settled(outputs):
    "Outputs with the pieces of a stream joined and what a progress bar wrote over left out"
    done = []
    for out in outputs:
        if out.get('output_type') != 'stream': done.append(out)
        elif done and done[-1].get('name') == out['name']:
            done[-1]['text'] = ''.join(done[-1]['text']) + ''.join(out['text'])
        else: done.append(out)
    for out in done:
        if out.get('output_type') == 'stream': out['text'] = re.sub(r'[^\n]*\r(?=[^\n])', '', ''.join(out['text']))
    return done


# ---- commands
PICTURES = ROOT/'work'/'pictures'


def picture(data, name):
    "What a terminal says of an output: its text; a picture goes to a file, and the text is its name"
    text = ''.join(data.get('text/plain', '')).rstrip()
    kind = next((k for k in ('image/svg+xml', 'image/png') if k in data), None)
    if kind is None: return text
    PICTURES.mkdir(parents=True, exist_ok=True)
    path = PICTURES/f'{name}.{kind[6:9]}'
    made = ''.join(data[kind])
    path.write_bytes(b64decode(made) if kind == 'image/png' else made.encode('utf-8'))
    return f'{text.split(";")[0].strip("<>")}: {named(path)}'


def depth(heading): return len(heading.split()[0])


def show(path):
    """Print results as they come, and the headings that have any under them; pictures go to files,
    numbered in their order"""
    n, above = 0, []
    for cell, _, outputs in cells(path):
        if cell['cell_type'] == 'markdown':
            for heading in re.findall(r'^#+ .*', cell.source, re.M):
                above = [h for h in above if depth(h) < depth(heading)] + [heading]
        for out in settled(outputs):
            while above: print(f'\n{above.pop(0)}', flush=True)
            data = out.get('data', {'text/plain': out.get('text', '')})
            n += any(kind.startswith('image/') for kind in data)
            print(picture(data, f'{Path(path).stem}-{n}'), flush=True)


def same_renderer():
    "Pictures come from the program that settings.ini pins, since no two versions place everything alike"
    pinned, here = '0.2.2', version(RENDERER)
    if here != pinned:
        raise Wrong(f'pictures are drawn by {RENDERER} {pinned}, and {here} is installed: pip '
                    f'install {RENDERER}=={pinned}')
    os.environ['FUCINALIB_RENDERER'] = RENDERER


def executed(path, nb=None):
    "The text of a notebook after a run in a Jupyter kernel, as a reader would run it; twice gives the same"
    import nbformat
    from jupyter_client.kernelspec import KernelSpecManager
    from nbclient import NotebookClient

    class Client(NotebookClient):
        async def async_execute_cell(self, cell, *args, **kwargs):
            return await super().async_execute_cell(cell, *args, **kwargs) if wanted(cell) else cell

    path, nb = Path(path), nbformat.from_dict(nb or load(path))
    for cell in nb.cells: cell.source = ''.join(cell.source)
    # a reader's kernel draws curves in the page, whoever asks for this run
    env = {k: v for k, v in os.environ.items() if k != 'MPLBACKEND'}
    given = QUIET[0] in KernelSpecManager().get_kernel_spec('python3').argv        # as in a terminal of `make lab`
    run = Client(nb, timeout=300, resources={'metadata': {'path': str(path.parent)}},
                 extra_arguments=[] if given else [*QUIET])
    run.execute(env=env)
    for cell in nb.cells:
        if cell.cell_type == 'code': cell.outputs = [] if timing(cell) else settled(cell.outputs)
    return tidy(json.loads(nbformat.writes(nb)))


def execute(path):
    "Run it and keep the results in the file"
    path.write_text(executed(path), encoding='utf-8')
    return path


def main(action='', *paths):
    paths = [Path(p).resolve() for p in paths] or all_notebooks()
    if action == 'execute':
        same_renderer()
        with ThreadPoolExecutor(2) as pool:
            for path in pool.map(execute, paths): print(f'executed  {named(path)}', flush=True)
    elif action in ('show', 'check', 'committed'):
        for path in paths:
            {'show': show, 'check': check, 'committed': lambda path: judge(path, standing(path))}[
                action](path)
    else: sys.exit(__doc__)


if __name__ == '__main__':
    try: main(*sys.argv[1:])
    except Wrong as wrong: sys.exit(str(wrong))
