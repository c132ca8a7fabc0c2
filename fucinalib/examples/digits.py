"""Pictures told apart three ways: a dense network, a convolutional one, and the nearest neighbours."""
import time
from pathlib import Path
from tempfile import TemporaryDirectory
import fucinalib as fl
from fucinalib import nn, optim
from ._classify import right, train
from ._settings import settings

SETS = ('digits', 'mnist', 'fashion')


def load(name, n=5000):
    "(training, test) set of pictures; at most n to learn from, and a fifth as many to test on, drawn by chance."
    if name == 'digits': return fl.data.digits().split(.2, seed=0, by='y')
    sides = fl.data.mnist() if name == 'mnist' else fl.data.fashion_mnist()
    return tuple(side.shuffle(0)[:most] for side, most in zip(sides, (n, max(1, n // 5))))


def dense(sizes, seed=0):
    "All pixels at once: -> 128 -> 10."
    pixels = sizes['h'] * sizes['w'] * sizes['c']
    return nn.Sequential(nn.Flatten('h w c', 'pixel'), nn.Linear(f'pixel={pixels}', 'hidden=128', seed=seed), nn.ReLU(),
                         nn.Linear('hidden=128', 'class=10', seed=seed + 1))


def cnn(sizes, seed=0):
    "Windows of 3 by 3, halved twice: 8 channels, 16 channels, -> 10."
    left = (sizes['h'] // 4) * (sizes['w'] // 4) * 16
    return nn.Sequential(nn.Conv2d(f'c={sizes["c"]}', 'c=8', 3, padding=1, relu=True, seed=seed), nn.MaxPool2d(2),
                         nn.Conv2d('c=8', 'c=16', 3, padding=1, relu=True, seed=seed + 1), nn.MaxPool2d(2),
                         nn.Flatten('h w c', 'pixel'), nn.Linear(f'pixel={left}', 'class=10', seed=seed + 2))


def reloaded(model, fresh):
    "`fresh` with the weights of `model`, by way of a file."
    with TemporaryDirectory() as folder:
        path = Path(folder)/'model.safetensors'
        fl.train.save_weights(path, model)
        fl.train.load_weights(path, fresh)
    return fresh


def main(args=None, data='digits'):
    o = settings('digits', __doc__, args, model=(('dense', 'cnn', 'knn'), 'dense', 'what learns'),
                 data=(SETS, data, 'which pictures'), n=(5000, 'pictures to learn from, at most'),
                 epochs=(10, 'rounds over them'), lr=(.003, 'learning rate'), size=(32, 'pictures in a batch'),
                 k=(3, 'neighbours that vote'), seed=(0, 'of weights and order'))
    known, new = load(o.data, o.n)
    print(known)
    start = time.perf_counter()
    if o.model == 'knn':
        model = fl.knn.Classifier(o.k).fit(known.x, known.y)
        found = int((model.predict(new.x).numpy() == new.y.numpy()).sum())
    else:
        make = dense if o.model == 'dense' else cnn
        model = make(known.x.sizes, o.seed)
        print(model)
        train(model, known, optim.Adam(model, lr=o.lr), o.epochs, o.size, o.seed,
              lambda epoch, loss: print(f'epoch {epoch:2}  loss {loss:.4f}'))
        found = right(model, new)
        again = right(reloaded(model, make(known.x.sizes, o.seed + 100)), new)
        print(f'saved and loaded: {again} right, as before' if again == found else f'saved and loaded: {again} right')
        if again != found: raise SystemExit('a model that was loaded answers otherwise')
    share = found / len(new)
    print(f'{o.model}: {found} of {len(new)} pictures it never saw, {share:.1%}; {time.perf_counter() - start:.1f} s')
    return dict(right=found, accuracy=share)
