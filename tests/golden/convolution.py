"""Convolutions, windows and pools beside torch, whose channels come first. Corner cases: strided
operands, size 1, -inf, NaN, ties, borders."""
import numpy as np
import fucinalib as fl
from parity import F, case, torch

first = lambda x: x.movedim(-1, -3)         # h w c -> c h w
last = lambda x: x.movedim(-3, -1)


def conv1(stride=1, padding=0, dilation=1, groups=1, before=0):
    "time c, tap c out -> time out"
    def run(x, w):
        x = F.pad(x.mT, (before, 0))
        return F.conv1d(x, w.permute(2, 1, 0), None, stride, padding, dilation, groups).mT
    return run

def conv2(relu=False, **kw):
    "h w c, out kh kw c -> h w out"
    def run(x, w, b=None):
        y = last(F.conv2d(first(x if x.ndim == 4 else x[None]), w.permute(0, 3, 1, 2), b, **kw))
        y = y.relu() if relu else y
        return y if x.ndim == 4 else y[0]
    return run

def pool(name, *a, **kw): return lambda x: last(getattr(F, name)(first(x), *a, **kw))

def windows(kernel, c, **kw):
    "Rows of windows with channels fastest, from torch's columns with channels slowest."
    def run(x):
        col = F.unfold(first(x)[None], kernel, **kw)[0]                 # c kh kw, patch
        return col.reshape(c, -1, col.shape[1]).permute(2, 1, 0).reshape(col.shape[1], -1)
    return run

def images(size, kernel, c, **kw):
    def run(col):
        rows = col.reshape(len(col), -1, c).permute(2, 1, 0).reshape(-1, len(col))
        return last(F.fold(rows[None], size, kernel, **kw))[0]
    return run

def streamed(state, dilation):
    def run(x, w): return conv1(dilation=dilation)(torch.cat([torch.tensor(state, dtype=x.dtype), x]), w)
    return run

