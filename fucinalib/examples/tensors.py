"""A tour of named axes: broadcasting, a product of batches, attention."""
import numpy as np
import fucinalib as fl
from ._settings import settings


def broadcast():
    "Axes of different names make a table; nothing needs a place or a size of 1."
    row, col = fl.Tensor([1., 2., 3.], 'row'), fl.Tensor([10., 20.], 'col')
    return row * col


def products(seed):
    "Two matrices for each of four samples, multiplied sample by sample; beside NumPy."
    a, b = fl.randn('sample i k', (4, 2, 3), seed=seed), fl.randn('sample k j', (4, 3, 5), seed=seed + 1)
    y = a.dot(b, 'k')
    return y, float(np.abs(y.numpy() - a.numpy() @ b.numpy()).max())


def attend(seed, causal=True):
    "Attention written out: scores of words for words, as shares, times values; beside the operation."
    q, k, v = (fl.randn('seq head d', (6, 2, 8), seed=seed + i) for i in range(3))
    scores = q.dot(k.rename(seq='key'), 'd') / 8 ** .5
    seen = fl.band_mask('seq key', seq=6, key=6, upper=0).to('f32').log() if causal else None      # 0 or minus infinity
    y = scores.softmax('key', mask=seen).dot(v.rename(seq='key'), 'key')
    kept = [t.rename(head='kv_head') for t in (k, v)]
    same = q.attention(*kept, mask='causal' if causal else None).split('out', 'head d', (2, 8))
    return y, float(np.abs(y.numpy() - same.permute(*y.tags).numpy()).max())


def main(args=None):
    args = settings('tensors', __doc__, args, seed=(0, 'of the random numbers'))
    table, (y, off), (z, far) = broadcast(), products(args.seed), attend(args.seed)
    print(f'row=3 times col=2 is  {table}')
    print(f'a batch of products   {y}, at most {off:.1e} from NumPy')
    print(f'attention written out {z}, at most {far:.1e} from the operation')
    return dict(table=table.tolist(), product=off, attention=far)
