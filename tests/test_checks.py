"""The words operations declare what they need with: each tests, says and spoils; and faults are
completed on their way out."""
import pickle
import numpy as np
import pytest
import fucinalib as fl
from fucinalib.autograd import Sample, facts, op, registry
from fucinalib.checks import (additive, agrees, axes, axis, broadcasts, constant, count, flag,
                              integral, last, leading, like, logical, matches, meets, new_axis, number,
                              one_of, positions, rank, real, rows, same_axes, single, together, two,
                              vector, whole)
from fucinalib.tensor import Tensor


@pytest.fixture
def probe():
    "An operation whose parameters are looked at by every word."
    @op('probe', attach=False,
        needs=[real('x'), axis('tag', of='x'), vector('weight bias', over='tag', of='x'),
               together('weight bias'), like('residual', 'x'), constant('residual'),
               number('eps', least=0),
               whole('groups', least=1, most=4), one_of('mode', 'inside outside'), flag('fast'),
               new_axis('out', of='x', instead='tag')])
    def probe_(x:Tensor, tag, eps=1e-5, weight:Tensor=None, bias:Tensor=None, residual=None,
               groups=1, mode='inside', fast=False,
               out='out')->Tensor:
        "x, if all is well."
        return x.data.copy(), x.tags, (lambda g: g, None, None)
    facts(probe_, samples=[Sample('row=2 d=3', 'd', weight='d=3', bias='d=3', residual=lambda: X())])
    yield probe_
    del registry['probe_']


X = lambda: Tensor([[1., 2., 3.], [4., 5., 6.]], 'row d')
V = lambda tag='d', n=3: Tensor([1.] * n, tag)


def test_a_good_call_passes(probe):
    x = X()
    probe(x, 'd')
    probe(x, ('d',), 0, V(), V(), x, np.int64(2), 'outside', np.bool_(True), 'd')
    probe(x, tag='row', eps=np.float32(1e-3), groups=4)
    for out in (' h ', ('h',), ['h'], ['d']): probe(x, 'd', out=out)


BAD = [
    (fl.DTypeError, dict(x=Tensor([[1]], 'row d')), 'probe_ of i64'),
    (fl.TagError, dict(tag='e'), "probe_ over 'e': there is no such axis"),
    (fl.TagError, dict(tag='row d'), 'probe_ takes one axis'),
    (fl.DTypeError, dict(eps='small'), "probe_: eps is 'small'"),
    (fl.OptionError, dict(eps=-1), 'probe_: eps is -1'),
    (fl.OptionError, dict(eps=float('nan')), 'probe_: eps is nan'),
    (fl.OptionError, dict(eps=float('inf')), 'probe_: eps is inf'),
    (fl.OptionError, dict(eps=10**400), 'probe_: eps is 1000'),
    (fl.DTypeError, dict(eps=Tensor(1.)), 'probe_: eps is a Tensor'),
    (fl.TagError, dict(weight=V('e'), bias=V()), "probe_: weight has the one axis 'd'"),
    (fl.ShapeMismatch, dict(weight=V(), bias=V(n=4)), "probe_ over 'd': sizes differ"),
    (fl.DTypeError, dict(weight=V().to('f64'), bias=V()), 'probe_ of f32 and f64'),
    (fl.OptionError, dict(weight=V()), 'probe_: bias is missing'),
    (fl.ShapeMismatch, dict(residual=V()), 'probe_: residual is not like x'),
    (fl.ShapeMismatch,
     dict(residual=X().permute('d row')),
     'probe_: residual has the axes of x in another order'),
    (fl.UnsupportedGradient,
     dict(residual=Tensor(X(), requires_grad=True)),
     'probe_ passes no gradient to its residual'),
    (fl.InvalidShape, dict(groups=0), 'probe_: groups is 0'),
    (fl.InvalidShape, dict(groups=5), 'probe_: groups is 5'),
    (fl.OptionError, dict(groups=True), 'probe_: groups is True'),
    (fl.OptionError, dict(groups=1.5), 'probe_: groups is 1.5'),
    (fl.OptionError, dict(mode='inner'), "probe_: there is no mode 'inner'"),
    (fl.OptionError, dict(mode=['inside']), 'probe_: there is no mode a list'),
    (fl.OptionError, dict(fast='yes'), "probe_: fast is 'yes'"),
    (fl.TagError, dict(out='p q'), "probe_: out is 'p q', which is not one name"),
    (fl.TagError, dict(out=3), 'probe_: out is 3, which is not one name'),
    (fl.TagError, dict(out='row'), "probe_: the name 'row' is taken"),
    (fl.TagError, dict(out=['row']), "probe_: the name 'row' is taken"),
    (fl.TagError, dict(out=[]), 'probe_: out is [], which is not one name'),
]

