"""Optimizers: what moves parameters by their gradients, and how fast; averages of weights."""
from .steps import SGD, Accumulation, Adam, AdamW, Optimizer, clip_grad_norm
from .schedules import Schedule, exponential, linear, steady, stepwise, warmup_cosine
from .more import EMA, Apollo, CompactAdamW, Muon, TensaiAdam, apollo_mini
from ..elsewhere import of_package as _of_package

_OWN = 'class Mine(optim.Optimizer): def update(self, w, g, memory, group, steps); chapter 31 writes Adagrad so'
_RATE = 'optim.Schedule(opt, optim.{}), and schedule.step() after opt.step()'.format
_ELSEWHERE = dict(
    dict.fromkeys('Adagrad RMSprop Adadelta LBFGS NAdam RAdam Adamax Lion Rprop'.split(), _OWN),
    clip_grad_norm_='clip_grad_norm(model, 1.)', clip_grad_value_='clip_grad_norm(model, 1.)',
    lr_scheduler=_RATE('warmup_cosine, total=1000, warmup=100'), StepLR=_RATE('stepwise, every=30, factor=.1'),
    CosineAnnealingLR=_RATE('warmup_cosine, total=1000'), ExponentialLR=_RATE('exponential, factor=.99'),
    LinearLR=_RATE('linear, total=1000'), LambdaLR='optim.Schedule(opt, lambda step: ...)',
    constant='steady', ConstantLR=_RATE('steady, warmup=100'),
    mini='apollo_mini', AveragedModel='EMA(model)', swa_utils='EMA(model)', Adam8bit='CompactAdamW',
    OneCycleLR=_RATE('warmup_cosine, total=1000, warmup=300'), Scheduler='optim.Schedule', LrSchedule='optim.Schedule')


def __getattr__(name): raise _of_package('fl.optim', name, globals(), _ELSEWHERE)
