"""Grouped products, mixtures of experts, and the store that streams them (chapters 25b, 46)."""
import json, os, threading, warnings
import numpy as np
import pytest
import fucinalib as fl
import tiny_models
from fucinalib import Experts, IndexOutOfBounds, Tensor, moe_ffn, param, route_plan
from fucinalib.errors import FileError, GradError, InvalidShape, OptionError, StateMismatch
from fucinalib.files import write_gguf
from fucinalib.llm.decoder import Model, tensors_of
from fucinalib.llm.families import read_config
from fucinalib.llm.names import tensor_names
from fucinalib.llm.gathered import as_mxfp4
from fucinalib.llm.store import ExpertStore, Place, StreamedWeight, stream_experts
from fucinalib.llm.step import ROW_BENDS
from fucinalib.ops.blocks import BlockTensor
from fucinalib.ops.mixture import BENDS

BACKENDS = pytest.mark.parametrize('backend', fl.backends())


def drawn(tags, *shape, seed=0, dtype='f4'):
    return Tensor(np.random.default_rng(seed).normal(size=shape).astype(dtype), tags)


# ---- groups

@BACKENDS
@pytest.mark.parametrize('dtype', ['f4', 'f8'])
@pytest.mark.parametrize('counts', [[3, 0, 4, 1], [0, 8, 0, 0], [2, 2, 2, 2]])
def test_each_row_meets_its_own_matrix(backend, dtype, counts):
    x, w = drawn('row in', 8, 5, dtype=dtype), drawn('group out in', 4, 3, 5, seed=1, dtype=dtype)
    own = np.repeat(np.arange(4), counts)
    a, b = param(x), param(w)
    with fl.use_backend(backend):
        y = a.grouped_dot(b, counts)
        y.backward(np.ones(y.shape, dtype))
    assert y.tags == ('row', 'out') and y.dtype == x.dtype
    tol = dict(rtol=1e-5, atol=1e-5) if dtype == 'f4' else dict(rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(y.data, np.einsum('ri,roi->ro', x.data, w.data[own]), **tol)
    np.testing.assert_allclose(a.grad.data, w.data[own].sum(1), **tol)
    sums = np.stack([x.data[own == e].sum(0) for e in range(4)])
    np.testing.assert_allclose(b.grad.data, np.broadcast_to(sums[:, None], w.shape), **tol)


@BACKENDS
@pytest.mark.parametrize('kind', ['q8_0', 'q4_0', 'q4_k', 'f16', 'bf16'])
def test_matrices_of_few_bits_are_read_where_they_lie(backend, kind):
    w, x = drawn('group out in', 3, 6, 256, seed=1), drawn('row in', 5, 256)
    packed, counts = w.to(kind), [2, 0, 3]
    if isinstance(packed, BlockTensor):      # x rounded to 8 bits, as each product by itself has it
        rounded = x.grouped_dot(packed, counts)
        own = [x.narrow('row', a, n).dot(packed.select(group=e), 'in').data for a, n, e in ((0, 2, 0), (2, 3, 2))]
        np.testing.assert_array_equal(rounded, np.concatenate(own))
        packed = packed.with_activation('f32')
    with fl.use_backend(backend): y = x.grouped_dot(packed, counts)
    np.testing.assert_allclose(y, x.grouped_dot(packed.to('f32'), counts), rtol=2e-5, atol=2e-4)
    if isinstance(packed, BlockTensor): assert np.shares_memory(packed.select(group=1).blocks, packed.blocks)
    a = param(x)
    a.grouped_dot(packed, counts).sum().backward()
    b = param(x)
    b.grouped_dot(packed.to('f32'), counts).sum().backward()
    np.testing.assert_allclose(a.grad, b.grad, rtol=2e-5, atol=2e-4)


def test_a_route_plan_is_a_stable_sort():
    chosen = np.random.default_rng(0).integers(0, 6, (40, 2))
    plan, flat = route_plan(chosen, 7), chosen.reshape(-1)
    assert plan.order.tolist() == sorted(range(80), key=lambda i: (flat[i], i))
    assert plan.order[plan.inverse].tolist() == list(range(80)) == plan.inverse[plan.order].tolist()
    assert plan.count.tolist() == [(flat == e).sum() for e in range(7)]
    assert (plan.pairs, plan.active, plan.most) == (80, len(set(flat)), plan.count.max())
    assert plan.owner.tolist() == sorted(flat)
    for bad in ([[0, 7]], [[-1, 0]]):
        with pytest.raises(IndexOutOfBounds, match='of 7'): route_plan(bad, 7)
    with pytest.raises(fl.DTypeError): route_plan([[.5]], 7)


# ---- a mixture

def mixture(dtype='f8', biased=True, act='swiglu', n=5, embed=4, ff=6):
    draw = lambda tags, *shape, seed: drawn(tags, *shape, seed=seed, dtype=dtype)
    biases = dict(gate_bias=draw('expert ff', n, ff, seed=4), up_bias=draw('expert ff', n, ff, seed=5),
                  down_bias=draw('expert embed', n, embed, seed=6)) if biased else {}
    return Experts(draw('expert ff embed', n, ff, embed, seed=1), draw('expert ff embed', n, ff, embed, seed=2),
                   draw('expert embed ff', n, embed, ff, seed=3), act, **biases)


def naive(x, m, selected, weights):
    "Every expert for every word, in NumPy."
    u, g = [np.einsum('td,efd->tef', x, w.data) + b.data for w, b in ((m.up, m.up_bias), (m.gate, m.gate_bias))]
    sigmoid = lambda v: 1 / (1 + np.exp(-v))
    if m.act == 'swiglu': h = u * g * sigmoid(g)
    if m.act == 'swiglu_clamp10': g = np.minimum(g, 10); h = np.clip(u, -10, 10) * g * sigmoid(g)
    if m.act == 'swiglu_oai': g = np.minimum(g, 7); h = (np.clip(u, -7, 7) + 1) * g * sigmoid(1.702 * g)
    y = np.einsum('tef,edf->ted', h, m.down.data) + m.down_bias.data
    return (np.take_along_axis(y, selected[..., None], 1) * weights[..., None]).sum(1)


@BACKENDS
@pytest.mark.parametrize('act', ['swiglu', 'swiglu_clamp10', 'swiglu_oai'])
def test_a_mixture_is_the_weighted_sum_of_the_chosen(backend, act):
    x, m, rng = drawn('token embed', 9, 4, dtype='f8') * 4., mixture(act=act), np.random.default_rng(2)
    selected, weights = rng.integers(0, 5, (9, 3)), rng.normal(size=(9, 3))      # one may be chosen twice
    with fl.use_backend(backend): y = moe_ffn(x, m, selected, Tensor(weights, 'token choice'))
    assert y.tags == x.tags
    np.testing.assert_allclose(y, naive(x.data, m, selected, weights), rtol=1e-10, atol=1e-10)

def test_what_a_token_gets_does_not_depend_on_the_others():
    x, m, w = drawn('token embed', 7, 4), mixture('f4'), drawn('token choice', 7, 2, seed=3)
    selected = np.array([[0, 3], [3, 0], [1, 1], [4, 2], [0, 4], [3, 3], [2, 0]])
    y = moe_ffn(x, m, selected, w).data
    for t in range(7):
        one = moe_ffn(x.narrow('token', t, 1), m, selected[t:t + 1], w.narrow('token', t, 1)).data
        np.testing.assert_allclose(one[0], y[t], rtol=1e-5, atol=1e-6)

@pytest.mark.parametrize('act', ['swiglu', 'geglu', 'swiglu_oai'])
def test_a_mixture_has_all_its_gradients(act):
    m = mixture(act=act)
    names = 'gate up down gate_bias up_bias down_bias'.split()
    def f(x, w, *parts): return moe_ffn(x, Experts(**dict(zip(names, parts)), act=act), [[0, 3], [3, 4]], w)
    operands = [drawn('token embed', 2, 4, dtype='f8'), drawn('token choice', 2, 2, seed=9, dtype='f8')]
    assert fl.gradcheck(f, *map(param, operands + [getattr(m, n) for n in names]))

def test_what_does_not_fit_is_refused():
    x, m, w = drawn('token embed', 2, 4), mixture('f4'), drawn('token choice', 2, 2)
    cases = [(fl.TagError, lambda: moe_ffn(x.select(token=0), m, [[0, 1]], w)),
             (fl.ShapeMismatch, lambda: moe_ffn(x, m, [[0, 1]], w)),
             (fl.TagError, lambda: moe_ffn(x, m, [[0, 1]] * 2, w.rename('word choice'))),
             (IndexOutOfBounds, lambda: moe_ffn(x, m, [[0, 5]] * 2, w)),
             (OptionError, lambda: moe_ffn(x, mixture('f4', act='relu'), [[0, 1]] * 2, w)),
             (fl.DTypeError, lambda: moe_ffn(x, x, [[0, 1]] * 2, w))]
    for kind, call in cases:
        with pytest.raises(kind, match='moe_ffn[\\s\\S]*help:|route_plan[\\s\\S]*help:'): call()


@pytest.mark.torch
@pytest.mark.parametrize('name', ['Mixtral', 'Qwen2Moe', 'GptOss'])
def test_layers_of_transformers(name):
    "The whole layer: router, experts, and what every word goes through."
    torch, transformers = pytest.importorskip('torch'), pytest.importorskip('transformers')
    from importlib import import_module
    folder = dict(Mixtral='mixtral', Qwen2Moe='qwen2_moe', GptOss='gpt_oss')[name]
    own = import_module(f'transformers.models.{folder}.modeling_{folder}')
    options = dict(hidden_size=8, intermediate_size=6, num_local_experts=5, num_experts=5, num_experts_per_tok=2,
                   moe_intermediate_size=6, shared_expert_intermediate_size=4)
    layer = getattr(own, dict(GptOss='GptOssMLP').get(name, f'{name}SparseMoeBlock'))(
        getattr(transformers, f'{name}Config')(**options)).double()
    layer.config = None
    torch.manual_seed(0)
    state = {k: torch.nn.init.normal_(v) for k, v in layer.named_parameters()}
    a = {k: v.detach().numpy() for k, v in state.items()}
    x = np.random.default_rng(0).normal(size=(1, 11, 8))
    want = layer(torch.tensor(x))
    want = (want[0] if isinstance(want, tuple) else want).detach().numpy()[0]
    joined = a['experts.gate_up_proj']
    if name == 'GptOss': gate, up = [joined[..., i::2].swapaxes(1, 2) for i in (0, 1)]
    else: gate, up = joined[:, :6], joined[:, 6:]
    down = a['experts.down_proj'] if name != 'GptOss' else a['experts.down_proj'].swapaxes(1, 2)
    biases = {}
    if name == 'GptOss':
        b = a['experts.gate_up_proj_bias']
        biases = dict(gate_bias=b[:, ::2], up_bias=b[:, 1::2], down_bias=a['experts.down_proj_bias'])
    tags = dict(gate_bias='expert ff', up_bias='expert ff', down_bias='expert embed')
    m = Experts(Tensor(gate, 'expert ff embed'), Tensor(up, 'expert ff embed'), Tensor(down, 'expert embed ff'),
                'swiglu_oai' if name == 'GptOss' else 'swiglu', **{n: Tensor(b, tags[n]) for n, b in biases.items()})
    rows, router = Tensor(x[0], 'token embed'), a['router.weight' if name == 'GptOss' else 'gate.weight']
    scores = rows.dot(Tensor(router, 'expert embed'), 'embed')
    if name == 'GptOss': scores = scores + Tensor(a['router.bias'], 'expert')
    to = scores.router_topk('expert', 2, normalize_selected=name != 'Qwen2Moe')
    y = moe_ffn(rows, m, to.selected, to.weights).data
    if name == 'Qwen2Moe':
        part = {n: a[f'shared_expert.{n}_proj.weight'].T for n in ('gate', 'up', 'down')}
        g = x[0] @ part['gate']
        shared = (x[0] @ part['up'] * g / (1 + np.exp(-g))) @ part['down']
        y = y + shared / (1 + np.exp(-x[0] @ a['shared_expert_gate.weight'].T))
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-5)      # its router is in f32


