"""Optimizers: steps equal to torch's and to numbers by hand, on both backends and in every number
type; groups, clipping, accumulation and state; what is refused, before anything has moved."""
import json
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import kernels
from fucinalib.errors import GradError, NoGradientGraph, NonFiniteValue, OptionError, ShapeMismatch
from fucinalib.nn import Module
from fucinalib.optim import SGD, Accumulation, Adam, AdamW, Optimizer, clip_grad_norm

BACKENDS = kernels.backends()
SHAPES = (3,), (70, 5), (40_000,), ()       # below and above a piece; a single number
OPTIONS = [(SGD, o) for o in (
    dict(lr=.1), dict(lr=.1, weight_decay=.1), dict(lr=.1, momentum=.9),
    dict(lr=.05, momentum=.5, dampening=.3, weight_decay=.1),
    dict(lr=.1, momentum=.9, nesterov=True, weight_decay=.01))]
OPTIONS += [(kind, o) for kind in (Adam, AdamW) for o in (
    dict(lr=.1), dict(lr=.01, weight_decay=.1), dict(lr=.1, betas=(.5, .9), eps=1e-3), dict(lr=.1, betas=(0., .99)))]


@pytest.fixture(params=BACKENDS)
def backend(request):
    with fl.use_backend(request.param): yield request.param


def leaf(a): return fl.param(np.array(a), 'abc'[:0] + ' '.join('abc'[:np.ndim(a)]))

def close(ours, theirs, tol):
    "Equal to within `tol` of the largest value."
    theirs = np.asarray(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=tol, atol=tol * max(1, np.abs(theirs).max()))

def one_step(kind, w, g, dtype='f4', **options):
    p = leaf(np.array(w, dtype))
    opt = kind([p], **options)
    p.grad = np.array(g, dtype)
    opt.step()
    return p.numpy()


# ---- beside torch
@pytest.mark.torch
@pytest.mark.parametrize('dtype, tol', [('f4', 1e-5), ('f8', 1e-12)])
@pytest.mark.parametrize('kind, options', OPTIONS)
def test_twenty_steps_are_torchs(kind, options, dtype, tol, backend):
    "Also of parameters that have no gradient in some steps: they stay, and count no step."
    import torch
    rng = np.random.default_rng(0)
    ours = [leaf(rng.standard_normal(s).astype(dtype)) for s in SHAPES]
    theirs = [torch.tensor(p.data, requires_grad=True) for p in ours]
    one, two = kind(ours, **options), getattr(torch.optim, kind.__name__)(theirs, **options)
    for i in range(20):
        for j, (p, q) in enumerate(zip(ours, theirs)):
            g = rng.standard_normal(p.shape).astype(dtype)
            p.grad, q.grad = (None, None) if (i + j) % 5 == 0 else (g, torch.tensor(g))
        one.step(), two.step()
    for p, q in zip(ours, theirs): close(p.data, q.detach().numpy(), tol)


@pytest.mark.torch
def test_groups_are_torchs(backend):
    import torch
    ours = [leaf([1., 2.]), leaf([3.])]
    theirs = [torch.tensor(p.data, requires_grad=True) for p in ours]
    groups = lambda ps: [dict(params=ps[:1], lr=.1), dict(params=ps[1:], weight_decay=0.)]
    one, two = AdamW(groups(ours), lr=.01, weight_decay=.5), torch.optim.AdamW(groups(theirs), lr=.01, weight_decay=.5)
    for i in range(20):
        for p, q in zip(ours, theirs):
            g = np.cos(np.arange(p.numel) + i)
            p.grad, q.grad = g, torch.tensor(g)
        one.step(), two.step()
    for p, q in zip(ours, theirs): close(p.data, q.detach().numpy(), 1e-5)


