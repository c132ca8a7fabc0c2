"""Whoever looks on: a stopwatch, a trace, an exercise that puts a function of one's own in place of the library's.

They stand beside the operations as *watchers*, each on its own thread, and patch nothing. While nobody watches, a call
finds an empty list and asks no further.
"""
import functools, operator
from contextvars import ContextVar
from .modes import Block

__all__ = ['Watcher', 'watchers', 'watching', 'watched', 'watched_layer', 'in_one_piece', 'Again', 'tell', 'announce']

watchers = ContextVar('watchers', default=())     # who watches on this thread, the newest last
watching = []       # the watchers of all threads


class Watcher(Block):
    "Looks on, inside `with`, at what this thread computes; a subclass says what it looks at."
    def around(self, o, run, args, kw):
        "Stands around each call of an operation `o`: `run(*args, **kw)` goes on."
        return run(*args, **kw)

    def layer(self, module, run, args, kw):
        "Stands around each call of a layer: `run(*args, **kw)` goes on."
        return run(*args, **kw)

    def made(self, node): "Hears of each step that is recorded."
    def told(self, make): "Hears of what an operation has to tell besides; `make()` gives it."

    def called(self, run, args, kw):
        "Stands around what changes tensors as one piece, by numbers of Python's own: an optimizer's step."
        return run(*args, **kw)

    def __enter__(self):
        watchers.set((*watchers.get(), self))
        watching.append(self)
        return self

    def __exit__(self, *exc):
        here = watchers.get()[::-1]
        if self in here: i = here.index(self); watchers.set((here[:i] + here[i + 1:])[::-1])
        watching.remove(self)


def watched(o, args, kw):
    "A call of `o` in sight of this thread's watchers, the newest outermost."
    run = o.bare
    for w in watchers.get(): run = functools.partial(_stand_around, w, o, run)
    return run(*args, **kw)


def _stand_around(w, o, run, /, *args, **kw): return w.around(o, run, args, kw)


def watched_layer(module, args, kw):
    "A call of a layer in sight of this thread's watchers, the newest outermost."
    run = module.forward
    for w in watchers.get(): run = functools.partial(_stand_around_layer, w, module, run)
    return run(*args, **kw)


def _stand_around_layer(w, module, run, /, *args, **kw): return w.layer(module, run, args, kw)


def in_one_piece(fn):
    "`fn`, which watchers see as one piece. A recorded step carries it out as it is, each time."
    @functools.wraps(fn)
    def inner(*args, **kw):
        if not watching: return fn(*args, **kw)
        run = fn
        for w in watchers.get(): run = functools.partial(_call_piece, w, run)
        return run(*args, **kw)
    inner.in_one_piece = fn     # fn.again(*args), where it has one, gives what does the same again for a plan
    return inner


class Again:
    "`do(found)`; what `find` gives is found anew where `look` gives other things than before, or if it does not last."
    def __init__(self, look, find, do): self.look, self.find, self.do, self.seen = look, find, do, ()

    def __call__(self):
        now = self.look()
        if len(now) != len(self.seen) or not all(map(operator.is_, now, self.seen)):
            self.found, lasts = self.find()
            self.seen = now if lasts else ()
        return self.do(self.found)


def _call_piece(w, run, /, *args, **kw): return w.called(run, args, kw)


def tell(make):
    "Let those who watch know what `make()` gives. Ask `watching` first: mostly there is nobody."
    for w in watchers.get(): w.told(make)


def announce(node):
    "Let those who watch hear of a step that was recorded."
    for w in watchers.get(): w.made(node)
