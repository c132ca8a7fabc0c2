"""From files to a model: rounded on the way, several tensors at a time, from several files; and what its text needs."""
import json, subprocess, sys, threading, weakref
from pathlib import Path
import numpy as np
import pytest
from safetensors.numpy import save_file
import fucinalib as fl
import tiny_models
from fucinalib import FileError, FucinaError, IndexOutOfBounds, OptionError, OptionTypeError
from fucinalib.cli.bench import peak
from fucinalib.kernels import discovery
from fucinalib.llm import generation
from fucinalib.llm.decoder import tensors_of
from fucinalib.llm.families import read_config
from fucinalib.llm.names import as_config, tensor_names
from fucinalib.llm.loading import LEFT_OUT, QUANTS, How, at_once, fill, text_part
from fucinalib.text import from_gguf

LLAMA = dict(model_type='llama', vocab_size=64, hidden_size=256, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, intermediate_size=288, max_position_embeddings=64)
GPT2 = dict(model_type='gpt2', vocab_size=64, n_embd=64, n_layer=2, n_head=2, n_positions=32)
IDS = np.arange(9) * 7 % 64


def folder(path, values, dtype='f4', **more):
    "A model of random weights in a folder."
    c, rng = read_config(values | more), np.random.default_rng(0)
    own, state = tensors_of(c), {}
    for theirs, (ours, how) in tensor_names(c, 'safetensors').items():
        shape = list(own[ours[0]].values())
        shape[0] = sum(next(iter(own[n].values())) for n in ours)
        state[theirs] = rng.normal(size=shape[::-1] if how == 'columns' else shape, scale=.1).astype(dtype)
    path.mkdir(parents=True, exist_ok=True)
    (path/'config.json').write_text(json.dumps(values | more))
    save_file(state, path/'model.safetensors')
    return path


def weights(model):
    return {n: m.weight for n, m in model.named_modules() if hasattr(m, 'over')} | {'embed': model.embed}


# ---- rounded on the way

@pytest.mark.parametrize('values', [LLAMA, GPT2], ids=['llama', 'gpt2'])
@pytest.mark.parametrize('dtype', ['f4', 'f2'])
def test_a_model_is_rounded_as_it_would_be_afterwards(tmp_path, values, dtype):
    home = folder(tmp_path/'m', values, dtype)
    plain, model = fl.llm.load(home), fl.llm.load(home, quant='q8_0')
    first = weights(plain)
    assert len(first) > 10
    for n, w in weights(model).items():
        rows = first[n].data if w.tags == first[n].tags else first[n].data.T      # GPT-2 stores them so
        assert w.dtype == 'q8_0'
        np.testing.assert_array_equal(w.blocks, fl.Tensor(np.ascontiguousarray(rows), w.tags).to('q8_0').blocks)
    assert model.norm.weight.dtype == 'f32' and (model.places is None or model.places.dtype == 'f32')
    a, b = model(IDS).numpy(), plain(IDS).numpy()
    assert 0 < np.abs(a - b).max() < .05 * np.abs(b).max()
    cache = model.cache()
    for i in IDS: y = model([i], cache=cache, last=True)
    np.testing.assert_allclose(y, a[-1], atol=2e-4)


@pytest.mark.parametrize('quant', QUANTS)
def test_every_kind_of_blocks(tmp_path, quant):
    home = folder(tmp_path/'m', LLAMA)
    b, model = fl.llm.load(home)(IDS).numpy(), fl.llm.load(home, quant=quant)
    assert model.blocks[0].feed.up.weight.dtype == dict(int8='int8_row', int4='int4_64').get(quant, quant)
    # rows of 288 are not whole blocks of 256, or of 64
    short = dict(q4_k='q5_0', q5_k='q5_1', q6_k='q8_0', int8='int8_row', int4='int8_row')
    assert model.blocks[0].feed.down.weight.dtype == short.get(quant, quant)
    a = model(IDS).numpy()
    assert 0 < np.abs(a - b).max() < .5 * np.abs(b).max()


