"""What an optimizer checks of what it is given: parameters, options, gradients, a state. Chapter 31 tells why."""
import warnings
import numpy as np
from ..checks import flag, number, whole
from ..errors import (GradError, NoGradientGraph, NonFiniteValue, OptionError, ShapeMismatch, UnknownName, brief,
                      did_you_mean, fault)
from ..tensor import Tensor

__all__ = ['Group', 'option', 'within', 'check_options', 'check_schedule',
           'check_leaf', 'check_apart', 'check_gradients',
           'refuse_norm', 'check_entries', 'changed_since', 'no_update', 'no_such']


# ---- options
NEEDS = {n: need for need in (number('dampening betas', least=0, below=1), whole('rows seed', 0, kind=OptionError),
                              whole('iterations rank gap', 1, kind=OptionError)) for n in need.names}
KINDS = dict(learning_rate='it is called lr', maximize='take the loss times -1', betas='momentum', momentum='betas',
             amsgrad='there is no such correction', **dict.fromkeys('foreach fused capturable'.split(),
                                                                    'one kernel moves all'))


class Group(dict):
    "Options of some parameters: `group['lr'] = 1e-4`. Names and values that do not exist are refused."
    def __setitem__(self, name, value):
        check_options([name], self)
        super().__setitem__(name, option(name, value, self[name]))

    def update(self, **given):
        for name, value in given.items(): self[name] = value


def check_options(names, known):
    "OptionError for the first name that is no option."
    for name in names:
        if name in known: continue
        said = [KINDS.get(name), did_you_mean(name, known)]
        raise fault(OptionError, f'has no option {brief(name)}', help='; '.join(filter(None, said)))


def option(name,   # of the option
           value,  # given
           like,   # its default, which says what kind it is
          ):
    "The value of an option as a plain number, pair, word or switch, as its default is. OptionError."
    if isinstance(like, tuple): return _read_pair(name, value, like)
    if isinstance(value, Tensor) and value.numel == 1: value = value.item()
    if value is like is None: return None
    if isinstance(like, str):
        if isinstance(value, str): return value
        raise fault(OptionError, f'{name} is {brief(value)}', help=f'a word, as {name}={like!r}')
    usual = number(name, least=0, hint=f'as {name}={like!r}' if like else None)
    need = flag(name) if isinstance(like, bool) else NEEDS.get(name, usual)
    need.say(name, {name: value})
    return value if type(value) is int else {flag: bool, whole: int}.get(type(need), float)(value)


def _read_pair(name, value, like):
    if isinstance(value, (tuple, list)) and len(value) == len(like):
        return tuple(option(name, v, l) for v, l in zip(value, like))
    raise fault(OptionError, f'{name} is {brief(value)}', help=f'{len(like)} numbers, as {name}={like!r}')


def within(name, value, low, high=None):
    "A number from `low` to `high`, or an OptionError."
    number(name, least=low, most=high).say(name, {name: value})
    return value


def check_schedule(opt, curve):
    "OptionError for what has no groups, or is no function of the step."
    if not hasattr(opt, 'groups'):
        raise fault(OptionError, f'of {brief(opt)}, which is no optimizer',
                    help='Schedule(opt, warmup_cosine, total=100)')
    if not callable(curve):
        raise fault(OptionError, f'of {brief(curve)}, which is no function of the step',
                    help='optim.warmup_cosine, or lambda step: 1 / (1 + step)')


# ---- parameters
def no_list(params):
    "The error for what is neither a model nor a list of parameters."
    if isinstance(params, Tensor): return fault(OptionError, 'takes a list of parameters', params=params, help='[w]')
    return fault(OptionError, 'takes a model or a list of parameters', params=params,
                 help='model, or model.parameters() with its brackets')


def check_leaf(name, p):
    "The error for what no optimizer can move."
    if not isinstance(p, Tensor):
        raise fault(OptionError, f'of {brief(p)}, which is no tensor', help='model.parameters(), or a list of tensors')
    if p.node is None:
        raise fault(NoGradientGraph, f'of a constant, {name!r}', **{name: p},
                    help='fl.param(values, tags) makes a parameter; leave out what is not to learn')
    if p.node.op is not None:
        raise fault(GradError, f'of a result, {name!r}', **{name: p},
                    help='what moves is the parameters it was made of')
    if not p.data.flags.writeable:
        raise fault(GradError, f'of {name!r}, whose memory is read-only', **{name: p},
                    help='fl.param(array.copy(), tags)')


