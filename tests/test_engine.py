"""The engine's contracts: rules are checked, gradients belong to their leaf, a failed pass
changes nothing, and threads lose nothing."""
import contextvars, functools, gc, itertools, linecache, signal, sys, threading, tracemalloc, warnings, weakref
import numpy as np
import pytest
import fucinalib as fl
from fucinalib.autograd import Part, reach
from fucinalib.hooks import Watcher
from fucinalib.errors import *

V = lambda data, tags='': fl.param(data, tags)
C = lambda data, tags='': fl.Tensor(data, tags)
T = fl.Tensor

def made(rules, tags=('d',), value=None):
    "An operation of two operands with the given rules and tags."
    def twosome(x:T, y:T): return x.data + y.data if value is None else value, tags, rules
    return fl.custom_vjp(twosome)

def run(rules, **kw): return made(rules, **kw)(V([1., 2.], 'd'), V([3., 4.], 'd'))


# rules are checked where they are recorded

@pytest.mark.parametrize('rules', [(), (lambda g: g,), (lambda g: g,) * 3], ids=['none', 'one', 'three'])
def test_a_rule_for_every_operand(rules):
    with pytest.raises(GradError, match=r'twosome.*2 operands(.|\n)*help:'): run(rules)

@pytest.mark.parametrize('rules', [None, 3, 'ab', (1, 2), (lambda g: g, 'x'), T], ids=repr)
def test_rules_that_are_none(rules):
    with pytest.raises(GradError, match=r'twosome(.|\n)*help:'): run(rules)

def test_one_rule_outside_a_tuple():
    "It is taken for a joint rule; the help says where it belongs."
    def alone(x:T): return x.data * 1, x.tags, lambda g: g
    y = fl.custom_vjp(alone)(V([1., 2.], 'd'))
    with pytest.raises(GradError, match=r'an? ndarray for 1 operand\b(.|\n)*in a tuple, \(rule,\)'): y.sum().backward()

def test_a_missing_rule_is_not_a_constant():
    "Review 5.1: one rule for three operands, the last a constant, lost the gradient of the second."
    @fl.custom_vjp
    def f(x:T, y:T, z:T): return x.data * y.data * z.data, x.tags, (lambda g: g * y.data * z.data,)
    for z in (V([1.], 'd'), C([1.], 'd')):
        with pytest.raises(GradError, match='f gave 1 rule for 3 operands'): f(V([1.], 'd'), V([1.], 'd'), z)

def test_rules_of_constants_are_let_go():
    "However many operands are constants, what their rules hold is not kept."
    held = [np.ones(10), np.ones(10), np.ones(10)]
    refs = [weakref.ref(a) for a in held]
    def of(rules):
        @fl.custom_vjp
        def f(x:T, y:T, z:T): return x.data, x.tags, rules.pop()
        return f(V([1.], 'd'), C([1.], 'd'), C([1.], 'd'))
    y = of([tuple([lambda g, a=a: g for a in held])])
    del held
    gc.collect()
    assert y.requires_grad and [r() is None for r in refs] == [False, True, True]

def test_a_list_of_rules_and_none_by_design():
    x, y = V([1., 2.], 'd'), V([3., 4.], 'd')
    made([lambda g: g * 2, None])(x, y).sum().backward()
    assert x.grad.tolist() == [2, 2] and y.grad is None

NO_ARRAYS = [(3., r"np\.full\(\(2,\), 3\.0, 'float32'\)"), (3, r'np\.full\(\(2,\), 3, '),
             ([1., 1.], r'np\.array\('), ((1., 1.), r'np\.array\('), (C([1., 1.], 'd'), r'\.data'),
             ('ab', 'ndarray'), (True, r'np\.full'), ({}, 'ndarray')]

@pytest.mark.parametrize('value,words', NO_ARRAYS, ids=[type(v).__name__ for v, _ in NO_ARRAYS])
@pytest.mark.parametrize('joint', [False, True])
def test_a_gradient_is_an_array(value, words, joint):
    y = run((lambda g: (g, value)) if joint else (lambda g: g, lambda g: value))
    with pytest.raises(GradError,
                       match=rf"twosome gave 'y' an? {type(value).__name__}(.|\n)*help: .*{words}"):
        y.sum().backward()

@pytest.mark.parametrize('wrong', [lambda g: g, lambda g: 3., lambda g: None, lambda g: (g,),
                                   lambda g: (g, g, g), lambda g: {0: g, 1: g},
                                   lambda g: iter((g, g)), lambda g: np.stack([g, g])])
def test_a_joint_rule_returns_one_for_each(wrong):
    with pytest.raises(GradError, match=r'twosome(.|\n)*help:'): run(wrong).sum().backward()

def test_a_joint_rule_that_gives_nothing():
    with pytest.raises(MissingBackwardGradient, match="twosome gave nothing for 'y'"):
        run(lambda g: (g, None)).sum().backward()
    x, c = V([1., 2.], 'd'), C([1., 2.], 'd')
    made(lambda g: [g, None])(x, c).sum().backward()        # a constant is due nothing
    assert x.grad.tolist() == [1, 1]

@pytest.mark.parametrize('share', [lambda g: g.astype('f8'), lambda g: g[:1], lambda g: g[None],
                                   lambda g: g > 0, lambda g: np.float32(1)])
@pytest.mark.parametrize('joint', [False, True])
def test_a_gradient_is_like_its_operand(share, joint):
    y = run((lambda g: (g, share(g))) if joint else (lambda g: g, share))
    with pytest.raises(GradientShapeMismatch, match="twosome gave 'y' a gradient of shape"): y.sum().backward()

@pytest.mark.parametrize('part', [Part((0,), np.ones(2, 'f4')), Part((0,), np.ones((), 'f8')),
                                  Part((5,), np.ones((), 'f4')), Part((slice(0, 1),), 3.)])
def test_a_part_fits_its_place(part):
    with pytest.raises(GradError, match=r'twosome(.|\n)*help:'): run((lambda g: g, lambda g: part)).sum().backward()


# tags are checked when an operation returns

TAGS = [('d', 'e'), (), 'd', ['d'], None, ('d d',), ('2d',), ('',), (3,), ('d-e',)]

@pytest.mark.parametrize('result', [None, 3, 2.5, 'text', np.ones(2, 'f4'), [], [1, 2], {}, (1, 2)], ids=repr)
@pytest.mark.parametrize('learns', [False, True])
@pytest.mark.parametrize('registered', [False, True])
def test_an_operation_of_ones_own_returns_what_it_owes(result, learns, registered):
    "Nothing, a number or an array alone is refused where it is returned, in place or not, recorded or not."
    def odd_one_(x:fl.Tensor): return result
    make = fl.autograd.op('custom', replace=True) if registered else fl.custom_vjp
    call = make(odd_one_)
    try:
        with pytest.raises(fl.GradError, match=r'odd_one_ returned (a|an) ') as e:
            call(fl.Tensor([1., 2.], 'd', requires_grad=learns))
        assert 'an operation returns (array, tags as a tuple' in str(e.value)
    finally:
        if registered: fl.autograd.registry.pop('odd_one_'); del fl.Tensor.odd_one_

