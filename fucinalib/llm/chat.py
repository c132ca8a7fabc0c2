"""A conversation: the template makes one text of it, and each turn reads only what is new.

The cache of keys and values keeps what the model has read and said. The next turn's text begins with the same text,
so only the end of the answer, the new question and the beginning of the next answer are read.
"""
from types import SimpleNamespace
from typing import NamedTuple
from ..errors import OptionError, OptionTypeError, brief, fault, some
from .unfit import check_model
from .templates import Template, TemplateError, roles_of, special_texts

__all__ = ['Chat', 'Turn', 'ContextFull', 'encode_chat', 'prompt_ids', 'end_tokens']

# What templates call the switch of thinking; each reads the one it knows.
THINK = 'enable_thinking', 'thinking'
ROLES = 'system', 'user', 'assistant', 'tool'


class ContextFull(OptionError): "A conversation that is longer than what the model can see."


class Turn(NamedTuple):
    "What one answer took."
    prompt: int       # tokens of the conversation before the answer
    read: int         # of them, read in this turn; the rest was in the cache
    answer: int       # tokens of the answer, with the one that ends it
    finish: str       # 'stop', 'length', or 'cut' if whoever listened left
    first: float      # seconds until the first token
    rest: float       # seconds for the others

    @property
    def read_rate(self): return self.read / self.first if self.first else 0.

    @property
    def answer_rate(self): return (self.answer - 1) / self.rest if self.answer > 1 and self.rest else 0.


# ---- ids
def _texts(value):
    "Every text in a message."
    if isinstance(value, str): yield value
    elif isinstance(value, dict):
        for k, v in value.items(): yield from (str(k), *_texts(v))
    elif isinstance(value, (list, tuple)):
        for v in value: yield from _texts(v)


def _changed(value, change):
    if isinstance(value, str): return change(value)
    if isinstance(value, dict): return {change(str(k)): _changed(v, change) for k, v in value.items()}
    return [_changed(v, change) for v in value] if isinstance(value, (list, tuple)) else value


def check_roles(messages, special, pattern):
    "A role is a plain name: a template writes it beside its own marks, where it could end a turn and begin another."
    marks = {c for text in special for c in text if not c.isalnum()} - {*' _-.:='}
    for role in (m['role'] for m in messages):
        if isinstance(role, str) and role in ROLES: continue
        if not isinstance(role, str) or not role.isprintable() or marks & {*role} or pattern.search(role):
            raise fault(TemplateError, f'{brief(role)} is no role: a role is a name, without marks of turns',
                        help=f'most templates know {" ".join(ROLES)}')


def disarm(messages, special, more=None):
    """(messages whose special tokens have a mark inside, so what else goes into the template, the mark); the mark is
    None if there are none. What the model said itself stays."""
    import regex
    pattern = regex.compile('|'.join(map(regex.escape, sorted(special, key=len, reverse=True))) or r'(?!)')
    check_roles(messages, special, pattern)
    said = [t for m in messages if m['role'] != 'assistant' for t in _texts(m)] + [*_texts(more)]
    if not any(map(pattern.search, said)): return messages, more, None
    used = set(''.join(_texts([messages, more])))
    mark = next(chr(c) for c in range(0xE000, 0xF900) if chr(c) not in used)
    split = lambda text: pattern.sub(lambda m: m[0][0] + mark + m[0][1:], text)
    return [m if m['role'] == 'assistant' else _changed({**m, 'role': ''}, split) | dict(role=m['role'])
            for m in messages], _changed(more, split), mark


def encode_marked(tok, text, mark):
    "Ids of a rendered text in which only the template's own special tokens count."
    if mark is None: return tok.encode(text, special=True)
    text = text.replace(f'\\u{ord(mark):04x}', mark)      # as JSON may have written it
    first, *parts = text.split(mark)
    ids, before = tok.encode(first, special=True), next(iter(tok.special), '')
    for part in parts: ids += tok.encode(before + part, special=True)[bool(before):]      # not the begin of a text
    return ids


def encode_chat(tok,         # a Tokenizer
                template,    # a Template
                messages,    # [{'role': 'user', 'content': 'hello'}, ...]
                **more,      # for the template: answer, tools, enable_thinking, ...
               ):
    "Ids of a conversation. Markers of turns in what somebody wrote are text: only the template makes turns."
    messages, more, mark = disarm(roles_of(messages), tok.special, more)
    return encode_marked(tok, template(messages, **more), mark)


