"""Quantised blocks: read to the bit, written well, cut and joined by name, multiplied by in whole numbers, packed."""
import copy, pickle
from pathlib import Path
import numpy as np
import pytest
from hypothesis import given, strategies as st
import fucinalib as fl
from fucinalib import BlockTensor, Tensor, block_formats, kernels, param
from fucinalib import block_arithmetic as kb

GOLDEN = np.load(Path(__file__).parent / 'data/blocks.npz')
READ = [k.split('.')[0] for k in GOLDEN if k.endswith('.blocks')]
WRITTEN = [n for n, f in block_formats.items() if f.write]
WEIGHTS = [n for n, f in block_formats.items() if f.activation]
PLAIN = [n for n in WRITTEN if block_formats[n].activation]
SIZES = dict(q1_0=(128, 18), q2_0=(128, 34), q4_0=(32, 18), q4_1=(32, 20), q5_0=(32, 22),
             q5_1=(32, 24), q8_0=(32, 34), q8_1=(32, 36), q2_k=(256, 84), q3_k=(256, 110),
             q4_k=(256, 144), q5_k=(256, 176),
             q6_k=(256, 210), q8_k=(256, 292), iq1_s=(256, 50), iq1_m=(256, 56), iq2_xxs=(256, 66),
             iq2_xs=(256, 74), iq2_s=(256, 82), iq3_xxs=(256, 98), iq3_s=(256, 110), iq4_nl=(32, 18),
             iq4_xs=(256, 136), tq1_0=(256, 54), tq2_0=(256, 66), mxfp4=(32, 17), nvfp4=(64, 36))


def numbers(*shape, seed=0, size=.1): return (np.random.default_rng(seed).standard_normal(shape) * size).astype('f4')
def tensor(tags, *shape, seed=0, size=.1): return Tensor(numbers(*shape, seed=seed, size=size), tags)

