"""What generation refuses, and how it is said.

Each function asks one question and raises, or makes the error that its caller raises."""
from inspect import signature
from math import inf, isnan
import numpy as np
from ..checks import is_whole, shown
from ..errors import (IndexOutOfBounds, InvalidShape, NonFiniteValue, OptionError, OptionTypeError, brief,
                      closest, fault, some)

__all__ = ['no_shares', 'check_biased', 'all_options', 'check_sampling', 'room_left', 'check_stops',
           'cannot_go_back', 'other_vocabulary', 'nothing_to_score', 'no_tokenizer', 'known_ids',
           'check_model', 'check_context', 'all_continuations']

# options of other programs
ELSEWHERE = (dict.fromkeys('max_tokens max_new_tokens max_length n_predict num_predict max_completion_tokens'.split(),
                           'max_new=256')
             | dict.fromkeys('temp T'.split(), 'temperature=.8')
             | dict.fromkeys('repeat_penalty rep_pen'.split(), 'repetition_penalty=1.1')
             | dict.fromkeys('penalty_last_n repeat_last_n'.split(), 'last_n=64')
             | dict.fromkeys('stop_strings stop_sequences stop_words eos_token_id stop_token_ids'.split(),
                             "stop=['\\n', 2], strings and ids")
             | dict.fromkeys('draft_model assistant_model prompt_lookup_num_tokens'.split(), 'draft=model')
             | dict.fromkeys('num_assistant_tokens n_draft draft_max'.split(), 'propose=4')
             | dict.fromkeys('random_state generator'.split(), 'seed=0')
             | dict.fromkeys('past_key_values cache use_cache'.split(), 'context=fl.llm.Context(model)')
             | dict(do_sample='temperature=.8 draws, temperature=0 takes the likeliest', top_logprobs='logprobs=5',
                    stream='generate is an iterator of steps; .run() gives the whole text',
                    ignore_eos_token='ignore_eos=True', k='top_k=40', p='top_p=.9'))


def check_sampling(given, *calls):
    "Refuse an option that none of these calls has."
    known = [n for call in calls for n, p in signature(call).parameters.items() if p.kind is p.KEYWORD_ONLY]
    for name in given:
        if name in known: continue
        near = closest(name, known)
        help = ELSEWHERE.get(name) or (f'did you mean {near}=?' if near else 'there is: ' + ' '.join(known))
        raise fault(OptionError, f'has no option {name!r}', help=help)


def check_context(context, kind):
    "Refuse what is no Context."
    if isinstance(context, kind): return
    raise fault(OptionTypeError, f'context is {shown(context)}', help='context=fl.llm.Context(model)')


def no_shares(row):
    "The error for logits of which no token can be chosen."
    if np.isnan(row).any():
        help = 'something before it overflowed; weights of f16 often do, in f32 they do not'
        return fault(NonFiniteValue, f'{some(int(np.isnan(row).sum()), "logit")} of {row.size} are NaN', help=help)
    if row.max() == inf: return fault(NonFiniteValue, 'a logit is infinite', help='logit_bias={id: 100.} is enough')
    return fault(OptionError, 'every token is forbidden', help='leave at least one without -inf in logit_bias')


def all_options(bias):
    "A bias as a dict of whole numbers to numbers."
    if bias is None: return {}
    if not isinstance(bias, dict) or not all(map(is_whole, bias)):
        raise fault(OptionTypeError, f'logit_bias is {shown(bias)}', help='ids to numbers: logit_bias={50: -100.}')
    for id, b in bias.items():
        if isinstance(b, bool) or not isinstance(b, (int, float, np.number)):
            raise fault(OptionTypeError, f'logit_bias of {id} is {shown(b)}', help='logit_bias={50: -100.}')
        if isnan(b) or b == inf:
            raise fault(OptionError, f'logit_bias of {id} is {b}', help='a number, or -inf, which forbids it')
    return {int(id): float(b) for id, b in bias.items()}


def check_biased(id, size):
    "A token of the vocabulary."
    if 0 <= id < size: return id
    raise fault(IndexOutOfBounds, f'logit_bias of token {id}, and there are {size}', help=f'0 to {size - 1}')


