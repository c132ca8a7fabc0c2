# Written by tools/stubs.py from the registry; run `make export`, do not edit.
from typing import Any, Literal, NamedTuple, Sequence, TypeAlias
import numpy as np
from .dtypes import DType
from .ops.blocks import BlockTensor
from .ops.images import PreparedConv2d
from .ops.packed import PackedWeight
from .ops.rotary import RopeTable

_Tags: TypeAlias = str | tuple[str, ...] | list[str]
_Sizes: TypeAlias = int | tuple[int, ...] | list[int]
_DType: TypeAlias = DType | str | type | np.dtype[Any]
_Number: TypeAlias = float | np.number[Any] | np.bool_
_Array: TypeAlias = np.ndarray[Any, Any]

class Tensor:
    """An array whose axes have names.

    Parameters
    ----------
    data
        number, nested list, ndarray (memory shared when it fits) or Tensor
    tags
        one name per axis: 'row col'
    dtype
        number type, e.g. 'f32'; None keeps an array's own, floats become f32
    requires_grad
        True makes it a leaf that collects a gradient
    """
    data: _Array
    tags: tuple[str, ...]
    node: Any
    __iter__: None
    @property
    def T(self) -> Tensor:
        """The two axes swapped; a view. TagError unless there are two."""
        ...
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: Tensor | _Number) -> Tensor: ...
    def __and__(self, other: Tensor | _Number) -> Tensor: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> _Array: ...
    def __bool__(self) -> bool: ...
    def __ceil__(self) -> Tensor: ...
    def __divmod__(self, other: Tensor | _Number) -> tuple[Tensor, Tensor]: ...
    def __eq__(self, other: Tensor | _Number) -> Tensor: ...  # type: ignore[override]
    def __float__(self) -> float: ...
    def __floor__(self) -> Tensor: ...
    def __floordiv__(self, other: Tensor | _Number) -> Tensor: ...
    def __format__(self, spec: str) -> str: ...
    def __ge__(self, other: Tensor | _Number) -> Tensor: ...
    def __getitem__(self, where: Any) -> Tensor: ...
    def __gt__(self, other: Tensor | _Number) -> Tensor: ...
    def __hash__(self) -> int: ...
    def __iadd__(self, other: Tensor | _Number) -> Tensor: ...
    def __imul__(self, other: Tensor | _Number) -> Tensor: ...
    def __index__(self) -> int: ...
    def __init__(self, data: Any, tags: _Tags = (), dtype: _DType | None = None, requires_grad: bool = False) -> None: ...
    def __int__(self) -> int: ...
    def __invert__(self) -> Tensor: ...
    def __isub__(self, other: Tensor | _Number) -> Tensor: ...
    def __itruediv__(self, other: Tensor | _Number) -> Tensor: ...
    def __le__(self, other: Tensor | _Number) -> Tensor: ...
    def __lt__(self, other: Tensor | _Number) -> Tensor: ...
    def __matmul__(self, w: Tensor | PackedWeight | BlockTensor) -> Tensor: ...
    def __mod__(self, other: Tensor | _Number) -> Tensor: ...
    def __mul__(self, other: Tensor | _Number) -> Tensor: ...
    def __ne__(self, other: Tensor | _Number) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __or__(self, other: Tensor | _Number) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other: Tensor | _Number) -> Tensor: ...
    def __radd__(self, other: Tensor | _Number) -> Tensor: ...
    def __rand__(self, other: Tensor | _Number) -> Tensor: ...
    def __repr__(self) -> str: ...
    def __rfloordiv__(self, other: Tensor | _Number) -> Tensor: ...
    def __rmod__(self, other: Tensor | _Number) -> Tensor: ...
    def __rmul__(self, other: Tensor | _Number) -> Tensor: ...
    def __ror__(self, other: Tensor | _Number) -> Tensor: ...
    def __round__(self, digits: None = None) -> Tensor: ...
    def __rpow__(self, other: Tensor | _Number) -> Tensor: ...
    def __rsub__(self, other: Tensor | _Number) -> Tensor: ...
    def __rtruediv__(self, other: Tensor | _Number) -> Tensor: ...
    def __rxor__(self, other: Tensor | _Number) -> Tensor: ...
    def __setitem__(self, where: Any, value: Any) -> None: ...
    def __sub__(self, other: Tensor | _Number) -> Tensor: ...
    def __truediv__(self, other: Tensor | _Number) -> Tensor: ...
    def __xor__(self, other: Tensor | _Number) -> Tensor: ...
    def abs(self) -> Tensor:
        """The distance from 0; the slope at 0 is 0.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def add(self, other: Tensor | float) -> Tensor:
        """x + other, broadcasting by name.

        Parameters
        ----------
        x
            any tags
        other
            a tensor, met by name, or a number
        """
        ...
    def add_(self, other: Tensor | float, alpha: float = 1) -> Tensor:
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
    def add_dot(self, a: Tensor, w: Tensor, *over_tags: _Tags) -> Tensor:
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
    def align_to(self, *tags: _Tags) -> Tensor:
        """The axes in the order of `tags`; those x lacks come with size 1. A view.

        Parameters
        ----------
        x
            any tags
        tags
            the tags of the result: all of x's and perhaps more
        """
        ...
    def all(self, *tags: _Tags) -> Tensor:
        """Whether every value along the tags is true. Unlike torch, whole numbers are refused.

        Parameters
        ----------
        x
            bool, or real numbers read as "not 0"
        tags
            axes to ask along; none means all
        """
        ...
    def any(self, *tags: _Tags) -> Tensor:
        """Whether some value along the tags is true. Unlike torch, whole numbers are refused.

        Parameters
        ----------
        x
            bool, or real numbers read as "not 0"
        tags
            axes to ask along; none means all
        """
        ...
    def argmax(self, tag: _Tags) -> Tensor:
        """Position of the first largest value, i64. Unlike torch, NaN never wins; a lane of NaN gives 0.

        Parameters
        ----------
        x
            any tags
        tag
            axis to search along; it goes away
        """
        ...
    def argmin(self, tag: _Tags) -> Tensor:
        """Position of the first smallest value, i64. Unlike torch, NaN never wins; a lane of NaN gives 0.

        Parameters
        ----------
        x
            any tags
        tag
            axis to search along; it goes away
        """
        ...
    def argsort(self, tag: _Tags, descending: bool = False) -> Tensor:
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
    def attention(self, k: Tensor | BlockTensor | list[Any], v: Tensor | BlockTensor | list[Any], scale: float | None = None, mask: Literal['causal', 'bidirectional'] = 'causal', window: int = 0, bias: Tensor | None = None, kv_head: Any = None, sinks: Tensor | list[float] | None = None, lens: Any = None, out: _Tags = 'out', valid: Any = None) -> Tensor:
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
    def avg_pool2d(self, kernel: _Sizes, stride: _Sizes | None = None, padding: _Sizes = 0) -> Tensor:
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
    def axis(self, tag: _Tags) -> int:
        """Position of the axis `tag`."""
        ...
    def backward(self, grad: Any = None) -> None:
        """Compute the gradient of this result in every leaf it depends on; leaves add it to what they have.

        Parameters
        ----------
        grad
            weight of each value of a result with several: tensor, array or nested list
        """
        ...
    def band_part(self, row: _Tags, col: _Tags, lower: int | None = None, upper: int | None = None) -> Tensor:
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
    def bce_loss(self, target: Tensor, reduction: Literal['mean', 'sum', 'none'] = 'mean', from_logits: bool = False) -> Tensor:
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
    def bias_add(self, vec: Any, tag: _Tags) -> Tensor:
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
    def bias_add_(self, vec: Any, tag: _Tags, op: Any = None) -> Tensor:
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
    def bit_and(self, other: Tensor | float) -> Tensor:
        """The bits both have.

        Parameters
        ----------
        x
            whole numbers
        other
            whole numbers, met by name
        """
        ...
    def bit_or(self, other: Tensor | float) -> Tensor:
        """The bits either has.

        Parameters
        ----------
        x
            whole numbers
        other
            whole numbers, met by name
        """
        ...
    def bit_xor(self, other: Tensor | float) -> Tensor:
        """The bits exactly one has.

        Parameters
        ----------
        x
            whole numbers
        other
            whole numbers, met by name
        """
        ...
    def broadcast_to(self, tags: _Tags, shape: _Sizes | None = None, **sizes: int) -> Tensor:
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
    def ceil(self) -> Tensor:
        """The smallest whole number not below x, in the type of x.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def channel_affine(self, scale: Tensor, shift: Tensor) -> Tensor:
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
    def clamp(self, min: float | None = None, max: float | None = None) -> Tensor:
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
    def compare(self, how: Literal['lt', 'le', 'gt', 'ge', 'eq', 'ne'], other: Tensor | float) -> Tensor:
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
    def constant_pad2d(self, h: _Tags, w: _Tags, padding: _Sizes, value: float = 0.0) -> Tensor:
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
    def contiguous(self) -> Tensor:
        """The values in memory in the order of the tags: the same memory if they lie so, else a copy.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def conv1d(self, w: Tensor, time: _Tags, tap: _Tags, stride: int = 1, padding: int = 0, dilation: int = 1, groups: int = 1, causal: bool = False, state: Any = None) -> Tensor:
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
    def conv2d(self, w: Tensor | PreparedConv2d, bias: Tensor | None = None, stride: _Sizes = 1, padding: _Sizes = 0, groups: int = 1, relu: bool = False) -> Tensor:
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
    def conv_transpose1d(self, w: Tensor, time: _Tags, tap: _Tags, bias: Tensor | None = None, stride: int = 1, padding: int = 0, output_pad: int = 0) -> Tensor:
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
    @staticmethod
    def copy_of(data: Any, tags: _Tags = (), dtype: _DType | None = None) -> Tensor:
        """A tensor that shares memory with nothing."""
        ...
    def cos(self) -> Tensor:
        """The cosine of an angle in radians.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def cosine_similarity(self, other: Tensor, tag: _Tags, eps: float) -> Tensor:
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
    def cross_entropy(self, tag: _Tags, labels: Any, ignore_index: int | None = None, reduction: Literal['mean', 'sum', 'none'] = 'mean', label_smoothing: float = 0.0) -> Tensor:
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
    def cumprod(self, tag: _Tags) -> Tensor:
        """Running products along `tag`; the gradient is exact with zeros. Whole numbers in i64.

        Parameters
        ----------
        x
            any tags
        tag
            the axis to go along
        """
        ...
    def cumsum(self, tag: _Tags) -> Tensor:
        """Running sums along `tag`, one by one in order, in f32 for f32; whole numbers and bool in i64.

        Parameters
        ----------
        x
            any tags
        tag
            the axis to go along
        """
        ...
    def detach(self) -> Tensor:
        """The same values, same memory, as a constant."""
        ...
    def diag(self, tags: _Tags) -> Tensor:
        """A square matrix with x on its diagonal. Unlike torch.diag it reads none; that is diagonal.

        Parameters
        ----------
        x
            a vector
        tags
            names of the two axes: 'row col'
        """
        ...
    def diag_embed(self, tag: _Tags, tags: _Tags) -> Tensor:
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
    def diagonal(self, a: _Tags, b: _Tags, out: _Tags) -> Tensor:
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
    def div(self, other: Tensor | float) -> Tensor:
        """x / other, broadcasting by name; x / 0 is inf or NaN.

        Parameters
        ----------
        x
            any tags, real numbers
        other
            a tensor, met by name, or a number
        """
        ...
    def div_floor(self, other: Tensor | float) -> Tensor:
        """The quotient rounded down; the smallest number by -1 wraps to itself.

        Parameters
        ----------
        x
            whole numbers
        other
            whole numbers, met by name
        """
        ...
    def div_trunc(self, other: Tensor | float) -> Tensor:
        """The quotient rounded towards 0, as in C; the smallest by -1 is itself.

        Parameters
        ----------
        x
            whole numbers
        other
            whole numbers, met by name
        """
        ...
    def dot(self, w: Tensor | PackedWeight | BlockTensor, *over_tags: _Tags, out: _Tags | None = None, rms_norm: Any = None, gate: Any = None) -> Tensor:
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
    def dot_ternary(self, w: Tensor, tag: _Tags) -> Tensor:
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
    def dropout(self, p: float, seed: int) -> Tensor:
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
    @property
    def dtype(self) -> DType:
        """Number type; equal to its short name, `x.dtype == 'f32'`."""
        ...
    def einsum(self, w: Tensor, *rest: _Tags | Tensor) -> Tensor:
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
    def elu(self) -> Tensor:
        """x above 0, exp(x) - 1 elsewhere (Clevert et al. 2015). Unlike torch, alpha is always 1.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def empty_like(self, dtype: _DType | None = None) -> Tensor:
        """Memory with the tags and sizes of x, to be written before it is read; a constant.

        Parameters
        ----------
        x
            gives tags, sizes and number type
        dtype
            another number type
        """
        ...
    def eq(self, other: Tensor | float) -> Tensor:
        """Where x equals other; NaN equals nothing. Unlike torch, nothing is stretched.

        Parameters
        ----------
        x
            any tags
        other
            a tensor of the same tags and sizes, or a number
        """
        ...
    def exp(self) -> Tensor:
        """e to the power x.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def flatten(self, tag: _Tags) -> Tensor:
        """All values on one axis in the order of the tags; a view if x is contiguous, else a copy.

        Parameters
        ----------
        x
            any tags
        tag
            name of the one axis of the result
        """
        ...
    def flip(self, *tags: _Tags) -> Tensor:
        """Each named axis in reverse order.

        Parameters
        ----------
        x
            any tags
        tags
            axes to reverse
        """
        ...
    def floor(self) -> Tensor:
        """The largest whole number not above x, in the type of x.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def fold(self, size: _Sizes, kernel: _Sizes, stride: _Sizes = 1, padding: _Sizes = 0, out: _Tags = 'h w c') -> Tensor:
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
    def full_like(self, value: _Number, dtype: _DType | None = None) -> Tensor:
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
    def gated(self, gate: Tensor, name: _Tags) -> Tensor:
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
    def ge(self, other: Tensor | float) -> Tensor:
        """Where x >= other. Unlike torch, nothing is stretched.

        Parameters
        ----------
        x
            any tags
        other
            a tensor of the same tags and sizes, or a number
        """
        ...
    def geglu(self, gate: Tensor) -> Tensor:
        """up * gelu(gate, 'tanh').

        Parameters
        ----------
        up
            any tags, real numbers: what passes
        gate
            met by name: how much of it
        """
        ...
    def gelu(self, approximate: Literal['none', 'tanh', 'quant'] = 'none') -> Tensor:
        """x times the probability that a standard normal number is below x (Hendrycks and Gimpel 2016).

        Parameters
        ----------
        x
            any tags, real numbers
        approximate
            'none' for x Phi(x), 'tanh', or 'quant', ggml's table of that form
        """
        ...
    def glu(self, gate: Tensor) -> Tensor:
        """up * sigmoid(gate). Unlike torch, of two tensors; split_gated halves one.

        Parameters
        ----------
        up
            any tags, real numbers: what passes
        gate
            met by name: how much of it
        """
        ...
    @property
    def grad(self) -> Tensor | None:
        """The gradient that arrived here, as a constant tensor that shares its memory; None before
            backward. Set it to None to forget.
        """
        ...
    @grad.setter
    def grad(self, value: Any) -> None: ...
    def graph(self, values: bool | None = None, grads: bool | None = None, time: bool = False, bytes: bool = False, fold: bool = True, **names: Tensor) -> Any:
        """Draw the computation that made this tensor. Returns a graphviz graph; runs nothing and changes nothing.

        Parameters
        ----------
        values
            True: also range and mean of large tensors; False: none
        grads
            True: for every tensor, with range and mean; False: none, and no dashed arrows
        time
            what each operation took, if it was computed inside `with timed()`
        bytes
            size of each tensor, and what each operation keeps for backward
        fold
            draw a block that repeats once
        names
            tensors to be named; those in the caller's variables are named already
        """
        ...
    def group_norm(self, tag: _Tags, groups: int, eps: float = 1e-05, weight: Tensor | None = None, bias: Tensor | None = None, over: Any = None) -> Tensor:
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
    def grouped_dot(self, w: Tensor, counts: Any) -> Tensor:
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
    def gt(self, other: Tensor | float) -> Tensor:
        """Where x > other. Unlike torch, nothing is stretched.

        Parameters
        ----------
        x
            any tags
        other
            a tensor of the same tags and sizes, or a number
        """
        ...
    def huber_loss(self, target: Tensor, delta: float = 1.0, reduction: Literal['mean', 'sum', 'none'] = 'mean') -> Tensor:
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
    def index_add(self, tag: _Tags, indices: Any, update: Tensor) -> Tensor:
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
    def index_select(self, tag: _Tags, indices: Any, out: _Tags | None = None) -> Tensor:
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
    def insert_axis(self, tag: _Tags, index: int = 0) -> Tensor:
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
    def isfinite(self) -> Tensor:
        """Where x is neither NaN nor inf nor -inf.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def isinf(self) -> Tensor:
        """Where x is inf or -inf.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def isnan(self) -> Tensor:
        """Where x is not a number.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def item(self) -> float:
        """The one value as a Python number. InvalidShape if there are several."""
        ...
    def kl_div(self, target: Tensor, reduction: Literal['mean', 'sum', 'none'] = 'mean', log_target: bool = False) -> Tensor:
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
    def l2_normalize(self, tag: _Tags, eps: float = 1e-12) -> Tensor:
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
    def layer_norm(self, tag: _Tags, eps: float = 1e-05, weight: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
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
    def le(self, other: Tensor | float) -> Tensor:
        """Where x <= other. Unlike torch, nothing is stretched.

        Parameters
        ----------
        x
            any tags
        other
            a tensor of the same tags and sizes, or a number
        """
        ...
    def leaky_relu(self, negative_slope: float) -> Tensor:
        """x from 0 up, negative_slope * x below. Unlike torch, the slope has no default.

        Parameters
        ----------
        x
            any tags, real numbers
        negative_slope
            a number, the slope below 0 and at 0
        """
        ...
    def linear_cross_entropy(self, weight: Tensor, labels: Any, ignore_index: int | None = None, reduction: Literal['mean', 'sum', 'none'] = 'mean', label_smoothing: float = 0.0) -> Tensor:
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
    def linear_distill(self, weight: Tensor, rows: Any, classes: Any, probs: Any, reduction: Literal['mean', 'sum'] = 'mean', loss_scale: float = 1.0) -> Tensor:
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
    def linear_recurrence(self, tag: _Tags, decay: Tensor, initial: Tensor | None = None) -> Tensor:
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
    def log(self) -> Tensor:
        """The natural logarithm; -inf at 0, NaN below.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def log1p(self) -> Tensor:
        """ln(1 + x), right for tiny x too.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def log_softmax(self, tag: _Tags) -> Tensor:
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
    def logical_and(self, other: Tensor) -> Tensor:
        """Where both are true. Unlike torch, whole numbers are refused.

        Parameters
        ----------
        x
            bool, or real numbers read as "not 0"
        other
            the same, same tags and sizes
        """
        ...
    def logical_not(self) -> Tensor:
        """Where x is false. Unlike torch, whole numbers are refused.

        Parameters
        ----------
        x
            bool, or real numbers read as "not 0"
        """
        ...
    def logical_or(self, other: Tensor) -> Tensor:
        """Where one or both are true. Unlike torch, whole numbers are refused.

        Parameters
        ----------
        x
            bool, or real numbers read as "not 0"
        other
            the same, same tags and sizes
        """
        ...
    def logical_xor(self, other: Tensor) -> Tensor:
        """Where exactly one is true. Unlike torch, whole numbers are refused.

        Parameters
        ----------
        x
            bool, or real numbers read as "not 0"
        other
            the same, same tags and sizes
        """
        ...
    def logsumexp(self, tag: _Tags) -> Tensor:
        """log sum exp(x) along `tag`. A row of -inf gives -inf with gradient 0 (torch: NaN); inf gives inf.

        Parameters
        ----------
        x
            any tags
        tag
            the axis to add up along; it goes away
        """
        ...
    def lt(self, other: Tensor | float) -> Tensor:
        """Where x < other. Unlike torch, nothing is stretched.

        Parameters
        ----------
        x
            any tags
        other
            a tensor of the same tags and sizes, or a number
        """
        ...
    def masked_fill(self, mask: Tensor, value: _Number) -> Tensor:
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
    def masked_scatter(self, mask: Any, values: Tensor) -> Tensor:
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
    def masked_select(self, mask: Any, out: _Tags) -> Tensor:
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
    def materialize(self) -> Tensor:
        """A contiguous copy.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def matmul(self, y: Tensor, out_tags: _Tags, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
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
    def max(self, *tags: _Tags, mask: Any = None, empty: float | None = None) -> Tensor:
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
    def max_pool2d(self, kernel: _Sizes, stride: _Sizes | None = None, padding: _Sizes = 0) -> Tensor:
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
    def maximum(self, other: Tensor | float) -> Tensor:
        """The larger of x and other; NaN in either gives NaN. Unlike torch, NaN passes no gradient.

        Parameters
        ----------
        x
            any tags
        other
            a tensor, met by name, or a number
        """
        ...
    def mean(self, *tags: _Tags, mask: Any = None, empty: float | None = None) -> Tensor:
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
    def merge(self, tag: _Tags, *tags: _Tags) -> Tensor:
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
    def min(self, *tags: _Tags, mask: Any = None, empty: float | None = None) -> Tensor:
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
    def minimum(self, other: Tensor | float) -> Tensor:
        """The smaller of x and other; NaN in either gives NaN. Unlike torch, NaN passes no gradient.

        Parameters
        ----------
        x
            any tags
        other
            a tensor, met by name, or a number
        """
        ...
    def mod(self, other: Tensor | float) -> Tensor:
        """What div_floor leaves; the sign of the divisor, as Python's %.

        Parameters
        ----------
        x
            whole numbers
        other
            whole numbers, met by name
        """
        ...
    def mse_loss(self, target: Tensor, reduction: Literal['mean', 'sum', 'none'] = 'mean') -> Tensor:
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
    def mul(self, other: Tensor | float) -> Tensor:
        """x * other, broadcasting by name.

        Parameters
        ----------
        x
            any tags
        other
            a tensor, met by name, or a number
        """
        ...
    def mul_(self, s: float) -> Tensor:
        """x *= s in place; returns x.

        Parameters
        ----------
        x
            changed in place
        s
            a number
        """
        ...
    def multinomial(self, tag: _Tags, out: _Tags, num_samples: int, seed: int = 0, replacement: bool = True) -> Tensor:
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
    def narrow(self, tag: _Tags, start: int, length: int) -> Tensor:
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
    @property
    def ndim(self) -> int:
        """Number of axes."""
        ...
    def ne(self, other: Tensor | float) -> Tensor:
        """Where x differs from other; NaN differs from everything. Unlike torch, nothing is stretched.

        Parameters
        ----------
        x
            any tags
        other
            a tensor of the same tags and sizes, or a number
        """
        ...
    def neg(self) -> Tensor:
        """-x.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def nll_loss(self, tag: _Tags, labels: Any, reduction: Literal['mean', 'sum', 'none'] = 'mean') -> Tensor:
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
    def nonzero(self) -> _Array:
        """Positions in reading order of all values that are not 0, as a plain i64 array; NaN counts.

        None is fine. Unlike torch, flat positions.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def norm(self, *tags: _Tags, ord: float | str = 2) -> Tensor:
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
    @property
    def numel(self) -> int:
        """Number of values."""
        ...
    def numpy(self) -> _Array:
        """The values as an ndarray that shares memory; read-only when the tensor is in a graph."""
        ...
    def ones_like(self, dtype: _DType | None = None) -> Tensor:
        """Ones with the tags and sizes of x; a constant.

        Parameters
        ----------
        x
            gives tags, sizes and number type
        dtype
            another number type
        """
        ...
    def pack(self, layout: Any = None) -> PackedWeight:
        """An independent, prepared copy of a weight for x.dot(packed, tag); 16-bit weights are widened once.

        Parameters
        ----------
        w
            two axes, rows first: 'out in'; or a BlockTensor (chapter 25a)
        layout
            'dense_f32' is the one layout of a tensor
        """
        ...
    def pad(self, tag: _Tags, before: int, after: int, value: float = 0.0) -> Tensor:
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
    def permute(self, *tags: _Tags) -> Tensor:
        """The axes in another order; a view.

        Parameters
        ----------
        x
            any tags
        tags
            all of them in the order wanted
        """
        ...
    def pow(self, other: Tensor | float) -> Tensor:
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
    def prelu(self, alpha: Tensor) -> Tensor:
        """x above zero, alpha times x elsewhere; the slope at zero is alpha.

        Parameters
        ----------
        x
            any tags
        alpha
            slope of each channel below zero; its axis is that of the channels
        """
        ...
    def prepare_conv2d(self) -> PreparedConv2d:
        """An independent, prepared copy of a weight for x.conv2d(prepared); 16-bit weights are widened once.

        Parameters
        ----------
        w
            'out kh kw c'
        """
        ...
    def prod(self, *tags: _Tags) -> Tensor:
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
    def quick_gelu(self) -> Tensor:
        """x sigmoid(1.702 x), a rough gelu.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def reciprocal(self) -> Tensor:
        """1 / x; inf at 0.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def relpos_shift(self, t_k: int, out_tags: _Tags) -> Tensor:
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
    def relu(self) -> Tensor:
        """x where it is above 0, else 0; the slope at 0 is 0, NaN stays NaN.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def rem(self, other: Tensor | float) -> Tensor:
        """What div_trunc leaves; the sign of the dividend, as C's %.

        Parameters
        ----------
        x
            whole numbers
        other
            whole numbers, met by name
        """
        ...
    def rename(self, *tags: _Tags, **names: _Tags) -> Tensor:
        """The same axes under other names; a view. x.rename('a b') or x.rename(row='a').

        Parameters
        ----------
        tags
            new names of all axes, in order
        names
            or of some: old='new'
        """
        ...
    def repeat(self, tag: _Tags, n: int) -> Tensor:
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
    @property
    def requires_grad(self) -> bool:
        """True if a gradient will reach this tensor. Set it to make a leaf, or a leaf constant again."""
        ...
    @requires_grad.setter
    def requires_grad(self, value: bool) -> None: ...
    def reshape(self, tags: _Tags, shape: _Sizes | None = None, **sizes: int) -> Tensor:
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
    def rms_norm(self, tag: _Tags, eps: float = 1e-06, weight: Tensor | None = None, residual: Tensor | None = None, rope: Any = None) -> Tensor:
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
    def roll(self, tag: _Tags, shift: int) -> Tensor:
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
    def roll_by(self, tag: _Tags, offsets: Any) -> Tensor:
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
    def rope(self, position: _Tags, feature: _Tags, source: Any, mode: Literal['half', 'interleaved', 'interleaved_tail'] = 'half', positions: Any = None) -> Tensor:
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
    def round(self) -> Tensor:
        """The nearest whole number, the even one of two, in the type of x.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def router_topk(self, tag: _Tags, k: int, normalize_selected: bool = True) -> Routes:
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
    def rsqrt(self) -> Tensor:
        """1 / sqrt(x).

        Parameters
        ----------
        x
            any tags
        """
        ...
    def scatter(self, tag: _Tags, indices: Any, source: Tensor) -> Tensor:
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
    def scatter_add(self, tag: _Tags, indices: Any, source: Tensor) -> Tensor:
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
    def segment_sum(self, tag: _Tags, offsets: Any) -> Tensor:
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
    def select(self, *where: _Tags | int, **by_tag: int) -> Tensor:
        """One index of an axis, or of several; those axes go. A view.

        Parameters
        ----------
        where
            a tag and an index, or a dict {'row': -1}
        by_tag
            or by name: row=-1, col=0; negative ones count from the end
        """
        ...
    def set_rows(self, tag: _Tags, indices: Any, update: Tensor) -> Tensor:
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
    def set_slice(self, tag: _Tags, start: int, update: Tensor) -> Tensor:
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
    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes in the order of the tags."""
        ...
    def shift_by(self, tag: _Tags, offsets: Any, value: float = 0.0) -> Tensor:
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
    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-x)), exact on both sides.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def sign(self) -> Tensor:
        """1 above 0, -1 below. Unlike torch and NumPy, -0 keeps its sign, and unlike torch NaN stays NaN.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def silu(self) -> Tensor:
        """x sigmoid(x), also called swish (Elfwing et al. 2017).

        Parameters
        ----------
        x
            any tags
        """
        ...
    def sin(self) -> Tensor:
        """The sine of an angle in radians.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def situ(self, gate: Tensor) -> Tensor:
        """25 tanh(up / 25) * 4 tanh(gate / 4) sigmoid(gate): both sides bounded.

        Parameters
        ----------
        up
            any tags, real numbers: what passes
        gate
            met by name: how much of it
        """
        ...
    def size(self, tag: _Tags = '') -> int:
        """Size of the axis `tag`."""
        ...
    @property
    def sizes(self) -> dict[str, int]:
        """Size of every axis by tag."""
        ...
    def slice(self, *where: Any, **by_tag: Any) -> Tensor:
        """A range of each named axis. A view; in a graph a step above 1 makes a copy.

        Parameters
        ----------
        where
            a dict {'row': slice(1, None)}
        by_tag
            or by name: row=slice(1, None), col=(0, 4, 2); bounds as in Python
        """
        ...
    def snake(self, tag: _Tags, alpha: Tensor, inv_b: Tensor) -> Tensor:
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
    def softcap(self, cap: float) -> Tensor:
        """cap * tanh(x / cap): x where it is small, never beyond the limit.

        Parameters
        ----------
        x
            any tags, real numbers
        cap
            the limit, a number above 0
        """
        ...
    def softmax(self, tag: _Tags, scale: float = 1, mask: Tensor | None = None, max_bias: float = 0, head: _Tags | None = None, sinks: Tensor | list[float] | float | None = None, causal: _Tags | None = None, source_offset: int = 0) -> Tensor:
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
    def softplus(self) -> Tensor:
        """ln(1 + exp(x)), a smooth relu whose slope is sigmoid(x). Unlike torch, no beta and no threshold.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def sort(self, tag: _Tags, descending: bool = False) -> TopK:
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
    def split(self, tag: _Tags, tags: _Tags, shape: _Sizes | None = None, **sizes: int) -> Tensor:
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
    def split_gated(self, name: _Tags, tag: _Tags, out: _Tags | None = None) -> Tensor:
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
    def sqrt(self) -> Tensor:
        """The square root; NaN below 0, slope inf at 0.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def square(self) -> Tensor:
        """x times x.

        Parameters
        ----------
        x
            any tags
        """
        ...
    def squeeze(self, *tags: _Tags) -> Tensor:
        """Without the named axes, which must have size 1; a view. Unlike torch, never without a name.

        Parameters
        ----------
        x
            any tags
        tags
            axes of size 1 to drop
        """
        ...
    def standardize(self, tag: _Tags, ddof: int = 0, eps: float = 0.0, eps_mode: Literal['outside_sqrt', 'inside_sqrt'] = 'outside_sqrt', valid_len: int | None = None) -> Tensor:
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
    def std(self, *tags: _Tags, ddof: int = 0) -> Tensor:
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
    def sub(self, other: Tensor | float) -> Tensor:
        """x - other, broadcasting by name.

        Parameters
        ----------
        x
            any tags
        other
            a tensor, met by name, or a number
        """
        ...
    def sum(self, *tags: _Tags, mask: Any = None, empty: float | None = None) -> Tensor:
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
    def swiglu(self, gate: Tensor) -> Tensor:
        """up * silu(gate). Many libraries put the gate first; here it is second.

        Parameters
        ----------
        up
            any tags, real numbers: what passes
        gate
            met by name: how much of it
        """
        ...
    def take_along_axis(self, tag: _Tags, indices: Any) -> Tensor:
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
    def tanh(self, approximate: Literal['none', 'fast'] = 'none') -> Tensor:
        """The hyperbolic tangent.

        Parameters
        ----------
        x
            any tags, real numbers
        approximate
            'none', or 'fast' for a ratio of polynomials
        """
        ...
    def to(self, dtype: _DType) -> Tensor:
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
    def tolist(self) -> Any:
        """The values as nested Python lists."""
        ...
    def topk(self, tag: _Tags, k: int, out: _Tags | None = None) -> TopK:
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
    def trace(self, a: _Tags, b: _Tags) -> Tensor:
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
    def tril(self, row: _Tags, col: _Tags, offset: int | None = 0) -> Tensor:
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
    def triu(self, row: _Tags, col: _Tags, offset: int | None = 0) -> Tensor:
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
    def unary(self, name: _Tags) -> Tensor:
        """The function called `name` of x.

        Parameters
        ----------
        x
            any tags
        name
            of a function of one number: 'relu', 'gelu_tanh', ...
        """
        ...
    def unbind(self, tag: _Tags) -> list[Tensor]:
        """The entries of one axis as a list of tensors without it; views.

        Parameters
        ----------
        x
            any tags
        tag
            axis to take apart
        """
        ...
    def unfold(self, kernel: _Sizes, stride: _Sizes = 1, padding: _Sizes = 0, out: _Tags = 'patch elem') -> Tensor:
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
    def upsample2x_nearest(self) -> Tensor:
        """Every pixel as a square of four.

        Parameters
        ----------
        x
            'h w c', channels last; more axes in front pass through
        """
        ...
    def var(self, *tags: _Tags, ddof: int = 0) -> Tensor:
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
    def view_with_strides(self, tags: _Tags, shape: _Sizes, strides: _Sizes, offset: int = 0) -> Tensor:
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
    def where(self, mask: Tensor, other: Tensor | float) -> Tensor:
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
    def zero_grad(self) -> None:
        """Forget the gradient collected so far."""
        ...
    def zero_pad2d(self, h: _Tags, w: _Tags, padding: _Sizes) -> Tensor:
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
    def zero_rows(self, tag: _Tags, indices: Any) -> Tensor:
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
    def zero_slice(self, tag: _Tags, start: int, length: int) -> Tensor:
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
    def zeros_like(self, dtype: _DType | None = None) -> Tensor:
        """Zeros with the tags and sizes of x; a constant.

        Parameters
        ----------
        x
            gives tags, sizes and number type
        dtype
            another number type
        """
        ...

