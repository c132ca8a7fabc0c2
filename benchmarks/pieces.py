"""A megabyte of text into pieces, beside `tokenizers` with the same vocabulary; and one letter a million times."""
from pathlib import Path
from fucinalib.text.pieces import SPACE, Joins, Unigram, WordPiece, mark_spaces, pairs_of_scores, train_unigram
from .harness import Case

LESSON = (Path(__file__).parents[1]/'README.md').read_text()
MEGABYTE = (LESSON * (1 + 1_000_000 // len(LESSON)))[:1_000_000].replace('\n', ' ')


def as_words(names):
    "The names as WordPiece has them, the unknown first."
    return names[:1] + [n.removeprefix(SPACE) if n.startswith(SPACE) else f'##{n}' for n in names[1:]]


def theirs(names, scores, pairs):
    "The three kinds in `tokenizers`, without what stands around a model."
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    numbers = {n: i for i, n in enumerate(names)}
    marks = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(' ', SPACE)])
    merges = [(a, b) for a, b, _ in sorted(pairs, key=lambda p: p[2])]
    words = {name: i for i, name in enumerate(as_words(names))}
    made = [Tokenizer(m) for m in (models.BPE(numbers, merges, unk_token='<unk>', fuse_unk=True),
                                   models.Unigram(list(zip(names, scores)), 0),
                                   models.WordPiece(words, unk_token='<unk>'))]
    made[0].normalizer = made[1].normalizer = marks
    made[2].pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return made


def cases(torch):
    learnt = train_unigram(LESSON[:20_000], 600)
    names, scores = ['<unk>', *learnt], [0., *learnt.values()]
    usable = [False] + [True] * len(learnt)
    pairs = list(pairs_of_scores(names, scores, usable))
    ours = [Joins(names, pairs, usable, unknown=0), Unigram(names, scores, usable, unknown=0)]
    words = WordPiece(as_words(names), unknown=0)
    rivals = theirs(names, scores, pairs) if torch else [None] * 3
    ask = lambda r: r and (lambda: r.encode(MEGABYTE, add_special_tokens=False))
    for name, model, rival in zip(('joins', 'unigram'), ours, rivals):
        yield Case(name, '1 MB', lambda model=model: model.encode_piece(mark_spaces(MEGABYTE, True)), None, ask(rival))
        yield Case(f'{name}, one letter', '1 MB', lambda model=model: model.encode_piece('e' * 1_000_000))
    yield Case('words', '1 MB', lambda: words.encode(MEGABYTE.split()), None, ask(rivals[2]))
