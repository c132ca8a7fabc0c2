"""The exercise engine: every way to be right, wrong or unfinished gets its own words, and never an exception."""
import json, pkgutil
import numpy as np
import pytest
import fucinalib as fl
from fucinalib.autograd import op, registry
from fucinalib.errors import OptionError, TagError
from fucinalib.exercises import book, check, exercise, hint, solution, use
from fucinalib.tensor import Tensor


def leak(x, slope=.1): return Tensor(np.where(x.data > 0, x.data, x.data * slope).astype(x.data.dtype), x.tags)

X = Tensor([[1., -2., 3.], [-4., 5., 0.]], 'row col')


@pytest.fixture(autouse=True)
def empty_book():
    before = dict(book)
    book.clear()
    yield
    book.clear(); book.update(before)


@pytest.fixture
def twin():
    "An op of the registry with a gradient, and the chapter's exercise on it."
    @op('test')
    def twin(x: Tensor, by=2.):
        "Every value times `by`."
        return x.data * np.asarray(by, x.data.dtype), x.tags, (lambda g: g * np.asarray(by, g.dtype),)
    @op('test')
    def halve_it(x: Tensor): return x.data / 2, x.tags, (lambda g: g / 2,)
    exercise('7.1', 'Twice', twin, [(X,), (Tensor([1., 2.], 'a'), 3.)], grad=True, op='twin')
    yield twin
    for name in ('twin', 'halve_it'): del registry[name]; delattr(Tensor, name)


def ask(reference, *inputs, **options):
    """A check; without inputs the functions are called with nothing, and what is right is told
    all the same, unlike `ask_once`."""
    if not inputs: inputs, options = ['an input'], dict(run=lambda f, _: f()) | options
    exercise('1.1', 'A title', reference, list(inputs), **options)
    return lambda answer: check('1.1', answer)

def ask_once(reference, **options):
    "A check of a question without inputs, which has one right answer."
    exercise('1.1', 'A title', reference, **options)
    return lambda answer: check('1.1', answer)


def shown(v):
    "All three forms of a verdict; each keeps its promises."
    assert '\n' not in repr(v) and len(repr(v)) < 250
    html = v._repr_html_()
    assert len(html) < 10_000 and '<script' not in html
    return f'{v!r}\n{v}\n{html}'


# ---- right, and not yet ----
def test_right():
    v = ask(leak, (X, .1), (X, .5))(leak)
    assert v and repr(v) == '1.1 is right: 2 inputs agree' and v.answered
    assert 'right' in shown(v)

def test_next_open_exercise_is_named():
    exercise('1.1', 'One', 1); exercise('1.2', 'Two', 2); exercise('2.1', 'Elsewhere', 3)
    assert 'Next: 1.2 Two' in repr(check('1.1', 1))
    assert 'All 2 of this chapter are done' in repr(check('1.2', 2))
    exercise('1.1', 'One again', 1)
    assert book['1.1'].passed

def todo(x, slope): raise NotImplementedError
def dots(x, slope): ...
def documented(x, slope):
    "Not yet."
def gives_dots(x, slope): return ...

@pytest.mark.parametrize('stub', [todo, dots, documented, gives_dots, ..., None], ids=str)
def test_stub_is_not_answered_yet(stub):
    v = ask(leak, (X, .1), ask='Write leaky relu.')(stub)
    assert not v and not v.answered and repr(v) == '1.1 not answered yet: Write leaky relu.'
    shown(v)

def started(x, slope):
    x.data.sum()
    ...
def started_with_a_helper(x, slope):
    def inner(v): return v
    ...
def written_above_the_dots(x, slope):
    return Tensor(np.where(x.data > 0, x.data, x.data * slope).astype('f4'), x.tags)
    ...

def test_a_stub_with_a_line_above_its_dots_is_not_answered_yet():
    "The compiler drops a last line of `...`; what is right must not be told before a line is written"
    for stub in (started, started_with_a_helper):
        v = ask(leak, (X, .1), ask='Write leaky relu.')(stub)
        assert not v.answered and 'should be' not in shown(v) and repr(v) == '1.1 not answered yet: Write leaky relu.'
    assert ask(leak, (X, .1))(written_above_the_dots)
    no_source = eval('lambda x, slope: x.data[0, 0]')
    assert ask(leak, (X, .1))(no_source).answered

