"""Write torch's values and gradients for the cases of a family: `python tests/golden/make.py pointwise ...` (all without a name). Needs torch."""
import sys
from pathlib import Path
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from parity import GOLDEN, cases, families

for family in sys.argv[1:] or families():
    arrays = {}
    for i, c in enumerate(cases(family)):
        if c.live: continue
        value, grads = c.theirs(i)
        arrays[f'{i}'] = value
        for k, g in enumerate(grads if c.grad else []): arrays[f'{i}.{k}'] = g
    np.savez_compressed(GOLDEN / f'{family}.npz', **arrays)
    print(f'{family}: {len(cases(family))} cases')
