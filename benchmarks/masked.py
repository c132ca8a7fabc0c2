"""Masked reductions beside the usual way, fill what is not selected and reduce; torch does it that way too."""
import numpy as np
import fucinalib as fl
from .harness import Case, normal


def cases(torch):
    for shape in ((30, 33), (300, 333), (10_000, 1_000), (1_000, 10_000), (10, 1_000_000)):
        a = normal(*shape)
        keep = np.random.default_rng(3).random(shape) < .5
        x, m = fl.Tensor(a, 'row col'), fl.Tensor(keep, 'row col')
        tx, tm = torch and torch.from_numpy(a), torch and torch.from_numpy(keep)
        said = ' x '.join(map(str, shape))
        for at, tags, axis in (('rows', ('col',), 1), ('columns', ('row',), 0), ('all', (), None)):
            d = () if axis is None else (axis,)
            yield Case(f'sum {at}', said, lambda: x.sum(*tags, mask=m),
                       lambda: np.sum(np.where(keep, a, np.float32(0)), axis),
                       torch and (lambda: torch.where(tm, tx, 0.).sum(*d)))
            yield Case(
                f'mean {at}', said, lambda: x.mean(*tags, mask=m),
                lambda: np.sum(np.where(keep, a, np.float32(0)), axis) / np.count_nonzero(keep, axis),
                torch and (lambda: torch.where(tm, tx, 0.).sum(*d) / tm.sum(*d)))
            yield Case(f'max {at}', said, lambda: x.max(*tags, mask=m),
                       lambda: np.max(np.where(keep, a, np.float32(-np.inf)), axis),
                       torch and (lambda: torch.where(tm, tx, -torch.inf).amax(d)))
