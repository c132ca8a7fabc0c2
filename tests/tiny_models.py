"""Tiny decoders of random weights made by transformers, with what it computes: for live comparisons, and once for the
few that are kept in tests/data/decoders.

    python tests/tiny_models.py        writes those anew
"""
import json, sys
from pathlib import Path
import numpy as np

BASE = dict(vocab_size=64, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=1, max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0)
LLAMA3 = dict(rope_type='llama3', rope_theta=5e5, factor=8., low_freq_factor=1., high_freq_factor=4.,
              original_max_position_embeddings=16)
LONG = dict(rope_type='longrope', rope_theta=1e4, original_max_position_embeddings=16, partial_rotary_factor=1.,
            short_factor=[1., 1.1, 1.2, 1.3], long_factor=[1., 2., 3., 4.])
YARN = dict(rope_type='yarn', rope_theta=1e4, factor=4., original_max_position_embeddings=16)
GEMMA3 = dict(sliding_attention=dict(rope_type='default', rope_theta=1e4),
              full_attention=dict(rope_type='linear', rope_theta=1e6, factor=8.))

GEMMA4 = dict(head_dim=8, sliding_window=8, vocab_size_per_layer_input=64, final_logit_softcapping=3.,
              rope_parameters=dict(sliding_attention=dict(rope_type='default', rope_theta=1e4), full_attention=dict(
                  rope_type='proportional', partial_rotary_factor=.25, rope_theta=1e6)))

LINEAR = dict(linear_conv_kernel_dim=4, linear_key_head_dim=8, linear_value_head_dim=6, linear_num_key_heads=2,
              linear_num_value_heads=4)