@pytest.mark.torch
@pytest.mark.parametrize('most', [.1, 1e3])
def test_clipping_is_torchs(most, backend):
    import torch
    rng = np.random.default_rng(1)
    ours = [leaf(np.zeros(s, 'f4')) for s in SHAPES]
    theirs = [torch.zeros(s, requires_grad=True) for s in SHAPES]
    for p, q in zip(ours, theirs):
        g = rng.standard_normal(p.shape).astype('f4')
        p.grad, q.grad = g, torch.tensor(g)
    assert clip_grad_norm(ours, most) == pytest.approx(float(torch.nn.utils.clip_grad_norm_(theirs, most)), rel=1e-6)
    for p, q in zip(ours, theirs): close(p.grad, q.grad.numpy(), 1e-6)


# ---- by hand
# what torch 2.13 gives for w = [1, -2], gradients [.5, -.1] and [1, .3] in turns, five steps
STORED = {
    (SGD, (('lr', .1), ('momentum', .9), ('nesterov', True))): [-.1817395, -2.1039071],
    (Adam, (('lr', .1), ('weight_decay', .1))): [.5148789371, -1.7099214507],
    (AdamW, (('lr', .1), ('weight_decay', .1))): [.4791672792, -1.9484521551],
}

@pytest.mark.parametrize('kind, options', STORED)
def test_stored_numbers(kind, options, backend):
    w = leaf(np.array([1., -2.]))
    opt = kind([w], **dict(options))
    for i in range(5):
        w.grad = np.array([[.5, -.1], [1, .3]][i % 2])
        opt.step()
    close(w.data, STORED[kind, options], 1e-7)


@pytest.mark.parametrize('dtype', ['f4', 'f8'])
@pytest.mark.parametrize('kind', [Adam, AdamW])
def test_eps_is_outside_the_bias_correction(kind, dtype, backend):
    "karpathy/nanochat#304: with eps beside the uncorrected root the first step is 0.03 and 0.76."
    w = one_step(kind, [0, 0], [1e-8, 1e-6], dtype, lr=1., weight_decay=0.)
    np.testing.assert_allclose(w, [-.5, -.99009901], rtol=1e-6)


def test_the_order_of_decay(backend):
    "bitsandbytes#2010: AdamW decays first, Adam adds to the gradient, whose size a first step divides away."
    assert one_step(AdamW, [1], [1], lr=.1, weight_decay=.5) == pytest.approx(.85, rel=1e-6)
    assert one_step(Adam, [1], [1], lr=.1, weight_decay=.5) == pytest.approx(.9, rel=1e-6)
    assert one_step(SGD, [1], [1], lr=.1, weight_decay=.5) == pytest.approx(.85, rel=1e-6)


def test_what_has_no_gradient_does_not_decay(backend):
    w, b, frozen = leaf([1.]), leaf([1.]), leaf([1.])
    opt = AdamW([dict(params=[w, frozen]), dict(params=[b], weight_decay=0)], lr=.1, weight_decay=.5)
    frozen.requires_grad = False
    b.grad = [0.]
    opt.step()
    assert w.item() == b.item() == frozen.item() == 1
    assert '0.steps' not in opt.state_dict() and opt.state_dict()['0.0.steps'] == 0


class Tied(Module):
    "One tensor as two layers."
    def __init__(self): self.a = self.b = leaf([3., 4.])
    def forward(self): return self.a.sum() + self.b.sum()


def test_a_shared_parameter_moves_once(backend):
    "torch/nn#395; Megatron-LM PR 7227 for the norm."
    m = Tied()
    m().backward()
    for params in (m, [m.a, m.b], m.parameters(), (p for p in (m.a, m.b)), dict(a=m.a, b=m.b)):
        assert clip_grad_norm(params, 100.) == pytest.approx(8**.5)
    opt = SGD([m.a, m.b], lr=1.)
    opt.step()
    assert m.a.tolist() == [1, 2] and len(opt.slots) == 1
    assert [s.name for s in SGD(m).slots] == ['a']


def test_momentum_begins_with_the_gradient(backend):
    "As if there were no dampening, also when momentum is switched on later."
    w = leaf(np.array([0.]))
    opt = SGD([w], lr=1., dampening=.5)
    for on in (False, True):
        opt.groups[0]['momentum'] = .9 * on
        before = w.item()
        w.grad = [1.]
        opt.step()
        assert w.item() == before - 1


