"""Training: figures weighed by what they count, steps as a plain loop has them, and runs that go on to the last bit."""
import io, math, os, sys
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import nn, optim, train
from fucinalib.errors import (CheckpointError, EmptySelection, InvalidShape, NonFiniteValue, OptionError)
from fucinalib.train import Average, Callback, Checkpoints, EarlyStop, KeepBest, Learner
from fucinalib.train import curves, progress

BACKENDS = [b for b in ('numpy', 'pythran') if b in fl.backends()]


@pytest.fixture(params=BACKENDS)
def backend(request):
    with fl.use_backend(request.param): yield request.param


def rows(n=30, seed=0, dtype='f4'):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).astype(dtype)
    return fl.Tensor(x, 'row feature'), fl.Tensor((x.sum(1) > 0).astype('i8'), 'row')

def pieces(x, y, *sizes):
    "Batches of these sizes, one after the other."
    at = np.cumsum([0, *sizes])
    return [(x.narrow('row', int(a), n), y.narrow('row', int(a), n)) for a, n in zip(at, sizes)]

def model(dropout=0., dtype='f32'):
    return nn.Sequential(nn.Linear('feature=4', 'hidden=8', seed=1, dtype=dtype), fl.tanh, nn.Dropout(dropout),
                         nn.Linear('hidden=8', 'class=2', seed=2, dtype=dtype))

def made(net=None, opt=optim.AdamW, lr=.01, step=None, **options):
    net = model() if net is None else net
    def usual(x, y):
        scores = net(x)
        return dict(loss=scores.cross_entropy('class', y), accuracy=(scores.argmax('class') == y).to('f32').mean())
    return Learner(net, opt(net, lr=lr), step or usual, **dict(show=False) | options)

def weights(learner): return learner.model.state_dict()

def same(a, b):
    assert a.keys() == b.keys()
    return all(np.asarray(a[n]).tobytes() == np.asarray(b[n]).tobytes() for n in a)


# ---- what counts (case L13)

def test_a_smaller_last_batch_weighs_less():
    found = Average()
    for value, count in [(.7, 256), (.8, 256), (.9, 10)]: found.add('accuracy', value, count)
    for value, count in [(1.2, 5), (1.3, 3)]: found.add('loss', value, count)
    assert found.means() == pytest.approx(dict(accuracy=.75287356, loss=1.2375))

def test_figures_of_an_epoch_are_those_of_all_rows():
    x, y = rows(101)
    learner = made(opt=optim.SGD, lr=1e-30)      # weights stay as they are
    learner.fit(pieces(x, y, *[10] * 10, 1), 1, valid=pieces(x, y, 40, 40, 21))
    whole, row = learner.evaluate([(x, y)]), learner.history[0]
    for name in ('loss', 'accuracy'):
        assert row[name] == pytest.approx(whole[name], rel=1e-6) == pytest.approx(row[f'valid {name}'], rel=1e-6)

def test_tokens_count_not_rows():
    losses, words = [2., 4., 9.], [8, 1, 0]
    def step(i): return dict(loss=net.layers['0'].bias.sum() * 0 + losses[i], count=words[i], rare=(1., 2 if i else 0))
    net = nn.Sequential(nn.Linear('a=1', 'b=1', seed=0))
    learner = made(net, step=step)
    learner.fit([0, 1, 2], 1)
    assert learner.history[0]['loss'] == pytest.approx(20 / 9) and learner.history[0]['rare'] == 1
    assert math.exp(learner.history[0]['loss']) == pytest.approx(math.exp(20 / 9))      # perplexity of the mean

def test_a_figure_that_counts_nothing_is_left_out():
    x, y = rows(4)
    learner = made(step=lambda x, y: dict(loss=learner.model(x).cross_entropy('class', y), rare=(float('nan'), 0)))
    assert set(learner.fit([(x, y)], 1)[0]) == {'epoch', 'loss'}

@pytest.mark.parametrize('batch, n', [((fl.ones('a b', (3, 2)), 1), 3), ([np.ones((5, 1))], 5), (dict(x=np.ones(7)), 7),
                                      (((np.ones((2, 2)), 0), 1), 2), (3, 1), ((), 1), (np.ones(()), 1)])
