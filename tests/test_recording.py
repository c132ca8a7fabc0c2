"""A recorded step: the bits of an ordinary one, or the reason why it runs as ever."""
import gc, threading, tracemalloc, weakref
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import plans
from fucinalib.hooks import in_one_piece
from fucinalib.plans import Run, StepPlan
from fucinalib.recording import record
from fucinalib.tracing import Traced, root_of


class Adam:
    "An optimizer whose factors change with every step, carried out as a whole."
    def __init__(self, ps, lr=1e-2): self.ps, self.lr, self.t, self.state = ps, lr, 0, None

    @in_one_piece
    def step(self):
        if self.state is None: self.state = [(np.zeros_like(p.data), np.zeros_like(p.data)) for p in self.ps]
        self.t += 1
        for p, (m, v) in zip(self.ps, self.state):
            if (g := p.node.grad) is None: continue
            kind = g.dtype.type
            m += kind(.1) * (g - m)
            v += kind(.001) * (g * g - v)
            p.data -= kind(self.lr / (1 - .9**self.t)) * m / (np.sqrt(v / kind(1 - .999**self.t)) + kind(1e-8))

    def zero_grad(self):
        for p in self.ps: p.zero_grad()


def sgd(ps, lr=.05):
    for p in ps: p.detach().add_(p.grad, alpha=-lr)


def draw(rng, kind, **tags): return fl.param((rng.normal(size=[*tags.values()]) * .2).astype(kind), ' '.join(tags))


def mlp_loss(ps, x, y):
    return ((x.dot(ps[0], 'feat') + ps[1]).relu().dot(ps[2], 'hidden') + ps[3]).cross_entropy('c', y)

def mlp(kind='f4', seed=0, hidden=32, optimizer=True):
    rng = np.random.default_rng(seed)
    ps = [draw(rng, kind, feat=10, hidden=hidden), draw(rng, kind, hidden=hidden), draw(rng, kind, hidden=hidden, c=4),
          draw(rng, kind, c=4)]
    opt = Adam(ps)
    def step(x, y):
        opt.zero_grad()
        loss = mlp_loss(ps, x, y)
        loss.backward()
        opt.step() if optimizer else sgd(ps)
        return loss
    return ps, step


def mlp_batch(rng, kind='f4', n=16):
    return fl.Tensor(rng.normal(size=(n, 10)).astype(kind), 'b feat'), fl.Tensor(rng.integers(0, 4, n), 'b')


T, V, D, H = 16, 11, 24, 3

def gpt(kind='f4', seed=0, layers=2, attention=True):
    "The step of a small GPT over characters, of today's operations."
    rng, e = np.random.default_rng(seed), D // H
    one = lambda v: fl.param(np.full(D, v, kind), 'd')
    p = dict(tok=draw(rng, kind, vocab=V, d=D), pos=draw(rng, kind, t=T, d=D), w=one(1), b=one(0),
             head=draw(rng, kind, d=D, vocab=V))
    for i in range(layers):
        p |= {f'{i}{c}': draw(rng, kind, d=D, h=H, e=e) for c in 'qkv'}
        p |= {f'{i}o': draw(rng, kind, h=H, e=e, d=D), f'{i}up': draw(rng, kind, d=D, m=4 * D),
              f'{i}down': draw(rng, kind, m=4 * D, d=D), f'{i}w': one(1), f'{i}b': one(0)}
    mask = fl.Tensor(np.triu(np.full((T, T), -np.inf, kind), 1), 't s')

    def attend(q, k, v):
        if attention:
            q = q.rename(t='seq', h='head', e='d')
            k, v = [a.rename(t='seq', h='kv_head', e='d') for a in (k, v)]
            return q.attention(k, v).rename(seq='t').split('out', 'h e', h=H, e=e)
        k, v = k.rename(t='s'), v.rename(t='s')
        return (q.dot(k, 'e') * e**-.5 + mask).softmax('s').dot(v, 's')

    def forward(x):
        h = p['tok'].index_select('vocab', x.merge('n', 'b', 't'), out='n')
        h = h.split('n', 'b t', b=x.size('b'), t=T) + p['pos']
        for i in range(layers):
            n = h.layer_norm('d', weight=p[f'{i}w'], bias=p[f'{i}b'])
            h = h + attend(*[n.dot(p[f'{i}{c}'], 'd') for c in 'qkv']).dot(p[f'{i}o'], 'h', 'e')
            h = h + h.rms_norm('d', weight=p['w']).dot(p[f'{i}up'], 'd').gelu().dot(p[f'{i}down'], 'm')
        return h.layer_norm('d', weight=p['w'], bias=p['b']).dot(p['head'], 'd')
    opt = Adam([*p.values()])
    def step(x, y):
        opt.zero_grad()
        loss = forward(x).cross_entropy('vocab', y)
        loss.backward()
        opt.step()
        return loss
    return opt.ps, step


def gpt_batch(rng, kind='f4', n=2):
    return [fl.Tensor(rng.integers(0, V, (n, T)), 'b t') for _ in range(2)]


def bits(x): return None if x is None else np.ascontiguousarray(x.data).tobytes()


def alongside(make, batch, kind='f4', steps=9, replays=4):
    "A recorded step beside the step itself, on the same data: equal to the last bit, all along."
    (ps, ours), (qs, step), rng = make(kind), make(kind), np.random.default_rng(1)
    ours = record(ours)
    for _ in range(steps):
        args = batch(rng, kind)
        assert bits(ours(*args)) == bits(step(*args))
        for p, q in zip(ps, qs): assert bits(p) == bits(q) and bits(p.grad) == bits(q.grad)
    assert ours.why is None and ours.replays >= replays
    return ours


# ---- the same bits

