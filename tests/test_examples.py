"""The examples: each runs with small settings and finds what it says; the runner lists them and tells a wrong name."""
import os, subprocess, sys
import numpy as np
import pytest
import fucinalib as fl
from fucinalib.errors import FileError, OptionError, UnknownName
from fucinalib.examples import answers, listed, run

GPT2 = os.path.join(os.path.dirname(__file__), 'data', 'decoders', 'gpt2')
SMALL = dict(      # name -> settings under which it runs in a moment
    balance='--generations 3 --steps 60', flappy='--generations 1 --birds 4 --pipes 3',
    gpt2=f'--model {GPT2} --n 3 --quant q8_0',
    hello='', dot='', tensors='', dataset='', plasma='--width 12 --height 7 --frames 2', xor='--steps 400',
    fizzbuzz='--epochs 8 --n 15', spiral='--epochs 60', iris='--epochs 60', digits='--n 300 --epochs 6',
    mnist='--n 20 --epochs 1 --size 8', fashion='--n 20 --epochs 1 --size 8',
    lora='--model 8 --heads 2 --blocks 1 --length 8 --rank 2 --steps 20 --more 10 --n 20',
    charlstm='--hidden 8 --steps 20 --n 20', tinygpt='--model 8 --heads 2 --blocks 1 --length 8 --steps 20 --n 20')
FILES = {'mnist', 'fashion'}      # these need files that are not everywhere


@pytest.mark.parametrize('name', sorted(SMALL))
def test_runs(name, capsys, monkeypatch):
    if name in FILES:
        pictures = fl.data.digits()[:60]
        wide = pictures.x.numpy().repeat(3, 1).repeat(3, 2)[:, :28, :28]
        whole = fl.data.Dataset(fl.Tensor(np.pad(wide, ((0, 0), (2, 2), (2, 2), (0, 0))), 'batch h w c'), pictures.y)
        monkeypatch.setattr(fl.data, 'mnist', lambda: (whole[:40], whole[40:]))
        monkeypatch.setattr(fl.data, 'fashion_mnist', lambda: (whole[:40], whole[40:]))
    run(name, *SMALL[name].split())
    assert capsys.readouterr().out

def test_the_pole_learns_to_stand():
    found = run('balance', '--generations', 8, '--carts', 4)
    assert found['before'] < 15 and found['after'] > 100 and len(found['curve']) == 8

# ---- flappy
def test_a_rule_flies_through_every_gap_and_chance_through_few(capsys):
    assert run('flappy', '--player', 'rule') == dict(mean=40., least=40, through=100)
    assert run('flappy', '--player', 'chance')['mean'] < 1

def test_the_bird_learns_to_fly():
    "As far as the rule, through gaps it never saw."
    assert run('flappy', '--seed', 3)['mean'] > 39

def test_where_a_bird_falls():
    from fucinalib.examples.flappy import by_rule, fly, gaps
    middles = gaps(0, 3, 4)
    still = fly(lambda state: np.zeros(3, bool), middles)
    assert still[0].tolist() == [0, 0, 0] and len(still[1]) < 25 and np.isnan(still[1][-1]).all()      # the ground
    assert fly(lambda state: np.ones(3, bool), middles)[0].tolist() == [0, 0, 0]      # out of the sky
    assert fly(by_rule, np.array([[.5, .5], [.5, -9.]]))[0].tolist() == [2, 1]

def test_a_language_model_plays(monkeypatch):
    "Asked once for each place of the gap; what it leans to on the whole is taken off."
    from speaker import Speaker
    from fucinalib.examples.flappy import by_words, fly, gaps, leanings
    middles = gaps(0, 3, 4)
    assert len(leanings(Speaker())) == 3 and fly(by_words(Speaker()), middles)[0].tolist() == [0, 0, 0]
    monkeypatch.setattr('fucinalib.examples.flappy.leanings', lambda model: np.array([-1., -2., -3.]))
    assert fly(by_words(None), middles)[0].tolist() == [4, 4, 4]
    assert fly(by_words(None, fair=False), middles)[0].tolist() == [0, 0, 0]

def test_nobody_flies():
    with pytest.raises(OptionError, match='nobody flies'): run('flappy', '--birds', 0)

