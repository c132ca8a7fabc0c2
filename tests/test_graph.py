"""Pictures of computations: what is drawn, what is folded, what is cut, and that nothing is changed."""
import gc, os, re, shutil, subprocess, sys, time, weakref
from xml.etree import ElementTree
import numpy as np
import pytest
import graphviz
from hypothesis import given, strategies as st
import fucinalib as fl
from fucinalib import Tensor, param
from fucinalib.autograd import Node, reach
from fucinalib.errors import FucinaError, OptionError
from fucinalib.graph import LIMIT, fold_blocks, held, repeats
from fucinalib.picture import renderer
from fucinalib.show import tag_color

def nodes(picture, kind=None):
    "DOT name -> line of every node, or of those of one class."
    found = {m[1]: m[0] for m in re.finditer(r'^\t+(\w+) \[label=.*$', picture.source, re.M)}
    return {k: v for k, v in found.items() if kind is None or f'class={kind}' in v}

def arrows(picture, gradient=False):
    "(from, to) of every forward arrow, or of every dashed one."
    found = re.findall(r'^\t+(\w+) -> (\w+)(.*)$', picture.source, re.M)
    return [(a, b) for a, b, rest in found if ('dashed' in rest) == gradient]

def words(line): return re.sub(r'\s+', ' ', re.sub(r'</?[A-Z][^<>]*>', ' ', line))
def ops(picture):
    return [words(re.search(r'\[label=<(.*)> \w+=', line)[1]).strip(' <>')
            for line in nodes(picture, 'op').values()]

@pytest.fixture
def product():
    x, w = Tensor([[1., 2., 3.], [4., 5., 6.]], 'row col'), param([2., 3.], 'row')
    return x, w, (x * w).sum()


# ---- the grammar
def test_tensors_are_boxes_and_ops_ellipses(product):
    x, w, loss = product
    g = loss.graph()
    assert isinstance(g, graphviz.Digraph)
    assert all('shape=ellipse' in line for line in nodes(g, 'op').values()) and ops(g) == ['mul', 'sum']
    assert len(nodes(g)) == 6
    assert all('shape=box' in line and 'rounded' in line
               for k, line in nodes(g).items() if k not in nodes(g, 'op'))
    assert len(nodes(g, 'result')) == 1 and ' loss ' in words(*nodes(g, 'result').values())

def test_roles_and_names(product):
    x, w, loss = product
    g = (loss + Tensor([1., 2.], 'batch') * 3).graph()
    (p,), (i,), (c,) = (list(nodes(g, kind).values()) for kind in ('parameter', 'input', 'constant'))
    assert 'w parameter row =2 2 3' in words(p) and 'x input row =2 col =3' in words(i)
    assert 'constant batch =2' in words(c)
    assert len({re.search(r'fillcolor="(.*?)"', line)[1] for line in (p, i, c)}) == 3

def test_one_colour_per_axis(product):
    x, w, loss = product
    for t in ('row', 'col'):
        assert set(re.findall(rf'COLOR="(\S+)"><B>{t}</B>', loss.graph().source)) == {tag_color(t)}
        assert tag_color(t) in x._repr_html_()

def test_arrows_carry_tags(product):
    x, w, loss = product
    labels = [words(m) for m in re.findall(r'-> op0 \[label=(.*)\]', loss.graph().source)]
    assert [re.findall(r'\w+', label) for label in labels] == [['row', 'col'], ['row']]

def test_gradient_is_not_computed_and_then_there(product):
    x, w, loss = product
    before = loss.graph()
    assert 'gradient not computed' in words(*nodes(before, 'parameter').values()) and not arrows(before, gradient=True)
    loss.backward()
    after = loss.graph()
    assert 'gradient 6 15' in words(*nodes(after, 'parameter').values())
    # none to the constant
    assert set(arrows(after, gradient=True)) == {(a, b) for a, b in arrows(after)
                                                 if a != next(iter(nodes(after, 'input')))}
    assert set(arrows(before)) == set(arrows(after))
    assert not arrows(loss.graph(grads=False), gradient=True)
    assert 'gradient' not in words(loss.graph(grads=False).source.replace('class=gradient', ''))

