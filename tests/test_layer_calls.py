"""Layers called as torch has them: the message is the whole call with the numbers in their places, and it makes the
layer that torch makes."""
import re
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import nn
from fucinalib.nn.calls import CALLS, NAMES


def help_of(call, kind=(fl.TagError, fl.OptionError)):
    "The help of a call that must fail."
    with pytest.raises(kind) as e: eval(call, dict(nn=nn, np=np, fl=fl))
    return str(e.value).split('help: ')[1]


# a call that torch takes -> the call that is told
AS_TORCH = {
    'Linear(64, 10)': "Linear('feature=64', 'out=10')",
    'Linear(64, 10, False)': "Linear('feature=64', 'out=10', bias=False)",
    'Linear(in_features=64, out_features=10)': "Linear('feature=64', 'out=10')",
    'Embedding(1000, 64)': "Embedding('word=1000', 'embed=64')",
    'Embedding(num_embeddings=30, embedding_dim=4)': "Embedding('word=30', 'embed=4')",
    'Conv1d(4, 16, 3)': "Conv1d('channel=4', 'feature=16', 3)",
    'Conv1d(4, 16, 3, 1, 1, 2)': "Conv1d('channel=4', 'feature=16', 3, padding=1, dilation=2)",
    'Conv2d(1, 16, 3)': "Conv2d('channel=1', 'feature=16', 3)",
    'Conv2d(1, 16, 3, 2, 1)': "Conv2d('channel=1', 'feature=16', 3, stride=2, padding=1)",
    'Conv2d(1, 16, kernel_size=3)': "Conv2d('channel=1', 'feature=16', 3)",
    'Conv2d(2, 4, (3, 5), groups=2, bias=False)':
        "Conv2d('channel=2', 'feature=4', (3, 5), groups=2, bias=False)",
    "Conv2d(2, 4, 3, padding='same')": "Conv2d('channel=2', 'feature=4', 3, padding=1)",
    "Conv2d(2, 4, 3, padding='valid')": "Conv2d('channel=2', 'feature=4', 3)",
    'Conv2d(in_channels=3, out_channels=8, kernel_size=3, padding=1, padding_mode="zeros", dilation=1)':
        "Conv2d('channel=3', 'feature=8', 3, padding=1)",
    'ConvTranspose1d(4, 2, 3)': "ConvTranspose1d('channel=4', 'feature=2', 3)",
    'ConvTranspose2d(4, 2, 3, stride=2, output_padding=1)':
        "ConvTranspose2d('channel=4', 'feature=2', 3, stride=2, output_pad=1)",
    'MaxPool2d(kernel_size=2)': 'MaxPool2d(2)',
    'MaxPool2d(kernel_size=2, stride=2, padding=0)': 'MaxPool2d(2, stride=2)',
    'AvgPool2d(kernel_size=(2, 3))': 'AvgPool2d((2, 3))',
    'Upsample(scale_factor=2, mode="nearest")': 'Upsample(times=2)',
    'LayerNorm(64)': "LayerNorm('embed=64')",
    'LayerNorm((8, 8))': "LayerNorm('h=8 w=8')",
    'LayerNorm([3, 8, 8])': "LayerNorm('channel=3 h=8 w=8')",
    'LayerNorm(64, 1e-3, False)': "LayerNorm('embed=64', eps=0.001, weight=False)",
    'LayerNorm(normalized_shape=64, elementwise_affine=False)': "LayerNorm('embed=64', weight=False)",
    'RMSNorm(64)': "RMSNorm('embed=64')",
    'GroupNorm(2, 4)': "GroupNorm('channel=4', 2, over='h w')",
    'GroupNorm(num_groups=2, num_channels=4)': "GroupNorm('channel=4', 2, over='h w')",
    'GroupNorm(2, 4, affine=False)': "GroupNorm('channel=4', 2, over='h w', weight=False, bias=False)",
    'Dropout(p=.1, inplace=True)': 'Dropout(p=0.1)',
    'ReLU(True)': 'ReLU()',
    'ReLU(inplace=True)': 'ReLU()',
    'LeakyReLU(.2, True)': 'LeakyReLU(0.2)',
    'ELU(alpha=1., inplace=True)': 'ELU()',
    'Softmax(1)': "Softmax('class')",
    'Softmax(dim=-1)': "Softmax('class')",
    'LogSoftmax(dim=1)': "LogSoftmax('class')",
    'Flatten()': "Flatten('h w channel', 'pixel')",
    'Flatten(1)': "Flatten('h w channel', 'pixel')",
    'Flatten(start_dim=1)': "Flatten('h w channel', 'pixel')",
    'Unflatten(1, (8, 4))': "Unflatten('pixel', 'row=8 col=4')",
    'Unflatten(dim=1, unflattened_size=(8, 4, 2))': "Unflatten('pixel', 'channel=8 h=4 w=2')",
}