class Routes(NamedTuple):
    selected: Tensor
    weights: Tensor

class TopK(NamedTuple):
    values: Tensor
    indices: Tensor
def ingest(data: Any, dtype: _DType | None = None) -> _Array:
    """`data` as an array of one of our number types; shares memory with an ndarray that already fits.
    DTypeError, InvalidShape.

    Parameters
    ----------
    data
        number, nested list, ndarray or anything NumPy can read
    dtype
        number type wanted, None for the rule above
    """
    ...
def patch(fn: Any) -> Any:
    """Attach `fn` to Tensor as a method of its own name."""
    ...
def wrap(array: Any, tags: _Tags) -> Tensor:
    """A constant tensor around `array`, unchecked.

    Parameters
    ----------
    array
        ndarray of one of our number types
    tags
        parsed tags
    """
    ...
def param(data: Any, tags: _Tags = (), dtype: _DType | None = None) -> Tensor:
    """A trainable leaf: `Tensor(data, tags, requires_grad=True)`."""
    ...
def copy_of(data: Any, tags: _Tags = (), dtype: _DType | None = None) -> Tensor:
    """A tensor that shares memory with nothing."""
    ...
def compact(a: _Tags) -> Any:
    """The values that an array shows, contiguous and free to be changed: what a copy holds."""
    ...
def suggest(self: Any, name: Any) -> Any:
    """What Python asks for an attribute that is not there: the answer is the name that was meant."""
    ...
