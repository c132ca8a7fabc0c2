"""Comparisons, choices and bands beside torch."""
import numpy as np
from fucinalib import Tensor
from parity import case, torch

NAN = Tensor(np.array([np.nan, np.inf, -np.inf, 0., -0., 1.]), 'd')
OTHER = Tensor(np.array([np.nan, np.inf, 0., -0., 1., 1.]), 'd')
M = np.array([[True, False, True], [False, False, True]])
CUBE = Tensor(np.array([[[True, False], [False, False]], [[True, True], [True, False]]]), 'a b c')
FLOATS = Tensor(np.array([[0., np.nan, 1.], [-0., 0., 0.]]), 'row col')
POISON = Tensor(np.array([[1., np.inf, np.nan], [3., 4., -np.inf], [6., 7., 8.]]), 'row col')
STEPPED = Tensor(np.arange(80.).reshape(8, 10)[::2, ::3], 'row col')

TESTS = dict(lt=lambda a, b: a < b, le=lambda a, b: a <= b, gt=lambda a, b: a > b,
             ge=lambda a, b: a >= b, eq=lambda a, b: a == b, ne=lambda a, b: a != b)


def bands(f, *args, name, **kw):
    return [case(name, 'row=3 col=4', 'row', 'col', *args, torch=lambda x: f(x), tags='row col', **kw),
            case(name, 'b=2 row=4 col=3', 'row', 'col', *args, torch=lambda x: f(x),
                 tags='b row col', **kw),
            case(name, 'col=3 row=4', 'row', 'col', *args, torch=lambda x: f(x.T).T,
                 tags='col row', **kw),
            case(name, 'row=3 b=2 col=3', 'row', 'col', *args,
                 torch=lambda x: f(x.transpose(0, 1)).transpose(0, 1), tags='row b col', **kw),
            case(name, STEPPED, 'row', 'col', *args, torch=lambda x: f(x), **kw),
            case(name, POISON, 'row', 'col', *args, torch=lambda x: f(x), **kw),
            case(name, 'row=1 col=1', 'row', 'col', *args, torch=lambda x: f(x), **kw)]


CASES = [case(name, NAN, OTHER, torch=f, grad=False) for name, f in TESTS.items()] + [
    case(name, NAN, 0., torch=lambda a, f=f: f(a, 0.), grad=False) for name, f in TESTS.items()] + [
    case(name, 'row=2 col=3', 'row=2 col=3', torch=f, grad=False, tags='row col')
    for name, f in TESTS.items()] + [
    case(name, FLOATS, FLOATS, torch=lambda a, b, name=name: getattr(torch, name)(a, b), grad=False)
    for name in ('logical_and', 'logical_or', 'logical_xor')] + [
    case('logical_not', FLOATS, torch=lambda a: torch.logical_not(a), grad=False)] + [
    case(name, NAN, torch=lambda a, name=name: getattr(torch, name)(a), grad=False)
    for name in ('isnan', 'isinf', 'isfinite')] + [
    case('any', CUBE, 'b', torch=lambda m: m.any(1), tags='a c', grad=False),
    case('all', CUBE, 'c', torch=lambda m: m.all(2), tags='a b', grad=False),
    case('any', CUBE, 'a c', torch=lambda m: m.any(2).any(0), tags='b', grad=False),
    case('all', CUBE, torch=lambda m: m.all(), tags='', grad=False),
    case('any', FLOATS, 'col', torch=lambda x: (x != 0).any(1), tags='row', grad=False),
    case('all', FLOATS, 'row', torch=lambda x: (x != 0).all(0), tags='col', grad=False),
    case('where', 'row=2 col=3', Tensor(M, 'row col'), 'row=2 col=3',
         torch=lambda x, m, y: torch.where(m, x, y), tags='row col'),
    case('where', 'row=2 col=3', Tensor(np.asfortranarray(M), 'row col'), 7.,
         torch=lambda x, m: torch.where(m, x, 7.), tags='row col'),
    case('masked_fill', 'row=2 col=3', Tensor(M, 'row col'), -1.,
         torch=lambda x, m: x.masked_fill(m, -1.), tags='row col'),
    case('masked_fill', 'row=2 col=3', Tensor(M, 'row col'), -np.inf,
         torch=lambda x, m: x.masked_fill(m, -np.inf), tags='row col')] + [
    c for k in (-2, -1, 0, 1, 5) for c in bands(lambda x, k=k: torch.tril(x, k), k, name='tril')
    + bands(lambda x, k=k: torch.triu(x, k), k, name='triu')] + bands(
    lambda x: torch.triu(torch.tril(x, 1), -1), 1, 1, name='band_part') + bands(
    lambda x: torch.triu(torch.tril(x, 2), 1), -1, 2, name='band_part')
