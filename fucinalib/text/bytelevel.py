"""Readers of byte-level BPE: tokenizer.json, .tiktoken, the metadata of GGUF files of the kind `gpt2`.

Each gives the parts of a `Tokenizer`. A part that is not known is refused by name, since leaving it out would give
other tokens without a word."""
import base64, binascii, json, unicodedata
from itertools import chain
from numbers import Integral
from pathlib import Path
import numpy as np
from ..errors import FileError, brief, did_you_mean, fault
from .bpe import BPE, from_letters, to_letters
from .splits import KNOWN, PRE, Splitter, pre_tokenizer, refused

__all__ = ['read_json', 'read_tiktoken', 'of_gguf', 'json_of', 'added_of', 'normal_of', 'beside', 'ends_of',
           'is_marker', 'Forms', 'to_json', 'check_numbers', 'check_ends', 'check_gguf']

FORMS = 'NFC NFD NFKC NFKD'.split()
SAVED = 'a tokenizer.json is the file that `tokenizers` saves'
MOST = 1 << 21      # tokens: eight times the largest vocabulary there is


def json_of(path):
    "The object in a JSON file."
    try: said = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError):
        raise fault(FileError, f'{Path(path).name} is no JSON', help=SAVED) from None
    except OSError as e: raise fault(FileError, f'{path}: {e.strerror}', help='name a file that is there') from None
    if not isinstance(said, dict) or not isinstance(said.get('model'), dict):
        raise fault(FileError, f'{Path(path).name} has no model', help=SAVED)
    return said


def check_numbers(named):
    "Each (token, number) has a number of its own, and none is so large that it takes all memory."
    say, seen = 'the vocabulary is damaged: fetch it again', {}
    for token, i in named:
        if type(i) is not int or not 0 <= i < MOST:
            raise fault(FileError, f'{brief(i)} is the number of the token {brief(token)}', help=say)
        if (other := seen.setdefault(i, token)) != token:
            raise fault(FileError, f'the tokens {brief(other)} and {brief(token)} have one number, {i}', help=say)


def check_ends(parts):
    "The ends of a text and the unknown are tokens that are there; gives the parts."
    count = len(parts['tokens'])
    for name, i in dict(bos=parts.get('bos'), eos=parts.get('eos'), unknown=parts['model'].unknown).items():
        if i is not None and (not isinstance(i, Integral) or isinstance(i, bool) or not 0 <= i < count):
            raise fault(FileError, f'the token {name} is number {brief(i)} of {count}',
                        help='the file is damaged, or put together from two')
    return parts


def read_json(path):
    "The parts in a tokenizer.json, with what tokenizer_config.json beside it says of the ends of a text."
    said = json_of(path)
    return of_json(said) | ends_of(said, beside(path))


def of_json(said):
    "The parts that a tokenizer.json says."
    model = said['model']
    kind = model.get('type') or ('BPE' if 'merges' in model else None)
    if kind != 'BPE': raise refused(f'a model of the type {kind!r}', ['BPE'])
    for name in 'continuing_subword_prefix end_of_word_suffix dropout byte_fallback'.split():
        if model.get(name): raise refused(f'{name}={model[name]!r} of a model')
    decoder = said.get('decoder') or {'type': 'ByteLevel'}
    if (kind := decoder.get('type')) != 'ByteLevel': raise refused(f'a decoder of the type {kind!r}', ['ByteLevel'])
    split, is_bytes = pre_tokenizer(said.get('pre_tokenizer'))
    if not is_bytes: raise refused('a pre_tokenizer without ByteLevel')
    added = added_of(said)
    vocab = model['vocab']
    check_numbers(chain(vocab.items(), (a[:2] for a in added)))
    tokens = [b''] * (1 + max(chain(vocab.values(), (a[1] for a in added)), default=-1))
    own = {a[1] for a in added}
    for token, i in vocab.items(): tokens[i] = b'' if i in own else from_letters(token)
    pairs = [m.split(' ') if isinstance(m, str) else m for m in model['merges']]
    unknown = vocab.get(model.get('unk_token'))
    if unknown in own: unknown = None       # text makes no special token
    bpe = BPE(tokens, merges_of(pairs, vocab), bool(model.get('ignore_merges')), unknown)
    for a in added: tokens[a[1]] = a[0].encode()
    return dict(model=bpe, tokens=tokens, added=added, split=split, normal=normal_of(said.get('normalizer')))