# ---- memory
def test_a_step_between_forward_and_backward_is_caught(backend):
    w = leaf([1., 2.])
    for kind in (SGD, AdamW):
        loss = (w * w).sum()
        w.grad = [1., 1.]
        kind([w], lr=.1).step()
        with pytest.raises(GradError, match=f'{kind.__name__}.step has changed'): loss.backward()
    w.grad = [1., 1.]
    (w + 1).sum().backward()        # holds nothing of w
    clip_grad_norm([w], .1)


@pytest.mark.parametrize('make', [lambda: np.zeros((4, 6), 'f4').T, lambda: np.zeros((6, 8), 'f4')[:, ::2],
                                  lambda: np.asfortranarray(np.zeros((6, 4), 'f4'))])
def test_any_layout_moves_where_it_lies(make, backend):
    a = make()
    w, g = fl.param(a, 'row col'), np.arange(24., dtype='f4').reshape(6, 4)
    w.grad = np.asfortranarray(g)
    SGD([w], lr=1.).step()
    np.testing.assert_array_equal(a, -g)
    assert w.data is a


@pytest.mark.parametrize('dtype', ['f16', 'bf16'])
def test_sixteen_bits_have_a_master_copy(dtype, backend):
    "1 - 0.001 is 1 in bf16: a hundred such steps are lost without it."
    w = fl.param([1., 1.], 'd', dtype)
    opt = SGD([w], lr=1e-3)
    for _ in range(100):
        w.grad = np.ones(2, 'f4')
        opt.step()
    assert w.tolist() == pytest.approx([.9, .9], rel=4e-3) and w.dtype == dtype
    w.data[0] = 5           # who writes to the weight is heard
    w.grad = np.ones(2, 'f4')
    opt.step()
    assert w.tolist() == pytest.approx([5, .899], rel=4e-3)


def test_backends_agree():
    found = []
    for name in BACKENDS:
        with fl.use_backend(name):
            w = leaf(np.linspace(-1, 1, 40_000).astype('f4'))
            opt = AdamW([w], lr=.1, weight_decay=.1)
            for i in range(5): w.grad = np.sin(w.data * (i + 1)); opt.step()
            found.append(w.data)
    for a in found[1:]: close(a, found[0], 1e-6)


# ---- what is refused
@pytest.mark.parametrize('kind, make, said', [
    (NoGradientGraph, lambda: SGD([fl.Tensor([1.], 'd')]), "constant, '0'"),
    (GradError, lambda: SGD([leaf([1.]) * 2]), 'result'),
    (GradError, lambda: SGD([fl.param(np.broadcast_to(np.float32(1), 3), 'd')]), 'read-only'),
    (OptionError, lambda: SGD(leaf([1.])), 'list'),
    (OptionError, lambda: SGD([]), 'no parameters'),
    (OptionError, lambda: SGD([np.zeros(2)]), 'no tensor'),
    (OptionError, lambda: SGD(Tied().parameters), 'brackets'),
    (OptionError, lambda: SGD([leaf([1.])], lr=-1), 'lr is -1'),
    (OptionError, lambda: SGD([leaf([1.])], lr=np.nan), 'lr is nan'),
    (OptionError, lambda: SGD([leaf([1.])], lr='fast'), "lr is 'fast'"),
    (OptionError, lambda: SGD([leaf([1.])], nesterov=1), 'nesterov is 1'),
    (OptionError, lambda: SGD([leaf([1.])], nesterov=True), 'momentum'),
    (OptionError, lambda: SGD([leaf([1.])], momentum=.9, dampening=.1, nesterov=True), 'dampening'),
    (OptionError, lambda: AdamW([leaf([1.])], betas=(.9, 1.)), 'betas'),
    (OptionError, lambda: AdamW([leaf([1.])], betas=.9), 'betas'),
    (OptionError, lambda: AdamW([leaf([1.])], learning_rate=.1), 'it is called lr'),
    (OptionError, lambda: AdamW([leaf([1.])], weigth_decay=.1), "did you mean 'weight_decay'"),
    (OptionError, lambda: AdamW([leaf([1.])], fused=True), 'one kernel'),
    (OptionError, lambda: AdamW([dict(params=[leaf([1.])], lrate=1)]), 'lrate'),
    (OptionError, lambda: clip_grad_norm([leaf([1.])], -1), 'max_norm is -1'),
    (OptionError, lambda: clip_grad_norm([leaf([1.])], 1, nonfinite='ignore'), 'ignore'),
    (OptionError, lambda: Accumulation([leaf([1.])]).finish(), 'nothing'),
])
def test_refused(kind, make, said):
    with pytest.raises(kind) as e: make()
    assert said in str(e.value) and 'help:' in str(e.value)


