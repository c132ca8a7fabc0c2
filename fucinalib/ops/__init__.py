"""The operation library, one module per family, in the order of the chapters: importing them fills the registry."""
from . import construction, pointwise, unary, gated, elemental, masks, reductions, scans, contraction, structure, movement
from . import indexing, selection, softmax, losses, norms, rotary, attention, convolution, numbers, packed, blocks
