"""A tokenizer: special tokens, normalisation, cuts, and a model that makes ids of the pieces.

A reader gives the parts, `Tokenizer(**parts)` puts them together. The model is anything with
`encode_piece(piece)`; one that has `encode(pieces)` is given all pieces of a text at once.

User text makes no special token unless whoever calls says so: `encode(text)` treats a marker in
it as the letters that it is made of."""
import codecs
from collections import Counter, namedtuple
from collections.abc import Mapping
import numpy as np
import regex
from ..arguments import as_whole
from ..errors import (FileError, FucinaError, IndexOutOfBounds, OptionError, OptionTypeError, brief, did_you_mean,
                      fault, named, some)
from ..files import GGUF
from ..whole import as_path, replace_file
from . import bpe, bytelevel, sentencepiece, splits

__all__ = ['Added', 'Tokenizer', 'TextStream', 'from_gguf']

# a token that is matched as written. special: text makes it only when told to; control: decode leaves it out;
# left, right: takes the blanks beside it along; raw: is looked for before the text is normalised
Added = namedtuple('Added', 'text id special control left right raw', defaults=(True, True, False, False, True))


class Tokenizer:
    "Text to ids and back."
    def __init__(self,
                 model,          # makes ids of pieces
                 tokens,         # id -> bytes that it stands for
                 added=(),       # `Added` tokens
                 split=None,     # text -> pieces; None: the whole text is one
                 normal=None,    # (text, whether it begins the whole text) -> text
                 bos=None,       # id of the token that begins a text
                 eos=None,       # id of the token that ends one
                 add_bos=False,  # whether the model wants bos before a prompt
                 add_eos=False,  # whether it wants eos after a text
                 strip=b'',      # what decoding takes away from the beginning of a text
                ):
        self.model, self.tokens, self.split, self.normal, self.strip = model, list(tokens), split, normal, strip
        self.bos, self.eos, self.add_bos, self.add_eos = bos, eos, add_bos, add_eos
        self.added = tuple(Added(*a) for a in added)
        self.special = {a.text: a.id for a in self.added if a.special}
        self.control = frozenset(a.id for a in self.added if a.control)
        self._raw = [Finder([a for a in self.added if a.raw and (told or not a.special)]) for told in (False, True)]
        self._normal = [Finder([a for a in self.added if not a.raw and (told or not a.special)])
                        for told in (False, True)]
        self._ids = None

    @classmethod
    @named
    def load(cls,
             path,  # tokenizer.json or its folder, a .tiktoken, .model or .gguf file
            ):
        "The tokenizer in a file."
        return cls(**read(as_path(path, FileError, "the path comes first: Tokenizer.load('tokenizer.json')")))

    @classmethod
    @named
    def train(cls,
              texts,                       # strings
              size,                        # tokens in all: special ones, 256 bytes, and what is learned
              split='gpt-2',               # how text is cut, by the name of a family, or a function
              special=('<|endoftext|>',),  # special tokens; they get the first ids
              least=0,                     # how often a pair must stand to become a token
             ):
        "A tokenizer of byte-level BPE that is learned from texts, the same one that `tokenizers` learns."
        cut, special = split if callable(split) else splits.splitter(split), _texts(special, 'special')
        if (size := as_whole(size, 'size', 1)) > bytelevel.MOST:
            raise fault(OptionError, f'{brief(size)} tokens are more than {bytelevel.MOST:,}', help='size=32000')
        if (new := size - 256 - len(special)) < 0:
            raise fault(OptionError, f'{size} tokens do not hold 256 bytes and {some(len(special), "special token")}',
                        help=f'size={256 + len(special) + 1000}')
        words = Counter()
        for text in _texts(texts, 'texts'): words.update(cut(text))
        merges = bpe.learn(words, new, as_whole(least, 'least', 0), len(special))
        tokens = bpe.tokens_of(merges, len(special))
        model = bpe.BPE(tokens, merges.tolist())
        tokens[:len(special)] = [t.encode() for t in special]
        return cls(model, tokens, [(t, i) for i, t in enumerate(special)], cut, eos=0 if special else None)

    def save(self,
             path,  # of a tokenizer.json
            ):
        "Write a tokenizer of byte-level BPE as tokenizer.json, which `tokenizers` reads too."
        replace_file(as_path(path, FileError, "tok.save('tokenizer.json')"), bytelevel.to_json(self).encode())

    def __len__(self): return len(self.tokens)

    def __repr__(self):
        return f'Tokenizer({len(self)} tokens, {len(self.special)} special, {type(self.model).__name__})'

    @named
    def encode(self,
               text,           # a str
               special=False,  # whether special tokens in the text count as such
              ):
        "The ids of a text, a list. Without `special` no text makes a special token."
        ids = []
        for at, part in enumerate(self._raw[bool(special)].cut(_checked(text))):
            if isinstance(part, int): ids.append(part); continue
            if self.normal: part = self.normal(part, at == 0)
            for piece in self._normal[bool(special)].cut(part):
                if isinstance(piece, int): ids.append(piece)
                else: ids += self._pieces(piece)
        return ids

    def _pieces(self, text):
        "The ids of text without added tokens."
        pieces = self.split(text) if self.split else [text]
        if hasattr(self.model, 'encode'): return self.model.encode(pieces)
        return [i for piece in pieces for i in self.model.encode_piece(piece)]

    def _bytes(self, ids, special):
        "The bytes of ids, control tokens left out unless asked for."
        ids = whole_numbers(ids, len(self))
        if not special: ids = [i for i in ids if i not in self.control]
        return b''.join([self.tokens[i] for i in ids])

    @named
    def bytes(self,
              ids,  # whole numbers: a list, an array, a tensor
             ):
        "What the ids stand for, special tokens too, as bytes and unchanged."
        return self._bytes(ids, True)

    @named
    def decode(self,
               ids,            # whole numbers: a list, an array, a tensor
               special=False,  # whether control tokens are shown
              ):
        "The text of ids. Bytes that are no UTF-8 become U+FFFD."
        return self._bytes(ids, special).removeprefix(self.strip).decode('utf-8', 'replace')

    def stream(self,
               special=False,  # whether control tokens are shown
              ):
        "Decodes token by token, never half a character: see `TextStream`."
        return TextStream(self, special)

    @named
    def id(self,
           text,  # of a token
          ):
        "The id of a token, a special one first."
        if not isinstance(text, (str, bytes)):
            raise fault(OptionTypeError, f'a token is a str or bytes, not {brief(text)}', help="tok.id('the')")
        if text in self.special: return self.special[text]
        if self._ids is None: self._ids = {t: i for i, t in reversed([*enumerate(self.tokens)])}
        data = text.encode('utf-8', 'surrogatepass') if isinstance(text, str) else text
        if not data or data not in self._ids:
            raise fault(OptionError, f'no token is {brief(text)}', help='tok.encode(text) cuts a text into tokens; '
                        + did_you_mean(text, list(self.special)[:20], 'special ones'))
        return self._ids[data]

    @named
    def piece(self,
              id,  # of a token
             ):
        "What a token stands for, as text; bytes that are no character are written \\xff."
        found = whole_numbers(id, len(self))
        if len(found) == 1: return self.tokens[found[0]].decode('utf-8', 'backslashreplace')
        help = 'tok.decode(ids), or [tok.piece(i) for i in ids]'
        raise fault(OptionTypeError, f'{brief(id)} is not one id', help=help)


