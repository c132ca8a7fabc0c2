"""Indexing: repeats count, bounds hold, layouts do not matter, and the number of threads changes nothing."""
import numpy as np
import pytest
from hypothesis import given, strategies as st
import fucinalib as fl
from fucinalib.errors import *

V = lambda data, tags='d': fl.param(data, tags)
C = lambda data, tags='d', dtype=None: fl.Tensor(data, tags, dtype)
X = np.arange(12, dtype='f4').reshape(3, 4)


@st.composite
def picks(draw):
    "A tensor of 1 to 3 axes in some layout, one of its axes, and positions along it."
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    tags = 'abc'[:len(shape)]
    a = np.random.default_rng(draw(st.integers(0, 99))).standard_normal(shape).astype('f4')
    if draw(st.booleans()): a = np.asfortranarray(a)
    axis = draw(st.integers(0, len(shape) - 1))
    at = draw(st.lists(st.integers(0, shape[axis] - 1), min_size=1, max_size=6))
    return a, ' '.join(tags), axis, at

@given(picks())
def test_index_select_and_its_gradient(case):
    a, tags, axis, at = case
    x = V(a, tags)
    y = x.index_select(tags.split()[axis], at)
    np.testing.assert_array_equal(y.data, np.take(a, at, axis))
    w = np.random.default_rng(1).standard_normal(y.shape).astype('f4')
    y.backward(w)
    want = np.zeros_like(a)
    np.add.at(want, (slice(None),) * axis + (at,), w)
    np.testing.assert_allclose(x.grad.data, want, rtol=1e-5, atol=1e-6)

@given(picks())
def test_round_trips(case):
    "Adding rows and reading them back; writing what was read changes nothing."
    a, tags, axis, at = case
    x, t, at = C(a, tags), tags.split()[axis], sorted(set(at))
    rows = x.index_select(t, at)
    np.testing.assert_array_equal(x.set_rows(t, at, rows).data, a)
    np.testing.assert_allclose(x.index_add(t, at, rows).index_select(t, at).data, 2 * rows.data)
    assert not x.zero_rows(t, at).index_select(t, at).data.any()

@given(picks(), st.integers(1, 4))
def test_along_an_axis_like_numpy(case, n):
    a, tags, axis, _ = case
    shape = a.shape[:axis] + (n,) + a.shape[axis + 1:]
    rng = np.random.default_rng(2)
    at, src = rng.integers(0, a.shape[axis], shape), rng.standard_normal(shape).astype('f4')
    x, t = C(a, tags), tags.split()[axis]
    np.testing.assert_array_equal(x.take_along_axis(t, C(at, tags)).data, np.take_along_axis(a, at, axis))
    want = a.copy(order='C')
    np.put_along_axis(want, at, src, axis)
    np.testing.assert_array_equal(x.scatter(t, C(at, tags), C(src, tags)).data, want)
    grid = list(np.ogrid[tuple(slice(0, k) for k in shape)])
    grid[axis] = at
    want = a.copy(order='C')
    np.add.at(want, tuple(grid), src)
    np.testing.assert_allclose(x.scatter_add(t, C(at, tags), C(src, tags)).data, want, rtol=1e-5, atol=1e-6)

def test_repeats():
    x, s = V([1., 2., 3.]), V([10., 20.])
    y = x.scatter('d', C([1, 1]), s)
    y.backward([1., 5., 1.])
    # what was written over is not in the result
    assert y.tolist() == [1, 20, 3] and x.grad.tolist() == [1, 0, 1] and s.grad.tolist() == [0, 5]
    assert x.index_add('d', [0, 0, 0], C([1., 1., 1.])).tolist() == [4, 2, 3]

@pytest.mark.parametrize('axis', [0, 1, 2])
@pytest.mark.parametrize('n', [3, 90])
def test_scatter_gradients_are_slopes(axis, n, backend):
    "Of many writers to one place the last in reading order gets the gradient: beside a loop."
    rng = np.random.default_rng(axis)
    shape, more = [2, 3, 2], [2, 3, 2]
    shape[axis], more[axis] = 4, n
    at, g = rng.integers(0, 4, more), rng.standard_normal(shape).astype('f4')
    x, s = fl.param(np.zeros(shape), 'a b c', 'f32'), fl.param(rng.standard_normal(more), 'a b c', 'f32')
    y = x.scatter('abc'[axis], C(at, 'a b c'), s)
    y.backward(g)
    last = {}
    for spot in np.ndindex(*more): last[spot[:axis] + (at[spot],) + spot[axis + 1:]] = spot
    want, left = np.zeros(more), g.copy()
    for place, spot in last.items(): want[spot], left[place] = g[place], 0
    np.testing.assert_array_equal(s.grad.numpy(), want)
    np.testing.assert_array_equal(x.grad.numpy(), left)

@pytest.mark.parametrize('layout', ['plain', 'fortran', 'stepped'])
def test_layouts(layout, every_size):
    a = {'plain': X, 'fortran': np.asfortranarray(X), 'stepped': np.repeat(X, 2, 1)[:, ::2]}[layout]
    x, at = C(a, 'r c'), C(np.array([[1, 0, 3, 1]] * 3), 'r c')
    for backend in fl.backends():
        with fl.use_backend(backend):
            np.testing.assert_array_equal(x.take_along_axis('c', at).data, np.take_along_axis(X, at.data, 1))
            np.testing.assert_array_equal(
                x.index_add('c', [0, 0], C(np.ones((3, 2), 'f4'), 'r c')).data, X + [[2, 0, 0, 0]])

