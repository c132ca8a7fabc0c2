"""Weights of torch's layers in ours (chapter 34a): values and gradients beside torch's, whole models by path, and
nothing changed where anything does not fit."""
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import nn
from fucinalib.errors import FucinaError, OptionError, StateMismatch
from fucinalib.nn.foreign import RULES

TOL = dict(f32=1e-5, f64=1e-12)
NUMPY = dict(f32='f4', f64='f8')


def near(ours, theirs, dtype):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape and ours.dtype == NUMPY[dtype]
    assert np.abs(ours - theirs).max() <= TOL[dtype] * max(1, np.abs(theirs).max())

def draw(*shape, seed=0, dtype='f64'): return np.random.default_rng(seed).normal(size=shape).astype(NUMPY[dtype])

def arrays(theirs): return {k: v.detach().numpy() for k, v in theirs.state_dict().items()}

def stir(torch, theirs, dtype):
    "Another value for every weight, so that none is 0 or 1; variances stay positive."
    theirs = theirs.to(dict(f32=torch.float32, f64=torch.float64)[dtype])
    for i, (k, v) in enumerate(theirs.state_dict().items()):
        if v.is_floating_point(): v.copy_(torch.from_numpy(draw(*v.shape, seed=i + 1)).abs() + .1 if 'var' in k
                                          else torch.from_numpy(draw(*v.shape, seed=i + 1)))
    return theirs


# name -> (torch's layer, ours, shape of x, its tags)
LAYERS = {
    'Linear': ('Linear(6, 4)', "Linear('embed=6', 'hidden=4')", (2, 3, 6), 'a b embed'),
    'Linear of one size': ('Linear(4, 4)', "Linear('d=4', 'd=4')", (3, 4), 'a d'),
    'Linear without bias': ('Linear(6, 4, bias=False)', "Linear('embed=6', 'hidden=4', bias=False)", (3, 6), 'a embed'),
    'Conv1d': ('Conv1d(4, 6, 3, stride=2, padding=1)', "Conv1d('c=4', 'o=6', 't=3', stride=2, padding=1)", (2, 4, 9),
               'a c t'),
    'Conv1d in groups': ('Conv1d(4, 6, 3, groups=2, bias=False)', "Conv1d('c=4', 'o=6', 't=3', groups=2, bias=False)",
                         (2, 4, 9), 'a c t'),
    'Conv1d of one name': ('Conv1d(4, 4, 3, dilation=2)', "Conv1d('c=4', 'c=4', 't=3', dilation=2)", (2, 4, 9),
                           'a c t'),
    'Conv2d': ('Conv2d(4, 6, (3, 2), padding=1)', "Conv2d('c=4', 'o=6', 'h=3 w=2', padding=1)", (2, 4, 5, 6),
               'a c h w'),
    'Conv2d depthwise': ('Conv2d(4, 8, 3, groups=4)', "Conv2d('c=4', 'o=8', 'h=3 w=3', groups=4)", (2, 4, 5, 6),
                         'a c h w'),
    'Conv2d of one name': ('Conv2d(4, 4, 3)', "Conv2d('c=4', 'c=4', 'h=3 w=3')", (2, 4, 5, 6), 'a c h w'),
    'ConvTranspose1d': ('ConvTranspose1d(4, 3, 4, stride=2, padding=1)',
                        "ConvTranspose1d('c=4', 'o=3', 't=4', stride=2, padding=1)", (2, 4, 5), 'a c t'),
    'ConvTranspose1d of one name': ('ConvTranspose1d(4, 4, 3)', "ConvTranspose1d('c=4', 'c=4', 't=3')", (2, 4, 5),
                                    'a c t'),
    'ConvTranspose2d': ('ConvTranspose2d(4, 3, (3, 2), stride=2, padding=1)',
                        "ConvTranspose2d('c=4', 'o=3', 'h=3 w=2', stride=2, padding=1)", (2, 4, 3, 5), 'a c h w'),
    'BatchNorm1d': ('BatchNorm1d(5)', "BatchNorm('c=5')", (6, 5), 'a c'),
    'BatchNorm2d': ('BatchNorm2d(3)', "BatchNorm('c=3')", (2, 3, 4, 2), 'a c h w'),
    'BatchNorm2d alone': ('BatchNorm2d(3, affine=False)', "BatchNorm('c=3', affine=False)", (2, 3, 4, 2), 'a c h w'),
    'LayerNorm': ('LayerNorm(5)', "LayerNorm('d=5')", (2, 3, 5), 'a b d'),
    'LayerNorm of two axes': ('LayerNorm((3, 5))', "LayerNorm('b=3 d=5')", (2, 3, 5), 'a b d'),
    'LayerNorm without bias': ('LayerNorm(5, bias=False)', "LayerNorm('d=5', bias=False)", (2, 5), 'a d'),
    'GroupNorm': ('GroupNorm(2, 6)', "GroupNorm('c=6', 2, over='h w')", (2, 6, 3, 2), 'a c h w'),
    'RMSNorm': ('RMSNorm(5, eps=1e-6)', "RMSNorm('d=5')", (2, 3, 5), 'a b d'),
}


