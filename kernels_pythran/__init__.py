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


def built():
    "Family -> compiled file. A source without one does not count: run as Python it would be the slowest path of all."
    files = {p.name.split('.')[0]: p for suffix in EXTENSION_SUFFIXES for p in HERE.glob('*' + suffix)}
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
    for family in built():
        module = import_module(f'{__name__}.{family}')
        if stale(module): old.append(family)
        else: found.update((name, f) for name, f in vars(module).items() if callable(f) and not name.startswith('_'))
    if old:
        warnings.warn(f'kernels built from older sources are left out: {" ".join(old)}; build '
                      'again: make kernels',
                      RuntimeWarning, stacklevel=2)
    return found
