"""The kernel builder: what it compiles again, what it says, and what it does without a compiler."""
import hashlib, importlib.util, os, re, subprocess, sys, threading
from pathlib import Path
import pytest
import build_kernels
import kernels_pythran


@pytest.fixture
def folder(tmp_path, monkeypatch):
    "Two kernels and a helper, with an empty cache"
    monkeypatch.setenv('FUCINALIB_CACHE', str(tmp_path/'cache'))
    build_kernels.cache.cache_clear()
    for name in ('FUCINALIB_NO_KERNELS', 'FUCINALIB_REQUIRE_KERNELS'): monkeypatch.delenv(name, raising=False)
    for name in ('one', 'two', '_helper'): (tmp_path/f'{name}.py').write_text(f'# {name}\n')
    yield tmp_path
    build_kernels.cache.cache_clear()


@pytest.fixture
def compiled(monkeypatch):
    """Names of the kernels given to the compiler, which here only writes what Pythran writes too:
    the hash of what it read"""
    names = []

    def compile_one(src, flags, toolchain, compilers):
        names.append(src.stem)
        if 'oops' in src.read_text(): return f'{src.name}:1 oops is unknown'
        build_kernels.cached(src, toolchain).write_text(hashlib.sha256(build_kernels.content(src)).hexdigest())
        return ''

    monkeypatch.setattr(build_kernels, 'compile_one', compile_one)
    monkeypatch.setattr(build_kernels, 'obstacle', lambda: None)
    monkeypatch.setattr(build_kernels, 'toolchain', lambda flags: flags)
    monkeypatch.setattr(build_kernels, 'import_module', lambda name: None)
    monkeypatch.setattr(build_kernels, 'compiler', lambda: 'c++')
    return names


def built(folder): return sorted(p.name.split('.')[0] for p in folder.glob('*.so'))


def test_compiles_only_what_changed(folder, compiled):
    assert build_kernels.build(folder) == built(folder) == sorted(compiled) == ['one', 'two']
    compiled.clear()
    build_kernels.build(folder)
    assert compiled == []
    (folder/'two.py').write_text('# two, changed\n')
    build_kernels.build(folder)
    assert compiled == ['two']


def test_a_helper_is_compiled_into_those_that_import_it(folder, compiled):
    (folder/'one.py').write_text('from ._helper import f\n')
    build_kernels.build(folder)
    compiled.clear()
    (folder/'_helper.py').write_text('# changed\n')
    assert not build_kernels.fresh(next(folder.glob('one.*.so')), folder/'one.py')
    build_kernels.build(folder)
    assert compiled == ['one'] and built(folder) == ['one', 'two']


def test_cache_serves_an_old_source_and_a_new_clone(folder, compiled, tmp_path, capsys):
    build_kernels.build(folder)
    compiled.clear()
    (folder/'two.py').write_text('# two, changed\n')
    build_kernels.build(folder)
    (folder/'two.py').write_text('# two\n')
    build_kernels.build(folder)
    build_kernels.build(folder, dest=tmp_path/'wheel')
    assert compiled == ['two'] and built(tmp_path/'wheel') == ['one', 'two']
    assert 'two              cached' in capsys.readouterr().out


def test_key_depends_on_source_helper_and_toolchain(folder):
    one = folder/'one.py'
    keys = [build_kernels.key(one, ['g++ 12']), build_kernels.key(one, ['g++ 13'])]
    one.write_text('from ._helper import f\n')
    keys.append(build_kernels.key(one, ['g++ 12']))
    (folder/'_helper.py').write_text('# changed\n')
    keys.append(build_kernels.key(one, ['g++ 12']))
    assert len(set(keys)) == 4 == len({k for k in keys if len(k) == 16})


def test_removes_what_no_longer_has_its_source(folder, compiled):
    build_kernels.build(folder)
    (folder/'one.py').unlink()
    (folder/'two.py').write_text('# oops\n')
    assert build_kernels.build(folder) == built(folder) == []


def test_a_failure_is_one_line_and_the_rest_is_built(folder, compiled, capsys):
    (folder/'two.py').write_text('# oops\n')
    assert build_kernels.build(folder) == ['one']
    assert 'kernels   two              failed: two.py:1 oops is unknown\n' in capsys.readouterr().out


def test_a_failure_is_fatal_where_kernels_are_required(folder, compiled, monkeypatch):
    monkeypatch.setenv('FUCINALIB_REQUIRE_KERNELS', '1')
    (folder/'two.py').write_text('# oops\n')
    with pytest.raises(SystemExit, match='missing: two'): build_kernels.build(folder)


def test_without_a_compiler_one_line_says_so(folder, monkeypatch, capsys):
    monkeypatch.delenv('CXX', raising=False)
    monkeypatch.setenv('PATH', str(folder))
    assert build_kernels.build(folder) == []
    said = capsys.readouterr().out
    assert said == 'kernels   not compiled: there is no C++ compiler (g++ or clang++); fucinalib runs on NumPy\n'


