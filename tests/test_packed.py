"""Products by position, packed dense weights, ternary weights."""
import numpy as np
import pytest
from hypothesis import given, strategies as st
import fucinalib as fl
from fucinalib import Tensor, param
from fucinalib.ops.packed import trits

LAYOUTS = [lambda a: a, np.asfortranarray, lambda a: np.repeat(a, 2, -1)[..., ::2],
           lambda a: a[..., ::-1].copy()[..., ::-1], lambda a: np.repeat(a, 3, 0)[::3]]


def numbers(*shape, seed=0, dtype='f4'): return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


# matmul

def test_by_name_and_by_position():
    "Case 05: leading axes of one operand only; the two orders of the result differ as documented."
    a, b = Tensor(np.ones((4, 3), 'f4'), 'm k'), Tensor(np.ones((1, 3, 3, 3), 'f4'), 'b h k n')
    y, z = a.dot(b, 'k'), a.matmul(b, 'b h m n')
    assert y.tags == ('m', 'b', 'h', 'n') and y.shape == (4, 1, 3, 3)
    assert z.tags == ('b', 'h', 'm', 'n') and z.shape == (1, 3, 4, 3)
    assert (y.data == 3).all() and (z.data == 3).all()


@pytest.mark.parametrize('dtype', ['f4', 'f8'])
@pytest.mark.parametrize('p', LAYOUTS)
@pytest.mark.parametrize('q', LAYOUTS)
def test_any_layout(p, q, dtype):
    "Case 29 and its kind: operands are read where they lie, values and gradients are those of plain copies."
    for sa, sb in (((5, 3), (3, 4)), ((2, 5, 3), (3, 4)), ((2, 5, 3), (2, 3, 4)), ((1, 5, 3), (2, 3, 4))):
        a, b = numbers(*sa, dtype=dtype), numbers(*sb, seed=1, dtype=dtype)
        names = lambda s, last: ('b ' if len(s) == 3 else '') + last
        out = 'b m n' if 3 in (len(sa), len(sb)) else 'm n'
        results = []
        for x, y in ((p(a), q(b)), (a, b)):
            x, y = param(x, names(sa, 'm k')), param(y, names(sb, 'k n'))
            z = x.matmul(y, out)
            z.backward(numbers(*z.shape, seed=2, dtype=dtype))
            results.append((z.data, x.grad.data, y.grad.data))
        np.testing.assert_allclose(results[0][0], a @ b, rtol=2e-5, atol=1e-5)
        for u, v in zip(*results): np.testing.assert_allclose(u, v, rtol=2e-5, atol=1e-5)


@given(st.lists(st.integers(1, 3), max_size=2), st.lists(st.integers(1, 3), max_size=2),
       st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.booleans(), st.booleans())
def test_like_numpy(lead_a, lead_b, m, k, n, ta, tb):
    "Any leading axes and transposes: NumPy's value or NumPy's refusal."
    a, b = numbers(*lead_a, m, k, dtype='f8'), numbers(*lead_b, k, n, seed=1, dtype='f8')
    x, y = (Tensor(a.swapaxes(-1, -2).copy() if ta else a, tuple('abmk'[-a.ndim:])),
            Tensor(b.swapaxes(-1, -2).copy() if tb else b, tuple('cdkn'[-b.ndim:])))
    out = tuple('pqmn'[-max(a.ndim, b.ndim):])
    try: want = a @ b
    except ValueError: want = None
    if ta and a.ndim == b.ndim == 2: want = None
    if want is None:
        with pytest.raises((fl.ShapeMismatch, fl.OptionError)): x.matmul(y, out, transpose_a=ta, transpose_b=tb)
    else: np.testing.assert_allclose(x.matmul(y, out, transpose_a=ta, transpose_b=tb), want, atol=1e-12)


@pytest.mark.parametrize('call,kind', [
                             (lambda x, y: x.matmul(y, 'm n', transpose_b=True), fl.ShapeMismatch),
                             (lambda x, y: x.matmul(y, 'm'), fl.TagError),
                             (lambda x, y: x.matmul(y, 'm m'), fl.TagError),
                             (lambda x, y: x.matmul(y, ''), fl.TagError),
                             (lambda x, y: x.matmul(y, 'b m n'), fl.TagError),
                             (lambda x, y: x.select(m=0).matmul(y, 'n'), fl.InvalidShape),
                             (lambda x, y: x.matmul(y.select(n=0), 'm'), fl.InvalidShape),
                             (lambda x, y: x.matmul(y.to('f64'), 'm n'), fl.DTypeError),
                             (lambda x, y: x.to('i32').matmul(y.to('i32'), 'm n'), fl.DTypeError),
                             (lambda x, y: x.matmul(y, 'm n', transpose_a=True), fl.OptionError),
                             (lambda x, y: x.matmul(y, 'm n', transposed=True), fl.OptionError),
                             (lambda x, y: Tensor(numbers(2, 2, 3), 'b m k').matmul(
                                  Tensor(numbers(3, 3, 2), 'b k n'), 'b m n'),
                              fl.ShapeMismatch)])
