"""Small networks as people write them, for scripts/onnx/run_models.py: each a module and inputs of a size."""

import math

import torch
import torch.nn.functional as F
from torch import nn

NETWORKS = {}


def network(make):
    def declare(module):
        NETWORKS[module.__name__] = (module, make)
        return module

    return declare


def images(channels=3, side=32):
    return lambda n: (torch.randn(n, channels, side, side),)


def words(length=None):
    """Words of a batch of 2 of that length, or a batch of that size."""
    return lambda n: (torch.randint(0, 50, (2, n) if length is None else (n, length)),)


def convolved(i, o, k=3, stride=1, groups=1, act=nn.ReLU):
    return nn.Sequential(nn.Conv2d(i, o, k, stride, k // 2, groups=groups, bias=False), nn.BatchNorm2d(o), act())


class Residual(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.body = nn.Sequential(convolved(i, o, 3, stride), nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o))
        self.skip = nn.Conv2d(i, o, 1, stride) if i != o or stride > 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x), inplace=True)


@network(images())
class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(convolved(3, 8, 7, 2), nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.Sequential(Residual(8, 8, 1), Residual(8, 16, 2), Residual(16, 16, 1))
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(torch.flatten(F.adaptive_avg_pool2d(self.blocks(self.stem(x)), 1), 1))


@network(images())
class MobileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = convolved(3, 8, 3, 2, act=nn.Hardswish)
        self.expand, self.depth = convolved(8, 24, 1, act=nn.ReLU6), convolved(24, 24, 5, 2, 24, nn.Hardswish)
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(24, 6, 1), nn.ReLU(), nn.Conv2d(6, 24, 1), nn.Hardsigmoid())
        self.project = nn.Conv2d(24, 8, 1)

    def forward(self, x):
        x = self.depth(self.expand(self.stem(x)))
        return self.project(x * self.squeeze(x)).mean([2, 3])


@network(images())
class EfficientNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = convolved(3, 8, 3, 2, act=nn.SiLU)
        self.gate = nn.Sequential(nn.Conv2d(8, 2, 1), nn.SiLU(inplace=True), nn.Conv2d(2, 8, 1))
        self.drop, self.head = nn.Dropout(0.3), nn.Linear(8, 5)

    def forward(self, x):
        x = self.stem(x)
        x = x * self.gate(x.mean((2, 3), keepdim=True)).sigmoid()
        return self.head(self.drop(x.amax((2, 3))))


@network(images())
class DenseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(convolved(3 + 4 * k, 4) for k in range(3))
        self.down = nn.AvgPool2d(2, 2)

    def forward(self, x):
        for layer in self.layers:
            x = torch.cat([x, layer(x)], 1)
        return self.down(x)


@network(images())
class Inception(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = convolved(3, 4, 1), convolved(3, 4, 3), convolved(3, 4, 5)

    def forward(self, x):
        pooled = F.max_pool2d(x, 3, 1, 1)
        x = torch.cat((self.a(x), self.b(x), self.c(x), pooled), dim=1)
        return F.avg_pool2d(x, 3, 2, ceil_mode=True)


@network(images())
class ShuffleNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.group = convolved(3, 8), convolved(8, 8, 1, groups=4)

    def forward(self, x):
        x = self.group(self.stem(x))
        n, c, h, w = x.shape
        x = x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, -1, h, w)
        first, second = x.chunk(2, 1)
        return torch.cat([second, first], 1)


@network(images())
class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = convolved(3, 8), convolved(8, 16), convolved(24, 8)
        self.up, self.last = nn.ConvTranspose2d(16, 16, 2, 2), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.up(self.b(F.max_pool2d(a, 2)))
        return self.last(self.c(torch.cat([a, b], 1))).log_softmax(1)


