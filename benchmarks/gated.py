"""Gates as one operation, beside torch's two or three."""
from fucinalib import kernels as k
from .harness import Case, backward, both, normal

SIZES = 1_000, 100_000, 1_000_000, 10_000_000
SHAPES = (8, 512), (128, 2048), (1024, 2048), (4, 2_000_000)      # rows, and twice the width


def cases(torch):
    F = torch and torch.nn.functional
    acts = torch and dict(glu=torch.sigmoid, swiglu=F.silu, geglu=lambda x: F.gelu(x, approximate='tanh'))
    for n in SIZES:
        up, gate, g = normal(n), normal(n, seed=1), normal(n, seed=2)
        u, v, lu, lv = *both(torch, up, gate), *both(torch, up, gate, grad=True)
        for name in ('glu', 'swiglu', 'geglu'):
            ours, back, act = getattr(k, name), k.table[name + '_backward'], torch and acts[name]
            yield Case(name, n, lambda: ours(up, gate), lambda: k.table[name].twin(up, gate),
                       torch and (lambda: u * act(v)))
            yield Case(name + ' backward', n, lambda: back.call(g, up, gate),
                       lambda: back.twin(g, up, gate),
                       torch and backward(torch, lambda x, y: x * act(y), (lu, lv), g))
    for rows, width in SHAPES:
        x, g = normal(rows, 2, width // 2), normal(rows, width // 2, seed=1)
        t, leaf = *both(torch, x.reshape(rows, width)), *both(torch, x.reshape(rows, width), grad=True)
        halves = torch and dict(glu=F.glu, swiglu=lambda x: F.silu(x[:, :width // 2]) * x[:, width // 2:])
        for name in ('glu', 'swiglu'):
            ours, back, f = getattr(k, 'split_' + name), k.table[f'split_{name}_backward'], torch and halves[name]
            yield Case('split ' + name, f'{rows} x {width}', lambda: ours(x),
                       lambda: k.table['split_' + name].twin(x), torch and (lambda: f(t)))
            yield Case(f'split {name} backward', f'{rows} x {width}', lambda: back.call(g, x),
                       lambda: back.twin(g, x), torch and backward(torch, f, (leaf,), g))
