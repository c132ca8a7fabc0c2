"""Optimizers: what moves parameters by their gradients."""
from .steps import SGD, Accumulation, Adam, AdamW, Optimizer, clip_grad_norm
