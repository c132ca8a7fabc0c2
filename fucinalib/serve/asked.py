"""What a request in OpenAI's protocol asks for: its fields checked, its prompts as ids, its jobs ready to wait.

A field that is not known is refused, as there; what changes nothing here is taken and not read."""
import json, math, re, secrets, time
from ..errors import FucinaError, brief, did_you_mean, fault
from ..llm.chat import Chat, encode_marked
from ..llm.generation import generate, ids_of
from .answers import Choice
from .scheduler import Job
from .speech import THINK, THOUGHTS, Channels, Speech
from .tools import DIALECTS

__all__ = ['BadRequest', 'Asked', 'refuse', 'read_chat', 'read_completion', 'read_texts', 'value_of']

MOST = 512      # tokens of an answer, where the request says nothing
ANSWERS = 128   # of one request
STOPS, LONG_STOP = 16, 1024     # texts that end an answer, and letters of one

# where thoughts have channels: the head of an answer, and what ends a message, but not all that is said
FINAL, END = '<|channel|>final<|message|>', '<|end|>'


class BadRequest(FucinaError, ValueError):
    "A request that cannot be answered, and the field to blame."
    status, param, code = 400, None, None


def refuse(head, param=None, help=None, status=400, code=None):
    "The error for a request."
    e = fault(BadRequest, head, help)
    e.status, e.param, e.code = status, param, code
    return e


def value_of(data):
    "What a JSON text says. ValueError where it is none: NaN, too deep, half a surrogate pair, which is no letter."
    def constant(name): raise ValueError(f'{name} is no JSON')
    try:
        found = json.loads(data, parse_constant=constant)
        json.dumps(found, ensure_ascii=False).encode()
    except RecursionError as e: raise ValueError(str(e)) from None
    return found


# ---- fields
NUMBER, WHOLE = (int, float), int
# name -> kind, least, most
COMMON = dict(
    model=(str,), stream=(bool,), n=(WHOLE, 1, 16), seed=(WHOLE, -2**63, 2**63 - 1000), stop=((str, list),),
    temperature=(NUMBER, 0, 2), top_p=(NUMBER, 0, 1), presence_penalty=(NUMBER, -2, 2),
    frequency_penalty=(NUMBER, -2, 2), logit_bias=(dict,), stream_options=(dict,), max_tokens=(WHOLE, 1),
    top_k=(WHOLE, 0), min_p=(NUMBER, 0, 1), repetition_penalty=(NUMBER, .01, 100))
CHAT = COMMON | dict(
    messages=(list,), max_completion_tokens=(WHOLE, 1), logprobs=(bool,), top_logprobs=(WHOLE, 0, 20),
    chat_template_kwargs=(dict,), tools=(list,), tool_choice=((str, dict),), parallel_tool_calls=(bool,),
    response_format=(dict,))
COMPLETION = COMMON | dict(prompt=((str, list),), logprobs=(WHOLE, 0, 5), echo=(bool,), best_of=(WHOLE, 1, 16))
EMBEDDING = dict(model=(str,), input=((str, list),), encoding_format=(str,), dimensions=(WHOLE, 1))
IDLE = set('user metadata store service_tier safety_identifier prompt_cache_key prompt_cache_retention verbosity '
           'reasoning_effort'.split())
WORDS = {str: 'a string', bool: 'true or false', int: 'a whole number', list: 'a list', dict: 'an object',
         NUMBER: 'a number', (str, list): 'a string or a list', (str, dict): 'a string or an object'}


def checked(body, rules):
    "The fields of a request that say something."
    if not isinstance(body, dict): raise refuse('the body is not a JSON object', help='{"model": "...", ...}')
    given = {k: v for k, v in body.items() if v is not None and k not in IDLE}
    for name, value in given.items():
        if name not in rules:
            raise refuse(f'Unknown parameter: {brief(name)}', name, did_you_mean(name, rules), code='unknown_parameter')
        check_field(name, value, *rules[name])
    return given


def check_field(name, value, kind, least=-math.inf, most=math.inf):
    "One field: its kind, and where it is a number its bounds."
    right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if not right: raise refuse(f'{name} is {brief(value)}, not {WORDS[kind]}', name, code='invalid_type')
    if isinstance(value, (int, float)) and not least <= value <= most:
        raise refuse(f'{name} is {brief(value)}', name, f'{least} to {most}' if most < math.inf else f'{least} or more',
                     code='invalid_value')