@network(lambda n: (torch.randn(1, 3, 4 * n, 4 * n),))
class UNetOfAnySize(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = convolved(3, 8), convolved(8, 8, 3, 2), convolved(16, 4)

    def forward(self, x):
        a = self.a(x)
        b = F.interpolate(self.b(a), size=a.shape[-2:], mode="bilinear", align_corners=False)
        return self.c(torch.cat([a, b], 1))


@network(images(side=16))
class Detector(nn.Module):
    """Anchors of a grid, decoded as YOLO does."""

    def __init__(self):
        super().__init__()
        self.body, self.head = convolved(3, 8, 3, 2, act=nn.LeakyReLU), nn.Conv2d(8, 2 * 6, 1)
        self.register_buffer("anchors", torch.tensor([[1.0, 2.0], [2.0, 1.0]]))

    def forward(self, x):
        y = self.head(self.body(x))
        n, _, h, w = y.shape
        y = y.view(n, 2, 6, h, w).permute(0, 1, 3, 4, 2).contiguous()
        rows, columns = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack((columns, rows), 2).view(1, 1, h, w, 2).float()
        xy, wh, rest = y.sigmoid().split((2, 2, 2), 4)
        xy, wh = (xy * 2 + grid - 0.5) * 8, (wh * 2) ** 2 * self.anchors.view(1, 2, 1, 1, 2)
        return torch.cat((xy, wh, rest), 4).view(n, -1, 6)


@network(images(side=16))
class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.token = nn.Conv2d(3, 16, 4, 4), nn.Parameter(torch.randn(1, 1, 16))
        self.place = nn.Parameter(torch.randn(1, 17, 16))
        layer = nn.TransformerEncoderLayer(16, 4, 32, activation="gelu", batch_first=True, norm_first=True)
        self.body, self.norm = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.LayerNorm(16)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1) + self.place
        return self.norm(self.body(x))[:, 0]


