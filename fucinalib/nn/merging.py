"""When a change can be put into a weight, and when it can be taken out again (chapter 47)."""
from zlib import crc32
from ..dtypes import F8
from ..errors import DTypeError, OptionError, fault
from ..tensor import Tensor

__all__ = ['can_take', 'checksum', 'check_kept_weight', 'check_merge']


def checksum(t):
    "A number that changes with the values of t."
    return crc32(t.data.tobytes())


def can_take(w):
    "The weight w, if it can take a change. DTypeError for one that is quantised: it would be rounded away."
    kind = getattr(w, 'dtype', type(w).__name__)
    if type(w) is Tensor and kind.is_float and not kind.is_blocks and kind.np not in F8: return w
    raise fault(DTypeError, f'takes no weight of {kind}', help='leave it unmerged: it works as it is')


def check_kept_weight(layer):
    "OptionError unless the weight before the merge is known, and nothing was done to the merged one."
    wrong = ''
    if not layer.merged.item(): raise fault(OptionError, 'of what is not merged', help='merge()')
    if layer.kept is None: wrong = 'the weight before is not known here'
    elif checksum(layer.base.weight) != layer.kept[1]: wrong = 'the weight was changed since'
    if wrong: raise fault(OptionError, wrong, help='load a state that was saved unmerged')


def check_merge(model, path, layer):
    "An error unless this layer of a model can be merged, and no other layer would be changed by it."
    w = can_take(layer.base.weight)
    holders = {id(owner) for _, owner, _, t in model.walk() if t is w}
    if layer.merged.item(): raise fault(OptionError, f'{path} is merged', help='unmerge_lora(model)')
    if len(holders) > 1: raise fault(OptionError, f'the weight of {path} is shared', help='leave it unmerged')
