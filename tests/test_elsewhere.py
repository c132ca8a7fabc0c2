"""Names that people bring from torch, NumPy, JAX and Keras: each is told the true way here, and
no wild guess is made."""
import re
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import elsewhere

X = lambda: fl.Tensor([[1., 2.]], 'row col')


@pytest.mark.parametrize('name', sorted(elsewhere.FUNCTIONS))
def test_a_function_of_another_library(name):
    if hasattr(fl, name) or name == 'tensor': return      # it is here by that name
    with pytest.raises(fl.UnknownName) as e: getattr(fl, name)
    assert elsewhere.FUNCTIONS[name] in str(e.value)


def test_every_way_shown_is_there():
    "fl.names in the tables exist, and so do methods that stand alone."
    words = [*elsewhere.FUNCTIONS.values(), *elsewhere.METHODS.values(), *elsewhere.SENTENCES.values()]
    for text in words:
        for name in re.findall(r'\bfl\.([a-z_]\w*)', text): assert name == 'name' or hasattr(fl, name), text
    for ours in elsewhere.METHODS.values():
        if ours.isidentifier(): assert hasattr(fl.Tensor, ours), ours


@pytest.mark.parametrize('name', 'Frobnicate row zzz quux Transformerish lrs'.split())
def test_no_wild_guess(name):
    for owner in (fl, X()):
        with pytest.raises(fl.UnknownName) as e: getattr(owner, name)
        assert 'did you mean' not in str(e.value), str(e.value)


@pytest.mark.parametrize('name,meant',
                         [('sofmax', 'softmax'), ('rleu', 'relu'),
                          ('cros_entropy', 'cross_entropy'), ('layernorm', 'layer_norm')])
def test_a_slip_of_the_pen(name, meant):
    for owner in (fl, X()):
        with pytest.raises(fl.UnknownName, match=f"did you mean '?{meant}'?"): getattr(owner, name)


CALLS = [('concatenate', lambda x: np.concatenate([x, x]), 'fl.concat'),
         ('stack', lambda x: np.stack([x, x]), 'fl.stack'),
         ('where', lambda x: np.where(x, x, x), 'where'),
         ('dot', lambda x: np.dot(x, x), 'x.dot'),
         ('clip', lambda x: np.clip(x, 0, 1), 'x.clamp'),
         ('transpose', lambda x: np.transpose(x), 'x.permute'),
         ('einsum', lambda x: np.einsum('ij->j', x), 'x.einsum'),
         ('sort', lambda x: np.sort(x), 'x.sort'),
         ('sum', lambda x: np.sum(x), 'x.sum'),
         ('median', lambda x: np.median(x), 'x.numpy()')]

@pytest.mark.parametrize('learns', [False, True])
@pytest.mark.parametrize('name,call,way', CALLS, ids=[n for n, *_ in CALLS])
def test_a_function_of_numpy_loses_nothing_silently(name, call, way, learns):
    x = fl.Tensor([[1., 2.]], 'row col', requires_grad=learns)
    with pytest.raises(fl.FucinaError, match=re.escape(way)): call(x)


def test_questions_of_numpy_are_answered(tmp_path):
    x = fl.param([[1., 2.]], 'row col')
    assert np.shape(x) == (1, 2) and np.ndim(x) == 2 and np.size(x) == 2
    assert np.array_equal(x, [[1, 2]]) and np.allclose(x, x) and np.shares_memory(x, x.data)
    np.savez(tmp_path/'x.npz', x=x)
    assert np.load(tmp_path/'x.npz')['x'].tolist() == [[1, 2]]
    np.testing.assert_array_equal(x, [[1, 2]])