def test_matmul_faults(call, kind):
    with pytest.raises(kind, match='help:'): call(Tensor(numbers(2, 3), 'm k'), Tensor(numbers(3, 4), 'k n'))


def test_transpose_help_runs():
    "The fix that the message offers is the product that was meant."
    x, y = Tensor(numbers(3, 2), 'r m'), Tensor(numbers(3, 4, seed=1), 'k n')
    with pytest.raises(fl.OptionError) as e: x.matmul(y, 'm n', transpose_a=True)
    fix = str(e.value).rsplit('by name: ', 1)[1]
    np.testing.assert_allclose(eval(fix), x.data.T @ y.data, rtol=1e-6)


@pytest.mark.parametrize('dtype', ['f16', 'bf16'])
def test_half(dtype):
    "16-bit operands are multiplied in f32 and rounded once."
    x, y = Tensor(numbers(2, 5, 8), 'b m k').to(dtype), Tensor(numbers(8, 3, seed=1), 'k n').to(dtype)
    z = x.matmul(y, 'b m n')
    assert z.dtype == dtype
    np.testing.assert_array_equal(z.to('f32'), x.to('f32').matmul(y.to('f32'), 'b m n').to(dtype).to('f32'))


# packed

@pytest.mark.parametrize('rows', [1, 7])
def test_packed_equals_dot(rows):
    x, w = Tensor(numbers(rows, 20), 'row in'), Tensor(numbers(6, 20, seed=1), 'out in')
    p = w.pack()
    assert (p.n, p.k, p.shape, p.tags, p.layout, p.sizes) == (6, 20, (6, 20), ('out', 'in'),
                                                              'dense_f32', {'out': 6, 'in': 20})
    assert p.nbytes == 480
    np.testing.assert_allclose(x.dot(p, 'in'), x.dot(w, 'in'), rtol=1e-6)
    assert x.dot(p, 'in').tags == ('row', 'out') and x.dot(p, 'in', out='d').tags == ('row', 'd')
    assert fl.pack(w).layout == 'dense_f32'
    for lay in LAYOUTS:
        np.testing.assert_allclose(Tensor(lay(x.data), 'row in').dot(p, 'in'), x.dot(w, 'in'),
                                   rtol=1e-5, atol=1e-6)
    assert len(repr(p)) < 120 and '32 bits' in p._repr_html_()


@pytest.mark.parametrize('dtype', ['f16', 'bf16', 'f64'])
def test_packs_other_reals(dtype):
    w, x = Tensor(numbers(3, 8), 'out in').to(dtype), Tensor(numbers(2, 8, seed=1), 'row in')
    np.testing.assert_allclose(x.dot(w.pack(), 'in'), x.dot(w.to('f32'), 'in'), rtol=1e-6)


def test_snapshot():
    w, x = Tensor(numbers(3, 8), 'out in'), Tensor(numbers(2, 8), 'row in')
    p, want = w.pack(), x.dot(w, 'in').numpy().copy()
    w.data[:] = 7
    np.testing.assert_allclose(x.dot(p, 'in'), want, rtol=1e-6)


@pytest.mark.parametrize(
    'call,kind', [
        (lambda x, w, p: param(x.data, 'row in').dot(p, 'in'), fl.GradientPackedMatmulUnsupported),
        (lambda x, w, p: param(w.data, 'out in').pack(), fl.GradientPackedMatmulUnsupported),
        (lambda x, w, p: x.insert_axis('b').dot(p, 'in'), fl.TagError),
        (lambda x, w, p: x.select(row=0).dot(p, 'in'), fl.TagError),
        (lambda x, w, p: x.permute('in row').dot(p, 'in'), fl.TagError),
        (lambda x, w, p: x.dot(p, 'feat'), fl.TagError),
        (lambda x, w, p: x.dot(p, 'row in'), fl.TagError),
        (lambda x, w, p: x.dot(p), fl.TagError),
        (lambda x, w, p: x.dot(p, 'in', out='row'), fl.TagError),
        (lambda x, w, p: x.dot(p, 'in', out='a b'), fl.TagError),
        (lambda x, w, p: x.narrow('in', 0, 4).dot(p, 'in'), fl.ShapeMismatch),
        (lambda x, w, p: x.to('f64').dot(p, 'in'), fl.DTypeError),
        (lambda x, w, p: x.dot(w, 'in', out='d'), fl.OptionError),
        (lambda x, w, p: x.dot(w.data, 'in'), fl.DTypeError),
        (lambda x, w, p: x.dot(p, 'in', rms_norm=(x, 1)), fl.OptionError),
        (lambda x, w, p: x.dot(p, 'in', gate='geglu'), fl.OptionError),
        (lambda x, w, p: w.insert_axis('b').pack(), fl.TagError),
        (lambda x, w, p: w.to('i32').pack(), fl.DTypeError),
        (lambda x, w, p: w.permute('in out').pack(), fl.UnsupportedView),
        (lambda x, w, p: w.pack('q8_0x4'), fl.OptionError)])