def test_threads_change_nothing(every_size):
    rng = np.random.default_rng(0)
    at, u, before = rng.integers(0, 50, 4000), rng.standard_normal((4000, 130)).astype('f4'), fl.get_num_threads()
    results = []
    for n in (1, 2):
        fl.set_num_threads(n)
        results.append(fl.zeros('r c', (50, 130)).index_add('r', at, C(u, 'r c')).data.tobytes())
    fl.set_num_threads(before)
    assert results[0] == results[1]

@pytest.mark.parametrize('indices', [[0, 2], (0, 2), np.array([0, 2]), np.array([0, 2], 'i4'),
                                     np.array([0, 2], 'u1'), C([0, 2]), C([0, 2], 'other')])
def test_ways_to_write_indices(indices): assert C([1., 2., 3.]).index_select('d', indices).tolist() == [1, 3]

BAD = [(IndexOutOfBounds, [3]), (IndexOutOfBounds, [-1]), (InvalidShape, []), (DTypeError, [.5]),
       (DTypeError, [True, False, True]), (DTypeError, ['a']), (TagError, [[0]]), (TagError, 0),
       (TagError, C([[0]], 'i j')), (DTypeError, None)]

@pytest.mark.parametrize('kind,indices', BAD, ids=[str(b) for _, b in BAD])
def test_bad_positions(kind, indices):
    x = C([1., 2., 3.])
    for call in (lambda: x.index_select('d', indices),
                 lambda: x.zero_rows('d', indices),
                 lambda: x.index_add('d', indices, C([1.])),
                 lambda: x.set_rows('d', indices, C([1.]))):
        with pytest.raises(kind, match='help:'): call()

def test_other_refusals():
    x = C(X, 'r c')
    at = C(np.zeros((3, 1), 'i8'), 'r c')
    for kind, call in (
        (TagError, lambda: x.index_select('q', [0])),
        (TagError, lambda: x.index_select('r', [0], out='c')),
        (ShapeMismatch, lambda: x.take_along_axis('c', C([[0]], 'r c'))),
        (ShapeMismatch, lambda: x.take_along_axis('c', at.permute('c r'))),
        (DTypeError, lambda: x.take_along_axis('c', at.to('i32'))),
        (ShapeMismatch, lambda: x.scatter('c', at, C(np.ones((3, 2), 'f4'), 'r c'))),
        (DTypeError, lambda: x.scatter_add('c', at, C(np.ones((3, 1)), 'r c'))),
        (IndexOutOfBounds, lambda: x.take_along_axis('c', C(np.full((3, 1), 4), 'r c'))),
        (ShapeMismatch, lambda: x.set_slice('c', 0, C([[1.]], 'r c'))),
        (IndexOutOfBounds, lambda: x.set_slice('c', -1, C(np.ones((3, 1), 'f4'), 'r c'))),
        (ShapeMismatch, lambda: x.set_slice('c', 0, C([1.], 'r'))),
        (InvalidShape, lambda: x.zero_slice('c', 0, 0)),
        (IndexOutOfBounds, lambda: x.zero_slice('c', 3, 2)),
        (EmptySelection, lambda: x.masked_select(x.gt(99), 'p')),
        (DTypeError, lambda: x.masked_select(x.to('i64'), 'p')),
        (ShapeMismatch, lambda: x.masked_select(C([True], 'r'), 'p')),
        (InvalidShape, lambda: x.masked_scatter(x.gt(0), C([1.], 'p'))),
        (InvalidShape, lambda: x.set_rows('r', [1, 1], C(np.ones((2, 4), 'f4'), 'r c')))):
        with pytest.raises(kind, match='help:'): call()

def test_worked_examples():
    cat = C([[1., 2.], [3., 4.], [5., 6.]], 'row col')
    assert cat.set_slice('row', 1, C([[9., 9.]], 'row col')).tolist() == [[1, 2], [9, 9], [5, 6]]
    assert cat.set_rows('row', [2], C([[9., 9.]], 'row col')).tolist() == [[1, 2], [3, 4], [9, 9]]
    x = C([1., -2., 3.])
    with pytest.raises(EmptySelection): x.masked_select(x.compare('gt', 10), 'p')

def test_nonzero_and_masks_read_nan_as_true():
    x = C([[0., np.nan], [-0., 2.]], 'r c')
    assert x.nonzero().tolist() == [1, 3] and isinstance(x.nonzero(), np.ndarray)
    assert len(C([0.]).nonzero()) == 0
    assert x.masked_select(C([[0., np.nan], [-0., 1.]], 'r c'), 'p').shape == (2,)

def test_views_keep_their_base():
    "Nothing here changes its operand."
    a = X.copy()
    x = C(a, 'r c')
    x.set_rows('r', [0], C(np.zeros((1, 4), 'f4'), 'r c'))
    x.scatter('c', C([[0], [0], [0]], 'r c'), C(np.ones((3, 1), 'f4'), 'r c'))
    x.index_add('r', [0], C(np.ones((1, 4), 'f4'), 'r c'))
    x.zero_slice('c', 0, 1)
    np.testing.assert_array_equal(a, X)

@pytest.mark.parametrize('dtype', ['f64', 'f16', 'bf16', 'i64', 'u8', 'bool'])
def test_every_number_type(dtype):
    x = C([1, 0, 1], dtype='i64').to(dtype)
    for y in (x.index_select('d', [2, 0]),
              x.set_rows('d', [0], x.index_select('d', [0])),
              x.zero_rows('d', [1]),
              x.take_along_axis('d', C([1])),
              x.masked_select(C([True, True, False]), 'p')):
        assert y.dtype == dtype
