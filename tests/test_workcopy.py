"""The learner's copy: what was changed stays, the rest follows the source, and nothing goes away unsaid."""
import json, re
from pathlib import Path
import pytest
from hypothesis import given, strategies as st
import lab, notebooks, workcopy
from notebooks import text_of
from workcopy import by_id, changed, merge, source

A, B = Path('nbs/01_tags.ipynb'), Path('tutorials/00_tour.ipynb')


def code(id, text, *shown):
    outputs = [{'output_type': 'stream', 'name': 'stdout', 'text': s} for s in shown]
    return {'cell_type': 'code', 'id': id, 'metadata': {}, 'source': text.splitlines(True),
            'outputs': outputs, 'execution_count': None}


def book(*cells): return {'cells': list(cells), 'metadata': {}, 'nbformat': 4, 'nbformat_minor': 5}


@pytest.fixture
def project(tmp_path, monkeypatch):
    "A project of two notebooks and a picture, and no copy yet"
    for module in (notebooks, workcopy): monkeypatch.setattr(module, 'ROOT', tmp_path)
    monkeypatch.setenv('JUPYTER_DATA_DIR', str(tmp_path/'jupyter'))
    write(tmp_path/A, book(code('intro', '1 + 1', '2'), code('stub', '#| exercise: 1.1\n...'), code('end', 'x = 1')))
    write(tmp_path/B, book(code('only', 'print("tour")', 'tour')))
    (tmp_path/'nbs/axes.svg').write_text('<svg/>')
    return tmp_path


def write(path, nb):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text_of(nb))


def edit(path, change):
    nb = json.loads(path.read_text())
    change(nb['cells'])
    write(path, nb)


def texts(path): return [''.join(c['source']) for c in json.loads(path.read_text())['cells']]
def shown(path, i): return json.loads(path.read_text())['cells'][i]['outputs']
def answer(cells, text='#| exercise: 1.1\nmine'): next(c for c in cells if c['id'] == 'stub')['source'] = [text]
def named(said):
    "The backups that a message names"
    return re.findall(r"'(work/backups/[^']*)'", ' '.join(said))


# ---- making it and bringing it up to date
def test_a_copy_beside_the_source(project):
    said = workcopy.update()
    assert said == ['work/ is made: 2 notebooks to write in, apart from the source']
    for rel in (A, B, 'nbs/axes.svg'): assert (project/'work'/rel).read_bytes() == (project/rel).read_bytes()
    assert workcopy.update() == ['work/ is up to date']

def test_what_the_learner_wrote_stays(project):
    workcopy.update()
    mine = project/'work'/A
    edit(mine, answer)
    edit(mine, lambda cells: cells.insert(1, code('own', 'a cell of my own', 'seen')))
    edit(mine, lambda cells: cells.pop())
    before = mine.read_bytes()
    assert workcopy.update() == ['work/ is up to date; cells that are yours: 3 of 01_tags']
    assert mine.read_bytes() == before

def test_cells_left_alone_follow_the_source(project):
    workcopy.update()
    mine = project/'work'/A
    edit(mine, answer)
    edit(project/A, lambda cells: cells[0].update(source=['1 + 2'], outputs=code('', '', '3')['outputs']))
    edit(project/A, lambda cells: cells.insert(1, code('new', 'more')))
    edit(project/B, lambda cells: cells[0].update(source=['print("a new tour")']))
    (project/'nbs/axes.svg').write_text('<svg>new</svg>')
    assert workcopy.update() == ['work/ is up to date; cells that are yours: 1 of 01_tags']
    assert texts(mine) == ['1 + 2', 'more', '#| exercise: 1.1\nmine', 'x = 1'] and shown(mine, 0)[0]['text'] == '3'
    assert texts(project/'work'/B) == ['print("a new tour")']
    assert (project/'work/nbs/axes.svg').read_text() == '<svg>new</svg>'

def test_a_cell_changed_on_both_sides_is_named(project):
    workcopy.update()
    edit(project/'work'/A, answer)
    edit(project/A, lambda cells: answer(cells, '#| exercise: 1.1\nanother question'))
    said = workcopy.update()
    assert ('work/nbs/01_tags.ipynb, exercise 1.1: changed by you and in the source; yours stays, '
            'make refresh ARGS=1.1 gives the new one' in said)
    assert '#| exercise: 1.1\nmine' in texts(project/'work'/A)
    assert workcopy.update() == ['work/ is up to date; cells that are yours: 1 of 01_tags']       # said once

def test_a_cell_that_the_source_dropped(project):
    workcopy.update()
    edit(project/'work'/A, lambda cells: cells[0].update(source=['1 + 41']))
    edit(project/A, lambda cells: (cells.pop(0), cells.pop()))
    said = workcopy.update()
    assert any('cell 0: changed by you and in the source' in line and 'none any more' in line for line in said)
    assert texts(project/'work'/A) == ['1 + 41', '#| exercise: 1.1\n...']

