"The nearest rows, exactly; NumPy and torch give all distances by their formula and take the least."
import numpy as np
import fucinalib as fl
from .harness import Case, normal


def cases(torch):
    for n, asked, d in ((1_000, 100, 16), (10_000, 100, 64), (60_000, 100, 784)):
        rows, points = normal(n, d), normal(asked, d, seed=1)
        model, x = fl.knn.Classifier(5).fit(fl.Tensor(rows, 'row d'), np.arange(n) % 10), fl.Tensor(points, 'ask d')
        squares = np.square(rows).sum(1)
        def numpy():
            far = squares - 2 * points @ rows.T
            near = np.argpartition(far, 5, 1)[:, :5]
            return np.take_along_axis(near, np.take_along_axis(far, near, 1).argsort(1), 1)
        a, b = torch and torch.from_numpy(rows), torch and torch.from_numpy(points)
        yield Case('nearest 5', f'{n} x {d}, {asked}', lambda: model.neighbours(x), numpy,
                   torch and (lambda: torch.cdist(b, a).topk(5, largest=False)))
