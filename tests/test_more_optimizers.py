"""Muon beside torch's, Apollo beside its formulas written out, averages in bf16, and the average of the weights."""
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import kernels
from fucinalib.errors import GradError, OptionError, ShapeMismatch
from fucinalib.nn import Module
from fucinalib.optim import EMA, AdamW, Apollo, CompactAdamW, Muon, TensaiAdam, apollo_mini
from fucinalib.optim.more import equalised, projection


@pytest.fixture(params=kernels.backends())
def backend(request):
    with fl.use_backend(request.param): yield request.param


def leaf(a): return fl.param(np.array(a), ' '.join('abc'[:np.ndim(a)]))

def gradients(shape, n, dtype='f8', seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for _ in range(n)]

def run(opt, w, grads):
    for g in grads: w.grad = g; opt.step()
    return w.data


# ---- Muon
@pytest.mark.torch
@pytest.mark.parametrize('dtype, tol', [('f4', 1e-5), ('f8', 1e-12)])
@pytest.mark.parametrize('shape', [(30, 20), (20, 30), (16, 16), (1, 5)])
@pytest.mark.parametrize('options, theirs', [
    ({}, {}), (dict(nesterov=False, momentum=.8), dict(nesterov=False, momentum=.8)),
    (dict(weight_decay=.1), dict(weight_decay=.1)),
    (dict(scale='rms', iterations=3), dict(adjust_lr_fn='match_rms_adamw', ns_steps=3))], ids=lambda v: ' '.join(v))
def test_twenty_steps_of_muon_are_torchs(shape, options, theirs, dtype, tol, monkeypatch):
    "Which computes the polynomial in bf16; here it is kept from that."
    import torch
    monkeypatch.setattr(torch.Tensor, 'bfloat16', lambda self: self.clone())
    first, *grads = gradients(shape, 21, dtype)
    q = torch.tensor(first, requires_grad=True)
    opt = torch.optim.Muon([q], lr=.02, **dict(weight_decay=0.) | theirs)
    for g in grads: q.grad = torch.tensor(g); opt.step()
    ours = run(Muon([w := leaf(first)], **options), w, grads)
    np.testing.assert_allclose(ours, q.detach().numpy(), rtol=tol, atol=tol * 10)


@pytest.mark.parametrize('shape', [(40, 7), (7, 40), (12, 12)])
def test_singular_values_come_near_one_and_directions_stay(shape):
    g = gradients(shape, 1)[0] + 3
    u, s, vt = np.linalg.svd(equalised(g, 5), full_matrices=False)
    assert .5 < s.min() and s.max() < 1.3
    x, y, z = np.linalg.svd(g, full_matrices=False)
    inside = x.T @ equalised(g, 5) @ z.T
    np.testing.assert_allclose(inside, np.diag(np.diag(inside)), atol=1e-9)
    assert not equalised(np.zeros(shape), 5).any()


def test_muon_moves_what_is_no_matrix_by_adamw(backend):
    "karpathy/nanochat#304 for the AdamW inside: eps 1e-10, rate 3e-4 of 0.02."
    b, words = leaf([0., 0.]), leaf(np.zeros((2, 2)))
    opt = Muon([dict(params=[b]), dict(params=[words], rows=0)])
    b.grad, words.grad = [1e-10, 1e-8], np.array([[1e-10, 1e-8]] * 2)
    opt.step()
    np.testing.assert_allclose(b.data, [-1.5e-4, -3e-4 / 1.01], rtol=1e-9)
    np.testing.assert_allclose(words.data[1], b.data, rtol=1e-12)
    opt.lr = .04        # the other rate keeps its proportion
    assert opt.row(opt.groups[0], 1)[4] == pytest.approx(6e-4 / .1)


def test_a_weight_of_many_axes_is_a_matrix_of_rows_and_the_rest(backend):
    first, *grads = gradients((4, 3, 5), 4)
    many, flat = leaf(first), leaf(first.reshape(4, 15))
    np.testing.assert_array_equal(run(Muon([many]), many, grads).reshape(4, 15),
                                  run(Muon([flat]), flat, [g.reshape(4, 15) for g in grads]))
    two, flat = leaf(first), leaf(first.reshape(12, 5))
    np.testing.assert_array_equal(run(Muon([two], rows=2), two, grads).reshape(12, 5),
                                  run(Muon([flat]), flat, [g.reshape(12, 5) for g in grads]))


