"""Functions of one number, gates and operations of your own: kinks, ends, number types, memory, refusals."""
import math
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
import fucinalib as fl
from fucinalib import kernels
from fucinalib.errors import *
from fucinalib.ops.unary import FORMS, named_functions
from memory_layouts import LAYOUTS, layout, layouts

V = lambda data, tags='d', dtype=None: fl.param(data, tags, dtype)
C = lambda data, tags='d', dtype=None: fl.Tensor(data, tags, dtype)
LONE = sorted(set(named_functions()) - set(FORMS))
KEEP_INTS = 'relu neg abs sign floor ceil round square clamp'.split()
SMOOTH = [n for n in [*LONE, *FORMS] if n not in 'relu abs neg sign floor ceil round gelu_quant'.split()]
GATES = ['glu', 'swiglu', 'geglu', 'situ']


# kinks

def slope(f, values):
    x = V(values)
    f(x).sum().backward()
    return x.grad.tolist()

def test_relu_at_zero(backend):
    assert slope(fl.relu, [-1., -0., 0., 1e-45, 2.]) == [0, 0, 0, 1, 1]
    x = C([-1., 0., 1.]).relu()
    assert x.tolist() == [0, 0, 1]

def test_clamp_on_its_bounds(backend):
    "Case 15: slope 1 on a bound, in all three forms."
    assert slope(lambda x: x.clamp(0, 6), [-1., 0., 3., 6., 7.]) == [0, 1, 1, 1, 0]
    assert slope(lambda x: x.clamp(min=0), [-1., -0., 0., 1e-45, 7.]) == [0, 1, 1, 1, 1]
    assert slope(lambda x: x.clamp(max=6), [-1., 6., 7.]) == [1, 1, 0]
    assert C([-1., -0., 0., 1e-45]).clamp(min=0).tolist() == C([-1., -0., 0., 1e-45]).relu().tolist()

def test_abs_at_zero(backend):
    "Case 21."
    assert slope(fl.abs, [0., -0., 2., -3.]) == [0, 0, 1, -1]
    assert slope(abs, [0., -2.]) == [0, -1]

def test_leaky_relu_at_zero(backend): assert slope(lambda x: x.leaky_relu(.25), [-1., 0., 1.]) == [.25, .25, 1]

def test_square_at_zero(): assert slope(lambda x: x.square(), [0., 0., 0.]) == [0, 0, 0]

@pytest.mark.parametrize('name', ['floor', 'ceil', 'round', 'sign'])
def test_steps_have_no_slope(name, backend): assert slope(getattr(fl, name), [-1.5, 0., .4, 2.]) == [0, 0, 0, 0]

def test_rounding(backend):
    x = C([-2.5, -.5, -.2, .2, .5, 1.5, 2.5, 8388609., np.inf])
    np.testing.assert_array_equal(x.round().data, [-2, -0., -0., 0, 0, 2, 2, 8388609., np.inf])
    assert np.signbit(x.round().data[1:3]).all() and np.signbit(x.ceil().data[1:3]).all()
    assert round(x).tolist() == x.round().tolist()
    assert math.floor(x).tolist() == x.floor().tolist()
    assert math.ceil(x).tolist() == x.ceil().tolist()
    assert np.isnan(C([np.nan]).round().item())
    with pytest.raises(OptionError, match='help: .x . 100'): round(x, 2)

def test_sign_keeps_zeros(backend):
    s = C([-3., -0., 0., 2., np.nan]).sign().data
    assert s[0] == -1 and np.signbit(s[1]) and not np.signbit(s[2]) and s[3] == 1 and np.isnan(s[4])


# the ends

def test_nan_stays(backend):
    for name in [*LONE, *FORMS]: assert np.isnan(C([np.nan, 1.]).unary(name).data[0]), name
    for y in (C([np.nan]).clamp(0, 1), C([np.nan]).leaky_relu(.1), C([np.nan]).softcap(2)): assert np.isnan(y.item())
    assert C([np.nan]).dropout(.999999, 1).item() == 0

