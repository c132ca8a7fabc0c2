"""How a conversation becomes one text: the template that a model's file brings, run in jinja2's sandbox.

A template is a program by a stranger. It sees plain data, changes nothing, and may take so many steps and write so
much text, no more. It gets what the library `transformers` gives it, since templates are written for that.
"""
import json, re
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from datetime import datetime
from functools import lru_cache, wraps
from itertools import chain, islice
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
    def __init__(self): self.steps, self.made, self.weights = STEPS, MADE, {}

    def step(self, n=1):
        self.steps -= n
        if self.steps < 0: raise TooMuch(f'it takes more than {STEPS:,} steps')

    def make(self, n):
        self.made -= n
        if self.made < 0: raise TooMuch(f'it makes more than {MADE:,} characters')

    def size(self, value):
        "A value whose size is counted."
        if isinstance(value, (str, bytes)): most = TEXT
        elif isinstance(value, (list, tuple, dict)): most = STEPS
        else: return value
        if len(value) > most: raise longer(most)
        self.make(len(value))
        self.weigh(value)
        return value

    def weigh(self, value):
        "About how many characters a value has when it is written out, however often a list stands in it."
        if isinstance(value, (str, bytes)): return len(value) + 2
        if isinstance(value, int): return value.bit_length() // 3 + 1
        if not isinstance(value, WRITTEN): return 8
        if id(value) in self.weights: return self.weights[id(value)][0]
        inside = chain.from_iterable(value.items()) if isinstance(value, dict) else \
            chain.from_iterable(value) if isinstance(value, ItemsView) else value
        weight = 2
        self.make(8 + len(value))
        for v in inside:
            weight += 2 + self.weigh(v)
            if weight > 2 * TEXT: raise longer(TEXT)
        if weight > 64: self.weights[id(value)] = weight, value      # with the value, so that its id stays its own
        return weight

    def weigh_all(self, args, kw):
        if sum(map(self.weigh, chain(args, kw.values()))) > 2 * TEXT: raise longer(TEXT)


WHOLE = 'do_join', 'sync_do_join', 'do_sum', 'sync_do_sum'      # filters that take all that an iterator gives
WRITTEN = list, tuple, dict, set, frozenset, KeysView, ValuesView, ItemsView
WIDE = re.compile(r'[*\d]{6,}')      # in a format: a width that no conversation needs
longer = lambda most: TooMuch(f'it makes a text or list longer than {most:,}')
plain = lambda text: text.decode('latin-1') if isinstance(text, bytes) else text


def forecast(fn, args, kw):
    "Refuse a call whose result would be huge, before it is made."
    name = getattr(fn, '__name__', '').removeprefix('do_').removeprefix('sync_do_')
    given = [plain(a) for a in (getattr(fn, '__self__', None), *args, *kw.values())]
    if any(isinstance(a, int) and abs(a) > TEXT for a in given): raise TooMuch('it asks for a huge number of something')
    texts = [a for a in given if isinstance(a, str)]
    many = max((len(a) for a in given if isinstance(a, (list, tuple, str))), default=0)
    if name == 'join' and many * max(map(len, texts[:3]), default=0) > MADE:
        raise TooMuch('it repeats a long text too often')
    if name in ('format', 'format_map') and texts and WIDE.search(texts[0]): raise TooMuch('it asks for a huge width')
    if name in LENGTHS and LENGTHS[name](*_as_asked(given[:1 + len(args)]), **kw) > TEXT: raise longer(TEXT)


def _as_asked(given):
    "A method's own text and the arguments; of a filter the arguments, without what jinja2 puts in front."
    if given[0] is not None: return given
    return given[2:] if type(given[1]).__name__ in ('Sandbox', 'EvalContext') else given[1:]


# How many characters or entries a call makes, at most: it is asked as the call is.
def _expandtabs(s, tabsize=8): return len(s) + s.count('\t') * tabsize

def _indent(s, width=4, first=False, blank=False):
    if not isinstance(s, str): return 0
    return len(s) + (1 + len(s.splitlines())) * (len(width) if isinstance(width, str) else width)

