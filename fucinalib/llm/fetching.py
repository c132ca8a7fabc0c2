"""Files over HTTP: resumed where they stopped, checked, and under their name only when they are whole.

A download is written to `name.part`; beside it `name.part.etag` holds what the server called the bytes. The next try
asks for the rest under that ETag, so a file that changed meanwhile begins anew instead of becoming half of each.
"""
import errno, hashlib, os, re, sys, time
from contextlib import contextmanager, nullcontext
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from urllib.request import url2pathname
from ..errors import FileError, FucinaError, fault

try: import fcntl
except ImportError: fcntl = None      # Windows: two programs that fetch one file there do it twice

__all__ = ['FetchError', 'fetch', 'get', 'public', 'writing', 'one_writer', 'digest', 'is_same']

PIECE = 1 << 18        # bytes of one read
TRIES = 6              # of one file, each goes on where the last one stopped
PATIENCE = 10, 60      # seconds: to connect, between two pieces
WAIT = .5              # seconds before the second try, doubled for each further one


class FetchError(FileError, ConnectionError): "A file that a server does not give, or that the way there lost."


class TryAgain(Exception):
    "What went wrong in one try, and may go well in the next."
    def __init__(self, why, after=None): self.why, self.after = why, after


def public(url):
    "An address without a user's name and password, for messages."
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition('@')[2], query=''))


def host(url): return urlsplit(url).netloc.rpartition('@')[2] or 'this machine'


@contextmanager
def writing(path):
    "Say in words why a file or folder cannot be written."
    try: yield
    except OSError as e:
        if isinstance(e, FucinaError): raise
        folder = next((p for p in [path, *path.parents] if p.is_dir()), path)
        if e.errno in (errno.ENOSPC, errno.EDQUOT):
            raise fault(FileError, f'the disk is full at {folder}', 'make room (fucina models list, fucina models rm '
                        'NAME), or name another folder in FUCINALIB_MODELS') from e
        if e.errno in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST, errno.ENOENT):
            raise fault(FileError, f'{folder} cannot be written: {e.strerror}',
                        'name a folder of yours in the environment variable FUCINALIB_MODELS') from e
        raise


@contextmanager
def one_writer(path):
    "Nobody else fetches to `path` meanwhile; whoever comes second waits."
    if fcntl is None:
        yield
        return
    with writing(path): file = open(path.with_name(path.name + '.lock'), 'w')
    with file:
        try: fcntl.flock(file, fcntl.LOCK_EX)
        except OSError: pass      # a file system without locks
        yield


def digest(path, made=None):
    "The sha256 of a file, or what another hash that has begun makes of it."
    made = made or hashlib.sha256()
    with open(path, 'rb') as f:
        while piece := f.read(PIECE): made.update(piece)
    return made.hexdigest()


GIT = 40      # digits of git's name of a file, a sha1 of its length and its bytes; a sha256 has 64


def is_same(path,    # of a file that is there
            size,    # bytes that it should have, None if nobody knows
            sha256,  # what its sha256 should be, or its name in git, None if nobody knows
           ):
    "Whether a file is the one that is meant, as far as anybody knows which that is."
    have = path.stat().st_size
    if size not in (None, have) or sha256 is None: return sha256 is None and size in (None, have)
    git = hashlib.sha1(b'blob %d\0' % have, usedforsecurity=False) if len(sha256) == GIT else None
    return digest(path, git) == sha256.lower()


def bar(label, size, done, show):
    "A progress bar where somebody looks: on a terminal, or where `show` says so."
    if show is None: show = sys.stderr.isatty()
    if not show: return nullcontext()
    from tqdm import tqdm
    return tqdm(total=size, initial=done, desc=label, unit='B', unit_scale=True, dynamic_ncols=True, leave=False)


def open_session():
    "A session that trusts what pip trusts."
    import requests
    session = requests.Session()
    from .index import setting
    if (cert := os.environ.get('REQUESTS_CA_BUNDLE') or setting('cert')) and Path(cert).exists(): session.verify = cert
    session.headers['User-Agent'] = 'fucinalib'
    return session


