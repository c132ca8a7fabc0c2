"""Variance, norms, products."""
import numpy as np
import fucinalib as fl
from .harness import Case, both, normal, there_and_back


def cases(torch):
    for shape in ((30, 33), (300, 333), (1_000, 1_000), (10_000, 1_000), (100_000, 100)):
        a, said = normal(*shape), ' x '.join(map(str, shape))
        x, tx = fl.Tensor(a, 'row col'), *both(torch, a)
        for at, tag, axis in (('rows', 'col', 1), ('columns', 'row', 0)):
            yield Case(f'var {at}', said, lambda: x.var(tag), lambda: np.var(a, axis),
                       torch and (lambda: torch.var(tx, axis, correction=0)))
            for o in (1, 2):
                yield Case(f'norm {o} {at}', said, lambda o=o: x.norm(tag, ord=o),
                           lambda o=o: np.linalg.norm(a, o, axis),
                           torch and (lambda o=o: torch.linalg.vector_norm(tx, o, axis)))
            yield Case(f'prod {at}', said, lambda: x.prod(tag), lambda: np.prod(a, axis),
                       torch and (lambda: torch.prod(tx, axis)))
            p, (tp,) = fl.param(a, 'row col'), both(torch, a, grad=True)
            for name, f, t in (
                ('var', lambda x: x.var(tag), lambda x: torch.var(x, axis, correction=0)),
                ('norm 2', lambda x: x.norm(tag), lambda x: torch.linalg.vector_norm(x, 2, axis)),
                ('prod', lambda x: x.prod(tag), lambda x: torch.prod(x, axis)),
                ('max', lambda x: x.max(tag), lambda x: x.max(axis).values)):
                yield Case(f'{name} {at} and back', said, there_and_back(lambda x, f=f: f(x).sum(), p),
                           None, torch and there_and_back(lambda x, t=t: t(x).sum(), tp))