def room_left(text, max_new, room, model):
    "How many tokens may follow a prompt."
    if not text:
        bos = getattr(model.tokenizer, 'bos', None)
        help = f'begin with model.tokenizer.bos, which is {bos}' if bos is not None else 'give at least one token'
        raise fault(InvalidShape, 'with an empty prompt', help=help)
    if room is None and max_new is None:
        raise fault(OptionError, 'without an end: max_new is None and the context has none', help='max_new=256')
    if room is None: return max_new
    if len(text) >= room:
        raise fault(InvalidShape, f'of a prompt of {len(text)} tokens: the context has {room}',
                    help=f'leave room for an answer: prompt[-{max(1, room - 256)}:]')
    return min(room - len(text), max_new or room)


def check_stops(stop, model):
    "The strings and the ids among what ends an answer."
    if stop is None: stop = ()
    stop = list(stop) if isinstance(stop, (list, tuple, set)) else [stop]
    for s in stop:
        if is_whole(s) or isinstance(s, str) and s: continue
        if isinstance(s, str):
            raise fault(OptionError, 'with an empty stop string', help="it is everywhere; stop=['\\n']")
        raise fault(OptionTypeError, f'stop is {brief(s)}', help="strings and ids: stop=['\\n', 2]")
    strings = [s for s in stop if isinstance(s, str)]
    if strings and model.tokenizer is None:
        raise fault(OptionError, 'with stop strings: this model has no tokenizer', help='stop=[2], an id')
    return strings, {int(s) for s in stop if is_whole(s)}


def no_tokenizer(text):
    "The error for a text where only ids can be read."
    return fault(OptionError, f'of a text, {brief(text)}: this model has no tokenizer',
                 help='ids, as the tokenizer of its makers gives them: [1, 2, 3]')


def known_ids(ids, model):
    "Ids of a prompt as a list. A table that is longer than the vocabulary has rows that no text stands for."
    try: row = np.asarray(list(ids) if hasattr(ids, '__next__') else ids)
    except ValueError: row = np.empty((), object)      # rows of several lengths
    if row.ndim != 1 or row.size and row.dtype.kind not in 'iu' and not all(map(is_whole, row)):
        raise fault(OptionTypeError, f'of {brief(ids)}, which is neither a text nor one row of ids',
                    help="'Once upon a time', or [1, 2, 3]")
    found, tok = row.tolist(), model.tokenizer
    count = len(tok) if tok is not None else getattr(getattr(model, 'config', None), 'vocab', inf)
    wrong = next((i for i in found if not 0 <= i < count), None)
    if wrong is None: return found
    raise fault(IndexOutOfBounds, f'of id {wrong}: the {"model" if tok is None else "tokenizer"} has {count}',
                help=f'ids are 0 to {count - 1}')


def check_model(model):
    "What generates is a model, or keeps the contract of one."
    if callable(model) and hasattr(model, 'tokenizer'): return
    raise fault(OptionTypeError, f'of {brief(model)}, which is no language model',
                help=f'fl.llm.load({brief(model) if isinstance(model, str) else ""})')


def all_continuations(options):
    "The continuations that are to be scored, as a list."
    if hasattr(options, '__iter__') and not isinstance(options, (str, bytes)): return list(options)
    raise fault(OptionTypeError, f'of {brief(options)}, which is no list of continuations', help="[' yes', ' no']")


def cannot_go_back():
    return fault(OptionError, 'with a draft: this cache cannot be cut back, a window has left those tokens behind',
                 help='propose=1, or without draft=')


def other_vocabulary(n, m):
    what = f'of {n} tokens for a model of {m}' if n != m else 'whose tokens are not those of the model'
    return fault(OptionError, f'with a draft {what}',
                 help='both need the same tokenizer: a smaller model of one family')


def nothing_to_score(what):
    return fault(InvalidShape, f'of {shown(what)}, where nothing is to be scored',
                 help='a prompt of one token and more, and options of one and more each')
