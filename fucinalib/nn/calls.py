"""A layer that is called as torch has it is told its whole call here: with numbers in the place of axes, or by names
that things have there, each number comes back in its place."""
from collections import namedtuple
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING
from ..checks import is_whole
from ..errors import FucinaError, OptionError, TagError, brief, fault, named
from ..tags import unused

if TYPE_CHECKING:
    from typing import Any, Callable, TypeVar
    _F = TypeVar('_F', bound=Callable[..., Any])

__all__ = ['maker', 'whole_call']

# torch's parameters in torch's order; what stands where nothing was said; options that are handed on to parts
Call = namedtuple('Call', 'theirs usual passed', defaults=['bias dtype'])
SEEN = dict(inside='channel=3', outside='feature=16', kernel=3)
READ = dict(read='feature=10', hidden='hidden=20')
WINDOW = 'in_channels out_channels kernel_size stride padding'
CALLS = dict(
    dict.fromkeys('RNN LSTM GRU'.split(), Call('input_size hidden_size num_layers', READ | dict(over='seq')))
    | dict.fromkeys('RNNCell LSTMCell GRUCell'.split(), Call('input_size hidden_size bias', READ))
    | dict.fromkeys('Conv1d Conv2d'.split(), Call(f'{WINDOW} dilation groups bias', SEEN))
    | dict.fromkeys('ConvTranspose1d ConvTranspose2d'.split(), Call(f'{WINDOW} output_padding groups bias', SEEN))
    | dict.fromkeys('MaxPool2d AvgPool2d'.split(), Call('kernel_size stride padding', dict(kernel=2)))
    | dict.fromkeys('Softmax LogSoftmax'.split(), Call('dim', dict(tag='class')))
    | dict.fromkeys('TransformerBlock DecoderBlock'.split(), Call(
        'd_model nhead dim_feedforward dropout activation', dict(embed='embed=64', heads=4, hidden='ff=256'),
        'act norm dropout bias eps dtype mask over')),
    Linear=Call('in_features out_features bias', dict(inputs='feature=64', outputs='out=10')),
    Embedding=Call('num_embeddings embedding_dim padding_idx', dict(words='word=1000', outputs='embed=64')),
    BatchNorm=Call('num_features eps momentum affine', dict(channels='channel=8')),
    LayerNorm=Call('normalized_shape eps elementwise_affine bias', dict(axes='embed=64')),
    RMSNorm=Call('normalized_shape eps elementwise_affine', dict(axes='embed=64')),
    GroupNorm=Call('num_groups num_channels eps affine', dict(channels='channel=8', groups=2, over='h w')),
    MultiHeadAttention=Call('embed_dim num_heads dropout bias', dict(embed='embed=64', heads=4)),
    FeedForward=Call('d_model dim_feedforward', dict(embed='embed=64', hidden='ff=256')),
    Flatten=Call('start_dim end_dim', dict(axes='h w channel', out='pixel')),
    Unflatten=Call('dim unflattened_size', dict(axis='pixel', outputs='row=8 col=8')),
    Upsample=Call('size scale_factor mode', {}), ReLU=Call('inplace', {}), ELU=Call('alpha inplace', {}),
    LeakyReLU=Call('negative_slope inplace', {}), Dropout=Call('p inplace', {}))

# what torch, Keras or JAX call a parameter -> ours, the first of them that the layer has
NAMES = dict(
    in_features='inputs', out_features='outputs', units='outputs', num_embeddings='words', embedding_dim='outputs',
    in_channels='inside', out_channels='outside', filters='outside', kernel_size='kernel', pool_size='kernel',
    strides='stride', output_padding='output_pad', num_features='channels', num_channels='channels',
    num_groups='groups', normalized_shape='axes', elementwise_affine='weight', affine='weight', epsilon='eps',
    embed_dim='embed', num_heads='heads', d_model='embed', nhead='heads', dim_feedforward='hidden', activation='act',
    layer_norm_eps='eps', input_size='read', hidden_size='hidden', num_layers='layers', scale_factor='times',
    dim='tag axis', axis='tag', unflattened_size='outputs', rate='p', use_bias='bias', alpha='slope negative_slope')

# options that say nothing here, whatever their value; and values that say what is so anyway
MOOT = {'inplace', 'device', 'batch_first', 'start_dim', 'end_dim'}
USUAL = dict(dilation=1, groups=1, padding_idx=None, padding_mode='zeros', track_running_stats=True, dropout=0.,
             bidirectional=False, mode='nearest', size=None, ceil_mode=False, count_include_pad=False, affine=True)


def maker(make: '_F') -> '_F':
    "Decorator of what makes a layer: as `named`, and a call that torch would take is told as a whole."
    owner = make.__qualname__.split('.')[-2]
    told = named(make)
    @wraps(make)
    def call(self, *args, **kw):
        names = [c.__name__ for c in type(self).__mro__] if type(self).__init__ is call else [owner]
        row = next((CALLS[n] for n in names if n in CALLS), None)
        try: return told(self, *args, **kw)
        except FucinaError as e: error = e.told(names[0], {})
        raise in_our_words(error, row, _taken(type(self), make), args, kw) if row else error
    return call


