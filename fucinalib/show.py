"""How things look: a tensor in one line, a tensor as HTML, an expected mistake.

Nothing here prints a wall of numbers: every form is under 10 kB and reads at most `SAMPLE`
elements, whatever the tensor's size. Every form reads on light and on dark ground. A single
colour cannot have enough contrast on both (4.35 on #fff and #111 is the most there is), so text
takes a colour of middling lightness and mixes it with `currentColor`, the ink of the page it
stands on."""
import base64, html as _html, re, struct, zlib
import numpy as np
from fucinalib.colors import PALETTE, tag_color
from fucinalib.elsewhere import taken_apart
from fucinalib.errors import FucinaError, InvalidShape, fault

__all__ = ['tag_color', 'line', 'html', 'memory', 'mistake', 'Caught']

SAMPLE = 1 << 18    # elements looked at for range and mean; a larger tensor is thinned out evenly
CELLS = 8           # rows and columns of numbers shown at most
PIXELS = 48         # rows and columns of a heat map at most
MOST = 9_900        # characters of HTML
LEVELS = 31         # shades of a heat map on either side of zero

COLD, WARM, BAD, INF = '#327cc2', '#c75715', '#d93f53', '#8567cb'     # below zero, above zero, not a number, infinite


# ---- words
def short(name): return name if len(name) <= 40 else name[:38] + '…'

def aligned(rows, left=0):
    "A table of texts as lines: the first `left` columns begin at the left, the others end at the right."
    wide = [max(map(len, column)) for column in zip(*rows)]
    return ['  '.join(s.ljust(w) if i < left else s.rjust(w) for i, (s, w) in enumerate(zip(r, wide))).rstrip()
            for r in rows]

def sizes(x): return ' '.join(f'{short(t)}={n}' for t, n in zip(x.tags, x.shape))

def numeral(v, digits=4):
    "A number in a few characters."
    if isinstance(v, (bool, np.bool_)): return str(bool(v))
    if isinstance(v, (int, np.integer)): return str(int(v))
    return f'{float(v):.{digits}g}'

def nested(a):
    "The values of a small array as nested lists."
    return numeral(a[()]) if a.ndim == 0 else '[' + ', '.join(map(nested, a)) + ']'

def column(a):
    "The values of a small array as text of equal precision, flat: four digits in all, as few decimals as they need."
    flat = [v for v in a.ravel().tolist()]
    fine = [abs(v) for v in flat if v == v and abs(v) != np.inf]
    if a.dtype.kind != 'f' or not fine: return [numeral(v) for v in flat]
    top, low = max(fine), min([v for v in fine if v] or [1.])
    if top >= 1e5 or low < 1e-4 * max(top, 1): return [numeral(v) for v in flat]
    most = max(0, 3 - int(np.floor(np.log10(max(top, 1e-3)))))
    n = next(n for n in range(most + 1) if n == most or all(abs(v - round(v, n)) <= 5e-5 * top for v in fine))
    return [f'{v:.{n}f}' for v in flat]


# ---- facts
def once(a):
    "`a` without the repetitions of broadcast axes."
    return a[tuple(slice(0, 1) if s == 0 else slice(None) for s in a.strides)]

