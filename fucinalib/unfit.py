"""What the chapters on made tensors, on rotation and on blocks of few bits refuse, and how it is said.

Each function asks one question and raises, or makes the error that its caller raises; a chapter shows the question by
its name and the message in a cell of mistakes.
"""
from collections.abc import Iterable
from math import prod
import numpy as np
from .arguments import made_whole
from .checks import agrees, is_whole, last, rank, shown, single
from .errors import (DTypeError, EmptySelection, IndexOutOfBounds, InvalidDataLength, InvalidShape, NonFiniteValue,
                     OptionError, OptionTypeError, ShapeMismatch, TagError, UnknownName, UnsupportedView, brief,
                     closest, did_you_mean, fault, some)
from .formats import codes
from .tags import axis_of, locate, name_of, parse, renaming
from .tensor import Tensor

__all__ = ['check_one_hot', 'check_count', 'not_in_range', 'not_places', 'no_numbers', 'check_positions', 'check_pairs',
           'not_per_pair', 'not_per_position', 'not_in_table', 'check_speeds', 'check_factors', 'not_as_many',
           'no_source', 'not_so_many', 'not_blocks', 'no_bytes', 'not_whole', 'other_bytes', 'not_axes', 'rounds_twice',
           'check_scales', 'check_format', 'check_storable', 'no_arithmetic_of', 'not_of_blocks', 'check_chosen',
           'in_blocks', 'not_within', 'check_parts', 'check_weight', 'check_product', 'check_layout', 'two_at_once',
           'no_gate', 'check_quant', 'read_groups', 'check_genomes',
           'all_given', 'as_reward']


# ---- made tensors
def check_one_hot(a, names, depth, given):
    "Refuse an array that is no index for each axis but the last of `names`."
    if a.dtype.kind not in 'iu':
        raise fault(DTypeError, 'an index is a whole number', made_whole('indices', given), indices=a)
    if a.ndim != len(names) - 1:
        help = "one_hot([2, 0], 'item class', 3), or one_hot(tensor, 'class', 3)"
        raise fault(InvalidShape, f'of indices with {a.ndim} axes: {some(len(names), "tag")}', help,
                    indices=a, tags=' '.join(names))
    least, most = a.min(), a.max()
    if least >= 0 and most < depth: return
    raise fault(IndexOutOfBounds, f'index {least if least < 0 else most}, and {names[-1]!r} has {depth}',
                help=f'indices run from 0 to {depth - 1}')


# ---- positions, and pairs that turn
def check_count(name, n):
    "Refuse what is no length or origin of a range."
    if is_whole(n) and (name != 'length' or n >= 0): return
    raise fault(InvalidShape, f'{name} is {shown(n)}', help='whole numbers, length from 0')


def not_in_range(positions, start, length):
    return fault(IndexOutOfBounds, f'{start} to {start + length}', range=positions, help='count from 0')


def not_places(out, n): return fault(InvalidDataLength, f'{len(out)} places', help=f'np.empty({n}, "i8")')


def no_numbers(a, name):
    return fault(DTypeError, f'{name} is {shown(a)}', help='a list, an array or a tensor of numbers')


def check_positions(a):
    "Refuse an array that is no row of whole numbers."
    if a.ndim != 1 or not a.size:
        help = 'a list of at least one position'
        if a.dtype.kind in 'iu' and not a.ndim: help = f'AxisRange({a}) counts from 0; [{a}] is one'
        raise fault(InvalidShape, f'positions of shape {a.shape}', help=help)
    if a.dtype.kind in 'iu': return
    raise fault(DTypeError, f'positions are {a.dtype}', help='whole numbers; they may be negative')


def check_pairs(dim):
    "Refuse a number of features that do not form pairs."
    if is_whole(dim) and dim >= 2**60: raise fault(InvalidShape, f'dim is {brief(dim)}', help='too many')
    if is_whole(dim) and dim > 1 and not dim % 2: return
    raise fault(InvalidShape, f'{shown(dim)} features do not form pairs', help='an even number of them')


