"""Training steps of the two models of letters beside the same models in torch, and sequences by themselves."""
import numpy as np
import fucinalib as fl
from fucinalib import nn, optim
from fucinalib.examples import charlstm, tinygpt
from .harness import Case, normal


def ids(batch, n, seed): return np.random.default_rng(seed).integers(0, n, (batch, 32))


def ours(model, scores, batch, n):
    "A step of Adam on `batch` pieces of 32 letters."
    opt = optim.Adam(model, lr=1e-3)
    x, y = (fl.Tensor(ids(batch, n, seed), 'batch seq') for seed in (0, 1))
    def step():
        scores(x).cross_entropy('char', y).backward()
        opt.step()
        opt.zero_grad()
    return step


def theirs(torch, model, batch, n):
    "The same step in torch."
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = (torch.tensor(ids(batch, n, seed)) for seed in (0, 1))
    def step():
        torch.nn.functional.cross_entropy(model(x).reshape(-1, n), y.reshape(-1)).backward()
        opt.step()
        opt.zero_grad()
    return step


def torch_gpt(torch, n, width=64, heads=4, length=32):
    "The tiny GPT as one writes it in torch."
    layers, f = torch.nn, torch.nn.functional
    class Block(layers.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = layers.LayerNorm(width), layers.LayerNorm(width)
            sizes = (width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)
            self.qkv, self.o, self.up, self.down = (layers.Linear(*s, bias=False) for s in sizes)
        def forward(self, x):
            qkv = self.qkv(self.norm1(x)).chunk(3, -1)
            q, k, v = (a.reshape(len(x), length, heads, -1).transpose(1, 2) for a in qkv)
            y = f.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
            x = x + self.o(y)
            return x + self.down(f.gelu(self.up(self.norm2(x))))
    class GPT(layers.Module):
        def __init__(self):
            super().__init__()
            self.letter, self.place = layers.Embedding(n, width), layers.Embedding(length, width)
            out = layers.Linear(width, n, bias=False)
            self.body = layers.Sequential(Block(), Block(), layers.LayerNorm(width), out)
        def forward(self, x): return self.body(self.letter(x) + self.place.weight)
    return GPT()


def torch_lstm(torch, n, hidden=96):
    "The LSTM of letters in torch."
    class LSTM(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.out = torch.nn.LSTM(n, hidden, batch_first=True), torch.nn.Linear(hidden, n)
        def forward(self, x): return self.out(self.lstm(torch.nn.functional.one_hot(x, n).float())[0])
    return LSTM()


def sequences(torch):
    "Forward and back through 32 entries of 16 rows, 53 to 96."
    a = normal(16, 32, 53)
    for kind in ('LSTM', 'GRU', 'RNN'):
        layer, x = getattr(nn, kind)('read=53', 'hidden=96', over='t', seed=0), fl.Tensor(a, 'batch t read')
        other, b = torch and getattr(torch.nn, kind)(53, 96, batch_first=True), torch and torch.tensor(a)
        def both(layer, x): return lambda: layer(x)[0].sum().backward()
        yield Case(f'{kind}, forward and back', '16x32x53->96', both(layer, x), None, torch and both(other, b))


def cases(torch):
    gpt, lstm = tinygpt.TinyGPT(tinygpt.Letters(tinygpt.TEXT)), charlstm.CharLSTM(charlstm.Letters(charlstm.ALICE))
    yield Case('char-GPT step', '8x32, 106496', ours(gpt, gpt, 8, 43), None,
               torch and theirs(torch, torch_gpt(torch, 43), 8, 43))
    yield Case('char-LSTM step', '16x32, 62741', ours(lstm, lambda x: lstm(x)[0], 16, 53), None,
               torch and theirs(torch, torch_lstm(torch, 53), 16, 53))
    yield from sequences(torch)