def test_an_operation_of_ones_own_may_hand_on_what_others_return():
    x = V([1., 2.], 'd')
    for result in (lambda x: x * 2, lambda x: [x, x], lambda x: (x, x)[0], lambda x: x.topk('d', 1)):
        def whole(x:fl.Tensor): return result(x)
        if hasattr(result(x), 'tags') or isinstance(result(x), list): fl.custom_vjp(whole)(x)


@pytest.mark.parametrize('tags', TAGS, ids=map(repr, TAGS))
@pytest.mark.parametrize('recorded', [False, True])
def test_tags_fit_the_array(tags, recorded):
    x = (V if recorded else C)([1., 2.], 'd')
    with pytest.raises((TagError, ShapeError, GradError), match=r'twosome(.|\n)*help:'):
        made((lambda g: g, lambda g: g), tags=tags)(x, x)

def test_tags_are_not_repeated():
    with pytest.raises(TagError, match=r'twosome(.|\n)*help:'):
        run((lambda g: g, lambda g: g), tags=('d', 'd'), value=np.ones((2, 2)))

def test_tags_of_registered_operations():
    try:
        @fl.autograd.op('demo', attach=False)
        def misnamed(x:T): return x.data, ('a b',), (lambda g: g,)
        with pytest.raises(TagError, match='misnamed'): misnamed(C([1.], 'd'))
    finally: del fl.registry['misnamed']

def test_library_operations_give_good_tags():
    "Checked in full here, since the wrapper only counts the tags of the library's own operations."
    for o in fl.registry.values():
        if not o.module.startswith('fucinalib.'): continue
        for s in o.samples:
            args, kw = s.draw(requires_grad=o.differentiable and o.name[-1] != '_')
            ys = o.call(*args, **kw)
            for y in ys if isinstance(ys, (tuple, list)) else [ys]:
                if isinstance(y, T):
                    assert type(y.tags) is tuple and fl.tags.parse(y.tags) == y.tags and len(
                        y.tags) == y.data.ndim, o.name


# a leaf owns its gradient

def keeps(rule):
    @fl.custom_vjp
    def keeps(x:T): return x.data * 2, x.tags, (rule(x.data),)
    return keeps

KEPT = []
ALIASES = dict(values=lambda a: lambda g: a,
               view=lambda a: lambda g: a[:],
               turned=lambda a: lambda g: a[::-1],
               gradient=lambda a: lambda g: g,
               gradient_view=lambda a: lambda g: g[:],
               remembered=lambda a: lambda g: KEPT.append(g * 2) or KEPT[-1],
               seen=lambda a: lambda g: KEPT.append((g * 2)[:]) or KEPT[-1].base,
               read_only=lambda a: lambda g: np.broadcast_to(np.float32(1), a.shape))

@pytest.mark.parametrize('rule', ALIASES.values(), ids=ALIASES)
@pytest.mark.parametrize('seed', [True, False])
def test_a_leaf_shares_its_gradient_with_nobody(rule, seed):
    KEPT.clear()
    x, seed_ = V([1., 2.], 'd'), np.ones(2, 'f4')
    y = keeps(rule)(x)
    if seed: y.backward(seed_)
    else: y.sum().backward()
    g = x.grad.data
    assert g.flags.writeable and g.base is None and not np.shares_memory(g, x.data)
    assert not np.shares_memory(g, seed_) and not np.shares_memory(g, y.grad.data)
    assert not any(np.shares_memory(g, k) for k in KEPT)
    x.grad.mul_(0.)
    assert x.tolist() == [1, 2] and seed_.tolist() == [1, 1]

def test_two_leaves_and_their_operands():
    shared = np.ones(2, 'f4')
    for rules in ((lambda g: shared,) * 2, lambda g: (g, g), lambda g: (shared, shared[:]),
                  lambda g: (g * 2,) * 2, (lambda g: g * 2, lambda g: g)):
        x, y = V([1., 2.], 'd'), V([3., 4.], 'd')
        z = made(rules)(x, y)
        z.sum().backward()
        a, b = x.grad.data, y.grad.data
        assert not np.shares_memory(a, b)
        assert not any(np.shares_memory(s, t) for s in (a, b) for t in (shared, x.data, y.data, z.grad.data))

def test_a_fresh_gradient_is_not_copied():
    "What the rule made for this alone becomes the gradient as it is."
    where = []
    def rule(g):
        r = g * 2
        where.append(r.__array_interface__['data'][0])
        return r
    x = V(np.ones(1000, 'f4'), 'd')
    keeps(lambda a: rule)(x).sum().backward()
    assert where == [x.grad.data.__array_interface__['data'][0]]

def test_what_was_there_is_not_written_to():
    "Old gradients, which somebody may hold, stay as they are; so does one that was set."
    x, mine = V([1., 2.], 'd'), np.array([5., 6.], 'f4')
    (x * 2).sum().backward()
    old = x.grad
    (x * 2).sum().backward()
    assert old.tolist() == [2, 2] and x.grad.tolist() == [4, 4]
    x.grad = mine
    (x * 2).sum().backward()
    assert mine.tolist() == [5, 6] and x.grad.tolist() == [7, 8]

def test_shares_of_every_kind_add_up():
    "Whole arrays, parts, the same array twice: against sums by hand."
    @fl.custom_vjp
    def both(x:T, y:T): return x.data + y.data, x.tags, lambda g: (g, Part((slice(0, 1),), g[:1]))
    x = V([1., 2., 3.], 'd')
    for inner in (lambda x: x, lambda x: x * 1.):
        x.grad = None
        h = inner(x)
        (both(h, h) + both(h, h) * 2. + h).sum().backward()
        assert x.grad.tolist() == [7, 4, 4] and h.grad.tolist() == [7, 4, 4]

def test_sums_of_gradients_warn_of_nothing():
    x = V(np.full(3, 3e38, 'f4'), 'd')
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        for _ in range(2): (made((lambda g: g * np.float32(3e38),) * 2, value=np.ones(3, 'f4'))(x, x)).sum().backward()
    assert np.isinf(x.grad.data).all()


# a pass that fails changes nothing, and can go on

class Failing:
    "Rules of which call number `at` fails."
    def __init__(self, at, how): self.at, self.how, self.calls = at, how, 0
    def __call__(self, rule):
        def run(g):
            self.calls += 1
            if self.calls == self.at: return self.how(g)
            return rule(g)
        return run

def interrupted(g): raise KeyboardInterrupt
def out_of_memory(g): raise MemoryError
def warned(g): warnings.warn('as an error', RuntimeWarning); return g
HOW = dict(raises=lambda g: 1 / 0, interrupted=interrupted, memory=out_of_memory,
           shape=lambda g: g[None], nothing=lambda g: None, no_array=lambda g: 3., warned=warned)

def graph(failing, x, y, z):
    "A result of many steps in which every leaf is used several times, and a part is taken."
    @fl.custom_vjp
    def step(a:T, b:T): return a.data * b.data, a.tags, (failing(lambda g: g * b.data), failing(lambda g: g * a.data))
    @fl.custom_vjp
    def joint(a:T, b:T): return a.data + b.data, a.tags, failing(lambda g: (g, g))
    h = step(x, y)
    h = joint(step(h, x), step(h, z))
    h = joint(h.select(d=0) * h, h + x)
    return joint(step(h, y), h).sum()

LEAVES = lambda: [V([1., 2., 3.], 'd'), V([.5, -1., 2.], 'd'), V([3., 1., -2.], 'd')]