@pytest.mark.parametrize('log, line', [
    ('CRITICAL: dear me\ndir/one.py:4:11 error: Attribute \'x\' unknown\n----', "one.py:4 Attribute 'x' unknown"),
    ('/tmp/a.cpp:3:1: error: no match for {anonymous}::pythonic::types::ndarray', 'no match for ndarray'),
    ('ImportError: nothing here', 'ImportError: nothing here'),
    ('', 'the compiler said nothing'),
])
def test_first_error(log, line): assert build_kernels.first_error(log) == line


@pytest.mark.skipif(not importlib.util.find_spec('pythran'), reason='Pythran is not installed')
@pytest.mark.parametrize('name', ['one.py', 'random.py'])       # a kernel must not hide a module of Python from Pythran
def test_pythran_tells_where_it_failed(folder, monkeypatch, name):
    monkeypatch.setattr(build_kernels, 'compiler', lambda: 'c++')
    (folder/name).write_text('#pythran export one(float32[:])\ndef one(x:\n')
    error = build_kernels.compile_one(folder/name, [], [], build_kernels.Compilers())
    assert error == f"{name}:2 '(' was never closed" and not build_kernels.cached(folder/name, []).exists()


@pytest.mark.skipif(not importlib.util.find_spec('pythran'), reason='Pythran is not installed')
def test_pythran_finds_helpers(folder, monkeypatch):
    monkeypatch.setattr(build_kernels, 'compiler', lambda: 'c++')
    (folder/'one.py').write_text('from ._helper import f\n#pythran export one(int)\ndef one(x): return f(x)\n')
    (folder/'_helper.py').write_text('def f(x): return x.nothing\n')
    assert build_kernels.compile_one(
        folder/'one.py', [], [],
        build_kernels.Compilers()) == "_helper.py:1 Attribute 'nothing' unknown"


def test_a_source_that_changes_while_it_is_compiled_is_not_kept(folder):
    class Editor:
        def run(self, cmd, **kw):
            Path(cmd[-1]).write_text('compiled from the old source')
            (folder/'one.py').write_text('# the new source\n')
            return 0, ''
    assert build_kernels.compile_one(folder/'one.py', [], [], Editor()).startswith('the source changed meanwhile')
    assert not list(build_kernels.cache().glob('one*'))


@pytest.mark.skipif(not hasattr(build_kernels.resource, 'prlimit'), reason='no limits on memory here')
def test_a_compiler_that_takes_too_much_is_stopped(monkeypatch):
    run = build_kernels.Compilers().run
    monkeypatch.setattr(build_kernels, 'GB', 1)
    assert build_kernels.first_error(run([sys.executable, '-c', 'bytearray(2 << 30)'])[1]) == 'MemoryError'
    monkeypatch.setattr(build_kernels, 'MINUTES', 1/600)
    assert 'took more than' in run([sys.executable, '-c', 'import time; time.sleep(60)'])[1]


def test_march(monkeypatch):
    monkeypatch.setattr(build_kernels, 'X86', True)
    monkeypatch.delenv('FUCINALIB_MARCH', raising=False)
    assert '-march=native' in build_kernels.flags() and '-march=x86-64-v3' in build_kernels.flags(wheel=True)
    monkeypatch.setenv('FUCINALIB_MARCH', 'x86-64-v2')
    assert '-march=x86-64-v2' in build_kernels.flags() and '-march=x86-64-v2' in build_kernels.flags(wheel=True)


# ---- while something else goes on
def test_what_is_cached_is_in_place_before_anything_is_compiled(folder, compiled):
    build_kernels.build(folder)
    for so in folder.glob('*.so'): so.unlink()
    (folder/'two.py').write_text('# two, changed\n')
    assert build_kernels.missing(folder) == (['two'], None) and built(folder) == ['one']

def test_what_is_missing_without_a_compiler(folder, monkeypatch):
    monkeypatch.setenv('FUCINALIB_NO_KERNELS', '1')
    assert build_kernels.missing(folder) == (['one', 'two'], 'FUCINALIB_NO_KERNELS is set')


def test_a_quiet_build_says_one_line(folder, compiled, capsys):
    build_kernels.build(folder, quiet=True)
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 1 and '2 of 2 ready' in said[0] and 'a notebook that starts from now on' in said[0]
    (folder/'two.py').write_text('# oops\n')
    build_kernels.build(folder, quiet=True)
    said = capsys.readouterr().out
    assert 'two              failed: two.py:1 oops is unknown' in said and '1 of 2 ready' in said


def test_two_builds_of_a_folder_compile_once(folder, compiled, monkeypatch):
    "The second waits, and finds everything done."
    begun, waits, may_end, compile_one = *(threading.Event() for _ in range(3)), build_kernels.compile_one
    monkeypatch.setattr(build_kernels, 'say', lambda text: waits.set() if 'waiting for it' in text else None)
    def slow(*args):
        begun.set()
        assert may_end.wait(60)
        return compile_one(*args)
    monkeypatch.setattr(build_kernels, 'compile_one', slow)
    first, second = [threading.Thread(target=build_kernels.build, args=(folder,)) for _ in range(2)]
    first.start()
    assert begun.wait(60)
    second.start()
    assert waits.wait(60)
    may_end.set()
    first.join(60)
    second.join(60)
    assert sorted(compiled) == built(folder) == ['one', 'two']


