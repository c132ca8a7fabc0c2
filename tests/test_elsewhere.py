"""Names that people bring from torch, NumPy, JAX and Keras: each is told the true way here, and
no wild guess is made."""
import copy, doctest, importlib.util, inspect, pickle, re, subprocess, sys
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import elsewhere

X = lambda: fl.Tensor([[1., 2.]], 'row col')


TABLES = elsewhere.FUNCTIONS, elsewhere.METHODS, elsewhere.SENTENCES, elsewhere.WAYS, elsewhere.INTO


@pytest.mark.parametrize('name', sorted(elsewhere.WAYS))
def test_a_way_to_say_it(name):
    for owner in (fl, X()):
        if hasattr(type(owner), name) or owner is fl and name in vars(fl): continue
        with pytest.raises(fl.UnknownName) as e: getattr(owner, name)
        assert elsewhere.WAYS[name] in str(e.value) or elsewhere.METHODS.get(name, '\0') in str(e.value)


@pytest.mark.parametrize('name', sorted({*elsewhere.METHODS} - {*elsewhere.FUNCTIONS}))
def test_a_method_of_another_library_as_a_function(name):
    "torch has most of its methods as functions too."
    if hasattr(fl, name): return
    with pytest.raises(fl.UnknownName) as e: getattr(fl, name)
    assert elsewhere.METHODS[name] in str(e.value) or elsewhere.WAYS.get(name, '\0') in str(e.value)


OTHERWISE = dict(ReLU="'relu'", CrossEntropyLoss="'cross_entropy'", MaxPool2d="'max_pool2d'", MSELoss="'mse_loss'",
                 backward='x.backward', shape='x.shape', unique='np.unique(x.numpy())', isin='np.isin(x.numpy())')

@pytest.mark.parametrize('name, said', OTHERWISE.items(), ids=OTHERWISE)
def test_other_letters_and_other_places(name, said):
    with pytest.raises(fl.UnknownName, match=re.escape(said)): getattr(fl, name)


def step(w):
    w.data -= 0.1 * w

def stretch(w):
    w.data *= w

def gather(w):
    total = np.zeros(2, 'f4')
    total += w

WRITES = [(step, 'w.detach().add_(w.grad, alpha=-lr)'), (stretch, 'w.detach().mul_(s)'), (gather, 'x.numpy()')]

@pytest.mark.parametrize('write, way', WRITES)
def test_writing_a_tensor_into_an_array_is_told_what_writes_into_a_tensor(write, way):
    w = fl.param([1., 2.], 'col')
    with pytest.raises(fl.UnknownName, match=re.escape(way)): write(w)
    assert w.tolist() == [1, 2]


def test_the_way_to_write_into_a_tensor_works():
    w, lr = fl.param([1., 2.], 'col'), .5
    (w * w).sum().backward()
    w.detach().add_(w.grad, alpha=-lr)
    assert w.tolist() == [0, 0] and w.requires_grad


MASKED = [lambda m, x: m + x, lambda m, x: m * x, lambda m, x: m / x, lambda m, x: m == x, lambda m, x: m < x,
          lambda m, x: m ** x, lambda m, x: np.ma.add(m, x)]

@pytest.mark.parametrize('learns', [False, True])
@pytest.mark.parametrize('call', MASKED)
def test_a_masked_array_loses_no_names(call, learns):
    "It takes an operand's numbers and goes on, without names and gradient."
    m, x = np.ma.array([1., 2.], mask=[False, True]), fl.Tensor([1., 2.], 'col', requires_grad=learns)
    with pytest.raises(fl.DTypeError, match=re.escape("Tensor(m.filled(0), 'row col')")): call(m, x)
    assert (fl.Tensor(m.filled(0).astype('f4'), 'col') + x).tolist() == [2, 2]
    assert np.ma.array(x).tolist() == [1, 2] and np.ma.masked_invalid(x).tolist() == [1, 2]      # these only look


class Column:
    "What pandas, whose columns are like this, does with an operand and with the values of a column."
    shape, dtype = (2,), np.dtype('f8')
    def __array__(self, dtype=None, copy=None): return np.array([1., 2.], dtype)
    @staticmethod
    def made_of(values): return range(len(values)), list(values)