@pytest.mark.parametrize('how', HOW.values(), ids=HOW)
def test_a_failed_pass_changes_nothing_and_goes_on(how):
    for before in (None, [1., 1., 1.]):
        def fresh():
            leaves = LEAVES()
            if before:
                for l in leaves: l.grad = before
            return leaves
        right = fresh()
        plain = Failing(0, None)
        graph(plain, *right).backward()
        for at in range(1, plain.calls + 1):
            leaves = fresh()
            y = graph(Failing(at, how), *leaves)
            with warnings.catch_warnings():
                warnings.simplefilter('error')
                with pytest.raises(KeyboardInterrupt if how is interrupted else FucinaError): y.backward()
            assert [None if l.grad is None else l.grad.tolist() for l in leaves] == [before] * 3
            y.backward()
            assert all((a.grad.data == b.grad.data).all() for a, b in zip(leaves, right))
            with pytest.raises(BackwardAlreadyRun): y.backward()

def test_it_fails_again_and_again():
    x, tries = V([1., 2.], 'd'), []
    def rule(g):
        tries.append(g)
        if len(tries) < 4: raise ValueError('not yet')
        return g
    y = (keeps(lambda a: rule)(x) * 3.).sum()
    for _ in range(3):
        with pytest.raises(GradError, match='not yet'): y.backward()
        assert x.grad is None
    y.backward()
    assert x.grad.tolist() == [3, 3]

def test_a_pass_that_stopped_keeps_its_seed():
    x, bad = V([1., 2.], 'd'), [True]
    def rule(g): return g if not bad else bad.missing
    y = keeps(lambda a: rule)(x) * 3.
    seed = np.array([1., 10.], 'f4')
    with pytest.raises(GradError): y.backward(seed)
    seed[:] = 7
    bad.clear()
    with pytest.raises(GradError, match=r'half way(.|\n)*help:'): y.backward([1., 1.])
    y.backward([1., 10.])
    assert x.grad.tolist() == [3, 30]

def test_a_pass_that_stopped_at_once_takes_any_seed():
    x, bad = V([1., 2.], 'd'), [True]
    y = keeps(lambda a: lambda g: g if not bad else bad.missing)(x)
    with pytest.raises(GradError): y.backward([1., 10.])
    bad.clear()
    y.backward([2., 3.])
    assert x.grad.tolist() == [2, 3]

def test_others_do_not_pass_where_a_pass_stopped():
    x, bad = V([1., 2.], 'd'), [True]
    h = keeps(lambda a: lambda g: g if not bad else bad.missing)(x) * 3.
    y, z = h.sum(), (h * 2.).sum()
    with pytest.raises(GradError): y.backward()
    bad.clear()
    for other in (z, y * 2.):
        with pytest.raises(BackwardAlreadyRun, match='part of this graph'): other.backward()
    y.backward()
    assert x.grad.tolist() == [3, 3]

def test_results_get_their_gradients_at_the_end():
    x, bad = V([1., 2.], 'd'), [True]
    h = keeps(lambda a: lambda g: g if not bad else bad.missing)(x)
    y = (h * 3.).sum()
    with pytest.raises(GradError): y.backward()
    assert h.grad is None and y.grad is None
    bad.clear()
    y.backward()
    assert h.grad.tolist() == [3, 3] and y.grad.item() == 1

def test_a_stopped_pass_frees_what_it_passed():
    "Rules go as they have run, in a pass that stops too."
    x, bad = V(np.ones(1000, 'f4'), 'd'), [True]
    h = keeps(lambda a: lambda g: g if not bad else bad.missing)(x)
    y = h * 3.
    saved = weakref.ref(y.data)
    loss = (y * y).sum()
    del y
    with pytest.raises(GradError): loss.backward()
    assert saved() is None
    bad.clear(); loss.backward()
    assert (x.grad.data == 18 * 2).all()      # keeps() doubles

@pytest.mark.skipif(not hasattr(signal, 'setitimer'), reason='no interval timer here')
def test_interrupted_anywhere():
    "Ctrl-C at any moment of a pass, hundreds of times: the next try goes on, and the sum is exact."
    def ring(*_): raise KeyboardInterrupt
    rng, right = np.random.default_rng(0), LEAVES()
    graph(Failing(0, None), *right).backward()
    def passes(times):
        hits = 0
        for _ in range(times):
            leaves = LEAVES()
            y = graph(Failing(0, None), *leaves)
            while True:
                try:
                    try:
                        signal.setitimer(signal.ITIMER_REAL, rng.uniform(5e-6, 6e-4))
                        y.backward()
                    finally: signal.setitimer(signal.ITIMER_REAL, 0)
                    break
                except KeyboardInterrupt: hits += 1
                except BackwardAlreadyRun: break      # it was through when the signal came
            for a, b in zip(leaves, right): assert a.grad.tolist() == b.grad.tolist()
        return hits
    before = signal.signal(signal.SIGALRM, ring)
    try: assert contextvars.copy_context().run(passes, 400) > 0
    finally: signal.signal(signal.SIGALRM, before)


# threads

def test_threads_that_share_a_leaf():
    "8 threads, 500 passes each: nothing is lost (A6)."
    every = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        w = V(np.ones(3, 'f4'), 'd')
        def work():
            for _ in range(500): (w * 2.).sum().backward()
        workers = [threading.Thread(target=work) for _ in range(8)]
        for t in workers: t.start()
        for t in workers: t.join()
        assert w.grad.tolist() == [8000] * 3
    finally: sys.setswitchinterval(every)


# long chains

def chains(n):
    x = r = V(np.ones(20, 'f4'), 'd')
    @fl.custom_vjp
    # the rule holds the tensor, and with it all before
    def holds(a:T): return a.data, a.tags, (lambda g: g if a.tags else a,)
    for i in range(n): r = holds(r) if i % 2 else r + 1.
    return x, r

@pytest.mark.parametrize('used', [True, False], ids=['after backward', 'never used'])
def test_a_hundred_thousand_steps(used):
    "Built, run back and let go in a thread with a small stack: nothing recurses."
    result = []
    def work():
        x, r = chains(100_000)
        if used: r.sum().backward(); result.append(set(x.grad.tolist()))
        gone = weakref.ref(r)
        last = r.node
        del r
        del last
        result.append(gone() is None)
    size = threading.stack_size(1 << 18)
    try:
        t = threading.Thread(target=work); t.start(); t.join()
    finally: threading.stack_size(size)
    assert result == ([{1.}, True] if used else [True])


# watchers

class Seen(Watcher):
    "Notes what it hears."
    def __init__(self): self.heard = []
    def around(self, o, run, args, kw):
        self.heard.append(o.name)
        return run(*args, **kw)
    def made(self, node): self.heard.append(f'{node.op.name}!')

def test_a_watcher_sees_its_thread_and_its_block():
    x, seen = V([1., 2.], 'd'), Seen()
    x * 2.
    with seen:
        y = (x * 2.).sum()
        t = threading.Thread(target=lambda: x * 3.); t.start(); t.join()
    x * 2.
    assert seen.heard == ['mul', 'mul!', 'sum', 'sum!'] and not fl.hooks.watching
    seen.heard.clear()
    with fl.no_grad(), seen: x.unbind('d')
    assert seen.heard == ['unbind']
    with seen: y.backward()
    seen.heard.clear()
    with seen: x.unbind('d')
    assert seen.heard == ['unbind', 'select!', 'select!']

