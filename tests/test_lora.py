"""LoRA (chapter 47): the formula, merging to the last bit, what is saved, and what is refused."""
import copy
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import lora, nn, optim
from fucinalib.errors import DTypeError, FucinaError, OptionError, StateMismatch
from fucinalib.gradients import gradcheck
from test_quantisation import decoder
from fucinalib.lora import LoRA, add_lora, drop_lora, load_lora, lora_state, merge_lora, unmerge_lora


def small(dtype='f32'):
    "The layer of the case that is known from other libraries: rank 1, alpha 8, so a scale of 8."
    base = nn.Linear('i=2', 'o=2', bias=False, dtype=dtype)
    base.weight.data[...] = np.eye(2)
    layer = LoRA(base, rank=1, alpha=8)
    layer.a.data[...], layer.b.data[...] = [[1, 2]], [[3], [4]]
    return layer

def ask(layer, dtype='f32'): return layer(fl.Tensor([1., 1.], 'i', dtype)).tolist()


# ---- merge and unmerge (huggingface/peft 2489, Blaizzy/mlx-vlm 841, ml-explore/mlx-examples 623)

@pytest.mark.parametrize('training', [True, False])
def test_the_scale_counts_once_on_every_way(training, backend):
    layer = small().train(training)
    assert ask(layer) == [73, 97] and layer.scale.item() == 8 and layer.alpha == 8
    assert layer.merge() is layer and ask(layer) == [73, 97]
    assert layer.base.weight.numpy().T.tolist() == [[25, 48], [32, 65]]      # torch's order: W + [[24, 48], [32, 64]]
    with pytest.raises(OptionError, match='merge is done already'): layer.merge()
    assert ask(layer) == [73, 97]
    layer.unmerge()
    assert np.array_equal(layer.base.weight, np.eye(2)) and ask(layer) == [73, 97]
    with pytest.raises(OptionError, match='not merged'): layer.unmerge()

@pytest.mark.parametrize('dtype', ['f16', 'bf16', 'f32', 'f64'])
def test_unmerging_restores_every_bit(dtype):
    "Where subtracting would not."
    layer = LoRA(nn.Linear('i=16', 'o=8', dtype=dtype, seed=0), rank=3, alpha=5, seed=1)
    layer.b.data[...] = np.random.default_rng(0).normal(size=layer.b.shape)
    before = layer.base.weight.data.copy()
    change = layer.a.to('f64').dot(layer.b.to('f64'), 'lora_r').permute('i o').numpy() * (5 / 3)
    layer.merge()
    merged = layer.base.weight.data.copy()
    exact = before.astype('f8') + change
    assert np.array_equal(merged, fl.Tensor(exact, 'i o').to(dtype).data)      # rounded once
    layer.unmerge()
    assert layer.base.weight.data.tobytes() == before.tobytes()
    assert ((merged - change.astype(merged.dtype)).astype(before.dtype)).tobytes() != before.tobytes()
    assert np.array_equal(layer.merge().base.weight.data, merged)

def test_alpha_is_known_after_loading(backend):
    "Saved and loaded into a layer that was made with another alpha; then merged."
    other = LoRA(nn.Linear('i=2', 'o=2', bias=False), rank=1, alpha=1)
    other.load_state_dict(small().state_dict())
    assert other.alpha == 8 and ask(other) == [73, 97] and ask(other.merge()) == [73, 97]
    third = LoRA(nn.Linear('i=2', 'o=2', bias=False), rank=1)
    third.load_state_dict(other.state_dict())                # saved while merged: not added twice
    assert ask(third) == [73, 97]
    with pytest.raises(OptionError, match='done already'): third.merge()
    with pytest.raises(OptionError, match='not known here'): third.unmerge()

def test_a_merged_weight_that_was_changed_is_not_thrown_away():
    layer = small().merge()
    layer.base.weight.data[0, 0] += 1
    with pytest.raises(OptionError, match='was changed since'): layer.unmerge()
    layer.load_state_dict(small().state_dict())              # an unmerged state: merging begins anew
    assert ask(layer) == [73, 97] and ask(layer.merge().unmerge()) == [73, 97]

def test_dropout_is_of_training_alone():
    layer = LoRA(nn.Linear('i=64', 'o=2', seed=0), rank=4, alpha=8, dropout=.5, seed=0)
    layer.b.data[...] = 1
    x = fl.randn('row i', (3, 64), seed=1)
    in_use, plain = layer.eval()(x).numpy(), layer.base(x).numpy()
    assert np.array_equal(in_use, layer(x)) and not np.array_equal(in_use, plain)
    layer.train()
    a, b = layer(x).numpy(), layer(x).numpy()
    assert not np.array_equal(a, b)
    mean = np.mean([layer(x).numpy() for _ in range(400)], 0)
    assert np.abs(mean - in_use).max() < .15 * np.abs(in_use - plain).max()
    layer.eval().merge()
    np.testing.assert_allclose(layer(x).numpy(), in_use, rtol=1e-4, atol=1e-5)

