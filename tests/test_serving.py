"""The server: what a request becomes, who is next, and that a typed client cannot tell it from the original."""
import base64, gc, json, logging, re, signal, socket, subprocess, sys, threading, time
from contextlib import contextmanager
from pathlib import Path
import numpy as np
import pytest
import requests
import fucinalib as fl
from fucinalib.serve import Job, QueueFull, Scheduler
from fucinalib.serve.http import Door, Server, Serving, listen
from fucinalib.serve.speech import Speech, cut_at
from speaker import Reciter
from tiny_models import random_decoder

ROOT = Path(__file__).resolve().parents[1]
HELLO = [dict(role='user', content='hello')]


# ---- the scheduler
def job_of(model, prompt, heard=None, **options):
    options = dict(max_new=8, ignore_eos=True) | options
    return Job(fl.llm.generate(model, prompt, **options), (heard if heard is not None else []).append)

def through(line):
    while line.turn(): pass

PROMPTS = ['hello', 'hello you', 'what is it', 'hello you there', 'a', 'x' * 70, 'hello you!']
OPTIONS = [dict(), dict(temperature=1., seed=3), dict(temperature=.7, top_p=.9, seed=4), dict(repetition_penalty=1.3),
           dict(temperature=2., seed=5, max_new=1), dict(stop=['e', 'a']), dict(temperature=1., seed=3, max_new=20)]

@pytest.mark.parametrize('seats', [1, 3, 8])
def test_an_answer_is_the_same_in_company_as_alone(seats):
    model = random_decoder()
    line = Scheduler(model, seats=seats, chunk=16)
    jobs = [job_of(model, p, **o) for _ in range(2) for p, o in zip(PROMPTS, OPTIONS)]
    for job in jobs: line.submit(job)
    through(line)
    for job, prompt, o in zip(jobs, PROMPTS * 2, OPTIONS * 2):
        alone = fl.llm.generate(model, prompt, **dict(max_new=8, ignore_eos=True) | o)
        alone.run()
        assert (job.made.ids, job.made.text, job.made.finish) == (alone.ids, alone.text, alone.finish), prompt
    assert len(line.free) == seats and not line.reading and not line.speaking
    assert line.counts['said'] == sum(len(job.made.ids) for job in jobs)

def test_a_conversation_is_not_read_again():
    model = random_decoder()
    line, first = Scheduler(model, seats=2), job_of(model, 'a long beginning of a talk')
    line.submit(first), through(line)
    other = job_of(model, 'something else')
    line.submit(other), through(line)
    again = job_of(model, first.made.prompt + model.tokenizer.encode(' and on'))
    line.submit(again), through(line)
    assert again.reused == len(first.made.prompt) - 1 and other.reused == 0
    assert line.counts['reused'] == again.reused
    fresh = fl.llm.generate(model, again.made.prompt[:-8], max_new=8, ignore_eos=True)
    fresh.run()
    assert fresh.ids == again.made.ids
    same = job_of(model, again.made.prompt[:-8])      # word for word: the last one is read
    line.submit(same), through(line)
    assert same.reused == len(same.made.prompt) - 8 - 1 and same.made.ids == again.made.ids

def test_a_neighbour_lends_what_it_has_read():
    model, long = random_decoder(), 'the same instructions for everybody. ' * 3
    line = Scheduler(model, seats=4)
    jobs = [job_of(model, long + said) for said in 'abcd']
    for job in jobs: line.submit(job)
    through(line)
    whole = len(jobs[0].made.prompt) - 8
    assert [job.reused for job in jobs] == [0] + [whole - 1] * 3 and line.counts['read'] == whole + 3
    for job, said in zip(jobs, 'abcd'):
        assert job.made.text == fl.llm.generate(model, long + said, max_new=8, ignore_eos=True).run()

def test_what_a_window_has_left_is_not_lent():
    from fucinalib.serve.scheduler import lent
    model = random_decoder()
    caches = [model.cache(), model.cache()]
    model(range(9), cache=caches[0])
    assert lent(*caches, 5) and caches[1].ids == [*range(5)]
    caches[0].layers[0].window = 4
    assert not lent(caches[0], model.cache(), 5)

def test_each_speaks_once_a_turn_and_one_prompt_is_read_in_pieces():
    model = random_decoder()
    heard, line = [[], [], []], Scheduler(model, seats=3, chunk=10)
    for prompt, ear in zip(['a', 'b', 'c' * 35], heard): line.submit(job_of(model, prompt, ear, max_new=20))
    counts = []
    for _ in range(9):
        line.turn()
        counts.append([*map(len, heard)])
    # a prompt a turn, oldest first; then the long one in four pieces, while the others speak
    assert counts == [[1, 0, 0], [2, 1, 0], [3, 2, 0], [4, 3, 0], [5, 4, 0], [6, 5, 1], [7, 6, 2], [8, 7, 3], [9, 8, 4]]

def test_seats_go_round_among_owners():
    model = random_decoder()
    line, ends = Scheduler(model, seats=1), []
    for i, owner in enumerate('aaaab'):
        job = job_of(model, 'x', max_new=1)
        job.owner, job.hear = owner, lambda step, i=i: step is None and ends.append(i)
        line.submit(job)
    line.free.append(fl.llm.Context(model))
    line.turn()
    assert {job.owner for job in line.reading + line.speaking} | {'aaaab'[i] for i in ends} == {'a', 'b'}
    through(line)
    assert sorted(ends) == [0, 1, 2, 3, 4]

