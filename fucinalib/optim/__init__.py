"""Optimizers: what moves parameters by their gradients, and how fast; averages of weights."""
from .steps import SGD, Accumulation, Adam, AdamW, Optimizer, clip_grad_norm
from .schedules import Schedule, exponential, linear, steady, stepwise, warmup_cosine
from .more import EMA, Apollo, CompactAdamW, Muon, TensaiAdam, apollo_mini
from ..elsewhere import HALVES as _HALVES, LOOPS as _LOOPS, SCHEDULES as _SCHEDULES, of_package as _of_package

_OWN = 'class Mine(optim.Optimizer): def update(self, w, g, memory, group, steps); chapter 31 writes Adagrad so'
_ELSEWHERE = _SCHEDULES | dict(
    dict.fromkeys('Adagrad RMSprop Adadelta LBFGS NAdam RAdam Adamax Lion Rprop'.split(), _OWN),
    clip_grad_norm_='clip_grad_norm(model, 1.)', clip_grad_value_='clip_grad_norm(model, 1.)',
    **dict.fromkeys('amp autocast GradScaler'.split(), _HALVES), **dict.fromkeys('Trainer fit'.split(), _LOOPS),
    constant='steady', mini='apollo_mini', AveragedModel='EMA(model)', swa_utils='EMA(model)', Adam8bit='CompactAdamW',
    LrSchedule='optim.Schedule')


def __getattr__(name): raise _of_package('fl.optim', name, globals(), _ELSEWHERE)
