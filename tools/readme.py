"""README.md is nbs/index.ipynb in Markdown: prose as it stands, code fenced, its stored results as text."""
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def fence(text, language=''):
    return f'```{language}\n{text.strip()}\n```' if text.strip() else ''


def result(output):
    "What a terminal would show of an output: printed text or the plain form of a value"
    return ''.join(output.get('text') or output.get('data', {}).get('text/plain', ''))


def markdown(cell):
    "One cell as Markdown; a code cell marked `#| hide` is left out"
    source = ''.join(cell['source'])
    if cell['cell_type'] != 'code': return source
    if '#| hide' in source: return ''
    code = '\n'.join(line for line in source.splitlines() if not line.startswith('#|'))
    return '\n\n'.join(filter(None, [fence(code, 'python'), fence('\n'.join(map(result, cell['outputs'])))]))


def write():
    "nbs/index.ipynb -> README.md"
    cells = json.loads((ROOT/'nbs'/'index.ipynb').read_text(encoding='utf-8'))['cells']
    text = '\n\n'.join(filter(None, map(markdown, cells))).strip()
    (ROOT/'README.md').write_text(f'<!-- Made from nbs/index.ipynb by `make export`. -->\n\n{text}\n', encoding='utf-8')


if __name__ == '__main__': write()
