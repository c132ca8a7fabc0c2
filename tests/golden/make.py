"""Write torch's values and gradients for the cases of a family: `python tests/golden/make.py
pointwise ...` (all without a name). Needs torch."""
import sys
from pathlib import Path
import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from parity import GOLDEN, cases, families

for family in sys.argv[1:] or families():
    arrays = {'torch': np.array(torch.__version__)}      # the one that said so
    for name, c in cases(family).items():
        if c.live: continue
        value, grads = c.theirs(c.seed)
        for i, a in enumerate([value, *(grads if c.grad else [])]): arrays[f'{name} @{i}'] = a
    np.savez_compressed(GOLDEN / f'{family}.npz', **arrays)
    print(f'{family}: {len(cases(family))} cases')
