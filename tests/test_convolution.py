"""Convolutions and windows: laws, layouts, tiles, streams and refusals; values beside torch are
in tests/golden/convolution.py."""
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
import fucinalib as fl
from fucinalib.errors import *
from fucinalib.ops import convolution as conv, images

C = lambda data, tags, dtype=None: fl.Tensor(np.asarray(data, 'f4') if dtype is None else data, tags, dtype)
rng = lambda seed: np.random.default_rng(seed)
normal = lambda tags, *shape, seed=0, dtype='f4': fl.Tensor(rng(seed).standard_normal(shape).astype(dtype), tags)


# windows

sizes = st.tuples(st.integers(1, 7), st.integers(1, 7), st.integers(1, 3))
two = lambda lo, hi: st.tuples(st.integers(lo, hi), st.integers(lo, hi))

@given(sizes, two(1, 3), two(1, 3), two(0, 2))
@settings(max_examples=60)
def test_unfold_and_fold_are_adjoint(size, kernel, stride, padding):
    h, w, c = size
    if h + 2 * padding[0] < kernel[0] or w + 2 * padding[1] < kernel[1]: return
    x = normal('h w c', h, w, c, dtype='f8')
    rows = x.unfold(kernel, stride, padding)
    y = normal('patch elem', *rows.shape, seed=1, dtype='f8')
    np.testing.assert_allclose((rows * y).sum().item(),
                               (x * y.fold((h, w), kernel, stride, padding)).sum().item(), atol=1e-12)

def test_fold_counts():
    assert fl.ones('h w c', (3, 3, 1)).unfold(2).fold(3, 2).data[..., 0].tolist() == [[1, 2, 1], [2, 4, 2], [1, 2, 1]]
    x = normal('h w c', 4, 6, 2)
    assert (x.unfold(2, 2).fold((4, 6), 2, 2).data == x.data).all()       # windows side by side: fold is the inverse

