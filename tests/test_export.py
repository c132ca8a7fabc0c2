"""What `make export` writes, and what it says of files that a merge, an editor or a session left out of form."""
import json, os, re, shutil, subprocess, sys
import pytest
from nbdev.merge import nbdev_fix
from notebooks import ROOT, Wrong, load

CHAPTER = 'nbs/01_tags.ipynb'
BEGIN, MIDDLE, END = '<' * 7 + ' HEAD', '=' * 7, '>' * 7 + ' other'


@pytest.fixture(scope='module')
def clone(tmp_path_factory):
    "The project as a repository of its own, everything committed"
    home = tmp_path_factory.mktemp('clone')
    for name in 'fucinalib nbs tutorials tools tests docs'.split():
        shutil.copytree(ROOT/name, home/name,
                        ignore=shutil.ignore_patterns('__pycache__', '.ipynb_checkpoints',
                                                      '_build', '_src', '_proc'))
    for name in 'settings.ini README.md Makefile'.split(): shutil.copy(ROOT/name, home/name)
    git(home, 'init', '-q')
    commit(home)
    return home


def git(home, *command):
    who = ['-c', 'user.name=a', '-c', 'user.email=a@example.invalid']
    return subprocess.run(['git', *who, *command], cwd=home, check=True, capture_output=True, text=True).stdout


def commit(home):
    git(home, 'add', '-A')
    git(home, 'commit', '-q', '-m', 'as it is')


@pytest.fixture
def project(clone):
    "The clone, put back afterwards"
    start = git(clone, 'rev-parse', 'HEAD').strip()
    yield clone
    git(clone, 'reset', '-q', '--hard', start)


def export(home, *options, **env):
    "(code, what it says)"
    env = {k: v for k, v in os.environ.items() if k not in ('CI', 'IN_TEST')} | {'PYTHONPATH': str(home)} | env
    done = subprocess.run([sys.executable, 'tools/export.py', *options], cwd=home, env=env,
                          capture_output=True, text=True)
    assert 'Traceback' not in done.stderr and 'JSONDecodeError' not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


def changed(home): return git(home, 'status', '--porcelain').split()[1::2]


def edited(home, edit, name=CHAPTER):
    nb = json.loads((home/name).read_text())
    edit(nb)
    (home/name).write_text(json.dumps(nb, indent=1, ensure_ascii=False, sort_keys=True) + '\n')


def test_what_is_committed_is_in_form(project):
    code, said = export(project, '--check')
    assert code == 0 and 'nothing to write' in said and changed(project) == []


def test_nbdev_clean_has_nothing_to_do(project, monkeypatch):
    from nbdev.clean import nbdev_clean
    monkeypatch.chdir(project)
    for folder in ('nbs', 'tutorials'): nbdev_clean.__wrapped__(folder)
    assert changed(project) == []


# letters as numbers
OUT_OF_FORM = {
    CHAPTER: lambda text: text.rstrip('\n'),
    'nbs/23_windows.ipynb': lambda text: json.dumps(dict(reversed(json.loads(text).items())),
                                                        indent=1, ensure_ascii=False) + '\n',
    'nbs/index.ipynb': lambda text: json.dumps(json.loads(text), indent=2, ensure_ascii=False,
                                               sort_keys=True) + '\n',
    'tutorials/00_tour.ipynb': lambda text: json.dumps(json.loads(text), indent=1, sort_keys=True)
    + '\n'}

def test_notebooks_out_of_form_are_named_and_mended(project):
    for name, spoil in OUT_OF_FORM.items(): (project/name).write_text(spoil((project/name).read_text()))
    code, said = export(project, '--check')
    assert code == 1 and f'written: {", ".join(OUT_OF_FORM)}' in said and 'commit, and repeat' in said
    assert changed(project) == []


def used(nb):
    "What a session in JupyterLab leaves behind"
    nb['metadata']['language_info'] = {'name': 'python'}
    for i, cell in enumerate(nb['cells']):
        if cell['cell_type'] == 'code': cell['execution_count'], cell['metadata']['scrolled'] = i, True

def test_an_open_notebook_is_left_alone_until_it_is_committed(project):
    edited(project, used)
    open_one = (project/CHAPTER).read_text()
    code, said = export(project, '--check')
    assert code == 0
    assert f'tests take them as committed, `make export` tidies them: {CHAPTER}' in said
    assert (project/CHAPTER).read_text() == open_one
    assert export(project, '--check', CI='true')[0] == 1
    edited(project, used)
    commit(project)
    code, said = export(project, '--check')
    assert code == 1 and CHAPTER in said
    code, said = export(project)
    assert code == 0 and git(project, 'diff', '--stat', 'HEAD~1') == ''


