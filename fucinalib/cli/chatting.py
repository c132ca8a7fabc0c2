"""`fucina chat`: a conversation in a terminal or through a pipe."""
import signal, sys
import click
from ..errors import FucinaError, OptionError, did_you_mean, fault
from . import answering, lines, say
from .answering import ANSWER, DRAFT, MODEL, boxed, drafting, loading, options, sampling, speed_line
from .group import fucina

__all__ = ['chat']

NEARLY = .85      # of the context: from here on the chat says how much is left
FREELY = .7       # temperature of another answer, where the likeliest would come again


class Stopper:
    "Ctrl-C while the model speaks: the first ends the answer after this token, the second at once."
    def __enter__(self):
        self.asked = False
        try: self.before = signal.signal(signal.SIGINT, self.press)
        except ValueError: self.before = None      # not in the main thread
        return self

    def press(self, *_):
        if self.asked: raise KeyboardInterrupt
        self.asked = True

    def __exit__(self, *_):
        if self.before is not None: signal.signal(signal.SIGINT, self.before)


# ---- talking
class Talking:
    "Turns of a conversation: a line is asked, and answered as it comes."
    def __init__(self, given):
        self.given, self.box, self.chat, self.tries = given, boxed(given['tools']), None, 0
        self.seen = say.in_terminal(sys.stdin) and say.in_terminal(sys.stdout)
        self.draft = drafting(given['draft'], given)
        self.open(given['model'])

    def open(self, name):
        "Talk with this model, on with the same conversation."
        from ..llm.chat import Chat
        model, seconds = answering.open_model(name, self.given['threads'], **loading(self.given))
        old, tools = self.chat, self.box and self.box.schemas
        new = Chat(model, *((old.system, old.think) if old else (self.given['system'], self.given['think'])),
                   tools=tools)
        if old: new.restore(old.messages)      # a model that cannot go on with it is left
        self.chat, self.name, self.seconds = new, name, seconds
        self.choose()

    def choose(self):
        "The chat draws tokens as the settings say."
        self.chat.max_new, self.chat.options = self.given['max_new'], sampling(self.given) | self.draft

    def talk(self):
        "Until somebody leaves."
        line = lines.typed([f'/{c}' for c in COMMANDS]) if self.seen else lines.from_pipe
        for text, quoted in lines.entries(line):
            if not text.strip():
                if not self.seen: return
            elif not text.startswith('/') or quoted: self.turn(text)
            elif self.command(*text[1:].split(None, 1)) == 'exit': return

    def turn(self, text):
        "One question and its answer. In a terminal, Ctrl-C and what cannot be answered end only this."
        try:
            with Stopper() as stop: self.speak(text, stop)
        except KeyboardInterrupt:
            if not self.seen: raise
        except FucinaError as e:
            if not self.seen: raise
            return say.problem(e)
        say.write('\n')
        if not self.seen and stop.asked: raise KeyboardInterrupt
        if self.seen: self.after()

    def speak(self, text, stop):
        for piece in self.box.stream(self.chat, text) if self.box else self.chat.stream(text):
            say.write(piece)
            if stop.asked: return

    def after(self):
        "The lines below an answer in a terminal."
        took = self.chat.last
        say.note(f'{speed_line(took, self.seconds)} · {self.meter(self.chat.used)}')
        self.seconds, full = None, self.chat.used >= self.chat.capacity - 1
        if took.finish == 'cut' and took.answer: say.note('stopped; what was said until then is kept')
        if took.finish == 'length' and not full:
            say.note(f'stopped after {took.answer} tokens; /set max-new lets it say more')
        if full: say.note('the conversation is full: /undo takes the last turn back, /clear begins anew')
        elif self.chat.used > NEARLY * self.chat.capacity:
            say.note('the conversation is nearly full; /clear begins anew')

    def meter(self, used):
        most = self.chat.capacity
        return f'context {used}' + (f' of {most} ({100 * used / most:.0f} %)' if most < 1 << 30 else '')


# ---- commands: do_NAME
COMMANDS = dict(
    help='these commands', system='who the model is to be', model='another model, the same conversation',
    set='temp, top-p, top-k, min-p, repeat-penalty, max-new, seed: /set temp 0.7',
    think='let it think aloud (on, off)', retry='another answer to the last question',
    undo='take the last question and its answer back', save='write the conversation to a file (JSON; .txt or .md)',
    load='go on with a conversation that was saved', clear='forget what was said', context='how full the context is',
    exit='leave, like Ctrl-D')