@network(images(side=16))
class Swin(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.qkv, self.norm = nn.Conv2d(3, 8, 2, 2), nn.Linear(8, 24), nn.LayerNorm(8)
        self.bias = nn.Parameter(torch.randn(49, 2))
        self.register_buffer("places", torch.randint(0, 49, (16, 16)))

    def forward(self, x):
        x = self.patch(x).permute(0, 2, 3, 1)
        x = torch.roll(x, (-2, -2), (1, 2))
        n, h, w, c = x.shape
        x = x.view(n, h // 4, 4, w // 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, c)
        q, k, v = self.qkv(self.norm(x)).reshape(-1, 16, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-2, -1) * 0.5 + self.bias[self.places.view(-1)].view(16, 16, 2).permute(2, 0, 1)
        return (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, h, w, c)


@network(images())
class ConvNeXt(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.depth = nn.Conv2d(3, 8, 4, 4), nn.Conv2d(8, 8, 7, padding=3, groups=8)
        self.norm, self.a, self.b = nn.LayerNorm(8), nn.Linear(8, 32), nn.Linear(32, 8)
        self.scale = nn.Parameter(torch.full((8,), 0.1))

    def forward(self, x):
        x = self.stem(x)
        y = self.norm(self.depth(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.b(F.gelu(self.a(y)))).permute(0, 3, 1, 2)


@network(lambda n: (torch.randint(0, 50, (n, 7)), torch.arange(7).unsqueeze(0).expand(n, 7) < 5))
class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places, self.norm = nn.Embedding(50, 16, padding_idx=0), nn.Embedding(9, 16), nn.LayerNorm(16)
        self.q, self.k, self.v, self.o = (nn.Linear(16, 16) for _ in range(4))
        self.a, self.b, self.pool = nn.Linear(16, 32), nn.Linear(32, 16), nn.Linear(16, 16)

    def forward(self, words, mask):
        length = words.shape[1]
        x = self.norm(self.words(words) + self.places(torch.arange(length)))
        q, k, v = (m(x).view(-1, length, 4, 4).transpose(1, 2) for m in (self.q, self.k, self.v))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(4)
        scores = scores + (1.0 - mask[:, None, None, :].to(scores.dtype)) * torch.finfo(scores.dtype).min
        x = self.norm(x + self.o((F.softmax(scores, -1) @ v).transpose(1, 2).flatten(2)))
        x = self.norm(x + self.b(F.gelu(self.a(x))))
        return x, torch.tanh(self.pool(x[:, 0]))


@network(words())
class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places, self.norm = nn.Embedding(50, 16), nn.Embedding(64, 16), nn.LayerNorm(16)
        self.qkv, self.o, self.head = nn.Linear(16, 48), nn.Linear(16, 16), nn.Linear(16, 50, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(64, 64, dtype=torch.bool)).view(1, 1, 64, 64))

    def forward(self, words):
        n, t = words.shape
        x = self.words(words) + self.places(torch.arange(0, t, dtype=torch.long))
        q, k, v = (y.view(n, t, 2, 8).transpose(1, 2) for y in self.qkv(self.norm(x)).split(16, dim=2))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        x = x + self.o((F.softmax(scores, dim=-1) @ v).transpose(1, 2).contiguous().view(n, t, 16))
        return self.head(x)[:, [-1], :]


@network(words())
class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.norm = nn.Embedding(50, 16), nn.Parameter(torch.ones(16))
        self.q, self.k, self.v = nn.Linear(16, 16, False), nn.Linear(16, 8, False), nn.Linear(16, 8, False)
        self.o, self.up, self.gate, self.down = (nn.Linear(*s, bias=False) for s in ((16, 16), (16, 40), (16, 40), (40, 16)))
        self.register_buffer("frequencies", 1.0 / (10000.0 ** (torch.arange(0, 4, 2).float() / 4)))

    def rms(self, x):
        wide = x.to(torch.float32)
        return self.norm * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)

    def turned(self, x, cos, sin):
        half = x.shape[-1] // 2
        return x * cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin

    def forward(self, words):
        n, t = words.shape
        x = self.words(words)
        angles = torch.outer(torch.arange(t).float(), self.frequencies)
        angles = torch.cat((angles, angles), -1)
        cos, sin = angles.cos(), angles.sin()
        y = self.rms(x)
        q = self.turned(self.q(y).view(n, t, 4, 4).transpose(1, 2), cos, sin)
        k = self.turned(self.k(y).view(n, t, 2, 4).transpose(1, 2), cos, sin)
        v = self.v(y).view(n, t, 2, 4).transpose(1, 2)
        k, v = (z[:, :, None].expand(n, 2, 2, t, 4).reshape(n, 4, t, 4) for z in (k, v))
        mask = torch.triu(torch.full((t, t), float("-inf")), diagonal=1)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.o(y.transpose(1, 2).reshape(n, t, -1))
        y = self.rms(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


@network(words(6))
class T5(nn.Module):
    """Attention with the buckets of relative positions."""

    def __init__(self):
        super().__init__()
        self.words, self.bias, self.qkv = nn.Embedding(50, 8), nn.Embedding(8, 2), nn.Linear(8, 24, bias=False)

    def buckets(self, t):
        places = torch.arange(t)
        away = places[None, :] - places[:, None]
        bucket = (away > 0).to(torch.long) * 4
        away = torch.abs(away)
        large = 2 + (torch.log(away.float() / 2 + 1e-6) / math.log(8) * 2).to(torch.long)
        return bucket + torch.where(away < 2, away, torch.min(large, torch.full_like(large, 3)))

    def forward(self, words):
        x = self.words(words)
        n, t, _ = x.shape
        q, k, v = self.qkv(x).view(n, t, 3, 2, 4).unbind(2)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) + self.bias(self.buckets(t)).permute(2, 0, 1).unsqueeze(0)
        return torch.einsum("bhqk,bkhd->bqhd", scores.float().softmax(-1).type_as(q), v).reshape(n, t, 8)


@network(lambda n: (torch.randn(n, 6, 8), torch.randn(n, 5, 8)))
class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)

    def forward(self, x, y):
        mask = torch.triu(torch.full((5, 5), float("-inf")), 1)
        return self.body(x, y, tgt_mask=mask)


@network(words(6))
class LSTMTagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 8)
        self.body, self.head = nn.LSTM(8, 6, 2, batch_first=True, bidirectional=True), nn.Linear(12, 4)

    def forward(self, words):
        y, (h, c) = self.body(self.words(words))
        return self.head(y).argmax(-1), h, c


@network(lambda n: (torch.randn(n, 6, 4),))
class GRUClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.GRU(4, 8, batch_first=True), nn.Linear(8, 3)

    def forward(self, x):
        return F.log_softmax(self.head(self.body(x)[1][-1]), dim=1)


@network(lambda n: (torch.randn(n, 1, 128),))
class WaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv1d(1, 8, 1)
        self.layers = nn.ModuleList(nn.Conv1d(8, 16, 2, dilation=2**k) for k in range(3))
        self.skips = nn.ModuleList(nn.Conv1d(8, 8, 1) for _ in range(3))

    def forward(self, x):
        x, total = self.stem(x), 0
        for k, (layer, skip) in enumerate(zip(self.layers, self.skips)):
            a, b = layer(F.pad(x, (2**k, 0))).chunk(2, 1)
            y = skip(torch.tanh(a) * torch.sigmoid(b))
            x, total = x + y, total + y
        return F.relu(total)


