"""Functions of one number. Each backward kernel beside torch's backward pass of the same function."""
import numpy as np
from fucinalib import kernels as k
from .harness import Case, backward, both, normal

SIZES = 1_000, 100_000, 1_000_000, 10_000_000


def cases(torch):
    for n in SIZES:
        a, g = normal(n), normal(n, seed=1)
        p = np.abs(a) + np.float32(.1)
        for name, x, saved in (('exp', a, None), ('log', p, None), ('sqrt', p, 'y'), ('tanh', a, 'y'), ('relu', a, 'y'), ('abs', a, 'x')):
            ours, twin, tx = getattr(k, name), k.table[name].twin, *both(torch, x)
            theirs = torch and getattr(torch, name)
            yield Case(name, n, lambda: ours(x), lambda: twin(x), torch and (lambda: theirs(tx)))
            if not saved: continue
            kept, back, leaf = ours(x) if saved == 'y' else x, k.table[name + '_backward'], *both(torch, x, grad=True)
            yield Case(name + ' backward', n, lambda: back.call(g, kept), lambda: back.twin(g, kept), torch and backward(torch, theirs, (leaf,), g))
