"""The learner's copy of the chapters and tutorials: the folder work/, which git ignores.

python tools/workcopy.py make it, or bring it up to date (`make lab` does so first) python
tools/workcopy.py refresh [WHAT ...] give back what the source says (`make refresh ARGS=WHAT`);
WHAT is a notebook (01, 00_tour), an exercise (1.1) or a cell (01:12); without it, everything

Cells are told apart by their ids. What the learner changed stays; the rest follows the source.
Nothing that was changed goes away without a copy in work/backups, whose name is said."""
import json, re, secrets, shutil, sys
from datetime import datetime
from pathlib import Path
from notebooks import ROOT, Wrong, all_notebooks, directives, load, text_of

WORK = 'work'                                               # the copy
SOURCE, BACKUPS = f'{WORK}/.source', f'{WORK}/backups'      # the source as it was copied last; what was replaced
FOLDERS = 'nbs', 'tutorials'


# ---- cells
def source(cell): return cell['cell_type'], ''.join(cell['source'])


def results(cell):
    "What a cell shows, without the count of its runs"
    return json.dumps([{k: v for k, v in out.items() if k not in ('execution_count', 'metadata')}
                       for out in cell.get('outputs', [])],
                      sort_keys=True)


def by_id(nb): return {cell['id']: cell for cell in nb['cells']}


def label(nb, id):
    "A cell in words: its exercise, or its number"
    at = [cell['id'] for cell in nb['cells']].index(id)
    number = directives(nb['cells'][at]).get('exercise')
    return f'exercise {number}' if number else f'cell {at}'


def changed(mine, base):
    "Ids of the cells that the learner changed, added or took away"
    mine, base = by_id(mine), by_id(base)
    return [id for id in mine | base if id not in mine or id not in base or source(mine[id]) != source(base[id])]


def newest(mine, base, new):
    "Of a cell that the learner left alone: the source's, unless the same code has results of the learner's own run"
    return mine if source(new) == source(base) and results(mine) != results(base) else new


def merge(mine, base, new):
    "The learner's notebook brought up to date, and ids of cells that both sides changed, which stay the learner's"
    m, b, n = by_id(mine), by_id(base), by_id(new)
    yours = {id for id in m if id not in b or source(m[id]) != source(b[id])}
    cells = {id: m[id] if id in yours else newest(m[id], b[id], n[id]) for id in n if id in m}
    cells |= {id: n[id] for id in n if id not in m and id not in b}         # what was taken away stays away
    # as the learner has them, while the source moved none
    order = [id for id in (m if list(b) == list(n) else n) if id in cells]
    before = None
    # cells that the source does not have stay behind those they stood behind
    for id in m:
        if id in yours and id not in cells: order.insert(order.index(before) + 1 if before else 0, id)
        if id in order: before = id
    both = [id for id in yours if id in b and (id not in n or source(n[id]) not in (source(b[id]), source(m[id])))]
    return {**new, 'metadata': mine['metadata'], 'cells': [cells.get(id) or m[id] for id in order]}, both


# ---- files
def files():
    "What is copied, by its path under the project: notebooks first, then what stands beside them"
    beside = [p for folder in FOLDERS for p in sorted((ROOT/folder).rglob('*')) if p.is_file() and p.suffix != '.ipynb']
    beside = [p for p in beside if not any(part.startswith(('.', '_')) for part in p.relative_to(ROOT).parts)]
    return [p.relative_to(ROOT) for p in all_notebooks() if p.stem != 'index'], [p.relative_to(ROOT) for p in beside]


def write(path, data):
    "At once or not at all"
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f'.{path.name}.new')
    new.write_bytes(data if isinstance(data, bytes) else data.encode('utf-8'))
    new.replace(path)


def backup(rel):
    "Keep the learner's version of a file; the path of the copy, as one would type it"
    now = f'{datetime.now():%Y-%m-%d %H.%M.%S}'
    to = ROOT/BACKUPS/f'{rel.stem} {now}{rel.suffix}'
    for n in range(2, 1000):
        if not to.exists(): break
        to = ROOT/BACKUPS/f'{rel.stem} {now} {n}{rel.suffix}'
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(ROOT/WORK/rel, to)
    return f"'{to.relative_to(ROOT)}'"


