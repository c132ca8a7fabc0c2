"""A file in memory that nobody has read yet: the system fetches each page of it when somebody looks there.

What was taken from a file keeps the memory alive after the file was closed. A file that another program cuts short
while it is open ends this program, as with every mapped file: replace files, never write into them."""
import mmap, os
import numpy as np
from ..errors import FileError, fault
from ..train.whole import as_path, told

__all__ = ['Mapped']


class Mapped:
    "The bytes of a file, which nobody can write to."

    def __init__(self, path):
        self.path = as_path(path)
        try:
            with open(self.path, 'rb') as file: self._open(file.fileno())
        except OSError as e:
            if isinstance(e, FileError): raise
            raise told('nothing could be read from', self.path, e) from e

    def _open(self, fd):
        self.size = os.fstat(fd).st_size
        if not self.size: raise fault(FileError, f'{self.path.name!r} is empty', help='fetch it again')
        try: self._map = mmap.mmap(fd, self.size, access=mmap.ACCESS_READ)
        except (OSError, ValueError): self._map = os.read(fd, self.size)      # a file system without mapping
        self._data = np.frombuffer(self._map, np.uint8)

    name = property(lambda self: self.path.name)

    @property
    def data(self):
        "All bytes as an array. FileError once the file is closed."
        if self._data is not None: return self._data
        raise fault(FileError, f'{self.path.name!r} is closed', help='open it again; what was taken from it stays')

    def release(self):
        "Give back the memory of pages that were looked at; they are read again where they are needed."
        if hasattr(self._map, 'madvise') and hasattr(mmap, 'MADV_DONTNEED'): self._map.madvise(mmap.MADV_DONTNEED)

    def close(self):
        "Let go of the file; what was taken from it stays."
        self._map = self._data = None
