"""Holds ONNX models against torch: models with nested control flow, single operators, networks and random programs.

    python scripts/onnx/run_models.py SIZEWISE [control_flow|operators|networks|random] [PREFIX]

Prints what is not equal and how many were; of the models with control flow also how many have it nested. Needs torch, onnx and onnxruntime.
"""

import collections
import sys

import control_flow
import nested  # noqa: F401  (declares its models beside those of control_flow)
import networks
import operators
import random_programs
import torch
from compare import compare

DYNAMIC = torch.export.Dim.DYNAMIC


def dynamic(first, second):
    """The dimensions in which inputs of two sizes differ."""

    def dims(a, b):
        return {i: DYNAMIC for i, (p, q) in enumerate(zip(a.shape, b.shape)) if p != q} or None

    return tuple(dims(a, b) for a, b in zip(first, second))


class Call(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def models(which):
    if which in ("control_flow", ""):
        for name, (model, make) in control_flow.MODELS.items():
            torch.manual_seed(0)
            inputs = [make(n) for n in (6, 3, 9, 4, 12)]
            tolerance = 2e-2 if "autocast" in name else 1e-4
            yield name, model().eval(), inputs, (dynamic(*inputs[:2]),), False, tolerance
    if which in ("operators", ""):
        for name, (function, make, _) in operators.CASES.items():
            for decomposed in (False, True):
                torch.manual_seed(0)
                inputs = [make(n) for n in (6, 3, 9)]
                is_module = isinstance(function, torch.nn.Module)
                shapes = dynamic(*inputs[:2])
                tolerance = 2e-2 if "bfloat16" in name else 2e-3 if "float16" in name else 1e-4
                module = function if is_module else Call(function)
                yield name, module, inputs, shapes if is_module else (shapes,), decomposed, tolerance
    if which in ("networks", ""):
        for name, (model, make) in networks.NETWORKS.items():
            for decomposed in (False, True):
                torch.manual_seed(0)
                inputs = [make(n) for n in (6, 3, 9, 2)]
                yield name, model().eval(), inputs, dynamic(*inputs[:2]), decomposed, 1e-3
    if which == "random":
        yield from random_programs.models()


def main(binary, which="", prefix=""):
    counts = collections.Counter()
    for name, module, inputs, shapes, decomposed, tolerance in models(which):
        if not name.startswith(prefix):
            continue
        found, detail, nests = compare(binary, module, inputs, shapes, decomposed, tolerance)
        counts[found + (", nested" if nests else "")] += 1
        if found != "ok":
            stage = " (decomposed)" if decomposed else ""
            print(f"{name}{stage}: {found}: {' '.join(detail.split())[:300]}", flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main(*sys.argv[1:])
