"""Files of the form safetensors, opened without being read: one, or many with an index.

The `safetensors` library writes them (fl.train.save_weights) and reads them as a whole (fl.train.load_weights). What
it has no way for is here: the bytes of a tensor where they lie, without a copy, also those of a type that NumPy has
not, and a check that no name stands twice."""
import json
from collections import namedtuple
from math import prod
from pathlib import Path
from ..errors import FileError, brief, fault
from ..whole import as_path, told
from .gguf import Info, ModelFile, as_tensor
from .limits import no_tensor_type, not_safetensors
from .mapped import bytes_at

__all__ = ['Safetensors']

HEADER = 100_000_000      # most bytes of a header, as in the library
INDEX = 'model.safetensors.index.json'
OURS = {'BOOL': 'bool', 'F8_E4M3': 'f8_e4m3', 'F8_E5M2': 'f8_e5m2'} | {
    w: w.lower() for w in 'F64 F32 F16 BF16 I64 I32 I16 I8 U16 U8'.split()}
BITS = dict(BOOL=8, F8_E4M3=8, F8_E5M2=8, F8_E8M0=8, F8_E4M3FNUZ=8, F8_E5M2FNUZ=8, F4=4, F6_E2M3=6, F6_E3M2=6, C64=64,
            BF16=16) | {f'{t}{n}': n for t in 'FIU' for n in (8, 16, 32, 64) if f'{t}{n}' != 'F8'}
Opened = namedtuple('Opened', 'source metadata tensors')


class Safetensors(ModelFile):
    "Tensors in the form safetensors: of a file, of all files that an index names, or of the folder of either."

    def __init__(self,
                 path,  # 'model.safetensors', 'model.safetensors.index.json', a folder, or an open file
                ):
        source = path if hasattr(path, 'read') else _file_of(path)
        shards = _open_index(source) if str(source).endswith('.json') else [_open_one(source)]
        self.sources = [s.source for s in shards]
        self.metadata = {k: v for s in shards for k, v in s.metadata.items()}
        self._source = {name: s.source for s in shards for name in s.tensors}
        self.tensors = {name: info for s in shards for name, info in s.tensors.items()}

    names = property(lambda self: sorted(self.tensors), doc='The names of all tensors, sorted.')

    def _bytes(self, name):
        info = self.info(name)
        return self._source[name].part(info.offset, info.offset + info.nbytes)

    def __getitem__(self, name):
        "A tensor of the file, its memory the file's."
        info = self.info(name)
        if info.kind not in OURS.values(): raise no_tensor_type(name, info.kind)
        data = self._bytes(name)
        if info.kind == 'bool' and info.nbytes and data.max() > 1:
            raise not_safetensors(self._source[name].name, f'{name!r} has a bool that is {data.max()}')
        return as_tensor(data, info.shape, info.kind)

    def close(self):
        "Let go of the files; what was taken from them stays."
        for s in self.sources: s.close()

    def release(self):
        "Give back the memory of what was looked at."
        for s in self.sources: s.release()


# ---- one file

