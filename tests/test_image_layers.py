"""Layers for signals and pictures and layers that normalise (chapters 30c, 30d), beside torch and beside a
few numbers kept from it."""
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import nn
from fucinalib.errors import (FucinaError, InvalidShape, OptionError, OptionTypeError, ShapeMismatch, TagError)
from fucinalib.gradients import gradcheck

TOL = dict(f32=1e-5, f64=1e-12)


def near(ours, theirs, dtype):
    "Equal within the tolerance of the number type, relative to the largest value."
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape and str(ours.dtype) == {'f32': 'float32', 'f64': 'float64'}[dtype]
    assert np.abs(ours - theirs).max() <= TOL[dtype] * max(1, np.abs(theirs).max())

def draw(*shape, seed=0, dtype='f32'):
    return np.random.default_rng(seed).normal(size=shape).astype({'f32': 'f4', 'f64': 'f8'}[dtype])

def put(t, a):
    "Write the array of a torch weight, whose axes stand in the order of ours."
    t.data[...] = a


# ---- beside torch

def layers():
    "name -> (torch's layer, ours, shape of x in torch, tags of it, weights in torch's order to ours)."
    conv2 = {'weight': 'feature channel kh kw', 'bias': 'feature'}
    conv1 = {'weight': 'feature channel tap', 'bias': 'feature'}
    back1 = {'weight': 'channel feature tap', 'bias': 'feature'}
    chan, norm = {'weight': 'channel', 'bias': 'channel'}, {'weight': 'h w', 'bias': 'h w'}
    image, time = 'image channel h w', 'signal channel time'
    for kw in (dict(), dict(stride=2), dict(padding=1), dict(stride=(2, 1), padding=(0, 1)), dict(bias=False),
               dict(groups=2), dict(groups=4)):
        yield ('Conv2d', (4, 8, (3, 2)), kw, ('channel=4', 'feature=8', 'h=3 w=2'), kw, (2, 4, 7, 6), image, conv2)
    for kw in (dict(), dict(stride=2, padding=2), dict(dilation=2), dict(groups=2), dict(bias=False)):
        yield ('Conv1d', (4, 6, 3), kw, ('channel=4', 'feature=6', 'time=3'), kw, (2, 4, 9), time, conv1)
    for kw in (dict(), dict(stride=2, padding=1), dict(stride=3, padding=1, output_padding=1), dict(bias=False)):
        ours = {k.replace('output_padding', 'output_pad'): v for k, v in kw.items()}
        yield ('ConvTranspose1d', (4, 3, 3), kw, ('channel=4', 'feature=3', 'time=3'), ours, (2, 4, 5), time, back1)
    back2 = {'weight': 'channel feature kh kw', 'bias': 'feature'}
    for kw in (dict(), dict(stride=2, padding=1), dict(stride=(3, 2), padding=(1, 0), output_padding=(2, 1)),
               dict(bias=False, stride=2)):
        ours = {k.replace('output_padding', 'output_pad'): v for k, v in kw.items()}
        yield ('ConvTranspose2d', (4, 3, (3, 2)), kw, ('channel=4', 'feature=3', 'h=3 w=2'), ours, (2, 4, 3, 5), image,
               back2)
    for kw in (dict(), dict(stride=1), dict(padding=1)):
        yield 'MaxPool2d', (2,), kw, ('h=2 w=2',), kw, (2, 3, 7, 6), image, {}
        yield 'AvgPool2d', (2,), dict(kw, count_include_pad=False), ('h=2 w=2',), kw, (2, 3, 7, 6), image, {}
    yield 'Upsample', (), dict(scale_factor=4), (4, 'h w'), {}, (2, 3, 2, 3), image, {}
    for kw in (dict(), dict(eps=.1), dict(affine=False)):
        yield 'BatchNorm2d', (3,), kw, ('channel=3',), kw, (4, 3, 2, 3), image, chan
    yield 'BatchNorm1d', (5,), {}, ('channel=5',), {}, (6, 5), 'row channel', chan
    yield 'LayerNorm', ((5,),), {}, ('d=5',), {}, (2, 4, 5), 'a b d', {'weight': 'd', 'bias': 'd'}
    for kw in (dict(), dict(eps=.1), dict(bias=False)):
        yield 'LayerNorm', ((4, 5),), kw, ('h=4 w=5',), kw, (2, 4, 5), 'image h w', norm
        yield 'LayerNorm', ((5,),), kw, ('d=5',), kw, (2, 4, 5), 'a b d', {'weight': 'd', 'bias': 'd'}
    yield 'LayerNorm', ((5,),), dict(elementwise_affine=False), ('d=5',), dict(weight=False), (4, 5), 'a d', {}
    yield 'RMSNorm', ((5,),), dict(eps=1e-5), ('d=5',), dict(eps=1e-5), (2, 5), 'a d', {'weight': 'd'}
    yield ('RMSNorm', ((4, 5),), dict(eps=1e-5), ('h=4 w=5',), dict(eps=1e-5), (2, 4, 5), 'image h w',
           {'weight': 'h w'})
    yield 'GroupNorm', (2, 6), {}, ('channel=6', 2, 'h w'), {}, (2, 6, 3, 2), image, chan
    yield 'GroupNorm', (6, 6), {}, ('channel=6', 6, 'h w'), {}, (2, 6, 3, 2), image, chan
    yield ('GroupNorm', (3, 6), dict(affine=False), ('channel=6', 3), dict(weight=False, bias=False), (2, 6),
           'a channel', {})

