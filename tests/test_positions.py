"""Calls as torch and NumPy write them, with positions or sizes in the place of names: the help of each error is a
line with the tensor's own axes, and it runs and gives what was meant."""
import re
import numpy as np
import pytest
import fucinalib as fl

A = np.arange(12, dtype='f4').reshape(3, 4)
X = lambda learns=False: fl.Tensor(A, 'batch feat', requires_grad=learns)
I = np.eye(3, 4, dtype='f4')

# call -> the value that NumPy gives for it, and names that the help must hold
CALLS = {
    'x.permute(1, 0)': A.T, 'x.permute((1, 0))': A.T, 'x.transpose(0, 1)': A.T, 'x.transpose()': A.T,
    'x.swapaxes(0, 1)': A.T, 'np.transpose(x)': A.T,
    'x.sum(1)': A.sum(1), 'x.sum(-2)': A.sum(0), 'x.sum((0, 1))': A.sum(), 'x.sum([0, 1])': A.sum(),
    'x.sum(axis=1)': A.sum(1), 'x.mean(dim=-1, keepdim=True)': A.mean(1), 'x.max(1)': A.max(1), 'x.prod(1)': A.prod(1),
    'x.argmax(1)': A.argmax(1), 'x.argmax()': A.argmax(1), 'x.argmax(dim=0)': A.argmax(0),
    'x.any(1)': A.any(1), 'x.std(0)': A.std(0), 'x.cumsum(0)': A.cumsum(0), 'x.size(1)': 4,
    'x.softmax(-1)': np.exp(A - A.max(1, keepdims=True)) / np.exp(A - A.max(1, keepdims=True)).sum(1, keepdims=True),
    'x.reshape(-1)': A.ravel(), 'x.reshape(4, 3)': A.reshape(4, 3), 'x.reshape((2, 6))': A.reshape(2, 6),
    'x.reshape(3, -1)': A, 'x.reshape()': A.ravel(), 'x.view(3, 4)': A, 'x.flatten(1)': A.ravel(),
    'x.flatten()': A.ravel(),
    'x.unsqueeze(0)': A[None], 'x.insert_axis(0)': A[None], 'one.squeeze(0)': A[0], 'x.flip(0)': A[::-1],
    'x.index_select(0, [1])': A[[1]], 'x.index_select(1, np.array([1, 0]))': A[:, [1, 0]],
    'x.index_select(dim=0, indices=[1])': A[[1]], 'x.select(0, 1)': A[1], 'x.narrow(0, 1, 1)': A[1:2],
    'x.roll(1, 0)': np.roll(A, 1, 0), 'x.repeat(2, 1)': np.tile(A, (2, 1)), 'x.repeat(1, 2)': np.tile(A, (1, 2)),
    'x.dot(w, 1)': (A @ I.T), 'fl.concat([x, x], 0)': np.concatenate([A, A]), 'fl.stack([x, x], 0)': np.stack([A, A]),
    'x.tril()': np.tril(A), 'x.trace()': A.trace(), 'x.expand(2, 3, 4)': np.stack([A, A]),
    'x.roll(1)': np.roll(A, 1, 1), 'x.roll(1, dims=0)': np.roll(A, 1, 0), 'x.repeat(2)': np.tile(A, (1, 2)),
    'x.diagonal()': A.diagonal(), 'x[..., 0]': A[:, 0], 'x[0, ...]': A[0], 'x[0, 1]': A[0, 1],
    'x.layer_norm((4,))': (A - A.mean(1, keepdims=True)) / np.sqrt(A.var(1, keepdims=True) + 1e-5),
    'np.mean(x)': A.mean(), 'np.mean(x, 1)': A.mean(1), 'np.sum(x, axis=0)': A.sum(0), 'np.sum(x, (0, 1))': A.sum(),
    'np.cumsum(x, 0)': A.cumsum(0), 'np.argmax(x, axis=1)': A.argmax(1), 'np.amax(x)': A.max(),
}

