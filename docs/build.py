"""The site, in one command: `python docs/build.py` runs nbs/ and tutorials/ and renders them, the
API and the appendices into docs/_build/html, where index.html opens without a server or a
network.

Notebooks run two at a time, but for cells that measure; one whose code and library are unchanged since its last good
run is not run again.
"""
import argparse, base64, hashlib, inspect, json, os, re, shutil, subprocess, sys, tempfile, threading, time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT, SRC, OUT, CACHE = DOCS.parent, DOCS/'_src', DOCS/'_build', DOCS.parent/'.cache'/'docs'
sys.path.append(str(ROOT/'tools'))
from notebooks import RENDERER, Wrong, load, settled

PARTS = [(0, 'I. Values with names'), (10, 'II. The operation library'), (30, 'III. Learning machines'),
         (40, 'IV. Language'), (50, 'V. Out in the world')]
# directives that say how a cell appears -> MyST-NB cell tags; export, exercise and timing are tags
# of our own, styled in custom.css
TAGS = {'hide': 'remove-cell', 'include: false': 'remove-cell', 'hide_input': 'remove-input',
        'echo: false': 'remove-input',
        'hide_output': 'remove-output', 'output: false': 'remove-output',
        'code-fold: true': 'hide-input',
        'solution': 'hide-input', 'export': 'export', 'exporti': 'export', 'exports': 'export',
        'exercise': 'exercise', 'timing': 'timing'}
META = {'kernelspec': {'name': 'python3', 'display_name': 'Python 3', 'language': 'python'},
        'language_info': {'name': 'python', 'pygments_lexer': 'ipython3'}}
SKIP = {'eval: false', 'slow', 'notest'}  # not run here: the committed output stays


# ---- notebooks
def directives(cell): return [m.strip() for m in re.findall(r'^#\|\s*(.+)$', source(cell), re.M)]
def source(cell): return ''.join(cell['source'])
def fetches(nb): return any('fetches' in directives(c) for c in nb['cells'] if c['cell_type'] == 'code')

def title(nb, default):
    for c in nb['cells']:
        if m := re.match(r'#\s+(.+)', source(c)): return m[1].strip()
    return default

def subtitle(nb):
    m = re.search(r'^>\s*(.+)', source(nb['cells'][0]), re.M) if nb['cells'] else None
    return m[1].strip() if m else ''

def module(nb):
    "The module a chapter is the source of, or None."
    for c in nb['cells']:
        for d in directives(c):
            if d.startswith('default_exp '): return d.split()[1]

def library_hash():
    files = sorted(f for f in (ROOT/'fucinalib').rglob('*') if f.suffix in ('.py', '.so'))
    return hashlib.sha256(b''.join(f.read_bytes() for f in files)).hexdigest()

class Turns:
    "Cells of several notebooks run at a time; one that measures waits for the others and runs alone."
    def __init__(self): self.changed, self.running, self.asking = threading.Condition(), 0, 0

    @contextmanager
    def turn(self, alone):
        with self.changed:
            self.asking += alone
            self.changed.wait_for(lambda: self.running == 0 if alone else self.running >= 0 and not self.asking)
            self.asking -= alone
            self.running = -1 if alone else self.running + 1
        try: yield
        finally:
            with self.changed:
                self.running = max(0, self.running - 1)
                self.changed.notify_all()

TURNS = Turns()

