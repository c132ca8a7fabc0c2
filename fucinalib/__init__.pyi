# Written by tools/stubs.py from the registry; run `make export`, do not edit.
from typing import Any, Callable, Literal, Sequence, TypeVar, overload
from . import graph as graph, ops as ops
from . import data as data
from . import evolution as evolution
from . import files as files
from . import knn as knn
from . import llm as llm
from . import lora as lora
from . import nn as nn
from . import optim as optim
from . import quant as quant
from . import serve as serve
from . import text as text
from . import train as train
from .dtypes import DType as DType
from .tensor import Tensor as Tensor, _Array, _DType, _Number, _Sizes, _Tags
from .errors import BackwardAlreadyRun as BackwardAlreadyRun
from .errors import CheckpointError as CheckpointError
from .errors import DTypeError as DTypeError
from .errors import DivisionByZero as DivisionByZero
from .errors import EmptySelection as EmptySelection
from .errors import FileError as FileError
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
from .errors import OutOfMemory as OutOfMemory
from .errors import ShapeError as ShapeError
from .errors import ShapeMismatch as ShapeMismatch
from .errors import StateMismatch as StateMismatch
from .errors import TagError as TagError
from .errors import TernaryContractDimNotBlockAligned as TernaryContractDimNotBlockAligned
from .errors import UnknownImport as UnknownImport
from .errors import UnknownKey as UnknownKey
from .errors import UnknownModule as UnknownModule
from .errors import UnknownName as UnknownName
from .errors import UnsupportedGradient as UnsupportedGradient
from .errors import UnsupportedView as UnsupportedView
from .ops.blocks import BlockTensor as BlockTensor
from .ops.images import PreparedConv2d
from .ops.mixture import Experts as Experts
from .ops.mixture import RoutePlan as RoutePlan
from .ops.packed import PackedWeight as PackedWeight
from .ops.rotary import AxisRange as AxisRange
from .ops.rotary import RopeTable as RopeTable
from .tensor import Routes
from .tensor import TopK

_F = TypeVar('_F', bound=Callable[..., Any])
class _Block:
    """What stands after `with`, or above a function."""
    def __enter__(self) -> Any: ...
    def __exit__(self, *exc: object) -> None: ...
    def __call__(self, fn: _F) -> _F: ...

@overload
def no_grad() -> _Block:
    """Record nothing inside: `with no_grad():`, or `@no_grad` over a function. For this thread or task."""
    ...
@overload
def no_grad(fn: _F) -> _F:
    """Record nothing inside: `with no_grad():`, or `@no_grad` over a function. For this thread or task."""
    ...
@overload
def enable_grad() -> _Block:
    """Record inside, even within `no_grad`."""
    ...
@overload
def enable_grad(fn: _F) -> _F:
    """Record inside, even within `no_grad`."""
    ...
def abs(x: Tensor) -> Tensor:
    """The distance from 0; the slope at 0 is 0.

    Parameters
    ----------
    x
        any tags
    """
    ...
def add(x: Tensor, other: Tensor | float) -> Tensor:
    """x + other, broadcasting by name.

    Parameters
    ----------
    x
        any tags
    other
        a tensor, met by name, or a number
    """
    ...
def add_(x: Tensor, other: Tensor | float, alpha: float = 1) -> Tensor:
    """x += alpha * other in place, no broadcasting; returns x.

    Parameters
    ----------
    x
        changed in place
    other
        same tags and sizes, or a number
    alpha
        factor of other
    """
    ...
def add_dot(x: Tensor, a: Tensor, w: Tensor, *over_tags: _Tags) -> Tensor:
    """x + a.dot(w, tags). Unlike torch.addmm there are no factors, and x is not broadcast.

    Parameters
    ----------
    x
        has the tags of the product, in its order
    a
        left operand
    w
        right operand
    over_tags
        axes to sum over
    """
    ...
def align_to(x: Tensor, *tags: _Tags) -> Tensor:
    """The axes in the order of `tags`; those x lacks come with size 1. A view.

    Parameters
    ----------
    x
        any tags
    tags
        the tags of the result: all of x's and perhaps more
    """
    ...
def all(x: Tensor, *tags: _Tags) -> Tensor:
    """Whether every value along the tags is true. Unlike torch, whole numbers are refused.

    Parameters
    ----------
    x
        bool, or real numbers read as "not 0"
    tags
        axes to ask along; none means all
    """
    ...
def any(x: Tensor, *tags: _Tags) -> Tensor:
    """Whether some value along the tags is true. Unlike torch, whole numbers are refused.

    Parameters
    ----------
    x
        bool, or real numbers read as "not 0"
    tags
        axes to ask along; none means all
    """
    ...
def arange(tag: _Tags, start: float, end: float | None = None, step: float = 1, *, dtype: _DType | None = None) -> Tensor:
    """start, start + step, ... before end; each value is computed from its index, so rounding does not
    add up.

    Parameters
    ----------
    tag
        name of the axis
    start
        first value; a single bound is the end, and the start is 0
    end
        bound that is not reached
    step
        distance of two values
    dtype
        number type; None: f32 if a bound is a real number, else i64
    """
    ...
def argmax(x: Tensor, tag: _Tags) -> Tensor:
    """Position of the first largest value, i64. Unlike torch, NaN never wins; a lane of NaN gives 0.

    Parameters
    ----------
    x
        any tags
    tag
        axis to search along; it goes away
    """
    ...
def argmin(x: Tensor, tag: _Tags) -> Tensor:
    """Position of the first smallest value, i64. Unlike torch, NaN never wins; a lane of NaN gives 0.

    Parameters
    ----------
    x
        any tags
    tag
        axis to search along; it goes away
    """
    ...
def argsort(x: Tensor, tag: _Tags, descending: bool = False) -> Tensor:
    """The positions that sort an axis, i64: x.take_along_axis(tag, x.argsort(tag)) is sorted.

    Parameters
    ----------
    x
        any tags
    tag
        axis to sort along
    descending
        True: the largest first
    """
    ...
def attention(q: Tensor, k: Tensor | BlockTensor | list[Any], v: Tensor | BlockTensor | list[Any], scale: float | None = None, mask: Literal['causal', 'bidirectional'] = 'causal', window: int = 0, bias: Tensor | None = None, kv_head: Any = None, sinks: Tensor | list[float] | None = None, lens: Any = None, out: _Tags = 'out', valid: Any = None) -> Tensor:
    """Softmax-weighted mean of the values for each query and head; 'seq out', heads side by side.

    Unlike torch, a causal band is aligned at its end. A query that sees nothing gives 0.

    Parameters
    ----------
    q
        'seq head d'; axes before them are batches
    k
        'seq kv_head d': as q, f16, bf16 or quantised; lists with lens
    v
        like k
    scale
        of the scores; None for 1 / sqrt(d)
    mask
        the last query sees all keys; 'bidirectional': all queries do
    window
        how many of the last keys each query sees; 0 for all
    bias
        'seq key', added to the scaled scores; bidirectional, no gradients
    kv_head
        kv head of each head; None for equal neighbouring groups
    sinks
        'head': one more score of each that takes a share and gives nothing
    lens
        numbers of keys of several streams, each with a k, a v and one query
    out
        name of the last axis of the result
    valid
        the keys that count: bool, 'seq', or batches and 'seq'; None for all
    """
    ...
def avg_pool2d(x: Tensor, kernel: _Sizes, stride: _Sizes | None = None, padding: _Sizes = 0) -> Tensor:
    """The mean of each window. Unlike torch by default, zeros beyond the border do not count.

    Parameters
    ----------
    x
        as in max_pool2d
    kernel
        size of the window: rows and columns, or one number for both
    stride
        steps from window to window, likewise; the size of the window by default
    padding
        rows and columns beyond each side that windows may reach, likewise
    """
    ...
def backends() -> dict[str, list[str]]:
    """Backend name -> names of the kernels it has. `numpy` has them all."""
    ...
def band_mask(tags: _Tags, shape: _Sizes | None = None, lower: int | None = None, upper: int | None = 0, **sizes: int) -> Tensor:
    """True within a band around the diagonal: i - j <= lower and j - i <= upper. Bounds may be negative.

    Parameters
    ----------
    tags
        names of rows and columns: 'q k'
    shape
        the two sizes, unless they are given by name
    lower
        how far a column may lie before its row; None for any distance
    upper
        how far a column may lie after its row; None for any distance
    sizes
        the sizes by tag: q=3, k=4
    """
    ...
def band_part(x: Tensor, row: _Tags, col: _Tags, lower: int | None = None, upper: int | None = None) -> Tensor:
    """x within a band over two axes, 0 elsewhere: it selects, so an inf or NaN outside leaves no trace.

    Parameters
    ----------
    x
        any tags, two of them `row` and `col`
    row
        the axis counted downwards
    col
        the axis counted across
    lower
        keep columns up to so far before their row; None for all
    upper
        keep columns up to so far after their row; None for all
    """
    ...
def bce_loss(x: Tensor, target: Tensor, reduction: Literal['mean', 'sum', 'none'] = 'mean', from_logits: bool = False) -> Tensor:
    """Binary cross entropy.

    x counts as clamped to 1e-7 from 0 and 1, and the gradient there is 0.

    Parameters
    ----------
    x
        probabilities, any tags; or scores
    target
        like x: 0, 1 or between
    reduction
        'mean' over all values, 'sum', or 'none'
    from_logits
        x are scores, of which sigmoid would make probabilities
    """
    ...
def bernoulli(tags: _Tags, shape: _Sizes | None = None, p: float = 0.5, *, seed: int | None = None, dtype: _DType = 'f32', **sizes: int) -> Tensor:
    """1 with probability p, else 0.

    Parameters
    ----------
    tags
        names of the axes: 'row col'
    shape
        sizes in that order, or by name
    p
        probability of a 1
    seed
        same seed, same numbers; None: the next one of the process
    dtype
        any number type
    sizes
        sizes by name: row=2, col=3
    """
    ...