def test_a_column_of_a_table():
    x = fl.Tensor([1., 2.], 'd')
    with pytest.raises(fl.NoFirstAxis, match=re.escape('x.numpy()')): Column.made_of(x)
    assert Column.made_of(x.numpy())[1] == [1, 2]
    assert fl.Tensor(Column(), 'd').tolist() == [1, 2]
    with pytest.raises(fl.DTypeError, match=re.escape("name its axes: Tensor(other, 'd')")): x + Column()
    with pytest.raises(fl.DTypeError, match=re.escape("Tensor(other, 'n')")): fl.ones('n c', (2, 4)) + Column()

@pytest.mark.parametrize('shape, help', [
    ((6,), "Tensor(array, 'n')"), ((4,), "Tensor(array, 'c')"), ((6, 4), "Tensor(array, 'n c')"),
    ((1, 4), "Tensor(array, 'n c')"), ((1,), "Tensor(array, 'c')"),
    ((5,), 'Tensor(array, tags), a tag for each of the sizes 5'),
    ((4, 6), 'Tensor(array, tags), a tag for each of the sizes 4 6'),
    ((2, 6, 4), 'Tensor(array, tags), a tag for each of the sizes 2 6 4')], ids=str)
def test_the_axes_that_an_array_is_said_to_have_fit_its_sizes(shape, help):
    x, array = fl.ones('n c', (6, 4)), np.ones(shape, 'f4')
    with pytest.raises(fl.DTypeError, match=re.escape(help)): x + array
    if 'tags' not in help: assert (x + eval(help, dict(Tensor=fl.Tensor, array=array))).shape == (6, 4)


@pytest.mark.parametrize('name', sorted(elsewhere.FUNCTIONS))
def test_a_function_of_another_library(name):
    if hasattr(fl, name) or name == 'tensor': return      # it is here by that name
    with pytest.raises(fl.UnknownName) as e: getattr(fl, name)
    assert elsewhere.FUNCTIONS[name] in str(e.value)


def test_every_way_shown_is_there():
    "fl.names in the tables exist, and so do methods that stand alone."
    words = [way for table in TABLES for way in table.values()]
    for text in words:
        for name in re.findall(r'\bx\.([a-z_]\w*)\(', text): assert hasattr(fl.Tensor, name), text
        for name in re.findall(r'\bfl\.([a-z_]\w*)', text): assert name == 'name' or hasattr(fl, name), text
    for ours in elsewhere.METHODS.values():
        if ours.isidentifier(): assert hasattr(fl.Tensor, ours), ours


@pytest.mark.parametrize('name', 'Frobnicate row zzz quux Transformerish lrs'.split())
def test_no_wild_guess(name):
    for owner in (fl, X()):
        with pytest.raises(fl.UnknownName) as e: getattr(owner, name)
        assert 'did you mean' not in str(e.value), str(e.value)


@pytest.mark.parametrize('name,meant',
                         [('sofmax', 'softmax'), ('rleu', 'relu'),
                          ('cros_entropy', 'cross_entropy'), ('layernorm', 'layer_norm')])
def test_a_slip_of_the_pen(name, meant):
    for owner in (fl, X()):
        with pytest.raises(fl.UnknownName, match=f"did you mean '?{meant}'?"): getattr(owner, name)


CALLS = [('concatenate', lambda x: np.concatenate([x, x]), 'fl.concat'),
         ('stack', lambda x: np.stack([x, x]), 'fl.stack'),
         ('where', lambda x: np.where(x, x, x), 'where'),
         ('dot', lambda x: np.dot(x, x), 'x.dot'),
         ('clip', lambda x: np.clip(x, 0, 1), 'x.clamp'),
         ('transpose', lambda x: np.transpose(x), 'x.permute'),
         ('einsum', lambda x: np.einsum('ij->j', x), 'x.einsum'),
         ('sort', lambda x: np.sort(x), 'x.sort'),
         ('sum', lambda x: np.sum(x), 'x.sum'),
         ('median', lambda x: np.median(x), 'x.numpy()')]

@pytest.mark.parametrize('learns', [False, True])
@pytest.mark.parametrize('name,call,way', CALLS, ids=[n for n, *_ in CALLS])
def test_a_function_of_numpy_loses_nothing_silently(name, call, way, learns):
    x = fl.Tensor([[1., 2.]], 'row col', requires_grad=learns)
    with pytest.raises(fl.FucinaError, match=re.escape(way)): call(x)


def test_questions_of_numpy_are_answered(tmp_path):
    x = fl.param([[1., 2.]], 'row col')
    assert np.shape(x) == (1, 2) and np.ndim(x) == 2 and np.size(x) == 2
    assert np.array_equal(x, [[1, 2]]) and np.allclose(x, x) and np.shares_memory(x, x.data)
    np.savez(tmp_path/'x.npz', x=x)
    assert np.load(tmp_path/'x.npz')['x'].tolist() == [[1, 2]]
    np.testing.assert_array_equal(x, [[1, 2]])