def test_the_newest_watcher_stands_outermost():
    order = []
    class Named(Watcher):
        def __init__(self, name): self.name = name
        def around(self, o, run, args, kw):
            order.append(self.name)
            y = run(*args, **kw)
            order.append(self.name)
            return y
    a, b, x = Named('a'), Named('b'), C([1., 2.], 'd')
    with a, b: x * 2.
    assert order == ['b', 'a', 'a', 'b']
    order.clear()
    a.__enter__(); b.__enter__(); a.__exit__(None, None, None)      # not in order
    x * 2.
    b.__exit__(None, None, None)
    x * 2.
    assert order == ['b', 'b']
    with a:
        with a: pass
        order.clear(); x * 2.
    assert order == ['a', 'a'] and not fl.hooks.watching

def test_a_watcher_changes_what_is_computed():
    class Twice(Watcher):
        def around(self, o, run, args, kw): return run(args[0], 2.) if o.name == 'mul' else run(*args, **kw)
    x = V([1., 2.], 'd')
    with Twice(): y = x * 5.
    y.sum().backward()
    assert y.tolist() == [2, 4] and x.grad.tolist() == [2, 2]

def test_a_watcher_of_short_numbers_and_mistakes():
    seen, x = Seen(), C([1., 2.], 'd').to('f16')
    with seen: assert (x * x).dtype == 'f16'
    assert seen.heard == ['mul']
    with seen, pytest.raises(ShapeMismatch, match='^mul'): C([1., 2.], 'd') * C([1., 2., 3.], 'd')
    assert not fl.hooks.watching

def test_operands_may_be_called_anything():
    "An operation whose parameters are called as those of the watching machinery."
    @fl.custom_vjp
    def odd(w:T, o:T, run=1., args=2., kw=3.): return w.data * run * args * kw, w.tags, (lambda g: g, None)
    x = V([1.], 'd')
    with Seen(): assert odd(w=x, o=x, run=2., args=3., kw=4.).tolist() == [24]

def test_time_of_everything():
    "unbind, an operation of one's own, 16-bit operands; nested; beside another thread."
    x = V(np.ones((3, 50), 'f4'), 'r c')
    @fl.custom_vjp
    def own(x:T): return x.data * 2, x.tags, (lambda g: g * 2,)
    def run(): a, b, c = x.unbind('r'); return (own(a) * b + c).sum()
    with fl.timed() as clock:
        with fl.timed(): y = run()
        with clock: z = run()
        seen = []
        t = threading.Thread(target=lambda: seen.append(run())); t.start(); t.join()
        y.backward()
        with pytest.raises(FucinaError): x * C(1.).to('f64')
        late = run()
    for r in (y, z, late): assert all(n.time[0] > 0 for n in reach(r.node) if n.op)
    assert all(n.time[1] > 0 for n in reach(y.node) if n.op) and all(n.time[1] == 0 for n in reach(z.node) if n.op)
    assert not any(hasattr(n, 'time') for n in reach(seen[0].node) + reach(run().node))
    assert 'not timed' not in y.graph(time=True).source and 'inside' not in y.graph(time=True).source


# what a rule kept is not written to

WRITERS = dict(add_=lambda x: x.add_(1.),
               add_tensor=lambda x: x.add_(C(np.ones(x.shape, 'f4'), x.tags), alpha=-.1),
               mul_=lambda x: x.mul_(0.),
               bias_add_=lambda x: x.bias_add_(np.ones(x.shape[-1:], 'f4'), x.tags[-1]))
door = lambda name: name if name in ('add_', 'mul_', 'bias_add_') else 'add_'

@pytest.mark.parametrize('n', [3, 5000], ids=['small', 'large'])
@pytest.mark.parametrize('writer', WRITERS)
def test_operands_written_to(writer, n, backend):
    "F20: a * a, then a.detach().add_(1.): the gradient would have been that of other values."
    a = V(np.arange(1, n + 1, dtype='f4'), 'd')
    y = (a * a).sum()
    WRITERS[writer](a.detach())
    with pytest.raises(
        GradError,
        match=rf'mul kept x, which {door(writer)} has changed since(.|\n)*x : d={n}(.|\n)*help:'):
        y.backward()
    assert a.grad is None
    (a * a).sum().backward()        # computed again, it is right
    assert a.grad.tolist() == (2 * a.data).tolist()

@pytest.mark.parametrize('n', [4, 5000])
@pytest.mark.parametrize('f', ['exp', 'tanh', 'sigmoid', 'softmax', 'sqrt', 'reciprocal'])
def test_results_written_to(f, n, backend):
    a = V(np.linspace(.5, 2, n, dtype='f4'), 'd')
    s = getattr(a, f)(*['d'] * (f == 'softmax'))
    s.detach().mul_(0.)
    with pytest.raises(GradError, match=f'{f} kept its result, which mul_ has changed since'): (s * 2.).sum().backward()
    assert a.grad is None

def test_constants_written_to():
    "The constant itself, a tensor that shares its memory, a view of it, the array it was made from by a door."
    array = np.array([[1., 2.], [3., 4.]], 'f4')
    c = C(array, 'r c')
    for other in (c, c.detach(), c.permute('c r'), c.select(r=0), c.narrow('c', 1, 1),
                  C(array, 'a b'), C(array[::-1], 'a b'), C(c.numpy(), 'a b')):
        a = V(np.ones((2, 2), 'f4'), 'r c')
        y = (a * c).sum()
        other.mul_(2.)
        with pytest.raises(GradError, match='mul kept other, which mul_ has changed since'): y.backward()

def test_views_written_to():
    "Through any view to any view, where they overlap; disjoint parts of one memory are let be."
    w = V(np.ones((4, 6), 'f4'), 'r c')
    def kept(part, written):
        y = (part(w) * part(w)).sum()
        written(w.detach()).mul_(1.)
        try: y.backward()
        except GradError as e: assert 'mul kept x' in str(e); return True
        return False
    row = lambda i: lambda x: x.select(r=i)
    col = lambda i: lambda x: x.select(c=i)
    assert kept(row(0), row(0)) and kept(row(1), col(3)) and kept(col(2), lambda x: x) and kept(lambda x: x, col(5))
    assert kept(lambda x: x.slice(c=slice(0, None, 1)), lambda x: x.permute('c r'))
    assert not kept(row(1), row(0)) and not kept(col(1), col(2))       # interleaved, yet apart
    assert not kept(lambda x: x.narrow('c', 0, 3), lambda x: x.narrow('c', 3, 3))
    assert not kept(row(2), lambda x: x.narrow('r', 0, 2)) and kept(row(2), lambda x: x.narrow('r', 0, 3))
    assert w.grad is not None

def test_many_parts_of_one_memory():
    w = V(np.ones((3000, 4), 'f4'), 'r c')
    y = (w.select(r=2999) * w.select(r=2999)).sum()
    for i in range(900): w.detach().select(r=i).mul_(2.)
    y.backward()
    assert w.grad.data[2999].tolist() == [2] * 4 and not w.grad.data[:2999].any()

def test_writes_that_no_rule_kept():
    a, b, c = V([1., 2.], 'd'), V([3., 4.], 'd'), C([5., 6.], 'd')
    y = (a + b + c).sum()
    for x in (a, b, c): x.detach().mul_(0.)
    y.backward()
    assert a.grad.tolist() == [1, 1]
    y = (a * 3.).sum()      # keeps a number
    a.detach().add_(1.)
    y.backward()
    h = a * c               # keeps c for a; a's own values are for c, a constant
    a.detach().add_(1.)
    h.sum().backward()

