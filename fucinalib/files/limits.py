"""What a model file may say, and what is said to one that says something else.

Whatever a file claims is compared with what it has before it is used: a header that lies costs no memory and no time.
Every message has the name of the file, the field and the byte at which it stands."""
from math import prod
import numpy as np
from ..errors import DTypeError, FileError, InvalidShape, OptionError, UnknownKey, brief, closest, fault
from ..tensor import Tensor, ingest

__all__ = ['COUNT', 'KEY', 'AXES', 'ALIGNMENT', 'cut_short', 'no_gguf', 'no_key', 'twice', 'not_utf8',
           'no_text', 'no_type', 'no_kind', 'no_blocks', 'string_cut', 'check_bools', 'check_letters',
           'check_announced', 'check_rank_in', 'check_sizes', 'check_alignment', 'check_place', 'check_end',
           'not_safetensors', 'no_tensor_type', 'check_version', 'check_key', 'as_utf8', 'check_type', 'one_row',
           'array_in', 'check_written']

COUNT = 1 << 20         # most keys, and most tensors
KEY = 0xffff            # most bytes of a key or of a name
AXES = 8                # most axes of a tensor that is read
WRITTEN = 4             # and of one that is written, as in llama.cpp
NAME = 63               # most bytes of a name that is written, likewise
ALIGNMENT = 1 << 20     # largest multiple at which tensors may begin

AGAIN = 'fetch the file again, or look into it: fl.files.GGUF reads what gguf and llama.cpp write'


def _spoiled(cursor,      # where a file is being read
            head,        # what is wrong, after the name of the file
            at=None,     # the byte where it stands; None for what was taken last
            help=AGAIN):
    "The error for a field that cannot be."
    return fault(FileError, f'{cursor.name!r} at byte {cursor.last if at is None else at:,}: {head}', help=help)


def cut_short(cursor, n, what):
    "The error for a field that is longer than the rest of the file."
    return _spoiled(cursor, f'{what} needs {n:,} bytes, and there are {cursor.left:,}', cursor.at)


def no_gguf(name, magic, version=None):
    "The error for a file of another form, or of another version."
    if magic != b'GGUF':
        kind = next((k for m, k in OTHERS.items() if magic.startswith(m)), 'a GGUF file begins with the letters GGUF')
        return fault(FileError, f'{name!r} is no GGUF file: it begins with {magic!r}', help=kind)
    if version & 0xffff == 0:
        return fault(FileError, f'{name!r} is a GGUF file for computers that write the high byte first',
                     help='convert the model again on a computer of today')
    return fault(FileError, f'{name!r} is a GGUF file of version {version}', help='versions 2 and 3 are read; '
                 'convert the model again')

OTHERS = {b'PK': 'it is a zip file, as torch.save and np.savez write them', b'\x1f\x8b': 'it is compressed: gunzip it',
          b'<': 'it is a web page: the fetch went wrong', b'ver': 'it is a Git LFS pointer: git lfs pull',
          b'ggjt': 'it is of a format before GGUF: convert the model again'}


def no_key(what, name, known):
    "The error for a key or a tensor that a file has not got."
    near, some = closest(name, known), list(known)[:20]
    return fault(UnknownKey, f'there is no {what} {brief(name)}',
                 help=(f'did you mean {near!r}? ' if near else '') + f'there is: {", ".join(some) or "none"}')


# ---- fields of a GGUF file

def twice(c, what, name): return _spoiled(c, f'two {what} are called {name!r}')
def not_utf8(c, what, e): return _spoiled(c, f'{what} is no UTF-8: {e.reason}')


def no_text(name, key, e):
    "The error for a string, or one of an array, that is no text."
    return fault(FileError, f'{name!r}: {key!r} is no UTF-8: {getattr(e, "reason", e)}', help=AGAIN)


def no_type(c, code, what, at=None):
    "The error for a type of a value that does not exist, or an array of arrays."
    return _spoiled(c, f'the type of {what} is {code}' + (', an array again' if at and code == 9 else
                                                          ', and there are 0 to 12'), at)


def no_kind(c, code, name):
    "The error for a type of a tensor that is not known."
    return _spoiled(c, f'{name!r} is of type {code}, which is not known',
                    help='fl.block_formats lists the formats of blocks; a newer fucinalib may know it')


def no_blocks(c, n, f, name):
    "The error for rows that are not made of whole blocks."
    return _spoiled(c, f'{name!r} has rows of {n:,}, and a block of {f} holds {f.elems}')


def string_cut(c, at, i, what):
    "The error for a string of an array that is longer than the rest of the file."
    return _spoiled(c, f'string {i:,} of {what}, or one behind it, is longer than the rest of the file', at)


def check_bools(c, raw, what):
    "The error for a bool that is neither 0 nor 1."
    if len(raw) and raw.max() > 1: raise _spoiled(c, f'{what} is {raw.max()}, and a bool is 0 or 1')


