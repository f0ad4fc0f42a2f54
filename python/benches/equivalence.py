"""Whether programs accept the same shapes and compute the same with a decider as without.

`python benches/equivalence.py [--shapes N] [--skip NAME] [--only NAME]`: every small program and every network is
exported with a decider in both modes and without one, and compiled with one. Shapes from 0 on are run through all of
them and through eager torch.
"""

import argparse
import contextlib
import random
from collections import Counter
from typing import Any

import torch
from live_export import exported
from models import Program
from networks import NETWORKS
from small import SMALL

import sizewise


def shapes_of(program: Program, count: int) -> list[dict[str, int]]:
    """The example, all sizes equal from 0 to 5, and others around the example."""
    draw = random.Random(program.name)
    found = [dict(program.sizes)] + [dict.fromkeys(program.sizes, n) for n in range(6)]
    while len(found) < count:
        near = draw.random() < 0.5
        found.append({name: max(0, n + draw.randint(-5, 9)) if near else draw.randint(0, 40)
                      for name, n in program.sizes.items()})  # fmt: skip
    return found


def outcome(run: Any, inputs: Any) -> Any:
    """What it computes; `None` if it refuses."""
    try:
        with torch.no_grad():
            return run(*inputs)
    except Exception:
        return None


def same(one: Any, other: Any) -> bool:
    """Whether two results agree."""
    try:
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4, equal_nan=True)
    except AssertionError:
        return False
    return True


def judge(program: Program, count: int, tally: Counter[str]) -> None:
    """Counts what becomes of the shapes, and prints what should not be."""
    asked = {mode: exported(program, mode)[0].module() for mode in (None, "after", "first")}
    torch.manual_seed(0)
    module = program.module().eval()
    compiled = torch.compile(module, backend="eager", dynamic=True)
    torch._dynamo.reset()
    for sizes in shapes_of(program, count):
        inputs = program.inputs(sizes)
        eager, without = outcome(module, inputs), outcome(asked[None], inputs)
        tally["shapes"] += 1
        tally["accepted by torch"] += without is not None
        runs = [(mode, outcome(asked[mode], inputs)) for mode in ("after", "first")]
        with sizewise.decider("first", debug=True):
            runs.append(("compile", outcome(compiled, inputs)))
        for mode, result in runs:
            before = eager if mode == "compile" else without
            if before is not None and result is None:
                tally["FEWER"] += 1
                print(f"{program.name}, {mode}: {sizes} is refused")
            elif before is None and result is not None:
                tally["more"] += 1
            if result is not None and not same(result, eager):
                alike = without is not None and mode != "compile" and same(result, without)
                tally["torch is as wrong" if alike else "WRONG"] += 1
                if not alike:
                    print(f"{program.name}, {mode}: {sizes} differs from eager")


def main() -> None:
    """Prints the counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--shapes", type=int, default=40)
    parser.add_argument("--skip", action="append", default=[])
    parser.add_argument("--only", action="append", default=[])
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch._dynamo.config.recompile_limit = 200
    tally: Counter[str] = Counter()
    for program in SMALL + NETWORKS:
        if program.name in options.skip or (options.only and program.name not in options.only):
            continue
        with contextlib.redirect_stderr(None):
            judge(program, options.shapes, tally)
        tally["programs"] += 1
        torch._dynamo.reset()
        print(program.name, dict(tally), flush=True)


if __name__ == "__main__":
    main()
