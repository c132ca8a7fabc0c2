"""Matrix products by position beside torch: batches, broadcasting, transposes, size 1, layouts."""
import numpy as np
from fucinalib import Tensor
from parity import case, torch

plain = lambda a, b: torch.matmul(a, b)
SHAPES = [('m=2 k=3', 'k=3 n=4', 'm n'),
          ('m=1 k=1', 'k=1 n=1', 'm n'),
          ('b=2 m=2 k=3', 'k=3 n=4', 'b m n'),
          ('m=2 k=3', 'b=2 k=3 n=4', 'b m n'),
          ('b=2 m=2 k=3', 'b=2 k=3 n=4', 'b m n'),
          ('b=1 m=2 k=3', 'b=4 k=3 n=2', 'b m n'),
          ('b=4 m=2 k=3', 'b=1 k=3 n=2', 'b m n'),
          ('a=2 b=1 m=2 k=3', 'b=3 k=3 n=2', 'a b m n'),
          ('b=3 m=1 k=5', 'a=2 b=1 k=5 n=1', 'a b m n')]
STEPPED = (Tensor(np.arange(24.).reshape(4, 6)[::2, ::3], 'm k'),
           Tensor(np.asfortranarray(np.arange(6.).reshape(2, 3) / 7), 'k n'))
CASES = [case('matmul', a, b, out, torch=plain, tags=out) for a, b, out in SHAPES] + [
    case('matmul', 'm=2 k=3', 'n=4 k=3', 'm n', transpose_b=True, torch=lambda a, b: a @ b.mT),
    case('matmul', 'b=2 m=2 k=3', 'b=1 n=4 k=3', 'b m n', transpose_b=True,
         torch=lambda a, b: a @ b.mT),
    case('matmul', 'b=2 k=3 m=4', 'b=2 k=3 n=2', 'b m n', transpose_a=True,
         torch=lambda a, b: a.mT @ b),
    case('matmul', 'b=2 k=3 m=4', 'k=3 n=2', 'b m n', transpose_a=True, torch=lambda a, b: a.mT @ b),
    case('matmul', 'k=3 m=4', 'b=2 k=3 n=2', 'b m n', transpose_a=True, torch=lambda a, b: a.mT @ b),
    case('matmul', 'b=2 k=3 m=4', 'n=5 k=3', 'b m n', transpose_a=True, transpose_b=True,
         torch=lambda a, b: a.mT @ b.mT),
    case('matmul', *STEPPED, 'm n', torch=plain, tags='m n'),
    case('matmul', Tensor(np.array([[np.inf, 1.], [np.nan, 0.]]), 'm k'),
         Tensor(np.array([[1., 0.], [2., 3.]]), 'k n'), 'm n', torch=plain, grad=False),
]
