"""copy, deepcopy and pickle of everything the library hands out; what a forked or spawned process receives."""
import copy, multiprocessing, multiprocessing.pool, pickle
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import dtypes, errors
from fucinalib.errors import FucinaError, GradError

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
WAYS = {'deepcopy': copy.deepcopy} | {f'pickle {p}': lambda x, p=p: pickle.loads(pickle.dumps(x, p)) for p in PROTOCOLS}
ALL = {'copy': copy.copy} | WAYS
ways = pytest.mark.parametrize('way', WAYS.values(), ids=WAYS)
all_ways = pytest.mark.parametrize('way', ALL.values(), ids=ALL)

REALS = [d for d in dtypes.by_name.values() if not d.is_blocks and d.is_float]
TYPES = [d for d in dtypes.by_name.values() if not d.is_blocks]

def values(shape, dtype, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) * 3).astype(getattr(dtype, 'np', dtype))

def same(x, y):
    "Two tensors alike in everything, with memory of their own."
    assert type(y) is fl.Tensor
    assert (y.tags, y.shape, y.dtype, y.requires_grad) == (x.tags, x.shape, x.dtype, x.requires_grad)
    assert y.data.tobytes() == np.ascontiguousarray(x.data).tobytes()
    assert not np.shares_memory(x.data, y.data) and y.data.flags.c_contiguous and y.data.flags.writeable
    assert y.node is None or y.node is not x.node


# constants

@ways
@pytest.mark.parametrize('dtype', TYPES)
def test_constant(way, dtype):
    for shape, tags in (((), ''), ((3,), 'd'), ((2, 3), 'row col'), ((1, 2, 1), 'a b c'), ((40, 30), 'row col')):
        x = fl.Tensor(values(shape, dtype), tags)
        same(x, way(x))

@ways
def test_special_values(way):
    x = fl.Tensor(np.array([np.nan, np.inf, -np.inf, -0., 1e-45], 'f4'), 'd')
    same(x, way(x))

VIEWS = {'slice': lambda a: a[:2, :3],
         'transposed': lambda a: a.T,
         'backwards': lambda a: a[::-1, ::-1],
         'steps': lambda a: a[::3, ::2],
         'one value': lambda a: a[1, 2],
         'row': lambda a: a[4],
         'column': lambda a: a[:, 4],
         'repeated': lambda a: np.broadcast_to(a[0], a.shape),
         'fortran': np.asfortranarray,
         'read-only': lambda a: read_only(a[2:])}

def read_only(a):
    a = a.view()
    a.flags.writeable = False
    return a

