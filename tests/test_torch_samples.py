"""The sample inputs that torch tests its own operations with, run through both (`make test-all`).
What ours has no option for is left out by name."""
import numpy as np
import pytest
import fucinalib as fl

torch = pytest.importorskip('torch')
pytest.importorskip('expecttest', reason='torch reads its samples with it: pip install expecttest')
from torch.testing._internal.common_methods_invocations import op_db      # noqa: E402

pytestmark = pytest.mark.torch


class Unlike(Exception):
    "This sample asks for something that ours does not have."


TWINS = []      # (torch tensor, ours) of the sample at hand

def tagged(t, tags=None):
    "A torch tensor as ours; axes are named from the last one, so that what torch broadcasts meets by name."
    if t.numel() == 0: raise Unlike('no values')
    tags = tags or [f't{i}' for i in reversed(range(t.ndim))]
    TWINS.append((t, fl.Tensor(t.detach().numpy().copy(), tuple(tags), requires_grad=t.requires_grad)))
    return TWINS[-1][1]


def names(x, dims):
    "Tags at torch's positions; all of them for None."
    if dims is None: return x.tags
    dims = dims if isinstance(dims, (tuple, list)) else [dims]
    if not x.ndim: raise Unlike('an axis of a single number')
    return tuple(x.tags[d] for d in dims)


def plain(kw, **allowed):
    "Refuse options that are neither allowed nor at their default."
    for k, v in kw.items():
        if k not in allowed or allowed[k] is not any and v != allowed[k]: raise Unlike(f'{k}={v}')


def alone(name, **options):
    def call(x, *args, **kw):
        if args: raise Unlike('more arguments')
        plain(kw, **options)
        return getattr(tagged(x), name)(**{k: v for k, v in kw.items() if options.get(k) is any})
    return call

def two(name, stretch=True):
    def call(x, y, **kw):
        plain(kw, alpha=1, rounding_mode=None)
        if not isinstance(x, torch.Tensor): raise Unlike('a number on the left')
        if isinstance(y, torch.Tensor):
            if x.dtype != y.dtype: raise Unlike('number types that differ')
            if not stretch and x.shape != y.shape: raise Unlike('broadcasting')
        elif isinstance(y, complex): raise Unlike('complex numbers')
        r = getattr(tagged(x), name)(tagged(y) if isinstance(y, torch.Tensor) else y)
        order = [t for t in (f't{i}' for i in reversed(range(r.ndim)))]
        return r.permute(' '.join(order)) if r.ndim > 1 else r
    return call

def over(name, first='dim', **options):
    "A reduction: all axes, one, or several."
    def call(x, *args, **kw):
        if args: kw = {**dict(zip((first, 'keepdim'), args)), **kw}
        dims, keep = kw.pop(first, None), kw.pop('keepdim', False)
        for old, new in (('correction', 'ddof'), ('unbiased', 'ddof')):
            if old in kw: kw[new] = kw.pop(old)
        if kw.get('ddof', 1) is None: del kw['ddof']
        if kw.get('ddof', 1) not in (0, 1): raise Unlike(f'correction {kw["ddof"]}')
        if 'ddof' in kw: kw['ddof'] = int(kw['ddof'])
        if name in ('var', 'std'): kw.setdefault('ddof', 1)
        plain(kw, ddof=any, ord=any, dtype=None, **options)
        if 'ord' in kw and kw['ord'] not in (1, 2, np.inf, float('inf')): raise Unlike(f'ord={kw["ord"]}')
        if 'ord' in kw: kw['ord'] = 'inf' if kw['ord'] == np.inf else int(kw['ord'])
        a = tagged(x)
        chosen = names(a, None if dims == () else dims) if a.ndim else ()
        y = getattr(a, name)(*chosen, **{k: v for k, v in kw.items() if k in ('ddof', 'ord')})
        for i in sorted(a.axis(t) for t in chosen) if keep else (): y = y.insert_axis(a.tags[i], i)
        return y
    return call

def along(name, **fixed):
    "One axis, whose name comes first."
    def call(x, dim, keepdim=False, **kw):
        plain(kw, dtype=None)
        if keepdim: raise Unlike('an axis that stays')
        a = tagged(x)
        chosen = names(a, dim)
        if len(chosen) > 1: raise Unlike('several axes')
        return getattr(a, name)(*chosen, **fixed)
    return call

def best(name):
    def call(x, *args, **kw):
        kw = {**dict(zip(('dim', 'keepdim'), args)), **kw}
        if kw.pop('keepdim', False) or kw.get('dim') is None: raise Unlike('the place among all, or an axis that stays')
        a = tagged(x)
        return getattr(a, name)(*names(a, kw['dim']))
    return call

def index_select(x, dim, index):
    a = tagged(x)
    if index.ndim != 1: raise Unlike('a single index')
    return a.index_select(*names(a, dim), index.numpy())

