"Model files: GGUF and safetensors, read with suspicion and written whole."
import io, json, struct
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import FileError, UnknownKey
from fucinalib.files import GGUF, Safetensors


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
