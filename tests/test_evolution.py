"""Evolution strategies (chapter 36): beside the formula in NumPy with the noise kept, parameters put back, and what
is refused."""
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import evolution, nn
from fucinalib.errors import DTypeError, FucinaError, InvalidShape, NonFiniteValue, OptionError, OptionTypeError
from fucinalib.evolution import Evolution, centered_ranks, flips_in, genome, noise_for, seed_of_path, z_scores


def two(dtype='f32'):
    "Two parameters and a reward that both matter to."
    rng = np.random.default_rng(0)
    a, b = fl.param(rng.normal(size=(3, 2)), 'row col', dtype), fl.param(rng.normal(size=4), 'd', dtype)
    return [a, b], lambda: -float(a.square().sum() + (b - 1).square().sum())

def by_formula(params, reward_at, sigma, alpha, n, seed, step, antithetic=False, ranks=False):
    "theta + alpha / N * sum C_n eps_n in f64, every member's noise kept."
    start = [p.numpy().astype('f8') for p in params]
    def eps(member):
        pair, odd = divmod(member, 2) if antithetic else (member, 0)
        return [noise_for(p, seed, step, pair, i).numpy().astype('f8') * (1 - 2 * odd) for i, p in enumerate(params)]
    noise = [eps(m) for m in range(n)]
    r = np.array([reward_at([s + sigma * e for s, e in zip(start, m)]) for m in noise])
    if ranks: c = np.array([sum(x > y for y in r) + (sum(x == y for y in r) - 1) / 2 for x in r]) / (n - 1) - .5
    else: c = (r - r.mean()) / (r.std() + 1e-8)
    return [s + alpha / n * sum(k * m[i] for k, m in zip(c, noise)) for i, s in enumerate(start)], r


@pytest.mark.parametrize('antithetic', [False, True])
@pytest.mark.parametrize('ranks', [False, True])
@pytest.mark.parametrize('snapshot', [False, True])
@pytest.mark.parametrize('dtype, tol', [('f32', 3e-5), ('f64', 1e-12)])
def test_a_generation_is_the_formula(antithetic, ranks, snapshot, dtype, tol, backend):
    params, reward = two(dtype)
    value = lambda p: -((p[0]**2).sum() + ((p[1] - 1)**2).sum())
    es = Evolution(params, sigma=.1, alpha=.3, population=8, seed=5, antithetic=antithetic, ranks=ranks,
                   snapshot=snapshot)
    for step in range(3):
        want, rewards = by_formula(params, value, .1, .3, 8, 5, step, antithetic, ranks)
        got = es.step(reward)
        for p, w in zip(params, want): np.testing.assert_allclose(p.numpy(), w, rtol=0, atol=tol)
        np.testing.assert_allclose(got.rewards, rewards, rtol=1e-5 if dtype == 'f32' else 1e-12)
        assert got.mean == got.rewards.mean() and got.best == got.rewards.max()

def test_the_defaults():
    es = Evolution([fl.param([1.], 'd')])
    assert (es.sigma, es.alpha, es.population) == (.001, .0005, 30)

def test_scores_by_hand():
    np.testing.assert_allclose(z_scores([1, 2, 3, 2]), [-2**.5, 0, 2**.5, 0], atol=1e-7)
    assert z_scores([5.1] * 30).tolist() == [0] * 30 and z_scores([1e6 + .1] * 7).tolist() == [0] * 7
    np.testing.assert_allclose(centered_ranks([10, 30, 20, 1e9]), [-.5, 1/6, -1/6, .5])
    np.testing.assert_allclose(centered_ranks([2, 1, 2, 3]), [0, -.5, 0, .5])
    assert centered_ranks([4, 4, 4]).tolist() == [0, 0, 0]

def test_equal_rewards_move_nothing(backend):
    for ranks in (False, True):
        params, _ = two()
        before = [p.numpy().copy() for p in params]
        Evolution(params, sigma=.1, population=6, ranks=ranks).step(lambda: 7.3)
        assert all(map(np.array_equal, before, params))


