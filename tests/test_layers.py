"""Layers: values and gradients beside torch, axes by name, what a wrong call is told; first values."""
import math, re
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import nn
from fucinalib.nn import init

RNG = np.random.default_rng(0)
draw = lambda *shape: RNG.normal(size=shape)


# ---- beside torch: layer, its twin, tags and shape of x
ALIKE = dict(
    Linear=(lambda: nn.Linear('d=4', 'e=3', dtype='f64', seed=1), lambda t: t.nn.Linear(4, 3), (5, 4)),
    bare=(lambda: nn.Linear('d=4', 'e=3', bias=False, dtype='f64', seed=1),
          lambda t: t.nn.Linear(4, 3, bias=False), (5, 4)),
    same=(lambda: nn.Linear('d=4', 'd=4', dtype='f64', seed=1), lambda t: t.nn.Linear(4, 4), (5, 4)),
    ReLU=(nn.ReLU, lambda t: t.nn.ReLU(), (5, 4)), LeakyReLU=(nn.LeakyReLU, lambda t: t.nn.LeakyReLU(), (5, 4)),
    leak=(lambda: nn.LeakyReLU(.3), lambda t: t.nn.LeakyReLU(.3), (5, 4)), ELU=(nn.ELU, lambda t: t.nn.ELU(), (5, 4)),
    GELU=(nn.GELU, lambda t: t.nn.GELU(), (5, 4)),
    tanh_GELU=(lambda: nn.GELU(approximate='tanh'), lambda t: t.nn.GELU('tanh'), (5, 4)),
    SiLU=(nn.SiLU, lambda t: t.nn.SiLU(), (5, 4)), Softplus=(nn.Softplus, lambda t: t.nn.Softplus(), (5, 4)),
    Sigmoid=(nn.Sigmoid, lambda t: t.nn.Sigmoid(), (5, 4)), Tanh=(nn.Tanh, lambda t: t.nn.Tanh(), (5, 4)),
    Softmax=(lambda: nn.Softmax('d'), lambda t: t.nn.Softmax(-1), (5, 4)),
    LogSoftmax=(lambda: nn.LogSoftmax('d'), lambda t: t.nn.LogSoftmax(-1), (5, 4)),
    Dropout=(lambda: nn.Dropout(.5).eval(), lambda t: t.nn.Dropout(.5).eval(), (5, 4)),
    chain=(lambda: nn.Sequential(nn.Linear('d=4', 'h=8', seed=1), nn.Tanh(), nn.Linear('h=8', 'e=3', seed=2)).to('f64'),
           lambda t: t.nn.Sequential(t.nn.Linear(4, 8), t.nn.Tanh(), t.nn.Linear(8, 3)), (5, 4)),
)

def take_weights(twin, ours, torch):
    "torch's layer with our weights: its matrices are (out, in)."
    state, twin = ours.state_dict(), twin.to(torch.float64)
    twin.load_state_dict({k: torch.tensor(v.T if v.ndim == 2 else v) for k, v in state.items()})
    return twin

@pytest.mark.torch
@pytest.mark.parametrize('backend', ['numpy', 'pythran'])
@pytest.mark.parametrize('name', ALIKE)
def test_beside_torch(name, backend):
    import torch
    make, twin, shape = ALIKE[name]
    ours, a = make(), draw(*shape)
    theirs, x, z = take_weights(twin(torch), ours, torch), fl.param(a, 'n d'), torch.tensor(a, requires_grad=True)
    with fl.use_backend(backend):
        y, w = ours(x), theirs(z)
        weights = draw(*y.shape)
        y.backward(weights); w.backward(torch.tensor(weights))
    assert np.allclose(y, w.detach().numpy(), 1e-12, 1e-14) and np.allclose(x.grad, z.grad.numpy(), 1e-12, 1e-14)
    for p, q in zip(ours.parameters(), theirs.parameters()):
        g = q.grad.numpy()
        assert np.allclose(p.grad, g.T if g.ndim == 2 else g, 1e-12, 1e-13)


@pytest.mark.torch
def test_embedding_beside_torch():
    import torch
    ours, ids = nn.Embedding('word=10', 'embed=4', seed=1, dtype='f64'), RNG.integers(0, 10, (3, 6))
    theirs = torch.nn.Embedding(10, 4, _weight=torch.tensor(ours.weight.numpy().copy()))
    y, w = ours(fl.Tensor(ids, 'batch t')), theirs(torch.tensor(ids))
    g = draw(3, 6, 4)
    y.backward(g); w.backward(torch.tensor(g))
    assert y.tags == ('batch', 't', 'embed') and np.array_equal(y, w.detach().numpy())
    assert np.allclose(ours.weight.grad, theirs.weight.grad.numpy(), 1e-13)


