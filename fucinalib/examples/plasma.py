"""A network of random weights painted: a colour for each place and moment, moving in the terminal."""
import sys, time
import numpy as np
import fucinalib as fl
from ._settings import settings


class Painter:
    "5 numbers of a place and a moment -> 32 -> 32 -> 32 -> red, green, blue between 0 and 1."
    def __init__(self, seed=0, gain=2.2, sizes=(5, 32, 32, 32, 3)):
        self.layers = [(fl.randn('d out', (n, m), seed=seed + 10 * i) * (gain / n ** .5),
                        fl.randn('out', (m,), seed=seed + 10 * i + 5) * .1)
                       for i, (n, m) in enumerate(zip(sizes, sizes[1:]))]

    def __call__(self, x):
        for i, (w, b) in enumerate(self.layers):
            x = (x.dot(w, 'd') + b).rename(out='d')
            x = x.tanh() if i < len(self.layers) - 1 else x.sigmoid()
        return x.rename(d='c')


def places(width, height, moment):
    "x, y and the distance from the middle of every place, and where a slow wheel stands: 'h w d'."
    x, y = np.meshgrid(np.linspace(-1.5, 1.5, width), np.linspace(-1, 1, height))
    wheel = np.full_like(x, np.sin(moment)), np.full_like(x, np.cos(moment))
    return fl.Tensor(np.stack([x, y, np.hypot(x, y), *wheel], -1), 'h w d', 'f32')


def paint(painter, width, height, moment):
    "A frame: 'h w c' of u8."
    with fl.no_grad(): return (painter(places(width, height, moment)).numpy() * 255).astype('u1')


def lines(frame):
    "A frame as text: each sign shows two places, one above the other."
    if len(frame) % 2: frame = np.concatenate([frame, frame[-1:]])
    sign = lambda a, b: '\x1b[38;2;{};{};{};48;2;{};{};{}m\u2580'.format(*a, *b)
    pairs = zip(frame[::2].tolist(), frame[1::2].tolist())
    return '\n'.join(''.join(map(sign, up, low)) + '\x1b[0m' for up, low in pairs)


def main(args=None):
    live = sys.stdout.isatty()
    args = settings('plasma', __doc__, args, width=(72, 'places across'), height=(48, 'places down, two in a line'),
                    seed=(0, 'another picture'), gain=(2.2, 'how large the weights are: more, and it is wilder'),
                    frames=(200 if live else 1, 'how many'))
    frames = max(1, args.frames)
    painter, spent = Painter(args.seed, args.gain), []
    for i in range(frames):
        start = time.perf_counter()
        frame = paint(painter, args.width, args.height, i * .05)
        spent.append(1000 * (time.perf_counter() - start))
        if live: print('\x1b[H' if i else '\x1b[2J\x1b[H', end='')
        if live or i == frames - 1: print(lines(frame))
        if live: print(f'{spent[-1]:5.1f} ms a frame', end='', flush=True)
    print(f'\n{frames} frames of {args.width} by {args.height}')
    return dict(frame=frame, milliseconds=spent)