def test_a_stub_under_a_decorator():
    @own_op
    def stub(x: Tensor):
        x.data.sum()
        ...
    assert not ask(lambda x: x, (X,))(stub).answered

def own_op(fn):
    from fucinalib.gradients import custom_vjp
    return custom_vjp(fn)

@pytest.mark.parametrize('right, wrong',
                         [(3.5, 0.), ([1, 2], [0, 0]), ([1, 2], [1]), ('abx', ''),
                          (Tensor([1., 2.], 'd'), Tensor([2., 4.], 'd')),
                          (np.arange(3.), np.zeros(3)), (True, False), (3.5, [3.5])],
                         ids=str)
@pytest.mark.parametrize('form', [lambda v: v, lambda v: lambda: v], ids=['value', 'function'])
def test_a_question_with_one_answer_does_not_tell_it(right, wrong, form):
    one = ask_once(form(right), hints='think')
    assert one(form(right))
    v = one(form(wrong))
    told = shown(v)
    assert not v and v.answered and 'should be' not in told and 'right</span>' not in told
    assert '<svg' not in told and 'the right one' not in told
    assert v.help == "hint('1.1')" and v.fault.right == '' and v.fault.sides is None

def test_unknown_id():
    exercise('10.1', 'A', 1)
    for f in (lambda: check('10.l', 1), lambda: hint('10.l'), lambda: solution('10.l'), lambda: use('10.l', 1)):
        with pytest.raises(OptionError, match="did you mean '10.1'"): f()
    book.clear()
    with pytest.raises(OptionError, match='run the cells above'): check('10.1', 1)


# ---- wrong values ----
def test_wrong_entry_by_tag():
    v = ask(leak, (X, .1))(lambda x, slope: Tensor(np.where(x.data > 0, x.data, -x.data * np.float32(slope)), x.tags))
    assert repr(v) == '1.1 not right yet: wrong at row=0 col=1, 2 of 6 entries (0.2, should be -0.2)'
    text = str(v)
    assert 'wrong exactly where x is negative' in text and 'row=2 col=3 f32' in text and 'slope' in text
    assert shown(v).count('<svg') == 3

def test_which_input():
    v = ask(lambda x: x + 1, 1, 2)(lambda x: 2)
    assert 'input 2 of 2: another value (2, should be 3)' in repr(v)
    assert v.inputs == (2,)

def test_nearly_equal_numbers_show_enough_digits():
    v = ask(lambda: 0.3)(lambda: 0.30001)
    assert '0.30001, should be 0.3' in repr(v)

@pytest.mark.parametrize('fn, words', [
                             (lambda x: -x, 'opposite sign'),
                             (lambda x: x * 3, '3 times the right one'),
                             (lambda x: x + 2, '2 too large'),
                             (lambda x: x.T.copy(), 'two axes swapped'),
                             (lambda x: np.where(x == 0, np.nan, x), 'wrong exactly where x is zero')])
def test_patterns(fn, words):
    x = np.array([[1., -2.], [3., 0.]])
    assert words in str(ask(lambda x: x, x)(fn))

def test_nan():
    assert 'NaN at [1], the only wrong entry of 2 (nan, should be 1)' in repr(
        ask(lambda x: x, np.ones(2))(lambda x: np.array([1, np.nan])))
    assert 'value is NaN' in repr(ask(lambda: 1.)(lambda: float('nan')))
    assert ask(lambda: np.array([np.nan, np.inf]))(lambda: np.array([np.nan, np.inf]))
    assert not ask(lambda: np.array([np.nan, np.inf]))(lambda: np.array([np.nan, 1e30]))
    assert not ask(lambda: np.array([np.inf]))(lambda: np.array([-np.inf]))

def test_tolerance():
    right = np.array([1., 1000.], 'f4')
    assert ask(lambda: right)(lambda: right * np.float32(1 + 1e-6))
    assert not ask(lambda: right)(lambda: right * np.float32(1 + 1e-3))
    assert ask(lambda: right, tol=.01)(lambda: right * np.float32(1 + 1e-3))
    assert not ask(lambda: right * np.float32(1e-6))(lambda: right * 0)          # small values are not free
    assert ask(lambda: np.array([1., 0.], 'f4'))(lambda: np.array([1., 1e-7], 'f4'))   # rounding around zero is
    assert not ask(lambda: np.array([2**53 + 1]))(lambda: np.array([2**53]))     # integers exactly