# name -> (class in transformers, options)
MODELS = dict(
    llama=('Llama', dict(rope_parameters=LLAMA3, head_dim=8)),
    llama_biased=('Llama', dict(attention_bias=True, mlp_bias=True, rope_parameters=YARN, tie_word_embeddings=True)),
    llama_bounds=('Llama', dict(rope_parameters=YARN | dict(beta_fast=4., beta_slow=.5, truncate=False, mscale=1.,
                                                            mscale_all_dim=.5))),
    mistral=('Mistral', dict(sliding_window=8)),
    smollm3=('SmolLM3', dict(num_hidden_layers=4, no_rope_layer_interval=2)),
    qwen2=('Qwen2', dict(tie_word_embeddings=True)),
    qwen2_window=('Qwen2', dict(use_sliding_window=True, sliding_window=8, max_window_layers=1)),
    qwen3=('Qwen3', dict(head_dim=16, tie_word_embeddings=True)),
    gpt2=('GPT2LMHead', dict(vocab_size=64, n_embd=16, n_layer=2, n_head=2, n_positions=64, bos_token_id=1,
                             eos_token_id=2)),
    phi3=('Phi3', dict(sliding_window=8)),
    phi3_longrope=('Phi3', dict(rope_parameters=LONG, original_max_position_embeddings=16)),
    gemma2=('Gemma2', dict(head_dim=16, sliding_window=8, query_pre_attn_scalar=24, attn_logit_softcapping=2.,
                           final_logit_softcapping=3.)),
    gemma3=('Gemma3', dict(num_hidden_layers=6, head_dim=8, sliding_window=8, query_pre_attn_scalar=12,
                           rope_parameters=GEMMA3)),
    olmo2=('Olmo2', {}),
    granite=('Granite', dict(embedding_multiplier=3., logits_scaling=2., residual_multiplier=.3,
                             attention_multiplier=.2)),
    gptneox=('GPTNeoX', dict(rope_parameters=dict(rope_type='default', rope_theta=1e4, partial_rotary_factor=.5))),
    mixtral=('Mixtral', dict(num_local_experts=4, num_experts_per_tok=2, sliding_window=8)),
    qwen2moe=('Qwen2Moe', dict(num_hidden_layers=3, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=12,
                               shared_expert_intermediate_size=20, mlp_only_layers=[1])),
    qwen2moe_windows=('Qwen2Moe', dict(num_experts=4, num_experts_per_tok=3, moe_intermediate_size=8,
                                       norm_topk_prob=True, shared_expert_intermediate_size=8,
                                       use_sliding_window=True, sliding_window=8)),
    qwen3moe=('Qwen3Moe', dict(head_dim=16, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=12,
                               norm_topk_prob=True)),
    qwen3moe_sparse=('Qwen3Moe', dict(num_hidden_layers=4, head_dim=8, num_experts=4, num_experts_per_tok=2,
                                      moe_intermediate_size=8, decoder_sparse_step=2)),
    gptoss=('GptOss', dict(head_dim=8, num_local_experts=4, num_experts_per_tok=2, sliding_window=8,
                           rope_parameters=YARN | dict(rope_theta=150000., truncate=False),
                           layer_types=['sliding_attention', 'full_attention'])),
    lfm2=('Lfm2', dict(num_hidden_layers=4, block_multiple_of=8,
                       layer_types=['conv', 'conv', 'full_attention', 'conv'])),
    lfm2_plain=('Lfm2', dict(block_auto_adjust_ff_dim=False, layer_types=['conv', 'full_attention'], conv_L_cache=4)),
    deepseek=('DeepseekV3', dict(num_hidden_layers=3, num_key_value_heads=2, n_routed_experts=8, n_group=4,
                                 topk_group=2, num_experts_per_tok=3, moe_intermediate_size=12,
                                 kv_lora_rank=12, q_lora_rank=10,
                                 qk_rope_head_dim=4, v_head_dim=6, qk_nope_head_dim=8, first_k_dense_replace=1,
                                 rope_parameters=YARN | dict(mscale=1., mscale_all_dim=1.))),
    deepseek_plain=('DeepseekV3', dict(num_key_value_heads=2, n_routed_experts=4, n_group=1, topk_group=1,
                                       q_lora_rank=None, num_experts_per_tok=2, moe_intermediate_size=8,
                                       kv_lora_rank=8, v_head_dim=8,
                                       qk_rope_head_dim=8, qk_nope_head_dim=8, first_k_dense_replace=0,
                                       n_shared_experts=2, attention_bias=True, norm_topk_prob=False)),
    qwen3next=('Qwen3Next', dict(num_hidden_layers=4, head_dim=16, **LINEAR, num_experts=4, num_experts_per_tok=2,
                                 moe_intermediate_size=8, shared_expert_intermediate_size=12)),
    qwen35moe=('Qwen3_5Moe', dict(num_hidden_layers=2, head_dim=16, **LINEAR, num_experts=4, num_experts_per_tok=2,
                                  moe_intermediate_size=8, shared_expert_intermediate_size=12,
                                  layer_types=['linear_attention', 'full_attention'])),
    gemma4=('Gemma4', dict(GEMMA4, num_hidden_layers=5, hidden_size_per_layer_input=6, num_kv_shared_layers=2,
                           use_double_wide_mlp=True, per_layer_config={'1': dict(head_dim=16), '4': dict(head_dim=16)},
                           layer_types=['sliding_attention', 'full_attention', *['sliding_attention'] * 2,
                                        'full_attention'])),
    gemma4_experts=('Gemma4', dict(GEMMA4, num_key_value_heads=2, hidden_size_per_layer_input=0, attention_k_eq_v=True,
                                   enable_moe_block=True, num_experts=4, top_k_experts=2, moe_intermediate_size=12,
                                   num_hidden_layers=2, layer_types=['sliding_attention', 'full_attention'],
                                   per_layer_config={'1': dict(head_dim=16, num_key_value_heads=1)})),
    k2horizon=('Llama', dict(head_dim=16, rope_parameters=YARN)),
    qwen35=('Qwen3_5', dict(num_hidden_layers=3, head_dim=16, **LINEAR, rope_parameters=dict(
        rope_type='default', rope_theta=1e4, partial_rotary_factor=.5), layer_types=['linear_attention'] * 2 + [
        'full_attention'])),
    gptneox_serial=('GPTNeoX', dict(use_parallel_residual=False)))
RENAMED = dict(k2horizon='k2_horizon')
KEPT = 'llama', 'qwen3', 'gpt2', 'phi3_longrope', 'gemma2'      # in tests/data/decoders
HOME = Path(__file__).parent/'data'/'decoders'
PROMPT, MORE = 14, 6      # words; phi3_longrope's border is at 16


