"""From a folder or a file to a model: whose family it is, what its tensors are called, and what does not fit.

Weights stay in the file's memory as they are, but for those that have to become something else: 16 bits that become
32, rows that stand in another order, floats that are rounded to blocks. Several of those are made at a time, and no
more than fit into a given memory."""
import json
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextvars import copy_context
from fnmatch import fnmatch
from math import prod
from typing import NamedTuple
import numpy as np
from ..checks import flag, look_at, one_of, whole
from ..dtypes import as_dtype
from ..errors import FileError, StateMismatch, fault, named
from ..files import Safetensors
from ..files.split import open_gguf
from ..kernels.threads import get_num_threads
from ..ops.blocks import BlockTensor
from ..quant import OWN, int4_64, int8_row, own_blocks
from ..tensor import wrap
from .decoder import Model, tensors_of
from .families import read_config
from .gathered import gathered, gathered_gguf
from .hub import find
from .names import IGNORED, PREFIXES, SHIFTED, as_config, row_order, tensor_names
from .step import Looked
from .templates import source_of

__all__ = ['load', 'fill', 'QUANTS']

OURS = dict(int8=int8_row, int4=int4_64)      # chapter 43: no file has these
# what a decoder's step repacks, and floats become
QUANTS = ['q8_0', 'q4_0', 'q4_1', 'q5_0', 'q5_1', 'q4_k', 'q5_k', 'q6_k', *OURS]
# for rows that are not whole blocks of 256, as llama.cpp has it, or of 64
SHORT = dict(q4_k='q5_0', q5_k='q5_1', q6_k='q8_0', int4_64='int8_row')
BUDGET = 2 << 30      # bytes


class How(NamedTuple):
    "What becomes of the tensors of a file."
    activation: str = 'f32'
    widen: bool = True
    quant: str = None
    requant: bool = False
    budget: int = BUDGET


@named
def load(path='',    # a folder with config.json and safetensors, one .gguf, or a name that fl.llm.hub.find knows
         *,
         ignore=(),  # entries of the configuration that may be there and change nothing
         activation='f32',  # in products with blocks: 'f32', x as it is, or 'q8', rounded to 8 bits
         widen=True, # weights of 16 bits become f32 once; False: for each product, in half the memory
         quant=None, # what weights of floats are rounded to, one of QUANTS: 'q8_0', 'q4_0', ..., 'int8', 'int4'
         requant=False,  # whether weights that are in other blocks are rounded to them, too
         budget=BUDGET,  # bytes of floats that are on the way at a time
         keep=True,  # whether the layout of a decoder's step is kept beside the caches, for the next time
        )->Model:
    "A language model from its files. The weights stay where they are, in memory that is mapped."
    one_of('activation', 'f32 q8').ask(dict(activation=activation))
    if quant is not None: one_of('quant', QUANTS).ask(dict(quant=quant))
    look_at([flag('widen requant keep'), whole('budget', 1)], locals())
    path, how = find(path), How(activation, widen, OURS.get(quant, quant), requant, budget)
    if path.is_dir(): return _from_folder(path, ignore, how)
    return _from_gguf(path, ignore, how, keep)


def _from_folder(path, ignore, how):
    values = _json(path/'config.json')
    config, file = read_config(text_part(values), ignore), Safetensors(path)
    names, get = {_plain(n): n for n in file}, file.__getitem__
    if values is not text_part(values): names = {n: f for n, f in names.items() if not n.startswith(SIGHT)}
    names, get = gathered(names, get, config)
    tensors = fill(config, 'safetensors', names, get, how, file.release)
    model = Model(config, tensors, tokenizer=lambda: _tokenizer(path), template=source_of(path))
    model.ends = _ends(values, path)
    return model


def _from_gguf(path, ignore, how, keep):
    file = open_gguf(path)
    def tensor(name): return file[name] if name in file.tensors else None
    config = read_config(as_config(file.metadata, tensor, ignore), ignore)
    names, get = {n: n for n in file.tensors}, file.__getitem__
    names, get = gathered_gguf(names, get, config)
    tensors = fill(config, 'gguf', names, get, how, file.release)
    model = Model(config, tensors, tokenizer=lambda: _tokenizer_of(file.metadata),
                  template=source_of(file.metadata))
    model.rounded = '' if how.quant is None else how.quant + '!' * how.requant
    if keep: model.source, model.loaded = path, Looked(model)
    model.release = file.release      # memory of the file that was looked at
    return model


