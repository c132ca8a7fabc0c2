"""What a model says, told apart while it comes: thoughts, the answer, calls of tools.

Text that may still become a mark is held back, as stop strings are in chapter 45."""
import json, secrets
from ..llm.generation import open_end
from .tools import loose_call

__all__ = ['Speech', 'cut_at']

THINK = '<think>', '</think>'


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
        self.dialect, self.tools, self.forced, self.mark = dialect, tools, forced, ''

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
        if text.startswith(THINK[0]): self.state, self.held = 'opened', text[len(THINK[0]):]
        elif end or not THINK[0].startswith(text): self.state = 'answer'
        return []

    def in_opened(self, end): return self.pass_lines('thought', end)
    def in_closed(self, end): return self.pass_lines('answer', end)

    def pass_lines(self, state, end):
        "Blank lines around a thought belong neither to it nor to the answer."
        self.held = self.held.lstrip('\n')
        if self.held or end: self.state = state
        return []

    def in_thought(self, end):
        said, mark, self.held = cut_at(self.held, THINK[1:], end)
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
