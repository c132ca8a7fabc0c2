"""Kernels: a compiled double equals its own source run by Python, and both equal the NumPy twin;
dispatch never changes a value."""
import hashlib, importlib.metadata, importlib.util, os, subprocess, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import kernels
from fucinalib.autograd import registry
from fucinalib.errors import ForkError, OptionError
from fucinalib.kernels import discovery as loader, dispatch, threads
from kernel_samples import MORE, SAMPLES, Source

ROOT = Path(__file__).parents[1]
COMPILED = kernels.backends().get('pythran', [])
CASES = [(name, SAMPLES[name]) for name in COMPILED if name in SAMPLES] + [(name, s) for name, s in MORE
                                                                           if name in COMPILED]
IDS = [f'{name}-{i}' for i, (name, _) in enumerate(CASES)]
SIZES = [1, 3, 7, 17, 33, 4095, 4096, 4097, 10001]

built = pytest.mark.skipif(not COMPILED, reason='kernels are not compiled here')


def sources():
    """Kernel name -> the function in kernels_pythran/*.py, run by Python; as part of the package,
    so that it finds its helpers."""
    found = {}
    for path in sorted((ROOT/'kernels_pythran').glob('[!_]*.py')):
        spec = importlib.util.spec_from_file_location('kernels_pythran.plain_' + path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found.update((k, v) for k, v in vars(module).items() if k in kernels.table)
    return found

PLAIN = sources()


def copies(args):
    "Of arrays, also of those in lists."
    return [copies(a) if type(a) is list else a.copy() if isinstance(a, np.ndarray) else a for a in args]


def outcome(kernel, args, result):
    "What a kernel produced, as a list of arrays: its outputs, or the arguments it changed."
    if kernel.inplace: return changed_ones(kernel, args)
    return list(result) if isinstance(result, tuple) else [result]


def changed_ones(kernel, args):
    return [a for i in kernel.inplace for a in (args[i] if type(args[i]) is list else [args[i]])]


def compiled(name, args):
    "Run the compiled double, whatever the size, and insist that it was the double."
    k, args, before = kernels.table[name], copies(args), kernels.stats[name]
    with kernels.use_backend('pythran'): result = k.run(*args)
    assert kernels.stats[name] == before + 1, f'{name} fell back to NumPy'
    return outcome(k, args, result)


def twin(name, args):
    k, args = kernels.table[name], copies(args)
    return outcome(k, args, k.twin(*args))


def plain(name, args):
    k = kernels.table[name]
    number = lambda a: np.float32(a) if type(a) is float else a
    ready = [a.ravel() if k.flat and isinstance(a, np.ndarray) else number(a) for a in copies(args)]
    outs = [] if k.inplace else [
        np.empty(*made) for made in (k.out(*ready) if k.out else [(ready[0].shape, ready[0].dtype)])]
    with np.errstate(all='ignore'): PLAIN[name](*ready, *outs)
    return changed_ones(k, ready) or outs


def same(x, y, tol):
    assert x.shape == y.shape and x.dtype == y.dtype
    if x.dtype.kind != 'f': return np.testing.assert_array_equal(x, y)
    with np.errstate(all='ignore'):
        close = (x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= tol * np.maximum(np.abs(y), 1.))
    assert close.all(), f'{(~close).sum()} of {x.size} differ, first {x[~close][0]!r} for {y[~close][0]!r}'


@pytest.mark.parametrize('name', sorted(PLAIN))
def test_samples_are_complete(name):
    assert name in SAMPLES or name.startswith(('lanes_', 'decode_word'))      # of tests/test_quantisation.py


def test_no_remainder_in_kernels():
    "Pythran turns `i % n` of a loop index into a counter that threads share, and the result is wrong now and then."
    import ast
    for path in (ROOT/'kernels_pythran').glob('[!_]*.py'):
        found = [n.lineno for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.BinOp)
                 and isinstance(n.op, ast.Mod) and isinstance(n.left, ast.Name)]
        assert not found, f'{path.name}: line {found[0]}: write i - i // n * n'


@built
def test_every_family_is_fresh():
    import kernels_pythran
    assert set(COMPILED) == set(PLAIN), 'build the kernels: python tools/build_kernels.py'
    assert all(loader.load('pythran')[name].__class__.__name__ == 'builtin_function_or_method' for name in COMPILED)
    assert kernels_pythran.__name__ == 'kernels_pythran'


