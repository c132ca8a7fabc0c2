"""The way out that an error offers is one: what can be run of each `help:` runs."""
import ast, re
import numpy as np
import pytest
import fucinalib as fl
from test_operands import OPS

LIBRARY = {o.name: o.call for o in OPS} | {'fl': fl, 'np': np} | {
    n: getattr(fl, n) for n in 'Tensor param copy_of AxisRange RopeTable BlockTensor'.split()}


def calls_in(text):
    "Every call written in a text, as long as it goes: `x.to('f32').sum('d')`."
    found, end = [], 0
    for m in re.finditer(r'(?<![\w.])[A-Za-z_][\w.]*\(', text):
        if m.start() < end: continue
        best = None
        for e in range(m.end(), len(text) + 1):
            if text[e - 1] != ')': continue
            try: ast.parse(text[m.start():e].strip(), mode='eval')
            except SyntaxError: continue
            best = e
            if not text[e:e + 1] == '.': break
        if best: found.append(text[m.start():best]); end = best
    return found


def options_in(text, o):
    "The options of `o` that a text gives, `name=value`; none if one of them has a value that only the reader knows."
    for call in calls_in(text): text = text.replace(call, '_')
    found = {}
    for m in re.finditer(r'\b(\w+)=', text):
        if m[1] not in o.signature.parameters: continue
        for e in range(m.end() + 1, len(text) + 1):
            if text[e:e + 1].isalnum() or text[e:e + 1] == '.' and text[e + 1:e + 2].isdigit(): continue
            try: found[m[1]] = ast.literal_eval(text[m.end():e])
            except (SyntaxError, ValueError): continue
            break
        if m[1] not in found or '...' in text[m.end():e]: return {}
    return found


def made(o, mistake):
    "What a mistake calls `o` with, and the error."
    seen = []
    def through(*args, **kw):
        seen.append((args, kw))
        return o.call(*args, **kw)
    through.op, through.__name__ = o, o.name
    with pytest.raises(fl.FucinaError) as e: mistake(through)
    return seen[-1] if seen else ((), {}), e.value


def own_names(o, args, kw):
    "The operands of a call by the names that the message gives them."
    try: given = o.signature.bind(*args, **kw).arguments
    except TypeError: given = kw
    names = {n: v for n, v in given.items() if isinstance(v, (fl.Tensor, np.ndarray, list)) or hasattr(v, 'tags')}
    for n, v in given.items():
        if isinstance(v, (list, tuple)): names |= {f'{n}{i}': t for i, t in enumerate(v) if isinstance(t, fl.Tensor)}
    if 'self' in names: names['x'] = names['self']
    return names


def runs(text, scope):
    "The error of an expression; None if it runs, or speaks of things that only its reader has."
    try: names = {n.id for n in ast.walk(ast.parse(text.strip(), mode='eval')) if isinstance(n, ast.Name)}
    except SyntaxError: return None
    if '...' in text or not names <= scope.keys() | {'slice', 'None', 'True', 'False'}: return None
    try: eval(text, {**LIBRARY, **scope, 'slice': slice})
    except Exception as e: return e


@pytest.mark.parametrize('o', OPS, ids=lambda o: o.name)
def test_help_runs(o):
    for kind, mistake in o.mistakes:
        (args, kw), error = made(o, mistake)
        help = str(error).rsplit('help: ', 1)[1]
        scope = own_names(o, args, kw)
        for text in calls_in(help):
            again = runs(text, LIBRARY | scope)
            assert again is None, f'{error}\n\n{text} fails with {type(again).__name__}: {again}'


@pytest.mark.parametrize('o', OPS, ids=lambda o: o.name)
def test_options_of_a_help_help(o):
    "The same call with the options that the help gives does not fail in the same way."
    for kind, mistake in o.mistakes:
        (args, kw), error = made(o, mistake)
        try: bound = o.signature.bind(*args, **kw)
        except TypeError: continue
        better = options_in(str(error).rsplit('help: ', 1)[1], o)
        bound.arguments |= better
        try: o.call(*bound.args, **bound.kwargs)
        except fl.FucinaError as again:
            assert not better or str(again).split('\n')[0] != str(error).split('\n')[
                0], f'{error}\n\n{better} changes nothing'


def test_names_for_every_axis_are_distinct():
    "What the error for missing or spare tags proposes."
    for given in ('picture row', 'row', '', 'a b c d e f g', 'depth col row a', 'x y z'):
        for n in range(1, 9):
            if len(given.split()) == n: continue
            with pytest.raises(fl.InvalidShape) as e: fl.Tensor(np.zeros((1,) * n), given)
            data = np.zeros((1,) * n)
            assert eval(str(e.value).split('name every axis: ')[1], dict(Tensor=fl.Tensor, data=data)).ndim == n

def test_attention_with_a_bias_says_how_to_train():
    q, k = fl.param(np.ones((2, 1, 2)), 'seq head d'), fl.ones('seq kv_head d', (2, 1, 2), dtype='f64')
    bias = fl.zeros('seq key', (2, 2), dtype='f64')
    with pytest.raises(fl.UnsupportedGradient) as e: q.attention(k, k, mask='bidirectional', bias=bias)
    assert 'scores.add(bias).softmax(tag)' in str(e.value) and 'mask=bias' not in str(e.value)
    bias, keys = fl.param(bias), k.rename('key head d')
    y = q.dot(keys, 'd').mul(2**-.5).add(bias).softmax('key').dot(keys, 'key')
    fl.gradcheck(lambda b: q.dot(keys, 'd').mul(2**-.5).add(b).softmax('key').dot(keys, 'key').square(), bias)
    with fl.no_grad(): want = q.attention(k, k, mask='bidirectional', bias=bias)
    np.testing.assert_allclose(y.permute('seq head d').numpy().reshape(2, 2), want.numpy())
