"""Checkpoints: whole or not there, whatever happens meanwhile; refused with a reason, and nothing changed."""
import errno, json, os, shutil, subprocess, sys, tempfile, threading
from pathlib import Path
import numpy as np
import pytest
import fucinalib as fl
from fucinalib import train
from fucinalib.errors import CheckpointError, DTypeError, FileError, ShapeError
from fucinalib import whole as single
from fucinalib.train import checkpoints, whole

CHANGES = 'mkdir', 'open', 'write', 'replace', 'rename', 'unlink'


class Weights:
    "The least that has a state; strict, and all or nothing."
    def __init__(self, **held): self.held = {k: np.array(v, 'f4') for k, v in held.items()}
    def state_dict(self): return {k: v.copy() for k, v in self.held.items()}
    def load_state_dict(self, state):
        if {k: v.shape for k, v in state.items()} != {k: v.shape for k, v in self.held.items()}:
            raise ShapeError('names or sizes differ')
        for k, v in state.items(): self.held[k][...] = v


def save(path, step, size=3):
    "A checkpoint whose every value says its step."
    full = lambda: np.full(size, step, 'f4')
    train.save_checkpoint(path, dict(step=step), model=dict(w=full(), b=full()), optimizer=dict(step=step, mean=full()),
                          ema=dict(w=full()))

def step_of(path):
    "The step of a checkpoint, after a look at every value in it."
    parts, state = train.read_checkpoint(path)
    said = {state['step'], parts['optimizer']['step']}
    said |= {float(x) for part in parts.values() for a in part.values() if isinstance(a, np.ndarray) for x in a}
    assert len(said) == 1, said
    return said.pop()

def listing(path): return sorted(p.name for p in Path(path).iterdir())


# ---- killed in the middle (case L17)

def changing(monkeypatch, then):
    "Call then(name, n) after the n-th change of the disk, which a piece of a write counts as."
    count = [0]
    def watched(name, change):
        def do(*args, **kw):
            value = change(*args, **kw)
            count[0] += 1
            then(name, count[0])
            return value
        return do
    for name in CHANGES: monkeypatch.setattr(os, name, watched(name, getattr(os, name)))
    monkeypatch.setattr(single, 'PIECE', 50)      # several writes for each file, as for large ones
    return count

def die_after(n, call, monkeypatch):
    "Whether a child that dies after its n-th change of the disk came to its end before."
    if (child := os.fork()) == 0:
        try:
            changing(monkeypatch, lambda name, i: i == n and os._exit(7))
            call()
        except BaseException: os._exit(9)
        os._exit(0)
    return {7: False, 0: True}[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]

@pytest.mark.parametrize('start', ['a checkpoint', 'an empty directory', 'no directory'])
def test_killed_after_any_change_of_the_disk(start, tmp_path, monkeypatch):
    found, n, done = [], 0, False
    while not done:
        n += 1
        path = tmp_path/f'{n}'/'run'
        if start != 'no directory': path.mkdir(parents=True)
        if start == 'a checkpoint': save(path, 10)
        done = die_after(n, lambda: save(path, 20), monkeypatch)
        if start == 'a checkpoint' or (path/whole.MARKER).exists(): found.append(step_of(path))
        else:
            with pytest.raises(FileError, match='there is no'): train.read_checkpoint(path)
        if n % 4 == 0:                            # the next save goes well and leaves nothing behind
            save(path, 30)
            assert step_of(path) == 30 and len(listing(path)) == 4
    assert n > 20 and found == sorted(found) and found[-1] == 20
    if start == 'a checkpoint': assert found[0] == 10 and found.count(10) > 10 and found.count(20) > 2

