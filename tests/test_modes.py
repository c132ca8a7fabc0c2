"""`no_grad`, `enable_grad`, `use_backend` and `timed` as blocks and as decorators, over
everything Python can call, in threads and in tasks."""
import asyncio, functools, gc, inspect, os, pickle, random, sys, threading
from types import SimpleNamespace
import pytest
import fucinalib as fl
from fucinalib import autograd
from fucinalib.errors import OptionError
from fucinalib.kernels import discovery

W = fl.param([1., 2.], 'd')

def records(): return (W * 2.).requires_grad

def is_timed(): return getattr((W * 2.).node, 'time', None) is not None

@pytest.fixture(params=['no_grad', 'enable_grad', 'use_backend', 'timed'])
def mode(request, monkeypatch):
    "How a block is made, what it changes, and how that reads inside and outside."
    if request.param == 'no_grad': yield SimpleNamespace(make=fl.no_grad, read=records, inside=False, outside=True)
    elif request.param == 'enable_grad':
        with fl.no_grad(): yield SimpleNamespace(make=fl.enable_grad, read=records, inside=True, outside=False)
    elif request.param == 'timed': yield SimpleNamespace(make=fl.timed, read=is_timed, inside=True, outside=False)
    else:
        monkeypatch.setitem(discovery._loaded, 'other', {'exp': lambda *args: None})
        with fl.use_backend('numpy'):
            yield SimpleNamespace(make=lambda: fl.use_backend('other'), read=fl.current_backend,
                                  inside='other', outside='numpy')

@pytest.fixture(autouse=True)
def untouched():
    "Whatever a test does, the modes of this thread are afterwards what they were."
    state = lambda: (fl.is_grad_enabled(), fl.current_backend(), autograd.Node, [o.fn for o in fl.registry.values()])
    before = state()
    yield
    gc.collect()
    assert state() == before


# a block

def test_block(mode):
    with mode.make() as m:
        assert mode.read() == mode.inside and m is not None
        with mode.make(): assert mode.read() == mode.inside
        assert mode.read() == mode.inside
    assert mode.read() == mode.outside
    with pytest.raises(ZeroDivisionError):
        with mode.make(): 1 / 0
    assert mode.read() == mode.outside

def test_one_object_many_times(mode):
    m = mode.make()
    for _ in range(2):
        with m:
            with m:
                with m: assert mode.read() == mode.inside
                assert mode.read() == mode.inside
            assert mode.read() == mode.inside
        assert mode.read() == mode.outside

def test_blocks_that_end_in_another_order(mode):
    "As interleaved generators end them: what is left open decides, and nothing is left at the end."
    first, second = mode.make(), mode.make()
    first.__enter__(); second.__enter__()
    first.__exit__(None, None, None)
    assert mode.read() == mode.inside
    second.__exit__(None, None, None)
    assert mode.read() == mode.outside

def test_the_innermost_block_decides():
    a, b = fl.no_grad(), fl.enable_grad()
    a.__enter__(); b.__enter__(); a.__exit__()
    assert records()
    with a: assert not records()
    b.__exit__()
    with a, b, a: assert not records()
    with a, b: assert records()

def test_leaving_what_was_not_entered_here():
    "The end of an async generator can run in another task than its beginning; that task's own blocks stay."
    with fl.no_grad():
        fl.enable_grad().__exit__(None, None, None)
        assert not records()

@pytest.mark.parametrize('make', [fl.no_grad, fl.enable_grad])
def test_a_mode_can_be_copied(make):
    m = pickle.loads(pickle.dumps(make()))
    with fl.no_grad(), m: assert records() == make.on


# a function

def test_decorator(mode):
    @mode.make()
    def f(a, *rest, b=2):
        "Says so."
        return mode.read(), a, rest, b
    assert f(1, 5, b=3) == (mode.inside, 1, (5,), 3) and mode.read() == mode.outside
    assert (f.__name__, f.__doc__, list(inspect.signature(f).parameters)) == ('f', 'Says so.', ['a', 'rest', 'b'])
    @mode.make()
    def broken(): 1 / 0
    with pytest.raises(ZeroDivisionError): broken()
    assert mode.read() == mode.outside

