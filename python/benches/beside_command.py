"""Whether a check of a live program says what the command line says of its archive.

`python benches/beside_command.py [--every N] [--ops FILE] [--bin PROGRAM] FOLDER...`: every archive that torch loads is
checked twice, under its own contract and under the spec recorded beside it. Compared are the verdict, the guards, the
conditions with their verdicts, and the counterexamples. Where they differ, the live program is written by torch
and read again: if that agrees with the live check, torch changed the program when it loaded the archive.
"""

import argparse
import json
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from recorded import archives, loaded, truth

import sizewise
from sizewise._program_json import serialized_by_torch


def said(report: dict[str, Any]) -> dict[str, Any]:
    """What is compared of a report."""
    violations = [g for g in report["guards"] if g["verdict"] == "violated"]
    return {
        "verdict": report["verdict"],
        "guards": report["minimal_guards"],
        "conditions": sorted((g["shown"], g["verdict"]) for g in report["guards"]),
        "counterexamples": sorted((g["shown"], json.dumps(g["inputs"], sort_keys=True)) for g in violations),
    }


class Command:
    """The command line."""

    def __init__(self, program: str, ops: list[str], work: Path) -> None:
        self.program, self.work = program, work
        self.options = [text for path in ops for text in ("--ops", path)]

    def check(self, path: Path, spec: Any) -> dict[str, Any]:
        """What it says of a file."""
        command = [self.program, "check", str(path), "--format", "json", *self.options]
        if spec is not None:
            (self.work / "spec.json").write_text(json.dumps(spec))
            command += ["--spec", str(self.work / "spec.json")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return said(json.loads(done.stdout)) if done.stdout else {"error": done.stderr.strip()}


def live(program: Any, spec: Any, ops: list[str]) -> dict[str, Any]:
    """What a check of the live program says."""
    try:
        return said(sizewise.check(program, spec, ops=ops).to_dict())
    except sizewise.SizewiseError as error:
        return {"error": str(error)}


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """The parts that differ. A spec that cannot be read is an exception here, and a verdict there."""
    if "error" in ours or "error" in theirs:
        refused = ["error" in said or said["verdict"] == "invalid" for said in (ours, theirs)]
        return [] if all(refused) else ["error"]
    return [part for part in ours if ours[part] != theirs[part]]


def shown(part: str, ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """What each says that the other does not."""
    one, other = ours.get(part), theirs.get(part)
    if isinstance(one, list) and isinstance(other, list):
        one, other = [x for x in one if x not in other], [x for x in other if x not in one]
    return f"    {part}: live {str(one)[:300]}; command line {str(other)[:300]}"


def cause(program: Any, ours: dict[str, Any], command: Command, spec: Any) -> str:
    """Why they differ."""
    again = command.work / "again.json"
    try:
        again.write_text(serialized_by_torch(program))
    except Exception as error:
        return f"unknown, torch does not write it again ({type(error).__name__})"
    return "the walk differs" if differences(ours, command.check(again, spec)) else "torch changed it when loading"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folders", nargs="+")
    arguments.add_argument("--every", type=int, default=1)
    arguments.add_argument("--ops", action="append", default=[])
    arguments.add_argument("--bin", default="sizewise")
    options = arguments.parse_args()
    tally: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        command = Command(options.bin, options.ops, Path(folder))
        for path, program, refusal in loaded(archives(options.folders, options.every)):
            if refusal is not None:
                refused[refusal] += 1
                continue
            tally["programs"] += 1
            recorded = truth(path).get("dynamic_shapes")
            wrong = set()
            for under, spec in (("own contract", None), ("recorded spec", recorded)):
                if under == "recorded spec" and recorded is None:
                    continue
                tally["checks"] += 1
                ours, theirs = live(program, spec, options.ops), command.check(path, spec)
                parts = differences(ours, theirs)
                if not parts:
                    continue
                kind = cause(program, ours, command, spec)
                wrong.add(kind)
                print(f"{path}, {under}: {kind}", *(shown(part, ours, theirs) for part in parts), sep="\n", flush=True)
            tally.update(wrong)
            tally["programs that differ"] += bool(wrong)
    for reason, count in refused.most_common():
        print(f"not loaded by torch: {count} {reason}")
    print(", ".join(f"{name}: {count}" for name, count in tally.items()))


if __name__ == "__main__":
    main()
