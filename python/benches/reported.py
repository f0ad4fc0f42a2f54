"""What users report of conditions on sizes, in our own programs, with the issue of each.

Issues are of pytorch/pytorch unless the name says otherwise. Where torch has solved the very program since, this is
another with the same question about sizes.
"""

from typing import Any

import torch
from failing import AUTO, Case, cases_of, t
from torch.export import Dim

REPORTED: list[Case] = []
case = cases_of(REPORTED)


@case("slice within a slice (153955)", (t(3), torch.randn(9)), (t(1), torch.randn(5)), shapes=(None, {0: AUTO}))
def _(n: Any, x: Any) -> Any:
    k = n.item()
    torch._check(k >= 1)
    torch._check(k < x.shape[0])
    y = x[k:]
    return y + 1 if k + 1 <= x.shape[0] else y


@case("256*u0 == 256 (147672)", (t(3),), (t(9),))
def _(n: Any) -> Any:
    k = n.item()
    torch._check(k >= 2)
    return torch.ones(256, k) if 256 * k != 256 else torch.zeros(256, k)


@case("u77 - 1 == 1 (executorch 8988)", (t(5),), (t(9),))
def _(n: Any) -> Any:
    k = n.item()
    torch._check(k > 2)
    return torch.ones(k) if k - 1 != 1 else torch.zeros(k)


@case("u0 differs from a constant (147096)", (torch.randn(4, 6),))
def _(x: Any) -> Any:
    k = (x > 0).sum().item()
    torch._check(k >= 0)
    torch._check(k <= 1000)
    return x + 1 if k != 589824 else x


@case("the longer of two (135632)", (t(3), t(5)), (t(1), t(7)))
def _(a: Any, b: Any) -> Any:
    i, j = a.item(), b.item()
    torch._check(i >= 1)
    torch._check(j >= i + 1)
    return torch.zeros(max(i, j)) + 1 if max(i, j) == j else torch.zeros(i)


@case("undecided: a mask (157355)", (torch.ones(5),), (torch.ones(7),), shapes=({0: AUTO},))
def _(x: Any) -> Any:
    y = x[x > 0]
    return y.sum() if y.shape[0] == 1 else y.mean()


@case(
    "always true of the range (118332)", (torch.randn(7),), (torch.randn(30),), shapes=({0: Dim("n", min=2, max=30)},)
)
def _(x: Any) -> Any:
    n = x.shape[0]
    return x + 1 if n * (32 - n) >= 0 else x - 1


@case("transitive, not strict (193092)", (torch.randn(3), t(1, 2, 3)), (torch.randn(3), t(4, 4, 4)))
def _(x: Any, at: Any) -> Any:
    a, b, c = at.tolist()
    torch._check(a <= b)
    torch._check(b <= c)
    return x + 1 if a <= c else x - 1


@case("a sum of three sizes (154240)", (torch.randn(1), t(3, 4, 5)), (torch.randn(1), t(1, 0, 2)))
def _(x: Any, splits: Any) -> Any:
    total = sum(splits.tolist())
    torch._check(total > 1)
    return x * torch.ones(total) if total != 0 else x


@case("what is left of a cache (146298)", (torch.zeros(1, 2, 16, 4), torch.ones(1, 2, 5, 4), t(3)),
      (torch.zeros(1, 2, 16, 4), torch.ones(1, 2, 5, 4), t(9)))  # fmt: skip
def _(cache: Any, update: Any, at: Any) -> Any:
    k, n, m = at.item(), update.shape[2], cache.shape[2]
    torch._check(k >= 0)
    torch._check(k + n < m)
    left = m - k - n
    before, after = cache.narrow(2, 0, k), cache.narrow(2, k + n, left)
    return torch.cat([before, update, after], 2) if left != 0 else update


