"""From a folder or a file to a model: whose family it is, what its tensors are called, and what does not fit."""
import json
from fnmatch import fnmatch
from ..checks import one_of
from ..errors import FileError, StateMismatch, fault, named
from ..files import GGUF, Safetensors
from ..ops.blocks import BlockTensor
from ..tensor import wrap
from .decoder import Model, tensors_of
from .families import IGNORED, PREFIXES, SHIFTED, as_config, read_config, row_order, tensor_names
from .gathered import gathered
from .hub import find, there
from .step import Looked
from .templates import source_of

__all__ = ['load', 'fill']


@named
def load(path='',    # a folder with config.json and safetensors, one .gguf, or a name that fl.llm.hub.find knows
         *,
         ignore=(),  # entries of the configuration that may be there and change nothing
         activation='f32',  # in products with blocks: 'f32', x as it is, or 'q8', rounded to 8 bits
         widen=True, # weights of 16 bits become f32 once; False: for each product, in half the memory
        )->Model:
    "A language model from its files. The weights stay where they are, in memory that is mapped."
    one_of('activation', 'f32 q8').ask(dict(activation=activation))
    path, how = str(path) and there(path) or find(path), (ignore, activation, widen)
    if path.is_dir() and not (path/'config.json').is_file(): path = _only_gguf(path)
    if path.is_dir(): return _from_folder(path, *how)
    return _from_gguf(path, *how)


def _only_gguf(path):
    found = sorted(path.glob('*.gguf'))
    if len(found) == 1: return found[0]
    head = f'{path.name!r} has no config.json and {len(found)} GGUF files'
    raise fault(FileError, head, help=f'load({str(found[0])!r})' if found else 'a folder with config.json, or a .gguf')


def _from_folder(path, ignore, *how):
    values = _json(path/'config.json')
    config, file = read_config(values, ignore), Safetensors(path)
    names, get = {_plain(n): n for n in file}, file.__getitem__
    if config.experts: names, get = gathered(names, get)
    tensors = fill(config, 'safetensors', names, get, *how)
    model = Model(config, tensors, tokenizer=lambda: _tokenizer(path), template=source_of(path))
    model.ends = _ends(values, path)
    return model


def _from_gguf(path, ignore, *how):
    file = GGUF(path)
    def tensor(name): return file[name] if name in file.tensors else None
    config = read_config(as_config(file.metadata, tensor, ignore), ignore)
    tensors = fill(config, 'gguf', {n: n for n in file.tensors}, file.__getitem__, *how)
    model = Model(config, tensors, tokenizer=lambda: _tokenizer_of(file.metadata),
                  template=source_of(file.metadata))
    model.source, model.loaded = path, Looked(model)
    return model


def _plain(name):
    for p in PREFIXES: name = name.removeprefix(p)
    return name


def _json(path):
    try: return json.loads(path.read_text(encoding='utf-8'))
    except (ValueError, OSError) as e:
        raise fault(FileError, f'{path.name!r} is no JSON: {e}', help='fetch it again') from None


# ---- text

def _tokenizer(path):
    "The tokenizer of a folder, or None where there is none."
    if not any((path/n).is_file() for n in ('tokenizer.json', 'tokenizer.model')): return None
    from ..text import Tokenizer
    return Tokenizer.load(path)


def _tokenizer_of(metadata):
    if 'tokenizer.ggml.model' not in metadata: return None
    from ..text import from_gguf
    return from_gguf(metadata)


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
         activation='f32', widen=True):      # as in `load`
    "Our name -> tensor, with our axes, for every tensor of the model. StateMismatch names what does not fit."
    known, own = tensor_names(c, kind), tensors_of(c)
    idle = [*IGNORED, *(['lm_head.weight', 'output.weight', 'embed_out.weight'] if c.tied else [])]
    surplus = [n for n in names if n not in known and not any(fnmatch(n, i) for i in idle)]
    given = {ours for theirs in names if theirs in known for ours in known[theirs][0]}
    missing, wrong, found = [n for n in own if n not in given], {}, {}
    for theirs, (ours, how) in known.items():
        if theirs not in names: continue
        t = get(names[theirs])
        want = _shape(own, ours, how)
        if t.shape != want: wrong[names[theirs]] = f'{_sizes(t.shape)}, not {_sizes(want)}'
        else: found |= {n: _kept(t, activation, widen) for n, t in _taken(c, t, ours, how, own).items()}
    if missing or surplus or wrong: raise _unfit(c, known, missing, surplus, wrong)
    if (kind, c.family) in SHIFTED: found |= {n: wrap(t.data + 1, t.tags) for n, t in found.items() if t.ndim == 1}
    return found


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


def _kept(t, activation, widen):
    "A tensor as products are to find it."
    if isinstance(t, BlockTensor): return t.with_activation(activation)
    return t if t.dtype == 'f32' or t.ndim > 1 and not widen else t.to('f32')


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
