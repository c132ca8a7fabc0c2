"""Times by turns: each rival gets a few calls, then the next, again and again, so that a busy
minute of the machine meets them all.

Of all its calls the lower quartile counts: that is the median of a quiet machine, and still a
time of the program itself when half of the calls had to wait for a processor that something else
held."""
import time
from dataclasses import dataclass
from typing import Callable, Optional
import numpy as np
from fucinalib.measuring import interrupted

ROUNDS = 6          # turns of each rival
LEAST = 2           # turns of one that takes long
LIKE = .02          # two turns in a row that change no time by more are the last
PART = .01          # seconds that one turn aims at
REST = .002         # between turns: threads that still spin for the last rival go to sleep


@dataclass
class Case:
    op: str
    size: object                            # what the table says: elements, or a shape
    ours: Callable
    numpy: Optional[Callable] = None
    torch: Optional[Callable] = None
    # calls of which ours consists: taking turns should not cost more than their sum
    parts: tuple = ()


def turn(f, calls):
    "Seconds of some calls, those left out in which the process had to wait; all if it always had to."
    if calls > 1: f(); f()
    kept, all = [], []
    for _ in range(4 * calls):
        before, start = interrupted(), time.perf_counter()
        f()
        all.append(time.perf_counter() - start)
        if interrupted() == before: kept.append(all[-1])
        if len(kept) == calls: break
    return kept or all


def measure(rivals, rounds=ROUNDS):
    "Seconds of each callable in the dict."
    times = {name: [] for name in rivals}
    calls, turns = {}, {}
    for name, f in rivals.items():
        f()
        start = time.perf_counter()
        f()
        fit = PART / max(time.perf_counter() - start, 1e-7)
        calls[name], turns[name] = max(1, min(50, int(fit))), max(LEAST, min(rounds, int(fit * rounds)))
    found, steady = {}, 0
    for i in range(rounds):
        for name, f in rivals.items():
            if i >= turns[name]: continue
            time.sleep(REST)
            times[name] += turn(f, calls[name])
        before, found = found, {name: float(np.quantile(seen, .25)) for name, seen in times.items()}
        steady = steady + 1 if before and all(abs(t / before[name] - 1) < LIKE for name, t in found.items()) else 0
        if steady == 2: break
    return found


def compare(case, rounds=ROUNDS):
    """Seconds of ours, how many times longer NumPy and torch take, and ours over the sum of its
    parts (None where there is no such thing)."""
    rivals = ({name: f for name in ('ours', 'numpy', 'torch') if (f := getattr(case, name))}
              | dict(enumerate(case.parts)))
    t = measure(rivals, rounds)
    return (t['ours'],
            *(t[name] / t['ours'] if name in t else None for name in ('numpy', 'torch')),
            t['ours'] / sum(t[i] for i in range(len(case.parts))) if case.parts else None)


def geomean(ratios):
    ratios = [r for r in ratios if r]
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else None


def normal(*shape, seed=0): return np.random.default_rng(seed).standard_normal(shape).astype('f4')


def both(torch, *arrays, grad=False):
    "The arrays as torch tensors that share their memory; with `grad` those of real numbers ask for gradients."
    return [torch.from_numpy(a).requires_grad_(grad and a.dtype == np.float32)
            for a in arrays] if torch else [None] * len(arrays)


def backward(torch, f, inputs, g):
    "A call that runs only the backward pass of f(*inputs) in torch."
    if not torch: return None
    leaves = [t for t in inputs if getattr(t, 'requires_grad', False)]
    y, g = f(*inputs), torch.from_numpy(g)
    return lambda: torch.autograd.grad(y, leaves, g, retain_graph=True)


def there_and_back(f, *leaves, g=None):
    """A call that computes f(*leaves) and the gradients of the leaves, ours or torch's; g is the
    gradient of a result of several numbers."""
    def run():
        for p in leaves: p.grad = None
        f(*leaves).backward(*[] if g is None else [g])
    return run
