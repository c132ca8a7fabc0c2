"""What reaches the terminal: answers on stdout, everything else on stderr, colours only where somebody looks."""
import errno, os, sys
import click

__all__ = ['note', 'problem', 'write', 'in_terminal', 'listening', 'quiet_pipe', 'per_second', 'table']


def in_terminal(stream): return bool(getattr(stream, 'isatty', lambda: False)())


def listening():
    "Whether somebody reads stderr now."
    return in_terminal(sys.stderr)


def plain_streams():
    "Text that a terminal cannot show, or that is no UTF-8, does not end the program."
    for stream, errors in ((sys.stdout, 'replace'), (sys.stderr, 'backslashreplace'), (sys.stdin, 'replace')):
        if hasattr(stream, 'reconfigure'): stream.reconfigure(errors=errors)


def colour(text, **style):
    return click.style(text, **style) if listening() and not os.environ.get('NO_COLOR') else text


def note(text):
    "A line on stderr that is not the answer."
    click.echo(colour(text, dim=True), err=True)


def problem(error):
    "An error of the library: its head, its operands and its help, without a traceback."
    head, *rest = str(error).splitlines() or [type(error).__name__]
    click.echo('\n'.join([colour('error: ', fg='red', bold=True) + head, *rest]), err=True)


def write(text):
    "A piece of an answer, at once."
    sys.stdout.write(text)
    sys.stdout.flush()


def quiet_pipe():
    "Whoever read stdout has gone: say nothing more, and let Python not try either."
    try: os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError): pass


def full(error):
    "What an error of the system means, in words; None if it is not one of those."
    words = {errno.ENOSPC: 'the disk is full', errno.EDQUOT: 'your share of the disk is full',
             errno.EROFS: 'this disk cannot be written', errno.EACCES: 'that may not be read or written'}
    return words.get(error.errno)


def per_second(rate): return f'{rate:,.0f}' if rate >= 100 else f'{rate:.1f}'


def table(rows, head=()):
    "Rows as columns."
    rows = [list(map(str, r)) for r in [*([head] if head and rows else []), *rows]]
    wide = [max(map(len, column)) for column in zip(*rows)]
    return '\n'.join('  '.join(f'{v:<{n}}' for v, n in zip(r, wide)).rstrip() for r in rows)
