"""Which matrix product a contraction became: a record, its text, its picture, and `explain`,
which collects the records of a call."""
import html as _html
from fucinalib.errors import OptionError, fault
from fucinalib.hooks import Watcher, watchers
from fucinalib.show import STYLE, tag_color

__all__ = ['Product', 'Explanation', 'explain']


def words(tags, sizes): return ' '.join(f'{t}={sizes[t]}' for t in tags) or 'a single number'

def amount(n):
    "A number of bytes in a few characters."
    for unit in ('B', 'kB', 'MB', 'GB'):
        if n < 1000 or unit == 'GB': return f'{n:.3g} {unit}'
        n /= 1000


class Product:
    "One product: the axes by role, the call, and what had to be copied."
    def __init__(self, what, names, a, b, out, sizes, groups, call, m, n, k, loops, how, copied):
        self.what, self.names = what, names                 # 'dot', names of the operands
        self.a, self.b, self.out, self.sizes = a, b, out, sizes     # tags and tag -> size
        self.groups = groups                                # batch, left, joined, right
        self.call, self.m, self.n, self.k, self.loops = call, m, n, k, loops
        self.how, self.copied = how, copied                 # how each operand is read; name -> bytes copied

    copies = property(lambda self: len(self.copied), doc='How many arrays were copied.')
    flops = property(lambda self: 2 * self.m * self.n * self.k * self.loops, doc='Multiplications and additions.')

    @property
    def shape(self):
        "The call and its sizes in words."
        times = f', {self.loops} times' if self.loops > 1 else ''
        sizes = ' '.join(f'{w}={v}' for w, v in (('m', self.m), ('n', self.n), ('k', self.k)) if v > 1)
        return f'{self.call} {sizes}'.rstrip() + times

    @property
    def lines(self):
        "Left and right half of each line of the text."
        copied = ', '.join(f'{name} ({amount(n)})' for name, n in self.copied.items()) or 'nothing'
        return [*[(name, f'{words(tags, self.sizes)}, {how}')
                  for name, tags, how in zip(self.names, (self.a, self.b), self.how)],
                ('result', words(self.out, self.sizes)), ('call', self.shape), ('copied', copied)]

    @property
    def title(self):
        joined = ' '.join(self.groups.joined)
        return f'{self.what} over {joined!r}' if joined else f'{self.what}, nothing summed'

    def __repr__(self): return '\n'.join([self.title, *(f'    {name:<6} : {text}' for name, text in self.lines)])

    def _repr_html_(self):
        cell = 'padding:.05em .8em .05em 0;text-align:left;border:none;background:none;vertical-align:top'
        rows = ''.join(
            f'<tr style="background:none"><td style="{cell};opacity:.7">{_html.escape(name)}</td>'
            f'<td style="{cell}">{_html.escape(text)}</td></tr>' for name, text in self.lines)
        return (f'<div style="{STYLE};margin:.3em 0 1em">'
                f'<b>{_html.escape(self.title)}</b>{self.svg()}<table '
                f'style="border-collapse:collapse;{STYLE}">{rows}</table></div>')

    def svg(self):
        "The two operands as boxes, their axes as legs; joined legs connect them."
        g, gap, box = self.groups, 24, 64
        rows = max(len(g.left), len(g.right), len(g.joined), 1)
        top = 34 + 10 * len(g.batch) if g.batch else 8
        tall = rows * gap + 12
        left, right, wide = 120, 120 + box + 130, 120 + box + 130 + box + 120
        middle = (left + box + right) / 2
        y = lambda i, n: top + tall / 2 + (i - (n - 1) / 2) * gap
        parts = []
        for i, t in enumerate(g.left): parts.append(leg(t, self.sizes[t], left, 10, y(i, len(g.left)), 'start'))
        for i, t in enumerate(g.right):
            parts.append(leg(t, self.sizes[t], right + box, wide - 10, y(i, len(g.right)), 'end'))
        for i, t in enumerate(g.joined):
            parts.append(leg(t, self.sizes[t], left + box, right, y(i, len(g.joined)), 'middle', 3))
        for i, t in enumerate(g.batch):
            x = middle + (i - (len(g.batch) - 1) / 2) * 78
            parts.append(
                f'<path d="M{left + box / 2} {top} Q{left + box / 2} {top - 14} {x} {top - 16} '
                f'Q{right + box / 2} {top - 14} {right + box / 2} {top}" fill="none" '
                f'{_ink_of(t, "stroke")} stroke-width="2"/>'
                f'<line x1="{x}" y1="{top - 16}" x2="{x}" y2="{top - 30}" {_ink_of(t, "stroke")} '
                f'stroke-width="2"/><circle cx="{x}" cy="{top - 16}" r="3" {_ink_of(t, "fill")}/>'
                f'<text x="{x + 5}" y="{top - 22}" '
                f'{_ink_of(t, "fill")}>{_html.escape(t)}={self.sizes[t]}</text>')
        for x, name in ((left, self.names[0]), (right, self.names[1])):
            parts.append(f'<rect x="{x}" y="{top}" width="{box}" height="{tall}" rx="8" '
                         'fill="none" stroke="currentColor"/>'
                         f'<text x="{x + box / 2}" y="{top + tall / 2 + 4}" text-anchor="middle" '
                         f'fill="currentColor">{_html.escape(name)}</text>')
        return (f'<svg viewBox="0 0 {wide} {top + tall + 6}" width="{wide}" '
                'style="display:block;max-width:100%;font-family:inherit;font-size:12px" '
                f'role="img" aria-label="{_html.escape(self.title)}">{"".join(parts)}</svg>')