@pytest.mark.parametrize('quant, least, most', [('int8', .005, .02), ('int4', .1, .25)])
@pytest.mark.parametrize('activation', ['f32', 'q8'])
def test_our_own_bits_cost_what_such_bits_cost(tmp_path, quant, least, most, activation):
    "The distance of all logits from those of f32, as a part of their length; word by word it is the same."
    home = folder(tmp_path/'m', LLAMA)
    right, model = fl.llm.load(home)(IDS).numpy(), fl.llm.load(home, quant=quant, activation=activation)
    cache = model.cache()
    for y in (model(IDS).numpy(), np.stack([model([int(i)], cache=cache, last=True).numpy() for i in IDS])):
        assert least < np.linalg.norm(y - right) / np.linalg.norm(right) < most


def test_rows_that_no_block_fits_stay(tmp_path):
    home = folder(tmp_path/'m', LLAMA, hidden_size=240, head_dim=64)
    up = fl.llm.load(home, quant='q4_0').blocks[0].feed
    assert up.up.weight.dtype == 'f32' and up.down.weight.dtype == 'q4_0'


def test_what_cannot_be_had_is_refused(tmp_path):
    home = folder(tmp_path/'m', LLAMA)
    with pytest.raises(OptionError, match="'q2_k'"): fl.llm.load(home, quant='q2_k')
    with pytest.raises(OptionError, match='did you mean .q8_0'): fl.llm.load(home, quant='q8')
    with pytest.raises(FucinaError, match='budget'): fl.llm.load(home, budget=0)
    with pytest.raises(FucinaError, match='keep'): fl.llm.load(home, keep='no')


# ---- GGUF

METADATA = {'general.architecture': 'llama'} | {f'llama.{k}': v for k, v in {
    'embedding_length': 64, 'block_count': 2, 'context_length': 64, 'feed_forward_length': 96,
    'attention.head_count': 2, 'attention.head_count_kv': 1, 'rope.dimension_count': 32, 'rope.freq_base': 1e4,
    'attention.layer_norm_rms_epsilon': 1e-5, 'vocab_size': 64}.items()}

def gguf(path, kind='f32', parts=1, **sizes):
    "A model of random weights in a GGUF file, or in several: the first of them."
    said = METADATA | {f'llama.{k}': v for k, v in sizes.items()}
    words = {'token_embd.weight': fl.zeros('out in', (64, said['llama.embedding_length'])), 'output.weight': 0}
    c, rng, tensors = read_config(as_config(said, words.get)), np.random.default_rng(0), {}
    own, named = tensors_of(c), tensor_names(c, 'gguf')
    for name, (ours, _) in named.items():
        if name != next(n for n, (o, _) in named.items() if o == ours): continue      # another name of the same
        shape = tuple(own[ours[0]].values())
        t = fl.Tensor(rng.normal(size=shape, scale=.1).astype('f4'), 'out in' if len(shape) == 2 else 'd1')
        tensors[name] = t.to(kind) if len(shape) == 2 else t
    if parts == 1: return fl.files.write_gguf(path, said, tensors) or path
    for i in range(parts):
        cut = {'split.no': np.uint16(i), 'split.count': np.uint16(parts), 'split.tensors.count': len(tensors)}
        at = path.with_name(f'{path.stem}-{i + 1:05}-of-{parts:05}.gguf')
        fl.files.write_gguf(at, cut | (said if i == 0 else {}), dict([*tensors.items()][i::parts]))
    return path.with_name(f'{path.stem}-00001-of-{parts:05}.gguf')


def test_blocks_stay_unless_they_are_to_be_rounded_again(tmp_path):
    path = gguf(tmp_path/'m.gguf', 'q5_0')
    first = fl.llm.load(path)
    for options, kind in ((dict(quant='q8_0'), 'q5_0'), (dict(quant='q8_0', requant=True), 'q8_0')):
        for n, w in weights(fl.llm.load(path, **options)).items():
            want = weights(first)[n].to('f32')
            assert w.dtype == kind
            if kind == 'q8_0': np.testing.assert_array_equal(w.blocks, want.to('q8_0').blocks)
            else: np.testing.assert_array_equal(w.to('f32'), want)


