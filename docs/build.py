"""The site, in one command: `python docs/build.py` runs nbs/ and tutorials/ and renders them, the API and the appendices into docs/_build/html.

Notebooks run two at a time; one whose code and library are unchanged since its last good run is not run again.
"""
import argparse, base64, hashlib, inspect, json, os, re, shutil, subprocess, sys, tarfile, tempfile, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT, SRC, OUT, CACHE = DOCS.parent, DOCS/'_src', DOCS/'_build', DOCS.parent/'.cache'/'docs'
PARTS = [(0, 'I. Values with names'), (10, 'II. The operation library'), (30, 'III. Learning machines'),
         (40, 'IV. Language'), (50, 'V. Out in the world')]
# directives that say how a cell appears -> MyST-NB cell tags; export and exercise are tags of our own, styled in custom.css
TAGS = {'hide': 'remove-cell', 'include: false': 'remove-cell', 'hide_input': 'remove-input', 'echo: false': 'remove-input',
        'hide_output': 'remove-output', 'output: false': 'remove-output', 'code-fold: true': 'hide-input',
        'solution': 'hide-input', 'export': 'export', 'exporti': 'export', 'exports': 'export', 'exercise': 'exercise'}
META = {'kernelspec': {'name': 'python3', 'display_name': 'Python 3', 'language': 'python'}, 'language_info': {'name': 'python', 'pygments_lexer': 'ipython3'}}
SKIP = {'eval: false', 'slow', 'notest'}  # not run here: the committed output stays


# ---- notebooks
def directives(cell): return [m.strip() for m in re.findall(r'^#\|\s*(.+)$', source(cell), re.M)]
def source(cell): return ''.join(cell['source'])
def title(nb, default):
    for c in nb['cells']:
        if m := re.match(r'#\s+(.+)', source(c)): return m[1].strip()
    return default

def module(nb):
    "The module a chapter is the source of, or None."
    for c in nb['cells']:
        for d in directives(c):
            if d.startswith('default_exp '): return d.split()[1]

def library_hash():
    files = sorted(f for f in (ROOT/'fucinalib').rglob('*') if f.suffix in ('.py', '.so'))
    return hashlib.sha256(b''.join(f.read_bytes() for f in files)).hexdigest()

def execute(path, nb, libhash):
    "Run a copy of the notebook; returns (notebook, error or None, seconds). Results are kept under .cache/docs."
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError
    code = json.dumps([source(c) for c in nb['cells'] if c['cell_type'] == 'code'])
    kept = CACHE/'executed'/f"{path.stem}-{hashlib.sha256((code + libhash).encode()).hexdigest()[:16]}.ipynb"
    if kept.exists(): return json.loads(kept.read_text()), None, 0.
    run, err, t0 = nbformat.reads(json.dumps(nb), 4), None, time.time()
    for c in run.cells:
        if c.cell_type == 'code' and SKIP & set(directives(c)): c.metadata.setdefault('tags', []).append('skip-execution')
    client = NotebookClient(run, kernel_name='python3', timeout=600, resources={'metadata': {'path': str(path.parent)}},
                            extra_arguments=['--InlineBackend.figure_format=retina'])
    try: client.execute(stderr=subprocess.DEVNULL)
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
    cells, mod = [], module(nb)
    for c in nb['cells']:
        if c['cell_type'] == 'raw': continue
        if c['cell_type'] == 'code':
            ds = directives(c)
            tags = {TAGS[k] for d in ds for k in (d, d.split()[0].rstrip(':')) if k in TAGS}
            text = re.sub(r'^#\|.*\n?', '', source(c), flags=re.M).strip('\n')
            if not text or 'remove-cell' in tags: continue
            c = dict(c, source=text, metadata={'tags': sorted(tags | set(c['metadata'].get('tags', [])))})
            if any(d.startswith('solution') for d in ds):
                c['metadata']['mystnb'] = dict(code_prompt_show='Show a solution', code_prompt_hide='Hide the solution')
            for o in c.get('outputs', []):
                data = o.get('data', {})
                if 'image/svg+xml' in data: data['text/html'] = inline_svg(data.pop('image/svg+xml'))
        cells.append(c)
    where = f'{folder}/{name}.ipynb'
    line = f'Source of [`fucinalib.{mod}`](../api/{mod.replace(".", "_")}.rst). ' if mod and (SRC/'api'/f'{mod.replace(".", "_")}.rst').exists() else ''
    number = f'Chapter {int(name[:2])}. ' if folder == 'nbs' and name[:2].isdigit() else ''
    meta = dict(cell_type='markdown', metadata={}, source=f'{{.runline}}\n{number}{line}Run it: `jupyter lab {where}`')
    at = 1 if cells and re.match(r'#\s', source(cells[0])) else 0
    cells = [{k: v for k, v in c.items() if k != 'id'} for c in cells[:at] + [meta] + cells[at:]]
    return dict(cells=cells, metadata=META, nbformat=4, nbformat_minor=4)