def random_decoder(seed=0, **more):
    "A llama of random weights that reads bytes and chats, without a file."
    import fucinalib as fl
    from fucinalib.llm.decoder import Config, Model, Rope, tensors_of
    from speaker import CHATML, Bytes
    tok, rng = Bytes(), np.random.default_rng(seed)
    rope = Rope(tuple(1e4**-(np.arange(4) / 4)))
    sizes = dict(family='llama', vocab=len(tok), width=32, layers=2, heads=4, kv_heads=2, d=8, hidden=64, context=512)
    c = Config(**sizes | dict(ropes=(rope,) * sizes['layers']) | more)
    def values(name, sizes):
        "Logits apart enough that the last bit decides nothing."
        shape = tuple(sizes.values())
        if 'norm' in name: return np.ones(shape, 'f4')
        made = rng.normal(size=shape, scale=1. if name == 'embed' else 2 * shape[-1]**-.5).astype('f4')
        if name == 'embed': made[256:] = 0      # it hardly ever ends
        return made
    return Model(c, {n: fl.Tensor(values(n, s), list(s)) for n, s in tensors_of(c).items()}, tok, CHATML)


def made(name, folder):
    "Write a model into a folder. Returns what transformers computes with it: ids, logits, every stream, steps."
    import torch, transformers
    kind, options = MODELS[name]
    base = {} if kind == 'GPT2LMHead' else BASE
    config_kind = dict(GPT2LMHead='GPT2', Gemma3='Gemma3Text', Qwen3_5='Qwen3_5Text', Qwen3_5Moe='Qwen3_5MoeText',
                       Gemma4='Gemma4Text').get(kind, kind)
    if kind == 'GPTNeoX': base = {k: v for k, v in base.items() if k != 'num_key_value_heads'}
    config = getattr(transformers, f'{config_kind}Config')(**base | options)
    model = getattr(transformers, f'{kind}Model' if kind == 'GPT2LMHead' else f'{kind}ForCausalLM')(config)
    rng = np.random.default_rng(len(name))
    with torch.no_grad():
        for n, b in model.named_buffers():
            if n.endswith('e_score_correction_bias'): b.copy_(torch.tensor(rng.normal(size=b.shape, scale=.1)))
            if n.endswith('layer_scalar'): b.copy_(torch.tensor(rng.uniform(.7, 1.3, b.shape)))
        for n, p in sorted(model.named_parameters()):      # norms of 1 and biases of 0 would show nothing
            wide = .2 if p.ndim == 1 else .7 if 'embed' in n or 'wte' in n else p.shape[-1]**-.5
            noise = torch.tensor(rng.normal(size=p.shape, scale=wide), dtype=p.dtype)
            p.copy_(p + noise if p.ndim == 1 else noise)
    Path(folder).mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    (Path(folder)/'generation_config.json').unlink(missing_ok=True)
    renamed(Path(folder)/'config.json', RENAMED.get(name))
    return expected(type(model).from_pretrained(folder, attn_implementation='eager').eval(), rng)


def renamed(path, kind):
    "Another name for a kind of model that transformers computes under the name of its arithmetic."
    if kind: path.write_text(json.dumps(json.loads(path.read_text()) | dict(model_type=kind)))


def expected(model, rng):
    "Logits and streams of two texts at once, then greedy words one by one with transformers' cache."
    import torch
    ids = torch.tensor(rng.integers(3, 64, (2, PROMPT)))
    with torch.no_grad():
        out = model(input_ids=ids, output_hidden_states=True, use_cache=False)
        every, steps = ids, []
        for _ in range(MORE):      # the whole text again, as its own cache has to give
            y = model(input_ids=every, use_cache=False).logits[:, -1]
            steps.append(y.numpy())
            every = torch.cat([every, y.argmax(-1, keepdim=True)], 1)
    return dict(ids=every.numpy(), logits=out.logits.numpy(), steps=np.stack(steps, 1),
                **{f'stream_{i}': h.numpy() for i, h in enumerate(out.hidden_states)})


if __name__ == '__main__':
    import transformers
    transformers.logging.set_verbosity_error()
    for name in sys.argv[1:] or KEPT:
        found = made(name, HOME/name)
        found = {k: v for k, v in found.items() if k in ('ids', 'logits', 'steps')}
        np.savez_compressed(HOME/name/'expected.npz', **found)
        kept = json.loads((HOME/name/'config.json').read_text())
        (HOME/name/'config.json').write_text(json.dumps(kept, indent=1) + '\n')
        print(name, sum(p.stat().st_size for p in (HOME/name).iterdir()), 'bytes')
