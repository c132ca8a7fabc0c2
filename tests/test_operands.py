"""What every operation leaves alone or refuses: the memory of its operands. Walks the registry."""
import numpy as np
import pytest
import fucinalib as fl

OPS = [o for o in fl.registry.values() if o.module.startswith('fucinalib')]
each = pytest.mark.parametrize('o', OPS, ids=lambda o: o.name)


def flat(args, kw):
    "Every argument of a call, lists looked through."
    for a in [*args, *kw.values()]:
        if isinstance(a, (list, tuple)): yield from a
        else: yield a


def arrays(args, kw):
    "The arrays among the arguments, those of tensors too."
    return [a.data if isinstance(a, fl.Tensor) else a for a in flat(args, kw) if isinstance(a, (fl.Tensor, np.ndarray))]


@each
@pytest.mark.parametrize('dtype', ['f32', 'f64'])
def test_operands_are_only_read(o, dtype, backend):
    "Read-only operands pass through forward and backward, and their bytes are the same after it."
    if o.name.endswith('_'): return
    for i, sample in enumerate(o.samples):
        args, kw = sample.draw(i, dtype, requires_grad=o.differentiable)
        given = arrays(args, kw)
        for a in given: a.flags.writeable = False
        before = [a.tobytes() for a in given]
        y = o.call(*args, **kw)
        for t in flat([y], {}):
            if isinstance(t, fl.Tensor) and t.requires_grad: t.backward(np.ones(t.shape))
        assert [a.tobytes() for a in given] == before, f'{o.name} {sample!r} changed an operand'