def test_the_queue_ends_somewhere_and_who_left_holds_no_place():
    model = random_decoder()
    line = Scheduler(model, seats=1, queue=2)
    jobs = [job_of(model, 'x', []) for _ in range(2)]
    for job in jobs: line.submit(job)
    with pytest.raises(QueueFull, match='2 answers'): line.submit(job_of(model, 'x'))
    heard = []
    jobs[0].hear = heard.append
    jobs[0].leave()
    line.submit(job_of(model, 'x'))
    through(line)
    assert heard == [None] and line.counts['left'] == 1 and line.counts['done'] == 2

def test_who_leaves_frees_a_seat_within_a_token_and_a_piece():
    model, heard = Reciter('a' * 500), []
    line = Scheduler(model, seats=1, chunk=10)
    job = job_of(model, 'x' * 100, heard, max_new=400)
    line.submit(job)
    for _ in range(3): line.turn()
    job.leave()
    calls = model.calls
    line.turn()
    assert model.calls == calls and heard == [None] and len(line.free) == 1      # in the middle of a prompt
    job = job_of(model, 'x', heard, max_new=400)
    line.submit(job), line.turn(), line.turn()
    job.leave()
    calls = model.calls
    line.turn()
    assert model.calls == calls and len(line.free) == 1

def test_an_error_ends_one_answer_and_its_context_is_not_trusted():
    model = random_decoder()
    line, heard = Scheduler(model, seats=2), [[], []]
    jobs = [job_of(model, p, ear) for p, ear in zip('ab', heard)]
    jobs[0].made.sampler.how.logit_bias = dict.fromkeys(range(len(model.tokenizer)), -np.inf)
    for job in jobs: line.submit(job)
    through(line)
    assert isinstance(heard[0][-1], fl.OptionError) and heard[1][-1] is None and len(heard[1]) == 9
    model.forward = None
    def broken(ids, cache=None, last=False):
        cache.ids += [0]
        raise MemoryError('none left')
    model.forward = broken
    ear = []
    line.submit(job_of(model, 'ab', ear)), through(line)
    assert isinstance(ear[-1], MemoryError)
    del model.forward
    job = job_of(model, 'ab')
    line.submit(job), through(line)
    assert job.reused == 0 and job.made.text == fl.llm.generate(model, 'ab', max_new=8, ignore_eos=True).run()

def test_closing_tells_everybody():
    model = Reciter('a' * 500, seconds=.001)
    line, heard = Scheduler(model, seats=1).start(), [[], []]
    for ear in heard: line.submit(job_of(model, 'x', ear, max_new=400))
    while not heard[0]: time.sleep(.001)
    line.close()
    assert all(isinstance(ear[-1], QueueFull) for ear in heard) and not line.alive
    with pytest.raises(QueueFull): line.submit(job_of(model, 'x'))
    line.close()

@pytest.mark.filterwarnings('ignore::pytest.PytestUnhandledThreadExceptionWarning')
def test_nobody_waits_for_a_thread_that_broke():
    line, heard = Scheduler(random_decoder(), seats=1), []
    def broken(step): raise ZeroDivisionError
    jobs = [job_of(line.model, 'x') for _ in range(2)]
    jobs[0].hear, jobs[1].hear = broken, heard.append
    for job in jobs: line.submit(job)
    line.start().thread.join(20)
    assert isinstance(heard[-1], QueueFull) and not line.alive
    with pytest.raises(QueueFull): line.submit(job_of(line.model, 'x'))


# ---- thoughts
@pytest.mark.parametrize('state, said, thought, answer', [
    ('begin', 'Paris.', '', 'Paris.'), ('begin', '<think>hm</think>\n\nParis.', 'hm', 'Paris.'),
    ('begin', '\n<think>\na\nb\n</think>\n\n\nParis.', 'a\nb', 'Paris.'),
    ('opened', 'hm\n</think>Paris.', 'hm', 'Paris.'),
    ('begin', '<thin ice', '', '<thin ice'), ('begin', 'a <think>b</think>', '', 'a <think>b</think>'),
    ('opened', 'never ends </thin', 'never ends </thin', ''), ('answer', '<think>raw', '', '<think>raw'),
    ('begin', '<think></think>', '', ''), ('begin', ' x', '', ' x')])
def test_thoughts_are_told_apart_however_they_come(state, said, thought, answer):
    for n in (1, 2, 3, 7, 99):
        speech = Speech(state)
        pieces = [said[i:i + n] for i in range(0, len(said), n)]
        changes = [c for i, p in enumerate(pieces) for c in speech.push(p, end=i == len(pieces) - 1)]
        joined = lambda name: ''.join(c.get(name, '') for c in changes)
        assert (joined('reasoning_content'), joined('content')) == (thought, answer), n

def test_only_what_may_become_a_mark_is_held():
    assert cut_at('abc<', ['<x>']) == ('abc', None, '<') and cut_at('abc<', ['<x>'], end=True) == ('abc<', None, '')
    assert cut_at('a<x>b<y>', ['<y>', '<x>']) == ('a', '<x>', 'b<y>') and cut_at('a<xx', ['<x>']) == ('a<xx', None, '')


