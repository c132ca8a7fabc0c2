"""Modules: what they hold and under which names, state and its refusals, modes, randomness by place, looks."""
import copy, pickle, threading
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import nn

X = lambda n=2: fl.rand('batch pixel', (n, 4), seed=3)

class MLP(nn.Module):
    "No super().__init__(), parts in a list, a dict and as attributes, a tied tensor, a buffer."
    def __init__(self, seed=0):
        self.layers = [nn.Linear('pixel=4', 'hidden=3', seed=seed), nn.Linear('hidden=3', 'hidden=3', seed=seed + 1)]
        self.heads = dict(a=nn.Linear('hidden=3', 'label=2', seed=seed + 2))
        self.tied = self.heads['a'].weight
        self.scale = fl.Tensor(2.)
        self.plain, self.word = 7, 'text'

    def forward(self, x):
        for layer in self.layers: x = layer(x).relu()
        return self.heads['a'](x) * self.scale

NAMES = ['layers.0.weight', 'layers.0.bias', 'layers.1.weight', 'layers.1.bias', 'heads.a.weight', 'heads.a.bias']


def test_names_in_order_a_shared_tensor_once_with_its_aliases():
    m = MLP()
    assert [n for n, _ in m.named_parameters()] == NAMES and [n for n, _ in m.named_buffers()] == ['scale']
    assert m.aliases() == {'heads.a.weight': ['tied']}
    assert [n for n, _ in m.named_modules()] == ['', 'layers.0', 'layers.1', 'heads.a']
    assert m.children() == m.modules()[1:]
    assert len(m.parameters()) == 6 and sum(p.numel for p in m.parameters()) == 15 + 12 + 8


def test_a_shared_parameter_is_one():
    "L23: gradient [2, 2], and one step of 1 gives [1, 2]"
    m = nn.Module()
    m.a = m.b = fl.param([3., 4.], 'd')
    (m.a.sum() + m.b.sum()).backward()
    assert [p.grad.tolist() for p in m.parameters()] == [[2, 2]]
    for p in m.parameters(): p.detach().add_(p.grad, alpha=-1)
    assert m.b.tolist() == [1, 2] and str(m).split() == 'Module() 2 parameters a: d=2 b: d=2 = a'.split()
    m.freeze()
    assert not m.a.requires_grad and m.unfreeze().b.requires_grad
    state = {'a': [5., 6.], 'b': [5., 6.]}
    m.load_state_dict(state)
    assert m.a is m.b and m.b.tolist() == [5, 6]
    with pytest.raises(fl.StateMismatch, match='b : differs from a'): m.load_state_dict({'a': [1., 2.], 'b': [2., 1.]})
    assert m.a.tolist() == [5, 6]
    m.load_state_dict({'b': [7., 8.]})
    assert m.a.tolist() == [7, 8]


def test_a_state_is_a_copy_both_ways():
    "L15: restoring [1, 2] gives [1, 2], and training never changes a dict that was taken or loaded"
    m = nn.Module()
    m.w = fl.param([1., 2.], 'd')
    best = m.state_dict()
    m.w.detach().add_(fl.ones('d', (2,)), alpha=-1)
    assert best['w'].tolist() == [1, 2] and m.w.tolist() == [0, 1]
    other = copy.deepcopy(m)
    m.load_state_dict(best); other.load_state_dict(best)
    m.w.detach().add_(fl.ones('d', (2,)))
    assert best['w'].tolist() == [1, 2] and other.w.tolist() == [1, 2] and m.w.tolist() == [2, 3]
    assert m.state_dict(copy=False)['w'] is m.w.data


WRONG = dict(
    missing=(lambda s: s.pop('layers.0.weight'), r"missing : layers\.0\.weight"),
    foreign=(lambda s: s.update(more=np.ones(2)), r'foreign : more'),
    misspelt=(lambda s: s.update({'layer.0.bias': s.pop('layers.0.bias')}),
              r"did you mean 'layers.0.bias' for 'layer.0.bias'\?"),
    prefix=(lambda s: [s.update({f'module.{k}': s.pop(k)}) for k in list(s)], r"removeprefix\('module\.'\)"),
    inner=(lambda s: [s.update({k.removeprefix('layers.'): s.pop(k)}) for k in list(s)], r"'layers\.' \+ k"),
    size=(lambda s: s.update({'layers.1.bias': np.ones(4, 'f4')}),
          r'layers\.1\.bias : hidden=3  given ndarray of shape \(4,\)'),
    turned=(lambda s: s.update({'layers.0.weight': s['layers.0.weight'].T}), r'turned[^$]*state\[name\]\.T turns it'),
    tags=(lambda s: s.update({'layers.1.bias': fl.ones('d', (3,))}), r'layers\.1\.bias : hidden=3  given d=3'),
    words=(lambda s: s.update({'layers.1.bias': np.array(['a', 'b', 'c'])}), 'layers.1.bias'),
    ragged=(lambda s: s.update({'layers.1.bias': [[1.], [1., 2.]]}), 'layers.1.bias'),
    imaginary=(lambda s: s.update({'layers.1.bias': np.ones(3) * 1j}), 'layers.1.bias'),
)

