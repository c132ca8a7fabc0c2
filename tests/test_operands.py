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


# names of axes

def tensors(y):
    "The tensors of a result, one by one."
    return [t for t in (y if isinstance(y, (list, tuple)) else [y]) if isinstance(t, fl.Tensor)]


def well_formed(y):
    "Whether each tensor of a result has one name for every axis and holds something."
    return all(len(t.tags) == t.data.ndim == len(set(t.tags)) and all(type(n) is str and n.isidentifier() for n in t.tags) and t.data.size for t in tensors(y))


def named_axes(o):
    "(sample, name of an option, its tags) for every option of a sample that names axes of an operand or of the result."
    for i, sample in enumerate(o.samples):
        args, kw = sample.draw(i)
        there = {t for x in [*tensors([*flat(args, kw)]), *tensors(o.call(*args, **kw))] for t in x.tags}
        for n, v in o.signature.bind(*args, **kw).arguments.items():
            if isinstance(v, str) and v and set(v.split()) <= there: yield sample, i, n, v


def with_option(o, sample, i, name, value):
    "A call of the sample with another value of an option."
    args, kw = sample.draw(i)
    bound = o.signature.bind(*args, **kw)
    bound.arguments[name] = value
    return o.call(*bound.args, **bound.kwargs)


@each
def test_one_name_for_one_axis(o):
    "Where one axis is named, two names, none, or what is no name are refused; no tensor comes out whose tags do not count its axes."
    for sample, i, name, v in named_axes(o):
        odd = ['', 'p q', ('p', 'q'), ['p', 'q'], (), [], 5, b'p', 1.5, object(), str, {'p': 1}, 'a-b', '1a', '\ufb01']
        for bad in odd:
            try: y = with_option(o, sample, i, name, bad)
            except fl.FucinaError: continue
            assert well_formed(y), f'{o.name}({name}={bad!r}) gives {y!r}'
            assert len(v.split()) > 1 or name == 'tags' and bad in ('p q', ('p', 'q'), ['p', 'q']), f'{o.name}({name}={bad!r}) is accepted'


@each
def test_ways_to_write_a_name(o):
    "'d', ' d ', ('d',) and ['d'] mean the same everywhere."
    for sample, i, name, v in named_axes(o):
        want = with_option(o, sample, i, name, v)
        for way in (f' {v} ', tuple(v.split()), v.split()):
            y = with_option(o, sample, i, name, way)
            for a, b in zip(tensors(y), tensors(want)):
                assert a.tags == b.tags, f'{o.name}({name}={way!r}) gives {a!r}, {name}={v!r} gives {b!r}'
                if not o.name.startswith('empty'): np.testing.assert_array_equal(a.numpy(), b.numpy())
