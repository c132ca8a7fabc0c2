"""Constants, ranges and random numbers. NumPy's generators keep a state, ours are functions of a
counter: the values differ, the work is the same."""
import numpy as np
import fucinalib as fl
from .harness import Case

SIZES = 1_000, 100_000, 1_000_000, 10_000_000


def cases(torch):
    rng = np.random.default_rng(0)
    for n in SIZES:
        yield Case('zeros', n, lambda: fl.zeros('d', (n,)), lambda: np.zeros(n, 'f4'),
                   torch and (lambda: torch.zeros(n)))
        yield Case('full', n, lambda: fl.full('d', (n,), 7.), lambda: np.full(n, 7., 'f4'),
                   torch and (lambda: torch.full((n,), 7.)))
        yield Case('arange', n, lambda: fl.arange('t', 0., n / 2, .5),
                   lambda: np.arange(0, n / 2, .5, dtype='f4'),
                   torch and (lambda: torch.arange(0., n / 2, .5)))
        yield Case('rand', n, lambda: fl.rand('d', (n,), seed=1), lambda: rng.random(n, 'f4'),
                   torch and (lambda: torch.rand(n)))
        yield Case('randn', n, lambda: fl.randn('d', (n,), seed=1),
                   lambda: rng.standard_normal(n, 'f4'), torch and (lambda: torch.randn(n)))
        yield Case('bernoulli', n, lambda: fl.bernoulli('d', (n,), .3, seed=1),
                   lambda: (rng.random(n, 'f4') < .3).astype('f4'),
                   torch and (lambda: torch.empty(n).bernoulli_(.3)))
        yield Case('randint', n, lambda: fl.randint('d', (n,), 0, 100, seed=1),
                   lambda: rng.integers(0, 100, n), torch and (lambda: torch.randint(0, 100, (n,))))
        yield Case('randperm', n, lambda: fl.randperm('d', n, seed=1), lambda: rng.permutation(n),
                   torch and (lambda: torch.randperm(n)))
