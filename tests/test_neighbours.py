"""k nearest neighbours: exact at any distance from the origin (case L19), ties by row and by lowest class, the same for
any number of threads, and scikit-learn's answers."""
import numpy as np
import pytest
from hypothesis import given, strategies as st
import fucinalib as fl
from fucinalib.errors import *
from fucinalib.knn import Candidates, Classifier, nearest_rows
from memory_layouts import LAYOUTS, layout

rng = np.random.default_rng(0)
T = fl.Tensor


def by_hand(rows, asked, k):
    "All differences in f64 (in longdouble for f64), stable by row."
    wide = np.longdouble if rows.dtype == 'f8' else 'f8'
    d = np.square(rows[None].astype(wide) - asked[:, None].astype(wide)).sum(-1)
    order = np.argsort(d, axis=1, kind='stable')[:, :k]
    return order, np.sqrt(np.take_along_axis(d, order, 1)).astype('f8')


# ---- case L19
def test_two_close_points():
    found = Classifier(1).fit(T(np.float32([.7125930]), 'row'), [0]).neighbours(T(np.float32([.7123166]), 'ask'))
    assert found.distances.shape == (1, 1)
    found = Classifier(1).fit(T(np.float32([.7125930]), 'row'), [0]).neighbours(T(np.float32(.7123166)))
    assert found.distances.item() == pytest.approx(.0002764, abs=5e-8)

def test_a_thousand_features_apart_by_a_thousandth():
    rows, asked = np.ones((1, 1000), 'f4'), np.full((1, 1000), 1.001, 'f4')
    found = Classifier(1).fit(T(rows, 'row d'), [0]).neighbours(T(asked, 'ask d'))
    assert found.distances.item() == pytest.approx(.0316228, rel=1e-3)

@pytest.mark.parametrize('dtype', ['f4', 'f8', 'f2', 'u1', 'i8'])
def test_a_point_is_at_distance_0_of_itself(dtype, backend):
    rows = (rng.normal(size=(50, 30)) * 40 + 80).astype(dtype)
    found = Classifier(1).fit(T(rows, 'row d'), np.arange(50)).neighbours(T(rows, 'ask d'))
    assert found.rows.numpy()[:, 0].tolist() == list(range(50)) and (found.distances.numpy() == 0).all()

def test_neighbours_far_from_the_origin(backend):
    rows = np.float32(10000) + np.float32([[0], [.01], [.03]])
    found = Classifier(3).fit(T(rows, 'row d'), [0, 1, 2]).neighbours(T(rows, 'ask d'))
    assert found.rows.tolist() == [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
    assert found.distances.numpy()[0] == pytest.approx([0, .01, .03], abs=5e-4)

@pytest.mark.parametrize('offset', [0, 1, 1e4, 1e6, 1e15, 1e30])
@pytest.mark.parametrize('dtype', ['f4', 'f8'])
def test_any_offset(offset, dtype, backend):
    "Rows on a grid around a far point: many equal distances, and all exact."
    rows = (offset + rng.integers(-4, 5, (200, 3)) * max(1, offset * np.finfo(dtype).eps)).astype(dtype)
    asked = rows[::7] if offset else rows[::7] + np.asarray(.25, dtype)
    numbers, distances = nearest_rows(rows, asked, 9)
    want, exact = by_hand(rows, asked, 9)
    np.testing.assert_array_equal(numbers, want)
    np.testing.assert_allclose(distances, exact, rtol=1e-14)


# ---- every input: the candidates hold the nearest
@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 9), st.floats(-6, 12), st.integers(0, 2**32), st.data())
def test_nearest_rows_are_the_nearest(n, d, asked, far, seed, data):
    r = np.random.default_rng(seed)
    k = data.draw(st.integers(1, n))
    rows = (r.normal(size=(n, d)) * 10. ** r.uniform(-6, 6) + r.normal(size=d) * 10. ** far).astype('f4')
    rows = rows[r.integers(0, n, n)]        # some of them twice
    points = np.concatenate([rows[:1], (r.normal(size=(asked, d)) * 10. ** r.uniform(-6, 12)).astype('f4')])
    numbers, distances = nearest_rows(rows, points, k)
    want, exact = by_hand(rows, points, k)
    np.testing.assert_array_equal(numbers, want)
    np.testing.assert_allclose(distances, exact, rtol=1e-14)

