"""Calls of tools, as the families write them: which way a template has, and how what was said is read.

    hermes     <tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>           Qwen 2.5, Qwen 3, SmolLM 3, Hermes
    functions  <tool_call><function=f><parameter=x>1</parameter></function></tool_call>      Qwen 3.5, Qwen coder
    mistral    [TOOL_CALLS] [{"name": "f", "arguments": {"x": 1}}], later [TOOL_CALLS]f[ARGS]{"x": 1}
    llama      {"name": "f", "parameters": {"x": 1}}
    braces     <|tool_call>call:f{x:1,word:<|"|>one<|"|>}<tool_call|>                          Gemma 4
    escaped    <start_function_call>call:f{x:1,word:<escape>one<escape>}<end_function_call>    FunctionGemma
    harmony    <|channel|>commentary to=functions.f <|constrain|>json<|message|>{"x": 1}       gpt-oss
    python     <|tool_call_start|>[f(x=1)]<|tool_call_end|>                                    LFM 2
    deepseek   <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{"x": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>

A call that must come is constrained to JSON with a name and arguments, between the marks of the family."""
import ast, json, re
from typing import NamedTuple

__all__ = ['Dialect', 'DIALECTS', 'dialect_of', 'loose_call']


class Dialect(NamedTuple):
    "A way to write calls."
    open: str        # what begins one; '' if an answer that begins with a brace is one
    close: str       # what ends it; '' if the answer does
    read: object     # text between -> [(name, arguments)]; [] if it is no call
    signs: tuple     # what a template of this way holds
    given: str = 'arguments'  # the field of the arguments in a call that must come


# ---- readers: (text, tools by name) -> calls
def values_in(text):
    "The objects of a list, or of several texts in JSON behind each other; [] if something else stands there."
    found, decoder, rest = [], json.JSONDecoder(), text.strip()
    while rest:
        try: value, at = decoder.raw_decode(rest)
        except (ValueError, RecursionError): return []
        found += value if isinstance(value, list) else [value]
        rest = rest[at:].lstrip('; \n\t')
    return found


def object_of(text):
    "The object that a text in JSON is, or None."
    found = values_in(text)
    return found[0] if len(found) == 1 and isinstance(found[0], dict) else None


def read_json_calls(text, tools):
    "One object or a list of them, with their arguments under one of the usual names."
    found, calls = values_in(text), []
    for call in found:
        if not isinstance(call, dict) or not isinstance(call.get('name'), str): return []
        given = call.get('arguments', call.get('parameters', {}))
        if isinstance(given, str):
            try: given = json.loads(given)
            except ValueError: return []
        if not isinstance(given, dict): return []
        calls.append((call['name'], given))
    return calls


def read_functions(text, tools):
    "<function=f><parameter=x>1</parameter></function>; values are typed by the schema. JSON counts as well."
    calls = []
    for name, inside in re.findall(r'<function=([^>\n]+)>(.*?)(?:</function>|\Z)', text, re.S):
        typed = tools.get(name.strip(), {}).get('properties', {})
        pairs = re.findall(r'<parameter=([^>\n]+)>\n?(.*?)\n?(?:</parameter>|(?=<parameter=)|\Z)', inside, re.S)
        calls.append((name.strip(), {k.strip(): as_typed(v, typed.get(k.strip(), {})) for k, v in pairs}))
    return calls or read_json_calls(text, tools)


def as_typed(text, schema):
    "A value that was written without quotes."
    kinds = schema.get('type', []) if isinstance(schema, dict) else []
    if 'string' in ([kinds] if isinstance(kinds, str) else kinds): return text
    try: return json.loads(text)
    except ValueError: return text


QUOTES = '<|"|>', '<escape>'

