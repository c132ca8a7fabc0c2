"""Write fucinalib/block_tables.npz: the codebooks of the i-quants, as numbers. They are
part of the GGUF format.

pip install gguf; python tools/make_block_tables.py

Source: the tables of the Python package gguf (llama.cpp), MIT licence, Copyright (c) 2023-2026
The ggml authors."""
from pathlib import Path
import numpy as np
from gguf import GGMLQuantizationType as T
from gguf.quants import _type_traits as traits

TARGET = Path(__file__).parents[1] / 'fucinalib/block_tables.npz'


def grid(name):
    "Rows of a codebook: 8 values (4 for iq3) that one code stands for."
    kind = traits[T[name.upper()]]
    kind.init_grid()
    return kind.grid.reshape(kind.grid_shape).astype('i1')


np.savez_compressed(TARGET, **{n: grid(n) for n in ('iq1_s', 'iq2_xxs', 'iq2_xs', 'iq2_s', 'iq3_xxs', 'iq3_s')})
print(f'{TARGET.name}: {TARGET.stat().st_size} bytes')