def test_recursion(mode):
    seen = []
    @mode.make()
    def down(n):
        seen.append(mode.read())
        if n: down(n - 1)
        seen.append(mode.read())
    down(30)
    assert seen == [mode.inside] * 62 and mode.read() == mode.outside

def test_methods(mode):
    class Net:
        bias = 1
        @mode.make()
        def __init__(self): self.state = mode.read()
        @mode.make()
        def plain(self): return self.bias, mode.read()
        @classmethod
        @mode.make()
        def below(cls): return cls.bias, mode.read()
        @mode.make()
        @classmethod
        def above(cls): return cls.bias, mode.read()
        @mode.make()
        @staticmethod
        def free(x): return x, mode.read()
        @property
        @mode.make()
        def value(self): return self.bias, mode.read()
        @mode.make()
        def walk(self):
            for _ in range(2): yield self.bias, mode.read()
        @mode.make()
        def __call__(self): return self.bias, mode.read()
    net, want = Net(), (1, mode.inside)
    assert net.state == mode.inside
    assert [net.plain(), Net.below(), net.above(), Net.free(1), net.free(1), net.value, net(),
            *net.walk()] == [want] * 9
    assert mode.read() == mode.outside

def test_a_class_is_refused(mode):
    class Net: pass
    with pytest.raises(OptionError, match='class Net'): mode.make()(Net)
    assert mode.read() == mode.outside

def test_what_is_no_function_is_refused(mode):
    for wrong in (3, None, 'f', [len], property(lambda self: 1)):
        with pytest.raises(OptionError, match='over a function'): mode.make()(wrong)
    assert mode.read() == mode.outside

def test_the_help_is_a_way_to_write_it():
    says = lambda block: str(pytest.raises(OptionError, block, 3).value).splitlines()[-1].strip()
    assert says(fl.no_grad) == says(fl.no_grad()) == 'help: with no_grad(): ..., or @no_grad over a function'
    assert says(fl.timed) == 'help: with timed(): ..., or @timed over a function'
    assert (says(fl.use_backend('numpy'))
            == "help: with use_backend('numpy'): ..., or @use_backend('numpy') over a function")

def test_without_parentheses():
    @fl.no_grad
    def f(): return records()
    @fl.enable_grad
    def g(): yield records()
    with pytest.raises(OptionError, match='class Net'): fl.no_grad(type('Net', (), {}))
    with fl.no_grad(): assert (f(), *g()) == (False, True)

def test_callable_objects(mode):
    class Gives:
        def __call__(self): return mode.read()
    class Yields:
        def __call__(self): yield mode.read()
    class Awaits:
        async def __call__(self): return mode.read()
    def three(a, b, c): return mode.read()
    def walk(n): yield from [mode.read()] * n
    assert mode.make()(Gives())() == mode.make()(functools.partial(three, 1, c=2))(3) == mode.inside
    assert [*mode.make()(Yields())(), *mode.make()(functools.partial(walk, 2))()] == [mode.inside] * 3
    assert asyncio.run(mode.make()(Awaits())()) == mode.inside

def test_two_decorators():
    @fl.no_grad
    @fl.use_backend('numpy')
    @fl.enable_grad
    def walk():
        yield records(), fl.current_backend()
    assert list(walk()) == [(True, 'numpy')]


# a generator

def test_generator(mode):
    "Inside at each resumption; the caller in between is outside."
    @mode.make()
    def walk():
        for _ in range(3): yield mode.read()
        return 'end'
    seen, steps = [], walk()
    for state in steps: seen.append((state, mode.read()))
    assert seen == [(mode.inside, mode.outside)] * 3
    def outer(): return (yield from walk())
    g = outer()
    with pytest.raises(StopIteration) as end:
        while True: next(g)
    assert end.value.value == 'end' and inspect.isgeneratorfunction(walk)

def test_results_of_a_generator_require_no_gradient():
    @fl.no_grad
    def walk():
        while True: yield W * 2.
    steps = walk()
    assert [next(steps).requires_grad for _ in range(3)] == [False] * 3 and records()