def test_rows_of_a_batch(batch, n): assert train.learner.rows_in(batch) == n


# ---- steps

def plain(net, opt, batches, epochs):
    "What everybody writes."
    for _ in range(epochs):
        for x, y in batches:
            net(x).cross_entropy('class', y).backward()
            opt.step()
            opt.zero_grad()

@pytest.mark.parametrize('dtype', ['f32', 'f64'])
def test_a_learner_is_the_plain_loop(backend, dtype):
    x, y = rows(30, dtype='f4' if dtype == 'f32' else 'f8')
    batches, net = pieces(x, y, 12, 12, 6), model(dtype=dtype)
    plain(net, optim.AdamW(net, lr=.01), batches, 4)
    learner = made(model(dtype=dtype))
    learner.fit(batches, 4)
    assert same(weights(learner), net.state_dict()) and learner.steps == 12 and len(learner.history) == 4

GIVEN = dict(list=list, tuple=tuple, function=lambda b: lambda epoch: iter(b), generator=lambda b: (p for p in b),
             lists=lambda b: [list(p) for p in b], dicts=lambda b: [dict(x=x, y=y) for x, y in b])

@pytest.mark.parametrize('give', GIVEN.values(), ids=GIVEN)
def test_batches_of_every_kind(give):
    batches = pieces(*rows(), 12, 12, 6)
    learner, other = made(), made()
    learner.fit(batches, 1), other.fit(give(batches), 1)
    assert same(weights(learner), weights(other))

def test_the_batches_of_a_data_set_differ_by_epoch_and_are_the_same_again():
    x, y = rows()
    data = fl.data.Dataset(x, y)
    seen = []
    def step(x, y):
        seen.append(x.numpy()[:, 0])
        return learner.model(x).cross_entropy('class', y)
    for _ in range(2):
        learner = made(step=step)
        learner.fit(data.batches('row', 7, seed=3), 2)
    epochs = [np.concatenate(seen[i:i + 5]) for i in range(0, 20, 5)]
    assert all(np.array_equal(np.sort(e), np.sort(x.numpy()[:, 0])) for e in epochs)
    assert not np.array_equal(epochs[0], epochs[1])
    assert np.array_equal(epochs[0], epochs[2]) and np.array_equal(epochs[1], epochs[3])

@pytest.mark.parametrize('cuts', [(7, 1, 4), (3, 3, 3, 3), (12,), (1,) * 12])
def test_accumulated_gradients_are_those_of_the_whole_batch(backend, cuts):
    x, y = rows(12, dtype='f8')
    found = []
    for sizes in ((12,), cuts):
        learner = made(model(dtype='f64'), opt=optim.SGD, lr=.5, accumulate=len(sizes), clip=.05)
        learner.fit(pieces(x, y, *sizes), 3)
        found.append(weights(learner))
        assert learner.steps == 3
    for name, a in found[0].items(): np.testing.assert_allclose(found[1][name], a, rtol=1e-12, atol=1e-14)

def test_accumulation_counts_what_counts():
    "A batch whose every label is left out counts nothing; torch's mean over all labels is the right one."
    x, y = rows(12, dtype='f8')
    y = y.numpy().copy()
    y[:5], y[6] = -1, -1
    y = fl.Tensor(y, 'row')
    def step(net):
        def one(x, y):
            n = int((y.numpy() >= 0).sum())
            return dict(loss=net(x).cross_entropy('class', y, ignore_index=-1), count=n)
        return one
    found = []
    for sizes in ((12,), (5, 3, 4)):
        net = model(dtype='f64')
        learner = made(net, opt=optim.SGD, lr=.5, accumulate=len(sizes), step=step(net))
        learner.fit(pieces(x, y, *sizes), 2)
        found.append((weights(learner), learner.history))
    for name, a in found[0][0].items(): np.testing.assert_allclose(found[1][0][name], a, rtol=1e-12, atol=1e-14)
    assert found[0][1].of('loss') == pytest.approx(found[1][1].of('loss'), rel=1e-12)