def execute(path, nb, libhash):
    "Run a copy of the notebook; returns (notebook, error or None, seconds). Results are kept under .cache/docs."
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError
    code = json.dumps([source(c) for c in nb['cells'] if c['cell_type'] == 'code'])
    kept = CACHE/'executed'/f"{path.stem}-{hashlib.sha256((code + libhash + RENDERER).encode()).hexdigest()[:16]}.ipynb"
    if kept.exists(): return json.loads(kept.read_text()), None, 0.
    run, err, t0 = nbformat.reads(json.dumps(nb), 4), None, time.time()
    for c in run.cells:
        if c.cell_type == 'code' and SKIP & set(directives(c)):
            c.metadata.setdefault('tags', []).append('skip-execution')
    client = NotebookClient(run, kernel_name='python3', timeout=600, resources={'metadata': {'path': str(path.parent)}},
                            extra_arguments=['--InlineBackend.figure_format=retina'])
    try:
        with client.setup_kernel(stderr=subprocess.DEVNULL):
            for i, c in enumerate(run.cells):
                with TURNS.turn('timing' in directives(c)): client.execute_cell(c, i)
    except CellExecutionError as e: err = f'{e.ename}: {e.evalue}'.splitlines()[0]
    except Exception as e: err = f'{type(e).__name__}: {e}'.splitlines()[0]
    nb = json.loads(nbformat.writes(run))
    if not err:
        kept.parent.mkdir(parents=True, exist_ok=True)
        for old in kept.parent.glob(f'{path.stem}-*.ipynb'): old.unlink()
        kept.write_text(json.dumps(nb))
    return nb, err, time.time() - t0

def inline_svg(svg):
    "An SVG picture as part of the page, so that the page's colours reach it in light and dark."
    svg = re.sub(r'<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->', '', ''.join(svg), flags=re.S).strip()
    if 'class="graph"' in svg: svg = re.sub(r'\sid="[^"]*"', '', svg)
    return f'<div class="picture">{svg}</div>'

def prepare(nb, folder, name):
    "nbdev's conventions -> MyST-NB's; adds the line that says where this page comes from."
    import fucinalib as fl
    cells, mod = [], module(nb)
    marks = {}      # cell -> the operations it defines, which the API pages link to
    for op, i in defining(nb).items() if mod else ():
        if op in fl.registry: marks.setdefault(i, []).append(op)
    for i, c in enumerate(nb['cells']):
        if c['cell_type'] == 'raw': continue
        if i in marks:
            spans = ''.join(f'<span id="def-{op}" class="mark"></span>' for op in marks[i])
            cells.append(dict(cell_type='markdown', metadata={}, source=spans))
        if c['cell_type'] == 'code':
            ds = directives(c)
            tags = {TAGS[k] for d in ds for k in (d, d.split()[0].rstrip(':')) if k in TAGS}
            text = re.sub(r'^#\|.*\n?', '', source(c), flags=re.M).strip('\n')
            if not text or 'remove-cell' in tags: continue
            c = dict(c, source=text, metadata={'tags': sorted(tags | set(c['metadata'].get('tags', [])))})
            if ds[:1] == ['export'] and all(l.startswith(('import ', 'from ', ' ')) for l in text.split('\n')):
                c['metadata']['mystnb'] = {f'code_prompt_{way}': 'What the module imports' for way in ('show', 'hide')}
            if any(d.startswith('solution') for d in ds):
                c['metadata']['mystnb'] = dict(code_prompt_show='Show a solution', code_prompt_hide='Hide the solution')
            c['outputs'] = settled(c.get('outputs', []))
            for o in c['outputs']:
                data = o.get('data', {})
                if 'image/svg+xml' in data: data['text/html'] = inline_svg(data.pop('image/svg+xml'))
        cells.append(c)
    where = f'{folder}/{name}.ipynb'
    api = f'api/{mod.replace(".", "_")}.rst' if mod else 'none'
    line = f'Source of [`fucinalib.{mod}`](../{api}). ' if (SRC/api).exists() else ''
    chapter = f'Chapter {n}. ' if (n := number(folder, name)) else ''
    meta = dict(cell_type='markdown',
                metadata={},
                source=f'{{.runline}}\n{chapter}{line}Run it: `make lab`, then open `work/{where}`')
    at = 1 if cells and re.match(r'#\s', source(cells[0])) else 0
    cells = [{k: v for k, v in c.items() if k != 'id'} for c in cells[:at] + [meta] + cells[at:]]
    return dict(cells=cells, metadata=META, nbformat=4, nbformat_minor=4)


