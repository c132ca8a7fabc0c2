"""Which axes of a picture are its sides, as far as names tell.

Where a window names no axes, a picture is 'h w c': rows, columns, and the channels last. Given 'channel h w', it would
go over channels and rows, and no size says so; the names do. Names that tell nothing are taken at their word."""
from functools import lru_cache
from .errors import TagError, fault

__all__ = ['astray', 'sides_of', 'not_sides', 'channels_last']

PAIRS = {frozenset(pair.split('+')) for pair in
         'h+w height+width H+W row+col rows+cols row+column rows+columns r+c y+x freq+time frequency+time'.split()}
CHANNELS = frozenset('channel channels chan chans ch c C'.split())
SIDES = frozenset().union(*PAIRS) - CHANNELS
CARRIED = CHANNELS | frozenset('feature features filter filters f d'.split())    # what each place has several of
SEVERAL = frozenset('batch batches image images picture pictures example examples'.split())


def is_pair(a, b): return frozenset((a, b)) in PAIRS


@lru_cache(maxsize=4096)
def astray(tags):
    "Whether the names say that the two axes before the last are not the sides of a picture."
    if len(tags) < 3: return False
    a, b, last = tags[-3:]
    if is_pair(b, last): return not is_pair(a, b)
    if not SEVERAL.isdisjoint((a, b)): return True
    if last in CARRIED or CHANNELS.isdisjoint((a, b)): return False
    return any(len(t) > 2 for t in CHANNELS.intersection((a, b))) or not SIDES.isdisjoint(tags[-3:])


def sides_of(tags, many, channel=None):
    "The axes that are probably the sides of a picture, or time: as many as a window has, or fewer."
    near = [t for t in tags if t not in SEVERAL and t != channel and (channel or t not in CHANNELS)]
    pairs = [p for p in zip(near, near[1:]) if is_pair(*p)]
    return pairs[-1] if pairs and many == 2 else tuple(near[-many:])


def channels_last(tags, sides, channel=None):
    "The tags in the order that a window without names takes, as one text."
    rest = [t for t in tags if t not in sides]
    channel = channel or next((t for t in reversed(rest) if t in CHANNELS), rest[-1])
    return ' '.join([*(t for t in rest if t != channel), *sides, channel])


def not_sides(x, many=2, channel=None, way=None):
    """The error for a window without names over other axes than the sides of a picture, or than time; `way` makes the
    call that has the names that were meant."""
    sides = sides_of(x.tags, many, channel)
    head = f'takes {" and ".join(map(repr, x.tags[-1 - many:-1]))} for {"rows and columns" if many == 2 else "time"}'
    if channel not in (None, x.tags[-1]): head = f'{channel!r} is not the last axis'
    if len(sides) < many or len(sides) == x.ndim: return fault(TagError, head, x=x, help=f'x is {USUAL[many]}')
    ways = [*([way(sides)] if way else []), f'x.permute({channels_last(x.tags, sides, channel)!r})']
    return fault(TagError, head, x=x, help=' names the axes; or '.join(ways))


USUAL = {1: "'batch time channel'", 2: "'batch h w channel'"}