def test_far_out(backend):
    x = C([-1e30, -1000., -100., 100., 1000., 1e30])
    with np.errstate(all='raise'):
        np.testing.assert_array_equal(x.sigmoid().data[[0, 1, 3, 4, 5]], [0, 0, 1, 1, 1])
        assert 0 <= x.sigmoid().data[2] < 1e-43
        np.testing.assert_array_equal(x.softplus().data[[0, 1, 3, 4, 5]], [0, 0, 100, 1000, np.float32(1e30)])
        np.testing.assert_array_equal(x.tanh().data, [-1, -1, -1, 1, 1, 1])
        for f in (fl.silu, fl.gelu, fl.quick_gelu, lambda x: x.gelu('tanh')):
            np.testing.assert_allclose(f(x).data, [0, 0, 0, 100, 1000, 1e30], rtol=1e-6, atol=1e-40)
        for name in ('sigmoid', 'softplus', 'tanh', 'silu', 'gelu', 'quick_gelu', 'elu'):
            p = V(x.data[1:5])
            p.unary(name).sum().backward()
            assert np.isfinite(p.grad.data).all(), name

def test_tiny(backend):
    x = np.array([1e-8, -1e-8, 1e-20], 'f4')
    for f in (fl.log1p, fl.tanh, fl.elu, fl.sin): np.testing.assert_allclose(f(C(x)).data, x, rtol=1e-6)

@pytest.mark.parametrize('name', SMOOTH)
def test_f32_is_f32(name, backend):
    "Every function is right to a few units in the last place of its largest part, against itself in f64."
    x = np.linspace(.01 if name in ('log', 'sqrt', 'rsqrt', 'reciprocal', 'log1p') else -12, 12, 4097, dtype='f4')
    p, q = V(x), V(x.astype('f8'))
    a, b = p.unary(name), q.unary(name)
    a.sum().backward(); b.sum().backward()
    for mine, right in ((a.data, b.data), (p.grad.data, q.grad.data)):
        np.testing.assert_allclose(mine, right, rtol=3e-6, atol=2e-6)

def test_gelu_against_the_error_function():
    x = np.linspace(-12, 12, 481)
    right = [v * math.erfc(-v / math.sqrt(2)) / 2 for v in x]
    np.testing.assert_allclose(C(x).gelu().data, right, rtol=1e-12, atol=1e-300)
    for backend in fl.backends():
        with fl.use_backend(backend):
            np.testing.assert_allclose(C(x, 'd', 'f32').gelu().data, right, rtol=1e-6, atol=2e-7)

def test_gelu_quant():
    "Rounded twice to half precision; 0 and x outside (-10, 10)."
    x = np.array([-11, -10, -3, -1, -.1, 0, .1, 1, 2.999, 10, 11, 70000, np.inf, -np.inf], 'f4')
    with np.errstate(all='ignore'):
        h = x.astype('f2').astype('f8')
        right = (.5 * h * (1 + np.tanh(math.sqrt(2 / math.pi) * (h + .044715 * h**3)))).astype('f2').astype('f4')
    right[:2], right[-5:-1], right[-1] = 0, x[-5:-1], 0
    np.testing.assert_array_equal(C(x).gelu('quant').data, right)
    np.testing.assert_array_equal(C(x).unary('gelu_quant').data, right)
    a, b = V([-1., .5, 2.]), V([-1., .5, 2.])
    a.gelu('quant').sum().backward(); b.gelu('tanh').sum().backward()
    assert a.grad.tolist() == b.grad.tolist()

def test_fast_tanh():
    p, q, r, s, t = 2.45550750702956, .893229853513558, .821226666969744, 2.44506634652299, .814642734961073
    for v in (-3., -.5, 0., .1, 2.):
        right = v * (p + p * abs(v) + (q + r * abs(v)) * v**2) / (s + (s + v**2) * abs(v + t * v * abs(v)))
        assert C([v], 'd', 'f64').tanh('fast').item() == pytest.approx(right, rel=1e-14, abs=0)


# number types and memory

@pytest.mark.parametrize('name', [*LONE, *FORMS])
def test_number_types(name):
    for t in ('f32', 'f64'):
        x = V([.5, 1., 2.], 'd', t)
        y = x.unary(name)
        y.sum().backward()
        assert y.dtype == t and x.grad.dtype == t
    for t in ('f16', 'bf16'): assert C([.5, 1., 2.], 'd', t).unary(name).dtype == t
    for t in ('i64', 'i8', 'u8'):
        if name in KEEP_INTS: assert C([1, 2], 'd', t).unary(name).dtype == t
        else:
            with pytest.raises(DTypeError, match='help:'): C([1, 2], 'd', t).unary(name)
    with pytest.raises(DTypeError, match='help:'): C([True]).unary(name)

