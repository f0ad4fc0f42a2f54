"""Whether a shape checker accepts and refuses what the exported program did, and what a call costs.

`python benches/recorded_runs.py [--ops FILE] [--list] FOLDER...`: every recorded run of every program is put to the
program's shape checker. Sizes count and values do not, so what only data decides is counted apart.
"""

import argparse
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from recorded import archives, placed, truth

import sizewise

#: How failures begin that come of values, not of sizes: data were drawn at random, and torch has faults in its guards.
DATA = {
    "an index from data": (
        "IndexError: index",
        "IndexError: out of range: tried to access index",
        "IndexError: select(): index",
        "IndexError: Target",
        "RuntimeError: index",
        "RuntimeError: INDICES element",
        "RuntimeError: Index 0 of input takes value",
        "RuntimeError: Found an invalid max index",
        "RuntimeError: offsets[",
    ),
    "a fault of torch's guard code": ("NameError: name 'L' is not defined",),
}


def inputs_of(recorded: dict[str, Any], run: dict[str, Any]) -> dict[str, Any]:
    """The inputs of a run: tensors without data, and numbers."""
    given = {described["name"]: described.get("value") for described in recorded["inputs"] if "shape" not in described}
    given.update(run.get("values") or {})
    tensors = {name: torch.empty(shape, device="meta") for name, shape in run["shapes"].items()}
    return {**given, **tensors}


def why(failure: str) -> str:
    """The class of a failure."""
    failure = failure.removeprefix("error: ")
    if failure.startswith("RuntimeError: Runtime assertion failed") and re.search(r"\bu\d", failure):
        return "an assertion on data"
    return next((name for name, starts in DATA.items() if failure.startswith(starts)), "a size")


def judge(path: Path, ops: list[str], show: bool, tally: Counter[str]) -> list[float]:
    """Counts what becomes of a program's runs; the seconds of calls with five inputs that were accepted."""
    recorded = truth(path)
    runs = [run for run in recorded.get("runs") or [] if run.get("exported")]
    try:
        check = sizewise.shape_checker(path, ops=ops)
    except sizewise.SizewiseError as error:
        tally["programs without a checker"] += 1
        print(f"{path}: no checker: {error}")
        return []
    tally["programs"] += 1
    inputs = [{"name": name, "path": way} for name, _, way, _ in check._program.inputs()]
    times = []
    for run in runs:
        values = inputs_of(recorded, run)
        if set(values) != {described["name"] for described in inputs}:
            tally["runs whose inputs have other names"] += 1
            continue
        args, kwargs = placed(values, inputs)
        try:
            check(*args, **kwargs)
            refusal = None
        except sizewise.ShapeError as error:
            refusal = str(error)
        served = run["exported"] == "ok"
        tally["runs"] += 1
        tally["served" if served else "failed"] += 1
        if served and refusal is not None:
            # Torch's module does not ask whether a size that is recorded as 2*s is even; the program is for even ones.
            outside = "" if run["accepted"] else ", outside the recorded sizes and ranges"
            tally[f"refused, though it ran{outside}"] += 1
            print(f"{path}: refuses {run['shapes']} {run.get('values') or ''}{outside}: {refusal[:200]}")
        elif not served and refusal is None:
            kind = why(run["exported"])
            tally[f"accepted, failed by {kind}"] += 1
            if show or kind == "a size":
                print(f"{path}: accepts {run['shapes']} {run.get('values') or ''}: {run['exported'][:200]}")
        elif served and len(inputs) == 5:
            times.append(cost(check, args, kwargs))
    return times


def cost(check: Any, args: Any, kwargs: Any) -> float:
    """The least seconds of a call."""
    times = []
    for _ in range(20):
        began = time.perf_counter()
        check(*args, **kwargs)
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folders", nargs="+")
    arguments.add_argument("--every", type=int, default=1)
    arguments.add_argument("--ops", action="append", default=[])
    arguments.add_argument("--list", action="store_true", help="list what data decides, too")
    options = arguments.parse_args()
    tally: Counter[str] = Counter()
    times: list[float] = []
    for path in archives(options.folders, options.every):
        times += judge(path, options.ops, options.list, tally)
    print(", ".join(f"{name}: {count}" for name, count in tally.items()))
    if times:
        times.sort()
        middle, worst = times[len(times) // 2] * 1e6, times[-1] * 1e6
        print(f"calls with five inputs: {len(times)}, median {middle:.1f} us, at most {worst:.1f} us")


if __name__ == "__main__":
    main()