def merges_of(pairs, vocab):
    "Pairs of tokens as written -> (id, id, id of what they become)."
    for pair in pairs:
        try: a, b = pair
        except ValueError:
            raise fault(FileError, f'{brief(pair)} is no merge', help="a merge is 'a b' or ['a', 'b']") from None
        if a not in vocab or b not in vocab or a + b not in vocab:
            raise fault(FileError, f'the merge of {brief(a)} and {brief(b)} has a token that is not in the vocabulary',
                        help='the file is damaged, or put together from two')
        yield vocab[a], vocab[b], vocab[a + b]


def is_marker(text):
    "Whether a token that is not called special is a mark all the same, which user text must not forge: </tool_call>."
    text = text.strip()
    return len(text) > 2 and text[0] + text[-1] in ('<>', '[]')


def added_of(said):
    "The added tokens of a tokenizer.json, as `Added` takes them."
    for t in said.get('added_tokens') or ():
        if t.get('single_word'): raise refused(f"single_word of the token {t['content']!r}")
    return [(t['content'], t['id'], t.get('special') or is_marker(t['content']), bool(t.get('special')),
             bool(t.get('lstrip')), bool(t.get('rstrip')), not t.get('normalized'))
            for t in said.get('added_tokens') or () if t['content']]


class Forms:
    "Brings text into forms of Unicode, one after the other; `Tokenizer` says whether it begins the whole text."
    def __init__(self, names, said=None): self.names, self.said = names, said

    def __call__(self, text, first):
        for name in self.names: text = unicodedata.normalize(name, text)
        return text


def normal_of(said):
    "The normaliser of a tokenizer.json; None if there is none."
    if said is None: return None
    steps = said['normalizers'] if said['type'] == 'Sequence' else [said]
    for step in steps:
        if step['type'] not in FORMS: raise refused(f"a normalizer of the type {step['type']!r}", FORMS)
    return Forms([step['type'] for step in steps], said) if steps else None


def beside(path):
    "What tokenizer_config.json in the same folder says."
    try: return json.loads((Path(path).parent/'tokenizer_config.json').read_bytes())
    except (OSError, ValueError): return {}


def ends_of(said, config):
    "bos, eos and whether they are added, from both files."
    ids = {t['content']: t['id'] for t in said.get('added_tokens') or ()}
    vocab = said['model'].get('vocab')
    if isinstance(vocab, dict): ids = vocab | ids
    text = lambda name: v.get('content') if isinstance(v := config.get(name), dict) else v
    bos, eos = ids.get(text('bos_token')), ids.get(text('eos_token'))
    first, last = template_of(said.get('post_processor'), ids)
    return dict(bos=first if bos is None else bos, eos=last if eos is None else eos,
                add_bos=bool(config.get('add_bos_token', first is not None)),
                add_eos=bool(config.get('add_eos_token', last is not None)))


def template_of(said, ids):
    "The special tokens that a post-processor puts before and after a text."
    kind = (said or {}).get('type')
    if kind == 'Sequence':
        found = [template_of(p, ids) for p in said['processors']]
        return tuple(next((f[i] for f in found if f[i] is not None), None) for i in (0, 1))
    if kind in ('BertProcessing', 'RobertaProcessing'): return said['cls'][1], said['sep'][1]
    if kind not in (None, 'ByteLevel', 'TemplateProcessing'): raise refused(f'a post_processor of the type {kind!r}')
    if kind != 'TemplateProcessing': return None, None
    row = [next(iter(piece.items())) for piece in said['single']]
    at = next((i for i, (what, _) in enumerate(row) if what == 'Sequence'), len(row))
    one = lambda part: next((ids.get(said_['id']) for what, said_ in part if what == 'SpecialToken'), None)
    return one(row[:at]), one(row[at + 1:])