def test_a_device_is_no_number_type():
    for name in ('cuda', 'cuda:0', 'mps'):
        with pytest.raises(fl.DTypeError, match='everything is computed on the CPU'): X().to(name)
    with pytest.raises(fl.DTypeError, match='the types are: f32 .* bool; fl.block_formats') as e: X().to('float31')
    assert 'q4_k' not in str(e.value)


def test_where_in_the_order_of_torch():
    x = fl.Tensor([1., -2.], 'd')
    with pytest.raises(fl.DTypeError, match=re.escape('values first, then the mask')): fl.where(x > 0, x, 0.)
    assert fl.where(x, x > 0, 0.).tolist() == [1, 0]
    assert fl.where(x > 0, x > 0, x > 0).tolist() == [True, False]


SCORES, LABELS = fl.ones('n c', (6, 4)), np.arange(6) % 4

@pytest.mark.parametrize('call, help', [
    (lambda: fl.zeros(3, 4), "zeros('row col', (3, 4))"),
    (lambda: fl.ones((3, 4)), "ones('row col', (3, 4))"),
    (lambda: fl.ones(3), "ones('d', 3)"),
    (lambda: fl.randn((64, 32), 'pixel hidden'), "randn('pixel hidden', (64, 32))"),
    (lambda: fl.zeros(3, True), "zeros('d', 3)"),
    (lambda: fl.cross_entropy(tag=3), 'cross_entropy(x: Tensor, tag, labels'),
    (lambda: fl.param('p h', (3, 4)), "Tensor(values, 'p h')"),
    (lambda: SCORES.mean([0, 1]), "x.mean('n c')"),
    (lambda: SCORES.squeeze([1]), "position 1 is 'c': x.squeeze('c')"),
    (lambda: fl.cross_entropy(SCORES, LABELS), "the axis comes first: x.cross_entropy('c', labels)"),
    (lambda: SCORES.cross_entropy('c', LABELS[:5]), 'one label for each row: n=6'),
    (lambda: SCORES.cross_entropy('c', LABELS + 5), 'labels are 0 to 3; 6 of 6 are not'),
    (lambda: SCORES.cross_entropy('c', [0, 1, 2, 3, 9, 9]), 'ignore_index=9) leaves it out'),
    (lambda: SCORES.matmul(SCORES), 'x @ w sums over the axis both have'),
    (lambda: SCORES.cpu(), 'everything is computed on the CPU'),
    (lambda: SCORES.zero_(), 'p.zero_grad()'),
    (lambda: SCORES.fill_(1), 'x.mul_(0).add_(value)'),
])
def test_what_torch_taught_is_told_the_way(call, help):
    "Sizes before names, labels before the axis, positions: what a first program gets wrong."
    with pytest.raises(fl.FucinaError) as e: call()
    assert help in str(e.value), e.value


def test_an_axis_is_no_attribute():
    "x.row, as tables have it: the lines that are told run."
    x = fl.Tensor([[1., 2.], [3., 4.]], 'row col')
    with pytest.raises(fl.UnknownName, match="'row' is an axis of x") as e: x.row
    found = [eval(f'x{call}', dict(x=x)) for call in re.findall(r"x(\.\w+\([^)]*\))", str(e.value))]
    assert found[0] == 2 and [t.tolist() for t in found[1:]] == [[1, 2], [4, 6]]
    assert not hasattr(x, 'row')


@pytest.mark.parametrize('name', 'nn optim data train lora evolution knn'.split())
def test_a_package_lists_what_it_is_for(name):
    "Of a name that is like no other: what is there to be used, no mechanism; Python's own questions get its answer."
    part = getattr(fl, name)
    with pytest.raises(fl.UnknownName, match=f'fl.{name} has no') as e: part.qqqqqqqq
    words = str(e.value).partition('there is: ')[2].split()
    assert words and all(callable(getattr(part, w)) for w in words if w != 'init'), words
    assert not {'np', 'wrap', 'named', 'fault', 'of_package'} & {*words}
    with pytest.raises(AttributeError) as e: part.__no_such__
    assert type(e.value) is AttributeError


