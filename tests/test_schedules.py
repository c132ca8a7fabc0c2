"""Schedules: the factor of each step, by hand and beside torch; attached to an optimizer; resumed."""
import json, math
import pytest
import fucinalib as fl
from fucinalib.errors import OptionError
from fucinalib.optim import SGD, Schedule, steady, exponential, linear, stepwise, warmup_cosine


def optimizer(lr=1., **more): return SGD([fl.param([0.], 'd')], lr=lr, **more)

def rates(opt, schedule, n):
    "The rates that the next n updates use."
    found = []
    for _ in range(n):
        found.append(opt.lr)
        opt.slots[0].tensor.grad = [1.]
        opt.step()
        schedule.step()
    return found


# ---- by hand
def test_the_first_step_has_a_rate_and_the_last_of_warm_up_the_whole():
    "verl#3674: rates used by updates 1 to 6; libai#37 ended at 4.001."
    opt = optimizer(5.)
    assert rates(opt, Schedule(opt, steady, warmup=5), 7) == [1, 2, 3, 4, 5, 5, 5]


@pytest.mark.parametrize('step, right', [(0, .1), (9, 1.), (10, 1.), (55, .55), (100, .1), (101, .1), (10_000, .1)])
def test_warmup_cosine(step, right):
    assert warmup_cosine(step, 100, 10, .1) == pytest.approx(right, abs=1e-12)


@pytest.mark.parametrize('f', [warmup_cosine, linear])
def test_no_seam(f):
    "From the top of warm-up no jump, from there on never up, at the end the floor."
    way = [f(t, 40, 8, .2) for t in range(60)]
    assert max(abs(a - b) for a, b in zip(way[7:], way[8:])) < .06
    assert way[7] == way[8] == 1 and way[40] == pytest.approx(.2) and way[40:] == way[40:41] * 20
    assert all(a >= b for a, b in zip(way[8:], way[9:]))


@pytest.mark.parametrize('f', [warmup_cosine, linear])
@pytest.mark.parametrize('total, warmup', [(1, 0), (1, 1), (5, 5), (5, 0)])
def test_no_division_by_zero(f, total, warmup):
    "torchtitan PR 1010."
    way = [f(t, total, warmup, .5) for t in range(total + 3)]
    assert all(math.isfinite(v) and 0 < v <= 1 for v in way) and way[total] == .5


def test_curves():
    assert [linear(t, 4) for t in range(6)] == [1, .75, .5, .25, 0, 0]
    assert [stepwise(t, 2, .5, 1) for t in range(6)] == [1, 1, 1, .5, .5, .25]
    assert [exponential(t, .5, 2) for t in range(5)] == [.5, 1, 1, .5, .25]
    assert [steady(t) for t in range(3)] == [1, 1, 1]


# ---- beside torch
@pytest.mark.torch
@pytest.mark.parametrize('ours, theirs', [
    ((warmup_cosine, dict(total=20, min=.1)), ('CosineAnnealingLR', dict(T_max=20, eta_min=.03))),
    ((linear, dict(total=20, min=.25)), ('LinearLR', dict(start_factor=1., end_factor=.25, total_iters=20))),
    ((stepwise, dict(every=6, factor=.3)), ('StepLR', dict(step_size=6, gamma=.3))),
    ((exponential, dict(factor=.9)), ('ExponentialLR', dict(gamma=.9))),
    ((lambda t: 1 / (1 + t), {}), ('LambdaLR', dict(lr_lambda=lambda t: 1 / (1 + t)))),
    ((steady, dict(warmup=5)), ('LinearLR', dict(start_factor=.2, end_factor=1., total_iters=4))),
], ids=lambda v: str(v[0]) if isinstance(v[0], str) else '')
def test_twenty_rates_are_torchs(ours, theirs):
    import torch
    opt, two = optimizer(.3), torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=.3)
    mine, other = Schedule(opt, ours[0], **ours[1]), getattr(torch.optim.lr_scheduler, theirs[0])(two, **theirs[1])
    for _ in range(20):
        assert opt.lr == pytest.approx(two.param_groups[0]['lr'], rel=1e-12)
        two.step(), other.step(), mine.step()


# ---- attached
def test_each_group_keeps_its_base():
    a, b = fl.param([1.], 'd'), fl.param([1.], 'd')
    opt = SGD([dict(params=[a]), dict(params=[b], lr=.5)], lr=.1)
    schedule = Schedule(opt, linear, total=2)
    assert [g['lr'] for g in opt.groups] == [.1, .5]
    schedule.step()
    assert [g['lr'] for g in opt.groups] == [.05, .25]


@pytest.mark.parametrize('at', [0, 3, 7, 12, 20])
def test_resumed_it_goes_on_with_the_next_rate(at):
    "deit#145 repeated one. Whether the schedule is made before or after the optimizer's state is loaded."
    options = dict(total=15, warmup=5, min=.1)
    opt = optimizer()
    schedule = Schedule(opt, warmup_cosine, **options)
    rates(opt, schedule, at)
    saved = json.loads(json.dumps(schedule.state_dict()))
    state = opt.state_dict()
    right = rates(opt, schedule, 6)
    for first in (True, False):
        again = optimizer()
        if first: again.load_state_dict(state)
        other = Schedule(again, warmup_cosine, **options)
        if not first: again.load_state_dict(state)
        other.load_state_dict(saved)
        assert rates(again, other, 6) == right


# ---- what is refused
@pytest.mark.parametrize('call, said', [
    (lambda: warmup_cosine(-1, 10), 'step is -1'), (lambda: warmup_cosine(0, 10, -1), 'warmup is -1'),
    (lambda: warmup_cosine(0, 5, 10), 'total is 5'), (lambda: warmup_cosine(0, 0), 'total is 0'),
    (lambda: linear(0, 'ten'), "total is 'ten'"), (lambda: linear(0, 10, min=2), 'min is 2'),
    (lambda: warmup_cosine(0, 10, min=-.1), 'min is -0.1'), (lambda: stepwise(0, 0), 'every is 0'),
    (lambda: exponential(0, 1.5), 'factor is 1.5'), (lambda: exponential(0, True), 'factor is True'),
    (lambda: Schedule(optimizer(), warmup_cosine, total=5, warmup=9), 'total is 5'),
    (lambda: Schedule(optimizer(), lambda step: -1), 'lr is -1'),
    (lambda: Schedule([fl.param([1.], 'd')], steady), 'optimizer'),
    (lambda: Schedule(optimizer(), .5), 'function'),
    (lambda: Schedule(optimizer(), steady).load_state_dict({}), "'count'"),
    (lambda: Schedule(optimizer(), steady).load_state_dict({'count': 1, 'base.0': 1., 'base.1': 1.}), "'base.1'"),
    (lambda: Schedule(optimizer(), steady).load_state_dict({'count': -1, 'base.0': 1.}), 'count = -1'),
])
def test_refused(call, said):
    with pytest.raises(OptionError) as e: call()
    assert said in str(e.value) and 'help:' in str(e.value)


@pytest.mark.parametrize('name, said', [('StepLR', 'stepwise'), ('lr_scheduler', 'warmup_cosine'),
                                        ('LambdaLR', 'Schedule')])
def test_names_of_others(name, said):
    for owner in (fl, fl.optim):
        if owner is fl and name == 'LambdaLR': continue
        with pytest.raises(fl.UnknownName) as e: getattr(owner, name)
        assert 'Schedule' in str(e.value) and (owner is fl or said in str(e.value))


def test_what_torch_calls_the_last_rate():
    with pytest.raises(fl.UnknownName, match='opt.lr'): Schedule(optimizer(), steady).get_last_lr
