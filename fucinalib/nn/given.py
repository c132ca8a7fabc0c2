"""The arrays of another library's layer or model: all that it has there, nothing else, and of the right sizes."""
import numpy as np
from ..errors import StateMismatch
from .mismatch import mismatch

__all__ = ['taken', 'unfit', 'below']

BIASES = 'a layer with bias has all of its biases; bias=False, when it is made, leaves them away'


def taken(state,  # name -> array
          layer,  # what has `in_torch`, which says what there should be
         ):
    "The arrays of a state, name -> array; StateMismatch unless they are those of such a layer."
    shapes = {name: a.shape for name, a in layer.in_torch().items()}
    arrays = {name: np.asarray(a) for name, a in state.items()}
    wrong = {n: [f'shape {a.shape}, and {shapes[n]} fits'] for n, a in arrays.items()
             if a.shape != shapes.get(n, a.shape)}
    missing, foreign = [n for n in shapes if n not in arrays], [n for n in arrays if n not in shapes]
    if missing or foreign or wrong: raise unfit(missing, foreign, wrong)
    return arrays


def unfit(missing, foreign, wrong, help='take all that state_dict() of such a layer has, and no more'):
    "The error for weights that are not those of the layer or model."
    e, lacking = mismatch(missing, foreign, wrong), [*missing, *foreign]
    if e.help and 'load_state_dict' not in e.help: return e
    if not lacking: help = 'make it with the sizes that it has there'
    elif not wrong and all('bias' in name for name in lacking): help = BIASES
    return StateMismatch(e.head, help, e.operands)


def below(state, path):
    "The part of a state under a path, without it: 'norm1.weight' as 'weight'."
    return {name.removeprefix(f'{path}.'): a for name, a in state.items() if name.startswith(f'{path}.')}
