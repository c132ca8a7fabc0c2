"""The site: what its pages are made of, how they read without eyes, and what a build must not hide."""
import re, sys
from pathlib import Path
import pytest
import fucinalib as fl

DOCS = Path(__file__).resolve().parents[1]/'docs'
sys.path.insert(0, str(DOCS))
import access, api, build, pages

CSS = (DOCS/'_static'/'custom.css').read_text()
NOTEBOOKS = {p: build.load(p) for p in sorted((DOCS.parent/'nbs').glob('*.ipynb'))}


# ---- API pages
@pytest.mark.parametrize('name', sorted(fl.registry))
def test_an_operation_has_an_example_errors_and_a_source(name):
    "The example was run; what it shows is what it gives."
    o = fl.registry[name]
    before = list(pages.PROBLEMS)
    code, gives = api.example(o)
    assert pages.PROBLEMS == before
    assert code.splitlines()[-1].startswith(('x.', 'q.', 'w.', 'up.', 'fl.', 'a.')) and f'{name}(' in code
    assert gives and 'object at 0x' not in gives and max(map(len, code.splitlines())) < 160
    assert api.errors(o) or not o.mistakes
    chapter = next(nb for nb in NOTEBOOKS.values() if f'fucinalib.{build.module(nb)}' == o.module)
    assert name in build.defining(chapter), f'no cell of its chapter defines {name}'
    text = '\n'.join(api.described(o, ('nbs/some', 'Source in some chapter')))
    assert '.. code-block:: python' in text and f'#def-{name.rstrip("_")}' in text
    for kind in api.errors(o): assert f':ref:`{kind} <mistake-{name}>`' in text


def test_a_chapter_marks_the_cells_that_define_operations():
    path = DOCS.parent/'nbs'/'18_softmax.ipynb'
    cells = build.prepare(NOTEBOOKS[path], 'nbs', path.stem)['cells']
    at = next(i for i, c in enumerate(cells) if 'id="def-softmax"' in build.source(c))
    assert 'def softmax(' in build.source(cells[at + 1])


# ---- appendices
@pytest.fixture(scope='module')
def gallery(): return pages.error_gallery()

@pytest.fixture(scope='module')
def op_table(): return pages.op_table()


def test_the_gallery_begins_with_its_contents(gallery):
    "Every kind of error that a message begins with has an entry, and every link a target."
    contents, _, rest = gallery.partition('\n:::\n')
    kinds = set(re.findall(r'<pre class="fault"><b>(\w+)</b>', rest))
    assert kinds == set(re.findall(r'^`(\w+)`$', contents, re.M)) and len(kinds) > 15
    links = re.findall(r'\]\(#([\w-]+)\)', contents)
    assert len(links) == len(set(links)) > 60
    for slug in links: assert f'({slug})=' in rest, slug
    for o in fl.registry.values():
        if o.mistakes: assert rest.count(f'(mistake-{o.name})=') == 1, o.name


def test_the_table_of_operations_has_few_columns(op_table):
    rows = [line for line in op_table.splitlines() if line.startswith('| {py:obj}')]
    assert len(rows) == len(fl.registry)
    for row in rows: assert len(re.split(r'(?<!\\)\|', row)) == 8, row       # six cells


def test_no_page_shows_numbers_of_a_document_that_a_reader_does_not_have(gallery, op_table):
    rows = [r.split('\t')[0] for r in (DOCS.parent/'tests/data/rows.tsv').read_text().splitlines()[1:]]
    ids = re.compile(rf'(?<![\w.])(?:{"|".join(re.escape(r) for r in rows if "." in r)})(?![\w.(])')
    for text in (gallery, op_table):
        assert not ids.search(text), ids.search(text)
        assert not re.search(r'\bD1?\d\b|[Ss]pecification|section \d', text)


# ---- what a build must not hide
def test_sphinx_reads_every_module(monkeypatch):
    assert list(build.unparsed()) == []
    from sphinx.pycode import ModuleAnalyzer
    read = ModuleAnalyzer.analyze
    def analyze(self):
        if self.modname.endswith('ops.masks'): raise ValueError('zip() argument 2 is longer than argument 1')
        return read(self)
    monkeypatch.setattr(ModuleAnalyzer, 'analyze', analyze)
    said, = build.unparsed()
    assert said.startswith('fucinalib.ops.masks is not read by Sphinx: ValueError')


