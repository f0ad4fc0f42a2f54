"""What a check of a live program costs: the walk, reading, deciding, and saving it for the command line instead.

CPU time of this process, the least of several runs. `python benches/live.py [resnet18 ...]` takes torchvision's models,
where that is installed; by default a transformer of 16 layers is checked.
"""

import io
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.export import Dim

import sizewise
from sizewise import _native, _walk


class Block(nn.Module):
    """Attention with a cache of nothing, and a gated layer, as in llama."""

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
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(b, t, width))
        y = self.second(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Transformer(nn.Module):
    """A small llama."""

    def __init__(self, layers: int, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.embed = nn.Embedding(100, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, 100, bias=False)
        self.register_buffer("turns", 1.0 / 10000 ** (torch.arange(0, width // heads, 2) * heads / width))

    def forward(self, ids: Any) -> Any:
        angles = torch.arange(ids.shape[1], device=ids.device)[:, None].float() * self.turns[None]
        angles = torch.cat((angles, angles), -1)
        x, cos, sin = self.embed(ids), angles.cos()[None, None], angles.sin()[None, None]
        for block in self.blocks:
            x = block(x, cos, sin)
        return self.head(self.norm(x))


def least(work: Callable[[], Any], runs: int = 7) -> float:
    """The least CPU time of several runs, in milliseconds."""
    times = []
    for _ in range(runs):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times) * 1e3


def measure(name: str, program: torch.export.ExportedProgram) -> None:
    """Prints a row of the table."""
    nodes = len(program.graph.nodes)
    text = _walk.program_json(program).encode()
    native = _native.Program(name, text)
    walk, read = least(lambda: _walk.program_json(program)), least(lambda: _native.Program(name, text))
    decide, whole = least(native.check), least(lambda: sizewise.check(program).verdict)
    save = least(lambda: torch.export.save(program, io.BytesIO()), runs=1)
    print(f"{name:24} {nodes:6} {walk:8.1f} {read:8.1f} {decide:8.1f} {whole:8.1f} {save:8.1f} {save / whole:6.1f}")


def main() -> None:
    """Prints the table."""
    print(f"{'':24} {'nodes':>6} {'walk':>8} {'read':>8} {'decide':>8} {'check':>8} {'save':>8} {'ratio':>6}")
    batch = Dim("batch", min=1, max=64)
    if len(sys.argv) == 1:
        ids = torch.zeros(3, 10, dtype=torch.long)
        shapes = ({0: batch, 1: Dim("t", min=2, max=2048)},)
        measure("transformer, 16 layers", torch.export.export(Transformer(16).eval(), (ids,), dynamic_shapes=shapes))
        return
    import torchvision

    for name in sys.argv[1:]:
        model = torchvision.models.get_model(name).eval()
        measure(name, torch.export.export(model, (torch.randn(2, 3, 64, 64),), dynamic_shapes=({0: batch},)))


if __name__ == "__main__":
    main()