@pytest.mark.parametrize('kind,bad,head', BAD, ids=[h for *_, h in BAD])
def test_a_bad_call_is_told(probe, kind, bad, head):
    given = dict(x=X(), tag='d') | bad
    with pytest.raises(kind) as e: probe(**given)
    assert str(e.value).startswith(head) and '\n  help: ' in str(e.value)
    for name in [n for n, v in given.items() if isinstance(v, Tensor)]:
        assert f'    {name}' in str(e.value) or name == 'eps'


def test_every_word_spoils(probe):
    "The mistakes made of the sample fail in the way they say, and are written as a call."
    made = list(probe.op.mistakes)
    assert len(made) >= 15
    for kind, call in made:
        with pytest.raises(kind, match='help:'): call(probe)
        assert call.code().startswith('fl.probe_(x, ')


@pytest.fixture
def chooser():
    "An operation with a mask, a side that may be a number, and an end that may be open."
    @op('probe', attach=False,
        needs=[matches('mask other', of='x'), logical('mask'), whole('reach', least=0, none='no end'),
               one_of('how', 'near far', 'measure')])
    def chooser_(x:Tensor, mask:Tensor, other=0., reach=3, how='near')->Tensor:
        "x, if all is well."
        return x.data.copy(), x.tags, (lambda g: g, None)
    facts(chooser_, samples=[Sample('row=2 d=3', 'row=2 d=3', lambda: X())])
    yield chooser_
    del registry['chooser_']


UNFIT = [
    (fl.DTypeError,
     dict(mask=Tensor([[1, 0, 1], [0, 0, 1]], 'row d')),
     'chooser_: whole numbers are not truth values',
     'mask.ne(0)'),
    (fl.DTypeError, dict(mask=[[True]]), 'chooser_: mask is a list, not a tensor', 'x > 0'),
    (fl.DTypeError, dict(mask=np.ones((2, 3), bool)),
     'chooser_: mask is an ndarray, not a tensor', "Tensor(mask, 'row col')"),
    (fl.ShapeMismatch, dict(mask=V()), 'chooser_: mask is not like x',
     "mask.broadcast_to('row d', (2, 3))"),
    (fl.ShapeMismatch,
     dict(other=Tensor([[1.], [2.]], 'row d')),
     "chooser_ over 'd': sizes differ",
     "other.broadcast_to('row d', (2, 3))"),
    (fl.ShapeMismatch,
     dict(other=X().permute('d row')),
     'chooser_: other has the axes of x in another order',
     "other.permute('row d')"),
    (fl.ShapeMismatch,
     dict(other=Tensor([[1.] * 4] * 2, 'row d')),
     "chooser_ over 'd': sizes differ",
     "'d' is 3 in x and 4 in other"),
    (fl.ShapeMismatch, dict(other=V('e')), 'chooser_: other is not like x',
     "the same tags and sizes as x: 'row d', (2, 3)"),
    (fl.OptionError, dict(reach=.5), 'chooser_: reach is 0.5',
     'a whole number, at least 0, or None for no end'),
    (fl.InvalidShape, dict(reach=-1), 'chooser_: reach is -1', 'at least 0'),
    (fl.OptionError, dict(how='fat'), "chooser_: there is no measure 'fat'", "did you mean 'far'?"),
]

@pytest.mark.parametrize('kind,bad,head,help', UNFIT, ids=[f'{h} {n}' for n, (_, _, h, _) in enumerate(UNFIT)])
def test_what_a_choice_refuses(chooser, kind, bad, head, help):
    with pytest.raises(kind) as e: chooser(**dict(x=X(), mask=X()) | bad)
    assert str(e.value).startswith(head) and help in str(e.value).split('\n  help: ')[1]


