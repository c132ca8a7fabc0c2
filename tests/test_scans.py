"""Scans: serial in every lane and so the same bits everywhere, gradients at zeros, segments,
recurrences that can be cut."""
import numpy as np
import pytest
from hypothesis import given, strategies as st
import fucinalib as fl
from fucinalib.errors import *
from memory_layouts import LAYOUTS, layout

V = lambda data, tags='': fl.param(data, tags)
C = lambda data, tags='', dtype=None: fl.Tensor(data, tags, dtype)
rng = np.random.default_rng(0)


def loop(x, a, h):
    "h[t] = a[t] h[t-1] + x[t] along axis 0, one rounding per operation."
    y = np.empty_like(x)
    for t in range(len(x)): h = y[t] = a[t] * h + x[t]
    return y


@layout
def test_layouts(layout, backend):
    "Case 31 and 35."
    a = LAYOUTS[layout](np.arange(6, dtype='f4').reshape(2, 3)[:, ::-1])
    assert C(a, 'r c').cumsum('c').tolist() == [[2, 3, 3], [5, 9, 12]]
    assert C(a, 'r c').cumsum('r').tolist() == [[2, 1, 0], [7, 5, 3]]
    assert C(a, 'r c').cumprod('c').tolist() == [[2, 2, 0], [5, 20, 60]]

@pytest.mark.parametrize('shape', [(1, 1), (3, 7), (7, 3), (17, 40), (3, 600), (600, 3), (2, 5, 33), (33, 5, 2)])
def test_bits_of_numpy(shape, backend):
    "cumsum, cumprod and the recurrence are serial float32, exactly; a decay of 1 is cumsum."
    a, tags = rng.normal(size=shape).astype('f4'), 'abc'[:len(shape)]
    x = C(a, tuple(tags))
    for i, t in enumerate(tags):
        np.testing.assert_array_equal(x.cumsum(t).data, np.cumsum(a, axis=i))
        np.testing.assert_array_equal(x.cumprod(t).data, np.cumprod(a, axis=i))
        np.testing.assert_array_equal(x.linear_recurrence(t, C(1.)).data, np.cumsum(a, axis=i))
        decay = rng.uniform(.5, 1, shape).astype('f4')
        np.testing.assert_array_equal(x.linear_recurrence(t, C(decay, tuple(tags))).data,
                                      np.moveaxis(loop(np.moveaxis(a, i, 0), np.moveaxis(decay, i, 0),
                                                       np.zeros_like(np.take(a, 0, i))),
                                                  0, i))

def test_drift(backend):
    "Case 43: the running sum is NumPy's, the sum is better."
    a = np.full(300_000, .001, 'f4')
    y = C(a, 'd').cumsum('d').numpy()
    np.testing.assert_array_equal(y, np.cumsum(a))
    assert y[-1] == np.float32(301.15863) and abs(C(a, 'd').sum().item() - 300) < 1e-3

def test_cumprod_at_zeros(backend):
    "Exact with none, one and several zeros in a lane."
    rows = np.array([[2, 3, 4, 5], [2, 0, 4, 5], [0, 3, 0, 5], [0, 0, 0, 0], [-0., 1, 2, 3]], 'f4')
    g = np.array([1, 10, 100, 1000], 'f4')
    want = np.array([[sum(g[j] * np.prod(np.delete(r[:j + 1], i)) for j in range(i, 4))
                      for i in range(4)] for r in rows])
    for x, tag in ((V(rows, 'r c'), 'c'), (V(rows.T.copy(), 'c r'), 'c')):
        x.cumprod(tag).backward(np.broadcast_to(g, rows.shape) if x.tags[0] == 'r'
                                else np.broadcast_to(g[:, None], rows.T.shape))
        np.testing.assert_allclose(x.grad.data if x.tags[0] == 'r' else x.grad.data.T, want, rtol=1e-6)

def test_small_types():
    "Case 37."
    a = C(np.full(200, 100, 'i1'), 'd')
    assert a.cumsum('d').dtype == 'i64' and a.cumsum('d').tolist()[-1] == 20000
    assert C(np.full(9, 100, 'i1'), 'd').cumprod('d').tolist()[-1] == 100**9
    assert C([True, True, False, True], 'd').cumsum('d').tolist() == [1, 2, 2, 3]
    assert C(np.full(4, 100, 'u1'), 'd').segment_sum('d', [0, 3, 4]).tolist() == [300, 100]
    for name in ('f16', 'bf16'): assert C(np.ones(3), 'd').to(name).cumsum('d').dtype == name

@st.composite
def arrays(draw):
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    a = LAYOUTS[draw(st.sampled_from(list(LAYOUTS)))](
        np.random.default_rng(draw(st.integers(0, 99))).uniform(-2, 2, shape))
    tags = tuple(draw(st.permutations('abc'))[:len(shape)])
    return a, tags, draw(st.sampled_from(tags))

@given(arrays())
def test_gradients(case):
    a, tags, tag = case
    x = V(a, tags)
    for f in (lambda x: x.cumsum(tag), lambda x: x.cumprod(tag)):
        assert fl.gradcheck(f, x) and f(x).tags == tags and f(x).shape == a.shape

