"""The decoder (chapters 44, 44a): families, caches, files, and what is refused."""
import json
import numpy as np
import pytest
from safetensors.numpy import save_file
import fucinalib as fl
from fucinalib.errors import FucinaError
from fucinalib.llm.decoder import tensors_of
from fucinalib.llm.families import names_of, read_config

LLAMA = dict(model_type='llama', vocab_size=32, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, intermediate_size=24, max_position_embeddings=64, tie_word_embeddings=True)


def folder(path, values, seed=0, dtype='f4'):
    "A model of random weights in a folder, as its family writes it."
    c, rng = read_config(values), np.random.default_rng(seed)
    own, state = tensors_of(c), {}
    for theirs, (ours, how) in names_of(c, 'safetensors').items():
        first = list(own[ours[0]].values())
        shape = sum(next(iter(own[n].values())) for n in ours), *first[1:]
        state[theirs] = rng.normal(size=shape[::-1] if how == 'columns' else shape, scale=.3).astype(dtype)
    path.mkdir(exist_ok=True)
    (path/'config.json').write_text(json.dumps(values))
    save_file(state, path/'model.safetensors')
    return path


def test_steps_with_a_cache_give_the_logits_of_the_whole(tmp_path):
    model = fl.llm.load(folder(tmp_path/'m', LLAMA))
    ids = np.arange(20) % 32
    whole, cache = model(ids).numpy(), model.cache()
    first = model(ids[:7], cache=cache).numpy()
    rest = [model(ids[i:i + 1], cache=cache, last=True).numpy() for i in range(7, 20)]
    np.testing.assert_allclose(np.concatenate([first, rest]), whole, atol=2e-6)
    assert len(cache) == 20
    cache.truncate(9)
    np.testing.assert_allclose(model(ids[9:], cache=cache, last=True), whole[-1], atol=2e-6)


def test_what_a_family_or_file_has_not_is_refused(tmp_path):
    with pytest.raises(FucinaError, match='no family .gemma9.[\\s\\S]*gemma2'):
        fl.llm.load(folder(tmp_path/'a', LLAMA).parent/'a') and read_config(LLAMA | dict(model_type='gemma9'))
    with pytest.raises(FucinaError, match='alibi'): read_config(LLAMA | dict(alibi=True))


def test_a_step_on_plain_arrays_is_the_readable_path(tmp_path):
    model = fl.llm.load(folder(tmp_path/'m', LLAMA))
    for capacity in (None, 40):
        plain, fast = model.cache(capacity), model.cache(capacity)
        model(range(5), cache=plain), model(range(5), cache=fast)
        for i in range(5, 20):
            model.fast = False
            want = model([i], cache=plain, last=True).numpy()
            model.fast = None
            np.testing.assert_allclose(model([i], cache=fast, last=True), want, atol=2e-6)
