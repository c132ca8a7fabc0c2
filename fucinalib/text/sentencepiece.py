"""SentencePiece's own .model files, and vocabularies of its kinds and of WordPiece in tokenizer.json and GGUF.

Each reader gives the parts of a `Tokenizer`. What is not known is refused by name, since leaving a part out would give
other tokens without a word. A text that special tokens cut in parts has its blank in front, if the model wants one,
before the first part only; a tokenizer.json that says otherwise is followed."""
from functools import lru_cache
from pathlib import Path
import re
import numpy as np
from ..errors import FileError, FucinaError, brief, fault
from . import bytelevel
from .bytelevel import (KINDS, added_of, beside, check_gguf, check_numbers, check_ends, ends_of, ends_of_gguf,
                        is_marker, json_of, refused)
from .charsmap import Charsmap
from .parts import decoder_of, normaliser_of, one_after_another, split_of
from .pieces import Joins, SPACE, Unigram, WordPiece, pairs_of_scores

__all__ = ['read_sentencepiece', 'read_any_json', 'from_gguf_scores', 'from_gguf_merges', 'from_gguf_words']

BYTE = re.compile(r'<0x([0-9A-Fa-f]{2})>')

# message -> its fields: name, number, type, default; of sentencepiece_model.proto what decides about tokens
MESSAGES = dict(
    Piece='piece 1 bytes, score 2 float, type 3 int32 1',
    Trainer='model_type 3 int32 1, treat_whitespace_as_suffix 24 bool, byte_fallback 35 bool, unk_id 40 int32 0, '
            'bos_id 41 int32 1, eos_id 42 int32 2',
    Normaliser='name 1 string, precompiled_charsmap 2 bytes, add_dummy_prefix 3 bool true, '
               'remove_extra_whitespaces 4 bool true, escape_whitespaces 5 bool true',
    Model='pieces 1 *Piece, trainer_spec 2 Trainer, normalizer_spec 3 Normaliser, denormalizer_spec 5 Normaliser')
MODEL_TYPES = {1: 'unigram', 2: 'bpe', 3: 'word', 4: 'char'}


@lru_cache(1)
def message():
    "The class that reads a .model file."
    from google.protobuf import descriptor_pool, message_factory
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field, FileDescriptorProto
    file = FileDescriptorProto(name='sentencepiece_model.proto', package='pieces', syntax='proto2')
    for name, fields in MESSAGES.items():
        made = file.message_type.add(name=name)
        for row in fields.split(', '):
            name, number, kind, *default = row.split()
            inner = kind.strip('*') in MESSAGES
            field = made.field.add(name=name, number=int(number), label=3 if kind[0] == '*' else 1,
                                   type=Field.TYPE_MESSAGE if inner else getattr(Field, f'TYPE_{kind.upper()}'))
            if inner: field.type_name = f'.pieces.{kind.strip("*")}'
            if default: field.default_value = default[0]
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName('pieces.Model'))


def parse_model(data, name):
    "The message in the bytes of a .model file."
    from google.protobuf.message import DecodeError
    wrong = lambda why: fault(FileError, f'{name} is no model of SentencePiece: {why}', help='a .model file that '
                              'spm_train wrote, or the file tokenizer.model of a model')
    try: said = message().FromString(data)
    except DecodeError as e: raise wrong('it is cut off or of another format') from e
    if not said.pieces: raise wrong('it has no pieces')
    try: return said, [p.piece.decode() for p in said.pieces]
    except UnicodeDecodeError as e: raise wrong('a piece is no UTF-8') from e


