"""Arithmetic: broadcasting by name, gradients that fit, number types that do not mix."""
import numpy as np
import pytest
from hypothesis import given, strategies as st
import fucinalib as fl
from fucinalib.errors import *
from memory_layouts import LAYOUTS, layout

V = lambda data, tags='': fl.param(data, tags)
C = lambda data, tags='', dtype=None: fl.Tensor(data, tags, dtype)
OPS = ['add', 'sub', 'mul', 'div', 'maximum', 'minimum']


@pytest.mark.parametrize('m,tags,right', [([[2.], [3.]], 't f', [[3.], [12.]]),
                                          ([2., 3.], 't', [3., 12.]),
                                          ([[2., 3.]], 'f t', [[3., 12.]])])
@layout
def test_gradient_folds_back(m, tags, right, layout):
    "Case 01: the gradient of the smaller operand has its own tags and sizes."
    h, m = V(LAYOUTS[layout](np.arange(6, dtype='f4').reshape(2, 3)), 't f'), V(m, tags)
    h.mul(m).sum().backward()
    assert m.grad.tolist() == right and m.grad.tags == m.tags
    assert h.grad.tolist() == [[2, 2, 2], [3, 3, 3]]

@st.composite
def meeting(draw):
    "Two operands whose shared axes are equal or 1, in any order and layout."
    sizes = {t: draw(st.integers(1, 3)) for t in 'abcd'}
    def operand():
        tags = draw(st.permutations('abcd'))[:draw(st.integers(0, 4))]
        shape = [draw(st.sampled_from([1, sizes[t]])) for t in tags]
        a = np.random.default_rng(draw(st.integers(0, 99))).uniform(.5, 2, shape)
        return (np.asfortranarray(a).reshape(shape) if draw(st.booleans()) else a), tuple(tags)
    return operand(), operand()

@given(meeting(), st.sampled_from(OPS))
def test_meets_like_numpy(operands, name):
    (a, ta), (b, tb) = operands
    x, o = fl.param(a, ta), fl.param(b, tb)
    y = getattr(x, name)(o)
    tags = fl.tags.union(ta, tb)
    f = {'sub': np.subtract, 'mul': np.multiply, 'div': np.divide}.get(name) or getattr(np, name)
    np.testing.assert_array_equal(y.data, f(fl.tags.align(a, ta, tags), fl.tags.align(b, tb, tags)))
    assert y.tags == tags
    fl.gradcheck(getattr(fl, name), x, o)

@pytest.mark.slow
@given(meeting(), st.sampled_from(OPS))
def test_meets_like_numpy_long(operands, name): test_meets_like_numpy.hypothesis.inner_test(operands, name)

@pytest.mark.parametrize('name', OPS + ['pow'])
def test_types_never_mix(name):
    f = getattr(fl, name)
    for a, b in (('f32', 'f64'), ('f32', 'i64'), ('i64', 'i32')):
        with pytest.raises(DTypeError, match='help:'): f(C([1, 2], 'd', a), C([1, 2], 'd', b))
    for bad in ('1', None, [1.], 1j, np.ones(2)):
        with pytest.raises(DTypeError, match='help:'): f(C([1., 2.], 'd'), bad)
    with pytest.raises(DTypeError, match='help:'): f(C([True], 'd'), C([True], 'd'))
    with pytest.raises(DTypeError, match='help:'): f(C([True], 'd'), 1)

@pytest.mark.parametrize('dtype', ['f32', 'f64', 'f16'])
def test_numbers_take_the_tensors_type(dtype):
    x = C([1., 2.], 'd', dtype)
    for y in (x + 1, x + 1.5, x + np.float64(1.5), x + np.int8(1), 2 - x, 2 / x, x ** 2, 2 ** x,
              x * True, x.maximum(0)):
        assert y.dtype == dtype

def test_integers():
    x = C([7, -7], 'd', 'i8')
    assert (x + 1).tolist() == [8, -6] and (x * x).dtype == 'i8' and (3 - x).tolist() == [-4, 10]
    assert x.pow(2).tolist() == [49, 49]
    assert C([127], 'd', 'i8').add(C([1], 'd', 'i8')).item() == -128
    for bad in (lambda: x + 1.5, lambda: x + 300, lambda: x / 2, lambda: x / x, lambda: x ** -1):
        with pytest.raises(DTypeError, match='help:'): bad()

def test_ieee():
    x = C([1., 0., -1., np.inf, np.nan], 'd')
    with np.errstate(all='raise'):
        np.testing.assert_array_equal((x / 0).data, [np.inf, np.nan, -np.inf, np.inf, np.nan])
        np.testing.assert_array_equal((x - x).data, [0, 0, 0, np.nan, np.nan])
        np.testing.assert_array_equal(x.maximum(0).data, [1, 0, 0, np.inf, np.nan])
        np.testing.assert_array_equal(C([-8., 0., 0.], 'd').pow(C([1 / 3, 0., -1.], 'd')).data, [np.nan, 1, np.inf])

