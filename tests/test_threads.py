"""Threads of products and of kernels: whoever is imported first, they do not stand in each
other's way, and the report says what is set."""
import dis, json, os, re, subprocess, sys, types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import kernels
from fucinalib import __main__ as main
from fucinalib.autograd import Sample, registry
from fucinalib.errors import OptionError
from fucinalib.kernels import discovery, threads

ROOT = Path(__file__).parents[1]
OURS = 'OPENBLAS_THREAD_TIMEOUT', 'GOMP_SPINCOUNT', 'OMP_WAIT_POLICY', 'FUCINALIB_BACKEND'
built = pytest.mark.skipif('pythran' not in fl.backends(), reason='kernels are not compiled here')


def fresh(code, **env):
    "What a fresh Python prints, and what it says on the side."
    env = {k: v for k, v in os.environ.items() if k not in OURS} | {'PYTHONPATH': str(ROOT)} | env
    r = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=120, env=env)
    assert r.returncode == 0, r.stderr
    return r.stdout.strip(), r.stderr


# import order

TURNS = '''
import fucinalib as fl, numpy as np
from time import perf_counter as now
rng = np.random.default_rng(0)
draw = lambda *shape: rng.standard_normal(shape).astype('f4')
x, w, p = draw(64, 1024), draw(1024, 64), draw(512, 512)
def product(): x @ w
def kernel(): fl.kernels.softmax_last(p)
def step():
    for _ in range(5): product(); kernel(); kernel()
def quartile(f):
    times = []
    for _ in range(30):
        start = now(); f(); times.append(now() - start)
    return sorted(times)[7]
step()
print(min(quartile(step) for _ in range(3)))
'''

@built
def test_import_order_does_not_matter():
    """Products and kernels by turns in fresh processes. One order took 20 times as long as the
    other; on a busy machine one of several tries tells."""
    ratios = []
    for _ in range(6):
        ours, numpy = [float(fresh(first + TURNS)[0]) for first in ('', 'import numpy\n')]
        ratios.append(max(ours, numpy) / min(ours, numpy))
        if ratios[-1] < 3: return
    pytest.fail(f'one order is slower by {ratios}')


# what is set, by whom, and what was too late

SAID = 'from fucinalib.__main__ import report\nfor what, how in report(): print(what, how)'

def report(first='', **env):
    out, err = fresh(first + '\nimport warnings\nwarnings.simplefilter("ignore")\n' + SAID, **env)
    return out.split('\n')

def test_report_of_what_is_set():
    rows = report()
    assert 'waiting after products OPENBLAS_THREAD_TIMEOUT=4, set by fucinalib' in rows
    assert 'waiting after kernels GOMP_SPINCOUNT=600, set by fucinalib' in rows
    assert sum(r.startswith('waiting') for r in rows) == 2 and not any('advice' in r and 'import' in r for r in rows)

def test_report_of_what_the_user_set():
    rows = report(OPENBLAS_THREAD_TIMEOUT='20', GOMP_SPINCOUNT='7')
    assert 'waiting after products OPENBLAS_THREAD_TIMEOUT=20, set from outside' in rows
    assert 'waiting after kernels GOMP_SPINCOUNT=7, set from outside' in rows
    assert 'waiting after kernels GOMP_SPINCOUNT left to OMP_WAIT_POLICY' in report(OMP_WAIT_POLICY='passive')

GLIBC = pytest.mark.skipif('CS_GNU_LIBC_VERSION' not in getattr(os, 'confstr_names', ()), reason='memory of glibc')

@GLIBC
def test_memory_given_back_serves_the_next_array():
    "A page that is touched for the first time is a fault. Results of 8 MB, one after the other, cause few."
    code = """if 1:
        import resource, fucinalib as fl
        x = fl.ones("d", 1 << 21)
        step = lambda: ((x + x).relu() * x).sum().item()
        faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        step(), step()
        before = faults()
        for _ in range(10): step()
        print(faults() - before)
    """
    assert int(fresh(code)[0]) < 500
    assert 'given back up to 256 MB are kept for the next array' in report()
    assert 'given back as MALLOC_TRIM_THRESHOLD_ says' in report(MALLOC_TRIM_THRESHOLD_='131072')