# ---- noise

def test_noise_is_a_function_of_seed_step_member_and_place():
    t = fl.param(np.zeros((50, 40)), 'a b', 'f32')
    seen = [noise_for(t, *path).numpy() for path in ((0, 0, 0, 0), *np.eye(4, dtype=int).tolist())]
    assert np.array_equal(seen[0], noise_for(t, 0, 0, 0, 0))
    for i, a in enumerate(seen):
        assert abs(a.mean()) < .1 and abs(a.std() - 1) < .05
        for b in seen[:i]: assert abs((a * b).mean()) < .1
    fl.manual_seed(1); one = noise_for(t, 3, 1).numpy()
    fl.manual_seed(2); fl.randn('d', 3)
    assert np.array_equal(one, noise_for(t, 3, 1))

def test_opposite_members_share_their_noise():
    params, _ = two()
    es = Evolution(params, population=4, antithetic=True)
    for member, pair in ((0, 0), (1, 0), (2, 1), (3, 1)):
        eps, sign = es.noise(member, 1)
        assert sign == (1, -1)[member % 2] and np.array_equal(eps, noise_for(params[1], 0, 0, pair, 1))

def test_a_member_stands_as_noise_says_while_it_is_tried():
    params, _ = two('f64')
    before = [p.numpy().copy() for p in params]
    es, seen = Evolution(params, sigma=.5, population=4, antithetic=True), []
    def reward():
        m = len(seen)
        for i, (p, b) in enumerate(zip(params, before)):
            eps, sign = es.noise(m, i)
            np.testing.assert_allclose(p.numpy(), b + .5 * sign * eps.numpy(), rtol=0, atol=1e-15)
        assert not fl.is_grad_enabled()
        seen.append(m)
        return m
    es.step(reward)
    assert seen == [0, 1, 2, 3]


# ---- parameters are put back

@pytest.mark.parametrize('wrong', [float('nan'), float('inf'), -float('inf')])
@pytest.mark.parametrize('snapshot', [True, False])
def test_a_reward_that_is_no_number_changes_nothing(wrong, snapshot, backend):
    params, _ = two()
    before, calls = [p.numpy().copy() for p in params], iter([1., 2., wrong, 3.])
    es = Evolution(params, sigma=.1, population=4, snapshot=snapshot)
    with pytest.raises(NonFiniteValue, match='the reward of member 2 is'): es.step(lambda: next(calls))
    for b, p in zip(before, params): assert np.array_equal(b, p) if snapshot else np.allclose(b, p, atol=1e-6)
    assert es.steps == 0

def test_a_reward_that_raises_leaves_the_parameters(backend):
    params, _ = two()
    before = [p.numpy().copy() for p in params]
    with pytest.raises(KeyError): Evolution(params, sigma=.1, population=4).step(lambda: {}['no'])
    assert all(map(np.array_equal, before, params))

def test_a_snapshot_puts_back_every_bit_and_taking_off_does_not():
    "A thousand trials; with large noise on small numbers the rounding would stay."
    for snapshot in (True, False):
        p = fl.param(np.full(100, 1e-3), 'd', 'f32')
        before, es = p.numpy().copy(), Evolution([p], sigma=10., population=100, snapshot=snapshot)
        es.step(lambda: 0.)
        assert np.array_equal(before, p) == snapshot

def test_parameters_keep_their_memory_and_their_gradient():
    params, reward = two()
    where = [p.data.ctypes.data for p in params]
    Evolution(params, population=4).step(reward)
    assert where == [p.data.ctypes.data for p in params] and params[0].grad is None and params[0].requires_grad


# ---- learning

def test_the_step_points_uphill(backend):
    "A linear reward: the direction is that of its slope, within what 400 pairs can tell."
    slope = np.random.default_rng(3).normal(size=10)
    p = fl.param(np.zeros(10), 'd', 'f64')
    Evolution([p], sigma=.1, alpha=1., population=800, antithetic=True).step(lambda: float(slope @ p.numpy()))
    assert slope @ p.numpy() > .95 * np.linalg.norm(slope) * np.linalg.norm(p.numpy())

