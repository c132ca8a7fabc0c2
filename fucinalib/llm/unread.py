"""What is said of a folder that holds no encoder as it is read here."""
import json
from ..errors import FileError, OptionTypeError, fault


def no_tensor_in_file(name, shape=None):
    "The fault for a tensor that a file lacks, or has in another shape."
    said = f'the file has no {name}' if shape is None else f'{name} is of {shape}, which config.json does not say'
    return fault(FileError, said, help='a folder with a BertModel: config.json, model.safetensors, tokenizer.json')


def not_this(name, found, value):
    "The fault for a setting of another kind of encoder."
    return fault(FileError, f'{name} is {found!r}', help=f'{name}={value!r} is what is read here')


def read_json_at(path):
    "What a JSON file says; nothing if there is none."
    try: said = json.loads(path.read_bytes())
    except FileNotFoundError: return {}
    except (ValueError, RecursionError): said = None
    if isinstance(said, dict): return said
    raise fault(FileError, f'{path.name} is no JSON object', help='fetch it again')


def check_texts(texts):
    "OptionTypeError for what is no list of texts."
    if not isinstance(texts, (list, tuple)) or not texts or not all(isinstance(t, str) for t in texts):
        raise fault(OptionTypeError, 'texts is a list of str, at least one', help="['a cat', 'a dog']")


def numbers_in(said, names):
    "The numbers of config.json under these names."
    for name in names:
        if not isinstance(said.get(name), (int, float)):
            raise fault(FileError, f'config.json says no {name}', help='the config.json of a BertModel')
    return [said[name] for name in names]