def test_what_a_choice_takes(chooser):
    x = X()
    for more in ((), (x, None), (2, np.int64(0), 'far'), (x.to('i64'),)): chooser(x, x, *more)
    chooser(x, Tensor(x.data > 0, x.tags))
    kinds = [kind for kind, call in chooser.op.mistakes if pytest.raises(kind, call, chooser)]
    assert kinds.count(fl.ShapeMismatch) == 2 and len(kinds) == 6


@pytest.fixture
def looker():
    "An operation on queries and keys, with a table beside them and a name that may stand for an axis that goes."
    @op('probe', attach=False,
        needs=[axes('q', 'seq d', alone=False),
               axes('k', 'seq d', of='q'),
               agrees('k', of='q', but='seq'),
               rank('table', 2, 'seq key', kind=fl.InvalidShape), leading('part', 'q', 1), single('q'),
               rank('part', 1, 'seq', most=3),
               vector('sinks', "'d'", 'q'), new_axis('out', 'q', free=('d',)),
               one_of('mask', 'near far', hint='a table is a bias')])
    def looker_(q:Tensor, k:Tensor, table=None, part=None, sinks=None, out='out', mask='near')->Tensor:
        "q, if all is well."
        return q.data.copy(), q.tags, (lambda g: g, None)
    facts(looker_, samples=[Sample('row=2 seq=2 d=3', 'row=2 seq=4 d=3', 'seq=2 key=4', 'row=2 seq=5', 'd=3')])
    yield looker_
    del registry['looker_']


Q = lambda tags='row seq d': Tensor(np.ones((2, 2, 3), 'f4'), tags)
UNLIKE = [
    (fl.TagError, dict(q=Q('row d seq')), "looker_: the axes of q end in 'seq d'",
     "q.permute('row seq d')"),
    (fl.TagError, dict(q=Q('row time feat')), "looker_: the axes of q end in 'seq d'",
     "q.rename('row seq d') if"),
    (fl.TagError, dict(q=V()), "looker_: the axes of q end in 'seq d'", "Tensor(values, 'seq d')"),
    (fl.DTypeError, dict(q=Q().to('f64')), 'looker_ of f64', "q.to('f32')"),
    (fl.TagError, dict(k=Q('row d seq')), "looker_: the axes of k are 'row seq d'",
     "k.permute('row seq d')"),
    (fl.TagError, dict(k=Q('a b c')), "looker_: the axes of k are 'row seq d'",
     "k.rename('row seq d')"),
    (fl.TagError, dict(k=X()), "looker_: the axes of k are 'row seq d'", "Tensor(values, 'row seq d')"),
    (fl.ShapeMismatch,
     dict(k=Tensor(np.ones((2, 9, 4), 'f4'), 'row seq d')),
     "looker_ over 'd': sizes differ",
     "'d' is 3 in q and 4 in k"),
    (fl.InvalidShape, dict(table=V()), 'looker_: table has two axes, and this one 1',
     "table.insert_axis('one')"),
    (fl.InvalidShape,
     dict(table=Q()),
     'looker_: table has two axes, and this one 3',
     "Tensor(values, 'seq key'); select or merge axes"),
    (fl.TagError, dict(part=V('seq', 2)), "looker_: the axes of part begin with 'row'",
     "part.rename('row')"),
    (fl.ShapeMismatch, dict(part=V('row', 3)), "looker_ over 'row': sizes differ",
     "'row' is 2 in q and 3 in part"),
    (fl.TagError, dict(sinks=V('e')), "looker_: sinks has the one axis 'd'", "Tensor(values, 'd')"),
    (fl.ShapeMismatch, dict(sinks=V(n=4)), "looker_ over 'd': sizes differ",
     "'d' is 3 in q and 4 in sinks"),
    (fl.TagError, dict(out='seq'), "looker_: the name 'seq' is taken", "out='seq2'"),
    (fl.OptionError,
     dict(mask='fat'),
     "looker_: there is no mask 'fat'",
     "did you mean 'far'? it is one of: near far; a table is a bias"),
]

@pytest.mark.parametrize('kind,bad,head,help', UNLIKE, ids=[f'{h} {n}' for n, (_, _, h, _) in enumerate(UNLIKE)])
def test_what_goes_beside_another(looker, kind, bad, head, help):
    looker(Q(), Q(), out='d')
    looker(Q(), [Q('a b c')], part=V('row', 2))
    with pytest.raises(kind) as e: looker(**dict(q=Q(), k=Q()) | bad)
    assert str(e.value).startswith(head) and help in str(e.value).split('\n  help: ')[1]


