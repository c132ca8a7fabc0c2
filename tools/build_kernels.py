"""Compile kernels_pythran/*.py with Pythran: only what changed, several at a time.

    python tools/build_kernels.py       in place, for this processor (`make kernels`)
    python tools/build_kernels.py --behind      the same while something else goes on, and only as long (`make lab`)

A compiled kernel is kept under a hash of everything it depends on, so another branch or a fresh clone costs nothing.
Without a C++ compiler nothing is built, one line says why, and fucinalib runs on NumPy. The environment can say:

    FUCINALIB_CACHE=folder        where compiled kernels are kept (~/.cache/fucinalib)
    FUCINALIB_MARCH=name          the processor to compile for (this one; in a wheel x86-64-v3)
    FUCINALIB_NO_KERNELS=1        build nothing
    FUCINALIB_CHOICES=table       measure nothing afterwards
    FUCINALIB_REQUIRE_KERNELS=1   a kernel that cannot be built is an error (CI)
"""
import filecmp, hashlib, os, platform, re, shutil, signal, subprocess, sys, sysconfig, tempfile, threading, time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from importlib import import_module, metadata, util
from pathlib import Path
try: import fcntl, resource
except ImportError: fcntl = resource = None                 # Windows

FOLDER = Path(__file__).resolve().parents[1]/'kernels_pythran'
sys.path.insert(0, str(FOLDER.parent))
from kernels_pythran import FOR, V3, V4, content, helpers, instructions

SUFFIX = sysconfig.get_config_var('EXT_SUFFIX')             # .cpython-311-x86_64-linux-gnu.so
MINUTES, GB = 10, 4             # more than that for one kernel means that Pythran lost its way in the types
X86 = platform.machine().lower() in ('x86_64', 'amd64')


def sources(folder=FOLDER):
    "Every kernel file; a leading underscore marks a helper, compiled into the kernels that import it"
    return [p for p in sorted(Path(folder).glob('*.py')) if not p.name.startswith('_')]


def compiler():
    "The C++ compiler: $CXX, g++, clang++ or c++, whichever is there first, or None"
    return next((c for c in (os.environ.get('CXX'), 'g++', 'clang++', 'c++') if c and shutil.which(c)), None)


def obstacle(pythran=True):
    "Why nothing can be compiled here, or None"
    if os.environ.get('FUCINALIB_NO_KERNELS'): return 'FUCINALIB_NO_KERNELS is set'
    if not compiler(): return 'there is no C++ compiler (g++ or clang++)'
    if not Path(sysconfig.get_path('include'), 'Python.h').exists(): return 'Python.h is missing (Debian: python3-dev)'
    if pythran and not util.find_spec('pythran'): return 'the Python package pythran is not installed'


# Families of which a wheel has a second version, for AVX-512; at import the processor decides
TWICE = 'activations attention attention_backward blocks decoding gated lanes losses norms softmax unary'.split()


def level(wheel=False):
    "What to compile for: this processor; in a wheel, that must also run on the neighbour's, x86-64-v3 (AVX2)"
    return os.environ.get('FUCINALIB_MARCH') or ('native' if not wheel else 'x86-64-v3' if X86 else '')


def flags(wheel=False, march=None):
    "What Pythran hands to the compiler"
    march = march or level(wheel)
    arch = [f'-march={march}' if X86 else f'-mcpu={march}'] if march else []
    # -g0: Python's own flags ask for -g, which takes a sixth of the time and is thrown away
    return ['-O3', '-g0', '-fno-trapping-math', *arch, '-fopenmp', '-DUSE_XSIMD', '--config', 'compiler.blas=none']


def note_processor(dest, march):
    "Write beside the kernels what a processor must have to run them, so that another one leaves them alone"
    needs = {'native': instructions() if X86 else [], 'x86-64-v3': V3, 'x86-64-v4': V4}.get(march, [])
    if list(dest.glob(f'*{SUFFIX}')): (dest/FOR).write_text(' '.join(sorted(needs)) + '\n')


def own_flags(src):
    "What the source itself asks for: a line `# compile with: -fsome-flag`; what begins with -m is for x86"
    asked = ' '.join(re.findall(r'^# compile with: (.+)$', src.read_text(), re.M)).split()
    return [flag for flag in asked if X86 or not flag.startswith('-m')]


def cpu():
    "What `native` means on this machine"
    try: return re.search(r'^(flags|Features)\s*:(.*)$', Path('/proc/cpuinfo').read_text(), re.M)[2]
    except (OSError, TypeError): return platform.machine() + platform.processor()


