"""The engine: every path counted once, nothing kept too long, nothing run twice, and a mistake
named where it was made."""
import gc, threading, time, weakref
import numpy as np
import pytest
import fucinalib as fl
from fucinalib.autograd import reach
from fucinalib.errors import *

V = lambda data, tags='': fl.param(data, tags)
C = lambda data, tags='': fl.Tensor(data, tags)


# case 45: shared values, two passes, long chains, kept graphs

def test_shared_middle_value():
    x = V(1.5)
    y = x * 4
    (y * 3 + y * y).backward()
    assert x.grad.item() == 60 and y.grad.item() == 15

def test_fresh_graphs_accumulate_and_a_graph_runs_once():
    a, b = V(2.), V(5.)
    loss = a * b * 3
    loss.backward()
    assert (a.grad.item(), b.grad.item()) == (15, 6)
    with pytest.raises(BackwardAlreadyRun, match='help:'): loss.backward()
    assert (a.grad.item(), b.grad.item()) == (15, 6)
    (a * b * 3).backward()
    assert (a.grad.item(), b.grad.item()) == (30, 12)

def test_part_of_a_consumed_graph():
    x = V(2.)
    y = x * x
    (y * 3).backward()
    with pytest.raises(BackwardAlreadyRun, match='part of this graph'): (y * 4).backward()

def test_long_chain():
    x = r = V(0.)
    for _ in range(100_000): r = r + 1
    start = time.perf_counter()
    r.backward()
    assert x.grad.item() == 1 and time.perf_counter() - start < 10
    for _ in range(300_000): r = x = x + 1
    del r, x
    gc.collect()

def test_doubling_visits_each_node_once():
    x = r = V(1.)
    for _ in range(20): r = r + r
    assert len(reach(r.node)) == 21
    r.backward()
    assert x.grad.item() == 1048576

def test_what_is_kept():
    "A running total of losses keeps every graph; a running total of numbers keeps none."
    big = np.ones(1000, 'f4')
    def run(add):
        total, early = 0., None
        for i in range(50):
            y = V(big, 'd') * 2.
            loss = (y * y).sum()
            early = early or weakref.ref(y.data)
            total = total + add(loss)
            del y, loss
        gc.collect()
        return early, total
    early, total = run(lambda l: l)
    assert early() is not None
    early, total = run(lambda l: l.item())
    assert early() is None

@pytest.mark.parametrize('arrays,f',
                         [(0, lambda x: x.sum('r')), (0, lambda x: x.mean('r')),
                          (0, lambda x: x.neg()), (0, lambda x: x * 2.), (0, lambda x: x + x),
                          (0, lambda x: x.cumsum('c')), (0, lambda x: x.permute('c r')),
                          (1, lambda x: x.relu()), (1, lambda x: x.exp()), (1, lambda x: x.tanh()),
                          (1, lambda x: x.sigmoid()), (1, lambda x: x.sqrt()),
                          (1, lambda x: x.square()), (1, lambda x: x.softmax('c'))])
def test_rules_keep_what_they_need(arrays, f):
    "In whole arrays of the operand's size."
    from fucinalib.graph import held
    assert sum(held(f(V(np.ones((50, 40), 'f4'), 'r c')).node.rules, 6).values()) <= arrays * 8000 + 400

def test_saved_arrays_are_freed():
    x = V(np.ones(1000, 'f4'), 'd')
    y = x * 3.
    saved = weakref.ref(y.data)
    loss = (y * y).sum()
    del y
    assert saved() is not None      # the square still needs it
    loss.backward()
    assert saved() is None

def test_interior_gradients():
    x = V(np.ones(100, 'f4'), 'd')
    y = x * 3.
    (y * 2.).sum().backward()
    assert set(y.grad.tolist()) == {2.}


# seeds, constants, pruning

def test_seed():
    x = V([1., 2.], 'd')
    (x * 2).backward([1., 10.])
    assert x.grad.tolist() == [2, 20]
    y = V([[1., 2.], [3., 4.]], 'r c')
    (y * 1.).backward(C([[1., 2.], [3., 4.]], 'c r'))       # met by name
    assert y.grad.tolist() == [[1, 3], [2, 4]]

@pytest.mark.parametrize('kind,seed', [(MissingOutputGradient, None), (ShapeMismatch, [1.]),
                                       (ShapeMismatch, 1.), (ShapeMismatch, C([1., 1.], 'e')),
                                       (InvalidShape, []), (DTypeError, ['a', 'b'])])
