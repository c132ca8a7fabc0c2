"""How things look: one colour per axis name, a tensor in one line, a tensor as HTML, an expected mistake.

Nothing here prints a wall of numbers: every form is under 10 kB and reads at most `SAMPLE` elements, whatever the tensor's size.
"""
import html as _html
import zlib
import numpy as np
from fucinalib.errors import FucinaError

__all__ = ['tag_color', 'line', 'html', 'mistake', 'Mistake']

SAMPLE = 1 << 18    # elements looked at for range and mean; a larger tensor is thinned out evenly
CELLS = 8           # rows and columns of numbers shown at most


def tag_color(tag, dark=False):
    "A CSS colour for an axis name, the same wherever the name appears."
    hue = zlib.crc32(tag.encode()) * 137 % 360
    return f'hsl({hue} 60% {72 if dark else 34}%)'


def thinned(a):
    "At most about SAMPLE elements of `a`, spread over every axis; broadcast axes count once."
    a = a[tuple(slice(0, 1) if s == 0 else slice(None) for s in a.strides)]
    while a.size > SAMPLE:
        i = int(np.argmax(a.shape))
        a = a[(slice(None),) * i + (slice(None, None, -(-a.shape[i] // max(1, a.shape[i] * SAMPLE // a.size))),)]
    return a


def number(v):
    "A number in at most about nine characters."
    if isinstance(v, (bool, np.bool_)): return str(bool(v))
    if isinstance(v, (int, np.integer)): return str(int(v))
    return f'{float(v):.4g}'


def summary(x):
    "The values of `x` in a few words: themselves if few, else range and mean; NaN and inf are counted."
    a = x.data
    if a.size <= CELLS: return nested(a)
    s = thinned(a)
    about = '' if s.size == a.size or 0 in a.strides else '~'
    if s.dtype.kind == 'b': return f'{about}{s.mean():.0%} True'
    s = s.astype('f8')
    fine = np.isfinite(s)
    bad = ''.join(f'  {about}{n} {word}' for word, n in (('NaN', int(np.isnan(s).sum())), ('inf', int(np.isinf(s).sum()))) if n)
    if not fine.any(): return f'no finite value{bad}'
    s = s[fine]
    return f'{about}{number(s.min())} to {number(s.max())}, mean {number(s.mean())}{bad}'


def nested(a):
    "The values of a small array as nested lists."
    if a.ndim == 0: return number(a[()])
    return '[' + ', '.join(nested(b) for b in a) + ']'


def sizes(x): return ' '.join(f'{t}={n}' for t, n in zip(x.tags, x.shape))


def line(x):
    "One line: sizes by tag, number type, values or their range, mean and warnings."
    words = ['Tensor', sizes(x), str(x.dtype), 'requires_grad' if x.node is not None and x.node.op is None else f'from {x.node.op.name}' if x.node is not None else '']
    return ' '.join(w for w in words if w) + ': ' + summary(x)


STYLE = 'font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:.85em;line-height:1.45'


def chip(tag, n=None):
    "A tag in its colour, legible on light and dark ground."
    size = '' if n is None else f'<span style="opacity:.75">={n}</span>'
    return f'<span style="color:light-dark({tag_color(tag)},{tag_color(tag, True)});font-weight:600">{_html.escape(tag)}</span>{size}'


def html(x):
    "A small table of values (at most CELLS x CELLS, the leading axes at index 0) under one line of facts."
    head = ' '.join(chip(t, n) for t, n in zip(x.tags, x.shape))
    facts = f'<span style="opacity:.75">{x.dtype}  {_html.escape(summary(x)) if x.data.size > CELLS or x.data.ndim > 1 else ""}</span>'
    return f'<div style="{STYLE}">{head} {facts}{grid(x)}</div>'


def grid(x):
    "The first rows and columns of the last two axes as an HTML table."
    a = x.data
    lead = a.ndim - 2
    if lead > 0: a = a[(0,) * lead]
    rows = a.reshape(1, -1) if a.ndim < 2 and a.size <= CELLS or a.ndim == 0 else a[None, :CELLS + 1] if a.ndim == 1 else a[:CELLS + 1, :CELLS + 1]
    td = 'padding:.1em .6em;text-align:right;border:none;background:none'
    body = ''
    for r, row in enumerate(rows):
        if r == CELLS: body += f'<tr><td style="{td}">⋮</td></tr>'; break
        cells = [number(v) for v in row[:CELLS]] + (['…'] if len(row) > CELLS else [])
        body += '<tr style="background:none">' + ''.join(f'<td style="{td}">{c}</td>' for c in cells) + '</tr>'
    where = ', '.join(f'{t}=0' for t in x.tags[:lead]) if lead > 0 else ''
    note = f'<div style="opacity:.6">at {where}</div>' if where else ''
    return f'{note}<table style="border-collapse:collapse;margin:.2em 0;border-left:2px solid;border-right:2px solid;border-radius:4px;{STYLE}">{body}</table>'


class Mistake:
    "An error that was expected, shown the way it would stop a program."
    def __init__(self, error): self.error = error
    def __repr__(self): return f'{type(self.error).__name__}: {self.error}'
    def _repr_html_(self):
        name, first, *rest = type(self.error).__name__, *str(self.error).split('\n')
        more = ''.join('\n' + _html.escape(r) for r in rest)
        return (f'<pre style="{STYLE};border-left:3px solid light-dark(#b3261e,#f2b8b5);padding:.3em .8em;margin:.3em 0;background:none;white-space:pre-wrap">'
                f'<b style="color:light-dark(#b3261e,#f2b8b5)">{name}</b>: {_html.escape(first)}{more}</pre>')


def mistake(call,            # a function of no arguments that should fail
            kind=FucinaError,  # the error it should raise
           )->Mistake:
    "Run a deliberate mistake and show its message. AssertionError if it passes."
    try: value = call()
    except kind as error: return Mistake(error)
    raise AssertionError(f'this should have raised {kind.__name__} but gave {value!r}')
