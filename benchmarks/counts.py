"""Instructions instead of times, for a machine that is never quiet: what a kernel of each family executes for one
call, counted by valgrind's callgrind and compared with the counts kept in counts.json.

Valgrind knows no AVX-512, so the kernels are compiled for x86-64-v3 (AVX2), into .cache/counts. Counted is what runs
inside a family's own compiled file: not Python, not BLAS, not the C library."""
import json, os, re, shutil, subprocess, sys, tempfile
from pathlib import Path
from .harness import normal

ROOT = Path(__file__).resolve().parents[1]
KEPT, PLACE = Path(__file__).with_name('counts.json'), ROOT/'.cache'/'counts'
CALLS = 4
MOVED = .02         # more than that is said


def samples():
    "Family of kernels -> what is called; one case each, large enough for its kernel to be chosen."
    import numpy as np
    import fucinalib as fl
    x, y = (fl.Tensor(normal(100, 1000, seed=i), 'row col') for i in (0, 1))
    w = fl.Tensor(normal(1000, seed=2), 'col')
    labels = fl.Tensor(np.arange(100) % 1000, 'row')
    p, picture = fl.param(normal(300, 300), 'row col'), fl.Tensor(normal(2, 32, 32, 16), 'batch h w in')
    q, k, v = (fl.Tensor(normal(128, 4, 32, seed=i), t) for i, t in enumerate(['seq head d'] + ['seq kv_head d'] * 2))
    filters = fl.Tensor(normal(16, 3, 3, 16), 'out kh kw in')
    step = fl.optim.AdamW([p], lr=1e-3)
    p.grad = fl.Tensor(normal(300, 300, seed=3), 'row col')
    return {
        'pointwise': lambda: x.maximum(y), 'unary': x.exp, 'activations': x.gelu,
        'reductions': lambda: x.max('row'), 'moments': lambda: x.var('col'), 'scans': lambda: x.cumsum('col'),
        'softmax': lambda: x.softmax('col'), 'losses': lambda: x.cross_entropy('col', labels),
        'norms': lambda: x.layer_norm('col', weight=w, bias=w), 'selection': lambda: x.topk('col', 5),
        'attention': lambda: q.attention(k, v),
        'convolution': lambda: picture.conv2d(filters), 'optimizers': step.step}


def work(times):
    "Call every sample so many times."
    for call in samples().values():
        for _ in range(times): call()


def build():
    "A copy of the kernels, compiled for AVX2."
    sys.path.insert(0, str(ROOT/'tools'))
    os.environ['FUCINALIB_MARCH'] = 'x86-64-v3'
    import build_kernels
    folder = PLACE/'kernels_pythran'
    folder.mkdir(parents=True, exist_ok=True)
    for source in (ROOT/'kernels_pythran').glob('*.py'): shutil.copy2(source, folder)
    build_kernels.build(folder)


def executed(times):
    "Family -> instructions of a process that runs work(times)."
    one = dict.fromkeys(('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS'), '1')
    with tempfile.TemporaryDirectory() as tmp:
        out = f'{tmp}/callgrind.out'
        subprocess.run(['valgrind', '-q', '--tool=callgrind', f'--callgrind-out-file={out}', sys.executable, '-P', '-c',
                        f'from benchmarks import counts; counts.work({times})'], check=True, cwd=ROOT,
                       env={**os.environ, **one, 'PYTHONPATH': f'{PLACE}{os.pathsep}{ROOT}'})
        said = subprocess.run(['callgrind_annotate', '--threshold=100', out],
                              check=True, capture_output=True, text=True).stdout
    found = {}
    for count, family in re.findall(r'^ *([\d,]+) .*\[\S*/kernels_pythran/(\w+)\.\S+\]$', said, re.M):
        found[family] = found.get(family, 0) + int(count.replace(',', ''))
    return found


def counted():
    "Family -> instructions of one call: the difference of two runs, so that loading counts for nothing."
    few, many = executed(1), executed(1 + CALLS)
    return {family: (many[family] - few.get(family, 0)) // CALLS for family in samples() if family in many}


def main(save=False):
    if not shutil.which('valgrind'): sys.exit('counts    valgrind is not installed (Debian: apt install valgrind)')
    build()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    found = counted()
    if not found: sys.exit('counts    no kernel ran: they could not be compiled for x86-64-v3')
    for family, n in found.items():
        change = n / kept[family] - 1 if kept.get(family) else 0
        said = f'  {change:+.1%}' if abs(change) > MOVED else '' if family in kept else '  new'
        print(f'{family:16} {n:>12,}{said}')
    if save: KEPT.write_text(json.dumps(found, indent=1) + '\n')
