"""Infinities, NaN, numbers near the ends: values here, never a warning, forward and backward, on
every backend and at every size.

What the user has told NumPy to do about them in his own code is as it was, also after an exception.
"""
import asyncio, signal, warnings
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import kernels
from fucinalib.autograd import enable_grad, registry
from fucinalib.kernels.dispatch import hushing, quiet, unhush

EDGES = [np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-45, 0., -1., 1.]


@pytest.fixture(autouse=True)
def loud():
    "NumPy warns of everything, and a warning is an error."
    with np.errstate(all='warn'), warnings.catch_warnings():
        warnings.simplefilter('error')
        yield


@pytest.fixture
def one_thread():
    "Thousands of short calls, for which threads would only wait."
    before = kernels.get_num_threads()
    kernels.set_num_threads(1)
    yield
    kernels.set_num_threads(before)


@quiet
def spoilt(value, rng, fill):
    "An operand with `fill` everywhere, or edges at random where that is None; lists too, whatever else as it is."
    if isinstance(value, list): return [spoilt(v, rng, fill) for v in value]
    if not isinstance(value, fl.Tensor) or value.data.dtype.kind != 'f': return value
    edges = rng.choice(EDGES, value.shape) if fill is None else np.full(value.shape, fill)
    return fl.Tensor(edges.astype(value.data.dtype), value.tags, requires_grad=value.requires_grad)


def attempt(o, sample, seed, dtype, fill):
    "One call and its gradients; an error of ours may come of the values, if no warning is behind it."
    rng = np.random.default_rng(seed)
    args, kw = sample.draw(seed=seed, dtype=dtype, requires_grad=o.differentiable)
    try:
        with enable_grad():
            results = o.call(*[spoilt(a, rng, fill) for a in args],
                             **{k: spoilt(v, rng, fill) for k, v in kw.items()})
        for y in results if isinstance(results, (tuple, list)) else [results]:
            if getattr(y, 'node', None) is None: continue
            seeds = rng.choice(EDGES, y.shape) if seed % 2 else np.ones(y.shape)
            y.backward(quiet(seeds.astype)(y.data.dtype))
    except fl.FucinaError as e:
        if e.__cause__ is not None: raise e.__cause__


def every_attempt(o, dtypes):
    for seed, sample in enumerate(o.samples):
        for dtype in dtypes:
            for fill in (None, None, None, *EDGES[:7]): attempt(o, sample, seed, dtype, fill); seed += 1


@pytest.mark.parametrize('name', sorted(registry))
def test_no_operation_warns_below_the_floors(name):
    every_attempt(registry[name], ['f32', 'f64'])


@pytest.mark.parametrize('name', sorted(registry))
def test_no_operation_warns_above_the_floors(name, backend, one_thread):
    every_attempt(registry[name], ['f32'])


# where it leaked, beside the samples

def P(*values): return fl.param(np.array(values, 'f4'), 'd')
BIG = 3e38

def tall(value): return fl.param(np.full((50_000, 2), value, 'f4'), 'row col')

@fl.custom_vjp
def log(x: fl.Tensor): return np.log(x.data), x.tags, (lambda g: g / x.data,)

