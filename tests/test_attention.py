"""Attention beside a plain loop: masks, windows, shared heads, sinks, caches, streams; what is
not seen stays out; memory. torch's values are in tests/golden/attention.py."""
import tracemalloc
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
import fucinalib as fl
from fucinalib.errors import *
from fucinalib.kernels import attention as kernels

def C(a, tags, dtype=None): return fl.Tensor(np.asarray(a), tags, dtype)

def loop(q, k, v, scale=None, mask='causal', window=0, bias=None, kv_head=None, sinks=None):
    "One query of one head after the other, in f64."
    (t, heads, d), (s, n) = q.shape, k.shape[:2]
    y = np.zeros((t, heads, d))
    for i in range(t):
        p = s - t + i
        first, last = (0, s) if mask == 'bidirectional' else (max(0, p - window + 1) if window else 0, p + 1)
        for h in range(heads):
            g = h * n // heads if kv_head is None else kv_head[h]
            scores = [float(q[i, h].astype('f8') @ k[j, g].astype('f8'))
                      * (d**-.5 if scale is None else scale) + (0 if bias is None else bias[i, j])
                      for j in range(first, last)]
            extra = [] if sinks is None else [sinks[h]]
            top = max(scores + extra)
            if top == -np.inf: continue
            e = np.exp(np.array(scores) - top)
            y[i, h] = e @ v[first:last, g] / (e.sum() + sum(np.exp(z - top) for z in extra))
    return y.reshape(t, -1)

def draw(t, s, heads, n, d, dtype='f4', seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in ((t, heads, d), (s, n, d), (s, n, d))]

def tensors(q, k, v): return C(q, 'seq head d'), C(k, 'seq kv_head d'), C(v, 'seq kv_head d')

OPTIONS = [{}, dict(window=1), dict(window=70), dict(mask='bidirectional'), dict(scale=2.),
           dict(scale=0.), dict(sinks=True), dict(window=2, sinks=True)]
SHAPES = [(1, 1, 1, 1, 1), (3, 5, 2, 1, 4), (1, 9, 4, 2, 3), (7, 7, 3, 3, 8), (65, 130, 2, 1, 9),
          (64, 64, 2, 2, 16), (66, 131, 3, 1, 5)]

@pytest.mark.parametrize('shape', SHAPES, ids=str)
@pytest.mark.parametrize('backend', fl.backends())
def test_a_plain_loop(shape, backend, every_size):
    a = draw(*shape)
    q, k, v = tensors(*a)
    z = np.linspace(-1, 2, shape[2], dtype='f4')
    for o in OPTIONS:
        o = dict(o)
        if o.pop('sinks', None): o['sinks'] = C(z, 'head')
        with fl.use_backend(backend): y = q.attention(k, v, **o)
        assert y.tags == ('seq', 'out') and y.dtype == 'f32'
        np.testing.assert_allclose(y.data, loop(*a, **{**o, 'sinks': z if 'sinks' in o else None}),
                                   rtol=2e-5, atol=2e-5, err_msg=str(o))

@pytest.mark.parametrize('layout', ['plain', 'fortran', 'stepped'])
@pytest.mark.parametrize('backend', fl.backends())
def test_gradients_agree_with_f64(backend, layout, every_size):
    "f32 on every backend beside f64 on NumPy, which gradcheck proves."
    for t, s, heads, n, d, o in [(70, 140, 4, 2, 8, {}),
                                 (130, 130, 3, 1, 5, dict(window=65)),
                                 (66, 66, 2, 2, 12, dict(mask='bidirectional')),
                                 (130, 7, 4, 2, 12, dict(mask='bidirectional')),
                                 (5, 67, 3, 2, 4, dict(kv_head=[1, 0, 1])),
                                 (64, 200, 2, 2, 64, dict(window=10))]:
        a = draw(t, s, heads, n, d, seed=t)
        g = np.random.default_rng(9).standard_normal((t, heads * d)).astype('f4')
        def run(dtype, arrays):
            ts = [fl.param(x, tags) for x, tags in zip(arrays, ('seq head d', 'seq kv_head d', 'seq kv_head d'))]
            y = ts[0].attention(*ts[1:], **o)
            y.backward(g.astype(dtype))
            return [y.data] + [x.grad.data for x in ts]
        put = {'plain': lambda x: x,
               'fortran': np.asfortranarray,
               'stepped': lambda x: np.repeat(x, 2, 2)[..., ::2]}[layout]
        with fl.use_backend(backend): got = run('f4', [put(x) for x in a])
        for x, y in zip(got, run('f8', [x.astype('f8') for x in a])):
            np.testing.assert_allclose(x, y, rtol=2e-4, atol=2e-4, err_msg=str(o))