# ---- what the pages need that is not ours: fetched once by package name, kept under .cache/docs/assets
# sha256 of tex-svg.js 3.2.2, whoever ships it
MATHJAX = 'd4295dc33744836935c1399feece5159577b34c5c8ffb9f1c6324cd82e03a882'
FONTS = [('Source Serif 4', 'source-serif-4', 'normal'), ('Source Serif 4', 'source-serif-4', 'italic'),
         ('Source Sans 3', 'source-sans-3', 'normal'), ('Source Code Pro', 'source-code-pro', 'normal')]

def from_package(command, member):
    "One file out of the package that `command` downloads."
    with tempfile.TemporaryDirectory() as d:
        subprocess.run(command, cwd=d, check=True, capture_output=True, timeout=180)
        shutil.unpack_archive(got := next(Path(d).iterdir()), d, 'zip' if got.suffix == '.whl' else 'gztar')
        return Path(d, member).read_bytes()

def npm(package, member): return from_package(['npm', 'pack', '--silent', package], f'package/{member}')
def pypi(package, member):
    return from_package(
        [sys.executable, '-m', 'pip', 'download', '-q', '--no-deps', '--only-binary', ':all:', package],
        member)

def mathjax():
    "One file: its SVG output needs no fonts, which some browsers refuse to load from disk."
    for get in (lambda: pypi('sphinx-mathjax-offline==0.0.2', 'sphinx-mathjax-offline/static/mathjax/tex-svg.js'),
                lambda: npm('mathjax@3.2.2', 'es5/tex-svg.js')):
        try: data = get()
        except Exception as e: error = e; continue
        if hashlib.sha256(data).hexdigest() == MATHJAX: return data
        error = ValueError('not the expected file')
    raise error

def fonts():
    "The text faces inside one style sheet, for the same reason."
    css = []
    for family, package, style in FONTS:
        data = base64.b64encode(npm(f'@fontsource-variable/{package}@5', f'files/{package}-latin-wght-{style}.woff2'))
        css.append(f"@font-face{{font-family:'{family}';font-style:{style};font-weight:200 900;font-display:swap;"
                   f"src:url(data:font/woff2;base64,{data.decode()}) format('woff2')}}")
    return '\n'.join(css).encode()

def fetch_assets():
    dst = CACHE/'assets'; dst.mkdir(parents=True, exist_ok=True)
    for file, get, without in [('mathjax.js', mathjax, 'formulas stay TeX source'),
                               ('fonts.css', fonts, 'pages use the fonts of the system')]:
        if (dst/file).exists(): continue
        try: (dst/file).write_bytes(get())
        except Exception as e: print(f'docs: could not fetch {file} ({type(e).__name__}): {without}')


# ---- pages
def write(path, text): path.parent.mkdir(parents=True, exist_ok=True); path.write_text(text)

def defining(nb):
    "Name -> index of the cell of a chapter that defines it in the library."
    import api
    found = {}
    for i, c in enumerate(nb['cells']):
        if c['cell_type'] == 'code' and any(d.split()[0] in ('export', 'exporti', 'exports') for d in directives(c)):
            for name in api.names_in(source(c)): found.setdefault(name, i)
    return found