def test_the_end_of_an_epoch_makes_the_step_that_is_due():
    learner = made(accumulate=4)
    learner.fit(pieces(*rows(30), *[5] * 6), 2)
    assert learner.steps == 4 and learner.pending == 0 and all(p.grad is None for p in learner.model.parameters())

def test_a_schedule_goes_by_steps_and_multiplies_the_rate_of_every_group():
    used = []
    class Note(Callback):
        def after_step(self, learner): used.append([g['lr'] for g in learner.optimizer.groups])
    net = model()
    first, *rest = net.parameters()
    opt = optim.SGD([dict(params=[first], lr=.1), dict(params=rest, lr=.01)])
    learner = Learner(net, opt, lambda x, y: net(x).cross_entropy('class', y), accumulate=2, show=False,
                      callbacks=[Note()], schedule=lambda step: min(1, (step + 1) / 5))
    learner.fit(pieces(*rows(30), *[5] * 6), 2)
    assert used == [pytest.approx([.1 * f, .01 * f]) for f in (.2, .4, .6, .8, 1, 1)]

def test_a_schedule_of_optim():
    used = []
    net = model()
    opt = optim.SGD(net, lr=5.)
    schedule = optim.Schedule(opt, optim.warmup_cosine, total=100, warmup=5)
    class Note(Callback):
        def after_step(self, learner): used.append(opt.lr)
    Learner(net, opt, lambda x, y: net(x).cross_entropy('class', y), schedule=schedule, show=False,
            callbacks=[Note()]).fit([rows()], 6)
    assert used == pytest.approx([1, 2, 3, 4, 5, 5], rel=1e-3) and schedule.count == 6

def test_clipping_bounds_the_step():
    x, y = rows()
    learner = made(opt=optim.SGD, lr=1., clip=1e-3)
    before = weights(learner)
    learner.fit([(x, y)], 1)
    moved = math.sqrt(sum(((a - before[n]).astype('f8') ** 2).sum() for n, a in weights(learner).items()))
    assert moved == pytest.approx(1e-3, rel=2e-3)

def test_gradients_left_over_do_not_count():
    learner, other = made(), made()
    x, y = rows()
    learner.model(x).sum().backward()
    learner.fit([(x, y)], 1), other.fit([(x, y)], 1)
    assert same(weights(learner), weights(other))


# ---- modes and randomness

def test_measuring_is_in_use_and_leaves_every_mode_as_it_was():
    net, modes = model(dropout=.5), []
    def step(x, y):
        modes.append([m.training for m in net.modules()])
        return net(x).cross_entropy('class', y)
    learner = made(net, step=step)
    x, y = rows()
    learner.fit([(x, y)], 1, valid=[(x, y)])
    assert all(modes[0]) and not any(modes[1]) and all(m.training for m in net.modules())
    net.layers['2'].training = False
    assert learner.evaluate([(x, y)]) == learner.evaluate([(x, y)])
    assert [m.training for m in net.children()] == [True, True, False, True]
    with pytest.raises(Exception): learner.evaluate([(x,)])
    assert [m.training for m in net.children()] == [True, True, False, True]
    assert all(p.grad is None for p in net.parameters())

def test_masks_differ_by_batch_and_come_from_the_seed_alone():
    x = fl.ones('row feature', (4, 8))
    def run(seed, before):
        net, masks = nn.Sequential(nn.Dropout(.5), nn.Linear('feature=8', 'class=2', seed=0)), []
        def step(x):
            masks.append(net.layers['0'](x).numpy().copy())
            return net(x).square().mean()
        fl.manual_seed(before)
        learner = Learner(net, optim.SGD(net, lr=.1), step, seed=seed, show=False)
        learner.fit([(x,), (x,)], 2, valid=[(x,)])
        return masks
    one, two, other = run(1, 5), run(1, 6), run(2, 5)
    assert all(np.array_equal(a, b) for a, b in zip(one, two))
    drawn = [m.tobytes() for i, m in enumerate(one) if i not in (2, 5)]      # measured with all numbers there
    assert len(set(drawn)) == 4 and not any(np.array_equal(a, b) for a, b in zip(one[:2], other[:2]))

