"""Attention of 8 heads of 64, forward and backward, beside torch's scaled_dot_product_attention."""
import fucinalib as fl
from .harness import Case, normal

HEADS, D = 8, 64


def cases(torch):
    for n in (128, 512, 2048, 4096):
        for mask in ('causal', 'bidirectional'):
            arrays, g = [normal(n, HEADS, D, seed=i) for i in range(3)], normal(n, HEADS * D, seed=3)
            leaves = [fl.param(a, tags) for a, tags in zip(arrays, ('seq head d', 'seq kv_head d', 'seq kv_head d'))]
            theirs = torch and [torch.from_numpy(a).requires_grad_() for a in arrays]
            def forward():
                with fl.no_grad(): return leaves[0].attention(*leaves[1:], mask=mask)
            def both(): leaves[0].attention(*leaves[1:], mask=mask).backward(g)
            def numpy():
                with fl.use_backend('numpy'): both()
            def sdpa():
                return torch.nn.functional.scaled_dot_product_attention(
                    *[t.transpose(0, 1)[None] for t in theirs], is_causal=mask == 'causal')
            def sdpa_forward():
                with torch.no_grad(): return sdpa()
            def sdpa_both(): torch.autograd.grad(sdpa()[0].transpose(0, 1).reshape(n, -1), theirs, torch.from_numpy(g))
            yield Case(f'{mask}', n, forward, None, torch and sdpa_forward)
            yield Case(f'{mask}, both ways', n, both, numpy if n < 4096 else None, torch and sdpa_both)
