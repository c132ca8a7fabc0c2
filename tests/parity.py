"""Cases that are compared with torch: once stored (tests/golden/*.npz, made by
tests/golden/make.py), live in `make test-all`."""
import importlib, importlib.util, zlib
from dataclasses import dataclass
from pathlib import Path
import numpy as np
import fucinalib as fl
from fucinalib.autograd import Sample

GOLDEN = Path(__file__).parent / 'golden'


class Later:
    "A module that is imported when something of it is first used: the default run never imports a reference."
    def __init__(self, name): self.name = name
    def __getattr__(self, name): return getattr(importlib.import_module(self.name), name)

torch, F = Later('torch'), Later('torch.nn.functional')


@dataclass
class Case:
    "One call of an op and the torch function that must give the same values and gradients."
    op: str                 # name in the registry
    args: tuple             # sizes ('row=2 col=3'), tensors and arrays are operands; the rest is passed on
    kw: dict
    reference: object       # torch function of the operands, in order, as torch tensors
    tags: str = None        # tags the result must have
    grad: bool = True
    tol: float = 1e-6       # relative and absolute, in f64
    live: bool = False      # only in `make test-all`
    low: float = -2.
    high: float = 2.
    pick: object = None     # takes the part of a result that is compared, e.g. lambda r: r.values
    fixed: tuple = ()       # names of operands that are constants

    @property
    def name(self):
        "The call in words, the same from run to run: what its stored numbers are filed under."
        words = [told(a) for a in self.args] + [f'{k}={told(v)}' for k, v in self.kw.items()]
        return f'{self.op}({", ".join(words)})' + (f' from {self.low:g}' if self.low != -2 else '')

    @property
    def seed(self):
        "Of the numbers drawn for the stored case."
        return zlib.crc32(self.name.encode())

    def draw(self, seed):
        "Positional and keyword arguments; the described operands are f64 leaves."
        args, kw = Sample(*self.args, low=self.low, high=self.high, **self.kw).draw(seed)
        leaf = lambda a: fl.Tensor(a.data.copy(order='K'), a.tags,
                                   requires_grad=self.grad and a.dtype.is_float) if isinstance(
            a, fl.Tensor) else a
        deep = lambda a: [leaf(v) for v in a] if isinstance(a, list) and a and isinstance(a[0], fl.Tensor) else leaf(a)
        return [deep(a) for a in args], {k: v if k in self.fixed else deep(v) for k, v in kw.items()}

    def operands(self, args, kw):
        flat = [v for a in [*args, *kw.values()] for v in (a if isinstance(a, list) else [a])]
        return [a for a in flat if isinstance(a, fl.Tensor)]

    def ours(self, seed):
        "Our result and the gradients of all leaves for fixed weights."
        args, kw = self.draw(seed)
        y = fl.registry[self.op].call(*args, **kw)
        if self.pick: y = self.pick(y)
        leaves = [a for a in self.operands(args, kw) if a.requires_grad]
        if y.requires_grad: y.backward(weights(y.shape))
        return y, [np.zeros(a.shape) if a.grad is None else a.grad.numpy() for a in leaves]

    def theirs(self, seed):
        "The same from torch."
        operands = self.operands(*self.draw(seed))
        ts = [torch.tensor(a.data, requires_grad=a.requires_grad) for a in operands]
        y = self.reference(*ts)
        if self.pick and not isinstance(y, torch.Tensor): y = self.pick(y)
        if y.requires_grad: (y * torch.tensor(weights(tuple(y.shape)), dtype=y.dtype)).sum().backward()
        return (y.detach().numpy(), [np.zeros(t.shape) if t.grad is None else t.grad.numpy()
                                     for t in ts if t.requires_grad])


def told(a):
    "An argument in a few words; a tensor or array by its sizes and a mark of what it holds."
    if callable(a) and not isinstance(a, type): a = a()
    if isinstance(a, (list, tuple)): return f'[{", ".join(map(told, a))}]'
    if isinstance(a, fl.Tensor):
        return (f'{" ".join(f"{t}={n}" for t, n in a.sizes.items())} {a.dtype} '
                f'#{zlib.crc32(a.data.tobytes()):08x}')
    if isinstance(a, np.ndarray): return f'{a.shape} {a.dtype} #{zlib.crc32(a.tobytes()):08x}'
    return a if isinstance(a, str) and '=' in a else repr(a)


def case(op, *args, torch, tags=None, grad=True, tol=1e-6, live=False, low=-2., high=2., pick=None, fixed=(), **kw):
    return Case(op, args, kw, torch, tags, grad, tol, live, low, high, pick, fixed)


def weights(shape):
    "Fixed, uneven weights that make one number of many."
    return np.random.default_rng(99).uniform(.5, 1.5, shape)


def families(): return sorted(p.stem for p in GOLDEN.glob('*.py') if p.stem not in ('make',))


def cases(family):
    "The cases of tests/golden/<family>.py by name."
    spec = importlib.util.spec_from_file_location(f'golden_{family}', GOLDEN / f'{family}.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return named(module.CASES)


def named(cases):
    "Name -> case; a call that comes twice is numbered."
    found = {}
    for c in cases:
        name, n = c.name, 2
        while name in found: name, n = f'{c.name} {n}', n + 1
        found[name] = c
    return found


def stored(family):
    "What torch once said of the cases of a family: name -> (value, gradients); and which torch it was."
    with np.load(GOLDEN / f'{family}.npz') as kept: arrays = dict(kept)
    torch = str(arrays.pop('torch', '?'))
    found = {}
    for key, a in arrays.items():
        name, _, i = key.rpartition(' @')
        found.setdefault(name, []).append((int(i), a))
    return {name: [a for _, a in sorted(parts, key=lambda p: p[0])] for name, parts in found.items()}, torch


def mirrored():
    "The samples of functions that go value by value, beside the function of torch that the operation names."
    def alike(o, sample):
        sizes = [a for a in sample.args if isinstance(a, str)]
        whole = not sample.kw and all('=' in a or a == '' for a in sizes) and len(set(sizes)) == 1
        return whole and (o.family == 'unary' or len(sizes) == len(sample.args))
    def double(o, sample):
        numbers = [a for a in sample.args if not isinstance(a, str)]
        return lambda *ts: eval(o.torch, dict(torch=torch))(*ts, *numbers)
    ops = [o for o in fl.registry.values()
           if o.family in ('unary', 'pointwise') and (o.torch or '').startswith('torch.')
           and o.name != 'dropout' and not o.name.endswith('_')]
    return [case(o.name, *s.args, torch=double(o, s), low=s.low, high=s.high) for o in ops
            for s in o.samples if alike(o, s)]


def compare(c, seed, value, grads):
    "Assert that our result equals `value` and our gradients equal `grads`."
    y, ours = c.ours(seed)
    where = f'{c.op}{c.args} {c.kw}'
    if c.tags is not None: assert y.tags == fl.parse(c.tags), f'{where}: tags {y.tags}'
    assert y.shape == value.shape, f'{where}: shape {y.shape}, torch {value.shape}'
    np.testing.assert_allclose(y.data, value, rtol=c.tol, atol=c.tol, err_msg=where)
    if not c.grad: return
    assert len(ours) == len(grads), where
    for i, (a, b) in enumerate(zip(ours, grads)):
        np.testing.assert_allclose(a, b, rtol=c.tol, atol=c.tol, err_msg=f'{where}: gradient of operand {i}')