def read_sentencepiece(path):
    "The parts in a .model file."
    try: data = Path(path).read_bytes()
    except OSError as e: raise fault(FileError, f'{path}: {e.strerror}', help='name a file that is there') from None
    said, pieces = parse_model(data, Path(path).name)
    trainer, normal = said.trainer_spec, said.normalizer_spec
    kind = MODEL_TYPES.get(trainer.model_type)
    if kind in (None, 'word'):
        raise refused(f'a model of the type {kind or trainer.model_type}', ['bpe', 'unigram', 'char'])
    for what, is_so in (('treat_whitespace_as_suffix', trainer.treat_whitespace_as_suffix),
                        ('escape_whitespaces=False', not normal.escape_whitespaces),
                        ('a denormalizer', said.denormalizer_spec.precompiled_charsmap)):
        if is_so: raise refused(what, help='it changes what blanks become; other models do without')
    kinds = [p.type for p in said.pieces]
    there = lambda i: i if 0 <= i < len(pieces) else None
    return scored_parts(pieces, [p.score for p in said.pieces], kinds, kind,
                    normal=spacer(Charsmap(normal.precompiled_charsmap), normal.add_dummy_prefix,
                                  normal.remove_extra_whitespaces, users(pieces, kinds)),
                    strip=b' ' * (normal.add_dummy_prefix or normal.remove_extra_whitespaces),
                    unknown=kinds.index(2) if 2 in kinds else None,
                    bos=there(trainer.bos_id), eos=there(trainer.eos_id), add_bos=there(trainer.bos_id) is not None)


def users(pieces, kinds): return [p for p, k in zip(pieces, kinds) if k == KINDS['user']]


def scored_parts(pieces, scores, kinds, kind, normal, strip, unknown, raw=False, **ends):
    "The parts of a vocabulary with scores; `kind` is bpe, unigram or char."
    bytes_at = byte_pieces(pieces, kinds)
    usable = [k in (KINDS['normal'], KINDS['user']) for k in kinds]
    how = dict(unknown=unknown, bytes_at=bytes_at)
    if kind == 'unigram': model = unigram_of(pieces, scores, kinds, usable, how)
    else: model = Joins(pieces, pairs_of_scores(pieces, scores, usable) if kind == 'bpe' else (), usable, **how)
    if kind == 'bpe': check_unused(pieces, kinds)
    whole = {KINDS['control']} | ({KINDS['user']} if kind != 'unigram' or raw else set())
    added = [(p, i, k == KINDS['control'], k == KINDS['control'], False, False, raw or k == KINDS['control'])
             for i, (p, k) in enumerate(zip(pieces, kinds)) if k in whole]
    return dict(model=model, tokens=piece_bytes(pieces, kinds), added=added, normal=normal, strip=strip, **ends)


def unigram_of(pieces, scores, kinds, usable, how):
    "A piece that a user defined costs less than its letters."
    scores = np.array(scores, 'f4')
    normal = [s for s, k in zip(scores, kinds) if k == KINDS['normal']] or [0.]
    for i, k in enumerate(kinds):
        if k == KINDS['user']: scores[i] = np.float32(len(pieces[i].encode())) * np.float32(max(normal)) - .1
    return Unigram(pieces, scores, usable, least=np.float32(min(normal)) - np.float32(10), **how)


def check_unused(pieces, kinds):
    "Joins through pieces that may not come out are not known here."
    known = {*pieces, *''.join(pieces)}
    for p, k in zip(pieces, kinds):
        if k == KINDS['unused'] and any(p[:i] in known and p[i:] in known for i in range(1, len(p))):
            raise refused(f'the unused piece {p!r} of a bpe model', help='its vocabulary was restricted: take it whole')


def byte_pieces(pieces, kinds):
    "Where the pieces of the 256 bytes stand, or None."
    found = {int(m[1], 16): i for i, (p, k) in enumerate(zip(pieces, kinds))
             if k == KINDS['byte'] and (m := BYTE.fullmatch(p))}
    return [found[b] for b in range(256)] if len(found) == 256 else None


