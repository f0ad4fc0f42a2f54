#!/usr/bin/env python3
"""Measures the reports of `sizewise check` over programs whose spec is violated.

    scripts/measure_reports.py --bin target/release/sizewise FOLDER...

Every folder below a FOLDER that holds `program.pt2` and `truth.json` (with the field `dynamic_shapes`) is a program. For
each one whose spec is violated, it counts

- errors, and those that name a line of the user's code with its text (where the program carries stack traces);
- counterexamples with a size of 0, or above 10,000, although sizes from 1 to 10,000 break the condition too;
- counterexamples that break only their own condition and what follows from it;
- programs, and the errors in them, with a fix that is `ok` when it is checked as a spec of its own, with a sentence why there
  is none, or with neither;
- lines of text.
"""
import argparse
import collections
import itertools
import json
import math
import multiprocessing
import pathlib
import re
import subprocess
import tempfile
import zipfile

SMALL = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 100, 128, 129, 257, 1025, 10000]


def where(*cases):
    return next(value for value, condition in cases if condition)


NAMES = {
    "Eq": lambda a, b: a == b, "Ne": lambda a, b: a != b, "Min": min, "Max": max, "min": min, "max": max,
    "Abs": abs, "abs": abs, "Mod": lambda a, b: a % b, "PythonMod": lambda a, b: a % b,
    "FloorDiv": lambda a, b: a // b, "CleanDiv": lambda a, b: a // b,
    "ModularIndexing": lambda a, b, c: a // b % c, "Where": lambda c, a, b: a if c else b, "Piecewise": where,
    "And": lambda *a: all(a), "Or": lambda *a: any(a), "Not": lambda a: not a, "ToFloat": float,
    "IntTrueDiv": lambda a, b: a / b, "FloatTrueDiv": lambda a, b: a / b, "TruncToInt": math.trunc,
    "FloorToInt": math.floor, "CeilToInt": math.ceil, "RoundToInt": round, "OpaqueUnaryFn_sqrt": math.sqrt,
    "math": math, "int": int, "float": float, "round": round, "true": True, "false": False,
}


def holds(expr, sizes):
    """Whether a condition holds at these sizes; None if that cannot be evaluated here."""
    try:
        return bool(eval(expr, {"__builtins__": {}}, {**NAMES, **sizes}))
    except Exception:
        return None


def run(binary, program, *options):
    out = subprocess.run([binary, "check", program, *options], capture_output=True, text=True)
    return out.stdout


