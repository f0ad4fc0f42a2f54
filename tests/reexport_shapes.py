#!/usr/bin/env python3
"""Exports programs anew under the fixes of their ShapesSpecs, and runs what comes out.

usage: reexport_shapes.py FOLDER BINARY [--only NAME]     (needs torch 2.15)

FOLDER/NAME/{program.pt2,truth.json} are programs that were exported under a ShapesSpec, with their runs: `spec` (Python), and
`runs` with `at` (values of the variables), `in_spec`, `shapes`, `values` and `exported`. Each program whose spec `sizewise check`
finds violated is exported once more under the first fix, as `sizewise spec show` writes it; the new module has to accept
exactly those runs inside the spec that the fix admits and the first module takes. Prints what does not export or differs, and
exits with status 1 if fewer than 95 of 100 export or any module differs.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import torch
import torch.utils._pytree as pytree

HEAD = "import torch\nfrom torch.fx.experimental.dynamic_spec import *\n"
NAMES = {"max": max, "min": min, "Max": max, "Min": min, "__builtins__": {}}


def sizewise(binary, *arguments):
    return subprocess.run([binary, *arguments], capture_output=True, text=True)


def admits(assumptions, values):
    try:
        return all(bool(eval(text, NAMES, dict(values))) for text in assumptions)
    except ZeroDivisionError:
        return False


def arguments_of(example, placeholders, run):
    """The arguments of a call in the structure of the example's, with the sizes and numbers of a run."""
    leaves, structure = pytree.tree_flatten(example)
    changed = []
    for leaf, name in zip(leaves, placeholders):
        if name in run["shapes"] and isinstance(leaf, torch.Tensor):
            shape = run["shapes"][name]
            changed.append(torch.zeros(shape, dtype=leaf.dtype) if not leaf.is_floating_point() else torch.randn(shape, dtype=leaf.dtype))
        else:
            changed.append((run.get("values") or {}).get(name, leaf))
    return pytree.tree_unflatten(changed, structure)


def tried(binary, folder):
    """Whether the fixed program exports, and the first difference of what it accepts; nothing if there is no fix."""
    truth = json.load(open(os.path.join(folder, "truth.json")))
    program = os.path.join(folder, "program.pt2")
    with tempfile.TemporaryDirectory() as scratch:
        spec = os.path.join(scratch, "spec.py")
        open(spec, "w").write(HEAD + truth["spec"])
        report = json.loads(sizewise(binary, "check", program, "--spec", spec, "--format", "json").stdout or "{}")
        fixes = [fix for fix in report.get("fixes") or [] if fix.get("assumptions")]
        if report.get("verdict") != "violated" or not fixes:
            return None
        fixed = os.path.join(scratch, "fixed.json")
        json.dump(fixes[0]["spec"], open(fixed, "w"))
        text = sizewise(binary, "spec", "show", fixed, "--as", "shapes").stdout
    names = {}
    exec(text, names)
    exported = torch.export.load(program)
    args, kwargs = exported.example_inputs
    module = exported.module()
    try:
        again = torch.export.export(module, args, kwargs, dynamic_shapes=names["dynamic_shapes"]).module()
    except Exception as error:
        return "does not export", f"{type(error).__name__}: {str(error).splitlines()[0][:160]}\n{text}"
    placeholders = exported.graph_signature.user_inputs
    for run in truth["runs"]:
        if not run.get("in_spec") or "exported" not in run:
            continue
        expected = admits(fixes[0]["assumptions"], run["at"]) and run["exported"] == "ok"
        new_args, new_kwargs = arguments_of((args, kwargs), placeholders, run)
        try:
            again(*new_args, **new_kwargs)
            took = True
        except Exception:
            took = False
        if took != expected:
            return "differs", f"{run['at']}: {'accepted' if took else 'refused'}, fix {fixes[0]['assumptions']}"
    return "exports", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("binary")
    parser.add_argument("--only")
    options = parser.parse_args()
    counts = {}
    for name in sorted(os.listdir(options.folder)):
        folder = os.path.join(options.folder, name)
        if options.only and options.only not in name or not os.path.exists(os.path.join(folder, "truth.json")):
            continue
        result = tried(options.binary, folder)
        if result is None:
            continue
        counts[result[0]] = counts.get(result[0], 0) + 1
        if result[1]:
            print(f"{name}: {result[0]}: {result[1]}")
    total = sum(counts.values())
    print(counts)
    few = counts.get("does not export", 0) * 20 > total
    sys.exit(1 if few or counts.get("differs") else 0)


if __name__ == "__main__":
    main()