def test_integers():
    x = C([-3, 0, 4], 'd', 'i8')
    assert x.relu().tolist() == [0, 0, 4] and x.abs().tolist() == [3, 0, 4]
    assert x.sign().tolist() == [-1, 0, 1] and (-x).tolist() == [3, 0, -4]
    assert x.square().tolist() == [9, 0, 16]
    assert x.clamp(-1, 2).tolist() == [-1, 0, 2] and x.clamp(min=1).dtype == 'i8'
    assert C([0, 3], 'd', 'u8').sign().tolist() == [0, 1]
    for bad in (lambda: x.clamp(max=300), lambda: x.clamp(max=.5), lambda: x.leaky_relu(.1),
                lambda: x.dropout(.5, 0), lambda: x.softcap(3)):
        with pytest.raises(DTypeError, match='help:'): bad()

@pytest.mark.parametrize('name', [*LONE, *FORMS])
def test_layouts_and_own_memory(name, backend):
    a = np.linspace(.1, 2, 12, dtype='f4').reshape(3, 4)
    want = C(a, 'row col').unary(name).data
    for how, b in layouts(a):
        x = C(b, 'row col')
        y = x.unary(name)
        np.testing.assert_array_equal(y.data, want, err_msg=how)
        assert not np.shares_memory(y.data, b), how
    for n in (1, 7, 33, 20_001):        # pieces and their rest
        a = np.linspace(.1, 2, n, dtype='f4')
        np.testing.assert_allclose(
            C(a).unary(name).data,
            np.concatenate([C(p).unary(name).data for p in np.array_split(a, 3) if p.size]),
            rtol=1e-6, atol=1e-7)


# names and refusals

def test_by_name():
    assert C([-1., 2.]).unary('relu').tolist() == [0, 2]
    assert {'softplus', 'gelu_quant', 'gelu_erf', 'gelu_tanh', 'fast_tanh', 'softcap_15',
            'softcap_30', 'quick_gelu', 'reciprocal'} <= {*LONE, *FORMS}
    for bad in ('rleu', 'dropout', 'clamp_', 'add', None, 3):
        with pytest.raises(OptionError, match='help:'): C([1.]).unary(bad)
    with pytest.raises(OptionError, match="did you mean 'relu'"): C([1.]).unary('rleu')

@pytest.mark.parametrize('kind,call', [
                             (InvalidShape, lambda x: x.clamp(2, 1)),
                             (InvalidShape, lambda x: x.clamp(np.nan, 1)),
                             (OptionError, lambda x: x.clamp()),
                             (DTypeError, lambda x: x.clamp('0', 1)),
                             (DTypeError, lambda x: x.clamp(x)),
                             (OptionError, lambda x: x.softcap(0)),
                             (OptionError, lambda x: x.softcap(-1)),
                             (OptionError, lambda x: x.softcap(np.inf)),
                             (OptionError, lambda x: x.leaky_relu()),
                             (OptionError, lambda x: x.gelu('erf')),
                             (OptionError, lambda x: x.tanh('fats')),
                             (OptionError, lambda x: x.relu(inplace=True)),
                             (OptionError, lambda x: x.exp(2))])
def test_refusals(kind, call):
    with pytest.raises(kind, match='help:'): call(C([1., 2.]))


# dropout

def test_dropout_values(backend):
    "Frozen: which entries stay is a promise."
    x = V(np.ones(8, 'f4'))
    y = x.dropout(.5, 7)
    y.sum().backward()
    assert y.tolist() == [2, 2, 0, 0, 2, 2, 2, 2] and x.grad.tolist() == y.tolist()
    assert C(np.ones(8, 'f4')).dropout(.5, 7 + 2**64).tolist() == y.tolist()

def test_dropout_counts_in_logical_order(backend):
    a = np.ones((70, 301), 'f4')
    want = C(a.reshape(-1)).dropout(.3, 5).data.reshape(a.shape)
    for how, b in layouts(a): np.testing.assert_array_equal(C(b, 'row col').dropout(.3, 5).data, want, err_msg=how)
    assert set(np.unique(want)) == {0, np.float32(1 / (1 - float(np.float32(.3))))}
    assert abs((want > 0).mean() - .7) < .01

