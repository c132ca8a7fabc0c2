"""What a page says besides its code: imports folded, links that lead somewhere, measurements that run alone."""
import re, threading, time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import module_from_spec, spec_from_file_location
import pytest
import notebooks
from notebooks import ROOT, load

BOOKS = [p.relative_to(ROOT).as_posix() for p in notebooks.all_notebooks()]
CHAPTERS = [p for p in BOOKS if p.startswith('nbs/') and 'index' not in p]


def text(cell): return ''.join(cell['source'])
def slug(heading): return re.sub(r'[^\w -]', '', heading.lower()).strip().replace(' ', '-')
def prose(book): return [text(c) for c in load(ROOT/book)['cells'] if c['cell_type'] == 'markdown']
def headings(book): return re.findall(r'^#+ (.+)$', '\n'.join(prose(book)), re.M)


@pytest.mark.parametrize('chapter', CHAPTERS)
def test_a_page_does_not_open_with_imports(chapter):
    "What the module imports stands folded, so that a reader meets the idea first"
    code = [c for c in load(ROOT/chapter)['cells'] if c['cell_type'] == 'code']
    for cell in [c for c in code if text(c).startswith('#| export')][:1]:
        assert cell['metadata'].get('tags') == ['hide-input'] and cell['metadata']['jupyter']['source_hidden']


@pytest.mark.parametrize('book', BOOKS)
def test_links_lead_somewhere(book):
    "Every link to a page of the course names a file that exists, and a heading on it"
    for target, _, at in re.findall(r'\]\(((?!https?:)[^()#\s]*)(#([^()\s]*))?\)', '\n'.join(prose(book))):
        page = ((ROOT/book).parent/target if target else ROOT/book).resolve()
        assert page.exists(), f'{book} links to {target}'
        if at: assert at in map(slug, headings(page.relative_to(ROOT))), f'{target}#{at}'


@pytest.mark.parametrize('chapter', CHAPTERS)
def test_chapters_that_are_named_exist(chapter):
    there = {re.match(r'nbs/0*(\d+[a-z]?)_', p)[1] for p in CHAPTERS}
    lists = re.findall(r'[Cc]hapters? ((?:\d+[a-z]?(?:, | and | to )?)+)', '\n'.join(prose(chapter)))
    assert {n for listed in lists for n in re.findall(r'\d+[a-z]?', listed)} <= there


def test_cells_that_measure_run_alone():
    "On the site, where notebooks run two at a time"
    spec = spec_from_file_location('site_build', ROOT/'docs'/'build.py')
    spec.loader.exec_module(build := module_from_spec(spec))
    turns, inside, seen, lock = build.Turns(), [], [], threading.Lock()

    def cell(alone):
        with turns.turn(alone):
            with lock: inside.append(alone); seen.append(tuple(inside))
            time.sleep(.001)
            with lock: inside.remove(alone)

    def book(i):
        for j in range(20): cell((i + j) % 4 == 0)

    with ThreadPoolExecutor(4) as pool: list(pool.map(book, range(4)))
    assert len(seen) == 80 and all(len(s) == 1 for s in seen if True in s)