def api_pages(chapters, books):
    "One page per module for the public names; returns the page names in reading order."
    import api
    import fucinalib as fl
    names = {module(nb): set(defining(nb)) for *_, nb in books}
    title_of = lambda f, s, t: f'Source in chapter {n}, {t}' if (n := number(f, s)) else f'Source in {t}'
    places = {o.name: (f'{f}/{s}', title_of(f, s, t)) for o in fl.registry.values() for f, s, t, m in chapters
              if f'fucinalib.{m}' == o.module and o.name in names[m]}
    ops = set(getattr(fl, 'registry', {}))
    groups = {}
    for n in sorted({*getattr(fl, '__all__', []), *ops}):  # __all__ leaves out sum, max and other names of Python's own
        try: o = getattr(fl, n)
        except Exception as e: print(f'docs: fucinalib.{n} is named but not there ({type(e).__name__}: {e})'); continue
        mod = getattr(o, '__module__', None) or 'fucinalib'
        if not mod.startswith('fucinalib') or not callable(o): continue
        groups.setdefault(mod.removeprefix('fucinalib').lstrip('.') or 'fucinalib', []).append((n, o))
    told = {m: (f, s, t) for f, s, t, m in chapters if m}
    order = [m for m in told if m in groups] + sorted(m for m in groups if m not in told)
    index = ['# Names by module', '', 'Everything that `import fucinalib as fl` gives you as `fl.name`.', '']
    for m in order:
        names = sorted(groups[m], key=lambda p: (not inspect.isclass(p[1]), p[0].lower()))
        full = 'fucinalib' if m == 'fucinalib' else f'fucinalib.{m}'
        doc = (getattr(sys.modules.get(full), '__doc__', None) or '').strip().split('\n')[0]
        text = [full, '='*len(full), '', doc, '']
        if m in told: text += [f':doc:`/{told[m][0]}/{told[m][1]}` is the source of this module and explains it.', '']
        methods = [n for n, _ in names if n in ops and fl.registry[n].attach]
        functions = [f'``{n}``' for n, _ in names if n in ops and n not in methods]
        if methods:
            but = f', but {" and ".join(functions)} {"is" if len(functions) == 1 else "are"} not' if functions else ''
            text += [f'An operation is also a method of its first operand{but}: ``fl.{methods[0]}(x, ...)`` is '
                     f'``x.{methods[0]}(...)``.', '']
        if any(n == 'Tensor' for n, _ in names):
            text += ['A tensor has every operation as a method too: :doc:`/appendix/op-table` lists them.', '']
        text += ['.. currentmodule:: fucinalib', '', '.. autosummary::', '   :nosignatures:', '']
        text += [f'   {n}' for n, _ in names] + ['']
        for n, o in names:
            if inspect.isclass(o):
                skip = ', '.join(sorted(k for k in vars(o) if k in ops or k.startswith('_')))
                text += [f'.. autoclass:: {n}', '   :members:'] + ([f'   :exclude-members: {skip}']
                                                                   if skip else []) + ['']
            else:
                text += [f'.. autofunction:: {n}', '']
                under = api.described(fl.registry[n], places.get(n)) if n in ops else []
                text += ['   ' * bool(line) + line for line in under]
        write(SRC/'api'/f'{m.replace(".", "_")}.rst', '\n'.join(text))
        names_of = ' '.join(f'{{py:obj}}`{n} <fucinalib.{n}>`' for n, _ in names)
        index += ['{.module}', f'[{full}]({m.replace(".", "_")}.rst) {doc}', '', '{.names}', names_of, '']
    if order: write(SRC/'api'/'index.md', '\n'.join(index) + '\n' + toctree(None, [m.replace('.', '_') for m in order]))
    return [f'api/{m.replace(".", "_")}' for m in order]

def appendix_pages(chapters):
    import pages
    pages.CHAPTERS[:], out = chapters, []
    for slug, name, f in pages.PAGES:
        try: body = f()
        except Exception as e: pages.PROBLEMS.append(f'appendix {slug} failed: {type(e).__name__}: {e}'); continue
        write(SRC/'appendix'/f'{slug}.md', f'# {name}\n\n{body}\n'); out.append(f'appendix/{slug}')
    return out, pages

def number(folder, stem):
    "A chapter's number as text: '3', '11a'; None for what is not a chapter."
    m = re.match(r'0*(\d+[a-z]?)_', stem)
    return m[1] if m and folder == 'nbs' else None

