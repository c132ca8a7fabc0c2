"""What a loop of torch is written with, and what it is told here: each line that is told runs."""
import re
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import data, nn, optim, train
from fucinalib.elsewhere import SCHEDULES


def told(call, kind=fl.FucinaError, **scope):
    "The help of a call that must fail."
    with pytest.raises(kind) as e: exec(call, dict(fl=fl, nn=nn, np=np, optim=optim, train=train, data=data) | scope)
    return str(e.value).split('help: ')[1]


def model(): return nn.Linear('pixel=4', 'class=3', seed=0)


# ---- a step by hand
def loop(step, turns=4):
    "A loop with a step as it is written, from w = (1, 2); the w it ends with."
    scope = dict(fl=fl, w=fl.param([1., 2.], 'd'), lr=.1)
    for _ in range(turns): exec(f'loss = (w * w).sum(); loss.backward()\n{step}', scope)
    return scope['w']

MOVED = 'w.detach().add_(w.grad, alpha=-lr)'
STEPS = ['w = w - lr * w.grad', 'w = w + (-lr) * w.grad', 'w = w.sub(lr * w.grad); w.grad = None',
         'with fl.no_grad(): w = w - lr * w.grad', 'w = (w - lr * w.grad).detach()']

@pytest.mark.parametrize('step', STEPS)
def test_another_w_is_told_where_it_goes_wrong(step):
    with pytest.raises(fl.GradError) as e: loop(step)
    assert MOVED in str(e.value)
    np.testing.assert_allclose(loop(f'{MOVED}; w.grad = None'), .8**4 * np.array([1, 2]), 1e-6)


def test_another_shared_part_is_no_step():
    "A hidden value of another size, or of another operation, is not taken for a weight."
    x, b = fl.ones('n d', (3, 2)), fl.param([1., 2.], 'd')
    for h in (x + b, b * 2., b.exp(), b + fl.param([1., 1.], 'd')):
        h.sum().backward()
        assert MOVED not in told('(h * h).sum().backward()', fl.BackwardAlreadyRun, h=h)


@pytest.mark.parametrize('call', ['w.sub_(lr * w.grad)', 'w.subtract_(lr * w.grad)', 'w.add_(-lr * w.grad)',
                                  'w.mul_(.9)', 'w.div_(2.)', 'w.zero_()', 'w.copy_(w)', 'w.fill_(0.)',
                                  'w.lerp_(w, .1)'])
def test_what_writes_into_a_weight_is_told_beside_its_graph(call):
    w = fl.param([1., 2.], 'd')
    (w * w).sum().backward()
    with pytest.raises(fl.FucinaError) as e: exec(call, dict(w=w, lr=.1))
    way = re.search(r'x\.detach\(\)\..*?(?= writes|: it)', str(e.value))[0]
    if '...' in way: way = f'x.detach().{call[2:]}'.replace('w', 'x')
    eval(way, dict(x=w, s=2., other=w.grad, value=1., lr=.1))
    assert w.requires_grad and w.node.op is None
    assert 'detach' not in told('x.sub_(x)', x=fl.Tensor([1.], 'd'))


# ---- what was learnt, to a file and back
@pytest.mark.parametrize('name', 'load load_file load_model from_pretrained load_state_dict'.split())
@pytest.mark.parametrize('owner', 'fl train'.split())
def test_who_loads_is_told_what_reads(owner, name, tmp_path, monkeypatch):
    if owner == 'train' and name in ('from_pretrained', 'load_state_dict'): return
    monkeypatch.chdir(tmp_path)
    m, opt = model(), optim.Adam(model())
    train.save_weights('model.safetensors', m), train.save_checkpoint('run', model=m, optimizer=opt)
    help, scope = told(f'{owner}.{name}'), dict(fl=fl, model=model(), opt=opt, state=m.state_dict())
    first = 'model.load_state_dict(' if name == 'load_state_dict' else 'fl.train.load_weights('
    assert help.startswith(first) and 'save' not in help
    for call in re.findall(r'(?:fl\.train|model)\.\w+\([^)]*\)', help): eval(call, scope)
    assert (scope['model'].weight.numpy() == m.weight.numpy()).all()


