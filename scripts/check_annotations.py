#!/usr/bin/env python3
"""Compares what `sizewise annotate` says with runs of the programs in torch.

  python scripts/check_annotations.py SIZEWISE FOLDER...

Each folder has a `program.pt2` and a `truth.json` with `inputs` (name, dtype) and `runs` (shapes, accepted). Every node of the
program has to be there, on the line that its stack trace names, and each of its shapes has to be that of the value at so many
accepted runs (`--runs`, 3). Programs run on zeros with the weights that they hold; where there are none, on fake tensors.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

import torch
import torch.fx
from torch._subclasses.fake_tensor import FakeTensorMode

FRAME = re.compile(r'File "([^"]+)", line (\d+)')
SHORT = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
         "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "b8": torch.bool, "c64": torch.complex64,
         "c128": torch.complex128}


def is_torch(file):
    return (file.startswith(("<", "torch/", "site-packages/torch/")) or "/site-packages/torch/" in file
            or "/dist-packages/torch/" in file or "/torch/_" in file or "/torch/nn/modules/" in file)


def line_of(node):
    """The innermost line outside torch of a node's stack trace."""
    frames = [(file, int(line)) for file, line in FRAME.findall(node.meta.get("stack_trace") or "")]
    return next((frame for frame in reversed(frames) if not is_torch(frame[0])), None)


class Input:
    def __init__(self, shape):
        self.shape = shape


class Run(torch.fx.Interpreter):
    """Runs a graph and keeps what its nodes make; graphs that a node runs in its place, too."""

    def __init__(self, module, made):
        super().__init__(module)
        self.made = made

    def run_node(self, node):
        result = super().run_node(node)
        if node.op == "call_function" and "getitem" not in str(node.target):
            self.made[node.name].append((node, result))
        return result

    def call_function(self, target, args, kwargs):
        inner = [at for at, arg in enumerate(args) if isinstance(arg, torch.fx.GraphModule)]
        if inner and str(target).startswith("wrap_with"):
            return Run(args[inner[0]], self.made).run(*args[inner[0] + 1:])
        return super().call_function(target, args, kwargs)


def flat(value):
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in flat(part)]
    return [] if value is None else [value]


def differs(text, value, names):
    """Why a text is not what a value is; nothing if it is."""
    def size(expression, found):
        # A size that only the run decides is what it first is.
        if re.fullmatch(r"u\d+", expression) and expression not in names:
            names[expression] = found
        # Parts of inputs are named by their places; torch's placeholders join these.
        expression = re.sub(r"(\w+)\[(\d+)\](?=\.shape)", r"\1_\2", expression)
        try:
            return eval(expression, {"__builtins__": {}, "max": max, "min": min, "abs": abs}, names)
        except NameError as error:
            # What data decide and no value says by itself is not compared.
            return found if re.search(r"'u\d+'", str(error)) else str(error)
    match = re.fullmatch(r"(\w+)\[(.*)\]", text)
    if isinstance(value, torch.Tensor):
        if not match:
            return f"{text} is no tensor"
        if SHORT.get(match[1]) != value.dtype:
            return f"{text} is of {value.dtype}"
        parts, depth, part = [], 0, ""
        for c in match[2] + ",":
            depth += (c in "([") - (c in ")]")
            if c == "," and depth == 0:
                parts.append(part.strip())
                part = ""
            else:
                part += c
        parts = [part for part in parts if part]
        found = list(value.shape)
        if len(parts) != len(found):
            return f"{text} is {found}"
        sizes = [size(part, at) for part, at in zip(parts, found)]
        return None if sizes == found else f"{text} is {found}, not {sizes}"
    if isinstance(value, bool) or isinstance(value, float):
        return None
    if isinstance(value, int):
        found = size(text, value)
        return None if found == value else f"{text} is {value}, not {found}"
    return None


def inputs(program, shapes, truth, mode):
    """What the graph takes: weights and inputs of these shapes."""
    dtypes = {known["name"]: getattr(torch, known["dtype"]) for known in truth["inputs"]}
    state = {**program.state_dict, **program.constants}
    for spec in program.graph_signature.input_specs:
        name = spec.arg.name
        if spec.kind == torch.export.graph_signature.InputKind.USER_INPUT:
            if name in shapes:
                yield torch.zeros(shapes[name], dtype=dtypes.get(name, torch.float32))
            else:
                yield getattr(spec.arg, "value", None)
        else:
            value = state[spec.target]
            yield mode.from_tensor(value) if mode and isinstance(value, torch.Tensor) else value