@pytest.mark.parametrize('backend', ['numpy', None])
@pytest.mark.parametrize('kind', ['f4', 'f8'])
@pytest.mark.parametrize('make, batch', [(mlp, mlp_batch), (gpt, gpt_batch)], ids=['mlp', 'gpt'])
def test_a_replay_has_the_bits_of_the_step(make, batch, kind, backend):
    with fl.use_backend(backend or fl.current_backend()): alongside(make, batch, kind)


def test_above_the_floors_of_the_kernels():
    alongside(lambda kind: mlp(kind, hidden=600), lambda rng, kind: mlp_batch(rng, kind, 200))


def test_scores_in_full_and_softmax():
    alongside(lambda kind: gpt(kind, attention=False), gpt_batch)


def test_an_optimizer_written_in_the_step():
    alongside(lambda kind: mlp(kind, optimizer=False), mlp_batch)


OPS = dict(
    tanh=lambda x, w: (x * w).tanh(),
    sigmoid=lambda x, w: (x + w).sigmoid(),
    silu=lambda x, w: (x * w).silu(),
    gelu=lambda x, w: (x - w).gelu(approximate='tanh'),
    div=lambda x, w: x / (w * w + 1.),
    clamp=lambda x, w: (x * w).clamp(-1, 1),
    softmax=lambda x, w: (x * w).softmax('d'),
    log_softmax=lambda x, w: (x * w).log_softmax('b'),
    norm=lambda x, w: (x * w).norm('d'),
    var=lambda x, w: (x * w).var('b'),
    std=lambda x, w: (x * w).std('d'),
    mean=lambda x, w: (x * w).mean('d'),
    max=lambda x, w: (x * w).max('d'),
    prod=lambda x, w: (x * w).prod('d'),
    layer_norm=lambda x, w: (x * w).layer_norm('d'),
    rms=lambda x, w: (x * w).rms_norm('b'),
    cumsum=lambda x, w: (x * w).cumsum('b'),
    logsumexp=lambda x, w: (x * w).logsumexp('d'),
    permute=lambda x, w: (x * w).permute('d b') * 2.,
    pad=lambda x, w: (x * w).pad('d', 1, 2),
    narrow=lambda x, w: (x * w).narrow('d', 1, 2),
    select=lambda x, w: (x * w).select(d=1),
    flip=lambda x, w: (x * w).flip('b'),
    repeat=lambda x, w: (x * w).repeat('d', 2),
    maximum=lambda x, w: x.maximum(w),
    pow=lambda x, w: (x * w).abs() ** 1.5,
    twice=lambda x, w: (x * w + x * w) * w,
    same=lambda x, w: (lambda y: y + y * y)(x * w),
    leaky=lambda x, w: (x * w).leaky_relu(.1),
    einsum=lambda x, w: x.einsum(w, 'b'),
    concat=lambda x, w: fl.concat([x * w, x * 2.], 'b') if hasattr(fl, 'concat') else x * w,
    mse=lambda x, w: (x * w).mse_loss(x),
    huber=lambda x, w: (x * w).huber_loss(x),
    merge=lambda x, w: (x * w).merge('n', 'b', 'd'),
)

@pytest.mark.parametrize('backend', ['numpy', None])
@pytest.mark.parametrize('name', OPS)
def test_operations_and_their_gradients(name, backend):
    "Each is a plan and exact, or says why not; never anything else."
    def make(kind):
        w = fl.param(np.linspace(.5, 1.5, 5).astype(kind), 'd')
        def step(x):
            w.zero_grad()
            y = OPS[name](x, w)
            (y * y if y.tags else y).sum().backward()
            sgd([w], .001)
            return y
        return [w], step
    def batch(rng, kind): return [fl.Tensor(rng.normal(size=(7, 5)).astype(kind), 'b d')]
    with fl.use_backend(backend or fl.current_backend()): alongside(make, batch, replays=3)


# ---- what a plan depends on

def recorded_mlp(**how):
    ps, step = mlp(**how)
    return ps, step, record(step), np.random.default_rng(2)


def warm(step, batch, n=6):
    for _ in range(n): step(*batch())
    return step


def test_other_sizes_get_a_plan_of_their_own():
    ps, _, step, rng = recorded_mlp()
    for n in (16, 8, 16, 8): warm(step, lambda: mlp_batch(rng, n=n))
    assert len(step.cases) == 2 and all(c.ready for c in step.cases.values())


def test_no_more_than_some_plans():
    ps, _, step, rng = recorded_mlp()
    for n in range(2, 14): step(*mlp_batch(rng, n=n))
    assert 'keep changing' in step.why and len(step.cases) == 11


def test_a_number_outside_is_part_of_the_key():
    w, scale = fl.param([1., 2.], 'd'), 2.
    def step(x): return (w.detach() * x * scale).sum()
    step, x = record(step), fl.Tensor([3., 4.], 'd')
    with fl.no_grad(): warm(step, lambda: [x], 8)
    assert step.replays
    with fl.no_grad():
        before = step(x).item()
        scale = 3.
        assert step(x).item() == 33. != before


def test_a_model_in_training_and_not():
    class Model(fl.nn.Module):
        def __init__(self): self.w = fl.param([1., 2.], 'd')
        def forward(self, x): return (x * self.w * (2. if self.training else 1.)).sum()
    model = Model()
    step, x = record(lambda x: model(x).detach()), fl.Tensor([1., 1.], 'd')
    assert {step(x).item() for _ in range(8)} == {6.} and step.replays
    model.training = False
    assert {step(x).item() for _ in range(8)} == {3.}


def test_parameters_are_read_anew():
    ps, plain_step, step, rng = recorded_mlp()
    warm(step, lambda: mlp_batch(rng))
    for p in ps: p.data[...] = 0
    x, y = mlp_batch(rng)
    assert abs(step(x, y).item() - np.log(4)) < 1e-6


def test_a_parameter_with_other_memory_is_learnt_again():
    ps, plain_step, step, rng = recorded_mlp()
    warm(step, lambda: mlp_batch(rng))
    ps[0].data = np.zeros_like(ps[0].data)
    for p in ps[1:]: p.data[...] = 0
    assert abs(step(*mlp_batch(rng)).item() - np.log(4)) < 1e-6


