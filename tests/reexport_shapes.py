#!/usr/bin/env python3
"""Exports modules again with the fix of their ShapesSpec, and runs sizes within the spec as it was given.

    python tests/reexport_shapes.py --bin target/release/sizewise [--only NAME] [FOLDER...]

needs torch 2.15. Each folder below a FOLDER that holds `program.pt2` and `truth.json` (its spec, and what torch did with inputs of many
sizes) is a program: where its spec is violated, the module of the program is exported again under the first fix. The new module has to take
exactly the recorded runs that the fix admits, and the fix those that worked.

Without a FOLDER the modules are those of reexport_models.py. Each is exported under a ShapesSpec that is too wide: a variable from
0 in each place that may be dynamic. Where torch exports that and sizewise finds it violated, the module is exported once more
under the first fix. Both modules are then called at sizes within the given spec, drawn from a fixed seed and near the example: the second one has to take
exactly those that the first one takes and the fix admits, and a fix that says that it loses nothing admits all that the first one takes.
Exits with status 1 if fewer than 95 of 100 fixes export, or if any call is answered otherwise.
"""
import argparse
import collections
import json
import logging
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import warnings

import torch
from torch.export import export, save
from torch.utils._pytree import tree_unflatten

import reexport_models
import stripped

HEAD = "import torch\nfrom torch.fx.experimental.dynamic_spec import *\n"
NAMES = {"max": max, "min": min, "Max": max, "Min": min, "__builtins__": {}}
TRIED = 150
#: How runs end that the elements of integer tensors decide.
OF_VALUES = ("out of bounds", "INDICES", "out of range", "Expected index", "batch index")


def given_spec(module, places):
    """A variable from 0 in each place that may be dynamic, as Python; and the variables by their places."""
    import inspect

    names = list(inspect.signature(module.forward).parameters)
    lines, params, variables = [], [], {}
    for i, (name, of_input) in enumerate(zip(names, places)):
        dims = []
        for dim, place in enumerate(of_input):
            if place == "*":
                variables[f"{name}_{dim}"] = (i, dim)
                lines.append(f"{name}_{dim} = ShapeVar('{name}_{dim}')\n")
                dims.append(f"{name}_{dim}")
            else:
                dims.append("None")
        params.append(f"'{name}': " + (f"TensorSpec([{', '.join(dims)}])" if "*" in of_input else "None"))
    return "".join(lines) + f"dynamic_shapes = ShapesSpec(ParamsSpec({{{', '.join(params)}}}))\n", variables


def exported(module, inputs, text):
    names = {}
    exec(text if text.startswith(("import", "from")) else HEAD + text, names)
    return export(module, inputs, dynamic_shapes=names["dynamic_shapes"])


def takes(module, inputs, variables, values):
    inputs = list(inputs)
    sizes = [list(x.shape) for x in inputs]
    for name, (i, dim) in variables.items():
        sizes[i][dim] = values[name]
    inputs = [x if list(x.shape) == size else torch.ones(size).to(x.dtype) * (0 if not x.is_floating_point() else 1) for x, size in zip(inputs, sizes)]
    try:
        module(*inputs)
        return True
    except Exception:
        return False


def holds(texts, values):
    try:
        return all(bool(eval(text, NAMES, dict(values))) for text in texts)
    except ZeroDivisionError:
        return False


def drawn(inputs, variables):
    """Sizes near the example, small ones, equal ones, and multiples."""
    source = random.Random(2026)
    example = {name: inputs[i].shape[dim] for name, (i, dim) in variables.items()}
    yield example
    for _ in range(TRIED):
        values = dict(example)
        for name in variables:
            if source.random() < 0.5:
                values[name] = source.choice([source.randint(0, 20), source.choice(list(values.values())), 2 * values[name]])
        yield values


def tried(name, binary, folder):
    make, inputs, places = reexport_models.MODELS[name]
    module = make()
    text, variables = given_spec(module, places)
    try:
        program = exported(module, inputs, text)
    except Exception as error:
        return "does not export as given", type(error).__name__
    path, spec = os.path.join(folder, name + ".pt2"), os.path.join(folder, name + ".py")
    save(program, path)
    open(spec, "w").write(HEAD + text)
    run = lambda *arguments: subprocess.run([binary, *arguments], capture_output=True, text=True).stdout
    report = json.loads(run("check", path, "--spec", spec, "--format", "json"))
    if report["verdict"] != "violated":
        return report["verdict"], ""
    if not report["fixes"]:
        return "no fix", ""
    fix = report["fixes"][0]
    fixed = os.path.join(folder, name + ".json")
    json.dump(fix["spec"], open(fixed, "w"))
    text = run("spec", "show", fixed, "--as", "shapes")
    try:
        again = exported(module, inputs, text).module()
    except Exception as error:
        return "does not export", f"{type(error).__name__}: {str(error).splitlines()[0][:200]}\n{text}"
    first = program.module()
    for values in drawn(inputs, variables):
        before, admitted = takes(first, inputs, variables, values), holds(fix["assumptions"], values)
        if admitted and not before:
            return "differs", f"{fix['assumptions']} admits {values}"
        if before and not admitted and fix["cost"] == "loses no shapes that this export serves":
            return "differs", f"{fix['assumptions']} loses {values}"
        if takes(again, inputs, variables, values) != (before and admitted):
            return "differs", f"{fix['assumptions']} at {values}: the module takes it {'not ' if admitted else ''}"
    return "as fixed", ""


