"""Files of data, read into arrays: IDX (the form of MNIST), CSV, folders of pictures.

A file that is cut short, foreign or uneven is refused with its name and the place; nothing is guessed."""
import csv, gzip, math, struct, zlib
from pathlib import Path
import numpy as np
from ..errors import DTypeError, EmptySelection, FileError, InvalidShape, OptionError, did_you_mean, fault, named

__all__ = ['read_idx', 'write_idx', 'read_csv', 'read_pictures', 'encode', 'as_classes', 'FileError']


# ---- IDX
IDX_TYPES = {0x08: '>u1', 0x09: '>i1', 0x0B: '>i2', 0x0C: '>i4', 0x0D: '>f4', 0x0E: '>f8'}


@named
def read_idx(path)->np.ndarray:
    "The array in an IDX file, plain or compressed (.gz). FileError."
    path = Path(path)
    if not path.is_file(): raise fault(FileError, f'there is no file {path}', help='see its folder')
    with open(path, 'rb') as raw:
        packed = raw.read(2) == b'\x1f\x8b'
        raw.seek(0)
        with gzip.open(raw) if packed else raw as file:
            try: return _read_idx(file, path, math.inf if packed else path.stat().st_size)
            except (EOFError, zlib.error, gzip.BadGzipFile) as e:
                raise fault(FileError, f'{path.name} is cut short or damaged: {e}', help='fetch it again') from None


def _read_idx(file, path, size):
    "Header and values of an open IDX file of at most `size` bytes."
    head = file.read(4)
    if len(head) < 4 or head[:2] != b'\0\0' or head[2] not in IDX_TYPES:
        raise fault(FileError, f'{path.name} is no IDX file: it begins with {head!r}',
                    help='an IDX file begins with two zeros, its number type and its number of axes')
    sizes = file.read(4 * head[3])
    if len(sizes) < 4 * head[3]: raise fault(FileError, f'{path.name} ends in its header', help='fetch it again')
    shape = struct.unpack(f'>{head[3]}I', sizes)
    kind = np.dtype(IDX_TYPES[head[2]])
    want = math.prod(shape) * kind.itemsize
    if want == 0: raise fault(FileError, f'{path.name} says shape {shape}, which is empty', help='fetch it again')
    if want > size: raise fault(FileError, f'{path.name} says shape {shape}, and has {size} bytes in all',
                                help='it is cut short: fetch it again')
    data = _read_up_to(file, want + 1)
    if len(data) != want:
        more = 'more' if len(data) > want else f'{len(data)}'
        raise fault(FileError, f'{path.name} says shape {shape}, {want} bytes, and has {more}', help='fetch it again')
    return np.frombuffer(data, kind).reshape(shape).astype(kind.newbyteorder('='))


def _read_up_to(file, n, piece=1 << 24):
    "At most n bytes, in pieces: a header that lies costs no memory."
    parts, left = [], n
    while left and (part := file.read(min(left, piece))):
        parts.append(part)
        left -= len(part)
    return b''.join(parts)


@named
def write_idx(path,   # compressed if it ends in .gz
              array,  # an array of u8, i8, i16, i32, f32 or f64
             ):
    "Write an array as an IDX file."
    a = np.asarray(array)
    code = next((c for c, t in IDX_TYPES.items() if np.dtype(t) == a.dtype.newbyteorder('>')), None)
    if code is None: raise fault(DTypeError, f'of {a.dtype}', help='IDX holds u8, i8, i16, i32, f32 and f64')
    data = struct.pack(f'>BBBB{a.ndim}I', 0, 0, code, a.ndim, *a.shape) + a.astype(IDX_TYPES[code]).tobytes()
    Path(path).write_bytes(gzip.compress(data, mtime=0) if str(path).endswith('.gz') else data)


# ---- CSV
@named
def read_csv(path,            # a text file of rows; .gz is read too
             header=True,     # whether the first row names the columns
             delimiter=',',   # what stands between two cells
            )->dict:
    "Column name -> array: i64 or f32 where every cell is a number, else words. FileError, DTypeError."
    path = Path(path)
    if not path.is_file(): raise fault(FileError, f'there is no file {path}', help='see its folder')
    opened = gzip.open if path.suffix == '.gz' else open
    with opened(path, 'rt', newline='', encoding='utf-8-sig') as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try: rows = [(reader.line_num, row) for row in reader if row]
        except (csv.Error, UnicodeDecodeError, EOFError, gzip.BadGzipFile, zlib.error) as e:
            raise fault(FileError, f'{path.name}, line {reader.line_num}: {e}', help='see this line') from None
    first = rows[0][1] if rows else []
    names = [w.strip() for w in rows.pop(0)[1]] if header and rows else [f'c{i}' for i in range(len(first))]
    if not rows: raise fault(EmptySelection, f'{path.name} has no rows', help='a data set has at least one row')
    _check_table(path.name, names, rows)
    return {name: _column([(line, row[i].strip()) for line, row in rows], name, path.name)
            for i, name in enumerate(names)}


