"""Cells and sequences (chapter 34): torch's numbers and gradients, the order of gates, states, and what is refused."""
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import nn
from fucinalib.errors import DTypeError, FucinaError, OptionError, ShapeMismatch, StateMismatch, TagError
from fucinalib.gradients import gradcheck
from fucinalib.nn.module import at_step
from fucinalib.nn.rnn import gru_loop, lstm_loop, step_by_step

TOL = dict(f32=1e-5, f64=1e-12)
KINDS = 'RNN', 'LSTM', 'GRU'


def wave(*shape, k=1.): return (np.sin(np.arange(np.prod(shape)) * k + 1) * .7).reshape(shape)

def torchs(kind, read=2, hidden=2, **given):
    "Weights in torch's form that follow a sine."
    g = dict(RNN=1, LSTM=4, GRU=3)[kind] * hidden
    shapes = dict(weight_ih_l0=(g, read), weight_hh_l0=(g, hidden), bias_ih_l0=(g,), bias_hh_l0=(g,)) | given
    return {name: wave(*shape, k=.7 + .1 * i) for i, (name, shape) in enumerate(shapes.items())}

def filled(kind, dtype='f64', **options):
    layer = getattr(nn, kind)('read=2', 'hidden=2', over='t', dtype=dtype, **options)
    layer.load_state_dict(layer.of_torch(torchs(kind)))
    return layer


# ---- beside torch

# torch 2.13 in f64: states after each of three entries, and the gradient of the sum of their squares
KEPT = dict(
    RNN=([[0.96160965, 0.92105698], [0.96820593, 0.90737224], [0.95038595, 0.82198657]],
         [[0.22893762, 0.11929111], [0.23656544, 0.10666639], [0.36045224, 0.14319828]]),
    LSTM=([[-0.30922138, 0.00715104], [-0.569785, -0.43040596], [-0.67965508, -0.59519756]],
          [[-0.20090837, -0.3120469], [-0.15035022, -0.24202425], [-0.11207902, -0.19882362]]),
    GRU=([[-0.38262183, 0.03776253], [-0.54162902, -0.46869053], [-0.61745434, -0.68592214]],
         [[-0.12011358, -0.25417791], [-0.06656142, -0.03586469], [-0.0546395, -0.04121014]]))

@pytest.mark.parametrize('dtype', TOL)
@pytest.mark.parametrize('kind', KINDS)
def test_numbers_kept_from_torch(kind, dtype, backend):
    layer, x = filled(kind, dtype), fl.param(wave(3, 2), 't read', dtype)
    y, _ = layer(x)
    y.square().sum().backward()
    for ours, theirs in zip((y, x.grad), KEPT[kind]):
        np.testing.assert_allclose(ours.numpy(), theirs, atol=max(1e-8, TOL[dtype]))

SETTINGS = dict(plain={}, no_bias=dict(bias=False), deep=dict(layers=2), both=dict(bidirectional=True),
                deep_both=dict(layers=3, bidirectional=True))

@pytest.mark.torch
@pytest.mark.parametrize('how', SETTINGS)
@pytest.mark.parametrize('dtype', TOL)
@pytest.mark.parametrize('kind', KINDS)
def test_states_and_gradients_are_torchs(kind, dtype, how, backend):
    torch = pytest.importorskip('torch')
    torch.manual_seed(0)
    options, given = SETTINGS[how], dict(SETTINGS[how])
    given['num_layers'] = given.pop('layers', 1)
    real = dict(dtype=torch.float64 if dtype == 'f64' else torch.float32)
    theirs = getattr(torch.nn, kind)(3, 4, batch_first=True, **given, **real)
    ours = getattr(nn, kind)('read=3', 'hidden=4', over='t', dtype=dtype, **options)
    ours.load_state_dict(ours.of_torch(theirs.state_dict()))
    x = torch.randn(2, 5, 3, **real, requires_grad=True)
    first = [torch.randn(len(ours.cells), 2, 4, **real) for _ in range(1 + (kind == 'LSTM'))]
    y, last = theirs(x, tuple(first) if kind == 'LSTM' else first[0])
    (y * (factor := torch.randn(*y.shape, **real))).sum().backward()
    mine = fl.param(x.detach().numpy(), 'batch t read')
    states = [tuple(fl.Tensor(s[i].numpy(), 'batch hidden') for s in first) for i in range(len(ours.cells))]
    if kind != 'LSTM': states = [s[0] for s in states]
    z, after = ours(mine, states if len(states) > 1 else states[0])
    (z * fl.Tensor(factor.numpy(), 'batch t hidden')).sum().backward()
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=TOL[dtype], atol=TOL[dtype])
    close(z.numpy(), y.detach())
    close(mine.grad.numpy(), x.grad)
    shown = [s if isinstance(s, tuple) else (s,) for s in (after if len(states) > 1 else [after])]
    for i, parts in enumerate(zip(*shown)):
        close(np.stack([s.numpy() for s in parts]), (last[i] if kind == 'LSTM' else last).detach())
    slopes = {n: p.grad for n, p in theirs.named_parameters()}
    halved = {n: g / 2 if 'bias' in n else g for n, g in slopes.items()}      # our one bias gets the gradient of either
    wanted = ours.of_torch({n: g.numpy() for n, g in halved.items()})
    for name, p in ours.named_parameters():
        if kind == 'GRU' and 'bias' in name: continue      # the candidate's two have gradients of their own, see below
        close(p.grad.numpy(), wanted[name])
    for i, cell in enumerate(ours.cells if kind == 'GRU' and options.get('bias', True) else []):
        end = f'_l{i // ours.ways}' + '_reverse' * (i % ours.ways)
        close(cell.x.bias.grad.numpy().ravel(), slopes[f'bias_ih{end}'])
        close(cell.bias_n.grad.numpy(), slopes[f'bias_hh{end}'][-4:])