def test_one_tensor_in_two_groups_is_an_error():
    w, v = leaf([1.]), leaf([2.])
    with pytest.raises(OptionError, match='two groups'): SGD([dict(params=[w]), dict(params=[v, w])])


@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_a_gradient_that_is_no_number_moves_nothing(bad, backend):
    a, b = leaf([1., 2.]), leaf(np.ones(40_000, 'f4'))
    opt = AdamW(dict(first=a, late=b), lr=.1)
    a.grad, b.grad = [1., 1.], np.where(np.arange(40_000) == 39_999, bad, 0)
    with pytest.raises(NonFiniteValue, match='1 of 40000 values of the gradient of late'): opt.step()
    assert a.tolist() == [1, 2] and (b.data == 1).all() and opt.state_dict()['first.steps'] == 0
    with pytest.raises(NonFiniteValue, match='late'): clip_grad_norm(opt, 1.)
    with pytest.warns(RuntimeWarning, match='late'): norm = clip_grad_norm(opt, 1., nonfinite='skip')
    assert not np.isfinite(norm)
    opt.step()
    assert a.tolist() == [1, 2] and (b.data == 1).all()


@pytest.mark.parametrize('kind', [SGD, AdamW])
def test_of_many_numbers_only_what_is_near_a_bad_one_stays(kind, backend):
    "More than a million are looked at while they move; the moments stay numbers too."
    w, b = leaf(np.ones(1_200_000, 'f4')), leaf(np.ones(3, 'f4'))
    opt = kind(dict(w=w, b=b), lr=.1)
    if kind is SGD: opt.groups[0]['momentum'] = .9
    b.grad, w.grad = np.ones(3, 'f4'), np.where(np.arange(1_200_000) == 500_000, np.nan, 1)
    with pytest.raises(NonFiniteValue, match='1 of 1200000 .* of w .*; what is near them stayed'): opt.step()
    still = np.flatnonzero(w.data == 1)
    assert still.size == 1 << 14 and still[0] <= 500_000 <= still[-1] and (b.data < 1).all()
    assert all(np.isfinite(v).all() for v in opt.state_dict().values() if isinstance(v, np.ndarray))
    with pytest.raises(NonFiniteValue): clip_grad_norm(opt, 1.)


@pytest.mark.parametrize('dtype, size', [('f4', 1e30), ('f8', 1e200), ('f4', 1e-30), ('f8', 1e-200)])
def test_the_norm_of_extreme_gradients(dtype, size, backend):
    w = leaf(np.zeros(2, dtype))
    w.grad = np.array([3, 4], dtype) * np.dtype(dtype).type(size)
    assert clip_grad_norm([w], 1e300) == pytest.approx(5 * size, rel=1e-6)
    SGD([w], lr=0.).step()      # large, and finite


def test_a_parameter_that_became_another_is_told():
    w = leaf([1., 2.])
    opt = SGD([w])
    w.data = np.zeros(3, 'f4')
    w.node.grad = np.zeros(3, 'f4')
    with pytest.raises(ShapeMismatch, match='other sizes'): opt.step()


