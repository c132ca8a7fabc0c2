# Written by tools/stubs.py from the registry; run `make export`, do not edit.
import numpy as np
from .tensor import Tensor as Tensor
from .errors import BackwardAlreadyRun as BackwardAlreadyRun
from .errors import DTypeError as DTypeError
from .errors import DivisionByZero as DivisionByZero
from .errors import EmptySelection as EmptySelection
from .errors import ForkError as ForkError
from .errors import FucinaError as FucinaError
from .errors import GradError as GradError
from .errors import GradientCastUnsupported as GradientCastUnsupported
from .errors import GradientMismatch as GradientMismatch
from .errors import GradientShapeMismatch as GradientShapeMismatch
from .errors import IndexOutOfBounds as IndexOutOfBounds
from .errors import InvalidDataLength as InvalidDataLength
from .errors import InvalidShape as InvalidShape
from .errors import MissingBackwardGradient as MissingBackwardGradient
from .errors import MissingOutputGradient as MissingOutputGradient
from .errors import NoGradientGraph as NoGradientGraph
from .errors import OptionError as OptionError
from .errors import ShapeError as ShapeError
from .errors import ShapeMismatch as ShapeMismatch
from .errors import TagError as TagError
from .errors import UnsupportedGradient as UnsupportedGradient
from .errors import UnsupportedView as UnsupportedView
def abs(x: Tensor) -> Tensor:
    """The distance from 0; the slope at 0 is 0."""
    ...
def add(x: Tensor, other: Tensor | float) -> Tensor:
    """x + other, broadcasting by name."""
    ...
def add_(x: Tensor, other: Tensor | float, alpha = 1.0) -> Tensor:
    """x += alpha * other in place, no broadcasting; returns x."""
    ...
from .kernels import backends as backends
def bias_add(x: Tensor, vec, tag) -> Tensor:
    """x plus a plain vector along its last axis. For a bias that learns use x + b."""
    ...
def bias_add_(x: Tensor, vec, tag, op = None) -> Tensor:
    """x = op(x + vec) in place along the last axis; returns x."""
    ...
bool_: object
from .exercises import check as check
from .autograd import checkpoint as checkpoint
def compare(x: Tensor, how, other: Tensor | float) -> Tensor:
    """The comparison named `how`, value by value."""
    ...
from .tensor import copy_of as copy_of
def cross_entropy(x: Tensor, tag, labels) -> Tensor:
    """The mean of -log softmax(x)[label]."""
    ...
from .kernels.backends import current_backend as current_backend
from .autograd import custom_vjp as custom_vjp
def div(x: Tensor, other: Tensor | float) -> Tensor:
    """x / other, broadcasting by name; x / 0 is inf or NaN."""
    ...
def dot(x: Tensor, w: Tensor, *contract_tags) -> Tensor:
    """The product summed over the named axes; other shared axes are batch. Unlike torch.matmul, sizes 1 and n never match."""
    ...
from .autograd import enable_grad as enable_grad
def eq(x: Tensor, other: Tensor | float) -> Tensor:
    """Where x equals other; NaN equals nothing."""
    ...
def exp(x: Tensor) -> Tensor:
    """e to the power x."""
    ...
f16: object
f32: object
f64: object
def ge(x: Tensor, other: Tensor | float) -> Tensor:
    """Where x >= other."""
    ...
from .kernels.threads import get_num_threads as get_num_threads
from .autograd import gradcheck as gradcheck
def gt(x: Tensor, other: Tensor | float) -> Tensor:
    """Where x > other."""
    ...
from .exercises import hint as hint
i16: object
i32: object
i64: object
i8: object
from .autograd import is_grad_enabled as is_grad_enabled
def le(x: Tensor, other: Tensor | float) -> Tensor:
    """Where x <= other."""
    ...
def log(x: Tensor) -> Tensor:
    """The natural logarithm; -inf at 0, NaN below."""
    ...
def lt(x: Tensor, other: Tensor | float) -> Tensor:
    """Where x < other."""
    ...
def masked_fill(x: Tensor, mask: Tensor, value) -> Tensor:
    """`value` where the mask is true, x elsewhere; no gradient passes where it was filled. Unlike torch, the mask is not stretched."""
    ...
def maximum(x: Tensor, other: Tensor | float) -> Tensor:
    """The larger of x and other; NaN in either gives NaN. Unlike torch, NaN passes no gradient."""
    ...
def mean(x: Tensor, *tags) -> Tensor:
    """The mean along the named axes."""
    ...
def minimum(x: Tensor, other: Tensor | float) -> Tensor:
    """The smaller of x and other; NaN in either gives NaN. Unlike torch, NaN passes no gradient."""
    ...
def mul(x: Tensor, other: Tensor | float) -> Tensor:
    """x * other, broadcasting by name."""
    ...
def mul_(x: Tensor, s) -> Tensor:
    """x *= s in place; returns x."""
    ...
def ne(x: Tensor, other: Tensor | float) -> Tensor:
    """Where x differs from other; NaN differs from everything."""
    ...
def neg(x: Tensor) -> Tensor:
    """-x."""
    ...
from .autograd import no_grad as no_grad
from .reference import op_table as op_table
from .tensor import param as param
from .tags import parse as parse
def pow(x: Tensor, other: Tensor | float) -> Tensor:
    """x ** other; 0**0 is 1, a negative base with a fractional exponent NaN. The gradient of x**0 is 0, at 0 too."""
    ...
registry: dict
def relu(x: Tensor) -> Tensor:
    """x where it is above 0, else 0; the slope at 0 is 0, NaN stays NaN."""
    ...
from .kernels.threads import set_num_threads as set_num_threads
def softmax(x: Tensor, tag) -> Tensor:
    """exp(x) / sum exp(x) along `tag`."""
    ...
from .exercises import solution as solution
def sqrt(x: Tensor) -> Tensor:
    """The square root; NaN below 0, slope inf at 0."""
    ...
def square(x: Tensor) -> Tensor:
    """x times x."""
    ...
def sub(x: Tensor, other: Tensor | float) -> Tensor:
    """x - other, broadcasting by name."""
    ...
def sum(x: Tensor, *tags) -> Tensor:
    """The sum along the named axes; whole numbers and truth values add up in i64."""
    ...
def tanh(x: Tensor) -> Tensor:
    """The hyperbolic tangent; the slope is computed from the saved result."""
    ...
u16: object
u8: object
from .exercises import use as use
from .kernels.backends import use_backend as use_backend
def where(x: Tensor, mask: Tensor, other: Tensor | float) -> Tensor:
    """x where the mask is true, other elsewhere. Unlike torch, the values come first, and nothing is stretched."""
    ...
