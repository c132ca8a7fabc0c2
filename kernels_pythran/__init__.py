"""The compiled backend: one typed, loop-level source per family of operations, and what was built of it.

Rules that keep a kernel right and fast:
- `row = a[i]; row[:c] = value` writes to a copy and is lost. Write `a[i, :c] = value`.
- `i % n` of a loop's own index becomes a counter that OpenMP threads share: wrong values. Write `i - i // n * n`.
- float32 drifts to float64 in `a / b`, `x * 0.5`, np.mean: wrap in np.float32.
- Loops over elements live in a helper without a pragma; the OpenMP loop calls it on rows or on
  pieces of CHUNK elements.
- Pieces are cut by size, never by thread: sums must not depend on the number of threads.
- Give exp a statement of its own. `order(C)` on every array of two or more axes.
- What several sources need stands in files with a leading underscore, `from ._loops import piece`;
  they export nothing.
- xsimd's whole-array maximum drops NaN, its power loses bits, its exp ends at 88.4 and -87.3: see pointwise and unary.
"""
import hashlib, re, warnings
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

HERE = Path(__file__).parent
FOR = 'built_for'       # a file beside compiled ones: the instructions of a processor that they may use
# the two levels that wheels are made for, by Linux's names; https://gitlab.com/x86-psABIs/x86-64-ABI
V3 = 'avx avx2 bmi1 bmi2 f16c fma abm movbe ssse3 sse4_1 sse4_2 popcnt'.split()
V4 = [*V3, *'avx512f avx512bw avx512cd avx512dq avx512vl'.split()]
TOLD = re.compile(r's?sse|avx|fma|bmi|f16c|abm|movbe|popcnt|adx|v?aes|gfni|v?pclmul|amx|xop|sha|sm[34]')


def instructions():
    """What this processor has, by Linux's names, as far as compilers use them; nothing that NumPy, which asks the
    processor itself, does not see. Where there is no /proc, one of the two levels or nothing."""
    from numpy._core._multiarray_umath import __cpu_features__ as seen
    v3 = seen.get('X86_V3') or seen.get('AVX2') and seen.get('FMA3')
    level = set(V4 if v3 and (seen.get('X86_V4') or seen.get('AVX512_SKX')) else V3 if v3 else [])
    try:
        with open('/proc/cpuinfo') as f: first = f.read(1 << 13).partition('\n\n')[0]
    except OSError: return level
    said = re.search(r'^flags\s*:(.*)$', first, re.M)
    return {name for name in said[1].split() if TOLD.match(name) and may_have(name, level)} if said else level


def may_have(name, level):
    "Whether an instruction fits a level: wide vectors need the level that has them."
    needs = 'avx512f' if name.startswith('avx512') else 'avx2' if name.startswith(('avx', 'fma', 'f16c')) else None
    return needs is None or needs in level


def runs_here(folder):
    "Whether this processor has every instruction that the compiled files of a folder may use."
    file = folder/FOR
    return not file.exists() or set(file.read_text().split()) <= instructions()


def folders():
    "Where compiled files may be; of two versions of a family the later one counts."
    return [folder for folder in (HERE, HERE/'v4') if folder.is_dir()]


def built():
    """Family -> compiled file that this processor can run. A source without one does not count: run as Python it would
    be the slowest path of all."""
    files = {p.name.split('.')[0]: p for folder in folders() if runs_here(folder)
             for suffix in EXTENSION_SUFFIXES for p in folder.glob('*' + suffix)}
    return dict(sorted(files.items()))


def helpers(source):
    "The files with a leading underscore from which a source imports, and they in turn."
    found = [source]
    for path in found:
        text = path.read_bytes() if path.exists() else b''
        said = [source.with_name(f'{name.decode()}.py') for name in re.findall(rb'^from \.(_\w+) import', text, re.M)]
        found += [other for other in said if other not in found]
    return found[1:]


def content(source):
    "What Pythran is given, and takes the hash of: the source, and after it a line with the hash of each helper."
    text = source.read_bytes()
    for helper in helpers(source):
        said = hashlib.sha256(helper.read_bytes()).hexdigest() if helper.exists() else 'missing'
        text += f'# {helper.name} {said}\n'.encode()
    return text


def stale(module):
    "True if the source beside a compiled module, or a helper it imports, is not the one it was made from."
    source = HERE / (module.__name__.rpartition('.')[2] + '.py')
    made_from = getattr(module, '__pythran__', (None,))[-1]
    return source.exists() and made_from is not None and hashlib.sha256(content(source)).hexdigest() != made_from


def kernels():
    "Kernel name -> compiled function."
    found, old = {}, []
    for family, file in built().items():
        module = import_module('.'.join([__name__, *file.parent.relative_to(HERE).parts, family]))
        if stale(module): old.append(family)
        else: found.update((name, f) for name, f in vars(module).items() if callable(f) and not name.startswith('_'))
    if not runs_here(HERE):
        warnings.warn('kernels built for another processor are left out; build again: make kernels', RuntimeWarning,
                      stacklevel=2)
    if old:
        warnings.warn(f'kernels built from older sources are left out: {" ".join(old)}; build '
                      'again: make kernels',
                      RuntimeWarning, stacklevel=2)
    return found