@pytest.mark.torch
@pytest.mark.parametrize('kind', KINDS)
def test_a_cell_is_torchs_cell(kind):
    torch = pytest.importorskip('torch')
    theirs, ours = getattr(torch.nn, kind + 'Cell')(3, 4), getattr(nn, kind + 'Cell')('read=3', 'hidden=4')
    ours.load_state_dict(ours.of_torch(theirs.state_dict()))
    x, h = torch.randn(2, 3), torch.randn(2, 4)
    state = (h, h) if kind == 'LSTM' else h
    mine = fl.Tensor(h.numpy(), 'batch hidden')
    y = ours(fl.Tensor(x.numpy(), 'batch read'), (mine, mine) if kind == 'LSTM' else mine)
    for a, b in zip(y if kind == 'LSTM' else [y], theirs(x, state) if kind == 'LSTM' else [theirs(x, state)]):
        np.testing.assert_allclose(a.numpy(), b.detach(), rtol=1e-5, atol=1e-6)

@pytest.mark.torch
def test_a_model_with_sequences_and_attention_reads_torchs_weights_by_path():
    torch = pytest.importorskip('torch')
    class Theirs(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = torch.nn.LSTM(3, 4, batch_first=True), torch.nn.Linear(4, 4)
            self.block = torch.nn.TransformerEncoderLayer(4, 2, 6, 0., 'gelu', batch_first=True, norm_first=True)
        def forward(self, x, mask): return self.block(self.head(self.lstm(x)[0]), src_mask=mask)
    class Ours(nn.Module):
        def __init__(self):
            self.lstm, self.head = nn.LSTM('read=3', 'd=4'), nn.Linear('d=4', 'd=4')      # heads call theirs d, too
            self.block = nn.TransformerBlock('d=4', 2, 'ff=6', bias=True)
        def forward(self, x): return self.block(self.head(self.lstm(x)[0]))
    theirs, x = Theirs(), torch.randn(2, 5, 3)
    ours = nn.from_torch(Ours(), {name: a.numpy() for name, a in theirs.state_dict().items()})
    y = theirs(x, torch.triu(torch.ones(5, 5, dtype=bool), 1)).detach()
    np.testing.assert_allclose(ours(fl.Tensor(x.numpy(), 'batch seq read')).numpy(), y, rtol=1e-5, atol=1e-5)
    again = Theirs()
    again.load_state_dict({name: torch.tensor(a) for name, a in nn.to_torch(ours).items()})
    np.testing.assert_allclose(again(x, torch.triu(torch.ones(5, 5, dtype=bool), 1)).detach(), y, rtol=1e-5, atol=1e-5)

@pytest.mark.parametrize('options', SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize('kind', KINDS)
def test_to_torch_and_back_changes_nothing(kind, options):
    a, b = (getattr(nn, kind)('row=2 col=3', 'head=2 d=2', seed=seed, **options) for seed in (1, 2))
    if kind == 'GRU' and options.get('bias', True):
        for cell in a.cells: cell.bias_n.data[...] = .5
    nn.from_torch(b, nn.to_torch(a))
    for name, v in a.state_dict().items(): np.testing.assert_array_equal(b.state_dict()[name], v)


# ---- the order of gates (case L09: worked out by hand there)

def one(kind, sums, hidden=None, **more):
    "A cell of one unit whose sums from what is read are given."
    cell = getattr(nn, kind)('read=1', 'unit=1', dtype='f64')
    zeros = {name: np.zeros(p.shape) for name, p in cell.named_tensors()}
    cell.load_state_dict(zeros | {'x.bias': np.reshape(sums, (-1, 1))} | (hidden or {}) | more)
    return cell

X = fl.Tensor([0.], 'read', 'f64')
def unit(v): return fl.Tensor([float(v)], 'unit', 'f64')

def test_the_gates_of_an_lstm_are_input_forget_candidate_output():
    h, c = one('LSTMCell', [1, 2, .5, -1])(X, (unit(0), unit(1)))
    np.testing.assert_allclose([c.item(), h.item()], [1.2186318, .2257091], atol=5e-8)
    h, c = one('LSTMCell', [1, 2, -1, .5])(X, (unit(0), unit(1)))       # candidate and output exchanged
    assert abs(c.item() - 1.2186318) > .5

def test_a_gru_resets_after_the_product():
    cell = one('GRUCell', [0, -1, .5], {'h.weight': [[[0.], [0.], [2.]]]}, bias_n=[.3])
    assert abs(cell(X, unit(1)).item() - .9479908) < 5e-8

@pytest.mark.parametrize('missing', ['bias_ih_l0', 'bias_hh_l0', 'weight_ih_l0', 'weight_hh_l0'])
@pytest.mark.parametrize('kind', KINDS)
def test_a_weight_that_is_forgotten_is_an_error(kind, missing):
    layer, state = filled(kind), torchs(kind)
    before = layer.state_dict()
    del state[missing]
    with pytest.raises(StateMismatch, match=f'missing : {missing}'): layer.of_torch(state)
    assert all(np.array_equal(a, before[name]) for name, a in layer.state_dict().items())

@pytest.mark.parametrize('kind', KINDS)
def test_what_has_no_place_is_an_error(kind):
    layer = getattr(nn, kind)('read=2', 'hidden=2', over='t', bias=False)
    with pytest.raises(StateMismatch, match='foreign : bias_ih_l0'): layer.of_torch(torchs(kind))
    with pytest.raises(StateMismatch, match='weight_ih_l1'): filled(kind).of_torch(torchs(kind, weight_ih_l1=(8, 2)))
    with pytest.raises(StateMismatch, match='weight_ih_l0 : shape'): filled(kind).of_torch(torchs(kind, read=3))

def test_torchs_biases_replace_the_forget_bias():
    layer = nn.LSTM('read=2', 'hidden=2', over='t', dtype='f64')
    assert (layer.cells[0].x.bias.numpy() == [[0, 0], [1, 1], [0, 0], [0, 0]]).all()
    layer.load_state_dict(layer.of_torch(torchs('LSTM')))
    both = torchs('LSTM')['bias_ih_l0'] + torchs('LSTM')['bias_hh_l0']
    assert np.array_equal(layer.cells[0].x.bias.numpy().ravel(), both)
    assert (nn.LSTM('read=2', 'hidden=2', forget_bias=0.).cells[0].x.bias.numpy() == 0).all()

@pytest.mark.parametrize('kind, letters', [('LSTM', 'i f g o'), ('GRU', 'r z n')])
def test_a_layer_prints_the_order_of_its_gates(kind, letters):
    assert letters in repr(getattr(nn, kind)('read=2', 'hidden=2')), repr(getattr(nn, f'{kind}Cell')('a=1', 'b=1'))


# ---- axes and states

@pytest.mark.parametrize('kind', KINDS)
def test_any_axes_pass_through_in_any_order(kind, backend):
    layer = filled(kind)
    x = fl.Tensor(wave(3, 4, 2, 5), 'speaker t read batch', 'f64')
    y, _ = layer(x)
    assert y.tags == ('speaker', 't', 'batch', 'hidden')
    one, _ = layer(x.select(speaker=1, batch=2))
    np.testing.assert_allclose(y.select(speaker=1, batch=2).numpy(), one.numpy(), rtol=1e-13)

@pytest.mark.parametrize('kind', KINDS)
def test_several_axes_may_be_read_and_held(kind):
    layer = getattr(nn, kind)('row=2 col=3', 'head=2 d=2', over='t', dtype='f64', seed=0)
    flat = getattr(nn, kind)('pixel=6', 'unit=4', over='t', dtype='f64')
    flat.load_state_dict({n: a.reshape(dict(flat.named_tensors())[n].shape) for n, a in layer.state_dict().items()})
    x = wave(5, 2, 3)
    a, b = layer(fl.Tensor(x, 't row col'))[0], flat(fl.Tensor(x.reshape(5, 6), 't pixel'))[0]
    assert a.tags == ('t', 'head', 'd') and np.allclose(a.numpy().reshape(5, 4), b.numpy(), atol=1e-14)

@pytest.mark.parametrize('kind', KINDS)
def test_read_and_hidden_may_have_one_name(kind):
    layer = getattr(nn, kind)('d=2', 'd=2', over='t', dtype='f64')
    layer.load_state_dict(layer.of_torch(torchs(kind)))
    x = wave(3, 2)
    assert np.array_equal(layer(fl.Tensor(x, 't d'))[0], filled(kind)(fl.Tensor(x, 't read'))[0])

@pytest.mark.parametrize('options', [{}, dict(layers=2)])
@pytest.mark.parametrize('kind', KINDS)
def test_a_sequence_in_pieces_is_the_whole(kind, options):
    layer = getattr(nn, kind)('read=2', 'hidden=3', over='t', seed=1, dtype='f64', **options)
    x = fl.Tensor(wave(2, 7, 2), 'batch t read', 'f64')
    whole, last = layer(x)
    state, seen = None, []
    for start, n in ((0, 1), (1, 4), (5, 2)):
        y, state = layer(x.narrow('t', start, n), state)
        seen.append(y)
    np.testing.assert_allclose(fl.concat(seen, 't').numpy(), whole.numpy(), atol=1e-14)

@pytest.mark.parametrize('kind', KINDS)
def test_a_state_without_a_batch_serves_all(kind):
    layer = filled(kind)
    x, one = fl.Tensor(wave(4, 3, 2), 'batch t read'), fl.param(wave(2), 'hidden')
    wide = fl.Tensor(np.tile(wave(2), (4, 1)), 'batch hidden')
    state = lambda h: (h, h) if kind == 'LSTM' else h
    y, _ = layer(x, state(one))
    assert np.array_equal(y, layer(x, state(wide))[0])
    y.sum().backward()
    assert one.grad.shape == (2,) and one.grad.abs().sum().item() > 0

REFUSED = {
    'another axis': (TagError, lambda l, x: l(x, fl.zeros('speaker hidden', speaker=2, hidden=2, dtype='f64'))),
    'no tensor': (TagError, lambda l, x: l(x, 3.)),
    'another size': (ShapeMismatch, lambda l, x: l(x, fl.zeros('hidden', hidden=3, dtype='f64'))),
    'one number for all units': (ShapeMismatch, lambda l, x: l(x, fl.zeros('hidden', hidden=1, dtype='f64'))),
    'another number type': (DTypeError, lambda l, x: l(x, fl.zeros('hidden', hidden=2))),
    'no time': (TagError, lambda l, x: l(x.rename(t='time'))),
    'nothing to read': (TagError, lambda l, x: l(x.rename(read='word')))}

@pytest.mark.parametrize('why', REFUSED)
@pytest.mark.parametrize('kind', KINDS)
def test_what_does_not_fit_is_refused_with_the_path(kind, why):
    class Model(nn.Module):
        def __init__(self): self.layer = filled(kind)
        def reader(self, x, *state): return self.layer(x, *[(s, s) if kind == 'LSTM' else s for s in state])
        def forward(self, x): return REFUSED[why][1](self.reader, x)
    with pytest.raises(REFUSED[why][0]) as e: Model()(fl.Tensor(wave(3, 2), 't read', 'f64'))
    assert e.value.where.startswith('Model.layer')

def test_states_of_the_wrong_number_are_refused():
    x = fl.Tensor(wave(3, 2), 't read', 'f64')
    h = fl.zeros('hidden', hidden=2, dtype='f64')
    with pytest.raises(OptionError, match='two tensors'): filled('LSTM')(x, h)
    two = nn.GRU('read=2', 'hidden=2', over='t', layers=2, dtype='f64')
    with pytest.raises(OptionError, match='2 cells'): two(x, h)

@pytest.mark.parametrize('kind', [*KINDS, *[f'{kind}Cell' for kind in KINDS]])
def test_a_layer_that_is_made_wrong_says_its_own_kind(kind):
    for sizes in ((53, 96), ('read', 'hidden=2'), ('read=2', 'hidden=0')):
        with pytest.raises(FucinaError) as e: getattr(nn, kind)(*sizes)
        assert str(e.value).startswith(kind)

@pytest.mark.parametrize('options', [dict(layers=0), dict(layers=1.5), dict(zoneout=.5)])
def test_options_that_do_not_exist_are_refused(options):
    with pytest.raises((FucinaError, TypeError)): nn.LSTM('read=2', 'hidden=2', **options)


# ---- gradients through time

@pytest.mark.parametrize('kind', KINDS)
def test_gradients_against_finite_differences(kind, backend):
    layer, x = filled(kind), fl.param(wave(2, 3, 2), 'batch t read')
    assert gradcheck(lambda x, *_: layer(x)[0], x, *layer.parameters())

@pytest.mark.parametrize('bias', [True, False])
@pytest.mark.parametrize('tags', ['batch t gate hidden', 't gate hidden', 't a b gate hidden', 'a t b gate hidden'])
@pytest.mark.parametrize('kind', ['LSTM', 'GRU'])
def test_the_loop_in_one_node_is_the_loop_of_nodes(kind, tags, bias, backend):
    cell = getattr(nn, f'{kind}Cell')('read=3', 'hidden=2', bias=bias, seed=1, dtype='f64')
    if kind == 'GRU' and bias: cell.bias_n.data[...] = [.3, -.4]
    sizes = dict(batch=2, t=4, a=2, b=3, gate=len(cell.gates), hidden=2)
    shape = [sizes[t] for t in tags.split()]
    found = []
    for run in (cell.loop, lambda *a: step_by_step(cell, *a)):
        for p in cell.parameters(): p.zero_grad()
        z = fl.param(wave(*shape), tags)
        rest = [t for t in tags.split() if t not in ('t', 'gate')]
        state = [fl.param(wave(*[sizes[t] for t in rest], k=k), rest) for k in (.3, .4)[:1 + (kind == 'LSTM')]]
        y, last = run(z, 't', tuple(state) if kind == 'LSTM' else state[0])
        shown = last if kind == 'LSTM' else (last, last)
        (y.square().sum() + (shown[0] * shown[1]).sum()).backward()
        learnt = [p.grad for n, p in cell.named_parameters() if not n.startswith('x.')]
        found.append([t.numpy() for t in (y, *shown, z.grad, *[s.grad for s in state], *learnt)])
    for a, b in zip(*found): np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)

@pytest.mark.parametrize('kind', KINDS)
def test_another_layer_in_the_place_of_the_cells_own_is_asked(kind):
    class Twice(nn.Module):
        def __init__(self, inner): self.inner = inner
        def forward(self, h): return self.inner(h) * 2
    layer, doubled = filled(kind), filled(kind)
    doubled.cells[0].h = Twice(doubled.cells[0].h)
    layer.cells[0].h.weight.data[...] *= 2
    x = fl.Tensor(wave(3, 2), 't read', 'f64')
    np.testing.assert_allclose(doubled(x)[0].numpy(), layer(x)[0].numpy(), rtol=1e-12)

def test_a_long_sequence_takes_no_deep_stack():
    layer = nn.RNN('read=1', 'hidden=1', over='t', seed=0)
    x = fl.param(np.full((3000, 1), .01, 'f4'), 't read')
    layer(x)[0].sum().backward()
    assert np.isfinite(x.grad.numpy()).all()

def test_the_gradients_of_the_loops():
    draw = lambda tags, *shape, k: fl.param(wave(*shape, k=k), tags)
    assert gradcheck(lambda *a: lstm_loop(*a, 't'), draw('b t gate hidden', 2, 3, 4, 2, k=1.),
                     draw('hidden_in gate hidden', 2, 4, 2, k=.7), *[draw('b hidden', 2, 2, k=k) for k in (.3, .4)])
    assert gradcheck(lambda *a: gru_loop(*a, 't'), draw('b t gate hidden', 2, 3, 3, 2, k=1.),
                     draw('hidden_in gate hidden', 2, 3, 2, k=.7), draw('hidden', 2, k=.2),
                     draw('b hidden', 2, 2, k=.3))


# ---- first values

@pytest.mark.parametrize('kind', KINDS)
def test_first_values_belong_to_the_seed(kind):
    make = lambda seed: getattr(nn, kind)('read=3', 'hidden=4', layers=2, seed=seed)
    a, b, c = (make(seed).state_dict() for seed in (1, 1, 2))
    assert all(np.array_equal(a[n], b[n]) for n in a) and not all(np.array_equal(a[n], c[n]) for n in a)
    weights = [v.ravel()[:3].tobytes() for n, v in a.items() if 'weight' in n]
    assert len(set(weights)) == len(weights)

@pytest.mark.parametrize('kind', KINDS)
def test_states_are_saved_and_read(kind):
    a, b = (getattr(nn, kind)('read=3', 'hidden=4', over='t', seed=s) for s in (1, 2))
    b.load_state_dict(a.state_dict())
    x = fl.Tensor(wave(3, 3), 't read', 'f32')
    assert np.array_equal(a(x)[0], b(x)[0])


# ---- what is left out in training

@pytest.mark.parametrize('kind', KINDS)
def test_weights_that_are_left_out_are_the_same_at_every_step(kind, backend):
    "Beside a layer that has the thinned weights for its own; both ways, and gradients of all weights."
    make = dict(layers=2, bidirectional=True, over='t', dtype='f64')
    layer = getattr(nn, kind)('read=2', 'hidden=3', seed=1, recurrent_dropout=.5, **make)
    plain = getattr(nn, kind)('read=2', 'hidden=3', seed=1, **make)
    for cell in [*layer.cells, *plain.cells]:       # a reset gate in front of 0 would have no slope
        if kind == 'GRU': cell.bias_n.data[...] = .3
    x = fl.Tensor(wave(2, 5, 2), 'batch t read')
    with at_step(3, 7):
        y, _ = layer(x)
        y.square().sum().backward()
    grads = [cell.h.weight.grad.numpy() for cell in layer.cells]
    for own, cell, g in zip(plain.cells, layer.cells, grads):
        gone = g == 0
        assert 0 < gone.sum() < g.size
        own.h.weight.data[...] = np.where(gone, 0, own.h.weight.data * 2)
    z, _ = plain(x)
    z.square().sum().backward()
    np.testing.assert_allclose(y.numpy(), z.numpy(), atol=1e-12)
    for (name, p), (_, q) in zip(layer.named_parameters(), plain.named_parameters()):
        want = q.grad.numpy() * 2 * (p.grad.numpy() != 0) if name.endswith('h.weight') else q.grad.numpy()
        np.testing.assert_allclose(p.grad.numpy(), want, atol=1e-12, err_msg=name)

@pytest.mark.parametrize('kind', KINDS)
def test_dropout_between_layers_is_torchs_place(kind):
    "After every layer but the last; nothing in use, nothing for one layer."
    make = dict(over='t', seed=2, dtype='f64')
    layer = getattr(nn, kind)('read=2', 'hidden=3', layers=3, dropout=.5, **make)
    plain = getattr(nn, kind)('read=2', 'hidden=3', layers=3, **make)
    x = fl.Tensor(wave(4, 2), 't read')
    assert np.array_equal(layer.eval()(x)[0], plain(x)[0])
    layer.train()
    with at_step(0, 0): y = layer(x)[0]
    with at_step(0, 0): again = layer(x)[0]
    assert np.array_equal(y, again) and not np.array_equal(y, plain(x)[0])
    one = getattr(nn, kind)('read=2', 'hidden=3', dropout=.5, **make)
    assert np.array_equal(one(x)[0], getattr(nn, kind)('read=2', 'hidden=3', **make)(x)[0])

@pytest.mark.parametrize('name', ['dropout', 'recurrent_dropout'])
def test_a_share_of_all_is_refused(name):
    for p in (1, -.1, 'half'):
        with pytest.raises(FucinaError, match='share below 1'): nn.LSTM('read=2', 'hidden=2', **{name: p})
    layer = nn.GRU('read=2', 'hidden=2', layers=2, **{name: .25})
    assert '0.25' in str(layer) and '0.25' not in str(nn.GRU('read=2', 'hidden=2', layers=2))
    state = layer.state_dict()
    nn.GRU('read=2', 'hidden=2', layers=2).load_state_dict(state)       # nothing of it is saved

def test_a_recorded_step_draws_weights_anew():
    layer = nn.LSTM('read=2', 'hidden=3', over='t', recurrent_dropout=.5, dropout=.2, layers=2, seed=0)
    x = fl.Tensor(wave(4, 2), 't read', 'f32')
    step = fl.record(lambda x: layer(x)[0].square().mean())
    for i in range(4):
        with at_step(1, i): a = step(x).item()
        with at_step(1, i): b = layer(x)[0].square().mean().item()
        assert a == b
