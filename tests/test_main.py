"""`python -m fucinalib` tells what there is, and what would make it better."""
import fucinalib as fl
from fucinalib import __main__ as main


def test_report():
    rows = dict(main.report())
    assert rows['fucinalib'] == fl.__version__
    assert rows[fl.current_backend()].endswith('in use') and rows.keys() >= fl.backends().keys()


def test_advice_where_something_is_missing(monkeypatch):
    monkeypatch.setattr(fl, 'backends', lambda: {'numpy': ['add']})
    monkeypatch.setattr(main, 'renderer', lambda: None)
    rows = list(main.report())
    assert ('pictures', 'as text') in rows
    assert [value.partition(':')[0] for name, value in rows if name == 'advice'] == [
        'compile the kernels for speed', 'draw graphs']