class TextStream:
    "Ids in, text out as soon as its characters are whole. All that comes out together is what `decode` says."
    def __init__(self, tokenizer, special=False):
        self.tokenizer, self.special, self.begun = tokenizer, special, False
        self.decoder = codecs.getincrementaldecoder('utf-8')('replace')

    def push(self, id):
        "The text that is ready after this id."
        data = self.tokenizer._bytes([id], self.special)
        if data and not self.begun: data, self.begun = data.removeprefix(self.tokenizer.strip), True
        return self.decoder.decode(data)

    def end(self):
        "What is left: U+FFFD for half a character."
        return self.decoder.decode(b'', True)


class Finder:
    "Finds added tokens in text: the earliest, of those the longest."
    def __init__(self, added):
        self.ids = {a.text: a.id for a in added}
        blanks = lambda yes: r'\s*' if yes else ''
        ways = [f'{blanks(a.left)}({regex.escape(a.text)}){blanks(a.right)}' if a.left or a.right else
                f'({regex.escape(a.text)})' for a in sorted(added, key=lambda a: -len(a.text))]
        self.pattern = regex.compile('(?|' + '|'.join(ways) + ')') if ways else None

    def cut(self, text):
        "Text without tokens and ids of tokens, in order."
        end = 0
        for m in self.pattern.finditer(text) if self.pattern else ():
            if m.start() > end: yield text[end:m.start()]
            yield self.ids[m[1]]
            end = m.end()
        if end < len(text): yield text[end:]


