"""Odd values at every place of every operation: each gives an error of ours with a way out, or a
sound result, and soon."""
import operator, signal, traceback, warnings, zlib
from fractions import Fraction
import numpy as np
import pytest
import fucinalib as fl
from fucinalib.errors import FucinaError
from test_operands import OPS, tensors, well_formed

LOOP = []
LOOP.append(LOOP)      # a list that holds itself


def nested(depth):
    "One number in so many lists."
    return 1. if not depth else [nested(depth - 1)]


class Arraylike:
    "What NumPy can read."
    def __array__(self, dtype=None, copy=None): return np.array([1., 2.])


class Whole(int): "A whole number of a class of its own."
class Word(str): "A word of a class of its own."
class Kind(fl.Tensor): "A tensor of a class of its own."


# Made anew for each call, since a generator is spent and an operation might change what it is given.
NUMBERS = [lambda v=v: v for v in (
               0, 1, -1, -5, 7, .5, -0., 1.5, float('nan'), float('inf'), -float('inf'), 1e308,
               1e-320, 1e18, 2**40, 2**62, 2**63, -2**63 - 1, 2**64, 10**400, -10**400,
               10**5000, True, False, 1j, complex('nan'), Fraction(1, 2), Whole(1), np.float16(.5),
               np.longdouble(.5), np.int8(-1), np.uint64(2**63), np.bool_(True), np.complex64(1j))]
WORDS = [lambda v=v: v for v in ('', 'd', 'row', 'a b', 'row col', '3', 'nan', 'a-b', '\ufb01',
                                 '\U0001f600', 'a\0b', '\ud800', 'x' * 100_000, Word('d'),
                                 np.str_('d'), b'x', bytearray(b'ab'), memoryview(b'ab'))]
SEVERAL = [lambda v=v: v for v in (
    (), (-1,), (0,), (2**62,) * 3, None, ..., slice(None), range(3), {1, 2}, frozenset(['row']))]
SEVERAL += [list, dict, lambda: {'d': 0}, lambda: {'row': {'a': 1}}, lambda: [None],
            lambda: [[1], [2, 3]], lambda: ['a'], lambda: [['a'], ['b', 'c']], lambda: [.5],
            lambda: [float('nan')],
            lambda: [10**400], lambda: [1j], lambda: [0, 0], lambda: [1., 2.], lambda: [True],
            lambda: [0] * 100_000, lambda: nested(60), lambda: LOOP,
            lambda: (i for i in range(3)), lambda: iter([1, 2])]
ARRAYS = [lambda: np.array(['a', 'b']), lambda: np.array([None, 1], object), lambda: np.array([1j, 2]),
          lambda: np.array(1.5), lambda: np.array(1), lambda: np.array(1j), lambda: np.zeros(0),
          lambda: np.ma.array([1., 2.], mask=[0, 1]), lambda: np.array(['2020-01-01'], 'M8[D]'),
          lambda: np.zeros(2, [('a', 'f4')]), lambda: np.array([2**63], 'u8'),
          lambda: np.ones((2, 3), 'f4'), lambda: np.zeros((2, 3), 'i8'), Arraylike]
TENSORS = [lambda: fl.Tensor([1, 2], 'd'),
           lambda: fl.Tensor([True, False], 'd'),
           lambda: fl.Tensor([1., 2.], 'd', 'f64'),
           lambda: fl.Tensor([1., 2.], 'd', 'f16'),
           lambda: fl.Tensor([1., 2.], 'd', 'bf16'),
           lambda: fl.Tensor([1., 2.], 'd').to('f8_e4m3'), lambda: fl.Tensor(2.), lambda: fl.Tensor(2),
           lambda: fl.param([1., 2.], 'd'),
           lambda: fl.ones('row col', (2, 3)),
           lambda: fl.full('row col', (2, 3), np.nan),
           lambda: fl.zeros('row col', (2, 3), dtype='i64'),
           lambda: fl.ones('a b c e f g h i', (1,) * 8),
           lambda: Kind([1., 2.], 'd'),
           lambda: fl.ones('o i', (2, 32)).to('q8_0'),
           lambda: fl.ones('o i', (2, 32)).pack(),
           lambda: fl.Tensor([1., 2.], 'd').topk('d', 1), lambda: fl.AxisRange(3)]