@network(lambda n: (torch.randn(n, 4), torch.randint(0, 9, (n, 3))))
class Recommender(nn.Module):
    """Dense features, embeddings and their products in pairs, as DLRM has them."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(9, 4) for _ in range(3))
        self.head = nn.Linear(4 + 6, 1)
        self.register_buffer("rows", torch.tril_indices(4, 4, -1))

    def forward(self, x, ids):
        every = torch.stack([x, *(t(ids[:, k]) for k, t in enumerate(self.tables))], 1)
        pairs = torch.bmm(every, every.transpose(1, 2))
        return torch.sigmoid(self.head(torch.cat([x, pairs[:, self.rows[0], self.rows[1]]], 1))).squeeze(-1)


@network(lambda n: (torch.randn(n, 4), torch.randint(0, n, (2, 3 * n))))
class GraphConvolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 2)

    def spread(self, x, edges):
        sums = torch.zeros_like(x).index_add(0, edges[1], x[edges[0]])
        counts = torch.zeros(x.shape[0]).scatter_add(0, edges[1], torch.ones_like(edges[1], dtype=torch.float))
        return sums / counts.clamp(min=1).unsqueeze(-1)

    def forward(self, x, edges):
        return self.b(F.elu(self.spread(self.a(x), edges)))


@network(lambda n: (torch.randn(n, 3, 20),))
class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.n, self.b = nn.Conv1d(3, 8, 1), nn.BatchNorm1d(8), nn.Linear(8, 9)

    def forward(self, x):
        y = F.relu(self.n(self.a(x))).max(2)[0]
        turn = self.b(y).view(-1, 3, 3) + torch.eye(3)
        return torch.bmm(x.transpose(2, 1), turn).max(1, keepdim=True).values


@network(lambda n: (torch.randn(n, 8, 4, 4), torch.randint(0, 1000, (n,))))
class Diffusion(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.conv, self.time = nn.GroupNorm(2, 8), nn.Conv2d(8, 8, 3, padding=1), nn.Linear(16, 8)
        self.q = nn.Conv2d(8, 24, 1)

    def forward(self, x, steps):
        frequencies = torch.exp(-math.log(10000) * torch.arange(0, 8, dtype=torch.float32) / 8)
        angles = steps[:, None].float() * frequencies[None]
        time = self.time(F.silu(torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1)))
        x = x + self.conv(F.silu(self.norm(x))) + time[:, :, None, None]
        n, c, h, w = x.shape
        q, k, v = self.q(self.norm(x)).reshape(n, 3, c, h * w).unbind(1)
        y = torch.einsum("bct,bcs->bts", q, k).mul(c**-0.5).softmax(-1)
        y = torch.einsum("bts,bcs->bct", y, v).reshape(n, c, h, w)
        return F.interpolate(x + y, scale_factor=2.0, mode="nearest")


@network(lambda n: (torch.randn(n, 8), torch.randn(8)))
class MixtureOfExperts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(8, 4)
        self.experts = nn.Parameter(torch.randn(4, 8, 8))

    def forward(self, x, bias):
        weights, chosen = self.gate(x).softmax(-1).topk(2, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        y = torch.einsum("nd,edh->neh", x, self.experts)
        y = y.gather(1, chosen.unsqueeze(-1).expand(-1, -1, 8))
        return (y * weights.unsqueeze(-1)).sum(1) + bias


@network(lambda n: (torch.randn(n, 6),))
class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(6, 8), nn.Sequential(nn.Linear(4, 6), nn.Softplus(), nn.Linear(6, 6))

    def forward(self, x):
        mean, log = self.encode(x).chunk(2, dim=-1)
        kl = -0.5 * torch.sum(1 + log - mean.pow(2) - log.exp(), dim=1)
        return self.decode(mean + (0.5 * log).exp()), kl.mean()


@network(lambda n: (torch.randn(n, 3, 6, 6),))
class Depthwise(nn.Module):
    """Upsampling by shuffling, as in super resolution."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 5, padding=2), nn.Conv2d(8, 12, 3, padding=1)

    def forward(self, x):
        return F.pixel_shuffle(self.b(torch.tanh(self.a(x))), 2).clamp(0, 1)
