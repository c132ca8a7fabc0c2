"""Selection: NaN never wins, ties go to the first, draws are frozen, gradients go where the values came from."""
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
import fucinalib as fl
from fucinalib.errors import *

C = lambda data, tags='d', dtype=None: fl.Tensor(data, tags, dtype)
NUMBERS = st.sampled_from([0., -0., 1., -1., 2., 3.5, np.inf, -np.inf, np.nan])
ROWS = arrays('f4', st.tuples(st.integers(1, 3), st.integers(1, 7)), elements=NUMBERS)


def first_best(row, better):
    "Position of the best number of a list, by definition."
    best = None
    for i, v in enumerate(row):
        if not np.isnan(v) and (best is None or better(v, row[best])): best = i
    return best or 0

@given(ROWS)
def test_argmax_by_definition(a):
    for back in fl.backends():
        with fl.use_backend(back):
            x = C(a, 'r c')
            assert x.argmax('c').tolist() == [first_best(row, lambda p, q: p > q) for row in a]
            assert x.argmin('c').tolist() == [first_best(row, lambda p, q: p < q) for row in a]
            assert C(a.T, 'c r').argmax('c').tolist() == x.argmax('c').tolist()      # first by tag, not by memory

@given(ROWS, st.integers(1, 7))
def test_topk_by_definition(a, k):
    k = min(k, a.shape[1])
    y = C(a, 'r c').topk('c', k)
    for row, v, i in zip(a, y.values.data, y.indices.data):
        order = sorted((j for j in range(len(row)) if row[j] > -np.inf), key=lambda j: (-row[j], j))[:k]
        assert i.tolist() == order + [0] * (k - len(order))
        np.testing.assert_array_equal(v, [row[j] for j in order] + [-np.inf] * (k - len(order)))

@given(ROWS, st.booleans())
def test_sort_by_definition(a, descending):
    v, i = C(a, 'r c').sort('c', descending=descending)
    np.testing.assert_array_equal(np.take_along_axis(a, i.data, 1), v.data)
    assert sorted(i.data[0].tolist()) == list(range(a.shape[1]))
    for row, s in zip(a, v.data):
        fine = sorted(row[~np.isnan(row)], reverse=descending)
        np.testing.assert_array_equal(s, fine + [np.nan] * (len(row) - len(fine)))

def test_one_story(backend):
    "Case 47: max, argmax, topk and sort agree about NaN, wherever it stands in rows of any length."
    for n in range(1, 34):
        for at in range(n):
            a = np.random.default_rng(n).standard_normal((2, n)).astype('f4')
            a[0, at] = np.nan
            x = C(a, 'r c')
            want = first_best(a[0], lambda p, q: p > q)
            assert x.argmax('c').tolist()[0] == want
            if n > 1:
                assert (x.max('c').tolist()[0] == a[0, want] == x.topk('c', 1).values.tolist()[0][0]
                        == x.sort('c', descending=True).values.tolist()[0][0])
    x = C([[np.nan, 1, 3, 2], [np.nan] * 4], 'r c')
    np.testing.assert_array_equal(x.max('c').data, [3, np.nan])
    np.testing.assert_array_equal(x.min('c').data, [1, np.nan])
    assert x.argmax('c').tolist() == [2, 0] and x.argmin('c').tolist() == [1, 0]

def test_topk_backends_agree(backend):
    a = np.random.default_rng(0).integers(-5, 6, (40, 300)).astype('f4')
    a[3, ::2], a[4], a[5] = np.nan, -np.inf, np.nan
    for k in (1, 2, 17, 300):
        y = C(a, 'r c').topk('c', k)
        with fl.use_backend('numpy'): z = C(a, 'r c').topk('c', k)
        assert y.indices.tolist() == z.indices.tolist()
        np.testing.assert_array_equal(y.values.data, z.values.data)

def test_gradients():
    x = fl.param([[1., 3., 2.], [-np.inf, np.nan, -np.inf]], 'r c')
    x.topk('c', 2).values.backward([[1., 10.], [100., 1000.]])
    assert x.grad.tolist() == [[0, 1, 10], [0, 0, 0]]       # slots left over are constants
    x = fl.param([3., 1., 2.], 'd')
    x.sort('d').values.backward([1., 10., 100.])
    assert x.grad.tolist() == [100, 1, 10]
    assert not x.argmax('d').requires_grad and not x.argsort('d').requires_grad
    assert not x.topk('d', 1).indices.requires_grad

