"""Files that are there whole or not at all, however a program ends.

A rename is the only change of a file system that happens at once. So bytes go to a new file under another
name, are flushed to the disk, and only then get their name; flushing the directory makes the name last.
"""
import os
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from .errors import CheckpointError, FileError, brief, did_you_mean, fault

__all__ = ['HALF', 'as_path', 'told', 'drop', 'make_directory', 'flush_names', 'put', 'replacing', 'replace_file']

HALF = '.part'          # the ending of a file that is not complete
PIECE = 1 << 24         # bytes of one write


def _write(fd, data):
    "All of `data`, at the end of an open file."
    left = memoryview(data).cast('B')
    while left: left = left[os.write(fd, left[:PIECE]):]


@contextmanager
def _half(path, apart=False):
    "`write(data)` for what gets the name `path` when all of it is written; until then what has the name stays."
    half = path.with_name(f'{path.name}{f".{os.getpid()}" if apart else ""}{HALF}')
    try:
        fd = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, 'O_BINARY', 0), 0o666)
        try:
            yield partial(_write, fd)
            os.fsync(fd)
        finally: os.close(fd)
        os.replace(half, path)
    except BaseException:
        drop(half)
        raise


def put(path, data):
    "The bytes `data` under the name `path`, in place of what has it; at every moment one of them is there."
    with _half(path) as write: write(data)


def flush_names(directory):
    "Make the names in a directory last; not every system can, and those need not."
    if not hasattr(os, 'O_DIRECTORY'): return
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try: os.fsync(fd)
    finally: os.close(fd)


def drop(path):
    "Remove a file that may not be there, or that may not be removed."
    try: os.unlink(path)
    except OSError: pass


def make_directory(path):
    "A directory with those above it, their names flushed."
    missing = [p for p in [path, *path.parents] if not p.exists()]
    for p in reversed(missing):
        try: os.mkdir(p)
        except FileExistsError: continue      # another program was faster
        flush_names(p.parent)


def as_path(path, kind=CheckpointError, help="the path comes first: 'run/best'"):
    "A Path, or the error for what names no file."
    if isinstance(path, (str, os.PathLike)) and _is_name(os.fspath(path)): return Path(path)
    raise fault(kind, f'{brief(path)} is no path', help=help)


def _is_name(text):
    "Whether a text can be the name of a file: bytes, a NUL or half a character cannot."
    if not isinstance(text, str) or '\0' in text: return False
    try: os.fsencode(text)
    except UnicodeEncodeError: return False
    return True


def told(what, path, error, also=''):
    "Our error for one of the system: `what` could not be done, and why."
    e = fault(FileError, f'{what} {str(path)!r}: {error.strerror or error}{also}', help=_help_for(path, error))
    e.errno, e.filename = error.errno, str(path)
    return e

def _help_for(path, error):
    "What to do about an error of the system."
    if not isinstance(error, FileNotFoundError): return HELPS.get(type(error), FREE)
    near = next(p for p in Path(path).absolute().parents if p.exists())
    return did_you_mean(Path(path).name, sorted(os.listdir(near))[:20], f'{near.name!r} holds')

FREE = 'free space, or choose a directory on another disk; what was there before is untouched'
HELPS = {PermissionError: 'choose a directory that you may write to: Path.home(), tempfile.mkdtemp()',
         NotADirectoryError: 'a part of this path is a file; choose another name',
         FileExistsError: 'this name is taken by a file; choose another',
         IsADirectoryError: 'this name is taken by a directory; choose another'}


@contextmanager
def replacing(path,         # directories above it are made
              apart=False,  # whether two programs may be writing the same file: then each writes its own
             ):
    "`write(data)` for the file `path`: at every moment the old one or the new one is there whole."
    path = as_path(path)
    if not path.name: raise fault(FileError, f'{str(path)!r} is a folder', help=HELPS[IsADirectoryError])
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise fault(FileError, f'{str(path)!r} is a device or a pipe, and no file', help='another name')
        make_directory(path.parent)
        with _half(path, apart) as write: yield write
        flush_names(path.parent)
    except OSError as e:
        if isinstance(e, FileError): raise
        raise told('nothing could be written to', path, e) from e


def replace_file(path, data):
    "The bytes `data` as the file `path`: at every moment the old one or the new one is there whole."
    with replacing(path) as write: write(data)
