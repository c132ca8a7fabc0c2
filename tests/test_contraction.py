"""Contraction: the same numbers from any layout, gradients that are contractions, copies only
where memory forces one, refusals."""
import numpy as np
import pytest
from hypothesis import given, strategies as st
import fucinalib as fl
from fucinalib.errors import *
from fucinalib.ops.contraction import contract, fits, fuse, groups, plan
import memory_layouts as layouts

V = lambda data, tags='': fl.param(data, tags)
C = lambda data, tags='', dtype=None: fl.Tensor(data, tags, dtype)
rng = np.random.default_rng(0)

LAYOUTS = layouts.LAYOUTS | {'misaligned step': lambda a: np.rec.fromarrays(
                                 [a, np.zeros(a.shape, 'i1')], names='v,pad')['v'] if a.ndim else a}
layout = pytest.mark.parametrize('layout', list(LAYOUTS))


# ---- cases of other libraries

@layout
def test_extra_batch_axes(layout):
    "Case 05: left free axes first, then the right ones, in the order of their operands."
    a, b = LAYOUTS[layout](np.ones((4, 3), 'f4')), LAYOUTS[layout](np.ones((1, 3, 3, 3), 'f4'))
    y = C(a, 'm k').dot(C(b, 'b h k n'), 'k')
    assert y.sizes == dict(m=4, b=1, h=3, n=3) and (y.data == 3).all()

def test_output_tag_twice_or_unknown():
    "Case 25: refused before any work; nothing enters the graph."
    x, w = V([[1., 2.], [3., 4.]], 'i k'), V([[5., 6.], [7., 8.]], 'k j')
    with pytest.raises(TagError, match="'i' stands twice"): x.einsum(w, 'i i')
    with pytest.raises(TagError, match="'q'"): x.einsum(w, 'i q')
    with pytest.raises(TagError, match="'i,j'"): x.einsum(w, 'i,j')
    assert x.einsum(w, '').item() == (x.data @ w.data).sum()
    np.testing.assert_array_equal(x.einsum(w, 'j i').data, x.einsum(w, 'i j').data.T)

def test_expanded_operand():
    "Case 27: a stride-0 view gets the gradient of a real one."
    w = V([[1., 3.], [5., 7.]], 'x y')
    for product in (lambda a: a.einsum(w, 'b y'), lambda a: a.dot(w, 'x')):
        w.zero_grad()
        base = V([[2., -1.]], 'b x')
        wide = V(np.broadcast_to(base.data, (2, 2)), 'b x')
        y = product(wide)
        y.backward(np.eye(2, dtype='f4'))
        assert wide.grad.sum('b').tolist() == [4, 12] and w.grad.tolist() == [[2, 2], [-1, -1]]
        if hasattr(fl.Tensor, 'broadcast_to'):
            w.zero_grad()
            product(base.broadcast_to('b x', (2, 2))).backward(np.eye(2, dtype='f4'))
            assert base.grad.tolist() == [[4, 12]] and w.grad.tolist() == [[2, 2], [-1, -1]]

@pytest.mark.parametrize('la', ['plain', 'fortran'])
@pytest.mark.parametrize('lb', ['plain', 'fortran'])
@pytest.mark.parametrize('ta', ['n i', 'i n'])
@pytest.mark.parametrize('tb', ['n o', 'o n'])
def test_transposed_operands(la, lb, ta, tb):
    "Case 29: every storage order of both sides."
    a, b = np.array([[1, -2, 3], [4, 5, -6]], 'f4'), np.array([[1, .5], [2, -1]], 'f4')
    a, b = a if ta == 'n i' else a.T, b if tb == 'n o' else b.T
    y = V(LAYOUTS[la](a), ta).dot(V(LAYOUTS[lb](b), tb), 'n')
    assert y.tags == ('i', 'o') and y.tolist() == [[9, -3.5], [8, -6], [-9, 7.5]]

def test_weight_gradient_of_a_linear_layer():
    x, w, b = V(rng.normal(size=(2, 3)), 'batch in'), V(rng.normal(size=(5, 3)), 'out in'), V(rng.normal(size=5), 'out')
    assert fl.gradcheck(lambda x, w, b: x.dot(w, 'in').add(b), x, w, b)