def test_a_step_that_draws_while_it_is_measured_leaves_the_process_alone():
    x, y = rows()
    learner = made(step=lambda x, y: learner.model(x + fl.randn('row feature', (30, 4))).cross_entropy('class', y))
    fl.manual_seed(0)
    want = fl.rand('a', (3,)).numpy()
    fl.manual_seed(0)
    a, b = learner.evaluate([(x, y)]), learner.evaluate([(x, y)])
    assert a == b and np.array_equal(fl.rand('a', (3,)).numpy(), want)


# ---- what goes wrong

@pytest.mark.parametrize('bad, said', [(np.nan, 'nan'), (np.inf, 'inf'), (-np.inf, '-inf')])
@pytest.mark.parametrize('accumulate', [1, 2])
def test_a_loss_that_is_no_number(bad, said, accumulate):
    x, y = rows()
    count, before = [0], []
    def step(x, y):
        count[0] += 1
        loss = learner.model(x).cross_entropy('class', y)
        if count[0] == 5:
            before.append(weights(learner))
            return loss + bad
        return loss
    learner = made(step=step, accumulate=accumulate)
    at = rf'fit: the loss is {said} in epoch 2, batch 2 \(step {5 if accumulate == 1 else 3}\)'
    with pytest.raises(NonFiniteValue, match=at): learner.fit(pieces(x, y, 10, 10, 10), 9)
    assert same(weights(learner), before[0])

def test_a_gradient_that_is_no_number_says_where():
    x, y = rows()
    bad = fl.Tensor(np.zeros((10, 4), 'f4'), 'row feature')
    def step(x, y): return learner.model(x).cross_entropy('class', y) + (p.sum() * 0).sqrt() * 0 if x is bad else \
        learner.model(x).cross_entropy('class', y)
    learner = made(step=step, clip=1.)
    p = learner.model.parameters()[0]
    with pytest.raises(NonFiniteValue) as e: learner.fit([(x, y), (bad, y.narrow('row', 0, 10))], 1)
    assert 'epoch 1, batch 2' in str(e.value)

@pytest.mark.parametrize('batches', [[], (), iter([]), lambda epoch: []])
def test_an_empty_data_set(batches):
    learner = made()
    with pytest.raises(EmptySelection, match='fit: there is no batch: no data, or fewer rows than a batch has'):
        learner.fit(batches, 2)
    with pytest.raises(EmptySelection, match='evaluate: there is no batch'): learner.evaluate(batches)
    with pytest.raises(EmptySelection, match='there is no batch'): learner.fit(pieces(*rows(), 30), 1, valid=[])

def test_a_batch_larger_than_the_data():
    with pytest.raises(fl.FucinaError, match='30'): made().fit(fl.data.Dataset(*rows()).batches('row', 64), 1)

def test_a_generator_runs_once():
    learner = made()
    with pytest.raises(EmptySelection, match='epoch 2 has no batch left: a generator runs once'):
        learner.fit((b for b in pieces(*rows(), 15, 15)), 3)
    assert learner.epoch == 1 and len(learner.history) == 1

@pytest.mark.parametrize('outcome, kind, said', [
    (3., OptionError, 'the step gave 3.0 for a loss'), (None, OptionError, 'the step gave None'),
    (dict(accuracy=1.), OptionError, 'the step gave None'), (fl.ones('row', (3,)), InvalidShape, 'not one number')])
def test_a_step_that_gives_no_loss(outcome, kind, said):
    with pytest.raises(kind, match=said): made(step=lambda x, y: outcome).fit([rows()], 1)

@pytest.mark.parametrize('options', [
    dict(accumulate=0), dict(accumulate=2.), dict(accumulate=True), dict(clip=0), dict(clip=-1.), dict(clip='1'),
    dict(clip=True), dict(seed='a'), dict(seed=-1), dict(schedule=.1), dict(ema=.99), dict(callbacks=EarlyStop('loss')),
    dict(callbacks=None)])
def test_options_of_a_learner(options):
    with pytest.raises(OptionError, match=f'Learner: {next(iter(options))} is'): made(**options)

