"""Measures beside sklearn: counts that add up over batches, quotients of them, ranks."""
import numpy as np
import pytest
from sklearn import metrics as sk
import fucinalib as fl
from fucinalib import train
from fucinalib.errors import EmptySelection, IndexOutOfBounds, OptionError, ShapeMismatch
from fucinalib.train import Confusion, r2, roc_auc, top_k_accuracy

rng = np.random.default_rng
THEIRS = sk.precision_score, sk.recall_score, sk.f1_score


def classes(seed, n=57, k=4): return rng(seed).integers(0, k, n), rng(seed + 100).integers(0, k, n)

def filled(a, b, k=4, pieces=1):
    found = Confusion(k)
    for p, q in zip(np.array_split(a, pieces), np.array_split(b, pieces)): found.add(p, q)
    return found


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('pieces', [1, 3, 57])
def test_counts_and_quotients_are_sklearns(seed, pieces):
    a, b = classes(seed)
    found = filled(a, b, pieces=pieces)
    assert np.array_equal(found.counts, sk.confusion_matrix(b, a)) and found.counts.dtype == 'i8'
    assert found.accuracy() == pytest.approx(sk.accuracy_score(b, a), rel=1e-14)
    for ours, theirs in zip((found.precision, found.recall, found.f1), THEIRS):
        for average in ('macro', 'micro', 'weighted'):
            assert ours(average) == pytest.approx(theirs(b, a, average=average), rel=1e-14)
        np.testing.assert_allclose(ours(None).numpy(), theirs(b, a, average=None), rtol=1e-14)

def test_a_class_that_is_never_called_or_never_comes():
    a, b = np.array([0, 0, 1]), np.array([0, 1, 1])      # of 4: 2 and 3 are nowhere
    found, known = filled(a, b), dict(labels=range(4), zero_division=0)
    for ours, theirs in zip((found.precision, found.recall, found.f1), THEIRS):
        np.testing.assert_allclose(ours(None).numpy(), theirs(b, a, average=None, **known))
        assert ours() == pytest.approx(theirs(b, a, average='macro', **known))

def test_f1_of_batches_is_no_mean():
    "Recall 1/1 and 0/3 is 1/4 together, not 1/2 (the trap of case L13)."
    parts = ([1, 0], [1, 0]), ([0, 0, 0], [1, 1, 1])
    together = Confusion(2)
    for a, b in parts: together.add(a, b)
    assert together.recall(None).numpy()[1] == .25

def test_several_axes_and_names():
    a, b = rng(0).integers(0, 3, (4, 5)), rng(1).integers(0, 3, (4, 5))
    found = Confusion('cat dog bird'.split()).add(fl.Tensor(a, 'row time'), fl.Tensor(b, 'row time'))
    assert np.array_equal(found.counts, sk.confusion_matrix(b.ravel(), a.ravel()))
    assert repr(found).split()[:3] == ['cat', 'dog', 'bird'] and len(repr(found).splitlines()) == 4

@pytest.mark.parametrize('call, kind, said', [
    (lambda: Confusion(1), OptionError, 'Confusion of 1 classes'),
    (lambda: Confusion(2.), OptionError, 'classes is 2.0'),
    (lambda: Confusion(['a', 'a']), OptionError, 'two classes have one name'),
    (lambda: Confusion('ab'), OptionError, 'classes'),
    (lambda: Confusion(True), OptionError, 'classes is True'),
    (lambda: Confusion(3).accuracy(), EmptySelection, 'accuracy: nothing was counted'),
    (lambda: Confusion(3).f1(), EmptySelection, 'f1: nothing was counted'),
    (lambda: Confusion(3).add([0, 1], [0]), ShapeMismatch, 'add: predictions and labels have different axes'),
    (lambda: Confusion(3).add(fl.Tensor([0, 1], 'a'), fl.Tensor([0, 1], 'b')), ShapeMismatch, 'different axes'),
    (lambda: Confusion(3).add([0, 3], [0, 1]), IndexOutOfBounds, 'predicted have 3, and there are 3 classes'),
    (lambda: Confusion(3).add([0, 1], [-1, 1]), IndexOutOfBounds, 'labels have -1'),
    (lambda: Confusion(3).add([.5, 1.], [0, 1]), OptionError, 'predicted are float64, no class numbers'),
    (lambda: Confusion(3).add([0], [0]).f1('makro'), OptionError, "there is no average 'makro'"),
    (lambda: roc_auc([.1, .2], [1, 1]), EmptySelection, 'roc_auc: all rows are of one class'),
    (lambda: roc_auc([], []), EmptySelection, 'there is no row'),
    (lambda: roc_auc([.1], [0, 1]), ShapeMismatch, '1 scores and 2'),
    (lambda: roc_auc([np.nan, 1], [0, 1]), OptionError, 'NaN'),
    (lambda: roc_auc([.1, 1], [0, 2]), OptionError, '0 or 1'),
    (lambda: r2([1, 2], [1, 1]), EmptySelection, 'all targets are equal'),
    (lambda: r2([1], [1, 2]), ShapeMismatch, 'shapes'),
    (lambda: r2([], []), EmptySelection, 'nothing was counted')])