@pytest.mark.parametrize('spoil, said', WRONG.values(), ids=WRONG)
def test_a_state_that_does_not_fit_changes_nothing(spoil, said):
    m, state = MLP(), {k: v + 1 for k, v in MLP(7).state_dict().items()}
    spoil(state)
    before = m.state_dict()
    with pytest.raises(fl.StateMismatch, match=said) as e: m.load_state_dict(state)
    assert 'load_state_dict: nothing was changed' in str(e.value)
    assert all(np.array_equal(before[k], v) for k, v in m.state_dict().items())


def test_the_rest_of_a_state():
    m, other = MLP(), MLP(7)
    state = other.state_dict() | dict(more=np.ones(2))
    del state['scale']
    assert m.load_state_dict(state, strict=False) == (['scale'], ['more'])
    assert np.array_equal(m(X()), other(X()))
    turned = {k: fl.Tensor(v, other_t.tags).permute(*other_t.tags[::-1])
              for (k, other_t), v in zip(other.named_tensors(), other.state_dict().values())}
    assert MLP().load_state_dict(turned) == ([], []) and MLP().load_state_dict(other) == ([], [])
    for wrong in (None, 3, [1, 2], 'file'):
        with pytest.raises(fl.OptionError, match='dict of arrays'): m.load_state_dict(wrong)


def test_numbers_are_read_in_the_type_of_the_tensor():
    m = nn.Module()
    m.w, m.n, m.h = fl.param([1., 2.], 'd'), fl.Tensor([1, 2], 'd'), fl.Tensor([1., 2.], 'd', 'bf16')
    m.load_state_dict(dict(w=np.array([1.1, 2], 'f8'), n=np.array([3, 4], 'i4'), h=[1.001, 3]))
    assert m.w.dtype == 'f32' and m.w.data[0] == np.float32(1.1) and m.n.dtype == 'i64' and m.h.tolist() == [1, 3]
    with pytest.raises(fl.StateMismatch): m.load_state_dict(dict(w=[1, 2], n=[1.5, 2], h=[1, 2]))
    assert m.w.tolist()[0] != 1
    m.w = fl.param(np.broadcast_to(np.float32(1), (2,)), 'd')      # memory that cannot be written
    m.load_state_dict(dict(w=[5, 6], n=[1, 2], h=[1, 2]))
    assert m.w.tolist() == [5, 6]


def test_modes_and_freezing():
    m = nn.Sequential(nn.Linear('pixel=4', 'h=2'), nn.Dropout(.5), nn.Residual(nn.Dropout(.5)))
    assert m.eval() is m and not any(k.training for k in m.modules()) and m.train().modules()[-1].training
    m.train(False)
    assert not m[1].training
    m[0].freeze()
    assert m.parameters() == [] and [n for n, _ in m.named_buffers()] == ['0.weight', '0.bias'] and 'frozen' in str(m)
    assert len(copy.deepcopy(m).unfreeze().parameters()) == 2 and m.parameters() == []
    m.requires_grad_(True)
    assert len(m.parameters()) == 2 and len(m.requires_grad_(False).parameters()) == 0
    m = MLP().freeze().unfreeze()
    assert not m.scale.requires_grad and len(m.parameters()) == 6


def test_to_another_type_keeps_leaves_and_ties():
    m = MLP()
    m.count = fl.Tensor([1, 2], 'd')
    ids = list(map(id, m.parameters()))
    m(X()).sum().backward()
    assert m.to('f64') is m and list(map(id, m.parameters())) == ids and m.tied is m.heads['a'].weight
    assert all(p.dtype == 'f64' and p.grad is None for p in m.parameters())
    assert m.count.dtype == 'i64' and m.scale.dtype == 'f64'
    m(X().to('f64')).sum().backward()
    assert all(p.grad.dtype == 'f64' for p in m.parameters())
    for kind in ('i64', 'bool', 'cuda'):
        with pytest.raises(fl.DTypeError): m.to(kind)


