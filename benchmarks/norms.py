"""Norms of rows, each way, and a norm whose result turns by its position."""
import numpy as np
import fucinalib as fl
from fucinalib import kernels as k
from .harness import Case, backward, both, normal

SHAPES = (1, 1024), (512, 128), (4096, 768), (32768, 128), (1024, 8192)
TINY, EPS = np.float64(1e-6), np.float64(1e-5)


def cases(torch):
    F = torch and torch.nn.functional
    for rows, n in SHAPES:
        x, w, b, g = normal(rows, n), normal(n, seed=1), normal(n, seed=2), normal(rows, n, seed=3)
        size, (tx, tw, tb), leaves = f'{rows} x {n}', both(torch, x, w, b), both(torch, x, w, b, grad=True)
        _, r = k.rms_norm_weighted(x, w, TINY)
        _, m, s = k.layer_norm(x, w, b, EPS)
        rms, layer = (lambda x, w: F.rms_norm(x, (n,), w, 1e-6)), (lambda x, w, b: F.layer_norm(x, (n,), w, b))
        yield Case('rms_norm', size, lambda: k.rms_norm_weighted(x, w, TINY),
                   lambda: k.table['rms_norm_weighted'].twin(x, w, TINY),
                   torch and (lambda: rms(tx, tw)))
        yield Case('rms_norm backward', size, lambda: k.rms_norm_backward(g, x, w, r),
                   lambda: k.table['rms_norm_backward'].twin(g, x, w, r),
                   torch and backward(torch, rms, leaves[:2], g))
        yield Case('layer_norm', size, lambda: k.layer_norm(x, w, b, EPS),
                   lambda: k.table['layer_norm'].twin(x, w, b, EPS),
                   torch and (lambda: layer(tx, tw, tb)))
        yield Case('layer_norm backward', size, lambda: k.layer_norm_backward(g, x, w, m, s),
                   lambda: k.table['layer_norm_backward'].twin(g, x, w, m, s),
                   torch and backward(torch, layer, leaves, g))
    for n, heads, d in ((1, 32, 128), (2048, 16, 128)):
        table, a, u = fl.rope_table(fl.AxisRange(n), d), normal(n, heads, d), normal(d, seed=1)
        x, w, (t, v, c, s) = fl.Tensor(a, 'seq head d'), fl.Tensor(u, 'd'), both(
            torch, a, u, np.tile(table.cos.data, 2)[:, None], np.tile(table.sin.data, 2)[:, None])
        def turned():
            y = F.rms_norm(t, (d,), v, 1e-6)
            return y * c + torch.cat((-y[..., d // 2:], y[..., :d // 2]), -1) * s
        yield Case('rms_norm with rope', f'{n} x {heads} x {d}',
                   lambda: x.rms_norm('d', weight=w, rope=('seq', table)), None, torch and turned)
