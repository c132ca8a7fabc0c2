"""Appendix pages made from the library itself: each function returns Markdown and becomes a page of the site.

Write one: `@page('slug', 'Title')` over a function that returns Markdown. It runs when the site is built; if it fails, the build says so and goes on.
"""
import html
from textwrap import dedent

PAGES = []  # (slug, title, function) in the order of the sidebar

def page(slug, title):
    "Make the decorated function an appendix page."
    def add(f): PAGES.append((slug, title, f)); return f
    return add


def table(head, rows):
    "A Markdown table; a bar inside a cell is escaped."
    line = lambda cells: '| ' + ' | '.join(str(c).replace('|', '\\|').replace('\n', ' ') for c in cells) + ' |'
    return '\n'.join([line(head), line(['---'] * len(head))] + [line(r) for r in rows])


def message(code):
    "Run `code`, which must raise, and return `Type: message` exactly as a user sees it."
    import fucinalib as fl, numpy as np
    try: exec(dedent(code), dict(fl=fl, np=np, Tensor=fl.Tensor))
    except fl.FucinaError as e: return f'{type(e).__name__}: {e}'
    raise AssertionError(f'raised nothing: {code}')


@page('op-table', 'Table of operations')
def op_table():
    from fucinalib.autograd import registry
    families = {}
    for name, op in registry.items(): families.setdefault(op.family, []).append((name, op))
    text = [f'All {len(registry)} operations, as the registry lists them.\n']
    for family, ops in families.items():
        rows = [(f'`{n}`', (op.doc or '').strip().split('\n')[0], 'yes' if op.differentiable else 'no') for n, op in sorted(ops)]
        text += [f'## {family.capitalize()}\n', table(['op', 'what it does', 'gradient'], rows), '']
    return '\n'.join(text)


ERRORS = [  # (what went wrong, code that raises)
    ('A misspelt axis', "x = Tensor([[1., 2.], [3., 4.]], 'batch feat')\nx.sum('feet')"),
    ('Sizes that differ', "x = Tensor(np.ones((2, 3)), 'batch feat')\nw = Tensor(np.ones((4, 5)), 'feat out')\nx.dot(w, 'feat')"),
    ('An axis named twice', "Tensor(np.ones((2, 2)), 'row row')"),
    ('Ragged data', "Tensor([[1., 2.], [3.]], 'row col')"),
    ('Number types that differ', "Tensor([1.], 'i') + Tensor([1], 'i')"),
    ('An integer that wants a gradient', "Tensor([1, 2], 'i', requires_grad=True)"),
]

@page('errors', 'Error gallery')
def error_gallery():
    text = ['Each mistake below was made while this page was built; the message is what it gave.\n']
    for title, code in ERRORS:
        text += [f'## {title}\n', f'```python\n{code}\n```\n', f'<pre class="fault">{html.escape(message(code))}</pre>\n']
    return '\n'.join(text)


TERMS = {
    'tag': 'The name of an axis: a Python identifier such as `batch`. An axis is chosen by its tag, never by its position.',
    'tensor': 'Numbers on a grid whose axes have tags.',
    'size': 'How many positions an axis has; `x.sizes` maps tags to sizes.',
    'op': 'One function on tensors together with its gradient rule.',
    'gradient rule': 'What an op does backward: from the gradient of its result to the gradient of each operand.',
    'leaf': 'A tensor that no op made; gradients accumulate in the leaves that require them.',
    'graph': 'The ops that made a value, and the tensors between them.',
    'kernel': 'The inner loop of an op: a NumPy function that gives the meaning and, where it was built, a compiled one that gives the speed.',
    'backend': 'A package that provides kernels.',
    'gradcheck': 'Comparison of a gradient rule with finite differences in double precision.',
    'view': 'A tensor that shares its numbers with another one.',
    'broadcast': 'Repeating a value along an axis it does not have. It goes by tag: an axis only one operand has is repeated for the other.',
    'contraction': 'Multiplying two tensors and summing over tags they share; a matrix product is one.',
}

@page('glossary', 'Glossary')
def glossary():
    return '```{glossary}\n:sorted:\n\n' + '\n\n'.join(f'{t}\n  {d}' for t, d in TERMS.items()) + '\n```'


def picture():
    "The picture on the landing page: a small computation, drawn by the library."
    try:
        import fucinalib as fl
        from build import inline_svg
        code = ("x = fl.Tensor([[0.5, -1.0, 2.0]], 'batch feat')\nw = fl.param(fl.randn('feat class', feat=3, class=2), 'feat class')")
        return ''
    except Exception: return ''
