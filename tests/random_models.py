#!/usr/bin/env python3
"""Holds sizewise against onnxruntime on random ONNX models that compute sizes.

    random_models.py --bin target/release/sizewise [--seeds FIRST LAST] [--record FILE]

Each seed draws a model that computes numbers from sizes, through integers that may wrap around, floats and casts, and uses them as sizes,
ends or positions; or a loop whose rounds add rows. It runs at sizes that the model declares, and sizewise is asked:

- `eval`: sizes that it accepts run, and give the sizes that it says; sizes that it refuses do not run.
- `check`: where it says `ok`, everything runs; inputs of a violation do not run.

A line is printed for each difference, with the seed. `--record` writes the models with what onnxruntime did, a JSON object a line: the test
`recorded_models_do_what_onnxruntime_did` reads them. Exit status 1 where there is a difference.

Not part of the test suite: it needs onnx and onnxruntime.
"""
import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import onnx
import onnxruntime

SIZES = [(1, 1), (1, 4), (2, 3), (3, 2), (5, 4), (7, 11), (20, 3), (64, 2), (300, 1)]
NUMBERS = [1, 2, 3, 5, 8, 100, 255, 2**15, 2**31 - 1, 2**32, 2**62, 2**63 - 1]
FLOATS = [0.5, 0.1, 1.5, 3.0, 16777216.0]
HEAD = '<ir_version: 8, opset_import: ["" : 18]>\n'


class Draw:
    """The nodes of a model, drawn one after the other."""

    def __init__(self, seed):
        self.random, self.lines = random.Random(seed), []

    def node(self, call):
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {call}")
        return name

    def number(self, value):
        return self.node(f"Constant<value_ints = [{value}]>()")

    def step(self, last):
        kind = self.random.choice(["Add", "Sub", "Mul", "Div", "Mod", "narrow", "float", "float"])
        if kind == "narrow":
            narrow = self.node(f"Cast<to = {self.random.choice([2, 3, 5, 6, 6, 12])}>({last})")
            return self.node(f"Cast<to = 7>({narrow})")
        if kind == "float":
            kind = self.random.choice([1, 1, 10, 11])
            value = self.node(f"Cast<to = {kind}>({last})")
            factor = self.node(f"Constant<value_floats = [{self.random.choice(FLOATS)}]>()")
            factor = self.node(f"Cast<to = {kind}>({factor})")
            value = self.node(f"{self.random.choice(['Mul', 'Div', 'Add'])}({value}, {factor})")
            value = self.node(f"{self.random.choice(['Floor', 'Ceil', 'Identity', 'Round'])}({value})")
            return self.node(f"Cast<to = 7>({value})")
        return self.node(f"{kind}({last}, {self.number(self.random.choice(NUMBERS))})")

    def small(self, last):
        """A number that makes no large tensor."""
        last = self.node(f"Mod({last}, {self.number(self.random.choice([7, 13, 37]))})")
        return self.node(f"Sub({last}, {self.number(self.random.choice([0, 0, 0, 1, 3]))})")

    def use(self, last):
        zero, one = self.number(0), self.number(1)
        use = self.random.choice(["fill", "expand", "slice", "tile", "gather", "pad", "range", "topk", "reshape"])
        if use == "fill":
            return self.node(f"ConstantOfShape({last})")
        if use == "expand":
            return self.node(f"Expand(x, {self.node(f'Concat<axis = 0>({last}, {one})')})")
        if use == "slice":
            return self.node(f"Slice(x, {zero}, {last})")
        if use == "tile":
            return self.node(f"Tile(x, {self.node(f'Concat<axis = 0>({last}, {one})')})")
        if use == "gather":
            return self.node(f"Gather(x, {last})")
        if use == "pad":
            return self.node(f"Pad(x, {self.node(f'Concat<axis = 0>({zero}, {zero}, {last}, {zero})')})")
        if use == "topk":
            self.lines.append(f"w{len(self.lines)}, i{len(self.lines)} = TopK<axis = 0>(x, {last})")
            return f"w{len(self.lines) - 1}"
        if use == "reshape":
            return self.node(f"Reshape(x, {self.node(f'Concat<axis = 0>({last}, {self.number(-1)})')})")
        length, start, step = (self.node(f"Squeeze({value})") for value in (last, zero, one))
        positions = self.node(f"Range({start}, {length}, {step})")
        return self.node(f"Gather<axis = {self.random.choice([0, 1])}>(x, {positions})")

    def loop(self):
        length = self.node("Squeeze(" + self.node("Shape<start = 0, end = 1>(x)") + ")")
        trips = length if self.random.random() < 0.5 else self.node(f"Constant<value_int = {self.random.choice([0, 1, 3])}>()")
        rows = {
            "same": "row = Identity(c)",
            "counted": "o = Constant<value_ints = [-1]>() l = Reshape(i, o) row = ConstantOfShape(l)",
            "shorter": "s = Constant<value_ints = [0]>() o = Constant<value_ints = [-1]>() e = Reshape(i, o) row = Slice(c, s, e)",
        }
        carried = {
            "stays": "w = Identity(c)",
            "grows": "w = Concat<axis = 0>(c, c)",
            "shrinks": "b = Constant<value_ints = [1]>() f = Constant<value_ints = [100000]>() w = Slice(c, b, f)",
        }
        row, carry = (self.random.choice(list(kinds.values())) for kinds in (rows, carried))
        if "Concat" in carry:
            trips = self.node(f"Constant<value_int = {self.random.choice([0, 1, 3])}>()")
        body = f"(int64 i, bool k, float[] c) => (bool k2, float[] w, float[] row) {{ k2 = Identity(k) {carry} {row} }}"
        return trips, body

    def model(self):
        if self.random.random() < 0.2:
            trips, body = self.loop()
            end = f'z, rows = Loop({trips}, "", x)<body = b {body}>'
            return f"{HEAD}g (float[a, b] x) => (z, rows) {{ {' '.join(self.lines)} {end} }}"
        axis = self.random.choice([0, 1])
        last = self.node(f"Shape<start = {axis}, end = {axis + 1}>(x)")
        for _ in range(self.random.choice([1, 2, 2, 3])):
            last = self.step(last)
        result = self.use(self.small(last))
        return f"{HEAD}g (float[a, b] x) => (z) {{ {' '.join(self.lines)} z = Identity({result}) }}"


