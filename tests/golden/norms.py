"""Norms beside torch's functional forms, along last and other axes."""
from parity import case, torch

def last(f, axis=-1): return lambda x, *w: f(x.movedim(axis, -1), *w).movedim(-1, axis)
rms = lambda x, w=None, eps=1e-6: torch.nn.functional.rms_norm(x, x.shape[-1:], w, eps)
layer = lambda x, w=None, b=None, eps=1e-5: torch.nn.functional.layer_norm(x, x.shape[-1:], w, b, eps)
group = lambda n: lambda x, w=None, b=None: torch.nn.functional.group_norm(x.T[None], n, w, b)[0].T

CASES = [
    case('rms_norm', 'r=3 d=5', 'd', torch=rms, tags='r d'),
    case('rms_norm', 'r=3 d=5', 'd', weight='d=5', torch=rms),
    case('rms_norm', 'a=2 d=4 c=3', 'd', weight='d=4', torch=last(rms, 1), tags='a d c'),
    case('rms_norm', 'r=3 d=5', 'd', weight='d=5', residual='r=3 d=5',
         torch=lambda x, w, s: rms(x, w) + s),
    case('rms_norm', 'd=1', 'd', torch=rms),
    case('rms_norm', 'r=2 d=3', 'd', eps=.5, torch=lambda x: rms(x, eps=.5)),
    case('layer_norm', 'r=3 d=5', 'd', torch=layer, tags='r d'),
    case('layer_norm', 'r=3 d=5', 'd', weight='d=5', bias='d=5', torch=layer),
    case('layer_norm', 'a=2 d=4 c=3', 'd', weight='d=4', bias='d=4', torch=last(layer, 1)),
    case('layer_norm', 'r=2 d=1', 'd', torch=layer),
    case('group_norm', 't=5 c=6', 'c', 3, torch=group(3), tags='t c'),
    case('group_norm', 't=5 c=6', 'c', 2, weight='c=6', bias='c=6', torch=group(2)),
    case('group_norm', 't=1 c=4', 'c', 1, weight='c=4', torch=group(1)),
    case('l2_normalize', 'r=3 d=4', 'd', eps=1e-12,
         torch=lambda x: torch.nn.functional.normalize(x, dim=1), tags='r d'),
    case('l2_normalize', 'd=3 r=2', 'd', eps=.1,
         torch=lambda x: x * torch.rsqrt((x * x).sum(0, keepdim=True) + .1), tags='d r'),
    case('standardize', 'r=3 d=5', 'd', ddof=1, eps=.1,
         torch=lambda x: (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + .1)),
    case('standardize', 'r=3 d=5', 'd', eps=.1, eps_mode='inside_sqrt', torch=lambda x: (
             x - x.mean(1, keepdim=True)) / (x.var(1, correction=0, keepdim=True) + .1).sqrt()),
    case('snake', 't=4 c=3', 'c', 'c=3', 'c=3',
         torch=lambda x, a, b: x + b * torch.sin(a * x) ** 2, tags='t c'),
]
