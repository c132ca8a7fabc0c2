"""Conversations as files: JSON with OpenAI's messages, or a text to read."""
import json
from pathlib import Path
from ..errors import FileError, FucinaError, brief, fault
from ..whole import replace_file, told

__all__ = ['write_chat', 'read_chat']

LARGE = 1 << 28      # bytes; no conversation is longer
TEXTS = '.txt', '.md'


def write_chat(name, messages):
    "Write a conversation; a name that ends in .txt or .md makes a text of it. A file that is no chat is left alone."
    path = path_of(name)
    try: foreign = path.exists() and not path.is_dir() and not written_here(path)
    except OSError as e: raise told('no chat can be written to', name, e) from None
    if foreign: raise fault(FileError, f'{name} is there, and is no saved chat', 'another name')
    data = (''.join(f'{m["role"]}: {m["content"]}\n\n' for m in messages)[:-1] if path.suffix in TEXTS else
            json.dumps(messages, ensure_ascii=False, indent=1) + '\n')
    if not path.parent.is_dir():
        raise fault(FileError, f'{name} cannot be written: there is no folder {path.parent}', 'another name')
    replace_file(path, data.encode('utf-8', 'replace'))


def path_of(name):
    "The path of a name; ~ is somebody's home."
    try: return Path(name).expanduser()
    except RuntimeError: raise fault(FileError, f'{name}: nobody here has this home', f'./{name}') from None


def written_here(path):
    "Whether a file can be written over: it is a saved chat, or empty. What is no file, such as a pipe, cannot."
    if not path.is_file(): return False
    if path.suffix in TEXTS:
        with path.open('rb') as f: start = f.read(12)
        return not start or start.startswith((b'user: ', b'system: ', b'assistant: '))
    try: return path.stat().st_size == 0 or bool(read_chat(path))
    except FucinaError: return False


def read_chat(name):
    "The messages of a saved chat, or of a request in OpenAI's protocol."
    from ..serve.asked import messages_of
    try: found = parsed(path_of(name))
    except OSError as e: raise told('no chat can be read from', name, e) from None
    except (ValueError, RecursionError) as e: raise fault(FileError, f'{name} is no saved chat: {e}', HELP) from None
    found = found.get('messages') if isinstance(found, dict) else found
    if not isinstance(found, list): raise fault(FileError, f'{name} is no saved chat: it holds {brief(found)}', HELP)
    try: messages = messages_of(dict(messages=found))
    except FucinaError as e:
        raise fault(FileError, f'{name} is no saved chat: {str(e).splitlines()[0]}', HELP) from None
    late = next((i for i, m in enumerate(messages) if i and m['role'] == 'system'), None)
    if late: raise fault(FileError, f'{name}: messages[{late}] is of the system', 'only the first may be')
    return messages


HELP = 'a JSON list: [{"role": "user", "content": "hello"}, ...], as /save writes it'


def parsed(path):
    from ..serve.asked import value_of
    if path.stat().st_size > LARGE: raise ValueError('it is too large')
    return value_of(path.read_bytes().decode('utf-8-sig'))