def test_a_model_in_several_files_is_the_model(tmp_path):
    want = fl.llm.load(gguf(tmp_path/'m.gguf', 'q4_0'))(IDS).numpy()
    first = gguf(tmp_path/'s'/'m.gguf', 'q4_0', parts=3)
    for at in (*sorted(first.parent.iterdir()), first.parent):      # whichever is named, and their folder
        model = fl.llm.load(at)
        np.testing.assert_array_equal(model(IDS), want)
    assert fl.llm.hub.overview(at)['size'] == f'{sum(p.stat().st_size for p in first.parent.iterdir()) / 1e6:,.1f} MB'


@pytest.mark.skipif('decode_word' not in discovery.active(), reason='kernels are not compiled here')
def test_each_way_to_round_keeps_a_layout_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv('FUCINALIB_CACHE', str(tmp_path/'cache'))
    path, said = gguf(tmp_path/'m.gguf', 'q4_0'), {}
    ways = {}, dict(quant='q8_0', requant=True), dict(quant='int8', requant=True), dict(quant='int8')
    for again in range(2):
        for i, way in enumerate(ways):
            model = fl.llm.load(path, **way)
            y = model([3], cache=model.cache(), last=True).numpy()
            np.testing.assert_array_equal(said.setdefault(i, y), y)
            assert model.loaded.holds() and len([*(tmp_path/'cache').rglob('m-*')]) == (4 if again else i + 1)
    np.testing.assert_array_equal(said[0], said[3])      # its blocks stayed as they were
    assert len({y.tobytes() for y in said.values()}) == 3
    assert fl.llm.load(path, keep=False).loaded is None


# ---- several at a time

def test_no_more_is_on_the_way_than_may_be():
    lock, now, most, seen = threading.Lock(), [0], [0], []
    def work(n):
        with lock:
            now[0] += n
            most[0], seen[:] = max(most[0], now[0]), [*seen, n]
        threading.Event().wait(.002)
        with lock: now[0] -= n
        return n * 10
    costs = [3, 1, 4, 1, 5, 9, 2, 6, 0, 5, 3, 5]
    assert at_once(work, [(c,) for c in costs], costs, 10) == [c * 10 for c in costs] and most[0] <= 10
    assert at_once(work, [(50,), (2,)], [50, 2], 10) == [500, 20]      # what is larger than all goes alone
    assert at_once(work, [], [], 10) == [] and sorted(seen) == sorted([*costs, 50, 2])


def test_what_goes_wrong_there_is_told_and_ends_it():
    done = []
    def work(n):
        if n == 3: raise FileError('three', 'another')
        done.append(n)
    with pytest.raises(FileError, match='three'): at_once(work, [(n,) for n in range(200)], [1] * 200, 2)
    assert len(done) < 200


def test_all_of_them_see_what_the_caller_sees():
    with fl.use_backend('numpy'):
        assert at_once(lambda: fl.current_backend(), [()] * 5, [1] * 5, 9) == ['numpy'] * 5


@pytest.mark.parametrize('budget', [1, 1 << 30])
def test_a_budget_changes_no_number(tmp_path, budget):
    home = folder(tmp_path/'m', LLAMA, 'f2')
    want = fl.llm.load(home, quant='q4_0')
    for n, w in weights(fl.llm.load(home, quant='q4_0', budget=budget)).items():
        np.testing.assert_array_equal(w.blocks, weights(want)[n].blocks)


def test_few_tensors_are_there_at_a_time():
    "Experts that a file has one by one are put together when they are asked for, and that is no view."
    c, now, most = read_config(LLAMA), [0], [0]
    own, names = tensors_of(c), tensor_names(c, 'safetensors')
    def get(name):
        a = np.ones(tuple(own[names[name][0][0]].values()), 'f2')
        now[0] += 1
        most[0] = max(most[0], now[0])
        weakref.finalize(a, lambda: now.__setitem__(0, now[0] - 1))
        return fl.Tensor(a, 'out in' if a.ndim == 2 else 'd1')
    found = fill(c, 'safetensors', {n: n for n in names}, get, How(quant='q8_0', budget=1))
    assert len(found) == len(names) > 10 and most[0] <= 3 and now[0] == 0