LAYERS = list(layers())
LABELS = [f'{name}-{"-".join(f"{k}={v}" for k, v in kw.items()) or "plain"}-{len(shape)}'
          for name, _, kw, _, _, shape, *_ in LAYERS]


@pytest.mark.torch
@pytest.mark.parametrize('dtype', ['f32', 'f64'])
@pytest.mark.parametrize('case', LAYERS, ids=LABELS)
def test_values_and_gradients_are_torchs(case, dtype, backend):
    "x and every weight, in training; the result keeps the axes of x in their order."
    torch = pytest.importorskip('torch')
    name, args, kw, mine, options, shape, tags, order = case
    a = draw(*shape, dtype=dtype)
    theirs = getattr(torch.nn, name)(*args, **kw).to(getattr(torch, {'f32': 'float32', 'f64': 'float64'}[dtype]))
    typed = {} if name in ('MaxPool2d', 'AvgPool2d', 'Upsample') else dict(dtype=dtype)
    ours = getattr(nn, name[:9] if name.startswith('Batch') else name)(*mine, **options, **typed)
    inside = getattr(ours, 'within', 'channel')
    order = {n: t.replace('channel', inside) for n, t in order.items()}
    for i, (n, p) in enumerate(theirs.named_parameters()):
        v, w = draw(*p.shape, seed=i + 1, dtype=dtype), getattr(ours, n)
        with torch.no_grad(): p[...] = torch.from_numpy(v)
        put(w, fl.Tensor(v, order[n]).permute(*w.tags).data)
    x, tx = fl.param(a, tags), torch.from_numpy(a.copy()).requires_grad_()
    y, ty = ours(x), theirs(tx)
    assert y.tags == tuple(tags.replace('channel', getattr(ours, 'outside', 'channel')).split())
    near(y.numpy(), ty.detach().numpy(), dtype)
    g = draw(*ty.shape, seed=9, dtype=dtype)
    y.backward(g)
    ty.backward(torch.from_numpy(g))
    near(x.grad.numpy(), tx.grad.numpy(), dtype)
    for n, p in theirs.named_parameters():
        near(getattr(ours, n).grad.permute(*order[n].split()).numpy(), p.grad.numpy(), dtype)


@pytest.mark.torch
@pytest.mark.parametrize('dtype', ['f32', 'f64'])
@pytest.mark.parametrize('momentum', [.1, .7, None])
def test_running_averages_are_torchs(momentum, dtype, backend):
    "After five batches of different sizes, and what the layer gives in use."
    torch = pytest.importorskip('torch')
    theirs = torch.nn.BatchNorm2d(3, momentum=momentum).to(getattr(torch, 'float32' if dtype == 'f32' else 'float64'))
    ours = nn.BatchNorm('channel=3', momentum=momentum, dtype=dtype)
    for i in range(5):
        a = draw(2 + i, 3, 2, 2, seed=i, dtype=dtype) * (i + 1)
        ours(fl.Tensor(a, 'image channel h w')); theirs(torch.from_numpy(a))
    near(ours.running_mean.numpy(), theirs.running_mean.numpy(), dtype)
    near(ours.running_var.numpy(), theirs.running_var.numpy(), dtype)
    assert ours.batches.item() == theirs.num_batches_tracked.item() == 5
    ours.training = False; theirs.eval()
    one = draw(1, 3, 1, 1, seed=7, dtype=dtype)
    near(ours(fl.Tensor(one, 'image channel h w')).numpy(), theirs(torch.from_numpy(one)).detach().numpy(), dtype)
    assert ours.batches.item() == 5


@pytest.mark.torch
@pytest.mark.parametrize('dtype', ['f32', 'f64'])
def test_batches_far_from_zero_lose_no_more_than_torchs(dtype, backend):
    "Mean 1000, deviation 1: the difference is taken before anything is multiplied."
    torch = pytest.importorskip('torch')
    a = draw(64, 4, dtype='f64') + 1000
    exact = torch.nn.BatchNorm1d(4).double()(torch.from_numpy(a)).detach().numpy()
    x = fl.Tensor(a, 'row channel', dtype)
    assert np.abs(nn.BatchNorm('channel=4', dtype=dtype)(x).numpy() - exact).max() < (1e-3 if dtype == 'f32' else 1e-11)


# ---- numbers by hand, for those who have no torch

