"""Schemas to grammars to masks: what fits a grammar fits its schema, and a mask holds just the tokens that may come."""
import itertools, json
import numpy as np
import pytest
from fucinalib.serve.schemas import Grammar, Guide, Schema, TokenTree, mask
from fucinalib.serve.unfit import SchemaError
from speaker import Bytes

def fits(schema, text):
    "Whether a grammar takes a text, given as JSON writes it or as a value."
    made = Schema(schema)
    state = made.grammar.follow(made.grammar.begin(made.rule), text.encode())
    return state is not None and made.grammar.is_over(state)

NAMED = dict(type='object', properties=dict(a=dict(type='integer'), b=dict(type='string')), required=['b'])
TREE = {'$defs': {'n': dict(type='object', properties=dict(v=dict(type='integer'), of=dict(
    type='array', items={'$ref': '#/$defs/n'})), required=['v'])}, '$ref': '#/$defs/n'}
CASES = [
    (True,
    '1 null "a" [] {} [1,[2,{"a":null}]] -0.5 true "\\n" "\\u00e9"', "{'a':1} [1,] 01 +1 .5 nul tru \"\n\" [1 1e9"),
    (dict(type='integer'), '0 -1 123', '1.0 1. - -0 00 01 "1"'), (dict(type='number'), '0 -0.5 1.25 3', '.5 1. 1e3 -'),
    (dict(type='integer', minimum=37, maximum=4512), '37 99 100 999 1000 4500 4512', '36 4513 9 10000 5000 037'),
    (dict(type='integer', minimum=-15, maximum=7), '-15 -9 -1 0 7', '-16 8 -0 -20 10'),
    (dict(type='integer', exclusiveMinimum=0, exclusiveMaximum=10), '1 9', '0 10 -1'),
    (dict(type='integer', minimum=1.5, maximum=2.5), '2', '1 3'),
    (dict(type='integer', maximum=-3), '-3 -999', '-2 0 3'),
    (dict(type='number', minimum=0, maximum=1), '0 0.5 1 0.999', '1.1 -0.5 2 1.0'),
    (dict(type='number', minimum=-1.5, exclusiveMaximum=2), '-1 -0.5 0.9 0 0.0 1', '2 -1.6 -2 2.0'),
    (dict(type='number', exclusiveMinimum=0, maximum=3), '0.5 1 2.5 3'[4:], '0 -1 3.5'),
    (dict(type='string'), '"" "abc" "é" "😀" "\\"" "\\\\"', '"a a\' "\t"'),
    (dict(type='string', minLength=2, maxLength=3), '"ab" "éé" "abc" "a\\n"', '"" "a" "abcd" "éééé"'),
    (dict(type='string', pattern='^[a-c]+x?$'), '"a" "abcx"', '"" "d" "ax1" "xx"'),
    (dict(type='string', pattern='^(ab|cd){2}\\d$'), '"abcd1" "cdcd9"', '"ab1" "abcd"'),
    (dict(type='string', pattern='b'), '"b" "abc"', '"" "ac"'),
    (dict(type='string', pattern='^"\\\\$'), '"\\"\\\\"', '"a"'),
    (dict(type='string', pattern='^[^a]é.$'), '"béx" "éé😀"', '"aéx" "bx"'),
    (dict(enum=['yes', 'no', 3, None]), '"yes" 3 null', '"ye" 4 yes'), (dict(const={'a': [1]}), '{"a": [1]}', '{}'),
    (dict(type='string', enum=['a', 1]), '"a"', '1'), (dict(type=['string', 'null']), '"a" null', '1'),
    (dict(type='boolean'), 'true false', 'null True'), (NAMED, '{"b":"x"} {"a":1,"b":""} { "b": "x" }',
                                                        '{} {"a":1} {"b":"x","a":1} {"a":1"b":""} {,"b":""}'),
    (dict(properties=dict(a={}, b={}, c={})), '{} {"a":1} {"b":1} {"a":1,"c":2} {"b":1,"c":[]}',
    '{"c":1,"a":1} {"d":1}'),
    (dict(type='object', additionalProperties=dict(type='integer')), '{} {"x":1} {"x":1,"y":2}', '{"x":"1"}'),
    (dict(type='object', additionalProperties=False), '{}', '{"a":1}'),
    (dict(type='object', maxProperties=1), '{} {"a":1}', '{"a":1,"b":2}'),
    (dict(type='object', required=['a']), '{"a":1}', '{}'),
    (dict(type='array'), '[] [1,"a"]', '[,] [1,]'), (dict(type='array', maxItems=0), '[]', '[1]'),
    (dict(type='array', items=dict(type='integer'), minItems=1, maxItems=3), '[1] [1,2,3]', '[] [1,2,3,4] ["a"]'),
    (dict(prefixItems=[dict(type='integer'), dict(type='string')], items=False), '[] [1] [1,"a"]', '["a"] [1,"a",2]'),
    (dict(prefixItems=[dict(const=1)], minItems=2, maxItems=3), '[1,2] [1,"x",null]', '[1] [1,2,3,4] [2,2]'),
    (dict(anyOf=[dict(type='integer'), dict(type='string')], minimum=5), '5 "a"', '4'),
    (dict(oneOf=[dict(type='integer'), dict(type='string')]), '4 "a"', 'null'),
    (dict(oneOf=[dict(properties=dict(k=dict(const=c)), required=['k'], type='object') for c in 'ab']), '{"k":"a"}',
    '{"k":"c"}'),
    (dict(allOf=[dict(type='integer', minimum=3), dict(maximum=5), dict(minimum=4)]), '4 5', '3 6'),
    (dict(allOf=[NAMED, dict(properties=dict(c=dict(type='null')), required=['c'])]), '{"b":"x","c":null}',
    '{"b":"x"}'),
    (TREE, '{"v":1} {"v":1,"of":[{"v":2,"of":[]},{"v":3}]}', '{"of":[]} {"v":1,"of":[1]}'),
    ({'$ref': '#/definitions/a~1b', 'definitions': {'a/b': dict(type='null')}}, 'null', '1'),
    ({'type': 'object', 'properties': {'n': {'anyOf': [{'$ref': '#'}, {'type': 'null'}]}}, 'required': ['n']},
     '{"n":null} {"n":{"n":null}}', '{}')]