def test_wrong_seed(kind, seed):
    y = V([1., 2.], 'd') * 2.
    with pytest.raises(kind, match='help:|gradient has'): y.backward(seed)
    y.backward([1., 1.])      # the graph is still usable

def test_mean_takes_part():
    "Case 03: the gradient of x - mean(x)."
    for seed, right in (([1., 1., 1., 1.], [0., 0., 0., 0.]), ([1., 0., 0., 0.], [.75, -.25, -.25, -.25])):
        x = V([2., 4., 6., 8.], 'd')
        x.sub(x.mean('d')).backward(seed)
        assert x.grad.tolist() == right

def test_constants_are_pruned():
    ran = []
    @fl.custom_vjp
    def f(x:fl.Tensor, y:fl.Tensor):
        return x.data * y.data, x.tags, (lambda g: g * y.data, lambda g: ran.append(1))
    x = V([1., 2.], 'd')
    f(x, C([3., 4.], 'd')).sum().backward()
    assert x.grad.tolist() == [3, 4] and not ran

def test_backward_of_constants():
    for y in (C(1.), C([1., 2.], 'd').sum(), V(1.).detach()):
        with pytest.raises(NoGradientGraph, match='help:'): y.backward()
    with fl.no_grad(): y = V(1.) * 2
    with pytest.raises(NoGradientGraph): y.backward()

def test_leaf_backward():
    x = V(3.)
    x.backward(); x.backward()
    assert x.grad.item() == 2


# leaves own their gradients

def test_no_shared_gradient_memory():
    x, y = V([1., 2.], 'd'), V([1., 2.], 'd')
    (x + y).sum().backward()
    x.grad.numpy()[:] = 99
    assert y.grad.tolist() == [1, 1]

def test_gradient_survives_the_seed():
    seed = np.ones(2, 'f4')
    x = V([1., 2.], 'd')
    for y in (x + 0., x):
        x.grad = None
        y.backward(seed)
        seed[:] = 7
        assert x.grad.tolist() == [1, 1]
        seed[:] = 1

def test_zero_and_set():
    x = V([1., 2.], 'd')
    (x * 2).sum().backward()
    x.zero_grad()
    assert x.grad is None
    x.grad = [5., 6.]
    (x * 2).sum().backward()
    assert x.grad.tolist() == [7, 8]
    with pytest.raises(NoGradientGraph): C([1.], 'd').grad = [1.]
    x.requires_grad = False
    assert not x.requires_grad and x.grad is None
    y = V([1.], 'd') * 2
    with pytest.raises(GradError, match='detach'): y.requires_grad = False


# recording

def test_no_grad_nests_and_is_per_thread():
    x = V(1.)
    with fl.no_grad():
        with fl.no_grad(): pass
        assert not (x * 2).requires_grad
        with fl.enable_grad(): assert (x * 2).requires_grad
        seen = []
        t = threading.Thread(target=lambda: seen.append((x * 2).requires_grad)); t.start(); t.join()
        assert seen == [True]
    assert (x * 2).requires_grad
    assert not fl.no_grad()(lambda: x * 2)().requires_grad
    with pytest.raises(ZeroDivisionError):
        with fl.no_grad(): 1 / 0
    assert fl.is_grad_enabled()

def test_detach_shares_memory():
    x = V([1., 2.], 'd')
    d = x.detach()
    assert np.shares_memory(d.data, x.data) and not d.requires_grad


# rules that misbehave

def broken(rule):
    @fl.custom_vjp
    def broken(x:fl.Tensor): return x.data * 1, x.tags, (rule,)
    return broken(V([1., 2.], 'd')).sum()

@pytest.mark.parametrize('kind,rule',
                         [(GradientShapeMismatch, lambda g: g.sum()),
                          (GradientShapeMismatch, lambda g: g[None]),
                          (GradientShapeMismatch, lambda g: g.astype('f8')),
                          (MissingBackwardGradient, lambda g: None), (GradError, lambda g: 1 / 0)])
def test_bad_rule(kind, rule):
    with pytest.raises(kind, match='broken'): broken(rule).backward()

def test_number_from_a_rule():
    "A rule may give a NumPy scalar for a single number."
    @fl.custom_vjp
    def f(x:fl.Tensor): return x.data * 2, x.tags, (lambda g: np.float32(2) * g[()],)
    x = V(1.)
    f(x).backward()
    assert x.grad.item() == 2

def test_joint_rule():
    @fl.custom_vjp
    def f(x:fl.Tensor, y:fl.Tensor): return x.data + y.data, x.tags, lambda g: (g, g)
    x, y = V([1.], 'd'), V([2.], 'd')
    f(x, y).sum().backward()
    x.grad.numpy()[:] = 5
    assert y.grad.tolist() == [1]


