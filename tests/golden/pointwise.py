"""Arithmetic beside torch: aligned, stretched, swapped, with numbers, at ties and zeros."""
import numpy as np
from fucinalib import Tensor
from parity import case, torch

OPS = {'add': lambda a, b: a + b, 'sub': lambda a, b: a - b, 'mul': lambda a, b: a * b,
       'div': lambda a, b: a / b,
       'maximum': lambda a, b: torch.maximum(a, b),
       'minimum': lambda a, b: torch.minimum(a, b),
       'pow': lambda a, b: a ** b}
ZEROS = Tensor(np.array([0., 0., 2., 3.]), 'd')
POWERS = Tensor(np.array([0., 2., 0., -1.]), 'd')
TIES = Tensor(np.array([1., 2., 2., np.inf]), 'd'), Tensor(np.array([2., 2., 1., np.inf]), 'd')


def named(name, f):
    low = .3 if name == 'pow' else -2.
    return [case(name, 'row=2 col=3', 'row=2 col=3', torch=f, tags='row col', low=low),
            case(name, 'row=2 col=3', 'col=3', torch=f, tags='row col', low=low),
            case(name, 'd=3', 'b=2 d=3', torch=lambda a, b: f(a[:, None], b.T), tags='d b', low=low),
            case(name, 'a=2 b=1 c=3', 'c=1 b=4', torch=lambda a, b: f(a, b.T[None]), tags='a b c', low=low),
            case(name, 'row=2', 'col=3', torch=lambda a, b: f(a[:, None], b), tags='row col', low=low),
            case(name, 'd=1', '', torch=f, tags='d', low=low),
            case(name, 'd=7', 1.5, torch=lambda a: f(a, torch.tensor(1.5, dtype=a.dtype)), tags='d', low=low)]


CASES = [c for name, f in OPS.items() for c in named(name, f)] + [
    case('pow', ZEROS, POWERS, torch=lambda a, b: a ** b),
    case('pow', ZEROS, 0., torch=lambda a: a ** 0.),
    case('pow', ZEROS, 1., torch=lambda a: a ** 1.),
    case('pow', 'd=5', 3, torch=lambda a: a ** 3),
    case('pow', 'd=5', -2, torch=lambda a: a ** -2),
    case('maximum', *TIES, torch=lambda a, b: torch.maximum(a, b)),
    case('minimum', *TIES, torch=lambda a, b: torch.minimum(a, b)),
    case('div', ZEROS, Tensor(np.array([0., 1., 0., 2.]), 'd'), torch=lambda a, b: a / b),
    case('bias_add', 'row=2 d=3', np.array([1., 2., 3.]), 'd',
         torch=lambda a: a + torch.tensor([1., 2., 3.]), tags='row d'),
]