def test_no_inputs_means_one_call():
    exercise('1.1', 'A', lambda: 3)
    assert check('1.1', lambda: 3)
    exercise('1.1', 'A', lambda: 3, [])
    with pytest.raises(OptionError, match='has no inputs'): check('1.1', lambda: 4)

def test_tags_sizes_types():
    one = ask(lambda x: x, X)
    assert 'wrong tags' in repr(one(lambda x: Tensor(x.data, 'row column')))
    assert "another order" in repr(one(lambda x: Tensor(x.data.T, 'col row')))
    assert ".permute('row col')" in str(one(lambda x: Tensor(x.data.T, 'col row')))
    assert 'wrong sizes' in repr(one(lambda x: Tensor(x.data[:, :2], x.tags)))
    assert 'values right, but another number type (f64, should be f32)' in repr(
        one(lambda x: Tensor(x.data.astype('f8'), x.tags)))
    assert 'the values differ, and so does the number type' in repr(
        one(lambda x: Tensor(x.data.astype('f8') + 1, x.tags)))
    assert 'returned an array, asked for a Tensor' in repr(one(lambda x: x.data))
    assert 'Tensor(array, tags)' in str(one(lambda x: x.data))
    assert 'returned a number, asked for a Tensor' in repr(one(lambda x: 3))
    for v in (one(lambda x: x.data), one(lambda x: Tensor(x.data.T, 'col row'))): shown(v)

def test_returned_none():
    def forgot(x): x.data
    assert 'returned None: did you forget return?' in repr(ask(lambda x: x, X)(forgot))
    assert ask(lambda x: None, X)(lambda x: print(end=''))

@pytest.mark.parametrize(
    'yours, right, words', [
        (True, False, 'True, should be False'),
        (1, True, 'returned a number, asked for a bool'),
        ('axb', 'abx', "'axb', should be 'abx'"),
        ([1, 2], [1, 3], '[1]: another value'),
        (('m', 'b'), ('b', 'm'), 'the right ones in another order'),
        (('m', 'b'), ('b', 'k'), '[0]: another value'),
        ([1], [1, 2], '1 value, asked for 2'),
        (np.ones(3), (np.ones(3), np.zeros(3)), '1 value, asked for 2'),
        (X, (X, X), '1 value, asked for 2'),
        (3, [1, 2], '1 value, asked for 2'),
        ((X, X, X), X, '3 values, asked for 1'),
        ([1, 2], np.ones(2), 'returned a list, asked for an array'),
        (np.array([1, 2]), [1, 2, 3], '2 values, asked for 3'),
        (np.array([1, 2]), [1, 3], '[1]: another value'),
        ({'a': 1}, {'b': 1}, "the key 'b' is missing"),
        ({'a': 1, 'b': 2}, {'a': 1}, "the key 'b' is too many"),
        ({'a': [1, X]}, {'a': [1, Tensor(X.data + 1, X.tags)]}, "['a'][1]: wrong at row=0 col=0"),
        ([None], [1], '[0]: no value here'),
        (np.array([True, False]), np.array([True, True]), 'wrong at [1]'),
        ({1}, {2}, 'another value')],
    ids=str)
def test_other_values(yours, right, words):
    v = ask(lambda: right)(lambda: yours)
    assert words in repr(v); shown(v)
    assert ask(lambda: right)(lambda: right)

def test_names_are_shown_together():
    "The first that differs would hide that only the order is another"
    v = ask(lambda a: ('b', 'm', 'n'), 0)(lambda a: ('m', 'b', 'n'))
    assert 'the right ones in another order' in repr(v)
    assert "yours : ('m', 'b', 'n')" in str(v) and "right : ('b', 'm', 'n')" in str(v)