# ---- models

SMALL = dict(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=3, num_attention_heads=2,
             head_dim=16, num_key_value_heads=1, max_position_embeddings=64)
QWEN = SMALL | dict(model_type='qwen3_moe', num_experts=8, num_experts_per_tok=2, moe_intermediate_size=32,
                    norm_topk_prob=True)


def model_of(values, seed=0):
    c, rng = read_config(values), np.random.default_rng(seed)
    def one(s): return Tensor(rng.normal(size=tuple(s.values()), scale=.4).astype('f4'), ' '.join(s))
    return Model(c, {n: one(s) for n, s in tensors_of(c).items()})


def test_a_word_reads_the_chosen_experts_alone():
    "What was not chosen is NaN, and nothing changes."
    for values in (QWEN, SMALL | dict(model_type='gpt_oss', num_local_experts=6, num_experts_per_tok=2)):
        model = model_of(values)
        ids = np.arange(9)
        cache = model.cache()
        model(ids, cache=cache)
        used, want = {}, None
        def note(m, x): used.setdefault(id(m), set()).update(m.routes(x).selected.data.reshape(-1).tolist())
        for b in model.blocks:
            kind, forward = type(b.feed), type(b.feed).forward
        with pytest.MonkeyPatch.context() as p:
            p.setattr(kind, 'forward', lambda m, x: (note(m, x), forward(m, x))[1])
            want = model(np.arange(10))[{'seq': 9}].numpy()
        last = {}
        with pytest.MonkeyPatch.context() as p:
            def only(m, x):
                last[id(m)] = set(m.routes(x).selected.data.reshape(-1).tolist())
                return forward(m, x)
            p.setattr(kind, 'forward', only)
            model.fast = False
            model(np.array([9]), cache=cache)
            cache.truncate(9)
        for b in model.blocks:
            for w in (b.feed.gate, b.feed.up, b.feed.down):
                for e in set(range(w.shape[0])) - last[id(b.feed)]: w.data[e] = np.nan
        for model.fast in (None, False):
            np.testing.assert_allclose(model(np.array([9]), cache=cache, last=True), want, atol=2e-6)
            cache.truncate(9)


