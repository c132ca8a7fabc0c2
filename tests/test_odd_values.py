"""Odd values at every place of every operation: each gives an error of ours with a way out, or a sound result, and soon."""
import signal, warnings, zlib
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
    0, 1, -1, -5, 7, .5, -0., 1.5, float('nan'), float('inf'), -float('inf'), 1e308, 1e-320, 1e18, 2**40, 2**62, 2**63, -2**63 - 1, 2**64, 10**400, -10**400,
    10**5000, True, False, 1j, complex('nan'), Fraction(1, 2), Whole(1), np.float16(.5), np.longdouble(.5), np.int8(-1), np.uint64(2**63), np.bool_(True), np.complex64(1j))]
WORDS = [lambda v=v: v for v in (
    '', 'd', 'row', 'a b', 'row col', '3', 'nan', 'a-b', '\ufb01', '\U0001f600', 'a\0b', '\ud800', 'x' * 100_000, Word('d'), np.str_('d'), b'x', bytearray(b'ab'), memoryview(b'ab'))]
SEVERAL = [lambda v=v: v for v in (
    (), (-1,), (0,), (2**62,) * 3, None, ..., slice(None), range(3), {1, 2}, frozenset(['row']))]
SEVERAL += [list, dict, lambda: {'d': 0}, lambda: {'row': {'a': 1}}, lambda: [None], lambda: [[1], [2, 3]], lambda: ['a'], lambda: [['a'], ['b', 'c']], lambda: [.5], lambda: [float('nan')],
            lambda: [10**400], lambda: [1j], lambda: [0, 0], lambda: [1., 2.], lambda: [True], lambda: [0] * 100_000, lambda: nested(60), lambda: LOOP, lambda: (i for i in range(3)), lambda: iter([1, 2])]
ARRAYS = [lambda: np.array(['a', 'b']), lambda: np.array([None, 1], object), lambda: np.array([1j, 2]), lambda: np.array(1.5), lambda: np.array(1), lambda: np.array(1j), lambda: np.zeros(0),
          lambda: np.ma.array([1., 2.], mask=[0, 1]), lambda: np.array(['2020-01-01'], 'M8[D]'), lambda: np.zeros(2, [('a', 'f4')]), lambda: np.array([2**63], 'u8'),
          lambda: np.ones((2, 3), 'f4'), lambda: np.zeros((2, 3), 'i8'), Arraylike]
TENSORS = [lambda: fl.Tensor([1, 2], 'd'), lambda: fl.Tensor([True, False], 'd'), lambda: fl.Tensor([1., 2.], 'd', 'f64'), lambda: fl.Tensor([1., 2.], 'd', 'f16'), lambda: fl.Tensor([1., 2.], 'd', 'bf16'),
           lambda: fl.Tensor([1., 2.], 'd').to('f8_e4m3'), lambda: fl.Tensor(2.), lambda: fl.Tensor(2), lambda: fl.param([1., 2.], 'd'), lambda: fl.ones('row col', (2, 3)), lambda: fl.full('row col', (2, 3), np.nan),
           lambda: fl.zeros('row col', (2, 3), dtype='i64'), lambda: fl.ones('a b c e f g h i', (1,) * 8), lambda: Kind([1., 2.], 'd'), lambda: fl.ones('o i', (2, 32)).to('q8_0'), lambda: fl.ones('o i', (2, 32)).pack(),
           lambda: fl.Tensor([1., 2.], 'd').topk('d', 1), lambda: fl.AxisRange(3)]
THINGS = [lambda v=v: v for v in (int, fl.Tensor, ValueError, len, np, np.dtype('f4'), fl.f32)] + [object, lambda: (lambda x: x), lambda: ValueError('x')]
ODD = NUMBERS + WORDS + SEVERAL + ARRAYS + TENSORS + THINGS


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
    "(sample, its number, parameter, place in it) for every argument a call could have; a parameter is tried in the samples that give it, or in the first."
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
    "Call the operation with one argument replaced; its result, and the operands it was given with copies of their values."
    args, kw = sample.draw(i, dtype)
    bound = o.signature.bind(*args, **kw)
    if place is None: bound.arguments[name] = value
    elif isinstance(place, int): bound.arguments[name] = (*(some := bound.arguments.get(name, ()))[:place], value, *some[place + 1:])
    else: bound.arguments[name] = {**bound.arguments.get(name, {}), place: value}
    given = [(t, t.data.copy()) for t in tensors([*bound.args, *bound.kwargs.values()])]
    return o.call(*bound.args, **bound.kwargs), given


def check(o, sample, i, dtype, name, place, value, soon):
    "A sound result, or an error that says what to do. A size that no memory holds may be MemoryError."
    where = f'{o.name}({name}{"" if place is None else f"[{place!r}]"}={value!r:.40}), sample {i} in {dtype}' if value is not LOOP and type(value) is not int else f'{o.name}({name}=..), sample {i} in {dtype}'
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            y, given = soon(call_with, o, sample, i, dtype, name, place, value)
    except FucinaError as e: assert 'help:' in str(e), where
    except MemoryError: pass
    except (Exception, Hang) as e: pytest.fail(f'{where}: {type(e).__name__}: {e!s:.200}')
    else:
        assert well_formed(y) and all(t.data.dtype in fl.dtypes.by_np for t in tensors(y)), f'{where} gives {y!r:.200}'
        if not o.name.endswith('_'): assert all(np.array_equal(t.data, a, equal_nan=a.dtype.kind == 'f') for t, a in given), f'{where} changes an operand'


@pytest.mark.parametrize('o', OPS, ids=lambda o: o.name)
def test_some(o, soon, every_size):
    "Ten values at each place, always the same ones."
    rng = np.random.default_rng(zlib.crc32(o.name.encode()))
    for sample, i, name, place in places(o):
        for k in rng.choice(len(ODD), 10, replace=False): check(o, sample, i, 'f32', name, place, ODD[k](), soon)


@pytest.mark.slow
@pytest.mark.parametrize('dtype', ['f32', 'f64', 'f16', 'i64', 'bool'])
@pytest.mark.parametrize('o', OPS, ids=lambda o: o.name)
def test_all(o, dtype, soon, backend):
    for sample, i, name, place in places(o):
        try: sample.draw(i, dtype)
        except fl.DTypeError: continue      # a sample that asks for a gradient of whole numbers
        for make in ODD: check(o, sample, i, dtype, name, place, make(), soon)
