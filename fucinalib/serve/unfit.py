"""What schemas may say here, what is refused, and how it is said."""
import json
from math import ceil, floor
from ..errors import FucinaError, brief, did_you_mean, fault

__all__ = ['SchemaError', 'unfit_schema', 'check_keywords', 'check_schema_sizes', 'check_lengths', 'check_values',
           'bounds_of', 'between_whole', 'endless', 'no_way_on', 'too_large', 'too_many_ways',
           'PARTS', 'STACKS', 'SILENT', 'BOUND', 'FAR']


class SchemaError(FucinaError, ValueError): "A schema that is wrong, or asks for what no grammar here can promise."


def unfit_schema(at, what, help): return fault(SchemaError, f'the schema at {at} {what}', help=help)
def endless(): return fault(SchemaError, 'the schema describes values without an end', help='let something be left out')

PARTS = 10_000        # of a schema, looked at alone or beside each other
STACKS = 1_000_000    # of a grammar, looked at for one token: about a second

def too_large(): return fault(SchemaError, 'the schema has too many parts, or lies too deep', help='a smaller one')

def too_many_ways():
    head = 'the schema can be gone on with in too many ways'
    return fault(SchemaError, head, help='a pattern without repeats within repeats')

def no_way_on():
    head = 'no token of this vocabulary goes on with the form'
    return fault(SchemaError, head, help='another schema, or without one')


# words that bind nothing, and those that bind the values of a type
SILENT = set('title description default examples deprecated readOnly writeOnly strict format $schema $id $comment '
             '$defs definitions'.split())
BOUND = dict(object='properties required additionalProperties minProperties maxProperties'.split(),
             array='items prefixItems minItems maxItems uniqueItems'.split(),
             string='minLength maxLength pattern'.split(),
             number='minimum maximum exclusiveMinimum exclusiveMaximum'.split())
KNOWN = {*'type enum const anyOf oneOf allOf $ref'.split(), *(w for words in BOUND.values() for w in words)}
KINDS = dict(dict.fromkeys('properties $defs definitions'.split(), dict),
             **dict.fromkeys('required prefixItems enum anyOf oneOf allOf'.split(), list),
             **dict.fromkeys('pattern $ref'.split(), str), uniqueItems=bool, type=(str, list))


DEEP = 100      # steps from the schema to a part of it


def check_keywords(schema, at):
    "Refuse a word that is not known here, or has a value of another kind."
    if at.count('/') > DEEP: raise unfit_schema(brief(at), f'stands deeper than {DEEP} steps', '$ref and $defs')
    for word, value in schema.items():
        if word not in KNOWN and word not in SILENT:
            raise unfit_schema(at, f'has {brief(word)}', did_you_mean(word, sorted(KNOWN), 'known here'))
        names = value if word in ('type', 'required') and isinstance(value, list) else ()
        if word in KINDS and not isinstance(value, KINDS[word]) or not all(isinstance(v, str) for v in names):
            raise unfit_schema(f'{at}/{word}', f'is {brief(value)}', 'https://json-schema.org says what it is')


def check_schema_sizes(schema, at, named=(), need=()):
    "Whether sizes are whole numbers, none above its most; and properties not counted but named."
    for what in ('Length', 'Items', 'Properties'):
        least, most = schema.get(f'min{what}', 0), schema.get(f'max{what}')
        for size in (least, 0 if most is None else most):
            if isinstance(size, bool) or not isinstance(size, int) or size < 0:
                raise unfit_schema(at, f'has {brief(size)} as a size', 'a whole number, 0 or more')
        if most is not None and least > most:
            raise unfit_schema(at, f'wants {least} to {most}', f'min{what} up to max{what}')
    if 'pattern' in schema and {'minLength', 'maxLength'} & schema.keys():
        raise unfit_schema(at, 'has a pattern and a length', 'the length in the pattern: ^[a-z]{1,9}$')
    if schema.get('minProperties', 0) > len({*need}) or named and schema.get('maxProperties', len(named)) < len(named):
        raise unfit_schema(at, 'counts its properties', 'required, which names them')
    for key in need:
        if named[key] is False: raise unfit_schema(at, f'requires {brief(key)} and forbids it', 'one of both')


def check_lengths(schema, at):
    "(least, most) entries of an array."
    check_schema_sizes(schema, at)
    least, most = schema.get('minItems', 0), schema.get('maxItems')
    if schema.get('items') is False:
        there = len(schema.get('prefixItems', []))
        most = there if most is None else min(there, most)
    if schema.get('uniqueItems') and most not in (0, 1):
        raise unfit_schema(at, 'has uniqueItems', 'maxItems of 1, or without it')
    if most is not None and least > most: raise unfit_schema(at, f'wants {least} entries and has {most}', 'minItems')
    return least, most


def check_values(schema, at, values):
    "Whether some values are left of an enum, and nothing else binds them."
    if more := schema.keys() - SILENT - {'const', 'enum', 'type'}:
        raise unfit_schema(at, f'has enum or const, and {sorted(more)[0]}', 'enum alone')
    if not values: raise unfit_schema(at, 'lists no value of its type', '"enum": ["yes", "no"]')


# ---- numbers
FAR = 10**15 - 1      # beyond, a float is no whole number any more

def bounds_of(schema, at, whole=False):
    "The least and the most whole number of a schema."
    for word in BOUND['number']:
        if isinstance(v := schema.get(word, 0), bool) or not isinstance(v, (int, float)) or v != v or abs(v) == 2e308:
            raise unfit_schema(f'{at}/{word}', f'is {brief(v)}', 'a number')
    under = lambda word, change, step: change(schema[word]) + step if word in schema else None
    lo = [under('minimum', ceil, 0), under('exclusiveMinimum', floor, 1), -FAR]
    hi = [under('maximum', floor, 0), under('exclusiveMaximum', ceil, -1), FAR]
    lo, hi = max(n for n in lo if n is not None), min(n for n in hi if n is not None)
    if whole and lo > hi: raise unfit_schema(at, f'has no whole number: {lo} to {hi}', 'minimum up to maximum')
    return lo, hi


def between_whole(schema, at):
    "A number where there is no whole one."
    lo = max(schema.get(w, -FAR) for w in BOUND['number'][::2])
    hi = min(schema.get(w, FAR) for w in BOUND['number'][1::2])
    for digits in range(1, 16):
        x = round((lo + hi) / 2, digits)
        if lo < x < hi: return json.dumps(x)
    raise unfit_schema(at, f'has no number: {lo} to {hi}', 'minimum below maximum')
