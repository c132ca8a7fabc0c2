"""The seeds of calls that were given none: what holds after a fork, in spawned processes, and
when threads draw at once."""
import json, os, subprocess, sys, threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import pytest
import fucinalib as fl
from fucinalib.ops import construction

ROOT = Path(fl.__file__).parents[1]
FORKS = pytest.mark.skipif(not hasattr(os, 'fork'), reason='no fork here')
BACKENDS = list(fl.backends())

SCRIPT = '''
import json, multiprocessing, os, sys, fucinalib as fl

def fork(work):
    "What `work` gives in a forked child."
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        try: said = work()
        except BaseException as e: said = type(e).__name__
        os.write(w, json.dumps(said).encode()); os._exit(0)
    os.close(w)
    with open(r) as f: said = json.load(f)
    os.waitpid(pid, 0)
    return said

def draw(n=3): return fl.rand('d', n).tolist()
def pooled(i): return draw()

'''

def run(code, backend='numpy', threads=1, **env):
    env = os.environ | {'PYTHONPATH': str(ROOT), 'FUCINALIB_BACKEND': backend, 'OMP_NUM_THREADS': str(threads)} | env
    done = subprocess.run([sys.executable, '-c', SCRIPT + code], capture_output=True, text=True, env=env, timeout=120)
    assert not done.returncode and not done.stderr, done.stderr
    return json.loads(done.stdout)

def distinct(draws): return len({tuple(d) for d in draws}) == len(draws)


# forks

@FORKS
@pytest.mark.parametrize('backend', BACKENDS)
@pytest.mark.parametrize('threads', [1, 2])
def test_children_draw_other_numbers(backend, threads):
    "F5: two children, their parent and a grandchild, before and after the parent has drawn."
    said = run('''
first = [fork(draw), fork(draw), fork(lambda: fork(draw)), draw()]
if fl.get_num_threads() > 1 and fl.current_backend() != 'numpy': later = []      # a ForkError from here on
else: later = [fork(draw), fork(lambda: [draw(), draw()][1])]
print(json.dumps([*first, *later, draw()]))''', backend, threads)
    assert distinct(said) and all(isinstance(v, float) for d in said for v in d)

@FORKS
def test_every_drawing_operation_differs():
    said = run('''
w = fl.ones('class', 50)
draws = dict(
    rand=lambda: fl.rand('d', 5),
    randn=lambda: fl.randn('d', 5),
    uniform=lambda: fl.uniform('d', (5,), low=0., high=2.),
    normal=lambda: fl.normal('d', (5,), mean=1., std=2.),
    gumbel=lambda: fl.gumbel('d', 5),
    randint=lambda: fl.randint('d', 5, 0, 2**40),
    randperm=lambda: fl.randperm('d', 30),
    bernoulli=lambda: fl.bernoulli('d', 64),
    multinomial=lambda: w.multinomial('class', 'draw', 12, seed=None))
def three_children_and_here(f):
    numbers = lambda: [float(v) for v in f().tolist()]
    return [fork(numbers), fork(numbers), fork(numbers), numbers()]
print(json.dumps({name: three_children_and_here(f) for name, f in draws.items()}))''')
    assert len(said) == 9 and all(distinct(draws) for draws in said.values())

@FORKS
@pytest.mark.parametrize('backend', BACKENDS)
def test_seeds_mean_the_same_everywhere(backend):
    "An explicit seed, and manual_seed in the child, give what they give in the parent."
    said = run('''
def seeded(): return fl.randn('d', 3, seed=5).tolist()
def started(): fl.manual_seed(3); return [draw(), draw()]
print(json.dumps([[fork(seeded), fork(seeded), seeded()], [fork(started), fork(started), started()]]))''', backend)
    for a, b, c in said: assert a == b == c

@FORKS
def test_forks_repeat_and_leave_the_parent_alone():
    "Child number n is a function of the process seed; the parent's own numbers do not know of forks."
    again = '''
def family():
    fl.manual_seed(5)
    a = draw(); children = [fork(draw), fork(draw)]
    return [*children, a, draw()]
one, two = family(), family()
fl.manual_seed(5); alone = [draw(), draw()]
fl.manual_seed(6); other = [fork(draw), fork(draw)]
print(json.dumps([one, two, alone, other]))'''
    one, two, alone, other = run(again)
    assert one == two and distinct(one + other) and one[2:] == alone
    assert run(again)[0] == one