@pytest.fixture
def one_thread():
    "Many short calls: threads would only wait for each other, and they have a test of their own."
    before = kernels.get_num_threads()
    kernels.set_num_threads(1)
    yield
    kernels.set_num_threads(before)


@built
@pytest.mark.parametrize('edges', [False, True], ids=['', 'edges'])
@pytest.mark.parametrize('name,sample', CASES, ids=IDS)
def test_compiled_equals_source_equals_twin(name, sample, edges, one_thread):
    for n in SIZES:
        for shape in sample.shapes(n):
            args = sample.make(Source(n, edges), shape)
            fast, numpy = compiled(name, args), twin(name, args)
            for x, y in zip(fast, numpy, strict=True): same(x, y, sample.tol)
            if np.prod(shape) <= 300 or n == 4097 and np.prod(shape) == n and not edges:     # Python loops are slow
                for x, y in zip(fast, plain(name, args), strict=True): same(x, y, sample.tol)


@built
@pytest.mark.slow
@pytest.mark.parametrize('edges', [False, True], ids=['', 'edges'])
@pytest.mark.parametrize('name,sample', CASES, ids=IDS)
def test_compiled_equals_source_at_every_size(name, sample, edges, one_thread):
    "Minutes of Python loops: the sizes that the test above leaves out."
    for n in SIZES:
        for shape in sample.shapes(n):
            if n >= 5000 or np.prod(shape) >= 40_000: continue
            args = sample.make(Source(n, edges), shape)
            for x, y in zip(compiled(name, args), plain(name, args), strict=True): same(x, y, sample.tol)


def layouts(x):
    "The same values in every memory layout NumPy knows."
    yield 'fortran', np.asfortranarray(x)
    wide = np.repeat(x, 2, axis=-1)
    yield 'stepped', wide[..., ::2]
    yield 'negative', x[..., ::-1].copy()[..., ::-1]
    yield 'transposed', x.T.copy().T
    raw = np.empty(x.nbytes + 1, 'u1')[1:]
    odd = raw.view(x.dtype).reshape(x.shape)
    odd[...] = x
    yield 'misaligned', odd
    if x.dtype.itemsize > 1: yield 'big-endian', x.astype(x.dtype.newbyteorder('>'))
    still = x.copy()
    still.flags.writeable = False
    yield 'read-only', still


@built
@pytest.mark.parametrize('name,sample', CASES, ids=IDS)
def test_any_layout(name, sample, one_thread):
    k = kernels.table[name]
    for shape in sample.shapes(33):
        args = sample.make(Source(1), shape)
        want = compiled(name, args)
        for i, a in enumerate(args):
            if not isinstance(a, np.ndarray) or i in k.inplace: continue
            for layout, other in layouts(a):
                if k.inplace and np.may_share_memory(other, args[0]): continue
                changed = copies(args[:i]) + [other] + copies(args[i + 1:])
                with kernels.use_backend('pythran'): got = outcome(k, changed, k.run(*changed))
                for x, y in zip(got, want, strict=True):
                    assert x.dtype == y.dtype and x.dtype.isnative, layout
                    np.testing.assert_array_equal(x, y, err_msg=layout)


@built
def test_repeated_memory():
    x = np.broadcast_to(np.float32(2), (100, 100))
    row = np.broadcast_to(np.arange(100, dtype='f4'), (100, 100))
    with kernels.use_backend('pythran'):
        np.testing.assert_array_equal(kernels.table['mul'].run(x, row), x * row)
        np.testing.assert_array_equal(kernels.table['sum_last'].run(row), row.sum(1))


@built
@pytest.mark.parametrize('name,sample', CASES, ids=IDS)
def test_threads_do_not_change_a_bit(name, sample):
    for shape in sample.shapes(20_001):
        args = sample.make(Source(2), shape)
        try:
            kernels.set_num_threads(1)
            one = compiled(name, args)
            kernels.set_num_threads(3)
            more = compiled(name, args)
        finally: kernels.set_num_threads(threads.cores())
        for x, y in zip(one, more, strict=True): np.testing.assert_array_equal(x.view('u1'), y.view('u1'))


