"Model files: GGUF and safetensors, opened without being read, and written."
from .gguf import GGUF, Info, Metadata
from .safetensors import Safetensors
from ..elsewhere import of_package as _of_package

_ELSEWHERE = dict.fromkeys('GGUFReader load_gguf read_gguf open_gguf'.split(), 'f = fl.files.GGUF(path)')



def __getattr__(name): raise _of_package('fl.files', name, globals(), _ELSEWHERE)
