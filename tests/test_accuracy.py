"""Sums, norms and casts are as exact as their number type allows, on each backend and on both
sides of the kernels' floors."""
import bisect
from fractions import Fraction
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import kernels

f4 = np.float32
BACKENDS = kernels.backends()


@pytest.fixture(params=['numpy', 'pythran'])
def either(request):
    "Each backend in turn, kernels from their floors on."
    if request.param not in BACKENDS: pytest.skip('kernels are not compiled here')
    with fl.use_backend(request.param): yield request.param


def full(value, *shape, tags='row col'): return fl.Tensor(np.full(shape, value, 'f4'), tags)
def leaf(value, *shape, tags='col'): return fl.param(np.full(shape, value, 'f4'), tags)


def slope(p, y, g=.1):
    "The gradient of p where g arrives at every number of y."
    y.backward(np.full(y.shape, g, 'f4'))
    return p.grad.numpy()


# sums down a tall axis: what the operation gives for n rows, and the right value of every number in
# it. A tenth n times, one by one in f32, is off by n / 1e8.

TENTH = float(f4(.1))
half = lambda n: fl.Tensor(np.tile(f4([1, -1]), (n, 1)), 'row col')       # rows that are normalised already

def layer(n, name):
    w, b = leaf(1, 2), leaf(0, 2)
    y = half(n).layer_norm('col', 1e-12, w, b)
    return slope(dict(weight=w, bias=b)[name], y) * ([1, -1] if name == 'weight' else 1)

def group(n, name):
    w, b = leaf(1, 2), leaf(0, 2)
    y = fl.Tensor(np.repeat(f4([1, -1]), n)[:, None].repeat(2, 1), 'row col').group_norm('col', 1, 1e-12, w, b)
    y.backward(np.where(y.numpy() > 0, f4(.1), f4(0)))
    return dict(weight=w, bias=b)[name].grad.numpy()

def snake(n, name):
    a, b = leaf(1, 2), leaf(1, 2)
    return slope(dict(alpha=a, inv_b=b)[name], full(1, n, 2).snake('col', a, b))

def affine(n, name):
    s, b = leaf(1, 2), leaf(1, 2)
    return slope(dict(scale=s, shift=b)[name], full(1, n, 2).channel_affine(s, b))