def test_dir_lists_what_is_imported_later():
    "Layers, optimizers and the rest are seen before anybody touched them."
    ask = [sys.executable, '-c', 'import fucinalib as fl; print(*dir(fl))']
    seen = subprocess.run(ask, capture_output=True, text=True)
    assert {'nn', 'optim', 'data', 'train', 'record', 'summary', 'softmax', 'Tensor'} <= set(seen.stdout.split())


# ---- imports of what is not there

FROM = {'from fucinalib.autograd import Variable': 'fl.param(values, tags)',
        'from fucinalib.tensor import tensor': "fl.Tensor([1., 2.], 'col')",
        'from fucinalib.nn.layers import Dense': "Linear('embed=64', 'hidden=256')",
        'from fucinalib.optim.steps import Lion': 'optim.Optimizer',
        'from fucinalib.nn.layers import LSTM': 'from fucinalib.nn import LSTM',
        'from fucinalib.kernels import softmx_last': "did you mean 'softmax_last'?",
        'from fucinalib.data import DataLoader': "data.batches('batch', 32, seed=0)",
        'from fucinalib.nn import CrossEntropyLoss': "x.cross_entropy('class', labels)",
        'from fucinalib.nn import Linear, Linaer': 'did you mean fl.nn.Linear?',
        'from fucinalib.nn.init import kaiming_normal_': 'he_normal',
        'from fucinalib import cuda as c': 'everything is computed on the CPU',
        'from fucinalib import Tensro': "did you mean 'Tensor'?",
        'from fucinalib.optim import StepLR': 'fl.optim.Schedule(opt, fl.optim.stepwise',
        'from fucinalib.train import Trainer': 'fl.train.Learner(',
        'from fucinalib.knn import KNeighborsClassifier': 'fl.knn.Classifier(k=5)',
        'from fucinalib.lora import LoraConfig': 'LoRA(layer',
        'from fucinalib.evolution import CMAES': 'Evolution(model)'}
MODULES = {'import fucinalib.nn.functional as F': 'every function is there as fl.name',
           'from fucinalib.nn.functional import relu': 'every function is there as fl.name',
           'from fucinalib.utils.data import DataLoader': 'fl.data.Dataset(x, y)',
           'from fucinalib.optim.lr_scheduler import StepLR': 'optim.Schedule(opt',
           'import fucinalib.cuda.amp': 'everything is computed on the CPU',
           'import fucinalib.jit': 'fl.record(step)',
           'import fucinalib.nn.Linear as Linear': 'from fucinalib.nn import Linear',
           '__import__("importlib").import_module("fucinalib.torch")': 'fl.op_table()'}

@pytest.mark.parametrize('line', [*FROM, *MODULES])
def test_an_import_is_told_what_an_attribute_is_told(line):
    "And stays the ImportError that programs catch."
    kind, said = (fl.UnknownImport, FROM) if line in FROM else (fl.UnknownModule, MODULES)
    with pytest.raises(kind, match=re.escape(said[line])) as e: exec(line, {})
    assert isinstance(e.value, ImportError) and not isinstance(e.value, AttributeError)
    assert e.value.name.startswith('fucinalib') and e.value.__cause__ is None
    assert isinstance(e.value, ModuleNotFoundError) == (line in MODULES)
    again = pickle.loads(pickle.dumps(e.value))
    assert str(again) == str(e.value) and again.name == e.value.name

def test_the_import_that_is_shown_works():
    with pytest.raises(fl.UnknownModule) as e: exec('import fucinalib.optim.AdamW', {})
    scope = {}
    exec(e.value.help, scope)
    assert scope['AdamW'] is fl.optim.AdamW

def test_questions_about_names_and_modules_are_answered_as_before():
    "Who asks whether something is there is told that it is not; who imports from a module half made, waits."
    assert not hasattr(fl, 'cuda') and getattr(fl.nn, 'CrossEntropyLoss', None) is None
    for name in ('fucinalib.nn.functional', 'fucinalib.cuda', 'fucinalib.nn.Linear', 'fucinalib.qqq'):
        assert importlib.util.find_spec(name) is None
    assert importlib.util.find_spec('fucinalib.nn.layers') and not hasattr(fl, '__wrapped__')
    assert inspect.unwrap(fl.relu) and inspect.getmodule(fl.nn.Linear).__name__ == 'fucinalib.nn.layers'
    assert pickle.loads(pickle.dumps(fl.nn.Linear)) is copy.deepcopy(fl.nn.Linear) is fl.nn.Linear
    assert doctest.DocTestFinder().find(fl.nn, 'nn') is not None
    with pytest.raises(ModuleNotFoundError) as e: exec('import fucinalib.knn.trees', {})
    with pytest.raises(ModuleNotFoundError) as e: exec('import fucinalibs.knn', {})
    assert type(e.value) is ModuleNotFoundError
    sys.modules['fucinalib.nn.half_made'] = sys
    try: exec('from fucinalib.nn import half_made; assert half_made is __import__("sys")', {})
    finally: del sys.modules['fucinalib.nn.half_made']