def test_gpt2_goes_on(capsys):
    assert run('gpt2', '--model', GPT2, '--n', 4)['ids'] == [
        step.id for step in fl.llm.generate(fl.llm.load(GPT2), [1, 2, 3], max_new=4)]
    with pytest.raises(OptionError, match='0 tokens are none'): run('gpt2', '--n', 0)

def test_every_example_is_tried_and_told():
    assert SMALL.keys() == listed().keys()
    for name, said in listed().items(): assert said.endswith('.') and len(said) < 110, name


# ---- the runner
def program(*words):
    done = subprocess.run([sys.executable, '-m', 'fucinalib.examples', *words], capture_output=True, text=True,
                          env=os.environ | {'FUCINALIB_DATA': '/nowhere', 'MNIST_DIR': ''})
    assert 'Traceback' not in done.stderr
    return done

def test_the_list():
    done = program()
    assert done.returncode == 0 and all(f'\n  {name} ' in done.stdout for name in listed())

def test_a_program():
    assert 'z grows by 1' in program('hello', '--x', '1').stdout
    assert 'learning rate' in program('xor', '--help').stdout
    done = program('digits', '--model', 'svm')
    assert done.returncode == 2 and "invalid choice: 'svm'" in done.stderr

def test_a_wrong_name():
    done = program('fizzbuz')
    assert done.returncode == 2 and "did you mean 'fizzbuzz'?" in done.stderr
    with pytest.raises(UnknownName, match="did you mean 'spiral'"): run('spirals')
    with pytest.raises(UnknownName): run('_settings')

def test_a_source_that_is_missing(monkeypatch):
    def nowhere(): raise FileError('mnist is not on this machine')
    monkeypatch.setattr(fl.data, 'mnist', nowhere)
    with pytest.raises(FileError, match='not on this machine'): run('mnist')


# ---- what they find
def test_hello():
    assert run('hello', '--x', 2, '--y', 5) == dict(z=7., grad=(1., 1.))

def test_dot_is_golden():
    "EXA-11: nodes, edges and labels of z = x + y."
    text = run('dot')['text']
    assert [l.strip() for l in text.splitlines() if '->' in l] == ['x0 -> op0', 'x1 -> op0', 'op0 -> t0']
    for said in ('digraph {', '<B>x</B>', '<B>y</B>', '<B>z</B>', '>add<', 'not computed'): assert said in text
    assert 'not computed' not in run('dot', '--after')['text']

def test_tensors():
    found = run('tensors')
    assert found['table'] == [[10, 20], [20, 40], [30, 60]] and max(found['product'], found['attention']) < 1e-6

def test_dataset():
    found = run('dataset', '--size', 50)
    assert found == dict(rows=150, sides=(120, 30), classes=[[40] * 3, [10] * 3], sizes=[50, 50, 20])

def test_xor():
    found = run('xor', '--steps', 1000)
    for way in found.values(): assert way['right'] == 4 and way['loss'] < .01

def test_fizzbuzz_counts_aloud():
    found = run('fizzbuzz', '--epochs', 20)
    assert found['right'] == 100
    assert found['said'] == [('Fizz' * (i % 3 == 0) + 'Buzz' * (i % 5 == 0)) or str(i) for i in range(1, 101)]

def test_spiral():
    found = run('spiral', '--epochs', 150)
    assert found['train'] >= 268 and found['test'] == 90

def test_iris():
    assert run('iris', '--epochs', 300)['test'] >= 29

@pytest.mark.parametrize('model, least', [('dense', .95), ('cnn', .95), ('knn', .97)])
def test_digits(model, least):
    assert run('digits', '--model', model, '--epochs', 8)['accuracy'] >= least

@pytest.mark.parametrize('name', ['mnist', 'fashion'])
def test_pictures_that_may_be_here(name):
    "Shares of right answers as elsewhere, where the files are; else the example says what is missing"
    from fucinalib.examples.digits import load
    try: load(name, 10)
    except FileError as e:
        assert 'is not on this machine' in str(e)
        return
    for model, mnist, clothes in (('knn', .89, .76), ('dense', .88, .78)):
        found = run(name, '--model', model, '--epochs', 3, '--n', 3000)
        assert found['accuracy'] >= (mnist if name == 'mnist' else clothes)

