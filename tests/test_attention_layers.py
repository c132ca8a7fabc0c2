"""Attention layers and blocks (chapter 30e): torch's numbers, a plain loop over heads and words, caches, refusals."""
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import nn
from fucinalib.errors import FucinaError, GradError, InvalidShape, OptionError, ShapeMismatch, StateMismatch
from fucinalib.gradients import gradcheck

TOL = dict(f32=1e-5, f64=1e-12)


def wave(*shape, k=1.): return (np.sin(np.arange(np.prod(shape)) * k + 1) * .7).reshape(shape)

def close(a, b, dtype='f64'):
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape and np.abs(a - b).max() <= TOL[dtype] * max(1, np.abs(b).max()), np.abs(a - b).max()

MAPS = {'in_proj_weight': (12, 4), 'in_proj_bias': (12,), 'out_proj.weight': (4, 4), 'out_proj.bias': (4,)}
BLOCK = {f'self_attn.{n}': s for n, s in MAPS.items()} | {
    'linear1.weight': (6, 4), 'linear1.bias': (6,), 'linear2.weight': (4, 6), 'linear2.bias': (4,),
    'norm1.weight': (4,), 'norm1.bias': (4,), 'norm2.weight': (4,), 'norm2.bias': (4,)}

def sines(shapes): return {name: wave(*shape, k=.7 + .1 * i) for i, (name, shape) in enumerate(shapes.items())}

def filled(make, shapes, **options):
    layer = make(bias=True, **options)
    layer.load_state_dict(layer.of_torch(sines(shapes)))
    return layer

def attention(**options): return nn.MultiHeadAttention('embed=4', 2, **options)
def block(**options): return nn.TransformerBlock('embed=4', 2, 'ff=6', **options)


# ---- beside torch

# torch 2.13 in f64, causal: MultiheadAttention(4, 2), and TransformerEncoderLayer(4, 2, 6, 0, 'gelu', norm_first=True)
KEPT = {attention: (MAPS, [[1.26670667, .15986167, .2759806, -.37092029],
                           [1.48606646, -.02871454, .39483542, -.39551219],
                           [1.46240276, -.15044244, .63682016, -.70778801]]),
        block: (BLOCK, [[2.88467618, 1.92123324, -.57172243, -2.08140792],
                        [1.44876469, .43834523, .57188653, -.96650503],
                        [2.82455396, .62796075, -1.07517653, -2.0471462]])}

@pytest.mark.parametrize('dtype', TOL)
@pytest.mark.parametrize('make', KEPT)
def test_numbers_kept_from_torch(make, dtype, backend):
    shapes, wanted = KEPT[make]
    y = filled(make, shapes, dtype=dtype)(fl.Tensor(wave(3, 4), 'seq embed', dtype))
    np.testing.assert_allclose(y.numpy(), wanted, atol=max(1e-8, TOL[dtype] * 3))

@pytest.mark.torch
@pytest.mark.parametrize('mask', ['causal', 'bidirectional'])
@pytest.mark.parametrize('bias', [True, False])
@pytest.mark.parametrize('dtype', TOL)
def test_attention_and_its_gradients_are_torchs(dtype, bias, mask, backend):
    torch = pytest.importorskip('torch')
    torch.manual_seed(0)
    real = dict(dtype=torch.float64 if dtype == 'f64' else torch.float32)
    theirs = torch.nn.MultiheadAttention(8, 4, bias=bias, batch_first=True, **real)
    for p in theirs.parameters(): torch.nn.init.normal_(p, 0, .5)
    ours = nn.MultiHeadAttention('embed=8', 4, bias=bias, mask=mask, dtype=dtype)
    ours.load_state_dict(ours.of_torch({n: a.numpy() for n, a in theirs.state_dict().items()}))
    x = torch.randn(2, 5, 8, **real, requires_grad=True)
    hidden = torch.triu(torch.ones(5, 5, dtype=bool), 1) if mask == 'causal' else None
    y = theirs(x, x, x, attn_mask=hidden, need_weights=False)[0]
    factor = torch.randn(2, 5, 8, **real)
    (y * factor).sum().backward()
    mine = fl.param(x.detach().numpy(), 'batch seq embed')
    z = ours(mine)
    (z * fl.Tensor(factor.numpy(), 'batch seq embed')).sum().backward()
    close(z, y.detach(), dtype)
    close(mine.grad, x.grad, dtype)
    slopes = ours.of_torch({n: p.grad.numpy() for n, p in theirs.named_parameters()})
    for name, p in ours.named_parameters(): close(p.grad, slopes[name], dtype)