def test_gradients_that_are_added_up():
    "Without zero_grad each step adds to what is there."
    def make(kind):
        ps, _ = mlp(kind)
        def step(x, y):
            loss = mlp_loss(ps, x, y)
            loss.backward()
            return loss
        return ps, step
    alongside(make, mlp_batch)


def test_a_gradient_that_somebody_holds_stays():
    ps, _, step, rng = recorded_mlp()
    warm(step, lambda: mlp_batch(rng), 8)
    held = [p.grad for p in ps]
    view = ps[0].grad.numpy()[1:]
    before = [bits(g) for g in held], view.tobytes()
    for _ in range(3): step(*mlp_batch(rng))
    assert ([bits(g) for g in held], view.tobytes()) == before
    assert bits(ps[0].grad) != before[0][0]


def test_results_that_are_held_stay():
    ps, _, step, rng = recorded_mlp()
    losses = [step(*mlp_batch(rng)) for _ in range(9)]
    values = [l.item() for l in losses]
    for _ in range(3): step(*mlp_batch(rng))
    assert [l.item() for l in losses] == values and len(set(values)) == 9


def test_a_write_of_a_replay_is_known_to_graphs():
    ps, _, step, rng = recorded_mlp(optimizer=False)
    warm(step, lambda: mlp_batch(rng))
    loss = (ps[0] * ps[0]).sum()
    step(*mlp_batch(rng))
    with pytest.raises(fl.GradError, match='changed since'): loss.backward()


def test_under_no_grad():
    w = fl.param(np.eye(3, dtype='f4'), 'a b')
    step = record(lambda x: x.dot(w, 'a').relu())
    xs = [fl.Tensor(np.full((2, 3), v, 'f4'), 'r a') for v in range(9)]
    with fl.no_grad(): assert [step(x).sum().item() for x in xs] == [6. * v for v in range(9)]
    assert step.replays == 5


def test_the_first_other_values_are_looked_at():
    "A number that is computed from data, where the first runs all had the same data."
    w = fl.param([1., 1.], 'd')
    def step(x):
        with fl.no_grad(): return (w * x * float(np.array(x.data).max())).sum()
    step = record(step)
    same, other = fl.Tensor([1., 2.], 'd'), fl.Tensor([3., 5.], 'd')
    for _ in range(6): assert step(same).item() == 6.
    for _ in range(3): assert step(other).item() == 40.


# ---- why not

def why(step, *batches, n=4):
    step = record(step)
    for i in range(n): step(batches[i % len(batches)])
    assert step.plan is None and step.replays == 0
    return step.why

X, X2 = fl.Tensor([1., 2.], 'd'), fl.Tensor([3., 5.], 'd')

def test_why_not():
    w, kept, count, rng = fl.param([1., 2.], 'd'), [], [0], np.random.default_rng(0)
    def looks(x):
        y = (x * 2.).sum()
        return x if y.item() > 3 else y
    def keeps(x): kept.append(x * 2.)
    def counts(x):
        count[0] += 1
        return x * float(count[0])
    def draws(x): return x * float(rng.normal())
    def open_end(x): return (x * w).sum()
    def changes(x):
        x.add_(1.)
        return (x * 2.).detach()
    def decides(x): return x * 2. if x.sum() > 4. else x * 3.
    assert 'looks at a value' in why(looks, X, X2)
    assert 'kept outside' in why(keeps, X, X2)
    assert 'number changes' in why(draws, X, X2)
    assert 'go back from' in why(open_end, X, X2)
    assert 'changes one of its arguments' in why(changes, fl.Tensor([1., 2.], 'd'))
    assert 'looks at a value' in why(decides, X, X2)
    def asks_late(x):
        w.detach().add_(x, alpha=-.1)
        with fl.no_grad(): return (w * x).cross_entropy('d', (w * 0.).to('i64').sum())
    assert 'after something changed' in why(asks_late, X, X2)
    assert 'keep changing' in why(counts, X, X2, n=12) or 'number changes' in why(counts, X, X2, n=12)


def test_a_step_that_is_no_plan_is_still_right():
    n = [0]
    def counted(x):
        n[0] += 1
        return x * float(n[0])
    step = record(counted)
    assert [step(X).tolist()[0] for _ in range(12)] == [float(i) for i in range(1, 13)]


def test_arguments_that_change_are_changed():
    x = fl.Tensor([1., 2.], 'd')
    step = record(lambda x: x.add_(1.))
    for _ in range(4): step(x)
    assert x.tolist() == [5., 6.]


def test_an_array_made_outside_each_time():
    rng = np.random.default_rng(0)
    def step(x): return x * fl.Tensor(rng.normal(size=2).astype('f4'), 'd')
    assert 'random' in why(step, X, X2)


def test_a_guard_that_fails_runs_the_step():
    "A label that is no class is refused as ever, and later steps are replayed again."
    ps, _, step, rng = recorded_mlp()
    warm(step, lambda: mlp_batch(rng))
    x, y = mlp_batch(rng)
    bad = fl.Tensor(np.full(16, 7), 'b')
    before = [bits(p) for p in ps]
    with pytest.raises(fl.IndexOutOfBounds): step(x, bad)
    assert [bits(p) for p in ps] == before
    replays = step.replays
    step(x, y)      # the gradients that the step had set to None are there again
    step(x, y)
    assert step.replays == replays + 1


def test_a_fault_in_the_step_leaves_everything_as_it_was():
    numpy = {n: getattr(np, n) for n in ('asarray', 'empty', 'zeros', 'array')}
    ps, _, step, rng = recorded_mlp()
    step(*mlp_batch(rng))
    with pytest.raises(fl.FucinaError): step(fl.Tensor(np.ones((16, 9), 'f4'), 'b feat'), mlp_batch(rng)[1])
    assert all(getattr(np, n) is f for n, f in numpy.items())
    assert all(type(p.data) is np.ndarray for p in ps)
    warm(step, lambda: mlp_batch(rng))
    assert step.replays