def test_what_goes_beside_another_is_spoiled(looker):
    kinds = [kind for kind, call in looker.op.mistakes if pytest.raises(kind, call, looker)]
    assert kinds.count(fl.ShapeMismatch) == 3 and kinds.count(fl.InvalidShape) == 1 and len(kinds) == 13


def test_a_word_may_be_asked_inside():
    whole('n', 1, 3).ask(dict(n=2))
    axes('q', 'seq d', alone=False).ask(dict(q=Q()))
    with pytest.raises(fl.InvalidShape, match='n is 4'): whole('n', 1, 3).ask(dict(n=4))


@pytest.fixture
def slider():
    "An operation on pictures with sizes for rows and columns."
    @op('probe', attach=False, needs=[rank('x', 3, 'h w c', 8, new=('c', -1)), two('size', 1),
                                      two('step', 0, fl.ShapeMismatch)])
    def slider_(x:Tensor, size, step=None)->Tensor:
        "x, if all is well."
        return x.data.copy(), x.tags, (lambda g: g,)
    facts(slider_, samples=[Sample('h=2 w=2 c=1', 2, (0, 3))])
    yield slider_
    del registry['slider_']


SIZES = [
    (fl.TagError, dict(x=X()), 'slider_: x has three axes or more, and this one 2',
     "x.insert_axis('c', -1) has one more"),
    (fl.TagError, dict(x=X().rename('c w')), 'slider_: x has three axes or more, and this',
     "x.insert_axis('c2', -1)"),
    (fl.OptionTypeError, dict(size=1.5), 'slider_: size is 1.5', 'a whole number, or two, rows first: size=(2, 1)'),
    (fl.OptionTypeError, dict(size=(1, True)), 'slider_: size is (1, True)', 'or two'),
    (fl.OptionTypeError, dict(size=[1, 2, 3]), 'slider_: size is a list', 'or two'),
    (fl.OptionTypeError, dict(size='2'), "slider_: size is '2'", 'or two'),
    (fl.InvalidShape, dict(size=(3, 0)), 'slider_: size is (3, 0)', 'size is at least 1'),
    (fl.ShapeMismatch, dict(step=-1), 'slider_: step is -1', 'step is at least 0'),
    (fl.UnsupportedGradient, dict(size=Tensor(2., requires_grad=True)),
     'slider_ passes no gradient to its size', 'size.item()'),
]

@pytest.mark.parametrize('kind,bad,head,help', SIZES, ids=[h for *_, h, _ in SIZES])
def test_rows_and_columns(slider, kind, bad, head, help):
    "One number for both or two, of any whole kind."
    picture = fl.ones('h w c', (2, 2, 1))
    for size in (1, (2, 1), [1, np.int64(3)], np.int8(2)): slider(picture, size, size)
    with pytest.raises(kind) as e: slider(**dict(x=picture, size=1) | bad)
    assert str(e.value).startswith(head) and help in str(e.value).split('\n  help: ')[1]
    kinds = [kind for kind, call in slider.op.mistakes if pytest.raises(kind, call, slider)]
    words = [fl.OptionTypeError] * 2
    assert kinds == [fl.TagError, *words, fl.InvalidShape, *words, fl.ShapeMismatch]


@pytest.fixture
def spread():
    "An operation with a factor that is repeated over some axes."
    @op('probe', attach=False, needs=[broadcasts('factor', of='x')])
    def spread_(x:Tensor, factor:Tensor=None)->Tensor:
        "x, if all is well."
        return x.data.copy(), x.tags, (lambda g: g, None)
    facts(spread_, samples=[Sample('row=2 d=3', 'd=3')])
    yield spread_
    del registry['spread_']


NARROW = [
    (fl.TagError, V('e'), "spread_: x has no axis 'e'", 'the axes of x are: row d'),
    (fl.ShapeMismatch, V(n=2), "spread_ over 'd': sizes differ", "'d' is 3 in x, so 3 or 1 in factor"),
    (fl.DTypeError, V().to('f64'), 'spread_ of f32 and f64', "factor.to('f32')"),
    (fl.DTypeError, .5, 'spread_: factor is a float, not a tensor', 'Tensor(0.5)'),
    (fl.DTypeError, [.5], 'spread_: factor is a list, not a tensor', "Tensor([1., 2.], 'd')"),
]

