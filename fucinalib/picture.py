"""The text of a picture: which program draws it, its colours on light and dark pages, and words in boxes.

Graphviz draws what the language DOT says. Chapter 4 says what a computation is in it, with what stands here.
"""
import html, os, re, shutil, sys, sysconfig, unicodedata
from pathlib import Path
import graphviz
from . import show
from .errors import FucinaError, fault

__all__ = ['NoRenderer', 'renderer', 'Picture', 'dress', 'say', 'note', 'clipped', 'flow', 'label_of', 'matrix', 'PAGE',
           'SKIN', 'INK', 'FAINT', 'LINE', 'CARD', 'PAPER', 'WARM', 'COLD', 'WARM_CARD', 'COLD_CARD']


# ---- the program that draws
HOW = ('to see this drawn: pip install graphviz-pure; or install Graphviz (apt, brew and winget '
       'call it graphviz)')

class NoRenderer(FucinaError, RuntimeError): "No program that draws pictures was found."

def renderer():
    """The program that draws DOT: what FUCINALIB_RENDERER names, or `dot`, or that of the
    graphviz-pure package; None if there is none."""
    wanted = os.environ.get('FUCINALIB_RENDERER')
    beside = [sysconfig.get_path('scripts'), os.path.dirname(sys.executable)]
    places = None, os.pathsep.join(beside)      # None: PATH
    found = [shutil.which(name, path=p)
             for name in ([wanted] if wanted else ['dot', 'graphviz-pure']) for p in places]
    return next(filter(None, found), None)

def ready():
    "Tell graphviz which program draws. NoRenderer if there is none."
    program = renderer()
    if program is None: raise fault(NoRenderer, 'no program that draws pictures was found', help=HOW)
    graphviz.backend.dot_command.DOT_BINARY = Path(program)


# ---- colours
INK, FAINT, LINE, CARD, PAPER = '#24292f', '#70757b', '#868b92', '#f6f6f3', '#ffffff'
WARM, COLD, WARM_CARD, COLD_CARD = show.WARM, show.COLD, '#fdf0e6', '#edf3fa'

def clear(percent, color='currentColor'): return f'color-mix(in oklab,{color} {percent}%,transparent)'

SKIN = {    # colour in DOT: what it becomes in a page, alone on light ground, alone on dark ground
    INK: ('currentColor', INK, '#e4e7ea'),                 # text, outline of the result
    FAINT: (clear(68), FAINT, '#a0a7af'),                  # lesser text
    LINE: (clear(45), LINE, LINE),                         # arrows and outlines
    CARD: (clear(5), CARD, '#262b31'),                     # ground of a result
    PAPER: ('none', PAPER, '#1b1f24'),                     # ground of an operation or a constant
    WARM_CARD: (clear(13, WARM), WARM_CARD, '#3b281a'),    # ground of a parameter
    COLD_CARD: (clear(13, COLD), COLD_CARD, '#1c2d3f')}    # ground of an input

def sheet(hues):
    "The style sheet of a picture that uses the given tag colours."
    name = {c: f'--{i}' for i, c in enumerate(SKIN)}
    skin = lambda i: ''.join(f'{name[c]}:{looks[i]};' for c, looks in SKIN.items())
    # outside a box the ground is unknown
    alone = lambda i: (f'.fl:root{{{skin(i)}--ink:#808080;{name[FAINT]}:{FAINT}}}'
                       f'.fl:root .node{{--ink:{SKIN[INK][i]};{name[FAINT]}:{SKIN[FAINT][i]}}}')
    rules = [f'.fl{{--ink:currentColor;{skin(0)}}}:where(.fl:not(:root)){{max-width:100%;height:auto}}',
             '.fl text{font-family:Arial,Helvetica,sans-serif}',
             alone(1), f'@media(prefers-color-scheme:dark){{{alone(2)}}}']
    rules += [f'.fl [{part}="{c}"]{{{part}:var({name[c]})}}' for c in SKIN
              for part in ('fill', 'stroke')]
    rules += [f'.fl [fill="{c}"]{{fill:color-mix(in oklab,{c} 80%,var(--ink))}}' for c in hues]
    return ''.join(rules)

PAGE = 640    # points that fit across a notebook

def fit(size):
    """The attributes width and height of a picture, drawn up to a third smaller where it is wider
    than a page."""
    wide, high = int(size[1]), int(size[2])
    scale = max(2 / 3, min(1, PAGE / wide))
    return f'width="{wide * scale:.0f}pt" height="{high * scale:.0f}pt"'

