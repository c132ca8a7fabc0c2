"""Constructors and the counter random numbers, whose values are a promise."""
from fractions import Fraction
import numpy as np
import pytest
from hypothesis import given, strategies as st
import fucinalib as fl
from fucinalib.errors import *
from fucinalib.kernels import random
from fucinalib.ops.construction import at

u64 = st.integers(0, 2**64 - 1)
f32 = lambda *v: np.array(v, 'f4')


def at_by_hand(seed, i, M=2**64 - 1):
    z = seed + (i + 1) * 0x9E3779B97F4A7C15 & M
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & M
    z = (z ^ z >> 27) * 0x94D049BB133111EB & M
    return z ^ z >> 31


# ---- the frozen values
def test_frozen_bits():
    assert [int(v) for v in at(0, [0, 1])] == [0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4]
    assert [int(v) for v in at(42, [0, 1])] == [0xbdd732262feb6e95, 0x28efe333b266f103]

FROZEN = [(lambda: fl.rand('d', d=4, seed=42), f32(0.74156487, 0.1599104, 0.27860114, 0.34419072)),
          (lambda: fl.randn('d', d=4, seed=42), f32(0.41471976, 0.65268123, -0.89188623, 1.3268336)),
          (lambda: fl.bernoulli('d', d=8, p=.5, seed=7), f32(1, 1, 0, 0, 1, 1, 1, 1)),
          (lambda: fl.randperm('d', 6, seed=7), np.array([5, 4, 1, 3, 0, 2])),
          (lambda: fl.randint('d', d=8, low=-3, high=5, seed=7), np.array([0, -3, 4, 1, 0, -2, 0, -1])),
          (lambda: fl.gumbel('d', d=2, seed=42), f32(1.2073364, -0.60603124)),
          (lambda: fl.rand('d', d=1, seed=0x31628AF67B2131AB), np.nextafter(f32(1), f32(0)))]

@pytest.mark.parametrize('backend', fl.backends())
@pytest.mark.parametrize('make,right', FROZEN)
def test_frozen_values(make, right, backend):
    with fl.use_backend(backend): y = make()
    assert y.data.dtype == right.dtype
    np.testing.assert_array_equal(y.data, right)

@given(u64, st.lists(u64.filter(lambda i: i < 2**64 - 1), min_size=1, max_size=9))
def test_bits(seed, index):
    assert at(seed, np.array(index, 'u8')).tolist() == [at_by_hand(seed, i) for i in index]
    assert int(at(seed - 2**64, index[0])) == at_by_hand(seed, index[0])

@given(u64, st.integers(1, 2**64 - 1))
def test_upper_half_of_a_product(z, n):
    assert int(random.times_high(np.array([z], 'u8'), n)[0]) == z * n >> 64


# ---- what a counter promises
DRAWS = dict(rand=dict(), uniform=dict(low=-1.3, high=2.7), randn=dict(), normal=dict(mean=.3, std=1.7),
             bernoulli=dict(p=.3), gumbel=dict(), randint=dict(low=-3, high=5))

@pytest.mark.parametrize('name', DRAWS)
@given(n=st.integers(1, 9000), k=st.integers(1, 9000), seed=u64)
def test_a_part_is_a_part_of_the_whole(name, n, k, seed):
    "Sizes change which values are there, never the values."
    k, n = sorted((n, k))
    draw = lambda n: getattr(fl, name)('d', d=n, seed=seed, **DRAWS[name]).data
    np.testing.assert_array_equal(draw(n)[:k], draw(k))

@pytest.mark.parametrize('name', [*DRAWS, 'randperm'])
@pytest.mark.parametrize('n', [1, 2, 63, 2047, 2048, 2049, 16385, 50001])
def test_same_bits_on_every_backend(name, n):
    draw = ((lambda: fl.randperm('d', n, seed=2**63 + 5).data) if name == 'randperm'
            else lambda: getattr(fl, name)('d', d=n, seed=2**63 + 5, **DRAWS[name]).data)
    with fl.use_backend('numpy'): right = draw()
    for backend in fl.backends():
        with fl.use_backend(backend): np.testing.assert_array_equal(draw(), right)

def test_threads_change_nothing():
    before, draw = fl.get_num_threads(), lambda: fl.randn('d', d=100_001, seed=3).data
    try:
        fl.set_num_threads(1); one = draw()
        fl.set_num_threads(4); np.testing.assert_array_equal(draw(), one)
    finally: fl.set_num_threads(before)