def check_letters(c, n, what):
    "The error for a key or a name of no letters, or of too many."
    if not 0 < n <= KEY: raise _spoiled(c, f'{what} has {n:,} bytes, and 1 to {KEY:,} are allowed')


def check_announced(c, n, least, what):
    "The error for a number of entries, of at least so many bytes each, that cannot be."
    if n > COUNT: raise _spoiled(c, f'{n:,} {what} are announced, and {COUNT:,} are allowed')
    if n * least > c.left: raise _spoiled(c, f'{n:,} {what} are announced, and there are {c.left:,} bytes left')


def check_rank_in(c, n, name):
    "The error for a number of axes that no tensor has."
    if not 0 < n <= AXES: raise _spoiled(c, f'{name!r} has {n:,} axes, and 1 to {AXES} are allowed')


def check_sizes(c, sizes, name):
    "The error for sizes of which one is 0, or that no memory holds."
    if 0 in sizes or prod(sizes) >> 62: raise _spoiled(c, f'{name!r} has the sizes {brief(sizes[::-1], 200)}')


def check_alignment(c, kind, n):
    "n, or the error for what is no multiple that tensors can begin at."
    if kind == 'u32' and 0 < n <= ALIGNMENT and n & n - 1 == 0: return n
    raise _spoiled(c, f'general.alignment is {brief(n)}, {kind}; it is a u32, a power of two up to {ALIGNMENT:,}', 0)


# ---- tensors behind the header

def check_place(c, name, at, want, nbytes):
    "The error for a tensor that lies over another, leaves a hole, or is not there to its end."
    if at != want:
        how = 'over the one before' if at < want else 'behind a hole'
        raise _spoiled(c, f'{name!r} begins {how}; it should be at {want:,}', at)
    if at + nbytes > len(c.data):
        raise _spoiled(c, f'{name!r} ends here, and the file has {len(c.data):,} bytes', at + nbytes,
                       help='it is cut short: fetch it again')


def check_end(c, end, padded):
    "The error for bytes that belong to nothing."
    if len(c.data) > padded: raise _spoiled(c, f'the last tensor ends here, and the file has {len(c.data):,} bytes',
                                               end)


# ---- safetensors

def not_safetensors(name, head):
    "The error for a file that is not of the form safetensors, or not all of it."
    return fault(FileError, f'{name!r} cannot be read as safetensors: {head}', help='fetch it again, or write it: '
                 'fl.train.save_weights')


def no_tensor_type(name, kind):
    "The error for a type of numbers that tensors have not."
    return fault(DTypeError, f'{name!r} is of {kind}, which no tensor has', help=f'f.raw({name!r}) gives its bytes')


# ---- what is written

def check_version(version):
    "The error for a version that is not written."
    if version not in (2, 3): raise fault(OptionError, f'version={brief(version)}', help='version=3, or 2')


def check_key(key):
    "The key, or the error for one that no file may have."
    if isinstance(key, str) and 0 < len(key.encode(errors='replace')) <= KEY: return key
    raise fault(OptionError, f'{brief(key)} is no key', help="{'general.architecture': 'llama'}")


def as_utf8(text):
    "The bytes of a text, or the error for one with half a character."
    try: return text.encode()
    except UnicodeEncodeError as e: raise fault(OptionError, f'{brief(text)} has half a character at {e.start}',
                                                help="text.encode(errors='replace').decode()") from None


def check_type(kind, known, key, value):
    "The type of a value, or the error for one that no file has."
    if kind == 'str' or kind in known: return kind
    raise fault(DTypeError, f'{key!r} is {brief(value)}, which has no type in a GGUF file',
                help="a number, a text, True or False, or a list of one kind of them")


def one_row(array, key):
    "The array, or the error for one of other than one axis, or of no numbers."
    if array.ndim == 1 and array.dtype.kind in 'biufU': return array
    raise fault(DTypeError, f'{key!r} has {array.ndim} axes of {array.dtype}',
                help='a key has one row of numbers; what has more axes is a tensor')


def array_in(name, t):
    "The array of a tensor, or the error for what is none."
    if isinstance(t, Tensor): return t.data
    if isinstance(t, np.ndarray): return ingest(t)
    raise fault(DTypeError, f'{name!r} is {brief(t)}, no tensor', help="{'w': fl.Tensor([1., 2.], 'd')}")


def check_written(name, shape, kind, codes):
    "The error for a tensor that other programs would not read."
    size = len(name.encode(errors='replace')) if isinstance(name, str) else 0
    if not 0 < size <= NAME:
        raise fault(OptionError, f'{brief(name, 80)} is no name for a tensor in a GGUF file',
                    help=f'1 to {NAME} bytes, as others read it')
    if not 0 < len(shape) <= WRITTEN:
        raise fault(InvalidShape, f'{name!r} has {len(shape)} axes', help=f'a GGUF file has 1 to {WRITTEN}; merge some')
    if kind not in codes:
        raise fault(DTypeError, f'{name!r} is of {kind}, which GGUF has not',
                    help=f"x.to('f32'); there is: {' '.join(codes)}")