def _ink_of(tag, what):
    "Style attribute that paints a line or a letter in the colour of its axis."
    color = tag_color(tag)
    return (f'style="{what}:{color}"' if what == 'stroke'
            else f'style="fill:{color};fill:color-mix(in oklab,{color} 80%,currentColor)"')

def leg(tag, n, x1, x2, y, anchor, width=2):
    "A line with the name and size of an axis above it."
    at = {'start': min(x1, x2), 'end': max(x1, x2), 'middle': (x1 + x2) / 2}[anchor]
    return (f'<line x1="{x1}" y1="{y}" x2="{x2}" y2="{y}" {_ink_of(tag, "stroke")} stroke-width="{width}"/>'
            f'<text x="{at}" y="{y - 4}" text-anchor="{anchor}" {_ink_of(tag, "fill")}>{_html.escape(tag)}={n}</text>')


class Explanation:
    "The products of one call, in the order they ran."
    def __init__(self, products, result): self.products, self.result = products, result
    copies = property(lambda self: sum(p.copies for p in self.products), doc='How many arrays were copied in all.')
    flops = property(lambda self: sum(p.flops for p in self.products), doc='Multiplications and additions in all.')
    def __len__(self): return len(self.products)
    def __iter__(self): return iter(self.products)
    def __getitem__(self, i): return self.products[i]

    @property
    def summary(self):
        "One line: how many products, copies and operations."
        if not self.products: return 'no contraction ran in this call'
        products = f'{len(self)} product' + 's' * (len(self) != 1)
        copies = f'{self.copies} ' + ('copy' if self.copies == 1 else 'copies')
        return f'{products}, {copies}, {self.flops:,} operations'

    def __repr__(self): return '\n'.join([*map(repr, self.products), self.summary])
    def _repr_html_(self):
        return (''.join(p._repr_html_() for p in self.products)
                + f'<div style="{STYLE};opacity:.75">{self.summary}</div>')


def explain(fn,     # a function or method that contracts tensors: x.dot, model, lambda: loss.backward()
            *args,  # its arguments
            **kw,
           )->Explanation:
    "Run `fn` and tell which matrix products it became and what they copied; `.result` is what it returned."
    if not callable(fn):
        raise fault(OptionError, f'explain runs a function, and this is a {type(fn).__name__}',
                    given=fn, help="explain(x.dot, w, 'in'), or explain(lambda: x @ w)")
    with Listener() as heard: result = fn(*args, **kw)
    return Explanation(heard.products, result)


class Listener(Watcher):
    "Collects the products that contractions tell of; one inside another has them for itself."
    def __init__(self): self.products = []
    def told(self, make):
        if self is [w for w in watchers.get() if isinstance(w, Listener)][-1]: self.products.append(make())