@pytest.mark.parametrize('call, ours', AS_TORCH.items(), ids=AS_TORCH)
def test_a_call_of_torch_is_told_whole(call, ours):
    assert help_of(f'nn.{call}').split(';')[0].strip() == ours
    assert type(eval(ours, vars(nn))).__name__ == call.partition('(')[0]


@pytest.mark.torch
@pytest.mark.parametrize('call, ours', AS_TORCH.items(), ids=AS_TORCH)
def test_torch_makes_the_same_layer_of_it(call, ours):
    import torch
    theirs, layer = eval(f'nn.{call}', dict(nn=torch.nn)), eval(ours, vars(nn))
    assert sum(p.numel for p in layer.parameters()) == sum(p.numel() for p in theirs.parameters())


OTHERS = {
    "Linear('pixel=64', 10)": "Linear('pixel=64', 'out=10')",
    "Linear('out=64', 10)": "Linear('out=64', 'out2=10')",
    'Linear(64)': "Linear('feature=64', 'out=10')",
    'Linear(64, 10, dtype=np.float64)': "Linear('feature=64', 'out=10', dtype='float64')",
    'Linear(inputs=64, outputs=10)': "Linear('feature=64', 'out=10')",
    'Linear(64, 10, init=nn.init.zeros)': "Linear('feature=64', 'out=10', init=zeros)",
    "Conv2d('channel=1', 16, 3)": "Conv2d('channel=1', 'feature=16', 3)",
    "Conv2d('feature=8', 16, 3)": "Conv2d('feature=8', 'feature2=16', 3)",
    "Conv2d('channel=1', 'feature=16', kernel_size=3)": "Conv2d('channel=1', 'feature=16', 3)",
    'Conv2d(3, 8, 3, filters=4)': "Conv2d('channel=3', 'feature=4', 3)",
    'Conv2d(3, 8, 3, dilation=2)': "Conv2d('channel=3', 'feature=8', 3); dilation has no place here",
    'Embedding(9, 2, padding_idx=0)': "Embedding('word=9', 'embed=2'); padding_idx has no place here",
    "Embedding('word=9', 'embed=2', padding_idx=0, max_norm=1.)":
        "Embedding('word=9', 'embed=2'); padding_idx and max_norm have no place here",
    'BatchNorm(8)': "BatchNorm('channel=8')",
    'BatchNorm(num_features=8, affine=False)': "BatchNorm('channel=8', affine=False)",
    "GroupNorm(2, 'channel=4')": "GroupNorm('channel=4', 2, over='h w')",
    'RNN(10, 20)': "RNN('feature=10', 'hidden=20', over='seq')",
    'LSTM(10, 20)': "LSTM('feature=10', 'hidden=20', over='seq')",
    'LSTM(10, 20, 2)': "LSTM('feature=10', 'hidden=20', over='seq', layers=2)",
    "LSTM('letter=5', 'hidden=20', 2)": "LSTM('letter=5', 'hidden=20', over='seq', layers=2)",
    'LSTM(input_size=10, hidden_size=20, num_layers=2, batch_first=True, dropout=0.)':
        "LSTM('feature=10', 'hidden=20', over='seq', layers=2)",
    'GRU(10, 20, bidirectional=True)': "GRU('feature=10', 'hidden=20', over='seq', bidirectional=True)",
    'GRU(10, 20, bias=False)': "GRU('feature=10', 'hidden=20', over='seq', bias=False)",
    'RNNCell(10, 20)': "RNNCell('feature=10', 'hidden=20')",
    'LSTMCell(10, 20, False)': "LSTMCell('feature=10', 'hidden=20', bias=False)",
    'GRUCell(input_size=10, hidden_size=20)': "GRUCell('feature=10', 'hidden=20')",
    'MultiHeadAttention(64, 4)': "MultiHeadAttention('embed=64', 4)",
    'MultiHeadAttention(embed_dim=64, num_heads=8, batch_first=True)': "MultiHeadAttention('embed=64', 8)",
    'MultiHeadAttention(64, 4, dropout=.1)': "MultiHeadAttention('embed=64', 4); dropout has no place here",
    'DecoderBlock(64, 4, 128, .1)': "DecoderBlock('embed=64', 4, 'ff=128', dropout=0.1)",
    "DecoderBlock(d_model=64, nhead=4, activation='relu', batch_first=True)":
        "DecoderBlock('embed=64', 4, 'ff=256', act='relu')",
    'FeedForward(64, 256)': "FeedForward('embed=64', 'ff=256')",
    'TransformerBlock(64, 4, 128)': "TransformerBlock('embed=64', 4, 'ff=128')",
    'TransformerBlock(64, 4)': "TransformerBlock('embed=64', 4, 'ff=256')",
    "TransformerBlock(d_model=64, nhead=4, activation='relu')":
        "TransformerBlock('embed=64', 4, 'ff=256', act='relu')",
    'MaxPool2d()': 'MaxPool2d(2)',
    'Softmax()': "Softmax('class')",
}

