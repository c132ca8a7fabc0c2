"""The inputs that torch tests its own modules with, through our layers with torch's weights: values and gradients.

A sample with an option that a layer of ours has not is left out; how many are taken stands below."""
import inspect
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import nn

torch = pytest.importorskip('torch')
modules = pytest.importorskip('torch.testing._internal.common_modules')
pytestmark = pytest.mark.torch

DB = {m.module_cls.__name__: m for m in modules.module_db}
NONE = object()      # a sample that asks for what ours has not


def linear(o, x): return nn.Linear(f'd={o["in_features"]}', f'e={o["out_features"]}', bias=o['bias'], dtype='f64'), 'd'

def convolution(make, axes):
    def build(o, x):
        if o['padding_mode'] != 'zeros' or isinstance(o['padding'], str): return NONE
        if make is nn.Conv2d and set(np.ravel(o['dilation'])) != {1}: return NONE
        window = ' '.join(f'{t}={n}' for t, n in zip(axes, np.broadcast_to(o['kernel_size'], len(axes))))
        own = dict(stride=o['stride'], padding=o['padding'], groups=o['groups'], bias=o['bias'])
        if make is nn.Conv1d: own |= {k: int(np.ravel(v)[0]) for k, v in own.items()}
        if make is nn.Conv1d: own |= dict(dilation=int(np.ravel(o['dilation'])[0]), bias=o['bias'])
        layer = make(f'c={o["in_channels"]}', f'o={o["out_channels"]}', window, dtype='f64', **own)
        return layer, f'c {" ".join(axes)}'
    return build

def transposed(o, x):
    if o['padding_mode'] != 'zeros' or o['groups'] != 1 or int(np.ravel(o['dilation'])[0]) != 1: return NONE
    one = lambda name: int(np.ravel(o[name])[0])
    layer = nn.ConvTranspose1d(f'c={o["in_channels"]}', f'o={o["out_channels"]}', f't={one("kernel_size")}',
                               stride=one('stride'), padding=one('padding'), output_pad=one('output_padding'),
                               bias=o['bias'], dtype='f64')
    return layer, 'c t'

def transposed2d(o, x):
    if o['padding_mode'] != 'zeros' or o['groups'] != 1 or set(np.ravel(o['dilation'])) != {1}: return NONE
    h, w = np.broadcast_to(o['kernel_size'], 2)
    layer = nn.ConvTranspose2d(f'c={o["in_channels"]}', f'o={o["out_channels"]}', f'h={h} w={w}', stride=o['stride'],
                               padding=o['padding'], output_pad=o['output_padding'], bias=o['bias'], dtype='f64')
    return layer, 'c h w'

def batch_norm(o, x):
    if not o['track_running_stats'] or not o.get('bias', True): return NONE
    own = {k: o[k] for k in ('eps', 'momentum', 'affine')}
    return nn.BatchNorm(f'c={o["num_features"]}', dtype='f64', **own), ('n c', 'n c l', 'n c h w')[x.ndim - 2]

def row_norm(make):
    def build(o, x):
        shape = np.ravel(o['normalized_shape'])
        names = [f'd{i}' for i in range(len(shape))]
        own = dict(weight=o['elementwise_affine'], eps=np.finfo('f8').eps if o['eps'] is None else o['eps'])
        if make is nn.LayerNorm: own['bias'] = o['bias']
        return make(' '.join(f'{t}={n}' for t, n in zip(names, shape)), dtype='f64', **own), ' '.join(names)
    return build

def group_norm(o, x):
    over = ' '.join(f'p{i}' for i in range(x.ndim - 2))
    layer = nn.GroupNorm(f'c={o["num_channels"]}', o['num_groups'], over, eps=o['eps'], weight=o['affine'],
                         bias=o['affine'] and o.get('bias', True), dtype='f64')
    return layer, f'n c {over}'

def pool(make):
    def build(o, x):
        if o['ceil_mode'] or o.get('return_indices') or o.get('divisor_override'): return NONE
        if o.get('dilation', 1) != 1: return NONE
        if make is nn.AvgPool2d and o['count_include_pad'] and np.any(o['padding']): return NONE
        h, w = np.broadcast_to(o['kernel_size'], 2)
        return make(f'h={h} w={w}', stride=o['stride'], padding=o['padding']), 'c h w'
    return build