OUTER = 'model.', 'language_model.'      # before the names of models that see pictures, too
SIGHT = 'vision_tower.', 'audio_tower.', 'embed_vision.', 'embed_audio.', 'visual.', 'multi_modal_projector.'

def _plain(name):
    for p in (*OUTER, *PREFIXES): name = name.removeprefix(p)
    return name


# ---- models of several parts

# what is left out in the part for text: the default of its class in transformers
LEFT_OUT = dict(gemma3_text=dict(
    vocab_size=262208, hidden_size=2304, intermediate_size=9216, num_hidden_layers=26, num_attention_heads=8,
    num_key_value_heads=4, head_dim=256, max_position_embeddings=131072, sliding_window=4096))

def text_part(values):
    "The configuration of what reads text, in that of a model which also sees pictures; else what was given."
    inner = values.get('text_config')
    if not isinstance(inner, dict): return values
    tied = {k: values[k] for k in ('tie_word_embeddings',) if k in values}
    return LEFT_OUT.get(inner.get('model_type'), {}) | tied | inner


def _json(path):
    try: found = json.loads(path.read_text(encoding='utf-8'))
    except (ValueError, OSError, RecursionError) as e:
        raise fault(FileError, f'{path.name!r} is no JSON: {e}', help='fetch it again') from None
    if isinstance(found, dict): return found
    raise fault(FileError, f'{path.name!r} is no JSON object: {{...}}', help='fetch it again')


# ---- text

def _tokenizer(path):
    "The tokenizer of a folder, or None where there is none."
    if not any((path/n).is_file() for n in ('tokenizer.json', 'tokenizer.model')): return None
    from ..text import Tokenizer
    return Tokenizer.load(path)


def _tokenizer_of(metadata):
    if 'tokenizer.ggml.model' not in metadata: return None
    from ..text import from_gguf
    try: return from_gguf(metadata)
    finally: metadata.forget()


def _ends(values, path):
    "The tokens that end an answer, as its makers say; one or several."
    also = _json(path/'generation_config.json') if (path/'generation_config.json').is_file() else {}
    found = [also.get('eos_token_id'), values.get('eos_token_id')]
    return tuple({i for f in found for i in (f if isinstance(f, list) else [f]) if isinstance(i, int)})


# ---- tensors

def fill(c,      # a Config
         kind,   # 'safetensors' or 'gguf'
         names,  # name without prefix -> name in the file
         get,    # the tensor of a name in the file
         how=How(),                # what becomes of them
         release=lambda: None):    # gives back memory of the file that was looked at
    "Our name -> tensor, with our axes, for every tensor of the model. StateMismatch names what does not fit."
    known, own = tensor_names(c, kind), tensors_of(c)
    idle = [*IGNORED, *(['lm_head.weight', 'output.weight', 'embed_out.weight'] if c.tied else [])]
    surplus = [n for n in names if n not in known and not any(fnmatch(n, i) for i in idle)]
    given = {ours for theirs in names if theirs in known for ours in known[theirs][0]}
    missing, wrong, todo, found, costs = [n for n in own if n not in given], {}, [], {}, {}
    for theirs, (ours, order) in known.items():
        if theirs not in names: continue
        t = get(names[theirs])
        want = _shape(own, ours, order)
        if t.shape != want: wrong[names[theirs]] = f'{_sizes(t.shape)}, not {_sizes(want)}'
        else: todo.append((theirs, ours, order)); costs[theirs] = 0 if ours == AS_FOUND else _cost(t, how)
    if missing or surplus or wrong: raise _unfit(c, known, missing, surplus, wrong)
    def make(theirs, ours, order):      # asks again for its tensor: not all of them are there at a time
        parts = _taken(c, get(names[theirs]), ours, order, own)
        made = {n: _kept(n, part, how, tuple(own[n])) for n, part in parts.items()}
        if cost(theirs) >= LARGE: release()
        return made
    cost = costs.__getitem__
    for made in at_once(make, todo, [cost(t) for t, *_ in todo], how.budget): found |= made
    if (kind, c.family) in SHIFTED:
        found |= {n: wrap(t.data + 1, t.tags) for n, t in found.items() if n.rpartition('.')[2] in NORMS}
    return found


LARGE = 1 << 20      # bytes: memory that is worth a call to be given back; numbers that are rounded at a time

def _cost(t, how):
    "Bytes of floats on the way from a tensor of the file to ours, none where it stays as it is."
    stays = not _to_round(t, how) if isinstance(t, BlockTensor) or t.dtype == 'f32' else \
        t.ndim > 1 and not how.widen and not how.quant
    return 0 if stays else 4 * prod(t.shape)


