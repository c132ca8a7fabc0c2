"""Functions of one number beside torch: ordinary values, kinks, the far ends, NaN and inf, one
value, strided memory."""
import numpy as np
from fucinalib import Tensor
from parity import F, case, torch

ENDS = Tensor(np.array([-800., -100., -30., -5.3, -.01, -1e-9, 0., 1e-9, .01, 5.3, 30., 100., 800.]), 'd')
KINKS = Tensor(np.array([-1., 0., 1., 0., 2.]), 'd')
STRANGE = Tensor(np.array([np.nan, np.inf, -np.inf, 0., -0., 1.]), 'd')
STEPPED = Tensor(np.arange(24.).reshape(4, 6)[::2, 1::2] / 7 - 1, 'row col')
FORTRAN = Tensor(np.asfortranarray(np.linspace(-2, 2, 6).reshape(2, 3)), 'row col')
HALVES = Tensor(np.array([-2.5, -1.5, -.5, -.2, .2, .5, 1.5, 2.5, 2**52 + 1.]), 'd')

SMOOTH = dict(exp=lambda x: torch.exp(x), tanh=lambda x: torch.tanh(x),
              sigmoid=lambda x: torch.sigmoid(x), silu=lambda x: F.silu(x),
              elu=lambda x: F.elu(x), gelu=lambda x: F.gelu(x),
              quick_gelu=lambda x: x * torch.sigmoid(1.702 * x), sin=lambda x: torch.sin(x),
              cos=lambda x: torch.cos(x), softplus=lambda x: F.softplus(x))
POSITIVE = dict(log=lambda x: torch.log(x),
                sqrt=lambda x: torch.sqrt(x),
                rsqrt=lambda x: torch.rsqrt(x),
                reciprocal=lambda x: torch.reciprocal(x),
                log1p=lambda x: torch.log1p(x))
STEPS = dict(relu=lambda x: torch.relu(x), abs=lambda x: torch.abs(x), neg=lambda x: torch.neg(x),
             square=lambda x: torch.square(x), sign=lambda x: torch.sign(x),
             floor=lambda x: torch.floor(x), ceil=lambda x: torch.ceil(x),
             round=lambda x: torch.round(x))


def one(name, f, low=-2.): return case(name, 'd=1', torch=f, tags='d', low=low)


CASES = [one(name, f, low) for fs, low in ((SMOOTH, -2.), (STEPS, -2.), (POSITIVE, .1))
         for name, f in fs.items()] + [case(name, x, torch=f) for name, f in (SMOOTH | STEPS).items()
                                       for x in (STEPPED, FORTRAN, ENDS)] + [
    case(name, STRANGE, torch=f, grad=False)
    for name, f in (SMOOTH | STEPS | POSITIVE).items() if name != 'sign'] + [
    case(name, KINKS, torch=f) for name, f in STEPS.items()] + [
    case(name, HALVES, torch=STEPS[name]) for name in ('floor', 'ceil', 'round')] + [
    case('gelu', 'row=2 col=3', 'tanh', torch=lambda x: F.gelu(x, approximate='tanh'), tags='row col'),
    case('gelu', ENDS, 'tanh', torch=lambda x: F.gelu(x, approximate='tanh')),
    case('leaky_relu', 'row=2 col=3', .1, torch=lambda x: F.leaky_relu(x, .1), tags='row col'),
    case('leaky_relu', KINKS, -.5, torch=lambda x: F.leaky_relu(x, -.5)),
    case('softcap', 'd=5', 1.5, torch=lambda x: 1.5 * torch.tanh(x / 1.5)),
    case('softcap', ENDS, 30, torch=lambda x: 30 * torch.tanh(x / 30)),
    case('clamp', 'row=2 col=3', -1., .5, torch=lambda x: torch.clamp(x, -1., .5)),
    case('clamp', Tensor(np.array([-1., 0., 3., 6., 7.]), 'd'), 0, 6,
         torch=lambda x: torch.clamp(x, 0, 6)),
    case('clamp', 'd=7', torch=lambda x: torch.clamp(x, min=.2), min=.2),
    case('clamp', 'd=7', torch=lambda x: torch.clamp(x, max=.2), max=.2),
    case('clamp', STRANGE, -1., 1., torch=lambda x: torch.clamp(x, -1., 1.), grad=False),
    case('unary', 'd=4', 'softcap_30', torch=lambda x: 30 * torch.tanh(x / 30)),
]
