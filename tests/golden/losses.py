"""Losses beside torch's functional forms; where ours differ on purpose, the reference says how."""
import numpy as np
import fucinalib as fl
from parity import F, case, torch

inf = float('inf')
LABELS = [2, 0, 1, 4]
MANY = [17 * i % 5000 for i in range(300)]
leaf = lambda values, tags: fl.Tensor(np.array(values), tags)
ce = lambda labels=LABELS, **kw: lambda x: F.cross_entropy(x, torch.tensor(labels), **kw)
# torch wants the classes second
middle = lambda labels, **kw: lambda x: F.cross_entropy(x, torch.tensor(labels), **kw)
first = lambda labels, **kw: lambda x: F.cross_entropy(x.T, torch.tensor(labels), **kw)
linear = lambda labels, **kw: lambda x, w: F.cross_entropy(x @ w.T, torch.tensor(labels), **kw)

def distill(rows, classes, probs, mean=True, scale=1.):
    "Entry by entry, with the whole scores."
    def run(x, w):
        z = x @ w.T
        total = sum(p * (torch.logsumexp(z[r], 0) - z[r, c]) for r, c, p in zip(rows, classes, probs))
        return total * scale / (len(rows) if mean else 1)
    return run

def clamped(reduction='mean'):
    "Probabilities clamped as ours are; torch.clamp has slope 0 outside and 1 on its bounds, so no sample lies on them."
    def run(x, t):
        p = x.clamp(1e-7, 1 - 1e-7)
        if not t.requires_grad: return F.binary_cross_entropy(p, t, reduction=reduction)
        return getattr(-(t * p.log() + (1 - t) * (1 - p).log()), reduction)()
    return run

def kl(reduction, logs=False):
    def run(x, t):
        some = t > 0
        if logs: y = t.exp() * (t - x)
        else: y = torch.where(some, t * (torch.where(some, t, 1.).log() - torch.where(some, x, 0.)), 0.)
        return y if reduction == 'none' else getattr(y, reduction)()
    return run

def cosine(axis, eps):
    return lambda x, y: (x * y).sum(axis) / (x.norm(dim=axis) * y.norm(dim=axis)).clamp(min=eps)

