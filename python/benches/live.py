"""What a check of a live program costs, beside saving it to memory and checking the archive by the command line.

`python benches/live.py [--bin PROGRAM]`: llama of 16 layers (needs transformers) and densenet201 (needs torchvision),
with dynamic sizes. CPU time of all threads, the least of several runs, in milliseconds; and how long a check takes.
"""

import argparse
import io
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.export import Dim, ExportedProgram

import sizewise
from sizewise import _native, _program_json


def llama() -> ExportedProgram:
    """Narrow layers, as many as in a small language model."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=16,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=100,
        use_cache=False,
    )
    model = LlamaForCausalLM(config).eval()
    ids = torch.zeros(2, 10, dtype=torch.long)
    kwargs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    sizes = {0: Dim("batch", max=64), 1: Dim("length", max=1024)}
    return torch.export.export(model, (), kwargs, dynamic_shapes={name: sizes for name in kwargs})


def densenet201() -> ExportedProgram:
    """A deep network of convolutions, with every size dynamic that can be."""
    from torchvision.models import densenet201

    shapes = ({0: Dim.AUTO, 2: Dim.AUTO, 3: Dim.AUTO},)
    return torch.export.export(densenet201().eval(), (torch.randn(2, 3, 64, 64),), dynamic_shapes=shapes)


def least(work: Callable[[], Any], runs: int = 7, clock: Callable[[], float] = time.process_time) -> float:
    """The least time of several runs, in milliseconds."""
    times = []
    for _ in range(runs):
        began = clock()
        work()
        times.append(clock() - began)
    return min(times) * 1e3


def children() -> float:
    """The CPU time of processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(name: str, program: ExportedProgram, command: str) -> None:
    """Prints a row of the table."""
    text = _program_json.program_json(program).encode()
    native = _native.Program(name, text)
    walk = least(lambda: _program_json.program_json(program).encode())
    read, decide = least(lambda: _native.Program(name, text)), least(native.check)
    whole = least(lambda: sizewise.check(program))
    waited = least(lambda: sizewise.check(program), clock=time.perf_counter)
    archive = io.BytesIO()
    save = least(lambda: torch.export.save(program, archive), runs=1)
    with tempfile.NamedTemporaryFile(suffix=".pt2") as file:
        file.write(archive.getvalue())
        file.flush()
        call = [command, "check", file.name]
        line = least(lambda: subprocess.run(call, capture_output=True, check=False), runs=5, clock=children)
    columns = [f"{value:.0f}" for value in (walk, read, decide, whole, waited, save, line)]
    cells = [name, str(len(program.graph.nodes)), *columns, f"{(save + line) / whole:.0f}"]
    print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Prints the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--bin", default="sizewise")
    options = arguments.parse_args()
    heads = ["", "nodes", "walk", "read", "decide", "check", "check, elapsed", "save", "command line", "times faster"]
    print("| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads))
    for make in (llama, densenet201):
        try:
            program = make()
        except ImportError as missing:
            print(f"{make.__name__}: {missing}")
        else:
            measure(make.__name__, program, options.bin)


if __name__ == "__main__":
    main()
