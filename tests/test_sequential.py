"""Models that train themselves: layers that say what they make, sizes that are found, losses and optimizers by name."""
import json
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import nn, optim, train
from fucinalib.errors import CheckpointError, FileError, InvalidShape, OptionError, ShapeMismatch, TagError
from fucinalib.train import AvgPool2D, Conv2D, Dense, MaxPool2D, Sequential

BACKENDS = [b for b in ('numpy', 'pythran') if b in fl.backends()]
XOR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])


@pytest.fixture(params=BACKENDS)
def backend(request):
    with fl.use_backend(request.param): yield request.param

def same(a, b): return a.keys() == b.keys() and all(np.array_equal(a[n], b[n]) for n in a)

def weights(model): return model.chain.state_dict()

def rows(n=40, seed=0):
    x = np.random.default_rng(seed).normal(size=(n, 4)).astype('f4')
    return x, (x.sum(1) > 0).astype('i8')

def small(loss='cross_entropy', optimizer='adam', **options):
    return Sequential(Dense('hidden=8', 'tanh'), Dense('class=2')).compile('feature=4', loss, optimizer, **options)


# ---- MOD-01: add and compile

def test_layers_say_only_what_they_make():
    model = Sequential()
    assert model.add(Dense('hidden=8')) is model and 'not compiled' in repr(model)
    model.add('relu').add(nn.Dropout(.1)).add(fl.tanh).add(Dense('class=3', bias=False))
    assert model.compile('feature=4', 'cross_entropy') is model
    assert [type(layer).__name__ for layer in model.layers] == 'Linear Apply Dropout Apply Linear'.split()
    assert model.layers[0].weight.sizes == dict(feature=4, hidden=8) and model.layers[4].bias is None
    assert len(model.parameters()) == 3 and 'feature=4 hidden=8' in repr(model)

def test_the_seed_alone_decides():
    a, b, c = small(), small(), small(seed=1)
    assert same(weights(a), weights(b)) and not same(weights(a), weights(c))
    fl.manual_seed(9)
    for model in (a, b): model.fit(*rows(), 3, batch=16, log=None)
    assert same(weights(a), weights(b))
    first = a.layers[0].weight.numpy()
    assert not np.array_equal(first[:, :2], a.layers[2].weight.numpy()[:4])

def test_compiled_again_it_begins_anew():
    model = small()
    before = weights(model)
    model.fit(*rows(), 3, log=None)
    assert same(weights(model.compile('feature=4', 'cross_entropy')), before) and not model.learner.history

@pytest.mark.parametrize('layers, options, kind, said', [
    ([], dict(loss='mse'), OptionError, 'compile: there is no layer'),
    ([Dense('a=2')], dict(), OptionError, 'compile: there is no loss'),
    ([Dense('a=2')], dict(loss='cross_entropi'), OptionError, "there is no loss 'cross_entropi'"),
    ([Dense('a=2')], dict(loss=3), OptionError, 'there is no loss 3'),
    ([Dense('a=2')], dict(loss='mse', optimizer=None), OptionError, 'compile: there is no optimizer'),
    ([Dense('a=2')], dict(loss='mse', optimizer='adan'), OptionError, "there is no optimizer 'adan'"),
    ([Conv2D('c=2')], dict(loss='mse'), ShapeMismatch, 'Conv2D takes pictures, .* and gets feature=4'),
    ([Dense('a=2'), MaxPool2D()], dict(loss='mse'), ShapeMismatch, 'MaxPool2D takes pictures, .* and gets a=2'),
    ([nn.Linear('pixel=3', 'a=2')], dict(loss='mse'), TagError, 'pixel')])
def test_what_cannot_be_compiled(layers, options, kind, said):
    model = Sequential(*layers)
    with pytest.raises(kind, match=said): model.compile('feature=4', **options)
    assert model.chain is None

def test_names_are_told_where_they_are_nearly_right():
    for bad, near in ((dict(loss='cross_entropi'), 'cross_entropy'), (dict(loss='mse', optimizer='adan'), 'adam')):
        with pytest.raises(OptionError) as e: Sequential(Dense('a=2')).compile('feature=4', **bad)
        assert f"did you mean '{near}'" in e.value.help
    with pytest.raises(OptionError, match="there is no layer 'rely'") as e: Sequential('rely')
    assert "'relu'" in e.value.help

@pytest.mark.parametrize('make, help', [
    (lambda: Dense(64), "Dense('hidden=64')"), (lambda: Dense('hidden'), 'hidden=64'),
    (lambda: Conv2D(16), "Conv2D('hidden=16')")])
def test_a_width_has_a_name(make, help):
    with pytest.raises(OptionError, match='makes an axis with a name') as e: make()
    assert help in e.value.help