@pytest.mark.parametrize('call, ours', OTHERS.items(), ids=OTHERS)
def test_any_number_in_the_place_of_an_axis(call, ours):
    "Where something is missing, the signature follows."
    told = help_of(f'nn.{call}')
    assert told == ours or told.startswith(f'{ours}; {ours.partition("(")[0]}(')
    eval(ours.split(';')[0], vars(nn) | dict(zeros=nn.init.zeros))


def test_every_layer_that_has_axes_is_in_the_table():
    "Each with a usual call that works, and only names that it has."
    chains = {'Sequential', 'Residual', 'Apply', 'Module', 'Function', 'KVCache', 'at_step'}
    plain = {'GELU', 'QuickGELU', 'SiLU', 'Softplus', 'Sigmoid', 'Tanh', 'Softcap'}
    kinds = {n for n, v in vars(nn).items() if isinstance(v, type) and not n.startswith('_')}
    assert kinds - chains - plain == {*CALLS}
    for kind, row in CALLS.items(): assert getattr(nn, kind)(**row.usual)


def test_a_class_of_ones_own_is_told_of_the_call_inside():
    class Mine(nn.Linear):
        def __init__(self, n): super().__init__(n, 10)
    class Same(nn.LSTM): pass
    with pytest.raises(fl.TagError, match=re.escape("Linear('feature=64', 'out=10')")): Mine(64)
    with pytest.raises(fl.TagError, match=re.escape("Same('feature=3', 'hidden=4', over='seq')")): Same(3, 4)


@pytest.mark.parametrize('call, said', {
    "Linear('a=2', 'b=3', foo=1)": "'foo'", "Linear('a=2', 'b=3', init='he')": "init is 'he'",
    "Conv2d('c=3', 'o=8', 3, stride=0)": 'stride is 0', 'Linear(None, "b=2")': 'None is no axis',
    "FeedForward('embed=8', 'ff=16', 'foo')": "there is no 'foo'"}.items())
def test_another_mistake_keeps_its_message(call, said):
    with pytest.raises(fl.FucinaError, match=said): eval(f'nn.{call}', dict(nn=nn))


def test_names_lead_to_parameters_there_are():
    every = {p for k in CALLS for p in
             __import__('inspect').signature(getattr(getattr(nn, k), 'fn', None) or getattr(nn, k).__init__).parameters}
    for name, ours in NAMES.items(): assert {*ours.split()} & every, name


# ---- one axis where several are named
ONE = [('Conv2d', 'channel=2 h=3', 'feature=4', 'x'), ('Conv1d', 'channel=2 h=3', 'feature=4', 'x'),
       ('BatchNorm', 'channel=2 h=3', None, 'x'), ('GroupNorm', 'channel=2 h=3', 2, 'x'),
       ('MultiHeadAttention', 'channel=2 h=3', 2, 'x'), ('ConvTranspose2d', 'channel=2 h=3', 'feature=4', 'x'),
       ('Conv2d', 'channel=2', 'a=2 b=3', 'y'), ('ConvTranspose1d', 'channel=2', 'a=2 b=3', 'y')]

@pytest.mark.parametrize('kind, first, second, at', ONE)
def test_several_axes_where_a_layer_takes_one(kind, first, second, at):
    "The layer is named, and the way through it works."
    more = [] if second is None else [second]
    if 'Conv' in kind: more.append(3)
    with pytest.raises(fl.TagError) as e: getattr(nn, kind)(first, *more)
    assert str(e.value).startswith(f'{kind} takes one axis as ') and 'Linear' not in str(e.value)
    axis, way = re.search(r"help: '(.*?)', and (.*?) (?:before|behind) it", str(e.value)).groups()
    if at == 'x':
        assert getattr(nn, kind)(axis, *more)
        x = fl.rand('n channel h', (2, 2, 3))
        assert eval(way, dict(x=x)).sizes == {'n': 2} | {axis.split('=')[0]: int(axis.split('=')[1])}
    else:
        assert getattr(nn, kind)(first, axis, *more[1:])
        y = fl.rand('n b', (2, 6))
        assert eval(way, dict(y=y)).sizes == {'n': 2, 'a': 2, 'b': 3}


def test_an_embedding_of_several_axes():
    with pytest.raises(fl.TagError, match="takes one axis as words, not h w\n.*'w=12', and an index counts"):
        nn.Embedding('h=3 w=4', 'embed=2')
