"""Tools, forms and thoughts over the server: what the families write, read however it comes; what must come, comes."""
import json
import pytest
from fucinalib.serve.speech import Speech
from fucinalib.serve.tools import DIALECTS, dialect_of
from speaker import CHATML, Reciter
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
    speech, changes = Speech('begin', DIALECTS[dialect], SCHEMAS, **more), []
    pieces = [said[i:i + n] for i in range(0, len(said), n)]
    for i, p in enumerate(pieces): changes += speech.push(p, end=i == len(pieces) - 1)
    calls = [c for change in changes for c in change.get('tool_calls', ())]
    assert [c['index'] for c in calls] == [*range(len(calls))] and len({c['id'] for c in calls}) == len(calls)
    return (''.join(c.get('content', '') for c in changes),
            [(c['function']['name'], json.loads(c['function']['arguments'])) for c in calls])

ROME = ('weather', dict(city='Rome', days=2))
JSON = '{"name": "weather", "arguments": {"city": "Rome", "days": 2}}'
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
     [('weather', dict(city='a,b:"c"', of=dict(x=[1, 'y'], z=True)))])]

@pytest.mark.parametrize('dialect, said, content, calls', SAID, ids=range(len(SAID)))
def test_calls_are_read_however_they_come(dialect, said, content, calls):
    for n in (1, 2, 5, 999): assert heard(dialect, said, n) == (content, calls), n

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