@pytest.mark.parametrize('learns', [False, True])
@pytest.mark.parametrize('call', CALLS)
def test_the_line_that_is_told_names_the_axes_and_runs(call, learns):
    scope = dict(x=X(learns), w=fl.Tensor(I, 'out feat'), one=fl.Tensor(A[:1], 'batch feat'), np=np, fl=fl)
    with pytest.raises(fl.FucinaError) as e: eval(call, scope)
    line = re.findall(r'\b(?:x|fl)\.[^;]*\)|x\[.*\]', str(e.value).rsplit('help: ', 1)[1])[0]
    if call.startswith('one'): scope['x'] = scope['one']
    given = eval(line, scope | dict(tensors=[scope['x']] * 2, indices=np.array([1, 0])))
    got = given if isinstance(given, int) else given.numpy()
    assert np.allclose(got, CALLS[call], 1e-5) and np.shape(got) == np.shape(CALLS[call]), line
    assert isinstance(given, int) or 'row' not in given.tags and 'col' not in given.tags, line


MADE = {'fl.normal(0, 1, (3, 4))': (3, 4), 'fl.uniform(0, 1, (3, 4))': (3, 4), 'fl.normal(0., 1., size=(3, 4))': (3, 4),
        'fl.randint(0, 10, (3, 4))': (3, 4), 'fl.randint(10, (3,))': (3,), 'fl.eye(3)': (3, 3),
        'fl.full((2, 3), 1.)': (2, 3), 'fl.arange(3)': (3,), 'fl.arange(0, 3)': (3,), 'fl.linspace(0, 1, 5)': (5,),
        'fl.randperm(6)': (6,), 'fl.normal(0., 1., (3, 4))': (3, 4), 'fl.bernoulli(.5, (3,))': (3,),
        'fl.linspace(0, 1, steps=5)': (5,), 'fl.zeros(2, 3, dtype="f64")': (2, 3),
        'fl.zeros(2, 3)': (2, 3), 'fl.rand((2, 3))': (2, 3), 'fl.ones(np.int64(3))': (3,)}

@pytest.mark.parametrize('call', MADE)
def test_sizes_alone_are_told_the_call_with_names(call):
    with pytest.raises(fl.FucinaError) as e: eval(call, dict(fl=fl, np=np))
    line = str(e.value).rsplit('help: ', 1)[1].split('; ')[0]
    assert eval(f'fl.{line}', dict(fl=fl)).shape == MADE[call], line


def test_parts_of_an_axis_in_the_order_of_torch():
    x = X()
    with pytest.raises(fl.TagError) as e: x.split(2, 1)
    parts = eval(str(e.value).rsplit('help: ', 1)[1], dict(x=x))
    assert [p.tolist() for p in parts] == [A[:, :2].tolist(), A[:, 2:].tolist()]
    with pytest.raises(fl.TagError) as e: x.split(3, 1)
    assert eval(str(e.value).rsplit('help: ', 1)[1], dict(x=x)).tolist() == A[:, :3].tolist()
    with pytest.raises(fl.TagError) as e: x.topk(2, 1)
    assert eval(str(e.value).rsplit('help: ', 1)[1], dict(x=x)).values.tolist() == A[:, [3, 2]].tolist()


@pytest.mark.parametrize('call', ['x.sum(5)', 'x.permute(0, 1, 2)', 'x.flip(2)'])
def test_a_position_that_is_not_there_is_told_the_axes(call):
    with pytest.raises(fl.TagError, match='the axes of x are batch feat'): eval(call, dict(x=X()))


def test_how_many_is_a_number():
    x = X()
    with pytest.raises(fl.OptionError, match='x.numel, without parentheses'): x.numel()
    assert x.numel == 12 and repr(x.numel) == '12' and isinstance(x.numel, int) and range(x.numel)[-1] == 11


def test_the_outermost_operation_is_the_one_that_is_shown():
    "An operation that hands its tag to another shows its own call, with its own arguments."
    x = fl.Tensor(np.ones((3, 4), 'f4'), 'batch feat')
    with pytest.raises(fl.TagError) as e: x.split_gated('swiglu', 1)
    assert "x.split_gated('swiglu', 'feat')" in str(e.value)
    assert x.split_gated('swiglu', 'feat').shape == (3, 2)