def check_apart(every):
    "The error for no parameter at all, or for one in two groups; `every` is (name, parameter)."
    if not every: raise fault(OptionError, 'of no parameters', help='model.parameters(); are all of them frozen?')
    seen = set()
    for name, p in every:
        if p.node in seen:
            raise fault(OptionError, f'of {name!r} in two groups', **{name: p}, help='put it into one of them')
        seen.add(p.node)


def changed_since(name, tensor):
    "The error for a parameter that is no longer as the optimizer met it."
    return fault(ShapeMismatch, f'{name} has other sizes or numbers than when the optimizer was made',
                 **{name: tensor}, help='make a new optimizer of the changed model')


def no_update(opt):
    "The error for a kind of optimizer that does not say how it moves."
    return fault(OptionError, f'{type(opt).__name__} has no update',
                 help='def update(self, w, g, memory, group, steps): ...')


WAYS = dict(param_groups='opt.groups, a list of dicts: opt.groups[0]["lr"] = 1e-4', defaults='opt.groups[0]',
            add_param_group='give all groups at once: AdamW([dict(params=...), dict(params=...)])',
            state='opt.state_dict()', apply_gradients='loss.backward(), then opt.step()',
            minimize='loss.backward(), then opt.step()', learning_rate='opt.lr',
            get_last_lr='opt.lr', load='opt.load_state_dict(state)', save='opt.state_dict()',
            set_lr='opt.lr = 1e-4', parameters='opt.named_parameters()')


def no_such(opt, name):
    "What Python asks for an attribute that is not there: UnknownName, with what was meant."
    if name.startswith('__'): raise AttributeError(name)
    known = [n for n in [*dir(type(opt)), *vars(opt)] if not n.startswith('_')]
    help = WAYS.get(name) or did_you_mean(name, [n for n in known if n != 'kept'])
    raise fault(UnknownName, f'{type(opt).__name__} has no {name!r}', help=help)


# ---- gradients
def check_gradients(slots, grads, door, moved=False):
    "NonFiniteValue if a value of a gradient is NaN or infinite; `moved` says that all else has moved."
    for s, g in zip(slots, grads):
        if not (bad := g.size - int(np.isfinite(g).sum())): continue
        said = f'{door}: {bad} of {g.size} values of the gradient of {s.name} are NaN or infinite'
        if moved: said += '; what is near them stayed, the rest has moved'
        raise fault(NonFiniteValue, said, **{s.name: s.tensor}, help="look at the loss first; optim.clip_grad_norm("
                    "model, 1, nonfinite='skip') leaves such a step out")


def refuse_norm(every,      # (name, parameter) and gradient of each
                nonfinite,  # 'refuse', or 'skip': forget them with a word
               ):
    "What happens to gradients whose norm is NaN or infinite."
    (name, p), _ = next(v for v in every if not np.isfinite(v[1]).all())
    if nonfinite == 'refuse':
        raise fault(NonFiniteValue, f'of gradients that are NaN or infinite, the first of {name}', **{name: p},
                    help="look at the loss first; nonfinite='skip' leaves such a step out")
    warnings.warn(f'clip_grad_norm: the gradient of {name} is NaN or infinite; all are forgotten, and the next step '
                  'moves nothing', RuntimeWarning, stacklevel=4)
    for (_, p), _ in every: p.zero_grad()


# ---- a state
AGAIN = 'load what state_dict() gave, of the same kind, with the same parameters, sizes and groups'


def check_entries(mine,   # name -> the array to fill, or a plain value of this optimizer
                state,  # what is to be loaded
               ):
    "The error if a state is of another optimizer, lacks an entry, has one besides, or one that does not fit."
    if (made := state.get('optimizer')) != (here := mine.get('optimizer')):
        raise fault(OptionError, f'of {brief(made)} into {here}', help=AGAIN)
    lost, more = [n for n in mine if n not in state], [n for n in state if n not in mine]
    if lost: raise fault(OptionError, f'of a state without {_first_of(lost)}', help=AGAIN)
    if more: raise fault(OptionError, f'of a state that also has {_first_of(more)}', help=AGAIN)
    for name, there in mine.items(): _check_entry(name, there, state[name])


def _first_of(names): return repr(names[0]) + f' and {len(names) - 1} more' * (len(names) > 1)


def _check_entry(name, mine, given):
    if isinstance(mine, np.ndarray):
        if np.shape(given) != mine.shape or getattr(given, 'dtype', None) != mine.dtype:
            raise fault(ShapeMismatch, f'of another {name!r}', here=mine, given=given, help=AGAIN)
    last, counts = name.split('.')[-1], isinstance(given, int) and given >= 0
    if last in ('steps', 'count') and not counts or last == 'group' and given != mine:
        raise fault(OptionError, f'of {name} = {brief(given)}, here {brief(mine)}', help=AGAIN)
