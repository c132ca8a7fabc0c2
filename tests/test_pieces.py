"""Pieces: joins by score, the best way, the longest first; SentencePiece's files, and its vocabularies in others."""
import json, random
from pathlib import Path
import numpy as np
import pytest
import fucinalib as fl
from fucinalib.errors import FileError, FucinaError
from fucinalib.text import Tokenizer, from_gguf, sentencepiece
from fucinalib.text.pieces import (END, SPACE, Joins, Unigram, WordPiece, code_points, longest_first, mark_spaces,
                                   pairs_of_scores, train_unigram)

RANGES = ((0, 0xa0), (0xa0, 0x250), (0x300, 0x370), (0x370, 0x500), (0x5d0, 0x600), (0x900, 0x980), (0xe00, 0xe80),
          (0x1100, 0x1200), (0x2000, 0x2070), (0x2100, 0x2200), (0x3000, 0x3100), (0x4e00, 0x4f00), (0xac00, 0xad00),
          (0xfb00, 0xfb10), (0xff00, 0xffee), (0x1f600, 0x1f650))
LETTERS = [chr(c) for r in RANGES for c in range(*r)] + [SPACE] * 20
WORDS = 'the low lower lowest new newest widest <s> <e> </s> 123 4567 hi user don\'t it\'s naïve'.split()
ODD = ['', ' ', '  ', '\n', 'a', SPACE, SPACE * 2, f' {SPACE} ', '\0', '\x01a', '\u3000', '\u3000a ', '\u200b',
       '\u0301', 'a' * 300]


def texts(n, seed=0):
    "Hostile texts: words, runs of blanks, letters of all scripts, marks by themselves."
    r = random.Random(seed)
    def part():
        k = r.random()
        if k < .3: return ' ' * r.randrange(1, 4)
        if k < .6: return r.choice(WORDS)
        if k < .8: return ''.join(r.choice(LETTERS) for _ in range(r.randrange(1, 10)))
        return ''.join(r.choice(f'ab e\u0300\u0301ｱﾞ가각ㅎｗ①ﬁ\n\t {SPACE}') for _ in range(r.randrange(1, 8)))
    return ODD + [''.join(part() for _ in range(r.randrange(1, 8))) for _ in range(n)]


# ---- one vocabulary in three kinds of file
SCORES = {'▁': -9., 'h': -10., 'i': -10., 'u': -11., 's': -11., 'e': -11., 'r': -11., 'a': -12., 'b': -12., 'hi': -1.,
          'us': -2., 'er': -3., 'user': -4., '▁hi': -5., '▁user': -6., 'aa': -7., 'ab': -7., 'ba': -7.}
PIECES = ['<unk>', '<s>', '<e>'] + [f'<0x{b:02X}>' for b in range(256)] + list(SCORES)
KINDS = [2, 3, 3] + [6] * 256 + [1] * len(SCORES)
VALUES = [0.] * 259 + list(SCORES.values())


def model_bytes(pieces=PIECES, values=VALUES, kinds=KINDS, model_type=2, **normal):
    said = sentencepiece.message()()
    for p, s, k in zip(pieces, values, kinds): said.pieces.add(piece=p.encode(), score=s, type=k)
    said.trainer_spec.model_type = model_type
    said.trainer_spec.bos_id, said.trainer_spec.eos_id = 1, 2
    normal = dict(dict(remove_extra_whitespaces=False), **normal)
    for name, value in normal.items(): setattr(said.normalizer_spec, name, value)
    return said.SerializeToString()


def from_model(folder, **how):
    path = Path(folder)/'tokenizer.model'
    path.write_bytes(model_bytes(**how))
    return Tokenizer.load(path)