@pytest.mark.parametrize('schema, right, wrong', CASES, ids=range(len(CASES)))
def test_a_grammar_takes_what_fits_the_schema(schema, right, wrong):
    for text in words(right): assert fits(schema, text), text
    for text in words(wrong): assert not fits(schema, text), text

def words(line):
    "Texts between blanks that are not in brackets or quotes; a text that is no JSON ends at a blank."
    found, text = [], ''
    for piece in line.split(' '):
        text = f'{text} {piece}' if text else piece
        if text.count('{') == text.count('}') and text.count('[') == text.count(']') or text[0] not in '{[':
            found.append(text)
            text = ''
    return found + [text] * bool(text)

def test_blanks_between_the_parts_have_an_end():
    for text in ('{"b": "x"}', '{ "b":"x" }', '{\n  "b": "x"\n}', ' {"b":"x"}', '\n{"b":"x"}'):
        assert fits(NAMED, text), text
    for text in ('{"b":  "x"}', '{"b":"x"} ', '{\n\n"b":"x"}', '{"b":"x",\t"a":1}'): assert not fits(NAMED, text), text

def nested(word, n):
    one = dict(type='null')
    for _ in range(n): one = {word: one}
    return one

def doubled(n):
    "Short to send, and each level is looked at twice."
    one = dict(type='string', maxLength=9)
    for _ in range(n): one = dict(anyOf=[dict(one), dict(one, maxLength=9)], minLength=1)
    return one

REFUSED = [
    (dict(type='string', maxlength=3), 'maxlength'), (dict(type='text'), "type 'text'"),
    (dict(type='array', uniqueItems=True), 'unique'),
    (dict(type='object', patternProperties={}), 'patternProperties'), ({'not': {}}, "'not'"),
    ({'$ref': '#/x'}, 'not there'),
    ({'$ref': 'http://x'}, 'not there'), (dict(type='integer', minimum=3, maximum=2), 'no whole number'),
    (False, 'is False'),
    (dict(type='string', minLength=3, maxLength=2), '3 to 2'), (dict(type='string', minLength=-1), 'a size'),
    (3, 'is 3'),
    (dict(oneOf=[dict(type='integer'), dict(type='number')]), 'overlap'), (dict(type='string', pattern='(a'), 'wrong'),
    (dict(type='string', pattern='(a)\\1'), 'groupref'), (dict(type='string', pattern='a(?=b)'), 'assert'),
    (dict(type='string', pattern='^a$', maxLength=3), 'a pattern and a length'), (dict(enum=[]), 'no value'),
    (dict(type='integer', enum=['a']), 'no value'), (dict(enum=[1], minimum=0), 'enum'), (dict(anyOf=[]), 'no option'),
    (dict(type='object', required=['a'], additionalProperties=False), 'forbids'), (dict(multipleOf=2), 'multipleOf'),
    (dict(type='object', minProperties=1), 'counts'),
    ({'type': 'array', 'items': {'$ref': '#'}, 'minItems': 1}, 'without an end'),
    ({'$ref': '#'}, 'without an end'), ({'allOf': [{'$ref': '#'}]}, 'refers to itself'), (dict(properties=[]), 'is []'),
    (dict(allOf=[dict(type='string', pattern='a'), dict(pattern='b')]), 'two of pattern'),
    (dict(type='integer', minimum='1'), "'1'"),
    (dict(type='number', exclusiveMinimum=1, exclusiveMaximum=1), 'no number'), (dict(required='a'), "'a'"),
    (dict(type=[['a']]), "[['a']]"), (dict(required=[[]]), '[[]]'), (dict(allOf=[3]), 'is 3'),
    (dict(anyOf=['a']), "'a'"),
    (dict(oneOf=[dict(const=i) for i in range(3000)]), 'too many parts'), (nested('items', 3000), 'deeper than 100'),
    (doubled(25), 'too many parts'), (dict(properties={f'k{i}': True for i in range(20000)}), 'too many parts')]

