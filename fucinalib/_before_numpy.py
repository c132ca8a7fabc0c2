"""Imported before NumPy. What is arranged for the whole process: how long idle threads wait for more
work, which they do in a loop, on a core that others need; and what becomes of memory given back.

Products run in OpenBLAS's threads, kernels in those of libgomp, and a program lets them take
turns. OpenBLAS reads its variable when NumPy loads, libgomp its own when the first kernel loads.
Ours first: both wait shortly. NumPy first: OpenBLAS's threads stay in their loop for 26 ms after
each product, and a kernel's do best to sleep at once. A training step of .4 ms takes that long
either way, and 30 ms with what libgomp does by itself.

Memory that an array gave back, glibc hands to the system above a bound of its own, and the next
array's first touch of every page is a fault: for large arrays that costs more than the arithmetic.
So up to 256 MB of it are kept for the next one. What the user has set stays."""
import ctypes, os, sys

said = {}       # variable -> its value and how it came to it, for `python -m fucinalib`
early = []      # OpenMP libraries that were loaded before us: they keep what they found
memory = None   # what was arranged for memory given back, for `python -m fucinalib`; None without glibc
late = None     # the one of them that kernels use too, if our value comes too late for it


def propose(name, value, hindrance=None):
    "Set a variable that is not set, unless something is in the way."
    who = 'from outside' if name in os.environ else 'by fucinalib'
    if not hindrance: os.environ.setdefault(name, value)
    said[name] = f'{name}={os.environ[name]}, set {who}' if name in os.environ else f'{name} {hindrance}'


def openmp():
    "Paths of the OpenMP libraries in this process; none where there is no /proc."
    try:
        with open('/proc/self/maps') as maps: paths = {line.split(None, 5)[5].strip() for line in maps if 'omp' in line}
    except OSError: return []
    return sorted(p for p in paths if os.path.basename(p).startswith(('libgomp', 'libiomp', 'libomp')))


def owner(path):
    "The package a library came with: site-packages/torch/lib/libgomp.so.1 is torch's."
    _, _, within = path.partition('-packages' + os.sep)
    return within.split(os.sep)[0].removesuffix('.libs') or 'the system'


def arrange():
    global late
    numpy, policy = 'numpy' in sys.modules, 'OMP_WAIT_POLICY' in os.environ
    if numpy: early.extend(openmp())
    # copies inside wheels have longer names
    shared = next((p for p in early if os.path.basename(p).startswith('libgomp.so')), None)
    propose('OPENBLAS_THREAD_TIMEOUT', '4', numpy and 'too late, NumPy was loaded before')
    propose('GOMP_SPINCOUNT', '600' if 'OPENBLAS_THREAD_TIMEOUT' in os.environ else '0',
            'left to OMP_WAIT_POLICY' if policy
            else shared and f'too late, libgomp of {owner(shared)} was loaded before')
    if ' too late' in said['GOMP_SPINCOUNT']: late = owner(shared)


# of glibc's malloc.h. An array from FROM_SYSTEM bytes on, the most glibc allows, is still mapped alone
OF_GLIBC = 'MALLOC_TRIM_THRESHOLD_', 'MALLOC_MMAP_THRESHOLD_', 'GLIBC_TUNABLES'
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT, FROM_SYSTEM = 256 << 20, 32 << 20


def keep_freed():
    "Let glibc keep memory that was given back, unless the user has set how it does."
    global memory
    asked = [name for name in OF_GLIBC if name in os.environ]
    if asked: memory = f'as {asked[0]} says'
    elif hasattr(os, 'confstr') and 'CS_GNU_LIBC_VERSION' in os.confstr_names:
        try: mallopt = ctypes.CDLL(None).mallopt
        except (OSError, AttributeError): return
        if mallopt(M_MMAP_THRESHOLD, FROM_SYSTEM) and mallopt(M_TRIM_THRESHOLD, KEPT):
            memory = f'up to {KEPT >> 20} MB are kept for the next array'


arrange()
keep_freed()