def test_embedding_of_any_ids():
    layer = nn.Embedding('word=10', 'head=2 d=3', seed=1)
    w = layer.weight.numpy()
    for tags, ids in (('', 4), ('t', [4, 4, 1]), ('word', [2, 3]), ('word t', [[2, 3, 1], [0, 9, 9]]),
                      ('a b c', [[[1, 2]]])):
        y = layer(fl.Tensor(ids, tags))
        assert y.tags == tuple(tags.split()) + ('head', 'd') and np.array_equal(y, w[np.array(ids)])
    layer(fl.Tensor([[4, 4], [1, 4]], 'b t')).sum().backward()
    assert layer.weight.grad.numpy()[:, 0, 0].tolist() == [0, 1, 0, 0, 3, 0, 0, 0, 0, 0]


STORED = dict(ReLU=(nn.ReLU(), [0, 0, 2]), LeakyReLU=(nn.LeakyReLU(.1), [-.1, 0, 2]),
              SiLU=(nn.SiLU(), [-.26894142, 0, 1.76159416]),
              GELU=(nn.GELU(), [-.15865525, 0, 1.95449974]), Sigmoid=(nn.Sigmoid(), [.26894142, .5, .88079708]),
              Tanh=(nn.Tanh(), [-.76159416, 0, .96402758]), Softmax=(nn.Softmax('d'), [.04201007, .1141952, .84379473]))

@pytest.mark.parametrize('layer, right', STORED.values(), ids=STORED)
def test_values_by_hand(layer, right):
    assert np.allclose(layer(fl.Tensor([-1., 0., 2.], 'd')), right, 1e-6, 1e-7)


@pytest.mark.parametrize('made', [lambda: nn.Linear('d=3', 'e=2', seed=1), lambda: nn.Linear('d=3', 'd=3', seed=1),
                                  lambda: nn.Linear('d=3 n=2', 'e=2 f=2', seed=1),
                                  lambda: nn.Residual(nn.Linear('d=3', 'h=4', seed=1), fl.tanh,
                                                      nn.Linear('h=4', 'd=3', seed=2))])
def test_gradients(made):
    layer, x = made(), fl.param(draw(2, 3), 'n d')
    assert fl.gradcheck(lambda x: layer.to('f64')(x), x)
    layer(x).square().sum().backward()
    for w in layer.parameters():      # central differences in each parameter
        at = tuple(RNG.integers(0, n) for n in w.shape)
        g, v, h = w.grad.data[at], w.data[at], 1e-6
        w.data[at] = v + h; up = layer(x).square().sum().item()
        w.data[at] = v - h; down = layer(x).square().sum().item()
        w.data[at] = v
        assert abs((up - down) / (2 * h) - g) < 1e-6 * max(1, abs(g))
        layer.zero_grad(); layer(x).square().sum().backward()


# ---- axes
def test_linear_over_several_axes():
    layer = nn.Linear('row=3 col=4', 'head=2 d=5', seed=1)
    x = fl.rand('col n row t', (4, 6, 3, 2), seed=2)
    y = layer(x)
    assert y.tags == ('n', 't', 'head', 'd') and layer.weight.tags == ('row', 'col', 'head', 'd')
    assert np.allclose(y, np.einsum('cnrt,rchd->nthd', x.numpy(), layer.weight.numpy()), 1e-5, 1e-6)
    assert layer(fl.rand('row col', (3, 4))).tags == ('head', 'd')


def test_the_same_name_in_and_out():
    layer = nn.Linear('d=4', 'd=3', seed=1)
    x = fl.rand('n d', (2, 4), seed=2)
    assert layer.weight.tags == ('d_in', 'd') and np.allclose(layer(x), x.numpy() @ layer.weight.numpy(), 1e-6)
    turn = nn.Linear('a=2 b=3', 'b=3 a=2', seed=1)
    z = fl.rand('b n a', (3, 5, 2), seed=4)
    assert turn.weight.tags == ('a_in', 'b_in', 'b', 'a') and turn(z).tags == ('n', 'b', 'a')
    assert np.allclose(turn(z), np.einsum('bna,abcd->ncd', z.numpy(), turn.weight.numpy()), 1e-5, 1e-6)
    assert nn.Linear('d=4 d_in=2', 'd=3').weight.tags == ('d_in2', 'd_in', 'd')


