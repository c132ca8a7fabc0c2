"""The parts of a tokenizer.json round the model: normalisers, pre-tokenizers and decoders of vocabularies of pieces.

Each kind is a row of a table, name -> function of what the file says. A name without a row is refused."""
import re, unicodedata
import regex
from ..errors import FileError, fault
from .bytelevel import FORMS, refused

SPACE = '▁'
BLANKS = '\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000'       # White_Space of Unicode
BYTE = re.compile(r'<0x([0-9A-Fa-f]{2})>')


def known_options(said, *known):
    "What an entry says; FileError for what changes its meaning and is not known."
    for name in set(said) - {'type', *known}:
        raise refused(f"{name}={said[name]!r} of {said['type']}", known)
    return said


# ---- normalisers: what the file says -> (text, whether it begins the whole text) -> text
def normaliser_of(said):
    "The function that a normaliser is; None if there is none."
    if said is None: return None
    if said['type'] == 'Sequence':
        steps = [step for step in map(normaliser_of, said['normalizers']) if step]
        return one_after_another(steps) if steps else None
    if said['type'] not in NORMAL: raise refused(f"a normalizer of the type {said['type']!r}", NORMAL)
    return NORMAL[said['type']](said)


def one_after_another(steps):
    def normal(text, first):
        for step in steps: text = step(text, first)
        return text
    return normal


def form(said): return lambda text, first: unicodedata.normalize(said['type'], text)

def lowered(text):
    "Lower case character by character: the sigma at the end of a word is not another one."
    return ''.join(c.lower() for c in text) if 'Σ' in text else text.lower()

def lower(said): return lambda text, first: lowered(text)

def strip_accents(said):
    return lambda text, first: ''.join(c for c in text if unicodedata.category(c)[0] != 'M')

def prepend(said): return lambda text, first: text and known_options(said, 'prepend')['prepend'] + text

def strip(said):
    ways = [f'^[{BLANKS}]+'] * bool(said.get('strip_left')) + [f'[{BLANKS}]+\\Z'] * bool(said.get('strip_right'))
    pattern = re.compile('|'.join(ways) or '(?!)')
    return lambda text, first: pattern.sub('', text)

def replace(said):
    pattern, content = pattern_of(said), known_options(said, 'pattern', 'content')['content']
    if 'String' in said['pattern']: return lambda text, first: text.replace(said['pattern']['String'], content)
    return lambda text, first: pattern.sub(lambda m: content, text)

def precompiled(said):
    import base64
    from .charsmap import Charsmap
    rules = Charsmap(base64.b64decode(said['precompiled_charsmap'] or b''))
    return lambda text, first: rules.by_cluster(text)

def pattern_of(said):
    "The compiled pattern of an entry: a text as it stands, or an expression."
    (kind, text), = said['pattern'].items()
    if kind not in ('String', 'Regex'): raise refused(f'a pattern of the kind {kind!r}', ['String', 'Regex'])
    try: return regex.compile(regex.escape(text) if kind == 'String' else text)
    except regex.error as e:
        raise fault(FileError, f'the pattern {text!r} is none: {e}', help='the file is damaged') from None


class BertTable(dict):
    "Character -> what it becomes, found when it is first met."
    def __init__(self, clean, chinese, accents, small):
        self.clean, self.chinese, self.accents, self.small = clean, chinese, accents, small

    def __missing__(self, code):
        c = chr(code)
        self[code] = self.found(c)
        return self[code]

    def found(self, c):
        if self.clean:
            if c not in '\t\n\r' and (c == '\ufffd' or unicodedata.category(c) in ('Cc', 'Cf', 'Co')): return ''
            if re.match(f'[{BLANKS}]', c): return ' '
        if self.accents: c = ''.join(x for x in unicodedata.normalize('NFD', c) if unicodedata.category(x) != 'Mn')
        if self.small: c = lowered(c)
        return f' {c} ' if self.chinese and is_han(c) else c


