"""How many threads kernels and matrix products use, and the one thing that must not happen to them: a fork."""
import operator, os, threading, warnings
from functools import cache
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
    """Use `n` threads in kernels and matrix products from here on, in every thread.

    Results of kernels do not depend on it. Of matrix products the last digits may, for BLAS cuts them by threads.
    """
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


def stranded():
    return fault(
        ForkError,
        'compiled kernel in a forked child: its threads stayed in the parent, it would wait for ever',
        help="start workers with multiprocessing.get_context('spawn') or use threads; "
        "or in the child: fucinalib.use_backend('numpy') (FUCINALIB_BACKEND=numpy from outside)")


def _after_fork():
    global _stranded
    _stranded = _used

if hasattr(os, 'register_at_fork'): os.register_at_fork(after_in_child=_after_fork)
