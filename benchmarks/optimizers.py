"""Steps of an optimizer beside torch's fused one: ten million parameters, and those of a small network; clipping."""
import numpy as np
import fucinalib as fl
from fucinalib import optim
from .harness import Case, normal

LARGE = ((2500, 1000),) * 4
MLP = (640, 256), (256,), (256, 128), (128,), (128, 4), (4,)


def pair(torch, shapes):
    "Parameters with gradients, ours and torch's."
    ours = [fl.param(normal(*s), ' '.join('ab'[:len(s)])) for s in shapes]
    theirs = [torch.tensor(p.data, requires_grad=True) for p in ours] if torch else []
    for i, p in enumerate(ours): p.grad = normal(*p.shape, seed=i)
    for p, q in zip(ours, theirs): q.grad = torch.tensor(p.grad.numpy())
    return ours, theirs


def by_numpy(ours):
    "AdamW as formulas on whole arrays."
    memory = [(p.data.copy(), p.grad.numpy(), np.zeros_like(p.data), np.zeros_like(p.data)) for p in ours]
    def step():
        for w, g, m, v in memory:
            w *= .99999
            m += .1 * (g - m)
            v += .001 * (g * g - v)
            w -= .001 * m / (np.sqrt(v) + 1e-8)
    return step


def cases(torch):
    for said, shapes in (('10 million', LARGE), ('small MLP', MLP)):
        ours, theirs = pair(torch, shapes)
        opt, other = optim.AdamW(ours), torch and torch.optim.AdamW(theirs, fused=True)
        yield Case('AdamW', said, opt.step, by_numpy(ours), torch and other.step)
        if shapes is MLP:
            each = torch and torch.optim.AdamW(theirs, foreach=True)
            yield Case('AdamW, torch foreach', said, opt.step, None, torch and each.step)
        opt, other = optim.SGD(ours, momentum=.9), torch and torch.optim.SGD(theirs, momentum=.9, fused=True)
        yield Case('SGD, momentum', said, opt.step, None, torch and other.step)
        yield Case('clip_grad_norm', said, lambda: optim.clip_grad_norm(ours, 1e9), None,
                   torch and (lambda: torch.nn.utils.clip_grad_norm_(theirs, 1e9)))
