"""Rotary positions beside transformers' own code: tables from its initialisers, turns by Llama's
and GPT-J's functions, YaRN's speeds. Partial layouts are put together from these."""
from importlib import import_module
import numpy as np
import pytest
from fucinalib.ops.rotary import AxisRange, rope_table
from parity import case, torch


def theirs(module, *names):
    "Names from a module of transformers; without it the live comparison is skipped."
    pytest.importorskip('transformers', exc_type=ImportError)
    return [getattr(import_module(f'transformers.{module}'), n) for n in names]

def llama(positions, dim=None, theta=1e4, **scaling):
    "Cosines and sines (position, dim) as a Llama with heads of `dim` computes them."
    LlamaConfig, LlamaRotaryEmbedding = theirs('models.llama.modeling_llama', 'LlamaConfig', 'LlamaRotaryEmbedding')
    config = LlamaConfig(hidden_size=dim,
                         num_attention_heads=1,
                         head_dim=dim,
                         max_position_embeddings=scaling.pop('context', 1 << 15),
                         rope_parameters=dict(rope_type='default', rope_theta=theta) | scaling)
    cos, sin = LlamaRotaryEmbedding(config)(torch.zeros(1), torch.tensor([list(positions)]))
    return cos[0], sin[0]

def half(x, positions, theta=1e4, dim=None):
    "Llama's turn of (.., seq, d): the first `dim` features."
    apply_rotary_pos_emb, = theirs('models.llama.modeling_llama', 'apply_rotary_pos_emb')
    d = dim or x.shape[-1]
    cos, sin = [t.to(x.dtype) for t in llama(positions, d, theta)]
    q = x[..., :d].reshape(1, -1, x.shape[-2], d)
    turned = apply_rotary_pos_emb(q, q, cos[None], sin[None])[0]
    return torch.cat([turned.reshape(*x.shape[:-1], d), x[..., d:]], -1)

