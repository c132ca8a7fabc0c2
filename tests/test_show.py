"""How tensors and mistakes look: short, quick, legible on light and dark, and free of side effects."""
import importlib, pkgutil, re, time
from html.parser import HTMLParser
import numpy as np
import pytest
from hypothesis import example, given, strategies as st
import fucinalib as fl
from fucinalib import Tensor, param, show
from fucinalib.files.described import Described
from fucinalib.files.gguf import Info

rng = np.random.default_rng(0)
KB = 10_000

def large():
    normal = rng.normal(size=(1000, 300)).astype('f4')
    holes = np.where(rng.random((500, 400)) < .1, np.nan,
                     np.where(rng.random((500, 400)) < .1, np.inf, 1.)).astype('f4')
    return {
        'zeros': Tensor(np.zeros((1000, 1000, 10), 'f4'), 'batch seq d'),
        'normal': Tensor(normal, 'row col'),
        'holes': Tensor(holes, 'row col'),
        'nan': Tensor(np.full((100, 100), np.nan, 'f4'), 'row col'),
        'inf': Tensor(np.full((100, 100), -np.inf), 'row col'),
        'constant': Tensor(np.broadcast_to(np.float32(2), (100_000, 100_000)), 'row col'),
        'broadcast': Tensor(np.broadcast_to(normal[0], (100_000_000, 300)), 'row col'),
        'broadcast last': Tensor(np.broadcast_to(normal[:, :1], (1000, 10_000_000)), 'row col'),
        'windows': Tensor(
            np.lib.stride_tricks.as_strided(rng.random(200_000), (100_000, 100_000), (8, 8)),
            'at offset'),
        'bool': Tensor(rng.random((300, 300)) < .5, 'q k'),
        'u8': Tensor(rng.integers(0, 256, (64, 28, 28)).astype('u1'), 'batch row col'),
        'i64': Tensor(rng.integers(-2**62, 2**62, (999,)), 'seq'),
        'f16': Tensor(normal.astype('f2') * 1000, 'row col'),
        'long': Tensor(rng.random(10_000_000), 'time'),
        'deep': Tensor(rng.random((2, 3, 2, 3, 2, 3, 8, 8)), 'a b c d e f g h'),
        'tall': Tensor(rng.random((5000, 2)), 'row col'),
        'flipped': Tensor(normal[::-1, ::-2], 'row col'),
        'names': Tensor(rng.random((9, 9)), 'x' * 3000 + ' ' + 'y' * 3000),
        'wide numbers': Tensor(rng.random((3, 8, 8)) * 10.**rng.integers(-300, 300, (3, 8, 8)),
                               'a b c'),
        'eight long names': Tensor(rng.random((2,) * 6 + (8, 8)), [c * 50 for c in 'abcdefgh']),
        'leaf': param(normal, 'row col'),
    }

LARGE = large()

@pytest.mark.parametrize('name', LARGE)
def test_never_a_wall(name):
    "Case 53: under 10 kB and 50 ms whatever the size, nothing materialised, tags, sizes and type always there."
    x = LARGE[name]
    for form in (repr, lambda x: x._repr_html_()):
        form(x)
        took = []
        for _ in range(3):
            start = time.process_time(); text = form(x); took.append(time.process_time() - start)
        assert len(text) < KB and min(took) < .05
        assert str(x.dtype) in text and '\n' not in repr(x) and all(show.short(t) in text for t in x.tags)
        assert all(str(n) in text for n in x.shape)

@pytest.mark.parametrize('shape,tags',
                         [((), ''), ((1,), 'd'), ((8,), 'd'), ((9,), 'd'), ((1, 1), 'a b'),
                          ((8, 8), 'a b'), ((2, 3, 4), 'a b c'), ((1, 9), 'a b')])
@pytest.mark.parametrize('dtype', ['f4', 'f8', 'f2', 'i8', 'u1', '?'])
def test_every_shape_and_type(shape, tags, dtype):
    x = Tensor((rng.random(shape) * 5).astype(dtype), tags)
    assert len(repr(x)) < 700 and len(x._repr_html_()) < KB

@given(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), min_size=1, max_size=40), st.integers(1, 5))
def test_any_values(values, rows):
    a = np.array(values * rows, 'f4').reshape(rows, -1)
    text, page = repr(Tensor(a, 'row col')), Tensor(a, 'row col')._repr_html_()
    if (bad := np.isnan(a).sum()):
        assert f'{bad} NaN' in page and ('nan' in text or f'{bad} NaN' in text)
    assert len(page) < KB

