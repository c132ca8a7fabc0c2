"""Scores to shares, row by row."""
from fucinalib import kernels as k
from .harness import Case, backward, both, normal

SHAPES = (10, 100), (1_000, 100), (1_024, 1_024), (100_000, 10), (64, 50_000), (10_000, 1_000)


def cases(torch):
    for shape in SHAPES:
        x, g, said = normal(*shape), normal(*shape, seed=1), ' x '.join(map(str, shape))
        y, z = k.softmax_last(x), k.log_softmax_last(x)
        tx, = both(torch, x)
        twin = {name: k.table[name].twin for name in k.table}
        yield Case('softmax', said, lambda: k.softmax_last(x), lambda: twin['softmax_last'](x), torch and (lambda: torch.softmax(tx, 1)))
        yield Case('log softmax', said, lambda: k.log_softmax_last(x), lambda: twin['log_softmax_last'](x), torch and (lambda: torch.log_softmax(tx, 1)))
        yield Case('logsumexp', said, lambda: k.logsumexp_last(x), lambda: twin['logsumexp_last'](x), torch and (lambda: torch.logsumexp(tx, 1)))
        leaf, = both(torch, x, grad=True)
        yield Case('softmax backward', said, lambda: k.softmax_last_backward(g, y), lambda: twin['softmax_last_backward'](g, y),
                   backward(torch, lambda t: t.softmax(1), (leaf,), g))
        yield Case('log softmax backward', said, lambda: k.log_softmax_last_backward(g, z), lambda: twin['log_softmax_last_backward'](g, z),
                   backward(torch, lambda t: t.log_softmax(1), (leaf,), g))
