"""What other libraries call things, and where it is here: for whoever types a name that torch, NumPy, JAX or Keras has.

A name that is in no table gets the nearest spelling there is, if it is near enough to be meant.
"""
from difflib import get_close_matches
from .errors import UnknownName, fault

__all__ = ['METHODS', 'FUNCTIONS', 'OPTIONS', 'REFLECTED', 'LOOKS', 'ALONG',
           'of_tensor', 'no_method', 'not_numpys', 'of_module', 'nearest']

# a method or attribute of a tensor -> ours
METHODS = dict(
    # shape
    unsqueeze='insert_axis', expand_dims='insert_axis', expand='broadcast_to', view='reshape',
    transpose='permute', swapaxes='permute',
    permute_dims='permute', movedim='permute', moveaxis='permute', swapdims='permute',
    unflatten='split', chunk='split then unbind',
    tile='repeat', as_strided='view_with_strides', dim='ndim', nelement='numel',
    clone='materialize', copy='materialize',
    cat='fl.concat([x, ...], tag)', concatenate='fl.concat([x, ...], tag)',
    concat='fl.concat([x, ...], tag)',
    stack='fl.stack([x, ...], tag)', gather='take_along_axis or index_select', take='index_select',
    one_hot="fl.one_hot(x, depth, 'class')",
    # values
    clip='clamp', amax='max', amin='min', absolute='abs', negative='neg', power='pow',
    multiply='mul', divide='div', subtract='sub',
    true_divide='div', swish='silu', hardtanh='clamp', logsigmoid='sigmoid then log', mm='dot',
    bmm='dot', logical_and='&',
    logical_or='|', logical_not='~', less='lt', greater='gt', equal='eq', not_equal='ne',
    less_equal='le', greater_equal='ge',
    # number types, memory, gradients
    astype='to', type='to', float="to('f32')", double="to('f64')", half="to('f16')",
    bfloat16="to('bf16')", long="to('i64')",
    int="to('i32')", cpu='numpy', sub_='add_(other, alpha=-1)', div_='mul_(1 / s)',
    fill_='fl.full', zero_='fl.zeros',
    requires_grad_='param(x), or x.requires_grad = True',
    retain_grad='x.graph(), which shows every gradient')

CPU = 'everything is computed on the CPU; leave it out'
SENTENCES = dict.fromkeys('cuda device is_cuda mps pin_memory'.split(), CPU)

LAYERS = ('layers are functions of tensors here; the tour builds a classifier and trains it in ten '
          'lines: fl.param, x.dot, x.relu')
STEPS = 'an optimizer is a line here: w.detach().add_(w.grad, alpha=-lr); the tour has it with momentum'
BATCHES = "a batch is x.index_select('row', rows) or x.narrow('row', start, length)"
FILES = ("np.savez('w.npz', w=w.numpy()) writes, fl.param(np.load('w.npz')['w'], tags) reads; "
         "pickle keeps tags and gradient")

# a function or module of a library -> what to write here
FUNCTIONS = dict(
    dict.fromkeys(
        'nn Module Linear Sequential layers Dense Model keras flax Embedding Conv2d LayerNorm'.split(),
        LAYERS) | dict.fromkeys('optim optimizers SGD Adam AdamW optax'.split(), STEPS)
    | dict.fromkeys('DataLoader Dataset data utils'.split(), BATCHES)
    | dict.fromkeys('save load'.split(), FILES) | dict.fromkeys('cuda device mps'.split(), CPU),
    array="fl.Tensor(values, 'row col')",
    asarray="fl.Tensor(values, 'row col')",
    from_numpy="fl.Tensor(array, 'row col') shares its memory",
    as_tensor="fl.Tensor(values, 'row col')",
    Parameter='fl.param(values, tags)',
    Variable='fl.param(values, tags)',
    set_seed='fl.manual_seed(seed)',
    seed='fl.manual_seed(seed)',
    random='fl.rand, fl.randn, fl.randint; fl.manual_seed(seed)',
    cat="fl.concat([a, b], 'row')",
    concatenate="fl.concat([a, b], 'row')",
    vstack="fl.concat([a, b], 'row')",
    hstack="fl.concat([a, b], 'col')",
    functional='every function is there as fl.name and as x.name',
    F='every function is there as fl.name and as x.name',
    float32="'f32'", float64="'f64'", float16="'f16'", bfloat16="'bf16'", int64="'i64'",
    int32="'i32'", bool="'bool'",
    grad='loss.backward(), then w.grad',
    value_and_grad='loss.backward(), then w.grad',
    jit='nothing is traced: operations run as they are called',
    vmap='name the extra axis: what an operation does not name passes through',
    accuracy="(x.argmax('class') == labels).to('f32').mean()",
    inference_mode='fl.no_grad', tensor="fl.Tensor([1., 2.], 'col')")

REDUCED = 'a reduced axis goes away; pointwise operations meet by name and need no size-1 axis'
FRESH = 'operations return a new tensor'

# an option of an operation -> what to say
OPTIONS = dict(dim='axes are chosen by tag: x.{op}({tag!r})',
               axis='axes are chosen by tag: x.{op}({tag!r})', keepdim=REDUCED, keepdims=REDUCED,
               inplace=FRESH, out=FRESH)

# an operation of NumPy -> what the tensor on the right of `array + tensor` is asked for
REFLECTED = dict(add='__radd__', subtract='__rsub__', multiply='__rmul__', divide='__rtruediv__', power='__rpow__',
                 matmul='__rmatmul__', less='__gt__', less_equal='__ge__', greater='__lt__', greater_equal='__le__',
                 equal='__eq__', not_equal='__ne__')

# functions of NumPy that only look at a tensor, or write it to a file; the last three are matplotlib's way to look
LOOKS = frozenset('''shape ndim size shares_memory may_share_memory array_equal array_equiv allclose
                     result_type can_cast iscomplexobj isrealobj save savez savez_compressed savetxt
                     array_repr array_str array2string
                     broadcast_arrays atleast_1d atleast_2d'''.split())

# functions of NumPy that go along one axis
ALONG = frozenset('sum mean max min amax amin prod std var all any argmax argmin cumsum cumprod sort argsort'.split())


def nearest(name, known):
    "The name that was probably meant, or None where nothing is near enough."
    return next(iter(get_close_matches(str(name), list(known), n=1, cutoff=.75)), None)


def of_tensor(name, known):
    "What to say about a method that tensors have not."
    if name in SENTENCES: return SENTENCES[name]
    near = METHODS.get(name) or nearest(name, known)
    return f'did you mean {near}?' if near else 'fl.op_table() lists the operations'


def no_method(x, name, known):
    "The error for an attribute that the tensor `x` has not."
    return fault(UnknownName, f'a tensor has no {name!r}', x=x, help=of_tensor(name, known))


def not_numpys(x, function, args):
    "The error for a function of NumPy that is given the tensor `x`; `args` is what ours is called with."
    name = function.__name__
    ours = name if hasattr(type(x), name) else METHODS.get(name)
    if ours is None: help = f'np.{name}(x.numpy()) gives an array'
    else: help = ours if ours.startswith('fl.') else f'x.{ours}({args})'
    return fault(UnknownName, f'np.{name} takes arrays', x=x, help=help)


def of_module(name, known):
    "What to say about a function that the library has not."
    if name in FUNCTIONS: return FUNCTIONS[name]
    near = nearest(name, known)
    return f'did you mean {near!r}?' if near else 'fl.op_table() lists the operations'