SCRIPT = [('send', None), ('send', 'a'), ('throw', KeyError), ('send', 'b'), ('throw', ValueError), ('send', None)]

def play(make, read, script, end):
    "What happens when a decorated generator is driven by a script."
    heard = []
    @make()
    def talk():
        said = None
        try:
            while said != 'stop':
                try: said = yield said, read()
                except KeyError as e: said = type(e).__name__
                heard.append((said, read()))
            return 'done'
        finally: heard.append(('left', read()))
    g = talk()
    for act, value in script:
        try: heard.append(getattr(g, act)(value))
        except BaseException as e: heard.append((type(e).__name__, getattr(e, 'value', None)))
        heard.append(read())
    end(g)
    heard.append(read())
    return heard

@pytest.mark.parametrize('script', [SCRIPT, SCRIPT[:4], SCRIPT[:1], [],
                                    [('send', None), ('send', 'stop'), ('send', None)],
                                    [('throw', KeyError), ('send', None)],
                                    [('send', None), ('throw', GeneratorExit), ('send', None)]])
@pytest.mark.parametrize('end', [lambda g: g.close(), lambda g: None])
@pytest.mark.torch
def test_send_throw_close_as_in_torch(script, end):
    torch = pytest.importorskip('torch')
    t = torch.ones(2, requires_grad=True)
    for ours, theirs in ((fl.no_grad, torch.no_grad), (fl.enable_grad, torch.enable_grad)):
        for on in (True, False):
            with (fl.enable_grad if on else fl.no_grad)(), torch.set_grad_enabled(on):
                assert play(ours, records, script, end) == play(theirs, lambda: (t * 2).requires_grad, script, end)

@pytest.mark.parametrize('script', [SCRIPT, SCRIPT[:4], [('send', None), ('send', 'stop')]])
def test_send_throw_close(mode, script):
    "The same talk as without the decorator, but for the mode."
    plain = play(lambda: lambda fn: fn, lambda: None, script, lambda g: g.close())
    heard = play(mode.make, mode.read, script, lambda g: g.close())
    assert [h[0] if isinstance(h, tuple) else None for h in heard] == [h[0] if isinstance(h, tuple)
                                                                       else None for h in plain]
    within = [h[1] for h in heard if isinstance(h, tuple) and h[0] in ('a', 'b', 'KeyError', 'left', None)]
    assert set(within) == {mode.inside} and {h for h in heard if not isinstance(h, tuple)} == {mode.outside}

def test_close(mode):
    seen = []
    @mode.make()
    def walk():
        try: yield mode.read()
        finally: seen.append(mode.read())
    g = walk(); next(g); g.close()
    next(walk()); gc.collect()      # dropped
    walk().close()                  # never begun
    assert seen == [mode.inside] * 2 and mode.read() == mode.outside
    @mode.make()
    def stubborn():
        while True:
            try: yield 1
            except GeneratorExit: pass
            else: return
    g = stubborn(); next(g)
    with pytest.raises(RuntimeError, match='ignored GeneratorExit'): g.close()
    next(g, None)
    assert mode.read() == mode.outside

def test_generators_take_turns(mode):
    @mode.make()
    def walk():
        for _ in range(3): yield mode.read()
    def plain():
        for _ in range(3): yield mode.read()
    assert [*zip(walk(), plain(), walk())] == [(mode.inside, mode.outside, mode.inside)] * 3

def test_a_generator_inside_a_generator(mode):
    @mode.make()
    def inner():
        for _ in range(2): yield mode.read()
    def outer():
        for state in inner(): yield state, mode.read()
    assert list(outer()) == [(mode.inside, mode.outside)] * 2
    both = mode.make()(outer)
    assert list(both()) == [(mode.inside, mode.inside)] * 2

def test_recursive_generator(mode):
    @mode.make()
    def tree(n):
        yield mode.read()
        if n:
            for _ in range(2): yield from tree(n - 1)
        yield mode.read()
    assert set(tree(4)) == {mode.inside} and mode.read() == mode.outside