bf16: DType
def bias_add(x: Tensor, vec: Any, tag: _Tags) -> Tensor:
    """x plus a plain vector along its last axis. For a bias that learns use x + b.

    Parameters
    ----------
    x
        any tags, the last one is `tag`
    vec
        a plain array, one value per entry of the last axis; it gets no gradient
    tag
        name of the last axis
    """
    ...
def bias_add_(x: Tensor, vec: Any, tag: _Tags, op: Any = None) -> Tensor:
    """x = op(x + vec) in place along the last axis; returns x.

    Parameters
    ----------
    x
        changed in place; the last tag is `tag`
    vec
        a plain array, one value per entry of the last axis
    tag
        name of the last axis
    op
        name of a unary operation applied to the sum
    """
    ...
def bit_and(x: Tensor, other: Tensor | float) -> Tensor:
    """The bits both have.

    Parameters
    ----------
    x
        whole numbers
    other
        whole numbers, met by name
    """
    ...
def bit_or(x: Tensor, other: Tensor | float) -> Tensor:
    """The bits either has.

    Parameters
    ----------
    x
        whole numbers
    other
        whole numbers, met by name
    """
    ...
def bit_xor(x: Tensor, other: Tensor | float) -> Tensor:
    """The bits exactly one has.

    Parameters
    ----------
    x
        whole numbers
    other
        whole numbers, met by name
    """
    ...
block_formats: Any
bool_: DType
def broadcast_to(self: Tensor, tags: _Tags, shape: _Sizes | None = None, **sizes: int) -> Tensor:
    """Repeated along new axes and axes of size 1 by a stride of 0; a view that cannot be written to.

    Parameters
    ----------
    tags
        tags of the result: all of x's and perhaps more
    shape
        sizes in that order
    sizes
        or by name: row=2; those of x may be left out
    """
    ...
def ceil(x: Tensor) -> Tensor:
    """The smallest whole number not below x, in the type of x.

    Parameters
    ----------
    x
        any tags
    """
    ...
