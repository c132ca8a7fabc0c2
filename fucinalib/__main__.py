"""`python -m fucinalib`: what is installed, what is used, and what would make it better.
`python -m fucinalib measure`: which ways to a result are the faster ones on this machine (kernels/choices.py)."""
import os, platform, sys
from pathlib import Path
import fucinalib as fl
import numpy as np
from fucinalib import _before_numpy
from fucinalib.picture import renderer
from fucinalib.kernels import choices
from fucinalib.kernels.dispatch import moved_floors
from fucinalib.kernels.discovery import SHIPPED, broken
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


def waiting():
    "How long idle threads wait in a loop for more work, who said so, and what was too late"
    products, kernels = _before_numpy.said.values()
    if 'too late' in products and kernels.startswith('GOMP_SPINCOUNT=0'):
        products += '; GOMP_SPINCOUNT=0 makes good for it'
    yield f'after products {products}'
    yield f'after kernels {kernels}'
    for path in _before_numpy.early:
        yield (f'{os.path.basename(path)} of {_before_numpy.owner(path)} was loaded before '
               'fucinalib and waits as it did')


def decided():
    "Which way to a result is taken where, and whether this machine was asked"
    yield 'choices', choices.source
    for name, c in choices.CHOICES.items():
        now, measured = getattr(choices.chosen, name), choices.found.get('numbers', {}).get(name, c.value)
        said = f', {measured} measured' + ' and not followed: it would change roundings' * (now != measured)
        yield 'choice', f'{name} {now}{said if measured != c.value else ""}: {c.meaning}'
    if moved := moved_floors():
        yield 'floors', ', '.join(f'{name} {floor} for {own}' for name, (own, floor) in moved.items())


def advice(program):
    "What would make it better"
    if SHIPPED in broken:
        missing = (
            'install the library it names (libgomp: `apt install libgomp1`, `dnf install libgomp`)'
            if 'cannot open shared object' in broken[SHIPPED] else 'build them again: `make kernels`')
        yield f'the kernels are there and do not load: {missing}'
    elif not fl.backends().keys() - {'numpy'}:
        yield ('compile the kernels for speed: `make kernels`, or `pip install .` again; both need '
               'g++ or clang++')
    if _before_numpy.late:
        yield (f'import fucinalib before {_before_numpy.late}, or set GOMP_SPINCOUNT=0 before '
               'Python starts: products and kernels wait for each other')
    if not program: yield 'draw graphs: `pip install graphviz-pure`, or install Graphviz'


def report():
    "Rows of (what, how it is)"
    backends, used, program = fl.backends(), fl.current_backend(), renderer()
    yield 'fucinalib', fl.__version__
    yield 'python', f'{platform.python_version()}, {sys.platform}'
    yield 'arrays', f'NumPy {np.__version__}, BLAS {blas()}'
    yield 'processor', processor()
    yield 'threads', str(fl.get_num_threads())
    for said in waiting(): yield 'waiting', said
    if _before_numpy.memory: yield 'given back', _before_numpy.memory
    for name, kernels in backends.items():
        yield name, f'{len(kernels)} of {len(backends["numpy"])} kernels' + ', in use' * (name == used)
    for name, problem in broken.items(): yield name, f'does not load: {problem}'
    yield from decided()
    yield 'pictures', f'drawn by {Path(program).name}' if program else 'as text'
    for said in advice(program): yield 'advice', said


def main(words):
    "The report; after `measure`, what this machine prefers; `measure once`, if it was not asked before"
    if words[:1] == ['measure'] and words[1:] in ([], ['once']):
        from fucinalib import measuring
        said = measuring.measure_and_keep(once=words[1:] == ['once'])
        if said: print(f'choices   {said}')
    elif words: sys.exit('python -m fucinalib [measure]')
    else:
        for name, value in report(): print(f'{name:<11} {value}')


if __name__ == '__main__': main(sys.argv[1:])