def test_a_block_that_lasts_over_a_yield():
    """A decorated generator has a mode of its own: a block inside goes on where it stopped, and
    its caller never sees it."""
    @fl.no_grad
    def walk():
        yield records()
        with fl.enable_grad():
            yield records()
            yield records()
        yield records()
    for on in (fl.enable_grad, fl.no_grad):
        with on():
            assert [(state, records()) for state in walk()] == [
                (state, on.on) for state in (False, True, True, False)]

def test_a_generator_passed_between_threads(mode):
    @mode.make()
    def walk():
        for _ in range(3): yield mode.read()
    steps, seen = walk(), [None]
    seen[0] = next(steps)
    t = threading.Thread(target=lambda: seen.append(next(steps))); t.start(); t.join()
    assert [*seen, *steps] == [mode.inside] * 3 and mode.read() == mode.outside


# coroutines

def turns(*tasks):
    "Run coroutines on one event loop."
    async def all_of_them(): return await asyncio.gather(*[t() for t in tasks])
    return asyncio.run(all_of_them())

def test_coroutines_take_turns(mode):
    @mode.make()
    async def inside():
        seen = [mode.read()]
        for _ in range(3): await asyncio.sleep(0); seen.append(mode.read())
        return seen
    async def outside():
        seen = [mode.read()]
        for _ in range(3): await asyncio.sleep(0); seen.append(mode.read())
        return seen
    assert inspect.iscoroutinefunction(inside)
    assert turns(inside, outside, inside, outside) == [[mode.inside] * 4, [mode.outside] * 4] * 2
    assert mode.read() == mode.outside

@pytest.mark.parametrize('block, other', [(fl.no_grad, fl.enable_grad), (fl.enable_grad, fl.no_grad)])
def test_a_block_concerns_its_task(block, other):
    "A plain `with` around an await: other tasks keep their mode, whoever ends first."
    async def task(make, n):
        with make():
            for _ in range(n): await asyncio.sleep(0); assert records() == make.on
            with other(): await asyncio.sleep(0); assert records() == other.on
            assert records() == make.on
        assert records()
    async def plain():
        for _ in range(6): await asyncio.sleep(0); assert records()
    turns(lambda: task(block, 1), plain, lambda: task(other, 4), lambda: task(block, 3), plain)

def test_a_task_begins_in_the_mode_it_was_started_in():
    async def state(): return records()
    async def main():
        with fl.no_grad(): task, other = asyncio.create_task(state()), asyncio.to_thread(records)
        return await task, await other, await asyncio.get_running_loop().run_in_executor(None, records), await state()
    assert asyncio.run(main()) == (False, True, True, True)

def test_coroutine_without_a_loop(mode):
    "Driven by hand, in one context: inside at each resumption only."
    class Stop:
        def __await__(self): return (yield 'stopped')
    @mode.make()
    async def work():
        got = [mode.read(), await Stop(), mode.read()]
        try: await Stop()
        except KeyError: got.append(mode.read())
        return got
    c = work()
    assert c.send(None) == 'stopped' and mode.read() == mode.outside
    assert c.send(7) == 'stopped' and mode.read() == mode.outside
    with pytest.raises(StopIteration) as end: c.throw(KeyError())
    assert end.value.value == [mode.inside, 7, mode.inside, mode.inside] and mode.read() == mode.outside
    c = work(); c.send(None); c.close()
    assert mode.read() == mode.outside

def test_cancelled(mode):
    seen = []
    @mode.make()
    async def work():
        try: await asyncio.sleep(60)
        finally: seen.append(mode.read())
    async def main():
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError): await task
        assert mode.read() == mode.outside
        with pytest.raises(TimeoutError): await asyncio.wait_for(work(), .001)
    asyncio.run(main())
    assert seen == [mode.inside] * 2 and mode.read() == mode.outside

def test_async_generator(mode):
    left = []
    @mode.make()
    async def walk(n):
        try:
            for _ in range(n): await asyncio.sleep(0); yield mode.read()
        finally: await asyncio.sleep(0); left.append(mode.read())
    async def consume():
        seen = []
        async for state in walk(3):
            seen.append((state, mode.read()))
            await asyncio.sleep(0)
            seen.append((state, mode.read()))
        return seen
    async def drop():
        async for _ in walk(3): break
    async def close():
        g = walk(3); state = await anext(g); await g.aclose()
        return state, mode.read()
    assert inspect.isasyncgenfunction(walk)
    assert turns(consume, consume) == [[(mode.inside, mode.outside)] * 6] * 2
    assert turns(close) == [(mode.inside, mode.outside)] and turns(drop) == [None]
    assert left == [mode.inside] * 4 and mode.read() == mode.outside

