"""What a model says, told apart while it comes: thoughts, the answer, calls of tools.

Text that may still become a mark is held back, as stop strings are in chapter 45."""
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
    held = 0 if end else max((n for m in marks for n in range(1, len(m)) if text.endswith(m[:n])), default=0)
    return text[:len(text) - held], None, text[len(text) - held:]


class Speech:
    "Pieces of text in, changes of a message out: {'content': ...} or {'reasoning_content': ...}."
    def __init__(self,
                 state='begin',  # 'opened' if the prompt opened a block of thoughts, 'answer' if there are none
                ):
        self.state, self.held, self.called = state, '', 0

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
        said, self.held = self.held, ''
        return [dict(content=said)]
