"""How a conversation becomes one text: the template that a model's file brings, run in jinja2's sandbox.

A template is a program by a stranger. It sees plain data, changes nothing, and may take so many steps and write so
much text, no more. It gets what the library `transformers` gives it, since templates are written for that.
"""
import json, re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache, wraps
from itertools import islice
from pathlib import Path
from ..errors import FileError, FucinaError, brief, did_you_mean, fault

__all__ = ['Template', 'TemplateError', 'source_of', 'roles_of']

LONGEST = 1 << 20      # characters of a template
TEXT = 1 << 24         # of any text that it makes
MADE = 1 << 28         # characters and entries of all that it makes
STEPS = 1 << 20        # rounds of its loops; a call counts as CALL of them
CALL = 16
FIELDS = 'role', 'content'


class TemplateError(FucinaError, ValueError): "A chat template that is wrong, refuses a chat, or takes too much."


class TooMuch(Exception): "A template went over its bounds."


# ---- where it is
def source_of(where,         # a model's folder, its tokenizer_config.json as a dict, or the metadata of a GGUF file
              name='default',   # which one, if there are several: default, tool_use, ...
             ):
    "The text of the chat template, None if there is none."
    if not isinstance(where, Mapping): return _of_folder(Path(where), name)
    if name != 'default' and (found := where.get(f'tokenizer.chat_template.{name}')): return found
    found = where.get('tokenizer.chat_template', where.get('chat_template'))
    if isinstance(found, list):      # [{'name': 'default', 'template': ...}, ...]
        found = {t['name']: t['template'] for t in found if isinstance(t, dict) and 'template' in t}
    if isinstance(found, dict): found = found.get(name, found.get('default'))
    return found if isinstance(found, str) and found else None


def _of_folder(folder, name):
    own = [folder/'additional_chat_templates'/f'{name}.jinja'] * (name != 'default') + [folder/'chat_template.jinja']
    for file in own:
        if file.is_file(): return _read(file)
    for file in ('chat_template.json', 'tokenizer_config.json'):
        if not (folder/file).is_file(): continue
        try: config = json.loads(_read(folder/file, 1 << 28))
        except ValueError as e: raise fault(FileError, f'{folder/file} is no JSON: {e}', 'fetch it again') from e
        if isinstance(config, dict) and (found := source_of(config, name)): return found
    return None


def _read(file, most=LONGEST * 4):
    if file.stat().st_size > most: raise fault(FileError, f'{file} has {file.stat().st_size:,} bytes; {most:,} may be',
                                               help='it is no file of settings; see what it holds')
    return file.read_text(encoding='utf-8', errors='replace')


# ---- the sandbox
class Budget:
    "What a rendering may still use."
    def __init__(self): self.steps, self.made = STEPS, MADE

    def step(self, n=1):
        self.steps -= n
        if self.steps < 0: raise TooMuch(f'it takes more than {STEPS:,} steps')

    def size(self, value):
        "A value whose size is counted."
        if isinstance(value, (str, bytes)): most = TEXT
        elif isinstance(value, (list, tuple, dict)): most = STEPS
        else: return value
        self.made -= len(value)
        if len(value) > most: raise TooMuch(f'it makes a text or list longer than {most:,}')
        if self.made < 0: raise TooMuch(f'it makes more than {MADE:,} characters')
        return value


WIDE = re.compile(r'[*\d]{6,}')      # in a format: a width that no conversation needs

def forecast(fn, args, kw):
    "Refuse a call whose result would be huge, before it is made."
    name = getattr(fn, '__name__', '').removeprefix('do_')
    given = [getattr(fn, '__self__', None), *args, *kw.values()]
    if any(isinstance(a, int) and abs(a) > TEXT for a in given): raise TooMuch('it asks for a huge number of something')
    texts = [a for a in given if isinstance(a, str)]
    many = max((len(a) for a in given if isinstance(a, (list, tuple, str))), default=0)
    if name in ('replace', 'join', 'translate', 'sync_do_join') and many * max(map(len, texts[:3]), default=0) > MADE:
        raise TooMuch('it repeats a long text too often')
    if name == 'format' and texts and WIDE.search(texts[0]): raise TooMuch('it asks for a huge width')