def test_shape_and_tags_change_nothing():
    np.testing.assert_array_equal(fl.randn('row col', row=3, col=5, seed=1).data.ravel(),
                                  fl.randn('d', d=15, seed=1).data)

def test_seeds_of_the_process():
    fl.manual_seed(3); a = [fl.rand('d', d=2).tolist() for _ in range(3)]
    fl.manual_seed(3); b = [fl.rand('d', d=2).tolist() for _ in range(3)]
    fl.manual_seed(4); c = [fl.rand('d', d=2).tolist() for _ in range(3)]
    assert a == b and a != c and len({*map(tuple, a)}) == 3
    fl.rand('d', d=2, seed=1)                   # a given seed does not move the others
    assert fl.rand('d', d=2).tolist() not in c
    for bad in (None, .5, 'a'):
        with pytest.raises(OptionError, match='help:'): fl.manual_seed(bad)


# ---- distributions
def test_moments():
    n = 400_000
    for y, mean, std in ((fl.rand('d', n, seed=1), .5, 12**-.5),
                         (fl.randn('d', n, seed=1), 0, 1),
                         (fl.normal('d', n, 3., 2., seed=1), 3, 2),
                         (fl.gumbel('d', n, seed=1), np.euler_gamma, np.pi / 6**.5),
                         (fl.bernoulli('d', n, .3, seed=1), .3, .21**.5),
                         (fl.randint('d', n, 0, 6, seed=1), 2.5, (35 / 12)**.5)):
        a = y.data.astype('f8')
        assert abs(a.mean() - mean) < 5 * std / n**.5 and abs(a.std() / std - 1) < .01
        assert abs(np.corrcoef(a[1:], a[:-1])[0, 1]) < 5 / n**.5

def test_bounds():
    for seed in range(50):
        u, k = (fl.uniform('d', d=1000, low=-2., high=-1., seed=seed).data,
                fl.randint('d', d=1000, low=-2, high=1, seed=seed).data)
        assert (-2 <= u).all() and (u < -1).all() and set(k.tolist()) == {-2, -1, 0}
    for dtype in ('f16', 'bf16', 'f64'):
        u = fl.rand('d', d=20000, seed=1, dtype=dtype)
        assert u.dtype == dtype and float(u.data.max()) < 1
    assert fl.bernoulli('d', d=1000, p=0., seed=0).data.sum() == 0
    assert fl.bernoulli('d', d=1000, p=1., seed=0).data.sum() == 1000
    wide = fl.randint('d', d=1000, low=-2**63, high=2**63 - 1, seed=1).data
    assert (wide < 0).any() and (wide > 0).any()
    assert fl.normal('d', d=5, std=0., mean=2., seed=1).tolist() == [2.] * 5

@given(st.integers(1, 300), u64)
def test_randperm(n, seed):
    y = fl.randperm('d', n, seed=seed)
    assert sorted(y.tolist()) == list(range(n)) and y.dtype == 'i64'


# ---- constants
TYPES = 'f32 f64 f16 bf16 f8_e4m3 f8_e5m2 i64 i32 i16 i8 u8 u16 bool'.split()

@pytest.mark.parametrize('dtype', TYPES)
def test_every_type(dtype):
    for name, value in (('zeros', 0), ('ones', 1)):
        y = getattr(fl, name)('row col', row=2, col=3, dtype=dtype)
        assert y.dtype == dtype and y.tags == ('row', 'col') and y.shape == (2, 3)
        assert (y.data.astype('f8') == value).all() and y.node is None
        assert getattr(fl, name + '_like')(fl.ones('d', d=2), dtype=dtype).dtype == dtype
    assert fl.empty('d', d=2, dtype=dtype).dtype == dtype and fl.full('d', 1, d=2, dtype=dtype).dtype == dtype
    assert (fl.eye('a b', 2, dtype=dtype).data.astype('f8') == np.eye(2)).all()
    assert fl.one_hot([1], 'item label', 2, dtype=dtype).data.astype('f8').tolist() == [[0, 1]]