def copied(rel):
    """(the learner's notebook, the source it was made from) or (None, None) where there is none;
    Wrong if it cannot be read"""
    path, base = ROOT/WORK/rel, ROOT/SOURCE/rel
    if not path.exists(): return None, None
    try: was = load(base)
    # nothing known of the past: every difference is the learner's
    except (OSError, Wrong): was = load(ROOT/rel)
    return with_ids(load(path), was), was


def with_ids(mine, base):
    """Give every cell an id of its own, where an editor left it out or gave it twice: that of the
    source's cell with the same text"""
    used = set()
    for cell in mine['cells']:
        same = [c['id'] for c in base['cells'] if source(c) == source(cell) and c['id'] not in used]
        if cell.get('id') in used | {None}: cell['id'] = (same or [secrets.token_hex(4)])[0]
        used.add(cell['id'])
    return mine


def update_notebook(rel):
    "Bring one notebook up to date; yields what there is to say"
    new = load(ROOT/rel)
    try: mine, base = copied(rel)
    except Wrong as wrong:
        yield f'{wrong.args[0].split(";")[0]}: it is made anew, what was there is {backup(rel)}'
        mine = None
    if mine is None: merged = new
    else:
        merged, both = merge(mine, base, new)
        for id in both:
            word = directives(by_id(base)[id]).get('exercise') or f'{rel.stem}:{id}'
            yield f'{WORK}/{rel}, {label(base, id)}: changed by you and in the source; yours stays, ' + (
                f'make refresh ARGS={word} gives the new one' if id in by_id(new)
                else 'where the source has none any more')
    if mine is None or text_of(merged) != text_of(mine): write(ROOT/WORK/rel, text_of(merged))
    write(ROOT/SOURCE/rel, (ROOT/rel).read_bytes())


def update_file(rel):
    "The same for a picture or a table beside the notebooks, which is changed or not as a whole"
    new, path, base = (ROOT/rel).read_bytes(), ROOT/WORK/rel, ROOT/SOURCE/rel
    mine, old = (p.read_bytes() if p.exists() else None for p in (path, base))
    if mine is None or mine == old: write(path, new)
    elif mine != new and old != new: yield f'{WORK}/{rel}: changed by you and in the source; yours stays'
    write(base, new)


def drop_the_old(known):
    "Files whose source is gone go too, if the learner left them alone"
    for base in sorted(p for p in (ROOT/SOURCE).rglob('*') if p.is_file()):
        rel = base.relative_to(ROOT/SOURCE)
        if rel in known: continue
        path = ROOT/WORK/rel
        try:
            same = (rel.suffix == '.ipynb' and not changed(load(path), load(base))
                    or path.read_bytes() == base.read_bytes())
        except (OSError, Wrong): same = False
        if same: path.unlink()
        elif path.exists(): yield f'{WORK}/{rel}: no longer in the source; yours stays'
        base.unlink()


def yours(rel):
    "How many cells of a notebook are the learner's own"
    try: mine, base = copied(rel)
    except Wrong: return 0
    return len(changed(mine, base)) if mine else 0


def update():
    "Make the copy or bring it up to date; the lines that tell of it"
    first = not (ROOT/SOURCE).exists()
    notebooks, beside = files()
    said = [line for rel in notebooks for line in update_notebook(rel)] + [
        line for rel in beside for line in update_file(rel)]
    said += drop_the_old({*notebooks, *beside})
    kept = {rel: n for rel in notebooks if (n := yours(rel))}
    if first: return [f'{WORK}/ is made: {len(notebooks)} notebooks to write in, apart from the source', *said]
    own = ', '.join(f'{n} of {rel.stem}' for rel, n in kept.items())
    return [f'{WORK}/ is up to date' + (f'; cells that are yours: {own}' if own else ''), *said]


def trust():
    "Sign the copies, as `jupyter trust` does, so that JupyterLab shows their pictures before a cell has run"
    import nbformat
    from nbformat.sign import NotebookNotary
    notary = NotebookNotary()
    for rel in files()[0]:
        if (ROOT/WORK/rel).exists(): notary.sign(nbformat.read(ROOT/WORK/rel, as_version=4))


