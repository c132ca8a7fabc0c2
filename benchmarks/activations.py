"""Functions that bend softly, forward and backward, each beside torch's own kernel where it has one."""
from fucinalib import kernels as k
from .harness import Case, backward, both, normal

SIZES = 1_000, 100_000, 1_000_000, 10_000_000


def cases(torch):
    F = torch and torch.nn.functional
    theirs = torch and dict(sigmoid=torch.sigmoid, silu=F.silu, softplus=F.softplus, elu=F.elu, gelu=F.gelu,
                           gelu_tanh=lambda x: F.gelu(x, approximate='tanh'), quick_gelu=lambda x: x * torch.sigmoid(1.702 * x))
    for n in SIZES:
        a, g = normal(n), normal(n, seed=1)
        for name in 'sigmoid silu softplus elu gelu gelu_tanh quick_gelu'.split():
            ours, back, saved, f = getattr(k, name), k.table[name + '_backward'], getattr(k, name)(a) if name == 'sigmoid' else a, torch and theirs[name]
            x, leaf = *both(torch, a), *both(torch, a, grad=True)
            yield Case(name, n, lambda: ours(a), lambda: k.table[name].twin(a), torch and (lambda: f(x)))
            yield Case(name + ' backward', n, lambda: back.call(g, saved), lambda: back.twin(g, saved), torch and backward(torch, f, (leaf,), g))
        x, leaf = *both(torch, a), *both(torch, a, grad=True)
        yield Case('softcap', n, lambda: k.softcap(a, 30.), lambda: k.table['softcap'].twin(a, 30.), torch and (lambda: 30 * torch.tanh(x / 30)))
