"""Open JupyterLab on the tour, in the learner's copy; where there is no screen, print the address
to open (`make lab`)."""
import json, os, subprocess, sys
from pathlib import Path
import build_kernels, workcopy
from notebooks import QUIET, ROOT, Wrong

TOUR = f'{workcopy.WORK}/tutorials/00_tour.ipynb'


def kernel():
    "A kernel that says nothing to the terminal, found before the one that is installed; the folder it is in"
    home = ROOT/workcopy.WORK/'.jupyter'
    run = [sys.executable, '-m', 'ipykernel_launcher', '-f', '{connection_file}', *QUIET]
    spec = dict(argv=run, display_name='Python 3', language='python', env={'OPENBLAS_THREAD_TIMEOUT': '4'})
    folder = home/'kernels'/'python3'
    folder.mkdir(parents=True, exist_ok=True)
    (folder/'kernel.json').write_text(json.dumps(spec, indent=1))
    return str(home)


def options():
    screen = sys.platform == 'darwin' or bool(os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY'))
    return [
        f'--LabApp.default_url=/lab/tree/{TOUR}',
        '--log-level=ERROR', '--LabApp.log_level=ERROR',    # leaves the address
        f'--LabApp.app_settings_dir={Path(__file__).parent/"lab-settings"}',     # no question about news over the tour
        '--ServerApp.answer_yes=True',                      # one Ctrl-C ends it
        *([] if screen else ['--no-browser']),
        *(['--allow-root'] if os.getuid() == 0 else []),    # in a container there is nobody else
    ]


def compile_behind():
    "Start to compile the kernels that are missing; a line that says what is going on, None where none are"
    left, why = build_kernels.missing()
    if not left: return None
    if why: return f'not compiled: {why}; notebooks run on NumPy'
    subprocess.Popen([sys.executable, ROOT/'tools'/'build_kernels.py', '--behind'], stdin=subprocess.DEVNULL)
    n = 'one is' if len(left) == 1 else f'{len(left)} are'
    return f'{n} compiled meanwhile, a few minutes, once; until then notebooks run on NumPy: the same values, slower'


def show_here():
    "The tour without a browser, on what is compiled already"
    left, why = build_kernels.missing()
    if left: print(f'kernels   not compiled: this runs on NumPy; {why or "`make kernels` compiles them"}')
    sys.stdout.flush()      # what execv replaces prints nothing more
    os.execv(sys.executable, [sys.executable, 'tools/notebooks.py', 'show', 'tutorials/00_tour.ipynb'])


def main():
    os.chdir(ROOT)
    try: workcopy.main()
    except Wrong as wrong: sys.exit(str(wrong))
    if '--here' in sys.argv: return show_here()
    os.environ['JUPYTER_PATH'] = os.pathsep.join(filter(None, [kernel(), os.environ.get('JUPYTER_PATH')]))
    if said := compile_behind(): print(f'kernels   {said}', flush=True)
    print(f'lab       JupyterLab starts on {TOUR}; Ctrl-C here ends it', flush=True)
    os.execv(sys.executable, [sys.executable, '-m', 'jupyterlab', *options()])


if __name__ == '__main__': main()
