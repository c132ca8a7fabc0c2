"""The kernel builder: what it compiles again, what it says, and what it does without a compiler."""
import hashlib, importlib.util, sys
from pathlib import Path
import pytest
import build_kernels


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
