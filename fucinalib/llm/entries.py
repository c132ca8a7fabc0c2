"""What kinds of values the entries of a configuration have, and what is said of others.

A config.json is written by hand as often as by a program: an entry is looked at when a family asks for it."""
import math
import numpy as np
from ..checks import is_whole
from ..errors import OptionError, OptionTypeError, brief, fault

__all__ = ['check_entry', 'all_ignored', 'lacking_entry', 'as_many', 'layer_kinds']


def size_in(least, most):
    "A whole number from least to most."
    return lambda v: is_whole(v) and least <= v <= most, f'a whole number from {least} to {most}'

def finite_from(least=-math.inf, open=False):
    "A finite number that is at least so large, or larger."
    ok = lambda v: isinstance(v, (int, float, np.number)) and not isinstance(v, bool) and math.isfinite(v)
    words = 'a number' if least == -math.inf else f'a number {"above" if open else "of at least"} {least}'
    return lambda v: ok(v) and (v > least if open else v >= least), words

def every(kind, words):
    "A list of what is of a kind."
    return lambda v: isinstance(v, (list, tuple, np.ndarray)) and all(map(kind[0], v)), f'a list of {words}'

TEXT = lambda v: isinstance(v, str), 'a text'
OBJECT = lambda v: isinstance(v, dict), 'an object: {...}'
OBJECTS = (lambda v: isinstance(v, dict) and all(isinstance(one, dict) for one in v.values()),
           'objects by number: {"0": {...}}')
FLAG = lambda v: isinstance(v, (bool, np.bool_)) or is_whole(v) and v in (0, 1), 'true or false'

# kind -> entries, of config.json, of its rope_parameters, and what follows the architecture's name in a GGUF
KINDS = {
    size_in(1, 2**20): '''hidden_size n_embd num_attention_heads n_head num_key_value_heads head_dim
        embedding_length
        attention.head_count attention.key_length rope.dimension_count
        sliding_window_pattern _sliding_window_pattern decoder_sparse_step no_rope_layer_interval
        global_head_dim num_global_key_value_heads num_norm_groups attention.group_norm_groups
        conv_L_cache shortconv.l_cache block_multiple_of full_attention_interval
        ssm.inner_size attention.key_length_mla attention.key_length_swa
        linear_conv_kernel_dim linear_key_head_dim linear_value_head_dim linear_num_key_heads linear_num_value_heads
        kv_lora_rank qk_rope_head_dim v_head_dim n_group topk_group''',
    size_in(1, 2**16): 'num_hidden_layers n_layer block_count',
    size_in(1, 2**31): 'vocab_size intermediate_size n_inner block_ff_dim',
    size_in(2, 2**40): '''max_position_embeddings n_positions original_max_position_embeddings context_length
        rope.scaling.original_context_length''',
    size_in(0, 2**40): '''sliding_window max_window_layers moe_intermediate_size shared_expert_intermediate_size
        num_experts num_local_experts num_experts_per_tok experts_per_token expert_count expert_used_count
        top_k_experts n_routed_experts n_shared_experts first_k_dense_replace q_lora_rank qk_nope_head_dim
        hidden_size_per_layer_input vocab_size_per_layer_input num_kv_shared_layers''',
    finite_from(0, open=True): '''rope_theta rotary_emb_base rope_local_base_freq factor partial_rotary_factor
        rotary_pct block_ffn_dim_multiplier attention_factor attn_factor logits_scaling query_pre_attn_scalar
        rope.freq_base
        rope.scaling.factor''',
    finite_from(0): 'rms_norm_eps layer_norm_epsilon layer_norm_eps attn_logit_softcapping final_logit_softcapping',
    finite_from(): '''low_freq_factor high_freq_factor beta_fast beta_slow mscale mscale_all_dim swiglu_alpha
        swiglu_limit routed_scaling_factor attention_multiplier embedding_multiplier residual_multiplier''',
    FLAG: '''tie_word_embeddings attention_bias mlp_bias qkv_bias use_sliding_window use_parallel_residual truncate
        norm_topk_prob conv_bias block_auto_adjust_ff_dim attention_k_eq_v enable_moe_block use_double_wide_mlp
        rope_interleave''',
    TEXT: 'hidden_activation hidden_act activation_function rope_type type rope.scaling.type',
    OBJECT: 'rope_parameters rope_scaling quantization_config sliding_attention full_attention',
    OBJECTS: 'per_layer_config',
    every(TEXT, 'texts'): 'layer_types', every(FLAG, 'true and false'): 'no_rope_layers',
    every(size_in(0, 2**16), 'whole numbers'): 'mlp_only_layers full_attn_idxs',
    every(finite_from(0, open=True), 'numbers above 0'): 'short_factor long_factor divisors'}
KIND_OF = {name: kind for kind, names in KINDS.items() for name in names.split()}


def check_entry(name, value):
    "The value of an entry. OptionError for one of a kind that it cannot have."
    right, words = KIND_OF.get(name, (None, ''))
    if right is None or right(value): return value
    raise fault(OptionError, f'the configuration has {name}: {brief(value)}', help=f'{name} is {words}')


def lacking_entry(name, where='rope_parameters'):
    "The error for an entry that has to be there."
    head = f'{where} does not say {" or ".join(name.split())}'
    return fault(OptionError, head, help='a config.json as it came with its model')


def as_many(p, name, speed):
    "Divisors of the speeds of a rope, one for each."
    found = p(name)
    if found is None: raise lacking_entry(name)
    if len(found) == len(speed): return np.array(found, 'f8')
    raise fault(OptionError, f'{name} has {len(found)} numbers for {len(speed)} pairs', help='one for each pair')


def layer_kinds(c, n):
    "What kind each of n layers is, if the configuration tells it."
    found = c('layer_types')
    if not found or len(found) == n: return found
    raise fault(OptionError, f'layer_types has {len(found)} kinds for {n} layers', help='one for each layer')


def all_ignored(ignore):
    "Names of entries, as a list."
    if isinstance(ignore, str): return [ignore]
    if isinstance(ignore, (list, tuple, set)) and all(isinstance(n, str) for n in ignore): return [*ignore]
    raise fault(OptionTypeError, f'ignore is {brief(ignore)}', help="names of entries: ignore=['alibi']")
