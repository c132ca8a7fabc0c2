"""What happens between a call and a compiled kernel: refusals, faults, seeds, floors. Fake
backends stand for those of others."""
import importlib.metadata, warnings
from types import SimpleNamespace
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import kernels
from fucinalib.errors import FucinaError, KernelError
from fucinalib.kernels import discovery

X = np.linspace(-3, 3, 50, dtype='f4')


@pytest.fixture
def offer(monkeypatch):
    "offer(name, exp=f, ...) installs a backend with these kernels; all are gone after the test."
    points, before = [], fl.current_backend()

    def offer(name, **functions):
        backend = SimpleNamespace(kernels=lambda: functions)
        points.append(SimpleNamespace(name=name, load=lambda: backend))
        monkeypatch.setattr(importlib.metadata, 'entry_points', lambda group: points)
    yield offer
    kernels.use_backend(before)
    for p in points: discovery._loaded.pop(p.name, None)


def raising(error, calls):
    "A kernel that fails with `error`."
    def kernel(*args):
        calls.append(len(args))
        raise error
    return kernel


# what a backend does not take

def test_refusals_are_kept_per_backend(offer, every_size):
    "The one backend takes no f64, the other does and is asked."
    def no(x, y): raise NotImplementedError
    def negate(x, y): y[:] = -x
    offer('picky', exp=no)
    offer('easy', exp=negate)
    x = X.astype('f8')
    with kernels.use_backend('picky'): np.testing.assert_array_equal(kernels.exp(x), np.exp(x))
    with kernels.use_backend('easy'): np.testing.assert_array_equal(kernels.exp(x), -x)
    with kernels.use_backend('picky'): np.testing.assert_array_equal(kernels.exp(x), np.exp(x))


@pytest.mark.parametrize('error', [NotImplementedError('f64'),
                                   TypeError("Invalid call to pythranized function "
                                             "`exp(float64[:], float64[:])'\nCandidates are:\n")])
def test_a_refusal_is_silent_and_asked_once(offer, every_size, error):
    calls = []
    offer('other', exp=raising(error, calls))
    with kernels.use_backend('other'), warnings.catch_warnings():
        warnings.simplefilter('error')
        for _ in range(3): np.testing.assert_array_equal(kernels.exp(X), np.exp(X))
        assert calls == [2]
        kernels.exp(X.astype('f8'))
        assert calls == [2, 2]


def test_a_refusal_is_of_the_kernel_and_the_types(offer, every_size):
    def picky(x, y):
        if x.dtype != np.float32: raise NotImplementedError
        y[:] = 7
    offer('other', exp=picky, tanh=picky)
    with kernels.use_backend('other'):
        kernels.exp(X.astype('f8'))
        assert (kernels.exp(X) == 7).all() and (kernels.tanh(X) == 7).all()


# what goes wrong inside

@pytest.mark.parametrize('error', [SystemError('returned a result with an exception set'),
                                   TypeError('unsupported operand'), ValueError('no'),
                                   OverflowError('too large'), RuntimeError('mine')],
                         ids=lambda e: type(e).__name__)
def test_a_fault_is_heard_once_and_the_twin_answers(offer, every_size, error):
    calls = []
    offer('broken', exp=raising(error, calls))
    with kernels.use_backend('broken'):
        with pytest.warns(RuntimeWarning, match=r"kernel exp of backend 'broken' failed, NumPy "
                                                rf"takes over: {type(error).__name__}: {error}"):
            np.testing.assert_array_equal(kernels.exp(X), np.exp(X))
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            np.testing.assert_array_equal(kernels.exp(X), np.exp(X))
    assert calls == [2, 2]      # what one call could not do another may


def test_a_fault_of_an_operation(offer, every_size):
    "Forward and backward give what NumPy gives."
    offer('broken', exp=raising(SystemError('lost'), []), mul=raising(SystemError('lost'), []))
    def run():
        p = fl.param(X, 'd')
        y = p.exp() * p
        y.sum().backward()
        return y.numpy().copy(), p.grad.numpy()
    with kernels.use_backend('numpy'): want = run()
    with kernels.use_backend('broken'), pytest.warns(RuntimeWarning) as said: got = run()
    for a, b in zip(got, want): np.testing.assert_array_equal(a, b)
    assert sorted(str(w.message).split()[1] for w in said) == ['exp', 'mul']


def test_no_memory_is_no_fault_of_the_kernel(offer, every_size):
    offer('full', exp=raising(MemoryError('1 TB'), []))
    with kernels.use_backend('full'), pytest.raises(MemoryError, match='1 TB'): kernels.exp(X)
    with kernels.use_backend('full'), pytest.raises(MemoryError): fl.Tensor(X, 'd').exp()


def test_a_fault_half_way_through_arguments_is_an_error(offer, every_size):
    "x += y of a kernel that wrote a part of x cannot be made good by the twin."
    def half(x, y, alpha):
        x[:25] += alpha * y[:25]
        raise ValueError('lost')
    offer('broken', add_scaled_=half)
    with kernels.use_backend('broken'), pytest.raises(
        KernelError, match=r"add_scaled_ of backend 'broken' failed while it changed its "
                           r"arguments: ValueError: lost[\s\S]*help: fl.use_backend"):
        kernels.add_scaled_(X.copy(), X, 1.)
    assert issubclass(KernelError, FucinaError) and issubclass(KernelError, RuntimeError)