def test_report_of_numpy_first():
    rows = report('import numpy')
    assert ('waiting after products OPENBLAS_THREAD_TIMEOUT too late, NumPy was loaded before; '
            'GOMP_SPINCOUNT=0 makes good for it' in rows)
    assert 'waiting after kernels GOMP_SPINCOUNT=0, set by fucinalib' in rows

GOMP = 'import ctypes, numpy\nctypes.CDLL("libgomp.so.1")\n'

@built
@pytest.mark.skipif(not sys.platform.startswith('linux'), reason='libgomp of Linux')
def test_somebody_else_loaded_our_openmp():
    "As torch does. It is said once, when the first kernel loads, and in the report; not if its wait is short already."
    code = 'import fucinalib as fl\nx = fl.ones("d", 100_000)\nfor _ in range(3): x = x + x\nprint(x.sum().item())'
    blas = fresh('import numpy, threadpoolctl\nprint(*{lib.get("threading_layer") for lib in '
                 'threadpoolctl.threadpool_info() if lib["user_api"] == "blas"})')[0]
    out, err = fresh(GOMP + code)
    assert out == '800000.0' and err.count('was imported before fucinalib') == (1 if 'pthreads' in blas else 0)
    assert 'imported before' not in fresh(
        GOMP + code, GOMP_SPINCOUNT='0')[1] + fresh('import numpy\n' + code)[1] + fresh(code)[1]
    rows = report(GOMP)
    assert any(r.startswith('waiting after kernels GOMP_SPINCOUNT too late, libgomp of ') for r in rows)
    assert any(r.startswith('waiting libgomp.so')
               and r.endswith('was loaded before fucinalib and waits as it did') for r in rows)
    assert any(r.startswith('advice import fucinalib before') for r in rows)


def test_kernels_that_do_not_load(monkeypatch):
    "Where libgomp is missing the advice is not to compile what is compiled."
    def load(): raise ImportError('libgomp.so.1: cannot open shared object file: No such file or directory')
    for name in '_first _name _active'.split(): monkeypatch.setattr(discovery, name, None)
    monkeypatch.setattr(discovery, '_loaded', {})
    monkeypatch.setattr(discovery, 'broken', {})
    monkeypatch.setattr(main, 'broken', discovery.broken)
    monkeypatch.setattr(discovery, 'offered', lambda: {'pythran': load})
    with pytest.warns(RuntimeWarning, match='libgomp'): rows = list(main.report())
    assert ('pythran', 'does not load: ImportError: libgomp.so.1: cannot open shared object file: '
                       'No such file or directory') in rows
    said = [how for what, how in rows if what == 'advice']
    assert any('apt install libgomp1' in s for s in said) and not any('compile' in s for s in said)


# how many

@pytest.mark.parametrize(
    'n', [np.array([1, 2]), [2], 'two', 2.0, np.float32(2), object(), fl.ones('d', 2), b'2', {2}, 1j],
    ids=lambda n: type(n).__name__)
def test_what_is_no_number_of_threads(n):
    before = fl.get_num_threads()
    with pytest.raises(OptionError, match='set_num_threads[\\s\\S]*help: '): fl.set_num_threads(n)
    assert fl.get_num_threads() == before

@pytest.mark.parametrize('n', [np.int64(2), np.array(2), np.uint8(1)])
def test_whole_numbers_of_numpy_are_numbers_of_threads(n):
    before = fl.get_num_threads()
    fl.set_num_threads(n)
    assert fl.get_num_threads() == int(n) and type(fl.get_num_threads()) is int
    fl.set_num_threads(before)

@pytest.mark.parametrize('name', [['numpy'], ('numpy',), b'numpy', 3, np.array(['numpy', 'x']),
                                  object(), fl.ones('d', 1), {}],
                         ids=lambda n: type(n).__name__)
def test_what_is_no_name_of_a_backend(name):
    before = fl.current_backend()
    with pytest.raises(OptionError, match='use_backend[\\s\\S]*help: '): fl.use_backend(name)
    assert fl.current_backend() == before


