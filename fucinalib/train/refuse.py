"""What a training loop says when it cannot go on."""
import math, os
from functools import wraps
from ..checks import is_number, is_whole
from ..errors import (BackwardAlreadyRun, CheckpointError, EmptySelection, FucinaError, InvalidShape, NonFiniteValue,
                      OptionError, brief, did_you_mean, fault)
from ..tensor import Tensor

__all__ = ['says', 'check_trained', 'check_choices', 'check_source', 'at_fault', 'check_loss', 'check_some',
           'check_watch', 'check_whole', 'check_standing', 'placed', 'check_order', 'check_saved']


def says(fn):
    "A fault that no operation has named yet gets the name of this function; others keep theirs."
    @wraps(fn)
    def call(*args, **kw):
        try: return fn(*args, **kw)
        except FucinaError as e:
            if e.op is None: e.told(fn.__name__, {})
            raise
    return call


def check_trained(model, optimizer, step):
    "The error if a Learner is given other things than a model, an optimizer and a step, in this order."
    if isinstance(optimizer, type):
        name = optimizer.__name__
        raise fault(OptionError, f'{name} is a kind of optimizer, no optimizer',
                    help=f'fl.optim.{name}(model, lr=1e-3)')
    if not all(hasattr(optimizer, n) for n in ('step', 'zero_grad', 'named_parameters')):
        raise fault(OptionError, f'{brief(optimizer)} is no optimizer', help='Learner(model, optimizer, step)')
    if not hasattr(model, 'state_dict') or hasattr(model, 'zero_grad') and not hasattr(model, 'named_parameters'):
        raise fault(OptionError, f'{brief(model)} is no model', help='Learner(model, optimizer, step)')
    if not callable(step) or hasattr(step, 'named_parameters'):
        raise fault(OptionError, f'{brief(step)} is no step',
                    help="def step(x, y): return model(x).cross_entropy('class', y)")


def check_choices(accumulate, clip, seed, schedule, ema, callbacks):
    "The error for an option of a Learner that cannot be."
    check_whole('accumulate', accumulate, 1)
    check_whole('seed', seed, 0)
    if clip is not None and not (is_number(clip) and clip > 0):
        raise fault(OptionError, f'clip is {brief(clip)}', help='a length above 0: clip=1.0')
    if schedule is not None and not callable(schedule) and not hasattr(schedule, 'step'):
        raise fault(OptionError, f'schedule is {brief(schedule)}',
                    help='schedule=lambda step: min(1, (step + 1) / 100)')
    if ema is not None and not hasattr(ema, 'update'):
        raise fault(OptionError, f'ema is {brief(ema)}', help='ema=fl.optim.EMA(model, decay=.999)')
    if not isinstance(callbacks, (list, tuple)):
        raise fault(OptionError, f'callbacks is {brief(callbacks)}, no list', help='callbacks=[...]')
    for c in callbacks:
        if isinstance(c, type):
            raise fault(OptionError, f'{c.__name__} is a kind of callback, no callback', help=f'{c.__name__}(...)')


def check_source(batches, epochs=1):
    "The error for what are no batches."
    told = "fit([(x, y)], 10); in pieces: fit(fl.data.Dataset(x, y).batches('row', 32, seed=0), 10)"
    if isinstance(batches, Tensor) or isinstance(batches, tuple) and any(isinstance(b, Tensor) for b in batches):
        raise fault(OptionError, 'takes batches, not one', help=told)
    if hasattr(batches, 'batches') and not hasattr(batches, 'of_epoch'):
        raise fault(OptionError, 'takes batches, not a data set', help="data.batches('row', 32, seed=0)")
    if not callable(batches) and not hasattr(batches, '__iter__') and not hasattr(batches, 'of_epoch'):
        raise fault(OptionError, f'takes batches, not {brief(batches)}', help=told)
    check_whole('epochs', epochs, 1)


def at_fault(error, batch):
    "What a step did wrong, where Python's words or the engine's do not say it."
    if isinstance(error, BackwardAlreadyRun):
        return fault(BackwardAlreadyRun, 'the step went backward itself', help='return the loss; fit does all the rest')
    if isinstance(error, TypeError) and not isinstance(error, FucinaError) and _is_of_call(error):
        n = len(batch) if isinstance(batch, (tuple, list, dict)) else 1
        names = ', '.join(batch) if isinstance(batch, dict) else ', '.join('xyzuvw'[:n])
        return fault(OptionError, f'the step does not take what a batch has: {error}', help=f'def step({names}): ...')
    return error


def _is_of_call(error):
    "Whether a TypeError arose where the step is called, not within it."
    tb = error.__traceback__
    while tb.tb_next is not None: tb = tb.tb_next
    return tb.tb_frame.f_code.co_name == 'call_step'


