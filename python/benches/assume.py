"""What `sizewise.assume` costs: CPU time beside one export by torch under the spec that it finds.

`python benches/assume.py [RUNS]`, over the modules of `tests/branching.py`. Both are run in turn, and of each module the
medians are compared. Everything of sizewise is included: the trace, the proofs, and the check.
"""

import gc
import sys
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import torch
from torch.fx.experimental.dynamic_spec import IntVar, ParamsSpec, ShapesSpec, ShapeVar, TensorSpec

import sizewise

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from branching import CASES
from programs import module


def spec_of(sizes: dict[str, Any]) -> ShapesSpec:
    """The spec that frees the named sizes."""
    variables: dict[str, Any] = {}

    def size(entry: Any, kind: Any = ShapeVar) -> Any:
        return variables.setdefault(entry, kind(entry, min=0, max=64)) if isinstance(entry, str) else entry

    shapes = {
        name: TensorSpec([size(each) for each in entry]) if isinstance(entry, list) else size(entry, IntVar)
        for name, entry in sizes.items()
    }
    return ShapesSpec(ParamsSpec(shapes))


def timed(call: Any) -> tuple[Any, float]:
    """The result of a call, and its CPU time in milliseconds."""
    gc.collect()
    began = time.process_time()
    result = call()
    return result, 1000 * (time.process_time() - began)


def measured(case: Any, runs: int) -> tuple[int, float, float]:
    """The number of assumptions, and the median times of `assume` and of one export."""
    _, forward, example, sizes, _ = case
    model = module(forward)

    def assumed() -> Any:
        return sizewise.assume(model, example, dynamic_shapes=spec_of(sizes))

    found = assumed()

    def exported() -> Any:
        if found.by_torch_alone:
            return torch.export.export(model, example, dynamic_shapes=found.dynamic_shapes)
        with sizewise.decider():
            return torch.export.export(model, example, dynamic_shapes=found.dynamic_shapes)

    times: list[tuple[float, float]] = []
    for run in range(runs + 1):
        calls = (assumed, exported) if run % 2 else (exported, assumed)
        took = {call: timed(call)[1] for call in calls}
        times.append((took[assumed], took[exported]))
    # The first round fills caches.
    ours, torchs = zip(*times[1:])
    return len(found.assumptions), median(ours), median(torchs)


def main() -> None:
    """Prints a row for each module, and the median and the quartiles of the ratios."""
    torch.set_num_threads(1)
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    ratios: list[float] = []
    print(f"{'':32} {'assumed':>7} {'assume':>8} {'export':>8} ratio")
    for case in CASES:
        try:
            count, ours, torchs = measured(case, runs)
        except torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode:
            print(f"{case[0]:32} torch does not export it under that spec")
            continue
        if count <= 5:
            ratios.append(ours / torchs)
        print(f"{case[0]:32} {count:7} {ours:5.0f} ms {torchs:5.0f} ms {ours / torchs:5.2f}", flush=True)
    low, middle, high = quantiles(ratios, n=4)
    print(f"{len(ratios)} modules with up to five assumptions: median {middle:.2f}, quartiles {low:.2f} and {high:.2f}")


if __name__ == "__main__":
    main()