def test_a_frame_of_plasma_is_the_same_everywhere():
    "EXA-10: the colours at a few places, by NumPy in f64; another moment is another picture."
    from fucinalib.examples.plasma import Painter, lines, paint, places
    painter = Painter(seed=3)
    frame = paint(painter, 10, 6, 0.)
    x = places(10, 6, 0.).numpy().astype('f8')
    for i, (w, b) in enumerate(painter.layers):
        x = x @ w.numpy().astype('f8') + b.numpy()
        x = np.tanh(x) if i < 3 else 1 / (1 + np.exp(-x))
    assert frame.shape == (6, 10, 3) and abs(frame - x * 255).max() < 1.01
    assert not np.array_equal(frame, paint(painter, 10, 6, 1.)) and frame.std() > 5
    assert lines(frame).count('\u2580') == 30 and lines(frame[:5]).count('\u2580') == 30


# ---- letters (EXA-08, EXA-09); the tutorials train them whole

def test_the_texts_and_sizes_of_the_models_of_letters():
    from fucinalib.examples import charlstm, tinygpt
    long, short = (m.Letters(text) for m, text in ((charlstm, charlstm.ALICE), (tinygpt, tinygpt.TEXT)))
    assert (len(charlstm.ALICE), len(long), len(tinygpt.TEXT), len(short)) == (2638, 53, 1660, 43)
    assert sum(p.numel for p in tinygpt.TinyGPT(short).parameters()) == 106_496
    assert charlstm.CharLSTM(long).lstm.cells[0].h.weight.sizes == dict(hidden_in=96, gate=4, hidden=96)
    assert short.text(short.numbers('Alice was')) == 'Alice was'
    with pytest.raises(OptionError, match="letter 'z'"): short.numbers('a zoo')

@pytest.mark.parametrize('name', ['charlstm', 'tinygpt'])
def test_models_of_letters_learn_the_same_again(name, capsys):
    "Losses and text are functions of the seed, and the loss falls; threads are as before."
    words = dict(charlstm='--hidden 16 --steps 60 --n 30 --lr .02', tinygpt='--model 16 --blocks 1 --steps 60 --n 30')
    before = fl.get_num_threads()
    a, b = (run(name, *words[name].split()) for _ in range(2))
    c = run(name, *words[name].split(), '--seed', 8)
    assert a == b and a['text'] != c['text'] and fl.get_num_threads() == before
    assert np.mean(a['loss'][-10:]) < .8 * np.mean(a['loss'][:3])

def test_a_model_of_letters_that_was_saved_writes_the_same():
    from fucinalib.examples.charlstm import CharLSTM, Letters, saved_and_read
    model = CharLSTM(Letters('abcabd'), 4, seed=1)
    assert saved_and_read(model, 4, seed=2).write('ab', 20) == model.write('ab', 20)

def test_a_second_text_is_learnt_beside_the_first():
    "The second is learnt by few numbers, and without them the first is as it was, bit for bit."
    found = run('lora', *'--model 16 --heads 2 --blocks 1 --length 16 --rank 4 --steps 80 --more 150 --n 10'.split())
    assert found['back'] == found['before'][0] and found['after'] < .9 * found['before'][1]
    assert found['thin'] < found['size'] and found['text'].startswith('"You are old,')

def test_no_letter_sees_a_later_one():
    from fucinalib.examples.tinygpt import Letters, TinyGPT
    model = TinyGPT(Letters('abcdefgh'), width=8, heads=2, blocks=2, length=8, seed=0)
    a, b = (model(fl.Tensor(ids, 'seq')).numpy() for ids in ([0, 1, 2, 3], [0, 1, 7, 3]))
    assert np.array_equal(a[:2], b[:2]) and not np.array_equal(a[2:], b[2:])


def test_asking_leaves_each_layer_in_its_mode():
    "A part that was frozen in its ways stays so when the model was asked for its answers."
    model = fl.nn.Sequential(fl.nn.Linear('feature=4', 'hidden=8', seed=0), fl.nn.Dropout(.5),
                             fl.nn.Linear('hidden=8', 'class=3', seed=1))
    model.train().modules()[2].eval()
    before = [m.training for m in model.modules()]
    first = answers(model, fl.ones('row feature', (5, 4)))
    assert before == [m.training for m in model.modules()] and len(set(before)) == 2
    assert (first == answers(model, fl.ones('row feature', (5, 4)))).all()
