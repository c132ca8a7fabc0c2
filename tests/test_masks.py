"""Masks: comparisons and their operators, logic, choices and their gradients, whole axes, bands."""
import operator
import numpy as np
import pytest
from hypothesis import given, strategies as st
import fucinalib as fl
from fucinalib import kernels
from fucinalib.errors import *
from memory_layouts import LAYOUTS, layouts

V = lambda data, tags='d', dtype=None: fl.param(data, tags, dtype)
C = lambda data, tags='d', dtype=None: fl.Tensor(data, tags, dtype)
COMPARE = dict(lt=operator.lt, le=operator.le, gt=operator.gt, ge=operator.ge, eq=operator.eq, ne=operator.ne)
ODD = [np.nan, np.inf, -np.inf, 0., -0., 1., -1.]


# comparisons

@pytest.mark.parametrize('name', COMPARE)
@pytest.mark.parametrize('dtype', ['f32', 'f64', 'f16', 'bf16'])
def test_comparisons(name, dtype):
    a, b = (np.array(v, 'f4').reshape(7, 7) for v in np.broadcast_arrays(np.repeat(ODD, 7), np.tile(ODD, 7)))
    f, want = COMPARE[name], COMPARE[name](a, b)
    with np.errstate(all='raise'):
        for _, p in layouts(a):
            x, y = C(p, 'row col', dtype), C(b, 'row col', dtype)
            for got in (f(x, y), getattr(x, name)(y), x.compare(name, y), getattr(fl, name)(x, y)):
                assert got.dtype == 'bool' and got.tags == ('row', 'col') and not got.requires_grad
                np.testing.assert_array_equal(got.data, want)
            for v in (0, 1., np.float32(-1), np.inf, True):
                np.testing.assert_array_equal(f(x, v).data, f(a, np.float32(v)))
            np.testing.assert_array_equal(f(1., x).data, f(np.float32(1), a))
            np.testing.assert_array_equal(f(np.float32(1), x).data, f(np.float32(1), a))

@pytest.mark.parametrize('name', COMPARE)
def test_whole_numbers_compare_exactly(name):
    f, big = COMPARE[name], 2**53
    x = C([big, big + 1, -1, 0])
    for v in (big, big + 1, -1, 2**70, -2**70): assert f(x, v).tolist() == [f(n, v) for n in (big, big + 1, -1, 0)]
    assert f(C([200], 'd', 'u8'), 300).item() == f(200, 300) and f(C([200], 'd', 'u8'), -1).item() == f(200, -1)
    with pytest.raises(DTypeError, match='help:'): f(x, 1.5)
    with pytest.raises(DTypeError, match='help:'): f(x, C([1, 2, 3, 4], 'd', 'i32'))

def test_truth_values_compare():
    m = C([True, True, False])
    assert (m == True).tolist() == [True, True, False] and (m != C([True, False, True])).tolist() == [False, True, True]
    for bad in (lambda: m == 1, lambda: m < .5):
        with pytest.raises(DTypeError, match='help:'): bad()

def test_comparisons_never_stretch():
    x = C([[1., 2.], [3., 4.]], 'row col')
    for other, fix in ((C([1., 2.], 'col'), 'broadcast_to'),
                       (C([[1., 2.]], 'row col'), 'broadcast_to'),
                       (C([[1., 2.], [3., 4.]], 'col row'), r"permute\('row col'\)"),
                       (C([1.], 'z'), 'same tags')):
        for f in COMPARE.values():
            with pytest.raises(ShapeMismatch, match=fix): f(x, other)
    assert (x < C([[1., 2.], [3., 4.]], 'col row').permute('row col')).tolist() == [[False, True], [False, False]]
    with pytest.raises(OptionError, match="did you mean 'lt'"): x.compare('ltt', 0)

def test_equality_and_hashing():
    x = V([1., 2.])
    assert x in {x} and {x: 1}[x] == 1 and hash(x) == object.__hash__(x)
    assert (x == None) is False and (x != None) is True and (x == 'x') is False
    for arrays in ([1., 2.], (1., 2.), np.ones(2)):
        for f in (operator.eq, operator.ne):
            with pytest.raises(DTypeError, match='help:'): f(x, arrays)
    with pytest.raises(DTypeError, match='help:'): np.ones(2) == x
    with pytest.raises(InvalidShape, match='several values'): 0 < x < 1
    with pytest.raises(DTypeError, match='help:'): x < 'a'


