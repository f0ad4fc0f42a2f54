"""How many default dynamic exports of transformers' architectures refuse or fail at sizes that their spec allows?

    python scripts/study/study.py export FOLDER [--form auto|dynamic] [--only NAME,...] [--seconds N]
    python scripts/study/study.py check FOLDER SIZEWISE [--form ...]
    python scripts/study/study.py run FOLDER [--form ...]
    python scripts/study/study.py table FOLDER

`export` makes each architecture small, with random weights, and exports it: its batch and its sequence (or its frames, its height and its
width) are `Dim.AUTO` or `Dim.DYNAMIC`. `check` runs `sizewise check` over all archives, once under their own ranges and once under
the spec that a user would write, in which the batch has one name and the sequence another; and both again with sizes that a machine can
run. `run` tries each violation in torch: the exported program and the module, at the sizes of the witness and at those that the report
says work. `table` writes the tables of the page. Each architecture has a process and a time limit of its own; what is there already is not
done again. It needs torch and transformers.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: The names of sizes whose dimensions the form `dynamic` makes `Dim.DYNAMIC`, and that a user's spec names; others are `Dim.AUTO`.
NAMED = ("batch", "sequence", "target", "frames")

#: Sizes that a machine can run.
MOST = {"batch": 8, "sequence": 4200, "target": 4200, "frames": 40000, "height": 512, "width": 512}

#: Of sound, a machine can run more.
LONG = {**MOST, "batch": 2, "frames": 1_400_000}

#: The folders of specs: whether sizes have names, and their greatest sizes.
SPECS: list[tuple[str, bool, dict[str, int]]] = [
    ("named", True, {}),
    *(
        (f"{spec}_{kind}", spec == "named", most)
        for spec in ("own", "named")
        for kind, most in (("bounded", MOST), ("long", LONG))
    ),
]


def alone(work: Callable[[], dict[str, Any]], seconds: int, result: Path) -> None:
    """Does work in a process of its own, and keeps what it returns, or how it ended."""
    began = time.time()
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        try:
            data = work()
        except BaseException as error:
            data = {"stage": "error", "error": f"{type(error).__name__}: {error}"[:2000]}
        data["seconds"] = round(time.time() - began, 2)
        _write(result, data)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        late = os.WTERMSIG(status) == signal.SIGALRM
        _write(
            result,
            {
                "stage": "late" if late else "killed",
                "error": f"signal {os.WTERMSIG(status)}",
                "seconds": round(time.time() - began, 2),
            },
        )


def _write(path: Path, data: dict[str, Any]) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(data, indent=1))
    part.rename(path)


def export_one(folder: Path, form: str, kind: str, classes: list[str]) -> dict[str, Any]:
    """Makes and exports an architecture."""
    import torch
    from architectures import make
    from torch.export import Dim

    try:
        small = make(kind, classes)
    except Exception as error:
        return {"stage": "make", "error": str(error)[:2000]}
    data: dict[str, Any] = {
        "made": small.made,
        "shapes": {name: list(value.shape) for name, value in small.inputs.items()},
        "names": {name: {str(dim): size for dim, size in sizes.items()} for name, sizes in small.names.items()},
    }
    marks = {True: Dim.DYNAMIC if form == "dynamic" else Dim.AUTO, False: Dim.AUTO}
    spec = {name: {dim: marks[size in NAMED] for dim, size in sizes.items()} for name, sizes in small.names.items()}
    try:
        with torch.no_grad():
            program = torch.export.export(small.module, (), small.inputs, dynamic_shapes=spec)
    except Exception as error:
        return {**data, "stage": "export", "error": f"{type(error).__name__}: {error}"[:2000]}
    # Hidden until it is whole: `sizewise check` leaves such files out.
    part = folder / form / f".{kind}.pt2"
    torch.export.save(program, part)
    part.rename(folder / form / f"{kind}.pt2")
    write_specs(folder, kind, small.names)
    return {
        **data,
        "stage": "exported",
        "ranges": {str(symbol): str(found) for symbol, found in program.range_constraints.items()},
    }


def write_specs(folder: Path, kind: str, names: dict[str, dict[int, str]]) -> None:
    """The specs of `check`: what a user would write, and sizes that a machine can run."""
    for spec, named, most in SPECS:
        (folder / spec).mkdir(exist_ok=True)
        (folder / spec / f"{kind}.spec.py").write_text(spec_text(names, named, most))


def spec_text(names: dict[str, dict[int, str]], named: bool, most: dict[str, int]) -> str:
    """A spec in which sizes of one kind have one name, or all are `Dim.AUTO`."""
    used = sorted({size for sizes in names.values() for size in sizes.values() if named and size in NAMED})
    lines = [f'{size} = Dim("{size}", min=1{f", max={most[size]}" if most else ""})' for size in used]
    lines.append("dynamic_shapes = {")
    for name, sizes in names.items():
        auto = {size: f"Dim.AUTO(max={most[size]})" if most else "Dim.AUTO" for size in MOST}
        dims = ", ".join(f"{dim}: {size if size in used else auto[size]}" for dim, size in sizes.items())
        lines.append(f'    "{name}": {{{dims}}},')
    return "\n".join([*lines, "}", ""])


def prepare() -> None:
    """What all architectures share is loaded before the processes part."""
    warnings.filterwarnings("ignore")
    import torch
    import transformers
    from architectures import architectures, make

    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    known = architectures()
    for kind in ("bert", "t5", "clip", "wav2vec2"):
        small = make(kind, known[kind])

    class Doubled(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    torch.export.export(Doubled(), (torch.ones(2),), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    del small


def export(folder: Path, form: str, only: list[str], seconds: int) -> None:
    """Exports all architectures that are not done."""
    from architectures import architectures

    prepare()
    (folder / form).mkdir(parents=True, exist_ok=True)
    for kind, classes in architectures().items():
        result = folder / form / f"{kind}.json"
        if (only and kind not in only) or result.exists():
            continue
        alone(lambda kind=kind, classes=classes: export_one(folder, form, kind, classes), seconds, result)
        data = json.loads(result.read_text())
        print(f"{kind}: {data['stage']} {data['seconds']} s {data.get('error', '')[:150]}", flush=True)


def check(folder: Path, form: str, sizewise: str) -> None:
    """The fleet command, under the programs' own ranges and under the specs."""
    from witnesses import large

    for path in (folder / form).glob("[!.]*.pt2"):
        names = json.loads(path.with_suffix(".json").read_text())["names"]
        write_specs(
            folder, path.stem, {name: {int(dim): size for dim, size in sizes.items()} for name, sizes in names.items()}
        )
    for spec in ("own", "named"):
        output = folder / f"{form}.{spec}.jsonl"
        more = [] if spec == "own" else ["--specs", str(folder / spec)]
        began = time.time()
        command = [
            sizewise,
            "check",
            str(folder / form),
            *more,
            "--jobs",
            "2",
            "--format",
            "jsonl",
            "--output",
            str(output),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        print(
            f"{form}, {spec}: status {done.returncode}, {time.time() - began:.1f} s: {done.stderr.strip()[-600:]}",
            flush=True,
        )
        # Where a witness is too large for this machine, a smaller one is asked for.
        lines = []
        for path in large(output):
            for kind in ("bounded", "long"):
                asked = ["--spec", str(folder / f"{spec}_{kind}" / f"{path.stem}.spec.py"), "--format", "jsonl"]
                lines.append(
                    subprocess.run([sizewise, "check", str(path), *asked], capture_output=True, text=True).stdout
                )
        (folder / f"{form}.{spec}_bounded.jsonl").write_text("".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=["export", "check", "run", "table"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("sizewise", nargs="?", default="sizewise")
    parser.add_argument("--form", choices=["auto", "dynamic"], default="auto")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=120)
    options = parser.parse_args()
    if options.stage == "export":
        export(options.folder, options.form, [name for name in options.only.split(",") if name], options.seconds)
    elif options.stage == "check":
        check(options.folder, options.form, options.sizewise)
    elif options.stage == "run":
        from witnesses import run

        prepare()
        run(options.folder, options.form, options.seconds, alone)
    else:
        from table import table

        table(options.folder)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
