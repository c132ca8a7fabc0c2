"""Experts that do not all fit into memory: a store holds a few, and reads the others from the file when a word goes to
them.

Three tiers: what is pinned stays, of the rest those used last stay, everything else is read, by several threads at a
time. A usage file beside the model says next time which experts to pin. Chapter 46 shows what it does."""
import json, os, threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields
from math import prod
from pathlib import Path
from typing import NamedTuple
import numpy as np
from ..checks import flag, look_at, number, whole
from ..dtypes import as_dtype
from ..errors import FileError, GradError, InvalidShape, OptionError, fault, named
from ..files import GGUF
from ..files.gguf import bytes_of
from ..files.split import files_of
from ..ops.blocks import BlockTensor
from ..tensor import wrap
from ..whole import replacing
from .beside import mixture_of
from .unfit import check_model

__all__ = ['Place', 'Stats', 'ExpertStore', 'StreamedWeight', 'stream_experts']

PARTS = 'gate', 'up', 'down'


class Place(NamedTuple):
    "Where one map of all experts of a layer lies, one upon the other."
    kind: str       # number type or block format
    offset: int     # in the file, of expert 0
    shape: tuple    # (experts, rows, numbers of a row)
    tags: tuple = ('expert', 'out', 'in')
    activation: str = None      # of products with blocks, see BlockTensor
    file: int = 0   # which of the files

    each = property(lambda self: bytes_of(self.shape[1:], self.kind), doc='Bytes of one expert.')


@dataclass
class Stats:
    "What a store has done."
    pin_hits: int = 0       # experts asked for that are pinned
    hits: int = 0           # that were there
    misses: int = 0         # that had to be read
    reads: int = 0          # of the file, ahead of time or not
    bytes_read: int = 0
    hints: int = 0          # experts that were read ahead
    hints_used: int = 0     # and asked for
    slots: int = 0          # choices that went through cache_route_top_k
    swaps: int = 0          # and came out otherwise
    peak: int = 0           # bytes of experts in memory at a time, at most

    asked = property(lambda self: self.pin_hits + self.hits + self.misses)
    def hit_rate(self): return (self.pin_hits + self.hits) / self.asked if self.asked else 0.
    def hint_recall(self): return self.hints_used / self.hints if self.hints else 0.
    def swap_rate(self): return self.swaps / self.slots if self.slots else 0.

    def __repr__(self):
        told = ', '.join(f'{f.name} {getattr(self, f.name):,}' for f in fields(self) if getattr(self, f.name))
        return f'Stats({told}; hit rate {self.hit_rate():.1%})'


class Held(NamedTuple):
    "The bytes of one expert."
    parts: tuple      # arrays, one for each map
    nbytes: int