def test_gradient_left_from_before_is_said_to_be():
    w = param([1., 2.], 'd')
    (w * 2).sum().backward()
    assert 'gradient from before' in words((w * 3).sum().graph().source)

def test_used_twice_is_two_arrows():
    r = param(2.)
    assert arrows((r * r).graph())[:2] == [('x0', 'op0')] * 2

def test_shared_parameter_is_one_box():
    "The bug of the chapter: three layers, one gain."
    x = Tensor([.5, -.2], 'd')
    def run(gains):
        y = x
        for g in gains: y = y * g
        return y.sum().graph()
    assert len(nodes(run([param([1., 1.], 'd')] * 3), 'parameter')) == 1
    assert len(nodes(run([param([1., 1.], 'd') for _ in range(3)]), 'parameter')) == 3

def test_numbers_stand_in_the_ellipse():
    x = param(3.)
    assert ops((x - 1).graph()) == ['sub 1'] and ops((2 / x).graph()) == ['2 div']
    assert ops((x ** 2 * Tensor(.5)).graph()) == ['pow 2', 'mul 0.5']

def test_constant_used_by_several_is_one_box():
    w, mask = param(np.ones((2, 30)), 'a b'), Tensor(np.ones((2, 30)), 'a b')
    g = (w * mask + mask).sum().graph()
    assert len(nodes(g, 'input')) == 1
    # both dead by now
    assert len(nodes((w * Tensor(np.ones(30), 'b') + Tensor(np.ones(30), 'b')).sum().graph(),
                     'constant')) == 2

def test_names_by_hand_win_and_markup_is_escaped(product):
    x, w, loss = product
    line, = nodes(loss.graph(**{'layers[0].w < "b" & c': w}), 'parameter').values()
    assert 'layers[0].w &lt; "b" &amp; c' in line
    assert '<svg' in loss.graph(**{'a<b>&"c': w})._repr_svg_()

RENDERERS = ['graphviz-pure', *(['dot'] if shutil.which('dot') else [])]

def written(svg):
    "The texts of a picture as a browser shows them, joined."
    root = ElementTree.fromstring(svg)
    return ''.join(t.text or '' for t in root.iter('{http://www.w3.org/2000/svg}text')).replace('\xa0', ' ')

SHOWN = [(r'model\Net', r'model\Net'), (r'a\G', r'a\G'), (r'\\two\\', r'\\two\\'),
         (r'\E\H\L\T\l\r\n', r'\E\H\L\T\l\r\n'),
         ('a\x0bb', r'a\x0bb'), ('\x1b[1m', r'\x1b[1m'), ('nul\x00', r'nul\x00'),
         ('\x7f\x85', r'\x7f\x85'), ('\ud800', r'\ud800'),
         ('\uffff', r'\uffff'), ('two\nlines\tand', r'two\nlines\tand'),
         ('<b>&amp;"\'</b>', '<b>&amp;"\'</b>'), ('-->', '-->'),
         ('<title>x</title>', '<title>x</title>'), ('&#92;N &lt;', '&#92;N &lt;'), (']]>', ']]>'),
         ('🙂👨\u200d👩', '🙂👨\u200d👩'),
         ('وزن', 'وزن'), ('rtl\u202e', r'rtl\u202e'), ('fill="#c6516a"', 'fill="#c6516a"'),
         ('w' * 3000, 'w' * 29 + '…' + 'w' * 30)]

@pytest.mark.parametrize('program', RENDERERS)
@pytest.mark.parametrize('name, shown', SHOWN, ids=range(len(SHOWN)))
def test_a_name_is_shown_as_it_is(program, name, shown, monkeypatch):
    "DOT reads \\N, \\G, \\L in labels; XML has no control characters."
    monkeypatch.setenv('FUCINALIB_RENDERER', program)
    w, x = param([1., 2.], 'd'), Tensor([3., 4.], 'd')
    svg = (w * x).graph(**{name: w}).svg()
    assert shown + ' parameter' in written(svg)

