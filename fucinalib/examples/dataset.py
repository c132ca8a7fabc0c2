"""A data set from end to end: pairs, shuffling, parting, one scale, batches."""
import fucinalib as fl
from ._settings import settings


def main(args=None):
    args = settings('dataset', __doc__, args, seed=(0, 'of shuffling and parting'), size=(16, 'rows in a batch'),
                    test=(.2, 'share of the rows kept aside'))
    flowers = fl.data.iris()
    print(flowers)
    print('the first row     ', *flowers[0])
    print('shuffled, labels  ', flowers.shuffle(args.seed)[:10].y.tolist())
    train, test = flowers.split(args.test, seed=args.seed, by='y')
    level, scale = train.standardize()
    moved = scale(test)
    count = [[int((side.y == k).sum().item()) for k in range(3)] for side in (train, test)]
    print(f'parted            {len(train)} and {len(test)} rows, of each species {count[0]} and {count[1]}')
    print(f'mean, deviation   {abs(level.x.mean().item()):.4f}, {level.x.std().item():.4f} of the training rows, '
          f'{moved.x.mean().item():.4f}, {moved.x.std().item():.4f} of the others')
    batches = level.batches('batch', args.size, seed=args.seed)
    sizes = [len(batch.y.data) for batch in batches]
    print(f'an epoch          {len(batches)} batches of {sizes} rows')
    return dict(rows=len(flowers), sides=(len(train), len(test)), classes=count, sizes=sizes)