def test_numbers_in_the_line():
    line = lambda *a: repr(Tensor(*a))
    assert line([[1, 2], [3, 4]], 'row col', 'f32') == 'Tensor row=2 col=2 f32: [[1, 2], [3, 4]]'
    assert line(3.5) == 'Tensor f32: 3.5'
    assert line(np.arange(20), 'd') == 'Tensor d=20 i64: 0 to 19, mean 9.5'
    assert line(np.where(np.arange(20) < 3, np.nan, 1.), 'd') == 'Tensor d=20 f64: the rest 1, 3 NaN'
    assert line(np.where(np.arange(20) < 3, -np.inf, np.arange(20.)), 'd') == 'Tensor d=20 f64: 3 to 19, mean 11, 3 inf'
    assert line(1000 + np.arange(20) / 1000, 'd') == 'Tensor d=20 f64: 1000 to 1000.019, mean 1000.0095'
    assert line(np.arange(10) < 3, 'd') == 'Tensor d=10 bool: 30% True'
    assert line(np.array([2**62, -2**62] * 8), 'd').startswith(f'Tensor d=16 i64: {-2**62} to {2**62}')
    assert repr(param([1.], 'd')) == 'Tensor d=1 f32 requires_grad: [1]'
    assert repr(param([1.], 'd') * 2) == 'Tensor d=1 f32 from mul: [2]'

def test_a_sample_says_so():
    a = np.zeros((2000, 1000), 'f4')
    assert '~all 0' in repr(Tensor(a, 'row col')) and 'f32: all 0' in repr(Tensor(a[:100], 'row col'))
    a[::2] = np.nan
    assert re.search(r'~\d+ NaN', repr(Tensor(a, 'row col')))
    assert '1000000 NaN' in repr(Tensor(np.broadcast_to(np.float32([np.nan, 1.]), (1_000_000, 2)), 'row col'))

def test_column_of_equal_precision():
    assert show.column(np.array([1., 2.5, -3.])) == ['1.0', '2.5', '-3.0']
    assert show.column(np.array([1., 2., 3.])) == ['1', '2', '3']
    assert show.column(np.array([1 / 3, 100.])) == ['0.3', '100.0']
    assert show.column(np.array([np.nan, .25, np.inf])) == ['nan', '0.25', 'inf']
    assert show.column(np.array([1e-9, 1e9])) == ['1e-09', '1e+09']
    assert show.column(np.array([0., 0.])) == ['0', '0'] and show.column(np.array([True, False])) == ['True', 'False']

def test_html_has_axes_and_indices():
    page = Tensor([[1., 2.], [3., 4.], [5., 6.]], 'row col')._repr_html_()
    cells = re.sub(r'<[^>]*>', ' ', page).split()
    assert cells[-13:] == ['col', '0', '1', 'row', '0', '1', '2', '1', '3', '4', '2', '5', '6'] and 'mean' in cells
    assert 'batch</span><span' in LARGE['u8']._repr_html_()
    assert '… 62 more' in LARGE['u8']._repr_html_()
    assert LARGE['u8']._repr_html_().count('<img') == 2

def test_png_is_a_png():
    "Decoded by hand: palette, one byte per place, NaN and inf apart."
    import base64, zlib
    a = np.zeros((9, 9), 'f4'); a[0, 0], a[1, 1], a[2, 2], a[3, 3] = np.nan, np.inf, 1, -1
    data = base64.b64decode(re.search(r'base64,([^"]+)"', show.heat(a, ('row', 'col')))[1])
    assert data[:8] == b'\x89PNG\r\n\x1a\n'
    pixels = np.frombuffer(zlib.decompress(data[data.index(b'IDAT') + 4:-16]), 'u1').reshape(9, 10)[:, 1:]
    L = show.LEVELS
    assert pixels[0, 0] == 2 * L + 2 and pixels[1, 1] == 2 * L + 1 and pixels[2, 2] == 2 * L
    assert pixels[3, 3] == 0 and pixels[4, 4] == L

# ---- colours
def linear(c):
    return np.array([v / 12.92 if v <= .04045 else ((v + .055) / 1.055)**2.4
                     for v in (int(c[i:i + 2], 16) / 255 for i in (1, 3, 5))])
def luminance(c): return np.clip(c, 0, 1) @ [.2126, .7152, .0722]
def contrast(a, b): low, high = sorted((luminance(a), luminance(b))); return (high + .05) / (low + .05)
LMS = np.array([[.4122214708, .5363325363, .0514459929],
                [.2119034982, .6806995451, .1073969566],
                [.0883024619, .2817188376, .6299787005]])
