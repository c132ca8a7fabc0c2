"""Reductions beside torch: every axis, odd sizes, size 1, strided operands, ties, zeros, inf."""
import numpy as np
from fucinalib import Tensor
from parity import case, torch

rng = np.random.default_rng(7)
STEPPED = Tensor(rng.uniform(-1, 1, (6, 10))[::2, 1::3], 'row col')
FORTRAN = Tensor(np.asfortranarray(rng.uniform(-1, 1, (3, 5))), 'row col')
BACKWARDS = Tensor(rng.uniform(-1, 1, (3, 5))[:, ::-1], 'row col')
REPEATED = Tensor(np.broadcast_to(rng.uniform(-1, 1, (1, 5)), (3, 5)), 'row col')
LONG = Tensor(rng.uniform(-1, 1, (3, 700)), 'row col')
ZEROS = Tensor(np.array([[5., 0., 2., 3.], [5., 0., 0., 3.], [1., -0., 2., 1.], [1., 2., 3., 4.]]), 'row col')
TIES = Tensor(np.array([[7., 7., 7., 1.], [2., 9., 9., 0.], [-1., -1., -3., -3.]]), 'row col')
INF = Tensor(np.array([[np.inf, 1., 2.], [-np.inf, 0., 1.]]), 'row col')
MASK = Tensor(np.array([[True, False, True, True, False],
                        [False, True, True, False, False],
                        [True, True, True, True, True]]),
              'row col')
wipe = lambda x, m, v=0.: torch.where(m, x, torch.tensor(v, dtype=x.dtype))

NAMED = {'sum': lambda x, d: x.sum(d),
         'mean': lambda x, d: x.mean(d),
         'var': lambda x, d: x.var(d, correction=0),
         'std': lambda x, d: x.std(d, correction=0),
         'prod': lambda x, d: x.prod(d),
         'max': lambda x, d: x.max(d).values, 'min': lambda x, d: x.min(d).values}

def family(name, f):
    return [
        case(name, 'row=3 col=5', 'col', torch=lambda x: f(x, 1), tags='row'),
        case(name, 'row=3 col=5', 'row', torch=lambda x: f(x, 0), tags='col'),
        case(name, 'row=3 col=5', torch=lambda x: f(x.flatten(), 0), tags=''),
        case(name, 'a=2 b=3 c=4', 'b', torch=lambda x: f(x, 1), tags='a c'),
        case(name, 'a=2 b=3 c=4', 'c a', torch=lambda x: f(x.permute(1, 0, 2).flatten(1), 1), tags='b'),
        case(name, 'a=2 b=3 c=4', 'b', 'c', torch=lambda x: f(x.flatten(1), 1), tags='a'),
        case(name, 'row=1 col=4', 'row', torch=lambda x: f(x, 0), tags='col', grad=name != 'std'),
        *[case(name, x, t, torch=lambda x, d=d: f(x, d))
          for x in (STEPPED, FORTRAN, BACKWARDS, REPEATED, LONG) for t, d in (('row', 0), ('col', 1))]]

CASES = [c for name, f in NAMED.items() for c in family(name, f)] + [
    case('prod', ZEROS, 'col', torch=lambda x: x.prod(1)),
    case('prod', ZEROS, 'row', torch=lambda x: x.prod(0)),
    case('prod', ZEROS, torch=lambda x: x.flatten().prod(0)),
    case('max', TIES, 'col', torch=lambda x: x.max(1).values),
    case('min', TIES, 'col', torch=lambda x: x.min(1).values),
    case('max', INF, 'col', torch=lambda x: x.max(1).values),
    case('sum', INF, 'col', torch=lambda x: x.sum(1)),
    case('max', Tensor(np.full((2, 3), -np.inf), 'row col'), 'col', torch=lambda x: x.max(1).values),
    case('var', 'row=3 col=5', 'col', ddof=1, torch=lambda x: x.var(1), tags='row'),
    case('std', 'row=3 col=5', ddof=1, torch=lambda x: x.std(), tags=''),
    case('var', 'row=3 col=1', 'col', ddof=1, torch=lambda x: x.var(1), tags='row'),
    case('std', Tensor(np.ones((2, 3)), 'row col'), 'col', torch=lambda x: x.std(1, correction=0)),
    *[case('norm', 'row=3 col=5', 'col', ord=o,
           torch=lambda x, p=p: torch.linalg.vector_norm(x, p, 1), tags='row')
      for o, p in ((1, 1), (2, 2), ('inf', float('inf')))],
    *[case('norm', 'row=3 col=5', 'row', ord=o,
           torch=lambda x, p=p: torch.linalg.vector_norm(x, p, 0), tags='col')
      for o, p in ((1, 1), (2, 2), (np.inf, float('inf')))],
    *[case('norm', 'a=2 b=3 c=2', ord=o, torch=lambda x, p=p: torch.linalg.vector_norm(x, p), tags='')
      for o, p in ((1, 1), (2, 2), ('inf', float('inf')))],
    *[case('norm', x, 'col', torch=lambda x: torch.linalg.vector_norm(x, 2, 1))
      for x in (STEPPED, FORTRAN, BACKWARDS, REPEATED, LONG)],
    case('norm', Tensor(np.array([[0., 0.], [3., 4.]]), 'row col'), 'col',
         torch=lambda x: torch.linalg.vector_norm(x, 2, 1)),
    case('norm', Tensor(np.array([[0., 0.], [3., -4.]]), 'row col'), 'col', ord=1,
         torch=lambda x: torch.linalg.vector_norm(x, 1, 1)),
    case('sum', 'row=3 col=5', 'col', mask=MASK, torch=lambda x, m: wipe(x, m).sum(1), tags='row'),
    case('sum', 'row=3 col=5', 'row', mask=MASK, torch=lambda x, m: wipe(x, m).sum(0), tags='col'),
    case('sum', 'row=3 col=5', mask=MASK, torch=lambda x, m: wipe(x, m).sum(), tags=''),
    case('mean', 'row=3 col=5', 'col', mask=MASK, torch=lambda x, m: wipe(x, m).sum(1) / m.sum(1),
         tags='row'),
    case('mean', 'row=3 col=5', mask=MASK, torch=lambda x, m: wipe(x, m).sum() / m.sum(), tags=''),
    case('max', 'row=3 col=5', 'col', mask=MASK, torch=lambda x, m: wipe(x, m, -9.).max(1).values,
         tags='row'),
    case('min', 'row=3 col=5', 'row', mask=MASK, torch=lambda x, m: wipe(x, m, 9.).min(0).values,
         tags='col'),
    case('max', 'row=3 col=5', mask=MASK,
         torch=lambda x, m: wipe(x, m, -9.).flatten().max(0).values, tags=''),
]
