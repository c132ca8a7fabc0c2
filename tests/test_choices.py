"""Measured choices: what may follow a measurement, what is kept of it, and what holds where there is none. Nothing here
is timed."""
import json
import numpy as np
import pytest
from fucinalib import kernels, measuring
from fucinalib.kernels import choices, discovery

ODD = np.array([0, -0., np.inf, -np.inf, np.nan, 1e-40, 3e38, -.5, 2.5, 1, -1], 'f4')
FOUND = dict(numbers=dict(chain=512, tiles=128), floors=dict(where=256))


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    "The compiled kernels, an empty cache, and the choices of the table again afterwards"
    if discovery.current_backend() != discovery.SHIPPED: pytest.skip('no kernels')
    monkeypatch.setenv('FUCINALIB_CACHE', str(tmp_path))
    monkeypatch.setenv('FUCINALIB_CHOICES', '')
    yield discovery.load(discovery.SHIPPED)
    monkeypatch.setenv('FUCINALIB_CHOICES', 'table')
    choices.follow({})


def bits(results):
    "The bytes of results, all NaN alike"
    results = results if isinstance(results, tuple) else (results,)
    return [np.where(np.isnan(a), np.float32(np.nan), a).tobytes() for a in results]


@pytest.mark.parametrize('name', choices.EXACT)
@pytest.mark.parametrize('n', (128, 1280))
def test_a_measured_floor_changes_no_bit(name, n, compiled):
    "The double of each kernel whose floor may move gives every bit of its twin, odd values beside all others."
    k, args = kernels.table[name], measuring.arguments(choices.EXACT[name], n)
    for i, a in enumerate(args):
        if isinstance(a, np.ndarray) and a.dtype == np.float32:
            a.reshape(-1)[:] = np.resize(np.concatenate([np.roll(ODD, i), a.reshape(-1)[:len(ODD) + i]]), a.size)
    ran = kernels.stats[name]
    assert bits(k.run(*args)) == bits(k.twin(*args)) and kernels.stats[name] == ran + 1


def test_what_was_kept_is_followed_where_no_digit_changes(compiled, monkeypatch):
    choices.keep(compiled, FOUND)
    choices.follow(compiled)
    assert choices.source == 'measured on this machine' and kernels.table['where'].floor == 256
    assert choices.chosen.chain == 512 and choices.chosen.tiles == choices.CHOICES['tiles'].value
    assert kernels.dispatch.moved_floors() == dict(where=(1 << 12, 256))
    monkeypatch.setenv('FUCINALIB_CHOICES', 'all')
    choices.follow(compiled)
    assert choices.chosen.tiles == 128
    monkeypatch.setenv('FUCINALIB_CHOICES', 'table')
    choices.follow(compiled)
    assert kernels.table['where'].floor == 1 << 12 and choices.chosen.chain == choices.CHOICES['chain'].value


@pytest.mark.parametrize('text', ('', '{', '[]', '{"numbers": {}}', '{"numbers": {"chain": 0}, "floors": {}}',
                                  '{"numbers": {}, "floors": {"where": "many"}}', '\0' * 9, '[' * 99999))
def test_a_damaged_file_leaves_the_table_and_is_told(text, compiled):
    path = choices.keep(compiled, FOUND)
    path.write_text(text)
    choices.follow(compiled)
    assert 'cannot be read' in choices.source and kernels.table['where'].floor == 1 << 12


def test_names_that_are_gone_are_passed_over(compiled):
    path = choices.keep(compiled, dict(numbers=dict(chain=64, gone=1), floors=dict(exp=5)))
    floor = kernels.table['exp'].floor
    choices.follow(compiled)
    assert 'gone' in json.loads(path.read_text())['numbers'] and choices.chosen.chain == 64
    assert not hasattr(choices.chosen, 'gone') and kernels.table['exp'].floor == floor


def test_another_processor_and_other_kernels_are_asked_again(compiled, monkeypatch):
    here = choices.file(compiled)
    assert choices.file({'where': compiled['where']}) != here
    monkeypatch.setattr(choices, 'processor', lambda: 'another')
    assert choices.file(compiled) != here
    choices.follow(compiled)
    assert 'measure' in choices.source


def test_where_nothing_can_be_written(compiled, tmp_path, monkeypatch):
    (tmp_path/'kernels').write_text('a file where the folder should be')
    assert choices.keep(compiled, FOUND) is None
    choices.follow(compiled)
    assert choices.source.startswith('of the table')
    monkeypatch.delenv('FUCINALIB_CACHE')
    monkeypatch.setattr(choices.Path, 'expanduser', lambda p: (_ for _ in ()).throw(RuntimeError('no home')))
    choices.follow(compiled)
    assert choices.source.startswith('of the table') and choices.keep(compiled, FOUND) is None


def test_a_word_that_means_nothing_is_told(compiled, monkeypatch):
    monkeypatch.setenv('FUCINALIB_CHOICES', 'some')
    choices.follow(compiled)
    assert "'some'" in choices.source


def test_both_ways_of_every_choice_are_run(compiled, monkeypatch):
    ran = []
    monkeypatch.setattr(measuring, 'sooner', lambda one, other: ran.append((one(), other())) or True)
    assert measuring.measure(1e9).keys() == {'numbers', 'floors'} and len(ran) > len(choices.EXACT)
    assert vars(choices.chosen) == {name: c.value for name, c in choices.CHOICES.items()}


def test_a_machine_at_work_measures_nothing(compiled, monkeypatch):
    from itertools import count
    monkeypatch.setattr(measuring, 'interrupted', count().__next__)
    monkeypatch.setattr(measuring, 'SIZES', measuring.SIZES[:1])
    assert 'at work' in measuring.measure_and_keep() and measuring.measure_and_keep(once=True) is None
    assert not choices.file(compiled).exists()


def test_a_floor_is_where_the_wins_begin_that_last():
    wins = {1: True, 2: False, 4: True, 8: True}
    assert measuring.from_where(wins.get, [1, 2, 4, 8]) == 4
    assert measuring.from_where(wins.get, [1, 2]) is None