LAB = np.array([[.2104542553, .7936177850, -.0040720468],
                [1.9779984951, -2.4285922050, .4505937099],
                [.0259040371, .7827717662, -.8086757660]])

def mixed(color, ink, part):
    "color-mix(in oklab, color part, ink)"
    lab = part * (LAB @ np.cbrt(LMS @ linear(color))) + (1 - part) * (LAB @ np.cbrt(LMS @ linear(ink)))
    return np.linalg.inv(LMS) @ (np.linalg.inv(LAB) @ lab)**3

@pytest.mark.parametrize('ground,ink',
                         [('#ffffff', '#212121'), ('#ffffff', '#000000'), ('#fdfdfb', '#23282e'),
                          ('#111111', '#ffffff'), ('#15181c', '#d9dce0'), ('#1f1f1f', '#cccccc')])
def test_tag_colours_read_on_light_and_dark(ground, ink):
    "WCAG AA, 4.5 : 1, on the grounds of notebooks and of the site, with their ink."
    part = int(re.search(r'(\d+)%,currentColor', show.ink('#000000'))[1]) / 100
    for c in show.PALETTE + [show.BAD]: assert contrast(mixed(c, ink, part), linear(ground)) >= 4.5, c

def test_one_colour_per_name_and_common_names_apart():
    assert show.tag_color('batch') == show.tag_color('batch')
    for group in ('row col', 'batch seq d head', 'in out', 'batch feat class', 'time channel',
                  'q k', 'query key', 'vocab d'):
        tags = group.split()
        assert len({show.tag_color(t) for t in tags}) == len(tags), group

def test_no_script_no_sheet_no_light_dark():
    for page in [x._repr_html_() for x in LARGE.values()] + [
        show.mistake(lambda: Tensor([1.], 'd').sum('e'))._repr_html_()]:
        assert not re.search(r'<script|<style|light-dark|https?:|color:(#000|#fff|black|white)\b', page)

# ---- mistakes
def test_mistake_shows_the_message():
    m = show.mistake(lambda: Tensor([[1., 2.]], 'row col') + Tensor([1., 2., 3.], 'col'))
    assert repr(m).startswith('ShapeMismatch: ') and 'help:' in repr(m)
    page = m._repr_html_()
    assert show.tag_color('col') in page and '<b' in page and len(page) < KB
    assert re.sub(r'<[^>]*>', '', page).replace('&lt;', '<').replace('&amp;', '&') == repr(m)

def test_mistake_escapes_and_is_short():
    def wrong(): raise fl.TagError('<b>&"' + 'x=3 ' * 100_000)
    page = show.mistake(wrong)._repr_html_()
    assert '<b>&"' not in page and len(page) < KB

def test_no_mistake_is_a_mistake():
    with pytest.raises(AssertionError, match='should have raised FucinaError but gave 1'): show.mistake(lambda: 1)
    with pytest.raises(ZeroDivisionError): show.mistake(lambda: 1 / 0)

# ---- names that look like markup
class Page(HTMLParser):
    "The elements of a piece of HTML and the text a browser shows of it."
    def __init__(self, page):
        super().__init__()
        self.elements, self.text = set(), ''
        self.feed(page); self.close()
    def handle_starttag(self, name, attributes):
        self.elements |= {name, *(k for k, _ in attributes if k.startswith('on'))}
    def handle_data(self, data): self.text += data

ELEMENTS = set('''div span b br table thead tbody tr th td pre img svg g path rect line circle text defs marker
                  title polyline style'''.split())

def of_op(name):
    def scaled(x: Tensor): return x.data * 2, x.tags, (lambda g: 2 * g,)
    scaled.__name__ = name
    return fl.custom_vjp(scaled)

def wrong_answer(name):
    from fucinalib import exercises
    exercises.exercise(name, name, reference=lambda x: x * 1, inputs=[Tensor([1., 2.], 'd')], hints=name)
    try: return exercises.check(name, lambda x: x * 2)
    finally: del exercises.book[name]

def unanswered(name):
    from fucinalib import exercises
    exercises.exercise('91.1', name, ask=name)
    try: return exercises.check('91.1', ...)
    finally: del exercises.book['91.1']

def product(name):
    made = fl.explain(lambda: Tensor([[1.]], 'a b').dot(Tensor([1.], 'b'), 'b'))
    made[0].names = name, 'w'
    return made

def op_table(name):
    from fucinalib.registry_table import OpTable
    made = OpTable([])
    made.rows = [(name,) * 5]
    return made

def block_format(name):
    from fucinalib.formats import BlockFormat
    def reader(b): "Its bytes."
    return BlockFormat(name, 32, {name: 32}, 'q8_0', reader)

