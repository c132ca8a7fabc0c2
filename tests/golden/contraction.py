"""Contractions beside torch.einsum: every role, odd sizes, size 1, strided operands, scalars, chains."""
import numpy as np
from fucinalib import Tensor
from parity import case, torch

E = lambda equation: lambda *ts: torch.einsum(equation, *ts)
rng = np.random.default_rng(4)
STEPPED = Tensor(rng.uniform(-1, 1, (6, 10))[::2, 1::3], 'm k')
FORTRAN = Tensor(np.asfortranarray(rng.uniform(-1, 1, (3, 5))), 'm k')
REPEATED = Tensor(np.broadcast_to(rng.uniform(-1, 1, (1, 5)), (3, 5)), 'm k')
BACKWARDS = Tensor(rng.uniform(-1, 1, (3, 5))[:, ::-1], 'm k')
INF = Tensor(np.array([[np.inf, 1.], [2., np.nan]]), 'm k')

CASES = [
    case('dot', 'm=2 k=3', 'k=3 n=5', 'k', torch=E('mk,kn->mn'), tags='m n'),
    case('dot', 'm=2 k=3', 'n=5 k=3', 'k', torch=E('mk,nk->mn'), tags='m n'),
    case('dot', 'k=3 m=2', 'n=5 k=3', 'k', torch=E('km,nk->mn'), tags='m n'),
    case('dot', 'k=7', 'k=7', 'k', torch=E('k,k->'), tags=''),
    case('dot', 'm=5 k=7', 'k=7', 'k', torch=E('mk,k->m'), tags='m'),
    case('dot', 'k=7', 'k=7 n=5', 'k', torch=E('k,kn->n'), tags='n'),
    case('dot', 'k=1', 'k=1 n=5', 'k', torch=E('k,kn->n'), tags='n'),
    case('dot', 'b=2 m=3 k=4', 'b=2 k=4 n=5', 'k', torch=E('bmk,bkn->bmn'), tags='b m n'),
    case('dot', 'm=3 b=2 k=4', 'k=4 n=5 b=2', 'k', torch=E('mbk,knb->bmn'), tags='b m n'),
    case('dot', 'b=5 k=4', 'b=5 k=4', 'k', torch=E('bk,bk->b'), tags='b'),
    case('dot', 'k=4 b=5', 'b=5 k=4', 'k', torch=E('kb,bk->b'), tags='b'),
    case('dot', 'b=3 k=70', 'b=3 k=70', 'k', torch=E('bk,bk->b'), tags='b'),
    case('dot', 'i=2 k=3 j=4', 'j=4 n=5 i=2', 'i j', torch=E('ikj,jni->kn'), tags='k n'),
    case('dot', 'm=4 k=3', 'b=1 h=3 k=3 n=3', 'k', torch=E('mk,bhkn->mbhn'), tags='m b h n'),
    case('dot', 'b=3 c=4 t=5', 'c=4 o=2', 'c', torch=E('bct,co->bto'), tags='b t o'),
    *[case('dot', x, 'k=%d n=2' % x.shape[1], 'k', torch=E('mk,kn->mn'), tags='m n')
      for x in (STEPPED, FORTRAN, REPEATED, BACKWARDS)],
    case('dot', INF, Tensor(np.array([[0., 1.], [1., 1.]]), 'k n'), 'k', torch=E('mk,kn->mn'),
         grad=False),
    case('add_dot', 'm=2 n=5', 'm=2 k=3', 'k=3 n=5', 'k',
         torch=lambda r, a, w: torch.addmm(r, a, w), tags='m n'),
    case('add_dot', 'm=1 n=1', 'k=3 m=1', 'n=1 k=3', 'k',
         torch=lambda r, a, w: torch.addmm(r, a.T, w.T), tags='m n'),
    case('einsum', 'g=2 i=3 d=4', 'j=5 d=4', 'g i j', torch=E('gid,jd->gij'), tags='g i j'),
    case('einsum', 'g=2 i=3 d=4', 'j=5 d=4', 'i j g', torch=E('gid,jd->ijg'), tags='i j g'),
    case('einsum', 's=3 k=4', 'k=4 n=2', 'n', torch=E('sk,kn->n'), tags='n'),
    case('einsum', 's=3 k=4', 'k=4 n=2', 'n s', torch=E('sk,kn->ns'), tags='n s'),
    case('einsum', 's=3 k=4', 'k=4 n=2', (), torch=E('sk,kn->'), tags=''),
    case('einsum', 'i=3', 'j=4', 'j i', torch=E('i,j->ji'), tags='j i'),
    case('einsum', 'i=3', 'j=4', (), torch=E('i,j->'), tags=''),
    case('einsum', 'b=2 i=3', 'i=3 b=2', 'b i', torch=E('bi,ib->bi'), tags='b i'),
    case('einsum', 'b=3 h=2 q=5 k=4', 'b=3 k=4 h=2 d=6', 'b q h d', torch=E('bhqk,bkhd->bqhd'),
         tags='b q h d'),
    case('einsum', 'a=2 b=3 c=2', 'd=3 b=3 e=2', 'd a e c', torch=E('abc,dbe->daec'), tags='d a e c'),
    case('einsum', '', 'd=3', 'd', torch=E(',d->d'), tags='d'),
    case('einsum', 's o', 's=2 i=5', 'r=3 i=5', 'o=4 r=3', torch=E('si,ri,or->so'), tags='s o'),
    case('einsum', 'o', 's=2 i=5', 'r=3 i=5', 'o=4 r=3 s=2', torch=E('si,ri,ors->o'), tags='o'),
    case('einsum', 'z', 'a=2 b=3', 'b=3 c=4', 'c=4 d=2', 'd=2 z=3', torch=E('ab,bc,cd,dz->z'),
         tags='z'),
]
