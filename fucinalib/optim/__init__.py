"""Optimizers: what moves parameters by their gradients."""
from .steps import SGD, Accumulation, Adam, AdamW, Optimizer, clip_grad_norm
from ..elsewhere import of_package as _of_package

_OWN = 'class Mine(optim.Optimizer): def update(self, w, g, memory, group, steps); chapter 31 writes Adagrad so'
_ELSEWHERE = dict(
    dict.fromkeys('Adagrad RMSprop Adadelta LBFGS NAdam RAdam Adamax Lion Rprop'.split(), _OWN),
    clip_grad_norm_='clip_grad_norm(model, 1.)', clip_grad_value_='clip_grad_norm(model, 1.)')


def __getattr__(name): raise _of_package('fl.optim', name, globals(), _ELSEWHERE)
