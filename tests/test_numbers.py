"""Number types: what each operation gives, how casts round, what whole numbers do at their ends,
and that nothing mixes."""
import numpy as np
import pytest
from hypothesis import given, strategies as st
import fucinalib as fl
from fucinalib.dtypes import as_dtype
from fucinalib.errors import *

C = lambda data, tags='d', dtype=None: fl.Tensor(data, tags, dtype)
HALVES, FLOATS = ['f16', 'bf16'], ['f16', 'bf16', 'f32', 'f64']
INTS = ['i8', 'i16', 'i32', 'i64', 'u8', 'u16']


# the matrix: what goes in, what comes out

@pytest.mark.parametrize('dtype', FLOATS + INTS)
def test_results_of_the_families(dtype):
    x = C([1, 2, 3], dtype=dtype)
    for y in (x + x, x - x, x * x, x + 1, x.maximum(x)): assert y.dtype == dtype
    whole = dtype in INTS
    for y in (x.sum(), x.sum('d'), x.mean() if not whole else x.sum()):
        assert y.dtype == ('i64' if whole else 'f64' if dtype == 'f64' else 'f32')
    assert (x > 1).dtype == 'bool' and (x > 1).sum().dtype == 'i64'
    if not whole:
        for y in (x / x, x.exp(), x.relu(), x.gelu(), x ** 2, x.clamp(0, 1), x.cumsum('d')): assert y.dtype == dtype
        for y in (x.max('d'), x.min('d'), x.prod('d'), x.var('d')):
            assert y.dtype == ('f64' if dtype == 'f64' else 'f32')
    y = x.dot(x, 'd')
    assert y.dtype == ('i64' if whole else dtype)

@pytest.mark.parametrize('half', HALVES)
@pytest.mark.parametrize('op', ['exp', 'tanh', 'gelu', 'silu', 'sigmoid', 'softplus', 'sqrt', 'log'])
def test_cast_op_cast(op, half):
    "A 16-bit result is the f32 result rounded once, bit for bit."
    x = fl.randn('d', (1000,), seed=1).abs().to(half)
    want = getattr(x.to('f32'), op)().to(half)
    assert getattr(x, op)().data.tobytes() == want.data.tobytes()

def test_widened_example():
    x = C([[.5, -1.25], [2., 3.5]], 'seq d')
    assert x.to('bf16').gelu().tolist() == x.gelu().to('bf16').tolist() and x.to('bf16').var('d').dtype == 'f32'

def test_composed_ops_round_once():
    x = fl.randn('d', (100,), seed=1).to('bf16')
    assert x.softcap(3).tolist() == x.to('f32').softcap(3).to('bf16').tolist()

@pytest.mark.parametrize('half', HALVES)
def test_moving_numbers_keeps_every_bit(half):
    bits = np.arange(65536, dtype='u2').view(as_dtype(half).np).reshape(256, 256)
    x = C(bits, 'r c')
    assert x.permute('c r').materialize().data.tobytes() == bits.T.tobytes()
    assert fl.concat([x, x], 'r').data[:256].tobytes() == bits.tobytes()

def test_nothing_mixes():
    for a, b in (('f16', 'f32'), ('bf16', 'f16'), ('f32', 'f16'), ('f64', 'f16'), ('i8', 'i16'), ('f16', 'i8')):
        with pytest.raises(DTypeError, match='help:'): C([1], dtype=a) + C([1], dtype=b)
    with pytest.raises(DTypeError): C([1.], dtype='f16').dot(C([1.], dtype='f32'), 'd')


# 16 bits and gradients