@given(st.integers(1, 9), st.integers(1, 4), st.integers(1, 3), st.integers(0, 3), st.integers(1, 3), st.booleans())
@settings(max_examples=60)
def test_conv1d_is_a_loop(n, taps, stride, padding, dilation, causal):
    if causal: padding = 0
    span = dilation * (taps - 1) + 1
    if n + 2 * padding < span and not causal: return
    x, w = normal('time c', n, 2, dtype='f8'), normal('tap c out', taps, 2, 3, seed=1, dtype='f8')
    y = x.conv1d(w, 'time', 'tap', stride=stride, padding=padding, dilation=dilation, causal=causal)
    before = span - 1 if causal else padding
    value = lambda t: x.data[t] if 0 <= t < n else np.zeros(2)
    want = [sum(value(o * stride - before + k * dilation) @ w.data[k] for k in range(taps))
            for o in range(y.size('time'))]
    np.testing.assert_allclose(y.data, want, atol=1e-12)
    assert y.size('time') == ((n - 1) // stride + 1 if causal else (n + 2 * padding - span) // stride + 1)

@pytest.mark.parametrize('cut', [1, 2, 5, 11])
@pytest.mark.parametrize('kind', ['plain', 'groups', 'depthwise'])
def test_a_stream_equals_the_whole(cut, kind):
    w, kw = {'plain': (normal('tap c out', 3, 4, 2, seed=1), {}),
             'groups': (normal('tap c out', 3, 2, 4, seed=1), dict(groups=2)),
             'depthwise': (normal('c tap', 4, 3, seed=1), {})}[kind]
    x, rows = normal('time c', 12, 4), 4
    run = lambda x, **state: x.conv1d(w, 'time', 'tap', dilation=2, causal=True, **kw, **state)
    state, parts = fl.zeros('time c', (rows, 4)), []
    for a, b in ((0, cut), (cut, 12)):
        chunk = x.narrow('time', a, b - a)
        parts.append(run(chunk, state=state))
        state = fl.concat([state, chunk], 'time').slice(time=slice(-rows, None))
    np.testing.assert_allclose(fl.concat(parts, 'time').data, run(x).data, rtol=1e-5, atol=1e-6)

def test_state():
    x, w = fl.param([[1., 2.]], 'time c'), fl.param([[[1.], [1.]], [[1.], [10.]]], 'tap c out')
    state = fl.Tensor([[5., 7.]], 'time c')
    y = x.conv1d(w, 'time', 'tap', causal=True, state=state)
    y.backward([[1.]])
    assert y.tolist() == [[33]] and x.grad.tolist() == [[1, 10]] and w.grad.data[:, :, 0].tolist() == [[5, 7], [1, 2]]
    for form in (state.permute('c time'), [[5., 7.]], np.array([[5., 7.]], 'f4')):
        assert x.conv1d(w, 'time', 'tap', causal=True, state=form).tolist() == [[33]]
    for wrong, kind in (([[1., 2.], [3., 4.]], InvalidDataLength),
                        ([[1.]], InvalidDataLength),
                        (np.zeros((1, 2)), DTypeError),
                        (C([[5., 7.]], 't c'), TagError)):
        with pytest.raises(kind): x.conv1d(w, 'time', 'tap', causal=True, state=wrong)
    with pytest.raises(OptionError, match='causal'): x.conv1d(w, 'time', 'tap', padding=1, state=state)
    for learning in (fl.param(state), [[fl.param(5.), 7.]]):
        with pytest.raises(UnsupportedGradient, match='no gradient to its state'):
            x.conv1d(w, 'time', 'tap', causal=True, state=learning)
        with fl.no_grad(): assert x.conv1d(w, 'time', 'tap', causal=True, state=learning).tolist() == [[33]]

def test_axes_go_by_name():
    x, w = normal('b time c', 2, 5, 3), normal('tap c out', 2, 3, 4, seed=1)
    y = x.conv1d(w, 'time', 'tap')
    assert y.tags == ('b', 'time', 'out')
    z = x.permute('c time b').conv1d(w.permute('out tap c'), 'time', 'tap')
    assert z.tags == ('out', 'time', 'b')
    np.testing.assert_allclose(z.permute('b time out').data, y.data, rtol=1e-6)
    same = x.conv1d(w.rename(tap='time'), 'time', 'time')
    assert (same.data == y.data).all()
    with pytest.raises(TagError, match='share 2'): x.conv1d(w.rename(out='b'), 'time', 'tap')
    # two axes could be the channels
    with pytest.raises(TagError, match='3 axes|share'): x.conv1d(w.rename(c='in'), 'time', 'tap', groups=3)

def test_transpose_is_the_adjoint():
    w = normal('tap c out', 3, 2, 3, seed=3, dtype='f8')
    for stride, padding, n in ((1, 0, 4), (2, 1, 4), (3, 0, 2)):
        short = normal('time c', n, 2, dtype='f8')
        long = short.conv_transpose1d(w, 'time', 'tap', stride=stride, padding=padding)
        g = normal('time out', *long.shape, seed=1, dtype='f8')
        np.testing.assert_allclose(
            (long * g).sum().item(),
            (short * g.conv1d(w, 'time', 'tap', stride=stride, padding=padding)).sum().item(),
            atol=1e-12)

def test_packed_transpose_weight_and_output_pad():
    w2 = normal('kout c', 6, 2, seed=1)                                    # rows out * taps + tap
    x, b = normal('time c', 3, 2), C([1., 2.], 'out')
    y = x.conv_transpose1d(w2.split('kout', 'out tap', (2, 3)), 'time', 'tap', bias=b, stride=2,
                           padding=2, output_pad=3)
    full = np.zeros((8, 2), 'f4')
    for t in range(3): full[2 * t:2 * t + 3] += (w2.data @ x.data[t]).reshape(2, 3).T
    # two rows that padding would have cut, and one beyond the last window
    np.testing.assert_allclose(y.data, full[2:] + b.data, rtol=1e-5)

@pytest.mark.torch
@pytest.mark.parametrize('stride,padding,output_pad', [(1, 0, 0), (2, 1, 1), (3, 2, 2), (3, 0, 2), (5, 2, 4)])
def test_conv_transpose1d_beside_torch(stride, padding, output_pad, backend):
    torch = pytest.importorskip('torch')
    rng = np.random.default_rng(stride)
    for n, c, outs, taps in ((1, 1, 1, 5), (7, 3, 2, 4), (40, 8, 9, 6)):
        arrays = rng.standard_normal((2, c, n)), rng.standard_normal((c, outs, taps)), rng.standard_normal(outs)
        theirs = [torch.tensor(a, requires_grad=True) for a in arrays]
        x, w, b = [fl.param(a, tags) for a, tags in zip(arrays, ('n c t', 'c o k', 'o'))]
        want = torch.nn.functional.conv_transpose1d(*theirs, stride=stride, padding=padding, output_padding=output_pad)
        y = x.conv_transpose1d(w, 't', 'k', bias=b, stride=stride, padding=padding, output_pad=output_pad)
        g = rng.standard_normal(want.shape)
        want.backward(torch.tensor(g)); y.backward(fl.Tensor(g, 'n o t'))
        np.testing.assert_allclose(y.permute('n o t').numpy(), want.detach().numpy(), rtol=1e-9, atol=1e-12)
        for ours, t in zip((x, w, b), theirs):
            np.testing.assert_allclose(ours.grad.numpy(), t.grad.numpy(), rtol=1e-9, atol=1e-12)


# layouts, backends, threads

def everything(x, seed=5):
    "Results and gradients of every image op."
    x = fl.param(x, 'h w c')
    c = x.size('c')
    w, f, b, a = [
        fl.param(normal(tags, *shape, seed=i)) for i, (tags, shape) in enumerate(
            (('o kh kw c', (4, 3, 3, c)), ('o kh kw c', (c, 3, 2, 1)), ('o', (4,)), ('c', (c,))))]
    outs = [x.conv2d(w, b, padding=1, relu=True),
            x.conv2d(w, stride=(2, 1)),
            x.conv2d(f, groups=c, padding=1, stride=2), x.max_pool2d(2), x.max_pool2d(3, 2, 1),
            x.avg_pool2d((2, 3), 1, 1), x.upsample2x_nearest(), x.unfold((2, 3), 2, 1),
            x.unfold(2).fold((x.size('h'), x.size('w')), 2), x.prelu(a), x.channel_affine(a, a),
            x.conv1d(w.select(kh=0), 'w', 'kw', dilation=2, padding=2),
            x.conv_transpose1d(w.select(kh=0), 'h', 'kw', stride=2)]
    for i, y in enumerate(outs): y.backward(rng(seed + i).standard_normal(y.shape).astype('f4'))
    return [y.data for y in outs] + [t.grad.data for t in (x, w, f, b, a)]

@pytest.mark.parametrize('layout', ['plain', 'fortran', 'stepped', 'negative'])
@pytest.mark.parametrize('shape', [(3, 4, 1), (7, 6, 4), (9, 12, 5)])
def test_backends_and_layouts(shape, layout, every_size):
    a = rng(0).standard_normal(shape).astype('f4')
    b = {'plain': a, 'fortran': np.asfortranarray(a), 'stepped': np.repeat(a, 2, 1)[:, ::2],
         'negative': a[::-1].copy()[::-1]}[layout]
    with fl.use_backend('numpy'): want = everything(a)
    for name in fl.backends():
        with fl.use_backend(name): got = everything(b)
        for p, q in zip(got, want, strict=True): np.testing.assert_allclose(p, q, rtol=2e-5, atol=2e-5)

def test_threads_change_nothing(every_size):
    before, results = fl.get_num_threads(), []
    for n in (1, 2):
        fl.set_num_threads(n)
        x = fl.param(normal('h w c', 40, 30, 5))
        for y in (x.max_pool2d(3, 2, 1), x.avg_pool2d(3, 1, 1),
                  x.conv2d(normal('o kh kw c', 5, 3, 3, 1), groups=5), x.upsample2x_nearest(),
                  x.unfold(3, 2, 1)):
            y.square().sum().backward()
        results.append(x.grad.data.tobytes())
    fl.set_num_threads(before)
    assert results[0] == results[1]

@pytest.mark.parametrize('piece', [1, 100, 1000])
def test_pieces_change_little(piece, monkeypatch):
    "A matrix of windows cut into single rows, or into images, gives what it gives in one."
    x, w = normal('b h w c', 3, 7, 6, 2), normal('o kh kw c', 3, 3, 2, 2, seed=1)
    def run():
        p, q, outs = fl.param(x), fl.param(w), []
        for kw in (dict(padding=1), dict(stride=2, padding=(0, 1))):
            y = p.conv2d(q, **kw)
            y.square().sum().backward()
            outs.append(y.data)
        return outs + [p.grad.data, q.grad.data]
    want = run()
    monkeypatch.setattr(conv, 'PIECE', piece)
    for a, b in zip(run(), want): np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-4)


