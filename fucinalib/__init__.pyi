# Written by tools/stubs.py from the registry; run `make export`, do not edit.
import numpy as np
from .tensor import Tensor as Tensor
from .ops.rotary import AxisRange as AxisRange
from .errors import BackwardAlreadyRun as BackwardAlreadyRun
from .ops.blocks import BlockTensor as BlockTensor
from .errors import DTypeError as DTypeError
from .errors import DivisionByZero as DivisionByZero
from .errors import EmptySelection as EmptySelection
from .errors import ForkError as ForkError
from .errors import FucinaError as FucinaError
from .errors import GradError as GradError
from .errors import GradientCastUnsupported as GradientCastUnsupported
from .errors import GradientMismatch as GradientMismatch
from .errors import GradientPackedMatmulUnsupported as GradientPackedMatmulUnsupported
from .errors import GradientPreparedConv2dUnsupported as GradientPreparedConv2dUnsupported
from .errors import GradientQuantizedMatmulUnsupported as GradientQuantizedMatmulUnsupported
from .errors import GradientShapeMismatch as GradientShapeMismatch
from .errors import IndexOutOfBounds as IndexOutOfBounds
from .errors import InvalidDataLength as InvalidDataLength
from .errors import InvalidShape as InvalidShape
from .errors import KernelError as KernelError
from .errors import MissingBackwardGradient as MissingBackwardGradient
from .errors import MissingOutputGradient as MissingOutputGradient
from .errors import NoFirstAxis as NoFirstAxis
from .errors import NoGradientGraph as NoGradientGraph
from .errors import NonFiniteValue as NonFiniteValue
from .errors import OptionError as OptionError
from .errors import OptionTypeError as OptionTypeError
from .ops.packed import PackedWeight as PackedWeight
from .ops.rotary import RopeTable as RopeTable
from .errors import ShapeError as ShapeError
from .errors import ShapeMismatch as ShapeMismatch
from .errors import TagError as TagError
from .errors import TernaryContractDimNotBlockAligned as TernaryContractDimNotBlockAligned
from .errors import UnknownName as UnknownName
from .errors import UnsupportedGradient as UnsupportedGradient
from .errors import UnsupportedView as UnsupportedView
def abs(x: Tensor) -> Tensor:
    """The distance from 0; the slope at 0 is 0."""
    ...
def add(x: Tensor, other: Tensor | float) -> Tensor:
    """x + other, broadcasting by name."""
    ...
def add_(x: Tensor, other: Tensor | float, alpha = 1) -> Tensor:
    """x += alpha * other in place, no broadcasting; returns x."""
    ...
def add_dot(x: Tensor, a: Tensor, w: Tensor, *over_tags) -> Tensor:
    """x + a.dot(w, tags). Unlike torch.addmm there are no factors, and x is not broadcast."""
    ...
def align_to(x: Tensor, *tags) -> Tensor:
    """The axes in the order of `tags`; those x lacks come with size 1. A view."""
    ...
def all(x: Tensor, *tags) -> Tensor:
    """Whether every value along the tags is true. Unlike torch, whole numbers are refused."""
    ...
def any(x: Tensor, *tags) -> Tensor:
    """Whether some value along the tags is true. Unlike torch, whole numbers are refused."""
    ...
def arange(tag, start, end = None, step = 1, *, dtype = None) -> Tensor:
    """start, start + step, ... before end; each value is computed from its index, so rounding does not"""
    ...
def argmax(x: Tensor, tag) -> Tensor:
    """Position of the first largest value, i64. Unlike torch, NaN never wins; a lane of NaN gives 0."""
    ...
def argmin(x: Tensor, tag) -> Tensor:
    """Position of the first smallest value, i64. Unlike torch, NaN never wins; a lane of NaN gives 0."""
    ...
def argsort(x: Tensor, tag, descending = False) -> Tensor:
    """The positions that sort an axis, i64: x.take_along_axis(tag, x.argsort(tag)) is sorted."""
    ...
def attention(q: Tensor, k: Tensor | list, v: Tensor | list, scale = None, mask = 'causal', window = 0, bias: Tensor = None, kv_head = None, sinks: Tensor = None, lens = None, out = 'out') -> Tensor:
    """Softmax-weighted mean of the values for each query and head; 'seq out', heads side by side."""
    ...
def avg_pool2d(x: Tensor, kernel, stride = None, padding = 0) -> Tensor:
    """The mean of each window. Unlike torch by default, zeros beyond the border do not count."""
    ...