def test_a_weight_of_few_bits_takes_no_change():
    for dtype in ('f8_e4m3', 'i8'):
        layer = small()
        layer.base.weight.requires_grad = False
        vars(layer.base)['weight'] = fl.zeros('i o', (2, 2), dtype=dtype)
        with pytest.raises(DTypeError, match=f'merge takes no weight of {dtype}'): layer.merge()
        assert not layer.merged.item()


# ---- the layer

def test_it_begins_as_what_it_wraps(backend):
    "To the last bit, for any rank."
    base = nn.Linear('i=5', 'o=3', seed=0)
    x = fl.randn('row i', (4, 5), seed=1)
    want = base(x).numpy().copy()
    for rank in (1, 4): assert np.array_equal(LoRA(base, rank, seed=2)(x), want)

@pytest.mark.parametrize('spec', [('i=3', 'o=2'), ('d=3', 'd=3'), ('i=2 j=3', 'o=2'), ('i=3', 'head=2 d=2'),
                                  ('d=2 e=2', 'e=3 f=2')])
@pytest.mark.parametrize('dtype, tol', [('f32', 1e-5), ('f64', 1e-12)])
def test_values_are_those_of_the_formula(spec, dtype, tol, backend):
    "x W + (alpha / r) x A' B' in NumPy f64, over axes laid flat; also merged."
    layer = LoRA(nn.Linear(*spec, dtype=dtype, seed=0), rank=2, alpha=7, seed=1)
    layer.b.data[...] = np.random.default_rng(2).normal(size=layer.b.shape)
    base = layer.base
    n, m = np.prod([*base.inputs.values()]), np.prod([*base.outputs.values()])
    a = np.random.default_rng(3).normal(size=(4, n))
    x = fl.Tensor(a.reshape(4, *base.inputs.values()), ('row', *base.inputs), dtype)
    w, A, B = base.weight.numpy().reshape(n, m), layer.a.numpy().reshape(2, n), layer.b.numpy().reshape(m, 2)
    want = a @ w.astype('f8') + 3.5 * a @ A.T.astype('f8') @ B.T.astype('f8') + base.bias.numpy().ravel()
    for y in (layer(x), layer.merge()(x)):
        assert y.tags == ('row', *base.outputs) and y.dtype == dtype
        np.testing.assert_allclose(y.numpy().reshape(4, m), want, rtol=0, atol=tol * max(1, np.abs(want).max()))

@pytest.mark.torch
@pytest.mark.parametrize('dtype, tol', [('f32', 1e-5), ('f64', 1e-12)])
def test_gradients_are_torchs(dtype, tol, backend):
    torch = pytest.importorskip('torch')
    layer = LoRA(nn.Linear('i=6', 'o=4', dtype=dtype, seed=0), rank=2, alpha=5, seed=1)
    layer.b.data[...] = np.random.default_rng(2).normal(size=layer.b.shape)
    x, g = [np.random.default_rng(s).normal(size=(3, n)).astype(layer.a.data.dtype) for s, n in ((3, 6), (4, 4))]
    ours = fl.param(x, 'row i')
    layer(ours).backward(g)
    put = lambda a: torch.from_numpy(np.array(a)).requires_grad_()
    tx, ta, tb = put(x), put(layer.a.data), put(layer.b.data)
    w, bias = (torch.from_numpy(np.array(t.data)) for t in (layer.base.weight, layer.base.bias))
    (tx @ w + bias + 2.5 * (tx @ ta.T) @ tb.T).backward(torch.from_numpy(g))
    for mine, theirs in ((ours, tx), (layer.a, ta), (layer.b, tb)):
        np.testing.assert_allclose(mine.grad.numpy(), theirs.grad.numpy(), rtol=0, atol=tol * 10)
    assert layer.base.weight.grad is None

def test_gradcheck(backend):
    layer = LoRA(nn.Linear('d=3', 'd=3', dtype='f64', seed=0), rank=2, alpha=3, seed=1)
    layer.b.data[...] = np.random.default_rng(2).normal(size=layer.b.shape)
    x = fl.param(np.random.default_rng(3).normal(size=(2, 3)), 'row d', 'f64')
    gradcheck(lambda x, a, b: layer(x).tanh(), x, layer.a, layer.b)

