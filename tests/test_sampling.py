"""How the next token is chosen (chapter 44b): against sorting in NumPy, against transformers, and what is refused."""
import numpy as np
import pytest
import fucinalib as fl
from fucinalib.errors import FucinaError, IndexOutOfBounds, NonFiniteValue, OptionError
from fucinalib.llm.sampling import (Bigram, Counts, Sampler, Sampling, best, dice, falls_on, penalise, surviving,
                                    weights)

SLACK = 1 - 1e-6
G23 = np.log(np.array([.5, .3, .15, .05])).astype('f4')


def sampler(prompt=(), **options): return Sampler(Sampling(**options), list(prompt))

def left(row, **options):
    "Ids that may be drawn."
    return sampler(temperature=1., seed=0, **options).shares(np.asarray(row, 'f4'))[0].tolist()


# ---- what is kept (meta-llama/llama PR 1410: nothing was left)

@pytest.mark.parametrize('order', [[0, 1, 2, 3], [2, 0, 3, 1]])
@pytest.mark.parametrize('p, n', [(0., 1), (.49, 1), (.5, 1), (.51, 2), (.8, 2), (.81, 3), (1, 4), (1., 4)])
def test_top_p_is_the_smallest_set_that_reaches_it(p, n, order):
    row = np.empty(4, 'f4')
    row[order] = G23
    assert sorted(left(row, top_p=p)) == sorted(order[:n])

def test_of_equal_ones_the_first_are_kept():
    assert left(np.zeros(1000), top_p=.5) == list(range(500))
    assert left(np.zeros(1000), top_k=3) == [0, 1, 2]
    assert left([1, 2, 2, 2, 0], top_k=2) == [1, 2]

@pytest.mark.parametrize('options, n', [(dict(min_p=1.), 1), (dict(min_p=.0999), 4), (dict(min_p=.11), 3),
                                        (dict(top_k=0), 4), (dict(top_k=1), 1), (dict(top_k=5), 4),
                                        (dict(top_k=3, top_p=.6, min_p=.1), 2),
                                        (dict(top_k=3, top_p=.9, min_p=.5), 2)])
def test_rules_alone_and_together(options, n): assert left(G23, **options) == list(range(n))

def test_shares_add_up_to_one_and_keep_their_proportions():
    ids, share = sampler(temperature=1., top_k=2, seed=0).shares(G23)
    assert share.sum() == 1 and abs(share[0] / share[1] - 5 / 3) < 1e-5
    ids, share = sampler(temperature=2., seed=0).shares(G23)
    want = np.array([.5, .3, .15, .05])**.5
    np.testing.assert_allclose(share, want / want.sum(), rtol=1e-5)

def by_sorting(row, T, k, p, m):
    "The reference: a full sort, in f64 from the library's f32 weights; None where a rounding decides."
    w = weights(row, T).astype('f8')
    order = np.argsort(-w, kind='stable')
    order = order[w[order] > 0]
    if k: order = order[:k]
    if p < 1:
        sums = w[order].cumsum() / w[order].sum()
        if np.abs(sums - p * SLACK).min() < 1e-12: return None
        order = order[:int(sums.searchsorted(p * SLACK)) + 1]
    return sorted(order[w[order] >= m * SLACK].tolist())

def random_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        size = int(rng.choice([1, 2, 5, 50, 1000]))
        row = rng.normal(0, rng.choice([0, .01, 1, 5, 40]), size)
        if rng.random() < .3: row = row.round()      # ties
        if rng.random() < .2: row[rng.random(size) < .5] = -np.inf
        if np.isinf(row).all(): row[0] = 0
        yield row.astype('f4'), float(rng.choice([.1, .7, 1, 3])), int(rng.choice([0, 1, 3, 40])), \
            float(rng.choice([0, .1, .5, .9, .99, 1])), float(rng.choice([0, .02, .1, 1]))