@ways
@pytest.mark.parametrize('view', VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize('leaf', [False, True])
def test_view(way, view, leaf):
    "The part it shows, contiguous, in memory that can be written to."
    a = view(values((600, 500), 'f4'))
    x = fl.Tensor(a, 'row col'.split()[:a.ndim], requires_grad=leaf)
    same(x, way(x))

@pytest.mark.parametrize('protocol', PROTOCOLS)
def test_a_pickle_is_as_large_as_what_is_shown(protocol):
    big = fl.zeros('row col', row=1000, col=1000)
    plain = len(pickle.dumps(fl.zeros('row col', row=2, col=3), protocol))
    for part in (big.slice(row=(0, 2), col=(5, 8)),
                 big.permute('col row').slice(row=(0, 2), col=(5, 8)),
                 big.select(row=0).slice(col=(0, 6)),
                 fl.param(big.data[:2, :3], 'row col')):
        assert len(pickle.dumps(part, protocol)) < plain + 60 < 700
    assert len(pickle.dumps(big, protocol)) >= 4_000_000

def test_two_tensors_of_one_array_part():
    "Sharing between tensors ends with a copy; names of one tensor stay names of one."
    x = fl.zeros('d', d=4)
    y = x.slice(d=(0, 2))
    for way in WAYS.values():
        a, b, c = way([x, y, x])
        assert a is c and not np.shares_memory(a.data, b.data)

@all_ways
def test_two_names_stay_one(way):
    w = fl.param(values(20, 'f4'), 'd')
    class Net: pass
    net = Net(); net.a, net.b, net.layers = w, w, {'first': [w], 'second': (w, fl.ones('d', d=20))}
    twin = copy.deepcopy(net) if way in (copy.deepcopy, copy.copy) else way(vars(net))
    twin = vars(twin) if isinstance(twin, Net) else twin
    assert twin['a'] is twin['b'] is twin['layers']['first'][0] is twin['layers']['second'][0] and twin['a'] is not w
    (twin['a'] * twin['b']).sum().backward()
    np.testing.assert_array_equal(twin['a'].grad.data, 2 * w.data)
    assert w.grad is None

def test_out_of_band_buffers():
    x, buffers = fl.Tensor(values((40, 30), 'f4'), 'row col'), []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert len(data) < 500 and sum(b.raw().nbytes for b in buffers) == x.data.nbytes
    y = pickle.loads(data, buffers=[bytearray(b.raw()) for b in buffers])
    assert y.tags == x.tags and y.tolist() == x.tolist()

@pytest.mark.parametrize('memory', ['own', 'view', 'read-only'])
def test_copy_shares(memory):
    a = values((4, 3), 'f4')
    a = {'own': a, 'view': a[1:, ::2], 'read-only': read_only(a)}[memory]
    x = fl.Tensor(a, 'row col')
    y = copy.copy(x)
    assert y is not x and y.data is x.data and y.tags == x.tags and y.node is None
    assert y.data.flags.writeable == (memory != 'read-only')
    y.requires_grad = True      # one of them a leaf, the other as it was
    assert not x.requires_grad


# leaves

@ways
@pytest.mark.parametrize('dtype', REALS)
@pytest.mark.parametrize('size', [1, 16, 17, 40_000])
def test_leaf(way, dtype, size):
    "Values, names, type, requires_grad and the gradient; 16 values and more (F6)."
    w = fl.param(values(size, dtype), 'd')
    same(w, way(w))
    assert way(w).grad is None
    w.grad = values(size, 'f4', 1)
    twin = way(w)
    same(w, twin); same(w.grad, twin.grad)

@ways
def test_a_copied_leaf_has_a_life_of_its_own(way):
    w = fl.param(values(20, 'f4'), 'd')
    (w * w).sum().backward()
    before, twin = w.grad.data.copy(), way(w)
    assert twin.node.op is None and (twin.node.owner is None or twin.node.owner() is twin)
    (twin * 3.).sum().backward()
    np.testing.assert_array_equal(w.grad.data, before)
    np.testing.assert_array_equal(twin.grad.data, before + 3)
    twin.data[:] = 0
    np.testing.assert_array_equal(w.data, values(20, 'f4'))

@ways
def test_a_copied_leaf_shows_its_own_values(way):
    "Whoever draws the graph of a copy sees the copy."
    w = fl.param(values(20, 'f4'), 'd')
    twin = way(w)
    twin.data[:] = 7
    assert 'all 7' in (twin * 2.).graph(values=True).source and 'all 7' not in (w * 2.).graph(values=True).source

@ways
def test_a_strided_gradient(way):
    w = fl.param(values((40, 30), 'f4'), 'row col')
    w.grad = np.broadcast_to(np.float32(2), (30, 40)).T
    same(w.grad, way(w).grad)

@pytest.mark.torch
def test_leaf_as_in_torch():
    torch = pytest.importorskip('torch')
    for size in (3, 30):
        ours, theirs = fl.param(values(size, 'f4'), 'd'), torch.tensor(values(size, 'f4'), requires_grad=True)
        for w in (ours, theirs): (w * w).sum().backward()
        a, b = copy.deepcopy(ours), copy.deepcopy(theirs)
        for w in (a, b): (w * 2.).sum().backward()
        np.testing.assert_allclose(a.grad.data, b.grad.numpy())
        np.testing.assert_allclose(ours.grad.data, theirs.grad.numpy())
        assert b.is_leaf and b.requires_grad and a.node.op is None and a.requires_grad

def test_copy_of_a_leaf_is_another_name():
    "The same memory and the same place in the graph, so one gradient for both."
    w = fl.param(values(20, 'f4'), 'd')
    v = copy.copy(w)
    assert v is not w and v.data is w.data and v.node is w.node
    (v * 2.).sum().backward()
    assert w.grad.tolist() == v.grad.tolist() == [2.] * 20


# results

RESULTS = {'mul': lambda w: w * 2.,
           'view': lambda w: w.slice(d=(0, 2)),
           'number': lambda w: w.sum(),
           'checkpoint': lambda w: fl.checkpoint(lambda x: x * x, w),
           'custom': lambda w: fl.custom_vjp(lambda_op)(w)}

def lambda_op(x:fl.Tensor): return x.data * 2, x.tags, (lambda g: 2 * g,)

@ways
@pytest.mark.parametrize('make', RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize('size', [3, 30])
def test_a_result_is_refused(way, make, size):
    "As deepcopy is by torch: the copy would have to carry the graph, or lose it."
    w = fl.param(values(size, 'f4'), 'd')
    y = make(w)
    word = 'deepcopy' if way is copy.deepcopy else 'pickle'
    for held in (lambda: y, lambda: [y], lambda: {'loss': y}, lambda: Holder(y)):
        with pytest.raises(GradError, match=rf'(?s){word} of a result of {y.node.op.name}.*x\.detach\(\)'): way(held())
    if size == 3: assert f'd={y.shape[0]}' in str(pytest.raises(GradError, way, y).value) if y.ndim else True
    same(y.detach(), way(y.detach()))
    y.sum().backward()
    assert w.grad is not None
    with pytest.raises(GradError): way(y)       # a spent graph too

class Holder:
    def __init__(self, x): self.x = x

@ways
def test_a_result_of_no_grad_is_a_constant(way):
    with fl.no_grad(): y = fl.param(values(20, 'f4'), 'd') * 2.
    same(y, way(y))

@ways
def test_a_long_graph_is_refused_at_once(way):
    y = w = fl.param(values(20, 'f4'), 'd')
    for _ in range(5000): y = y * 1.
    with pytest.raises(GradError, match='detach'): way(y)
    same(w, way(w))     # the leaf under it

def test_copy_of_a_result_is_in_its_graph():
    w = fl.param(values(20, 'f4'), 'd')
    y = w * 2.
    z = copy.copy(y)
    assert z.data is y.data and z.node is y.node and z.requires_grad
    z.sum().backward()
    assert w.grad.tolist() == [2.] * 20

@pytest.mark.torch
def test_refused_as_in_torch():
    torch = pytest.importorskip('torch')
    with pytest.raises(RuntimeError): copy.deepcopy(torch.ones(2, requires_grad=True) * 2)
    with pytest.raises(RuntimeError): copy.deepcopy(fl.param([1.], 'd') * 2)


# number types, formats, operations

@all_ways
def test_types_and_operations_are_themselves(way):
    for d in dtypes.by_name.values():
        assert way(d) is d and way({'dtype': [d]})['dtype'][0] is d
    for o in fl.registry.values():
        assert way(o) is o and way({'op': (o,)})['op'][0] is o and way(o.call) is o.call

def test_an_operation_of_ones_own():
    o = (fl.custom_vjp(lambda_op)(fl.param([1.], 'd'))).node.op
    assert copy.copy(o) is copy.deepcopy(o) is o
    with pytest.raises(FucinaError, match='lambda_op'): pickle.dumps(o)

@all_ways
@pytest.mark.parametrize('name', [n for n, f in fl.block_formats.items() if f.write])
def test_blocks(way, name):
    x = fl.Tensor(values((8, 512), 'f4'), 'out in')
    q = x.to(name)
    for b in (q, fl.BlockTensor(q.blocks[2:5], name, 'out in')):
        twin = way(b)
        assert type(twin) is fl.BlockTensor and twin.dtype is b.dtype
        assert twin.activation == b.activation and twin.tags == b.tags and twin.shape == b.shape
        np.testing.assert_array_equal(twin.blocks, b.blocks)
        assert np.shares_memory(twin.blocks, b.blocks) == (way is copy.copy)
        np.testing.assert_array_equal(twin.dequantize().data, b.dequantize().data)

def test_a_pickle_of_blocks_is_as_large_as_what_is_shown():
    q = fl.zeros('out in', out=512, **{'in': 1024}).to('q4_0')
    part = fl.BlockTensor(q.blocks[:2], 'q4_0', 'out in')
    for p in PROTOCOLS: assert len(pickle.dumps(part, p)) < 2 * part.nbytes + 600 < q.nbytes / 50

PACKED = {'dense': lambda x: x.pack(),
          'q8_0': lambda x: x.to('q8_0').pack(),
          'q4_k': lambda x: x.to('q4_k').pack(),
          'i8x4': lambda x: x.to('q5_0').pack('i8x4')}

@all_ways
@pytest.mark.parametrize('make', PACKED.values(), ids=PACKED)
def test_packed_weights(way, make):
    w, x = make(fl.Tensor(values((8, 512), 'f4'), 'out in')), fl.Tensor(values((3, 512), 'f4', 1), 'row in')
    twin = way(w)
    assert type(twin) is type(w)
    assert (twin.layout, twin.tags, twin.shape, twin.nbytes, repr(twin)) == (w.layout, w.tags, w.shape,
                                                                             w.nbytes, repr(w))
    np.testing.assert_array_equal(x.dot(twin, 'in').data, x.dot(w, 'in').data)
    shared = [np.shares_memory(a, b) for a, b in zip(twin.arrays, w.arrays) if a is not None]
    assert set(shared) == {way is copy.copy}

@all_ways
@pytest.mark.parametrize('channels', [2, 16])
def test_prepared_conv2d(way, channels):
    w = fl.Tensor(values((channels, 3, 3, channels), 'f4'), 'o kh kw c').prepare_conv2d()
    x, twin = fl.Tensor(values((6, 6, channels), 'f4', 1), 'h w c'), way(w)
    assert repr(twin) == repr(w) and (twin.tags, twin.shape, twin.dtype) == (w.tags, w.shape, w.dtype)
    np.testing.assert_array_equal(x.conv2d(twin).data, x.conv2d(w).data)
    assert np.shares_memory(twin.weight.data, w.weight.data) == (way is copy.copy)

@all_ways
def test_positions_and_tables(way):
    r = fl.AxisRange(5, 3)
    assert way(r) == r and hash(way(r)) == hash(r)
    for positions in (r, [4, 1, 9]):
        table = fl.rope_table(positions, dim=4)
        twin = way(table)
        assert repr(twin) == repr(table) and twin.origin == table.origin and twin.theta == table.theta
        np.testing.assert_array_equal(twin.positions, table.positions)
        for a, b in ((twin.sin, table.sin), (twin.cos, table.cos)):
            np.testing.assert_array_equal(a.data, b.data)
            # a table stays as it was made
            assert np.shares_memory(a.data, b.data) == (way is copy.copy) and not a.data.flags.writeable

@all_ways
def test_what_operations_return_beside_tensors(way):
    x = fl.Tensor(values((2, 5), 'f4'), 'row d')
    top = x.topk('d', 2)
    twin = way(top)
    assert type(twin) is type(top) and twin.values.tolist() == top.values.tolist()
    assert twin.values.tags == top.values.tags
    report = fl.gradcheck(lambda x: x * x, fl.Tensor([1., 2.], 'd'))
    assert repr(way(report)) == repr(report)
    told = fl.explain(x.dot, fl.ones('d out', d=5, out=2), 'd')
    assert repr(way(told)) == repr(told)


# errors

def every_kind(kind=FucinaError):
    return [kind] + [k for s in kind.__subclasses__() for k in every_kind(s)]

@all_ways
@pytest.mark.parametrize('kind', every_kind())
def test_errors(way, kind):
    "All an error says survives, and no tensor travels with it."
    x, y = fl.param(values((2, 3), 'f4'), 'row col') * 2., fl.ones('col', col=4)
    e = errors.fault(kind, 'over what: this is wrong', help='x.{op}()', x=x, y=y, n=3)
    e.add_note('and more')
    for told in (e, kind('only a line'), kind()):
        twin = way(told)
        assert type(twin) is kind and str(twin) == str(told)
        assert getattr(twin, '__notes__', []) == getattr(told, '__notes__', [])

def faults():
    yield lambda: fl.ones('a b', (2, 3)).dot(fl.ones('b c', (2, 2)), 'b')
    yield lambda: fl.Tensor([1.], 'd').unsqueeze(0)
    yield lambda: fl.ones('d', d=32).to('q8_0').sum()
    yield lambda: fl.ones('d', d=32).to('q8_0').sofmax
    yield lambda: fl.zeros('d', (2,)).cumsum('e')
    yield lambda: (fl.param([1., 2.], 'd') * 2.).backward()
    yield lambda: fl.use_backend('nunpy')
    yield lambda: copy.deepcopy(fl.param([1.], 'd') * 2.)
    yield lambda: fl.maximun

@all_ways
def test_errors_as_they_are_raised(way):
    for wrong in faults():
        with pytest.raises(FucinaError) as caught: wrong()
        twin = way(caught.value)
        assert type(twin) is type(caught.value) and str(twin) == str(caught.value)


# a process of its own

def work(given):
    "Runs in another process: what arrived, and something back."
    w, blocks, dtype, table = given
    (w * w).sum().backward()
    return w, blocks, dtype is fl.f32 and blocks.dtype is fl.block_formats['q8_0'], table, fl.registry['add']

def fail(x): return fl.ones('a', a=2).dot(x, 'b')

def fail_to_return(w): return w * 2.

@pytest.mark.parametrize('start', multiprocessing.get_all_start_methods()[:2])
def test_another_process(start):
    with fl.use_backend('numpy'):
        w, q = fl.param(values(20, 'f4'), 'd'), fl.ones('a b', (2, 32)).to('q8_0')
        w.grad = np.ones(20, 'f4')
        with multiprocessing.get_context(start).Pool(1) as pool:
            back, blocks, same_types, table, add = pool.apply_async(
                work, [(w, q, fl.f32, fl.rope_table(fl.AxisRange(3), 4))]).get(120)
            np.testing.assert_allclose(back.grad.data, 1 + 2 * w.data, rtol=1e-6)
            assert w.grad.tolist() == [1.] * 20 and same_types and add is fl.registry['add']
            assert blocks.tags == ('a', 'b') and len(table) == 3
            with pytest.raises(errors.TagError, match="'b'(?s:.*)w : b=3") as e:
                pool.apply_async(fail, [fl.ones('b', b=3)]).get(120)
            assert 'help:' in str(e.value)
            with pytest.raises(multiprocessing.pool.MaybeEncodingError, match='detach'):
                pool.apply_async(fail_to_return, [w]).get(120)
            with pytest.raises(GradError, match='detach'): pool.apply_async(work, [w * 2.]).get(120)