def _taken(kind, make):
    "The parameters of a call of a layer by name: of an operation as a layer those behind its tensor."
    fn = vars(kind).get('fn')
    return dict([*signature(fn.__func__ if fn else make).parameters.items()][1:])


def in_our_words(error, row, ours, args, kw):
    "The error, or of a call that could only be torch's another one, with the call that was meant."
    kind = error.op
    said, odd, foreign = whole_call(row, ours, args, kw)
    call = f'{kind}({said}'
    if foreign: return fault(OptionError, f'there is no option {foreign[0]!r}', help=call).told(kind, {})
    if odd is not None:
        size = ' and a size' * ('=' in odd[1])
        return fault(TagError, f'{brief(odd[0])} is no axis, which has a name{size}', help=call).told(kind, {})
    if isinstance(kw.get('padding'), str): error.help = call
    if 'missing a required' in error.head: error.help = f'{call}; {error.help}'
    if 'too many positional' in error.head: error.help = call
    return error


def whole_call(row,   # what is known of this kind of layer
               ours,  # its parameters
               args, kw,
              ):
    """(the call in our words from its first argument on; the first number in the place of an axis, and
    what usually stands there; names that are not ours, if all that was given by place is right)."""
    names = [n for n, p in ours.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    odd = next(_numbers_for_axes(row, dict(zip(names, args))), None)
    order = row.theirs.split() if odd or len(args) > len(names) else names
    passed = row.passed.split() if any(p.kind is p.VAR_KEYWORD for p in ours.values()) else []
    given, lost = _renamed(dict(zip(order, args)) | kw, {*ours, *passed})
    rest = f'; {" and ".join(lost)} {"has" if len(lost) == 1 else "have"} no place here' if lost else ''
    foreign = [] if odd else [n for n in kw if n not in ours and (n in NAMES or n in MOOT or n in lost)]
    odd = odd or next(_numbers_for_axes(row, given), None)
    return f'{_written(row.usual, given, ours)}){rest}', odd, foreign


def _numbers_for_axes(row, given):
    "(value, what usually stands there) where a number, or a list of them, is in the place of an axis."
    for name, usual in row.usual.items():
        v = given.get(name)
        several = isinstance(v, (tuple, list)) and v and all(map(is_whole, v))
        if isinstance(usual, str) and (is_whole(v) or several): yield v, usual


def _renamed(given, ours):
    "Parameter of ours -> value; and names of those that have no place here."
    found, lost = {}, []
    for name, v in given.items():
        own = next((n for n in NAMES.get(name, name).split() if n in ours), name)
        if name in MOOT or name not in ours and name in USUAL and USUAL[name] == v: continue
        if name == 'affine' and 'bias' in ours: found['bias'] = v
        if own in ours: found[own] = v
        else: lost.append(name)
    if isinstance(found.get('padding'), str): found['padding'] = _padding(found)
    return found, lost


def _padding(found):
    "Zeros on each side for a word: 'same' keeps the size of a window of odd size, 'valid' adds none."
    taps = found.get('kernel', 1)
    if found['padding'] != 'same': return 0
    return tuple([n // 2 for n in taps]) if isinstance(taps, (tuple, list)) else taps // 2 if is_whole(taps) else 1


def _written(usual, given, ours):
    "The arguments of a call: what the layer needs by position, the rest by name."
    said, taken = [], {w.split('=')[0] for v in given.values() if isinstance(v, str) for w in v.split()}
    for i, name in enumerate([*ours, *given.keys() - ours.keys()]):
        p = ours.get(name, Parameter(name, Parameter.KEYWORD_ONLY, default=None))
        if name not in given and name not in usual: continue
        value = _axis(given.get(name), usual[name], taken) if name in usual else given[name]
        if p.default is p.empty: said.append(_shown(name, value))
        elif name in usual or i == 0 or not _same(value, p.default): said.append(f'{name}={_shown(name, value)}')
    return ', '.join(said)


def _axis(value, usual, taken):
    "What stands in the place of an axis: with its name, a number as its size."
    if value is None: return usual
    if isinstance(value, str) and '=' in f'{usual}' and '=' not in value: return f'{value}={usual.split("=")[1]}'
    if not isinstance(usual, str) or isinstance(value, (str, dict)): return value
    if '=' not in usual: return usual
    sizes = [*value] if isinstance(value, (tuple, list)) else [value]
    words = [w.split('=')[0] for w in usual.split()]
    if len(words) < len(sizes): words = {2: ['h', 'w'], 3: ['channel', 'h', 'w']}.get(len(sizes)) or 'abcdefgh'
    words = [unused(w, taken) for w, _ in zip(words, sizes)]
    taken.update(words)
    return ' '.join(f'{w}={n}' for w, n in zip(words, sizes))


def _same(value, default): return value is default or type(value) is type(default) and value == default


def _shown(name, value):
    "A value as a call has it; a number type by its name, whichever library it is of."
    word = getattr(value, '__name__', None)
    return repr((word or str(value)).split('.')[-1]) if name == 'dtype' else word or repr(value)
