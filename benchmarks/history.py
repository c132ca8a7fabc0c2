"""Runs that were kept, each a JSON file of benchmarks/history/ that names the processor, the threads and the versions.

The last whole run of this machine is in .cache/bench.json, where git does not see it."""
import datetime, json, platform, re, subprocess
from collections import namedtuple
from pathlib import Path
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
FOLDER, LAST = ROOT/'benchmarks'/'history', ROOT/'.cache'/'bench.json'

# One case: seconds of ours, how many times longer NumPy and torch take, ours over the sum of its parts; None: not there
Row = namedtuple('Row', 'family op size ours numpy torch parts')

WIDEST = {'X86_V4': 'AVX-512', 'X86_V3': 'AVX2', 'X86_V2': 'SSE4.2', 'ASIMD': 'NEON'}       # by NumPy's names


def processor():
    "The name of the processor and its widest vectors, as 'AMD EPYC, AVX-512'."
    try: name = re.search(r'^model name\s*: (.*)$', Path('/proc/cpuinfo').read_text(), re.M)[1].strip()
    except (OSError, TypeError): name = platform.processor() or platform.machine()
    found = np.show_config(mode='dicts').get('SIMD Extensions', {}).get('found', [])
    return ', '.join([name] + [said for level, said in WIDEST.items() if level in found][:1])


def commit():
    "The commit that was measured; a + behind it says that files had changed."
    def git(*words): return subprocess.run(['git', *words], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return git('rev-parse', '--short', 'HEAD') + '+' * bool(git('status', '--porcelain', '--untracked-files=no'))


def described(rows, threads, versions):
    "A run as it is kept."
    round_ = lambda v: float(f'{v:.4g}') if isinstance(v, float) else v
    return dict(date=datetime.date.today().isoformat(), commit=commit(), processor=processor(), threads=threads,
                versions=versions, cases=[[round_(v) for v in row._replace(size=str(row.size))] for row in rows])


def write(run, path):
    "One case a line, so that two runs compare line by line."
    head = json.dumps({k: v for k, v in run.items() if k != 'cases'}, indent=1)[:-2]
    cases = ',\n  '.join(json.dumps(case) for case in run['cases'])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{head},\n "cases": [\n  {cases}\n ]\n}}\n')
    return path


def keep(run):
    "Write a run into the history; a second one of the same day, processor and threads takes the place of the first."
    name = re.sub(r'[^a-z0-9]+', '-', run['processor'].lower()).strip('-')
    return write(run, FOLDER/f'{run["date"]}-{name}-{run["threads"]}t.json')


def read(path):
    run = json.loads(path.read_text())
    return {**run, 'cases': [Row(*case) for case in run['cases']]}


def runs():
    "Every kept run, the oldest first."
    return [read(path) for path in sorted(FOLDER.glob('*.json'))]


def last():
    "The last whole run of this machine, or None."
    return read(LAST) if LAST.exists() else None


def worst(rows, n):
    "The n rows where ours is slowest beside torch, the slowest first."
    return sorted((r for r in rows if r.torch), key=lambda r: r.torch)[:n]