def test_batches_are_calls():
    q, k, v = (fl.randn('b c seq head d', (2, 3, 4, 2, 5), seed=1),
               fl.randn('b c seq kv_head d', (2, 3, 6, 1, 5), seed=2),
               fl.randn('b c seq kv_head d', (2, 3, 6, 1, 5), seed=3))
    y = q.attention(k, v)
    assert y.tags == ('b', 'c', 'seq', 'out')
    np.testing.assert_allclose(y.data[1, 2], tensors(q.data[1, 2], k.data[1, 2], v.data[1, 2])[0].attention(
                                   C(k.data[1, 2], 'seq kv_head d'),
                                   C(v.data[1, 2], 'seq kv_head d')).data,
                               rtol=1e-6)

@settings(max_examples=25, deadline=None)
@given(st.integers(1, 6), st.integers(0, 6), st.integers(1, 3), st.integers(1, 4))
def test_laws(t, more, heads, d):
    """A constant value is its own mean; a shift of all scores changes nothing; a window as long
    as the keys is none; a sink far below is none."""
    q, k, v = tensors(*draw(t, t + more, heads, 1, d, 'f8'))
    y = q.attention(k, v)
    np.testing.assert_allclose(q.attention(k, C(np.full(v.shape, 3.), v.tags)).data, 3, rtol=1e-12)
    np.testing.assert_allclose(q.attention(k + C(np.ones(d), 'd'), v).data, y.data, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(q.attention(k, v, window=t + more).data, y.data, rtol=1e-12)
    np.testing.assert_allclose(q.attention(k, v, sinks=C(np.full(heads, -800.), 'head')).data, y.data, rtol=1e-12)

@pytest.mark.parametrize('backend', fl.backends())
@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize('t', [6, 150])
def test_the_unseen_stays_out(backend, bad, t, every_size):
    """The last key and value reach the last query only; a key that a window hides from all gets a
    gradient of 0 and changes no other."""
    def run(arrays, **o):
        ts = [fl.param(x, tags) for x, tags in zip(arrays, ('seq head d', 'seq kv_head d', 'seq kv_head d'))]
        y = ts[0].attention(*ts[1:], **o)
        y.sum().backward()
        return [y.data] + [x.grad.data for x in ts]
    with fl.use_backend(backend):
        for i in range(3):
            a = draw(t, t + 5, 2, 1, 8)
            want, hidden = run(a)[0], run(a, window=3)
            a[i][-1] = bad
            np.testing.assert_allclose(run(a)[0][:t - 1], want[:t - 1], rtol=1e-5, atol=1e-6)
            a = draw(t, t + 5, 2, 1, 8)
            if i: a[i][0] = bad
            for x, y in zip(run(a, window=3), hidden): np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)

def test_nan_that_is_seen_shows():
    a = draw(4, 4, 1, 1, 2)
    a[2][1] = np.nan
    y = tensors(*a)[0].attention(*tensors(*a)[1:]).data
    assert np.isfinite(y[0]).all() and np.isnan(y[1:]).all()

def test_a_query_that_sees_nothing_gives_0():
    q, k, v = tensors(*draw(2, 3, 2, 1, 4))
    b = C([[-np.inf] * 3, [0, -np.inf, -np.inf]], 'seq key', 'f32')
    y = q.attention(k, v, mask='bidirectional', bias=b)
    assert (y.data[0] == 0).all()
    np.testing.assert_allclose(y.data[1], np.tile(v.data[0, 0], 2), rtol=1e-6)

@pytest.mark.parametrize('backend', fl.backends())
def test_bias(backend, every_size):
    for shape in ((2, 3, 2, 1, 4), (70, 130, 2, 2, 8)):
        a = draw(*shape)
        q, k, v = tensors(*a)
        b = np.random.default_rng(5).standard_normal(shape[:2]).astype('f4')
        with fl.use_backend(backend):
            y = q.attention(k, v, mask='bidirectional', bias=C(b, 'seq key'))
            np.testing.assert_allclose(y.data, loop(*a, mask='bidirectional', bias=b), rtol=2e-5, atol=2e-5)
            np.testing.assert_array_equal(q.attention(k, v, mask='bidirectional', bias=C(b.T, 'key seq')).data, y.data)

def test_large_scores_do_not_overflow():
    a = draw(3, 3, 1, 1, 4)
    q, k, v = tensors(a[0] * 1e3, a[1] * 1e3, a[2])
    np.testing.assert_allclose(q.attention(k, v).data, loop(a[0] * 1e3, a[1] * 1e3, a[2]), rtol=1e-4, atol=1e-5)

# caches

