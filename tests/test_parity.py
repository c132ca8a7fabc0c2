"""Values and gradients beside torch: against stored numbers, and live where torch is installed (`make test-all`)."""
import numpy as np
import pytest
import parity

ALL = {f'{f}: {n}': (f, n, c) for f in parity.families() for n, c in parity.cases(f).items()}
each = lambda keep: pytest.mark.parametrize('family,name,c', [a for a in ALL.values() if keep(a[2])],
                                            ids=[n for n, a in ALL.items() if keep(a[2])])
REFRESH = 'python tests/golden/make.py {}'


@pytest.fixture(scope='module')
def golden(): return {f: parity.stored(f)[0] for f in parity.families()}


@each(lambda c: not c.live)
def test_stored(golden, family, name, c):
    assert name in golden[family], f'no stored result; with torch: {REFRESH.format(family)}'
    value, *grads = golden[family][name]
    parity.compare(c, c.seed, value, grads)


def test_nothing_is_stored_for_nobody(golden):
    "A case that is gone takes its numbers along."
    for family, kept in golden.items():
        assert set(kept) == {n for n, c in parity.cases(family).items() if not c.live}, REFRESH.format(family)


@each(lambda c: c.live)
def test_live_cases_are_cases(family, name, c):
    "What only torch judges is at least a call that ours takes."
    y, grads = c.ours(c.seed)
    assert np.isfinite(y.data).all() and all(np.isfinite(g).all() for g in grads)


@pytest.mark.torch
@each(lambda c: True)
@pytest.mark.parametrize('seed', [1, 2])
def test_live(family, name, c, seed):
    pytest.importorskip('torch')
    parity.compare(c, c.seed + seed, *c.theirs(c.seed + seed))


@pytest.mark.torch
@pytest.mark.parametrize('family', parity.families())
def test_stored_is_what_torch_says_today(golden, family):
    "Stored numbers are torch's to rounding, and they say which torch it was."
    torch = pytest.importorskip('torch')
    assert parity.stored(family)[1].split('+')[0] == torch.__version__.split('+')[0], REFRESH.format(family)
    for name, c in parity.cases(family).items():
        if c.live: continue
        value, grads = c.theirs(c.seed)
        for a, b in zip(golden[family][name], [value, *(grads if c.grad else [])], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12, err_msg=name)
