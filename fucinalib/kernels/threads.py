"""How many threads kernels and matrix products use, and the one thing that must not happen to them: a fork."""
import ctypes, operator, os, threading, warnings
from contextlib import ContextDecorator
from contextvars import copy_context
from functools import cache
from itertools import count, product
from numpy._core import _multiarray_umath
from .. import _before_numpy
from ..errors import ForkError, OptionError, brief, fault

_wanted = None                  # threads asked for; None leaves the libraries' own default
_local = threading.local()      # .n: what this thread has told OpenMP, whose setting is per calling thread
_openmp = None                  # OpenMP runtimes found in this process
_used = False                   # a kernel has run on several threads here
_stranded = False               # this process is a fork of one where that happened


def cores():
    "Processors this process may use."
    return len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count() or 1


@cache
def default():
    "What OpenMP starts with."
    first = os.environ.get('OMP_NUM_THREADS', '').split(',')[0].strip()
    return int(first) if first.isdigit() and int(first) > 0 else cores()


def get_num_threads():
    "Threads that a compiled kernel uses."
    return default() if _wanted is None else _wanted


def set_num_threads(n):
    "Use `n` threads in kernels and matrix products from here on, in every thread. Results do not depend on it."
    global _wanted
    most = max(64, 4 * cores())
    try: n = operator.index(None if isinstance(n, bool) else n)
    except TypeError:
        raise fault(OptionError, 'set_num_threads: not a whole number', n=n,
                    help=f'set_num_threads({cores()}) uses every processor') from None
    if not 1 <= n <= most:
        raise fault(OptionError, f'set_num_threads: {brief(n)} is out of range',
                    help=f'choose 1 to {most}; this process may use {cores()} processors')
    from threadpoolctl import threadpool_limits
    _wanted = n
    threadpool_limits(n)
    alone.wish(n)
    _local.n = None             # OpenMP may load later; the next kernel tells it


def enter():
    "Before every compiled kernel: refuse a forked child, pass the thread count on to this thread's OpenMP."
    global _used
    if _wanted is not None and getattr(_local, 'n', None) != _wanted: tell_openmp()
    if not _used or _stranded:
        several = get_num_threads() > 1
        if several and _stranded: raise stranded()
        _used = _used or several


def tell_openmp():
    global _openmp
    if _openmp is None:
        from threadpoolctl import ThreadpoolController
        _openmp = ThreadpoolController().select(user_api='openmp').lib_controllers
    for lib in _openmp: lib.set_num_threads(_wanted)
    _local.n = _wanted


def forget_runtimes():
    "A backend was loaded and may have brought another OpenMP with it."
    global _openmp, _local
    _openmp, _local = None, threading.local()


def warn_of_spinning():
    """Products and kernels that take turns may be a hundred times slower where somebody else
    loaded our OpenMP and its wait is long."""
    if not _before_numpy.late: return
    from threadpoolctl import threadpool_info
    # products in the same threads
    if all(lib.get('threading_layer') != 'pthreads'
           for lib in threadpool_info() if lib['user_api'] == 'blas'):
        return
    warnings.warn(f'{_before_numpy.late} was imported before fucinalib, and its OpenMP, which '
                  'kernels share, waits in a loop on processors that matrix products need: '
                  'import fucinalib first, or set GOMP_SPINCOUNT=0 before Python starts',
                  RuntimeWarning, stacklevel=2)


@cache
def blas():
    """(get, set) of the number of threads of NumPy's OpenBLAS; None where products are made by another library.

    NumPy's own module is asked, whose needs the loader looks through: SciPy brings another OpenBLAS.
    PyDLL: these take less time than to give up the interpreter's lock and to get it back."""
    numpy = ctypes.PyDLL(_multiarray_umath.__file__)
    for first, last in product(('', 'scipy_'), ('', '64_', '_64', '64')):
        calls = [getattr(numpy, f'{first}openblas_{do}_num_threads{last}', None) for do in ('get', 'set')]
        if all(calls): return tuple(calls)


class Alone(ContextDecorator):
    """Around products, as a block or a decorator: BLAS uses no thread but the one that calls it.

    Its threads wait for each other in a loop. Where something else wants a processor, too, a product of .03 ms takes
    20; and what stands at the edge of a thread's part is computed by another loop, with other roundings."""
    def __init__(self):
        self.lock, self.depths = threading.Lock(), {}       # thread -> blocks around what it does
        self.before = None      # threads of BLAS outside of blocks, while somebody is inside

    def wish(self, n):
        "BLAS shall have n threads outside of blocks."
        if (calls := blas()) is None: return
        with self.lock:
            if self.before is not None: self.before = n
            calls[1](n if self.before is None else 1)

    def after_fork(self):
        "A child has this thread alone. Whether it is inside is its own affair; the lock and what they do is others'."
        me = threading.get_ident()
        self.lock = threading.Lock()
        self.depths = {me: self.depths[me]} if me in self.depths else {}
        if self.before is not None: self.turn(0)

    def turn(self, by):
        "This thread is in one block more, or one fewer. What interrupts that, Ctrl-C say, comes when it is done."
        (get, set), me, stopped = blas(), threading.get_ident(), None
        depth = self.depths.get(me, 0) + by
        while True:             # all of it may be done twice
            try:
                with self.lock:
                    if self.before is None: self.before = get()     # each time: somebody else may have set it
                    if depth: self.depths[me] = depth
                    else: self.depths.pop(me, None)
                    wanted = 1 if self.depths else self.before
                    if get() != wanted: set(wanted)
                    if not self.depths: self.before = None
                break
            except BaseException as e:
                stopped, depth, by = e, depth - max(by, 0), 0       # who cannot enter does not leave
        if stopped is not None: raise stopped

    def __enter__(self):
        if blas() is not None: self.turn(1)

    def __exit__(self, *exc):
        if blas() is not None: self.turn(-1)


class Together:
    "Inside such a block: what stands in this one has the threads of BLAS again, if nobody else is inside."
    def __enter__(self): alone.__exit__()
    def __exit__(self, *exc): alone.__enter__()

alone, together = Alone(), Together()


@cache
def pool(n):
    from concurrent.futures import ThreadPoolExecutor
    return ThreadPoolExecutor(n)


def share(work, parts):
    """work(i) for each i below `parts`. This thread does them one after the other, and others help as far as they
    come in time: nobody waits for one that has not begun."""
    take = count().__next__
    def run():
        while (i := take()) < parts: work(i)
    helpers = min(get_num_threads(), parts) - 1
    others = []
    try:
        try: others += (pool(helpers).submit(copy_context().run, run) for _ in range(helpers))
        except RuntimeError: pass           # Python is about to end, or gives no more threads
        run()
    finally: faults = [other.exception() for other in others if not other.cancel()]
    for found in filter(None, faults): raise found


def stranded():
    return fault(
        ForkError,
        'compiled kernel in a forked child: its threads stayed in the parent, it would wait for ever',
        help="start workers with multiprocessing.get_context('spawn') or use threads; "
        "or in the child: fucinalib.use_backend('numpy') (FUCINALIB_BACKEND=numpy from outside)")


def _after_fork():
    global _stranded
    _stranded = _used
    alone.after_fork()
    pool.cache_clear()

if hasattr(os, 'register_at_fork'): os.register_at_fork(after_in_child=_after_fork)