@pytest.mark.parametrize('kind', ['f16', 'bf16', 'q8_0'])
@pytest.mark.parametrize('s', [5, 1500])
def test_caches(kind, s):
    "A cache of few bits gives what its widened numbers give, and the gradient for the queries."
    q, k, v = tensors(*draw(4, s, 4, 2, 32))
    k, v = k.to(kind), v.to(kind)
    wide = k.to('f32'), v.to('f32')
    g = np.random.default_rng(1).standard_normal((4, 128)).astype('f4')
    for o in ({}, dict(window=3), dict(sinks=C([0., 1., 2., 3.], 'head', 'f32'))):
        grads = []
        for kv in ((k, v), wide):
            x = fl.param(q.data, q.tags)
            y = x.attention(*kv, **o)
            y.backward(g)
            grads.append((y.data, x.grad.data))
        for a, b in zip(*grads): np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)

def test_half_queries():
    q, k, v = [x.to('f16') for x in tensors(*draw(3, 4, 2, 1, 4))]
    y = q.attention(k, v)
    assert y.dtype == 'f16'
    np.testing.assert_allclose(y.to('f32').data, q.to('f32').attention(k.to('f32'), v.to('f32')).data,
                               rtol=2e-3, atol=2e-3)

@pytest.mark.parametrize('kind', ['f32', 'f16', 'q8_0'])
def test_streams(kind):
    "Bit for bit one call per stream."
    lens, q = [3, 1, 7], C(draw(3, 1, 4, 1, 32)[0], 'seq head d')
    ks, vs = [[C(draw(1, 8, 1, 2, 32, seed=i + 10 * j)[1], 'seq kv_head d').to(kind) for i in range(3)]
              for j in range(2)]
    y = q.attention(ks, vs, lens=lens, scale=.5, window=4)
    for i, n in enumerate(lens):
        one = q.narrow('seq', i, 1).attention(ks[i].narrow('seq', 0, n), vs[i].narrow('seq', 0, n), scale=.5, window=4)
        np.testing.assert_array_equal(y.data[i], one.data[0])

def test_refusals():
    q, k, v = tensors(*draw(2, 3, 2, 1, 32))
    with pytest.raises(UnsupportedGradient): q.attention(fl.param(k.to('f16').data, k.tags), v.to('f16'))
    with pytest.raises(UnsupportedGradient): fl.param(q.narrow('seq', 0, 1)).attention([k], [v], lens=[3])
    with pytest.raises(OptionError): q.attention(k.to('q8_0'), v.to('q8_0'), mask='bidirectional')
    with pytest.raises(OptionError): q.attention([k], [v])
    with pytest.raises(OptionError): q.attention(k, v, lens=[3])
    with pytest.raises(InvalidShape): q.attention([k], [v], lens=[3])
    with pytest.raises(InvalidShape): q.narrow('seq', 0, 1).attention([k], [v], lens=[4])
    with pytest.raises(InvalidShape, match='bidirectional'): q.attention(k.narrow('seq', 0, 1), v.narrow('seq', 0, 1))
    with pytest.raises(InvalidShape): q.attention(k, v.narrow('seq', 0, 2))
    with pytest.raises(DTypeError): q.to('f64').attention(k, v)
    with pytest.raises(DTypeError): C([[[1]]], 'seq head d').attention(k, v)
    with pytest.raises(OptionError, match="did you mean 'causal'"): q.attention(k, v, mask='casual')
    with fl.no_grad(): fl.param(q).attention(k, v, mask='bidirectional', bias=fl.zeros('seq key', (2, 3)))

def test_memory_is_linear():
    def peak(n):
        q, k, v = [fl.param(x, t) for x, t in zip(draw(n, n, 1, 1, 16),
                                                  ('seq head d', 'seq kv_head d', 'seq kv_head d'))]
        kernels._kept.room = None       # what is kept for the next call counts, too
        tracemalloc.start()
        try:
            q.attention(k, v).sum().backward()
            return tracemalloc.get_traced_memory()[1]
        finally: tracemalloc.stop()
    assert peak(2048) < 2.2 * peak(1024) and peak(2048) < 2 * 2048 * 2048

def test_threads_change_nothing(every_size):
    before, results = fl.get_num_threads(), []
    for n in (1, 2):
        fl.set_num_threads(n)
        q, k, v = [fl.param(x, t) for x, t in zip(draw(200, 200, 4, 2, 16),
                                                  ('seq head d', 'seq kv_head d', 'seq kv_head d'))]
        y = q.attention(k, v)
        y.sum().backward()
        results.append([a.tobytes() for a in (y.data, q.grad.data, k.grad.data, v.grad.data)])
    fl.set_num_threads(before)
    if 'attend_' in fl.backends().get('pythran', ()): assert results[0] == results[1]

