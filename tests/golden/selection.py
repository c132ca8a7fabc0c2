"""The best, the first, the order, beside torch (which agrees wherever no NaN, -inf or tie is involved)."""
from parity import case

VALUES = lambda r: r.values
CASES = [
    case('topk', 'r=3 c=5', 'c', 2, pick=VALUES, torch=lambda x: x.topk(2, 1), tags='r c'),
    case('topk', 'a=2 b=4 c=3', 'b', 3, 'k', pick=VALUES, torch=lambda x: x.topk(3, 1), tags='a k c'),
    case('topk', 'd=1', 'd', 1, pick=VALUES, torch=lambda x: x.topk(1, 0)),
    case('sort', 'r=3 c=5', 'c', pick=VALUES, torch=lambda x: x.sort(1), tags='r c'),
    case('sort', 'a=2 b=4 c=3', 'b', descending=True, pick=VALUES, torch=lambda x: x.sort(1, descending=True)),
    case('argsort', 'r=3 c=5', 'c', grad=False, torch=lambda x: x.argsort(1)),
    case('argsort', 'r=3 c=5', 'r', descending=True, grad=False, torch=lambda x: x.argsort(0, descending=True)),
    case('argmax', 'a=2 b=4 c=3', 'b', grad=False, torch=lambda x: x.argmax(1), tags='a c'),
    case('argmin', 'a=2 b=4 c=3', 'c', grad=False, torch=lambda x: x.argmin(2), tags='a b'),
]