def _wordwrap(s, width=79, break_long_words=True, wrapstring=None, break_on_hyphens=True):
    "A long line is cut by copying its rest, over and over."
    if not isinstance(s, str) or width < 1: return 0
    lines = s.splitlines()
    longest = max(map(len, lines), default=0)
    return max(len(s) + (len(lines) + 2 * len(s) // width) * len(wrapstring or '.'), longest * longest // width >> 6)

def _tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    lines, depth = _lines(value, {})
    width = len(indent) if isinstance(indent, str) else max(indent or 0, 0)
    return depth * width + lines * max([2, *map(len, separators or ())])

def _lines(value, seen):
    "(lines of a value as JSON, the sum of how deep they stand)"
    if not isinstance(value, (list, tuple, dict)): return 0, 0
    if id(value) not in seen:
        found = [_lines(v, seen) for v in (value.values() if isinstance(value, dict) else value)]
        lines = sum(n + 1 for n, _ in found)
        seen[id(value)] = lines + 1, sum(d for _, d in found) + lines
    return seen[id(value)]

def _translate(s, table, delete=None):
    return len(s) * max((len(v) for v in table.values() if isinstance(v, str)), default=1) if isinstance(table, dict) \
        else len(s)

def _replace(s, old, new, count=None):
    s, old, new = map(str, (s, old, new))
    return len(s) + s.count(old) * max(len(new) - len(old), 0)

def _format(s, *args, **kw): return len(s) + max(s.count('{'), s.count('%')) * _longest([*args, *kw.values()]) // 16

def _longest(values): return max((Budget().weigh(v) for v in values), default=0)

def _urlize(value, trim_url_limit=None, nofollow=False, target=None, rel=None, extra_schemes=None):
    each = 80 + len(target or '') + len(rel or '') + len(extra_schemes or ())
    return len(value) + len(value.split()) * each if isinstance(value, str) else 0

def _sum(iterable, attribute=None, start=0):
    return len(iterable) * Budget().weigh(iterable) // 16 if isinstance(start, (list, tuple)) else 0

def _batch(value, linecount, fill_with=None): return linecount * (TEXT // STEPS)

def _round(value, precision=0, method='common'): return 0 if abs(precision) < 4096 else TEXT + 1


LENGTHS = dict(expandtabs=_expandtabs, indent=_indent, wordwrap=_wordwrap, tojson=_tojson, translate=_translate,
               replace=_replace, format=_format, format_map=_format, urlize=_urlize, sum=_sum, batch=_batch,
               slice=_batch, round=_round)


@lru_cache(1)
def environment():
    "The sandbox. jinja2 is imported here, so that only who chats waits for it."
    from contextvars import ContextVar
    from jinja2 import ext, nodes, sandbox, utils
    from jinja2.exceptions import SecurityError, TemplateError as Wrong
    from jinja2.visitor import NodeTransformer
    budget = ContextVar('budget', default=Budget())

    class Counted(NodeTransformer):
        "Loops and lists say how long they are, a loop before it begins; `~` is an operation like `+`."
        def visit_For(self, node):
            self.generic_visit(node)
            node.iter = nodes.Filter(node.iter, 'counted', [], [], None, None, lineno=node.lineno)
            return node
        def visit_Concat(self, node):
            self.generic_visit(node)
            return nodes.Filter(nodes.List(node.nodes), 'joined', [], [], None, None, lineno=node.lineno)
        def visit_List(self, node):
            self.generic_visit(node)
            if getattr(node, 'ctx', 'load') != 'load': return node
            return nodes.Filter(node, 'sized', [], [], None, None, lineno=node.lineno)
        visit_Tuple = visit_Dict = visit_List

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
                    if isinstance(many, (str, bytes, list, tuple)) and isinstance(n, int) and len(many) * n > TEXT:
                        raise longer(TEXT)
            if operator in ('*', '**') and all(isinstance(v, int) for v in (a, b)):
                bits = abs(a).bit_length() * abs(b) if operator == '**' else a.bit_length() + b.bit_length()
                if bits > 4096: raise TooMuch('it makes a huge number')
            if operator == '%' and isinstance(a, (str, bytes)):
                forecast(str.format, [plain(a), *(b if isinstance(b, tuple) else [b])], {})
            budget.get().step()
            return budget.get().size(super().call_binop(context, operator, a, b))

        def wrap_str_format(self, value):
            "The methods format and format_map of a text."
            if (made := super().wrap_str_format(value)) is None: return None
            if WIDE.search(value.__self__): raise TooMuch('it asks for a huge width')
            def formatted(*args, **kw):
                if _format(value.__self__, *args, **kw) > TEXT: raise longer(TEXT)
                return made(*args, **kw)
            return formatted

        def call(self, context, fn, /, *args, **kw):
            budget.get().step(CALL)
            given = {k: v for k, v in kw.items() if k not in ('_loop_vars', '_block_vars')}      # jinja2's own
            budget.get().weigh_all(args, given)
            forecast(fn, args, given)
            return budget.get().size(super().call(context, fn, *args, **kw))

    def counted(values):
        if not hasattr(values, '__len__') and hasattr(values, '__iter__'):
            values = list(islice(values, budget.get().steps + 1))
        budget.get().step(len(values) + 1 if hasattr(values, '__len__') else 1)
        budget.get().weigh(values)
        return values

    def joined(values):
        values = list(map(str, values))
        if sum(map(len, values)) > TEXT: raise TooMuch(f'it makes a text longer than {TEXT:,}')
        return ''.join(values)

    def bounded(filter):
        @wraps(filter)
        def call(*args, **kw):
            budget.get().step(CALL)
            if filter.__name__ in WHOLE: args = [counted(a) if isinstance(a, Iterator) else a for a in args]
            budget.get().weigh_all(args, kw)
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
        def __repr__(self): return '<Namespace>'      # what is in it may be without end
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

    def strftime_now(form):
        if len(form) > 1000: raise TooMuch('it writes the date at length')      # each %999d is as wide as it says
        return datetime.now().strftime(form)

    env = Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, ext.loopcontrols])
    env.filters.update(tojson=tojson)
    env.filters = {name: bounded(fn) for name, fn in env.filters.items()}
    env.filters.update(counted=counted, joined=joined, sized=lambda value: budget.get().size(value))
    env.globals.pop('lipsum')      # words at random, as many as one likes
    env.globals.update(raise_exception=raise_exception, strftime_now=strftime_now, namespace=Namespace, dict=Dict())
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
        if not isinstance(source, str):
            raise fault(TemplateError, f'a chat template is a text, not {brief(source)}', help='model.template')
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
