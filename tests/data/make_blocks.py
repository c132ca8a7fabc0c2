"""Write tests/data/blocks.npz: what the Python package gguf (llama.cpp, MIT) reads from random
blocks and writes for given numbers.

pip install gguf; python tests/data/make_blocks.py
"""
from pathlib import Path
import gguf
import numpy as np
from gguf.quants import _type_traits as known

HERE = Path(__file__).parent
# fields of two bytes that hold an f16, by their offset: random bytes there would mostly be huge, so
# they get ordinary scales
HALVES = dict(q8_0=[0], q4_0=[0], q4_1=[0, 2], q5_0=[0], q5_1=[0, 2], q2_k=[80, 82], q3_k=[108],
              q4_k=[0, 2], q5_k=[0, 2], q6_k=[208], tq1_0=[52], tq2_0=[64], iq4_nl=[0], iq4_xs=[0],
              iq2_xxs=[0], iq2_xs=[0], iq2_s=[0], iq3_xxs=[0], iq3_s=[0], iq1_s=[0], mxfp4=[],
              nvfp4=[], iq1_m=[])


def blocks(name, rng, n=6):
    "Random bytes, with scales between 0.01 and 1 in either sign; the last block has a scale of 0."
    size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name.upper()]][1]
    b = rng.integers(0, 256, (n, size)).astype('u1')
    for at in HALVES[name]:
        d = (rng.uniform(.01, 1, n) * rng.choice([-1, 1], n)).astype('<f2')
        d[-1] = 0
        b[:, at:at + 2] = d[:, None].view('u1')
    # its f16, here 0x2e66, is in the upper four bits of four words
    if name == 'iq1_m': b[:, 49::2] = b[:, 49::2] & 0x0f | np.array([0x60, 0x60, 0xe0, 0x20], 'u1')
    return b


def numbers(rng, n=24):
    "Rows of 256: ordinary, large, tiny, one-sided, constant, zero, with one outlier."
    x = rng.standard_normal((n, 256)).astype('f4') * .05
    x[1], x[2], x[3], x[4], x[5] = x[1] * 1e5, x[2] * 1e-4, np.abs(x[3]), 0, -1
    x[6, 17], x[7, 200:] = 40, 0
    return x


if __name__ == '__main__':
    rng, arrays = np.random.default_rng(0), {}
    for name in HALVES:
        kind = gguf.GGMLQuantizationType[name.upper()]
        b = blocks(name, rng)
        arrays[f'{name}.blocks'], arrays[f'{name}.floats'] = b, gguf.dequantize(b, kind).reshape(len(b), -1)
    arrays['numbers'] = numbers(rng)
    for name in 'q4_0 q4_1 q5_0 q5_1 q8_0 tq2_0'.split():
        arrays[f'{name}.written'] = gguf.quantize(arrays['numbers'], gguf.GGMLQuantizationType[name.upper()])
    np.savez_compressed(HERE / 'blocks.npz', **arrays)
    print(f'{len(HALVES)} formats of {len(known) - 1} known, {(HERE / "blocks.npz").stat().st_size} bytes')
