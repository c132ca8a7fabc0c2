"""What other libraries call things, and where it is here: for whoever types a name that torch, NumPy, JAX or Keras has.

A name that is in no table gets the nearest spelling there is, if it is near enough to be meant.
"""
import inspect
from difflib import get_close_matches
from functools import wraps
import numpy as np
from .absent import for_import
from .errors import DTypeError, InvalidShape, NoFirstAxis, OptionError, UnknownName, brief, fault
from .positions import axes_asked, example

__all__ = ['METHODS', 'FUNCTIONS', 'WAYS', 'OPTIONS', 'INTO', 'REFLECTED', 'LOOKS', 'ALONG', 'Count', 'LAYER_NAMES',
           'SCHEDULES', 'CPU', 'HALVES', 'ACCURACY', 'BATCHES', 'PARTS', 'LOADS', 'SAVES', 'LOOPS', 'STEPS',
           'of_tensor', 'of_layer', 'no_method', 'no_setting', 'no_walk', 'no_length', 'several_values',
           'taken_apart', 'given_along', 'not_numpys', 'of_module', 'of_package', 'nearest', 'answering']

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
    one_hot="fl.one_hot(x, 'class', depth)",
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
    int="to('i32')", sub_='add_(other, alpha=-1)', subtract_='add_(other, alpha=-1)', div_='mul_(1 / s)',
    addcmul_='add_(a * b, alpha=s)', addcdiv_='add_(a / b, alpha=s)', lerp_='mul_(1 - s).add_(other, alpha=s)',
    requires_grad_='param(x), or x.requires_grad = True',
    retain_grad='x.graph(), which shows every gradient')

CPU = 'everything is computed on the CPU; leave it out'
HALVES = ("model.to('bf16') keeps weights in 16 bits, and optimizers keep f32 copies of them; there is no autocast, "
          'leave it and its scaler out')
SENTENCES = dict.fromkeys('cpu cuda device is_cuda mps pin_memory is_available'.split(), CPU) | dict(
    zero_='p.zero_grad() clears the gradient of p; x.mul_(0) writes zeros into x',
    fill_='x.mul_(0).add_(value) writes one value; fl.full_like(x, value) is a new tensor',
    copy_='x.mul_(0).add_(other) writes into x; x.numpy()[:] = array where no graph is involved')

LAYERS = ('fl.nn has layers, each named by its axes: fl.nn.Linear(\'pixel=64\', \'hidden=32\'), fl.nn.Sequential(...); '
          'fl.nn.Module is the class of your own')
STEP = 'say w.detach().add_(w.grad, alpha=-lr)'
STEPS = 'opt = fl.optim.AdamW(model, lr=1e-3), or SGD, Adam; then loss.backward(), opt.step(), opt.zero_grad()'
CLIP = 'norm = fl.optim.clip_grad_norm(model, 1.) between backward and step'
RATES = ('schedule = fl.optim.Schedule(opt, fl.optim.warmup_cosine, total=1000), or stepwise, exponential, linear, '
         'steady, a function of the step; and schedule.step() after opt.step()')
LOOPS = ('fl.train.Learner(model, optimizer, step).fit(batches, epochs) trains; step is a function of a batch that '
         'gives the loss')
BATCHES = "data = fl.data.Dataset(x, y); then for x, y in data.batches('batch', 32, seed=0): ..."
PARTS = "data = fl.data.Dataset(x, y); train, test = data.split(.2, seed=0); data.shuffle(seed=0)"
DATA = 'fl.data.digits(), fl.data.iris(), and train, test = fl.data.mnist() or fl.data.fashion_mnist()'
NEAREST = 'fl.knn.Classifier(k=5).fit(x, y).predict(new)'
TORCHS = 'weights of torch: fl.nn.from_torch(model, arrays)'
LOADS = ("fl.train.load_weights('model.safetensors', model) reads weights into a model; "
         f"fl.train.restore_checkpoint('run', model=model, optimizer=opt) a whole training; {TORCHS}")
SAVES = ("fl.train.save_weights('model.safetensors', model) writes weights; "
         "fl.train.save_checkpoint('run', dict(epoch=1), model=model, optimizer=opt) a whole training")