def test_first_values():
    one, two, other = (LoRA(nn.Linear('i=100', 'o=5'), 64, seed=s) for s in (1, 1, 2))
    assert np.array_equal(one.a, two.a) and not np.array_equal(one.a, other.a) and not one.b.numpy().any()
    a = one.a.numpy()
    assert one.a.tags == ('lora_r', 'i') and one.b.tags == ('o', 'lora_r')
    assert np.abs(a).max() <= .1 and abs(a.std() - .1 / 3**.5) < .002


# ---- a model

def model(seed=0):
    return nn.Sequential(nn.Linear('p=4', 'h=6', seed=seed), fl.relu,
                         nn.Residual(nn.Linear('h=6', 'h=6', seed=seed + 1)), nn.Linear('h=6', 'c=3', seed=seed + 2))

X = lambda: fl.randn('row p', (5, 4), seed=9)

@pytest.mark.parametrize('where, paths', [('0', ['0']), ('*', ['0', '2.body', '3']), ('*.body', ['2.body']),
                                          (['3', '0'], ['0', '3']), ('[03]', ['0', '3'])])
def test_layers_are_chosen_by_path(where, paths):
    m = add_lora(model(), where, rank=2, seed=0)
    assert [p for p, v in m.named_modules() if isinstance(v, LoRA)] == paths
    names = [n for n, _ in m.named_parameters()]
    assert names == [f'{p}.{t}' for p in paths for t in 'ab']
    assert np.array_equal(m(X()), model()(X()))

def test_first_values_go_by_seed_and_path():
    one, two = add_lora(model(), '*', 2, seed=5), add_lora(model(), '3', 2, seed=5)
    assert np.array_equal(one[3].a, two[3].a) and one[0].a.shape != one[3].a.shape
    assert not np.array_equal(one[2].body.a, one[3].a)

def test_lists_dicts_and_what_is_shared():
    class Parts(nn.Module):
        def __init__(self):
            self.many = [nn.Linear('d=2', 'd=2', seed=i) for i in range(2)]
            self.named = dict(a=nn.Linear('d=2', 'd=2', seed=3), deep=[nn.Linear('d=2', 'd=2', seed=4)])
            self.pair = (nn.Linear('d=2', 'd=2', seed=5), 'text')
            self.again = self.many[0]
        def forward(self, x):
            for f in (*self.many, self.named['a'], *self.named['deep'], self.pair[0], self.again): x = f(x)
            return x
    m, x = Parts(), fl.randn('d', 2, seed=0)
    before = m(x).numpy().copy()
    add_lora(m, rank=1, seed=0)
    assert m.again is m.many[0] and isinstance(m.again, LoRA) and isinstance(m.pair[0], LoRA) and m.pair[1] == 'text'
    assert isinstance(m.named['a'], LoRA) and isinstance(m.named['deep'][0], LoRA) and np.array_equal(m(x), before)
    merge_lora(m), unmerge_lora(m), drop_lora(m)
    assert not any(isinstance(v, LoRA) for _, v in m.named_modules()) and np.array_equal(m(x), before)

def test_attention_and_recurrent_layers(backend):
    block = nn.TransformerBlock('d=8', 2, 'ff=16', seed=0)
    x = fl.randn('seq d', (3, 8), seed=1)
    before = block(x).numpy().copy()
    add_lora(block, '*.q *.v', rank=2, seed=2)
    assert np.array_equal(block(x), before) and len(list(block.named_parameters())) == 4
    for _, t in block.named_parameters(): t.data[...] = np.random.default_rng(0).normal(size=t.shape)
    changed = block(x).numpy().copy()
    np.testing.assert_allclose(merge_lora(block)(x).numpy(), changed, rtol=1e-4, atol=1e-4)
    rnn = nn.LSTM('read=3', 'hidden=4', over='t', seed=0)
    s = fl.randn('t read', (5, 3), seed=1)
    before = rnn(s)[0].numpy().copy()
    add_lora(rnn, rank=1, seed=0)
    np.testing.assert_allclose(rnn(s)[0].numpy(), before, rtol=1e-5, atol=1e-6)