def test_what_cannot_be_measured(call, kind, said):
    with pytest.raises(kind, match=said): call()

def test_a_refused_batch_is_not_counted():
    found = Confusion(3).add([0], [0])
    with pytest.raises(IndexOutOfBounds): found.add([0, 1], [0, 5])
    assert found.counts.sum() == 1


@pytest.mark.parametrize('seed', range(5))
@pytest.mark.parametrize('levels', [3, 1000])
def test_area_under_the_curve_is_sklearns(seed, levels):
    "With many ties, and with none."
    scores, labels = rng(seed).integers(0, levels, 80) / 7, rng(seed + 9).integers(0, 2, 80)
    assert roc_auc(scores, labels) == pytest.approx(sk.roc_auc_score(labels, scores), rel=1e-13)
    assert roc_auc(fl.Tensor(scores, 'row'), fl.Tensor(labels, 'row')) == roc_auc(scores, labels.astype(bool))

@pytest.mark.parametrize('k', [1, 2, 5, 7])
def test_top_k_is_sklearns(k):
    scores, labels = rng(0).normal(size=(60, 7)), rng(1).integers(0, 7, 60)
    want = sk.top_k_accuracy_score(labels, scores, k=k, labels=range(7)) if k < 7 else 1.
    assert top_k_accuracy(fl.Tensor(scores, 'row class'), 'class', labels, k) == pytest.approx(want)
    turned = fl.Tensor(scores.T.reshape(7, 12, 5).transpose(1, 0, 2), 'row class time')
    assert top_k_accuracy(turned, 'class', fl.Tensor(labels.reshape(12, 5).T, 'time row'), k) == pytest.approx(want)

def test_equal_scores_and_nan_are_not_among_the_best():
    assert top_k_accuracy(fl.ones('row class', (4, 3)), 'class', [0, 1, 2, 0], 2) == 0
    assert top_k_accuracy(fl.Tensor([[np.nan, 1.]], 'row class'), 'class', [0], 1) == 0

@pytest.mark.parametrize('seed', range(3))
def test_explained_is_sklearns(seed):
    t = rng(seed).normal(size=40) * 5 + 100
    p = t + rng(seed + 1).normal(size=40)
    assert r2(p, t) == pytest.approx(sk.r2_score(t, p), rel=1e-12)
    assert r2(fl.Tensor(p, 'row'), fl.Tensor(t, 'row')) == r2(p, t)
    assert r2(np.full(40, t.mean()), t) == pytest.approx(0, abs=1e-12)

@pytest.mark.parametrize('name', ['f1_score', 'confusion_matrix', 'accuracy_score', 'r2_score', 'roc_auc_score'])
def test_names_of_sklearn_lead_here(name):
    with pytest.raises(AttributeError) as e: getattr(train, name)
    assert 'fl.train.' in e.value.help

def test_filled_while_a_learner_measures():
    x, y = fl.randn('row feature', (30, 4), seed=0), fl.randint('row', (30,), 0, 3, seed=1)
    net = fl.nn.Linear('feature=4', 'class=3', seed=0)
    learner, found = train.Learner(net, fl.optim.SGD(net), lambda x, y: None, show=False), Confusion(3)
    pieces = [(x.narrow('row', a, n), y.narrow('row', a, n)) for a, n in ((0, 20), (20, 10))]
    figures = learner.evaluate(pieces, lambda x, y: found.add(net(x).argmax('class'), y) and {})
    assert figures == {} and found.accuracy() == sk.accuracy_score(y.numpy(), net(x).argmax('class').numpy())
