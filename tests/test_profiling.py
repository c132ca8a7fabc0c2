"""A profile: every operation once, nothing counted twice, and the step itself unchanged."""
import numpy as np
import pytest
import fucinalib as fl


def test_operations_by_layer_and_both_ways():
    model = fl.nn.Sequential(fl.nn.Linear('a=4', 'b=8', seed=0), fl.nn.ReLU(), fl.nn.Linear('b=8', 'c=3', seed=1))
    opt, x = fl.optim.SGD(model, lr=.1), fl.Tensor(np.ones((5, 4), 'f4'), 'n a')
    def step(x):
        opt.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        opt.step()
    p = fl.profile(step, x, runs=2)
    rows = {(r.name, r.path): r for r in p.rows}
    assert {('dot', '0'), ('dot', '2'), ('relu', '1'), ('sum', ''), ('SGD.step', '')} <= {*rows}
    assert rows['relu', '1'].calls == 2 and rows['relu', '1'].bytes == [2 * 5 * 8 * 4] * 2
    assert all(r.time[0] > 0 for r in p.rows) and rows['dot', '2'].time[1] > 0
    assert sum(r.total for r in p.rows) + p.rest == pytest.approx(p.seconds)
    assert [r.path for r in p.by('layer').rows if r.path] and len(p.by('op').rows) < len(p.rows)
    assert 'relu' in repr(p) and p._repr_html_().count('<tr>') == len(p.rows) + 2


def test_no_second_counts_twice(monkeypatch):
    "Of an operation that calls another, what the other took belongs to the other."
    import itertools
    from fucinalib import profiling
    from fucinalib.autograd import op, registry
    @op('test', composed=True, attach=False, differentiable=False)
    def outer_op(x: fl.Tensor): return inner_op(x)
    @op('test', attach=False, differentiable=False)
    def inner_op(x: fl.Tensor): return x.data * 2, x.tags, None
    monkeypatch.setattr(profiling, 'perf_counter', map(float, itertools.count()).__next__)      # ticks when it is read
    try: rows = {r.name: r for r in fl.profile(lambda: outer_op(fl.Tensor([1.], 'a')), runs=1).rows}
    finally: del registry['outer_op'], registry['inner_op']
    assert (rows['inner_op'].time[0], rows['outer_op'].time[0]) == (1., 2.)


def test_the_step_is_the_same_and_nobody_watches_afterwards():
    from fucinalib.hooks import watching
    w = fl.param([1., 2.], 'd')
    def step():
        w.zero_grad()
        (w * w).sum().backward()
    fl.profile(step)
    assert w.grad.tolist() == [2., 4.] and not watching


@pytest.mark.parametrize('call', [lambda: fl.profile(3), lambda: fl.profile(lambda: 1, runs=0),
                                  lambda: fl.profile(lambda: 1, runs=1.5)])
def test_mistakes(call):
    with pytest.raises(fl.OptionError): call()


def test_a_step_of_no_operations(): assert 'Python besides' in repr(fl.profile(lambda: 1))