EAGER = 'fl.record(step) replays a training step on fixed memory; everything else runs as it is called'
SLOPES = 'loss.backward(), then w.grad; gradients have no gradients'
SEEDS = 'seed= of each random operation, or fl.manual_seed(seed) once'
ACCURACY = ("(scores.argmax('class') == labels).to('f32').mean() of one batch; over many "
            'fl.train.Confusion(classes).add(predicted, labels).accuracy()')
MATRICES = 'decompositions are NumPy\'s and have no gradient: np.linalg.svd(x.numpy()) and so on'
VALUES = "fl.Tensor(values, 'row col')"
AXES = "x.split(tag, 'a b', sizes), x.permute('b a'), x.merge(tag, 'a b'): by name"

FREELY = 'every function is there as fl.name and as x.name: fl.relu(x), x.relu()'

# a schedule of torch, optax, Keras or transformers -> ours
_SCHEDULE = 'fl.optim.Schedule(opt, {}); and its step() after opt.step()'.format
SCHEDULES = {name: _SCHEDULE(how) for names, how in {
    'StepLR': 'fl.optim.stepwise, every=30, factor=.1',
    'MultiStepLR': 'lambda step: .1 ** sum(step >= m for m in (30, 80))',
    'CosineAnnealingLR CosineDecay cosine_decay_schedule': 'fl.optim.warmup_cosine, total=1000',
    'get_cosine_schedule_with_warmup warmup_cosine_decay_schedule OneCycleLR':
        'fl.optim.warmup_cosine, total=1000, warmup=100',
    'CosineAnnealingWarmRestarts': 'lambda step: fl.optim.warmup_cosine(step % 100, total=100)',
    'ExponentialLR MultiplicativeLR ExponentialDecay exponential_decay': 'fl.optim.exponential, factor=.99',
    'LinearLR': 'fl.optim.linear, total=1000',
    'get_linear_schedule_with_warmup': 'fl.optim.linear, total=1000, warmup=100',
    'ConstantLR get_constant_schedule get_constant_schedule_with_warmup': 'fl.optim.steady, warmup=100',
    'PolynomialLR PolynomialDecay': 'lambda step: max(0, 1 - step / 1000) ** 2',
    'CyclicLR': 'lambda step: abs(step % 100 - 50) / 50',
    'SequentialLR ChainedScheduler': 'lambda step: min(1, (step + 1) / 100) * .99 ** step',
    'LambdaLR': 'lambda step: 1 / (1 + step)'}.items() for name in names.split()} | dict(
    dict.fromkeys('lr_scheduler LRScheduler Scheduler schedules'.split(), RATES),
    ReduceLROnPlateau='opt.lr = opt.lr * .1 where the loss stops falling; a Learner calls a function after each epoch: '
                      'callbacks=[lambda learner: ...], which sees learner.history')

