"""Write everything that is made from the notebooks: the modules of fucinalib (nbdev), type stubs and README.md.

    python tools/export.py             `make export`
    python tools/export.py --check     fails if that changed a file (part of `make test`)
"""
import os, subprocess, sys
from pathlib import Path
from nbdev.doclinks import nbdev_export
import readme

ROOT = Path(__file__).resolve().parents[1]


def snapshot():
    "Path -> content of every file an export may write"
    found = [*ROOT.glob('fucinalib/**/*.py'), *ROOT.glob('fucinalib/**/*.pyi'), ROOT/'README.md']
    return {p.relative_to(ROOT): p.read_bytes() for p in found if p.exists()}


def export():
    "Modules first, since the stubs are read off the imported library"
    os.chdir(ROOT)
    nbdev_export()
    subprocess.run([sys.executable, 'tools/stubs.py'], check=True)
    readme.write()


if __name__ == '__main__':
    before = snapshot()
    export()
    after = snapshot()
    changed = sorted(str(p) for p in before.keys() | after.keys() if before.get(p) != after.get(p))
    if changed: print(f'export    written: {", ".join(changed)}', flush=True)
    else: print(f'export    nothing to write: {len(after)} files are what the notebooks say', flush=True)
    if changed and '--check' in sys.argv:
        sys.exit('export    these files did not match the notebooks; they do now: look at them, commit, and repeat')