def flag_in(given, name, field, default):
    "A true or false inside a field that is an object."
    value = given.get(name, {}).get(field)
    check_field(f'{name}.{field}', default if value is None else value, bool)
    return default if value is None else value


def stops_of(given):
    "The texts that end an answer."
    stop = given.get('stop', [])
    stop = [stop] if isinstance(stop, str) else stop
    if len(stop) > STOPS: raise refuse(f'stop has {len(stop)} texts', 'stop', f'{STOPS} at most')
    if not all(isinstance(s, str) and s for s in stop):
        raise refuse('stop holds what is no text, or an empty one', 'stop', '["\\n"]')
    if max(map(len, stop), default=0) > LONG_STOP:
        raise refuse(f'stop has a text of {max(map(len, stop))} letters', 'stop', f'{LONG_STOP} at most')
    return stop


def biases_of(given, vocab):
    "logit_bias with ids as numbers."
    found = {}
    for id, bias in given.get('logit_bias', {}).items():
        if not re.fullmatch(r'\d{1,9}', id) or int(id) >= vocab:
            raise refuse(f'logit_bias of {brief(id)}', 'logit_bias', f'ids go from 0 to {vocab - 1}')
        check_field('logit_bias', bias, NUMBER, -100, 100)
        found[int(id)] = -math.inf if bias == -100 else float(bias)
    return found


def options_for(given, vocab):
    "What `generate` is told about choosing."
    names = 'top_p top_k min_p presence_penalty frequency_penalty repetition_penalty'.split()
    found = {n: given[n] for n in names if n in given}
    return found | dict(temperature=given.get('temperature', 1.), logit_bias=biases_of(given, vocab))


# ---- messages
ROLES = dict(developer='system', system='system', user='user', assistant='assistant', tool='tool')
MESSAGE = set('role content name tool_calls tool_call_id refusal reasoning_content audio function_call'.split())


def messages_of(given):
    "The conversation, as templates take it."
    messages = given.get('messages')
    if not messages: raise refuse('there are no messages', 'messages', '[{"role": "user", "content": "hello"}]')
    return [message_of(m, f'messages[{i}]') for i, m in enumerate(messages)]


def message_of(m, place):
    "One message: what is null is not there, and what was thought aloud is forgotten."
    if not isinstance(m, dict): raise refuse(f'{place} is {brief(m)}, not an object', place)
    m = {k: v for k, v in m.items() if v is not None and k not in ('refusal', 'reasoning_content')}
    for name in m:
        if name not in MESSAGE: raise refuse(f'{place} has an unknown field {brief(name)}', f'{place}.{name}')
    if not isinstance(m.get('role'), str) or m['role'] not in ROLES:
        raise refuse(f'{place} has the role {brief(m.get("role"))}', f'{place}.role',
                     did_you_mean(str(m.get('role')), ROLES))
    if 'content' not in m and not m.get('tool_calls'): raise refuse(f'{place} has no content', f'{place}.content')
    check_field(f'{place}.name', m.get('name', ''), str)
    check_field(f'{place}.tool_calls', m.get('tool_calls', []), list)
    found = m | dict(role=ROLES[m['role']], content=text_of(m.get('content', ''), f'{place}.content'))
    if 'tool_calls' in m: found['tool_calls'] = [call_of(c, f'{place}.tool_calls') for c in m['tool_calls']]
    return found


def call_of(call, place):
    "A call that was made before, with its arguments as templates want them: an object."
    of = call.get('function') if isinstance(call, dict) else None
    if not isinstance(of, dict) or not isinstance(of.get('name'), str): raise refuse(f'{place} holds no call', place)
    given = of.get('arguments', '')
    try: given = value_of(given or '{}') if isinstance(given, str) else given
    except ValueError: raise refuse(f'{place} has arguments that are no JSON', place) from None
    return dict(id=call.get('id', ''), type='function', function=dict(name=of['name'], arguments=given))


def text_of(content, place):
    "A content as one text."
    if isinstance(content, str): return content
    if not isinstance(content, list): raise refuse(f'{place} is {brief(content)}, not a text', place)
    for part in content:
        kind = part.get('type') if isinstance(part, dict) else part
        if not isinstance(part, dict) or kind != 'text' or not isinstance(part.get('text'), str):
            raise refuse(f'{place} has a part {brief(kind)}', place, 'this model reads text: {"type": "text", ...}')
    return '\n'.join(part['text'] for part in content)


