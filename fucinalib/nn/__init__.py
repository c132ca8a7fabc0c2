"""Layers: what holds tensors and computes with them."""
from .module import Module
