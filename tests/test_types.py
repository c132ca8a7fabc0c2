"""What type checkers say of programs that use the library, and what `help()` says of parameters."""
import inspect, re, subprocess, sys
from pathlib import Path
import numpy as np
import pytest
import fucinalib as fl

ROOT = Path(__file__).resolve().parents[1]

GOOD = '''
import numpy as np
import fucinalib as fl
from fucinalib import Tensor, f32, no_grad

pictures = np.zeros((8, 64), 'float32')
x = Tensor(pictures, 'row pixel')
labels = Tensor([0, 1, 2, 3, 4, 5, 6, 7], 'row', dtype='i64')
w = fl.param(fl.randn('pixel hidden', pixel=64, hidden=16, seed=1) * 0.1)
v = fl.param(np.zeros((16, 10)), ('hidden', 'class'), dtype=f32)

def model(x: Tensor) -> Tensor:
    h = x.dot(w, 'pixel').relu()
    return h @ v + fl.zeros('class', (10,))

loss: Tensor = model(x).cross_entropy('class', labels, reduction='mean')
loss.backward()
with no_grad():
    for p in (w, v):
        if p.grad is not None: p.detach().add_(p.grad, alpha=-0.1)
    shares: Tensor = model(x).softmax('class', scale=2.0)
right = (shares.argmax('class') == labels).to('f32').mean()
print(f'{right.item():.2f}', float(loss), x.shape[0], x.sizes['row'], x.dtype.is_float, x.numpy().mean())
scores: Tensor = fl.einsum('row', x, x) / 3 - 2 * x.sum('pixel')
again: Tensor = x.einsum(x, 'row') ** 2
y: Tensor = fl.concat([x, x], 'row').narrow('row', 0, 4)
best = x.topk('pixel', 3)
first: Tensor = best.values.narrow('pixel', 0, 1)
window: Tensor = (-x).abs().reshape('row h w', (8, 8, 8)).permute('h w row').max('h', 'w')

@fl.no_grad()
def evaluate(x: Tensor) -> float: return model(x).mean().item()

@no_grad
def evaluated(x: Tensor) -> float: return evaluate(x) + 1

number: float = evaluated(x)
with fl.use_backend('numpy'): print(number, len(fl.backends()['numpy']), fl.get_num_threads())
with fl.enable_grad(): print(model(x).graph(), fl.gradcheck(fl.exp, x), fl.op_table('losses'))
packed = fl.randn('score pixel', (4, 64)).pack()
off: Tensor = x.softmax('pixel', sinks=0.0)
print(x.dot(packed, 'pixel').isnan().any().item(), np.exp(np.asarray(x)), fl.current_backend())
'''

BAD = '''
import fucinalib as fl
x = fl.Tensor([[1., 2.]], 'row col')
x.sofmax('col')                         # no such method
fl.sofmax(x, 'col')                     # no such function
x.softmax('col', scal=2.0)              # no such option
x.softmax(1)                            # an axis by position
x.cross_entropy('col', [0], reduction='avg')    # no such word
x.sum(dim=1)                            # torch's option
x.softmax()                             # an argument is missing
fl.concat(x, 'row')                     # a list of tensors is meant
fl.zeros('row', row='3')                # a size is a number
x.dot([1., 2.], 'col')                  # a list is no tensor
x + 'one'                               # nor is a word
len(x)                                  # there is no first axis
for row in x: pass                      # nor anything to walk along
fl.nn.Linear(2, 3)                      # axes have names
fl.use_backend(3)                       # a backend has a name
x.shape = (2, 1)                        # sizes are asked for
n: int = x.sum()                        # a tensor is no number
fl.einsum(x)                            # of what, into what?
x.backwards()                           # no such method
'''


MODEL = '''
import fucinalib as fl
from fucinalib import Tensor

x = fl.rand('row pixel', row=8, pixel=64)

class Net(fl.nn.Module):
    def __init__(self) -> None:
        self.first, self.drop = fl.nn.Linear('pixel=64', 'hidden=16', seed=0), fl.nn.Dropout(0.1)
        self.rest = [fl.nn.Linear('hidden=16', 'hidden=16'), fl.nn.ReLU()]

    def forward(self, x: Tensor) -> Tensor:
        x = self.drop(self.first(x).relu())
        for layer in self.rest: x = layer(x)
        return x

net = Net().train()
with fl.nn.at_step(0, 1): hidden: Tensor = net(x)
names = [name for name, p in net.named_parameters() if p.numel > 3]
net.load_state_dict(net.eval().state_dict())
chain = fl.nn.Sequential(net, fl.relu, fl.nn.Linear('hidden=16', 'class=10'))
print(chain, len(chain), chain[0], fl.summary(chain, x), names)
'''


def asked(checker, folder, *names, strict=False):
    "{(file, line): what a checker says is wrong there}"
    said = dict(mypy=['mypy', '--cache-dir', str(folder/'cache')],
                pyright=['basedpyright', '--level', 'error', '--pythonpath', sys.executable])[checker]
    mode = 'strict' if strict else 'standard'
    (folder/'pyrightconfig.json').write_text(f'{{"typeCheckingMode": "{mode}", "extraPaths": ["{ROOT}"]}}')
    (folder/'mypy.ini').write_text(f'[mypy]\nmypy_path = {ROOT}\nstrict = {strict}\n')
    out = subprocess.run([sys.executable, '-m', *said, *names], cwd=folder, capture_output=True, text=True, timeout=300)
    assert out.returncode in (0, 1), out.stdout + out.stderr
    errors = re.findall(r'([\w.]+):(\d+):(?:\d+)?(?: -)? *error: (.*)', out.stdout)
    return {(name, int(line)): words for name, line, words in errors}