@pytest.mark.parametrize('power', [-996, -120, -66, 66, 126, 996])
def test_numbers_at_the_ends_of_their_type(power):
    size = 2. ** power
    for dtype in ('f4', 'f8'):
        if not float(np.finfo(dtype).tiny) < size < float(np.finfo(dtype).max): continue
        rows, asked = (rng.integers(-3, 4, s).astype('f8') * .25 * size for s in ((30, 4), (5, 4)))
        rows, asked = rows.astype(dtype), asked.astype(dtype)
        numbers, distances = nearest_rows(rows, asked, 5)
        want, exact = by_hand(rows.astype('f8') / size, asked.astype('f8') / size, 5)
        np.testing.assert_array_equal(numbers, want)
        np.testing.assert_allclose(distances / size, exact, rtol=1e-6)

def test_questions_much_larger_than_the_rows():
    rows = np.float32([[1], [2], [3]])
    numbers, _ = nearest_rows(rows, np.float32([[3e38], [-3e38], [0]]), 3)
    assert numbers.tolist()[2] == [0, 1, 2]
    assert numbers.tolist()[0] == by_hand(rows, np.float32([[3e38]]), 3)[0][0].tolist()

def test_candidates_are_few():
    "Exactness does not come from looking at every row."
    rows = rng.normal(size=(2000, 20)).astype('f4') + 3
    assert Candidates(rows).of(rows[:50] + np.float32(.1), 5).sum(1).max() <= 7

def test_pieces_of_questions_change_nothing():
    rows, asked = rng.normal(size=(100, 5)).astype('f4'), rng.normal(size=(33, 5)).astype('f4')
    whole = nearest_rows(rows, asked, 4)
    for most in (1, 100, 250, 10**4):
        for a, b in zip(whole, nearest_rows(rows, asked, 4, most=most)): np.testing.assert_array_equal(a, b)

def test_threads_and_backends_change_nothing():
    rows = rng.integers(0, 3, (3000, 16)).astype('f4') + np.float32(100)
    asked = rng.integers(0, 3, (40, 16)).astype('f4') + np.float32(100)
    model, before = Classifier(7).fit(T(rows, 'row d'), np.arange(3000) % 5), fl.get_num_threads()
    found = []
    for backend in fl.backends():
        for threads in (1, 8):
            fl.set_num_threads(threads)
            try:
                with fl.use_backend(backend): found.append(model.neighbours(T(asked, 'ask d')))
            finally: fl.set_num_threads(before)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].rows, other.rows)
        np.testing.assert_array_equal(found[0].distances, other.distances)
    np.testing.assert_array_equal(found[0].rows, by_hand(rows, asked, 7)[0])

@layout
def test_layouts(layout):
    rows = LAYOUTS[layout](np.arange(12, dtype='f4').reshape(4, 3)[:, ::-1])
    assert Classifier(2).fit(T(rows, 'row d'), [0, 1, 2, 3]).neighbours(T(rows, 'ask d')).rows.tolist() \
        == [[0, 1], [1, 0], [2, 1], [3, 2]]


# ---- votes and ties (KNN-01)
def test_ties_go_by_row():
    model = Classifier(2).fit(T([[1.], [-1.], [1.], [-1.]], 'row d'), [0, 1, 2, 3])
    assert model.neighbours(T([[0.], [1.]], 'ask d')).rows.tolist() == [[0, 1], [0, 2]]

def test_a_vote_of_one_to_one_goes_to_the_lowest_class():
    model = Classifier(2).fit(T([0., 2.], 'row'), [7, 3])
    assert model.votes(T([.1, 1.9], 'ask')).tolist() == [[1, 1], [1, 1]]
    assert model.predict(T([.1, 1.9], 'ask')).tolist() == [3, 3] and model.classes.tolist() == [3, 7]

def test_votes_add_up():
    model = Classifier(9).fit(T(rng.normal(size=(50, 3)), 'row d', 'f32'), rng.integers(-2, 3, 50))
    votes = model.votes(T(rng.normal(size=(20, 3)), 'ask d', 'f32'))
    assert votes.tags == ('ask', 'class') and (votes.numpy().sum(1) == 9).all()
    assert {*model.predict(T(rng.normal(size=(20, 3)), 'ask d', 'f32')).tolist()} <= {-2, -1, 0, 1, 2}

def test_score():
    model = Classifier(1).fit(X, [0, 1, 1])
    assert model.score(X, [0, 1, 1]) == 1 and model.score(X, T([0, 1, 0], 'row')) == pytest.approx(2 / 3)

def test_axes_go_by_name():
    rows = rng.normal(size=(6, 2, 3)).astype('f4')
    model = Classifier(1).fit(T(rows, 'row h w'), range(6))
    assert model.predict(T(rows.transpose(2, 0, 1), 'w ask h')).tolist() == list(range(6))
    one = model.neighbours(T(rows[4], 'h w'))
    assert one.rows.tags == ('neighbour',) and one.rows.item() == 4
    assert model.predict(T(rows[4].T, 'w h')).item() == 4