@pytest.mark.parametrize('ranks', [False, True])
def test_it_finds_the_top_of_a_hill(ranks):
    params, reward = two()
    es = Evolution(params, sigma=.1, alpha=.1, antithetic=True, ranks=ranks, seed=1)
    first = reward()
    for _ in range(120): es.step(reward)
    assert reward() > .02 * first

def test_a_module_learns_and_its_buffers_do_not():
    class Net(nn.Module):
        def __init__(self): self.w, self.scale = fl.param([0.], 'd'), fl.Tensor([2.], 'd')
        def forward(self): return -float(((self.w * self.scale - 3).square()).sum())
    net = Net()
    es = Evolution(net, sigma=.1, alpha=.2, population=10, antithetic=True)
    for _ in range(30): es.step(net)
    assert abs(net.w.item() - 1.5) < .1 and net.scale.item() == 2

def test_tensors_need_not_require_a_gradient():
    t = fl.Tensor([0.], 'd', 'f32')
    es = Evolution([t], sigma=.1, alpha=.2, population=10, antithetic=True)
    for _ in range(20): es.step(lambda: -(t.item() - 1)**2)
    assert abs(t.item() - 1) < .1


# ---- decay towards where it began

@pytest.mark.parametrize('dtype', ['f32', 'f64'])
def test_decay_goes_back_to_the_anchor(dtype, backend):
    tol = 1e-6 if dtype == 'f32' else 1e-14
    for norm, want in (('l2', [1 + 2 * .9, 1 - .5 * .9, 1.]), ('l1', [2.9, .6, 1.])):
        p = fl.param([1., 1., 1.], 'd', dtype)
        es = Evolution([p], sigma=.1, population=2, decay=.1, norm=norm)
        p.data[:] = [3, .5, 1.]
        es.step(lambda: 0.)
        np.testing.assert_allclose(p.numpy(), want, rtol=0, atol=tol)
        assert str(p.dtype) == dtype

def test_l1_decay_stops_at_the_anchor():
    p = fl.param([1.], 'd')
    es = Evolution([p], population=2, decay=.4, norm='l1')
    p.data[:] = 1.3
    es.step(lambda: 0.)
    assert p.item() == 1


# ---- going on

def test_a_run_that_was_left_goes_on_bit_for_bit():
    "After three of six generations, in another process's objects; with an anchor."
    def make():
        params, reward = two()
        return params, reward, Evolution(params, sigma=.1, population=6, seed=3, decay=.01)
    params, reward, es = make()
    for _ in range(3): es.step(reward)
    kept, weights = es.state_dict(), [p.numpy().copy() for p in params]
    for _ in range(3): es.step(reward)
    others, again, later = make()
    for p, w in zip(others, weights): p.data[...] = w
    later.load_state_dict(kept)
    for _ in range(3): later.step(again)
    assert all(map(np.array_equal, params, others)) and later.steps == 6

def test_a_state_goes_through_a_checkpoint(tmp_path):
    params, reward = two()
    es = Evolution(params, sigma=.1, population=4, seed=3, decay=.01)
    es.step(reward)
    fl.train.save_checkpoint(tmp_path/'run', evolution=es)
    other = Evolution(two()[0], sigma=.1, population=4, decay=.01)
    fl.train.restore_checkpoint(tmp_path/'run', evolution=other)
    assert (other.steps, other.seed) == (1, 3) and all(map(np.array_equal, other.anchor, es.anchor))

def test_a_state_is_a_copy_and_a_foreign_one_is_refused():
    params, reward = two()
    es = Evolution(params, population=2, decay=.1)
    state = es.state_dict()
    state['anchor.0'][:] = 9
    assert not (es.anchor[0] == 9).any()
    for other in (Evolution(params, population=2), Evolution(params[:1], population=2, decay=.1),
                  Evolution(params[::-1], population=2, decay=.1)):
        with pytest.raises(OptionError, match='of other parameters'): es.load_state_dict(other.state_dict())
    assert es.steps == 0


