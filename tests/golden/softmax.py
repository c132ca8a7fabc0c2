"""Softmax and its kin beside torch; masks, slopes, sinks and causal limits beside the same
written with torch in single steps."""
import numpy as np
import fucinalib as fl
from parity import case, torch

inf, nan = np.inf, np.nan
ODD = [[1., 2., -inf, 0.], [-inf, 3., -inf, -inf], [700., 710., -1000., 709.], [nan, 1., 2., 3.],
       [-0., 0., 0., -0.], [1e-300, -1e-300, 1e300, -1e300]]
EMPTY, HUGE = [[-inf, -inf, -inf], [0., 1., 2.]], [[inf, 1., -inf], [inf, inf, 0.], [1., 2., 3.]]
X = lambda rows, tags='r k': fl.Tensor(np.array(rows), tags)
stepped = fl.Tensor(np.arange(24.).reshape(4, 6)[::2, ::-2] / 7, 'r k')
hidden = fl.Tensor(np.array([[0., -inf, -1.], [-2., 0., -inf]]), 'q k')


def slope(b, h, heads):
    "ALiBi, head by head."
    n = 1
    while 2 * n <= heads: n *= 2
    return (2 ** (-b / n)) ** (h + 1) if h < n else (2 ** (-b / 2 / n)) ** (2 * (h - n) + 1)

def slopes(b, heads):
    return torch.tensor([slope(b, h, heads) for h in range(heads)], dtype=torch.float64)[:, None, None]

def beside(z, sink):
    "Softmax of z (head, q, k) next to one sink per head."
    s = torch.as_tensor(sink, dtype=z.dtype).reshape(-1, 1, 1).expand(z.shape[0], z.shape[1], 1)
    return torch.softmax(torch.cat([z, s], -1), -1)[..., :-1]

def seen(z, offset=0): return z.masked_fill(torch.ones(z.shape[-2:], dtype=torch.bool).triu(offset + 1), -inf)


CASES = [c for op, f in (('softmax', lambda d: lambda x: torch.softmax(x, d)),
                         ('log_softmax', lambda d: lambda x: torch.log_softmax(x, d)),
                         ('logsumexp', lambda d: lambda x: torch.logsumexp(x, d))) for c in (
             case(op, 'r=3 k=5', 'k', torch=f(1), tags='r' if op == 'logsumexp' else 'r k'),
             case(op, 'k=4 r=3', 'k', torch=f(0)),
             case(op, 'k=3 r=3', 'k', torch=f(0)),
             case(op, 'k=3 r=1', 'k', torch=f(0)),
             case(op, 'a=2 k=3 b=4', 'k', torch=f(1), tags='a b' if op == 'logsumexp' else 'a k b'),
             case(op, 'k=1', 'k', torch=f(0)),
             case(op, 'r=1 k=37', 'k', torch=f(1), low=-300., high=300.),
             case(op, stepped, 'k', torch=f(1)),
             case(op, 'k=1 r=4', 'k', torch=f(0)),
             case(op, X(ODD), 'k', torch=f(1)),
             case(op, X(EMPTY), 'k', torch=f(1), grad=op != 'logsumexp'),
             *([] if op == 'log_softmax' else [case(op, X(HUGE), 'k', torch=f(1))]))] + [
    case('softmax', 'r=3 k=5', 'k', scale=.3, torch=lambda x: torch.softmax(x * .3, 1)),
    case('softmax', 'r=3 k=5', 'k', scale=-2, torch=lambda x: torch.softmax(x * -2, 1)),
    case('softmax', 'h=2 q=3 k=4', 'k', mask='q=3 k=4', fixed=('mask',),
         torch=lambda x, m: torch.softmax(x + m, 2), tags='h q k'),
    case('softmax', 'h=2 q=3 k=4', 'k', mask='k=4 q=3', scale=.5, fixed=('mask',),
         torch=lambda x, m: torch.softmax(x * .5 + m.T, 2)),
    case('softmax', 'k=4 h=2 q=3', 'k', mask='q=3 k=4', scale=.5, fixed=('mask',),
         torch=lambda x, m: torch.softmax(x * .5 + m.T[:, None], 0), tags='k h q'),
    case('softmax', 'h=2 k=4 q=3', 'k', mask='h=2 k=1 q=3', fixed=('mask',),
         torch=lambda x, m: torch.softmax(x + m, 1)),
    case('softmax', 'h=2 q=2 k=3', 'k', mask=hidden, fixed=('mask',),
         torch=lambda x, m: torch.softmax(x + m, 2)),
    case('softmax', 'q=2 k=3', 'k', mask=X(EMPTY, 'q k'), fixed=('mask',),
         torch=lambda x, m: torch.softmax(x + m, 1)),
    *[case('softmax', f'h={n} q=2 k=3', 'k', mask=hidden, max_bias=b, head='h', fixed=('mask',),
           torch=lambda x, m, n=n, b=b: torch.softmax(x + slopes(b, n) * m, 2))
      for n, b in ((1, 8.), (2, 8.), (3, 4.), (5, 8.), (8, 8.), (12, 2.5))],
    case('softmax', 'h=2 q=2 k=3', 'k', sinks=np.array([.5, -1.]), head='h',
         torch=lambda x: beside(x, [.5, -1.])),
    case('softmax', 'h=2 q=2 k=3', 'k', sinks=np.array([100., -inf]), scale=3., head='h',
         torch=lambda x: beside(x * 3, [100., -inf])),
    case('softmax', 'h=2 q=2 k=3', 'k', sinks=1, torch=lambda x: beside(x, [1., 1.])),
    case('softmax', fl.Tensor(np.full((1, 2, 3), -inf), 'h q k'), 'k', sinks=0.,
         torch=lambda x: beside(x, [0.])),
    case('softmax', 'q=3 k=3', 'k', causal='q', torch=lambda x: torch.softmax(seen(x), 1)),
    case('softmax', 'q=2 k=5', 'k', causal='q', source_offset=2,
         torch=lambda x: torch.softmax(seen(x, 2), 1)),
    case('softmax', 'k=4 h=2 q=3', 'k', causal='q', source_offset=1, scale=.5,
         torch=lambda x: torch.softmax(seen(x.permute(1, 2, 0) * .5, 1), 2).permute(2, 0, 1)),
    case('softmax', 'q=1 k=1', 'k', causal='q', torch=lambda x: torch.softmax(x, 1)),
    case('softmax', 'h=3 q=2 k=4', 'k', scale=.7, mask='q=2 k=4', max_bias=3., head='h',
         sinks=np.array([0., 1., -1.]), causal='q', source_offset=1, fixed=('mask',),
         torch=lambda x, m: beside(seen(x * .7 + slopes(3., 3) * m, 1), [0., 1., -1.])),
]
