"""What a function can see besides its arguments: the variables around it, and the numbers that its objects hold.

A recorded step depends on them as on its arguments, so chapter 37 asks each time whether they are what they were.
Tensors and arrays are not looked at here: their memory is read anew by every replay.
"""
import operator, types
import numpy as np
from .tensor import Tensor

__all__ = ['PLAIN', 'parts_in', 'rebuilt', 'is_input', 'sign', 'Surroundings', 'State', 'stands_at']

PLAIN = int, float, bool, str, bytes, type(None), np.generic
LIBRARIES = 'fucinalib.', 'numpy', 'builtins'
SMALL = 16      # numbers of an array that are compared each time
MANY = 1000     # things of a list that are looked at


def parts_in(v):
    "The tensors, arrays, numbers and objects in nested lists, tuples and dicts, in their order."
    if type(v) in (list, tuple):
        for u in v: yield from parts_in(u)
    elif type(v) is dict:
        for u in v.values(): yield from parts_in(u)
    else: yield v


def rebuilt(v, one):
    "The same lists, tuples and dicts around `one` of each thing in them."
    if type(v) in (list, tuple): return type(v)([rebuilt(u, one) for u in v])
    if type(v) is dict: return {k: rebuilt(u, one) for k, u in v.items()}
    return one(v)


def is_input(v): return isinstance(v, np.ndarray) or type(v) is Tensor and v.node is None


def sign(v):
    "What must be the same of an argument for a plan to serve it."
    if type(v) is Tensor and v.node is None: return v.tags, v.data.shape, v.data.strides, v.data.dtype
    if isinstance(v, np.ndarray): return v.shape, v.strides, v.dtype
    return (type(v), v) if isinstance(v, PLAIN) else id(v)


def is_plain(v):
    "Whether `v` is a number, a text, or a short list of such."
    return isinstance(v, PLAIN) or type(v) in (list, tuple) and len(v) < 100 and all(map(is_plain, v))


def stands_at(place):
    "What stands in a variable now; the bytes of a small array."
    table, name = place
    if type(table) is dict: return frozen(table.get(name))
    if type(table) is np.ndarray: return table.tobytes()
    return frozen(table.cell_contents if type(table) is types.CellType else vars(table).get(name))


def frozen(v):
    "Lists as tuples, which can be compared and kept."
    return tuple(map(frozen, v)) if type(v) in (list, tuple) else v


class State:
    "What stands in some places, to ask often whether it still does: those of one table are read in one go."
    def __init__(self, places):
        self.count, self.others, tables = len(places), [], {}
        for table, name in places:
            plain = type(table) is dict and name in table and type(table[name]) not in (list, tuple)
            if plain: tables.setdefault(id(table), (table, []))[1].append(name)
            else: self.others.append((table, name))
        self.tables = [(table, operator.itemgetter(*names)) for table, names in tables.values()]
        self.then = self.now()

    def now(self): return [get(table) for table, get in self.tables] + [*map(stands_at, self.others)]

    def same(self, places=None):
        "Whether nothing changed, and there are no more `places` than there were."
        if places is not None and len(places) != self.count: return False
        try: return self.now() == self.then
        except KeyError: return False       # a variable that is gone


