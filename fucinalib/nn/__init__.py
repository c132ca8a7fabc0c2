"""Layers: what holds tensors and computes with them."""
from ..autograd import registry as _registry
from ..elsewhere import LAYER_NAMES as _LAYER_NAMES, of_package as _of_package
from . import init
from .attention import DecoderBlock, FeedForward, KVCache, MultiHeadAttention, TransformerBlock
from .foreign import from_torch, to_torch
from .images import (AvgPool2d, BatchNorm, Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d, MaxPool2d,
                     Upsample)
from .layers import (Apply, Dropout, ELU, Embedding, Flatten, Function, GELU, LeakyReLU, Linear, LogSoftmax,
                     QuickGELU, ReLU, Residual, Sequential, SiLU, Sigmoid, Softcap, Softmax, Softplus, Tanh, Unflatten)
from .module import Module, at_step, derived, layer_path, summary
from .norms import GroupNorm, LayerNorm, RMSNorm
from .rnn import GRU, GRUCell, LSTM, LSTMCell, RNN, RNNCell


def __getattr__(name):
    known = globals() | dict(init='a module that is used')
    raise _of_package('fl.nn', name, known, _LAYER_NAMES, _registry)
