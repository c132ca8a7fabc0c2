"""What a page says besides its code: imports folded, links that lead somewhere, words in order, measurements alone."""
import functools, re, threading, time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import module_from_spec, spec_from_file_location
import pytest
import notebooks
from notebooks import ROOT, load

BOOKS = [p.relative_to(ROOT).as_posix() for p in notebooks.all_notebooks()]
CHAPTERS = [p for p in BOOKS if p.startswith('nbs/') and p != 'nbs/index.ipynb']


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


# ---- words of the field
GLOSSARY = 'tutorials/glossary.ipynb'
ENTRY = re.compile(r'^## (.+)\n\n(.+?) First in \[.+?\]\((?:\.\./)?(.+?)\)\.$', re.M)
WORDS = {word: (said, home if '/' in home else f'tutorials/{home}')
         for cell in prose(GLOSSARY) for word, said, home in ENTRY.findall(cell)}
READING = ['tutorials/00_tour.ipynb', *CHAPTERS]
FORMS = {  # what counts as a use, where it is not the word or its plural
    'batch': r'(?:mini)?batch(?:es)?',
    'broadcast': r'broadcast(?:s|ing)?',
    'checkpoint': r'checkpoint(?:s|ing)?',
    'class': r'class(?:es)?',
    'accumulate': r'accumulat(?:e|es|ed|ing)',
    'depthwise convolution': r'depthwise',
    'counter generator': r'random numbers by counter|counter generator',
    'finite differences': r'finite differences?',
    'freeze': r'fr(?:eez(?:e|es|ing)|ozen)',
    'fuse': r'fused?',
    'half precision': r'half[- ]precision',
    'in place': r'in place(?! of)',
    'pool': r'pool(?:s|ing)?',
    'quantise': r'quantis(?:e|ed|es|ing|ation)',
    'recurrence': r'recurrences?|recurrent networks?',
    'reverse mode': r'reverse[- ]mode',
    'softmax': r'softmax(?:es)?',
    'loss': r'loss(?:es)?',
}
EVERYDAY = {  # chapters where the word has its everyday meaning, or another that they explain
    'buffer': ['15', '25a'], 'freeze': ['21'],
    'fuse': ['14'], 'gather': ['04'], 'in place': ['01'], 'key': ['12', '17'], 'label': ['04'], 'seed': ['03'],
    'tile': ['15', '15a'], 'value': ['*'], 'class': ['02'],
}

HIDDEN = r'```.*?```', r'\$\$.*?\$\$', r'`[^`\n]*`', r'\$[^$\n]+\$', r'(?<=\]\()[^)\s]*(?=\))'

def bare(said):
    "Markdown with blanks for code, formulas and addresses, so that places stay"
    for hidden in HIDDEN: said = re.sub(hidden, lambda m: re.sub(r'[^\n]', ' ', m[0]), said, flags=re.S)
    return said

def first_use(word, book):
    "(text, match) where the prose of a book uses a word first, after the title of a chapter"
    form = re.compile(rf'(?<![\w-])(?:{FORMS.get(word, re.escape(word) + "s?")})(?!\w)', re.I)
    said = bare_prose(book)
    return next(((text, m) for text in said if (m := form.search(text))), None)

@functools.cache
def bare_prose(book): return [bare(said) for said in prose(book)[book in CHAPTERS:]]

def linked(said, m):
    "Whether the word is a link"
    return bool(re.search(r'\[[^\]]*$', said[:m.start()]) and re.match(r'[^\[\]]*\]\(', said[m.end():]))

def introduced(said, m):
    "Whether the word stands in a heading or in *emphasis*"
    start, end = said.rfind('\n', 0, m.start()) + 1, (said + '\n').index('\n', m.end())
    before, after = said[start:m.start()].removeprefix('* '), said[m.end():end]
    return before.startswith('#') or before.count('*') % 2 == 1 and '*' in after or before.endswith('**')

def everyday(word, book):
    "Whether a book uses a word in another meaning"
    return {'*', re.match(r'\w+/(\d+[a-z]?)', book)[1]} & set(EVERYDAY.get(word, ()))

def around(said, m): return ' '.join(said[max(0, m.start() - 60):m.end() + 40].split())

@pytest.mark.parametrize('word', WORDS)
def test_a_word_is_introduced_where_the_glossary_says_and_a_link_before(word):
    "In each chapter that uses it before, its first use leads to the glossary"
    home = WORDS[word][1]
    for book in READING[:READING.index(home)]:
        if everyday(word, book) or not (use := first_use(word, book)): continue
        assert linked(*use), f'{book}: {word!r} comes before {home}, without a link: {around(*use)!r}'
    use = first_use(word, home)
    assert use, f'{home} does not say {word!r}'
    if not everyday(word, home):
        assert linked(*use) or introduced(*use), f'{home} does not introduce {word!r}: {around(*use)!r}'

def test_the_glossary_is_in_order_and_whole():
    "As many entries as headings, by the alphabet, each one sentence or two"
    words = re.findall(r'^## (.+)$', '\n'.join(prose(GLOSSARY)), re.M)
    assert words == list(WORDS) == sorted(WORDS, key=str.lower)
    assert not [word for word, (said, _) in WORDS.items() if not said.endswith('.') or len(said) > 200]