# logic

def test_logic():
    a, b = C([True, True, False, False]), C([True, False, True, False])
    f = C([np.nan, -0., 2., 0.])
    assert (a & b).tolist() == a.logical_and(b).tolist() == [True, False, False, False]
    assert (a | b).tolist() == a.logical_or(b).tolist() == [True, True, True, False]
    assert (a ^ b).tolist() == a.logical_xor(b).tolist() == [False, True, True, False]
    assert (~a).tolist() == a.logical_not().tolist() == [False, False, True, True]
    assert f.logical_not().tolist() == [False, True, False, True], 'NaN is true, -0 is not'
    assert f.logical_and(b).tolist() == [True, False, True, False]
    assert a.logical_xor(f).tolist() == [False, True, True, False]
    for y in (a & b, ~a, f.logical_not()): assert y.dtype == 'bool' and not y.requires_grad

def test_byte_masks_are_refused():
    "Case 39."
    m = C([1, 0], 'd', 'u8')
    x = C([1., 2.])
    for bad in (lambda: m.logical_not(), lambda: ~m, lambda: m.logical_or(m),
                lambda: x.where(m, x), lambda: x.masked_fill(m, 0), lambda: m.any(),
                lambda: m.all('d'), lambda: x.logical_and(m)):
        with pytest.raises(DTypeError, match='help:'): bad()
    t = C([True, True, False])
    assert t.sum().item() == 2 and t.sum().dtype == 'i64' and (~t).tolist() == [False, False, True]
    for bad in (lambda: t - t, lambda: 1 - t, lambda: -t):
        with pytest.raises(DTypeError, match='help:'): bad()

def test_operators_explain_precedence():
    x, y = C([1., 2.]), C([3., 4.])
    for f in (operator.and_, operator.or_, operator.xor):
        for bad in (lambda: f(x, y), lambda: f(0, y), lambda: f(x > 0, y)):
            with pytest.raises(DTypeError, match='parentheses|binds tighter'): bad()
        with pytest.raises(DTypeError, match='help:'): f(x > 0, True)
    with pytest.raises(DTypeError, match='help:'): ~x
    with pytest.raises(ShapeMismatch, match='help:'): (x > 0) & C([True])


# choices

def test_where_routes(backend):
    m = C(np.array([[True, False, True], [False, False, True]]), 'row col')
    for how, a in layouts(np.arange(6, dtype='f4').reshape(2, 3)):
        for how2, k in layouts(m.data):
            x, y = V(a, 'row col'), V(a * 10, 'row col')
            z = x.where(C(k, 'row col'), y)
            z.backward(np.arange(1., 7, dtype='f4').reshape(2, 3))
            np.testing.assert_array_equal(z.data, np.where(k, a, a * 10), err_msg=how + how2)
            assert x.grad.tolist() == [[1, 0, 3], [0, 0, 6]] and y.grad.tolist() == [[0, 2, 0], [4, 5, 0]]
            assert not np.shares_memory(z.data, a)

def test_where_never_multiplies(backend):
    "D3: what is not taken sends exact zeros, whatever arrives."
    x, y = V([1., 2.]), V([3., 4.])
    x.where(C([True, False]), y).backward([np.inf, np.nan])
    np.testing.assert_array_equal(x.grad.data, [np.inf, 0]); np.testing.assert_array_equal(y.grad.data, [0, np.nan])
    assert C([np.nan, 1.]).where(C([False, True]), 0.).tolist() == [0, 1]
    x = V([np.nan, 2.])
    x.masked_fill(C([True, False]), 7).backward([np.nan, 1.])
    np.testing.assert_array_equal(x.grad.data, [0, 1])

