"""Rotary positions: what a turn keeps, ranges, tables and refusals; values beside transformers
are in tests/golden/rotary.py."""
import math
import numpy as np
import pytest
from hypothesis import given, strategies as st
import fucinalib as fl
from fucinalib import kernels
from fucinalib.errors import *
from fucinalib.ops.rotary import MODES, AxisRange, RopeTable, rope_table, yarn_inv_freqs

same = np.testing.assert_array_equal
near = lambda a, b, tol=1e-5: np.testing.assert_allclose(a, b, rtol=tol, atol=tol)
modes = pytest.mark.parametrize('mode', MODES)


def by_loop(x, positions, dim, mode, theta=1e4):
    "rope of (seq, d) as the definition says, in Python floats."
    y, d = np.array(x, 'f8'), x.shape[1]
    for row, p in enumerate(positions):
        for i in range(dim // 2):
            a, b = {'half': (i, i + dim // 2),
                    'interleaved': (2 * i, 2 * i + 1),
                    'interleaved_tail': (d - dim + 2 * i, d - dim + 2 * i + 1)}[mode]
            c, s = math.cos(p / theta ** (2 * i / dim)), math.sin(p / theta ** (2 * i / dim))
            y[row, a], y[row, b] = x[row, a] * c - x[row, b] * s, x[row, a] * s + x[row, b] * c
    return y


# the turn

@modes
@pytest.mark.parametrize('d,dim', [(2, 2), (8, 8), (9, 6), (130, 64), (7, 2)])
def test_definition(mode, d, dim):
    x = np.random.default_rng(d).standard_normal((5, d))
    at = [0, 3, -4, 20, 1]
    near(fl.Tensor(x, 'seq d').rope('seq', 'd', rope_table(at, dim), mode).data, by_loop(x, at, dim, mode))

@modes
@given(st.integers(-10**5, 10**5), st.integers(1, 6), st.integers(1, 5))
def test_laws(mode, p, n, pairs):
    "Lengths stay; the turn back undoes the turn; a score depends on the distance only."
    rng = np.random.default_rng(n)
    x, y = (fl.Tensor(rng.standard_normal((n, 2 * pairs)), 'seq d'),
            fl.Tensor(rng.standard_normal((n, 2 * pairs)), 'seq d'))
    there, back = [rope_table(AxisRange(n, p), 2 * pairs, inverse=i) for i in (False, True)]
    t = x.rope('seq', 'd', there, mode)
    near(t.square().sum('d').data, x.square().sum('d').data)
    near(t.rope('seq', 'd', back, mode).data, x.data)
    near(t.rope('seq', 'd', rope_table(-there.positions, 2 * pairs), mode).data, x.data)
    speeds = yarn_inv_freqs(2 * pairs)      # angles in f64, so that far positions cost no digits
    score = lambda o: (
        x.rope('seq', 'd', rope_table(AxisRange(n, o), inv_freqs=speeds), mode) * y.rope(
            'seq', 'd', rope_table(AxisRange(n, o + 3), inv_freqs=speeds), mode)).sum('d').data
    near(score(p), score(0))

def test_full_span_tail_is_interleaved_and_nothing_moves_at_zero():
    x = fl.randn('seq d', (3, 8), seed=1)
    same(x.rope('seq', 'd', 1e4, 'interleaved').data, x.rope('seq', 'd', 1e4, 'interleaved_tail').data)
    for mode in MODES: same(x.rope('seq', 'd', 1e4, mode, positions=[0, 0, 0]).data, x.data)

@modes
def test_the_rest_is_copied(mode):
    "Features outside the span keep their bits, whatever they are, and their gradients."
    x = np.random.default_rng(0).standard_normal((2, 7)).astype('f4')
    rest = slice(0, 3) if mode == 'interleaved_tail' else slice(4, 7)
    x[:, rest] = np.nan, np.inf, -0.
    x = fl.param(x, 'seq d')
    y = x.rope('seq', 'd', rope_table([5, 6], 4), mode)
    same(y.data[:, rest].view('u4'), x.data[:, rest].view('u4'))
    assert np.isfinite(np.delete(y.data, np.r_[rest], 1)).all()
    g = np.arange(14, dtype='f4').reshape(2, 7)
    y.backward(g)
    same(x.grad.data[:, rest], g[:, rest])

@modes
@pytest.mark.parametrize('layout', ['plain', 'fortran', 'stepped', 'turned', 'repeated'])
@pytest.mark.parametrize('tags', ['b seq h d', 'b h seq d', 'seq d b h', 'd h seq b'])
def test_backends_and_layouts(tags, layout, mode, every_size):
    a = np.random.default_rng(0).standard_normal([dict(b=3, seq=5, h=2, d=10)[t] for t in tags.split()]).astype('f4')
    a = dict(plain=lambda: a,
             fortran=lambda: np.asfortranarray(a),
             stepped=lambda: np.repeat(a, 2, -1)[..., ::2],
             turned=lambda: a.transpose(1, 0, 3, 2).copy().transpose(1, 0, 3, 2),
             repeated=lambda: np.broadcast_to(a[:1], a.shape))[layout]()
    table = rope_table(AxisRange(5, 2), 6)
    def run():
        x = fl.param(a, tags)
        y = x.rope('seq', 'd', table, mode)
        y.backward(np.cos(np.arange(a.size, dtype='f4')).reshape(a.shape))
        assert y.tags == x.tags and not np.may_share_memory(y.data, a)
        return y.data, x.grad.data
    with fl.use_backend('numpy'): want = run()
    for i, h in np.ndindex(3, 2):
        index = tuple({'b': i, 'h': h}.get(t, slice(None)) for t in tags.split())
        one = a[index] if tags.index('seq') < tags.index('d') else a[index].T
        part = want[0][index] if tags.index('seq') < tags.index('d') else want[0][index].T
        near(part, by_loop(one, range(2, 7), 6, mode))
    for name in fl.backends():
        with fl.use_backend(name):
            for p, q in zip(run(), want): near(p, q, 1e-6)

def test_compiled_for_f32_only(every_size):
    x = fl.randn('seq d', (4, 8), seed=1)
    if fl.current_backend() == 'pythran':
        before = kernels.stats['rope_half']
        x.rope('seq', 'd', 1e4)
        assert kernels.stats['rope_half'] == before + 1
    assert x.to('f64').rope('seq', 'd', 1e4).dtype == 'f64'
    for half in ('f16', 'bf16'):
        same(x.to(half).rope('seq', 'd', 1e4).to('f32').data,
             x.to(half).to('f32').rope('seq', 'd', 1e4).to(half).to('f32').data)

def test_gradient_keeps_nothing():
    import gc, weakref
    x = fl.param(np.ones((64, 64), 'f4'), 'seq d')
    y = x * 2
    z, seen = y.rope('seq', 'd', 1e4), weakref.ref(y.data)
    del y
    gc.collect()
    assert seen() is None
    z.sum().backward()


# tables

@pytest.mark.parametrize('origin', [0, -5, 7, 2**25])
@pytest.mark.parametrize('more', [{}, dict(theta=5e5), dict(freq_factors=[1., 1.5, 8., 3.]),
                                  dict(inv_freqs=[1., .3, .02, 1e-5]), dict(inverse=True)],
                         ids=str)
def test_range_and_array_bit_for_bit(origin, more):
    a = rope_table(AxisRange(6, origin), 8, **more)
    for positions in (list(range(origin, origin + 6)),
                      np.arange(origin, origin + 6, dtype='i4'),
                      fl.Tensor(np.arange(origin, origin + 6), 'seq')):
        b = rope_table(positions, 8, **more)
        assert a.cos.data.tobytes() == b.cos.data.tobytes()
        assert a.sin.data.tobytes() == b.sin.data.tobytes() and a.theta == b.theta

def test_arithmetic():
    "Positions, wavelengths and factors are rounded to f32 before each of the two divisions; with inv_freqs nothing is."
    p, i, f4 = np.array([3, 100_003, 2**24 + 1]), np.arange(3), np.float32
    factors = np.array([1.1, 3.3, 7.7])
    wave = (500. ** (2 * i / 6)).astype('f4')
    angle = np.array([[f4(f4(f4(q) / w) / f4(f)) for w, f in zip(wave, factors)] for q in p])
    t = rope_table(p, 6, 500., freq_factors=factors)
    near(t.cos.data, np.cos(angle.astype('f8')), 1e-7)
    folded = rope_table(p, 6, 500.)
    assert not np.array_equal(rope_table(p, 6, 500., freq_factors=np.ones(3)).cos.data, t.cos.data)
    assert np.array_equal(rope_table(p, 6, 500., freq_factors=np.ones(3)).cos.data, folded.cos.data)
    exact = rope_table(p, inv_freqs=500. ** (-2 * i / 6))
    same(exact.sin.data, np.sin(p[:, None] * 500. ** (-2 * i / 6)).astype('f4'))
    assert exact.dim == 6 and exact.theta == 0 and exact.cos.dtype == 'f32' and exact.cos.tags == ('position', 'pair')

def test_inverse_negates_the_sine():
    a, b = rope_table([1, 2], 4), rope_table([1, 2], 4, inverse=True)
    same(a.sin.data, -b.sin.data)
    same(a.cos.data, b.cos.data)

def test_filled_by_hand():
    cos, sin = np.array([[0.], [1.]]), np.array([[1.], [0.]])
    t = RopeTable([0, 1], 0, 2, sin, cos)
    cos[0] = 5.
    assert fl.Tensor([[1., 0.], [1., 0.]], 'seq d').rope('seq', 'd', t).tolist() == [[0, 1], [1, 0]]
    assert t.theta == 0 and 'theta' not in repr(t)
    with pytest.raises(ShapeMismatch): RopeTable([0, 1], 0, 4, sin, cos)
    with pytest.raises(InvalidShape): RopeTable([0, 1], 0, 3, sin, cos)
    with pytest.raises(InvalidShape): RopeTable([0, 1], 0, 0, sin, cos)
    with pytest.raises(ValueError): t.cos.data[0, 0] = 1

def test_rows_of_a_table():
    x = fl.randn('seq d', (3, 4), seed=1)
    whole, list_ = rope_table(AxisRange(20, -4), 4), rope_table([9, -2, 4, 7], 4)
    for at in ([7, -2, 4], AxisRange(3, 5), [9, 9, 9]):
        same(x.rope('seq', 'd', whole, positions=at).data, x.rope('seq', 'd', 1e4, positions=at).data)
    same(x.rope('seq', 'd', list_, positions=[7, 9, -2]).data, x.rope('seq', 'd', 1e4, positions=[7, 9, -2]).data)
    for table, at in ((whole, [0, 1, 16]), (whole, [-5, 0, 0]), (list_, [9, 4, 5]), (list_, [9, 4, 10])):
        with pytest.raises(IndexOutOfBounds): x.rope('seq', 'd', table, positions=at)
    same(x.narrow('seq', 1, 1).rope('seq', 'd', 1e4, positions=AxisRange(1, 1)).data, x.rope('seq', 'd', 1e4).data[1:2])

@pytest.mark.parametrize(
    'call,kind', [
        (lambda x: x.rope('seq', 'd', 1e4, positions=[.5, 1.]), DTypeError),
        (lambda x: x.rope('seq', 'd', 1e4, positions=[True, False]), DTypeError),
        (lambda x: x.rope('seq', 'd', 1e4, positions=3), InvalidShape),
        (lambda x: x.rope('seq', 'd', 1e4, positions=[[0, 1]]), InvalidShape),
        (lambda x: x.rope('seq', 'd', 1e4, positions=[]), InvalidShape),
        (lambda x: x.rope('seq', 'd', 1e4, positions=AxisRange(0)), InvalidDataLength),
        (lambda x: x.rope('seq', 'd', True), OptionError),
        (lambda x: x.rope('seq', 'd', float('nan')), OptionError),
        (lambda x: x.rope('seq', 'd', float('inf')), OptionError),
        (lambda x: x.rope('seq', 'd', 1e4, positions=AxisRange(3)), InvalidDataLength),
        (lambda x: x.rope('seq', 'd', rope_table([0], 4), positions=[0]), InvalidDataLength),
        (lambda x: x.rope('seq', 'd', 1e4, 'half '), OptionError),
        (lambda x: x.rope('seq', 'd', 1e4, theta=3), OptionError),
        (lambda x: rope_table([0], 0), InvalidShape),
        (lambda x: rope_table([0], 4, freq_factors=[[1., 1.]]), ShapeMismatch),
        (lambda x: rope_table([0], 4, freq_factors=[1., float('nan')]), OptionError),
        (lambda x: rope_table([0], 4, 5., inv_freqs=[1., 1.]), OptionError),
        (lambda x: rope_table(AxisRange(0), 4), InvalidShape),
        (lambda x: yarn_inv_freqs(4, 1., 2., 8), OptionError)])
def test_refusals(call, kind):
    with pytest.raises(kind, match='help: '): call(fl.ones('seq d', (2, 4)))


@pytest.mark.parametrize(
    'call,head,help', [
        (lambda x: AxisRange(-1), 'AxisRange: length is -1', 'whole numbers'),
        (lambda x: AxisRange(2, 'a'), "AxisRange: origin is 'a'", 'whole numbers'),
        (lambda x: AxisRange(6, 10).narrowed(4, 3), 'narrowed: 4 to 7', 'count from 0'),
        (lambda x: AxisRange(4).write_into([0]), 'write_into: 1 places', 'np.empty(4'),
        (lambda x: RopeTable([0], 0, 3, [[0.]], [[1.]]),
         'RopeTable: 3 features do not form pairs',
         'even'),
        (lambda x: RopeTable(2, 0, 2, [[0.]], [[1.]]),
         'RopeTable: positions of shape ()',
         'AxisRange(2)'),
        (lambda x: RopeTable([0], 0, 4, [[0.]], [[1.]]),
         'RopeTable: sin has the shape (1, 1)',
         '(1, 2)'),
        (lambda x: rope_table(8, 4), 'rope_table: positions of shape ()', '[8] is one'),
        (lambda x: rope_table([0]), 'rope_table without dim', 'features'),
        (lambda x: rope_table([0], 4, 0.), 'rope_table: theta is 0.0', 'above 0'),
        (lambda x: rope_table([0], 4, inv_freqs=[1.]),
         'rope_table: inv_freqs of shape (1,)',
         '2 of them'),
        (lambda x: yarn_inv_freqs(4, 1.), 'yarn_inv_freqs: theta is 1.0', 'above 1'),
        (lambda x: x.rope('d', 'd', 1e4), "rope: position and feature are both 'd'", 'two axes'),
        (lambda x: x.rope('seq', 'd', -1.), 'rope: source is -1.0', 'theta'),
        (lambda x: x.rope('seq', 'd', rope_table([0, 1], 6)),
         "rope over 'd': 6 of 4 features",
         'at most 4'),
        (lambda x: x.rope('seq', ['d'], 1e4, positions=[0]),
         "rope along 'seq': 1 positions for 2 entries",
         'AxisRange(2, origin)'),
        (lambda x: x.rope('seq', 'd', rope_table([0, 1, 2], 4)),
         "rope along 'seq': 3 positions for 2 entries",
         'larger table'),
        (lambda x: x.rope('seq', 'd', rope_table([0, 1], 4), positions=[2, 0]),
         'rope: position 2 is not in the table',
         'rope_table(')])
def test_refusals_say_who_and_what(call, head, help):
    "A class and its methods speak with their own names, inside an operation with the operation's."
    with pytest.raises(FucinaError) as e: call(fl.ones('seq d', (2, 4)))
    assert str(e.value).startswith(head) and help in str(e.value).split('help: ')[1]


# ranges

def test_axis_range():
    r = AxisRange(4, 10)
    assert r == AxisRange(4, origin=10) and len({r, AxisRange(4, 10)}) == 1 and AxisRange(4).origin == 0
    assert (r.at(0), r.at(7), r.end(), len(r)) == (10, 17, 14, 4)
    assert r.narrowed(1, 2) == AxisRange(2, 11) and r.shifted(-3) == AxisRange(4, 7) and r.rebased(0) == AxisRange(4)
    assert [r.contains(p) for p in (9, 10, 13, 14)] == [False, True, True, False]
    out = np.zeros(4, 'i4')
    assert r.write_into(out) is out and out.tolist() == [10, 11, 12, 13] and r.positions().dtype == np.int64
    with pytest.raises(InvalidDataLength, match='help: '): r.write_into(np.zeros(5))
    for start, n in ((-1, 2), (3, 2)):
        with pytest.raises(IndexOutOfBounds, match='help: '): r.narrowed(start, n)
    with pytest.raises(InvalidShape): AxisRange(-1)
    with pytest.raises(InvalidShape): AxisRange(2.5)

@given(st.integers(-5, 5), st.integers(-5, 5), st.integers(1, 6), st.integers(1, 6),
       st.one_of(st.none(), st.integers(-6, 6)), st.one_of(st.none(), st.integers(-6, 6)))
def test_band_with_origins(p, c, q, k, lower, upper):
    "The rule (lower - o, upper + o): the mask of two ranges is the mask of their positions."
    o = p - c
    mask = fl.band_mask('q k', (q, k), lower=None if lower is None else lower - o,
                        upper=None if upper is None else upper + o).data
    i, j = AxisRange(q, p).positions()[:, None], AxisRange(k, c).positions()
    same(mask, ((lower is None) | (i - j <= (lower or 0))) & ((upper is None) | (j - i <= (upper or 0))))

def test_causal_queries_in_a_cache():
    assert fl.band_mask('q k', (2, 6), lower=None, upper=4).data.sum(1).tolist() == [5, 6]


# YaRN

def test_yarn():
    plain = 1e4 ** (-2 * np.arange(32) / 64)
    for same_as in (yarn_inv_freqs(64),
                    yarn_inv_freqs(64, factor=1., original_context=4096),
                    yarn_inv_freqs(64, factor=.5, original_context=4096),
                    yarn_inv_freqs(64, factor=4.)):
        same(same_as.data, plain)
    y = yarn_inv_freqs(64, 1e4, 4., 4096)
    turns = 4096 * plain / (2 * np.pi)
    assert y.dtype == 'f64' and y.tags == ('pair',)
    same(y.data[turns > 40], plain[turns > 40])
    near(y.data[turns < .9], plain[turns < .9] / 4, 1e-12)
    assert (np.diff(plain / y.data) >= -1e-12).all()
    assert np.isfinite(yarn_inv_freqs(2, 1e4, 4., 1).data).all()      # low above high


# after a norm

@pytest.mark.parametrize('backend', fl.backends())
def test_rms_norm_with_rope(backend, every_size):
    table = rope_table(AxisRange(5, 3), 8)
    def run(f):
        x, w = fl.param(fl.randn('seq head d', (5, 3, 8), seed=1)), fl.param(np.linspace(.5, 2, 8, dtype='f4'), 'd')
        y = f(x, w)
        y.backward(np.cos(np.arange(120, dtype='f4')).reshape(5, 3, 8))
        return y.data, x.grad.data, w.grad.data
    with fl.use_backend(backend):
        for a, b in zip(run(lambda x, w: x.rms_norm('d', weight=w, rope=('seq', table))),
                        run(lambda x, w: x.rms_norm('d', weight=w).rope('seq', 'd', table))):
            near(a, b, 2e-6)
        x = fl.randn('seq head d', (5, 3, 8), seed=2)
        near(x.rms_norm('d', eps=.1, rope=('seq', table)).data,
             x.rms_norm('d', eps=.1).rope('seq', 'd', table).data, 2e-6)
        near(x.to('f16').rms_norm('d', rope=('seq', table)).to('f32').data,
             x.rms_norm('d', rope=('seq', table)).data, 5e-3)
        assert x.to('f16').rms_norm('d', rope=('seq', table)).dtype == 'f16'

@pytest.mark.parametrize('rope,kind', [(lambda: ('seq', rope_table([0, 1], 2)), ShapeMismatch),
                                       (lambda: ('seq', rope_table([0], 4)), ShapeMismatch),
                                       (lambda: ('time', rope_table([0, 1], 4)), TagError),
                                       (lambda: ('seq',), OptionError),
                                       (lambda: rope_table([0, 1], 4), OptionError)])
def test_rms_norm_refuses(rope, kind):
    with pytest.raises(kind, match='help: '): fl.ones('seq d', (2, 4)).rms_norm('d', rope=rope())
