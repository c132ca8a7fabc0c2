"Language models: decoders, their files, and what they say; encoders of sentences."
from . import hub
from .chat import Chat
from .decoder import Cache, Config, Model, Rope
from .encoder import Encoder, EncoderConfig
from .experts import balance_loss, bytes_of_word, routes_of
from .generation import (Beam, Context, Generation, Score, Step, Stops, beam_search, generate, perplexity, score,
                         token_logprobs)
from .loading import load
from .sampling import Bigram, Sampler, Sampling
from .store import ExpertStore, stream_experts
from .templates import Template
from ..elsewhere import of_package as _of_package

_ANSWER = "for step in fl.llm.generate(model, 'Once'): print(step.text, end='')"
_ELSEWHERE = dict(dict.fromkeys('pipeline complete completion create_completion decode'.split(), _ANSWER),
                  **dict.fromkeys('AutoModel AutoModelForCausalLM from_pretrained Llama'.split(), 'fl.llm.load(path)'),
                  **dict.fromkeys('SamplingParams GenerationConfig LogitsProcessor'.split(),
                                  'fl.llm.Sampling(temperature=.8, top_p=.9)'),
                  **dict.fromkeys('apply_chat_template conversation create_chat_completion'.split(),
                                  "fl.llm.Chat(model).ask('hello')"),
                  StoppingCriteria="fl.llm.generate(model, 'Once', stop=['\\n'])",
                  TextStreamer=_ANSWER, KVCache='fl.llm.Context(model)', DynamicCache='fl.llm.Context(model)')


def __getattr__(name): raise _of_package('fl.llm', name, globals(), _ELSEWHERE)
