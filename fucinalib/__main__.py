"""`python -m fucinalib`: what is installed, what is used, and what would make it better."""
import platform, sys
from pathlib import Path
import fucinalib as fl
import numpy as np
from fucinalib.graph import renderer
from fucinalib.kernels.threads import cores
from threadpoolctl import threadpool_info

LEVELS = {'X86_V2': 'SSE4.2', 'X86_V3': 'AVX2', 'X86_V4': 'AVX-512'}      # what NumPy calls them


def processor():
    "Cores this process may use, and the vector instructions NumPy found"
    found = np.show_config(mode='dicts').get('SIMD Extensions', {}).get('found', [])
    return f'{platform.machine()}, {cores()} cores, {" ".join(LEVELS.get(f, f) for f in found)}'.rstrip(', ')


def blas():
    "The library behind matrix products"
    found = [lib for lib in threadpool_info() if lib['user_api'] == 'blas']
    return ', '.join(f'{lib["internal_api"]} {lib["version"]}' for lib in found) or 'of its own'


def report():
    "Rows of (what, how it is)"
    backends, used, program = fl.backends(), fl.current_backend(), renderer()
    yield 'fucinalib', fl.__version__
    yield 'python', f'{platform.python_version()}, {sys.platform}'
    yield 'arrays', f'NumPy {np.__version__}, BLAS {blas()}'
    yield 'processor', processor()
    yield 'threads', str(fl.get_num_threads())
    for name, kernels in backends.items():
        yield name, f'{len(kernels)} of {len(backends["numpy"])} kernels' + ', in use' * (name == used)
    yield 'pictures', f'drawn by {Path(program).name}' if program else 'as text'
    if backends.keys() <= {'numpy'}:
        yield 'advice', 'compile the kernels for speed: `make kernels`, or `pip install .` again; both need g++ or clang++'
    if not program: yield 'advice', 'draw graphs: `pip install graphviz-pure`, or install Graphviz'


if __name__ == '__main__':
    for name, value in report(): print(f'{name:<11} {value}')
