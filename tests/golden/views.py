"""Views beside torch, values and gradients; operands in several layouts."""
import numpy as np
from fucinalib import Tensor
from parity import case

STEPPED = Tensor(np.arange(80.).reshape(8, 10)[::2, ::3], 'row col')
TURNED = Tensor(np.asfortranarray(np.arange(12.).reshape(3, 4)), 'row col')
ODD = Tensor(np.array([[np.nan, np.inf, 1.], [-np.inf, 0., -0.]]), 'row col')

CASES = [
    case('rename', 'row=2 col=3', 'a b', torch=lambda x: x, tags='a b'),
    case('permute', 'a=2 b=3 c=4', 'c a b', torch=lambda x: x.permute(2, 0, 1), tags='c a b'),
    case('permute', STEPPED, 'col row', torch=lambda x: x.T, tags='col row'),
    case('align_to', 'row=2 col=3', 'col new row', torch=lambda x: x.T[:, None], tags='col new row'),
    case('insert_axis', 'row=2 col=3', 'new', 1, torch=lambda x: x.unsqueeze(1), tags='row new col'),
    case('insert_axis', 'row=2 col=3', 'new', -1, torch=lambda x: x.unsqueeze(-1), tags='row col new'),
    case('squeeze', 'a=1 b=3 c=1', 'a c', torch=lambda x: x.squeeze((0, 2)), tags='b'),
    case('split', 'a=2 b=12', 'b', 'p q r', (2, 3, 2), torch=lambda x: x.unflatten(1, (2, 3, 2)),
         tags='a p q r'),
    case('split', TURNED, 'col', 'p q', q=2, torch=lambda x: x.unflatten(1, (2, 2)), tags='row p q'),
    case('merge', 'a=2 b=3 c=4', 'z', 'b c', torch=lambda x: x.flatten(1, 2), tags='a z'),
    case('flatten', 'a=2 b=3', 'z', torch=lambda x: x.flatten(), tags='z'),
    case('flatten', TURNED, 'z', torch=lambda x: x.flatten(), tags='z'),
    case('reshape', STEPPED, 'p q', p=2, torch=lambda x: x.reshape(2, -1), tags='p q'),
    case('broadcast_to', 'b=3', 'a b c', a=2, c=4,
         torch=lambda x: x[None, :, None].expand(2, 3, 4), tags='a b c'),
    case('broadcast_to', 'a=1 b=3', 'b a', (3, 5), torch=lambda x: x.expand(5, 3).T, tags='b a'),
    case('narrow', 'a=2 b=7', 'b', 2, 3, torch=lambda x: x.narrow(1, 2, 3), tags='a b'),
    case('select', 'a=2 b=3 c=4', b=-1, torch=lambda x: x.select(1, -1), tags='a c'),
    case('select', ODD, row=1, torch=lambda x: x[1], tags='col'),
    case('select', 'a=2 b=3', a=1, b=0, torch=lambda x: x[1, 0], tags=''),
    case('slice', 'a=5 b=6', a=slice(-3, None), b=slice(None, None, 2),
         torch=lambda x: x[-3:, ::2], tags='a b'),
    case('slice', STEPPED, row=(1, 99), torch=lambda x: x[1:99], tags='row col'),
    case('unbind', 'a=3 b=2', 'a', torch=lambda x: x.unbind(0), pick=lambda parts: parts[1], tags='b'),
    case('diagonal', 'a=3 b=2 c=4', 'a', 'c', 'z', torch=lambda x: x.diagonal(0, 0, 2), tags='b z'),
    case('view_with_strides', 'd=7', 'window tap', (3, 3), (2, 1),
         torch=lambda x: x.as_strided((3, 3), (2, 1)), tags='window tap'),
    case('view_with_strides', 'a=3 b=4', 'z', (3,), (5,), 1,
         torch=lambda x: x.as_strided((3,), (5,), 1), tags='z'),
    case('contiguous', TURNED, torch=lambda x: x.contiguous(), tags='row col'),
    case('materialize', STEPPED, torch=lambda x: x.clone(), tags='row col'),
]