def test_parts_of_a_batch_change_nothing(monkeypatch, every_size):
    "A batch that needs more memory to work in than a thread keeps goes in parts."
    q, k, v = [np.random.default_rng(i).standard_normal((5, 70, 2, 16)).astype('f4') for i in range(3)]
    how, results = (np.arange(2), .25, -100, 0), []
    for kept in (kernels.KEPT, 1):
        monkeypatch.setattr(kernels, 'KEPT', kept)
        y, l = kernels.attend(q, k, v, *how, np.zeros((0, 0), 'f4'))
        back = kernels.attend_back(q, k, v, *how, v, l, (v * y).sum(-1))
        results.append([a.tobytes() for a in (y, l, *back)])
    assert results[0] == results[1]

# relatives

def test_relpos_shift():
    x = np.random.default_rng(0).standard_normal((2, 3, 7))
    y = C(x, 'h q p').relpos_shift(4, 'h q k')
    assert y.tags == ('h', 'q', 'k')
    for h, q, j in np.ndindex(2, 3, 4): assert y.data[h, q, j] == x[h, q, j + 2 - q]
    for layout in (np.asfortranarray(x), np.repeat(x, 2, 2)[..., ::2]):
        np.testing.assert_array_equal(C(layout, 'h q p').relpos_shift(4, 'h q k').data, y.data)

def kda(q, k, v, g, beta, a, b, state, scale):
    "Every sum written out."
    t, h, n = q.shape
    m, state, y = v.shape[2], state.copy(), np.zeros(v.shape)
    for i in range(t):
        for c in range(h):
            kn, qn = (k[i, c] / max(np.linalg.norm(k[i, c]), 1e-12),
                      q[i, c] / max(np.linalg.norm(q[i, c]), 1e-12) * scale)
            for r in range(n):
                state[c, r] *= np.exp(-np.exp(a[c] if len(a) == h else a[r])
                                      * np.log1p(np.exp(g[i, c, r] + b[c * n + r])))
            delta = np.array([v[i, c, e] - sum(kn[r] * state[c, r, e] for r in range(n)) for e in range(m)])
            for r in range(n): state[c, r] += kn[r] * delta / (1 + np.exp(-beta[i, c]))
            y[i, c] = [sum(qn[r] * state[c, r, e] for r in range(n)) for e in range(m)]
    return y, state

@pytest.mark.parametrize('per', ['head', 'channel'])
@pytest.mark.parametrize('scale', [0., .7])
def test_kda(per, scale):
    rng = np.random.default_rng(3)
    q, k, g, v = (rng.standard_normal((5, 2, 3)), rng.standard_normal((5, 2, 3)),
                  rng.standard_normal((5, 2, 3)), rng.standard_normal((5, 2, 4)))
    beta, a, b, s0 = (rng.standard_normal((5, 2)),
                      rng.standard_normal(2 if per == 'head' else 3),
                      rng.standard_normal(6),
                      rng.standard_normal((2, 3, 4)))
    k[2, 1] = 0
    T = [C(q, 'seq head k'), C(k, 'seq head k'), C(v, 'seq head v'), C(g, 'seq head k'),
         C(beta, 'seq head'), C(a, 'c'), C(b, 'e')]
    y, state = fl.kda_recurrent(*T, initial_state=C(s0, 'head k v'), scale=scale)
    want, end = kda(q, k, v, g, beta, a, b, s0, scale or 3**-.5)
    assert y.tags == ('seq', 'head', 'v') and state.tags == ('head', 'k', 'v')
    np.testing.assert_allclose(y.data, want, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(state.data, end, rtol=1e-9, atol=1e-12)
    first, mid = fl.kda_recurrent(*[x.narrow('seq', 0, 2) if 'seq' in x.tags else x for x in T],
                                  initial_state=C(s0, 'head k v'), scale=scale)
    rest, last = fl.kda_recurrent(*[x.narrow('seq', 2, 3) if 'seq' in x.tags else x for x in T],
                                  initial_state=mid, scale=scale)
    np.testing.assert_allclose(np.concatenate([first.data, rest.data]), want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize('words', [32, 33])
def test_a_short_head_goes_back_in_numpy(words):
    "A compiled tile has 64 words whatever is in it; from half a tile on it pays"
    if 'pythran' not in fl.backends(): pytest.skip('kernels are not compiled here')
    q, k, v = (fl.param(fl.randn(f'seq {head} d', (words, 64, 16), seed=i)) for i, head in
               enumerate(('head', 'kv_head', 'kv_head')))
    with fl.use_backend('pythran'):
        before = fl.kernels.stats['attend_back_']
        q.attention(k, v).square().sum().backward()
        assert fl.kernels.stats['attend_back_'] - before == (words > 32)
