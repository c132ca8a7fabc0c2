"""Functions of one number: each kernel that goes value by value and its way back, beside the
function of torch that the operation names."""
import inspect
import numpy as np
import fucinalib as fl
from fucinalib import kernels as k
from .harness import Case, backward, both, normal

SIZES = 1_000, 100_000, 1_000_000, 10_000_000
FAMILY = 'fucinalib.kernels.unary', 'fucinalib.kernels.activations'
POSITIVE = 'log', 'sqrt', 'rsqrt', 'reciprocal'
FORMS = dict(gelu_tanh="lambda x: torch.nn.functional.gelu(x, approximate='tanh')",
             quick_gelu='lambda x: x * torch.sigmoid(1.702 * x)')


def named(kernel, torch):
    "The function of torch that does what a kernel does, or None."
    o = fl.registry.get(kernel.name)
    source = FORMS.get(kernel.name) or (o and o.torch)
    return eval(source, dict(torch=torch)) if torch and source else None


def cases(torch):
    alone = lambda f: len(inspect.signature(f).parameters) == 1
    family = [e for e in k.table.values() if e.twin.__module__ in FAMILY and alone(e.twin)
              and not e.name.startswith(('fast', 'gelu_quant'))]
    for n in SIZES:
        a, g = normal(n), normal(n, seed=1)
        for e in family:
            x = np.abs(a) + np.float32(.1) if e.name in POSITIVE else a
            theirs = named(e, torch)
            back = k.table.get(e.name + '_backward')
            tx, = both(torch, x)
            yield Case(e.name, n, lambda: e.call(x), lambda: e.twin(x), theirs and (lambda: theirs(tx)))
            if back is None: continue
            kept = e.call(x) if list(inspect.signature(back.twin).parameters)[1] == 'y' else x
            leaf, = both(torch, x, grad=True)
            yield Case(e.name + ' backward', n, lambda: back.call(g, kept),
                       lambda: back.twin(g, kept), theirs and backward(torch, theirs, (leaf,), g))
        (tx,), capped = both(torch, a), k.table['softcap']
        yield Case('softcap', n, lambda: k.softcap(a, 30.), lambda: capped.twin(a, 30.),
                   torch and (lambda: 30 * torch.tanh(tx / 30)))
