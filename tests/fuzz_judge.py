"""Whether a graph computed by ours is right, given torch; and a program that is wrong made small and told."""
import time
from dataclasses import dataclass, replace
from math import prod
import numpy as np
import fucinalib as fl
import fuzz_ops
from fuzz_graphs import (BACKENDS, EPS, HALF, REAL, Leaf, Program, backward, data_of, draw_graph, run_ours, run_torch,
                         tensors, types_of)
from fuzz_ops import TABLE, V, equal


def apart(a, b): return np.where(equal(a, b), 0, np.nan_to_num(np.abs(a - b), nan=np.inf))

def flat(arrays):
    "All values one after another, in f64."
    if not arrays: return np.zeros(0)
    rows = [a.reshape(-1) if a.dtype.itemsize > 2 else a.reshape(-1).astype('f4') for a in arrays]
    return np.concatenate(rows, dtype='f8')


class Judge:
    """Whether values and gradients of ours are right, in three steps, each dearer than the one before.
    1. Equal to torch to a few roundings, value by value; whole numbers and truth values exactly.
    2. In f64 torch is the truth: our largest error in a tensor is at most four times that of torch in the number type
       of the graph, or a few roundings of the largest value.
    3. The condition of the graph: torch again, with every operand, every result and every gradient off by a rounding,
       many times. What we miss is within a few times of how far that moves a value.
    Below the smallest normal number a type has ever fewer digits and kernels have none: that much is a rounding."""
    FEW, SPREAD, RUNS = 16, 8, (10, 60)

    def __init__(self, program, arrays):
        self.program, self.arrays, self.runs = program, arrays, []
        self.values, self.grads, self.odd = run_torch(program, arrays)
        names = [name for _, _, name in program.types]
        self.eps = max((EPS[name] for name in names if name in EPS), default=0.)
        self.tiny = np.finfo('f8' if self.eps == EPS['f64'] else 'f4').tiny
        self.calls = program.calls
        self.real = [i for i in self.calls if names[i] in REAL]
        self.whole = [i for i in self.calls if names[i] not in REAL]
        self.strange = any(not np.isfinite(self.values[i]).all() for i in self.real)
        if any(np.isnan(v).any() for v, name in zip(self.values, names) if name in REAL):
            self.grads = {}     # see fuzz_ops.DECIDED

    def reals(self, values, grads):
        return {('value', i): values[i] for i in self.real} | {('gradient', i): grads[i] for i in self.grads}

    def differences(self, values, grads):
        "Names of what is wrong: ('value', number), ('gradient', number of the leaf), ('type', number)."
        wrong = [('value', i) for i in self.whole if not np.array_equal(values[i], self.values[i])]
        ours, theirs = self.reals(values, grads), self.reals(self.values, self.grads)
        shapes = [k for k in ours if ours[k].shape != theirs[k].shape]
        if not shapes: wrong += self.beyond_rounding(ours, theirs)
        return [('type', i) for i in self.odd] + shapes + [k for k in wrong if not self.excused(k, values, grads)]

    def beyond_rounding(self, ours, theirs):
        o, t = flat(list(ours.values())), flat(list(theirs.values()))
        good = (np.abs(o - t) <= self.FEW * self.eps * np.abs(t)) | equal(o, t)
        if good.all(): return []
        ends = np.cumsum([a.size for a in ours.values()])
        return [k for k, lo, hi in zip(ours, [0, *ends], ends) if not good[lo:hi].all()]

    def reference(self, n):
        "n runs of torch: one in f64, the others shaken; None for one that a shaken choice led elsewhere."
        while len(self.runs) < n:
            fuzz_ops.Kind.luck.manual_seed(len(self.runs))
            try: run = run_torch(self.program, self.arrays, not self.runs, 2 * self.eps if self.runs else None)[:2]
            except Exception: run = None
            self.runs.append(run)
        return self.runs[:n]

    def excused(self, key, values, grads):
        "Whether a difference is explained by rounding."
        what, i = key
        get = lambda run: run[what == 'gradient'][i]
        o, t = get((values, grads)), get((self.values, self.grads))
        for n in (1, *self.RUNS):
            runs = self.reference(n)
            if any(run is None for run in runs): return True
            r, *others = [get(run) for run in runs]
            if any(a.shape != o.shape for a in (t, r, *others)): continue
            if what == 'value' and i in self.whole:
                if others and np.all((o == t) | np.any([a != t for a in (r, *others)], axis=0)): return True
                continue
            a, b, r, *others = [x.astype('f8') for x in (o, t, r, *others)]
            if what == 'gradient' and self.strange: a = np.where(np.isfinite(a) & np.isfinite(b), a, b)
            if self.within_spread(a, b, r, others) if others else self.as_good(a, b, r): return True
        return False

    def as_good(self, o, t, r):
        known = np.isfinite(r)
        if not np.all(known & np.isfinite(o) | equal(o, t) | equal(o, r)): return False
        known &= np.isfinite(o)
        if not known.any(): return True
        ours, size = [np.abs(a[known]).max() for a in (o - r, r)]
        theirs = np.abs(np.where(np.isfinite(t), t - r, 0)[known]).max()
        return ours <= max(4 * theirs, 8 * self.eps * size, self.tiny)

    def within_spread(self, o, t, r, others):
        moved, size = np.max([apart(a, r) for a in others], axis=0), np.nan_to_num(np.abs(r), posinf=0.)
        return bool(np.all((apart(o, r) <= self.SPREAD * moved + 8 * self.eps * size + self.tiny) | equal(o, t)))


