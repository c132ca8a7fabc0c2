"""A transformer of 106,496 numbers learns the opening of Alice in Wonderland, and then writes it from memory."""
from functools import partial
import fucinalib as fl
from fucinalib import nn
from ._letters import ALICE, Letters, drawn, learn
from ._settings import settings

TEXT = '\n\n'.join(ALICE.split('\n\n')[:5])      # the first five paragraphs: 1660 letters, 43 different


class TinyGPT(nn.Module):
    "Letters as numbers in, a score for each next letter out: embeddings, pre-norm blocks, a norm, a map."
    def __init__(self, letters, width=64, heads=4, blocks=2, length=32, seed=7):
        char, embed = f'char={len(letters)}', f'embed={width}'
        self.letters, self.length = letters, length
        rows = partial(nn.Embedding, init=partial(nn.init.normal, std=.5))
        self.letter = rows(char, embed, seed=nn.derived(seed, 'letter'))
        self.place = rows(f'place={length}', embed, seed=nn.derived(seed, 'place'))
        self.blocks = [nn.TransformerBlock(embed, heads, f'ff={4 * width}', seed=nn.derived(seed, i))
                       for i in range(blocks)]
        self.norm = nn.LayerNorm(embed)
        self.out = nn.Linear(embed, char, bias=False, seed=nn.derived(seed, 'out'))

    def forward(self, ids):
        x = self.letter(ids) + self.place(fl.arange('seq', ids.size('seq')))
        for block in self.blocks: x = block(x)
        return self.out(self.norm(x))

    def write(self, start, n, temperature=.8, seed=8):
        "`start`, and n letters more, each drawn by the scores for what follows the last `length` letters."
        text = list(self.letters.numbers(start))
        with fl.no_grad():
            for i in range(n):
                scores = self(fl.Tensor(text[-self.length:], 'seq')).select(seq=-1)
                text.append(drawn(scores, temperature, seed + i))
        return self.letters.text(text)


def train(model, text=TEXT, steps=1000, size=8, lr=.003, seed=7, say=None):
    "Train with Adam; the loss of each step."
    return learn(model, model, text, steps, size, model.length, lr, seed, say)


def main(args=None):
    o = settings('tinygpt', __doc__, args, model=(64, 'numbers of a letter'), heads=(4, 'of each attention'),
                 blocks=(2, 'one after the other'), size=(8, 'pieces in a batch'), length=(32, 'letters in a piece'),
                 steps=(1000, 'of Adam'), lr=(.003, 'learning rate'), n=(400, 'letters to write'),
                 temperature=(.8, 'the lower, the likelier the best letter'),
                 seed=(7, 'of the first weights, the order and the dice'))
    model = TinyGPT(Letters(TEXT), o.model, o.heads, o.blocks, o.length, o.seed)
    size = sum(p.numel for p in model.parameters())
    print(f'{len(TEXT)} letters, {len(model.letters)} different; {size} parameters')
    losses = train(model, TEXT, o.steps, o.size, o.lr, o.seed,
                   lambda step, loss: print(f'step {step:4}  loss {loss:.4f}'))
    text = model.write(TEXT[:o.length], o.n, o.temperature, o.seed + 1)
    print('\n' + text)
    return dict(loss=losses, text=text)
