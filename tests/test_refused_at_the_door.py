"What would lose a value, or fail far away, is refused where it arrives, and the way out loses nothing."
import numpy as np
import pytest
import fucinalib as fl
from fucinalib.autograd import op
from fucinalib.checks import real
from fucinalib.errors import *

X = fl.Tensor(np.ones((2, 3), 'f4'), 'row col')
HUGE = 10**30


def said(kind, call, *words):
    "The message of a call that must fail, with these words in it."
    with pytest.raises(kind) as e: call()
    for w in words: assert w in str(e.value)
    return str(e.value)


# ---- numbers
@pytest.mark.parametrize('odd', [np.full(3, 1 + 2j, 'c8'), [np.complex64(1j)] * 3, np.zeros(3, 'c16')])
@pytest.mark.parametrize('call', [lambda v: X.bias_add(v, 'col'), lambda v: fl.copy_of(X).bias_add_(v, 'col'),
                                  lambda v: fl.rope_table([0, 1], 6, freq_factors=v),
                                  lambda v: fl.rope_table([0, 1], 6, inv_freqs=v)])
def test_complex_numbers_are_not_cut(call, odd):
    said(DTypeError, lambda: call(odd), 'complex', 'real')


@pytest.mark.parametrize('a,b,right', [('i64', 'f32', "tensors[0].to('f32')"), ('f32', 'i64', "tensors[1].to('f32')"),
                                       ('i8', 'i64', "tensors[0].to('i64')"), ('f64', 'f32', "tensors[1].to('f64')"),
                                       ('bool', 'i32', "tensors[0].to('i32')"), ('i16', 'f16', "tensors[0].to('f16')")])
def test_the_wider_type_is_proposed(a, b, right):
    tensors = [fl.ones('d', 2, dtype=k) for k in (a, b)]
    for call in (lambda: fl.concat(tensors, 'd'), lambda: fl.stack(tensors, 'n')): said(DTypeError, call, right)


@pytest.mark.parametrize('data,way', [
    (np.array([2**32 - 1], 'u4'), lambda d: np.asarray(d).astype('i8')),
    (np.array([2**32 - 1], 'u8'), lambda d: np.asarray(d).astype('i8')),
    (np.array(['2026-11-30'], 'M8[D]'), lambda d: np.asarray(d).astype('i8')),
    (b'ab', lambda d: np.frombuffer(d, 'u1')),
    (np.array([1 + 2j]), np.real), ([1 + 2j], np.real), ({3}, lambda d: sorted(d)),
    ({'a': 3}, lambda d: [*d.values()])])
def test_the_way_in_holds_every_value(data, way):
    message = said(DTypeError, lambda: fl.Tensor(data, 'd'))
    told = {'i8': 'astype("i8")', 'u1': 'frombuffer(data, "u1")', 'f8': 'np.real(data)'}
    right = fl.Tensor(way(data), 'd')
    if type(data) in (set, dict): assert ('sorted(data)' if type(data) is set else '[*data.values()]') in message
    else: assert ('np.real(data)' if np.iscomplexobj(data) else told[right.data.dtype.str[1:]]) in message
    if isinstance(data, np.ndarray) and data.dtype.kind == 'u': assert right.tolist() == data.tolist()


def test_a_place_beyond_i64_is_told_where_places_are():
    said(DTypeError, lambda: X.index_select('col', [HUGE]), 'positions are 0 to 2')
    said(DTypeError, lambda: X.cross_entropy('col', [HUGE, 0]), 'are 0 to 2')
    said(DTypeError, lambda: X.segment_sum('col', [0, HUGE]), 'offsets are 0 to 3')


@pytest.mark.parametrize('call', [
    lambda: fl.full('d', 2, HUGE), lambda: fl.full_like(X, HUGE), lambda: fl.Tensor([HUGE], 'd'),
    lambda: fl.Tensor([1, -HUGE], 'd', 'f32'), lambda: X.index_select('col', [HUGE]),
    lambda: X.cross_entropy('col', [HUGE, 0]), lambda: fl.one_hot([HUGE], 'item class', 3)])
def test_a_number_beyond_i64_is_called_so(call):
    assert 'object' not in said(DTypeError, call, 'beyond the range of i64')
    assert fl.full('d', 2, float(HUGE)).tolist() == [np.float32(1e30)] * 2       # the help


# ---- number types
@pytest.mark.parametrize('dtype', [0, False, '', b'', [], (), {}, np.float16(1), np.True_, np.float16(3), np.ones(2)])
@pytest.mark.parametrize('call', [lambda t: fl.zeros_like(X, dtype=t), lambda t: fl.ones_like(X, dtype=t),
                                  lambda t: fl.empty_like(X, dtype=t), lambda t: fl.full_like(X, 2, dtype=t),
                                  lambda t: fl.arange('d', 3, dtype=t), lambda t: X.to(t)])
def test_what_is_no_number_type(call, dtype):
    said(DTypeError, lambda: call(dtype), 'no number type')


def test_the_types_of_numpy_are_number_types():
    for t in (np.float16, np.dtype('f2'), 'float16'): assert X.to(t).dtype == 'f16'