def test_results_of_a_run_stay_with_their_code(project):
    workcopy.update()
    mine = project/'work'/A
    edit(mine, lambda cells: cells[0].update(outputs=code('', '', 'as I saw it')['outputs']))
    edit(project/A, lambda cells: cells[0].update(outputs=code('', '', '2 again')['outputs']))
    workcopy.update()
    assert shown(mine, 0)[0]['text'] == 'as I saw it'
    edit(project/A, lambda cells: cells[0].update(source=['1 + 1.']))
    workcopy.update()
    assert shown(mine, 0)[0]['text'] == '2 again'

def test_an_order_of_the_learners_own(project):
    workcopy.update()
    mine = project/'work'/A
    edit(mine, lambda cells: cells.reverse())
    edit(project/A, lambda cells: cells[0].update(source=['1 + 3']))
    workcopy.update()
    assert texts(mine) == ['x = 1', '#| exercise: 1.1\n...', '1 + 3']

def test_a_notebook_that_cannot_be_read_is_kept_beside(project):
    workcopy.update()
    mine = project/'work'/A
    mine.write_text('{"cells": [')
    said = workcopy.update()
    kept, = named(said)
    assert (project/kept).read_text() == '{"cells": [' and mine.read_bytes() == (project/A).read_bytes()

def test_a_lost_record_of_the_source_loses_nothing(project):
    workcopy.update()
    edit(project/'work'/A, answer)
    (project/'work/.source'/A).unlink()
    workcopy.update()
    assert '#| exercise: 1.1\nmine' in texts(project/'work'/A)

def test_cells_without_ids_or_with_the_same(project):
    "As other editors leave them"
    workcopy.update()
    mine = project/'work'/A
    edit(mine, lambda cells: [c.pop('id') for c in cells] and answer([{'id': 'stub'}]))
    edit(mine, lambda cells: cells.append(code('end', 'copied')))
    workcopy.update()
    assert texts(mine) == ['1 + 1', '#| exercise: 1.1\n...', 'x = 1', 'copied']

def test_a_notebook_renamed_in_the_source(project):
    workcopy.update()
    (project/A).rename(project/'nbs/02_names.ipynb')
    workcopy.update()
    assert not (project/'work'/A).exists() and (project/'work/nbs/02_names.ipynb').exists()
    edit(project/'work'/B, lambda cells: cells[0].update(source=['mine']))
    (project/B).unlink()
    assert 'work/tutorials/00_tour.ipynb: no longer in the source; yours stays' in workcopy.update()
    assert texts(project/'work'/B) == ['mine']


# ---- whatever both sides do
TEXTS = st.sampled_from(['a', 'b', 'c', 'd'])
BASES = st.lists(TEXTS, max_size=5).map(lambda ts: book(*[code(f'c{i}', t) for i, t in enumerate(ts)]))

def edits(who):
    "A function that changes, drops, adds and moves cells"
    step = st.tuples(st.sampled_from(['change', 'drop', 'add', 'move', 'run']), st.integers(0, 9), TEXTS)
    def apply(steps):
        def run(nb):
            cells = [dict(c) for c in nb['cells']]
            for k, (what, i, text) in enumerate(steps):
                at = i % len(cells) if cells else 0
                if what == 'add': cells.insert(at, code(f'{who}{k}', f'{text} of {who}'))
                elif cells and what == 'change': cells[at] = code(cells[at]['id'], f'{text} by {who}')
                elif cells and what == 'run': cells[at] = {**cells[at], 'outputs': code('', '', who)['outputs']}
                elif cells and what == 'drop': cells.pop(at)
                elif cells: cells.append(cells.pop(at))
            return {**nb, 'cells': cells}
        return run
    return st.lists(step, max_size=4).map(apply)

@given(BASES, edits('learner'), edits('source'))
def test_nothing_is_lost_and_the_rest_follows(base, learner, author):
    mine, new = learner(base), author(base)
    merged, both = merge(mine, base, new)
    m, b, n, out = map(by_id, (mine, base, new, merged))
    assert len(out) == len(merged['cells'])
    for id in changed(mine, base):
        if id in m: assert source(out[id]) == source(m[id])         # what the learner wrote stands
        else: assert id not in out                                  # what the learner took away is away
    for id in n.keys() - set(changed(mine, base)): assert source(out[id]) == source(n[id])
    assert all(id in m for id in out.keys() - n.keys())
    for id in both: assert id in changed(mine, base)
    again, told = merge(merged, new, new)
    assert again == merged and told == []                           # said once, and done

@given(BASES, edits('source'))
def test_an_untouched_copy_is_the_source(base, author):
    new = author(base)
    assert merge(base, base, new)[0]['cells'] == new['cells']


