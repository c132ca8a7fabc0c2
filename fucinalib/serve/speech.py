"""What a model says, told apart while it comes: thoughts, the answer, calls of tools.

Text that may still become a mark is held back, as stop strings are in chapter 45."""
import json, re, secrets
from ..llm.generation import open_end
from .tools import loose_call, object_of

__all__ = ['Speech', 'Channels', 'cut_at']

THINK = '<think>', '</think>'
# what begins a thought, and what ends it: Qwen and DeepSeek; Magistral; Gemma 4
THOUGHTS = dict([THINK, ('[THINK]', '[/THINK]'), ('<|channel>thought', '<channel|>')])


def cut_at(text,       # what came so far and was not sent
           marks,      # texts to look for
           end=False,  # whether nothing follows
          ):
    "(what is certain, the first mark behind it or None, the rest)"
    found = [(text.find(m), -len(m), m) for m in marks if m in text]
    if found:
        at, _, mark = min(found)
        return text[:at], mark, text[at + len(mark):]
    held = 0 if end else open_end(text, marks)
    return text[:len(text) - held], None, text[len(text) - held:]


FENCE = '```json', '```'

class Speech:
    "Pieces of text in, changes of a message out: {'content': ...}, {'reasoning_content': ...}, {'tool_calls': [...]}."
    def __init__(self,
                 state='begin',  # 'opened' if the prompt opened a block of thoughts, 'answer' if there are none
                 dialect=None,   # how calls of tools are written, if there are any
                 tools={},       # name -> schema of the arguments
                 forced=False,   # whether all that is said is a call
                ):
        self.state, self.held, self.called = state, '', 0
        self.dialect, self.tools, self.forced, self.mark, self.close = dialect, tools, forced, '', THINK[1]

    def push(self, text, end=False):
        "What is certain now."
        self.held, changes = self.held + text, []
        while True:
            before = self.state
            changes += getattr(self, f'in_{self.state}')(end)
            if self.state == before: return [c for c in changes if any(c.values())]

    def in_begin(self, end):
        "Before the first letter: a thought, or the answer."
        text = self.held.lstrip()
        for begin, close in THOUGHTS.items():
            if text.startswith(begin): self.state, self.held, self.close = 'opened', text[len(begin):], close
        if self.state == 'begin' and (end or not any(b.startswith(text) for b in THOUGHTS)): self.state = 'answer'
        return []

    def in_opened(self, end): return self.pass_lines('thought', end)
    def in_closed(self, end): return self.pass_lines('answer', end)

    def pass_lines(self, state, end):
        "Blank lines around a thought belong neither to it nor to the answer."
        self.held = self.held.lstrip('\n')
        if self.held or end: self.state = state
        return []

    def in_thought(self, end):
        said, mark, self.held = cut_at(self.held, [self.close], end)
        thought = said.rstrip('\n')
        if mark: self.state = 'closed'
        elif not end: self.held = said[len(thought):] + self.held
        return [dict(reasoning_content=thought)]

    def in_answer(self, end):
        "At its first letter: whether all of it is a call."
        if self.dialect is None:
            said, self.held = self.held, ''
            return [dict(content=said)]
        text = self.held.lstrip()
        if self.forced or not self.dialect.open and text.startswith('{'): self.state = 'call'
        elif self.dialect.open or text or end: self.state = 'text'
        return []

    def in_text(self, end):
        "An answer in which a call may come."
        if self.called: self.held = self.held.lstrip()
        marks = [m for m in (self.dialect.open, FENCE[0]) if m]
        said, mark, self.held = cut_at(self.held, marks, end)
        if mark: self.state, self.mark, said = 'call', mark, said.rstrip() if mark == self.dialect.open else said
        elif not end:      # blanks before a call belong to nothing
            self.held = said[len(said.rstrip()):] + self.held
            said = said.rstrip()
        return [dict(content=said)]

    def in_call(self, end):
        "Up to its end, and then it is read."
        close = FENCE[1] if self.mark == FENCE[0] else self.dialect.close if self.mark else ''
        inside, mark, rest = cut_at(self.held, [close] if close else [], True)
        if not mark and not end: return []
        read = loose_call if self.mark == FENCE[0] else self.dialect.read
        calls = read(inside.strip(), self.tools)
        self.state, self.held, text = 'text', rest, self.mark + inside + (mark or '')
        if not mark: self.held = ''
        return [dict(tool_calls=[self.call(*c)]) for c in calls] or [dict(content=text)]

    def call(self, name, given):
        "A call in OpenAI's form."
        self.called += 1
        return dict(index=self.called - 1, id=f'call_{secrets.token_hex(12)}', type='function',
                    function=dict(name=name, arguments=json.dumps(given, ensure_ascii=False)))


HEADS = '<|start|>', '<|channel|>', '<|constrain|>', 'to=', 'assistant'      # what the head of a message begins with
ENDS = '<|end|>', '<|call|>', '<|return|>', '<|start|>', '<|channel|>'       # what is behind its text

class Channels(Speech):
    "Speech in messages with heads, as of gpt-oss: analysis is a thought, commentary to somebody a call, all else text."
    def __init__(self, state='begin', *how):
        super().__init__(state, *how)
        self.name, self.begun, self.heard = None, False, set()
        if state != 'answer': self.state = 'head'
        elif not self.forced: self.state = 'text'

    def in_head(self, end):
        "Up to its mark: which channel, and who is spoken to."
        head, mark, rest = cut_at(self.held, ['<|message|>'], end)
        if not mark: return self.headless(end)
        to, channel = re.search(r'\bto=(?:functions\.)?([\w.-]+)', head), re.search(r'<\|channel\|>\s*(\w+)', head)
        self.held, self.name, self.begun = rest, to and to[1], False
        thought = bool(channel) and channel[1] == 'analysis'
        called = to and self.dialect and (not thought or to[1] in self.tools)
        self.state = 'call' if called else 'thought' if thought else 'text'
        return []

    def headless(self, end):
        "Text that is no head is an answer; of a head that breaks off nothing is told."
        text = self.held.lstrip()
        if end and text.startswith('<|'): self.held = ''
        elif text and (end or not any(h.startswith(text) or text.startswith(h) for h in HEADS)): self.state = 'text'
        return []

    def in_thought(self, end): return self.pass_message('reasoning_content', end)
    def in_text(self, end): return self.pass_message('content', end)

    def pass_message(self, kind, end):
        "The text of a message, with a blank line between it and the one before."
        said, mark, rest = cut_at(self.held, ENDS, end)
        gap = '\n\n' if said and not self.begun and kind in self.heard else ''
        if said: self.begun, self.heard = True, self.heard | {kind}
        if mark: self.state = 'head'
        self.held = mark + rest if mark in HEADS else rest
        return [{kind: gap + said}]

    def in_call(self, end):
        "Up to the end of its message, and then it is read."
        if self.forced: return super().in_call(end)
        inside, mark, rest = cut_at(self.held, ENDS, True)
        if not mark and not end: return []
        given, self.state = object_of(inside), 'head'
        self.held = mark + rest if mark in HEADS else rest
        return [dict(content=inside) if given is None else dict(tool_calls=[self.call(self.name, given)])]
