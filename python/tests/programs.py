"""Modules whose specs are wrong, as users write them: name, module, arguments, keyword arguments, dynamic_shapes."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn, randn
from torch.export import Dim


def module(forward: Any, **layers: nn.Module) -> nn.Module:
    """A module with these layers whose forward is a function of the module and its inputs."""
    kind = type("Model", (nn.Module,), {"forward": forward})
    made = kind()
    for name, layer in layers.items():
        setattr(made, name, layer)
    return made


def halves(self, x):
    return x.view(x.shape[0] // 2, 2, -1)


def branch(self, x):
    return x * 2 if x.shape[0] >= 8 else x


def down_and_up(self, x):
    return x + F.interpolate(F.avg_pool2d(x, 2), scale_factor=2)


def product_of_chunks(self, x):
    a, b = x.chunk(2, 0)
    return a * b


def groups_of_four(self, x):
    assert x.shape[0] % 4 == 0
    return x.reshape(-1, 4)


def windows(self, x):
    b, h, w, c = x.shape
    return x.view(b, h // 4, 4, w // 4, 4, c).transpose(2, 3)


def keyword_only(self, x, *, mask):
    return x * mask


def add(self, x, y):
    return x + y


def apply_layer(self, x):
    return self.layer(x)


def cat(self, x, y):
    return torch.cat([x, y], 1)


def matmul(self, x, y):
    return x @ y


def attention(self, q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def positions(self, x):
    return x + self.layer.weight[: x.shape[1]]


b, n, m, k = (Dim(name, min=1, max=512) for name in "bnmk")
image = randn(2, 3, 16, 16)
heads = (randn(2, 4, 8, 16), randn(2, 4, 9, 16), randn(2, 4, 9, 16))
square = randn(4, 3)

WRONG: list[tuple[str, nn.Module, tuple[Any, ...], dict[str, Any] | None, Any]] = [
    ("two names for one size", module(add), (square, square), None, ({0: b}, {0: n})),
    ("one side is static", module(add), (square, square), None, ({0: b}, None)),
    ("odd sizes cannot be halved", module(halves), (randn(6, 3),), None, ({0: b},)),
    ("a branch on the size", module(branch), (randn(16, 3),), None, ({0: b},)),
    ("the layer's width", module(apply_layer, layer=nn.Linear(8, 4)), (randn(5, 8),), None, ({0: b, 1: n},)),
    ("all sizes but one agree", module(cat), (square, randn(4, 5)), None, ({0: b}, {0: n, 1: m})),
    ("the inner sizes agree", module(matmul), (randn(4, 5), randn(5, 6)), None, ({0: b, 1: n}, {0: m})),
    ("smaller than the kernel", module(apply_layer, layer=nn.Conv2d(3, 4, 5)), (image,), None, ({0: b, 2: n, 3: m},)),
    ("the channels", module(apply_layer, layer=nn.Conv2d(3, 4, 5)), (image,), None, ({0: b, 1: n},)),
    ("smaller than the window", module(apply_layer, layer=nn.MaxPool2d(3)), (image,), None, ({2: n, 3: m},)),
    ("odd sizes do not come back", module(down_and_up), (image,), None, ({0: b, 2: n, 3: m},)),
    ("chunks of unequal size", module(product_of_chunks), (randn(8, 3),), None, ({0: b},)),
    ("an index into a slice", module(lambda self, x: x[:, 3] + x[:, :4].sum(1)), (randn(8, 6),), None, ({1: n},)),
    (
        "a multiple of the other",
        module(lambda self, x, y: x[: y.shape[0] * 2] + y.repeat(2)),
        (randn(12), randn(6)),
        None,
        ({0: n}, {0: m}),
    ),
    (
        "more than there are positions",
        module(positions, layer=nn.Embedding(16, 8)),
        (randn(2, 10, 8),),
        None,
        ({1: n},),
    ),
    ("the width of positions", module(positions, layer=nn.Embedding(16, 8)), (randn(2, 10, 8),), None, ({0: b, 2: n},)),
    ("an assertion of the user", module(groups_of_four), (randn(8, 2),), None, ({0: n},)),
    (
        "not equal to stack",
        module(lambda self, x, y: torch.stack([x, y])),
        (square, square),
        None,
        ({0: b, 1: n}, {0: b}),
    ),
    (
        "in a dictionary",
        module(lambda self, d: d["a"] + d["b"]),
        ({"a": square, "b": square},),
        None,
        ({"a": {0: b}, "b": {0: n}},),
    ),
    ("in a list", module(lambda self, xs: xs[0] + xs[1]), ([square, square],), None, ([{0: b}, {0: n}],)),
    ("passed by keyword", module(keyword_only), (square,), {"mask": square}, {"x": {0: b}, "mask": {0: n}}),
    (
        "the features of a normalization",
        module(apply_layer, layer=nn.BatchNorm1d(6)),
        (randn(4, 6),),
        None,
        ({0: b, 1: n},),
    ),
    ("keys and values differ", module(attention), heads, None, ({0: b, 2: n}, {0: b, 2: m}, {0: b, 2: k})),
    ("the width of heads", module(attention), heads, None, ({0: b, 3: n}, {0: b}, {0: b})),
    ("sizes that are no windows", module(windows), (randn(2, 16, 16, 8),), None, ({0: b, 1: n, 2: m},)),
    (
        "a wrong derived dimension",
        module(lambda self, x, y: x + y[::2]),
        (square, randn(8, 3)),
        None,
        ({0: b}, {0: b + 4}),
    ),
    (
        "a range without names",
        module(positions, layer=nn.Embedding(16, 8)),
        (randn(2, 10, 8),),
        None,
        ({1: Dim.AUTO(max=100)},),
    ),
    (
        "asked to be dynamic",
        module(apply_layer, layer=nn.Linear(8, 4)),
        (randn(5, 8),),
        None,
        ({0: Dim.DYNAMIC, 1: Dim.DYNAMIC},),
    ),
    ("strides", module(lambda self, x: x.unfold(0, 4, 2)), (randn(10),), None, ({0: n},)),
    ("a size that is used twice", module(lambda self, x: x @ x), (randn(5, 5),), None, ({0: n, 1: m},)),
]