# ---- over HTTP
@contextmanager
def served(model, host='127.0.0.1', **options):
    "A server in this process; gives its address."
    sock = listen(host, 0, options.get('key'))
    server = Server(Serving(model, 'tiny', **options), sock)
    thread = threading.Thread(target=server.serve_here)
    thread.start()
    try:
        while not server.started: time.sleep(.005)
        yield SimpleAddress(f'http://127.0.0.1:{sock.getsockname()[1]}', server.serving)
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


class SimpleAddress(str):
    "An address, and what is served there."
    def __new__(cls, at, serving):
        self = super().__new__(cls, at)
        self.serving = serving
        return self


def post(at, path, body, **more):
    data = body if isinstance(body, (bytes, str)) else json.dumps(body)
    return requests.post(f'{at}/v1/{path}', data=data, timeout=20, **more)

def chat(at, messages=HELLO, **more): return post(at, 'chat/completions', dict(model='any', messages=messages, **more))

def events(response):
    "The objects of a stream."
    lines = [line for line in response.text.split('\n\n') if line]
    assert all(line.startswith('data: ') and '\n' not in line for line in lines) and lines[-1] == 'data: [DONE]'
    return [json.loads(line[6:]) for line in lines[:-1]]

@pytest.fixture(scope='module')
def paris():
    with served(Reciter('Paris.')) as at: yield at

@pytest.fixture(scope='module')
def tiny():
    with served(random_decoder()) as at: yield at


def test_a_chat(paris):
    found = chat(paris).json()
    assert found['object'] == 'chat.completion' and found['model'] == 'tiny' and found['id'].startswith('chatcmpl-')
    choice, = found['choices']
    assert choice == dict(index=0, finish_reason='stop', logprobs=None,
                          message=dict(role='assistant', content='Paris.', refusal=None))
    prompt = len('<system\nYou are a test.>\n<user\nhello>\n<assistant\n')
    assert found['usage'] | dict(prompt_tokens_details=0) == dict(
        prompt_tokens=prompt, completion_tokens=7, total_tokens=prompt + 7, prompt_tokens_details=0)
    again = chat(paris, max_tokens=3).json()
    assert again['choices'][0]['finish_reason'] == 'length' and again['choices'][0]['message']['content'] == 'Par'
    assert again['usage']['prompt_tokens_details']['cached_tokens'] == prompt - 1 and again['id'] != found['id']
    assert chat(paris, max_completion_tokens=2, max_tokens=9).json()['usage']['completion_tokens'] == 2

def test_a_stream_says_the_same(paris):
    response = chat(paris, stream=True, stream_options=dict(include_usage=True))
    assert response.headers['content-type'].startswith('text/event-stream')
    *found, last = events(response)
    assert {c['object'] for c in found} == {'chat.completion.chunk'} and len({c['id'] for c in [*found, last]}) == 1
    assert found[0]['choices'][0]['delta'] == dict(role='assistant', content='', refusal=None)
    assert ''.join(c['choices'][0]['delta'].get('content', '') for c in found) == 'Paris.'
    assert [c['choices'][0]['finish_reason'] for c in found] == [None] * (len(found) - 1) + ['stop']
    assert found[-1]['choices'][0]['delta'] == {} and all(c['usage'] is None for c in found)
    assert last['choices'] == [] and last['usage']['completion_tokens'] == 7
    assert all('usage' not in c for c in events(chat(paris, stream=True)))

@pytest.mark.parametrize('said', ['caf\u00e9 \U0001f600!', 'one, two, three, four, five, six'])
def test_stops_and_characters_in_streams(said):
    with served(Reciter(said)) as at:
        found = events(chat(at, stream=True, stop=['five', 'zzz']))
        parts = [c['choices'][0]['delta'].get('content', '') for c in found]
        assert ''.join(parts) == said.partition('five')[0] and '\ufffd' not in ''.join(parts)
        whole = chat(at, stop='five').json()['choices'][0]
        assert whole['message']['content'] == ''.join(parts) and whole['finish_reason'] == 'stop'

def test_n_answers_and_seeds(tiny):
    ask = lambda **more: chat(tiny, max_tokens=12, temperature=1.5, **more).json()
    texts = lambda found: [c['message']['content'] for c in found['choices']]
    one, many = ask(seed=5), ask(seed=5, n=3)
    assert texts(many)[0] == texts(one)[0] and len({*texts(many)}) == 3 and texts(ask(seed=5, n=3)) == texts(many)
    assert [c['index'] for c in many['choices']] == [0, 1, 2] and many['usage']['completion_tokens'] == 36
    streamed = ['', '', '']
    for c in events(chat(tiny, max_tokens=12, temperature=1.5, seed=5, n=3, stream=True)):
        of = c['choices'][0]
        streamed[of['index']] += of['delta'].get('content', '')
    assert streamed == texts(many)
    assert texts(ask()) != texts(ask())      # no seed, another answer

def test_shares(tiny):
    found = chat(tiny, max_tokens=5, temperature=0, logprobs=True, top_logprobs=3).json()['choices'][0]['logprobs']
    assert len(found['content']) == 5 and found['refusal'] is None
    for token in found['content']:
        assert token['logprob'] == max(t['logprob'] for t in token['top_logprobs']) <= 0
        assert len(token['top_logprobs']) == 3
        assert bytes(token['bytes']).decode('utf-8', 'backslashreplace') == token['token']
    streamed = [t for c in events(chat(tiny, max_tokens=5, temperature=0, logprobs=True, top_logprobs=3, stream=True))
                if c['choices'][0]['logprobs'] for t in c['choices'][0]['logprobs']['content']]
    assert streamed == found['content']
    assert chat(tiny, max_tokens=2, logprobs=True).json()['choices'][0]['logprobs']['content'][0]['top_logprobs'] == []