def test_flatten_goes_by_names_and_back():
    x = fl.rand('row n channel', (2, 3, 4), seed=1)
    y = nn.Flatten('channel row', 'pixel')(x)
    assert y.sizes == dict(n=3, pixel=8) and np.array_equal(y.numpy(), x.numpy().transpose(1, 2, 0).reshape(3, 8))
    back = nn.Unflatten('pixel', 'channel=4 row=2')(y)
    assert back.sizes == dict(n=3, channel=4, row=2) and np.array_equal(back.permute('row n channel'), x)


def test_sequential_is_a_list():
    m = nn.Sequential(nn.Linear('d=2', 'd=2'), fl.relu, lambda x: x * 2)
    assert len(m) == 3 and m[0] is list(m)[0] and m[-1] is list(m)[2] and len(m[:2]) == 2
    x = fl.rand('n d', (3, 2))
    assert np.array_equal(m(x), m[0](x).relu() * 2) and np.array_equal(nn.Sequential([m[0], m[1], m[2]])(x), m(x))
    named = nn.Sequential(dict(first=nn.Linear('d=2', 'e=3'), act=nn.ReLU()))
    assert list(named.state_dict()) == ['first.weight', 'first.bias'] and named['act'] is named[1]
    assert list(m.state_dict()) == ['0.weight', '0.bias'] and nn.Sequential()(x) is x
    assert len(m.append(fl.tanh)) == 4 and m[3](x).tags == x.tags


# ---- dropout
def test_dropout():
    "LAY-08: identity at rest and at rate 0, the same object; the mean stays; gradient and values share the mask"
    x = fl.param(np.ones(100_000), 'd')
    layer = nn.Dropout(.3)
    y = layer(x)
    y.sum().backward()
    assert np.array_equal(y, x.grad) and abs(y.numpy().mean() - 1) < .01 and abs((y.numpy() == 0).mean() - .3) < .01
    assert nn.Dropout(0)(x) is x and layer.eval()(x) is x and layer.train()(x) is not x


@pytest.mark.parametrize('p', [1, 1.5, -.1, math.nan, math.inf, 'a', None, True, fl.Tensor(.5)])
def test_dropout_refuses(p):
    with pytest.raises(fl.InvalidShape, match='Dropout: p is'): nn.Dropout(p)