def as_json(prefix=True):
    "The vocabulary as `tokenizers` writes it: the joins in the order of their scores."
    vocab = {p: i for i, p in enumerate(PIECES)}
    usable = [k == 1 for k in KINDS]
    merges = [[a, b] for a, b, rank in sorted(pairs_of_scores(PIECES, VALUES, usable), key=lambda m: m[2])]
    return dict(model=dict(type='BPE', vocab=vocab, merges=merges, byte_fallback=True, fuse_unk=True,
                           unk_token='<unk>'),
                added_tokens=[dict(id=i, content=PIECES[i], special=True) for i in range(3)], normalizer=None,
                pre_tokenizer=dict(type='Metaspace', replacement=SPACE, split=False,
                                   prepend_scheme='first' if prefix else 'never'),
                decoder=dict(type='Sequence', decoders=[
                    dict(type='Replace', pattern=dict(String=SPACE), content=' '), dict(type='ByteFallback'),
                    dict(type='Fuse'), dict(type='Strip', content=' ', start=int(prefix), stop=0)]))


def from_json(folder, said):
    path = Path(folder)/'tokenizer.json'
    path.write_text(json.dumps(said))
    return Tokenizer.load(path)


def metadata(**more):
    return {f'tokenizer.ggml.{k}': v for k, v in dict(
        dict(model='llama', tokens=PIECES, scores=VALUES, token_type=KINDS, bos_token_id=1, eos_token_id=2,
             unknown_token_id=0), **more).items()}


@pytest.fixture(params=['model', 'json', 'gguf'])
def tok(request, tmp_path):
    if request.param == 'model': return from_model(tmp_path)
    return from_json(tmp_path, as_json()) if request.param == 'json' else from_gguf(metadata())


def kept(tok, text):
    "Whether the file keeps a blank that the text begins with: Metaspace takes it for the one it would put there."
    return not (tok.split and text.startswith(' '))


def names(tok, ids): return [PIECES[i] for i in ids]


def test_special_tokens_do_not_change_the_pieces_round_them(tok):
    "A blank in front of the whole text and nowhere else; a text without special tokens comes back as it was."
    for text, want in (('hi', '▁hi'), ('<e>hi', '<e> hi'), ('<e> hi', '<e> ▁hi'), ('hi<e>hi', '▁hi <e> hi'),
                       ('<e>user', '<e> user'), ('  hi', '▁ ▁ ▁hi')):
        if not kept(tok, text): continue
        assert names(tok, tok.encode(text, special=True)) == want.split(), text
        if '> ' not in text: assert tok.decode(tok.encode(text, special=True)) == text.replace('<e>', '')
        assert tok.decode(tok.encode(text)) == text


def test_user_text_makes_no_special_token(tok):
    for text in ('<s>', '<e>hi<e>', 'hi <s> <unk>', '<0x41>'):
        ids = tok.encode(text)
        assert not {0, 1, 2} & {*ids} and tok.decode(ids) == text
    assert tok.encode('<0x41>') != tok.encode('A')


def test_three_kinds_of_file_give_the_same_ids(tmp_path):
    a, b, c = from_model(tmp_path), from_json(tmp_path, as_json()), from_gguf(metadata())
    for text in texts(300):
        assert a.encode(text) == c.encode(text), text
        if text[:1] not in (' ', SPACE): assert a.encode(text) == b.encode(text), text
    assert a.tokens[3:] == b.tokens[3:] == c.tokens[3:]


def test_decoding_gives_the_text_back(tok):
    for text in texts(1000, seed=1):
        if SPACE not in text and kept(tok, text): assert tok.decode(tok.encode(text)) == text


def test_no_blank_in_front(tmp_path):
    for tok in (from_model(tmp_path, add_dummy_prefix=False), from_json(tmp_path, as_json(False)),
                from_gguf(metadata(add_space_prefix=False))):
        assert names(tok, tok.encode('hi user')) == ['hi', '▁user']
        assert tok.decode(tok.encode(' hi')) == ' hi'


def test_streams(tok):
    "A blank in front, bytes of a character that come one by one, and what comes out together is the text."
    for text in ('hi user', ' hi', '日本 hi', 'é\u0301😀', ''):
        if not kept(tok, text): continue
        s = tok.stream()
        parts = [s.push(i) for i in tok.encode(text)] + [s.end()]
        assert ''.join(parts) == text and not any('\ufffd' in p for p in parts)
    at = 3
    s = tok.stream()
    assert [s.push(at + b) for b in (0xf0, 0x9f, 0x98, 0x80)] + [s.end()] == ['', '', '', '😀', '']
    s = tok.stream()
    assert s.push(at + 0xff) == '\ufffd' and s.push(at + 0xf0) == '' and s.end() == '\ufffd'