@pytest.mark.torch
@pytest.mark.parametrize('dtype', TOL)
@pytest.mark.parametrize('name', LAYERS)
def test_a_layer_with_torchs_weights_computes_what_torchs_does(name, dtype, backend):
    "Values and the gradients of x and of every weight, in training and in use; and the way back is exact."
    torch = pytest.importorskip('torch')
    them, us, shape, tags = LAYERS[name]
    theirs, ours = stir(torch, eval(f'torch.nn.{them}'), dtype), eval(f'nn.{us[:-1]}, dtype={dtype!r})')
    state = {k: v.copy() for k, v in arrays(theirs).items()}
    assert nn.from_torch(ours, state) is ours
    back = nn.to_torch(ours)
    assert back.keys() == state.keys() and all(np.array_equal(back[k], v) and back[k].dtype == v.dtype
                                               for k, v in state.items())
    for training in (False, True):
        theirs.train(training), ours.train(training)
        a = draw(*shape, dtype=dtype)
        x, tx = fl.param(a, tags), torch.from_numpy(a.copy()).requires_grad_()
        y, ty = ours(x), theirs(tx)
        near(y.numpy(), ty.detach().numpy(), dtype)
        g = draw(*ty.shape, seed=5, dtype=dtype)
        theirs.zero_grad(), ours.zero_grad()
        y.backward(g), ty.backward(torch.from_numpy(g))
        near(x.grad.numpy(), tx.grad.numpy(), dtype)
        slopes = {n: p.grad.numpy() for n, p in theirs.named_parameters()}
        twin = eval(f'nn.{us[:-1]}, dtype={dtype!r})')
        nn.from_torch(twin, slopes | {k: v for k, v in state.items() if k not in slopes})      # turned like weights
        for n, p in twin.named_parameters(): near(getattr(ours, n).grad.numpy(), p.numpy(), dtype)


@pytest.mark.torch
@pytest.mark.parametrize('dtype', TOL)
def test_an_embedding_and_several_axes_at_once(dtype, backend):
    torch = pytest.importorskip('torch')
    theirs = stir(torch, torch.nn.Embedding(7, 6), dtype)
    ours = nn.from_torch(nn.Embedding('word=7', 'head=2 d=3', dtype=dtype), arrays(theirs))
    ids = [3, 0, 3, 6]
    near(ours(fl.Tensor(ids, 'seq')).numpy().reshape(4, 6), theirs(torch.tensor(ids)).detach().numpy(), dtype)
    theirs = stir(torch, torch.nn.Linear(6, 8), dtype)
    ours = nn.from_torch(nn.Linear('head=2 d=3', 'out=2 wide=4', dtype=dtype), arrays(theirs))
    a = draw(5, 6, dtype=dtype)
    y = ours(fl.Tensor(a.reshape(5, 2, 3), 'row head d'))
    near(y.numpy().reshape(5, 8), theirs(torch.from_numpy(a)).detach().numpy(), dtype)


# ---- whole models

def torchs_net(torch):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(2, 4, 3, padding=1)
            self.stack = torch.nn.Sequential(torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2))
            self.fc = torch.nn.Linear(36, 5)
            self.scale = torch.nn.Parameter(torch.ones(5))
        def forward(self, x): return self.fc(self.stack(self.conv(x)).flatten(1)) * self.scale
    return Net()