# what depends on it

PRODUCTS = {'dot', 'add_dot', 'einsum', 'matmul', 'conv1d', 'conv2d', 'conv_transpose1d',
            'linear_cross_entropy', 'linear_distill', 'dot_ternary', 'grouped_dot', 'kda_recurrent',
            'attention'}


def all_code(code):
    yield code
    for c in code.co_consts:
        if isinstance(c, types.CodeType): yield from all_code(c)

def reaches_blas(f, seen):
    "Whether a function, or one of the library's that it names, multiplies matrices."
    while hasattr(f, '__wrapped__'): f = f.__wrapped__
    if not isinstance(f, types.FunctionType) or f in seen or not f.__module__.startswith('fucinalib'): return False
    seen.add(f)
    for code in all_code(f.__code__):
        if any(i.argval == 'matmul' or i.opname == 'BINARY_OP' and i.argrepr in ('@', '@=')
               for i in dis.get_instructions(code)):
            return True
        for name in code.co_names:
            found = [f.__globals__.get(name), getattr(kernels, name, None) if 'kernels' in code.co_names else None]
            for g in found: found += g.values() if isinstance(g, dict) and name.isupper() else []
            if any(g is np.matmul or callable(g) and reaches_blas(g, seen) for g in found): return True
    return any(reaches_blas(c.cell_contents, seen) for c in f.__closure__ or () if callable(c.cell_contents))

def test_the_page_names_what_blas_computes():
    assert {name for name, o in registry.items() if reaches_blas(o.fn, set())} == PRODUCTS
    page = json.loads((ROOT/'nbs/26_speed.ipynb').read_text())
    text = next(text for c in page['cells'] if 'takes the threads out of it' in (text := ''.join(c['source'])))
    assert set(re.findall(r'`(\w+)`', text)) == PRODUCTS


@pytest.fixture
def on_threads():
    "f -> its results on 1, 2, 3 and again 2 threads."
    before = fl.get_num_threads()
    def run(f):
        results = []
        for n in (1, 2, 3, 2):
            fl.set_num_threads(n)
            results.append(f())
        return results
    yield run
    fl.set_num_threads(before)


def larger(sample, elements=40_000):
    "The sample with all its axes longer, so that they span so many elements together."
    sizes = dict(part.split('=') for a in [*sample.args, *sample.kw.values()]
                 if isinstance(a, str) and '=' in a for part in a.split())
    factor = int(np.ceil((elements / np.prod([int(n) for n in sizes.values()])) ** (1 / len(sizes))))
    grown = lambda a: ' '.join(f'{t}={int(n) * factor}'
                               for t, n in (part.split('=') for part in a.split())) if isinstance(
        a, str) and '=' in a else a
    return Sample(*map(grown, sample.args), low=sample.low, high=sample.high,
                  **{k: grown(v) for k, v in sample.kw.items()})

def results_and_gradients(o, sample):
    args, kw = sample.draw(seed=3, dtype='f32', requires_grad=o.differentiable)
    ys = o.call(*args, **kw)
    ys, found = ys if isinstance(ys, (tuple, list)) else [ys], []
    for y in ys:
        found.append(np.array(getattr(y, 'data', y)))
        if getattr(y, 'node', None) is not None:
            y.backward(np.random.default_rng(5).standard_normal(y.shape).astype(y.data.dtype))
    return found + [np.array(v.grad.data) for v in [*args, *kw.values()]
                    if isinstance(v, fl.Tensor) and v.grad is not None]

NOT_GROWN = {'diag', 'diag_embed', 'unbind',           # squares, and as many tensors as elements
             'empty_like', 'pack', 'prepare_conv2d'}   # no values, no tensors
GROWN = [(name, i) for name, o in sorted(registry.items()) for i, s in enumerate(o.samples)
         if name not in PRODUCTS | NOT_GROWN and any(isinstance(a, str) and '=' in a for a in s.args)]