LEAKS = {
    'sum of both infinities': lambda: P(np.inf, -np.inf).sum().backward(),
    'sum that overflows': lambda: P(BIG, BIG).sum().backward(),
    'a long one': lambda: (tall(BIG).sum('row'), tall(np.inf).sum(), tall(BIG).mean('col')),
    'mean': lambda: P(np.inf, -np.inf).mean().backward(),
    'folded gradient': lambda: (
        fl.param(np.ones((2, 2), 'f4'), 'a b') * fl.param(2.)).backward(np.full((2, 2), BIG)),
    'two gradients that meet': lambda: (lambda p: (p * BIG + p * BIG).sum().backward())(P(1, 2)),
    'three': lambda: (lambda p: (p * BIG + p * BIG + p * BIG).sum().backward())(P(1, 2)),
    'a leaf that has one already': lambda: (
        lambda p: ((p * BIG).sum().backward(), (p * BIG).sum().backward()))(P(1, 2)),
    'parts that meet': lambda: (
        lambda p: (p.narrow('d', 0, 2) * BIG + p.narrow('d', 0, 2) * BIG).sum().backward())(P(1, 2, 3)),
    'trace': lambda: fl.param(np.full((2, 2), BIG, 'f4'), 'a b').trace('a', 'b').backward(),
    'repeat': lambda: P(1, 2).repeat('d', 3).backward(np.full(6, BIG)),
    'nll_loss': lambda: fl.param(np.full((2, 2), -BIG, 'f4'), 'row class').nll_loss(
        'class', [0, 1], reduction='sum').backward(),
    'cross_entropy': lambda: fl.param(np.full((3, 2), [BIG, -BIG], 'f4'), 'row class').cross_entropy(
        'class', [1, 1, 1], reduction='sum').backward(),
    'add_ a number': lambda: P(BIG).detach().add_(BIG),
    'add_ of f16': lambda: fl.Tensor([6e4], 'd', dtype='f16').add_(fl.Tensor([6e4], 'd', dtype='f16')),
    'bias_add_ of f16': lambda: fl.Tensor([6e4], 'd', dtype='f16').bias_add_([6e4], 'd'),
    'mul_ of bf16': lambda: fl.Tensor([1e38], 'd', dtype='bf16').mul_(1e3),
    'f16 that overflows': lambda: fl.Tensor([6e4], 'd', dtype='f16') * 2.,
    'to fewer bits': lambda: [
        fl.Tensor([BIG, 1e-45, np.inf, np.nan], 'd').to(t)
        for t in ('f16', 'bf16', 'f8_e4m3', 'f8_e5m2', 'i8', 'u8', 'i64', 'bool', 'f64')],
    'einsum with an axis to spare': lambda: fl.param(
        np.full((2, 2), BIG, 'f4'), 'a b').einsum(P(1, 2).rename('a'), '').backward(),
    'dot_ternary': lambda: fl.param(np.full((2, 256), BIG, 'f4'), 't in').dot_ternary(
        fl.Tensor(np.full((3, 256), BIG, 'f4'), 'out in'), 'in').sum().backward(),
    'a packed weight': lambda: fl.Tensor(np.full((2, 4), BIG, 'f4'), 't in').dot(
        fl.Tensor(np.full((3, 4), BIG, 'f4'), 'out in').pack(), 'in'),
    'pack of f64': lambda: fl.Tensor(np.full((3, 4), 1e300), 'out in').pack(),
    'blocks': lambda: fl.param(np.full((2, 256), BIG, 'f4'), 't in').dot(
        fl.Tensor(np.full((3, 256), 3e4, 'f4'), 'out in').to('q4_k'), 'in').sum().backward(),
    'blocks of the tiniest': lambda: fl.Tensor(
        np.full((3, 256), 1e-45, 'f4'), 'out in').to('q4_k').to('f32'),
    'multinomial': lambda: fl.Tensor([1e307, 1e-310], 'd', dtype='f64').multinomial('d', 'o', 3),
    'rope_table': lambda: fl.rope_table([0, 1, 2**40], 8, theta=1e-320),
    'a table of factors': lambda: fl.rope_table([0, 1], 4, freq_factors=[1e-45, 1e300]),
    'reciprocal': lambda: (1 / P(0, -0., 1e-45)).sum().backward(),
    'pow': lambda: (P(-1, 0, BIG) ** P(.5, -1, 2)).sum().backward(),
    'numbers on the left': lambda: (2. ** P(BIG, -BIG), 1e300 * P(BIG), BIG - P(-BIG)),
    'a rule of a user': lambda: log(P(0, -1)).sum().backward(),
    'made and shown': lambda: [(repr(x), x._repr_html_()) for x in (
                                   P(np.inf, np.nan), P(BIG, -BIG),
                                   fl.Tensor([1e300, 1e-300], 'd'), tall(np.inf))],
    'pictures': lambda: (P(BIG, np.inf) * 2.).sum().graph(values=True).source,
    'made of Python numbers': lambda: (fl.Tensor([1e300, 1e-300], 'd', dtype='f32'),
                                       fl.full('d', 1e300, d=3),
                                       fl.Tensor([1e9], 'd', dtype='f16'),
                                       fl.arange('t', 0., 1e300, 1e299)),
}

@pytest.mark.parametrize('leak', LEAKS)
def test_nothing_leaks(leak):
    LEAKS[leak]()

@pytest.mark.parametrize('leak', LEAKS)
def test_nothing_leaks_above_the_floors(leak, backend):
    LEAKS[leak]()


