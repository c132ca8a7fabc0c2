"""What every test runs under. This file is imported before NumPy."""
import os

os.environ.setdefault('OPENBLAS_THREAD_TIMEOUT', '4')       # see fucinalib/_environment.py
os.environ['MPLBACKEND'] = 'Agg'

from hypothesis import settings

# The same examples in every default run; `make test-all` searches on.
settings.register_profile('quick', max_examples=25, deadline=None, derandomize=True)
settings.register_profile('long', max_examples=1000, deadline=None)
settings.load_profile('quick')
