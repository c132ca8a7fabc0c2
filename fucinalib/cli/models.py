"""`fucina models`: what is here, fetch, remove, look."""
import sys, time
import click
from ..errors import FucinaError
from . import say
from .group import Commands, fucina

__all__ = ['models']


@fucina.group(cls=Commands, invoke_without_command=True)
@click.pass_context
def models(ctx):
    "The models that are here: list, pull, rm, show."
    if ctx.invoked_subcommand is None: ctx.invoke(listed)


@models.command('list')
def listed():
    """The models of the cache: size, family, what they can, when they came.

    REPACKED is what is kept beside them so that the next start is a second earlier. It is kept for files elsewhere,
    too; those are listed with their path. An unfinished one is gone on with by fucina models pull."""
    from ..llm import hub
    more = {whose: megabytes(sum(k.size for k in files)) for whose, files in hub.repacked().items()}
    rows = [(k.name, megabytes(k.size), more.pop(k.name, '-'), k.family, ' '.join(k.can) or '-',
             time.strftime('%Y-%m-%d', time.localtime(k.date))) for k in hub.models() + hub.broken_off()]
    rows += [(path, '-', size, '-', '-', '-') for path, size in more.items()]
    if rows: click.echo(say.table(rows, ('name', 'size', 'repacked', 'family', 'can', 'date')))
    elif say.listening(): say.note(f'no models in {hub.models_folder()}; fucina models pull fetches {hub.DEFAULT}')


@models.command()
@click.argument('name', default='')
def pull(name):
    "Fetch NAME: org/name of huggingface.co, with :Q4_K_M to choose a file; without it the default model."
    from ..llm import hub
    click.echo(hub.pull(name))


def megabytes(n): return f'{n / 1e6:,.0f} MB'


@models.command()
@click.argument('names', nargs=-1)
@click.option('-y', '--yes', is_flag=True, help='Do not ask.')
@click.option('--repacked', is_flag=True, help='Only what was repacked of them; of all, where no NAME is given.')
def rm(names, yes, repacked):
    "Remove models from the cache, with what was repacked of them."
    from ..llm import hub
    if repacked: return forget(names or hub.repacked())
    if not names: raise click.UsageError('Which model? fucina models list names them.')
    for name in names:
        kept = hub.of_cache(name)
        if not yes and say.in_terminal(sys.stdin):
            click.confirm(f'remove {kept.name}, {megabytes(kept.size)}?', abort=True, err=True)
        hub.remove(kept.name)
        click.echo(f'removed {kept.name}, {megabytes(kept.size)}')


def forget(names):
    "Remove what was repacked of models, by their names or the paths of their files."
    from ..llm import hub
    for name in names:
        if name not in hub.repacked(): name = hub.of_cache(name).name
        click.echo(f'removed what was repacked of {name}, {megabytes(hub.forget(name))}')


@models.command()
@click.argument('name', default='')
def show(name):
    "What a model is: sizes, kinds of its weights, licence, and its layers as any module of the library prints them."
    from ..llm import hub
    click.echo(say.table(hub.overview(name).items()))
    try: click.echo(f'\n{built(hub.find(name, fetch=False))}')
    except FucinaError as e: say.note('it does not load here: ' + str(e).splitlines()[0])


def built(path):
    "The model at a path, its weights where they are."
    import fucinalib as fl
    return fl.llm.load(path, widen=False, keep=False)