@pytest.mark.parametrize('call', [lambda m: m.predict(np.ones((1, 4))), lambda m: m.fit(*rows(), 1), lambda m: m.layers,
                                  lambda m: m.fit_step(*rows()), lambda m: m.save('x'), lambda m: m.load('x'),
                                  lambda m: m.evaluate(*rows()), lambda m: m.parameters()])
def test_a_model_that_is_not_compiled(call):
    with pytest.raises(OptionError, match='the model is not compiled'): call(Sequential(Dense('class=2')))


# ---- LAY-17: the geometry of pictures

def test_sizes_go_through_convolutions_and_pools():
    model = Sequential(Conv2D('a=4', 3, stride=2, padding=1), 'relu', MaxPool2D(2), Conv2D('b=6', 2), AvgPool2D(2, 1),
                       'batch_norm', nn.Dropout(.5), 'flatten', Dense('class=3'))
    model.compile('h=17 w=13 c=2', 'cross_entropy')
    x = fl.randn('batch h w c', (2, 17, 13, 2), seed=0)
    sizes, want = [], [(9, 7, 4), (9, 7, 4), (4, 3, 4), (3, 2, 6), (2, 1, 6), (2, 1, 6), (2, 1, 6), (12,), (3,)]
    for layer in model.layers:
        x = layer(x)
        sizes.append(x.shape[1:])
    assert sizes == want and model.outputs == {'class': 3}

@pytest.mark.torch
def test_sizes_are_torchs():
    torch = pytest.importorskip('torch')
    for n, k, s, p, pool in [(28, 3, 1, 0, 2), (28, 5, 2, 2, 3), (9, 2, 3, 1, 1), (7, 7, 1, 0, 1)]:
        net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, k, s, p), torch.nn.MaxPool2d(pool))
        want = net(torch.zeros(1, 1, n, n)).shape
        model = Sequential(Conv2D('c=2', k, s, p), MaxPool2D(pool)).compile(f'h={n} w={n} channel=1', 'mse')
        assert tuple(model.outputs.values()) == (want[2], want[3], want[1])

def test_dense_works_on_the_last_axis_and_leaves_the_rest():
    model = Sequential(nn.Embedding('word=11', 'embed=6'), Dense('hidden=5', 'gelu'), Dense('word=11'))
    model.compile('time=7', 'cross_entropy')
    ids = np.random.default_rng(0).integers(0, 11, (3, 7))
    assert model.outputs == dict(time=7, word=11)
    history = model.fit(ids, (ids + 1) % 11, 60, log=None)
    assert history[-1]['loss'] < .9 * history[0]['loss'] and 'accuracy' in history[-1]

def test_a_kernel_larger_than_the_picture_says_where():
    with pytest.raises(fl.FucinaError) as e:
        Sequential(Conv2D('a=2', 3), Conv2D('b=2', 9)).compile('h=8 w=8 c=1', 'mse')
    assert 'layer 1 (Conv2D)' in str(e.value)


# ---- MOD-02, MOD-03: fit and fit_step

def test_exclusive_or_by_classes_and_by_squares(backend, capsys):
    model = Sequential(Dense('hidden=8', 'tanh'), Dense('answer=2')).compile('input=2', 'cross_entropy', lr=.05)
    model.fit(*XOR, 1001)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == '1001 epochs on 4 rows, Adam'
    assert [int(line.split()[1]) for line in said[1:]] == [1, 500, 1000, 1001]
    assert model.predict(XOR[0]).argmax('answer').numpy().tolist() == [0, 1, 1, 0]
    square = Sequential(Dense('hidden=8', 'tanh'), Dense('answer=1')).compile('input=2', 'mse', lr=.05)
    square.fit(XOR[0], XOR[1].reshape(4, 1), 1000, log=None)
    assert np.abs(square.predict(XOR[0]).numpy()[:, 0] - XOR[1]).max() < .05 and not capsys.readouterr().out

def test_more_epochs_go_on():
    one, two = small(), small()
    one.fit(*rows(), 6, batch=16, log=None)
    for _ in range(2): two.fit(*rows(), 3, batch=16, log=None)
    assert same(weights(one), weights(two)) and one.learner.history == two.learner.history
    assert len(one.learner.history) == 6

def test_steps_are_those_of_a_plain_loop(backend):
    model, chain = small(lr=.01), small().chain
    opt = optim.Adam(chain, lr=.01)
    x, y = rows()
    for _ in range(5):
        loss = chain(fl.Tensor(x, 'batch feature')).cross_entropy('class', y)
        value = loss.item()
        loss.backward()
        opt.step(), opt.zero_grad()
        assert model.fit_step(x, y) == value
    assert same(weights(model), chain.state_dict())

def test_steps_between_epochs_leave_the_history_alone():
    model = small()
    model.fit_step(*rows())
    model.fit(*rows(), 2, batch=10, log=None)
    model.fit_step(*rows())
    assert len(model.learner.history) == 2 and model.learner.batch == 0 and model.learner.steps == 10

