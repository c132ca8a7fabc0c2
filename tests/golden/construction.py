"""Constants and ranges beside torch."""
from parity import case, torch

CASES = [
    case('zeros', 'row col', row=2, col=3, torch=lambda: torch.zeros(2, 3), tags='row col'),
    case('ones', 'd', (3,), torch=lambda: torch.ones(3), tags='d'),
    case('full', 'row col', (2, 1), 7., torch=lambda: torch.full((2, 1), 7.), tags='row col'),
    case('full', 'd', 7, d=2, torch=lambda: torch.full((2,), 7), tags='d'),
    case('zeros_like', 'row=2 col=3', torch=lambda x: torch.zeros_like(x), tags='row col'),
    case('ones_like', 'row=2 col=3', torch=lambda x: torch.ones_like(x), tags='row col'),
    case('full_like', 'row=2 col=3', 2.5, torch=lambda x: torch.full_like(x, 2.5), tags='row col'),
    case('arange', 't', 7, torch=lambda: torch.arange(7), tags='t'),
    case('arange', 't', -1, 2, .25, torch=lambda: torch.arange(-1, 2, .25), tags='t'),
    case('arange', 't', 5, -4, -3, torch=lambda: torch.arange(5, -4, -3), tags='t'),
    case('linspace', 't', -1, 2, 7, torch=lambda: torch.linspace(-1, 2, 7), tags='t'),
    case('linspace', 't', 3, 4, 1, torch=lambda: torch.linspace(3, 4, 1), tags='t'),
    case('eye', 'row col', row=2, col=3, torch=lambda: torch.eye(2, 3), tags='row col'),
    case('one_hot', [2, 0, 1], 'item label', 4,
         torch=lambda: torch.nn.functional.one_hot(torch.tensor([2, 0, 1]), 4).float(),
         tags='item label'),
]
