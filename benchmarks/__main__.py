"""The table: op, size, our time, how many times longer NumPy and torch take; at the end the worst cases and the
geometric mean of each family."""
import argparse, importlib, pkgutil, platform, time
from fucinalib import kernels               # before NumPy
import numpy as np
from . import harness, history

FAMILIES = [m.name for m in pkgutil.iter_modules(importlib.import_module(__package__).__path__)
            if m.name not in ('harness', 'history', 'counts', '__main__')]
MANY = 800          # cases that the whole table has at least
LINE = '{:<24} {:>16} {:>11} {:>8} {:>8}  {}'


def times(r): return '' if r is None else f'{r:.2f}x'

def unit(s): return f'{s * 1e6:.1f} us' if s < 1e-3 else f'{s * 1e3:.2f} ms'

def line(*cells): print(LINE.format(*cells).rstrip(), flush=True)


def show(row, family=''):
    "One row of the table; with what is slow marked."
    slow = (row.torch or 1) < .5 or (row.numpy or 1) < .9 or (row.parts or 1) > 1.2
    said = [f'{row.parts:.2f} of its parts'] if row.parts else []
    line(row.op, row.size, unit(row.ours), times(row.numpy), times(row.torch),
         '  '.join(said + ['slow'] * slow + [family] * bool(family)))


def arguments():
    parse = argparse.ArgumentParser(prog='python -m benchmarks', description=__doc__)
    parse.add_argument('families', nargs='*', metavar='family', help='one or more of: ' + ' '.join(FAMILIES))
    parse.add_argument('--op', help='only operations whose name contains this')
    parse.add_argument('--threads', type=int, default=2)
    parse.add_argument('--rounds', type=int, default=harness.ROUNDS,
                       help='turns of each rival; more when the machine is busy')
    parse.add_argument('--minutes', type=float, default=5,
                       help='what the whole table may take; whatever is late gets the fewest turns')
    parse.add_argument('--worst', type=int, nargs='?', const=20, metavar='N',
                       help='only the N cases (20) that were slowest beside torch when the whole table ran here last')
    parse.add_argument('--save', action='store_true', help='keep the whole table in benchmarks/history')
    parse.add_argument('--counts', action='store_true',
                       help='the instructions of a dozen kernels instead of times; needs valgrind, takes minutes')
    given = parse.parse_args()
    unknown = set(given.families) - set(FAMILIES)
    if unknown: parse.error(f'no family {" ".join(sorted(unknown))}; there are {" ".join(FAMILIES)}')
    if given.save and (given.families or given.op or given.worst):
        parse.error('--save keeps the whole table; leave out families, --op and --worst')
    return given


def wanted(given, torch):
    "Family and case of everything that was asked for; a family is made when its turn comes."
    again = history.worst(history.last()['cases'], given.worst) if given.worst else []
    only = {(r.family, r.op, r.size) for r in again}
    for family in given.families or FAMILIES:
        if only and family not in {r.family for r in again}: continue
        for case in importlib.import_module(f'{__package__}.{family}').cases(torch):
            if given.op and given.op not in case.op: continue
            if not only or (family, case.op, str(case.size)) in only: yield family, case


def rival(threads):
    "torch on as many threads, or None."
    try: import torch
    except ImportError: return None
    torch.set_num_threads(threads)
    return torch


def versions(torch):
    found = dict(python=platform.python_version(), numpy=np.__version__)
    return {**found, 'torch': torch.__version__} if torch else found


def run(given, torch):
    "Time what was asked for, a line as each is ready; returns the rows."
    rows, start = [], time.monotonic()
    each = 60 * given.minutes / max([MANY, *(len(r['cases']) for r in history.runs())])
    for family, case in wanted(given, torch):
        late = time.monotonic() - start > each * (len(rows) + 1)
        rounds = min(given.rounds, harness.LEAST) if late else given.rounds
        rows.append(history.Row(family, case.op, str(case.size), *harness.compare(case, rounds)))
        if not given.worst: show(rows[-1])
    return rows


def summary(rows, n):
    "The n worst cases, and what families come to."
    if worst := history.worst(rows, n):
        print()
        line('slowest beside torch', 'size', 'ours', 'numpy', 'torch', '')
        for row in worst: show(row, row.family)
    print()
    line('geometric mean', 'cases', '', 'numpy', 'torch', '')
    for family in [*dict.fromkeys(r.family for r in rows), 'all']:
        mine = [r for r in rows if family in (r.family, 'all')]
        means = harness.geomean([r.numpy for r in mine]), harness.geomean([r.torch for r in mine])
        line(family, len(mine), '', *map(times, means), '')


def main():
    given = arguments()
    if given.counts:
        from . import counts
        return counts.main(given.save)
    if given.worst and not history.last(): raise SystemExit('no whole table was measured here yet: make bench')
    kernels.set_num_threads(given.threads)
    torch, start = rival(given.threads), time.monotonic()
    print(f'{history.processor()}; {kernels.current_backend()} kernels, {given.threads} threads, '
          f'torch {torch.__version__ if torch else "is not installed (make .venv-ref/installed brings it, 1.2 GB)"}')
    print('numpy, torch: how many times longer they take\n')
    if not given.worst: line('', 'size', 'ours', 'numpy', 'torch', '')
    rows = run(given, torch)
    if rows: summary(rows, given.worst or 10)
    whole = not (given.families or given.op or given.worst)
    if whole and torch:
        kept = history.described(rows, given.threads, versions(torch))
        history.write(kept, history.LAST)
        print(f'\n{len(rows)} cases after {(time.monotonic() - start) / 60:.1f} minutes')
        if given.save: print(f'kept in {history.keep(kept).relative_to(history.ROOT)}')


if __name__ == '__main__': main()
