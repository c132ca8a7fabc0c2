"""What pip calls (PEP 517): setuptools, plus two things it cannot do for us.

Pythran is asked for only where it can compile, with the version that settings.ini names. An editable install
is a wheel that holds one line, this folder: the same with every setuptools, and tools that read paths find the code.
"""
import base64, hashlib, re, shutil, zipfile
from configparser import ConfigParser
from pathlib import Path
from setuptools import build_meta
from setuptools.build_meta import build_sdist, get_requires_for_build_sdist         # noqa: F401
from setuptools.build_meta import prepare_metadata_for_build_wheel
import build_kernels

WHEEL = b'Wheel-Version: 1.0\nGenerator: fucinalib\nRoot-Is-Purelib: true\nTag: py3-none-any\n'
prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def get_requires_for_build_wheel(config_settings=None):
    "numpy and pythran, or nothing where no kernel can be compiled"
    config = ConfigParser(delimiters=['='])
    config.read('settings.ini', encoding='utf-8')
    names = config['DEFAULT']['requirements'] + ' ' + config['DEFAULT']['lab_requirements']
    return [] if build_kernels.obstacle(pythran=False) else re.findall(r'\b(?:numpy|pythran)[<>=]\S*', names)


get_requires_for_build_editable = get_requires_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    "Start from an empty build folder, where setuptools would pick up modules that are long gone"
    shutil.rmtree('build', ignore_errors=True)
    return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    "Compile beside the sources and write a wheel whose .pth file points here"
    build_kernels.build()
    info = Path(wheel_directory, prepare_metadata_for_build_wheel(wheel_directory, config_settings))
    name = info.name.removesuffix('.dist-info')
    files = {str(p.relative_to(info.parent)): p.read_bytes() for p in info.rglob('*') if p.is_file()}
    files.pop(f'{info.name}/RECORD', None)
    files[f'{info.name}/WHEEL'] = WHEEL
    files['fucinalib-editable.pth'] = f'{Path.cwd()}\n'.encode()
    shutil.rmtree(info)
    digest = lambda data: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()
    record = ''.join(f'{path},sha256={digest(data)},{len(data)}\n' for path, data in files.items())
    files[f'{info.name}/RECORD'] = f'{record}{info.name}/RECORD,,\n'.encode()
    wheel = f'{name}-py3-none-any.whl'
    with zipfile.ZipFile(Path(wheel_directory, wheel), 'w') as z:
        for path, data in files.items(): z.writestr(path, data)
    return wheel
