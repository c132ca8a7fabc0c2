"""A bird that learns to fly through gaps from how far it came: evolution, a rule and a language model."""
import numpy as np
import fucinalib as fl
from fucinalib import nn
from fucinalib.evolution import Evolution
from ..errors import OptionError, fault
from ._settings import settings

FALL, FLAP = .004, .03            # what a step takes off the speed; the speed after a flap. The sky is 1 high
AHEAD, EVERY = .02, 25            # way of a step; steps from pipe to pipe
GAP, WIDE, ROOM = .28, .06, .25   # height of a gap, half the width of a pipe; no gap's middle is closer to an edge


def gaps(seed, birds, pipes):
    "Heights of the middles of gaps (bird, pipe)."
    return np.random.default_rng(seed).uniform(ROOM, 1 - ROOM, (birds, pipes))


def fly(player, middles):
    """How many pipes each bird passes, and the way it took: heights (step, bird), NaN once it fell.

    `player(state)` says which birds flap, from what they see (bird, 4): height above the middle of the next gap, speed,
    way to that pipe, height."""
    birds, most = middles.shape
    height, speed, up, way = np.full(birds, .5), np.zeros(birds), np.ones(birds, bool), []
    passed = np.zeros(birds, int)
    for step in range(EVERY * most):
        at, left = divmod(step, EVERY)
        left = AHEAD * (EVERY - 1 - left) - WIDE      # of the way to the pipe's front; below 0: beside it
        middle = middles[:, at]
        flaps = player(np.stack([height - middle, speed, np.full(birds, left), height], 1))
        speed = np.where(flaps, FLAP, speed - FALL)
        height = height + speed
        up &= (0 < height) & (height < 1) & ((left > 0) | (abs(height - middle) < GAP / 2))
        passed += up & (step % EVERY == EVERY - 1)
        way.append(np.where(up, height, np.nan))
        if not up.any(): break
    return passed, np.array(way)


# ---- players
ABOUT = np.array([.1, FLAP, .25, .5])      # how large what a bird sees is: a policy's inputs are near 1


def by_rule(state, below=.06):
    "Flap when lower than a little below the middle of the gap."
    return state[:, 0] < -below


def by_chance(seed, share=.13):
    "Flap about as often as one must, whatever is ahead."
    draw = np.random.default_rng(seed)
    return lambda state: draw.random(len(state)) < share


def by_weights(policy):
    "Flap where a policy gives more than 0."
    return lambda state: policy(fl.Tensor(state / ABOUT, 'bird state', 'f32')).numpy().ravel() > 0


WORDS = 'above', 'level with', 'below'      # where the gap is


def leanings(model):
    "ln of how much likelier a language model finds up than down, for each of the words."
    said = 'The gap is {} the bird. To get through, the bird must fly'
    ups = [fl.llm.score(model, said.format(word), [' up', ' down']) for word in WORDS]
    return np.array([up.logprob - down.logprob for up, down in ups])


def by_words(model, fair=True):
    """Flap where a language model finds up likelier than down; `fair` takes off what it leans to on the whole.

    A model prefers some answers whatever is asked (Zhao, Wallace, Feng, Klein and Singh 2021)."""
    found = leanings(model)
    flaps = found > (found[0] + found[2]) / 2 * fair
    return lambda state: flaps[np.where(state[:, 0] < -.06, 0, np.where(state[:, 0] > .06, 2, 1))]


def learn(generations=12, pipes=8, birds=8, seed=0):
    "The policy, and how many pipes its population passed in each generation."
    middles = gaps(seed + 1, birds, pipes)
    policy = nn.Linear('state=4', 'flap=1', init=nn.init.zeros)
    es = Evolution(policy, sigma=.5, alpha=1., population=20, antithetic=True, ranks=True, seed=seed)
    def reward():
        passed, way = fly(by_weights(policy), middles)
        return np.isfinite(way).sum() / middles.size / EVERY * pipes
    return policy, [es.step(reward).mean for _ in range(generations)]


def player_for(name, o):
    "The player of a name."
    if name == 'rule': return by_rule
    if name == 'chance': return by_chance(o.seed)
    if name == 'model': return by_words(fl.llm.load(fl.llm.hub.find(o.model)), not o.raw)
    policy, curve = learn(o.generations, seed=o.seed)
    for i, passed in enumerate(curve):
        print(f'generation {i + 1:>2}  {passed:5.2f} of 8 pipes  {"#" * round(passed * 5)}')
    return by_weights(policy)


def picture(middles, way, high=12, steps=75):
    "The first steps of one bird's way, as text."
    rows = [[' '] * steps for _ in range(high)]
    for step in range(steps):
        at, left = divmod(step, EVERY)
        if AHEAD * (EVERY - 1 - left) <= WIDE:
            for r in range(high):
                if abs((r + .5) / high - middles[at]) > GAP / 2: rows[r][step] = '|'
        if step < len(way) and np.isfinite(way[step]): rows[min(int(way[step] * high), high - 1)][step] = 'o'
    return '\n'.join(''.join(row).rstrip() for row in reversed(rows))


def main(args=None):
    o = settings('flappy', __doc__, args, player=(['evolved', 'rule', 'chance', 'model'], 'evolved', 'who flies'),
                 generations=(12, 'of 20 members'), birds=(100, 'that fly'), pipes=(40, 'on the way'),
                 model=('', 'a language model, as for fucina run'), raw=(False, 'a model with what it leans to'),
                 seed=(0, 'of the noise and the gaps'))
    if min(o.birds, o.pipes) < 1: raise fault(OptionError, 'nobody flies', '--birds 100 --pipes 40')
    middles = gaps(o.seed + 99, o.birds, o.pipes)
    passed, way = fly(player_for(o.player, o), middles)
    print(picture(middles[0], way[:, 0]))
    through = int((passed == o.pipes).sum())
    print(f'{o.birds} birds, {o.pipes} pipes: {passed.mean():.2f} passed, {through} birds came through')
    return dict(mean=float(passed.mean()), least=int(passed.min()), through=through)