# checkpoint

def test_checkpoint_equals_plain():
    f = lambda x, w: (x * w + w) * x
    x, w = V([1., 2.], 'd'), V([3., 4.], 'd')
    f(x, w).sum().backward()
    x2, w2 = V([1., 2.], 'd'), V([3., 4.], 'd')
    y = fl.checkpoint(f, x2, w2)
    assert [len(y.node.parents), y.node.op.name] == [2, 'checkpoint']
    y.sum().backward()
    assert x2.grad.tolist() == x.grad.tolist() and w2.grad.tolist() == w.grad.tolist()

def test_checkpoint_corners():
    f = lambda x: x * x
    assert not fl.checkpoint(f, C([1.], 'd')).requires_grad
    x = V([3.], 'd')
    fl.checkpoint(lambda x: fl.checkpoint(f, x) * 2, x).sum().backward()        # nested
    assert x.grad.tolist() == [12]
    x, c, n = V([3.], 'd'), C([2.], 'd'), 5.
    fl.checkpoint(lambda x, c, n: x * c * n, x, c, n).sum().backward()
    assert x.grad.tolist() == [10]
    with pytest.raises(GradError, match='one tensor'): fl.checkpoint(lambda x: (x, x), V(1.))


# gradcheck itself

def test_gradcheck_finds_a_wrong_rule():
    @fl.custom_vjp
    def wrong(x:fl.Tensor): return x.data ** 3, x.tags, (lambda g: g * x.data ** 2,)
    with pytest.raises(GradientMismatch, match='d=1.*the rule says 4, differences say 12'):
        fl.gradcheck(lambda x: wrong(x).sum(), C([0., 2.], 'd'))

def test_gradcheck_refuses():
    with pytest.raises(NoGradientGraph): fl.gradcheck(lambda x: x, C([1, 2], 'd'))
    with pytest.raises(NoGradientGraph): fl.gradcheck(lambda x: C(1.), C([1., 2.], 'd'))
    with pytest.raises(GradientMismatch):        # NaN is never right
        @fl.custom_vjp
        def f(x:fl.Tensor): return x.data * 1, x.tags, (lambda g: g * np.nan,)
        fl.gradcheck(f, C([1.], 'd'))

def test_gradcheck_leaves_inputs_alone():
    x = V([1., 2.], 'd')
    fl.gradcheck(lambda x: x * x, x)
    assert x.grad is None and x.dtype == 'f32' and x.tolist() == [1, 2]


def test_wrong_calls_are_explained():
    x = C([1., 2.], 'd')
    with pytest.raises(OptionError, match='chosen by tag'): x.sum(dim=0)
    with pytest.raises(OptionError, match="did you mean 'other'"): x.add(othr=1)
    with pytest.raises(OptionError): x.add()
    with pytest.raises(OptionError): x.add(1, 2, 3)

def test_keywords_record_too():
    x, y = V([1.], 'd'), V([2.], 'd')
    fl.mul(other=y, x=x).sum().backward()
    assert x.grad.tolist() == [2] and y.grad.tolist() == [1]

def test_misfits_are_named():
    x = C([1., 2.], 'd')
    for call, words in ((lambda: fl.add([1.], x), "add: x is a list, not a tensor"),
                        (lambda: fl.relu(np.ones((2, 2))), r"Tensor\(x, 'row col'\)"),
                        (lambda: x.topk('d', '1'), "topk: k is '1'"),
                        (lambda: x.softmax(''), 'softmax'),
                        (lambda: fl.concat([x, 3], 'd'), 'concat takes a list of tensors'),
                        (lambda: x.layer_norm('d', eps='1'), "eps is '1'"),
                        (lambda: fl.band_mask(fl.Tensor([1.], 'd', 'f16')), 'help:')):
        with pytest.raises(fl.FucinaError, match=words): call()
    def own(x:fl.Tensor, k): raise KeyError('a fault of the rule itself')
    with pytest.raises(KeyError): fl.custom_vjp(own)(x, 3)

def test_no_grad_without_parentheses():
    x = V([1.], 'd')
    @fl.no_grad
    def f(): return x * 2
    assert not f().requires_grad and (x * 2).requires_grad
    for wrong in (lambda: fl.no_grad(3), lambda: fl.checkpoint(3, x), lambda: fl.custom_vjp(3)):
        with pytest.raises(OptionError, match='help:'): wrong()
