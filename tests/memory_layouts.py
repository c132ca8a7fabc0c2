"""Ways an array may lie in memory. Each gives the same numbers, and what an operation makes of
them must not depend on it."""
import numpy as np
import pytest

LAYOUTS = {
    'plain': np.ascontiguousarray,
    'fortran': lambda a: np.array(a, order='F'),
    'stepped': lambda a: np.repeat(a, 2, -1)[..., ::2] if a.ndim else a,
    'outer stepped': lambda a: np.repeat(a, 3, 0)[::3] if a.ndim else a,
    'backwards': lambda a: np.array(a[..., ::-1])[..., ::-1] if a.ndim else a,
    'swapped': lambda a: np.array(a.swapaxes(0, -1), order='C').swapaxes(0, -1) if a.ndim else a,
}
layout = pytest.mark.parametrize('layout', list(LAYOUTS))


def layouts(a): return [(name, put(a)) for name, put in LAYOUTS.items()]