def test_answer_that_is_a_value():
    exercise('1.1', 'What is 6 times 7', 42, ask='Give the number.')
    assert check('1.1', 42) and not check('1.1', 41) and not check('1.1', ...).answered
    assert 'a function is asked for' in repr(ask(leak, (X, .1))(3))


# ---- misbehaviour ----
def test_exception_shows_the_learners_line():
    def mine(x, slope):
        y = 2
        return x.relux(slope, y)
    v = ask(leak, (X, .1))(mine)
    assert 'your code raised UnknownName' in repr(v)
    assert 'return x.relux(slope, y)' in str(v) and 'relux' in str(v) and 'exercises.py",' not in str(v)
    shown(v)

def test_library_error_inside_the_answer_keeps_its_own_words():
    v = ask(leak, (X, .1))(lambda x, s: Tensor(x.data, 'row'))
    assert 'your code raised InvalidShape' in repr(v) and 'name every axis' in str(v)

def test_a_fault_of_a_rule_leaves_room_for_the_hint():
    "It says itself what is wrong; how the exercise calls the answer would be no help"
    @fl.custom_vjp
    def right(x:Tensor): return x.data.sum(), (), (lambda g: np.broadcast_to(g, x.shape),)
    @fl.custom_vjp
    def unfolded(x:Tensor): return x.data.sum(), (), (lambda g: g,)
    exercise('1.1', 'Spread', reference=right, grad=True, inputs=[(Tensor([1., 2.], 'd'),)], hints=('spread it',))
    v = check('1.1', unfolded)
    assert 'backward raised GradientShapeMismatch' in repr(v) and "help: hint('1.1')" in str(v)

def test_wrong_number_of_parameters():
    def mine(x): return x
    v = ask(leak, (X, .1))(mine)
    assert 'raised TypeError' in repr(v) and 'the exercise calls mine(x, slope)' in str(v)

def test_changed_input():
    def mine(x): x += 1; return x
    v = ask(lambda x: x + 1, np.zeros(3))(mine)
    assert 'value right, but it changed its input x' in repr(v) and 'work on a copy' in str(v)
    def tensor(x): x.data[...] = 0; return 1
    assert 'changed its input x' in repr(ask(lambda x: 1, X)(tensor)) and X.data[0, 0] == 1

def test_change_that_is_asked_for():
    def step(w, g): w -= g
    one = ask(step, (np.ones(2), np.ones(2)))
    def wrong(w, g): w -= 2 * g
    def rebinds(w, g): w = w - g; return None if w is not g else 1
    assert one(step)
    assert 'value right, w after the call: wrong at [0]' in repr(one(wrong))
    assert 'w after the call' in repr(one(rebinds))

def test_inputs_that_are_objects_and_lists():
    class Value:
        def __init__(self, data): self.data, self.me, self.rule = data, self, lambda: None
    assert ask(lambda v: v.data * 2, Value(3.))(lambda v: v.data * 2)
    def sets(v): v.data = 4.; return 6.
    assert 'changed its input v: .data: another value' in repr(ask(lambda v: v.data * 2, Value(3.))(sets))
    assert ask(lambda d: Value(d), 3.)(lambda d: Value(d))
    assert '.data: another value (4, should be 3)' in repr(ask(lambda d: Value(d), 3.)(lambda d: Value(d + 1)))
    w = Tensor([1., 2.], 'a', requires_grad=True)
    w.grad = [3., 4.]
    def step(ws, lr):
        for w in ws: w.data -= np.float32(lr) * w.grad.data
    def wrong(ws, lr):
        for w in ws: w.data -= np.float32(lr)
    one = ask(step, ([w], .5))
    assert one(step) and 'ws after the call: [0]: wrong at a=0' in repr(one(wrong)) and w.data[0] == 1
    def clear(w): w.grad = [0., 0.]
    assert 'w.grad after the call: wrong at a=0' in repr(ask(clear, w)(lambda w: print(end='')))
    assert ask(lambda: int)(lambda: int) and not ask(lambda: int)(lambda: float) and not ask(lambda: leak)(lambda: todo)

