"""Run the chapters and tutorials.

    python tools/notebooks.py show NOTEBOOK           run it and print what it shows (`make lab OPEN=0`)
    python tools/notebooks.py check NOTEBOOK          run it and tell what is wrong first (tests/test_notebooks.py)
    python tools/notebooks.py execute [NOTEBOOK ...]  run in Jupyter, keep the results in the file (`make execute`)

A code cell marked `#| eval: false`, `#| notest` or `#| slow` is not run.
"""
import os, re, sys, traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault('OPENBLAS_THREAD_TIMEOUT', '4')       # before NumPy: see fucinalib/_environment.py


def all_notebooks():
    "The chapters in reading order, then the tutorials"
    return [p for folder in ('nbs', 'tutorials') for p in sorted((ROOT/folder).glob('[!._]*.ipynb'))]


def directives(cell):
    "`#| name: value` lines of a cell as a dict"
    return dict(re.findall(r'^#\|\s*([\w-]+):?[ \t]*(.*?)\s*$', cell['source'], re.M))


def wanted(cell):
    "Is this a code cell that is meant to run?"
    marks = directives(cell)
    return cell['cell_type'] == 'code' and marks.get('eval') != 'false' and not marks.keys() & {'notest', 'slow'}


class Wrong(Exception):
    "What is wrong with a notebook, told for its author"


def cells(path):
    "Run a notebook in a fresh shell, from its own folder; yields (cell, value of its last line, outputs)"
    from execnb.nbio import read_nb
    from execnb.shell import CaptureShell
    nb, shell = read_nb(path), CaptureShell(path, mpl_format='png')
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
    "Every cell runs, every exercise's stub is refused and its solution accepted"
    accepted = {'exercise': {}, 'solution': {}}             # kind -> {number: verdict}
    for cell, value, _ in cells(path):
        for kind in accepted.keys() & directives(cell).keys():
            number = directives(cell)[kind]
            if value is None: raise Wrong(f'{kind} {number} does not end in a verdict:\n{numbered(cell.source)}')
            accepted[kind][number] = bool(value)
    stubs, solutions = accepted.values()
    for number in stubs.keys() ^ solutions.keys():
        raise Wrong(f'exercise {number} has no {"solution" if number in stubs else "stub"} cell')
    for number in stubs:
        if stubs[number]: raise Wrong(f'exercise {number}: its stub passes, so there is nothing to do')
        if not solutions[number]: raise Wrong(f'exercise {number}: its solution does not pass')


def settled(outputs):
    "Outputs with the pieces of a stream joined and what a progress bar wrote over left out"
    done = []
    for out in outputs:
        if out.get('output_type') != 'stream': done.append(out)
        elif done and done[-1].get('name') == out['name']: done[-1]['text'] = ''.join(done[-1]['text']) + ''.join(out['text'])
        else: done.append(out)
    for out in done:
        if out.get('output_type') == 'stream': out['text'] = re.sub(r'[^\n]*\r(?=[^\n])', '', ''.join(out['text']))
    return done


def show(path):
    "Print headings and results as they come"
    for cell, _, outputs in cells(path):
        if cell['cell_type'] == 'markdown':
            for heading in re.findall(r'^#+ .*', cell.source, re.M): print(f'\n{heading}', flush=True)
        for out in settled(outputs):
            data = out.get('data', {})
            text = out.get('text') or data.get('text/plain', '')
            print('[picture]' if 'image/png' in data else ''.join(text).rstrip(), flush=True)


def execute(path):
    "Run in a Jupyter kernel, as a reader would, and keep the results in the file"
    import nbformat
    from execnb.nbio import read_nb, write_nb
    from nbclient import NotebookClient
    from nbdev.clean import clean_nb

    class Client(NotebookClient):
        async def async_execute_cell(self, cell, *args, **kwargs):
            return await super().async_execute_cell(cell, *args, **kwargs) if wanted(cell) else cell

    nb = nbformat.read(path, as_version=4)
    Client(nb, timeout=300, resources={'metadata': {'path': str(path.parent)}}).execute()
    for cell in nb.cells:
        if cell.cell_type == 'code': cell.outputs = settled(cell.outputs)
    nbformat.write(nb, path)
    nb = read_nb(path)
    clean_nb(nb, allowed_cell_metadata_keys=['jupyter', 'tags'])
    write_nb(nb, path)
    return path


def main(action='', *paths):
    paths = [Path(p).resolve() for p in paths] or all_notebooks()
    if action == 'execute':
        with ThreadPoolExecutor(2) as pool:
            for path in pool.map(execute, paths): print(f'executed  {path.relative_to(ROOT)}', flush=True)
    elif action in ('show', 'check'):
        for path in paths: {'show': show, 'check': check}[action](path)
    else: sys.exit(__doc__)


if __name__ == '__main__':
    try: main(*sys.argv[1:])
    except Wrong as wrong: sys.exit(str(wrong))
