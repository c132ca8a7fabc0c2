"""One step of an optimizer for all parameters at once.

Lists hold an array for each parameter, one axis each; what is remembered of all parameters stands one after the other
in one array. A row of `tasks` is a piece of work: the parameter, from where on in it, where what is remembered of that
piece begins, and the row of `table` with its numbers, which its group and its count of steps decide. Last
comes a mark: -1, or 0 to look whether a gradient is NaN or infinite; then it becomes 1, and the piece stays as it was.
"""
import numpy as np
from .dispatch import kernel

PIECE = 1 << 14


def cut(sizes):
    "The tasks for parameters of these sizes, in pieces of PIECE; where and the row are left to fill in."
    return np.array([(k, lo, 0, 0, -1) for k, n in enumerate(sizes) for lo in range(0, n, PIECE)]).reshape(-1, 5)


def parts(tasks, params, grads, *kept):
    "(row of the table, values, gradients, what is remembered) of each task that is not bad."
    for t, (k, lo, at, r, mark) in enumerate(tasks):
        p, g = params[k][lo:lo + PIECE], grads[k][lo:lo + PIECE]
        if mark == 0 and not np.isfinite(g).all(): tasks[t, 4] = 1
        else: yield r, p, g, *[a[at:at + p.size] for a in kept]


@kernel(floor=0, inplace=(0,))
def squares_of_(sums, arrays, tasks):
    "sums[t] = the sum of squares of piece t of the arrays, added up in f64."
    for t, (k, lo, *_) in enumerate(tasks):
        piece = arrays[k][lo:lo + PIECE].astype(np.float64)
        sums[t] = (piece * piece).sum()
    return sums


@kernel(floor=0, inplace=(1,))
def scale_of_(by, arrays, tasks):
    "The arrays times by[0], in place."
    for k, lo, *_ in tasks: arrays[k][lo:lo + PIECE] *= by[0]
    return by


@kernel(floor=0, inplace=(0, 1, 2, 4))
def adam_(m, v, params, grads, tasks, table):
    """One step of Adam. A row of the table: what the decoupled decay keeps, the coupled decay, the shares of
    the new in both moments, step size, 1 / root of the second correction, eps."""
    for r, w, d, m1, m2 in parts(tasks, params, grads, m, v):
        keep, coupled, fresh, fresh2, step, inv, eps = table[r]
        if coupled: d = d + coupled * w
        m1 += fresh * (d - m1)
        m2 += fresh2 * (d * d - m2)
        w *= keep
        w -= step * (m1 / (np.sqrt(m2) * inv + eps))
    return m


@kernel(floor=0, inplace=(0, 1, 3))
def sgd_(velocity, params, grads, tasks, table):
    """One step of gradient descent. A row of the table: learning rate, coupled decay, what the velocity keeps,
    the share of the gradient in it, what counts of it in looking ahead. Where it keeps and takes nothing there
    is none."""
    for r, w, d, u in parts(tasks, params, grads, velocity):
        lr, coupled, mu, fresh, ahead = table[r]
        d = d + coupled * w
        if mu or fresh:
            np.add(mu * u, fresh * d, out=u)
            d = d + ahead * u if ahead else u
        w -= lr * d
    return velocity