def test_full():
    for value, dtype in ((7., 'f32'), (7, 'i64'), (True, 'bool'), (np.float64(1), 'f64'), (np.int8(1), 'i8')):
        assert fl.full('d', value, d=2).dtype == dtype
    assert fl.full('a b', (2, 1), 3.).tolist() == [[3.], [3.]] and fl.full('d', 2, 3.).tolist() == [3., 3.]

def test_like_is_a_constant():
    x = fl.param([1., 2.], 'd')
    for y in (x.zeros_like(), x.ones_like(), x.full_like(3), x.empty_like()):
        assert y.node is None and y.tags == x.tags and y.dtype == x.dtype
        assert not np.shares_memory(y.data, x.data)
    assert fl.Tensor([1], 'd').full_like(2.5, dtype='f32').tolist() == [2.5]

@pytest.mark.parametrize('make', [lambda **k: fl.zeros('a b', **k),
                                  lambda **k: fl.rand('a b', seed=0, **k),
                                  lambda **k: fl.full('a b', 1., **k),
                                  lambda **k: fl.randint('a b', high=2, seed=0, **k),
                                  lambda **k: fl.eye('a b', **k)])
def test_sizes(make):
    assert make(a=2, b=3).sizes == make(b=3, a=2).sizes == dict(a=2, b=3)
    for bad in (dict(a=2), dict(a=2, b=0), dict(a=2, b=-1), dict(a=2, b=1.5), dict(a=2, b='3'), {}):
        with pytest.raises(InvalidShape, match='help:'): make(**bad)
    with pytest.raises(OptionError, match="'c'"): make(a=2, b=3, c=4)

def test_sizes_by_position():
    assert (fl.zeros('a b', (2, 3)).shape == (2, 3) == fl.zeros('a b', [2, 3]).shape
            == fl.zeros('a b', np.array([2, 3])).shape)
    assert fl.zeros('a', 2).shape == (2,) and fl.zeros('', ()).shape == () == fl.zeros('').shape
    for bad in (lambda: fl.zeros('a b', (2,)),
                lambda: fl.zeros('a', (2, 3)),
                lambda: fl.zeros('a b', (2, 3), a=2),
                lambda: fl.zeros('a b', (2, 0)),
                lambda: fl.zeros('a b', 6)):
        with pytest.raises(InvalidShape, match='help:'): bad()
    for bad in ('a a', 'a-b', 1):
        with pytest.raises(TagError, match='help:'): fl.zeros(bad, (2, 2))
    # any tag may be named in a message
    with pytest.raises(InvalidShape): fl.zeros('first help kind', first=1, help=2)


# ---- ranges
def test_arange_beyond_memory_and_64_bits():
    for args in ((2**63,), (0., 1e308, 1e-308), (-1e308, 1e308, 1.), (2**60,)):
        with pytest.raises(fl.InvalidShape, match='no memory holds them'): fl.arange('t', *args)
    with pytest.raises(fl.InvalidShape, match='nothing lies between'): fl.arange('t', 1e308, -1e308, 1.)
    with pytest.raises(fl.OptionError, match='beyond all floats'): fl.arange('t', 10**400)
    assert fl.arange('t', -2**63, 2**63 - 1, 2**63 + 5).tolist() == [-2**63, 5]
    assert fl.arange('t', 2**63 - 1, -2**63, -2**63).tolist() == [2**63 - 1, -1]
    assert fl.arange('t', -3, 3, 2, dtype='i8').tolist() == [-3, -1, 1]
    assert fl.arange('t', 250, 256, dtype='u8').tolist() == list(range(250, 256))

def test_arange_needs_no_second_array():
    import tracemalloc
    tracemalloc.start()
    x = fl.arange('t', 3, 3 + 2 * 10**6, 2)
    assert tracemalloc.get_traced_memory()[1] < 1.2 * x.data.nbytes
    tracemalloc.stop()
    assert x.tolist()[-1] == 2 * 10**6 + 1

