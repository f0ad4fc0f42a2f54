"""Writes the page of the study from what the stages left in the folder."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

HEAD = """# Default dynamic exports of transformers

Written by `scripts/study/study.py table`. What happens if one exports every architecture of a release of `transformers` the way the manual
of `torch.export` begins, with `Dim.AUTO` for every size that a user would call dynamic?

Each architecture of transformers {transformers} (a folder of `transformers.models` with a class that `AutoModel` or one of its
relatives makes) gets a small configuration with random weights, and is exported by torch {torch}: batch and sequence, or batch and
frames, or batch, height and width, are `Dim.AUTO`. `sizewise check FOLDER` judges all archives twice:

- **own ranges**: as the export declares itself. A violation is an input that the ranges of the archive allow, and on which it fails.
- **named**: under the spec that a user would write, one name for the batch (of tokens, mask and image alike), one for the sequence, each
  at least 1. A violation is an input that this spec allows, and that the archive refuses or on which it fails.

Every violation has a witness. All of them were run in torch: in the loaded archive (`.module()`), and in the eager module that was
exported (two of the modules took too much time or memory). Where a witness was too large for the machine (2^40 tokens), the same program
was checked again with at most 8 sequences of 4,200 tokens, and the witness of that was run. *refuses* is one of the checks that an exported
module makes first; *fails* is an error while it runs.
"""

FOOT = """
## To run it again

    python scripts/study/study.py export FOLDER --seconds 90       # hours of one processor; what is there is kept
    python scripts/study/study.py check FOLDER target/release/sizewise
    python scripts/study/study.py run FOLDER
    python scripts/study/study.py table FOLDER > docs/study.md

It needs torch, torchvision and transformers. Architectures come in an arbitrary order, so that the first of them are a sample; when this
page was written, the first 160 or so were tried, and after that models of text until the time was over. The limit of an export was 60 to
120 seconds on a busy machine.