@built
@pytest.mark.parametrize('name', ['add', 'sum_last', 'softmax_last', 'exp'])
@pytest.mark.parametrize('dtype', ['f8', 'i4', 'i8', 'f2'])
def test_other_number_types_are_numpy(name, dtype):
    args = [a.astype(dtype) for a in SAMPLES[name].make(Source(3), SAMPLES[name].shapes(50)[0])]
    before = kernels.stats[name, 'twin']
    with kernels.use_backend('pythran'): y = kernels.table[name].run(*args)
    want = kernels.table[name].twin(*args)
    assert kernels.stats[name, 'twin'] == before + 1 and y.dtype == want.dtype
    np.testing.assert_array_equal(y, want)


@built
def test_refused_signatures_are_asked_once():
    x = np.ones(50)
    k = kernels.table['add']
    with kernels.use_backend('pythran'): k.run(x, x)
    assert any(sig[0][0] == x.dtype for sig in k.refused[loader.load('pythran')['add']])


@pytest.mark.parametrize('shape', [(6,), (5, 6), (1, 6), (4, 5, 6), (4, 1, 1), (4, 5, 1), (1, 5, 1),
                                   (1, 1, 6), (1, 5, 6), (1, 1, 1), (), (4, 1, 6), (1,)])
@pytest.mark.parametrize('name', ['add', 'sub', 'mul', 'div', 'maximum'])
def test_broadcasting(name, shape):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((4, 5, 6)).astype('f4'), rng.standard_normal(shape).astype('f4')
    k = kernels.table[name]
    np.testing.assert_array_equal(k.run(a, b), k.twin(a, b))
    np.testing.assert_array_equal(k.run(b, a), k.twin(b, a))


@built
def test_shapes_that_have_a_kernel():
    "Bias rows, per-channel columns and plain numbers run compiled."
    a = np.ones((2, 3, 4), 'f4')
    for b, form in ((a[0, 0], 'add_row'), (a[0], 'add_row'), (a[:1, :1], 'add_row'),
                    (a[:, :, :1], 'add_col'), (a[:1, :, :1], 'add_col'),
                    (a[:, :1, :1], 'add_col'), (2., 'add_scalar'), (2, 'add_scalar')):
        before = kernels.stats[form]
        with kernels.use_backend('pythran'): y = kernels.table['add'].run(a, b)
        assert kernels.stats[form] == before + 1 and y.shape == a.shape
        np.testing.assert_array_equal(y, a + b)


def test_small_arrays_stay_with_numpy():
    x = np.ones(10, 'f4')
    before = kernels.stats.total()
    kernels.add(x, x)
    assert kernels.stats.total() == before


