"""Attention beside torch's scaled_dot_product_attention; windows, sinks and biases beside softmax
over a table with everything in it."""
from parity import case, torch

def heads(x): return x.movedim(-3, -2)      # (seq, head, d) -> (head, seq, d)

def sdpa(scale=None, causal=True, own=None, window=0, sinks=False):
    "torch on whole heads: keys repeated, a mask aligned at the end."
    def f(q, k, v, *more):
        n, g = q.shape[-2], k.shape[-2]
        at = own or [h * g // n for h in range(n)]
        t, s = q.shape[-3], k.shape[-3]
        d = torch.arange(s) - torch.arange(t)[:, None] - (s - t)
        keep = ((d <= 0) & (d > -window if window else True)) if causal else torch.ones(t, s, dtype=bool)
        q, k, v = heads(q), heads(k[..., at, :]), heads(v[..., at, :])
        if sinks:
            score = (q @ k.mT * (scale or q.shape[-1]**-.5)).masked_fill(~keep, -torch.inf)
            y = torch.cat([score, more[0][:, None, None].expand(*score.shape[:-1], 1)], -1).softmax(-1)[..., :-1] @ v
        else: y = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=keep, scale=scale)
        return heads(y).flatten(-2)
    return f

def biased(q, k, v, b):
    return heads(torch.nn.functional.scaled_dot_product_attention(heads(q), heads(k), heads(v),
                                                                  attn_mask=b)).flatten(-2)
def shift(x): return torch.stack([x[:, i, x.shape[1] - 1 - i:][:, :3] for i in range(x.shape[1])], 1)

CASES = [
    case('attention', 'seq=4 head=2 d=8', 'seq=4 kv_head=2 d=8', 'seq=4 kv_head=2 d=8',
         torch=sdpa(), tags='seq out'),
    case('attention', 'seq=3 head=4 d=5', 'seq=7 kv_head=2 d=5', 'seq=7 kv_head=2 d=5',
         torch=sdpa(), tags='seq out'),
    case('attention', 'seq=1 head=1 d=1', 'seq=1 kv_head=1 d=1', 'seq=1 kv_head=1 d=1', torch=sdpa()),
    case('attention', 'seq=1 head=2 d=3', 'seq=9 kv_head=1 d=3', 'seq=9 kv_head=1 d=3', scale=1.5,
         torch=sdpa(scale=1.5)),
    case('attention', 'seq=5 head=2 d=4', 'seq=6 kv_head=2 d=4', 'seq=6 kv_head=2 d=4',
         mask='bidirectional', torch=sdpa(causal=False)),
    case('attention', 'seq=6 head=1 d=4', 'seq=8 kv_head=1 d=4', 'seq=8 kv_head=1 d=4', window=3,
         torch=sdpa(window=3)),
    case('attention', 'seq=4 head=1 d=4', 'seq=4 kv_head=1 d=4', 'seq=4 kv_head=1 d=4', window=1,
         torch=sdpa(window=1)),
    case('attention', 'seq=3 head=3 d=4', 'seq=5 kv_head=2 d=4', 'seq=5 kv_head=2 d=4',
         kv_head=[1, 0, 1], torch=sdpa(own=[1, 0, 1])),
    case('attention', 'seq=3 head=2 d=4', 'seq=5 kv_head=1 d=4', 'seq=5 kv_head=1 d=4',
         sinks='head=2', torch=sdpa(sinks=True)),
    case('attention', 'seq=4 head=2 d=4', 'seq=5 kv_head=2 d=4', 'seq=5 kv_head=2 d=4', window=2,
         sinks='head=2', torch=sdpa(window=2, sinks=True)),
    case('attention', 'b=2 seq=3 head=2 d=4', 'b=2 seq=4 kv_head=1 d=4',
         'b=2 seq=4 kv_head=1 d=4', torch=sdpa(), tags='b seq out'),
    case('attention', 'seq=3 head=2 d=4', 'seq=5 kv_head=2 d=4', 'seq=5 kv_head=2 d=4',
         mask='bidirectional', bias='seq=3 key=5', grad=False, torch=biased),
    case('attention', 'seq=150 head=2 d=8', 'seq=600 kv_head=1 d=8', 'seq=600 kv_head=1 d=8',
         torch=sdpa()),
    case('attention', 'seq=140 head=2 d=8', 'seq=140 kv_head=1 d=8', 'seq=140 kv_head=1 d=8',
         window=70, torch=sdpa(window=70)),
    case('relpos_shift', 'h=2 q=3 p=5', 3, 'h q k', torch=shift, tags='h q k'),
    case('relpos_shift', 'h=1 q=1 p=3', 3, 'h q k', torch=lambda x: x),
]