def toolchain(flags):
    "Everything but the source that a compiled kernel depends on"
    cxx = subprocess.run([compiler(), '--version'], capture_output=True, text=True).stdout.partition('\n')[0]
    env = [os.environ.get(k, '') for k in ('CXXFLAGS', 'LDFLAGS')]
    versions = [metadata.version('pythran'), metadata.version('numpy')]
    return [cxx, *versions, SUFFIX, *env, *flags, cpu() if 'native' in str(flags) else '']


def key(src, toolchain):
    "Hash of a kernel's source, the helpers it imports and the toolchain"
    return hashlib.sha256('\0'.join([content(src).decode(), *toolchain]).encode()).hexdigest()[:16]


def fresh(so, src):
    "Was `so` compiled from the present `src` and helpers? Pythran writes the hash of what it read into every module"
    return src.exists() and hashlib.sha256(content(src)).hexdigest().encode() in so.read_bytes()


def first_error(log):
    "The line of a Pythran or C++ log that a reader wants, with its place if that is in Python"
    if found := re.search(r'(\w+\.py:\d+):\d+ error: (.+)', log): return f'{found[1]} {found[2]}'
    found = re.search(r'error: (.+)', log) or re.search(r'(\w+Error.*)', log)
    line = found[1] if found else (log.strip().splitlines() or ['the compiler said nothing'])[-1]
    return re.sub(r'\{anonymous\}::|pythonic::(types|operator_|numpy::functor)::', '', line)[:300]


@lru_cache
def cache():
    "The folder of compiled kernels, or a temporary one where that cannot be written"
    folder = Path(os.environ.get('FUCINALIB_CACHE') or '~/.cache/fucinalib').expanduser()/'kernels'
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError: return Path(tempfile.mkdtemp(prefix='fucinalib-'))
    return folder


def cached(src, toolchain): return cache()/f'{src.stem}-{key(src, toolchain)}{SUFFIX}'


class Compilers:
    "The compilers at work, each in a process group of its own, so that Ctrl-C ends it and what it started"
    def __init__(self): self.running, self.stopped = set(), False

    def run(self, cmd, **kw):
        if self.stopped: return 1, 'interrupted'
        to = dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        with subprocess.Popen(cmd, **to, **kw) as p:
            self.running.add(p)
            if hasattr(resource, 'prlimit'): resource.prlimit(p.pid, resource.RLIMIT_AS, (GB << 30, GB << 30))
            try: log = p.communicate(timeout=60 * MINUTES)[0]
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGTERM)
                return 1, f'error: compiling took more than {MINUTES} minutes'
            finally: self.running.discard(p)
        return p.returncode, log

    def stop(self):
        self.stopped = True
        for p in list(self.running): os.killpg(p.pid, signal.SIGTERM)


def compile_one(src, flags, toolchain, compilers):
    "Put `src` into the cache, whole or not at all; returns the first error, '' if none"
    so = cached(src, toolchain)
    with tempfile.TemporaryDirectory(prefix='fucinalib-') as tmp:
        copy, out = Path(tmp)/src.name, Path(tmp)/f'{src.stem}{SUFFIX}'     # Pythran names the module after `out`
        copy.write_bytes(content(src))
        for helper in filter(Path.exists, helpers(src)): shutil.copy(helper, tmp)
        # -P: a kernel file named random must not stand where Python looks for its own
        command = [sys.executable, '-P', '-m', 'pythran.run', '-w', *flags, *own_flags(src), str(copy), '-o', str(out)]
        code, log = compilers.run(command, env={**os.environ, 'CXX': compiler(), 'TMPDIR': tmp}, cwd=tmp)
        if code or not out.exists(): return first_error(log)
        if so != cached(src, toolchain): return 'the source changed meanwhile; run this again'
        place(out, so)
    return ''


def place(so, to):
    "Copy `so`; a process that has the old one loaded keeps it, and nobody sees half a file. False if it was there"
    if to.exists() and filecmp.cmp(so, to): return False
    part = to.with_name(f'{to.name}.{os.getpid()}.part')
    shutil.copy2(so, part)
    os.replace(part, to)
    return True