def not_per_pair(a, name, count):
    return fault(ShapeMismatch, f'{name} of shape {a.shape}', f'one number per pair: {count or "dim / 2"} of them')


def not_per_position(a, name, size):
    return fault(ShapeMismatch, f'{name} has the shape {a.shape}', f'one row per position, one column per pair: {size}')


def not_in_table(table, absent):
    return fault(IndexOutOfBounds, f'position {absent[0]} is not in the table', table=table,
                 help='rope_table(AxisRange(length, origin), dim) makes one that has it')


def check_speeds(dim, theta, freq_factors, inv_freqs):
    "Refuse speeds that are given twice, and none."
    if inv_freqs is None and dim is None:
        raise fault(OptionError, 'without dim', help='say how many features turn')
    if inv_freqs is None or freq_factors is None and theta == 10000.0: return
    raise fault(OptionError, 'takes inv_freqs alone', help='they say all; divide them before')


def check_factors(factors):
    "Refuse factors of which one is not above 0."
    if (factors > 0).all(): return
    raise fault(OptionError, 'a factor is not above 0', help='1 changes nothing, more makes a pair slower')


def not_as_many(at, n, tag, table):
    help = f'positions=AxisRange({n}, origin)' + ' picks from a larger table' * (at is table)
    return fault(InvalidDataLength, f'along {tag!r}: {len(at)} positions for {n} entries', positions=at, help=help)


def no_source(source):
    help = 'theta, a number above 0 like 10000.0, or a rope_table(positions, dim)'
    return fault(OptionError, f'source is {shown(source)}', help=help)


def not_so_many(tag, turning, d):
    help = f'a table of at most {d - d % 2} features: rope_table(positions, {d - d % 2})'
    return fault(InvalidShape, f'over {tag!r}: {turning} of {d} features', help=help)


# ---- blocks: how they come in
def not_blocks(f, formats):
    help = f'Tensor(data, tags) holds {f}; ' + did_you_mean(f, formats, 'block formats:')
    return fault(DTypeError, f'{f} is not a block format', help=help)


def no_bytes(b, f):
    help = f'Tensor(data, tags).to({str(f)!r}) turns numbers into blocks'
    return fault(DTypeError, f'blocks are bytes, these are {b.dtype}', blocks=b, help=help)


def not_whole(n, f):
    help = f'the last axis is a multiple of {f.elems}; 32 is the least: q8_0, q5_0, q4_0'
    return fault(InvalidShape, f'{n} numbers are not a whole number of {f} blocks', help)


def other_bytes(b, f, want, sizes):
    head = f'{brief(prod(want))} bytes of {f} make sizes {brief(tuple(sizes), 60)}, {b.size} were given'
    return fault(InvalidDataLength, head, f'a block of {f} has {f.elems} numbers in {f.bytes} bytes')


def not_axes(b, f, ndim):
    help = f'the last axis of the bytes is a block, {f.bytes} bytes, or a row of blocks; or give shape='
    return fault(InvalidShape, f'these bytes are not {ndim} axes of {f} blocks', blocks=b, help=help)


def check_format(f, formats):
    "Refuse a format that can only be read."
    if f.write is not None: return
    help = 'these can: ' + ' '.join(n for n, f in formats.items() if f.write)
    raise fault(DTypeError, f'{f} can be read but not written here', help=help)


def check_storable(a):
    "Refuse values that no block holds."
    if np.isfinite(a).all(): return
    help = 'clean the values first, e.g. x.where(x.isfinite(), 0.)'
    raise fault(NonFiniteValue, 'NaN or inf cannot be stored in blocks', help=help)


def check_scales(f, a, out):
    "Refuse values `a`, written as `out`, of which a scale or a sum is beyond what it is stored in."
    far, help = np.abs(a).max(), 'scale the values down, and the result of the product up'
    sums = np.ascontiguousarray(out[:, 2:4]).view('<f2') if f == 'q8_1' else 0
    if not np.isfinite(sums).all():
        head = f'the sum of a block whose largest value is {far:.3g} is beyond the range of f16'
        raise fault(NonFiniteValue, head, help)
    if far <= 60000 or f == 'q8_k' or far <= 1e9 and np.isfinite(f.floats(out)).all(): return
    raise fault(NonFiniteValue, f'a value of {far:.3g} needs a scale beyond the range of f16', help)