def test_packed_faults(call, kind):
    w = Tensor(numbers(3, 8), 'out in')
    with pytest.raises(kind, match='help:'): call(Tensor(numbers(2, 8), 'row in'), w, w.pack())


def test_packed_without_recording():
    p = Tensor(numbers(3, 8), 'out in').pack()
    with fl.no_grad(): assert param(numbers(2, 8), 'row in').dot(p, 'in').node is None


# ternary

def ternary(w):
    "From the definition, number by number."
    d = max(float(np.mean(np.abs(w), dtype='f8')), 1e-5)
    q = [[0. if np.isnan(v) else float(np.clip(np.floor(abs(v) / d + .5) * np.sign(v), -1, 1))
          for v in row] for row in w]
    return np.array(q) * float(np.float16(d))


@pytest.mark.parametrize('dtype', ['f4', 'f8'])
def test_ternary_value(dtype):
    x, w = numbers(2, 3, 512, dtype=dtype), numbers(5, 512, seed=1, dtype=dtype)
    y = Tensor(x, 'b t in').dot_ternary(Tensor(w, 'out in'), 'in')
    assert y.tags == ('b', 't', 'out') and y.data.dtype == dtype
    np.testing.assert_allclose(y, x @ ternary(w).T, rtol=1e-3, atol=1e-3)
    for lay in LAYOUTS:
        np.testing.assert_allclose(Tensor(lay(x), 'b t in').dot_ternary(Tensor(lay(w), 'out in'), 'in'),
                                   y, rtol=1e-4, atol=1e-4)
    assert Tensor(x[0, 0], 'in').dot_ternary(Tensor(w, 'out in'), 'in').tags == ('out',)


def test_trits():
    "Halves round away from zero; weights of nothing stay zero; NaN is 0."
    w = np.zeros((2, 4), 'f8')
    np.testing.assert_array_equal(trits(w)[0], 0)
    assert trits(w)[1] == np.float16(1e-5)
    t, d = trits(np.array([[1., -1., .5, -.5], [.499, -.499, 1.501, -1.501]]))
    np.testing.assert_array_equal(t, np.array([[1, -1, 1, -1], [1, -1, 1, -1]]) * (
                                      np.abs([[1, 1, .5, .5], [.499, .499, 1.501, 1.501]]) >= .4375))
    np.testing.assert_array_equal(trits(np.array([[1., -1.], [np.nan, .2]]))[0], [[1, -1], [0, 1]])


def test_straight_through():
    "x sees the rounded weight, the weight the plain product."
    x, w = param(numbers(2, 3, 256), 'b t in'), param(numbers(4, 256, seed=1), 'out in')
    g = numbers(2, 3, 4, seed=2)
    x.dot_ternary(w, 'in').backward(g)
    t, d = trits(w.data)
    np.testing.assert_allclose(x.grad, (g * d) @ t, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(w.grad, g.reshape(-1, 4).T @ x.data.reshape(-1, 256), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    'call,kind', [
        (lambda x, w: x.narrow('in', 0, 100).dot_ternary(w.narrow('in', 0, 100), 'in'),
         fl.TernaryContractDimNotBlockAligned),
        (lambda x, w: x.narrow('in', 0, 255).dot_ternary(w, 'in'), fl.ShapeMismatch),
        (lambda x, w: x.permute('in t').dot_ternary(w, 'in'), fl.TagError),
        (lambda x, w: x.dot_ternary(w.permute('in out'), 'in'), fl.TagError),
        (lambda x, w: x.rename('out in').dot_ternary(w, 'in'), fl.TagError),
        (lambda x, w: x.dot_ternary(w, 'feat'), fl.TagError),
        (lambda x, w: x.dot_ternary(w.insert_axis('b'), 'in'), fl.TagError),
        (lambda x, w: x.dot_ternary(w.to('f64'), 'in'), fl.DTypeError)])
def test_ternary_faults(call, kind):
    with pytest.raises(kind, match='help:'): call(Tensor(numbers(2, 256), 't in'), Tensor(numbers(3, 256), 'out in'))
    assert issubclass(fl.TernaryContractDimNotBlockAligned, fl.InvalidShape)
    assert issubclass(fl.GradientPackedMatmulUnsupported, RuntimeError)