def test_async_generator_hears_its_caller(mode):
    @mode.make()
    async def talk():
        said = None
        while said != 'stop':
            try: said = yield said, mode.read()
            except KeyError: said = 'caught'
    async def main():
        g = talk()
        heard = [await anext(g), await g.asend('a'), await g.athrow(KeyError()), mode.read()]
        with pytest.raises(StopAsyncIteration): await g.asend('stop')
        g = talk(); await anext(g)
        with pytest.raises(ValueError): await g.athrow(ValueError())
        return heard
    assert asyncio.run(main()) == [(None, mode.inside), ('a', mode.inside), ('caught', mode.inside), mode.outside]

def test_a_block_over_the_yield_of_an_async_generator():
    @fl.no_grad
    async def walk():
        yield records()
        with fl.enable_grad():
            await asyncio.sleep(0)
            yield records()
        yield records()
    async def main(): return [(state, records()) async for state in walk()]
    assert asyncio.run(main()) == [(False, True), (True, True), (False, True)]


# threads

def together(n, work):
    "Run work(i) on n threads and hand on what one of them raises."
    wrong = []
    def run(i):
        try: work(i)
        except BaseException as e: wrong.append(e)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads: t.start()
    for t in threads: t.join()
    for e in wrong: raise e

def in_turns(*steps):
    "Run the steps one after the other, each on the thread it names."
    todo = {name: [f for n, f in steps if n == name] for name, _ in steps}
    order, turn = [name for name, _ in steps], threading.Condition()
    def run(name):
        for f in todo[name]:
            with turn:
                turn.wait_for(lambda: order and order[0] == name)
                try: f()
                finally: order.pop(0); turn.notify_all()
    names = list(todo)
    together(len(names), lambda i: run(names[i]))

def test_one_object_on_two_threads():
    "F17: A enters inside its own no_grad, B enters, A leaves, B leaves; each thread is where it was."
    c, outer, seen = fl.no_grad(), fl.no_grad(), []
    look = lambda: seen.append(records())
    in_turns(('a', outer.__enter__), ('a', c.__enter__), ('b', look), ('b', c.__enter__),
             ('b', look), ('a', c.__exit__), ('a', look),
             ('b', look), ('b', c.__exit__), ('b', look), ('a', look), ('a', outer.__exit__),
             ('a', look))
    assert seen == [True, False, False, False, True, False, True]

def test_one_decorated_function_on_many_threads(mode):
    f = mode.make()(mode.read)
    def work(i):
        for _ in range(200): assert f() == mode.inside
    together(8, work)
    assert mode.read() == mode.outside

def test_a_new_thread_records():
    seen = []
    with fl.no_grad(): together(1, lambda i: seen.append(records()))
    assert seen == [True]

def test_a_thread_that_begins_in_a_block():
    "What a thread does first in a block leaves nothing behind: it records afterwards, and its rules run."
    seen = []
    def work(i):
        big = fl.param([1.] * 40_000, 'd')
        with fl.no_grad(): big.exp().sum()
        seen.append(records())
        y = fl.checkpoint(lambda x: x.exp(), big).sum()
        y.backward()
        seen.append(big.grad is not None)
    together(2, work)
    assert seen == [True] * 4


# the backend: one for the whole process

@pytest.fixture
def three(monkeypatch):
    "NumPy in use, and backends a, b and c to choose from."
    for name in 'abc': monkeypatch.setitem(discovery._loaded, name, {name: lambda *args: None})
    with fl.use_backend('numpy'): yield

def test_a_statement_acts_at_once(three):
    fl.use_backend('a')
    assert fl.current_backend() == 'a' and list(discovery.active()) == ['a']
    fl.use_backend('b')
    assert fl.current_backend() == 'b'
    fl.use_backend('numpy')
    assert discovery.active() == {}

