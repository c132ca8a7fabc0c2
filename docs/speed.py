"""The page of measured speed, from the runs kept in benchmarks/history: for each processor the last run, families as
dots, worst cases first."""
import io, sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))
WORST = 20


def latest(runs):
    "The last run of each processor and number of threads, in the order of their names."
    return [found for _, found in sorted({(r['processor'], r['threads']): r for r in runs}.items())]


def by_family(rows):
    "Family -> what torch takes over ours, for every case that torch has; the slowest family first."
    from benchmarks.harness import geomean
    found = {}
    for r in rows:
        if r.torch: found.setdefault(r.family, []).append(r.torch)
    return dict(sorted(found.items(), key=lambda f: geomean(f[1])))


def dots(rows):
    "A line for each family, a dot for each case, a bar at the geometric mean: an SVG."
    import matplotlib.pyplot as plt
    from benchmarks.harness import geomean
    families = by_family(rows)
    fig, ax = plt.subplots(figsize=(7, .5 + .24 * len(families)))
    for i, ratios in enumerate(families.values()):
        ax.plot(ratios, [i] * len(ratios), 'o', ms=3, alpha=.35, color='C0')
        ax.plot(geomean(ratios), i, '|', ms=12, mew=2.5, color='C1')
    ax.axvline(1, color='C6', lw=1)
    ax.set(xscale='log', xlabel='torch takes this many times longer', yticks=range(len(families)),
           yticklabels=list(families), xticks=(ticks := [.1, .2, .5, 1, 2, 5, 10]), xticklabels=map(str, ticks))
    ax.minorticks_off()
    fig.savefig(to := io.StringIO(), format='svg', bbox_inches='tight')
    plt.close(fig)
    return to.getvalue()


def described(run, table, svg):
    "One run as Markdown."
    from benchmarks import history
    from benchmarks.__main__ import times, unit
    from benchmarks.harness import geomean
    rows, versions = run['cases'], ', '.join(f'{k} {v}' for k, v in run['versions'].items())
    compared = [r.torch for r in rows if r.torch]
    return '\n'.join([
        f'## {run["processor"]}, {run["threads"]} thread{"s" * (run["threads"] > 1)}', '',
        f'{run["date"]}, commit {run["commit"]}, {versions}; {len(rows)} cases. '
        f'Over the {len(compared)} that torch has, it takes {times(geomean(compared))} as long in the geometric mean; '
        f'in {sum(r < 1 for r in compared)} torch is faster.',
        '', svg(dots(rows)), '', f'The {WORST} slowest beside torch:', '',
        table(('operation', 'size', 'family', 'ours', 'torch'),
              [(r.op, r.size, r.family, unit(r.ours), times(r.torch)) for r in history.worst(rows, WORST)]), ''])


def course(runs, table):
    "Every kept run in a line, so that one sees which way the figures go."
    from benchmarks.__main__ import times
    from benchmarks.harness import geomean
    def line(run):
        compared = [r.torch for r in run['cases'] if r.torch]
        worst = min(by_family(run['cases']).items(), key=lambda f: geomean(f[1]), default=('', []))
        return (run['date'], run['commit'], run['processor'], run['threads'], len(compared), times(geomean(compared)),
                sum(r < 1 for r in compared), f'{worst[0]} {times(geomean(worst[1]))}')
    head = 'date', 'commit', 'processor', 'threads', 'cases', 'mean', 'torch faster', 'slowest family'
    return '\n'.join(['## All runs', '', table(head, map(line, runs)), ''])


def page(table, svg):
    "The whole page."
    from benchmarks import history
    intro = ('How many times longer torch takes than fucinalib, as `make bench` measured it: a dot for each case, '
             'a bar for the geometric mean of a family. Right of 1 fucinalib is faster. '
             '[Going fast](../nbs/26_speed.ipynb) tells how such figures are measured, and what they do not say.\n')
    runs = history.runs()
    return '\n'.join([intro, *(described(run, table, svg) for run in latest(runs)), course(runs, table)])