def test_experts_are_rounded_as_they_would_be_afterwards(tmp_path):
    values = LLAMA | dict(model_type='qwen3_moe', num_experts=3, num_experts_per_tok=2, moe_intermediate_size=64,
                          hidden_size=64, head_dim=32)
    c, rng = read_config(values), np.random.default_rng(0)
    own, state = tensors_of(c), {}
    for theirs, (ours, _) in tensor_names(c, 'safetensors').items():
        a = rng.normal(size=tuple(own[ours[0]].values()), scale=.1).astype('f4')
        if a.ndim == 3: state |= {theirs.replace('experts.', f'experts.{i}.'): one for i, one in enumerate(a)}
        else: state[theirs] = a
    (tmp_path/'config.json').write_text(json.dumps(values))
    save_file(state, tmp_path/'model.safetensors')
    plain, model = fl.llm.load(tmp_path), fl.llm.load(tmp_path, quant='q8_0')
    w, first = model.blocks[0].feed.up, plain.blocks[0].feed.up
    assert w.dtype == 'q8_0' and w.shape == (3, 64, 64)
    np.testing.assert_array_equal(w.blocks, first.to('q8_0').blocks)
    a, b = model(IDS).numpy(), plain(IDS).numpy()
    assert 0 < np.abs(a - b).max() < .1 * np.abs(b).max()


@pytest.mark.slow
@pytest.mark.skipif(peak() is None, reason='this system does not tell')
def test_the_whole_model_is_never_there_in_floats(tmp_path):
    "Each float copy goes when its blocks are made; so do the pages of the file."
    home = folder(tmp_path/'m', LLAMA, hidden_size=1024, intermediate_size=4096, num_hidden_layers=8, vocab_size=64)
    size = (home/'model.safetensors').stat().st_size
    code = f'''import fucinalib as fl
from fucinalib.cli.bench import peak
fl.llm.load({str(home)!r})
before = peak()
model = fl.llm.load({str(home)!r}, quant='q4_0', budget=1 << 25)
print(peak() - before)'''
    grown = int(subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True).stdout)
    assert size > 4e8 and grown < .6 * size


@pytest.mark.slow
@pytest.mark.skipif(peak() is None, reason='this system does not tell')
@pytest.mark.skipif('decode_word' not in discovery.active(), reason='kernels are not compiled here')
def test_a_model_and_its_layout_are_not_in_memory_together(tmp_path, monkeypatch):
    "A prompt looks into the file, steps look into what was repacked of it: each gives back what the other needs."
    monkeypatch.setenv('FUCINALIB_CACHE', str(tmp_path/'cache'))
    path = gguf(tmp_path/'m.gguf', 'q8_0', embedding_length=1024, feed_forward_length=4096, block_count=24)
    code = f'''import fucinalib as fl
from fucinalib.cli.bench import peak
before = peak()
model = fl.llm.load({str(path)!r})
cache = model.cache()
model(range(30), cache=cache, last=True)
for _ in range(3): model([1], cache=cache, last=True)
print(peak() - before)'''
    _, grown = (int(subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True).stdout)
                    for _ in range(2))
    assert path.stat().st_size > 1e8 and grown < 1.5 * path.stat().st_size


# ---- models that see pictures, too

SHORT = dict(hidden_size=2560, intermediate_size=10240, model_type='gemma3_text', num_hidden_layers=34,
             rope_scaling=dict(factor=8., rope_type='linear'), sliding_window=1024)      # all that gemma-3-4b says

def test_a_configuration_within_another_is_that_of_the_text():
    c = read_config(text_part(dict(model_type='gemma3', text_config=SHORT, vision_config=dict(hidden_size=7))))
    assert (c.family, c.width, c.layers, c.heads, c.kv_heads, c.d, c.vocab) == ('gemma3', 2560, 34, 8, 4, 256, 262208)
    assert c.windows[:7] == (1024,) * 5 + (0, 1024) and text_part(LLAMA) is LLAMA
    with pytest.raises(OptionError, match="no family 'strange'"):
        read_config(text_part(dict(text_config=dict(model_type='strange'))))


@pytest.mark.torch
def test_what_a_configuration_leaves_out_is_what_transformers_takes():
    from transformers import Gemma3TextConfig
    full = Gemma3TextConfig(**SHORT).to_dict()
    assert read_config(text_part(dict(text_config=SHORT))) == read_config(full)
    assert all(Gemma3TextConfig().to_dict()[k] == v for k, v in LEFT_OUT['gemma3_text'].items())