def test_the_finders_stand_once_before_and_behind_all_others():
    ours = [f for f in sys.meta_path if getattr(f, '__module__', '') == 'fucinalib.absent']
    assert len(ours) == 2
    fl.absent.install()
    for place, finder in ((-1, fl.absent.Absent), (0, fl.absent.Telling)):
        assert sys.meta_path[place] is finder and sys.meta_path.count(finder) == 1


# ---- options that methods have in torch

def learning():
    model, x = fl.nn.Linear('d=3', 'o=2', seed=0), fl.randn('row d', (4, 3), seed=0)
    opt = fl.optim.SGD(model, lr=.1)
    return dict(model=model, x=x, opt=opt, loss=model(x).square().sum(), w=model.weight, fl=fl,
                schedule=fl.optim.Schedule(opt, fl.optim.linear, total=10))

@pytest.mark.parametrize('call, said', [
    ('opt.zero_grad(set_to_none=True)', 'zero_grad() forgets gradients'),
    ('model.zero_grad(set_to_none=False)', 'zero_grad() forgets gradients'),
    ('model.zero_grad(True)', 'zero_grad() forgets gradients'),
    ('w.zero_grad(set_to_none=True)', 'zero_grad() forgets gradients'),
    ('loss.backward(retain_graph=True)', '(loss + other).backward()'),
    ('loss.backward(create_graph=True)', 'gradients have no gradients'),
    ('loss.backward(gradient=x)', 'loss.backward(weights)'),
    ('loss.backward(inputs=[w])', 'model.freeze()'),
    ('opt.step(lambda: loss)', 'loss.backward() comes before'),
    ('opt.step(closure=lambda: loss)', 'loss.backward() comes before'),
    ('opt.step(scale=2)', 'help: step()'),
    ('schedule.step(3)', 'schedule.step() once after each opt.step()'),
    ('schedule.step(metrics=.5)', 'schedule.step() once after each opt.step()'),
    ("model.to(device='cuda')", 'everything is computed on the CPU'),
    ("model.to('f32', non_blocking=True)", 'everything is computed on the CPU'),
    ('model.parameters(recurse=False)', 'model.named_modules()')])
def test_an_option_of_torch_is_told_what_to_write(call, said):
    "Nothing is done before, so that the call without it does what was meant."
    with pytest.raises(fl.OptionError, match=re.escape(said)) as e: eval(call, learning())
    assert isinstance(e.value, TypeError) and e.value.__cause__ is None
    short = re.sub(r'\(.*\)$', "('f32')" if '.to(' in call else '()', call)
    eval(short, learning())

def test_zero_grad_leaves_none_as_set_to_none_does():
    for who in ('opt', 'model', 'w'):
        at = learning()
        at['loss'].backward()
        assert at['w'].grad is not None
        at[who].zero_grad()
        assert at['w'].grad is None

def test_losses_are_added_for_one_way_back():
    at = learning()
    loss, other = at['loss'], at['model'](at['x']).abs().sum()
    (loss + other).backward()
    assert at['w'].grad is not None

def test_an_error_inside_a_method_stays_what_it_is():
    class Mine(fl.optim.Optimizer):
        def __init__(self, params, lr=.1): super().__init__(params, lr=lr)
        def update(self, w, g, memory, group, steps): w - None
    at = learning()
    at['loss'].backward()
    with pytest.raises(TypeError, match='unsupported operand') as e: Mine(at['model']).step()
    assert not isinstance(e.value, fl.FucinaError)

@pytest.mark.parametrize('name', 'no_grad enable_grad timed use_backend'.split())
def test_a_block_without_parentheses_is_told_so(name):
    "`with fl.no_grad:`; as a decorator it needs none."
    with pytest.raises(fl.OptionError, match=f'with {name}: it is to be called') as e:
        with getattr(fl, name): pass
    line = e.value.help.replace('with ', 'with fl.').replace('(...)', "('numpy')")
    exec(line.replace('...', 'assert True') if "('numpy')" not in line else line, dict(fl=fl))
    assert fl.no_grad(lambda: fl.is_grad_enabled())() is False