# ---- weights of three values

def three(seed=1, out=3): return genome(fl.randn('out in', (out, 256), seed=seed))

def trits_in(q):
    "-1, 0 and 1 as whole numbers, by what ggml's layout says, one block after the other."
    found = []
    for block in q.blocks.reshape(-1, 66):
        for group in range(2):
            for place in range(4): found += [int(b) >> 2 * place & 3 for b in block[32 * group:][:32]]
    return np.array(found) - 1

def voted(t, scores, flips, n):
    "The trits after a vote, in plain loops: sum, order by size and then by place, one step."
    votes = {}
    for c, (at, by) in zip(scores, flips):
        for a, b in zip(at.tolist(), by.tolist()): votes[a] = votes.get(a, 0) + float(c) * b
    t = t.copy()
    for a, v in sorted(votes.items(), key=lambda e: (-abs(e[1]), e[0]))[:n]:
        if v: t[a] = min(1, max(-1, t[a] + (1 if v > 0 else -1)))
    return t

@pytest.mark.parametrize('antithetic', [False, True])
@pytest.mark.parametrize('ranks', [False, True])
@pytest.mark.parametrize('cooling', [0., .7])
def test_a_generation_of_trits_is_a_vote(antithetic, ranks, cooling, backend):
    "Beside loops over all flips; the reward is seen to be that of the flipped weights."
    q, p = three(), fl.param([.5], 'd')
    wanted = np.random.default_rng(0).normal(size=q.numel)
    es = Evolution([p, q], population=8, seed=4, antithetic=antithetic, ranks=ranks, flips=.02, moves=.01,
                   cooling=cooling)
    for step in range(4):
        t, rewards, flips = trits_in(q), [], []
        for member in range(8):
            pair, odd = divmod(member, 2) if antithetic else (member, 0)
            at, by = flips_in(q.numel, .02, seed_of_path(4, step, pair, 0, 0))
            flips.append((at, -by if odd else by))
            one = t.copy()
            one[at] = np.clip(one[at] + flips[-1][1], -1, 1)
            rewards.append(float(wanted @ one))
        score = (centered_ranks if ranks else z_scores)(rewards)
        n = max(1, round(.01 / (1 + cooling * step) * q.numel))
        if antithetic: score, flips = score[::2] - score[1::2], flips[::2]
        got = es.step(lambda: float(wanted @ trits_in(q)))
        np.testing.assert_allclose(got.rewards, rewards, rtol=1e-12)
        assert np.array_equal(trits_in(q), voted(t, score, flips, n))
        assert 0 < (trits_in(q) != t).sum() <= n

def test_a_genome_is_what_dot_ternary_rounds_to(backend):
    w, x = fl.randn('out in', (6, 512), seed=2) * .3, fl.randn('row in', (4, 512), seed=3)
    q = genome(w)
    d = np.float16(max(np.abs(w.numpy()).mean(dtype='f8'), 1e-5))
    want = np.clip(np.rint(w.numpy() / np.abs(w.numpy()).mean()), -1, 1)
    assert str(q.dtype) == 'tq2_0' and q.tags == w.tags and np.array_equal(q.dequantize(), want * np.float32(d))
    assert np.array_equal(trits_in(q).reshape(q.shape), want)
    np.testing.assert_allclose(x.dot(q.with_activation('f32'), 'in'), x.dot_ternary(w, 'in'), rtol=1e-5, atol=1e-5)
    for a in (np.zeros((1, 256)), np.full((1, 256), 3e-6)):      # the least scale
        assert np.unique(genome(fl.Tensor(a, 'out in', 'f32')).blocks[..., 64:].view('f2')) == np.float16(1e-5)
    stack = genome(fl.randn('expert out in', (2, 3, 256), seed=1))
    assert stack.shape == (2, 3, 256) and len(np.unique(stack.blocks[..., 64:].view('f2'))) == 1