def test_whole_numbers_of_numpy_are_some(tmp_path):
    "And what they become goes into a checkpoint, which has only numbers of Python."
    two = np.int64(2)
    learner = made(seed=two, accumulate=two, callbacks=[train.Checkpoints(tmp_path/'run')])
    learner.fit([rows()], two)
    assert learner.epoch == 2 and {type(n) for n in (learner.seed, learner.accumulate, learner.epochs)} == {int}
    assert train.read_checkpoint(tmp_path/'run').state['epoch'] == 2
    with pytest.raises(OptionError, match='epochs is'): learner.fit([rows()], np.float64(2))

def test_kinds_in_place_of_things():
    with pytest.raises(OptionError, match='Learner: EarlyStop is a kind of callback') as e: made(callbacks=[EarlyStop])
    assert e.value.help == 'EarlyStop(...)'
    net = model()
    opt, step = optim.SGD(net, lr=.1), lambda x, y: net(x).cross_entropy('class', y)
    for given, said in (((net, optim.SGD, step), 'SGD is a kind of optimizer'), ((opt, net, step), 'is no optimizer'),
                        ((net, opt, 'mse'), "'mse' is no step"), ((net, opt, net), 'Sequential is no step'),
                        ((step, opt, net), 'is no model'), ((net, None, step), 'None is no optimizer')):
        with pytest.raises(OptionError, match=f'Learner: .*{said}'): Learner(*given)

@pytest.mark.parametrize('given', [lambda x, y: x, lambda x, y: (x, y), lambda x, y: fl.data.Dataset(*rows()),
                                   lambda x, y: None, lambda x, y: 3])
def test_what_are_no_batches(given):
    calls = lambda m, b: m.fit(b, 2), lambda m, b: m.evaluate(b), lambda m, b: m.fit([rows()], 1, valid=b)
    for call in calls[:2 if given(1, 2) is None else 3]:      # valid=None is nothing to measure
        learner = made()
        with pytest.raises(OptionError, match='takes batches, not') as e: call(learner, given(*rows()))
        assert 'batches(' in e.value.help and not learner.seen

def test_fit_as_keras_has_it():
    with pytest.raises(OptionError, match='fit takes batches, not one') as e: made().fit(*rows())
    assert 'fit([(x, y)], 10)' in e.value.help

def test_a_step_that_does_the_work_of_the_loop():
    def eager(x, y):
        loss = learner.model(x).cross_entropy('class', y)
        loss.backward()
        return loss
    learner = made(step=eager)
    with pytest.raises(fl.BackwardAlreadyRun, match='the step went backward itself') as e: learner.fit([rows()], 1)
    assert 'return the loss' in e.value.help and 'epoch 1, batch 1' in str(e.value)

def test_a_step_that_takes_something_else():
    with pytest.raises(OptionError, match='does not take what a batch has: .*1 positional') as e:
        made(step=lambda x: x.sum()).fit([rows()], 1)
    assert e.value.help == 'def step(x, y): ...'
    with pytest.raises(OptionError, match='does not take') as e: made().fit([dict(zip('ab', rows()))], 1)
    assert e.value.help == 'def step(a, b): ...'
    own = made(step=lambda x, y: len(3))
    with pytest.raises(TypeError, match='len') as e: own.fit([rows()], 1)
    assert not isinstance(e.value, fl.FucinaError)

@pytest.mark.parametrize('epochs', [0, -1, 1.5, None, True])
def test_epochs(epochs):
    with pytest.raises(OptionError, match='fit: epochs is'): made().fit([rows()], epochs)


# ---- callbacks

def test_events_come_in_order():
    told = []
    class Note(Callback): pass
    for event in 'before_fit after_batch after_step after_epoch after_fit'.split():
        setattr(Note, event, lambda self, learner, event=event: told.append(event))
    made(accumulate=2, callbacks=[Note()]).fit(pieces(*rows(), 10, 10, 10), 2)
    epoch = ['after_batch', 'after_step', 'after_batch', 'after_batch', 'after_step', 'after_epoch']
    epoch[:2] = ['after_batch']; epoch[1:1] = ['after_step']
    assert told[0] == 'before_fit' and told[-1] == 'after_fit' and told[1:7] == told[7:-1] == epoch

def test_a_function_is_called_after_each_epoch():
    seen = []
    made(callbacks=[lambda learner: seen.append((learner.epoch, len(learner.history)))]).fit([rows()], 3)
    assert seen == [(1, 1), (2, 2), (3, 3)]

