"""Everything that `make test` does and all that takes longer or needs a reference: live comparisons, long searches. A skip is a failure.

    python tools/test_all.py [arguments of pytest]     in an environment with settings.ini's reference_requirements (`make test-all`)
    python tools/test_all.py --look-into .venv         let this environment find the packages of another one, and find them first
"""
import subprocess, sys, sysconfig, time
from pathlib import Path

MINUTES = 30        # of a whole run on two cores, kernels compiled
ALL = '-m', '', '--no-skips', '--hypothesis-profile=long'

# A line of a .pth file, which Python runs at its start
LOOK = 'import site, sys; site.addsitedir({there!r}); sys.path.remove({here!r}); sys.path.append({here!r})'


def look_into(folder):
    "Write the .pth file that puts the packages of another environment before those of this one."
    here = Path(sysconfig.get_path('purelib'))
    there = Path(folder).resolve()/here.relative_to(sys.prefix)
    (here/'a_first.pth').write_text(LOOK.format(here=str(here), there=str(there)) + '\n')


def say(text): print(f'tests     {text}', flush=True)


if __name__ == '__main__':
    more, start = sys.argv[1:], time.monotonic()
    if more[:1] == ['--look-into']: sys.exit(look_into(more[1]))
    say(f'every test and every notebook beside the references, about {MINUTES} minutes on two cores' + (' (a part of them: less)' if more else ''))
    status = subprocess.run([sys.executable, '-m', 'pytest', *ALL, *more], cwd=Path(__file__).resolve().parents[1]).returncode
    say(f'{"all is well" if status == 0 else "not all is well"}; that took {(time.monotonic() - start) / 60:.1f} minutes')
    sys.exit(status)