@given(arrays())
def test_the_last_running_sum_is_the_sum(case):
    a, tags, tag = case
    last = lambda y: np.take(y.data, -1, tags.index(tag))
    np.testing.assert_allclose(last(C(a, tags).cumsum(tag)), C(a, tags).sum(tag).data, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(last(C(a, tags).cumprod(tag)), C(a, tags).prod(tag).data, rtol=1e-12, atol=1e-14)

@given(arrays(), st.data())
def test_segments(case, data):
    a, tags, tag = case
    axis, n = tags.index(tag), a.shape[tags.index(tag)]
    at = [0, *sorted(data.draw(st.lists(st.integers(0, n), max_size=4))), n]
    x = V(a, tags)
    y = x.segment_sum(tag, data.draw(st.sampled_from([at, np.array(at), C(at, 'i')])))
    np.testing.assert_allclose(
        y.data, np.stack([np.take(a, range(i, j), axis).sum(axis) for i, j in zip(at, at[1:])], axis),
        rtol=1e-12, atol=1e-14)
    assert y.tags == tags and y.size(tag) == len(at) - 1 and fl.gradcheck(lambda x: x.segment_sum(tag, at), x)

@given(arrays(), st.data())
def test_recurrence(case, data):
    "Any subset of tags for the decay, sizes full or 1; initial state in any order; all gradients."
    a, tags, tag = case
    mine = data.draw(st.permutations(tags))[:data.draw(st.integers(0, len(tags)))]
    r = np.random.default_rng(data.draw(st.integers(0, 99)))
    decay = V(r.uniform(-1, 1, [a.shape[tags.index(t)] if data.draw(st.booleans()) else 1 for t in mine]), tuple(mine))
    left = tuple(data.draw(st.permutations([t for t in tags if t != tag])))
    h = V(r.uniform(-1, 1, [a.shape[tags.index(t)] for t in left]), left)
    x = V(a, tags)
    axis = tags.index(tag)
    full = np.broadcast_to(fl.tags.align(decay.data, decay.tags, tags), a.shape)
    start = fl.tags.align(h.data, h.tags, tuple(t for t in tags if t != tag))
    y = x.linear_recurrence(tag, decay, initial=h)
    np.testing.assert_allclose(
        y.data, np.moveaxis(loop(np.moveaxis(a, axis, 0), np.moveaxis(full, axis, 0), start), 0, axis),
        rtol=1e-12, atol=1e-14)
    assert y.tags == tags and fl.gradcheck(lambda x, d, h: x.linear_recurrence(tag, d, h), x, decay, h)
    assert fl.gradcheck(lambda x, d: x.linear_recurrence(tag, d), x, decay)

def test_recurrence_can_be_cut(backend):
    "Bit for bit, at any place."
    x, d = rng.normal(size=(40, 5)).astype('f4'), C(rng.uniform(.5, 1, 5).astype('f4'), 'd')
    whole = C(x, 't d').linear_recurrence('t', d).numpy()
    for cut in (1, 7, 39):
        first = C(x[:cut], 't d').linear_recurrence('t', d).numpy()
        rest = C(x[cut:], 't d').linear_recurrence('t', d, initial=C(first[-1], 'd')).numpy()
        np.testing.assert_array_equal(np.concatenate([first, rest]), whole)

def test_refusals():
    x = V([[1., 2.], [3., 4.]], 't d')
    for f in (lambda t: x.cumsum(t), lambda t: x.cumprod(t), lambda t: x.segment_sum(t, [0, 2]),
              lambda t: x.linear_recurrence(t, C(1.))):
        with pytest.raises(TagError, match='help:'): f('tt')
    for bad in ([0], [], [1, 2], [0, 1], [0, 3], [0, 2, 1, 2], [[0, 2]]):
        with pytest.raises(InvalidShape, match='begin with 0'): x.segment_sum('t', bad)
    with pytest.raises(DTypeError): x.segment_sum('t', [0., 2.])
    with pytest.raises(TagError, match="no axis 'e'"): x.linear_recurrence('t', C([1.], 'e'))
    with pytest.raises(ShapeMismatch): x.linear_recurrence('t', C([1., 2., 3.], 'd'))
    with pytest.raises(TagError, match='initial'): x.linear_recurrence('t', C(1.), initial=C([1., 2.], 't'))
    with pytest.raises(TagError, match='initial'): x.linear_recurrence('t', C(1.), initial=C(1.))
    with pytest.raises(ShapeMismatch): x.linear_recurrence('t', C(1.), initial=C([1.], 'd'))
    with pytest.raises(DTypeError): x.linear_recurrence('t', C(np.float64(1)))
    with pytest.raises(DTypeError): x.linear_recurrence('t', .5)
    with pytest.raises(DTypeError): C([[1, 2]], 't d').linear_recurrence('t', C(1))
    with pytest.raises(OptionError, match='no option'): x.linear_recurrence('t', C(1.), reverse=True)


@pytest.mark.parametrize('backend', ['numpy', 'pythran'])
def test_a_decay_that_meets_no_state_gets_no_gradient_whatever_arrives(backend, every_size):
    "Without a first state the first factor multiplies nothing; with one of 0 it is calculus, 0 times NaN."
    with fl.use_backend(backend):
        x, decay = fl.param(np.ones((3, 2), 'f4'), 't d'), fl.param(np.ones((3, 2), 'f4'), 't d')
        x.linear_recurrence('t', decay).backward(np.full((3, 2), np.nan, 'f4'))
        assert (decay.grad.numpy()[0] == 0).all() and np.isnan(decay.grad.numpy()[1:]).all()
        x.linear_recurrence('t', decay, fl.zeros('d', 2)).backward(np.full((3, 2), np.nan, 'f4'))
        assert np.isnan(decay.grad.numpy()).all()