def test_shares_are_those_of_the_model(tiny):
    model = tiny.serving.model
    found = post(tiny, 'completions', dict(prompt='abc', max_tokens=3, temperature=0, logprobs=2, echo=True)).json()
    text, shares = found['choices'][0]['text'], found['choices'][0]['logprobs']
    assert text.startswith('abc') and shares['text_offset'][0] == 3
    row = model(model.tokenizer.encode('abc'), last=True).log_softmax('vocab').data
    assert abs(shares['token_logprobs'][0] - row.max()) < 1e-4 and len(shares['top_logprobs'][0]) == 2

def test_completions(tiny):
    options = dict(max_tokens=4, temperature=0)
    ask = lambda prompt, **more: post(tiny, 'completions', dict(options, prompt=prompt, **more)).json()
    found = ask(['abc', 'hello'], n=2)
    assert found['object'] == 'text_completion' and [c['index'] for c in found['choices']] == [0, 1, 2, 3]
    assert found['usage']['prompt_tokens'] == 8
    alone = ask('hello')['choices'][0]
    assert alone['text'] == found['choices'][2]['text'] == ask([*b'hello'])['choices'][0]['text']
    assert alone['logprobs'] is None
    response = post(tiny, 'completions', dict(prompt='hello', max_tokens=4, temperature=0, stream=True))
    assert ''.join(c['choices'][0]['text'] for c in events(response)) == alone['text']

def test_models_health_and_metrics(paris):
    found = requests.get(f'{paris}/v1/models').json()
    assert found['object'] == 'list' and [m['id'] for m in found['data']] == ['tiny']
    assert requests.get(f'{paris}/v1/models/tiny').json() == found['data'][0]
    assert requests.get(f'{paris}/v1/models/other').json()['error']['code'] == 'model_not_found'
    assert requests.get(f'{paris}/health').json() == dict(status='ok')
    chat(paris)
    text = requests.get(f'{paris}/metrics').text
    counts = dict(re.findall(r'^(\w+) (\d+)$', text, re.M))
    assert int(counts['fucina_said_total']) >= 7 and counts['fucina_busy'] == '0' and counts['fucina_free'] == '8'

TOOLS = [dict(type='function', function=dict(name='f'))]
def nested(n): return dict(type='array', items=nested(n - 1)) if n else {}

REFUSED = [
    ('', 'no JSON', None), ('{"a": ', 'no JSON', None), ('[]', 'not a JSON object', None), ('\xff', 'no JSON', None),
    ('[' * 100_000, 'no JSON', None), ('{"messages": NaN}', 'no JSON', None), ({}, 'no messages', 'messages'),
    (dict(messages=[]), 'no messages', 'messages'), (dict(messages='hi'), 'not a list', 'messages'),
    (dict(messages=[1]), 'not an object', 'messages[0]'), (dict(messages=[{}]), 'role', 'messages[0].role'),
    (dict(messages=[dict(role='king', content='a')]), 'king', 'messages[0].role'),
    (dict(messages=[dict(role=[], content='a')]), 'role []', 'messages[0].role'),
    (dict(messages=[dict(role='user', content='\ud800')]), 'no JSON', None), ({'\ud800': 1}, 'no JSON', None),
    (dict(messages=[dict(role='assistant', tool_calls=3), *HELLO]), 'not a list', 'messages[0].tool_calls'),
    *[(dict(messages=[dict(role='assistant', tool_calls=[dict(function=dict(name='f', arguments=a))]), *HELLO]),
       'no JSON', 'messages[0].tool_calls') for a in ('{', '{"a": NaN}', r'"\ud800"', '[' * 100_000)],
    (dict(messages=[dict(role='user')]), 'no content', 'messages[0].content'),
    (dict(messages=[dict(role='user', content=[dict(type='image_url')])]), 'image_url', 'messages[0].content'),
    (dict(messages=HELLO, temperature=3), 'temperature is 3', 'temperature'),
    (dict(messages=HELLO, temperature='hot'), 'not a number', 'temperature'),
    (dict(messages=HELLO, temperature=True), 'not a number', 'temperature'),
    (dict(messages=HELLO, n=0), 'n is 0', 'n'), (dict(messages=HELLO, n=1.5), 'not a whole number', 'n'),
    (dict(messages=HELLO, max_tokens=0), 'max_tokens is 0', 'max_tokens'),
    (dict(messages=HELLO, stop=['a'] * 17), '17 texts', 'stop'), (dict(messages=HELLO, stop=''), 'empty', 'stop'),
    (dict(messages=HELLO, logit_bias={'x': 1}), 'logit_bias', 'logit_bias'),
    (dict(messages=HELLO, logit_bias={'999999': 1}), 'logit_bias', 'logit_bias'),
    (dict(messages=HELLO, top_logprobs=3), 'without logprobs', 'top_logprobs'),
    (dict(messages=HELLO, temprature=1), 'temprature', 'temprature'),
    (dict(messages=[dict(role=['user'], content='a')]), 'role', 'messages[0].role'),
    (dict(messages=[dict(role='user', content=['text'])]), "part 'text'", 'messages[0].content'),
    (dict(messages=[dict(role='user', content='a', name=5)]), 'not a string', 'messages[0].name'),
    (dict(messages=[dict(role='assistant', tool_calls=5)]), 'not a list', 'messages[0].tool_calls'),
    (dict(messages=[dict(role='user', content='\ud800')]), 'surrogates', None),      # half a character
    ({'messages': HELLO, '\udfff': 1}, 'surrogates', None), (b'{"messages": "\xed\xa0\x80"}', 'no JSON', None),
    (dict(messages=HELLO, tools=TOOLS, tool_choice=dict(function=5)), 'tool_choice is', 'tool_choice'),
    (dict(messages=HELLO, tools=TOOLS, tool_choice=dict(function=dict(name=['f']))), 'tool_choice is', 'tool_choice'),
    (dict(messages=[dict(role='assistant', tool_calls=[dict(function=dict(name='f', arguments='[' * 9999))])]),
     'no JSON', 'messages[0].tool_calls'),
    (dict(messages=HELLO, response_format=dict(type='json_schema', json_schema=dict(schema=nested(400)))),
     'deeper than 100', None),
    (dict(messages=HELLO, stream_options=dict(include_usage='no')), 'not true', 'stream_options.include_usage'),
    (dict(messages=HELLO, chat_template_kwargs=dict(enable_thinking=0)), 'not true',
     'chat_template_kwargs.enable_thinking'),
    (dict(messages=[dict(role='user', content='x' * 9000)]), '4096 tokens', 'messages')]