def gather(x, dim, index, **kw):
    plain(kw, sparse_grad=False)
    a, i = tagged(x), tagged(index.long())
    tag, = names(a, dim)
    if any(i.size(t) != a.size(t) for t in a.tags if t != tag): raise Unlike('fewer rows of indices')
    return a.take_along_axis(tag, i)

def narrow(x, dim, start, length):
    a = tagged(x)
    if isinstance(start, torch.Tensor) or start < 0: raise Unlike('a start from the end')
    if not length: raise Unlike('no values')
    return a.narrow(*names(a, dim), start, length)

def cat(tensors, dim=0, **kw):
    plain(kw)
    ours = [tagged(t) for t in tensors]
    if len({t.ndim for t in ours}) > 1: raise Unlike('ranks that differ')
    return fl.concat(ours, *names(ours[0], dim))

def stack(tensors, dim=0):
    ours = [tagged(t) for t in tensors]
    y = fl.stack(ours, 'new')
    rest = list(ours[0].tags)
    rest.insert(dim if dim >= 0 else len(rest) + 1 + dim, 'new')
    return y.permute(' '.join(rest)) if len(rest) > 1 else y

def mm(x, y): return tagged(x, 'ab').dot(tagged(y, 'bc'), 'b')
def bmm(x, y): return tagged(x, 'nab').einsum(tagged(y, 'nbc'), 'n a c')
def addmm(s, x, y, **kw):
    plain(kw, alpha=any, beta=any)
    if s.shape != (x.shape[0], y.shape[1]): raise Unlike('broadcasting')
    return tagged(s, 'ac').mul(kw.get('beta', 1)).add_dot(tagged(x, 'ab').mul(kw.get('alpha', 1)), tagged(y, 'bc'), 'b')

def einsum(tensors, equation):
    inside, out = equation.replace(' ', '').split('->') if '->' in equation else (equation, None)
    parts = inside.replace(' ', '').split(',')
    if out is None or '.' in equation or any(len(set(p)) < len(p) for p in parts):
        raise Unlike('an equation without result, with dots or a repeated letter')
    if len(parts) < 2 or set(out) - set(''.join(parts)): raise Unlike('one operand')
    return fl.einsum(' '.join(out), *[tagged(t, p) for t, p in zip(tensors, parts)])

def layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
    a = tagged(x)
    if len(shape) != 1: raise Unlike('several axes')
    if (weight is None) != (bias is None): raise Unlike('one of weight and bias')
    extra = {} if weight is None else dict(weight=tagged(weight), bias=tagged(bias))
    return a.layer_norm('t0', eps=eps, **extra)

def fill(x, mask, value):
    if isinstance(value, torch.Tensor): raise Unlike('a tensor as value')
    if x.shape != mask.shape: raise Unlike('broadcasting')
    return tagged(x).masked_fill(tagged(mask), value)

def where(x, mask, y):
    if (not (isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor))
        or not x.shape == mask.shape == y.shape or x.dtype != y.dtype):
        raise Unlike('broadcasting')
    return tagged(x).where(tagged(mask), tagged(y))

def mse(x, y, **kw):
    plain(kw, reduction=any)
    if x.shape != y.shape: raise Unlike('broadcasting')
    return tagged(x).mse_loss(tagged(y), **kw)

def glu(x, dim=-1):
    a = tagged(x)
    return a.split_gated('glu', *names(a, dim))

def best_few(x, k, *args, **kw):
    kw = {**dict(zip(('dim', 'largest', 'sorted'), args)), **kw}
    a = tagged(x)
    if not kw.get('largest', True) or not kw.get('sorted', True) or not k: raise Unlike('the smallest')
    return a.topk(*names(a, kw.get('dim', -1)), k).values

def sort(x, *args, **kw):
    kw = {**dict(zip(('dim', 'descending', 'stable'), args)), **kw}
    a = tagged(x)
    return a.sort(*names(a, kw.get('dim', -1)), descending=bool(kw.get('descending', False))).values

def rolled(x, shifts, dims=None):
    a = tagged(x)
    if dims is None or isinstance(dims, tuple) and len(dims) != 1: raise Unlike('several axes')
    return a.roll(*names(a, dims), shifts if isinstance(shifts, int) else shifts[0])

def flipped(x, dims):
    a = tagged(x)
    if not dims: raise Unlike('no axis')
    return a.flip(*names(a, dims))

# losses, norms, convolutions

def labelled(name, **allowed):
    "Classes are torch's axis 1, or the only one."
    def call(x, y, weight=None, **kw):
        plain(kw, reduction=any, label_smoothing=any, **allowed)
        if weight is not None: raise Unlike('weights of the classes')
        if y.dtype.is_floating_point: raise Unlike('probabilities as labels')
        if kw.get('ignore_index', -100) == -100: kw.pop('ignore_index', None)
        a = tagged(x)
        return getattr(a, name)(a.tags[1 if x.ndim > 1 else 0], y.numpy(), **kw)
    return call