def test_copies():
    m = MLP()
    twin, sent = copy.deepcopy(m), pickle.loads(pickle.dumps(m))
    for other in (twin, sent):
        assert np.array_equal(other(X()), m(X())) and other.tied is other.heads['a'].weight
        assert [n for n, _ in other.named_parameters()] == NAMES
        other.layers[0].weight.detach().mul_(0)
    assert m.layers[0].weight.data.any()
    m.zero_grad(); m(X()).sum().backward()
    assert m.layers[0].weight.grad is not None and not m.zero_grad() and m.layers[0].weight.grad is None


def test_apply_and_modules():
    seen = []
    m = MLP()
    assert m.apply(lambda k: seen.append(type(k).__name__)) is m and seen == ['Linear'] * 3 + ['MLP']


MISTAKES = {
    'assigning an array': (lambda m: setattr(m.layers[0], 'weight', np.ones((4, 3))),
                           r"weight is a parameter[^$]*fl\.param\(values, 'pixel hidden'\)"),
    'assigning a number': (lambda m: setattr(m, 'scale', 3), r'scale is a buffer, and 3'),
    'assigning a result': (lambda m: setattr(m, 'tied', m.tied * 2), r'a result of mul[^$]*detach\(\)\.add_'),
    'assigning a constant': (lambda m: setattr(m, 'tied', m.tied.detach()), 'a constant would take its place'),
    'a method gone': (lambda m: setattr(m, 'parameters', [1]), 'parameters is a method of every module'),
    'no forward': (lambda m: nn.Module()(X()), r'Module has no forward'),
    'a misspelt name': (lambda m: m.named_parameter, "did you mean 'named_parameters'"),
    'a place': (lambda m: m.cuda(), 'on the CPU'),
    'a type': (lambda m: m.double(), r"model\.to\('f32'\)"),
    'a buffer': (lambda m: m.register_buffer('a', X()), 'self.name = fl.Tensor'),
    'a method of Keras': (lambda m: m.fit(1, 2), 'a loop of yours'),
}

@pytest.mark.parametrize('wrong, said', MISTAKES.values(), ids=MISTAKES)
def test_mistakes(wrong, said):
    with pytest.raises(fl.FucinaError, match=said): wrong(MLP())


def test_what_may_be_assigned():
    m = MLP()
    m.scale, m.tied, m.layers[0].bias = fl.Tensor(3.), fl.param(fl.ones('hidden label', (3, 2))), None
    m.plain, m.training, m.forward = np.ones(3), False, lambda x: x
    m.last = m.layers[1](fl.ones('hidden', (3,)))
    m.last = m.last * 2
    assert 'last' not in dict(m.named_tensors()) and m(3) == 3
    assert hasattr(m, 'plain') and not hasattr(m, 'nothing')


def test_an_error_says_where():
    m = MLP()
    with pytest.raises(fl.ShapeMismatch, match=r'in MLP\.layers\.0(\n|$)'): m(fl.rand('batch pixel', (2, 5)))
    m.layers[1].weight = fl.param(fl.ones('other hidden', (3, 3)))
    with pytest.raises(fl.FucinaError, match=r'in MLP\.layers\.1'): m(X())
    with pytest.raises(fl.FucinaError, match=r'in Sequential\.0\.layers\.1'): nn.Sequential(m)(X())
    with pytest.raises(fl.FucinaError) as e: m.layers[1](X())
    assert e.value.where == 'Linear'
    assert nn.layer_path() == ''


def test_a_model_without_a_bottom_is_walked():
    m = nn.Module()
    m.child = nn.Module()
    m.child.parent, m.child.w = m, fl.param([1.], 'd')
    assert [n for n, _ in m.named_parameters()] == ['child.w'] and len(m.modules()) == 2 and '= Module' in str(m)


# ---- randomness by seed, place and step
class Drops(nn.Module):
    def __init__(self, *extra): self.extra, self.a, self.b = extra, nn.Dropout(.5), nn.Sequential(nn.Dropout(.5))
    def forward(self, x):
        for e in self.extra: e(x)
        return fl.stack([self.a(x), self.b(x), self.a(x)], 'call')

O = lambda n=64: fl.ones('d', (n,))