@pytest.mark.parametrize('half', HALVES)
def test_half_leaf(half):
    w = fl.param(C([.5, 2.]).to(half))
    x = C([[1., 1.], [2., 3.]], 't d')
    (w.to('f32').square().sum() + x.dot(w, 'd').sum()).backward()
    assert w.grad.dtype == 'f32' and w.grad.tolist() == [4., 8.]
    for bad in (lambda: w + 1, lambda: w.exp(), lambda: w.sum(), lambda: w * w):
        with pytest.raises(UnsupportedGradient, match=r"to\('f32'\)"): bad()
    for bad in ('i64', 'bool', 'f8_e4m3', 'bf16' if half == 'f16' else 'f16'):
        with pytest.raises(GradientCastUnsupported, match='help:'): w.to(bad)
    with fl.no_grad(): assert (w + 1).dtype == half

def test_gradient_is_not_rounded():
    x = fl.param([1., 2.], 'd')
    y = x.to('bf16')
    y.backward([1.0001, 3.])
    np.testing.assert_array_equal(x.grad.data, np.array([1.0001, 3.], 'f4'))

def test_dot_with_a_half_matrix():
    w = C([[2., 3.]], 'out in').to('f16')
    y = C([[1., 1.]], 't in').dot(w, 'in')
    assert y.tolist() == [[5]] and y.dtype == 'f32'


# casts

def test_real_to_whole():
    x = C([1.9, -1.9, 1e20, -1e20, np.nan, np.inf, -np.inf])
    assert x.to('i64').tolist() == [1, -1, 2**63 - 1, -2**63, 0, 2**63 - 1, -2**63]
    assert x.to('i32').tolist() == [1, -1, 2**31 - 1, -2**31, 0, 2**31 - 1, -2**31]
    assert x.to('i8').tolist() == [1, -1, 127, -128, 0, 127, -128]
    assert x.to('u8').tolist() == [1, 0, 255, 0, 0, 255, 0]
    assert C([2147483520., 2147483648.]).to('i32').tolist() == [2147483520, 2147483647]
    assert x.to('f64').to('i64').tolist() == x.to('i64').tolist()
    assert x.to('bf16').to('i8').tolist() == [1, -1, 127, -128, 0, 127, -128]

def test_other_casts():
    assert C([300, -1]).to('u8').tolist() == [44, 255]
    assert C([0., -0., np.nan, 2.]).to('bool').tolist() == [False, False, True, True]
    assert C([True, False]).to('f32').tolist() == [1, 0]
    assert C([2**53 + 1]).to('f64').item() == 2**53
    with pytest.raises(DTypeError, match='help:'): C([1.]).to('f33')
    x = C([1., 2.])
    assert not np.shares_memory(x.to('f32').data, x.data)