def test_runs_of_blanks_become_one(tmp_path):
    tok = from_model(tmp_path, remove_extra_whitespaces=True)
    assert tok.encode('  hi   hi ') == tok.encode('hi hi') and tok.encode('   ') == []
    assert names(tok, tok.encode('<e>  hi', special=True)) == ['<e>', '▁hi']


# ---- joins
def slow_joins(text, scores):
    parts = list(text)
    while True:
        pairs = [(-scores[a + b], i) for i, (a, b) in enumerate(zip(parts, parts[1:])) if a + b in scores]
        if not pairs: return parts
        i = min(pairs)[1]
        parts[i:i + 2] = [parts[i] + parts[i + 1]]


@pytest.mark.parametrize('backend', fl.backends())
def test_joins_are_those_by_hand(backend):
    r = random.Random(0)
    for seed in range(12):
        names = sorted({''.join(r.choice('abc') for _ in range(r.randrange(1, 6))) for _ in range(40)} - {'c'})
        scores = {n: -float(r.randrange(6)) for n in names}         # with ties
        model = Joins(names, pairs_of_scores(names, list(scores.values()), [True] * len(names)), unknown=99)
        with fl.use_backend(backend):
            for n in (*range(1, 30), 50, 200):
                text = ''.join(r.choice('aabbcd') for _ in range(n))
                found = model.find(code_points(text))
                want = [p if p in scores else '?' for p in slow_joins(text, scores)]
                assert [names[i] if i >= 0 else '?' for i in found if i != -2] == want, text


@pytest.mark.parametrize('backend', fl.backends())
def test_best_way_is_the_best_of_all(backend):
    r = random.Random(1)
    def all_ways(text):
        if not text: yield 0., []
        for j in range(1, len(text) + 1):
            if text[:j] in scores: yield from ((scores[text[:j]] + s, [text[:j], *w]) for s, w in all_ways(text[j:]))
    for seed in range(10):
        scores = {c: -9. for c in 'abc'} | {''.join(r.choice('abc') for _ in range(r.randrange(2, 5))): -r.random() * 20
                                            for _ in range(15)}
        model = Unigram(scores, list(scores.values()))
        with fl.use_backend(backend):
            for n in range(1, 9):
                text = ''.join(r.choice('abc') for _ in range(n))
                found = [model.pieces[i] for i in model.encode_piece(text)]
                assert ''.join(found) == text
                assert sum(scores[p] for p in found) == pytest.approx(max(all_ways(text))[0], abs=1e-9)


def test_texts_side_by_side_do_not_meet():
    "Pieces that a cut made are encoded at once, and each as if alone."
    names = ['a', 'b', 'ab', 'bb', 'aa']
    scores = [-4., -4., -1., -2., -3.]
    pairs = pairs_of_scores(names, scores, [True] * 5)
    for model in (Joins(names, pairs, unknown=9), Unigram(names, scores, unknown=9)):
        for parts in (['a', 'b', 'ab'], ['aab', 'bbb', 'x', 'xx', 'b'], ['x', 'x'], ['', 'a', '']):
            assert model.encode(parts) == [i for p in parts for i in model.encode_piece(p)]
    assert END not in code_points('\ud7ff')


def test_no_piece_at_all():
    assert Joins([], [], unknown=0).encode_piece('abc') == [0]
    assert Unigram(['a'], [-1.], unknown=7).encode_piece('xxaxx') == [7, 0, 7]
    assert Unigram(['a'], [-1.], unknown=7, fuse=False).encode_piece('xxa') == [7, 7, 0]
    assert Joins(['a'], []).encode_piece('xax') == [0]