def split(text):
    "A notebook as git leaves it after a conflict in a code cell"
    lines = text.splitlines(True)
    at = next(i for i, line in enumerate(lines) if '"source": [' in line) + 1
    return ''.join(lines[:at] + [BEGIN + '\n', lines[at], MIDDLE + '\n', lines[at], END + '\n'] + lines[at + 1:])

def test_marks_of_a_merge_stop_the_export(project):
    "Nothing is written from half a notebook; all that is wrong is said at once"
    for name in (CHAPTER, 'tutorials/00_tour.ipynb'): (project/name).write_text(split((project/name).read_text()))
    with (project/'tools'/'readme.py').open('a') as f: f.write(f'\n{BEGIN}\n{MIDDLE}\n{END}\n')
    for options in ([], ['--check']):
        code, said = export(project, *options)
        assert code == 1 and len(changed(project)) == 3
        for name in changed(project): assert re.search(rf"{name}, line \d+: a merge left '{BEGIN}'", said)
        assert said.count('nbdev_fix') == 2 and f'nbdev_fix {CHAPTER} makes' in said

@pytest.mark.parametrize(
    'name', ['fucinalib/show.py', 'tests/test_tags.py', 'docs/index.md', 'Makefile', 'settings.ini'])
def test_marks_of_a_merge_in_a_file_that_people_write(project, name):
    with (project/name).open('a') as f: f.write(f'\n{BEGIN}\n{MIDDLE}\n{END}\n')
    code, said = export(project, '--check')
    assert code == 1 and re.search(rf"{name}, line \d+: a merge left '{BEGIN}'", said)

def test_a_file_that_is_made_is_made_anew(project):
    made = ['README.md', 'fucinalib/__init__.pyi', 'fucinalib/_modidx.py', 'fucinalib/tags.py']
    for name in made:
        with (project/name).open('a') as f: f.write(f'\n{BEGIN}\n{MIDDLE}\n{END}\n')
    code, said = export(project)
    assert code == 0 and ', '.join(made) in said and changed(project) == []


# ---- one notebook
@pytest.fixture
def chapter(tmp_path):
    path = tmp_path/'01_tags.ipynb'
    shutil.copy(ROOT/CHAPTER, path)
    return path

def wrong(path):
    with pytest.raises(Wrong) as told: load(path)
    return str(told.value)

@pytest.mark.parametrize('kind', ['markdown', 'code'])
@pytest.mark.parametrize('mark', [BEGIN, END, f'`{BEGIN}`', '|' * 7 + ' base'])
def test_marks_of_a_merge_in_a_cell(chapter, kind, mark):
    "What nbdev_fix makes of a conflict, and what a hasty merge leaves"
    nb = load(chapter)
    number = [c['cell_type'] for c in nb['cells']].index(kind)
    nb['cells'][number]['source'] = ['a line\n', mark]
    chapter.write_text(json.dumps(nb))
    assert f"01_tags.ipynb, cell {number} ({kind}), line 2: a merge left '{mark.strip('`')}'" in wrong(chapter)

def test_a_line_under_a_heading_is_no_mark(chapter):
    nb = load(chapter)
    nb['cells'][0]['source'] = ['Title\n', '=======\n', 'and 1 <<<<<<< 2']
    chapter.write_text(json.dumps(nb))
    load(chapter)

def test_the_way_out_leads_to_cells_with_marks(chapter):
    "nbdev_fix makes a notebook of it, and its marks are named by cell"
    text = split(chapter.read_text())
    at = text.index(MIDDLE)
    chapter.write_text(text[:at] + text[at:].replace('#', '##', 1))        # the sides differ
    assert 'nbdev_fix' in wrong(chapter)
    nbdev_fix.__wrapped__(str(chapter), noprint=True)
    assert 'cell ' in (said := wrong(chapter)) and f"a merge left '{BEGIN}'" in said

@pytest.mark.parametrize('text', ['', '[]', '{}', '{"cells": [', '\udcff'],
                         ids=['empty', 'list', 'no cells', 'cut off', 'not utf-8'])
def test_not_a_notebook(chapter, text):
    chapter.write_bytes(text.encode('utf-8', 'surrogateescape'))
    assert 'not a notebook' in (said := wrong(chapter)) and 'git checkout' in said

@pytest.mark.parametrize('action', ['check', 'show', 'execute'])
def test_whoever_runs_it_is_told_too(chapter, action):
    chapter.write_text(split(chapter.read_text()))
    done = subprocess.run([sys.executable, ROOT/'tools/notebooks.py', action, chapter], capture_output=True, text=True)
    assert done.returncode == 1 and f"a merge left '{BEGIN}'" in done.stderr and 'Traceback' not in done.stderr
