"""Steps of layers for pictures beside torch's: forward and backward of norms and convolutions, and a small network."""
import fucinalib as fl
from fucinalib import nn
from .harness import Case, normal


def there_and_back(layer, x, g):
    "Forward and backward of a layer of ours."
    def step():
        x.grad = None
        for p in layer.parameters(): p.grad = None
        layer(x).backward(g)
    return step

def torchs(layer, x, g):
    "The same of torch's."
    def step():
        x.grad = None
        layer.zero_grad(set_to_none=True)
        layer(x).backward(g)
    return step

def network(c):
    "A small convolutional network of ours: pictures 'image h w c' to scores."
    return nn.Sequential(nn.Conv2d(f'c={c}', 'f=16', 3, padding=1, seed=0), nn.BatchNorm('f=16'), fl.relu,
                         nn.MaxPool2d(2), nn.Conv2d('f=16', 'g=32', 3, padding=1, seed=1), nn.BatchNorm('g=32'),
                         fl.relu, nn.MaxPool2d(2), nn.Linear('h=7 w=7 g=32', 'class=10', seed=2))

def networks(torch, c):
    "The same of torch."
    t = torch.nn
    return t.Sequential(t.Conv2d(c, 16, 3, padding=1), t.BatchNorm2d(16), t.ReLU(), t.MaxPool2d(2),
                        t.Conv2d(16, 32, 3, padding=1), t.BatchNorm2d(32), t.ReLU(), t.MaxPool2d(2), t.Flatten(),
                        t.Linear(32 * 49, 10))


def both_ways(torch, name, ours, theirs, shape):
    "A Case for a layer on pictures of this shape, channels last here and first there."
    a = normal(*shape)
    x = fl.param(a, 'image h w c')
    g = normal(*ours(x).shape, seed=1)
    if torch:
        turn = lambda v: torch.tensor(v.transpose(0, 3, 1, 2).copy() if v.ndim == 4 else v)
        tx, tg = turn(a).requires_grad_(), turn(g)
    return Case(name, ' x '.join(map(str, shape)), there_and_back(ours, x, g), None,
                torch and torchs(theirs(torch.nn), tx, tg))


def dense(torch, rows, sizes):
    "A Case for a network of Linear and relu between these sizes, both ways."
    axes = [f'd{i}={n}' for i, n in enumerate(sizes)]
    ours = nn.Sequential([part for i, pair in enumerate(zip(axes, axes[1:]))
                          for part in (nn.Linear(*pair, seed=i), nn.ReLU())][:-1])
    x, g = fl.param(normal(rows, sizes[0]), 'row d0'), normal(rows, sizes[-1], seed=1)
    if torch:
        t, turn = torch.nn, torch.tensor
        theirs = t.Sequential(*[part for pair in zip(sizes, sizes[1:]) for part in (t.Linear(*pair), t.ReLU())][:-1])
        step = torchs(theirs, turn(x.numpy().copy()).requires_grad_(), turn(g))
    size = f'{rows}: ' + '-'.join(map(str, sizes))
    return Case('dense network', size, there_and_back(ours, x, g), None, torch and step)


def cases(torch):
    for rows, sizes in ((64, (10, 256, 128, 4)), (256, (784, 512, 10))): yield dense(torch, rows, sizes)
    for shape in ((32, 14, 14, 16), (64, 28, 28, 32)):
        c = shape[-1]
        yield both_ways(torch, 'BatchNorm', nn.BatchNorm(f'c={c}'), lambda t: t.BatchNorm2d(c), shape)
        yield both_ways(torch, 'GroupNorm', nn.GroupNorm(f'c={c}', 4, over='h w'), lambda t: t.GroupNorm(4, c), shape)
        yield both_ways(torch, 'Conv2d', nn.Conv2d(f'c={c}', 'f=32', 3, padding=1),
                        lambda t: t.Conv2d(c, 32, 3, padding=1), shape)
        yield both_ways(torch, 'MaxPool2d', nn.MaxPool2d(2), lambda t: t.MaxPool2d(2), shape)
    yield both_ways(torch, 'small CNN', network(1), lambda t: networks(torch, 1), (64, 28, 28, 1))