def test_number_types_of_choices():
    for dtype in 'f32 f64 f16 bf16 i64 i8 u8'.split():
        x = C([1, 2, 3], 'd', dtype)
        y = x.where(C([True, False, True]), 0)
        assert y.dtype == dtype and y.tolist() == [1, 0, 3] and x.masked_fill(C([True, False, False]), 5).dtype == dtype
    b = C([True, False]).where(C([False, True]), True)
    assert b.dtype == 'bool' and b.tolist() == [True, False]
    assert C([True, True]).masked_fill(C([False, True]), False).tolist() == [True, False]
    x = C([1., 2.])
    for bad in (lambda: x.where(C([True, True]), C([1, 2])),
                lambda: x.where(C([True, True]), '0'),
                lambda: C([1, 2]).where(C([True, True]), .5),
                lambda: C([1], 'd', 'u8').masked_fill(C([True]), -1),
                lambda: x.where([True, False], 0.),
                lambda: x.where(np.array([True, False]), 0.),
                lambda: x.masked_fill(C([True, True]), x),
                lambda: fl.where(C([True, True]), x, x)):
        with pytest.raises(DTypeError, match='help:'): bad()
    for bad in (lambda: x.where(C([True]), 0.),
                lambda: x.where(C([True, True]), C([1.])),
                lambda: x.masked_fill(C([True, True], 'e'), 0.)):
        with pytest.raises(ShapeMismatch, match='help:'): bad()

def test_masks_get_no_gradient():
    m = V([0., 2., np.nan])
    x = V([1., 2., 3.])
    y = x.where(m, 0.)
    y.sum().backward()
    assert y.tolist() == [0, 2, 3] and x.grad.tolist() == [0, 1, 1] and m.grad is None
    x.masked_fill(m, 0.).sum().backward()
    assert m.grad is None

def test_the_branch_not_taken():
    "Case 07: NaN as calculus of the parts has it, and the recipe that avoids it."
    x = V([-4., -9., 16.])
    x.sqrt().where(x > 0, x).sum().backward()
    np.testing.assert_array_equal(x.grad.data, [np.nan, np.nan, .125])
    x = V([-4., -9., 16.])
    x.where(x.gt(0), C([1., 1., 1.])).sqrt().where(x.gt(0), x).sum().backward()
    assert x.grad.tolist() == [1, 1, .125]

def test_missing_targets():
    "Case 41: fill the NaN before it enters."
    for clean, right in ((False, [2, np.nan, -4]), (True, [2, 0, -4])):
        x, y = V([1., 2., 3.]), C([0., np.nan, 5.])
        m = y.isnan().logical_not()
        if clean: y = y.masked_fill(m.logical_not(), 0)
        loss = x.sub(y).square().where(m, 0.).sum()
        loss.backward()
        assert loss.item() == 5
        np.testing.assert_array_equal(x.grad.data, right)


# whole axes

def test_any_all():
    a = np.random.default_rng(0).random((2, 3, 4)) < .7
    x = C(a, 'a b c')
    for name in ('any', 'all'):
        f, g = getattr(x, name), getattr(np, name)
        for tags, axes in (('b', 1), ('a c', (0, 2)), ('c a', (0, 2)), ('', None)):
            for how, p in layouts(a):
                y = getattr(C(p, 'a b c'), name)(*tags.split())
                np.testing.assert_array_equal(y.data, g(a, axis=axes))
                assert y.dtype == 'bool' and y.tags == tuple(t for t in 'abc' if tags and t not in tags)
        assert f('a', 'c').tolist() == f('a c').tolist() == f(('a', 'c')).tolist()
        with pytest.raises(TagError, match='help:'): f('d')
        with pytest.raises(TagError, match='help:'): f(0)
        with pytest.raises(OptionError, match='help:'): f(dim=0)
    f = C([[np.nan, 0.], [-0., 0.]], 'row col')
    assert f.any('col').tolist() == [True, False] and f.all().item() is False and bool(f.any())

def test_nan_and_inf():
    x = V(ODD)
    with np.errstate(all='raise'):
        for name in ('isnan', 'isinf', 'isfinite'):
            y = getattr(x, name)()
            np.testing.assert_array_equal(y.data, getattr(np, name)(ODD))
            assert y.dtype == 'bool' and not y.requires_grad
    i = C([1, 2])
    assert not i.isnan().any() and i.isfinite().all() and not i.isinf().any()

def test_counting():
    m = C([[True, False], [True, True]], 'row col')
    assert m.sum().item() == 3 and m.sum('row').tolist() == [2, 1] and m.sum().dtype == 'i64'


# bands

@given(st.integers(1, 6), st.integers(1, 6), st.one_of(st.none(), st.integers(-8, 8)),
       st.one_of(st.none(), st.integers(-8, 8)))