# ---- blocks: what they do not do
def rounds_twice(q, dtype):
    kind = repr(str(dtype))
    return fault(DTypeError, f'{kind} of {q.dtype} blocks', help=f"q.to('f32').to({kind})")


def no_arithmetic_of(q, name):
    "The error for what numbers in blocks cannot do."
    help = "q.to('f32') unpacks them; blocks can be multiplied by: x.dot(q, tag)"
    return fault(DTypeError, f'{name} of {q.dtype} blocks', q=q, help=help)


def not_of_blocks(q, name):
    "DTypeError for what tensors have and blocks have not, UnknownName for the rest."
    if name.startswith('_'): return AttributeError(name)
    if hasattr(Tensor, name): return no_arithmetic_of(q, name)
    near = closest(name, [n for n in dir(type(q)) if not n.startswith('_')])
    help = f'did you mean {near}?' if near else "x.to('f32') has all of a tensor"
    return fault(UnknownName, f'a block tensor has no {name!r}', x=q, help=help)


def check_chosen(q, tag, at):
    "Refuse another axis than the first of two, and what is no row of its indices."
    if q.ndim != 2 or locate(q, tag) != (0,):
        help = f'the first axis is {q.tags[0]!r}'
        if q.ndim != 2: help = 'q.select(...) or q.narrow(...) until two axes are left'
        raise fault(TagError, f'over {tag!r} takes the first of two axes', help=help)
    if at.dtype.kind not in 'iu' or at.ndim != 1:
        kind = InvalidShape if at.dtype.kind in 'iu' or not at.size else DTypeError
        raise fault(kind, 'takes one row of whole numbers', indices=at, help='e.g. [0, 3, 3]')
    n = q.shape[0]
    bad = at[(at < 0) | (at >= n)]
    if bad.size: raise fault(IndexOutOfBounds, f'over {tag!r}: {bad[0]} of {n}', help=f'0 to {n - 1}')


def in_blocks(q, tag):
    return fault(TagError, f'over {tag!r}: that axis is cut into blocks', q=q, help="q.to('f32') first")


def not_within(q, i, tag, start, length):
    head = f'of {tag!r} from {brief(start)}, {brief(length)} long'
    return fault(IndexOutOfBounds, head, f'{tag!r} has {q.shape[i]}')


def check_parts(tensors, kind):
    "Refuse what is no list of tensors in blocks of one format."
    if not isinstance(tensors, (list, tuple)):
        head = f'takes a list of block tensors, and this is {shown(tensors)}'
        raise fault(OptionError, head, help='concat([q, r], tag)')
    if not tensors: raise fault(EmptySelection, 'of nothing', help='give at least one tensor')
    if all(isinstance(t, kind) and t.dtype == tensors[0].dtype for t in tensors): return
    parts = {f'q{k}': t for k, t in enumerate(tensors)}
    raise fault(DTypeError, 'of different formats', help="unpack them first: q.to('f32')", **parts)


# ---- blocks: products
def check_weight(q, instead):
    "Refuse a format that only activations have."
    if q.activation is not None: return
    head = f'with {q.dtype} blocks: that is a format of activations, not of weights'
    raise fault(DTypeError, head, w=q, help=instead)


def check_product(q, x, joined, options):
    "Whether q can stand on the right of x, over the axes `joined`."
    if options:
        head = f'with {next(iter(options))} takes a packed weight'
        raise fault(OptionError, head, w=q, help='x.dot(w.pack(), tag, ...)')
    check_weight(q, "x.dot(w.to('f32'), tag)")
    if q.ndim != 2 or q.tags[1:] != joined:
        help = f'x.dot(w, {q.tags[-1]!r})' if q.ndim == 2 else 'w.select(...) until two axes are left'
        head = f'over {" ".join(joined)!r}: blocks have two axes, and the last one is summed over'
        raise fault(TagError, head, w=q, help=help)
    i = axis_of(x, joined[0])
    if q.tags[0] in x.tags:
        head = f'with blocks has no batch axes, and {q.tags[0]!r} is in both'
        raise fault(TagError, head, w=q, help=renaming('w', q.tags[0], q.tags[0] + '2'))
    if x.shape[i] != q.shape[1]: agrees('w', of='x').ask(dict(x=x, w=q))
    if x.data.dtype != 'f4': single('x').ask(dict(x=x, w=q))


