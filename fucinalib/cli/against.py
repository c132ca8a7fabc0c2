"""What another program measured, beside ours: files of `llama-bench -o json` (jsonl, csv) or `fucina bench --json`."""
import csv, json, math, statistics
from pathlib import PurePath, Path
from typing import NamedTuple
from ..errors import FileError, fault
from ..whole import told

__all__ = ['Figure', 'read_figures', 'work_of', 'cautions']

HELP = 'what llama-bench -o json, -o jsonl or -o csv prints, or fucina bench --json'


class Figure(NamedTuple):
    "Tokens a second of one kind of work."
    who: str            # the program
    what: str           # 'read' or 'say'
    tokens: int         # how many
    behind: int         # so many that were there before
    rates: list         # of its runs; or the mean less and plus its deviation, if the file has no more
    rate: float         # their median, or that mean
    threads: int        # 0: not told
    model: str
    size: int           # bytes of the model; 0: not told
    processor: str
    place: str          # what computed, beside the processor; '': nothing

    @property
    def row(self): return (self.who, f'{self.what} {self.tokens}' + f' behind {self.behind}' * bool(self.behind))


def read_figures(name):
    "The figures of a file; what is neither reading nor saying alone is left out."
    try: text = Path(name).read_text(encoding='utf-8-sig')
    except OSError as e: raise told('no figures can be read from', name, e) from None
    except UnicodeDecodeError as e: raise broken(name, e) from None
    try: found = [f for r in records(text) for f in figures_of(r)]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError, csv.Error) as e:
        raise broken(name, e) from None
    if not found: raise broken(name, 'it has no row of reading alone or of saying alone')
    return found


def broken(name, why):
    why = f'there is no {why}' if isinstance(why, KeyError) else str(why)
    return fault(FileError, f'{name} has no figures of another program: {why}', HELP)


def records(text):
    "Rows of a JSON list, of lines of JSON, or of a table with commas."
    text = text.strip()
    if not text: raise ValueError('it is empty')
    if text[0] == '[': return json.loads(text)
    if text[0] != '{': return list(csv.DictReader(text.splitlines()))
    try: return [json.loads(text)]
    except ValueError: return [json.loads(line) for line in text.splitlines() if line.strip()]


def figures_of(r):
    "What a row says."
    if 'cpu' in r and 'file_bytes' in r: return own_figures(r)
    read, say, behind = count(r['n_prompt']), count(r['n_gen']), count(r.get('n_depth'))
    if bool(read) == bool(say): return []
    mean, runs = rates([r['avg_ts']])[0], rates(r.get('samples_ts') or ())
    off = float(r.get('stddev_ts') or 0)
    if not math.isfinite(off): raise ValueError('a deviation is no number')
    used = str(r.get('backends') or '')
    on_processor = used.upper() in ('', 'CPU', 'BLAS') or str(r.get('n_gpu_layers', '')) == '0'
    return [Figure(f'llama.cpp {r.get("build_commit") or ""}'.strip(), 'read' if read else 'say', read or say,
                   behind, runs or [mean - off, mean + off],
                   statistics.median(runs or [mean]), count(r.get('n_threads')),
                   PurePath(str(r.get('model_filename') or '?').replace('\\', '/')).name, count(r.get('model_size')),
                   ' '.join(str(r.get('cpu_info') or '').split()), '' if on_processor else used)]


def own_figures(r):
    "Those of another run of ours."
    side, read = r['cpu'], count(r['prompt'])
    made = lambda what, n, behind, found: Figure('fucina', what, n, behind, found, statistics.median(found),
                                                 count(side['threads']), Path(r['model']).name, count(r['file_bytes']),
                                                 str(side['processor']), '')
    return [made('read', read, 0, rates(side['read'])),
            made('say', count(r['answer']), count(r['behind']), rates(side['answer']))]


def count(said):
    "How many, as a file has it; 0 where it says nothing."
    if not 0 <= (n := int(said or 0)) < 1 << 60: raise ValueError(f'{n} is not how many there are')
    return n


def rates(said):
    "Tokens a second, as a file has them."
    found = [float(x) for x in said]
    if not all(math.isfinite(x) and x > 0 for x in found): raise ValueError('a rate is no number above 0')
    return found


def work_of(figures):
    "(tokens to read, to say, that are there before saying) as the figures have them; None where they have none."
    read = next((f.tokens for f in figures if f.what == 'read' and not f.behind), None)
    return read, *next(((f.tokens, f.behind) for f in figures if f.what == 'say'), (None, None))


def cautions(figures, model, size, threads, processor):
    "In what the figures of a file are not ours, each difference in a line."
    lines = []
    for what, theirs, ours in (('model', {f.model for f in figures}, model),
                               ('threads', {f.threads for f in figures} - {0}, threads),
                               ('processor', {f.processor for f in figures} - {''}, processor)):
        if theirs - {ours}: lines.append(f'{what} there: {", ".join(map(str, sorted(theirs)))}; here: {ours}')
    far = {f.size for f in figures if f.size and abs(f.size / size - 1) > .05}
    if far: lines.append(f'a model of {max(far) / 1e6:,.0f} MB there, of {size / 1e6:,.0f} MB here')
    if places := {f.place for f in figures} - {''}: lines.append(f'computed there with {", ".join(sorted(places))}')
    return lines
