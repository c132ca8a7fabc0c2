"""What every operation owes: words, samples, a proof of its gradient, the same values on every
backend, and a clear refusal. Walks the registry."""
import inspect, json
from pathlib import Path
import numpy as np
import pytest
from fastcore.docments import docments
import fucinalib as fl
from fucinalib.autograd import Op
from fucinalib.errors import FucinaError
from fucinalib.registry_table import verdict

OPS = [o for o in fl.registry.values() if o.module.startswith('fucinalib')]
ids = lambda o: o.name if isinstance(o, Op) else None
each = pytest.mark.parametrize('o', OPS, ids=ids)
NBS = Path(fl.__file__).parents[1] / 'nbs'


@each
def test_words(o):
    assert o.doc and len(o.doc.splitlines()[0]) < 200
    silent = [n for n, text in docments(o.fn, args_kwargs=True).items() if n != 'return' and not text]
    assert not silent, f'{o.name}: parameters without a comment: {silent}'
    assert o.samples, f'{o.name} has no samples'
    assert o.mistakes, f'{o.name} shows no mistake'
    assert 'return' in inspect.get_annotations(o.fn), f'{o.name} does not say what it returns'


@each
def test_gradcheck(o):
    report = verdict(o)
    assert report or not o.differentiable


@each
def test_mistakes(o):
    for kind, call in o.mistakes:
        with pytest.raises(kind) as e: call(o.call)
        assert isinstance(e.value, FucinaError), f'{kind} is not ours'
        assert 'help:' in str(e.value), f'no way out is offered: {e.value}'


@each
def test_unknown_option(o):
    args, kw = o.samples[0].draw()
    # a TagError where axes are named by keyword
    with pytest.raises((fl.OptionError, fl.TagError), match='no_such_option'):
        o.call(*args, **kw, no_such_option=1)


@each
@pytest.mark.parametrize('alien', [object(), [object()], np.array(['a', 'b']), 1j],
                         ids=['object', 'list', 'words', 'complex'])
def test_alien_arguments(o, alien):
    "Whatever stands in the wrong place, the answer is ours and has a way out; some places take anything."
    args, kw = o.samples[0].draw()
    names = [n for n, p in list(o.signature.parameters.items())[len(args):]
             if n not in kw and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for place in [*range(len(args)), *kw, *names]:
        a, k = list(args), dict(kw)
        if isinstance(place, int): a[place] = alien
        else: k[place] = alien
        try: o.call(*a, **k)
        except FucinaError as e: assert 'help:' in str(e)


@each
def test_one_definition(o):
    "Method and function are one object."
    assert getattr(fl, o.name) is o.call
    assert not o.attach or getattr(fl.Tensor, o.name) is o.call


def run(o, sample, seed, dtype='f32'):
    "Results and gradients of one sample."
    args, kw = sample.draw(seed, dtype, requires_grad=o.differentiable)
    y = o.call(*args, **kw)
    outs = [t for t in (y if isinstance(y, (tuple, list)) else [y]) if isinstance(t, fl.Tensor)]
    for t in outs:
        if t.requires_grad: t.backward(np.linspace(.5, 1.5, t.numel).reshape(t.shape).astype(t.dtype.np))
    flat = [v for a in [*args, *kw.values()] for v in (a if isinstance(a, (list, tuple)) else [a])]
    leaves = [a for a in flat if isinstance(a, fl.Tensor)]
    return leaves, outs, [a.grad for a in leaves if a.requires_grad]


@each
def test_backends_agree(o, every_size):
    if o.name.startswith('empty'): return      # whatever the memory held
    for i, sample in enumerate(o.samples):
        with fl.use_backend('numpy'): _, right, right_grads = run(o, sample, i)
        for name in fl.backends():
            with fl.use_backend(name): _, outs, grads = run(o, sample, i)
            for a, b in zip(outs + grads, right + right_grads):
                if b is None: assert a is None; continue
                assert a.tags == b.tags and a.dtype == b.dtype
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-5, atol=2e-5,
                                           err_msg=f'{o.name} {sample!r} on {name}')


@each
def test_types_and_memory(o):
    "f32 in, f32 or a stated type out; gradients have the type of their operand; only views share memory."
    leaves, outs, grads = run(o, o.samples[0], 0)
    for a, g in zip([a for a in leaves if a.requires_grad], grads):
        assert g is None or (g.dtype == a.dtype and g.shape == a.shape)
    if o.view or o.name.endswith('_'): return
    for y in outs:
        for a in leaves:
            assert not np.shares_memory(y.data,
                                        a.data), f'the result of {o.name} shares memory with an operand'


def chapters():
    "Module -> the chapter's cells that do not export."
    found = {}
    for path in NBS.glob('*.ipynb'):
        cells = [''.join(c['source']) for c in json.loads(path.read_text())['cells']]
        module = next((c.split()[2] for c in cells if c.startswith('#| default_exp')), None)
        found[f'fucinalib.{module}'] = '\n'.join(c for c in cells if not c.startswith('#| export'))
    return found


def test_chapters():
    "Every op is shown in the chapter that exports it."
    pages = chapters()
    hidden = [f'{o.module}.{o.name}' for o in OPS if o.name not in pages[o.module]]
    assert not hidden, f'ops no chapter shows: {hidden}'


def test_most_mistakes_are_made_by_the_checks():
    "A mistake is written by hand where no word of `checks` makes it; that is less than a third of all."
    library = [o for o in fl.registry.values() if o.module.startswith('fucinalib.ops')]
    by_hand, made = [sum(len([*getattr(o, kind)]) for o in library) for kind in ('by_hand', 'made')]
    assert by_hand < 360 and by_hand * 2 < made, (by_hand, made)
