"""An LSTM reads the opening of Alice in Wonderland letter by letter, and then writes on in its manner."""
import tempfile
from pathlib import Path
import fucinalib as fl
from fucinalib import nn
from ._letters import ALICE, Letters, drawn, learn
from ._settings import settings


class CharLSTM(nn.Module):
    "Letters as numbers in, a score for each next letter out."
    def __init__(self, letters, hidden=96, seed=7):
        n = f'char={len(letters)}'
        self.letters = letters
        self.lstm = nn.LSTM(n, f'hidden={hidden}', seed=seed)
        self.out = nn.Linear(f'hidden={hidden}', n, seed=seed + 1)

    def forward(self, ids, state=None):
        y, state = self.lstm(fl.one_hot(ids, 'char', len(self.letters)), state)
        return self.out(y), state

    def write(self, start, n, temperature=.7, seed=9):
        "`start`, and n letters more, each drawn by the scores that the model gives after all before it."
        text, state = list(self.letters.numbers(start)), None
        new = text
        with fl.no_grad():
            for i in range(n):
                scores, state = self(fl.Tensor(new, 'seq'), state)
                new = [drawn(scores.select(seq=-1), temperature, seed + i)]
                text += new
        return self.letters.text(text)


def train(model, text=ALICE, steps=400, size=16, length=32, lr=.03, seed=7, say=None):
    "Train with Adam; the loss of each step."
    return learn(model, lambda x: model(x)[0], text, steps, size, length, lr, seed, say)


def saved_and_read(model, hidden, seed):
    "A new model, drawn from another seed, with the weights of this one out of a file."
    again = CharLSTM(model.letters, hidden, seed)
    with tempfile.TemporaryDirectory() as d:
        fl.train.save_weights(path := Path(d, 'charlstm.safetensors'), model)
        fl.train.load_weights(path, again)
    return again


def main(args=None):
    o = settings('charlstm', __doc__, args, hidden=(96, 'numbers of state'), steps=(400, 'of Adam'),
                 size=(16, 'pieces in a batch'), length=(32, 'letters in a piece'), lr=(.03, 'learning rate'),
                 n=(400, 'letters to write'), temperature=(.7, 'the lower, the likelier the best letter'),
                 seed=(7, 'of the first weights, the order and the dice'))
    model = CharLSTM(Letters(ALICE), o.hidden, o.seed)
    size = sum(p.numel for p in model.parameters())
    print(f'{len(ALICE)} letters, {len(model.letters)} different; {size} parameters')
    losses = train(model, ALICE, o.steps, o.size, o.length, o.lr, o.seed,
                   lambda step, loss: print(f'step {step:4}  loss {loss:.4f}'))
    text = saved_and_read(model, o.hidden, o.seed + 1).write('Alice ', o.n, o.temperature, o.seed + 2)
    print('\nwritten by a model that was saved and read again:\n' + text)
    return dict(loss=losses, text=text)
