"""Text to tokens and back: byte pair encoding, where text is cut, readers of tokenizer files."""
from .tokenizer import Tokenizer, from_gguf
from ..elsewhere import of_package as _of_package

_ELSEWHERE = dict(
    dict.fromkeys('AutoTokenizer PreTrainedTokenizerFast from_pretrained get_encoding encoding_for_model '
                  'SentencePieceProcessor'.split(), "tok = fl.text.Tokenizer.load('tokenizer.json')"),
    Encoding='tok.encode(text) is a list of ids')


def __getattr__(name): raise _of_package('fl.text', name, globals(), _ELSEWHERE)