def test_writes_before_and_after():
    "Before it is recorded and after it has passed back, anything may be written."
    a = V([1., 2.], 'd')
    for _ in range(3):
        a.detach().add_(1.)
        y = (a * a).sum()
        y.backward()
        a.detach().mul_(2.); a.grad.mul_(0.)
    with fl.no_grad(): a.detach().add_(1.)
    y = (a * a).sum()
    C([1., 2.], 'd').mul_(3.)       # somebody else's
    y.backward()

def test_written_to_in_the_middle_of_a_pass():
    "By a rule that runs before."
    a = V([1., 2.], 'd')
    @fl.custom_vjp
    def meddles(x:T):
        def rule(g): a.detach().add_(1.); return g
        return x.data * 1, x.tags, (rule,)
    with pytest.raises(GradError, match='mul kept x, which add_'): meddles(a * a).sum().backward()

class Method:
    def __init__(self, a): self.a = a
    def rule(self, g): return g * self.a
class Slotted:
    __slots__ = 'a', 'rest'
    def __init__(self, a): self.a = a
    def __call__(self, g): return g * self.a
def by_default(a):
    def rule(g, a=a): return g * a
    return rule
def by_keyword(a):
    def rule(g, *, a=a): return g * a
    return rule
KEEPERS = dict(closure=lambda a: lambda g: g * a,
               listed=lambda a: (lambda l: lambda g: g * l[0]['x'])([{'x': a}]),
               partial=lambda a: functools.partial(np.multiply, a),
               named=lambda a: functools.partial(lambda g, a: g * a, a=a),
               method=lambda a: Method(a).rule,
               object=lambda a: Slotted(a),
               inner=lambda a: (lambda f: lambda g: f(g))(lambda g: g * a), default=by_default,
               keyword=by_keyword,
               view=lambda a: (lambda v: lambda g: g * v[0])(a[None]),
               tensor=lambda a: (lambda t: lambda g: g * t.data)(C(a, 'd')),
               cell=lambda a: (lambda c: lambda g: g * c[0]())([lambda: a]),
               wrapped=lambda a: functools.wraps(np.abs)(lambda g: g * a))

@pytest.mark.parametrize('how', KEEPERS)
@pytest.mark.parametrize('joint', [False, True])
def test_wherever_a_rule_keeps_it(how, joint):
    @fl.custom_vjp
    def keeper(x:T):
        rule = KEEPERS[how](x.data)
        return x.data * 2, x.tags, (lambda g: (rule(g),)) if joint else (rule,)
    a = V([1., 2.], 'd')
    y = keeper(a)
    y.sum().backward()
    assert a.grad.tolist() == [1, 2]
    y = keeper(a)
    a.detach().add_(1.)
    with pytest.raises(GradError, match='keeper kept x, which add_ has changed since'): y.sum().backward()

def test_rules_that_hold_half_the_world():
    "Modules, classes, functions of the library, a rule that holds itself: the search ends."
    def rule(g): return g * (len(world) > 0)
    world = [np, fl, fl.Tensor, rule, fl.registry, threading, V(1.)]
    world.append(world)
    @fl.custom_vjp
    def worldly(x:T): return x.data * 2, x.tags, (rule,)
    a = V([1., 2.], 'd')
    y = worldly(a).sum()
    a.detach().add_(1.)
    y.backward()
    assert a.grad.tolist() == [1, 1]

def test_nothing_is_kept_alive_by_a_note():
    a = np.ones(1000, 'f4')
    gone = weakref.ref(a)
    gc.collect()
    before = len(fl.written.writes)
    C(a, 'd').mul_(2.); C(a[::2], 'd').mul_(2.)
    assert len(fl.written.writes) == before + 1
    del a
    gc.collect()
    assert gone() is None and len(fl.written.writes) == before

@pytest.mark.parametrize('dtype', ['f16', 'bf16', 'f64', 'i32'])
def test_written_to_in_other_types(dtype):
    c = C([1., 2., 3.], 'd').to(dtype)
    c.narrow('d', 0, 2).mul_(2) if dtype == 'i32' else c.narrow('d', 0, 2).mul_(2.)
    w = V(np.array([1., 2., 3.]), 'd')
    y = (w * w).sum()
    w.detach().narrow('d', 1, 2).mul_(2.)
    with pytest.raises(GradError, match='mul kept x'): y.backward()

def test_every_door_is_noted():
    "Each operation whose name ends in _ tells what it wrote to."
    doors = [o for o in fl.registry.values() if o.name.endswith('_')]
    assert {o.name for o in doors} >= {'add_', 'mul_', 'bias_add_'}
    for o in doors:
        args, kw = o.samples[0].draw(dtype='f32')
        last = fl.written.clock.__next__()
        o.call(*args, **kw)
        (ref, parts), = [w for w in fl.written.writes.values() if w[0]() is args[0].data]
        assert [(p.door, p.when > last) for p in parts.values()] == [(o.name, True)]

def test_a_refused_write_is_no_write():
    a = V([1., 2.], 'd')
    y = (a * a).sum()
    with pytest.raises(UnsupportedGradient): a.add_(1.)
    with pytest.raises(FucinaError): a.detach().add_(C([1.], 'e'))
    y.backward()
    assert a.grad.tolist() == [2, 4]


# checkpoint

def grads(f, leaves, seed=3):
    "Result and gradients of f, computed with fresh gradients and the same random numbers."
    fl.manual_seed(seed)
    for l in leaves: l.grad = None
    y = f()
    (y * y).sum().backward()
    return [y.numpy().copy()] + [None if l.grad is None else l.grad.numpy().copy() for l in leaves]

def same(a, b):
    return all((x is None and y is None) or x is not None and y is not None
               and x.tobytes() == y.tobytes() for x, y in zip(a, b))

def test_checkpoint_trains_what_it_captures():
    "F19: a captured parameter, data as the only input; the result requires a gradient."
    x, w = C([2., 3.], 'd'), V([5., 7.], 'd')
    y = fl.checkpoint(lambda x: (x * w).sum(), x)
    assert y.requires_grad
    y.backward()
    assert w.grad.tolist() == [2, 3] and not x.requires_grad

def test_checkpoint_of_captured_results():
    "F19: the inner pass must leave the rules of h to the outer one."
    x, w = V([1., 1.], 'd'), V([3., 4.], 'd')
    h = w * 2.
    (fl.checkpoint(lambda x: (x * h).sum(), x) + h.sum()).backward()
    assert w.grad.tolist() == [4, 4] and x.grad.tolist() == [6, 8] and h.grad.tolist() == [2, 2]