# ---- tiktoken
def read_tiktoken(path):
    "The parts of a .tiktoken file, which has ranks alone: cuts and special tokens go by its name."
    try: rows = [line.split() for line in path.read_bytes().splitlines() if line]
    except OSError as e: raise fault(FileError, f'{path}: {e.strerror}', help='name a file that is there') from None
    try: rows = [(base64.b64decode(token, validate=True), int(rank)) for token, rank in rows]
    except (ValueError, binascii.Error):
        raise fault(FileError, f'{path.name} is no .tiktoken file',
                    help='each of its lines is a token in base64 and a rank') from None
    name = next((n for n in KNOWN if n in path.stem), None)
    if name is None:
        raise fault(FileError, f'how {path.stem!r} cuts text is not known',
                    help=f'the file does not say it; known by name: {" ".join(KNOWN)}')
    patterns, special = KNOWN[name]
    check_numbers(chain(rows, ((text.encode(), i) for text, i in special.items())))
    ranks = dict(rows)
    if len(ranks) < len(rows):
        raise fault(FileError, f'{path.name} has a token twice', help='the vocabulary is damaged: fetch it again')
    return of_ranks(ranks, patterns, special)


def of_ranks(ranks, patterns, special):
    "The parts of a vocabulary that merges whatever two tokens make a third, the lowest first."
    tokens = [b''] * (1 + max(chain(ranks.values(), special.values())))
    for token, i in ranks.items(): tokens[i] = token
    model = BPE(tokens, merges_of_ranks(ranks), whole=True, by_id=True)
    for text, i in special.items(): tokens[i] = text.encode()
    return dict(model=model, tokens=tokens, added=list(special.items()), split=Splitter.of(patterns),
                eos=special.get('<|endoftext|>'))


def merges_of_ranks(ranks):
    "Every pair of tokens that makes a token, by the rank of what it makes."
    get = ranks.get
    for token, new in sorted(ranks.items(), key=lambda r: r[1]):
        for i in range(1, len(token)):
            a, b = get(token[:i]), get(token[i:])
            if a is not None and b is not None: yield a, b, new


# ---- GGUF
KINDS = dict(normal=1, unknown=2, control=3, user=4, unused=5, byte=6)


def check_gguf(said, *names):
    "The lists of a vocabulary are there and of one length; merges have their own."
    sizes = {name: 0 if (v := said.get(name)) is None else len(v) for name in ('tokens', 'token_type', *names)}
    count = sizes['tokens']
    if said.get('token_type') is None: del sizes['token_type']
    if 'merges' in names and said.get('merges') is not None: del sizes['merges']
    wrong = next((name for name, n in sizes.items() if n != count or not count or name == 'merges'), None)
    if wrong: raise fault(FileError, f'tokenizer.ggml.{wrong} has {sizes[wrong]} entries for {count} tokens',
                          help='the file is damaged, or its vocabulary was left out when it was written')