def prompt_ids(tok, text):
    "Ids of a text that the model goes on with, as it was trained: behind the token that begins one, if it has one."
    return [tok.bos] * bool(tok.add_bos and tok.bos is not None) + tok.encode(text)


def end_tokens(model, template=None):
    "The ids that end an answer: those of the model, and what the template writes behind one."
    tok = model.tokenizer
    ends = {tok.eos, *getattr(model, 'ends', ())}
    if template is not None:
        said = 'ANSWER OF THE MODEL'
        try: text = template([dict(role='user', content='a'), dict(role='assistant', content=said),
                              dict(role='user', content='b')], answer=False)
        except TemplateError: text = ''
        after = text.partition(said)[2].lstrip()
        ends |= {i for t, i in tok.special.items() if after.startswith(t) and not t.startswith('</think')}
    return frozenset(ends - {None})


# ---- the conversation
class Chat:
    "Talk with a model: `for piece in chat.stream('hello'): print(piece, end='')`."

    def __init__(self,
                 model,            # of fl.llm.load
                 system=None,      # who it is to be; None: what its template says; '': nothing
                 think=False,      # whether it may think aloud first, where the model can
                 template=None,    # another chat template than the model's: its text
                 tools=None,       # descriptions of functions it may call
                 max_new=None,     # tokens of an answer at most; None: as many as the context holds
                 **options,        # of fl.llm.generate: temperature, top_p, seed, ...
                ):
        check_model(model)
        if not isinstance(system, (str, type(None))):
            raise fault(OptionTypeError, f'system is a text, not {brief(system)}', help="system='Be brief.'")
        self.model, self.tok, self.system, self.think = model, model.tokenizer, system, bool(think)
        self.template = Template(template, special_texts(self.tok)) if isinstance(template, str) else \
            template or Template.of(model)
        self.tools, self.max_new, self.options = tools, max_new, options
        self.shown = False      # whether control tokens are in the text: some write marks of calls with them
        self.ends = end_tokens(model, self.template)
        self.clear()

    def __repr__(self):
        turns = some(sum(m['role'] == 'user' for m in self.messages), 'turn')
        return f'Chat({turns}, {self.used} of {self.capacity} tokens)'

    def clear(self):
        "Forget what was said; the system text stays."
        from .generation import Context
        self.messages, self.said, self.text, self.last = [], [], '', None
        self.context = Context(self.model)

    def restore(self,
                messages,   # of OpenAI; a first one of the system is the new system text
               ):
        "Go on from a conversation; the cache keeps what it begins with. One that is refused changes nothing."
        from .generation import common
        messages, before = roles_of(messages), (self.system, self.messages)
        for m in messages:
            if isinstance(m.get('content', ''), str): continue
            raise fault(OptionTypeError, f'a message is a text, not {brief(m["content"])}', "dict(m, content='hello')")
        if messages and messages[0]['role'] == 'system': self.system, messages = messages[0]['content'], messages[1:]
        self.messages = messages
        try: ids = self._ids()
        except Exception:
            self.system, self.messages = before
            raise
        self.said, self.text, self.last = [], '', None
        if not self.context.cut(common(self.context.ids, ids)): self.context.clear()

    def undo(self):
        "Take the last question back, with all that followed; the question, or None if there is none."
        at = max((i for i, m in enumerate(self.messages) if m['role'] == 'user'), default=None)
        if at is None: return None
        asked, _ = self.messages[at]['content'], self.restore(self.messages[:at])
        return asked

    def whole(self):
        "The messages, the system text in front if there is one: what `restore` takes."
        return self._with_system(self.messages)

    def count(self):
        "Tokens of the conversation, read or not."
        return len(self._ids())

    def _ids(self):
        return encode_marked(self.tok, *self.render(self.messages, answer=False)) if self.messages else []

    @property
    def capacity(self):
        "Tokens that the model can see."
        return int(getattr(self.model.config, 'context', 0) or 1 << 30)

    @property
    def used(self):
        "Tokens of the conversation that are in the cache."
        return len(self.context)

    def _with_system(self, messages):
        return messages if self.system is None else [dict(role='system', content=self.system), *messages]

    def render(self, messages, answer=True):
        "(the conversation as a text, the mark that disarms special tokens in it or None)"
        whole, tools, mark = disarm(self._with_system(roles_of(messages)), self.tok.special, self.tools)
        more = dict(answer=answer, tools=tools, **dict.fromkeys(THINK, self.think))
        if self.system is None: return self.template(whole, **more), mark
        if self.system == '': return self._silent(whole[1:], whole, more), mark
        try: text = self.template(whole, **more)
        except TemplateError: text = ''
        return (text if whole[0]['content'].strip() in text else self.template(_folded(whole), **more)), mark

    def _silent(self, messages, whole, more):
        "Without a system turn: the template's own is made empty, if it would write one."
        text = self.template(messages, **more)
        try: named = self.template([dict(role='system', content='SYSTEM TEXT'), *messages], **more)
        except TemplateError: return text
        before, _, after = named.partition('SYSTEM TEXT')
        own = text.startswith(before) and text.endswith(after) and before.strip() and len(text) >= len(before + after)
        return self.template(whole, **more) if own and 'system' in before else text

    def _prompt(self, messages):
        "(text of the conversation, its ids); what is in the cache is not encoded again."
        text, mark = self.render(messages)
        plain = text.replace(mark, '') if mark else text
        rest = plain[len(self.text):]
        if self.text and plain.startswith(self.text) and (rest.startswith(tuple(self.tok.special)) or not rest):
            cut = len(text) - len(rest) if mark is None else _place(text, mark, len(self.text))
            return plain, self.said + encode_marked(self.tok, text[cut:], mark)
        return plain, encode_marked(self.tok, text, mark)

    def ask(self, text, **options):
        "The whole answer as a text."
        return ''.join(self.stream(text, **options))

    def stream(self,
               text,        # what you say
               **options,   # of fl.llm.generate, for this answer
              ):
        "The answer in pieces, as they come. Leaving the loop keeps what was said until then."
        if not isinstance(text, str):
            raise fault(OptionError, f'a turn is a text, not {brief(text)}', "chat.ask('hello')")
        return self._answer([*self.messages, dict(role='user', content=text)], options)

    def reply(self,
              messages,    # what follows in the conversation: results of tools, say
              **options,   # of fl.llm.generate, for this answer
             ):
        "The answer in pieces, like that of `stream`."
        return self._answer([*self.messages, *messages], options)

    def _answer(self, messages, options):
        from .generation import generate
        plain, ids = self._prompt(messages)
        room = self.capacity - len(ids)
        if room < 1:
            raise fault(ContextFull, f'the conversation has {len(ids)} tokens, and this model sees {self.capacity}',
                        'take the last turn back, chat.undo() or /undo, or begin anew: chat.clear() or /clear')
        options = {**self.options, **options}
        most = min(options.pop('max_new', None) or self.max_new or room, room)
        options['stop'] = [*_listed(options.get('stop', ())), *self.ends]
        made, before = generate(self.model, ids, max_new=most, context=self.context, **options), len(ids)
        made.goes_on = False
        if self.shown: made.tokenizer = SimpleNamespace(stream=lambda: self.tok.stream(special=True))
        try:
            for step in made:
                if step.text: yield step.text
        except KeyboardInterrupt:
            self.context.clear()      # it may have stopped between two layers
            raise
        except GeneratorExit: raise
        except BaseException:
            made.ids.clear()
            raise
        finally: self._remember(messages, plain, made, before)

    def _remember(self, messages, plain, made, before):
        "What was said joins the conversation; a turn without a token, or one that failed, was none."
        took = made.speed()
        self.last = Turn(before, before - self.context.reused, len(made.ids), made.finish or 'cut',
                         took['prompt_seconds'], took['seconds'])
        if not made.ids: return
        self.messages = [*messages, dict(role='assistant', content=made.text)]
        new = [i for i in made.ids if i not in self.ends]
        self.said, whole = [*made.prompt[:before], *new], self.tok.decode(new) == made.text
        self.text = plain + made.text if whole else ''      # cut within a token: what was said is encoded anew


def _listed(stop): return [stop] if isinstance(stop, (str, int)) else list(stop)


def _place(text, mark, n):
    "Where the n-th character of a marked text is, marks not counted."
    for i, c in enumerate(text):
        if n == 0: return i
        n -= c != mark
    return len(text)


def _folded(messages):
    "The system's text at the head of the first turn, for templates that have no place for it."
    system, first, *rest = messages
    return [dict(first, content=f'{system["content"]}\n\n{first["content"]}'), *rest]
