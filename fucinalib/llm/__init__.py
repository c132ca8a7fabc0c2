"Language models: decoders, their files, and what they say."
from .decoder import Cache, Config, Model, Rope
from .loading import load
from ..elsewhere import of_package as _of_package

_ELSEWHERE = dict.fromkeys('AutoModel AutoModelForCausalLM from_pretrained Llama'.split(), 'fl.llm.load(path)')


def __getattr__(name): raise _of_package('fl.llm', name, globals(), _ELSEWHERE)
