"""Norms: laws, corners and refusals; values beside torch are in tests/golden/norms.py."""
import numpy as np
import pytest
from hypothesis import given, strategies as st
import fucinalib as fl
from fucinalib.errors import *
from memory_layouts import LAYOUTS, layout

C = lambda data, tags='d', dtype=None: fl.Tensor(data, tags, dtype)


@given(st.integers(1, 5), st.integers(2, 9), st.floats(.5, 20), st.floats(-5, 5))
def test_laws(rows, n, scale, shift):
    "rms_norm ignores a row's length, layer_norm its length and its mean."
    x = C(np.random.default_rng(n).standard_normal((rows, n)) + .1, 'r d')
    np.testing.assert_allclose((x * scale).rms_norm('d', eps=0).data, x.rms_norm('d', eps=0).data, rtol=1e-9)
    np.testing.assert_allclose((x * scale + shift).layer_norm('d', eps=0).data,
                               x.layer_norm('d', eps=0).data, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(x.layer_norm('d', eps=0).square().mean('d').data, 1, rtol=1e-9)

@layout
@pytest.mark.parametrize('shape', [(1, 1), (3, 7), (65, 130), (200, 33)])
def test_backends_and_layouts(shape, layout, every_size):
    a = LAYOUTS[layout](np.random.default_rng(0).standard_normal(shape).astype('f4'))
    def run():
        x, w, b = (fl.param(a, 'r d'),
                   fl.param(np.linspace(.5, 1.5, shape[1], dtype='f4'), 'd'),
                   fl.param(np.ones(shape[1], 'f4'), 'd'))
        g = np.random.default_rng(1).standard_normal(shape).astype('f4')
        outs = [x.rms_norm('d', weight=w), x.layer_norm('d', weight=w, bias=b)]
        for y in outs: y.backward(g)
        return [y.data for y in outs] + [t.grad.data for t in (x, w, b)]
    with fl.use_backend('numpy'): want = run()
    for name in fl.backends():
        with fl.use_backend(name): got = run()
        for p, q in zip(got, want): np.testing.assert_allclose(p, q, rtol=2e-4, atol=2e-4)

def test_threads_change_nothing(every_size):
    before, results = fl.get_num_threads(), []
    for n in (1, 2):
        fl.set_num_threads(n)
        x, w = fl.param(fl.randn('r d', (500, 300), seed=1)), fl.param(fl.ones('d', (300,)))
        x.rms_norm('d', weight=w).square().sum().backward()
        results.append(w.grad.data.tobytes())
    fl.set_num_threads(before)
    assert results[0] == results[1]

def test_large_mean_keeps_its_digits():
    x = C(np.array([[1., 3., 8.], [10001., 10003., 10008.]], 'f4'), 'r d')
    y = x.layer_norm('d').data
    np.testing.assert_allclose(y[0], y[1], rtol=1e-3)

def test_zero_and_single():
    assert C([[0., 0.]], 'r d').rms_norm('d').tolist() == [[0, 0]]
    assert C([[3.]], 'r d').layer_norm('d').tolist() == [[0]]
    x = fl.param([[0., 0.]], 'r d')
    x.l2_normalize('d').sum().backward()
    assert np.isfinite(x.grad.data).all()

def test_standardize():
    x = C([[1., 2., 3., 4.]], 't d')
    y = x.standardize('d')
    assert abs(y.sum().item()) < 1e-6 and y.data[0, 3] == pytest.approx(1.3416408, abs=1e-6)
    # one value: variance counts as 0
    assert C([[5., 1., 2.]], 'r d').standardize('d', valid_len=1, eps=1.).tolist() == [[0, 0, 0]]
    assert C([[5.]], 'r d').standardize('d', ddof=1, eps=1.).tolist() == [[0]]
    x = fl.param([[1., 2., 9., 9.]], 'r d')
    x.standardize('d', valid_len=2).sum().backward()
    assert x.grad.data[0, 2:].tolist() == [0, 0]
    x.zero_grad()
    y = x.standardize('d', valid_len=0)
    y.sum().backward()
    assert y.tolist() == [[0] * 4] and x.grad.tolist() == [[0] * 4]
    assert np.isnan(C([[2., 2.]], 'r d').standardize('d').data).all()
    with pytest.raises(InvalidShape): x.standardize('d', eps=float('nan'))

def test_worked_examples():
    assert C([[1., 3.]], 't d').rms_norm('d', eps=0).data[0, 1] == pytest.approx(1.3416407864998738, abs=1e-6)
    assert C([[1., 3.]], 't d').layer_norm('d', eps=0).tolist() == [[-1, 1]]

@pytest.mark.parametrize('half', ['f16', 'bf16'])
def test_short_numbers_round_once(half):
    x, w = fl.randn('r d', (4, 64), seed=1).to(half), fl.ones('d', (64,)).to(half)
    assert x.layer_norm('d').tolist() == x.to('f32').layer_norm('d').to(half).tolist()
    assert x.rms_norm('d', weight=w).dtype == half

@pytest.mark.parametrize('call',
                         [lambda x, w: x.standardize('d'),
                          lambda x, w: x.group_norm('d', 1),
                          lambda x, w: x.snake('d', w, w),
                          lambda x, w: x.linear_cross_entropy(
                              fl.Tensor([[1., 2.], [3., 4.]], 'class d'), fl.Tensor([0, 1], 't')),
                          lambda x, w: x.linear_distill(fl.Tensor([[1., 2.], [3., 4.]], 'class d'),
                                                        [0, 1], [0, 1], [.5, .5]),
                          lambda x, w: x.linear_recurrence('t', w)])
@pytest.mark.filterwarnings('error')
def test_infinity_leaks_no_warning(call):
    x, w = fl.param([[np.inf, 1.], [3e38, np.nan]], 't d'), fl.param([1., np.inf], 'd')
    y = call(x, w)
    y.backward(np.ones(y.shape))

def test_a_weight_is_no_eps():
    x, w = fl.ones('t d', t=2, d=2), fl.ones('d', d=2)
    with pytest.raises(OptionError, match='weight=w'): x.layer_norm('d', w, w)
    w = fl.param(w)
    with pytest.raises(UnsupportedGradient, match='weight=w'): x.layer_norm('d', w, w)

def test_a_batch_is_not_merged_into_time():
    "Merging would mix the statistics of the batch, so the message does not offer it."
    with pytest.raises(TagError, match='one by one') as e: fl.ones('b t c', (2, 3, 4)).group_norm('c', 2)
    assert 'merge(' not in str(e.value)

def test_a_norm_turns_or_adds():
    x, table = fl.ones('seq d', (2, 4)), fl.rope_table([0, 5], 4)
    with pytest.raises(OptionError, match='^rms_norm: residual and rope together'):
        x.rms_norm('d', residual=x, rope=('seq', table))
    with pytest.raises(InvalidShape, match="^rms_norm over 'd': 3 features form no pairs"):
        fl.ones('seq d', (2, 3)).rms_norm('d', rope=('seq', table))
    with pytest.raises(ShapeMismatch, match="(?s)the table turns 4 features at 2 positions.*table "
                                            ": .*x.rms_norm\\('d'\\).rope\\('seq', 'd', table\\)"):
        fl.ones('seq d', (3, 4)).rms_norm('d', rope=('seq', table))


# ---- groups of channels over axes by name

def by_groups(a, groups, eps):
    "(image, place, channel) in f64: each group of an image less its mean, over its standard deviation."
    v = a.astype('f8').reshape(*a.shape[:2], groups, -1)
    return ((v - v.mean((1, 3), keepdims=True)) / np.sqrt(v.var((1, 3), keepdims=True) + eps)).reshape(a.shape)

@pytest.mark.parametrize('shift', [0, 1000])
@pytest.mark.parametrize('groups', [1, 2, 6])
@pytest.mark.parametrize('tags', ['image h w c', 'c image w h', 'w c h image'])
def test_groups_of_channels_over_axes_that_are_named(tags, groups, shift, backend):
    "Wherever the axes lie, far from 0 too, and of 300 places as of 12; a picture is what it is alone."
    for h, w in ((4, 3), (20, 15)):
        x = fl.randn('image h w c', (2, h, w, 6), seed=3) + float(shift)
        want = by_groups(x.numpy().reshape(2, -1, 6), groups, 1e-5).reshape(x.shape)
        y = x.permute(tags).contiguous().group_norm('c', groups, over='h w')
        assert y.tags == tuple(tags.split())
        np.testing.assert_allclose(y.permute('image h w c'), want, rtol=0, atol=2e-6 if not shift else 2e-4)
        for i in range(2):
            alone = x.select(image=i).contiguous().merge('time', 'h', 'w').group_norm('c', groups)
            np.testing.assert_allclose(alone, want[i].reshape(-1, 6), rtol=0, atol=2e-6 if not shift else 2e-4)

def test_group_gradients_are_those_of_the_formula(backend):
    "Written out with the operations that chapter 13 has, in f64."
    x = fl.param(np.random.default_rng(0).normal(size=(2, 5, 3, 4)), 'image h w c', 'f64')
    weight, bias = (fl.param(np.random.default_rng(k).normal(size=4), 'c', 'f64') for k in (1, 2))
    def written():
        v, over = x.split('c', 'group c', (2, 2)), ('h', 'w', 'c')
        h = (v - v.mean(*over)) * (v.var(*over) + 1e-5).rsqrt()
        return h.merge('c', 'group', 'c') * weight + bias
    found = []
    for y in (x.group_norm('c', 2, 1e-5, weight, bias, over='h w'), written()):
        for t in (x, weight, bias): t.zero_grad()
        y.sigmoid().sum().backward()
        found.append([y.numpy(), *[t.grad.numpy() for t in (x, weight, bias)]])
    for a, b in zip(*found): np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)

@pytest.mark.parametrize('over, kind, said', [('c', TagError, "over 'c', the axis of the channels"),
                                              ('h row', TagError, "'row'"), ('h h', TagError, "'h'"),
                                              (None, TagError, "over='time' says what belongs together")])
def test_axes_that_are_no_places(over, kind, said):
    with pytest.raises(kind, match=said): fl.ones('b h c', (2, 3, 4)).group_norm('c', 2, over=over)
