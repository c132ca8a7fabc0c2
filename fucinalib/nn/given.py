"""The arrays of another library's layer, asked for by the names they have there."""
import numpy as np
from ..errors import InvalidShape, OptionError, did_you_mean, fault

__all__ = ['taken', 'nothing_left', 'below']


def taken(state,  # name -> array
          name,   # the one that is asked for
          shape,  # its sizes there
         ):
    "The array of that name, if it is there and has these sizes."
    if name not in state:
        help = 'a layer with bias has all of its biases; bias=False makes one without'
        if 'bias' not in name: help = did_you_mean(name, state, 'there are')
        raise fault(OptionError, f'{name!r} is missing', help=help)
    a = np.asarray(state[name])
    if a.shape == tuple(shape): return a
    raise fault(InvalidShape, f'{name!r} has sizes {a.shape}', help=f'{tuple(shape)} fit here')


def nothing_left(state, known):
    "OptionError for a name that nobody asked for: a bias of a layer without, or a layer too many."
    known = list(known)
    for name in state:
        if name in known: continue
        raise fault(OptionError, f'{name!r} has no place here', help=f'it takes {" ".join(known)}')


def below(state, path):
    "The part of a state under a path, without it: 'norm1.weight' as 'weight'."
    return {name.removeprefix(f'{path}.'): a for name, a in state.items() if name.startswith(f'{path}.')}