def test_a_recorded_step_in_a_recorded_step():
    inner = record(lambda x: x * 2.)
    outer = record(lambda x: inner(x) + 1.)
    for _ in range(3): inner(X)
    for x in (X, X2) * 4: assert outer(x).tolist() == [2. * v + 1. for v in x.tolist()]


def test_no_function():
    with pytest.raises(fl.OptionError, match='record'): record(3)


# ---- the plan

def test_places_do_not_meet():
    "Arrays that are in use at the same call lie apart, but for a result over an operand that ends there."
    _, step = gpt()
    rng = np.random.default_rng(0)
    step(*gpt_batch(rng))
    plan = StepPlan(Run(step, gpt_batch(rng), {}))
    spans = [(i, j, plan.places[n], plan.places[n] + plan.buffers[n].nbytes) for n, (i, j) in plan.spans.items()]
    for a, (i, j, lo, hi) in enumerate(spans):
        for k, l, low, high in spans[:a]:
            if max(i, k) < min(j, l): assert hi <= low or high <= lo
    assert plan.bytes < StepPlan(plan.run, reuse=False).bytes / 2
    assert all(lo % 64 == 0 for _, _, lo, _ in spans)


def test_a_replay_makes_no_arrays():
    "Of an MLP's forward, backward and step no call makes an array of more than a few numbers."
    ps, _, step, rng = recorded_mlp(hidden=512, optimizer=False)
    warm(step, lambda: mlp_batch(rng, n=64))
    args = mlp_batch(rng, n=64)
    step(*args)
    gc.collect()
    tracemalloc.start()
    try:
        step(*args)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        step(*args)
        assert tracemalloc.get_traced_memory()[1] - before < 20_000      # one hidden layer has 131 kB
    finally: tracemalloc.stop()


def clipped_step(model, tag):
    "A step of AdamW by clipped gradients: a function of inputs and labels, which are entries of `tag`."
    opt = fl.optim.AdamW(model, lr=.01)
    def step(x, y):
        opt.zero_grad()
        loss = model(x).cross_entropy(tag, y)
        loss.backward()
        fl.optim.clip_grad_norm(model, 1.)
        opt.step()
        return loss
    return step


def peak_of_a_replay(model, args):
    "Bytes that one replay takes at most, of Python's objects, arrays, and NumPy's own."
    step = record(clipped_step(model, 'k'))
    for _ in range(8): step(*args)
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(2): step(*args)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        step(*args)
        return tracemalloc.get_traced_memory()[1] - before
    finally: tracemalloc.stop()


@pytest.mark.skipif('pythran' not in fl.backends(), reason='no kernels')
def test_a_replay_takes_no_memory():
    "Forward, back, clipping and AdamW: no array, and no copy of the inputs to compare them."
    nn, rng = fl.nn, np.random.default_rng(0)
    dense = nn.Sequential(nn.Linear('feat=10', 'a=512', seed=0), fl.relu, nn.Linear('a=512', 'k=9', seed=1))
    rows = fl.Tensor(rng.normal(size=(64, 10)).astype('f4'), 'b feat'), fl.Tensor(rng.integers(0, 9, 64), 'b')
    assert peak_of_a_replay(dense, rows) < 10_000       # a hidden layer has 131 kB
    class Letters(nn.Module):
        def __init__(self):
            self.word, self.rnn = nn.Embedding('word=10', 'd=64', seed=1), nn.LSTM('d=64', 'hid=64', seed=2)
            self.out = nn.Linear('hid=64', 'k=10', seed=3)
        def forward(self, x): return self.out(self.rnn(self.word(x))[0])
    text = [fl.Tensor(rng.integers(0, 10, (16, 32)), 'b seq') for _ in range(2)]
    assert peak_of_a_replay(Letters(), text) < 10_000   # the states have 262 kB
    small = nn.Sequential(nn.Conv2d('c=1', 'f=16', 3, seed=0), fl.relu, nn.MaxPool2d(2),
                          nn.Linear('h=13 w=13 f=16', 'k=10', seed=1))
    pictures = fl.rand('b h w c', (32, 28, 28, 1), seed=0), fl.Tensor(rng.integers(0, 10, 32), 'b')
    assert peak_of_a_replay(small, pictures) < 20_000   # they have 100 kB
    for rows in (8, 3):
        words = [fl.Tensor(rng.integers(0, 10, (rows, 32)), 'b seq') for _ in range(2)]
        block = nn.Sequential(nn.Embedding('word=10', 'd=64', seed=1), nn.TransformerBlock('d=64', 4, 'ff=256', seed=2),
                              nn.Linear('d=64', 'k=10', seed=3))
        assert peak_of_a_replay(block, words) < 12_000  # its scores of each head have 131 kB


# ---- neighbours

ODD = np.array([0., -0., np.nan, np.inf, -np.inf, 1e-42, -1e-42, 3e38, -3e38, 1., -1.], 'f4')

CHAINS = dict(
    bias=(lambda x, row, other: (x + row).relu(), 1),
    residual=(lambda x, row, other: ((x + other) * 2. - row) / other, 1),
    turned=(lambda x, row, other: 1. / (row - (3. - x * .3)), 1),
    alone=(lambda x, row, other: x * row, 1),
    twice=(lambda x, row, other: (lambda y: (y * y).relu())(x + row), 1),
    kept=(lambda x, row, other: (lambda y: (y, (y * row).relu()))(x + row), 2),
    column=(lambda x, row, other: (x + other.select(d=0)).relu() * row, 1))

