"""Scans beside torch: both axes, size 1, zeros, strided operands, empty segments, every form of decay."""
import numpy as np
from fucinalib import Tensor
from parity import case, torch

rng = np.random.default_rng(8)
STEPPED = Tensor(rng.uniform(-1, 1, (6, 10))[::2, 1::3], 't d')
FORTRAN = Tensor(np.asfortranarray(rng.uniform(-1, 1, (3, 5))), 't d')
BACKWARDS = Tensor(rng.uniform(-1, 1, (3, 5))[:, ::-1], 't d')
ZEROS = Tensor(np.array([[2., 0., 3., 0.], [0., 0., 1., 2.], [1., 2., 0., 3.], [1., -2., 3., .5]]), 't d')

def recur(x, a, h):
    out = []
    for t in range(x.shape[0]):
        h = a[t] * h + x[t]
        out.append(h)
    return torch.stack(out)

def segments(x, at): return torch.stack([x[i:j].sum(0) for i, j in zip(at, at[1:])])

CASES = [case(name, x, tag, torch=lambda x, f=f, d=d: f(x, d))
         for name, f in (('cumsum', lambda x, d: x.cumsum(d)), ('cumprod', lambda x, d: x.cumprod(d)))
         for x in ('t=4 d=3', 't=1 d=3', 't=5 d=1', STEPPED, FORTRAN, BACKWARDS, ZEROS)
         for tag, d in (('t', 0), ('d', 1))] + [
    case('cumsum', 'a=2 t=3 b=4', 't', torch=lambda x: x.cumsum(1), tags='a t b'),
    case('cumprod', 'a=2 t=3 b=4', 't', torch=lambda x: x.cumprod(1), tags='a t b'),
    case('segment_sum', 't=6 d=3', 't', [0, 2, 2, 6], torch=lambda x: segments(x, [0, 2, 2, 6]),
         tags='t d'),
    case('segment_sum', 'd=3 t=4', 't', [0, 0, 1, 4, 4],
         torch=lambda x: segments(x.T, [0, 0, 1, 4, 4]).T, tags='d t'),
    case('segment_sum', FORTRAN, 't', [0, 1, 3], torch=lambda x: segments(x, [0, 1, 3])),
    case('segment_sum', STEPPED, 'd', [0, 3], torch=lambda x: segments(x.T, [0, 3]).T),
    case('linear_recurrence', 't=5 d=3', 't', 'd=3',
         torch=lambda x, a: recur(x, a.expand(5, 3), torch.zeros(3)), tags='t d'),
    case('linear_recurrence', 't=5 d=3', 't', 't=5',
         torch=lambda x, a: recur(x, a[:, None].expand(5, 3), torch.zeros(3)), tags='t d'),
    case('linear_recurrence', 't=5 d=3', 't', 't=5 d=3', 'd=3',
         torch=lambda x, a, h: recur(x, a, h), tags='t d'),
    case('linear_recurrence', 't=5 d=3', 't', 'd=1 t=5', 'd=3',
         torch=lambda x, a, h: recur(x, a.T.expand(5, 3), h), tags='t d'),
    case('linear_recurrence', 'd=3 t=4', 't', 't=1 d=3',
         torch=lambda x, a: recur(x.T, a.expand(4, 3), torch.zeros(3)).T, tags='d t'),
    case('linear_recurrence', 'b=2 t=4 d=3', 't', 'd=3', initial='d=3 b=2',
         torch=lambda x, a, h: recur(x.transpose(0, 1), a.expand(4, 2, 3), h.T).transpose(0, 1),
         tags='b t d'),
    case('linear_recurrence', 't=1', 't', '',
         torch=lambda x, a: recur(x, a.expand(1), torch.zeros(())), tags='t'),
]