# tiles

TILED = [(1, 16, 16, 64, 64, 1), (2, 19, 20, 65, 70, 1), (3, 13, 14, 64, 72, 0), (1, 18, 17, 68, 64, 2)]

@pytest.mark.parametrize('n,h,w,c,o,padding', TILED)
@pytest.mark.parametrize('backend', fl.backends())
def test_tiles_agree_with_windows(n, h, w, c, o, padding, backend, monkeypatch):
    x, k, b = normal('n h w c', n, h, w, c), normal('o kh kw c', o, 3, 3, c, seed=1), normal('o', o, seed=2)
    def run(dtype, **kw):
        p, q, r = [fl.param(t.to(dtype)) for t in (x, k, b)]
        y = p.conv2d(q, r, padding=padding, **kw)
        y.backward(rng(3).standard_normal(y.shape).astype(y.dtype.np))
        return [y.data, p.grad.data, q.grad.data, r.grad.data]
    calls = []
    monkeypatch.setattr(images, 'by_tiles', lambda *a, by=images.by_tiles: calls.append(1) or by(*a))
    with fl.use_backend(backend):
        for got, want in zip(run('f32'), run('f64')):
            np.testing.assert_allclose(got, want, rtol=0, atol=3e-6 * np.abs(want).max())
    assert len(calls) == 2        # forward and the gradient of x, in f32 alone