@pytest.mark.skipif('pythran' not in fl.backends(), reason='no kernels')
@pytest.mark.parametrize('name', CHAINS)
@pytest.mark.parametrize('size', [(5, 3), (70, 33), (300, 400)])
def test_neighbours_become_one_call_and_keep_their_bits(name, size):
    "Of odd numbers too. What is read twice, or returned, stays an array."
    (f, chains), rng = CHAINS[name], np.random.default_rng(0)
    row, other = [fl.Tensor(rng.normal(size=size[i:]).astype('f4'), 'b d'[2 * i:]) for i in (1, 0)]
    step = record(lambda x: f(x, row, other))
    for i in range(8):
        a = rng.normal(size=size).astype('f4')
        a.flat[rng.integers(0, a.size, 40)] = rng.choice(ODD, 40)
        x = fl.Tensor(a, 'b d')
        mine, its = step(x), f(x, row, other)
        for y, z in zip(*[v if type(v) is tuple else (v,) for v in (mine, its)]):
            y, z = y.numpy(), z.numpy()
            assert np.array_equal(np.isnan(y), np.isnan(z))
            assert np.array_equal(y.view('u4')[y == y], z.view('u4')[z == z])
    assert step.why is None and step.replays >= 3
    if size[0] > 5: assert sum(c.name == 'chain' for c in step.plan.calls) == chains


def test_nothing_that_tells_is_left():
    ps, _, step, rng = recorded_mlp()
    for _ in range(6):
        loss = step(*mlp_batch(rng))
        arrays = [loss.data, *[p.data for p in ps], *[p.grad.data for p in ps]]
        assert not any(isinstance(a, Traced) for a in arrays)
        assert not any(isinstance(root_of(a), Traced) for a in arrays)


def test_another_thread_computes_meanwhile():
    ps, _, step, rng = recorded_mlp()
    wrong, stop = [], threading.Event()
    def work():
        x = fl.Tensor(np.arange(6.), 'd')
        while not stop.is_set():
            right = (x * 2. + fl.Tensor(np.zeros(6), 'd')).sum().item() == 30.
            if not right or type(np.empty(3)) is not np.ndarray: wrong.append(1)
    other = threading.Thread(target=work)
    other.start()
    try: warm(step, lambda: mlp_batch(rng), 12)
    finally:
        stop.set()
        other.join()
    assert not wrong and step.replays


def test_a_timeline_is_drawn():
    ps, _, step, rng = recorded_mlp()
    with pytest.raises(fl.OptionError, match='timeline'): step.timeline()
    warm(step, lambda: mlp_batch(rng))
    svg = step.timeline()._repr_html_()
    assert svg.count('<rect') == 2 * len(step.plan.spans) and 'calls on' in repr(step)


def test_public_name(): assert fl.record is record


# ---- with layers and optimizers

def model_step(make, clip=True, schedule=False):
    nn, optim = fl.nn, fl.optim
    model = nn.Sequential(nn.Linear('feat=10', 'hidden=32', seed=1), nn.ReLU(), nn.LayerNorm('hidden=32'),
                          nn.Linear('hidden=32', 'c=4', seed=2))
    opt = make(model)
    def step(x, y):
        opt.zero_grad()
        loss = model(x).cross_entropy('c', y)
        loss.backward()
        norm = optim.clip_grad_norm(model, .5) if clip else 0.
        opt.step()
        return loss, norm
    return model.parameters(), step, opt


MAKERS = dict(sgd=lambda m: fl.optim.SGD(m, lr=.1, momentum=.9), adam=lambda m: fl.optim.Adam(m, lr=.01),
              adamw=lambda m: fl.optim.AdamW(m, lr=.01))

@pytest.mark.parametrize('backend', ['numpy', None])
@pytest.mark.parametrize('make', MAKERS.values(), ids=MAKERS)
def test_layers_clipping_and_optimizers(make, backend):
    "Also when the learning rate moves, as a schedule moves it: the optimizer reads it anew."
    with fl.use_backend(backend or fl.current_backend()):
        (ps, ours, opt), (qs, step, other) = model_step(make), model_step(make)
        ours, rng = record(ours), np.random.default_rng(1)
        for i in range(16):
            x, y = mlp_batch(rng)
            if i == 9: opt.lr = other.lr = .003
            (a, n), (b, m) = ours(x, y), step(x, y)
            assert bits(a) == bits(b) and n == m
            for p, q in zip(ps, qs): assert bits(p) == bits(q) and bits(p.grad) == bits(q.grad)
        assert ours.why is None and ours.replays >= 7


def test_a_learning_rate_that_moves_each_step():
    (ps, ours, opt), (qs, step, other) = [model_step(lambda m: fl.optim.AdamW(m, lr=.01)) for _ in range(2)]
    ours, rng = record(ours), np.random.default_rng(1)
    for i in range(12):
        opt.lr = other.lr = .01 / (i + 1)
        args = mlp_batch(rng)
        assert bits(ours(*args)[0]) == bits(step(*args)[0])
        for p, q in zip(ps, qs): assert bits(p) == bits(q)
    assert ours.replays >= 7


# ---- chance

def dropout_step(n=32, checkpointed=False):
    nn = fl.nn
    inner = nn.Sequential(nn.ReLU(), nn.Dropout(.5))
    model = nn.Sequential(nn.Linear('feat=10', f'hidden={n}', seed=1), nn.Dropout(.3), inner,
                          nn.Linear(f'hidden={n}', 'c=4', seed=2))
    opt = fl.optim.SGD(model, lr=.1)
    def step(x, y):
        opt.zero_grad()
        loss = (fl.checkpoint(model, x) if checkpointed else model(x)).cross_entropy('c', y)
        loss.backward()
        opt.step()
        return loss
    return model, step


