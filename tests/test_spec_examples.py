"""The worked examples of the operation tables (tests/data/vectors.json): value, tags, number type
and gradient of each."""
import json
from pathlib import Path
import numpy as np
import pytest
import fucinalib as fl

SECTIONS = '4.2 4.3 4.4 4.5 4.6 4.7 4.8 4.9 4.10 4.12 4.15 4.14 4.17 4.13'.split()    # what is built so far
VECTORS = [v for v in json.loads((Path(__file__).parent / 'data/vectors.json').read_text())
           if v['section'] in SECTIONS and v['row'] != 'co.dot_half']


def square_by_elemental(x):
    "x**2 written by a user as an elemental operation."
    return fl.elemental(lambda x, y, g: 2 * x * g)(lambda x: x * x)(x)


@pytest.mark.parametrize('v', VECTORS, ids=lambda v: v['row'])
def test_vector(v):
    names = {k: fl.Tensor(np.array(o['data'], fl.dtypes.as_dtype(o['dtype']).np), o['tags'],
                          requires_grad=k in v.get('grad', {})) for k, o in v['operands'].items()}
    scope = {'fl': fl, 'square_by_elemental': square_by_elemental, **names}
    for k, text in v.get('let', {}).items(): scope[k] = eval(text, scope)
    y = eval(v['call'], scope)
    np.testing.assert_allclose(y.numpy(), v['out'], rtol=0, atol=v.get('tol', 1e-6 if 'tol' in v else 0))
    if 'out_tags' in v: assert y.tags == fl.parse(v['out_tags'])
    if 'dtype' in v: assert y.dtype == v['dtype']
    if 'grad' in v:
        y.sum().backward()
        for k, g in v['grad'].items(): np.testing.assert_array_equal(names[k].grad.numpy(), g)


ROWS = [line.split('\t') for line in (Path(__file__).parent / 'data/rows.tsv').read_text().splitlines()[1:]]

@pytest.mark.parametrize('row,names',
                         [(row, built) for row, _, built in ROWS if not built.startswith('rule: ')],
                         ids=lambda v: v)
def test_row_is_built(row, names):
    "Every row of the operation tables is a name of the library, or a rule that it keeps."
    for name in names.split():
        assert name in fl.registry or hasattr(fl, name) or hasattr(fl.Tensor, name), f'{row}: no {name}'
