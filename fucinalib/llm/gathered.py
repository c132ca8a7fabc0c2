"""Tensors of a safetensors file as a decoder has them where the file cuts them otherwise: experts one by one, gates
and ups of all experts in one, those of GPT-OSS row by row in turn, its blocks of 4 bits without their scales.

Each is made when it is asked for. A decoder finds it under the name of one expert, without the number."""
import re
import numpy as np
from ..ops.blocks import BlockTensor
from ..tensor import Tensor, wrap

__all__ = ['gathered', 'as_mxfp4']

ONE = re.compile(r'(.*\.experts)\.(\d+)\.(.*)')
TURNS = re.compile(r'(.*\.experts)\.(gate_up|down)_proj(_bias|_blocks|_scales|)')
# names that do not end in .weight
BARE = 'e_score_correction_bias', 'A_log', 'dt_bias', '.sinks', 'layer_scalar', 'router.scale', 'per_expert_scale'
SHARE = 'shared_expert_gate.weight', 'ffn_gate_inp_shexp.weight'      # a row, in files also a matrix of one
TAGS = 'expert out in'


def gathered(names,  # name without prefix -> name in the file
             get,    # function: name in the file -> tensor
             c=None, # the Config
            ):
    "The same two, of tensors as a decoder has them."
    made, many = {}, {}
    for plain, name in names.items():
        if one := ONE.fullmatch(plain): many.setdefault(f'{one[1]}.{one[3]}', {})[int(one[2])] = name
        elif plain.endswith(SHARE): made[plain] = lambda n=name: as_row(get(n))
        elif plain.endswith(('conv.conv.weight', 'conv1d.weight')): made[plain] = lambda n=name: as_taps(get(n))
        elif c and c.deltas and plain.endswith(tuple(PARTS)): made |= in_parts(plain, name, get, c)
        elif plain.endswith(BARE): made[f'{plain}.weight'] = lambda n=name: get(n)
        elif turn := TURNS.fullmatch(plain):
            made |= (in_turns if c and c.family == 'gptoss' else in_halves)(turn, name, names, get)
        else: made[plain] = lambda n=name: get(n)
    for plain, found in many.items():
        each = [found[i] for i in sorted(found)]
        if max(found) < len(found): made[plain] = lambda each=each: stacked([get(n) for n in each])
        else: made |= {f'{plain} of expert {i}': None for i in found}      # one is missing
    return {plain: plain for plain in made}, lambda plain: made[plain]()


def as_row(t): return wrap(t.data.reshape(-1), 'd1') if t.ndim == 2 else t


def as_taps(t): return wrap(t.data.reshape(len(t.data), -1), 'd1 d2')


def stacked(parts):
    "Matrices of one kind one upon the other."
    if isinstance(parts[0], BlockTensor):
        return BlockTensor(np.stack([p.blocks for p in parts]), parts[0].dtype, TAGS)
    return Tensor(np.stack([p.data for p in parts]), TAGS)


# ---- in a GGUF

LAYER = re.compile(r'(blk\.\d+\.)(.*)')

def gathered_gguf(names, get, c):
    "The same of the tensors of a GGUF: what llama.cpp cuts, joins or turns into something else."
    made = {}
    for plain, name in names.items():
        base, part = found.groups() if (found := LAYER.fullmatch(plain)) else ('', plain)
        if part == 'attn_k_b.weight':
            beside = names.get(f'{base}attn_v_b.weight', name)
            made[f'{base}attn_kv_b.weight'] = lambda k=name, v=beside: latent_map(get(k), get(v))
        elif part == 'attn_v_b.weight': continue
        elif part == 'ssm_a': made[f'{plain}.weight'] = lambda n=name: wrap(np.log(-get(n).data), 'd1')
        elif part in ('ssm_dt.bias', 'exp_probs_b.bias'): made[plain[:-4] + 'weight'] = lambda n=name: get(n)
        elif part.endswith('.scale'): made[plain.replace('.scale', '_scale.weight')] = lambda n=name: get(n)
        elif part == 'ffn_gate_up_exps.weight': made |= as_halves(name, get, base + 'ffn_{}_exps.weight')
        elif c.deltas and part in PARTS: made |= in_parts(plain, name, get, c)
        elif plain.endswith(SHARE): made[plain] = lambda n=name: as_row(get(n))
        else: made[plain] = lambda n=name: get(n)
    return {plain: plain for plain in made}, lambda plain: made[plain]()


def latent_map(k, v):
    "Of each head, the map from the row to keys, which is stored turned, and that to values, one below the other."
    k, v = [(t if t.dtype == 'f32' else t.to('f32')).data for t in (k, v)]
    return wrap(np.concatenate([k.swapaxes(1, 2), v], 1).reshape(-1, v.shape[2]), 'd1 d2')