@pytest.mark.parametrize('kind,bad,head,help', NARROW, ids=[h for *_, h, _ in NARROW])
def test_what_is_repeated_over_axes(spread, kind, bad, head, help):
    "Some of the axes, each as long or of size 1, in any order."
    for good in (None, Tensor(2.), V(), V(n=1), X(), X().permute('d row')): spread(X(), good)
    with pytest.raises(kind) as e: spread(X(), bad)
    assert str(e.value).startswith(head) and help in str(e.value).split('\n  help: ')[1]
    assert [kind for kind, call in spread.op.mistakes if pytest.raises(kind, call, spread)] == [
        fl.DTypeError, fl.TagError, fl.ShapeMismatch]


@pytest.fixture
def adder():
    "An operation along one axis that adds something and names another axis."
    @op('probe', attach=False, needs=[axis('tag', of='x'), axis('head', of='x', apart='tag'),
                                      additive('mask', of='x'), number('scale')])
    def adder_(x:Tensor, tag, mask:Tensor=None, head=None, scale=1)->Tensor:
        "x, if all is well."
        return x.data.copy(), x.tags, (lambda g: g, None)
    facts(adder_, samples=[Sample('row=2 d=3', 'd', mask='d=3', head='row', scale=2.)])
    yield adder_
    del registry['adder_']


@pytest.mark.parametrize(
    'kind,bad,head,help', [
        (fl.InvalidShape, dict(head='d'), "adder_: tag and head are both 'd'", 'two axes'),
        (fl.InvalidShape, dict(head=' d ', tag=('d',)), "adder_: tag and head are both 'd'",
         'two axes'),
        (fl.TagError, dict(head=True), 'adder_: head is True', "head='row' names an axis"),
        (fl.TagError, dict(head='rwo'), "adder_ over 'rwo'", "did you mean 'row'?"),
        (fl.DTypeError, dict(mask=V().eq(0)), 'adder_: mask is added, and this one is bool',
         "mask.to('f32').log()"),
        (fl.DTypeError, dict(mask=V().to('f64')), 'adder_ of f32 and f64', "mask.to('f32')"),
        (fl.TagError, dict(mask=V('dd')), "adder_: x has no axis 'dd'", "did you mean 'd'?"),
        (fl.TagError, dict(mask=V('e', 1)), "adder_: x has no axis 'e'", 'row d'),
        (fl.ShapeMismatch, dict(mask=V(n=2)), "adder_ over 'd': sizes differ",
         "'d' is 3 in x, so 3 or 1 in mask"),
        (fl.DTypeError, dict(mask=np.zeros(3)), 'adder_: mask is an ndarray', "Tensor(mask, 'row')"),
        (fl.OptionError, dict(scale=10**400), 'adder_: scale is 1000', 'finite'),
        (fl.DTypeError, dict(scale='1'), "adder_: scale is '1'", 'a number')])
def test_what_is_added_fits(adder, kind, bad, head, help):
    with pytest.raises(kind) as e: adder(**dict(x=X(), tag='d') | bad)
    assert str(e.value).startswith(head) and help in str(e.value).split('\n  help: ')[1]


def test_what_may_be_added(adder):
    x = X()
    for mask in (None, V(), V(n=1), V('row', 2), x, x.permute('d row'), Tensor(0.)): adder(x, 'd', mask, 'row', -3)
    adder(x, ('d',), head=['row'], scale=np.float32(2))
    kinds = [kind for kind, call in adder.op.mistakes if pytest.raises(kind, call, adder)]
    assert kinds.count(fl.TagError) == 5 and kinds.count(fl.InvalidShape) == 1


