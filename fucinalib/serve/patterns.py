"""The patterns of JSON schemas as rules of a grammar: expressions that tell texts apart by their letters alone.

What a grammar cannot promise (looking ahead, groups that are named again) is refused. Letters beyond ASCII are taken
where the pattern writes them; a class such as [^a] or . means any of them too, \\w and its kind those of ASCII."""
from re import _constants as c, _parser as parser, error

__all__ = ['PatternError', 'pattern_rule']

LETTERS = frozenset(range(0x20, 0x7f))
LIMIT = 1000      # times that a part may be repeated


class PatternError(ValueError): "A pattern that is wrong, or asks for what no grammar can promise."


def pattern_rule(g,        # the grammar
                 pattern,  # as text
                 wide,     # the rule for a letter beyond ASCII
                ):
    "The rule for texts in JSON that a pattern finds something in."
    try: parts = [*parser.parse(pattern)]
    except (error, TypeError, RecursionError) as e: raise PatternError(f'that is wrong: {e}') from None
    open_ = g.many(any_of_class(g, LETTERS, wide))
    begin = parts[:1] in ([(c.AT, c.AT_BEGINNING)], [(c.AT, c.AT_BEGINNING_STRING)])
    end = parts[-1:] in ([(c.AT, c.AT_END)], [(c.AT, c.AT_END_STRING)]) and len(parts) > begin
    inside = [rule_of_part(g, part, wide) for part in parts[begin:len(parts) - end]]
    return g.seq(*([] if begin else [open_]), *inside, *([] if end else [open_]))


def rule_of_part(g, part, wide):
    "The rule of one part of a parsed pattern."
    kind, what = part
    whole = lambda parts: g.seq(*[rule_of_part(g, p, wide) for p in parts])
    if kind is c.LITERAL: return written_letter(g, what)
    if kind is c.NOT_LITERAL: return any_of_class(g, LETTERS - {what}, wide if what < 0x80 else None)
    if kind is c.ANY: return any_of_class(g, LETTERS, wide)
    if kind is c.IN: return rule_of_class(g, what, wide)
    if kind is c.BRANCH: return g.either(*[whole(parts) for parts in what[1]])
    if kind is c.SUBPATTERN and not what[1] and not what[2]: return whole(what[3])
    if kind in (c.MAX_REPEAT, c.MIN_REPEAT):
        least, most, parts = what
        if least > LIMIT: raise PatternError(f'that repeats {least} times')
        return g.many(whole(parts), least, None if most is c.MAXREPEAT else most)
    raise PatternError(f'with {str(kind).lower()}, which no grammar can promise')


CATEGORIES = {c.CATEGORY_DIGIT: frozenset(range(0x30, 0x3a)), c.CATEGORY_SPACE: frozenset(b' '),
              c.CATEGORY_WORD: frozenset(b for b in LETTERS if chr(b).isalnum() or b == ord('_'))}
OTHERS = {c.CATEGORY_NOT_DIGIT: c.CATEGORY_DIGIT, c.CATEGORY_NOT_SPACE: c.CATEGORY_SPACE,
          c.CATEGORY_NOT_WORD: c.CATEGORY_WORD}


def rule_of_class(g, items, wide):
    "One letter of a class, as [a-z_] or [^,]."
    negated, found, far = items[0][0] is c.NEGATE, set(), []
    for kind, what in items[negated:]:
        if kind is c.LITERAL: found.add(what)
        elif kind is c.RANGE:
            found |= {*range(what[0], min(what[1], 0x7e) + 1)}
            if what[1] >= 0x80: far += [max(what[0], 0x80), what[1]]
        elif what in CATEGORIES: found |= CATEGORIES[what]
        else: found |= LETTERS - CATEGORIES[OTHERS[what]]
    far += [b for b in found if b >= 0x80]
    if negated: return any_of_class(g, LETTERS - found, None if far else wide)
    options = [written_letter(g, b) for b in sorted({b for b in found if b not in LETTERS} | {*far})]
    return g.either(any_of_class(g, LETTERS & found), *options)


def any_of_class(g, letters, wide=None):
    "One of some letters of ASCII, or any other letter; those with an escape in JSON are written so."
    plain = g.one_byte(letters - {*b'"\\'})
    escaped = [written_letter(g, b) for b in b'"\\' if b in letters]
    return g.either(plain, *escaped, *([] if wide is None else [wide]))


def written_letter(g, code):
    "A letter as JSON writes it."
    if code in {*b'"\\'}: return g.text('\\' + chr(code))
    if code < 0x20: return g.text(f'\\u{code:04x}')
    if 0xd800 <= code < 0xe000: raise PatternError('with half a letter')
    return g.text(chr(code))
