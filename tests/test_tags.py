"""Tags: what is a name, what results are called, how arrays meet."""
import numpy as np
import pytest
from hypothesis import given, strategies as st
import fucinalib as fl
from fucinalib import tags
from fucinalib.errors import ShapeMismatch, TagError

TAGS = st.lists(st.sampled_from('abcdef'), unique=True, max_size=5).map(tuple)


@pytest.mark.parametrize('way', [('row col',), ('row', 'col'), (('row', 'col'),), (['row', 'col'],), ('  row   col ',)])
def test_three_spellings(way): assert tags.parse(*way) == ('row', 'col')

def test_nothing(): assert tags.parse() == tags.parse('') == tags.parse(()) == ()

@pytest.mark.parametrize(
    'bad', ['a a', 'a-b', '1a', 'a,b', ('a', 'a'), 1, None, 1.5, ('a', 0), [0], 'a b c d e f g h i'])
def test_refused(bad):
    with pytest.raises(TagError, match='help:'): tags.parse(bad)

def test_did_you_mean():
    with pytest.raises(TagError, match="did you mean 'channel'"):
        tags.locate(fl.Tensor(np.zeros((2, 3)), 'channel row'), 'chanel')

@given(TAGS, TAGS)
def test_union(a, b):
    u = tags.union(a, b)
    assert u[:len(a)] == a and set(u) == {*a, *b} and len(set(u)) == len(u)

@given(TAGS, st.randoms())
def test_align_reads_the_same_numbers(dst, random):
    src = tuple(random.sample(dst, random.randint(0, len(dst))))
    a = np.arange(2 ** len(src)).reshape((2,) * len(src))
    b = tags.align(a, src, dst)
    assert b.shape == tuple(2 if t in src else 1 for t in dst)
    assert np.shares_memory(a, b)
    back = b.transpose([dst.index(t) for t in src] + [i for i, t in enumerate(dst) if t not in src]).reshape(a.shape)
    np.testing.assert_array_equal(back, a)

def test_meeting_names_both_operands():
    x, o = fl.Tensor(np.zeros((2, 3)), 'batch feat'), fl.Tensor(np.zeros((4, 5)), 'feat out')
    with pytest.raises(ShapeMismatch) as e: tags.meeting(x, o)
    assert str(e.value).splitlines() == [
        "over 'feat': sizes differ", '    x     : batch=2  feat=3', '    other : feat=4   out=5',
        "  help: 'feat' is 3 in x and 4 in other; if they are different axes, rename one: "
        "other.rename(feat='feat2')"]

@pytest.mark.parametrize('a,b', [((1, 1), (3, 4)), ((3, 1), (1, 4)), ((3, 4), (3, 4))])
def test_one_meets_any(a, b):
    assert tags.meeting(fl.Tensor(np.zeros(a), 'r c'), fl.Tensor(np.zeros(b), 'r c')) == ('r', 'c')

def test_help_for_a_malformed_tag_runs():
    for wrong in (("1d",), ("a-b",), ("2d, x",)):
        with pytest.raises(TagError) as e: fl.parse(*wrong)
        fl.parse(str(e.value).split("help: write ")[1].strip("'"))

@pytest.mark.parametrize('tag', ['\ufb01', '\u210c', '\u00b5', 'a\u0301'])
def test_a_tag_is_what_python_reads(tag):
    "Keywords are normalised by Python, so a tag that would change is refused with what it would become."
    import unicodedata
    normal = unicodedata.normalize('NFKC', tag)
    with pytest.raises(TagError) as e: fl.Tensor([1.], tag)
    assert str(e.value).endswith(f'help: write {normal!r}')
    assert eval(f'fl.ones({normal!r}, {tag}=2)', dict(fl=fl)).sizes == {normal: 2}

def test_replaced_is_one_axis():
    x = fl.Tensor(np.zeros((2, 3)), 'row col')
    assert tags.replaced(x, ('row',), ['new']) == ('new', 'col') and tags.replaced(x, ' row ', 'row') == ('row', 'col')
    for new in ('', 'a b', 'col', 5, None, ()):
        with pytest.raises(TagError, match='help:'): tags.replaced(x, 'row', new)

@pytest.mark.parametrize('out', ['', 'p q', ('p', 'q'), 5, 'row'])
def test_one_name_beside_blocks_and_packed_weights(out):
    q = fl.ones('row in', (2, 32)).to('q8_0')
    if out != 'row':
        with pytest.raises(TagError, match='help:'): q.index_select('row', [0], out=out)
    with pytest.raises(TagError, match='help:'):
        fl.ones('row in', (3, 32)).dot(fl.ones('o in', (2, 32)).pack(), 'in', out=out)

@pytest.mark.parametrize('make', [fl.zeros, fl.ones, fl.rand, fl.full, fl.randint, fl.eye, fl.band_mask, fl.bernoulli])
@pytest.mark.parametrize('tag', ['dtype', 'seed', 'tags', 'shape', 'low', 'high', 'p', 'in', 'class'])
def test_help_for_a_size_runs_whatever_the_tag_is_called(make, tag):
    other = {fl.full: (7.,), fl.randint: ()}.get(make, ())
    names = f'{tag} other' if make in (fl.eye, fl.band_mask) else tag
    with pytest.raises(fl.FucinaError) as e:
        make(names, *other, **({'high': 3} if make is fl.randint and tag != 'high' else {}))
    call = str(e.value).split('help: ')[1]
    assert eval(f'fl.{call}', dict(fl=fl)).tags == fl.parse(names)

@pytest.mark.parametrize('names,help', [('row col', "x.merge('both', 'row col')"), ('', 'the axes are row col')])
def test_one_axis_is_one(names, help):
    "Operations that go along one axis do not take the first of two."
    x = fl.Tensor(np.ones((2, 4), 'f4'), 'row col')
    for f in (x.size, x.axis, x.softmax, x.logsumexp, x.argmax, lambda t: x.topk(t, 1), x.sort,
              lambda t: x.index_select(t, [0]),
              x.rms_norm, x.layer_norm, x.standardize, x.cumsum, x.cumprod,
              lambda t: x.segment_sum(t, [0, 2]), lambda t: x.split_gated('glu', t),
              lambda t: fl.concat([x, x], t),
              lambda t: x.narrow(t, 0, 1), x.unbind, lambda t: x.split(t, 'a b', (1, 2)),
              lambda t: x.repeat(t, 2), lambda t: x.pad(t, 1, 1), lambda t: x.roll(t, 1),
              lambda t: x.rope(t, 'col', 1e4), lambda t: x.rope('row', t, 1e4)):
        with pytest.raises(TagError) as e: f(names)
        assert 'takes one axis' in str(e.value) and help in str(e.value)