PARENT = """
import subprocess, sys
child = 'import os, sys, time; sys.path.insert(0, sys.argv[1]); import build_kernels; ' \\
        'build_kernels.end_with_parent(os.getppid()); print(os.getpid(), flush=True); time.sleep(600)'
subprocess.Popen([sys.executable, '-c', child, sys.argv[1]])
sys.stdin.read()
"""

def test_a_build_ends_with_whoever_asked_for_it():
    parent = subprocess.Popen([sys.executable, '-c', PARENT, str(Path(build_kernels.__file__).parent)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    os.kill(pid, 0)         # it lives
    parent.stdin.close()
    parent.wait(60)
    assert parent.stdout.read() == ''       # ends when the child has closed its side too


# ---- make lab
@pytest.fixture
def lab(monkeypatch, tmp_path):
    "tools/lab.py with everything taken away that starts something; `.started` lists what would"
    import lab
    lab.started = []
    monkeypatch.setattr(lab, 'ROOT', tmp_path)
    monkeypatch.setattr(lab.workcopy, 'main', lambda: None)
    monkeypatch.setattr(lab.os, 'chdir', lambda path: None)
    monkeypatch.setattr(lab.os, 'execv', lambda program, words: lab.started.append(words))
    monkeypatch.setattr(lab.subprocess, 'Popen', lambda words, **kw: lab.started.append(list(map(str, words))))
    monkeypatch.setattr(lab.sys, 'argv', ['lab.py'])
    return lab

LEFT = {'some': ((['dot', 'softmax'], None), '2 are compiled meanwhile', True),
        'none': (([], None), '', False),
        'never': ((['dot'], 'there is no C++ compiler'), 'not compiled: there is no C++ compiler', False)}

@pytest.mark.parametrize('left, said, builds', LEFT.values(), ids=LEFT)
def test_lab_opens_at_once_and_says_in_a_line_what_is_compiled_behind_it(lab, monkeypatch, capsys, left, said, builds):
    monkeypatch.setattr(lab.build_kernels, 'missing', lambda: left)
    monkeypatch.setenv('JUPYTER_PATH', '')       # main sets it; this way it is set back
    lab.main()
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith('kernels')]
    assert len(lines) == bool(said) and all(said in line and len(line) < 130 for line in lines)
    assert [words[-1] for words in lab.started[:-1]] == ['--behind'] * builds
    assert 'jupyterlab' in lab.started[-1]


def test_make_lab_compiles_nothing_first():
    root = Path(build_kernels.__file__).parents[1]
    rule = re.search(r'^lab: (.*?)##', (root/'Makefile').read_text(), re.M)[1]
    assert 'kernels' not in rule and '$(LAB)' in rule


# processors

@pytest.fixture
def shelf(tmp_path, monkeypatch):
    "A folder of kernels that were compiled for two levels"
    monkeypatch.setattr(kernels_pythran, 'HERE', tmp_path)
    for folder, march, names in (tmp_path, 'x86-64-v3', 'one two'), (tmp_path/'v4', 'x86-64-v4', 'one'):
        folder.mkdir(exist_ok=True)
        for name in names.split(): (folder/f'{name}{build_kernels.SUFFIX}').touch()
        build_kernels.note_processor(folder, march)
    return tmp_path


@pytest.mark.parametrize('has, found', [(kernels_pythran.V4, dict(one='v4', two='')),
                                        (kernels_pythran.V3, dict(one='', two='')),
                                        (kernels_pythran.V3[1:], {}), ([], {})])
def test_a_processor_is_given_what_it_can_run(has, found, shelf, monkeypatch):
    monkeypatch.setattr(kernels_pythran, 'instructions', lambda: set(has))
    places = {name: str(p.parent.relative_to(shelf)).strip('.') for name, p in kernels_pythran.built().items()}
    assert places == found


def test_kernels_of_another_processor_are_left_out_and_that_is_told(shelf, monkeypatch):
    monkeypatch.setattr(kernels_pythran, 'instructions', lambda: {'sse2'})
    with pytest.warns(RuntimeWarning, match='another processor'): assert kernels_pythran.kernels() == {}


def test_a_wheel_has_a_second_version_of_what_is_hot(folder, compiled, tmp_path, monkeypatch):
    monkeypatch.delenv('FUCINALIB_MARCH', raising=False)
    monkeypatch.setattr(build_kernels, 'X86', True)
    monkeypatch.setattr(build_kernels, 'TWICE', ['two'])
    build_kernels.build(folder, dest=tmp_path/'wheel', wheel=True)
    assert sorted(compiled) == ['one', 'two', 'two'] and built(tmp_path/'wheel'/'v4') == ['two']
    assert 'avx512f' not in (tmp_path/'wheel'/'built_for').read_text().split()
    assert 'avx512f' in (tmp_path/'wheel'/'v4'/'built_for').read_text().split()


def test_hot_families_exist():
    assert {*build_kernels.TWICE} <= {src.stem for src in build_kernels.sources()}