THINGS = [lambda v=v: v for v in (int, fl.Tensor, ValueError, len, np, np.dtype('f4'), fl.f32)] + [
    object, lambda: (lambda x: x), lambda: ValueError('x')]
ODD = NUMBERS + WORDS + SEVERAL + ARRAYS + TENSORS + THINGS


def foreign():
    "Tensors of torch, where it is installed."
    try: import torch
    except ImportError: return []
    return [lambda: torch.ones(2), lambda: torch.tensor(.5), lambda: torch.tensor(1),
            lambda: torch.tensor([0, 1]), lambda: torch.ones(2, requires_grad=True),
            lambda: torch.tensor(1j)]


class Hang(BaseException): "More than two seconds of computing."


@pytest.fixture
def soon():
    "Two seconds of this process's own time for what runs inside; waiting for others does not count."
    def late(*_): raise Hang
    before = signal.signal(signal.SIGVTALRM, late)
    def run(f, *args):
        signal.setitimer(signal.ITIMER_VIRTUAL, 2.)
        try: return f(*args)
        finally: signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    yield run
    signal.signal(signal.SIGVTALRM, before)


def places(o):
    """(sample, its number, parameter, place in it) for every argument a call could have; a
    parameter is tried in the samples that give it, or in the first."""
    for i, sample in enumerate(o.samples):
        args, kw = sample.draw(i)
        given = o.signature.bind(*args, **kw).arguments
        for n, p in o.signature.parameters.items():
            if i and n not in given: continue
            many = given.get(n, ())
            if p.kind is p.VAR_POSITIONAL: yield from ((sample, i, n, k) for k in range(len(many) + 1))
            elif p.kind is p.VAR_KEYWORD: yield from ((sample, i, n, k) for k in [*many, 'd'])
            else: yield sample, i, n, None


def call_with(o, sample, i, dtype, name, place, value):
    """Call the operation with one argument replaced; its result, and the operands it was given
    with copies of their values."""
    args, kw = sample.draw(i, dtype)
    bound = o.signature.bind(*args, **kw)
    if place is None: bound.arguments[name] = value
    elif isinstance(place, int):
        bound.arguments[name] = (*(some := bound.arguments.get(name, ()))[:place], value, *some[place + 1:])
    else: bound.arguments[name] = {**bound.arguments.get(name, {}), place: value}
    given = [(t, t.data.copy()) for t in tensors([*bound.args, *bound.kwargs.values()])]
    return o.call(*bound.args, **bound.kwargs), given


def check(o, sample, i, dtype, name, place, value, soon):
    "A sound result, or an error that says what to do. A size that no memory holds may be MemoryError."
    plain = value is LOOP or type(value) is int       # neither is worth writing out
    at = '' if place is None else f'[{place!r}]'
    where = f'{o.name}({name}=..)' if plain else f'{o.name}({name}{at}={value!r:.40})'
    where += f', sample {i} in {dtype}'
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            y, given = soon(call_with, o, sample, i, dtype, name, place, value)
    except FucinaError as e: assert 'help:' in str(e), where
    except MemoryError: pass
    except (Exception, Hang) as e: pytest.fail(f'{where}: {type(e).__name__}: {e!s:.200}')
    else:
        assert well_formed(y) and all(t.data.dtype in fl.dtypes.by_np for t in tensors(y)), f'{where} gives {y!r:.200}'
        if not o.name.endswith('_'):
            assert all(np.array_equal(t.data, a, equal_nan=a.dtype.kind == 'f')
                       for t, a in given), f'{where} changes an operand'


@pytest.mark.parametrize('o', OPS, ids=lambda o: o.name)
def test_some(o, soon, every_size):
    "Ten values at each place, always the same ones."
    rng = np.random.default_rng(zlib.crc32(o.name.encode()))
    for sample, i, name, place in places(o):
        for k in rng.choice(len(ODD), 10, replace=False): check(o, sample, i, 'f32', name, place, ODD[k](), soon)


@pytest.mark.slow
@pytest.mark.parametrize('dtype', ['f32', 'f16', 'i64', 'bool'])
@pytest.mark.parametrize('o', OPS, ids=lambda o: o.name)
def test_all(o, dtype, soon, every_size):
    for sample, i, name, place in places(o):
        try: sample.draw(i, dtype)
        except fl.DTypeError: continue      # a sample that asks for a gradient of whole numbers
        for make in ODD + foreign(): check(o, sample, i, dtype, name, place, make(), soon)


