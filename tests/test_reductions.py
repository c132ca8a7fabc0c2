"""Reductions: the same answer along every axis and in every layout, gradients at ties and zeros,
masks that leave no trace, types, refusals."""
import warnings
import numpy as np
import pytest
from hypothesis import given, strategies as st
import fucinalib as fl
from fucinalib.errors import *
from fucinalib.ops.reductions import lanes
from memory_layouts import LAYOUTS, layout

V = lambda data, tags='': fl.param(data, tags)
C = lambda data, tags='', dtype=None: fl.Tensor(data, tags, dtype)
rng = np.random.default_rng(0)
NAN, INF = np.nan, np.inf


# ---- cases of other libraries

def test_the_mean_takes_part_in_itself():
    "Case 03."
    x = V([2., 4., 6., 8.], 'd')
    x.sub(x.mean('d')).backward(np.ones(4))
    assert x.grad.tolist() == [0, 0, 0, 0]
    x.zero_grad()
    x.sub(x.mean('d')).backward([1., 0., 0., 0.])
    assert x.grad.tolist() == [.75, -.25, -.25, -.25]

@layout
def test_ties_give_one_slope(layout, backend):
    "Case 09: all of it to the first in the order of the tags, whatever lies first in memory."
    a = LAYOUTS[layout](np.array([[7, 7, 7, 1], [2, 9, 9, 0]], 'f4'))
    for f, want in (('max', [[1, 0, 0, 0], [0, 1, 0, 0]]), ('min', [[0, 0, 0, 1], [0, 0, 0, 1]])):
        x = V(a, 'r c')
        getattr(x, f)('c').sum().backward()
        assert x.grad.tolist() == want
    x = V(a[:, :3] * 0 + 4, 'r c')
    x.max().backward()
    assert x.grad.tolist() == [[1, 0, 0], [0, 0, 0]]
    x.zero_grad()
    x.norm(ord='inf').backward()
    assert x.grad.tolist() == [[1, 0, 0], [0, 0, 0]]

@layout
def test_product_never_divides(layout, backend):
    "Case 11."
    for rows, w, want in (([[5, 0, 2, 3]], [1], [[0, 30, 0, 0]]),
                          ([[5, 0, 0, 3]], [1], [[0, 0, 0, 0]]),
                          ([[5, 0, 2], [1, 4, 2]], [1, 10], [[0, 10, 0], [80, 20, 40]]),
                          ([[5, -0., 2]], [1], [[0, 10, 0]])):
        x = V(LAYOUTS[layout](np.array(rows, 'f4')), 'r c')
        x.prod('c').backward(np.array(w, 'f4'))
        assert x.grad.tolist() == want
    x = V([1e-38, 1e-38, 1e30, 1e30], 'd')
    y = x.prod()
    y.backward()
    assert y.item() == pytest.approx(1e-16) and np.isfinite(x.grad.numpy()).all()
    assert x.grad.numpy()[2] == pytest.approx(1e-46, abs=1e-44)

def test_norm_at_zero(backend):
    "Case 13: the gradient of a zero vector is 0, and the other lanes do not notice."
    x = V([[0., 0., 0.], [3., 0., 4.]], 'r d')
    for f in (lambda: x.norm('d').sum(), lambda: x.norm('d').square().sum()):
        x.zero_grad(); f().backward()
        assert x.grad.numpy()[0].tolist() == [0, 0, 0] and np.isfinite(x.grad.numpy()).all()
    x.zero_grad(); x.norm('d').sum().backward()
    np.testing.assert_allclose(x.grad.numpy()[1], [.6, 0, .8], rtol=1e-6)
    x.zero_grad(); x.square().sum('d').sum().backward()
    assert x.grad.numpy()[0].tolist() == [0, 0, 0]
    z = V([0., -0., 2., -3.], 'd')
    z.norm('d', ord=1).backward()
    assert z.grad.tolist() == [0, 0, 1, -1]

