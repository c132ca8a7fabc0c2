"""Calls of tools, as the families write them: which way a template has, and how what was said is read.

    hermes     <tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>           Qwen 2.5, Qwen 3, SmolLM 3, Hermes
    functions  <tool_call><function=f><parameter=x>1</parameter></function></tool_call>      Qwen 3.5, Qwen coder
    mistral    [TOOL_CALLS] [{"name": "f", "arguments": {"x": 1}}]
    llama      {"name": "f", "parameters": {"x": 1}}
    braces     <|tool_call>call:f{x:1,word:<|"|>one<|"|>}<tool_call|>                          Gemma 4"""
import json, re
from typing import NamedTuple

__all__ = ['Dialect', 'DIALECTS', 'dialect_of', 'loose_call']


class Dialect(NamedTuple):
    "A way to write calls."
    open: str        # what begins one; '' if an answer that begins with a brace is one
    close: str       # what ends it; '' if the answer does
    read: object     # text between -> [(name, arguments)]; [] if it is no call
    signs: tuple     # what a template of this way holds


# ---- readers: (text, tools by name) -> calls
def read_json_calls(text, tools):
    "One object or a list of them, with their arguments under one of the usual names."
    try: found = json.loads(text)
    except (ValueError, RecursionError): return []
    found, calls = found if isinstance(found, list) else [found], []
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


QUOTE = '<|"|>'

def read_braces(text, tools):
    "call:f{x:1,word:<|\"|>one<|\"|>}, made JSON: texts and keys get quotes, all else is JSON already."
    found = re.fullmatch(r'\s*call:\s*([\w.-]+)\s*(\{.*\})\s*', text, re.S)
    if not found: return read_json_calls(text, tools)
    parts = found[2].split(QUOTE)
    parts[::2] = [re.sub(r'([{,]\s*)([\w.-]+)\s*:', r'\1"\2":', p) for p in parts[::2]]
    parts[1::2] = map(json.dumps, parts[1::2])
    try: given = json.loads(''.join(parts))
    except ValueError: return []
    return [(found[1], given)]


DIALECTS = dict(
    braces=Dialect('<|tool_call>', '<tool_call|>', read_braces, ('<|tool_call>',)),
    functions=Dialect('<tool_call>', '</tool_call>', read_functions, ('<tool_call>', '<function=')),
    hermes=Dialect('<tool_call>', '</tool_call>', read_json_calls, ('<tool_call>',)),
    mistral=Dialect('[TOOL_CALLS]', '', read_json_calls, ('[TOOL_CALLS]',)),
    llama=Dialect('', '', read_json_calls, ('"parameters"', 'ipython')))


def dialect_of(source):
    "The way of a template, by what stands in its text; None if it has none."
    if not source or 'tools' not in source: return None
    return next((d for d in DIALECTS.values() if all(sign in source for sign in d.signs)), None)


def loose_call(text, tools):
    "Calls of known tools that stand in a block of code."
    calls = read_json_calls(text, tools)
    return calls if calls and all(name in tools for name, _ in calls) else []