@pytest.mark.parametrize('o', OPS, ids=lambda o: o.name)
def test_true_or_false(o):
    "An option that is True or False is neither 'no' nor 2 nor None."
    for n, p in o.signature.parameters.items():
        if not isinstance(p.default, bool): continue
        for sample in o.samples:
            for odd in ('no', 2, None, [], 1., 0):
                args, kw = sample.draw(0, 'f32')
                bound = o.signature.bind(*args, **kw)
                bound.arguments[n] = odd
                with pytest.raises(FucinaError, match='help:'): o.call(*bound.args, **bound.kwargs)
            args, kw = sample.draw(0, 'f32')
            bound = o.signature.bind(*args, **kw)
            bound.arguments[n] = np.bool_(bound.arguments.get(n, p.default))      # NumPy's are fine
            o.call(*bound.args, **bound.kwargs)


# functions and classes that are no operations

X = lambda dtype='f32': fl.Tensor([[1, 2, 3], [4, 5, 6]], 'row col').to(dtype)
Q = lambda: fl.ones('o i', (4, 32)).to('q8_0')
BYTES = np.zeros((1, 34), 'u1')
BESIDE = dict(
    data=lambda v: fl.Tensor(v),
    data_of_one_axis=lambda v: fl.Tensor(v, 'd'),
    tags=lambda v: fl.Tensor([1., 2.], v),
    dtype=lambda v: fl.Tensor([1., 2.], 'd', v),
    requires_grad=lambda v: fl.Tensor([1., 2.], 'd', None, v),
    param=lambda v: fl.param(v, 'd'),
    copy_of=lambda v: fl.copy_of(v, 'd'),
    tags_of_a_tensor=lambda v: fl.Tensor(X(), v),
    set_requires_grad=lambda v: setattr(X(), 'requires_grad', v),
    set_grad=lambda v: setattr(fl.param(X()), 'grad', v),
    size=lambda v: X().size(v), index=lambda v: X()[v],
    index_by_name=lambda v: X()[{'row': v}],
    round=lambda v: round(X(), v),
    divmod=lambda v: divmod(X('i64'), v),
    backward=lambda v: fl.param(X()).mul(2.).backward(v),
    AxisRange=lambda v: fl.AxisRange(v),
    origin=lambda v: fl.AxisRange(3, v),
    table_positions=lambda v: fl.RopeTable(v, 1e4, 2, [[0.]], [[1.]]),
    table_theta=lambda v: fl.RopeTable([0], v, 2, [[0.]], [[1.]]),
    table_dim=lambda v: fl.RopeTable([0], 1e4, v, [[0.]], [[1.]]),
    table_sin=lambda v: fl.RopeTable([0], 1e4, 2, v, [[1.]]),
    table_cos=lambda v: fl.RopeTable([0], 1e4, 2, [[0.]], v),
    blocks=lambda v: fl.BlockTensor(v, 'q8_0', 'd'),
    blocks_format=lambda v: fl.BlockTensor(BYTES, v, 'd'),
    blocks_tags=lambda v: fl.BlockTensor(BYTES, 'q8_0', v),
    blocks_shape=lambda v: fl.BlockTensor(BYTES.reshape(-1), 'q8_0', 'd', v),
    blocks_select=lambda v: Q().select(o=v),
    blocks_start=lambda v: Q().narrow('o', v, 1),
    blocks_length=lambda v: Q().narrow('o', 0, v),
    blocks_axis=lambda v: Q().narrow(v, 0, 1),
    blocks_indices=lambda v: Q().index_select('o', v),
    blocks_out=lambda v: Q().index_select('o', [0], out=v),
    blocks_rename=lambda v: Q().rename(o=v),
    blocks_to=lambda v: Q().to(v),
    blocks_pack=lambda v: Q().pack(v),
    blocks_activation=lambda v: Q().with_activation(v),
    blocks_concat=lambda v: fl.BlockTensor.concat(v, 'o'),
    blocks_concat_tag=lambda v: fl.BlockTensor.concat([Q(), Q()], v),
    left_of_blocks=lambda v: v @ Q(),
    right_of_blocks=lambda v: Q() @ v,
    dot_blocks=lambda v: fl.ones('r i', (2, 32)).dot(Q(), v),
    dot_norm=lambda v: fl.ones('r i', (2, 32)).dot(Q().pack(), 'i', rms_norm=v),
    dot_gate=lambda v: fl.ones('r i', (2, 32)).dot(Q().pack(), 'i', gate=v),
    dot_eps=lambda v: fl.ones('r i', (2, 32)).dot(Q().pack(), 'i', rms_norm=(fl.ones('i', 32), v)),
    checkpoint=lambda v: fl.checkpoint(v, X()),
    checkpoint_input=lambda v: fl.checkpoint(lambda x: X(), v),
    custom_vjp=lambda v: fl.custom_vjp(v),
    elemental=lambda v: fl.elemental(v),
    elemental_of=lambda v: fl.elemental(lambda x, y, g: g)(v),
    vector=lambda v: fl.elemental(lambda x, y, g: g, vector=v)(lambda x: x),
    eps=lambda v: fl.gradcheck(lambda x: x.exp(), X(), eps=v),
    result=lambda v: fl.gradcheck(lambda x: v, fl.param(X())),
    seed=lambda v: fl.manual_seed(v),
    no_grad=lambda v: fl.no_grad(v),
    backend=lambda v: fl.use_backend(v))