@pytest.mark.parametrize('name,i', GROWN, ids=[f'{name}-{i}' for name, i in GROWN])
def test_results_do_not_depend_on_the_number_of_threads(name, i, on_threads):
    o = registry[name]
    try: sample = larger(o.samples[i]); results_and_gradients(o, sample)
    except (fl.FucinaError, ValueError): sample = o.samples[i]     # an option that goes with one size only
    first, *rest = on_threads(lambda: results_and_gradients(o, sample))
    for other in rest:
        for a, b in zip(first, other, strict=True): assert a.tobytes() == b.tobytes()


def C(*shape, seed=0, dtype='f4'): return np.random.default_rng(seed).standard_normal(shape).astype(dtype)

def there_and_back(f, *operands):
    "The result of f and the gradients of its operands."
    leaves = [fl.param(a, tags) for a, tags in operands]
    y = f(*leaves)
    y.backward(C(*y.shape, seed=9, dtype=y.data.dtype))
    return [np.array(y.data), *(np.array(p.grad.data) for p in leaves)]

def through_layer(layer, x, tags):
    "What a layer makes of x, and the gradients of x and of its weights."
    x = fl.param(x, tags)
    y = layer(x)
    y = y[0] if isinstance(y, tuple) else y
    y.backward(C(*y.shape, seed=9))
    return [np.array(y.data), *(np.array(p.grad.data) for p in (x, *layer.parameters()))]

def steps_of(kind, *shapes):
    "Matrices after three steps."
    ws = [fl.param(C(*n, seed=i), 'a b') for i, n in enumerate(shapes)]
    opt = kind(ws, seed=0) if kind is fl.optim.Apollo else kind(ws)
    for k in range(3):
        for i, w in enumerate(ws): w.grad = fl.Tensor(C(*w.shape, seed=10 * k + i), w.tags)
        opt.step()
    return [w.data for w in ws]

def clipped(*shapes):
    "The length of gradients, and what is left of them."
    ws = [fl.param(np.zeros(n, 'f4'), 'abc'[:len(n)] if len(n) == 1 else 'a b') for n in shapes]
    for i, w in enumerate(ws): w.grad = fl.Tensor(C(*w.shape, seed=i), w.tags)
    found = fl.optim.clip_grad_norm(ws, 1.)
    return [np.array(found), *(w.grad.data for w in ws)]