def test_stopped_within_an_epoch_and_called_again():
    class StopAt(Callback):
        def after_batch(self, learner):
            if learner.seen == 4: learner.stop('here')
    batches, whole = pieces(*rows(), 10, 10, 10), made()
    whole.fit(batches, 3)
    learner = made(callbacks=[StopAt()])
    learner.fit(batches, 3)
    assert (learner.stopped, learner.epoch, learner.batch, len(learner.history)) == ('here', 1, 1, 1)
    learner.fit(batches, 3)
    assert learner.stopped is None and learner.history == whole.history and same(weights(learner), weights(whole))
    assert learner.fit(batches, 3) == whole.history and learner.epoch == 3      # nothing is left to do

def falling(*losses, **options):
    "A learner whose validation loss takes these values, one in each epoch."
    x, y = rows()
    given = iter(losses)
    def step(x, y):
        if fl.is_grad_enabled(): return learner.model(x).cross_entropy('class', y)
        return dict(loss=next(given), good=-1.)
    learner = made(step=step, **options)
    return learner, [(x, y)]

@pytest.mark.parametrize('losses, patience, ends',
                         [([3, 2, 2.5, 2.4, 1], 2, 4), ([3, 2, 2.5, 2.4, 1], 3, 5), ([1, 1, 1], 1, 2)])
def test_early_stop(losses, patience, ends):
    learner, batches = falling(*losses, callbacks=[EarlyStop(patience=patience)])
    learner.fit(batches, len(losses), valid=batches)
    assert learner.epoch == ends and bool(learner.stopped) == (ends < len(losses))
    if learner.stopped:      # a program that is started again does not go on
        learner.fit(batches, 100, valid=batches)
        assert learner.epoch == ends

def test_early_stop_by_a_figure_that_rises_and_by_how_much():
    class Set(Callback):
        def after_epoch(self, learner): learner.history[-1]['valid good'] = [.5, .6, .605, .61][learner.epoch - 1]
    learner, batches = falling(1, 1, 1, 1, callbacks=[Set(), EarlyStop('valid good', patience=2, least=.05)])
    learner.fit(batches, 9, valid=batches)
    assert learner.epoch == 4 and learner.callbacks[1].epoch == 2

def test_watching_what_is_not_there():
    with pytest.raises(OptionError, match="there is no 'valid los'") as e:
        made(callbacks=[EarlyStop('valid los')]).fit([rows()], 1, valid=[rows()])
    assert "'valid loss'" in e.value.help

def test_the_best_weights_are_a_copy_and_come_back():
    "Case L15: what is kept must not be what the optimizer writes into."
    kept = []
    learner, batches = falling(3, 1, 2, callbacks=[KeepBest(), lambda learner: kept.append(weights(learner))])
    learner.fit(batches, 3, valid=batches)
    assert same(weights(learner), kept[1]) and not same(kept[1], kept[2])
    learner.model.parameters()[0].data += 1
    assert same(learner.callbacks[0].weights, kept[1])

def test_a_state_that_was_loaded_is_not_trained_with():
    x, y = rows()
    one, two, state = made(), made(), model().state_dict()
    before = {n: a.copy() for n, a in state.items()}
    for learner in (one, two): learner.model.load_state_dict(state)
    one.fit([(x, y)], 3)
    assert same(state, before) and same(weights(two), before) and not same(weights(one), before)


# ---- going on to the last bit

def big(path=None, **more):
    "Everything that remembers something: masks, moments, accumulation, clipping, a schedule, callbacks."
    calls = [KeepBest(), EarlyStop(patience=50)] + ([Checkpoints(path, batches=1)] if path else [])
    return made(model(dropout=.3), accumulate=3, clip=.5, seed=4, callbacks=calls,
                schedule=lambda step: 1 / (1 + step), **more)

class Dies(Exception): pass

def killed(learner, at, batches, valid, epochs):
    "Train until so many batches were seen, and then no more."
    inner, done = learner.step, []
    def step(*batch):
        if fl.is_grad_enabled():
            if learner.seen == at: raise Dies
            done.append(learner.seen)
        return inner(*batch)
    learner.step = step
    with pytest.raises(Dies): learner.fit(batches, epochs, valid=valid)

