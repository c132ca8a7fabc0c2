"""The command that all others belong to."""
import click
from ..errors import closest

__all__ = ['fucina', 'ReaderLeft']

ORDER = 'run chat serve models bench version'.split()      # as one meets them


class Commands(click.Group):
    "The commands in their order; one that is none is told what was meant."
    def list_commands(self, ctx): return sorted(self.commands, key=ORDER.index)

    def resolve_command(self, ctx, args):
        try: return super().resolve_command(ctx, args)
        except click.UsageError as e:
            if near := closest(args[0], self.commands): e.message += f' Did you mean {near!r}?'
            else: e.message += f' A question is asked with: fucina run "{args[0]}"'
            raise

    def invoke(self, ctx):
        try: return super().invoke(ctx)
        except BrokenPipeError as e: raise ReaderLeft from e      # click would end with 1


class ReaderLeft(Exception): "Whoever read what the command writes has gone."


@click.group(cls=Commands, context_settings=dict(help_option_names=['-h', '--help'], max_content_width=100))
def fucina():
    """A language model answers on this computer.

    \b
    fucina run "What is the capital of France?"
    fucina chat
    """
