"""Three arms wound into each other, and the regions a small network draws around them."""
import numpy as np
import fucinalib as fl
from fucinalib import nn, optim
from ._classify import answers, right, train
from ._settings import settings


def spiral(n, seed, noise=.2):
    "`n` points on each of three arms: a data set with 'batch d'."
    r = np.linspace(.05, 1, n)
    rng = np.random.default_rng(seed)
    angle = r * 4 + np.arange(3)[:, None] * 2 * np.pi / 3 + rng.normal(size=(3, n)) * noise
    points = np.stack([r * np.sin(angle), r * np.cos(angle)], -1).reshape(-1, 2)
    return fl.data.Dataset(fl.Tensor(points, 'batch d', 'f32'), np.repeat(np.arange(3), n))


def network(seed=0):
    "2 -> 64 -> 64 -> 3, bent by tanh."
    return nn.Sequential(nn.Linear('d=2', 'hidden=64', seed=seed), nn.Tanh(),
                         nn.Linear('hidden=64', 'hidden=64', seed=seed + 1), nn.Tanh(),
                         nn.Linear('hidden=64', 'class=3', seed=seed + 2))


def regions(model, n=48, edge=1.15):
    "The class of every place of a square, n by n, seen from above: the first row is the top."
    side = np.linspace(-edge, edge, n, dtype='f4')
    return answers(model, fl.Tensor(np.stack(np.meshgrid(side, side[::-1]), -1), 'v u d'))


def main(args=None):
    o = settings('spiral', __doc__, args, epochs=(700, 'rounds over the points'), lr=(.01, 'learning rate'),
                 size=(64, 'points in a batch'), seed=(0, 'of points, weights and order'))
    known, new = spiral(90, o.seed), spiral(30, o.seed + 1)
    model = network(o.seed)
    train(model, known, optim.Adam(model, lr=o.lr), o.epochs, o.size, o.seed,
          lambda epoch, loss: print(f'epoch {epoch:3}  loss {loss:.4f}'))
    for row in regions(model, 24).tolist(): print(''.join('.o#'[k] * 2 for k in row))
    found = right(model, known), right(model, new)
    print(f'{found[0]} of {len(known)} points it learnt from, {found[1]} of {len(new)} new ones')
    return dict(train=found[0], test=found[1])