@pytest.mark.parametrize('program', RENDERERS)
def test_the_name_of_an_operation_is_shown_as_it_is(program, monkeypatch):
    monkeypatch.setenv('FUCINALIB_RENDERER', program)
    def double(x: Tensor): return x.data * 2, x.tags, (lambda g: 2 * g,)
    double.__name__ = '<script>\\N\x1b'
    assert r'<script>\N\x1b' in written(fl.custom_vjp(double)(param(3.)).graph().svg())

@given(st.lists(st.text(min_size=1, max_size=60).filter(str.strip), min_size=1, max_size=8, unique=True))
def test_any_name_can_be_drawn(names):
    y, ws = Tensor([1., 1.], 'd'), {f'{i}{name}': param([1., 2.], 'd') for i, name in enumerate(names)}
    for w in ws.values(): y = y * w
    said = written(y.graph(fold=False, **ws).svg())
    assert said.count(' parameter') >= len(ws)
    assert all(name[:29] in said for name in ws if name.isprintable())

def test_names_come_from_the_caller(product):
    x, w, loss = product
    def inner(model_weight=w): return loss.graph()
    assert ' model_weight parameter' in words(inner().source)

def test_names_of_lists_dicts_and_models():
    class Model:
        def __init__(self): self.w = param([1., 2.], 'd')
        def named_parameters(self): yield 'layer.w', self.w
    model, scales, others, alone = (Model(), [param([1., 1.], 'd') for _ in range(2)],
                                    {'b': param([1., 1.], 'd')}, param([2., 2.], 'd'))
    both = [alone]
    def run(): return (model.w * scales[1] * others['b'] * both[0]).graph()
    line = words((model.w * scales[1] * others['b'] * both[0]).graph().source)
    for name in ('model.layer.w', 'scales[1]', "others['b']", 'alone'): assert f' {name} parameter' in line
    assert 'both[0]' not in line and (model, scales, others, alone, both) and 'model.layer.w' in run().source

def test_leaf_and_constant_have_a_picture():
    x, w = Tensor([1., 2.], 'd'), param([1., 2.], 'd')
    assert list(nodes(w.graph(), 'parameter')) == ['x0'] and list(nodes(x.graph(), 'input')) == ['x0']
    assert 'nothing is recorded' in x.graph().source
    assert '<svg' in x.graph()._repr_svg_() and '<svg' in Tensor(1.).graph()._repr_svg_()

def test_large_values_on_request(product):
    data, w = Tensor(np.arange(60.), 'd'), param(np.ones(60), 'd')
    h = data * w
    loss = (h * 2).sum()
    assert 'mean' not in words(loss.graph().source)
    g = loss.graph(values=True, grads=True)
    assert '0 to 59, mean 29.5' in words(g.source) and 'values not kept' in words(g.source)
    assert 'not computed' in words(*nodes(g, 'parameter').values())
    loss.backward()
    g = loss.graph(values=True, grads=True)
    assert 'gradient 0 to 118' in words(*nodes(g, 'parameter').values())
    assert 'gradient not kept' in words(g.source) and 'gradient all 2' in words(g.source)
    assert '29.5' not in loss.graph(values=False).source

def test_time_and_bytes():
    w, x = param(np.ones((10, 10), 'f4'), 'a b'), Tensor(np.ones((10, 10), 'f4'), 'a b')
    fn = fl.registry['mul'].fn
    with fl.timed(): loss = (w * x).sum()
    assert fl.registry['mul'].fn is fn and type(param(1.).node) is Node
    g = loss.graph(time=True, bytes=True)
    assert re.search(r'mul [\d.]+ .s keeps 400 B', words(g.source)) and 'forward' in g.source
    assert 'kept for backward:' in g.source
    loss.backward()
    assert re.search(r'mul [\d.]+ .s back [\d.]+ .s', words(loss.graph(time=True).source))
    assert 'keeps' not in loss.graph(bytes=True).source
    assert 'fl.timed()' in (w * x).graph(time=True).source
    np.testing.assert_array_equal(w.grad.data, np.ones((10, 10)))