def test_raises():
    def guard(n):
        if n < 0: raise TagError('negative')
        return n
    one = ask(guard, 3, -3, raises=TagError)
    assert one(guard)
    assert 'input 2 of 2: TagError should be raised here'  in repr(one(lambda n: n))
    def other(n): return n if n > 0 else {}['x']
    assert 'raised KeyError instead of TagError' in repr(one(other))
    assert 'your code raised TagError' in repr(one(lambda n: guard(-1)))
    alone = ask(None, 3, raises=ValueError)
    assert alone(lambda n: int('x')) and not alone(lambda n: n)

def test_run():
    class Right:
        def __init__(self, by): self.by = by
        def __call__(self, x): return x * self.by
    class Off(Right):
        def __call__(self, x): return x + self.by
    one = ask(Right, (3, 4), run=lambda cls, by, x: cls(by)(x))
    assert one(Right) and '(7, should be 12)' in repr(one(Off))


# ---- gradients ----
def test_gradients(twin):
    def mine(x, by=2.): return _scale(x, by)
    _scale = own(lambda g, by: g * np.asarray(by, g.dtype))
    v = check('7.1', mine)
    assert v and 'values and gradients' in repr(v)

def own(rule):
    from fucinalib.gradients import custom_vjp
    @custom_vjp
    def scale(x: Tensor, by=2.): return x.data * np.asarray(by, x.data.dtype), x.tags, (lambda g: rule(g, by),)
    return scale

def test_wrong_gradient(twin):
    v = check('7.1', own(lambda g, by: g))
    assert 'value right, gradient of x wrong at row=0 col=0, 6 of 6 entries' in repr(v)
    assert '0.5 times the right one' in str(v)
    assert shown(v).count('<svg') == 3

def test_lost_gradient(twin):
    assert 'value right, but no gradient passes' in repr(
        check('7.1', lambda x, by=2.: Tensor(x.data * np.float32(by), x.tags)))

def test_failing_backward(twin):
    def boom(g, by): return g.nothing
    v = check('7.1', own(boom))
    assert 'value right, but its backward raised GradError' in repr(v) and 'nothing' in str(v)


# ---- hints and solutions ----
def test_hints():
    exercise('1.1', 'A', 1, hints=('one', 'two'))
    assert [str(hint('1.1')) for _ in range(2)] == ['Hint 1/2: one', 'Hint 2/2: two']
    assert 'last hint' in hint('1.1') and 'solution' in hint('1.1')
    assert repr(hint('1.1', 1)) == 'Hint 1/2: one'
    with pytest.raises(OptionError, match='there are 2'): hint('1.1', 3)
    exercise('1.2', 'B', 1)
    assert 'There is no hint' in hint('1.2')

def test_solution_from_a_notebook(tmp_path, monkeypatch):
    cell = lambda source: dict(cell_type='code', source=source.splitlines(True))
    cells = [cell('#| solution: 91.10\ndef no(): pass'),
             cell("#| solution: 91.1\ndef answer(x): return x\ncheck('91.1', answer)")]
    (tmp_path / '91_a.ipynb').write_text(json.dumps(dict(cells=cells)))
    (tmp_path / '90_broken.ipynb').write_text('solution: 91.1 {')
    monkeypatch.chdir(tmp_path)
    exercise('91.1', 'Same', 1); exercise('91.2', 'Lost', 1)
    assert 'def answer(x): return x' in solution('91.1') and '```python' in solution('91.1')._repr_markdown_()
    assert 'folded cell below' in solution('91.2')


# ---- your own op in the library ----
def test_use(twin):
    mine = own(lambda g, by: g * np.asarray(by, g.dtype))
    calls = []
    def counted(x, by=2.): calls.append(1); return mine(x, by)
    with use('7.1', counted) as used:
        calls.clear()
        assert 'is yours (counted)' in repr(used)
        assert X.twin().data[0, 0] == 2 and twin(X).data[0, 0] == 2 and len(calls) == 2
        assert not check('7.1', lambda x, by=2.: x)      # the reference is still the library's
    calls.clear()
    assert X.twin().data[0, 0] == 2 and not calls
    used = use('7.1')                                    # the latest right answer
    X.twin(); assert calls
    again = use('7.1', None)
    assert "library's own" in repr(again)
    calls.clear(); X.twin(); assert not calls
    again.undo(); used.undo()                            # other tests count what watches