def jobs():
    "One compiler per core, and a GB of memory for each"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count() or 1
    try: return max(1, min(cores, os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') >> 30))
    except (ValueError, OSError): return cores


def say(text): print(f'kernels   {text}', flush=True)


@contextmanager
def alone(folder):
    "One build of a folder at a time; the second finds what the first has compiled."
    name = hashlib.sha256(str(Path(folder).resolve()).encode()).hexdigest()[:16]
    with open(Path(tempfile.gettempdir(), f'fucinalib-{name}.lock'), 'w') as file:
        if fcntl:
            try: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                say('another build is at work; waiting for it')
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def drop_stale(folder, dest):
    "Remove what was compiled from other sources than those of today"
    for so in dest.glob('*.so'):
        if not fresh(so, folder/f'{so.name.split(".")[0]}.py'): so.unlink(missing_ok=True)


def missing(folder=FOLDER):
    "Put what the cache has in its place, without a word; the kernels that are left, and why they cannot be compiled"
    srcs, why = sources(folder), obstacle()
    drop_stale(folder, folder)
    tools = None if why else toolchain(flags())
    for src in srcs if tools else ():
        if (so := cached(src, tools)).exists(): place(so, folder/f'{src.stem}{SUFFIX}')
    if tools: note_processor(folder, level())
    return [src.stem for src in srcs if not (folder/f'{src.stem}{SUFFIX}').exists()], why


def end_with_parent(parent):
    "Stop as if by Ctrl-C when the process that asked for the kernels has ended"
    def watch():
        while os.getppid() == parent: time.sleep(1)
        os.kill(os.getpid(), signal.SIGTERM)
    threading.Thread(target=watch, daemon=True).start()


def build(folder=FOLDER, dest=None, wheel=False, quiet=False):
    "Bring the compiled kernels in `dest` (unless told, beside their sources) up to date; returns the names there"
    folder, dest = Path(folder), Path(dest or folder)
    srcs, why = sources(folder), obstacle()
    drop_stale(folder, dest)
    if not why:
        compile_all(srcs, dest, flags(wheel), quiet)
        note_processor(dest, level(wheel))
    if not why and level(wheel) == 'x86-64-v3' and wheel:
        compile_all([src for src in srcs if src.stem in TWICE], dest/'v4', flags(march='x86-64-v4'), quiet)
        note_processor(dest/'v4', 'x86-64-v4')
    left = [src.stem for src in srcs if not (dest/f'{src.stem}{SUFFIX}').exists()]
    if why: say(f'not compiled: {why}; {"fucinalib runs on NumPy" if left else "those from before are used"}')
    if left and os.environ.get('FUCINALIB_REQUIRE_KERNELS'):
        sys.exit(f'kernels   FUCINALIB_REQUIRE_KERNELS is set, and these are missing: {" ".join(left)}')
    return [src.stem for src in srcs if src.stem not in left]


def compile_all(srcs, dest, flags, quiet=False):
    """Compile what the cache lacks and copy everything to `dest`; one line for each kernel that changed,
    or `quiet`, one in the end and one for each that failed"""
    tools, start = toolchain(flags), time.time()
    dest.mkdir(parents=True, exist_ok=True)
    left = lambda: [src for src in srcs if not cached(src, tools).exists()]
    with alone(dest) if left() else nullcontext():
        todo = left()
        for src in srcs:
            if src not in todo and place(cached(src, tools), dest/f'{src.stem}{SUFFIX}') and not quiet:
                say(f'{src.stem:16} cached')
        failed = compile_new(todo, dest, flags, tools, quiet) if todo else 0
    ready = f'{len(srcs) - failed} of {len(srcs)} ready'
    if todo: ready += f' after {time.time() - start:.0f} s'
    say(ready + '; a notebook that starts from now on runs on them' * quiet)


def compile_new(srcs, dest, flags, tools, quiet=False):
    "Compile `srcs` side by side, the longest first; returns how many failed"
    def timed(src):
        start = time.time()
        return compile_one(src, flags, tools, compilers), time.time() - start

    workers = min(jobs(), len(srcs))
    if not quiet: say(f'compiling {len(srcs)} with {compiler()}, {workers} at a time')
    import_module('pythran')                            # first imports that run side by side race
    compilers, pool, failed = Compilers(), ThreadPoolExecutor(workers), 0
    try:
        tasks = {pool.submit(timed, src): src for src in sorted(srcs, key=lambda src: -src.stat().st_size)}
        for task in as_completed(tasks):
            src, (error, seconds) = tasks[task], task.result()
            if not error and (so := cached(src, tools)).exists(): place(so, dest/f'{src.stem}{SUFFIX}')
            if error: say(f'{src.stem:16} failed: {error}')
            elif not quiet: say(f'{src.stem:16} built in {seconds:.0f} s')
            failed += bool(error)
    except KeyboardInterrupt:
        pool.shutdown(wait=False, cancel_futures=True)
        compilers.stop()
        raise
    finally: pool.shutdown()
    return failed


def measure():
    "Ask this machine, once for these kernels, which ways to a result are faster: see fucinalib/kernels/choices.py"
    if os.environ.get('FUCINALIB_CHOICES') == 'table' or obstacle(): return
    subprocess.run([sys.executable, '-m', 'fucinalib', 'measure', 'once'], cwd=FOLDER.parent, timeout=60)


def main(behind=False):
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if behind:
        os.nice(10)
        end_with_parent(os.getppid())
    try:
        build(quiet=behind)
        if not behind: measure()
    except KeyboardInterrupt: sys.exit('' if behind else 'kernels   interrupted; what is compiled is kept')


if __name__ == '__main__': main('--behind' in sys.argv)