def of_gguf(metadata):
    "The parts of a vocabulary of the kind `gpt2`."
    said = {name.removeprefix('tokenizer.ggml.'): v for name, v in metadata.items()}
    pre = said.get('pre')
    if pre not in PRE:
        head = f'tokenizer.ggml.pre {pre!r} is not known' if pre else 'the file does not say how it cuts text'
        say = "fl.text.from_gguf({**metadata, 'tokenizer.ggml.pre': 'gpt-2'}) cuts as GPT-2 does"
        raise fault(FileError, head, help=f'{did_you_mean(pre, PRE, "known")}; {say}')
    check_gguf(said, 'merges')
    patterns, whole = PRE[pre]
    written = list(said['tokens'])
    kinds = [1] * len(written) if said.get('token_type') is None else np.asarray(said['token_type']).tolist()
    while kinds and kinds[-1] == KINDS['unused']: kinds.pop()      # rows that fill a table up to a round number
    written = written[:len(kinds)]
    vocab = {t: i for i, t in reversed([*enumerate(written)])}
    tokens = [from_letters(t) if k not in (KINDS['control'], KINDS['user']) else b'' for t, k in zip(written, kinds)]
    pairs = (split_merge(m) for m in said['merges'])
    unknown = said.get('unknown_token_id')
    control = {i for i, k in enumerate(kinds) if k == KINDS['control']}
    if unknown in control: unknown = None     # text makes no special token
    model = BPE(tokens, merges_of(pairs, vocab), whole, unknown)
    added = [(t, i, k == KINDS['control'] or is_marker(t), k == KINDS['control'])
             for i, (t, k) in enumerate(zip(written, kinds)) if k in (KINDS['control'], KINDS['user'])]
    for text, i, *_ in added: tokens[i] = text.encode()
    ends = ends_of_gguf(said)
    if 'add_bos_token' not in said: ends['add_bos'] = pre in BEGUN
    return dict(model=model, tokens=tokens, added=added, split=Splitter.of(patterns), **ends)


# tokenizer.ggml.pre of models that want a token before a text where their file does not say, as in llama.cpp
BEGUN = set('llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano tekken'.split())


def ends_of_gguf(said):
    "bos, eos and whether they are added, from a GGUF file."
    return dict(bos=said.get('bos_token_id'), eos=said.get('eos_token_id'), add_bos=bool(said.get('add_bos_token')),
                add_eos=bool(said.get('add_eos_token')))


def split_merge(text):
    "The two tokens of a merge as GGUF writes it; the first may begin with a blank."
    at = text.find(' ', 1)
    return [text[:at], text[at + 1:]] if at > 0 else [text]


# ---- writing
def to_json(tok):
    "What `tokenizers` and this library read: a tokenizer of byte-level BPE as the text of a tokenizer.json."
    model, own = tok.model, {a.id for a in tok.added}
    if not isinstance(model, BPE):
        raise fault(FileError, f'a {type(model).__name__} is not written',
                    help='byte-level BPE is: fl.text.Tokenizer.train(texts, 1000)')
    letters = [None if i in own else to_letters(t) for i, t in enumerate(tok.tokens)]
    order, pairs = model.rank.argsort(kind='stable').tolist(), model.pairs.tolist()
    merges = [[letters[pairs[i] >> 32], letters[pairs[i] & 0xffffffff]] for i in order]
    steps = [s for s in (tok.split.said if tok.split else []) if s['type'] != 'ByteLevel']
    last = next((s for s in (tok.split.said if tok.split else []) if s['type'] == 'ByteLevel'), None)
    steps.append(last or dict(type='ByteLevel', add_prefix_space=False, trim_offsets=False, use_regex=False))
    added = [dict(id=a.id, content=a.text, single_word=False, lstrip=a.left, rstrip=a.right, normalized=not a.raw,
                  special=a.control) for a in sorted(tok.added, key=lambda a: a.id)]
    vocab = {t: i for i, t in enumerate(letters) if t} | {a.text: a.id for a in tok.added}
    said = dict(version='1.0', truncation=None, padding=None, added_tokens=added,
                normalizer=getattr(tok.normal, 'said', None),
                pre_tokenizer=dict(type='Sequence', pretokenizers=steps), post_processor=None,
                decoder=dict(type='ByteLevel', add_prefix_space=True, trim_offsets=True, use_regex=True),
                model=dict(type='BPE', dropout=None, unk_token=None, continuing_subword_prefix=None,
                           end_of_word_suffix=None, fuse_unk=False, byte_fallback=False, ignore_merges=model.whole,
                           vocab=vocab, merges=merges))
    return json.dumps(said, ensure_ascii=False, indent=1)