@pytest.mark.parametrize('kind', ['f32', 'f16', 'q4_1'])
def test_the_maps_of_a_decoder(kind):
    "Found like any layer; in blocks, too, where the change has numbers of its own."
    net = decoder(kind)
    ids, told = [3, 1, 4, 1, 5, 9, 2, 6], [1, 4, 1, 5, 9, 2, 6, 5]
    before = net(ids).numpy().copy()
    add_lora(net, '*.attention.q *.feed.down', rank=2, seed=0)
    assert sorted({p.split('.')[-2] for p, t in net.named_parameters()}) == ['down', 'q']
    np.testing.assert_array_equal(net(ids), before)
    def loss(): return net(ids).cross_entropy('vocab', told)
    first, opt = loss().item(), optim.AdamW(net, lr=.05)
    for _ in range(8):
        opt.zero_grad()
        loss().backward()
        opt.step()
    assert loss().item() < .7 * first
    after, cache = net(ids).numpy().copy(), net.cache()
    for row, i in zip(after, ids): np.testing.assert_allclose(net([i], cache=cache, last=True), row, atol=1e-4)
    if kind == 'f32': np.testing.assert_allclose(merge_lora(net)(ids), after, atol=1e-4)
    elif kind == 'q4_1':
        with pytest.raises(DTypeError, match='no weight of q4_1'): merge_lora(net)
    if kind == 'f32': unmerge_lora(net)
    np.testing.assert_array_equal(drop_lora(net)(ids), before)

@pytest.mark.torch
def test_the_slope_of_what_is_learnt_beside_blocks_is_torchs():
    torch = pytest.importorskip('torch')
    m = decoder('q4_1').blocks[0].attention.q
    w, layer = torch.from_numpy(m.weight.dequantize().numpy()), LoRA(m, rank=2, alpha=6, seed=0)
    layer.b.data[...] = np.random.default_rng(1).normal(size=layer.b.shape)
    x = fl.randn('seq embed', (3, 64), seed=2)
    (layer(x)**2).sum().backward()
    a, b = [torch.from_numpy(t.data.copy()).requires_grad_() for t in (layer.a, layer.b)]
    u = torch.from_numpy(x.numpy())
    ((u @ w.T + 3 * u @ a.T @ b.T)**2).sum().backward()
    for ours, theirs in ((layer.a, a), (layer.b, b)):
        np.testing.assert_allclose(ours.grad.data, theirs.grad, rtol=1e-3, atol=1e-2)

def test_only_what_was_added_learns(backend):
    m = add_lora(model(), '0 3', rank=2, alpha=6, dropout=.1, seed=1)
    base = {k: v for k, v in m.state_dict().items() if '.a' not in k and '.b' not in k or 'base' in k}
    opt, target = optim.AdamW(m.parameters(), lr=.05), fl.randn('row c', (5, 3), seed=3)
    first = m.eval()(X()).mse_loss(target).item()
    for _ in range(60):
        loss = m.train()(X()).mse_loss(target)
        opt.zero_grad(); loss.backward(); opt.step()
    assert m.eval()(X()).mse_loss(target).item() < .7 * first
    assert all(np.array_equal(v, m.state_dict()[k]) for k, v in base.items())
    y = m(X()).numpy().copy()
    np.testing.assert_allclose(merge_lora(m)(X()).numpy(), y, rtol=1e-4, atol=1e-5)
    assert all(np.array_equal(v, unmerged[k]) for unmerged in [unmerge_lora(m).state_dict()] for k, v in base.items())
    assert np.array_equal(drop_lora(m)(X()), model()(X()))

def test_a_task_is_a_small_state():
    m = add_lora(model(), '0 3', rank=2, alpha=6, seed=1)
    for _, t in m.named_parameters(): t.data[...] = np.random.default_rng(t.numel).normal(size=t.shape)
    state = lora_state(m)
    assert [*state] == [f'{p}.{n}' for p in '03' for n in ('a', 'b', 'scale')]
    y = m(X()).numpy().copy()
    other = load_lora(add_lora(model(), '0 3', rank=2, alpha=1, seed=2), state)
    assert np.array_equal(other(X()), y) and other[0].alpha == 6
    state['0.a'][...] = 0
    assert np.array_equal(m(X()), y)

def test_a_task_in_a_file(tmp_path):
    "safetensors, the scale among them; and a whole model, merged and not."
    m = add_lora(model(), '0 3', rank=2, alpha=6, seed=1)
    for _, t in m.named_parameters(): t.data[...] = np.random.default_rng(t.numel).normal(size=t.shape)
    y = m(X()).numpy().copy()
    fl.train.save_weights(tmp_path/'task.safetensors', lora_state(m))
    other = load_lora(add_lora(model(), '0 3', rank=2), fl.train.load_weights(tmp_path/'task.safetensors'))
    assert np.array_equal(other(X()), y)
    for merged in (False, True):
        if merged: merge_lora(m); y = m(X()).numpy().copy()
        fl.train.save_weights(tmp_path/'all.safetensors', m)
        other = add_lora(model(), '0 3', rank=2)
        fl.train.load_weights(tmp_path/'all.safetensors', other)
        assert np.array_equal(other(X()), y) and other[0].merged.item() == merged