@pytest.fixture
def replacer():
    "An operation that puts rows at positions."
    @op('probe', attach=False, needs=[axis('tag', of='x'),
                                      rows('update', along='tag', of='x'),
                                      positions('indices', along='tag', of='x')])
    def replacer_(x:Tensor, tag, indices, update:Tensor)->Tensor:
        "x, if all is well."
        at = indices.data if isinstance(indices, Tensor) else np.asarray(indices)
        if at.size == 0: raise fl.InvalidShape('no indices', 'one')
        if at.dtype.kind != 'i': raise fl.DTypeError('indices that are not whole', 'count')
        if at.ndim != 1: raise fl.TagError('indices of two axes', 'a list')
        if at.min() < 0 or at.max() >= x.size(tag): raise fl.IndexOutOfBounds('an index outside', 'stay inside')
        return x.data.copy(), x.tags, (lambda g: g, None)
    facts(replacer_, samples=[Sample('row=2 d=3', 'd', [1, 0], 'row=2 d=2')])
    yield replacer_
    del registry['replacer_']


OTHER_ROWS = [
    (fl.ShapeMismatch, V('e'), "replacer_ over 'd': update has no such axis",
     "update.insert_axis('d', 1)"),
    (fl.ShapeMismatch, V(), 'replacer_: update is not like x', "update.broadcast_to('row d', (2, 3))"),
    (fl.ShapeMismatch, Tensor([[1.]] * 3, 'row d'), "replacer_ over 'row': sizes differ",
     "'row' is 2 in x and 3 in update"),
    (fl.ShapeMismatch, X().permute('d row'),
     'replacer_: update has the axes of x in another order', "update.permute('row d')"),
    (fl.DTypeError, X().to('f64'), 'replacer_ of f32 and f64', "update.to('f32')"),
    (fl.DTypeError, [[1.], [2.]], 'replacer_: update is a list, not a tensor', 'Tensor('),
]

@pytest.mark.parametrize('kind,bad,head,help', OTHER_ROWS, ids=[h for *_, h, _ in OTHER_ROWS])
def test_rows_of_any_number(replacer, kind, bad, head, help):
    "Rows are as long and as wide as those of x, along the axis there may be any number of them."
    for tag in ('d', ' d ', ('d',)): replacer(X(), tag, [0], Tensor([[1.] * 5] * 2, 'row d'))
    with pytest.raises(kind) as e: replacer(X(), 'd', [0], bad)
    assert str(e.value).startswith(head) and help in str(e.value).split('\n  help: ')[1]


def test_spoilt_positions(replacer):
    """Nothing is tested beforehand; the mistakes are made all the same, for lists and for a
    tensor with a position for each entry."""
    kinds = [kind for kind, call in replacer.op.mistakes if pytest.raises(kind, call, replacer)]
    assert [k.__name__ for k in kinds[-5:]] == ['IndexOutOfBounds', 'IndexOutOfBounds',
                                                'DTypeError', 'InvalidShape', 'TagError']
    made = [k.__name__ for k, _ in fl.registry['scatter'].mistakes]
    assert made.count('IndexOutOfBounds') == 2 and made.count('ShapeMismatch') == 3


@pytest.fixture
def chosen():
    "An operation that chooses some along the last axis."
    @op('probe', differentiable=False, attach=False,
        needs=[last('tag', of='x', ranks=(2,)), count('k', along='tag', of='x')])
    def chosen_(x:Tensor, tag, k)->Tensor:
        "x, if all is well."
        return x.data.copy(), x.tags, ()
    facts(chosen_, samples=[Sample('row=2 d=3', 'd', 2)])
    yield chosen_
    del registry['chosen_']


FEW = [
    (fl.TagError, dict(tag='e'), "chosen_ over 'e': there is no such axis", 'the axes are: row d'),
    (fl.TagError, dict(tag='row'), "chosen_: 'row' must be the last of two axes", "x.permute('d row')"),
    (fl.TagError, dict(x=V()), "chosen_: 'd' must be the last of two axes", "x.insert_axis('row')"),
    (fl.TagError, dict(x=fl.ones('a d b', (2, 3, 4))), "chosen_: 'd' must be the last of two axes",
     "x.permute('a b d').contiguous().merge('a', 'a b')"),
    (fl.OptionTypeError, dict(k=1.), 'chosen_: k is 1.0', 'a whole number, at least 1'),
    (fl.OptionTypeError, dict(k=True), 'chosen_: k is True', 'a whole number, at least 1'),
    (fl.InvalidShape, dict(k=0), 'chosen_: k is 0', 'at least 1'),
    (fl.IndexOutOfBounds, dict(k=4), "chosen_ along 'd': 4 of 3", 'k is at most 3'),
]