# ---- Apollo
def apollo_by_hand(w, grads, p, lr, scale, factor, decay, b1=.9, b2=.999, eps=1e-8):
    "The formulas of the paper, with the bias corrections before the limiter."
    w, m, v, last = w.copy(), 0., 0., None
    wide = w.shape[0] < w.shape[1]
    for t, g in enumerate(grads, 1):
        low = p @ g if wide else g @ p.T
        m, v = b1 * m + (1 - b1) * low, b2 * v + (1 - b2) * low**2
        adam = (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)
        axis = (0 if wide else 1) if scale == 'channel' else None
        norm = lambda a: np.linalg.norm(a, axis=axis, keepdims=True)
        d = g * (norm(adam) / (norm(low) + 1e-8))
        n = np.linalg.norm(d)
        if last is not None:
            over = max(n / (last + 1e-8), 1.01) / 1.01
            d, n = d / over, n / over
        last = n
        w = w - lr * np.sqrt(factor) * d
        w = w * (1 - lr * decay)
    return w

@pytest.mark.parametrize('shape', [(12, 7), (7, 12)])
@pytest.mark.parametrize('scale, rank, factor', [('channel', 3, 1.), ('tensor', 1, 128.)])
def test_apollo_is_its_formulas(shape, scale, rank, factor, backend):
    first, *grads = gradients(shape, 21)
    grads[7] *= 50          # the limiter
    w = leaf(first)
    opt = Apollo([w], lr=.01, rank=rank, scale=scale, factor=factor, weight_decay=.1)
    opt.slots[0].steps = 1
    p = projection(opt.slots[0], 0, opt.groups[0])
    opt.slots[0].steps = 0
    right = apollo_by_hand(first, grads, p, .01, scale, factor, .1)
    np.testing.assert_allclose(run(opt, w, grads), right, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize('shape, rank', [((3, 2), 128), ((2, 3), 128), ((1, 4), 2)])
def test_a_rank_above_the_sides(shape, rank):
    w = leaf(np.zeros(shape))
    assert np.isfinite(run(Apollo([w], rank=rank), w, gradients(shape, 5))).all()


def test_apollo_goes_on_after_a_step_without_slope():
    "A gradient of 0, or a rate of 0, must not hold it for the next thousand steps."
    w = leaf(np.zeros((4, 3)))
    opt = Apollo([w], lr=.1, rank=2)
    run(opt, w, [np.zeros((4, 3))])
    opt.lr = 0.
    run(opt, w, gradients((4, 3), 1))
    assert not w.data.any()
    opt.lr = .1
    assert np.abs(run(opt, w, gradients((4, 3), 1))).max() > .01


def test_apollo_mini_is_one_row_and_one_factor():
    first, *grads = gradients((5, 4), 6)
    mini, same = leaf(first), leaf(first)
    opt = apollo_mini([mini])
    np.testing.assert_array_equal(run(opt, mini, grads),
                                  run(Apollo([same], rank=1, scale='tensor', factor=128.), same, grads))
    assert opt.state_dict()['0.first'].shape == (5, 1)


def test_apollo_decays_after_the_step(backend):
    "bitsandbytes#2010: the step is of the undecayed weight, and decays with it."
    w = leaf([1.])
    assert run(Apollo([w], lr=.1, weight_decay=.5), w, [[1.]]).item() == pytest.approx(.855, rel=1e-6)
    one, two = leaf(np.ones((3, 2))), leaf(np.ones((3, 2)))
    g = gradients((3, 2), 1)
    plain = run(Apollo([two], lr=.1), two, g)
    np.testing.assert_allclose(run(Apollo([one], lr=.1, weight_decay=.5), one, g), plain * .95)


def test_projections_are_of_seed_parameter_and_time():
    a, b = leaf(np.ones((6, 4))), leaf(np.ones((6, 4)))
    opt = Apollo([a, b], rank=2, gap=3)
    def at(slot, steps, **change):
        slot.steps, slot.projection = steps, (None,)
        return projection(slot, opt.slots.index(slot), {**opt.groups[0], **change})
    s, t = opt.slots
    assert at(s, 1).shape == (2, 4)
    np.testing.assert_array_equal(at(s, 1), at(s, 3))
    for other in (at(s, 4), at(t, 1), at(s, 1, seed=1)): assert not np.array_equal(at(s, 1), other)
    assert abs(np.var(at(s, 1, rank=4000)) * 4000 - 1) < .05


# ---- 16 bits
@pytest.mark.parametrize('second', [False, True])
def test_compact_averages_follow_the_wide_ones(second, backend):
    first, *grads = gradients((50, 40), 21, 'f4')
    compact, wide = leaf(first), leaf(first)
    opt = CompactAdamW([compact], lr=.01, second=second)
    run(opt, compact, grads), run(AdamW([wide], lr=.01), wide, grads)
    state = opt.state_dict()
    assert state['0.first'].dtype == fl.bf16.np and state['0.second'].dtype == ('f4' if not second else fl.bf16.np)
    assert 0 < np.abs(compact.data - wide.data).max() < .003


@pytest.mark.parametrize('second', [False, True])
def test_small_squares_do_not_vanish(second, backend):
    "karpathy/nanochat#304: 1e-16 is 0 in f16."
    w = leaf(np.zeros(2, 'f4'))
    run(CompactAdamW([w], lr=1., weight_decay=0., second=second), w, [np.array([1e-8, 1e-6], 'f4')])
    np.testing.assert_allclose(w.data, [-.5, -.99009901], rtol=1e-6)


# ---- state of all of them
@pytest.mark.parametrize('make', [
    lambda w: Muon(w), lambda w: Muon(w, scale='rms', weight_decay=.1), lambda w: Apollo(w, rank=2, gap=3),
    lambda w: apollo_mini(w), lambda w: CompactAdamW(w), lambda w: CompactAdamW(w, second=True), TensaiAdam])
@pytest.mark.parametrize('kind', ['f4', 'f8', 'bf16'])
def test_going_on_is_bit_for_bit(make, kind, backend):
    kind = fl.bf16.np if kind == 'bf16' else np.dtype(kind)
    start = dict(m=np.ones((6, 4)), v=np.ones(5))
    def steps(w, opt, at):
        for i in at:
            for p in w.values(): p.grad = np.cos(np.arange(p.numel) * (i + 1.)).reshape(p.shape).astype(p.node.dtype)
            opt.step()
    w = {k: leaf(v.astype(kind)) for k, v in start.items()}
    opt = make(w)
    steps(w, opt, range(5))
    state, again = opt.state_dict(), {k: leaf(p.data.copy()) for k, p in w.items()}
    other = make(again)
    other.load_state_dict(state)
    steps(w, opt, range(5, 9)), steps(again, other, range(5, 9))
    for k in w: np.testing.assert_array_equal(w[k].data, again[k].data)
    assert all(np.isfinite(p.data.astype('f8')).all() for p in w.values())


# ---- refused
@pytest.mark.parametrize('make, said', [
    (lambda w: Muon(w, scale='spektral'), "did you mean 'spectral'"),
    (lambda w: Apollo(w, scale='row'), 'channel tensor'),
    (lambda w: Apollo(w, rank=0), 'rank is 0'), (lambda w: Apollo(w, gap=0), 'gap is 0'),
    (lambda w: Apollo(w, rank=1.5), 'rank is 1.5'),
    (lambda w: Muon(w, rows=.5), 'rows is 0.5'), (lambda w: Muon(w, ns_steps=5), 'ns_steps'),
    (lambda w: EMA(w, decay=1.5), 'decay is 1.5'), (lambda w: EMA([]), 'no parameters')])
def test_refused(make, said):
    with pytest.raises(OptionError) as e: make([leaf(np.ones((2, 2)))])
    assert said in str(e.value) and 'help:' in str(e.value)


# ---- EMA
class Tied(Module):
    def __init__(self): self.a = self.b = leaf([3., 4.])

def test_the_average_of_weights_by_hand():
    w = leaf([0.])
    ema = EMA([w], decay=.5)
    for value in (10., 20., 40.):
        w.data[:] = value
        ema.update()
    first = 10 * .9                                 # of 10 steps the first keeps a tenth
    second = first + (1 - 2 / 11) * (20 - first)
    assert ema.averages['0'].item() == pytest.approx(second + (1 - 3 / 12) * (40 - second))


def test_an_average_is_a_copy_and_a_shared_parameter_is_one():
    "pytorch#34765, torch/nn#395."
    m = Tied()
    ema = EMA(m, decay=.9)
    assert list(ema.averages) == ['a']
    state = ema.state_dict()
    m.a.data[:] = 0
    ema.update()
    assert state['a'].tolist() == [3, 4] and m.a.tolist() == [0, 0]
    other = EMA(Tied())
    other.load_state_dict(ema.state_dict())
    ema.update()
    assert other.steps == 1 and other.averages['a'].tolist() == pytest.approx([.3, .4])


def test_averages_are_in_the_model_for_a_block(backend):
    w = fl.param([1., 2.], 'd', 'bf16')
    ema = EMA([w], decay=.5)
    w.data[:] = 5
    with pytest.raises(ZeroDivisionError), ema.weights():
        assert w.tolist() == [1, 2] and w.dtype == 'bf16'
        1 / 0
    assert w.tolist() == [5, 5] and ema.averages['0'].dtype == 'f4'
    w = leaf([1., 2.])
    ema, loss = EMA([w]), (w * w).sum()
    with ema.weights(): pass
    with pytest.raises(GradError, match='EMA has changed'): loss.backward()


@pytest.mark.parametrize('state, said', [({'steps': 1}, "without '0'"), ({'steps': -1, '0': np.ones(1, 'f4')}, 'steps'),
                                         ({'steps': 1, '0': np.ones(2, 'f4')}, "another '0'"),
                                         ({'steps': 1, '0': np.ones(1, 'f4'), 'x': 1}, "also has 'x'")])
def test_a_foreign_average_is_refused(state, said):
    ema = EMA([leaf(np.ones(1, 'f4'))])
    with pytest.raises((OptionError, ShapeMismatch)) as e: ema.load_state_dict(state)
    assert said in str(e.value) and ema.steps == 0 and ema.averages['0'].tolist() == [1]


# ---- one count for all
def as_tensai(starts, grads, lr, betas=(.9, .999), eps=1e-8):
    "Adam in f64 as tensai runs it: each parameter, one after the other, moves the common count on."
    ws, ms, vs, t = [a.copy() for a in starts], [0.] * len(starts), [0.] * len(starts), 0
    for row in grads:
        for i, g in enumerate(row):
            if g is None: continue
            t += 1
            ms[i], vs[i] = betas[0] * ms[i] + (1 - betas[0]) * g, betas[1] * vs[i] + (1 - betas[1]) * g * g
            ws[i] -= lr * ms[i] / (1 - betas[0]**t) / (np.sqrt(vs[i] / (1 - betas[1]**t)) + eps)
    return ws

@pytest.mark.parametrize('dtype, tol', [('f4', 1e-5), ('f8', 1e-12)])
def test_a_count_for_all_parameters_is_tensais(dtype, tol, backend):
    "OPT-02: twenty steps, some without a gradient for some; and the first steps that were measured there."
    shapes = (3,), (70, 5), (), (4,)
    starts = [gradients(s, 1, dtype, i)[0] for i, s in enumerate(shapes)]
    grads = [[None if (i + j) % 5 == 0 else gradients(s, 1, dtype, 100 * i + j)[0] for j, s in enumerate(shapes)]
             for i in range(20)]
    ws = [leaf(a.copy()) for a in starts]
    opt = TensaiAdam(ws, lr=.05)
    for row in grads:
        for w, g in zip(ws, row): w.grad = g
        opt.step()
    for w, known in zip(ws, as_tensai([a.astype('f8') for a in starts], grads, .05)):
        np.testing.assert_allclose(w.data, known, rtol=tol, atol=tol)

def test_the_first_steps_measured_in_tensai(backend):
    ws = [leaf(np.zeros(1)) for _ in range(4)]
    opt = TensaiAdam(ws, lr=1.)
    for w in ws: w.grad = np.ones(1)
    opt.step()
    np.testing.assert_allclose([-w.item() for w in ws], [1, .74, .64, .58], atol=5e-3)

def test_a_state_counted_otherwise_is_refused():
    w = leaf(np.zeros(2))
    with pytest.raises(OptionError, match='TensaiAdam'): AdamW([w]).load_state_dict(TensaiAdam([w]).state_dict())
