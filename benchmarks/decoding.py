"""Words a second of a language model, read and written.

    python -m benchmarks.decoding MODEL.gguf [THREADS]      beside llama.cpp where the package xllamacpp is installed

Ours with x as it is (f32) and rounded to 8 bits (q8), in turns with llama.cpp, which rounds it, too: a prompt of 256
words and 64 words behind it."""
import json, sys, time
import numpy as np
import fucinalib as fl

PROMPT, WRITTEN, ROUNDS = 256, 64, 5


def cases(torch):
    "None for the table: a model is a file, which has to be given."
    return ()


def ours(path, activation):
    model = fl.llm.load(path, activation=activation)
    def run(ids):
        cache, before = model.cache(PROMPT + WRITTEN), time.perf_counter()
        y = model(ids, cache=cache, last=True)
        between = time.perf_counter()
        for _ in range(WRITTEN): y = model([int(y.data.argmax())], cache=cache, last=True)
        return PROMPT / (between - before), WRITTEN / (time.perf_counter() - between)
    return run


def theirs(path, threads):
    "llama.cpp, or None where it is not installed."
    try: import xllamacpp
    except ImportError: return None
    p = xllamacpp.CommonParams()
    p.model.path, p.n_ctx, p.n_parallel = path, 2048, 1
    p.cpuparams.n_threads = p.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(p)
    def run(ids):
        told = server.handle_completions(dict(prompt=ids, n_predict=WRITTEN, temperature=0, cache_prompt=False,
                                              ignore_eos=True, stream=False, samplers=[]))
        t = (json.loads(told) if isinstance(told, str) else told)['timings']
        return t['prompt_per_second'], t['predicted_per_second']
    return run


def main(path, threads=None):
    threads = int(threads or fl.get_num_threads())
    fl.set_num_threads(threads)
    runs = {'ours, f32': ours(path, 'f32'), 'ours, q8': ours(path, 'q8'), 'llama.cpp': theirs(path, threads)}
    found = {name: [] for name, run in runs.items() if run}
    for k in range(ROUNDS):
        ids = [(i * 7919 + k) % 40000 + 100 for i in range(PROMPT)]
        for name in found: found[name].append(runs[name](ids))
    for name, rates in found.items():
        read, written = np.max(rates[1:], axis=0)
        print(f'{name:10} {threads} threads: {read:6.0f} words a second read, {written:5.0f} written')


if __name__ == '__main__': main(*sys.argv[1:])