# ---- rates
def test_the_rate_is_read_and_set():
    a, b = leaf([1.]), leaf([2.])
    opt = SGD([dict(params=[a]), dict(params=[b], lr=.5)], lr=.1)
    with pytest.raises(OptionError, match=r'\[0.1, 0.5\]'): opt.lr
    opt.lr = .25
    assert opt.lr == .25 and opt.groups[1]['lr'] == .25
    with pytest.raises(OptionError, match='lr is -1'): opt.lr = -1
    with pytest.raises(OptionError, match='rl'): opt.groups[0]['rl'] = 1
    assert repr(opt) == ('SGD(lr=0.25, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False): '
                         '2 tensors, 2 numbers')


def test_zero_grad():
    w = leaf([1.])
    w.grad = [1.]
    opt = SGD([w])
    opt.zero_grad()
    assert w.grad is None


# ---- accumulation
def test_parts_of_any_size_are_one_batch(backend):
    "Rows that count differently, and one that does not count at all."
    rng = np.random.default_rng(3)
    x, y, counts = rng.standard_normal((8, 2)), rng.standard_normal(8), np.array([1, 1, 0, 1, 1, 1, 1, 1.])
    def loss(w, rows):
        e = fl.Tensor(x[rows], 'row d').dot(w, 'd') - fl.Tensor(y[rows], 'row')
        return (e.square() * fl.Tensor(counts[rows], 'row')).sum()
    w, whole = fl.param(np.zeros(2), 'd'), fl.param(np.zeros(2), 'd')
    parts = Accumulation([w])
    for rows in (slice(0, 1), slice(1, 6), slice(6, 8)): parts.add(loss(w, rows), counts[rows].sum())
    mean = loss(whole, slice(0, 8)) / 7
    mean.backward()
    assert parts.finish() == pytest.approx(mean.item())
    close(w.grad, whole.grad.numpy(), 1e-12)
    with pytest.raises(OptionError): parts.finish()


# ---- state
def trained(kind, steps, opt=None, w=None, start=0, **options):
    w = w or dict(a=leaf(np.ones(3, 'f4')), b=leaf(np.ones((2, 2), 'f4')), never=leaf([1.]))
    opt = opt or kind(w, lr=.1, **options)
    for i in range(start, start + steps):
        for name in ('a', 'b'): w[name].grad = np.cos(w[name].data * (i + 1))
        opt.step()
    return opt, w

@pytest.mark.parametrize('kind, options', [(SGD, {}), (SGD, dict(momentum=.9, nesterov=True)), (Adam, {}), (AdamW, {})])
def test_going_on_is_bit_for_bit(kind, options, backend):
    opt, w = trained(kind, 4, **options)
    state = opt.state_dict()
    numbers = json.loads(json.dumps({k: v for k, v in state.items() if not isinstance(v, np.ndarray)}))
    arrays = {k: v for k, v in state.items() if isinstance(v, np.ndarray)}
    copy = {k: leaf(v.data.copy()) for k, v in w.items()}
    trained(kind, 3, opt, w, 4)
    again = kind(copy, lr=.7)
    if options: again.groups[0].update(**options)
    again.load_state_dict({**numbers, **arrays})
    trained(kind, 3, again, copy, 4)
    for k in w: np.testing.assert_array_equal(w[k].data, copy[k].data)
    one, two = opt.state_dict(), again.state_dict()
    assert one.keys() == two.keys() and all(np.array_equal(one[k], two[k]) for k in one)


def test_a_state_is_a_copy_both_ways():
    "pytorch#34765 for the optimizer: what was saved, or loaded, does not change with training."
    opt, w = trained(AdamW, 2)
    state = opt.state_dict()
    before = {k: np.copy(v) for k, v in state.items()}
    again, _ = trained(AdamW, 1)
    again.load_state_dict(state)
    for o in (opt, again): trained(AdamW, 2, o, dict(o.named_parameters()))
    assert all(np.array_equal(before[k], v) for k, v in state.items())


def changed_state(**change):
    state = trained(AdamW, 2)[0].state_dict() | change
    return {k: v for k, v in state.items() if v is not None}

