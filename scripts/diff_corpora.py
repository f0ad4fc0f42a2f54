#!/usr/bin/env python3
"""Measures `sizewise diff` on all pairs of variants of one program, both ways round. Needs the standard library only.

    scripts/diff_corpora.py FOLDER... [--bin target/release/sizewise] [--only NAME] [--show 4] [--json FILE]

A folder holds programs: NAME/program.pt2 with NAME/truth.json, at any depth, or NAME.pt2. Programs of one folder whose
names share the part before `__` are variants of each other.

- Verdicts: `runs` in truth.json says at which sizes the exported module ran and where it refused. Where a run is recorded
  of one of the two only, `sizewise eval` is asked of the other. A size that OLD takes and NEW refuses makes `equal` and
  `wider` wrong, and the other way round.
- Examples: `sizewise eval` accepts each in one program and refuses it in the other; outputs named as different are what
  it answers, and differ.
- Time: the processor time and the time on the clock of a process a pair.

The exit status is 1 if a verdict or an example is wrong, more than 5% are undecided, or the median is above 10 ms.
"""

import argparse
import collections
import json
import re
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

MOST_UNDECIDED = 0.05
MOST_MILLISECONDS = 10.0
# What an exported module says of values, not of sizes, or where torch cannot call it: a run that ends so shows nothing.
NOT_OF_SIZES = ("out of bounds", "INDICES", "out of range", "offsets[0]", "Expected index", "target length", "batch index",
                "input_lengths", "invalid max index", "NameError")


class Variant:
    """A program with what is recorded of it."""

    def __init__(self, name: str, path: Path, binary: str) -> None:
        self.name, self.path, self.binary = name, path, binary
        truth = path.parent / "truth.json" if path.name == "program.pt2" else path.with_suffix(".json")
        self.truth = json.loads(truth.read_text()) if truth.exists() else {}
        inputs = set(re.findall(r"u\d+", json.dumps(self.truth.get("inputs", ()))))
        # What names a number that data decide.
        named = set(re.findall(r"u\d+", " ".join(self.truth.get("range_constraints") or ()))) - inputs
        self.of_data = re.compile("|".join(rf"\b{name}\b" for name in sorted(named)) or "(?!)")
        self.known = {key(request): self.taken(run) for run in self.truth.get("runs", ())
                      if (request := request_of(run)) is not None}

    def taken(self, run: dict) -> bool | None:
        """Whether the exported module takes the sizes of a run; `None` where that is not recorded."""
        said = run.get("exported")
        if run.get("infeasible") or not isinstance(said, str):
            return None
        if said == "ok":
            # Sizes outside the recorded ranges run too, as long as nothing checks them.
            return True if run.get("accepted", True) else None
        return None if any(word in said for word in NOT_OF_SIZES) or self.of_data.search(said) else False

    def answers(self, requests: list[dict]) -> list[dict]:
        """What `sizewise eval` says of each request."""
        if not requests:
            return []
        text = "".join(json.dumps({"id": at, **request}) + "\n" for at, request in enumerate(requests))
        done = subprocess.run([self.binary, "eval", self.path], input=text, capture_output=True, text=True, check=False)
        found = {}
        for line in done.stdout.splitlines():
            answer = json.loads(line)
            found[answer.get("id")] = answer
        return [found.get(at, {}) for at in range(len(requests))]

    def takes(self, requests: list[dict]) -> list[bool | None]:
        """Whether it takes each request: as recorded, or as `sizewise eval` says."""
        asked = [request for request in requests if self.known.get(key(request)) is None]
        answered = {key(r): a.get("ok") if a.get("error_kind") is None else None
                    for r, a in zip(asked, self.answers(asked), strict=True)}
        return [self.known[k] if self.known.get(k := key(request)) is not None else answered[k] for request in requests]


def key(request: dict) -> str:
    return json.dumps(request, sort_keys=True)


def request_of(run: dict) -> dict | None:
    """The request of `sizewise eval` for a run."""
    if not isinstance(run.get("shapes"), dict):
        return None
    return {"shapes": run["shapes"], "scalars": run["values"]} if run.get("values") else {"shapes": run["shapes"]}


def variants(folder: Path, binary: str, only: str | None) -> list[list[Variant]]:
    groups = collections.defaultdict(list)
    for path in sorted(folder.rglob("*.pt2")):
        name = path.parent.name if path.name == "program.pt2" else path.stem
        if only is None or only in name:
            groups[name.split("__")[0]].append(Variant(name, path, binary))
    return [group for group in groups.values() if len(group) > 1]