@pytest.mark.parametrize('checker, package', [('mypy', 'mypy'), ('pyright', 'basedpyright')])
def test_a_checker_accepts_what_works_and_refuses_slips(checker, package, tmp_path):
    "Every line of the good program, every call of a sample; no line of the bad one."
    pytest.importorskip(package)
    programs = {'good.py': GOOD.strip(), 'calls.py': '\n'.join(sampled()), 'bad.py': BAD.strip(),
                'model.py': MODEL.strip()}
    for name, text in programs.items(): (tmp_path/name).write_text(text + '\n')
    found = asked(checker, tmp_path, *programs)
    for name in ('good.py', 'calls.py', 'model.py'):
        lines = programs[name].splitlines()
        wrong = {lines[at - 1]: said for (file, at), said in found.items() if file == name}
        assert not wrong, '\n'.join(f'{line}\n    {said}' for line, said in wrong.items())
    slips = [(i, line) for i, line in enumerate(programs['bad.py'].splitlines(), 1) if '  #' in line]
    missed = [line for i, line in slips if ('bad.py', i) not in found]
    assert not missed, missed


@pytest.mark.parametrize('checker, package', [('mypy', 'mypy'), ('pyright', 'basedpyright')])
def test_strict_checkers_know_the_type_of_everything(checker, package, tmp_path):
    pytest.importorskip(package)
    (tmp_path/'good.py').write_text(GOOD.strip() + '\n')
    assert asked(checker, tmp_path, 'good.py', strict=True) == {}


def test_the_good_program_runs():
    exec(GOOD, {})
    exec(MODEL, {})


def sampled():
    "A program that calls each operation as its samples do, and as a method; the rest is written out."
    yield 'from typing import Any\nimport numpy as np\nimport fucinalib as fl'
    yield 'def calls(T: fl.Tensor, A: np.ndarray[Any, Any]) -> None:'
    for name, o in fl.registry.items():
        for s in o.samples:
            args, kw = s.draw()
            words = [*map(word, args), *(f'{k}={word(v)}' for k, v in kw.items())]
            yield f'    fl.{name}({", ".join(words)})'
            if o.attach and words[0] == 'T': yield f'    T.{name}({", ".join(words[1:])})'


def word(v):
    "An argument as source."
    if isinstance(v, fl.Tensor): return 'T'
    if isinstance(v, np.ndarray): return 'A'
    if isinstance(v, (list, tuple)) and not hasattr(v, '_fields'):
        inner = ', '.join(map(word, v))
        return f'[{inner}]' if isinstance(v, list) else f'({inner}{"," * (len(v) == 1)})'
    if isinstance(v, (str, int, float, bool, type(None))): return repr(v)
    return f'fl.{type(v).__name__}(*A)'


def test_the_package_says_that_it_is_typed():
    assert (ROOT/'fucinalib'/'py.typed').exists()
    assert '__getattr__' not in (ROOT/'fucinalib'/'tensor.pyi').read_text()


@pytest.mark.parametrize('name', sorted(fl.registry))
def test_help_says_what_each_parameter_is(name):
    "In a terminal, and with the same words on hover."
    o = fl.registry[name]
    doc = inspect.getdoc(getattr(fl, name))
    assert ' '.join(doc.split()).startswith(o.doc.splitlines()[0])
    for n in o.signature.parameters:
        if n != 'self': assert re.search(rf'^{n}\n    \S', doc, re.M), f'{name} does not say what {n} is'
    if o.attach: assert inspect.getdoc(getattr(fl.Tensor, name)) == doc
    stub = (ROOT/'fucinalib'/'__init__.pyi').read_text()
    for line in doc.splitlines()[1:]: assert line.replace('\\', '\\\\') in stub, line


@pytest.mark.parametrize('path', ['Tensor', 'Tensor.graph', 'gradcheck', 'checkpoint', 'explain'])
def test_help_says_it_of_what_is_no_operation(path):
    found = fl
    for part in path.split('.'): found = getattr(found, part)
    assert '\nParameters\n----------\n' in inspect.getdoc(found)


PARTS = {'nn.Linear': 'inputs', 'nn.Dropout': 'p', 'nn.init.he_normal': 'gain', 'nn.Embedding': 'words',
         'nn.at_step': 'step', 'optim.AdamW': 'lr', 'nn.Sequential': 'layers'}

@pytest.mark.parametrize('path, parameter', PARTS.items(), ids=PARTS)
def test_help_says_it_of_packages_that_come_when_asked_for(path, parameter):
    "Each in a process of its own, where whoever imports it first may be another package."
    part, _, rest = path.partition('.')
    said = f'import inspect, fucinalib as fl; fl.train; print(inspect.getdoc(fl.{part}.{rest}))'
    doc = subprocess.run([sys.executable, '-c', said], capture_output=True, text=True, cwd=ROOT, check=True).stdout
    assert '\nParameters\n----------\n' in doc and re.search(rf'^{parameter}\n    \S', doc, re.M)


def test_help_shows_no_comment_of_the_source():
    "A function without a docstring has the line above it shown, which names a cell."
    for name, v in vars(fl.Tensor).items():
        if inspect.isfunction(v) and not v.__doc__: assert '.ipynb' not in (inspect.getcomments(v) or ''), name
