"""What a training loop says when it cannot go on."""
import math
from functools import wraps
from ..errors import CheckpointError, EmptySelection, FucinaError, InvalidShape, NonFiniteValue, OptionError, brief
from ..errors import did_you_mean, fault
from ..tensor import Tensor

__all__ = ['says', 'check_loss', 'check_some', 'check_watch', 'check_whole', 'check_standing', 'placed']


def says(fn):
    "A fault that no operation has named yet gets the name of this function; others keep theirs."
    @wraps(fn)
    def call(*args, **kw):
        try: return fn(*args, **kw)
        except FucinaError as e:
            if e.op is None: e.told(fn.__name__, {})
            raise
    return call


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
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
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