def channel_affine(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """x times scale plus shift, channel by channel; first the product, then the sum.

    Parameters
    ----------
    x
        any tags
    scale
        factor of each channel; its axis is that of the channels
    shift
        added to each channel
    """
    ...
def check(id: Any = ..., answer: Any = ...) -> Any:
    """Run `answer` beside the reference on every input. Never raises for a wrong answer;
    OptionError for an unknown exercise.

    Parameters
    ----------
    id
        the exercise, e.g. '10.1'
    answer
        your function, or your value
    """
    ...
def checkpoint(fn: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    """`fn(*inputs)`, run again during backward instead of remembered. What it uses without being given is trained too.

    Parameters
    ----------
    fn
        a function that returns one tensor, the same each time
    inputs
        its arguments
    """
    ...
def clamp(x: Tensor, min: float | None = None, max: float | None = None) -> Tensor:
    """x moved into [min, max]; slope 1 on the bounds, NaN stays NaN. Unlike torch, min above max
    is an error.

    Parameters
    ----------
    x
        any tags
    min
        lower bound, a number, or None
    max
        upper bound, a number, or None
    """
    ...
def compare(x: Tensor, how: Literal['lt', 'le', 'gt', 'ge', 'eq', 'ne'], other: Tensor | float) -> Tensor:
    """The comparison called `how`, value by value.

    Parameters
    ----------
    x
        any tags
    how
        'lt', 'le', 'gt', 'ge', 'eq' or 'ne'
    other
        a tensor of the same tags and sizes, or a number
    """
    ...
def concat(tensors: Sequence[Tensor], tag: _Tags) -> Tensor:
    """Tensors one after another along an axis they have.

    Parameters
    ----------
    tensors
        at least one; equal tags in equal order
    tag
        the axis along which they follow each other
    """
    ...
def constant_pad2d(x: Tensor, h: _Tags, w: _Tags, padding: _Sizes, value: float = 0.0) -> Tensor:
    """A picture with constant values added at its edges, or with its edges cut.

    Parameters
    ----------
    x
        any tags, two of them a picture's
    h
        tag of the height
    w
        tag of the width
    padding
        (left, right, top, bottom) or one number for all; negative ones cut
    value
        what is added
    """
    ...
def contiguous(x: Tensor) -> Tensor:
    """The values in memory in the order of the tags: the same memory if they lie so, else a copy.

    Parameters
    ----------
    x
        any tags
    """
    ...
def conv1d(x: Tensor, w: Tensor, time: _Tags, tap: _Tags, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1, causal: bool = False, state: Any = None) -> Tensor:
    """A window slides along `time`; each place times w, summed over taps and channels.

    Unlike torch, axes go by name, and there is no bias.

    Parameters
    ----------
    x
        an axis to slide along, one with channels, and any others
    w
        taps, inputs and outputs; or channels and taps: a filter for each channel
    time
        axis of x to slide along
    tap
        axis of w with the taps
    stride
        steps from window to window
    padding
        zeros at both ends
    dilation
        how far the taps are apart
    groups
        each output sees the channels of one group
    causal
        windows end at the present: zeros, or the state, before the beginning only
    state
        with causal: the dilation * (taps - 1) values before x, oldest first
    """
    ...
def conv2d(x: Tensor, w: Tensor | PreparedConv2d, bias: Tensor | None = None, stride: _Sizes = 1, padding: _Sizes = 0, groups: int = 1, relu: bool = False) -> Tensor:
    """A window slides over a picture; each place times w, summed over taps and channels.

    Unlike torch, channels come last, and there is no dilation.

    Parameters
    ----------
    x
        'h w c', channels last; more axes in front pass through
    w
        'out kh kw c', c / groups channels; or w.prepare_conv2d()
    bias
        one number for each output channel
    stride
        steps from window to window: down and across, or one number for both
    padding
        rows and columns of zeros on each side, likewise
    groups
        each output sees the channels of one group
    relu
        cut at zero
    """
    ...
def conv_transpose1d(x: Tensor, w: Tensor, time: _Tags, tap: _Tags, bias: Tensor | None = None, stride: int = 1, padding: int = 0, output_pad: int = 0) -> Tensor:
    """Every value spread over a window by w; overlaps add up.

    As in torch and ONNX, output_pad gives back rows that padding cut at the end.

    Parameters
    ----------
    x
        an axis to spread out, one with channels, and any others
    w
        inputs, outputs, taps; packed: w.split('k', 'out tap', tap=3)
    time
        axis of x
    tap
        axis of w with the taps
    bias
        one number for each output channel
    stride
        how far neighbouring windows are apart
    padding
        values cut off at both ends
    output_pad
        rows more at the end, of those cut; beyond them only the bias
    """
    ...
def copy_of(data: Any, tags: _Tags = (), dtype: _DType | None = None) -> Tensor:
    """A tensor that shares memory with nothing."""
    ...
def cos(x: Tensor) -> Tensor:
    """The cosine of an angle in radians.

    Parameters
    ----------
    x
        any tags
    """
    ...
def cosine_similarity(x: Tensor, other: Tensor, tag: _Tags, eps: float) -> Tensor:
    """The dot product along `tag` over the product of both lengths.

    Unlike torch, eps bounds that product and has no default.

    Parameters
    ----------
    x
        any tags
    other
        any tags, `tag` among them
    tag
        axis of the vectors
    eps
        the product of the two lengths is at least this
    """
    ...
def cross_entropy(x: Tensor, tag: _Tags, labels: Any, ignore_index: int | None = None, reduction: Literal['mean', 'sum', 'none'] = 'mean', label_smoothing: float = 0.0) -> Tensor:
    """-log softmax(x)[label]. Unlike torch, classes may be any axis; no label is ignored unless told.

    If all labels are ignored the loss is 0.

    Parameters
    ----------
    x
        scores, any tags, before any softmax
    tag
        the axis of the classes
    labels
        the right class of every other position: tensor, array or list
    ignore_index
        label of positions that do not count
    reduction
        'mean' over what counts, 'sum', or 'none': one per position
    label_smoothing
        this share of the target is spread over all classes
    """
    ...
def cumprod(x: Tensor, tag: _Tags) -> Tensor:
    """Running products along `tag`; the gradient is exact with zeros. Whole numbers in i64.

    Parameters
    ----------
    x
        any tags
    tag
        the axis to go along
    """
    ...
def cumsum(x: Tensor, tag: _Tags) -> Tensor:
    """Running sums along `tag`, one by one in order, in f32 for f32; whole numbers and bool in i64.

    Parameters
    ----------
    x
        any tags
    tag
        the axis to go along
    """
    ...
def current_backend() -> str:
    """Name of the backend in use."""
    ...
def custom_vjp(fn: Callable[..., Any]) -> Callable[..., Tensor]:
    """An operation of your own: `fn` returns (array, tags, rules) like every op, and is not registered.
    (The vector-Jacobian product of JAX's custom_vjp.)
    """
    ...
def diag(x: Tensor, tags: _Tags) -> Tensor:
    """A square matrix with x on its diagonal. Unlike torch.diag it reads none; that is diagonal.

    Parameters
    ----------
    x
        a vector
    tags
        names of the two axes: 'row col'
    """
    ...
def diag_embed(x: Tensor, tag: _Tags, tags: _Tags) -> Tensor:
    """One axis as the diagonal of a square of zeros.

    Parameters
    ----------
    x
        any tags
    tag
        axis whose values go onto the diagonal
    tags
        its two new names, 'row col': row in its place, col at the end
    """
    ...
def diagonal(x: Tensor, a: _Tags, b: _Tags, out: _Tags) -> Tensor:
    """The entries where two axes have the same index; a view.

    Parameters
    ----------
    x
        any tags
    a
        an axis
    b
        another, walked together with it
    out
        name of the diagonal, which comes last
    """
    ...
def div(x: Tensor, other: Tensor | float) -> Tensor:
    """x / other, broadcasting by name; x / 0 is inf or NaN.

    Parameters
    ----------
    x
        any tags, real numbers
    other
        a tensor, met by name, or a number
    """
    ...
def div_floor(x: Tensor, other: Tensor | float) -> Tensor:
    """The quotient rounded down; the smallest number by -1 wraps to itself.

    Parameters
    ----------
    x
        whole numbers
    other
        whole numbers, met by name
    """
    ...
def div_trunc(x: Tensor, other: Tensor | float) -> Tensor:
    """The quotient rounded towards 0, as in C; the smallest by -1 is itself.

    Parameters
    ----------
    x
        whole numbers
    other
        whole numbers, met by name
    """
    ...
def dot(x: Tensor, w: Tensor | PackedWeight | BlockTensor, *over_tags: _Tags, out: _Tags | None = None, rms_norm: Any = None, gate: Any = None) -> Tensor:
    """Sum of products over the named axes; other shared axes are batch.

    Unlike torch.matmul, sizes 1 and n never match.

    Parameters
    ----------
    x
        any tags
    w
        has the named axes too, as long; or a packed weight (chapters 25, 25a)
    over_tags
        axes to sum over
    out
        with a packed weight: name of the result's last axis
    rms_norm
        with a packed quantised weight: (weight, eps), normalise x first
    gate
        likewise: 'swiglu' or ('geglu_quant', gate), gate x first
    """
    ...
def dot_ternary(x: Tensor, w: Tensor, tag: _Tags) -> Tensor:
    """Product with w rounded to -1, 0, 1 times one scale.

    The gradient passes straight through the rounding, as if w itself had been used.

    Parameters
    ----------
    x
        its last axis is summed over
    w
        latent weight: out, then the summed axis, a multiple of 256 long
    tag
        the axis summed over
    """
    ...
def dropout(x: Tensor, p: float, seed: int) -> Tensor:
    """Zero each value with probability p and divide the rest by 1 - p. Unlike torch, a pure
    function of x, p and seed.

    At evaluation leave it out.

    Parameters
    ----------
    x
        any tags, real numbers
    p
        share that is dropped, 0 <= p < 1
    seed
        a whole number, taken modulo 2**64; give each layer and step its own
    """
    ...
@overload
def einsum(x: Tensor, w: Tensor, *rest: _Tags | Tensor) -> Tensor:
    """Sum of products over every axis that is not among the tags of the result.

    x.einsum(w, 'i j') or einsum('i j', x, w, ...).

    Parameters
    ----------
    x
        any tags; or the tags of the result, when tensors follow
    w
        any tags, shared ones at equal sizes
    rest
        the tags of the result; or more tensors
    """
    ...
@overload
def einsum(x: str, *operands: Tensor) -> Tensor:
    """Sum of products over every axis that is not among the tags of the result.

    x.einsum(w, 'i j') or einsum('i j', x, w, ...).

    Parameters
    ----------
    x
        any tags; or the tags of the result, when tensors follow
    w
        any tags, shared ones at equal sizes
    rest
        the tags of the result; or more tensors
    """
    ...
def elemental(*slopes: Any, vector: Any = None) -> Any:
    """Make an operation of a function of one or two numbers. Options of the function come after a `*`.

    `@elemental(slope)` stands over `f(x)`, `@elemental(slope_a, slope_b)` over `f(a, b)`.

    Parameters
    ----------
    slopes
        one per operand: slope(x, y, g) or slope(a, b, y, g), what goes back to it
    vector
        (function, *slopes) that do the same on whole arrays; True: these do
    """
    ...
def elu(x: Tensor) -> Tensor:
    """x above 0, exp(x) - 1 elsewhere (Clevert et al. 2015). Unlike torch, alpha is always 1.

    Parameters
    ----------
    x
        any tags
    """
    ...
def empty(tags: _Tags, shape: _Sizes | None = None, *, dtype: _DType = 'f32', **sizes: int) -> Tensor:
    """A tensor of whatever the memory held, for those who write every value before reading one.

    Parameters
    ----------
    tags
        names of the axes: 'row col'
    shape
        sizes in that order, or by name
    dtype
        number type
    sizes
        sizes by name: row=2, col=3
    """
    ...
def empty_like(x: Tensor, dtype: _DType | None = None) -> Tensor:
    """Memory with the tags and sizes of x, to be written before it is read; a constant.

    Parameters
    ----------
    x
        gives tags, sizes and number type
    dtype
        another number type
    """
    ...
def eq(x: Tensor, other: Tensor | float) -> Tensor:
    """Where x equals other; NaN equals nothing. Unlike torch, nothing is stretched.

    Parameters
    ----------
    x
        any tags
    other
        a tensor of the same tags and sizes, or a number
    """
    ...
def exp(x: Tensor) -> Tensor:
    """e to the power x.

    Parameters
    ----------
    x
        any tags
    """
    ...
def explain(fn: Any, *args: Any, **kw: Any) -> Any:
    """Run `fn` and tell which matrix products it became and what they copied; `.result` is what it returned.

    Parameters
    ----------
    fn
        a function or method that contracts tensors: x.dot, model, lambda: loss.backward()
    args
        its arguments
    """
    ...
def eye(tags: _Tags, shape: _Sizes | None = None, *, dtype: _DType = 'f32', **sizes: int) -> Tensor:
    """Ones on the diagonal, zeros elsewhere.

    Parameters
    ----------
    tags
        names of the two axes: 'row col'
    shape
        size of both, or two sizes, or by name
    dtype
        number type
    sizes
        sizes by name: row=2, col=3
    """
    ...
f16: DType
f32: DType
f64: DType
f8_e4m3: DType
f8_e5m2: DType
def flatten(x: Tensor, tag: _Tags) -> Tensor:
    """All values on one axis in the order of the tags; a view if x is contiguous, else a copy.

    Parameters
    ----------
    x
        any tags
    tag
        name of the one axis of the result
    """
    ...
def flip(x: Tensor, *tags: _Tags) -> Tensor:
    """Each named axis in reverse order.

    Parameters
    ----------
    x
        any tags
    tags
        axes to reverse
    """
    ...
def floor(x: Tensor) -> Tensor:
    """The largest whole number not above x, in the type of x.

    Parameters
    ----------
    x
        any tags
    """
    ...
def fold(x: Tensor, size: _Sizes, kernel: _Sizes, stride: _Sizes = 1, padding: _Sizes = 0, out: _Tags = 'h w c') -> Tensor:
    """Every entry of every window added to the pixel it was read from: the adjoint of unfold.

    Parameters
    ----------
    x
        'patch elem', as unfold gives it; more axes in front pass through
    size
        rows and columns of the picture, or one number for both
    kernel
        size of the window, as in unfold
    stride
        steps from window to window
    padding
        rows and columns of zeros around the picture
    out
        names of the picture's axes
    """
    ...
def full(tags: _Tags, *what: Any, dtype: _DType | None = None, **sizes: int) -> Tensor:
    """One value everywhere: full('row col', 7., row=2, col=3) or full('row col', (2, 3), 7.).

    Parameters
    ----------
    tags
        names of the axes: 'row col'
    what
        the value; or, as in torch and NumPy, the sizes and the value
    dtype
        number type; None: 7. makes f32, 7 makes i64, True makes bool
    sizes
        sizes by name: row=2, col=3
    """
    ...
def full_like(x: Tensor, value: _Number, dtype: _DType | None = None) -> Tensor:
    """One value everywhere, with the tags, sizes and number type of x; a constant.

    Parameters
    ----------
    x
        gives tags, sizes and number type
    value
        a number
    dtype
        another number type
    """
    ...
def gated(up: Tensor, gate: Tensor, name: _Tags) -> Tensor:
    """up * act(gate) for the gate called `name`; the second operand is the gate.

    Parameters
    ----------
    up
        any tags, real numbers: what passes
    gate
        met by name: how much of it
    name
        'glu', 'swiglu', 'geglu' or 'situ'
    """
    ...
def ge(x: Tensor, other: Tensor | float) -> Tensor:
    """Where x >= other. Unlike torch, nothing is stretched.

    Parameters
    ----------
    x
        any tags
    other
        a tensor of the same tags and sizes, or a number
    """
    ...
def geglu(up: Tensor, gate: Tensor) -> Tensor:
    """up * gelu(gate, 'tanh').

    Parameters
    ----------
    up
        any tags, real numbers: what passes
    gate
        met by name: how much of it
    """
    ...
def gelu(x: Tensor, approximate: Literal['none', 'tanh', 'quant'] = 'none') -> Tensor:
    """x times the probability that a standard normal number is below x (Hendrycks and Gimpel 2016).

    Parameters
    ----------
    x
        any tags, real numbers
    approximate
        'none' for x Phi(x), 'tanh', or 'quant', ggml's table of that form
    """
    ...
def get_num_threads() -> int:
    """Threads that a compiled kernel uses."""
    ...
def glu(up: Tensor, gate: Tensor) -> Tensor:
    """up * sigmoid(gate). Unlike torch, of two tensors; split_gated halves one.

    Parameters
    ----------
    up
        any tags, real numbers: what passes
    gate
        met by name: how much of it
    """
    ...
def gradcheck(fn: Callable[..., Any], *inputs: Tensor, eps: float = 1e-06, atol: float = 1e-06, rtol: float = 1e-05, **kw: Any) -> Any:
    """Compare the gradient rules of `fn` with central differences in f64. GradientMismatch names the first slope that
    differs.

    Parameters
    ----------
    fn
        a function of the inputs that returns one tensor
    inputs
        tensors; those that require a gradient are checked, or else every real one
    eps
        size of a nudge, relative to values above 1
    atol
        allowed absolute difference
    rtol
        allowed difference relative to the larger slope
    kw
        passed on to fn
    """
    ...
def group_norm(x: Tensor, tag: _Tags, groups: int, eps: float = 1e-05, weight: Tensor | None = None, bias: Tensor | None = None, over: Any = None) -> Tensor:
    """Each group of channels less its mean over its standard deviation, over all of time or `over`.

    Unlike torch, no axis is a batch unless `over` leaves it out.

    Parameters
    ----------
    x
        two axes, channels last; with `over` any
    tag
        channels
    groups
        how many groups the channels form
    eps
        added to the variance
    weight
        one factor per channel
    bias
        one offset per channel
    over
        axes that belong together, 'h w'; None: time, the first of two
    """
    ...
def grouped_dot(x: Tensor, w: Tensor, counts: Any) -> Tensor:
    """Each row of x times the matrix of its own group: 'row out'.

    Parameters
    ----------
    x
        'row in', rows of one group together; the last axis is summed
    w
        'group out in', of 16 bits or as x; or blocks of few bits
    counts
        how many rows each group has, in order
    """
    ...
def gt(x: Tensor, other: Tensor | float) -> Tensor:
    """Where x > other. Unlike torch, nothing is stretched.

    Parameters
    ----------
    x
        any tags
    other
        a tensor of the same tags and sizes, or a number
    """
    ...
def gumbel(tags: _Tags, shape: _Sizes | None = None, *, seed: int | None = None, dtype: _DType = 'f32', **sizes: int) -> Tensor:
    """Random numbers of the Gumbel distribution: the argmax of logits + gumbel draws a class with its softmax probability.

    Parameters
    ----------
    tags
        names of the axes: 'row col'
    shape
        sizes in that order, or by name
    seed
        same seed, same numbers; None: the next one of the process
    dtype
        a real number type
    sizes
        sizes by name: row=2, col=3
    """
    ...
def hint(id: Any = ..., n: Any = None) -> Any:
    """The next hint, or the n-th; after the last it says where the solution is.

    Parameters
    ----------
    id
        the exercise
    n
        which one, from 1; None: the next
    """
    ...
def huber_loss(x: Tensor, target: Tensor, delta: float = 1.0, reduction: Literal['mean', 'sum', 'none'] = 'mean') -> Tensor:
    """(x - target)**2 / 2 up to a difference of delta, beyond it a straight line.

    Unlike torch, nothing is broadcast.

    Parameters
    ----------
    x
        prediction, any tags
    target
        like x
    delta
        where the square becomes a straight line
    reduction
        'mean' over all values, 'sum', or 'none'
    """
    ...
i16: DType
i32: DType
i64: DType
i8: DType
def index_add(x: Tensor, tag: _Tags, indices: Any, update: Tensor) -> Tensor:
    """x with the rows of `update` added at these positions.

    Parameters
    ----------
    x
        any tags
    tag
        axis of the rows
    indices
        positions of one axis; repeats accumulate in their order
    update
        like x with one entry per position
    """
    ...
def index_select(x: Tensor, tag: _Tags, indices: Any, out: _Tags | None = None) -> Tensor:
    """The entries of one axis at these positions, in this order. (torch.gather is take_along_axis.)

    Parameters
    ----------
    x
        any tags
    tag
        axis to pick from
    indices
        positions: list, array or i64 tensor of one axis; repeats are fine
    out
        new name of the axis; None keeps it
    """
    ...
def insert_axis(x: Tensor, tag: _Tags, index: int = 0) -> Tensor:
    """A new axis of size 1; a view. Unlike torch's unsqueeze it is named; align_to places it by name.

    Parameters
    ----------
    x
        any tags
    tag
        name of the new axis
    index
        its place among the axes; -1 is the end
    """
    ...
def is_grad_enabled() -> bool:
    """Whether operations are recorded here."""
    ...
def isfinite(x: Tensor) -> Tensor:
    """Where x is neither NaN nor inf nor -inf.

    Parameters
    ----------
    x
        any tags
    """
    ...
def isinf(x: Tensor) -> Tensor:
    """Where x is inf or -inf.

    Parameters
    ----------
    x
        any tags
    """
    ...
def isnan(x: Tensor) -> Tensor:
    """Where x is not a number.

    Parameters
    ----------
    x
        any tags
    """
    ...
def kda_recurrent(q: Tensor, k: Tensor, v: Tensor, g_raw: Tensor, beta_raw: Tensor, a_log: Tensor, dt_bias: Tensor, initial_state: Tensor | None = None, scale: float = 0.0) -> tuple[Tensor, ...]:
    """Gated delta rule, step by step: (result 'seq head v', state 'head k v').

    Parameters
    ----------
    q
        'seq head k'
    k
        like q
    v
        'seq head v'
    g_raw
        like q: speed of fading before softplus
    beta_raw
        'seq head': strength of writing before sigmoid
    a_log
        log of the speed of each head, or of each channel of k
    dt_bias
        added to g_raw, heads x k numbers in all
    initial_state
        'head k v'; None for zeros
    scale
        of the queries; 0 or less for 1 / sqrt(k)
    """
    ...
def kl_div(x: Tensor, target: Tensor, reduction: Literal['mean', 'sum', 'none'] = 'mean', log_target: bool = False) -> Tensor:
    """target * (log target - x), 0 where the target is 0, with gradient 0 there.

    Unlike torch, there is no reduction 'batchmean'.

    Parameters
    ----------
    x
        logarithms of probabilities, any tags
    target
        like x: probabilities, or their logarithms
    reduction
        'mean' over all values, 'sum', or 'none'; over the rows: 'sum' / rows
    log_target
        the target holds logarithms
    """
    ...
def l2_normalize(x: Tensor, tag: _Tags, eps: float = 1e-12) -> Tensor:
    """x over its length along `tag`. Unlike torch, eps is added to the squared length.

    Parameters
    ----------
    x
        any tags
    tag
        axis of the rows
    eps
        added to the squared length
    """
    ...
def layer_norm(x: Tensor, tag: _Tags, eps: float = 1e-05, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
    """x less its mean, over its standard deviation, along `tag`; times weight plus bias.

    Unlike torch, weight and bias come together.

    Parameters
    ----------
    x
        any tags
    tag
        axis of the rows
    eps
        added to the variance
    weight
        one factor per entry of the axis, tagged `tag`; with bias
    bias
        one offset per entry of the axis, tagged `tag`; with weight
    """
    ...
def le(x: Tensor, other: Tensor | float) -> Tensor:
    """Where x <= other. Unlike torch, nothing is stretched.

    Parameters
    ----------
    x
        any tags
    other
        a tensor of the same tags and sizes, or a number
    """
    ...
def leaky_relu(x: Tensor, negative_slope: float) -> Tensor:
    """x from 0 up, negative_slope * x below. Unlike torch, the slope has no default.

    Parameters
    ----------
    x
        any tags, real numbers
    negative_slope
        a number, the slope below 0 and at 0
    """
    ...
def linear_cross_entropy(x: Tensor, weight: Tensor, labels: Any, ignore_index: int | None = None, reduction: Literal['mean', 'sum', 'none'] = 'mean', label_smoothing: float = 0.0) -> Tensor:
    """cross_entropy of x @ weight.T, a few rows at a time: scores and their gradient never exist whole.

    Parameters
    ----------
    x
        any tags, the last one shared with the weight
    weight
        'class d': one row per class, the last axis that of x
    labels
        the right class of every row: i64 tensor, array or list
    ignore_index
        label of rows that do not count
    reduction
        'mean' over the rows that count, 'sum', or 'none'
    label_smoothing
        this share of the target is spread over all classes
    """
    ...
def linear_distill(x: Tensor, weight: Tensor, rows: Any, classes: Any, probs: Any, reduction: Literal['mean', 'sum'] = 'mean', loss_scale: float = 1.0) -> Tensor:
    """Cross entropy of x @ weight.T with a few probabilities per row.

    Rows that are not named are not computed and get gradient 0.

    Parameters
    ----------
    x
        'row d'
    weight
        'class d': one row per class
    rows
        row of each entry; rows may come several times, and in any order
    classes
        class of each entry
    probs
        what the teacher gives it, as it is: not brought to a sum of 1
    reduction
        'mean' over the entries, or 'sum'
    loss_scale
        the result is multiplied by it
    """
    ...
def linear_recurrence(x: Tensor, tag: _Tags, decay: Tensor, initial: Tensor | None = None) -> Tensor:
    """Every h[t] = decay[t] * h[t-1] + x[t] along `tag`. The last as `initial` goes on bit for bit.

    Parameters
    ----------
    x
        any tags, real numbers: what is added at each step
    tag
        the axis of time
    decay
        factor of the state; broadcast by name over the axes of x
    initial
        the state before the first: x without `tag`; None for 0
    """
    ...
def linspace(tag: _Tags, start: float, end: float, steps: int, *, dtype: _DType = 'f32') -> Tensor:
    """`steps` values at equal distances from start to end, both included; a single one is start.

    Parameters
    ----------
    tag
        name of the axis
    start
        first value
    end
        last value, reached exactly
    steps
        how many values
    dtype
        a real number type
    """
    ...
def log(x: Tensor) -> Tensor:
    """The natural logarithm; -inf at 0, NaN below.

    Parameters
    ----------
    x
        any tags
    """
    ...
def log1p(x: Tensor) -> Tensor:
    """ln(1 + x), right for tiny x too.

    Parameters
    ----------
    x
        any tags
    """
    ...
def log_softmax(x: Tensor, tag: _Tags) -> Tensor:
    """x - logsumexp(x) along `tag`: the logarithms of the shares. A row of -inf gives NaN.

    inf gives NaN too, and -inf beside it; in torch the whole row is NaN.

    Parameters
    ----------
    x
        any tags
    tag
        the axis whose shares add up to 1
    """
    ...
def logical_and(x: Tensor, other: Tensor) -> Tensor:
    """Where both are true. Unlike torch, whole numbers are refused.

    Parameters
    ----------
    x
        bool, or real numbers read as "not 0"
    other
        the same, same tags and sizes
    """
    ...
def logical_not(x: Tensor) -> Tensor:
    """Where x is false. Unlike torch, whole numbers are refused.

    Parameters
    ----------
    x
        bool, or real numbers read as "not 0"
    """
    ...
def logical_or(x: Tensor, other: Tensor) -> Tensor:
    """Where one or both are true. Unlike torch, whole numbers are refused.

    Parameters
    ----------
    x
        bool, or real numbers read as "not 0"
    other
        the same, same tags and sizes
    """
    ...
def logical_xor(x: Tensor, other: Tensor) -> Tensor:
    """Where exactly one is true. Unlike torch, whole numbers are refused.

    Parameters
    ----------
    x
        bool, or real numbers read as "not 0"
    other
        the same, same tags and sizes
    """
    ...
def logsumexp(x: Tensor, tag: _Tags) -> Tensor:
    """log sum exp(x) along `tag`. A row of -inf gives -inf with gradient 0 (torch: NaN); inf gives inf.

    Parameters
    ----------
    x
        any tags
    tag
        the axis to add up along; it goes away
    """
    ...
def lt(x: Tensor, other: Tensor | float) -> Tensor:
    """Where x < other. Unlike torch, nothing is stretched.

    Parameters
    ----------
    x
        any tags
    other
        a tensor of the same tags and sizes, or a number
    """
    ...
def manual_seed(seed: int) -> Any:
    """Start the seeds that calls without `seed=` receive over again, for all threads.

    Parameters
    ----------
    seed
        a whole number
    """
    ...
def masked_fill(x: Tensor, mask: Tensor, value: _Number) -> Tensor:
    """`value` where the mask is true, x elsewhere. Unlike torch, the mask is not stretched.

    Parameters
    ----------
    x
        any tags
    mask
        bool, or real numbers read as "not 0"; tags and sizes of x
    value
        a number
    """
    ...
def masked_scatter(x: Tensor, mask: Any, values: Tensor) -> Tensor:
    """x with `values` at the marked places, in reading order.

    Parameters
    ----------
    x
        any tags
    mask
        bool tensor (or reals, where not 0) of the same tags and sizes
    values
        one axis, exactly as many values as places are marked
    """
    ...
def masked_select(x: Tensor, mask: Any, out: _Tags) -> Tensor:
    """The marked values in reading order. Unlike torch, none at all is an error.

    Parameters
    ----------
    x
        any tags
    mask
        bool tensor (or reals, where not 0) of the same tags and sizes
    out
        name of the one axis of the result
    """
    ...
def materialize(x: Tensor) -> Tensor:
    """A contiguous copy.

    Parameters
    ----------
    x
        any tags
    """
    ...
def matmul(x: Tensor, y: Tensor, out_tags: _Tags, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """Matrix product by position; leading axes broadcast.

    Unlike torch.matmul no vectors, and the names of the result are given.

    Parameters
    ----------
    x
        at least two axes; the last one is summed
    y
        at least two axes; the last but one is summed
    out_tags
        tags of the result: the leading axes, then rows, then columns
    transpose_a
        swap the last two axes of x first; only where there is a batch
    transpose_b
        swap the last two axes of y first
    """
    ...
def max(x: Tensor, *tags: _Tags, mask: Any = None, empty: float | None = None) -> Tensor:
    """The largest value along the named axes; the first one gets the gradient. Unlike torch, NaN never wins: only a lane
    of NaN gives NaN.

    Parameters
    ----------
    x
        any tags
    tags
        axes to reduce; none means all
    mask
        tensor of truth values with the axes of x: what takes part
    empty
        with a mask: the result where nothing is selected (max: -inf, min: inf)
    """
    ...
def max_pool2d(x: Tensor, kernel: _Sizes, stride: _Sizes | None = None, padding: _Sizes = 0) -> Tensor:
    """The largest value in each window; the gradient goes to the first of equals.

    Unlike torch, a NaN loses against any number.

    Parameters
    ----------
    x
        'h w c', channels last; more axes in front pass through
    kernel
        size of the window: rows and columns, or one number for both
    stride
        steps from window to window, likewise; the size of the window by default
    padding
        rows and columns beyond each side that windows may reach, likewise
    """
    ...
def maximum(x: Tensor, other: Tensor | float) -> Tensor:
    """The larger of x and other; NaN in either gives NaN. Unlike torch, NaN passes no gradient.

    Parameters
    ----------
    x
        any tags
    other
        a tensor, met by name, or a number
    """
    ...
def mean(x: Tensor, *tags: _Tags, mask: Any = None, empty: float | None = None) -> Tensor:
    """The mean along the named axes. Unlike torch, of whole numbers too: it is f32.

    Parameters
    ----------
    x
        any tags
    tags
        axes to average over; none means all
    mask
        tensor of truth values with the axes of x: what to average
    empty
        with a mask: the result where nothing is selected (NaN if not given)
    """
    ...
def merge(x: Tensor, tag: _Tags, *tags: _Tags) -> Tensor:
    """Several neighbouring axes as one; a view or UnsupportedView. Unlike torch.flatten, never a copy.

    Parameters
    ----------
    x
        any tags
    tag
        name of the merged axis
    tags
        neighbouring axes in the order they have
    """
    ...
def min(x: Tensor, *tags: _Tags, mask: Any = None, empty: float | None = None) -> Tensor:
    """The smallest value along the named axes; the first one gets the gradient. Unlike torch, NaN never wins: only a lane
    of NaN gives NaN.

    Parameters
    ----------
    x
        any tags
    tags
        axes to reduce; none means all
    mask
        tensor of truth values with the axes of x: what takes part
    empty
        with a mask: the result where nothing is selected (max: -inf, min: inf)
    """
    ...
def minimum(x: Tensor, other: Tensor | float) -> Tensor:
    """The smaller of x and other; NaN in either gives NaN. Unlike torch, NaN passes no gradient.

    Parameters
    ----------
    x
        any tags
    other
        a tensor, met by name, or a number
    """
    ...
def mod(x: Tensor, other: Tensor | float) -> Tensor:
    """What div_floor leaves; the sign of the divisor, as Python's %.

    Parameters
    ----------
    x
        whole numbers
    other
        whole numbers, met by name
    """
    ...
def moe_ffn(x: Tensor, experts: Any, selected: Any, weights: Tensor) -> Tensor:
    """What the chosen experts say of each token, weighted and added up. Others are not read.

    Parameters
    ----------
    x
        'token embed'
    experts
        Experts, resident or streamed
    selected
        whole numbers 'token choice': which experts each token goes to
    weights
        how much each of them says: 'token choice'
    """
    ...
def mse_loss(x: Tensor, target: Tensor, reduction: Literal['mean', 'sum', 'none'] = 'mean') -> Tensor:
    """(x - target)**2. Unlike torch, nothing is broadcast.

    Parameters
    ----------
    x
        prediction, any tags
    target
        like x
    reduction
        'mean' over all values, 'sum', or 'none'
    """
    ...
def mul(x: Tensor, other: Tensor | float) -> Tensor:
    """x * other, broadcasting by name.

    Parameters
    ----------
    x
        any tags
    other
        a tensor, met by name, or a number
    """
    ...
def mul_(x: Tensor, s: float) -> Tensor:
    """x *= s in place; returns x.

    Parameters
    ----------
    x
        changed in place
    s
        a number
    """
    ...
def multinomial(x: Tensor, tag: _Tags, out: _Tags, num_samples: int, seed: int = 0, replacement: bool = True) -> Tensor:
    """Classes drawn in proportion to their weights, i64.

    Unlike torch, replacement is the default and the seed is given.

    Parameters
    ----------
    x
        weights of one or two axes, at least 0, any total
    tag
        the last axis: classes
    out
        name of the axis of draws
    num_samples
        draws per row
    seed
        whole number that fixes the draws
    replacement
        False: no class twice
    """
    ...
def narrow(x: Tensor, tag: _Tags, start: int, length: int) -> Tensor:
    """A range of one axis; a view. Unlike torch, start does not count from the end.

    Parameters
    ----------
    x
        any tags
    tag
        axis to cut
    start
        first index kept
    length
        how many are kept
    """
    ...
def ne(x: Tensor, other: Tensor | float) -> Tensor:
    """Where x differs from other; NaN differs from everything. Unlike torch, nothing is stretched.

    Parameters
    ----------
    x
        any tags
    other
        a tensor of the same tags and sizes, or a number
    """
    ...
def neg(x: Tensor) -> Tensor:
    """-x.

    Parameters
    ----------
    x
        any tags
    """
    ...
def nll_loss(x: Tensor, tag: _Tags, labels: Any, reduction: Literal['mean', 'sum', 'none'] = 'mean') -> Tensor:
    """-x[label]. The entry is selected, so -inf at another class stays out.

    Unlike torch, there is no ignore_index.

    Parameters
    ----------
    x
        logarithms of probabilities, any tags
    tag
        the axis of the classes
    labels
        the right class of every other position: i64 tensor, array or list
    reduction
        'mean' over the positions, 'sum', or 'none'
    """
    ...
def nonzero(x: Tensor) -> _Array:
    """Positions in reading order of all values that are not 0, as a plain i64 array; NaN counts.

    None is fine. Unlike torch, flat positions.

    Parameters
    ----------
    x
        any tags
    """
    ...
def norm(x: Tensor, *tags: _Tags, ord: float | str = 2) -> Tensor:
    """The length of the vectors along the named axes; the gradient of a zero vector is 0.

    Unlike torch, the first of equal maxima gets the whole gradient of the inf norm.

    Parameters
    ----------
    x
        any tags, real numbers
    tags
        axes of the vectors; none means all of x is one
    ord
        1, 2 or 'inf'
    """
    ...
def normal(tags: _Tags, shape: _Sizes | None = None, mean: float = 0.0, std: float = 1.0, *, seed: int | None = None, dtype: _DType = 'f32', **sizes: int) -> Tensor:
    """Random numbers of a normal distribution: randn * std + mean.

    Parameters
    ----------
    tags
        names of the axes: 'row col'
    shape
        sizes in that order, or by name
    mean
        centre
    std
        standard deviation, not negative
    seed
        same seed, same numbers; None: the next one of the process
    dtype
        a real number type
    sizes
        sizes by name: row=2, col=3
    """
    ...
def one_hot(indices: Any, tags: _Tags, depth: int, *, dtype: _DType = 'f32') -> Tensor:
    """For each index a row of zeros with a 1 at that place. Unlike torch, real numbers.

    Parameters
    ----------
    indices
        whole numbers below depth: a tensor, or an array or list
    tags
        name of the new last axis; for an array or list the names of all axes
    depth
        size of the new axis
    dtype
        number type
    """
    ...
def ones(tags: _Tags, shape: _Sizes | None = None, *, dtype: _DType = 'f32', **sizes: int) -> Tensor:
    """A tensor of ones.

    Parameters
    ----------
    tags
        names of the axes: 'row col'
    shape
        sizes in that order, or by name
    dtype
        number type
    sizes
        sizes by name: row=2, col=3
    """
    ...
def ones_like(x: Tensor, dtype: _DType | None = None) -> Tensor:
    """Ones with the tags and sizes of x; a constant.

    Parameters
    ----------
    x
        gives tags, sizes and number type
    dtype
        another number type
    """
    ...
def op_table(family: Any = None) -> Any:
    """The operations of a family with their gradchecks, computed now. OptionError if there is no such family.

    Parameters
    ----------
    family
        a family of the registry, or None for all
    """
    ...
def pack(w: Tensor, layout: Any = None) -> PackedWeight:
    """An independent, prepared copy of a weight for x.dot(packed, tag); 16-bit weights are widened once.

    Parameters
    ----------
    w
        two axes, rows first: 'out in'; or a BlockTensor (chapter 25a)
    layout
        'dense_f32' is the one layout of a tensor
    """
    ...
def pad(x: Tensor, tag: _Tags, before: int, after: int, value: float = 0.0) -> Tensor:
    """Constant values in front of and behind an axis.

    Parameters
    ----------
    x
        any tags
    tag
        axis that grows
    before
        how many values in front
    after
        how many behind
    value
        what they are
    """
    ...
def param(data: Any, tags: _Tags = (), dtype: _DType | None = None) -> Tensor:
    """A trainable leaf: `Tensor(data, tags, requires_grad=True)`."""
    ...
def parse(*names: _Tags) -> tuple[str, ...]:
    """The tags in `names` as a tuple of strings. TagError if one is not an identifier or stands twice.

    Parameters
    ----------
    names
        'row col', or 'row', 'col', or ('row', 'col'): all the same
    """
    ...
def permute(x: Tensor, *tags: _Tags) -> Tensor:
    """The axes in another order; a view.

    Parameters
    ----------
    x
        any tags
    tags
        all of them in the order wanted
    """
    ...
def pow(x: Tensor, other: Tensor | float) -> Tensor:
    """x ** other; 0**0 is 1, a negative base with a fractional exponent NaN. The gradient of x**0
    is 0, at 0 too.

    Parameters
    ----------
    x
        any tags
    other
        a tensor, met by name, or a number
    """
    ...
def prelu(x: Tensor, alpha: Tensor) -> Tensor:
    """x above zero, alpha times x elsewhere; the slope at zero is alpha.

    Parameters
    ----------
    x
        any tags
    alpha
        slope of each channel below zero; its axis is that of the channels
    """
    ...
def prepare_conv2d(w: Tensor) -> PreparedConv2d:
    """An independent, prepared copy of a weight for x.conv2d(prepared); 16-bit weights are widened once.

    Parameters
    ----------
    w
        'out kh kw c'
    """
    ...
def prod(x: Tensor, *tags: _Tags) -> Tensor:
    """The product along the named axes; its gradient is exact with zeros.

    f32 is multiplied in f64, whole numbers in i64.

    Parameters
    ----------
    x
        any tags
    tags
        axes to multiply over; none means all
    """
    ...
def profile(step: Any, *args: Any, runs: Any = 3, **kw: Any) -> Any:
    """Where the time and the bytes of `step(*args)` go, by operation and layer: a table.

    Parameters
    ----------
    step
        a function
    args
        what it is given
    runs
        how often it is measured, after one run that is not
    """
    ...
def quick_gelu(x: Tensor) -> Tensor:
    """x sigmoid(1.702 x), a rough gelu.

    Parameters
    ----------
    x
        any tags
    """
    ...
def rand(tags: _Tags, shape: _Sizes | None = None, *, seed: int | None = None, dtype: _DType = 'f32', **sizes: int) -> Tensor:
    """Random numbers in [0, 1). Unlike torch, a function of the seed alone.

    Parameters
    ----------
    tags
        names of the axes: 'row col'
    shape
        sizes in that order, or by name
    seed
        same seed, same numbers; None: the next one of the process
    dtype
        a real number type
    sizes
        sizes by name: row=2, col=3
    """
    ...
def randint(tags: _Tags, shape: _Sizes | None = None, low: int = 0, high: int | None = None, *, seed: int | None = None, dtype: _DType = 'i64', **sizes: int) -> Tensor:
    """Random whole numbers from low to high - 1.

    Parameters
    ----------
    tags
        names of the axes: 'row col'
    shape
        sizes in that order, or by name
    low
        least value
    high
        bound that is not reached
    seed
        same seed, same numbers; None: the next one of the process
    dtype
        a whole number type
    sizes
        sizes by name: row=2, col=3
    """
    ...
def randn(tags: _Tags, shape: _Sizes | None = None, *, seed: int | None = None, dtype: _DType = 'f32', **sizes: int) -> Tensor:
    """Random numbers of the standard normal distribution. Unlike torch, a function of the seed alone.

    Parameters
    ----------
    tags
        names of the axes: 'row col'
    shape
        sizes in that order, or by name
    seed
        same seed, same numbers; None: the next one of the process
    dtype
        a real number type
    sizes
        sizes by name: row=2, col=3
    """
    ...
def randperm(tag: _Tags, n: int, *, seed: int | None = None) -> Tensor:
    """The numbers 0 to n - 1 in random order, i64.

    Parameters
    ----------
    tag
        name of the axis
    n
        how many
    seed
        same seed, same order; None: the next one of the process
    """
    ...
def reciprocal(x: Tensor) -> Tensor:
    """1 / x; inf at 0.

    Parameters
    ----------
    x
        any tags
    """
    ...
def record(step: Any) -> Any:
    """The step, replayed: after four runs, calls alone on fixed memory, where that gives the same bits.

    What a replay returns are constants. `why` says what keeps a step from being a plan.

    Parameters
    ----------
    step
        a function of tensors, arrays and numbers: forward, backward, an optimizer's step
    """
    ...
registry: Any
def relpos_shift(x: Tensor, t_k: int, out_tags: _Tags) -> Tensor:
    """Scores by distance as scores by key: entry (q, j) is x at (q, j + queries - 1 - q).

    Parameters
    ----------
    x
        ends in query and distance
    t_k
        keys; there are at least t_k + queries - 1 distances
    out_tags
        all names of the result
    """
    ...
def relu(x: Tensor) -> Tensor:
    """x where it is above 0, else 0; the slope at 0 is 0, NaN stays NaN.

    Parameters
    ----------
    x
        any tags
    """
    ...
def rem(x: Tensor, other: Tensor | float) -> Tensor:
    """What div_trunc leaves; the sign of the dividend, as C's %.

    Parameters
    ----------
    x
        whole numbers
    other
        whole numbers, met by name
    """
    ...
def rename(self: Tensor, *tags: _Tags, **names: _Tags) -> Tensor:
    """The same axes under other names; a view. x.rename('a b') or x.rename(row='a').

    Parameters
    ----------
    tags
        new names of all axes, in order
    names
        or of some: old='new'
    """
    ...
def repeat(x: Tensor, tag: _Tags, n: int) -> Tensor:
    """An axis n times back to back. Unlike np.repeat, which repeats each entry.

    Parameters
    ----------
    x
        any tags
    tag
        axis to tile
    n
        how many times; 1 gives a view
    """
    ...
def reshape(self: Tensor, tags: _Tags, shape: _Sizes | None = None, **sizes: int) -> Tensor:
    """The values in the order of the tags under new axes; a view if x is contiguous, else a copy.

    Unlike torch it refuses to swap axes.

    Parameters
    ----------
    tags
        tags of the result
    shape
        their sizes in that order; one may be -1
    sizes
        or by name: a=2; one may be left out
    """
    ...
def rms_norm(x: Tensor, tag: _Tags, eps: float = 1e-06, weight: Tensor | None = None, residual: Tensor | None = None, rope: Any = None) -> Tensor:
    """x over its root mean square along `tag`, times weight, plus residual.

    Parameters
    ----------
    x
        any tags
    tag
        axis of the rows
    eps
        added to the mean square
    weight
        one factor per entry of the axis, tagged `tag`
    residual
        added to the result; like x
    rope
        (position tag, rope_table that spans `tag`): turns the result
    """
    ...
def roll(x: Tensor, tag: _Tags, shift: int) -> Tensor:
    """An axis turned in a circle: entry i moves to i + shift, around the end.

    Parameters
    ----------
    x
        any tags
    tag
        axis to turn
    shift
        how far forward; negative ones turn back
    """
    ...
def roll_by(x: Tensor, tag: _Tags, offsets: Any) -> Tensor:
    """Every section along an axis turned in a circle by an offset of its own.

    Parameters
    ----------
    x
        any tags
    tag
        axis to turn
    offsets
        how far each section goes: a tensor with other tags of x, or one whole number
    """
    ...
def rope(x: Tensor, position: _Tags, feature: _Tags, source: Any, mode: Literal['half', 'interleaved', 'interleaved_tail'] = 'half', positions: Any = None) -> Tensor:
    """Pairs of features turned by angles that grow with the position.

    A table for fewer features turns the first (in 'interleaved_tail' the last) and leaves the rest.

    Parameters
    ----------
    x
        any tags
    position
        axis along which positions run
    feature
        axis whose pairs turn
    source
        a RopeTable, or theta
    mode
        which features form a pair: 'half', 'interleaved' or 'interleaved_tail'
    positions
        list or AxisRange; None: all of the table in order, or 0, 1, 2, ..
    """
    ...
def rope_table(positions: Any, dim: int | None = None, theta: float = 10000.0, freq_factors: Any = None, inv_freqs: Any = None, inverse: bool = False) -> RopeTable:
    """Sines and cosines for rope: of position / theta**(2i/dim) in f32, unless inv_freqs are given.

    Parameters
    ----------
    positions
        whole numbers, or an AxisRange
    dim
        how many features turn, an even number; inv_freqs say it too
    theta
        base of the wavelengths
    freq_factors
        one number per pair by which its angles are divided
    inv_freqs
        radians per position of each pair, in f64, instead of theta
    inverse
        True: turn the other way
    """
    ...
def round(x: Tensor) -> Tensor:
    """The nearest whole number, the even one of two, in the type of x.

    Parameters
    ----------
    x
        any tags
    """
    ...
def route_plan(selected: Any, experts: Any) -> Any:
    """Which pair of token and choice goes where. IndexOutOfBounds for an expert that is not there.

    Parameters
    ----------
    selected
        whole numbers: the experts of each token, 'token choice'
    experts
        how many there are
    """
    ...
def router_topk(x: Tensor, tag: _Tags, k: int, normalize_selected: bool = True) -> Routes:
    """The k best experts of a row, ties to the lower, with their shares of the softmax. No gradient.

    Parameters
    ----------
    x
        scores of two axes
    tag
        the last axis: experts
    k
        how many experts per row
    normalize_selected
        the chosen weights add up to 1
    """
    ...
def rsqrt(x: Tensor) -> Tensor:
    """1 / sqrt(x).

    Parameters
    ----------
    x
        any tags
    """
    ...
def scatter(x: Tensor, tag: _Tags, indices: Any, source: Tensor) -> Tensor:
    """x with each entry of `source` written in its place; the last of several stays and has a gradient.

    Parameters
    ----------
    x
        any tags
    tag
        axis the positions are along
    indices
        i64 tensor, sizes of `source`
    source
        what is written; tags of x, its sizes but along `tag`
    """
    ...
def scatter_add(x: Tensor, tag: _Tags, indices: Any, source: Tensor) -> Tensor:
    """x with every entry of `source` added at its position; repeats accumulate in reading order.

    Parameters
    ----------
    x
        any tags
    tag
        axis the positions are along
    indices
        i64 tensor, sizes of `source`
    source
        what is added; tags of x, its sizes but along `tag`
    """
    ...
def segment_sum(x: Tensor, tag: _Tags, offsets: Any) -> Tensor:
    """Sums of neighbouring entries along `tag`; an empty segment gives 0.

    Unlike torch.segment_reduce it takes offsets, not lengths.

    Parameters
    ----------
    x
        any tags
    tag
        the axis that holds the segments end to end; it keeps its name
    offsets
        where each segment begins, and the size of the axis at the end
    """
    ...
def select(self: Tensor, *where: _Tags | int, **by_tag: int) -> Tensor:
    """One index of an axis, or of several; those axes go. A view.

    Parameters
    ----------
    where
        a tag and an index, or a dict {'row': -1}
    by_tag
        or by name: row=-1, col=0; negative ones count from the end
    """
    ...
def set_num_threads(n: int) -> Any:
    """Use `n` threads in kernels and matrix products from here on, in every thread. Results do not depend on it."""
    ...
def set_rows(x: Tensor, tag: _Tags, indices: Any, update: Tensor) -> Tensor:
    """x with the rows of `update` in place of these.

    Parameters
    ----------
    x
        any tags
    tag
        axis of the rows
    indices
        positions, each at most once
    update
        like x with one entry per position
    """
    ...
def set_slice(x: Tensor, tag: _Tags, start: int, update: Tensor) -> Tensor:
    """x with `update` in place of a range.

    Parameters
    ----------
    x
        any tags
    tag
        axis of the range
    start
        first position replaced
    update
        like x, as long along `tag` as the range
    """
    ...
def shift_by(x: Tensor, tag: _Tags, offsets: Any, value: float = 0.0) -> Tensor:
    """Every section along an axis moved by an offset of its own; values fall off, `value` fills the gap.

    Parameters
    ----------
    x
        any tags
    tag
        axis to move along
    offsets
        how far each section goes, as in roll_by
    value
        what fills the gap
    """
    ...
def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x)), exact on both sides.

    Parameters
    ----------
    x
        any tags
    """
    ...
def sign(x: Tensor) -> Tensor:
    """1 above 0, -1 below. Unlike torch and NumPy, -0 keeps its sign, and unlike torch NaN stays NaN.

    Parameters
    ----------
    x
        any tags
    """
    ...
def silu(x: Tensor) -> Tensor:
    """x sigmoid(x), also called swish (Elfwing et al. 2017).

    Parameters
    ----------
    x
        any tags
    """
    ...
def sin(x: Tensor) -> Tensor:
    """The sine of an angle in radians.

    Parameters
    ----------
    x
        any tags
    """
    ...
def situ(up: Tensor, gate: Tensor) -> Tensor:
    """25 tanh(up / 25) * 4 tanh(gate / 4) sigmoid(gate): both sides bounded.

    Parameters
    ----------
    up
        any tags, real numbers: what passes
    gate
        met by name: how much of it
    """
    ...
def slice(self: Tensor, *where: Any, **by_tag: Any) -> Tensor:
    """A range of each named axis. A view; in a graph a step above 1 makes a copy.

    Parameters
    ----------
    where
        a dict {'row': slice(1, None)}
    by_tag
        or by name: row=slice(1, None), col=(0, 4, 2); bounds as in Python
    """
    ...
def snake(x: Tensor, tag: _Tags, alpha: Tensor, inv_b: Tensor) -> Tensor:
    """x + inv_b sin(alpha x)**2, channel by channel.

    Parameters
    ----------
    x
        two axes, channels last
    tag
        the last axis: channels
    alpha
        frequency of each channel
    inv_b
        amplitude of each channel
    """
    ...
def softcap(x: Tensor, cap: float) -> Tensor:
    """cap * tanh(x / cap): x where it is small, never beyond the limit.

    Parameters
    ----------
    x
        any tags, real numbers
    cap
        the limit, a number above 0
    """
    ...
def softmax(x: Tensor, tag: _Tags, scale: float = 1, mask: Tensor | None = None, max_bias: float = 0, head: _Tags | None = None, sinks: Tensor | list[float] | float | None = None, causal: _Tags | None = None, source_offset: int = 0) -> Tensor:
    """exp(x) / sum exp(x) along `tag`; a row of -inf gives NaN.

    The mask is added, not truth values. Unlike in `attention`, causal counts from the first key.

    Parameters
    ----------
    x
        scores, any tags
    tag
        the axis whose shares add up to 1
    scale
        a number that multiplies x before anything is added
    mask
        added: 0 keeps, -inf removes; some of the axes of x; a constant
    max_bias
        ALiBi: the mask times a slope for each head, 2**-max_bias the smallest
    head
        the axis of heads, for max_bias and sinks
    sinks
        a score more for each head, not in the result; or numbers; a constant
    causal
        the axis of queries: query i sees entries 0 .. source_offset + i
    source_offset
        how many entries come before the first query's own
    """
    ...
def softplus(x: Tensor) -> Tensor:
    """ln(1 + exp(x)), a smooth relu whose slope is sigmoid(x). Unlike torch, no beta and no threshold.

    Parameters
    ----------
    x
        any tags
    """
    ...
def solution(id: Any = ...) -> Any:
    """The solution cell's source, from a notebook beside the library or in this folder, or from
    this session if it was run.
    """
    ...
def sort(x: Tensor, tag: _Tags, descending: bool = False) -> TopK:
    """Sorted values and where they were. The order of equal values is not promised.

    Unlike torch, NaN is last in both directions.

    Parameters
    ----------
    x
        any tags
    tag
        axis to sort along
    descending
        True: the largest first
    """
    ...
def split(self: Tensor, tag: _Tags, tags: _Tags, shape: _Sizes | None = None, **sizes: int) -> Tensor:
    """One axis as several; a view. Unlike torch.split, which cuts an axis into pieces.

    Parameters
    ----------
    tag
        axis to factor
    tags
        names of its factors, outermost first
    shape
        their sizes in that order; one may be -1
    sizes
        or by name: head=4; one may be left out
    """
    ...
def split_gated(x: Tensor, name: _Tags, tag: _Tags, out: _Tags | None = None) -> Tensor:
    """One half of an axis gated by the other; the axis comes out half as long.

    Parameters
    ----------
    x
        any tags, real numbers
    name
        'swiglu' (the first half is the gate) or 'glu' (the second half is)
    tag
        the axis to halve
    out
        its name in the result; None keeps it
    """
    ...
def sqrt(x: Tensor) -> Tensor:
    """The square root; NaN below 0, slope inf at 0.

    Parameters
    ----------
    x
        any tags
    """
    ...
def square(x: Tensor) -> Tensor:
    """x times x.

    Parameters
    ----------
    x
        any tags
    """
    ...
def squeeze(x: Tensor, *tags: _Tags) -> Tensor:
    """Without the named axes, which must have size 1; a view. Unlike torch, never without a name.

    Parameters
    ----------
    x
        any tags
    tags
        axes of size 1 to drop
    """
    ...
def stack(tensors: Sequence[Tensor], tag: _Tags, index: int = 0) -> Tensor:
    """Tensors as the entries of a new axis.

    Parameters
    ----------
    tensors
        at least one; equal tags and sizes
    tag
        name of the new axis
    index
        its place among the axes; -1 is the end
    """
    ...
def standardize(x: Tensor, tag: _Tags, ddof: int = 0, eps: float = 0.0, eps_mode: Literal['outside_sqrt', 'inside_sqrt'] = 'outside_sqrt', valid_len: int | None = None) -> Tensor:
    """x less its mean, over its standard deviation, along `tag`; the variance of too few values is 0.

    Parameters
    ----------
    x
        any tags
    tag
        axis of the rows
    ddof
        the variance divides by n - ddof
    eps
        keeps the divisor above 0
    eps_mode
        then sqrt(var) + eps; 'inside_sqrt': sqrt(var + eps)
    valid_len
        entries that count; the rest become 0 and get no gradient
    """
    ...
def std(x: Tensor, *tags: _Tags, ddof: int = 0) -> Tensor:
    """The standard deviation along the named axes; where it is 0 its gradient is 0.

    Unlike torch.std it divides by n unless ddof=1.

    Parameters
    ----------
    x
        any tags, real numbers
    tags
        axes along which the values vary; none means all
    ddof
        0: divide by n, for these values alone; 1: by n - 1, the estimate from a sample
    """
    ...
def sub(x: Tensor, other: Tensor | float) -> Tensor:
    """x - other, broadcasting by name.

    Parameters
    ----------
    x
        any tags
    other
        a tensor, met by name, or a number
    """
    ...
def sum(x: Tensor, *tags: _Tags, mask: Any = None, empty: float | None = None) -> Tensor:
    """The sum along the named axes, as exact along any axis; whole numbers and truth values give i64.

    Parameters
    ----------
    x
        any tags
    tags
        axes to add up; none means all
    mask
        tensor of truth values with the axes of x: what to add up
    empty
        with a mask: the result where nothing is selected (0 if not given)
    """
    ...
def summary(model: Any, *inputs: Any, **kw: Any) -> Any:
    """Sizes, parameters and bytes of each part of a model, from one call.

    Parameters
    ----------
    model
        a module
    inputs
        what it is called with: tensors, or sizes as 'batch=32 pixel=64'
    kw
        likewise, by name
    """
    ...
def swiglu(up: Tensor, gate: Tensor) -> Tensor:
    """up * silu(gate). Many libraries put the gate first; here it is second.

    Parameters
    ----------
    up
        any tags, real numbers: what passes
    gate
        met by name: how much of it
    """
    ...
def take_along_axis(x: Tensor, tag: _Tags, indices: Any) -> Tensor:
    """One entry along the axis for every entry of `indices`.

    Parameters
    ----------
    x
        any tags
    tag
        axis to pick along
    indices
        i64 tensor with the tags of x, and its sizes but along `tag`
    """
    ...
def tanh(x: Tensor, approximate: Literal['none', 'fast'] = 'none') -> Tensor:
    """The hyperbolic tangent.

    Parameters
    ----------
    x
        any tags, real numbers
    approximate
        'none', or 'fast' for a ratio of polynomials
    """
    ...
def timed() -> _Block:
    """Note inside `with timed():` how long each operation takes on this thread;
    `loss.graph(time=True)` shows it.
    """
    ...
def to(x: Tensor, dtype: _DType) -> Tensor:
    """A copy in another number type. Real to whole drops the fraction, saturates and makes NaN 0.

    Unlike torch, gradients of 16-bit values are f32.

    Parameters
    ----------
    x
        any tags
    dtype
        number type wanted, e.g. 'bf16'
    """
    ...
def topk(x: Tensor, tag: _Tags, k: int, out: _Tags | None = None) -> TopK:
    """The k largest, falling, ties by position. Unlike torch, NaN and -inf are never placed.

    Slots left over are constants, -inf at position 0.

    Parameters
    ----------
    x
        any tags
    tag
        axis to choose along
    k
        how many
    out
        new name of the axis; None keeps it
    """
    ...
def trace(x: Tensor, a: _Tags, b: _Tags) -> Tensor:
    """The sum of the entries where two axes have the same index; whole numbers add up in i64.

    Parameters
    ----------
    x
        any tags
    a
        an axis
    b
        another, walked together with it
    """
    ...
def tril(x: Tensor, row: _Tags, col: _Tags, offset: int | None = 0) -> Tensor:
    """The lower triangle: 0 where col - row > offset. Unlike torch, of any two axes by name.

    Parameters
    ----------
    x
        any tags, two of them `row` and `col`
    row
        the axis counted downwards
    col
        the axis counted across
    offset
        the diagonal it ends at: 0 the main one, 1 the one above; None keeps all
    """
    ...
def triu(x: Tensor, row: _Tags, col: _Tags, offset: int | None = 0) -> Tensor:
    """The upper triangle: 0 where col - row < offset. Unlike torch, of any two axes by name.

    Parameters
    ----------
    x
        any tags, two of them `row` and `col`
    row
        the axis counted downwards
    col
        the axis counted across
    offset
        the diagonal it ends at: 0 the main one, 1 the one above; None keeps all
    """
    ...
u16: DType
u8: DType
def unary(x: Tensor, name: _Tags) -> Tensor:
    """The function called `name` of x.

    Parameters
    ----------
    x
        any tags
    name
        of a function of one number: 'relu', 'gelu_tanh', ...
    """
    ...
def unbind(x: Tensor, tag: _Tags) -> list[Tensor]:
    """The entries of one axis as a list of tensors without it; views.

    Parameters
    ----------
    x
        any tags
    tag
        axis to take apart
    """
    ...
def unfold(x: Tensor, kernel: _Sizes, stride: _Sizes = 1, padding: _Sizes = 0, out: _Tags = 'patch elem') -> Tensor:
    """What every window sees, one row each; taps row by row, channels fastest.

    Unlike torch, windows are rows and channels come last.

    Parameters
    ----------
    x
        'h w c', channels last; more axes in front pass through
    kernel
        size of the window: rows and columns, or one number for both
    stride
        steps from window to window, likewise
    padding
        rows and columns of zeros on each side, likewise
    out
        names of the two new axes
    """
    ...
def uniform(tags: _Tags, shape: _Sizes | None = None, low: float = 0.0, high: float = 1.0, *, seed: int | None = None, dtype: _DType = 'f32', **sizes: int) -> Tensor:
    """Random numbers in [low, high).

    Parameters
    ----------
    tags
        names of the axes: 'row col'
    shape
        sizes in that order, or by name
    low
        least value
    high
        bound that is not reached
    seed
        same seed, same numbers; None: the next one of the process
    dtype
        a real number type
    sizes
        sizes by name: row=2, col=3
    """
    ...
def upsample2x_nearest(x: Tensor) -> Tensor:
    """Every pixel as a square of four.

    Parameters
    ----------
    x
        'h w c', channels last; more axes in front pass through
    """
    ...
def use(id: Any = ..., fn: Any = ...) -> Any:
    """Compute an op of the library with your function, for this session or inside `with`.
    OptionError unless it passes its check.

    Parameters
    ----------
    id
        the exercise
    fn
        your function; `...`: your latest right answer; None: the library's own again
    """
    ...
def use_backend(name: str) -> _Block:
    """Compute with this backend from here on or, as a block or a decorator, until its end; for the whole process."""
    ...
def var(x: Tensor, *tags: _Tags, ddof: int = 0) -> Tensor:
    """The variance along the named axes.

    Unlike torch.var it divides by n unless ddof=1; one value with ddof=1 gives NaN.

    Parameters
    ----------
    x
        any tags, real numbers
    tags
        axes along which the values vary; none means all
    ddof
        0: divide by n, for these values alone; 1: by n - 1, the estimate from a sample
    """
    ...
def view_with_strides(x: Tensor, tags: _Tags, shape: _Sizes, strides: _Sizes, offset: int = 0) -> Tensor:
    """Any walk over the values of x, checked to stay inside; a view.

    Unlike torch.as_strided, strides refer to x, not to memory behind it.

    Parameters
    ----------
    x
        any tags, contiguous
    tags
        tags of the view
    shape
        its sizes
    strides
        values to step over, per axis; 0 repeats, negative walks back
    offset
        where it begins
    """
    ...
def where(x: Tensor, mask: Tensor, other: Tensor | float) -> Tensor:
    """x where the mask is true, else other. Unlike torch, values come first, and nothing is stretched.

    Parameters
    ----------
    x
        any tags; what is taken where the mask is true
    mask
        bool, or real numbers read as "not 0"; tags and sizes of x
    other
        what is taken elsewhere; a tensor like x, or a number
    """
    ...
def yarn_inv_freqs(dim: int, theta: float = 10000.0, factor: float = 1.0, original_context: float = 0, fast: float = 32.0, slow: float = 1.0, truncate: bool = True) -> Tensor:
    """Radians per position of each pair after YaRN's stretch, f64, for rope_table(.., inv_freqs=..).

    The paper's factor on the scores is not in them.

    Parameters
    ----------
    dim
        how many features turn, an even number
    theta
        base of the wavelengths
    factor
        how many times longer the text may be; up to 1 changes nothing
    original_context
        positions the model was trained for; 0 changes nothing
    fast
        turns in that length from which a pair keeps its speed
    slow
        turns up to which it is divided by all of the factor
    truncate
        both bounds are at whole pairs, the outer ones
    """
    ...
def zero_pad2d(x: Tensor, h: _Tags, w: _Tags, padding: _Sizes) -> Tensor:
    """A picture with zeros added at its edges, or with its edges cut.

    Parameters
    ----------
    x
        any tags, two of them a picture's
    h
        tag of the height
    w
        tag of the width
    padding
        (left, right, top, bottom) or one number for all; negative ones cut
    """
    ...
def zero_rows(x: Tensor, tag: _Tags, indices: Any) -> Tensor:
    """x with these rows set to 0.

    Parameters
    ----------
    x
        any tags
    tag
        axis of the rows
    indices
        positions; repeats are fine
    """
    ...
def zero_slice(x: Tensor, tag: _Tags, start: int, length: int) -> Tensor:
    """x with a range set to 0.

    Parameters
    ----------
    x
        any tags
    tag
        axis of the range
    start
        first position
    length
        how many
    """
    ...
def zeros(tags: _Tags, shape: _Sizes | None = None, *, dtype: _DType = 'f32', **sizes: int) -> Tensor:
    """A tensor of zeros.

    Parameters
    ----------
    tags
        names of the axes: 'row col'
    shape
        sizes in that order, or by name
    dtype
        number type
    sizes
        sizes by name: row=2, col=3
    """
    ...
def zeros_like(x: Tensor, dtype: _DType | None = None) -> Tensor:
    """Zeros with the tags and sizes of x; a constant.

    Parameters
    ----------
    x
        gives tags, sizes and number type
    dtype
        another number type
    """
    ...
__version__: str
