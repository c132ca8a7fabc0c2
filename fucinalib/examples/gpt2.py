"""GPT-2 of 124 million numbers goes on with a text, its weights as they are or rounded to blocks."""
import fucinalib as fl
from ..errors import OptionError, fault
from ._settings import settings


def main(args=None):
    o = settings('gpt2', __doc__, args, model=('openai-community/gpt2', 'a folder, a .gguf file or a name of the hub'),
                 text=('The meaning of life is', 'that it goes on with'), n=(40, 'tokens'),
                 quant=(['', 'q8_0', 'q4_0', 'q4_1', 'q5_0', 'q5_1'], '', 'that its weights are rounded to'),
                 temp=(0., 'above 0: drawn'), seed=(0, 'of what is drawn'))
    if o.n < 1: raise fault(OptionError, f'{o.n} tokens are none', '--n 40')
    model = fl.llm.load(fl.llm.hub.find(o.model), quant=o.quant or None)
    start = o.text if model.tokenizer else [1, 2, 3]
    said = fl.llm.generate(model, start, max_new=o.n, temperature=o.temp, seed=o.seed)
    print(o.text if model.tokenizer else 'it has no tokenizer: ids behind 1 2 3', end='')
    for step in said: print(step.text if model.tokenizer else f' {step.id}', end='', flush=True)
    took = said.speed()
    print(f'\n{len(said.ids)} tokens, the first after {took["prompt_seconds"]:.2f} s, then {took["seconds"]:.2f} s')
    return dict(ids=list(said.ids))