from .kernels import backends as backends
def band_mask(tags, shape = None, lower = None, upper = 0, **sizes) -> Tensor:
    """True within a band around the diagonal: i - j <= lower and j - i <= upper. Bounds may be negative."""
    ...
def band_part(x: Tensor, row, col, lower = None, upper = None) -> Tensor:
    """x within a band over two axes, 0 elsewhere: it selects, so an inf or NaN outside leaves no trace."""
    ...
def bce_loss(x: Tensor, target: Tensor, reduction = 'mean', from_logits = False) -> Tensor:
    """Binary cross entropy. Unlike torch, probabilities are clamped to 1e-7 from 0 and 1, and there the gradient is 0."""
    ...
def bernoulli(tags, shape = None, p = 0.5, *, seed = None, dtype = 'f32', **sizes) -> Tensor:
    """1 with probability p, else 0."""
    ...
bf16: object
def bias_add(x: Tensor, vec, tag) -> Tensor:
    """x plus a plain vector along its last axis. For a bias that learns use x + b."""
    ...
def bias_add_(x: Tensor, vec, tag, op = None) -> Tensor:
    """x = op(x + vec) in place along the last axis; returns x."""
    ...
def bit_and(x: Tensor, other: Tensor | float) -> Tensor:
    """The bits both have."""
    ...
def bit_or(x: Tensor, other: Tensor | float) -> Tensor:
    """The bits either has."""
    ...
def bit_xor(x: Tensor, other: Tensor | float) -> Tensor:
    """The bits exactly one has."""
    ...
block_formats: object
bool_: object
def broadcast_to(self: Tensor, tags, shape = None, **sizes) -> Tensor:
    """Repeated along new axes and axes of size 1 by a stride of 0; a view that cannot be written to."""
    ...
def ceil(x: Tensor) -> Tensor:
    """The smallest whole number not below x, in the type of x."""
    ...