MORE = dict(quit='exit', bye='exit', reset='clear', new='clear', regen='retry')      # as elsewhere
SETTINGS = 'temp top_p top_k min_p repeat_penalty max_new seed'.split()


class Session(Talking):
    "A conversation, and what can be done with it in between."
    def command(self, word='', text=''):
        do = getattr(self, f'do_{MORE.get(word, word)}', None)
        if do is None:
            near = did_you_mean(f'/{word}', [f'/{c}' for c in COMMANDS], 'commands')
            return say.note(f'/{word} is no command; {near}\nwhat begins with a blank is said as it is')
        try: return do(text.strip())
        except FucinaError as e:
            if not self.seen: raise
            say.problem(e)

    def told(self, text):
        "Say what was done, where somebody looks."
        if self.seen: say.note(text)

    def do_help(self, _):
        for name, what in COMMANDS.items(): say.note(f'/{name:<9} {what}')
        say.note('Alt-Enter or \\ at the end of a line goes on in the next; """ begins and ends a text of many lines')

    def do_exit(self, _): return 'exit'

    def do_system(self, text):
        if not text:
            return say.note(f'system: {self.chat.system!r}' if self.chat.system is not None else
                            "system: what the model's template says")
        self.chat.system = '' if text in ('""', "''") else text
        self.told('from the next answer on; /clear to begin anew')

    def do_model(self, name):
        if not name: return say.note(f'model: {self.name or "the default"}')
        self.open(name)
        self.told(f'loaded in {self.seconds:.2f} s · {self.meter(self.chat.count())}')

    def do_set(self, text):
        "Change an option of the command, checked as the command line does."
        name, _, value = text.replace('=', ' ').partition(' ')
        known = {o.name: o for o in chat.params if o.name in SETTINGS}
        if not name: return say.note('\n'.join(f'{n.replace("_", "-"):<15} {self.given[n]}' for n in known))
        option = known.get(name.lstrip('-').replace('-', '_'))
        if option is None or not value.strip():
            names = [n.replace('_', '-') for n in known]
            raise fault(OptionError, f'/set {text} sets nothing', f'/set {name} 1' if option else
                        did_you_mean(name, names, 'settings'))
        try: self.given[option.name] = option.type.convert(value.strip(), option, None)
        except click.BadParameter as e: raise fault(OptionError, f'/set {text}: {e.message}', '/help') from None
        self.choose()

    def do_think(self, text):
        if text.lower() not in ('', 'on', 'off'): raise fault(OptionError, f'/think {text}', '/think on, or /think off')
        if text: self.chat.think = text.lower() == 'on'
        self.told(f'think: {"on" if self.chat.think else "off"}')

    def do_undo(self, _):
        taken = self.chat.undo()
        if taken is None: return say.note('nothing was asked yet')
        self.told(f'taken back: {taken.splitlines()[0][:60] if taken else ""} · {self.meter(self.chat.used)}')

    def do_retry(self, _):
        before, options = self.chat.messages, self.chat.options
        text, left = self.chat.undo(), len(self.chat.messages)
        if text is None: return say.note('nothing was asked yet')
        self.chat.options = options | self.another()
        try: self.turn(text)
        finally:
            self.chat.options = options
            if len(self.chat.messages) == left: self.chat.restore(before)      # no token came

    def another(self):
        "Options by which an answer differs from the one before."
        self.tries += 1
        seed = {} if self.given['seed'] is None else dict(seed=self.given['seed'] + self.tries)
        if self.given['temp']: return seed
        say.note(f'the likeliest answer would be the same; this one is drawn at temperature {FREELY}')
        return seed | dict(temperature=FREELY)

    def do_save(self, name):
        from .saved import write_chat
        if not name: return say.note('/save FILE')
        messages = self.chat.whole()
        write_chat(name, messages)
        self.told(f'saved {len(messages)} messages')

    def do_load(self, name):
        from .saved import read_chat
        if not name: return say.note('/load FILE')
        self.chat.restore(read_chat(name))
        self.told(f'{len(self.chat.whole())} messages · {self.meter(self.chat.count())}')

    def do_clear(self, _):
        self.chat.clear()
        self.told('forgotten')

    def do_context(self, _): say.note(f'{self.meter(self.chat.count())}, {len(self.chat.messages)} messages')


@fucina.command()
@options(MODEL, DRAFT, ANSWER)
def chat(**given):
    """Talk with a model, a line at a time.

    An empty line or the end of the input ends a chat that comes through a pipe. /help names the commands.
    """
    session = Session(given)
    session.told('Ctrl-C stops an answer, Ctrl-D leaves, /help names the commands')
    session.talk()