@pytest.mark.torch
@pytest.mark.parametrize('act', ['gelu', 'relu'])
@pytest.mark.parametrize('dtype', TOL)
def test_a_block_and_its_gradients_are_torchs(dtype, act, backend):
    torch = pytest.importorskip('torch')
    torch.manual_seed(1)
    real = dict(dtype=torch.float64 if dtype == 'f64' else torch.float32)
    theirs = torch.nn.TransformerEncoderLayer(8, 2, 16, 0., act, batch_first=True, norm_first=True, **real)
    for p in theirs.parameters(): torch.nn.init.normal_(p, 0, .4)
    ours = nn.TransformerBlock('embed=8', 2, 'ff=16', act=act, bias=True, dtype=dtype)
    ours.load_state_dict(ours.of_torch({n: a.numpy() for n, a in theirs.state_dict().items()}))
    x = torch.randn(2, 5, 8, **real, requires_grad=True)
    y = theirs(x, src_mask=torch.triu(torch.ones(5, 5, dtype=bool), 1))
    y.square().sum().backward()
    mine = fl.param(x.detach().numpy(), 'batch seq embed')
    z = ours(mine)
    z.square().sum().backward()
    close(z, y.detach(), dtype)
    close(mine.grad, x.grad, dtype)
    slopes = ours.of_torch({n: p.grad.numpy() for n, p in theirs.named_parameters()})
    for name, p in ours.named_parameters(): close(p.grad, slopes[name], dtype)

@pytest.mark.parametrize('make, missing', [(attention, n) for n in MAPS] + [(block, n) for n in BLOCK])
def test_a_weight_that_is_forgotten_is_an_error(make, missing):
    layer, state = make(bias=True), sines(KEPT[make][0])
    del state[missing]
    with pytest.raises(StateMismatch, match=f'missing : {missing}'): layer.of_torch(state)

@pytest.mark.parametrize('make', KEPT)
def test_what_has_no_place_is_an_error(make):
    state = sines(KEPT[make][0])
    with pytest.raises(StateMismatch, match='foreign : .*bias'): make(bias=False).of_torch(state)
    more = sines(BLOCK) | {'norm3.weight': wave(4)}
    with pytest.raises(StateMismatch, match='norm3'): block(bias=True).of_torch(more)
    with pytest.raises(FucinaError): make(bias=True, kv_heads=1).of_torch(state)

def test_biases_that_would_be_lost_are_an_error():
    "A layer with a bias for its result alone reads what it wrote; numbers for the others have no place."
    layer = attention(out_bias=True)
    state = layer.in_torch()
    layer.load_state_dict(layer.of_torch(state))
    state['in_proj_bias'][5] = 1
    with pytest.raises(StateMismatch, match='bias of k'): layer.of_torch(state)

@pytest.mark.parametrize('make, options', [(attention, {}), (block, {}), (block, dict(bias=True)),
                                           (attention, dict(bias=True)), (attention, dict(out_bias=True))])
def test_to_torch_and_back_changes_nothing(make, options):
    a = make(seed=1, **options)
    state = nn.to_torch(a)
    b = make(seed=2, **options | (dict(bias=True) if options else {}))
    nn.from_torch(b, state)
    x = fl.Tensor(wave(3, 4), 'seq embed', 'f32')
    assert np.array_equal(a(x), b(x))

def test_heads_that_torch_has_not_have_no_way_back():
    with pytest.raises(ShapeMismatch): nn.to_torch(attention(kv_heads=1))


# ---- another sequence, a memory

def torchs(layer, dtype):
    "A layer of torch's with weights that are far from its first ones, and its arrays."
    torch = pytest.importorskip('torch')
    torch.manual_seed(2)
    layer = eval(f'torch.nn.{layer}').to(torch.float64 if dtype == 'f64' else torch.float32)
    for p in layer.parameters(): torch.nn.init.normal_(p, 0, .4)
    return layer, {n: a.numpy() for n, a in layer.state_dict().items()}