def channel_affine(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """x times scale plus shift, channel by channel; first the product, then the sum."""
    ...
from .exercises import check as check
from .autograd import checkpoint as checkpoint
def clamp(x: Tensor, min = None, max = None) -> Tensor:
    """x moved into [min, max]; slope 1 on the bounds, NaN stays NaN. Unlike torch, min above max is an error."""
    ...
def compare(x: Tensor, how, other: Tensor | float) -> Tensor:
    """The comparison called `how`, value by value."""
    ...
def concat(tensors: list[Tensor], tag) -> Tensor:
    """Tensors one after another along an axis they have."""
    ...
def constant_pad2d(x: Tensor, h, w, padding, value = 0.0) -> Tensor:
    """A picture with constant values added at its edges, or with its edges cut."""
    ...
def contiguous(x: Tensor) -> Tensor:
    """The values one after another in the order of the tags: the same memory if they lie so, else a copy."""
    ...
def conv1d(x: Tensor, w: Tensor, time, tap, stride = 1, padding = 0, dilation = 1, groups = 1, causal = False, state = None) -> Tensor:
    """A window slides along `time`; each place times w, summed over taps and channels. Unlike torch, axes go by name, and there is no bias."""
    ...
def conv2d(x: Tensor, w: Tensor, bias: Tensor = None, stride = 1, padding = 0, groups = 1, relu = False) -> Tensor:
    """A window slides over a picture; each place times w, summed over taps and channels. Unlike torch, channels come last, and there is no dilation."""
    ...
def conv_transpose1d(x: Tensor, w: Tensor, time, tap, bias: Tensor = None, stride = 1, padding = 0, output_pad = 0) -> Tensor:
    """Every value spread over a window by w; overlaps add up. As in torch and ONNX, output_pad gives back rows that padding cut at the end."""
    ...
from .tensor import copy_of as copy_of
def cos(x: Tensor) -> Tensor:
    """The cosine of an angle in radians."""
    ...
def cosine_similarity(x: Tensor, other: Tensor, tag, eps) -> Tensor:
    """The dot product along `tag` over the product of both lengths. Unlike torch, eps bounds that product and has no default."""
    ...
def cross_entropy(x: Tensor, tag, labels, ignore_index = None, reduction = 'mean', label_smoothing = 0.0) -> Tensor:
    """-log softmax(x)[label]. Unlike torch, the classes may be any axis and no label is ignored unless told."""
    ...
def cumprod(x: Tensor, tag) -> Tensor:
    """Running products along `tag`; the gradient is exact with zeros. Whole numbers in i64."""
    ...
def cumsum(x: Tensor, tag) -> Tensor:
    """Running sums along `tag`, one by one in order, in f32 for f32; whole numbers and bool in i64."""
    ...
from .kernels.discovery import current_backend as current_backend
from .autograd import custom_vjp as custom_vjp
def diag(x: Tensor, tags) -> Tensor:
    """A square matrix with x on its diagonal. Unlike torch.diag it never reads a diagonal; that is diagonal."""
    ...
def diag_embed(x: Tensor, tag, tags) -> Tensor:
    """One axis as the diagonal of a square of zeros."""
    ...
def diagonal(x: Tensor, a, b, out) -> Tensor:
    """The entries where two axes have the same index; a view."""
    ...
def div(x: Tensor, other: Tensor | float) -> Tensor:
    """x / other, broadcasting by name; x / 0 is inf or NaN."""
    ...
def div_floor(x: Tensor, other: Tensor | float) -> Tensor:
    """The quotient rounded down; the smallest number by -1 wraps to itself."""
    ...
def div_trunc(x: Tensor, other: Tensor | float) -> Tensor:
    """The quotient rounded towards 0, as in C; the smallest by -1 is itself."""
    ...
def dot(x: Tensor, w: Tensor, *over_tags, out = None, rms_norm = None, gate = None) -> Tensor:
    """Sum of products over the named axes; other shared axes are batch. Unlike torch.matmul, sizes 1 and n never match."""
    ...
def dot_ternary(x: Tensor, w: Tensor, tag) -> Tensor:
    """Product with w rounded to -1, 0, 1 times one scale."""
    ...
def dropout(x: Tensor, p, seed) -> Tensor:
    """Zero each value with probability p and divide the rest by 1 - p. Unlike torch, a pure function of x, p and seed."""
    ...
def einsum(x: Tensor, w: Tensor, *rest) -> Tensor:
    """Sum of products over every axis that is not among the tags of the result: x.einsum(w, 'i j') or einsum('i j', x, w, ...)."""
    ...
from .ops.elemental import elemental as elemental
def elu(x: Tensor) -> Tensor:
    """x above 0, exp(x) - 1 elsewhere (Clevert et al. 2015). Unlike torch, alpha is always 1."""
    ...
def empty(tags, shape = None, *, dtype = 'f32', **sizes) -> Tensor:
    """A tensor of whatever the memory held, for those who write every value before reading one."""
    ...
def empty_like(x: Tensor, dtype = None) -> Tensor:
    """Memory with the tags and sizes of x, to be written before it is read; a constant."""
    ...
from .autograd import enable_grad as enable_grad
def eq(x: Tensor, other: Tensor | float) -> Tensor:
    """Where x equals other; NaN equals nothing. Unlike torch, nothing is stretched."""
    ...
def exp(x: Tensor) -> Tensor:
    """e to the power x."""
    ...
from .contraction_trace import explain as explain
def eye(tags, shape = None, *, dtype = 'f32', **sizes) -> Tensor:
    """Ones on the diagonal, zeros elsewhere."""
    ...
f16: object
f32: object
f64: object
f8_e4m3: object
f8_e5m2: object
def flatten(x: Tensor, tag) -> Tensor:
    """All values on one axis in the order of the tags; a view if x is contiguous, else a copy."""
    ...
def flip(x: Tensor, *tags) -> Tensor:
    """Each named axis in reverse order."""
    ...
def floor(x: Tensor) -> Tensor:
    """The largest whole number not above x, in the type of x."""
    ...
def fold(x: Tensor, size, kernel, stride = 1, padding = 0, out = 'h w c') -> Tensor:
    """Every entry of every window added to the pixel it was read from: the adjoint of unfold."""
    ...
def full(tags, *what, dtype = None, **sizes) -> Tensor:
    """One value everywhere: full('row col', 7., row=2, col=3) or full('row col', (2, 3), 7.)."""
    ...
def full_like(x: Tensor, value, dtype = None) -> Tensor:
    """One value everywhere, with the tags, sizes and number type of x; a constant."""
    ...
def gated(up: Tensor, gate: Tensor, name) -> Tensor:
    """up * act(gate) for the gate called `name`; the second operand is the gate."""
    ...
def ge(x: Tensor, other: Tensor | float) -> Tensor:
    """Where x >= other. Unlike torch, nothing is stretched."""
    ...
def geglu(up: Tensor, gate: Tensor) -> Tensor:
    """up * gelu(gate, 'tanh')."""
    ...
def gelu(x: Tensor, approximate = 'none') -> Tensor:
    """x times the probability that a standard normal number is below x (Hendrycks and Gimpel 2016)."""
    ...
from .kernels.threads import get_num_threads as get_num_threads
def glu(up: Tensor, gate: Tensor) -> Tensor:
    """up * sigmoid(gate). Unlike torch, of two tensors; split_gated halves one."""
    ...
from .autograd import gradcheck as gradcheck
def group_norm(x: Tensor, tag, groups, eps = 1e-05, weight: Tensor = None, bias: Tensor = None) -> Tensor:
    """Each group of channels less its mean over its standard deviation, over all of time."""
    ...
def gt(x: Tensor, other: Tensor | float) -> Tensor:
    """Where x > other. Unlike torch, nothing is stretched."""
    ...
def gumbel(tags, shape = None, *, seed = None, dtype = 'f32', **sizes) -> Tensor:
    """Random numbers of the Gumbel distribution: the argmax of logits + gumbel draws a class with its softmax probability."""
    ...
from .exercises import hint as hint
def huber_loss(x: Tensor, target: Tensor, delta = 1.0, reduction = 'mean') -> Tensor:
    """(x - target)**2 / 2 up to a difference of delta, beyond it a straight line. Unlike torch, nothing is broadcast."""
    ...
i16: object
i32: object
i64: object
i8: object
def index_add(x: Tensor, tag, indices, update: Tensor) -> Tensor:
    """x with the rows of `update` added at these positions."""
    ...
def index_select(x: Tensor, tag, indices, out = None) -> Tensor:
    """The entries of one axis at these positions, in this order. (torch.gather is take_along_axis.)"""
    ...
def insert_axis(x: Tensor, tag, index = 0) -> Tensor:
    """A new axis of size 1; a view. Unlike torch's unsqueeze it is named; align_to places it by name as well."""
    ...
from .autograd import is_grad_enabled as is_grad_enabled
def isfinite(x: Tensor) -> Tensor:
    """Where x is neither NaN nor inf nor -inf."""
    ...
def isinf(x: Tensor) -> Tensor:
    """Where x is inf or -inf."""
    ...
def isnan(x: Tensor) -> Tensor:
    """Where x is not a number."""
    ...
def kda_recurrent(q: Tensor, k: Tensor, v: Tensor, g_raw: Tensor, beta_raw: Tensor, a_log: Tensor, dt_bias: Tensor, initial_state: Tensor = None, scale = 0.0) -> tuple:
    """Gated delta rule, step by step: (result 'seq head v', state 'head k v')."""
    ...
def kl_div(x: Tensor, target: Tensor, reduction = 'mean', log_target = False) -> Tensor:
    """target * (log target - x), 0 where the target is 0, with gradient 0 there. Unlike torch, there is no reduction 'batchmean'."""
    ...
def l2_normalize(x: Tensor, tag, eps = 1e-12) -> Tensor:
    """x over its length along `tag`. Unlike torch, eps is added to the squared length."""
    ...
def layer_norm(x: Tensor, tag, eps = 1e-05, weight: Tensor = None, bias: Tensor = None) -> Tensor:
    """x less its mean, over its standard deviation, along `tag`; times weight plus bias."""
    ...
def le(x: Tensor, other: Tensor | float) -> Tensor:
    """Where x <= other. Unlike torch, nothing is stretched."""
    ...
def leaky_relu(x: Tensor, negative_slope) -> Tensor:
    """x from 0 up, negative_slope * x below. Unlike torch, the slope has no default."""
    ...
def linear_cross_entropy(x: Tensor, weight: Tensor, labels, ignore_index = None, reduction = 'mean', label_smoothing = 0.0) -> Tensor:
    """cross_entropy of x @ weight.T, a few rows at a time: neither the scores nor their gradient ever exist as a whole."""
    ...
def linear_distill(x: Tensor, weight: Tensor, rows, classes, probs, reduction = 'mean', loss_scale = 1.0) -> Tensor:
    """Cross entropy of x @ weight.T with a few probabilities per row. Unnamed rows are not computed and get gradient 0."""
    ...
def linear_recurrence(x: Tensor, tag, decay: Tensor, initial: Tensor = None) -> Tensor:
    """Every h[t] = decay[t] * h[t-1] + x[t] along `tag`. The last as `initial` goes on bit for bit."""
    ...
def linspace(tag, start, end, steps, *, dtype = 'f32') -> Tensor:
    """`steps` values at equal distances from start to end, both included; a single one is start."""
    ...
def log(x: Tensor) -> Tensor:
    """The natural logarithm; -inf at 0, NaN below."""
    ...
def log1p(x: Tensor) -> Tensor:
    """ln(1 + x), right for tiny x too."""
    ...
def log_softmax(x: Tensor, tag) -> Tensor:
    """x - logsumexp(x) along `tag`: the logarithms of the shares. A row of -inf gives NaN."""
    ...
def logical_and(x: Tensor, other: Tensor) -> Tensor:
    """Where both are true. Unlike torch, whole numbers are refused."""
    ...
def logical_not(x: Tensor) -> Tensor:
    """Where x is false. Unlike torch, whole numbers are refused."""
    ...
def logical_or(x: Tensor, other: Tensor) -> Tensor:
    """Where one or both are true. Unlike torch, whole numbers are refused."""
    ...
def logical_xor(x: Tensor, other: Tensor) -> Tensor:
    """Where exactly one is true. Unlike torch, whole numbers are refused."""
    ...
def logsumexp(x: Tensor, tag) -> Tensor:
    """log sum exp(x) along `tag`. A row of -inf gives -inf with gradient 0 (torch: NaN); inf gives inf."""
    ...
def lt(x: Tensor, other: Tensor | float) -> Tensor:
    """Where x < other. Unlike torch, nothing is stretched."""
    ...
from .ops.construction import manual_seed as manual_seed
def masked_fill(x: Tensor, mask: Tensor, value) -> Tensor:
    """`value` where the mask is true, x elsewhere. Unlike torch, the mask is not stretched."""
    ...
def masked_scatter(x: Tensor, mask, values: Tensor) -> Tensor:
    """x with `values` at the marked places, in reading order."""
    ...
def masked_select(x: Tensor, mask, out) -> Tensor:
    """The marked values in reading order. Unlike torch, none at all is an error."""
    ...
def materialize(x: Tensor) -> Tensor:
    """A contiguous copy."""
    ...
def matmul(x: Tensor, y: Tensor, out_tags, transpose_a = False, transpose_b = False) -> Tensor:
    """Matrix product by position; leading axes broadcast."""
    ...
def max(x: Tensor, *tags, mask = None, empty = None) -> Tensor:
    """The largest value along the named axes; the first one gets the gradient. Unlike torch, NaN never wins: only a lane of NaN gives NaN."""
    ...
def max_pool2d(x: Tensor, kernel, stride = None, padding = 0) -> Tensor:
    """The largest value in each window; the gradient goes to the first of equals. Unlike torch, a NaN loses against any number."""
    ...
def maximum(x: Tensor, other: Tensor | float) -> Tensor:
    """The larger of x and other; NaN in either gives NaN. Unlike torch, NaN passes no gradient."""
    ...
def mean(x: Tensor, *tags, mask = None, empty = None) -> Tensor:
    """The mean along the named axes. Unlike torch, of whole numbers too: it is f32."""
    ...
def merge(x: Tensor, tag, *tags) -> Tensor:
    """Several neighbouring axes as one; a view, and UnsupportedView where there is none. Unlike torch.flatten, never a copy."""
    ...
def min(x: Tensor, *tags, mask = None, empty = None) -> Tensor:
    """The smallest value along the named axes; the first one gets the gradient. Unlike torch, NaN never wins: only a lane of NaN gives NaN."""
    ...
def minimum(x: Tensor, other: Tensor | float) -> Tensor:
    """The smaller of x and other; NaN in either gives NaN. Unlike torch, NaN passes no gradient."""
    ...
def mod(x: Tensor, other: Tensor | float) -> Tensor:
    """What div_floor leaves; the sign of the divisor, as Python's %."""
    ...
def mse_loss(x: Tensor, target: Tensor, reduction = 'mean') -> Tensor:
    """(x - target)**2. Unlike torch, nothing is broadcast."""
    ...
def mul(x: Tensor, other: Tensor | float) -> Tensor:
    """x * other, broadcasting by name."""
    ...
def mul_(x: Tensor, s) -> Tensor:
    """x *= s in place; returns x."""
    ...
def multinomial(x: Tensor, tag, out, num_samples, seed = 0, replacement = True) -> Tensor:
    """Classes drawn in proportion to their weights, i64."""
    ...
def narrow(x: Tensor, tag, start, length) -> Tensor:
    """A range of one axis; a view. Unlike torch, start does not count from the end."""
    ...
def ne(x: Tensor, other: Tensor | float) -> Tensor:
    """Where x differs from other; NaN differs from everything. Unlike torch, nothing is stretched."""
    ...
def neg(x: Tensor) -> Tensor:
    """-x."""
    ...
def nll_loss(x: Tensor, tag, labels, reduction = 'mean') -> Tensor:
    """-x[label]. The entry is selected, so -inf at another class stays out. Unlike torch, there is no ignore_index."""
    ...
from .autograd import no_grad as no_grad
def nonzero(x: Tensor) -> np.ndarray:
    """Positions in reading order of all values that are not 0, as a plain i64 array; NaN counts."""
    ...
def norm(x: Tensor, *tags, ord = 2) -> Tensor:
    """The length of the vectors along the named axes; the gradient of a zero vector is 0. Unlike torch, the first of equal maxima gets the whole gradient of the inf norm."""
    ...
def normal(tags, shape = None, mean = 0.0, std = 1.0, *, seed = None, dtype = 'f32', **sizes) -> Tensor:
    """Random numbers of a normal distribution: randn * std + mean."""
    ...
def one_hot(indices, tags, depth, *, dtype = 'f32') -> Tensor:
    """For each index a row of zeros with a 1 at that place. Unlike torch, real numbers."""
    ...
def ones(tags, shape = None, *, dtype = 'f32', **sizes) -> Tensor:
    """A tensor of ones."""
    ...
def ones_like(x: Tensor, dtype = None) -> Tensor:
    """Ones with the tags and sizes of x; a constant."""
    ...
from .registry_table import op_table as op_table
def pack(w: Tensor, layout = None):
    """An independent, prepared copy of a weight for x.dot(packed, tag); 16-bit weights are widened once."""
    ...
def pad(x: Tensor, tag, before, after, value = 0.0) -> Tensor:
    """Constant values in front of and behind an axis."""
    ...
from .tensor import param as param
from .tags import parse as parse
def permute(x: Tensor, *tags) -> Tensor:
    """The axes in another order; a view."""
    ...
def pow(x: Tensor, other: Tensor | float) -> Tensor:
    """x ** other; 0**0 is 1, a negative base with a fractional exponent NaN. The gradient of x**0 is 0, at 0 too."""
    ...
def prelu(x: Tensor, alpha: Tensor) -> Tensor:
    """x above zero, alpha times x elsewhere; the slope at zero is alpha."""
    ...
def prepare_conv2d(w: Tensor):
    """An independent, prepared copy of a weight for x.conv2d(prepared); 16-bit weights are widened once."""
    ...
def prod(x: Tensor, *tags) -> Tensor:
    """The product along the named axes; its gradient is exact with zeros. f32 is multiplied in f64, whole numbers in i64."""
    ...
def quick_gelu(x: Tensor) -> Tensor:
    """x sigmoid(1.702 x), a rough gelu."""
    ...
def rand(tags, shape = None, *, seed = None, dtype = 'f32', **sizes) -> Tensor:
    """Random numbers in [0, 1). Unlike torch, a function of the seed alone."""
    ...
def randint(tags, shape = None, low = 0, high = None, *, seed = None, dtype = 'i64', **sizes) -> Tensor:
    """Random whole numbers from low to high - 1."""
    ...
def randn(tags, shape = None, *, seed = None, dtype = 'f32', **sizes) -> Tensor:
    """Random numbers of the standard normal distribution. Unlike torch, a function of the seed alone."""
    ...
def randperm(tag, n, *, seed = None) -> Tensor:
    """The numbers 0 to n - 1 in random order, i64."""
    ...
def reciprocal(x: Tensor) -> Tensor:
    """1 / x; inf at 0."""
    ...
registry: object
def relpos_shift(x: Tensor, t_k, out_tags) -> Tensor:
    """Scores by distance as scores by key: entry (q, j) is x at (q, j + queries - 1 - q)."""
    ...
def relu(x: Tensor) -> Tensor:
    """x where it is above 0, else 0; the slope at 0 is 0, NaN stays NaN."""
    ...
def rem(x: Tensor, other: Tensor | float) -> Tensor:
    """What div_trunc leaves; the sign of the dividend, as C's %."""
    ...
def rename(self: Tensor, *tags, **names) -> Tensor:
    """The same axes under other names; a view. x.rename('a b') or x.rename(row='a')."""
    ...
def repeat(x: Tensor, tag, n) -> Tensor:
    """An axis n times back to back. Unlike np.repeat, which repeats each entry."""
    ...
def reshape(self: Tensor, tags, shape = None, **sizes) -> Tensor:
    """The values in the order of the tags under new axes; a view if x is contiguous, else a copy. Unlike torch it refuses to swap axes."""
    ...
def rms_norm(x: Tensor, tag, eps = 1e-06, weight: Tensor = None, residual: Tensor = None, rope = None) -> Tensor:
    """x over its root mean square along `tag`, times weight, plus residual."""
    ...
def roll(x: Tensor, tag, shift) -> Tensor:
    """An axis turned in a circle: entry i moves to i + shift, around the end."""
    ...
def roll_by(x: Tensor, tag, offsets) -> Tensor:
    """Every section along an axis turned in a circle by an offset of its own."""
    ...
def rope(x: Tensor, position, feature, source, mode = 'half', positions = None) -> Tensor:
    """Pairs of features turned by angles that grow with the position."""
    ...
def rope_table(positions, dim = None, theta = 10000.0, freq_factors = None, inv_freqs = None, inverse = False):
    """Sines and cosines for rope: of position / theta**(2i/dim) in f32, unless inv_freqs are given."""
    ...
def round(x: Tensor) -> Tensor:
    """The nearest whole number, the even one of two, in the type of x."""
    ...
def router_topk(x: Tensor, tag, k, normalize_selected = True):
    """The k best experts of a row, ties to the lower, with their shares of the softmax. No gradient."""
    ...
def rsqrt(x: Tensor) -> Tensor:
    """1 / sqrt(x)."""
    ...
def scatter(x: Tensor, tag, indices, source: Tensor) -> Tensor:
    """x with each entry of `source` written in its place; the last of several stays and has a gradient."""
    ...
def scatter_add(x: Tensor, tag, indices, source: Tensor) -> Tensor:
    """x with every entry of `source` added at its position; repeats accumulate in reading order."""
    ...
def segment_sum(x: Tensor, tag, offsets) -> Tensor:
    """Sums of neighbouring entries along `tag`; an empty segment gives 0."""
    ...
def select(self: Tensor, *where, **by_tag) -> Tensor:
    """One index of an axis, or of several; those axes go. A view."""
    ...
from .kernels.threads import set_num_threads as set_num_threads
def set_rows(x: Tensor, tag, indices, update: Tensor) -> Tensor:
    """x with the rows of `update` in place of these."""
    ...
def set_slice(x: Tensor, tag, start, update: Tensor) -> Tensor:
    """x with `update` in place of a range."""
    ...
def shift_by(x: Tensor, tag, offsets, value = 0.0) -> Tensor:
    """Every section along an axis moved by an offset of its own; values fall off the end, `value` fills the gap."""
    ...
def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x)), exact on both sides."""
    ...
def sign(x: Tensor) -> Tensor:
    """1 above 0, -1 below. Unlike torch and NumPy, -0 keeps its sign, and unlike torch NaN stays NaN."""
    ...
def silu(x: Tensor) -> Tensor:
    """x sigmoid(x), also called swish (Elfwing et al. 2017)."""
    ...
def sin(x: Tensor) -> Tensor:
    """The sine of an angle in radians."""
    ...
def situ(up: Tensor, gate: Tensor) -> Tensor:
    """25 tanh(up / 25) * 4 tanh(gate / 4) sigmoid(gate): both sides bounded."""
    ...
def slice(self: Tensor, *where, **by_tag) -> Tensor:
    """A range of each named axis. A view; in a graph a step above 1 makes a copy."""
    ...
def snake(x: Tensor, tag, alpha: Tensor, inv_b: Tensor) -> Tensor:
    """x + inv_b sin(alpha x)**2, channel by channel."""
    ...
def softcap(x: Tensor, cap) -> Tensor:
    """cap * tanh(x / cap): x where it is small, never beyond the limit."""
    ...
def softmax(x: Tensor, tag, scale = 1, mask: Tensor = None, max_bias = 0, head = None, sinks: Tensor = None, causal = None, source_offset = 0) -> Tensor:
    """exp(x) / sum exp(x) along `tag`; a row of -inf gives NaN."""
    ...
def softplus(x: Tensor) -> Tensor:
    """ln(1 + exp(x)), a smooth relu whose slope is sigmoid(x). Unlike torch, no beta and no threshold."""
    ...
from .exercises import solution as solution
def sort(x: Tensor, tag, descending = False):
    """Sorted values and where they were. The order of equal values is not promised."""
    ...
def split(self: Tensor, tag, tags, shape = None, **sizes) -> Tensor:
    """One axis as several; a view. Unlike torch.split, which cuts an axis into pieces."""
    ...
def split_gated(x: Tensor, name, tag, out = None) -> Tensor:
    """One half of an axis gated by the other; the axis comes out half as long."""
    ...
def sqrt(x: Tensor) -> Tensor:
    """The square root; NaN below 0, slope inf at 0."""
    ...
def square(x: Tensor) -> Tensor:
    """x times x."""
    ...
def squeeze(x: Tensor, *tags) -> Tensor:
    """Without the named axes, which must have size 1; a view. Unlike torch, never without a name."""
    ...
def stack(tensors: list[Tensor], tag, index = 0) -> Tensor:
    """Tensors as the entries of a new axis."""
    ...
def standardize(x: Tensor, tag, ddof = 0, eps = 0.0, eps_mode = 'outside_sqrt', valid_len = None) -> Tensor:
    """x less its mean, over its standard deviation, along `tag`; the variance of too few values is 0."""
    ...
def std(x: Tensor, *tags, ddof = 0) -> Tensor:
    """The standard deviation along the named axes; where it is 0 its gradient is 0. Unlike torch.std it divides by n unless ddof=1."""
    ...
def sub(x: Tensor, other: Tensor | float) -> Tensor:
    """x - other, broadcasting by name."""
    ...
def sum(x: Tensor, *tags, mask = None, empty = None) -> Tensor:
    """The sum along the named axes, as exact along any axis; whole numbers and truth values add up in i64."""
    ...
def swiglu(up: Tensor, gate: Tensor) -> Tensor:
    """up * silu(gate). Many libraries put the gate first; here it is second."""
    ...
def take_along_axis(x: Tensor, tag, indices) -> Tensor:
    """One entry along the axis for every entry of `indices`."""
    ...
def tanh(x: Tensor, approximate = 'none') -> Tensor:
    """The hyperbolic tangent."""
    ...
from .graph import timed as timed
def to(x: Tensor, dtype) -> Tensor:
    """A copy in another number type. Real to whole drops the fraction, saturates and makes NaN 0."""
    ...
def topk(x: Tensor, tag, k, out = None):
    """The k largest, falling, ties by position. Unlike torch, NaN and -inf are never placed."""
    ...
def trace(x: Tensor, a, b) -> Tensor:
    """The sum of the entries where two axes have the same index; whole numbers add up in i64."""
    ...
def tril(x: Tensor, row, col, offset = 0) -> Tensor:
    """The lower triangle: 0 where col - row > offset. Unlike torch, of any two axes by name."""
    ...
def triu(x: Tensor, row, col, offset = 0) -> Tensor:
    """The upper triangle: 0 where col - row < offset. Unlike torch, of any two axes by name."""
    ...
u16: object
u8: object
def unary(x: Tensor, name) -> Tensor:
    """The function called `name` of x."""
    ...
def unbind(x: Tensor, tag) -> list:
    """The entries of one axis as a list of tensors without it; views."""
    ...
def unfold(x: Tensor, kernel, stride = 1, padding = 0, out = 'patch elem') -> Tensor:
    """What every window sees, one row each; taps row by row, channels fastest. Unlike torch, windows are rows and channels come last."""
    ...
def uniform(tags, shape = None, low = 0.0, high = 1.0, *, seed = None, dtype = 'f32', **sizes) -> Tensor:
    """Random numbers in [low, high)."""
    ...
def upsample2x_nearest(x: Tensor) -> Tensor:
    """Every pixel as a square of four."""
    ...
from .exercises import use as use
from .kernels.discovery import use_backend as use_backend
def var(x: Tensor, *tags, ddof = 0) -> Tensor:
    """The variance along the named axes. Unlike torch.var it divides by n unless ddof=1; one value with ddof=1 gives NaN."""
    ...
def view_with_strides(x: Tensor, tags, shape, strides, offset = 0) -> Tensor:
    """Any walk over the values of x, checked to stay inside; a view. Unlike torch.as_strided, strides refer to x, not to memory behind it."""
    ...
def where(x: Tensor, mask: Tensor, other: Tensor | float) -> Tensor:
    """x where the mask is true, else other. Unlike torch, values come first, and nothing is stretched."""
    ...
def yarn_inv_freqs(dim, theta = 10000.0, factor = 1.0, original_context = 0) -> Tensor:
    """Radians per position of each pair after YaRN's stretch, f64, for rope_table(.., inv_freqs=..)."""
    ...
def zero_pad2d(x: Tensor, h, w, padding) -> Tensor:
    """A picture with zeros added at its edges, or with its edges cut."""
    ...
def zero_rows(x: Tensor, tag, indices) -> Tensor:
    """x with these rows set to 0."""
    ...
def zero_slice(x: Tensor, tag, start, length) -> Tensor:
    """x with a range set to 0."""
    ...
def zeros(tags, shape = None, *, dtype = 'f32', **sizes) -> Tensor:
    """A tensor of zeros."""
    ...
def zeros_like(x: Tensor, dtype = None) -> Tensor:
    """Zeros with the tags and sizes of x; a constant."""
    ...
