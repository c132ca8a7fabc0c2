"""Words a second of a language model, read and written; seconds to load it and to its first word, and memory.

    python -m benchmarks.decoding MODEL.gguf [THREADS]      beside llama.cpp where the package xllamacpp is installed,
                                                            and torch where transformers and accelerate are

Ours with x as it is (f32) and rounded to 8 bits (q8), in turns with llama.cpp, which rounds it, too, and with torch
on the same weights unpacked to f32: a prompt of 256 words and 64 words behind it. What happens once is measured in a
process of its own for each side: seconds of loading, seconds until the first word behind a prompt of 30, and the most
memory, beside the size of the file."""
import json, subprocess, sys, time
from pathlib import Path
import numpy as np
import fucinalib as fl
from fucinalib.cli.bench import FIRST, first_token, peak

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


def server_of(path, threads):
    "llama.cpp with a model, or None where it is not installed."
    try: import xllamacpp
    except ImportError: return None
    p = xllamacpp.CommonParams()
    p.model.path, p.n_ctx, p.n_parallel = path, 2048, 1
    p.cpuparams.n_threads = p.cpuparams_batch.n_threads = threads
    return xllamacpp.Server(p)


def said_by(server, ids, n):
    "What llama.cpp measured while it said n words."
    told = server.handle_completions(dict(prompt=ids, n_predict=n, temperature=0, cache_prompt=False,
                                          ignore_eos=True, stream=False, samplers=[]))
    return (json.loads(told) if isinstance(told, str) else told)['timings']


def theirs(path, threads):
    server = server_of(path, threads)
    if server is None: return None
    def run(ids):
        t = said_by(server, ids, WRITTEN)
        return t['prompt_per_second'], t['predicted_per_second']
    return run


def unpacked(path, threads):
    "torch with the weights as f32, or None where it cannot read the file."
    try: import accelerate, gguf, torch, transformers      # noqa: F401
    except ImportError: return None
    torch.set_num_threads(threads)
    folder, name = Path(path).parent, Path(path).name
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32).eval()

    @torch.no_grad()
    def run(ids):
        before = time.perf_counter()
        y = model(torch.tensor([ids]), use_cache=True, logits_to_keep=1)
        between = time.perf_counter()
        for _ in range(WRITTEN): y = model(y.logits[:, -1:].argmax(-1), past_key_values=y.past_key_values)
        return PROMPT / (between - before), WRITTEN / (time.perf_counter() - between)
    return run


# ---- what happens once

def words(n, k=0): return [(i * 7919 + k) % 40000 + 100 for i in range(n)]


def begin(side, path, threads):
    "(seconds of loading, seconds to the first word, bytes of memory at most) of this process."
    fl.set_num_threads(threads)
    start = time.perf_counter()
    if side == 'llama.cpp': server = server_of(path, threads)
    else: model = fl.llm.load(path, activation=side)
    loaded = time.perf_counter() - start
    if side != 'llama.cpp': return loaded, first_token(model, words(FIRST)), peak()
    start = time.perf_counter()
    said_by(server, words(FIRST), 1)
    return loaded, time.perf_counter() - start, peak()


def begun(side, path, threads):
    "The same of a process of its own."
    code = f'from benchmarks.decoding import *; print(json.dumps(begin({side!r}, {path!r}, {threads})))'
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main(path, threads=None):
    threads = int(threads or fl.get_num_threads())
    fl.set_num_threads(threads)
    runs = {'ours, f32': ours(path, 'f32'), 'ours, q8': ours(path, 'q8'), 'llama.cpp': theirs(path, threads),
            'torch, f32': unpacked(path, threads)}
    found = {name: [] for name, run in runs.items() if run}
    for k in range(ROUNDS):
        for name in found: found[name].append(runs[name](words(PROMPT, k)))
    for name, rates in found.items():
        read, written = np.max(rates[1:], axis=0)
        print(f'{name:10} {threads} threads: {read:6.0f} words a second read, {written:5.0f} written')
    size = Path(path).stat().st_size
    for name in [n for n in found if n != 'torch, f32']:
        load, first, most = begun(name.removeprefix('ours, '), path, threads)
        memory = '' if most is None else f', {most / 1e6:,.0f} MB, {most / size:.2f} times the file'
        print(f'{name:10} loaded in {load:.2f} s, first word of {FIRST} after {first:.2f} s{memory}')


if __name__ == '__main__': main(*sys.argv[1:])