# ---- what was asked
class Asked:
    "A request: its answers on their way, and how they are to be sent."
    def __init__(self, serving, given, prompts, kind, **more):
        self.kind, self.name, self.created = kind, serving.name, int(time.time())
        self.id = ('chatcmpl-' if kind == 'chat' else 'cmpl-') + secrets.token_hex(12)
        self.stream, self.echo = given.get('stream', False), more.get('echo', False)
        self.counted = flag_in(given, 'stream_options', 'include_usage', False)
        self.prompts, self.jobs, self.choices = prompts, [], []
        made = dict(options_for(given, len(serving.tokenizer)), stop=[*stops_of(given), *more.get('ends', ())],
                    max_new=given.get('max_completion_tokens', given.get('max_tokens', serving.most)),
                    logprobs=more.get('top') or 0)
        n, seed = given.get('n', 1), given.get('seed', secrets.randbits(62))
        if len(prompts) * n > ANSWERS:
            head = f'{len(prompts)} prompts and n of {n} are {len(prompts) * n} answers'
            raise refuse(head, 'n', f'{ANSWERS} at most')
        for i in range(len(prompts) * n): self.add(serving, prompts[i // n], i, dict(made, seed=seed + i), more)

    def add(self, serving, ids, i, made, more):
        "One more answer."
        job = Job(generate(serving.model, check_room(ids, serving, self.kind), **made), None, owner=self)
        self.jobs.append(job)
        job.made.goes_on, job.made.ends = self.kind != 'chat', job.made.ends - more.get('inner', set())
        job.guide = more['guide'](job.made.ends) if more.get('guide') else None
        if more.get('shown'): job.made.tokenizer = Shown(serving.tokenizer)
        spoken = more['speech']() if 'speech' in more else Speech('answer')
        self.choices.append(Choice(i, job, serving.tokenizer, spoken, more.get('top')))

    @property
    def left(self): return all(job.left for job in self.jobs)

    def leave(self):
        "Nobody waits for it any more."
        for job in self.jobs: job.leave()


def check_room(ids, serving, kind='text'):
    "A prompt that is not empty and leaves room for an answer."
    room = getattr(getattr(serving.model, 'config', None), 'context', None)
    if not ids: raise refuse('the prompt is empty', 'prompt', 'one token at least')
    if room and len(ids) >= room:
        param, help = ('messages', 'a shorter conversation') if kind == 'chat' else ('prompt', 'a shorter one')
        raise refuse(f"this model's context is {room} tokens, and the prompt has {len(ids)}", param, help,
                     code='context_length_exceeded')
    return ids


class Shown:
    "A tokenizer whose stream shows control tokens: some families write marks of calls and thoughts with them."
    def __init__(self, tokenizer): self.tokenizer = tokenizer
    def stream(self): return self.tokenizer.stream(special=True)


def read_chat(serving, body):
    "A request of /v1/chat/completions."
    given = checked(body, CHAT)
    messages, top = messages_of(given), given.get('top_logprobs', 0)
    if top and not given.get('logprobs'):
        raise refuse('top_logprobs without logprobs', 'top_logprobs', 'logprobs: true')
    think = flag_in(given, 'chat_template_kwargs', 'enable_thinking', serving.think)
    system, rest = (messages[0]['content'], messages[1:]) if messages[0]['role'] == 'system' else (None, messages)
    tools, dialect, must = tools_of(given, serving)
    chat = Chat(serving.model, system, think, serving.template, [*tools.values()] or None)
    text, mark = chat.render(rest)
    opened = text.rstrip().endswith(THINK[0])
    if must and dialect.open and not opened: text += dialect.open + '\n'
    schemas = {name: tool['function'].get('parameters') or {} for name, tool in tools.items()}
    form = call_form(schemas, must, dialect.given) if must else form_of(given)
    channels = serving.dialect is DIALECTS['harmony']
    if channels and form and not must: text += FINAL
    state = 'opened' if opened else 'answer' if must or channels and form else 'begin'
    marks = {*THOUGHTS, *THINK, *(dialect[:2] if dialect else ()), *(['<|channel|>'] if channels else ())}
    return Asked(serving, given, [encode_marked(serving.tokenizer, text, mark)], 'chat', ends=chat.ends,
                 inner={serving.tokenizer.special.get(END)} if channels else set(),
                 top=top if given.get('logprobs') else None, guide=form and serving.guides(form, THINK[1] * opened),
                 shown=not marks.isdisjoint(t for t, i in serving.tokenizer.special.items() if i in serving.control),
                 speech=lambda: (Channels if channels else Speech)(state, dialect, schemas, bool(must)))


# ---- tools and forms
def tools_of(given, serving):
    "(tools by name, how calls are written, the names of which one must be called)"
    tools, choice = {}, given.get('tool_choice', 'auto')
    for i, tool in enumerate(given.get('tools', [])):
        of = tool.get('function') if isinstance(tool, dict) else None
        if not isinstance(of, dict) or not isinstance(of.get('name'), str) or not of['name']:
            raise refuse(f'tools[{i}] is no function', f'tools[{i}]', '{"type": "function", "function": {"name": "f"}}')
        tools[of['name']] = dict(type='function', function=of)
    named = choice.get('function') if isinstance(choice, dict) else None
    named = named.get('name') if isinstance(named, dict) else None
    if isinstance(choice, str) and choice not in ('none', 'auto', 'required') or \
            isinstance(choice, dict) and not (named and isinstance(named, str)):
        raise refuse(f'tool_choice is {brief(choice)}', 'tool_choice', 'none, auto, required, or a function')
    if named and named not in tools or choice == 'required' and not tools:
        raise refuse(f'tool_choice wants {brief(named or "a tool")}, which is not among tools', 'tool_choice')
    if not tools or choice == 'none': return {}, None, []
    if serving.dialect is None:
        raise refuse("this model's chat template has no way to call tools", 'tools', 'a model that was trained for it')
    return tools, serving.dialect, [named] if named else [*tools] if choice == 'required' else []


def form_of(given):
    "The schema that an answer must fit, None if there is none."
    wanted = given.get('response_format', {})
    kind = wanted.get('type', 'text')
    if kind == 'text': return None
    if kind == 'json_object': return dict(type='object')
    said = wanted.get('json_schema')
    if kind != 'json_schema' or not isinstance(said, dict) or 'schema' not in said:
        raise refuse(f'response_format is {brief(wanted)}', 'response_format',
                     '{"type": "json_schema", "json_schema": {"name": "n", "schema": {...}}}')
    return said['schema']


def call_form(schemas, names, given):
    "The schema of one call of some tools, with their arguments under the name `given`."
    one = lambda name: {'type': 'object', 'required': ['name', given], 'additionalProperties': False,
                        'properties': {'name': dict(const=name), given: dict(type='object') | schemas[name]}}
    return dict(anyOf=[one(name) for name in names])


def read_completion(serving, body):
    "A request of /v1/completions."
    given = checked(body, COMPLETION)
    if 'prompt' not in given: raise refuse('there is no prompt', 'prompt', '"Once upon a time"')
    if given.get('best_of', given.get('n', 1)) != given.get('n', 1):
        raise refuse('best_of differs from n', 'best_of', 'all answers are sent: leave it out')
    prompts = [ids_of(serving.model, p) for p in prompts_of(given['prompt'], 'prompt', len(serving.tokenizer))]
    return Asked(serving, given, prompts, 'text', top=given.get('logprobs'), echo=given.get('echo', False))


def prompts_of(value, name, vocab):
    "A text, its ids, or a list of either, as a list."
    is_id = lambda v: isinstance(v, int) and not isinstance(v, bool) and 0 <= v < vocab
    whole = lambda v: isinstance(v, str) or isinstance(v, list) and v and all(map(is_id, v))
    found = [value] if whole(value) else value
    if not found or not all(map(whole, found)):
        raise refuse(f'{name} holds what is neither text nor ids', name, f'texts, or ids from 0 to {vocab - 1}')
    if len(found) > 64: raise refuse(f'{name} has {len(found)} texts', name, '64 at most')
    return found


def read_texts(serving, body):
    "(texts, whether as base64) of a request of /v1/embeddings."
    given, tok = checked(body, EMBEDDING), serving.encoder.tokenizer
    form = given.get('encoding_format', 'float')
    if form not in ('float', 'base64'):
        raise refuse(f'encoding_format is {brief(form)}', 'encoding_format', 'float, base64')
    width = serving.encoder.config.width
    if given.get('dimensions', width) != width:
        raise refuse(f'these points have {width} numbers', 'dimensions', f'{width}')
    found = prompts_of(given.get('input', []), 'input', len(tok))
    return [text if isinstance(text, str) else tok.decode(text) for text in found], form == 'base64'