def run(program, shapes, truth):
    made = collections.defaultdict(list)
    with torch.no_grad():
        try:
            Run(program.graph_module, made).run(*inputs(program, shapes, truth, None))
            return made, "real"
        except Exception as error:
            made.clear()
            first = error
        try:
            with FakeTensorMode() as mode:
                Run(program.graph_module, made).run(*inputs(program, shapes, truth, mode))
            return made, "fake"
        except Exception as error:
            raise RuntimeError(f"{first}; {error}") from error


def graphs(module):
    return [part for part in module.modules() if isinstance(part, torch.fx.GraphModule)]


def check(sizewise, folder, wanted):
    with open(os.path.join(folder, "truth.json")) as file:
        truth = json.load(file)
    path = os.path.join(folder, "program.pt2")
    answer = json.loads(subprocess.run([sizewise, "annotate", path, "--format", "json"], capture_output=True, check=True).stdout)
    said, lines = collections.defaultdict(list), collections.defaultdict(set)
    for hint in answer["hints"]:
        for value in hint["values"]:
            said[value["node"]].append(value["shapes"])
            lines[value["node"]].add((hint["file"], hint["line"]))
    for value in answer["unplaced"]:
        said[value["node"]].append(value["shapes"])
        lines[value["node"]].add(None)
    with tempfile.TemporaryDirectory() as folder_of_copy:
        # As an archive that torch loads whatever the first one lacks: weights that are not there are zeros.
        copy = os.path.join(folder_of_copy, "program.pt2")
        subprocess.run([sizewise, "show", path, "--as", "pt2", "--output", copy], capture_output=True, check=True)
        try:
            program = torch.export.load(copy)
        except Exception as error:
            print(f"skipped {os.path.basename(folder)}: torch does not load it: {str(error)[:80]}")
            return None
    wrong, count = [], 0
    nodes = [node for graph in graphs(program.graph_module) for node in graph.graph.nodes
             if node.op == "call_function" and "getitem" not in str(node.target)]
    for node in nodes:
        where = line_of(node)
        found = lines.get(node.name, set())
        ends = any(known == where or (known and where and known[1] == where[1] and where[0].endswith(known[0])) for known in found)
        if not ends:
            wrong.append(f"{node.name} is of {where}, not {found}")
    runs = [known for known in truth["runs"] if known.get("exported") == "ok" and known.get("shapes")]
    runs = [runs[at * len(runs) // wanted] for at in range(min(wanted, len(runs)))]
    kinds = collections.Counter()
    for known in runs:
        try:
            made, kind = run(program, known["shapes"], truth)
        except Exception as error:
            wrong.append(f"{known['shapes']}: does not run: {str(error)[:200]}")
            continue
        kinds[kind] += 1
        names = {name: Input(shape) for name, shape in known["shapes"].items()}
        for name, calls in made.items():
            for node, result in calls:
                values = [value for value in flat(result)]
                why = ["is not there"]
                for shapes in said.get(name, []):
                    kept = [value for value in values]
                    if len(shapes) != len(kept):
                        # Results that nothing takes may be left out.
                        users = {int(user.args[1]) for user in node.users if "getitem" in str(user.target)}
                        kept = [value for at, value in enumerate(values) if at in users]
                    if len(shapes) != len(kept):
                        why = [f"{len(kept)} values, not {shapes}"]
                        continue
                    why = [reason for reason in map(lambda pair: differs(*pair, names), zip(shapes, kept)) if reason]
                    if not why:
                        count += len(kept)
                        break
                wrong += [f"{known['shapes']}: {name}: {reason}" for reason in why]
    places = {place for of in lines.values() for place in of if place}
    print(f"{'FAILED' if wrong else 'ok':7} {os.path.basename(folder)}: {len(nodes)} nodes, {len(places)} lines, {count} values in "
          f"{len(runs)} runs ({', '.join(f'{n} {kind}' for kind, n in kinds.items())})")
    for fault in wrong[:4]:
        print(f"        {fault}")
    return not wrong, len(nodes), len(places), count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizewise")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    results = []
    for folder in arguments.folders:
        try:
            results.append(check(arguments.sizewise, folder, arguments.runs))
            if results[-1] is None:
                results.pop()
        except Exception as error:
            print(f"FAILED  {os.path.basename(folder)}: {type(error).__name__}: {str(error)[:200]}")
            results.append((False, 0, 0, 0))
    good, nodes, lines, values = zip(*results)
    print(f"{sum(good)} of {len(good)} programs, {sum(nodes)} nodes on {sum(lines)} lines, {sum(values)} values")
    sys.exit(0 if all(good) else 1)


main()
