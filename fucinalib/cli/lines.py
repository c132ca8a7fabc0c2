"""What somebody types, with editing and history, or what comes through a pipe: lines, or several that are one."""
import os, sys
from contextlib import suppress
from pathlib import Path
from . import say

__all__ = ['from_pipe', 'typed', 'entries']

QUOTES = '"""'      # what stands between them is one entry, as it is


def entries(line):
    """(text, whether it was quoted) of each entry that `line(prompt)` gives, until it gives None.

    A backslash at the end of a line goes on in the next; what begins with three quotes goes on to the next three."""
    while (text := line('> ')) is not None:
        while unfinished(text) and (more := line('. ')) is not None:
            text = (text if text.startswith(QUOTES) else text[:-1]) + '\n' + more
        quoted = text.startswith(QUOTES)
        yield (text.strip().removeprefix(QUOTES).removesuffix(QUOTES).strip('\n') if quoted else text), quoted


def unfinished(text):
    if text.startswith(QUOTES): return not text.rstrip().endswith(QUOTES) or len(text.rstrip()) < 2 * len(QUOTES)
    return text.endswith('\\')


def from_pipe(prompt):
    "The next line of stdin without its end; None behind the last."
    line = sys.stdin.readline()
    return line.rstrip('\r\n') if line else None


def typed(words):
    "`line(prompt)` for a terminal; Tab completes the words that a line may begin with."
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.shortcuts import CompleteStyle
    session = PromptSession(history=history(), key_bindings=keys(), completer=WordCompleter(words, sentence=True),
                            complete_while_typing=False, complete_style=CompleteStyle.READLINE_LIKE,
                            prompt_continuation='. ', enable_suspend=True)
    def line(prompt):
        while True:
            try: return session.prompt(prompt)
            except EOFError: return None
            except KeyboardInterrupt: say.note('Ctrl-D or /exit leaves')
    return line


def keys():
    "Alt-Enter begins a new line of the same entry."
    from prompt_toolkit.key_binding import KeyBindings
    found = KeyBindings()
    found.add('escape', 'enter')(lambda event: event.current_buffer.insert_text('\n'))
    return found


def history_file():
    "Where what was typed in earlier chats is, None if there is no place."
    base = os.environ.get('XDG_STATE_HOME') or os.path.expanduser('~/.local/state')
    return None if base.startswith('~') else Path(base)/'fucinalib'/'history'


def history():
    "What was typed before: in a file that only its owner reads, in memory where none can be written."
    from prompt_toolkit.history import FileHistory, InMemoryHistory
    class Kept(FileHistory):
        def store_string(self, text):
            with suppress(OSError): super().store_string(text)      # a chat is no worse without it
    if not (file := history_file()): return InMemoryHistory()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        with file.open('r+'): return Kept(str(file))
    except OSError: return InMemoryHistory()
