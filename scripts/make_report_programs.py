"""Writes the small programs of tests/reports.rs, whose reports are recorded as text.

    python scripts/make_report_programs.py tests/data/reports

needs torch (2.15 wrote the committed files); the tests need only the files. `swin` and `kv_decode` beside them are exports of
transformers' models with random weights.
"""
import io
import os
import sys

import torch
import torch.nn.functional as F
from make_user_programs import strip
from torch import nn
from torch.export import Dim, export, save

AUTO = Dim.AUTO


class Demucs(nn.Module):
    """Audio through strided convolutions and back, with skip connections."""

    def __init__(self, depth=4, channels=4):
        super().__init__()
        sizes = [2] + [channels * 2**i for i in range(depth)]
        self.encoder = nn.ModuleList(nn.Conv1d(a, b, 8, stride=4, padding=2) for a, b in zip(sizes, sizes[1:]))
        self.decoder = nn.ModuleList(
            nn.ConvTranspose1d(b, a, 8, stride=4, padding=2) for a, b in reversed(list(zip(sizes, sizes[1:])))
        )

    def forward(self, mix):
        x, skips = mix, []
        for layer in self.encoder:
            x = F.relu(layer(x))
            skips.append(x)
        for layer in self.decoder:
            x = layer(x + skips.pop())
        return x + mix


class Detection(nn.Module):
    """A head over two feature maps whose boxes are joined with an anchor for each place."""

    def __init__(self):
        super().__init__()
        self.backbone = nn.Conv2d(3, 8, 3, stride=8, padding=1)
        self.extra = nn.Conv2d(8, 8, 3, stride=2, padding=1)
        self.boxes = nn.Conv2d(8, 4, 1)

    def forward(self, images, anchors):
        fine = F.relu(self.backbone(images))
        coarse = F.relu(self.extra(fine))
        maps = [self.boxes(fine).flatten(2), self.boxes(coarse).flatten(2)]
        offsets = torch.cat(maps, dim=2).transpose(1, 2)
        return offsets + anchors


class Unbacked(nn.Module):
    """Splits tokens at a place that the data decides, and needs room after it."""

    def forward(self, tokens, position):
        n = position.item()
        torch._check(n >= 4)
        torch._check(n + 4 <= tokens.shape[0])
        return tokens[:n].sum(), tokens.narrow(0, n, 4)


class Derived(nn.Module):
    """Pairs of frames."""

    def forward(self, frames, labels):
        pairs = frames.view(-1, 2, 3).mean(1)
        return pairs + labels


class Nested(nn.Module):
    """A dict with a list of tensors of one batch."""

    def forward(self, batch):
        dense = batch["dense"]
        for table in batch["tables"]:
            dense = dense + table.mean(1)
        return dense


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(4), nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Deep(nn.Module):
    """More than 3,000 nodes, and learned positions for 64 tokens."""

    def __init__(self, blocks=600):
        super().__init__()
        self.positions = nn.Parameter(torch.zeros(64, 4))
        self.blocks = nn.ModuleList(Block() for _ in range(blocks))

    def forward(self, x):
        x = x + self.positions[: x.shape[1]]
        for block in self.blocks:
            x = block(x)
        return x


class SplitOnce(nn.Module):
    """A guard on a size with two ends: the first of the parts is all of it."""

    def forward(self, x):
        return x.split(4, 0)[0]


def ones(*sizes):
    return torch.ones(*sizes)


PROGRAMS = {
    "demucs": (Demucs(), (ones(2, 2, 1024),), {"mix": [AUTO, None, AUTO]}),
    "detection": (Detection(), (ones(2, 3, 64, 96), ones(120, 4)), {"images": [AUTO, None, AUTO, AUTO], "anchors": [AUTO, None]}),
    "unbacked": (Unbacked(), (ones(12), torch.tensor(4)), {"tokens": [AUTO], "position": None}),
    "derived": (Derived(), (ones(8, 3), ones(4, 3)), {"frames": [AUTO, None], "labels": [AUTO, None]}),
    "nested": (
        Nested(),
        ({"dense": ones(4, 3), "tables": [ones(4, 5, 3), ones(4, 7, 3)]},),
        {"batch": {"dense": [AUTO, None], "tables": [[AUTO, AUTO, None], [AUTO, AUTO, None]]}},
    ),
    "deep": (Deep(), (ones(2, 8, 4),), {"x": [AUTO, AUTO, None]}),
    "split_once": (SplitOnce(), (ones(3),), {"x": [AUTO]}),
}


def main():
    folder = sys.argv[1]
    for name, (module, inputs, shapes) in PROGRAMS.items():
        exported = export(module.eval(), inputs, dynamic_shapes=shapes)
        buffer = io.BytesIO()
        save(exported, buffer)
        data = strip(buffer.getvalue())
        with open(os.path.join(folder, name + ".pt2"), "wb") as file:
            file.write(data)
        print(name, len(data), exported.range_constraints, getattr(exported, "_guards_code", ""))


if __name__ == "__main__":
    main()
