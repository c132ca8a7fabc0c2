"""`fucina run`, and the options that it shares with other commands."""
import json, marshal, sys, time
from contextlib import contextmanager
import click
from ..errors import OptionError, fault
from ..whole import replacing
from . import say
from .group import fucina

__all__ = ['run', 'open_model', 'options', 'sampling', 'loading', 'drafting', 'boxed', 'speed_line', 'MODEL', 'DRAFT',
           'ANSWER']

MODEL = [
    click.option('-m', '--model', default='', metavar='MODEL',
                 help='A folder or .gguf file, a name of `fucina models`, '
                 'or org/name of huggingface.co. Without it: SmolLM2-135M-Instruct.'),
    click.option('-t', '--threads', type=click.IntRange(1), help='Threads; all cores without it.'),
    click.option('--quant', metavar='KIND', help='Round weights of floats: to int8 or int4, to blocks of q8_0, q5_1, '
                 'q5_0, q4_1 or q4_0, or of q6_k, q5_k, q4_k, which are searched for and take long.'),
    click.option('--requant', is_flag=True, help='With --quant: weights that are in other blocks, too.'),
    click.option('--cache/--no-cache', default=True, help='Keep repacked weights for the next time, or do not.')]
DRAFT = [
    click.option('--draft', default=None, metavar='MODEL',
                 help='A small model of the same vocabulary that guesses ahead.'),
    click.option('--propose', type=click.IntRange(1), default=4, show_default=True,
                 help='Tokens that it guesses at a time.')]
ANSWER = [
    click.option('-n', '--max-new', type=click.IntRange(1), default=512, show_default=True,
                 help='Tokens of an answer at most.'),
    click.option('--temp', type=click.FloatRange(0), default=0., show_default=True,
                 help='0 takes the likeliest token, 1 draws as the model says.'),
    click.option('--top-p', type=click.FloatRange(0, 1), default=1.,
                 help='Draw among the likeliest, whose shares reach this.'),
    click.option('--top-k', type=click.IntRange(0), default=0, help='Draw among so many; 0: all.'),
    click.option('--min-p', type=click.FloatRange(0, 1), default=0.,
                 help='Draw among those with this part of the best share.'),
    click.option('--repeat-penalty', type=click.FloatRange(0, min_open=True), default=1.,
                 help='Above 1: say less again.'),
    click.option('--seed', type=int, help='The same seed, the same answer.'),
    click.option('--stop', multiple=True, metavar='TEXT', help='End before this text. May be given several times.'),
    click.option('--system', help="Who the model is to be; '' for nobody."),
    click.option('--think', is_flag=True, help='Let it think aloud first, if it can.'),
    click.option('--tool', 'tools', multiple=True, metavar='NAME',
                 help='Let it call a tool: calculator, files (looks below this folder) or wikipedia (asks the '
                 'network). May be given several times.')]


def options(*groups):
    "A command with the options of some groups."
    def add(fn):
        for option in reversed([o for g in groups for o in g]): fn = option(fn)
        return fn
    return add


def sampling(given):
    "The options of fl.llm.generate, from those of the command."
    given = dict(temperature=given['temp'], top_p=given['top_p'], top_k=given['top_k'], min_p=given['min_p'],
                 repetition_penalty=given['repeat_penalty'], seed=given['seed'], stop=list(given['stop']))
    return {k: v for k, v in given.items() if v is not None}


def loading(given):
    "The options of fl.llm.load, from those of the command."
    return dict(quant=given['quant'], requant=given['requant'], keep=given['cache'])


def drafting(draft, given):
    "The options of fl.llm.generate for a model that guesses ahead, if one is named."
    return {} if draft is None else dict(draft=open_model(draft, **loading(given))[0], propose=given['propose'])


def open_model(name, threads=None, **how):
    "(the model of a name, fetched if it has to be and loaded with the options `how`; seconds of loading)"
    import fucinalib as fl
    from ..llm import hub
    if threads: fl.set_num_threads(threads)
    path = hub.find(name)
    start = time.perf_counter()
    model = fl.llm.load(path, **how)
    return model, time.perf_counter() - start


def speed_line(turn, seconds):
    "What it took, in a line: what was read and said, and how long that was."
    again = f' ({turn.prompt - turn.read} kept from before)' if turn.prompt > turn.read else ''
    read = f'prompt {turn.read} tokens{again} in {turn.first:.2f} s, {say.per_second(turn.read_rate)}/s'
    said = f'answer {turn.answer} tokens' + (f', {say.per_second(turn.answer_rate)}/s' if turn.answer_rate else '')
    return ' · '.join([read, said, *([f'loaded in {seconds:.2f} s'] if seconds is not None else [])])


