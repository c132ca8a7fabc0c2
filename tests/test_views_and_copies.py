"""Views and copies: the right numbers, the right memory, gradients that go back where they came from."""
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
import fucinalib as fl
from fucinalib import Tensor, param
from fucinalib.autograd import Part
from fucinalib.gradients import gradcheck
from fucinalib.errors import *

V = lambda data, tags='': param(data, tags)
C = lambda data, tags='', dtype=None: Tensor(data, tags, dtype)
same = np.testing.assert_array_equal
slice_ = slice


# ---- tensors of any shape in any layout
def laid_out(a, layout):
    "The same values in another place of memory."
    if layout == 'fortran': return np.asfortranarray(a).reshape(a.shape)
    if layout == 'backwards':
        return a[tuple(slice_(None, None, -1) for _ in a.shape)].copy()[tuple(slice_(None, None, -1)
                                                                              for _ in a.shape)]
    if layout == 'stepped':
        big = np.full([2 * n for n in a.shape], 99, a.dtype)
        big[tuple(slice_(None, None, 2) for _ in a.shape)] = a
        return big[tuple(slice_(None, None, 2) for _ in a.shape)]
    if layout == 'transposed': return a.T.copy().T
    return a.copy()

LAYOUTS = ['plain', 'fortran', 'backwards', 'stepped', 'transposed']

@st.composite
def tensors(draw, least=0, most=4, dtype='f8'):
    tags = draw(st.permutations('abcd'))[:draw(st.integers(least, most))]
    shape = [draw(st.integers(1, 4)) for _ in tags]
    return Tensor(laid_out(np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype),
                           draw(st.sampled_from(LAYOUTS))),
                  tuple(tags))

def view_of(y, x):
    "y reads the memory of x: a change there shows here."
    if not np.shares_memory(y.data, x.data): return False
    before, kept = y.data.copy(), x.data.copy()
    x.data += 1
    shows = (y.data == before + 1).all()
    x.data[...] = kept
    return shows

def checked(f, x): return gradcheck(f, x)


# ---- views
@given(tensors(), st.data())
def test_permute(x, data):
    order = data.draw(st.permutations(x.tags))
    y = x.permute(tuple(order))
    assert y.tags == tuple(order) and view_of(y, x)
    same(y.data, x.data.transpose([x.tags.index(t) for t in order]))
    back = y.permute(x.tags)
    assert back.data.strides == x.data.strides and back.tags == x.tags
    if x.ndim == 2: same(x.T.data, x.data.T)
    checked(lambda x: x.permute(tuple(order)), x)

@given(tensors(), st.data())
def test_rename(x, data):
    new = data.draw(st.permutations('abcdefgh'))[:x.ndim]
    y = x.rename(tuple(new))
    assert y.tags == x.rename(' '.join(new)).tags == tuple(new) and view_of(y, x)
    assert x.rename(**dict(zip(x.tags, new))).tags == y.tags
    same(y.data, x.data)

@pytest.mark.parametrize('tags, call, right', [
    ('batch feature', lambda x: x.rename('feature', 'f'), 'batch f'),
    ('batch feature', lambda x: x.rename('batch', 'n'), 'n feature'),
    ('batch feature', lambda x: x.rename({'feature': 'f'}), 'batch f'),
    ('batch channel h w', lambda x: x.rename('h', 'height'), 'batch channel height w'),
    ('batch channel h w', lambda x: x.rename({'h': 'y', 'w': 'x'}), 'batch channel y x'),
    ('feature', lambda x: x.rename('feature', 'f'), 'f'), ('row in', lambda x: x.rename('in', 'out'), 'row out')])
def test_a_change_of_one_name_is_not_taken_for_the_names_of_all(tags, call, right):
    "x.rename('feature', 'f') renamed 'batch'."
    x = fl.zeros(tags, (2,) * len(tags.split()))
    with pytest.raises(TagError, match="takes a change as old='new'") as e: call(x)
    assert [eval(c, dict(x=x)).tags for c in e.value.help.split('; ')[:1]] == [tuple(right.split())]

def test_names_of_all_axes_are_taken_in_order():
    x = fl.zeros('batch feature', (2, 3))
    for call in (lambda: x.rename('n f'), lambda: x.rename('n', 'f'), lambda: x.rename(('n', 'f')),
                 lambda: x.rename(['batch', 'f'])): assert call().shape == (2, 3) and call().tags[1] == 'f'
    assert x.rename('feature', 'batch').tags == ('feature', 'batch') and x.rename('batch f').tags == ('batch', 'f')
    with pytest.raises(TagError, match='names both axes, in order') as e: x.rename('feature', 'f')
    assert eval(e.value.help.split('; ')[1].split(' names')[0], dict(x=x)).tags == ('feature', 'f')