def same_slopes(theirs, ours, run, mine, dtype, *shapes):
    "Results, gradients of both sequences and of all weights, of torch's layer and of ours."
    import torch
    kind = torch.float64 if dtype == 'f64' else torch.float32
    xs = [torch.randn(2, *shape, dtype=kind, requires_grad=True) for shape in shapes]
    run(theirs, *xs).square().sum().backward()
    ys = [fl.param(x.detach().numpy(), f'batch seq {tag}') for x, tag in zip(xs, ('embed', 'source'))]
    z = mine(ours, *ys)
    z.square().sum().backward()
    close(z, run(theirs, *xs).detach(), dtype)
    for x, y in zip(xs, ys): close(y.grad, x.grad, dtype)
    slopes = ours.of_torch({n: p.grad.numpy() for n, p in theirs.named_parameters()})
    for name, p in ours.named_parameters(): close(p.grad, slopes[name], dtype)

@pytest.mark.torch
@pytest.mark.parametrize('source', [8, 6])
@pytest.mark.parametrize('bias', [True, False])
@pytest.mark.parametrize('dtype', TOL)
def test_attention_to_a_memory_and_its_gradients_are_torchs(dtype, bias, source, backend):
    "Of the same width, and of another, for which torch keeps three matrices."
    made = f'MultiheadAttention(8, 2, bias={bias}, kdim={source}, vdim={source}, batch_first=True)'
    theirs, state = torchs(made, dtype)
    ours = nn.MultiHeadAttention('embed=8', 2, bias=bias, memory=f'source={source}', dtype=dtype)
    ours.load_state_dict(ours.of_torch(state))
    for name, a in ours.in_torch().items(): assert np.array_equal(a, state[name])
    same_slopes(theirs, ours, lambda f, x, y: f(x, y, y, need_weights=False)[0],
                lambda f, x, y: f(x, memory=y), dtype, (4, 8), (7, source))

@pytest.mark.torch
@pytest.mark.parametrize('dtype', TOL)
def test_a_decoder_block_is_torchs(dtype, backend):
    made = "TransformerDecoderLayer(8, 2, 16, 0., 'gelu', batch_first=True, norm_first=True)"
    theirs, state = torchs(made, dtype)
    ours = nn.DecoderBlock('embed=8', 2, 'ff=16', 'source=8', bias=True, dtype=dtype)
    ours.load_state_dict(ours.of_torch(state))
    back = ours.in_torch()
    assert back.keys() == state.keys() and all(np.array_equal(back[k], state[k]) for k in back)
    import torch
    later = torch.triu(torch.ones(4, 4, dtype=bool), 1)
    same_slopes(theirs, ours, lambda f, x, y: f(x, y, tgt_mask=later), lambda f, x, y: f(x, y), dtype, (4, 8), (7, 8))

def test_a_memory_by_the_definition():
    "Grouped heads, words on another axis, a memory of another length and width."
    layer = nn.MultiHeadAttention('embed=8', 4, kv_heads=2, over='word', memory='source=6', seed=3, dtype='f64')
    x, y = fl.Tensor(wave(5, 8), 'word embed'), fl.Tensor(wave(9, 6, k=2.), 'word source')
    q, k, v = [np.tensordot(a.numpy(), p.weight.numpy(), 1) for a, p in ((x, layer.q), (y, layer.k), (y, layer.v))]
    scores = np.einsum('thd,shd->ths', q, k.repeat(2, 1)) / q.shape[-1]**.5
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    seen = np.einsum('ths,shd->thd', shares / shares.sum(-1, keepdims=True), v.repeat(2, 1))
    z = layer(x, memory=y)
    assert z.tags == ('word', 'embed')
    close(z, np.tensordot(seen, layer.o.weight.numpy(), 2))

def test_a_decoder_block_writes_word_by_word():
    "A cache holds its own words; the memory is looked at anew."
    block = nn.DecoderBlock('embed=8', 2, 'ff=16', seed=1, dropout=.3, dtype='f64').eval()
    x, y = fl.Tensor(wave(6, 8), 'seq embed'), fl.Tensor(wave(4, 8, k=2.), 'seq embed')
    cache = nn.KVCache()
    with fl.no_grad(): parts = [block(x.narrow('seq', i, 1), y, cache) for i in range(6)]
    close(fl.concat(parts, 'seq'), block(x, y))
    assert block.cross.k.weight is not block.attention.k.weight and block.norm3.weight is not block.norm1.weight
    assert not np.array_equal(block.cross.q.weight, block.attention.q.weight)