def question(words):
    "The prompt: the words of the command, '-' among them or nothing at all for what comes through stdin."
    if words and '-' not in words: return ' '.join(words)
    if not words and say.in_terminal(sys.stdin):
        raise click.UsageError('What is the question? fucina run "What is the capital of France?"')
    text = sys.stdin.read() if sys.stdin else ''
    return ' '.join(text.rstrip('\n') if w == '-' else w for w in words or ['-'])


@fucina.command()
@click.argument('words', nargs=-1, metavar='[PROMPT]...')
@click.option('-p', '--prompt', help='The question, too; words behind it follow in the same line.')
@options(MODEL, DRAFT, ANSWER)
@click.option('--raw', is_flag=True, help='Go on with the text, without the chat template.')
@click.option('--json', 'as_json', is_flag=True, help='One JSON object at the end: content, finish, counts and times.')
@click.option('--cpuprofile', metavar='FILE', help="Write where the processor's time went: python -m pstats FILE")
@click.option('--stats/--no-stats', default=None, help='The line of speeds on stderr; without this: in a terminal.')
def run(words, prompt, model, threads, draft, raw, as_json, cpuprofile, stats, max_new, system, think, tools, **given):
    """Answer one question.

    PROMPT is the question; - in it stands for what comes through stdin, and so does no PROMPT at all.
    """
    text, box = question(([prompt] if prompt is not None else []) + [*words]), boxed(tools)
    if raw and box: raise click.UsageError('--tool needs the chat template that --raw leaves out.')
    if not text: raise fault(OptionError, 'the prompt is empty', 'fucina run "What is the capital of France?"')
    if cpuprofile is not None: click.get_current_context().with_resource(profiled(cpuprofile))
    loaded, seconds = open_model(model, threads, **loading(given))
    options = sampling(given) | drafting(draft, given)
    talk = continued(loaded, text, max_new, options) if raw else answered(loaded, text, max_new, system, think, box,
                                                                          options)
    said = []
    try:
        for piece in talk:
            said.append(piece)
            if not as_json: say.write(piece)
    finally:
        if said and not as_json and not said[-1].endswith('\n'): say.write('\n')
    turn = talk.turn
    if as_json:
        called = dict(tool_calls=box.calls) if box else {}
        click.echo(json.dumps(as_record(''.join(said), turn, seconds, loaded) | called, ensure_ascii=False))
    elif turn.finish == 'length' and say.listening():
        say.note(f'stopped after {turn.answer} tokens; -n lets it say more')
    if say.listening() and not as_json if stats is None else stats: say.note(speed_line(turn, seconds))


@contextmanager
def profiled(path):
    "Write to a file in which functions the time was until the command ends."
    from cProfile import Profile
    with replacing(path) as write:
        with Profile() as found: yield
        found.create_stats()
        write(marshal.dumps(found.stats))


class Talk:
    "Pieces of an answer; `turn` tells afterwards what it took."
    def __init__(self, pieces, turn): self.pieces, self.told = pieces, turn
    def __iter__(self): return iter(self.pieces)
    @property
    def turn(self): return self.told()


def boxed(names):
    "The tools that were asked for, None if none were."
    if not names: return None
    from .tools import Toolbox
    return Toolbox(names)


def answered(model, text, max_new, system, think, box, options):
    from ..llm.chat import Chat
    chat = Chat(model, system, think, tools=box and box.schemas, max_new=max_new, **options)
    return Talk(box.stream(chat, text) if box else chat.stream(text), lambda: chat.last)


def continued(model, text, max_new, options):
    from ..llm.chat import ContextFull, Turn, prompt_ids
    from ..llm.generation import generate
    ids = prompt_ids(model.tokenizer, text)
    room = int(getattr(model.config, 'context', 0) or 1 << 30) - len(ids)
    if room < 1:
        raise fault(ContextFull, f'the prompt has {len(ids)} tokens, and this model sees {room + len(ids)}',
                    'a shorter prompt')
    made = generate(model, ids, max_new=min(max_new, room), **options)
    def turn():
        took = made.speed()
        return Turn(len(ids), len(ids), len(made.ids), made.finish or 'cut', took['prompt_seconds'], took['seconds'])
    return Talk((step.text for step in made if step.text), turn)


def as_record(text, turn, seconds, model):
    "What --json prints."
    rate = lambda r: round(r, 2) if r else None
    return dict(content=text, finish=turn.finish, model=getattr(model.config, 'family', None),
                prompt_tokens=turn.prompt, answer_tokens=turn.answer, load_ms=round(1e3 * seconds, 1),
                prompt_ms=round(1e3 * turn.first, 1), answer_ms=round(1e3 * turn.rest, 1),
                prompt_tokens_per_second=rate(turn.read_rate), answer_tokens_per_second=rate(turn.answer_rate))