def dress(svg):
    "An SVG text from Graphviz with our style sheet in it, without comments and tooltips."
    svg = re.sub(r'width="(\d+)pt"\s+height="(\d+)pt"', fit, svg, count=1)
    svg = re.sub(r'<!--.*?-->\s*|<title>.*?</title>\s*', '', svg[svg.index('<svg'):], flags=re.S)
    hues = [c for c in dict.fromkeys(re.findall(r'fill="(#\w{6})"', svg)) if c in [*show.PALETTE, WARM]]
    return svg.replace('<svg ', '<svg class="fl" role="img" ', 1).replace(
        '>', f'><style>{sheet(hues)}</style>', 1)


# ---- the picture
FONT = dict(fontname='Arial')      # every renderer knows its widths
OVERALL = dict(FONT, bgcolor='transparent', rankdir='LR', nodesep='.22', ranksep='.32', pad='.05')
NODES = dict(FONT, fontsize='11', width='.4', height='.3', margin='.1,.04')
ARROWS = dict(FONT, fontsize='9', color=LINE, arrowsize='.6')

class Picture(graphviz.Digraph):
    """A graphviz graph that finds its renderer, reads on light and dark pages, and never fails to
    show something."""
    told = 'a picture'

    def __init__(self, **kw):
        super().__init__(**kw or dict(graph_attr=OVERALL, node_attr=NODES, edge_attr=ARROWS))

    def pipe(self, *args, quiet=True, **kw): ready(); return super().pipe(*args, quiet=quiet, **kw)
    def svg(self): "The picture as SVG text."; return dress(self.pipe(format='svg', encoding='utf-8'))
    def __repr__(self): return f'{self.told}; .source is its text, .render("name.svg") writes it'

    def _repr_svg_(self):
        try: return self.svg()
        except Exception: return None

    def _repr_mimebundle_(self, include=None, exclude=None, **kw):
        svg = self._repr_svg_()
        return {'image/svg+xml': svg, 'text/plain': repr(self)} if svg else {
            'text/plain': f'{self.source}\n{HOW}'}

    def render(self,
               filename,  # where to, in the format of its ending: .svg .png .gv, .pdf with Graphviz
               **kw):     # with any option of graphviz.Digraph.render, that method
        "Write the picture and return the path; makes the folder if need be."
        path = Path(filename)
        if kw or path.suffix[1:] not in graphviz.FORMATS: ready(); return super().render(filename, **kw)
        if path.suffix in ('.gv', '.dot'): data = self.source.encode()
        else: data = self.svg().encode() if path.suffix == '.svg' else self.pipe(format=path.suffix[1:])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return str(path)


# ---- words in a box
def spelled(c):
    """A character as Python spells it, if a picture has no way to hold it or it would turn the
    text around it."""
    bare = unicodedata.category(c) not in ('Cc', 'Cf', 'Cs', 'Zl', 'Zp') and c not in '\ufffe\uffff'
    # joiners belong to the letters beside them
    return c if bare or c in '\u200c\u200d' else c.encode('unicode_escape').decode()

def clipped(text): return text if len(text) <= 60 else f'{text[:29]}…{text[-30:]}'

def say(text, color=INK, bold=False, size=None):
    "A piece of text in a label, shown as it is."
    # DOT takes \\ for a backslash, and \N for the name of the node
    t = ''.join(map(spelled, str(text))).replace('\\', '\\\\')
    t = html.escape(t, quote=False)
    size = f' POINT-SIZE="{size}"' if size else ''
    return f'<FONT COLOR="{color}"{size}>{f"<B>{t}</B>" if bold else t}</FONT>'

def note(text, color=FAINT): return say(text, color, size=9)

def flow(tags, shape=None):
    "Tags in their colours; with `shape`, their sizes."
    words = [say(show.short(t), show.tag_color(t), bold=True) for t in tags]
    return ' '.join(words) if shape is None else '  '.join(w + say(f'={n}', FAINT)
                                                           for w, n in zip(words, shape))

def label_of(rows):
    "Pieces of a label under one another."
    return f'<{table(f"<TR><TD>{r}</TD></TR>" for r in rows if r)}>'

def table(rows, pad=1):
    return ('<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" '
            f'CELLPADDING="{pad}">{"".join(rows)}</TABLE>')

def matrix(a, color=INK):
    "The values of a tiny array: rows under one another, decimal points too."
    cells, wide, most = show.column(a), a.shape[-1] if a.ndim else 1, show.CELLS
    rows = [cells[i:i + wide] for i in range(0, len(cells), wide)]
    rows = [r[:most] + ['…'] * (wide > most) for r in rows[:most]] + [['⋮']] * (len(rows) > most)
    if len(rows) == 1: return say('   '.join(rows[0]), color)
    line = lambda r: '<TR>' + ''.join(f'<TD ALIGN="RIGHT">{say(v, color)}</TD>' for v in r) + '</TR>'
    return table(map(line, rows), 2)