@case("merged patches (158786)", (t(4, 6),), (t(8, 2),))
def _(grid: Any) -> Any:
    h, w = grid.tolist()
    for k in (h, w):
        torch._check(k >= 2)
        torch._check(k <= 512)
        torch._check(k % 2 == 0)
    rows = torch.arange(h).unsqueeze(1).expand(-1, w)
    return rows.reshape(h // 2, 2, w // 2, 2).permute(0, 2, 1, 3).flatten()


@case("rows in twelves (112347)", (torch.ones(24, 3),), (torch.ones(36, 3),), shapes=({0: AUTO},))
def _(x: Any) -> Any:
    n = x.nonzero().shape[0]
    torch._check(n >= 12)
    torch._check(n % 12 == 0)
    y = torch.zeros(n, 16)
    return y.view(12, n // 12, 16) if n // 12 * 12 == n else y.sum()


@case("a copy into a part (132522)", (t(4, 4, 5, 6),), (t(2, 3, 2, 3),))
def _(sizes: Any) -> Any:
    a, b, c, d = sizes.tolist()
    for k in (a, b, c, d):
        torch._check(k > 0)
    torch._check(a <= c)
    torch._check(b <= d)
    data, out = torch.ones(3, a, b), torch.zeros(3, c, d)
    out.narrow(1, 0, a).narrow(2, 0, b).copy_(data)
    return out


@case("padding of an image (120288)", (torch.ones(3, 6, 5), t(8, 9)), (torch.ones(3, 6, 5), t(6, 5)))
def _(x: Any, size: Any) -> Any:
    h, w = size.tolist()
    torch._check(h >= x.shape[1])
    torch._check(w >= x.shape[2])
    out = torch.zeros(3, h, w)
    area = torch.sym_max(1, h) * torch.sym_max(1, w)
    return out + 1 if area == h * w else out


@case("the second part of a split (122126)", (torch.randn(20), t(7, 13)), (torch.randn(20), t(1, 19)))
def _(x: Any, sizes: Any) -> Any:
    a, b = sizes.tolist()
    torch._check(a >= 1)
    torch._check(b >= 1)
    torch._check(a + b == 20)
    end = torch.sym_min(20, torch.sym_max(0, a + b))
    return x[a:] if end - torch.sym_min(20, a) != 0 else x


@case("one of two is empty (piper1-gpl 148)", (torch.ones(9, 4),), (torch.ones(5, 4),), shapes=({0: AUTO},))
def _(x: Any) -> Any:
    y = x[x[:, 0].nonzero().squeeze(1)]
    n = y.shape[0]
    torch._check(n >= 2)
    return y.mean() if torch.sym_not((n == 1) | (96 * n == 0)) else y.sum()


@case("more than one block (155267)", (t(900),), (t(774),))
def _(n: Any) -> Any:
    k = n.item()
    torch._check(k >= 2 * 387)
    torch._check(k <= 1 << 20)
    return torch.ones(k) if k // 387 != 1 else torch.zeros(k)


@case("slices between offsets (119468)", (torch.randn(20), t(2, 5, 9)), (torch.randn(20), t(0, 0, 20)))
def _(x: Any, offsets: Any) -> Any:
    a, b, c = offsets.tolist()
    torch._check(a >= 0)
    torch._check(a <= b)
    torch._check(b <= c)
    torch._check(c <= x.shape[0])
    return x.narrow(0, a, c - a).sum() if c - a >= b - a else x.sum()


@case("lengths from offsets (119468)", (torch.randn(20), t(2, 5, 9)), (torch.randn(20), t(0, 0, 20)))
def _(x: Any, offsets: Any) -> Any:
    a, b, c = offsets.tolist()
    torch._check(a >= 0)
    torch._check(a <= b)
    torch._check(b <= c)
    torch._check(c <= x.shape[0])
    return x * 2 if (b - a) + (c - b) <= x.shape[0] else x


@case("the end is before the start (127830)", (torch.randn(20), t(3, 9)), (torch.randn(20), t(0, 1)))
def _(x: Any, at: Any) -> Any:
    start, length = at.tolist()
    torch._check(start >= 0)
    torch._check(length >= 1)
    torch._check(start + length <= x.shape[0])
    end = start + length
    return x[:0] if end < start else x.narrow(0, start, length)


@case("a product with greatest of 1 (120688)", (t(3, 4),), (t(0, 7),))
def _(sizes: Any) -> Any:
    a, b = sizes.tolist()
    for k in (a, b):
        torch._check(k >= 0)
        torch._check(k <= 4096)
    x, y = torch.sym_max(1, a), torch.sym_max(1, b)
    return sizes + 1 if x <= x * y else sizes - 1


@case("the smaller of a multiple (165480)", (t(3),), (t(7),))
def _(n: Any) -> Any:
    k = n.item()
    torch._check(k >= 1)
    return n + 1 if torch.sym_min(64 * k + 1, 512 * k) == 64 * k + 1 else n - 1


@case("the smaller of two (137096)", (t(3, 5),), (t(0, 0),))
def _(sizes: Any) -> Any:
    a, b = sizes.tolist()
    torch._check(a <= b)
    return sizes + 1 if torch.sym_min(a, b) == a else sizes - 1


@case("stride of a convolution (157189)", (torch.randn(1, 3, 40),), (torch.randn(1, 3, 17),),
      shapes=({2: Dim("width", min=5, max=455)},))  # fmt: skip
def _(x: Any) -> Any:
    n = (x.shape[2] - 1) // 2 + 1
    return x[:, :, :n] if max(2, n) == n else x


@case("a multiple of elements (153174)", (t(8), torch.randn(16)), (t(16), torch.randn(24)), shapes=(None, {0: AUTO}))
def _(a: Any, x: Any) -> Any:
    k, n = a.item(), x.shape[0]
    torch._check(k >= 8)
    torch._check(k % 8 == 0)
    return x.sum() + k if 18 * k * n % 144 == 0 else x.sum()


@case("an index into the rest (131911)", (torch.randn(12), t(3, 5)), (torch.randn(12), t(0, 11)))
def _(x: Any, at: Any) -> Any:
    a, b = at.tolist()
    torch._check(a >= 0)
    torch._check(b >= a)
    torch._check(b < x.shape[0])
    return x[: b + 1].sum() if a < x.shape[0] else x.sum()


@case("weaker than what was checked (119969)", (t(2, 5),), (t(0, 9),))
def _(sizes: Any) -> Any:
    a, b = sizes.tolist()
    torch._check(2 * a < b)
    torch._check(a >= 0)
    return sizes + 1 if a <= b else sizes - 1


@case("twice over the sum (134268)", (t(5, 3),), (t(4, 4),))
def _(sizes: Any) -> Any:
    a, b = sizes.tolist()
    for k in (a, b):
        torch._check(k >= 1)
        torch._check(k <= 4096)
    torch._check(2 * a // (a + b) != 0)
    return sizes + 1 if 2 * a // (a + b) >= 1 else sizes - 1


@case("divided by an equal (185103)", (t(5, 5),), (t(4, 4),))
def _(sizes: Any) -> Any:
    a, b = sizes.tolist()
    torch._check(b >= 1)
    torch._check(a == b)
    return sizes + 1 if (a + b) // b == 2 else sizes - 1


@case("a multiple times any (177146)", (t(5, 32),), (t(4, 16),))
def _(sizes: Any) -> Any:
    a, b = sizes.tolist()
    for k in (a, b):
        torch._check(k >= 1)
        torch._check(k <= 4096)
    torch._check(b % 16 == 0)
    return sizes + 1 if a * b % 16 == 0 else sizes - 1


@case("a multiple of a part (175752)", (t(256),), (t(128),))
def _(n: Any) -> Any:
    k = n.item()
    torch._check(k >= 0)
    torch._check(k % 128 == 0)
    return n + 1 if k % 64 == 0 else n - 1


@case("one row of four (143249)", (t(2),), (t(0),))
def _(n: Any) -> Any:
    k = n.item()
    torch._check(k >= 0)
    torch._check(k < 4)
    end = torch.sym_min(4, torch.sym_max(k + 1, torch.sym_max(0, k)))
    return n + 1 if end - torch.sym_min(4, torch.sym_max(0, k)) == 1 else n - 1


@case("a multiple without common factors (123651)", (t(447),), (t(0),))
def _(n: Any) -> Any:
    k = n.item()
    torch._check(k >= 0)
    torch._check(k <= 448)
    torch._check(256 * k % 447 == 0)
    return n + 1 if k % 447 == 0 else n - 1


@case("every second of a named size (146315)", (torch.randn(2, 16),), (torch.randn(2, 3),),
      shapes=({1: Dim("dz", min=3, max=1024)},))  # fmt: skip
def _(x: Any) -> Any:
    n = x.shape[1]
    return x[:, ::2] if (n + 1) // 2 + n // 2 == n else x


@case("the longer of two is no shorter (150851)", (t(2, 5),), (t(7, 0),))
def _(sizes: Any) -> Any:
    a, b = sizes.tolist()
    return sizes + 1 if torch.sym_max(a, b) - a >= 0 else sizes - 1


@case("a divisor that is checked (133655)", (t(6, 3),), (t(8, 2),))
def _(sizes: Any) -> Any:
    a, b = sizes.tolist()
    for k in (a, b):
        torch._check(k >= 1)
        torch._check(k <= 4096)
    torch._check(a % b == 0)
    return sizes + 1 if a // b * b == a else sizes - 1