def test_whole_numbers_accumulate_in_i64():
    "Case 37 for products."
    a = C(np.full(200, 100, 'i1'), 'd')
    assert a.dot(a, 'd').item() == 2_000_000 and a.dot(a, 'd').dtype == 'i64'
    big = C(np.array([2**40, 2**40 + 1]), 'd')
    assert big.dot(C(np.array([3, 5]), 'd'), 'd').item() == 3 * 2**40 + 5 * 2**40 + 5
    edge = C(np.array([2**62, 2**62, 2**62, 2**62]), 'd')       # wraps as int64 arithmetic does
    assert edge.dot(C(np.ones(4, 'i8'), 'd'), 'd').item() == 0
    u = C(np.full((3, 4), 255, 'u1'), 'i k')
    assert u.dot(C(np.full((4, 2), 255, 'u1'), 'k j'), 'k').tolist() == [[4 * 255**2] * 2] * 3
    m = C(np.array([[True, False, True]]), 'i k')
    assert m.dot(C(np.array([True, True, True]), 'k'), 'k').tolist() == [2] and m.einsum(m, '').dtype == 'i64'


# ---- laws

def sides(draw, modes=tuple(LAYOUTS)):
    "Two operands, the tags of a result and the exact answer."
    roles = draw(st.lists(st.sampled_from(['batch', 'left', 'right', 'joined', 'spare_a', 'spare_b']), max_size=5))
    tags = [f'{c}' for c in 'abcde'[:len(roles)]]
    size = {t: draw(st.sampled_from([1, 2, 3, 5])) for t in tags}
    def operand(skip):
        mine = draw(st.permutations([t for t, r in zip(tags, roles) if r not in skip]))
        a = np.random.default_rng(draw(st.integers(0, 99))).uniform(-1, 1, [size[t] for t in mine])
        return (LAYOUTS[draw(st.sampled_from(modes))](a) if mine else a), tuple(mine)
    a, b = operand(('right', 'spare_b')), operand(('left', 'spare_a'))
    out = tuple(draw(st.permutations([t for t, r in zip(tags, roles) if r in ('batch', 'left', 'right')])))
    return a, b, out, roles

def exact(a, p, b, q, out):
    n = {t: i for i, t in enumerate(dict.fromkeys(p + q))}
    return np.einsum(a, [n[t] for t in p], b, [n[t] for t in q], [n[t] for t in out])

@given(st.data())
def test_einsum_is_einsum(data):
    "Any roles, orders and strides: NumPy's values, contiguous memory of its own, right gradients."
    (a, p), (b, q), out, _ = sides(data.draw)
    x, w = V(a, p), V(b, q)
    y = x.einsum(w, out)
    np.testing.assert_allclose(y.data, exact(a, p, b, q, out), rtol=1e-10, atol=1e-12)
    assert y.tags == out and y.data.flags.c_contiguous and not np.shares_memory(y.data, a)
    assert not np.shares_memory(y.data, b)
    assert fl.gradcheck(lambda x, w: x.einsum(w, out), x, w)

@given(st.data())
def test_dot_is_einsum(data):
    "dot over the joined tags is the einsum to batch, left, right."
    (a, p), (b, q), _, _ = sides(data.draw)
    both = [t for t in p if t in q]
    joined = data.draw(st.lists(st.sampled_from(both), min_size=1, unique=True)) if both else []
    if not joined: return
    x, w = C(a, p), C(b, q)
    y = x.dot(w, joined)
    np.testing.assert_allclose(y.data, x.einsum(w, y.tags).data, rtol=1e-12)
    assert y.tags == tuple([t for t in both if t not in joined] + [t for t in p if t not in q]
                           + [t for t in q if t not in p])

@given(st.data())
def test_f32_agrees_with_f64(data):
    (a, p), (b, q), out, _ = sides(data.draw)
    y = C(np.asarray(a, 'f4'), p).einsum(C(np.asarray(b, 'f4'), q), out)
    np.testing.assert_allclose(y.data, exact(a, p, b, q, out), rtol=1e-4, atol=1e-4)
    assert y.dtype == 'f32'

@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5), st.floats(-3, 3))
def test_linear_in_each_operand(m, k, n, s):
    r = np.random.default_rng(m * 25 + k * 5 + n)
    x, z, w = C(r.normal(size=(m, k)), 'm k'), C(r.normal(size=(m, k)), 'm k'), C(r.normal(size=(k, n)), 'k n')
    np.testing.assert_allclose((x * s + z).dot(w, 'k').data,
                               (x.dot(w, 'k') * s + z.dot(w, 'k')).data, rtol=1e-9, atol=1e-9)

