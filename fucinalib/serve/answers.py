"""Answers in OpenAI's forms: whole, or as the chunks of a stream. Both are made of the same changes, so they agree."""
__all__ = ['Choice', 'whole_chat', 'chunk', 'whole_text', 'usage', 'listed_models', 'error_of']


class Choice:
    "One answer on its way: steps in, changes of its message out."
    def __init__(self, index, job, tokenizer, speech, top=None):
        self.index, self.job, self.tokenizer, self.speech, self.top = index, job, tokenizer, speech, top
        self.waiting, self.told, self.changes, self.finish = [], [], [], None

    def take(self, step, finish):
        "What a step changes: the parts of a message that are certain now. `finish` if it is the last."
        if self.top is not None: self.waiting.append(step)
        changes = self.speech.push(step.text, end=finish is not None)
        self.changes += changes
        if finish: self.finish = 'tool_calls' if self.speech.called else finish
        return changes

    def steps(self):
        "The steps whose shares were not told yet."
        steps, self.waiting = self.waiting, []
        self.told += steps
        return steps


def joined_message(changes):
    "A message, from all its changes."
    message = dict(role='assistant', content=None, refusal=None)
    for change in changes:
        for name, value in change.items(): message[name] = (message.get(name) or type(value)()) + value
    for call in message.get('tool_calls', ()): call.pop('index')
    if message['content'] is None and 'tool_calls' not in message: message['content'] = ''
    return message


# ---- shares
def written(tokenizer, id): return tokenizer.bytes([id]).decode('utf-8', 'backslashreplace')

def share_of_token(tokenizer, id, logprob):
    return dict(token=written(tokenizer, id), logprob=max(logprob, -9999.), bytes=list(tokenizer.bytes([id])))


def shares_of_chat(choice, steps):
    "logprobs of a chat: each token and the likeliest in its place."
    if choice.top is None: return None
    one = lambda *a: share_of_token(choice.tokenizer, *a)
    return dict(content=[one(s.id, s.logprob) | dict(top_logprobs=[one(*t) for t in s.top]) for s in steps],
                refusal=None)


def shares_of_text(choice, steps, begin=0):
    "logprobs of a completion; text_offset counts letters from `begin`."
    if choice.top is None: return None
    text = lambda id: written(choice.tokenizer, id)
    offsets, at = [], begin
    for step in steps:
        offsets.append(at)
        at += len(step.text)
    return dict(tokens=[text(s.id) for s in steps], token_logprobs=[s.logprob for s in steps],
                top_logprobs=[{text(i): p for i, p in s.top} for s in steps] if choice.top else None,
                text_offset=offsets)


# ---- forms
def usage(asked):
    "Tokens that were read and said. Those whose text was cut away count too."
    n, read = sum(len(j.made.ids) for j in asked.jobs), sum(map(len, asked.prompts))
    kept = sum(j.reused for j in asked.jobs[::max(1, len(asked.jobs) // len(asked.prompts))])
    return dict(prompt_tokens=read, completion_tokens=n, total_tokens=read + n,
                prompt_tokens_details=dict(cached_tokens=kept))


def head(asked, kind):
    return dict(id=asked.id, object=kind, created=asked.created, model=asked.name, system_fingerprint=None)


def whole_chat(asked):
    "A chat.completion."
    choices = [dict(index=c.index, message=joined_message(c.changes), logprobs=shares_of_chat(c, c.steps()),
                    finish_reason=c.finish) for c in asked.choices]
    return head(asked, 'chat.completion') | dict(choices=choices, usage=usage(asked))


def whole_text(asked):
    "A text_completion."
    def one(c):
        first = prompt_text(asked, c)
        return dict(index=c.index, text=first + ''.join(d['content'] for d in c.changes), finish_reason=c.finish,
                    logprobs=shares_of_text(c, c.steps(), len(first)))
    return head(asked, 'text_completion') | dict(choices=[*map(one, asked.choices)], usage=usage(asked))


def prompt_text(asked, choice):
    "What an echo says first."
    if not asked.echo: return ''
    return choice.tokenizer.decode(asked.prompts[choice.index * len(asked.prompts) // len(asked.jobs)])


def chunk(asked, choice, change=None, finish=None):
    "A part of a stream; without a choice the last one, which tells the usage."
    kind = 'chat.completion.chunk' if asked.kind == 'chat' else 'text_completion'
    found = head(asked, kind) | (dict(usage=None) if asked.counted else {})
    if choice is None: return found | dict(choices=[], usage=usage(asked))
    of = dict(index=choice.index, finish_reason=finish)
    steps = choice.steps()
    if asked.kind == 'chat':
        shares = shares_of_chat(choice, steps) if steps else None
        return found | dict(choices=[of | dict(delta=change or {}, logprobs=shares)])
    begin = len(prompt_text(asked, choice)) + sum(len(s.text) for s in choice.told[:len(choice.told) - len(steps)])
    shares = shares_of_text(choice, steps, begin) if steps else None
    return found | dict(choices=[of | dict(text=(change or {}).get('content', ''), logprobs=shares)])


def listed_models(serving):
    "What there is to ask."
    return [dict(id=name, object='model', created=serving.since, owned_by='fucinalib') for name in serving.names]


def error_of(message, kind='invalid_request_error', param=None, code=None):
    "An error in OpenAI's shape."
    return dict(error=dict(message=message, type=kind, param=param, code=code))
