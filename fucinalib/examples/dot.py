"""The graph of a computation as DOT text, for Graphviz: z = x + y."""
import fucinalib as fl
from ._settings import settings


def main(args=None):
    o = settings('dot', __doc__, args, after=(False, 'after backward, with gradients'))
    x, y = fl.param(2.), fl.param(3.)
    z = x + y
    if o.after: z.backward()
    text = z.graph().source
    print(text)
    return dict(text=text)
