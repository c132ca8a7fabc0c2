"""What is seen while a model trains: a bar in a terminal, live curves in a notebook, nothing in a pipe."""
import sys, time
from html import escape
from .curves import Curve, short_number, spark

__all__ = ['Progress', 'place_to_show']

EVERY = .25      # seconds between two pictures


def place_to_show():
    "'notebook', 'terminal', or '' where nobody watches."
    shell = getattr(sys.modules.get('IPython'), 'get_ipython', lambda: None)()
    if getattr(shell, 'kernel', None) is not None: return 'notebook'
    return 'terminal' if getattr(sys.stderr, 'isatty', lambda: False)() else ''


class Progress:
    "Shows a Learner at work; it is told what happens as every callback is."
    def __init__(self, place=None):
        self.place, self.bar, self.handle, self.shown = place, None, None, 0.

    def before_fit(self, learner):
        self.where = place_to_show() if self.place is None else self.place
        self.done = learner.epoch * (learner.batches_per_epoch or 0) + learner.batch
        if self.where == 'terminal': self.bar = make_bar(learner, self.done)
        elif self.where == 'notebook': self.handle = start_display()

    def after_batch(self, learner):
        self.done += 1
        if self.bar is not None:
            self.bar.set_description_str(f'epoch {learner.epoch + 1}/{learner.epochs}', refresh=False)
            self.bar.set_postfix_str(last_words(learner), refresh=False)
            self.bar.update()
        elif self.handle is not None and time.monotonic() - self.shown > EVERY: self.show(learner)

    def after_epoch(self, learner):
        if self.bar is not None: self.bar.set_postfix_str(last_words(learner))
        elif self.handle is not None and time.monotonic() - self.shown > EVERY: self.show(learner)

    def after_fit(self, learner):
        if self.bar is not None: self.bar.close()
        if self.handle is not None: self.show(learner, ended=True)
        self.bar = self.handle = None

    def show(self, learner, ended=False):
        "The picture of now, in place of the last one."
        self.shown = time.monotonic()
        self.handle.update(Live(picture(learner, self.done, ended)))


def make_bar(learner, done):
    "A bar over all batches of all epochs, as far as their number is known."
    from tqdm import tqdm
    per = learner.batches_per_epoch
    return tqdm(total=learner.epochs * per if per else None, initial=done, unit='batch', dynamic_ncols=True)


def last_words(learner):
    "Loss and metrics as they stand, and how the loss went: 'loss 0.41 accuracy 0.9 ▇▅▃▂'."
    now = learner.meter.means() or (learner.history[-1] if learner.history else {})
    valid = {n: v for n, v in (learner.history[-1] if learner.history else {}).items() if n.startswith('valid ')}
    said = [f'{n} {short_number(v)}' for n, v in (now | valid).items() if n != 'epoch']
    return ' '.join([*said, spark(learner.history.of('loss'))]).strip()


class Live:
    "HTML that is words where there is none."
    def __init__(self, html): self.html = html
    def __repr__(self): return 'training'
    def _repr_html_(self): return self.html


def start_display():
    "A place in the notebook whose picture can be replaced."
    from IPython.display import display
    return display(Live(''), display_id=True)


def picture(learner, done, ended):
    "A bar with words, and the curves once there is an epoch; when all is done the curves alone."
    curves = Curve(learner.history)._repr_svg_() if learner.history else ''
    if ended: return curves
    per = learner.batches_per_epoch
    bar = f'<progress value="{done}" max="{learner.epochs * per}"></progress> ' if per else ''
    return f'<div>{bar}epoch {learner.epoch + 1}/{learner.epochs} {escape(last_words(learner))}</div>{curves}'