def test_masks_are_a_function_of_seed_place_and_step():
    def run(model, *step):
        with nn.at_step(*step): return model(O()).numpy()
    one = run(Drops(), 0, 5)
    assert np.array_equal(one, run(Drops(), 0, 5)) and len({r.tobytes() for r in one}) == 3
    assert not np.array_equal(one, run(Drops(), 0, 6)) and not np.array_equal(one, run(Drops(), 1, 5))
    fl.manual_seed(9); fl.rand('d', (3,))
    assert np.array_equal(one, run(Drops(nn.Dropout(.5)), 0, 5))      # another random layer in front
    assert not np.array_equal(run(Drops(), 0, 1, 2), run(Drops(), 0, 2, 1))
    with nn.at_step(0, 5), nn.at_step(0, 6): inner = Drops()(O()).numpy()
    assert np.array_equal(inner, run(Drops(), 0, 6))


def test_masks_on_threads():
    found = {}
    def work(i):
        with nn.at_step(0, i): found[i] = Drops()(O()).numpy()
    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads: t.start()
    for t in threads: t.join()
    for i in range(6):
        with nn.at_step(0, i): assert np.array_equal(found[i], Drops()(O()).numpy())


def test_masks_within_checkpoint():
    def run(block):
        w = fl.param(np.ones(64), 'd')
        with nn.at_step(0, 3):
            y = block(w)
            y.backward(np.arange(192.).reshape(3, 64))
            after = fl.rand('d', (4,)).numpy()
        return y.numpy(), w.grad.numpy(), after
    model = Drops()
    for a, b in zip(run(model), run(lambda w: fl.checkpoint(model, w))): assert np.array_equal(a, b)


def test_seeds_of_parts():
    assert nn.derived(None, 'a') is None and nn.derived(3) == 3
    names = ('a',), ('b',), ('a', 'b'), ('b', 'a'), (1,), (-1,)
    assert len({nn.derived(s, *n) for s in (0, 1) for n in names}) == 12
    for wrong in ('a', 1.5, None):
        with pytest.raises(fl.OptionError): nn.at_step(wrong, 1)
    with pytest.raises(fl.OptionError): nn.at_step(0, .5)


@nn.at_step(0, 1)
def drawn(): return fl.rand('d', (3,)).tolist()

def test_at_step_stands_over_a_function(): assert drawn() == drawn() and repr(nn.at_step(0, 1)) == 'at_step(0, 1)'


# ---- looks
def test_printing_is_the_specification():
    linear = nn.Linear('embed=4', 'head=2 d=2', bias=False)
    m = nn.Sequential(nn.Embedding('word=10', 'embed=4'), linear, nn.Softmax('d'))
    assert [line.strip() for line in str(m).splitlines()] == [
        'Sequential()                                      56 parameters',
        "0: Embedding('word=10', 'embed=4')              40", 'weight: word=10 embed=4',
        "1: Linear('embed=4', 'head=2 d=2', bias=False)  16", 'weight: embed=4 head=2 d=2', "2: Softmax('d')"]


def test_equal_blocks_print_once_and_pictures_stay_small():
    m = nn.Module()
    m.blocks = [nn.Sequential(nn.Linear('d=4', 'd=4'), nn.ReLU()) for _ in range(48)]
    m.other = [nn.Linear('d=4', f'e{i}=4') for i in range(200)]
    assert 'blocks.0 to blocks.47: 48 x Sequential()' in str(m)
    assert len(m._repr_html_()) < 10_000 and '48 ×' in m._repr_html_()


def test_summary():
    m = MLP()
    m.drop = nn.Dropout(.5)
    s = fl.summary(m, X())
    assert [(r.path, r.sizes, r.parameters, r.size) for r in s.rows] == [
        ('', 'batch=2 label=2', 35, 16), ('layers.0', 'batch=2 hidden=3', 15, 24),
        ('layers.1', 'batch=2 hidden=3', 12, 24),
        ('heads.a', 'batch=2 label=2', 8, 16)]
    assert s.parameters == 35 and s.bytes == 36 * 4 and m.training and m.drop.training
    assert str(s) == str(fl.summary(m, 'batch=2 pixel=4')) and '<table' in s._repr_html_()
    with pytest.raises(fl.ShapeMismatch, match=r'MLP\.layers\.0'): fl.summary(m, 'batch=2 pixel=5')
    assert m.training
    before = fl.rand('d', (3,)).tolist()
    fl.manual_seed(0); a = fl.rand('d', (3,)).tolist()
    fl.manual_seed(0); fl.summary(m, X(3)) ; X(); assert fl.rand('d', (3,)).tolist() == a != before