@pytest.mark.parametrize('kind,bad,head,help', FEW, ids=[f'{h} {n}' for n, (_, _, h, _) in enumerate(FEW)])
def test_some_along_the_last_axis(chosen, kind, bad, head, help):
    "The help makes a call that passes, for as many as there are."
    for tag in ('d', ' d ', ['d']): chosen(X(), tag, 3); chosen(X(), tag, np.int64(1))
    with pytest.raises(kind) as e: chosen(**dict(x=X(), tag='d', k=2) | bad)
    assert str(e.value).startswith(head) and help in str(e.value).split('\n  help: ')[1]
    if 'x' in bad: chosen(eval(e.value.help, dict(bad)), 'd', 2)


def test_choices_are_spoilt(chosen):
    kinds = [kind.__name__ for kind, call in chosen.op.mistakes if pytest.raises(kind, call, chosen)]
    assert kinds == ['TagError'] * 4 + ['OptionTypeError', 'InvalidShape', 'IndexOutOfBounds']


@pytest.fixture
def counter():
    "An operation on whole numbers that meets another operand."
    @op('probe', attach=False, differentiable=False, needs=[integral('x', else_='x.floor()'), meets('other', of='x')])
    def counter_(x:Tensor, other:Tensor)->Tensor:
        "x, if all is well."
        if other.dtype != x.dtype: raise fl.DTypeError('two types', 'one')
        if other.shape != x.shape: raise fl.ShapeMismatch('two sizes', 'one')
        return x.data.copy(), x.tags, ()
    yield counter_
    del registry['counter_']


def test_whole_numbers(counter):
    n = Tensor([1, 2, 3], 'd')
    for kind in ('i64', 'u8', 'i16'): counter(n.to(kind), n.to(kind))
    for kind, help in (('f32', "whole numbers only: x.to('i64'), or x.floor()"), ('bool', 'x.logical_and(y)')):
        with pytest.raises(fl.DTypeError, match=f'counter_ of {kind}') as e: counter(n.to(kind), n.to(kind))
        assert help in e.value.help


@pytest.mark.parametrize('dtype', ['i64', 'i32', 'u8'])
def test_operands_that_do_not_meet_are_made_of_any_type(counter, dtype):
    "The operand of another type is never of the same one."
    facts(counter, samples=[Sample(*[lambda: Tensor([1, 2, 3], 'd', dtype)] * 2)])
    made = [kind for kind, call in counter.op.mistakes if pytest.raises(kind, call, counter)]
    assert made == [fl.DTypeError] * 3 + [fl.ShapeMismatch]


def test_gradients_pass_where_nothing_is_recorded(probe):
    with fl.no_grad(): probe(X(), 'd', residual=Tensor(X(), requires_grad=True))


def test_the_outermost_operation_speaks():
    "An operation made of others tells what its caller wrote."
    with pytest.raises(fl.TagError) as e: X().l2_normalize('e')
    assert e.value.op == 'l2_normalize' and list(e.value.operands) == ['x']


def test_a_layer_adds_its_path():
    e = fl.errors.fault(fl.TagError, 'there is no such axis', help='x.{op}()')
    assert str(e.told('dot', dict(x=X())).within('attention').within('model.blocks.3')) == (
        'dot: there is no such axis\n    x : row=2  d=3\n    in model.blocks.3.attention\n  help: x.dot()')


def test_faults_travel():
    "Between processes an error keeps all it says."
    with pytest.raises(fl.TagError) as e: X().sum('e')
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(e.value, protocol))
        assert type(back) is fl.TagError and str(back) == str(e.value) and back.operands == e.value.operands


def test_notebooks_show_the_readers_lines_only():
    with pytest.raises(fl.TagError) as e: X().l2_normalize('e')
    lines = e.value._render_traceback_()
    assert 'test_checks.py' in lines[0] and not any('autograd.py' in l for l in lines)
    assert '\x1b[' in lines[-1] and 'row' in lines[-1]


def test_one_traceback():
    "A call that does not fit is told once; Python's own words add nothing."
    for call in (lambda: fl.relu('a'), lambda: X().sum(dim=0), lambda: X().sum('e')):
        with pytest.raises(fl.FucinaError) as e: call()
        assert e.value.__suppress_context__ or e.value.__context__ is None