def test_dropout_of_nothing_copies():
    x = C(np.ones(4, 'f4'))
    y = x.dropout(0., 3)
    assert y.tolist() == [1, 1, 1, 1] and not np.shares_memory(x.data, y.data)

def test_dropout_keeps_no_mask():
    x = V(np.ones(100_000, 'f4'))
    y = x.dropout(.5, 1)
    held = [c.cell_contents for rule in y.node.rules for c in rule.__closure__ or ()]
    assert not any(isinstance(h, np.ndarray) and h.size > 3 for h in held)
    assert not any(isinstance(v, np.ndarray) and v.size > 3 for h in held if isinstance(h, tuple) for v in h)

@pytest.mark.parametrize('p,seed,kind',
                         [(1., 0, InvalidShape), (-.1, 0, InvalidShape), (np.nan, 0, InvalidShape),
                          (.5, None, OptionError), (.5, 1.5, OptionError), (.5, 'a', OptionError)])
def test_dropout_refuses(p, seed, kind):
    with pytest.raises(kind, match='help:'): C([1.]).dropout(p, seed)


# gates

@pytest.mark.parametrize('name', GATES)
def test_gates_in_any_memory(name, backend):
    u, g = (np.random.default_rng(i).normal(size=(5, 6)).astype('f4') for i in (0, 1))
    want = C(u, 'row d').gated(C(g, 'row d'), name).data
    for how, a in layouts(u):
        for how2, b in layouts(g):
            np.testing.assert_array_equal(getattr(C(a, 'row d'), name)(C(b, 'row d')).data, want,
                                          err_msg=how + how2)
    np.testing.assert_allclose(C(u, 'row d', 'f64').gated(C(g, 'row d', 'f64'), name).data, want, rtol=1e-5, atol=1e-6)
    a, b, c = V(u, 'row d'), V(g[:1], 'row d'), V(g[0], 'd')
    a.gated(b, name).sum().backward(); ga = a.grad.data.copy(); a.grad = None
    a.gated(c, name).sum().backward()
    np.testing.assert_array_equal(ga, a.grad.data)
    assert b.grad.shape == (1, 6) and c.grad.tolist() == b.grad.tolist()[0]

def test_gates_have_a_side():
    assert C([2.]).swiglu(C([1.])).item() == pytest.approx(1.4621172)
    assert C([1.]).swiglu(C([2.])).item() == pytest.approx(1.7615942)
    x = C([1., 2.], 'ff')
    assert x.split_gated('swiglu', 'ff', out='d').item() == pytest.approx(.7310586 * 2)
    assert x.split_gated('glu', 'ff').item() == pytest.approx(.880797)

