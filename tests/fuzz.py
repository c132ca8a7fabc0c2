"""Random graphs of ten operations, ours beside torch: values and gradients, on both backends.

    python tests/fuzz.py --cases 10000 --seed 7     look for differences; prints each as a small program of its own
    python tests/fuzz.py --keep 3200                write graphs and what torch says of them to tests/data/graphs.npz

A case is one graph of its own: drawn from a seed, computed on both backends, compared with torch value by value.
"""
import argparse, json, lzma, os, subprocess, sys, threading, time, zlib
from pathlib import Path
import numpy as np
import fucinalib as fl
from fuzz_graphs import BACKENDS, WEIGHTS, Call, Leaf, Program, begin, data_of, draw_graph, run_ours
from fuzz_judge import LETTERS, Judge, Smaller, case, key_of, said
from fuzz_ops import TABLE, V

KEPT = Path(__file__).parent / 'data' / 'graphs.npz'


# ---- graphs that are kept, with torch's answers as one number a tensor

def packed(program):
    "A program as a line of text."
    leaf = lambda s: (' '.join(s.tags), s.shape, s.dtype, s.draw, s.layout, s.grad)
    steps = [leaf(s) if type(s) is Leaf else (s.op, s.args, s.kw, s.pick) for s in program.steps]
    names = ' '.join(name for _, _, name in program.types)
    return repr((program.seed, program.dtype, program.wild, program.last, program.floors, names, steps))

def unpacked(line):
    "The program, and the number types of its values."
    seed, dtype, wild, last, floors, names, steps = eval(line, dict(V=V, slice=slice, inf=np.inf, nan=np.nan))
    steps = [Leaf(tuple(s[0].split()), *s[1:]) if len(s) == 6 else Call(*s) for s in steps]
    return Program(steps, seed, dtype, wild, last, floors), names.split()

def strange(a):
    "A number for where inf and NaN are; 0 if nowhere."
    if np.isfinite(a).all(): return 0
    return zlib.crc32((np.isnan(a) + 2 * (a == np.inf) + 3 * (a == -np.inf)).astype('u1').tobytes()) | 1

def known(a): return np.where(np.isfinite(a), a, 0).reshape(-1).astype('f8')
def weight(a): "One number that every finite value has its part in."; return float(np.dot(WEIGHTS[:a.size], known(a)))
def exact(a): return zlib.crc32(np.ascontiguousarray(a).astype('<i8').tobytes())

def keep(count, path=KEPT):
    "Write graphs that ours gets right, with what torch says of them."
    lines, columns, seed = [], ([], [], []), 0
    while len(lines) < count:
        seed += 1
        if case(seed, big=seed % 150 == 0): continue
        g = draw_graph(seed, 'numpy', big=seed % 150 == 0)
        judge = Judge(program := g.program(), g.arrays())
        if judge.strange: judge.grads = {}
        if not judge.grads: program.last = None
        names, answers = [name for _, _, name in program.types], answers_of(judge)
        if answers is None or any(unlike(program, names, answers, b) for b in BACKENDS): continue
        lines.append(packed(program))
        for column, part in zip(columns, zip(*answers)): column.extend(part)
    text = np.frombuffer(lzma.compress('\n'.join(lines).encode(), preset=9), 'u1')
    answers, slack, odd = [np.array(column, kind) for column, kind in zip(columns, ('u4', 'i1', 'u4'))]
    np.savez_compressed(path, text=text, answers=answers, slack=slack, odd=odd)

def answers_of(judge, runs=17):
    """For every tensor its weight, how far it may be off as a power of two, and where it is strange.
    None where rounding decides more than that."""
    rs = judge.reference(runs)
    if any(r is None for r in rs): return None
    found = []
    for what, i in [('value', i) for i in judge.calls] + [('gradient', i) for i in judge.grads]:
        own, *others = [r[what == 'gradient'][i] for r in ((judge.values, judge.grads), *rs)]
        if any(a.shape != own.shape for a in others): return None
        if what == 'value' and i in judge.whole:
            if any(not np.array_equal(a, own) for a in others): return None
            found.append((exact(own), 0, 0))
            continue
        truth, size = np.float32(weight(others[0])), float(np.dot(WEIGHTS[:own.size], np.abs(known(own))))
        spread = max(abs(weight(a) - truth) for a in others)
        off = 8 * spread + 4 * abs(weight(own) - truth) + 16 * judge.eps * size + 2.**-22 * abs(truth) + 2.**-120
        if any(strange(a) != strange(own) for a in others): return None
        if not np.isfinite(truth) or off > .01 * size + 2.**-100: return None
        found.append((int(truth.view('u4')), int(np.ceil(np.log2(off))), strange(own)))
    return found