@pytest.mark.parametrize('call', ['fl.save', 'train.save', 'nn.save', 'fl.state_dict', 'm.save', 'm.save_weights'])
def test_who_saves_is_told_what_writes(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    m, help = model(), told(call, m=model())
    for text in re.findall(r'(?:fl\.train|model)\.\w+\((?:[^()]|\([^()]*\))*\)', help):
        eval(text, dict(fl=fl, model=m, opt=optim.Adam(m)))
    assert (tmp_path/'model.safetensors').exists()


ORDER = {'train.save_weights(m, path)': "save_weights('{path}', model)",
         'train.save_weights(m.state_dict(), path)': "save_weights('{path}', weights)",
         'train.load_weights(m, path)': "load_weights('{path}', model)",
         'train.save_checkpoint(m, path)': "save_checkpoint('{path}', model=model)",
         'train.save_checkpoint(path, m)': "save_checkpoint('{path}', model=model)",
         'train.save_checkpoint(path, m, optimizer)': "save_checkpoint('{path}', model=model, optimizer=optimizer)",
         'train.save_checkpoint(path, epoch=3)': "save_checkpoint('{path}', dict(epoch=3), model=model)",
         'train.save_checkpoint(path, dict(step=20), epoch=3, model=m)':
             "save_checkpoint('{path}', dict(step=20, epoch=3), model=model)",
         "train.save_checkpoint({'model': m.state_dict(), 'optimizer': optimizer.state_dict(), 'epoch': 3}, path)":
             "save_checkpoint('{path}', dict(epoch=3), model=model, optimizer=optimizer)",
         'train.restore_checkpoint(path, m)': "restore_checkpoint('{path}', model=model)",
         'train.restore_checkpoint(m, path)': "restore_checkpoint('{path}', model=model)",
         'train.restore_checkpoint(path, m, optimizer)':
             "restore_checkpoint('{path}', model=model, optimizer=optimizer)"}

@pytest.mark.parametrize('call, ours', ORDER.items(), ids=ORDER)
def test_the_path_comes_first_and_parts_have_names(call, ours, tmp_path):
    m = model()
    path, scope = (tmp_path/'run').as_posix(), dict(m=m, model=m, optimizer=optim.SGD(m), weights=m.state_dict())
    help = told(call, fl.CheckpointError, path=path, **scope)
    assert help == ours.format(path=path)
    if 'load' in help: train.save_weights(path, m)
    if 'restore' in help: train.save_checkpoint(path, model=m, optimizer=scope['optimizer'])
    eval(help, vars(train) | scope)


def test_a_path_in_the_place_of_a_state(tmp_path):
    m, path = model(), (tmp_path/'m.safetensors').as_posix()
    train.save_weights(path, m)
    for given in (path, tmp_path/'m.safetensors'):
        help = told('m.load_state_dict(path)', fl.OptionError, m=m, path=given)
        eval(help.split(' reads')[0], dict(fl=fl, model=m))


# ---- names
@pytest.mark.parametrize('name', SCHEDULES)
@pytest.mark.parametrize('owner', 'fl optim train'.split())
def test_every_schedule_of_torch_is_told_one_of_ours(owner, name):
    if hasattr(optim, name) and owner == 'optim': return      # the module `schedules`
    help, opt = told(f'{owner}.{name}'), optim.SGD(model(), lr=.5)
    call = re.search(r'fl\.optim\.Schedule\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)', help)
    if name == 'ReduceLROnPlateau':
        exec(help.split(' where')[0], dict(opt=opt))
        assert opt.lr == .05
        return
    schedule = eval(call[0], dict(fl=fl, opt=opt))
    for _ in range(1005): schedule.step()
    assert 0 <= opt.lr <= .5


@pytest.mark.torch
def test_no_schedule_of_torch_was_left_out():
    from torch.optim import lr_scheduler
    for name in lr_scheduler.__all__: assert name in SCHEDULES, name


@pytest.mark.parametrize('call, said', {
    'train.accuracy': "argmax('class')", 'fl.accuracy': 'Confusion(classes)', 'fl.amp': "model.to('bf16')",
    'fl.autocast': "model.to('bf16')", 'train.GradScaler': "model.to('bf16')", 'nn.autocast': 'no autocast',
    'optim.amp': 'no autocast', 'm.cuda()': 'on the CPU', "m.to(device='cuda')": 'on the CPU',
    "m.to('cuda')": 'on the CPU',
    "m.to(device='cpu', dtype='f64')": 'on the CPU', 'm.to()': "model.to('f64')", "m.to('f8_e4m3')": "model.to('f64')",
    "x.to(device='cuda')": 'on the CPU', "x.to('f64', non_blocking=True)": 'on the CPU', 'x.cuda()': 'on the CPU',
    "fl.zeros('d', 3, device='cpu')": 'on the CPU', "fl.randn('d', 3, requires_grad=True)": 'fl.param(x)',
    'nn.relu': 'fl.relu(x, ...) and x.relu(...)', 'nn.softmax': 'x.softmax(', 'nn.cross_entropy': 'x.cross_entropy(',
    'nn.functional.relu(x)': 'x.relu()', 'nn.F': 'x.relu()', 'nn.Dropout2d': 'Dropout(.5)', 'nn.load': 'load_weights',
    'nn.AdaptiveMaxPool2d': "x.max('h', 'w')", 'data.DataLoader(x, 32)': 'data = fl.data.Dataset(x, y); then for',
    'fl.DataLoader': 'data = fl.data.Dataset(x, y); then for', 'fl.utils.data': 'data = fl.data.Dataset(x, y)',
    'train.DataLoader': 'data = fl.data.Dataset(x, y)', 'data.Subset': 'data = fl.data.Dataset(x, y)',
    'data.random_split': 'data = fl.data.Dataset(x, y); train, test', 'm.fit': 'loss.backward()'}.items())
def test_a_name_of_torch(call, said):
    assert said in told(call, m=model(), x=fl.ones('n d', (2, 3)))


LOADER = {'data.batches(batch_size=2)': "batches('n', 2)",
          'data.batches(batch_size=2, shuffle=True)': "batches('n', 2, seed=0)",
          "data.batches('n', 2, shuffle=True)": "batches('n', 2, seed=0)",
          'data.batches(2, shuffle=False)': "batches('n', 2)",
          'data.batches(batch_size=2, shuffle=True, drop_last=True, num_workers=2, pin_memory=True)':
              "batches('n', 2, seed=0, partial=False, workers=2)"}

@pytest.mark.parametrize('call, ours', LOADER.items(), ids=LOADER)
def test_options_of_data_loaders(call, ours):
    rows = data.Dataset(fl.ones('n d', (5, 2)), np.arange(5))
    help = told(call, fl.OptionError, data=rows).split(';')[0]
    assert help == ours and list(eval(f'rows.{help}', dict(rows=rows)))


# ---- labels, and the number before the axis
SCORES, Y = fl.rand('n t c', (3, 2, 4), seed=0), np.arange(6).reshape(3, 2) % 4
EYE = np.eye(4, dtype='f4')[Y]
LABELS = {'along another axis': fl.Tensor(Y, 'row t'), 'along two others': fl.Tensor(Y, 'a b'),
          'one-hot': fl.Tensor(EYE, 'n t c'), 'one-hot, whole': fl.Tensor(EYE.astype('i8'), 'n t c'),
          'one-hot, turned': fl.Tensor(EYE.transpose(2, 0, 1).copy(), 'c n t'), 'one-hot array': EYE,
          'one-hot list': EYE.tolist()}

@pytest.mark.parametrize('labels', LABELS.values(), ids=LABELS)
@pytest.mark.parametrize('loss', ['cross_entropy', 'nll_loss'])
def test_labels_of_another_form(loss, labels):
    help = told(f"x.{loss}('c', labels)", x=SCORES, labels=labels)
    call = re.search(r'(labels|np)\.\w+\([^()]*\)', help)[0]
    again = getattr(SCORES, loss)('c', eval(call, dict(labels=labels, np=np)))
    assert again.item() == getattr(SCORES, loss)('c', Y).item()


def test_labels_that_are_too_few():
    help = told("x.cross_entropy('c', y)", x=SCORES, y=fl.ones('row', 5, dtype='i64'))
    assert help == "labels go along 'n t', of n=3 t=2"


@pytest.mark.parametrize('call, ours', {
    "x.topk(2, 'c')": "x.topk('c', 2)", "fl.topk(x, 2, 'c')": "x.topk('c', 2)", "x.topk(1, 't')": "x.topk('t', 1)",
    "x.roll(1, 'n')": "x.roll('n', 1)", "x.narrow(1, 'c', 2)": "x.narrow('c', 1, 2)"}.items())
def test_a_number_before_the_axis(call, ours):
    assert told(call, x=SCORES) == ours and eval(ours, dict(x=SCORES)) is not None


# ---- a table of numbers
@pytest.mark.parametrize('words, classes, kind, like', [
    ('0 1 2', None, 'i64', [0, 1, 2]), ('0.0 1.0 2.0', None, 'f32', [0, 1, 2]), ('cat dog cat', None, 'i64', [0, 1, 0]),
    ('7 9 12', None, 'i64', [7, 9, 12]), ('0.0 1.0 3.0', True, 'i64', [0, 1, 3]), ('1 2 3', False, 'f32', [1, 2, 3]),
    ('0.0 0.5 1.0', None, 'f32', [0, .5, 1]), ('0 1 0', False, 'f32', [0, 1, 0]), ('0.0 1.0 nan', None, 'f32', None),
    ('0.0 1.0 2.0', True, 'i64', [0, 1, 2]), ('cat dog cat', True, 'i64', [0, 1, 0]),
    ('dog cat dog', ['dog', 'bird', 'cat'], 'i64', [0, 2, 0]), ('9.0 7.0 9.0', [7, 8, 9], 'i64', [2, 0, 2])])
def test_a_target_that_is_classes_is_one(words, classes, kind, like, tmp_path):
    "Features are real numbers, whatever they are in the file."
    path = tmp_path/'a.csv'
    path.write_text('a,b,y\n' + ''.join(f'{i},{i + .5},{w}\n' for i, w in enumerate(words.split())))
    rows = data.from_csv(path, target='y', classes=classes)
    assert rows.y.dtype == kind and (like is None or rows.y.tolist() == like) and rows.x.dtype == 'f32'
    if kind == 'i64' and max(like) < 3: assert fl.rand('batch c', (3, 3)).cross_entropy('c', rows.y).item() > 0


def test_an_axis_of_one_place_is_taken_off():
    "The last layer of a regression gives 'out=1', and what is to be learnt has no such axis."
    x, y = fl.zeros('batch out', (4, 1)), fl.zeros('batch', 4)
    way = told('x.mse_loss(y)', x=x, y=y).split('; ')[1].removesuffix(' takes it off')
    assert eval(way, dict(x=x)).mse_loss(y).item() == 0


# ---- labels that have an axis too many
PICKED = fl.one_hot(fl.Tensor([0, 2, 1, 0], 'batch'), 'class', 3)
GUESS = fl.randn('batch class', (4, 3), seed=0)
COUNTED = fl.train.Sequential(fl.train.Dense('class=3')).compile('pixel=4', 'cross_entropy')

@pytest.mark.parametrize('hot', [PICKED, PICKED.to('i64')])
@pytest.mark.parametrize('call', [
    "GUESS.argmax('class') == labels", "GUESS.argmax('class').ne(labels)", "GUESS.cross_entropy('class', labels)",
    "train.top_k_accuracy(GUESS, 'class', labels, 1)", "train.Confusion(3).add(GUESS.argmax('class'), labels)",
    "COUNTED.evaluate(np.ones((4, 4)), labels)"])
def test_one_hot_labels_are_told_everywhere(call, hot):
    scope = dict(GUESS=GUESS, COUNTED=COUNTED, labels=hot)
    help = told(call, **scope)
    way = re.search(r"(labels|other)\.argmax\('class'\)(?= are the labels of one-hot rows)", help)[0]
    eval(call, dict(fl=fl, np=np, train=train) | scope | dict(labels=eval(way, dict(labels=hot, other=hot))))

@pytest.mark.parametrize('call', ["GUESS.cross_entropy('class', hot)", "train.top_k_accuracy(GUESS, 'class', hot, 1)",
                                  "COUNTED.evaluate(np.ones((4, 4)), hot)"])
def test_one_hot_arrays_are_told_too(call):
    scope = dict(GUESS=GUESS, COUNTED=COUNTED, hot=PICKED.numpy())
    assert 'np.argmax' in told(call, **scope)
    eval(call, dict(np=np, train=train) | scope | dict(hot=np.argmax(PICKED.numpy(), -1)))

def test_axes_that_are_no_classes_are_told_otherwise():
    "Only labels can be one-hot: whole numbers on the other side."
    assert 'one-hot' not in told('x.eq(y)', x=fl.ones('batch', 4), y=PICKED)
    assert 'one-hot' not in told('x.eq(y)', x=PICKED, y=fl.zeros('batch', 4, dtype='i64'))
