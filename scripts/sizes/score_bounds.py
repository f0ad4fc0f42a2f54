#!/usr/bin/env python3
"""The bounds of programs beside their recorded runs, and beside `eval` at the inputs that are said to attain them.

    python scripts/sizes/score_bounds.py target/release/sizewise FOLDER

FOLDER has folders with `program.pt2` and `truth.json`, whose `runs` say which shapes a program accepted and what came out.
No recorded size lies outside its bounds, and each bound of an output with inputs beside it is what `eval` gives for them.
"""

import argparse
import collections
import json
import math
import pathlib
import subprocess
import time
import zipfile


def outputs(path):
    """The names of the values that a program gives its user."""
    with zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if name.endswith("models/model.json"))
        module = json.loads(archive.read(name))["graph_module"]
    specs = zip(module["signature"]["output_specs"], module["graph"]["outputs"])
    return [output.get("as_tensor", {}).get("name") for spec, output in specs if "user_output" in spec]


def sides(value):
    """The sizes of a value and the number of its elements, each with its dimension."""
    return [*enumerate(value["dims"]), (None, value["elements"])]


def measured(shape, dim):
    return math.prod(shape) if dim is None else shape[dim]


class Score:
    def __init__(self, options):
        self.options = options
        self.counts = collections.Counter()
        self.times = []
        self.shown = 0

    def show(self, *words):
        self.shown += 1
        if self.shown <= self.options.show:
            print(*words)

    def run(self, *words, **more):
        return subprocess.run([self.options.binary, *words], capture_output=True, text=True, timeout=300, **more)

    def program(self, truth):
        path = truth.with_name("program.pt2")
        if not path.exists():
            return
        began = time.time()
        answer = self.run("bounds-of", str(path), "--format", "json")
        self.times.append((time.time() - began, str(path)))
        self.counts["programs"] += 1
        if answer.returncode:
            self.counts[f"status {answer.returncode}"] += 1
            self.show(path, answer.stderr.strip()[:200])
            return
        values = {value["value"]: value for value in map(json.loads, answer.stdout.splitlines())}
        for value in values.values():
            self.counts["values"] += 1
            self.counts["exact"] += value["exact"]
            self.counts["sizes that data decide"] += "data decide a size" in value["reasons"]
            for reason in value["reasons"]:
                self.counts["because " + reason.split("`")[0]] += 1
        names = outputs(path)
        self.recorded(path, names, values, json.loads(truth.read_text()).get("runs") or [])
        self.attained(path, names, values)

    def recorded(self, path, names, values, runs):
        for run in runs:
            if not run.get("accepted") or run.get("exported") != "ok":
                continue
            for name, shape in zip(names, run.get("output_shapes") or []):
                value = values.get(name)
                if value is None or not isinstance(shape, list) or len(value["dims"]) != len(shape):
                    continue
                self.counts["recorded outputs"] += 1
                for dim, ends in sides(value):
                    size = measured(shape, dim)
                    is_below = ends["min"] is not None and size < ends["min"]
                    if is_below or (ends["max"] is not None and size > ends["max"]):
                        self.counts["OUTSIDE"] += 1
                        self.show("OUTSIDE", path, name, shape, ends, run["shapes"])

    def attained(self, path, names, values):
        asked = []
        for place, name in enumerate(names):
            for dim, ends in sides(values[name]) if name in values else []:
                for end in ("min", "max"):
                    at = ends.get(f"{end}_at")
                    if at is None and ends[end] is not None and ends["min"] != ends["max"]:
                        reasons = values[name]["reasons"]
                        self.counts["not attained: " + (reasons[0].split("`")[0] if reasons else "EXACT")] += 1
                    if at is not None:
                        shapes = {name: size for name, size in at.items() if isinstance(size, list)}
                        scalars = {name: size for name, size in at.items() if not isinstance(size, list)}
                        asked.append(({"shapes": shapes, "scalars": scalars}, place, dim, ends[end]))
        lines = "".join(json.dumps(request) + "\n" for request, *_ in asked)
        answers = self.run("eval", str(path), input=lines).stdout.splitlines() if asked else []
        for (request, place, dim, size), line in zip(asked, answers):
            shape = (json.loads(line).get("outputs") or [None] * (place + 1))[place]
            needed = None if shape is None else shape if dim is None else [shape[dim]]
            if needed is None or not all(isinstance(size, int) for size in needed):
                self.counts["not answered by eval"] += 1
                self.show("NO ANSWER", path, request, line[:200])
            elif measured(shape, dim) == size:
                self.counts["attained"] += 1
            else:
                self.counts["MISSED"] += 1
                self.show("MISSED", path, request, shape, dim, size)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("folder")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--show", type=int, default=10)
    options = parser.parse_args()
    score = Score(options)
    for truth in sorted(pathlib.Path(options.folder).rglob("truth.json"))[: options.limit]:
        score.program(truth)
    for name, count in sorted(score.counts.items()):
        print(f"{name}: {count}")
    for seconds, path in sorted(score.times, reverse=True)[:5]:
        print(f"{seconds:.2f} s {path}")


if __name__ == "__main__":
    main()