# ---- giving back
def find_notebook(word):
    "The notebook that a word names: 01, 1, 01_tags, nbs/01_tags.ipynb, work/nbs/01_tags.ipynb, tour"
    name = Path(word).name.removesuffix('.ipynb')
    found = [rel for rel in files()[0] if name == rel.stem]
    found = found or [rel for rel in files()[0] if name.lstrip('0')
                      == rel.stem.split('_')[0].lstrip('0') or name == rel.stem.partition('_')[2]]
    if len(found) == 1: return found[0]
    raise Wrong(f'refresh   {word!r} names no notebook; there are {", ".join(rel.stem for rel in files()[0])}')


def find(word):
    "(notebook, id of a cell or None for all of it) for what the learner typed"
    if re.fullmatch(r'\d+[a-z]?\.\d+', word):
        known = {directives(c)['exercise']: (rel, c['id']) for rel in files()[0]
                 for c in load(ROOT/rel)['cells'] if 'exercise' in directives(c)}
        if word in known: return known[word]
        chapter = [k for k in known if k.split('.')[0] == word.split('.')[0]]
        raise Wrong(f'refresh   there is no exercise {word}; ' + (
                        f'the chapter has {", ".join(chapter)}' if chapter
                        else 'nor a chapter of that number'))
    name, colon, at = word.rpartition(':')
    if not colon: return find_notebook(word), None
    rel = find_notebook(name)
    cells = load(ROOT/rel)['cells']
    if at.isdecimal() and int(at) < len(cells): return rel, cells[int(at)]['id']
    if at in (c['id'] for c in cells): return rel, at
    raise Wrong(f'refresh   {rel.stem} has no cell {at!r}; they are counted from 0 to {len(cells) - 1}')


def give_back(rel, id=None):
    "A notebook, or one cell of it, as the source has it; what was done, in a line"
    new, path = load(ROOT/rel), ROOT/WORK/rel
    what = f'{WORK}/{rel}' if id is None else f'{WORK}/{rel}, {label(new, id)}'
    try: mine, _ = copied(rel)
    except Wrong: mine, id = {'cells': []}, None            # unreadable: all of it
    made = with_cell(mine, new, id) if mine and id else new
    if mine and [source(c) for c in mine['cells']] == [source(c) for c in made['cells']] and [
        results(c) for c in mine['cells']] == [results(c) for c in made['cells']]:
        return f'{what} is as in the source'
    kept = f'; what you had is {backup(rel)}' if path.exists() else ''
    write(path, text_of(made))
    if id is None: write(ROOT/SOURCE/rel, (ROOT/rel).read_bytes())
    return f'{what} is as in the source again{kept}'


def with_cell(mine, new, id):
    "The learner's notebook with one cell as in the source, also where it was taken away"
    cells, cell = list(mine['cells']), by_id(new)[id]
    ids, order = [c['id'] for c in cells], [c['id'] for c in new['cells']]
    if id in ids: cells[ids.index(id)] = cell
    else:
        before = next((i for i in reversed(order[:order.index(id)]) if i in ids), None)
        cells.insert(ids.index(before) + 1 if before else 0, cell)
    return {**mine, 'cells': cells}


def refresh(*words):
    "Give back what the words name, everything without any; the lines that tell of it"
    if not (ROOT/SOURCE).exists(): return [f'there is no {WORK}/ yet; make lab makes it']
    todo = [find(word) for word in words] or [(rel, None) for rel in files()[0]]
    said = [give_back(*what) for what in todo]
    if not words: said = [line for line in said if 'again' in line] or [f'all of {WORK}/ is as in the source']
    if any('again' in line for line in said):
        said.append('a notebook that is open in JupyterLab: File, Reload Notebook from Disk')
    return said


def main(*words):
    try: lines = refresh(*words[1:]) if words[:1] == ('refresh',) else update()
    except Wrong as wrong: sys.exit(str(wrong))
    trust()
    for line in lines: print(f'{"refresh" if words else "lab":<10}{line}')


if __name__ == '__main__': main(*sys.argv[1:])