def compare(binary: str, old: Variant, new: Variant) -> tuple[dict | None, str, float, float]:
    """The answer, what went wrong, and the time in milliseconds: of the processor and on the clock."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([binary, "diff", old.path, new.path, "--format", "json"], capture_output=True, text=True, check=False)
    clock, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    try:
        return json.loads(done.stdout), "", 1000 * spent, 1000 * clock
    except ValueError:
        return None, done.stderr.strip().splitlines()[-1][:160] if done.stderr else "", 1000 * spent, 1000 * clock


def wrong_verdict(verdict: str, old: Variant, new: Variant) -> dict | None:
    """A call that shows that the verdict is wrong."""
    names = [[row["name"] for row in side.truth.get("inputs", ())] for side in (old, new)]
    if names[0] != names[1]:
        return None
    requests = {key(r): r for side in (old, new) for run in side.truth.get("runs", ()) if (r := request_of(run)) is not None}
    requests = list(requests.values())
    for request, before, after in zip(requests, old.takes(requests), new.takes(requests), strict=True):
        is_lost, is_won = before is True and after is False, before is False and after is True
        if is_lost and verdict in ("equal", "wider") or is_won and verdict == "equal":
            return {"verdict": verdict, "at": request, "old": before, "new": after}
    return None


def wrong_example(answer: dict, old: Variant, new: Variant) -> dict | None:
    """An example that does not differ, or an output that is not as said."""
    def request(inputs: dict) -> dict:
        shapes = {name: value for name, value in inputs.items() if isinstance(value, list)}
        return {"shapes": shapes, "scalars": {name: value for name, value in inputs.items() if name not in shapes}}

    examples = answer["examples"]
    requests = [request(example["inputs"]) for example in examples]
    names = [[row["name"] for row in side.truth.get("inputs", ())] for side in (old, new)]
    if names[0] == names[1]:
        for example, first, second in zip(examples, old.answers(requests), new.answers(requests), strict=True):
            found = (first.get("ok"), second.get("ok"))
            if found != ((True, False) if example["accepted_by"] == "old" else (False, True)):
                return {"example": example, "found": found}
    for change in answer["outputs"]:
        if change["old"] == change["new"]:
            return change
        (first,), at = old.answers([request(change["inputs"])]), change["output"]
        outputs = first.get("outputs", [])
        if isinstance(change["old"], list) and (at >= len(outputs) or outputs[at] != change["old"]):
            return {"output": change, "found": first}
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--bin", default="target/release/sizewise")
    parser.add_argument("--only")
    parser.add_argument("--show", type=int, default=4)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found, spent, clock, rows = collections.defaultdict(list), [], [], []
    groups = [group for folder in options.folders for group in variants(folder, options.bin, options.only)]
    for old, new in ((old, new) for group in groups for old in group for new in group if old is not new):
        answer, error, processor, waited = compare(options.bin, old, new)
        row = {"old": str(old.path), "new": str(new.path), "ms": processor}
        rows.append(row)
        if answer is None:
            found["not compared"].append((old.name, new.name, error))
            continue
        spent.append(processor)
        clock.append(waited)
        row.update(verdict=answer["verdict"], notes=answer["notes"], outputs=len(answer["outputs"]))
        found[answer["verdict"]].append((old.name, new.name, answer["notes"]))
        if (wrong := wrong_verdict(answer["verdict"], old, new)) is not None:
            found["WRONG VERDICT"].append((old.name, new.name, wrong))
        if (wrong := wrong_example(answer, old, new)) is not None:
            found["WRONG EXAMPLE"].append((old.name, new.name, wrong))
    if not spent:
        sys.exit("no pair was compared")
    median, undecided = statistics.median(spent), len(found["undecided"]) / len(spent)
    print(f"{len(rows)} pairs, {len(spent)} compared; {100 * undecided:.1f}% undecided")
    print(f"processor: median {median:.1f} ms, most {max(spent):.0f} ms; clock: median {statistics.median(clock):.1f} ms")
    for kind, those in sorted(found.items()):
        print(f"  {kind:16} {len(those)}")
        if kind.isupper() or kind in ("undecided", "not compared"):
            for one in those[: options.show]:
                print("    ", str(one)[:400])
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    is_wrong = found["WRONG VERDICT"] or found["WRONG EXAMPLE"]
    return int(bool(is_wrong) or undecided > MOST_UNDECIDED or median > MOST_MILLISECONDS)


if __name__ == "__main__":
    sys.exit(main())
