"""Small models of the kinds that people export, for tests/reexport.py: what each computes with its sizes is what a spec has to respect.

MODELS has, for each name, a function that makes the module, an example, and the sizes that are to be dynamic: `*` in the shape of an
input.
"""
import torch
import torch.nn.functional as F
from torch import nn


class WindowAttention(nn.Module):
    """Attention within windows of 4 x 4 places."""

    def __init__(self, channels=8, window=4):
        super().__init__()
        self.window, self.qkv, self.out = window, nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)

    def forward(self, x):
        b, h, w, c = x.shape
        n = self.window
        x = x.view(b, h // n, n, w // n, n, c).transpose(2, 3).reshape(-1, n * n, c)
        q, k, v = self.qkv(x).chunk(3, -1)
        x = self.out(F.scaled_dot_product_attention(q, k, v))
        return x.view(b, h // n, w // n, n, n, c).transpose(2, 3).reshape(b, h, w, c)


class PaddedWindows(nn.Module):
    """Windows of 3 x 3 places after padding to a multiple of 3."""

    def forward(self, x):
        h, w = x.shape[2:]
        x = F.pad(x, (0, -w % 3, 0, -h % 3))
        b, c, h, w = x.shape
        return x.view(b, c, h // 3, 3, w // 3, 3).mean((3, 5))


class PaddedRows(nn.Module):
    """Means of 8 places, after padding to a multiple of 8."""

    def forward(self, x):
        x = F.pad(x, (0, -x.shape[1] % 8))
        return x.view(x.shape[0], -1, 8).mean(-1)


class Residual(nn.Module):
    """Convolutions with batch normalization beside a strided shortcut."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.norm, self.short = nn.BatchNorm2d(8), nn.Conv2d(3, 8, 1, stride=2)

    def forward(self, x):
        return F.relu(self.norm(self.b(F.relu(self.a(x)))) + self.short(x))


class UNet(nn.Module):
    """Down and up again, joined with what was there before."""

    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Conv2d(3, 6, 2, stride=2), nn.ConvTranspose2d(6, 3, 2, stride=2)

    def forward(self, x):
        return torch.cat([x, self.up(F.relu(self.down(x)))], 1)


class Classifier(nn.Module):
    """Two valid convolutions, a pooling and a linear layer for one size of image."""

    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(1, 4, 3), nn.Linear(4 * 3 * 3, 5)

    def forward(self, x):
        return self.head(F.max_pool2d(self.conv(x), 2).flatten(1))


class DecodeStep(nn.Module):
    """A step of decoding: what was computed before stands in a cache."""

    def __init__(self, width=8):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x, keys, values, mask):
        q, k, v = self.qkv(x).chunk(3, -1)
        keys, values = torch.cat([keys, k], 1), torch.cat([values, v], 1)
        return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask), keys, values


class Positions(nn.Module):
    """A table of 48 positions."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(48, 6))

    def forward(self, x):
        return x + self.table[: x.shape[1]]


class Heads(nn.Module):
    """Attention whose heads are split from the channels."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(12, 3, batch_first=True)

    def forward(self, query, memory):
        return self.attention(query, memory, memory, need_weights=False)[0]


class GroupNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.GroupNorm(2, 6)

    def forward(self, x, y):
        return self.norm(x) * y


class TrainedNorm(nn.Module):
    """Batch normalization as in training: it needs more than one value a channel."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(x)


def half_overlap(self, x):
    """Frames of 8 samples, each 4 after the last."""
    return x.unfold(1, 8, 4).mean(-1)


def rolled(self, x, y):
    """The second input has to have a place less."""
    return x[:, 1:] - x[:, :-1] + y


def interleaved(self, x):
    """Every second place beside the others."""
    return x[:, 0::2] * x[:, 1::2]


def slices(self, x):
    return x[:, 2:-2] + x[:, 4:]


def packed(self, x):
    """Four tokens in a row."""
    return x.reshape(x.shape[0], x.shape[1] // 4, 4 * x.shape[2])


def halves(self, x):
    a, b = x.chunk(2, dim=1)
    return a * torch.sigmoid(b)


def only_multiples(self, x):
    torch._check(x.shape[0] % 6 == 0)
    return x.view(6, -1).sum(0)


def between(self, x):
    if x.shape[0] < 5 or x.shape[0] > 200:
        return x
    return x.cumsum(0)


def outer(self, x, y, table):
    return table + (x[:, None] * y[None, :]).reshape(-1)


def stacked(self, x, y):
    return torch.stack([x, y]).amax(0)


def joined(self, x, y, mask):
    return torch.cat([x, y], 1) * mask


def batched(self, x, y, z):
    return torch.baddbmm(z, x, y)


def first_places(self, x, count):
    """As many places as the data says, of at least 4."""
    n = count.item()
    torch._check(n >= 1)
    torch._check(n <= 4)
    torch._check(x.shape[0] >= 4)
    return x[:n].sum(0)


def chosen(self, x, mask):
    return torch.where(mask > 0, x, 0).amax(1)


def scaled(self, x, y):
    return F.interpolate(x, scale_factor=2, mode="nearest") + y


def shuffled(self, x):
    return F.pixel_unshuffle(x, 2)


def embedded(self, tokens, weight):
    return F.linear(F.embedding(tokens, weight), weight)


def float_of(*shape):
    return torch.randn(*shape)


def function(forward):
    """Makes a module of one function, with its signature."""
    return type(forward.__name__.capitalize(), (nn.Module,), {"forward": forward})


MODELS = {
    "window_attention": (WindowAttention, (float_of(2, 8, 12, 8),), ("***.",)),
    "padded_windows": (PaddedWindows, (float_of(2, 3, 10, 11),), ("*.**",)),
    "padded_rows": (PaddedRows, (float_of(3, 13),), ("**",)),
    "residual": (lambda: Residual().eval(), (float_of(2, 3, 16, 18),), ("*.**",)),
    "unet": (UNet, (float_of(2, 3, 16, 12),), ("*.**",)),
    "classifier": (Classifier, (float_of(2, 1, 8, 8),), ("*.**",)),
    "decode_step": (
        DecodeStep, (float_of(2, 3, 8), float_of(2, 7, 8), float_of(2, 7, 8), float_of(2, 3, 10)), ("**.", "**.", "**.", "***"),
    ),
    "positions": (Positions, (float_of(2, 9, 6),), ("**.",)),
    "heads": (Heads, (float_of(2, 5, 12), float_of(2, 7, 12)), ("**.", "**.")),
    "group_norm": (GroupNorm, (float_of(3, 6, 5), float_of(3, 6, 5)), ("*.*", "*.*")),
    "trained_norm": (TrainedNorm, (float_of(3, 4, 5),), ("*.*",)),
    "half_overlap": (function(half_overlap), (float_of(2, 24),), ("**",)),
    "rolled": (function(rolled), (float_of(2, 9), float_of(2, 8)), ("**", "**")),
    "interleaved": (function(interleaved), (float_of(3, 10),), ("**",)),
    "slices": (function(slices), (float_of(3, 10),), ("**",)),
    "packed": (function(packed), (float_of(2, 12, 3),), ("**.",)),
    "halves": (function(halves), (float_of(3, 10),), ("**",)),
    "only_multiples": (function(only_multiples), (float_of(18),), ("*",)),
    "between": (function(between), (float_of(18),), ("*",)),
    "outer": (function(outer), (float_of(3), float_of(4), float_of(12)), ("*", "*", "*")),
    "stacked": (function(stacked), (float_of(3, 4), float_of(3, 4)), ("**", "**")),
    "joined": (function(joined), (float_of(3, 4), float_of(3, 5), float_of(3, 9)), ("**", "**", "**")),
    "batched": (function(batched), (float_of(3, 4, 5), float_of(3, 5, 6), float_of(3, 4, 6)), ("***", "***", "***")),
    "first_places": (function(first_places), (float_of(9, 3), torch.tensor(3)), ("*.", "")),
    "chosen": (function(chosen), (float_of(4, 6), float_of(4, 6)), ("**", "**")),
    "scaled": (function(scaled), (float_of(2, 3, 7), float_of(2, 3, 14)), ("*.*", "*.*")),
    "shuffled": (function(shuffled), (float_of(2, 3, 8, 6),), ("*.**",)),
    "embedded": (function(embedded), (torch.zeros(2, 5, dtype=torch.int64), float_of(11, 4)), ("**", "*.")),
}
