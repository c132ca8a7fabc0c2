"""Text to tokens: a megabyte of source code and prose, with a vocabulary learned from it. The rival is `tokenizers`, in
the column of torch, on one thread as here."""
import os
from pathlib import Path
import fucinalib as fl
from .harness import Case

MEGABYTE = 1 << 20


def text_of_library():
    "A megabyte of this library's own text."
    files = sorted(p for p in Path(fl.__file__).parents[1].glob('[fnt]*/*') if p.suffix in ('.py', '.ipynb', '.pyi'))
    return ''.join(p.read_text() for p in files)[:MEGABYTE]


def peers(tok, text, size):
    "What `tokenizers` does to the same text, if it is there: encode, train."
    try: import tokenizers as hf
    except ImportError: return None, None
    os.environ['TOKENIZERS_PARALLELISM'] = 'false'
    from fucinalib.text.bytelevel import to_json
    other = hf.Tokenizer.from_str(to_json(tok))
    def train():
        fresh = hf.Tokenizer(hf.models.BPE())
        fresh.pre_tokenizer = hf.pre_tokenizers.ByteLevel(add_prefix_space=False)
        fresh.train_from_iterator([text], hf.trainers.BpeTrainer(vocab_size=size, show_progress=False,
            initial_alphabet=hf.pre_tokenizers.ByteLevel.alphabet()))
    return lambda: other.encode(text, add_special_tokens=False), train


def cases(torch):
    text = text_of_library()
    tok = fl.text.Tokenizer.train(text[:MEGABYTE // 4], 2000)
    encode, train = peers(tok, text, 1000)
    def encode_ours():
        tok.model.kept = {}         # as if for the first time
        return tok.encode(text)
    yield Case('encode', '1 MB, 2000 tokens', encode_ours, None, torch and encode)
    yield Case('train', '1 MB, 1000 tokens', lambda: fl.text.Tokenizer.train(text, 1000), None, torch and train)