def test_variance_of_one_value(backend):
    "Case 17."
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        for ddof, want in ((0, 0.), (1, NAN)):
            x = V([[5.], [7.]], 'r c')
            y = x.var('c', ddof=ddof)
            y.sum().backward()
            np.testing.assert_array_equal(y.numpy(), [want, want])
            np.testing.assert_array_equal(x.grad.numpy(), [[want], [want]])
            assert np.isnan(x.std('c', ddof=1).numpy()).all() and x.std('c').tolist() == [0, 0]
    for ddof in (2, -1, .5, None):
        with pytest.raises(OptionError): x.var('c', ddof=ddof)
    const = V(np.full((5, 3), .1, 'f4'), 'r c')       # equal values: exactly 0, and no gradient out of rounding
    const.std('r').sum().backward()
    assert const.var('r').tolist() == [0, 0, 0] and not const.grad.numpy().any()

@layout
def test_layouts(layout):
    "Case 35."
    a = LAYOUTS[layout](np.arange(6, dtype='f4').reshape(2, 3))
    assert C(a, 'r c').sum('c').tolist() == [3, 12] and C(a, 'r c').sum('r').tolist() == [3, 5, 7]
    assert C(np.arange(24, dtype='f4').reshape(4, 6)[::2, 1::2], 'r c').sum('c').tolist() == [9, 45]

def test_awkward_arrays():
    "Case 31 for sums: negative, zero and odd strides, read-only, big-endian, fields."
    base = np.arange(6, dtype='f4').reshape(2, 3)
    field = np.zeros((2, 3), [('a', 'i1'), ('v', 'f4')]); field['v'] = base
    frozen = base.copy(); frozen.flags.writeable = False
    for a in (base[:, ::-1], np.flip(base, (0, 1))[::-1], np.array(base, '>f4'), field['v'], frozen):
        assert C(a, 'r c').sum('c').tolist() == [3, 12]
    assert C(np.broadcast_to(base[1], (4, 3)), 'r c').sum('r').tolist() == [12, 16, 20]

def test_small_types_do_not_overflow():
    "Case 37."
    a, b = C(np.full(200, 100, 'i1'), 'd'), C(np.full(100, 16000, 'i2'), 'd')
    assert (a.sum().item(), b.sum().item(), a.mean().item(), b.mean().item()) == (20000, 1600000, 100, 16000)
    assert a.sum().dtype == b.sum('d').dtype == a.prod().dtype == 'i64' and a.mean().dtype == 'f32'
    assert C([True, True, False], 'd').sum().item() == 2 and C([True, True, False, False], 'd').mean().item() == .5
    assert C(np.full(20, 100, 'i1'), 'd').prod().item() == (100**20 + 2**63) % 2**64 - 2**63
    for name in ('i8', 'u8', 'i16', 'i32', 'i64'):
        x = C(np.array([3, 1, 2], fl.dtypes.as_dtype(name).np), 'd')
        assert x.max().dtype == x.min().dtype == name and x.max().item() == 3
    assert C([[True, False]], 'r c').max('c').tolist() == [True]

@pytest.mark.parametrize('shape,tag', [((300_000,), 'a'), ((300_000, 2), 'a'), ((2, 300_000), 'b'),
                                       ((3, 100_000, 2), 'b'), ((300, 1000), 'a b')])
def test_long_sums(shape, tag, backend):
    "Case 43: along any axis."
    x = C(np.full(shape, .001, 'f4'), 'abc'[:len(shape)] if len(shape) == 1 else ' '.join('abc'[:len(shape)]))
    n = np.prod([x.size(t) for t in tag.split()])
    exact = n * float(np.float32(.001))
    for got, want in ((x.sum(tag), exact),
                      (x.mean(tag), exact / n),
                      (x.norm(tag, ord=1), exact),
                      (x.norm(tag), np.sqrt(n) * float(np.float32(.001)))):
        assert np.abs(got.numpy() / want - 1).max() < 2e-6
    assert x.var(tag).numpy().max() < 1e-14

