"""`fucina bench`: how fast a model reads and answers here."""
import json, statistics, subprocess, sys, time
import click
from ..errors import OptionError, fault
from . import say
from .answering import MODEL, open_model, options
from .group import fucina

__all__ = ['bench']


@fucina.command()
@options(MODEL[::2])
@click.option('-p', '--prompt', type=click.IntRange(1), default=256, show_default=True, help='Tokens to read.')
@click.option('-n', '--answer', type=click.IntRange(1), default=64, show_default=True, help='Tokens to say.')
@click.option('-r', '--runs', type=click.IntRange(1), default=5, show_default=True, help='Runs after one to warm up.')
@click.option('--json', 'as_json', is_flag=True, help='One JSON object instead of the table.')
@click.option('--here', is_flag=True, hidden=True)
def bench(model, threads, prompt, answer, runs, as_json, here):
    """Measure reading and answering, each side in a process of its own: median and range of several runs."""
    if here: return click.echo(json.dumps(measured(model, threads, prompt, answer, runs)))
    from ..llm import hub
    path = hub.find(model)
    sides = dict(cpu=child(path, threads, prompt, answer, runs), gpu=gpu())
    if as_json: return click.echo(json.dumps(dict(model=str(path), **sides)))
    rows = [row for side, found in sides.items() for row in rows_of(side, found, prompt, answer)]
    click.echo(f'{path}\n' + say.table(rows, ('side', 'what', 'tokens/s', 'range', 'with')))


def gpu():
    "There are no kernels for a GPU in this version."
    return dict(unavailable='this version computes on the processor')


def child(path, threads, prompt, answer, runs):
    "What a process of its own measures."
    command = [sys.executable, '-m', 'fucinalib.cli', 'bench', '--here', '-m', str(path), '-p', str(prompt),
               '-n', str(answer), '-r', str(runs), *(['--threads', str(threads)] if threads else [])]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode: raise _failed(done)
    return json.loads(done.stdout)


def _failed(done):
    said = done.stderr.strip().splitlines() or [f'it ended with code {done.returncode}']
    said = [line.removeprefix('error: ') for line in said if not line.startswith('Traceback')]
    return fault(OptionError, said[0] if len(said) < 6 else said[-1], said[-1].partition('help: ')[2] or None)


def measured(name, threads, prompt, answer, runs):
    "Times of this process, after one run to warm up."
    import fucinalib as fl
    from ..__main__ import processor
    model, seconds = open_model(name, threads)
    room = int(getattr(model.config, 'context', 0) or 1 << 30)
    if prompt + answer > room:
        raise fault(OptionError, f'{prompt + answer} tokens are more than the {room} that this model sees',
                    f'-p {max(1, room - answer)}' if answer < room else f'-n {room // 2} -p {room // 2}')
    ids = [i % len(model.tokenizer) for i in range(11, 11 + 7 * prompt, 7)]
    reads, says = zip(*[once(model, ids, answer) for _ in range(runs + 1)])
    kernels = fl.current_backend()
    return dict(load_ms=round(1e3 * seconds, 1), read=reads[1:], answer=says[1:], kernels=kernels,
                threads=fl.get_num_threads(), processor=processor())


def once(model, ids, answer):
    "(tokens a second of reading, of answering)"
    cache, start = model.cache(), time.perf_counter()
    row = model(ids, cache=cache, last=True).data
    read = time.perf_counter()
    for _ in range(answer): row = model([int(row.argmax())], cache=cache, last=True).data
    return len(ids) / (read - start), answer / (time.perf_counter() - read)


def rows_of(side, found, prompt, answer):
    if 'unavailable' in found:
        yield side, 'unavailable', '-', '-', found['unavailable']
        return
    with_ = f'{found["kernels"]} kernels, {found["threads"]} threads, {found["processor"]}'
    for what, rates in ((f'read {prompt}', found['read']), (f'say {answer}', found['answer'])):
        yield (side, what, say.per_second(statistics.median(rates)),
               f'{say.per_second(min(rates))} to {say.per_second(max(rates))}', with_)
        with_ = ''
