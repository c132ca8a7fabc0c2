"""Losses: laws, corners and refusals; values beside torch are in tests/golden/losses.py."""
import tracemalloc
import numpy as np
import pytest
from hypothesis import given, strategies as st
import fucinalib as fl
from fucinalib.errors import *
from memory_layouts import LAYOUTS, layout
from fucinalib.ops import losses

C = lambda data, tags='d', dtype=None: fl.Tensor(data, tags, dtype)
P = lambda data, tags='d', dtype=None: fl.param(data, tags, dtype)
normal = lambda *shape, seed=0: np.random.default_rng(seed).standard_normal(shape).astype('f4')
PAIRS = [('mse_loss', {}), ('huber_loss', dict(delta=.7)), ('bce_loss', {}),
         ('bce_loss', dict(from_logits=True)), ('kl_div', {}), ('kl_div', dict(log_target=True))]


def gradients(loss, *leaves):
    for p in leaves: p.grad = None
    loss.backward()
    return [p.grad.numpy() for p in leaves]


# cross entropy

@given(st.integers(1, 5), st.integers(1, 6), st.floats(-30, 30), st.integers(0, 99))
def test_laws(rows, k, shift, seed):
    """A constant added to a row changes nothing; the gradient of a row adds up to 0; equal scores
    give ln k; smoothing is a mean of losses."""
    rng = np.random.default_rng(seed)
    a, y = rng.standard_normal((rows, k)), rng.integers(0, k, rows)
    x = P(a, 'row k')
    loss = x.cross_entropy('k', y)
    np.testing.assert_allclose(loss.data, C(a + shift, 'row k').cross_entropy('k', y).data, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(gradients(loss, x)[0].sum(1), 0, atol=1e-12)
    np.testing.assert_allclose(fl.zeros('row k', (rows, k)).cross_entropy('k', y).data, np.log(k), rtol=1e-6)
    every = np.mean([C(a, 'row k').cross_entropy('k', np.full(rows, j)).item() for j in range(k)])
    np.testing.assert_allclose(C(a, 'row k').cross_entropy('k', y, label_smoothing=.3).item(),
                               .7 * loss.item() + .3 * every, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(C(a, 'row k').log_softmax('k').nll_loss('k', y).data, loss.data, rtol=1e-9, atol=1e-12)

@layout
@pytest.mark.parametrize('shape,axis', [((3, 7), 1), ((7, 3), 0), ((2, 5, 3), 1), ((65, 33), 1),
                                        ((1, 1), 0), ((4, 2, 3, 2), 2)])
@pytest.mark.parametrize(
    'options', [{}, dict(ignore_index=0, label_smoothing=.1), dict(reduction='none', ignore_index=1)])
def test_layouts_and_backends(shape, axis, layout, options, every_size):
    a, tags = LAYOUTS[layout](normal(*shape)), 'a b c e'.split()[:len(shape)]
    y = np.random.default_rng(1).integers(0, shape[axis], shape[:axis] + shape[axis + 1:])
    rows = np.moveaxis(a.astype('f8'), axis, -1).reshape(-1, shape[axis])
    want, counts = [], 0
    for row, k in zip(rows, y.reshape(-1)):
        if k == options.get('ignore_index'): want.append(0); continue
        p, e = row - np.log(np.exp(row - row.max()).sum()) - row.max(), options.get('label_smoothing', 0)
        want.append(-(1 - e) * p[k] - e * p.mean()); counts += 1
    want = np.reshape(want, y.shape) if options.get('reduction') == 'none' else np.sum(want) / max(counts, 1)
    grads = []
    for name in fl.backends():
        with fl.use_backend(name):
            x = P(a, ' '.join(tags))
            loss = x.cross_entropy(tags[axis], y, **options)
            np.testing.assert_allclose(loss.data, want, rtol=2e-5, atol=2e-6)
            loss.backward(np.linspace(1, 2, loss.data.size).reshape(loss.shape))
            grads.append(x.grad.numpy())
    for g in grads[1:]: np.testing.assert_allclose(g, grads[0], rtol=2e-5, atol=1e-6)

def test_labels_in_any_form():
    x, y = C(normal(3, 4, 2), 'row k col'), np.array([[0, 3], [1, 1], [2, 0]])
    want = x.cross_entropy('k', y).item()
    for labels in (y.tolist(), y.reshape(-1), y.reshape(-1).tolist(), y.astype('u1'),
                   y.astype('i4'), C(y, 'row col'), C(y.T.copy(), 'col row'), np.asfortranarray(y)):
        assert x.cross_entropy('k', labels).item() == want
    assert C([1., 2.], 'k').cross_entropy('k', 1).tags == ()
    assert C([1., 2.], 'k').cross_entropy('k', [1], reduction='none').tags == ()

@pytest.mark.parametrize('labels,kind', [([0, 1], InvalidDataLength), ([0, 1, 3], IndexOutOfBounds),
                                         ([0, 1, -1], IndexOutOfBounds), ([0., 1., 2.], DTypeError),
                                         ([True, False, True], DTypeError),
                                         ([[0, 1, 2]], ShapeMismatch), ([], InvalidDataLength)])
@pytest.mark.parametrize('call', ['cross_entropy', 'nll_loss', 'linear_cross_entropy'])
def test_wrong_labels(labels, kind, call):
    x = C(normal(3, 3), 'row k')
    args = (C(normal(3, 3), 'class k'),) if call.startswith('linear') else ('k',)
    with pytest.raises(kind, match='help'): getattr(x, call)(*args, labels)

def test_wrong_label_tensors():
    x = C(normal(3, 4), 'row k')
    with pytest.raises(TagError): x.cross_entropy('k', C([0, 1, 2], 'sample'))
    with pytest.raises(ShapeMismatch): x.cross_entropy('k', C([0, 1], 'row'))
    with pytest.raises(IndexOutOfBounds, match='ignore_index=-100'): x.cross_entropy('k', [0, 1, -100])
    for bad in (1., 'pad', True):
        with pytest.raises(OptionError): x.cross_entropy('k', [0, 1, 2], ignore_index=bad)
    for bad in (1, -.1, 2., float('nan')):
        with pytest.raises(InvalidShape): x.cross_entropy('k', [0, 1, 2], label_smoothing=bad)

@pytest.mark.parametrize('backend', fl.backends())
@pytest.mark.parametrize('reduction', ['mean', 'sum', 'none'])
def test_ignored_rows_are_left_out(backend, reduction, every_size):
    "Loss and gradient 0 whatever the scores, and no part in the mean."
    a = normal(5, 4)
    a[1], a[3] = np.nan, np.inf
    with fl.use_backend(backend):
        x, some = P(a, 'row k'), P(a[[0, 2, 4]], 'row k')
        loss, few = (x.cross_entropy('k', [0, 9, 1, 9, 3], ignore_index=9, reduction=reduction),
                     some.cross_entropy('k', [0, 1, 3], reduction=reduction))
        loss.sum().backward(); few.sum().backward()
    assert (loss.sum().item(), x.grad.numpy()[[1, 3]].tolist()) == (few.sum().item(), [[0] * 4] * 2)
    np.testing.assert_array_equal(x.grad.numpy()[[0, 2, 4]], some.grad.numpy())
    with fl.use_backend(backend):
        x = P(a, 'row k')
        loss = x.cross_entropy('k', [2] * 5, ignore_index=2, reduction=reduction)
        loss.sum().backward()
    assert not loss.data.any() and not x.grad.data.any()

def test_an_ignored_class_is_not_a_label():
    x = C(normal(2, 3), 'row k')
    assert x.cross_entropy('k', [0, 1], ignore_index=1).item() == x.narrow('row', 0, 1).cross_entropy('k', [0]).item()

def test_far_scores(every_size):
    x = P([[0., 200.], [1e4, -1e4]], 'row k')
    loss = x.cross_entropy('k', [0, 0], reduction='none')
    loss.sum().backward()
    assert loss.tolist() == [200, 0] and x.grad.tolist() == [[-1, 1], [0, 0]]
    x = P([[1e6, 1e6 + 1]], 'row k')                    # a large offset costs no digits
    assert x.cross_entropy('k', [0]).item() == pytest.approx(np.log1p(np.e), rel=1e-6)

def test_threads_change_nothing(every_size):
    before, results = fl.get_num_threads(), []
    for n in (1, 2):
        fl.set_num_threads(n)
        x = P(normal(500, 300), 'row k')
        loss = x.cross_entropy('k', np.arange(500) // 2, label_smoothing=.1)
        loss.backward()
        results.append((loss.data.tobytes(),
                        x.grad.data.tobytes(),
                        x.mse_loss(C(normal(500, 300, seed=1), 'row k')).data.tobytes()))
    fl.set_num_threads(before)
    assert results[0] == results[1]

def test_a_long_mean_is_exact(every_size):
    x = fl.full('row k', (200_000, 2), .1)
    assert x.cross_entropy('k', np.zeros(200_000, 'i8')).item() == pytest.approx(np.log(2), rel=1e-7)
    assert fl.full('d', (1_000_000,), .1).mse_loss(fl.zeros('d', (1_000_000,))).item() == pytest.approx(.01, rel=1e-6)

def test_nll_selects():
    x = P([[-np.inf, -.5], [-1., -np.inf]], 'row k')
    loss = x.nll_loss('k', [1, 0])
    loss.backward()
    assert loss.item() == .75 and x.grad.tolist() == [[0, -.5], [-.5, 0]]
    assert C([[-np.inf, 0.]], 'row k').nll_loss('k', [0]).item() == np.inf
    with pytest.raises(OptionError): x.nll_loss('k', [1, 0], ignore_index=0)


# the product with a vocabulary

@pytest.mark.parametrize('options', [{}, dict(reduction='sum'), dict(reduction='none'),
                                     dict(label_smoothing=.2), dict(ignore_index=3),
                                     dict(ignore_index=3, reduction='none', label_smoothing=.1)])
@pytest.mark.parametrize('dtype', ['f32', 'f64'])
def test_linear_equals_the_chain(options, dtype, monkeypatch):
    monkeypatch.setattr(losses, 'CHUNK', 600)       # 128 rows at a time
    x, w = P(normal(2, 150, 4), 'b row d', dtype), P(normal(7, 4, seed=1), 'k d', dtype)
    y = np.random.default_rng(2).integers(0, 7, (2, 150))
    weights = np.linspace(.5, 1.5, 300).reshape(2, 150) if options.get('reduction') == 'none' else 2.
    chain, ours = x.dot(w, 'd').cross_entropy('k', y, **options), x.linear_cross_entropy(w, y, **options)
    assert ours.tags == chain.tags and ours.dtype == dtype
    np.testing.assert_allclose(ours.data, chain.data, rtol=1e-5)
    want = gradients((chain * C(weights, chain.tags, dtype)).sum(), x, w)
    for g, h in zip(gradients((ours * C(weights, chain.tags, dtype)).sum(), x, w), want):
        np.testing.assert_allclose(g, h, rtol=2e-4, atol=1e-6)

def test_large_chunks_go_straight():
    x, w, y = P(normal(700, 4), 'row d'), P(normal(7, 4, seed=1), 'k d'), np.random.default_rng(2).integers(0, 7, 700)
    want = gradients(x.dot(w, 'd').cross_entropy('k', y), x, w)
    for g, h in zip(gradients(x.linear_cross_entropy(w, y), x, w), want):
        np.testing.assert_allclose(g, h, rtol=2e-4, atol=1e-6)

def test_linear_one_side_only():
    a, b, y = normal(5, 4), normal(7, 4, seed=1), [0, 6, 2, 3, 3]
    x, w = P(a, 'row d'), P(b, 'k d')
    both = gradients(x.linear_cross_entropy(w, y), x, w)
    np.testing.assert_array_equal(gradients(x.linear_cross_entropy(w.detach(), y), x)[0], both[0])
    np.testing.assert_array_equal(gradients(x.detach().linear_cross_entropy(w, y), w)[0], both[1])
    assert not x.detach().linear_cross_entropy(w.detach(), y).requires_grad
    with fl.no_grad(): assert not x.linear_cross_entropy(w, y).requires_grad

def test_linear_ignored_rows_stay_out():
    a = normal(4, 3)
    a[1] = np.inf
    x, w = P(a, 'row d'), P(normal(5, 3, seed=1), 'k d')
    gx, gw = gradients(x.linear_cross_entropy(w, [0, -1, 2, -1], ignore_index=-1), x, w)
    assert np.isfinite(gx).all() and np.isfinite(gw).all() and not gx[[1, 3]].any()
    gx, gw = gradients(x.linear_cross_entropy(w, [-1] * 4, ignore_index=-1), x, w)
    assert not gx.any() and not gw.any()

@pytest.mark.parametrize('reduction', ['mean', 'sum', 'none'])
@pytest.mark.parametrize('backend', ['numpy', 'pythran'])
def test_rows_that_do_not_count_stay_zero_whatever_arrives(backend, reduction, every_size):
    "As torch has it: NaN or inf from above reaches the rows of the loss alone."
    with fl.use_backend(backend):
        x, w = fl.param(np.ones((3, 2), 'f4'), 'row d'), fl.param(np.ones((4, 2), 'f4'), 'class d')
        y = x.linear_cross_entropy(w, [0, -1, -1], ignore_index=-1, reduction=reduction)
        y.backward(np.full(y.shape, np.nan, 'f4'))
        assert np.isnan(x.grad.data[0]).all() and (x.grad.data[1:] == 0).all() and np.isnan(w.grad.data).any()
        x, w = fl.param(np.ones((3, 2), 'f4'), 'row d'), fl.param(np.ones((4, 2), 'f4'), 'class d')
        y = x.linear_cross_entropy(w, [-1, -1, -1], ignore_index=-1, reduction=reduction)
        y.backward(np.full(y.shape, np.nan, 'f4'))
        assert (x.grad.data == 0).all() and (w.grad.data == 0).all()
        x = fl.param(np.ones((3, 2), 'f4'), 'row d')
        if reduction == 'none': return
        teacher = [1], [0], [1.]
        x.linear_distill(fl.Tensor(np.ones((4, 2), 'f4'), 'class d'), *teacher, reduction).backward(np.float32(np.nan))
        assert np.isnan(x.grad.data[1]).all() and (x.grad.data[[0, 2]] == 0).all()

def test_linear_runs_once():
    x, w = P(normal(3, 2), 'row d'), P(normal(4, 2), 'k d')
    for loss in (x.linear_cross_entropy(w, [0, 1, 2]), x.linear_distill(w, [0], [1], [.5])):
        loss.backward()
        with pytest.raises(BackwardAlreadyRun): loss.backward()

def test_linear_memory(monkeypatch):
    "Neither the scores nor their gradient exist as a whole."
    monkeypatch.setattr(losses, 'CHUNK', 1 << 17)
    rows, d, k = 1024, 8, 1024
    x, w, y = P(normal(rows, d), 'row d'), P(normal(k, d, seed=1), 'k d'), np.arange(rows)
    def peak(f):
        tracemalloc.start()
        f()
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most
    whole = rows * k * 4
    assert peak(lambda: x.linear_cross_entropy(w, y).backward()) < .4 * whole
    assert peak(lambda: x.linear_cross_entropy(w, y, reduction='none').sum().backward()) < .4 * whole
    assert peak(lambda: x.linear_distill(w, y, y, np.ones(rows)).backward()) < .4 * whole
    assert peak(lambda: x.dot(w, 'd').cross_entropy('k', y).backward()) > 1.9 * whole

@pytest.mark.parametrize('weight',
                         [C(normal(2, 5), 'd k'), C(normal(5, 2), 'k e'), C(normal(5, 2), 'row d'),
                          C(normal(2), 'd'), C(normal(5, 2, 2), 'k d f')])
def test_linear_wrong_axes(weight):
    x = C(normal(3, 2), 'row d')
    with pytest.raises(TagError): x.linear_cross_entropy(weight, [0, 1, 2])
    with pytest.raises(TagError): x.linear_distill(weight, [0], [0], [1.])

def test_distill(monkeypatch):
    monkeypatch.setattr(losses, 'CHUNK', 600)
    rng = np.random.default_rng(0)
    x, w = P(normal(400, 3), 'row d', 'f64'), P(normal(6, 3, seed=1), 'k d', 'f64')
    r, c, p = rng.integers(0, 400, 900), rng.integers(0, 6, 900), rng.random(900)
    chain = (x.dot(w, 'd').log_softmax('k').index_select('row', r, out='entry').take_along_axis(
                 'k', C(c[:, None], 'entry k')).squeeze('k') * C(-p, 'entry')).mean() * 3
    ours = x.linear_distill(w, r, c, C(p, 'entry'), loss_scale=3)
    assert ours.item() == pytest.approx(chain.item(), rel=1e-6)
    want = gradients(chain, x, w)
    for g, h in zip(gradients(ours, x, w), want): np.testing.assert_allclose(g, h, rtol=1e-5, atol=1e-8)
    unnamed = np.setdiff1d(np.arange(400), r)
    assert len(unnamed) and not x.grad.data[unnamed].any()

def test_distill_skips_unnamed_rows():
    a = normal(3, 2)
    a[1] = np.nan
    x, w = P(a, 'row d'), P(normal(4, 2, seed=1), 'k d')
    for g in gradients(x.linear_distill(w, [2, 0], [1, 1], [.5, .5]), x, w): assert np.isfinite(g).all()
    for rows, classes, probs, kind in (([3], [0], [1.], IndexOutOfBounds),
                                       ([-1], [0], [1.], IndexOutOfBounds),
                                       ([0], [4], [1.], IndexOutOfBounds),
                                       ([0, 1], [0], [1.], InvalidDataLength),
                                       ([], [], [], InvalidDataLength),
                                       ([[0]], [[0]], [[1.]], InvalidDataLength)):
        with pytest.raises(kind): x.linear_distill(w, rows, classes, probs)


# values and targets

@pytest.mark.parametrize('op,options', PAIRS)
@pytest.mark.parametrize('layout', ['plain', 'fortran', 'stepped', 'turned'])
def test_pairs(op, options, layout, every_size):
    """Sum and mean belong to the single losses, on every backend and in every layout; gradients
    of both operands belong to each other."""
    rng = np.random.default_rng(0)
    a, t = rng.uniform(.05, .95, (67, 129)).astype('f4'), rng.uniform(.05, .95, (67, 129)).astype('f4')
    lay = {'plain': lambda v: (v, 'r c'),
           'fortran': lambda v: (np.asfortranarray(v), 'r c'),
           'stepped': lambda v: (np.repeat(v, 2, 1)[:, ::2], 'r c'),
           'turned': lambda v: (v.T.copy(), 'c r')}[layout]
    seen = []
    for name in fl.backends():
        with fl.use_backend(name):
            x, y = P(a, 'r c'), P(*lay(t))
            f = lambda reduction: getattr(x, op)(y, reduction=reduction, **options)
            each = f('none')
            assert each.tags == x.tags
            assert f('sum').item() == pytest.approx(each.data.sum(dtype='f8'), rel=1e-5)
            assert f('mean').item() == pytest.approx(each.data.mean(dtype='f8'), rel=1e-5)
            gx, gy = gradients(f('sum'), x, y)
            for g, h in zip(gradients(each.sum(), x, y), (gx, gy)):
                np.testing.assert_allclose(g, h, rtol=1e-5, atol=1e-6)
            for g, h in zip(gradients(f('mean'), x, y), (gx, gy)):
                np.testing.assert_allclose(g * a.size, h, rtol=1e-5, atol=1e-6)
            if op in ('mse_loss', 'huber_loss'):
                np.testing.assert_array_equal(gx, -(gy.T if layout == 'turned' else gy))
            seen.append((each.numpy(), gx, gy))
    for u in seen[1:]:
        for p, q in zip(u, seen[0]): np.testing.assert_allclose(p, q, rtol=2e-5, atol=2e-6)

@pytest.mark.parametrize('op,options', PAIRS)
def test_targets_are_like_x(op, options):
    x = C([.2, .4, .6], 'd')
    for target in (C([.1], 'd'), C(.1, ()), C([[.1, .2, .3]], 'row d'), C([.1, .2, .3], 'e')):
        with pytest.raises(ShapeMismatch): getattr(x, op)(target, **options)
    for target in (.1, [.1, .2, .3], np.zeros(3, 'f4'), C([1, 0, 1]), C([.1, .2, .3], 'd', 'f64')):
        with pytest.raises(DTypeError): getattr(x, op)(target, **options)
    with pytest.raises(DTypeError): getattr(C([1, 2]), op)(C([1, 2]), **options)
    for reduction in ('avg', None, 'Mean', 'batchmean'):
        with pytest.raises(OptionError): getattr(x, op)(x, reduction=reduction, **options)

@pytest.mark.parametrize('backend', fl.backends())
def test_bce_at_the_ends(backend, every_size):
    "Clamped to 1e-7 before the logarithms; the gradient at and beyond the clamp is exactly 0."
    with fl.use_backend(backend):
        x, t = P([0., 1., 1e-7, 1 - 1e-7, -0., 1 - 1e-8, 1e-6]), P([1., 0., 1., 0., 0., 1., 1.])
        loss = x.bce_loss(t, reduction='none')
        loss.sum().backward()
    assert np.isfinite(loss.data).all() and loss.data[:2] == pytest.approx(-np.log(1e-7), rel=2e-2)
    assert x.grad.tolist()[:6] == [0] * 6 and x.grad.data[6] == pytest.approx(-1e6, rel=1e-5)
    assert np.isfinite(t.grad.data).all()
    with fl.use_backend(backend): assert np.isnan(C([np.nan]).bce_loss(C([1.])).item())

@pytest.mark.parametrize('kind', ['f32', 'f64', 'f16', 'bf16'])
@pytest.mark.parametrize('backend', fl.backends())
def test_bce_refuses_what_is_no_probability(backend, kind, every_size):
    "As torch does; scores say so, and NaN stays NaN."
    good = np.r_[np.linspace(0, 1, 40), -0.]
    with fl.use_backend(backend):
        for wrong in (-.25, 1.25, -1e-7 if kind != 'f16' else -1e-4, np.inf, -np.inf):
            for at, more in ((0, []), (17, [np.nan]), (40, [])):
                bad = np.r_[good, more, 0.]
                bad[at] = wrong
                fine, bad = C(np.r_[good, more, 0.], 'd', kind), C(bad, 'd', kind)
                with pytest.raises(OptionError, match=r'bce_loss of probabilities, and x reaches from') as e:
                    bad.bce_loss(fine)
                assert 'x.sigmoid()' in str(e.value)
                with pytest.raises(OptionError, match=r'and target reaches from.*\n(.*\n)*.*target.clamp\(0, 1\)'):
                    fine.bce_loss(bad)
                bad.bce_loss(fine, from_logits=True)
        strided = C(np.linspace(0, 1, 80)[::2], 'd', kind)
        assert np.isfinite(strided.bce_loss(strided).item())

def test_logits_never_overflow(every_size):
    x = P([1e4, -1e4, 30., -30.])
    loss = x.bce_loss(C([0., 1., 1., 0.]), reduction='none', from_logits=True)
    loss.sum().backward()
    assert loss.tolist()[:2] == [1e4, 1e4] and loss.data[2:] == pytest.approx(np.exp(-30), rel=1e-5)
    assert x.grad.tolist()[:2] == [1, -1]
    p = C([.1, .5, .8], 'd', 'f64')
    assert (p.log() - (1 - p).log()).bce_loss(C([1., 0., .3], 'd', 'f64'), from_logits=True).item() == pytest.approx(
        p.bce_loss(C([1., 0., .3], 'd', 'f64')).item(), rel=1e-9)

@pytest.mark.parametrize('backend', fl.backends())
def test_kl_at_zero(backend, every_size):
    with fl.use_backend(backend):
        x, t = P([-1., -np.inf, -.5]), P([0., 0., 1.])
        loss = x.kl_div(t, reduction='none')
        loss.sum().backward()
        assert loss.tolist() == [0, 0, .5] and x.grad.tolist() == [0, 0, -1] and t.grad.tolist() == [0, 0, 1.5]
        x, t = P([-1., -np.inf]), P([-np.inf, -np.inf])
        loss = x.kl_div(t, reduction='none', log_target=True)
        loss.sum().backward()
        assert loss.tolist() == [0, 0] and x.grad.tolist() == [0, 0] and t.grad.tolist() == [0, 0]
        assert np.isnan(C([-1.]).kl_div(C([np.nan])).item())
    p = C([[.2, .8], [.5, .5]], 'row k')
    assert p.log().kl_div(p).item() == pytest.approx(0, abs=1e-7)

def test_huber():
    assert C([.5, 3., -4.]).huber_loss(C([0., 0., 0.]), reduction='none').tolist() == [.125, 2.5, 3.5]
    for delta in (0, -1., float('inf'), float('nan')):
        with pytest.raises(InvalidShape): C([1.]).huber_loss(C([1.]), delta=delta)

def test_cosine():
    x = P([[3., 4.], [0., 0.]], 'row d')
    y = x.cosine_similarity(C([[6., 8.], [1., 1.]], 'row d'), 'd', 1e-8)
    assert y.tolist() == [1, 0]
    y.sum().backward()
    # finite: the other vector over eps
    assert x.grad.data[0] == pytest.approx(0, abs=1e-7) and x.grad.data[1] == pytest.approx(1e8)
    assert C([[1., 0.]], 'q d').cosine_similarity(C([[[0., 2.], [3., 0.]]], 'b k d'), 'd', 1e-8).tags == ('q', 'b', 'k')
    assert C([3e-3, 4e-3]).cosine_similarity(C([3e-3, 4e-3]), 'd', eps=1.).item() == pytest.approx(25e-6)
    with pytest.raises(OptionError): C([1.]).cosine_similarity(C([1.]), 'd')

@pytest.mark.parametrize('half', ['f16', 'bf16'])
def test_short_numbers_give_f32(half):
    x, t = fl.randn('r k', (4, 8), seed=1).to(half), fl.rand('r k', (4, 8), seed=2).to(half)
    wide, far = x.to('f32'), t.to('f32')
    assert x.cross_entropy('k', [0, 1, 2, 3]).item() == wide.cross_entropy('k', [0, 1, 2, 3]).item()
    for f in (fl.mse_loss, fl.huber_loss, fl.kl_div, lambda x, t: x.bce_loss(t, from_logits=True),
              lambda x, t: x.linear_cross_entropy(t.rename(r='class'), [0, 1, 2, 3])):
        y = f(x, t)
        assert y.dtype == 'f32' and y.item() == f(wide, far).item()

@pytest.mark.parametrize('name,kind', [('mean', 'f32'), ('mean', 'f64'), ('none', 'f32'), ('none', 'f64')])
def test_number_types(name, kind):
    x, t = P([[.2, .7]], 'r k', kind), P([[.5, .5]], 'r k', kind)
    for y in (x.cross_entropy('k', [0], reduction=name),
              x.nll_loss('k', [0], reduction=name),
              x.mse_loss(t, reduction=name),
              x.huber_loss(t, reduction=name),
              x.bce_loss(t, reduction=name),
              x.kl_div(t, reduction=name)):
        assert y.dtype == kind
        gradients(y.sum(), x)
        assert x.grad.dtype == kind

@pytest.mark.parametrize(
    'call,kind', [
        (lambda x: x.cross_entropy('r k', [0]), TagError),
        (lambda x: x.cross_entropy('k', [[0], [1, 2]]), InvalidShape),
        (lambda x: x.cross_entropy('k', None), InvalidDataLength),
        (lambda x: x.cross_entropy('k', ['a', 'b']), DTypeError),
        (lambda x: x.cross_entropy('k', [0, 1], label_smoothing='a'), OptionError),
        (lambda x: x.huber_loss(x, delta=None), OptionError),
        (lambda x: x.cosine_similarity(x, 'k', None), OptionError),
        (lambda x: x.cosine_similarity(3., 'k', 1e-8), DTypeError),
        (lambda x: x.linear_cross_entropy('w', [0, 1]), DTypeError),
        (lambda x: x.linear_distill(x.rename(r='c'), [0], [0], [1.], loss_scale='x'), OptionError),
        (lambda x: x.linear_distill(x.rename(r='c'), [0], [0], ['a']), DTypeError)])
def test_refusals_in_words(call, kind):
    with pytest.raises(kind, match='help:'): call(C(normal(2, 3), 'r k'))


@pytest.mark.parametrize('n', [1, 1000])
def test_bce_of_infinite_scores(backend, n):
    "The limits: a score that is infinitely sure and right costs nothing (the formula x t of the textbook gives inf 0)."
    scores, targets = (np.array([-np.inf, np.inf, -np.inf, np.inf, np.inf, np.nan], 'f4'),
                       np.array([0, 1, 1, 0, .5, 1], 'f4'))
    x, t = fl.param(np.tile(scores, n), 'd'), fl.Tensor(np.tile(targets, n), 'd')
    y = x.bce_loss(t, reduction='none', from_logits=True)
    np.testing.assert_array_equal(y.data, np.tile(np.array([0, 0, np.inf, np.inf, np.inf, np.nan], 'f4'), n))
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.data, np.tile(np.array([0, 0, -1, 1, .5, np.nan], 'f4'), n))
    x = fl.param(np.tile(scores[:2], n), 'd')
    loss = x.bce_loss(fl.Tensor(np.tile(targets[:2], n), 'd'), from_logits=True)
    loss.backward()
    assert loss.item() == 0 and not x.grad.data.any()