# the values are those of IEEE 754

SUMS = [([np.inf, -np.inf], np.nan), ([np.inf, 1], np.inf), ([3e38, 3e38], np.inf),
        ([-3e38, -3e38], -np.inf), ([np.nan, np.inf], np.nan), ([1e-45, 0], 1e-45)]

@pytest.mark.parametrize('values,want', SUMS)
def test_sums(values, want, backend):
    np.testing.assert_array_equal(P(*values).sum().item(), np.float32(want))
    np.testing.assert_array_equal(
        fl.Tensor(np.array(values, 'f4').repeat(30_000).reshape(2, -1), 'a b').sum('a').sum().item(),
        np.float32(want) if want != 1e-45 else quiet(np.multiply)(np.float32(1e-45), 30_000))
    p = P(*values)
    (p.sum() * 2.).backward()
    assert p.grad.tolist() == [2, 2]


# the user's own setting

def settings(): return np.geterr()

@pytest.mark.parametrize('state', ['raise', 'warn', 'ignore'])
def test_the_setting_of_the_user_stays(state):
    p = P(np.inf, -np.inf, 0)
    with np.errstate(all=state):
        before = settings()
        (p / p).sum().backward()
        assert settings() == before
        with pytest.raises(fl.FucinaError): p.sum('nowhere')
        assert settings() == before
        with pytest.raises(RuntimeError, match='mine'): broken(p)
        assert settings() == before
        with pytest.raises(fl.GradError): broken_behind(p).sum().backward()
        assert settings() == before
        if state == 'raise':
            with pytest.raises(FloatingPointError): np.ones(2) / 0


@fl.custom_vjp
def broken(x: fl.Tensor):
    raise RuntimeError('mine')

@fl.custom_vjp
def broken_behind(x: fl.Tensor):
    def rule(g): raise ValueError('mine')
    return x.data * 2, x.tags, (rule,)


def test_quiet_functions_nest_and_threads_each_have_their_own():
    once = quiet(lambda a: a / 0)
    again = quiet(lambda a: once(a) + once(a))
    with ThreadPoolExecutor(4) as pool:
        for f in (once, again):
            assert all(np.isinf(y).all() for y in pool.map(f, [np.ones(3)] * 20))
            assert np.isinf(f(np.ones(3))).all()
    with pytest.raises(RuntimeError, match='mine'): quiet(lambda: (_ for _ in ()).throw(RuntimeError('mine')))()
    before = hushing.now
    assert set(settings().values()) == {'ignore'}
    unhush(before)
    with pytest.raises(RuntimeWarning): np.ones(3) / 0


def test_tasks_take_turns():
    "Each task of an event loop has its own setting too."
    async def work(state):
        with np.errstate(all=state):
            for _ in range(5):
                (P(np.inf) - P(np.inf)).sum().backward()
                await asyncio.sleep(0)
                assert set(settings().values()) == {state}
    async def both(): await asyncio.gather(work('raise'), work('warn'), work('ignore'))
    asyncio.run(both())


def test_a_kernel_called_by_itself_is_quiet():
    for f in (kernels.log, kernels.table['log'].run, kernels.table['log'].twin):
        assert np.isneginf(f(np.zeros(5, 'f4'))).all()


@pytest.mark.skipif(not hasattr(signal, 'setitimer'), reason='no timer signals')
@pytest.mark.parametrize('call', [lambda x: x.neg(), lambda x: x.seed()], ids=['operation', 'quiet function'])
def test_an_interrupt_leaves_the_warnings_as_they_were(call):
    "Python looks for Ctrl-C after each call, also after the one that made the setting."
    class Seeded(fl.Tensor):
        __slots__ = ()
        seed = quiet(lambda self: self.data + 1)
    x, random = Seeded([1., 2.], 'd'), np.random.default_rng(0)
    def ring(*_): raise KeyboardInterrupt
    before, spoilt = signal.signal(signal.SIGALRM, ring), 0
    try:
        for delay in random.uniform(2e-5, 2e-4, 300):
            try:
                signal.setitimer(signal.ITIMER_REAL, delay)
                while True: call(x)
            except KeyboardInterrupt: pass
            spoilt += set(settings().values()) == {'ignore'}
            np.seterr(all='warn')
    finally: signal.signal(signal.SIGALRM, before)
    assert not spoilt