@given(tensors(), st.data())
def test_align_insert_squeeze(x, data):
    tags = data.draw(st.permutations((*x.tags, 'n', 'm')))
    y = x.align_to(tuple(tags))
    assert y.tags == tuple(tags) and view_of(y, x) and y.sizes == {**x.sizes, 'n': 1, 'm': 1}
    same(y.squeeze('m n').permute(x.tags).data, x.data)
    at = data.draw(st.integers(-x.ndim - 1, x.ndim))
    z = x.insert_axis('n', at)
    same(z.data, np.expand_dims(x.data, at))
    assert view_of(z, x) and z.axis('n') == at % (x.ndim + 1) and z.squeeze('n').tags == x.tags
    checked(lambda x: x.align_to(tuple(tags)), x)

@given(tensors(1), st.data())
def test_split_then_merge(x, data):
    tag = data.draw(st.sampled_from(x.tags))
    n = x.size(tag)
    k = data.draw(st.sampled_from([d for d in range(1, n + 1) if n % d == 0]))
    y = x.split(tag, 'p q', q=k)
    i = x.axis(tag)
    assert y.tags == x.tags[:i] + ('p', 'q') + x.tags[i + 1:] and view_of(y, x)
    same(y.data, x.data.reshape(x.shape[:i] + (n // k, k) + x.shape[i + 1:]))
    back = y.merge(tag, 'p q')
    assert back.tags == x.tags and view_of(back, x)
    same(back.data, x.data)
    checked(lambda x: x.split(tag, 'p q', (-1, k)).merge('z', 'p q'), x)

@given(tensors(1), st.data())
def test_merge_is_a_view_or_refused(x, data):
    "UnsupportedView exactly where NumPy could not reshape without a copy."
    i = data.draw(st.integers(0, x.ndim - 1))
    j = data.draw(st.integers(i + 1, x.ndim))
    right = x.data.reshape(x.shape[:i] + (int(np.prod(x.shape[i:j])),) + x.shape[j:])
    try: y = x.merge('z', x.tags[i:j])
    except UnsupportedView as e:
        assert not np.shares_memory(right, x.data) and 'contiguous' in str(e)
        y = x.contiguous().merge('z', x.tags[i:j])
    else: assert view_of(y, x)
    same(y.data, right)
    assert y.tags == x.tags[:i] + ('z',) + x.tags[j:]

@given(tensors(), st.data())
def test_broadcast_to(x, data):
    tags = data.draw(st.permutations((*x.tags, 'n')))
    sizes = {t: n if n > 1 else data.draw(st.integers(1, 3)) for t, n in {**x.sizes, 'n': 1}.items()}
    y = x.broadcast_to(tuple(tags), **sizes)
    assert y.sizes == {t: sizes[t] for t in tags} and np.shares_memory(y.data, x.data)
    same(y.data, np.broadcast_to(x.align_to(tuple(tags)).data, [sizes[t] for t in tags]))
    with pytest.raises(ValueError): y.data[...] = 0
    checked(lambda x: x.broadcast_to(tuple(tags), **sizes), x)

@given(tensors(1), st.data())
def test_narrow_select_slice(x, data):
    t = data.draw(st.sampled_from(x.tags)); n, i = x.size(t), x.axis(t)
    start = data.draw(st.integers(0, n - 1)); length = data.draw(st.integers(1, n - start))
    at = lambda k: (slice_(None),) * i + (k,)
    y = x.narrow(t, start, length)
    same(y.data, x.data[at(slice_(start, start + length))]); assert view_of(y, x) and y.tags == x.tags
    k = data.draw(st.integers(-n, n - 1))
    y = x.select(**{t: k})
    same(y.data, x.data[at(k)]); assert view_of(y, x) and t not in y.tags
    same(x.select(t, k).data, y.data); same(x[{t: k}].data, y.data)
    s = slice_(data.draw(st.none() | st.integers(-6, 6)),
               data.draw(st.none() | st.integers(-6, 6)), data.draw(st.none() | st.integers(1, 3)))
    right = x.data[at(s)]
    if right.size == 0:
        with pytest.raises(InvalidShape, match='empty'): x.slice(**{t: s})
        return
    y = x.slice(**{t: s})
    same(y.data, right); same(x[{t: s}].data, right); assert view_of(y, x) and y.tags == x.tags
    checked(lambda x: x.slice(**{t: s}), x)
    checked(lambda x: x[{t: k}], x)

@given(tensors(1))
def test_unbind_then_stack(x):
    for t in x.tags:
        parts = x.unbind(t)
        assert len(parts) == x.size(t) and all(view_of(p, x) for p in parts)
        same(fl.stack(parts, t, x.axis(t)).data, x.data)

@given(tensors(2), st.data())
def test_diagonal_and_trace(x, data):
    a, b = data.draw(st.permutations(x.tags))[:2]
    i, j = x.axis(a), x.axis(b)
    y = x.diagonal(a, b, 'z')
    same(y.data, np.diagonal(x.data, 0, i, j))
    assert np.shares_memory(y.data, x.data) and y.tags == tuple(t for t in x.tags if t not in (a, b)) + ('z',)
    same(x.trace(a, b).data, np.trace(x.data, 0, i, j))
    checked(lambda x: x.diagonal(a, b, 'z'), x); checked(lambda x: x.trace(a, b), x)

@given(tensors(), st.data())
def test_flatten_reshape_contiguous(x, data):
    for y in (x.flatten('z'), x.reshape('z', (-1,)), x.reshape('z', z=x.numel)):
        same(y.data, x.data.ravel())
        assert y.tags == ('z',) and np.shares_memory(y.data, x.data) >= x.data.flags.c_contiguous
    c, m = x.contiguous(), x.materialize()
    assert c.data.flags.c_contiguous and m.data.flags.c_contiguous
    assert np.shares_memory(c.data, x.data) == x.data.flags.c_contiguous
    assert not np.shares_memory(m.data, x.data)
    same(c.data, x.data); same(m.data, x.data)
    checked(lambda x: x.contiguous().reshape('p z', p=1), x)

@given(st.integers(1, 20), st.lists(st.tuples(st.integers(1, 4), st.integers(-4, 4)), max_size=3), st.integers(0, 19))
def test_view_with_strides(n, axes, offset):
    x = C(np.arange(n, dtype='f8'), 'd')
    shape, strides = [a for a, _ in axes], [s for _, s in axes]
    reached = np.array([offset + sum(i * s for i, s in zip(at, strides)) for at in np.ndindex(*shape)])
    call = lambda x: x.view_with_strides('a b c'.split()[:len(axes)], shape, strides, offset)
    if reached.min() < 0 or reached.max() >= n:
        with pytest.raises(InvalidDataLength, match='help:'): call(x)
        return
    same(call(x).data.ravel(), reached)
    assert np.shares_memory(call(x).data, x.data)
    checked(call, x)

@pytest.mark.slow
@pytest.mark.parametrize('test',
                         [test_permute, test_split_then_merge, test_merge_is_a_view_or_refused,
                          test_broadcast_to, test_narrow_select_slice, test_view_with_strides],
                         ids=lambda t: t.__name__)
def test_long(test): settings(max_examples=500, deadline=None)(test)()


# ---- moves
@given(tensors(1, 3), st.data())
def test_moves_like_numpy(x, data):
    t = data.draw(st.sampled_from(x.tags)); i, n, a = x.axis(t), x.size(t), x.data
    k = data.draw(st.integers(-9, 9))
    reps = data.draw(st.integers(1, 3))
    before, after = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))
    frame = [(before, after) if j == i else (0, 0) for j in range(x.ndim)]
    results = dict(
        flip=(x.flip(t), np.flip(a, i)),
        roll=(x.roll(t, k), np.roll(a, k, i)),
        repeat=(x.repeat(t, reps), np.tile(a, [reps if j == i else 1 for j in range(x.ndim)])),
        pad=(x.pad(t, before, after, 7.), np.pad(a, frame, constant_values=7.)),
        concat=(fl.concat([x, x.narrow(t, 0, 1), x], t), np.concatenate([a, a.take([0], i), a], i)),
        stack=(fl.stack([x, x.flip(t)], 'z', -1), np.stack([a, np.flip(a, i)], -1)),
        diag_embed=(x.diag_embed(t, 'p q'), np.moveaxis(a, i, -1)[..., None] * np.eye(n)))
    for name, (y, right) in results.items():
        if name == 'diag_embed': right = np.moveaxis(right, -2, i)
        same(y.data, right, err_msg=name)
        if name == 'repeat' and reps == 1: assert view_of(y, x)
        else: assert y.data.flags.c_contiguous and not np.shares_memory(y.data, a), name
    for f in (lambda x: x.flip(t), lambda x: x.roll(t, k), lambda x: x.repeat(t, reps),
              lambda x: x.pad(t, before, after), lambda x: x.diag_embed(t, 'p q'),
              lambda x: fl.concat([x, x.flip(t)], t), lambda x: fl.stack([x, x], 'z')):
        checked(f, x)

@given(tensors(1, 3), st.data())
def test_roll_by_and_shift_by(x, data):
    "Section by section against np.roll, offsets as a list and as a tensor with its own order of tags."
    t = data.draw(st.sampled_from(x.tags)); i, n = x.axis(t), x.size(t)
    others = tuple(u for u in x.tags if u != t)
    offsets = C(
        np.array(data.draw(st.lists(st.integers(-9, 9), min_size=x.numel // n, max_size=x.numel // n))).reshape(
            [x.size(u) for u in others]),
        others)
    rolled, shifted = np.empty(x.shape), np.full(x.shape, 7.)
    for at in np.ndindex(*offsets.shape):
        pick = at[:i] + (slice_(None),) + at[i:]
        k, row = int(offsets.data[at]), x.data[pick]
        rolled[pick] = np.roll(row, k)
        for j in range(n):
            if 0 <= j - k < n: shifted[at[:i] + (j,) + at[i:]] = row[j - k]
    for by in (offsets, offsets.permute(tuple(reversed(others))), offsets.data.ravel().tolist()):
        same(x.roll_by(t, by).data, rolled); same(x.shift_by(t, by, 7.).data, shifted)
    checked(lambda x: x.roll_by(t, offsets), x); checked(lambda x: x.shift_by(t, offsets, 7.), x)

@given(tensors(2, 3), st.data())
def test_pad2d(x, data):
    h, w = data.draw(st.permutations(x.tags))[:2]
    left, right, top, bottom = four = [data.draw(st.integers(-3, 2)) for _ in range(4)]
    a = np.pad(x.data,
               [{h: (max(0, top), max(0, bottom)), w: (max(0, left), max(0, right))}.get(t, (0, 0))
                for t in x.tags],
               constant_values=5.)
    cut = {h: (max(0, -top), max(0, -bottom)), w: (max(0, -left), max(0, -right))}
    gone = any(sum(cut[t]) >= a.shape[x.axis(t)] or max(cut[t]) >= x.size(t) for t in (h, w)) or any(
        x.size(t) + sum(p) < 1 for t, p in ((h, (top, bottom)), (w, (left, right))))
    if gone:
        with pytest.raises(InvalidShape, match='left'): x.zero_pad2d(h, w, four)
        return
    right_ = a[tuple(slice_(cut[t][0], a.shape[x.axis(t)] - cut[t][1]) if t in cut else slice_(None) for t in x.tags)]
    y = x.constant_pad2d(h, w, four, 5.)
    same(y.data, right_)
    same(x.zero_pad2d(h, w, four).data, x.constant_pad2d(h, w, four).data)
    checked(lambda x: x.zero_pad2d(h, w, four), x)

def test_reference_vectors():
    x = C([[1., 2.], [3., 4.]], 'h w')
    assert x.zero_pad2d('h', 'w', (1, 0, 0, 1)).tolist() == [[0, 1, 2], [0, 3, 4], [0, 0, 0]]
    assert x.zero_pad2d('h', 'w', (-1, 0, 0, 0)).tolist() == [[2], [4]]
    y = C(np.arange(6.).reshape(2, 3), 'd e')
    with pytest.raises(UnsupportedView): y.T.merge('z', 'e d')


# ---- every layout, every type, every backend: cases 31 and 35
ARRAYS = dict(backwards=np.arange(6., dtype='f4').reshape(2, 3)[:, ::-1],
              flipped=np.flip(np.arange(6., dtype='f4').reshape(2, 3)),
              repeated=np.broadcast_to(np.arange(3., dtype='f4'), (2, 3)),
              big_endian=np.arange(6.).reshape(2, 3).astype('>f4'),
              field=np.zeros((2, 3), [('a', 'i1'), ('b', 'f4')])['b'],
              fortran=np.asfortranarray(np.arange(6., dtype='f4').reshape(2, 3)),
              stepped=np.arange(24., dtype='f4').reshape(4, 6)[::2, 1::2],
              unaligned=np.frombuffer(b'\0' + np.arange(6., dtype='f4').tobytes(), 'f4',
                                      offset=1).reshape(2, 3))
ARRAYS['read_only'] = np.arange(6., dtype='f4').reshape(2, 3); ARRAYS['read_only'].flags.writeable = False

OPS = [o for o in fl.registry.values() if o.family in ('views', 'copies')
       and o.name not in ('squeeze', 'merge', 'view_with_strides', 'diag', 'concat', 'stack')]
CALLS = dict(rename=lambda x: x.rename('p q'), permute=lambda x: x.T,
             insert_axis=lambda x: x.insert_axis('z', 1),
             align_to=lambda x: x.align_to('col z row'),
             split=lambda x: x.split('col', 'p q', p=3),
             contiguous=lambda x: x.contiguous(),
             materialize=lambda x: x.materialize(),
             flatten=lambda x: x.flatten('z'),
             reshape=lambda x: x.reshape('p q', p=3),
             broadcast_to=lambda x: x.broadcast_to('z row col', z=2),
             narrow=lambda x: x.narrow('col', 1, 2),
             select=lambda x: x.select(col=-1),
             slice=lambda x: x.slice(col=(None, None, 2)),
             unbind=lambda x: x.unbind('row')[1],
             diagonal=lambda x: x.diagonal('row', 'col', 'z'),
             repeat=lambda x: x.repeat('row', 2),
             pad=lambda x: x.pad('col', 1, 0),
             flip=lambda x: x.flip('row col'),
             constant_pad2d=lambda x: x.constant_pad2d('row', 'col', (1, -1, 0, 1), 1),
             zero_pad2d=lambda x: x.zero_pad2d('row', 'col', 1),
             roll=lambda x: x.roll('col', 1),
             roll_by=lambda x: x.roll_by('col', [0, 1]),
             shift_by=lambda x: x.shift_by('col', [0, 1]),
             diag_embed=lambda x: x.diag_embed('col', 'p q'),
             trace=lambda x: x.trace('row', 'col'),
             concat=lambda x: fl.concat([x, x.narrow('row', 0, 1)], 'row'),
             stack=lambda x: fl.stack([x, x], 'z', -1),
             merge=lambda x: x.contiguous().merge('z', 'row col'),
             squeeze=lambda x: x.narrow('row', 0, 1).squeeze('row'),
             diag=lambda x: x.select(row=0).diag('p q'),
             view_with_strides=lambda x: x.contiguous().view_with_strides('z', (4,), (-1,), 5))

def test_calls_are_complete():
    assert set(CALLS) == {o.name for o in fl.registry.values() if o.family in ('views', 'copies')}

@pytest.mark.parametrize('layout', ARRAYS)
@pytest.mark.parametrize('name', CALLS)
def test_layout_changes_nothing(name, layout):
    a = ARRAYS[layout]
    copy = np.ascontiguousarray(a, 'f4')
    results = []
    for b in (a, copy):
        x = Tensor(b, 'row col', requires_grad=True)
        y = CALLS[name](x)
        y.backward(np.linspace(1, 2, y.numel, dtype='f4').reshape(y.shape))
        results += [(y, x.grad)]
    (y, g), (right, grad) = results
    assert y.tags == right.tags and y.dtype == 'f32'
    same(y.data, right.data); same(g.data, grad.data)

@pytest.mark.parametrize('dtype', ['f64', 'f16', 'bf16', 'f8_e4m3', 'f8_e5m2', 'i64', 'i32',
                                   'i16', 'i8', 'u8', 'u16', 'bool'])
@pytest.mark.parametrize('name', CALLS)
def test_every_type_moves(name, dtype):
    "No value and no type changes on the way; only a sum of whole numbers is i64 and one of short numbers f32."
    if name == 'trace' and dtype.startswith('f8'): return
    a = np.array([[0, 1, 1], [1, 0, 1]]) if dtype == 'bool' else np.arange(6).reshape(2, 3)
    call = CALLS[name] if dtype != 'bool' or name != 'constant_pad2d' else lambda x: x.constant_pad2d(
        'row', 'col', (1, -1, 0, 1), True)
    y = call(Tensor(a, 'row col').to(dtype))
    right = CALLS[name](Tensor(a.astype('f8'), 'row col'))
    assert y.dtype == (('i64' if y.dtype.is_int else 'f32') if name == 'trace' and dtype != 'f64' else dtype)
    assert y.tags == right.tags
    same(y.data.astype('f8'), right.data)


# ---- worked cases
def test_diagonal_of_a_repeated_index():
    "Case 23: iij->i and iij->ij."
    z = V(np.arange(16.).reshape(2, 2, 4), 'i k j')
    with pytest.raises(TagError): C(z.data, 'i i j')
    d = z.diagonal('i', 'k', 'd')
    assert d.tags == ('j', 'd') and d.tolist() == [[0, 12], [1, 13], [2, 14], [3, 15]]
    assert d.sum('j').tolist() == [6, 54]
    d.sum().backward()
    same(z.grad.data, np.eye(2)[:, :, None] * np.ones(4))

@pytest.mark.parametrize('n', [2, 300])
@pytest.mark.parametrize('backend', fl.backends())
def test_add_to_itself_turned(n, backend):
    "Case 33: an operand that shares the memory being written."
    a = np.arange(1., n * n + 1, dtype='f4').reshape(n, n)
    right = a + a.T
    with fl.use_backend(backend):
        x = C(a.copy(), 'row col')
        x.add_(x.T.rename('row col'))
        same(x.data, right)
        big = np.arange(1., 100_001., dtype='f4')
        x = C(big.copy(), 'd')
        x.narrow('d', 1, 99_999).add_(x.narrow('d', 0, 99_999))
        same(x.data[1:], big[1:] + big[:-1])

def test_row_sums_of_any_layout():
    "Cases 31 and 35."
    for a in (np.asfortranarray(np.arange(6.).reshape(2, 3)), np.arange(6.).reshape(2, 3)[:, ::-1]):
        assert C(a, 'row col').sum('col').tolist() == [3, 12]
    assert C(np.arange(24.).reshape(4, 6)[::2, 1::2], 'row col').sum('col').tolist() == [9, 45]

def test_writes_show_through():
    x = C(np.arange(6.).reshape(2, 3), 'row col')
    y = x.permute('col row').split('row', 'p q', p=2).narrow('col', 1, 1)
    y.data[...] = 9
    assert x.tolist() == [[0, 9, 2], [3, 9, 5]]

def test_no_writes_where_places_are_shared():
    x = C(np.zeros(6, 'f4'), 'd')
    for y in (x.broadcast_to('k d', k=2),
              x.view_with_strides('k d', (2, 6), (0, 1)),
              x.view_with_strides('w t', (4, 3), (1, 1)),
              x.view_with_strides('w t', (2, 2), (-1, 1), 2)):
        with pytest.raises(UnsupportedView, match='materialize'): y.add_(1.)
        y.materialize().add_(1.)
    for shape, strides, offset in (((2, 3), (3, 1), 0), ((3, 2), (1, 3), 0), ((6,), (-1,), 5),
                                   ((2, 1, 2), (4, 0, 1), 0)):
        x.view_with_strides('a b c'.split()[:len(shape)], shape, strides, offset).add_(1.)
    assert x.tolist() == [4, 4, 3, 3, 4, 4]

def test_views_keep_their_base():
    view = C(np.arange(6.), 'd').narrow('d', 4, 2)
    assert view.tolist() == [4, 5]

def test_step_in_a_graph_is_a_copy():
    x = V([0., 1., 2., 3.], 'd')
    assert not np.shares_memory(x.slice(d=(None, None, 2)).data, x.data)
    assert np.shares_memory(x.slice(d=(1, 3)).data, x.data)
    assert np.shares_memory(x.detach().slice(d=(None, None, 2)).data, x.data)
    with fl.no_grad(): assert np.shares_memory(x.slice(d=(None, None, 2)).data, x.data)

def test_infinite_neighbours_stay_out():
    x = C([np.inf, np.nan, 1.], 'd')
    y = x.diag('row col')
    assert np.isfinite(y.data[~np.eye(3, dtype=bool)]).all() and y.data[2, 2] == 1
    m = V([[1., np.inf], [np.nan, 2.]], 'i k')
    assert m.trace('i', 'k').item() == 3
    m.trace('i', 'k').backward()
    assert m.grad.tolist() == [[1, 0], [0, 1]]


# ---- parts
def test_parts_add_up_in_one_array():
    x = V(np.ones((50, 3)), 't d')
    total = sum((h * k for k, h in enumerate(x.unbind('t'))), start=fl.zeros('d', d=3, dtype='f64')).sum()
    (total + x.sum()).backward()
    same(x.grad.data, 1. + np.arange(50.)[:, None] * np.ones(3))

def test_part_of_the_wrong_shape():
    @fl.custom_vjp
    def wrong(x:Tensor): return x.data[:2], x.tags, (lambda g: Part((slice_(0, 3),), g),)
    with pytest.raises(GradientShapeMismatch, match='part of shape'): wrong(V([1., 2., 3.], 'd')).sum().backward()

def test_parts_leave_older_gradients_alone():
    x = V([1., 2.], 'd')
    x.select(d=0).backward()
    before = x.grad
    x.select(d=1).backward()
    assert before.tolist() == [1, 0] and x.grad.tolist() == [1, 1]

def test_part_after_a_shared_array():
    "A whole gradient that other nodes hold too is not written into."
    x = V([1., 2., 3.], 'd')
    h = x * 1
    y = h + h
    (y.sum() + h.select(d=0) * 10 + h.narrow('d', 1, 2).sum() * 100).backward()
    assert x.grad.tolist() == [12, 102, 102] and y.grad is None or y.grad.tolist() == [1, 1, 1]


# ---- square brackets
def test_brackets():
    x = C(np.arange(24.).reshape(2, 3, 4), 'a b c')
    same(x[{'a': 1, 'c': slice_(1, 3)}].data, x.data[1, :, 1:3])
    same(x[{'c': -1, 'a': 0}].data, x.data[0, :, -1])
    same(x[{}].data, x.data)
    same(x[{'b': np.int64(1)}].data, x.data[:, 1])
    same(x[{'b': C(2)}].data, x.data[:, 2])
    for bad, say in ((0, "x[{'a': 0}]"), ((0, slice_(1, None)), "x[{'a': 0, 'b': slice(1, None)}]"),
                     (slice_(0, 2), "x[{'a': slice(0, 2)}]"), ('a', "x[{'a': 0}]"),
                     ([0, 1], 'index_select'), (x > 1, 'masked_select'), (..., "x[{'a': 0}]"),
                     (None, "x[{'a': 0}]")):
        with pytest.raises(TagError) as e: x[bad]
        assert say in str(e.value)
    with pytest.raises(OptionError, match='index_select'): x[{'a': [0, 1]}]
    with pytest.raises(TagError, match='did you mean'): x[{'aa': 0}]
    with pytest.raises(OptionError, match='set_slice'): x[{'a': 0}] = 1

def test_tags_that_are_words_of_the_library():
    "Axes may be called x, self, tags or help."
    for tag in ('x', 'help', 'first', 'kind', 'tags', 'op'):
        t = C([[1., 2.]], ('row', tag))
        assert t.select(**{tag: 1}).tolist() == [2]
        assert t.rename(**{tag: 'z'}).tags == ('row', 'z')
        assert t.slice(**{tag: (0, 1)}).shape == (1, 1)
        with pytest.raises(IndexOutOfBounds): t.select(**{tag: 5})


# ---- refusals
ROWS = C(np.arange(6.).reshape(2, 3), 'row col')
MISTAKES = [
    (TagError, lambda x: x.permute('row')),
    (TagError, lambda x: x.permute('row row')),
    (TagError, lambda x: x.permute('row col z')),
    (TagError, lambda x: x.permute()),
    (TagError, lambda x: x.rename('row row')),
    (TagError, lambda x: x.rename('z')),
    (TagError, lambda x: x.align_to('row z')),
    (TagError, lambda x: x.insert_axis('row')),
    (IndexOutOfBounds, lambda x: x.insert_axis('z', 4)),
    (IndexOutOfBounds, lambda x: x.insert_axis('z', -4)),
    (InvalidShape, lambda x: x.squeeze('row')),
    (TagError, lambda x: x.squeeze()),
    (InvalidShape, lambda x: x.split('col', 'p q', (2, 2))),
    (InvalidShape, lambda x: x.split('col', 'p q', (3, 0))),
    (InvalidShape, lambda x: x.split('col', 'p q', p=2)),
    (InvalidShape, lambda x: x.split('col', 'p q', (-1, -1))),
    (InvalidShape, lambda x: x.split('col', 'p q', (1.5, 2))),
    (TagError, lambda x: x.split('col', 'p row', (1, 3))),
    (TagError, lambda x: x.split('cool', 'p q', (1, 3))),
    (InvalidShape, lambda x: x.split('col', 'p q', p=-1)),
    (TagError, lambda x: x.merge('z', 'col row')),
    (TagError, lambda x: x.insert_axis('m', 1).merge('z', 'row col')),
    (TagError, lambda x: x.insert_axis('m').merge('row', 'm')),
    (UnsupportedView, lambda x: x.T.merge('z', 'col row')),
    (UnsupportedView, lambda x: x.broadcast_to('b row col', b=2).merge('z', 'b row')),
    (ShapeMismatch, lambda x: x.broadcast_to('row col', (2, 6))),
    (TagError, lambda x: x.broadcast_to('row z', (2, 3))),
    (InvalidShape, lambda x: x.broadcast_to('z row col')),
    (InvalidShape, lambda x: x.broadcast_to('z row col', z=0)),
    (InvalidShape, lambda x: x.narrow('col', 0, 0)),
    (IndexOutOfBounds, lambda x: x.narrow('col', 2, 2)),
    (IndexOutOfBounds, lambda x: x.narrow('col', -1, 1)),
    (IndexOutOfBounds, lambda x: x.select(col=3)),
    (IndexOutOfBounds, lambda x: x.select(col=-4)),
    (TagError, lambda x: x.select(cool=0)),
    (OptionError, lambda x: x.select(col=None)),
    (InvalidShape, lambda x: x.slice(col=(None, None, 0))),
    (InvalidShape, lambda x: x.slice(col=(2, 1))),
    (ValueError, lambda x: x.slice(col=(None, None, -1))),
    (TagError, lambda x: x.slice(cool=(0, 1))),
    (OptionError, lambda x: x.slice(col=1)),
    (OptionError, lambda x: x.slice(col=('a', 2))),
    (TagError, lambda x: x.slice(slice_(0, 1))),
    (InvalidDataLength, lambda x: x.view_with_strides('z', (7,), (1,))),
    (UnsupportedView, lambda x: x.T.view_with_strides('z', (2,), (1,))),
    (TagError, lambda x: x.diagonal('row', 'row', 'z')),
    (TagError, lambda x: x.unbind('z')),
    (InvalidShape, lambda x: x.reshape('p q', (2, 2))),
    (TagError, lambda x: x.reshape('col row', (3, 2))),
    (ShapeMismatch, lambda x: fl.concat([x, x.narrow('col', 0, 2)], 'row')),
    (TagError, lambda x: fl.concat([x, x.T], 'row')),
    (TagError, lambda x: fl.concat([x, x.rename(row='z')], 'col')),
    (TagError, lambda x: fl.concat([x], 'z')),
    (DTypeError, lambda x: fl.concat([x, x.to('i64')], 'row')),
    (InvalidShape, lambda x: fl.concat([], 'row')),
    (OptionError, lambda x: fl.concat([x, 1], 'row')),
    (TagError, lambda x: fl.stack([x, x], 'row')),
    (ShapeMismatch, lambda x: fl.stack([x, x.narrow('col', 0, 2)], 'z')),
    (IndexOutOfBounds, lambda x: fl.stack([x], 'z', 3)),
    (InvalidShape, lambda x: fl.stack([], 'z')),
    (InvalidShape, lambda x: x.repeat('row', 0)),
    (InvalidShape, lambda x: x.repeat('row', -1)),
    (ValueError, lambda x: x.pad('row', -1, 0)),
    (TagError, lambda x: x.flip('z')),
    (TagError, lambda x: x.roll('z', 1)),
    (ShapeMismatch, lambda x: x.roll_by('col', [1])),
    (DTypeError, lambda x: x.roll_by('col', [.5, 1.])),
    (UnsupportedGradient, lambda x: x.roll_by('col', V([1., 2.], 'row'))),
    (TagError, lambda x: x.diag('p q')),
    (TagError, lambda x: x.diag_embed('col', 'p')),
    (TagError, lambda x: x.diag_embed('col', 'p row')),
    (TagError, lambda x: x.trace('row', 'row')),
    (InvalidShape, lambda x: x.zero_pad2d('row', 'col', (-3, 0, 0, 0))),
    (InvalidShape, lambda x: x.zero_pad2d('row', 'col', (1, 2, 3))),
    (TagError, lambda x: x.zero_pad2d('row', 'row', 1)),
    (DTypeError, lambda x: x.to('i64').pad('row', 1, 0, .5)),
    (DTypeError, lambda x: x.to('bool').pad('row', 1, 0, 2)),
]

@pytest.mark.parametrize('i', range(len(MISTAKES)))
def test_refusals(i):
    kind, call = MISTAKES[i]
    with pytest.raises(kind, match='help:') as e: call(ROWS)
    assert isinstance(e.value, FucinaError)


# ---- whole numbers of NumPy
@pytest.mark.parametrize('kind', ['u1', 'i1', 'i8'])
def test_short_whole_numbers_do_not_wrap(kind):
    "A shift of np.uint8(3) is 3, and its negative is -3, not 253."
    n = lambda v: np.dtype(kind).type(v)
    x = C(np.arange(300.), 'd')
    assert x.roll('d', n(3)).tolist() == x.roll('d', 3).tolist()
    assert x.pad('d', n(3), n(2)).tolist() == x.pad('d', 3, 2).tolist()
    assert x.repeat('d', n(100)).shape == (30000,)
    assert fl.stack([x, x], 't', n(1)).tags == x.insert_axis('t', n(1)).tags == ('d', 't')


# ---- large copies, which threads share
LARGE = {'whole': (500, 300), 'planes': (3, 400, 130), 'thin': (40_000, 3)}

@pytest.mark.parametrize('shape', LARGE.values(), ids=LARGE)
@pytest.mark.parametrize('dtype', ['f4', 'f8', 'i8'])
def test_large_copies(backend, shape, dtype):
    a = (np.random.default_rng(0).standard_normal(shape) * 9).astype(dtype)
    x = Tensor(a, tuple('abc'[:a.ndim]))
    for i, tag in enumerate(x.tags):
        frame = [(2, 1) if k == i else (0, 0) for k in range(a.ndim)]
        same(fl.concat([x, x], tag).data, np.concatenate([a, a], i))
        same(fl.stack([x, x], 'z', i).data, np.stack([a, a], i))
        same(x.pad(tag, 2, 1, value=7).data, np.pad(a, frame, constant_values=7))
        same(x.roll(tag, 2).data, np.roll(a, 2, i))
        same(x.roll(tag, 0).data, a)
    same(x.materialize().data, a)
    same(fl.full('d', (200_000,), 3, dtype=x.dtype).data, np.full(200_000, 3, dtype))
