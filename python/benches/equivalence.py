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

#: How programs run with a decider. Exported ones are compared with torch's export, compiled ones with eager torch.
WAYS = ("export, after", "export, first", "compile, first")


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
        runs = [(way, outcome(asked[mode], inputs), without) for way, mode in zip(WAYS, ("after", "first"))]
        with sizewise.decider("first", debug=True):
            runs.append((WAYS[2], outcome(compiled, inputs), eager))
        for way, result, before in runs:
            tally[f"{way}: before"] += before is not None
            tally[f"{way}: accepted"] += result is not None
            if before is not None and result is None:
                tally[f"{way}: fewer"] += 1
                print(f"{program.name}, {way}: {sizes} is refused")
            elif before is None and result is not None:
                tally[f"{way}: more"] += 1
            if result is not None and not same(result, eager):
                # What torch computes wrongly without a decider is counted apart.
                alike = way != WAYS[2] and without is not None and same(result, without)
                tally[f"{way}: {'as torch' if alike else 'wrong'}"] += 1
                print(f"{program.name}, {way}: {sizes} differs from eager{', as without a decider' if alike else ''}")


def table(tallies: dict[str, Counter[str]]) -> None:
    """Prints what became of the shapes: a row for each kind of programs and each way to run them."""
    accepted = ["accepted without", "accepted with", "fewer", "more"]
    heads = ["programs", "way", "shapes", *accepted, "wrong", "wrong without, too"]
    print("\n| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads))
    for kind, tally in tallies.items():
        for way in WAYS:
            names = ("before", "accepted", "fewer", "more", "wrong", "as torch")
            counts = [tally[f"{way}: {name}"] for name in names]
            cells = [f"{tally['programs']} {kind}", way, tally["shapes"], *counts]
            print("| " + " | ".join(map(str, cells)) + " |")


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--shapes", type=int, default=40)
    parser.add_argument("--skip", action="append", default=[])
    parser.add_argument("--only", action="append", default=[])
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch._dynamo.config.recompile_limit = 200
    tallies: dict[str, Counter[str]] = {"small programs": Counter(), "networks": Counter()}
    for (kind, tally), programs in zip(tallies.items(), (SMALL, NETWORKS)):
        for program in programs:
            if program.name in options.skip or (options.only and program.name not in options.only):
                continue
            try:
                with contextlib.redirect_stderr(None):
                    judge(program, options.shapes, tally)
            except Exception as error:
                print(f"{kind}, {program.name}: {type(error).__name__}: {str(error).splitlines()[0][:90]}", flush=True)
            else:
                tally["programs"] += 1
                print(program.name, flush=True)
            torch._dynamo.reset()
    table(tallies)


if __name__ == "__main__":
    main()
