"""The operation library, one module per family: importing them, in the order of the chapters,
fills the registry."""
from . import construction, pointwise, unary, gated, custom, masks, reductions, scans, contraction
from . import views, copies, indexing, selection, softmax, losses, norms, rotary, attention
from . import windows, convolution, images, numbers, packed, blocks, mixture
