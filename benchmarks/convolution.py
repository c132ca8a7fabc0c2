"""Convolutions, forward and forward with backward, pools, and what goes with them. torch has its
own layout, channels first, and its own engine."""
import numpy as np
import fucinalib as fl
from .harness import Case, normal, there_and_back


def through(f, *leaves):
    "A call that runs f forward and backward, with a gradient of ones."
    return there_and_back(f, *leaves, g=np.ones(f(*leaves).shape, 'f4'))

def torch_through(torch, f, *leaves):
    return there_and_back(f, *leaves, g=torch.ones_like(f(*leaves)))

def first(a): return np.ascontiguousarray(np.moveaxis(a, -1, -3))


def cases(torch):
    F = torch and torch.nn.functional
    leaf = lambda a: torch.from_numpy(a).requires_grad_()

    for n, c, side in ((8, 64, 56), (16, 128, 28), (8, 256, 14), (4, 3, 112)):
        x, w, b, said = (normal(n, side, side, c),
                         normal(64 if c == 3 else c, 3, 3, c, seed=1),
                         normal(64 if c == 3 else c, seed=2),
                         f'{n}x{c}x{side}x{side}')
        X, W, B = fl.Tensor(x, 'n h w c'), fl.Tensor(w, 'o kh kw c'), fl.Tensor(b, 'o')
        tx, tw, tb = [torch.from_numpy(first(a) if a.ndim > 1 else a) for a in (x, w, b)] if torch else (None,) * 3
        conv = lambda x, w, b: x.conv2d(w, b, padding=1, relu=True)
        yield Case('conv2d 3x3 relu', said, lambda: conv(X, W, B), None,
                   torch and (lambda: F.conv2d(tx, tw, tb, padding=1).relu()))
        ready = W.prepare_conv2d()
        yield Case('conv2d prepared', said, lambda: conv(X, ready, B), None,
                   torch and (lambda: F.conv2d(tx, tw, tb, padding=1).relu()))
        yield Case('conv2d 3x3 both ways', said,
                   through(lambda x, w: x.conv2d(w, padding=1), fl.param(X), fl.param(W)), None,
                   torch and torch_through(torch, lambda x, w: F.conv2d(x, w, padding=1),
                                           leaf(first(x)), leaf(first(w))))

    x, said = normal(8, 56, 56, 64), '8x64x56x56'
    for name, size, stride, groups in (('1x1', 1, 1, 1), ('3x3 stride 2', 3, 2, 1),
                                       ('depthwise 3x3', 3, 1, 64), ('groups 4', 3, 1, 4)):
        w = normal(64, size, size, 64 // groups, seed=1)
        yield Case(f'conv2d {name} both', said,
                   through(lambda x, w: x.conv2d(w, stride=stride, padding=size // 2, groups=groups),
                           fl.param(x, 'n h w c'), fl.param(w, 'o kh kw c')),
                   None,
                   torch and torch_through(
                       torch,
                       lambda x, w: F.conv2d(x, w, stride=stride, padding=size // 2, groups=groups),
                       leaf(first(x)), leaf(first(w))))
    pools = (('max_pool2d', lambda t: F.max_pool2d(t, 2)),
             ('max_pool2d', lambda t: F.max_pool2d(t, 3, 2, 1)),
             ('avg_pool2d', lambda t: F.avg_pool2d(t, 2)),
             ('upsample2x_nearest', lambda t: F.interpolate(t, scale_factor=2)))
    for (name, theirs), options in zip(pools, ((2,), (3, 2, 1), (2,), ())):
        ours = getattr(fl, name)
        yield Case(f'{name} {options[0] if options else ""}', said,
                   lambda: ours(fl.Tensor(x, 'n h w c'), *options), None,
                   torch and (lambda t=torch.from_numpy(first(x)): theirs(t)))
        yield Case(f'{name} {options[0] if options else ""} both', said,
                   through(lambda x: ours(x, *options), fl.param(x, 'n h w c')), None,
                   torch and torch_through(torch, theirs, leaf(first(x))))

    x = normal(8, 4096, 64)
    for name, w, kw in (('conv1d', normal(3, 64, 64, seed=1), dict(padding=1)),
                        ('conv1d dilated', normal(3, 64, 64, seed=1), dict(padding=4, dilation=4))):
        yield Case(f'{name} both', '8x64x4096',
                   through(lambda x, w: x.conv1d(w, 'time', 'tap', **kw), fl.param(x, 'n time c'),
                           fl.param(w, 'tap c o')),
                   None,
                   torch and torch_through(torch, lambda x, w: F.conv1d(x, w, **kw),
                                           leaf(np.ascontiguousarray(x.swapaxes(1, 2))),
                                           leaf(np.ascontiguousarray(w.transpose(2, 1, 0)))))
    w = normal(64, 4, seed=1)
    yield Case('conv1d depthwise both', '8x64x4096',
               through(lambda x, w: x.conv1d(w, 'time', 'tap', causal=True),
                       fl.param(x, 'n time c'), fl.param(w, 'c tap')),
               None,
               torch and torch_through(torch, lambda x, w: F.conv1d(F.pad(x, (3, 0)), w, groups=64),
                                       leaf(np.ascontiguousarray(x.swapaxes(1, 2))),
                                       leaf(w[:, None].copy())))
    w = normal(64, 32, 4, seed=1)
    yield Case('conv_transpose1d both', '8x64x4096',
               through(lambda x, w: x.conv_transpose1d(w, 'time', 'tap', stride=2, padding=1),
                       fl.param(x, 'n time c'), fl.param(w, 'c o tap')),
               None,
               torch and torch_through(torch,
                                       lambda x, w: F.conv_transpose1d(x, w, stride=2, padding=1),
                                       leaf(np.ascontiguousarray(x.swapaxes(1, 2))), leaf(w)))
    x, a, b = normal(25_000, 64), normal(64, seed=1), normal(64, seed=2)
    yield Case('prelu both', '25000 x 64',
               through(lambda x, a: x.prelu(a), fl.param(x, 'row c'), fl.param(a, 'c')), None,
               torch and torch_through(torch, F.prelu, leaf(x), leaf(a)))
    yield Case('channel_affine both', '25000 x 64',
               through(lambda x, s, b: x.channel_affine(s, b), fl.param(x, 'row c'),
                       fl.param(a, 'c'), fl.param(b, 'c')),
               None,
               torch and torch_through(torch, lambda x, s, b: x * s + b, leaf(x), leaf(a), leaf(b)))
