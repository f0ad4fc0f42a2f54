"""What a decider saves within torch.export: CPU time and guards, with and without it, in one run.

`python benches/live_export.py large|small|networks [NAME ...]`. Each program is exported without, in mode "after" and
in mode "first", in turn; the least CPU time of the runs counts. Everything of sizewise is included.
"""

import contextlib
import gc
import sys
import time
from typing import Any

import torch
from models import LARGE, Program
from networks import NETWORKS
from small import SMALL

import sizewise

MODES: tuple[Any, ...] = (None, "after", "first")


def guards(program: Any) -> int:
    """How many guards the program's ShapeEnv recorded."""
    values = (node.meta.get("val") for node in program.graph.nodes)
    fake = next((value for value in values if isinstance(value, torch.Tensor)), None)
    return len(fake.fake_mode.shape_env.guards) if fake is not None and fake.fake_mode.shape_env else 0


def exported(program: Program, mode: Any) -> tuple[Any, float, Any]:
    """The exported program, the CPU time, and the decider."""
    torch.manual_seed(0)
    module, inputs = program.module().eval(), program.inputs(program.sizes)
    spec = program.spec(inputs)
    if type(module).__name__ == "Function":
        spec = spec if len(spec) == 1 and isinstance(spec[0], tuple) else (spec,)
    gc.collect()
    asked = sizewise.decider(mode) if mode else contextlib.nullcontext()
    began = time.process_time()
    with asked:
        made = torch.export.export(module, inputs, dynamic_shapes=spec)
    return made, time.process_time() - began, asked


def measure(programs: list[Program], runs: int) -> None:
    """Prints a row for each program, and the sums."""
    print(f"{'':26} {'guards':>16} {'CPU s':>21} {'ratio':>12}")
    print(f"{'':26} {'torch after first':>16} {'torch':>7} {'after':>6} {'first':>6} {'after':>6} {'first':>5}")
    total = [0, 0, 0]
    for program in programs:
        times, counts = [float("inf")] * 3, [0] * 3
        try:
            for run in range(runs):
                # In another order each time: the first export of a program is the slowest.
                for i in ((run + k) % 3 for k in range(3)):
                    made, took, _asked = exported(program, MODES[i])
                    times[i], counts[i] = min(times[i], took), guards(made)
        except Exception as error:
            print(f"{program.name:26} {type(error).__name__}: {str(error).splitlines()[0][:90]}", flush=True)
            continue
        total = [a + b for a, b in zip(total, counts)]
        shown = " ".join(f"{count:5}" for count in counts)
        ratios = f"{times[0] / times[1]:6.2f} {times[0] / times[2]:5.2f}"
        print(f"{program.name:26} {shown} {times[0]:7.2f} {times[1]:6.2f} {times[2]:6.2f} {ratios}", flush=True)
    print(f"{'all':26} " + " ".join(f"{count:5}" for count in total))


def main() -> None:
    """Prints the table."""
    torch.set_num_threads(1)
    kind, names = sys.argv[1] if len(sys.argv) > 1 else "large", sys.argv[2:]
    # The first exports of a process import, and fill caches that have nothing to do with it.
    for warm in SMALL[:3] + SMALL[-5:-4]:
        for mode in MODES:
            exported(warm, mode)
    programs = {"large": LARGE, "small": SMALL, "networks": NETWORKS}[kind]
    chosen = [program for program in programs if not names or any(name in program.name for name in names)]
    measure(chosen, runs=3 if kind == "large" else 1)


if __name__ == "__main__":
    main()