class Net(nn.Module):
    def __init__(self, dtype='f32', body='stack'):
        self.conv = nn.Conv2d('c=2', 'o=4', 'h=3 w=3', padding=1, dtype=dtype)
        setattr(self, body, nn.Sequential(nn.BatchNorm('o=4', dtype=dtype), fl.relu, nn.MaxPool2d('h=2 w=2')))
        self.fc = nn.Linear('o=4 h=3 w=3', 'class=5', dtype=dtype)
        self.scale = fl.param(np.ones(5), 'class', dtype)
        self.body = body
    def forward(self, x): return self.fc(getattr(self, self.body)(self.conv(x))) * self.scale


@pytest.mark.torch
@pytest.mark.parametrize('dtype', TOL)
@pytest.mark.parametrize('body', ['stack', 'blocks'])
def test_a_model_by_path(dtype, body, backend):
    "With a parameter of its own, and with an attribute of another name."
    torch = pytest.importorskip('torch')
    theirs, names = stir(torch, torchs_net(torch), dtype), {} if body == 'stack' else {'blocks': 'stack'}
    ours = nn.from_torch(Net(dtype, body), arrays(theirs), names)
    a = draw(3, 2, 6, 6, dtype=dtype)
    for training in (True, False):
        theirs.train(training), ours.train(training)
        near(ours(fl.Tensor(a, 'image c h w')).numpy(), theirs(torch.from_numpy(a)).detach().numpy(), dtype)
    near(getattr(ours, body)[0].running_var.numpy(), theirs.stack[0].running_var.numpy(), dtype)
    back = nn.to_torch(ours, names)
    theirs.load_state_dict({k: torch.from_numpy(np.asarray(v)) for k, v in back.items()})      # strict

@pytest.mark.torch
def test_a_weight_that_two_layers_share():
    "Once in the model here, twice in torch's state; the same values, or an error."
    torch = pytest.importorskip('torch')
    a, b = torch.nn.Embedding(5, 4), torch.nn.Linear(4, 5, bias=False)
    b.weight = a.weight
    state = arrays(torch.nn.ModuleDict(dict(embed=a, head=b)))
    class Tied(nn.Module):
        def __init__(self):
            self.embed, self.head = nn.Embedding('word=5', 'd=4'), nn.Linear('d=4', 'word=5', bias=False)
    model = Tied()
    model.embed.weight = model.embed.weight
    nn.from_torch(model, state)
    assert np.array_equal(model.embed.weight, model.head.weight.numpy().T)

def test_a_tensor_at_two_places():
    class Twice(nn.Module):
        def __init__(self): self.a, self.b = nn.Linear('d=2', 'e=3', seed=0), nn.Linear('d=2', 'e=3', seed=1)
    model = Twice()
    model.b = model.a
    w, b = draw(3, 2, dtype='f32'), draw(3, dtype='f32')
    full = {'a.weight': w, 'a.bias': b, 'b.weight': w, 'b.bias': b}
    nn.from_torch(model, full)
    assert np.array_equal(model.a.weight, w.T)
    before = model.state_dict()
    with pytest.raises(StateMismatch): nn.from_torch(model, full | {'b.weight': w + 1})
    assert all(np.array_equal(v, before[k]) for k, v in model.state_dict().items())
    nn.from_torch(model, {'b.weight': 2 * w, 'b.bias': b})      # a file that keeps what is shared once
    assert np.array_equal(model.a.weight, 2 * w.T)


# ---- layers that are cut out of torch's arrays, inside a model

HEADED = {
    'MultiheadAttention': ('MultiheadAttention(8, 2, batch_first=True)',
                           "MultiHeadAttention('d=8', 2, mask='bidirectional', bias=True)",
                           lambda f, x: f(x, x, x, need_weights=False)[0]),
    'TransformerEncoderLayer': ("""TransformerEncoderLayer(8, 2, 16, dropout=0., activation='gelu', norm_first=True,
                                batch_first=True)""",
                                "TransformerBlock('d=8', 2, 'ff=16', mask='bidirectional', bias=True)",
                                lambda f, x: f(x)),
    'LSTM': ('LSTM(8, 5, 2, batch_first=True)', "LSTM('d=8', 'hidden=5', layers=2)", lambda f, x: f(x)[0]),
    'GRU': ('GRU(8, 5, bidirectional=True, batch_first=True)', "GRU('d=8', 'hidden=5', bidirectional=True)",
            lambda f, x: f(x)[0]),
    'RNN': ('RNN(8, 5, batch_first=True)', "RNN('d=8', 'hidden=5')", lambda f, x: f(x)[0]),
}