# ---- mistakes
MISTAKES = {
    'sizes alone': (lambda: nn.Linear(3, 4), fl.TagError,
                    r"Linear: 3 is no axis, which has a name and a size[^$]*Linear\('feature=3', 'out=4'\)"),
    'neither': (lambda: nn.Linear(None, 'b=2'), fl.OptionError, r"None is no axis[^$]*Linear\('embed=64', ...\)"),
    'no size': (lambda: nn.Linear('a', 'b=2'), fl.InvalidShape, "no size for 'a'"),
    'size zero': (lambda: nn.Linear('a=0', 'b=2'), fl.InvalidShape, 'a'),
    'size in words': (lambda: nn.Linear('a=two', 'b=2'), fl.InvalidShape, "a is 'two'"),
    'a negative size': (lambda: nn.Linear('a=-2', 'b=2'), fl.InvalidShape, 'a'),
    'no axes': (lambda: nn.Linear('', 'b=2'), fl.InvalidShape, 'names no axis'),
    'twice': (lambda: nn.Linear('a=2 a=2', 'b=2'), fl.TagError, 'twice'),
    'no name': (lambda: nn.Linear('3a=2', 'b=2'), fl.TagError, '3a'),
    'type': (lambda: nn.Linear('a=2', 'b=2', dtype='i64'), fl.DTypeError, 'i64'),
    'seed': (lambda: nn.Linear('a=2', 'b=2', seed=.5), fl.OptionError, 'seed'),
    'words twice': (lambda: nn.Embedding('w=3', 'w=2'), fl.TagError, 'w twice'),
    'words of two axes': (lambda: nn.Embedding('w=3 v=2', 'e=2'), fl.TagError, 'takes one axis as words'),
    'a torch embedding': (lambda: nn.Embedding(10, 3), fl.TagError, r"Embedding\('word=10', 'embed=3'\)"),
    'softmax without its axis': (lambda: nn.Softmax(), fl.OptionError, r"missing[^$]*Softmax\(tag"),
    'nothing made': (lambda: nn.Linear('a=2'), fl.OptionError,
                     r"missing a required argument: 'outputs'[^$]*Linear\(inputs, outputs, bias=True, init=glorot_"),
    'a name of torch': (lambda: nn.Linear(in_features=2, out_features=3), fl.OptionError,
                        r"'in_features'[^$]*Linear\('feature=2', 'out=3'\)"),
    'in place': (lambda: nn.Dropout(p=.1, inplace=True), fl.OptionError, r"'inplace'[^$]*Dropout\(p=0\.1\)"),
    'init in words': (lambda: nn.Linear('a=2', 'b=3', init='he'), fl.OptionError,
                      r"init is 'he'[^$]*nn\.init\.he_normal"),
    'init of other axes': (lambda: nn.Linear('a=2', 'b=3', init=lambda *a, **k: fl.ones('a', a=2)), fl.InvalidShape,
                           'the first values have other axes'),
    'xavier': (lambda: init.xavier_uniform_, fl.UnknownName, 'glorot_uniform'),
    'kaiming': (lambda: init.kaiming_normal, fl.UnknownName, 'he_normal'),
    'in_features': (lambda: nn.Linear('a=2', 'b=3').in_features, fl.UnknownName, r'layer\.inputs'),
    'an option': (lambda: nn.ReLU(inplace=True), fl.OptionError, 'inplace'),
    'a kind': (lambda: nn.Sequential(nn.ReLU), fl.OptionError, r'ReLU is a kind of layer, no layer'),
    'no layer': (lambda: nn.Sequential(3), fl.OptionError, '3 is no layer'),
    'a tensor as layer': (lambda: nn.Sequential(fl.ones('d', (2,))), fl.OptionError, 'is no layer'),
    'Dense': (lambda: nn.Dense, fl.UnknownName, 'Linear'),
    'ModuleList': (lambda: nn.ModuleList, fl.UnknownName, 'a list'),
    'linear': (lambda: nn.linear, fl.UnknownName, r"did you mean fl\.nn\.Linear"),
    'CrossEntropyLoss': (lambda: nn.CrossEntropyLoss, fl.UnknownName, 'cross_entropy'),
    'functional': (lambda: nn.functional, fl.UnknownName, 'fl.name'),
    'relu6': (lambda: nn.relu_, fl.UnknownName, 'ReLU'),
    'torch.Linear': (lambda: fl.Linear, fl.UnknownName, r'fl\.nn\.Linear'),
    'Module': (lambda: fl.Module, fl.UnknownName, r'fl\.nn\.Module'),
}

@pytest.mark.parametrize('wrong, kind, said', MISTAKES.values(), ids=MISTAKES)
def test_made_wrong(wrong, kind, said):
    with pytest.raises(kind, match=said): wrong()


CALLS = {
    'size': (lambda m: m(fl.rand('n d', (2, 5))), fl.ShapeMismatch,
             r"Linear over 'd': it takes 4, and x has 5\n    x : n=2  d=5\n    in Sequential.0"),
    'name': (lambda m: m(fl.rand('n e', (2, 4))), fl.TagError,
             r"Linear over 'd': x has no such axis[^$]*in Sequential.0[^$]*it takes d=4"),
    'made already': (lambda m: m(fl.rand('h d', (2, 4))), fl.TagError, r"makes 'h'[^$]*x\.rename\(h='h2'\)"),
    'array': (lambda m: m(np.ones((2, 4))), fl.DTypeError, r"not a tensor[^$]*fl\.Tensor\(x, 'batch d'\)"),
    'list': (lambda m: m([1., 2., 3., 4.]), fl.DTypeError, 'not a tensor'),
    'type': (lambda m: m(fl.rand('n d', (2, 4), dtype='f64')), fl.DTypeError, 'in Sequential.0'),
    'body': (lambda m: nn.Residual(m[0])(fl.rand('n d', (2, 4))), fl.ShapeMismatch,
             'Residual: the body makes n h of n d'),
    'ids': (lambda m: nn.Embedding('w=3', 'e=2')(fl.Tensor([1., 2.], 't')), fl.DTypeError, 'in Embedding'),
    'range': (lambda m: nn.Embedding('w=3', 'e=2')(fl.Tensor([1, 3], 't')), fl.IndexOutOfBounds,
              'positions are 0 to 2'),
    'negative': (lambda m: nn.Embedding('w=3', 'e=2')(fl.Tensor([-1], 't')), fl.IndexOutOfBounds, 'positions'),
    'made by embedding': (lambda m: nn.Embedding('w=3', 'e=2')(fl.Tensor([1], 'e')), fl.TagError, "makes 'e'"),
    'no such axis': (lambda m: nn.Flatten('a b', 'c')(fl.rand('a', (2,))), fl.TagError, 'in Flatten'),
    'does not divide': (lambda m: nn.Unflatten('a', 'b=2 c=2')(fl.rand('a', (5,))), fl.InvalidShape, 'in Unflatten'),
    'an integer': (lambda m: nn.Dropout(.5)(fl.Tensor([1, 2], 'd')), fl.DTypeError, 'in Dropout'),
}