@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_in_its_windows(bad):
    x, w = normal('h w c', 20, 21, 64), normal('o kh kw c', 64, 3, 3, 64, seed=1)
    good = x.conv2d(w, padding=1).data
    x.data[7, 8, 3] = bad
    y = x.conv2d(w, padding=1, relu=True).data
    hit = ~np.isclose(y, np.maximum(good, 0), atol=1e-3).all(-1)
    assert hit.sum() == 9 and hit[6:9, 7:10].all()
    if bad == np.inf: assert set(y[7, 8].tolist()) == {0., np.inf}
    k = normal('o kh kw c', 64, 3, 3, 64, seed=1)
    k.data[5, 1, 1, 2] = bad
    y = normal('h w c', 20, 21, 64).conv2d(k, padding=1).data
    assert np.isfinite(np.delete(y, 5, -1)).all()
    assert (np.isnan(y[..., 5]).all() if np.isnan(bad) else np.isinf(y[..., 5]).all())
    p = fl.param(normal('h w c', 20, 21, 64))
    g = np.zeros((20, 21, 64), 'f4')
    g[7, 8, 3] = bad
    p.conv2d(w, padding=1).backward(g)
    assert np.isfinite(p.grad.data).all(-1).sum() == 20 * 21 - 9

def test_prepared_gives_the_same_bits():
    for (n, h, w, c, o, padding), groups in ((TILED[1], 1), ((1, 5, 6, 3, 4, 1), 1), ((1, 9, 9, 8, 8, 0), 2)):
        x, k, b = (normal('n h w c', n, h, w, c),
                   normal('o kh kw c', o, 3, 3, c // groups, seed=1),
                   normal('o', o, seed=2))
        ready = k.prepare_conv2d()
        for relu in (False, True):
            y = x.conv2d(k, b, padding=padding, groups=groups, relu=relu)
            assert (x.conv2d(ready, b, padding=padding, groups=groups, relu=relu).data == y.data).all()
            if relu: assert (y.data == x.conv2d(k, b, padding=padding, groups=groups).relu().data).all()
        assert (ready.planes is not None) == (c >= 64) and ready.shape == k.shape and ready.tags == k.tags
        before = x.conv2d(ready, padding=padding, groups=groups).data
        # a copy: what happens to the weight later does not matter
        k.data[:] = 0
        assert (x.conv2d(ready, padding=padding, groups=groups).data == before).all()

def test_prepared_refuses_gradients():
    x, w, b = fl.param(normal('h w c', 3, 3, 1)), normal('o kh kw c', 2, 2, 2, 1, seed=1), fl.param(C([1., 2.], 'o'))
    ready = w.prepare_conv2d()
    for call in (lambda: x.conv2d(ready), lambda: x.detach().conv2d(ready, b), lambda: fl.param(w).prepare_conv2d()):
        with pytest.raises(GradientPreparedConv2dUnsupported): call()
        with fl.no_grad(): call()
    assert issubclass(GradientPreparedConv2dUnsupported, UnsupportedGradient)


# conv2d

def test_relu_is_a_relu():
    x, w, b = (fl.param(normal('h w c', 5, 6, 2)),
               fl.param(normal('o kh kw c', 3, 3, 3, 2, seed=1)),
               fl.param(normal('o', 3, seed=2)))
    grads = []
    for f in (lambda: x.conv2d(w, b, padding=1, relu=True), lambda: x.conv2d(w, b, padding=1).relu()):
        for t in (x, w, b): t.grad = None
        f().square().sum().backward()
        grads.append([t.grad.data for t in (x, w, b)])
    for p, q in zip(*grads): np.testing.assert_array_equal(p, q)
    assert C([[[-1.], [np.nan]]], 'h w c').conv2d(C([[[[1.]]]], 'o kh kw c'), relu=True).data.ravel()[0] == 0
    assert np.isnan(C([[[np.nan]]], 'h w c').conv2d(C([[[[1.]]]], 'o kh kw c'), relu=True).item())

@pytest.mark.parametrize('kw,kind', [(dict(stride=0), ShapeMismatch),
                                     (dict(stride=(1, 0)), ShapeMismatch),
                                     (dict(padding=-1), ShapeMismatch),
                                     (dict(groups=0), ShapeMismatch),
                                     (dict(groups=2), ShapeMismatch),
                                     (dict(stride=1.5), OptionError),
                                     (dict(padding=(1, 1, 1)), OptionError),
                                     (dict(groups=True), OptionError),
                                     (dict(bias=C([1., 2.], 'o')), ShapeMismatch),
                                     (dict(bias=C([1.], 'c')), TagError),
                                     (dict(bias=fl.Tensor(np.ones(1), 'o')), DTypeError)])
def test_conv2d_refuses(kw, kind):
    x, w = normal('h w c', 3, 3, 1), normal('o kh kw c', 1, 2, 2, 1)
    with pytest.raises(kind): x.conv2d(w, **kw)

def test_names_of_weights():
    x = normal('h w c', 3, 4, 2)
    assert x.conv2d(normal('c h w d', 2, 2, 2, 2)).tags == ('h', 'w', 'c')
    assert x.conv2d(normal('o h w c', 5, 2, 2, 2)).tags == ('h', 'w', 'o')
    for wrong in ('h kh kw d', 'o w h c', 'o kh c kw', 'kh kw c o'):
        with pytest.raises(TagError): x.conv2d(normal(wrong, 2, 2, 2, 2))
    with pytest.raises(TagError, match='taken|another place'):
        normal('b h w c', 1, 3, 3, 2).conv2d(normal('b kh kw c', 2, 2, 2, 2))

def test_halves_round_once():
    x, w = normal('h w c', 6, 6, 3), normal('o kh kw c', 2, 3, 3, 3, seed=1)
    for half in ('f16', 'bf16'):
        h, k = x.to(half), w.to(half)
        y = h.conv2d(k, padding=1)
        assert y.dtype == half and y.tolist() == h.to('f32').conv2d(k.to('f32'), padding=1).to(half).tolist()
        assert h.conv2d(k.prepare_conv2d(), padding=1).tolist() == y.tolist()
        assert h.max_pool2d(2).dtype == half and h.conv1d(k.select(kh=0), 'w', 'kw').dtype == half


# pools

def test_first_of_equals_wins():
    x = fl.param(np.full((2, 2, 1), 7, 'f4'), 'h w c')
    x.max_pool2d(2).sum().backward()
    assert x.grad.data.ravel().tolist() == [1, 0, 0, 0]
    # first in the order of tags, not of memory
    y = fl.param(np.full((2, 3, 1), 7, 'f4').transpose(1, 0, 2), 'w h c').permute('h w c')
    leaf = fl.param(np.zeros((3, 3, 1), 'f4'), 'h w c')
    leaf.max_pool2d(2, 1).sum().backward()
    assert leaf.grad.data[..., 0].tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 0]] and y.max_pool2d((2, 3)).item() == 7

