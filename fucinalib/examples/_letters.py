"""What the models of letters share: a text, its letters as numbers, the loop that teaches them, and dice."""
from itertools import chain, count, islice
from pathlib import Path
import numpy as np
import fucinalib as fl
from fucinalib import optim
from fucinalib.errors import OptionError, fault

__all__ = ['ALICE', 'Letters', 'learn', 'drawn']

# the opening of Alice's Adventures in Wonderland by Lewis Carroll (1865), in the public domain
ALICE = Path(__file__).with_name('alice.txt').read_text(encoding='utf-8')


class Letters:
    "The letters of a text, numbered in the order in which they first occur."
    def __init__(self, text):
        self.all = ''.join(dict.fromkeys(text))
        self.number = {c: i for i, c in enumerate(self.all)}

    def __len__(self): return len(self.all)
    def __repr__(self): return f'{len(self)} letters: {self.all!r}'
    def numbers(self, text):
        new = next((c for c in text if c not in self.number), None)
        if new is None: return np.array([self.number[c] for c in text])
        raise fault(OptionError, f'the letter {new!r} is not in the text', help=f'there are {self.all!r}')

    def text(self, numbers): return ''.join(self.all[i] for i in numbers)


def learn(model,      # has `letters`
          scores_of,  # scores over 'char' of the letter after each of 'batch seq'
          text,       # what is learnt
          steps,      # of Adam; the last four tenths at a rate that falls
          size,       # pieces in a batch
          length,     # letters in a piece
          lr,         # learning rate
          seed,       # of the order of the pieces
          say=None,   # called with (step, loss) now and then
         )->list:
    "Train on pieces of the text in random order, guessing each next letter; the loss of each step."
    threads = fl.get_num_threads()
    fl.set_num_threads(1)       # matrices this small gain nothing from a second one
    try: return list(_steps(model, scores_of, text, steps, size, length, lr, seed, say))
    finally: fl.set_num_threads(threads)


def fall(step, total):
    "The factor of the rate: 1 for six tenths of the steps, then in a straight line down to a twentieth."
    return min(1., 1 - .95 * (step / total - .6) / .4)


def _steps(model, scores_of, text, steps, size, length, lr, seed, say):
    "The loss of each step, as it is made."
    opt, ids = optim.Adam(model, lr=lr), model.letters.numbers(text)
    rate = optim.Schedule(opt, fall, total=steps)
    pieces = fl.data.windows(ids, length).batches('batch', size, seed=seed, partial=False)
    for i, (x, y) in enumerate(islice(chain.from_iterable(pieces for _ in count()), steps), 1):
        loss = scores_of(x).cross_entropy('char', y)
        loss.backward()
        optim.clip_grad_norm(opt, 1.)
        opt.step()
        opt.zero_grad()
        rate.step()
        if say and (i == 1 or i % 50 == 0): say(i, loss.item())
        yield loss.item()


def drawn(scores, temperature, seed):
    "One number by scores over 'char'; the lower the temperature, the likelier the best."
    return (scores / temperature).softmax('char').multinomial('char', 'draw', 1, seed=seed).item()
