"""The benchmarks themselves: how often they call, what they keep, what the site makes of it. Nothing here is timed."""
import sys
from pathlib import Path
import pytest
from benchmarks import __main__ as command, counts, harness, history

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT/'docs'))
ROWS = [history.Row('norms', 'layer norm', '100 x 10', 2e-5, 1.5, 2.5, None),
        history.Row('norms', 'rms norm', '100 x 10', 1e-5, None, .4, None),
        history.Row('turns', 'product, softmax', '512^2', .004, 1., None, 1.1)]


@pytest.fixture
def run(): return history.described(ROWS, 2, dict(python='3.11.7', numpy='2.3.0', torch='2.13.0'))


def test_a_run_is_kept_with_its_processor_and_read_back(run, tmp_path, monkeypatch):
    monkeypatch.setattr(history, 'FOLDER', tmp_path)
    path = history.keep(run)
    assert path.parent == tmp_path and path.name.endswith('-2t.json')
    assert path.read_text().count('\n') > len(ROWS) and history.keep(run) == path
    kept, = history.runs()
    assert kept['cases'] == ROWS and kept['processor'] == history.processor() and kept['versions']['torch'] == '2.13.0'


def test_the_worst_come_first_and_need_a_rival():
    assert [r.op for r in history.worst(ROWS, 5)] == ['rms norm', 'layer norm']
    assert [r.op for r in history.worst(ROWS, 1)] == ['rms norm']


def test_every_kept_run_can_be_read():
    for kept in history.runs(): assert kept['processor'] and kept['cases'] and {r.family for r in kept['cases']}


@pytest.mark.parametrize('once, least, most', [(1e-6, 100, 2000), (.004, 12, 80), (.05, 4, 40)])
def test_a_rival_gets_a_budget_not_a_number_of_calls(monkeypatch, once, least, most):
    "On a clock of its own: what takes long is called a few times, what is short often."
    clock, calls = [0.], []
    def f():
        clock[0] += once
        calls.append(1)
    monkeypatch.setattr(harness.time, 'perf_counter', lambda: clock[0])
    monkeypatch.setattr(harness, 'interrupted', lambda: 0)
    found = harness.measure({'ours': f})
    assert found['ours'] == pytest.approx(once) and least <= len(calls) <= most


def test_the_summary_names_the_slowest_first(capsys):
    command.summary(ROWS, 10)
    said = capsys.readouterr().out
    assert said.index('rms norm') < said.index('layer norm') and '1.00x' in said.split('geometric mean')[1]


@pytest.mark.parametrize('words', [['nothing'], ['norms', '--save'], ['--worst', '3', '--save']])
def test_what_cannot_be_asked_for_is_refused(words, monkeypatch, capsys):
    monkeypatch.setattr(sys, 'argv', ['benchmarks', *words])
    with pytest.raises(SystemExit): command.arguments()
    assert 'no family' in capsys.readouterr().err if words == ['nothing'] else True


def test_the_page_shows_the_last_run_of_each_processor(run):
    import pages, speed
    old = {**run, 'date': '2020-01-01', 'cases': ROWS[:1]}
    assert speed.latest([old, run]) == [run]
    picture = lambda svg: '<svg/>' if '<svg' in svg else ''
    told = speed.described({**run, 'cases': ROWS}, pages.table, picture)
    assert history.processor() in told and '<svg/>' in told
    assert '| rms norm |' in told and 'in 1 torch is faster' in told


def test_the_samples_of_the_counts_run():
    for call in counts.samples().values(): call()


def test_times_that_stand_still_are_not_taken_again(monkeypatch):
    "Three turns of a steady clock, not all of them; as many as were asked for of one that drifts."
    clock, step = [0.], [.01, 1.]
    def f():
        clock[0] += step[0]
        step[0] *= step[1]
        calls.append(1)
    monkeypatch.setattr(harness.time, 'perf_counter', lambda: clock[0])
    monkeypatch.setattr(harness, 'interrupted', lambda: 0)
    counts = []
    for step[1] in (1., .9):
        calls = []
        harness.measure(dict(ours=f), rounds=6)
        counts.append(len(calls))
    assert counts[0] < counts[1]


def test_the_page_lists_every_run(run):
    import pages, speed
    run = {**run, 'cases': ROWS}
    told = speed.course([{**run, 'date': '2026-11-01'}, run], pages.table)
    assert told.index('2026-11-01') < told.index(run['date']) and 'norms 1.00x' in told