def test_numbers_by_hand(backend):
    "By hand, from the formulas of the chapters."
    x = fl.Tensor(np.arange(18.).reshape(3, 3, 2) / 10, 'h w c', 'f32')
    conv = nn.Conv2d('c=2', 'o=1', 2)
    put(conv.weight, (np.arange(8.) / 10).reshape(1, 2, 2, 2)); put(conv.bias, [.5])
    # row by row: the sum of w x over the window's 8 entries, by hand from the definition
    hand = [[sum(x.numpy()[i + a, j + b, c] * conv.weight.numpy()[0, a, b, c]
                 for a in (0, 1) for b in (0, 1) for c in (0, 1)) + .5 for j in (0, 1)] for i in (0, 1)]
    np.testing.assert_allclose(conv(x).numpy()[..., 0], hand, rtol=1e-6)
    np.testing.assert_allclose(nn.LayerNorm('d=4')(fl.Tensor([1., 2., 3., 4.], 'd')).numpy(),
                               [-1.3416355, -.4472118, .4472118, 1.3416355], rtol=1e-6)
    np.testing.assert_allclose(nn.RMSNorm('d=2', eps=0)(fl.Tensor([3., 4.], 'd')).numpy(),
                               [.8485281, 1.1313708], rtol=1e-6)
    np.testing.assert_allclose(nn.GroupNorm('c=4', 2, eps=0)(fl.Tensor([[1., 3., 7., 1.]], 'r c')).numpy(),
                               [[-1, 1, 1, -1]], rtol=1e-6)
    bn = nn.BatchNorm('c=2', eps=0)
    np.testing.assert_allclose(bn(fl.Tensor([[1., 10.], [3., 30.]], 'r c')).numpy(), [[-1, -1], [1, 1]], rtol=1e-6)
    np.testing.assert_allclose(bn.running_mean, [.2, 2], rtol=1e-6)
    np.testing.assert_allclose(bn.running_var, [1.1, 20.9], rtol=1e-6)


# ---- one value per channel (FluxML/Flux.jl 2716)

def state(bn): return [t.numpy().copy() for t in (bn.running_mean, bn.running_var, bn.batches)]

def test_one_value_per_channel_is_refused_before_anything_changes(backend):
    bn = nn.BatchNorm('channel=2')
    before = state(bn)
    for x in ([[3., 5.]], [[[3., 5.]]]):
        tags = 'row channel' if np.ndim(x) == 2 else 'row place channel'
        with pytest.raises(InvalidShape, match="more than one value per 'channel'"): bn(fl.Tensor(x, tags))
    with pytest.raises(InvalidShape, match='more than one value'): bn(fl.Tensor([3., 5.], 'channel'))
    assert all(map(np.array_equal, before, state(bn)))
    bn(fl.randn('row place channel', (1, 4, 2), seed=0))       # four values a channel
    assert np.isfinite(bn.running_var.numpy()).all() and bn.batches.item() == 1
    bn.training = False
    assert np.isfinite(bn(fl.Tensor([[3., 5.]], 'row channel')).numpy()).all()

@pytest.mark.parametrize('training', [True, False])
def test_a_batch_that_does_not_fit_changes_nothing(training, backend):
    "One channel would broadcast against three."
    bn = nn.BatchNorm('channel=3')
    bn.training, before = training, state(bn)
    for n in (1, 2):
        with pytest.raises(ShapeMismatch, match="over 'channel'"): bn(fl.zeros('row channel', (4, n)))
    with pytest.raises(TagError, match="'channel'"): bn(fl.zeros('row feature', (4, 3)))
    assert all(map(np.array_equal, before, state(bn)))

def learner_of_rows(n):
    "A model with a BatchNorm, and batches of ten of n rows."
    rng = np.random.default_rng(0)
    x, y = fl.Tensor(rng.normal(size=(n, 4)), 'row d', 'f32'), fl.Tensor(rng.integers(0, 2, n), 'row')
    data = fl.data.Dataset(x, y)
    model = nn.Sequential(nn.Linear('d=4', 'h=8', seed=0), nn.BatchNorm('h=8'), fl.relu,
                          nn.Linear('h=8', 'class=2', seed=1))
    step = lambda x, y: model(x).cross_entropy('class', y)
    return model, fl.train.Learner(model, fl.optim.SGD(model, lr=.1), step, show=False), data

def test_the_last_of_101_rows_in_tens():
    "The batch of one row is refused, and what was learnt so far is whole; of 100 rows, or without it, all is well."
    model, learner, data = learner_of_rows(101)
    with pytest.raises(InvalidShape, match="more than one value per 'h'") as e: learner.fit(data.batches('row', 10), 1)
    assert 'in Sequential.1' in str(e.value) and model[1].batches.item() == 10
    assert all(np.isfinite(v).all() for v in model.state_dict().values())
    assert np.isfinite(model.eval()(data.x).numpy()).all()
    for rows, how in ((101, dict(partial=False)), (100, {}), (102, {})):
        model, learner, data = learner_of_rows(rows)
        learner.fit(data.batches('row', 10, **how), 2)
        assert model[1].batches.item() == 2 * (11 if rows == 102 else 10)
        assert all(np.isfinite(v).all() for v in model.state_dict().values())

