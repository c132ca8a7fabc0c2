"""The table: op, size, our time, how many times longer NumPy and torch take. The geometric mean
of each family at the end."""
import argparse, importlib, pkgutil
from fucinalib import kernels               # before NumPy
from . import harness

FAMILIES = [m.name for m in pkgutil.iter_modules(importlib.import_module(__package__).__path__)
            if m.name not in ('harness', '__main__')]


def times(r): return '' if r is None else f'{r:.2f}x'

def unit(s): return f'{s * 1e6:.1f} us' if s < 1e-3 else f'{s * 1e3:.2f} ms'

def line(*cells): return '{:<24} {:>16} {:>11} {:>8} {:>8}  {}'.format(*cells).rstrip()


def main():
    parse = argparse.ArgumentParser(prog='python -m benchmarks', description=__doc__)
    parse.add_argument('families', nargs='*', metavar='family', help='one or more of: ' + ' '.join(FAMILIES))
    parse.add_argument('--op', help='only operations whose name contains this')
    parse.add_argument('--threads', type=int, default=2)
    parse.add_argument('--rounds', type=int, default=harness.ROUNDS,
                       help='turns of each rival; more when the machine is busy')
    given = parse.parse_args()
    unknown = set(given.families) - set(FAMILIES)
    if unknown: parse.error(f'no family {" ".join(sorted(unknown))}; there are {" ".join(FAMILIES)}')
    try: import torch
    except ImportError: torch = None
    kernels.set_num_threads(given.threads)
    if torch: torch.set_num_threads(given.threads)

    print(f'{kernels.current_backend()} kernels, {given.threads} threads, torch '
          f'{torch.__version__ if torch else "is not installed"}')
    print('numpy, torch: how many times longer they take\n')
    print(line('', 'size', 'ours', 'numpy', 'torch', ''))
    summary = []
    for family in given.families or FAMILIES:
        rows = []
        for case in importlib.import_module(f'{__package__}.{family}').cases(torch):
            if given.op and given.op not in case.op: continue
            ours, numpy, against, parts = harness.compare(case, given.rounds)
            slow = (against or 1) < .5 or (numpy or 1) < .9 or (parts or 1) > 1.2
            said = [f'{parts:.2f} of its parts'] if parts else []
            if slow: said.append('slow')
            print(line(case.op, str(case.size), unit(ours), times(numpy), times(against), '  '.join(said)), flush=True)
            rows.append((numpy, against))
        if rows: summary.append((family, len(rows), *(harness.geomean(r) for r in zip(*rows))))
    print('\n' + line('geometric mean', 'cases', '', 'numpy', 'torch', ''))
    for family, n, numpy, against in summary: print(line(family, n, '', times(numpy), times(against), ''))


if __name__ == '__main__': main()