def read_braces(text, tools):
    "call:f{x:1,word:<|\"|>one<|\"|>}, made JSON: texts and keys get quotes, all else is JSON already."
    found = re.fullmatch(r'\s*call:\s*([\w.-]+)\s*(\{.*\})\s*', text, re.S)
    if not found: return read_json_calls(text, tools)
    parts = re.split('|'.join(map(re.escape, QUOTES)), found[2])
    parts[::2] = [re.sub(r'([{,]\s*)([\w.-]+)\s*:', r'\1"\2":', p) for p in parts[::2]]
    parts[1::2] = map(json.dumps, parts[1::2])
    try: given = json.loads(''.join(parts))
    except ValueError: return []
    return [(found[1], given)]


def read_mistral(text, tools):
    "A list in JSON, or names each with its arguments behind a mark."
    calls = []
    for part in text.split('[TOOL_CALLS]'):
        named = re.fullmatch(r'\s*([\w.-]+)(?:\[CALL_ID\]\w*)?(?:\[ARGS\])?\s*(\{.*)', part, re.S)
        if named is None: new = read_json_calls(part, tools)
        else: new = [] if (given := object_of(named[2])) is None else [(named[1], given)]
        if not new: return []
        calls += new
    return calls


def read_deepseek(text, tools):
    "Each call between marks of its own; the older ones write the arguments into a block of code."
    calls = []
    for inside in re.findall(r'<｜tool▁call▁begin｜>(.*?)(?:<｜tool▁call▁end｜>|\Z)', text, re.S):
        name, _, given = inside.partition('<｜tool▁sep｜>')
        if name.strip() == 'function': name, _, given = given.partition('\n')
        given = object_of(re.sub(r'^\s*```(?:json)?|```\s*$', '', given))
        if given is None or not name.strip(): return []
        calls.append((name.strip(), given))
    return calls or read_json_calls(text, tools)


def read_python(text, tools):
    "[f(x=1), g()]: names and values alone, nothing is run. JSON counts as well."
    try:
        found = ast.parse(text.strip(), mode='eval').body
        return [called(c) for c in (found.elts if isinstance(found, ast.List) else [found])]
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError): return read_json_calls(text, tools)


def called(call):
    "(name, arguments) of a call in Python. ValueError if it is none, or has values that JSON has not."
    if not isinstance(call, ast.Call) or call.args: raise ValueError
    given = {k.arg: ast.literal_eval(AsPython().visit(k.value)) for k in call.keywords}
    json.dumps(given, allow_nan=False)
    if None in given: raise ValueError
    return ast.unparse(call.func), given


WORDS = dict(true=True, false=False, null=None)

class AsPython(ast.NodeTransformer):
    "Writes the words of JSON as those of Python."
    def visit_Name(self, node): return ast.Constant(WORDS[node.id]) if node.id in WORDS else node


DIALECTS = dict(
    harmony=Dialect('<|channel|>commentary <|constrain|>json<|message|>', '', read_json_calls,
                    ('<|channel|>', '<|message|>')),
    deepseek=Dialect('<｜tool▁calls▁begin｜>', '<｜tool▁calls▁end｜>', read_deepseek, ('<｜tool▁calls▁begin｜>',)),
    escaped=Dialect('<start_function_call>', '<end_function_call>', read_braces, ('<start_function_call>',)),
    braces=Dialect('<|tool_call>', '<tool_call|>', read_braces, ('<|tool_call>',)),
    functions=Dialect('<tool_call>', '</tool_call>', read_functions, ('<tool_call>', '<function=')),
    hermes=Dialect('<tool_call>', '</tool_call>', read_json_calls, ('<tool_call>',)),
    mistral=Dialect('[TOOL_CALLS]', '', read_mistral, ('[TOOL_CALLS]',)),
    llama=Dialect('', '', read_json_calls, ('"parameters"', 'ipython'), 'parameters'),
    python=Dialect('<|tool_call_start|>', '<|tool_call_end|>', read_python, ('List of tools: ',)))


def dialect_of(source):
    "The way of a template, by what stands in its text; None if it has none."
    if not source or 'tools' not in source: return None
    return next((d for d in DIALECTS.values() if all(sign in source for sign in d.signs)), None)


def loose_call(text, tools):
    "Calls of known tools that stand in a block of code."
    calls = read_json_calls(text, tools)
    return calls if calls and all(name in tools for name, _ in calls) else []
