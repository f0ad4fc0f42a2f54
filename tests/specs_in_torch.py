#!/usr/bin/env python3
"""Does torch take what sizewise prints? Runs every fix and spec as Python, and exports with those of modules that can be made again.

    python tests/specs_in_torch.py --bin target/release/sizewise [FOLDER...]

needs torch 2.15. Run are: the text of each fix, pasted below the spec that it changes; the files of `check --fix`;
`spec init`, `spec widen` and `spec show`. They are of the programs in tests/data, and of each folder below a FOLDER that holds
`program.pt2` and `truth.json` (with the field `dynamic_shapes`). Each program is checked under its own spec, and under specs that name
each dynamic dimension and are too wide. The modules of tests/reexport.py are exported with each of these. Exits with status 1 if one does
not run or is refused. Figures: crates/check/MEASURED.md.
"""
import argparse
import collections
import json
import logging
import pathlib
import subprocess
import sys
import tempfile
import types
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "scripts")]

import torch
from torch.export import Dim, export
from torch.fx.experimental import dynamic_spec

import reexport

RANGES = [(0, None), (1, 64)]
#: The class of a named tuple among the inputs of `tests/data`: a spec imports it from where its user has it.
sys.modules["corpus"] = types.SimpleNamespace(NT=collections.namedtuple("NT", "p q"))
SHAPES = {name: getattr(dynamic_spec, name) for name in dynamic_spec.__all__}
#: What an export may need besides, as fixes say it.
OTHER_EXAMPLE = "export with an example"


class Sizewise:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder

    def run(self, *arguments):
        return subprocess.run([self.binary, *map(str, arguments)], capture_output=True, text=True)

    def spec(self, command, program):
        """A spec as Python; `None` if there is none."""
        return self.run("spec", command, program, "--as", "python").stdout or None

    def python(self, spec):
        path = self.folder / "shown.json"
        path.write_text(json.dumps(spec))
        form = "shapes" if isinstance(spec, dict) and "vars" in spec else "python"
        return self.run("spec", "show", path, "--as", form).stdout

    def fixes(self, program, spec):
        """The fixes of a spec, and the file that `--fix` writes."""
        path, fixed = self.folder / "spec.json", self.folder / "fixed.py"
        path.write_text(json.dumps(spec))
        fixed.unlink(missing_ok=True)
        report = json.loads(self.run("check", program, "--spec", path, "--format", "json").stdout or "{}")
        if report.get("verdict") != "violated" or not report["fixes"]:
            return [], None
        self.run("check", program, "--spec", path, "--fix", fixed)
        return report["fixes"], fixed.read_text() if fixed.exists() else None


def executed(text, names=None):
    """What a text assigns to `dynamic_shapes`, run as Python."""
    names = dict(names or {}, Dim=Dim, **SHAPES)
    exec(compile(text, "spec", "exec"), names)
    return names.get("dynamic_shapes")


def pasted(given, fix):
    """The spec as given, with the text of a fix below its dimensions."""
    dims, _, shapes = given.partition("dynamic_shapes = ")
    return f"{dims}\n{fix}\n\ndynamic_shapes = {shapes}"


def widened(spec, least, most, count):
    """The spec with a named dimension in each place that is dynamic."""
    if isinstance(spec, list):
        return [widened(entry, least, most, count) for entry in spec]
    if isinstance(spec, dict):
        if spec.keys() & {"dim", "derived", "hint"}:
            count[0] += 1
            return {"dim": f"d{count[0]}", "min": least, "max": most}
        return {key: widened(entry, least, most, count) for key, entry in spec.items()}
    if spec in ("AUTO", "DYNAMIC"):
        count[0] += 1
        return {"dim": f"d{count[0]}", "min": least, "max": most}
    return spec


def is_shapes(fix):
    """Whether a fix is a ShapesSpec."""
    return "vars" in fix["spec"]