def test_running_averages_are_saved_with_the_weights(tmp_path):
    model, learner, data = learner_of_rows(100)
    learner.fit(data.batches('row', 10), 1)
    fl.train.save_weights(tmp_path/'m.safetensors', model)
    other = learner_of_rows(100)[0]
    fl.train.load_weights(tmp_path/'m.safetensors', other)
    assert other[1].batches.item() == 10 and np.array_equal(other.eval()(data.x), model.eval()(data.x))

def test_averages_go_on_in_the_memory_that_was_read_into():
    "What was loaded is not changed by training on."
    bn, x = nn.BatchNorm('c=2'), fl.randn('row c', (5, 2), seed=0)
    bn(x)
    state = bn.state_dict()
    kept = {k: v.copy() for k, v in state.items()}
    where = bn.running_mean.data.ctypes.data
    bn.load_state_dict(state)
    bn(x)
    assert all(np.array_equal(v, kept[k]) for k, v in state.items()) and bn.running_mean.data.ctypes.data == where

@pytest.mark.parametrize('momentum', [.1, None])
def test_a_recorded_step_moves_the_averages_too(momentum):
    "Bit for bit as the step itself, whether it replays or not."
    def make():
        model = nn.Sequential(nn.Linear('d=4', 'h=8', seed=0), nn.BatchNorm('h=8', momentum=momentum), fl.relu,
                              nn.Linear('h=8', 'class=2', seed=1))
        opt = fl.optim.SGD(model, lr=.1, momentum=.9)
        def step(x, y):
            opt.zero_grad()
            loss = model(x).cross_entropy('class', y)
            loss.backward()
            opt.step()
            return loss
        return model, step
    (one, step), (two, other) = make(), make()
    recorded, rng = fl.record(other), np.random.default_rng(0)
    for _ in range(8):
        x, y = fl.Tensor(rng.normal(size=(6, 4)), 'row d', 'f32'), fl.Tensor(rng.integers(0, 2, 6), 'row')
        assert step(x, y).item() == recorded(x, y).item()
        for k, v in one.state_dict().items(): assert np.array_equal(v, two.state_dict()[k]), k
def test_a_summary_of_these_layers():
    "The flow of sizes through every one of them."
    model = nn.Sequential(nn.Conv2d('c=1', 'f=4', 3, padding=1), nn.BatchNorm('f=4'), nn.MaxPool2d(2), nn.Upsample(2),
                          nn.GroupNorm('f=4', 2, over='h w'), nn.LayerNorm('f=4'), nn.AvgPool2d(4))
    text = str(fl.summary(model, fl.zeros('image h w c', (2, 8, 8, 1))))
    for words in ('image=2 h=8 w=8 f=4', 'image=2 h=4 w=4 f=4', 'image=2 h=2 w=2 f=4'): assert words in text, text

def test_a_checkpointed_block_is_one_batch(backend):
    "Its second run is no second batch; nor is that of a checkpoint within it."
    x = fl.param(draw(4, 3), 'row channel')
    bn, plain = nn.BatchNorm('channel=3'), nn.BatchNorm('channel=3')
    plain(x)
    fl.checkpoint(lambda x: fl.checkpoint(bn, x).square(), x).sum().backward()
    assert bn.batches.item() == 1 and np.array_equal(bn.running_var, plain.running_var)

def test_running_averages_have_no_graph():
    bn, x = nn.BatchNorm('channel=3'), fl.param(draw(4, 3), 'row channel')
    bn(x).sum().backward()
    assert [n for n, _ in bn.named_parameters()] == ['weight', 'bias']
    assert [n for n, _ in bn.named_buffers()] == ['running_mean', 'running_var', 'batches']

def test_gradients_in_use_reach_x_and_the_weights(backend):
    bn = nn.BatchNorm('channel=3', dtype='f64')
    put(bn.running_mean, [1., 2., 3.]); put(bn.running_var, [.5, 1., 2.])
    bn.training = False
    gradcheck(lambda x, *w: bn(x).sigmoid(), fl.param(draw(2, 3, dtype='f64'), 'row channel'), bn.weight, bn.bias)


# ---- names

@pytest.mark.parametrize('order', ['image h w channel', 'channel image w h', 'w channel image h'])
def test_named_windows_take_axes_in_any_order(order, backend):
    "The same numbers, and the order of x with the channels renamed."
    x = fl.randn('image h w channel', (2, 5, 4, 4), seed=0)
    for layer in (nn.Conv2d('channel=4', 'feature=6', 'h=3 w=2', seed=1), nn.BatchNorm('channel=4'),
                  nn.Conv2d('channel=4', 'channel=2', 'h=3 w=2', seed=1), nn.GroupNorm('channel=4', 2, 'h w')):
        y = layer(x.permute(order))
        out = getattr(layer, 'outside', 'channel')
        assert y.tags == tuple(order.replace('channel', out).split())
        usual = 'image h w channel'.replace('channel', out)
        np.testing.assert_allclose(y.permute(usual).numpy(), layer(x).numpy(), rtol=1e-5, atol=1e-6)