@pytest.mark.torch
@pytest.mark.parametrize('dtype', TOL)
@pytest.mark.parametrize('name', HEADED)
def test_layers_cut_out_of_larger_arrays_inside_a_model(name, dtype, backend):
    "Between two layers that go by rules: values and the gradient of x; a bias that is missing changes nothing."
    torch = pytest.importorskip('torch')
    them, us, call = HEADED[name]
    wide = dict(LSTM=5, GRU=10, RNN=5).get(name, 8)
    theirs = stir(torch, torch.nn.ModuleDict(dict(first=torch.nn.Linear(6, 8), mid=eval(f'torch.nn.{them}'),
                                                  last=torch.nn.LayerNorm(wide))), dtype)
    class Model(nn.Module):
        def __init__(self):
            out = 'd' if wide == 8 else 'hidden'
            self.first, self.last = nn.Linear('e=6', 'd=8', dtype=dtype), nn.LayerNorm(f'{out}={wide}', dtype=dtype)
            self.core = eval(f'nn.{us[:-1]}, dtype={dtype!r})')
        def forward(self, x):
            y = self.core(self.first(x))
            return self.last(y[0] if isinstance(y, tuple) else y)
    state, model = arrays(theirs), Model()
    before = model.state_dict()
    for key in [k for k in state if 'bias' in k]:
        less = {k: v for k, v in state.items() if k != key}
        with pytest.raises(FucinaError): nn.from_torch(model, less, {'core': 'mid'})
    with pytest.raises(FucinaError): nn.from_torch(model, state | {'mid.weight_v': np.ones(2)}, {'core': 'mid'})
    assert all(np.array_equal(v, before[k]) for k, v in model.state_dict().items())
    nn.from_torch(model, state, {'core': 'mid'})
    a = draw(2, 4, 6, dtype=dtype)
    x, tx = fl.param(a, 'batch seq e'), torch.from_numpy(a.copy()).requires_grad_()
    y, ty = model(x), theirs['last'](call(theirs['mid'], theirs['first'](tx)))
    near(y.numpy(), ty.detach().numpy(), dtype)
    g = draw(*ty.shape, seed=3, dtype=dtype)
    y.backward(g), ty.backward(torch.from_numpy(g))
    near(x.grad.numpy(), tx.grad.numpy(), dtype)
    again = nn.from_torch(Model(), nn.to_torch(model, {'core': 'mid'}), {'core': 'mid'})
    assert all(np.array_equal(v, model.state_dict()[k]) for k, v in again.state_dict().items())

def test_a_layer_that_reads_and_does_not_write_has_no_way_back():
    class Odd(nn.Module):
        def of_torch(self, state): return state
    with pytest.raises(OptionError, match='no way back for 0'): nn.to_torch(nn.Sequential(Odd()))


# ---- strict, and nothing changed

def good():
    "A small model, and a state of torch's for it."
    model = nn.Sequential(nn.Conv2d('c=1', 'o=2', 2, seed=0), nn.BatchNorm('o=2'), fl.relu,
                          nn.Linear('o=2', 'k=2', seed=1))
    shapes = {'0.weight': (2, 1, 2, 2), '0.bias': 2, '1.weight': 2, '1.bias': 2, '1.running_mean': 2,
              '1.running_var': 2, '3.weight': (2, 2), '3.bias': 2}
    state = {k: draw(*np.atleast_1d(s), seed=i, dtype='f32') for i, (k, s) in enumerate(shapes.items())}
    return model, state | {'1.num_batches_tracked': np.array(3)}

KEYS = list(good()[1])

@pytest.mark.parametrize('key', KEYS)
def test_every_entry_is_needed(key):
    model, state = good()
    before = model.state_dict()
    with pytest.raises(StateMismatch, match='nothing was changed: 1 entry is missing') as e:
        nn.from_torch(model, {k: v for k, v in state.items() if k != key})
    assert key in str(e.value) and e.value.help
    assert all(np.array_equal(v, before[k]) for k, v in model.state_dict().items())

