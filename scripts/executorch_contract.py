"""Contracts in ExecuTorch programs: do they refuse, beside the real runtime, what the exported program refuses?

    python scripts/executorch_contract.py

Needs torch, executorch (1.5 was tried) and sizewise. Each module is exported, lowered with its contract as a constant
method, written, and loaded in the runtime; at each shape the contract is asked, and the exported module is run.
"""

import contextlib
import itertools
import sys
import tempfile
import warnings

import sizewise
import torch
from executorch.exir import to_edge
from executorch.runtime import Runtime
from torch.export import Dim, export

warnings.simplefilter("ignore")


class Pairs(torch.nn.Module):
    def forward(self, x):
        return x.reshape(-1, 2, 4).relu()


class Sum(torch.nn.Module):
    def forward(self, x, y):
        return x + y


class Ordered(torch.nn.Module):
    def forward(self, x, y):
        torch._check(x.shape[0] <= y.shape[0])
        return y[: x.shape[0]] * x


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x):
        return self.linear(x).softmax(-1)


def cases():
    n, m, even = (
        Dim("n", min=2, max=16),
        Dim("m", min=2, max=20),
        Dim("_h", min=1, max=8),
    )
    yield Pairs(), (torch.ones(4, 4),), ({0: 2 * even},)
    yield Sum(), (torch.ones(3, 5), torch.ones(3, 5)), ({0: n, 1: m}, {0: n, 1: m})
    yield (
        Ordered(),
        (torch.ones(3), torch.ones(7)),
        ({0: Dim.AUTO(max=16)}, {0: Dim.AUTO(max=20)}),
    )
    yield Layer(), (torch.ones(2, 3, 8),), ({0: n, 1: m},)


def shapes(example):
    """Shapes of all inputs in which dynamic sizes vary from 0 to 21."""
    choices = [0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 20, 21]
    firsts = itertools.product(choices, repeat=len(example))
    for sizes in firsts:
        yield [(size, *value.shape[1:]) for size, value in zip(sizes, example)]
    for size in choices:
        yield [tuple(value.shape[:-1]) + (size,) for value in example]


def main():
    asked = wrong = cautious = silent = 0
    for module, example, dynamic_shapes in cases():
        exported = export(module, example, dynamic_shapes=dynamic_shapes)
        contract = sizewise.contract(exported)
        lowered = to_edge(
            exported, constant_methods=contract.constant_methods()
        ).to_executorch()
        with tempfile.NamedTemporaryFile(suffix=".pte") as file:
            file.write(lowered.buffer)
            file.flush()
            program = Runtime.get().load_program(file.name)
            read = sizewise.Contract.from_method(
                program.load_method("sizewise_contract").execute(())
            )
            assert read == contract
            forward, checked = program.load_method("forward"), exported.module()
            for sizes in shapes(example):
                inputs = tuple(torch.ones(size) for size in sizes)
                try:
                    checked(*inputs)
                    runs = True
                except (AssertionError, RuntimeError):
                    runs = False
                accepts = read.accepts(inputs)
                asked += 1
                cautious += runs and not accepts
                if accepts and not runs:
                    wrong += 1
                    print(f"{type(module).__name__}: {sizes}: accepted, and the exported module refuses it")
                if not accepts:
                    with contextlib.suppress(RuntimeError):
                        forward.execute(inputs)
                        silent += 1
    print(f"{asked} calls, {wrong} accepted that the exported module refuses; {cautious} refused that it runs (sizes 0 and 1);")
    print(f"without the contract the runtime runs {silent} of those that it refuses")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