def test_bytes_are_flushed_before_their_name_and_all_before_the_marker(tmp_path, monkeypatch):
    save(tmp_path/'run', 10)
    log, paths = [], {}
    def note(name, change, path_of):
        def do(*args, **kw):
            value = change(*args, **kw)
            log.append((name, path_of(value, *args)))
            return value
        monkeypatch.setattr(os, name, do)
    opened = lambda fd, path, *_: paths.setdefault(fd, []).append(path) or Path(path).name
    note('open', os.open, opened)
    note('fsync', os.fsync, lambda _, fd: Path(paths[fd][-1]).name)
    note('replace', os.replace, lambda _, a, b: Path(b).name)
    note('unlink', os.unlink, lambda _, p: Path(p).name)
    save(tmp_path/'run', 20)
    did = [e for e in log if e[0] != 'open']
    model, marker = 'model.save2.safetensors', whole.MARKER
    assert did.index(('fsync', model + '.part')) < did.index(('replace', model)) < did.index(('replace', marker))
    names = [i for i, e in enumerate(did) if e == ('fsync', 'run')]
    last = did.index(('replace', marker))
    replaced = [i for i, e in enumerate(did[:last]) if e[0] == 'replace']
    assert max(replaced) < names[0] < did.index(('fsync', marker + '.part'))
    removed = [i for i, e in enumerate(did) if e[0] == 'unlink']
    assert removed and last < names[1] < min(removed)

def test_a_single_file_is_whole(tmp_path, monkeypatch):
    n, done, found = 0, False, []
    while not done:
        n += 1
        path = tmp_path/f'{n}.safetensors'
        train.save_weights(path, dict(w=np.zeros(99, 'f4')))
        done = die_after(n, lambda: train.save_weights(path, dict(w=np.ones(99, 'f4'))), monkeypatch)
        values = set(train.load_weights(path)['w'])
        assert len(values) == 1
        found.append(values.pop())
    assert found == sorted(found) and {0, 1} == set(found)


# ---- the system says no

class Full:
    "os.write of a disk that fills up after some bytes."
    def __init__(self, room): self.room, self.write = room, os.write
    def __call__(self, fd, data):
        if len(data) > self.room: raise OSError(errno.ENOSPC, 'No space left on device')
        self.room -= len(data)
        return self.write(fd, data)

@pytest.mark.parametrize('room', [0, 200, 400, 800])
def test_disk_full(room, tmp_path, monkeypatch):
    save(tmp_path/'run', 10)
    before = listing(tmp_path/'run')
    with monkeypatch.context() as m:
        m.setattr(os, 'write', Full(room))
        with pytest.raises(FileError, match="nothing could be saved to .*run': No space left on device") as e:
            save(tmp_path/'run', 20)
    assert e.value.errno == errno.ENOSPC and 'free space' in e.value.help
    assert step_of(tmp_path/'run') == 10 and listing(tmp_path/'run') == before

@pytest.mark.parametrize('name', ['mkdir', 'open', 'replace'])
def test_no_permission(name, tmp_path, monkeypatch):
    "As root nothing is forbidden, so the refusal itself is made here."
    if name != 'mkdir': save(tmp_path/'run', 10)
    def no(*args, **kw): raise PermissionError(errno.EACCES, 'Permission denied')
    with monkeypatch.context() as m:
        m.setattr(os, name, no)
        with pytest.raises(FileError, match='Permission denied') as e: save(tmp_path/'run', 20)
    assert isinstance(e.value, OSError) and 'may write to' in e.value.help
    if name != 'mkdir': assert step_of(tmp_path/'run') == 10

