"""Layers: what holds tensors and computes with them."""
from .images import AvgPool2d, BatchNorm, Conv1d, Conv2d, ConvTranspose1d, MaxPool2d, Upsample
from .module import Module
from .norms import GroupNorm, LayerNorm, RMSNorm