def test_ties_and_nan():
    x, o = V([1., 2., np.nan, np.inf], 'd'), V([1., np.nan, 1., np.inf], 'd')
    x.maximum(o).sum().backward()
    assert x.grad.tolist() == [.5, 0, 0, .5] == o.grad.tolist()

def test_pow_at_zero():
    "D2: x**0 has gradient 0, a whole-number exponent never divides by x, a zero base sends nothing to its exponent."
    for e, right in ((0, 0.), (1, 1.), (2, 0.), (3., 0.)):
        x = V([0.], 'd')
        (x ** e).sum().backward()
        assert x.grad.tolist() == [right]
    x, e = V([0., 0.], 'd'), V([0., 2.], 'd')
    (x ** e).sum().backward()
    assert x.grad.tolist() == [0, 0] and e.grad.tolist() == [0, 0]

def test_value_used_twice():
    x = V([3., 5.], 'd')
    (x * x + x * 4).sum().backward()
    assert x.grad.tolist() == [10, 14]

def test_in_place():
    x = C([1., 2.], 'd')
    assert x.add_(C([10., 20.], 'd'), alpha=.5) is x and x.tolist() == [6, 12]
    assert x.add_(1).mul_(2).tolist() == [14, 26]
    for bad in (lambda: V([1.], 'd').add_(1),
                lambda: V([1.], 'd').mul_(1),
                lambda: C([1.], 'd').add_(V([1.], 'd')),
                lambda: (V([1.], 'd') * 1).add_(1)):
        with pytest.raises(UnsupportedGradient, match='detach'): bad()
    with pytest.raises(ShapeMismatch): x.add_(C([1.], 'd'))
    with pytest.raises(ShapeMismatch): x.add_(C([1., 2.], 'e'))
    with pytest.raises(DTypeError): C([1, 2], 'd').add_(.5)
    frozen = np.ones(2, 'f4'); frozen.flags.writeable = False
    with pytest.raises(ValueError): C(frozen, 'd').add_(1)

@pytest.mark.parametrize('n', [2, 300])
def test_overlap(n):
    "Case 33: x += x.T does not depend on the order of evaluation, nor does a shifted view of the same memory."
    a = np.arange(n * n, dtype='f4').reshape(n, n)
    want = a + a.T
    x = C(a, 'r c')
    x.add_(fl.Tensor(a.T, 'r c'))
    np.testing.assert_array_equal(a, want)
    a = np.arange(100_000, dtype='f4')
    want = a.copy(); want[1:] += a[:-1]
    C(a[1:], 'd').add_(C(a[:-1], 'd'))
    np.testing.assert_array_equal(a, want)

def test_assignment_keeps_the_parameter():
    "w += 1 would quietly replace a parameter by a result; a loss may be added up so."
    w = V([1., 2.], 'd')
    for change in (lambda w: w.__iadd__(1), lambda w: w.__isub__(1), lambda w: w.__imul__(2),
                   lambda w: w.__itruediv__(2)):
        with pytest.raises(UnsupportedGradient, match=r'w\.detach\(\)\.'): change(w)
    loss = (w * 2).sum()
    loss += 3
    loss *= 2
    loss.backward()
    c = C([1.], 'd')
    c -= 1
    assert loss.item() == 18 and w.grad.tolist() == [4, 4] and c.tolist() == [0]

def test_raw_bias():
    x = V([[1., 2.], [3., 4.]], 'r d')
    y = x.bias_add([10., 20.], 'd')
    y.sum().backward()
    assert y.tolist() == [[11, 22], [13, 24]] and x.tolist() == [[1, 2], [3, 4]] and x.grad.tolist() == [[1, 1], [1, 1]]
    with pytest.raises(UnsupportedView): x.bias_add([1., 2.], 'r')
    with pytest.raises(ShapeMismatch): x.bias_add([1.], 'd')
    with pytest.raises(TagError): x.bias_add([1., 2.], 'e')
    with pytest.raises(UnsupportedGradient): x.bias_add_([1., 2.], 'd')
    with pytest.raises(OptionError, match="did you mean 'relu'"): x.detach().bias_add_([1., 2.], 'd', op='rleu')
    assert x.tolist() == [[1, 2], [3, 4]]      # nothing half written
    assert C([[-3., 0.]], 'r d').bias_add_([1., 1.], 'd', op='relu').tolist() == [[0, 1]]

def test_rank_limit():
    with pytest.raises(TagError, match='at most 8'): C(np.ones((1,) * 5), 'a b c d e') + C(np.ones((1,) * 4), 'f g h i')

def test_whole_numbers_add_in_place():
    x = fl.Tensor([1, 2], 'd')
    assert x.add_(3).tolist() == [4, 5] and x.add_(fl.Tensor([1, 1], 'd')).tolist() == [5, 6]
    assert x.add_(1, alpha=2).tolist() == [7, 8]
    with pytest.raises(DTypeError, match='storage'): x.to('f8_e4m3').add_(1.)