def compare(n, seed):
    known = 0
    for row, T, k, p, m in random_rows(n, seed):
        want = by_sorting(row, T, k, p, m)
        if want is None: continue
        known += 1
        assert surviving(weights(row, T), k, p, m).tolist() == want, (row, T, k, p, m)
    assert known > .9 * n

def test_against_a_full_sort(): compare(600, 0)

@pytest.mark.slow
def test_against_a_full_sort_on_many_rows(): compare(10_000, 1)

def test_a_vocabulary_of_today():
    "Cold, flat and all equal, 151,936 tokens."
    rng = np.random.default_rng(0)
    for scale in (0., 1e-4, 1., 8.):
        row = (rng.normal(size=151_936) * scale).astype('f4')
        for k, p in ((40, 1), (0, .9), (1000, .5)):
            want = by_sorting(row, 1., k, p, 0)
            if want is not None: assert surviving(weights(row), k, p).tolist() == want


# ---- drawing

def test_greedy_takes_the_first_of_the_largest():
    assert best(np.array([1, 3, 3, 2], 'f4')) == 1 and best(np.array([-np.inf, -5], 'f4')) == 1
    assert sampler().pick(np.array([1, 3, 3], 'f4'), 0) == 1
    assert sampler(temperature=1e-40, seed=3).pick(np.array([1, 3, 2.999], 'f4'), 0) == 1

def test_the_ends_of_a_draw():
    w = np.array([0, .25, 0, .75, 0])
    assert [falls_on(w, u) for u in (0., .24, .25, 1 - 2**-53)] == [1, 1, 3, 3]
    assert falls_on(np.array([1e-300]), 1 - 2**-53) == 0

@pytest.mark.parametrize('options', [dict(), dict(temperature=.7), dict(temperature=1.5, top_k=5), dict(top_p=.8),
                                     dict(min_p=.2), dict(top_k=6, top_p=.9, min_p=.05)])
def test_draws_come_as_often_as_their_share(options):
    "Chi-square."
    row = np.random.default_rng(1).normal(0, 1.2, 12).astype('f4')
    s = sampler(**dict(temperature=1., seed=5) | options)
    ids, share = s.shares(row)
    drawn = np.bincount([s.pick(row, place) for place in range(4000)], minlength=12)
    assert drawn.sum() == drawn[ids].sum()
    chi = ((drawn[ids] - 4000 * share)**2 / (4000 * share)).sum()
    assert chi < ids.size + 4 * (2 * ids.size)**.5

def test_a_draw_depends_on_seed_and_place_alone():
    row = np.zeros(1000, 'f4')
    first = [sampler(temperature=1., seed=9).pick(row, k) for k in range(50)]
    s, other = sampler(temperature=1., seed=9), sampler(temperature=1., seed=10)
    mixed = []
    for k in reversed(range(50)):
        other.pick(row, k)
        fl.rand('d', d=3)
        mixed.append(s.pick(row, k))
    assert mixed[::-1] == first and len(set(first)) > 40
    assert [other.pick(row, k) for k in range(50)] != first
    assert len({dice(0, k, use) for k in range(100) for use in range(3)}) == 300

def test_seeds_that_nobody_gave_are_the_process_ones():
    fl.manual_seed(3)
    first = Sampling(temperature=1.).seed, Sampling(temperature=1.).seed
    fl.manual_seed(3)
    assert (Sampling(temperature=1.).seed, Sampling(temperature=1.).seed) == first and first[0] != first[1]


# ---- what was said already