@pytest.mark.parametrize('backend', fl.backends())
def test_pools_and_strange_numbers(backend, every_size):
    inf, nan = np.inf, np.nan
    with fl.use_backend(backend):
        x = fl.param(C([[[nan], [1.]], [[-inf], [nan]]], 'h w c'))
        x.max_pool2d(2).sum().backward()
        assert x.grad.data.ravel().tolist() == [0, 1, 0, 0]
        for all_the_same in (-inf, nan):
            y = fl.param(np.full((2, 2, 1), all_the_same, 'f4'), 'h w c')
            z = y.max_pool2d(3, 1, 1)
            z.sum().backward()
            assert np.array_equal(z.data, np.full((2, 2, 1), all_the_same), equal_nan=True)
            assert y.grad.data.ravel().tolist() == [4, 0, 0, 0]
        assert C([[[1.], [2.]], [[3.], [6.]]], 'h w c').avg_pool2d(2, 2, 1).data.ravel().tolist() == [1, 2, 3, 6]

@pytest.mark.parametrize('name', ['max_pool2d', 'avg_pool2d'])
@pytest.mark.parametrize('args,kind',
                         [((0,), InvalidShape), ((2, 0), InvalidShape), ((2, 1, 2), InvalidShape),
                          ((4,), ShapeMismatch), ((2, 1, -1), InvalidShape),
                          (((2, 2, 2),), OptionError), (('2',), OptionError)])
