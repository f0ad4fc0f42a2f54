"""Modules that torch exports only along the path of the example: they branch on sizes, or read sizes as numbers.

Each has a name, its forward, an example, the sizes that the spec frees, and how many of the sizes 0 to 20 the
assumptions of `sizewise.assume` admit.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import randn


def branch(self, x):
    if x.shape[1] > 4:
        return x * 2
    return x + 1


def branch2(self, x):
    if x.shape[0] % 2 == 0:
        return x.view(x.shape[0] // 2, 2, -1).sum(1)
    return x


def nested(self, x):
    n = x.shape[0]
    if n > 8:
        if n < 32:
            return x[:8]
        return x[:32]
    return x


def eq(self, x, y):
    if x.shape[0] == y.shape[0]:
        return x + y
    return x.sum() + y


def pad(self, x):
    n = x.shape[1]
    p = (4 - n % 4) % 4
    if p > 0:
        x = F.pad(x, (0, p))
    return x.view(x.shape[0], -1, 4).sum(-1)


def pad_to(self, x):
    n = x.shape[1]
    if n < 16:
        x = F.pad(x, (0, 16 - n))
    return x[:, :16]


def window(self, x):
    b, t, c = x.shape
    assert t % 4 == 0
    return x.view(b, t // 4, 4, c).mean(2)


def windows2(self, x):
    b, h, w = x.shape
    if h % 4 != 0 or w % 4 != 0:
        x = F.pad(x, (0, (-w) % 4, 0, (-h) % 4))
    return x.reshape(b, -1, 4)


def cache(self, k, p):
    if p.shape[1] + k.shape[1] > 32:
        p = p[:, -(32 - k.shape[1]) :]
    return torch.cat([p, k], 1)


def cachemask(self, q, p, m):
    k = torch.cat([p, q], 1)
    if m.shape[1] != k.shape[1]:
        raise ValueError("mask")
    return k * m.unsqueeze(-1)


def broadcast(self, x, y):
    return x + y


def broadcast3(self, x, y):
    return x.unsqueeze(1) * y.unsqueeze(0) + torch.cat([x, y]).sum()


def matmul(self, x, y):
    return x @ y


TABLE = torch.arange(32.0).view(16, 2)


def table(self, x):
    return x + TABLE[: x.shape[1]].sum(-1)


def table2(self, x):
    idx = torch.arange(x.shape[0])
    return torch.embedding(TABLE, idx)


def number(self, x):
    out = []
    for i in range(x.shape[0]):
        out.append(x[i] * i)
    return torch.stack(out)


def number2(self, x):
    scale = 1.0 / int(x.shape[1])
    return x * scale


def sqrtn(self, x):
    n = int(math.sqrt(x.shape[1]))
    return x.view(x.shape[0], n, n)


def factor(self, x):
    b, n = x.shape
    for k in (4, 3, 2):
        if n % k == 0:
            return x.view(b, n // k, k).sum(-1)
    return x


def minlen(self, x, y):
    n = min(x.shape[0], y.shape[0])
    return x[:n] + y[:n]


def maxpad(self, x, y):
    n = max(x.shape[0], y.shape[0])
    return F.pad(x, (0, 0, 0, n - x.shape[0])) + F.pad(y, (0, 0, 0, n - y.shape[0]))


def chunks(self, x):
    return torch.stack(x.chunk(2, 1)).sum(0)


def split(self, x):
    a, b = x.split([3, x.shape[1] - 3], 1)
    return a.sum(1) + b.sum(1)


def ifany(self, x):
    if x.numel() == 0:
        return x.new_zeros(1)
    return x.max().view(1)


def groups(self, x):
    g = 4 if x.shape[1] % 4 == 0 else 1
    return F.group_norm(x, g)


def interp(self, x):
    if x.shape[-1] < 8:
        x = F.interpolate(x, scale_factor=2.0)
    return F.avg_pool1d(x, 2)


def causal(self, q, k):
    m = torch.ones(q.shape[0], k.shape[0], dtype=torch.bool).tril(k.shape[0] - q.shape[0])
    if q.shape[0] == 1:
        m = None
    s = q @ k.T
    return s if m is None else s.masked_fill(~m, 0.0)


def unfold(self, x):
    if x.shape[1] < 4:
        x = torch.cat([x, x], 1)
    return x.unfold(1, 4, 2).mean(-1)


def square(self, x):
    if x.shape[0] != x.shape[1]:
        n = max(x.shape[0], x.shape[1])
        x = F.pad(x, (0, n - x.shape[1], 0, n - x.shape[0]))
    return x + x.T


def heads(self, x):
    h = 8 if x.shape[-1] >= 64 else 4
    return x.view(x.shape[0], h, x.shape[-1] // h)


def while_(self, x):
    while x.shape[0] > 4:
        x = x[: x.shape[0] // 2]
    return x


def stride(self, x):
    y = x[:, ::2]
    if y.shape[1] * 2 != x.shape[1]:
        y = F.pad(y, (1, 0))
    return y.contiguous().view(-1)


def intarg(self, x, n):
    if n > 3:
        return x[:3]
    return x[:n]


def ternary(self, x, y):
    return (x if x.shape[0] >= y.shape[0] else y) * 2


def bool_(self, x):
    return x.sum(0) if x.shape[0] else x


def listlen(self, x):
    n = len(x)
    return x.new_zeros(n, 2) + x.unsqueeze(1)


def flat(self, x):
    return x.view(x.size(1), -1)


def topk(self, x):
    return x.topk(min(3, x.shape[1]), 1)[0]


def rounded_up(self, x):
    return x * 2 if math.ceil(x.shape[0] / 2) > 2 else x


def half(self, x):
    return x.new_zeros(int(x.shape[0] / 2))


def distance(self, x, y):
    return x * 2 if abs(x.shape[0] - y.shape[0]) > 2 else x


def one_mask(self, x, m):
    if m.shape[0] == 1:
        m = m.expand(x.shape[0], -1)
    return x * m


def even_part(self, x):
    if x.shape[0] & 1:
        x = x[:-1]
    return x.view(2, -1)


def first_that_fits(self, x):
    for size in (8, 16, 32):
        if x.shape[0] <= size:
            return F.pad(x, (0, size - x.shape[0]))
    return x


def smaller_side(self, x):
    return F.max_pool2d(x, 2 if min(x.shape[2], x.shape[3]) >= 4 else 1)


def cheaper_order(self, x, y, z):
    if x.shape[0] * y.shape[1] <= z.shape[1] * y.shape[0]:
        return (x @ y) @ z
    return x @ (y @ z)


#: Name, forward, example, the sizes by input (a text is a variable), and what the path of the example needs.
CASES: list[tuple[str, Any, tuple[Any, ...], dict[str, Any], str]] = [
    ("a branch", branch, (randn(3, 6),), {"x": ["b", "t"]}, "t > 4"),
    ("its other side", branch, (randn(3, 3),), {"x": ["b", "t"]}, "t <= 4"),
    ("an even size", branch2, (randn(4, 6),), {"x": ["b", "t"]}, "b % 2 == 0"),
    ("an odd size", branch2, (randn(5, 6),), {"x": ["b", "t"]}, "b % 2 == 1"),
    ("a branch within another", nested, (randn(10, 3),), {"x": ["b", 3]}, "8 < b < 32"),
    ("its other side", nested, (randn(40, 3),), {"x": ["b", 3]}, "b >= 32"),
    ("two sizes are equal", eq, (randn(5), randn(5)), {"x": ["a"], "y": ["b"]}, "a == b"),
    ("two sizes differ", eq, (randn(5), randn(6)), {"x": ["a"], "y": ["b"]}, "a != b"),
    ("padding to multiples", pad, (randn(2, 7),), {"x": ["b", "t"]}, "t % 4 != 0"),
    ("no padding", pad, (randn(2, 8),), {"x": ["b", "t"]}, "t % 4 == 0"),
    ("padding to a length", pad_to, (randn(2, 9),), {"x": ["b", "t"]}, "t < 16"),
    ("cut to a length", pad_to, (randn(2, 18),), {"x": ["b", "t"]}, "t >= 16"),
    ("windows", window, (randn(2, 8, 3),), {"x": ["b", "t", 3]}, "t % 4 == 0"),
    ("padded windows", windows2, (randn(2, 7, 9),), {"x": ["b", "h", "w"]}, "h % 4 != 0"),
    ("whole windows", windows2, (randn(2, 8, 8),), {"x": ["b", "h", "w"]}, "h % 4 == 0 and w % 4 == 0"),
    (
        "a cache with room",
        cache,
        (randn(2, 3, 4), randn(2, 7, 4)),
        {"k": ["b", "t", 4], "p": ["b", "p", 4]},
        "p + t <= 32",
    ),
    ("a full cache", cache, (randn(2, 3, 4), randn(2, 31, 4)), {"k": ["b", "t", 4], "p": ["b", "p", 4]}, "p + t > 32"),
    (
        "the mask of a cache",
        cachemask,
        (randn(2, 3, 4), randn(2, 5, 4), randn(2, 8)),
        {"q": ["b", "t", 4], "p": ["b", "p", 4], "m": ["b", "m"]},
        "m == p + t",
    ),
    ("broadcasting", broadcast, (randn(5, 3), randn(5, 3)), {"x": ["a", "c"], "y": ["b", "d"]}, "a == b and c == d"),
    ("sizes of a product", matmul, (randn(5, 3), randn(3, 4)), {"x": ["a", "c"], "y": ["b", "d"]}, "b == c"),
    ("rows of a table", table, (randn(2, 7),), {"x": ["b", "t"]}, "t <= 16"),
    ("an index into a table", table2, (randn(7),), {"x": ["t"]}, "t <= 16"),
    ("a loop over a size", number, (randn(4, 3),), {"x": ["t", 3]}, "t == 4"),
    ("a size as a number", number2, (randn(4, 3),), {"x": ["b", "t"]}, "t == 3"),
    ("the root of a size", sqrtn, (randn(4, 9),), {"x": ["b", "t"]}, "t == 9"),
    ("a divisor that is searched", factor, (randn(4, 9),), {"x": ["b", "t"]}, "t % 4 != 0 and t % 3 == 0"),
    ("the smaller of two", minlen, (randn(5, 2), randn(7, 2)), {"x": ["a", 2], "y": ["b", 2]}, "True"),
    ("padding to the longer of two", maxpad, (randn(5, 2), randn(7, 2)), {"x": ["a", 2], "y": ["b", 2]}, "True"),
    ("halves", chunks, (randn(4, 6),), {"x": ["b", "t"]}, "t % 2 == 0 and t > 0"),
    ("the rest of a split", split, (randn(4, 6),), {"x": ["b", "t"]}, "t >= 3"),
    ("no elements", ifany, (randn(4, 6),), {"x": ["b", "t"]}, "b * t != 0"),
    ("groups", groups, (randn(4, 8, 5),), {"x": ["b", "c", "t"]}, "c % 4 == 0"),
    ("a short signal", interp, (randn(2, 3, 6),), {"x": ["b", 3, "t"]}, "t < 8"),
    ("a long signal", interp, (randn(2, 3, 9),), {"x": ["b", 3, "t"]}, "t >= 8"),
    ("a causal mask", causal, (randn(3, 4), randn(7, 4)), {"q": ["t", 4], "k": ["s", 4]}, "t != 1"),
    ("one query", causal, (randn(1, 4), randn(7, 4)), {"q": ["t", 4], "k": ["s", 4]}, "t == 1"),
    ("frames", unfold, (randn(2, 9),), {"x": ["b", "t"]}, "t >= 4"),
    ("frames of a short signal", unfold, (randn(2, 3),), {"x": ["b", "t"]}, "t < 4"),
    ("a square", square, (randn(5, 5),), {"x": ["h", "w"]}, "h == w"),
    ("made square", square, (randn(5, 7),), {"x": ["h", "w"]}, "h != w"),
    ("heads by width", heads, (randn(5, 16),), {"x": ["b", "c"]}, "c < 64"),
    ("halving while it is long", while_, (randn(10, 2),), {"x": ["b", 2]}, "10 <= b < 20"),
    ("every second of an even size", stride, (randn(3, 6),), {"x": ["b", "t"]}, "t % 2 == 0"),
    ("every second of an odd size", stride, (randn(3, 7),), {"x": ["b", "t"]}, "t % 2 == 1"),
    ("a branch on an integer", intarg, (randn(6, 2), 5), {"x": ["b", 2], "n": "n"}, "n > 3"),
    ("a slice to an integer", intarg, (randn(6, 2), 2), {"x": ["b", 2], "n": "n"}, "n <= 3"),
    ("the longer of two", ternary, (randn(5), randn(4)), {"x": ["a"], "y": ["b"]}, "a >= b"),
    ("whether there are rows", bool_, (randn(5, 3),), {"x": ["b", 3]}, "b > 0"),
    ("the length of a tensor", listlen, (randn(5),), {"x": ["b"]}, "b == 5"),
    ("a number that is rounded up", rounded_up, (randn(8),), {"x": ["b"]}, "b > 4"),
    ("a number of floating point that is cut off", half, (randn(8),), {"x": ["b"]}, "8 <= b <= 9"),
    ("how much two sizes differ", distance, (randn(8), randn(5)), {"x": ["a"], "y": ["b"]}, "abs(a - b) > 2"),
    ("a mask of one row", one_mask, (randn(2, 5), randn(1, 5)), {"x": ["b", "t"], "m": ["c", "t"]}, "c == 1"),
    ("all but the last of an odd size", even_part, (randn(9),), {"x": ["b"]}, "b % 2 == 1"),
    ("the first size that fits", first_that_fits, (randn(12),), {"x": ["b"]}, "8 < b <= 16"),
    ("by the smaller side", smaller_side, (randn(1, 2, 6, 9),), {"x": [1, 2, "h", "w"]}, "min(h, w) >= 4"),
    (
        "the cheaper order",
        cheaper_order,
        (randn(2, 3), randn(3, 4), randn(4, 5)),
        {"x": ["a", 3], "y": [3, "b"], "z": ["b", "c"]},
        "a * b <= 3 * c",
    ),
    ("at most three", topk, (randn(4, 6),), {"x": ["b", "t"]}, "True"),
]
