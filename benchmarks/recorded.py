"""Training steps, as they are and recorded, beside torch's: forward, backward, AdamW (torch's is its fused one)."""
import numpy as np
import fucinalib as fl
from fucinalib import nn, optim
from .harness import Case, normal


def trained(model, tag, clip):
    "One step of ours: a function of inputs and labels."
    opt = optim.AdamW(model, lr=1e-3)
    def step(x, labels):
        opt.zero_grad()
        loss = model(x).cross_entropy(tag, labels)
        loss.backward()
        if clip: optim.clip_grad_norm(model, 1.)
        opt.step()
        return loss
    return step

def torchs(torch, net, classes, clip):
    "The same of torch."
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3, fused=True)
    def step(x, labels):
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x).reshape(-1, classes), labels.reshape(-1))
        loss.backward()
        if clip: torch.nn.utils.clip_grad_norm_(net.parameters(), 1.)
        opt.step()
        return loss
    return step


def mlp():
    return nn.Sequential(nn.Linear('feat=10', 'a=256', seed=0), fl.relu, nn.Linear('a=256', 'b=128', seed=1), fl.relu,
                         nn.Linear('b=128', 'class=4', seed=2))

def torch_mlp(t):
    return t.Sequential(t.Linear(10, 256), t.ReLU(), t.Linear(256, 128), t.ReLU(), t.Linear(128, 4))

def cnn():
    "A small CNN for pictures of digits."
    return nn.Sequential(nn.Conv2d('c=1', 'f=16', 3, padding=1, seed=0), fl.relu, nn.MaxPool2d(2),
                         nn.Conv2d('f=16', 'c=32', 3, padding=1, seed=1), fl.relu, nn.MaxPool2d(2),
                         nn.Linear('h=7 w=7 c=32', 'class=10', seed=2))

def torch_cnn(t):
    return t.Sequential(t.Conv2d(1, 16, 3, padding=1), t.ReLU(), t.MaxPool2d(2),
                        t.Conv2d(16, 32, 3, padding=1), t.ReLU(), t.MaxPool2d(2), t.Flatten(), t.Linear(32 * 49, 10))

def lstm(words, d, hidden):
    "An LSTM over characters."
    class Letters(nn.Module):
        def __init__(self):
            self.word = nn.Embedding(f'word={words}', f'd={d}', seed=1)
            self.rnn = nn.LSTM(f'd={d}', f'hid={hidden}', seed=2)
            self.out = nn.Linear(f'hid={hidden}', f'class={words}', seed=3)
        def forward(self, x): return self.out(self.rnn(self.word(x))[0])
    return Letters()

def torch_lstm(torch, words, d, hidden):
    t = torch.nn
    class Letters(t.Module):
        def __init__(self):
            super().__init__()
            self.word, self.rnn = t.Embedding(words, d), t.LSTM(d, hidden, batch_first=True)
            self.out = t.Linear(hidden, words)
        def forward(self, x): return self.out(self.rnn(self.word(x))[0])
    return Letters()

def gpt(words, time, d, heads, layers):
    "A GPT over characters."
    class GPT(nn.Module):
        def __init__(self):
            self.word, self.place = [nn.Embedding(f'{name}={n}', f'd={d}', seed=n)
                                     for name, n in (('word', words), ('place', time))]
            self.blocks = [nn.TransformerBlock(f'd={d}', heads, f'ff={4 * d}', seed=i) for i in range(layers)]
            self.norm, self.out = nn.LayerNorm(f'd={d}'), nn.Linear(f'd={d}', f'class={words}', seed=9)
            self.at = fl.arange('seq', time)

        def forward(self, x):
            x = self.word(x) + self.place(self.at)
            for block in self.blocks: x = block(x)
            return self.out(self.norm(x))
    return GPT()

def torch_gpt(torch, words, time, d, heads, layers):
    t, attend = torch.nn, torch.nn.functional.scaled_dot_product_attention
    class Block(t.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = t.LayerNorm(d), t.LayerNorm(d)
            self.qkv, self.o = t.Linear(d, 3 * d, bias=False), t.Linear(d, d, bias=False)
            self.feed = t.Sequential(t.Linear(d, 4 * d, bias=False), t.GELU(), t.Linear(4 * d, d, bias=False))
        def forward(self, x):
            q, k, v = self.qkv(self.norm1(x)).view(*x.shape[:2], 3, heads, -1).permute(2, 0, 3, 1, 4)
            x = x + self.o(attend(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape))
            return x + self.feed(self.norm2(x))
    class GPT(t.Module):
        def __init__(self):
            super().__init__()
            self.word, self.place = t.Embedding(words, d), t.Embedding(time, d)
            self.blocks = t.Sequential(*[Block() for _ in range(layers)], t.LayerNorm(d), t.Linear(d, words))
        def forward(self, x): return self.blocks(self.word(x) + self.place.weight)
    return GPT()


def cases(torch):
    rng = np.random.default_rng(0)
    whole = lambda high, *shape: rng.integers(0, high, shape)
    rows, labels = normal(64, 10), whole(4, 64)
    text, following = whole(65, 4, 32), whole(65, 4, 32)
    sizes = 65, 32, 64, 4, 2
    for name, size, ours, arrays, tags, theirs, clip in (
        ('MLP', '64x10-256-128-4', mlp, (rows, labels), ('row feat', 'row'), lambda: torch_mlp(torch.nn), False),
        ('char-GPT', '4x32 d64 2 layers', lambda: gpt(*sizes), (text, following), ('row seq', 'row seq'),
         lambda: torch_gpt(torch, *sizes), True)):
        given = [fl.Tensor(a, t) for a, t in zip(arrays, tags)]
        rival = None
        if torch:
            step = torchs(torch, theirs(), 4 if name == 'MLP' else 65, clip)
            rival = lambda step=step, args=[torch.tensor(a) for a in arrays]: step(*args)
        plain, recorded = trained(ours(), 'class', clip), fl.record(trained(ours(), 'class', clip))
        for _ in range(5): recorded(*given)
        yield Case(f'{name} step', size, lambda f=plain, args=given: f(*args), None, rival)
        yield Case(f'{name} recorded', size, lambda f=recorded, args=given: f(*args), None, rival)
