"""Random programs for scripts/onnx/run_models.py: control flow in control flow, of all dtypes, with sizes of 0 and 1.

They write buffers, leave results unused, and return inputs, the same value twice, sizes and constants.
"""

import os
import random

import torch
from control_flow import hmap, scan, while_loop, zero
from torch import cond, nn

DTYPES = [torch.float32, torch.float64, torch.int64, torch.int32, torch.float16, torch.bool, torch.int8, torch.uint8]


def total(x):
    return x.sum() > 0


class Random(nn.Module):
    """A program that a seed decides."""

    def __init__(self, seed):
        super().__init__()
        self.seed = seed
        choose = random.Random(seed)
        self.dtype = choose.choice(DTYPES[:4] + DTYPES)
        self.register_buffer("count", torch.zeros(3, dtype=torch.int64))
        self.register_buffer("held", (torch.arange(3) + 1).to(self.dtype))

    def step(self, choose, x):
        """An operator that keeps shape and dtype."""
        float_ones = [torch.sin, torch.tanh, lambda y: y.softmax(-1), lambda y: y / 3, lambda y: y - y.mean()]
        any_ones = [
            lambda y: y + 1,
            lambda y: y * self.held,
            lambda y: y * 2 - y,
            lambda y: torch.where(y > 1, y, y + y),
            lambda y: y.flip(0),
            lambda y: y.clamp(-2, 3),
            lambda y: (y.sum(-1, keepdim=True) + y).to(y.dtype),
            lambda y: y.sort(-1)[0],
            lambda y: y.cumsum(-1).to(y.dtype),
            lambda y: torch.cat([y, y])[: y.shape[0]],
            lambda y: y + y.shape[0],
            lambda y: y.amax(-1, keepdim=True).expand_as(y).clone(),
            lambda y: y // 2,
            lambda y: y % 3,
            lambda y: y.reshape(-1).view(y.shape) * 1,
            lambda y: y.masked_fill(y > 0, 1),
            lambda y: y.transpose(0, -1).contiguous().transpose(0, -1) + 0,
        ]
        truth_ones = [lambda y: ~y, lambda y: y ^ self.held, lambda y: y & y.flip(0), lambda y: y | y[..., :1]]
        if x.dtype == torch.bool:
            return choose.choice(truth_ones)(x)
        return choose.choice(any_ones + (float_ones if x.dtype.is_floating_point else []))(x)

    def run(self, choose, x, depth):
        """A program of some steps that keeps shape and dtype."""
        for _ in range(choose.randint(1, 3)):
            x = self.nested(choose, x, depth) if depth and choose.random() < 0.6 else self.step(choose, x)
        return x

    def nested(self, choose, x, depth):
        seeds = choose.random(), choose.random()

        def inner(which):
            # Each body is traced more than once, and has to be the same each time.
            return lambda y: self.run(random.Random(seeds[which]), y, depth - 1).clone()

        kind = choose.choice(["cond", "cond", "size", "while", "scan", "map"] if x.dim() > 1 else ["cond", "while"])
        if kind == "cond":
            return cond(total(x), inner(0), inner(1), (x,))
        if kind == "size":
            return cond(x.shape[0] > choose.randint(1, 5), inner(0), inner(1), (x,))
        if kind == "while":
            turns, body = choose.randint(0, 3), inner(0)
            return while_loop(lambda i, y: i < turns, lambda i, y: (i + 1, body(y)), (zero(), x))[1]
        if kind == "map":
            return hmap(inner(0), x)
        body = inner(0)
        begin = torch.zeros(3, dtype=x.dtype)
        if x.dtype == torch.bool:
            return scan(lambda c, y: (c ^ y, body(y)), begin, x)[1]
        return scan(lambda c, y: ((c + y).to(c.dtype), body(c)), begin, x)[1]

    def forward(self, x, y):
        choose = random.Random(self.seed + 1)
        first = self.run(choose, x, choose.randint(1, 3))
        second = self.run(choose, y, choose.randint(0, 2))
        self.run(choose, second, 0)
        results = [first]
        if choose.random() < 0.3:
            self.count.add_(1)
        if choose.random() < 0.3:
            results.append(self.count * 2)
        more = [
            lambda: x,
            lambda: second,
            lambda: first,
            lambda: x.shape[0],
            lambda: torch.tensor([1.0, 2.0]),
            lambda: first.sum(),
            lambda: self.held,
            lambda: x.shape[0] * 2 + 1,
            lambda: 3,
            lambda: (y, first),
            lambda: {"a": first.any(), "b": second[:0]},
        ]
        results += [choose.choice(more)() for _ in range(choose.randint(0, 4))]
        return tuple(results)


def given(dtype, *sizes):
    value = torch.randn(*sizes) * 3
    return value > 0 if dtype == torch.bool else value.abs().to(dtype) if dtype == torch.uint8 else value.to(dtype)


def models():
    """As many programs as SIZEWISE_PROGRAMS says, from the seed that SIZEWISE_SEED says."""
    begin, count = (int(os.environ.get(name, default)) for name, default in (("SIZEWISE_SEED", 0), ("SIZEWISE_PROGRAMS", 60)))
    for seed in range(begin, begin + count):
        torch.manual_seed(seed)
        model = Random(seed).eval()
        dtype = model.dtype
        inputs = [(given(dtype, n, 3), given(dtype, m, 3)) for n, m in ((6, 4), (2, 9), (1, 1), (0, 2), (3, 0), (11, 5))]
        shapes = ({0: torch.export.Dim.DYNAMIC}, {0: torch.export.Dim.DYNAMIC})
        yield f"random_{seed}_{str(dtype)[6:]}", model, inputs, shapes, seed % 2 == 1, 2e-2 if dtype == torch.float16 else 1e-4
