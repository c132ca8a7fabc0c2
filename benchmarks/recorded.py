"""Training steps, as they are and recorded, beside torch's: forward, backward, AdamW (torch's is its fused one)."""
import gc, tracemalloc
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


TEXT = 65, 32, 64, 4, 2         # letters, length, width, heads, blocks of the GPT

def steps(torch):
    "(name, size, ours, inputs as arrays, their axes, classes, torch's, whether gradients are clipped) of four models."
    rng, t = np.random.default_rng(0), torch and torch.nn
    whole = lambda high, *shape: rng.integers(0, high, shape)
    text = lambda n: (whole(65, n, 32), whole(65, n, 32))
    return [
        ('MLP', '64x10-256-128-4', mlp, (normal(64, 10), whole(4, 64)), 'row feat', 4, lambda: torch_mlp(t), False),
        ('char-GPT', '4x32 d64 2 layers', lambda: gpt(*TEXT), text(4), 'row seq', 65,
         lambda: torch_gpt(torch, *TEXT), True),
        ('char-LSTM', '16x32 hidden 96', lambda: lstm(65, 32, 96), text(16), 'row seq', 65,
         lambda: torch_lstm(torch, 65, 32, 96), True),
        ('small CNN', '32x28x28 16-32', cnn, (normal(32, 28, 28, 1), whole(10, 32)), 'row h w c', 10,
         lambda: torch_cnn(t), False)]


def inputs(arrays, tags):
    "Inputs and labels, which have the first of the axes."
    return [fl.Tensor(a, t) for a, t in zip(arrays, (tags, ' '.join(tags.split()[:arrays[1].ndim])))]

def torch_inputs(torch, arrays):
    "The same for torch; a picture with its channels in front."
    first, labels = [torch.tensor(a) for a in arrays]
    return (first.permute(0, 3, 1, 2).contiguous() if first.ndim == 4 else first), labels


def compiled(torch, step, args):
    "torch's step by torch.compile; None where that does not work on this machine."
    try:
        fast = torch.compile(step)
        for _ in range(3): fast(*args)
    except Exception: return None
    return lambda: fast(*args)


def cases(torch):
    for name, size, ours, arrays, tags, classes, theirs, clip in steps(torch):
        given = inputs(arrays, tags)
        rival = fast = None
        if torch:
            args = torch_inputs(torch, arrays)
            step, other = [torchs(torch, theirs(), classes, clip) for _ in range(2)]
            rival, fast = lambda f=step, args=args: f(*args), compiled(torch, other, args)
        plain, recorded = trained(ours(), 'class', clip), fl.record(trained(ours(), 'class', clip))
        for _ in range(5): recorded(*given)
        yield Case(f'{name} step', size, lambda f=plain, args=given: f(*args), None, rival)
        yield Case(f'{name} recorded', size, lambda f=recorded, args=given: f(*args), None, rival)
        if fast: yield Case(f'{name} rec. : compile', size, lambda f=recorded, args=given: f(*args), None, fast)


# ---- memory: python -m benchmarks.recorded

def peak_of_ours(f):
    "Bytes that a call takes at most, beyond what is there before it."
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        f()
        return tracemalloc.get_traced_memory()[1] - before
    finally: tracemalloc.stop()


def peak_of_torch(torch, f):
    "The same of torch, from its allocator's own reports."
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as p: f()
    events = [e for e in p.profiler.kineto_results.events() if e.name() == '[memory]']
    now = np.cumsum([e.nbytes() for e in sorted(events, key=lambda e: e.start_ns())])
    return int(now.max(initial=0))


def memory(torch):
    "(name, bytes of our step, recorded, its arena, torch's step) at its peak, beyond weights and optimizer."
    for name, _, ours, arrays, tags, classes, theirs, clip in steps(torch):
        given = inputs(arrays, tags)
        plain, recorded = trained(ours(), 'class', clip), fl.record(trained(ours(), 'class', clip))
        for _ in range(7): plain(*given), recorded(*given)
        own = sum(room.nbytes for room, _ in recorded.plan.rooms.values() if room is not recorded.plan.arena)
        args = torch_inputs(torch, arrays)
        step = torchs(torch, theirs(), classes, clip)
        for _ in range(3): step(*args)
        yield (name, peak_of_ours(lambda: plain(*given)), peak_of_ours(lambda: recorded(*given)),
               recorded.plan.bytes, own, peak_of_torch(torch, lambda: step(*args)))


def main():
    import torch
    line = '{:<12} {:>12} {:>14} {:>12} {:>20} {:>12}'.format
    print(line('bytes', 'eager', 'of a replay', 'arena', 'grads and inputs', 'torch'))
    for name, *numbers in memory(torch): print(line(name, *[f'{n:,}' for n in numbers]))


if __name__ == '__main__': main()