def test_windows_may_be_named_across(backend):
    "'w=2 h=3' is the window of 'h=3 w=2' with its weights turned."
    a = nn.Conv2d('c=2', 'o=3', 'h=3 w=2', bias=False, seed=0)
    b = nn.Conv2d('c=2', 'o=3', 'w=2 h=3', bias=False, seed=0)
    put(b.weight, a.weight.numpy().swapaxes(1, 2))
    x = fl.randn('h w c', (5, 4, 2), seed=1)
    np.testing.assert_allclose(a(x).numpy(), b(x).numpy(), rtol=1e-5, atol=1e-6)

def test_pools_by_name_take_the_last_other_axis_for_channels():
    x = fl.randn('channel h w', (3, 4, 6), seed=0)
    y = nn.MaxPool2d('h=2 w=3')(x)
    assert y.tags == x.tags and np.array_equal(y, x.numpy().reshape(3, 2, 2, 2, 3).max((2, 4)))
    assert nn.Upsample(2, 'h w')(x).shape == (3, 8, 12)
    assert np.array_equal(nn.Upsample(1)(x), x)

def test_channels_of_one_name(backend):
    "In and out called the same, in all that have weights."
    x = fl.randn('b time c', (2, 6, 3), seed=0)
    for layer in (nn.Conv1d('c=3', 'c=5', 3, seed=1), nn.ConvTranspose1d('c=3', 'c=5', 3, seed=1)):
        assert layer(x).tags == x.tags and layer(x).size('c') == 5 and 'c_in' in layer.weight.tags
    assert nn.Conv2d('c=3', 'c=5', 3).weight.tags == ('c', 'kh', 'kw', 'c_in')
    y = nn.ConvTranspose2d('c=3', 'c=5', 'h=2 w=2', stride=2, seed=1)(fl.randn('b c h w', (2, 3, 4, 4), seed=0))
    assert y.tags == ('b', 'c', 'h', 'w') and y.shape == (2, 5, 8, 8)

def test_a_transposed_convolution_is_the_adjoint_of_a_convolution(backend):
    "<conv(x), y> = <x, back(y)> for the same weights."
    conv = nn.Conv2d('c=2', 'o=3', 3, stride=2, padding=1, bias=False, dtype='f64', seed=0)
    back = nn.ConvTranspose2d('o=3', 'c=2', 3, stride=2, padding=1, bias=False, dtype='f64')
    back.weight.data[...] = conv.weight.numpy()
    x, y = fl.randn('h w c', (7, 5, 2), seed=1, dtype='f64'), fl.randn('h w o', (4, 3, 3), seed=2, dtype='f64')
    assert abs((conv(x) * y).sum().item() - (x * back(y)).sum().item()) < 1e-12

def test_causal_layers_go_on(backend):
    "In pieces with the past given, bit for bit; also with channels that are renamed inside."
    for out in ('o=4', 'c=4'):
        layer = nn.Conv1d('c=2', out, 'time=3', dilation=2, causal=True, seed=0)
        x = fl.randn('b time c', (2, 12, 2), seed=1)
        a = layer(x.narrow('time', 0, 7)).numpy()
        b = layer(x.narrow('time', 7, 5), state=x.narrow('time', 3, 4)).numpy()
        assert np.array_equal(np.concatenate([a, b], 1), layer(x).numpy())


# ---- first values

def test_first_values_are_a_function_of_the_seed():
    a, b, c = (nn.Conv2d('c=3', 'o=4', 3, seed=s) for s in (1, 1, 2))
    bare = nn.Conv2d('c=3', 'o=4', 3, seed=1, bias=False)
    assert np.array_equal(a.weight, b.weight) and np.array_equal(a.weight, bare.weight)
    assert not np.array_equal(a.weight, c.weight) and bare.bias is None and not a.bias.numpy().any()
    fl.manual_seed(5); one = nn.Conv1d('c=3', 'o=4', 3)
    fl.manual_seed(5); two = nn.Conv1d('c=3', 'o=4', 3)
    assert np.array_equal(one.weight, two.weight) and not np.array_equal(two.weight, nn.Conv1d('c=3', 'o=4', 3).weight)

@pytest.mark.parametrize('make, fan', [
    (lambda **o: nn.Conv2d('c=8', 'o=64', 3, groups=2, seed=0, **o), 36),
    (lambda **o: nn.Conv1d('c=8', 'o=64', 5, seed=0, **o), 40),
    (lambda **o: nn.ConvTranspose1d('c=64', 'o=8', 5, seed=0, **o), 320)])
