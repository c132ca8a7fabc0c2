"""Words a second that a server says to one client and to eight, and what serving adds to a word.

    python -m benchmarks.serving MODEL.gguf [THREADS]

Rounds of turns: the model alone in a loop, the scheduler with one answer, the scheduler with eight. The best round of
each counts. What serving adds is the time of a word in the scheduler beside that of a word in the loop."""
import sys, time
import numpy as np
import fucinalib as fl
from fucinalib.serve import Job, Scheduler

WORDS, ROUNDS, CLIENTS = 32, 5, 8


def cases(torch):
    "None for the table: a model is a file, which has to be given."
    return ()


def in_a_loop(model, ids):
    "Words a second without a server."
    cache = model.cache()
    y = model(ids, cache=cache, last=True)
    start = time.perf_counter()
    for _ in range(WORDS): y = model([int(y.data.argmax())], cache=cache, last=True)
    return WORDS / (time.perf_counter() - start)


def served(line, clients, ids):
    "Words a second that all clients hear together, once each has heard its first."
    made = [fl.llm.generate(line.model, [*ids, 100 + i], max_new=WORDS + 1 + clients, temperature=0, ignore_eos=True)
            for i in range(clients)]
    line.submit(*[Job(m, lambda step: None) for m in made])
    while not all(m.ids for m in made): line.turn()
    before, start = sum(len(m.ids) for m in made), time.perf_counter()
    while not any(m.finish for m in made): line.turn()
    rate = (sum(len(m.ids) for m in made) - before) / (time.perf_counter() - start)
    while line.turn(): pass
    return rate


def main(path, threads=None):
    fl.set_num_threads(int(threads or fl.get_num_threads()))
    model, found = fl.llm.load(path), []
    line, ids = Scheduler(model, seats=CLIENTS), list(range(200, 230))
    for _ in range(ROUNDS): found.append((in_a_loop(model, ids), served(line, 1, ids), served(line, CLIENTS, ids)))
    loop, one, many = np.max(found, axis=0)
    print(f'{fl.get_num_threads()} threads: {loop:.1f} words a second in a loop, {one:.1f} to one client, '
          f'{many:.1f} to {CLIENTS} clients together, {many / one:.2f} times one')
    print(f'serving adds {100 * (loop / one - 1):.1f} % to a word of one client')


if __name__ == '__main__': main(*sys.argv[1:])
