"""The table that no straight line parts: xor, learnt once as a number and once as a choice of two classes."""
import numpy as np
import fucinalib as fl
from fucinalib import nn, optim
from ._settings import settings

X = fl.Tensor([[0., 0.], [0., 1.], [1., 0.], [1., 1.]], 'row bit')
Y = np.array([0, 1, 1, 0])


def network(outputs, seed):
    "2 bits -> 8 units -> `outputs`, an axis with its size."
    return nn.Sequential(nn.Linear('bit=2', 'unit=8', seed=seed), nn.Tanh(),
                         nn.Linear('unit=8', outputs, seed=seed + 1))


def train(model, loss_of, steps, lr):
    "`steps` steps of Adam on all four rows; the loss of each."
    opt, losses = optim.Adam(model, lr=lr), []
    for _ in range(steps):
        loss = loss_of(model(X))
        loss.backward()
        opt.step()
        opt.zero_grad()
        losses.append(loss.item())
    return losses


def as_number(steps=5000, lr=.05, seed=0):
    "One output, whose square distance to 0 or 1 is to be small: (outputs, losses)."
    model, want = network('out=1', seed), fl.Tensor(Y[:, None].astype('f4'), 'row out')
    losses = train(model, lambda y: y.mse_loss(want), steps, lr)
    return model(X).numpy()[:, 0], losses


def as_classes(steps=5000, lr=.05, seed=0):
    "Two scores, and cross entropy: (share of class 1, losses)."
    model = network('class=2', seed)
    losses = train(model, lambda y: y.cross_entropy('class', Y), steps, lr)
    return model(X).softmax('class').numpy()[:, 1], losses


def main(args=None):
    o = settings('xor', __doc__, args, steps=(5000, 'for each of both'), lr=(.05, 'learning rate'),
                 seed=(0, 'of the first weights'))
    found = {}
    for name, learn in (('as a number', as_number), ('as classes', as_classes)):
        out, losses = learn(o.steps, o.lr, o.seed)
        print(f'{name:<12} loss {losses[0]:.3f} -> {losses[-1]:.2e}')
        for (a, b), y in zip(X.tolist(), out): print(f'    {a:g} xor {b:g} = {y:.3f}')
        found[name] = dict(out=out.tolist(), loss=losses[-1], right=int((np.round(out) == Y).sum()))
    return found