def test_first_values_go_by_what_a_result_adds_up(make, fan):
    "He: variance 2 / fan; another initialiser is told the same axes."
    w = make().weight.numpy()
    assert abs(w.std() / (2 / fan)**.5 - 1) < .05 and abs(w.mean()) < .1 * w.std()
    w = make(init=nn.init.lecun_uniform).weight.numpy()
    assert .97 < np.abs(w).max() / (3 / fan)**.5 <= 1 + 1e-6

@pytest.mark.parametrize('kind', 'Conv1d Conv2d ConvTranspose1d ConvTranspose2d'.split())
def test_first_values_are_read_as_those_of_linear(kind):
    "A function may give an array; a word, or values with other axes, are refused."
    def make(**o): return getattr(nn, kind)('c=2', 'o=3', 3, **o)
    layer = make(init=lambda axes, *fans, seed, dtype: np.ones(tuple(axes.values())), dtype='f64')
    assert layer.weight.requires_grad and layer.weight.dtype == fl.f64 and (layer.weight.numpy() == 1).all()
    with pytest.raises(fl.OptionError, match="init is 'he'"): make(init='he')
    with pytest.raises(fl.InvalidShape, match='other axes'):
        make(init=lambda axes, *fans, seed, dtype: fl.zeros('c o', (2, 3)))

def test_a_layer_prints_what_it_was_told():
    for text in ("Conv2d('channel=3', 'feature=8', 'h=3 w=3', padding=1)", "Conv1d('c=3', 'o=2', 3, causal=True)",
                 "ConvTranspose1d('c=3', 'o=2', 3, stride=2)", "MaxPool2d(2)", "AvgPool2d('h=2 w=2', stride=1)",
                 "ConvTranspose2d('c=3', 'o=2', 'h=3 w=3', output_pad=1)",
                 "Upsample(4, axes='h w')", "BatchNorm('c=3', momentum=None)", "LayerNorm('d=4')",
                 "RMSNorm('d=4', eps=0.1)",
                 "GroupNorm('c=4', 2, over='h w')",
                 "Conv2d('c=3', 'o=2', (3, 1), stride=(2, 1), bias=False, relu=True)"):
        assert repr(eval(text, vars(nn))).startswith(text)


# ---- mistakes

MISTAKES = [
    (InvalidShape, lambda: nn.Conv2d('channel', 'feature=8', 3), "no size for 'channel'"),
    (TagError, lambda: nn.Conv2d('channel=3', 'h=8 w=8', 3), "takes one axis as outside"),
    (TagError, lambda: nn.Conv2d(3, 8, 3), "3 is no axis.*\n.*Conv2d.'channel=3', 'feature=8', 3"),
    (InvalidShape, lambda: nn.BatchNorm('channel=0'), "channel is 0"),
    (InvalidShape, lambda: nn.LayerNorm(''), "names no axis"),
    (InvalidShape, lambda: nn.Conv2d('c=3', 'o=8', 0), "kernel is 0"),
    (InvalidShape, lambda: nn.Conv2d('c=3', 'o=8', (3, 3, 3)), "a window of 3 axes"),
    (InvalidShape, lambda: nn.Conv1d('c=3', 'o=8', 'h=3 w=3'), "a window of 2 axes"),
    (OptionTypeError, lambda: nn.Conv2d('c=3', 'o=8', 1.5), "kernel is 1.5"),
    (ShapeMismatch, lambda: nn.Conv2d('c=3', 'o=8', 3, stride=0), "stride is 0"),
    (ShapeMismatch, lambda: nn.Conv2d('c=3', 'o=8', 3, groups=2), "3 input and 8 output channels in 2 groups"),
    (OptionTypeError, lambda: nn.Conv1d('c=3', 'o=8', 3, stride=(1, 1)), "stride is"),
    (InvalidShape, lambda: nn.Conv1d('c=3', 'o=8', 3, dilation=0), "dilation is 0"),
    (OptionError, lambda: nn.Conv1d('c=3', 'o=8', 3, causal='yes'), "causal is"),
    (OptionTypeError, lambda: nn.Conv1d('c=3', 'o=8', 3, seed='one'), "seed is"),
    (InvalidShape, lambda: nn.ConvTranspose1d('c=3', 'o=8', 3, output_pad=-1), "output_pad is -1"),
    (InvalidShape, lambda: nn.MaxPool2d(0), "kernel is 0"),
    (ShapeMismatch, lambda: nn.MaxPool2d(2, stride=0), "stride is 0"),
    (InvalidShape, lambda: nn.Upsample(3), "times is 3"),
    (OptionError, lambda: nn.BatchNorm('c=3', momentum=1.5), "momentum is 1.5"),
    (OptionError, lambda: nn.LayerNorm('c=3', eps=-1.), "eps is -1"),
    (ShapeMismatch, lambda: nn.GroupNorm('c=8', 3), "8 channels in 3 groups"),
    (TagError, lambda: nn.GroupNorm('c=8', 2, over='h h'), "'h'"),
]

