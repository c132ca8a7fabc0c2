"""A `with` block that is a decorator too: `Block`, of which no_grad, enable_grad, use_backend and
timed are made.

Over a function the block lasts for the call. A generator or a coroutine stops and goes on many
times: it is inside the block whenever it runs, and whoever runs in between is not."""
import functools, inspect
from .errors import OptionError, brief, fault


class Called(type):
    "The kind of classes of which a `with` wants a call: `with no_grad:` has forgotten the parentheses."
    def __enter__(cls):
        call = f'{cls.__name__}({"" if issubclass(cls, BareBlock) else "..."})'
        raise fault(OptionError, f'with {cls.__name__}: it is to be called', help=f'with {call}: ...')

    def __exit__(cls, *exc): pass


class Block(metaclass=Called):
    "What has `__enter__` and `__exit__`, both for any number of times at once, and can stand above a function."
    def __call__(self, fn):
        name, kind = type(self).__name__, type(fn)
        if kind in (classmethod, staticmethod): return kind(self(fn.__func__))
        if inspect.isclass(fn):
            raise fault(OptionError, f'{name} over the class {fn.__name__}',
                        help='put it over its methods: wrapped, the class would be a function')
        if not callable(fn): raise fault(OptionError, f'{name}({brief(fn)})', help=self.usage())
        return decorate(self, fn)

    def usage(self): return f'with {self!r}: ..., or @{self!r} over a function'

    def steps(self):
        "A function that runs one step inside the block; each generator gets one of its own."
        def step(run, *args):
            with self: return run(*args)
        return step


class BareBlock(Block):
    "A block without options: `with no_grad():`, and as a decorator also without parentheses."
    def __new__(cls, fn=None):
        self = super().__new__(cls)
        return self if fn is None else self(fn)

    def usage(self): return f'with {type(self).__name__}(): ..., or @{type(self).__name__} over a function'


def decorate(block, fn):
    "`fn` inside `block`, as the kind of function it is."
    # an object with a __call__
    body = fn if inspect.isroutine(fn) or isinstance(fn, functools.partial) else type(fn).__call__
    if inspect.isgeneratorfunction(body): return walking(block.steps, fn)
    if inspect.iscoroutinefunction(body): return awaiting(block, fn)
    if inspect.isasyncgenfunction(body): return walking_async(block, fn)

    @functools.wraps(fn)
    def inner(*args, **kw):
        with block: return fn(*args, **kw)
    return inner


def walking(steps, fn):
    "The generator function `fn`, whose generators run inside from one yield to the next."
    @functools.wraps(fn)
    def inner(*args, **kw):
        gen, step = fn(*args, **kw), steps()
        try:
            item = step(gen.send, None)
            while True:
                try: said = yield item
                # GeneratorExit too: this is how a generator is closed
                except BaseException as e: item = step(gen.throw, e)
                else: item = step(gen.send, said)
        except StopIteration as e: return e.value
    return inner


class Awaited:
    "What to await for `coroutine` to run by `step`."
    def __init__(self, step, coroutine): self.step, self.coroutine = step, coroutine
    def __await__(self): return walking(lambda: self.step, self.coroutine.__await__)()


def awaiting(block, fn):
    "The coroutine function `fn`, inside from one await to the next."
    @functools.wraps(fn)
    async def inner(*args, **kw): return await Awaited(block.steps(), fn(*args, **kw))
    return inner


def walking_async(block, fn):
    "The asynchronous generator function `fn`, inside between yields and awaits."
    @functools.wraps(fn)
    async def inner(*args, **kw):
        gen, step = fn(*args, **kw), block.steps()
        try:
            item = await Awaited(step, gen.asend(None))
            while True:
                try: said = yield item
                except BaseException as e: item = await Awaited(step, gen.athrow(e))
                else: item = await Awaited(step, gen.asend(said))
        except StopAsyncIteration: return
    return inner
