"""How a training went: a table of its epochs, a line of blocks in a terminal, curves in a notebook."""
import math
from html import escape
from ..show import aligned

__all__ = ['History', 'spark']

BLOCKS = '▁▂▃▄▅▆▇█'
HUES = '#3b76d6', '#d6573b', '#3f9a57', '#9256b8', '#b58a1e', '#2f9aa8'
WIDE, HIGH, EDGE = 300, 150, 34      # of one panel, and what its numbers take


def spark(values, most=24):
    "Values as a line of blocks, the lowest lowest; of many, evenly chosen ones and the last."
    values = [v for v in values if math.isfinite(v)]
    if len(values) > most: values = [values[round(i * (len(values) - 1) / (most - 1))] for i in range(most)]
    if not values: return ''
    low, high = min(values), max(values)
    return ''.join(BLOCKS[round((v - low) / (high - low) * 7) if high > low else 3] for v in values)


def short_number(v):
    "A number in a few digits."
    return f'{v:.4g}' if isinstance(v, float) else str(v)


class History(list):
    "A row for each epoch: name -> number."
    def names(self): return list(dict.fromkeys(n for row in self for n in row))

    def of(self, name):
        "The values of one column, an epoch after the other."
        return [row[name] for row in self if name in row]

    def __repr__(self):
        names, rows = self.names(), evenly_chosen(self)
        cells = [names] + [[short_number(row[n]) if n in row else '' for n in names] for row in rows]
        return '\n'.join(aligned(cells)) or 'no epoch yet'

    def _repr_html_(self):
        names = self.names()
        line = lambda cells, tag: '<tr>' + ''.join(f'<{tag}>{escape(c)}</{tag}>' for c in cells) + '</tr>'
        rows = [line([short_number(row[n]) if n in row else '' for n in names], 'td') for row in evenly_chosen(self)]
        return f'<table>{line(names, "th")}{"".join(rows)}</table>'

    def curve(self):
        "Its curves: losses in one panel, everything else in another."
        return Curve(self)


def evenly_chosen(rows, most=12):
    "All rows if they are few, else the first, the last and some between."
    if len(rows) <= most: return rows
    return [rows[round(i * (len(rows) - 1) / (most - 1))] for i in range(most)]


def last_word(name): return name.split()[-1] if name.strip() else name


class Curve:
    "A picture of a History, for a notebook; in a terminal a line of blocks for each column."
    def __init__(self, history): self.rows = [dict(r) for r in history]

    def panels(self):
        "(title, names) of the panels that have something to show."
        names = [n for n in History(self.rows).names() if n != 'epoch']
        losses = [n for n in names if last_word(n) == 'loss']
        found = ('loss', losses), ('', [n for n in names if n not in losses])
        words = lambda names: ', '.join(dict.fromkeys(last_word(n) for n in names))
        return [(title or words(names), names) for title, names in found if names]

    def __repr__(self):
        history = History(self.rows)
        names = [n for _, names in self.panels() for n in names]
        wide = max(map(len, names), default=0)
        return '\n'.join(f'{n:<{wide}}  {spark(history.of(n))}  {short_number(history.of(n)[-1])}' for n in names)

    def _repr_svg_(self):
        panels = self.panels()
        parts = [f'<g transform="translate({i * (WIDE + 20)} 0)">{panel(title, names, self.rows)}</g>'
                 for i, (title, names) in enumerate(panels)]
        width = max(1, len(panels)) * (WIDE + 20)
        height = HIGH + 18 * (1 + max((len(n) for _, n in panels), default=0))
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
                f' viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11"'
                f' fill="currentColor">{"".join(parts)}</svg>')

    def _repr_html_(self): return self._repr_svg_()


def panel(title, names, rows):
    "One panel: its numbers at the edges, a line for each name, dashed for what was not trained on, and a legend."
    points = {n: [(row['epoch'], row[n]) for row in rows if math.isfinite(row.get(n, math.nan))] for n in names}
    values = [v for some in points.values() for _, v in some]
    low, high = (min(values), max(values)) if values else (0., 1.)
    first, last = rows[0]['epoch'], rows[-1]['epoch']
    x = lambda e: EDGE + (WIDE - EDGE) * ((e - first) / (last - first) if last > first else .5)
    y = lambda v: 10 + (HIGH - 26) * ((high - v) / (high - low) if high > low else .5)
    stems = list(dict.fromkeys(last_word(n) for n in names))
    parts = [f'<line x1="{EDGE}" x2="{WIDE}" y1="{y(v):.1f}" y2="{y(v):.1f}" stroke="currentColor" opacity=".2"/>'
             f'<text x="{EDGE - 4}" y="{y(v) + 4:.1f}" text-anchor="end">{v:.3g}</text>'
             for v in dict.fromkeys((low, high))]
    parts += [f'<text x="{x(e):.1f}" y="{HIGH}" text-anchor="middle">{e}</text>'
              for e in dict.fromkeys((first, last))]
    for i, name in enumerate(names):
        hue = HUES[stems.index(last_word(name)) % len(HUES)]
        style = f'stroke="{hue}" stroke-width="1.8"' + ' stroke-dasharray="5 3"' * (' ' in name)
        line = ' '.join(f'{x(e):.1f},{y(v):.1f}' for e, v in points[name])
        at = HIGH + 16 + 16 * i
        parts += [f'<polyline points="{line}" fill="none" {style}/>',
                  f'<line x1="{EDGE}" x2="{EDGE + 24}" y1="{at - 4}" y2="{at - 4}" {style}/>',
                  f'<text x="{EDGE + 30}" y="{at}">{escape(name)}</text>']
        if len(points[name]) == 1:
            parts.append(f'<circle cx="{line.split(",")[0]}" cy="{line.split(",")[1]}" r="3" fill="{hue}"/>')
    return f'<title>{escape(title)}</title>' + ''.join(parts)