@pytest.mark.torch
@pytest.mark.parametrize('older', [False, True])
def test_a_model_that_sees_pictures_reads_text_as_transformers_does(tmp_path, older):
    import torch
    from safetensors.torch import load_file, save_file as save
    from transformers import Gemma3Config, Gemma3ForConditionalGeneration
    text = tiny_models.BASE | tiny_models.MODELS['gemma3'][1]
    sight = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=8,
                 patch_size=4)
    torch.manual_seed(0)
    model = Gemma3ForConditionalGeneration(Gemma3Config(text_config=text, vision_config=sight, mm_tokens_per_image=4))
    with torch.no_grad():
        for p in model.parameters(): p.add_(torch.randn_like(p) * .1)
    model.eval().save_pretrained(tmp_path)
    if older:      # as the files of Google name them
        state = load_file(tmp_path/'model.safetensors')
        state = {n.replace('model.language_model.', 'language_model.model.').replace('model.vision', 'vision')
                 .replace('model.multi', 'multi'): t for n, t in state.items()}
        save(state, tmp_path/'model.safetensors')
    ids = torch.arange(3, 20)[None]
    with torch.no_grad(): want = model(input_ids=ids).logits[0].numpy()
    np.testing.assert_allclose(fl.llm.load(tmp_path)(ids[0].numpy()), want, atol=3e-5)


# ---- text

@pytest.mark.parametrize('model, pre, add_bos', [
    ('llama', None, True), ('t5', None, False), ('gpt2', 'gpt-2', False), ('gpt2', 'qwen2', False),
    ('gpt2', 'smollm', False), ('gpt2', 'llama-bpe', True), ('gpt2', 'llama3', True), ('gpt2', 'tekken', True),
    ('gpt2', 'lfm2', True), ('gpt2', 'gpt-4o', False), ('gpt2', 'glm4', False)])
def test_a_file_that_does_not_say_begins_a_text_as_llama_cpp_does(model, pre, add_bos):
    said = {'model': model, 'tokens': ['<s>', '</s>', '<unk>', 'a', 'b', 'ab'], 'token_type': [3, 3, 2, 1, 1, 1],
            'scores': np.zeros(6, 'f4'), 'merges': ['a b'], 'bos_token_id': 0, 'eos_token_id': 1} | (
            dict(pre=pre) if pre else {})
    named = lambda said: {f'tokenizer.ggml.{k}': v for k, v in said.items()}
    assert from_gguf(named(said)).add_bos is add_bos
    for told in (True, False): assert from_gguf(named(said | dict(add_bos_token=told))).add_bos is told


PIECES = ['<unk>', '<s>', '</s>', '▁', 'P', 'a', '▁is', '▁Paris', '.', '▁of', 'x']

def pieces():
    return from_gguf({'tokenizer.ggml.model': 'llama', 'tokenizer.ggml.tokens': PIECES,
                      'tokenizer.ggml.scores': -np.arange(11, dtype='f4'), 'tokenizer.ggml.bos_token_id': 1,
                      'tokenizer.ggml.token_type': [2, 3, 3] + [1] * 8, 'tokenizer.ggml.eos_token_id': 2})


class Says:
    "A model that says these ids; `padded` rows of its table have no token, and the largest logits."
    config = None
    def __init__(self, ids, tokenizer, padded=0, **given):
        self.words, self.tokenizer, self.padded, self.at = ids, tokenizer, padded, 0
        vars(self).update(given)

    def cache(self, capacity=None, dtype='f32'): return fl.llm.sampling.Remembered()

    def __call__(self, ids, cache=None, last=False):
        rows = np.zeros((len(ids), len(PIECES) + self.padded), 'f4')
        for k in range(len(ids)): rows[k, self.words[(len(cache) + k) % len(self.words)]] = 9
        rows[:, len(PIECES):] = 20
        cache.ids += list(ids)
        return fl.Tensor(rows[-1], 'vocab') if last else fl.Tensor(rows, 'seq vocab')