def some(name, n=4, k=512, seed=0):
    "A weight `out in` in any format: written where there is a writer, else blocks of ordinary scale."
    f = block_formats[name]
    if f.write: return tensor('out in', n, k, seed=seed).to(name)
    b = GOLDEN[f'{name}.blocks'] if f'{name}.blocks' in GOLDEN else half_scales(f, 6, seed)
    if name == 'mxfp4': b = b.copy(); b[:, 0] = 120 + b[:, 0] % 8
    return BlockTensor(np.resize(b, (n, k // f.elems, f.bytes)), name, 'out in')

def half_scales(f, n, seed=0):
    "Random blocks that begin with an f16 scale."
    rng = np.random.default_rng(seed)
    b = rng.integers(0, 256, (n, f.bytes)).astype('u1')
    b[:, :2] = rng.uniform(.01, 1, (n, 1)).astype('<f2').view('u1')
    return b


# reading

def test_table():
    assert {n: (f.elems, f.bytes) for n, f in block_formats.items()} == SIZES and len(SIZES) == 27
    assert set(WRITTEN) == set('q2_0 q4_0 q4_1 q5_0 q5_1 q8_0 q8_1 q4_k q5_k q6_k q8_k tq2_0'.split())
    assert (
        {n: f.activation for n, f in block_formats.items() if f.elems == 256 and f.activation != 'q8_k'}
        == {'q8_k': None})
    assert repr(block_formats).count('\n') == 27 and '<table>' in block_formats._repr_html_()
    for f in block_formats.values(): assert f.doc and len(f._repr_html_()) < 6000


@pytest.mark.parametrize('name', READ)
def test_reads_what_gguf_reads(name):
    "Equal to the last bit, also on negative scales, a scale of 0, and in any memory layout."
    b, want = GOLDEN[f'{name}.blocks'], GOLDEN[f'{name}.floats']
    for backend in fl.backends():
        with fl.use_backend(backend):
            for blocks in (b, np.asfortranarray(b), np.repeat(b, 2, axis=0)[::2]):
                np.testing.assert_array_equal(block_formats[name].floats(blocks), want)
                np.testing.assert_array_equal(kernels.table[f'floats_{name}'].run(np.ascontiguousarray(blocks)), want)


@pytest.mark.torch
@pytest.mark.parametrize('name', READ)
def test_reads_what_gguf_reads_live(name):
    gguf = pytest.importorskip('gguf')
    f, rng = block_formats[name], np.random.default_rng()
    b = rng.integers(0, 256, (2000, f.bytes)).astype('u1')
    with np.errstate(all='ignore'): want = gguf.dequantize(b, gguf.GGMLQuantizationType[name.upper()]).reshape(2000, -1)
    with fl.use_backend('numpy'): np.testing.assert_array_equal(f.floats(b), want)


def slow(name, b):
    "One block, one number at a time, from the definition; for the formats gguf does not read."
    half = lambda at: float(b[at:at + 2].view('<f2')[0])
    byte = lambda at: int(b[at:at + 1].view('i1')[0])
    if name == 'q8_1': return [half(0) * byte(4 + i) for i in range(32)]
    if name == 'q8_k': return [float(b[:4].view('<f4')[0]) * byte(4 + i) for i in range(256)]
    if name == 'q1_0': return [half(0) if int(b[2 + i // 8]) >> i % 8 & 1 else -half(0) for i in range(128)]
    if name == 'q2_0': return [half(0) * ((int(b[2 + i // 4]) >> 2 * (i % 4) & 3) - 1) for i in range(128)]


@pytest.mark.parametrize('name', ['q8_1', 'q8_k', 'q1_0', 'q2_0'])
def test_reads_by_definition(name):
    b = half_scales(block_formats[name], 5)
    if name == 'q8_k': b[:, :4] = np.linspace(-1, 1, 5, dtype='f4')[:, None].view('u1')
    np.testing.assert_array_equal(block_formats[name].floats(b), np.array([slow(name, row) for row in b], 'f4'))


@pytest.mark.parametrize('bits,run', [(4, 16), (4, 32), (4, 64), (4, 1), (2, 32), (2, 1), (1, 1), (1, 32)])
def test_codes_and_put(bits, run):
    b = np.random.default_rng(0).integers(0, 256, (3, 64)).astype('u1')
    c = kb.codes(b, bits, run)
    assert c.shape == (3, 64 * 8 // bits) and c.min() == 0 and c.max() == 2**bits - 1
    np.testing.assert_array_equal(kb.put_codes(c, bits, run), b)


# writing

@pytest.mark.parametrize('name', [k.split('.')[0] for k in GOLDEN if k.endswith('.written')])
def test_writes_what_gguf_writes(name):
    f, x = block_formats[name], GOLDEN['numbers']
    np.testing.assert_array_equal(f.write(x.reshape(-1, f.elems)).reshape(len(x), -1), GOLDEN[f'{name}.written'])


# relative error on normal numbers: what this method reaches, with a little room
ERRORS = dict(q2_0=.8, q4_0=.09, q4_1=.08, q5_0=.045, q5_1=.04, q8_0=.0056, q8_1=.0056, q4_k=.074,
              q5_k=.038, q6_k=.018, q8_k=.0072, tq2_0=.83)

@pytest.mark.parametrize('name', WRITTEN)
def test_round_trip(name):
    x = tensor('row d', 64, 512, size=1.)
    y = x.to(name).to('f32')
    assert y.tags == x.tags and np.linalg.norm(y.data - x.data) / np.linalg.norm(x.data) < ERRORS[name]
    again = y.to(name).to('f32') if name not in ('q4_k', 'q5_k', 'q6_k') else y
    np.testing.assert_allclose(again, y, atol=2e-3)
    np.testing.assert_array_equal(Tensor(np.zeros((2, 256), 'f4'), 'row d').to(name).to('f32'), 0)


@pytest.mark.parametrize('name', WRITTEN)
@pytest.mark.parametrize('scale', [.1, 1., 3e4, -2.5])
def test_round_trip_bounds(name, scale):
    "No number is off by more than a step; a constant block is exact to the scale's precision."
    x = numbers(20, 256, size=1.) * np.float32(abs(scale) / 4)
    x[0], x[1] = scale, np.linspace(0, scale, 256)
    if name == 'q8_1' and scale == 3e4:      # the sum of such a block is beyond f16, that of a twentieth is not
        with pytest.raises(fl.NonFiniteValue): Tensor(x, 'row d').to(name)
        x, scale = x / 20, scale / 20
    y = Tensor(x, 'row d').to(name).to('f32').data
    steps = dict(q2_0=1, tq2_0=1, q4_0=15, q4_1=15, q4_k=15, q5_0=31, q5_1=31, q5_k=31, q6_k=60).get(name, 250)
    assert np.abs(y - x).max() <= 1.3 * np.ptp(np.append(x, 0)) / steps
    np.testing.assert_allclose(y[0], x[0], rtol=2e-2 if name in ('q4_k', 'q5_k', 'q6_k') else 2e-3)


@pytest.mark.parametrize('name', ['q4_k', 'q6_k'])
def test_k_formats_beat_their_parts(name):
    "The search is worth it: better than the plain format with as many bits a code."
    x = numbers(64, 256, size=1.)
    miss = lambda n: np.linalg.norm(
        block_formats[n].floats(
            block_formats[n].write(x.reshape(-1, block_formats[n].elems))).reshape(x.shape) - x)
    assert miss(name) < .9 * miss({'q4_k': 'q4_0', 'q6_k': 'q5_0'}[name])


def test_sums_for_products():
    "q8_1 carries the sum of its numbers, q8_k the sums of its codes."
    x = numbers(3, 256, size=1.)
    b = block_formats['q8_1'].write(x.reshape(-1, 32))
    np.testing.assert_allclose(b[:, 2:4].copy().view('<f2')[:, 0], block_formats['q8_1'].floats(b).sum(1), atol=.02)
    b = block_formats['q8_k'].write(x)
    np.testing.assert_array_equal(b[:, 260:].copy().view('<i2'), b[:, 4:260].view('i1').reshape(3, 16, 16).sum(2))


@pytest.mark.parametrize('name', WRITTEN)
def test_refuses_to_write(name):
    for bad in (np.nan, np.inf, -np.inf):
        x = numbers(2, 256)
        x[1, 7] = bad
        with pytest.raises(fl.NonFiniteValue, match='NaN or inf'): Tensor(x, 'row d').to(name)
    for call, kind in ((lambda: Tensor(numbers(2, 100), 'row d').to(name), fl.InvalidShape),
                       (lambda: Tensor(np.ones((2, 256), 'i8'), 'row d').to(name), fl.DTypeError),
                       (lambda: param(numbers(2, 256), 'row d').to(name), fl.GradientCastUnsupported),
                       (lambda: Tensor(1.).to(name), fl.InvalidShape)):
        with pytest.raises(kind, match='help:'): call()
    with fl.no_grad(): assert param(numbers(2, 256), 'row d').to(name).dtype == name
    if name != 'q8_k':
        with pytest.raises(fl.NonFiniteValue, match='range of f16'):
            Tensor(np.full((1, 256), 3e37, 'f4'), 'row d').to(name)


def test_only_read():
    with pytest.raises(fl.DTypeError, match='can be read but not written'): tensor('row d', 2, 256).to('iq2_xs')
    with pytest.raises(fl.DTypeError, match='no single number'): Tensor([1.], 'd', dtype='q4_0')
    with pytest.raises(fl.DTypeError, match="did you mean 'q4_k'"): tensor('row d', 2, 256).to('q4k')


@pytest.mark.parametrize('dtype', ['f16', 'bf16', 'f64'])
def test_writes_other_reals(dtype):
    x = tensor('row d', 2, 256).to(dtype)
    np.testing.assert_array_equal(x.to('q8_0').blocks, x.to('f32').to('q8_0').blocks)


@pytest.mark.parametrize('lay', [np.asfortranarray, lambda a: np.repeat(a, 2, 1)[:, ::2],
                                 lambda a: a[::-1].copy()[::-1], lambda a: a.T.copy().T])
def test_writes_from_any_layout(lay):
    x = numbers(4, 256)
    np.testing.assert_array_equal(Tensor(lay(x), 'row d').to('q4_k').blocks, Tensor(x, 'row d').to('q4_k').blocks)


# the tensor

def test_construction():
    b = some('q4_0', 3, 64).blocks
    for q in (BlockTensor(b, 'q4_0', 'out in'),
              BlockTensor(b.reshape(3, -1), 'q4_0', 'out in'),
              BlockTensor(b.tobytes(), 'q4_0', 'out in', (3, 64)),
              BlockTensor(b.view('i1'), 'q4_0', 'out in')):
        assert q.tags == ('out', 'in') and q.shape == (3, 64) and q.sizes == {'out': 3, 'in': 64}
        assert q.ndim == 2 and q.dtype == 'q4_0' and q.numel == 192 and q.nbytes == 108
        np.testing.assert_array_equal(q.blocks, b)
    assert np.shares_memory(BlockTensor(b, 'q4_0', 'out in').blocks, b)
    assert not q.requires_grad and q.node is None and q.size('in') == 64 and q.axis('in') == 1
    still = b.copy(); still.flags.writeable = False
    assert BlockTensor(still, 'q4_0', 'out in').to('f32').shape == (3, 64)


@pytest.mark.parametrize(
    'make,kind', [
        (lambda b: BlockTensor(b, 'q4_0', 'out'), fl.InvalidShape),
        (lambda b: BlockTensor(b, 'q5_0', 'out in'), fl.InvalidShape),
        (lambda b: BlockTensor(b.reshape(-1), 'q4_0', 'out in'), fl.InvalidShape),
        (lambda b: BlockTensor(b, 'f32', 'out in'), fl.DTypeError),
        (lambda b: BlockTensor(b, 'q4', 'out in'), fl.DTypeError),
        (lambda b: BlockTensor(b.astype('f4'), 'q4_0', 'out in'), fl.DTypeError),
        (lambda b: BlockTensor(b.tobytes(), 'q4_0', 'out in', (3, 96)), fl.InvalidDataLength),
        (lambda b: BlockTensor(b.tobytes(), 'q4_0', 'out in', (3, 40)), fl.InvalidShape),
        (lambda b: BlockTensor(b.tobytes(), 'q4_0', 'out in', (192,)), fl.InvalidShape),
        (lambda b: BlockTensor(b.tobytes(), 'q4_0', 'out in', (0, 64)), fl.InvalidShape),
        (lambda b: BlockTensor(b, 'q4_0', 'out out'), fl.TagError)])
def test_construction_faults(make, kind):
    with pytest.raises(kind, match='help:'): make(some('q4_0', 3, 64).blocks)


def test_wide_shapes():
    "Three axes, one axis; blocks lie along the last."
    x = tensor('expert out in', 2, 3, 64)
    q = x.to('q8_0')
    assert q.shape == (2, 3, 64) and q.blocks.shape == (2, 3, 2, 34)
    np.testing.assert_allclose(q.to('f32'), x, atol=2e-3)
    np.testing.assert_array_equal(q.select(expert=1).to('f32'), q.to('f32').data[1])
    np.testing.assert_array_equal(q.select(expert=-1, out=0).to('f32'), q.to('f32').data[1, 0])
    assert tensor('d', 64).to('q8_0').shape == (64,)


def test_index_select():
    q = some('q6_k', 7, 256)
    want = q.to('f32').data
    for at in ([3, 0, 3], np.array([6]), Tensor([1, 2], 'i'), range(7)):
        np.testing.assert_array_equal(q.index_select('out', at), want[np.asarray(getattr(at, 'data', at))])
    assert q.index_select('out', [1], out='token').tags == ('token', 'in')
    for call, kind in ((lambda: q.index_select('in', [0]), fl.TagError),
                       (lambda: q.index_select('out', [7]), fl.IndexOutOfBounds),
                       (lambda: q.index_select('out', [-1]), fl.IndexOutOfBounds),
                       (lambda: q.index_select('out', []), fl.InvalidShape),
                       (lambda: q.index_select('out', [.5]), fl.DTypeError),
                       (lambda: q.index_select('out', [[0]]), fl.InvalidShape),
                       (lambda: q.index_select('row', [0]), fl.TagError),
                       (lambda: q.index_select('out', [0], out='in'), fl.TagError),
                       (lambda: tensor('e out in', 2, 2, 256).to('q6_k').index_select('e', [0]),
                        fl.TagError)):
        with pytest.raises(kind, match='help:'): call()


def test_views():
    q = some('q4_1', 5, 64)
    n, r = q.narrow('out', 1, 3), q.rename(out='row')
    assert np.shares_memory(n.blocks, q.blocks) and n.shape == (3, 64) and r.tags == ('row', 'in')
    assert q.rename('a b').tags == ('a', 'b')
    np.testing.assert_array_equal(n.to('f32'), q.to('f32').data[1:4])
    for call, kind in ((lambda: q.narrow('in', 0, 32), fl.TagError),
                       (lambda: q.narrow('out', 3, 3), fl.IndexOutOfBounds),
                       (lambda: q.narrow('out', 0, 0), fl.IndexOutOfBounds),
                       (lambda: q.select(out=5), fl.IndexOutOfBounds),
                       (lambda: q.select(row=0), fl.TagError),
                       (lambda: q.rename(row='a'), fl.TagError)):
        with pytest.raises(kind, match='help:'): call()


def test_concat():
    a, b = some('q4_0', 3, 64), some('q4_0', 2, 64, seed=1)
    q = BlockTensor.concat([a, b], 'out')
    assert q.shape == (5, 64) and not np.shares_memory(q.blocks, a.blocks)
    np.testing.assert_array_equal(q.to('f32'), np.concatenate([a.to('f32').data, b.to('f32').data]))
    for parts, tag, kind in (([a, some('q4_1', 2, 64)], 'out', fl.DTypeError),
                             ([a, b], 'in', fl.TagError),
                             ([a, some('q4_0', 2, 96)], 'out', fl.ShapeMismatch),
                             ([a, b.rename('row in')], 'out', fl.TagError),
                             ([], 'out', fl.EmptySelection)):
        with pytest.raises(kind, match='help:'): BlockTensor.concat(parts, tag)


def test_no_arithmetic():
    "Every operation of the registry is refused by name or is one of the few that blocks have."
    q, x = some('q8_0', 4, 64), tensor('out in', 4, 64)
    for o in fl.registry.values():
        if o.module.startswith('fucinalib') and o.attach and not hasattr(BlockTensor, o.name):
            with pytest.raises(fl.DTypeError, match=f'{o.name} of q8_0 blocks'): getattr(q, o.name)
    for call in (lambda: q + x, lambda: x * q, lambda: 2 - q, lambda: -q, lambda: q / 2,
                 lambda: q < x, lambda: q @ x, lambda: np.asarray(q), lambda: len(q),
                 lambda: list(q), lambda: x.add(q), lambda: x.einsum(q, 'in'),
                 lambda: q.to('f16'), lambda: q.to('q4_0'), lambda: q.data):
        with pytest.raises(fl.FucinaError, match='help:'): call()
    with pytest.raises(fl.UnknownName, match='did you mean narrow'): q.narow


def test_shows_itself():
    big = BlockTensor(np.broadcast_to(some('q4_k', 1, 512).blocks, (1 << 20, 2, 144)), 'q4_k', 'word feature')
    for q in (some('q4_k'), big, some('iq1_m')):
        assert len(repr(q)) < 200 and 'bits' in repr(q) and len(q._repr_html_()) < 2000
    assert '~' in repr(big)


def test_copies():
    q = some('q5_k')
    for twin in (copy.deepcopy(q), copy.copy(q), pickle.loads(pickle.dumps(q))):
        assert twin.dtype is q.dtype and twin.tags == q.tags and twin.activation == q.activation
        np.testing.assert_array_equal(twin.blocks, q.blocks)


# the product

def definition(x, q):
    "Round x as the format has it, unpack the weight, multiply in f64."
    g = 256 if q.dtype.activation == 'q8_k' else 32
    b = x.reshape(-1, g)
    rounded = block_formats['q8_k' if g == 256 else 'q8_0'].floats(
        block_formats['q8_k' if g == 256 else 'q8_0'].write(b)).reshape(x.shape)
    return rounded.astype('f8') @ q.to('f32').data.astype('f8').T


@pytest.mark.parametrize('name', WEIGHTS)
@pytest.mark.parametrize('rows', [1, 3, 9])
def test_product(name, rows):
    q, x = some(name, 7, 512), numbers(rows, 512, seed=3, size=1.)
    want = definition(x, q)
    for backend in fl.backends():
        with fl.use_backend(backend):
            y = Tensor(x, 'row in').dot(q, 'in')
            assert y.tags == ('row', 'out') and y.dtype == 'f32'
            np.testing.assert_allclose(y, want, atol=3e-6 * np.abs(want).max())
            np.testing.assert_array_equal(Tensor(x, 'row in') @ q, y)


@pytest.mark.parametrize('name', [n for n in WEIGHTS if block_formats[n].dot])
def test_row_by_row(name):
    "What a kernel says of a row of x does not depend on the rows beside it, nor on those of the weight."
    if f'dot_{name}' not in fl.backends().get('pythran', ()): pytest.skip('no compiled kernel')
    q, x = some(name, 21, 768), tensor('row in', 5, 768, seed=11, size=1.)
    with fl.use_backend('pythran'):
        y = x.dot(q, 'in').data
        for i in range(5): np.testing.assert_array_equal(x.narrow('row', i, 1).dot(q, 'in').data[0], y[i])
        np.testing.assert_array_equal(x.dot(q.narrow('out', 3, 7), 'in').data, y[:, 3:10])


def test_rounding_x_is_what_differs():
    q, x = some('q6_k', 32, 512), tensor('row in', 4, 512, size=1.)
    exact = x.dot(q.to('f32'), 'in').data
    off = lambda y: np.linalg.norm(y.data - exact) / np.linalg.norm(exact)
    assert 1e-4 < off(x.dot(q, 'in')) < .02 and off(x.dot(q.with_activation('f32'), 'in')) < 1e-6
    np.testing.assert_array_equal(x.dot(q.with_activation('f32').with_activation('q8'), 'in'), x.dot(q, 'in'))
    with pytest.raises(fl.OptionError, match='help:'): q.with_activation('f16')


@pytest.mark.parametrize('name', ['q8_0', 'q4_1', 'q4_k', 'iq4_nl'])
def test_axes_of_x(name):
    "Any axes, in any order and layout, also a single one."
    q, a = some(name, 5, 256), numbers(2, 256, 3, seed=4, size=1.)
    y = Tensor(a, 'b in t').dot(q, 'in')
    assert y.tags == ('b', 't', 'out') and y.shape == (2, 3, 5)
    flat = Tensor(np.ascontiguousarray(a.transpose(0, 2, 1)).reshape(6, 256), 'row in').dot(q, 'in').data.reshape(
        2, 3, 5)
    for x in (a, np.asfortranarray(a), np.repeat(a, 2, 1)[:, ::2], a[:, ::-1].copy()[:, ::-1]):
        np.testing.assert_allclose(Tensor(x, 'b in t').dot(q, 'in'), flat, atol=3e-6 * np.abs(flat).max())
    v = Tensor(a[0, :, 0], 'in').dot(q, 'in')
    assert v.tags == ('out',)
    np.testing.assert_allclose(v, flat[0, 0], atol=3e-6 * np.abs(flat).max())
    # widened, rounded once
    np.testing.assert_allclose(Tensor(a, 'b in t').to('f16').dot(q, 'in').to('f32'), flat,
                               atol=2e-2 * np.abs(flat).max())


@pytest.mark.parametrize('name', ['q8_0', 'q5_1', 'q4_k', 'iq3_s'])
def test_gradient_goes_through_the_unpacked_weight(name):
    q, a = some(name, 5, 256), numbers(2, 256, 3, seed=5, size=1.)
    x, z = param(a, 'b in t'), param(a, 'b in t')
    weights = numbers(2, 3, 5, seed=6, size=1.)
    x.dot(q, 'in').backward(weights)
    z.dot(q.to('f32'), 'in').backward(weights)
    np.testing.assert_allclose(x.grad, z.grad, atol=1e-5 * np.abs(z.grad.data).max())
    assert x.grad.tags == ('b', 'in', 't')
    y = param(a, 'b in t').dot(q, 'in').sum()
    assert y.graph() is not None


@pytest.mark.parametrize(
    'call,kind', [
        (lambda x, q: x.dot(q, 'out'), fl.TagError),
        (lambda x, q: x.dot(q, 'feat'), fl.TagError),
        (lambda x, q: x.dot(q, 'in', 'row'), fl.TagError),
        (lambda x, q: x.rename('out in').dot(q, 'in'), fl.TagError),
        (lambda x, q: x.rename('row feat').dot(q, 'in'), fl.TagError),
        (lambda x, q: x.narrow('in', 0, 256).dot(q, 'in'), fl.ShapeMismatch),
        (lambda x, q: x.to('f64').dot(q, 'in'), fl.DTypeError),
        (lambda x, q: x.dot(some('q8_1'), 'in'), fl.DTypeError),
        (lambda x, q: x.dot(some('q8_k'), 'in'), fl.DTypeError),
        (lambda x, q: x.dot(tensor('e out in', 2, 4, 512).to('q4_k'), 'in'), fl.TagError),
        (lambda x, q: x.dot(q, 'in', rms_norm=(1, 2)), fl.OptionError),
        (lambda x, q: x.rename('a b') @ q, fl.TagError)])
def test_product_faults(call, kind):
    with pytest.raises(kind, match='help:'): call(tensor('row in', 2, 512), some('q4_k'))


@pytest.mark.parametrize('name', ['q8_0', 'q4_k', 'iq4_nl'])
def test_not_a_number_stays_in_its_row(name):
    "NaN or inf in a row of x makes that row NaN, silently, whatever computes it; numbers far from 1 are fine."
    q, a = some(name, 5, 512), numbers(4, 512, seed=7, size=1.)
    a[1, 3], a[2, 300] = np.nan, np.inf
    a[3] *= 1e-30
    for backend in fl.backends():
        with fl.use_backend(backend), np.errstate(all='raise'):
            for rows in (4, 12):
                y = Tensor(np.resize(a, (rows, 512)), 'row in').dot(q, 'in').data
                assert np.isnan(y[1:3]).all() and np.isfinite(y[[0, 3]]).all() and np.abs(y[3]).max() > 0
                big = Tensor(np.resize(a[0] * np.float32(1e30), (rows, 512)), 'row in').dot(q, 'in').data
                np.testing.assert_allclose(big[0], y[0] * np.float32(1e30), atol=1e27 * np.abs(y[0]).max())


@given(st.integers(1, 9), st.integers(1, 7), st.integers(1, 4), st.sampled_from(PLAIN))
def test_few_and_many_rows_agree(rows, n, k, name):
    """Row by row, all together, or packed: one value, to two roundings or three of all that is
    added up, however much of it cancels."""
    q, x = some(name, n, 256 * k), tensor('row in', rows, 256 * k, seed=8, size=1.)
    many = Tensor(np.concatenate([x.data] * 9), 'row in').dot(q, 'in').data[:rows]
    off = 3e-7 * (np.abs(x.data) @ np.abs(q.to('f32').data).T)
    for y in (x.dot(q, 'in').data,
              x.dot(q.pack('i8x4'), 'in').data,
              np.concatenate([x.narrow('row', i, 1).dot(q, 'in').data for i in range(rows)])):
        assert (np.abs(y - many) <= off).all(), (np.abs(y - many) / off).max()


@pytest.mark.parametrize('name', [n for n in WEIGHTS if block_formats[n].dot])
@pytest.mark.parametrize('rows', [3, 200])
def test_threads_do_not_change_a_bit(name, rows):
    q, x = some(name, 301, 512), tensor('row in', rows, 512)
    y = []
    try:
        for n in (1, 3): kernels.set_num_threads(n); y.append(x.dot(q, 'in').numpy())
    finally: kernels.set_num_threads(kernels.threads.cores())
    np.testing.assert_array_equal(*y)


# packed

@pytest.mark.parametrize('name', WEIGHTS)
@pytest.mark.parametrize('rows', [1, 20])
def test_packed_equals_unpacked(name, rows):
    q, x = some(name, 6, 512), tensor('row in', rows, 512, seed=9, size=1.)
    p, y = q.pack('i8x4'), x.dot(q, 'in')
    assert (p.n, p.k, p.layout, p.tags) == (6, 512, 'i8x4', ('out', 'in')) and p.dequantize().tags == ('out', 'in')
    np.testing.assert_array_equal(p.dequantize(), q.to('f32'))
    for backend in fl.backends():
        with fl.use_backend(backend):
            z = x.dot(p, 'in', out='feature')
            assert z.tags == ('row', 'feature')
            np.testing.assert_allclose(z, y, atol=3e-6 * np.abs(y.data).max())


def test_layouts():
    assert {n: some(n).pack().layout for n in ('q8_0', 'q6_k', 'q5_k', 'q4_k')} == {
        'q8_0': 'q8_0x4', 'q6_k': 'q6_kx4', 'q5_k': 'q5_kx4', 'q4_k': 'q4_kx4'}
    q = some('q4_k')
    assert q.pack('q4_kx4').layout == 'q4_kx4' and fl.pack(q).layout == 'q4_kx4'
    assert repr(q.pack()) == 'PackedWeight out=4 in=512 q4_kx4, 10 bits a weight'
    for call, kind in ((lambda: some('q4_0').pack(), fl.DTypeError),
                       (lambda: some('q8_1').pack('i8x4'), fl.DTypeError),
                       (lambda: q.pack('q8_0x4'), fl.OptionError),
                       (lambda: q.pack('q4_kx2mmla'), fl.OptionError),
                       (lambda: tensor('e out in', 2, 2, 512).to('q4_k').pack(), fl.TagError),
                       (lambda: BlockTensor(q.blocks[::2], 'q4_k', 'out in').pack(),
                        fl.UnsupportedView)):
        with pytest.raises(kind, match='help:'): call()


def test_packed_is_a_snapshot():
    q, x = some('q8_0', 4, 64), tensor('row in', 2, 64)
    p = q.pack()
    y = x.dot(p, 'in').numpy()
    q.blocks[...] = 0
    np.testing.assert_array_equal(x.dot(p, 'in'), y)


def test_fused_norm():
    x, w = tensor('row in', 3, 512, size=2.), tensor('in', 512, seed=1, size=1.)
    for name in ('q8_0', 'q6_k', 'q5_k', 'q4_k'):
        p = some(name, 5).pack()
        fused = x.dot(p, 'in', rms_norm=(w, 1e-6))
        np.testing.assert_allclose(fused, x.rms_norm('in', eps=1e-6, weight=w).dot(p, 'in'),
                                   atol=2e-2 * np.abs(fused.data).max() / 127)
        assert fused.tags == ('row', 'out')
    for call, kind in (
        (lambda: x.dot(p, 'in', rms_norm=(w.rename('d'), 1e-6)), fl.TagError),
        (lambda: x.dot(p, 'in', rms_norm=(w.narrow('in', 0, 9), 1e-6)), fl.ShapeMismatch),
        (lambda: x.dot(p, 'in', rms_norm=(w.data, 1e-6)), fl.TagError),
        (lambda: x.dot(p, 'in', rms_norm=(param(w.data, 'in'), 1e-6)),
         fl.GradientQuantizedMatmulUnsupported),
        (lambda: x.dot(p, 'in', rms_norm=(w, 1e-6), gate='swiglu'), fl.ShapeMismatch),
        (lambda: x.dot(tensor('out in', 4, 512).pack(), 'in', rms_norm=(w, 1e-6)), fl.OptionError)):
        with pytest.raises(kind, match='help:'): call()


def test_fused_gates():
    both, up, gate = (tensor('row ff', 3, 1024, size=1.),
                      tensor('row ff', 3, 512, seed=1, size=1.),
                      tensor('row ff', 3, 512, seed=2, size=1.))
    p = some('q8_0', 5).rename('d ff').pack()
    np.testing.assert_array_equal(both.dot(p, 'ff', gate='swiglu'), both.split_gated('swiglu', 'ff').dot(p, 'ff'))
    np.testing.assert_array_equal(up.dot(p, 'ff', out='e', gate=('geglu_quant', gate)),
                                  up.mul(gate.gelu(approximate='quant')).dot(p, 'ff'))
    other = some('q4_k', 5).rename('d ff').pack()
    for call, kind in ((lambda: up.dot(p, 'ff', gate='swiglu'), fl.ShapeMismatch),
                       (lambda: up.dot(p, 'ff', gate='relu'), fl.OptionError),
                       (lambda: up.dot(other, 'ff', gate=('geglu_quant', gate)), fl.OptionError),
                       (lambda: up.dot(p, 'ff', gate=('geglu_quant', both)), fl.ShapeMismatch),
                       (lambda: up.dot(p, 'ff', gate=('geglu_quant', param(gate.data, 'row ff'))),
                        fl.GradientQuantizedMatmulUnsupported)):
        with pytest.raises(kind, match='help:'): call()


def test_packed_has_no_gradient():
    p, x = some('q8_0', 4, 64).pack(), param(numbers(2, 64), 'row in')
    with pytest.raises(fl.GradientQuantizedMatmulUnsupported, match='help:'): x.dot(p, 'in')
    with fl.no_grad(): assert x.dot(p, 'in').shape == (2, 4)