def compared(name, **renamed):
    "A loss of two tensors of one shape."
    def call(x, y, *args, **kw):
        if args or x.shape != y.shape: raise Unlike('weights, or broadcasting')
        for k in ('weight', 'pos_weight', 'size_average', 'reduce'):
            if kw.pop(k, None) is not None: raise Unlike(k)
        if kw.get('reduction') == 'batchmean': raise Unlike('batchmean')
        return getattr(tagged(x), name)(tagged(y), **kw, **renamed)
    return call

def cosine(x, y, dim=1, eps=1e-8):
    if x.shape != y.shape: raise Unlike('broadcasting')
    a = tagged(x)
    return a.cosine_similarity(tagged(y), *names(a, dim), eps)

def rms_norm(x, shape, weight=None, eps=None):
    if len(shape) != 1: raise Unlike('several axes')
    return tagged(x).rms_norm('t0', eps=torch.finfo(x.dtype).eps if eps is None else eps,
                              **({} if weight is None else {'weight': tagged(weight)}))

def normalize(x, p=2.0, dim=1, eps=1e-12):
    if p != 2 or eps != 1e-12: raise Unlike('another norm')
    a = tagged(x)
    if x.pow(2).sum(dim).min() < 1e-9: raise Unlike('eps of the length, not of its square')
    return a.l2_normalize(*names(a, dim), eps=0.)

def prelu(x, weight):
    channel = 't0' if x.ndim < 2 else f't{x.ndim - 2}'
    return tagged(x).prelu(tagged(weight, [channel])) if x.ndim and weight.numel() == (
        x.shape[1] if x.ndim > 1 else x.shape[0]) else refuse('one slope for all channels')

def refuse(why): raise Unlike(why)

def one(v): return v if isinstance(v, int) else v[0] if len(v) == 1 else refuse('two sizes')

def conv1d(x, w, bias=None, **kw):
    plain(kw, stride=any, padding=any, dilation=any, groups=any)
    if bias is not None or isinstance(kw.get('padding'), str): raise Unlike('a bias, or padding by name')
    lead = ['n'] * (x.ndim - 2)
    y = tagged(x, [*lead, 'c', 'time']).conv1d(tagged(w, ['out', 'c', 'tap']), 'time', 'tap',
                                               **{k: one(v) for k, v in kw.items()})
    return y.permute(' '.join([*lead, 'out', 'time']))

def conv_transpose1d(x, w, bias=None, **kw):
    plain(kw, stride=any, padding=any, output_padding=any, dilation=1, groups=1)
    lead = ['n'] * (x.ndim - 2)
    kw = {'output_pad' if k == 'output_padding' else k: one(v)
          for k, v in kw.items() if k not in ('dilation', 'groups')}
    if bias is not None: kw['bias'] = tagged(bias, ['out'])
    return tagged(x, [*lead, 'c', 'time']).conv_transpose1d(
        tagged(w, ['c', 'out', 'tap']), 'time', 'tap', **kw).permute(' '.join([*lead, 'out', 'time']))

def last(t, tags): return tagged(t, tags).permute(' '.join([*tags[:-3], *tags[-2:], tags[-3]]))

def conv2d(x, w, bias=None, **kw):
    plain(kw, stride=any, padding=any, groups=any, dilation=1)
    if isinstance(kw.get('padding'), str): raise Unlike('padding by name')
    kw = {k: v for k, v in kw.items() if k != 'dilation'} | ({} if bias is None else {'bias': tagged(bias, ['out'])})
    lead = ['n'] * (x.ndim - 3)
    return last(x, [*lead, 'c', 'h', 'w']).conv2d(last(w, ['out', 'c', 'kh', 'kw']), **kw).permute(
        ' '.join([*lead, 'out', 'h', 'w']))

def pool(name):
    def call(x, kernel_size, stride=None, padding=0, *args, **kw):
        plain({**dict(zip(('ceil_mode', 'count_include_pad', 'divisor_override'), args)), **kw},
              ceil_mode=False, count_include_pad=True, divisor_override=None, dilation=1,
              return_indices=False)
        lead = ['n'] * (x.ndim - 3)
        if name == 'avg_pool2d' and padding not in (0, (0, 0)): raise Unlike('zeros that count')
        pair = lambda v: v if isinstance(v, int) or v is None or len(v) == 2 else v[0]
        y = getattr(last(x, [*lead, 'c', 'h', 'w']), name)(
            pair(kernel_size), stride=pair(stride) or None, padding=pair(padding))
        return y.permute(' '.join([*lead, 'c', 'h', 'w']))
    return call


