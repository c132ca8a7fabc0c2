"""How the answer to an exercise is shown: one line, a few lines, or a small picture in a notebook.

The HTML has no script and no style sheet, stays under 10 kB and takes its colours from the page, light or dark.
"""
import re
from html import escape
import numpy as np
from .. import show
from .compare import put_in_words, is_array, numbers, place

__all__ = ['Verdict']

SIDE = 12    # rows and columns of a heat grid at most
RIGHT, WRONG, OPEN, ABOVE, BELOW = '#2e9e5b', '#d64545', '#888', '#3b82c4', '#d08a1d'    # legible on white and on black


class Verdict:
    "What became of an answer; true if it is right. `print` says more than the one line, a notebook shows a picture."
    def __init__(self, exercise,
                 fault=None,   # the first Fault, None if right
                 case=1, total=1,  # which of how many inputs
                 names=(), args=(),  # what the answer was given
                 more=''):     # a sentence to add
        self.exercise, self.fault, self.case, self.total, self.more = exercise, fault, case, total, more
        self.names, self.inputs = names, args      # `mine(*verdict.inputs)` runs it again where it failed

    answered = property(lambda self: self.fault is None or self.fault.head != UNANSWERED,
                        doc='False for an untouched stub.')
    def __bool__(self): return self.fault is None

    def first(self):
        "The outcome in one line."
        ex, n = self.exercise, self.total
        if not self.answered: return f'{ex.id} {UNANSWERED}: {self.fault.right}'
        if not self: return f'{ex.id} not right yet{f", input {self.case} of {n}" if n > 1 else ""}: {self.fault.head}'
        what = [f'{n} inputs agree'] * (n > 1) + ['values and gradients'] * ex.grad
        return f'{ex.id} is right' + (': ' + ', '.join(what) if what else '')

    def rows(self):
        "(name, text) of each operand: the inputs, the two sides, what was raised."
        f = self.fault
        if f is None or not self.answered: return []
        inputs = [(n, put_in_words(a) + self.here(a)) for n, a in zip(self.names, self.inputs)]
        return inputs + [(n, t) for n in ('yours', 'right', 'line', 'says') if (t := getattr(f, n))]

    def here(self, a):
        "The entry of operand `a` that belongs to the wrong entry."
        f, tags = self.fault, getattr(a, 'tags', None)
        if f.at is None or not is_array(a) or numbers(a).size <= show.CELLS: return ''
        if tags and f.tags and set(tags) <= set(f.tags): at = tuple(f.at[f.tags.index(t)] for t in tags)
        elif a.shape == f.sides[0].shape: at = f.at
        else: return ''
        return f', here {show.numeral(numbers(a)[at])}' if all(i < n for i, n in zip(at, a.shape)) else ''

    @property
    def help(self):
        if self: return ''
        return self.fault.help or (f'hint({self.exercise.id!r})' if self.exercise.hints else '')

    def __repr__(self):
        f = self.fault
        sides = (f' ({f.yours}, should be {f.right})'
                 if f and f.yours and f.right and len(f.yours + f.right) < 80 else '')
        if f and f.says: sides = ': ' + clip(f.says.split('\n')[0], 120)
        return ' '.join((self.first() + sides + ('. ' + self.more if self.more else '')).split())

    def __str__(self):
        rows = self.rows()
        wide = max((len(n) for n, _ in rows), default=0)
        text = [self.first() + ('. ' + self.more if self.more else '')]
        text += [f'    {n:<{wide}} : ' + t.replace('\n', '\n' + ' ' * (wide + 7)) for n, t in rows]
        return '\n'.join(text + ([f'  help: {self.help}'] if self.help else []))

    def _repr_html_(self):
        tone = RIGHT if self else WRONG if self.answered else OPEN
        rows = self.rows() + ([('help', self.help)] if self.help else [])
        tags = {t for v in (*self.inputs, self.fault) for t in getattr(v, 'tags', None) or ()}
        paint = lambda text: colored(clip(text), tags)
        cells = ''.join(f'<span style="opacity:.7">{escape(n)}</span>'
                        f'<span style="white-space:pre-wrap">{paint(t)}</span>' for n, t in rows)
        grid = 'display:grid;grid-template-columns:max-content 1fr;gap:0 1em;margin:.3em 0'
        table = f'<div style="{grid}">{cells}</div>' if cells else ''
        return (f'<div style="{show.STYLE};border-left:3px solid {tone};padding:.3em .9em;margin:.3em 0">'
                f'<b>{paint(self.first())}</b>{escape(". " + self.more if self.more else "")}'
                f'{table}{self.picture()}</div>')

    def picture(self):
        "The exercise's own picture, or yours, right and difference as heat grids; '' if there is nothing to compare."
        f, draw = self.fault, self.exercise.picture
        if f is None or f.sides is None or draw is False: return ''
        if draw is None: return _grids_beside(f)
        try: drawn = draw(*f.sides[:2])
        except Exception: return _grids_beside(f)
        forms = ('_repr_html_', '_repr_svg_', '_repr_image_svg_xml')
        return next((getattr(drawn, form)() for form in forms if hasattr(drawn, form)), str(drawn))

