"""What every operation leaves alone or refuses: the memory of its operands. Walks the registry."""
import numpy as np
import pytest
import fucinalib as fl
from fucinalib.written import arrays_in

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
    return all(len(t.tags) == t.data.ndim == len(set(t.tags))
               and all(type(n) is str and n.isidentifier() for n in t.tags) and t.data.size
               for t in tensors(y))


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
    """Where one axis is named, two names, none, or what is no name are refused; no tensor comes
    out whose tags do not count its axes."""
    for sample, i, name, v in named_axes(o):
        odd = ['', 'p q', ('p', 'q'), ['p', 'q'], (), [], 5, b'p', 1.5, object(), str, {'p': 1}, 'a-b', '1a', '\ufb01']
        for bad in odd:
            try: y = with_option(o, sample, i, name, bad)
            except fl.FucinaError: continue
            assert well_formed(y), f'{o.name}({name}={bad!r}) gives {y!r}'
            assert len(v.split()) > 1 or name == 'tags' and bad in (
                'p q', ('p', 'q'), ['p', 'q']), f'{o.name}({name}={bad!r}) is accepted'


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


# gradients

def numbers_in(v):
    "Whether v is a real number, an array of them or a nested list of them."
    if isinstance(v, (list, tuple)): return bool(v) and all(map(numbers_in, v)) and len({np.shape(n) for n in v}) == 1
    return (isinstance(v, (int, float, np.number)) and not isinstance(v, bool)
            or isinstance(v, np.ndarray) and v.dtype.kind in 'fiu')


def trained(v, tags=()):
    "Parameters that hold what v holds, in every way it could be written."
    if isinstance(v, fl.Tensor):
        if v.dtype.is_float: yield fl.param(v.data.astype('f8'), v.tags)
        return      # what is no number has no slope: masks, positions
    a = np.asarray(v, 'f8')
    for names in [tags] if a.ndim == len(tags) else [], [
        ('row', 'col', 'a', 'b')[:a.ndim]], [('d',)] if a.ndim == 1 else []:
        for t in names and [names[0]]: yield fl.param(a, t)
    if a.ndim:
        yield [fl.param(x) for x in a.reshape(-1)]
        yield [fl.param(a.reshape(-1)[0]), *a.reshape(-1)[1:].tolist()]


def constants(o):
    "(sample, number of it, name of a parameter, a value it takes) for all that a gradient is not computed for."
    for i, sample in enumerate(o.samples):
        args, kw = sample.draw(i)
        given = o.signature.bind(*args, **kw).arguments
        for n, p in o.signature.parameters.items():
            v = given.get(n, p.default)
            if p.kind is p.VAR_POSITIONAL: v = list(given.get(n, ()))
            if numbers_in(v) or isinstance(v, fl.Tensor) and callable_sample(sample, n, o): yield sample, i, n, v


def callable_sample(sample, n, o):
    "Whether a tensor of a sample was made by the sample itself, as masks and indices are."
    given = o.signature.bind(*sample.args, **sample.kw).arguments.get(n)
    return callable(given)


def total(y):
    "One number of all real values of a result."
    return sum(float(np.nansum(t.data * np.linspace(1, 2, t.numel).reshape(t.shape)))
               for t in tensors(y) if t.dtype.is_float)


def nudged(v, by):
    "Parameters, each moved by a little."
    if isinstance(v, list): return [nudged(t, by) for t in v]
    return fl.param(v.data + by, v.tags) if isinstance(v, fl.Tensor) else v


@each
def test_no_gradient_is_lost(o):
    "A parameter given where a number is used: refused, or its gradient arrives, or nudging it changes nothing."
    for sample, i, name, v in constants(o):
        for p in trained(v):
            try: y = with_option(o, sample, i, name, p)
            except fl.FucinaError: continue
            if tensors(y) and not any(t.dtype.is_float for t in tensors(y)): continue
            for t in tensors(y):
                if t.requires_grad: t.backward(np.ones(t.shape))
            if all(t.grad is not None
                   for t in (p if isinstance(p, list) else [p]) if isinstance(t, fl.Tensor)):
                continue
            with fl.no_grad():
                slopes = [total(with_option(o, sample, i, name, nudged(p, by))) - total(y)
                          for by in (1e-3, -1e-3)]
            assert slopes == [0, 0], f'{o.name}({name}=param) loses a gradient'