@pytest.mark.parametrize('kind, make, words', MISTAKES)
def test_a_layer_made_wrong_says_so_at_once(kind, make, words):
    with pytest.raises(kind, match=words) as caught: make()
    assert caught.value.help

CALLS = [
    (ShapeMismatch, lambda: nn.Conv2d('c=3', 'o=8', 3), 'h w c', (5, 5, 4), "Conv2d over 'c': it takes 3, and x has 4"),
    (TagError, lambda: nn.Conv2d('c=3', 'h=8', 3), 'h w c', (5, 5, 3), "makes 'h'"),
    (TagError, lambda: nn.Conv2d('c=3', 'o=8', 3), 'c h w', (3, 5, 5), "'c' is not the last axis"),
    (TagError, lambda: nn.Conv2d('c=3', 'o=8', 'h=3 w=3'), 'y x c', (5, 5, 3), "'h'"),
    (ShapeMismatch, lambda: nn.Conv2d('c=3', 'o=8', 9), 'h w c', (5, 5, 3), 'a window of 9'),
    (InvalidShape, lambda: nn.Conv1d('c=3', 'o=8', 3), 'c', (3,), 'no axis of time'),
    (ShapeMismatch, lambda: nn.Conv1d('c=3', 'o=8', 3), 'time c', (5, 4), "over 'c'"),
    (ShapeMismatch, lambda: nn.ConvTranspose1d('c=3', 'o=8', 3), 'time c', (5, 4), "over 'c'"),
    (ShapeMismatch, lambda: nn.LayerNorm('d=4'), 'row d', (2, 1), "over 'd'"),
    (ShapeMismatch, lambda: nn.LayerNorm('h=4 w=4'), 'h w', (4, 1), "over 'w'"),
    (ShapeMismatch, lambda: nn.RMSNorm('d=4'), 'row d', (2, 5), "over 'd'"),
    (TagError, lambda: nn.RMSNorm('d=4'), 'row e', (2, 4), "'d'"),
    (ShapeMismatch, lambda: nn.GroupNorm('c=4', 2), 'row c', (2, 8), "over 'c'"),
    (TagError, lambda: nn.GroupNorm('c=4', 2, 'h'), 'row c', (2, 4), "'h'"),
]

@pytest.mark.parametrize('kind, make, tags, shape, words', CALLS)
def test_a_call_that_does_not_fit_names_the_layer(kind, make, tags, shape, words):
    layer = make()
    with pytest.raises(kind, match=words) as caught: layer(fl.zeros(tags, shape))
    assert f'in {type(layer).__name__}' in str(caught.value)

def test_an_array_is_no_tensor():
    for layer in (nn.Conv2d('c=3', 'o=8', 3), nn.MaxPool2d(2), nn.Upsample(2), nn.BatchNorm('c=3'), nn.LayerNorm('c=3'),
                  nn.Conv1d('c=3', 'o=8', 3), nn.RMSNorm('c=3'), nn.GroupNorm('c=3', 1)):
        with pytest.raises(fl.DTypeError, match='not a tensor'): layer(np.ones((4, 4, 3), 'f4'))

def test_mixed_number_types_are_refused():
    for layer in (nn.Conv2d('c=2', 'o=2', 1), nn.BatchNorm('c=2'), nn.LayerNorm('c=2')):
        with pytest.raises(FucinaError): layer(fl.zeros('h w c', (3, 3, 2), dtype='f64'))


# ---- names of torch

NAMES = 'Conv1d Conv2d ConvTranspose1d ConvTranspose2d LayerNorm RMSNorm GroupNorm BatchNorm1d BatchNorm2d'.split()

@pytest.mark.parametrize('name', NAMES)
def test_a_layer_asked_of_the_library_itself_is_told_in_a_line_that_runs(name):
    with pytest.raises(fl.UnknownName) as e: getattr(fl, name)
    assert isinstance(eval(e.value.help, dict(fl=fl)), nn.Module)


# ---- windows that name no axes

POOLS = {'MaxPool2d': lambda: nn.MaxPool2d(2), 'AvgPool2d': lambda: nn.AvgPool2d((2, 1), stride=2),
         'Upsample': lambda: nn.Upsample(2)}
ASTRAY = ('batch channel h w', 'n c h w', 'c h w', 'batch feature height width', 'n c row col', 'image chan y x',
          'batch c freq time', 'batch channel p q', 'h w batch c', 'h channel w', 'depth h w')

def followed(error, x):
    "What the help of a refusal gives for `x`: the layer that it names, and the permuted tensor."
    call, permuted = error.help.split(' names the axes; or ')
    return eval(call, vars(nn))(x), eval(permuted, dict(x=x))