def toctree(caption, docs):
    opts = [f':caption: {caption}'] * bool(caption) + [':hidden:', ':maxdepth: 1', '']
    return '\n'.join(['```{toctree}', *opts, *docs, '```', '']) if docs else ''

def landing_page(rows, api, appendix, picture):
    "docs/index.md with the chapters that exist; rows of (folder, stem, title, subtitle)."
    parts = {'Start here': []} | {name: [] for _, name in PARTS} | {'Words': []}
    for f, s, t, sub in rows:
        part = [name for lo, name in PARTS if int(re.match(r'\d*', s)[0] or 0) >= lo][-1]
        if f != 'nbs': part = 'Words' if s == 'glossary' else 'Start here'
        parts[part].append((f, s, t if number(f, s) is None else f'{number(f, s)}. {t}', sub))
    listing = trees = ''
    for part, chapters in parts.items():
        if not chapters: continue
        lines = [f'- [{t}]({f}/{s}.ipynb) {sub}' for f, s, t, sub in chapters]
        listing += '\n'.join([f'### {part}', '', ':::{container} contents', *lines, ':::', '', ''])
        trees += toctree(part, [f'{t} <{f}/{s}>' for f, s, t, _ in chapters])
    trees += toctree('Reference', ['Names by module <api/index>'] * bool(api) + appendix)
    first = lambda *folders: next((f'{f}/{s}.ipynb' for want in folders for f, s, *_ in rows if f == want), 'index.md')
    text = (DOCS/'index.md').read_text()
    for k, v in {'chapters': listing, 'toctrees': trees, 'picture': picture, 'first_chapter': first('nbs'),
                 'first_tutorial': first('tutorials', 'nbs'), 'api': 'api/index.md' if api else 'index.md'}.items():
        text = text.replace(f'%{k}%', v)
    write(SRC/'index.md', text)

def make_accessible(html):
    "Complete the built pages, see access.py."
    from access import accessible
    for f in html.rglob('*.html'):
        if (made := accessible(text := f.read_text())) != text: f.write_text(made)

def write_texts(html):
    "The plain text of every page, for the quotes in search results (see _static/offline-search.js)."
    from bs4 import BeautifulSoup
    texts = {}
    for f in html.rglob('*.html'):
        article = BeautifulSoup(f.read_text(), 'html.parser').find('article')
        if '_modules' in f.parts or not article: continue
        for junk in article.select('script, style, .headerlink, .prev-next-area, svg, .runline, div.math'):
            junk.decompose()
        texts[f.relative_to(html).as_posix()] = ' '.join(article.get_text().split())
    (html/'_static'/'texts.js').write_text('window.TEXTS = ' + json.dumps(texts))

def unparsed():
    "Modules that Sphinx cannot read: their names would have no source links, and it says nothing of that."
    import pkgutil, fucinalib
    from sphinx.pycode import ModuleAnalyzer
    for m in pkgutil.walk_packages(fucinalib.__path__, 'fucinalib.'):
        try: ModuleAnalyzer(m.module_finder.find_spec(m.name).loader.get_source(m.name), m.name, '').analyze()
        except Exception as e: yield f'{m.name} is not read by Sphinx: {type(e).__name__}: {e}'