KEYS = fl.ones('seq kv_head d', (2, 1, 2))
LOST = dict(
    attention_scale=lambda p: fl.ones('seq head d', (2, 1, 2)).attention(KEYS, KEYS, scale=p),
    distill=lambda p: fl.ones('r d', (2, 3)).linear_distill(fl.ones('c d', (2, 3)), [0], [0],
                                                            probs=[p]),
    distill_probs=lambda p: fl.ones('r d', (2, 3)).linear_distill(fl.ones('c d', (2, 3)), [0],
                                                                  [0], probs=p.insert_axis('e')),
    sinks=lambda p: fl.ones('k', 2).softmax('k', sinks=[p]),
    rope_table=lambda p: fl.rope_table([0], inv_freqs=p.insert_axis('d')),
    rope_list=lambda p: fl.rope_table([0], inv_freqs=[p]),
    factors=lambda p: fl.rope_table([0], 2, freq_factors=[p]),
    RopeTable=lambda p: fl.RopeTable([0], 1e4, 2, sin=[[p]], cos=[[1.]]),
    RopeTable_cos=lambda p: fl.RopeTable([0], 1e4, 2, [[0.]], p.reshape('a b', (1, 1))),
    full=lambda p: fl.full('d', p, d=3), full_like=lambda p: fl.full_like(fl.ones('d', 2), p),
    bias_add=lambda p: fl.ones('d', 1).bias_add([p], 'd'),
    bias_add_=lambda p: fl.ones('d', 1).bias_add_(p.insert_axis('d'), 'd'),
    state=lambda p: fl.ones('t c', (2, 1)).conv1d(fl.ones('k c o', (2, 1, 1)), 't', 'k',
                                                  causal=True, state=[[p]]),
    empty=lambda p: fl.ones('d', 2).mean(mask=fl.zeros('d', 2, dtype='bool'), empty=p),
    pad=lambda p: fl.ones('d', 2).pad('d', 1, 0, p),
    fill=lambda p: fl.ones('d', 2).masked_fill(fl.ones('d', 2, dtype='bool'), p),
    yarn=lambda p: fl.yarn_inv_freqs(4, factor=p, original_context=9),
    dropout=lambda p: fl.ones('d', 2).dropout(p, 0),
    ddof=lambda p: fl.ones('d', 2).var('d', ddof=p),
    eps=lambda p: fl.ones('d', 2).rms_norm('d', eps=p))

@pytest.mark.parametrize('call', LOST.values(), ids=LOST)
def test_parameters_are_refused_where_numbers_are_used(call):
    "Values whose slope is not 0, in all the ways they may be written; without a graph, what is a value may stand."
    for value in (.5, 0.):
        with pytest.raises(fl.FucinaError) as e: call(fl.param(value))
        assert 'help:' in str(e.value)


@pytest.mark.parametrize('o', [o for o in fl.registry.values() if o.differentiable and o.samples], ids=lambda o: o.name)
def test_operands_by_name_keep_their_gradients(o):
    "A call says how many of its operands stand in front; it may be none."
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in o.signature.parameters.values()): return
    if o.name.endswith('_'): return
    for i, sample in enumerate(o.samples):
        results = []
        for front in (None, 1, 0):
            args, kw = sample.draw(i, requires_grad=True)
            given = o.signature.bind(*args, **kw).arguments
            y = o.call(*args, **kw) if front is None else o.call(
                *[*given.values()][:front], **dict([*given.items()][front:]))
            leaves = [x for v in given.values() for x in (v if isinstance(v, list) else [v])
                      if isinstance(x, fl.Tensor) and x.requires_grad]
            for t in tensors(y):
                if t.requires_grad: t.backward(np.linspace(1, 2, t.numel).reshape(t.shape))
            results.append([None if x.grad is None else x.grad.numpy() for x in leaves])
        for other in results[1:]:
            for a, b in zip(results[0], other): np.testing.assert_array_equal(a, b)


# ---- what rules keep

def _kept_arrays(o, sample, spoil=None, only=None):
    """The gradients of a sample's leaves, and the arrays that its rules keep; array number `spoil` is NaN by then.
    None where there is nothing to see."""
    args, kw = sample.draw()
    flat = [t for a in [*args, *kw.values()] for t in (a if isinstance(a, list) else [a]) if isinstance(t, fl.Tensor)]
    leaves = [t for i, t in enumerate(t for t in flat if t.dtype.is_float) if only in (None, i)]
    for t in leaves: t.requires_grad = True
    try: y = o.call(*args, **kw)
    except fl.FucinaError: return None
    if not isinstance(y, fl.Tensor) or y.node is None or y.node.op is not o: return None
    kept = {id(a): (n, a) for n, a in arrays_in(y.node.rules) if a.size and a.dtype.kind == 'f'}
    kept = list(kept.values())
    if spoil is not None:
        a = kept[spoil][1]
        try: a.flags.writeable = True
        except ValueError: return None
        before = a.copy()
        a[...] = np.nan
    y.backward(np.linspace(1, 2, y.numel).reshape(y.shape))
    if spoil is not None: a[...] = before       # it may be one that all calls share, as a table of angles
    return [t.grad if t.grad is None else t.grad.numpy().copy() for t in leaves], [n for n, _ in kept]

# NaN is met here by a comparison, which says no to it as it did to the number
COMPARED = {'maximum', 'minimum', 'prod', 'cumprod'}
# for one operand alone, too
ALONE = {'relpos_shift', 'view_with_strides', 'linear_recurrence'}

@pytest.mark.parametrize('o', [o for o in OPS if o.differentiable and o.name not in COMPARED], ids=lambda o: o.name)
def test_rules_keep_no_array_that_they_do_not_use(o):
    "An array that may be spoilt without a change in any gradient is kept for nothing, and its writer blamed."
    with fl.use_backend('numpy'):
        for sample in o.samples:
            for only in (None, 0, 1, 2) if o.name in ALONE else (None,):
                if (right := _kept_arrays(o, sample, None, only)) is None: continue
                for i, name in enumerate(right[1]):
                    if (spoilt := _kept_arrays(o, sample, i, only)) is None: continue
                    assert not all(g is h is None or np.array_equal(g, h) for g, h in zip(right[0], spoilt[0])), name
