"""The next words of several texts in one call: each text gets, bit for bit, what it would get alone."""
import numpy as np
import pytest
import fucinalib as fl
from fucinalib.kernels import discovery
from fucinalib.llm import abreast
from fucinalib.serve import Job, Scheduler
from test_quantisation import TWISTS, decoder, rounded

compiled = pytest.mark.skipif('decode_words' not in discovery.active(), reason='kernels are not compiled here')


def read(model, n):
    "Caches of n texts of different lengths."
    caches = [model.cache() for _ in range(n)]
    for i, cache in enumerate(caches): model([(7 * i + j) % 50 for j in range(3 + 2 * i)], cache=cache)
    return caches

def same_as_alone(model, n, words=4):
    both, ids = [read(model, n), read(model, n)], [(3 * i) % 50 for i in range(n)]
    for _ in range(words):
        found = abreast.next_logits(model, ids, both[0])
        right = np.stack([model([i], cache=c, last=True).data for i, c in zip(ids, both[1])])
        assert np.array_equal(found, right)
        ids = right.argmax(1).tolist()
    for a, b in zip(*both):
        assert a.ids == b.ids and all((x.start, x.end) == (y.start, y.end) for x, y in zip(a.layers, b.layers))


@compiled
@pytest.mark.parametrize('exact', (True, False))
@pytest.mark.parametrize('n', (2, 3, 8, 11))
def test_each_text_gets_what_it_would_get_alone(n, exact):
    model = decoder('mixed')
    same_as_alone(model if exact else rounded(model), n)

@compiled
@pytest.mark.parametrize('twist', TWISTS)
def test_whatever_the_family(twist): same_as_alone(decoder(**TWISTS[twist]), 5)

@compiled
@pytest.mark.parametrize('exact', (True, False))
@pytest.mark.parametrize('name', ('q4_0', 'q8_0', 'q5_0', 'q4_k', 'q6_k'))
def test_whatever_the_format(name, exact):
    model = decoder(name, width=256, hidden=256, heads=4, d=64, ropes=(None, None))
    same_as_alone(model if exact else rounded(model), 3)

@compiled
def test_on_any_number_of_threads():
    before = fl.kernels.get_num_threads()
    model = decoder(width=576, hidden=1536, heads=9, kv_heads=3, d=64, vocab=320, ropes=(None, None))
    try:
        for n in (1, 2, 3):
            fl.set_num_threads(n)
            same_as_alone(model, 4, words=2)
    finally: fl.set_num_threads(before)

@compiled
def test_the_compiled_words_are_their_twin():
    model, found = decoder('mixed', biases='q k v', qk_norm='head'), []
    for backend in ('numpy', fl.kernels.current_backend()):
        caches = read(model, 3)
        quick = model.fast.quick
        with fl.use_backend(backend): found.append(abreast.say_all(quick, model, [1, 2, 3], caches))
    assert np.allclose(*found, atol=1e-4)

def test_what_cannot_go_abreast_is_left_alone():
    model = decoder()
    caches = [model.cache(), model.cache(dtype='f16')]
    for cache in caches: model([1, 2], cache=cache)
    assert abreast.next_logits(model, [1, 2], caches) is None and [*map(len, caches)] == [2, 2]
    full = [model.cache(2), model.cache()]
    for cache in full: model([1, 2], cache=cache)
    assert abreast.next_logits(model, [1, 2], full) is None
    with fl.use_backend('numpy'): assert abreast.next_logits(model, [1, 2], read(model, 2)) is None


@compiled
@pytest.mark.parametrize('options', (dict(temperature=0), dict(temperature=1., seed=3)))
def test_eight_seats_say_what_each_would_say_alone(options):
    model, jobs = decoder(), []
    line = Scheduler(model, seats=8, chunk=4)
    for i in range(8):
        made = fl.llm.generate(model, [i, 1, 2, 3 + i], max_new=5 + i, ignore_eos=True, **options)
        jobs.append(Job(made, lambda step: None))
    line.submit(*jobs)
    while line.turn(): pass
    for i, job in enumerate(jobs):
        alone = fl.llm.generate(model, [i, 1, 2, 3 + i], max_new=5 + i, ignore_eos=True, **options)
        alone.run()
        assert job.made.ids == alone.ids