# seeds

SEEDS = [0, 1, -1, 2**31, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -2**63, -2**63 - 1, 10**30, -10**30,
         np.uint64(2**64 - 1), np.int8(-1)]
RANDOM = {'rand': lambda s: fl.rand('d', 200, seed=s),
          'uniform': lambda s: fl.uniform('d', 200, -1, 3, seed=s),
          'randn': lambda s: fl.randn('d', 200, seed=s),
          'normal': lambda s: fl.normal('d', 200, 1, 2, seed=s),
          'bernoulli': lambda s: fl.bernoulli('d', 200, .3, seed=s),
          'gumbel': lambda s: fl.gumbel('d', 200, seed=s),
          'randint': lambda s: fl.randint('d', 200, 0, 9, seed=s),
          'randperm': lambda s: fl.randperm('d', 200, seed=s),
          'dropout': lambda s: fl.ones('d', 200).dropout(.5, s),
          'multinomial': lambda s: fl.Tensor([1., 2., 3.], 'class').multinomial('class', 'draw',
                                                                                200, seed=s),
          'manual_seed': lambda s: (fl.manual_seed(s), fl.rand('d', 200))[1]}

@pytest.mark.parametrize('seed', SEEDS)
@pytest.mark.parametrize('name', RANDOM)
def test_any_whole_number_is_a_seed(name, seed, backend):
    "Modulo 2**64; the compiled kernel does the work and gives what NumPy gives."
    draw, before = RANDOM[name], sum(n for k, n in kernels.stats.items() if isinstance(k, tuple))
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        got = draw(seed).numpy()
        np.testing.assert_array_equal(got, draw(int(seed) % 2**64).numpy())
        np.testing.assert_array_equal(got, draw(int(seed) % 2**64 - 2**64).numpy())
    if backend != 'numpy':
        assert sum(n for k, n in kernels.stats.items() if isinstance(k, tuple)) == before, 'NumPy ran'
    with kernels.use_backend('numpy'): np.testing.assert_array_equal(got, draw(seed).numpy())


@pytest.mark.parametrize('name', RANDOM)
def test_true_is_no_seed(name):
    "True and False are not whole numbers, here as everywhere."
    with pytest.raises(FucinaError, match='seed is True(.|\n)*help:'): RANDOM[name](True)


@pytest.mark.parametrize('seed', [0, 5, -1, 2**63, 2**64 - 1])
def test_dropout_is_the_counter_generator(seed, backend):
    "SplitMix64 in Python's whole numbers."
    def draw(i):
        z = (seed + (i + 1) * 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        return (z ^ z >> 31) >> 11
    want = [2. if draw(i) < 2**52 else 0. for i in range(300)]
    assert fl.ones('d', 300).dropout(.5, seed).tolist() == want


@pytest.mark.parametrize('n', [2**63, -2**63 - 1, 2**70, -2**70])
@pytest.mark.parametrize('op', ['max_pool2d', 'avg_pool2d', 'unfold'])
def test_whole_numbers_beyond_64_bits(op, n, backend):
    "Compiled code has no such number: NumPy answers as it does everywhere, or the error is ours."
    x = fl.Tensor(np.arange(32, dtype='f4').reshape(4, 4, 2), 'h w c')
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        try: got = getattr(x, op)(2, n)
        except FucinaError as e: assert 'help: ' in str(e)
        else: np.testing.assert_array_equal(got.data.ravel()[:2], getattr(x, op)(2, 100).data.ravel()[:2])


# floors

@pytest.mark.parametrize('names', [['attend_'], ['attend_back_'], ['attend_', 'attend_back_']], ids=' '.join)
def test_a_floor_is_asked_for_not_copied(names, monkeypatch):
    """Each of the two attention kernels gets the memory it works in if it runs compiled, whatever
    the floor of the other."""
    def run():
        q, k, v = [fl.param(np.random.default_rng(i).standard_normal((5, 2, 16)).astype('f4'),
                            f'seq {axis} d') for i, axis in enumerate(('head', 'kv_head', 'kv_head'))]
        y = q.attention(k, v)
        y.sum().backward()
        return [y.numpy(), *(x.grad.numpy() for x in (q, k, v))]
    want = run()
    for name in names: monkeypatch.setattr(kernels.table[name], 'floor', 0)
    for a, b in zip(run(), want): np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize('floor', [0, 10**9])
def test_masked_sums_follow_the_plain_sum(floor, monkeypatch):
    "One floor for both: bit for bit the sum of the array in which everything else is 0."
    for name in 'sum_last sum_mid masked_sum_last masked_sum_mid'.split():
        monkeypatch.setattr(kernels.table[name], 'floor', floor)
    rng = np.random.default_rng(0)
    x, m = rng.standard_normal((1, 5000, 3)).astype('f4'), rng.random((1, 5000, 3)) < .5
    got, count = kernels.masked.masked_sum_columns(x, m.view('u1'))
    np.testing.assert_array_equal(got, kernels.reductions.sum_columns(np.where(m, x, np.float32(0))))
    np.testing.assert_array_equal(count, m.sum(1))