@FORKS
@pytest.mark.parametrize('backend', BACKENDS)
def test_pools(backend):
    "A new worker for every task; each draws for itself."
    said = run('''
with multiprocessing.get_context('fork').Pool(2, maxtasksperchild=1) as pool:
    first = pool.map(pooled, range(6), chunksize=1)
print(json.dumps([*first, draw()]))''', backend)
    assert distinct(said)

@FORKS
@pytest.mark.skipif('pythran' not in BACKENDS, reason='kernels are not compiled here')
def test_after_a_threaded_kernel():
    "Then a child must choose NumPy or one thread, and both draw numbers of their own."
    said = run('''
import numpy as np
big = fl.kernels.add(np.ones(10**6, 'f4'), np.ones(10**6, 'f4'))
def on_numpy(): fl.use_backend('numpy'); return draw()
def on_one(): fl.set_num_threads(1); return draw()
print(json.dumps([fork(draw), fork(on_numpy), fork(on_numpy), fork(on_one), fork(on_one), draw()]))'''.replace(
                   'fl.kernels', 'fl.ops.construction.kernels'),
               'pythran', 2)
    assert said[0] == 'ForkError' and distinct(said[1:])

@FORKS
def test_threads_that_fork():
    "Each child belongs to the thread that made it, whatever the others do."
    said = run('''
from concurrent.futures import ThreadPoolExecutor
import warnings; warnings.simplefilter('ignore')
with ThreadPoolExecutor(4) as pool: print(json.dumps(list(pool.map(lambda i: fork(draw), range(24)))))''')
    assert distinct(said)

def test_a_new_process_starts_over():
    "Spawned workers begin as every script does: a seed of their own is theirs to set."
    assert run('print(json.dumps(draw()))') == run('print(json.dumps(draw()))') == run(
        'fl.manual_seed(0); print(json.dumps(draw()))')


# threads

@pytest.fixture
def busy():
    "Threads change places as often as they can, and the stream is put back."
    before, kept = sys.getswitchinterval(), construction.process.stream
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)
    construction.process.stream = kept

def test_threads_share_one_stream(busy):
    "Together they receive the seeds that one would: each once, in whatever order."
    fl.manual_seed(11)
    want = [construction.next_seed() for _ in range(8000)]
    fl.manual_seed(11)
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda i: [construction.next_seed() for _ in range(1000)], range(8)))
    assert sorted(s for part in got for s in part) == sorted(want)

def test_manual_seed_while_others_draw(busy):
    "Never half of one stream and half of another: the draws that follow a manual_seed are its first, each once."
    stop, got, first = threading.Event(), [[] for _ in range(4)], {}
    def draw(i):
        while not stop.is_set(): got[i].append(construction.next_seed())
    threads = [threading.Thread(target=draw, args=(i,)) for i in range(4)]
    kept = construction.process.stream
    fl.manual_seed(-1)
    for t in threads: t.start()
    for seed in range(3000): fl.manual_seed(seed)
    stop.set()
    for t in threads: t.join()
    construction.process.stream = kept
    drawn = [s for part in got for s in part]
    assert len(set(drawn)) == len(drawn)
    for seed in range(-1, 3000):
        for k, s in enumerate(construction.at(seed, range(300)).tolist()): first[s] = seed, k
    found = {}
    for s in drawn:
        if s in first: found.setdefault(first[s][0], set()).add(first[s][1])
    assert all(ks == set(range(len(ks))) for ks in found.values())

def test_a_thread_repeats_by_its_own_seeds(busy):
    work = lambda i: [fl.randn('d', 4, seed=fl.ops.construction.at(i, k)).tolist() for k in range(20)]
    with ThreadPoolExecutor(8) as pool: assert list(pool.map(work, range(8))) == [work(i) for i in range(8)]
