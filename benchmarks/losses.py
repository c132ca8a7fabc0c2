"""Losses with their way back, and the product with a vocabulary that they often follow."""
import numpy as np
import fucinalib as fl
from .harness import Case, both, normal, there_and_back


def cases(torch):
    F = torch and torch.nn.functional
    case = lambda name, said, ours, theirs, a, b: Case(name, said, there_and_back(ours, *a), None,
                                                       torch and there_and_back(theirs, *b))
    for rows, classes in ((512, 256), (512, 4096), (2048, 1024), (8192, 256), (8192, 4096)):
        a, labels = normal(rows, classes), np.random.default_rng(1).integers(0, classes, rows)
        x, (tx,), (ty,) = fl.param(a, 'row class'), both(torch, a, grad=True), both(torch, labels)
        for name, options in (('cross entropy', {}),
                              ('cross entropy smoothed', dict(label_smoothing=.1)),
                              ('cross entropy ignoring', dict(ignore_index=0))):
            if options and rows > 2048: continue
            yield case(name, f'{rows} x {classes}',
                       lambda x: x.cross_entropy('class', labels, **options),
                       lambda x: F.cross_entropy(x, ty, **options), (x,), (tx,))
        yield case('nll', f'{rows} x {classes}', lambda x: x.nll_loss('class', labels),
                   lambda x: F.nll_loss(x, ty), (x,), (tx,))
    a = normal(1024, 256)
    b = normal(8192, 256, seed=1) * np.float32(.1)
    labels = np.random.default_rng(2).integers(0, 8192, 1024)
    (tx, tw), (ty,) = both(torch, a, b, grad=True), both(torch, labels)
    yield case('linear cross entropy', '1024 x 256 x 8192',
               lambda x, w: x.linear_cross_entropy(w, labels),
               lambda x, w: F.cross_entropy(x @ w.T, ty),
               (fl.param(a, 'row d'), fl.param(b, 'class d')), (tx, tw))
    for n in (1_000, 1_000_000):
        a, t = normal(n), np.random.default_rng(3).random(n, dtype='f4')
        (sure, log), (tt,) = (t[::-1].copy(), np.log(t)), both(torch, t)
        target = fl.Tensor(t, 'd')
        for name, v, ours, theirs in (
            ('mse', a, fl.mse_loss, lambda x, t: F.mse_loss(x, t)),
            ('huber', a, fl.huber_loss, lambda x, t: F.huber_loss(x, t)),
            ('bce', sure, fl.bce_loss, lambda x, t: F.binary_cross_entropy(x, t)),
            ('bce from logits', a, lambda x, t: x.bce_loss(t, from_logits=True),
             lambda x, t: F.binary_cross_entropy_with_logits(x, t)),
            ('kl div', log, fl.kl_div, lambda x, t: F.kl_div(x, t, reduction='sum') / n)):
            yield case(name, n, lambda x, f=ours: f(x, target), lambda x, f=theirs: f(x, tt),
                       (fl.param(v, 'd'),), both(torch, v, grad=True))
    a, b = normal(10_000, 128), normal(10_000, 128, seed=1)
    yield Case('cosine similarity', '10000 x 128',
               there_and_back(lambda x, y: x.cosine_similarity(y, 'd', 1e-8).sum(),
                              fl.param(a, 'row d'), fl.param(b, 'row d')),
               None,
               torch and there_and_back(lambda x, y: F.cosine_similarity(x, y).sum(),
                                        *both(torch, a, b, grad=True)))
