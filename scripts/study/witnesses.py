"""Runs what reports say of sizes in torch: the exported program and the module, where it fails and where it works."""

from __future__ import annotations

import json
import resource
import signal
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

#: Elements of an input above which it is not made, tokens and others, and the memory of a run, in bytes.
MOST_TOKENS, MOST_ELEMENTS, MEMORY = 1 << 16, 1 << 23, 8 << 30

#: The seconds of a run.
SECONDS = 60

#: How the checks begin that an exported module makes before it runs.
REFUSALS = ("Guard failed", "Expected input", "Expected shape")


def violations(folder: Path, form: str, spec: str) -> dict[str, list[dict[str, Any]]]:
    """The violations of each program, with sizes that can be run where there are such."""
    bounded: dict[str, list[dict[str, Any]]] = {}
    for report in _reports(folder / f"{form}.{spec}_bounded.jsonl"):
        bounded.setdefault(report["path"], []).extend(_violated(report))
    found = {}
    for report in _reports(folder / f"{form}.{spec}.jsonl"):
        smaller = bounded.get(report["path"], [])
        chosen = []
        for guard in _violated(report):
            if not _small(guard["inputs"]):
                same = [
                    other
                    for other in smaller
                    if (other["expr"], other["node"]) == (guard["expr"], guard["node"]) and _small(other["inputs"])
                ]
                guard = same[0] if same else guard
            chosen.append(guard)
        found[Path(report["path"]).stem] = chosen
    return found


def large(path: Path) -> list[Path]:
    """The programs of which a witness is too large to be run."""
    return [
        Path(report["path"])
        for report in _reports(path)
        if not all(_small(guard["inputs"]) for guard in _violated(report))
    ]


def _reports(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _violated(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [guard for guard in report["guards"] if guard["verdict"] == "violated" and not guard["follows"]]


def _small(inputs: dict[str, list[int]] | None) -> bool:
    def fits(name: str, shape: Any) -> bool:
        return isinstance(shape, list) and prod(shape) <= (MOST_TOKENS if "input_ids" in name else MOST_ELEMENTS)

    return inputs is not None and all(fits(*one) for one in inputs.items())


def run(folder: Path, form: str, seconds: int, alone: Callable[..., None]) -> None:
    """Runs the violations of all programs that are not done."""
    (folder / f"{form}.runs").mkdir(exist_ok=True)
    found = {spec: violations(folder, form, spec) for spec in ("own", "named")}
    for kind in found["own"]:
        result = folder / f"{form}.runs" / f"{kind}.json"
        asked = {spec: found[spec][kind] for spec in found}
        if result.exists() or not any(asked.values()):
            continue
        alone(lambda kind=kind, asked=asked: run_one(folder, form, kind, asked), seconds, result)
        runs = json.loads(result.read_text())
        says = [(one["spec"], one["shown"], one["program"], one.get("module")) for one in runs.get("runs", [])]
        print(kind, runs.get("error", ""), says, flush=True)


def run_one(folder: Path, form: str, kind: str, asked: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Runs the violations of one program."""
    import torch
    from architectures import architectures, make

    # Runs never exhaust the machine.
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    # The module first: its classes are what the archive names.
    module = make(kind, architectures()[kind]).module
    program = torch.export.load(folder / form / f"{kind}.pt2").module()
    runs = []
    known: dict[str, tuple[str, str]] = {}
    for spec, guards in asked.items():
        for guard in guards:
            one = {
                "spec": spec,
                **{name: guard[name] for name in ("shown", "cause", "consequence", "inputs", "works", "location")},
            }
            one["program"] = one["module"] = "not run: too large" if guard["inputs"] else "not run: no witness"
            if _small(guard["inputs"]):
                one["program"], one["module"] = _both(program, module, guard["inputs"], known)
            if _small(guard["works"]):
                one["program at works"], one["module at works"] = _both(program, module, guard["works"], known)
            runs.append(one)
    return {"stage": "run", "runs": runs}


def _both(
    program: Any, module: Any, shapes: dict[str, list[int]], known: dict[str, tuple[str, str]]
) -> tuple[str, str]:
    key = json.dumps(shapes)
    if key not in known:
        known[key] = (outcome(program, module, shapes), outcome(module, module, shapes))
    return known[key]


def outcome(runs: Any, module: Any, shapes: dict[str, list[int]]) -> str:
    """How a run ends: `works`, `refuses: ...`, `fails: ...` or `not run: ...`."""
    import torch
    from architectures import inputs_of

    signal.signal(signal.SIGALRM, _late)
    signal.alarm(SECONDS)
    try:
        with torch.no_grad():
            runs(**inputs_of(module, shapes))
    except TimeoutError:
        return "not run: time"
    except Exception as error:
        text = " ".join(str(error).split())
        if "can't allocate memory" in text or isinstance(error, MemoryError):
            return "not run: memory"
        return f"{'refuses' if text.startswith(REFUSALS) else 'fails'}: {type(error).__name__}: {text[:200]}"
    finally:
        signal.alarm(0)
    return "works"


def _late(number: int, frame: Any) -> None:
    raise TimeoutError