# ---- giving back
def test_one_exercise(project):
    workcopy.update()
    mine = project/'work'/A
    edit(mine, answer)
    edit(mine, lambda cells: cells[0].update(source=['also mine']))
    before = mine.read_bytes()
    said = workcopy.refresh('1.1')
    kept, = named(said)
    assert said[0].startswith(
        'work/nbs/01_tags.ipynb, exercise 1.1 is as in the source again; what you had is ')
    assert 'Reload' in said[1]
    assert texts(mine) == ['also mine', '#| exercise: 1.1\n...', 'x = 1'] and (project/kept).read_bytes() == before
    assert workcopy.refresh('1.1') == ['work/nbs/01_tags.ipynb, exercise 1.1 is as in the source']
    assert workcopy.update() == ['work/ is up to date; cells that are yours: 1 of 01_tags']

@pytest.mark.parametrize('word', ['01:0', '1:0', '01_tags:intro', 'nbs/01_tags.ipynb:0'])
def test_one_cell_also_if_it_was_taken_away(project, word):
    workcopy.update()
    mine = project/'work'/A
    edit(mine, lambda cells: cells.pop(0))
    assert 'cell 0 is as in the source again' in workcopy.refresh(word)[0] and texts(mine) == texts(project/A)

@pytest.mark.parametrize('word', ['01', '1', '01_tags', 'tags', 'nbs/01_tags.ipynb', 'work/nbs/01_tags.ipynb'])
def test_one_notebook(project, word):
    workcopy.update()
    mine = project/'work'/A
    edit(mine, answer)
    edit(project/'work'/B, lambda cells: cells[0].update(source=['stays']))
    kept, = named(workcopy.refresh(word))
    assert mine.read_bytes() == (project/A).read_bytes() and 'mine' in (project/kept).read_text()
    assert texts(project/'work'/B) == ['stays']

def test_everything_and_two_at_once(project):
    workcopy.update()
    for rel in (A, B): edit(project/'work'/rel, lambda cells: cells[0].update(source=['mine']))
    assert len(named(workcopy.refresh())) == 2 and workcopy.refresh() == ['all of work/ is as in the source']
    for rel in (A, B): edit(project/'work'/rel, lambda cells: cells[0].update(source=['mine once more']))
    assert len(named(workcopy.refresh('01', 'tour'))) == 2
    assert len(set((project/'work/backups').iterdir())) == 4        # no backup writes over another

def test_words_that_name_nothing(project):
    workcopy.update()
    for word, said in {'7.1': 'no exercise 7.1',
                       '1.2': 'the chapter has 1.1',
                       '44': "'44' names no notebook; there are 01_tags, 00_tour",
                       '01:9': 'has no cell', '01:x': 'counted from 0 to 2'}.items():
        with pytest.raises(notebooks.Wrong, match=re.escape(said)): workcopy.refresh(word)

def test_nothing_to_give_back_yet(project):
    assert workcopy.refresh('01') == ['there is no work/ yet; make lab makes it']

def test_the_command_says_what_it_does(project, capsys):
    workcopy.main()
    workcopy.main('refresh', '1.1')
    with pytest.raises(SystemExit, match='no exercise 9.9'): workcopy.main('refresh', '9.9')
    assert capsys.readouterr().out.splitlines() == [
        'lab       work/ is made: 2 notebooks to write in, apart from the source',
        'refresh   work/nbs/01_tags.ipynb, exercise 1.1 is as in the source']


# ---- the lab
def test_the_copies_are_trusted(project):
    import nbformat
    from nbformat.sign import NotebookNotary
    workcopy.main()
    assert NotebookNotary().check_signature(nbformat.read(project/'work'/A, as_version=4))

def test_the_lab_opens_the_copy_and_asks_nothing(project, monkeypatch):
    monkeypatch.setattr(lab, 'ROOT', project)
    assert any(o.endswith('/lab/tree/work/tutorials/00_tour.ipynb') for o in lab.options())
    folder = next(o for o in lab.options() if 'app_settings_dir' in o).split('=')[1]
    assert json.loads((Path(folder)/'overrides.json').read_text())[
        '@jupyterlab/apputils-extension:notification']['fetchNews'] == 'false'
    spec = json.loads((Path(lab.kernel())/'kernels/python3/kernel.json').read_text())
    assert '--log-level=ERROR' in spec['argv'] and 'ipykernel_launcher' in spec['argv']

def test_the_tour_without_a_browser_makes_the_copy_too(project, monkeypatch, capsys):
    "README says that the copy is work/, and refresh gives back from it."
    ran = []
    monkeypatch.setattr(lab, 'ROOT', project)
    monkeypatch.setattr('os.execv', lambda path, argv: ran.append(argv))
    monkeypatch.setattr('sys.argv', ['lab.py', '--here'])
    monkeypatch.chdir(project)
    lab.main()
    assert ran[0][-2:] == ['show', 'tutorials/00_tour.ipynb'] and (project/'work'/A).exists()
    assert 'work/ is made' in capsys.readouterr().out
    assert workcopy.refresh('01') == ['work/nbs/01_tags.ipynb is as in the source']

def test_git_ignores_the_copy(): assert '/work/' in (Path(__file__).parents[1]/'.gitignore').read_text().split()