def test_scales_and_other_weights_stay_as_they_are(backend):
    "The noise of real numbers is the same beside weights of three values, and scales are not learnt."
    (a, _), (b, _) = two(), two()
    q = three()
    scales = q.blocks[..., 64:].copy()
    Evolution(a, sigma=.1, population=6, seed=2).step(lambda: -float(a[0].square().sum()))
    Evolution([*b, q], sigma=.1, population=6, seed=2).step(lambda: -float(b[0].square().sum()))
    assert all(map(np.array_equal, a, b)) and np.array_equal(q.blocks[..., 64:], scales)

@pytest.mark.parametrize('snapshot', [True, False])
@pytest.mark.parametrize('wrong', [lambda: float('nan'), lambda: {}['no']])
def test_a_trial_that_fails_turns_all_trits_back(snapshot, wrong, backend):
    q = three()
    before, calls = q.blocks.copy(), iter([lambda: 1., wrong])
    with pytest.raises((NonFiniteValue, KeyError)):
        Evolution([q], population=4, flips=.5, snapshot=snapshot).step(lambda: next(calls)())
    assert np.array_equal(q.blocks, before)

def test_equal_rewards_turn_nothing(backend):
    for ranks in (False, True):
        q = three()
        before = q.blocks.copy()
        Evolution([q], population=6, ranks=ranks, flips=.1).step(lambda: 7.3)
        assert np.array_equal(q.blocks, before)