def test_timed_gives_the_same_values_and_gradients():
    x, w = param([1., -2., 3.], 'd'), param([.5, 2., 0.], 'd')
    def run():
        x.zero_grad(); w.zero_grad()
        y = ((x * w).maximum(x) / 2 + w ** 2).sum()
        y.backward()
        return y.item(), x.grad.tolist(), w.grad.tolist()
    plain = run()
    with fl.timed(): assert run() == plain
    with pytest.raises(FucinaError):
        with fl.timed(): x + Tensor([1.], 'e').to('f64')
    assert run() == plain

def test_held_counts_an_array_once():
    w = param(np.ones(100, 'f4'), 'd')
    assert sum(held((w * w).node.rules).values()) == 400 and held((w + w).node.rules) == {}


# ---- options
@pytest.mark.parametrize('wrong',
                         [dict(value=True), dict(values='all'), dict(grad=True), dict(folds=False),
                          dict(time=1), dict(bytes=np.ones(2)), dict(values=Tensor(1.))])
def test_options_are_checked(product, wrong):
    with pytest.raises(OptionError, match='help:') as e: product[2].graph(**wrong)
    if 'value' in wrong: assert "did you mean 'values'" in str(e.value)


# ---- folding and size
def layers(n, width=20):
    h = Tensor(np.ones((4, width)), 'batch d')
    for _ in range(n): h = (h * param(np.ones(width), 'd') + param(np.ones(width), 'd')).maximum(0.)
    return h.mean()

def test_layers_fold():
    g = layers(12).graph()
    assert ops(g) == ['mul', 'add', 'maximum 0', 'mean'] and '× 12' in words(g.source)
    assert g.source.count('subgraph') == 1
    assert [('× 12' in words(line)) and 'peripheries=2' in line
            for line in nodes(g, 'parameter').values()] == [True, True]
    back = re.findall(r'(\w+) -> (\w+) .*constraint=false', g.source)
    assert back == [('op2', 'op0')]
    assert ops(layers(3).graph()) == ['mul', 'add', 'maximum 0'] * 3 + ['mean']      # three rounds are drawn
    g = layers(12).graph(fold=False)
    assert len(ops(g)) == 36 and len(nodes(g, 'parameter')) == 23 and '… 2 more' in words(g.source)

def test_one_weight_in_all_rounds_is_one_weight():
    w, h = param(np.ones(20), 'd'), Tensor(np.ones((4, 20)), 'batch d')
    for _ in range(9): h = (h * w).maximum(0.)
    line, = nodes(h.graph(), 'parameter').values()
    assert '×' not in line and 'w' in words(line)

def test_loop_in_a_loop_folds_twice():
    h = param(np.ones(20), 'd')
    for _ in range(6):
        for _ in range(5): h = h * 2
        h = h + 1
    g = h.graph()
    assert sorted(re.findall(r'× \d+', words(g.source))) == ['× 5', '× 6'] and ops(g) == ['mul 2', 'add 1']
    assert len(set(re.findall(r'subgraph (\w+)', g.source))) == 2

def test_different_numbers_do_not_fold():
    r = param(1.)
    for i in range(8): r = r * i
    assert len(ops(r.graph())) == 8