@lru_cache(1)
def environment():
    "The sandbox. jinja2 is imported here, so that only who chats waits for it."
    from contextvars import ContextVar
    from jinja2 import ext, nodes, sandbox, utils
    from jinja2.exceptions import SecurityError, TemplateError as Wrong
    from jinja2.visitor import NodeTransformer
    budget = ContextVar('budget', default=Budget())

    class Counted(NodeTransformer):
        "Every loop says how long it is before it begins, and `~` is an operation like `+`."
        def visit_For(self, node):
            self.generic_visit(node)
            node.iter = nodes.Filter(node.iter, 'counted', [], [], None, None, lineno=node.lineno)
            return node
        def visit_Concat(self, node):
            self.generic_visit(node)
            return nodes.Filter(nodes.List(node.nodes), 'joined', [], [], None, None, lineno=node.lineno)

    class Sandbox(sandbox.ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset({'+', '*', '**', '%'})

        def _parse(self, *args): return Counted().visit(super()._parse(*args))

        def concat(self, parts):
            "The pieces of a template, a macro or a block."
            whole, size = [], 0
            for p in parts:
                whole.append(p)
                size += len(p)
                if size > TEXT: raise TooMuch(f'it makes a text longer than {TEXT:,}')
            return ''.join(whole)

        def call_binop(self, context, operator, a, b):
            if operator == '*':
                for many, n in ((a, b), (b, a)):
                    if isinstance(many, (str, list, tuple)) and isinstance(n, int) and len(many) * n > TEXT:
                        raise TooMuch(f'it makes a text or list longer than {TEXT:,}')
            if operator in ('*', '**') and all(isinstance(v, int) for v in (a, b)):
                bits = abs(a).bit_length() * abs(b) if operator == '**' else a.bit_length() + b.bit_length()
                if bits > 4096: raise TooMuch('it makes a huge number')
            if operator == '%' and isinstance(a, str):
                forecast(str.format, [a, *(b if isinstance(b, tuple) else [b])], {})
            budget.get().step()
            return budget.get().size(super().call_binop(context, operator, a, b))

        def wrap_str_format(self, value):
            "The methods format and format_map of a text."
            if (made := super().wrap_str_format(value)) is None: return None
            if WIDE.search(value.__self__): raise TooMuch('it asks for a huge width')
            return made

        def call(self, context, fn, /, *args, **kw):
            budget.get().step(CALL)
            forecast(fn, args, kw)
            return budget.get().size(super().call(context, fn, *args, **kw))

    def counted(values):
        if not hasattr(values, '__len__') and hasattr(values, '__iter__'):
            values = list(islice(values, budget.get().steps + 1))
        budget.get().step(len(values) + 1 if hasattr(values, '__len__') else 1)
        return values

    def joined(values):
        values = list(map(str, values))
        if sum(map(len, values)) > TEXT: raise TooMuch(f'it makes a text longer than {TEXT:,}')
        return ''.join(values)

    def bounded(filter):
        @wraps(filter)
        def call(*args, **kw):
            budget.get().step(CALL)
            forecast(filter, args, kw)
            return budget.get().size(filter(*args, **kw))
        return call

    class Generation(ext.Extension):
        "{% generation %} ... {% endgeneration %} marks what the model wrote; here it is only its content."
        tags = {'generation'}
        def parse(self, parser):
            next(parser.stream)
            return parser.parse_statements(['name:endgeneration'], drop_needle=True)

    def named(name):
        if str(name).startswith('_'): raise SecurityError(f'a namespace has no name {name!r}')

    class Namespace(utils.Namespace):
        "What a template stores its own variables in; names that begin with an underscore are Python's."
        def __init__(*args, **kw):      # one of its variables may be called self
            for name in dict(*args[1:], **kw): named(name)
            utils.Namespace.__init__(*args, **kw)
        def __setitem__(self, name, value):
            named(name)
            utils.Namespace.__setitem__(self, name, value)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    class Dict:
        "dict() and dict.fromkeys(), and no other way into Python's class."
        def __call__(self, *args, **kw): return dict(*args, **kw)
        def fromkeys(self, *args): return dict.fromkeys(*args)

    def raise_exception(message): raise Wrong(message)

    env = Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, ext.loopcontrols])
    env.filters.update(tojson=tojson)
    env.filters = {name: bounded(fn) for name, fn in env.filters.items()}
    env.filters.update(counted=counted, joined=joined)
    env.globals.update(raise_exception=raise_exception, strftime_now=lambda form: datetime.now().strftime(form),
                       namespace=Namespace, dict=Dict())
    env.budget = budget
    return env