def _check_table(file, names, rows):
    "FileError for columns of one name and rows of another length."
    for i, name in enumerate(names):
        if name in names[:i]: raise fault(FileError, f'{file}: two columns are called {name!r}', help='rename one')
    for line, row in rows:
        if len(row) != len(names):
            raise fault(FileError, f'{file}, line {line}: {len(row)} cells, and there are {len(names)} columns',
                        help='every row has a cell for each column; another delimiter= may be meant')


def _column(cells, name, file):
    "One column as numbers if all are, else as words. FileError where a number is missing among numbers."
    words = [w for _, w in cells]
    for kind, number in (('i8', int), ('f4', float)):
        try: return np.array([number(w) for w in words], kind)
        except (ValueError, OverflowError): pass
    if '' in words:
        line = cells[words.index('')][0]
        try: [float(w) for w in words if w]
        except ValueError: return np.array(words)
        raise fault(FileError, f'{file}, line {line}: {name!r} is empty among numbers',
                    help='fill it in, leave the row out, or write nan')
    return np.array(words)


@named
def encode(words)->tuple:
    "(a whole number for each word, the words by number in the order of the alphabet)."
    a = np.asarray(words)
    if a.ndim != 1 or not a.size: raise fault(InvalidShape, f'words of shape {a.shape}', help='a list of words')
    kinds = {str if isinstance(w, (str, bytes)) else type(w) for w in np.asarray(words, object).tolist()}
    if len(kinds) > 1 or a.dtype == object:
        raise fault(DTypeError, f'words are of several kinds: {" ".join(sorted(k.__name__ for k in kinds))}',
                    help='make them one kind: [str(w) for w in words]')
    names, codes = np.unique(a, return_inverse=True)
    return codes.reshape(-1).astype('i8'), tuple(names.tolist())


def as_classes(column, classes=None):
    """(the column, or the number of the class in each row; names of the classes, none if they are numbers).

    Words are classes, and numbers are as they are written: 1 is whole and 1.0 is not, whichever values there are.
    `classes` says it instead: True, False, or the names in order."""
    words = column.dtype.kind == 'U'
    if isinstance(classes, (list, tuple)): return _among(column, classes)
    if classes is None or words and classes is True: return encode(column) if words else (column, ())
    if words: raise fault(DTypeError, 'a target of words', help='classes=True, or their names in order')
    if not classes: return column.astype('f4'), ()
    odd = column[(column % 1 != 0) | (column < 0)]      # NaN, too
    if not odd.size: return column.astype('i8'), ()
    help = 'classes are words or the whole numbers from 0; classes=False'
    raise fault(DTypeError, f'{odd[0]} is no class', help=help)


def _among(column, names):
    "The number of each value among names in order."
    known = {name: i for i, name in enumerate(names)}
    odd = next((v for v in column.tolist() if v not in known), None)
    if odd is not None: raise fault(OptionError, f'{odd!r} is none of the classes', help=did_you_mean(odd, names))
    return np.array([known[v] for v in column.tolist()], 'i8'), tuple(map(str, names))


# ---- pictures
PICTURES = {'.png', '.jpg', '.jpeg', '.bmp', '.gif', '.webp', '.tif', '.tiff', '.pgm', '.ppm'}


@named
def read_pictures(folder,      # one folder for each class, and in it its pictures
                  size=None,   # (height, width) to bring every picture to; None: they have one size already
                  gray=False,  # one channel instead of red, green and blue
                 )->tuple:
    "(pictures: n h w c of u8, a class for each, names of the classes), by name. FileError, OptionError."
    folder = Path(folder)
    if not folder.is_dir(): raise fault(FileError, f'there is no folder {folder}', help='see where it should be')
    classes = sorted(p.name for p in folder.iterdir() if p.is_dir() and not p.name.startswith('.'))
    files = [(p, k) for k, c in enumerate(classes)
             for p in sorted((folder/c).iterdir()) if p.suffix.lower() in PICTURES]
    if not files:
        raise fault(EmptySelection, f'no pictures in the folders of {folder}', help='folder/class/picture.png is read')
    for k, c in enumerate(classes):
        if all(j != k for _, j in files):
            raise fault(EmptySelection, f'class {c!r} has no pictures', help='every folder is a class; remove it')
    pictures = [_read_picture(p, size, gray) for p, _ in files]
    for (path, _), a in zip(files, pictures):
        if a.shape != pictures[0].shape:
            here, first = (f'{b.shape[0]} by {b.shape[1]}' for b in (a, pictures[0]))
            raise fault(InvalidShape, f'{path} is {here}, and the first is {first}',
                        help='size=(height, width) brings all of them to one size')
    return np.stack(pictures), np.array([k for _, k in files]), tuple(classes)


def _read_picture(path, size, gray):
    "One picture as an array h w c of u8."
    from PIL import Image, UnidentifiedImageError
    try:
        with Image.open(path) as image:
            image = image.convert('L' if gray else 'RGB')
            if size is not None: image = image.resize((int(size[1]), int(size[0])), Image.Resampling.BILINEAR)
            a = np.asarray(image)
    except (UnidentifiedImageError, OSError, SyntaxError) as e:
        raise fault(FileError, f'{path} is no picture that can be read: {e}',
                    help='remove it, or save it anew') from None
    return a.reshape(*a.shape[:2], -1)
