"""Two numbers, their sum, and what a change of each would do to it."""
import fucinalib as fl
from ._settings import settings


def add(x, y):
    "(x, y, x + y) as tensors of one graph, gone back through."
    x, y = fl.param(x), fl.param(y)
    z = x + y
    z.backward()
    return x, y, z


def main(args=None):
    o = settings('hello', __doc__, args, x=(2., 'the first number'), y=(3., 'the second'))
    x, y, z = add(o.x, o.y)
    print(f'{x.item():g} + {y.item():g} = {z.item():g}')
    print(f'z grows by {x.grad.item():g} for each 1 of x, and by {y.grad.item():g} for each 1 of y')
    return dict(z=z.item(), grad=(x.grad.item(), y.grad.item()))
