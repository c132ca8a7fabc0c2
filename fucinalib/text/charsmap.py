"""The normalisation table in a SentencePiece model: texts and what they become, in a double array of bytes.

A unit of the array is 32 bits: a label, an offset to the units of what may follow, and whether a text ends. All rules
are read once into a dict; tables of the characters that can begin one say where to look."""
import re
import numpy as np
import regex
from ..errors import FileError, fault
from .pieces import code_points

BYTES = [bytes([b]) for b in range(256)]
LONGEST, MOST = 64, 1 << 20      # bytes of a rule, rules: more than any table has


PLAIN = re.compile(r'[ -~]?[^ -~]+')      # where more than plain ASCII stands, and what it may combine with


class Charsmap:
    "Text -> text with the longest rule applied at each place. False if there are none."
    def __init__(self, blob):
        self.rules = read_rules(bytes(blob or b''))
        self.longest = max(map(len, self.rules), default=0)
        many = [k for k in self.rules if len(k) > 1]
        self.alone = table_of(k for k in self.rules if len(k) == 1)
        self.first, self.inner = table_of(k[0] for k in many), table_of(c for k in many for c in k[1:])
        self.changes_ascii = bool(self.alone[32:127].any())

    def __bool__(self): return bool(self.rules)

    def places(self, text):
        "Where a rule may begin."
        codes = code_points(text)
        found = self.alone[codes]
        found[:-1] |= self.first[codes[:-1]] & self.inner[codes[1:]]
        return np.flatnonzero(found).tolist()

    def __call__(self, text):
        found, end = [], 0
        for i in self.places(text) if self.rules else ():
            sizes = range(min(self.longest, len(text) - i), 0, -1)
            n = next((n for n in sizes if text[i:i + n] in self.rules), 0) if i >= end else 0
            if not n: continue
            found += text[end:i], self.rules[text[i:i + n]]
            end = i + n
        return ''.join(found) + text[end:]

    def by_cluster(self, text):
        "As the library `tokenizers` applies it: to what a reader takes for one character, by the shortest rule."
        if not self.rules or not self.places(text): return text
        change = lambda m: regex.sub(r'\X', lambda m: self.cluster(m[0]), m[0])
        return change(re.match('(?s).*', text)) if self.changes_ascii else PLAIN.sub(change, text)

    def cluster(self, text):
        if len(text.encode()) < 6 and (found := self.shortest(text)) is not None: return found
        return ''.join(c if (found := self.shortest(c)) is None else found for c in text)

    def shortest(self, text):
        return next((self.rules[text[:n]] for n in range(1, len(text) + 1) if text[:n] in self.rules), None)


def table_of(chars):
    "Whether a character is among these, by its number."
    table = np.zeros(0x110000, bool)
    table[[ord(c) for c in set(chars)]] = True
    return table


def read_rules(blob):
    "Text -> what it becomes."
    if not blob: return {}
    wrong = lambda why: fault(FileError, f'precompiled_charsmap: {why}', help='the file is damaged: fetch it again')
    size = int.from_bytes(blob[:4], 'little')
    if size % 4 or not 4 <= size <= len(blob) - 4: raise wrong(f'a table of {size} bytes in {len(blob)}')
    units, texts = np.frombuffer(blob, '<u4', size // 4, 4).astype('i8'), blob[4 + size:]
    labels, offset = units & 0x800000ff, (units >> 10) << ((units & 512) >> 6)
    base = np.where((labels > 0) & (labels < 256), np.arange(len(units)) ^ labels, -1)     # where siblings begin
    order = np.argsort(base, kind='stable')
    base, at, keys, rules = base[order], np.array([offset[0]]), [b''], {}
    for _ in range(LONGEST):
        first, last = np.searchsorted(base, at), np.searchsorted(base, at, side='right')
        many = last - first
        if not many.sum(): return rules
        to = order[np.repeat(first - np.cumsum(many) + many, many) + np.arange(many.sum())]
        keys = [keys[i] + BYTES[c] for i, c in zip(np.repeat(np.arange(len(at)), many).tolist(), labels[to].tolist())]
        at = to ^ offset[to]
        if len(rules) + len(keys) > MOST: break
        ends = np.flatnonzero(units[to] & 256)
        if len(ends) and at[ends].max() >= len(units): raise wrong('a rule points beyond it')
        for i, start in zip(ends.tolist(), (units[at[ends]] & 0x7fffffff).tolist()):
            try: rules[keys[i].decode()] = texts[start:texts.index(b'\0', start)].decode()
            except ValueError: raise wrong('a rule has no text') from None
    raise wrong('its rules have no end')