# a function or module of a library -> what to write here
FUNCTIONS = dict(
    dict.fromkeys('sequential layers Model keras flax'.split(), LAYERS)
    | {kind: f"y, state = fl.nn.{kind}('read=3', 'hidden=4', over='t')(x)" for kind in ('RNN', 'LSTM', 'GRU')}
    | dict.fromkeys('Transformer TransformerEncoderLayer'.split(), "fl.nn.TransformerBlock('embed=64', 4, 'ff=256')")
    | dict(MultiheadAttention="fl.nn.MultiHeadAttention('embed=64', heads=4)")
    | dict.fromkeys('Linear Dense'.split(), "fl.nn.Linear('pixel=64', 'hidden=32'): in-axes, then out-axes")
    | dict(Module='class MLP(fl.nn.Module): def forward(self, x): ...', Dropout='fl.nn.Dropout(0.1)',
           Sequential='fl.nn.Sequential(layer, fl.relu, layer); fl.train.Sequential has compile and fit',
           Embedding="fl.nn.Embedding('word=1000', 'embed=64')")
    | dict.fromkeys('optimizers SGD Adam AdamW Muon optax Adagrad RMSprop'.split(), STEPS)
    | dict.fromkeys('clip_grad_norm_ clip_grad_norm clip_by_global_norm'.split(), CLIP)
    | dict.fromkeys('amp autocast GradScaler'.split(), HALVES)
    | SCHEDULES | dict.fromkeys('Trainer fit callbacks Learner'.split(), LOOPS)
    | dict.fromkeys('EarlyStopping'.split(), 'fl.train.EarlyStop(patience=5), among the callbacks of a Learner')
    | dict.fromkeys('ModelCheckpoint'.split(), 'fl.train.Checkpoints(path), among the callbacks of a Learner')
    | dict.fromkeys('DataLoader Dataset TensorDataset utils'.split(), BATCHES)
    | dict.fromkeys('random_split train_test_split shuffle permutation'.split(), PARTS)
    | dict.fromkeys('KNeighborsClassifier NearestNeighbors KNN neighbors'.split(), NEAREST)
    | dict.fromkeys('datasets MNIST FashionMNIST digits iris mnist'.split(), DATA)
    | dict.fromkeys('load load_file load_model from_pretrained load_weights restore_checkpoint'.split(), LOADS)
    | dict.fromkeys('save savez save_file save_model save_weights save_checkpoint'.split(), SAVES)
    | dict(state_dict=f'model.state_dict() is name -> array; {SAVES}',
           load_state_dict=f'model.load_state_dict(state) takes name -> array; {LOADS}')
    | dict.fromkeys('LoRA LoraConfig peft get_peft_model'.split(), "fl.lora.add_lora(model, '*.q *.v')")
    | dict.fromkeys('CMAES evolution_strategies'.split(), 'fl.evolution.Evolution(model).step(reward)')
    | dict.fromkeys('from_torch to_torch load_torch'.split(), 'fl.nn.from_torch(model, arrays), fl.nn.to_torch(model)')
    | dict.fromkeys('jit compile script pmap TorchScript'.split(), EAGER)
    | dict.fromkeys('grad gradient value_and_grad GradientTape tape vjp jvp hessian jacobian jacrev'.split(), SLOPES)
    | dict.fromkeys('PRNGKey key default_rng Generator get_rng_state random_seed'.split(), SEEDS)
    | dict.fromkeys('linalg svd inv solve det eig eigh cholesky qr lstsq pinv fft'.split(), MATRICES)
    | dict.fromkeys('rearrange einops'.split(), AXES)
    | dict.fromkeys('array asarray as_tensor constant FloatTensor LongTensor IntTensor'.split(), VALUES) | SENTENCES,
    Conv1d="fl.nn.Conv1d('channel=8', 'feature=16', 3)", Conv2d="fl.nn.Conv2d('channel=3', 'feature=8', 3)",
    ConvTranspose1d="fl.nn.ConvTranspose1d('feature=16', 'channel=8', 3)",
    ConvTranspose2d="fl.nn.ConvTranspose2d('feature=16', 'channel=8', 3)", LayerNorm="fl.nn.LayerNorm('embed=64')",
    RMSNorm="fl.nn.RMSNorm('embed=64')", GroupNorm="fl.nn.GroupNorm('channel=8', 2, over='h w')",
    BatchNorm1d="fl.nn.BatchNorm('channel=8')", BatchNorm2d="fl.nn.BatchNorm('channel=8')",
    from_numpy="fl.Tensor(array, 'row col') shares its memory", is_tensor='isinstance(x, fl.Tensor)',
    Parameter='fl.param(values, tags)', Variable='fl.param(values, tags)', set_seed='fl.manual_seed(seed)',
    seed='fl.manual_seed(seed)',
    random='fl.rand, fl.randn, fl.randint; fl.manual_seed(seed)', random_normal='fl.randn',
    random_uniform='fl.uniform',
    categorical="x.multinomial(tag, out, n)", choice="x.multinomial(tag, out, n), or fl.randint",
    identity="fl.eye('row col', n)",
    cat="fl.concat([a, b], 'row')", concatenate="fl.concat([a, b], 'row')", vstack="fl.concat([a, b], 'row')",
    hstack="fl.concat([a, b], 'col')",
    functional=FREELY, F=FREELY,
    float32="'f32'", float64="'f64'", float16="'f16'", bfloat16="'bf16'", int64="'i64'", int32="'i32'",
    int8="'i8'", uint8="'u8'", bool="'bool'",
    float="'f32'", double="'f64'", half="'f16'", long="'i64'", int="'i64'", dtype="'f32', say; fl.f32 is the same",
    set_default_dtype="floats become f32; dtype='f64' says otherwise",
    set_printoptions='x.numpy() prints as NumPy does',
    vmap='name the extra axis: what an operation does not name passes through',
    accuracy=ACCURACY,
    inference_mode='fl.no_grad', set_grad_enabled='fl.no_grad() and fl.enable_grad()',
    no_gradient='fl.no_grad()', tensor="fl.Tensor([1., 2.], 'col')")