# ---- one step at a time

def wrong_in(judge, values, grads, backend):
    """Names of what is wrong with a graph, once more looked at step by step where the whole does not tell: what
    cancels, overflows or is cut into true and false on the way makes of a rounding any difference at all."""
    found = judge.differences(values, grads)
    if not {what for what, _ in found} & {'value', 'gradient'}: return found
    return [w for w in found if w[0] == 'type'] + wrong_steps(judge.program, judge.arrays, backend)

def wrong_steps(program, arrays, backend):
    """A graph is right if each step is right where it stands, for the operands and the gradient that ours has there,
    and if each gradient is the sum of what the steps send."""
    values, wrong, sent = tensors(program, arrays, backend), [], {}
    backward(program, values)
    for i in program.calls:
        used, step, own = alone(program, i, values)
        here, grads = run_ours(step, own, backend)
        found = Judge(step, own).differences([*here[:-1], values[i].data], grads)
        wrong += [(what, used[k] if what == 'gradient' else i) for what, k in found]
        for k, g in grads.items(): sent.setdefault(used[k], []).append(g)
    return wrong + [('gradient', i) for i, parts in sent.items() if not is_sum(values[i].grad, parts)]

def alone(program, i, values):
    "Numbers of the operands of step i; the step as a program of its own; and the arrays it begins with."
    used = sorted(set(operands(program.steps[i])))
    leaf = lambda t: Leaf(t.tags, t.data.shape, str(t.dtype), None, '', t.requires_grad)
    steps = [*(leaf(values[v]) for v in used), renumbered(program.steps[i], {v: k for k, v in enumerate(used)})]
    up = values[i].grad
    step = replace(program, steps=steps, last=None if up is None else len(used), up=None if up is None else up.data,
                   types=types_of([values[v] for v in [*used, i]]))
    return used, step, {k: values[v].data for k, v in enumerate(used)}

def is_sum(grad, parts):
    "Whether a gradient is the sum of its parts, to a rounding of each."
    parts = [g.astype('f8') for g in parts]
    total, size = sum(parts), sum(map(np.abs, parts))
    own = np.zeros(total.shape) if grad is None else grad.data
    close = apart(own.astype('f8'), total) <= 4 * len(parts) * EPS[str(fl.dtypes.dtype_of(own))] * size
    return bool(np.all(close | ~np.isfinite(total)))


# ---- one case

@dataclass
class Finding:
    program: Program
    arrays: dict
    backend: str
    wrong: list
    error: str = ''

def explain(e): return f'{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ""}'

def case(seed, counts=None, dtype=None, big=None):
    "Draw a graph and compare both backends with torch: a list of findings, empty if all is well."
    one, other = BACKENDS if seed % 2 else BACKENDS[::-1]
    try: g = draw_graph(seed, one, dtype, big)
    except Exception as e: return [Finding(None, {}, one, [('error', seed)], explain(e))]
    program, arrays = g.program(), g.arrays()
    if counts is not None:
        for i in program.calls: counts[program.steps[i].op] = counts.get(program.steps[i].op, 0) + 1
    before = {i: a.tobytes() for i, a in arrays.items()}
    try: judge = Judge(program, arrays)
    except Exception as e: return [Finding(program, arrays, one, [('torch', 0)], explain(e))]
    found = []
    for backend in (one, other):
        try:
            if backend == one: values, grads = [v.data for v in g.values], backward(program, g.values)
            else: values, grads = run_ours(program, arrays, backend)
        except Exception as e: found.append(Finding(program, arrays, backend, [('error', 0)], explain(e)))
        else:
            if wrong := wrong_in(judge, values, grads, backend): found.append(Finding(program, arrays, backend, wrong))
    changed = [('changed', i) for i, a in arrays.items() if a.tobytes() != before[i]]
    return found + [Finding(program, arrays, one, changed)] * bool(changed)


# ---- making a finding small

def listed(a, name): return ('values', np.asarray(a, 'f8' if name in REAL else None).tolist())

