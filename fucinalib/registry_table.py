"""What the registry says of the operations: the table each chapter ends with, and the pages of the site."""
import html as _html, re
import numpy as np
from fucinalib import kernels
from fucinalib.autograd import enable_grad, registry
from fucinalib.errors import OptionError, did_you_mean, fault
from fucinalib.gradients import GradReport, gradcheck

__all__ = ['op_table', 'verdict', 'OpTable']


def verdict(o,          # an Op of the registry
           )->GradReport|None:
    "Gradcheck every sample of an operation; None if it has no gradient. GradientMismatch if one fails."
    if not o.differentiable: return None
    reports = []
    for i, sample in enumerate(o.samples):
        args, kw = sample.draw(seed=i)
        n, named = len(args), [k for k in kw if k in o.operands]
        rest = {k: v for k, v in kw.items() if k not in named}
        # operands given by name are checked too, and gradcheck keeps its own eps
        call = lambda *all: o.call(*all[:n], **dict(zip(named, all[n:])), **rest)
        with enable_grad(): reports.append(gradcheck(call, *args, *[kw[k] for k in named]))
    if not reports: return None
    return GradReport(sum(r.checked for r in reports), max(r.max_abs_error for r in reports),
                      max(r.max_rel_error for r in reports))


class OpTable:
    "Rows of operations, as text or HTML."
    head = 'operation', 'what it does', 'gradcheck', 'in torch', 'kernels'

    def __init__(self, ops): self.rows = [row(o) for o in ops]
    def __len__(self): return len(self.rows)
    def __repr__(self):
        widths = [max(len(r[i]) for r in [self.head, *self.rows]) for i in range(len(self.head))]
        return '\n'.join('  '.join(f'{c:<{w}}' for c, w in zip(r, widths)).rstrip() for r in [self.head, *self.rows])
    def _repr_html_(self):
        cell = lambda kind, text: f'<{kind} style="text-align:left">{_html.escape(text)}</{kind}>'
        line = lambda kind, r: '<tr>' + ''.join(cell(kind, c) for c in r) + '</tr>'
        return (f'<table><thead>{line("th", self.head)}</thead>'
                f'<tbody>{"".join(line("td", r) for r in self.rows)}</tbody></table>')
    def _repr_markdown_(self):
        bar = lambda r: '| ' + ' | '.join(c.replace('|', '\\|').replace('<', '\\<') for c in r) + ' |'
        return '\n'.join([bar(self.head), bar(['---'] * len(self.head)), *map(bar, self.rows)])


FORM = re.compile(r'(_(last|mid|row|col|scalar|backward|back))*_?$')      # sum_last and sum_mid are both sum


def kernels_of(o,  # an Op of the registry
              )->list:
    "The kernels its samples run in f32, forward and backward, compiled or not; each named once, whatever its form."
    with kernels.noted() as names:
        for i, sample in enumerate(o.samples):
            args, kw = sample.draw(seed=i, dtype='f32', requires_grad=o.differentiable)
            with enable_grad(): results = o.call(*args, **kw)
            for y in results if isinstance(results, (tuple, list)) else [results]:
                if getattr(y, 'node', None) is not None: y.backward(np.ones(y.shape))
    return sorted({FORM.sub('', name) for name in names})


def row(o):
    "One line of the table."
    report = verdict(o)
    proof = (f'{report.checked} slopes, {report.max_abs_error:.0e}' if report else 'no gradient'
             if not o.differentiable else 'by its parts')
    return (f'{o.name}({", ".join(o.signature.parameters)})',
            (o.doc.splitlines() or [''])[0],
            proof,
            o.torch or 'none',
            ' '.join(kernels_of(o)) or ('a view' if o.view else 'NumPy'))


def op_table(family=None,  # a family of the registry, or None for all
            )->OpTable:
    "The operations of a family with their gradchecks, computed now. OptionError if there is no such family."
    families = sorted({o.family for o in registry.values()})
    if family is not None and family not in families:
        raise fault(OptionError, f'op_table: there is no family {family!r}',
                    help=did_you_mean(family, families, 'they are'))
    return OpTable([o for o in registry.values() if family in (None, o.family)])