def test_the_first_word_of_a_completion_keeps_its_blank():
    tok = pieces()
    model = Says([7, 8, 2], tok)
    for prompt in ([1, 6], [6, 6, 6, 6]):
        model.words = [0] * (len(prompt) - 1) + [7, 8, 2]
        assert fl.llm.generate(model, prompt).run() == ' Paris.'
        beam = fl.llm.generation.beam_search(model, prompt, beams=1)[0]
        assert beam.text == ' Paris.'
    model.words = [7, 8, 2]
    assert fl.llm.generate(model, [1]).run() == 'Paris.'      # nothing but what begins a text is before it
    assert len(tok.encode('x')) == 2
    chat = fl.llm.Chat(Says([0, 7, 8, 2], tok), template='{{ messages[-1].content }}')
    assert chat.ask('x') == 'Paris.'      # an answer is a text of its own


@pytest.mark.torch
def test_texts_go_on_as_sentencepiece_goes_on(tmp_path):
    import sentencepiece as spm
    from fucinalib.text import Tokenizer
    lines = ['the cat sat on the mat', 'a bird sat on the log', 'dogs saw the cat, and the bird', 'so on and on']
    spm.SentencePieceTrainer.train(sentence_iterator=iter(lines * 9), model_prefix=str(tmp_path/'m'), vocab_size=60,
                                   minloglevel=2, model_type='bpe', byte_fallback=False)
    theirs, ours = spm.SentencePieceProcessor(model_file=str(tmp_path/'m.model')), Tokenizer.load(tmp_path/'m.model')
    for line in lines:
        ids = theirs.encode(line)
        for k in range(1, len(ids)):
            want = theirs.decode(ids)[len(theirs.decode(ids[:k])):]
            assert generation.text_behind(ours, ids[:k], ids[k:]) == want


def test_a_text_for_a_model_without_a_tokenizer_is_refused():
    model = Says([3], None)
    for ask in (fl.llm.generate, fl.llm.token_logprobs, fl.llm.beam_search, fl.llm.perplexity):
        with pytest.raises(OptionError, match="of a text, 'Once': this model has no tokenizer"): ask(model, 'Once')
    with pytest.raises(OptionError, match='no tokenizer'): fl.llm.score(model, 'Once', [[3]])
    with pytest.raises(OptionError, match='no tokenizer'): fl.llm.score(model, [3], ['Once'])
    assert [s.id for s in fl.llm.generate(model, [3, 4], max_new=2)] == [3, 3]


@pytest.mark.parametrize('options', [
    {}, dict(temperature=1.), dict(temperature=1., top_k=3), dict(temperature=2., top_p=.5),
    dict(temperature=1., min_p=.1), dict(repetition_penalty=1.2), dict(logprobs=5)], ids=str)
def test_rows_behind_the_vocabulary_are_never_said(options):
    "Tables are padded to a round number; the rows behind the last token were never trained."
    tok = pieces()
    steps = [*fl.llm.generate(Says([7], tok, padded=5), [6, 6], max_new=30, ignore_eos=True, seed=1, **options)]
    same = [*fl.llm.generate(Says([7], tok), [6, 6], max_new=30, ignore_eos=True, seed=1, **options)]
    assert steps == same and {id for s in steps for id, _ in s.top} <= {*range(len(PIECES))}


def test_tokens_that_fill_a_file_up_are_none():
    "Converters name the rows behind the last token of Qwen's; llama.cpp gives them no text."
    said = {'model': 'gpt2', 'pre': 'gpt-2', 'tokens': ['a', 'b', 'ab', '<s>', '[PAD4]', '[PAD5]'],
            'token_type': [1, 5, 1, 3, 5, 5], 'merges': ['a b'], 'bos_token_id': 3}
    tok = from_gguf({f'tokenizer.ggml.{k}': v for k, v in said.items()})
    assert len(tok) == 4 and tok.decode([0, 2]) == 'aab' and tok.encode('abab') == [2, 2]
    with pytest.raises(IndexOutOfBounds): tok.decode([5])


def test_a_draft_may_be_padded_otherwise():
    tok = pieces()
    made = fl.llm.generate(Says([7, 6], tok, padded=5), [6], draft=Says([7, 6], tok, padded=9), max_new=8)
    assert made.run() == fl.llm.generate(Says([7, 6], tok), [6], max_new=8).run() and made.tally[1] > 0


