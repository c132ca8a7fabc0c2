"""How a module and its summary look in a notebook and in a terminal."""
import html as _html
from ..graph import volume
from ..show import FAINT, STYLE, aligned, chip

__all__ = ['boxes', 'text_table', 'html_table']

BOX = ('border:1px solid rgba(128,128,128,.45);border-radius:5px;padding:.1em .5em;'
       'margin:.2em 0 .2em {}em;width:fit-content')
MOST = 9_500      # characters of a picture


def boxes(part):
    "A Part as boxes in boxes; what is too large is drawn to the depth that fits."
    tries = (_box(part, depth, many) for many in (99, 12, 4) for depth in range(9, 0, -1))
    return f'<div style="{STYLE}">{next((t for t in tries if len(t) < MOST), _box(part, 0, 0))}</div>'


def _box(p, depth, many, level=0):
    name = f'{_html.escape(p.name)}: ' if p.name else ''
    times = f'<b>{p.times} ×</b> ' if p.times > 1 else ''
    size = f' <span style="{FAINT}">{p.size:,}</span>' if p.size else ''
    tensors = ''.join(f'<div>{_html.escape(n)}&ensp;{"&ensp;".join(chip(t, k) for t, k in sizes.items()) or "a number"}'
                      f'{_faint(role)}</div>' for n, sizes, role in p.tensors)
    shown = p.parts[:many] if depth else ()
    inner = ''.join(_box(q, depth - 1, many, level + 1) for q in shown)
    if (left := len(p.parts) - len(shown)): inner += _faint(f'and {left} more parts')
    title = f'{name}{times}<b>{_html.escape(p.title)}</b>{size}'
    return f'<div style="{BOX.format(level and .6)}">{title}{tensors}{inner}</div>'


def _faint(text): return f' <span style="{FAINT}">{_html.escape(text)}</span>' if text else ''


HEAD = 'part', 'returns', 'parameters', 'bytes'

def cells_of(summary):
    "The texts of a summary, row by row, and what all of them come to."
    number = lambda n: f'{n:,}' if n else ''
    rows = [('  ' * r.level + r.label, r.sizes, number(r.parameters), volume(r.size)) for r in summary.rows]
    return rows, (f'{summary.parameters:,} parameters; the model takes {volume(summary.bytes)}, '
                  f'what its parts return {volume(summary.flow)}')


def text_table(summary):
    "A summary as text, numbers to the right."
    rows, total = cells_of(summary)
    return '\n'.join([*aligned([HEAD, *rows], left=2), total])


def html_table(summary):
    "A summary as a table."
    rows, total = cells_of(summary)
    text = lambda s, i: _html.escape(s) if i != 1 else _sizes(s)
    side = lambda i: f'white-space:pre;text-align:{"left" if i < 2 else "right"}'
    cell = lambda kind, s, i: f'<{kind} style="{side(i)}">{text(s, i)}</{kind}>'
    line = lambda kind, r: '<tr>' + ''.join(cell(kind, s, i) for i, s in enumerate(r)) + '</tr>'
    return (f'<table style="{STYLE}"><thead>{line("th", HEAD)}</thead><tbody>{"".join(line("td", r) for r in rows)}'
            f'</tbody></table><div style="{STYLE}">{total}</div>')


def _sizes(text):
    "Sizes as chips."
    words = [w.partition('=')[::2] for w in text.split()]
    return '&ensp;'.join(chip(t, n) if n else _html.escape(t) for t, n in words)