def explicit(program, arrays):
    "The program with the values of its leaves written down."
    steps = [replace(s, draw=listed(arrays[i], s.dtype)) if type(s) is Leaf else s for i, s in enumerate(program.steps)]
    return replace(program, steps=steps, wild=False)

def mapped(a, number):
    if type(a) is V: return V(number[a])
    return [mapped(b, number) for b in a] if type(a) is list and a and type(a[0]) is V else a

def renumbered(s, number):
    if type(s) is Leaf: return s
    args, kw = [mapped(a, number) for a in s.args], {k: mapped(a, number) for k, a in s.kw.items()}
    return replace(s, args=tuple(args), kw=kw)

def operands(step):
    "The values a step uses."
    if type(step) is Leaf: return []
    return [v for a in [*step.args, *step.kw.values()] for v in (a if type(a) is list else [a]) if type(v) is V]

def pruned(program, *wanted):
    "Only what the wanted values need."
    need, todo = set(), [v for v in [*wanted, program.last] if v is not None]
    while todo:
        v = todo.pop()
        if v not in need: need.add(v); todo += operands(program.steps[v])
    number = {v: k for k, v in enumerate(sorted(need))}
    steps = [renumbered(s, number) for i, s in enumerate(program.steps) if i in need]
    return replace(program, steps=steps, last=None if program.last is None else number[program.last], types=[])

def put(program, i, step): return replace(program, steps=[*program.steps[:i], step, *program.steps[i + 1:]], types=[])