CASES = {
    'product': lambda: there_and_back(lambda x, w: x @ w, (C(513, 513), 'row mid'),
                                      (C(513, 513, seed=1), 'mid col')),
    'product in f64': lambda: there_and_back(lambda x, w: x.dot(w, 'mid'),
                                             (C(300, 257, dtype='f8'), 'row mid'),
                                             (C(257, 129, seed=1, dtype='f8'), 'mid col')),
    'einsum': lambda: there_and_back(lambda x, w: x.einsum(w, 'row col'),
                                     (C(200, 513), 'row mid'), (C(513, 100, seed=1), 'mid col')),
    'conv2d by tiles': lambda: there_and_back(lambda x, w: x.conv2d(w, padding=1), (C(3, 40, 40, 64), 'n h w c'),
                                              (C(64, 3, 3, 64, seed=1), 'out kh kw c')),
    'conv2d in groups': lambda: there_and_back(lambda x, w: x.conv2d(w, padding=1, groups=4),
                                               (C(5, 32, 32, 128), 'n h w c'),
                                               (C(128, 3, 3, 32, seed=1), 'out kh kw c')),
    'conv2d in groups with strides': lambda: there_and_back(
        lambda x, w: x.conv2d(w, padding=1, groups=2, stride=2), (C(1, 65, 65, 64), 'n h w c'),
        (C(64, 3, 3, 32, seed=1), 'out kh kw c')),
    'conv1d': lambda: there_and_back(lambda x, w: x.conv1d(w, 'time', 'tap', padding=2), (C(3000, 64), 'time c'),
                                     (C(5, 64, 48, seed=1), 'tap c out')),
    'LSTM': lambda: through_layer(fl.nn.LSTM('read=40', 'hidden=70', seed=0), C(60, 50, 40), 'seq batch read'),
    'GRU': lambda: through_layer(fl.nn.GRU('read=40', 'hidden=70', seed=0), C(60, 50, 40), 'seq batch read'),
    'RNN': lambda: through_layer(fl.nn.RNN('read=40', 'hidden=70', seed=0), C(30, 50, 40), 'seq batch read'),
    'attention layer': lambda: through_layer(fl.nn.MultiHeadAttention('embed=64', 4, seed=0), C(3, 200, 64),
                                             'batch seq embed'),
    'Muon': lambda: steps_of(fl.optim.Muon, (300, 400), (400, 300), (260, 260)),
    'Apollo': lambda: steps_of(fl.optim.Apollo, (300, 400), (400, 300)),
    'clipping': lambda: clipped((300, 400), (70_000,)),
    'orthogonal': lambda: [fl.nn.init.orthogonal(dict(i=300, o=400), seed=3).data],
    'gated delta rule': lambda: [y.data for y in fl.kda_recurrent(
        *(fl.Tensor(C(9, 3, 130, seed=s), 'seq head k') for s in (0, 1)), fl.Tensor(C(9, 3, 140, seed=2), 'seq head v'),
        fl.Tensor(C(9, 3, 130, seed=3), 'seq head k'), fl.Tensor(C(9, 3, seed=4), 'seq head'),
        fl.Tensor(C(3, seed=5), 'head'), fl.Tensor(C(390, seed=6), 'n'))],
    'conv2d': lambda: there_and_back(lambda x, w: x.conv2d(w, padding=1), (C(40, 50, 13), 'h w c'),
                                     (C(17, 3, 3, 13, seed=1), 'out kh kw c')),
    'attention in f64': lambda: there_and_back(
        lambda q, k, v: q.attention(k, v), (C(130, 2, 33, dtype='f8'), 'seq head d'),
        *[(C(130, 2, 33, seed=s, dtype='f8'), 'seq kv_head d') for s in (1, 2)]),
    'blocks': lambda: there_and_back(
        lambda x: x.dot(fl.Tensor(C(500, 512, seed=1), 'out in').to('q8_0'), 'in'),
        (C(100, 512), 'row in')),
}

@pytest.mark.skipif(threads.blas() is None, reason='products are made by another library than OpenBLAS')
@pytest.mark.parametrize('backend', ['numpy', pytest.param('pythran', marks=built)])
@pytest.mark.parametrize('name', CASES)
def test_products_do_not_depend_on_the_number_of_threads(name, backend, on_threads):
    with fl.use_backend(backend): first, *rest = on_threads(CASES[name])
    for other in rest:
        for a, b in zip(first, other, strict=True): assert a.tobytes() == b.tobytes()


SHAPES = [((513, 300), (300, 513)), ((8, 128, 256), (256, 512)), ((64, 128, 128), (64, 128, 128)),
          ((2, 3, 256, 256), (2, 3, 256, 300)), ((1, 9, 256, 256), (1, 9, 256, 300)),
          ((5, 4, 256, 256), (4, 256, 256)), ((3, 256, 256), (1, 256, 256)), ((1, 4096), (4096, 4096)),
          ((4096, 4096), (4096, 1)), ((2, 70000), (70000, 2)), ((0, 4), (4, 3)), ((256, 0), (0, 256))]

@pytest.mark.parametrize('a,b', SHAPES, ids=str)
@pytest.mark.parametrize('dtype', ['f4', 'f8'])
def test_panels_are_the_product(a, b, dtype):
    "With a place for the result and without, for operands that lie otherwise in memory, too."
    a, b = C(*a, dtype=dtype), C(*b, seed=1, dtype=dtype)
    y, into = kernels.matmul(a, b), np.empty((*np.matmul(a, b).shape,), dtype)
    assert kernels.matmul(a, b, out=into) is into
    np.testing.assert_array_equal(into, y)
    want, tol = np.matmul(a.astype('f8'), b.astype('f8')), np.finfo(dtype).eps * 4 * a.shape[-1]**.5 + 1e-12
    np.testing.assert_allclose(y, want, rtol=0, atol=16 * tol)
    turned = np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2)
    np.testing.assert_allclose(kernels.matmul(turned, b), want, rtol=0, atol=16 * tol)