@pytest.mark.torch
def test_steps_are_torchs():
    torch = pytest.importorskip('torch')
    model, (x, y) = small(lr=.02), rows()
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    with torch.no_grad():
        for ours, theirs in ((model.layers[0], net[0]), (model.layers[2], net[2])):
            theirs.weight.copy_(torch.tensor(ours.weight.numpy().T.copy()))
            theirs.bias.copy_(torch.tensor(ours.bias.numpy()))
    opt = torch.optim.Adam(net.parameters(), lr=.02)
    for _ in range(20):
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(torch.tensor(x)), torch.tensor(y))
        loss.backward()
        opt.step()
        assert model.fit_step(x, y) == pytest.approx(loss.item(), rel=1e-5)
    np.testing.assert_allclose(model.predict(x).numpy(), net(torch.tensor(x)).detach().numpy(), rtol=1e-4, atol=1e-5)

def test_a_loss_and_an_optimizer_of_ones_own():
    made = []
    def optimizer(params):
        made.append(optim.SGD(params, lr=.1, momentum=.9))
        return made[0]
    model = small(lambda given, wanted: (given.select('class', 0) - wanted.to('f32')).square().mean(), optimizer)
    x, y = rows()
    first = model.fit_step(fl.Tensor(x, 'batch feature'), fl.Tensor(y, 'batch'))
    for _ in range(50): last = model.fit_step(fl.Tensor(x, 'batch feature'), fl.Tensor(y, 'batch'))
    assert last < first / 2 and model.learner.optimizer is made[0]

@pytest.mark.parametrize('loss', ['binary_cross_entropy', 'binary_crossentropy', 'mse', 'mean_squared_error'])
def test_losses_by_name(loss):
    model = Sequential(Dense('p=1', 'sigmoid')).compile('feature=4', loss, 'sgd', lr=.5, metrics=dict(
        right=lambda p, y: ((p > .5).to('f32') == y).to('f32').mean()))
    x, y = rows()
    history = model.fit(x, y.reshape(-1, 1), 80, log=None, valid=(x[:9], y[:9].reshape(-1, 1)))
    assert history[-1]['loss'] < history[0]['loss'] and history[-1]['right'] > .9 and 'valid right' in history[-1]

def test_class_numbers_in_a_column():
    x, y = rows()
    assert small().fit_step(x, y) == small().fit_step(x, y.reshape(-1, 1)) == small().fit_step(x.tolist(), y.tolist())

@pytest.mark.parametrize('x, y, said', [
    (np.ones((3, 5)), [0, 1, 0], r'x of shape \(3, 5\) are no rows of feature=4'),
    (np.ones(4), [0], r'x of shape \(4,\)'), (3., [0], r'x of shape \(\)'),
    (np.ones((3, 4)), [0, 1], 'different numbers of rows'),
    (np.ones((3, 4)), np.zeros((3, 2), int), r'y of shape \(3, 2\) are no rows of a number')])
def test_rows_of_another_size(x, y, said):
    for call in (lambda m: m.fit(x, y, 1), lambda m: m.fit_step(x, y), lambda m: m.evaluate(x, y)):
        with pytest.raises(ShapeMismatch, match=said): call(small())

def test_a_batch_larger_than_the_rows():
    with pytest.raises(InvalidShape, match='64'): small().fit(*rows(), 1, batch=64, log=None)

def test_options_of_the_learner():
    stop = train.EarlyStop('loss', patience=1, least=9.)
    model = small(clip=1e-3, accumulate=2, schedule=lambda step: .5, callbacks=[stop])
    history = model.fit(*rows(), 9, batch=10, log=None)
    assert len(history) == 2 and model.learner.steps == 4


# ---- MOD-04 to MOD-06: predict, layers, graph

def test_predict_is_in_use_and_learns_nothing():
    model = Sequential(nn.Dropout(.5), 'batch_norm', Dense('class=2')).compile('feature=4', 'cross_entropy')
    x, y = rows()
    model.fit(x, y, 3, log=None)
    before = weights(model)
    a, b = model.predict(x), model.predict(fl.Tensor(x, 'batch feature'))
    assert np.array_equal(a, b) and not a.requires_grad and same(weights(model), before)
    assert all(m.training for m in model.chain.modules())
    assert model.evaluate(x, y)['accuracy'] == pytest.approx((a.argmax('class').numpy() == y).mean())

def test_the_chain_is_a_graph():
    model, (x, y) = small(), rows()
    loss = model(fl.Tensor(x, 'batch feature')).cross_entropy('class', y)
    assert loss.requires_grad
    loss.backward()
    assert all(p.grad is not None for p in model.parameters())


# ---- MOD-07, MOD-08: save and load

