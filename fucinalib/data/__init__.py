"""Data: columns of samples, their order, batches and files."""
from .ahead import prefetch
from .dataset import (Batches, Dataset, Scale, digits, fashion_mnist, from_csv, from_folder, iris, mnist, windows)
from .readers import FileError, encode, read_csv, read_idx, write_idx
from ..elsewhere import BATCHES as _BATCHES, PARTS as _PARTS, of_package as _of_package

_ELSEWHERE = dict(
    dict.fromkeys('DataLoader BatchSampler Sampler RandomSampler'.split(), _BATCHES),
    **dict.fromkeys('Subset WeightedRandomSampler SubsetRandomSampler'.split(),
                    'data = fl.data.Dataset(x, y); data[[0, 2]] has the rows of these numbers'),
    **dict.fromkeys('transforms Compose'.split(), "augment= of data.batches('batch', 32, seed=0, augment=function)"),
    TensorDataset='fl.data.Dataset(x, y)', IterableDataset='fl.data.prefetch(source)',
    random_split=_PARTS, train_test_split=_PARTS,
    StratifiedShuffleSplit="train, test = fl.data.Dataset(x, y).split(.2, seed=0, by='y')",
    StandardScaler='train, test = fl.data.Dataset(x, y).split(.2, seed=0); train, scale = train.standardize(); '
                   'test = scale(test)',
    MNIST='train, test = fl.data.mnist()', FashionMNIST='train, test = fl.data.fashion_mnist()',
    load_digits='fl.data.digits()', load_iris='fl.data.iris()', ImageFolder='fl.data.from_folder(folder)',
    LabelEncoder='codes, classes = fl.data.encode(words)', read_table='fl.data.from_csv(path, target=)')


def __getattr__(name): raise _of_package('fl.data', name, globals(), _ELSEWHERE)
