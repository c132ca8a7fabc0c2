"""`fucina models`: what is here, fetch, remove, look."""
import sys, time
import click
from . import say
from .group import fucina

__all__ = ['models']


@fucina.group(invoke_without_command=True)
@click.pass_context
def models(ctx):
    "The models that are here: list, pull, rm, show."
    if ctx.invoked_subcommand is None: ctx.invoke(listed)


@models.command('list')
def listed():
    "The models of the cache: size, family, what they can, when they came."
    from ..llm import hub
    rows = [(k.name, f'{k.size / 1e6:,.0f} MB', k.family, ' '.join(k.can) or '-',
             time.strftime('%Y-%m-%d', time.localtime(k.date))) for k in hub.models()]
    if rows: click.echo(say.table(rows, ('name', 'size', 'family', 'can', 'date')))
    elif say.listening(): say.note(f'no models in {hub.models_folder()}; fucina models pull fetches {hub.DEFAULT}')


@models.command()
@click.argument('name', default='')
def pull(name):
    "Fetch NAME: org/name of huggingface.co, with :Q4_K_M to choose a file; without it the default model."
    from ..llm import hub
    click.echo(hub.pull(name))


@models.command()
@click.argument('names', nargs=-1, required=True)
@click.option('-y', '--yes', is_flag=True, help='Do not ask.')
def rm(names, yes):
    "Remove models from the cache."
    from ..llm import hub
    for name in names:
        kept = hub.of_cache(name)
        if not yes and say.in_terminal(sys.stdin):
            click.confirm(f'remove {kept.name}, {kept.size / 1e6:,.0f} MB?', abort=True, err=True)
        hub.remove(kept.name)
        click.echo(f'removed {kept.name}, {kept.size / 1e6:,.0f} MB')


@models.command()
@click.argument('name', default='')
def show(name):
    "What a model is: sizes, kinds of its weights, licence."
    from ..llm import hub
    click.echo(say.table(hub.overview(name).items()))