def _thin(a):
    "At most about SAMPLE elements of `a`, spread over every axis."
    while a.size > SAMPLE:
        i = int(np.argmax(a.shape))
        a = a[(slice(None),) * i + (slice(None, None, -(-a.shape[i] // max(1, a.shape[i] * SAMPLE // a.size))),)]
    return a

def stats(a):
    """Two texts about the values of `a`: range and mean, and a warning if some are NaN or
    infinite. `~` marks what only a sample says."""
    own = once(a)
    s = _thin(own)
    about, times = '' if s.size == own.size else '~', a.size / s.size
    if s.dtype.kind == 'b': return f'{about}{s.mean():.0%} True', ''
    whole = s.dtype.kind in 'iu'
    if s.dtype.kind not in 'iuf': s = s.astype('f8')
    fine = np.isfinite(s)
    count = lambda bad: about + str(int(float(f'{bad.sum() * times:.{2 if about else 15}g}')))
    warning = ', '.join(f'{count(bad)} {word}'
                        for word, bad in (('NaN', np.isnan(s)), ('inf', np.isinf(s))) if bad.any())
    if not fine.any(): return 'no finite value', warning
    s = s[fine]
    low, high = (int(s.min()), int(s.max())) if whole else (float(s.min()), float(s.max()))
    if low == high: return f'{about}all {numeral(low)}' if not warning else f'the rest {numeral(low)}', warning
    # enough to tell the two ends apart
    digits = 4 if whole else min(9, 4 + max(0, int(np.log10(max(abs(low), abs(high)) / (high - low)))))
    return (f'{about}{numeral(low, digits)} to {numeral(high, digits)}, mean '
            f'{numeral(s.mean(dtype="f8"), digits)}',
            warning)

def gist(x):
    "The values of `x` in a few words: themselves if few, else range and mean; NaN and inf are counted."
    a = x.data
    return nested(a) if a.size <= CELLS else ', '.join(w for w in stats(a) if w)

def origin(x):
    "Where a tensor comes from, in a word or two."
    return '' if x.node is None else f'from {x.node.op.name}' if x.node.op is not None else 'requires_grad'

def line(x):
    "One line: sizes by tag, number type, values or their range, mean and warnings."
    if (torn := taken_apart(x)): return f'Tensor {torn.head}'
    return ' '.join(w for w in ('Tensor', sizes(x), str(x.dtype), origin(x)) if w) + ': ' + gist(x)


# ---- HTML: no script, no style sheet, so that it looks the same wherever it is pasted
STYLE = 'font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:.85em;line-height:1.45'
FAINT = 'opacity:.72'

def ink(color): return f'color:{color};color:color-mix(in oklab,{color} 80%,currentColor)'

def chip(tag, n=None):
    "A tag in its colour, legible on light and dark ground."
    size = '' if n is None else f'<span style="{FAINT}">={n}</span>'
    return f'<span style="{ink(tag_color(tag))};font-weight:600">{_html.escape(short(tag))}</span>{size}'

def html(x):
    "One line of facts; under it the values as a small table, or as heat maps of the last two axes if there are many."
    if taken_apart(x): return _html.escape(line(x))
    a, (text, warning) = x.data, stats(x.data)
    made = f'<span style="{FAINT}">{_html.escape(" ".join(w for w in (str(x.dtype), origin(x)) if w))}</span>'
    if a.ndim == 0: return f'<div style="{STYLE}"><b>{numeral(a[()])}</b> &nbsp;{made}</div>'
    few = max(a.shape[-2:]) <= CELLS
    facts = [chip(t, n) for t, n in zip(x.tags, a.shape)] + [made]
    if a.size > 1 and not (a.ndim == 1 and few): facts.append(f'<span style="{FAINT}">{_html.escape(text)}</span>')
    if warning and a.ndim: facts.append(f'<b style="{ink(BAD)}">{warning}</b>')
    draw = grid if few else heat
    if not few and text.lstrip('~').startswith('all '): draw = None      # one colour says nothing
    values = panels(x, draw) if draw else ''
    head = f'<div style="{STYLE}"><div>{" &nbsp;".join(facts)}</div>'
    return head + (values if len(head + values) < MOST else '') + '</div>'

def panels(x, draw):
    "The last two axes at the first few places of the axes before them, side by side."
    a, tags = x.data, x.tags
    lead = max(0, a.ndim - 2)
    page = np.prod([min(n, CELLS if draw is grid else PIXELS) for n in a.shape[lead:]], dtype=int)
    room = (CELLS if draw is grid else PIXELS)**2
    shown = max(1, min(3, int(room // page)))
    places = [i for i, _ in zip(np.ndindex(a.shape[:lead]), range(shown))]
    left = int(np.prod(a.shape[:lead], dtype='f8')) - len(places)
    out = ''
    for at in places:
        more = f' <span style="{FAINT}">… {left} more</span>' if left and at == places[-1] else ''
        where = (
            '<div '
            f'style="margin-bottom:.2em">{" ".join(chip(t, i) for t, i in zip(tags, at))}{more}</div>'
            if lead else '')
        out += ('<div style="display:inline-block;vertical-align:top;margin:.45em 1.6em .2em 0">'
                f'{where}{draw(a[at], tags[lead:])}</div>')
    return out

def grid(a, tags):
    "All values of a small array of at most two axes, its axis names and indices at the edges."
    rows, cols = (1, *a.shape)[-2:]
    css, rule = 'border:0;text-align:right;padding:', '1px solid rgba(128,128,128,.45)'
    td = lambda text, more='0 .5em': f'<td style="{css}{more}">{text}</td>'
    tr = '<tr style="background:none;border:0">'
    side = 2 * (a.ndim == 2)
    body = f'{tr}{td("") * side}<td colspan="{cols}" style="{css}0 .5em;text-align:left">{chip(tags[-1])}</td></tr>'
    body += tr + td('') * side + ''.join(td(f'<span style="{FAINT}">{i}</span>',
                                            f'0 .5em;border-bottom:{rule}')
                                         for i in range(cols)) + '</tr>'
    values = column(a)
    for r in range(rows):
        name = (f'<td rowspan="{rows}" style="{css}0 .2em;vertical-align:top">{chip(tags[0])}</td>'
                if side and r == 0 else '')
        index = td(f'<span style="{FAINT}">{r}</span>', f'0 .5em;border-right:{rule}') if side else ''
        body += tr + name + index + ''.join(map(td, values[r * cols:(r + 1) * cols])) + '</tr>'
    return ('<table style="border-collapse:collapse;border:0;margin:0;width:auto;font:inherit;'
            f'color:inherit;font-variant-numeric:tabular-nums">{body}</table>')


# ---- heat maps
def heat(a, tags):
    "An array of one or two axes as a picture: transparent at zero, cold below, warm above; NaN and inf stand out."
    step = [-(-n // PIXELS) for n in a.shape]
    s = np.atleast_2d(a[tuple(slice(None, None, k) for k in step)]).astype('f8')
    fine = np.isfinite(s)
    low, high = (s[fine].min(), s[fine].max()) if fine.any() else (0., 0.)
    # numbers far from zero are told apart from the nearest one to it
    zero = 0. if low <= 0 <= high else low if low > 0 else high
    far = np.sort(np.abs(s[fine] - zero))
    reach = far[-1 - len(far) // 100] if len(far) else 0.      # one entry in a hundred may be beyond the scale
    level = np.clip(np.where(fine, s - zero, 0) / (reach or np.abs(high - low) or 1.), -1, 1)
    index = np.where(np.isnan(s), 2 * LEVELS + 2,
                     np.where(fine, LEVELS + np.rint(level * LEVELS), 2 * LEVELS + 1)).astype('u1')
    h, w = s.shape
    wide, tall = (min(12, max(1, 240 // n)) * n for n in (w, h))
    if a.ndim == 1: tall = 18
    picture = (
        f'<img alt="heat map" src="data:image/png;base64,{base64.b64encode(png(index)).decode()}" '
        f'style="width:{wide}px;height:{tall}px;max-width:none;image-rendering:pixelated;border:1px '
        'solid rgba(128,128,128,.45);display:block;margin:0">')
    span = lambda i: f'<span style="{FAINT}"> 0…{a.shape[i] - 1}{"" if step[i] == 1 else f" by {step[i]}"}</span>'
    bar = [f'rgba({",".join(str(v) for v in bytes.fromhex(c[1:]))},{o})'
           for c, o in ((COLD, 1), (COLD, 0), (WARM, 0), (WARM, 1))]
    ends = [zero - reach, zero + reach]
    bar = bar[:2] if high <= zero else bar[2:] if low >= zero else bar
    ends = [ends[0], zero] if high <= zero else [zero, ends[1]] if low >= zero else ends
    scale = (f'<span style="{FAINT}">{numeral(ends[0])}</span> <span '
             'style="display:inline-block;width:5em;height:.6em;background:linear-gradient(to '
             f'right,{",".join(bar)});'
             'border:1px solid rgba(128,128,128,.45)"></span> <span '
             f'style="{FAINT}">{numeral(ends[1])}</span>')
    marks = ''.join(f' <span style="color:{c}">■</span> {word}' for c, word, bad in (
                        (BAD, 'NaN', np.isnan(s)), (INF, 'inf', np.isinf(s))) if bad.any())
    empty, left = (
        ('<div></div>',
         f'<div style="text-align:right;line-height:1.25">{chip(tags[0])}<br>{span(0)}</div>')
        if a.ndim == 2 else ('', ''))
    return (f'<div style="display:inline-grid;grid-template-columns:{"auto " * a.ndim};gap:.15em '
            '.6em;align-items:start">'
            f'{empty}<div>{chip(tags[-1])}{span(-1)}</div>{left}{picture}{empty}<div '
            f'style="font-size:.9em">{scale if fine.any() else ""}{marks}</div></div>')

def png(index):
    "A palette picture: the shades from cold over transparent to warm, then inf, then NaN."
    rgb = lambda c: bytes.fromhex(c[1:])
    shade = np.abs(np.arange(-LEVELS, LEVELS + 1)) / LEVELS
    alpha = np.rint(shade * 255).astype('u1').tobytes()
    colours = rgb(COLD) * LEVELS + rgb(WARM) * (LEVELS + 1) + rgb(INF) + rgb(BAD)
    part = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    h, w = index.shape
    rows = np.concatenate([np.zeros((h, 1), 'u1'), index], 1).tobytes()
    return (b'\x89PNG\r\n\x1a\n' + part(b'IHDR', struct.pack('>IIBBBBB', w, h, 8, 3, 0, 0, 0))
            + part(b'PLTE', colours) + part(b'tRNS', alpha)
            + part(b'IDAT', zlib.compress(rows, 9)) + part(b'IEND', b''))


# ---- mistakes
class Caught:
    "An error that was expected, shown the way it would stop a program."
    def __init__(self, error): self.error = error
    def __repr__(self): return f'{type(self.error).__name__}: {self.error}'
    def _repr_html_(self):
        text = str(self.error)
        if len(text) > 2000: text = text[:2000] + '…'
        told = tinted(text)
        if len(told) > MOST - 500: told = _html.escape(text[:1000]) + '…'
        return (f'<pre style="{STYLE};border:0;border-left:3px solid {BAD};padding:.3em '
                '.8em;margin:.3em 0;background:none;color:inherit;white-space:pre-wrap">'
                f'<b style="{ink(BAD)}">{_html.escape(type(self.error).__name__)}</b>: {told}</pre>')

def tinted(message):
    "An error message as HTML: axis names in their colours, the help line set off."
    tags = set(re.findall(r'\b([^\W\d]\w*)=\d', message))
    known = '|'.join(sorted(map(re.escape, tags), key=len, reverse=True)[:24])
    text = _html.escape(message, quote=False)
    if known: text = re.sub(rf"(?<=')(?:{known})(?=')|\b(?:{known})(?==\d)", lambda m: chip(m[0]), text)
    return re.sub(r'^  help:', f'  <b style="{FAINT}">help:</b>', text, flags=re.M)

def mistake(call,            # a function of no arguments that should fail
            kind=FucinaError,  # the error it should raise
           )->Caught:
    "Run a deliberate mistake and show its message. AssertionError if it passes."
    try: value = call()
    except kind as error: return Caught(error)
    raise AssertionError(f'this should have raised {kind.__name__} but gave {value!r}')


class Memory:
    """How a tensor walks the block of memory it looks at: one box per value there, arcs from each
    value of the tensor to the next."""
    BOX, MOST = 38, 48

    def __init__(self, x):
        a = root = x.data
        # as_strided puts a holder between
        under = lambda r: r.base if isinstance(r.base, np.ndarray) else getattr(r.base, 'base', None)
        while isinstance(under(root), np.ndarray) and under(root).dtype == a.dtype: root = under(root)
        low, high = np.lib.array_utils.byte_bounds(root)
        self.tags, self.shape, self.strides = x.tags, a.shape, tuple(s // a.itemsize for s in a.strides)
        self.offset = (a.__array_interface__['data'][0] - low) // a.itemsize
        n = (high - low) // a.itemsize
        if max(n, a.size) > self.MOST:
            raise fault(InvalidShape, f'a picture of {max(n, a.size)} values', x=x,
                        help=f'at most {self.MOST} can be told apart; take a small tensor')
        self.walk = [self.offset + sum(i * s for i, s in zip(at, self.strides)) for at in np.ndindex(a.shape)]
        self.cells = dict(zip(range(n), root.ravel('K'))) if root.size == n else dict(zip(self.walk, a.ravel()))

    def __repr__(self):
        axes = '  '.join(f'{t}={n} stride {s}' for t, n, s in zip(self.tags, self.shape, self.strides))
        return f'{axes or "one value"}  from {self.offset}: ' + ' '.join(map(str, self.walk))

    def _repr_html_(self):
        B, up = self.BOX, lambda d: min(48, 10 + 8 * abs(d))
        top = max([up(q - p) for p, q in zip(self.walk, self.walk[1:])], default=10)
        ring = len(self.walk) // self.shape[0] if self.shape else 1
        first = {p: k // ring for k, p in reversed(list(enumerate(self.walk)))}
        visits = {p: ' '.join(str(k) for k, q in enumerate(self.walk) if q == p) for p in first}
        start = PALETTE.index(tag_color(self.tags[0])) if self.tags else 0
        colour = lambda p: PALETTE[(start + 5 * first[p]) % len(PALETTE)]
        fill = lambda p: f'fill="{colour(p)}" fill-opacity=".35"' if p in first else 'fill="none"'
        box = ''.join(f'<rect x="{p * B + 2}" y="{top}" width="{B - 4}" height="26" rx="4" '
                      f'{fill(p)} stroke="currentColor" stroke-opacity=".5"/>'
                      f'<text x="{p * B + B / 2}" y="{top + 18}" '
                      f'fill-opacity="{1 if p in first else .45}">{numeral(v)}</text>'
                      f'<text x="{p * B + B / 2}" y="{top + 42}" font-size="10" '
                      f'fill-opacity=".72">{visits.get(p, "")}</text>' for p, v in self.cells.items())
        arcs = ''
        for p, q in zip(self.walk, self.walk[1:]):
            x, y, peak = p * B + B / 2, q * B + B / 2, top - 1.25 * up(q - p)
            near, far = 5 * (p == q), 9 * (p == q)       # an arc from a place to itself is a loop
            arcs += (f'<path d="M{x - near} {top - 2} C{x - far} {peak} {y + far} {peak} '
                     f'{y + near} {top - 4}" marker-end="url(#arrow)"/>')
        axes = ' '.join(f'{chip(t, n)} <span style="{FAINT}">stride {s}</span>'
                        for t, n, s in zip(self.tags, self.shape, self.strides))
        arrow = ('<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" '
                 'markerHeight="5" orient="auto"><path d="M0 0L8 4L0 8z" fill="currentColor" '
                 'stroke="none"/></marker>')
        return (f'<div style="{STYLE}">{axes} <span style="{FAINT}">from {self.offset}</span>'
                '<div style="overflow-x:auto">'
                f'<svg width="{(max(self.cells) + 1) * B}" height="{top + 48}" text-anchor="middle" '
                f'font-size="12" fill="currentColor"><defs>{arrow}</defs>'
                f'<g fill="none" stroke="currentColor" stroke-opacity=".55">{arcs}</g>{box}</svg>'
                '</div></div>')


def memory(x,  # a small tensor
          )->Memory:
    """A picture of how `x` walks its memory. Below each box: which values of x, in the order of
    its tags, are read there."""
    return Memory(x)