# ---- things the page needs that are not ours: fetched once by package name, kept under .cache/docs/assets
FONTS = [('Source Serif 4', 'source-serif-4', 'normal'), ('Source Serif 4', 'source-serif-4', 'italic'),
         ('Source Sans 3', 'source-sans-3', 'normal'), ('Source Code Pro', 'source-code-pro', 'normal')]

def npm(package, member):
    "One file out of an npm package."
    with tempfile.TemporaryDirectory() as d:
        subprocess.run(['npm', 'pack', '--silent', package], cwd=d, check=True, capture_output=True, timeout=180)
        with tarfile.open(next(Path(d).glob('*.tgz'))) as t: return t.extractfile(f'package/{member}').read()

def fetch_assets():
    "MathJax as one file (SVG output: no fonts to load) and the text faces embedded in one style sheet."
    dst = CACHE/'assets'; dst.mkdir(parents=True, exist_ok=True)
    def mathjax(): (dst/'mathjax.js').write_bytes(npm('mathjax@3', 'es5/tex-svg.js'))
    def fonts():
        css = []
        for family, pkg, style in FONTS:
            data = base64.b64encode(npm(f'@fontsource-variable/{pkg}@5', f'files/{pkg}-latin-wght-{style}.woff2')).decode()
            css.append(f"@font-face{{font-family:'{family}';font-style:{style};font-weight:200 900;font-display:swap;"
                       f"src:url(data:font/woff2;base64,{data}) format('woff2')}}")
        (dst/'fonts.css').write_text('\n'.join(css))
    for file, get, without in [('mathjax.js', mathjax, 'formulas stay TeX source'), ('fonts.css', fonts, 'the system fonts are used')]:
        if (dst/file).exists(): continue
        try: get()
        except Exception as e: print(f'docs: could not fetch {file} from npm ({type(e).__name__}); {without}')


# ---- pages
def write(path, text): path.parent.mkdir(parents=True, exist_ok=True); path.write_text(text)

def api_pages(chapters):
    "One page per module for the public names; returns the page names in reading order."
    try: import fucinalib as fl
    except Exception as e: print(f'docs: no API reference, fucinalib does not import ({type(e).__name__}: {e})'); return []
    ops = set(getattr(fl, 'registry', {}))
    groups = {}
    for n in sorted({*getattr(fl, '__all__', []), *ops}):  # __all__ leaves out sum, max and other names of Python's own
        try: o = getattr(fl, n)
        except Exception as e: print(f'docs: fucinalib.{n} is named but not there ({type(e).__name__}: {e})'); continue
        mod = getattr(o, '__module__', None) or 'fucinalib'
        if inspect.ismodule(o) or not mod.startswith('fucinalib') or not (callable(o) or inspect.isclass(o)): continue
        groups.setdefault(mod.removeprefix('fucinalib').lstrip('.') or 'fucinalib', []).append((n, o))
    told = {m: (f, s, t) for f, s, t, m in chapters if m}
    order = [m for m in told if m in groups] + sorted(m for m in groups if m not in told)
    for m in order:
        names = sorted(groups[m], key=lambda p: (not inspect.isclass(p[1]), p[0].lower()))
        full = 'fucinalib' if m == 'fucinalib' else f'fucinalib.{m}'
        doc = (sys.modules[full].__doc__ or '').strip().split('\n')[0] if full in sys.modules else ''
        text = [full, '='*len(full), '', doc, '']
        if m in told: text += [f':doc:`/{told[m][0]}/{told[m][1]}` is the source of this module and explains it.', '']
        if example := next((n for n, _ in names if n in ops), None):
            text += [f'An operation is also a method of its first operand: ``fl.{example}(x, ...)`` and ``x.{example}(...)`` are the same.', '']
        text += ['.. currentmodule:: fucinalib', '', '.. autosummary::', '   :nosignatures:', ''] + [f'   {n}' for n, _ in names] + ['']
        for n, o in names:
            if inspect.isclass(o):
                skip = ', '.join(sorted(k for k in vars(o) if k in ops or k.startswith('_')))
                text += [f'.. autoclass:: {n}', '   :members:'] + ([f'   :exclude-members: {skip}'] if skip else []) + ['']
            else: text += [f'.. autofunction:: {n}', '']
        write(SRC/'api'/f'{m.replace(".", "_")}.rst', '\n'.join(text))
    return [f'api/{m.replace(".", "_")}' for m in order]