def piece_bytes(pieces, kinds):
    "What each piece stands for; an unknown for U+FFFD."
    words = [p.replace(SPACE, ' ').encode('utf-8', 'replace') for p in pieces]
    for i, (p, k) in enumerate(zip(pieces, kinds)):
        if k == KINDS['byte'] and (m := BYTE.fullmatch(p)): words[i] = bytes.fromhex(m[1])
        elif k == KINDS['control']: words[i] = p.encode()
        elif k == KINDS['unknown']: words[i] = '\ufffd'.encode()
    return words


def spacer(charsmap, prefix, collapse, kept=()):
    """(text, first) -> text with its blanks made visible: rules of the charsmap, runs of blanks become one and those at
    the ends nothing if `collapse`, one in front of the first part if `prefix`. Texts in `kept` no rule touches."""
    kept = re.compile('|'.join(map(re.escape, sorted(kept, key=len, reverse=True)))) if kept else None
    def normal(text, first):
        parts = [*set_apart(kept, text)] if kept else [(text, False)]
        if charsmap: parts = [(part if keep else charsmap(part), keep) for part, keep in parts]
        text = collapsed(parts, first) if collapse else ''.join(part for part, _ in parts)
        if collapse and first and not text: return ''
        text = SPACE * (prefix and first) + text.replace(' ', SPACE)
        return text.rstrip(SPACE) if collapse else text
    return normal


def set_apart(kept, text):
    "(part, whether the pattern found it), nothing left out."
    end = 0
    for m in kept.finditer(text):
        yield text[end:m.start()], False
        yield m[0], True
        end = m.end()
    yield text[end:], False


def collapsed(parts, first):
    "The text without blanks after a blank, or at its beginning; within what is kept they stay."
    found, blank = [], first
    for part, keep in parts:
        if not keep: part = re.sub('  +', ' ', part)
        if blank: part = part.lstrip(' ')
        if part: found.append(part); blank = part[-1] == ' '
    return ''.join(found)


# ---- GGUF
GGML = 'tokenizer.ggml.'

def said_in(metadata):
    "What the metadata says about the tokenizer."
    return {name.removeprefix(GGML): v for name, v in metadata.items() if name.startswith(GGML)}


def kinds_of(said):
    "What each piece is; without a list, what its name and the ends of a text tell."
    if said.get('token_type') is not None: return [int(k) for k in said['token_type']]
    ends = {v for name, v in said.items() if name.endswith('_token_id')}
    return [KINDS['control'] if i in ends else KINDS['byte'] if BYTE.fullmatch(p) else KINDS['normal']
            for i, p in enumerate(said['tokens'])]


def from_gguf_scores(metadata):
    "The parts of a vocabulary of the kinds `llama` (joins by score) and `t5` (unigram)."
    said = said_in(metadata)
    check_gguf(said, 'scores')
    pieces, kinds = list(said['tokens']), kinds_of(said)
    unigram = said['model'] == 't5'
    prefix, collapse = (bool(said.get(name, unless)) for name, unless in (('add_space_prefix', True),
                                                                          ('remove_extra_whitespaces', unigram)))
    charsmap = said.get('precompiled_charsmap')
    blob = b'' if charsmap is None else bytes(np.asarray(charsmap, 'u1'))
    ends = ends_of_gguf(said)
    if 'add_bos_token' not in said: ends['add_bos'] = not unigram
    if 'add_eos_token' not in said: ends['add_eos'] = unigram
    parts = scored_parts(pieces, said['scores'], kinds, 'unigram' if unigram else 'bpe', raw=True,
                     normal=spacer(Charsmap(blob), prefix, collapse), strip=b' ' * prefix,
                     unknown=said.get('unknown_token_id', kinds.index(2) if 2 in kinds else None), **ends)
    name = str(metadata.get('general.name')).lower()
    if 'phi-3' in name or 'phi3' in name: parts['added'] = [with_right(a) for a in parts['added']]
    return parts | forgeable(parts)


