#!/usr/bin/env python3
"""Is `sizewise spec widen` as wide as the fixes are?

    python tests/widen.py --bin target/release/sizewise FOLDER...

Every folder below a FOLDER that holds `program.pt2` and `truth.json` (with the field `dynamic_shapes`) is a program. Where its spec is
violated, every corner of the first fix is to be allowed by the spec that `spec widen` writes: the least and the next size of each
named dimension, the greatest, and one that is larger than the least. A size that the widest spec leaves to the program (`AUTO`) is
allowed. Where a condition allows several boxes, the two may also be different ones. Exits with status 1 if a widest spec is narrower.
"""
import argparse
import itertools
import json
import multiprocessing
import pathlib
import subprocess
import tempfile

OPERATORS = {"__builtins__": {}, "min": min, "max": max, "abs": abs}
MOST_CORNERS = 256


def run(binary, *arguments):
    return subprocess.run([binary, *arguments], capture_output=True, text=True).stdout


def check(binary, program, spec):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(spec, file)
        file.flush()
        return json.loads(run(binary, "check", program, "--spec", file.name, "--format", "json"))


def dims(report):
    """The named dimensions with their ranges."""
    named = [symbol for symbol in report["symbols"].values() if symbol["dim"]]
    return {symbol["dim"]: (symbol["min"] or 0, symbol["max"]) for symbol in named}


def corners(ranges):
    choices = []
    for least, most in ranges.values():
        far = least + 37 if most is None else min(most, least + 37)
        ends = {least, least + 1, far, far if most is None else most}
        choices.append(sorted(size for size in ends if most is None or size <= most))
    for sizes in itertools.islice(itertools.product(*choices), MOST_CORNERS):
        yield dict(zip(ranges, sizes))


def value(size, names):
    return eval(size, OPERATORS, names) if isinstance(size, str) else size


def allows(ranges, sizes):
    """Whether dimensions in these ranges allow sizes, given beside what a spec says of them."""
    known = {}
    for allowed, actual in sizes:
        if isinstance(allowed, int) and allowed != actual:
            return False
        if not isinstance(allowed, str):
            continue
        names = [name for name in ranges if name in compile(allowed, "size", "eval").co_names]
        if len(names) != 1:
            continue  # left to the program
        name = names[0]
        offset, step = value(allowed, {name: 0}), value(allowed, {name: 1}) - value(allowed, {name: 0})
        if (actual - offset) % step:
            return False
        root = (actual - offset) // step
        least, most = ranges[name]
        if root < least or most is not None and root > most or known.setdefault(name, root) != root:
            return False
    return True


def outside(first, second):
    """A corner of one spec that another does not allow."""
    ranges, others = dims(first), dims(second)
    other = {entry["name"]: entry["shape"] for entry in second["inputs"]}
    for corner in corners(ranges):
        sizes = []
        for entry in first["inputs"]:
            for size, allowed in zip(entry["shape"] or [], other.get(entry["name"]) or []):
                names = compile(size, "size", "eval").co_names if isinstance(size, str) else ()
                if all(name in corner for name in names):
                    sizes.append((allowed, value(size, corner)))
        if not allows(others, sizes):
            return corner
    return None


def one(job):
    binary, folder = job
    program = str(folder / "program.pt2")
    spec = json.loads((folder / "truth.json").read_text()).get("dynamic_shapes")
    if not spec:
        return None
    report = check(binary, program, spec)
    if report["verdict"] != "violated" or not report["fixes"]:
        return None
    fixed = check(binary, program, report["fixes"][0]["spec"])
    text = run(binary, "spec", "widen", program)
    if not text:
        return folder.name, "narrow", "there is no widest spec"
    widest = check(binary, program, json.loads(text))
    left_out = outside(fixed, widest)
    if left_out is None:
        return folder.name, "wide", ""
    # Of two boxes that a condition allows, neither holds the other: `a + b >= 10` has `a >= 3, b >= 7` and `a >= 7, b >= 3`.
    how = "narrow" if outside(widest, fixed) is None else "other"
    return folder.name, how, f"{left_out} is not allowed by {dims(widest)}; the fix: {'; '.join(report['fixes'][0]['text'].splitlines())}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="target/release/sizewise")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    found = sorted(path.parent for folder in options.folders for path in folder.rglob("program.pt2"))
    with multiprocessing.Pool(2) as pool:
        results = [r for r in pool.imap_unordered(one, [(options.bin, folder) for folder in found]) if r]
    for name, how, why in sorted(results):
        if how != "wide":
            print(f"{name}: {why}")
    count = {how: sum(r[1] == how for r in results) for how in ("wide", "other", "narrow")}
    print(
        f"{len(results)} programs with a fix: the widest spec allows the first fix in {count['wide']}, neither allows the other in "
        f"{count['other']}, it is narrower in {count['narrow']}"
    )
    raise SystemExit(bool(count["narrow"]))


if __name__ == "__main__":
    main()