def loads_from_outside(html):
    "Everything in the built pages that a browser would fetch from a server just to show them."
    far = r'(?:https?:)?//'
    pat = re.compile(
        rf'<(?:script|img|iframe|source|video)[^>]*\ssrc="{far}[^"]+|<link(?![^>]*rel="(?:canonical|author|license)")'
        rf'[^>]*href="{far}[^"]+|@import[^;]*{far}[^;]+|url\(["\']?{far}[^)]+')
    return sorted({f'{f.relative_to(html)}: {m[0][:120]}' for f in html.rglob('*') if f.suffix in ('.html', '.css')
                   for m in pat.finditer(f.read_text(errors='ignore'))})


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--committed', action='store_true',
                    help='show the committed outputs; run only notebooks without any')
    ap.add_argument('--strict', action='store_true', help='exit 1 when Sphinx warned')
    ap.add_argument('--extra', metavar='DIR', help='render the notebooks of one more folder, to try a draft')
    args = ap.parse_args(); t0 = time.time()
    os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, [str(ROOT), os.environ.get('PYTHONPATH')])),
                      MATPLOTLIBRC=str(DOCS/'matplotlibrc'), OPENBLAS_THREAD_TIMEOUT='4', FUCINALIB_RENDERER=RENDERER)
    sys.path[:0] = [str(ROOT), str(DOCS)]
    try: import fucinalib  # noqa: F401
    except Exception as e: sys.exit(f'docs: fucinalib does not import: {type(e).__name__}: {e}')
    for d in (SRC, OUT): shutil.rmtree(d, ignore_errors=True)
    fetch_assets()

    folders = [ROOT/'nbs', ROOT/'tutorials'] + ([Path(args.extra)] if args.extra else [])
    try: books = [(d.name, p, load(p)) for d in folders for p in sorted(d.glob('*.ipynb')) if p.stem != 'index']
    except Wrong as wrong: sys.exit(f'docs: {wrong}')
    libhash, failed = library_hash(), []
    def run(book):
        folder, path, nb = book
        kept = args.committed or fetches(nb)      # what needs a large file is shown as it was committed
        if kept and any(c.get('outputs') for c in nb['cells']): return book
        nb, err, sec = execute(path, nb, libhash)
        if sec:
            print(f'docs: ran {folder}/{path.name} in {sec:.0f} s'
                  + (f', FAILED: {err}' if err else ''),
                  flush=True)
        if err: failed.append(path.name)
        return folder, path, nb
    with ThreadPoolExecutor(2) as pool: books = list(pool.map(run, books))

    chapters = [(f, p.stem, title(nb, p.stem), module(nb)) for f, p, nb in books]
    api = api_pages(chapters, books)
    for folder, path, nb in books: write(SRC/folder/path.name, json.dumps(prepare(nb, folder, path.stem)))
    for d in folders:  # pictures that a notebook names
        for f in (f for end in ('svg', 'png', 'jpg', 'gif') for f in d.rglob(f'*.{end}')):
            to = SRC/d.name/f.relative_to(d); to.parent.mkdir(parents=True, exist_ok=True); shutil.copy(f, to)
    appendix, pages = appendix_pages(chapters)
    landing_page([(f, p.stem, title(nb, p.stem), subtitle(nb)) for f, p, nb in books], api, appendix, pages.picture())

    OUT.mkdir(exist_ok=True)
    sphinx = subprocess.run([sys.executable, '-m', 'sphinx', '-b', 'html', '-q', '-j', '2', '-c',
                             DOCS, '-d', OUT/'doctrees',
                             SRC, OUT/'html'],
                            capture_output=True, text=True)
    warnings = [re.sub(r'\x1b\[[0-9;]*m', '', s).replace(f'{SRC}/', '')
                for s in sphinx.stderr.splitlines() if s.strip()]
    for w in warnings: print('sphinx:', w)
    if not sphinx.returncode:
        make_accessible(OUT/'html')
        write_texts(OUT/'html')
    problems = [f'{f} failed' for f in failed] + pages.PROBLEMS
    problems += [f'Sphinx: {w}' for w in warnings if re.search(r'\b(ERROR|CRITICAL)\b|failed to', w)]
    problems += [*unparsed(), *(f'loads from the network: {s}' for s in loads_from_outside(OUT/'html'))]
    for p in problems: print('docs:', p)
    print(f'docs: {len(books)} notebooks, {len(api)} API pages, {len(appendix)} appendices, {len(warnings)} warnings '
          f'in {time.time() - t0:.0f} s: {(OUT/"html"/"index.html").relative_to(ROOT)}')
    sys.exit(1 if sphinx.returncode or problems or args.strict and warnings else 0)


if __name__ == '__main__': main()
