"Sphinx configuration. `python docs/build.py` writes docs/_src and calls Sphinx; this file is not used alone."
import inspect, re, sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
ASSETS = ROOT/'.cache'/'docs'/'assets'

project, author, html_title = 'fucinalib', 'the fucinalib authors', 'fucinalib'
project_copyright = '2026 the fucinalib authors'
extensions = ['myst_nb', 'sphinx.ext.autodoc', 'sphinx.ext.autosummary', 'sphinx.ext.viewcode', 'sphinx.ext.mathjax',
              'numpydoc', 'sphinx_copybutton']
exclude_patterns = ['**.ipynb_checkpoints']
suppress_warnings = ['mystnb.unknown_mime_type']

# notebooks: build.py has executed them
nb_execution_mode = 'off'
nb_render_markdown_format = 'myst'
nb_merge_streams = True
nb_ipywidgets_js = {}  # the default loads a widget manager from the network
nb_code_prompt_show, nb_code_prompt_hide = 'Show the code', 'Hide the code'
myst_enable_extensions = ['dollarmath', 'amsmath', 'colon_fence', 'deflist', 'attrs_inline', 'attrs_block']
myst_heading_anchors = 3
myst_dmath_double_inline = True

# math: build.py fetches MathJax once; without it formulas stay readable TeX and nothing is loaded from outside
mathjax_path = 'mathjax.js' if (ASSETS/'mathjax.js').exists() else 'no-math.js'
mathjax3_config = {'svg': {'fontCache': 'local', 'scale': 0.96}, 'options': {'enableMenu': False}}

# API
autodoc_member_order = 'bysource'
autodoc_typehints = 'none'
autodoc_typehints_format = 'short'
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_use_plots = False
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
toc_object_entries_show_parents = 'hide'
viewcode_line_numbers = True

# looks
html_theme = 'sphinx_book_theme'
html_static_path = ['_static'] + ([str(ASSETS)] if ASSETS.exists() else [])
html_css_files = (['fonts.css'] if (ASSETS/'fonts.css').exists() else []) + ['custom.css']
html_js_files = ['offline-search.js']
html_favicon = '_static/favicon.svg'
html_context = {'default_mode': 'auto'}
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    'logo': {'text': 'fucinalib', 'image_light': '_static/favicon.svg', 'image_dark': '_static/favicon.svg'},
    'article_header_end': ['theme-switcher.html', 'search-button.html', 'toggle-secondary-sidebar.html'],
    'navbar_persistent': [], 'use_download_button': False, 'use_fullscreen_button': False, 'home_page_in_toc': False,
    'show_navbar_depth': 1, 'max_navbar_depth': 2, 'show_toc_level': 2, 'toc_title': 'On this page',
    'search_bar_text': 'Search', 'footer_content_items': ['copyright.html'],
    'pygments_light_style': 'github-light', 'pygments_dark_style': 'github-dark', 'back_to_top_button': False,
}


def md2rst(line):
    "One line of a docstring as we write them (`code`, $math$) in the markup autodoc expects."
    if line.lstrip().startswith(('>>>', '...', ':', '.. ')): return line
    out = []
    for i, part in enumerate(re.split(r'`+([^`]+)`+', line)):
        if i % 2: out.append(f':py:obj:`~fucinalib.{part}`' if part in public else f'``{part}``')
        else:
            for j, s in enumerate(re.split(r'\$([^$]+)\$', part)):
                out.append(f':math:`{s}`' if j % 2 else re.sub(r'([*|\\]|_\b)', r'\\\1', s))
    return ''.join(out)


def doc_text(app, what, name, obj, options, lines):
    "Docstring to RST, then the comments on the parameters (docments) to a numpydoc Parameters section."
    if 'Parameters' in lines: lines[lines.index('Parameters'):] = []        # written anew below, with types and links
    lines[:] = [md2rst(s) for s in lines]
    if what not in ('function', 'method', 'class'): return
    from fastcore.docments import docments
    try: dm = docments(obj, full=True, args_kwargs=True)
    except Exception: return  # builtins and C functions have no source to read comments from
    if torch := getattr(getattr(obj, 'op', None), 'torch', None): lines += ['', f'In torch: ``{torch}``.']
    note = lambda v: md2rst(' '.join((v.docment or '').split()))
    try: written = {k: v.annotation for k, v in inspect.signature(obj).parameters.items()}
    except (ValueError, TypeError): written = {}  # docments itself would guess a type from the default
    def anno(k, a=inspect.Parameter.empty):
        a = written.get(k, a)
        if a in (inspect.Parameter.empty, None): return ''
        if isinstance(a, type) and not hasattr(a, '__origin__'): a = a.__name__
        return re.sub(r'\b(?:[a-z_]+\.)+(?=[A-Za-z])', '', str(a))
    ps = [(k, v) for k, v in dm.items() if k not in ('self', 'cls', 'return')]
    if any(v.docment for _, v in ps):
        lines += ['', 'Parameters', '----------']
        for k, v in ps: lines += [f'{k} : {anno(k)}'.rstrip(' :'), f'    {note(v)}']
    r = dm.get('return')
    if r and r.docment: lines += ['', 'Returns', '-------', anno('return', r.anno) or 'Tensor', f'    {note(r)}']


try:
    import fucinalib
    public = set(getattr(fucinalib, '__all__', []))
except Exception: public = set()


def setup(app): app.connect('autodoc-process-docstring', doc_text, priority=100)
