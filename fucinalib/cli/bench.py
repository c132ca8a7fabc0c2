"""`fucina bench`: how fast a model loads, reads and answers here, and what memory it takes."""
import json, statistics, subprocess, sys, time
from pathlib import Path
import click
from ..errors import OptionError, fault
from . import say
from .against import cautions, own_figures, read_figures, work_of
from .answering import MODEL, loading, open_model, options
from .group import fucina

__all__ = ['bench']

FIRST = 30      # tokens of the prompt whose answer's first token is waited for


@fucina.command()
@options(MODEL)
@click.option('-p', '--prompt', type=click.IntRange(1), help='Tokens to read; 256 without it.')
@click.option('-n', '--answer', type=click.IntRange(1), help='Tokens to say; 64 without it.')
@click.option('--behind', type=click.IntRange(0), help='Tokens that are there before it says any; those it read '
              'without it.')
@click.option('-r', '--runs', type=click.IntRange(1), default=5, show_default=True, help='Runs after one to warm up.')
@click.option('--against', type=click.Path(), multiple=True, metavar='FILE',
              help="Beside another program's figures: what llama-bench -o json (jsonl, csv) wrote, or "
              'fucina bench --json. The same work is measured here, unless -p, -n and --behind say another.')
@click.option('--json', 'as_json', is_flag=True, help='One JSON object instead of the table.')
@click.option('--here', is_flag=True, hidden=True)
def bench(model, threads, runs, against, as_json, here, **given):
    """Measure reading and answering, each side in a process of its own: median and range of several runs.

    The first answer after loading is timed by itself, to its first token, with a prompt of 30 tokens."""
    how, others = loading(given), [f for name in against for f in read_figures(name)]
    work = work_here(given, others)
    if here: return click.echo(json.dumps(measured(model, threads, *work, runs, how)))
    from ..llm import hub
    path = hub.find(model)
    sides = dict(cpu=child(path, threads, *work, runs, how), gpu=gpu())
    report = dict(zip(('prompt', 'answer', 'behind'), work), model=str(path), file_bytes=hub.size_of(path)) | sides
    if as_json: return click.echo(json.dumps(report | dict(against=[f._asdict() for f in others])))
    rows = [row for side, found in sides.items() for row in rows_of(side, found, *work)]
    click.echo(f'{path}\n' + say.table(rows, ('side', 'what', 'tokens/s', 'range', 'with')))
    click.echo(first_line(sides['cpu'], report['file_bytes']))
    if others: click.echo('\n' + beside(report, others))


def work_here(given, others):
    "(tokens to read, to say, before saying): as asked, else as the figures of others have them, else ours."
    read, answer, behind = [mine if mine is not None else theirs for mine, theirs in
                            zip((given['prompt'], given['answer'], given['behind']), work_of(others))]
    read = read or 256
    return read, answer or 64, read if behind is None else behind


def beside(report, others):
    "A table of others' figures with what is here for one of theirs, and what to mind."
    ours = {(f.what, f.tokens, f.behind): f for f in own_figures(report)}
    rows = []
    for f in others:
        mine = ours.get((f.what, f.tokens, f.behind))
        rows.append((*f.row, say.per_second(f.rate), span(f.rates),
                     say.per_second(mine.rate) if mine else '-', f'{mine.rate / f.rate:.2f}' if mine else '-'))
    side = report['cpu']
    mind = cautions(others, Path(report['model']).name, report['file_bytes'], side['threads'], side['processor'])
    return '\n'.join([say.table(rows, ('other', 'what', 'tokens/s', 'range', 'here', 'here/other')),
                      *[f'mind: {line}' for line in mind],
                      "The others' figures are what their files say; they were not measured now."])


def gpu():
    "There are no kernels for a GPU in this version."
    return dict(unavailable='this version computes on the processor')


