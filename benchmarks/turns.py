"""Products, in BLAS's threads, and kernels, in OpenMP's, by turns: what one library's idle
threads cost the other. See fucinalib/_before_numpy.py."""
import numpy as np
import fucinalib as fl
from fucinalib import kernels as k
from .harness import Case, both, normal, there_and_back


def softmax(x):
    "In NumPy."
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def after_each_other(*calls):
    def run():
        for f in calls: f()
    return run


def learn(x, w, v, labels):
    "The loss of two layers."
    return x.dot(w, 'in').relu().dot(v, 'hidden').cross_entropy('class', labels)


def cases(torch):
    for size, n, shape in (('512^2, 10^6', 512, (1000, 1000)),
                           ('512^2, 40000', 512, (200, 200)),
                           ('128^2, 40000', 128, (200, 200))):
        a, x = normal(n, n), normal(*shape)
        ta, tx = both(torch, a, x)
        product, kernel = lambda a=a: a @ a, lambda x=x: k.softmax_last(x)
        yield Case('product, softmax', size, after_each_other(product, kernel),
                   after_each_other(product, lambda x=x: softmax(x)),
                   torch and after_each_other(lambda: ta @ ta, lambda: torch.softmax(tx, 1)),
                   parts=(product, kernel))
        yield Case('product, 3 softmax', size, after_each_other(product, kernel, kernel, kernel), None,
                   torch and after_each_other(lambda: ta @ ta, *[lambda: torch.softmax(tx, 1)] * 3),
                   parts=(product, kernel, kernel, kernel))
    for hidden in (64, 1024):
        x, w, v = normal(64, 64), normal(64, hidden), normal(hidden, 10)
        labels = np.random.default_rng(0).integers(0, 10, 64)
        p, q = fl.param(w, 'in hidden'), fl.param(v, 'hidden class')
        ours = there_and_back(lambda p, q: learn(fl.Tensor(x, 'row in'), p, q, labels), p, q)
        theirs = None
        if torch:
            (tx,), (tw, tv), tl = both(torch, x), both(torch, w, v, grad=True), torch.from_numpy(labels)
            theirs = there_and_back(lambda w, v: torch.nn.functional.cross_entropy((tx @ w).relu() @ v, tl), tw, tv)
        yield Case('loss and gradients', f'64-{hidden}-10', ours, None, theirs)