@pytest.mark.parametrize('schema, said', REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_promised_is_refused(schema, said):
    with pytest.raises(SchemaError) as e: Schema(schema)
    assert said in str(e.value) and 'help:' in str(e.value)


# ---- masks
class Pieces(Bytes):
    "All bytes, and longer tokens."
    def __init__(self, *longer):
        super().__init__(['<|im_end|>'])
        self.pieces += [p.encode() if isinstance(p, str) else p for p in longer]
    def bytes(self, ids): return b''.join(self.pieces[i] for i in ids)

LONGER = ['{"', '":', '", "', '"}', 'ab', 'abc', 'abcd', 'é', 'éa', b'\xc3', b'\xa9"', 'true', 'null', '12', '123',
    '1.', '},{', ']}',
          '\\n', '\\', '"a', 'a"', '  ', ' ', '😀', b'\xf0\x9f', b'\x98\x80', 'a\n', ': ', '[]', '[[', '{}', '-1',
            '0.5']

@pytest.mark.parametrize('schema', [s for s, *_ in CASES], ids=range(len(CASES)))
def test_a_mask_holds_just_the_tokens_that_may_come(schema):
    tokens, made = TokenTree(Pieces(*LONGER)), Schema(schema)
    g, rng = made.grammar, np.random.default_rng(0)
    for _ in range(3):
        state = g.begin(made.rule)
        for _ in range(25):
            found = mask(g, state, tokens)
            right = [bool(b) and g.follow(state, b) is not None for b in tokens.bytes]
            np.testing.assert_array_equal(found, right)
            if not found.any(): break
            state = g.follow(state, tokens.bytes[int(rng.choice(np.flatnonzero(found)))])

def answer_of(schema, seed, tokens, most=400):
    "What a model without sense says in a schema; it likes to come to an end."
    guide, rng = Guide(schema.grammar, schema.rule, tokens, {256}), np.random.default_rng(seed)
    row = np.array([3. * (b in (b'"', b']', b'}', b'"}', b',')) for b in tokens.bytes], 'f4')
    row[256], said = 4, b''
    for n in range(most):
        bent = guide.bent(row + rng.gumbel(size=row.size).astype('f4') + 9 * (n > 80) * row)
        id = int(bent.argmax())
        if id == 256: return said.decode()
        said += tokens.bytes[id]
        guide.take(id)
    return None

def test_what_a_guide_lets_through_is_json_of_its_form():
    tokens, ended = TokenTree(Pieces(*LONGER)), 0
    for schema, seed in itertools.product([s for s, *_ in CASES], range(4)):
        if (said := answer_of(Schema(schema), seed, tokens)) is None: continue
        ended += 1
        json.loads(said)
        assert fits(schema, said), said
    assert ended > 3 * len(CASES)

def test_a_guide_waits_until_the_model_has_thought():
    made, tokens = Schema(dict(const=1)), TokenTree(Bytes())
    guide = Guide(made.grammar, made.rule, tokens, {258}, after='</think>')
    row = np.zeros(265, 'f4')
    for c in b'hm </think>':
        assert guide.bent(row) is row
        guide.take(c)
    assert np.flatnonzero(np.isfinite(guide.bent(row))).tolist() == [*b'\n 1']
    guide.take(ord('1'))
    assert np.flatnonzero(np.isfinite(guide.bent(row))).tolist() == [258]

def test_a_longer_row_than_the_vocabulary_is_cut_to_it():
    made = Schema(dict(const=1))
    row = Guide(made.grammar, made.rule, TokenTree(Bytes()), {258}).bent(np.zeros(300, 'f4'))
    assert row.shape == (300,) and np.isinf(row[265:]).all()

def test_no_way_on_is_said():
    made = Schema(dict(const='é'))
    guide = Guide(made.grammar, made.rule, TokenTree(Pieces()), {256})
    for b in '"é"'.encode(): guide.take(b)
    assert guide.allowed().nonzero()[0].tolist() == [256]
    g = Grammar()
    guide = Guide(g, g.text('\x00'), TokenTree(NoZero()), {256})
    with pytest.raises(SchemaError, match='no token'): guide.bent(np.zeros(257, 'f4'))

class NoZero(Pieces):
    def bytes(self, ids): return b''.join(b'' if i == 0 else self.pieces[i] for i in ids)


# ---- against the validator that others use
def made_up(rng, depth=0):
    "A schema at random."
    kinds = 'integer number string boolean null enum pattern'.split() + 'object array any one all'.split() * (depth < 3)
    kind, below = rng.choice(kinds), lambda: made_up(rng, depth + 1)
    some = lambda a, b: int(rng.integers(a, b + 1))
    if kind in ('integer', 'number'):
        lo = some(-2000, 2000) / (1 if kind == 'integer' else 8)
        return dict(type=kind) | rng.choice([
            {}, dict(minimum=lo), dict(maximum=lo), dict(minimum=lo, maximum=lo + some(0, 3000)),
            dict(exclusiveMinimum=lo, exclusiveMaximum=lo + some(2, 50))])
    if kind == 'string':
        n = some(0, 9)
        return dict(type=kind) | rng.choice([{}, dict(maxLength=n), dict(minLength=2, maxLength=2 + n)])
    if kind in ('boolean', 'null'): return dict(type=str(kind))
    if kind == 'enum': return dict(enum=[*rng.choice(['a', 'b"c',
        'é'], 2).tolist(), some(0, 99), None, [1], {'k': 0.5}])
    if kind == 'pattern':
        patterns = ['^[a-f0-9]{4}$', '^(yes|no)$', 'x+y?', '^\\d{2}-\\w+', '[^"]$']
        return dict(type='string', pattern=str(rng.choice(patterns)))
    if kind == 'object':
        names = rng.choice([*'abcdef', 'g h', 'é"'], some(0, 4), replace=False).tolist()
        found = dict(type='object', properties={n: below() for n in names})
        if names: found['required'] = [n for n in names if rng.random() < .5]
        return found | rng.choice([{}, *[dict(additionalProperties=more) for more in (False, dict(type='integer'))]])
    if kind == 'array':
        lo = some(0, 2)
        return dict(type='array') | rng.choice([
            dict(items=below()), dict(items=below(), minItems=lo, maxItems=lo + some(0, 3)),
            dict(prefixItems=[below(), below()], items=bool(rng.random() < .5))])
    if kind == 'any': return dict(anyOf=[below() for _ in range(some(1, 3))])
    if kind == 'one':
        return dict(oneOf=[dict(type='string', maxLength=5), dict(type='integer'), dict(type='array', items=below())])
    return dict(allOf=[dict(type='integer', minimum=some(-9, 9)), dict(maximum=some(10, 99))])

@pytest.mark.torch
def test_a_thousand_schemas_against_jsonschema():
    from jsonschema import Draft202012Validator
    tokens, rng, ended = TokenTree(Pieces(*LONGER)), np.random.default_rng(1), 0
    for seed in range(1000):
        schema = made_up(rng)
        Draft202012Validator.check_schema(schema)
        if (said := answer_of(Schema(schema), seed, tokens)) is None: continue
        ended += 1
        wrong = [e.message for e in Draft202012Validator(schema).iter_errors(json.loads(said))]
        assert not wrong, (schema, said, wrong)
    assert ended > 950

@pytest.mark.torch
def test_what_the_grammar_takes_the_validator_takes():
    from jsonschema import Draft202012Validator
    for schema, right, _ in CASES:
        for text in words(right): Draft202012Validator(schema).validate(json.loads(text))

@pytest.mark.parametrize('pattern', ['^(a?){0,4000000000}$', '^(((a?){900}){900}){900}$', '(a{1,1000}){1,1000}'])
def test_a_pattern_with_too_many_ways_ends_its_own_answer(pattern):
    made = Schema(dict(type='string', pattern=pattern))
    with pytest.raises(SchemaError, match='too many ways'):
        made.grammar.follow(made.grammar.begin(made.rule), b'"' + b'a' * 2000)

def test_letters_beyond_latin_stand_in_patterns():
    made = Schema(dict(type='string', pattern='^\u20ac[\u4f60\u597d]$'))
    state = made.grammar.follow(made.grammar.begin(made.rule), '"\u20ac\u597d"'.encode())
    assert made.grammar.is_over(state)
