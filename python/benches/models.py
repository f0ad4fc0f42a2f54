"""Models to export and to compile, small in weights and rich in conditions on sizes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim


@dataclass
class Program:
    """A module, inputs of the example, and how to make other inputs."""

    name: str
    module: Callable[[], nn.Module]
    #: The sizes of the example, which name the free dimensions.
    sizes: dict[str, int]
    #: Inputs of given sizes.
    inputs: Callable[[dict[str, int]], tuple[Any, ...]]
    #: The spec; by default every dimension is `Dim.AUTO`.
    shapes: Callable[[tuple[Any, ...]], Any] | None = None
    #: The sizes tried, beside 0 to 9.
    tried: list[int] = field(default_factory=list)

    def spec(self, inputs: tuple[Any, ...]) -> Any:
        """The `dynamic_shapes`."""
        return self.shapes(inputs) if self.shapes else tuple(auto(value) for value in inputs)


def auto(value: Any) -> Any:
    """Every dimension dynamic."""
    if isinstance(value, torch.Tensor):
        return {i: Dim.AUTO for i in range(value.dim())}
    if isinstance(value, (list, tuple)):
        return [auto(item) for item in value]
    if isinstance(value, dict):
        return {key: auto(item) for key, item in value.items()}
    return Dim.AUTO if isinstance(value, int) else None


class WindowBlock(nn.Module):
    """Attention in shifted windows over a padded image, as in swin."""

    def __init__(self, width: int, heads: int, window: int, shift: int) -> None:
        super().__init__()
        self.window, self.shift, self.heads = window, shift, heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Any) -> Any:
        b, h, w, c = x.shape
        m = self.window
        y = F.pad(self.norm1(x), (0, 0, 0, (m - w % m) % m, 0, (m - h % m) % m))
        _, hp, wp, _ = y.shape
        if self.shift:
            y = torch.roll(y, (-self.shift, -self.shift), (1, 2))
        y = y.view(b, hp // m, m, wp // m, m, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, m * m, c)
        q, k, v = self.qkv(y).reshape(-1, m * m, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(-1, m * m, c)
        y = self.proj(y).view(b, hp // m, wp // m, m, m, c).permute(0, 1, 3, 2, 4, 5).reshape(b, hp, wp, c)
        if self.shift:
            y = torch.roll(y, (self.shift, self.shift), (1, 2))
        x = x + y[:, :h, :w].contiguous()
        return x + self.mlp(self.norm2(x))


class WindowAttention(nn.Module):
    """Stages of window blocks with merging of patches between them."""

    def __init__(self, stages: int = 1, blocks: int = 1, width: int = 16, window: int = 4, patch: int = 1) -> None:
        super().__init__()
        self.embed = nn.Conv2d(3, width, patch, patch)
        self.stages = nn.ModuleList()
        self.merges = nn.ModuleList()
        for stage in range(stages):
            shifts = [0 if i % 2 == 0 else window // 2 for i in range(blocks)]
            self.stages.append(nn.ModuleList(WindowBlock(width << stage, 2, window, shift) for shift in shifts))
            self.merges.append(nn.Linear(4 * (width << stage), 2 * (width << stage)))

    def forward(self, x: Any) -> Any:
        x = self.embed(x).permute(0, 2, 3, 1)
        for blocks, merge in zip(self.stages, self.merges):
            for block in blocks:
                x = block(x)
            h, w = x.shape[1:3]
            x = F.pad(x, (0, 0, 0, w % 2, 0, h % 2))
            x = merge(torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1))
        return x.mean((1, 2))


class DenseLayer(nn.Module):
    def __init__(self, width: int, growth: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(width), nn.Conv2d(width, 4 * growth, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(4 * growth), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, x: Any) -> Any:
        y = self.conv1(F.relu(self.norm1(torch.cat(x, 1))))
        return self.conv2(F.relu(self.norm2(y)))


class DenseNet(nn.Module):
    """As densenet121, with fewer channels."""

    def __init__(self, blocks: tuple[int, ...] = (6, 12, 24, 16), growth: int = 4) -> None:
        super().__init__()
        width = 2 * growth
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        )
        self.blocks, self.transitions = nn.ModuleList(), nn.ModuleList()
        for i, layers in enumerate(blocks):
            self.blocks.append(nn.ModuleList(DenseLayer(width + j * growth, growth) for j in range(layers)))
            width += layers * growth
            if i + 1 < len(blocks):
                self.transitions.append(
                    nn.Sequential(
                        nn.BatchNorm2d(width),
                        nn.ReLU(),
                        nn.Conv2d(width, width // 2, 1, bias=False),
                        nn.AvgPool2d(2, 2),
                    )
                )
                width //= 2
        self.norm, self.head = nn.BatchNorm2d(width), nn.Linear(width, 10)

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        for i, block in enumerate(self.blocks):
            found = [x]
            for layer in block:
                found.append(layer(found))
            x = torch.cat(found, 1)
            if i < len(self.transitions):
                x = self.transitions[i](x)
        return self.head(F.adaptive_avg_pool2d(F.relu(self.norm(x)), 1).flatten(1))


class ManySymbols(nn.Module):
    """Forty free lengths that are padded, cut in chunks and joined."""

    def forward(self, xs: Any) -> Any:
        out = []
        for i, x in enumerate(xs):
            pad = (4 - x.shape[0] % 4) % 4
            y = F.pad(x, (0, 0, 0, pad))
            y = y.view(y.shape[0] // 4, 4, y.shape[1]).mean(1)
            out.append(y * (i + 1))
        joined = torch.cat(out, 0)
        return joined.sum(0), joined[: xs[0].shape[0] // 4]


class Recommender(nn.Module):
    """Bags of features, each of its own length, in 60 tables: 120 free sizes."""

    def __init__(self, tables: int = 60, width: int = 8) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(50, width) for _ in range(tables))
        self.head = nn.Linear(width * tables, 1)

    def forward(self, ids: Any) -> Any:
        pooled = []
        for table, one in zip(self.tables, ids):
            found = table(one)
            found = found.view(one.shape[0], one.shape[1], -1)
            pooled.append(found.sum(1) / max(one.shape[1], 1))
        n = pooled[0].shape[0]
        for p in pooled:
            torch._check(p.shape[0] == n)
        return self.head(torch.cat(pooled, 1))


class LlamaBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)
        self.first, self.second = nn.RMSNorm(width), nn.RMSNorm(width)

    def forward(self, x: Any, cos: Any, sin: Any) -> Any:
        y = self.first(x)
        b, t, width = y.shape

        def split(z: Any) -> Any:
            return z.view(b, t, self.heads, width // self.heads).transpose(1, 2)

        def turned(z: Any) -> Any:
            half = z.shape[-1] // 2
            return z * cos + torch.cat((-z[..., half:], z[..., :half]), -1) * sin

        q, k, v = turned(split(self.q(y))), turned(split(self.k(y))), split(self.v(y))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(b, t, width))
        y = self.second(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, layers: int = 16, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.embed = nn.Embedding(100, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, 100, bias=False)
        self.register_buffer("turns", 1.0 / 10000 ** (torch.arange(0, width // heads, 2) * heads / width))

    def forward(self, ids: Any) -> Any:
        angles = torch.arange(ids.shape[1], device=ids.device)[:, None].float() * self.turns[None]
        angles = torch.cat((angles, angles), -1)
        x, cos, sin = self.embed(ids), angles.cos()[None, None], angles.sin()[None, None]
        for block in self.blocks:
            x = block(x, cos, sin)
        return self.head(self.norm(x))


def image(sizes: dict[str, int]) -> tuple[Any, ...]:
    """One image batch."""
    return (torch.randn(sizes["b"], 3, sizes["h"], sizes["w"]),)


def free(*dims: int) -> Callable[[tuple[Any, ...]], Any]:
    """Some dimensions of the only input are dynamic."""
    return lambda inputs: ({i: Dim.AUTO for i in dims},)


#: The five of the table.
LARGE = [
    Program("window attention", WindowAttention, {"b": 2, "h": 38, "w": 50}, image, free(0, 2, 3)),
    Program("densenet121", DenseNet, {"b": 2, "h": 72, "w": 104}, image, free(0, 2, 3)),
    Program(
        "40 symbols",
        ManySymbols,
        {f"n{i}": 6 + i for i in range(40)},
        lambda sizes: ([torch.randn(n, 8) for n in sizes.values()],),
        lambda inputs: ([{0: Dim.AUTO} for _ in inputs[0]],),
    ),
    Program(
        "recommender, 120 dims",
        Recommender,
        {"b": 5, **{f"n{i}": 3 + i % 17 for i in range(60)}},
        lambda sizes: ([torch.randint(0, 50, (sizes["b"], sizes[f"n{i}"])) for i in range(60)],),
    ),
    Program(
        "llama, 16 layers",
        Llama,
        {"b": 3, "t": 10},
        lambda sizes: (torch.randint(0, 100, (sizes["b"], sizes["t"])),),
    ),
]