def pictures(**options):
    return Sequential(Conv2D('a=3', activation='relu'), 'batch_norm', 'flatten', Dense('class=2')).compile(
        'h=6 w=6 c=1', 'cross_entropy', **options)

def test_saved_and_loaded(tmp_path):
    x, y = fl.randn('batch h w c', (8, 6, 6, 1), seed=0), np.arange(8) % 2
    model, twin = pictures(), pictures(seed=5)
    model.fit(x, y, 4, log=None)
    model.save(tmp_path/'m.safetensors')
    assert not np.array_equal(model.predict(x), twin.predict(x))
    assert twin.load(tmp_path/'m.safetensors') is twin and np.array_equal(model.predict(x), twin.predict(x))
    assert same(weights(model), weights(twin))      # running averages too

@pytest.mark.parametrize('layers, said', [
    ([Dense('hidden=8', 'tanh')], 'has 3 layers, this model 2'),
    ([Dense('hidden=8'), Dense('class=2')], 'layer 1 is Apply there and Linear'),
    ([Dense('hidden=9', 'tanh'), Dense('class=2')], 'hidden'), ([Dense('other=8', 'tanh'), Dense('class=2')], None)])
def test_a_file_of_another_model(layers, said, tmp_path):
    small().save(tmp_path/'m.safetensors')
    other = Sequential(*layers).compile('feature=4', 'cross_entropy', seed=3)
    before = weights(other)
    if said is None: other.load(tmp_path/'m.safetensors')      # names of axes are not stored
    else:
        with pytest.raises(fl.FucinaError, match=said): other.load(tmp_path/'m.safetensors')
        assert same(weights(other), before)

def test_a_file_that_is_no_saved_model(tmp_path):
    train.save_weights(tmp_path/'w.safetensors', dict(w=np.ones(2)))
    with pytest.raises(CheckpointError, match='is no saved model'): small().load(tmp_path/'w.safetensors')
    with pytest.raises(FileError): small().load(tmp_path/'nothing.safetensors')
    with pytest.raises(FileError): small().load(tmp_path/'nothing.json')

# ---- what tensai saves: made by hand in its form

def matrix(a): return dict(Rows=a.shape[0], Cols=a.shape[1], Data=a.ravel().tolist())

def of_tensai(*layers): return json.dumps(dict(layers=[{'type': f'*tensai.{kind}', **more} for kind, more in layers]))

W, B = np.arange(8.).reshape(4, 2) / 8, np.array([.5, -1])

def test_a_model_of_tensai(tmp_path):
    "y = tanh(x W + b), with W as inputs by outputs, then running averages, worked out in NumPy."
    mean, var = np.array([.1, .2]), np.array([1., 4.])
    (tmp_path/'m.json').write_text(of_tensai(
        ('Dense', dict(weights=matrix(W), bias=B.tolist())), ('Tanh', {}),
        ('BatchNorm', dict(weights=matrix(np.array([[2., 3.]])), bias=[0., 1.], extra=dict(running_mean=mean.tolist(),
                                                                                        running_var=var.tolist())))))
    model = Sequential(Dense('unit=2'), 'tanh', 'batch_norm').compile('feature=4', 'mse').load(tmp_path/'m.json')
    x = rows()[0]
    want = (np.tanh(x @ W + B) - mean) / np.sqrt(var + 1e-5) * [2, 3] + [0, 1]
    np.testing.assert_allclose(model.predict(x).numpy(), want, rtol=1e-5, atol=1e-6)

@pytest.mark.parametrize('text, said', [
    (of_tensai(('Dense', dict(weights=matrix(W), bias=[1.]))), 'layer 0 has .* bias'),
    (of_tensai(('Dense', dict(weights=matrix(W.T), bias=B.tolist()))), r'layer 0 has \(2, 4\) weight there'),
    (of_tensai(('Dense', dict(bias=B.tolist()))), 'layer 0 has .* weight there'),
    (of_tensai(('Dense', dict(weights=dict(Rows=3, Cols=3, Data=[1.]), bias=[]))), 'layer 0'),
    (of_tensai(('Embedding', dict(weights=matrix(W)))), 'layer 0 is Embedding there and Dense here'),
    (of_tensai(('Dense', dict(weights=matrix(W), bias=B.tolist())), ('Tanh', {})), 'has 2 layers, this model 1'),
    ('{}', 'it lists no layers'), ('[', 'is no saved model'), ('{"layers": [1]}', 'it lists no layers')])
def test_a_file_of_tensai_that_does_not_fit(text, said, tmp_path):
    (tmp_path/'m.json').write_text(text)
    model = Sequential(Dense('unit=2')).compile('feature=4', 'mse')
    before = weights(model)
    with pytest.raises(CheckpointError, match=said): model.load(tmp_path/'m.json')
    assert same(weights(model), before)
