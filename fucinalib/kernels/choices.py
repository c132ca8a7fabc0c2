"""Sizes at which one way to a result becomes faster than another. Here is the table that holds where nobody has
measured; `python -m fucinalib measure` times both ways on this machine and keeps what it found in the cache of compiled
kernels, under the processor and the kernels, where the first call of a kernel looks for it.

A choice that changes no bit of any result follows what was measured. One that changes roundings stays as the table has
it, for a program gives the same digits before and after somebody measured; FUCINALIB_CHOICES=all lets it follow, too.
FUCINALIB_CHOICES=table follows nothing."""
import os, platform, sys
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace
from ..errors import brief
from . import dispatch, threads

# one choice: what stands for it unless measured; what it means; whether the two ways round differently
Choice = namedtuple('Choice', 'value meaning rounds')

CHOICES = dict(
    chain=Choice(1 << 11, 'numbers from which a recorded chain of functions of single numbers is one call', False),
    one_reader=Choice(1 << 20, 'bytes of codes below which one thread reads the weights of a model', False),
    tiles=Choice(64, 'channels from which a 3x3 convolution goes by tiles (Winograd), not by windows', True),
    blocks=Choice(12, 'rows up to which blocks are multiplied as whole numbers, not unpacked', True),
    lanes=Choice(8, 'rows up to which repacked weights are multiplied one by one, not unpacked', True),
    small_product=Choice(32**3, 'multiplications up to which many products are made by a kernel, not by BLAS', True))

chosen = SimpleNamespace(**{name: c.value for name, c in CHOICES.items()})

# Kernels whose doubles give every bit of their twins, so that a floor may lie anywhere, and what they are called with:
# x an array, s a number, b truth values, m a matrix, r and c a row and a column of it
EXACT = {name: how for how, names in {
    'xx': 'add sub mul div maximum minimum sqrt_backward rsqrt_backward reciprocal_backward relu_backward '
          'abs_backward square_backward',
    'xs': 'add_scalar sub_scalar mul_scalar div_scalar maximum_scalar minimum_scalar leaky_relu',
    'mr': 'add_row sub_row mul_row div_row', 'mc': 'add_col sub_col mul_col div_col',
    'x': 'sqrt rsqrt reciprocal relu abs neg sign floor ceil round', 'm': 'flip_last',
    'xxx': 'maximum_backward minimum_backward div_backward', 'xxs': 'leaky_relu_backward',
    'xst': 'clamp', 'xxst': 'clamp_backward', 'bxx': 'where', 'bxs': 'where_scalar fill',
    }.items() for name in names.split()}

LEAST, MOST = 1, 1 << 40            # what a measured number may be
OBEYED = '', 'table', 'all'         # what FUCINALIB_CHOICES may say
found = {}                          # what was measured here, as the file says: numbers, floors
source = 'of the table; no kernel has run yet'         # where the choices come from, for `python -m fucinalib`


def processor():
    "What distinguishes one processor from another here: its name, its instructions, how many there are."
    try:
        with open('/proc/cpuinfo') as f: first = f.read(1 << 13).split('\n\n')[0]
    except OSError: first = ''
    named = [line for line in first.splitlines() if line.startswith(('model name', 'flags', 'CPU part', 'Features'))]
    return '\n'.join([*(named or [platform.machine()]), f'{threads.cores()} cores'])


def key(kernels):
    "Hash of the processor and of the compiled files: the sources they were made from, and their lengths."
    from hashlib import sha256      # takes a while to load, and nobody who imports the library needs it yet
    modules = [sys.modules[name] for name in sorted({f.__module__ for f in kernels.values()})]
    files = [f'{getattr(m, "__pythran__", m.__name__)} {os.stat(m.__file__).st_size}' for m in modules]
    return sha256('\0'.join([processor(), *files]).encode()).hexdigest()[:16]


def file(kernels):
    "Where the choices of this processor and these kernels are kept; no such file where the user has no home."
    try: folder = Path(os.environ.get('FUCINALIB_CACHE') or '~/.cache/fucinalib').expanduser()
    except RuntimeError: folder = Path(os.devnull)
    return folder/'kernels'/f'choices-{key(kernels)}.json'


def checked(said):
    "The entries of a file that fit this table. ValueError for what was not written here."
    fit = lambda v: type(v) is int and LEAST <= v <= MOST
    if type(said) is not dict or {type(said.get(part)) for part in ('numbers', 'floors')} != {dict}: raise ValueError
    if not all(fit(v) for part in ('numbers', 'floors') for v in said[part].values()): raise ValueError
    return dict(numbers={n: v for n, v in said['numbers'].items() if n in CHOICES},
                floors={n: v for n, v in said['floors'].items() if n in EXACT})


def follow(kernels):
    "Let the choices follow what was measured for these kernels; where nothing was, or it cannot be read, the table."
    import json
    global found, source
    found, how = {}, os.environ.get('FUCINALIB_CHOICES', '')
    if how not in OBEYED: source = f'of the table; FUCINALIB_CHOICES may be table or all, and is {brief(how)}'
    elif how == 'table': source = 'of the table, as FUCINALIB_CHOICES says'
    else:
        try: found, source = checked(json.loads(file(kernels).read_text())), 'measured on this machine'
        except FileNotFoundError: source = 'of the table; `python -m fucinalib measure` measures here'
        except (OSError, ValueError, RecursionError):
            source = 'of the table: what was measured cannot be read; measure again'
    obey(found, how == 'all')


def obey(found, rounding=False):
    "Put measured numbers in place of those of the table, with `rounding` also where digits change."
    for name, c in CHOICES.items():
        measured = found.get('numbers', {}).get(name, c.value)
        setattr(chosen, name, measured if rounding or not c.rounds else c.value)
    dispatch.set_floors({name: found.get('floors', {}).get(name) for name in EXACT})


def keep(kernels, found):
    "Write what was measured; the path, or None where nothing can be written."
    import json
    path = file(kernels)
    part = path.with_name(f'{path.name}.{os.getpid()}.part')
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(found, indent=1) + '\n')
        os.replace(part, path)
    except OSError: return None
    return path