def _open_one(file):
    "The source, what is said beside the tensors, and name -> Info of one file."
    source = bytes_at(file)
    wrong = lambda head: not_safetensors(source.name, head)
    if source.size < 8: raise wrong(f'it has {source.size} bytes')
    n = int.from_bytes(source.part(0, 8).tobytes(), 'little')
    if not 2 <= n <= min(HEADER, source.size - 8):
        raise wrong(f'its header has {n:,} bytes; 2 to {min(HEADER, source.size - 8):,} can be')
    said = _parse(source.part(8, 8 + n).tobytes(), wrong)
    metadata = said.pop('__metadata__', {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise wrong('__metadata__ has a value that is no text')
    found = [(name, *_read_entry(name, entry, wrong)) for name, entry in said.items()]
    return Opened(source, metadata, _placed(found, 8 + n, source.size, wrong))


def _parse(text, wrong):
    "A dict from JSON in which no name stands twice."
    def pairs(found):
        d = dict(found)
        if len(d) < len(found):
            names = [k for k, _ in found]
            raise wrong(f'{next(k for k in names if names.count(k) > 1)!r} stands there twice')
        return d
    try: said = json.loads(text.decode(), object_pairs_hook=pairs)
    except FileError: raise
    except (ValueError, RecursionError) as e: raise wrong(f'its header is no JSON: {e}') from None
    if not isinstance(said, dict): raise wrong('its header is no JSON object')
    return said


def _read_entry(name, entry, wrong):
    "Shape, type, begin and end of one tensor, each checked."
    try: kind, shape, (begin, end) = entry['dtype'], entry['shape'], entry['data_offsets']
    except (KeyError, TypeError, ValueError): raise wrong(f'{name!r} has no dtype, shape and data_offsets') from None
    if not isinstance(kind, str) or kind not in BITS: raise wrong(f'{name!r} is of type {brief(kind)}')
    numbers = [begin, end, *shape] if isinstance(shape, list) else [None]
    if not all(type(n) is int and 0 <= n < 1 << 62 for n in numbers) or len(shape) > 64:
        raise wrong(f'{name!r} has shape {brief(shape)} and offsets {brief([begin, end])}')
    bits = prod(shape) * BITS[kind]
    if begin > end or bits != 8 * (end - begin):
        raise wrong(f'{name!r} of shape {brief(shape)}, {kind}, is said to lie from {begin:,} to {end:,}')
    try: name.encode()
    except UnicodeEncodeError: raise wrong(f'{name!r} is no UTF-8') from None
    return tuple(shape), kind, begin, end


def _placed(found, start, size, wrong):
    "Name -> Info, where the tensors cover all of the file behind its header once."
    placed, at = {}, 0
    for name, shape, kind, begin, end in sorted(found, key=lambda e: e[3:]):
        if begin != at: raise wrong(f'{name!r} begins at {begin:,}, and what is before it ends at {at:,}')
        placed[name], at = Info(shape, OURS.get(kind, kind.lower()), start + begin, end - begin), end
    if start + at != size: raise wrong(f'its tensors end at byte {start + at:,}, and it has {size:,} bytes')
    return {name: placed[name] for name, *_ in found}


# ---- many files

def _file_of(path):
    "The file that is meant by a path: itself, or the weights in a folder."
    folder = as_path(path, FileError, "the path comes first: 'model.safetensors'")
    if not folder.is_dir(): return folder
    for name in ('model.safetensors', INDEX):
        if (folder/name).is_file(): return folder/name
    one = sorted(folder.glob('*.safetensors'))
    if len(one) == 1: return one[0]
    raise fault(FileError, f'{folder.name!r} holds no model.safetensors and no {INDEX}',
                help=f'it holds {", ".join(p.name for p in one[:20])}: name one' if one else 'name the file itself')


def _open_index(path):
    "All files that an index names, each with the tensors that the index says are in it."
    wrong = lambda head: not_safetensors(path.name, head)
    try:
        if path.stat().st_size > HEADER: raise wrong(f'it has {path.stat().st_size:,} bytes; {HEADER:,} can be')
        said = _parse(path.read_bytes(), wrong).get('weight_map')
    except OSError as e:
        if isinstance(e, FileError): raise
        raise told('nothing could be read from', path, e) from e
    if not isinstance(said, dict) or not said: raise wrong('it has no weight_map')
    for name, file in said.items():
        if not isinstance(file, str) or Path(file).name != file or file in ('', '.', '..') or '\\' in file:
            raise wrong(f'{name!r} is said to be in {brief(file)}, which is no file beside it')
    return [_open_shard(path, file, said, wrong) for file in sorted(set(said.values()))]


def _open_shard(path, file, said, wrong):
    "One of many files."
    one = _open_one(path.with_name(file))
    for name in one.tensors:
        if said.get(name, file) != file: raise wrong(f'{name!r} is in {file!r}, and is said to be in {said[name]!r}')
    lost = [name for name, f in said.items() if f == file and name not in one.tensors]
    if lost: raise wrong(f'{lost[0]!r} is said to be in {file!r}, and is not')
    return one._replace(tensors={name: i for name, i in one.tensors.items() if name in said})