@given(st.floats(width=32))
def test_bf16_rounds_to_nearest_even(v):
    bits = np.array(v, 'f4').view('u4').astype('u8')
    want = int((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) & 0xffff
    got = int(C([v], dtype='f32').to('bf16').data.view('u2')[0])
    assert got == want or np.isnan(v) and np.isnan(np.array(got << 16, 'u4').view('f4'))

def test_f8():
    x = C([448., 464.1, 1e9, np.inf, 57344., 1e6])
    e4, e5 = x.to('f8_e4m3').to('f32').data, x.to('f8_e5m2').to('f32').data
    assert e4[0] == 448 and np.isnan(e4[2:]).all() and e5[4] == 57344 and np.isinf(e5[[2, 3, 5]]).all()
    y = C([1., 2.]).to('f8_e4m3')
    assert y.permute('d').tolist() == [1, 2] and fl.concat([y, y], 'd').dtype == 'f8_e4m3'
    for bad in (lambda: y + 1, lambda: y.exp(), lambda: y.sum(), lambda: y > 0):
        with pytest.raises(DTypeError, match='storage'): bad()


# whole numbers

@pytest.mark.parametrize('dtype', INTS)
def test_division_laws(dtype):
    info = np.iinfo(as_dtype(dtype).np)
    rng = np.random.default_rng(0)
    a = C(np.concatenate([rng.integers(info.min, info.max, 500, endpoint=True),
                          [info.min, info.max, 0, 1]]).astype(as_dtype(dtype).np))
    b = rng.integers(max(info.min, -9), 10, 504).astype(as_dtype(dtype).np)
    b[b == 0] = 3
    A, B = [int(v) for v in a.data], [int(v) for v in b]
    wrap = lambda v: (v - info.min) % 2**info.bits + info.min
    trunc = [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(A, B)]
    o = C(b)
    assert a.div_floor(o).tolist() == [wrap(x // y) for x, y in zip(A, B)]
    assert (a // o).tolist() == a.div_floor(o).tolist()
    assert a.mod(o).tolist() == [x % y for x, y in zip(A, B)] == (a % o).tolist()
    assert a.div_trunc(o).tolist() == [wrap(q) for q in trunc]
    assert a.rem(o).tolist() == [x - q * y for x, y, q in zip(A, B, trunc)]
    for f in (a.div_floor, a.div_trunc, a.rem, a.mod):
        assert f(o).dtype == dtype

def test_smallest_by_minus_one():
    x = C([-128, -7], dtype='i8')
    assert x.div_floor(-1).tolist() == [-128, 7] == x.div_trunc(-1).tolist()
    assert x.rem(-1).tolist() == [0, 0] == x.mod(-1).tolist()

def test_whole_numbers_meet_by_name():
    assert C([[7, 8], [9, 10]], 'r c').div_floor(C([2, 3], 'r')).tolist() == [[3, 4], [3, 3]]
    assert C([7, 8]).bit_and(C([1, 3], 'e')).tags == ('d', 'e')

@pytest.mark.parametrize('name', ['div_floor', 'div_trunc', 'rem', 'mod'])
def test_division_by_zero(name):
    for o in (0, C([1, 0])):
        with pytest.raises(DivisionByZero, match='help:'): getattr(C([1, 2]), name)(o)

@pytest.mark.parametrize('name', ['div_floor', 'div_trunc', 'rem', 'mod', 'bit_and', 'bit_or', 'bit_xor'])
def test_only_whole_numbers(name):
    for x, o in ((C([1.]), C([1.])), (C([True]), C([True])), (C([1]), 1.5),
                 (C([1]), C([1], dtype='i8')), (C([1]), 'a')):
        with pytest.raises(DTypeError, match='help:'): getattr(x, name)(o)

def test_bits():
    a, b = C([127, -7], dtype='i8'), C([1, 2], dtype='i8')
    assert (a & b).tolist() == [1, 0] and (a | b).tolist() == [127, -5] and (a ^ b).tolist() == [126, -5]
    assert (C([True, False]) & C([True, True])).tolist() == [True, False]

def test_long_accumulators():
    "Case 37: sums and means of short whole numbers do not wrap."
    for n, v, t in ((200, 100, 'i8'), (100, 16000, 'i16')):
        x = C(np.full(n, v), dtype=t)
        assert x.sum('d').dtype == 'i64' and x.sum('d').item() == n * v and x.mean('d').item() == v
        assert x.cumsum('d').dtype == 'i64' and x.cumsum('d').tolist()[-1] == n * v
    assert C([True] * 300).sum().item() == 300


def test_division_operators_on_both_sides():
    x = fl.Tensor([1, 2, -3], 'd')
    assert (7 // x).tolist() == [7, 3, -3] and (7 % x).tolist() == [0, 1, -2]
    q, r = divmod(x, 2)
    assert q.tolist() == [0, 1, -2] and r.tolist() == [1, 0, 1]


def test_help_of_a_number_type(capsys):
    "help() takes text for a path of modules; the types are text, and tell what they hold all the same."
    for kind, said in ((fl.f32, '24 bits of precision, up to 3.403e+38'), (fl.bf16, '8 bits of precision'),
                       (fl.i8, '-128 to 127'), (fl.f8_e4m3, 'up to 448')):
        help(kind)
        assert said in capsys.readouterr().out and said in kind.__doc__
        assert kind.strip() is kind and kind.split() == [kind] and kind.split('_') == str(kind).split('_')