def _checked(text):
    "A text that has UTF-8."
    if not isinstance(text, str):
        raise fault(OptionTypeError, f'text is a str, not {type(text).__name__}',
                    help='of bytes: tok.encode(data.decode())')
    try: text.encode()
    except UnicodeEncodeError as e:
        raise fault(OptionError, f'the text has half a character at {e.start}, which no UTF-8 writes',
                    help="tok.encode(text.encode('utf-8', 'replace').decode())") from None
    return text


def _texts(given, name):
    "One text, or several, as a list."
    try: found = [given] if isinstance(given, str) else [*given]
    except TypeError: found = [given]
    for text in found:
        if isinstance(text, str): _checked(text)
        else: raise fault(OptionTypeError, f'{name} are texts, not {brief(text)}', help=f"{name}=['...', '...']")
    return found


def whole_numbers(ids, count):
    "A list of ids below `count`."
    try: found = np.asarray(ids)
    except ValueError: found = np.array(['of several lengths'])
    if found.size and found.dtype.kind not in 'iu':
        raise fault(OptionTypeError, f'ids are whole numbers, not {brief(ids)}', help='tok.decode([1, 2, 3])')
    found = found.reshape(-1).tolist()
    for i in found:
        if not 0 <= i < count:
            raise fault(IndexOutOfBounds, f'{i} is no id of {count} tokens', help=f'ids go from 0 to {count - 1}')
    return found


def read(path):
    "The parts of the tokenizer in a file."
    if path.is_dir(): path = path/'tokenizer.json'
    for ending, reader in READERS.items():
        if path.name.endswith(ending): return reader(path)
    raise fault(FileError, f'{path.name} is no file of a tokenizer that is known here',
                help=f'there are {" ".join(READERS)}, and folders with a tokenizer.json')


def from_gguf(metadata,  # what a GGUF file says under 'tokenizer.ggml.'
             ):
    "The tokenizer of a model in a GGUF file, from the file's metadata."
    if not isinstance(metadata, Mapping):
        raise fault(OptionTypeError, f'{brief(metadata)} is no metadata', help='fl.text.from_gguf(GGUF(path).metadata)')
    return Tokenizer(**parts_of_gguf(metadata))


def read_gguf(path):
    "The parts of the tokenizer in a GGUF file."
    with GGUF(path) as file: return parts_of_gguf(file.metadata)


def parts_of_gguf(metadata):
    "The parts of a tokenizer that the metadata of a GGUF file describes."
    kind = metadata.get('tokenizer.ggml.model')
    if kind not in GGUF_KINDS:
        raise fault(FileError, f'a tokenizer of the kind {kind!r} is not known', help=did_you_mean(kind, GGUF_KINDS))
    try: return bytelevel.check_ends(GGUF_KINDS[kind](metadata))
    except FucinaError: raise
    except sentencepiece.DAMAGED as e:
        raise fault(FileError, f'the vocabulary is damaged: {type(e).__name__}, {brief(str(e))}',
                    help='fetch the file again, or convert the model anew') from e


# file ending -> path -> parts
READERS = {'.json': sentencepiece.read_any_json, '.tiktoken': bytelevel.read_tiktoken,
           '.model': sentencepiece.read_sentencepiece, '.gguf': read_gguf}
# tokenizer.ggml.model -> metadata -> parts
GGUF_KINDS = dict(gpt2=bytelevel.of_gguf, llama=sentencepiece.from_gguf_scores, t5=sentencepiece.from_gguf_scores,
                  gemma4=sentencepiece.from_gguf_merges, bert=sentencepiece.from_gguf_words)