# ---- Qwen3-Next

# what stands in one tensor, by its kind: the names that its parts get, and what each takes of it
QUERIES, STATES, HEADS = 'qg', 'qkvz', 'ba'
PARTS = {'self_attn.q_proj.weight': (QUERIES, {'self_attn.q_proj': 'q', 'self_attn.q_gate': 'g'}),
         'in_proj_qkvz.weight': (STATES, dict(in_proj_qkv='qkv', in_proj_z='z')),
         'in_proj_ba.weight': (HEADS, dict(in_proj_b='b', in_proj_a='a')),
         'attn_q.weight': (QUERIES, dict(attn_q='q', attn_q_gate='g')),
         'ssm_in.weight': (STATES, dict(attn_qkv='qkv', attn_gate='z')),
         'ssm_ba.weight': (HEADS, dict(ssm_beta='b', ssm_alpha='a'))}

def in_parts(plain, name, get, c):
    "Name -> maker of the maps that stand in one tensor, mixed head by head."
    part = next(p for p in PARTS if plain.endswith(p))
    kind, own = PARTS[part]
    each = c.delta_values // c.delta_keys
    wide = each * c.delta_v
    heads, sizes = {QUERIES: (c.heads, dict(q=c.d, g=c.d)), HEADS: (c.delta_keys, dict(b=each, a=each)),
                    STATES: (c.delta_keys, dict(q=c.delta_d, k=c.delta_d, v=wide, z=wide))}[kind]
    at, ends = 0, {}
    for n, size in sizes.items(): ends[n], at = (at, at + size), at + size
    def rows(*names):
        t, found = get(name), []
        a = (t.blocks if isinstance(t, BlockTensor) else t.data)
        a = a.reshape(heads, at, *a.shape[1:])
        for n in names: found.append(a[:, slice(*ends[n])].reshape(-1, *a.shape[2:]))
        y = np.concatenate(found)
        return BlockTensor(y, t.dtype, t.tags) if isinstance(t, BlockTensor) else wrap(y, t.tags)
    base = plain.removesuffix(part)
    return {f'{base}{n}.weight': lambda names=names: rows(*names) for n, names in own.items()}


# ---- all experts in one

def in_halves(turn, name, names, get):
    "Name -> maker of what stands in one tensor: gates, and below them ups."
    base, part, _ = turn.groups()
    if part == 'down': return {f'{base}.down_proj.weight': lambda: get(name)}
    return as_halves(name, get, base + '.{}_proj.weight')


def as_halves(name, get, called):
    def half(i):
        t, a = get(name), get(name).blocks if isinstance(get(name), BlockTensor) else get(name).data
        n = t.shape[1] // 2
        a = np.ascontiguousarray(a[:, i * n:i * n + n])
        return BlockTensor(a, t.dtype, t.tags) if isinstance(t, BlockTensor) else wrap(a, t.tags)
    return {called.format(n): lambda i=i: half(i) for i, n in enumerate(('gate', 'up'))}


# ---- GPT-OSS

def in_turns(turn, name, names, get):
    "Name -> maker of what GPT-OSS stores as one tensor: gates in the even places, ups in the odd ones."
    base, part, end = turn.groups()
    if end == '_scales': return {}
    def whole():
        if end == '_blocks': return as_mxfp4(get(name).data, get(names[turn[0].replace('_blocks', '_scales')]).data)
        t = get(name)
        return t.data if end else t.data.swapaxes(1, 2)
    kind = 'bias' if end == '_bias' else 'weight'
    if part == 'down': return {f'{base}.down_proj.{kind}': lambda: as_ours(whole())}
    return {f'{base}.{n}_proj.{kind}': lambda i=i: as_ours(whole()[:, i::2]) for i, n in enumerate(('gate', 'up'))}


def as_ours(a):
    "Numbers or blocks, expert by expert, as a tensor."
    if a.ndim == 4: return BlockTensor(np.ascontiguousarray(a), 'mxfp4', TAGS)
    return wrap(np.ascontiguousarray(a), ' '.join(TAGS.split()[:a.ndim]))


def as_mxfp4(codes,   # bytes (.., blocks, 16), two neighbours in each
             scales,  # bytes (.., blocks)
            ):
    "Blocks as they are here, bytes (.., blocks, 17): the scale, then numbers i and i + 16 in one byte."
    q = np.stack([codes & 15, codes >> 4], -1).reshape(*codes.shape[:-1], 32)
    return np.concatenate([scales[..., None], q[..., :16] | q[..., 16:] << 4], -1)