@given(st.data())
def test_chain_is_einsum(data):
    "Three operands, folded from the left, equal NumPy's one formula."
    tags, size = 'abcd', {t: data.draw(st.integers(1, 3)) for t in 'abcd'}
    draw = lambda: tuple(data.draw(st.lists(st.sampled_from(tags), min_size=1, max_size=3, unique=True)))
    names = [draw() for _ in range(3)]
    xs = [V(rng.uniform(-1, 1, [size[t] for t in n]), n) for n in names]
    out = tuple(data.draw(st.lists(st.sampled_from(sorted(set(sum(names, ())))), unique=True)))
    number = {t: i for i, t in enumerate(tags)}
    right = np.einsum(*[v for x in xs for v in (x.data, [number[t] for t in x.tags])], [number[t] for t in out])
    y = fl.einsum(out, *xs)
    np.testing.assert_allclose(y.data, right, rtol=1e-10, atol=1e-12)
    assert fl.gradcheck(lambda *xs: fl.einsum(out, *xs), *xs)

@pytest.mark.slow
@given(st.data())
def test_einsum_is_einsum_long(data): test_einsum_is_einsum.hypothesis.inner_test(data)


# ---- the plan

@given(st.data())
def test_plan_keeps_its_word(data):
    "An operand that is not marked as copied is read where it lies."
    (a, p), (b, q), out, roles = sides(data.draw)
    if {'spare_a', 'spare_b'} & set(roles): return
    made = plan(p, q, out, a.shape, a.strides, b.shape, b.strides, a.itemsize)
    if made.call == 'sums of products': return
    for v, x in zip(made.views, (a, b)):
        if not v.copy and x.size > 1: assert np.shares_memory(x.transpose(v.order).reshape(v.shape), x)

def explained(equation, a, b):
    p, q, out = [tuple(t) for t in equation.replace('->', ',').split(',')]
    return fl.explain(C(a, p).einsum, C(b, q), out)[0]

@pytest.mark.parametrize('equation,a,b,call', [
                             ('mk,kn->mn', (4, 5), (5, 6), 'gemm'),
                             ('mk,nk->mn', (4, 5), (6, 5), 'gemm'),
                             ('km,kn->mn', (5, 4), (5, 6), 'gemm'),
                             ('mk,kn->nm', (4, 5), (5, 6), 'gemm'),
                             ('bsi,io->bso', (2, 3, 4), (4, 5), 'gemm'),
                             ('bsi,oi->bso', (2, 3, 4), (5, 4), 'gemm'),
                             ('mk,k->m', (4, 5), (5,), 'gemv'),
                             ('k,kn->n', (5,), (5, 6), 'gemv'),
                             ('k,k->', (5,), (5,), 'dot'),
                             ('ij,ij->', (4, 5), (4, 5), 'dot'),
                             ('bqhd,bkhd->bhqk', (2, 5, 3, 8), (2, 6, 3, 8), 'batched gemm'),
                             ('bhqk,bkhd->bqhd', (2, 3, 5, 6), (2, 6, 3, 8), 'batched gemm'),
                             ('bct,co->bto', (4, 64, 64), (64, 64), 'batched gemm'),
                             ('prc,frc->pf', (5, 4, 4), (3, 4, 4), 'gemm'),
                             ('i,j->ij', (4,), (5,), 'multiply'),
                             ('b,b->b', (4,), (4,), 'multiply'),
                             ('bk,bk->b', (3, 100), (3, 100), 'sums of products'),
                             ('kb,kb->b', (10, 3), (10, 3), 'sums of products')])
def test_no_copies(equation, a, b, call):
    p = explained(equation, np.ones(a, 'f4'), np.ones(b, 'f4'))
    assert (p.call, p.copied) == (call, {})

def test_one_copy_at_most():
    "Memory that BLAS cannot read costs one copy of that operand and of nothing else."
    a = np.ones((64, 64), 'f4')
    assert explained('mk,kn->mn', a[:, ::2], np.ones((32, 5), 'f4')).copied == {'x': 64 * 32 * 4}
    assert explained('mk,kn->mn', np.ones((5, 64), 'f4'), a[:, ::-1]).copied == {'w': 64 * 64 * 4}
    assert explained('mk,kn->mn', np.broadcast_to(a[0], (64, 64)), a).copied == {'x': 64 * 64 * 4}
    assert explained('ik,kj->ij', a[::2, ::2], a[::2, ::2]).copies == 2

def test_fuse_and_fits():
    assert fuse([(4, 60), (5, 12), (3, 4)]) == (60, 4) and fuse([(4, 60), (5, 16), (3, 4)]) is None
    assert fuse([(1, 999), (3, 4)]) == (3, 4) and fuse([]) == (1, 0) and fuse([(3, 0), (2, 0)]) == (6, 0)
    assert fits((4, 24), (6, 4), 4) and fits((6, 4), (4, 24), 4) and not fits((4, 20), (6, 4), 4)
    assert not fits((4, 24), (6, 8), 4) and not fits(None, (6, 4), 4)
    assert groups(('a', 'b'), ('b', 'c'), ('c', 'a')) == ((), ('a',), ('b',), ('c',))