BLOCKS = dict(
    inputs_only=lambda x, w, h: fl.checkpoint(lambda x, w: (x * w).tanh(), x, w),
    captured=lambda x, w, h: fl.checkpoint(lambda: (x * w * h).tanh()),
    same_twice=lambda x, w, h: fl.checkpoint(lambda a, b: a * b * w, x, x),
    input_and_captured=lambda x, w, h: fl.checkpoint(lambda a: a * x * h, x),
    unused_input=lambda x, w, h: fl.checkpoint(lambda a, b: a * h, x, w),
    numbers=lambda x, w, h: fl.checkpoint(lambda a, n, s: a * n * w, x, 3., 'text'),
    nested=lambda x, w, h: fl.checkpoint(
        lambda a: fl.checkpoint(lambda b: fl.checkpoint(lambda c: c * w, b) * h, a) * w, x),
    of_lists=lambda x, w, h: fl.checkpoint(lambda l: l[0] * l[1], [x, w]),
    view=lambda x, w, h: fl.checkpoint(lambda a: a.rename(d='e').rename(e='d'), h),
    identity=lambda x, w, h: fl.checkpoint(lambda a: a, x),
    other=lambda x, w, h: fl.checkpoint(lambda a: w, x),
    two=lambda x, w, h: fl.checkpoint(lambda a: a * h, x) + fl.checkpoint(lambda a: a * h * w, h),
    chain=lambda x, w, h: fl.checkpoint(lambda a: a * w, fl.checkpoint(lambda a: a * w, x)),
    inner_no_grad=lambda x, w, h: fl.checkpoint(lambda a: a * w * quietly(lambda: a * h), x),
    part=lambda x, w, h: fl.checkpoint(lambda a: a * h.select(d=0) * h.select(d=1), x))

def quietly(f):
    with fl.no_grad(): return f()

@pytest.mark.parametrize('name', BLOCKS)
@pytest.mark.parametrize('trained', ['xw', 'x', 'w', ''])
def test_checkpoint_is_as_without(name, trained, monkeypatch):
    "The same result, the same gradients to the bit, the same requires_grad, as if the block stood there alone."
    x, w = [(V if c in trained else C)([1.5, -2.] if c == 'x' else [.3, .7], 'd') for c in 'xw']
    def run(): return BLOCKS[name](x, w, w * 2.)
    with_it, wanted = None, run().requires_grad
    leaves = [l for l in (x, w) if l.requires_grad]
    if wanted: with_it = grads(run, leaves)
    monkeypatch.setattr(fl, 'checkpoint', lambda f, *args: f(*args))
    assert run().requires_grad == wanted
    if wanted: assert same(with_it, grads(run, leaves))

def test_checkpoint_in_no_grad():
    x, w, runs = V([1., 2.], 'd'), V([3., 4.], 'd'), []
    def block(x): runs.append(fl.is_grad_enabled()); return x * w
    with fl.no_grad():
        y = fl.checkpoint(block, x)
        assert not y.requires_grad and runs == [False]
        with fl.enable_grad(): y = fl.checkpoint(block, x).sum()
        y.backward()          # records again all the same
    assert y.requires_grad and runs == [False, True, True] and x.grad.tolist() == [3, 4] and w.grad.tolist() == [1, 2]

DRAWS = dict(rand=lambda: fl.rand('d', 400),
             randn=lambda: fl.randn('d', 400),
             normal=lambda: fl.normal('d', 400, mean=1., std=2.),
             uniform=lambda: fl.uniform('d', 400, low=-1., high=1.),
             gumbel=lambda: fl.gumbel('d', 400),
             randint=lambda: fl.randint('d', 400, 0, 9).to('f32'),
             randperm=lambda: fl.randperm('d', 400).to('f32'),
             bernoulli=lambda: fl.bernoulli('d', d=400).to('f32'),
             permuted=lambda: fl.rand('d', 400).index_select('d', fl.randperm('d', 400)))

@pytest.mark.parametrize('draw', DRAWS)
def test_checkpoint_draws_the_same_numbers(draw, backend):
    "F18: the gradient of x * r is r; and what is drawn afterwards is what it would be without checkpoint."
    x = V(np.ones(400, 'f4'), 'd')
    def follow(check):
        fl.manual_seed(7)
        x.grad = None
        before = DRAWS[draw]()
        block = lambda x: x * DRAWS[draw]() + DRAWS[draw]()
        y = (fl.checkpoint if check else lambda f, x: f(x))(block, x)
        after = DRAWS[draw]()
        y.sum().backward()
        return [t.tolist() for t in (before, y, after, x.grad, DRAWS[draw]())]
    assert follow(True) == follow(False)

def test_checkpoint_draws_nested_and_in_threads():
    w = V(np.ones(300, 'f4'), 'd')
    def inner(x): return x * fl.bernoulli('d', d=300).to('f32') * w
    def outer(x, c): return c(inner, x * fl.rand('d', 300)) + c(inner, x).dropout(.5, seed=3)
    def run(c):
        x = V(np.ones(300, 'f4'), 'd')
        w.grad = None
        fl.manual_seed(5)
        y = c(lambda x: outer(x, c), x)
        y.sum().backward()
        return y.tolist(), x.grad.tolist(), w.grad.tolist(), fl.rand('d', 3).tolist()
    plain = lambda f, *args: f(*args)
    assert run(fl.checkpoint) == run(plain)
    x, stop = V(np.ones(300, 'f4'), 'd'), threading.Event()
    def other():
        while not stop.is_set(): fl.rand('d', 10)
    t = threading.Thread(target=other); t.start()       # takes numbers from the same process stream meanwhile
    try:
        for _ in range(30):
            x.grad = None
            y = fl.checkpoint(lambda x: x * fl.rand('d', 300) * fl.rand('d', 300), x)
            y.sum().backward()
            assert x.grad.tolist() == y.tolist()
    finally: stop.set(); t.join()

def test_checkpoint_that_sets_the_seed():
    "In its first run it has its effect, in the second none."
    x = V([1., 1.], 'd')
    def block(x): fl.manual_seed(3); return x * fl.rand('d', 2)
    y = fl.checkpoint(block, x)
    a = fl.rand('d', 2).tolist()
    y.sum().backward()
    b = fl.rand('d', 2).tolist()
    fl.manual_seed(3)
    assert [fl.rand('d', 2).tolist() for _ in range(3)] == [y.tolist(), a, b] and x.grad.tolist() == y.tolist()

def test_checkpoint_that_is_not_the_same_twice():
    x, w, turns = V([1., 2.], 'd'), V([3., 4.], 'd'), []
    def once(first, then):
        turns.clear()
        def block(x): turns.append(1); return first(x) if len(turns) == 1 else then(x)
        return fl.checkpoint(block, x).sum()
    for first, then, words in (
        (lambda x: x * 2., lambda x: 1 / 0, 'running .* again failed: ZeroDivisionError'),
        (lambda x: x * 2., lambda x: x.sum('e'), 'running .* again failed: TagError'),
        (lambda x: x * 2., lambda x: x.sum(), 'another result'),
        (lambda x: x * 2., lambda x: 3., 'one tensor'),
        (lambda x: x * 2., lambda x: x.detach(), 'other tensors'),
        (lambda x: x * 2., lambda x: x * w, 'other tensors'),
        (lambda x: x * w, lambda x: x * 2., 'other tensors'),
        (lambda x: x * 2., lambda x: x * fl.rand('d', 2), 'random')):
        y = once(first, then)
        with pytest.raises(GradError, match=f'checkpoint.*{words}'): y.backward()
        assert x.grad is None and w.grad is None
    y = once(lambda x: x * 2., lambda x: x * 2. if len(turns) > 2 else 1 / 0)
    with pytest.raises(GradError, match='checkpoint'): y.backward()
    y.backward()            # the third run is right
    assert x.grad.tolist() == [2, 2]