# ---- scikit-learn
@pytest.mark.parametrize('name', ['digits', 'iris'])
@pytest.mark.parametrize('k', [1, 3, 5, 10])
def test_sklearns_answers(name, k, backend):
    from sklearn.neighbors import KNeighborsClassifier
    train, test = getattr(fl.data, name)().split(.2, seed=0, by='y')
    flat = lambda d: d.x.numpy().reshape(len(d), -1)
    asked = flat(test).astype('f8')
    theirs = KNeighborsClassifier(k, algorithm='brute').fit(flat(train).astype('f8'), train.y.numpy())
    ours = Classifier(k).fit(train.x, train.y)
    edge = theirs.kneighbors(asked, k + 1)[0]
    np.testing.assert_allclose(ours.neighbours(test.x).distances, edge[:, :k], rtol=1e-5, atol=1e-6)
    clear = edge[:, k] > edge[:, k - 1] * (1 + 1e-9)      # where the k-th is nearer than the next, there is one answer
    assert clear.mean() > .8
    predicted = ours.predict(test.x).numpy()
    np.testing.assert_array_equal(predicted[clear], theirs.predict(asked)[clear])
    np.testing.assert_allclose(ours.votes(test.x).numpy()[clear] / k, theirs.predict_proba(asked)[clear])
    assert abs((predicted == test.y.numpy()).mean() - theirs.score(asked, test.y.numpy())) < .02


# ---- bad input
X = T([[1., 2.], [3., 4.], [5., 6.]], 'row d')
kept = lambda: Classifier(2).fit(X, [0, 1, 1])

@pytest.mark.parametrize('kind, said, call', [
    (InvalidShape, 'k is 0', lambda: Classifier(0)),
    (OptionError, 'k is 2.0, not a whole number', lambda: Classifier(2.)),
    (InvalidShape, 'k is 4, and there are 3 rows', lambda: Classifier(4).fit(X, [0, 1, 1])),
    (InvalidShape, 'k is 2, and there are 1 row', lambda: Classifier(2).fit(T([1.], 'row'), [0])),
    (ShapeMismatch, "over 'row': sizes differ", lambda: Classifier(2).fit(X, [0, 1])),
    (DTypeError, 'classes are whole numbers', lambda: Classifier(2).fit(X, [0., 1., 1.])),
    (NonFiniteValue, 'row 1', lambda: Classifier(1).fit(T([[1.], [np.nan]], 'row d'), [0, 1])),
    (NonFiniteValue, 'row 0', lambda: Classifier(1).fit(T([[np.inf]], 'row d'), [0])),
    (NonFiniteValue, "over 'ask': x holds NaN", lambda: kept().predict(T([[1., 2.], [np.nan, 1.]], 'ask d'))),
    (NonFiniteValue, 'x holds NaN', lambda: kept().votes(T([1., np.nan], 'd'))),
    (OptionError, 'fit\\(x, y\\) first', lambda: Classifier().predict(X)),
    (TagError, "over 'd'", lambda: kept().predict(T([1.], 'e'))),
    (ShapeMismatch, "'d' is 2 in the rows kept", lambda: kept().predict(T([1., 2., 3.], 'd'))),
    (TagError, "x.merge\\('ask', 'a b'\\)", lambda: kept().predict(T(np.zeros((2, 2, 2)), 'a b d'))),
    (DTypeError, "fl.Tensor\\(x, 'row feature'\\)", lambda: Classifier(1).fit(np.zeros((2, 2)), [0, 1])),
    (DTypeError, "fl.Tensor\\(x, 'ask d'\\)", lambda: kept().predict([1., 2.])),
    (DTypeError, 'its columns are data.x', lambda: Classifier(1).fit(fl.data.Dataset(X, [0, 1, 1]))),
    (OptionError, 'y is missing', lambda: Classifier(1).fit(X)),
    (DTypeError, 'fl.data.encode', lambda: Classifier(1).fit(X, ['a', 'b', 'c'])),
    (OptionError, 'k=5', lambda: Classifier(n_neighbors=5)),
    (OptionError, 'all neighbours count alike', lambda: Classifier(weights='distance')),
    (UnknownName, 'fl.knn.Classifier', lambda: fl.knn.KNeighborsClassifier),
    (TagError, 'has no rows', lambda: Classifier(1).fit(T(1.), [0])),
])
def test_bad_input(kind, said, call):
    with pytest.raises(kind, match=said): call()

def test_the_name_of_scikit_learn():
    with pytest.raises(UnknownName, match='fl.knn.Classifier'): fl.KNeighborsClassifier
