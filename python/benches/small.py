"""Small programs as users write them: where guards come from, one cause each."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from models import DenseLayer, LlamaBlock, Program, WindowAttention, auto, free, image
from torch import nn


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


class Layers(nn.Module):
    """Layers in a row."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


def tensors(*shapes: tuple[Any, ...]) -> Callable[[dict[str, int]], tuple[Any, ...]]:
    """Inputs whose sizes are numbers or names."""
    return lambda sizes: tuple(torch.randn([sizes.get(n, n) if isinstance(n, str) else n for n in s]) for s in shapes)


def program(name: str, sizes: dict[str, int], *shapes: tuple[Any, ...], spec: Any = None) -> Any:
    """Makes a program of a function."""

    def made(function: Callable[..., Any]) -> Program:
        SMALL.append(Program(name, lambda: Function(function), sizes, tensors(*shapes), spec or dynamic(shapes)))
        return SMALL[-1]

    return made


def dynamic(shapes: tuple[Any, ...]) -> Callable[[Any], Any]:
    """The dimensions with names are dynamic."""
    auto_dim = torch.export.Dim.AUTO
    dims = tuple({i: auto_dim for i, n in enumerate(shape) if isinstance(n, str)} for shape in shapes)
    return lambda inputs: (dims,)


SMALL: list[Program] = []


@program("add", {"a": 5, "b": 5}, ("a", 3), ("b", 3))
def _(x: Any, y: Any) -> Any:
    return x + y


@program("pad to 8", {"n": 11}, ("n", 4))
def _(x: Any) -> Any:
    return F.pad(x, (0, 0, 0, -x.shape[0] % 8)).view(-1, 8, 4).sum(1)