def own_pool(x, kernel, stride, padding, how):
    "Pools by plain loops, for what torch does otherwise."
    h, w, c = x.shape
    out = []
    for oy in range((h + 2 * padding - kernel) // stride + 1):
        for ox in range((w + 2 * padding - kernel) // stride + 1):
            y, z = oy * stride - padding, ox * stride - padding
            out.append(how(x[max(0, y):y + kernel, max(0, z):z + kernel].reshape(-1, c)))
    return torch.stack(out).reshape((h + 2 * padding - kernel) // stride + 1, -1, c)

def fold_turned(x, w, b=None, stride=1, padding=0, output_pad=0):
    "conv_transpose1d of time c and c out tap."
    return F.conv_transpose1d(x.T[None], w, b, stride, padding, output_pad)[0].T

def onnx(kind, move=(first, last), **attributes):
    """One ONNX operation as onnxruntime runs it in f32: for padding that torch does not allow.
    The module is needed only to make the file anew."""
    def run(x, *weights):
        import pytest
        ort, on = pytest.importorskip('onnxruntime'), pytest.importorskip('onnx')
        arrays = [a.detach().numpy().astype('f4') for a in (move[0](x)[None], *weights)]
        names = [f'in{i}' for i in range(len(arrays))]
        infos = [on.helper.make_tensor_value_info(n, on.TensorProto.FLOAT, a.shape) for n, a in zip(names, arrays)]
        graph = on.helper.make_graph(
            [on.helper.make_node(kind, names, ['out'], **attributes)], 'one', infos,
            [on.helper.make_tensor_value_info('out', on.TensorProto.FLOAT, None)])
        model = on.helper.make_model(graph, opset_imports=[on.helper.make_opsetid('', 17)], ir_version=9)
        y, = ort.InferenceSession(model.SerializeToString(), providers=['CPUExecutionProvider']).run(
            None, dict(zip(names, arrays)))
        return move[1](torch.tensor(y[0]).double())
    return run

row = (lambda x: x.T, lambda y: y.T)        # time c -> c time
rearranged = lambda conv: lambda x, w, b: conv(x, w.permute(0, 3, 1, 2), b)     # o h w c -> o c h w
ort = dict(grad=False, tol=2e-5)

def largest_number(v):
    "The largest of a window that is no NaN; NaN where there is none."
    return torch.nan_to_num(v, -np.inf, np.inf, -np.inf).max(0).values.where(~v.isnan().all(0), np.nan)

rng = np.random.default_rng(7)
STATE = rng.standard_normal((4, 2))
stepped = lambda tags, *shape: fl.Tensor(
    rng.standard_normal([2 * n for n in shape])[tuple(slice(None, None, 2) for _ in shape)], tags)
turned = lambda tags, *shape: fl.Tensor(rng.standard_normal(shape[::-1]).transpose(range(len(shape))[::-1]), tags)
special = fl.Tensor(
    np.array([[1., np.nan, 3.], [-np.inf, -np.inf, np.nan], [-np.inf, -np.inf, np.nan]])[..., None],
    'h w c')
ties = fl.Tensor(rng.integers(0, 3, (7, 8, 3)).astype('f8'), 'h w c')

CASES = [
    case('conv1d', 'time=9 c=3', 'tap=3 c=3 out=4', 'time', 'tap', torch=conv1(), tags='time out'),
    case('conv1d', 'time=9 c=3', 'tap=3 c=3 out=4', 'time', 'tap', stride=2, padding=2,
         dilation=2, torch=conv1(2, 2, 2)),
    case('conv1d', 'time=8 c=4', 'tap=2 c=2 out=6', 'time', 'tap', groups=2, torch=conv1(groups=2)),
    case('conv1d', 'time=5 c=4', 'tap=3 per=1 out=8', 'time', 'tap', groups=4, padding=1,
         torch=conv1(1, 1, 1, 4)),
    case('conv1d', 'time=1 c=1', 'tap=1 c=1 out=1', 'time', 'tap', torch=conv1()),
    case('conv1d', 'time=3 c=2', 'tap=3 c=2 out=2', 'time', 'tap', padding=5, stride=3,
         torch=conv1(3, 5)),
    case('conv1d', 'time=7 c=2', 'tap=3 c=2 out=3', 'time', 'tap', causal=True, dilation=2,
         torch=conv1(dilation=2, before=4)),
    case('conv1d', 'time=7 c=4', 'tap=3 c=2 out=4', 'time', 'tap', causal=True, groups=2,
         torch=conv1(groups=2, before=2)),
    case('conv1d', 'time=7 c=3', 'c=3 tap=4', 'time', 'tap', causal=True,
         torch=lambda x, w: conv1(groups=3, before=3)(x, w.T[:, None]), tags='time c'),
    case('conv1d', 'time=7 c=3', 'c=3 tap=4', 'time', 'tap', stride=2, padding=2,
         torch=lambda x, w: conv1(2, 2, groups=3)(x, w.T[:, None])),
    case('conv1d', 'time=5 c=2', 'tap=3 c=2 out=3', 'time', 'tap', causal=True, dilation=2,
         state=STATE, torch=streamed(STATE, 2)),
    case('conv1d', 'time=1 c=2', 'tap=3 c=2 out=3', 'time', 'tap', causal=True, dilation=2,
         state=STATE, torch=streamed(STATE, 2)),
    case('conv1d', 'b=2 c=3 time=6', 'out=4 tap=2 c=3', 'time', 'tap',
         torch=lambda x, w: F.conv1d(x, w.permute(0, 2, 1)), tags='b out time'),
    case('conv1d', stepped('time c', 6, 3), turned('tap c out', 2, 3, 4), 'time', 'tap', torch=conv1()),
    case('conv_transpose1d', 'time=4 c=2', 'c=2 out=3 tap=3', 'time', 'tap', stride=2,
         torch=lambda x, w: fold_turned(x, w, stride=2), tags='time out'),
    case('conv_transpose1d', 'time=5 c=2', 'c=2 out=3 tap=4', 'time', 'tap', 'out=3', stride=3,
         padding=2, torch=lambda x, w, b: fold_turned(x, w, b, 3, 2)),
    case('conv_transpose1d', 'time=5 c=2', 'c=2 out=3 tap=2', 'time', 'tap', 'out=3', stride=3,
         padding=1, output_pad=2, torch=lambda x, w, b: fold_turned(x, w, b, 3, 1, 2)),
    case('conv_transpose1d', 'time=1 c=1', 'c=1 out=1 tap=1', 'time', 'tap', torch=fold_turned),
    case('conv2d', 'h=6 w=7 c=3', 'o=4 kh=3 kw=3 c=3', torch=conv2(), tags='h w o'),
    case('conv2d', 'h=6 w=7 c=3', 'o=4 kh=3 kw=2 c=3', 'o=4', stride=(2, 1), padding=(1, 0),
         torch=conv2(stride=(2, 1), padding=(1, 0))),
    case('conv2d', 'b=2 h=5 w=5 c=4', 'o=6 kh=3 kw=3 c=2', 'o=6', padding=1, groups=2, relu=True,
         torch=conv2(True, padding=1, groups=2)),
    case('conv2d', 'h=5 w=4 c=3', 'o=6 kh=2 kw=3 c=1', 'o=6', groups=3, stride=2, padding=1,
         torch=conv2(groups=3, stride=2, padding=1)),
    case('conv2d', 'h=5 w=4 c=3', 'o=3 kh=3 kw=3 c=1', groups=3, padding=1,
         torch=conv2(groups=3, padding=1)),
    case('conv2d', 'h=1 w=1 c=1', 'o=1 kh=1 kw=1 c=1', torch=conv2()),
    case('conv2d', 'h=1 w=1 c=2', 'o=2 kh=3 kw=3 c=2', padding=3, torch=conv2(padding=3)),
    case('conv2d', 'h=7 w=7 c=2', 'o=2 kh=1 kw=1 c=2', stride=3, torch=conv2(stride=3)),
    case('conv2d', 'h=8 w=8 c=2', 'o=2 kh=2 kw=2 c=2', stride=3, padding=1,
         torch=conv2(stride=3, padding=1)),
    case('conv2d', stepped('h w c', 5, 6, 3), turned('o kh kw c', 2, 3, 3, 3), padding=1,
         torch=conv2(padding=1)),
    case('conv2d', turned('b h w c', 2, 5, 6, 3), stepped('o kh kw c', 2, 3, 3, 3), relu=True,
         torch=conv2(True)),
    case('max_pool2d', 'h=6 w=7 c=3', 2, torch=pool('max_pool2d', 2), tags='h w c'),
    case('max_pool2d', 'b=2 h=6 w=7 c=3', 3, 2, 1, torch=pool('max_pool2d', 3, 2, 1), tags='b h w c'),
    case('max_pool2d', ties, 3, 1, 1, torch=pool('max_pool2d', 3, 1, 1)),
    case('max_pool2d', ties, (3, 2), (1, 3), torch=pool('max_pool2d', (3, 2), (1, 3))),
    case('max_pool2d', 'h=3 w=3 c=1', 3, 3, 2,
         torch=lambda x: own_pool(x, 3, 3, 2, lambda v: v.max(0).values)),
    case('max_pool2d', special, 2, 1, grad=False,
         torch=lambda x: own_pool(x, 2, 1, 0, largest_number)),
    case('max_pool2d', stepped('h w c', 5, 6, 3), 2, torch=pool('max_pool2d', 2)),
    case('avg_pool2d', 'h=6 w=7 c=3', 2, torch=pool('avg_pool2d', 2)),
    case('avg_pool2d', 'b=2 h=6 w=7 c=3', 3, 2, 1,
         torch=pool('avg_pool2d', 3, 2, 1, count_include_pad=False)),
    case('avg_pool2d', 'h=3 w=4 c=2', 3, 2, 2,
         torch=lambda x: own_pool(x, 3, 2, 2, lambda v: v.mean(0))),
    case('avg_pool2d', turned('h w c', 5, 6, 3), (2, 3), 1, torch=pool('avg_pool2d', (2, 3), 1)),
    case('upsample2x_nearest', 'h=3 w=4 c=2',
         torch=lambda x: last(F.interpolate(first(x)[None], scale_factor=2)[0])),
    case('upsample2x_nearest', 'b=2 h=1 w=1 c=1',
         torch=lambda x: last(F.interpolate(first(x), scale_factor=2))),
    case('unfold', 'h=5 w=6 c=3', (2, 3), torch=windows((2, 3), 3), tags='patch elem'),
    case('unfold', 'h=5 w=6 c=3', 3, (2, 1), (1, 2),
         torch=windows(3, 3, stride=(2, 1), padding=(1, 2))),
    case('unfold', stepped('h w c', 4, 4, 2), 2, 2, torch=windows(2, 2, stride=2)),
    case('fold', 'patch=20 elem=18', (5, 6), (3, 3), 1, (1, 0),
         torch=images((5, 6), (3, 3), 2, padding=(1, 0)), tags='h w c'),
    case('fold', 'patch=6 elem=12', (4, 7), (2, 3), (2, 2), torch=images((4, 7), (2, 3), 2, stride=2)),
    case('prelu', 'h=3 w=4 c=5', 'c=5',
         torch=lambda x, a: F.prelu(first(x)[None], a)[0].movedim(0, -1), tags='h w c'),
    case('prelu', 'c=3 t=4', 'c=3', torch=lambda x, a: F.prelu(x.T, a).T),
    case('channel_affine', 'h=3 w=4 c=5', 'c=5', 'c=5', torch=lambda x, s, b: x * s + b),
    case('channel_affine', 'c=3 t=4', 'c=3', 'c=3', torch=lambda x, s, b: (x.T * s + b).T),
    # a second opinion, in f32
    case('avg_pool2d', 'h=5 w=6 c=3', 3, 1, 2,
         torch=onnx('AveragePool', kernel_shape=[3, 3], strides=[1, 1], pads=[2, 2, 2, 2],
                    count_include_pad=0),
         **ort),
    case('avg_pool2d', 'h=7 w=4 c=2', (4, 2), (3, 1), (3, 1),
         torch=onnx('AveragePool', kernel_shape=[4, 2], strides=[3, 1], pads=[3, 1, 3, 1],
                    count_include_pad=0),
         **ort),
    case('max_pool2d', 'h=5 w=6 c=3', 3, 2, 2,
         torch=onnx('MaxPool', kernel_shape=[3, 3], strides=[2, 2], pads=[2, 2, 2, 2]), **ort),
    case('max_pool2d', fl.Tensor(np.full((4, 5, 2), -np.inf), 'h w c'), 3, 1, 1,
         torch=pool('max_pool2d', 3, 1, 1)),
    case('conv1d', 'time=9 c=4', 'tap=3 c=2 out=6', 'time', 'tap', groups=2, causal=True, dilation=2,
         torch=lambda x, w: onnx('Conv', row, pads=[4, 0], dilations=[2], group=2)(x,
                                                                                   w.permute(2, 1, 0)),
         **ort),
    case('conv2d', 'h=6 w=5 c=4', 'o=4 kh=3 kw=2 c=1', 'o=4', stride=(2, 3), padding=(4, 3),
         groups=4, torch=rearranged(onnx('Conv', pads=[4, 3, 4, 3], strides=[2, 3], group=4)),
         **ort),
    case('conv_transpose1d', 'time=5 c=2', 'c=2 out=3 tap=4', 'time', 'tap', 'out=3', stride=3,
         padding=3,
         torch=lambda x, w, b: onnx('ConvTranspose', row, pads=[3, 3], strides=[3])(x, w, b), **ort),
    case('prelu', 'h=3 w=4 c=5', 'c=5', torch=lambda x, a: onnx('PRelu')(x, a[:, None, None]), **ort),
]