def test_long_texts_without_a_blank_end():
    "A million of one letter, in a chain of joins, in a lattice, in a word: no square of the length anywhere."
    names = [c * 2 ** k for c in 'ab' for k in range(6)] + ['ab']
    scores = [-float(len(n)) for n in names]
    n = 1 << 20
    assert Joins(names, pairs_of_scores(names, scores, [True] * 13)).encode_piece('a' * n) == [5] * (n // 32)
    assert len(Unigram(names, scores).encode_piece('ab' * (n // 2))) == n // 2
    assert WordPiece(['a', '##a'], unknown=5).encode_piece('a' * n) == [5]
    assert len(Joins(names, [], bytes_at=range(256)).encode_piece('日' * 100_000)) == 300_000


# ---- the longest first, and its cuts
BERT_WORDS = "[UNK] [CLS] [SEP] un ##aff ##able naive ! , ' s 日 ##s don t".split()
BERT = dict(model=dict(type='WordPiece', unk_token='[UNK]', continuing_subword_prefix='##',
                       max_input_chars_per_word=100, vocab={w: i for i, w in enumerate(BERT_WORDS)}),
            added_tokens=[dict(id=i, content=t, special=True) for i, t in enumerate(['[UNK]', '[CLS]', '[SEP]'])],
            normalizer=dict(type='BertNormalizer', clean_text=True, handle_chinese_chars=True, strip_accents=None,
                            lowercase=True),
            pre_tokenizer=dict(type='BertPreTokenizer'), decoder=dict(type='WordPiece', prefix='##', cleanup=True),
            post_processor=dict(type='TemplateProcessing', pair=[], special_tokens={}, single=[
                dict(SpecialToken=dict(id='[CLS]', type_id=0)), dict(Sequence=dict(id='A', type_id=0)),
                dict(SpecialToken=dict(id='[SEP]', type_id=0))]))


def test_words(tmp_path):
    tok = from_json(tmp_path, BERT)
    assert (tok.bos, tok.eos, tok.add_bos, tok.add_eos) == (1, 2, True, True)
    assert tok.encode("Unaffable, NAÏVE!日日s don't") == [3, 4, 5, 8, 6, 7, 11, 11, 10, 13, 9, 14]
    assert tok.encode('x' * 101 + ' [CLS]') == [0, 0, 0, 0]
    assert tok.decode(tok.encode('unaffable, naive!')) == 'unaffable, naive!'
    assert longest_first('abc', {'ab': 0, '##c': 1, 'a': 2}) == [0, 1] and longest_first('abd', {'ab': 0}) is None
    tokens = ['[PAD]', '[UNK]', '▁un', 'aff', 'able', '▁!']
    gguf = from_gguf({f'tokenizer.ggml.{k}': v for k, v in dict(
        model='bert', tokens=tokens, token_type=[3, 3, 1, 1, 1, 1], unknown_token_id=1, cls_token_id=0).items()})
    assert gguf.encode('UNaffable!?') == [2, 3, 4, 5, 1]


def test_training():
    learnt = train_unigram('the lowest of the low is lower than the newest ' * 5, 40)
    assert len(learnt) <= 40 and abs(sum(np.exp(list(learnt.values()))) - 1) < 1e-9 and '▁the' in learnt
    assert learnt == train_unigram('the lowest of the low is lower than the newest ' * 5, 40)
    assert {*mark_spaces(' lowest')} <= {*learnt}


# ---- refused by name
def changed(**parts): return dict(as_json(), **parts)

@pytest.mark.parametrize('said,name', [
    (changed(normalizer=dict(type='Nmt')), 'Nmt'),
    (changed(normalizer=dict(type='Sequence', normalizers=[dict(type='NFC'), dict(type='Sofa')])), 'Sofa'),
    (changed(pre_tokenizer=dict(type='UnicodeScripts')), 'UnicodeScripts'),
    (changed(pre_tokenizer=dict(type='Metaspace', replacement='_')), "'_'"),
    (changed(pre_tokenizer=dict(type='Split', pattern=dict(String=' '), behavior='Contiguous')), 'Contiguous'),
    (changed(decoder=dict(type='CTC')), 'CTC'),
    (changed(model=dict(type='WordLevel', vocab={})), 'WordLevel'),
    (changed(model=dict(as_json()['model'], dropout=.1)), 'dropout'),
    (changed(model=dict(as_json()['model'], end_of_word_suffix='</w>')), '</w>'),
    (changed(model=dict(as_json()['model'], merges=[['q', 'q']])), 'merge'),
    (changed(post_processor=dict(type='Surprise')), 'Surprise')])
def test_unknown_parts_are_refused(said, name, tmp_path):
    with pytest.raises(FileError, match=name): from_json(tmp_path, said)


@pytest.mark.parametrize('how,name', [
    (dict(model_type=3), 'word'), (dict(escape_whitespaces=False), 'escape_whitespaces'),
    (dict(pieces=['<unk>', 'a', 'b', 'ab'], values=[0.] * 4, kinds=[2, 1, 1, 5]), "'ab'"),
    (dict(precompiled_charsmap=b'\xff\xff\xff\xff'), 'precompiled_charsmap')])
def test_models_that_are_refused(how, name, tmp_path):
    with pytest.raises(FileError, match=name): from_model(tmp_path, **how)


def test_gguf_that_is_refused():
    for more, name in ((dict(scores=[0.]), 'scores'), (dict(model='rwkv'), 'rwkv'), (dict(tokens=[]), 'tokens')):
        with pytest.raises(FileError, match=name): from_gguf(metadata(**more))


@pytest.mark.parametrize('kind', ['llama', 't5', 'gemma4', 'bert'])
@pytest.mark.parametrize('name, value', [('bos_token_id', 9999), ('eos_token_id', -1), ('unknown_token_id', 10**10),
                                         ('tokens', None), ('tokens', 3), ('token_type', [1]), ('merges', None)])
def test_a_damaged_vocabulary_of_any_kind_is_refused(kind, name, value):
    if name == 'merges' and kind != 'gemma4': return
    with pytest.raises(FileError): from_gguf(metadata(**{'merges': [], 'model': kind, name: value}))


@pytest.mark.parametrize('number', [-1, 10**10, True, 1., 3])
def test_a_piece_has_a_number_of_its_own(number, tmp_path):
    said = as_json()
    said['model']['vocab'][PIECES[-1]] = number
    with pytest.raises(FileError, match='is the number of the token|have one number'): from_json(tmp_path, said)


def test_damaged_models(tmp_path):
    "Cut off, changed, of another kind: read as a vocabulary or refused, never a crash."
    good, path, r = model_bytes(), tmp_path/'t.model', random.Random(0)
    for k in range(150):
        data = bytearray(good[:r.randrange(len(good))] if k % 3 == 0 else good)
        for _ in range(r.randrange(1, 4)):
            if data: data[r.randrange(min(len(data), 200) if k % 2 else len(data))] = r.randrange(256)
        path.write_bytes(data)
        try: Tokenizer.load(path).encode('hi user')
        except FucinaError: pass
    for data in (b'', b'{}', b'GGUF' + bytes(60), b'\xff' * 100):
        path.write_bytes(data)
        with pytest.raises(FileError): Tokenizer.load(path)
    with pytest.raises(FileError): Tokenizer.load(tmp_path/'nowhere.model')


def test_damaged_tokenizer_json(tmp_path):
    "An entry of another type, gone or far too large: read or refused, never another kind of error."
    r, path = random.Random(0), tmp_path/'tokenizer.json'
    odd = [None, -1, 10**15, 'x', [], {}, True, .5, [['a']], {'type': 'Replace'}]
    def spoil(said):
        keys = list(said) if isinstance(said, dict) else list(range(len(said)))
        key = r.choice(keys)
        inner = said[key]
        if isinstance(inner, (dict, list)) and inner and r.random() < .7: spoil(inner)
        elif r.random() < .3: del said[key]
        else: said[key] = r.choice(odd)
    for k in range(200):
        said = json.loads(json.dumps(as_json() if k % 2 else BERT))
        spoil(said)
        path.write_text(json.dumps(said))
        try: Tokenizer.load(path).encode('hi user, unaffable')
        except FucinaError: pass
    path.write_text('[' * 100_000)
    with pytest.raises(FileError): Tokenizer.load(path)
