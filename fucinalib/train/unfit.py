"""What a model that trains itself says when it is put together or asked in a way that cannot work."""
from ..arguments import say_argmax, say_sizes
from ..checks import is_whole
from ..errors import CheckpointError, FucinaError, OptionError, ShapeMismatch, TagError, brief, did_you_mean, fault

__all__ = ['check_made', 'no_axis', 'no_word', 'no_picture', 'in_layer', 'no_class_axis', 'other_sizes', 'other_rows',
           'compiled', 'check_compile', 'check_kinds', 'not_read']


def check_made(kind, makes):
    "The error if the axis that a layer makes has no name."
    if isinstance(makes, str) and '=' in makes: return
    number = makes if is_whole(makes) else 64
    raise fault(OptionError, f'{kind} makes an axis with a name, not {brief(makes)}', help=f"{kind}('hidden={number}')")


def no_word(given, known):
    "The error for a word that stands for no layer."
    return fault(OptionError, f'there is no layer {brief(given)}', help=did_you_mean(given, known, 'words for layers'))


def no_axis(kind):
    "The error for a layer that gets a single number."
    return fault(TagError, f'{kind} takes the last axis of what comes in, and there is none',
                 help="compile('feature=4', ...) says what a sample is")


def no_picture(kind, sizes):
    "The error for a layer of pictures that gets none."
    there = say_sizes(sizes) or 'a single number'
    return fault(ShapeMismatch, f'{kind} takes pictures, three axes as h w channel, and gets {there}',
                 help="it stands before 'flatten' and Dense; compile says h=28 w=28 channel=1")


def in_layer(error, i, plan):
    "An error that also says in which layer of the chain it came up."
    name = getattr(plan, 'kind', '') or getattr(plan, '__name__', '') or type(plan).__name__
    if isinstance(error, FucinaError):
        error.__init__(error.head, error.help, error.operands, error.op, f'layer {i} ({name})')
    return error


def no_class_axis(scores, labels):
    "The error for labels that do not lack one axis of the scores."
    help = 'labels have every axis of the scores but that one'
    if labels.tags == scores.tags: help += f'; {say_argmax("labels", scores.tags[-1])}'
    return fault(TagError, 'which axis of the scores holds the classes?', scores=scores, labels=labels, help=help)


def other_sizes(what, shape, axes):
    "The error for arrays that are not rows of what compile was told."
    want = say_sizes(axes) or 'a number'
    help = f'{what} has the shape (rows{"".join(f", {n}" for n in axes.values())}), or is such a tensor'
    if what == 'y' and len(shape) == len(axes) + 2: help += f'; np.argmax({what}, -1) are the labels of one-hot rows'
    return fault(ShapeMismatch, f'{what} of shape {shape} are no rows of {want}', help=help)


def other_rows(x, y):
    "The error for inputs and targets that are not as many."
    return fault(ShapeMismatch, 'inputs and targets have different numbers of rows', x=x, y=y,
                 help='row i of y is what row i of x should give')


def compiled(model):
    "The chain of a model that is compiled."
    if model.chain is not None: return model.chain
    raise fault(OptionError, 'the model is not compiled', help="model.compile('feature=4', loss='cross_entropy')")


def check_compile(plans, loss, losses, optimizer, optimizers):
    "The error if something is missing that a model is compiled with."
    if not plans: raise fault(OptionError, 'there is no layer', help="model.add(Dense('class=3')) first")
    for what, given, usual, known in (('loss', loss, 'cross_entropy', losses),
                                      ('optimizer', optimizer, 'adam', optimizers)):
        if given is None:
            raise fault(OptionError, f'there is no {what}', help=f"{what}={usual!r}; there is: {' '.join(known)}")
    for given, known, what in ((loss, losses, 'loss'), (optimizer, optimizers, 'optimizer')):
        if callable(given) or isinstance(given, str) and given in known: continue
        raise fault(OptionError, f'there is no {what} {brief(given)}', help=did_you_mean(given, known))


def check_kinds(path, saved, here):
    "The error if a file holds the weights of other layers."
    for i, (a, b) in enumerate(zip(saved, here)):
        if a != b: raise fault(CheckpointError, f'{str(path)!r}: layer {i} is {a} there and {b} here', help=TWIN)
    if len(saved) != len(here):
        raise fault(CheckpointError, f'{str(path)!r} has {len(saved)} layers, this model {len(here)}', help=TWIN)

TWIN = 'add and compile the layers it was saved with, then load'


def not_read(path, why):
    "The error for a file that holds no model."
    return fault(CheckpointError, f'{str(path)!r} is no saved model: {why}',
                 help='model.save(path) writes one, fl.train.save_params(path, model) a list')
