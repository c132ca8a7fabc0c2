"""What was written to in between.

A gradient rule keeps arrays, not copies of them. Whoever changes values in place says so to `changed`, and a step of
backward that was recorded before the last write asks `check_kept` whether its rules hold what was written to. Chapter
3a tells why.
"""
import functools, inspect, itertools, types, weakref
import numpy as np
from .errors import GradError, fault
from .tensor import Tensor

__all__ = ['clock', 'writes', 'Write', 'changed', 'check_kept', 'arrays_in']

clock = itertools.count()    # gives every node its birth number, and every write the time it was made
# id of an array that owns memory -> (weak reference to it, {part of it, None for all: the last Write there})
writes = {}


class Write:
    "A part of memory somebody wrote to, when, and by which operation; to NumPy it is that part, while its owner lives."
    latest = 0
    def __init__(self, a): self.__array_interface__ = a.__array_interface__

    def now(self, door):
        self.door, self.when = door, next(clock)
        Write.latest = self.when


def changed(a,     # the array
            door,  # by what, for the message: the name of an operation that ends in _
           ):
    "Note that the values of `a` were changed in place just now. Whoever writes to a tensor's memory says so."
    owner = a if a.base is None else _find_owner(a)
    ref, parts = writes.get(id(owner), (None, None))
    if a is owner and ref is not None and ref() is a and len(parts) == 1 and None in parts:
        return parts[None].now(door)        # all of it again, as in every step of an optimizer
    if ref is None or ref() is not owner:
        parts = {}
        writes[id(owner)] = weakref.ref(owner, functools.partial(_forget, id(owner))), parts
    if a is owner or len(parts) > 1000 or a.nbytes == owner.nbytes and a.flags.forc:
        write = parts.pop(None, None) or Write(owner)       # an optimizer comes again and again
        write.now(door)
        parts.clear()
        parts[None] = write
    else:
        write = Write(a)
        write.now(door)
        where = write.__array_interface__
        parts[where['data'][0], where['shape'], where['strides']] = write


def _find_owner(a):
    "The array that the memory of `a` belongs to."
    while isinstance(a.base, np.ndarray): a = a.base
    return a


def _forget(key, ref):
    "The owner is gone, and with it what was written there."
    if writes.get(key, (None,))[0] is ref: del writes[key]


def check_kept(node):
    "GradError if the rules of `node` hold an array that was written to after the node was made."
    for name, a in arrays_in(node.rules):
        owner = _find_owner(a)
        ref, parts = writes.get(id(owner), (None, {}))
        if ref is None or ref() is not owner: continue
        for write in list(parts.values()):
            if write.when > node.born and _overlap(a, write): raise _changed_fault(node, name, a, write.door)


def _overlap(a, write):
    "Whether an array and a part that was written to have a place in common; if that is too hard to say, yes."
    try: return np.shares_memory(a, np.asarray(write), max_work=10_000)
    except np.exceptions.TooHardError: return True


# ---- what rules hold
def arrays_in(rules):
    "(name, array) of all that gradient rules hold: in closures, defaults, partials, methods, objects, lists."
    todo, seen = [('', rules)], set()
    while todo and len(seen) < 10_000:
        name, v = todo.pop()
        if id(v) in seen: continue
        seen.add(id(v))
        if isinstance(v, np.ndarray): yield name, v
        else: todo += _look_into(name, v)


def _look_into(name, v):
    "What `v` holds, by name, if it is a thing that rules are made of; steps and operations are `closed`."
    if type(v) is Tensor: return [(name, v.data)]
    if isinstance(v, (tuple, list, set, frozenset)): return [(name, u) for u in v]
    if isinstance(v, dict): return [(k if isinstance(k, str) else name, u) for k, u in list(v.items())]
    if isinstance(v, functools.partial): return [(name, v.func), (name, v.args), (name, v.keywords)]
    if inspect.ismethod(v): return [(name, v.__func__), (name, v.__self__)]
    if inspect.isfunction(v):
        kept = [(n, *_contents(c)) for n, c in zip(v.__code__.co_freevars, v.__closure__ or ())]
        return [k for k in kept if len(k) == 2] + [(name, v.__defaults__), (name, v.__kwdefaults__)]
    if isinstance(v, (type, types.ModuleType, np.generic, str, int, float)): return []
    if getattr(type(v), 'closed', False): return []
    slots = [s for c in type(v).__mro__ for s in getattr(c, '__slots__', ())]
    return [(s, getattr(v, s, None)) for s in slots] + [(name, getattr(v, '__dict__', None))]


def _contents(cell):
    "What a variable of an outer function holds, in a tuple; nothing if it has no value yet."
    try: return cell.cell_contents,
    except ValueError: return ()


# ---- the message
def _changed_fault(node, name, a, door):
    "The error for a rule of `node` that holds the array `a`, which `door` has changed."
    what, x = _find_operand(node, a)
    several = len(node.parents) > len(node.op.operands)     # under one name
    if name and (several or x is None and name in node.op.operands): what = name
    shown = {} if x is None else {what.split()[-1]: x}
    return fault(GradError, f'{node.op.name} kept {what}, which {door} has changed since', **shown,
                 help=f'call backward before {door}, or let {door} change a copy: x.detach().materialize()')


def _find_operand(node, a):
    "(name, node or tensor) of the operand or result of `node` whose values are in the array `a`."
    constants, names = iter(node.constants or ()), node.op.operands
    known = [next(constants, None) if p is None else p for p in node.parents]
    named = [(names[min(i, len(names) - 1)], x) for i, x in enumerate(known)] + [('its result', node)]
    for name, x in named:
        values = _values_of(x)
        if values is not None and np.may_share_memory(values, a): return name, x[0]() if isinstance(x, tuple) else x
    gone = [(name, x) for name, x in named if _is_step(x) and _values_of(x) is None and x.shape == a.shape]
    return gone[0] if gone else ('values', None)


def _is_step(x): return hasattr(x, 'parents')


def _values_of(x):
    "The values of a node, a tensor or a sketch, where they can still be seen."
    if _is_step(x): x = x.owner() if x.owner else x.value
    if isinstance(x, tuple): x = x[0]()
    return x.data if isinstance(x, Tensor) else x if isinstance(x, np.ndarray) else None