What stands in for real checkpoints is small: two layers, widths of tens, vocabularies of hundreds, images of 64 by 64, tables of positions as
in the original up to 4,096. Architectures whose configuration cannot be made small by rules on the names of its fields are left out, as are
those that need other inputs than tokens, masks, images and sound.
"""


def outcomes(one: dict[str, Any]) -> tuple[str, str]:
    """How the program and the module end: the first words."""
    return one["program"].split(":")[0], one["module"].split(":")[0]


def shape_text(shapes: dict[str, list[int]]) -> str:
    return ", ".join(f"{name} {'×'.join(map(str, shape))}" for name, shape in shapes.items())


def kind(shown: str) -> str:
    """Conditions that differ in numbers only are of one kind."""
    return re.sub(r"(?<![\[\w])\d+", "N", shown)


def read(folder: Path) -> tuple[dict[str, Any], dict[str, dict[str, Any]], dict[str, list[dict[str, Any]]]]:
    """Exports, reports by spec and program, and runs by program."""
    exports = {path.stem: json.loads(path.read_text()) for path in sorted((folder / "auto").glob("*.json"))}
    reports: dict[str, dict[str, Any]] = {}
    for spec in ("own", "named"):
        lines = map(json.loads, (folder / f"auto.{spec}.jsonl").read_text().splitlines())
        reports[spec] = {Path(report["path"]).stem: report for report in lines}
    runs = {path.stem: json.loads(path.read_text()) for path in sorted((folder / "auto.runs").glob("*.json"))}
    failed = {name: data.get("error") for name, data in runs.items() if "runs" not in data}
    if failed:
        raise SystemExit(f"these were not run: {failed}")
    return exports, reports, {name: data["runs"] for name, data in runs.items()}


def exported(exports: dict[str, Any], known: int) -> str:
    stages = Counter(data["stage"] for data in exports.values())
    made = [
        data
        for data in exports.values()
        if data["stage"] not in ("make",) and "made" in data or data["stage"] == "exported"
    ]
    causes = Counter(data["error"].split(":")[0] for data in exports.values() if data["stage"] == "export")
    lines = [
        "\n## Exports\n",
        "| | architectures |",
        "| --- | ---: |",
        f"| in the release | {known} |",
        f"| tried | {len(exports)} |",
        f"| not made small by the rules | {stages['make'] + stages['error']} |",
        f"| made | {len(made)} |",
        f"| export took too long, or was killed | {stages['late'] + stages['killed']} |",
        *(f"| export ends with `{cause}` | {count} |" for cause, count in causes.most_common()),
        f"| **exported** | **{stages['exported']}** |",
    ]
    return "\n".join(lines)


def verdicts(reports: dict[str, dict[str, Any]], runs: dict[str, list[dict[str, Any]]]) -> str:
    lines = ["\n## Verdicts\n", "| | own ranges | named |", "| --- | ---: | ---: |"]
    for verdict in ("ok", "violated", "unknown", "invalid"):
        counts = [sum(report["verdict"] == verdict for report in reports[spec].values()) for spec in ("own", "named")]
        lines.append(f"| programs that are {verdict} | {counts[0]} | {counts[1]} |")
    every = {spec: [one for some in runs.values() for one in some if one["spec"] == spec] for spec in ("own", "named")}
    lines.append(f"| violations | {len(every['own'])} | {len(every['named'])} |")
    for says in ("refuses", "fails", "works", "not run"):
        counts = [sum(outcomes(one)[0] == says for one in every[spec]) for spec in ("own", "named")]
        lines.append(
            f"| the archive {says} {'at the witness' if says != 'not run' else '(too large for the machine)'} | {counts[0]} | {counts[1]} |"
        )
    for says in ("works", "fails", "not run"):
        counts = [sum(outcomes(one)[1] == says for one in every[spec]) for spec in ("own", "named")]
        lines.append(f"| the module {says} there | {counts[0]} | {counts[1]} |")
    for says in ("works", "fails", "refuses"):
        counts = [
            sum(one.get("program at works", "").split(":")[0] == says for one in every[spec])
            for spec in ("own", "named")
        ]
        lines.append(f"| the archive {says} at the sizes that the report says work | {counts[0]} | {counts[1]} |")
    return "\n".join(lines)


def kinds(runs: dict[str, list[dict[str, Any]]]) -> str:
    """Conditions by kind, with how archive and module end."""
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for some in runs.values():
        counts.update((one["spec"], kind(one["shown"]), *outcomes(one)) for one in some)
    lines = [
        "\n## What is broken\n",
        "| spec | condition | archive | module | times |",
        "| --- | --- | --- | --- | ---: |",
    ]
    for (spec, condition, program, module), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        lines.append(f"| {spec} | `{condition}` | {program} | {module} | {count} |")
    return "\n".join(lines)


def programs(exports: dict[str, Any], reports: dict[str, dict[str, Any]], runs: dict[str, list[dict[str, Any]]]) -> str:
    lines = [
        "\n## Each program\n",
        "| architecture | class | own | named | conditions that break, witness |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, data in exports.items():
        if data["stage"] != "exported":
            continue
        said = []
        for one in runs.get(name, []):
            program, module = outcomes(one)
            said.append(
                f"{one['spec']}: `{one['shown']}` ({shape_text(one['inputs'] or {})}: archive {program}, module {module})"
            )
        verdict = [reports[spec][name]["verdict"] for spec in ("own", "named")]
        lines.append(f"| {name} | {data['made'].split(',')[0]} | {verdict[0]} | {verdict[1]} | {'; '.join(said)} |")
    return "\n".join(lines)


def table(folder: Path) -> None:
    """Prints the page."""
    import torch
    import transformers
    from architectures import architectures

    exports, reports, runs = read(folder)
    print(HEAD.format(transformers=transformers.__version__, torch=torch.__version__.split("+")[0]).rstrip())
    print(exported(exports, len(architectures())))
    print(verdicts(reports, runs))
    print(kinds(runs))
    findings = Path(__file__).with_name("findings.md")
    if findings.exists():
        print("\n" + findings.read_text().rstrip())
    print(programs(exports, reports, runs))
    print(FOOT.rstrip())