@built
@pytest.mark.parametrize('name', 'add sub mul div maximum minimum'.split())
def test_one_pass_of_numpy_is_beaten_later_than_a_broadcast(name):
    "A row or a column repeated is slow in NumPy; two whole arrays, or a number, go as fast as memory."
    k = kernels.table[name]
    def ran(n, *shape):
        x = np.ones((n // 64, 64), 'f4')
        other = np.ones(shape, 'f4') if shape else 2.
        before = kernels.stats.total()
        with kernels.use_backend('pythran'): getattr(kernels, name)(x, x if shape == (0,) else other)
        return kernels.stats.total() - before
    assert ran(k.floor) == ran(k.floor, 0) == 0 and ran(4 * k.floor) == ran(4 * k.floor, 0) == 1
    assert [ran(k.floor, 64), ran(k.floor // 2, 64)] == [1, 0] or k.forms == ('scalar',)


def test_vector_code_is_asked_of_numpy(monkeypatch):
    "Powers go to whoever computes several at a time; a NumPy that does not say counts as one that does not."
    from fucinalib.kernels import forms
    assert (kernels.table['pow'].floor == float('inf')) == forms.has_vector_code('power')
    assert not forms.has_vector_code('no_such_function')
    monkeypatch.setitem(sys.modules, 'numpy.lib.introspect', None)
    assert not forms.has_vector_code('power')


@pytest.mark.parametrize('backend', kernels.backends())
@pytest.mark.parametrize('floor', [0, 10**9])
def test_powers_on_both_sides_of_the_floor(backend, floor, monkeypatch):
    for name in ('pow', 'pow_scalar', 'pow_backward', 'pow_scalar_backward'):
        monkeypatch.setattr(kernels.table[name], 'floor', floor)
    x, y = np.exp(Source(0).unit(40_000)), 3 * Source(1).unit(40_000)
    with kernels.use_backend(backend):
        for got, power in ((kernels.pow(x, y), y), (kernels.pow(x, 2.5), 2.5), (kernels.pow(x, -1), -1)):
            np.testing.assert_allclose(got, x.astype('f8') ** power, rtol=3e-7)


@pytest.mark.parametrize('shape', [(5, 6), (4, 5, 6)])
def test_both_ways_are_one_function(shape):
    "Of two axes the last one goes, of three the middle one."
    x = Source(0).unit(*shape)
    for made, way in ((kernels.scans.cumsum, np.cumsum), (kernels.scans.cumprod, np.cumprod)):
        np.testing.assert_allclose(made(x), way(x, axis=1), rtol=1e-6)
        for form in (made.last, made.mid):
            assert form.kernel is kernels.table[form.__name__] and '{' not in form.kernel.doc


# in place

@built
def test_in_place_overlap():
    "x += y where y is a shifted x: NumPy reads everything first, so the double must not run."
    base = np.arange(100, dtype='f4')
    want = base.copy()
    want[1:] += .5 * want[:-1].copy()
    with kernels.use_backend('pythran'): kernels.table['add_scaled_'].run(base[1:], base[:-1], .5)
    np.testing.assert_array_equal(base, want)


@built
def test_in_place_with_itself():
    x = np.arange(100, dtype='f4')
    before = kernels.stats['add_scaled_']
    with kernels.use_backend('pythran'): kernels.table['add_scaled_'].run(x, x, 1.)
    assert kernels.stats['add_scaled_'] == before + 1
    np.testing.assert_array_equal(x, 2 * np.arange(100))


@pytest.mark.parametrize('view', [np.s_[::2], np.s_[::-1], np.s_[:, ::3]])
def test_in_place_where_it_is(view):
    base = np.ones((40, 60), 'f4')
    x = base[view]
    with kernels.use_backend(kernels.current_backend()): y = kernels.table['add_scaled_'].run(x, np.ones_like(x), 2.)
    assert y is x and (base[view] == 3).all() and base.sum() == 2400 + 2 * x.size


def test_in_place_read_only():
    x = np.ones(100, 'f4')
    x.flags.writeable = False
    with pytest.raises(ValueError): kernels.table['mul_scalar_'].run(x, 2.)
    assert (x == 1).all()


# any array, any axes

AXES = [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)]

@pytest.mark.parametrize('axes', AXES)
@pytest.mark.parametrize('order', [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)])
@pytest.mark.parametrize('dtype', ['f4', 'f8', 'f2', 'i4', 'bool'])
def test_sum(axes, order, dtype):
    x = (np.random.default_rng(0).standard_normal((30, 40, 50)) * 3).astype(dtype).transpose(order)
    y = kernels.sum(x, axes)
    wide = {'f4': 'f4', 'f8': 'f8', 'f2': 'f4'}.get(dtype, 'i8')
    assert y.dtype == wide and isinstance(y, np.ndarray)
    np.testing.assert_allclose(y, x.sum(axes, dtype='f8' if wide != 'i8' else 'i8'), rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize('axis', [0, 1, 2])
@pytest.mark.parametrize('name,ref,start', [('max', np.fmax, -np.inf), ('min', np.fmin, np.inf)])
def test_max_min(axis, name, ref, start):
    x = np.random.default_rng(0).integers(-9, 9, (30, 40, 50)).astype('f4')
    x[3], x[:, 4], x[:, :, 5], x[7, 8, :9] = np.nan, np.nan, np.nan, start
    x[3, 20, 20], x[20, 4, 20], x[20, 20, 5] = start, start, start     # a lane of NaN but for one -inf
    v, at = getattr(kernels, name)(x, axis)
    want = ref.reduce(x, axis=axis)
    np.testing.assert_array_equal(v, want)
    np.testing.assert_array_equal(at, np.argmax(x == np.expand_dims(want, axis), axis=axis))
    assert at.dtype == np.int64 and v.dtype == np.float32


@pytest.mark.parametrize('axes', AXES)
def test_spread(axes):
    g = np.random.default_rng(0).standard_normal([n for i, n in enumerate((30, 40, 50)) if i not in axes]).astype('f4')
    y = kernels.spread(g, axes, (30, 40, 50))
    np.testing.assert_array_equal(y, np.broadcast_to(np.expand_dims(g, axes), (30, 40, 50)))
    assert y.flags.c_contiguous and y.flags.writeable and not np.may_share_memory(y, g)


@pytest.mark.parametrize('backend', kernels.backends())
@pytest.mark.parametrize('axes', [(0,), (1,), (2,), (0, 1, 2)])
def test_sums_stay_accurate(backend, axes):
    "A long serial sum in f32 would be off by 1e-3 here."
    shape = [3, 3, 3]
    for i in axes: shape[i] = 1_000_000 if len(axes) == 1 else 120
    x = np.random.default_rng(0).random(shape, dtype='f4')
    exact = x.sum(axes, dtype='f8')
    with kernels.use_backend(backend): y = kernels.sum(x, axes)
    assert np.abs(y / exact - 1).max() < 1e-6


# choosing a backend

def test_backends():
    have = kernels.backends()
    assert list(have)[0] == 'numpy' and have['numpy'] == sorted(kernels.table)
    assert kernels.current_backend() == ('pythran' if COMPILED else 'numpy')


def test_use_backend():
    before = kernels.current_backend()
    with kernels.use_backend('numpy'):
        assert kernels.current_backend() == 'numpy'
        x = np.ones(10**6, 'f4')
        n = kernels.stats['add', 'twin']
        kernels.add(x, x)
        assert kernels.stats['add', 'twin'] == n + 1
    assert kernels.current_backend() == before
    kernels.use_backend('numpy')
    assert kernels.current_backend() == 'numpy'
    kernels.use_backend(before)
    with pytest.raises(OptionError, match="did you mean 'numpy'"): kernels.use_backend('nunpy')
    assert kernels.current_backend() == before


def test_third_party_backend(monkeypatch):
    "A backend may know any subset; what it does not know or take is NumPy."
    def negate(x, y): y[:] = -x
    other = type('Other', (), {'kernels': staticmethod(lambda: {'exp': negate, 'unheard_of': negate})})
    monkeypatch.setattr(
        importlib.metadata, 'entry_points',
        lambda group: [type('Point', (), {'name': 'other', 'load': staticmethod(lambda: other)})])
    try:
        x = np.ones(10**6, 'f4')
        with kernels.use_backend('other'):
            assert kernels.backends()['other'] == ['exp']
            assert (kernels.exp(x) == -1).all() and (kernels.add(x, x) == 2).all()
        assert (kernels.exp(x) > 2).all()
    finally: loader._loaded.pop('other', None)


def test_broken_backend_is_left_out(monkeypatch):
    def load(): raise ImportError('no such library')
    monkeypatch.setattr(
        importlib.metadata, 'entry_points',
        lambda group: [type('Point', (), {'name': 'broken', 'load': staticmethod(load)})])
    try:
        with pytest.warns(RuntimeWarning, match='broken.*no such library'): assert 'broken' not in kernels.backends()
    finally: loader._loaded.pop('broken', None)


def run(code, **env):
    "A fresh Python; its output."
    env = ({k: v for k, v in os.environ.items()
            if k not in ('OPENBLAS_THREAD_TIMEOUT', 'GOMP_SPINCOUNT', 'FUCINALIB_BACKEND')}
           | {'PYTHONPATH': str(ROOT)} | env)
    r = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=120, env=env)
    return r.stdout.strip() if r.returncode == 0 else r.stderr


def test_environment_chooses():
    code = 'from fucinalib import kernels; print(kernels.current_backend())'
    assert run(code, FUCINALIB_BACKEND='numpy') == 'numpy'
    if COMPILED: assert run(code, FUCINALIB_BACKEND='pythran') == 'pythran' == run(code)
    assert "OptionError: FUCINALIB_BACKEND: unknown backend 'nunpy'" in run(code, FUCINALIB_BACKEND='nunpy')


def test_import_loads_no_kernel():
    assert run('import sys, fucinalib; print([m for m in sys.modules if "kernels_pythran" in m or '
               'm == "threadpoolctl" or m == "importlib.metadata"])') == '[]'


def test_environment_for_threads():
    code = 'import os, fucinalib; print(os.environ.get("OPENBLAS_THREAD_TIMEOUT"), os.environ.get("GOMP_SPINCOUNT"))'
    assert run(code) == '4 600'
    assert run(code, OPENBLAS_THREAD_TIMEOUT='20', GOMP_SPINCOUNT='7') == '20 7'
    assert run('import numpy; ' + code) == 'None 0'
    assert run('import numpy; ' + code, OPENBLAS_THREAD_TIMEOUT='4') == '4 600'
    assert run(code, OMP_WAIT_POLICY='passive') == '4 None'


# threads

@pytest.mark.parametrize('n', [0, -1, True, 1.5, '2', None, 10**9])
def test_wrong_thread_counts(n):
    before = kernels.get_num_threads()
    with pytest.raises(OptionError): kernels.set_num_threads(n)
    assert kernels.get_num_threads() == before


def test_default_thread_count():
    code = 'from fucinalib import kernels; print(kernels.get_num_threads())'
    assert run(code, OMP_NUM_THREADS='3,2') == '3'
    env = os.environ.copy()
    if 'OMP_NUM_THREADS' not in env: assert run(code) == str(threads.cores())


@built
def test_thread_count_reaches_every_thread():
    "OpenMP's own count is per calling thread; ours is not. BLAS follows too."
    code = '''if 1:
        from concurrent.futures import ThreadPoolExecutor
        import fucinalib._before_numpy, numpy as np
        from fucinalib import kernels
        from threadpoolctl import threadpool_info
        x = np.ones(10**6, 'f4')
        def counts(_):
            kernels.add(x, x)
            return tuple(sorted((lib['user_api'], lib['num_threads']) for lib in threadpool_info()))
        kernels.set_num_threads(3)
        with ThreadPoolExecutor(2) as pool: print(counts(0), *pool.map(counts, range(2)))
        kernels.set_num_threads(1)
        print(counts(0))
    '''
    three, one = run(code).splitlines()
    assert three == ' '.join(["(('blas', 3), ('openmp', 3))"] * 3) and one == "(('blas', 1), ('openmp', 1))"


@built
def test_many_threads_at_once():
    rng = np.random.default_rng(0)
    xs = [rng.standard_normal((200, 1000)).astype('f4') for _ in range(8)]
    work = lambda x: (kernels.softmax_last(x), kernels.add(x, x), kernels.sum_last(x))
    want = [work(x) for x in xs]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(10):
            for a, b in zip(pool.map(work, xs), want):
                for x, y in zip(a, b): np.testing.assert_array_equal(x, y)


FORK = '''if 1:
    import os, sys, fucinalib._before_numpy, numpy as np
    from fucinalib import kernels
    x = np.ones(10**6, 'f4')
    def child(f):
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            try: said = str(f())
            except Exception as e: said = type(e).__name__ + ': ' + str(e).splitlines()[0]
            os.write(w, said.encode()); os._exit(0)
        os.waitpid(pid, 0)
        return os.read(r, 9999).decode()
    def add(): return kernels.add(x, x)[0]
    def numpy():
        kernels.use_backend('numpy')
        return add()
'''

@built
@pytest.mark.skipif(not hasattr(os, 'fork'), reason='no fork here')
def test_fork():
    """After a kernel has run on several threads, a forked child hears why it must not; before, or
    on NumPy, or on one thread, it works."""
    assert run(FORK + '    print(child(add))') == '2.0'
    said = run(FORK + '    add(); print(child(add)); print(child(numpy)); print(add())',
               OMP_NUM_THREADS='2').splitlines()
    assert said[0].startswith('ForkError: compiled kernel in a forked child') and said[1:] == ['2.0', '2.0']
    assert run(FORK + '    kernels.set_num_threads(1); add(); print(child(add))') == '2.0'
    assert run(FORK + '    add(); print(child(add))', FUCINALIB_BACKEND='numpy') == '2.0'
    assert issubclass(ForkError, RuntimeError)


@built
def test_spawn(tmp_path):
    script = tmp_path/'spawned.py'
    script.write_text('''if 1:
    import multiprocessing, fucinalib._before_numpy, numpy as np
    from fucinalib import kernels
    x = np.ones(10**6, 'f4')
    def work(n): return float(kernels.add(x, x)[0]) + n
    if __name__ == '__main__':
        work(0)
        with multiprocessing.get_context('spawn').Pool(2) as pool: print(pool.map(work, range(3)))
''')
    r = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120,
                       env=os.environ | {'PYTHONPATH': str(ROOT)})
    assert r.stdout.strip() == '[2.0, 3.0, 4.0]', r.stderr


def test_a_source_is_never_the_fast_path(tmp_path, monkeypatch):
    "kernels_pythran counts extension modules only."
    import kernels_pythran
    monkeypatch.setattr(kernels_pythran, 'HERE', tmp_path)
    (tmp_path/'unary.py').write_text('def exp(x, y): pass')
    assert kernels_pythran.built() == {} and kernels_pythran.kernels() == {}


def test_a_changed_helper_makes_a_module_stale(tmp_path, monkeypatch):
    import kernels_pythran
    monkeypatch.setattr(kernels_pythran, 'HERE', tmp_path)
    source, helper = tmp_path/'unary.py', tmp_path/'_loops.py'
    source.write_text('from ._loops import piece\n')
    helper.write_text('def piece(): pass\n')
    assert kernels_pythran.helpers(source) == [helper]
    made = hashlib.sha256(kernels_pythran.content(source)).hexdigest()
    module = SimpleNamespace(__name__='kernels_pythran.unary', __pythran__=('0.19', made))
    assert not kernels_pythran.stale(module)
    helper.write_text('def piece(): return 1\n')
    assert kernels_pythran.stale(module)
    helper.unlink()
    assert kernels_pythran.stale(module)


def test_table_is_complete():
    for name, k in kernels.table.items():
        assert k.doc and k.name == name and callable(getattr(kernels, name)) and getattr(kernels, name).kernel is k
        assert all(f'{name}_{form}' in kernels.table for form in k.forms)
    assert dispatch.table is kernels.table


# which kernels an operation runs


def by_samples():
    "The kernels that the samples of all operations run, forward and backward."
    with kernels.noted() as names:
        for o in registry.values():
            for i, sample in enumerate(o.samples):
                args, kw = sample.draw(seed=i, dtype='f32', requires_grad=o.differentiable)
                with fl.enable_grad(): both_ways(o.call, *args, **kw)
    return set(names)

def both_ways(f, *args, **kw):
    found = f(*args, **kw)
    for y in found if isinstance(found, (tuple, list)) else [found]:
        if getattr(y, 'node', None) is not None: y.backward(np.ones(y.shape, y.data.dtype))

def by_size():
    "Those that take a size, or an option, which no sample has."
    made = lambda tags, *shape: fl.param(Source(0).unit(*shape), tags)
    tall, square = made('a b', 400, 300), made('g m k', 3000, 4, 4)
    picture, taps = made('n h w c', 2, 16, 16, 128), made('out kh kw c', 128, 3, 3, 128)
    gray, few = made('n h w c', 2, 32, 32, 1), made('out kh kw c', 4, 3, 3, 1)
    with kernels.noted() as names:
        for kind in fl.optim.SGD, fl.optim.AdamW:
            tall.grad = tall.data
            fl.optim.clip_grad_norm([tall], .1)
            kind([tall], lr=1e-3).step()
        tall.zero_grad()
        for f in (lambda: fl.concat([tall, tall], 'b'), lambda: tall.softmax('a'), lambda: tall.log_softmax('a'),
                  lambda: tall.gelu(approximate='quant'),
                  lambda: fl.einsum(made('a', 400), made('b', 400), 'a b'),
                  lambda: square.dot(made('g k n', 3000, 4, 4), 'k'),
                  lambda: tall.dot(made('a b', 400, 300), 'a'), lambda: picture.conv2d(taps, padding=1),
                  lambda: gray.conv2d(few, stride=2)):
            both_ways(f)
        text = made('row seq read', 2, 3, 4)
        both_ways(lambda: fl.nn.LSTM('read=4', 'hidden=3', seed=0)(text)[0])
        fl.text.Tokenizer.train('low lower lowest ' * 9, 264).encode('lowest')
        step, bias = fl.record(lambda x: (x + bias).relu()), tall.detach().select(a=0)
        for _ in range(5): step(tall.detach())
    return set(names) | {c.name for c in step.plan.calls}

BLOCKS = ('floats_', 'dot_q', 'dot_planes', 'activate_', 'unpack_planes',      # of tests/test_blocks.py
          'lanes_', 'decode',               # of tests/test_quantisation.py
          'merge_pairs', 'best_pieces')     # of tests/test_tokens.py and tests/test_pieces.py

def test_every_kernel_has_a_caller():
    "A kernel that no operation runs would be compiled, tested and kept for nobody."
    lost = set(kernels.table) - by_samples() - by_size()
    assert not sorted(name for name in lost if not name.startswith(BLOCKS))
