"""A model that was cut into several GGUF files, `name-00001-of-00003.gguf` and so on, opened as one.

Each of them is a GGUF file by itself. The first says what is to be known of the model; each says under `split.` which
one it is, of how many, and how many tensors there are in all."""
import re
from pathlib import Path
from ..errors import FileError, fault
from .gguf import GGUF, ModelFile
from .limits import no_key

__all__ = ['open_gguf', 'files_of', 'SplitGGUF']

SPLIT = re.compile(r'(.+)-(\d{5})-of-(\d{5})\.gguf')


def files_of(path):
    "The files of a model of which one is named, the first one first; itself where it is whole."
    path = Path(path)
    m = SPLIT.fullmatch(path.name)
    return [path.with_name(f'{m[1]}-{i + 1:05}-of-{m[3]}.gguf') for i in range(int(m[3]))] if m else [path]


def open_gguf(path):
    "A GGUF file, or all files of the model that it is a part of."
    return SplitGGUF(path) if len(files_of(path)) > 1 else GGUF(path)


class SplitGGUF(ModelFile):
    "The files of one model: `metadata` of the first of them, `tensors` of all, and by name the tensors themselves."

    def __init__(self, path):
        paths = files_of(path)
        lost = [p.name for p in paths if not p.is_file()]
        if lost:
            more = f' and {len(lost) - 1} more' * (len(lost) > 1)
            raise fault(FileError, f'{Path(path).name!r} is one of {len(paths)} files, and {lost[0]!r}{more} is not '
                        'beside it', help='fetch the missing ones into the same folder')
        self.files = [GGUF(p) for p in paths]
        self.metadata, self.tensors, self._file = self.files[0].metadata, {}, {}
        for i, f in enumerate(self.files): self._join(i, f)
        self._check_count()

    def _join(self, i, f):
        "Take in one file."
        told = [f.metadata.get(f'split.{k}', usual) for k, usual in (('no', i), ('count', len(self.files)))]
        if told != [i, len(self.files)]:
            raise fault(FileError, f'{f.file.name!r} says it is file {told[0]} of {told[1]}, counted from 0',
                        help='fetch it again: files of two models, or two ways to cut one, were mixed')
        twice = next((n for n in f.tensors if n in self.tensors), None)
        if twice is not None:
            raise fault(FileError, f'{twice!r} is in {self._file[twice].file.name!r} and in {f.file.name!r}',
                        help='fetch both again')
        self.tensors |= f.tensors
        self._file |= dict.fromkeys(f.tensors, f)

    def _check_count(self):
        told = self.metadata.get('split.tensors.count', len(self))
        if told != len(self):
            raise fault(FileError, f'the {len(self.files)} files have {len(self)} tensors, and {told} are told',
                        help='fetch them again: they are of different models')

    def __repr__(self):
        return (f'SplitGGUF {self.files[0].file.name!r} and {len(self.files) - 1} more: {len(self)} tensors, '
                f'{len(self.metadata)} keys')

    def __reduce__(self): return SplitGGUF, (self.files[0].file.path,)      # a copy opens them again

    def _of(self, name):
        if isinstance(name, str) and name in self.tensors: return self._file[name]
        raise no_key('tensor', name, self.tensors)

    def _bytes(self, name): return self._of(name)._bytes(name)

    def close(self):
        "Let go of the files; what was taken from them stays."
        for f in self.files: f.close()

    def release(self):
        "Give back the memory of what was looked at."
        for f in self.files: f.release()
