"""Tools that a model may call from the terminal, each asked for by its name: `fucina run --tool calculator "..."`.

A call stands in what the model says, in the way of its template. It is run here, its result goes back as a message,
and the model goes on, for a few rounds at most. What is computed and read is bounded, whatever the model asks for."""
import ast, json, math, operator, os
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote
from ..errors import FucinaError, OptionError, did_you_mean, fault
from . import say

__all__ = ['TOOLS', 'Toolbox']

ROUNDS = 5            # answers that are calls
LONG = 2000           # characters of a result


class Tool(NamedTuple):
    "Something a model may call with one text."
    does: str         # what it is told of it
    takes: str        # name of the text
    means: str        # what the text is
    run: object       # text -> text; a FucinaError becomes the result, too

    def schema(self, name):
        given = dict(type='object', properties={self.takes: dict(type='string', description=self.means)},
                     required=[self.takes])
        return dict(type='function', function=dict(name=name, description=self.does, parameters=given))


def refuse(what, help): return fault(OptionError, what, help)


# ---- a calculator: fractions, so that 0.1 + 0.2 is 0.3; floats only where a value has no exact form
SIGNS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
         ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.USub: operator.neg, ast.UAdd: operator.pos}
NAMED = {n: getattr(math, n) for n in 'exp log log2 log10 sin cos tan floor ceil'.split()} | dict(
    abs=abs, round=lambda x, digits=0: rounded(x, digits), min=min, max=max, sqrt=lambda x: root(x),
    factorial=lambda n: factorial(n))
BITS = 4096           # no number has more, above or below its line
DIGITS = 50           # behind the point at most


def calculate(text):
    "The value of an expression of numbers, signs and a few functions."
    text = text[:LONG].strip().replace('^', '**')
    try: return written(value_of(ast.parse(text, mode='eval').body, text))
    except (SyntaxError, ArithmeticError, ValueError, TypeError, RecursionError, MemoryError) as e:
        raise refuse(f'{text} cannot be computed: {e}', 'an expression like (2 + 3) * sqrt(2)') from None


def value_of(node, text):
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return checked(as_written(ast.get_source_segment(text, node), node.value))
    if isinstance(node, ast.Name) and node.id in ('pi', 'e'): return getattr(math, node.id)
    if isinstance(node, ast.UnaryOp) and type(node.op) in SIGNS:
        return SIGNS[type(node.op)](value_of(node.operand, text))
    if isinstance(node, ast.BinOp):
        a, b = value_of(node.left, text), value_of(node.right, text)
        if isinstance(node.op, ast.Pow): return power(a, b)
        if type(node.op) in SIGNS: return checked(SIGNS[type(node.op)](a, b))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMED and not node.keywords:
        return checked(NAMED[node.func.id](*[value_of(a, text) for a in node.args]))
    raise ValueError(f'{ast.unparse(node)} is no number')


def as_written(digits, value):
    "A number with all digits that were written; those of a float beyond its range are too many."
    if isinstance(value, int): return Fraction(value)
    if math.isinf(value) or 'e-' in digits.lower() and len(digits.lower().partition('e-')[2]) > 3:
        raise ValueError('it is too large, or too close to 0')
    return Fraction(digits)


def power(a, b):
    if isinstance(b, float) or b.denominator > 1: return checked(float(a) ** float(b))
    if isinstance(a, Fraction) and abs(b) * max(abs(a.numerator), a.denominator).bit_length() > 2 * BITS:
        raise ValueError('it is too large')
    return checked(a ** int(b))


def root(x):
    "The square root; exact where it is a fraction."
    if isinstance(x, Fraction) and x >= 0:
        above, below = math.isqrt(x.numerator), math.isqrt(x.denominator)
        if above**2 == x.numerator and below**2 == x.denominator: return Fraction(above, below)
    return math.sqrt(x)


def factorial(n):
    if isinstance(n, float) or n.denominator > 1 or not 0 <= n <= 400: raise ValueError('it is none of 0 to 400')
    return math.factorial(int(n))


def rounded(x, digits):
    if abs(digits) > BITS: raise ValueError(f'it is rounded to {BITS} digits at most')
    return round(x, int(digits))


def checked(x):
    if isinstance(x, int): x = Fraction(x)
    if isinstance(x, complex) or isinstance(x, float) and not math.isfinite(x): raise ValueError('it is no number')
    if isinstance(x, Fraction) and max(abs(x.numerator), x.denominator).bit_length() > BITS:
        raise ValueError('it is too large')
    return x