BIG = [[1e4, 0., -1e4], [-1e4, 1e4, 1e4], [700., 710., 0.]]
HOLES = [[0., -inf, 1.], [-inf, 2., -inf]]
CASES = [
    case('cross_entropy', 'row=4 k=5', 'k', LABELS, torch=ce(), tags=''),
    case('cross_entropy', 'row=4 k=5', 'k', LABELS, torch=ce(reduction='sum'), reduction='sum'),
    case('cross_entropy', 'row=4 k=5', 'k', LABELS, torch=ce(reduction='none'), reduction='none',
         tags='row'),
    case('cross_entropy', 'row=4 k=5', 'k', LABELS, torch=ce(label_smoothing=.1), label_smoothing=.1),
    case('cross_entropy', 'row=4 k=5', 'k', LABELS, torch=ce(ignore_index=0), ignore_index=0),
    case('cross_entropy', 'row=4 k=5', 'k', [2, -100, 1, -100],
         torch=ce([2, -100, 1, -100], ignore_index=-100, label_smoothing=.3, reduction='sum'),
         ignore_index=-100, label_smoothing=.3, reduction='sum'),
    case('cross_entropy', 'row=4 k=5', 'k', [2, -1, 1, 4],
         torch=ce([2, -1, 1, 4], ignore_index=-1, label_smoothing=.3, reduction='none'),
         ignore_index=-1, label_smoothing=.3, reduction='none'),
    case('cross_entropy', 'k=5 row=4', 'k', LABELS, torch=first(LABELS)),
    case('cross_entropy', 'b=2 k=3 t=4', 'k', [[0, 1, 2, 0], [2, 2, 1, 0]],
         torch=middle([[0, 1, 2, 0], [2, 2, 1, 0]])),
    case('cross_entropy', 'b=2 k=3 t=4', 'k', [0, 1, 2, 0, 2, 2, 1, 0],
         torch=middle([[0, 1, 2, 0], [2, 2, 1, 0]], reduction='none'), reduction='none', tags='b t'),
    case('cross_entropy', 'k=7', 'k', [3], torch=lambda x: F.cross_entropy(x, torch.tensor(3))),
    case('cross_entropy', 'row=3 k=1', 'k', [0, 0, 0], torch=ce([0, 0, 0])),
    case('cross_entropy', leaf(BIG, 'row k'), 'k', [1, 1, 0], torch=ce([1, 1, 0])),
    case('cross_entropy', leaf(HOLES, 'row k'), 'k', [2, 1], torch=ce([2, 1])),
    case('cross_entropy', leaf(HOLES, 'row k'), 'k', [1, 1], torch=ce([1, 1], reduction='none'),
         reduction='none'),
    case('cross_entropy', leaf([[-inf, -inf], [inf, 0.], [np.nan, 0.]], 'row k'), 'k', [0, 1, 0],
         torch=ce([0, 1, 0], reduction='none'), reduction='none'),
    case('nll_loss', 'row=4 k=5', 'k', LABELS,
         torch=lambda x: F.nll_loss(x, torch.tensor(LABELS)), tags=''),
    case('nll_loss', 'row=4 k=5', 'k', LABELS,
         torch=lambda x: F.nll_loss(x, torch.tensor(LABELS), reduction='none'), reduction='none',
         tags='row'),
    case('nll_loss', 'b=2 k=3 t=2', 'k', [[0, 1], [2, 2]],
         torch=lambda x: F.nll_loss(x, torch.tensor([[0, 1], [2, 2]]), reduction='sum'),
         reduction='sum'),
    case('nll_loss', leaf(HOLES, 'row k'), 'k', [2, 1],
         torch=lambda x: F.nll_loss(x, torch.tensor([2, 1]))),
    case('linear_cross_entropy', 'row=4 d=3', 'k=5 d=3', LABELS, torch=linear(LABELS), tags=''),
    case('linear_cross_entropy', 'row=4 d=3', 'k=5 d=3', LABELS,
         torch=linear(LABELS, reduction='none', ignore_index=1, label_smoothing=.2),
         reduction='none', ignore_index=1, label_smoothing=.2, tags='row'),
    case('linear_cross_entropy', 'row=4 d=3', 'k=5 d=3', LABELS,
         torch=linear(LABELS, reduction='sum', ignore_index=1), reduction='sum', ignore_index=1),
    case('linear_cross_entropy', 'b=2 t=2 d=3', 'k=5 d=3', [[2, 0], [1, 4]],
         torch=lambda x, w: F.cross_entropy((x @ w.T).reshape(4, 5), torch.tensor(LABELS))),
    case('linear_cross_entropy', 'row=300 d=3', 'k=5000 d=3', MANY, torch=linear(MANY), live=True),
    case('linear_distill', 'row=4 d=3', 'k=5 d=3', [3, 0, 3, 3], [1, 2, 0, 1], [.5, .25, .3, .1],
         torch=distill([3, 0, 3, 3], [1, 2, 0, 1], [.5, .25, .3, .1])),
    case('linear_distill', 'row=4 d=3', 'k=5 d=3', [1], [4], [2.],
         torch=distill([1], [4], [2.], False, .5), reduction='sum', loss_scale=.5),
    case('mse_loss', 'a=3 b=5', 'a=3 b=5', torch=lambda x, t: F.mse_loss(x, t), tags=''),
    case('mse_loss', 'a=3 b=5', 'b=5 a=3',
         torch=lambda x, t: F.mse_loss(x, t.T, reduction='none'), reduction='none', tags='a b'),
    case('mse_loss', leaf([inf, 1., np.nan], 'd'), leaf([0., 1., 0.], 'd'),
         torch=lambda x, t: F.mse_loss(x, t, reduction='none'), reduction='none'),
    case('huber_loss', 'a=3 b=5', 'a=3 b=5', torch=lambda x, t: F.huber_loss(x, t), tags=''),
    case('huber_loss', 'a=3 b=5', 'a=3 b=5', delta=.3,
         torch=lambda x, t: F.huber_loss(x, t, reduction='sum', delta=.3), reduction='sum'),
    case('huber_loss', leaf([inf, 1., -1., np.nan], 'd'), leaf([0., 0., 0., 0.], 'd'),
         torch=lambda x, t: F.huber_loss(x, t, reduction='none'), reduction='none'),
    case('bce_loss', 'a=3 b=5', 'a=3 b=5', torch=clamped(), low=.05, high=.95),
    case('bce_loss', leaf([1e-9, .5, 1 - 1e-9, 0., 1.], 'd'), leaf([1., .25, 0., 0., 1.], 'd'),
         torch=clamped('sum'), reduction='sum'),
    case('bce_loss', 'a=3 b=5', 'a=3 b=5', from_logits=True,
         torch=lambda x, t: F.binary_cross_entropy_with_logits(x, t), tags=''),
    case('bce_loss', leaf([1e4, -1e4, 0., np.nan], 'd'), leaf([0., 1., .5, 0.], 'd'), from_logits=True,
         torch=lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction='none'),
         reduction='none'),
    case('kl_div', 'a=3 b=5', 'a=3 b=5', torch=lambda x, t: F.kl_div(x, t), low=.05, high=.95),
    case('kl_div', 'a=3 b=5', 'a=3 b=5',
         torch=lambda x, t: F.kl_div(x, t, log_target=True, reduction='sum'), log_target=True,
         reduction='sum'),
    case('kl_div', leaf([-1., -2., -inf], 'd'), leaf([0., .5, 0.], 'd'), torch=kl('none'),
         reduction='none'),
    case('cosine_similarity', 'row=3 d=4', 'row=3 d=4', 'd', 1e-8,
         torch=lambda x, y: F.cosine_similarity(x, y, 1), tags='row'),
    case('cosine_similarity', 'd=4 row=3', 'd=4 row=3', 'd', 5., torch=cosine(0, 5.), tags='row'),
    case('cosine_similarity', 'q=2 d=4', 'k=3 d=4', 'd', 1e-8,
         torch=lambda x, y: F.cosine_similarity(x[:, None], y[None], 2), tags='q k'),
]