def is_han(c):
    return len(c) == 1 and any(a <= ord(c) <= b for a, b in (
        (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
        (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)))

def bert(said):
    known_options(said, 'clean_text', 'handle_chinese_chars', 'strip_accents', 'lowercase')
    small = said.get('lowercase', True)
    accents = small if said.get('strip_accents') is None else said['strip_accents']
    table = BertTable(said.get('clean_text', True), said.get('handle_chinese_chars', True), accents, small)
    return lambda text, first: text.translate(table)

NORMAL = dict(dict.fromkeys(FORMS, form), Lowercase=lower, StripAccents=strip_accents, Prepend=prepend, Strip=strip,
              Replace=replace, Precompiled=precompiled, BertNormalizer=bert)


# ---- pre-tokenizers: what the file says -> text -> pieces
def split_of(said):
    "(text -> pieces, a normaliser or None) of a pre-tokenizer; (None, None) if there is none."
    if said is None: return None, None
    parts = said['pretokenizers'] if said['type'] == 'Sequence' else [said]
    for part in parts:
        if part['type'] not in SPLIT: raise refused(f"a pre_tokenizer of the type {part['type']!r}", SPLIT)
    begin, steps = None, []
    for n, part in enumerate(parts):
        if part['type'] == 'Metaspace' and scheme_of(part) == 'first':
            if n: raise refused("prepend_scheme 'first' after another cut", help="prepend_scheme 'always' or 'never'")
            begin = lambda text, first: SPACE + text if first and text[:1] not in ('', ' ', SPACE) else text
        steps.append(SPLIT[part['type']](part))
    def split(text):
        pieces = [text]
        for step in steps: pieces = [p for piece in pieces for p in step(piece)]
        return pieces
    return (steps[0] if len(steps) == 1 else split), begin


def scheme_of(said):
    return said.get('prepend_scheme') or ('always' if said.get('add_prefix_space', True) else 'never')

def metaspace(said):
    known_options(said, 'replacement', 'prepend_scheme', 'add_prefix_space', 'split', 'str_rep')
    mark, scheme = said.get('replacement', SPACE), scheme_of(said)
    if mark != SPACE: raise refused(f'the mark {mark!r} of Metaspace', help=f'it is {SPACE}')
    find = re.compile(f'{SPACE}[^{SPACE}]*|[^{SPACE}]+').findall
    def split(text):
        text = text.replace(' ', SPACE)
        if scheme == 'always' and not text.startswith(SPACE): text = SPACE + text
        return find(text) if said.get('split', True) else [text]
    return split

@lambda make: lambda said, found=[]: found[0] if found else found.append(make()) or found[0]
def bert_split():
    "Words and single marks; blanks are left out."
    marks = ''.join(re.escape(c) for c in map(chr, range(0x110000))
                    if unicodedata.category(c)[0] == 'P' or c in '$+<=>^`|~')
    return re.compile(f'[^{BLANKS}{marks}]+|[{marks}]').findall

def words(said): return re.compile(f'[^{BLANKS}]+').findall

def words_and_marks(said): return regex.compile(r'\w+|[^\w\s]+').findall

def cut(said):
    "The five ways of Split."
    pattern, how = pattern_of(said), known_options(said, 'pattern', 'behavior', 'invert')['behavior']
    if how not in CUTS: raise refused(f'a Split with {how}', CUTS)
    if said.get('invert'): raise refused('an inverted Split', help='write its pattern the other way round')
    def split(text):
        spans, end = [], 0
        for m in pattern.finditer(text):
            if m.end() == m.start(): continue
            if m.start() > end: spans.append((text[end:m.start()], False))
            spans.append((m[0], True))
            end = m.end()
        if end < len(text): spans.append((text[end:], False))
        return CUTS[how](spans)
    return split

def with_previous(spans):
    found, was = [], True
    for text, hit in spans:
        if hit and not was: found[-1] += text
        else: found.append(text)
        was = hit
    return found

def with_next(spans): return [p[::-1] for p in with_previous([(t[::-1], hit) for t, hit in spans[::-1]])][::-1]

CUTS = dict(Isolated=lambda spans: [t for t, _ in spans], Removed=lambda spans: [t for t, hit in spans if not hit],
            MergedWithPrevious=with_previous, MergedWithNext=with_next)

def digit_cuts(said):
    pattern = r'\p{N}' + '+' * (not said.get('individual_digits'))
    return cut(dict(type='Split', pattern=dict(Regex=pattern), behavior='Isolated'))

SPLIT = dict(Metaspace=metaspace, BertPreTokenizer=bert_split, WhitespaceSplit=words, Whitespace=words_and_marks,
             Split=cut, Digits=digit_cuts)
DECODERS = 'Metaspace Replace ByteFallback Fuse Strip WordPiece'.split()


# ---- decoders: what each piece stands for, and what is taken away in front
def decoder_of(said, pieces):
    "(bytes of each piece, what decoding takes away from the beginning of a text)."
    if said is None: return [f' {p}'.encode() for p in pieces], b' '
    parts = said['decoders'] if said['type'] == 'Sequence' else [said]
    texts, bytes_too, front = list(pieces), False, b''
    for part in parts:
        kind = part['type']
        if kind == 'Metaspace':
            texts, front = [t.replace(SPACE, ' ') for t in texts], b' ' * (scheme_of(part) != 'never')
        elif kind == 'Replace' and 'String' in part['pattern']:
            texts = [t.replace(part['pattern']['String'], part['content']) for t in texts]
        elif kind == 'ByteFallback': bytes_too = True
        elif kind == 'WordPiece': texts, front = words_apart(part, texts), b' '
        elif kind == 'Strip' and not part.get('stop') and part.get('start', 0) < 9:
            front = part['content'].encode() * part.get('start', 0)
        elif kind != 'Fuse': raise refused(f'a decoder of the type {kind!r}', DECODERS)
    return [bytes.fromhex(m[1]) if bytes_too and (m := BYTE.fullmatch(p)) else t.encode('utf-8', 'replace')
            for p, t in zip(pieces, texts)], front


def words_apart(said, texts):
    "A blank before what begins a word; with `cleanup` none before a mark of a sentence."
    mark, clean = said.get('prefix', '##'), said.get('cleanup', True)
    close = set(". ? ! , n't 'm 's 've 're".split()) if clean else ()
    return [t.removeprefix(mark) if t.startswith(mark) else t if t in close else f' {t}' for t in texts]