def test_checkpoint_first_run_errors_are_its_own():
    with pytest.raises(TagError, match='^sum'): fl.checkpoint(lambda x: x.sum('e'), V([1.], 'd'))
    for f in (lambda x: (x, x), lambda x: None, lambda x: 3.):
        with pytest.raises(GradError, match='checkpoint: the block must return one tensor(.|\n)*help:'):
            fl.checkpoint(f, V(1.))
        with fl.no_grad(), pytest.raises(GradError, match='one tensor'): fl.checkpoint(f, V(1.))

def test_checkpoint_keeps_what_it_reads():
    "Written to before it runs again: an input, what it captured, through a bound method too."
    class Layer:
        def __init__(self): self.w, self.c = V([3., 4.], 'd'), C([1., 2.], 'd')
        def __call__(self, x): return x * self.w * self.c
    layer = Layer()
    x, w = V([1., 2.], 'd'), V([3., 4.], 'd')
    for block, written, name in ((lambda x: x * x, x, 'inputs'), (lambda x: x * w, w, 'w'),
                                 (layer, layer.w, 'w'), (layer.__call__, layer.c, 'c'),
                                 (lambda x: layer(x), layer.w, 'w')):
        y = fl.checkpoint(block, x)
        written.detach().mul_(1.)
        with pytest.raises(GradError, match=f'checkpoint kept {name}, which mul_ has changed'): y.sum().backward()
    y = fl.checkpoint(lambda x: x * w, x)
    layer.w.detach().mul_(1.)
    y.sum().backward()

def test_checkpoint_shared_by_two_losses():
    x, w = V([1., 2.], 'd'), V([3., 4.], 'd')
    y = fl.checkpoint(lambda x: x * w, x)
    (y.sum() + (y * y).sum()).backward()
    assert x.grad.tolist() == [21, 68] and w.grad.tolist() == [7, 34]
    h = w * 2.
    a, b = fl.checkpoint(lambda x: (x * h).sum(), x), fl.checkpoint(lambda x: (h * h).sum(), x)
    (a + b).backward()
    c = fl.checkpoint(lambda x: (x * h).sum(), x)
    with pytest.raises(BackwardAlreadyRun): c.backward()

def test_checkpoint_gradcheck():
    w = V(np.array([[.3, -.2], [.5, .9]]), 'i o')
    assert fl.gradcheck(
        lambda x, w: fl.checkpoint(
            lambda x: fl.checkpoint(lambda x: x.dot(w, 'i').tanh(), x).sum('o') * w.sum(), x),
        C(np.array([[1., 2.]]), 'b i').to('f64'), w)