def test_explain_backward_and_nothing():
    x, w = V([[1., 2.]], 'm k'), V([[1.], [2.]], 'k n')
    y = x.dot(w, 'k')
    e = fl.explain(y.sum().backward)
    assert len(e) == 2 and 'gradient of x' in e[0].what and e.flops == 8 and '<svg' in e._repr_html_()
    assert 'no contraction' in repr(fl.explain(lambda: x + x))
    with pytest.raises(OptionError): fl.explain(y)
    assert fl.explain(lambda: x @ w).result.item() == 5

def test_explain_nests_and_survives_errors():
    x = V([1., 2.], 'k')
    outer = fl.explain(lambda: (fl.explain(x.dot, x, 'k'), x.dot(x, 'k')))
    assert len(outer) == 1 and len(outer.result[0]) == 1
    with pytest.raises(TagError): fl.explain(x.dot, x, 'q')
    assert fl.explain(x.dot, x, 'k').copies == 0


# ---- refusals, types, memory

def test_refusals():
    x, w = V([[1., 2.]], 'batch in'), V([[1., 2.]], 'out feat')
    with pytest.raises(TagError, match="w has no such axis"): x.dot(w, 'in')
    with pytest.raises(TagError, match=r"did you mean 'inn'.*w.rename\(inn='in'\)"):
        x.dot(w.rename('out inn') if hasattr(fl.Tensor, 'rename') else V([[1., 2.]], 'out inn'), 'in')
    with pytest.raises(TagError, match='over nothing'): x.dot(w)
    with pytest.raises(TagError, match='share none'): x @ w
    with pytest.raises(TagError, match=r"x\.dot\(w, 'head'\) or x\.dot\(w, 'd'\)"):
        V(np.ones((2, 2)), 'head d') @ V(np.ones((2, 2)), 'head d')
    with pytest.raises(TagError, match='head and d'): V(np.ones((2, 2)), 'head d') @ V(np.ones((2, 2)), 'head d')
    with pytest.raises(ShapeMismatch, match='1 does not stretch'):
        C(np.ones((1, 2)), 'b k').dot(C(np.ones((3, 2)), 'b k'), 'k')
    with pytest.raises(ShapeMismatch, match=r"rename\(\*\*{'in': 'in2'}\)"): x.dot(V([1., 2., 3.], 'in'), 'in')
    with pytest.raises(DTypeError, match='mix'): x.dot(C([1, 2], 'in'), 'in')
    with pytest.raises(DTypeError): x.dot(C(np.ones(2), 'in'), 'in')
    with pytest.raises(TagError): C(np.ones(2), 'k').add_dot(C(np.ones((2, 2)), 'm k'), C(np.ones((2, 2)), 'k n'), 'k')
    with pytest.raises(ShapeMismatch):
        C(np.ones((1, 2)), 'm n').add_dot(C(np.ones((2, 2)), 'm k'), C(np.ones((2, 2)), 'k n'), 'k')
    with pytest.raises(OptionError): fl.einsum('a', V([1.], 'a'))
    with pytest.raises(OptionError): x.einsum(x)
    with pytest.raises(TypeError): x @ 3
    with pytest.raises((OptionError, TypeError)): fl.einsum('a', x, [1.])

def test_half_weight():
    "An f32 operand takes a 16-bit weight, widened; every other mixture is refused."
    x, w = V([[1., 1.]], 't in'), C(np.array([[2., 3.]], 'f2'), 'out in')
    y = x.dot(w, 'in')
    assert y.dtype == 'f32' and y.tolist() == [[5]]
    y.sum().backward()
    assert x.grad.tolist() == [[2, 3]] and x.grad.dtype == 'f32' and w.grad is None
    big = C(np.array([[60000., 60000.]], 'f2'), 't k')
    assert C(np.full((1, 2), 60000., 'f2'), 'a k').dot(big, 'k').dtype == 'f16'
    # 1e5 on the way does not overflow
    assert C(np.array([[1000., 1000., -1000.]], 'f2'), 'a k').dot(
        C(np.array([[100., 1., 100.]], 'f2'), 'b k'), 'k').item() == 1000
    with pytest.raises(DTypeError): w.dot(x, 'in')