def test_an_object_restores_what_was_before(three):
    u = fl.use_backend('a')
    assert fl.current_backend() == 'a'
    with u: assert fl.current_backend() == 'a'
    assert fl.current_backend() == 'numpy'
    with u: assert fl.current_backend() == 'a'
    assert fl.current_backend() == 'numpy'
    v = fl.use_backend('a')
    fl.use_backend('b')         # another choice in between
    with v: assert fl.current_backend() == 'a'
    assert fl.current_backend() == 'b'
    assert repr(v) == "use_backend('a')"

def test_nested_blocks_and_statements(three):
    with fl.use_backend('a') as u:
        with fl.use_backend('b'):
            with u: assert fl.current_backend() == 'a'
            fl.use_backend('c')
            assert fl.current_backend() == 'c'
        assert fl.current_backend() == 'a'
        fl.use_backend('b')
        with u: assert fl.current_backend() == 'a'
        assert fl.current_backend() == 'b'
    assert fl.current_backend() == 'numpy'

def test_a_decorated_function_leaves_the_choice_alone(three):
    fl.use_backend('b')
    @fl.use_backend('a')
    def f(): return fl.current_backend()
    assert (fl.current_backend(), f(), fl.current_backend()) == ('b', 'a', 'b')
    fl.use_backend('c')
    assert (f(), fl.current_backend()) == ('a', 'c')

def test_what_is_no_name_is_refused(three):
    for wrong in (['a'], 3, b'a', len):
        with pytest.raises(OptionError, match='use_backend'): fl.use_backend(wrong)
    with pytest.raises(OptionError, match="unknown backend 'd'"): fl.use_backend('d')
    assert fl.current_backend() == 'numpy'

def test_blocks_on_two_threads(three):
    "The block entered last decides for all; when all are left, the choice is what it was, whoever left first."
    a, b, seen = {}, {}, []
    look = lambda: seen.append(fl.current_backend())
    make = lambda held, name: lambda: held.update(u=fl.use_backend(name))
    enter, leave = ((lambda held: lambda: held['u'].__enter__()),
                    (lambda held: lambda: held['u'].__exit__(None, None, None)))
    in_turns(('a', make(a, 'a')), ('b', make(b, 'b')), ('a', enter(a)), ('b', enter(b)),
             ('a', look), ('a', leave(a)), ('b', look), ('b', leave(b)), ('a', look))
    assert seen == ['b', 'b', 'numpy']
    seen.clear(); u = fl.use_backend('a')
    in_turns(('a', u.__enter__), ('b', u.__enter__), ('a', lambda: u.__exit__()), ('b', look),
             ('b', lambda: u.__exit__()), ('a', look))
    assert seen == ['a', 'numpy']

def test_many_threads_choose_backends(three):
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    def work(i):
        shared, pick = fl.no_grad(), random.Random(i)
        for _ in range(300):
            with fl.use_backend(pick.choice('abc')), shared:
                assert fl.current_backend() in ('a', 'b', 'c', 'numpy')
                with fl.use_backend('numpy'): discovery.active()
    try: together(8, work)
    finally: sys.setswitchinterval(before)
    assert fl.current_backend() == 'numpy' and discovery.active() == {}

def test_statements_leave_nothing_behind(three):
    held = [fl.use_backend('a') for _ in range(5)]
    for _ in range(1000): fl.use_backend('b'), fl.use_backend('c')
    assert len(discovery._choices) < 12
    with held[0]: assert fl.current_backend() == 'a'
    assert fl.current_backend() == 'c'
    del held
    fl.use_backend('numpy')

@pytest.mark.skipif(not hasattr(os, 'fork'), reason='no fork here')
def test_a_fork_while_another_thread_chooses(three):
    "The child can choose a backend, whatever the other threads of its parent were doing."
    with discovery._lock:
        pid, code = [], []
        def child():
            pid.append(os.fork())
            if not pid[0]:
                fl.use_backend('a')
                os._exit(7 if fl.current_backend() == 'a' else 1)
        together(1, lambda i: child())
        code = os.waitstatus_to_exitcode(os.waitpid(pid[0], 0)[1])
    assert code == 7