def transformer(n, embed=16, heads=2):
    "Parameters of n blocks."
    shapes = dict(n1='embed', n2='embed', q='embed head d', k='embed kv_head d', v='embed kv_head d',
                  o='head d embed', up='embed ff', gate='embed ff', down='ff embed')
    sizes = dict(embed=embed, head=heads, kv_head=heads, d=embed // heads, ff=2 * embed)
    rng = np.random.default_rng(0)
    drawn = lambda k, s: rng.standard_normal([sizes[t] for t in s.split()]) / np.sqrt(embed) + (k[0] == 'n')
    return [{k: V(drawn(k, s).astype('f4'), s) for k, s in shapes.items()} for _ in range(n)]

def block(p, x):
    "rms_norm, attention with heads, residual; rms_norm, a gated layer with dropout, residual."
    h = x.rms_norm('embed', weight=p['n1'])
    a = h.dot(p['q'], 'embed').permute('batch seq head d').attention(
        h.dot(p['k'], 'embed'), h.dot(p['v'], 'embed'), out='mix')
    x = x + a.split('mix', 'head d', (p['q'].size('head'), p['q'].size('d'))).dot(p['o'], 'head d')
    h = x.rms_norm('embed', weight=p['n2'])
    return x + h.dot(p['up'], 'embed').swiglu(h.dot(p['gate'], 'embed')).dropout(.1, seed=4).dot(p['down'], 'ff')

@pytest.mark.parametrize('passed', [False, True], ids=['captured', 'passed'])
def test_checkpoint_of_transformer_blocks(passed, backend):
    "Gradients of all parameters and of the input, equal to the bit."
    params = transformer(3)
    x = V(np.random.default_rng(1).standard_normal((2, 6, 16)).astype('f4'), 'batch seq embed')
    leaves = [x] + [w for p in params for w in p.values()]
    def run(check):
        h = x
        for p in params:
            if not check: h = block(p, h)
            elif passed: h = fl.checkpoint(lambda h, *w, p=p: block(dict(zip(p, w)), h), h, *p.values())
            else: h = fl.checkpoint(lambda h, p=p: block(p, h), h)
        return h
    plain, checked = (grads(lambda: run(c), leaves) for c in (False, True))
    assert same(plain, checked) and all(g is not None for g in plain)

def test_checkpoint_memory():
    "n blocks hold n inputs, and on the way back one block more: measured beside a run without."
    n, d, seq = 8, 32, 256
    params = transformer(n, d)
    x = C(np.random.default_rng(1).standard_normal((1, seq, d)).astype('f4'), 'batch seq embed')
    def peaks(check):
        gc.collect(); tracemalloc.start()
        try:
            base, h = tracemalloc.get_traced_memory()[0], x
            for p in params: h = fl.checkpoint(lambda h, p=p: block(p, h), h) if check else block(p, h)
            loss = h.square().sum(); del h
            gc.collect()
            kept = tracemalloc.get_traced_memory()[0] - base
            tracemalloc.reset_peak()
            loss.backward()
            return kept, tracemalloc.get_traced_memory()[1] - base
        finally: tracemalloc.stop()
    one, inputs = peaks(False)[0] / n, n * x.data.nbytes
    kept, peak = peaks(True)
    for w in [w for p in params for w in p.values()]: w.grad = None
    weights = sum(w.data.nbytes for p in params for w in p.values())
    assert kept < 1.5 * inputs and peak < inputs + 2 * one + weights + 3 * x.data.nbytes < one * n

def test_checkpoint_is_seen_by_watchers():
    x, w = V(np.ones(50, 'f4'), 'd'), V(np.ones(50, 'f4'), 'd')
    with fl.timed():
        y = fl.checkpoint(lambda x: (x * w).tanh(), x).sum()
        y.backward()
    nodes = [n for n in reach(y.node) if n.op]
    assert [n.op.name for n in nodes] == ['sum', 'checkpoint'] and all(min(n.time) > 0 for n in nodes)
    assert 'checkpoint' in y.graph(time=True).source and 'not timed' not in y.graph(time=True).source
    seen = Seen()
    with seen: fl.checkpoint(lambda x: x * w, x)
    assert seen.heard == ['checkpoint', 'mul', 'mul!', 'checkpoint!']


# a name is given away once

@pytest.fixture
def tables():
    "What a test registers is gone afterwards."
    before = dict(fl.registry), dict(fl.kernels.table), {n: getattr(T, n) for n in dir(T)}
    yield
    for table, old in zip((fl.registry, fl.kernels.table), before): dict.clear(table); dict.update(table, old)
    for n in set(dir(T)) - set(before[2]): delattr(T, n)
    T.relu = before[2]['relu']

def test_an_operation_of_an_existing_name_is_refused(tables):
    relu = fl.registry['relu']
    def define(**how):
        @fl.autograd.op('demo', **how)
        def relu(x:T): return x.data * 0, x.tags, (lambda g: g * 0,)
        return relu
    with pytest.raises(
        OptionError,
        match=r"relu is an operation already, of fucinalib\.ops\.unary\n  help: .*replace=True"):
        define()
    with pytest.raises(OptionError, match='relu'): define(attach=False)
    with pytest.raises(OptionError, match='relu'): fl.registry['relu'] = fl.registry['exp']
    assert fl.registry['relu'] is relu and T.relu.op is relu and C([1.], 'd').relu().tolist() == [1]
    mine = define(replace=True)
    assert fl.registry['relu'] is mine.op and C([1.], 'd').relu().tolist() == [0]

@pytest.mark.parametrize('name', ['shape', 'tags', 'data', 'backward', 'numpy', 'requires_grad', '__add__', 'node'])
def test_an_operation_does_not_hide_an_attribute(name, tables):
    before = getattr(T, name)
    def f(x:T): return x.data, x.tags, (lambda g: g,)
    f.__name__ = name
    for how in ({}, dict(replace=True)):
        with pytest.raises(
            OptionError,
            match=rf'a tensor has {name}, which is no operation of that name\n  help: .*attach=False'):
            fl.autograd.op('demo', **how)(f)
    assert getattr(T, name) is before and name not in fl.registry
    assert fl.autograd.op('demo', attach=False)(f)(C([1.], 'd')).tolist() == [1]

def test_a_kernel_of_an_existing_name_is_refused(tables):
    from fucinalib.kernels import kernel, table
    was = table['relu']
    def define(**how):
        @kernel(**how)
        def relu(x): return x
        return relu
    with pytest.raises(
        OptionError,
        match=r"relu is a kernel already, of fucinalib\.kernels\.\w+\n  help: .*replace=True"):
        define()
    with pytest.raises(OptionError, match='relu'): table['relu'] = table['exp']
    assert table['relu'] is was
    assert define(replace=True).kernel is table['relu'] is not was

def cell(text, name='__main__', cells=itertools.count()):
    "A cell of a notebook, run."
    path = f'<cell {next(cells)}>'
    linecache.cache[path] = len(text), None, text.splitlines(True), path
    exec(compile(text, path, 'exec'), {'__name__': name})

CELL = """
from fucinalib.autograd import op, Tensor
@op('demo')
def of_a_cell(x:Tensor):
    "A rule inside."
    a = x.data
    def rule(g): return g * a * FACTOR
    return a * 2, x.tags, (rule,)
"""

def test_a_cell_may_run_again(tables):
    "As it was or changed; and a chapter, over the module that was made of it."
    cell(CELL.replace('FACTOR', '1.')); cell(CELL.replace('FACTOR', '1.')); cell(CELL.replace('FACTOR', '3.'))
    del fl.registry['of_a_cell']
    cell(CELL.replace('FACTOR', '2.'), 'fucinalib.ops.chapter')
    with pytest.raises(OptionError, match='of_a_cell is an operation already, of fucinalib.ops.chapter'):
        cell(CELL.replace('FACTOR', '1.'))
    with pytest.raises(OptionError): cell(CELL.replace('FACTOR', 'True * 2'))
    cell('import numpy\n\n\n' + CELL.replace('FACTOR', '2.'))
    cell(CELL.replace('FACTOR', '1.'))      # from here on it is the notebook's own

def test_rows_of_a_table_do_not_share_a_name(tables):
    def row(name):
        def f(x:T): return x.data, x.tags, (lambda g: g,)
        f.__name__, f.__module__ = name, 'fucinalib.ops.rows'
        fl.autograd.op('demo')(f)
    row('row_one'); row('row_two')
    with pytest.raises(OptionError, match='row_one is an operation already'): row('row_one')


# one hook: nothing is patched

def test_nobody_patches_the_engine():
    "Outside of autograd and dispatch, no module assigns Node, the function of an operation, or the floor of a kernel."
    import ast, pathlib
    root = pathlib.Path(fl.__file__).parents[1]
    found = []
    for path in [*root.glob('fucinalib/**/*.py'), *root.glob('docs/*.py'),
                 *root.glob('tools/*.py'), *root.glob('benchmarks/*.py')]:
        if path.name in ('autograd.py', 'dispatch.py'): continue
        for n in ast.walk(ast.parse(path.read_text())):
            targets = n.targets if isinstance(n, ast.Assign) else [n.target] if isinstance(
                n, (ast.AugAssign, ast.AnnAssign)) else []
            flat = [t for target in targets for t in (target.elts if isinstance(target, ast.Tuple) else [target])]
            found += [f'{path.name}:{n.lineno}' for t in flat if isinstance(t, ast.Attribute)
                      and t.attr in ('Node', 'fn', 'composed', 'floor', 'twin')
                      and not (isinstance(t.value, ast.Name) and t.value.id == 'self')]
            if (isinstance(n, ast.Call) and getattr(n.func, 'id', '') == 'setattr'
                and isinstance(n.args[1], ast.Constant)
                and n.args[1].value in ('Node', 'fn', 'composed', 'floor')):
                found.append(f'{path.name}:{n.lineno}')
    assert not found

def test_kernels_are_noted_on_their_thread():
    "At any size, whatever other threads do; nested blocks have sets of their own."
    from fucinalib import kernels
    x, floors = C([1., 2.], 'd'), {k.name: k.floor for k in kernels.table.values()}
    with kernels.noted() as names:
        x.relu()
        with kernels.noted() as inner: x.exp()
        seen = []
        t = threading.Thread(target=lambda: (x.tanh(), seen.append(kernels.table['tanh'].pays(2)))); t.start(); t.join()
        assert kernels.table['tanh'].pays(2) and seen == [False]
    assert names == {'relu'} and inner == {'exp'} and not kernels.table['tanh'].pays(2)
    x.relu()
    assert names == {'relu'} and floors == {k.name: k.floor for k in kernels.table.values()}

def test_op_table_changes_no_floor():
    from fucinalib import kernels
    stop, seen = threading.Event(), set()
    def look():
        while not stop.is_set(): seen.add(kernels.table['relu'].floor)
    t = threading.Thread(target=look); t.start()
    try: assert 'relu' in repr(fl.op_table('unary'))
    finally: stop.set(); t.join()
    assert seen == {kernels.table['relu'].floor} != {0}

def test_explain_hears_its_own_thread():
    x = C(np.ones((3, 4), 'f4'), 'a b')
    def both():
        t = threading.Thread(target=lambda: x.dot(x, 'b')); t.start(); t.join()
        return x.dot(x, 'a b')
    assert len(fl.explain(both)) == 1


def test_a_block_that_changes_the_backend_does_so_once():
    "What it changes when it runs again, for the gradient, is changed back; it runs on the backend of its first run."
    met = []
    def block(x):
        met.append(fl.kernels.current_backend())
        fl.use_backend('numpy')
        return x * x
    for other in fl.backends():
        with fl.use_backend(other):
            x = V([1., 2.], 'd')
            y = fl.checkpoint(block, x).sum()
            assert fl.kernels.current_backend() == 'numpy'      # as if it had been called
            fl.use_backend(other)
            y.backward()
            assert fl.kernels.current_backend() == other
        assert x.grad.tolist() == [2, 4] and met == [other, other]
        met.clear()