@lru_cache(16)
def parsed(source): return environment().from_string(source)


def json_types(value):
    "A value as the types of JSON, which have no methods that do anything."
    if value is None or isinstance(value, (bool, int, float)): return value
    if isinstance(value, str): return str.__str__(value)
    if isinstance(value, dict): return {str(k): json_types(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)): return [json_types(v) for v in value]
    raise fault(TemplateError, f'a message holds {brief(value)}', 'only text, numbers, lists and dicts')


class Template:
    "A chat template: called with messages, it gives the text that the model continues."

    def __init__(self,
                 source,       # the template, as `source_of` finds it
                 special={},   # what it may name: {'bos_token': '<s>', 'eos_token': '</s>', ...}
                ):
        if len(source) > LONGEST:
            raise fault(TemplateError, f'a chat template of {len(source):,} characters; {LONGEST:,} may be',
                        help='it is no template; see what the file holds')
        self.source, self.special = source, dict(special)

    def __repr__(self): return f'Template({len(self.source)} characters)'

    def __call__(self,
                 messages,      # [{'role': 'user', 'content': 'hello'}, ...]
                 answer=True,   # whether the answer's beginning follows, for the model to go on
                 tools=None,    # descriptions of functions, as JSON schemas
                 **more,        # what this template asks for besides: enable_thinking=True
                )->str:
        "The conversation as one text."
        from jinja2 import exceptions
        env = environment()
        before = env.budget.set(Budget())
        said = dict(self.special, documents=None, **more)
        try:
            pieces = parsed(self.source).generate(messages=json_types(messages), tools=json_types(tools),
                                                    add_generation_prompt=answer, **said)
            return env.concat(pieces)
        except exceptions.TemplateSyntaxError as e:
            raise fault(TemplateError, f'the chat template is wrong in line {e.lineno}: {e.message}',
                        'fetch the model again, or go on without it: --raw') from e
        except exceptions.SecurityError as e:
            raise fault(TemplateError, f'the chat template does what the sandbox forbids: {e}',
                        'distrust this model; --raw goes on without its template') from e
        except exceptions.TemplateError as e:
            raise fault(TemplateError, f'the chat template refuses this conversation: {e}',
                        'what it takes stands in it: model.template') from e
        except (TooMuch, RecursionError, MemoryError, OverflowError) as e:
            why = ('it calls itself without end' if isinstance(e, RecursionError) else
                   str(e) if isinstance(e, TooMuch) else 'it takes all memory')
            raise fault(TemplateError, f'the chat template is stopped: {why}',
                        'distrust this model; --raw goes on without its template') from e
        except FucinaError: raise
        except Exception as e:      # Python's own, from what the template does with its data
            raise fault(TemplateError, f'the chat template fails: {type(e).__name__}: {e}',
                        'go on without it: --raw') from e
        finally: env.budget.reset(before)

    @classmethod
    def of(cls, model):
        "The template of a loaded model; an error that says what to do if it has none."
        source = getattr(model, 'template', None)
        if not source:
            raise fault(TemplateError, 'this model has no chat template: it goes on with a text, it does not answer',
                        'fucina run --raw "Once upon a time", or fl.llm.generate(model, tok.encode(text))')
        if isinstance(source, cls): return source
        return cls(source, special_texts(model.tokenizer))


def special_texts(tok):
    "bos_token and eos_token as texts, and what else a tokenizer calls by name."
    found = {}
    for name in ('bos', 'eos', 'unk', 'pad'):
        if (id := getattr(tok, name, None)) is not None:
            found[f'{name}_token'] = next((t for t, i in tok.special.items() if i == id), None) or tok.piece(id)
    return found


def roles_of(messages):
    "Check a conversation: a list of dicts with a role and a content."
    if not isinstance(messages, (list, tuple)) or not all(isinstance(m, dict) for m in messages):
        raise fault(TemplateError, f'messages are a list of dicts, not {brief(messages)}',
                    "[{'role': 'user', 'content': 'hello'}]")
    for m in messages:
        if 'role' not in m or not ({'content', 'tool_calls'} & m.keys()):
            raise fault(TemplateError, f'a message has {" ".join(m) or "nothing"}',
                        did_you_mean('', FIELDS, 'it needs'))
    return [{k: v for k, v in m.items() if v is not None} for m in messages]      # what is None is not there
