"""All that `make test` does and what takes longer or needs a reference: live comparisons, long searches, a million
random graphs. A skip is a failure. For an environment with settings.ini's reference_requirements (`make test-all`).

    python tools/test_all.py [arguments of pytest]
    python tools/test_all.py --look-into .venv      let this environment find the packages of another one, and first
"""
import subprocess, sys, sysconfig, time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MINUTES = 40        # of a whole run on two cores, kernels compiled
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
    part = ' for all of them' if more else ''
    say(f'every test and notebook beside the references, about {MINUTES} minutes on two cores{part}')
    status = subprocess.run([sys.executable, '-m', 'pytest', *ALL, *more], cwd=ROOT).returncode
    verdict = 'all is well' if status == 0 else 'not all is well'
    say(f'{verdict}; that took {(time.monotonic() - start) / 60:.1f} minutes')
    sys.exit(status)