@pytest.mark.parametrize('change, said', [
    ({'optimizer': 'SGD'}, "'SGD' into AdamW"), ({'optimizer': None}, 'None into AdamW'),
    ({'a.first': None}, "without 'a.first'"), ({'a.second': np.zeros(4, 'f4')}, "another 'a.second'"),
    ({'a.second': np.zeros(3)}, "another 'a.second'"), ({'c.first': np.zeros(3, 'f4')}, "also has 'c.first'"),
    ({'a.steps': -1}, 'a.steps'), ({'a.steps': 'two'}, 'a.steps'), ({'b.group': 1}, 'b.group'),
    ({'groups.0.lr': -1.}, 'lr is -1'), ({'groups.0.eps': None}, 'groups.0.eps'),
    ({'never.first': np.zeros(1, 'f4')}, 'never.first'),
])
def test_a_foreign_state_is_refused_and_nothing_has_changed(change, said):
    opt, _ = trained(AdamW, 3)
    before = opt.state_dict()
    with pytest.raises((OptionError, ShapeMismatch)) as e: opt.load_state_dict(changed_state(**change))
    assert said in str(e.value)
    after = opt.state_dict()
    assert before.keys() == after.keys() and all(np.array_equal(before[k], after[k]) for k in before)


def test_names_of_groups():
    "Numbers of two lists would be the same; paths of a model are their own."
    a, b = leaf([1.]), leaf([2.])
    assert [s.name for s in SGD([dict(params=[a]), dict(params=[b])]).slots] == ['0.0', '1.0']
    assert [s.name for s in SGD([('w', a), ('v', b)]).slots] == ['w', 'v']
    assert [s.name for s in SGD([dict(params=Tied()), dict(params=dict(v=b))]).slots] == ['a', 'v']


# ---- one's own
class Lion(Optimizer):
    kept = 'average',
    def __init__(self, params, lr=.1): super().__init__(params, lr=lr)
    def update(self, w, g, memory, group, steps):
        w -= group['lr'] * np.sign(.9 * memory['average'] + .1 * g)
        memory['average'] += .01 * (g - memory['average'])

def test_an_optimizer_of_ones_own(backend):
    w = leaf([1., -1.])
    opt = Lion([w])
    for g in ([1., -2.], [1., -2.]): w.grad = g; opt.step()
    assert w.tolist() == pytest.approx([.8, -.8]) and repr(opt) == 'Lion(lr=0.1): 1 tensors, 2 numbers'
    np.testing.assert_allclose(opt.state_dict()['0.average'], [.0199, -.0398], rtol=1e-5)
    with pytest.raises(OptionError, match='no update'):
        w.grad = [1., 1.]
        Optimizer([w]).step()


@pytest.mark.parametrize('name, said', [('Adamw', 'fl.optim.AdamW'), ('RMSprop', 'optim.Optimizer'),
                                        ('sgd', 'fl.optim.SGD'), ('clip_grad_norm_', 'clip_grad_norm(model')])
def test_names_of_others(name, said):
    with pytest.raises(fl.UnknownName) as e: getattr(fl.optim, name)
    assert said in str(e.value)


@pytest.mark.parametrize('name, said', [('param_groups', 'opt.groups'), ('zero_gard', "'zero_grad'"), ('lrs', "'lr'"),
                                        ('minimize', 'opt.step')])
def test_attributes_of_others(name, said):
    import copy
    opt = AdamW([leaf([1.])])
    with pytest.raises(fl.UnknownName) as e: getattr(opt, name)
    assert said in str(e.value)
    assert not hasattr(opt, '__len__') and copy.copy(opt).lr == 1e-3


def test_options_of_numpy_and_tensors_become_plain():
    "What a schedule, a sweep or a tensor gives is a plain number of the right kind, in a state too."
    opt = SGD([leaf([1.])], lr=np.float32(.5), momentum=fl.Tensor(.25), nesterov=np.bool_(True),
              weight_decay=np.int64(0))
    group = opt.groups[0]
    assert [(type(group[n]), group[n]) for n in ('lr', 'momentum', 'nesterov', 'weight_decay')] == [
        (float, .5), (float, .25), (bool, True), (float, 0.)]
    rank = fl.optim.Apollo([leaf([[1., 2.]])], rank=np.int32(3)).groups[0]['rank']
    assert type(rank) is int and rank == 3
