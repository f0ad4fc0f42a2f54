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
    # Not near 0, where a sum of differences from the mean is decided by rounding.
    return x.sum() > 0.5


class Random(nn.Module):
    """A program that a seed decides."""

    def __init__(self, seed):
        super().__init__()
        choose = random.Random(seed)
        self.dtype = choose.choice(DTYPES[:4] + DTYPES)
        self.register_buffer("count", torch.zeros(3, dtype=torch.int64))
        self.register_buffer("held", (torch.arange(3) + 1).to(self.dtype))
        self.first = self.steps(choose, 2, choose.randint(1, 3))
        self.second = self.steps(choose, 2, choose.randint(0, 2))
        self.unused = self.steps(choose, 2, 0)
        self.writes, self.reads = choose.random() < 0.3, choose.random() < 0.3
        self.returned = [choose.randrange(11) for _ in range(choose.randint(0, 4))]

    def step(self, choose):
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
        if self.dtype == torch.bool:
            return choose.choice(truth_ones)
        return choose.choice(any_ones + (float_ones if self.dtype.is_floating_point else []))

    def steps(self, choose, rank, depth):
        """Some steps that keep shape and dtype, chosen before anything is traced."""
        chosen = []
        for _ in range(choose.randint(1, 3)):
            nests = depth and choose.random() < 0.6
            chosen.append(self.nested(choose, rank, depth) if nests else self.step(choose))

        def run(x):
            for step in chosen:
                x = step(x)
            return x.clone()

        return run

    def nested(self, choose, rank, depth):
        kind = choose.choice(["cond", "cond", "size", "while", "scan", "map"] if rank > 1 else ["cond", "while"])
        inner = rank - 1 if kind in ("scan", "map") else rank
        first, second = (self.steps(choose, inner, depth - 1) for _ in range(2))
        limit = choose.randint(0, 4)
        if kind == "cond":
            return lambda x: cond(total(x), first, second, (x,))
        if kind == "size":
            return lambda x: cond(x.shape[0] > limit, first, second, (x,))
        if kind == "while":
            return lambda x: while_loop(lambda i, y: i < limit, lambda i, y: (i + 1, first(y)), (zero(), x))[1]
        if kind == "map":
            return lambda x: hmap(first, x)
        if self.dtype == torch.bool:
            return lambda x: scan(lambda c, y: (c ^ y, first(y)), torch.zeros(3, dtype=torch.bool), x)[1]
        return lambda x: scan(lambda c, y: ((c + y).to(c.dtype), first(c)), torch.zeros(3, dtype=x.dtype), x)[1]

    def forward(self, x, y):
        first, second = self.first(x), self.second(y)
        self.unused(second)
        results = [first]
        if self.writes:
            self.count.add_(1)
        if self.reads:
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
        results += [more[index]() for index in self.returned]
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
