"""Softmax, logsumexp, log_softmax: laws, corners and refusals; values beside torch are in tests/golden/softmax.py."""
import weakref
import numpy as np
import pytest
from hypothesis import given, strategies as st
import fucinalib as fl
from fucinalib.errors import *
from fucinalib.ops.softmax import slopes

inf, nan = np.inf, np.nan
C = lambda data, tags='q k', dtype='f32': fl.Tensor(data, tags, dtype)


def loop(x, scale=1., mask=None, slope=None, sinks=None, offset=None):
    "x (head, q, k) entry by entry in f64, with the mask (q, k)."
    y = np.zeros(x.shape)
    for h, q in np.ndindex(x.shape[:2]):
        n = x.shape[2] if offset is None else offset + q + 1
        z = [float(x[h, q, k]) * scale + (
                 0 if mask is None else (slope or [1] * len(x))[h] * float(mask[q, k]))
             for k in range(n)]
        rest = [] if sinks is None else [float(sinks[h])]
        top = max(z + rest)
        e = [np.exp(v - top) for v in z + rest]
        y[h, q, :n] = np.array(e[:n]) / sum(e)
    return y


@given(st.integers(1, 4), st.integers(1, 9), st.floats(-50, 50), st.floats(.1, 5))
def test_laws(rows, n, shift, scale):
    """Shares add up to 1, a constant changes nothing, scale multiplies, log_softmax is the
    logarithm and logsumexp the difference."""
    x = C(np.random.default_rng(n).standard_normal((rows, n)) * 3, dtype='f64')
    y, log = x.softmax('k'), x.log_softmax('k')
    np.testing.assert_allclose(y.sum('k').data, 1, rtol=1e-12)
    np.testing.assert_allclose((x + shift).softmax('k').data, y.data, rtol=1e-9)
    np.testing.assert_allclose(x.softmax('k', scale=scale).data, (x * scale).softmax('k').data, rtol=1e-12)
    np.testing.assert_allclose(log.exp().data, y.data, rtol=1e-12)
    np.testing.assert_allclose((x - x.logsumexp('k')).data, log.data, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(x.softmax('k', mask=x).data, (x * 2).softmax('k').data, rtol=1e-12)


LAYOUTS = dict(plain=lambda a: a,
               fortran=np.asfortranarray,
               stepped=lambda a: np.repeat(a, 2, 2)[..., ::2],
               backwards=lambda a: a[:, ::-1].copy()[:, ::-1],
               middle=lambda a: np.ascontiguousarray(a.swapaxes(1, 2)).swapaxes(1, 2))
OPTIONS = [{},
           dict(scale=.3),
           dict(causal='q', source_offset=2),
           dict(sinks=[.5, -2., 1.], head='h'),
           dict(mask='m'),
           dict(mask='m', max_bias=5., head='h', scale=-.7, sinks=[0., 1., 2.], causal='q',
                source_offset=0)]

@pytest.mark.parametrize('options', OPTIONS, ids=lambda o: ' '.join(o) or 'plain')
@pytest.mark.parametrize('layout', LAYOUTS)
def test_every_option_on_every_layout(layout, options, every_size):
    rng = np.random.default_rng(0)
    a, g, m = [rng.standard_normal(s).astype('f4') for s in ((3, 5, 37), (3, 5, 37), (5, 37))]
    m[m < -1] = -inf
    want = loop(a, options.get('scale', 1.), m if 'mask' in options else None,
                slopes(options['max_bias'], 3) if 'max_bias' in options else None,
                options.get('sinks'), options.get('source_offset') if 'causal' in options else None)
    back = want * (g - (g * want).sum(2, keepdims=True)) * options.get('scale', 1.)
    kw = options | ({'mask': C(m)} if 'mask' in options else {})
    for name in fl.backends():
        with fl.use_backend(name):
            x = fl.param(LAYOUTS[layout](a), 'h q k')
            y = x.softmax('k', **kw)
            y.backward(g)
        assert y.tags == ('h', 'q', 'k') and y.dtype == 'f32'
        np.testing.assert_allclose(y.data, want, rtol=2e-5, atol=1e-7, err_msg=name)
        np.testing.assert_allclose(x.grad.data, back, rtol=2e-4, atol=1e-6, err_msg=name)

@pytest.mark.parametrize('axis', [0, 1, 2])
@pytest.mark.parametrize('layout', LAYOUTS)
def test_every_axis(layout, axis, every_size):
    a = np.random.default_rng(1).standard_normal((4, 3, 5)).astype('f4') * 5
    g = np.random.default_rng(2).standard_normal(a.shape).astype('f4')
    wide = a.astype('f8')
    lse = np.log(np.exp(wide).sum(axis, keepdims=True))
    for name in fl.backends():
        with fl.use_backend(name):
            x = fl.param(LAYOUTS[layout](a), 'a b c')
            tag = 'abc'[axis]
            np.testing.assert_allclose(x.log_softmax(tag).data, wide - lse, rtol=1e-5, atol=1e-5)
            y = x.logsumexp(tag)
            assert y.tags == tuple('abc'.replace(tag, '')) and y.dtype == 'f32'
            np.testing.assert_allclose(y.data, lse.squeeze(axis), rtol=1e-5, atol=1e-5)
            g1 = g.sum(axis)
            y.backward(g1)
            np.testing.assert_allclose(x.grad.data, np.expand_dims(g1, axis) * np.exp(wide - lse), rtol=1e-4, atol=1e-5)
            x.zero_grad()
            x.log_softmax(tag).backward(g)
            np.testing.assert_allclose(x.grad.data, g - np.exp(wide - lse) * g.sum(axis, keepdims=True),
                                       rtol=1e-4, atol=1e-4)


# rows that are not ordinary

@pytest.mark.parametrize('backend', fl.backends())
def test_infinite_rows(backend, every_size):
    with fl.use_backend(backend):
        x = fl.param([[-inf, -inf, -inf], [-inf, 2., -inf], [inf, 1., 0.], [1., 1., -inf]], 'r k')
        y = x.logsumexp('k')
        y.backward([1., 1., 1., 2.])
        np.testing.assert_allclose(y.data, [-inf, 2, inf, 1 + np.log(2)], rtol=1e-6)
        np.testing.assert_allclose(x.grad.data, [[0, 0, 0], [0, 1, 0], [nan, 0, 0], [1, 1, 0]], rtol=1e-6)
        np.testing.assert_allclose(x.softmax('k').data, [[nan] * 3, [0, 1, 0], [nan] * 3, [.5, .5, 0]], rtol=1e-6)
        np.testing.assert_allclose(
            x.log_softmax('k').data,
            [[nan] * 3, [-inf, 0, -inf], [nan, -inf, -inf], [-np.log(2), -np.log(2), -inf]], rtol=1e-6)

@pytest.mark.parametrize('backend', fl.backends())
@pytest.mark.parametrize('at', [0, 7, 16, 32])
def test_nan_stays_in_its_row(backend, at, every_size):
    a = np.zeros((3, 33), 'f4')
    a[1, at] = nan
    with fl.use_backend(backend):
        for y in (C(a).softmax('k'), C(a).log_softmax('k'), C(a).softmax('k', scale=2.), C(a).softmax('k', sinks=0.)):
            assert np.isnan(y.data[1]).all() and np.isfinite(y.data[[0, 2]]).all()
        assert np.isnan(C(a).logsumexp('k').data).tolist() == [False, True, False]

def test_a_row_that_may_see_nothing():
    "Reported elsewhere: one such row spoiled its neighbours, or their gradients."
    x, m = fl.param([[0., 0.], [0., 0.]], 'seq src'), C([[-inf, -inf], [0., -inf]], 'seq src')
    y = x.softmax('src', mask=m)
    y.backward([[1., 2.], [3., 4.]])
    assert np.isnan(y.data[0]).all() and y.data[1].tolist() == [1, 0] and x.grad.data[1].tolist() == [0, 0]
    for n in (1, 2, 5):
        for offset in (0, 3):
            assert np.isfinite(fl.zeros('q k', q=n, k=n + offset).softmax(
                                   'k', causal='q', source_offset=offset).data).all()

@pytest.mark.parametrize('backend', fl.backends())
def test_a_sink_takes_what_nobody_wants(backend, every_size):
    with fl.use_backend(backend):
        x = fl.param(np.full((2, 40), -inf, 'f4'), 'q k')
        y = x.softmax('k', sinks=-3.)
        y.sum().backward()
        assert not y.data.any() and not x.grad.data.any()
        assert C([[0., 0.]]).softmax('k', sinks=0.).sum().item() == pytest.approx(2/3)
        assert C([[0., 0.]]).softmax('k', scale=0., sinks=100.).sum().item() < 1e-30      # scale leaves the sink alone

@pytest.mark.parametrize('backend', fl.backends())
@pytest.mark.parametrize('bad', [nan, inf, 3e38])
def test_what_is_later_is_never_read(backend, bad, every_size):
    a, g = np.random.default_rng(0).standard_normal((2, 2, 40, 40)).astype('f4')
    later = np.broadcast_to(np.triu(np.ones((40, 40), bool), 1), a.shape)
    with fl.use_backend(backend):
        def run(a, g):
            x = fl.param(a, 'h q k')
            y = x.softmax('k', causal='q', sinks=[0., 1.], head='h')
            y.backward(g)
            return y.data, x.grad.data
        for clean, dirty in zip(
            run(a, g), run(np.where(later, np.float32(bad), a), np.where(later, np.float32(bad), g))):
            np.testing.assert_array_equal(clean, dirty)
            assert (clean[later] == 0).all()

def test_large_rows_are_accurate():
    a = np.random.default_rng(0).standard_normal((2, 300_000)).astype('f4')
    exact = np.log(np.exp(a.astype('f8')).sum(1))
    for name in fl.backends():
        with fl.use_backend(name):
            np.testing.assert_allclose(C(a).logsumexp('k').data, exact, rtol=2e-7)
            np.testing.assert_allclose(C(a).softmax('k').sum('k').data, 1, rtol=1e-6)


# options

def test_slopes():
    assert slopes(8, 8) == [2.**-h for h in range(1, 9)] and slopes(8, 1) == [2.**-8]
    assert slopes(8, 12)[8:] == [2.**-.5, 2.**-1.5, 2.**-2.5, 2.**-3.5] and slopes(8, 12)[:8] == slopes(8, 8)

def test_max_bias_zero_is_no_slope():
    x, m = fl.randn('head q k', (3, 2, 4), seed=0), fl.randn('q k', (2, 4), seed=1)
    assert x.softmax('k', mask=m, head='head', max_bias=0).tolist() == x.softmax('k', mask=m).tolist()

def test_sinks_in_any_form():
    x = fl.randn('head q k', (2, 3, 4), seed=0)
    want = x.softmax('k', sinks=[1., -1.], head='head').tolist()
    for s in ((1., -1.), np.array([1., -1.]), np.array([1, -1]), C([1., -1.], 'head')):
        assert x.softmax('k', sinks=s, head='head').tolist() == want
    assert x.softmax('k', sinks=1).tolist() == x.softmax('k', sinks=[1., 1.], head='head').tolist() == x.softmax(
        'k', sinks=fl.Tensor(1., '')).tolist() == x.softmax('k', sinks=[1.]).tolist()

def test_a_mask_is_repeated_by_name():
    x = fl.randn('head q k', (2, 3, 4), seed=0)
    for tags in ('k', 'q k', 'k q', 'head k', 'k q head', ''):
        m = fl.randn(tags, tuple(x.size(t) for t in fl.parse(tags)), seed=1)
        np.testing.assert_allclose(x.softmax('k', mask=m).data, (x + m).softmax('k').data, rtol=2e-6)
    # one number for a whole row changes nothing
    np.testing.assert_allclose(x.softmax('k', mask=fl.randn('q', (3,), seed=2)).data,
                               x.softmax('k').data, rtol=2e-6)

X = fl.zeros('head q k', (2, 3, 4))
M = fl.zeros('q k', (3, 4))

@pytest.mark.parametrize(
    'kind,kw,said', [
        (UnsupportedGradient, dict(mask=fl.param(M)), r'mask\.detach\(\)'),
        (UnsupportedGradient, dict(sinks=fl.param([0., 0.], 'head'), head='head'), 'one more column'),
        (ShapeMismatch, dict(mask=fl.zeros('q k', (3, 5))), "'k' is 4 in x"),
        (TagError, dict(mask=fl.zeros('query k', (3, 4))), "x has no axis 'query'"),
        (DTypeError, dict(mask=M.eq(0)), r"mask\.to\('f32'\)\.log\(\)"),
        (DTypeError, dict(mask=M.to('f64')), r"mask\.to\('f32'\)"),
        (DTypeError, dict(mask=M.data), "Tensor"),
        (InvalidShape, dict(max_bias=8.), 'without a mask'),
        (InvalidShape, dict(max_bias=8., mask=M), 'without head'),
        (InvalidShape, dict(max_bias=8., mask=M, head='k'), "tag and head are both 'k'"),
        (InvalidShape, dict(sinks=[1., 2.], head='k'), "tag and head are both 'k'"),
        (TagError, dict(max_bias=8., mask=M, head='heads'), "did you mean 'head'"),
        (OptionError, dict(max_bias=-1, mask=M, head='head'), '-1'),
        (OptionError, dict(max_bias=nan, mask=M, head='head'), 'nan'),
        (InvalidShape, dict(sinks=[1., 2.]), "head='head'"),
        (InvalidShape, dict(sinks=[1.], head='head'), '2 heads'),
        (InvalidShape, dict(sinks=[[1., 2.]], head='head'), '2 heads'),
        (TagError, dict(sinks=fl.zeros('q', (3,)), head='head'), "one axis 'head'"),
        (DTypeError, dict(sinks=fl.zeros('head', (2,)).to('f64'), head='head'), 'f64'),
        (DTypeError, dict(sinks=['a']), 'real number'),
        (InvalidShape, dict(causal='q', source_offset=2), 'from 0 to 1'),
        (InvalidShape, dict(causal='q', source_offset=-1), 'from 0 to 1'),
        (InvalidShape, dict(causal='k'), 'two axes'),
        (InvalidShape, dict(source_offset=1), "causal='q'"),
        (TagError, dict(causal='queries'), 'no such axis'),
        (TagError, dict(causal=True), "causal='q'"),
        (OptionError, dict(causal='q', source_offset=.5), 'whole number'),
        (DTypeError, dict(scale=fl.zeros('', ())), 'number'),
        (OptionError, dict(heads='head'), "did you mean 'head'"), (OptionError, dict(dim=1), 'tag')])
def test_refusals(kind, kw, said):
    with pytest.raises(kind, match=said) as e: X.softmax('k', **kw)
    assert 'help:' in str(e.value)

def test_refusals_of_the_axis():
    for name in ('softmax', 'log_softmax', 'logsumexp'):
        f = lambda x, *tags: getattr(x, name)(*tags)
        with pytest.raises(TagError, match='no such axis'): f(X, 'key')
        with pytest.raises(TagError, match='takes one axis'): f(X, 'q k')
        with pytest.raises(TagError): f(X, 2)
        with pytest.raises(DTypeError): f(X.to('i64'), 'k')
        with pytest.raises(TagError): f(fl.Tensor(1.), 'k')

def test_constants_are_fine_where_no_gradient_flows():
    with fl.no_grad():
        assert X.softmax('k', mask=fl.param(M), sinks=fl.param([0., 0.], 'head'),
                         head='head').shape == X.shape


# number types and memory

@pytest.mark.parametrize('half', ['f16', 'bf16'])
def test_short_numbers_round_once(half):
    x, m = [fl.randn(t, s, seed=1).to(half) for t, s in (('h q k', (2, 4, 4)), ('q k', (4, 4)))]
    wide, wide_m = x.to('f32'), m.to('f32')
    for got, want in ((x.softmax('k'), wide.softmax('k')),
                      (x.log_softmax('k'), wide.log_softmax('k')),
                      (x.softmax('k', scale=.5, mask=m, causal='q', sinks=[0., 1.], head='h'),
                       wide.softmax('k', scale=.5, mask=wide_m, causal='q', sinks=[0., 1.], head='h'))):
        assert got.dtype == half and got.tolist() == want.to(half).tolist()
    assert x.logsumexp('k').dtype == 'f32' and x.logsumexp('k').tolist() == wide.logsumexp('k').tolist()

def test_f64():
    x = fl.randn('q k', (2, 3), seed=0).to('f64')
    assert all(y.dtype == 'f64'
               for y in (x.softmax('k'), x.log_softmax('k'), x.logsumexp('k'),
                         x.softmax('k', scale=2, sinks=[1], causal='q', source_offset=1)))

@pytest.mark.parametrize('options', [{}, dict(scale=.5), dict(causal='q')], ids=['plain', 'scale', 'causal'])
def test_only_the_result_is_kept(options):
    "The graph holds the shares; the scores may go."
    x = fl.param(fl.randn('h q k', (2, 8, 8), seed=0))
    z = x * 2
    scores = weakref.ref(z.data)
    y = z.softmax('k', **options)
    del z
    assert scores() is None
    y.sum().backward()