def forgeable(parts):
    "Tokens that look like marks are special, whatever the file calls them."
    return dict(added=[(text, i, special or is_marker(text), *more) for text, i, special, *more in parts['added']])


def with_right(added):
    "The markers of Phi-3 take the blanks behind them along; its file does not say so."
    text, i, special, control, left, right, raw = added
    return text, i, special, control, left, text not in ('<unk>', '<s>', '<|endoftext|>'), raw


def from_gguf_merges(metadata):
    "The parts of a vocabulary of the kind `gemma4`: SentencePiece's blanks and bytes, with merges in their order."
    said = said_in(metadata)
    check_gguf(said, 'merges')
    pieces, kinds = list(said['tokens']), kinds_of(said)
    known = {p: i for i, p in enumerate(pieces)}
    usable = [k in (KINDS['normal'], KINDS['user'], KINDS['unused']) for k in kinds]
    prefix = bool(said.get('add_space_prefix', False))
    pairs = ranked(said['merges'], known)
    model = Joins(pieces, pairs, usable, unknown=said.get('unknown_token_id'), bytes_at=byte_pieces(pieces, kinds))
    added = [(p, i, k == KINDS['control'], k == KINDS['control']) for i, (p, k) in enumerate(zip(pieces, kinds))
             if k in (KINDS['control'], KINDS['user'])]
    parts = dict(model=model, tokens=piece_bytes(pieces, kinds), added=added, normal=spacer(None, prefix, False),
                 strip=b' ' * prefix, **ends_of_gguf(said))
    return parts | forgeable(parts)


def ranked(merges, known):
    "Joins in their order -> (left, right, rank); FileError where a token is not in the vocabulary."
    merges = [m.split(' ') if isinstance(m, str) else m for m in merges]
    there = known.__contains__
    bad = next((m for m in merges if len(m) != 2 or not (there(m[0]) and there(m[1]) and there(m[0] + m[1]))), None)
    if bad is not None:
        raise fault(FileError, f'the merge {brief(bad)} has a token that is not in the vocabulary',
                    help='the file is damaged, or put together from two')
    return [(a, b, rank) for rank, (a, b) in enumerate(merges)]


def from_gguf_words(metadata):
    "The parts of a vocabulary of the kind `bert`. What begins a word has a mark in front there, what goes on none."
    said = said_in(metadata)
    check_gguf(said)
    kinds = kinds_of(said)
    lower = bool(said.get('normalizer.lowercase', True))
    pieces = [p[1:] if p.startswith(SPACE) else p if p[:1] == '[' and p[-1:] == ']' or k != 1 else '##' + p
              for p, k in zip(said['tokens'], kinds)]
    added = [(p, i) for i, (p, k) in enumerate(zip(pieces, kinds)) if k == KINDS['control']]
    bos = said.get('bos_token_id', said.get('cls_token_id'))
    eos = said.get('eos_token_id', said.get('seperator_token_id'))
    return dict(model=WordPiece(pieces, unknown=said.get('unknown_token_id')), added=added,
                tokens=decoder_of({'type': 'WordPiece'}, pieces)[0], strip=b' ',
                normal=normaliser_of(dict(type='BertNormalizer', lowercase=lower)),
                split=split_of({'type': 'BertPreTokenizer'})[0], bos=bos, eos=eos,
                add_bos=bool(said.get('add_bos_token', True)), add_eos=bool(said.get('add_eos_token', True)))


# ---- tokenizer.json
# what Python says where a file is not what it should be
DAMAGED = LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, StopIteration

def read_any_json(path):
    "The parts in a tokenizer.json of any kind."
    said = json_of(path)
    try:
        parts = bytelevel.of_json(said) if cuts_bytes(said.get('pre_tokenizer')) else pieces_json(said)
        try_out(parts)
        return check_ends(parts | ends_of(said, beside(path)))
    except FucinaError: raise
    except DAMAGED as e:
        raise fault(FileError, f'{Path(path).name} is damaged: {type(e).__name__}, {brief(str(e))}',
                    help='fetch it again, or save it anew with `tokenizers`') from e


