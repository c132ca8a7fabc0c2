"""A pole on a cart that learns to stand from how long it stood: evolution strategies, no gradient."""
import numpy as np
import fucinalib as fl
from fucinalib import nn
from fucinalib.evolution import Evolution
from ._settings import settings

STEP, MOST_WAY, MOST_ANGLE = .02, 2.4, .21      # seconds; metres from the middle; radians from upright


def move(state, push, gravity=9.8, cart=1., pole=.1, half=.5):
    "The state of carts (cart, 4) one step later: place, speed, angle, spin (Barto, Sutton and Anderson 1983)."
    place, speed, angle, spin = state.T
    s, c, both = np.sin(angle), np.cos(angle), cart + pole
    force = (push + pole * half * spin**2 * s) / both
    turn = (gravity * s - c * force) / (half * (4 / 3 - pole * c**2 / both))
    go = force - pole * half * turn * c / both
    return state + STEP * np.stack([speed, go, spin, turn], 1)


def standing(policy, starts, most):
    "How many of `most` steps the poles stand, on average."
    state, up, total = starts, np.ones(len(starts), bool), 0.
    for _ in range(most):
        right = policy(fl.Tensor(state, 'cart state', 'f32')).numpy().ravel() > 0
        state = move(state, np.where(right, 10., -10.))
        up &= (np.abs(state[:, 0]) < MOST_WAY) & (np.abs(state[:, 2]) < MOST_ANGLE)
        total += up.mean()
        if not up.any(): break
    return total


def learn(generations=15, most=200, carts=8, seed=0):
    "The policy, and how long its population stood in each generation."
    starts = np.random.default_rng(seed + 1).uniform(-.05, .05, (carts, 4))
    policy = nn.Linear('state=4', 'push=1', bias=False, init=nn.init.zeros)
    es = Evolution(policy, sigma=.5, alpha=1., population=20, antithetic=True, ranks=True, seed=seed)
    return policy, [es.step(lambda: standing(policy, starts, most)).mean for _ in range(generations)]


def main(args=None):
    o = settings('balance', __doc__, args, generations=(15, 'of 20 members'), steps=(200, 'a pole may stand'),
                 carts=(8, 'that are tried at once'), seed=(0, 'of the noise and the starts'))
    policy, curve = learn(o.generations, o.steps, o.carts, o.seed)
    for i, up in enumerate(curve): print(f'generation {i + 1:>2}  {up:6.1f} steps  {"#" * round(up * 40 / o.steps)}')
    fresh = np.random.default_rng(o.seed + 99).uniform(-.05, .05, (100, 4))
    before = standing(nn.Linear('state=4', 'push=1', bias=False, init=nn.init.zeros), fresh, o.steps)
    after = standing(policy, fresh, o.steps)
    print(f'100 other starts: {before:.1f} steps before, {after:.1f} after')
    return dict(before=before, after=after, curve=curve, weights=policy.weight.numpy().ravel().tolist())