@pytest.mark.parametrize('body, said, param', REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused_is_said_in_the_shape_of_the_original(paris, body, said, param):
    response = post(paris, 'chat/completions', body)
    assert response.status_code == 400
    error = response.json()['error']
    assert error.keys() == {'message', 'type', 'param', 'code'} and error['type'] == 'invalid_request_error'
    assert said in error['message'] and error['param'] == param

def test_addresses_and_methods(paris):
    for response, status in (
            (requests.get(f'{paris}/v1/chat/completions'), 405), (requests.get(f'{paris}/v1/nothing'), 404),
            (requests.delete(f'{paris}/v1/models'), 405), (post(paris, 'embeddings', dict(input='a')), 404)):
        assert response.status_code == status and response.json()['error']['message']

def test_bounds(paris):
    from fucinalib.serve import http
    assert post(paris, 'chat/completions', b' ' * (http.BODY + 1)).status_code == 413
    def endless():
        for _ in range(http.BODY // 65536 + 2): yield b' ' * 65536
    try: assert requests.post(f'{paris}/v1/chat/completions', data=endless(), timeout=20).status_code == 413
    except requests.ConnectionError: pass      # it stopped reading, and the client went on writing
    assert requests.get(f'{paris}/health', headers={'x-long': 'a' * 100_000}).status_code in (400, 431)
    assert chat(paris).ok

def test_a_body_that_breaks_off_is_no_fault_of_the_server(paris, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger('uvicorn.error'), 'handlers', [caplog.handler])
    with socket.create_connection(('127.0.0.1', int(paris.rpartition(':')[2]))) as sock:
        sock.sendall(b'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{')
    assert chat(paris).ok and not caplog.records

def test_stops_are_bounded(paris):
    assert chat(paris, stop=['.' + 'x' * 1023] * 16).json()['choices'][0]['message']['content'] == 'Paris.'
    for stop in ('x' * 1025, ['x'] * 17): assert chat(paris, stop=stop).json()['error']['param'] == 'stop'

def test_a_head_that_never_ends_loses_its_connection(paris, monkeypatch):
    from fucinalib.serve import http
    monkeypatch.setattr(http, 'HEAD', .2)
    for begin in (b'', b'GET /health HTTP/1.1\r\nhost: localhost\r\n\r\nGET /', b'POST /v1/models HTTP/1.1\r\nx: '):
        with socket.create_connection(('127.0.0.1', int(paris.rpartition(':')[2])), timeout=10) as sock:
            sock.sendall(begin)
            while sock.recv(4096): pass

def test_many_answers_of_one_request_wait_together(tiny):
    options = dict(max_tokens=1, temperature=0)
    found = post(tiny, 'completions', dict(options, prompt=['abc'] * 64, n=2)).json()
    assert len(found['choices']) == 128
    refused = post(tiny, 'completions', dict(options, prompt=['abc'] * 64, n=3))
    assert refused.status_code == 400 and refused.json()['error']['param'] == 'n'

def test_a_long_prompt_blames_its_own_field(paris):
    found = post(paris, 'completions', dict(prompt='x' * 5000)).json()['error']
    assert found['param'] == 'prompt' and found['code'] == 'context_length_exceeded'

def test_the_key():
    with served(Reciter('Paris.'), key='secret') as at:
        for shown in (None, 'Bearer wrong', 'Bearer secret2', 'secret3', 'Bearer ', 'Bearer \u00e9'):
            heads = {'authorization': shown.encode('latin-1')} if shown else {}
            response = post(at, 'chat/completions', dict(messages=HELLO), headers=heads)
            assert response.status_code == 401 and response.json()['error']['code'] == 'invalid_api_key'
        assert requests.get(f'{at}/metrics').status_code == 401 and requests.get(f'{at}/health').ok
        right = dict(authorization='Bearer secret')
        assert post(at, 'chat/completions', dict(messages=HELLO), headers=right).ok

def test_pages_of_others_get_nothing(paris):
    for heads in (dict(origin='https://evil.example'), dict(host='evil.example'), dict(host='127.0.0.1.evil.example')):
        assert post(paris, 'chat/completions', dict(messages=HELLO), headers=heads).status_code == 403
    port = paris.rpartition(':')[2]
    for heads in (dict(origin=str(paris)), dict(host=f'localhost:{port}'), dict(host=f'[::1]:{port}')):
        assert post(paris, 'chat/completions', dict(messages=HELLO), headers=heads).ok

def test_a_public_server_names_the_page_that_may_not_ask():
    door = Door(None, None, local=False)
    said = door.objection('/v1/models', {b'host': 'mine.example', b'origin': 'https://evil.example'})
    error = json.loads(said.body)['error']
    assert said.status_code == 403 and 'evil.example' in error['message'] and error['code'] == 'forbidden_origin'
    assert door.objection('/v1/models', {b'host': 'mine.example', b'origin': 'https://mine.example'}) is None

def test_a_form_that_no_token_fits_is_a_fault_of_the_request(tiny, monkeypatch):
    from fucinalib.serve import schemas, unfit
    def nothing(self, row): raise unfit.no_way_on()
    monkeypatch.setattr(schemas.Guide, 'bent', nothing)
    for stream in (False, True):
        found = chat(tiny, response_format=dict(type='json_object'), stream=stream)
        assert found.status_code == 400 and 'no token' in found.json()['error']['message']

def test_others_are_let_in_only_with_a_key():
    with pytest.raises(fl.OptionError, match='there is no key'): listen('0.0.0.0', 0, None)
    for host in ('0.0.0.0', '127.0.0.1'):      # of a variable that was not set
        with pytest.raises(fl.OptionError, match='the key is empty'): listen(host, 0, ' ')
    listen('0.0.0.0', 0, 'key').close()
    with listen('127.0.0.1', 0, None) as taken, pytest.raises(fl.OptionError, match='nothing can be served'):
        listen('127.0.0.1', taken.getsockname()[1], None)


# ---- leaving
def opened(at, stream=True, said='hello', most=400):
    "A socket on which a chat was asked for."
    body = json.dumps(dict(messages=[dict(role='user', content=said)], stream=stream, max_tokens=most)).encode()
    sock = socket.create_connection(('127.0.0.1', int(at.rpartition(':')[2])), timeout=20)
    head = b'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n'
    sock.sendall(head % len(body) + body)
    return sock

def until(true, seconds=10):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end: time.sleep(.002)
    assert true()

@pytest.mark.parametrize('stream', [True, False])
def test_who_leaves_frees_the_model(stream):
    model = Reciter('a' * 3000, seconds=.002)
    with served(model, seats=1) as at:
        line = at.serving.scheduler
        a = opened(at, stream)
        until(lambda: line.speaking)
        b = opened(at, stream)
        until(lambda: line.queue)
        b.close()                                   # who waits leaves: nothing changes for the first
        until(lambda: line.counts['left'] == 1)
        assert len(line.speaking) == 1 and not line.queue
        a.close()
        until(lambda: line.counts['left'] == 2 and not line.speaking)
        calls = model.calls
        time.sleep(.05)
        assert model.calls == calls
        assert chat(at, max_tokens=3).json()['choices'][0]['message']['content'] == 'aaa'

def test_a_crowd_of_which_half_leaves():
    model, before = random_decoder(), threading.active_count()
    with served(model, queue=300) as at:
        right = {i: chat(at, [dict(role='user', content=f'say {i % 5}')], max_tokens=6, temperature=1, seed=i % 5
                         ).json()['choices'][0]['message']['content'] for i in range(5)}
        socks = [opened(at, i % 4 > 1, f'say {i % 5}') for i in range(60)]
        found, threads = {}, []
        def ask(i):
            found[i] = chat(at, [dict(role='user', content=f'say {i % 5}')], max_tokens=6, temperature=1, seed=i % 5
                            ).json()['choices'][0]['message']['content']
        for i in range(40):
            threads.append(threading.Thread(target=ask, args=(i,)))
            threads[-1].start()
        for sock in socks: sock.close()
        for t in threads: t.join(60)
        assert found == {i: right[i % 5] for i in range(40)}
        line = at.serving.scheduler
        until(lambda: len(line.free) == 8 and not line.queue)
        assert line.counts['left'] + line.counts['done'] == line.counts['jobs']
    until(lambda: threading.active_count() <= before + 1)

@pytest.mark.slow
def test_two_hundred_clients_leave_nothing_behind():
    from fucinalib.serve.asked import Asked
    from fucinalib.serve.http import BODY
    files = lambda: len([*Path('/proc/self/fd').iterdir()]) if Path('/proc/self/fd').exists() else 0
    before, found, threads = threading.active_count(), {}, []
    with served(random_decoder(), queue=400) as at:
        ask = lambda i: chat(at, [dict(role='user', content=f'say {i % 7}')], max_tokens=6, temperature=0).json()
        said = lambda i: ask(i)['choices'][0]['message']['content']
        right = [said(i) for i in range(7)]
        gc.collect()
        handles = files()
        def stay(i): found[i] = said(i)
        def read_slowly(i):
            with opened(at, said=f'say {i % 7}', most=6) as sock:
                text = b''
                while not text.endswith(b'0\r\n\r\n') and (part := sock.recv(16)): text += part; time.sleep(.002)
            found[i] = b'[DONE]' in text
        def spoil(i):
            data = b'{"messages": [' if i % 2 else b' ' * (BODY + 1)
            try: found[i] = post(at, 'chat/completions', data).status_code == (400 if i % 2 else 413)
            except requests.ConnectionError: found[i] = True      # it stopped reading, and the client went on writing
        kinds = [stay] * 7 + [read_slowly] * 2 + [spoil]
        for i in range(100):
            opened(at, i % 3 > 0, f'say {i % 7}', 30).close()      # who leaves
            threads.append(threading.Thread(target=kinds[i % 10], args=(i,)))
            threads[-1].start()
        for t in threads: t.join(60)
        assert found == {i: right[i % 7] if kinds[i % 10] is stay else True for i in range(100)}
        line = at.serving.scheduler
        until(lambda: len(line.free) == 8 and not line.queue and line.counts['left'] + line.counts['done'] ==
              line.counts['jobs'])
        until(lambda: files() <= handles)
        until(lambda: gc.collect() >= 0 and not any(isinstance(o, Asked) for o in gc.get_objects()))
        last = [opened(at, most=400) for _ in range(20)]           # it ends in the middle of answers
        until(lambda: line.speaking)
        line.close()
        for sock in last: sock.close()
    until(lambda: threading.active_count() <= before + 1)

def test_a_full_server_says_so():
    with served(Reciter('a' * 3000, seconds=.002), seats=1, queue=1) as at:
        socks = [opened(at)]
        until(lambda: at.serving.scheduler.speaking)
        socks.append(opened(at))
        until(lambda: at.serving.scheduler.queue)
        response = chat(at)
        assert response.status_code == 503 and response.headers['retry-after'] == '1'
        assert response.json()['error']['code'] == 'overloaded'
        for sock in socks: sock.close()

def test_an_error_of_the_model_is_told(tiny):
    found = chat(tiny, logit_bias={str(i): -100 for i in range(len(tiny.serving.tokenizer))})
    assert found.status_code == 400 and 'every token is forbidden' in found.json()['error']['message']
    assert chat(tiny, max_tokens=2).ok


# ---- the command
SERVING = """
import sys
sys.path[:0] = [{tests!r}, {root!r}]
import fucinalib.cli.answering as a
from speaker import Reciter
a.open_model = lambda name, threads=None, **how: (Reciter('a' * 3000, seconds=.002), .25)
from fucinalib.cli import main
main()
"""

@pytest.mark.parametrize('sig', [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_clean(sig):
    code = SERVING.format(tests=str(ROOT/'tests'), root=str(ROOT))
    server = subprocess.Popen([sys.executable, '-c', code, 'serve', '-m', 'some/tiny.gguf', '--port', '0'],
                              stderr=subprocess.PIPE, text=True)
    try:
        said = server.stderr.readline()
        name, at = re.match(r'(\S+) at (http://\S+)/v1', said).groups()
        assert name == 'tiny'
        for _ in range(200):
            try: requests.get(f'{at}/health', timeout=5); break
            except requests.ConnectionError: time.sleep(.02)
        sock = opened(at, most=3000)
        assert b'200 OK' in sock.recv(100)
        server.send_signal(sig)
        time.sleep(.1)
        server.send_signal(sig)                     # a second time: at once
        rest = b''
        while part := sock.recv(65536): rest += part
        assert b'the server ends' in rest and rest.endswith(b'0\r\n\r\n')
        assert server.wait(20) == 0
        assert server.stderr.read().strip() == 'ended'
    finally: server.kill()


# ---- points
@pytest.fixture(scope='module')
def pointing():
    from fucinalib.llm.encoder import Encoder, EncoderConfig
    from speaker import Bytes
    config = EncoderConfig(vocab=265, width=8, layers=1, heads=2, hidden=12, places=20)
    with served(Reciter('Paris.'), encoder=Encoder(config, Bytes(), seed=0)) as at: yield at

def test_points(pointing):
    ask = lambda **more: post(pointing, 'embeddings', dict(model='tiny', **more))
    found = ask(input=['a', 'hello you']).json()
    right = pointing.serving.encoder.embed(['a', 'hello you']).data
    assert found['object'] == 'list' and [d['index'] for d in found['data']] == [0, 1]
    np.testing.assert_allclose([d['embedding'] for d in found['data']], right, atol=1e-5)
    assert found['usage'] == dict(prompt_tokens=10, total_tokens=10) and found['model'] == 'tiny-embeddings'
    packed = ask(input='a', encoding_format='base64').json()['data'][0]['embedding']
    np.testing.assert_allclose(np.frombuffer(base64.b64decode(packed), '<f4'), right[0], atol=1e-5)
    for wrong in ({}, dict(input=[]), dict(input=[1.5]), dict(input='a', dimensions=4),
                  dict(input='a', encoding_format='x')):
        assert ask(**wrong).status_code == 400
    assert [m['id'] for m in requests.get(f'{pointing}/v1/models').json()['data']] == ['tiny', 'tiny-embeddings']


# ---- the page
def test_the_page_is_one_file_that_can_be_used_by_keyboard_and_ear(paris):
    from html.parser import HTMLParser
    response = requests.get(f'{paris}/')
    assert response.headers['content-type'].startswith('text/html')
    assert "default-src 'none'" in response.headers['content-security-policy']
    tags = []
    class Reading(HTMLParser):
        def handle_starttag(self, tag, attrs): tags.append((tag, dict(attrs)))
    Reading().feed(response.text)
    ids = [a['id'] for _, a in tags if 'id' in a]
    assert len(ids) == len({*ids}) and ('html', dict(lang='en')) in tags
    labelled = {a['for'] for tag, a in tags if tag == 'label'}
    assert labelled == {a['id'] for tag, a in tags if tag in ('input', 'textarea')} <= {*ids}
    log, = [a for _, a in tags if a.get('role') == 'log']
    assert log['aria-live'] == 'polite' and [a for _, a in tags if a.get('role') == 'status']
    assert 'prefers-color-scheme: dark' in response.text and ':focus-visible' in response.text
    assert not re.search(r'https?:|//cdn|<script src|@import', response.text)        # nothing from elsewhere
    assert {*re.findall(r"at\('(\w+)'\)", response.text)} <= {*ids}

def test_the_page_is_in_the_package():
    assert 'graft fucinalib' in (ROOT/'MANIFEST.in').read_text()


# ---- the client that others use
@contextmanager
def typed(at, strict=True):
    "The openai client; strict: it fails where a field is not of its type."
    openai = pytest.importorskip('openai')
    options = dict(max_retries=0, _strict_response_validation=strict)
    with openai.OpenAI(base_url=f'{at}/v1', api_key='none', **options) as client: yield client

@pytest.mark.torch
def test_the_client_of_openai_chats(paris):
    with typed(paris) as client:
        found = client.chat.completions.create(model='tiny', messages=HELLO, seed=1, stop=['x'], user='me',
                                               logprobs=True, top_logprobs=2, presence_penalty=.1, logit_bias={'7': -1})
        choice = found.choices[0]
        assert choice.message.content == 'Paris.' and choice.finish_reason == 'stop'
        assert found.usage.completion_tokens == 7
        assert choice.logprobs.content[0].token == 'P' and len(choice.logprobs.content[0].top_logprobs) == 2
        counted = dict(stream_options=dict(include_usage=True))
        with client.chat.completions.stream(model='tiny', messages=HELLO, **counted) as stream:
            kinds = {event.type for event in stream}
            last = stream.get_final_completion()
        assert last.choices[0].message.content == 'Paris.' and last.usage.completion_tokens == 7
        assert {'chunk', 'content.delta', 'content.done'} <= kinds
        parts = client.chat.completions.create(model='t', messages=HELLO, stream=True)
        assert ''.join(c.choices[0].delta.content or '' for c in parts) == 'Paris.'

@pytest.mark.torch
def test_the_client_of_openai_completes_lists_and_embeds(paris, pointing):
    with typed(paris) as client:
        found = client.completions.create(model='tiny', prompt='a', max_tokens=5, logprobs=2)
        assert found.choices[0].finish_reason == 'length' and len(found.choices[0].logprobs.tokens) == 5
        whole = client.completions.create(model='t', prompt='a', max_tokens=5).choices[0].text
        assert [m.id for m in client.models.list()] == ['tiny'] and client.models.retrieve('tiny').owned_by
    # of chunks its types want a finish_reason, which the original sends as null until the last one
    with typed(paris, strict=False) as client:
        chunks = [*client.completions.create(model='t', prompt='a', max_tokens=5, stream=True)]
        assert ''.join(c.choices[0].text for c in chunks) == whole
        assert [c.choices[0].finish_reason for c in chunks] == [None] * (len(chunks) - 1) + ['length']
    with typed(pointing, strict=False) as client:      # it asks for base64 by itself, and checks before it unpacks
        found = client.embeddings.create(model='e', input=['a', 'b'])
        np.testing.assert_allclose(found.data[1].embedding, pointing.serving.encoder.embed('b').data, atol=1e-5)

@pytest.mark.torch
def test_the_client_of_openai_knows_the_errors(paris):
    import openai
    with typed(paris) as client, served(Reciter('a'), key='secret') as locked:
        with pytest.raises(openai.BadRequestError) as e: client.chat.completions.create(model='t', messages=[])
        assert e.value.param == 'messages' and 'no messages' in e.value.message
        with pytest.raises(openai.NotFoundError): client.models.retrieve('other')
        with typed(locked) as thief, pytest.raises(openai.AuthenticationError): thief.models.list()
    with served(Reciter('a' * 3000, seconds=.002), seats=1, queue=1) as at, typed(at) as client:
        streams = [client.chat.completions.create(model='t', messages=HELLO, stream=True, max_tokens=3000)]
        socks = [opened(at)]
        until(lambda: at.serving.scheduler.queue)
        with pytest.raises(openai.InternalServerError) as e: client.chat.completions.create(model='t', messages=HELLO)
        assert e.value.status_code == 503 and e.value.code == 'overloaded'
        streams[0].close()                          # leaving in the middle of a stream
        until(lambda: at.serving.scheduler.counts['left'] == 1)
        socks[0].close()