# what there is in a few words, as a function of another library or as a method
WAYS = dict(
    dict.fromkeys('outer kron meshgrid'.split(), 'x * y: axes of different names make a table')
    | dict.fromkeys('inner tensordot vdot'.split(), 'x.dot(y, tag)')
    | dict.fromkeys('ravel reshape_as'.split(), 'x.flatten(tag)')
    | dict.fromkeys('l1_loss mae'.split(), '(x - y).abs().mean()')
    | dict.fromkeys('smooth_l1_loss huber'.split(), 'x.huber_loss(y)')
    | dict.fromkeys('batch_norm instance_norm'.split(), 'x.standardize(tag)')
    | dict.fromkeys('isclose allclose'.split(), 'np.allclose(x, y)')
    | dict.fromkeys('scaled_dot_product_attention flash_attention'.split(), "q.attention(k, v)")
    | dict.fromkeys('equal array_equal'.split(), 'x == y, or np.array_equal(x, y)')
    | dict.fromkeys('median quantile percentile'.split(), 'x.sort(tag).values, and its entry there'),
    expm1='x.exp() - 1', exp2='(x * math.log(2)).exp()', log2='x.log() / math.log(2)',
    log10='x.log() / math.log(10)', tan='x.sin() / x.cos()',
    cbrt='x.pow(1 / 3)', trunc='x.sign() * x.abs().floor()', fmod='x.rem(y)', remainder='x.mod(y)',
    floor_divide='x // y', rint='x.round()',
    fabs='x.abs()', fmax='x.maximum(y)', fmin='x.minimum(y)', power='x ** y', float_power='x ** y',
    bitwise_and='x & y', bitwise_or='x | y', bitwise_xor='x ^ y', invert='~x',
    diff="x.narrow('t', 1, n - 1) - x.narrow('t', 0, n - 1)", count_nonzero='x.ne(0).sum()',
    argwhere='x.nonzero()', newaxis='x.insert_axis(tag)',
    binary_cross_entropy='x.bce_loss(y)', binary_cross_entropy_with_logits='x.bce_loss(y, from_logits=True)',
    embedding="table.index_select('word', ids)",
    stop_gradient='x.detach()', logcumsumexp='x.exp().cumsum(tag).log()', interpolate='x.upsample2x_nearest()',
    conv3d='x.conv2d(w), of two axes',
    reduce='x.sum(tag), x.mean(tag), x.max(tag)', fliplr="x.flip('col')", flipud="x.flip('row')",
    pad_sequence="x.pad('t', 0, n - x.size('t')), then fl.stack",
    to_categorical="fl.one_hot(labels, 'class', depth)", sum_to_size='x.sum(tag)',
    cdist='(x - y).square().sum(tag).sqrt()')

TABLE = 'fl.op_table() lists the operations'
REDUCED = 'a reduced axis goes away; pointwise operations meet by name and need no size-1 axis'
FRESH = 'operations return a new tensor'

# an operation that misses an argument -> the shorter way
MISSING = dict(one_hot="the names of the axes come before the depth: one_hot([2, 0], 'item class', 3)",
               matmul='x @ w sums over the axis both have; x.dot(w, tag) over the one you name')

