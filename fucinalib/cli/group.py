"""The command that all others belong to."""
import re
import click
from ..errors import closest

__all__ = ['fucina', 'ReaderLeft', 'Commands']

ORDER = 'run chat serve models bench version list pull show rm'.split()      # as one meets them

# names of commands in other programs
ELSEWHERE = (dict.fromkeys('pull download get fetch'.split(), 'models pull')
             | dict.fromkeys('list ls ps'.split(), 'models list')
             | dict.fromkeys('rm remove delete del'.split(), 'models rm')
             | dict.fromkeys('show info inspect'.split(), 'models show')
             | dict.fromkeys('generate complete ask prompt cli'.split(), 'run')
             | dict(help='--help', server='serve', api='serve', benchmark='bench', repl='chat'))
# options of other programs
OPTIONS = {name: said for names, said in {
    '-hf -hfr --hf-repo --hf --repo --model-path': '-m org/name fetches a model of huggingface.co',
    '-ngl --n-gpu-layers --gpu-layers -gpu --gpu --device -dev': 'this version computes on the processor; leave it out',
    '-c --ctx-size --n-ctx --num-ctx --context': 'the context is as long as the model sees; leave it out',
    '-q8 --q8 --load-in-8bit': '--quant q8_0', '-q4 --q4 --load-in-4bit': '--quant q4_0',
    '--n-predict --max-tokens --max-new-tokens --num-predict --max-length': '-n 256', '--temperature -T': '--temp 0.7',
    '-spec --spec --draft-max --draft-n': '--propose 4', '--system-prompt -sys --sys': '--system "Be brief."',
    '-f --file': 'fucina run < FILE',
    '-i --interactive -cnv --conversation': 'fucina chat', '--format --output -o': '--json',
    '-p --prompt': 'fucina run -p "hello" asks a question, fucina serve --port 8080 listens there',
    '--verbose -v': '--stats tells the speeds'}.items() for name in names.split()}


def plain(name): return name.lstrip('-').replace('-', '').replace('_', '')


def spelled(args, known):
    "Words of a command line; long names with one dash, or with dashes elsewhere, as they are here: -json, --top_p."
    long, found = {plain(o): o for o in known if o.startswith('--')}, []
    for i, arg in enumerate(args):
        if arg == '--': return found + args[i:]
        name, sign, value = arg.partition('=')
        right = long.get(plain(name)) if re.fullmatch(r'--?[a-z][a-z_-]+', name) else None
        found.append(right + sign + value if right else arg)
    return found


class Command(click.Command):
    "A command; for an option that others have it is told what is meant here."
    def parse_args(self, ctx, args):
        known = {o for p in self.get_params(ctx) for o in [*p.opts, *p.secondary_opts]}
        args = spelled(args, known)
        for name in (a.partition('=')[0] for a in args[:args.index('--') if '--' in args else None]):
            if name in OPTIONS and name not in known:
                raise click.UsageError(f'{name} is no option here: {OPTIONS[name]}', ctx)
        try: return super().parse_args(ctx, [*args])
        except click.UsageError as e:
            if 'extra argument' in e.message: e.message += f'. fucina run "{args[-1]}" asks one question'
            raise


class Commands(click.Group):
    "The commands in their order; one that is none is told what was meant."
    command_class = Command

    def list_commands(self, ctx): return sorted(self.commands, key=ORDER.index)

    def resolve_command(self, ctx, args):
        try: return super().resolve_command(ctx, args)
        except click.UsageError as e: raise click.UsageError(
            f'No such command {args[0]!r}. ' + self.meant(args[0]), ctx) from e

    def meant(self, word):
        "What to write instead."
        if said := ELSEWHERE.get(word): return f'That is: fucina {said}'
        if near := closest(word, self.commands): return f'Did you mean {near!r}?'
        return f'A question is asked with: fucina run "{word}"'

    def invoke(self, ctx):
        try: return super().invoke(ctx)
        except BrokenPipeError as e: raise ReaderLeft from e      # click would end with 1


class ReaderLeft(Exception): "Whoever read what the command writes has gone."


def tell_version(ctx, _, asked):
    if not asked: return
    from .. import __version__
    click.echo(f'fucinalib {__version__}')
    ctx.exit()


@click.group(cls=Commands, context_settings=dict(help_option_names=['-h', '--help'], max_content_width=100))
@click.option('-V', '--version', is_flag=True, is_eager=True, expose_value=False, callback=tell_version,
              help='Show the version and exit.')
def fucina():
    """A language model answers on this computer.

    \b
    fucina run "What is the capital of France?"
    fucina chat

    It ends with 0; with 1 if something could not be done, 2 if the command is none, 130 after Ctrl-C.
    """