@pytest.mark.parametrize('backend', ['numpy', None])
@pytest.mark.parametrize('n', [4, 300])
def test_dropout_draws_anew(n, backend):
    "The seeds of the process go on as without recording, and so does everything after it."
    with fl.use_backend(backend or fl.current_backend()):
        found = []
        for wrap in (lambda f: f, record):
            fl.manual_seed(3)
            model, step = dropout_step(n)
            step, rng = wrap(step), np.random.default_rng(1)
            losses = [step(*mlp_batch(rng)).item() for _ in range(10)]
            found.append((losses, [bits(p) for p in model.parameters()], fl.rand('a', 3).tolist()))
        assert found[0] == found[1] and step.why is None and step.replays >= 5


def test_dropout_at_a_step():
    "By seed, step and place in the model: the same masks whenever that step comes."
    model, step = dropout_step()
    other, same = dropout_step()
    ours, rng = record(step), np.random.default_rng(1)
    for i in range(12):
        args = mlp_batch(rng)
        fl.rand('a', 2)       # the process draws in between
        with fl.nn.at_step(7, i): loss = ours(*args)
        with fl.nn.at_step(7, i): assert bits(loss) == bits(same(*args))
    assert ours.why is None and ours.replays >= 7


def test_a_guard_that_fails_draws_no_seed_twice():
    found = []
    for wrap in (lambda f: f, record):
        fl.manual_seed(3)
        model, step = dropout_step()
        step, rng = wrap(step), np.random.default_rng(1)
        for _ in range(6): step(*mlp_batch(rng))
        x, y = mlp_batch(rng)
        with pytest.raises(fl.IndexOutOfBounds): step(x, fl.Tensor(np.full(16, 7), 'b'))
        found.append((step(x, y).item(), [bits(p) for p in model.parameters()]))
    assert found[0] == found[1]


def test_a_block_that_runs_again():
    "checkpoint gives the second run the seeds of the first, and so does the plan."
    found = []
    for wrap in (lambda f: f, record):
        fl.manual_seed(3)
        model, step = dropout_step(checkpointed=True)
        step, rng = wrap(step), np.random.default_rng(1)
        found.append(([step(*mlp_batch(rng)).item() for _ in range(9)], [bits(p) for p in model.parameters()]))
    assert found[0] == found[1]


# ---- what a step does behind the plan's back

def test_weights_moved_by_plain_arrays_are_missed_by_no_plan():
    "An optimizer of one's own on raw arrays writes memory without a call that tells."
    found = []
    for wrap in (lambda f: f, record):
        w, m = fl.param(np.ones(3, 'f4'), 'd'), np.zeros(3, 'f4')
        def step(x):
            w.zero_grad()
            loss = (w * x).sum()
            loss.backward()
            m[:] = .9 * m + np.array(w.grad.data)
            w.data -= np.float32(.1) * m
            return loss
        step = wrap(step)
        found.append([step(fl.Tensor(np.full(3, i, 'f4'), 'd')).item() for i in range(12)] + w.tolist())
    assert found[0] == found[1]


def test_statistics_of_a_layer():
    "BatchNorm's running statistics move with every replay as with every run."
    found = []
    for wrap in (lambda f: f, record):
        model = fl.nn.Sequential(fl.nn.Linear('feat=10', 'c=4', seed=1), fl.nn.BatchNorm('c=4'))
        opt = fl.optim.SGD(model, lr=.1)
        def step(x, y):
            opt.zero_grad()
            loss = model(x).cross_entropy('c', y)
            loss.backward()
            opt.step()
            return loss
        step, rng = wrap(step), np.random.default_rng(1)
        found.append(([step(*mlp_batch(rng)).item() for _ in range(12)], [bits(t) for _, t in model.named_tensors()]))
    assert found[0] == found[1] and step.why is None and step.replays >= 7


def test_blocks_with_dropout():
    "A small GPT of the library's own blocks."
    nn, found = fl.nn, []
    for wrap in (lambda f: f, record):
        fl.manual_seed(1)
        blocks = [nn.TransformerBlock('d=16', 2, 'ff=32', dropout=.1, seed=i) for i in range(2)]
        model = nn.Sequential(nn.Embedding('word=11', 'd=16', seed=1), *blocks, nn.LayerNorm('d=16'),
                              nn.Linear('d=16', 'c=11', seed=5))
        step, rng = wrap(clipped_step(model, 'c')), np.random.default_rng(1)
        batches = [[fl.Tensor(rng.integers(0, 11, (3, 9)), 'b seq') for _ in range(2)] for _ in range(9)]
        found.append(([step(*b).item() for b in batches], [bits(p) for p in model.parameters()]))
    assert found[0] == found[1] and step.why is None and step.replays >= 4


def test_pictures_and_recurrence():
    "A small CNN, and an LSTM: plans, and the same bits, on both backends."
    nn = fl.nn
    def cnn():
        conv = nn.Conv2d('c=1', 'f=8', 3, padding=1, seed=0)
        return nn.Sequential(conv, nn.BatchNorm('f=8'), fl.relu, nn.MaxPool2d(2),
                             nn.Linear('h=4 w=4 f=8', 'k=10', seed=2))
    class Letters(nn.Module):
        def __init__(self, kind=nn.LSTM, **how):
            self.word, self.rnn = nn.Embedding('word=10', 'd=8', seed=1), kind('d=8', 'hid=12', seed=2, **how)
            self.out = nn.Linear(f'hid={12 * self.rnn.ways}', 'k=10', seed=3)
        def forward(self, x): return self.out(self.rnn(self.word(x))[0])
    def pictures(rng):
        return fl.Tensor(rng.normal(size=(5, 8, 8, 1)).astype('f4'), 'b h w c'), fl.Tensor(rng.integers(0, 10, 5), 'b')
    def text(rng): return [fl.Tensor(rng.integers(0, 10, (3, 6)), 'b seq') for _ in range(2)]
    for backend in dict.fromkeys(['numpy', fl.current_backend()]):
        others = [(lambda how=how: Letters(*how[:1], **how[1]), text) for how in (
            (nn.RNN, {}), (nn.RNN, dict(layers=2, bidirectional=True)), (nn.GRU, dict(bidirectional=True)),
            (nn.LSTM, dict(layers=2)))]
        for make, batch in ((cnn, pictures), (Letters, text), *others):
            with fl.use_backend(backend): check_model(make, batch)


