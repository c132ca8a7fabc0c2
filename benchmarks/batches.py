"An epoch of batches in random order; torch has a DataLoader, and indexing by hand."
import numpy as np
import fucinalib as fl
from .harness import Case, normal


def cases(torch):
    for n, d, size in ((2_000, 64, 32), (10_000, 784, 64)):
        a, labels = normal(n, d), np.arange(n) % 10
        data = fl.data.Dataset(fl.Tensor(a, 'batch d'), labels)
        def ours():
            for _ in data.batches('batch', size, seed=0): pass
        def numpy():
            order = np.random.default_rng(0).permutation(n)
            for i in range(0, n, size): a[order[i:i + size]], labels[order[i:i + size]]
        loader = torch and torch.utils.data.DataLoader(
            torch.utils.data.TensorDataset(torch.from_numpy(a), torch.from_numpy(labels)), size, shuffle=True)
        def theirs():
            for _ in loader: pass
        yield Case('an epoch', f'{n} x {d} by {size}', ours, numpy, torch and theirs)