@program("pad to 4, keep", {"b": 3, "n": 10}, ("b", "n", 4))
def _(x: Any) -> Any:
    b, n, c = x.shape
    y = F.pad(x, (0, 0, 0, (4 - n % 4) % 4))
    return y.view(b, y.shape[1] // 4, 4, c).mean(2)


@program("windows and back", {"b": 3, "h": 10, "w": 13}, ("b", "h", "w", 4))
def _(x: Any) -> Any:
    b, h, w, c = x.shape
    y = F.pad(x, (0, 0, 0, -w % 4, 0, -h % 4))
    hp, wp = y.shape[1:3]
    y = y.view(b, hp // 4, 4, wp // 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, c)
    y = y.view(b, hp // 4, wp // 4, 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(b, hp, wp, c)
    return y[:, :h, :w]


@program("halves", {"n": 12}, ("n", 4))
def _(x: Any) -> Any:
    half = x.shape[0] // 2
    return x[:half] + x[half : 2 * half]


@program("chunks", {"n": 12}, ("n", 4))
def _(x: Any) -> Any:
    return torch.stack([part.sum(0) for part in x.chunk(3)])


@program("view of even", {"n": 12}, ("n", 4))
def _(x: Any) -> Any:
    return x.view(x.shape[0] // 2, 2, 4).sum(1)


@program("reshape -1, 8", {"a": 4, "b": 6}, ("a", "b"))
def _(x: Any) -> Any:
    return x.reshape(-1, 8)


@program("concat and split", {"a": 4, "b": 7}, ("a", 3), ("b", 3))
def _(x: Any, y: Any) -> Any:
    z = torch.cat([x, y]) * 2
    return z[: x.shape[0]] + x, z[x.shape[0] :] + y


@program("outer product", {"a": 4, "b": 7}, ("a",), ("b",))
def _(x: Any, y: Any) -> Any:
    z = (x[:, None] * y).reshape(-1)
    return z.view(x.shape[0], y.shape[0]).sum(1)


@program("triangle", {"n": 5}, ("n", "n"))
def _(x: Any) -> Any:
    return torch.tril(x) + x.transpose(0, 1)


@program("attention", {"b": 2, "t": 7}, ("b", "t", 16))
def _(x: Any) -> Any:
    b, t, c = x.shape
    q = x.view(b, t, 4, c // 4).transpose(1, 2)
    return F.scaled_dot_product_attention(q, q, q, is_causal=True).transpose(1, 2).reshape(b, t, c)


@program("causal mask", {"b": 2, "t": 7}, ("b", "t", 8))
def _(x: Any) -> Any:
    t = x.shape[1]
    scores = x @ x.transpose(1, 2)
    mask = torch.arange(t)[:, None] >= torch.arange(t)[None]
    return scores.masked_fill(~mask, 0.0).softmax(-1) @ x


@program("local attention", {"b": 2, "t": 21}, ("b", "t", 8))
def _(x: Any) -> Any:
    b, t, c = x.shape
    y = F.pad(x, (0, 0, 0, -t % 8))
    y = y.view(b, y.shape[1] // 8, 8, c)
    return (y @ y.transpose(2, 3) @ y).reshape(b, -1, c)[:, :t]


@program("pixel shuffle", {"b": 2, "h": 6, "w": 5}, ("b", 8, "h", "w"))
def _(x: Any) -> Any:
    b, c, h, w = x.shape
    return x.view(b, c // 4, 2, 2, h, w).permute(0, 1, 4, 2, 5, 3).reshape(b, c // 4, 2 * h, 2 * w)


@program("space to depth", {"b": 2, "h": 6, "w": 8}, ("b", 3, "h", "w"))
def _(x: Any) -> Any:
    b, c, h, w = x.shape
    x = x[:, :, : h // 2 * 2, : w // 2 * 2]
    return x.reshape(b, c, h // 2, 2, w // 2, 2).permute(0, 3, 5, 1, 2, 4).reshape(b, 4 * c, h // 2, w // 2)


@program("upsample and crop", {"b": 2, "h": 7, "w": 9}, ("b", 3, "h", "w"))
def _(x: Any) -> Any:
    y = F.interpolate(F.avg_pool2d(x, 2), scale_factor=2, mode="nearest")
    h, w = min(x.shape[2], y.shape[2]), min(x.shape[3], y.shape[3])
    return y[:, :, :h, :w] + x[:, :, :h, :w]


@program("u-net", {"b": 2, "h": 18, "w": 22}, ("b", 3, "h", "w"))
def _(x: Any) -> Any:
    a = F.max_pool2d(x, 2)
    b = F.max_pool2d(a, 2)
    y = F.interpolate(b, size=a.shape[2:]) + a
    return F.interpolate(y, size=x.shape[2:]) + x


@program("unfold", {"b": 2, "n": 14}, ("b", "n"))
def _(x: Any) -> Any:
    return x.unfold(1, 4, 2).sum(-1)


@program("frames", {"b": 2, "n": 37}, ("b", "n"))
def _(x: Any) -> Any:
    hop, size = 4, 8
    count = (x.shape[1] - size) // hop + 1
    return x[:, : (count - 1) * hop + size].unfold(1, size, hop) * torch.hann_window(size)


@program("strided chain", {"b": 2, "n": 61}, ("b", 2, "n"))
def _(x: Any) -> Any:
    for _ in range(3):
        x = F.avg_pool1d(x, 3, 2)
    return x.mean(-1)


@program("gated halves", {"b": 3, "c": 8}, ("b", "c"))
def _(x: Any) -> Any:
    a, b = x.chunk(2, 1)
    return a * b.sigmoid()


@program("branch on area", {"a": 9, "b": 13}, ("a", "b"))
def _(x: Any) -> Any:
    return x.sum() if x.shape[0] * x.shape[1] > 100 else x.mean()


@program("branch that always holds", {"a": 9, "b": 13}, ("a", "b"))
def _(x: Any) -> Any:
    a, b = x.shape
    return x + 1 if a * a + b * b >= 2 * a * b else x - 1


@program("branch on parity", {"n": 9}, ("n", 2))
def _(x: Any) -> Any:
    return x.sum(0) if x.shape[0] % 2 == 1 else x.mean(0)


@program("repeated branch", {"a": 9, "b": 13}, ("a",), ("b",))
def _(x: Any, y: Any) -> Any:
    a, b = x.shape[0], y.shape[0]
    out = x.sum() if a < b else y.sum()
    if a + 1 <= b:
        out = out + 1
    return out * 2 if 2 * a < 2 * b else out


@program("transitive", {"a": 3, "b": 6, "c": 9}, ("a",), ("b",), ("c",))
def _(x: Any, y: Any, z: Any) -> Any:
    a, b, c = x.shape[0], y.shape[0], z.shape[0]
    torch._check(a < b)
    torch._check(b < c)
    return z[:a] + x if a < c else x


@program("rounding up", {"n": 10}, ("n", 4))
def _(x: Any) -> Any:
    n = (x.shape[0] + 7) // 8 * 8
    out = x.new_zeros(n, 4)
    return torch.cat([x, out[: n - x.shape[0]]]).view(n // 8, 8, 4)


@program("interleave", {"n": 10}, ("n", 4))
def _(x: Any) -> Any:
    y = torch.stack([x, -x], 1).reshape(2 * x.shape[0], 4)
    return y[::2] + y[1::2]


@program("broadcast", {"a": 4, "b": 6}, ("a", 1, 3), (1, "b", 3))
def _(x: Any, y: Any) -> Any:
    return (x + y).reshape(-1, 3)


@program("flatten and linear", {"b": 4, "t": 6}, ("b", "t", 8))
def _(x: Any) -> Any:
    b, t, c = x.shape
    return (x.reshape(b * t, c) @ torch.ones(c, 4)).view(b, t, 4)


@program("positions", {"b": 4, "t": 6}, ("b", "t", 8))
def _(x: Any) -> Any:
    return x + torch.arange(x.shape[1]).view(1, -1, 1).expand(x.shape[0], -1, 8)


@program("roll", {"n": 11}, ("n", 4))
def _(x: Any) -> Any:
    return torch.cat([x[x.shape[0] // 2 :], x[: x.shape[0] // 2]])


@program("cosine of pairs", {"a": 4, "b": 6}, ("a", 8), ("b", 8))
def _(x: Any, y: Any) -> Any:
    return F.cosine_similarity(x[:, None], y[None], dim=-1)


@program("group norm", {"b": 2, "n": 10}, ("b", 8, "n"))
def _(x: Any) -> Any:
    return F.group_norm(x, 4)


@program("beams", {"b": 2, "v": 11}, ("b", 3, "v"))
def _(x: Any) -> Any:
    b, k, v = x.shape
    values, at = x.reshape(b, k * v).topk(k)
    return values, at // v, at % v


@program("blocks of a matrix", {"n": 12}, ("n", "n"))
def _(x: Any) -> Any:
    n = x.shape[0] // 4
    return x[: 4 * n, : 4 * n].reshape(n, 4, n, 4).permute(0, 2, 1, 3).sum((2, 3))


@program("pool to 3", {"b": 2, "h": 9}, ("b", 2, "h"))
def _(x: Any) -> Any:
    return F.adaptive_avg_pool1d(x, 3)


@program("pyramid", {"b": 2, "h": 20, "w": 24}, ("b", 2, "h", "w"))
def _(x: Any) -> Any:
    return torch.cat([F.avg_pool2d(x, k).flatten(2) for k in (1, 2, 4)], 2)


@program("reversed halves", {"n": 12}, ("n", 4))
def _(x: Any) -> Any:
    n = x.shape[0]
    return torch.cat([x[: n // 2].flip(0), x[n // 2 :].flip(0)]).view(n, 4)


SMALL += [
    Program("conv net", lambda: Layers(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.MaxPool2d(2)),
            {"b": 2, "h": 33, "w": 40}, image, free(0, 2, 3)),
    Program("dense layers", lambda: DenseBlock(), {"b": 2, "h": 9, "w": 12},
            image, free(0, 2, 3)),
    Program("window attention, patches", lambda: WindowAttention(patch=2), {"b": 2, "h": 38, "w": 50}, image,
            free(0, 2, 3)),
    Program("llama block", lambda: LlamaAlone(), {"b": 2, "t": 9}, tensors(("b", "t", 16)),
            lambda inputs: tuple(auto(x) if i else {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}
                                 for i, x in enumerate(inputs))),
    Program("recurrent", lambda: Layers(Recurrent()), {"b": 2, "t": 5}, tensors(("b", "t", 6)),
            free(0, 1)),
]  # fmt: skip


class DenseBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DenseLayer(3 + 4 * i, 4) for i in range(3))

    def forward(self, x: Any) -> Any:
        found = [x]
        for layer in self.layers:
            found.append(layer(found))
        return F.avg_pool2d(torch.cat(found, 1), 2)


class LlamaAlone(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = LlamaBlock(16, 2)

    def forward(self, x: Any) -> Any:
        angles = torch.arange(x.shape[1])[:, None].float() * torch.ones(1, 8)
        return self.block(x, angles.cos()[None, None], angles.sin()[None, None])


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.GRU(6, 5, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.layer(x)[0]
