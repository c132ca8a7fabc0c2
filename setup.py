"""The metadata comes from settings.ini, the compiled kernels from tools/build_kernels.py."""
import sys
from configparser import ConfigParser
from pathlib import Path
from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

here = Path(__file__).resolve().parent
sys.path.insert(0, str(here/'tools'))
import build_kernels

config = ConfigParser(delimiters=['='])
config.read(here/'settings.ini', encoding='utf-8')
cfg = config['DEFAULT']


def needs(extra): return cfg[f'{extra}_requirements'].split()


class BuildKernels(build_ext):
    "Kernels are compiled by the builder that `make kernels` uses, here for any recent processor"
    def run(self):
        if self.inplace: build_kernels.build()
        else: build_kernels.build(dest=Path(self.build_lib, 'kernels_pythran'), wheel=True)

    def get_outputs(self):
        found = Path(self.build_lib, 'kernels_pythran').rglob('*')
        return [str(p) for p in found if p.suffix == '.so' or p.name == build_kernels.FOR]


# A package without compiled parts installs everywhere, so kernels are declared only where they can be built.
kernels = [] if build_kernels.obstacle() else [
    Extension(f'kernels_pythran.{src.stem}', [f'kernels_pythran/{src.name}']) for src in build_kernels.sources()]

setup(
    name=cfg['lib_name'], version=cfg['version'], description=cfg['description'], author=cfg['author'],
    url=cfg['git_url'], license=cfg['license'].upper(), keywords=cfg['keywords'],
    python_requires=f">={cfg['min_python']}",
    long_description=(here/'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    packages=find_packages(include=['fucinalib', 'fucinalib.*']) + ['kernels_pythran'],
    include_package_data=True,
    install_requires=cfg['requirements'].split(),
    extras_require={'lab': needs('lab'), 'dev': needs('lab') + needs('dev'), 'reference': needs('reference')},
    entry_points={'console_scripts': ['fucina = fucinalib.cli:main'],
                  'nbdev': ['fucinalib=fucinalib._modidx:d'],
                  'fucinalib.kernels': ['pythran = kernels_pythran']},
    ext_modules=kernels, cmdclass={'build_ext': BuildKernels}, zip_safe=False,
)
