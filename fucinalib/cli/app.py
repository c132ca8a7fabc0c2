"""All commands, and how each ends."""
import sys
import click
from ..errors import FucinaError
from . import answering, bench, chatting, models, say, serving      # noqa: F401  their commands join the group
from .group import ReaderLeft, fucina

__all__ = ['run_and_exit']

INTERRUPTED, PIPE = 130, 141      # what a shell calls ended by Ctrl-C, and by a reader that left


@fucina.command()
@click.option('-v', '--verbose', is_flag=True, help='Also Python, kernels, threads, and what would make it better.')
def version(verbose):
    "Print the version."
    from .. import __version__
    if not verbose: return click.echo(f'fucinalib {__version__}')
    from ..__main__ import report
    for name, value in report(): click.echo(f'{name:<11} {value}')


def run_command(args):
    "What the command gives, and the code it ends with."
    try: return fucina.main(args=args, prog_name='fucina', standalone_mode=False) or 0
    except click.exceptions.Exit as e: return e.exit_code
    except click.ClickException as e:
        e.show()
        return e.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo(err=True)
        return INTERRUPTED
    except FucinaError as e:
        say.problem(e)
        return 1
    except MemoryError:
        say.problem('the memory is not enough\n  help: a smaller model, or fewer tokens: fucina models')
        return 1
    except OSError as e:
        if not (words := say.full(e)): raise
        say.problem(f'{words}: {e.filename}' if e.filename else words)
        return 1


def run_and_exit(args=None):
    "Run a command and end the program."
    say.plain_streams()
    try:
        code = run_command(args)
        sys.stdout.flush()
    except (BrokenPipeError, ReaderLeft):
        say.quiet_pipe()
        code = PIPE
    except OSError as e:      # the last flush met a full disk
        say.quiet_pipe()
        say.problem(say.full(e) or e.strerror)
        code = 1
    sys.exit(code)