def kept(path=KEPT):
    "The programs that were kept, each with the number types of its values and torch's answers."
    z, at = np.load(path), 0
    columns = [z[name].tolist() for name in ('answers', 'slack', 'odd')]
    for line in lzma.decompress(z['text'].tobytes()).decode().split('\n'):
        program, names = unpacked(line)
        n = len(program.calls) + (program.last is not None and sum(program.steps[i].grad for i in program.leaves))
        yield program, names, list(zip(*[c[at:at + n] for c in columns]))
        at += n

def unlike(program, names, answers, backend):
    "What of a kept program is not as torch said, as lines; empty if all is well."
    values, grads = run_ours(program, data_of(program), backend)
    of = lambda a: str(fl.dtypes.dtype_of(a))
    wrong = [f'{LETTERS[i]} is {of(values[i])}, not {names[i]}' for i in program.calls if of(values[i]) != names[i]]
    arrays = [(LETTERS[i], values[i]) for i in program.calls] + [(f'{LETTERS[i]}.grad', g) for i, g in grads.items()]
    for (name, a), (answer, slack, odd) in zip(arrays, answers):
        if a.dtype.kind in 'iub':
            if exact(a) != answer: wrong.append(f'{name} has other values')
        elif strange(a) != odd: wrong.append(f'{name} is inf or NaN at other places')
        else:
            mine, want = weight(a), float(np.uint32(answer).view('f4'))
            if not abs(mine - want) <= 2.**slack:
                wrong.append(f'{name} weighs {mine!r}, by torch {want!r} within {2.**slack:.1e}')
    return wrong


# ---- many cases

def search(start, cases, step=1, dtype=None, tell=print, progress=None, most=40):
    "Run cases: how many, how often each operation, and kind of difference -> seeds. A kind is told once, made small."
    counts, kinds, done = {}, {}, 0
    for seed in range(start, start + cases * step, step):
        for finding in case(seed, counts, dtype):
            small = Smaller(finding).run(finding) if finding.program else finding
            seeds = kinds.setdefault(key_of(small), [])
            seeds.append(seed)
            if len(seeds) == 1: tell(f'# seed {seed}\n{said(small)}\n')
        done += 1
        if progress and done % 1000 == 0: progress(done)
        if len(kinds) >= most: break
    return done, counts, kinds

def side_by_side(seed, cases, processes=2, progress=lambda done: None, tell=lambda text: None, running=None):
    """The same in several processes: cases run, calls of each operation, and what was found, as text; told at once,
    too. A list `running` gets the processes, for whoever wants to end them."""
    env = os.environ | {name: '1' for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS')}
    def start(k):
        share = len(range(k, cases, processes))
        command = [sys.executable, __file__, '--report', '--step', processes, '--seed', seed + k, '--cases', share]
        return subprocess.Popen([*map(str, command)], env=env, stdout=subprocess.PIPE, text=True)
    running = [] if running is None else running
    running += map(start, range(processes))
    done, counts, found = [0] * processes, {}, []
    def note(text): found.append(text), tell(text)
    def follow(k):
        lines = []
        for line in running[k].stdout:
            if not line.startswith('{'):
                lines.append(line)
                if line == '\n': note(''.join(lines)); lines = []
                continue
            report = json.loads(line)
            done[k] = report['done']
            for op, n in report.get('counts', {}).items(): counts[op] = counts.get(op, 0) + n
            progress(sum(done))
        if lines: note(''.join(lines))
        if running[k].wait(): note(f'process {k} ended with code {running[k].returncode}\n')
    followers = [threading.Thread(target=follow, args=(k,)) for k in range(processes)]
    for t in followers: t.start()
    for t in followers: t.join()
    return sum(done), counts, ''.join(found)

def main():
    ask = argparse.ArgumentParser()
    ask.add_argument('--cases', type=int, default=10_000)
    ask.add_argument('--seed', type=int, default=0)
    ask.add_argument('--step', type=int, default=1)
    ask.add_argument('--dtype')
    ask.add_argument('--report', action='store_true', help='say how it goes in lines of JSON')
    ask.add_argument('--keep', type=int, help='write so many graphs and what torch says of them')
    args, start = ask.parse_args(), time.monotonic()
    begin()
    if args.keep: return keep(args.keep)
    if args.report and hasattr(os, 'nice'): os.nice(19)      # whatever else is tested goes first
    def tell(text): print(text, flush=True)
    def report(done, **more): tell(json.dumps(dict(done=done, **more)))
    done, counts, kinds = search(args.seed, args.cases, args.step, args.dtype, tell, report if args.report else None)
    if args.report: return report(done, counts=counts)
    speed = done / (time.monotonic() - start)
    calls = sum(counts.values())
    tell(f'{done} graphs, {calls} operations, {speed:.0f} graphs a second, {len(kinds)} kinds of differences')
    for key, seeds in sorted(kinds.items(), key=lambda item: -len(item[1])): print(len(seeds), key, seeds[:5])
    if missing := sorted(set(TABLE) - set(counts)): print('never called:', *missing)


if __name__ == '__main__': main()
