"""Gates beside torch: aligned, stretched, swapped, halves of every axis."""
import numpy as np
from fucinalib import Tensor
from parity import F, case, torch

ACTS = dict(glu=lambda g: torch.sigmoid(g),
            swiglu=lambda g: F.silu(g),
            geglu=lambda g: F.gelu(g, approximate='tanh'),
            situ=lambda g: 4 * torch.tanh(g / 4) * torch.sigmoid(g))
FAR = Tensor(np.array([-300., -20., -1., 0., 1., 20., 300.]), 'd')


def gate(name):
    act = ACTS[name]
    f = (lambda u, g: 25 * torch.tanh(u / 25) * act(g)) if name == 'situ' else (lambda u, g: u * act(g))
    return [case(name, 'row=2 col=3', 'row=2 col=3', torch=f, tags='row col'),
            case(name, 'row=2 col=3', 'col=3', torch=f, tags='row col'),
            case(name, 'd=3', 'b=2 d=3', torch=lambda u, g: f(u[:, None], g.T), tags='d b'),
            case(name, 'a=2 b=1', 'b=4', torch=f, tags='a b'),
            case(name, '', 'd=1', torch=f, tags='d'),
            case(name, 'd=7', FAR, torch=f),
            case('gated', 'd=5', 'd=5', name, torch=f)]


CASES = [c for name in ACTS for c in gate(name)] + [
    case('split_gated', 'row=2 ff=6', 'glu', 'ff', torch=lambda x: F.glu(x, 1), tags='row d', out='d'),
    case('split_gated', 'ff=6 row=2', 'glu', 'ff', torch=lambda x: F.glu(x, 0), tags='ff row'),
    case('split_gated', 'a=2 ff=2 b=3', 'glu', 'ff', torch=lambda x: F.glu(x, 1), tags='a ff b',
         out='ff'),
    case('split_gated', 'row=2 ff=6', 'swiglu', 'ff', torch=lambda x: F.silu(x[:, :3]) * x[:, 3:],
         tags='row d', out='d'),
    case('split_gated', Tensor(np.asfortranarray(np.linspace(-2, 2, 24).reshape(4, 6)), 'row ff'),
         'swiglu', 'ff', torch=lambda x: F.silu(x[:, :3]) * x[:, 3:]),
    case('split_gated', Tensor(np.linspace(-2, 2, 48).reshape(4, 12)[:, ::2], 'row ff'), 'swiglu',
         'row', torch=lambda x: F.silu(x[:2]) * x[2:]),
    case('split_gated', 'ff=2', 'swiglu', 'ff', torch=lambda x: F.silu(x[:1]) * x[1:], tags='ff'),
]