def test_a_foreign_task_changes_nothing():
    m = add_lora(model(), '0 3', rank=2, seed=1)
    before, good = m.state_dict(), lora_state(m)
    good['0.a'] = good['0.a'] + 1
    for wrong in ({k: v for k, v in good.items() if k != '3.scale'}, good | {'2.body.a': np.ones((2, 6))},
                  good | {'3.b': np.ones((3, 4), 'f4')}, lora_state(add_lora(model(), '0', rank=2))):
        with pytest.raises(StateMismatch): load_lora(m, wrong)
        assert all(np.array_equal(v, before[k]) for k, v in m.state_dict().items())
    merge_lora(m)
    with pytest.raises(OptionError, match='is merged'): load_lora(m, good)

def test_merging_a_model_is_all_or_nothing():
    m = add_lora(model(), '0 3', rank=2, seed=1)
    m[3].merge()
    with pytest.raises(OptionError, match='3 is merged'): merge_lora(m)
    assert not m[0].merged.item()
    with pytest.raises(OptionError, match='not merged'): unmerge_lora(m)
    assert m[3].merged.item()

def test_a_weight_that_another_layer_shares_is_not_merged():
    class Tied(nn.Module):
        def __init__(self): self.a, self.b = nn.Linear('d=2', 'd=2', seed=0), nn.Linear('d=2', 'd=2', seed=1)
    m = Tied()
    m.b.weight = m.a.weight
    add_lora(m, 'a', rank=1)
    with pytest.raises(OptionError, match='the weight of a is shared'): merge_lora(m)

def test_a_copy_is_on_its_own():
    m = add_lora(model(), '0', rank=1, seed=0)
    m[0].b.data[...] = 1
    merge_lora(m)
    twin = copy.deepcopy(m)
    unmerge_lora(twin)
    assert m[0].merged.item() and not twin[0].merged.item() and np.array_equal(twin[0].base.weight, model()[0].weight)

def test_adding_once_more_leaves_what_is_there(backend):
    "No LoRA within a LoRA; what was added first learns on."
    m = add_lora(model(), '0', rank=1, seed=0)
    first = m[0]
    add_lora(m, '*', rank=2, seed=1)
    assert m[0] is first and type(first.base) is nn.Linear
    assert [n for n, _ in m.named_parameters()] == ['0.a', '0.b', '2.body.a', '2.body.b', '3.a', '3.b']
    with pytest.raises(OptionError, match='no Linear layer'): add_lora(m, '0')

@pytest.mark.parametrize('name, said', [('LoraConfig', 'LoRA(layer'), ('get_peft_model', 'add_lora(model'),
                                        ('merge_and_unload', 'merge_lora'), ('add_lorra', "did you mean")])
def test_names_of_other_libraries(name, said):
    with pytest.raises(fl.UnknownName) as e: getattr(lora, name)
    assert said in str(e.value)

MISTAKES = [
    (OptionError, lambda: LoRA(nn.Conv2d('c=2', 'o=2', 1)), 'takes a Linear layer'),
    (FucinaError, lambda: LoRA(nn.Linear('i=2', 'o=2'), rank=0), 'rank is 0'),
    (FucinaError, lambda: LoRA(nn.Linear('i=2', 'o=2'), alpha=0), 'alpha is 0'),
    (FucinaError, lambda: LoRA(nn.Linear('i=2', 'o=2'), dropout=1.), 'p is 1'),
    (OptionError, lambda: add_lora(model(), '*.query'), r"no Linear layer is called '\*.query'"),
    (OptionError, lambda: add_lora(model(), '0 5'), "no Linear layer is called '5'"),
    (OptionError, lambda: add_lora(nn.Linear('i=2', 'o=2')), 'of a single layer'),
    (OptionError, lambda: merge_lora(model()), 'of a model without LoRA'),
    (OptionError, lambda: lora_state(model()), 'of a model without LoRA'),
]

@pytest.mark.parametrize('kind, make, words', MISTAKES)
def test_what_is_refused(kind, make, words):
    with pytest.raises(kind, match=words): make()

def test_a_model_is_as_it_was_where_nothing_matched():
    m = model()
    with pytest.raises(OptionError): add_lora(m, '0 9')
    assert len(m.parameters()) == 6

def test_it_is_there_when_asked_for(): assert fl.lora is lora