def ask(session, url, headers=None, stream=False):
    "One answer of a server; TryAgain for what may pass."
    import requests
    try: answer = session.get(url, headers=headers, stream=stream, timeout=PATIENCE)
    except (requests.exceptions.InvalidURL, requests.exceptions.MissingSchema,
            requests.exceptions.InvalidSchema) as e:
        raise fault(FetchError, f'{public(url)} is no address', 'it begins with https:// or file://') from e
    except requests.exceptions.SSLError as e:
        raise fault(FetchError, f'the certificate of {host(url)} is not trusted',
                    "name your network's certificates in REQUESTS_CA_BUNDLE") from e
    except requests.RequestException as e: raise TryAgain(f'{host(url)} cannot be reached') from e
    if answer.status_code >= 500 or answer.status_code in (408, 429):
        after = answer.headers.get('Retry-After', '')
        raise TryAgain(f'{host(url)} answers {answer.status_code} {answer.reason}',
                    min(int(after), 60) if after.isdigit() else None)
    return answer


def repeated(work, name, tries=TRIES):
    "What `work()` gives, tried again with growing pauses."
    for k in range(tries):
        try: return work()
        except TryAgain as e:
            if k == tries - 1:
                raise fault(FetchError, f'{name}: {e.why}', f'{tries} tries were made; the same command goes on '
                            'where they stopped. Models that are here need no network: fucina models list') from e
            time.sleep(e.after if e.after is not None else WAIT * 2**k)


def get(url, headers=None, session=None):
    "A small answer of a server, whatever its status."
    session = session or open_session()
    return repeated(lambda: ask(session, url, headers), public(url))


def local(url):
    "The path that a file:// address means, else None."
    parts = urlsplit(url)
    return Path(url2pathname(parts.path)) if parts.scheme == 'file' else None


def fetch(url,              # http, https or file
          path,             # where the file goes
          size=None,        # bytes it has, if that is known
          sha256=None,      # its sha256 in hexadecimal digits, or its name in git, if that is known
          headers=None,     # of the request
          label=None,       # what the progress bar calls it
          show=None,        # whether there is a bar; None: on a terminal
          session=None,     # of requests
          refuse=None,      # function(answer, url) that raises for a status of 400 and more
         ):
    "A file whole and checked at `path`, which is returned; what an earlier try left is gone on with."
    path = Path(path)
    part = path.with_name(path.name + '.part')
    with writing(path): path.parent.mkdir(parents=True, exist_ok=True)
    with one_writer(path):
        if path.is_file() and is_same(path, size, sha256): return path      # another was faster
        job = _Job(url, part, size, headers or {}, label or path.name, show, refuse or _refuse)
        if source := local(url): job.copy(source)
        else:
            job.session = session or open_session()
            repeated(job.once, path.name)
        job.check(sha256)
        with writing(path): os.replace(part, path)
        job.mark.unlink(missing_ok=True)
    path.with_name(path.name + '.lock').unlink(missing_ok=True)
    return path


def _refuse(answer, url):
    raise fault(FetchError, f'{host(url)} answers {answer.status_code} {answer.reason} for {public(url)}',
                'see whether the address is right in a browser')