def conv(n, name):
    w, b = leaf(1, 2, 1, 1, 1, tags='out kh kw c'), leaf(0, 2, tags='out')
    return slope(dict(weight=w, bias=b)[name], full(1, 4, n // 4, 1, tags='h w c').conv2d(w, b))

def transposed(n, name):
    w, b = leaf(1, 1, 2, 1, tags='c out tap'), leaf(0, 2, tags='out')
    return slope(dict(weight=w, bias=b)[name], full(1, n, 1, tags='time c').conv_transpose1d(w, 'time', 'tap', bias=b))

def conv1(n, *shape, tags):
    w = leaf(1, *shape, tags=tags)
    return slope(w, full(1, n, 2, tags='time c').conv1d(w, 'time', 'tap'))

def rows_of(n):
    e = leaf(1, 3, 2, tags='token col')
    return slope(e, e.index_select('token', np.ones(n, 'i8'), out='row'))[1]

def added(n):
    x, at = fl.zeros('row col', row=3, col=2), np.ones((n, 2), 'i8')
    return x.scatter_add('row', fl.Tensor(at, 'row col'), full(.1, n, 2)).numpy()[1]

def taken(n):
    x = leaf(1, 3, 2, tags='row col')
    return slope(x, x.take_along_axis('row', fl.Tensor(np.ones((n, 2), 'i8'), 'row col')))[1]

def hinted(n):
    "n teachers give class 1 of one row a tenth."
    x = leaf(0, 1, 2, tags='row d')
    x.linear_distill(fl.Tensor(f4([[1, 0], [-1, 0]]), 'class d'), np.zeros(n, 'i8'),
                     np.zeros(n, 'i8'), np.full(n, .1, 'f4'), reduction='sum').backward()
    return -x.grad.numpy()[:, :1]

def window(n):
    side = int(n**.5)
    return full(.1, side, side, 1, tags='h w c').avg_pool2d(side).numpy() * n

def spread(n):
    p = leaf(1, 2)
    return slope(p, p.broadcast_to('row col', (n, 2)))

def repeated(n):
    p = leaf(1, 1, 2, tags='row col')
    return slope(p, p.repeat('row', n))

def biased(n, f):
    p = leaf(1, 2)
    return slope(p, f(full(1, n, 2), p))

TALL = dict(
    sum=lambda n: full(.1, n, 2).sum('row').numpy(),
    sum_last=lambda n: full(.1, 2, n).sum('col').numpy(),
    sum_all=lambda n: full(.1, n // 4, 2, 2, tags='a b c').sum().numpy(),
    flipped=lambda n: fl.Tensor(np.full((n, 2), .1, 'f4')[::-1], 'row col').sum('row').numpy(),
    mean=lambda n: full(.1, n, 2).mean('row').numpy() * n,
    masked_sum=lambda n: full(.1, n, 2).sum('row', mask=full(1, n, 2) > 0).numpy(),
    masked_mean=lambda n: full(.1, n, 2).mean('row', mask=full(1, n, 2) > 0).numpy() * n,
    norm_1=lambda n: full(.1, n, 2).norm('row', ord=1).numpy(),
    norm_2=lambda n: full(.1, n, 2).norm('row').numpy()**2 / TENTH,
    trace=lambda n: full(.1, 300, 300).trace('row', 'col').numpy() / 300 * n,
    dot=lambda n: full(.1, n, 2).dot(full(1, n, 2), 'row').numpy(),
    dot_last=lambda n: full(.1, 2, n).dot(full(1, 2, n), 'col').numpy(),
    dot_layouts=lambda n: full(.1, n, 2).dot(fl.Tensor(np.ones((2, n), 'f4').T, 'row col'),
                                             'row').numpy(),
    gemv=lambda n: full(.1, n, 2).dot(full(1, n, tags='row'), 'row').numpy(),
    gemv_last=lambda n: full(.1, 2, n).dot(full(1, n, tags='col'), 'col').numpy(),
    dot_all=lambda n: full(.1, n, tags='row').dot(full(1, n, tags='row'), 'row').numpy(),
    gemm=lambda n: full(.1, n, 2).dot(full(1, n, 3, tags='row out'), 'row').numpy(),
    gemm_wide=lambda n: full(.1, n // 16, 20).dot(full(16, n // 16, 20, tags='row out'), 'row').numpy(),
    batched=lambda n: full(.1, 2, 2, n, tags='b m k').dot(full(1, 2, n, 3, tags='b k n'), 'k').numpy(),
    batched_small=lambda n: full(.1, 400, n // 400, 2, tags='b k m').einsum(
        full(400, 400, n // 400, 2, tags='b k n'), 'b m n').numpy(),
    spare=lambda n: full(.1, n, 2).einsum(full(1, 2, tags='col'), 'col').numpy(),
    matmul=lambda n: full(.1, 2, n, tags='m k').matmul(full(1, n, 2, tags='k n'), 'm n').numpy(),
    packed=lambda n: full(.1, 1, n, tags='row in').dot(full(1, 2, n, tags='out in').pack(), 'in',
                                                       out='out').numpy(),
    cosine=lambda n: full(.1, n, 2).cosine_similarity(full(1, n, 2), 'row', 0.).numpy() * TENTH * n,
    repeat=repeated, broadcast=spread,
    add=lambda n: biased(n, lambda x, p: x + p),
    mul=lambda n: biased(n, lambda x, p: x * p),
    bias_add=lambda n: biased(n, lambda x, p: p.broadcast_to('row col', (n, 2)) + x),
    prelu=lambda n: -biased(n, lambda x, p: (-x).prelu(p)),
    scale=lambda n: affine(n, 'scale'),
    shift=lambda n: affine(n, 'shift'),
    layer_norm_weight=lambda n: layer(n, 'weight'),
    layer_norm_bias=lambda n: layer(n, 'bias'),
    rms_norm_weight=lambda n: biased(n, lambda x, p: x.rms_norm('col', 1e-12, p)),
    group_norm_weight=lambda n: group(n, 'weight'),
    group_norm_bias=lambda n: group(n, 'bias'),
    snake_alpha=lambda n: snake(n, 'alpha') / np.sin(2),
    snake_inv_b=lambda n: snake(n, 'inv_b') / np.sin(1)**2,
    conv2d_weight=lambda n: conv(n, 'weight'),
    conv2d_bias=lambda n: conv(n, 'bias'),
    conv_transpose1d_weight=lambda n: transposed(n, 'weight'),
    conv_transpose1d_bias=lambda n: transposed(n, 'bias'),
    conv1d_weight=lambda n: conv1(n, 1, 2, 3, tags='tap c out'),
    depthwise_weight=lambda n: conv1(n, 2, 1, tags='c tap'),
    depthwise_taps=lambda n: full(.1, n, 2, tags='time c').conv1d(full(1, 2, n, tags='c tap'),
                                                                  'time', 'tap').numpy(),
    conv1d_taps=lambda n: full(.1, n, 1, tags='time c').conv1d(full(1, n, 1, 1, tags='tap c out'),
                                                               'time', 'tap').numpy(),
    avg_pool2d=window, index_select=rows_of, take_along_axis=taken,
    index_add=lambda n: fl.zeros('row col', row=3, col=2).index_add('row', np.ones(n, 'i8'),
                                                                    full(.1, n, 2)).numpy()[1],
    scatter_add=added,
    segment_sum=lambda n: full(.1, n, 2).segment_sum('row', [0, 7, n]).numpy()[1] * n / (n - 7),
    linear_distill=hinted,
    softmax=lambda n: TENTH / full(.1, n, 2).softmax('row').numpy()[:3],
    log_softmax=lambda n: TENTH * np.exp(-full(.1, n, 2).log_softmax('row').numpy()[:3].astype('f8')),
    logsumexp=lambda n: np.exp(full(np.log(.1), n, 2).logsumexp('row').numpy().astype('f8')),
    mse_loss=lambda n: full(np.sqrt(f4(.1)), n, 2).mse_loss(full(0, n, 2), reduction='sum').numpy() / 2,
    nll_loss=lambda n: -full(.1, n, 2).nll_loss('col', np.zeros(n, 'i8'), reduction='sum').numpy())

@pytest.mark.parametrize('n', [4800, 1_000_000], ids=['below', 'above'])
@pytest.mark.parametrize('name', TALL)
def test_sums_down_a_tall_axis(name, n, either):
    got = TALL[name](n)
    assert np.size(got)
    np.testing.assert_allclose(got, TENTH * n, rtol=2e-5)


@pytest.mark.parametrize('name', ['sum', 'dot', 'gemv', 'repeat', 'index_select'])
def test_twenty_million_ones(name, either, monkeypatch):
    "One by one in f32 they are 16777216."
    n = 20_000_000
    ones = lambda: np.ones((n, 1), 'f4')
    p = leaf(1, 1, 1, tags='row col')
    got = dict(sum=lambda: fl.Tensor(ones(), 'row col').sum('row').numpy(),
               dot=lambda: fl.Tensor(ones(), 'row col').dot(
                   fl.Tensor(ones(), 'row col'), 'row').numpy(),
               gemv=lambda: fl.Tensor(ones(), 'row col').dot(fl.ones('row', row=n), 'row').numpy(),
               repeat=lambda: slope(p, p.repeat('row', n), 1),
               index_select=lambda: slope(p, p.index_select('row', np.zeros(n, 'i8')), 1))[name]()
    assert got == n


# lengths and distances from the mean: what an operation gives for rows of numbers, however large,
# small or far from 0 these are. The right value is computed in f64 from numbers near 1; what was
# multiplied by 2**100 on the way in is divided by it again.

rng = np.random.default_rng(0)
NUMBERS = dict(plain=rng.standard_normal(16), two=[0, 2], pair=[3, 4, 0, 0],
               mean=1000 + np.arange(16) / 1000, far=1e6 + np.arange(16),
               outlier=[1e4, *rng.standard_normal(99)], first=[1e6, *rng.standard_normal(99)],
               zeros_first=[0, 0, 0, 1, 2])
SCALES = [('f4', 0), ('f4', 100), ('f4', -100), ('f4', 120), ('f4', -120), ('f8', 0), ('f8', 664), ('f8', -664)]

def normed(b, g, eps, centred, power=0, ddof=0, out=0, mean=True):
    """Value and gradient of (b - mean) / (sqrt(sum of squares / n + eps) + out), or of the root
    alone where g is a number a row; what a gradient of 1 may be at most."""
    n = b.shape[1]
    d = b - b.mean(1, keepdims=True) if centred else b
    near = n - ddof if mean else 1
    root = np.sqrt((d * d).sum(1, keepdims=True) / near + eps)
    if g.ndim == 1: return root[:, 0], d / (near * root) * g[:, None], 0
    s = root + out
    h = d / s
    slope = g / s - d * (g * d).sum(1, keepdims=True) / (s * s * root * near)
    return h, slope - slope.mean(1, keepdims=True) if centred else slope, 1 / s.min()

SPANS = dict(
    # operation, right value and gradient, power of the scale in the value
    norm=(lambda x: x.norm('d'), lambda b, g: normed(b, g, 0, False, mean=False), 1),
    std=(lambda x: x.std('d'), lambda b, g: normed(b, g, 0, True), 1),
    std_1=(lambda x: x.std('d', ddof=1), lambda b, g: normed(b, g, 0, True, ddof=1), 1),
    rms_norm=(lambda x: x.rms_norm('d', eps=0), lambda b, g: normed(b, g, 0, False), 0),
    layer_norm=(lambda x: x.layer_norm('d', eps=0), lambda b, g: normed(b, g, 0, True), 0),
    rms_norm_weight=(lambda x: x.rms_norm('d', eps=0, weight=ones_like_row(x)),
                     lambda b, g: normed(b, g, 0, False),
                     0),
    standardize=(lambda x: x.standardize('d', ddof=1), lambda b, g: normed(b, g, 0, True, ddof=1), 0),
    standardize_inside=(lambda x: x.standardize('d', eps_mode='inside_sqrt'),
                        lambda b, g: normed(b, g, 0, True), 0),
    group_norm=(lambda x: x.permute('d t').group_norm('t', x.size('t'), eps=0).permute('t d'),
                lambda b, g: normed(b, g, 0, True),
                0),
    l2_normalize=(lambda x: x.l2_normalize('d', eps=0),
                  lambda b, g: normed(b, g, 0, False, mean=False), 0))

def ones_like_row(x): return fl.Tensor(np.ones(x.size('d'), x.data.dtype), 'd')

def close(got, want, tol, scale=0):
    np.testing.assert_allclose(got, want, rtol=tol, atol=tol * max(np.abs(want).max(), scale))

@pytest.mark.parametrize('kind,dtype,power', [(k, t, p) for k in NUMBERS for t, p in SCALES
                                              if abs(p) != 120 or k in ('plain', 'two', 'pair')])
@pytest.mark.parametrize('name', SPANS)
def test_lengths_and_distances(name, kind, dtype, power, backend):
    op, right, grows = SPANS[name]
    for rows, repeat in ((3, 1),
                         (2, 40_000 // len(NUMBERS[kind])) if dtype == 'f4' and power in (0, 100)
                         and name in ('std', 'norm', 'layer_norm') else (1, 7)):
        a = np.tile(np.asarray(NUMBERS[kind], 'f4').astype(dtype), (rows, repeat))
        for tags in ('t d', 'd t'):
            x = fl.param(np.ldexp(a if tags == 't d' else a.T, power).astype(dtype), tags)
            y = op(x)
            g = rng.uniform(.5, 1.5, [x.size(t) for t in y.tags])
            y.backward(g.astype(dtype))
            value, slope, most = right(a.astype('f8'), g if y.tags in (('t',), ('t', 'd')) else g.T)
            tol = (5e-6 if repeat < 1000 else 2e-5) if dtype == 'f4' else 1e-9
            close(np.ldexp(y.numpy().astype('f8'), -power * grows) if y.tags != ('d', 't') else y.numpy().T, value, tol)
            close(np.ldexp((x.grad.numpy() if tags == 't d' else x.grad.numpy().T).astype('f8'),
                           power * (1 - grows)),
                  slope, tol, most)


@pytest.mark.parametrize('dtype,power', [(t, p) for t, p in SCALES if p >= 0 or abs(p) < 120])
@pytest.mark.parametrize('other', [0, 1, -1])
def test_cosine_similarity(dtype, power, other, backend):
    "Its value has no scale, its gradient the inverse one."
    a, b = rng.standard_normal((2, 5, 16))
    def run(a, b, eps=0.):
        x, y = fl.param(a, 'a d'), fl.param(b, 'b d')
        z = x.cosine_similarity(y, 'd', eps)
        z.backward(np.ones((5, 5), a.dtype))
        return [z.numpy().astype('f8')] + [p.grad.numpy().astype('f8') for p in (x, y)]
    a, b = a.astype(dtype).astype('f8'), b.astype(dtype).astype('f8')
    lengths = [np.sqrt((v * v).sum(1, keepdims=True)) for v in (a, b)]
    u, v = a / lengths[0], b / lengths[1]
    want = (u @ v.T,
            (v.sum(0) - u * (u @ v.T).sum(1, keepdims=True)) / lengths[0],
            (u.sum(0) - v * (u @ v.T).sum(0)[:, None]) / lengths[1])
    got = run(np.ldexp(a, power).astype(dtype), np.ldexp(b, power * other).astype(dtype))
    for x, y, p in zip(got, want, (0, power, power * other)): close(np.ldexp(x, p), y, 1e-6 if dtype == 'f4' else 1e-12)

def test_cosine_similarity_keeps_its_least_product(backend):
    C = lambda *v: fl.Tensor(f4([v]).repeat(2, 0), 'r d')
    near = lambda got, want: np.testing.assert_allclose(got.numpy(), [want] * 2, rtol=1e-5, atol=1e-38)
    near(C(3e37, 4e37).cosine_similarity(C(0, 0), 'd', 1e-8), 0)
    near(C(3e-30, 4e-30).cosine_similarity(C(3e-30, 4e-30), 'd', 1e-60), 1)
    near(C(3e-30, 4e-30).cosine_similarity(C(3e20, 4e20), 'd', 1e-8), 2.5e-9 / 1e-8)
    near(C(3e-30, 4e-30).cosine_similarity(C(3e-10, 4e-10), 'd', 1.), 0)


CONSTANT = dict(layer_norm=lambda x: x.layer_norm('d'),
                layer_norm_weight=lambda x: x.layer_norm('d', weight=ones_like_row(x),
                                                         bias=ones_like_row(x) * 0),
                standardize=lambda x: x.standardize('d', eps=1e-5),
                standardize_ddof=lambda x: x.standardize('d', ddof=1, eps=1e-5),
                standardize_inside=lambda x: x.standardize('d', eps=1e-5, eps_mode='inside_sqrt'),
                group_norm=lambda x: x.permute('d t').group_norm('t', x.size('t')).permute('t d'))
EPS = dict(standardize=1e-5, standardize_ddof=1e-5)

@pytest.mark.parametrize('value,n', [(7, 3), (10000.3, 7), (1000.1, 3), (.1, 200), (-3e30, 5),
                                     (1e-30, 1000), (16777215, 40_000), (0, 33)])
@pytest.mark.parametrize('dtype', ['f4', 'f8'])
@pytest.mark.parametrize('name', CONSTANT)
def test_constant_rows(name, value, n, dtype, backend):
    """They have no spread: the result is exactly 0, and the gradient is what arrives less its
    mean, over what eps leaves to divide by."""
    x = fl.param(np.full((3, n), value, dtype), 't d')
    y = CONSTANT[name](x)
    assert (y.numpy() == 0).all()
    g = rng.standard_normal((3, n)).astype(dtype)
    y.backward(g)
    want = (g - g.mean(1, keepdims=True, dtype='f8')) / EPS.get(name, 1e-5**.5)
    close(x.grad.numpy(), want, 2e-6)

@pytest.mark.parametrize('name', ['norm', 'std', 'var'])
def test_slope_of_no_spread_is_zero(name, backend):
    x = fl.param(np.full((3, 50), 0 if name == 'norm' else 10000.3, 'f4'), 't d')
    y = getattr(x, name)('d')
    y.sum().backward()
    assert (y.numpy() == 0).all() and (x.grad.numpy() == 0).all()


# whole numbers

@pytest.mark.parametrize('dtype', ['i64', 'i32', 'i16', 'i8', 'u8', 'u16', 'bool'])
def test_mean_of_whole_numbers_never_wraps(dtype, backend):
    kind = fl.Tensor([1], 'd').to(dtype).data.dtype
    top = 1 if dtype == 'bool' else int(np.iinfo(kind).max)
    for shape, axes in (((2,), 'd'), ((3, 5), 't d'), ((3, 5), 'd'), ((3, 5), 't'), ((40_000, 2), 't')):
        x = fl.Tensor(np.full(shape, top, kind), 't d' if len(shape) == 2 else 'd')
        for y in (x.mean(*axes.split()), x.mean(*axes.split(), mask=x == x)):
            assert y.dtype == 'f32' and (y.numpy() == f4(top)).all()

def test_mean_of_some_whole_numbers(backend):
    x = fl.Tensor([2**62, 2**62, -2**62, 2**62], 'd')
    assert x.mean().item() == 2**61 and x.mean(mask=fl.Tensor([True, True, False, True], 'd')).item() == 2**62
    assert fl.Tensor([2**62, 2**62], 'd').sum().item() == -2**63        # a sum of i64 is i64

def test_weights_beyond_the_largest_sum():
    "A hundred draws from weights whose sum is infinite are those of the same shares."
    for replacement in (True, False):
        draw = lambda w: fl.Tensor(w, 'row class', dtype='f64').multinomial(
            'class', 'draw', 3 if not replacement else 100, seed=5, replacement=replacement).tolist()
        shares = np.array([[1., 1, .5, 0, .25], [1, 0, 1, 1, 1]])
        assert draw(shares * 1.5e308) == draw(shares)
    assert sorted(fl.Tensor([1e308, 1e308, 1e-320], 'd', dtype='f64').multinomial(
                      'd', 'draw', 3, replacement=False).tolist()) == [0, 1, 2]


# quantised blocks

@pytest.mark.parametrize('name', ['q4_0', 'q5_0', 'q8_0', 'q4_1', 'q5_1', 'q8_1', 'q4_k', 'q5_k',
                                  'q6_k', 'q8_k', 'q2_0', 'tq2_0'])
def test_scales_of_zeros(name):
    "+0, but for the quotient of 0 and a negative number that gguf writes too."
    f = fl.block_formats[name]
    b = fl.Tensor(np.zeros(256, 'f4'), 'i').to(name).blocks.reshape(-1, f.bytes)
    if name in ('q4_0', 'q5_0'): assert (b[:, :2] == [0, 128]).all()
    elif name in ('q8_0', 'q4_1', 'q5_1', 'q8_1', 'q4_k', 'q5_k', 'q8_k', 'q2_0'):
        assert (b[:, :2 if name in ('q8_0', 'q2_0') else 4] == 0).all()
    else: assert (b[:, -2:] == 0).all()

def test_a_sum_that_f16_cannot_hold():
    whole = lambda v: fl.Tensor(np.full(64, v, 'f4'), 'i')
    with pytest.raises(fl.NonFiniteValue, match='sum of a block'): whole(3e4).to('q8_1')
    np.testing.assert_allclose(whole(2040).to('q8_1').to('f32').numpy(), 2040, rtol=1e-3)      # 32 of them are 65280
    np.testing.assert_allclose(
        fl.Tensor(np.tile(f4([3e4, -3e4]), 32), 'i').to('q8_1').to('f32').numpy()[:2],
        [3e4, -3e4], rtol=1e-3)


# casts: to the nearest number of the short type, of two equally near ones to the even one; the
# right value is found among all there are, in fractions

SHORT = ['f16', 'bf16', 'f8_e4m3', 'f8_e5m2']

def numbers_of(name):
    """The finite numbers of a type from 0 up, by their bits, and the number that would come next:
    what rounds to it overflows."""
    kind = fl.Tensor([1.], 'd').to(name).data.dtype
    bits = np.arange(1 << 8 * kind.itemsize - 1).astype(f'u{kind.itemsize}')
    with np.errstate(all='ignore'): v = bits.view(kind).astype('f8')
    v = v[np.isfinite(v)]
    return kind, [*map(Fraction, v.tolist()), Fraction(v[-1] * 2 - v[-2])]

def nearest(x, known):
    "The place of the number nearest to x >= 0."
    i = bisect.bisect_right(known, x) - 1
    if i == len(known) - 1: return i
    low, high = x - known[i], known[i + 1] - x
    return i + (high < low or high == low and i % 2)

def halfway(known, draws):
    "Numbers at, just below and just above the middle of two neighbours, and others."
    i = draws.integers(0, len(known) - 1, 400)
    middle = np.array([float((known[k] + known[k + 1]) / 2) for k in i])
    return np.concatenate([middle,
                           np.nextafter(middle, 0),
                           np.nextafter(middle, np.inf),
                           middle * (1 + 2.**-40),
                           middle * (1 - 2.**-30),
                           draws.uniform(0, 1, 400) * middle,
                           np.exp2(draws.uniform(-160, 140, 400)),
                           [0, 5e-324, 1e300, np.inf, 2.**-150, 2.**-149, 464, 465,
                            1 + 2.**-8 + 2.**-40, 1 + 2.**-4 + 2.**-40]])

@pytest.mark.parametrize('name', SHORT)
@pytest.mark.parametrize('source', ['f64', 'f32', 'i64', 'i32', 'i16', 'u16', 'i8', 'u8'])
def test_casts_round_once(name, source):
    kind, known = numbers_of(name)
    draws = np.random.default_rng(1)
    x = halfway(known, draws)
    own = fl.Tensor([1], 'd').to(source).data.dtype
    if source[0] in 'iu':
        top = np.iinfo(own).max
        x = [int(v) + d for v in [*x[x < 2.**62], *np.floor(np.exp2(draws.uniform(0, 62.9, 2000)))] for d in (-1, 0, 1)]
        x = np.array([v for v in [*x, top, 2**30 + 2**22 + 1] if 0 <= v <= top])
    with np.errstate(all='ignore'): a = x.astype(own)
    a = a[np.isfinite(a)]
    want = np.array([nearest(Fraction(v), known) for v in a.tolist()])
    bits = f'u{kind.itemsize}'
    for sign in (1, -1) if source[0] != 'u' else (1,):
        b, y = a * a.dtype.type(sign), fl.Tensor(a * a.dtype.type(sign), 'd').to(name)
        for got in (y.data,
                    fl.Tensor(b, 'd', name).data,
                    fl.Tensor(b.tolist(), 'd', name).data if source in ('f64', 'i64') else y.data):
            got = got.view(bits).astype('i8')
            assert (got & (1 << 8 * kind.itemsize - 1) - 1 == want).all()
            assert ((got >> 8 * kind.itemsize - 1 == 1) == np.signbit(b.astype('f8'))).all()

def test_casts_of_what_is_no_number():
    for name in SHORT:
        y = fl.Tensor(np.array([np.nan, np.inf, -np.inf]), 'd').to(name).to('f32').numpy()
        assert np.isnan(y[0]) and (np.isnan(y[1:]).all() if name == 'f8_e4m3' else y[1:].tolist() == [np.inf, -np.inf])
    assert fl.Tensor(1 + 2.**-8 + 2.**-40, dtype='f64').to('bf16').item() == 1.0078125 == fl.full(
        'd', 1 + 2.**-8 + 2.**-40, d=1, dtype='bf16').item()

def test_whole_numbers_as_f32():
    v = np.concatenate([np.random.default_rng(2).integers(-2**63, 2**63 - 1, 2000),
                        [2**24 + 1, 2**24 + 3, 2**30 + 2**6 + 1, 2**53 + 1, -2**63, 2**63 - 1]])
    known = lambda n: float(f4(n)) if abs(n) < 2**24 else (lambda s: round(Fraction(n, s)) * s)(
        2**max(0, abs(n).bit_length() - 24))
    assert fl.Tensor(v, 'd').to('f32').tolist() == [float(known(n)) for n in v.tolist()]

@pytest.mark.parametrize('name', ['f16', 'bf16'])
def test_numbers_made_in_short_types_round_once(name):
    kind, known = numbers_of(name)
    near = lambda v: [float(known[nearest(Fraction(x), known)]) for x in v]
    assert fl.linspace('t', 0, 1, 1001, dtype=name).to('f64').tolist() == near(np.linspace(0, 1, 1001))
    assert fl.arange('t', 0, 300, .1, dtype=name).to('f64').tolist() == near(np.arange(3000) * .1)
    x = fl.zeros('d', d=1).to(name)
    v = 1 + 2.**-8 + 2.**-40 if name == 'bf16' else 1 + 2.**-11 + 2.**-40
    for y in (x.pad('d', 1, 0, value=v), fl.full_like(x, v)): assert y.to('f64').numpy()[0] == near([v])[0]


@pytest.mark.parametrize('n', [7, 4096])
@pytest.mark.parametrize('name', ['gelu_tanh', 'quick_gelu', 'gelu', 'silu', 'geglu'])
@pytest.mark.parametrize('dtype', ['f32', 'f64'])
def test_slopes_far_out(name, dtype, n, backend):
    "Where the step of an activation is over its slope is 1 or 0, however far out; NaN stays NaN."
    far = np.array([1e3, 1e10, 3e19, 1e30, 3e38])
    call = dict(gelu_tanh=lambda x: x.gelu('tanh'),
                geglu=lambda x: fl.ones_like(x).geglu(x)).get(name, lambda x: getattr(x, name)())
    for sign, slope in ((1, 1.), (-1, 0.)):
        x = fl.param(np.resize(sign * far, n), 'd', dtype)
        call(x).sum().backward()
        np.testing.assert_array_equal(x.grad.data, slope)
    x = fl.param(np.full(n, np.nan), 'd', dtype)
    call(x).sum().backward()
    assert np.isnan(x.grad.data).all()


@pytest.mark.parametrize('backend', ['numpy', 'pythran'])
@pytest.mark.parametrize('axis', ['row', 'col'])
def test_equal_numbers_in_f64_do_not_add_up_their_rounding(axis, backend):
    "Two values among 255 zeros: one after the other, 255 equal squares are rounded the same way 255 times."
    x = np.zeros((257, 257))
    x[:2] = np.random.default_rng(0).normal(size=257)
    if axis == 'col': x = x.T.copy()
    wide = np.moveaxis(x, 'row col'.split().index(axis), 0).astype(np.longdouble)
    d = wide - wide.mean(0)
    want = d / np.sqrt((d * d).mean(0) + np.longdouble(1e-5))
    with fl.use_backend(backend):
        y = fl.Tensor(x, 'row col').layer_norm(axis, eps=1e-5).permute(axis, *({'row', 'col'} - {axis})).numpy()
    assert np.abs(y - want).max() <= 8 * 2.**-52 * np.abs(want).max()
