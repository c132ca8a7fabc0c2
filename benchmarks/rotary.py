"""Rotary positions beside torch's usual spelling, and for adjacent pairs beside its fastest, complex numbers."""
import numpy as np
from fucinalib import kernels as k
from fucinalib.ops.rotary import AxisRange, rope_table
from .harness import Case, both, normal

SHAPES = (1, 32, 64), (512, 16, 64), (2048, 16, 128), (4096, 8, 128)      # positions, heads, features


def cases(torch):
    for n, heads, d in SHAPES:
        table, x = rope_table(AxisRange(n), d), normal(n, heads, d)
        c, s = table.cos.data, table.sin.data
        t, cos, sin = both(torch, x, np.concatenate([c, c], 1)[:, None], np.concatenate([s, s], 1)[:, None])
        turn = torch and torch.complex(*both(torch, c.copy(), s.copy()))[:, None]
        halves = torch and (lambda: t * cos + torch.cat((-t[..., d // 2:], t[..., :d // 2]), -1) * sin)
        pairs = torch and (lambda: torch.view_as_real(
                               torch.view_as_complex(t.reshape(n, heads, -1, 2)) * turn).flatten(-2))
        size = f'{n} x {heads} x {d}'
        yield Case('rope half', size, lambda: k.rope_half(x, c, s, 1.),
                   lambda: k.table['rope_half'].twin(x, c, s, 1.), halves)
        yield Case('rope interleaved', size, lambda: k.rope_pairs(x, c, s, 0, 1.),
                   lambda: k.table['rope_pairs'].twin(x, c, s, 0, 1.), pairs)
    x, r = normal(2048, 16, 64), rope_table(AxisRange(2048), 32)
    yield Case('rope half, partial', '2048 x 16 x 32/64',
               lambda: k.rope_half(x, r.cos.data, r.sin.data, -1.),
               lambda: k.table['rope_half'].twin(x, r.cos.data, r.sin.data, -1.))