UNANSWERED = 'not answered yet'

def colored(text, tags):
    "HTML of `text` with every `tag=size` in the colour of its axis."
    known = '|'.join(map(re.escape, sorted(tags, key=len, reverse=True)))
    return re.sub(rf'\b({known})(?==)', lambda m: show.chip(m[1]), escape(text)) if known else escape(text)

def clip(text, most=1500): return text if len(text) <= most else text[:most] + ' ...'


# ---- pictures ----
def _grids_beside(fault):
    "Yours, right and their difference as grids, around the first wrong entry."
    at, tags = fault.at, fault.tags or [f'axis {i}' for i in range(len(fault.at))]
    if fault.sides[0].size == 1: return ''
    planes = [np.atleast_2d(v[at[:-2]]) for v in fault.sides]
    spot = (0, *at)[-2:]
    top, left = (max(0, min(i - SIDE // 2, n - SIDE)) for i, n in zip(spot, planes[0].shape))
    x, y, bad = (v[top:top + SIDE, left:left + SIDE] for v in planes)
    x, y = x.astype('f8'), y.astype('f8')
    with np.errstate(all='ignore'): gap = x - y
    words = [colored(place(at[:-2], tags), tags) + ','] if len(at) > 2 else []
    if len(at) > 1: words.append(f'{show.chip(tags[-2])} down{f" from {top}" if top else ""},')
    words.append(f'{show.chip(tags[-1])} across{f" from {left}" if left else ""}')
    peak = _largest(y) or _largest(x)
    grids = [('yours', _heat_grid(x, peak, bad)),
             ('right', _heat_grid(y, peak)),
             ('difference', _heat_grid(gap, _largest(gap)))]
    return (f'<div style="opacity:.85;margin-top:.4em">{" ".join(words)}</div>'
            '<div style="display:flex;flex-wrap:wrap;gap:.3em 1.2em">' + ''.join(
                f'<div>{name}<br>{grid}</div>' for name, grid in grids) + '</div>')

def _largest(v): return np.abs(v[np.isfinite(v)]).max(initial=0)

def _heat_grid(v,         # array of two axes
         peak,      # size that gets the full colour
         bad=None,  # mask of cells to outline
        ):
    "Cells as SVG: blue above zero, amber below, stronger for larger, grey for NaN; numbers where there is room."
    rows, cols = v.shape
    text = [[f'{n + 0:.3g}' for n in row] for row in v] if v.size <= 36 and cols <= 8 else []
    w, h = (max(4, *(len(t) for row in text for t in row), 0) * 7 + 8, 20) if text else (16, 16)
    with np.errstate(all='ignore'):    # six strengths a side, so that one path draws all cells of a colour
        level = np.nan_to_num(np.sign(v) * np.ceil(6 * np.minimum(np.abs(v) / (peak or 1), 1)), nan=9)
    marks = []
    for n in np.unique(level[level != 0]):
        tone = OPEN if n == 9 else ABOVE if n > 0 else BELOW
        line = ''.join(f'M{c} {r}h1' for r, c in np.argwhere(level == n))
        marks.append(f'<path d="{line}" transform="translate(0 .5)" stroke="{tone}" '
                     f'stroke-opacity="{min(abs(n), 6) / 10:.1f}"/>')
    thin = 'fill="none" vector-effect="non-scaling-stroke"'
    rule = ''.join(f'M0 {r}h{cols}' for r in range(rows + 1)) + ''.join(f'M{c} 0v{rows}' for c in range(cols + 1))
    marks.append(f'<path {thin} d="{rule}" stroke="currentColor" stroke-opacity=".25"/>')
    if bad is not None:
        frame = ''.join(f'M{c} {r}h1v1h-1z' for r, c in np.argwhere(bad))
        marks.append(f'<path {thin} d="{frame}" stroke="{WRONG}" stroke-width="2"/>')
    words = ''.join(f'<text x="{(c + .5) * w:g}" y="{r * h + 14}">{t}</text>'
                    for r, row in enumerate(text) for c, t in enumerate(row))
    wide, high = cols * w + 4, rows * h + 4
    return (f'<svg width="{wide}" height="{high}" viewBox="-2 -2 {wide} {high}" style="background:none">'
            f'<g transform="scale({w} {h})">{"".join(marks)}</g>'
            f'<g font-size="11" text-anchor="middle" fill="currentColor">{words}</g></svg>')