@pytest.mark.parametrize('wrong, kind, said', CALLS.values(), ids=CALLS)
def test_called_wrong(wrong, kind, said):
    m = nn.Sequential(nn.Linear('d=4', 'h=3', seed=0), nn.ReLU())
    before = m.state_dict()
    with pytest.raises(kind, match=said): wrong(m)
    assert all(np.array_equal(before[k], v) for k, v in m.state_dict().items())


# ---- first values
STD = dict(glorot_uniform=(2 / 300) ** .5, glorot_normal=(2 / 300) ** .5, he_uniform=.1, he_normal=.1,
           lecun_normal=200 ** -.5, lecun_uniform=200 ** -.5, normal=1, uniform=12 ** -.5, zeros=0, ones=0,
           truncated_normal=.87962566, orthogonal=200 ** -.5)

@pytest.mark.parametrize('name', STD)
def test_spread_of_first_values(name):
    y = getattr(init, name)('a=200 b=100', seed=1)
    assert y.sizes == dict(a=200, b=100) and y.dtype == 'f32' and not y.requires_grad
    assert abs(y.numpy().std() - STD[name]) <= .02 * STD[name]
    again, other = getattr(init, name)('a=200 b=100', seed=1), getattr(init, name)('a=200 b=100', seed=2)
    assert np.array_equal(y, again) and (np.array_equal(y, other) == (name in ('zeros', 'ones')))
    assert np.allclose(getattr(init, name)('a=200 b=100', seed=1, dtype='f64'), y, 1e-5, 1e-6)


def test_bounds_as_torch_has_them():
    "torch: xavier_uniform_ is U(-a, a) with a = sqrt(6 / (in + out)), kaiming_uniform_ sqrt(6 / in)"
    for name, fans in (('glorot_uniform', 300), ('he_uniform', 200), ('lecun_uniform', 400)):
        most = (6 / fans) ** .5 if name != 'lecun_uniform' else (3 / 200) ** .5
        y = np.abs(getattr(init, name)('a=200 b=100', seed=1).numpy())
        assert .999 * most < y.max() <= most


def test_fans_go_by_name():
    "A convolution's weight in torch's order: fan in 3 * 5 * 5, fan out 8 * 5 * 5"
    y = init.glorot_uniform('out=8 channel=3 h=5 w=5', 'channel h w', 'out h w', seed=0, gain=2)
    assert y.tags == ('out', 'channel', 'h', 'w') and .98 < np.abs(y.numpy()).max() / (2 * (6 / (11 * 25)) ** .5) <= 1
    for wrong in ('other', 'channel other'):
        with pytest.raises(fl.OptionError, match="glorot_uniform over 'other'"):
            init.glorot_uniform('out=8 channel=3', wrong)


@pytest.mark.parametrize('axes, inner', [('a=6 b=3', 'a'), ('a=3 b=6', 'a'), ('b=6 a=2 c=2', 'a c'), ('a=4 b=4', None)])
def test_orthogonal(axes, inner):
    y = init.orthogonal(axes, inner, seed=3, gain=2, dtype='f64')
    inner = (inner or 'a').split()
    rows = math.prod(y.size(t) for t in inner)
    m = y.permute(*inner, *(t for t in y.tags if t not in inner)).numpy().reshape(rows, -1)
    small = m if m.shape[0] <= m.shape[1] else m.T
    assert np.allclose(small @ small.T, 4 * np.eye(len(small)), atol=1e-12)


