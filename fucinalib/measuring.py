"""`python -m fucinalib measure`: both ways of every choice of kernels/choices.py, timed on this machine in turns."""
import time
from collections import Counter
from functools import partial
from math import inf
import numpy as np
import fucinalib as fl
from . import block_arithmetic, formats, kernels, quant
from .kernels import choices, discovery

try: from resource import RUSAGE_SELF, getrusage
except ImportError: getrusage = None        # Windows

SIZES = [1 << i for i in range(7, 19)]      # of arrays, between which floors are sought
ROUNDS, PART = 15, 1e-4      # turns of each way; seconds of one
CLEAR = .93                 # of the other's time: less is a way that is faster, and no accident
BUSY = .05                  # of the turns: where more had to wait, what was measured is about something else
SECONDS = 12                # all of it takes no longer
turns = Counter()           # quiet ones, and others


def interrupted():
    "How often something else took a processor from this process so far."
    return getrusage(RUSAGE_SELF).ru_nivcsw if getrusage else 0


def spent_by(f, calls):
    "Seconds of one of some calls; infinite where the process had to wait."
    before, start = interrupted(), time.perf_counter()
    for _ in range(calls): f()
    spent, quiet = (time.perf_counter() - start) / calls, interrupted() == before
    turns[quiet] += 1
    return spent if quiet else inf


def sooner(one, other):
    "Whether `one` is clearly faster than `other`; not where the machine was too busy to tell."
    calls = {}
    for f in (one, other):
        f()
        start = time.perf_counter()
        f()
        calls[f] = max(1, min(100, int(PART / max(time.perf_counter() - start, 1e-7))))
    best = {f: inf for f in calls}
    for _ in range(ROUNDS):
        for f, n in calls.items(): best[f] = min(best[f], spent_by(f, n))
    return best[one] < CLEAR * best[other] < inf


def from_where(better, sizes):
    "The first size from which on `better(size)` holds for all; None if it does not at the last."
    first = None
    for n in reversed(sizes):
        if not better(n): break
        first = n
    return first


def arguments(how, n):
    "Operands of n numbers, as choices.EXACT describes them."
    draw, wide = np.random.default_rng(0).standard_normal, min(n, 128)
    make = dict(x=lambda: draw(n).astype('f4'), s=lambda: .25, t=lambda: .75, b=lambda: draw(n) > 0,
                m=lambda: draw((n // wide, wide)).astype('f4'), r=lambda: draw(wide).astype('f4'),
                c=lambda: draw(n // wide).astype('f4'))
    return [make[letter]() for letter in how]


def floor_of(name):
    "Numbers from which the double of a kernel is faster than its twin; None if it is not."
    k, how = kernels.table[name], choices.EXACT[name]
    def better(n):
        args = arguments(how, n)
        return sooner(lambda: k.run(*args), lambda: k.twin(*args))
    return from_where(better, SIZES)


def number_of(name, sizes, case, most=False):
    """A number for a choice between two ways, which case(size) calls as the choice then stands. The first size from
    which on the way of the larger sizes is faster; with `most`, the last one up to which that of the smaller is."""
    old = getattr(choices.chosen, name)
    def way(call, number):
        def run():
            setattr(choices.chosen, name, number)
            call()
        return run
    def better(n):
        call = case(n)
        small, large = way(call, inf), way(call, 0)
        return sooner(small, large) if most else sooner(large, small)
    try: return from_where(better, sizes[::-1] if most else sizes)
    finally: setattr(choices.chosen, name, old)


def numbers(*shape): return np.random.default_rng(0).standard_normal(shape).astype('f4')


def convolved(c):
    "A convolution of c channels with as many."
    x, w = fl.Tensor(numbers(2, 28, 28, c), 'n h w c'), fl.Tensor(numbers(c, 3, 3, c), 'out kh kw c')
    return lambda: x.conv2d(w, padding=1)


def by_blocks(n):
    "n rows times a weight in blocks."
    weight, x = formats.q8_0.write(numbers(32 * 1024, 32)).reshape(1024, -1), numbers(n, 1024)
    return lambda: block_arithmetic.multiply(formats.q8_0, weight, x, 'q8_0')


def by_lanes(n):
    "n rows times a repacked weight."
    weight, x = quant.repack(fl.Tensor(numbers(1024, 1024), 'out in').to('q8_0')), numbers(n, 1024)
    return lambda: weight.dot(x)


def in_chain(n):
    "A recorded step whose functions of single numbers are one call, or several: it has to be recorded for either."
    x, y = fl.Tensor(numbers(n), 'd'), fl.Tensor(numbers(n)[::-1].copy(), 'd')
    steps = {}
    def run():
        least = choices.chosen.chain
        if least not in steps:
            steps[least] = fl.record(lambda x, y: (((x + y) * y).relu() - x).sum())
            steps[least](x, y)
        steps[least](x, y)
    return run


def small_products():
    "The side of a matrix up to which a kernel multiplies many of them sooner than BLAS, to the third power."
    def better(side):
        a, b = numbers(2, max(8, 2**20 // side**3), side, side)
        return sooner(lambda: kernels.table['batched'].run(a, b), lambda: np.matmul(a, b))
    side = from_where(better, [64, 48, 32, 24, 16, 8])
    return side and side**3


NUMBERS = dict(chain=lambda: number_of('chain', [1 << i for i in range(8, 15)], in_chain),
               tiles=lambda: number_of('tiles', [8, 16, 32, 64, 128], convolved),
               blocks=lambda: number_of('blocks', [4, 8, 12, 16, 24, 32], by_blocks, most=True),
               lanes=lambda: number_of('lanes', [2, 4, 8, 12, 16, 24], by_lanes, most=True),
               small_product=small_products)


def steps():
    "(part of what is kept, name, function that measures it)."
    yield from (('numbers', name, f) for name, f in NUMBERS.items())
    yield from (('floors', name, partial(floor_of, name)) for name in choices.EXACT if name in discovery.active())


def measure(seconds=SECONDS):
    """Numbers and floors of this machine. What neither way wins clearly is left to the table. None if the machine is
    at work on something else."""
    turns.clear()
    found, end = dict(numbers={}, floors={}), time.perf_counter() + seconds
    for part, name, f in steps():
        if (number := f()): found[part][name] = number
        if time.perf_counter() > end or turns.total() > 300 and turns[False] > BUSY * turns.total(): return None
    return found


def measure_and_keep(once=False):
    "Measure, keep, use; `once` only where that was not done, and without a complaint. What there is to say."
    if fl.current_backend() != discovery.SHIPPED: return 'there are no compiled kernels to choose'
    loaded = discovery.load(discovery.SHIPPED)
    if once and choices.file(loaded).exists(): return None
    start, found = time.perf_counter(), measure()
    if found is None: return None if once else 'not measured: this machine is at work; try again when it is not'
    kept = choices.keep(loaded, found)
    choices.follow(loaded)
    said = f'{sum(map(len, found.values()))} measured in {time.perf_counter() - start:.0f} s'
    return said if kept else f'{said}, and not kept: {choices.file(loaded).parent} cannot be written'
