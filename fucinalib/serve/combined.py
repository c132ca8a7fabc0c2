"""Schemas made of schemas: one of several, all at once, one that is written elsewhere.

The functions take the Schema of chapter 53a as `self`, and say which one schema such a thing comes to."""
from ..errors import brief
from .unfit import BOUND, SILENT, check_keywords, unfit_schema

__all__ = ['COMBINED', 'kinds_meant', 'kinds_of_value']


def kinds_meant(schema):
    "The types that a schema without one means."
    found = [kind for kind, words in BOUND.items() if any(w in schema for w in words)]
    return found or ['object', 'array', 'string', 'number', 'boolean', 'null']


def kinds_of_value(v):
    "The types that a value has."
    if isinstance(v, bool): return ['boolean']
    if isinstance(v, int) or isinstance(v, float) and v.is_integer(): return ['integer', 'number']
    return [{type(None): 'null', float: 'number', str: 'string', list: 'array', dict: 'object'}[type(v)]]


def binding(schema, *but): return {k: v for k, v in schema.items() if k not in but and k not in SILENT}


# ---- the words
def any_of(self, schema, at, word='anyOf'):
    "One of several schemas, each with what stands beside them."
    beside = binding(schema, word)
    options = [merged(self, o, beside, at) for o in schema[word] if o is not False]
    if not options: raise unfit_schema(f'{at}/{word}', 'has no option', 'a list of schemas')
    return self.grammar.either(*[self.of(o, f'{at}/{word}/{i}') for i, o in enumerate(options)])


def one_of_them(self, schema, at):
    "Just one of several: they must be apart, since a grammar does not see that a value fits two."
    for i, a in enumerate(schema['oneOf']):
        for b in schema['oneOf'][:i]:
            if not apart(self, a, b): raise unfit_schema(at, 'has a oneOf that may overlap', 'anyOf, if either will do')
    return any_of(self, schema, at, 'oneOf')


def all_of(self, schema, at): return self.of(plain_schema(self, schema, at), at)


def referred(self, schema, at):
    "What a reference means, with what stands beside it."
    if binding(schema, '$ref'): return self.of(plain_schema(self, schema, at), at)
    ref = schema['$ref']
    return self.grammar.name((id(self), ref), lambda: self.of(pointed(self, ref, at), ref))


COMBINED = {'$ref': referred, 'allOf': all_of, 'anyOf': any_of, 'oneOf': one_of_them}


# ---- one schema of several
def pointed(self, ref, at):
    "The schema that a reference means."
    found = self.root
    try:
        if not ref.startswith('#'): raise KeyError(ref)
        for part in ref.split('/')[1:]:
            part = part.replace('~1', '/').replace('~0', '~')
            found = found[int(part)] if isinstance(found, list) else found[part]
    except (LookupError, ValueError, TypeError):
        raise unfit_schema(at, f'refers to {brief(ref)}, which is not there', '"$ref": "#/$defs/name"') from None
    return found


def plain_schema(self, schema, at, deep=0):
    "A schema that is no reference, and is not joined of others."
    if deep > 64: raise unfit_schema(at, 'refers to itself', 'a schema')
    self.count_part()
    if schema is True or schema is False: return schema
    if not isinstance(schema, dict): raise unfit_schema(at, f'is {brief(schema)}', 'an object, or true')
    check_keywords(schema, at)
    whole = {k: v for k, v in schema.items() if k not in ('$ref', 'allOf')}
    parts = [pointed(self, schema['$ref'], at)] if '$ref' in schema else []
    for part in [*parts, *schema.get('allOf', [])]:
        whole = merged(self, whole, plain_schema(self, part, at, deep + 1), at)
    return whole


def merged(self, a, b, at):
    "A schema of the values that fit both."
    for s in (a, b):
        if not isinstance(s, (dict, bool)): raise unfit_schema(at, f'is {brief(s)}', 'an object, or true')
    if a is False or b is False: return False
    if a is True or not binding(a): return b
    if b is True or not binding(b): return a
    a, b = [plain_schema(self, s, at) for s in (a, b)]
    shut = [s for s in (a, b) if s.get('additionalProperties', True) is not True]
    named = [{*s['properties']} for s in (a, b) if 'properties' in s]
    if shut and named[1:] and named[0] != named[1]:
        raise unfit_schema(at, 'joins objects, and one forbids what the other has', 'additionalProperties: true')
    found = dict(a)
    for word, value in b.items():
        if word not in found or found[word] == value or word in SILENT: found.setdefault(word, value)
        elif word in JOINS: found[word] = JOINS[word](found[word], value)
        else: raise unfit_schema(at, f'has two of {word}', 'one of them')
    return found


def joined_properties(a, b):
    "Properties of both, each by what either says of it."
    return {**a, **b, **{k: dict(allOf=[a[k], b[k]]) for k in a if k in b}}


def common_kinds(a, b):
    "Types of a value that is of one of each; every integer is a number."
    a, b = [{s} if isinstance(s, str) else {*s} for s in (a, b)]
    wide = [s | ({'integer'} if 'number' in s else set()) for s in (a, b)]
    both = wide[0] & wide[1]
    return sorted(both - ({'integer'} if 'number' in both else set()))


JOINS = dict(
    **dict.fromkeys('minimum exclusiveMinimum minLength minItems minProperties'.split(), max),
    **dict.fromkeys('maximum exclusiveMaximum maxLength maxItems maxProperties'.split(), min),
    properties=joined_properties, type=common_kinds, required=lambda a, b: [*dict.fromkeys([*a, *b])],
    enum=lambda a, b: [v for v in a if v in b], uniqueItems=lambda a, b: a or b,
    items=lambda a, b: dict(allOf=[a, b]), additionalProperties=lambda a, b: dict(allOf=[a, b]))


def apart(self, a, b):
    "Whether it is plain that no value fits both."
    a, b = [plain_schema(self, s, '#/oneOf') for s in (a, b)]
    if not isinstance(a, dict) or not isinstance(b, dict): return False is a or False is b
    values = [[s['const']] if 'const' in s else s.get('enum') for s in (a, b)]
    if None not in values: return not [v for v in values[0] if v in values[1]]
    kinds = [{k for v in vs for k in kinds_of_value(v)} if vs is not None else s.get('type') or kinds_meant(s)
             for s, vs in zip((a, b), values)]
    if not common_kinds(*kinds): return True
    of = lambda s, key: s.get('properties', {}).get(key, True)
    both = {*a.get('required', ())} & {*b.get('required', ())}
    return common_kinds(*kinds) == ['object'] and any(apart(self, of(a, k), of(b, k)) for k in both)