def test_no_permission_for_real():
    "As somebody who may not; nothing is forbidden to root."
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o555)
    if (child := os.fork()) == 0:
        if os.geteuid() == 0: os.setuid(65534)
        try: save(Path(folder)/'run', 20)
        except FileError as e: os._exit(0 if e.errno == errno.EACCES and 'Permission denied' in str(e) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and not os.listdir(folder)
    os.rmdir(folder)

def test_a_name_that_is_a_file(tmp_path):
    (tmp_path/'run').write_text('')
    with pytest.raises(FileError): save(tmp_path/'run', 20)
    with pytest.raises(FileError): save(tmp_path/'run'/'deeper', 20)
    with pytest.raises(FileError): train.save_weights(tmp_path, dict(w=np.ones(2)))
    assert listing(tmp_path) == ['run']

def test_an_interrupt_leaves_the_old_one(tmp_path, monkeypatch):
    save(tmp_path/'run', 10)
    before = listing(tmp_path/'run')
    def interrupted(*args): raise KeyboardInterrupt
    with monkeypatch.context() as m:
        m.setattr(os, 'fsync', interrupted)
        with pytest.raises(KeyboardInterrupt): save(tmp_path/'run', 20)
    assert step_of(tmp_path/'run') == 10 and listing(tmp_path/'run') == before


# ---- at the same time

def test_two_save_to_one_directory(tmp_path):
    def many(step):
        for i in range(12): save(tmp_path/'run', step + i, 2000)
    threads = [threading.Thread(target=many, args=(s,)) for s in (100, 200)]
    for t in threads: t.start()
    seen = set()
    while any(t.is_alive() for t in threads):
        try: seen.add(step_of(tmp_path/'run'))
        except FileError: assert not seen       # before the first
    for t in threads: t.join()
    assert step_of(tmp_path/'run') in (111, 211) and len(listing(tmp_path/'run')) == 4

def test_weights_that_change_while_they_are_saved(tmp_path, monkeypatch):
    w = np.ones(5000, 'f4')
    def train_on(name, n): w[...] += 1
    changing(monkeypatch, train_on)
    train.save_checkpoint(tmp_path/'run', model=dict(w=w), ema=dict(w=w))
    monkeypatch.undo()
    parts = train.read_checkpoint(tmp_path/'run').parts
    assert w[0] > 10 and all(set(p['w']) == {1} for p in parts.values())


# ---- leftovers, and what is not ours

def test_leftovers_are_ignored_and_cleaned(tmp_path):
    run = tmp_path/'run'
    save(run, 10)
    for name in ('model.save2.safetensors',
                 'ema.save7.safetensors.part', 'trainer_state.json.part'): (run/name).write_text('x')
    (run/'notes.txt').write_text('mine'); (run/'model.safetensors').write_text('mine')
    (run/'gpt-2.safetensors').write_text('')
    assert step_of(run) == 10
    save(run, 20)
    assert step_of(run) == 20
    assert listing(run) == ['ema.save2.safetensors', 'gpt-2.safetensors',
                            'model.safetensors', 'model.save2.safetensors',
                            'notes.txt', 'optimizer.save2.safetensors', 'trainer_state.json']

@pytest.mark.parametrize('text', ['{"global_step": 500}', '[]', '{"format": "fucinalib checkpoint"', '', '\0',
                                  '{"format": "fucinalib checkpoint", "version": 1}',
                                  '{"format": "fucinalib checkpoint", "version": 1, "save": 1, "state": {}, "files": '
                                  '{"model": {"name": "../x", "bytes": 1, "sha256": "", "numbers": {}}}}'])
def test_another_programs_marker(text, tmp_path):
    (tmp_path/whole.MARKER).write_text(text)
    for call in (lambda: save(tmp_path, 20), lambda: train.read_checkpoint(tmp_path)):
        with pytest.raises(CheckpointError, match='damaged, or of another program'): call()
    assert listing(tmp_path) == [whole.MARKER] and (tmp_path/whole.MARKER).read_text() == text

def test_a_later_version(tmp_path):
    save(tmp_path, 1)
    said = json.loads((tmp_path/whole.MARKER).read_text()) | dict(version=2)
    (tmp_path/whole.MARKER).write_text(json.dumps(said))
    with pytest.raises(CheckpointError, match='of version 2, this program reads 1'): train.read_checkpoint(tmp_path)

@pytest.mark.parametrize('part', ['model', 'optimizer', 'ema'])
def test_truncated_changed_missing_and_mixed(part, tmp_path):
    save(tmp_path/'a', 10); save(tmp_path/'b', 20)
    file = tmp_path/'a'/f'{part}.save1.safetensors'
    whole_file, models = file.read_bytes(), Weights(w=[0, 0, 0], b=[0, 0, 0])
    def refused(words):
        with pytest.raises(CheckpointError, match=words): train.restore_checkpoint(tmp_path/'a', model=models)
        assert not models.held['w'].any()
    for cut in (0, 7, 50, len(whole_file) - 1):
        file.write_bytes(whole_file[:cut])
        refused(f'{part}.save1.safetensors\' has {cut} bytes of {len(whole_file)}: it was cut off or replaced')
    file.write_bytes(whole_file[:-1] + bytes([whole_file[-1] ^ 1]))
    refused(f'is not the {part} that was saved')
    shutil.copy(tmp_path/'b'/file.name, file)
    refused(f'is not the {part} that was saved')
    file.unlink()
    refused('is missing, which trainer_state.json names')
    file.write_bytes(whole_file)
    assert step_of(tmp_path/'a') == 10

def test_another_model_changes_nothing(tmp_path):
    train.save_checkpoint(tmp_path/'run', model=dict(w=np.ones(3, 'f4')), optimizer=dict(m=np.ones(4, 'f4')))
    model, optimizer = Weights(w=[0, 0, 0]), Weights(m=[0, 0, 0])
    with pytest.raises(CheckpointError, match='run. does not fit this optimizer: names or sizes differ') as e:
        train.restore_checkpoint(tmp_path/'run', model=model, optimizer=optimizer)
    assert isinstance(e.value.__cause__, ShapeError) and not model.held['w'].any()
    with pytest.raises(CheckpointError, match="has no emma") as e:
        train.restore_checkpoint(tmp_path/'run', model=model, emma=model)
    assert 'model' in e.value.help and not model.held['w'].any()
    train.restore_checkpoint(tmp_path/'run', model=model)
    assert model.held['w'].all()

def test_no_checkpoint(tmp_path):
    with pytest.raises(FileError, match='there is no directory'): train.read_checkpoint(tmp_path/'nowhere')
    with pytest.raises(FileError, match='it has no trainer_state.json'): train.read_checkpoint(tmp_path)
    with pytest.raises(FileError, match='no weights could be read'): train.load_weights(tmp_path/'nothing')

@pytest.mark.parametrize('bad', [dict(state=dict(a=object())), dict(optimizer=dict(a={1, 2})), dict(model={'../w': ''}),
                                 {'../model': dict(w=np.ones(2))}, {'a-b': {}}, {}])
def test_what_cannot_be_saved_is_told_before_anything_is_written(bad, tmp_path):
    parts = bad if set(bad) - {'state'} or not bad else bad | dict(model=dict(w=np.ones(2)))
    if bad == dict(model={'../w': ''}):
        train.save_checkpoint(tmp_path/'run', **parts)      # the names of weights are only names
        assert train.read_checkpoint(tmp_path/'run').parts['model'] == {'../w': ''}
        return
    with pytest.raises(CheckpointError): train.save_checkpoint(tmp_path/'run', **parts)
    assert not (tmp_path/'run').exists()


# ---- the format

TYPES = 'f64 f32 f16 bf16 f8_e4m3 f8_e5m2 i64 i32 i16 i8 u8 u16 bool'.split()

@pytest.mark.parametrize('kind', TYPES)
def test_every_number_type_comes_back_bit_for_bit(kind, tmp_path):
    np_type = fl.dtypes.as_dtype(kind).np
    bits = np.random.default_rng(0).integers(0, 2 if kind == 'bool' else 256, 48 * 8, dtype='u1')
    a = bits.view(np_type)[:48].reshape(2, 3, 8)
    held = dict(a=a, turned=a.transpose(2, 0, 1), cut=a[:, ::2, 1::3], one=a[0, 0, 0], none=a[:0])
    train.save_weights(tmp_path/'w.safetensors', held)
    back = train.load_weights(tmp_path/'w.safetensors')
    for name, v in held.items():
        assert back[name].dtype == np_type and back[name].shape == np.shape(v) and back[name].flags.writeable
        assert back[name].tobytes() == np.asarray(v).tobytes(), name

def test_big_endian_and_tensors(tmp_path):
    x = fl.Tensor([[1., 2.]], 'row col')
    train.save_weights(tmp_path/'w', dict(big=np.arange(3, dtype='>f4'), x=x, learns=fl.param([3.], 'a', dtype='bf16')))
    back = train.load_weights(tmp_path/'w')
    assert back['big'].tolist() == [0, 1, 2] and back['x'].tolist() == [[1, 2]] and back['learns'].dtype == fl.bf16.np

@pytest.mark.parametrize('values', [['a'], [object()], [1j]])
def test_what_is_no_number(values, tmp_path):
    with pytest.raises(DTypeError, match="'w' is of"): train.save_weights(tmp_path/'w', dict(w=np.array(values)))
    assert not listing(tmp_path)

def header(text, data=b''): return len(text).to_bytes(8, 'little') + text.encode() + data

ENTRY = '"%s":{"dtype":"%s","shape":[2],"data_offsets":[%d,%d]}'
BAD = dict(
    nothing=b'', short=b'\x01', long=header('{}', b'x'), words=header('hello'),
    header=(1 << 60).to_bytes(8, 'little') + b'{}',
    overlap=header('{%s,%s}' % (ENTRY % ('a', 'F32', 0, 8), ENTRY % ('b', 'F32', 0, 8)), bytes(8)),
    crossing=header('{%s,%s}' % (ENTRY % ('a', 'F32', 0, 8), ENTRY % ('b', 'F32', 4, 12)), bytes(12)),
    hole=header('{%s,%s}' % (ENTRY % ('a', 'F32', 0, 8), ENTRY % ('b', 'F32', 12, 20)), bytes(20)),
    rest=header('{%s}' % (ENTRY % ('a', 'F32', 0, 8)), bytes(12)),
    type=header('{%s}' % (ENTRY % ('a', 'F99', 0, 8)), bytes(8)),
    size=header('{%s}' % (ENTRY % ('a', 'F64', 0, 8)), bytes(8)))

@pytest.mark.parametrize('data', BAD.values(), ids=BAD)
def test_files_that_are_not_whole(data, tmp_path):
    "Also what its own package must refuse: holes, and two names for the same bytes."
    (tmp_path/'w.safetensors').write_bytes(data)
    model = Weights(a=[0, 0])
    with pytest.raises(CheckpointError, match="w.safetensors' cannot be read as safetensors: "):
        train.load_weights(tmp_path/'w.safetensors', model)
    assert not model.held['a'].any()

@pytest.mark.parametrize('call', [lambda m, p: train.save_weights(m, p), lambda m, p: train.save_checkpoint(m, model=m),
                                  lambda m, p: train.load_weights(m), lambda m, p: train.read_checkpoint(None),
                                  lambda m, p: train.resume(m, m), lambda m, p: train.save_weights(p, [1, 2])])
def test_what_comes_first_is_the_path(call, tmp_path):
    with pytest.raises(CheckpointError, match='is no path|has no state'): call(Weights(w=[1]), tmp_path/'w')
    assert not listing(tmp_path)

def test_an_archive_of_numpy_is_told_apart(tmp_path):
    np.savez(tmp_path/'w.npz', w=np.ones(2))
    with pytest.raises(CheckpointError) as e: train.load_weights(tmp_path/'w.npz')
    assert e.value.help == 'np.load reads it'

PROGRAM = '''
import os, sys, hashlib
import numpy as np
import fucinalib as fl
from fucinalib import nn, optim, train
path, dies = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
x = rng.normal(size=(40, 4)).astype('f4')
data = fl.data.Dataset(fl.Tensor(x, 'row feature'), (x.sum(1) > 0).astype('i8'))
model = nn.Sequential(nn.Linear('feature=4', 'hidden=8', seed=1), nn.Dropout(.3),
                      nn.Linear('hidden=8', 'class=2', seed=2))
def step(x, y): return model(x).cross_entropy('class', y)
learner = train.Learner(model, optim.AdamW(model, lr=.01), step, accumulate=2,
                        callbacks=[train.Checkpoints(path, batches=1)])
train.resume(learner, path)
count, real = [0], os.replace
def replace(*args):
    count[0] += 1
    if count[0] == dies: os.kill(os.getpid(), 9)
    real(*args)
os.replace = replace
learner.fit(data.batches('row', 7, seed=3), 3)
print(hashlib.sha256(b''.join(a.tobytes() for a in model.state_dict().values())).hexdigest(), learner.history)
'''

def test_a_program_that_is_killed_and_started_again(tmp_path):
    "Killed for good, by kill -9 in the middle of a save, twice; what it ends with has the bits of one that was not."
    def run(path, dies):
        return subprocess.run([sys.executable, '-c', PROGRAM, str(path), str(dies)], capture_output=True)
    whole, (first, second) = run(tmp_path/'a', 0), (run(tmp_path/'b', 22), run(tmp_path/'b', 31))
    assert whole.returncode == 0 and first.returncode == second.returncode == -9, whole.stderr
    last = run(tmp_path/'b', 0)
    assert last.stdout == whole.stdout and whole.stdout and not whole.stderr and not last.stderr      # a pipe is quiet

def test_no_pickle():
    "Reading a checkpoint runs nothing of it."
    for module in (checkpoints, whole): assert 'pickle' not in Path(module.__file__).read_text()

def test_a_state_that_was_loaded_is_not_shared(tmp_path):
    "Training after loading changes neither what was read nor a second model loaded from it (case L15)."
    train.save_weights(tmp_path/'w', dict(w=np.array([1, 2], 'f4')))
    one, two = Weights(w=[0, 0]), Weights(w=[0, 0])
    state = train.load_weights(tmp_path/'w', one)
    two.load_state_dict(state)
    one.held['w'] -= 1
    assert state['w'].tolist() == [1, 2] and two.held['w'].tolist() == [1, 2]


def test_weights_are_read_in_one_order():
    "The library that reads them gives them in another order each time."
    weights = {f'part{i}': np.full(2, i, 'f4') for i in range(20)}
    for _ in range(5):
        read = checkpoints.weights_from_bytes(checkpoints.weights_to_bytes(weights))
        assert list(read) == sorted(weights)


# ---- a list in order, as tensai keeps it
# Of a cell with one input and two hidden units, Params() of an Elman cell there: Wx, Wh, B. Written by hand as Go's
# encoder writes it: no spaces, whole numbers without a point, small ones with an exponent.
GO_CELL = ('{"params":[{"Rows":1,"Cols":2,"Data":[0.5,-1]},{"Rows":2,"Cols":2,"Data":[0.1,1e-7,3,-0.25]},'
           '{"Rows":1,"Cols":2,"Data":[0,0.33333334]}]}\n')
GO_OTHER = '{"params":[{"Shape":[3],"Data":[1,2,3]},{"Shape":[2,1,2],"Data":[1,2,3,4]}]}\n'

def like(*shapes): return [fl.param(np.zeros(s), [f'd{i}' for i in range(len(s))], 'f32') for s in shapes]

def test_what_go_wrote_is_read_and_runs(tmp_path):
    "The recurrence of the Go program, h = tanh(x Wx + h Wh + b), in NumPy and by what was read."
    (tmp_path/'cell.json').write_text(GO_CELL)
    arrays = fl.train.load_params(tmp_path/'cell.json')
    wx, wh, b = [[.5, -1]], [[.1, 1e-7], [3, -.25]], [[0, .33333334]]
    for a, want in zip(arrays, (wx, wh, b)): np.testing.assert_array_equal(a, want)
    cell = fl.nn.RNN('read=1', 'hidden=2')
    cell.load_state_dict({n: a.reshape(t.shape) for (n, t), a in
                          zip(cell.named_parameters(), [arrays[0], arrays[2], arrays[1]])})
    h, x = np.zeros((1, 2)), [.3, -2., 1.]
    for v in x: h = np.tanh(v * np.array(wx) + h @ np.array(wh) + b)
    np.testing.assert_allclose(cell(fl.Tensor([[v] for v in x], 'seq read'))[0].numpy()[-1], h[0], rtol=1e-6)

def test_any_rank_and_files_from_before_there_were_any(tmp_path):
    for text, shapes in ((GO_CELL, [(1, 2), (2, 2), (1, 2)]), (GO_OTHER, [(3,), (2, 1, 2)])):
        (tmp_path/'m.json').write_text(text)
        there = like(*shapes)
        assert [a.shape for a in fl.train.load_params(tmp_path/'m.json', there)] == shapes
        fl.train.save_params(tmp_path/'again.json', there)
        ours, theirs = (json.loads((tmp_path/f).read_text()) for f in ('again.json', 'm.json'))
        assert ours == theirs and [[*p] for p in ours['params']] == [[*p] for p in theirs['params']]

@pytest.mark.parametrize('dtype', ['f32', 'f64', 'bf16', 'f16'])
def test_every_number_comes_back_to_the_bit(dtype, tmp_path):
    rng = np.random.default_rng(0)
    params = [fl.Tensor(rng.normal(size=s) * 10.**rng.integers(-4, 4, s), [f'd{i}' for i in range(len(s))], dtype)
              for s in ((), (5,), (3, 4), (2, 3, 2))]
    fl.train.save_params(tmp_path/'deep'/'m.json', params)
    back = [fl.zeros(p.tags, p.shape, dtype=dtype) for p in params]
    fl.train.load_params(tmp_path/'deep'/'m.json', back)
    assert all(p.data.tobytes() == b.data.tobytes() for p, b in zip(params, back))
    assert not list((tmp_path/'deep').glob('*.part'))

def test_a_module_is_its_parameters_in_order(tmp_path):
    one, two = (fl.nn.LSTM('read=2', 'hidden=3', seed=s) for s in (0, 1))
    fl.train.save_params(tmp_path/'m.json', one)
    fl.train.load_params(tmp_path/'m.json', two)
    assert all(map(np.array_equal, one.parameters(), two.parameters()))

def entry(**more):
    return json.dumps(dict(params=[dict(Rows=1, Cols=2, Data=[5, 6]), dict(Shape=[2], Data=[7, 8]) | more]))

@pytest.mark.parametrize('text, said', [
    (entry(Shape=[3], Data=[1, 2, 3]), r'array 1 has shape \(3,\)'),
    (entry(Shape=[1, 2]), r'array 1 has shape \(1, 2\)'),
    ('{"params":[{"Rows":1,"Cols":2,"Data":[5,6]}]}', 'has 1 arrays, this model 2'),
    (entry(Data=[1, 2, 3]), r'array 1 has 3 numbers, and the shape \(2,\)'),
    (entry(Data=None), 'array 1 has 0 numbers'),
    (entry(Shape=[-1]), 'array 1 has no sizes'), (entry(Shape=2), 'array 1 has no sizes'),
    (entry(Shape=[2.]), 'array 1 has no sizes'), (entry(Data='ab'), 'array 1 has no sizes'),
    (entry(Data=['1', '2']), 'array 1 holds what is no number'), (entry(Data=[True, 1]), 'holds what is no number'),
    (entry(Data=[[1], [2]]), 'holds what is no number'), (entry(Data=[1, None]), 'holds what is no number'),
    (entry(Data=[float('nan'), 1]), 'holds what is no number'), (entry(Data=[10**400, 1]), 'holds what is no number'),
    (entry(Data=[1e39, 1]), 'array 1 has numbers beyond f32'), (entry(Shape=[2**40, 2**40]), 'array 1 has 2 numbers'),
    (entry()[:-9], 'is no saved model'), ('{}', 'it lists no params'), ('[]', 'it lists no params'),
    ('{"params":[1]}', 'it lists no params'), ('[' * 100_000, 'is no saved model')])
def test_a_list_that_does_not_fit_changes_nothing(text, said, tmp_path):
    (tmp_path/'m.json').write_text(text)
    here = like((1, 2), (2,))
    with pytest.raises(CheckpointError, match=said): fl.train.load_params(tmp_path/'m.json', here)
    assert not any(p.numpy().any() for p in here)

@pytest.mark.parametrize('call, said', [
    (lambda p: fl.train.save_params([], p), 'is no path'),
    (lambda p: fl.train.load_params(like((2,)), p), 'is no path'),
    (lambda p: fl.train.save_params(p, dict(w=1)), 'is no list of parameters'),
    (lambda p: fl.train.save_params(p, fl.ones('d', 2)), 'is no list of parameters'),
    (lambda p: fl.train.save_params(p, [fl.zeros('d', 2, dtype='i64')]), 'parameter 0 is i64'),
    (lambda p: fl.train.save_params(p, [2.5]), 'parameter 0 is 2.5'),
    (lambda p: fl.train.save_params(p, [fl.Tensor([np.inf], 'd')]), 'parameter 0 holds NaN or infinity'),
    (lambda p: fl.train.load_params(p), 'could be read')])
def test_lists_that_are_none(call, said, tmp_path):
    with pytest.raises(fl.FucinaError, match=said): call(tmp_path/'m.json')
    assert not list(tmp_path.iterdir())