def test_rounds_with_unequal_wiring_do_not_fold():
    """Every sum takes the first value again, but from one step further away: that is the same
    tensor, so it folds. Two steps back does not."""
    a = r = param(np.ones(20), 'd') * 1
    for _ in range(8): r = r + a
    assert '× 8' in words(r.graph().source)
    f = [param(np.ones(20), 'd') * 1, param(np.ones(20), 'd') * 2]
    for i in range(8): f.append(f[-1] + f[i // 2])
    assert len(ops(f[-1].graph())) == 10

@pytest.mark.parametrize('kinds,found',
                         [('abcabcabc', [(0, 3, 3)]), ('xababab', [(1, 2, 3)]), ('aaaa', [(0, 1, 4)]),
                          ('abcd', []), ('aabbaabbaabb', [(0, 4, 3)]), ('a', []), ('', [])])
def test_repeats(kinds, found):
    kind = np.array([ord(c) for c in kinds], int)
    link = np.arange(len(kinds))[:, None] - 1
    assert repeats(kind, link, 3) == found
    items, stand = fold_blocks(kind, link, 3)
    assert len(stand) == len(kinds) and all(stand <= np.arange(len(kinds))) and all(kind[stand] == kind)

def quick(f, seconds):
    start = time.process_time()
    result = f()
    assert time.process_time() - start < seconds      # a guard against exponential work, not a measurement
    return result

def test_long_chain():
    "Case 51: five thousand additions."
    r, one = param(0.), Tensor(1.)
    for _ in range(5000): r = r + one
    g = quick(lambda: r.graph(), 5)
    assert '× 5000' in words(g.source) and len(nodes(g)) < 6 and '<svg' in g._repr_svg_()
    g = quick(lambda: r.graph(fold=False), 5)
    assert '… 4941 more' in words(g.source) and len(nodes(g, 'op')) <= LIMIT and '<svg' in quick(g._repr_svg_, 5)

def test_long_chain_of_unlike_steps():
    r = param(np.ones(20), 'd')
    for i in range(5000): r = r * (i + .5) if i % 3 else r + param(np.ones(20), 'd')
    g = quick(lambda: r.graph(), 5)
    hidden = int(re.search(r'… (\d+) more', words(g.source))[1])
    drawn = len(nodes(g, 'op')) + len(nodes(g, 'parameter'))
    assert hidden + drawn == len(reach(r.node)) and drawn <= LIMIT

def test_doubling():
    "Case 51: r = r + r forty times has 2**40 paths and 41 nodes."
    r = param(1.)
    for _ in range(40): r = r + r
    assert len(reach(r.node)) == 41
    g = quick(lambda: r.graph(), 5)
    assert '× 40' in words(g.source) and ops(g) == ['add']
    assert len(ops(quick(lambda: r.graph(fold=False), 5))) == 40

def test_many_operands():
    parts = [param([float(i)], 'd') for i in range(300)]
    @fl.custom_vjp
    def joined(*parts:Tensor):
        return np.concatenate([p.data for p in parts]), ('d',), lambda g: [g[i:i + 1] for i in range(300)]
    g = joined(*parts).graph()
    assert '<svg' in quick(g._repr_svg_, 20) and len(nodes(g)) <= 310


# ---- nothing is run, changed or kept alive
def state(y): return [(n, n.op, n.parents, n.rules, n.grad, n.value, n.owner, n.born) for n in reach(y.node)]

def test_drawing_changes_nothing(product):
    x, w, loss = product
    before = state(loss)
    for kw in ({}, dict(values=True, grads=True, bytes=True, time=True), dict(fold=False)):
        g = loss.graph(**kw)
        g._repr_mimebundle_(), g.source, repr(g), repr(loss), loss._repr_html_()
    assert all(a is b or a == b for p, q in zip(before, state(loss)) for a, b in zip(p, q))
    assert w.grad is None
    loss.backward()
    assert w.grad.tolist() == [6, 15]

def test_picture_and_sketch_keep_nothing_alive():
    w, x = param(np.ones(1000, 'f4'), 'd'), Tensor(np.ones(1000, 'f4'), 'd')
    dead = weakref.ref(x)
    y = w + x
    g = y.graph()
    del x; gc.collect()
    assert dead() is None and '<svg' in g._repr_svg_() and 'd' in y.graph().source


# ---- who draws
RUN = '''
import os, sys, shutil
from pathlib import Path
import fucinalib as fl
from fucinalib import param
{more}
x, w = fl.Tensor([1., 2.], 'd'), param([3., 4.], 'd')
y = (x * w).sum()
y.backward()
g = y.graph()
'''

def child(code, more='', env=None):
    done = subprocess.run([sys.executable, '-c', RUN.format(more=more) + code],
                          capture_output=True, text=True, env=env and {**os.environ, **env})
    assert done.returncode == 0, done.stderr
    return done.stdout

def test_without_dot_the_package_draws():
    "Case 49: PATH without `dot`."
    out = child("print('dot' in (fl.picture.renderer() or ''), g._repr_svg_().count('<svg'), "
                "len(g._repr_mimebundle_()))",
                env={'PATH': '/nonexistent'})
    assert out.split() == ['False', '1', '2']

def test_the_renderer_can_be_named():
    out = child("print(Path(fl.picture.renderer()).stem, g._repr_svg_().count('<svg'))",
                env={'FUCINALIB_RENDERER': 'graphviz-pure'})
    assert out.split() == ['graphviz-pure', '1']
    out = child("print(fl.picture.renderer(), list(g._repr_mimebundle_()))",
                env={'FUCINALIB_RENDERER': 'no-such-program'})
    assert out.split() == ['None', "['text/plain']"]

NONE = "import fucinalib.picture\nfucinalib.picture.renderer = lambda: None"

def test_without_any_renderer_there_is_text():
    out = child("b = g._repr_mimebundle_()\nprint(list(b), g._repr_svg_(), "
                "b['text/plain'].count('->'), 'pip install graphviz-pure' in b['text/plain'], "
                "g.source.count('->'))",
                NONE)
    assert out.split() == ["['text/plain']", 'None', '9', 'True', '9']
    out = child("try: g.render('x.svg')\nexcept fl.FucinaError as e: print(type(e).__name__, "
                "'help:' in str(e), isinstance(e, RuntimeError), Path('x.svg').exists())",
                NONE)
    assert out.split() == ['NoRenderer', 'True', 'True', 'False']

def test_a_renderer_that_fails_still_shows_text(product, monkeypatch):
    def broken(*args, **kw): raise OSError('no')
    g = product[2].graph()
    monkeypatch.setattr(graphviz.Digraph, 'pipe', broken)
    assert list(g._repr_mimebundle_()) == ['text/plain'] and g._repr_svg_() is None

@pytest.mark.skipif(renderer() is None, reason='no renderer')
@pytest.mark.parametrize('ending', ['svg', 'png', 'gv'])
def test_render_into_a_folder_with_a_blank(product, tmp_path, ending):
    path = tmp_path / 'my pictures' / f'the loss.{ending}'
    assert product[2].graph().render(path) == str(path)
    start = path.read_bytes()[:8]
    assert {'svg': b'<svg ', 'png': b'\x89PNG', 'gv': b'digraph'}[ending] in start
    assert [p.name for p in path.parent.iterdir()] == [path.name]

def test_render_like_graphviz(product, tmp_path):
    out = product[2].graph().render(tmp_path / 'a b' / 'loss', format='svg', cleanup=True)
    assert out.endswith('loss.svg') and os.path.getsize(out) > 500

def test_svg_reads_on_light_and_dark(product):
    "No white ground, no black ink: every colour has a rule in the style sheet or is of middling lightness."
    svg = product[2].graph()._repr_svg_()
    assert svg.startswith('<svg') and '<script' not in svg and 'currentColor' in svg
    assert 'prefers-color-scheme:dark' in svg
    body = svg[svg.index('</style>'):]
    used = {c for c in re.findall(r'(?:fill|stroke)="(.*?)"', body)} - {'none', 'transparent'}
    light = lambda c: np.dot([((int(c[i:i + 2], 16) / 255 + .055) / 1.055)**2.4 for i in (1, 3, 5)],
                             [.2126, .7152, .0722])
    assert used and all(f'="{c}"]' in svg or .15 < light(c) < .3 for c in used)
    assert product[2].graph()._repr_svg_() == product[2].graph()._repr_svg_()

def test_notebook_and_terminal_forms(product):
    g = product[2].graph()
    bundle = g._repr_mimebundle_()
    assert bundle['image/svg+xml'].startswith('<svg')
    assert (bundle['text/plain'] == repr(g)
            == 'picture of 2 operations; .source is its text, .render("name.svg") writes it')