def appendix_pages(chapters):
    sys.path.insert(0, str(DOCS)); import pages
    pages.CHAPTERS[:], out = chapters, []
    for slug, name, f in pages.PAGES:
        try: body = f()
        except Exception as e: pages.PROBLEMS.append(f'appendix {slug} failed: {type(e).__name__}: {e}'); continue
        write(SRC/'appendix'/f'{slug}.md', f'# {name}\n\n{body}\n'); out.append(f'appendix/{slug}')
    return out, pages

def toctree(caption, docs):
    return f'```{{toctree}}\n:caption: {caption}\n:hidden:\n:maxdepth: 1\n\n' + '\n'.join(docs) + '\n```\n' if docs else ''

def subtitle(nb):
    m = re.search(r'^>\s*(.+)', source(nb['cells'][0]), re.M) if nb['cells'] else None
    return m[1].strip() if m else ''

def chapter_list(rows):
    "rows of (folder, stem, title, subtitle) as the table of contents on the landing page."
    number = lambda f, s: f'{int(s[:2])}. ' if f == 'nbs' and s[:2].isdigit() else ''
    return ':::{container} contents\n' + '\n'.join(f'- [{number(f, s)}{t}]({f}/{s}.ipynb) {sub}' for f, s, t, sub in rows) + '\n:::\n'


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--committed', action='store_true', help='show the outputs that are committed; run only notebooks that have none')
    ap.add_argument('--strict', action='store_true', help='exit 1 when Sphinx warned')
    ap.add_argument('--extra', metavar='DIR', help='render the notebooks of one more folder, to try a draft')
    args = ap.parse_args(); t0 = time.time()
    os.environ.update(PYTHONPATH=os.pathsep.join([str(ROOT)] + [p for p in [os.environ.get('PYTHONPATH')] if p]),
                      MATPLOTLIBRC=str(DOCS/'matplotlibrc'), OPENBLAS_THREAD_TIMEOUT='4')
    sys.path.insert(0, str(ROOT))
    if SRC.exists(): shutil.rmtree(SRC)
    fetch_assets()

    folders = [ROOT/'nbs', ROOT/'tutorials'] + ([Path(args.extra)] if args.extra else [])
    books = [(d.name, p, json.loads(p.read_text())) for d in folders for p in sorted(d.glob('*.ipynb')) if p.stem != 'index']
    blank = lambda nb: not any(c.get('outputs') for c in nb['cells'] if c['cell_type'] == 'code')
    libhash, failed = library_hash(), []
    def run(book):
        folder, path, nb = book
        if args.committed and not blank(nb): return book
        nb, err, sec = execute(path, nb, libhash)
        if sec: print(f'docs: ran {folder}/{path.name} in {sec:.0f} s' + (f', FAILED: {err}' if err else ''), flush=True)
        if err: failed.append(path.name)
        return folder, path, nb
    with ThreadPoolExecutor(2) as pool: books = list(pool.map(run, books))

    chapters = [(f, p.stem, title(nb, p.stem), module(nb)) for f, p, nb in books]
    api = api_pages(chapters)
    for folder, path, nb in books: write(SRC/folder/path.name, json.dumps(prepare(nb, folder, path.stem)))
    for d in folders:  # pictures that notebooks refer to
        for f in d.rglob('*'):
            if f.suffix in ('.svg', '.png', '.jpg') and '.ipynb_checkpoints' not in f.parts: (SRC/d.name/f.relative_to(d)).parent.mkdir(parents=True, exist_ok=True); shutil.copy(f, SRC/d.name/f.relative_to(d))
    appendix, pages = appendix_pages(chapters)

    rows = [(f, p.stem, title(nb, p.stem), subtitle(nb)) for f, p, nb in books]
    num = lambda s: int(m[0]) if (m := re.match(r'\d+', s)) else 99
    part_of = lambda s: [name for lo, name in PARTS if num(s) >= lo][-1]
    parts = {name: [r for r in rows if r[0] == 'nbs' and part_of(r[1]) == name] for _, name in PARTS}
    parts = {k: v for k, v in parts.items() if v} | {'Tutorials': [r for r in rows if r[0] != 'nbs']}
    listing = '\n'.join(f'### {k}\n\n{chapter_list(v)}' for k, v in parts.items() if v)
    named = lambda f, s, t: f'{num(s)}. {t} <{f}/{s}>' if f == 'nbs' and s[0].isdigit() else f'{f}/{s}'
    trees = ''.join(toctree(k, [named(f, s, t) for f, s, t, _ in v]) for k, v in parts.items())
    if api: write(SRC/'api'/'index.md', '# Names by module\n\nThe public names of `fucinalib`, by module.\n\n```{toctree}\n:maxdepth: 1\n\n' + '\n'.join(a.removeprefix('api/') for a in api) + '\n```\n')
    trees += toctree('Reference', (['Names by module <api/index>'] if api else []) + appendix)
    first = lambda folder: next((f'{f}/{s}.ipynb' for f, s, *_ in rows if f == folder), 'index.md')
    text = (DOCS/'index.md').read_text()
    for k, v in {'chapters': listing, 'toctrees': trees, 'picture': pages.picture(), 'first_chapter': first('nbs'),
                 'first_tutorial': first('tutorials'), 'api': 'api/index.md' if api else 'index.md'}.items(): text = text.replace(f'%{k}%', v)
    write(SRC/'index.md', text)

    OUT.mkdir(exist_ok=True)
    sphinx = subprocess.run([sys.executable, '-m', 'sphinx', '-b', 'html', '-q', '-j', '2', '-c', str(DOCS), '-d', str(OUT/'doctrees'), str(SRC), str(OUT/'html')],
                            capture_output=True, text=True)
    warnings = [re.sub(r'\x1b\[[0-9;]*m', '', s).replace(f'{SRC}/', '') for s in sphinx.stderr.splitlines() if s.strip()]
    for w in warnings: print('sphinx:', w)
    write_texts(OUT/'html')
    outside = loads_from_outside(OUT/'html')
    for s in outside: print('docs: loads from the network:', s)
    print(f'docs: {len(books)} notebooks, {len(api)} API pages, {len(appendix)} appendices, {len(warnings)} warnings in {time.time()-t0:.0f} s -> {(OUT/"html"/"index.html").relative_to(ROOT)}')
    if failed: print('docs: notebooks that failed:', ', '.join(failed))
    for p in pages.PROBLEMS: print('docs:', p)
    sys.exit(1 if sphinx.returncode or failed or outside or pages.PROBLEMS or (args.strict and warnings) else 0)