def test_band_mask(n, m, lower, upper):
    want = [[(lower is None or i - j <= lower) and (upper is None or j - i <= upper) for j in range(m)]
            for i in range(n)]
    y = fl.band_mask('q k', q=n, k=m, lower=lower, upper=upper)
    assert y.tolist() == want and y.dtype == 'bool' and y.tags == ('q', 'k')
    assert fl.band_mask('q k', (n, m), lower=lower, upper=upper).tolist() == want

@given(st.permutations('ars'), st.integers(1, 4), st.integers(1, 4),
       st.one_of(st.none(), st.integers(-5, 5)), st.one_of(st.none(), st.integers(-5, 5)),
       st.sampled_from(['plain', 'fortran', 'stepped']))
def test_band_part(tags, n, m, lower, upper, layout):
    "Any two axes, in any order of axes and memory, on every backend; what is outside is gone, NaN or not."
    sizes = dict(a=2, r=n, s=m)
    a = np.random.default_rng(0).normal(size=[sizes[t] for t in tags]).astype('f4')
    a = LAYOUTS[layout](a)
    inside = fl.band_mask('r s', (n, m), lower=lower, upper=upper).data
    plane = np.transpose(np.broadcast_to(inside, (2, n, m)), ['ars'.index(t) for t in tags])
    a = np.where(plane, a, np.nan)
    for name in fl.backends():
        before, kernels.table['band_part'].floor = kernels.table['band_part'].floor, 0
        try:
            with fl.use_backend(name):
                x = V(a, tuple(tags), 'f32')
                y = x.band_part('r', 's', lower, upper)
                y.backward(np.full(y.shape, 3, 'f4'))
        finally: kernels.table['band_part'].floor = before
        np.testing.assert_array_equal(y.data, np.where(plane, a, 0))
        np.testing.assert_array_equal(x.grad.data, 3 * plane)
        assert y.tags == tuple(tags)

def test_triangles():
    x = V([[1., 2.], [3., 4.]], 'row col')
    y = x.tril('row', 'col', 0)
    y.sum().backward()
    assert y.tolist() == [[1, 0], [3, 4]] and x.grad.tolist() == [[1, 0], [1, 1]]
    assert x.triu('row', 'col').tolist() == [[1, 2], [0, 4]]
    assert x.tril('col', 'row').tolist() == [[1, 2], [0, 4]]
    assert x.triu('row', 'col', 1).tolist() == [[0, 2], [0, 0]]
    assert C([[1, 2], [3, 4]], 'row col', 'i8').tril('row', 'col').dtype == 'i8'
    assert C([[1., 2.], [3., 4.]], 'row col', 'f64').tril('row', 'col').dtype == 'f64'

@pytest.mark.parametrize('kind,call', [
                             (TagError, lambda: fl.band_mask('q', q=2)),
                             (TagError, lambda: fl.band_mask('q q', (2, 2))),
                             (TagError, lambda: fl.band_mask('q k r', (2, 2, 2))),
                             (InvalidShape, lambda: fl.band_mask('q k', q=2)),
                             (InvalidShape, lambda: fl.band_mask('q k', (2,))),
                             (InvalidShape, lambda: fl.band_mask('q k', (2, 0))),
                             (InvalidShape, lambda: fl.band_mask('q k', (2, 2), q=2)),
                             (OptionError, lambda: fl.band_mask('q k', q=2, k=2, uper=1)),
                             (OptionError, lambda: fl.band_mask('q k', q=2, k=2, upper='1')),
                             (OptionError, lambda: fl.band_mask('q k', q=2, k=2, lower=True)),
                             (InvalidShape, lambda: fl.band_mask('q k', q=2.5, k=2)),
                             (TagError, lambda: C([[1.]], 'row col').band_part('row', 'row')),
                             (TagError, lambda: C([[1.]], 'row col').tril('row', 'd')),
                             (OptionError, lambda: C([[1.]], 'row col').triu('row', 'col', .5)),
                             (DTypeError, lambda: C([[True]], 'row col').tril('row', 'col')),
                             (TagError, lambda: C([[1.]], 'row col').tril(0, 1))])
def test_bands_refuse(kind, call):
    with pytest.raises(kind, match='help:'): call()
