"""Open JupyterLab on the tour; where there is no screen, print the address to open (`make lab`)."""
import os, sys
from pathlib import Path

os.chdir(Path(__file__).resolve().parents[1])
screen = sys.platform == 'darwin' or bool(os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY'))
options = [
    '--LabApp.default_url=/lab/tree/tutorials/00_tour.ipynb',
    '--log-level=ERROR', '--LabApp.log_level=ERROR',        # leaves the address
    '--LabApp.news_url=None',                               # no question about news over the tour
    '--ServerApp.answer_yes=True',                          # one Ctrl-C ends it
    *([] if screen else ['--no-browser']),
    *(['--allow-root'] if os.getuid() == 0 else []),        # in a container there is nobody else
]
print('lab       JupyterLab starts on tutorials/00_tour.ipynb; Ctrl-C here ends it', flush=True)
os.execv(sys.executable, [sys.executable, '-m', 'jupyterlab', *options])
