"""A set of files that belong together, there whole or not at all: a marker, which is written last, says which."""
import hashlib, json, os, re
from contextlib import contextmanager
from pathlib import Path
from ..errors import CheckpointError, FileError, fault
from ..whole import HALF, as_path, drop, flush_names, make_directory, put, told

try: import fcntl
except ImportError: fcntl = None      # Windows: there two programs that save to one directory are not kept apart

__all__ = ['MARKER', 'replace_set', 'read_set']

MARKER = 'trainer_state.json'      # written last: what it names is complete
FORMAT = 'fucinalib checkpoint'
OURS = re.compile(rf'(\w+\.save\d+\.safetensors)(\{HALF})?|{re.escape(MARKER + HALF)}')


@contextmanager
def alone(directory):
    "Nobody else saves to the directory meanwhile; a program that dies lets go."
    if fcntl is None:
        yield
        return
    fd = os.open(directory, os.O_RDONLY)
    try:
        try: fcntl.flock(fd, fcntl.LOCK_EX)
        except OSError: pass                  # a file system without locks
        yield
    finally: os.close(fd)


def read_marker(directory):
    "What the marker of a directory says, or None where there is none."
    path = directory/MARKER
    try: said = json.loads(path.read_bytes())
    except FileNotFoundError: return None
    except OSError as e: raise told('nothing could be read from', path, e) from e
    except ValueError: said = None
    if not isinstance(said, dict) or said.get('format') != FORMAT or said.get('version') == 1 and not sound(said):
        raise fault(CheckpointError, f'{str(path)!r} is damaged, or of another program',
                    help='choose another directory, or remove that file yourself')
    if said.get('version') != 1:
        raise fault(CheckpointError, f'{str(path)!r} is of version {said.get("version")}, this program reads 1',
                    help='a newer fucinalib reads it')
    return said


def sound(said):
    "Whether a marker has all its fields, and names files of its own directory."
    try: return all(isinstance(said[k], t) for k, t in dict(save=int, files=dict, state=dict).items()) and all(
        f['name'] == Path(f['name']).name and isinstance(f['bytes'], int) and isinstance(f['sha256'], str)
        and isinstance(f['numbers'], dict) for f in said['files'].values())
    except (KeyError, TypeError): return False


def clear_leftovers(directory, named):
    "Remove what earlier saves left: our files that the marker does not name."
    for p in directory.iterdir():
        if OURS.fullmatch(p.name) and p.name not in named: drop(p)


def names_in(said):
    "The files that a marker names."
    return {f['name'] for f in said['files'].values()} if said else set()


def replace_set(directory,  # made if it is not there
                files,      # part -> (bytes, the plain numbers that go with them)
                said,       # what else the marker says: JSON
               ):
    """A set of files with its marker: at every moment the old set or the new one is there whole.

    Every save has its own names, `model.save2.safetensors`; renaming the marker is what makes them count."""
    directory = as_path(directory)
    if not files: raise fault(CheckpointError, 'nothing to save', help='save_checkpoint(path, model=model)')
    for part in files:
        if not part.isidentifier(): raise fault(CheckpointError, f'{part!r} is no name for a part', help='model')
    check_plain(said, {part: numbers for part, (_, numbers) in files.items()})
    try:
        make_directory(directory)
        with alone(directory): _replace_alone(directory, files, said)
    except OSError as e:
        if isinstance(e, FileError): raise
        raise told('nothing could be saved to', directory, e) from e


def check_plain(*values):
    "The error if JSON has no word for something."
    try: json.dumps(values)
    except (TypeError, ValueError) as e:
        raise fault(CheckpointError, f'the state beside the arrays: {e}',
                    help='numbers, texts, lists and dicts of them; arrays belong into a part') from None


def _replace_alone(directory, files, said):
    "`replace_set` while nobody else saves there."
    before = read_marker(directory)
    clear_leftovers(directory, names_in(before))
    number = before['save'] + 1 if before else 1
    noted = {part: dict(name=f'{part}.save{number}.safetensors', bytes=len(data),
                        sha256=hashlib.sha256(data).hexdigest(), numbers=numbers)
             for part, (data, numbers) in files.items()}
    marker = dict(format=FORMAT, version=1, save=number, files=noted, **said)
    try:
        for part, (data, _) in files.items(): put(directory/noted[part]['name'], data)
        flush_names(directory)                # the files before what names them
        put(directory/MARKER, json.dumps(marker, indent=1).encode())
    except BaseException:                     # an interrupt too; whoever is killed leaves it to the next save
        if read_marker(directory) == before: clear_leftovers(directory, names_in(before))
        raise
    flush_names(directory)
    clear_leftovers(directory, names_in(marker))


def check_sum(directory, part, data, note):
    "The error if a file is not the one that the marker speaks of."
    name = repr(str(directory/note['name']))
    if len(data) != note['bytes']:
        raise fault(CheckpointError, f'{name} has {len(data)} bytes of {note["bytes"]}: it was cut off or replaced',
                    help='copy the checkpoint again, or go back to an earlier one')
    if hashlib.sha256(data).hexdigest() != note['sha256']:
        raise fault(CheckpointError, f'{name} is not the {part} that was saved with {MARKER}',
                    help='copy all files of one checkpoint; parts of two do not fit together')


def read_set(directory):
    "What the marker says, and part -> bytes, each with the length and the sum that the marker names."
    directory = as_path(directory)
    said, files = read_files(directory)
    for part, data in files.items(): check_sum(directory, part, data, said['files'][part])
    return said, files


def read_files(directory):
    "What the marker says, and part -> bytes."
    said = read_marker(directory)
    while said is not None:
        try: return said, {part: (directory/f['name']).read_bytes() for part, f in said['files'].items()}
        except FileNotFoundError as e:        # somebody saved while this was reading; then the marker is new
            again = read_marker(directory)
            if again == said:
                raise fault(CheckpointError, f'{e.filename!r} is missing, which {MARKER} names',
                            help='copy a checkpoint with all its files') from None
            said = again
        except OSError as e: raise told('nothing could be read from', directory, e) from e
    raise fault(FileError, f'there is no checkpoint in {str(directory)!r}: it has no {MARKER}' if directory.is_dir()
                else f'there is no directory {str(directory)!r}',
                help='train.save_checkpoint(path, model=model) writes one')