def test_warns_of_nothing():
    import warnings
    bad = np.array([[np.inf, np.nan], [0., -np.inf]], 'f4')
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        for eq in ('mk,kn->mn', 'mk,nk->mn', 'mk,mk->', 'mk,mk->m', 'mk,km->mk', 'km,km->m'): explained(eq, bad, bad)
        C(bad, 'm n').add_dot(C(bad, 'm k'), C(bad, 'k n'), 'k')

def test_leaf_gradients_own_their_memory():
    x, w = V(np.ones((2, 3, 4), 'f4'), 'b s i'), V(np.ones((5, 4), 'f4'), 'o i')
    x.dot(w, 'i').sum().backward()
    for t in (x, w): assert t.node.grad.flags.owndata and t.node.grad.flags.c_contiguous

def test_pruned_operand_costs_nothing():
    x, w = C(np.ones((2, 3), 'f4'), 'm k'), V(np.ones((3, 2), 'f4'), 'k n')
    y = x.dot(w, 'k')
    assert [p.what for p in fl.explain(y.sum().backward)] == ['dot, gradient of w']

def test_contract_of_arrays():
    assert contract(np.ones((2, 3)), ('m', 'k'), np.ones(3), ('k',), ('m',)).tolist() == [3, 3]

def test_einsum_takes_no_equation():
    x, w = fl.ones('a b', a=2, b=3), fl.ones('b c', b=3, c=2)
    for call in (lambda: fl.einsum('ab,bc->ac', x, w), lambda: x.einsum(w, 'a b, b c -> a c')):
        with pytest.raises(fl.OptionError, match="result alone, 'a b c'"): call()


# chains

@pytest.mark.parametrize('dtype', ['i64', 'i32', 'i16', 'i8', 'u8', 'u16', 'bool'])
def test_a_chain_of_whole_numbers(dtype, backend):
    "Products of whole numbers go on in i64, beside NumPy."
    rng = np.random.default_rng(0)
    for n in (3, 90):
        arrays = [rng.integers(0, 2 if dtype == 'bool' else 100, s) for s in ((n, 5), (5, n), (n,), (n,))]
        tags = 'a b', 'b c', 'c', 'a'
        ours = [fl.Tensor(a, t).to(dtype) for a, t in zip(arrays, tags)]
        for out, letters in (('a', 'ab,bc,c,a->a'), ('', 'ab,bc,c,a->'), ('c a', 'ab,bc,c,a->ca')):
            y = fl.einsum(out, *ours)
            assert y.dtype == 'i64' and y.tags == fl.parse(out)
            np.testing.assert_array_equal(y.numpy(), np.einsum(letters, *[a.astype('i8') for a in arrays]))
    with pytest.raises(fl.DTypeError, match='never mix'): fl.einsum('a', ours[0], ours[1], ours[2].to('f32'))
    if dtype != 'i64':
        with pytest.raises(fl.DTypeError, match='never mix'): fl.einsum('a', ours[0], ours[1], ours[2].to('i64'))

@pytest.mark.parametrize('dtype', ['f16', 'bf16'])
def test_a_chain_of_halves_is_rounded_once(dtype, backend):
    "300 * 300 is beyond f16, 300 * 300 * .001 is not."
    a, b, c = [fl.Tensor([v], 'd').to(dtype) for v in (300., 300., .001)]
    right = float(a.to('f64').item() * b.to('f64').item() * c.to('f64').item())
    y = fl.einsum('d', a, b, c)
    assert y.dtype == dtype and y.item() == fl.Tensor(right, dtype='f32').to(dtype).item()
    with pytest.raises(fl.DTypeError, match='never mix'): fl.einsum('d', a, b.to('f32'), c)
    with pytest.raises(fl.UnsupportedGradient): fl.einsum('d', a, b, fl.Tensor(c, requires_grad=True))

@pytest.mark.parametrize('dtype', ['f32', 'f64'])
def test_strides_of_zero_change_nothing(dtype, backend):
    "An infinity times a sum is not the sum of its products: inf * 2 + inf * -1 is NaN however the operand lies."
    for n in (2, 300):
        for tags, out in (('a b', 'a'), ('a b', 'b'), ('a b', ''), ('a b', 'a b')):
            row = np.ones(n); row[0] = np.inf
            x = fl.Tensor(row, 'a', dtype=dtype).broadcast_to('a b', (n, n))
            w = fl.Tensor(np.where(np.arange(n * n).reshape(n, n) % 2, -1., 2.), tags, dtype=dtype)
            for p, q in ((x, w), (w, x)):
                np.testing.assert_array_equal(p.einsum(q, out).numpy(),
                                              p.contiguous().einsum(q.contiguous(), out).numpy())
