"""Fizz for 3, Buzz for 5, FizzBuzz for both: learnt from examples, then counted aloud."""
import numpy as np
import fucinalib as fl
from fucinalib import nn, optim
from ._classify import answers, right, train
from ._settings import settings

WORDS = ('', 'Fizz', 'Buzz', 'FizzBuzz')
BITS = 10


def label(n):
    "The class of a number: 0 the number itself, 1 Fizz, 2 Buzz, 3 FizzBuzz."
    return (n % 3 == 0) + 2 * (n % 5 == 0)


def encode(n):
    "Numbers as 18 inputs each: 10 bits, and which remainder by 3 and by 5."
    n = np.asarray(n)
    parts = n[:, None] >> np.arange(BITS) & 1, n[:, None] % 3 == np.arange(3), n[:, None] % 5 == np.arange(5)
    return fl.Tensor(np.concatenate(parts, 1).astype('f4'), 'batch input')


def network(seed=0):
    "Two layers; scores for the four classes."
    return nn.Sequential(nn.Linear('input=18', 'hidden=16', seed=seed), nn.ReLU(),
                         nn.Linear('hidden=16', 'class=4', seed=seed + 1))


def data(numbers):
    "A data set of these numbers."
    return fl.data.Dataset(encode(numbers), label(np.asarray(numbers)), classes=WORDS)


def say(model, n):
    "What the model counts aloud, from 1 to n."
    return [WORDS[k] or str(i) for i, k in enumerate(answers(model, encode(np.arange(1, n + 1))), 1)]


def main(args=None):
    o = settings('fizzbuzz', __doc__, args, n=(100, 'count so far'), epochs=(40, 'rounds over the numbers 101 to 1023'),
                 lr=(.02, 'learning rate'), size=(32, 'numbers in a batch'), seed=(0, 'of weights and order'))
    model = network(o.seed)
    train(model, data(np.arange(101, 1 << BITS)), optim.Adam(model, lr=o.lr), o.epochs, o.size, o.seed,
          lambda epoch, loss: print(f'epoch {epoch:3}  loss {loss:.4f}'))
    print(' '.join(say(model, o.n)))
    found = right(model, data(np.arange(1, o.n + 1)))
    print(f'{found} of {o.n} right; it never saw a number below 101')
    return dict(right=found, said=say(model, o.n))
