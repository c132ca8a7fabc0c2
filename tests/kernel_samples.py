"""What to feed each kernel: declared here once, used by the tests of values, strides, threads and sizes."""
import inspect
from types import SimpleNamespace
import numpy as np
from fucinalib import kernels
from fucinalib.kernels.optimizers import cut

EDGES = np.array(
    [0., -0., np.nan, np.inf, -np.inf, 1e-40, -1e-40, 3e38, -3e38, 88.5, -88.5, 1., -1., 100., -100.],
    'f4')

CHANCES = np.array([0., -0., 1., 1e-7, 1 - 1e-7, np.nan, 1e-40], 'f4')


class Source:
    "Numbers of one kind each; with `edges` a few of them are NaN, inf, zero, tiny or huge."
    def __init__(self, seed, edges=False): self.rng, self.edges = np.random.default_rng(seed), edges

    def finish(self, x):
        return self.sprinkle(x, EDGES)

    def sprinkle(self, x, values):
        if self.edges and x.size:
            at = self.rng.integers(0, x.size, max(1, x.size // 5))
            x.reshape(-1)[at] = self.rng.choice(values, at.size)
        return x

    def any(self, *shape): return self.finish(self.rng.standard_normal(shape).astype('f4'))
    # for sums: no huge numbers that cancel
    def mild(self, *shape): return self.sprinkle(self.rng.standard_normal(shape).astype('f4'), EDGES[:7])
    def positive(self, *shape): return self.finish(np.exp(self.rng.standard_normal(shape)).astype('f4'))
    def coarse(self, *shape): return self.finish(self.rng.integers(-3, 4, shape).astype('f4'))     # with ties
    def unit(self, *shape): return self.rng.uniform(-.9, .9, shape).astype('f4')
    def chance(self, *shape): return self.sprinkle(self.rng.random(shape, dtype='f4'), CHANCES)
    def mask(self, *shape): return self.rng.random(shape) < .5

    def shares(self, *shape):
        e = np.exp(self.rng.standard_normal(shape)).astype('f4')
        return e / e.sum(-1, keepdims=True, dtype='f4')


def flat(kinds, *numbers, tol=1e-6):
    "A kernel on arrays of one shape: any(n), positive(n), ... and then plain numbers."
    return SimpleNamespace(
        tol=tol,
        shapes=lambda n: [(n,)],
        make=lambda s, shape: [getattr(s, k)(*shape) for k in kinds.split()] + list(numbers))


def matrices(make, tol=1e-6):
    "A kernel on (rows, n): one row, one column, a few rows, many."
    return SimpleNamespace(tol=tol,
                           shapes=lambda n: [(1, n), (3, n), (n, 1), (n, 7)] if n < 10_000
                           else [(3, n), (n, 3)],
                           make=make)


def long(a): return a.astype('f8')

def optimizer(kept, *rows):
    "An optimizer's kernel on three parameters, the middle one of n: moments, values, gradients, tasks, table."
    def make(s, shape):
        sizes = 5, shape[0], 2
        tasks = cut(sizes)
        tasks[:, 2], tasks[:, 3] = np.cumsum((0, *sizes))[tasks[:, 0]] + tasks[:, 1], tasks[:, 0]
        memory = [np.abs(s.mild(sum(sizes))) for _ in range(kept)]
        values, grads = [s.any(n) for n in sizes], [s.unit(n) for n in sizes]
        grads[1] = s.finish(grads[1])
        if s.edges: tasks[:, 4] = 0
        return [*memory, values, grads, tasks, np.array(rows, 'f4')]
    return SimpleNamespace(tol=2e-6, shapes=lambda n: [(n,)], make=make)

TINY = np.float64(1e-6)


def cubes(make, tol=1e-6):
    "A kernel on (outer, n, inner)."
    return SimpleNamespace(tol=tol, shapes=lambda n: [(1, n, 1), (2, n, 3), (3, 5, n), (n, 2, 1)], make=make)


rows = matrices(lambda s, shape: [s.any(*shape), s.any(shape[1])])
cols = matrices(lambda s, shape: [s.any(*shape), s.any(shape[0])])
one_row = matrices(lambda s, shape: [s.mild(*shape)], tol=2e-5)
one_cube = cubes(lambda s, shape: [s.mild(*shape)], tol=2e-5)
coarse_row, coarse_cube = matrices(lambda s, shape: [s.coarse(*shape)]), cubes(lambda s, shape: [s.coarse(*shape)])
through = matrices(lambda s, shape: [s.mild(*shape), s.shares(*shape)], tol=2e-5)

def by_number(*more):
    "A kernel on (outer, n, inner) with positions along n; `more` says what else it takes."
    def make(s, shape):
        o, n, i = shape
        at = s.rng.integers(0, n, (o, 4, i))
        return [s.mild(*shape), at] + [s.mild(*at.shape) for _ in more]
    return cubes(make, tol=2e-5)

def recurrent(make, tol=2e-6):
    "A step of an LSTM: two steps, a batch of three, n numbers of state; `make` puts the arrays in their order."
    def arrays(s, shape):
        m, = shape
        a, curved, states, z = s.unit(2, 3, 4 * m), s.unit(2, 3, m), s.unit(2, 3, 3, m), s.mild(2, 3, 4 * m)
        return make(s, m, a, curved, states, z)
    return SimpleNamespace(tol=tol, shapes=lambda n: [(n,)], make=arrays)

def between(s, shape, n): return [long(s.unit(shape[0], shape[2])) for _ in range(n)]

SAMPLES = dict(
    chain=SimpleNamespace(tol=0, shapes=lambda n: [(n,)], make=lambda s, shape: [
        s.any(*shape), np.arange(8), [s.any(*shape), s.any(4), s.any(*shape), s.any(1), s.any(*shape), s.any(*shape),
                                      s.any(1), s.any(*shape)], 64]),
    lstm_gates_=recurrent(lambda s, m, a, curved, states, z: [s.mild(3, 4 * m), a, curved, states, z, 1]),
    lstm_back_=recurrent(lambda s, m, a, curved, states, z: [s.unit(2, 3, 4 * m), s.unit(3, m), s.mild(3, m),
                                                             s.mild(2, 2, 3, m), a, curved, states, 1]),
    squares_of_=SimpleNamespace(tol=1e-6, shapes=lambda n: [(n,)], make=lambda s, shape: [
        np.empty(len(cut((*shape, 3)))), [s.mild(*shape), s.unit(3)], cut((*shape, 3))]),
    scale_of_=SimpleNamespace(tol=1e-6, shapes=lambda n: [(n,)], make=lambda s, shape: [
        np.full(1, 1.5, 'f4'), [s.mild(*shape), s.unit(3)], cut((*shape, 3))]),
    adam_=optimizer(2, (.99, 0, .1, .001, .02, 3., 1e-8), (1, .1, .1, .001, .02, 3., 1e-8),
                    (1, 0, .5, .1, .1, 1., 1e-3)),
    sgd_=optimizer(1, (.1, 0, 0, 0, 0), (.1, .01, .9, .5, 0), (.1, .1, .9, 1, .9)),
    topk_last=matrices(lambda s, shape: [s.coarse(*shape), min(3, shape[1])]),
    rms_norm=matrices(lambda s, shape: [s.mild(*shape), TINY], tol=2e-5),
    rms_norm_weighted=matrices(lambda s, shape: [s.mild(*shape), s.any(shape[1]), TINY], tol=2e-5),
    rms_norm_backward=matrices(lambda s, shape: [s.unit(*shape), s.unit(*shape), s.unit(shape[1]),
                                                 long(np.abs(s.unit(shape[0])) + 1)],
                               tol=2e-4),
    layer_norm=matrices(
        lambda s, shape: [s.unit(*shape), s.unit(shape[1]), s.unit(shape[1]), np.float64(1e-2)],
        tol=2e-4),
    layer_norm_backward=matrices(lambda s, shape: [s.unit(*shape), s.unit(*shape),
                                                   s.unit(shape[1]), long(s.unit(shape[0])),
                                                   long(np.abs(s.unit(shape[0])) + 1)],
                                 tol=2e-4),
    group_affine=cubes(lambda s, shape: [s.mild(*shape), *between(s, shape, 2), s.unit(shape[2]), s.unit(shape[2])]),
    group_sums=cubes(lambda s, shape: [s.unit(*shape), s.unit(*shape), *between(s, shape, 2)], tol=1e-10),
    group_slopes=cubes(lambda s, shape: [s.mild(*shape), s.mild(*shape), *between(s, shape, 5)]),
    index_add_=cubes(lambda s, shape: [s.mild(*shape), s.rng.integers(0, shape[1], 5),
                                       s.mild(shape[0], 5, shape[2])],
                     tol=2e-5),
    take_along=by_number(), scatter_add_=by_number('source'), scatter_=by_number('source'),
    maximum=flat('coarse coarse'), minimum=flat('coarse coarse'), pow=flat('positive any'),
    add_scalar=flat('any', 1.5),
    sub_scalar=flat('any', 1.5),
    mul_scalar=flat('any', 1.5),
    div_scalar=flat('any', 1.5),
    maximum_scalar=flat('coarse', 1.),
    minimum_scalar=flat('coarse', 1.),
    pow_scalar=flat('any', 3.),
    add_row=rows, sub_row=rows, mul_row=rows, div_row=rows, add_col=cols, sub_col=cols,
    mul_col=cols, div_col=cols,
    add_scaled_=flat('any any', .3), mul_scalar_=flat('any', .3),
    maximum_backward=flat('any coarse coarse'), minimum_backward=flat('any coarse coarse'),
    pow_backward=flat('any positive any positive', tol=2e-6), pow_scalar_backward=flat('any any', 3.),
    where=flat('mask any any'), where_scalar=flat('mask any', 1.5),
    log=flat('positive'), sqrt=flat('positive'),
    sqrt_backward=flat('any positive'),
    tanh_backward=flat('any unit'),
    abs_backward=flat('any coarse'),
    sum_last=one_row, sum_mid=one_cube, max_last=coarse_row, min_last=coarse_row,
    max_mid=coarse_cube, min_mid=coarse_cube,
    spread_last_=matrices(lambda s, shape: [s.any(*shape), s.any(shape[0])]),
    spread_mid_=cubes(lambda s, shape: [s.any(*shape), s.any(shape[0], shape[2])]),
    softmax_last=matrices(lambda s, shape: [s.any(*shape)]),
    log_softmax_last=matrices(lambda s, shape: [s.any(*shape)], tol=4e-6),
    logsumexp_last=matrices(lambda s, shape: [s.any(*shape)], tol=4e-6),
    softmax_last_backward=through,
    log_softmax_last_backward=through,
)

halves = cubes(lambda s, shape: [s.mild(shape[0], 2, shape[1] * shape[2])])
halves_back = cubes(lambda s, shape: [s.unit(shape[0], shape[1] * shape[2]), s.mild(shape[0], 2, shape[1] * shape[2])])

# what is below 1e-37 may be 0, so the factor beside it is not infinite
SAMPLES |= {name + '_backward': flat('unit any')
            for name in 'silu quick_gelu softplus elu gelu gelu_tanh'.split()}
SAMPLES |= {name: flat('unit any') for name in ('glu', 'swiglu', 'geglu')}
SAMPLES |= {name + '_backward': flat('unit unit any', tol=2e-6) for name in ('glu', 'swiglu', 'geglu')}
SAMPLES.update(
    sigmoid_backward=flat('any unit'), rsqrt=flat('positive'),
    rsqrt_backward=flat('any positive', tol=2e-6),
    softcap=flat('any', 3.),
    softcap_backward=flat('any unit', 3.),
    leaky_relu=flat('coarse', .1),
    leaky_relu_backward=flat('any coarse', .1),
    clamp=flat('coarse', -1., 2.),
    clamp_backward=flat('any coarse', -1., 2.),
    dropout=flat('any', np.int64(7), np.int64(1 << 52), 2.),
    fill=flat('mask any', 1.5),
    split_swiglu=halves, split_glu=halves,
    split_swiglu_backward=halves_back,
    split_glu_backward=halves_back,
    band_part=cubes(lambda s, shape: [s.any(*shape), 1, 2]),
)

# more of the same kernel: numbers that take another branch
MORE = [('pow_scalar', flat('any', s)) for s in (2., -1., 0., 1.)] + [
    ('pow_scalar', flat('positive', s)) for s in (.5, -.5, 2.5)] + [
    ('pow_scalar_backward', flat('any any', s)) for s in (0., 1., 2., -1.)] + [
    ('pow_scalar_backward', flat('any positive', .5))] + [
    ('add_scaled_', flat('any any', 1.)),
    ('maximum_scalar', flat('coarse', float('nan'))),
    ('pow', flat('coarse coarse')),
    ('pow_backward', flat('any coarse coarse any', tol=2e-6)),
    ('div_scalar', flat('any', 0.)),
    ('add_col', matrices(lambda s, shape: [s.any(2 * shape[0], shape[1]), s.any(shape[0])]))]

whole = lambda *numbers: SimpleNamespace(tol=0, shapes=lambda n: [(n,)],
                                         make=lambda s, shape: [np.zeros(shape, 'i8'), *numbers])
SEED = np.int64(-7046029254386353131)      # the upper half of all seeds arrives negative
SAMPLES.update(
    uniform_=flat('any', SEED, np.float64(-1.3), np.float64(4.), np.float32(2.6999998), tol=0),
    normal_=flat('any', SEED, np.float32(.3), np.float64(1.7), tol=2e-7),
    bernoulli_=flat('any', SEED, np.int64(3 << 51), tol=0),
    arange_=flat('any', np.float32(.1), np.float32(-.3), tol=0),
    integers_=whole(SEED, np.int64(-3), np.int64(8)), shuffle_=whole(SEED))
MORE += [('integers_', whole(np.int64(5), np.int64(-2**63), np.int64(-1)))]

# masks are bytes; scans round each step once, so all ways give the same bits
chosen = lambda s, shape: s.mask(*shape).view('u1')
masked_row, masked_cube = [(lambda kind: kind(lambda s, shape: [s.mild(*shape), chosen(s, shape)],
                                              tol=2e-5))(kind) for kind in (matrices, cubes)]
masked_best_row, masked_best_cube = [
    (lambda kind: kind(lambda s, shape: [s.coarse(*shape), chosen(s, shape)]))(kind)
    for kind in (matrices, cubes)]
without = lambda shape: (shape[0], *shape[2:])      # the shape less the axis along which a kernel goes
SAMPLES.update(masked_sum_last=masked_row, masked_sum_mid=masked_cube,
               masked_max_last=masked_best_row, masked_min_last=masked_best_row,
               masked_max_mid=masked_best_cube, masked_min_mid=masked_best_cube)
for form, kind in (('last', matrices), ('mid', cubes)):
    SAMPLES.update(
        {f'{name}_{form}': kind(make, tol) for name, make, tol in (
             ('masked_spread', lambda s, shape: [chosen(s, shape), s.any(*without(shape))], 0),
             ('moments', lambda s, shape: [s.unit(*shape)], 2e-5),
             ('deviations',
              lambda s, shape: [s.any(*shape), long(s.any(*without(shape))),
                                long(s.any(*without(shape)))],
              1e-6),
             ('abs_sum', lambda s, shape: [s.mild(*shape)], 2e-4),
             ('length', lambda s, shape: [s.mild(*shape)], 2e-5),
             ('prod', lambda s, shape: [1 + s.unit(*shape) / 100], 1e-6),
             ('prod_back', lambda s, shape: [1 + s.unit(*shape) / 100, s.unit(*without(shape))], 1e-6),
             ('cumsum', lambda s, shape: [s.any(*shape)], 0),
             ('cumsum_back', lambda s, shape: [s.any(*shape)], 0),
             ('cumprod', lambda s, shape: [s.any(*shape)], 0),
             ('cumprod_back', lambda s, shape: [s.any(*shape), s.any(*shape), s.any(*shape)], 0),
             ('recurrence', lambda s, shape: [s.any(*shape), s.any(*shape), s.any(*without(shape))], 0),
             ('recurrence_back', lambda s, shape: [s.any(*shape), s.any(*shape)], 0))})
    once = lambda s, shape: s.any(shape[0], 1, *shape[2:])          # one decay for all steps
    MORE += [
        (f'recurrence_{form}',
         kind(lambda s, shape, once=once: [s.any(*shape), once(s, shape), s.any(*without(shape))],
              tol=0)),
        (f'recurrence_back_{form}',
         kind(lambda s, shape, once=once: [s.any(*shape), once(s, shape)], tol=0)),
        (f'prod_back_{form}',
         kind(lambda s, shape: [s.rng.integers(-1, 2, shape).astype('f4'), s.unit(*without(shape))]))]
SAMPLES['segment_sum'] = cubes(
    lambda s, shape: [s.mild(*shape), np.sort(np.r_[0, s.rng.integers(0, shape[1] + 1, 4), shape[1]])],
    tol=2e-5)

# rows far from 0, and rows whose squares f32 cannot hold
far_away = lambda s, shape: [1000 + s.unit(*shape)]
MORE += [('moments_last', matrices(far_away, 2e-5)), ('moments_mid', cubes(far_away, 2e-5))]
for power in (100, -100):
    some = lambda s, shape, power=power: np.ldexp(s.unit(*shape) + 2, power)
    MORE += [
        ('length_last', matrices(lambda s, shape, some=some: [some(s, shape)], 2e-6)),
        ('length_mid', cubes(lambda s, shape, some=some: [some(s, shape)], 2e-6)),
        ('rms_norm', matrices(lambda s, shape, some=some: [some(s, shape), np.float64(0)], 2e-6)),
        ('rms_norm_weighted',
         matrices(lambda s, shape, some=some: [some(s, shape), s.unit(shape[1]), np.float64(0)], 2e-6)),
        ('layer_norm', matrices(lambda s, shape, some=some: [some(s, shape), s.unit(shape[1]),
                                                             s.unit(shape[1]), TINY * 1e-70],
                                2e-5))]

# quantised blocks: few rows, whole blocks
from fucinalib import Tensor, block_arithmetic as q
from fucinalib.quant import OWN, own_blocks

def made(s, name, count):
    "`count` blocks of a format, as bytes."
    f = OWN.get(name) or q.formats[name]
    x = (s.rng.standard_normal((count, f.elems)) * .1).astype('f4')
    return own_blocks(Tensor(x, 'out in'), 8 if name == 'int8_row' else 4).blocks[:, 0] if name in OWN else f.write(x)

def rows_of_blocks(name):
    "Blocks (rows, bytes) beside rows of x rounded to 8 bits."
    f = q.formats[name]
    def make(s, shape):
        n, m, k = shape
        return [made(s, name, n * k // f.elems).reshape(n, -1), *q.activate(s.unit(m, k), f.activation)]
    return SimpleNamespace(tol=1e-5, shapes=lambda n: [(n % 6 + 1, n % 3 + 1, 256 * (n % 2 + 1))], make=make)

def packed_planes(name, product):
    f = q.formats[name]
    def make(s, shape):
        n, m, k = shape
        code, scale, low = q.pack_planes(f, made(s, name, n * k // f.elems).reshape(n, -1))
        if not product: return [code, scale, scale * 0 if low is None else low]
        x = s.rng.integers(-127, 128, (m, k)).astype('i2')
        groups = x.reshape(m, -1, code.shape[3])
        return [code, scale, *([] if low is None else [low]), x,
                s.rng.uniform(.001, .01, (m, groups.shape[1])).astype('f4'), groups.sum(2, dtype='i4')]
    return SimpleNamespace(tol=2e-5, shapes=lambda n: [(n % 6 + 1, n % 3 + 1, 256 * (n % 2 + 1))], make=make)

eights = lambda numbers: SimpleNamespace(tol=0,
                                         shapes=lambda n: [(n % 3 + 1, numbers * (n % 4 + 1))],
                                         make=lambda s, shape: [s.any(*shape)])
SAMPLES.update({f'dot_{name}': rows_of_blocks(name)
                for name in ('q8_0', 'q4_0', 'q4_1', 'q5_0', 'q4_k', 'q5_k', 'q6_k')})
SAMPLES.update({f'floats_{name}': SimpleNamespace(
                    tol=0,
                    shapes=lambda n: [(n % 301 + 1,)],
                    make=lambda s, shape, name=name: [made(s, name, shape[0])])
                for name in ('q8_0', 'q4_0', 'q4_1', 'q5_0', 'q4_k', 'q5_k', 'q6_k', *OWN)})
SAMPLES.update(activate_q8_0=eights(32),
               activate_q8_k=eights(256),
               dot_planes=packed_planes('q6_k', True),
               dot_planes_low=packed_planes('q4_k', True),
               unpack_planes=packed_planes('q4_1', False))
MORE += [('dot_planes', packed_planes('q8_0', True)), ('unpack_planes', packed_planes('q6_k', False))]
SAMPLES.update(turn=cubes(lambda s, shape: [s.any(*shape)], tol=0),
               flood_=flat('any', np.float32(.3), tol=0),
               paste_=matrices(lambda s, shape: [s.any(shape[0], shape[1] + 4), s.any(shape[0], shape[1] + 2), 3, 1,
                                                 shape[1]], tol=0),
               flip_last=matrices(lambda s, shape: [s.any(*shape)], tol=0))

# products: of two vectors, of lanes, of many small matrices
SAMPLES.update(
    outer=SimpleNamespace(tol=0,
                          shapes=lambda n: [(1, n), (n % 70 + 1, n), (n, 7)],
                          make=lambda s, shape: [s.any(shape[0]), s.any(shape[1])]),
    dot_last=matrices(lambda s, shape: [s.mild(*shape), s.unit(*shape)], tol=2e-5),
    dot_mid=cubes(lambda s, shape: [s.mild(*shape), s.unit(*shape)], tol=2e-5),
    batched=SimpleNamespace(
        tol=2e-5,
        shapes=lambda n: [(n % 40 + 1, 4, 4, 4), (2, n % 13 + 1, n % 9 + 1, n % 7 + 1)],
        make=lambda s, shape: [s.unit(*shape[:3]), s.unit(shape[0], *shape[2:])]))

# scores with a mask, a slope and a sink of each row, and how many of them count
def scores(masked, slope=lambda s, rows: np.abs(s.unit(rows)) + .1):
    def make(s, shape):
        rows, n = shape
        at = s.rng.integers(0, 2, rows) if masked else np.full(rows, -1)
        return [s.any(*shape), 1.5, s.coarse(2, n), at, slope(s, rows),
                s.any(rows) if masked else np.full(rows, -np.inf, 'f4'),
                s.rng.integers(1, n + 1, rows) if masked else np.full(rows, n)]
    return matrices(make, tol=4e-6)

SAMPLES.update(
    logsumexp_last_backward=matrices(
        lambda s, shape: [s.mild(*shape), s.any(shape[0]) + 5, s.any(shape[0])], tol=2e-5),
    softmax_scores=scores(True),
    softmax_scores_backward=matrices(lambda s, shape: [s.mild(*shape), s.shares(*shape), 1.5,
                                                       s.rng.integers(1, shape[1] + 1, shape[0])],
                                     tol=2e-5))
MORE += [('softmax_scores', scores(False))]
down = cubes(lambda s, shape: [s.any(*shape)], tol=4e-6)
SAMPLES.update(softmax_mid=down, log_softmax_mid=down,
               softmax_mid_backward=cubes(
                   lambda s, shape: [s.mild(*shape), s.unit(*shape) ** 2 / shape[1]], tol=2e-5),
               log_softmax_mid_backward=cubes(
                   lambda s, shape: [s.mild(*shape), s.unit(*shape) - np.float32(np.log(shape[1]) + 1)],
                   tol=2e-5))

# pairs that turn, each row of angles twice
def rope_sample(pairs, *rest):
    "rope on (rows, inner, d) where `pairs(d)` pairs turn."
    def make(s, shape):
        n = shape[0] // 2 or 1
        return [s.mild(*shape), s.unit(n, pairs(shape[2])), s.unit(n, pairs(shape[2])), *rest]
    return SimpleNamespace(tol=0, shapes=lambda n: [(4, 1, n % 301 + 6), (6, n // 200 + 1, 9), (1, 3, 40)], make=make)

SAMPLES.update(rope_half=rope_sample(lambda d: d // 2, 1.), rope_pairs=rope_sample(lambda d: d // 2, 0, 1.))
MORE += [('rope_half', rope_sample(lambda d: d // 3, -1.)), ('rope_pairs', rope_sample(lambda d: d // 3, 2, -1.))]

# losses: labels, of which some do not count; a prediction beside its target, with every loss or only the sums
def labelled(smoothing, back=False):
    def make(s, shape):
        rows, n = shape
        labels = s.rng.integers(-1, n, rows)
        if not back: return [s.mild(*shape), labels, smoothing]
        x = s.mild(*shape)
        return [x, s.unit(rows), labels, x.max(1), np.abs(s.unit(rows)) / n + np.float32(.1 / n), smoothing]
    return matrices(make, tol=2e-5)

SAMPLES.update(cross_entropy=labelled(0.), cross_entropy_backward=labelled(0., True),
               mse_loss=flat('mild mild', True, tol=2e-5),
               huber_loss=flat('mild mild', .7, True, tol=2e-5),
               bce_loss=flat('chance chance', True, tol=2e-5),
               bce_loss_logits=flat('mild chance', True, tol=2e-5),
               kl_div=flat('mild chance', True, tol=2e-5),
               kl_div_log=flat('mild unit', True, tol=2e-5),
               mse_loss_backward=flat('any any', .3),
               huber_loss_backward=flat('any any', .7, .3),
               bce_loss_backward=flat('chance chance', .3),
               bce_loss_logits_backward=flat('any chance', .3))
MORE += [('cross_entropy', labelled(.1)),
         ('cross_entropy_backward', labelled(.1, True)),
         ('mse_loss', flat('mild mild', False, tol=2e-5)),
         ('bce_loss', flat('chance chance', False, tol=2e-5))]

# windows over images (n, h, w c)
def seen_by(make, tol=0, window=(2, 3, 2, 1, 1, 2, 1, 1)):
    """A kernel on images under a window kh kw sh sw ph pw dh dw; make gets the images, their
    sizes and all that fixes the windows."""
    kh, kw, sh, sw, ph, pw, dh, dw = window
    fit = lambda n, k, s, p, d: (n + 2 * p - d * (k - 1) - 1) // s + 1
    def build(s, shape):
        m, h, w, c = shape
        return make(s, m, h, w, c, (*window, fit(h, kh, sh, ph, dh), fit(w, kw, sw, pw, dw)))
    return SimpleNamespace(tol=tol,
                           shapes=lambda n: [(n // 2 % 2 + 1, n % 4 + 3, n % 5 + 3, n % 3 + 1)]
                           if n < 100 else [(2, n % 11 + 9, n % 7 + 8, n % 17 + 3)],
                           make=build)

WIDE = (3, 2, 1, 2, 2, 0, 1, 2)
for at, into in ((seen_by, SAMPLES), (lambda make, tol=0: seen_by(make, tol, WIDE), {})):
    into.update(
        columns=at(lambda s, m, h, w, c, g: [s.any(m, h, w * c), c, *g]),
        turned_columns=at(lambda s, m, h, w, c, g: [s.any(m, h, w * c), c, *g]),
        columns_back=at(
            lambda s, m, h, w, c, g: [s.mild(m * g[8] * g[9], g[0] * g[1] * c), m, h, w, c, *g], 2e-6),
        depthwise=at(lambda s, m, h, w, c, g: [s.mild(m, h, w * c), s.unit(g[0] * g[1], c), c, *g],
                     4e-6),
        depthwise_back=at(
            lambda s, m, h, w, c, g: [s.mild(m, g[8], g[9] * c), s.unit(g[0] * g[1], c), h, w, c, *g],
            4e-6),
        depthwise_filters=at(
            lambda s, m, h, w, c, g: [s.unit(m, g[8], g[9] * c), s.mild(m, h, w * c), c, *g], 1e-4))
    if into is not SAMPLES: MORE += list(into.items())

# without a matrix of windows: channels in one group or, twice as many, in two; few are laid out as windows
from fucinalib.kernels import correlation as cor

def correlating(groups, o, relu, back=False, window=(2, 3, 2, 1, 1, 2, 1, 1)):
    def make(s, m, h, w, c, g):
        c, deep, (oh, ow) = c * groups, g[0] * g[1] * c, g[-2:]
        how, table, panels, slopes = cor.tasks(groups, o, relu, c, *g)
        x = s.mild(m, h, w * c)
        if back:
            units = cor.lots_of(m * len(table))
            return [s.unit(m * oh * ow * groups * o), x, how, table, slopes, units, groups, deep, o]
        y = np.zeros(m * oh * ow * groups * o, 'f4')
        return [y, x, s.unit(groups, deep, o), s.unit(groups, o), how, table, panels]
    return seen_by(make, 1e-4, window)

SAMPLES.update(correlate_=correlating(1, 20, 1), correlate_weights=correlating(1, 20, 0, True))
MORE += [('correlate_', correlating(2, 7, 0, window=WIDE)),
         ('correlate_', correlating(1, 50, 0, window=(3, 3, 1, 1, 1, 1, 1, 1))),
         ('correlate_weights', correlating(2, 40, 0, True, (3, 2, 2, 1, 2, 0, 1, 2)))]

pools = lambda make, tol=0, window=(2, 3, 2, 1, 1, 2, 1, 1): seen_by(
    lambda s, m, h, w, c, g: make(s, m, h, w, c, (*g[:6], *g[8:])), tol, window)
for window in ((2, 3, 2, 1, 1, 2, 1, 1), (2, 2, 2, 2, 0, 0, 1, 1)):
    made_of = dict(
        max_pool=pools(lambda s, m, h, w, c, g: [s.coarse(m, h, w * c), c, *g], 0, window),
        avg_pool=pools(lambda s, m, h, w, c, g: [s.mild(m, h, w * c), c, *g], 1e-6, window),
        max_pool_back=pools(lambda s, m, h, w, c, g: [
                                s.mild(m, g[6], g[7] * c),
                                s.rng.integers(0, g[0] * g[1], (m, g[6], g[7] * c)).astype('i4'),
                                h, w, c, *g],
                            1e-6, window),
        avg_pool_back=pools(lambda s, m, h, w, c, g: [s.mild(m, g[6], g[7] * c), h, w, c, *g],
                            1e-6, window))
    if window[0] == window[1]: MORE += list(made_of.items())
    else: SAMPLES.update(made_of)

of_image = lambda make, tol=0: seen_by(lambda s, m, h, w, c, g: make(s, m, h, w, c), tol)
half = lambda n: (n + 1) // 2
planes = lambda m, h, w, c: np.zeros((16, m * half(h) * half(w) * c), 'f4')
SAMPLES.update(
    tiles_=of_image(lambda s, m, h, w, c: [planes(m, h, w + 2, c), s.mild(m, h, w * c), c, 1, 2,
                                           half(h), half(w + 2)]),
    spread_=of_image(lambda s, m, h, w, c: [planes(m, h, w, c), s.mild(m, h, w * c), c]),
    untiled_=of_image(lambda s, m, h, w, c: [np.zeros((m, h, w * c), 'f4'),
                                             s.mild(*planes(m, h, w, c).shape), s.unit(c), 1],
                      1e-6),
    doubled=of_image(lambda s, m, h, w, c: [s.any(m, h, w * c), c]),
    doubled_back=of_image(lambda s, m, h, w, c: [s.mild(m, 2 * h, 2 * w * c), c]),
    prelu=matrices(lambda s, shape: [s.any(*shape), s.unit(shape[1])]),
    prelu_back=matrices(lambda s, shape: [s.unit(*shape), s.mild(*shape), s.unit(shape[1])], 1e-4),
    channel_affine=matrices(lambda s, shape: [s.any(*shape), s.unit(shape[1]), s.any(shape[1])]),
    channel_affine_back=matrices(lambda s, shape: [s.unit(*shape), s.mild(*shape), s.any(shape[1])],
                                 1e-4))
MORE += [('untiled_',
          of_image(lambda s, m, h, w, c: [np.zeros((m, h, w * c), 'f4'),
                                          s.mild(*planes(m, h, w, c).shape), s.unit(c), 0],
                   1e-6)),
         ('tiles_', of_image(lambda s, m, h, w, c: [planes(m, h, w + 2, c), s.mild(m, h, w * c),
                                                    c, -1, 0, half(h), half(w + 2)]))]
SAMPLES.update(sort_keys=matrices(lambda s, shape: [s.any(*shape).view('i4'), 0], tol=0))
MORE += [('sort_keys', matrices(lambda s, shape: [s.coarse(*shape).view('i4'), 1], tol=0)),
         ('topk_last', matrices(lambda s, shape: [s.coarse(*shape), min(40, (shape[1] + 1) // 2)]))]

# attention: queries, keys, two heads on one kv head or each on its own, a band, and room that the double works in
from fucinalib.kernels import attention as at

def attending(back=False, group=2, band=None, bias=False):
    def make(s, shape):
        t, d = shape
        n, far = t + 3, 1 << 40
        q, k, v = s.unit(1, t, 2, d), s.unit(1, n, 2 // group, d), s.unit(1, n, 2 // group, d)
        own, (lo, hi) = np.arange(2) // group, band or (-far, n - t)
        used = lambda sizes: [np.full(size, np.nan, 'f4') for size in sizes]      # whatever was there before
        table = s.unit(t, n) if bias else np.zeros((0, 0), 'f4')
        if not back: return used([q.shape, q.shape[:3]]) + [q, k, v, own, .4, lo, hi, table] + used(at.sizes(q, k))
        gy, (y, lse) = s.unit(*q.shape), at.attend(q, k, v, own, .4, lo, hi, table)
        return used([q.shape, k.shape, k.shape]) + [q, k, v, own, .4, lo, hi, gy, lse,
                                                    (gy * y).sum(-1)] + used(at.sizes_back(q, k))
    return SimpleNamespace(tol=2e-5,
                           shapes=lambda n: [(1, 1)] if n == 1 else [(n % 3 + 1, n % 5 + 1)] if n < 99
                           else [(n % 70 + 5, 33 + n % 7)],
                           make=make)

SAMPLES.update(attend_=attending(), attend_back_=attending(True))
MORE += [('attend_', attending(group=1, band=(-3, 1), bias=True)), ('attend_back_', attending(True, 1, (-3, 1)))]

# pieces of texts over four letters: some may stand together and never join, some are in no piece
from fucinalib.text import pieces as pc

TEXTS = ['a', 'b', 'c', 'ab', 'ba', 'aa', 'abab', 'aaaa', 'bc', 'abc', 'cabab']
USABLE, RANKS = [True] * len(TEXTS), [-9., -9., -9., -2., -2., -1., -3., -1., -7., -6., -4.]
JOINS = pc.Joins(TEXTS, pc.pairs_of_scores(TEXTS, RANKS, USABLE)).table

def letters(make, most):
    return SimpleNamespace(tol=0, shapes=lambda n: [(n,)],
                           make=lambda s, shape: make(s.rng.integers(-int(s.edges), most, shape).astype('i4')))

def best_of(c, kind):
    return [np.where(c < 0, pc.END, c + 97).astype('i4'), pc.make_trie(TEXTS, USABLE), np.array(RANKS, kind), kind(-19)]

SAMPLES.update(
    merge_pairs=letters(lambda ids: [ids, JOINS], 3),
    best_pieces=letters(lambda c: best_of(c, np.float32), 5))
MORE += [('best_pieces', letters(lambda c: best_of(c, np.float64), 5))]

# byte pair encoding: pieces of some symbols, and some of the pairs merge
from fucinalib.kernels.merges import merge_table

def merging(s, shape):
    n, = shape
    a, b = np.divmod(s.rng.permutation(400)[:120], 20)
    rank, becomes = s.rng.permutation(120), s.rng.integers(4, 20, 120)
    ends = np.unique(np.append(s.rng.integers(0, n, n // 40), n))
    return [s.rng.integers(0, 4, n).astype('i4'), ends, *merge_table(a, b, rank << 32 | becomes)]

SAMPLES['merge_pieces'] = SimpleNamespace(tol=0, shapes=lambda n: [(n,)], make=merging)

# a kernel that goes value by value takes anything, unless it is named above
for k in kernels.table.values():
    if k.flat and k.name not in SAMPLES:
        SAMPLES[k.name] = flat(' '.join('any' for _ in inspect.signature(k.twin).parameters))