BESIDE |= {f'{name} of {dtype}{" from the right" * right}': (
               lambda v, f=getattr(operator, name), dtype=dtype, right=right: f(v, X(dtype)) if right
               else f(X(dtype), v))
           for name in 'add sub mul truediv floordiv mod pow matmul and_ or_ xor lt le gt ge eq ne '
                       'iadd isub imul itruediv'.split() for dtype in ('f32', 'i64', 'bool')
           for right in (False, True)}

@pytest.mark.parametrize('call', BESIDE.values(), ids=BESIDE)
def test_beside(call, soon):
    "Constructors, methods of blocks, operators and the rest: an error of ours, or of whoever was asked before us."
    for make in ODD:
        value = make()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                y = soon(call, value)
        except (FucinaError, MemoryError): pass
        except (Exception, Hang) as e:
            if any('fucinalib/' in f.filename for f in traceback.extract_tb(e.__traceback__)):
                pytest.fail(f'{type(value)}: {type(e).__name__}: {e!s:.200}')
        else: assert well_formed(y) and all(t.data.dtype in fl.dtypes.by_np for t in tensors(y)), type(value)

@pytest.mark.parametrize('n', [0, -1, 10**400, 10**5000, 1.5, '2', True, None, np.array([1, 2]),
                               int, [2], float('nan'), 2**63],
                         ids=lambda n: type(n).__name__)
def test_threads(n):
    with pytest.raises(fl.OptionError, match='help:'): fl.set_num_threads(n)


# misuse beside the operations, and what was found once