@pytest.mark.parametrize('dtype', ['i64', 'i8', 'u8', 'bool', 'f16', 'bf16', 'f64'])
def test_every_number_type(dtype):
    x = C([1, 0, 1, 0], dtype='i64').to(dtype)
    assert x.argmax('d').tolist() == 0 and x.argmax('d').dtype == 'i64' and x.argmin('d').item() == 1
    assert x.sort('d').values.dtype == dtype and x.sort('d', descending=True).values.tolist() == [1, 1, 0, 0]
    assert x.topk('d', 2).indices.tolist() == [0, 2] and x.topk('d', 2).values.dtype == dtype
    if dtype == 'i8': assert C([-128, 127], dtype='i8').sort('d', descending=True).values.tolist() == [127, -128]

def test_frozen_draws():
    w = C([1., 2., 3., 4.])
    assert w.multinomial('d', 's', 6, seed=42).tolist() == [3, 1, 1, 2, 0, 3]
    assert C([[0., 2., 0.]], 'row class').multinomial('class', 'sample', 3, 42, True).tolist() == [[1, 1, 1]]
    assert sorted(w.multinomial('d', 's', 4, seed=3, replacement=False).tolist()) == [0, 1, 2, 3]
    two = C([[1., 2., 3., 4.]] * 2, 'r d').multinomial('d', 's', 6, seed=42)
    assert two.tolist()[0] == [3, 1, 1, 2, 0, 3] and two.tags == ('r', 's')

def test_without_replacement_never_draws_zero_weights(backend):
    for seed in range(50):
        d = C([0., 1., 0., 2.]).multinomial('d', 's', 2, seed=seed, replacement=False).tolist()
        assert sorted(d) == [1, 3]
    far = 3558559446808474027      # the seed whose first dart is the last there is, 1 - 2**-53
    for replacement in (False, True):
        assert C(np.array([0.] + [.1] * 10)).multinomial('d', 's', 1, seed=far,
                                                         replacement=replacement).tolist() == [10]
        assert C(np.array([0., 5e-324, 0.])).multinomial('d', 's', 1, seed=far, replacement=replacement).tolist() == [1]

@pytest.mark.parametrize('dtype', ['f32', 'f64'])
@pytest.mark.parametrize('make', [fl.Tensor, fl.param])
def test_multinomial_leaves_its_weights_alone(make, dtype, backend):
    a = np.array([.2, .3, .5], dtype.replace('f32', 'f4').replace('f64', 'f8'))
    a.flags.writeable = False
    with fl.no_grad():
        assert sorted(make(a, 'd').multinomial('d', 's', 3, seed=1, replacement=False).tolist()) == [0, 1, 2]
    assert a.tolist() == np.array([.2, .3, .5], a.dtype).tolist()

@pytest.mark.parametrize('dtype', ['f32', 'f64'])
def test_topk_leftovers_are_constants(dtype, backend):
    "Gradients of slots that no value fills go nowhere, along both axes, in short rows and long ones."
    for n in (5, 400):
        a = np.full((n, 2), np.nan)
        a[:3, 0], a[0, 1] = [3, 4, 2], -np.inf
        for tags, a_ in (('d e', a), ('e d', a.T)):
            p = fl.param(a_, tags, dtype=dtype)
            v, i = p.topk('d', 4)
            v.backward(fl.Tensor([[1., 5.], [10., 50.], [100., 500.], [1000., 5000.]], 'd e', dtype=dtype))
            want = np.zeros((n, 2)); want[:3, 0] = [10, 1, 100]
            np.testing.assert_array_equal(p.grad.permute('d e').numpy(), want)
            assert i.permute('d e').tolist()[3] == [0, 0] and np.isneginf(v.permute('d e').numpy()[3]).all()

@pytest.mark.parametrize('w', [[-1., 1.], [np.nan, 1.], [np.inf, 1.], [0., 0.]])
def test_bad_weights(w):
    with pytest.raises(InvalidShape, match='help:'): C(w).multinomial('d', 's', 1)