def arguments(program, truth, run):
    """The arguments of a recorded run."""
    leaves = []
    for row in truth["inputs"]:
        name = row["name"]
        if name in run["shapes"]:
            dtype = getattr(torch, row["dtype"])
            leaves.append(torch.ones(run["shapes"][name]).to(dtype) if dtype.is_floating_point else torch.zeros(run["shapes"][name], dtype=dtype))
        else:
            leaves.append((run.get("values") or {}).get(name, row.get("value")))
    return tree_unflatten(leaves, program.call_spec.in_spec)


def recorded(folder, binary, temporary):
    """A program with its spec and recorded runs, exported again."""
    truth = json.loads((folder / "truth.json").read_text())
    given = os.path.join(temporary, "given.py")
    with open(given, "w") as file:
        file.write(HEAD + truth["spec"])
    run = lambda *arguments: subprocess.run([binary, *arguments], capture_output=True, text=True).stdout
    report = json.loads(run("check", str(folder / "program.pt2"), "--spec", given, "--format", "json") or "{}")
    if report.get("verdict") != "violated":
        return report.get("verdict", "not read"), ""
    if any(diagnostic["code"] == "nothing-works" for diagnostic in report["diagnostics"]):
        working = [run["at"] for run in truth["runs"] if run["in_spec"] and run.get("exported") == "ok"]
        return ("differs", f"runs at {working[0]}") if working else ("nothing works", "")
    if not report["fixes"]:
        return "no fix", ""
    fix = report["fixes"][0]
    try:
        program = stripped.loaded(folder / "program.pt2")
        module = program.module()
    except Exception as error:
        return "cannot be loaded", type(error).__name__
    example = {"shapes": {row["name"]: row["shape"] for row in truth["inputs"] if "shape" in row}}
    args, kwargs = arguments(program, truth, example)
    try:
        names = {}
        exec(fix["code"], names)
        again = export(module, args, kwargs, dynamic_shapes=names["dynamic_shapes"]).module()
    except Exception as error:
        return "does not export", f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200]}\n{fix['code']}"
    for run in truth["runs"]:
        if "exported" not in run or any(text in run["exported"] for text in OF_VALUES):
            continue
        args, kwargs = arguments(program, truth, run)
        admitted = run["in_spec"] and holds(fix["assumptions"], run["at"])
        if admitted != takes_call(again, args, kwargs):
            if has_data(truth):
                return "data decide", str(run["at"])
            return "differs", f"{fix['assumptions']} {'admits' if admitted else 'refuses'} {run['at']}: {run['exported'][:100]}"
        works = run["in_spec"] and run["exported"] == "ok" and has_recorded_ranks(truth, run)
        if fix["cost"] == "loses no shapes that this export serves" and works and not admitted:
            return "differs", f"{fix['assumptions']} loses {run['at']}"
    return "as fixed", ""


def has_data(truth):
    """Whether a program has symbols that are no sizes of inputs: the recorded runs do not say which data they had."""
    sizes = {symbol for row in truth["inputs"] for symbol in re.findall(r"\bu\d+", str(row.get("symbolic")))}
    return bool(set(truth.get("range_constraints") or {}) - sizes)


def has_recorded_ranks(truth, run):
    """Whether the outputs have as many dimensions as the program records: else it runs, but not as recorded."""
    ranks = [len(output["symbolic"]) for output in truth["outputs"] if "symbolic" in output]
    return ranks == [len(shape) for shape in run["exported_shapes"] if isinstance(shape, list)]


def takes_call(module, args, kwargs):
    try:
        module(*args, **kwargs)
        return True
    except Exception:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="target/release/sizewise")
    parser.add_argument("--only", default="")
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        cases = {name: lambda name=name: tried(name, options.bin, folder) for name in reexport_models.MODELS}
        if options.folders:
            truths = sorted(path for given in options.folders for path in given.rglob("truth.json"))
            cases = {path.parent.name: lambda path=path: recorded(path.parent, options.bin, folder) for path in truths}
        for name, case in cases.items():
            if options.only in name:
                torch.manual_seed(2026)
                what, why = case()
                counts[what] += 1
                print(f"{name}: {what}{': ' + why if why else ''}", flush=True)
    print(dict(counts))
    fixes = counts["as fixed"] + counts["differs"] + counts["does not export"]
    sys.exit(1 if counts["differs"] or counts["no fix"] or counts["does not export"] * 20 > fixes else 0)


if __name__ == "__main__":
    main()