# ---- readers who do not see the page
def test_a_picture_is_described_by_its_words():
    x = fl.param([[1., 2.]], 'row col')
    svg = (x * x).sum().graph()._repr_mimebundle_(None, None)['image/svg+xml']
    made = access.accessible(f'<p>{svg}</p>')
    said = re.search(r'<svg aria-label="([^"]*)"', made)[1]
    assert said.startswith('Picture of ') and 'mul' in said and 'sum' in said
    assert access.accessible(made) == made


def test_toggles_landmarks_and_signatures():
    page = ('<div id="pst-primary-sidebar" class="bd-sidebar"></div>'
            '<a class="current reference internal" href="#">Names by module</a><details><summary></summary></details>'
            '<dt class="sig py">e()</dt>'
            '<dt class="sig py"><span>f</span>(\n<dl>\n<dd><em>x</em>,</dd>\n<dd><em>y</em></dd>\n</dl>\n)</dt>'
            '<dt class="sig py">g(x)</dt><dd><dl><dt>x</dt><dd>a number</dd></dl></dd>')
    page += '<tr><th class="head"><p></p></th><th class="head"><p>size</p></th></tr>'
    made = access.accessible(page)
    assert made.count('<th') == 1 and '<td></td>' in made
    assert '<div role="complementary" aria-label="Site" id="pst-primary-sidebar"' in made
    assert '<summary aria-label="Pages of Names by module">' in made
    assert made.count('<span class="sig-line">') == 2 and made.count('<dl>') == 1 and '<dt>x</dt><dd>a number' in made


def luminance(color):
    "Of '#rrggbb', as WCAG 2 defines it."
    parts = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = [p / 12.92 if p <= .04045 else ((p + .055) / 1.055)**2.4 for p in parts]
    return .2126 * red + .7152 * green + .0722 * blue


def contrast(a, b):
    light, dark = sorted([luminance(a), luminance(b)], reverse=True)
    return (light + .05) / (dark + .05)


def theme(name):
    "The colours of the light or the dark theme."
    block = re.search(rf"html\[data-theme='{name}'\] {{(.*?)}}", CSS, re.S)[1]
    return dict(re.findall(r'--(\w+): (#[0-9a-f]{6})', block))


@pytest.mark.parametrize('name', ['light', 'dark'])
def test_words_stand_out_from_their_ground(name):
    "4.5 to 1 for every colour of text on the page and on panels."
    colors = theme(name)
    assert contrast('#000000', '#ffffff') == pytest.approx(21)
    for ground in ('paper', 'panel'):
        for ink in 'ink soft ember link bad'.split():
            assert contrast(colors[ink], colors[ground]) >= 4.5, (name, ink, ground)


@pytest.mark.parametrize('name', ['light', 'dark'])
def test_code_stands_out_from_its_panel(name):
    from pygments.styles import get_style_by_name
    from pygments.token import Comment, Whitespace
    panel = theme(name)['panel']
    own = re.search(rf"html\[data-theme='{name}'\] \.highlight :is\(([^)]*)\) {{ color: (#[0-9a-f]{{6}})", CSS)
    for token, style in get_style_by_name(f'github-{name}'):
        color = f'#{style["color"]}' if style['color'] else theme(name)['ink']
        if own and token in Comment: color = own[2]
        if token in Whitespace: continue
        assert style['bgcolor'] or contrast(color, panel) >= 4.5, (token, color)


def test_nothing_scrolls_sideways_but_tables():
    "Code, pictures, formulas and signatures fit the page or go on in the next line, on screen and on paper."
    rules = re.findall(r'([^{}]+)\{([^{}]*)\}', re.sub(r'/\*.*?\*/', '', CSS, flags=re.S))
    for selector, body in rules:
        if re.search(r'overflow(-x)?: *(auto|scroll)', body): assert 'table' in selector, selector
    wraps = [selector for selector, body in rules if 'white-space: pre-wrap' in body]
    wrapped = next(selector for selector in wraps if 'div.highlight pre' in selector)
    assert '.cell_output .output pre' in wrapped and wrapped.strip().startswith('pre,')