@pytest.mark.parametrize('kind', ['data set', 'list'])
def test_resumed_anywhere_is_never_interrupted(kind, backend, tmp_path, monkeypatch):
    "At an epoch's end, in its middle, and in the middle of an accumulation: 7 batches an epoch, 3 to a step."
    monkeypatch.setattr(os, 'fsync', lambda fd: None)      # flushing is tested elsewhere, and slow
    x, y = rows(32)
    batches = fl.data.Dataset(x, y).batches('row', 5, seed=1) if kind == 'data set' else pieces(x, y, *[5] * 6, 2)
    valid = pieces(x, y, 20, 12)
    whole = big()
    whole.fit(batches, 3, valid=valid)
    end = weights(whole), whole.optimizer.state_dict(), whole.history, whole.steps
    for at in range(1, 21) if kind == 'data set' else (7, 8, 10):
        path = tmp_path/f'{at}'
        killed(big(path), at, batches, valid, 3)
        fl.manual_seed(at)
        again = big(path)
        assert train.resume(again, path) and again.seen == at
        again.fit(batches, 3, valid=valid)
        assert again.history == end[2] and again.steps == end[3] and same(weights(again), end[0]), at
        assert same(again.optimizer.state_dict(), end[1])

def averaged(path=None, net=None):
    net = model() if net is None else net
    def step(x, y): return net(x).cross_entropy('class', y)
    return Learner(net, optim.AdamW(net, lr=.05), step, ema=optim.EMA(net, decay=.9), show=False,
                   callbacks=[KeepBest()] + ([Checkpoints(path, batches=1)] if path else []))

def test_averages_follow_the_steps_and_are_what_is_measured():
    x, y = rows()
    learner, batches = averaged(), pieces(x, y, 15, 15)
    own, averages = [], []
    def note(learner):
        own.append(weights(learner))
        with learner.ema.weights(): averages.append(weights(learner))
    learner.callbacks.append(note)
    learner.fit(batches, 3, valid=[(x, y)])
    assert learner.ema.steps == 6 and not same(own[-1], averages[-1])
    best = int(np.argmin(learner.history.of('valid loss')))
    assert same(weights(learner), averages[best])      # kept is what was measured
    plain = model()
    plain.load_state_dict(averages[-1])
    assert learner.history[-1]['valid loss'] == plain(x).cross_entropy('class', y).item()

def test_averages_go_on_to_the_last_bit(tmp_path, monkeypatch):
    monkeypatch.setattr(os, 'fsync', lambda fd: None)
    x, y = rows()
    batches, whole = pieces(x, y, 10, 10, 10), averaged()
    whole.fit(batches, 3, valid=batches)
    for at in (2, 3, 7):
        killed(averaged(tmp_path/f'{at}'), at, batches, batches, 3)
        again = averaged(tmp_path/f'{at}')
        assert train.resume(again, tmp_path/f'{at}')
        again.fit(batches, 3, valid=batches)
        assert again.history == whole.history and same(again.ema.state_dict(), whole.ema.state_dict())

def test_a_learner_says_where_it_stands():
    learner = made(accumulate=2)
    assert repr(learner) == 'Learner of Sequential by AdamW: 0 epochs, 0 steps'
    class StopAt(Callback):
        def after_batch(self, learner):
            if learner.seen == 5: learner.stop('here')
    learner.callbacks.append(StopAt())
    learner.fit(pieces(*rows(), 7, 7, 7, 9), 2)
    assert repr(learner) == 'Learner of Sequential by AdamW: 1 epochs and 1 batches, 2 steps, 1 of 2 gathered'

def test_nothing_to_resume(tmp_path):
    learner = big(tmp_path/'run')
    assert train.resume(learner, tmp_path/'run') is False and learner.epoch == 0

@pytest.mark.parametrize('change, said', [
    (lambda s: s.pop('steps'), "has no 'steps'"),
    (lambda s: s.update({'grad.0.weight': np.ones((2, 2), 'f4')}), 'gradient of shape'),
    (lambda s: s.update({'grad.9.weight': np.ones((4, 8), 'f4')}), "gradient of '9.weight'"),
    (lambda s: s.update(callbacks=['EarlyStop']), 'other callbacks: EarlyStop')])