def check_model(make, batch):
    found = []
    for wrap in (lambda f: f, record):
        model, rng = make(), np.random.default_rng(1)
        opt = fl.optim.SGD(model, lr=.1, momentum=.9)
        def step(x, y):
            opt.zero_grad()
            loss = model(x).cross_entropy('k', y)
            loss.backward()
            opt.step()
            return loss
        step = wrap(step)
        found.append(([step(*batch(rng)).item() for _ in range(8)], [bits(t) for _, t in model.named_tensors()]))
    assert found[0] == found[1] and step.why is None and step.replays >= 3, step.why


class Settings:
    scale = 2.

class Held:
    def __init__(self): self.scale = 2.
    def by(self, x): return x * Settings.scale * self.scale


@pytest.mark.parametrize('where', ['argument', 'class', 'attribute', 'list', 'nested', 'array', 'method'])
def test_numbers_wherever_they_stand(where):
    "A number that a step reads from an object, a class or a list is part of what a plan depends on."
    held, listed, nested, small = Held(), [2.], [[2.], 1], np.array(2.)
    steps = dict(argument=lambda x, h: x * h.scale, attribute=lambda x, h: x * held.scale,
                 list=lambda x, h: x * listed[0], nested=lambda x, h: x * nested[0][0],
                 array=lambda x, h: x * float(small),
                 **{'class': lambda x, h: x * Settings.scale}, method=lambda x, h: held.by(x))
    step, given = record(steps[where]), Held()
    with fl.no_grad():
        for i in range(8):
            want = (4. if where == 'method' else 2.) * (1 + i)
            assert step(fl.Tensor([1. + i], 'a'), given).item() == want
        assert step.replays
        try:
            given.scale = held.scale = listed[0] = nested[0][0] = small[...] = 3.
            if where in ('class', 'method'): Settings.scale = 3.
            assert step(fl.Tensor([1.], 'a'), given).item() == (9. if where == 'method' else 3.)
        finally: Settings.scale = 2.


def test_how_many_there_are_depends_on_values():
    "A result that has another shape than it had ends the replay; it is not stretched."
    def step(x): return x.masked_select(x > 0., 'n').sum()
    step, want = record(step), []
    for n in (3, 3, 3, 3, 3, 1, 2, 3, 4):
        x = np.where(np.arange(5) < n, 2. + n, -1.)
        want.append(step(fl.Tensor(x, 'd')).item() == n * (2. + n))
    assert all(want)


def test_a_plan_inside_a_run_that_is_written_down():
    "The inner step runs there, so that the outer plan has its calls."
    w = fl.param([1., 1.], 'd')
    def inner(x):
        w.zero_grad()
        (w * x).sum().backward()
        w.detach().add_(w.grad, alpha=-.1)
        return (w.detach() * x).sum()
    mine = record(inner)
    for i in range(6): mine(fl.Tensor([1. + i, 2.], 'd'))
    outer = record(lambda x: mine(x) * 2.)
    for i in range(8):
        before = w.data.copy()
        x = np.array([2. + i, 1.], 'f4')
        outer(fl.Tensor(x, 'd'))
        assert np.allclose(w.data, before - np.float32(.1) * x)
    assert outer.replays


def test_two_threads_at_one_step():
    w = fl.param(np.ones(64, 'f4'), 'd')
    step = record(lambda x: (w.detach() * x).exp().sum())
    with fl.no_grad():
        for i in range(6): step(fl.Tensor(np.full(64, i / 9, 'f4'), 'd'))
    wrong = []
    def work(v):
        with fl.no_grad():
            for _ in range(200):
                if abs(step(fl.Tensor(np.full(64, v, 'f4'), 'd')).item() / (64 * np.exp(v)) - 1) > 1e-5: wrong.append(v)
    threads = [threading.Thread(target=work, args=[v]) for v in (.5, 1.5)]
    for t in threads: t.start()
    for t in threads: t.join()
    assert not wrong


def test_two_threads_with_inputs_of_two_sizes():
    "Each has the plan of its own arguments, whatever the other does between looking and replaying."
    step, wrong = record(lambda x: x * 2.), []
    given = [fl.Tensor(np.ones((rows, 4), 'f4'), 'row col') for rows in (1, 3)]
    for x in given * 4: step(x)
    def work(x): wrong.extend(y.shape for _ in range(500) if (y := step(x)).shape != x.shape)
    with ThreadPoolExecutor(2) as pool: list(pool.map(work, given))
    assert not wrong


SCALE = 2.

def test_a_number_that_becomes_an_array_is_met_every_time(monkeypatch):
    "What the first call after the change says is what all say: no plan of before is replayed."
    step, x = record(lambda x: x * SCALE), fl.Tensor(np.ones(4, 'f4'), 'd')
    for _ in range(4): step(x)
    monkeypatch.setitem(globals(), 'SCALE', np.array([1, 2]))
    said = []
    for _ in range(3):
        with pytest.raises(Exception) as e: step(x)
        said.append(type(e.value))
    assert len(set(said)) == 1