def test_ids_behind_the_vocabulary_are_refused():
    tok = pieces()
    model = Says([7], tok, padded=5)
    for ask in (fl.llm.generate, fl.llm.token_logprobs, fl.llm.beam_search):
        with pytest.raises(IndexOutOfBounds, match='of id 12: the tokenizer has 11'): ask(model, [6, 12])
    with pytest.raises(IndexOutOfBounds, match='12 is no id of 11'): tok.decode([6, 12])
    with pytest.raises(IndexOutOfBounds): tok.stream().push(12)


# ---- configurations that say what cannot be
ODD = None, 'x', -1, 0, float('nan'), 10**30, [], {}, 1.5, True, [None], float('inf')

def llama_folder(path, **entries):
    "The small llama of the tests with other entries."
    kept = Path(__file__).parent/'data'/'decoders'/'llama'
    path.mkdir(exist_ok=True)
    config = json.loads((kept/'config.json').read_text())
    for name, value in entries.items():
        inside = config['rope_parameters'] if name in config['rope_parameters'] else config
        inside[name] = value
    (path/'config.json').write_text(json.dumps(config))
    (path/'model.safetensors').write_bytes((kept/'model.safetensors').read_bytes())
    return path

@pytest.mark.parametrize('name', '''hidden_size num_attention_heads num_key_value_heads num_hidden_layers head_dim
    vocab_size intermediate_size max_position_embeddings rms_norm_eps hidden_act model_type tie_word_embeddings mlp_bias
    attention_bias rope_parameters rope_theta rope_type factor low_freq_factor high_freq_factor
    original_max_position_embeddings'''.split())
def test_an_entry_of_a_kind_that_cannot_be_is_refused_or_read(tmp_path, name):
    "A model, or an error of the library: never one of Python."
    for value in ODD:
        try: model = fl.llm.load(llama_folder(tmp_path/'m', **{name: value}))
        except FucinaError as e: assert 'help' in str(e) and len(str(e)) < 900
        else: assert np.isfinite(model([1, 2], last=True).data).all(), (name, value)

@pytest.mark.parametrize('name, value, said', [
    ('hidden_size', 'x', "hidden_size: 'x'"), ('num_attention_heads', 0, 'num_attention_heads: 0'),
    ('tie_word_embeddings', 'no', 'true or false'), ('rope_parameters', [], 'an object'),
    ('rope_theta', 0, 'a number above 0'), ('hidden_act', ['silu'], 'a text'), ('model_type', [], 'no family'),
    ('factor', None, 'rope_parameters does not say factor'), ('num_hidden_layers', 10**9, 'from 1 to 65536')])
def test_what_an_entry_should_have_been_is_said(tmp_path, name, value, said):
    with pytest.raises(OptionError, match=said): fl.llm.load(llama_folder(tmp_path/'m', **{name: value}))

def test_divisors_of_a_rope_are_one_for_each_pair():
    from fucinalib.llm.families import Keys, rope_of
    most = Keys(dict(max_position_embeddings=64))
    long = dict(rope_type='longrope', original_max_position_embeddings=16, short_factor=[1.] * 4, long_factor=[2.] * 3)
    with pytest.raises(OptionError, match='long_factor has 3 numbers for 4 pairs'): rope_of(long, 8, most)
    del long['long_factor']
    with pytest.raises(OptionError, match='does not say long_factor'): rope_of(long, 8, most)

@pytest.mark.parametrize('file', ['config.json', 'generation_config.json'])
@pytest.mark.parametrize('text', ['', '[]', '5', 'null', '[' * 100_000, '{"a": '])
def test_a_file_of_settings_that_is_no_json_object(tmp_path, file, text):
    (llama_folder(tmp_path/'m')/file).write_text(text)
    with pytest.raises(FileError, match='no JSON'): fl.llm.load(tmp_path/'m')

def test_names_to_ignore_are_texts(tmp_path):
    for wrong in (None, 5, [5]):
        with pytest.raises(OptionTypeError, match='ignore is'): fl.llm.load(llama_folder(tmp_path/'m'), ignore=wrong)