def written(x):
    "A number with all its digits; a fraction that has no end of digits with those of a float, and as it is."
    if isinstance(x, float): return repr(x)
    digits = next((n for n in range(DIGITS) if 10**n % x.denominator == 0), None)
    if digits is None: return f'{float(x)!r} (exactly {x})'
    sign, whole = '-' * (x < 0), str(abs(x.numerator) * 10**digits // x.denominator).rjust(digits + 1, '0')
    return sign + (f'{whole[:-digits]}.{whole[-digits:]}' if digits else whole)


# ---- files of the folder
def search_files(text):
    "Lines of the texts below this folder that hold all words."
    words, found = text.lower().split(), []
    if not words: raise refuse('no words to look for', 'one word or several')
    for path in texts_below(Path('.')):
        try: lines = path.read_text(encoding='utf-8').splitlines()
        except (OSError, UnicodeDecodeError): continue
        found += [f'{path}:{i}: {line.strip()[:200]}' for i, line in enumerate(lines, 1)
                  if all(w in line.lower() for w in words)]
        if len(found) >= 10: break
    return '\n'.join(found[:10]) or 'nothing was found'


def texts_below(folder, most=2000, size=1 << 20):
    "Files that are not hidden, not large and not behind a link."
    for at, inner, names in os.walk(folder):
        inner[:] = sorted(n for n in inner if not n.startswith('.') and not os.path.islink(os.path.join(at, n)))
        for name in sorted(names):
            path = Path(at)/name
            if name.startswith('.') or path.is_symlink() or not path.is_file() or path.stat().st_size > size: continue
            most -= 1
            if most < 0: return
            yield path


# ---- an encyclopedia
def look_up(text):
    "The first lines of an article of Wikipedia, or of what FUCINALIB_WIKIPEDIA names."
    from ..llm.fetching import get
    home = os.environ.get('FUCINALIB_WIKIPEDIA') or 'https://en.wikipedia.org'
    answer = get(f'{home.rstrip("/")}/api/rest_v1/page/summary/{quote(text.strip().replace(" ", "_"), safe="")}')
    if answer.status_code == 404: return f'there is no article {text}'
    try: said = answer.json()['extract'] if answer.status_code < 400 else None
    except (ValueError, KeyError, TypeError): said = None
    if not said: raise refuse(f'the encyclopedia answers {answer.status_code}', 'ask again later')
    return said


TOOLS = dict(
    calculator=Tool('Computes the value of an expression.', 'expression', 'numbers, + - * / ** ( ), sqrt, sin, ...',
                    calculate),
    files=Tool("Looks for lines in the user's files that hold all of some words.", 'words', 'words to look for',
               search_files),
    wikipedia=Tool('Tells what an encyclopedia says of a person, a place or a thing.', 'title', 'of the article',
                   look_up))


# ---- the loop
class Toolbox:
    "A chat whose model may call tools: `for piece in box.stream(chat, 'hello')`."
    def __init__(self, names):
        unknown = next((n for n in names if n not in TOOLS), None)
        if unknown is not None: raise refuse(f'there is no tool {unknown!r}', did_you_mean(unknown, TOOLS, 'tools'))
        self.tools, self.calls = {n: TOOLS[n] for n in names}, []

    schemas = property(lambda self: [t.schema(n) for n, t in self.tools.items()])

    def dialect(self, chat):
        "How the chat's model writes calls; a model whose template knows no tools is refused."
        from ..serve.tools import dialect_of
        found = dialect_of(chat.template.source)
        if found is None:
            raise refuse('the chat template of this model knows no tools', 'fucina models list shows which ones can')
        hidden = getattr(chat.tok, 'control', ())
        chat.shown = any(chat.tok.special.get(mark) in hidden for mark in found[:2] if mark)
        return found

    def stream(self, chat, text):
        "The answer in pieces, calls and their results left out."
        dialect, messages = self.dialect(chat), [dict(role='user', content=text)]
        for _ in range(ROUNDS):
            calls = []
            yield from self.heard(chat.reply(messages), calls, dialect)
            if not calls: return
            messages = [dict(role='tool', name=name, content=self.result(name, given)) for name, given in calls]
        say.note(f'stopped after {ROUNDS} rounds of calls')

    def heard(self, pieces, calls, dialect):
        "What is text of an answer; what is a call joins `calls`."
        from ..serve.speech import Speech
        known = {n: s['function']['parameters'] for n, s in zip(self.tools, self.schemas)}
        speech = Speech(dialect=dialect, tools=known)
        for piece, end in ended(pieces):
            for change in speech.push(piece, end):
                for call in change.get('tool_calls', ()):
                    calls.append((call['function']['name'], json.loads(call['function']['arguments'])))
                if said := change.get('content') or change.get('reasoning_content'): yield said

    def result(self, name, given):
        "What a call gives, as a text; what went wrong, too, so that the model can mend it."
        tool = self.tools.get(name)
        if tool is None: return f'there is no tool {name}'
        text = str(given.get(tool.takes, next(iter(given.values()), '')))      # the only one, whatever it is called
        try: found = tool.run(text)[:LONG]
        except FucinaError as e: found = str(e)
        self.calls.append(dict(name=name, arguments={tool.takes: text}, result=found))
        say.note(f'{name}({text}): {found.splitlines()[0][:100] if found else ""}')
        return found


def ended(pieces):
    "Pieces, each with whether it is the end."
    for piece in pieces: yield piece, False
    yield '', True