@layout
@pytest.mark.parametrize('name', ['swiglu', 'glu'])
def test_split_is_narrow_and_gate(name, layout, backend):
    a = LAYOUTS[layout](np.random.default_rng(0).normal(size=(2, 6, 3)).astype('f4'))
    for tag in ('a', 'b'):
        x = V(a, 'a b c')
        y = x.split_gated(name, tag, out='h')
        y.backward(np.arange(y.numel, dtype='f4').reshape(y.shape))
        z = V(a, 'a b c')
        n = z.size(tag) // 2
        first, second = z.narrow(tag, 0, n), z.narrow(tag, n, n)
        w = second.swiglu(first) if name == 'swiglu' else first.glu(second)
        w.backward(np.arange(w.numel, dtype='f4').reshape(w.shape))
        np.testing.assert_allclose(y.data, w.data, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(x.grad.data, z.grad.data, rtol=1e-5, atol=1e-6)
        assert y.tags == tuple('h' if t == tag else t for t in 'abc')

@pytest.mark.parametrize(
    'kind,call', [
        (InvalidShape, lambda: C([1., 2., 3.], 'ff').split_gated('swiglu', 'ff')),
        (OptionError, lambda: C([1., 2.], 'ff').split_gated('geglu', 'ff')),
        (OptionError, lambda: C([1., 2.], 'ff').split_gated('situ', 'ff')),
        (OptionError, lambda: C([1., 2.], 'ff').split_gated('swiglu_clamp10', 'ff')),
        (OptionError, lambda: C([1.]).gated(C([1.]), 'swiglu_clamp10')),
        (OptionError, lambda: C([1.]).gated(C([1.]), 'reglu')),
        (TagError, lambda: C([[1., 2.]], 'd ff').split_gated('glu', 'ff', out='d')),
        (TagError, lambda: C([1., 2.], 'ff').split_gated('glu', 'd')),
        (DTypeError, lambda: C([1, 2], 'ff').split_gated('glu', 'ff')),
        (ShapeMismatch, lambda: C([1., 2.]).glu(C([1., 2., 3.]))),
        (DTypeError, lambda: C([1.]).glu(2.)),
        (DTypeError, lambda: C([1.]).glu(C([1.], 'd', 'f64'))),
        (DTypeError, lambda: C([1]).situ(C([1])))])
def test_gates_refuse(kind, call):
    with pytest.raises(kind, match='help:'): call()

@pytest.mark.parametrize(
    'call,head', [
        (lambda: C([1.]).gated(C([1.]), 'swiglu_clamp10'), 'gated: swiglu_clamp10 has no gradient'),
        (lambda: C([1., 2.], 'ff').split_gated('situ', 'ff'), 'split_gated: situ does not split'),
        (lambda: C([1.]).gated(C([1.]), 'reglu'), "gated: there is no gate 'reglu'"),
        (lambda: C([1.]).situ(C([1])), 'situ: gate is i64'),
        (lambda: C([1., 2., 3.], 'ff').split_gated('glu', ['ff']),
         "split_gated over 'ff': 3 values have no halves")])
def test_gates_say_why(call, head):
    with pytest.raises(fl.FucinaError, match='help:') as e: call()
    assert str(e.value).startswith(head)


# operations of your own

def cube(x): return x * x * x
def cube_slope(x, y, g): return 3 * x * x * g

@pytest.mark.parametrize('vector', [None, True, (lambda x: x ** 3, lambda x, y, g: 3 * x ** 2 * g)])
@pytest.mark.parametrize('dtype', ['f32', 'f64'])
def test_elemental(vector, dtype):
    f = fl.elemental(cube_slope, vector=vector)(cube)
    for how, a in layouts(np.arange(-3., 3.).reshape(2, 3).astype(fl.dtypes.as_dtype(dtype).np)):
        x = V(a, 'row col')
        y = f(x)
        y.sum().backward()
        assert y.dtype == dtype and x.grad.dtype == dtype and y.tags == x.tags
        np.testing.assert_allclose(y.data, a ** 3); np.testing.assert_allclose(x.grad.data, 3 * a ** 2)
    assert f(V(2., '')).shape == () and f.__name__ == 'cube'
    fl.gradcheck(f, V([-1., 0., 2.], 'd'))

def test_elemental_prunes():
    "No gradient wanted, no slope called."
    called = []
    f = fl.elemental(lambda a, b, y, g: called.append('a') or g * b,
                     lambda a, b, y, g: called.append('b') or g * a)(lambda a, b: a * b)
    x, w = V([1., 2.]), C([3., 4.])
    assert not f(C([1., 2.]), w).requires_grad
    f(x, w).sum().backward()
    assert called == ['a', 'a'] and x.grad.tolist() == [3, 4]
    assert f(x, 2.).tolist() == [2, 4]

@pytest.mark.parametrize('call', [
                             lambda: fl.elemental(cube),
                             lambda: fl.elemental()(cube),
                             lambda: fl.elemental(cube_slope, cube_slope)(cube),
                             lambda: fl.elemental(cube_slope)(lambda a, b: a),
                             lambda: fl.elemental(cube_slope)(lambda: 1.),
                             lambda: fl.elemental(cube_slope, vector=(cube,))(cube),
                             lambda: fl.elemental(cube_slope)(cube)(C([1.]), strength=2)])
def test_elemental_refuses(call):
    with pytest.raises(OptionError, match='help:'): call()
    with pytest.raises(TypeError): call()

@pytest.mark.parametrize(
    'call,head', [
        (lambda: fl.elemental(cube), 'elemental: cube(x) has no slopes'),
        (lambda: fl.elemental(3), 'elemental: 3() has no slopes'),
        (lambda: fl.elemental(cube_slope)(3), 'elemental: 3() has 1 slopes'),
        (lambda: fl.elemental(cube_slope, vector=(cube,))(cube),
         'elemental: cube(x) has 1 rules for arrays'),
        (lambda: fl.elemental(cube_slope)(cube)(C([1])), 'cube of i64'),
        (lambda: fl.elemental(lambda x, y, g: None)(cube)(V([1.])).sum().backward(),
         'cube: a rule gave None'),
        (lambda: fl.elemental(cube_slope, vector=(lambda x: x, cube_slope))(cube)(C([3.])),
         'cube at entry 0 the rule for arrays')])
def test_elemental_says_why(call, head):
    with pytest.raises(fl.FucinaError, match='help:') as e: call()
    assert str(e.value).startswith(head)

def test_operands_go_by_the_names_of_the_function():
    energy = fl.elemental(lambda a, b, y, g: g, lambda a, b, y, g: g)(lambda a, b: a + b)
    for f, names in ((energy, ['a', 'b']), (fl.swiglu, ['up', 'gate'])):
        with pytest.raises(ShapeMismatch, match=f"in {names[0]} and 3 in {names[1]}") as e:
            f(C([1., 2.]), C([1., 2., 3.]))
        assert list(e.value.operands) == names
        with pytest.raises(DTypeError, match=f"{names[1]}.to\\('f32'\\)"): f(C([1.]), C([1.], 'd', 'f64'))

def test_elemental_refuses_values():
    f = fl.elemental(cube_slope)(cube)
    for bad in (C([1, 2]), C([True])):
        with pytest.raises(DTypeError, match='help:'): f(bad)
    with pytest.raises(DTypeError, match='gave None'): fl.elemental(cube_slope)(lambda x: None)(C([1.]))
    with pytest.raises(GradError, match='rule for numbers'):
        fl.elemental(cube_slope, vector=(lambda x: x, cube_slope))(cube)(C([3.]))
    with pytest.raises(ShapeMismatch):
        fl.elemental(lambda a, b, y, g: g, lambda a, b, y, g: g)(lambda a, b: a + b)(C([1., 2.]),
                                                                                     C([1., 2., 3.]))


# properties

values = hnp.arrays('f8', hnp.array_shapes(max_dims=3, max_side=4), elements=st.floats(-30, 30))

@given(values, st.sampled_from([n for n in SMOOTH if n not in ('log', 'sqrt', 'rsqrt', 'reciprocal',
                                                               'log1p', 'exp', 'square')]))
def test_slopes_are_slopes(a, name):
    x = V(a, tuple('abc'[:a.ndim]))
    f = lambda v: C(v, tuple('abc'[:a.ndim])).unary(name).data
    x.unary(name).sum().backward()
    h = 1e-6
    away = np.abs(a) > 2 * h        # elu and the fast tanh have a corner in their slope at 0
    np.testing.assert_allclose(x.grad.data[away], ((f(a + h) - f(a - h)) / (2 * h))[away], rtol=1e-5, atol=2e-7)

@given(values)
def test_identities(a):
    x = C(a, tuple('abc'[:a.ndim]))
    near = lambda p, q: np.testing.assert_allclose(p.data, q.data, rtol=1e-9, atol=1e-9)
    near(x.sigmoid() + (-x).sigmoid(), x * 0 + 1)
    near(x.softplus() - (-x).softplus(), x)
    near(x.tanh(), (x * 2).sigmoid() * 2 - 1)
    near(x.silu(), x * x.sigmoid()); near(x.gelu() - (-x).gelu(), x); near(x.gelu('tanh') - (-x).gelu('tanh'), x)
    near(x.relu() - (-x).relu(), x)
    near(x.abs(), x.relu() + (-x).relu())
    near(x.clamp(-1, 1), x.maximum(-1).minimum(1))
    near(x.exp().log(), x); near(x.sin().square() + x.cos().square(), x * 0 + 1); near(x.square().sqrt(), x.abs())

@given(st.integers(0, 2**64 - 1), st.floats(0, .99), st.integers(1, 17_000), st.integers(0, 2**32))
def test_dropout_is_a_function_of_place_and_seed(seed, p, n, other):
    a = C(np.ones(n, 'f4')).dropout(p, seed).data
    m = 1 + other % n
    np.testing.assert_array_equal(a[:m], C(np.ones(m, 'f4')).dropout(p, seed).data)
    for name in fl.backends():
        with fl.use_backend(name):
            np.testing.assert_array_equal(
                a, kernels.table['dropout'].run(np.ones(n, 'f4'), *dropout_args(p, seed)))

def dropout_args(p, seed):
    p = float(np.float32(p))
    return np.uint64(seed).view('i8'), np.int64(math.ceil((1 - p) * 2**53)), 1 / (1 - p)
