"""A model for tests that keeps the contract of `fl.llm.load` and takes no time: it says what it is told to."""
from types import SimpleNamespace
import numpy as np
import fucinalib as fl

CHATML = """{% for m in messages %}{% if loop.first and m.role != 'system' %}<|im_start|>system
You are a test.<|im_end|>
{% endif %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
SPECIAL = ['<|endoftext|>', '<|im_start|>', '<|im_end|>', '<s>', '</s>', '[INST]', '[/INST]', '<start_of_turn>',
           '<end_of_turn>']


class Bytes:
    "A tokenizer of bytes, with special tokens behind them."
    def __init__(self, special=SPECIAL):
        self.special = {t: 256 + i for i, t in enumerate(special)}
        self.pieces = [bytes([i]) for i in range(256)] + [t.encode() for t in special]
        self.bos, self.eos, self.add_bos = None, self.special.get('<|endoftext|>'), False

    def __len__(self): return len(self.pieces)
    def id(self, text): return self.special[text]
    def piece(self, id): return self.pieces[id].decode('utf-8', 'backslashreplace')
    def bytes(self, ids): return b''.join(self.pieces[i] for i in ids)

    def encode(self, text, special=False):
        import re
        pattern = '(' + '|'.join(map(re.escape, self.special)) + ')' if special else '(?!)'
        parts = re.split(pattern, text) if special else [text]
        return [i for p in parts for i in ([self.special[p]] if special and p in self.special else p.encode())]

    def decode(self, ids, special=False):
        return self.bytes([i for i in ids if special or i < 256]).decode('utf-8', 'replace')

    def stream(self):
        import codecs
        made = codecs.getincrementaldecoder('utf-8')('replace')
        return SimpleNamespace(push=lambda i: made.decode(self.bytes([i] if i < 256 else [])),
                               end=lambda: made.decode(b'', True))


class Cache:
    nbytes = 0
    def __init__(self): self.ids = []
    def __len__(self): return len(self.ids)
    def truncate(self, n): del self.ids[n:]


class Speaker:
    "Says `answers` one after the other, whatever it is asked; counts in `read` how many tokens each call reads."
    def __init__(self, answers=('Paris.',), template=CHATML, context=4096, end='<|im_end|>', tokenizer=None):
        self.tokenizer, self.template = tokenizer or Bytes(), template
        self.config = SimpleNamespace(context=context, family='speaker')
        self.answers, self.end, self.read, self.at = [a.encode() for a in answers], end, [], None

    def cache(self, capacity=None, dtype='f32'): return Cache()

    def __call__(self, ids, cache=None, last=False):
        ids = list(map(int, ids))
        self.read.append(len(ids))
        if cache is not None: cache.ids += ids
        if len(ids) > 1 or self.at is None or self.read[-2:-1] == [512]:      # a prompt, or a later part of one
            if self.read[-2:-1] != [512]:
                self.words = [*(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]),
                              self.tokenizer.special[self.end]]
            self.at = 0
        row = np.full(len(self.tokenizer), -9., 'f4')
        row[self.words[min(self.at, len(self.words) - 1)]] = 9
        self.at += 1
        return fl.Tensor(row, 'vocab') if last else fl.Tensor(row[None], 'seq vocab')


class Reciter(Speaker):
    "Says the same to everybody, many at once: where it is in its text is seen from what was read."
    def __init__(self, said='Paris.', seconds=0., **more):
        super().__init__([said], **more)
        self.said, self.seconds, self.calls = [*said.encode(), self.tokenizer.special[self.end]], seconds, 0

    def __call__(self, ids, cache=None, last=False):
        import time
        time.sleep(self.seconds)
        self.calls += 1
        cache.ids += list(map(int, ids))
        begin = self.tokenizer.special['<|im_start|>']
        at = len(cache.ids) - 1 - cache.ids[::-1].index(begin) if begin in cache.ids else -1 - len('assistant\n')
        row = np.full(len(self.tokenizer), -9., 'f4')
        row[self.said[min(max(len(cache.ids) - at - 1 - len('assistant\n'), 0), len(self.said) - 1)]] = 9
        return fl.Tensor(row, 'vocab') if last else fl.Tensor(np.tile(row, (len(ids), 1)), 'seq vocab')
