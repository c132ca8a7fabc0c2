"""Moves beside torch's: one pass over memory each. Whole operations are timed, tags and checks included."""
import numpy as np
import fucinalib as fl
from .harness import Case, both, normal, there_and_back

SIZES = (32, 32), (316, 316), (1000, 1000), (3162, 3162)


def cases(torch):
    F = torch and torch.nn.functional
    for shape in SIZES:
        a = normal(*shape)
        x, (t,) = fl.Tensor(a, 'row col'), both(torch, a)
        n, half = f'{shape[0]} x {shape[1]}', shape[0] // 2
        h = x.narrow('row', 0, half)
        yield Case('permute', n, lambda: x.permute('col row'), lambda: a.T, torch and (lambda: t.T))
        yield Case('materialize', n, lambda: x.materialize(), lambda: a.copy(), torch and (lambda: t.clone()))
        yield Case('contiguous, turned', n, lambda: x.T.contiguous(),
                   lambda: np.ascontiguousarray(a.T), torch and (lambda: t.T.contiguous()))
        yield Case('contiguous, stepped', n, lambda: x.slice(col=(None, None, 2)).contiguous(),
                   lambda: a[:, ::2].copy(), torch and (lambda: t[:, ::2].contiguous()))
        yield Case('concat row', n, lambda: fl.concat([h, h], 'row'),
                   lambda: np.concatenate([a[:half], a[:half]]),
                   torch and (lambda: torch.cat([t[:half], t[:half]])))
        yield Case('concat col', n, lambda: fl.concat([h, h], 'col'),
                   lambda: np.concatenate([a[:half], a[:half]], 1),
                   torch and (lambda: torch.cat([t[:half], t[:half]], 1)))
        yield Case('stack', n, lambda: fl.stack([h, h], 'z', -1),
                   lambda: np.stack([a[:half], a[:half]], -1),
                   torch and (lambda: torch.stack([t[:half], t[:half]], -1)))
        yield Case('repeat', n, lambda: h.repeat('col', 2), lambda: np.tile(a[:half], (1, 2)),
                   torch and (lambda: t[:half].repeat(1, 2)))
        yield Case('pad', n, lambda: x.pad('col', 1, 1), lambda: np.pad(a, ((0, 0), (1, 1))),
                   torch and (lambda: F.pad(t, (1, 1))))
        yield Case('zero_pad2d', n, lambda: x.zero_pad2d('row', 'col', 1), lambda: np.pad(a, 1),
                   torch and (lambda: F.pad(t, (1, 1, 1, 1))))
        yield Case('flip', n, lambda: x.flip('col'), lambda: np.flip(a, 1).copy(), torch and (lambda: t.flip(1)))
        yield Case('roll', n, lambda: x.roll('col', 3), lambda: np.roll(a, 3, 1), torch and (lambda: t.roll(3, 1)))
        v, (tv,) = fl.Tensor(a[0], 'd'), both(torch, a[0])
        yield Case('diag', n, lambda: v.diag('row col'), lambda: np.diag(a[0]), torch and (lambda: torch.diag(tv)))
        yield Case('trace', n, lambda: x.trace('row', 'col'), lambda: np.trace(a), torch and (lambda: t.trace()))
    for steps, d in ((100, 64), (1000, 64)):
        a = normal(steps, d)
        x, (t,) = fl.param(a, 't d'), both(torch, a, grad=True)
        yield Case('unbind, stack, backward', f'{steps} x {d}',
                   there_and_back(lambda x: fl.stack(x.unbind('t'), 't'), x, g=a), None,
                   torch and there_and_back(lambda t: torch.stack(t.unbind(0)), t, g=t.detach()))
