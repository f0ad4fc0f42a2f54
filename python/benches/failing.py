"""Programs with conditions on sizes, most of which follow from others."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch.export import Dim

AUTO = Dim.AUTO
#: Name, function, the example that is exported, its `dynamic_shapes`, and all examples.
Case = tuple[str, Callable[..., Any], tuple[Any, ...], Any, list[tuple[Any, ...]]]


def t(*values: int) -> Any:
    """A tensor of integers."""
    return torch.tensor(values[0] if len(values) == 1 else list(values))


def cases_of(cases: list[Case]) -> Callable[..., Any]:
    """A decorator that adds a case: the first example is exported, the others are tried as well."""

    def case(name: str, *examples: tuple[Any, ...], shapes: Any = None) -> Any:
        def made(function: Callable[..., Any]) -> None:
            cases.append((name, function, examples[0], (shapes,) if shapes is not None else None, list(examples)))

        return made

    return case


CASES: list[Case] = []
case = cases_of(CASES)


@case("order is transitive", (t(3), t(4), t(9)), (t(0), t(1), t(2)))
def _(a: Any, b: Any, c: Any) -> Any:
    i, j, k = a.item(), b.item(), c.item()
    torch._check(i < j)
    torch._check(j < k)
    return a + 1 if i < k else a - 1


@case("whole blocks", (t(8), torch.randn(40)), (t(12), torch.randn(41)), shapes=(None, {0: AUTO}))
def _(n: Any, x: Any) -> Any:
    k = n.item()
    torch._check(k >= 4)
    torch._check(k % 4 == 0)
    torch._check(k <= 1024)
    return x * 2 if k // 4 * 4 == k and 4 * (k // 4) >= 4 else x


@case("padding to whole windows", (t(10), torch.randn(3)), (t(8), torch.randn(3)))
def _(n: Any, x: Any) -> Any:
    k = n.item()
    torch._check(k >= 1)
    torch._check(k <= 512)
    padded = k + (4 - k % 4) % 4
    return x + 1 if padded % 4 == 0 else x


@case("padding is never less", (t(10), torch.randn(3)), (t(8), torch.randn(3)))
def _(n: Any, x: Any) -> Any:
    k = n.item()
    torch._check(k >= 1)
    torch._check(k <= 512)
    return x + 1 if (k + 7) // 8 * 8 >= k else x


@case("a sum of lengths", (t(3, 4, 5), torch.randn(12)), (t(1, 1, 7), torch.randn(9)), shapes=(None, {0: AUTO}))
def _(lengths: Any, x: Any) -> Any:
    a, b, c = lengths.tolist()
    for k in (a, b, c):
        torch._check(k >= 0)
    torch._check(a + b + c == x.shape[0])
    return x + 1 if a + b <= x.shape[0] else x


@case("each of a sum is at most the sum", (t(3, 4, 5), torch.randn(12)), (t(1, 1, 7), torch.randn(9)),
      shapes=(None, {0: AUTO}))  # fmt: skip
def _(lengths: Any, x: Any) -> Any:
    a, b, c = lengths.tolist()
    for k in (a, b, c):
        torch._check(k >= 1)
    torch._check(a + b + c <= x.shape[0])
    return x[:a] * 2 if a < x.shape[0] else x[:a]


@case("parts of a batch", (t(4), torch.randn(9, 2)), (t(2), torch.randn(5, 2)), shapes=(None, {0: AUTO}))
def _(n: Any, x: Any) -> Any:
    k = n.item()
    torch._check(k >= 1)
    torch._check(2 * k <= x.shape[0])
    return x[:k] + x[k : 2 * k] if x.shape[0] - k >= k else x


@case("product of sizes", (t(3), t(4)), (t(2), t(9)))
def _(a: Any, b: Any) -> Any:
    i, j = a.item(), b.item()
    torch._check(i >= 2)
    torch._check(j >= 2)
    torch._check(i <= 100)
    torch._check(j <= 100)
    return torch.ones(i * j).view(i, j) if i * j >= i + j else torch.zeros(i, j)


@case("a square minus", (t(3), t(4)), (t(2), t(9)))
def _(a: Any, b: Any) -> Any:
    i, j = a.item(), b.item()
    return a + b if (i - j) * (i - j) >= 0 else a - b


@case("parity of a product", (t(3),), (t(8),))
def _(a: Any) -> Any:
    i = a.item()
    torch._check(i >= 0)
    torch._check(i <= 10000)
    return a + 1 if i * (i + 1) % 2 == 0 else a


@case("clamped index", (t(7), torch.randn(5)), (t(1), torch.randn(6)), shapes=(None, {0: AUTO}))
def _(n: Any, x: Any) -> Any:
    k = n.item()
    torch._check(k >= 0)
    end = torch.sym_min(k, x.shape[0])
    return x * 2 if end <= x.shape[0] else x


@case("counting with a remainder", (t(17),), (t(5),))
def _(n: Any) -> Any:
    k = n.item()
    torch._check(k >= 0)
    torch._check(k <= 1 << 20)
    return n + 1 if k // 5 * 5 + k % 5 == k else n


@case("half and half", (t(17),), (t(6),))
def _(n: Any) -> Any:
    k = n.item()
    torch._check(k >= 2)
    torch._check(k <= 1 << 20)
    return torch.ones(k) if k // 2 + (k - k // 2) == k and k // 2 < k else torch.zeros(k)


@case("conv after nonzero", (torch.ones(12),), (torch.ones(30),), shapes=({0: AUTO},))
def _(x: Any) -> Any:
    y = x[x.nonzero().squeeze(1)]
    torch._check(y.shape[0] >= 8)
    torch._check(y.shape[0] <= 4096)
    frames = (y.shape[0] - 4) // 2 + 1
    return y.sum() + frames if frames >= 2 else y.sum()


@case("view of selected rows", (torch.ones(6, 4),), (torch.ones(9, 4),), shapes=({0: AUTO},))
def _(x: Any) -> Any:
    y = x[x[:, 0].nonzero().squeeze(1)]
    torch._check(y.shape[0] >= 2)
    return y.reshape(-1) * 2 if y.shape[0] * 4 > y.shape[0] else y.reshape(-1)


@case("a third is less", (t(9),), (t(1),))
def _(a: Any) -> Any:
    i = a.item()
    torch._check(i >= 1)
    torch._check(i <= 4096)
    return a + 1 if i // 3 < i else a - 1


@case("frames are fewer than samples", (t(9),), (t(3),))
def _(a: Any) -> Any:
    i = a.item()
    torch._check(i >= 3)
    torch._check(i <= 4096)
    return a + 1 if (i - 3) // 2 + 1 <= i else a - 1


@case("blocks fit", (t(9),), (t(33),))
def _(a: Any) -> Any:
    i = a.item()
    torch._check(i >= 0)
    torch._check(i <= 4096)
    return a + 1 if i // 16 * 16 <= i else a - 1


@case("rounding up adds at most 3", (t(9),), (t(4),))
def _(a: Any) -> Any:
    i = a.item()
    torch._check(i >= 1)
    torch._check(i <= 4096)
    return a + 1 if (i + 3) // 4 * 4 - i <= 3 else a - 1


@case("three chunks cover all", (t(9),), (t(7),))
def _(a: Any) -> Any:
    i = a.item()
    torch._check(i >= 1)
    torch._check(i <= 4096)
    return a + 1 if (i + 2) // 3 * 3 >= i else a - 1


@case(
    "blocks keep the order",
    (
        t(3),
        t(9),
    ),
    (
        t(4),
        t(5),
    ),
)
def _(a: Any, b: Any) -> Any:
    i, j = a.item(), b.item()
    torch._check(i >= 0)
    torch._check(i < j)
    torch._check(j <= 4096)
    return a + 1 if i // 4 <= j // 4 else a - 1


@case(
    "twice of thrice",
    (
        t(3),
        t(9),
    ),
    (
        t(1),
        t(5),
    ),
)
def _(a: Any, b: Any) -> Any:
    i, j = a.item(), b.item()
    torch._check(i >= 0)
    torch._check(3 * i <= j)
    return a + 1 if 2 * i <= j else a - 1


@case(
    "a sum of bounded parts",
    (
        t(3),
        t(9),
        t(10),
    ),
    (
        t(1),
        t(5),
        t(7),
    ),
)
def _(a: Any, b: Any, c: Any) -> Any:
    i, j, k = a.item(), b.item(), c.item()
    torch._check(i <= k)
    torch._check(j <= k)
    torch._check(k >= 0)
    return a + 1 if i + j <= 2 * k else a - 1


@case("halves make a whole", (t(3),), (t(8),))
def _(a: Any) -> Any:
    i = a.item()
    torch._check(i >= 1)
    torch._check(i <= 4096)
    return a + 1 if i // 2 + (i + 1) // 2 == i else a - 1


@case(
    "equal by two inequalities",
    (
        t(3),
        t(3),
    ),
    (
        t(8),
        t(8),
    ),
)
def _(a: Any, b: Any) -> Any:
    i, j = a.item(), b.item()
    torch._check(i <= j)
    torch._check(j <= i)
    return a + 1 if i == j else a - 1


@case("multiples of 8 are even", (t(8),), (t(24),))
def _(a: Any) -> Any:
    i = a.item()
    torch._check(i % 8 == 0)
    torch._check(i >= 8)
    return a + 1 if i % 2 == 0 else a - 1


@case(
    "a bounded remainder",
    (
        t(8),
        t(3),
    ),
    (
        t(24),
        t(5),
    ),
)
def _(a: Any, b: Any) -> Any:
    i, j = a.item(), b.item()
    torch._check(i >= 0)
    torch._check(j >= 1)
    return a + 1 if i % j < j else a - 1


@case("undecided: any number", (t(5),), (t(2),))
def _(n: Any) -> Any:
    return n + 1 if n.item() > 3 else n - 1


@case("windows under a named dimension", (torch.randn(2, 9, 3),), (torch.randn(2, 30, 3),),
      shapes=({1: Dim("h", min=5, max=64)},))  # fmt: skip
def _(x: Any) -> Any:
    b, h, c = x.shape
    y = F.pad(x, (0, 0, 0, (4 - h % 4) % 4))
    return y.view(b, y.shape[1] // 4, 4, c).sum(2)


@case("rounding up under a named dimension", (torch.randn(9, 3),), (torch.randn(30, 3),),
      shapes=({0: Dim("k", min=3, max=64)},))  # fmt: skip
def _(x: Any) -> Any:
    n = x.shape[0]
    return x + 1 if (n + 7) // 8 * 8 - n < 8 else x - 1


@case("needed: an even size", (torch.randn(6, 3),), (torch.randn(8, 3),), shapes=({0: Dim("e", min=2, max=64)},))
def _(x: Any) -> Any:
    return x.view(x.shape[0] // 2, 2, 3)