@pytest.mark.parametrize('what', ['layer', 'weight', 'item', 'function', 'variable'])
def test_objects_that_are_replaced(what):
    "A layer, a weight, an item of a list, a function: the next step uses the new one."
    def one(v):
        made = fl.nn.Linear('a=1', 'b=1', seed=0)
        made.weight.data[...], made.bias.data[...] = v, 0
        return made
    class Model(fl.nn.Module):
        def __init__(self): self.layers, self.last = [one(2.)], one(1.)
        def forward(self, x): return self.last(self.layers[0](x).rename(b='a'))
    model, scaled, w = Model(), lambda y: y * 1., fl.param([1.], 'b')
    @record
    def step(x): return scaled(model(x)) * w.detach()
    with fl.no_grad():
        for i in range(8): assert step(fl.Tensor([1. + i], 'a')).item() == 2. * (1 + i)
        assert step.replays
        if what == 'layer': model.last = one(3.)
        if what == 'weight': model.last.weight = fl.param(np.full((1, 1), 3., 'f4'), 'a b')
        if what == 'item': model.layers[0] = one(6.)
        if what == 'function': scaled = lambda y: y * 3.
        if what == 'variable': w = fl.param([3.], 'b')
        for i in range(8): assert step(fl.Tensor([1. + i], 'a')).item() == 6. * (1 + i)
        assert step.why is None


def test_an_object_that_is_another_one_each_time():
    "A batch that the step takes from a variable: it runs, and the reason says what to do."
    @record
    def step(): return (x * 2.).sum()
    for i in range(14):
        x = fl.Tensor([1. + i], 'a')
        assert step().item() == 2. * (1 + i)
    assert 'give' in step.why and not step.replays


# ---- how it is used

def test_above_a_method():
    class Trainer:
        def __init__(self, v): self.w, self.lr = fl.param([v], 'a'), .5
        @record
        def step(self, x):
            self.w.zero_grad()
            (self.w * x).sum().backward()
            sgd([self.w], self.lr)
            return self.w.detach() * 1.
    one, two = Trainer(0.), Trainer(10.)
    for i in range(8): assert one.step(X2.narrow('d', 0, 1).rename('a')).item() == -1.5 * (i + 1)
    assert two.step(X2.narrow('d', 0, 1).rename('a')).item() == 8.5 and Trainer.step.replays >= 4
    one.lr = 1.
    assert one.step(X2.narrow('d', 0, 1).rename('a')).item() == -15.


def test_two_losses_in_one_step():
    "Two ways back add up in the parameters."
    def make(kind):
        ps, _ = mlp(kind)
        def step(x, y):
            for p in ps: p.zero_grad()
            hidden = (x.dot(ps[0], 'feat') + ps[1]).tanh()
            (hidden * hidden).mean().backward()
            loss = (((x.dot(ps[0], 'feat') + ps[1]).relu()).dot(ps[2], 'hidden') + ps[3]).cross_entropy('c', y)
            loss.backward()
            sgd(ps)
            return loss
        return ps, step
    alongside(make, mlp_batch)


def test_a_gradient_that_is_no_number_is_refused_as_ever():
    (ps, ours, opt), (qs, step, other) = [model_step(lambda m: fl.optim.AdamW(m, lr=.01), clip=False) for _ in range(2)]
    ours, rng = record(ours), np.random.default_rng(1)
    for _ in range(6):
        args = mlp_batch(rng)
        ours(*args), step(*args)
    x, y = mlp_batch(rng)
    x.data[0, 0] = np.nan
    for f in (ours, step):
        with pytest.raises(fl.NonFiniteValue): f(x, y)
    for p, q in zip(ps, qs): assert bits(p) == bits(q)
    args = mlp_batch(rng)
    assert bits(ours(*args)[0]) == bits(step(*args)[0]) and ours.replays >= 3
    for p, q in zip(ps, qs): assert bits(p) == bits(q) and bits(p.grad) == bits(q.grad)


def test_what_a_run_made_is_let_go():
    ps, _, step, rng = recorded_mlp(hidden=64)
    warm(step, lambda: mlp_batch(rng))
    assert step.plan and all(b.root is None for b in step.plan.buffers if b.kind == 'made')
    assert step.timeline().svg


def test_gradients_that_are_forgotten_between_steps():
    "zero_grad outside of the step: the memory stays the plan's."
    def make(kind):
        ps, _ = mlp(kind)
        def step(x, y):
            loss = mlp_loss(ps, x, y)
            loss.backward()
            sgd(ps)
            return loss
        return ps, step
    (ps, ours), (qs, step), rng = make('f4'), make('f4'), np.random.default_rng(1)
    ours, made = record(ours), []
    for _ in range(9):
        args = mlp_batch(rng)
        for p in ps + qs: p.zero_grad()
        assert bits(ours(*args)) == bits(step(*args))
        for p, q in zip(ps, qs): assert bits(p) == bits(q) and bits(p.grad) == bits(q.grad)
        made.append(ours.plan and ours.plan.entries)
    assert ours.replays == 5 and made[-1] is made[-3]


def test_holders_are_counted_in_any_python():
    "What the question itself adds differs between Pythons and is measured."
    one, more = fl.zeros('d', 3), []
    for n in range(1, 4):
        assert plans._count_all(weakref.ref(one)) - plans.ASKING == n
        more.append(one)


def test_norms_one_behind_another_are_replayed(backend):
    "Running averages move in the first, the second looks at values: no reason to give up the plan."
    nn, found = fl.nn, []
    for recorded in (True, False):
        model = nn.Sequential(nn.Conv2d('c=1', 'f=4', 3, seed=0), nn.BatchNorm('f=4'), fl.relu,
                              nn.GroupNorm('f=4', 2, 'h w'), nn.Conv2d('f=4', 'g=4', 3, seed=1), nn.BatchNorm('g=4'),
                              nn.GroupNorm('g=4', 2), nn.Linear('h=6 w=6 g=4', 'k=3', seed=2))
        step, rng = clipped_step(model, 'k'), np.random.default_rng(0)
        if recorded: step = record(step)
        losses = [step(fl.Tensor(rng.normal(size=(4, 10, 10, 1)).astype('f4'), 'b h w c'),
                       fl.Tensor(rng.integers(0, 3, 4), 'b')).item() for _ in range(9)]
        if recorded: assert step.why is None and step.replays >= 4
        found.append((losses, [t.data.tobytes() for _, t in model.named_tensors()]))
    assert found[0] == found[1]