@pytest.mark.parametrize('n', [*range(1, 34), 63, 64, 65, 127, 128, 129, 1023, 1024, 1025])
def test_nan_never_wins(n, backend):
    "Case 47, for each length with the NaN at each place; a lane of NaN gives NaN, a lane of -inf -inf."
    a = rng.permutation(n).astype('f4')
    lanes_ = np.stack([np.where(np.arange(n) == i, np.float32(NAN), a) for i in range(0, n, max(1, n // 33))])
    real = ~np.isnan(lanes_)
    for x, tag in ((C(lanes_, 'lane d'), 'd'), (C(np.ascontiguousarray(lanes_.T), 'd lane'), 'd')):
        for f, ref, none in (('max', np.fmax, -INF), ('min', np.fmin, INF)):
            np.testing.assert_array_equal(getattr(x, f)(tag).numpy(), ref.reduce(lanes_, axis=1))
            y = V(x.data, x.tags)
            getattr(y, f)(tag).sum().backward()
            at = np.argmax(lanes_ == ref.reduce(lanes_, axis=1)[:, None], axis=1)
            g = y.grad.numpy() if x.tags[0] == 'lane' else y.grad.numpy().T
            np.testing.assert_array_equal(np.argmax(g, axis=1), at)
            np.testing.assert_array_equal(g.sum(axis=1), 1)
            ends = C(np.full((2, n), none, 'f4'), 'lane d')
            assert getattr(ends, f)('d').tolist() == [none, none]
    assert np.isnan(C(np.full((2, n), NAN, 'f4'), 'lane d').max('d').numpy()).all()
    assert np.isnan(C(np.full((n, 2), NAN, 'f4'), 'd lane').min('d').numpy()).all()
    assert real.any() or n == 1

def test_norm_shows_nan():
    x = C([[1., NAN], [1., 2.]], 'r c')
    for o in (1, 2, 'inf'): assert np.isnan(x.norm('c', ord=o).numpy()).tolist() == [True, False]


# ---- laws

@st.composite
def arrays(draw, low=-2., high=2., ties=False):
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    r = np.random.default_rng(draw(st.integers(0, 99)))
    a = r.integers(-2, 3, shape).astype('f8') if ties else r.uniform(low, high, shape)
    a = LAYOUTS[draw(st.sampled_from(list(LAYOUTS)))](a)
    tags = draw(st.permutations('abcd'))[:len(shape)]
    over = draw(st.lists(st.sampled_from(tags), unique=True))
    return a, tuple(tags), tuple(over)

REF = {'sum': np.sum, 'mean': np.mean, 'prod': np.prod, 'var': np.var, 'std': np.std, 'max': np.max, 'min': np.min}

@given(arrays(), st.sampled_from(sorted(REF)))
def test_like_numpy(case, name):
    "Any axes, orders and strides: NumPy's value, remaining tags in order, right gradients."
    a, tags, over = case
    x = V(a, tags)
    y = getattr(x, name)(*over)
    axes = tuple(tags.index(t) for t in over) if over else None
    np.testing.assert_allclose(y.data, REF[name](a, axis=axes), rtol=1e-10, atol=1e-13)
    assert y.tags == (tuple(t for t in tags if t not in over) if over else ()) and not np.shares_memory(y.data, a)
    if name != 'std' or not (y.data == 0).any():
        assert fl.gradcheck(getattr(fl, name), x, *[], **{}) if not over else fl.gradcheck(
            lambda x: getattr(x, name)(*over), x)

@given(arrays(ties=True))
def test_slopes_of_a_maximum_add_to_one(case):
    a, tags, over = case
    x = V(a, tags)
    y = x.max(*over)
    y.sum().backward()
    assert (x.grad.sum(*over).data == 1).all() and set(np.unique(x.grad.data)) <= {0, 1}
    first = np.argmax(
        x.grad.data.transpose(
            [*[i for i, t in enumerate(tags) if over and t not in over],
             *[i for i, t in enumerate(tags) if not over or t in over]]).reshape(y.data.size, -1),
        axis=1)
    lanes_ = a.transpose(
        [*[i for i, t in enumerate(tags) if over and t not in over],
         *[i for i, t in enumerate(tags) if not over or t in over]]).reshape(y.data.size, -1)
    np.testing.assert_array_equal(first, np.argmax(lanes_, axis=1))

@given(arrays(), st.floats(-3, 3))
def test_sum_is_linear(case, s):
    a, tags, over = case
    x, z = C(a, tags), C(np.cos(a), tags)
    np.testing.assert_allclose((x * s + z).sum(*over).data,
                               (x.sum(*over) * s + z.sum(*over)).data, rtol=1e-9, atol=1e-9)

@given(st.data())
def test_masks_leave_no_trace(data):
    "What is not selected may be anything; the result is that of the selected alone, the gradient 0 there."
    a, tags, over = data.draw(arrays())
    keep = np.random.default_rng(data.draw(st.integers(0, 99))).random(a.shape) < .6
    spoiled = np.where(keep, a, data.draw(st.sampled_from([NAN, INF, -INF])))
    m = C(keep, tags)
    axes = tuple(tags.index(t) for t in over) if over else tuple(range(a.ndim))
    some = keep.any(axis=axes)
    for name, none in (('sum', 0.), ('mean', NAN), ('max', -INF), ('min', INF)):
        x = V(spoiled, tags)
        y = getattr(x, name)(*over, mask=m)
        with np.errstate(all='ignore'), warnings.catch_warnings():
            warnings.simplefilter('ignore')
            want = {'sum': np.sum(a, axis=axes, where=keep),
                    'mean': np.mean(a, axis=axes, where=keep),
                    'max': np.max(np.where(keep, a, -INF), axis=axes),
                    'min': np.min(np.where(keep, a, INF), axis=axes)}[name]
        np.testing.assert_allclose(y.data, want, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(getattr(x, name)(*over, mask=m, empty=7.).data, np.where(some, y.data, 7.))
        y.backward(np.where(np.isfinite(y.data), 1., 0.))
        assert np.isfinite(x.grad.data).all() and not x.grad.data[~keep].any()

@pytest.mark.parametrize('shape', [(3, 17), (50, 40), (7, 100), (7, 127), (7, 128), (7, 1024), (40, 1100), (2, 20_000),
                                   (2, 40_001), (3, 5, 300), (2000, 3), (20_000, 1)])
def test_masked_sum_is_the_sum_of_the_filled(shape, backend):
    "Bit for bit, and so is a mask that selects all."
    a, keep, tags = rng.normal(size=shape).astype('f4'), rng.random(shape) < .5, tuple('abc'[:len(shape)])
    x, filled, m, every = (C(a, tags), C(np.where(keep, a, np.float32(0)), tags), C(keep, tags),
                           C(np.ones(shape, bool), tags))
    for over in [(t,) for t in tags] + [tags, tags[:2], tags[1:], (tags[0], tags[-1])]:
        over = tuple(dict.fromkeys(over))
        np.testing.assert_array_equal(x.sum(*over, mask=m).data, filled.sum(*over).data)
        np.testing.assert_array_equal(x.sum(*over, mask=every).data, x.sum(*over).data)

def test_masked_max_of_nan(backend):
    "Only NaN selected gives NaN, its slope at the first selected; nothing selected gives -inf and no slope."
    a = np.array([[NAN, 1, NAN], [NAN, NAN, 5], [3, 4, NAN]], 'f4')
    m = np.array([[True, False, True], [False, False, False], [True, True, True]])
    for x, mask, tag in ((V(a, 'r c'), C(m, 'r c'), 'c'), (V(a.T.copy(), 'c r'), C(m.T.copy(), 'c r'), 'c')):
        y = x.max(tag, mask=mask)
        np.testing.assert_array_equal(y.data, np.array([NAN, -INF, 4], 'f4'))
        y.sum().backward()
        g = x.grad.data if x.tags[0] == 'r' else x.grad.data.T
        assert g.tolist() == [[1, 0, 0], [0, 0, 0], [0, 1, 0]]

def test_mask_forms():
    x = V([[1., 2.], [3., 4.]], 'r c')
    m = C([[True, False], [True, True]], 'r c')
    assert x.sum('c', mask=C(m.data.T, 'c r')).tolist() == [1, 7]
    assert x.sum('c', mask=C([[1., 0.], [NAN, -2.]], 'r c')).tolist() == [1, 7]
    assert x.sum(mask=m, empty=9.).item() == 8
    assert x.mean('r', mask=C(np.zeros((2, 2), bool), 'r c'), empty=0).tolist() == [0, 0]
    assert C([[1, 2], [3, 4]], 'r c').sum('c', mask=m).dtype == 'i64'
    assert C([[1, 2], [3, 4]], 'r c').max('c', mask=m, empty=0).tolist() == [1, 4]
    for bad, kind in ((C([True, False], 'c'), ShapeMismatch),
                      (C([[1, 0], [1, 1]], 'r c'), DTypeError),
                      (C([[True], [False]], 'r c'), ShapeMismatch),
                      (C([[True, True]], 'r c'), ShapeMismatch),
                      (m.data, DTypeError)):
        with pytest.raises(kind, match='help:'): x.sum('c', mask=bad)
    with pytest.raises(OptionError): x.sum('c', empty=0.)
    with pytest.raises(OptionError): x.var('c', mask=m)


# ---- the rest

def test_refusals():
    x = V([[1., 2.]], 'row col')
    for f in ('sum', 'mean', 'max', 'min', 'prod', 'var', 'std', 'norm'):
        with pytest.raises(TagError, match="did you mean 'col'"): getattr(x, f)('cols')
        with pytest.raises(TagError): getattr(x, f)('col', 'col')
        with pytest.raises(TagError): getattr(x, f)(0)
        with pytest.raises(OptionError, match='chosen by tag'): getattr(x, f)(dim=1)
    for f in ('var', 'std', 'norm'):
        with pytest.raises(DTypeError, match="to\\('f32'\\)"): getattr(C([1, 2], 'd'), f)()
    for o in (3, 0, '1', 'fro', -1):
        with pytest.raises(OptionError): x.norm('col', ord=o)

def test_types():
    for name in ('f16', 'bf16'):
        x = C(np.array([[1., 2.], [3., 4.]]), 'r c').to(name)
        for f in ('sum', 'mean', 'max', 'min', 'prod', 'var', 'std', 'norm'): assert getattr(x, f)('c').dtype == 'f32'
    for f in ('sum', 'mean', 'max', 'min', 'prod', 'var', 'std', 'norm'):
        x = V(np.array([[1., 2.], [3., 4.]]), 'r c')
        y = getattr(x, f)('c')
        y.sum().backward()
        assert y.dtype == x.grad.dtype == 'f64'
    many = C(np.full(70_000, 1., 'f2'), 'd')
    assert many.sum().item() == 70_000       # beyond the largest f16

def test_a_single_number():
    x = V(3.)
    for f, want in (('sum', 3), ('mean', 3), ('max', 3), ('min', 3), ('prod', 3), ('var', 0), ('norm', 3)):
        x.zero_grad()
        y = getattr(x, f)()
        y.backward()
        assert y.item() == want and y.tags == () and x.grad.shape == ()

def test_threads_do_not_matter():
    if 'pythran' not in fl.backends(): pytest.skip('kernels are not compiled here')
    x, m = C(rng.normal(size=(300, 7000)).astype('f4'), 'r c'), C(rng.random((300, 7000)) < .5, 'r c')
    def all_():
        return [f.numpy() for t in (('r',), ('c',), ())
                for f in (x.sum(*t), x.mean(*t, mask=m), x.var(*t), x.norm(*t), x.prod(*t),
                          x.max(*t), x.sum(*t, mask=m))]
    before = fl.get_num_threads()
    try:
        results = []
        for n in (1, 2, 3):
            fl.set_num_threads(n)
            results.append(all_())
    finally: fl.set_num_threads(before)
    for other in results[1:]:
        for a, b in zip(results[0], other): np.testing.assert_array_equal(a, b)

def test_lanes():
    a = np.zeros((2, 3, 4, 5))
    see = lambda axes, a=a, **kw: lanes(a.shape, a.strides, axes, **kw).shape
    assert see((1, 2)) == (2, 12, 5) and see((0,)) == (1, 2, 60) and see((3,)) == (24, 5, 1)
    assert see((0, 1, 2, 3)) == (1, 120, 1) and see((0, 2)) == (15, 8, 1)
    assert see(()) == (120, 1, 1)
    assert see((0, 3), a.transpose(3, 1, 2, 0)) == (12, 10, 1)
    assert see((0, 1), a.transpose(1, 0, 2, 3)) == (1, 6, 20)
    assert see((0, 1), a.transpose(1, 0, 2, 3), by_tag=True) == (20, 6, 1)

@pytest.mark.parametrize('dtype', ['f32', 'f64', 'i64', 'bool'])
def test_sum_of_a_single_number_is_a_copy(dtype):
    x = fl.Tensor(1., dtype=dtype)
    assert not np.shares_memory(x.sum().data, x.data) and x.sum().item() == 1