def test_mxfp4_of_gpt_oss_is_that_of_gguf():
    rng = np.random.default_rng(0)
    codes, scales = rng.integers(0, 256, (2, 3, 16), np.uint8), rng.integers(118, 130, (2, 3), np.uint8)
    table = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])
    table = np.concatenate([table, -table])
    want = np.stack([table[codes & 15], table[codes >> 4]], -1).reshape(2, 3, 32) * 2.**(scales[..., None] - 127.)
    q = BlockTensor(as_mxfp4(codes, scales), 'mxfp4', 'out in')
    np.testing.assert_array_equal(q.dequantize(), want.reshape(2, 96))


@pytest.mark.torch
def test_gpt_oss_with_blocks_as_its_makers_store_them(tmp_path):
    "Blocks and scales in the file: what transformers makes of them, and they stay blocks."
    torch, transformers = pytest.importorskip('torch'), pytest.importorskip('transformers')
    from safetensors.numpy import load_file, save_file
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors
    config = transformers.GptOssConfig(**tiny_models.BASE | dict(
        hidden_size=32, intermediate_size=64, head_dim=16, num_local_experts=4, num_experts_per_tok=2, sliding_window=8,
        num_hidden_layers=2, rope_parameters=tiny_models.YARN | dict(truncate=False)))
    torch.manual_seed(0)
    model = transformers.GptOssForCausalLM(config).eval()
    rng = np.random.default_rng(1)
    with torch.no_grad():
        for p in model.parameters(): p.copy_(torch.tensor(rng.normal(size=p.shape, scale=.3)))
        packed = {}
        for i, layer in enumerate(model.model.layers):
            for n, rows, k in (('gate_up_proj', 128, 32), ('down_proj', 32, 64)):
                codes = torch.tensor(rng.integers(0, 256, (4, rows, k // 32, 16), np.uint8))
                scales = torch.tensor(rng.integers(122, 126, (4, rows, k // 32), np.uint8))
                getattr(layer.mlp.experts, n).copy_(convert_moe_packed_tensors(codes, scales, dtype=torch.float32))
                packed |= {f'model.layers.{i}.mlp.experts.{n}_blocks': codes.numpy(),
                           f'model.layers.{i}.mlp.experts.{n}_scales': scales.numpy()}
    model.save_pretrained(tmp_path)
    (tmp_path/'generation_config.json').unlink(missing_ok=True)
    state = {k: v for k, v in load_file(tmp_path/'model.safetensors').items()
             if not k.endswith(('experts.gate_up_proj', 'experts.down_proj'))}
    save_file(state | packed, tmp_path/'model.safetensors')
    said = json.loads((tmp_path/'config.json').read_text())
    (tmp_path/'config.json').write_text(json.dumps(said | dict(quantization_config=dict(quant_method='mxfp4'))))
    ours, ids = fl.llm.load(tmp_path), rng.integers(3, 64, 14)
    assert str(ours.blocks[0].feed.up.dtype) == 'mxfp4'
    with torch.no_grad(): want = model(input_ids=torch.tensor(ids[None])).logits[0].numpy()
    np.testing.assert_allclose(ours(ids), want, atol=2e-5)


def test_an_expert_that_is_missing_is_named(tmp_path):
    from test_decoder import folder
    from safetensors.numpy import load_file, save_file
    home = folder(tmp_path/'m', QWEN)
    state = load_file(home/'model.safetensors')
    for name in [*state]:
        if '.experts.' not in name: continue
        base, _, end = name.partition('.experts.')
        for e, w in enumerate(state.pop(name)): state[f'{base}.experts.{e}.{end}'] = w.copy()
    state = {k: v for k, v in state.items() if 'shared' not in k}
    save_file(state, home/'model.safetensors')
    whole = fl.llm.load(home)
    assert whole.blocks[0].feed.up.shape == (8, 32, 32)
    save_file({k: v for k, v in state.items() if 'layers.1.mlp.experts.3.up_proj' not in k}, home/'model.safetensors')
    with pytest.raises(StateMismatch, match='layers.1.mlp.experts.up_proj'): fl.llm.load(home)


METADATA = {'general.architecture': 'qwen3moe', 'qwen3moe.embedding_length': 32, 'qwen3moe.block_count': 3,
            'qwen3moe.context_length': 64, 'qwen3moe.feed_forward_length': 64, 'qwen3moe.attention.head_count': 2,
            'qwen3moe.attention.head_count_kv': 1, 'qwen3moe.attention.key_length': 16, 'qwen3moe.expert_count': 8,
            'qwen3moe.expert_used_count': 2, 'qwen3moe.expert_feed_forward_length': 32,
            'qwen3moe.attention.layer_norm_rms_epsilon': 1e-6, 'qwen3moe.rope.freq_base': 10000.}


def as_gguf(path, kind='q8_0', seed=0, parts=1):
    "A model of random weights in a GGUF file, or in several, its maps in blocks."
    c, rng, tensors = read_config(QWEN), np.random.default_rng(seed), {}
    own = tensors_of(c)
    for theirs, (ours, _) in tensor_names(c, 'gguf').items():
        if 'shexp' in theirs or theirs.endswith(('ffn_gate.weight', 'ffn_up.weight', 'ffn_down.weight')): continue
        t = Tensor(rng.normal(size=tuple(own[ours[0]].values()), scale=.4).astype('f4'), ' '.join(own[ours[0]]))
        tensors[theirs] = t.to(kind) if t.ndim > 1 and 'ffn_gate_inp' not in theirs else t
    if parts == 1: write_gguf(path, METADATA, tensors)
    for i in range(parts if parts > 1 else 0):
        name, told = path.with_name(f'm-{i + 1:05}-of-{parts:05}.gguf'), {'split.no': i, 'split.count': parts}
        write_gguf(name, (METADATA if i == 0 else {'general.architecture': 'qwen3moe'}) | told,
                   {n: t for k, (n, t) in enumerate(tensors.items()) if k % parts == i})
    return path if parts == 1 else path.with_name(f'm-00001-of-{parts:05}.gguf')


def test_a_gguf_says_what_a_folder_says(tmp_path):
    said = read_config(QWEN | dict(rms_norm_eps=float(np.float32(1e-6))))
    assert fl.llm.load(as_gguf(tmp_path/'m.gguf')).config == said


# ---- the store

def texts(model, n=12):
    "Logits of a prompt and of words one by one."
    cache = model.cache()
    ids = np.random.default_rng(5).integers(0, 64, n + 8)
    return [model(ids[:n], cache=cache, last=True).numpy()] + [
        model(ids[i:i + 1], cache=cache, last=True).numpy() for i in range(n, n + 8)]


@pytest.mark.parametrize('kind', ['q8_0', 'q4_0', 'f32'])
@pytest.mark.parametrize('room', [1, 3, 24])
def test_a_model_larger_than_the_memory_it_is_given(tmp_path, kind, room):
    "The same logits with room for one expert, for three, for all; and never more bytes than were given."
    path = as_gguf(tmp_path/'m.gguf', kind)
    want, model = texts(fl.llm.load(path)), fl.llm.load(path)
    one = 3 * {'f32': 4096, 'q8_0': 32 * 34, 'q4_0': 32 * 18}[kind]
    with stream_experts(model, memory=room * one, ahead=False) as store:
        assert isinstance(model.blocks[0].feed.up, StreamedWeight)
        found = texts(model)
        np.testing.assert_allclose(found, want, atol=2e-5)
        if room == 24: np.testing.assert_array_equal(found, want)
        s = store.stats
        assert s.peak <= room * one and s.bytes_read == s.misses * one and s.reads == 3 * s.misses
        assert s.hits + s.misses == s.asked and store.total() == 24 * one
        if room == 24: assert s.misses == len({(l, e) for l, a in store.usage.items() for e in np.flatnonzero(a)})
        model.fast = False
        np.testing.assert_allclose(texts(model)[-1], want[-1], atol=2e-5)


def test_experts_of_a_model_in_several_files(tmp_path):
    path = as_gguf(tmp_path/'m.gguf', parts=3)
    want, model = texts(fl.llm.load(path)), fl.llm.load(path)
    with stream_experts(model, memory=20_000) as store:
        np.testing.assert_allclose(texts(model), want, atol=2e-5)
        assert store.stats.misses and store.stats.peak <= 20_000

def test_rounding_while_loading_leaves_routers_and_biases(tmp_path):
    from test_decoder import folder
    home = folder(tmp_path/'m', SMALL | dict(model_type='gpt_oss', num_local_experts=4, num_experts_per_tok=2))
    whole, rounded = fl.llm.load(home), fl.llm.load(home, quant='q8_0')
    f = rounded.blocks[0].feed
    assert str(f.up.dtype) == str(f.down.dtype) == 'q8_0' and f.up_bias.dtype == f.router.weight.dtype == 'f32'
    a, b = [m(np.arange(9)).numpy() for m in (whole, rounded)]
    assert np.median(np.abs(a - b)) < .05 * a.std()      # a near tie of experts may go the other way


def filled(tmp_path, memory, **options):
    "A store of 2 layers of 4 experts; expert e of layer l is full of 10 l + e."
    data = np.concatenate([np.full(12, 10 * l + e, '<f4') for l in range(2) for p in range(3) for e in range(4)])
    (tmp_path/'w.bin').write_bytes(data.tobytes())
    store = ExpertStore(tmp_path/'w.bin', memory, **options)
    for l in range(2): store.add_layer(l, [Place('f32', 192 * (3 * l + i), (4, 3, 4)) for i in range(3)])
    return store

def ask(store, layer, *chosen):
    with store.acquire(layer, chosen):
        for e in chosen:
            for i in range(3): assert (store.part(layer, i, e).data == 10 * layer + e).all()


def test_what_was_used_last_stays(tmp_path):
    with filled(tmp_path, 2 * 144).finalize() as store:
        for e in (0, 1, 0, 2, 0, 1): ask(store, 0, e)
        assert (store.stats.hits, store.stats.misses) == (2, 4)      # 1 went when 2 came, and was read again
        ask(store, 1, 3, 3)
        assert store.stats.asked == 7      # twice in one window is once
        with pytest.raises(GradError, match='acquire'): store.part(0, 0, 0)
        with store.acquire(0, [0]), store.acquire(1, [1]): assert store.part(0, 0, 0).data[0, 0] == 0
    assert store.stats.peak <= 2 * 144

def test_the_usage_file_says_what_to_pin(tmp_path):
    with filled(tmp_path, 3 * 144).finalize() as store:
        for _ in range(5): ask(store, 0, 2)
        ask(store, 1, 1); ask(store, 1, 1); ask(store, 0, 3)
        assert store.save_usage().name == 'w.bin.experts'
    with filled(tmp_path, 3 * 144, pin=.7, least=8).finalize() as store:
        assert set(store.pinned) == {(0, 2), (1, 1)}
        ask(store, 0, 2)
        assert store.stats.pin_hits == 1 and store.stats.hit_rate() == 1.
        for _ in range(3): ask(store, 1, 0)
        assert store.repin_pass() == 1 and set(store.pinned) == {(0, 2), (1, 0)}
        assert store.repin_pass() == 0
        store.save_usage(), store.save_usage()      # each use is written once
    assert sum(map(sum, json.loads((tmp_path/'w.bin.experts').read_text()).values())) == 12
    with filled(tmp_path, 3 * 144, least=100).finalize() as store:
        assert not store.pinned
        ask(store, 0, 0), store.save_usage()      # runs too short to be believed add up
    with filled(tmp_path, 3 * 144, least=13).finalize() as store: assert store.pinned
    for junk in ('', '[]', '{"0": ["x"], "1": []}', '{"0": [1e99], "1": [1e99]}', '[' * 9999,
                 '{"0": [1], "1": [2]}', '{"0": "x"}'):
        (tmp_path/'w.bin.experts').write_text(junk)
        with filled(tmp_path, 3 * 144, least=1).finalize() as store: assert not store.pinned

def test_hints_are_read_ahead(tmp_path):
    with filled(tmp_path, 8 * 144).finalize() as store:
        store.pilot_hint(1, [0, 2])
        store.pilot.submit(lambda: None).result()
        assert (store.stats.hints, store.stats.misses) == (2, 0)
        ask(store, 1, 0); ask(store, 1, 3)
        assert store.stats.hints_used == 1 and store.stats.hint_recall() == .5

def test_experts_that_are_there_may_be_preferred(tmp_path):
    with filled(tmp_path, 8 * 144, prefer=(1, 3)).finalize() as store:
        ask(store, 0, 1)
        assert store.cache_route_top_k(0, [4., 1., 3., 2.], 2) == [0, 2]      # 1 is not among the best three
        assert store.cache_route_top_k(0, [4., 2., 3., 1.], 2) == [0, 1]
        assert store.stats.swap_rate() == .25
    with filled(tmp_path, 8 * 144).finalize() as store: assert store.cache_route_top_k(0, [1., 2.], 1) is None

def test_a_mirror_takes_its_share(tmp_path):
    store = filled(tmp_path, 8 * 144)
    copy = tmp_path/'copy.bin'
    copy.write_bytes((tmp_path/'w.bin').read_bytes())
    store.add_mirror(copy, 1.)
    with store.finalize():
        for l in range(2): ask(store, l, 0, 1, 2, 3)
        used = {store._drive(l, e)[0] for l in range(2) for e in range(4)}
        assert len(used) == 2

def test_what_cannot_be_is_refused(tmp_path):
    fresh = lambda: filled(tmp_path, 999)
    cases = [(OptionError, 'hold no expert', lambda: filled(tmp_path, 143).finalize()),
             (OptionError, 'has not begun', lambda: ask(filled(tmp_path, 999), 0, 1)),
             (OptionError, 'is there already', lambda: filled(tmp_path, 999).add_layer(0, [])),
             (OptionError, 'behind finalize', lambda: filled(tmp_path, 999).finalize().add_layer(5, [])),
             (OptionError, 'no layer 7', lambda: ask(filled(tmp_path, 999).finalize(), 7, 1)),
             (InvalidShape, 'three maps', lambda: fresh().add_layer(5, [Place('f32', 0, (2, 2, 2))] * 2)),
             (InvalidShape, 'three maps', lambda: fresh().add_layer(5, [Place('q8_0', 0, (2, 2, 9))] * 3)),
             (FileError, 'ends within', lambda: filled(tmp_path, 999).add_layer(5, [Place('f32', 0, (900, 2, 2))] * 3)),
             (FileError, 'could not be opened', lambda: ExpertStore(tmp_path/'absent', 99)),
             (OptionError, 'memory', lambda: ExpertStore(tmp_path/'w.bin', 0)),
             (FileError, 'is no copy', lambda: filled(tmp_path, 999).add_mirror(__file__)),
             (OptionError, 'GGUF', lambda: stream_experts(model_of(QWEN), 1 << 20))]
    for kind, message, call in cases:
        with pytest.raises(kind, match=f'{message}[\\s\\S]*help:'): call()

def test_a_file_that_becomes_short_is_told(tmp_path):
    with filled(tmp_path, 999).finalize() as store:
        os.truncate(tmp_path/'w.bin', 100)
        with pytest.raises(FileError, match='ends within layer 1'): ask(store, 1, 0)
        assert not store.open

def test_threads_take_turns(tmp_path):
    with filled(tmp_path, 3 * 144).finalize() as store:
        wrong = []
        def work(seed):
            rng = np.random.default_rng(seed)
            try:
                for _ in range(200): ask(store, int(rng.integers(2)), *rng.integers(0, 4, 2).tolist())
            except Exception as e: wrong.append(e)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
        assert not wrong and store.stats.peak <= 3 * 144


# ---- short convolutions

LFM2 = SMALL | dict(model_type='lfm2', layer_types=['conv', 'full_attention', 'conv'], block_auto_adjust_ff_dim=False)

def test_a_convolution_remembers_a_few_rows_and_can_go_back():
    model = model_of(LFM2)
    ids, cache = np.random.default_rng(1).integers(0, 64, 50), model.cache()
    whole = model(ids).numpy()
    np.testing.assert_allclose(model(ids[:20], cache=cache), whole[:20], atol=2e-5)
    for fast in (None, False):
        model.fast = fast
        for i in range(20, 50): y = model(ids[i:i + 1], cache=cache, last=True)
        np.testing.assert_allclose(y, whole[-1], atol=2e-5)
        cache.truncate(20)
    np.testing.assert_allclose(model(ids[20:], cache=cache, last=True), whole[-1], atol=2e-5)
    assert cache.layers[0].v.size == 0 and cache.layers[0].k.shape[0] < 120 and cache.layers[0].dtype == 'f32'
    with pytest.raises(OptionError, match='compares no words'): model.attention(ids, 0)
    assert model.attention(ids, 1).shape == (2, 50, 50)

def test_the_metadata_of_lfm2_says_its_layers():
    from fucinalib.llm.names import as_config
    said = {'embedding_length': 32, 'block_count': 3, 'context_length': 64, 'feed_forward_length': 64, 'vocab_size': 64,
            'attention.head_count': 2, 'attention.head_count_kv': np.array([0, 1, 0]), 'attention.key_length': 16,
            'shortconv.l_cache': 3, 'attention.layer_norm_rms_epsilon': 1e-5, 'rope.freq_base': 1e6}
    found = as_config({'general.architecture': 'lfm2'} | {f'lfm2.{k}': v for k, v in said.items()}, lambda name: None)
    assert read_config(found) == read_config(LFM2 | dict(norm_eps=1e-5))


def test_maps_and_biases_of_experts_must_fit():
    x = drawn('token embed', 5, 4, dtype='f4')
    maps = dict(gate=drawn('expert ff embed', 5, 6, 4), up=drawn('expert ff embed', 5, 6, 4),
                down=drawn('expert embed ff', 5, 4, 6))
    routes = drawn('token expert', 5, 5).router_topk('expert', 2)
    for name in maps:
        for wrong in (None, 5, 'x', float('nan'), x):
            with pytest.raises(fl.DTypeError, match=f'{name} of the experts is'):
                fl.moe_ffn(x, Experts(**maps | {name: wrong}), *routes)
        for wrong in (5, 'x', drawn('expert ff', 5, 5), drawn('expert ff embed', 5, 6, 4)):
            with pytest.raises(fl.ShapeMismatch, match=f'{name}_bias of the experts is'):
                fl.moe_ffn(x, Experts(**maps, **{f'{name}_bias': wrong}), *routes)

@pytest.mark.parametrize('wrong', [None, 1.5, 'x', float('nan'), True, 0, 10**12, 10**30])
def test_how_many_experts_there_are(wrong):
    with pytest.raises(fl.errors.FucinaError, match='experts'): fl.route_plan([0], wrong)

def test_what_is_no_choice_and_no_scores():
    with pytest.raises(fl.DTypeError, match='whole numbers'): fl.route_plan([[0, 1], [2]], 4)
    scores = drawn('token expert', 5, 5)
    for wrong in (None, [], [[0.5]], [[0, 1], [2]]):
        with pytest.raises(fl.DTypeError, match='whole numbers'): fl.llm.balance_loss(scores, wrong)
    with pytest.raises(fl.IndexOutOfBounds): fl.llm.balance_loss(scores, [[0, 9]])
    for wrong in (None, 5, [[1.]]):
        with pytest.raises(fl.errors.FucinaError, match='scores'): fl.llm.balance_loss(wrong, [0])
    for wrong in (None, 5):
        for call in (fl.llm.routes_of, fl.llm.stream_experts):
            with pytest.raises(fl.errors.FucinaError, match='no language model'): call(wrong, [1])

# ---- one row for keys and values

DEEPSEEK = SMALL | dict(model_type='deepseek_v3', n_routed_experts=8, n_group=4, topk_group=2, num_experts_per_tok=3,
                        moe_intermediate_size=16, kv_lora_rank=24, q_lora_rank=10, qk_rope_head_dim=8, v_head_dim=6,
                        qk_nope_head_dim=12, first_k_dense_replace=1)

def test_a_latent_cache_holds_one_row_a_word():
    model, ids = model_of(DEEPSEEK), np.random.default_rng(1).integers(0, 64, 30)
    whole = model(ids).numpy()
    for kind, atol in (('f32', 3e-5), ('f16', 3e-2), ('q8_0', .5)):
        for model.fast in (None, False):
            cache = model.cache(30, kind)
            model(ids[:20], cache=cache)
            for i in range(20, 30): y = model(ids[i:i + 1], cache=cache, last=True)
            np.testing.assert_allclose(y, whole[-1], atol=atol)
            assert cache.nbytes == 3 * 30 * {'f32': 128, 'f16': 64, 'q8_0': 34}[kind]

def test_experts_in_groups():
    "Beside a search by hand, of groups of one expert too."
    from fucinalib.ops.mixture import within_groups
    rng = np.random.default_rng(0)
    for groups, best, n in ((4, 2, 8), (3, 1, 9), (5, 4, 5), (1, 1, 4)):
        scores = rng.normal(size=(6, n))
        found = within_groups(Tensor(scores, 'token expert'), groups, best).data
        for row, got in zip(scores.reshape(6, groups, -1), found.reshape(6, groups, -1)):
            order = sorted(range(groups), key=lambda g: -sum(sorted(row[g])[-2:]))[:best]
            for g in range(groups): assert (got[g] == row[g]).all() if g in order else np.isneginf(got[g]).all()

def test_gradients_pass_through_other_ways_to_look_back():
    for values in (DEEPSEEK, LFM2):
        model = model_of(values)
        c = model.config
        wide = Model(c, {n: Tensor(np.random.default_rng(i).normal(size=tuple(s.values()), scale=.4), ' '.join(s))
                         for i, (n, s) in enumerate(tensors_of(c).items())})
        x = param(np.random.default_rng(9).normal(size=(3, 32)), 'seq embed')
        for b, r in list(zip(wide.blocks, c.ropes))[:2]:
            assert fl.gradcheck(lambda x, b=b, r=r: b.attention(x, wide.turn(r, 0, 3)), x)


# ---- states

QWEN35 = SMALL | dict(model_type='qwen3_5_text', linear_conv_kernel_dim=4, linear_key_head_dim=8,
                      linear_num_key_heads=2, linear_value_head_dim=6, linear_num_value_heads=4,
                      full_attention_interval=3)

def test_a_state_goes_on_is_whole_after_an_interruption_and_does_not_go_back():
    model, ids = model_of(QWEN35), np.random.default_rng(1).integers(0, 64, 30)
    whole = model(ids).numpy()
    for model.fast in (None, False):
        cache = model.cache()
        model(ids[:20], cache=cache)
        def stop(*_): raise KeyboardInterrupt
        with pytest.MonkeyPatch.context() as p:      # in the third layer, behind two that have read on
            p.setattr(type(model.blocks[2].attention), 'forward', stop)
            p.setattr(type(model.blocks[2].attention), 'taken', stop)
            with pytest.raises(KeyboardInterrupt): model(ids[20:24], cache=cache)
        for i in range(20, 30): y = model(ids[i:i + 1], cache=cache, last=True)
        np.testing.assert_allclose(y, whole[-1], atol=3e-5)
        with pytest.raises(OptionError, match='truncate\\(0\\)'): cache.truncate(25)
        cache.truncate(0)
        np.testing.assert_allclose(model(ids, cache=cache, last=True), whole[-1], atol=3e-5)
    x = param(np.ones((2, 32), 'f4'), 'seq embed')
    with pytest.raises(fl.UnsupportedGradient, match='no_grad'): model.blocks[0](x)

def test_the_delta_rule_beside_that_of_the_operation():
    from fucinalib.llm.lookback import delta_rule
    rng = np.random.default_rng(0)
    q, k, v = [rng.normal(size=(5, 2, n)) for n in (4, 4, 3)]
    q, k = [a / np.linalg.norm(a, axis=-1, keepdims=True) for a in (q, k)]
    raw, beta, a_log, dt = rng.normal(size=(5, 2)), rng.normal(size=(5, 2)), rng.normal(size=2), rng.normal(size=2)
    T = lambda a, tags: Tensor(a, tags)
    want, state = fl.kda_recurrent(T(q, 'seq head k'), T(k, 'seq head k'), T(v, 'seq head v'),
                                   T(np.repeat(raw[..., None], 4, 2), 'seq head k'), T(beta, 'seq head'),
                                   T(a_log, 'head'), T(np.repeat(dt, 4), 'd'), scale=1.)
    fade = np.exp(-np.exp(a_log) * np.logaddexp(0, raw + dt))
    found, last = delta_rule(q[None], k[None], v[None], fade[None], 1 / (1 + np.exp(-beta[None])))
    np.testing.assert_allclose(found[0], want, atol=1e-12)
    np.testing.assert_allclose(last[0], state, atol=1e-12)


def test_the_gate_of_a_shared_expert_is_a_row_in_any_shape():
    from fucinalib.llm.gathered import gathered
    for shape in ((1, 4), (4,)):
        held = {'blk.0.ffn_gate_inp_shexp.weight': Tensor(np.arange(4.).reshape(shape), 'd1 d2'[:3 * len(shape) - 1])}
        names, get = gathered({n: n for n in held}, held.__getitem__)
        assert [get(n).tolist() for n in names] == [[0., 1., 2., 3.]]

def test_a_gguf_of_a_dense_model_has_no_shared_experts():
    names = tensor_names(read_config(SMALL | dict(model_type='llama')), 'gguf')
    assert 'blk.0.ffn_up.weight' in names and not any('shexp' in n for n in names)

def test_maps_of_a_latent_that_a_gguf_keeps_apart_are_one():
    from fucinalib.llm.gathered import latent_map
    kv = np.random.default_rng(0).normal(size=(2, 3 + 4, 5)).astype('f4')      # head, keys and values, row
    k, v = Tensor(kv[:, :3].swapaxes(1, 2).copy(), 'head row d'), Tensor(kv[:, 3:].copy(), 'head d row')
    np.testing.assert_array_equal(latent_map(k, v), kv.reshape(-1, 5))

def test_heads_of_values_may_go_round_those_of_keys():
    model = model_of(QWEN35)
    look = next(b.attention for b in model.blocks if hasattr(b.attention, 'a_log'))
    y = np.random.default_rng(0).normal(size=(1, 3, 2 * 2 * 8 + 4 * 6)).astype('f4')
    plain = look.heads(y)[0]
    look.tiled = True
    np.testing.assert_array_equal(look.heads(y)[0], plain[:, :, [0, 2, 1, 3]])

@pytest.mark.parametrize('act', BENDS)
def test_a_row_is_bent_as_many_are(act):
    "And what lies far outside warns of nothing."
    up, gate = np.array([[-300, -9, -1, 0, 2, 8, 300]], 'f4'), np.array([[300, 12, -60, -2, 3, -300, 1]], 'f4')
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        found = ROW_BENDS[act](up, gate)
    want = BENDS[act](Tensor(up, 'row d'), Tensor(gate, 'row d'))
    np.testing.assert_allclose(found, want.data, rtol=2e-6, atol=1e-30)