MISUSE = dict(
    class_as_operand=lambda: fl.ones('d', 2) + fl.Tensor,
    class_as_tag=lambda: fl.ones('d', 2).sum(fl.Tensor),
    module=lambda: fl.ones('d', 2).mul(np),
    digits=lambda: round(fl.ones('d', 2), 10**9),
    padding=lambda: fl.ones('h w c', (3, 3, 1)).conv2d(fl.ones('o kh kw c', (1, 2, 2, 1)),
                                                       padding=10**9),
    unfold=lambda: fl.ones('h w c', (3, 3, 1)).unfold(2, padding=10**9),
    edges=lambda: fl.ones('h w', (3, 3)).zero_pad2d('h', 'w', 2**31),
    words=lambda: fl.Tensor(np.array(['a', 'b']), 'd'),
    ragged_words=lambda: fl.Tensor([['a'], ['b', 'c']], 'd e'),
    words_as_tags=lambda: fl.Tensor(fl.ones('d', 2), np.array(['a', 'b'])),
    words_as_tags_of_a_param=lambda: fl.param(fl.ones('d', 2), np.array(['a', 'b'])),
    words_as_tags_of_a_copy=lambda: fl.copy_of(fl.ones('d', 2), np.array(['a', 'b'])),
    endless=lambda: fl.Tensor(LOOP),
    gradcheck=lambda: fl.gradcheck(3, fl.ones('d', 2)),
    digits_of_a_number=lambda: fl.ones('d', 2) + 10**5000,
    huge_size=lambda: fl.ones('d', 10**5000),
    ddof_half=lambda: fl.ones('d', 2).standardize('d', ddof=.5),
    ddof_below=lambda: fl.ones('d', 2).standardize('d', ddof=-7),
    ddof_array=lambda: fl.ones('d', 2).standardize('d', ddof=np.array([1., 1.])),
    empty_word=lambda: fl.ones('d', 2).mean(mask=fl.zeros('d', 2, dtype='bool'), empty='3'),
    empty_param=lambda: fl.ones('d', 2).mean(mask=fl.zeros('d', 2, dtype='bool'), empty=fl.param(3.)),
    complex_factor=lambda: fl.yarn_inv_freqs(4, factor=np.array([2 + 1j]), original_context=4096),
    complex_context=lambda: fl.yarn_inv_freqs(4, factor=2., original_context=4096 + 0j),
    too_many_angles=lambda: fl.yarn_inv_freqs(2**64),
    kda_of_whole_numbers=lambda: fl.kda_recurrent(
        *[fl.Tensor(np.ones(s, 'i8'), t) for s, t in (
              ((1, 1, 2), 'seq head k'), ((1, 1, 2), 'seq head k'), ((1, 1, 1), 'seq head v'),
              ((1, 1, 2), 'seq head k'), ((1, 1), 'seq head'), ((1,), 'head'), ((2,), 'c'))]))

@pytest.mark.parametrize('call', MISUSE.values(), ids=MISUSE)
def test_misuse(call, soon):
    with pytest.raises(FucinaError) as e: soon(call)
    assert 'help:' in str(e.value)

@pytest.mark.parametrize('dtype', ['f32', 'f16', 'bf16', 'i64'])
@pytest.mark.parametrize('name', ['dot', 'einsum', 'add_dot', 'add', 'matmul'])
def test_too_few_operands(name, dtype):
    "The error is the same for every number type."
    with pytest.raises(fl.OptionError, match='missing a required argument'):
        getattr(fl.Tensor([1.], 'd').to(dtype), name)()

def test_short_reals_are_numbers():
    "Half a half is no infinity: probabilities and bounds of any NumPy type mean their value."
    assert fl.bernoulli('d', 50, np.float16(.5), seed=1).tolist() == fl.bernoulli('d', 50, .5, seed=1).tolist()
    assert fl.uniform('d', 50, np.float16(-6e4), np.float16(6e4), seed=1).tolist() == fl.uniform(
        'd', 50, float(np.float16(-6e4)), float(np.float16(6e4)), seed=1).tolist()
    assert fl.normal('d', 50, np.float16(6e4), np.float16(6e4), seed=1).tolist() == fl.normal(
        'd', 50, float(np.float16(6e4)), float(np.float16(6e4)), seed=1).tolist()

def test_no_index_is_passed_over():
    x = fl.Tensor([[1., 2., 3.], [4., 5., 6.]], 'row col')
    for tag in (' row ', ('row',)):
        assert x.select({tag: 1}).tolist() == [4, 5, 6] and x[{tag: 1}].tolist() == [4, 5, 6]
        assert x.slice({tag: (1, 2)}).tolist() == [[4, 5, 6]]
    assert x.select(' row ', 1).tolist() == [4, 5, 6] and x.rename(**{' row ': 'r'}).tags == ('r', 'col')
    for bad in (lambda: x.select('row col', 1),
                lambda: x[{'row col': 0}],
                lambda: x.slice({'row col': (0, 1)}),
                lambda: x.rename(**{'row col': 'r'})):
        with pytest.raises(fl.TagError, match='takes one axis'): bad()

def test_a_large_empty_number_of_the_result(backend):
    "What stands for an empty lane is a number of the result: i64 for sums of i8, f32 for means of whole numbers."
    x, none = fl.Tensor([[1, 2]], 'r c', dtype='i8'), fl.zeros('r c', (1, 2), dtype='bool')
    assert x.sum('c', mask=none, empty=300).tolist() == [300] and x.mean('c', mask=none, empty=.5).tolist() == [.5]
    with pytest.raises(fl.DTypeError): x.max('c', mask=none, empty=300)