@pytest.mark.parametrize('n, share', [(256, .001), (256, 1.), (2560, .3), (1 << 16, .001), (768, .7)])
def test_flips_are_distinct_and_spread_evenly(n, share):
    many = [flips_in(n, share, seed) for seed in range(200)]
    for at, by in many:
        assert len(at) == max(1, round(n * share)) and (np.diff(at) > 0).all() and 0 <= at[0] and at[-1] < n
        assert set(by.tolist()) <= {-1, 1}
    seen = np.bincount(np.concatenate([at for at, _ in many]) * 4 // n, minlength=4)
    assert (seen > .8 * seen.mean()).all() or n * share < 2
    assert abs(np.concatenate([by for _, by in many]).mean()) < .2

def test_the_defaults_of_trits():
    es = Evolution([three()])
    assert (es.share, es.moves, es.cooling) == (.001, .005, 0)

def test_a_module_learns_its_genomes_too(backend):
    "A planted row of trits is found again, by the product that runs in the end."
    class Net(nn.Module):
        def __init__(self): self.w, self.shift = three(out=1), fl.param([0.], 'out')
        def forward(self, x): return x.dot(self.w, 'in') + self.shift
    net, x, goal = Net(), fl.randn('row in', (400, 256), seed=5), three(seed=9, out=1)
    y = x.dot(goal, 'in')
    es = Evolution(net, sigma=.05, alpha=.02, population=30, antithetic=True, flips=.05, moves=.02)
    assert es.genomes == [net.w] and [p.tags for p in es.params] == [('out',)]
    miss = lambda: float((net(x) - y).square().mean())
    first = miss()
    for _ in range(100): es.step(lambda: -miss())
    assert miss() < .4 * first

def test_a_run_of_trits_goes_on_bit_for_bit(backend):
    wanted = np.random.default_rng(0).normal(size=768)
    def make():
        q = three()
        return q, Evolution([q], population=6, seed=3, flips=.05), lambda: float(wanted @ trits_in(q))
    q, es, reward = make()
    for _ in range(2): es.step(reward)
    kept, blocks = es.state_dict(), q.blocks.copy()
    for _ in range(2): es.step(reward)
    again, later, its = make()
    again.blocks[...] = blocks
    later.load_state_dict(kept)
    for _ in range(2): later.step(its)
    assert np.array_equal(again.blocks, q.blocks)


def with_code_3():
    q = three()
    q.blocks[0, 0, 5] = 0b11
    return q

def frozen():
    q = three()
    q.blocks.flags.writeable = False
    return q

P = lambda: fl.param([1.], 'd')
MISTAKES = [
    (OptionError, lambda: Evolution([]), 'nothing learns'),
    (OptionError, lambda: Evolution([p := P(), p]), 'stands twice'),
    (DTypeError, lambda: Evolution([fl.zeros('d', 2, dtype='i64')]), 'learns real numbers'),
    (DTypeError, lambda: Evolution([np.ones(3)]), 'learns real numbers'),
    (OptionError, lambda: Evolution([P()], sigma=0.), 'sigma is 0'),
    (OptionError, lambda: Evolution([P()], alpha=-1.), 'alpha is -1'),
    (OptionError, lambda: Evolution([P()], population=5, antithetic=True), '5 members in pairs'),
    (OptionTypeError, lambda: Evolution([P()], population=2.5), 'population is 2.5'),
    (OptionError, lambda: Evolution([P()], norm='l3'), "there is no norm 'l3'"),
    (OptionError, lambda: Evolution([P()], decay=-.1), 'decay is -0.1'),
    (OptionError, lambda: Evolution([P()], flips=0.), 'flips is 0'),
    (OptionError, lambda: Evolution([P()], moves=1.5), 'moves is 1.5'),
    (OptionError, lambda: Evolution([P()], cooling=-1), 'cooling is -1'),
    (OptionError, lambda: Evolution([q := three(), q]), 'stands twice'),
    (OptionError, lambda: Evolution([q := three(), q.narrow('out', 0, 1)]), 'share their memory'),
    (DTypeError, lambda: Evolution([fl.randn('out in', (1, 256), seed=0).to('q4_0')]), 'blocks of tq2_0, not q4_0'),
    (OptionError, lambda: Evolution([with_code_3()]), 'not all of its codes are -1, 0 or 1'),
    (OptionError, lambda: Evolution([frozen()]), 'read-only'),
    (InvalidShape, lambda: genome(fl.ones('out in', (1, 100))), '100'),
    (DTypeError, lambda: genome(np.ones((1, 256))), 'not a tensor'),
    (DTypeError, lambda: genome(fl.zeros('in', 256, dtype='i64')), 'i64'),
]

@pytest.mark.parametrize('kind, make, words', MISTAKES)
def test_what_is_refused(kind, make, words):
    with pytest.raises(kind, match=words): make()
    with pytest.raises(fl.FucinaError): Evolution([P()], population=1)

@pytest.mark.parametrize('name', ['CMAES', 'OpenES', 'Evolutoin', 'evolution'])
def test_names_of_other_libraries(name):
    with pytest.raises(fl.UnknownName, match='Evolution'): getattr(evolution, name)

def test_it_is_there_when_asked_for():
    assert fl.evolution is evolution


@pytest.mark.parametrize('reward', [None, 5, 'x', [1., 2.], lambda: None, lambda: 'x', lambda: [1, 2], lambda: 10**400])
def test_a_reward_that_is_no_number_and_no_function(reward):
    w = fl.randn('a', 4, seed=1)
    before = w.numpy().copy()
    with pytest.raises(OptionTypeError, match='reward is'): Evolution([w], population=2).step(reward)
    assert (w.numpy() == before).all()

def test_what_has_nothing_that_learns_and_what_is_no_state():
    for wrong in (None, 5):
        with pytest.raises(OptionTypeError, match='nothing that learns'): Evolution(wrong)
    run = Evolution([fl.randn('a', 4, seed=1)], population=2)
    for wrong in (None, 5, [], {}, dict(steps='x', seed=0), dict(steps=-1, seed=0), dict(steps=0, seed=float('nan'))):
        with pytest.raises(FucinaError, match='state|steps|seed'): run.load_state_dict(wrong)
    assert (run.steps, run.seed) == (0, 0)


@pytest.mark.parametrize('name', 'sigma population seed decay norm flips moves cooling'.split())
def test_none_is_no_value_where_it_means_nothing(name):
    with pytest.raises(fl.OptionTypeError, match=f'{name} is None'):
        fl.evolution.Evolution([fl.param(np.ones(3, 'f4'), 'd')], **{name: None})
