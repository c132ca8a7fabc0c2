"""A file in memory that nobody has read yet: the system fetches each page of it when somebody looks there.

What was taken from a file keeps the memory alive after the file was closed. A file that another program cuts short
while it is open ends this program, as with every mapped file: replace files, never write into them."""
import mmap, os
from pathlib import Path
import numpy as np
from ..errors import FileError, fault
from ..whole import as_path, told

__all__ = ['Mapped', 'Read', 'bytes_at']


class Mapped:
    "The bytes of a file, which nobody can write to."

    def __init__(self, path):
        self.path = as_path(path, FileError, "the path comes first: 'model.gguf'")
        self.name, self.path = self.path.name, self.path.absolute()      # a copy opens it from anywhere
        try:
            with open(self.path, 'rb') as file: self._open(file)
        except OSError as e:
            if isinstance(e, FileError): raise
            raise told('nothing could be read from', self.path, e) from e

    def _open(self, file):
        self.size = os.fstat(file.fileno()).st_size
        if not self.size: raise fault(FileError, f'{self.name!r} is empty', help='fetch it again')
        try: self._map = mmap.mmap(file.fileno(), self.size, access=mmap.ACCESS_READ)
        except (OSError, ValueError): self._map = file.read()      # a file system without mapping
        self._data = np.frombuffer(self._map, np.uint8)

    @property
    def data(self):
        "All bytes as an array. FileError once the file is closed."
        if self._data is not None: return self._data
        raise fault(FileError, f'{self.name!r} is closed', help='open it again; what was taken from it stays')

    def part(self, start, stop):
        "The bytes from start to stop, the memory the file's."
        return self.data[start:stop]

    def release(self):
        "Give back the memory of pages that were looked at; they are read again where they are needed."
        if hasattr(self._map, 'madvise') and hasattr(mmap, 'MADV_DONTNEED'): self._map.madvise(mmap.MADV_DONTNEED)

    def close(self):
        "Let go of the file; what was taken from it stays."
        self._map = self._data = None


class Read:
    "The bytes of what has `read` and `seek`: those that are asked for are read, and no others."
    path = None

    def __init__(self, file):
        self.file, self.name = file, Path(str(getattr(file, 'name', 'this file'))).name
        self.size = file.seek(0, 2)

    def part(self, start, stop):
        "The bytes from start to stop, read now."
        self.file.seek(start)
        data = self.file.read(stop - start)
        if len(data) == stop - start: return np.frombuffer(data, np.uint8)
        raise fault(FileError, f'{self.name!r} ended before byte {stop:,}', help='fetch it again')

    def release(self): pass
    def close(self): self.file.close()


def bytes_at(file):
    "What is at a path, or what can be read from."
    return Read(file) if hasattr(file, 'read') and hasattr(file, 'seek') else Mapped(file)