def test_use_again(twin):
    "One object in two blocks, one inside the other, and undone by hand: each puts back what it found."
    mine, calls = own(lambda g, by: g * np.asarray(by, g.dtype)), []
    def counted(x, by=2.): calls.append(1); return mine(x, by)
    def ran(): calls.clear(); X.twin(); return bool(calls)
    used = use('7.1', counted)
    with used:
        with used: assert ran()
        assert ran()
    assert not ran()
    with used: assert ran()
    used.undo()
    assert not ran()
    used = use('7.1', counted)
    used.undo()
    assert not ran()
    with used: assert ran()
    assert not ran()

def test_use_of_an_answer_that_covers_a_part(twin):
    "What `adapt` answers NotImplemented is left to the library, and inside it the op is the library's own"
    seen = []
    def adapt(answer):
        def call(x, by=2.):
            seen.append(by)
            return answer(x) if by == 2. else NotImplemented
        return call
    exercise('7.4', 'Doubled', lambda x: x + x, [(X,)], op='twin', adapt=adapt)
    with use('7.4', lambda x: x * 2.) as used:
        assert 'twin is yours (<lambda>)' in repr(used)
        assert X.twin().data[0, 1] == -4 and X.twin(3.).data[0, 1] == -6 and seen == [2., 3.]
    assert X.twin().data[0, 1] == -4 and len(seen) == 2
    exercise('7.5', 'In terms of itself', lambda x: x + x, [(X,)], op='twin',
             adapt=lambda answer: lambda x, by=2.: answer(x.twin(by / 2)))
    with use('7.5', lambda x: x + x): assert X.twin().data[0, 1] == -4

def test_use_makes_a_method():
    exercise('7.6', 'Thrice', lambda x, n=1: x * 3. * n, [(X,), (X, 2)], method='thrice')
    with pytest.raises(AttributeError): X.thrice()
    def mine(x, n=1): return x + x * 2. if n == 1 else x * 6.
    with use('7.6', mine) as used:
        assert repr(used) == 'thrice is yours (mine), a method of every Tensor' and X.thrice(2).data[0, 1] == -12
    with pytest.raises(AttributeError): X.thrice()
    assert repr(used) == 'Tensor has no method thrice'
    used = use('7.6')
    with use('7.6', lambda x, n=1: x * 3. * n): pass
    assert X.thrice().data[0, 1] == -6
    used.undo()
    with pytest.raises(AttributeError): X.thrice()
    exercise('7.7', 'The first row', lambda x: x.data[0], [(X,)], method='first_row',
             adapt=lambda answer: lambda x: Tensor(answer(x), 'col'))
    with use('7.7', lambda x: x.data[0] + 0): assert X.first_row().tags == ('col',)
    with use('7.7', lambda x: x.data[0] * 1), use('7.7', None): assert not hasattr(X, 'first_row')

def test_a_method_may_not_hide_one_of_the_library():
    with pytest.raises(OptionError, match="Tensor has 'sum'.*\n.*op='sum'"):
        exercise('7.8', 'A', lambda x: x, [(X,)], method='sum')

def test_use_wants_a_right_answer(twin):
    with pytest.raises(OptionError, match='must pass its check'): use('7.1', lambda x, by=2.: x)
    exercise('7.2', 'No op', 1)
    with pytest.raises(OptionError, match='replaces no operation'): use('7.2', 1)
    with pytest.raises(OptionError, match="did you mean 'twin'"): exercise('7.3', 'A', 1, op='twinn')

def test_numbers_that_are_asked_for_may_come_in_an_array():
    "An array of the right numbers says the same as a list of them."
    assert ask(lambda: [.75, -.25])(lambda: np.array([.75, -.25]))
    assert ask(lambda: [.75, -.25])(lambda: np.array([.75, -.25], 'f4'))
    assert ask(lambda: ([1, 2], [3, 4]))(lambda: np.array([[1, 2], [3, 4]]))
    assert not ask(lambda: [[1], 'b'])(lambda: np.ones(2))
    assert 'returned an array, asked for a list' in shown(ask(lambda: ['m', 'b'])(lambda: np.array(['m', 'b'])))