@pytest.mark.parametrize('key', ['2.weight', '0.weight_v', 'bias', '1.num_batches'])
def test_a_foreign_entry_is_refused(key):
    model, state = good()
    before = model.state_dict()
    with pytest.raises(StateMismatch, match='1 entry is foreign') as e: nn.from_torch(model, state | {key: np.ones(2)})
    assert key in str(e.value)
    assert all(np.array_equal(v, before[k]) for k, v in model.state_dict().items())

@pytest.mark.parametrize('key', KEYS)
def test_an_entry_of_another_shape_is_refused(key):
    "Also where the number of values is the same."
    model, state = good()
    before = model.state_dict()
    for wrong in (np.ones((*state[key].shape, 2), 'f4'), state[key].reshape(-1, 1, 1), state[key][..., None]):
        if wrong.shape == state[key].shape: continue
        with pytest.raises(StateMismatch, match='1 entry does not fit') as e: nn.from_torch(model, state | {key: wrong})
        assert key in str(e.value) and str(wrong.shape) in str(e.value)
    with pytest.raises(FucinaError): nn.from_torch(model, state | {key: np.full(state[key].shape, 'a')})
    assert all(np.array_equal(v, before[k]) for k, v in model.state_dict().items())

def test_a_layer_without_bias_takes_none():
    w = draw(4, 3, dtype='f32')
    for make in (lambda **o: nn.Linear('d=3', 'e=4', **o), lambda **o: nn.Conv1d('d=3', 'e=4', 1, **o)):
        a = w if 'Linear' in repr(make()) else w[..., None]
        with pytest.raises(StateMismatch, match='foreign'):
            nn.from_torch(make(bias=False), dict(weight=a, bias=np.ones(4)))
        with pytest.raises(StateMismatch, match='missing'): nn.from_torch(make(), dict(weight=a))

def test_a_prefix_is_told():
    model, state = good()
    with pytest.raises(StateMismatch, match="removeprefix"):
        nn.from_torch(model, {f'module.{k}': v for k, v in state.items()})
    nn.from_torch(model, {f'module.{k}': v for k, v in state.items()}, {'': 'module'})

@pytest.mark.parametrize('args', [({},), (nn.Linear('d=2', 'e=2'), 'weights.pt'), (nn.Linear('d=2', 'e=2'), None)])
def test_what_is_no_model_or_no_dict(args):
    with pytest.raises((OptionError, TypeError)): nn.from_torch(*args)

def test_what_was_read_is_a_copy(backend):
    layer, w = nn.Linear('d=2', 'e=2', bias=False), draw(2, 2, dtype='f32')
    kept = w.copy()
    nn.from_torch(layer, dict(weight=w))
    layer.weight.data += 1
    assert np.array_equal(w, kept)
    back = nn.to_torch(layer)
    back['weight'] += 1
    assert np.array_equal(layer.weight, kept.T + 1)

def test_numbers_of_another_type_are_rounded_once():
    layer = nn.Linear('d=2', 'e=2', bias=False)
    w = draw(2, 2)
    nn.from_torch(layer, dict(weight=w))
    assert layer.weight.dtype == 'f32' and np.array_equal(layer.weight, w.T.astype('f4'))

def test_each_layer_with_weights_can_be_read():
    "By a rule, by a method of its own, or as it stands."
    plain = {nn.LayerNorm, nn.RMSNorm, nn.GroupNorm}
    for kind in (nn.Linear, nn.Embedding, nn.Conv1d, nn.Conv2d, nn.ConvTranspose1d, nn.BatchNorm,
                 nn.ConvTranspose2d): assert kind in RULES
    assert not plain & RULES.keys()

def test_a_file_of_weights(tmp_path):
    "safetensors written by whichever library is a dict of arrays."
    model, state = good()
    fl.train.save_weights(tmp_path/'m.safetensors', state)
    nn.from_torch(model, fl.train.load_weights(tmp_path/'m.safetensors'))
    assert np.array_equal(model[3].weight, state['3.weight'].T)

def test_a_layer_asked_beforehand_by_hand(backend):
    "Without torch: (out, in) by hand, [[1, 2], [3, 4]] times (1, 10)."
    layer = nn.from_torch(nn.Linear('d=2', 'd=2'), dict(weight=np.array([[1., 2.], [3., 4.]]), bias=np.array([.5, 0.])))
    assert layer(fl.Tensor([1., 10.], 'd')).tolist() == [21.5, 43]