def recurrent(make):
    def build(o, x):
        if o.get('proj_size') or o.get('dropout') or o.get('nonlinearity', 'tanh') != 'tanh': return NONE
        layer = make(f'd={o["input_size"]}', f'h={o["hidden_size"]}', over='t', layers=o.get('num_layers', 1),
                     bidirectional=o.get('bidirectional', False), bias=o.get('bias', True), dtype='f64')
        tags = 't d' if x.ndim == 2 else 'n t d' if o.get('batch_first') else 't n d'
        return layer, tags
    return build

KINDS = dict(Linear=linear, Conv1d=convolution(nn.Conv1d, 't'), Conv2d=convolution(nn.Conv2d, 'hw'),
             ConvTranspose1d=transposed, ConvTranspose2d=transposed2d, BatchNorm1d=batch_norm,
             BatchNorm2d=batch_norm,
             LayerNorm=row_norm(nn.LayerNorm), RMSNorm=row_norm(nn.RMSNorm), GroupNorm=group_norm,
             MaxPool2d=pool(nn.MaxPool2d), AvgPool2d=pool(nn.AvgPool2d),
             LSTM=recurrent(nn.LSTM), GRU=recurrent(nn.GRU), RNN=recurrent(nn.RNN))


def options_of(cls, sample):
    "The arguments a sample makes a module with, by name."
    given, base = sample.constructor_input, torch.nn.RNNBase
    init = inspect.signature(base.__init__ if issubclass(cls, base) else cls.__init__)
    init = init.replace(parameters=[p for n, p in init.parameters.items() if n != 'mode'])
    bound = init.bind(None, *given.args, **{k: v for k, v in given.kwargs.items() if k in init.parameters})
    bound.apply_defaults()
    return dict(bound.arguments) | given.kwargs

def first(y): return y[0] if isinstance(y, tuple) else y


@pytest.mark.parametrize('training', [True, False])
@pytest.mark.parametrize('name', KINDS)
def test_torchs_own_samples(name, training):
    "At 1e-11 of the largest value, f64."
    torch.manual_seed(0)
    cls, taken = DB[name].module_cls, 0
    for sample in DB[name].module_inputs_func(DB[name], device='cpu', dtype=torch.float64, requires_grad=False,
                                              training=training):
        if len(sample.forward_input.args) != 1 or sample.forward_input.kwargs: continue
        tx, = sample.forward_input.args
        if not tx.numel(): continue      # a tensor of ours holds at least one value
        options = options_of(cls, sample)
        built = KINDS[name](options, tx)
        if built is NONE: continue
        ours, last = built
        theirs = cls(*sample.constructor_input.args, **sample.constructor_input.kwargs).double()
        for p in theirs.parameters(): torch.nn.init.normal_(p)
        nn.from_torch(ours, {k: v.detach().numpy() for k, v in theirs.state_dict().items()})
        ours.train(training), theirs.train(training)
        tags = [f'a{i}' for i in range(tx.ndim - len(last.split()))] + last.split()
        x, tx = fl.param(tx.numpy().copy(), tags, 'f64'), tx.clone().requires_grad_()
        y, ty = first(ours(x)), first(theirs(tx))
        want = ty.detach().numpy()
        assert y.shape == want.shape, sample
        np.testing.assert_allclose(y.numpy(), want, rtol=0, atol=1e-11 * max(1, np.abs(want).max()))
        g = np.random.default_rng(1).normal(size=want.shape)
        y.backward(g), ty.backward(torch.from_numpy(g))
        want = tx.grad.numpy()
        np.testing.assert_allclose(x.grad.numpy(), want, rtol=0, atol=1e-11 * max(1, np.abs(want).max()))
        taken += 1
    assert taken >= LEAST[name], f'{taken} samples of {name}'

LEAST = dict(Linear=2, Conv1d=2, Conv2d=2, ConvTranspose1d=2, ConvTranspose2d=1,
             BatchNorm1d=5, BatchNorm2d=4, LayerNorm=6,
             RMSNorm=5, GroupNorm=10, MaxPool2d=2, AvgPool2d=3, LSTM=8, GRU=8, RNN=8)