def child(path, threads, prompt, answer, behind, runs, how):
    "What a process of its own measures."
    command = [sys.executable, '-m', 'fucinalib.cli', 'bench', '--here', '-m', str(path), '-p', str(prompt),
               '-n', str(answer), '--behind', str(behind), '-r', str(runs),
               *(['--threads', str(threads)] if threads else []),
               *(['--quant', how['quant']] if how['quant'] else []), *['--requant'] * how['requant'],
               *['--no-cache'] * (not how['keep'])]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode: raise _failed(done)
    return json.loads(done.stdout)


def _failed(done):
    said = done.stderr.strip().splitlines() or [f'it ended with code {done.returncode}']
    said = [line.removeprefix('error: ') for line in said if not line.startswith('Traceback')]
    return fault(OptionError, said[0] if len(said) < 6 else said[-1], said[-1].partition('help: ')[2] or None)


def peak():
    "The most memory this process had, in bytes; None where the system does not tell."
    try: return next(1024 * int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmHWM'))
    except (OSError, StopIteration): pass      # not Linux, whose ru_maxrss begins with what the parent had
    try: import resource
    except ImportError: return None      # Windows
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == 'darwin' else 1024)


def measured(name, threads, prompt, answer, behind, runs, how):
    "Times of this process: of the first answer, then after one run to warm up."
    import fucinalib as fl
    from ..__main__ import processor
    empty, (model, seconds) = peak(), open_model(name, threads, **how)
    room = int(getattr(model.config, 'context', 0) or 1 << 30)
    if (most := max(prompt, behind + answer)) > room:
        raise fault(OptionError, f'{most} tokens are more than the {room} that this model sees',
                    f'-p {max(1, room - answer)}' if answer < room else f'-n {room // 2} -p {room // 2}')
    words = len(model.tokenizer)
    ids = [i % words for i in range(11, 11 + 7 * max(prompt, behind, FIRST), 7)]
    first = first_token(model, ids[:min(FIRST, room - 1)])
    reads, says = zip(*[once(model, ids, prompt, answer, behind) for _ in range(runs + 1)])
    return dict(load_ms=round(1e3 * seconds, 1), first_token_ms=round(1e3 * first, 1), read=reads[1:], answer=says[1:],
                peak_bytes=peak(), empty_bytes=empty, kernels=fl.current_backend(), threads=fl.get_num_threads(),
                processor=processor())


def first_token(model, ids):
    "Seconds until the first token of an answer."
    from ..llm import generate
    start = time.perf_counter()
    next(generate(model, ids, max_new=2, ignore_eos=True))
    return time.perf_counter() - start


def first_line(found, size):
    "What is measured once: loading, the first token, and memory beside the file's size."
    load, first = (f'{found[f"{k}_ms"] / 1e3:.2f} s' for k in ('load', 'first_token'))
    line = f'loaded in {load} · first token of {FIRST} after {first}'
    if found['peak_bytes'] is None: return line
    most, empty = (found[f'{k}_bytes'] / 1e6 for k in ('peak', 'empty'))
    share = f'{1e6 * most / size:.2f} times the file ({empty:,.0f} MB before loading)'
    return f'{line} · memory {most:,.0f} MB at most, {share}'


def once(model, ids, prompt, answer, behind):
    "(tokens a second of reading, of answering)"
    cache, start = model.cache(), time.perf_counter()
    model(ids[:prompt], cache=cache, last=True)
    read = prompt / (time.perf_counter() - start)
    if behind != prompt:
        cache = model.cache()
        if behind: model(ids[:behind], cache=cache, last=True)
    id, start = ids[0], time.perf_counter()
    for _ in range(answer): id = int(model([id], cache=cache, last=True).data.argmax())
    return read, answer / (time.perf_counter() - start)


def span(rates): return f'{say.per_second(min(rates))} to {say.per_second(max(rates))}'


def rows_of(side, found, prompt, answer, behind):
    if 'unavailable' in found:
        yield side, 'unavailable', '-', '-', found['unavailable']
        return
    with_ = f'{found["kernels"]} kernels, {found["threads"]} threads, {found["processor"]}'
    for what, rates in ((f'read {prompt}', found['read']), (f'say {answer} behind {behind}', found['answer'])):
        yield (side, what, say.per_second(statistics.median(rates)),
               span(rates), with_)
        with_ = ''
