"""What a model file holds, as a table: of a GGUF file, a safetensors file or a folder of those."""
import html
from collections import Counter
from ..show import FAINT, STYLE
from ..whole import as_path
from ..errors import FileError, named
from .safetensors import Safetensors
from .split import open_gguf

__all__ = ['describe', 'Described']

MOST = 40      # rows of a table


def _open_model(path):
    "A GGUF file by its first letters or its ending, with its other parts; else safetensors."
    path = as_path(path, FileError, "the path comes first: 'model.gguf'")
    if path.suffix == '.gguf': return open_gguf(path)
    try:
        with open(path, 'rb') as f: return open_gguf(path) if f.read(4) == b'GGUF' else Safetensors(path)
    except OSError: return Safetensors(path)


@named
def describe(path,  # a .gguf or .safetensors file, an index, or a folder
            )->'Described':
    "The tensors of a model file with their kinds, sizes and bytes. Only its header is read."
    with _open_model(path) as f: return Described(as_path(path).name, f.tensors, f.metadata)


class Described:
    "The tensors of a file: `rows` of name, kind, shape and bytes; `kinds` and `nbytes` of all."

    def __init__(self, name, tensors, metadata):
        self.name, self.keys = name, len(metadata)
        self.rows = [(n, i.kind, i.shape, i.nbytes) for n, i in tensors.items()]
        self.nbytes, self.kinds = sum(r[3] for r in self.rows), Counter()
        for r in self.rows: self.kinds[r[1]] += r[3]

    def _total(self):
        count = Counter(r[1] for r in self.rows)
        kinds = ', '.join(f'{count[k]} {k} ({n:,} bytes)' for k, n in self.kinds.most_common())
        return f'{self.name}: {len(self.rows)} tensors, {self.keys} keys' + (f': {kinds}' if kinds else '')

    def _shown(self):
        "The rows that are shown, as text."
        rows = [(n, kind, ' x '.join(map(str, shape)), f'{size:,}') for n, kind, shape, size in self.rows]
        more = len(rows) - MOST
        return rows if more <= 0 else rows[:MOST - 1] + [(f'and {more + 1} more', '', '', '')]

    def __repr__(self):
        rows = self._shown()
        wide = [max(len(r[i]) for r in rows) for i in range(4)] if rows else []
        line = lambda r: f'{r[0]:<{wide[0]}}  {r[1]:<{wide[1]}}  {r[2]:>{wide[2]}}  {r[3]:>{wide[3]}}'.rstrip()
        return '\n'.join([self._total(), *map(line, rows)])

    def _repr_html_(self):
        cells = lambda r: ''.join(f'<td style="text-align:{"right" if i > 1 else "left"}">{html.escape(w)}</td>'
                                  for i, w in enumerate(r))
        head = ''.join(f'<th style="text-align:left;{FAINT}">{w}</th>' for w in ('tensor', 'kind', 'sizes', 'bytes'))
        rows = ''.join(f'<tr>{cells(r)}</tr>' for r in self._shown())
        return f'<div style="{STYLE}">{html.escape(self._total())}<table><tr>{head}</tr>{rows}</table></div>'