@pytest.mark.parametrize('tags', ASTRAY)
@pytest.mark.parametrize('kind', POOLS)
def test_a_pool_without_names_refuses_channels_that_do_not_stand_last(kind, tags):
    "And both ways that its help shows give the same pictures, smaller or larger along their sides only."
    x = fl.randn(tags, tuple(range(4, 4 + 2 * len(tags.split()), 2)), seed=0)
    with pytest.raises(TagError, match=f'{kind} takes .* for rows and columns') as e: POOLS[kind]()(x)
    named, permuted = followed(e.value, x)
    assert named.tags == x.tags and np.array_equal(POOLS[kind]()(permuted).permute(tags), named)
    sides = [t for t in x.tags if named.size(t) != x.size(t)]
    assert sides and not {'batch', 'n', 'c', 'channel', 'chan', 'feature', 'depth'} & {*sides}

@pytest.mark.parametrize('tags', ('h w c', 'batch h w channel', 'row col', 'a b c', 'i j k', 'c d e', 'x y z', 'p q d',
                                  'r c d', 't f d', 'batch channel time feature', 'image height width map',
                                  'n d0 d1 d2', 'y x h', 'batch a b d'))
def test_names_that_tell_nothing_are_taken_at_their_word(tags):
    x = fl.randn(tags, (4,) * len(tags.split()), seed=0)
    if x.ndim == 2: x = x.insert_axis('c', 2)
    for kind, make in POOLS.items(): assert make()(x).tags == x.tags
    for call in (lambda: x.max_pool2d(2), lambda: x.unfold(2), lambda: x.upsample2x_nearest()): call()

def test_a_window_over_any_axes_that_it_names():
    "Channels of an EEG are sides like others, for who says so."
    x = fl.randn('batch channel time map', (2, 4, 6, 3), seed=0)
    y = nn.MaxPool2d('channel=2 time=3')(x)
    assert y.tags == x.tags and np.array_equal(y, x.numpy().reshape(2, 2, 2, 2, 3, 3).max((2, 4)))
    assert nn.Upsample(2, axes='channel time')(x).shape == (2, 8, 12, 3)
    assert nn.Conv2d('map=3', 'o=2', 'channel=4 time=1')(x).shape == (2, 1, 6, 2)
    assert nn.Conv2d('map=3', 'o=2', (4, 1))(x).shape == (2, 1, 6, 2)      # its channels have a name
    g = fl.param(x.numpy(), x.tags, 'f64')
    assert gradcheck(lambda g: nn.AvgPool2d('channel=2 time=3')(g), g)

@pytest.mark.parametrize('op', (lambda x: x.max_pool2d(2), lambda x: x.avg_pool2d(2), lambda x: x.upsample2x_nearest(),
                                lambda x: x.unfold(2)))
def test_operations_over_pictures_refuse_channels_that_do_not_stand_last(op):
    x = fl.randn('batch channel h w', (2, 3, 4, 4), seed=0)
    with pytest.raises(TagError, match="takes 'channel' and 'h' for rows and columns") as e: op(x)
    assert e.value.help == "x.permute('batch h w channel')" and op(eval(e.value.help)).tags[0] == 'batch'

def test_a_convolution_of_channels_first_is_told_the_order():
    x, w = fl.randn('batch channel h w', (2, 3, 8, 8), seed=0), fl.randn('o kh kw in', (4, 3, 3, 3), seed=1)
    with pytest.raises(TagError, match="takes 'channel' and 'h'") as e: x.conv2d(w)
    assert eval(e.value.help).conv2d(w).shape == (2, 6, 6, 4)

@pytest.mark.parametrize('layer, tags, shape, ours', [
    (lambda: nn.Conv2d('channel=3', 'f=4', 3, padding=1), 'batch channel h w', (2, 3, 8, 8), ('h', 'w')),
    (lambda: nn.Conv2d('channel=3', 'channel=4', (3, 1)), 'h w batch channel', (8, 8, 2, 3), ('h', 'w')),
    (lambda: nn.ConvTranspose2d('channel=3', 'channel=4', 2, stride=2), 'batch channel row col', (2, 3, 4, 4),
     ('row', 'col')),
    (lambda: nn.Conv1d('feature=3', 'f=4', 3), 'time batch feature', (8, 2, 3), ('time',)),
    (lambda: nn.Conv1d('feature=3', 'f=4', 3, dilation=2), 'batch feature step', (2, 3, 8), ('step',)),
    (lambda: nn.ConvTranspose1d('feature=3', 'feature=4', 3), 'time batch feature', (8, 2, 3), ('time',))])
def test_a_convolution_over_a_batch_or_channels_names_the_window(layer, tags, shape, ours):
    x = fl.randn(tags, shape, seed=0)
    with pytest.raises(TagError) as e: layer()(x)
    named, permuted = followed(e.value, x)
    assert layer()(permuted).sizes == named.sizes
    assert eval(e.value.help.split(' names')[0], vars(nn)).axes == ours

def test_a_picture_without_channels_is_told_the_order():
    with pytest.raises(TagError, match="batch h w channel"): nn.MaxPool2d(2)(fl.zeros('batch c w', (4, 4, 4)))
    with pytest.raises(TagError, match="batch time channel"): nn.Conv1d('c=3', 'o=2', 3)(fl.zeros('batch c', (4, 3)))