def pairs(x, positions, dim=None, lo=0, theta=1e4):
    "GPT-J's turn of (seq, d): `dim` features from `lo` on."
    apply_rotary_pos_emb, = theirs('models.gptj.modeling_gptj', 'apply_rotary_pos_emb')
    d = dim or x.shape[-1]
    cos, sin = [t[:, :d // 2].to(x.dtype) for t in llama(positions, d, theta)]
    turned = apply_rotary_pos_emb(x[None, :, None, lo:lo + d], sin[None], cos[None])[0, :, 0]
    return torch.cat([x[:, :lo], turned, x[:, lo + d:]], -1)

def yarn(dim, theta, factor, context):
    (LlamaConfig,), (inits,) = (theirs('models.llama.modeling_llama', 'LlamaConfig'),
                                theirs('modeling_rope_utils', 'ROPE_INIT_FUNCTIONS'))
    config = LlamaConfig(hidden_size=dim,
                         num_attention_heads=1,
                         head_dim=dim,
                         max_position_embeddings=int(factor * context),
                         rope_parameters=dict(rope_type='yarn', rope_theta=theta, factor=factor,
                                              original_max_position_embeddings=context))
    return inits['yarn'](config, device='cpu')[0].double()

def norm(x, w): return torch.nn.functional.rms_norm(x, x.shape[-1:], w, 1e-6)

def cosines(t): return t.cos if hasattr(t, 'cos') else t
def sines(t): return t.sin if hasattr(t, 'sin') else t
def columns(part, positions, dim, **kw): return lambda: llama(positions, dim, **kw)[part][:, :dim // 2].double()

FAR = [0, 1, 17, 4095, 1000, 3]
LLAMA3 = dict(rope_type='llama3', factor=8., low_freq_factor=1., high_freq_factor=4.,
              original_max_position_embeddings=8192)
# divisors of that recipe
BANDS = lambda f: np.where(f > 4 * 2 * np.pi / 8192, 1,
                           np.where(f < 2 * np.pi / 8192, 8,
                                    1 / ((s := (8192 * f / 2 / np.pi - 1) / 3) + (1 - s) / 8)))

CASES = [
    case('rope', 'seq=6 d=8', 'seq', 'd', 1e4, torch=lambda x: half(x, range(6)), tags='seq d',
         tol=2e-6),
    case('rope', 'seq=6 d=8', 'seq', 'd', 1e4, positions=FAR, torch=lambda x: half(x, FAR), tol=2e-3),
    case('rope', 'seq=3 d=2', 'seq', 'd', 500., positions=[-1, -7, 2],
         torch=lambda x: half(x, [-1, -7, 2], 500.), tol=2e-6),
    case('rope', 'seq=1 d=6', 'seq', 'd', 1e6, positions=[5], torch=lambda x: half(x, [5], 1e6),
         tol=2e-6),
    case('rope', 'b=2 head=3 seq=5 d=4', 'seq', 'd', 1e4, torch=lambda x: half(x, range(5)),
         tags='b head seq d', tol=2e-6),
    case('rope', 'b=2 seq=5 head=3 d=4', 'seq', 'd', 1e4,
         torch=lambda x: half(x.transpose(1, 2), range(5)).transpose(1, 2), tags='b seq head d',
         tol=2e-6),
    case('rope', 'd=4 head=2 seq=5', 'seq', 'd', 1e4,
         torch=lambda x: half(x.permute(1, 2, 0), range(5)).permute(2, 0, 1), tags='d head seq',
         tol=2e-6),
    case('rope', 'seq=4 d=9', 'seq', 'd', rope_table(AxisRange(4, 2), 6),
         torch=lambda x: half(x, range(2, 6), dim=6), tol=2e-6),
    case('rope', 'seq=4 d=8', 'seq', 'd', 1e4, mode='interleaved',
         torch=lambda x: pairs(x, range(4)), tol=2e-6),
    case('rope', 'seq=4 d=8', 'seq', 'd', 1e4, mode='interleaved_tail',
         torch=lambda x: pairs(x, range(4)), tol=2e-6),
    case('rope', 'seq=4 d=9', 'seq', 'd', rope_table([4, 4, 0, -3], 4), mode='interleaved',
         torch=lambda x: pairs(x, [4, 4, 0, -3], 4), tol=2e-6),
    case('rope', 'seq=4 d=9', 'seq', 'd', rope_table([4, 4, 0, -3], 4), mode='interleaved_tail',
         torch=lambda x: pairs(x, [4, 4, 0, -3], 4, lo=5), tol=2e-6),
    case('rms_norm', 'seq=5 head=2 d=6', 'd', weight='d=6', rope=('seq', rope_table(AxisRange(5), 6)),
         torch=lambda x, w: half(norm(x, w).transpose(0, 1), range(5)).transpose(0, 1), tol=2e-6),
    *[case('rope_table', AxisRange(9), 64, pick=pick, grad=False, tol=3e-6,
           torch=columns(part, range(9), 64)) for part, pick in ((0, cosines), (1, sines))],
    case('rope_table', [100, 7, 0], 64, 1e6, freq_factors=BANDS(1e6 ** (-np.arange(0, 64, 2) / 64)),
         pick=cosines, grad=False, tol=2e-5, torch=columns(0, [100, 7, 0], 64, theta=1e6, **LLAMA3)),
    case('yarn_inv_freqs', 128, 1e4, 4., 4096, grad=False, torch=lambda: yarn(128, 1e4, 4., 4096),
         tags='pair'),
    case('yarn_inv_freqs', 128, 1e6, 16., 32768, grad=False, torch=lambda: yarn(128, 1e6, 16., 32768)),
    case('yarn_inv_freqs', 64, 1e4, 40., 2048, grad=False, torch=lambda: yarn(64, 1e4, 40., 2048)),
    case('yarn_inv_freqs', 16, 150., 2., 64, grad=False, torch=lambda: yarn(16, 150., 2., 64)),
]