def try_out(parts, text='a word, Ａ 1'):
    "Take a text through the parts: an option of another type is told now and not by the first text."
    model, split, normal = (parts.get(n) for n in ('model', 'split', 'normal'))
    if normal: text = normal(text, True)
    pieces = split(text) if split else [text]
    if hasattr(model, 'encode'): model.encode(pieces)
    else: [model.encode_piece(p) for p in pieces]


def cuts_bytes(said):
    "Whether a pre-tokenizer makes letters of bytes."
    if not said: return False
    return said['type'] == 'ByteLevel' or any(map(cuts_bytes, said.get('pretokenizers') or ()))


def pieces_json(said):
    "The parts that a tokenizer.json of pieces says."
    model, kind = said['model'], said['model'].get('type') or ('BPE' if 'merges' in said['model'] else None)
    if kind not in MODELS: raise refused(f'a model of the type {kind!r}', MODELS)
    vocab, added = model['vocab'], added_of(said)
    named = [(p, i) for i, (p, _) in enumerate(vocab)] if isinstance(vocab, list) else list(vocab.items())
    every = [*named, *(a[:2] for a in added)]
    check_numbers(every)
    pieces = [''] * (1 + max((i for _, i in every), default=-1))
    for p, i in every: pieces[i] = p
    special = {a[1] for a in added if a[2]}
    usable = [bool(p) and i not in special for i, p in enumerate(pieces)]
    tokens, strip = decoder_of(said.get('decoder'), pieces)
    (split, begin), normal = split_of(said.get('pre_tokenizer')), normaliser_of(said.get('normalizer'))
    if begin: normal = one_after_another([f for f in (normal, begin) if f])
    return dict(model=MODELS[kind](model, pieces, usable), tokens=tokens, added=added, strip=strip, normal=normal,
                split=split)


def json_bytes(model, pieces, usable):
    "Where the bytes stand, if the file falls back to them; text never becomes one as it is written."
    if not model.get('byte_fallback'): return None
    found = {int(m[1], 16): i for i, p in enumerate(pieces) if (m := BYTE.fullmatch(p))}
    if len(found) < 256:
        raise refused(f'byte_fallback with pieces for {len(found)} of 256 bytes', help='the vocabulary is damaged')
    for i in found.values(): usable[i] = False
    return [found[b] for b in range(256)]


def merges_json(model, pieces, usable):
    for name in 'continuing_subword_prefix end_of_word_suffix dropout ignore_merges'.split():
        if model.get(name): raise refused(f'{name}={model[name]!r} of a model', help='BPE without it is read')
    known = model['vocab']
    pairs = ranked(model['merges'], known)
    return Joins(pieces, pairs, usable, unknown=known.get(model.get('unk_token')), fuse=bool(model.get('fuse_unk')),
                  bytes_at=json_bytes(model, pieces, usable))


def unigram_json(model, pieces, usable):
    scores = np.zeros(len(pieces))
    scores[:len(model['vocab'])] = [s for _, s in model['vocab']]
    for i in range(len(model['vocab']), len(pieces)): usable[i] = False
    bytes_at = json_bytes(model, pieces, usable)
    return Unigram(pieces, scores, usable, least=min(scores[:len(model['vocab'])], default=0.) - 10,
                   unknown=model.get('unk_id'), bytes_at=bytes_at)


def words_json(model, pieces, usable):
    pieces = [p if ok else '' for p, ok in zip(pieces, usable)]
    return WordPiece(pieces, unknown=model['vocab'].get(model.get('unk_token', '[UNK]')),
                     mark=model.get('continuing_subword_prefix', '##'),
                     longest=model.get('max_input_chars_per_word', 100))


MODELS = dict(BPE=merges_json, Unigram=unigram_json, WordPiece=words_json)