def test_hints_stand_in_every_message_of_a_word():
    "What else there is to tell is told whatever is wrong with the value."
    for word in (whole('n', least=1, hint='so it is'), number('n', least=1, hint='so it is')):
        for value in (0, 'a', Tensor(1., '', requires_grad=True)):
            with pytest.raises(fl.FucinaError, match='; so it is$'): word.say('n', {'n': value})
    with pytest.raises(fl.OptionError, match='or neither; so it is$'):
        together('a b', 'so it is').say('a', {'a': 1, 'b': None})


@pytest.fixture
def masker():
    "An operation with something beside x that has its axes in any order."
    @op('probe', attach=False, needs=[same_axes('mask', of='x', hint='x > 0 is one')])
    def masker_(x:Tensor, mask=None)->Tensor:
        "x, if all is well."
        return x.data.copy(), x.tags, (lambda g: g,)
    facts(masker_, samples=[Sample('row=2 d=3', mask=lambda: X())])
    yield masker_
    del registry['masker_']

OTHER_AXES = {
    'a number': (1., fl.DTypeError, 'mask is a float, not a tensor', 'a tensor like x; x > 0 is one'),
    'fewer': (V('d'), fl.ShapeMismatch, 'mask has other axes than x',
              "the axes of x are 'row d'; mask.broadcast_to('row d', (2, 3)) repeats"),
    'more': (Tensor(np.ones((1, 2, 3)), 'a row d'), fl.ShapeMismatch, 'mask has other axes than x',
             'nothing is broadcast here'),
    'one': (Tensor([[1.] * 3], 'row d'), fl.ShapeMismatch, "over 'row': sizes differ",
            "'row' is 2 in x and 1 in mask; mask.broadcast_to"),
    'longer': (Tensor([[1.] * 4] * 2, 'row d'), fl.ShapeMismatch, "over 'd': sizes differ",
               "'d' is 3 in x and 4 in mask; nothing"),
}

@pytest.mark.parametrize('bad,kind,head,help', OTHER_AXES.values(), ids=OTHER_AXES)
def test_axes_in_any_order(masker, bad, kind, head, help):
    masker(X(), X().T)
    with pytest.raises(kind) as e: masker(X(), bad)
    assert e.value.head == head and help in e.value.help

def test_axes_in_any_order_are_spoilt(masker):
    kinds = [kind.__name__ for kind, call in masker.op.mistakes if pytest.raises(kind, call, masker)]
    assert kinds == ['DTypeError', 'ShapeMismatch', 'ShapeMismatch']


def test_a_count_may_be_none_of_all_and_say_it_in_another_kind():
    word, x = count('n', along='tag', of='x', least=0, beyond=fl.InvalidShape), X()
    for n in (0, 3): word.say('n', dict(x=x, tag='d', n=n))
    with pytest.raises(fl.InvalidShape, match="along 'd': 4 of 3"): word.say('n', dict(x=x, tag='d', n=4))
    with pytest.raises(fl.InvalidShape, match='n is at least 0'): word.say('n', dict(x=x, tag='d', n=-1))
    assert [kind for kind, _ in word.spoil('n', dict(x=x, tag='d', n=1))][-1] is fl.InvalidShape


def test_words_that_test_nothing_cost_nothing():
    "`meets` leaves the look to `pair`: a sum has no check to call, and its mistakes all the same."
    for o in (fl.add.op, fl.sub.op, fl.mul.op): assert o.needs and o.check is None and len(o.mistakes) > 1
    assert fl.relu.op.check is not None


def test_what_is_made_of_names_and_sizes():
    "The reader of sizes speaks; the word makes its mistakes: a size missing, none, of an unknown axis, one too many."
    for o in (fl.zeros.op, fl.rand.op, fl.randint.op, fl.full.op, fl.band_mask.op):
        word, = [w for w in o.needs if type(w).__name__ == 'made_of']
        made = [(kind, m) for kind, m in o.made if m.o is o]
        kinds = [kind for kind, m in made if pytest.raises(kind, m, o.call)]
        assert word.test('tags') == 'True' and {fl.InvalidShape, fl.OptionError} <= {*kinds}
    said = [str(pytest.raises(kind, m, fl.zeros).value) for kind, m in fl.zeros.op.made]
    for words in ("no size for 'row'", 'row is 0', "no option 'rwo'", '2 tags and 3 sizes', "'f33'"):
        assert any(words in s for s in said), (words, said)
