"""Imported before NumPy. Worker threads that spin after a matrix product make the next kernel ten times slower; these values end that.

What the user has set stays. OpenBLAS reads its variable when NumPy loads, libgomp its own when the first kernel loads.
"""
import os, sys

if 'numpy' not in sys.modules: os.environ.setdefault('OPENBLAS_THREAD_TIMEOUT', '4')
if 'OMP_WAIT_POLICY' not in os.environ: os.environ.setdefault('GOMP_SPINCOUNT', '100000')