def test_pools_refuse(name, args, kind):
    with pytest.raises(kind): getattr(normal('h w c', 3, 3, 1), name)(*args)


# one number for each channel

def test_prelu_and_affine_along_any_axis():
    x, a = normal('c t', 3, 5), normal('c', 3, seed=1)
    assert (x.prelu(a).data == x.permute('t c').prelu(a).data.T).all()
    assert (x.channel_affine(a, a).data == (x * a + a).permute('c t').data).all()
    z = fl.param(C([0., -0., np.nan], 'c'))
    y = z.prelu(C([.5, .5, .5], 'c'))
    y.backward([1., 1., 1.])
    assert z.grad.tolist() == [.5, .5, .5] and np.isnan(y.data[2])

def test_worked_examples():
    assert C([[1.], [2.], [3.]], 'time in').conv1d(C([[[1.]], [[1.]]], 'tap in out'), 'time',
                                                   'tap').tolist() == [[3], [5]]
    x = C([[[1.], [2.]], [[3.], [4.]]], 'h w c')
    assert x.unfold(2, 2).tolist() == [[1, 2, 3, 4]] and x.max_pool2d(2).item() == 4 and x.avg_pool2d(2).item() == 2.5
    # the last tap is the newest value
    assert C([1., 2., 3.], 't').insert_axis('c').conv1d(
        C([[1., 10.]], 'c tap'), 't', 'tap', causal=True).data.ravel().tolist() == [10, 21, 32]

def test_rules_keep_no_result():
    "Only relu needs the values of its result, a pool only the winners, unfold nothing."
    import weakref
    x, w = fl.param(normal('h w c', 20, 20, 2)), fl.param(normal('o kh kw c', 2, 2, 2, 2))
    def alive(f):
        y = f()
        data, loss = weakref.ref(y.data.base if y.data.base is not None else y.data), y.sum()
        del y
        return data() is not None, loss
    assert not alive(lambda: x.conv2d(w))[0] and alive(lambda: x.conv2d(w, relu=True))[0]
    assert not alive(lambda: x.max_pool2d(2))[0] and not alive(lambda: x.unfold(2))[0]

