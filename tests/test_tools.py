"""Tools, forms and thoughts over the server: what the families write, read however it comes; what must come, comes."""
import json
from types import SimpleNamespace
import pytest
from fucinalib.serve.speech import Channels, Speech
from fucinalib.serve.schemas import Guide
from fucinalib.serve.tools import DIALECTS, dialect_of
from fucinalib.serve.unfit import no_way_on
from speaker import CHATML, SPECIAL, Bytes, Reciter
from test_serving import HELLO, chat, events, served, typed
from tiny_models import random_decoder

WEATHER = dict(type='function', function=dict(name='weather', description='of a city', parameters=dict(
    type='object', required=['city', 'days'], additionalProperties=False, properties=dict(
        city=dict(type='string', maxLength=8), days=dict(type='integer', minimum=1, maximum=9)))))
CLOCK = dict(type='function', function=dict(name='clock'))
SCHEMAS = dict(weather=WEATHER['function']['parameters'], clock={})
# the ways of templates that have tools, in small; as of Qwen: calls and results are written again
HERMES = """{% if tools %}<|im_start|>system
<tools>{% for t in tools %}{{ t | tojson }}{% endfor %}</tools> <tool_call><|im_end|>
{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% for c in m.tool_calls %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

def heard(dialect, said, n, **more):
    "(content, calls as (name, arguments)) of a text that comes in pieces of n letters."
    speech, changes = (Channels if dialect == 'harmony' else Speech)('begin', DIALECTS[dialect], SCHEMAS, **more), []
    pieces = [said[i:i + n] for i in range(0, len(said), n)]
    for i, p in enumerate(pieces): changes += speech.push(p, end=i == len(pieces) - 1)
    calls = [c for change in changes for c in change.get('tool_calls', ())]
    assert [c['index'] for c in calls] == [*range(len(calls))] and len({c['id'] for c in calls}) == len(calls)
    return (''.join(c.get('content', '') for c in changes),
            [(c['function']['name'], json.loads(c['function']['arguments'])) for c in calls])

ROME = ('weather', dict(city='Rome', days=2))
JSON = '{"name": "weather", "arguments": {"city": "Rome", "days": 2}}'
DEEP = '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>%s<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
SAID = [
    ('hermes', f'<tool_call>\n{JSON}\n</tool_call>', '', [ROME]), ('hermes', 'no <tool', 'no <tool', []),
    ('hermes', f'I look.\n\n<tool_call>{JSON}</tool_call>\n<tool_call>{JSON}</tool_call>', 'I look.', [ROME, ROME]),
    ('hermes', f'<tool_call>{JSON}', '', [ROME]),
    ('hermes', '<tool_call>{"name": </tool_call> x', '<tool_call>{"name": </tool_call> x', []),
    ('hermes', f'```json\n{JSON}\n```', '', [ROME]),
    ('hermes', '```json\n{"name": "other"}\n```', '```json\n{"name": "other"}\n```', []),
    ('hermes', '```json\n[1]\n``` and on', '```json\n[1]\n``` and on', []), ('hermes', 'a < b', 'a < b', []),
    ('hermes', '<tool_call>{"name": "clock", "arguments": {}}</tool_call>', '', [('clock', {})]),
    ('hermes', '<think>so</think>\n\n<tool_call>{"name": "clock", "arguments": "{}"}</tool_call>', '', [('clock', {})]),
    ('functions', '<tool_call>\n<function=weather>\n<parameter=city>\nRome\n</parameter>\n<parameter=days>\n2\n'
                  '</parameter>\n</function>\n</tool_call>', '', [ROME]),
                  ('functions', f'<tool_call>{JSON}</tool_call>', '', [ROME]),
    ('functions', '<tool_call><function=weather><parameter=city>12</parameter><parameter=days>x</parameter></function>',
     '', [('weather', dict(city='12', days='x'))]),
    ('mistral', f'[TOOL_CALLS] [{JSON}, {JSON}]', '', [ROME, ROME]), ('mistral', '[TOOL', '[TOOL', []),
    ('llama', '{"name": "weather", "parameters": {"city": "Rome", "days": 2}}', '', [ROME]),
    ('llama', 'Hello {', 'Hello {', []),
    ('llama', '{"a": 1}', '{"a": 1}', []),
    ('braces', '<|tool_call>call:weather{city:<|"|>Rome<|"|>,days:2}<tool_call|>', '', [ROME]),
    ('braces', '<|tool_call>call:weather{city:<|"|>a,b:"c"<|"|>,of:{x:[1,<|"|>y<|"|>],z:true}}<tool_call|>', '',
     [('weather', dict(city='a,b:"c"', of=dict(x=[1, 'y'], z=True)))]),
    ('escaped', '<start_function_call>call:weather{city:<escape>Rome<escape>,days:2}<end_function_call>', '', [ROME]),
    ('mistral', '[TOOL_CALLS]weather[ARGS]{"city": "Rome", "days": 2}[TOOL_CALLS]clock[CALL_ID]a1[ARGS]{}', '',
     [ROME, ('clock', {})]), ('mistral', 'a [TOOL_CALLS]b[ARGS]{', 'a[TOOL_CALLS]b[ARGS]{', []),
    ('mistral', '[THINK]so[/THINK][TOOL_CALLS]clock{}', '', [('clock', {})]),
    ('llama', f'{JSON}; {JSON}', '', [ROME, ROME]), ('llama', f'{JSON} and more', f'{JSON} and more', []),
    ('braces', '<|channel>thought\nso\n<channel|><|tool_call>call:clock{}<tool_call|>', '', [('clock', {})]),
    ('python', '<|tool_call_start|>[weather(city="Rome", days=2), clock()]<|tool_call_end|>Checking.', 'Checking.',
     [ROME, ('clock', {})]), ('python', '<|tool_call_start|>clock(on=true, x=[null, -1])<|tool_call_end|>', '',
                              [('clock', dict(on=True, x=[None, -1]))]),
    *[('python', f'<|tool_call_start|>{wrong}<|tool_call_end|>', f'<|tool_call_start|>{wrong}<|tool_call_end|>', [])
      for wrong in ('[f(open("x"))]', '[f(1)]', '[f(**{})]', '[f(x={1})]', 'f(', '[1]', '[f(x=1e999)]', '(' * 300)],
    ('deepseek', DEEP % ('weather<｜tool▁sep｜>{"city": "Rome", "days": 2}'), '', [ROME]),
    ('deepseek', DEEP % ('function<｜tool▁sep｜>weather\n```json\n{"city": "Rome", "days": 2}\n```'), '', [ROME]),
    ('deepseek', DEEP % 'weather<｜tool▁sep｜>{', DEEP % 'weather<｜tool▁sep｜>{', []),
    ('harmony', '<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city": "Rome", "days": 2}',
     '', [ROME]), ('harmony', 'Hello <|there', 'Hello <|there', []), ('harmony', 'to', 'to', []),
    ('harmony', ' to=functions.clock<|channel|>commentary json<|message|>{}<|call|>', '', [('clock', {})]),
    ('harmony', '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary<|message|>I look.'
     '<|end|><|start|>assistant<|channel|>commentary to=functions.clock<|message|>{}<|call|>', 'I look.',
     [('clock', {})]),
    ('harmony', '<|channel|>commentary<|message|>A.<|end|><|start|>assistant<|channel|>final<|message|>B.', 'A.\n\nB.',
     []), ('harmony', '<|channel|>commentary to=functions.clock<|message|>{', '{', []),
    ('harmony', '<|channel|>analysis<|message|>so<|end|><|start|>assi', '', []), ('harmony', '<|channel|>fin', '', [])]

@pytest.mark.parametrize('dialect, said, content, calls', SAID, ids=range(len(SAID)))
def test_calls_are_read_however_they_come(dialect, said, content, calls):
    for n in (1, 2, 5, 999): assert heard(dialect, said, n) == (content, calls), n

def test_channels_are_told_apart_however_they_come():
    said = ('<|channel|>analysis<|message|>Hm.\n<|end|><|start|>assistant<|channel|>analysis<|message|>So.<|end|>'
            '<|start|>assistant<|channel|>final<|message|>Paris < 3.<|return|>')
    for n in (1, 3, 7, 999):
        speech, pieces = Channels(), [said[i:i + n] for i in range(0, len(said), n)]
        changes = [c for i, p in enumerate(pieces) for c in speech.push(p, end=i == len(pieces) - 1)]
        joined = lambda name: ''.join(c.get(name, '') for c in changes)
        assert (joined('reasoning_content'), joined('content')) == ('Hm.\n\n\nSo.', 'Paris < 3.'), n

def test_channels_over_the_server():
    said = '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Paris.'
    with served(Reciter(said, template=HERMES + '{# <|channel|> <|message|> #}')) as at:
        message = chat(at).json()['choices'][0]['message']
        assert (message['content'], message['reasoning_content']) == ('Paris.', 'Hm.')

def test_the_end_of_a_message_is_not_the_end_of_the_answer():
    class Marked(Bytes):
        def stream(self, special=False):
            shown = lambda i: self.pieces[i].decode() if special or i < 256 else ''
            return SimpleNamespace(push=shown, end=str)
    marks = [*SPECIAL, '<|start|>', '<|channel|>', '<|message|>', '<|end|>', '<|return|>', '<|call|>']
    tok = Marked(marks)
    tok.control = {*tok.special.values()}
    model = Reciter(template=HERMES + '{# <|channel|> <|message|> #}', tokenizer=tok)
    model.said = tok.encode('<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final'
                            '<|message|>Paris.<|return|>', special=True)
    with served(model) as at:
        message = chat(at).json()['choices'][0]['message']
        assert (message['content'], message['reasoning_content']) == ('Paris.', 'Hm.')

def test_which_way_a_template_has():
    name = lambda source: next((n for n, d in DIALECTS.items() if d is dialect_of(source)), None)
    assert name(HERMES) == 'hermes' and name(HERMES + '<function=') == 'functions' and name(CHATML) is None
    assert name('{{ tools }} [TOOL_CALLS]') == 'mistral' and name('{{ tools }} <|tool_call>') == 'braces'
    assert name('{{ tools }} "parameters" ipython') == 'llama' and name('<tool_call>') is None and name(None) is None

@pytest.fixture(scope='module')
def caller():
    with served(Reciter(f'I look.\n<tool_call>\n{JSON}\n</tool_call>', template=HERMES)) as at: yield at

def test_a_call_over_the_server(caller):
    found = chat(caller, tools=[WEATHER, CLOCK]).json()['choices'][0]
    call, = found['message']['tool_calls']
    assert found['finish_reason'] == 'tool_calls' and found['message']['content'] == 'I look.'
    assert call['function']['name'] == 'weather' and json.loads(call['function']['arguments']) == ROME[1]
    assert call['type'] == 'function' and call['id'].startswith('call_') and 'index' not in call
    *_, before, last = [c['choices'][0] for c in events(chat(caller, tools=[WEATHER], stream=True))]
    assert last['finish_reason'] == 'tool_calls' and before['delta']['tool_calls'][0]['index'] == 0
    withheld = chat(caller, tools=[WEATHER], tool_choice='none').json()['choices'][0]
    assert withheld['finish_reason'] == 'stop' and '<tool_call>' in withheld['message']['content']

def test_calls_and_results_are_told_again(caller):
    call = dict(id='call_1', type='function', function=dict(name='clock', arguments='{"zone": "é"}'))
    messages = [*HELLO, dict(role='assistant', content=None, tool_calls=[call]),
                dict(role='tool', tool_call_id='call_1', content='12:00')]
    n = chat(caller, messages, tools=[CLOCK], max_tokens=1).json()['usage']['prompt_tokens']
    said = caller.serving.tokenizer.decode(caller.serving.scheduler.free[-1].ids, special=True)
    assert '<tool_call>\n{"name": "clock", "arguments": {"zone": "é"}}\n</tool_call>' in said and '12:00' in said and n

def test_templates_without_a_way_and_wrong_tools_are_refused(caller):
    with served(Reciter('a')) as plain:
        found = chat(plain, tools=[CLOCK])
        assert found.status_code == 400 and found.json()['error']['param'] == 'tools'
        assert chat(plain, tools=[CLOCK], tool_choice='none').ok
    for wrong, param in ((dict(tools=[{}]), 'tools[0]'), (dict(tools=[CLOCK], tool_choice='some'), 'tool_choice'),
                         (dict(tool_choice='required'), 'tool_choice'),
                         (dict(tools=[CLOCK], tool_choice=dict(function=dict(name='x'))), 'tool_choice'),
                         (dict(response_format=dict(type='xml')), 'response_format')):
        found = chat(caller, **wrong)
        assert found.status_code == 400 and found.json()['error']['param'] == param, wrong
    found = chat(caller, response_format=dict(type='json_schema', json_schema=dict(name='n', schema={'not': {}})))
    assert found.status_code == 400 and "'not'" in found.json()['error']['message']


# ---- what must come, from a model without sense
@pytest.fixture(scope='module')
def senseless():
    model = random_decoder()
    model.template = HERMES
    with served(model) as at: yield at

@pytest.mark.parametrize('seed', range(3))
def test_a_tool_that_must_be_called_is_called(senseless, seed):
    named = dict(type='function', function=dict(name='weather'))
    for choice, names in (('required', {'weather', 'clock'}), (named, {'weather'})):
        found = chat(senseless, tools=[WEATHER, CLOCK], tool_choice=choice, seed=seed, max_tokens=300, temperature=.5,
                     logit_bias={str(b): 9 for b in b'"}'}).json()['choices'][0]
        assert found['finish_reason'] == 'tool_calls', found
        call = found['message']['tool_calls'][0]['function']
        given = json.loads(call['arguments'])
        assert call['name'] in names and not found['message']['content']
        if call['name'] == 'weather': assert given.keys() == {'city', 'days'} and 1 <= given['days'] <= 9

@pytest.mark.parametrize('dialect', DIALECTS)
def test_a_tool_that_must_be_called_is_called_in_each_way(dialect):
    model = random_decoder()
    model.template = HERMES.replace('<tool_call>', '') + '{# ' + ' '.join(DIALECTS[dialect].signs) + ' #}'
    assert dialect_of(model.template) is DIALECTS[dialect]
    bias = {str(b): 9 for b in b'"}'}
    with served(model) as at:
        for choice in ('required', dict(type='function', function=dict(name='weather'))):
            found = chat(at, tools=[WEATHER], tool_choice=choice, seed=1, max_tokens=300, logit_bias=bias).json()
            call, = found['choices'][0]['message']['tool_calls']
            assert call['function']['name'] == 'weather'
            assert json.loads(call['function']['arguments']).keys() == {'city', 'days'}
        form = dict(type='json_schema', json_schema=dict(name='n', schema=WEATHER['function']['parameters']))
        found = chat(at, tools=[WEATHER], response_format=form, tool_choice='none', seed=1, max_tokens=300).json()
        assert json.loads(found['choices'][0]['message']['content']).keys() == {'city', 'days'}

def test_a_form_that_must_come_comes(senseless):
    form = dict(type='json_schema', json_schema=dict(name='n', strict=True, schema=WEATHER['function']['parameters']))
    ask = lambda **more: chat(senseless, response_format=form, max_tokens=200, seed=1, **more)
    whole = [c['message']['content'] for c in ask(n=3).json()['choices']]
    for text in whole:
        found = json.loads(text)
        assert found.keys() == {'city', 'days'} and 1 <= found['days'] <= 9 and len(found['city']) <= 8
    streamed = ''.join(c['choices'][0]['delta'].get('content', '') for c in events(ask(stream=True)))
    assert streamed == whole[0]
    anything = chat(senseless, response_format=dict(type='json_object'), max_tokens=300, temperature=.5,
                    logit_bias={str(b): 12 for b in b'"}'}).json()['choices'][0]
    assert anything['finish_reason'] == 'stop' and isinstance(json.loads(anything['message']['content']), dict)

def test_a_form_that_cannot_be_gone_on_with_is_a_fault_of_the_request(senseless, monkeypatch):
    form = dict(type='json_schema', json_schema=dict(name='n', schema=WEATHER['function']['parameters']))
    calls, real = [], Guide.allowed
    def allowed(self):
        calls.append(1)
        if len(calls) > 3: raise no_way_on()
        return real(self)
    monkeypatch.setattr(Guide, 'allowed', allowed)
    found = chat(senseless, response_format=form)
    assert found.status_code == 400 and 'no token' in found.json()['error']['message']
    calls.clear()
    *_, last, end = chat(senseless, response_format=form, stream=True).text.split('\n\n')
    assert json.loads(last[6:])['error']['type'] == 'invalid_request_error' and not end

def test_thoughts_go_beside_the_answer():
    with served(Reciter('<think>hm</think>\n\nParis.')) as at:
        message = chat(at).json()['choices'][0]['message']
        assert message['content'] == 'Paris.' and message['reasoning_content'] == 'hm'
        again = [*HELLO, dict(role='assistant', content='Paris.', reasoning_content='SECRET'), *HELLO]
        chat(at, again)
        assert 'SECRET' not in at.serving.tokenizer.decode(at.serving.scheduler.free[-1].ids)


@pytest.mark.torch
def test_the_client_of_openai_calls_tools_and_parses_forms(caller, senseless):
    import pydantic
    with typed(caller) as client:
        found = client.chat.completions.create(model='t', messages=HELLO, tools=[WEATHER])
        assert found.choices[0].message.tool_calls[0].function.name == 'weather'
        with client.chat.completions.stream(model='t', messages=HELLO, tools=[WEATHER]) as stream:
            for _ in stream: pass
            call = stream.get_final_completion().choices[0].message.tool_calls[0]
        assert json.loads(call.function.arguments) == ROME[1]
    class Weather(pydantic.BaseModel):
        city: str = pydantic.Field(max_length=6)
        days: int = pydantic.Field(ge=1, le=9)
    with typed(senseless) as client:
        options = dict(model='t', messages=HELLO, max_tokens=200, seed=1)
        found = client.chat.completions.parse(response_format=Weather, **options)
        assert 1 <= found.choices[0].message.parsed.days <= 9