@pytest.mark.parametrize('a,b', [('f4', 'f8'), ('f8', 'f4'), ('f4', 'i4')])
def test_large_products_of_two_types(a, b):
    "Have the type that small ones have, and the accuracy of that type."
    for shape, back in (((513, 300), (300, 513)), ((2, 70000), (70000, 2))):
        x, y = (10 * C(*shape)).astype(a), (10 * C(*back, seed=1)).astype(b)
        z = kernels.matmul(x, y)
        assert z.dtype == 'f8'
        np.testing.assert_allclose(z, x.astype('f8') @ y.astype('f8'), rtol=1e-9, atol=1e-9)


def test_large_products_into_memory_of_an_operand():
    room = C(900, 600)
    a, b = room[:600], C(600, 600, seed=1)
    want = kernels.matmul(a.copy(), b)
    np.testing.assert_allclose(kernels.matmul(a, b, out=room[:600]), want, rtol=0, atol=1e-3)
    room = C(900, 600)
    np.testing.assert_allclose(kernels.matmul(room[:600], b, out=room[300:]), want, rtol=0, atol=1e-3)
    square = C(600, 600)
    want = square.astype('f8') @ square
    np.testing.assert_allclose(kernels.matmul(square, square), want, rtol=0, atol=1e-3)


@pytest.mark.skipif(threads.blas() is None, reason='products are made by another library than OpenBLAS')
def test_the_blas_is_numpys():
    "SciPy has one of its own; whichever is loaded first, and told first of, ours are NumPy's products."
    code = '''if 1:
        import ctypes, glob, importlib.util, os
        others = glob.glob(os.path.dirname(importlib.util.find_spec('scipy').origin) + '.libs/*openblas*')
        for file in others: ctypes.CDLL(file)
        import fucinalib as fl, scipy.linalg
        from threadpoolctl import threadpool_info
        fl.set_num_threads(2)
        with fl.kernels.alone:
            print(*sorted((os.path.basename(os.path.dirname(lib['filepath'])), lib['num_threads'])
                          for lib in threadpool_info() if lib['internal_api'] == 'openblas'))
    '''
    inside = fresh(code)[0]
    assert inside.count(', 1)') == 1
    if "'scipy.libs'" in inside: assert inside == "('numpy.libs', 1) ('scipy.libs', 2)"


@pytest.mark.skipif(threads.blas() is None, reason='products are made by another library than OpenBLAS')
def test_blas_has_its_threads_back():
    "After products of several threads at once, and after one that failed, blocks inside one another too."
    get, set = threads.blas()
    before, ours = get(), fl.get_num_threads()
    try:
        set(3)
        with kernels.alone, kernels.alone: assert get() == 1
        with kernels.alone:
            fl.set_num_threads(2)
            assert get() == 1
        assert get() == 2
        set(3)
        a, b = C(300, 300), C(300, 300, seed=1)
        with ThreadPoolExecutor(4) as pool: list(pool.map(lambda i: kernels.matmul(a, b), range(20)))
        with pytest.raises(ValueError): kernels.contraction.matrix_product(C(300, 300), C(200, 300))
        assert get() == 3
    finally:
        fl.set_num_threads(ours)
        set(before)


@pytest.mark.skipif(threads.blas() is None or not hasattr(os, 'fork'), reason='no fork here, or another library')
def test_a_child_that_leaves_a_block_has_its_threads_back():
    code = '''if 1:
        from fucinalib import kernels
        from fucinalib.kernels import threads
        import os
        get, set = threads.blas()
        set(2)
        with kernels.alone: pid = os.fork()
        with kernels.alone: ok = get() == 1
        if pid == 0: os._exit(not (ok and get() == 2))
        print(os.waitpid(pid, 0)[1])
    '''
    assert fresh(code)[0] == '0'