def test_a_memory_that_is_missing_or_not_wanted():
    own, other = attention(), attention(memory='embed=4')
    x = fl.Tensor(wave(3, 4), 'seq embed')
    with pytest.raises(OptionError, match='layer\\(x, memory=y\\)'): other(x)
    with pytest.raises(OptionError, match="memory='embed=64'"): own(x, memory=x)
    with pytest.raises(OptionError, match='a cache for a layer'): other(x, nn.KVCache(), x)
    with pytest.raises(OptionError, match='window=0'): attention(memory='embed=4', window=2)
    with pytest.raises(OptionError, match='rope=None'): attention(memory='embed=4', rope=100.)
    with pytest.raises(FucinaError, match='embed'): other(x, memory=fl.Tensor(wave(3, 5), 'seq embed'))
    assert 'at a memory' in str(other) and 'causal' in str(own)


# ---- heads, windows and positions, beside the definition

def by_definition(layer, x, window=0, causal=True):
    "The layer's result for 'seq embed' by loops over heads and words, in NumPy."
    maps = {p: np.tensordot(x, getattr(layer, p).weight.numpy(), 1) for p in 'qkv'}
    n, heads, d = maps['q'].shape
    group = heads // maps['k'].shape[1]
    y = np.zeros((n, heads, d))
    for h in range(heads):
        for i in range(n):
            seen = [j for j in range(n) if not causal or j <= i and (not window or j > i - window)]
            s = np.array([maps['q'][i, h] @ maps['k'][j, h // group] for j in seen]) / d**.5
            p = np.exp(s - s.max())
            y[i, h] = (p / p.sum()) @ [maps['v'][j, h // group] for j in seen]
    return np.tensordot(y, layer.o.weight.numpy(), 2)

@pytest.mark.parametrize('options', [dict(), dict(kv_heads=2), dict(kv_heads=1, d=5), dict(window=1),
                                     dict(window=3, kv_heads=2), dict(mask='bidirectional', kv_heads=2)])
def test_heads_and_windows_are_what_they_are_defined_to_be(options, backend):
    layer = nn.MultiHeadAttention('embed=8', 4, seed=1, dtype='f64', **options)
    x = wave(6, 8)
    wanted = by_definition(layer, x, options.get('window', 0), 'mask' not in options)
    close(layer(fl.Tensor(x, 'seq embed')), wanted)

def test_positions_turn_queries_and_keys_alone():
    layer, plain = (nn.MultiHeadAttention('embed=4', 2, rope=rope, seed=1, dtype='f64') for rope in (50., None))
    x = fl.Tensor(wave(5, 4), 'seq embed', 'f64')
    turned = lambda a: a.rope('seq', 'd', 50.)
    y = turned(plain.q(x)).attention(turned(plain.k(x)), plain.v(x)).split('out', 'head d', (2, 2))
    close(layer(x), plain.o(y))
    assert np.abs(layer(x).numpy() - plain(x).numpy()).max() > 1e-3

@pytest.mark.parametrize('tags', ['batch word embed', 'word batch embed', 'embed word a b', 'a word embed'])
def test_words_may_stand_along_any_axis(tags):
    layer = nn.MultiHeadAttention('embed=4', 2, over='word', seed=1, dtype='f64')
    plain = nn.MultiHeadAttention('embed=4', 2, seed=1, dtype='f64')
    sizes = dict(batch=2, word=5, embed=4, a=2, b=3)
    x = fl.Tensor(wave(*[sizes[t] for t in tags.split()]), tags)
    y = layer(x)
    assert set(y.tags) == set(x.tags)
    at = {t: 1 for t in x.tags if t not in ('word', 'embed')}
    wanted = plain(x.select(at).permute('word', 'embed').rename(word='seq'))
    close(y.select(at).permute('word', 'embed'), wanted)

@pytest.mark.parametrize('options', [dict(), dict(kv_heads=1, rope=100.), dict(window=2, bias=True)])
def test_gradients_against_finite_differences(options, backend):
    layer = nn.MultiHeadAttention('embed=4', 2, seed=0, dtype='f64', **options)
    assert gradcheck(lambda x, *_: layer(x), fl.param(wave(3, 4), 'seq embed'), *layer.parameters())

@pytest.mark.parametrize('options', [dict(), dict(act='swiglu', norm='rms'), dict(act='silu', bias=True)])
def test_gradients_of_a_block(options):
    layer = block(seed=0, dtype='f64', **options)
    assert gradcheck(lambda x, *_: layer(x), fl.param(wave(3, 4), 'seq embed'), *layer.parameters())

def test_a_block_is_the_sum_of_its_parts():
    b = block(seed=3, dtype='f64', act='swiglu', norm='rms')
    x = fl.Tensor(wave(3, 4), 'seq embed', 'f64')
    y = x + b.attention(b.norm1(x))
    close(b(x), y + b.feed.down(b.feed.up(b.norm2(y)) * b.feed.gate(b.norm2(y)).silu()))


# ---- caches

@pytest.mark.parametrize('sizes', [[1] * 40, [7] + [1] * 33, [15, 17, 8], [40]])
@pytest.mark.parametrize('options', [dict(), dict(kv_heads=1), dict(window=3), dict(window=1),
                                     dict(rope=100., window=5)])
def test_word_by_word_is_the_whole(options, sizes, backend):
    layer = nn.MultiHeadAttention('embed=8', 4, seed=0, dtype='f64', **options)
    x, cache, at, seen = fl.Tensor(wave(2, 40, 8), 'batch seq embed', 'f64'), nn.KVCache(), 0, []
    with fl.no_grad():
        for n in sizes:
            seen.append(layer(x.narrow('seq', at, n), cache))
            at += n
            assert len(cache) == at
        close(fl.concat(seen, 'seq'), layer(x))

@pytest.mark.parametrize('options', [dict(), dict(norm='rms', act='swiglu', rope=10., kv_heads=1)])
def test_blocks_go_on_word_by_word(options):
    blocks = [block(seed=i, dtype='f64', **options) for i in range(2)]
    caches, x = [nn.KVCache() for _ in blocks], fl.Tensor(wave(6, 4), 'seq embed', 'f64')
    def run(x, caches=(None, None)):
        for b, cache in zip(blocks, caches): x = b(x, cache)
        return x
    with fl.no_grad(): seen = fl.concat([run(x.narrow('seq', i, 1), caches) for i in range(6)], 'seq')
    close(seen, run(x))

def test_a_window_bounds_what_a_cache_holds():
    layer, cache = nn.MultiHeadAttention('embed=4', 2, window=4, seed=0), nn.KVCache()
    with fl.no_grad():
        for _ in range(500): layer(fl.ones('seq embed', seq=1, embed=4), cache)
    assert len(cache) == 500 and cache.k.shape[0] <= 16

def test_what_a_cache_refuses():
    layer, x = nn.MultiHeadAttention('embed=4', 2, seed=0), fl.ones('batch seq embed', batch=2, seq=3, embed=4)
    with pytest.raises(GradError): layer(x, nn.KVCache())
    cache = nn.KVCache()
    with fl.no_grad():
        layer(x, cache)
        before = cache.k.copy()
        with pytest.raises(ShapeMismatch): layer(x.narrow('batch', 0, 1), cache)
        with pytest.raises(FucinaError): layer.to('f64')(x.to('f64'), cache)
    assert len(cache) == 3 and np.array_equal(cache.k, before)


# ---- what is refused, and first values

REFUSED = {
    'heads that do not divide': (ShapeMismatch, lambda: nn.MultiHeadAttention('embed=8', 3)),
    'heads of keys that do not divide': (ShapeMismatch, lambda: nn.MultiHeadAttention('embed=8', 4, kv_heads=3)),
    'no heads': (InvalidShape, lambda: nn.MultiHeadAttention('embed=8', 0)),
    'heads by name': (FucinaError, lambda: nn.MultiHeadAttention('embed=8', 'head=4')),
    'half a head': (InvalidShape, lambda: nn.MultiHeadAttention('embed=8', 1.5)),
    'no size': (FucinaError, lambda: nn.MultiHeadAttention('embed', 2)),
    'no such norm': (OptionError, lambda: block(norm='batch')),
    'no such act': (OptionError, lambda: block(act='gelo')),
    'no such option': (TypeError, lambda: block(windw=3))}

@pytest.mark.parametrize('why', REFUSED)
def test_what_a_layer_cannot_be(why):
    with pytest.raises(REFUSED[why][0]): REFUSED[why][1]()

CALLS = {
    'another size': lambda l: l(fl.ones('seq embed', seq=2, embed=5)),
    'no such axis': lambda l: l(fl.ones('seq d', seq=2, d=4)),
    'no words': lambda l: l(fl.ones('word embed', word=2, embed=4)),
    'an axis of its own': lambda l: l(fl.ones('head seq embed', head=2, seq=2, embed=4)),
    'whole numbers': lambda l: l(fl.ones('seq embed', seq=2, embed=4, dtype='i64'))}

@pytest.mark.parametrize('why', CALLS)
def test_what_does_not_fit_is_refused_with_the_path(why):
    with pytest.raises(FucinaError) as e: CALLS[why](nn.TransformerBlock('embed=4', 2, 'ff=8'))
    assert e.value.where.startswith('TransformerBlock')

def test_first_values_belong_to_the_seed():
    a, b, c = (block(seed=s).state_dict() for s in (1, 1, 2))
    assert all(np.array_equal(a[n], b[n]) for n in a) and not all(np.array_equal(a[n], c[n]) for n in a)
    weights = [v.ravel()[:3].tobytes() for n, v in a.items() if v.ndim > 1]
    assert len(set(weights)) == len(weights)

def test_dropout_leaves_out_while_training_alone():
    b, x = block(dropout=.5, seed=0), fl.Tensor(wave(3, 4), 'seq embed', 'f32')
    still = b.eval()(x)
    assert np.array_equal(still, b(x)) and not np.array_equal(still, b.train()(x))

def test_a_layer_prints_how_it_looks():
    text = repr(nn.MultiHeadAttention('embed=8', 4, kv_heads=2, window=3, rope=100.))
    assert all(word in text for word in ('causal', 'window 3', 'rope 100', 'kv_head=2', 'embed=8'))


# ---- attention as the smaller examples have it (RNN-03, RNN-04, AUT-26)

def test_one_head_without_a_mask_is_softmax_of_scores():
    layer = nn.MultiHeadAttention('embed=4', 1, d=3, mask='bidirectional', seed=1, dtype='f64')
    x = fl.Tensor(wave(5, 4), 'seq embed', 'f64')
    q, k, v = ((part(x).numpy())[:, 0] for part in (layer.q, layer.k, layer.v))
    p = np.exp(q @ k.T / 3**.5)
    mixed = p / p.sum(1, keepdims=True) @ v
    y = layer.q(x).attention(layer.k(x), layer.v(x), mask='bidirectional')
    np.testing.assert_allclose(y.numpy(), mixed, rtol=1e-12)
    np.testing.assert_allclose(layer(x).numpy(), mixed @ layer.o.weight.numpy()[0], rtol=1e-12)


# ---- words that do not count

COUNTS = {'as long': [[1] * 5] * 3, 'lengths': [[1] * 5, [1, 1, 0, 0, 0], [1, 1, 1, 0, 0]],
          'filled in front': [[1] * 5, [0, 0, 1, 1, 1], [0, 1, 1, 1, 1]],
          'with holes': [[1, 0, 1, 1, 0], [1, 0, 1, 1, 0], [0, 1, 0, 0, 1]]}

def which(name): return np.array(COUNTS[name], bool)

@pytest.mark.torch
@pytest.mark.parametrize('name', COUNTS)
@pytest.mark.parametrize('mask', ['causal', 'bidirectional'])
@pytest.mark.parametrize('dtype', TOL)
def test_a_key_padding_mask_is_torchs(dtype, mask, name, backend):
    torch = pytest.importorskip('torch')
    torch.manual_seed(0)
    real = dict(dtype=torch.float64 if dtype == 'f64' else torch.float32)
    theirs = torch.nn.MultiheadAttention(8, 4, bias=True, batch_first=True, **real)
    for p in theirs.parameters(): torch.nn.init.normal_(p, 0, .5)
    ours = nn.MultiHeadAttention('embed=8', 4, bias=True, mask=mask, dtype=dtype)
    ours.load_state_dict(ours.of_torch({n: a.numpy() for n, a in theirs.state_dict().items()}))
    x, counts = torch.randn(3, 5, 8, **real, requires_grad=True), which(name)
    hidden = torch.triu(torch.ones(5, 5, dtype=bool), 1) if mask == 'causal' else None
    y = theirs(x, x, x, attn_mask=hidden, key_padding_mask=torch.tensor(~counts), need_weights=False)[0]
    back = np.tril(np.ones((5, 5), bool)) if mask == 'causal' else np.ones((5, 5), bool)
    sees = (back & counts[:, None]).any(-1)         # elsewhere torch has NaN
    factor = torch.randn(3, 5, 8, **real) * torch.tensor(sees)[..., None]
    mine = fl.param(x.detach().numpy(), 'batch seq embed')
    z = ours(mine, valid=fl.Tensor(counts, 'batch seq'))
    close(z.numpy()[sees], y.detach()[torch.tensor(sees)], dtype)
    np.testing.assert_array_equal(z.numpy()[~sees], np.broadcast_to(ours.o.bias.numpy(), z.shape)[~sees])
    if not sees.all(): return       # torch's gradients are NaN
    (y * factor).sum().backward()
    (z * fl.Tensor(factor.numpy(), 'batch seq embed')).sum().backward()
    close(mine.grad, x.grad, dtype)
    slopes = ours.of_torch({n: p.grad.numpy() for n, p in theirs.named_parameters()})
    for key, p in ours.named_parameters(): close(p.grad, slopes[key], dtype)

@pytest.mark.torch
@pytest.mark.parametrize('name', COUNTS)
def test_blocks_with_padding_are_torchs(name, backend):
    torch = pytest.importorskip('torch')
    torch.manual_seed(1)
    encoder = torch.nn.TransformerEncoderLayer(8, 2, 16, 0., 'gelu', batch_first=True, norm_first=True).double()
    decoder = torch.nn.TransformerDecoderLayer(8, 2, 16, 0., 'gelu', batch_first=True, norm_first=True).double()
    how = dict(bias=True, dtype='f64', mask='bidirectional')
    ours = nn.TransformerBlock('embed=8', 2, 'ff=16', **how), nn.DecoderBlock('embed=8', 2, 'ff=16', **how)
    for block, layer in zip(ours, (encoder, decoder)):
        block.load_state_dict(block.of_torch({n: a.numpy() for n, a in layer.state_dict().items()}))
    x, told, counts = torch.randn(3, 5, 8).double(), torch.randn(3, 5, 8).double(), which(name)
    hidden, seen = torch.tensor(~counts), fl.Tensor(counts, 'batch seq')
    encoder.train(), decoder.train()        # its quick way fills with zeros what is padded
    mine, memory = [fl.Tensor(a.numpy(), 'batch seq embed') for a in (x, told)]
    close(ours[0](mine, valid=seen), encoder(x, src_key_padding_mask=hidden).detach())
    y = decoder(x, told, tgt_key_padding_mask=hidden, memory_key_padding_mask=hidden.flip(1)).detach()
    turned = fl.Tensor(counts[:, ::-1].copy(), 'batch seq')
    close(ours[1](mine, memory, valid=seen, memory_valid=turned), y)

@pytest.mark.parametrize('name', COUNTS)
def test_padding_and_its_gradients_do_not_reach_words(name, backend):
    "Whatever stands there, NaN too; each sentence is as by itself without what does not count."
    counts = which(name)
    layer = nn.MultiHeadAttention('embed=6', 2, kv_heads=1, mask='bidirectional', seed=1, dtype='f64')
    odd = np.where(counts[..., None], wave(3, 5, 6, k=.3), np.nan)
    y = layer(fl.Tensor(odd, 'batch seq embed'), valid=fl.Tensor(counts, 'batch seq'))
    for i, c in enumerate(counts):
        alone = layer(fl.Tensor(odd[i][c], 'seq embed'))
        close(y.numpy()[i][c], alone)
    x = fl.param(wave(3, 5, 6), 'batch seq embed')
    assert gradcheck(lambda x: layer(x, valid=fl.Tensor(counts, 'batch seq')), x)
    keys = [fl.param(wave(3, 5, 1, 2, k=s), 'batch seq kv_head d') for s in (.4, .6)]
    q = fl.Tensor(wave(3, 5, 2, 2), 'batch seq head d')
    q.attention(*keys, mask='bidirectional', valid=fl.Tensor(counts, 'batch seq')).sum().backward()
    for k in keys: assert not k.grad.numpy()[~counts].any() and k.grad.numpy()[counts].any()

def test_a_sentence_of_padding_alone_gives_0(backend):
    q, k = fl.param(wave(2, 40, 2, 8), 'batch seq head d'), fl.param(wave(2, 40, 2, 8), 'batch seq kv_head d')
    counts = fl.Tensor([[False] * 40, [True] * 40], 'batch seq')
    y = q.attention(k, k, valid=counts)
    y.sum().backward()
    assert not y.numpy()[0].any() and y.numpy()[1].all()
    for p in (q, k): assert not p.grad.numpy()[0].any() and np.isfinite(p.grad.numpy()).all()

@pytest.mark.parametrize('window', [0, 3])
def test_padding_in_front_of_a_cache(window):
    "Sentences of several lengths are written on word by word; valid says of all words so far which count."
    layer = nn.MultiHeadAttention('embed=8', 2, rope=100., window=window, seed=0, dtype='f64')
    x = fl.Tensor(wave(2, 9, 8), 'batch seq embed')
    counts = np.ones((2, 9), bool)
    counts[1, :3] = False
    with fl.no_grad():
        whole, cache = layer(x, valid=fl.Tensor(counts, 'batch seq')), nn.KVCache()
        steps = [layer(x.narrow('seq', i, n), cache, valid=fl.Tensor(counts[:, :i + n], 'batch seq'))
                 for i, n in [(0, 4), *[(i, 1) for i in range(4, 9)]]]
        close(fl.concat(steps, 'seq'), whole)
        alone = layer(x.select(batch=1).narrow('seq', 3, 6))
    close(whole.numpy()[1, 3:], alone, 'f32')      # angles of other positions

def test_padding_of_words_along_another_axis():
    layer = nn.MultiHeadAttention('embed=8', 2, over='time', seed=0)
    x, counts = fl.randn('time batch embed', (5, 3, 8), seed=0), which('lengths')
    y = layer(x, valid=fl.Tensor(counts, 'batch time'))
    counts = fl.Tensor(counts.T.copy(), 'seq batch')
    seq = nn.MultiHeadAttention('embed=8', 2, seed=0)(x.rename(time='seq'), valid=counts)
    np.testing.assert_array_equal(y.numpy(), seq.numpy())
    one = layer(x, valid=fl.Tensor([True, True, False, False, False], 'time'))
    each = layer(x, valid=fl.Tensor([[True, True, False, False, False]] * 3, 'batch time'))
    np.testing.assert_array_equal(one.numpy(), each.numpy())

def test_recorded_steps_replay_other_padding(backend):
    layer = nn.MultiHeadAttention('embed=8', 2, seed=0)
    opt = fl.optim.AdamW(layer, lr=.01)
    def step(x, valid):
        loss = layer(x, valid=valid).square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss
    def run(step):
        nonlocal layer, opt
        layer = nn.MultiHeadAttention('embed=8', 2, seed=0)
        opt = fl.optim.AdamW(layer, lr=.01)
        found, rng = [], np.random.default_rng(0)
        for i in range(9):
            counts = np.arange(40) < rng.integers(0, 41, (3, 1))
            found.append(step(fl.randn('batch seq embed', (3, 40, 8), seed=i), fl.Tensor(counts, 'batch seq')).item())
        return found
    recorded = fl.record(step)
    assert run(step) == run(recorded) and recorded.replays >= 4, recorded

@pytest.mark.parametrize('call,wrong', [
    (lambda x, m: attention()(x, key_padding_mask=m), OptionError),
    (lambda x, m: block()(x, src_key_padding_mask=m), OptionError),
    (lambda x, m: nn.DecoderBlock('embed=4', 2, 'ff=6')(x, x, memory_key_padding_mask=m), OptionError)])
def test_the_message_for_a_padding_mask_works(call, wrong):
    x, mask = fl.Tensor(wave(2, 5, 4), 'batch seq embed', 'f32'), fl.Tensor(~which('lengths')[:2], 'batch seq')
    with pytest.raises(wrong, match='logical_not') as e: call(x, mask)
    name = e.value.help.split('=')[0]
    layer = attention() if 'memory' not in name else nn.DecoderBlock('embed=4', 2, 'ff=6')
    assert layer(x, *[x] * ('memory' in name), **{name: mask.logical_not()}).shape == x.shape

def test_words_along_another_axis_are_told_over():
    x = fl.Tensor(wave(2, 5, 4), 'batch time embed', 'f32')
    for make in (attention, block):
        with pytest.raises(fl.TagError, match=r"over='time' when .* or x\.rename\(time='seq'\)"): make()(x)
        assert make(over='time')(x).shape == make()(x.rename(time='seq')).shape
    with pytest.raises(fl.TagError, match='insert_axis'): attention()(fl.zeros('embed', 4))