class ExpertStore:
    "Experts of a model in files, a few of them in memory. Add all layers, then `finalize`."

    @named
    def __init__(self, path,
                 memory,            # bytes that experts may take
                 *,
                 pin=.5,            # share of them for what is pinned, if a usage file says what
                 workers=8,         # threads that read; 0: the caller alone
                 least=5000,        # words in the usage file from which it is believed
                 uncached=False,    # tell the system not to keep what was read
                 prefer=None,       # (sacred, window): choose experts that are there, see cache_route_top_k
                ):
        look_at([whole('memory', 1, kind=OptionError), number('pin', least=0, most=1),
                 whole('workers least', 0, kind=OptionError), flag('uncached')],
                locals())
        paths = path if isinstance(path, (list, tuple)) else [path]
        self.paths, self.memory, self.uncached, self.prefer = [Path(p) for p in paths], int(memory), uncached, prefer
        self.pin, self.least, self.places, self.stats = pin, least, {}, Stats()
        self.usage, self.saved = {}, {}      # uses of this run, and those of them that the file has
        self.pinned, self.recent, self.ahead, self.open = {}, OrderedDict(), set(), {}
        self.lock, self.ready, self.pilot = threading.RLock(), False, None
        self.pool = ThreadPoolExecutor(workers, 'experts') if workers else None
        self.drives = [(1., [_opened(p) for p in self.paths])]

    # ---- what there is

    def add_layer(self, layer, places):
        "Where the three maps of a layer are: gate, up, down."
        if self.ready or layer in self.places:
            why = 'is there already' if layer in self.places else 'comes behind finalize()'
            raise fault(OptionError, f'layer {layer} {why}', help='each layer once, then finalize()')
        if len(places) != 3 or len({p.shape[0] for p in places}) > 1 or None in [p.each for p in places]:
            raise fault(InvalidShape, f'layer {layer}: no three maps of as many experts, in whole blocks',
                        help='Place(kind, offset, (experts, rows, numbers)) three times')
        for p in places:
            size = os.fstat(self.drives[0][1][p.file]).st_size
            if p.offset + p.each * p.shape[0] > size: raise _ended(self.paths[p.file], layer)
        self.places[layer], self.usage[layer] = tuple(places), np.zeros(places[0].shape[0], np.int64)

    def add_mirror(self, path, weight=1.):
        "A copy of the files on another drive, and how much is read from it where the first ones have 1."
        look_at([number('weight', above=0)], locals())
        paths = path if isinstance(path, (list, tuple)) else [path]
        if self.ready: raise fault(OptionError, 'a mirror comes before finalize()', help='add_mirror first')
        files = [_opened(p) for p in paths]
        sizes = [[os.fstat(f).st_size for f in found] for found in (files, self.drives[0][1])]
        if sizes[0] != sizes[1]:
            for f in files: os.close(f)
            raise fault(FileError, f'{str(paths[0])!r} is no copy: it has another size', help='a copy of all files')
        self.drives.append((float(weight), files))

    def finalize(self):
        "Begin: what the usage file says was used most is read and pinned."
        most = max((self.each(n) for n in self.places), default=0)
        if not self.places or self.memory < most:
            raise fault(OptionError, f'{self.memory:,} bytes hold no expert', help=f'memory={most:,} or more')
        self.ready, room = True, min(int(self.pin * self.memory), self.memory - most)
        known = self._known_usage()
        if sum(a.sum() for a in known.values()) < self.least: known = {}
        for _, layer, e in sorted(((-n, l, e) for l, a in known.items() for e, n in enumerate(a.tolist()) if n)):
            if self.each(layer) > room: break
            self.pinned[layer, e] = self._read(layer, e)
            room -= self.each(layer)
        self._note_peak(0)
        return self

    def each(self, layer): "Bytes of one expert of a layer."; return sum(p.each for p in self._of(layer))
    def total(self): "Bytes of all experts."; return sum(self.each(l) * p[0].shape[0] for l, p in self.places.items())
    def at_once(self, layer):
        "How many experts of a layer there is room for beside what is pinned."
        return max(1, (self.memory - sum(h.nbytes for h in self.pinned.values())) // self.each(layer))

    def _of(self, layer):
        if layer in self.places: return self.places[layer]
        raise fault(OptionError, f'there is no layer {layer}', help=f'one of {sorted(self.places)}')

    # ---- a window

    @contextmanager
    def acquire(self, layer, chosen):
        "A block in which these experts of a layer are in memory. What had to be read stays, if there is room."
        if not self.ready: raise fault(OptionError, 'the store has not begun', help='store.finalize()')
        self._of(layer)
        with self.lock:
            before, self.open[layer] = self.open.get(layer), self._found(layer, list(dict.fromkeys(map(int, chosen))))
            try: yield
            finally:
                for e, held in self.open[layer].items():
                    if (layer, e) not in self.pinned: self.recent[layer, e] = held
                if before is None: del self.open[layer]
                else: self.open[layer] = before

    def _found(self, layer, chosen):
        "Expert -> its bytes, read where they have to be."
        keys, found, s = [(layer, e) for e in chosen], {}, self.stats
        missing = [k for k in keys if k not in self.pinned and k not in self.recent]
        for k in keys:
            self.usage[layer][k[1]] += 1
            if k in self.pinned: found[k], s.pin_hits = self.pinned[k], s.pin_hits + 1
            elif k in self.recent:
                found[k], s.hits = self.recent.pop(k), s.hits + 1      # it comes back as the one used last
                s.hints_used += k in self.ahead
                self.ahead.discard(k)
        need = self.each(layer) * (len(missing) + len([k for k in found if k not in self.pinned]))
        self._make_room(need)
        s.misses += len(missing)
        found |= dict(zip(missing, self._read_all(missing)))
        self._note_peak(need)
        return {k[1]: found[k] for k in keys}

    def _make_room(self, need):
        "Let go of what was not used for longest until so many bytes fit."
        held = sum(h.nbytes for h in self.pinned.values()) + sum(h.nbytes for h in self.recent.values())
        while self.recent and held + need > self.memory:
            k, gone = self.recent.popitem(last=False)
            self.ahead.discard(k)
            held -= gone.nbytes

    def _note_peak(self, need):
        held = sum(h.nbytes for h in [*self.pinned.values(), *self.recent.values()])
        self.stats.peak = max(self.stats.peak, held + need)

    def part(self, layer, i, e):
        "Map i of expert e as a tensor. GradError outside of a block that has acquired it."
        held = self.open.get(layer, {}).get(e)
        if held is None:
            raise fault(GradError, f'expert {e} of layer {layer} is read outside of its block',
                        help=f'with store.acquire({layer}, [{e}]): ...; streamed experts have no gradients')
        place = self.places[layer][i]
        f, shape, tags = as_dtype(place.kind), place.shape[1:], place.tags[1:]
        if not f.is_blocks: return wrap(held.parts[i].view(f.np).reshape(shape), tags)
        return BlockTensor(held.parts[i], f, tags, shape).with_activation('q8' if place.activation != 'f32' else 'f32')

    # ---- reading

    def _read_all(self, keys):
        "The bytes of several experts, each map by whichever thread is free."
        if self.pool is None: return [self._read(*k) for k in keys]
        jobs = [[self.pool.submit(self._read_part, *k, i) for i in range(3)] for k in keys]
        return [self._counted(tuple([j.result() for j in job])) for job in jobs]

    def _read(self, layer, e): return self._counted(tuple([self._read_part(layer, e, i) for i in range(3)]))

    def _counted(self, parts):
        held = Held(parts, sum(p.nbytes for p in parts))
        self.stats.reads += 3
        self.stats.bytes_read += held.nbytes
        return held

    def _read_part(self, layer, e, i):
        p = self.places[layer][i]
        file = self._drive(layer, e)[p.file]
        a, at, done = np.empty(p.each, np.uint8), p.offset + e * p.each, 0
        while done < p.each:
            try: n = os.preadv(file, [a[done:]], at + done)
            except OSError as err:
                raise fault(FileError, f'{self.paths[p.file].name!r} could not be read: {err.strerror}',
                            help='look at the drive') from err
            if not n: raise _ended(self.paths[p.file], layer)
            done += n
        if self.uncached and hasattr(os, 'posix_fadvise'): os.posix_fadvise(file, at, p.each, os.POSIX_FADV_DONTNEED)
        return a

    def _drive(self, layer, e):
        "The files of the drive that an expert is always read from."
        at = ((layer * 1000003 + e) * 2654435761 % 2**32) / 2**32 * sum(w for w, _ in self.drives)
        for weight, files in self.drives:
            at -= weight
            if at < 0: return files
        return self.drives[-1][1]

    def pilot_hint(self, layer, chosen):
        "Experts that will probably be asked for: they are read on a thread of its own. Nobody waits for it."
        if self.pilot is None: self.pilot = ThreadPoolExecutor(1, 'experts ahead')
        def fetch(k):
            if k in self.pinned or k in self.recent or k[0] in self.open: return
            held = self._read(*k)
            with self.lock:
                if k in self.recent: return
                self._make_room(held.nbytes)
                self.recent[k] = held
                self.ahead.add(k)
                self.stats.hints += 1
                self._note_peak(0)
        for e in chosen: self.pilot.submit(fetch, (layer, int(e)))

    # ---- what is used

    def cache_route_top_k(self, layer, scores, k):
        """Experts for a word that are there already, if they are nearly as good; None where nothing is preferred.

        The `sacred` best ones, then those in memory among the `window` best, then the others by rank. This changes
        what a model says."""
        if self.prefer is None: return None
        sacred, window = self.prefer
        rank = np.argsort(-np.asarray(scores), kind='stable')[:max(window, k)].tolist()
        there = [e for e in rank[sacred:window] if (layer, e) in self.pinned or (layer, e) in self.recent]
        found = list(dict.fromkeys(rank[:min(sacred, k)] + there + rank))[:k]
        self.stats.slots += k
        self.stats.swaps += len(set(found) - set(rank[:k]))
        return found

    def _usage_path(self): return self.paths[0].with_name(self.paths[0].name + '.experts')

    def _known_usage(self):
        "Layer -> uses in earlier runs, nothing if they are of another model."
        try:
            said = json.loads(self._usage_path().read_text())
            found = {l: np.array(said[str(l)], np.int64) for l in self.places}
        except (OSError, ValueError, LookupError, TypeError, OverflowError, RecursionError): return {}
        return found if all(a.shape == self.usage[l].shape for l, a in found.items()) else {}

    def save_usage(self):
        "Write which experts were used how often, those of earlier runs included, beside the model."
        known = self._known_usage()
        said = {str(l): (known.get(l, 0) + a - self.saved.get(l, 0)).tolist() for l, a in self.usage.items()}
        with replacing(self._usage_path()) as write: write(json.dumps(said).encode())
        self.saved = {l: a.copy() for l, a in self.usage.items()}
        return self._usage_path()

    def repin_pass(self, swaps=1):
        "Pin what is used more now in place of what is used less, in each layer at most so many. Returns how many."
        done = 0
        with self.lock:
            for layer, used in self.usage.items():
                held = sorted((e for l, e in self.pinned if l == layer), key=lambda e: used[e])
                rest = sorted((e for e in range(len(used)) if (layer, e) not in self.pinned), key=lambda e: -used[e])
                for old, new in list(zip(held, rest))[:swaps]:
                    if used[new] <= used[old]: break
                    fresh = self.recent.pop((layer, new), None) or self._read(layer, new)
                    self.recent[layer, old] = self.pinned.pop((layer, old))
                    self.pinned[layer, new] = fresh
                    self._make_room(0)
                    done += 1
        return done

    def close(self):
        "Let go of files and memory."
        for pool in (self.pool, self.pilot):
            if pool is not None: pool.shutdown(cancel_futures=True)
        for _, files in self.drives:
            for f in files: os.close(f)
        self.drives, self.pool, self.pilot, self.ready = [], None, None, False
        self.recent.clear(); self.pinned.clear()

    def __enter__(self): return self
    def __exit__(self, *_): self.close()

    def __repr__(self):
        n = sum(p[0].shape[0] for p in self.places.values())
        return f'ExpertStore: {n} experts of {self.total():,} bytes in {self.memory:,}'


def _opened(path):
    try: return os.open(path, os.O_RDONLY)
    except (OSError, TypeError) as e:
        raise fault(FileError, f'{str(path)!r} could not be opened: {e}', help='the path of a model file') from None


def _ended(path, layer): return fault(FileError, f'{path.name!r} ends within layer {layer}', help='fetch it again')


class StreamedWeight:
    "One map of all experts of a layer, in a store."
    ndim, requires_grad, node, next_one = 3, False, None, None

    def __init__(self, store, layer, i):
        self.store, self.layer, self.i = store, layer, i
        p = store.places[layer][i]
        self.shape, self.tags, self.dtype = p.shape, p.tags, as_dtype(p.kind)

    sizes = property(lambda self: dict(zip(self.tags, self.shape)))
    nbytes = property(lambda self: prod(self.shape[:1]) * self.store.places[self.layer][self.i].each)
    at_once = property(lambda self: self.store.at_once(self.layer))

    def select(self, **at): (_, e), = at.items(); return self.store.part(self.layer, self.i, int(e))
    def acquire(self, chosen): return self.store.acquire(self.layer, chosen)
    def look_ahead(self, x, k):
        "Hint at what the router of the next layer would choose if it saw this row already."
        if self.next_one is None: return
        layer, router = self.next_one
        scores = router(wrap(x, (router.over,))).data
        self.store.pilot_hint(layer, np.argsort(-scores, kind='stable')[:k].tolist())

    def prefer(self, scores, k): return self.store.cache_route_top_k(self.layer, scores, k)
    def __repr__(self): return f'StreamedWeight {" ".join(f"{t}={n}" for t, n in self.sizes.items())} {self.dtype}'


@named
def stream_experts(model,    # of a GGUF file, with experts
                   memory,   # bytes that its experts may take
                   ahead=True,   # read ahead what the next layer's router would choose now
                   **options):   # of ExpertStore
    "Leave a model's experts in its file, but for so many bytes. Returns the store."
    check_model(model)
    mixed = {i: f for i, b in enumerate(model.blocks) if (f := mixture_of(b)) is not None}
    if not mixed or model.source is None or model.rounded:
        raise fault(OptionError, 'streams the experts of a GGUF file', help="fl.llm.load('mixture.gguf', widen=False)")
    paths = files_of(model.source)
    files, store = [GGUF(p) for p in paths], ExpertStore(paths, memory, **options)
    for i, f in mixed.items():
        store.add_layer(i, [_place(files, f'blk.{i}.ffn_{n}_exps.weight', getattr(f, n)) for n in PARTS])
    for file in files: file.close()
    store.finalize()
    for i, f in mixed.items():
        for k, n in enumerate(PARTS):
            delattr(f, n)
            setattr(f, n, StreamedWeight(store, i, k))
    layers = [*mixed]
    for i, after in zip(layers, layers[1:]):
        if ahead: mixed[i].up.next_one = after, mixed[after].router
    model.fast = None
    return store


def _place(files, name, w):
    at = next((i for i, f in enumerate(files) if name in f), 0)
    info = files[at].info(name)
    if str(w.dtype) != info.kind:
        raise fault(OptionError, f'{name!r} is {info.kind}, and {w.dtype} in memory', help='load(path, widen=False)')
    return Place(info.kind, info.offset, info.shape, w.tags, getattr(w, 'activation', None), at)
