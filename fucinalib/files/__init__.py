"Model files: GGUF and safetensors, opened without being read, and written."
from .described import describe
from .gguf import GGUF, Info, Metadata, write_gguf
from .safetensors import Safetensors
from ..elsewhere import LOADS as _LOADS, SAVES as _SAVES, of_package as _of_package

_GGUF, _TENSORS = 'f = fl.files.GGUF(path)', 'f = fl.files.Safetensors(path)'
_WRITE = 'fl.files.write_gguf(path, metadata, tensors)'
_ELSEWHERE = dict(
    dict.fromkeys('GGUFReader load_gguf read_gguf open_gguf'.split(), _GGUF),
    **dict.fromkeys('GGUFWriter save_gguf'.split(), _WRITE),
    **dict.fromkeys('safe_open SafeTensors load_safetensors'.split(), _TENSORS),
    **dict.fromkeys('load load_file load_weights'.split(), f'{_GGUF}, or {_TENSORS}; {_LOADS}'),
    **dict.fromkeys('save save_file save_weights save_safetensors'.split(), f'{_WRITE}; {_SAVES}'),
    open=f'{_GGUF}, or {_TENSORS}')


def __getattr__(name): raise _of_package('fl.files', name, globals(), _ELSEWHERE)
