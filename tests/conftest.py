"""What every test runs under. This file is imported before NumPy."""
import os, signal, sys, time
from concurrent.futures import ThreadPoolExecutor, wait
from queue import SimpleQueue

# see fucinalib/_before_numpy.py: a test may import torch first
os.environ.setdefault('OPENBLAS_THREAD_TIMEOUT', '4')
os.environ.setdefault('GOMP_SPINCOUNT', '600')
os.environ['MPLBACKEND'] = 'Agg'
# what somebody measured on this machine changes no result, but which function makes it
os.environ['FUCINALIB_CHOICES'] = 'table'
# a run in the background ignores Ctrl-C, and so would what tests start
signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest
from hypothesis import settings

# The same examples in every default run; `make test-all` searches on.
settings.register_profile('quick', max_examples=25, deadline=None, derandomize=True)
settings.register_profile('long', max_examples=1000, deadline=None)
settings.load_profile('quick')

REFERENCES = 'torch', 'transformers', 'gguf', 'onnxruntime', 'onnx', 'openai'
LIVE = 'test_torch_samples.py', 'test_torch_modules.py'    # these need a reference to be read at all


def pytest_addoption(parser):
    parser.addoption('--no-skips', action='store_true', help='a test that skips fails, with its reason (make test-all)')
    parser.addoption('--fuzz-cases', type=int, default=1_000_000, help='how many graphs test_fuzz compares with torch')
    parser.addoption('--fuzz-seed', type=int, default=0, help='where it begins; another seed, other graphs')


def pytest_ignore_collect(collection_path, config):
    "Where live comparisons are left out, no reference is imported, so that its presence changes nothing."
    return True if collection_path.name in LIVE and 'not torch' in config.option.markexpr else None


def refuse_skip(config, report):
    "Under --no-skips: a report that says skipped becomes one that says failed."
    if not (config.option.no_skips and report.skipped) or hasattr(report, 'wasxfail'): return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    report.outcome, report.longrepr = 'failed', f'make test-all skips nothing, and this said: {reason}'


def refuse_reference(item, report, known=set()):
    "In a default run: a test that imports a reference fails, whether it is there or not, unless it is marked."
    if 'not torch' not in item.config.option.markexpr or item.get_closest_marker('torch'): return
    missing = [name for name in REFERENCES if report.skipped and f"import '{name}'" in str(report.longrepr)]
    wanted = [name for name in REFERENCES if name in sys.modules and name not in known] + missing
    known.update(wanted)        # imported once, it is no later test's doing
    if wanted: report.outcome, report.longrepr = 'failed', f'this wants {wanted[0]}: mark it with pytest.mark.torch'


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    refuse_reference(item, report)
    refuse_skip(item.config, report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    refuse_skip(collector.config, report)
    return report


class Graphs:
    """The million graphs of tests/test_fuzz.py. They begin before the first test, in processes that give way to it,
    and are waited for before the last one. A plugin, so that what they tell is printed between two tests: within one
    it would be that test's output."""
    test = 'test_a_million_graphs'

    def __init__(self, config):
        import fuzz
        cases, seed = [config.getoption(name) for name in ('--fuzz-cases', '--fuzz-seed')]
        self.write = config.pluginmanager.get_plugin('terminalreporter').write_line
        self.lines, self.running = SimpleQueue(), []
        self.start, self.told, self.tenth = time.monotonic(), 0, max(1, cases // 10)
        self.job = ThreadPoolExecutor(1).submit(fuzz.side_by_side, seed, cases, progress=self.progress,
                                                tell=self.lines.put, running=self.running)
        self.result = self.job.result

    def progress(self, done):
        if done // self.tenth == self.told: return
        self.told = done // self.tenth
        self.lines.put(f'\nfuzz      {done} graphs in {(time.monotonic() - self.start) / 60:.1f} minutes')

    def pytest_runtest_logfinish(self):
        while not self.lines.empty(): self.write(self.lines.get())

    def pytest_runtest_logstart(self, nodeid):
        while nodeid.endswith(self.test) and not self.job.done():
            wait([self.job], 1)
            self.pytest_runtest_logfinish()

    def pytest_sessionfinish(self):
        for process in self.running: process.terminate()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items): items.sort(key=lambda item: item.name == Graphs.test)


def pytest_collection_finish(session):
    if session.config.option.collectonly or not any(item.name == Graphs.test for item in session.items): return
    session.config.graphs = Graphs(session.config)
    session.config.pluginmanager.register(session.config.graphs)


@pytest.fixture
def every_size(monkeypatch):
    "Compiled kernels run on data of any size."
    from fucinalib import kernels
    for k in kernels.table.values(): monkeypatch.setattr(k, 'floor', 0)


@pytest.fixture(params=['numpy', 'pythran'])
def backend(request, every_size):
    "Each backend in turn, kernels at any size."
    import fucinalib as fl
    if request.param not in fl.backends(): pytest.skip('kernels are not compiled here')
    with fl.use_backend(request.param): yield request.param


def pytest_terminal_summary(terminalreporter, config):
    "One line on the notebooks that were not run again"
    if (passed := getattr(config, 'passed', None)) and passed.spared:
        terminalreporter.write_line(f'notebooks {passed.spared} of {passed.total} runs left out: '
                                    'neither code nor library changed '
                                    'since they passed (CI=true or make test-all runs all)')
