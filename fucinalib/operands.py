"""Where a call has its tensors.

A parameter that is annotated as a tensor takes operands: one, or several in a list or after a star. Their places are
worked out once for each operation, so that a call with its tensors in front, as most are, need not look.
"""
import inspect
from .errors import tensors_in
from .tensor import Tensor

__all__ = ['Operands']


class Operands:
    "The operands among the parameters of a function, by name and by place."
    def __init__(self, fn):
        self.signature = inspect.signature(fn)
        parameters = self.signature.parameters
        self.operands = [n for n, p in parameters.items() if _takes_tensor(p.annotation)]
        self.many = {n for n in self.operands if _takes_many(parameters[n])}
        names, plain = list(parameters), [n for n, p in parameters.items() if _is_plain(p)]
        lead = [n in self.operands and n in plain and n not in self.many for n in names]
        lead = lead.index(False) if False in lead else len(names)
        self.lead = lead if lead == len(self.operands) else 0      # so many in front and no others: the fast path
        self.alone = 0 < len(self.operands) and self.operands == names[:1] == plain[:1]      # perhaps a list
        spread = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
        self.spots = None if spread else [(n, names.index(n)) for n in self.operands]

    def find_operands(self, args, kw):
        "Every tensor operand of a call, in the order of the signature; lists and *args count one by one."
        if self.alone and args: return args[0] if isinstance(args[0], (list, tuple)) else args[:1]
        if self.spots: given = [args[i] if i < len(args) else kw.get(n) for n, i in self.spots]
        else:
            bound = self.signature.bind(*args, **kw).arguments
            given = [bound.get(n) for n in self.operands]
        found = []
        for n, v in zip(self.operands, given):
            if n in self.many and isinstance(v, (list, tuple)): found.extend(v)
            else: found.append(v)
        return found

    def given(self, args, kw):
        "The tensors of a call by the name of their parameter, for a message."
        return tensors_in(self.signature, args, kw)

    def operand_name(self, i):
        "What to call operand number `i` in a message."
        return repr(self.operands[min(i, len(self.operands) - 1)]) if self.operands else f'operand {i}'


def _takes_tensor(annotation): return annotation is Tensor or 'Tensor' in str(annotation)


def _takes_many(p): return p.kind is p.VAR_POSITIONAL or 'list' in str(p.annotation)


def _is_plain(p): return p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.annotation is not list
