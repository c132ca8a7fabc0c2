"""Joins, tilings, pads and turns beside torch, values and gradients."""
import numpy as np
from fucinalib import Tensor
from parity import F, case, torch

STEPPED = Tensor(np.arange(80.).reshape(8, 10)[::2, ::3], 'row col')
TURNED = Tensor(np.asfortranarray(np.arange(12.).reshape(3, 4)), 'row col')
ODD = Tensor(np.array([np.nan, np.inf, -0., 1.]), 'd')

CASES = [
    case('concat', ['a=2 b=3', 'a=1 b=3', 'a=4 b=3'], 'a', torch=lambda *x: torch.cat(x), tags='a b'),
    case('concat', ['a=2 b=3', 'a=2 b=1'], 'b', torch=lambda *x: torch.cat(x, 1), tags='a b'),
    case('concat', [STEPPED, Tensor(np.asfortranarray(np.ones((4, 4))), 'row col')], 'row',
         torch=lambda *x: torch.cat(x), tags='row col'),
    case('stack', ['a=2 b=3', 'a=2 b=3'], 'z', torch=lambda *x: torch.stack(x), tags='z a b'),
    case('stack', ['a=2', 'a=2', 'a=2'], 'z', -1, torch=lambda *x: torch.stack(x, -1), tags='a z'),
    case('repeat', 'a=2 b=3', 'a', 3, torch=lambda x: x.repeat(3, 1), tags='a b'),
    case('repeat', TURNED, 'col', 2, torch=lambda x: x.repeat(1, 2), tags='row col'),
    case('repeat', 'a=1 b=3', 'a', 4, torch=lambda x: x.repeat(4, 1), tags='a b'),
    case('pad', 'a=2 b=3', 'b', 2, 1, 7., torch=lambda x: F.pad(x, (2, 1), value=7.), tags='a b'),
    case('pad', STEPPED, 'row', 0, 2, torch=lambda x: F.pad(x, (0, 0, 0, 2)), tags='row col'),
    case('zero_pad2d', 'c=2 h=3 w=4', 'h', 'w', (1, 2, 0, 3),
         torch=lambda x: torch.nn.ZeroPad2d((1, 2, 0, 3))(x), tags='c h w'),
    case('zero_pad2d', 'c=2 h=3 w=4', 'h', 'w', (-1, 2, 1, -2),
         torch=lambda x: torch.nn.ZeroPad2d((-1, 2, 1, -2))(x), tags='c h w'),
    case('constant_pad2d', 'h=3 w=4', 'h', 'w', 1, 5.,
         torch=lambda x: torch.nn.ConstantPad2d(1, 5.)(x), tags='h w'),
    case('flip', 'a=2 b=3', 'b', torch=lambda x: x.flip(1), tags='a b'),
    case('flip', ODD, 'd', torch=lambda x: x.flip(0), tags='d'),
    case('flip', 'a=2 b=3 c=2', 'c a', torch=lambda x: x.flip(0, 2), tags='a b c'),
    case('roll', 'a=2 b=5', 'b', 2, torch=lambda x: x.roll(2, 1), tags='a b'),
    case('roll', STEPPED, 'row', -13, torch=lambda x: x.roll(-13, 0), tags='row col'),
    case('diag_embed', 'a=2 b=3', 'b', 'b z', torch=lambda x: torch.diag_embed(x), tags='a b z'),
    case('diag_embed', 'a=2 b=3', 'a', 'p q',
         torch=lambda x: torch.diag_embed(x.T).permute(1, 0, 2), tags='p b q'),
    case('diag', 'd=4', 'row col', torch=lambda x: torch.diag(x), tags='row col'),
    case('trace', 'i=3 k=3', 'i', 'k', torch=lambda x: x.trace(), tags=''),
    case('trace', 'i=3 j=2 k=5', 'k', 'i', torch=lambda x: x.diagonal(0, 0, 2).sum(-1), tags='j'),
]