class Tally:
    def __init__(self):
        self.counts, self.wrong = collections.Counter(), []

    def try_to(self, kind, what, text, action):
        self.counts[kind] += 1
        try:
            return action()
        except Exception as error:
            message = " ".join(str(error).split())[:240]
            self.wrong.append(f"{kind}: {what}: {'; '.join((text or '').strip().splitlines())[:300]}: {type(error).__name__}: {message}")
            return None


def execute(sizewise, tally, name, program, specs):
    """Runs what is printed for a program under specs."""
    for command in ("init", "widen", "show"):
        if text := sizewise.spec(command, program):
            tally.try_to(f"run spec {command}", name, text, lambda: executed(text))
    for spec in specs:
        fixes, file = sizewise.fixes(program, spec)
        given = sizewise.python(spec)
        for fix in fixes:
            tally.try_to("run fix", name, fix["text"], lambda: executed(pasted(given, fix["text"]), {"torch": torch}))
            text = fix["code"]
            tally.try_to("run fixed spec", name, text, lambda: executed(text))
        if file:
            tally.try_to("run --fix", name, file, lambda: executed(file))


def recorded(sizewise, program):
    return json.loads(sizewise.run("spec", "init", program).stdout or "null")


def sized_again(fixed, inputs, shapes):
    """Inputs in which no named dimension is 0 or 1."""
    found = {}
    reexport.roots(fixed, found)
    sizes = {dim: max(low, 3) for dim, (low, _) in found.items()}
    specs = [fixed.get(name) for name in shapes] if isinstance(shapes, dict) else fixed
    return tuple(reexport.sized(spec, value, sizes) for spec, value in zip(specs, inputs))


def reexported(sizewise, tally, case):
    """Exports a module with all that is printed for it."""
    name, program, make, shapes, inputs, options = case
    program = ROOT / program

    def attempt(kind, text, dynamic_shapes, example=inputs):
        torch.manual_seed(0)
        tally.try_to(kind, name, text, lambda: export(make(), example, dynamic_shapes=dynamic_shapes, **options))

    for command in ("init", "widen"):
        if text := sizewise.spec(command, program):
            attempt(f"export spec {command}", text, executed(text))
    own = recorded(sizewise, program)
    for least, most in RANGES:
        fixes, file = sizewise.fixes(program, widened(own, least, most, [0]))
        for place, fix in enumerate(fixes):
            needs_other = not is_shapes(fix) and OTHER_EXAMPLE in (fix.get("note") or "")
            example = sized_again(fix["spec"], inputs, shapes) if needs_other else inputs
            try:
                shown = executed(file) if place == 0 else executed(fix["code"]) if is_shapes(fix) else reexport.dims(fix["spec"], {})
            except Exception:
                continue  # counted where it is run
            attempt("export fix", fix["text"], shown, example)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=ROOT / "target/release/sizewise")
    parser.add_argument("--no-export", action="store_true")
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        sizewise = Sizewise(options.bin, pathlib.Path(folder))
        for path in sorted((ROOT / "tests/data").glob("*/*.pt2")):
            if path.stem in reexport.LEFT_OUT:
                continue
            own = recorded(sizewise, path)
            specs = [widened(own, *ends, [0]) for ends in RANGES] if own else []
            execute(sizewise, tally, path.stem, path, specs)
        for truth in sorted(path for folder in options.folders for path in folder.rglob("truth.json")):
            spec = json.loads(truth.read_text()).get("dynamic_shapes")
            if (truth.parent / "program.pt2").exists():
                execute(sizewise, tally, truth.parent.name, truth.parent / "program.pt2", [spec] if spec else [])
        if not options.no_export:
            for case in reexport.modules(folder):
                reexported(sizewise, tally, case)
    for line in tally.wrong:
        print(line)
    wrong = collections.Counter(line.split(":")[0] for line in tally.wrong)
    for kind, count in sorted(tally.counts.items()):
        print(f"{kind}: {count}, {wrong[kind]} refused")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