class Surroundings:
    "The numbers a step can see, by the place where each stands, and the parameters."
    def __init__(self, step):
        self.places, self.leaves, self.seen, self.held = [], [], set(), []
        self.tensors, self.arrays = [], []      # all of them
        self.things = {}        # id of a table -> (table, objects in it, their names)
        self.free = []          # places of what an optimizer may change in its own step
        self.look(step)

    def same(self):
        "Whether all objects stand where they stood: a layer, a weight or a function may be another one."
        for table, there, names in self.things.values():
            if type(table) is dict:
                if len(names) == 1: now = table.get(names[0]),
                else:
                    try: now = operator.itemgetter(*names)(table)
                    except KeyError: return False
            elif type(table) is list: now = table
            else: now = [table.cell_contents]
            if len(now) != len(there) or not all(map(operator.is_, now, there)): return False
        return True

    def state(self): return [*map(stands_at, self.places)]
    def free_state(self): return [*map(stands_at, self.free)]

    def look(self, v, table=None, name='', free=False):
        "Note what stands in a variable: a number by its place, of anything else what it holds."
        if is_plain(v) and type(v) is not list: return self.note(table, name, free)
        if is_plain(v): self.note(table, name, free)
        elif type(table) in (dict, types.CellType) and not free:
            _, there, names = self.things.setdefault(id(table), (table, [], []))
            if name not in names: there.append(v), names.append(name)
        if id(v) in self.seen: return
        self.seen.add(id(v))
        self.held.append(v)     # or another thing might get its id
        if getattr(type(v), 'is_recorded', False): self.look(v.__wrapped__)      # not its counts
        elif type(v) is Tensor:
            self.tensors.append(v)
            if v.node is not None and v.node.op is None: self.leaves.append(v)
        elif isinstance(v, np.ndarray): self.array(v, free)
        elif type(v) in (list, tuple):
            if type(v) is list and len(v) <= MANY and not free: self.things[id(v)] = v, [*v], ()
            for u in v[:MANY]: self.look(u, None, '', free)
        elif type(v) is dict:
            for k, u in [*v.items()][:MANY]: self.look(u, v, k, free)
        elif isinstance(v, types.MethodType): self.look(v.__self__), self.look(v.__func__)
        elif isinstance(v, types.FunctionType): self.function(v)
        elif isinstance(v, type): self.kind(v, free)
        elif isinstance(v, types.ModuleType): pass      # see `function`
        elif isinstance(getattr(v, '__dict__', None), dict): self.thing(v, free)

    def array(self, a, free):
        "Memory of the user's. What is small may be a number that changes."
        self.arrays.append(a)
        if a.size <= SMALL and type(a) is np.ndarray: self.note(a, '', free)

    def note(self, table, name, free):
        if table is None or (id(table), name) in self.seen: return
        self.seen.add((id(table), name))
        self.held.append(table)
        (self.free if free else self.places).append((table, name))

    def thing(self, v, free):
        "The attributes of an object. Those of one that steps as a whole it may change itself."
        free = free or any(hasattr(getattr(type(v), n, None), 'in_one_piece') for n in dir(type(v)))
        if hasattr(type(v), 'training'): self.note(vars(v), 'training', free)
        for k, u in [*vars(v).items()][:MANY]: self.look(u, vars(v), k, free)
        for cls in type(v).__mro__: self.look(cls, None, '', free)

    def kind(self, cls, free):
        "The numbers and methods of a class of the user's."
        if str(cls.__module__).startswith(LIBRARIES): return
        for k, u in [*vars(cls).items()]:
            if k.startswith('__') and k != '__call__' or k in ('training',): continue
            u = getattr(u, '__func__', u)
            if isinstance(u, property): self.look(u.fget)
            else: self.look(u, cls, k, free)

    def function(self, f):
        "The variables that a function of the user's reads: its defaults, those around it, those of its module."
        if str(f.__module__).startswith(LIBRARIES): return
        for v in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values(), getattr(f, '__wrapped__', None)):
            if not is_plain(v): self.look(v)
        for cell in f.__closure__ or ():
            try: self.look(cell.cell_contents, cell, 'cell')
            except ValueError: pass     # it has no value yet
        said = names_said(f.__code__)
        for name in sorted(said & f.__globals__.keys()):
            v = f.__globals__[name]
            self.look(v, f.__globals__, name)
            if not isinstance(v, types.ModuleType) or v.__name__.startswith(LIBRARIES): continue
            for n in sorted(said & vars(v).keys()):     # numbers of a module that settings stand in
                if is_plain(vars(v)[n]): self.look(vars(v)[n], vars(v), n)


def names_said(code):
    "The names that a function's code mentions, and the functions in it."
    return set(code.co_names).union(*[names_said(c) for c in code.co_consts if isinstance(c, types.CodeType)])
