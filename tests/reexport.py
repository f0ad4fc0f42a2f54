#!/usr/bin/env python3
"""Exports modules again with the first fix that sizewise proposes, and runs the corners of the fixed spec.

    python tests/reexport.py --bin target/release/sizewise

needs torch. The modules are those of scripts/make_user_programs.py and scripts/make_report_programs.py. Each is given a spec that is
too wide: a named dimension from 0 (and one from 1 to 64) in each place that torch may make dynamic. Where sizewise finds that
violated, the module is exported with the first fix as its dynamic_shapes. Then the exported module is called at the corners of
the fixed spec: the least and the next size of each dimension, and one that is larger than the example. Figures: docs/reports.md.
"""
import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import warnings

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(ROOT, "scripts"))

import torch
from torch.export import Dim, export

import make_report_programs
import make_user_programs

LEFT_OUT = {"deep"}  # it takes minutes to export


def modules():
    for name, (cls, shapes, inputs, options) in make_user_programs.PROGRAMS.items():
        yield name, f"tests/data/users/{name}.pt2", cls, shapes, inputs, options
    for name, (module, inputs, shapes) in make_report_programs.PROGRAMS.items():
        if name not in LEFT_OUT:
            yield name, f"tests/data/reports/{name}.pt2", lambda module=module: module, shapes, inputs, {}


def is_dynamic(entry):
    return entry in (Dim.AUTO, Dim.DYNAMIC)


def wide(shapes, least, most, count):
    """The spec as JSON with a named dimension in each dynamic place."""
    if isinstance(shapes, dict):
        return {key: wide(value, least, most, count) for key, value in shapes.items()}
    if isinstance(shapes, (list, tuple)):
        return [wide(value, least, most, count) for value in shapes]
    return {"dim": f"d{next(count)}", "min": least, "max": most} if is_dynamic(shapes) else None


def dims(spec, known):
    """A spec in JSON as torch's dynamic_shapes."""
    if isinstance(spec, list):
        return [dims(entry, known) for entry in spec]
    if not isinstance(spec, dict):
        return getattr(Dim, spec) if isinstance(spec, str) else spec
    if "hint" in spec:
        bounds = {key: spec[key] for key in ("min", "max") if spec.get(key) is not None}
        return getattr(Dim, spec["hint"])(**bounds) if bounds else getattr(Dim, spec["hint"])
    if "derived" in spec:
        root = dims(spec["root"], known)
        return eval(spec["derived"], {}, {spec["root"]["dim"]: root})
    if "dim" in spec:
        if spec["dim"] not in known:
            bounds = {key: spec[key] for key in ("min", "max") if spec.get(key) is not None}
            known[spec["dim"]] = Dim(spec["dim"], **bounds)
        return known[spec["dim"]]
    return {key: dims(entry, known) for key, entry in spec.items()}


def roots(spec, found):
    if isinstance(spec, list):
        for entry in spec:
            roots(entry, found)
    elif isinstance(spec, dict):
        if "dim" in spec:
            found[spec["dim"]] = (spec.get("min") or 0, spec.get("max"))
        else:
            for entry in spec.values():
                roots(entry, found)


def sized(spec, value, sizes):
    """An input with the sizes of a corner: as the example where the spec says nothing of them."""
    if isinstance(value, torch.Tensor):
        shape = list(value.shape)
        for i, entry in enumerate(spec or []):
            if isinstance(entry, dict) and "dim" in entry:
                shape[i] = sizes[entry["dim"]]
            elif isinstance(entry, dict) and "derived" in entry:
                shape[i] = eval(entry["derived"], {}, sizes)
        return value.clone() if shape == list(value.shape) else torch.ones(*shape, dtype=value.dtype)
    if isinstance(value, (list, tuple)):
        return type(value)(sized(s, v, sizes) for s, v in zip(spec, value)) if isinstance(spec, list) else value
    if isinstance(value, dict):
        return {key: sized(spec.get(key) if isinstance(spec, dict) else None, v, sizes) for key, v in value.items()}
    return value


def corners(spec):
    found = {}
    roots(spec, found)
    choices = []
    for least, most in found.values():
        far = min(most, least + 37) if most is not None else least + 37
        choices.append(sorted({least, min(least + 1, far), far}))
    for sizes in itertools.islice(itertools.product(*choices), 64):
        yield dict(zip(found, sizes))


def check(binary, program, spec):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(spec, file)
        file.flush()
        out = subprocess.run(
            [binary, "check", os.path.join(ROOT, program), "--spec", file.name, "--format", "json"],
            capture_output=True, text=True,
        )
    return json.loads(out.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "target/release/sizewise"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    fixes = accepted = all_corners = right = 0
    for name, program, make, shapes, inputs, export_options in modules():
        for least, most in ((0, None), (1, 64)):
            spec = wide(shapes, least, most, itertools.count())
            report = check(options.bin, program, spec)
            if report["verdict"] != "violated" or not report["fixes"]:
                if report["verdict"] == "violated":
                    print(f"{name} from {least}: no fix: {report['help']}")
                continue
            fixes += 1
            fixed = report["fixes"][0]["spec"]
            text = report["fixes"][0]["text"].replace("\n", "; ")
            names = list(shapes) if isinstance(shapes, dict) else []

            def call(sizes):
                by_name = [fixed.get(n) for n in names] if names else fixed
                return tuple(sized(s, v, sizes) for s, v in zip(by_name, inputs))

            example = inputs
            if report["fixes"][0].get("note"):
                # The fix asks for an example in which no dimension is 0 or 1.
                found = {}
                roots(fixed, found)
                example = call({dim: max(low, 3) for dim, (low, _) in found.items()})
            refusal = None
            try:
                exported = export(make(), example, dynamic_shapes=dims(fixed, {}), **export_options).module()
                accepted += 1
            except Exception as error:
                refusal = str(error).strip().splitlines()
                # Is the fix wrong, or torch's check of it too weak? Let torch infer the sizes.
                exported = export(make(), inputs, dynamic_shapes=shapes, **export_options).module()
            failed = None
            for sizes in corners(fixed):
                try:
                    exported(*call(sizes))
                except Exception as error:
                    failed = f"{sizes}: {str(error).strip().splitlines()[0][:160]}"
                    break
            all_corners += failed is None and refusal is None
            right += failed is None and refusal is not None
            if refusal:
                print(f"{name} from {least}: refused: {text}: {' '.join(refusal[:2])[:300]}")
            if failed:
                print(f"{name} from {least}: {text}: at {failed}")
    print(f"{fixes} first fixes; {accepted} accepted by torch {torch.__version__}; of those, all corners run in {all_corners}")
    print(f"{fixes - accepted} refused; an export with Dim.AUTO runs at all corners of {right} of those")


if __name__ == "__main__":
    main()
