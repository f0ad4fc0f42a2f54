#!/usr/bin/env python3
"""The memory plans of programs: how much larger arenas are than what is in use together, and whether buffers overlap.

    python scripts/sizes/score_plans.py target/release/sizewise FOLDER [--bound 256]

With `--bound` every dimension without a greatest size gets this one, so that there is a plan.
"""

import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import tempfile
import time


def bounded(spec, most):
    """A spec in which all dimensions have a greatest size."""
    if isinstance(spec, list):
        return [bounded(item, most) for item in spec]
    if not isinstance(spec, dict):
        return spec
    spec = {key: bounded(value, most) for key, value in spec.items()}
    if {"dim", "min", "hint"} & spec.keys() and spec.get("max") is None:
        spec["max"] = max(most, 2 * (spec.get("min") or 0))
    return spec


def exclude(a, b):
    """Whether no run makes both buffers: they are made in different graphs of one `cond`."""
    apart = next((pair for pair in zip(a.get("branches", []), b.get("branches", [])) if pair[0] != pair[1]), None)
    return apart is not None and apart[0][0] == apart[1][0]


def overlaps(buffers):
    """How many pairs of buffers are in use together and overlap."""
    buffers = sorted((b for b in buffers if b["bytes"]), key=lambda b: b["offset"])
    count = 0
    for place, a in enumerate(buffers):
        for b in buffers[place + 1 :]:
            if b["offset"] >= a["offset"] + a["bytes"]:
                break
            count += a["from"] <= b["to"] and b["from"] <= a["to"] and not exclude(a, b)
    return count


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("folder")
    parser.add_argument("--align", default="16")
    parser.add_argument("--bound", type=int)
    options = parser.parse_args()
    counts, ratios, simple, times = collections.Counter(), [], [], []

    def run(*words):
        return subprocess.run([options.binary, *words], capture_output=True, text=True, timeout=300)

    for path in sorted(map(str, pathlib.Path(options.folder).rglob("*.pt2"))):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as spec:
            words = ["plan", path, "--format", "json", "--align", options.align]
            if options.bound:
                own = run("spec", "init", path, "--as", "json")
                if own.returncode:
                    counts["without a spec"] += 1
                    continue
                json.dump(bounded(json.loads(own.stdout), options.bound), spec)
                spec.flush()
                words += ["--spec", spec.name]
            began = time.time()
            answer = run(*words)
        times.append((time.time() - began, path))
        if answer.returncode:
            counts["no bound" if "give" in answer.stderr else f"status {answer.returncode}"] += 1
            continue
        plan = json.loads(answer.stdout)
        counts["planned"] += 1
        counts["exact"] += plan["exact"]
        counts["OVERLAPS"] += overlaps(plan["buffers"])
        counts["LARGER THAN GREEDY"] += plan["arena_bytes"] > plan["greedy_bytes"]
        if plan["lower_bound"]:
            ratios.append(plan["arena_bytes"] / plan["lower_bound"])
            simple.append(plan["greedy_bytes"] / plan["lower_bound"])
    for name, count in sorted(counts.items()):
        print(f"{name}: {count}")
    for name, values in (("arena", ratios), ("greedy", simple)):
        figures = f"median {quantile(values, 0.5):.3f}, p95 {quantile(values, 0.95):.3f}, most {max(values):.3f}"
        print(f"{name} over what is in use together: {figures}, mean {statistics.mean(values):.4f} of {len(values)}")
    for seconds, path in sorted(times, reverse=True)[:3]:
        print(f"{seconds:.2f} s {path}")


if __name__ == "__main__":
    main()