def test_penalties_by_hand():
    "Prompt 0 1, answer 1 1 2."
    def changed(**how):
        counts = Counts(5, [0, 1], how.pop('last', None))
        for id in (1, 1, 2): counts.add(id)
        row = np.array([2, -2, 1, 1, 0], 'f4')
        penalise(row, counts, **how)
        return row.tolist()
    assert changed(repetition=2.) == [1, -4, .5, 1, 0]
    assert changed(presence=.5) == [2, -2.5, .5, 1, 0]
    assert changed(frequency=.5) == [2, -3, .5, 1, 0]
    assert changed(presence=-1., frequency=.25) == [2, -1.5, 1.75, 1, 0]
    # llama.cpp: all three see the last n of prompt and answer
    assert changed(last=2, repetition=2.) == [2, -4, .5, 1, 0]
    assert changed(last=4, frequency=1.) == [2, -5, 0, 1, 0]
    assert changed(last=5, presence=1.) == [1, -3, 0, 1, 0]

@pytest.mark.parametrize('last', [None, 1, 3, 64])
def test_counts_follow_the_text(last):
    rng = np.random.default_rng(0)
    prompt, said = rng.integers(0, 9, 20).tolist(), rng.integers(0, 9, 50).tolist()
    counts = Counts(9, prompt, last)
    for n, id in enumerate(said, 1):
        counts.add(id)
        text = prompt + said[:n]
        assert counts.text.tolist() == np.bincount(text[-last:] if last else text, minlength=9).tolist()
        assert counts.answer.tolist() == (counts.text.tolist() if last else np.bincount(said[:n], minlength=9).tolist())
    other = counts.copy()
    other.add(3)
    assert other.text.tolist() != counts.text.tolist() or last == 1

def test_the_models_row_is_not_written_on():
    row = np.array([2, 1, 0], 'f4')
    row.flags.writeable = False
    s = sampler([0, 1], repetition_penalty=2., presence_penalty=.1, logit_bias={2: 5.}, temperature=1., seed=0)
    s.pick(row, 2)
    assert row.tolist() == [2, 1, 0]

def test_bias_and_penalties_come_before_the_choice():
    row = np.array([3, 2, 1], 'f4')
    assert sampler(logit_bias={0: -np.inf}).pick(row, 0) == 1
    assert sampler(logit_bias={2: 2.5}).pick(row, 0) == 2
    assert sampler([0], repetition_penalty=2.).pick(row, 1) == 1
    s = sampler([1], presence_penalty=1.5)
    assert s.pick(row, 1) == 0
    s.add(0)
    assert s.pick(row, 2) == 1
    assert sampler(top_k=1, temperature=5., logit_bias={1: 4.}, seed=0).pick(row, 0) == 1      # of the biased ones


# ---- what is refused

@pytest.mark.parametrize('options, said', [
    (dict(temperature=-1), 'temperature is -1'), (dict(temperature=float('nan')), 'temperature is nan'),
    (dict(top_p=1.5), 'top_p is 1.5'), (dict(top_p=2), 'top_p is 2'), (dict(top_p=-.1), 'top_p is -0.1'),
    (dict(top_k=-1), 'top_k is -1'), (dict(top_k=1.5), 'top_k is 1.5'), (dict(min_p=2), 'min_p is 2'),
    (dict(repetition_penalty=0), 'repetition_penalty is 0'),
    (dict(frequency_penalty='much'), "frequency_penalty is 'much'"),
    (dict(last_n=0), 'last_n is 0'), (dict(seed='x'), "seed is 'x'"), (dict(logit_bias=[1]), 'logit_bias is a list'),
    (dict(logit_bias={'a': 1}), 'logit_bias is a dict'), (dict(logit_bias={1: float('nan')}), 'logit_bias of 1 is nan'),
    (dict(logit_bias={1: float('inf')}), 'logit_bias of 1 is inf'), (dict(logit_bias={1: 'x'}), 'logit_bias of 1'),
])
def test_options_that_are_none(options, said):
    with pytest.raises(FucinaError) as e: Sampling(**options)
    assert said in str(e.value) and str(e.value).startswith('Sampling') and 'help:' in str(e.value)