def test_router():
    s, w = C([[1., 3., 2., 0.]], 'row expert').router_topk('expert', 2)
    assert s.tolist() == [[1, 2]] and w.data[0, 0] == pytest.approx(.7310586, abs=1e-6)
    assert w.data.sum() == pytest.approx(1)
    e = np.exp([1., 3., 2., 0.])
    np.testing.assert_allclose(C([[1., 3., 2., 0.]], 'row expert').router_topk(
                                   'expert', 2, normalize_selected=False).weights.data,
                               [e[[1, 2]] / e.sum()], rtol=1e-6)
    assert C([[1., 1., 1.]], 'row expert').router_topk('expert', 2).selected.tolist() == [[0, 1]]
    with pytest.raises(DTypeError): C([[1, 2]], 'row expert').router_topk('expert', 1)

@pytest.mark.parametrize('dtype', ['f4', 'f8', 'i8', 'i4', 'i2', 'u1', '?'])
def test_sort_of_many(dtype, backend):
    """Long rows with ties, both zeros, infinities and NaN of both signs: a permutation, in order,
    NaN last; f32 and short whole numbers keep the order of equal ones."""
    rng = np.random.default_rng(0)
    a = rng.integers(-50, 50, (3, 3001)).astype(dtype)
    if dtype == 'i4': a[:, :2] = -2**31, 2**31 - 1
    if dtype[0] == 'f':
        a.reshape(-1)[rng.integers(0, a.size, 900)] = rng.choice(
            np.array([np.nan, -np.nan, np.inf, -np.inf, 0., -0., 1e-45, -1e-45], dtype), 900)
    for x in (C(a, 'r c'), C(a.T, 'c r'), C(np.asfortranarray(a), 'r c')):
        for down in (False, True):
            v, i = x.sort('c', descending=down)
            v, i = [t.permute('r c').data for t in (v, i)]
            np.testing.assert_array_equal(np.sort(i, 1), np.broadcast_to(np.arange(3001), i.shape))
            assert v.tobytes() == np.take_along_axis(a, i, 1).tobytes()      # the entries themselves, -0 too
            key = np.where(np.isnan(v), np.inf, -v.astype('f8') if down else v.astype('f8'))
            assert (key[:, 1:] >= key[:, :-1]).all() and (np.diff(np.isnan(v).astype(int), axis=1) >= 0).all()
            same = key[:, 1:] == key[:, :-1]
            if dtype not in ('f8', 'i8', 'i4'):
                assert (np.diff(i, axis=1)[same & (np.isnan(v[:, 1:]) == np.isnan(v[:, :-1]))] > 0).all()
            assert (x.argsort('c', descending=down).permute('r c').data.tolist() == i.tolist()
                    or dtype in ('f8', 'i8', 'i4'))

def test_topk_with_many(backend):
    "A large k takes another way, with the same answer."
    a = np.random.default_rng(0).integers(-30, 30, (4, 500)).astype('f4')
    a[1, ::3], a[2, 5:], a[3] = np.nan, -np.inf, -0.
    for k in (33, 44, 45, 46, 300, 500):
        y = C(a, 'r c').topk('c', k)
        for row, v, i in zip(a, y.values.data, y.indices.data):
            order = sorted((j for j in range(500) if row[j] > -np.inf), key=lambda j: (-row[j], j))[:k]
            assert i.tolist() == order + [0] * (k - len(order))
            np.testing.assert_array_equal(v, [row[j] for j in order] + [-np.inf] * (k - len(order)))


@pytest.mark.parametrize('row', ([np.nan] * 4, [1, np.nan, 2, np.nan], [-np.inf, -np.inf, -np.inf, 5]), ids=str)
def test_no_expert_is_chosen_twice(row):
    "Where fewer have a score than are asked for, the first of the others come along."
    found = fl.Tensor(np.array([row], 'f4'), 'row expert').router_topk('expert', 3).selected.data[0].tolist()
    assert len({*found}) == 3 and found[0] == (0 if np.isnan(row).all() else int(np.nanargmax(row)))
