"""Work done ahead of its use, on threads: the next batch is made while this one is computed with.

Results come in the order of the calls, however many threads there are. An error of a call arrives at whoever asks for
its result. A caller that stops early leaves nothing behind that waits: the threads are told, and they do not hold up
the end of the program either."""
import os, threading
from collections import deque
from contextvars import copy_context
from queue import SimpleQueue
from ..errors import ForkError, fault, named

__all__ = ['run_ahead', 'prefetch']


class _Task:
    "A call, and where its result will be."
    def __init__(self, call): self.call, self.context, self.done = call, copy_context(), SimpleQueue()

    def work(self):
        try: self.done.put((self.context.run(self.call), None))
        except BaseException as error: self.done.put((None, error))

    def result(self):
        value, error = self.done.get()
        if error is not None: raise error
        return value


def _serve(todo, stopped):
    "What a thread does: tasks in turn, until there is none or nobody wants more."
    while (task := todo.get()) is not None:
        if not stopped.is_set(): task.work()


def run_ahead(calls,      # functions without arguments, called in this order
              workers=1,  # threads; 0: none, each call when its result is wanted
              depth=2,    # results that may be ready for each thread
             ):
    "The results of `calls` in order, made ahead on threads."
    if workers == 0:
        for call in calls: yield call()
        return
    todo, stopped, waiting, home = SimpleQueue(), threading.Event(), deque(), os.getpid()
    for _ in range(workers): threading.Thread(target=_serve, args=(todo, stopped), daemon=True).start()
    def next_result():
        if os.getpid() != home:
            raise fault(ForkError, 'the threads that work ahead stayed in the parent', help='iterate anew in the child')
        return waiting.popleft().result()
    try:
        for call in calls:
            waiting.append(_Task(call))
            todo.put(waiting[-1])
            if len(waiting) >= workers * depth: yield next_result()
        while waiting: yield next_result()
    finally:
        stopped.set()
        for _ in range(workers): todo.put(None)


@named
def prefetch(source,    # anything to iterate over
             depth=2,   # values that may be ready
            ):
    "The values of `source`, taken from it ahead on one thread."
    end, it = object(), iter(source)
    def calls():
        while True: yield lambda: next(it, end)
    def values():
        for value in run_ahead(calls(), 1, depth):
            if value is end: return
            yield value
    return values()