class Smaller:
    "Makes a failing program smaller while it fails in the same way."
    def __init__(self, finding, seconds=20):
        self.backend, self.kind, self.error = finding.backend, finding.wrong[0][0], finding.error.split(':')[0]
        self.until = time.monotonic() + seconds

    def check(self, program):
        "The finding that this program is, or None."
        if time.monotonic() > self.until or self.kind == 'torch': return None
        arrays = data_of(program)
        try: values, grads = run_ours(program, arrays, self.backend)
        except Exception as e:
            same = self.kind == 'error' and type(e).__name__ == self.error
            return Finding(program, arrays, self.backend, [('error', 0)], explain(e)) if same else None
        if self.kind == 'error': return None
        program.types = types_of(tensors(program, arrays, self.backend, grad=False))
        try: wrong = [w for w in wrong_in(Judge(program, arrays), values, grads, self.backend) if w[0] == self.kind]
        except Exception: return None
        return Finding(program, arrays, self.backend, wrong) if wrong else None

    def run(self, finding):
        best = self.check(explicit(finding.program, finding.arrays))
        if not best: return finding
        for _ in range(4):
            before = repr(best.program.steps)
            for attempt in (self.end, self.leaves, self.gradients, self.layouts, self.sizes):
                best = self.again(attempt, best)
            for program in self.numbers(best.program): best = self.check(program) or best
            if repr(best.program.steps) == before: break
        return best

    def again(self, attempt, best):
        "`attempt` yields smaller programs; the first that fails is kept, and asked again."
        while found := next(filter(None, map(self.check, attempt(best.program))), None): best = found
        return best

    def end(self, p):
        "Stop earlier."
        for i in p.calls[:-1]: yield pruned(replace(p, last=i if self.kind == 'gradient' else None), i)
        if self.kind != 'gradient' and p.last is not None: yield pruned(replace(p, last=None), p.calls[-1])

    def leaves(self, p):
        "A leaf in place of a call, with the values it had."
        values = [v.data for v in tensors(p, data_of(p), self.backend, grad=False)]
        some = any(p.steps[i].grad for i in p.leaves)
        for i in p.calls[-2::-1]:
            tags, shape, name = p.types[i]
            leaf = Leaf(tags, shape, name, listed(values[i], name), '', some and name in REAL)
            yield pruned(put(p, i, leaf), len(p.steps) - 1)

    def changed(self, p, change):
        for i in p.leaves:
            if (s := change(p.steps[i])) is not None: yield put(p, i, s)

    def gradients(self, p): return self.changed(p, lambda s: replace(s, grad=False) if s.grad else None)
    def layouts(self, p): return self.changed(p, lambda s: replace(s, layout='') if s.layout else None)

    def sizes(self, p):
        "An axis shorter, in every leaf that has it at that size."
        axes = {(t, n) for i in p.leaves for t, n in zip(p.steps[i].tags, p.steps[i].shape) if n > 1}
        for tag, n in sorted(axes, key=lambda axis: -axis[1]):
            for keep in {n // 2, n - 1, 1}:
                for start in (0, n - keep):
                    yield replace(p, steps=[shorter(s, tag, n, start, keep) for s in p.steps], types=[])

    def numbers(self, p):
        "Rounder values."
        for f in (np.zeros_like, np.ones_like, np.round, lambda a: np.round(a, 1), lambda a: np.round(a, 2)):
            yield from self.changed(p, lambda s: rounder(s, f))


def shorter(s, tag, n, start, keep):
    if type(s) is not Leaf or (tag, n) not in zip(s.tags, s.shape): return s
    a = np.asarray(s.draw[1]).reshape(s.shape).take(range(start, start + keep), s.tags.index(tag))
    return replace(s, shape=a.shape, draw=('values', a.tolist()))

def rounder(s, f):
    if s.dtype not in REAL: return None
    a = np.asarray(s.draw[1], 'f8')
    with np.errstate(all='ignore'): b = f(a)
    return None if np.array_equal(a, b, equal_nan=True) else replace(s, draw=('values', b.tolist()))


# ---- telling it

LETTERS = [*'abcdefghijklmnopqrstuvwxyz'] + [f'v{i}' for i in range(500)]

def spell(a):
    if type(a) is V: return LETTERS[a]
    if type(a) is list and a and type(a[0]) is V: return f'[{", ".join(map(spell, a))}]'
    return repr(a)

def source(c):
    "A call as Python."
    row, args = TABLE[c.op], [spell(a) for a in c.args]
    more = [f'{k}={spell(a)}' for k, a in c.kw.items()]
    pick = '' if c.pick is None else f'.{c.pick}' if isinstance(c.pick, str) else f'[{c.pick}]'
    if row.text: return f'{row.text.format(args[0])}({", ".join(args[1:] + more)}){pick}'
    if type(c.args[0]) is V: return f'{args[0]}.{c.op}({", ".join(args[1:] + more)}){pick}'
    return f'fl.{c.op}({", ".join(args + more)}){pick}'

def leaf_source(s, a):
    a = np.asarray(a)
    if s.dtype in HALF: a = a.astype('f4')
    if a.dtype == np.float32: a = np.vectorize(lambda v: float(str(v)), otypes=[float])(a)      # written short
    grad, layout = ', requires_grad=True' if s.grad else '', f'      # in memory: {s.layout}' if s.layout else ''
    return f'fl.Tensor({a.tolist()}, {" ".join(s.tags)!r}, {s.dtype!r}{grad}){layout}'

def said(finding):
    "A finding as a program that shows it, with torch's answers. It needs neither torch nor this folder."
    p = finding.program
    if p is None: return f'# seed {finding.wrong[0][1]} on {finding.backend}: {finding.error}'
    lines = ['import numpy as np, fucinalib as fl', 'from numpy import nan, inf']
    lines.append(f'fl.use_backend({finding.backend!r})')
    if not p.floors: lines.append('for k in fl.kernels.table.values(): k.floor = 0')
    for i, s in enumerate(p.steps):
        lines.append(f'{LETTERS[i]} = {leaf_source(s, finding.arrays[i]) if type(s) is Leaf else source(s)}')
    if p.last is not None:
        last, n = LETTERS[p.last], prod(p.types[p.last][1]) if p.types else 1
        lines.append(f'{last}.backward((.5 + np.modf(np.arange({n}) * .6180339887498949)[0]).reshape({last}.shape))')
    if finding.error: return '\n'.join([*lines, f'# {finding.error}'])
    judge, ours = Judge(p, finding.arrays), run_ours(p, finding.arrays, finding.backend)
    for what, i in finding.wrong: lines += shown(judge, ours, what, i)
    return '\n'.join(lines)

def short(a):
    how = dict(threshold=60, max_line_width=10**6, floatmode='maxprec', precision=17)
    return np.array2string(np.asarray(a), separator=', ', **how).replace('\n', '')

def shown(judge, ours, what, i):
    "Lines that print a value or gradient, and say what torch has."
    name = LETTERS[i]
    if what == 'type': return [f'print({name}.dtype)      # torch: another number type']
    if what == 'changed': return [f'# {name}, an operand, was changed']
    mine, theirs = [run[what == 'gradient'][i] for run in (ours, (judge.values, judge.grads))]
    part = '.grad' if what == 'gradient' else ''
    lines = [f'print({name}{part}.numpy())', f'#  ours: {short(mine)}', f'# torch: {short(theirs)}']
    if mine.shape != theirs.shape: return [*lines, f'# shapes: ours {mine.shape}, torch {theirs.shape}']
    truth = judge.reference(1)[0][what == 'gradient'][i]
    size = np.nan_to_num(np.abs(truth.astype('f8')), posinf=0.) + 1e-300
    far = apart(mine.astype('f8'), theirs.astype('f8')) / size
    at = tuple(map(int, np.unravel_index(np.argmax(far), far.shape)))
    return [*lines, f'#   at {at}: ours {mine[at]!r}, torch {theirs[at]!r}, in f64 {truth[at]!r}']

def key_of(finding):
    "Findings of one key are one kind."
    ops = sorted({finding.program.steps[i].op for i in finding.program.calls}) if finding.program else []
    return finding.wrong[0][0], finding.error[:60], tuple(ops)