def check_loss(loss, epoch, batch, step):
    "The error if a loss is not one finite number."
    if not isinstance(loss, Tensor):
        raise fault(OptionError, f'the step gave {brief(loss)} for a loss, not a tensor',
                    help='return the loss, or dict(loss=loss, accuracy=...)')
    if loss.data.size != 1: raise fault(InvalidShape, 'the loss is not one number', loss=loss, help='loss.mean()')
    value = loss.item()
    if not math.isfinite(value):
        raise fault(NonFiniteValue, f'the loss is {value} in epoch {epoch + 1}, batch {batch + 1} (step {step + 1}); '
                    'nothing was changed by it', help='a smaller lr=, clip=1.0, or look at that batch')


def check_some(epoch, source):
    "The error for an epoch without a batch."
    if epoch and iter(source) is source:
        raise fault(EmptySelection, f'epoch {epoch + 1} has no batch left: a generator runs once',
                    help='lambda epoch: ... that makes the batches of an epoch, or data.batches(...)')
    raise fault(EmptySelection, 'there is no batch: no data, or fewer rows than a batch has',
                help='len(data), and a batch size below it')


def check_watch(name, row):
    "The error if a figure that is watched is none of those that there are."
    if name not in row:
        more = '; fit(valid=...) measures what begins with valid' if name.startswith('valid ') else ''
        raise fault(OptionError, f'there is no {name!r} to watch', help=did_you_mean(name, row) + more)


def check_whole(name, value, least):
    "OptionError unless `value` is a whole number of Python or NumPy, from `least` on."
    if not is_whole(value) or value < least:
        raise fault(OptionError, f'{name} is {brief(value)}', help=f'a whole number from {least} on')


def check_standing(state, gradients, callbacks, like):
    "The error if a state is not one of such a Learner."
    missing = [n for n in like if '.' not in n and n not in state]
    if missing:
        raise fault(CheckpointError, f'is no state of a Learner: it has no {missing[0]!r}', help='learner.state_dict()')
    for name, p in gradients.items():
        if (g := state.get(f'grad.{name}')) is not None and g.shape != p.shape:
            raise fault(CheckpointError, f'has a gradient of shape {g.shape} for {name}', p=p,
                        help='build the model as it was when it was saved')
    foreign = [n for n in state if n.startswith('grad.') and n[5:] not in gradients]
    if foreign: raise fault(CheckpointError, f'has a gradient of {foreign[0][5:]!r}, which does not learn here',
                            help=did_you_mean(foreign[0][5:], gradients))
    if state['callbacks'] != callbacks:
        raise fault(CheckpointError, f'belongs to other callbacks: {" ".join(state["callbacks"]) or "none"}',
                    help=f'those here are {" ".join(callbacks) or "none"}; give the same, in the same order')


def placed(error, epoch, batch):
    "An error of ours that also says in which batch it came up."
    if isinstance(error, FucinaError) and 'epoch' not in error.head:
        where = f'{error.where}, epoch {epoch + 1}, batch {batch + 1}'.removeprefix(', ')
        error.__init__(error.head, error.help, error.operands, error.op, where)
    return error


# ---- files
def _is_path(v): return isinstance(v, (str, os.PathLike))


def check_order(path, weights):
    "The error where the weights stand before their path: the call the other way round."
    if _is_path(path) or not _is_path(weights): return
    name = 'model' if hasattr(path, 'load_state_dict') else 'weights'
    raise fault(CheckpointError, f'{brief(path, 20)} is no path, which comes first',
                help=f'{{op}}({str(weights)!r}, {name})')


def check_saved(path, state, more, parts):
    "The error for parts without a name, a path that is not the first, and numbers in the place of parts."
    given = [v for v in (path, state, *more) if v is not None]
    unnamed = [v for v in given if hasattr(v, 'state_dict')]
    numbers = {n: v for n, v in parts.items() if not hasattr(v, 'state_dict') and not hasattr(v, 'items')}
    if _is_path(path) and not unnamed and not more and not numbers: return
    if not unnamed and isinstance(path, dict): parts, numbers = _apart(path)      # as torch.save has it
    beside = (dict(state) if isinstance(state, dict) else {}) | numbers
    where = next((str(v) for v in given if _is_path(v)), 'run')
    words = [repr(where), *[f'dict({", ".join(f"{n}={v!r}" for n, v in beside.items())})'] * bool(beside)]
    names = dict.fromkeys([n for n in parts if n not in numbers] + [*map(_role, unnamed)]) or ['model']
    help = f'{{op}}({", ".join([*words, *(f"{n}={n}" for n in names)])})'
    head = 'a part has a name' if not numbers else f'{next(iter(numbers))} has no state, it is a number'
    if not _is_path(path): head = f'{brief(path, 20)} is no path, which comes first'
    raise fault(CheckpointError, head, help=help)


def _role(part): return 'optimizer' if hasattr(part, 'step') else 'model'


def _apart(state):
    "Of a dict of everything: the parts, and the plain numbers beside them."
    parts = {n: v for n, v in state.items() if hasattr(v, 'items') or hasattr(v, 'state_dict')}
    return parts, {n: v for n, v in state.items() if n not in parts}