# operations on a tensor and nothing else; torch's softplus is a line from 20 on
NAMED = {o.torch.removeprefix('torch.'): o.name for o in fl.registry.values()
         if o.torch and len(o.signature.parameters) == 1 and o.name != 'softplus'}

OURS = {theirs: alone(name, inplace=False, alpha=1.0) for theirs, name in NAMED.items()} | {
    'nn.functional.relu': alone('relu', inplace=False),
    'tanh': alone('tanh'),
    'nn.functional.gelu': alone('gelu', approximate=any)} | {
    n: two(n) for n in 'add sub mul div maximum minimum pow'.split()} | {
    n: two(n, stretch=False) for n in 'eq ne lt le gt ge'.split()} | {
    n: over(n) for n in 'sum mean prod var std'.split()} | {
    'linalg.vector_norm': over('norm'), 'amax': over('max'), 'amin': over('min')} | {
    'nn.functional.cross_entropy': labelled('cross_entropy', ignore_index=any),
    'nn.functional.nll_loss': labelled('nll_loss', ignore_index=-100),
    'nn.functional.huber_loss': compared('huber_loss'),
    'nn.functional.kl_div': compared('kl_div'),
    'nn.functional.binary_cross_entropy_with_logits': compared('bce_loss', from_logits=True),
    'nn.functional.cosine_similarity': cosine,
    'nn.functional.rms_norm': rms_norm,
    'nn.functional.normalize': normalize,
    'nn.functional.prelu': prelu,
    'nn.functional.conv1d': conv1d,
    'nn.functional.conv_transpose1d': conv_transpose1d,
    'nn.functional.conv2d': conv2d,
    'nn.functional.max_pool2d': pool('max_pool2d'), 'nn.functional.avg_pool2d': pool('avg_pool2d')} | {
    'logsumexp': along('logsumexp'), 'softmax': along('softmax'),
    'log_softmax': along('log_softmax'), 'cumsum': along('cumsum'), 'cumprod': along('cumprod')} | {
    n: best(n) for n in ('argmax', 'argmin')} | {
    'index_select': index_select, 'gather': gather, 'narrow': narrow, 'cat': cat, 'stack': stack,
    'mm': mm, 'bmm': bmm, 'addmm': addmm, 'einsum': einsum,
    'nn.functional.layer_norm': layer_norm,
    'masked_fill': fill, 'where': where,
    'nn.functional.mse_loss': mse, 'nn.functional.glu': glu, 'topk': best_few, 'sort': sort,
    'roll': rolled, 'flip': flipped,
    'permute': lambda x, dims: tagged(x).permute(' '.join(names(tagged(x), dims))) if x.ndim > 1
    else tagged(x),
    'tril': lambda x, d=0: tagged(x).tril(*tagged(x).tags[-2:], offset=d),
    'triu': lambda x, d=0: tagged(x).triu(*tagged(x).tags[-2:], offset=d),
    'select': lambda x, dim, i: tagged(x).select({names(tagged(x), dim)[0]: i}),
    'trace': lambda x: tagged(x).trace('t1', 't0'),
    'unbind': lambda x, dim=0: tagged(x).unbind(*names(tagged(x), dim))}


# of (values, indices) the values
def results(v): return list(v) if type(v) in (tuple, list) else v[:1] if isinstance(v, tuple) else [v]


@pytest.mark.parametrize(
    'info', [o for o in op_db if o.name in OURS and o.variant_test_name in ('', 'no_rounding_mode')],
    ids=lambda o: o.name)
def test_samples_of_torch(info):
    count = 0
    for sample in info.sample_inputs('cpu', torch.float64, requires_grad=info.supports_autograd):
        TWINS.clear()
        try: mine = results(OURS[info.name](sample.input, *sample.args, **sample.kwargs))
        except Unlike: continue
        theirs = results(info(sample.input, *sample.args, **sample.kwargs))
        for a, b in zip(mine, theirs, strict=True):
            assert a.shape == tuple(b.shape), sample
            np.testing.assert_allclose(a.data, b.detach().numpy(), rtol=1e-9, atol=1e-12, err_msg=str(sample))
        if mine[0].requires_grad:
            weights = [np.random.default_rng(i).uniform(.5, 1.5, a.shape) for i, a in enumerate(mine)]
            for a, w in zip(mine, weights): a.backward(w)
            leaves = list({id(t): t for t, x in TWINS if x.requires_grad}.values())
            right = torch.autograd.grad(sum((b * torch.tensor(w)).sum() for b, w in zip(theirs, weights)), leaves)
            for t, g in zip(leaves, right):
                ours = sum(x.grad.data for u, x in TWINS if u is t and x.grad is not None)
                np.testing.assert_allclose(ours, g.numpy(), rtol=1e-8, atol=1e-10, err_msg=f'gradient of {sample}')
        count += 1
    assert count, 'no sample of torch fits'