def test_windows_of_one_pixel_are_a_copy(every_size):
    x = normal('h w c', 3, 4, 2)
    for name in fl.backends():
        with fl.use_backend(name):
            for y in (x.unfold(1), x.max_pool2d(1), x.avg_pool2d(1), x.unfold(1).fold((3, 4), 1)):
                assert not np.shares_memory(y.data, x.data)
                assert y.data.ravel().tolist() == x.data.ravel().tolist()


@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_depthwise_border_times_what_is_no_number(backend, bad):
    "A zero beyond the border counts as a zero: times NaN or inf it is NaN, in torch too, on every backend."
    x, w = np.ones((2, 3), 'f4'), np.ones((2, 2), 'f4')
    w[1, 0] = bad
    y = fl.Tensor(x, 'c time').conv1d(fl.Tensor(w, 'c tap'), 'time', 'tap', causal=True).data
    np.testing.assert_array_equal(y[0], [1, 2, 2])
    np.testing.assert_array_equal(y[1], [np.nan, bad, bad])


# without a matrix of windows

DIRECTLY = [(16, 16, 1, 3, 1), (32, 40, 1, 3, 1), (1, 16, 1, 3, 2), (3, 33, 1, 5, 1), (24, 48, 2, 3, 1),
            (32, 32, 8, 3, 1), (20, 7, 1, (1, 3), 1), (17, 64, 1, 2, 2)]

def directly(c, o, groups, size, stride, seed=0, dtype='f4'):
    "x, w and b of a convolution that makes no matrix, its options, and a gradient."
    kh, kw = size if isinstance(size, tuple) else (size, size)
    x, w, b = [fl.param(normal(tags, *shape, seed=seed + i, dtype=dtype)) for i, (tags, shape) in enumerate((
        ('n h w c', (3, 17, 19, c)), ('o kh kw i', (o, kh, kw, c // groups)), ('o', (o,))))]
    how = dict(stride=stride, padding=(kh // 2, kw // 2), groups=groups)
    return (x, w, b), how, rng(9).standard_normal(x.conv2d(w, b, **how).shape).astype(dtype)

def both_ways(leaves, how, g):
    x, w, b = leaves
    y = x.conv2d(w, b, relu=True, **how)
    y.backward(g)
    return [a.copy() for a in (y.numpy(), *[t.grad.numpy() for t in leaves])]

@pytest.mark.parametrize('case', DIRECTLY)
def test_threads_change_no_bit_of_a_direct_convolution(case):
    before, results = fl.get_num_threads(), []
    try:
        for n in (1, 2, 3):
            fl.set_num_threads(n)
            results.append([a.tobytes() for a in both_ways(*directly(*case))])
    finally: fl.set_num_threads(before)
    assert results[0] == results[1] == results[2]

@pytest.mark.torch
@pytest.mark.parametrize('dtype,tol', [('f4', 3e-6), ('f8', 1e-12)])
@pytest.mark.parametrize('case', DIRECTLY)
def test_direct_convolutions_beside_torch(case, dtype, tol):
    torch = pytest.importorskip('torch')
    leaves, how, g = directly(*case, dtype=dtype)
    first = lambda a: torch.tensor(np.ascontiguousarray(np.moveaxis(a, -1, 1) if a.ndim == 4 else a))
    theirs = [first(t.numpy()).requires_grad_() for t in leaves]
    y = torch.nn.functional.conv2d(*theirs, **how).relu()
    y.backward(first(g))
    for ours, t in zip(both_ways(leaves, how, g), (y.detach(), *[t.grad for t in theirs]), strict=True):
        want = np.moveaxis(t.numpy(), 1, -1) if t.ndim == 4 else t.numpy()
        np.testing.assert_allclose(ours, want, rtol=0, atol=tol * max(1, np.abs(want).max()))

def test_what_is_not_a_number_stays_in_its_windows():
    (x, w, b), how, g = directly(20, 40, 1, 3, 1)
    x.data[0, 8, 8, 0] = np.nan
    lost = np.isnan(x.conv2d(w, b, **how).numpy()).all(-1)
    assert np.argwhere(lost).tolist() == [[0, i, j] for i in (7, 8, 9) for j in (7, 8, 9)]