def test_minus_zero_is_shown_as_zero():
    "It counts as 0, so it is nothing that could be wrong."
    told = shown(ask(lambda: (np.float32([-0., 5]), -0.))(lambda: (np.float32([-0., 6]), 1.)))
    assert '-0' not in told and '>0<' in told
    told = repr(ask(lambda: np.float32([-0., 5., -0.]))(lambda: np.ones(2, 'f4')))
    assert '-0' not in told and '0, 5, 0' in told
    assert 'should be 0)' in repr(ask(lambda: -0.)(lambda: 1.))

def test_use_tells_a_wrong_answer_from_none(twin):
    def wrong(x, by=2.): return x
    with pytest.raises(OptionError, match='not answered yet'): use('7.1')
    check('7.1', wrong); check('7.1', ...)
    with pytest.raises(OptionError, match='7.1: it was answered wrongly(.|\n)*not right yet'): use('7.1')

def test_use_says_that_it_takes_an_older_answer(twin, capsys):
    def doubled(x, by=2.): return x * by
    assert check('7.1', doubled)
    with use('7.1'): assert not capsys.readouterr().out
    check('7.1', lambda x, by=2.: x); check('7.1', ...)
    with use('7.1'): assert 'use 7.1 takes doubled, the latest answer that was right' in capsys.readouterr().out

@pytest.mark.parametrize('call, help', [
    (lambda: check('7.1'), "check('7.1', your_answer)"), (check, "check('7.1', your_answer)"), (hint, "hint('7.1')"),
    (solution, "solution('7.1')"), (use, "use('7.1')")], ids=str)
def test_an_argument_left_out_is_asked_for(twin, call, help):
    with pytest.raises(OptionError) as e: call()
    assert help in str(e.value)

def test_answer_may_not_call_the_op(twin):
    assert 'it calls twin, the operation to write' in repr(check('7.1', lambda x, by=2.: x.twin(by)))
    assert check('7.1', own(lambda g, by: g * np.asarray(by, g.dtype)))      # and the op works as before


# ---- pictures ----
@pytest.mark.parametrize('shape', [(2,), (40,), (12, 12), (100, 100), (1, 30), (2, 3, 40), (6, 6), (30, 1)], ids=str)
@pytest.mark.parametrize('kind', ['f4', 'i8', '?'])
def test_pictures_stay_small(shape, kind):
    rng = np.random.default_rng(0)
    a = (rng.standard_normal(shape) * 1e3 / 7).astype(kind)
    b = ~a if kind == '?' else a + rng.integers(1, 9, shape).astype(kind)
    if kind == 'f4': b.flat[0] = np.nan
    tags = tuple('abc'[:len(shape)])
    v = ask(lambda: Tensor(a, tags))(lambda: Tensor(b, tags))
    assert not v and shown(v).count('<svg') == 3

def test_ask_comes_from_the_stub():
    assert repr(ask(leak, (X, .1))(documented)) == '1.1 not answered yet: Not yet.'
    assert repr(ask(leak, (X, .1))(dots)) == '1.1 not answered yet: A title'

def test_own_picture():
    one = ask(lambda: np.ones(2), picture=lambda yours, right: f'<b>{len(yours)} drawn</b>')
    assert '<b>2 drawn</b>' in one(lambda: np.zeros(2))._repr_html_()
    assert '<svg' in ask(lambda: np.ones(2), picture=lambda a, b: 1 / 0)(lambda: np.zeros(2))._repr_html_()
    assert '<svg' not in ask(lambda: np.ones(2), picture=False)(lambda: np.zeros(2))._repr_html_()

def test_everything_is_escaped():
    assert '<i>' not in ask(lambda: '<i>a')(lambda: '<i>b')._repr_html_()

def test_names_of_the_modules_hide_no_op():
    assert not {m.name for m in pkgutil.iter_modules(fl.__path__)} & set(registry)

def test_a_result_among_the_inputs_keeps_its_graph():
    "What is asked about may be how it was made"
    from fucinalib.autograd import reach
    gain = Tensor([1., 1.], 'd', requires_grad=True)
    ask(lambda y: len(reach(y.node)), (gain * 2.,), (gain * 2. * gain,))
    assert 'should be 2' in repr(check('1.1', lambda y: 1)) and check('1.1', lambda y: len(reach(y.node)))
