"""Three species of flowers told apart by four lengths."""
import fucinalib as fl
from fucinalib import nn, optim
from ._classify import answers, right, train
from ._settings import settings


def network(seed=0):
    "The model: scores for the three species."
    return nn.Sequential(nn.Linear('feature=4', 'hidden=12', seed=seed), nn.Tanh(),
                         nn.Linear('hidden=12', 'class=3', seed=seed + 1))


def sides(seed=0):
    "(120 flowers to learn from, 30 to test on), at one scale."
    known, new = fl.data.iris().split(.2, seed=seed, by='y')
    known, scale = known.standardize()
    return known, scale(new)


def main(args=None):
    o = settings('iris', __doc__, args, epochs=(900, 'steps, each with all flowers'), lr=(.03, 'learning rate'),
                 seed=(0, 'of parting and weights'))
    known, new = sides(o.seed)
    model = network(o.seed)
    train(model, known, optim.Adam(model, lr=o.lr), o.epochs, len(known), o.seed,
          lambda epoch, loss: print(f'epoch {epoch:3}  loss {loss:.4f}'))
    said, found = answers(model, new.x), right(model, new)
    for k, name in enumerate(new.classes):
        print(f'{name:<10} called', *(f'{other} {int(((said == j) & (new.y.numpy() == k)).sum()):2} ' for j, other
                                      in enumerate(new.classes)))
    print(f'{found} of {len(new)} flowers it never saw')
    return dict(test=found, train=right(model, known))