def test_ways_longer_than_a_float(backend):
    "From -1.7e308 to 1.7e308 is further than f64 counts; halves do not."
    for n in (5, 40_000):
        y, half = (fl.uniform('d', n, -1.7e308, 1.7e308, dtype='f64', seed=3).data,
                   fl.uniform('d', n, -.85e308, .85e308, dtype='f64', seed=3).data)
        np.testing.assert_array_equal(y, half * 2)
        assert len(np.unique(y)) == n and y.min() < -1e307 < 1e307 < y.max()
    for dtype, start, end, step in (('f64', -1.7e308, 1.7e308, 1e307),
                                    ('f64', 1.7e308, -1.7e308, -5e307),
                                    ('f32', -3e38, 3.2e38, 1e38), ('f16', -6e4, 6.1e4, 2e4)):
        y = fl.arange('t', start, end, step, dtype=dtype).numpy()
        want = [float(Fraction(start) + i * Fraction(step)) for i in range(y.size)]
        assert abs(y.size - (Fraction(end) - Fraction(start)) / Fraction(step)) <= 1
        np.testing.assert_allclose(y.astype('f8') / 2, np.array(want) / 2,
                                   rtol=4 * float(np.finfo(y.dtype).eps), atol=abs(step) * 1e-3)

def test_randint_over_all_of_i64(backend):
    "low + floor(z n / 2**64) with n = 2**64 keeps all bits of z."
    from fucinalib.ops.construction import at
    for n in (4, 70_000):
        y = fl.randint('d', n, -2**63, 2**63, seed=5).data
        assert y[:4].tolist() == [int(z) - 2**63 for z in at(5, np.arange(4))]
        assert len(np.unique(y)) == n
    assert fl.randint('d', 4, -2**63, 2**63 - 1, seed=5).tolist() == [
        int(z) * (2**64 - 1) // 2**64 - 2**63 for z in at(5, np.arange(4))]

def test_arange():
    assert fl.arange('t', 0, 2, .5).tolist() == [0, .5, 1, 1.5] and fl.arange('t', 0, 2, .5).dtype == 'f32'
    assert fl.arange('t', 5).tolist() == [0, 1, 2, 3, 4] and fl.arange('t', 5).dtype == 'i64'
    assert fl.arange('t', 5, dtype='f32').dtype == 'f32' and fl.arange('t', 5.).dtype == 'f32'
    assert fl.arange('t', 5, 0, -2).tolist() == [5, 3, 1]
    assert fl.arange('t', 2**62, 2**62 + 3).tolist() == [2**62, 2**62 + 1, 2**62 + 2]
    assert fl.arange('t', 1.5, 4, dtype='i8').tolist() == [1, 2, 3]
    for bad in ((0,), (2, 2), (0, 5, 0), (0, 5, -1), (5, 0, 1.)):
        with pytest.raises(InvalidShape, match='help:'): fl.arange('t', *bad)
    for bad in ((np.inf,), (0, np.nan), ('5',), ([5],), (fl.Tensor(5),)):
        with pytest.raises(OptionError, match='help:'): fl.arange('t', *bad)

@given(st.floats(-100, 100, width=32), st.floats(.0625, 3, width=32), st.integers(1, 500))
def test_arange_rounds_once_per_step(start, step, n):
    y = fl.arange('t', start, start + n * step, step).data
    np.testing.assert_array_equal(y, np.arange(len(y)).astype('f4') * f32(step) + f32(start))
    assert len(y) == np.ceil((start + n * step - start) / step)

def test_linspace():
    assert fl.linspace('t', 0, 1, 3).tolist() == [0, .5, 1] and fl.linspace('t', 3., 9., 1).tolist() == [3]
    for n in (2, 3, 7, 1000):
        for a, b in ((0, 1), (-.1, .7), (1e-3, 1e6), (5, -5)):
            assert fl.linspace('t', a, b, n).data[[0, -1]].tolist() == f32(a, b).tolist()
    for bad in (0, -1, 2.5):
        with pytest.raises(InvalidShape, match='help:'): fl.linspace('t', 0, 1, bad)

def test_eye_and_one_hot():
    assert fl.eye('row col', row=2, col=3).tolist() == [[1, 0, 0], [0, 1, 0]] == fl.eye('row col', (2, 3)).tolist()
    labels = fl.Tensor([[0, 2], [1, 1]], 'batch seq')
    y = fl.one_hot(labels, 'label', 3)
    assert y.tags == ('batch', 'seq', 'label') and (y.data == np.eye(3)[labels.data]).all() and y.dtype == 'f32'
    for bad in ([3], [-1]):
        with pytest.raises(IndexOutOfBounds, match='0 to 2'): fl.one_hot(bad, 'item label', 3)
    for bad in (0, -1):
        with pytest.raises(InvalidShape, match='help:'): fl.one_hot([0], 'item label', bad)
    with pytest.raises(DTypeError, match='help:'): fl.one_hot([True], 'item label', 2)

def test_ranges_end_where_their_type_does():
    for call in (lambda: fl.arange('t', 300, dtype='u8'),
                 lambda: fl.arange('t', -3, 0, dtype='u8'),
                 lambda: fl.arange('t', 2**62, 2**63 + 2**62, 2**62)):
        with pytest.raises(DTypeError, match='does not fit'): call()
    assert fl.arange('t', 256, dtype='u8').max().item() == 255 and fl.arange('t', 0, 1, 10**30).tolist() == [0]
    assert fl.linspace('t', -1e308, 1e308, 3, dtype='f64').tolist() == [-1e308, 0, 1e308]

def test_constructors_refuse():
    x = fl.Tensor([1, 2], 'd')
    for call in (lambda: fl.rand('d', d=3, seed=1, dtype='f8_e4m3'),
                 lambda: fl.ones('d', d=2, dtype=None),
                 lambda: x.full_like(1.5),
                 lambda: fl.ones('d', d=2, dtype=x)):
        with pytest.raises(DTypeError, match='help:'): call()
    for call in (lambda: fl.bernoulli('d', d=3, p=fl.Tensor(.5)),
                 lambda: fl.zeros('a b', a=2**40, b=2**40),
                 lambda: fl.ones('d', d=10**30)):
        with pytest.raises(FucinaError, match='help:'): call()
    assert x.full_like(1.5, dtype='f32').tolist() == [1.5, 1.5]

@pytest.mark.filterwarnings('error')
def test_bounds_beyond_f32():
    assert fl.arange('t', 0, 1, 1e300).tolist() == [0]
    assert fl.linspace('t', 0, 1e300, 2).tolist() == [0, np.inf]
    assert fl.normal('t', t=1, mean=1e300, seed=0).item() == np.inf
    with pytest.raises(OptionError, match='help:'): fl.uniform('t', t=2, high=1e300, seed=0)
    x = fl.Tensor([1.], 'd')
    assert x.pad('d', 0, 1, 1e300).tolist() == [1, np.inf] and x.bias_add([1e300], 'd').tolist() == [np.inf]
    assert fl.rope_table([1], 4, theta=1e300).cos.isfinite().all().item()

def test_true_is_no_size_and_no_seed():
    "To Python True is 1; whoever writes it for a size or a seed meant something else."
    for call in (lambda: fl.zeros('d', True), lambda: fl.zeros('d', d=np.True_), lambda: fl.eye('a b', True),
                 lambda: fl.rand('d', 3, seed=True), lambda: fl.randint('d', 3, 0, True), lambda: fl.manual_seed(False),
                 lambda: fl.randperm('d', True), lambda: fl.linspace('d', 0, 1, True)):
        with pytest.raises(FucinaError, match='help:'): call()

@pytest.mark.parametrize('call,help', [
    (lambda: fl.zeros('row col', row=2), "zeros('row col', row=2, col=3)"),
    (lambda: fl.zeros('row col', (2, 3), row=2), "zeros('row col', (2, 3))"),
    (lambda: fl.zeros('dtype', dtype='f32'), "zeros('dtype', (2,))"),
    (lambda: fl.ones('for'), "ones('for', (2,))"),
    (lambda: fl.full('row', 7.), "full('row', (2,), 7.0)"),
    (lambda: fl.randint('row col', row=2, high=3), "randint('row col', row=2, col=3, high=3)"),
    (lambda: fl.band_mask('q k', q=3), "band_mask('q k', q=3, k=3)"),
])
def test_the_call_that_was_meant_is_shown_and_runs(call, help):
    with pytest.raises(InvalidShape) as e: call()
    assert str(e.value).endswith(f'help: {help}')
    name, rest = help.split('(', 1)
    assert eval(f'getattr(fl, name)({rest}', dict(fl=fl, name=name)).numel > 0

def test_bounds_of_any_kind_of_number():
    for start, end, step in ((Fraction(0), Fraction(2), Fraction(1, 2)), (np.float64(0), 2, np.float32(.5))):
        y = fl.arange('t', start, end, step)
        assert y.dtype == 'f32' and y.tolist() == [0, .5, 1, 1.5]
    assert fl.arange('t', np.int8(3)).dtype == 'i64' and fl.uniform('d', 2, Fraction(1), Fraction(2), seed=0).numel == 2
