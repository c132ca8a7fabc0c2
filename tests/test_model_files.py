"Model files: GGUF and safetensors, read with suspicion and written whole."
import struct
import numpy as np
import pytest
from fucinalib.files import GGUF


def word(s): return struct.pack('<Q', len(s)) + (s if isinstance(s, bytes) else s.encode())

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
