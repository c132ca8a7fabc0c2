"A model for many: who is next, what may be said, and the server that speaks OpenAI's protocol."
from .scheduler import Job, QueueFull, Scheduler
from ..elsewhere import of_package as _of_package

_ELSEWHERE = dict.fromkeys('run serve uvicorn Server app'.split(), 'fucina serve, in a shell')


def __getattr__(name): raise _of_package('fl.serve', name, globals(), _ELSEWHERE)