def check_layout(q, layout, own):
    "Refuse blocks that lie scattered, and a format that has no layout of its own."
    if not q.blocks.flags.c_contiguous:
        help = 'BlockTensor(q.blocks.copy(), q.dtype, q.tags).pack()'
        raise fault(UnsupportedView, 'of blocks that lie scattered in memory', help)
    if layout is own is None:
        help = "q.pack('i8x4') unpacks any format to one byte per code"
        raise fault(DTypeError, f'of {q.dtype}, which has no layout of its own', help=help)


def two_at_once(p):
    return fault(OptionError, 'with rms_norm and gate at once', w=p, help='one of them; do the other first')


def no_gate(p):
    help = "'swiglu' (x holds gate and value side by side) or ('geglu_quant', gate)"
    return fault(OptionError, 'with an unknown gate', w=p, help=help)


def check_quant(p):
    "Refuse a layout whose gelu is not tabled."
    if p.layout == 'q8_0x4': return
    head = f"with gate=('geglu_quant', ...) takes q8_0 weights, this one is {p.layout}"
    raise fault(OptionError, head, w=p, help='gate first: x.gated(gate, "geglu"), then dot')


# ---- groups of channels
def read_groups(x, tag, groups, over):
    "The axis of the channels and those that belong together, by name; None: x has two axes, and it is the first."
    tag = name_of(x, tag)
    if over is None:
        hint = "a batch goes through one by one, or over='time' says what belongs together"
        rank('x', 2, 'time channel', hint=hint).ask(dict(x=x))
        last('tag', 'x', ranks=(2,)).ask(dict(x=x, tag=tag))
        over = x.tags[:1]
    over = parse(over)
    locate(x, *over)
    if tag in over: raise fault(TagError, f'over {tag!r}, the axis of the channels', help="the others: over='h w'")
    if x.size(tag) % groups:
        raise fault(InvalidShape, f'of {x.size(tag)} channels in {groups} groups',
                    help=f'groups that divide {x.size(tag)}')
    return tag, over


# ---- weights of three values that learn
def check_genomes(genomes):
    "The error for blocks that cannot learn: of another format or other values, not to be written to, or shared."
    made = 'evolution.genome(w) makes one of a tensor'
    for i, q in enumerate(genomes):
        if q.dtype != 'tq2_0': raise fault(DTypeError, f'turns blocks of tq2_0, not {q.dtype}', help=made, given=q)
        if codes(q.blocks[..., :64].reshape(-1, 64), 2).max() > 2:
            raise fault(OptionError, 'not all of its codes are -1, 0 or 1', help=made, given=q)
        if not (q.blocks.flags.c_contiguous and q.blocks.flags.writeable):
            raise fault(OptionError, 'its memory is read-only, or in pieces', given=q,
                        help=f'BlockTensor(np.array(q.blocks), q.dtype, {" ".join(q.tags)!r})')
        if any(np.may_share_memory(q.blocks, other.blocks) for other in genomes[:i]):
            raise fault(OptionError, 'two weights share their memory', help='each once', given=q)


def all_given(params):
    "What is to learn, as a list."
    if isinstance(params, Iterable): return [*params]
    raise fault(OptionTypeError, f'{brief(params)} has nothing that learns', help='a module, or a list of tensors')


def as_reward(reward):
    "What a trial gives, as a float."
    if not callable(reward):
        raise fault(OptionTypeError, f'the reward is {brief(reward)}', help='a function: lambda: -float(loss())')
    value = reward()
    try: return float(value)
    except (TypeError, ValueError, OverflowError):
        raise fault(OptionTypeError, f'a reward is {brief(value)}',
                    help='one number that is larger for better; nothing was changed') from None