def test_a_state_that_is_not_of_such_a_learner(change, said):
    learner = big()
    learner.fit(pieces(*rows(), 10, 10, 10), 1, valid=[rows()])
    state, other = learner.state_dict(), big()
    change(state)
    with pytest.raises(CheckpointError, match=said): other.load_state_dict(state)
    assert other.epoch == other.seen == 0 and not other.history

def test_a_checkpoint_of_another_optimizer_or_model_changes_nothing(tmp_path):
    x, y = rows()
    learner = made(callbacks=[Checkpoints(tmp_path/'run')])
    learner.fit([(x, y)], 2)
    wider = nn.Sequential(nn.Linear('feature=4', 'hidden=9', seed=1), fl.tanh, nn.Dropout(0.),
                          nn.Linear('hidden=9', 'class=2', seed=2))
    for other in (made(wider), made(opt=optim.SGD)):
        before = weights(other), other.optimizer.state_dict(), other.state_dict()
        with pytest.raises(CheckpointError, match='run. does not fit this'): train.resume(other, tmp_path/'run')
        assert same(weights(other), before[0]) and other.epoch == 0
        assert str(other.optimizer.state_dict()) == str(before[1])


# ---- names of other libraries

@pytest.mark.parametrize('name, said', [('Trainer', 'fl.train.Learner('), ('EarlyStopping', 'fl.train.EarlyStop('),
                                        ('load_checkpoint', 'fl.train.resume('),
                                        ('Leaner', 'did you mean fl.train.Learner?')])
def test_names_that_others_use(name, said):
    with pytest.raises(AttributeError, match=f"fl.train has no '{name}'") as e: getattr(train, name)
    assert said in e.value.help


# ---- what is seen

def test_quiet_in_a_pipe(capfd):
    made(show=None).fit(pieces(*rows(), 15, 15), 3)
    assert capfd.readouterr() == ('', '')

class Terminal(io.StringIO):
    def isatty(self): return True

def test_a_bar_in_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, 'stderr', Terminal())
    made(show=None).fit(pieces(*rows(), 15, 15), 3, valid=[rows()])
    said = sys.stderr.getvalue()
    assert 'epoch 3/3' in said and '6/6' in said and 'valid loss' in said and '█' in said
    made(show=None).fit((b for b in pieces(*rows(), 15, 15)), 1)      # of a number nobody knows

def test_curves_in_a_notebook(monkeypatch):
    shown = []
    class Handle:
        def update(self, live): shown.append(live._repr_html_())
    monkeypatch.setattr(progress, 'place_to_show', lambda: 'notebook')
    monkeypatch.setattr(progress, 'start_display', Handle)
    monkeypatch.setattr(progress, 'EVERY', 0)
    made(show=None).fit(pieces(*rows(), 15, 15), 3)
    assert '<progress value="1" max="6">' in shown[0] and '<svg' not in shown[0]
    assert '<svg' in shown[-2] and shown[-1].startswith('<svg') and 'progress' not in shown[-1]

def test_a_history_as_table_and_curves():
    history = train.History([dict(epoch=i + 1, loss=1 / (i + 1), accuracy=i / 20) for i in range(20)])
    lines = repr(history).splitlines()
    assert len(lines) == 13 and lines[-1].split() == ['20', '0.05', '0.95']
    curve = history.curve()
    assert curve._repr_html_().count('<polyline') == 2 and '█' in repr(curve)
    assert repr(train.History()) == 'no epoch yet' and '<svg' in train.History().curve()._repr_svg_()
    assert '<polyline' in train.History([dict(epoch=1, loss=float('nan'))]).curve()._repr_svg_()

def test_a_line_of_blocks():
    assert curves.spark(range(8)) == '▁▂▃▄▅▆▇█' and curves.spark([]) == '' and curves.spark([1, 1]) == '▄▄'
    assert len(curves.spark(range(1000))) == 24 and curves.spark([1, float('nan'), 2]) == '▁█'