def write_texts(html):
    "The plain text of every page, for the quotes in search results (see _static/offline-search.js)."
    from bs4 import BeautifulSoup
    texts = {}
    for f in html.rglob('*.html'):
        main = BeautifulSoup(f.read_text(), 'html.parser').find('article') or BeautifulSoup('', 'html.parser')
        for junk in main.select('script, style, .headerlink, .prev-next-area, svg, .runline'): junk.decompose()
        if '_modules' not in f.parts: texts[f.relative_to(html).as_posix()] = ' '.join(main.get_text(' ').split())
    (html/'_static'/'texts.js').write_text('window.TEXTS = ' + json.dumps(texts))

def loads_from_outside(html):
    "Everything in the built pages that a browser would fetch from a server just to show them."
    pat = re.compile(r'<(?:script|img|iframe|source|video)[^>]*\ssrc="(?:https?:)?//[^"]+|<link(?![^>]*rel="(?:canonical|author|license)")[^>]*href="(?:https?:)?//[^"]+|@import[^;]*//[^;]+|url\(["\']?(?:https?:)?//[^)]+')
    return sorted({f'{f.relative_to(html)}: {m[0][:120]}' for f in html.rglob('*') if f.suffix in ('.html', '.css') for m in pat.finditer(f.read_text(errors='ignore'))})


if __name__ == '__main__': main()
