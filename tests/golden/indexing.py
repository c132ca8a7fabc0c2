"""Picking and putting back beside torch; indices are given, so the lambdas repeat them."""
import numpy as np
import fucinalib as fl
from parity import case, torch

I = lambda *rows: fl.Tensor(np.array(rows), 'r c')
T = lambda *rows: torch.tensor(rows)
MASK = fl.Tensor(np.array([[True, False, True], [False, True, False]]), 'r c')

CASES = [
    case('index_select', 'r=4 c=3', 'r', [3, 0, 3, 1],
         torch=lambda x: x.index_select(0, torch.tensor([3, 0, 3, 1])), tags='r c'),
    case('index_select', 'a=2 b=3 c=2', 'b', [2, 2], out='p',
         torch=lambda x: x.index_select(1, torch.tensor([2, 2])), tags='a p c'),
    case('index_select', 'd=1', 'd', [0, 0, 0],
         torch=lambda x: x.index_select(0, torch.tensor([0, 0, 0]))),
    case('take_along_axis', 'r=2 c=3', 'c', I([2, 2], [0, 1]), torch=lambda x, i: x.gather(1, i),
         tags='r c'),
    case('take_along_axis', 'r=3 c=2', 'r', I([2, 0], [1, 1], [2, 2], [0, 1]),
         torch=lambda x, i: x.gather(0, i)),
    case('scatter_add', 'r=3 c=2', 'r', I([2, 0], [2, 0]), 'r=2 c=2',
         torch=lambda x, i, s: x.scatter_add(0, i, s)),
    case('scatter_add', 'r=2 c=3', 'c', I([2, 2], [0, 0]), 'r=2 c=2',
         torch=lambda x, i, s: x.scatter_add(1, i, s)),
    case('scatter', 'r=3 c=2', 'r', I([2, 0], [1, 1]), 'r=2 c=2',
         torch=lambda x, i, s: x.scatter(0, i, s)),
    case('index_add', 'r=3 c=2', 'r', [1, 1, 0], 'r=3 c=2',
         torch=lambda x, u: x.index_add(0, torch.tensor([1, 1, 0]), u)),
    case('index_add', 'r=2 c=3', 'c', [2, 0], 'r=2 c=2',
         torch=lambda x, u: x.index_add(1, torch.tensor([2, 0]), u)),
    case('set_rows', 'r=3 c=2', 'r', [2, 0], 'r=2 c=2',
         torch=lambda x, u: x.index_copy(0, torch.tensor([2, 0]), u)),
    case('zero_rows', 'r=3 c=2', 'r', [2, 2], torch=lambda x: x.index_fill(0, torch.tensor([2]), 0)),
    case('set_slice', 'r=2 c=4', 'c', 1, 'r=2 c=2',
         torch=lambda x, u: torch.slice_scatter(x, u, 1, 1, 3)),
    case('zero_slice', 'r=3 c=2', 'r', 1, 2,
         torch=lambda x: torch.slice_scatter(x, torch.zeros(2, 2, dtype=x.dtype), 0, 1, 3)),
    case('masked_select', 'r=2 c=3', MASK, 'p', torch=lambda x, m: x.masked_select(m), tags='p'),
    case('masked_scatter', 'r=2 c=3', MASK, 'p=3', torch=lambda x, m, v: x.masked_scatter(m, v),
         tags='r c'),
]