# an option of an operation -> what to say
BY_TAG = '{where}axes are chosen by tag: {call}'
OPTIONS = dict(dim=BY_TAG, axis=BY_TAG, dims=BY_TAG, **dict.fromkeys('device non_blocking pin_memory'.split(), CPU),
               requires_grad='fl.param(x) makes of a tensor one that learns',
               unbiased='ddof=1 divides by n - 1, ddof=0 by n', correction='ddof, the same number',
               keepdim=REDUCED, keepdims=REDUCED,
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
WHOLE = frozenset('sum mean max min amax amin prod std var all any'.split())      # or along all of them
ALONG = WHOLE | frozenset('argmax argmin cumsum cumprod sort argsort'.split())

# a function of NumPy that writes into an array -> the operation that writes into a tensor
INTO = dict(add='w.detach().add_(x)', subtract='w.detach().add_(x, alpha=-1)',
            multiply='w.detach().mul_(s)', divide='w.detach().mul_(1 / s)')

ANOTHER = ("x = fl.Tensor(values, 'row col') is another tensor; x.detach().add_(change) writes values, "
           "x.rename('row col') names")

# a masked array asks what it meets for `_data`, and would go on without the names
HIDDEN = 'a masked array hides some of its values'
SHOWN = "choose what stands there and name its axes: Tensor(m.filled(0), 'row col')"


def nearest(name, known):
    "The name that was probably meant, or None where nothing is near enough."
    return next(iter(get_close_matches(str(name), list(known), n=1, cutoff=.75)), None)


def of_tensor(name, known):
    "What to say about a method that tensors have not."
    if name in METHODS: return f'did you mean {METHODS[name]}?'
    return (SENTENCES | WAYS).get(name) or _of_either(name, known, 'did you mean {}?') or FUNCTIONS.get(name, TABLE)


# what a module of another library has -> what to say here
MODELS = SENTENCES | dict(
    dict.fromkeys('float double half bfloat16 type astype'.split(), "model.to('f32'), 'f64', 'f16' or 'bf16'")
    | dict.fromkeys('compile fit predict evaluate'.split(),
                    'a loop of yours trains it: loss.backward() and an optimizer; state_dict() takes its tensors out')
    | dict.fromkeys('save save_weights save_pretrained'.split(), "fl.train.save_weights('model.safetensors', model)")
    | dict.fromkeys('load load_weights load_from_checkpoint from_pretrained'.split(),
                    "fl.train.load_weights('model.safetensors', model)")
    | dict.fromkeys('weights variables trainable_weights trainable_variables'.split(), 'model.parameters()')
    | dict.fromkeys('get_weights get_extra_state'.split(), 'model.state_dict()')
    | dict.fromkeys('set_weights set_extra_state'.split(), 'model.load_state_dict(state)')
    | dict.fromkeys('requires_grad trainable'.split(), 'model.freeze() and model.unfreeze()')
    | dict.fromkeys('layers add append add_module register_module'.split(),
                    'self.name = module, or a list of modules as an attribute; Sequential is a chain')
    | dict.fromkeys('register_forward_hook register_forward_pre_hook register_hook'.split(),
                    'forward is yours: look at what it computes there'),
    register_buffer='self.name = fl.Tensor(values, tags): a tensor that does not learn is a buffer',
    register_parameter='self.name = fl.param(values, tags)', backward='loss.backward()',
    grad='each parameter has its own',
    in_features='layer.inputs, sizes by name', out_features='layer.outputs, sizes by name',
    extra_repr='spec()', summary='fl.summary(model, x)', numel='sum(p.numel for p in model.parameters())',
    num_parameters='sum(p.numel for p in model.parameters())', count_params='sum(p.numel for p in model.parameters())',
    get_submodule='dict(model.named_modules())[path]', get_parameter='dict(model.named_parameters())[path]')


# a layer of another library -> ours, for those that have another name here
LAYER_NAMES = dict(
    dict.fromkeys('Dense LazyLinear Bilinear'.split(), "Linear('embed=64', 'hidden=256')")
    | dict.fromkeys('ModuleList ModuleDict ParameterList ParameterDict'.split(), 'a list or a dict as an attribute')
    | dict.fromkeys('Parameter Variable Buffer'.split(), 'fl.param(values, tags); a buffer is fl.Tensor(values, tags)')
    | dict.fromkeys('Identity Lambda Activation'.split(),
                    'a function stands in a Sequential as it is; Apply(fn) is a layer')
    | dict.fromkeys('CrossEntropyLoss NLLLoss MSELoss L1Loss BCELoss BCEWithLogitsLoss KLDivLoss losses loss'.split(),
                    "a loss is a function: x.cross_entropy('class', labels), x.mse_loss(y), x.bce_loss(y)")
    | dict.fromkeys('functional F'.split(), FREELY) | dict.fromkeys('save save_file'.split(), SAVES)
    | dict.fromkeys('load load_file'.split(), LOADS) | dict.fromkeys('amp autocast GradScaler'.split(), HALVES)
    | dict.fromkeys('Dropout1d Dropout2d Dropout3d AlphaDropout'.split(), 'Dropout(.5)')
    | dict.fromkeys('ZeroPad2d ConstantPad2d ReflectionPad2d'.split(), "x.pad('h', 1, 1).pad('w', 1, 1)")
    | dict.fromkeys('BatchNorm1d BatchNorm2d BatchNorm3d BatchNormalization SyncBatchNorm'.split(),
                    "BatchNorm('channel=8')")
    | dict.fromkeys('InstanceNorm1d InstanceNorm2d GroupNormalization'.split(),
                    "GroupNorm('channel=8', 8, over='h w')")
    | dict.fromkeys('Conv2DTranspose ConvTranspose'.split(),
                    "ConvTranspose2d('feature=8', 'channel=4', 4, stride=2, padding=1)")
    | dict.fromkeys('AdaptiveAvgPool2d GlobalAveragePooling2D'.split(), "x.mean('h', 'w')")
    | dict.fromkeys('AdaptiveMaxPool2d GlobalMaxPooling2D'.split(), "x.max('h', 'w')")
    | dict.fromkeys('TransformerEncoderLayer Transformer TransformerEncoder'.split(),
                    "TransformerBlock('embed=64', 4, 'ff=256'), a list of them")
    | dict.fromkeys('TransformerDecoderLayer TransformerDecoder'.split(),
                    "DecoderBlock('embed=64', 4, 'ff=256'), called with (x, memory)")
    | dict.fromkeys('CrossAttention Attention'.split(), "MultiHeadAttention('embed=64', 4, memory='embed=64')")
    | dict.fromkeys('Swish Swish1'.split(), 'SiLU') | dict.fromkeys('Reshape Permute Rearrange'.split(), AXES),
    utils='fl.optim.clip_grad_norm(parameters, max_norm)', parallel='threads: fl.set_num_threads(n)',
    MultiheadAttention="MultiHeadAttention('embed=64', heads=4)", Model='Module', Layer='Module',
    Input="the first layer names what comes in")


def of_layer(name, known):
    "What to say about an attribute that a module has not."
    near = nearest(name, known)
    return MODELS.get(name) or (f'did you mean {near!r}?' if near else 'it has ' + ' '.join(known))


def no_method(x, name, known):
    "The error for an attribute that the tensor `x` has not, or cannot read any more."
    if name in known: return taken_apart(x) or AttributeError(name)
    if name == '_data': return fault(DTypeError, HIDDEN, help=SHOWN)
    if name in x.tags: return fault(UnknownName, f'{name!r} is an axis of x', x=x, help=_ways_along(name))
    help, shown = of_tensor(name, known), example(METHODS.get(name), x)
    if name.endswith('_') and name in (WRITTEN | METHODS) and x.requires_grad: help = _written_to(name)
    return fault(UnknownName, f'a tensor has no {name!r}', x=x, help=f'{help} {shown}' if shown else help)


WRITTEN = dict(zero_='mul_(0)', fill_='mul_(0).add_(value)', copy_='mul_(0).add_(other)', mul_='mul_(s)',
               add_='add_(other)', requires_grad_='requires_grad = True')

def _written_to(name):
    "What writes into a tensor that learns, beside its graph."
    if name == 'requires_grad_': return 'it learns already; x.requires_grad = False ends that'
    clear = 'x.zero_grad() clears its gradient; ' * (name == 'zero_')
    step = f'; a step is {STEP.removeprefix("say ").replace("w.", "x.")}' * (name in ('sub_', 'subtract_'))
    return f'{clear}x.detach().{WRITTEN.get(name) or METHODS[name]} writes into x{step}'


def given_along(x, function, args, kw):
    "What ours is called with in the place of a function of NumPy; None where that takes more than words for axes."
    name = function.__name__
    return axes_asked(x, args, kw, name in WHOLE) if name in ALONG else None


def _ways_along(tag):
    "What can be asked of an axis."
    return f'x.size({tag!r}), x.select({{{tag!r}: 0}}), x.sum({tag!r})'


def no_setting(x, value):
    "What Python calls for `x.shape = value` and its kind."
    ways = [f'a change of number type: x.to({str(value)!r})'] if isinstance(value, str) else []
    ways += [f'other sizes: {shown}' for shown in [example('reshape', x)] if shown and not ways]
    raise fault(UnknownName, 'shape, sizes, ndim, numel and dtype of a tensor are read off its values', x=x,
                help='; '.join(ways) or "x.insert_axis('new')")


# ---- what lists and numbers can do
def no_walk(x):
    "The error for a tensor taken for a list."
    help = f'x.unbind({x.tags[0]!r}), or x.numpy() where a list is wanted' if x.tags else 'x.item()'
    return fault(NoFirstAxis, 'a tensor has no first axis to walk along', x=x, help=help)


def no_length(x):
    "The error for len(x)."
    help = f'x.size({x.tags[0]!r}), or x.numpy() where a list is wanted' if x.tags else 'x.numel'
    return fault(NoFirstAxis, 'a tensor has one size per axis', x=x, help=help)


def several_values(x, what, help):
    "The error for what only a single value has."
    return fault(InvalidShape, f'{what} of several values', x=x, help=help)


def taken_apart(x):
    "The error for a tensor whose data or tags were assigned to, and no longer fit; None if they do."
    data, tags, said = x.data, x.tags, None
    if not isinstance(data, np.ndarray): said = f'its data is of type {type(data).__name__}'
    elif data.dtype.kind in 'OUSmMc': said = f'its data is an array of {data.dtype}'
    elif type(tags) is not tuple or not all(isinstance(t, str) for t in tags): said = f'its tags are {brief(tags)}'
    elif len(tags) != data.ndim: said = f'its data has the sizes {data.shape}, its tags are {" ".join(tags)!r}'
    return said and fault(InvalidShape, f'of a tensor to whose data or tags something was assigned: {said}', ANOTHER)


def not_numpys(x, function, given, into=False):
    """The error for a function of NumPy that is given the tensor `x`; `given` is what ours is called with.

    `into` says that it would write into an array, as `w.data -= x` does."""
    name = function.__name__
    ours = name if hasattr(type(x), name) else METHODS.get(name)
    if into and name in INTO: help = f'{INTO[name]} writes into w, {STEP}; an array of yours takes x.numpy()'
    elif ours is None: help = f'np.{name}(x.numpy()) gives an array'
    elif ours.startswith('fl.'): help = ours
    else: help = example(ours, x) or f'x.{ours}(...)' if given is None else f'x.{ours}({given})'
    if given == '' and name in WHOLE and x.tags: help += f'; x.{ours}({x.tags[-1]!r}) goes along one axis'
    return fault(UnknownName, f'np.{name} takes arrays', x=x, help=help)


class Count(int):
    "How many there are. In torch `numel` is a function, and here a number: who calls it is told so."
    __slots__ = ()
    def __call__(self, *args):
        raise fault(OptionError, 'numel is a number, not a function', help='x.numel, without parentheses')


def of_module(name, known, methods=()):
    "What to say about a function that the library has not."
    if name in FUNCTIONS: return FUNCTIONS[name]
    if name in WAYS: return WAYS[name]
    if (ours := METHODS.get(name)): return f'did you mean {"x." * ours.isidentifier()}{ours}?'
    if name in methods: return f'it is there as x.{name}'
    return _of_either(name, known, 'did you mean {!r}?') or TABLE


def of_package(package, name, known, ways, functions=()):
    """The error for a name that a package of the library has not: what there is for one that other
    libraries have (`ways`), that it is one of the `functions` of tensors, else the nearest spelling. Of a
    dict, `known`, modules are left out."""
    if name.startswith('__'): return AttributeError(name)      # Python asks for those
    if isinstance(known, dict): known = [n for n, v in known.items() if not inspect.ismodule(v)]
    known = [n for n in known if not n.startswith('_')]
    near = _of_either(name, known, f'did you mean {package}.{{}}?')
    if name in functions: near = f'fl.{name}(x, ...) and x.{name}(...) compute it' + (f'; {near}' if near else '')
    help = ways.get(name) or near or f'there is: {" ".join(sorted(known))}'
    return for_import(fault(UnknownName, f'{package} has no {name!r}', help=help))


def _of_either(name, known, asking):
    "What to say of a name in no table: ours in other letters, NumPy's own, or the nearest spelling."
    plain = lambda n: str(n).replace('_', '').lower().removesuffix('loss')
    near = next((n for n in known if plain(n) == plain(name)), None)        # ReLU, CrossEntropyLoss
    if near is None and callable(getattr(np, name, None)): return f'np.{name}(x.numpy()) gives an array'
    near = near or nearest(name, known)
    return near and asking.format(near)


# ---- options that methods have in torch
FORGOTTEN = 'zero_grad() forgets gradients, and each is None afterwards, as with set_to_none=True'
ONE_WAY = '(loss + other).backward() goes back once for several losses; what is to run twice is computed twice'
CLOSURE = 'loss.backward() comes before, then opt.step() without arguments'
RATE = 'schedule.step() once after each opt.step(); it counts for itself'
EACH = 'without arguments, all are meant; model.named_modules() has the parts'
COUNTED = 'valid=mask.logical_not(): true for the words that count, where the mask is true for the others'
SEEN = "mask='causal' or 'bidirectional' when the layer is made; valid=: true for the words that count"
CALLED = (dict.fromkeys('prefix recurse keep_vars remove_duplicate'.split(), EACH)
          | dict.fromkeys('device non_blocking memory_format copy'.split(), CPU)
          | dict.fromkeys('key_padding_mask src_key_padding_mask tgt_key_padding_mask padding_mask'.split(), COUNTED)
          | dict.fromkeys('mask attn_mask src_mask tgt_mask memory_mask is_causal attention_mask'.split(), SEEN)
          | dict.fromkeys('need_weights average_attn_weights'.split(),
                          "the weights never exist whole; (q.dot(k, 'd') / d**.5).softmax('key') makes them") | dict(
    memory_key_padding_mask=f'memory_{COUNTED}',
    set_to_none=FORGOTTEN, zero_grad=FORGOTTEN, retain_graph=ONE_WAY, create_graph=SLOPES, closure=CLOSURE,
    gradient='loss.backward(weights): a weight of each value', inputs='model.freeze() and x.detach() leave leaves out',
    step=CLOSURE, go_on=RATE, epoch=RATE, metrics=RATE, parameters=EACH, named_parameters=EACH))


def answering(fn):
    "A method that other libraries have with other options: who gives one is told what to write here."
    @wraps(fn)
    def call(*args, **kw):
        try: return fn(*args, **kw)
        except TypeError:
            if (wrong := not_taken(fn, args, kw)) is None: raise
        raise wrong
    return call


def not_taken(fn, args, kw, op=None):
    "The error for arguments that a method does not take; None if it takes them. `op` is the name it is told by."
    signature = inspect.signature(fn)
    try: signature.bind(*args, **kw)
    except TypeError as e:
        name, known = fn.__name__, [p for p in signature.parameters if p != 'self']
        foreign = next((k for k in kw if k not in known), None)
        help = CALLED.get(foreign if foreign else name) or f'{"layer" if op else "{op}"}({", ".join(known)})'
        head = f'there is no option {foreign!r}' if foreign else str(e)
        return fault(OptionError, head, help=help).told(op or {'go_on': 'step'}.get(name, name), {})