def test_truncated_normal_is_cut():
    y = init.truncated_normal('a=300 b=300', std=.02, cut=1.5, seed=1).numpy()
    assert .0299 < np.abs(y).max() <= .03 and abs(y.mean()) < 1e-4
    with pytest.raises(fl.OptionError, match='cut'): init.truncated_normal('a=3', cut=0)
    with pytest.raises(fl.OptionError, match="did you mean 'std'"): init.normal('a=3', sdt=1)


def test_layers_draw_from_their_seed_alone():
    a = nn.Linear('d=3', 'e=2', seed=5).weight.numpy()
    assert np.array_equal(a, nn.Linear('d=3', 'e=2', seed=5).weight)
    assert not np.array_equal(a, nn.Linear('d=3', 'e=2').weight)
    assert np.array_equal(a, init.glorot_normal('d=3 e=2', seed=5)) and not nn.Linear('d=3', 'e=2').bias.data.any()
    fl.manual_seed(1); b = nn.Linear('d=3', 'e=2').weight.numpy()
    fl.manual_seed(1); assert np.array_equal(b, nn.Linear('d=3', 'e=2').weight)
    mine = lambda axes, *fans, seed, dtype: np.ones((3, 2))
    assert nn.Linear('d=3', 'e=2', init=mine).weight.tolist() == [[1, 1]] * 3
    he = nn.Linear('d=3', 'e=2', init=init.he_normal, seed=5).weight
    assert np.array_equal(he, init.he_normal('d=3 e=2', seed=5))


# ---- data of another number type than the weights

OF_TYPES = {
    'Linear': (lambda t: nn.Linear('d=4', 'o=2', dtype=t), 'row d'),
    'Conv1d': (lambda t: nn.Conv1d('d=4', 'o=2', 2, dtype=t), 'time d'),
    'Conv2d': (lambda t: nn.Conv2d('d=4', 'o=2', 2, dtype=t), 'h w d'),
    'ConvTranspose2d': (lambda t: nn.ConvTranspose2d('d=4', 'o=2', 2, dtype=t), 'h w d'),
    'BatchNorm': (lambda t: nn.BatchNorm('d=4', dtype=t), 'row d'),
    'LayerNorm': (lambda t: nn.LayerNorm('d=4', dtype=t), 'row d'),
    'RMSNorm': (lambda t: nn.RMSNorm('d=4', dtype=t), 'row d'),
    'GroupNorm': (lambda t: nn.GroupNorm('d=4', 2, over='h w', dtype=t), 'h w d'),
    'LSTM': (lambda t: nn.LSTM('d=4', 'h=2', over='time', dtype=t), 'time d'),
    'MultiHeadAttention': (lambda t: nn.MultiHeadAttention('d=4', heads=2, dtype=t), 'seq d'),
    'TransformerBlock': (lambda t: nn.TransformerBlock('d=4', 2, 'ff=8', dtype=t), 'seq d'),
    'a chain': (lambda t: nn.Sequential(nn.ReLU(), nn.Linear('d=4', 'o=2', dtype=t)), 'row d')}

@pytest.mark.parametrize('weights, data', [('f32', 'f64'), ('f64', 'f32')])
@pytest.mark.parametrize('kind', OF_TYPES)
def test_data_of_another_type_are_turned_and_not_the_model(kind, weights, data):
    "Also where a layer meets them only in what it computed of them, and in use as in training."
    make, tags = OF_TYPES[kind]
    layer, x = make(weights), fl.randn(tags, (4,) * len(tags.split()), seed=0, dtype=data)
    for mode in (True, False):
        said = f'x is {data}, and the weights are {weights}'
        with pytest.raises(fl.DTypeError, match=said) as e: layer.train(mode)(x)
        call = e.value.help.partition(',')[0]
        assert call == f"x.to('{weights}')" and '\n    x : ' in str(e.value) and e.value.where
        layer(eval(call, dict(x=x)))

def test_targets_of_another_type_are_turned_and_not_the_predictions():
    model, x = nn.Linear('d=4', 'o=2', seed=0), fl.randn('row d', (3, 4), seed=0)
    y, p = fl.zeros('row o', (3, 2), dtype='f64'), model(x)
    for call in (lambda y: p.mse_loss(y), lambda y: p - y, lambda y: y - p, lambda y: p.huber_loss(y)):
        with pytest.raises(fl.DTypeError) as e: call(y)
        turned = re.search(r"\w+\.to\('f32'\)", e.value.help)[0]
        assert call(eval(turned, dict.fromkeys(['x', 'y', 'other', 'target', 'self'], y))).dtype == fl.f32