def runs(model):
    """What onnxruntime does at each of the sizes; None where the model does not load."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    except Exception:
        return None
    found = []
    for sizes in SIZES:
        try:
            outputs = [list(value.shape) for value in session.run(None, {"x": numpy.full(sizes, 0.5, numpy.float32)})]
        except Exception:
            outputs = None
        found.append({"shape": list(sizes), "outputs": outputs})
    return found


def differences(binary, path, found):
    asked = "".join(json.dumps({"id": at, "shapes": {"x": run["shape"]}}) + "\n" for at, run in enumerate(found))
    answers = subprocess.run([binary, "eval", path], input=asked, capture_output=True, text=True).stdout.splitlines()
    for run, answer in zip(found, map(json.loads, answers)):
        if answer.get("error_kind") == "unsupported":
            continue
        if answer["ok"] != (run["outputs"] is not None):
            yield f"eval at {run['shape']}: {answer} where it makes {run['outputs']}"
        elif answer["ok"]:
            for said, made in zip(answer["outputs"], run["outputs"]):
                if said is not None and (len(said) != len(made) or any(s != m for s, m in zip(said, made) if not isinstance(s, str))):
                    yield f"eval at {run['shape']}: {said} where it makes {made}"
    report = subprocess.run([binary, "check", path, "--format", "json"], capture_output=True, text=True).stdout
    report = json.loads(report)
    if report["verdict"] == "ok":
        yield from (f"ok, but {run['shape']} fails" for run in found if run["outputs"] is None)
    for guard in report["guards"]:
        shape = (guard.get("inputs") or {}).get("x")
        yield from (f"{guard['expr']}: {shape} runs" for run in found if run["shape"] == shape and run["outputs"] is not None)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--bin", required=True)
    arguments.add_argument("--seeds", nargs=2, type=int, default=(0, 200))
    arguments.add_argument("--record")
    options = arguments.parse_args()
    lines, different, verdicts = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(*options.seeds):
            text = Draw(seed).model()
            found = runs(onnx.parser.parse_model(text))
            if found is None:
                continue
            path = str(Path(folder) / "model.txt")
            Path(path).write_text(text)
            verdicts += 1
            for difference in differences(options.bin, path, found):
                different += 1
                print(f"{seed}: {difference}")
            lines.append(json.dumps({"model": text, "runs": found}))
    if options.record:
        Path(options.record).write_text("\n".join(lines) + "\n")
    print(f"{verdicts} models, {different} differences")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