def formats(name):
    from fucinalib.block_arithmetic import BlockFormats
    return BlockFormats({name: block_format(name)})

def blocks(name): return Tensor(np.ones((1, 32), 'f4'), 'out in').to('q8_0')       # a tag is an identifier

def training(name):
    from fucinalib.train.curves import History
    return History([{'epoch': 1, name: .5}, {'epoch': 2, name: .25}])

def alive(name):
    from fucinalib.train.progress import Live
    return Live(training(name)._repr_html_())

def measured(name):
    from fucinalib.profiling import Entry, Profile
    row = Entry(name, name)
    row.calls, row.time = 1, [.5, .25]
    return Profile([row], 1., 1)

def timeline(_):
    from fucinalib.plans import Timeline
    step = fl.record(lambda x: (x * x).sum())
    for _ in range(4): step(Tensor([1., 2.], 'd'))
    return Timeline(step.plan)

def chain(name): return fl.nn.Sequential({name: fl.nn.ReLU()})

DISPLAYS = {
    # class that shows itself as HTML: how to make one with a name of the user's choice in it
    'Tensor': lambda name: of_op(name)(param([1.], 'd')),
    'Caught': lambda name: show.Caught(type(name, (fl.TagError,), {})(name)),
    'Verdict': wrong_answer,
    'Product': lambda name: product(name)[0], 'Explanation': product, 'OpTable': op_table,
    'BlockFormat': block_format, 'BlockFormats': formats, 'BlockTensor': blocks,
    'Memory': lambda name: show.memory(Tensor([1.], 'd')),
    'Module': chain, 'History': training, 'Curve': lambda name: training(name).curve(), 'Live': alive,
    'Profile': measured, 'Timeline': timeline, 'Summary': lambda name: fl.summary(chain(name), 'row=2'),
    'PackedWeight': lambda name: fl.ops.packed.PackedWeight(name, ('out', 'in'), (1, 1), [np.ones(1)]),
    'Described': lambda name: Described(name, {name: Info((2, 3), 'f32', 0, 24)}, {})}
MORE = {'number': lambda name: of_op(name)(param(3.)), 'unanswered': unanswered}

def test_every_class_with_html_is_listed():
    modules = [importlib.import_module(m.name) for m in pkgutil.walk_packages(fl.__path__, 'fucinalib.')
               if '__main__' not in m.name]
    found = {c.__name__ for m in modules for c in vars(m).values()
             if isinstance(c, type) and c.__module__ == m.__name__ and '_repr_html_' in vars(c)}
    assert found == DISPLAYS.keys()

MARKUP = st.lists(st.sampled_from(['<lambda>', '<script>', '</div>', '<b', '&lt;', '&', '"', "'",
                                   '<!--', 'w', ' ', '>', '<i onload=x>']),
                  min_size=1).map(''.join)

@pytest.mark.parametrize('name', DISPLAYS | MORE)
@example(' ')
@example('  ')
@given(MARKUP | st.text(st.characters(exclude_categories=['C', 'Z']), min_size=1))
def test_names_are_not_markup(name, given):
    page = Page((DISPLAYS | MORE)[name](given)._repr_html_())
    assert page.elements <= ELEMENTS
    if name not in ('BlockTensor', 'Memory', 'Timeline') and len(given) <= 40: assert given in page.text

# ---- side effects
def test_showing_changes_nothing():
    x = param(rng.normal(size=(20, 20)).astype('f4'), 'row col')
    y = (x * x).sum()
    data, node = x.data.copy(), x.node
    for t in (x, y, x.detach()): repr(t), t._repr_html_()
    assert x.node is node and x.grad is None and not y.node.spent and (x.data == data).all()
    y.backward()
    assert x.grad is not None

def test_frozen_arrays_can_be_shown():
    a = rng.random((20, 20)); a.flags.writeable = False
    assert 'mean' in repr(Tensor(a, 'row col')) and '<img' in Tensor(a, 'row col')._repr_html_()

# ---- operands in a message
def test_only_axes_stand_in_columns():
    "An array, a number or a scalar tensor among the operands moves no column of the others"
    x, y = Tensor(np.ones((2, 2), 'f4'), 'row col'), Tensor(np.ones(22, 'f4'), 'features')
    said = str(fl.errors.fault(fl.TagError, 'said', x=x, labels=np.ones(3), y=y, n=3, one=Tensor(1.)))
    assert said.splitlines()[1:] == ['    x      : row=2        col=2',
                                     '    labels : ndarray of shape (3,), float64',
                                     '    y      : features=22',
                                     '    n      : 3', '    one    : a single number']