def at_once(work, todo, costs, budget):
    "What `work(*one)` gives for each, in order: several at a time, as long as their costs stay within the budget."
    if not any(costs): return [work(*one) for one in todo]
    with ThreadPoolExecutor(get_num_threads()) as pool:
        running, made = {}, []
        try:
            for one, need in zip(todo, costs):
                while running and sum(running.values()) + need > budget:
                    for done in wait(running, return_when=FIRST_COMPLETED).done: del running[done]
                made.append(pool.submit(copy_context().run, work, *one))
                running[made[-1]] = need
            return [m.result() for m in made]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _shape(own, ours, how):
    "Sizes that the tensor in the file should have."
    first, n = list(own[ours[0]].values()), sum(next(iter(own[name].values())) for name in ours)
    shape = (n, *first[1:])
    return shape[::-1] if how == 'columns' else shape


def _sizes(shape): return ' x '.join(map(str, shape))


def _taken(c, t, ours, how, own):
    "A tensor of the file as ours."
    along, at, found = t.ndim - 1 if how == 'columns' else 0, 0, {}
    order = row_order(c, how, t.shape[0])
    if order is not None: t = _reordered(t, order)
    for name in ours:
        sizes = own[name]
        n, tags = next(iter(sizes.values())), tuple(sizes)
        part = t if len(ours) == 1 else t.narrow(t.tags[along], at, n)
        found[name], at = part.rename(' '.join(tags[::-1] if how == 'columns' else tags)), at + n
    return found


NORMS = 'norm norm1 norm2 after1 after2 q_norm k_norm'.split()      # what is stored less 1, where it is
EXACT = 'places', 'router', '_bias'      # small tensors whose numbers decide much
AS_FOUND = ['rows']      # a table that words read a row of, and that stays in its file

def _kept(name, t, how, tags):
    "A tensor as products are to find it."
    if name in AS_FOUND: return t
    if not name.endswith(EXACT) and _to_round(t, how): t = _rounded(t, how.quant, tags)
    if isinstance(t, BlockTensor): return t.with_activation(how.activation)
    return t if t.dtype == 'f32' or t.ndim > 1 and not how.widen else t.to('f32')


def _to_round(t, how):
    "Whether a tensor of the file becomes blocks, or other blocks."
    if not how.quant or t.ndim < 2: return False
    return how.requant and t.dtype != how.quant if isinstance(t, BlockTensor) else True


def _rounded(t, kind, tags):
    "A weight in blocks of the row that is multiplied, made a few rows at a time; where no block fits, as it is."
    turned = t.tags != tags
    columns = t.shape[0 if turned else -1]
    if columns % as_dtype(kind).elems: kind = SHORT.get(kind, kind)
    if columns % as_dtype(kind).elems: return t.to('f32')
    rows = t.blocks if isinstance(t, BlockTensor) else t.data.T if turned else t.data
    some, parts = max(1, LARGE * len(rows) // prod(t.shape)), []
    for at in range(0, len(rows), some):
        part = np.ascontiguousarray(rows[at:at + some])
        part = BlockTensor(part, t.dtype, tags) if isinstance(t, BlockTensor) else wrap(part, tags)
        parts.append(_as_blocks(part.to('f32'), kind).blocks)
    return BlockTensor(np.concatenate(parts), kind, tags)


def _as_blocks(t, kind): return own_blocks(t, 8 if kind == int8_row else 4) if kind in OWN else t.to(kind)


def _reordered(t, order):
    if isinstance(t, BlockTensor): return BlockTensor(t.blocks[order], t.dtype, t.tags)
    return wrap(t.data[order], t.tags)


def _unfit(c, known, missing, surplus, wrong):
    "The error that names every tensor that is missing, too much or of another shape."
    back = {ours: theirs for theirs, names in known.items() for ours in names[0]}
    rows = dict(missing=[back[n] for n in missing], surplus=surplus)
    rows = {k: v[:6] + [f'and {len(v) - 6} more'] * (len(v) > 6) for k, v in rows.items() if v}
    rows |= {n: [w] for n, w in list(wrong.items())[:6]}
    said = dict(missing=missing, surplus=surplus) | {'of other sizes': wrong}
    head = ', '.join(f'{len(v)} {word}' for word, v in said.items() if v)
    return StateMismatch(f'the tensors are not those of {c.family}: {head}',
                         'a checkpoint that is whole, with the configuration it came with', rows)
