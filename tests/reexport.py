#!/usr/bin/env python3
"""Exports modules again with the first fix that sizewise proposes, and runs the corners of the fixed spec.

    python tests/reexport.py --bin target/release/sizewise

needs torch. The modules are those of reexport_models.py, scripts/make_user_programs.py and scripts/make_report_programs.py. Each is given a spec that is
too wide: a named dimension from 0 (and one from 1 to 64) in each place that torch may make dynamic. Where sizewise finds that
violated, the module is exported with the first fix as its dynamic_shapes. Then the exported module is called at the corners of
the fixed spec: the least and the next size of each dimension, and one that is larger than the example. Where the fix leaves sizes to
torch (Dim.AUTO), a corner runs if it does with some size there. Figures: crates/check/MEASURED.md.
"""
import argparse
import collections
import itertools
import json
import logging
import os
import subprocess
import sys
import tempfile
import warnings

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(ROOT, "scripts"))

import torch
from torch.export import Dim, export, save

import make_report_programs
import make_user_programs
import reexport_models

LEFT_OUT = {"deep"}  # it takes minutes to export
MOST_TRIED = 2_000


def modules(folder):
    for name, (make, inputs, places) in reexport_models.MODELS.items():
        shapes = [[Dim.AUTO if place == "*" else None for place in of_input] for of_input in places]
        path = os.path.join(folder, f"{name}.pt2")
        save(export(make(), inputs, dynamic_shapes=shapes), path)
        yield name, path, make, shapes, inputs, {}
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
            elif isinstance(entry, dict) and entry.get("place") in sizes:
                shape[i] = sizes[entry["place"]]
        # Integers may be places in something that has one place.
        make = torch.ones if value.dtype.is_floating_point else torch.zeros
        return value.clone() if shape == list(value.shape) else make(*shape, dtype=value.dtype)
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


def with_places(spec, found):
    """The spec with a name for each size that it leaves to torch."""
    if spec in ("AUTO", "DYNAMIC") or isinstance(spec, dict) and "hint" in spec:
        found.append(f"?{len(found)}")
        return {"place": found[-1]}
    if isinstance(spec, list):
        return [with_places(entry, found) for entry in spec]
    if isinstance(spec, dict) and "dim" not in spec and "derived" not in spec:
        return {key: with_places(entry, found) for key, entry in spec.items()}
    return spec


def completed(sizes, left):
    """The sizes of a corner with sizes for what is left to torch: those of the example first, then what may be inferred."""
    yield sizes
    values = list(sizes.values()) + [1]
    likely = {f(a, b) for a in values for b in values for f in (int.__add__, int.__mul__)} | set(range(65))
    for chosen in itertools.islice(itertools.product(sorted(likely), repeat=len(left)), MOST_TRIED if left else 0):
        yield {**sizes, **dict(zip(left, chosen))}


def check(binary, program, spec):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(spec, file)
        file.flush()
        out = subprocess.run(
            [binary, "check", os.path.join(ROOT, program), "--spec", file.name, "--format", "json"],
            capture_output=True, text=True,
        )
    return json.loads(out.stdout)


def one(binary, case, least, most):
    """What comes of the first fix for a spec with these bounds; `None` where there is none to try."""
    name, program, make, shapes, inputs, export_options = case
    report = check(binary, program, wide(shapes, least, most, itertools.count()))
    if report["verdict"] != "violated":
        return None
    if not report["fixes"]:
        print(f"{name} from {least}: no fix: {report['help']}")
        return "no fix"
    fixed = report["fixes"][0]["spec"]
    text = report["fixes"][0]["text"].replace("\n", "; ")
    names = list(shapes) if isinstance(shapes, dict) else []

    def call(sizes):
        by_name = [fixed.get(n) for n in names] if names else fixed
        return tuple(sized(s, v, sizes) for s, v in zip(by_name, inputs))

    example = inputs
    if (report["fixes"][0].get("note") or "").startswith("export with an example"):
        # The fix asks for an example in which no dimension is 0 or 1.
        found = {}
        roots(fixed, found)
        example = call({dim: max(low, 3) for dim, (low, _) in found.items()})
    refusal = None
    try:
        exported = export(make(), example, dynamic_shapes=dims(fixed, {}), **export_options).module()
    except Exception as error:
        refusal = str(error).strip().splitlines()
        print(f"{name} from {least}: refused: {text}: {' '.join(refusal[:2])[:300]}")
        # Is the fix wrong, or torch's check of it too weak? Let torch infer the sizes.
        exported = export(make(), inputs, dynamic_shapes=shapes, **export_options).module()
    left = []
    fixed = with_places(fixed, left)
    for sizes in corners(fixed):
        errors = []
        for at in completed(sizes, left):
            try:
                exported(*call(at))
                break
            except Exception as error:
                errors.append(str(error).strip().splitlines()[0][:160])
        else:
            print(f"{name} from {least}: {text}: at {sizes}: {errors[0]}")
            return "refused, fails" if refusal else "fails"
    return "refused, runs" if refusal else "runs"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "target/release/sizewise"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.getLogger("torch.export").setLevel(logging.ERROR)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        cases = list(modules(folder))
        ends = [one(options.bin, case, *bounds) for case in cases for bounds in ((0, None), (1, 64))]
    count = collections.Counter(end for end in ends if end)
    fixes = sum(count.values()) - count["no fix"]
    accepted = count["runs"] + count["fails"]
    print(f"{len(cases)} modules, {fixes} first fixes ({count['no fix']} specs without a fix)")
    print(f"{accepted} accepted by torch {torch.__version__} ({accepted / fixes:.1%})")
    print(f"all corners run in {count['runs']} ({count['runs'] / fixes:.1%} of the fixes)")
    print(f"{fixes - accepted} refused; an export with Dim.AUTO runs at all corners of {count['refused, runs']} of those")


if __name__ == "__main__":
    main()