# ---- messages
@pytest.mark.parametrize('call', [lambda: X[{'rwo': 0}], lambda: X.split('col', 'row b', row=1)])
def test_a_tensor_is_listed_once(call):
    assert said(TagError, call).count('row=2') == 1


def test_operands_that_were_not_given_are_not_listed():
    a, b = fl.ones('row col', (2, 3), dtype='f16'), fl.ones('col', 3, dtype='f64')
    for call in (lambda: a.layer_norm('col', b), lambda: a.to('f8_e4m3').softmax('col')):
        assert 'None' not in said(DTypeError, call)


def test_a_starred_parameter_is_no_option():
    assert 'options are' not in said(OptionError, lambda: X.flip(dims=[0]), "no option 'dims'", 'flip(')


def test_a_misspelt_entry_of_a_table():
    with pytest.raises(KeyError, match="did you mean 'relu'"): fl.registry['rleu']
    assert fl.registry.get('rleu') is None and 'rleu' not in fl.registry


# ---- operations of one's own
def own(result, kind=fl.custom_vjp):
    def mine(x:fl.Tensor): return result
    return kind(mine)

ODD = [np.ones((2, 3), 'u4'), np.ones((2, 3), 'c8'), np.full((2, 3), 'a'), np.ones((2, 3), object),
       np.ones((2, 3), np.longdouble), np.ones((2, 3), '>f4'), np.ones((2, 3), 'M8[D]')]

@pytest.mark.parametrize('y', ODD, ids=lambda y: y.dtype.str)
@pytest.mark.parametrize('kind', [fl.custom_vjp, lambda f: op('custom', attach=False, replace=True)(f)])
def test_an_array_that_no_tensor_holds(y, kind):
    message = said(DTypeError, lambda: own((y, X.tags, (lambda g: g,)), kind)(X), 'mine returned an array of', 'return')
    if 'y.astype' in message:
        y = y.astype(message.split("y.astype('")[1][:2])
        assert own((y, X.tags, (lambda g: g,)))(X).tolist() == y.tolist()


@pytest.mark.parametrize('result', [None, 3., [X.data, X.tags, (None,)], (v for v in ()), X.data], ids=repr)
def test_what_is_no_result(result): said(GradError, lambda: own(result)(X), 'mine returned', '(array, tags as a tuple')


def test_a_tensor_is_a_result(): assert own(X)(X) is X


def plain(x:fl.Tensor): return x.data, x.tags, (lambda g: g,)

def make(*family, **how): return lambda: op(*family, attach=False, replace=True, **how)(plain)

@pytest.mark.parametrize('call,word', [
    (lambda: op(plain), 'function'), (lambda: op(3), 'int'), (make('m', half='foo'), "'foo'"),
    (make('m', needs='x'), 'checks'), (make('m', needs=[real('y')]), "'y'"),
    (lambda: op('m')(int), 'int'), (lambda: op('m')(len), 'len')])
def test_what_makes_no_operation(call, word):
    said(OptionError, call, 'op', word, 'help:')
    assert make('m', half='f32', needs=[real('x')])()(X).tolist() == X.tolist()
    del fl.registry['plain']


# ---- options
@pytest.mark.parametrize('yes', [True, False, np.True_], ids=repr)
@pytest.mark.parametrize('call', [
    lambda v: X.layer_norm('col', eps=v), lambda v: X.huber_loss(X, delta=v), lambda v: fl.linspace('d', v, 2., 3),
    lambda v: fl.bernoulli('d', d=2, p=v), lambda v: fl.uniform('d', 2, low=v, high=5.),
    lambda v: fl.arange('d', v), lambda v: X.dropout(v, seed=1), lambda v: fl.rope_table([0], 2, theta=v)])
def test_a_truth_value_is_no_number(call, yes): said(OptionTypeError, lambda: call(yes), f'is {yes!r}')


@pytest.mark.parametrize('dtype,most', [('f32', 1e39), ('f16', 1e5), ('bf16', 1e39), ('f32', 1e308)])
def test_bounds_beyond_a_type_are_called_so(dtype, most):
    said(OptionError, lambda: fl.uniform('d', 2, low=-most, high=most, dtype=dtype), f'{-most} is beyond {dtype}')
    said(OptionError, lambda: fl.uniform('d', 2, low=0, high=most, dtype=dtype), f'{most} is beyond {dtype}')
    assert np.isfinite(fl.uniform('d', 2, low=-most, high=most, dtype='f64').data).all()      # the help


def test_an_empty_range_is_called_so():
    said(OptionError, lambda: fl.uniform('d', 2, low=1, high=1), 'no f32 number lies in [1.0, 1.0)')


FAR = 2**50      # values: a million gigabytes

@pytest.mark.parametrize('call', [
    lambda: fl.zeros('d', FAR), lambda: fl.ones('d', FAR), lambda: fl.full('d', FAR, 2), lambda: fl.rand('d', FAR),
    lambda: fl.linspace('d', 0, 1, FAR), lambda: fl.randperm('d', FAR), lambda: fl.one_hot([0], 'item class', FAR),
    lambda: X.repeat('row', FAR), lambda: X.pad('row', 0, FAR)])
def test_what_no_memory_holds(call):
    said(OutOfMemory, call, 'no memory holds this', 'help:')
    with pytest.raises(MemoryError): call()