@pytest.mark.skipif(threads.blas() is None or not hasattr(os, 'fork'), reason='no fork here, or another library')
def test_a_child_of_two_threads_has_the_threads_of_blas():
    "Another thread is inside a block, which the child never leaves: there is no such thread in it."
    code = '''if 1:
        from fucinalib import kernels
        from fucinalib.kernels import threads
        import os, threading
        get, set = threads.blas()
        set(2)
        inside, done = threading.Event(), threading.Event()
        def other():
            with kernels.alone: inside.set(), done.wait()
        t = threading.Thread(target=other)
        t.start()
        inside.wait()
        if (pid := os.fork()) == 0:
            found = get()
            with kernels.alone: ok = get() == 1
            os._exit(not (found == 2 and ok and get() == 2))
        with kernels.alone: second = os.fork()
        if second == 0: os._exit(not get() == 2)
        codes = [os.waitpid(p, 0)[1] for p in (pid, second)]
        held = get()
        done.set()
        t.join()
        print(*codes, held, get())
    '''
    assert fresh(code)[0] == '0 0 1 2'


class Interrupted:
    "A lock, or a function: the call with this number is made, and then somebody presses Ctrl-C."
    def __init__(self, f, when): self.f, self.left = f, when
    def pressed(self):
        self.left -= 1
        if not self.left: raise KeyboardInterrupt
    def __call__(self, *args): y = self.f(*args); self.pressed(); return y
    def __enter__(self): self.f.acquire(); self.pressed_inside()
    def pressed_inside(self):
        try: self.pressed()
        except KeyboardInterrupt: self.f.release(); raise
    def __exit__(self, *exc): self.f.release(); self.pressed()


@pytest.mark.skipif(threads.blas() is None, reason='products are made by another library than OpenBLAS')
@pytest.mark.parametrize('when', range(1, 5))
@pytest.mark.parametrize('what', ['lock', 'get', 'set'])
def test_ctrl_c_on_the_way_into_a_block_and_out(what, when, monkeypatch):
    get, set = threads.blas()
    before = get()
    try:
        set(2)
        calls, lock = [get, set], threads.alone.lock
        if what == 'lock': monkeypatch.setattr(threads.alone, 'lock', Interrupted(lock, when))
        else: calls['get set'.split().index(what)] = Interrupted(dict(get=get, set=set)[what], when)
        monkeypatch.setattr(threads, 'blas', lambda: calls)
        try:
            with kernels.alone: assert get() == 1
        except KeyboardInterrupt: pass
        monkeypatch.undo()
        assert get() == 2 and not threads.alone.depths and not lock.locked()
        with kernels.alone: assert get() == 1
        assert get() == 2
    finally: set(before)


@pytest.mark.skipif(threads.blas() is None, reason='products are made by another library than OpenBLAS')
def test_a_piece_of_a_recorded_step_has_the_threads_of_blas():
    "The user's own functions in a plan run as they would by themselves; calls of the plan on one thread."
    get, set = threads.blas()
    before = get()
    class Odd(fl.optim.SGD):
        def move(self, *args):
            assert get() == 2
            return super().move(*args)
    w = fl.param(C(3, 4), 'a b')
    opt = Odd([w], .1)
    @fl.record
    def step(x):
        loss = (x @ w).mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss
    try:
        set(2)
        for i in range(8): step(fl.Tensor(C(5, 3, seed=i), 'n a'))
        assert step.replays and get() == 2
    finally: set(before)


def test_work_is_shared_and_faults_arrive():
    done = []
    threads.share(done.append, 20)
    assert sorted(done) == [*range(20)]
    def fail(i): raise MemoryError(i)
    with pytest.raises(MemoryError): threads.share(fail, 4)


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='no fork here')
def test_a_forked_child_makes_products():
    code = '''if 1:
        import fucinalib as fl, numpy as np, os
        from fucinalib import kernels
        fl.set_num_threads(2)
        a = np.random.default_rng(0).standard_normal((400, 400)).astype('f4')
        want = kernels.matmul(a, a.copy())
        if (pid := os.fork()) == 0: os._exit(0 if (kernels.matmul(a, a.copy()) == want).all() else 1)
        print(os.waitpid(pid, 0)[1])
    '''
    assert fresh(code)[0] == '0'