@pytest.mark.parametrize('T', [0., 1.])
def test_logits_of_which_none_can_be_chosen(T):
    for row, kind, said in (([1, np.nan, 2], NonFiniteValue, '1 logit of 3 are NaN'),
                            ([np.inf, 1], NonFiniteValue, 'infinite'),
                            ([-np.inf] * 2, OptionError, 'every token is forbidden')):
        with pytest.raises(kind, match=said): sampler(temperature=T, seed=0).pick(np.array(row, 'f4'), 0)
    with pytest.raises(IndexOutOfBounds, match='token 7'): sampler(logit_bias={7: 1.}).pick(np.zeros(3, 'f4'), 0)

def test_forbidden_tokens_are_never_drawn():
    row = np.array([0, -np.inf, 0, -np.inf], 'f4')
    s = sampler(temperature=5., seed=0)
    assert {s.pick(row, k) for k in range(200)} == {0, 2}


# ---- transformers

@pytest.mark.torch
def test_filters_are_those_of_transformers():
    "Which tokens stay, on random rows; where a sum is within a rounding of the limit, either is right."
    torch, tf = pytest.importorskip('torch'), pytest.importorskip('transformers')
    for seed, (row, T, k, p, m) in enumerate(random_rows(300, 7)):
        if np.unique(row).size < row.size or np.isinf(row).any() or p == 0: continue      # ties are kept by its rules
        w = weights(row, T).astype('f8')
        sums = np.sort(w)[::-1][:k or None].cumsum()
        if np.abs(sums / sums[-1] - p).min() < 1e-5 or np.abs(w - m).min() < 1e-6 and m < 1: continue
        x = tf.TemperatureLogitsWarper(T)(None, torch.from_numpy(row)[None])
        if k: x = tf.TopKLogitsWarper(k)(None, x)
        if p < 1: x = tf.TopPLogitsWarper(p)(None, x)
        if m: x = tf.MinPLogitsWarper(m)(None, x)
        ids, share = sampler(temperature=T, top_k=k, top_p=p, min_p=m, seed=0).shares(row)
        want = x[0].softmax(0).numpy()
        assert set(ids.tolist()) >= set(np.flatnonzero(want).tolist())
        np.testing.assert_allclose(share, want[ids], rtol=2e-4, atol=1e-6)

@pytest.mark.torch
def test_the_repetition_penalty_is_that_of_transformers():
    torch, tf = pytest.importorskip('torch'), pytest.importorskip('transformers')
    rng = np.random.default_rng(0)
    for penalty in (1.3, .8, 2.):
        row, prompt = rng.normal(size=50).astype('f4'), rng.integers(0, 50, 20).tolist()
        want = tf.RepetitionPenaltyLogitsProcessor(penalty)(torch.tensor([prompt]), torch.from_numpy(row.copy())[None])
        got = sampler(prompt, repetition_penalty=penalty).logits(row)
        np.testing.assert_array_equal(got, want[0].numpy())


# ---- the model of one page

def test_a_bigram_counts():
    m = Bigram('a b\na c\na b', unseen=1e-9)
    share = m(m.tokenizer.encode('a')).exp().numpy()
    assert np.allclose(share, [[0, 0, 2 / 3, 1 / 3]], atol=1e-6) and m.tokenizer.decode([1, 2, 0]) == ' a b'
    assert m([1, 2]).tags == ('seq', 'vocab') and m([1, 2], last=True).tags == ('vocab',)


@pytest.mark.parametrize('penalties', [dict(repetition_penalty=1e-300), dict(repetition_penalty=1e300),
                                       dict(presence_penalty=1e300), dict(frequency_penalty=-1e300)])
def test_penalties_beyond_all_numbers_warn_of_nothing(penalties):
    import warnings
    row = np.array([1, -1, 2, 0, -3], 'f4')
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        sampler = Sampler(Sampling(**penalties), [0, 1])
        sampler.logits(row)
        sampler.add(2)
        sampler.logits(row)
