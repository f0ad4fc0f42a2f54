"""Contracts of programs, evaluated in Rust, C, C++ and Python, beside `sizewise eval` at random shapes.

    python scripts/contracts_beside_eval.py SIZEWISE [--calls N] [--programs N] FOLDER...

Of each program below the folders whose inputs are tensors and whose contract is complete, N shapes are drawn: sizes near
those that satisfy the contract, equal ones, small ones, and some that are far off. The languages have to agree on all.
A contract may refuse sizes 0 and 1, and sizes so large that a condition does not fit 64 bits, that `eval` accepts.
"""

import argparse
import base64
import collections
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DRIVERS = ROOT / "proptests"


def drivers(folder):
    """A command for each language."""
    include = ROOT / "crates/contract/include"
    source = DRIVERS / "contract_driver.c"
    run = lambda *command: subprocess.run(
        [str(part) for part in command], check=True, cwd=folder
    )
    run("cc", "-std=c99", "-O2", "-I", include, source, "-o", "in_c")
    run(
        "c++",
        "-x",
        "c++",
        "-std=c++17",
        "-fno-exceptions",
        "-fno-rtti",
        "-O2",
        "-I",
        include,
        source,
        "-o",
        "in_cpp",
    )
    run(
        "rustc",
        "--edition=2024",
        "-O",
        "--crate-type=rlib",
        "--crate-name=sizewise_contract",
        ROOT / "crates/contract/src/lib.rs",
    )
    run(
        "rustc",
        "--edition=2024",
        "-O",
        "--extern=sizewise_contract=libsizewise_contract.rlib",
        DRIVERS / "contract_driver.rs",
        "-o",
        "in_rust",
    )
    python = [
        sys.executable,
        DRIVERS / "contract_driver.py",
        ROOT / "python/sizewise/_contract.py",
    ]
    return {
        "C": [folder / "in_c"],
        "C++": [folder / "in_cpp"],
        "Rust": [folder / "in_rust"],
        "Python": python,
    }


def drawn(rng, document, count):
    """Shapes by input: the sizes of one call share a few numbers, and single ones differ."""
    shapes = [entry["sizes"] for entry in document["inputs"]]
    names = sorted(
        {size for sizes in shapes for size in sizes if isinstance(size, str)}
    )
    for _ in range(count):
        common = rng.choice([1, 2, 3, 4, 8]) * rng.randint(0, 12)
        values = {}
        for name in names:
            values[name] = rng.choice(
                [
                    common,
                    common,
                    rng.randint(0, 4),
                    rng.randint(2, 33),
                    rng.randint(2, 130),
                    1 << rng.randint(0, 30),
                ]
            )
        call = [[values.get(size, size) for size in sizes] for sizes in shapes]
        if rng.random() < 0.1:
            sizes = rng.choice([sizes for sizes in call if sizes] or [[0]])
            sizes[rng.randrange(len(sizes))] += 1
        yield call


def asked(languages, contract, calls, folder):
    """What each language says of the calls."""
    numbers = [len(contract), len(calls), len(calls[0])]
    for call in calls:
        for sizes in call:
            numbers += [len(sizes), *sizes]
    body = struct.pack(f"<{len(numbers)}q", *numbers)
    path = folder / "calls"
    path.write_bytes(struct.pack("<2q", 1, len(body)) + body + contract)
    answers = {}
    for language, command in languages.items():
        made = subprocess.run(
            [*map(str, command), str(path)], capture_output=True, text=True, check=True
        )
        answers[language] = [line == "1" for line in made.stdout.split()]
    return answers


def evaluated(binary, program, names, calls):
    lines = "".join(
        json.dumps({"id": i, "shapes": dict(zip(names, call))}) + "\n"
        for i, call in enumerate(calls)
    )
    made = subprocess.run(
        [binary, "eval", str(program)], input=lines, capture_output=True, text=True, check=False
    )
    return [json.loads(line) for line in made.stdout.splitlines()]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("sizewise")
    arguments.add_argument("--calls", type=int, default=5000)
    arguments.add_argument("--programs", type=int, default=200)
    arguments.add_argument("folders", nargs="+", type=pathlib.Path)
    arguments = arguments.parse_args()
    counts, wrong, programs = collections.Counter(), [], 0
    paths = sorted(
        path for folder in arguments.folders for path in folder.rglob("*.pt2")
    )
    random.Random(1).shuffle(paths)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        languages = drivers(folder)
        for path in paths:
            if programs == arguments.programs:
                break
            made = subprocess.run(
                [arguments.sizewise, "guards", str(path), "--emit", "contract"],
                capture_output=True,
                text=True,
                check=False,
            )
            document = (
                json.loads(made.stdout) if made.returncode == 0 else {"complete": False}
            )
            if not document["complete"] or not document["variables"]:
                continue
            if any(
                entry["kind"] != "tensor"
                or not all(
                    isinstance(size, int) or size.isidentifier()
                    for size in entry["sizes"]
                )
                for entry in document["inputs"]
            ):
                continue
            calls = list(
                drawn(random.Random(str(path.name)), document, arguments.calls)
            )
            names = [entry["name"] for entry in document["inputs"]]
            answers = asked(
                languages, base64.b64decode(document["compact"]), calls, folder
            )
            results = evaluated(arguments.sizewise, path, names, calls)
            if len(results) != len(calls):
                continue
            programs += 1
            for at, (call, result) in enumerate(zip(calls, results)):
                said = {language: answer[at] for language, answer in answers.items()}
                accepts, runs = said["Rust"], result["ok"]
                counts["calls"] += 1
                counts["accepted" if accepts else "refused"] += 1
                sizes = [size for shape in call for size in shape]
                if len(set(said.values())) > 1:
                    wrong.append(f"{path}: {call}: {said}")
                elif (
                    accepts and not runs and result.get("expr") != "int64 element count"
                ):
                    wrong.append(
                        f"{path}: {call}: accepted, eval: {result['error'][:160]}"
                    )
                elif runs and not accepts:
                    is_cautious = min(sizes, default=0) < 2 or max(sizes) > 1 << 12
                    counts[
                        "refused with caution"
                        if is_cautious
                        else "refused though it runs"
                    ] += 1
                    if not is_cautious:
                        wrong.append(f"{path}: {call}: refused, and it runs")
    for line in wrong[:40]:
        print(line)
    print(f"{programs} programs: {dict(counts)}; {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