class _Job:
    "One file on its way: `part` holds what has come, `mark` what the server calls these bytes."
    def __init__(self, url, part, size, headers, label, show, refuse):
        self.url, self.part, self.size, self.headers, self.label = url, part, size, headers, label
        self.show, self.refuse, self.mark = show, refuse, part.with_name(part.name + '.etag')

    def forget(self):
        self.part.unlink(missing_ok=True)
        self.mark.unlink(missing_ok=True)

    def begun(self):
        "(bytes that are here, their ETag); (0, None) if they cannot be gone on with."
        try: done, tag = self.part.stat().st_size, self.mark.read_text()
        except OSError: done, tag = 0, ''
        if not tag or tag.startswith('W/') or self.size is not None and done > self.size: return 0, None
        return done, tag

    def copy(self, source):
        "A file of this machine."
        try: f = open(source, 'rb')
        except OSError as e: raise fault(FetchError, f'{source} cannot be read: {e.strerror}',
                                   help='see who may read it, with ls -l') from e
        with f, writing(self.part), open(self.part, 'wb') as out:
            while piece := f.read(PIECE): out.write(piece)

    def once(self):
        "One try: ask for what is missing and write it."
        import requests
        done, tag = self.begun()
        if done and done == self.size: return
        extra = {'Range': f'bytes={done}-', 'If-Range': tag} if done else {}
        with ask(self.session, self.url, {**self.headers, 'Accept-Encoding': 'identity', **extra}, stream=True) as a:
            if a.status_code == 416:
                self.forget()
                raise TryAgain(f'{host(self.url)} has no such part of it', 0)
            if a.status_code >= 400: self.refuse(a, self.url)
            whole, done = self.expected(a, done, tag)
            self.room(whole, done)
            try: self.take(a, whole, done)
            except requests.RequestException as e: raise TryAgain(f'the connection to {host(self.url)} broke') from e
        if whole is not None and (have := self.part.stat().st_size) != whole:
            if have > whole: self.forget()
            raise TryAgain(f'{have:,} of {whole:,} bytes came from {host(self.url)}')
        self.size = whole

    def expected(self, answer, done, tag):
        "(bytes of the whole file or None, bytes to keep of what is here), after a look at the answer."
        now = answer.headers.get('ETag', '')
        came = re.fullmatch(r'bytes (\d+)-(\d+)/(\d+|\*)', answer.headers.get('Content-Range', ''))
        length = answer.headers.get('Content-Length', '')
        if answer.status_code == 206 and came and int(came[1]) == done and now in ('', tag):
            whole = int(came[3]) if came[3] != '*' else self.size
        elif answer.status_code == 206:
            self.forget()
            raise TryAgain(f'{host(self.url)} sent another part than was asked for', 0)
        else:
            done, whole = 0, int(length) if length.isdigit() else self.size
            with writing(self.part): self.mark.write_text(now)
        if None not in (whole, self.size) and whole != self.size:
            self.forget()
            raise fault(FetchError, f'{public(self.url)} has {whole:,} bytes; {self.size:,} were expected',
                        'fetch it again later: somebody changed it, or a proxy answered in its place')
        return whole, done

    def room(self, whole, done):
        "Refuse what the disk cannot hold before it is fetched."
        import shutil
        free = shutil.disk_usage(self.part.parent).free
        if whole is not None and whole - done > free:
            raise fault(FileError, f'{self.label} needs {(whole - done) / 1e6:,.0f} MB, and the disk has '
                        f'{free / 1e6:,.0f} MB left at {self.part.parent}',
                        'make room (fucina models list, fucina models rm NAME), or name another folder in '
                        'FUCINALIB_MODELS')

    def take(self, answer, whole, done):
        "Write what comes after the bytes that are here."
        with writing(self.part), open(self.part, 'r+b' if done else 'wb') as out, \
             bar(self.label, whole, done, self.show) as shown:
            out.seek(done)
            out.truncate()
            for piece in answer.iter_content(PIECE):
                out.write(piece)
                if shown is not None: shown.update(len(piece))

    def check(self, sha256):
        "Refuse, and throw away, what is not the file that was meant."
        have = self.part.stat().st_size
        wrong = (f'{have:,} bytes came and {self.size:,} were expected' if self.size not in (None, have) else '' if
                 is_same(self.part, None, sha256) else
                 f'its {"name in git" if len(sha256) == GIT else "sha256"} is another than it should be')
        if not wrong: return
        self.forget()
        raise fault(FetchError, f'{self.label} from {public(self.url)} is damaged: {wrong}',
                    'what came was thrown away; fetch it again')
