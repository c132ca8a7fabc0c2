"""What every test runs under. This file is imported before NumPy."""
import os

os.environ.setdefault('OPENBLAS_THREAD_TIMEOUT', '4')       # see fucinalib/_environment.py
os.environ['MPLBACKEND'] = 'Agg'

import pytest
from hypothesis import settings

# The same examples in every default run; `make test-all` searches on.
settings.register_profile('quick', max_examples=25, deadline=None, derandomize=True)
settings.register_profile('long', max_examples=1000, deadline=None)
settings.load_profile('quick')


@pytest.fixture
def every_size(monkeypatch):
    "Compiled kernels run on data of any size."
    from fucinalib import kernels
    for k in kernels.table.values(): monkeypatch.setattr(k, 'floor', 0)
    monkeypatch.setattr(kernels.masked, 'FLOOR', 0)


@pytest.fixture(params=['numpy', 'pythran'])
def backend(request, every_size):
    "Each backend in turn, kernels at any size."
    import fucinalib as fl
    if request.param not in fl.backends(): pytest.skip('kernels are not compiled here')
    with fl.use_backend(request.param): yield request.param