def check(binary, program, spec, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(spec, file)
        file.flush()
        return run(binary, program, "--spec", file.name, *options)


FRAME = re.compile(r'File "([^"]+)", line \d+, in [^\n]*\n +\S')
TORCH = re.compile(r"^<|^torch/|(site|dist)-packages/torch/|/torch/_|/torch/nn/modules/")


def traces(node):
    """The stack traces in a model, those of nested graphs included."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "stack_trace" and isinstance(value, str):
                yield value
            else:
                yield from traces(value)
    elif isinstance(node, list):
        for value in node:
            yield from traces(value)


def has_traces(program):
    """Whether some node has a frame outside torch with the text of its line."""
    with zipfile.ZipFile(program) as archive:
        models = [name for name in archive.namelist() if "/models/" in name and name.endswith(".json")]
        found = (trace for name in models for trace in traces(json.loads(archive.read(name))))
        return any(not TORCH.search(file) for trace in found for file in FRAME.findall(trace))


def sizes_of(report, witness):
    sizes = {name: symbol["hint"] for name, symbol in report["symbols"].items()}
    sizes.update(witness or {})
    return sizes


def flat(inputs):
    for shape in (inputs or {}).values():
        yield from shape if isinstance(shape, list) else []


def is_absurd(report, guard):
    """Whether a counterexample has a size that nobody would try although others break the condition too."""
    odd = [size for size in flat(guard["inputs"]) if isinstance(size, int) and (size == 0 or size > 10_000)]
    if not odd:
        return False
    sizes = sizes_of(report, guard["witness"])
    # Static sizes, and those of the example, are as they are.
    given = [s for i in report["inputs"] for s in i["shape"] or []] + [s["hint"] for s in report["symbols"].values()]
    if all(size in given for size in odd):
        return False
    symbols = [name for name in sizes if name in guard["expr"]]
    ranges = []
    for name in symbols[:3]:
        low, high = report["symbols"].get(name, {}).get("min"), report["symbols"].get(name, {}).get("max")
        near = [sizes[name], *SMALL, *range(1, 130)] if len(symbols) < 3 else [sizes[name], *SMALL]
        hint = report["symbols"].get(name, {}).get("hint")
        near += [hint] if isinstance(hint, int) else []
        inside = {v for v in near if isinstance(v, int) and 0 < v <= 10_000}
        ranges.append(sorted(v for v in inside if (low is None or v >= low) and (high is None or v <= high)))
    for point in itertools.product(*ranges):
        if holds(guard["expr"], {**sizes, **dict(zip(symbols, point))}) is False:
            return True
    return False


def measure(job):
    binary, folder = job
    program = str(folder / "program.pt2")
    truth = json.loads((folder / "truth.json").read_text())
    spec = truth.get("dynamic_shapes")
    if spec is None or truth.get("program_from") not in ("spec", "auto"):
        return None
    report = json.loads(check(binary, program, spec, "--format", "json") or "null")
    if report is None or report["verdict"] != "violated":
        return None
    text = check(binary, program, spec)
    count = collections.Counter(programs=1, **{"lines of text": len(text.splitlines())})
    notes = []
    broken = [guard for guard in report["guards"] if guard["verdict"] == "violated"]
    errors = [guard for guard in broken if not guard["follows"]]
    traced = has_traces(program)
    for guard in errors:
        count["errors"] += 1
        if traced:
            count["errors with traces"] += 1
            named = bool(guard["location"] and guard["code"])
            count["errors with traces that name a line with its text"] += named
            if not named:
                notes.append(("no line", guard["shown"], guard["cause"], guard["node"]))
        if guard["inputs"] is None:
            continue
        count["counterexamples"] += 1
        if is_absurd(report, guard):
            count["counterexamples with a needless 0 or more than 10,000"] += 1
            notes.append(("absurd", guard["shown"], guard["inputs"]))
        sizes = sizes_of(report, guard["witness"])
        others = [g["shown"] for g in errors if g is not guard and holds(g["expr"], sizes) is False]
        count["counterexamples that break their own condition only"] += not others
        if others:
            notes.append(("others", guard["shown"], guard["inputs"], others[:4]))
        own = guard["shown"] in (guard["consequence"] or "") or (guard["node"] or "?") in (guard["consequence"] or "")
        count["consequences about their own condition"] += own
        if not own:
            notes.append(("consequence", guard["shown"], guard["consequence"]))
    count["errors"] += len(report["mismatches"])
    fixes = [fix for fix in report["fixes"] if fix["spec"] is not None]
    if fixes:
        again = [json.loads(check(binary, program, fix["spec"], "--format", "json"))["verdict"] for fix in fixes]
        count["programs with a fix"] += 1
        count["errors with a fix that checks ok"] += (len(errors) + len(report["mismatches"])) * ("ok" in again)
        count["fixes"] += len(fixes)
        count["fixes that check ok"] += again.count("ok")
        if any(verdict != "ok" for verdict in again):
            notes.append(("fix not ok", again))
    elif any(help.startswith("no fix: ") for help in report.get("help", [])):
        count["programs with a reason why there is no fix"] += 1
        count["errors with a reason why there is no fix"] += len(errors) + len(report["mismatches"])
        notes.append(("no fix", report["help"]))
    else:
        count["programs with neither"] += 1
        notes.append(("no fix and no reason",))
    return folder.name, count, notes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="target/release/sizewise")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--notes", help="write what is below the mark to this file")
    parser.add_argument("--only", help="a part of the programs' names")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    programs = sorted(p.parent for folder in options.folders for p in folder.rglob("truth.json"))
    programs = [p for p in programs if (p / "program.pt2").exists() and (options.only or "") in p.name]
    total, notes = collections.Counter(), []
    with multiprocessing.Pool(options.jobs) as pool:
        for found in pool.imap_unordered(measure, [(options.bin, p) for p in programs]):
            if found:
                total.update(found[1])
                notes.append(found)
    for name, number in total.items():
        print(f"{number:6}  {name}")
    if options.notes:
        with open(options.notes, "w") as file:
            for name, count, lines in sorted(notes, key=lambda found: found[0]):
                print(f"{name}: {count['errors']} errors, {count['lines of text']} lines", file=file)
                for line in lines:
                    print("   ", *line, file=file)


if __name__ == "__main__":
    main()
